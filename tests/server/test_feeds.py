"""`/feed.atom`: the latest changes in a set of names. feedparser, not ours, reads the same."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from lxml import etree
from tests.server.deployment import OTHER_SERIES, SERIES, Deployment, problem, text

from perdure.ids import parse
from perdure.model.commands import Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule

PYTHON = Path(__file__).parents[2] / ".peers" / "bin" / "python"
ATOM = "{http://www.w3.org/2005/Atom}"
DELETED = "{http://purl.org/atompub/tombstones/1.0}deleted-entry"


def read_feed(site: Deployment, question: str = "") -> Any:
    answer = site.get(f"/feed.atom{question}")
    assert (answer.status, answer.headers["content-type"]) == (
        200,
        "application/atom+xml; charset=utf-8",
    )
    feed: Any = etree.fromstring(answer.body)
    assert feed.tag == f"{ATOM}feed"
    for name in ("id", "title", "updated"):  # RFC 4287 section 4.1.1
        assert len(feed.findall(f"{ATOM}{name}")) == 1
    assert feed.find(f"{ATOM}author/{ATOM}name").text
    for entry in feed.iter(f"{ATOM}entry"):  # section 4.1.2
        for name in ("id", "title", "updated"):
            assert len(entry.findall(f"{ATOM}{name}")) == 1
    return feed


def list_ids(feed: Any) -> list[str]:
    return [one.text for one in feed.findall(f"{ATOM}entry/{ATOM}id")]


def mint(site: Deployment, words: str, **fields: Any) -> str:
    return str(parse(site.mint(text(words.encode()), **fields)).resource)


def test_the_latest_change_comes_first(site: Deployment) -> None:
    first, second = mint(site, "one"), mint(site, "two", metadata={"title": "Two & <three>"})
    time.sleep(1.1)
    site.commit(first, text(b"one again"))
    feed = read_feed(site)
    assert list_ids(feed)[:2] == [first, second]
    assert list_ids(feed).count(first) == 1
    titles = [one.text for one in feed.findall(f"{ATOM}entry/{ATOM}title")]
    assert titles[1] == "Two & <three>"
    times = [one.text for one in feed.findall(f"{ATOM}entry/{ATOM}updated")]
    assert times == sorted(times, reverse=True)
    assert feed.find(f"{ATOM}updated").text == times[0]
    assert list_ids(read_feed(site, "?limit=1")) == [first]


def test_a_feed_is_of_a_series_an_interval_or_a_pattern(site: Deployment) -> None:
    name = mint(site, "here")
    other = mint(site, "there", authority=OTHER_SERIES)
    site.bind("hdl:20.500.12345/feed", "https://example.org/feed")
    day = name.rpartition("/")[0]
    for about in (f"pdi://{SERIES}/", f"{day}/", f"{day}/*", name):
        assert name in list_ids(read_feed(site, f"?about={quote(about)}"))
        assert other not in list_ids(read_feed(site, f"?about={quote(about)}"))
    year, _, today = day.rsplit("/", 3)[1:]
    another = "02" if today == "01" else "01"
    pattern = f"pdi://{SERIES}/{year}/*/{{}}/*"
    assert name in list_ids(read_feed(site, f"?about={quote(pattern.format(today))}"))
    assert list_ids(read_feed(site, f"?about={quote(pattern.format(another))}")) == []
    assert list_ids(read_feed(site, "?about=hdl:20.500.12345/")) == ["hdl:20.500.12345/feed"]
    assert list_ids(read_feed(site, "?about=hdl:20.500.99999/")) == []


def test_withdrawn_names_are_deleted_entries_and_closed_ones_are_not_told(
    site: Deployment,
) -> None:
    gone = mint(site, "withdrawn", metadata={"title": "Withdrawn title"})
    closed = mint(site, "closed", metadata={"title": "Closed title"})
    site.do(Withdraw(identifier=parse(gone), reason="a mistake"))
    site.do(Restrict(rule=ReadingRule(about=closed, access=Access.CLOSED)))
    feed = read_feed(site)
    assert gone in [one.get("ref") for one in feed.iter(DELETED)]
    shown = etree.tostring(feed).decode()
    assert closed not in shown
    assert "Closed title" not in shown
    assert "Withdrawn title" not in shown


@pytest.mark.parametrize("question", ["limit=0", "limit=501", "limit=x", "about=nothing:1"])
def test_what_is_no_set_or_no_number_is_refused(site: Deployment, question: str) -> None:
    assert site.get(f"/feed.atom?{question}").status == 400


def test_a_pattern_of_formats_is_refused(site: Deployment) -> None:
    about = quote(f"pdi://{SERIES}/1997/09/01/*.text.*")
    problem(site.get(f"/feed.atom?about={about}"), 400, "invalid-request")


READER = """
import json, sys, feedparser
feed = feedparser.parse(sys.argv[1])
print(json.dumps({"bozo": bool(feed.bozo), "ids": [one.id for one in feed.entries],
                  "links": [one.link for one in feed.entries]}))
"""


@pytest.mark.skipif(not PYTHON.exists(), reason="feedparser is not installed (.peers)")
def test_feedparser_reads_the_same(site: Deployment) -> None:
    mint(site, "for a reader of feeds")
    done = subprocess.run(
        [PYTHON, "-c", READER, f"{site.base}/feed.atom"], check=True, capture_output=True, text=True
    )
    found = json.loads(done.stdout)
    assert not found["bozo"]
    assert found["ids"] == list_ids(read_feed(site))
    assert all(one.startswith(f"{site.base}/") for one in found["links"])
