"""THTTP as RFC 2169 and RFC 2483 have it, and as its clients need it."""

from __future__ import annotations

import email.parser
import json
import re
from typing import NamedTuple

import pytest
from tests.server.conftest import Answer
from tests.server.deployment import (
    AUTHORITY,
    SERIES,
    SHOULDER,
    Deployment,
    resource,
    text,
)

from perdure.ids import parse
from perdure.model.commands import Alias, Register, Withdraw

TEXT, HTML = b"To whom it may concern.\r\n", b"<p>To whom it may concern."


class Names(NamedTuple):
    held: str
    """In two formats, without the version."""
    elsewhere: str
    """Bound to two locations."""
    reserved: str
    gone: str


@pytest.fixture(scope="module")
def names(site: Deployment) -> Names:
    held = resource(site.mint(text(TEXT), text(HTML, "html", "text/html")))
    elsewhere = site.bind("urn:example:two", "https://a.example/1", "https://b.example/2")
    site.do(Alias(identifier=parse(elsewhere), other=parse("hdl:1/two")))
    gone = resource(site.mint(text(b"x")))
    site.do(Withdraw(identifier=parse(gone), reason="a court said so"))
    return Names(held, elsewhere, site.mint(), gone)


def ask(site: Deployment, service: str, uri: str, *fields: str, version: str = "1.1") -> Answer:
    return site.ask("GET", f"/uri-res/{service}?{uri}", *fields, version=version)


def uris(answer: Answer) -> list[str]:
    """The URIs of a text/uri-list, checked against appendix A."""
    assert answer.headers["content-type"] == "text/uri-list"
    assert answer.body.endswith(b"\r\n")
    lines = answer.body.decode("ascii").split("\r\n")[:-1]
    assert lines[0].startswith("# ")
    assert all(re.fullmatch("[!-~]+", line) for line in lines[1:])
    return lines[1:]


def test_what_is_but_an_alias(site: Deployment, names: Names) -> None:
    """GET follows an alias, and N2Ns of what it is an alias of tells it: it is a name of that."""
    for service in ("N2L", "N2Ls", "N2R", "N2C", "N2Ns"):
        found = ask(site, service, "hdl:1/two")
        same = ask(site, service, names.elsewhere)
        assert (found.status, found.headers.get("location")) == (
            same.status,
            same.headers.get("location"),
        )
        assert found.body.replace(b"# hdl:1/two", b"# urn:example:two") == same.body
    assert ask(site, "N2Ns", "hdl:1/twofold").status == 404


# N2L
# ---


def test_n2l_redirects(site: Deployment, names: Names) -> None:
    """ "HTTP/1.1 clients should be sent the 303 status code. HTTP/1.0 clients … 302"."""
    new = ask(site, "N2L", names.elsewhere)
    assert (new.status, new.headers["location"]) == (303, "https://a.example/1")
    old = ask(site, "N2L", names.elsewhere, version="1.0")
    assert (old.status, old.headers["location"]) == (302, "https://a.example/1")
    assert '<https://b.example/2>; rel="alternate"' in new.headers["link"]


@pytest.mark.parametrize("accept", ["text/plain", "text/uri-list", "text/uri-list, */*;q=0.1"])
def test_squid_wants_a_list_from_n2l(site: Deployment, names: Names, accept: str) -> None:
    answer = ask(site, "N2L", names.elsewhere, f"Accept: {accept}")
    assert answer.status == 200
    assert answer.headers["location"] == "https://a.example/1"
    assert answer.body == (b"# urn:example:two\r\nhttps://a.example/1\r\nhttps://b.example/2\r\n")


@pytest.mark.parametrize("accept", ["*/*", "text/html, text/plain;q=0.5", "text/html, image/gif"])
def test_others_want_a_redirect_from_n2l(site: Deployment, names: Names, accept: str) -> None:
    assert ask(site, "N2L", names.elsewhere, f"Accept: {accept}").status == 303


