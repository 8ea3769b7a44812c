"""`?cites`, `?citedby` and `?quotes`: each form of the lists, their pages, and their silence."""

from __future__ import annotations

import json
import re
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.server.conftest import Answer
from tests.server.deployment import SERIES, Deployment, deployed, resource, text, today

from perdure.ids import parse
from perdure.model.commands import Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule
from perdure.upkeep.citations.citation_index import FILE
from perdure.upkeep.citations.received import ReceivedCitations
from perdure.upkeep.indexing import bring_up_to_date, open_citations, open_passages

BASE = "https://id.example"
WORDS = "We will open the archives of the past ten years if each office agrees and not before then"
CITO = "http://purl.org/spar/cito/"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    place = tmp_path_factory.mktemp("citing") / "registry"
    with deployed(place, base_url=BASE) as running:
        yield running


@pytest.fixture(scope="module")
def names(site: Deployment) -> dict[str, str]:
    speech = site.mint(text(WORDS.encode()))
    memo = site.mint(text(f"> {WORDS.upper()}\nSee {speech}#char=0,47, doi:10.1000/182".encode()))
    page = site.mint(text(f'<a href="/{speech}">x</a>'.encode(), "html", "text/html"))
    follow(site)
    return {"speech": speech, "memo": memo, "page": page}


def follow(site: Deployment) -> None:
    with open_citations(site.registry) as index:
        bring_up_to_date(index)
    pytest.importorskip("numpy")
    with open_passages(site.registry) as index:
        bring_up_to_date(index)


def ask(site: Deployment, target: str, accept: str = "application/json") -> Answer:
    answer = site.get(target, f"Accept: {accept}")
    assert answer.status == 200, answer
    return answer


def read(site: Deployment, target: str) -> Any:
    return json.loads(ask(site, target).body)


def list_citing(found: Any) -> list[str]:
    return [one["citing"] for one in found["citations"]]


def test_who_cites_a_name_as_json(site: Deployment, names: dict[str, str]) -> None:
    found = read(site, f"/{names['speech']}?citedby")
    assert (found["about"], found["direction"]) == (names["speech"], "citedby")
    assert list_citing(found) == [names["page"], names["memo"]]
    first, second = found["citations"]
    assert first["kind"] == "declared:href"
    assert first["citing_url"] == f"{BASE}/{names['page']}"
    assert second["cited_url"] == f"{BASE}/{names['speech']}%23char=0,47"
    assert second["citation"] == f"{names['memo']}@{second['origin']}={second['cited']}"
    assert found["behind"] == 0
    assert found["known"] == str(site.registry.head().mark)  # type: ignore[union-attr]
    assert ask(site, f"/{second['citation']}?info").status == 200


def test_what_a_document_cites(site: Deployment, names: dict[str, str]) -> None:
    found = read(site, f"/{names['memo']}?cites")
    cited = [(one["cited"], one["cited_url"]) for one in found["citations"]]
    assert cited == [
        (f"{names['speech']}#char=0,47", f"{BASE}/{names['speech']}%23char=0,47"),
        ("doi:10.1000/182", "https://doi.org/10.1000/182"),
    ]
    assert read(site, f"/{names['memo']}?cites&part=char=0,20")["citations"] == []


def test_every_spelling_of_a_name_has_the_same_answer(
    site: Deployment, names: dict[str, str]
) -> None:
    part = read(site, f"/{names['speech']}%23char=46,50?citedby")
    assert list_citing(part) == [names["memo"]]
    assert read(site, f"/{names['speech']}?part=char=46,50&citedby") == part
    assert read(site, f"/urn:{names['speech']}?citedby") == read(
        site, f"/{names['speech']}?citedby"
    )
    for name in (f"pdi://{SERIES}/", f"pdi://{SERIES}/{today()}/", f"pdi://{SERIES}/{today()}/*"):
        assert list_citing(read(site, f"/{name}?citedby"))[:2] == [names["page"], names["memo"]]
    assert list_citing(read(site, "/doi:10.1000/182?citedby")) == [names["memo"]]
    assert site.get("/doi:10.1000/183?citedby").status == 404
    assert site.get(f"/pdi://{SERIES}/{today()}/999?citedby").status == 404


