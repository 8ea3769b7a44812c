"""Reading rules over HTTP: every face refuses with the same reason; no cache stores an answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha512
from typing import Any
from urllib.parse import quote

import pytest
from tests.server.deployment import SERIES, Deployment, deployed, resource, text

from perdure.ids import parse
from perdure.model.commands import Describe, Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule

SECRET = b"a secret sentence"
MARKER = "secret"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("site") / "registry"
    with deployed(root, trusted_proxies="127.0.0.1") as running:
        yield running


def restrict(site: Deployment, about: str, **fields: Any) -> None:
    rule = ReadingRule(**({"about": about, "access": Access.CLOSED} | fields))
    site.do(Restrict(rule=rule))


def lift(site: Deployment, about: str) -> None:
    restrict(site, about, access=Access.OPEN, lifted=True)


@pytest.fixture
def name(site: Deployment) -> str:
    """A document with a secret in its bytes and in its title."""
    full = site.mint(text(SECRET))
    patch = json.dumps({"titles": [{"value": f"The {MARKER}"}]}).encode()
    site.do(Describe(identifier=parse(resource(full)), patch=patch))
    return full


CASES: list[tuple[dict[str, Any], int, str]] = [
    ({}, 403, "forbidden"),
    ({"access": Access.UNAVAILABLE, "reason": "a court"}, 451, "unavailable-for-legal-reasons"),
    ({"until": "2999-01-01", "reason": "under review"}, 403, "embargoed"),
    ({"by_token": True}, 401, "unauthenticated"),
    ({"networks": ("10.0.0.0/8",)}, 403, "forbidden"),
]


def list_targets(name: str) -> list[str]:
    """Requests of every face about a document."""
    whole = resource(name)
    encoded = quote(whole, safe="")
    return [
        f"/{whole}",
        f"/{name}",
        f"/{name}%23char=0,4",
        f"/{name}?part=char=0,4",
        *(f"/{whole}?{verb}" for verb in ("info", "landing", "linkset", "locations", "history")),
        f"/{whole}?metadata=datacite-json",
        f"/{whole}?cite=bibtex",
        f"/{whole}?bytes",
        f"/{name}?members",
        f"/{name}?play",
        f"/{name}?quote=secret",
        *(f"/uri-res/{one}?{whole}" for one in ("N2L", "N2Ls", "N2R", "N2Rs", "N2C", "I2Ns")),
        f"/iiif/3/{encoded}/info.json",
        f"/iiif/3/{encoded}/full/max/0/default.jpg",
    ]


@pytest.mark.parametrize(("fields", "status", "code"), CASES)
def test_every_face_refuses(
    site: Deployment, name: str, fields: dict[str, Any], status: int, code: str
) -> None:
    restrict(site, resource(name), **fields)
    for target in list_targets(name):
        answer = site.get(target)
        assert answer.status == status, (target, answer)
        assert "no-store" in answer.headers["cache-control"], target
        assert MARKER not in f"{answer.headers}", target
        assert MARKER.encode() not in answer.body.replace(target.encode(), b""), target
        assert json.loads(answer.body)["code"] == code
        assert site.ask("HEAD", target).status == status
        if status == 401:
            assert answer.headers["www-authenticate"].startswith("Bearer")
        named = f'<{site.base}/>; rel="blocked-by"' in answer.headers.get("link", "")
        assert named == (status == 451), target  # RFC 7725 section 4


@pytest.mark.parametrize("service", ["L2N", "L2Ns", "L2Ls", "L2C", "L2R"])
def test_a_url_does_not_lead_to_a_closed_name(site: Deployment, name: str, service: str) -> None:
    """A closed name is as unknown by its URLs as any other: by our own, and by a bound one."""
    bound = f"https://closed.example/{service}"
    closed = site.bind(f"urn:example:closed-{service.lower()}", bound)
    ours = f"{site.base}/{resource(name)}"
    for url in (ours, bound):
        assert site.get(f"/uri-res/{service}?{url}").status < 400, url
    restrict(site, resource(name))
    restrict(site, closed)
    unknown = site.get(f"/uri-res/{service}?https://unknown.example/")
    for url in (ours, bound):
        answer = site.get(f"/uri-res/{service}?{url}")
        assert answer.status == unknown.status == 404, (url, answer)
        assert json.loads(answer.body)["code"] == json.loads(unknown.body)["code"]
        assert MARKER not in f"{answer}"


def test_a_page_says_until_when_and_why(site: Deployment, name: str) -> None:
    restrict(site, resource(name), until="2999-01-01", reason="under <review>")
    answer = site.get(f"/{resource(name)}", "Accept: text/html")
    assert (answer.status, answer.headers["content-type"][:9]) == (403, "text/html")
    page = answer.body.decode()
    assert "2999-01-01" in page
    assert "under &lt;review&gt;" in page
    assert MARKER not in page


def test_a_problem_says_until_when(site: Deployment, name: str) -> None:
    restrict(site, resource(name), until="2999-01-01", reason="under review")
    problem = json.loads(site.get(f"/{name}").body)
    assert (problem["until"], problem["stated"]) == ("2999-01-01", "under review")
    page = site.get(f"/{name}", "Accept: text/html").body
    assert b"2999-01-01" in page
    assert b"False" not in page  # of a member that says nothing


def test_readers_with_a_token_read(site: Deployment, name: str) -> None:
    restrict(site, resource(name), by_token=True)
    reads = site.token("reader", operations=("read",), authorities=(SERIES,))
    writes = site.token("writer", operations=("mint",))
    elsewhere = site.token("stranger", operations=("read",), authorities=("archive.nara.gov.us",))
    answer = site.get(f"/{name}", f"Authorization: Bearer {reads}")
    assert (answer.status, answer.body) == (200, SECRET)
    assert answer.headers["cache-control"] == "private, no-store"
    for other in (writes, elsewhere):
        assert site.get(f"/{name}", f"Authorization: Bearer {other}").status == 403
    assert site.get(f"/{name}", "Authorization: Bearer perdure_unknown").status == 401
    assert site.get(f"/{name}", "Authorization: Basic YTpi").status == 401
    conditional = site.get(f"/{name}", f"If-None-Match: {answer.headers['etag']}")
    assert conditional.status == 401
    again = site.get(
        f"/{name}", f"If-None-Match: {answer.headers['etag']}", f"Authorization: Bearer {reads}"
    )
    assert (again.status, again.headers["cache-control"]) == (304, "private, no-store")


def test_readers_in_a_network_read(site: Deployment, name: str) -> None:
    """ " "by network" heeds trusted_proxies"."""
    restrict(site, resource(name), networks=("10.0.0.0/8", "2001:db8::/32"))
    for address, status in (
        ("10.1.2.3", 200),
        ("2001:db8::7", 200),
        ("9.9.9.9, 10.1.2.3", 200),
        ("10.1.2.3, 9.9.9.9", 403),
        ("11.1.2.3", 403),
        ("nonsense", 403),
        ("", 403),
    ):
        answer = site.get(f"/{name}", f"X-Forwarded-For: {address}")
        assert answer.status == status, address


def test_only_a_trusted_proxy_names_the_reader(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    root = tmp_path_factory.mktemp("untrusting") / "registry"
    with deployed(root, trusted_proxies="192.0.2.1") as site:
        full = site.mint(text(SECRET))
        restrict(site, resource(full), networks=("10.0.0.0/8",))
        assert site.get(f"/{full}", "X-Forwarded-For: 10.1.2.3").status == 403
        restrict(site, resource(full), networks=("127.0.0.0/8",))
        assert site.get(f"/{full}", "X-Forwarded-For: 10.1.2.3").status == 200


def test_remembered_answers_obey_at_once(site: Deployment, name: str) -> None:
    site.bind("hdl:1839/hot", "https://a.example/hot")
    pairs = (
        ("/hdl:1839/hot", "hdl:1839/hot", 302),
        (f"/{name}", resource(name), 200),
        ("/api/handles/1839/hot", "hdl:1839/hot", 200),
    )
    for target, about, usual in pairs:
        for _ in range(3):
            assert site.get(target).status == usual, target
        restrict(site, about)
        for _ in range(3):
            answer = site.get(target)
            assert answer.status == 403, target
            assert b"a.example" not in answer.body
        lift(site, about)
        assert site.get(target).status == usual, target


def test_the_handle_api_answers_in_its_own_codes(site: Deployment) -> None:
    site.bind("hdl:1839/closed", f"https://a.example/{MARKER}")
    for fields, status, code in (
        ({}, 403, 401),
        ({"by_token": True}, 401, 402),
        ({"access": Access.UNAVAILABLE}, 451, 401),
    ):
        restrict(site, "hdl:1839/closed", **fields)
        answer = site.get("/api/handles/1839/closed")
        assert (answer.status, json.loads(answer.body)["responseCode"]) == (status, code)
        assert MARKER.encode() not in answer.body


def test_other_documents_are_cached_as_before(site: Deployment, name: str) -> None:
    restrict(site, "pdi://archive.nara.gov.us/1997/")
    assert "public" in site.get(f"/{name}").headers["cache-control"]


@pytest.mark.parametrize("closed", [SERIES, "{whole}", "{whole}.*.1", "{name}"])
@pytest.mark.parametrize(
    "spelling", ["/{name}%23char=2,8", "/{name}?part=char=2,8", "/uri-res/N2R?{name}%23char=2,8"]
)
def test_an_open_part_of_a_closed_document_is_answered(
    site: Deployment, name: str, closed: str, spelling: str
) -> None:
    """restrict-reading.md: "A part of a closed document can be open"."""
    about = closed.format(name=name, whole=resource(name))
    restrict(site, about, by_token=True)
    try:
        assert site.get(spelling.format(name=name)).status == 401
        restrict(site, f"{name}#char=0,8", access=Access.OPEN)
        found = site.get(spelling.format(name=name))
        assert (found.status, found.body) == (200, SECRET[2:8])
        assert site.get(f"/{name}%23char=2,9").status == 401
        assert site.get(f"/{name}").status == 401
        text = site.get(f"/{name}%23char=2,8?text")
        assert (text.status, text.body) == (200, SECRET[2:8])
        for told in ("linkset", "history", "citedby", "assertions", "diff=1,2", "provenance"):
            refused = site.get(f"/{name}%23char=2,8?{told}")  # they tell of the document
            assert refused.status == 401, (told, refused)
    finally:
        lift(site, about)


def test_an_open_part_of_a_closed_document_is_cited(site: Deployment) -> None:
    """Issue 17, G: "A part of a closed document can be open and the reverse"; what can be read can
    be cited, by its name, and nothing of the document is told."""
    data = b"kryptn, an open part, zyxwv"
    name = site.mint(text(data))
    whole = resource(name)
    patch = json.dumps({"titles": [{"value": "A hidden title"}]}).encode()
    site.do(Describe(identifier=parse(whole), patch=patch))
    citing = site.mint(text(b"they wrote: open part"))
    citation = f"{citing}@12={name}%23char=11,20"
    restrict(site, whole, by_token=True)
    restrict(site, f"{name}#char=8,20", access=Access.OPEN)
    part = f"/{name}%23char=11,20"
    hidden = [b"hidden", b"kryptn", b"zyxwv", sha512(data).hexdigest().encode()]
    answers = {
        target: site.get(target, *accept)
        for target, accept in (
            (f"{part}?cite", ()),
            (f"{part}?cite=bibtex", ()),
            (f"{part}?metadata", ()),
            (f"{part}?metadata=jsonld", ()),
            (f"{part}?info", ()),
            (f"{part}?landing", ()),
            (part, ("Accept: text/html",)),
            (f"/{citation}?info", ()),
            (f"/{citation}?landing", ()),
            (f"/{citation}?cite", ()),
            (f"/{citation}?metadata", ()),
        )
    }
    for target, answer in answers.items():
        assert answer.status == 200, (target, answer)
        told = answer.body + repr(answer.headers).encode()
        assert [one for one in hidden if one in told] == [], target
    assert f"{name}#char=11,20" in answers[f"{part}?cite"].body.decode()
    record = json.loads(answers[f"{part}?info"].body)
    assert (record["identifier"], record["text"]) == (f"{name}#char=11,20", "open part")
    for target in (f"{part}?landing", part):
        page = answers[target].body
        assert b"open part" in page
        assert b"The document around it is not" in page
    verdict = json.loads(answers[f"/{citation}?info"].body)
    assert (verdict["verdict"], verdict["quoted"]["before"]) == ("verbatim", "")
    for target in (f"/{name}%23char=7,20?cite", f"/{name}?cite", f"/{name}@8={citing}%23char=0,4"):
        assert site.get(target).status == 401, target
    restrict(site, f"{name}#char=90,99", access=Access.OPEN)
    assert site.get(f"/{name}%23char=90,99?cite").status == 416  # ruling: part-exists
    site.do(Withdraw(identifier=parse(whole), reason="a court"))
    for target in answers:
        assert b"open part" not in site.get(target, "Accept: text/html").body, target