def test_bytes_held_here_have_our_own_url(site: Deployment, names: Names) -> None:
    answer = ask(site, "N2L", f"urn:{names.held}")
    assert answer.headers["location"] == f"{site.base}/{names.held}.text.1"
    assert site.get(answer.headers["location"].removeprefix(site.base)).body == TEXT


# lists
# -----


def test_n2ls(site: Deployment, names: Names) -> None:
    assert uris(ask(site, "N2Ls", names.elsewhere)) == [
        "https://a.example/1",
        "https://b.example/2",
    ]
    assert sorted(uris(ask(site, "N2Ls", names.held))) == [
        f"{site.base}/{names.held}.html.1",
        f"{site.base}/{names.held}.text.1",
    ]
    assert uris(ask(site, "N2Ls", names.reserved)) == []  # "0 or more URLs"


def test_the_first_line_is_the_uri_asked_about(site: Deployment, names: Names) -> None:
    asked = names.elsewhere.replace("urn:", "URN:")
    assert ask(site, "N2Ls", asked).body.startswith(f"# {asked}\r\n".encode())


def test_lists_as_html(site: Deployment, names: Names) -> None:
    """ "a valid HTML docment containing the fragment: <UL> <LI><A HREF=…" """
    page = ask(site, "N2Ls", names.elsewhere, "Accept: text/html").body.decode()
    items = '<LI><A HREF="https://a.example/1">https://a.example/1</A>\n'
    items += '<LI><A HREF="https://b.example/2">https://b.example/2</A>\n'
    assert f"<UL>\n{items}</UL>" in page


def test_lists_as_json_and_text(site: Deployment, names: Names) -> None:
    found = json.loads(ask(site, "N2Ls", names.elsewhere, "Accept: application/json").body)
    assert found["identifiers"] == ["https://a.example/1", "https://b.example/2"]
    plain = ask(site, "N2Ls", names.elsewhere, "Accept: text/plain")
    assert plain.headers["content-type"] == "text/plain; charset=us-ascii"
    assert plain.body.count(b"\r\n") == 3
    assert ask(site, "N2Ls", names.elsewhere, "Accept: image/png").status == 406


def test_n2ns(site: Deployment, names: Names) -> None:
    both = {"urn:example:two", "hdl:1/two"}
    assert set(uris(ask(site, "N2Ns", names.elsewhere))) == both
    assert uris(ask(site, "N2Ns", names.held)) == [f"urn:{names.held}"]


def test_l2ns_and_l2ls(site: Deployment, names: Names) -> None:
    assert set(uris(ask(site, "L2Ns", "https://a.example/1"))) == {"urn:example:two", "hdl:1/two"}
    assert uris(ask(site, "L2Ls", "https://a.example/1")) == [
        "https://a.example/1",
        "https://b.example/2",
    ]
    escaped = "https%3A%2F%2Fa.example%2F1"
    assert uris(ask(site, "L2Ls", escaped)) == uris(ask(site, "L2Ls", "https://a.example/1"))
    assert ask(site, "L2Ns", "https://c.example/").status == 404


@pytest.mark.parametrize(
    ("bound", "asked"),
    [
        ("http://case.example/", "HTTP://Case.example/"),
        ("http://case.example/p?Q", "http://CASE.example:80/p?Q"),
        ("http://short.example", "http://short.example/"),
        ("http://long.example/", "http://long.example"),
        ("HTTP://Given.example/", "HTTP://Given.example/"),
    ],
)
@pytest.mark.parametrize("service", ["L2Ns", "L2Ls", "L2C", "L2R"])
def test_equivalent_urls_are_known_alike(
    site: Deployment, service: str, bound: str, asked: str
) -> None:
    """RFC 3986 section 6.2: `dedupe` calls the two equivalent, too."""
    site.bind("urn:example:spelled", bound)
    found = ask(site, service, asked)
    assert found.status in (200, 302)
    if service == "L2Ns":
        assert uris(found) == ["urn:example:spelled"]
    assert ask(site, "L2Ns", asked.replace("p?Q", "p?q").replace("/", "/x", 3)).status == 404


