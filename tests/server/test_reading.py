"""GET and HEAD of identifiers, against a server in a process of its own."""

from __future__ import annotations

import hashlib
import json
import xml.etree.ElementTree as ET
from typing import NamedTuple
from urllib.parse import quote

import pytest
from tests.server.deployment import SERIES, Deployment, resource, text

from perdure.ids import parse
from perdure.model.commands import Alias, Assign, Bind, Break, Register, Withdraw
from perdure.model.records import Location, Value

PAGE = b"<!DOCTYPE html><p>To whom it may concern.<script>alert(1)</script>"


class Names(NamedTuple):
    """What there is to ask for."""

    letter: str
    """Bytes in two versions, the first as text and HTML."""
    moved: str
    """A PDI bound to a location."""
    handle: str
    """Bound to two locations."""
    reserved: str
    """Minted, and no more."""
    withdrawn: str
    french: str
    """The same page in French and in English."""


@pytest.fixture(scope="module")
def names(site: Deployment) -> Names:
    letter = site.mint(
        text(b"first\r\n", charset="us-ascii"), text(PAGE, "html", "text/html", charset="us-ascii")
    )
    site.commit(resource(letter), text(b"second\r\n", charset="us-ascii"))
    moved = site.mint(format="html", locations=(Location(uri="https://example.org/letter"),))
    handle = site.bind("hdl:10.9999/x", "https://example.org/x", "https://example.net/y")
    reserved = site.mint()
    withdrawn = site.mint(text(b"secret\r\n"))
    site.do(Withdraw(identifier=parse(resource(withdrawn)), reason="a court said so", by="clerk"))
    french = site.mint(
        text(b"Bonjour\r\n", language="fr"),
        text(b"<p>Hello", "html", "text/html", language="en"),
    )
    return Names(letter, moved, handle, reserved, withdrawn, french)


# one request in every form  # ruling: http-forms
# -------------------------


@pytest.mark.parametrize(
    "form", ["{}", "/{}", "/urn:{}", "urn:{}", "http://anywhere/{}", "/URN:PDI{0[3:]}"]
)
def test_all_forms_are_one_request(site: Deployment, names: Names, form: str) -> None:
    target = f"/URN:PDI{names.letter[3:]}" if "[" in form else form.format(names.letter)
    answer = site.get(target)
    assert (answer.status, answer.body) == (200, b"first\r\n")
    assert answer.headers["content-location"] == names.letter


def test_other_spellings_of_one_identifier_get_the_same_answer(
    site: Deployment, names: Names
) -> None:
    """ "resolvers return identical results for URNs that are lexically equivalent" (RFC 2169)."""
    shouted = f"/URN:PDI{names.letter[3:].replace(SERIES, SERIES.upper())}"
    assert site.get(shouted).body == b"first\r\n"
    for target in (
        "/hdl:10.9999/X",
        "/doi:10.9999/x",
        "/https://doi.org/10.9999/x",
        "hdl:10.9999/x",
    ):
        answer = site.get(target)
        assert (answer.status, answer.headers["location"]) == (302, "https://example.org/x")


# bytes
# -----


def test_a_version_is_served_for_ever(site: Deployment, names: Names) -> None:
    answer = site.get(f"/{names.letter}")
    assert answer.headers["cache-control"] == "public, max-age=604800, immutable"
    assert answer.headers["content-type"] == "text/plain; charset=us-ascii"
    assert answer.headers["vary"] == "accept"  # a browser gets the page
    html = site.get(f"/{names.letter.replace('.text.', '.html.')}")
    assert "vary" not in html.headers  # and this itself


def test_an_omitted_version_means_the_highest(site: Deployment, names: Names) -> None:
    """ "the resolver MUST indicate to the client the fully qualified PDI" (section 3.6.3)."""
    answer = site.get(f"/{resource(names.letter)}")
    assert answer.body == b"second\r\n"
    assert answer.headers["content-location"] == names.letter.replace(".text.1", ".text.2")
    assert answer.headers["cache-control"] == "public, max-age=60"
    assert "accept" in answer.headers["vary"]


