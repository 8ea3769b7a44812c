"""The table of public resolvers: what is listed, which one a name gets, and addresses read back."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest

from perdure.ids import parse
from perdure.ids.public_resolvers import (
    PublicResolver,
    find_resolvers,
    list_public_resolvers,
    list_resolvers_of,
    read_address,
    split_address,
)
from perdure.ids.urls import deurlify, find_public_address, is_known_host

ALL = list_public_resolvers()


@pytest.mark.parametrize("one", ALL, ids=lambda one: f"{one.begins[0]} {one.name}")
def test_an_entry_is_complete(one: PublicResolver) -> None:
    lead, mark, end = split_address(one.address)
    assert urlsplit(lead).scheme in ("http", "https")
    assert urlsplit(lead).hostname
    assert re.fullmatch("[!-~]*", lead + end)
    assert not one.hosts or one.hosts[0] == urlsplit(lead).hostname
    assert not one.hosts or (urlsplit(lead).path, end) == ("/", "")
    assert all(re.fullmatch("[a-z0-9:]+", each) and ":" in each for each in one.begins)
    assert mark == "{id}" or len(one.begins) == 1


def test_a_host_belongs_to_one_resolver() -> None:
    hosts = [host for one in ALL for host in one.hosts]
    assert len(hosts) == len(set(hosts))
    assert all(map(is_known_host, hosts))


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("doi:10.1000/182", "https://doi.org/10.1000/182"),
        ("doi:10.1000/a<b>", "https://doi.org/10.1000/a%3Cb%3E"),
        ("hdl:4263537/4000", "https://hdl.handle.net/4263537/4000"),
        ("ark:12148/btv1b8449691v", "https://n2t.net/ark:12148/btv1b8449691v"),
        ("urn:nbn:de:101:1-2011", "https://nbn-resolving.org/urn:nbn:de:101:1-2011"),
        ("urn:nbn:ch:bel-1", "https://nbn-resolving.org/urn:nbn:ch:bel-1"),
        ("urn:nbn:fi-fe1", "https://urn.fi/urn:nbn:fi-fe1"),
        ("URN:NBN:FI:bib-me-1", "https://urn.fi/urn:nbn:FI:bib-me-1"),
        ("urn:nbn:fix-1", "https://nbn-resolving.org/urn:nbn:fix-1"),
        ("urn:nbn:se:a&b-1", "https://urn.kb.se/resolve?urn=urn:nbn:se:a%26b-1"),
        ("urn:nbn:hu-68785", "http://nbn.urn.hu/N2L?urn:nbn:hu-68785"),
        ("urn:issn:0028-0836", "https://urn.issn.org/urn:issn:0028-0836"),
        ("urn:ietf:rfc:2141", "https://www.rfc-editor.org/info/rfc2141"),
    ],
)
def test_the_longest_beginning_chooses_the_address(name: str, address: str) -> None:
    identifier = parse(name)
    assert find_public_address(identifier) == address
    assert deurlify(address) == identifier


@pytest.mark.parametrize(
    "name",
    ["urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "urn:example:a", "pdi://a.b.us/1997/09/01/1"],
)
def test_other_names_have_no_public_resolver(name: str) -> None:
    assert find_resolvers(parse(name)) == ()
    assert find_public_address(parse(name)) == ""


def test_a_namespace_without_an_official_resolver_has_choices() -> None:
    isbn = parse("urn:isbn:9780140328721")
    found = find_resolvers(isbn)
    assert [one.official for one in found] == [False, False]
    assert [one.locate(isbn) for one in found] == [
        "https://openlibrary.org/isbn/9780140328721",
        "https://search.worldcat.org/search?q=bn%3A9780140328721",
    ]
    assert find_public_address(isbn) == ""


def test_values_of_handles_have_an_address_of_their_own() -> None:
    doi, ark = parse("doi:10.1000/182"), parse("ark:12148/a")
    (of_dois,), (of_arks,) = find_resolvers(doi), find_resolvers(ark)
    assert of_dois.locate_values(doi) == "https://doi.org/api/handles/10.1000/182"
    assert of_arks.locate_values(ark) == ""


def test_codes_of_persons_are_listed_although_they_are_no_identifiers() -> None:
    (orcid,) = list_resolvers_of("orcid:")
    assert orcid.address == "https://orcid.org/{name}"


def test_an_address_without_a_place_for_the_name_is_refused() -> None:
    with pytest.raises(ValueError, match="an address without"):
        split_address("https://example.org/")


def test_other_addresses_are_not_read() -> None:
    assert read_address("https://www.rfc-editor.org/info/rfc") == ""
    assert read_address("https://www.rfc-editor.org/search") == ""
