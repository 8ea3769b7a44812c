"""The history of a record as a page: what was changed, when, and by whom where it is public."""

from __future__ import annotations

import json
from typing import Any

import pytest
from lxml import html
from tests.server.conftest import Answer
from tests.server.deployment import Deployment, resource, text

from perdure.ids import parse
from perdure.model.commands import Alias, Describe, Withdraw

BROWSER = "Accept: text/html"


def read_words(element: Any) -> str:
    return " ".join(element.text_content().split())


def read_heading(entry: Any) -> str:
    return read_words(entry.find("h2")).partition(",")[0]


def read_entries(answer: Answer) -> list[tuple[str, list[str]]]:
    """The heading of each revision on a page, and its sentences."""
    page = html.document_fromstring(answer.body)
    return [
        (
            read_heading(entry),
            [read_words(one) for one in entry.findall("ul/li")],
        )
        for entry in page.iterfind(".//ol[@class='plain history']/li")
    ]


@pytest.fixture(scope="module")
def letter(site: Deployment) -> str:
    name = resource(site.mint(text(b"one\r\n")))
    site.commit(name, text(b"two\r\n"))
    site.bind(name, "https://a.example/history")
    for title in ("Bridges", "Bridges & roads"):
        patch = json.dumps({"titles": [{"value": title}]}).encode()
        site.do(Describe(identifier=parse(name), patch=patch))
    site.do(Alias(identifier=parse(name), other=parse("hdl:1839/history")))
    return name


def test_each_revision_is_told_in_words_the_newest_first(site: Deployment, letter: str) -> None:
    assert read_entries(site.get(f"/{letter}?history", BROWSER)) == [
        ("Revision 6", ["Another name was added: hdl:1839/history"]),
        ("Revision 5", ["Title: Bridges → Bridges & roads"]),
        ("Revision 4", ["Title: Bridges"]),
        ("Revision 3", ["Location added: https://a.example/history"]),
        (
            "Revision 2",
            [f"Version 2 was added: {letter}.text.2, text/plain Compare with the version before"],
        ),
        ("Revision 1", [f"Version 1 was added: {letter}.text.1, text/plain"]),
    ]


def test_each_revision_has_the_number_of_its_change(site: Deployment, letter: str) -> None:
    page = html.document_fromstring(site.get(f"/{letter}?history", BROWSER).body)
    links = [one for one in page.iter("a") if str(one.get("href")).startswith("/changes?")]
    rows = [json.loads(site.get(str(one.get("href"))).body) for one in links]
    told = [str(one.text).removeprefix("Change ") for one in links]
    assert [f"{row['epoch']}.{row['number']}" for row in rows] == told
    assert [row["revision"] for row in rows] == [6, 5, 4, 3, 2, 1]
    assert {row["name"] for row in rows} == {letter}


def test_the_landing_page_leads_there_and_versions_to_their_comparison(
    site: Deployment, letter: str
) -> None:
    landing = html.document_fromstring(site.get(f"/{letter}?landing", BROWSER).body)
    assert f"{site.base}/{letter}?history" in [one.get("href") for one in landing.iter("a")]
    page = html.document_fromstring(site.get(f"/{letter}?history", BROWSER).body)
    places = [str(one.get("href")) for one in page.iter("a")]
    assert [one for one in places if "?diff=" in one] == [f"/{letter}?diff=1,2"]
    assert not page.findall(".//script")


def test_only_administrators_see_authors(site: Deployment, letter: str) -> None:
    chief, clerk = site.token("chief of it"), site.token("clerk of it", operations=("mint",))
    assert b"By " not in site.get(f"/{letter}?history", BROWSER).body
    answer = site.get(f"/{letter}?history", BROWSER, f"Authorization: Bearer {chief}")
    assert b"By <bdi>local</bdi>" in answer.body
    assert answer.headers["cache-control"] == "no-store"
    refused = site.get(f"/{letter}?history", BROWSER, f"Authorization: Bearer {clerk}")
    assert refused.status == 403


def test_a_long_history_is_shown_page_by_page(site: Deployment) -> None:
    name = resource(site.mint(text(b"often changed")))
    for number in range(54):
        site.bind(name, f"https://a.example/{number}")
    seen: list[str] = []
    path = f"/{name}?history"
    while path:
        page = html.document_fromstring(site.get(path, BROWSER).body)
        seen += [read_heading(one) for one in page.iterfind(".//main/ol/li")]
        path = "".join(str(one.get("href")) for one in page.iterfind(".//a[@rel='next']"))
    assert seen == [f"Revision {number}" for number in range(55, 0, -1)]
    for cursor in ("56", "0", "x"):
        assert site.get(f"/{name}?history&cursor={cursor}", BROWSER).status == 400


def test_nothing_is_said_of_what_was_withdrawn_in_silence(site: Deployment) -> None:
    """ruling: tombstone-silence"""
    name = resource(site.mint(text(b"soon gone")))
    patch = json.dumps({"titles": [{"value": "Unspeakable"}]}).encode()
    site.do(Describe(identifier=parse(name), patch=patch))
    assert b"Unspeakable" in site.get(f"/{name}?history", BROWSER).body
    site.do(Withdraw(identifier=parse(name), reason="by order", silent=True))
    answer = site.get(f"/{name}?history", BROWSER)
    assert b"Unspeakable" not in answer.body
    assert read_entries(answer)[0] == ("Revision 3", ["Withdrawn by local: by order"])