def test_formats_are_negotiated(site: Deployment, names: Names) -> None:
    one = f"/{names.french.replace('.text.1', '')}"
    assert site.get(one, "Accept: text/html").body == b"<p>Hello"
    assert site.get(one, "Accept: text/*;q=0.5, text/html;q=0.1").body == b"Bonjour\r\n"
    assert site.get(one, "Accept-Language: en").body == b"<p>Hello"
    french = site.get(one, "Accept-Language: fr, en;q=0.5")
    assert (french.body, french.headers["content-language"]) == (b"Bonjour\r\n", "fr")
    refused = site.get(one, "Accept: image/png")
    assert refused.status == 406
    assert json.loads(refused.body)["offered"] == ["text/html", "text/plain"]


QUIET = (  # measured in a browser: a page that loads from five places, one of them another site
    "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; "
    "media-src data:; form-action 'none'; base-uri 'none'"
)


def test_deposited_pages_run_no_script_and_call_nobody(site: Deployment, names: Names) -> None:
    answer = site.get(f"/{names.letter.replace('.text.', '.html.')}")
    assert answer.body == PAGE
    assert answer.headers["content-security-policy"] == QUIET
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_head_says_what_get_says(site: Deployment, names: Names) -> None:
    targets = [f"/{name}" for name in names]
    for target in (*targets, f"/{names.letter}?info", f"/pdi://{SERIES}/", "/nothing", "/"):
        get, head = site.get(target), site.ask("HEAD", target)
        assert head.body == b""
        assert (head.status, _without_date(head.headers)) == (
            get.status,
            _without_date(get.headers),
        )


def _without_date(headers: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if name != "date"}


# elsewhere
# ---------


def test_a_bound_identifier_redirects(site: Deployment, names: Names) -> None:
    answer = site.get(f"/{names.handle}")
    assert (answer.status, answer.headers["location"]) == (302, "https://example.org/x")
    assert '<https://example.net/y>; rel="alternate"' in answer.headers["link"]
    assert answer.headers["cache-control"] == "public, max-age=60"


def test_a_location_can_inject_nothing(site: Deployment) -> None:
    site.bind("hdl:1/odd", 'https://a.example/"><x>', 'https://b.example/>;rel="evil')
    answer = site.get("/hdl:1/odd")
    assert answer.headers["location"] == "https://a.example/%22%3E%3Cx%3E"
    assert '<https://b.example/%3E;rel=%22evil>; rel="alternate"' in answer.headers["link"]


# the record
# ----------


@pytest.mark.parametrize("question", ["?info", "?", "??", "?utm_source=letter&info"])
def test_the_record_instead_of_the_thing(site: Deployment, names: Names, question: str) -> None:
    answer = site.get(f"/{names.moved}{question}")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    record = json.loads(answer.body)
    assert record["identifier"] == names.moved
    assert record["status"] == "located"
    assert [one["uri"] for one in record["locations"]] == ["https://example.org/letter"]


def test_what_is_nobodys_business_stays_here(site: Deployment, names: Names) -> None:
    body = site.get(f"/{names.letter}?info").body
    record = json.loads(body)
    held = record["versions"][0]["representations"][0]
    assert held["sha512"] == hashlib.sha512(b"first\r\n").hexdigest()
    assert b"segment" not in body
    assert b"offset" not in body


def test_json_and_xml_first_ask_for_the_record(site: Deployment, names: Names) -> None:
    for name in (names.moved, resource(names.letter), names.handle):
        for kind in ("application/json", "application/xml", "application/json, */*;q=0.1"):
            answer = site.get(f"/{name}", f"Accept: {kind}")
            assert answer.status == 200
            assert answer.headers["content-type"] == kind.partition(",")[0]


@pytest.mark.parametrize(
    "accept",
    [
        "application/json, text/plain, */*",  # axios
        "*/*",
        "",
    ],
)
def test_programs_get_the_thing(site: Deployment, names: Names, accept: str) -> None:
    assert site.get(f"/{names.moved}", f"Accept: {accept}").status == 302
    assert site.get(f"/{names.letter}", f"Accept: {accept}").body == b"first\r\n"


