"""Browsers get the page of a name, programs the thing: real Accept fields on every route.

# ruling: page-or-thing
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.server.conftest import Answer
from tests.server.deployment import Deployment, deployed, resource, text

from perdure.ids import parse
from perdure.model.commands import Mint, Withdraw

TABLE: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "accept.json").read_text("utf-8")
)
PAGES = [row for row in TABLE["fields"] if row["gets"] == "page"]
THINGS = [row for row in TABLE["fields"] if row["gets"] == "thing"]
BROWSER = f"Accept: {PAGES[0]['accept']}"
PLAIN = b"A plain text, held here"
MARKED = b"<p>A page, held here"
COLLECTION = b'{"collection": 1, "title": "Two", "members": [{"identifier": "doi:10.1000/182"}]}\n'


@pytest.fixture(scope="module")
def letter(site: Deployment) -> str:
    return site.mint(text(PLAIN))


@pytest.fixture(scope="module")
def marked(site: Deployment) -> str:
    return site.mint(text(MARKED, "html", "text/html"))


def ask(site: Deployment, target: str, row: dict[str, Any], method: str = "GET") -> Answer:
    return site.ask(method, target, *([f"Accept: {row['accept']}"] if row["accept"] else []))


def is_page(answer: Answer) -> bool:
    return b'<h2 id="identity">' in answer.body


def name_of(row: dict[str, Any]) -> str:
    return str(row["sent by"])


@pytest.mark.parametrize("row", TABLE["fields"], ids=name_of)
def test_each_client_gets_what_it_prefers(
    site: Deployment, letter: str, row: dict[str, Any]
) -> None:
    answer = ask(site, f"/{resource(letter)}", row)
    kind = answer.headers["content-type"].partition(";")[0]
    found = {
        "page": kind == "text/html" and is_page(answer),
        "thing": answer.body == PLAIN,
        "metadata": kind in str(row["accept"]),
        "linkset": kind == "application/linkset+json",
        "record": kind == "application/json" and json.loads(answer.body)["status"] == "held",
    }
    assert found[row["gets"]], (answer.status, kind)
    assert "accept" in answer.headers["vary"]


@pytest.mark.parametrize("row", PAGES + THINGS, ids=name_of)
def test_the_same_holds_of_a_full_name_and_of_a_part(
    site: Deployment, letter: str, row: dict[str, Any]
) -> None:
    for target, thing in ((letter, PLAIN), (f"{letter}%23char=2,7", b"plain")):
        answer = ask(site, f"/{target}", row)
        assert is_page(answer) == (row["gets"] == "page"), target
        assert is_page(answer) or answer.body == thing
        assert "accept" in answer.headers["vary"]
        head = ask(site, f"/{target}", row, "HEAD")
        assert head.headers["content-type"] == answer.headers["content-type"]


@pytest.mark.parametrize("row", PAGES, ids=name_of)
def test_the_page_says_where_the_thing_is(
    site: Deployment, letter: str, row: dict[str, Any]
) -> None:
    answer = ask(site, f"/{letter}", row)
    assert answer.headers["content-location"] == f"/{letter}?landing"
    assert f'<{site.base}/{letter}>; rel="item"' in answer.headers["link"]
    assert f"{letter}?bytes" in answer.body.decode()


@pytest.mark.parametrize("row", PAGES, ids=name_of)
def test_html_is_its_own_page_but_a_part_of_it_is_not(
    site: Deployment, marked: str, row: dict[str, Any]
) -> None:
    for target in (marked, resource(marked)):
        answer = ask(site, f"/{target}", row)
        assert answer.body == MARKED
        assert "?landing" in answer.headers["link"]
    assert is_page(ask(site, f"/{marked}%23char=3,9", row))


@pytest.mark.parametrize("row", PAGES, ids=name_of)
def test_bytes_ranges_and_n2r_are_never_a_page(
    site: Deployment, letter: str, row: dict[str, Any]
) -> None:
    accept = f"Accept: {row['accept']}"
    for target in (letter, resource(letter)):
        assert site.get(f"/{target}?bytes", accept).body == PLAIN
        assert not is_page(site.get(f"/{target}", accept, "Range: bytes=0-3"))
    assert not is_page(site.get(f"/uri-res/N2R?{letter}", accept))
    assert site.get(f"/{letter}%23char=2,7?bytes", accept).body == b"plain"


@pytest.mark.parametrize("row", PAGES, ids=name_of)
def test_a_mirror_does_not_hide_what_is_held(site: Deployment, row: dict[str, Any]) -> None:
    name = resource(site.mint(text(PLAIN)))
    site.bind(name, "https://mirror.example/1")
    assert is_page(ask(site, f"/{name}", row))


@pytest.mark.parametrize("row", PAGES + THINGS, ids=name_of)
def test_a_name_that_is_elsewhere_leads_there(site: Deployment, row: dict[str, Any]) -> None:
    """RFC 8574 section 3: a reader who is sent away learns which URI to cite."""
    name = site.bind("hdl:21.T14999/elsewhere", "https://a.example/1")
    answer = ask(site, f"/{name}", row)
    assert (answer.status, answer.headers["location"]) == (302, "https://a.example/1")
    assert f'</{name}>; rel="cite-as"' in answer.headers["link"]
    assert f'</{name}?linkset>; rel="linkset"' in answer.headers["link"]


def test_reserved_names_and_tombstones_have_a_page(site: Deployment) -> None:
    reserved = site.do(Mint(authority="oma.eop.gov.us")).identifier
    assert is_page(site.get(f"/{reserved}", BROWSER))
    gone = site.mint(text(b"x"))
    site.do(Withdraw(identifier=parse(resource(gone)), reason="a court said so"))
    for target in (gone, resource(gone)):
        answer = site.get(f"/{target}", BROWSER)
        assert answer.status == 410
        assert is_page(answer)
        assert b"a court said so" in answer.body
        assert b"?history" in answer.body


@pytest.mark.parametrize("row", PAGES, ids=name_of)
def test_a_collection_shows_its_members(site: Deployment, row: dict[str, Any]) -> None:
    """ "a page for people where HTML is wanted" (docs/reference/collections.md)."""
    kind = "application/vnd.perdure.collection+json"
    name = resource(site.mint(text(COLLECTION, "json", kind)))
    answer = ask(site, f"/{name}", row)
    assert answer.headers["content-type"].startswith("text/html")
    assert b"10.1000/182" in answer.body
    assert "?landing" in answer.body.decode()
    assert site.get(f"/{name}").headers["content-type"] == kind


def test_lists_lead_to_pages(site: Deployment, letter: str) -> None:
    series = letter.split("/", 3)[2]
    day = "/".join(letter.split("/")[:6])
    for target in (f"pdi://{series}/", f"{day}/"):
        assert site.get(f"/{target}", BROWSER).status == 200
    assert f"{resource(letter)}?landing" in site.get(f"/{day}/", BROWSER).body.decode()


def test_a_thing_has_one_name_to_cite(site: Deployment) -> None:
    """RFC 8574 section 3; the Link field (level 1) and the linkset (level 2) agree."""
    name = site.mint(text(b"a,b\r\n", "csv", "text/csv"))
    links = json.loads(site.get(f"/{resource(name)}?linkset").body)["linkset"]
    by_anchor = {one["anchor"]: one["cite-as"][0]["href"] for one in links if "cite-as" in one}
    for anchor, cited in by_anchor.items():
        path = anchor.removeprefix(site.base)
        found = re.search(r'<([^>]*)>; rel="cite-as"', site.ask("HEAD", path).headers["link"])
        assert found is not None
        assert found[1] == cited, anchor
    assert by_anchor[f"{site.base}/{name}"] == f"{site.base}/{name}"


@pytest.mark.parametrize(
    ("setting", "plain", "html"),
    [("never", False, False), ("not-for-html", True, False), ("always", True, True)],
)
def test_the_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, plain: bool, html: bool
) -> None:
    monkeypatch.setenv("PERDURE_PAGES", setting)
    with deployed(tmp_path / "registry") as own:
        letter, marked = own.mint(text(PLAIN)), own.mint(text(MARKED, "html", "text/html"))
        for target, expected in ((letter, plain), (marked, html)):
            for name in (target, resource(target)):
                answer = own.get(f"/{name}", BROWSER)
                assert is_page(answer) == expected, name
        assert ("vary" in own.get(f"/{letter}").headers) == plain
        assert ("vary" in own.get(f"/{marked}").headers) == html


# every route
# -----------


@pytest.fixture(scope="module")
def routes(site: Deployment, letter: str) -> dict[str, bool]:
    """What can be asked, and whether the answer has a form for people."""
    name, kind = resource(letter), "application/vnd.perdure.collection+json"
    collection = site.mint(text(COLLECTION, "json", kind))
    site.bind("ark:99999/fk4browsed", "https://a.example/1")
    day = "/".join(letter.split("/")[:6])
    with_pages = (
        *("/", "/authorities", "/pdi://oma.eop.gov.us/", f"/{day}/", f"/{day}/?info"),
        *(f"/{day}/?locations", f"/{name}?info", f"/{name}?locations", f"/{name}?landing"),
        *(f"/uri-res/{one}?{name}" for one in ("N2C", "N2Ls", "N2Ns")),
        *(
            f"/{name}?history",
            f"/{collection}?members",
            "/problems/not-found",
            "/nowhere",
            f"/{name}?quote=x+y+z",
        ),
        *("/pdi://oma.eop.gov.us/1990/01/01/1", f"/{letter}%23char=0,99999", f"/{letter}?play"),
    )
    without = (
        *(f"/{name}?{one}" for one in ("linkset", "metadata", "cite", "quote=plain")),
        *(f"/{day}/?cite=apa", f"/uri-res/N2L?{name}", f"/uri-res/N2R?{name}", "/openapi.json"),
        *("/ark:99999/fk4browsed?", "/ark:99999/fk4browsed", "/api/handles/0.na/none"),
        *("/metrics", "/healthz", f"/{letter}?bytes", "/cdx?url=http://a.example/"),
    )
    return dict.fromkeys(with_pages, True) | dict.fromkeys(without, False)


def test_every_route_answers_every_client(site: Deployment, routes: dict[str, bool]) -> None:
    for target, has_page in routes.items():
        kinds, varied = set(), True
        for row in TABLE["fields"]:
            answer = ask(site, target, row)
            kind = answer.headers.get("content-type", "").partition(";")[0]
            assert answer.status < 500 or answer.status == 501, (target, row)
            assert answer.status != 406 or row["gets"] not in ("thing", "record"), (target, row)
            if has_page and row["gets"] == "page":
                assert kind == "text/html", (target, row)
            kinds.add((answer.status, kind))
            varied = varied and "accept" in answer.headers.get("vary", "")
        assert len(kinds) == 1 or varied, (target, kinds)