def test_pages_lead_to_each_other(site: Deployment, names: dict[str, str]) -> None:
    target = f"/{names['speech']}?citedby&kind=declared&limit=1"
    seen: list[str] = []
    for _ in range(3):
        answer = ask(site, target)
        found = json.loads(answer.body)
        seen += list_citing(found)
        if found["next"] is None:
            assert "link" not in answer.headers
            break
        assert answer.headers["link"] == f'<{found["next"]}>; rel="next"'
        target = f"/{names['speech']}{found['next']}"
    assert seen == [names["page"], names["memo"]]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("citedby&kind=nothing", 400),
        ("citedby&since=yesterday", 400),
        ("cites&until=2026-02-30", 400),
        ("citedby&cursor=x", 400),
        ("citedby&cites", 400),
        ("citedby&part=char=0,9999", 416),
        ("citedby&since=2000-01-01&until=2999-01-01", 200),
    ],
)
def test_questions_that_cannot_be_answered_say_why(
    site: Deployment, names: dict[str, str], query: str, status: int
) -> None:
    assert site.get(f"/{names['speech']}?{query}").status == status


def test_a_list_of_uris_and_a_link_set(site: Deployment, names: dict[str, str]) -> None:
    uris = ask(site, f"/{names['speech']}?citedby", "text/uri-list")
    assert uris.headers["content-type"] == "text/uri-list"
    assert uris.body.decode().split("\r\n") == [
        f"# {names['speech']}",
        names["page"],
        names["memo"],
        "",
    ]
    links = json.loads(ask(site, f"/{names['speech']}?citedby", "application/linkset+json").body)[
        "linkset"
    ]
    by_anchor = {one["anchor"]: one for one in links}
    speech = f"{BASE}/{names['speech']}"
    assert by_anchor[speech][f"{CITO}isCitedBy"] == [{"href": f"{BASE}/{names['page']}"}]
    cites = json.loads(ask(site, f"/{names['page']}?cites", "application/linkset+json").body)
    assert cites["linkset"] == [
        {"anchor": f"{BASE}/{names['page']}", f"{CITO}cites": [{"href": speech}]}
    ]
    written = ask(site, f"/{names['page']}?cites", "application/linkset").body.decode()
    assert f'<{speech}>; rel="{CITO}cites"; anchor="{BASE}/{names["page"]}"' in written


def test_a_page_for_people_may_be_in_a_landing_page(
    site: Deployment, names: dict[str, str]
) -> None:
    answer = ask(site, f"/{names['speech']}?citedby", "text/html")
    assert "frame-ancestors 'self'" in answer.headers["content-security-policy"]
    written = answer.body.decode()
    assert f'href="/{names["page"]}?landing"' in written
    landing = ask(site, f"/{names['speech']}?landing", "text/html")
    assert "frame-ancestors 'none'" in landing.headers["content-security-policy"]
    frame = re.search(r'<iframe[^>]* src="([^"]+)"', landing.body.decode())
    assert frame is not None
    assert 'loading="lazy"' in frame[0]
    inner = frame[1].removeprefix(BASE).replace("&amp;", "&")
    assert names["page"] in ask(site, inner, "text/html").body.decode()


def test_quotations_are_found_over_http(site: Deployment, names: dict[str, str]) -> None:
    found = read(site, f"/{names['speech']}?quotes")
    (one,) = found["quotations"]
    assert one["document"] == names["memo"]
    assert one["citation"] == f"{names['memo']}@2={names['speech']}#char=0,{len(WORDS)}"
    assert "every run of 15 equal words" in found["promise"]
    page = ask(site, f"/{names['speech']}?quotes", "text/html").body.decode()
    assert names["memo"] in page
    assert site.get(f"/pdi://{SERIES}/{today()}/999?quotes").status == 404


def test_closed_and_withdrawn_documents_are_silent(site: Deployment) -> None:
    speech = site.mint(text(b"nobody else says these words " * 9))
    closed, gone = (site.mint(text(f"{word} {speech}".encode())) for word in ("one", "two"))
    follow(site)
    assert list_citing(read(site, f"/{speech}?citedby")) == [gone, closed]
    site.do(Restrict(rule=ReadingRule(about=resource(closed), access=Access.CLOSED, by_token=True)))
    site.do(Withdraw(identifier=parse(resource(gone)), reason="a court said so"))
    answer = ask(site, f"/{speech}?citedby")
    assert json.loads(answer.body)["citations"] == []
    assert answer.headers["cache-control"] == "private, no-store"
    assert json.loads(answer.body)["behind"] > 0
    reader = site.token("reader", operations=("read",))
    told = site.get(f"/{speech}?citedby", f"Authorization: Bearer {reader}")
    assert list_citing(json.loads(told.body)) == [closed]
    assert site.get(f"/{gone}?cites").status == 410
    assert site.get(f"/{gone}?quotes").status == 410
    assert site.get(f"/{closed}?cites").status in (401, 403)
    assert site.get(f"/{closed}?quotes").status in (401, 403)