def test_what_is_held_as_json_is_served_as_such(site: Deployment) -> None:
    name = site.mint(text(b'{"a":1}', "json", "application/json"))
    assert site.get(f"/{resource(name)}", "Accept: application/json").body == b'{"a":1}'


def test_xml_says_the_same_as_json(site: Deployment, names: Names) -> None:
    target = f"/{resource(names.letter)}?info"
    root = ET.fromstring(site.get(target, "Accept: application/xml").body)
    record = json.loads(site.get(target, "Accept: application/json").body)
    assert root.findtext("identifier") == record["identifier"]
    digests = [one.text for one in root.iter("sha512")]
    assert digests == [
        held["sha512"] for version in record["versions"] for held in version["representations"]
    ]


def test_html_escapes_what_others_wrote(site: Deployment) -> None:
    name = site.mint(format="text", metadata={"title": "<script>alert(1)</script>"})
    page = site.get(f"/{name}?info", "Accept: text/html")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert b"<script>alert" not in page.body
    assert b"&lt;script&gt;" in page.body
    assert "unsafe" not in page.headers["content-security-policy"]


def test_an_ark_with_an_inflection_gives_a_citation(site: Deployment) -> None:
    site.bind("ark:12345/x6", "https://example.org/ark")
    assert site.get("/ark:/12345/x6").status == 302
    for inflection in ("?", "??", "?info"):
        answer = site.get(f"/ark:/12345/x6{inflection}")
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
        assert answer.body.startswith(b"erc:\nwho: ")
    assert (
        json.loads(site.get("/ark:12345/x6?", "Accept: application/json").body)["scheme"] == "ark"
    )


def test_the_record_has_an_entity_tag(site: Deployment, names: Names) -> None:
    answer = site.get(f"/{names.handle}?info")
    again = site.get(f"/{names.handle}?info", f"If-None-Match: {answer.headers['etag']}")
    assert (again.status, again.body) == (304, b"")
    other = site.get(f"/{names.handle}?info", "Accept: application/xml")
    assert other.headers["etag"] != answer.headers["etag"]


def test_history_shows_every_revision(site: Deployment, names: Names) -> None:
    past = json.loads(site.get(f"/{names.letter}?history").body)["revisions"]
    assert [one["revision"] for one in past] == [1, 2]
    assert {name for name, change in past[1]["changes"].items() if change["before"]} == {"versions"}
    assert not any("by" in one for one in past)
    assert site.get(f"/pdi://{SERIES}/1997/09/01/1?history").status == 404


def test_locations_are_a_list(site: Deployment, names: Names) -> None:
    answer = site.get(f"/{names.handle}?locations")
    assert answer.headers["content-type"] == "text/uri-list"
    assert answer.body.splitlines()[1:] == [b"https://example.org/x", b"https://example.net/y"]


def test_a_reserved_name_is_described(site: Deployment, names: Names) -> None:
    assert json.loads(site.get(f"/{names.reserved}").body)["status"] == "reserved"


def test_a_handle_with_values_alone_is_not_reserved(site: Deployment) -> None:
    for name, permissions, status in (("told", "1110", "described"), ("kept", "1100", "reserved")):
        told = Value(index=3, type="EMAIL", data="a@b.example", permissions=permissions)
        site.do(Register(identifier=parse(f"hdl:10.9999/{name}")))
        site.do(Assign(identifier=parse(f"hdl:10.9999/{name}"), values=(told,)))
        assert json.loads(site.get(f"/hdl:10.9999/{name}?info").body)["status"] == status
        page = site.get(f"/hdl:10.9999/{name}?landing").body.decode()
        assert ("nothing is bound to it yet" in page) == (status == "reserved")
        assert ("This handle has values, but no location" in page) == (status == "described")
        assert "Go to the resource" not in page


# gone, and never there  # ruling: http-errors
# ---------------------