def test_our_own_urls_are_known_to_l2(site: Deployment, names: Names) -> None:
    own = f"{site.base}/{names.held}.text.1"
    assert uris(ask(site, "L2Ns", own)) == [f"urn:{names.held}.text.1"]
    assert uris(ask(site, "L2Ns", own.replace("http", "HTTP", 1))) == [f"urn:{names.held}.text.1"]
    assert uris(ask(site, "L2Ls", own)) == [own]
    assert ask(site, "L2R", own).body == TEXT


# things
# ------


def test_n2r(site: Deployment, names: Names) -> None:
    answer = ask(site, "N2R", f"urn:{names.held}", "Accept: text/html")
    assert (answer.status, answer.body) == (200, HTML)
    assert answer.headers["content-location"] == f"{names.held}.html.1"
    assert ask(site, "N2R", names.elsewhere).headers["location"] == "https://a.example/1"
    assert ask(site, "N2R", f"{names.held}.text.1", "Range: bytes=0-1").body == b"To"


def test_n2rs_is_multipart_alternative(site: Deployment, names: Names) -> None:
    answer = ask(site, "N2Rs", names.held)
    assert answer.status == 200
    head = f"Content-Type: {answer.headers['content-type']}\r\n\r\n".encode()
    message = email.parser.BytesParser().parsebytes(head + answer.body)
    assert message.get_content_type() == "multipart/alternative"
    parts = message.get_payload()
    found = {part["content-location"]: part.get_payload(decode=True) for part in parts}  # type: ignore[union-attr, index]
    assert found == {f"{names.held}.text.1": TEXT, f"{names.held}.html.1": HTML}


def test_n2rs_gives_what_is_acceptable(site: Deployment, names: Names) -> None:
    """ "only return versions of the resource that are acceptable"; one of them needs no wrapper."""
    answer = ask(site, "N2Rs", names.held, "Accept: text/html")
    assert (answer.headers["content-type"], answer.body) == ("text/html", HTML)
    assert ask(site, "N2Rs", names.held, "Accept: image/png").status == 406
    assert ask(site, "N2Rs", names.elsewhere).status == 302


@pytest.mark.parametrize("service", ["N2C", "I2CS", "n2c", "L2C"])
def test_descriptions(site: Deployment, names: Names, service: str) -> None:
    uri = "https://a.example/1" if service == "L2C" else names.elsewhere
    answer = ask(site, service, uri)
    assert answer.headers["content-type"] == "application/json"
    assert json.loads(answer.body)["identifier"] == names.elsewhere
    assert ask(site, service, uri, "Accept: application/xml").body.startswith(b"<?xml")


def test_i_equals_i(site: Deployment, names: Names) -> None:
    def same(one: str, other: str) -> bytes:
        return ask(site, "I=I", f"{one}%20{other}").body

    assert same(names.held, f"URN:{names.held}") == b"TRUE\r\n"
    assert same(names.elsewhere, "hdl:1/two") == b"TRUE\r\n"
    assert same("hdl:1/TWO", names.elsewhere) == b"TRUE\r\n"
    assert same(names.held, names.elsewhere) == b"FALSE\r\n"
    assert same("urn:example:a%20b", "urn:example:a%20b") == b"TRUE\r\n"
    assert ask(site, "I=I", names.held).status == 400


# parts: "Never the whole document instead of a part"  # ruling: fragment-transport
# -----