def test_a_server_brings_the_index_up_to_date(tmp_path: Path) -> None:
    with deployed(tmp_path / "registry", index_seconds=1) as site:
        speech = site.mint(text(b"words"))
        memo = site.mint(text(speech.encode()))
        while True:  # pytest ends a test that never does
            found = read(site, f"/{speech}?citedby")
            if list_citing(found):
                break
            time.sleep(0.1)
        assert list_citing(found) == [memo]
        assert found["behind"] == 0


def test_an_index_that_was_replaced_is_opened_again(site: Deployment) -> None:
    speech = site.mint(text(b"other words"))
    memo = site.mint(text(speech.encode()))
    assert read(site, f"/{speech}?citedby")["citations"] == []
    (site.root / FILE).unlink()
    follow(site)
    assert list_citing(read(site, f"/{speech}?citedby")) == [memo]


def test_a_webmention_is_queued(tmp_path: Path) -> None:
    with deployed(tmp_path / "registry", base_url=BASE, webmentions="on") as site:
        speech = site.mint(text(b"words"))
        kind = "Content-Type: application/x-www-form-urlencoded"
        body = urlencode({"source": "https://blog.example/1", "target": f"{BASE}/{speech}"})
        assert site.ask("POST", "/webmention", kind, body=body.encode()).status == 202
        landing = ask(site, f"/{speech}?landing", "text/html")
        assert f'<{BASE}/webmention>; rel="webmention"' in landing.headers["link"]
        inside = urlencode({"source": "http://10.0.0.1/", "target": f"{BASE}/{speech}"})
        answer = site.ask("POST", "/webmention", kind, body=inside.encode())
        assert (answer.status, b"private network" in answer.body) == (400, True)
        assert site.ask("POST", "/webmention", kind, body=b"source=x").status == 400
        assert site.ask("POST", "/webmention", kind, body=b"x" * 20_000).status == 413
        with closing(ReceivedCitations(site.registry)) as received:
            (report,) = received.list_reports("queued")
            assert report.target == speech
            received.decide_report(report.number, "accepted")
        found = read(site, f"/{speech}?citedby")
        assert [one["source"] for one in found["received"]] == ["https://blog.example/1"]
        page = ask(site, f"/{speech}?citedby", "text/html").body.decode()
        assert 'href="https://blog.example/1" rel="nofollow noreferrer"' in page


def test_no_webmention_is_queued_unless_the_operator_wants_it(
    site: Deployment, names: dict[str, str]
) -> None:
    body = urlencode({"source": "https://blog.example/1", "target": f"{BASE}/{names['speech']}"})
    assert site.ask("POST", "/webmention", body=body.encode()).status == 403
    landing = ask(site, f"/{names['speech']}?landing", "text/html")
    assert "webmention" not in landing.headers["link"]


def test_a_server_fetches_the_pages_of_queued_webmentions(tmp_path: Path) -> None:
    """The page is on the loopback, which the setting allows; nothing listens there."""
    with deployed(
        tmp_path / "registry",
        base_url=BASE,
        webmentions="on",
        private_networks="127.0.0.0/8",
        index_seconds=1,
    ) as site:
        speech = site.mint(text(b"words"))
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        pair = {"source": f"http://127.0.0.1:{port}/", "target": f"{BASE}/{speech}"}
        kind = "Content-Type: application/x-www-form-urlencoded"
        body = urlencode(pair).encode()
        assert site.ask("POST", "/webmention", kind, body=body).status == 202
        with closing(ReceivedCitations(site.registry)) as received:
            while received.list_reports("queued"):  # pytest ends a test that never does
                time.sleep(0.1)
            (report,) = received.list_reports()
        assert report.state == "refused"
        assert report.problem