def test_what_was_withdrawn_is_gone_and_says_why(site: Deployment, names: Names) -> None:
    answer = site.get(f"/{names.withdrawn}")
    assert answer.status == 410
    tombstone = json.loads(answer.body)["tombstone"]
    assert (tombstone["reason"], tombstone["by"]) == ("a court said so", "clerk")
    page = site.get(f"/{names.withdrawn}", "Accept: text/html")
    assert page.status == 410
    assert b"a court said so" in page.body
    assert json.loads(site.get(f"/{names.withdrawn}?info").body)["status"] == "withdrawn"


def test_what_is_bound_to_nothing_any_more_is_gone_and_says_why(site: Deployment) -> None:
    """ "existed, nothing known now … → 410 with the tombstone"  # ruling: http-errors"""
    name = site.mint(locations=(Location(uri="https://a.example/<b>"),), format="text")
    site.do(Break(by="clerk", identifier=parse(name), uri="https://a.example/<b>"))
    answer = site.get(f"/{name}")
    assert answer.status == 410
    assert "max-age" not in answer.headers.get("cache-control", "")  # it may be bound again
    tombstone = json.loads(answer.body)["tombstone"]
    assert tombstone["reason"] == "its location https://a.example/<b> was broken"
    assert tombstone["by"] == "clerk"
    shown = json.loads(site.get(f"/{name}?info").body)
    assert shown["status"] == "broken"
    assert shown["versions"][0]["broken"] == tombstone
    for target in (name, f"{name}?landing"):
        page = site.get(f"/{target}", "Accept: text/html").body
        assert b"its location https://a.example/&lt;b&gt; was broken" in page
    assert site.get(f"/uri-res/N2L?{name}").status == 410
    site.do(Bind(identifier=parse(name), locations=(Location(uri="https://b.example/"),)))
    assert site.get(f"/{name}").headers["location"] == "https://b.example/"
    assert json.loads(site.get(f"/{name}?info").body)["versions"][0]["broken"] is None


@pytest.mark.parametrize(
    ("target", "status", "code"),
    [
        (f"/pdi://{SERIES}/1997/09/01/1.text.1", 404, "not-found"),
        ("/pdi://nobody.us/1997/09/01/1.text.1", 404, "not-found"),
        ("/hdl:10.9999/unknown?info", 404, "not-found"),
        ("/pwid:archive.org:2016-01-22:page:http://a/?b", 404, "not-found"),
        (f"/pdi://{SERIES}/1997/02/30/1.text.1", 400, "malformed-identifier"),
        (f"/pdi://{SERIES}/1997/09/01/1.text.0", 400, "malformed-identifier"),
        (f"/pdi://{SERIES}/1997/09/01.html.1", 400, "malformed-identifier"),
        (f"/pdi://{SERIES}/1997/09/01/{9000 * 'x'}", 400, "malformed-identifier"),
        (f"/pdi://{SERIES}/1997/09/01/%0d%0aX:1", 404, "not-found"),
        (
            f"/pdi%3A%2F%2F{SERIES}%2F1997%2F09%2F01%2F1%0D%0ASet-Cookie:x",
            400,
            "malformed-identifier",
        ),
        ("/gopher://a/1", 400, "unknown-scheme"),
        ("/urn:pdi:1", 400, "malformed-identifier"),
        ("/hdl:1/%ff", 400, "malformed-identifier"),
        ("/nothing/here", 404, "no-such-page"),
        ("/favicon.ico", 404, "no-such-page"),
    ],
)
def test_errors_are_problems(site: Deployment, target: str, status: int, code: str) -> None:
    answer = site.get(target)
    assert answer.status == status
    assert answer.headers["content-type"] == "application/problem+json"
    problem = json.loads(answer.body)
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["type"] == f"/problems/{code}"
    assert "set-cookie" not in answer.headers
    assert site.get(problem["type"]).status == 200


def test_unknown_versions_and_formats(site: Deployment, names: Names) -> None:
    missing = site.get(f"/{names.letter.replace('.text.1', '.text.9')}")
    assert (missing.status, json.loads(missing.body)["versions"]) == (404, [1, 2])
    other = site.get(f"/{names.letter.replace('.text.1', '.png.1')}")
    assert (other.status, json.loads(other.body)["offered"]) == (406, ["html", "text"])