def test_n2l_of_a_part(site: Deployment, names: Names) -> None:
    """The location is that of the part, with `%23`: clients keep what follows a `#`."""
    for operand in (f"{names.held}.text.1%233,7", f"urn:{names.held}.text.1#char=3,7"):
        answer = ask(site, "N2L", operand)
        place = f"{site.base}/{names.held}.text.1%23char=3,7"
        assert (answer.status, answer.headers["location"]) == (303, place)
        assert site.get(place.removeprefix(site.base)).body == TEXT[3:7]
        assert uris(ask(site, "N2L", operand, "Accept: text/uri-list")) == [place]
        assert uris(ask(site, "N2Ls", operand)) == [place]
        about = f"</uri-res/N2C?{names.held}.text.1%23char=3,7>"
        assert answer.headers["link"].endswith(f'{about}; rel="describedby"')


def test_n2l_of_a_part_of_no_version_in_particular(site: Deployment) -> None:
    """Which version is meant, the resolver says at that place  # ruling: part-version"""
    name = resource(site.mint(text(TEXT)))
    place = ask(site, "N2L", f"{name}.text%23char=3,7").headers["location"]
    assert site.get(place.removeprefix(site.base)).body == TEXT[3:7]
    site.commit(f"{name}.text", text(b"Nobody in particular."))
    place = ask(site, "N2L", f"{name}.text%23char=3,7").headers["location"]
    assert site.get(place.removeprefix(site.base)).status == 300


def held_here(site: Deployment) -> tuple[str, ...]:
    """Names that have no `#`, and one that may have."""
    ark = site.mint(text(HTML_WITH_IDS, "html", "text/html"), authority=SHOULDER)
    urn = site.mint(text(HTML_WITH_IDS, "html", "text/html"), authority=AUTHORITY)
    handle = "hdl:1839/with-ids"
    site.do(
        Register(identifier=parse(handle), contents=(text(HTML_WITH_IDS, "html", "text/html"),))
    )
    return ark, urn, handle


HTML_WITH_IDS = b"<p>Of all.<p id=my-id>With.</p><p id=myid>Without.</p>"


def test_parts_of_names_that_have_no_way_to_say_so(site: Deployment) -> None:
    """A part is taken as it was written, though an ARK has no hyphens."""
    for name in held_here(site):
        for part, found in (("my-id", b"With."), ("myid", b"Without."), ("char=3,10", b"Of all.")):
            place = f"{site.base}/{name}?part={part}"
            answer = ask(site, "N2L", f"{name}%23{part}")
            assert (answer.status, answer.headers["location"]) == (303, place)
            assert uris(ask(site, "N2Ls", f"{name}%23{part}")) == [place]
            assert uris(site.get(f"/{name}%23{part}?locations")) == [place]
            assert uris(site.get(f"/{name}?part={part}&locations")) == [place]
            for one in (f"/{name}%23{part}", f"/{name}?part={part}"):
                assert found in site.get(one).body
                assert HTML_WITH_IDS not in site.get(one).body
            for service in ("N2R", "N2Rs"):
                assert found in ask(site, service, f"{name}%23{part}").body
            told = json.loads(ask(site, "N2C", f"{name}%23{part}", JSON).body)
            assert (told["selector"]["value"], told["url"]) == (part, place)
            listed = site.get(f"/{name}%23{part}?locations", "Accept: application/linkset+json")
            assert f"{name}?part={part}".encode() in listed.body
            told = json.loads(site.get(f"/{name}%23{part}?locations", JSON).body)
            assert "locations" not in told  # which would be those of the whole


JSON = "Accept: application/json"


