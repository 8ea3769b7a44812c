"""Nothing of a closed document is in any answer to a reader who may not read it.

How it works: closed documents have a marker wherever something can be said of them. The requests
are data (vectors/leaks.json), checked against the tables of routes, words and services, so that a
new one fails here until it is asked. The same requests with the right token do show the marker, so
the test would see a leak.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.archives.warcs import Warc
from tests.server.deployment import SERIES, Deployment, deployed, resource, text, today
from tests.server.test_withholding import configure

from perdure.archives.withholding import Withholding
from perdure.ids import parse
from perdure.model.assertions import write_assertion
from perdure.model.commands import Alias, Assign, Describe, Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import Location, Value
from perdure.server.apis.thttp import SERVICES
from perdure.server.routes.questions import QUESTIONS
from perdure.server.routes.table import ROUTES
from perdure.upkeep.asserting import store_assertion
from perdure.upkeep.indexing import bring_up_to_date, open_citations
from perdure.upkeep.searching.updating import update_index

TABLE: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "leaks.json").read_text("utf-8")
)
MARKER = "xyzzymarker"
LOCATION = f"https://example.org/{MARKER}"
HANDLE = "hdl:1839/closed"
ARCHIVE = "archive.example.org"
HOST = "http://a.example/"
CAPTURE = f"{HOST}{MARKER}/x.html"
ALIAS = "hdl:1839/other"
OPEN_PART = "char=0,13"


def make_document(site: Deployment, other_name: str = MARKER) -> str:
    """A document that says the marker in every place, and its full name."""
    name = site.mint(text(f"opening words {MARKER} doi:10.1000/{MARKER}".encode()))
    whole = resource(name)
    site.bind(whole, Location(uri=f"{LOCATION}/pdi", region="eu"))
    for about in (whole, name):
        members = {"titles": [{"value": f"{MARKER} title"}], "creators": [{"name": MARKER}]}
        site.do(Describe(identifier=parse(about), patch=json.dumps(members).encode()))
    alias = f"hdl:1839/{other_name}{len(site.registry.listings.find_bound(f'{LOCATION}/pdi'))}"
    site.do(Alias(identifier=parse(whole), other=parse(alias)))
    return name


def make_handle(site: Deployment) -> None:
    values = (
        Value(index=1, type="URL", data=LOCATION),
        Value(index=2, type="DESC", data=f"{MARKER} description"),
    )
    site.do(Assign(identifier=parse(HANDLE), values=values))
    site.do(Alias(identifier=parse(HANDLE), other=parse(ALIAS)))


def make_second_version(site: Deployment) -> str:
    """A document of which only the second version says the marker, and that version."""
    whole = resource(site.mint(text(b"opening words of all")))
    name = site.commit(whole, text(f"opening words {MARKER} doi:10.1000/{MARKER}".encode()))
    site.bind(whole, Location(uri=f"{LOCATION}/pdi", version=2))
    members = {"titles": [{"value": f"{MARKER} title"}], "creators": [{"name": MARKER}]}
    site.do(Describe(identifier=parse(name), patch=json.dumps(members).encode()))
    return name


def close_whole(site: Deployment) -> str:
    name = make_document(site)
    restrict(site, resource(name), by_token=True)
    return name


def close_version(site: Deployment) -> str:
    name = make_second_version(site)
    restrict(site, f"{resource(name)}.*.2", by_token=True)
    return name


def open_part(site: Deployment) -> str:
    """A closed document with an open part, which does not say the marker."""
    name = close_whole(site)
    site.do(
        Restrict(rule=ReadingRule(about=f"{name}#{OPEN_PART}", access=Access.OPEN)),
    )
    return name


def make_captures(site: Deployment, place: Path) -> None:
    """A closed page that says the marker, what a crawler made of it, and an open page."""
    warc = Warc(place / "a.warc.gz")
    warc.response(CAPTURE, "2014-01-26T20:06:24Z", f"<title>{MARKER}</title>".encode())
    warc.response(HOST, "2014-01-26T20:06:24Z", b"<title>open</title>")
    warc.resource(f"urn:text:{CAPTURE}", "2014-01-26T20:06:25Z", MARKER.encode(), "text/plain")
    site.registry.archive.add_file(warc.finish())
    restrict(site, f"{HOST}{MARKER}/", match="prefix", by_token=True)


def restrict(site: Deployment, about: str, **fields: Any) -> None:
    site.do(Restrict(rule=ReadingRule(about=about, access=Access.CLOSED, **fields)))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = configure(tmp_path_factory.mktemp("leaks") / "registry", sparql="on")
    with deployed(root) as running:
        make_captures(running, tmp_path_factory.mktemp("files"))
        make_handle(running)
        restrict(running, HANDLE, by_token=True)
        yield running


@pytest.fixture(scope="module")
def closed(site: Deployment) -> list[dict[str, str]]:
    """The texts for the placeholders of the table, for each kind of closed document.

    All are closed before the first request: most requests are about the same sets for each of them.
    """
    return [list_words(site, close(site)) for close in (close_whole, close_version, open_part)]


def list_words(site: Deployment, name: str, said_of_it: str = MARKER) -> dict[str, str]:
    """The texts for the placeholders, about a document, to which others refer by then."""
    whole = resource(name)
    data = write_assertion((name, HANDLE), ("commenting",), body=f"about {said_of_it}")
    said = store_assertion(site.registry, data, series=SERIES).identifier
    other = site.mint(text(b"opening words of another document"))
    list(update_index(site.registry))  # so that searches could tell
    site.mint(text(f"This refers to {name}#char=0,20, and opens words.".encode()))
    with open_citations(site.registry) as index:
        bring_up_to_date(index)
    return {
        "annotation": f"/annotations/{resource(said).removeprefix('pdi://')}",
        "whole": whole,
        "name": name,
        "part": "char=0,20",
        "open_part": OPEN_PART,
        "handle": HANDLE,
        "alias": ALIAS,
        "location": LOCATION,
        "open": other,
        "page": f"{LOCATION}/pdi",
        "day": f"pdi://{SERIES}/{today()}/",
        "series": f"pdi://{SERIES}/",
        "prefix": "hdl:1839/",
        "escaped": quote(whole, safe=""),
        "handle_path": HANDLE.removeprefix("hdl:"),
        "pdi_path": f"pdi/{whole.removeprefix('pdi://')}",
        "archive": ARCHIVE,
        "capture": CAPTURE,
        "capture_host": HOST,
        "pwid": f"urn:pwid:{ARCHIVE}:2014-01-26T20:06:24Z:part:{CAPTURE}",
        "page_pwid": f"urn:pwid:{ARCHIVE}:2014-01-26T20:06:24Z:page:{CAPTURE}",
        "site_pwid": f"urn:pwid:{ARCHIVE}:2014-01-26T20:06:24Z:site:{HOST}",
    }


def list_targets(*several: dict[str, str]) -> list[str]:
    """All requests of the table, each with each of these texts in place of the placeholders."""
    found = [one for targets in TABLE["routes"].values() for one in targets]
    subjects, asked = TABLE["subjects"], TABLE["words"].values()
    found += [f"/{about}?{one}" for about in subjects for some in asked for one in some]
    for service in SERVICES:
        operands = TABLE[f"services of {'addresses' if service[0] == 'L' else 'names'}"]
        found += [f"/uri-res/{service}?{one}" for one in operands]
    found += [f"/uri-res/I=I?{one}%20{{handle}}" for one in TABLE["services of names"]]
    return list(dict.fromkeys(one.format(**words) for words in several for one in found))


def test_everything_that_can_be_asked_is_asked() -> None:
    routes = {route.pattern for route in ROUTES if "GET" in route.methods}
    assert {*TABLE["routes"], *TABLE["excused routes"]} == routes
    assert not {*TABLE["routes"]} & {*TABLE["excused routes"]}
    assert set(TABLE["words"]) == {one.name for one in QUESTIONS}


def has_marker(answer_text: str, target: str) -> bool:
    """Return True if an answer says the marker, other than by repeating the request."""
    for said in (target, quote(target, safe=""), quote(target), target.split("?")[-1]):
        answer_text = answer_text.replace(said, "")
    for said in (LOCATION, f"{LOCATION}/pdi", CAPTURE):
        if said in target:
            answer_text = answer_text.replace(said, "")
    return MARKER in answer_text.lower()


@pytest.mark.parametrize("accept", TABLE["accept"])
def test_no_answer_says_anything_of_a_closed_document(
    site: Deployment, closed: list[dict[str, str]], accept: str
) -> None:
    writer = site.token(f"writer {accept}", operations=("mint", "describe", "administer"))
    fields = (f"Accept: {accept}",) if accept else ()
    bearers: list[tuple[str, ...]] = [()] if accept else [(), (f"Authorization: Bearer {writer}",)]
    for bearer in bearers:
        targets = [one for one in list_targets(*closed) if not (bearer and "history" in one)]
        for target, answer in site.get_each(targets, *fields, *bearer):
            assert answer.status < 500 or answer.status == 501, (target, answer)
            said = f"{answer.headers} {answer.body.decode('utf-8', 'replace')}"
            assert not has_marker(said, target), (target, bearer, said)


@pytest.fixture(scope="module")
def withdrawn(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[Deployment, list[dict[str, str]]]]:
    """A registry in which documents were indexed and referred to, and then withdrawn in silence.

    One is whole, with an ordinary alias, since names stay; of the other it is a version. So are the
    handle, and the captures, which were taken down.
    """
    root = configure(tmp_path_factory.mktemp("withdrawn") / "registry", sparql="on")
    with deployed(root) as running:
        warc = Warc(tmp_path_factory.mktemp("files") / "a.warc.gz")
        warc.response(CAPTURE, "2014-01-26T20:06:24Z", f"<title>{MARKER}</title>".encode())
        warc.response(HOST, "2014-01-26T20:06:24Z", b"<title>open</title>")
        running.registry.archive.add_file(warc.finish())
        make_handle(running)
        document, version = make_document(running, "named"), make_second_version(running)
        # what others said of it stays
        words = [list_words(running, name, "it") for name in (document, version)]
        running.registry.archive.take_down(
            Withholding(
                uri=f"{HOST}{MARKER}/", match="prefix", reason="by order", at="2026", by="Ada"
            )
        )
        for one in (resource(document), version, HANDLE):
            running.do(Withdraw(identifier=parse(one), reason="by order", silent=True))
        list(update_index(running.registry))
        yield running, words


@pytest.mark.parametrize("accept", TABLE["accept"])
def test_no_answer_says_anything_of_what_was_withdrawn(
    withdrawn: tuple[Deployment, list[dict[str, str]]], accept: str
) -> None:
    site, words = withdrawn
    leaks = {}
    fields = (f"Accept: {accept}",) if accept else ()
    for target, answer in site.get_each(list_targets(*words), *fields):
        assert answer.status < 500 or answer.status == 501, (target, answer)
        said = f"{answer.headers} {answer.body.decode('utf-8', 'replace')}"
        if has_marker(said, target):
            leaks[target] = said
    assert not leaks


def test_a_reader_with_the_right_sees_it(site: Deployment, closed: list[dict[str, str]]) -> None:
    reader = site.token("reader", operations=("read",))
    seen = set()
    for target, answer in site.get_each(list_targets(*closed), f"Authorization: Bearer {reader}"):
        said = f"{answer.headers} {answer.body.decode('utf-8', 'replace')}"
        if has_marker(said, target):
            seen.add(target)
            assert answer.headers["cache-control"] == "private, no-store", (target, answer)
    for words in closed:
        for needed in (
            "/{name}",
            "/{name}?info",
            "/{day}?info",
            "/{day}?cites",
            "/{day}?locations",
            "/search?q=xyzzy*",
            "/search.atom?q=xyzzy*",
            "/{pwid}",
            "/cdx?url={capture_host}*",
        ):
            assert needed.format(**words) in seen
        assert len(seen.intersection(list_targets(words))) > 50


@pytest.mark.usefixtures("closed")
def test_the_count_of_a_search_is_that_of_what_the_reader_may_read(site: Deployment) -> None:
    reader = site.token("counting reader", operations=("read",))
    counts = []
    for fields in ((), (f"Authorization: Bearer {reader}",)):
        answer = site.get("/search?q=xyzzy*", *fields)
        found = json.loads(answer.body)
        assert answer.headers["cache-control"] == "private, no-store"
        counts.append((found["count"], len(found["documents"]) > 0, found["more"]))
    assert counts[0] == (0, False, False)
    assert counts[1][1]