def test_unknown_questions_are_refused(site: Deployment, names: Names) -> None:
    answer = site.get(f"/{names.letter}?inof")
    assert answer.status == 400
    assert "?info" in json.loads(answer.body)["detail"]


# parts
# -----


@pytest.mark.parametrize(
    "part", ["#char=0,3", "%23char=0,3", "?part=char%3D0%2C3", "#0,3", "%23line=1,2"]
)
def test_a_part_is_never_the_whole(site: Deployment, names: Names, part: str) -> None:
    """ "A failed part request never answers with the whole document"  # ruling: part-range"""
    answer = site.get(f"/{names.letter}{part}")
    assert answer.status in (200, 206, 416, 501)
    assert answer.body != b"first\r\n"
    moved = site.get(f"/{names.moved}{part}")
    assert moved.status not in (301, 302, 303, 307, 308)


def test_parts_of_what_is_not_there(site: Deployment, names: Names) -> None:
    assert site.get(f"/pdi://{SERIES}/1997/09/01/1.text.1#char=0,3").status == 404
    assert site.get(f"/{names.withdrawn}#char=0,3").status == 410
    # `start >= end` is HTTP 416  # ruling: part-range
    assert site.get(f"/{names.letter}#char=9,3").status == 416


# names
# -----


def test_the_public_address_is_where_one_asked(site: Deployment, names: Names) -> None:
    answer = site.send(
        f"GET /{names.letter}?info HTTP/1.1\r\nHost: id.example\r\nX-Forwarded-Proto: https\r\n"
        "Connection: close\r\n\r\n".encode()
    )[0]
    assert json.loads(answer.body)["url"] == f"https://id.example/{names.letter}"
    odd = site.send(
        f'GET /{names.letter} HTTP/1.1\r\nHost: a"><b>\r\nConnection: close\r\n\r\n'.encode()
    )[0]
    assert odd.status in (200, 400)
    assert '"><b>' not in odd.headers.get("link", "")


def test_an_alias_of_what_has_other_names(site: Deployment) -> None:
    """docs/reference/landing-pages.md: redirected, unless several records claim the same name. That
    the one which does is an alias of other records makes no second claim."""
    one, two, three = map(parse, ("doi:10.9999/ring1", "ark:12345/ring2", "hdl:1839/ring3"))
    for name in (one, two, three):
        site.do(Register(identifier=name))
    site.do(Alias(identifier=one, other=parse("urn:isbn:0451450523")))
    for name, other in ((one, two), (two, three), (three, one)):
        site.do(Alias(identifier=name, other=other))
    answer = site.get("/urn:isbn:0451450523?info")
    assert (answer.status, answer.headers.get("location")) == (302, f"{site.base}/{one}?info")
    site.do(Alias(identifier=three, other=parse("urn:isbn:0451450523")))
    assert site.get("/urn:isbn:0451450523?info").status == 404


def test_aliases_are_told(site: Deployment, names: Names) -> None:
    site.do(Alias(identifier=parse(resource(names.letter)), other=parse(names.handle)))
    record = json.loads(site.get(f"/{names.letter}?info").body)
    assert record["aliases"] == ["doi:10.9999/x"]


def test_a_format_without_a_version_means_the_highest_version_that_has_it(
    site: Deployment,
) -> None:
    """Ruling pdi-format-without-version: a later version in other formats breaks no link."""
    first = site.mint(text(b"plain"), text(b"<p>page", "html", "text/html"))
    whole = first.rsplit(".", 2)[0]
    site.commit(whole, text(b"plainer"))
    answer = site.get(f"/{whole}.html")
    assert (answer.status, answer.body) == (200, b"<p>page")
    assert answer.headers["content-location"] == f"{whole}.html.1"
    latest = f'<{site.base}/{whole}.text.2>; rel="latest-version"'
    assert latest in answer.headers["link"]
    assert "latest-version" not in site.get(f"/{whole}.text").headers["link"]
    assert site.get(f"/{whole}.pdf").status == 406
    assert site.get(f"/{whole}.html?linkset").body.count(b'"latest-version"') == 1
    part = site.get(f"/{whole}.html%23char=0,3")
    assert (part.status, part.body) == (200, b"<p>")