def test_parts_of_what_lies_elsewhere(site: Deployment) -> None:
    """As the redirect of GET has it: passed through behind an ARK, else by templates only."""
    ark = site.bind("ark:99999/fk4elsewhere", "https://c.example/e")
    for part in ("intro", "xywh=0,0,5,5"):
        place = f"https://c.example/e#{part}"
        assert ask(site, "N2L", f"{ark}%23{part}").headers["location"] == place
        assert uris(ask(site, "N2Ls", f"{ark}%23{part}")) == [place]
        assert site.get(f"/{ark}%23{part}").headers["location"] == place
    assert uris(ask(site, "N2Ls", f"{ark}/b.c")) == ["https://c.example/e/b.c"]
    held = held_here(site)[0]
    for service in ("N2L", "N2Ls", "N2C", "N2R"):
        assert ask(site, service, f"{held}/b.c").status == 404
    moved = site.bind(f"pdi://{SERIES}/1997/09/02/1.text.1", "https://c.example/m")
    assert ask(site, "N2L", f"{moved}%23char=0,1").status == 404
    assert uris(ask(site, "N2Ls", f"{moved}%23char=0,1")) == []


def test_names_of_a_part(site: Deployment, names: Names) -> None:
    """Behind another name of the whole, the same text may mean another part."""
    part = f"{names.held}.text.1#char=3,7"
    own = f"{site.base}/{names.held}.text.1%23char=3,7"
    assert uris(ask(site, "N2Ns", part)) == [f"urn:{part}"]
    assert uris(ask(site, "L2Ns", own)) == [f"urn:{part}"]
    assert uris(ask(site, "L2Ls", own)) == [own]
    ark = held_here(site)[0]
    assert uris(ask(site, "N2Ns", f"{ark}%23my-id")) == [f"{ark}?part=my-id"]


# names of services
# -----------------


@pytest.mark.parametrize("service", ["N2LS", "n2ls", "N2Ls", "I2Ls", "i2ls", "I2LS"])
def test_services_in_any_case(site: Deployment, names: Names, service: str) -> None:
    assert len(uris(ask(site, service, names.elsewhere))) == 2


def test_i2_is_n2(site: Deployment, names: Names) -> None:
    for one in ("L", "Ls", "R", "C", "Ns"):
        old, new = (ask(site, f"{letter}2{one}", names.elsewhere) for letter in "NI")
        assert (old.status, old.body) == (new.status, new.body)
    assert uris(ask(site, "I2N", names.elsewhere)) == uris(ask(site, "N2Ns", names.elsewhere))


# errors: the five conditions of RFC 2483  # ruling: http-errors
# ------


@pytest.mark.parametrize("service", ["N2L", "N2Ls", "N2R", "N2Rs", "N2C", "N2Ns"])
def test_errors(site: Deployment, names: Names, service: str) -> None:
    assert ask(site, service, f"pdi://{SERIES}/1997/02/30/1").status == 400
    assert ask(site, service, f"pdi://{SERIES}/1997/09/01/1").status == 404
    assert ask(site, service, f"pdi://{SERIES}/1997/").status == (400 if service == "N2L" else 200)
    assert ask(site, service, f"pdi://{SERIES}/1997/*/*/99").status == (
        400 if service == "N2L" else 404
    )
    if service not in ("N2C", "N2Ns"):
        assert ask(site, service, names.gone).status == 410
    if service == "N2L":
        answer = ask(site, service, names.reserved)
        assert (answer.status, json.loads(answer.body)["code"]) == (404, "no-location")


def test_services_that_are_none(site: Deployment, names: Names) -> None:
    for target in ("/uri-res/N2X?urn:a-b:c", "/uri-res/N2L", "/uri-res/N2L?", "/uri-res/"):
        assert site.get(target).status == 400
    assert site.get("/uri-res").status == 400
    refused = site.ask("DELETE", f"/uri-res/N2L?{names.held}")
    assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD, OPTIONS, TRACE")


def test_nothing_of_the_operand_gets_into_a_header(site: Deployment) -> None:
    """An escaped line break stays escaped wherever it goes."""
    site.bind("urn:example:a%0D%0ASet-Cookie:b", "https://a.example/")
    for service in ("N2L", "N2Ls", "N2C"):
        answer = ask(site, service, "urn:example:a%0d%0aSet-Cookie:b", "Accept: */*")
        assert answer.status in (200, 303)
        assert "set-cookie" not in answer.headers
