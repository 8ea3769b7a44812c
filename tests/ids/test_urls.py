"""Identifiers as addresses, and back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidRequest, MalformedIdentifier, PerdureError
from perdure.ids import parse, urls
from perdure.ids.urls import _index_hosts, deurlify, list_spellings, normalise_url, urlify
from perdure.reading.targets import read_identifier, spell_path

OURS = "https://pid.example.org"
IDENTIFIERS = (
    "pdi://oma.eop.gov.us/1997/09/01/1.html.2",
    "pdi://oma.eop.gov.us/1997/09/01/1.text.1#char=37,51",
    "hdl:21.T14999/a%20b?c#d",
    "hdl:21.T14999/ü",
    "doi:10.1000/182",
    "doi:10.1002/(SICI)1097-4571(199806)49:8<693::AID-ASI4>3.0.CO;2-O",
    "ark:12345/x6/y.v2",
    "urn:isbn:9780141036144",
    "urn:nbn:de:101:1-201102033592",
    "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk/?a=b",
)


@pytest.mark.parametrize("text", IDENTIFIERS)
def test_there_and_back_at_our_own(text: str) -> None:
    name = parse(text)
    assert deurlify(urlify(name, OURS, spell_path(name)), (OURS,), read_identifier) == name


@pytest.mark.parametrize("text", [one for one in IDENTIFIERS if one[:3] in ("hdl", "doi", "ark")])
def test_there_and_back_at_the_public_ones(text: str) -> None:
    name = parse(text)
    assert deurlify(urlify(name)) == name


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://doi.org/10.1000/182", "doi:10.1000/182"),
        ("http://dx.doi.org/doi:10.1000/182", "doi:10.1000/182"),
        ("https://hdl.handle.net/21.T14999/x?noredirect", "hdl:21.T14999/x"),
        ("https://hdl.handle.net/21.T14999/a%20%23b", "hdl:21.T14999/a%20%23b"),
        ("https://n2t.net/ark:/12345/x6", "ark:12345/x6"),
        ("https://arks.org/ark:12345/x6", "ark:12345/x6"),
        ("https://n2t.net/doi:10.1000/182", "doi:10.1000/182"),
        ("https://n2t.net/ark:/12345/x6?info", "ark:12345/x6"),
        ("https://n2t.net/ark:/12345/x6??", "ark:12345/x6"),
        ("https://archive.example/ark:/12345/x6/y", "ark:12345/x6/y"),
        ("https://archive.example/ark:/12345/x6/y.v1?lang=fr#page=2", "ark:12345/x6/y.v1"),
        ("https://nbn-resolving.org/urn:nbn:de:101:1-1", "urn:nbn:de:101:1-1"),
        ("doi:10.1000/182", "doi:10.1000/182"),
    ],
)
def test_addresses_of_the_world(url: str, expected: str) -> None:
    try:
        assert deurlify(url) == parse(expected)
    except MalformedIdentifier:
        if "%20" not in url:  # our grammar of handles wants no blanks
            raise


@pytest.mark.parametrize("escape", ["%zz", "%4", "%4g", "%"])
def test_half_an_escape_is_refused_where_it_stands(escape: str) -> None:
    """RFC 3986, section 2.1: "a percent character followed by two hexadecimal digits"."""
    url = f"https://hdl.handle.net/1839/a{escape}"
    with pytest.raises(MalformedIdentifier) as caught:
        deurlify(url)
    assert caught.value.text == url
    assert url[caught.value.at :] == escape


@pytest.mark.parametrize(
    "url", ["https://a.example/x", "https://[bad/", "http://doi.example/10.1/x"]
)
def test_what_is_no_resolver_is_told(url: str) -> None:
    with pytest.raises(InvalidRequest):
        deurlify(url)


def test_a_name_behind_another_ones_address_is_not_ours() -> None:
    with pytest.raises(InvalidRequest):
        deurlify(f"{OURS}.evil.example/doi:10.1000/182", (OURS,), read_identifier)


def test_what_has_no_public_resolver_is_told() -> None:
    with pytest.raises(InvalidRequest, match="base_url"):
        urlify(parse("pdi://oma.eop.gov.us/1997/09/01/1"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        # RFC 3986 section 6.2.2.1, 6.2.2.2 and 6.2.2.3
        ("HTTP://www.EXAMPLE.com/", "http://www.example.com/"),
        ("http://a.example/%7esmith", "http://a.example/~smith"),
        ("http://a.example/%3a", "http://a.example/%3A"),
        ("http://a.example/a/./b/../c", "http://a.example/a/c"),
        # section 6.2.3: "the following four URIs are equivalent"
        ("http://example.com", "http://example.com/"),
        ("http://example.com:/", "http://example.com/"),
        ("http://example.com:80/", "http://example.com/"),
        ("https://example.com:443?q", "https://example.com/?q"),
    ],
)
def test_equivalent_urls_have_one_normal_form(one: str, other: str) -> None:
    assert normalise_url(one) == normalise_url(other) == other
    assert other in list_spellings(one)


@pytest.mark.parametrize(
    "url",
    [
        "http://a.example:443/",
        "http://a.example/A",
        "http://[::1]:8080/",
        "urn:example:A",
        "x y",
        "é",
    ],
)
def test_what_is_normal_stays_as_it_is(url: str) -> None:
    assert normalise_url(url) == url


def test_a_location_without_a_path_is_found_with_one() -> None:
    assert "http://a.example" in list_spellings("HTTP://A.example/")
    assert "http://a.example/b" not in list_spellings("http://a.example/b/")


@pytest.mark.parametrize(
    ("hosts", "path", "name"),
    [
        ("doi.org dx.doi.org www.doi.org", "10.1000/182", "doi:10.1000/182"),
        ("hdl.handle.net www.handle.net hdl.pid.gwdg.de", "1839/a", "hdl:1839/a"),
        ("n2t.net www.n2t.net arks.org www.arks.org", "doi:10.1000/182", "doi:10.1000/182"),
        ("identifiers.org resolver.identifiers.org", "doi:10.1000/182", "doi:10.1000/182"),
        (
            "nbn-resolving.org nbn-resolving.de www.nbn-resolving.org urn.fi",
            "urn:nbn:fi-fe19991055",
            "urn:nbn:fi-fe19991055",
        ),
    ],
)
def test_every_host_of_the_public_resolvers(hosts: str, path: str, name: str) -> None:
    for host in hosts.split():
        assert deurlify(f"https://{host}/{path}") == parse(name)
        with pytest.raises(InvalidRequest):
            deurlify(f"https://{host}.example/{path}")


_HOSTS = st.sampled_from([*_index_hosts(), "pid.example.org", "DOI.org", "doi.org:443", ""])


@given(_HOSTS, st.text("10./abAB;()_-:%?#ä", max_size=12).map("/10.1000/1".__add__))
def test_a_plain_address_is_read_like_any_other(host: str, path: str) -> None:
    url = f"https://{host}{path}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(urls, "_PLAIN_ADDRESS", re.compile("(?!)"))
        expected = read_answer(url)
    assert read_answer(url) == expected


def read_answer(url: str) -> str:
    """Return the identifier in an address, or the error."""
    try:
        return repr(deurlify(url))
    except PerdureError as error:
        return repr(error)


_BITS = (
    "https://", "http://", "HTTPS://", "doi.org", "hdl.handle.net", "n2t.net", "any.example", "/",
    "pdi:", "//oma.eop.gov.us/1997/09/01/1", "urn:", "nbn:de:1-2", "ark:/12345/x", "doi:", "Hdl:",
    "10.1000/A", "1839/b", "orcid.org", "0000-0002-1825-0097", ":80", "?x", "#", "%2f", "(", ".",
    "pid.example.org",
)  # fmt: skip


@given(st.lists(st.sampled_from(_BITS), max_size=6).map("".join))
def test_plain_addresses_are_read_as_all_others(url: str) -> None:
    """The answer and the spelling are those of `deurlify` without `read_plain_address`."""

    def read(bases: tuple[str, ...]) -> tuple[str, str] | type[PerdureError]:
        try:
            found = deurlify(url, bases, read_identifier)
        except PerdureError as error:
            return type(error)
        return str(found), found.written

    for bases in ((), (OURS,), ("https://doi.org", "")):
        fast = read(bases)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(urls, "read_plain_address", lambda *_: None)
            assert read(bases) == fast