@pytest.mark.parametrize(
    ("typed", "path"),
    [
        (f"<pdi://{SERIES}/1997/9/1/1>", f"/pdi://{SERIES}/1997/09/01/1"),
        (f"https://a.example/pdi://{SERIES}/1997/", f"/pdi://{SERIES}/1997/"),
        ("ark:12345/x6#page=2", "/ark:12345/x6?part=page=2"),
        ("hdl:1839/", "/hdl:1839/*"),
    ],
)
def test_the_form_reads_what_people_paste(site: Deployment, typed: str, path: str) -> None:
    answer = site.get(f"/?identifier={quote(typed)}")
    assert (answer.status, answer.headers["location"]) == (303, path)


@pytest.mark.parametrize(
    ("target", "status"),
    [
        (f"/%3Cpdi://{SERIES}/1997/09/01/1%3E", 400),
        (f"/http://a.example/pdi://{SERIES}/1997/09/01/1", 400),
        (f"/{SERIES}/1997/09/01/1", 404),
    ],
)
def test_a_target_is_not_guessed_but_the_problem_names_the_identifier(
    site: Deployment, target: str, status: int
) -> None:
    answer = site.get(target)
    assert answer.status == status
    assert f"pdi://{SERIES}/1997/09/01/1'?" in json.loads(answer.body)["detail"]


def test_every_face_links_the_versions_around_one(site: Deployment) -> None:
    """ "makes it possible to check for a higher version" (section 3.6.1), by RFC 5829."""
    first = site.mint(text(b"one"))
    whole = first.rsplit(".", 2)[0]
    site.commit(whole, text(b"two"))
    site.commit(whole, text(b"three"), text(b"<p>three", "html", "text/html"))
    before, after = "predecessor-version", "successor-version"
    around = {
        "text.1": {after: "text.2", "latest-version": "text.3"},
        "text.2": {before: "text.1", after: "text.3", "latest-version": "text.3"},
        "text.3": {before: "text.2"},
        "html.3": {before: "text.2"},
    }
    for ending, links in around.items():
        document = f"{site.base}/{whole}.{ending}"
        written = [f'<{site.base}/{whole}.{to}>; rel="{rel}"' for rel, to in links.items()]
        for target in (f"/{whole}.{ending}", f"/uri-res/N2R?{whole}.{ending}"):
            for _ in range(2):  # the second answer comes from the fast path
                link = site.get(target).headers["link"]
                assert [one for one in link.split(", ") if "-version" in one] == written
        part = site.get(f"/{whole}.{ending}%23char=0,2").headers["link"]
        anchored = [f'{one}; anchor="{document}"' for one in written]
        assert [one for one in part.split(", ") if "-version" in one] == anchored
        linkset = json.loads(site.get(f"/{whole}.{ending}?linkset").body)["linkset"]
        found = {
            rel: one[0]["href"]
            for context in linkset
            if context["anchor"] == document
            for rel, one in context.items()
            if rel.endswith("-version")
        }
        assert found == {rel: f"{site.base}/{whole}.{to}" for rel, to in links.items()}
        page = site.get(f"/{whole}.{ending}?landing").body.decode()
        assert ("This is not the latest version" in page) == ("latest-version" in links)


def test_a_withdrawn_version_is_not_linked(site: Deployment) -> None:
    first = site.mint(text(b"one"))
    whole = first.rsplit(".", 2)[0]
    second = site.commit(whole, text(b"two"))
    third = site.commit(whole, text(b"three"))
    assert (
        f'<{site.base}/{second}>; rel="successor-version"' in site.get(f"/{first}").headers["link"]
    )
    site.do(Withdraw(by="clerk", identifier=parse(second), reason="a court said so"))
    link = site.get(f"/{first}").headers["link"]
    assert second not in link
    assert f'<{site.base}/{third}>; rel="successor-version"' in link
    assert (
        f'<{site.base}/{first}>; rel="predecessor-version"' in site.get(f"/{third}").headers["link"]
    )
