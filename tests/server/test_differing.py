"""What differs in two versions: as a page, JSON and text, over HTTP and on the command line."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from lxml import html
from tests.server.deployment import Deployment, problem, resource, text

from perdure.ids import parse
from perdure.model.commands import Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule

BROWSER = "Accept: text/html"
OLD, NEW = b"one\r\ntwo <b>\r\nthree\r\n", b"one\r\n2 <b>\r\nthree\r\nfour\r\n"
LINES = "@@ -1,3 +1,4 @@\n one\n-two <b>\n+2 <b>\n three\n+four\n"


@pytest.fixture(scope="module")
def letter(site: Deployment) -> str:
    name = resource(site.mint(text(OLD)))
    site.commit(name, text(NEW))
    return name


def test_it_is_a_text(site: Deployment, letter: str) -> None:
    answer = site.get(f"/{letter}?diff=1,2")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.body.decode() == f"--- {letter}.text.1\n+++ {letter}.text.2\n{LINES}"


def test_the_command_line_says_the_same(site: Deployment, letter: str) -> None:
    command = [sys.executable, "-m", "perdure.cli", "-C", str(site.root), "diff", letter, "1", "2"]
    printed = subprocess.run(command, capture_output=True, check=True).stdout
    assert printed == site.get(f"/{letter}?diff=1,2").body


def test_it_is_json(site: Deployment, letter: str) -> None:
    found = json.loads(site.get(f"/{letter}?diff=2,1", "Accept: application/json").body)
    assert (found["before"]["version"], found["after"]["version"]) == (2, 1)
    assert [line["sign"] for line in found["hunks"][0]] == [" ", "-", "+", " ", "-"]


def test_it_is_a_page_and_the_list_of_versions_leads_there(site: Deployment, letter: str) -> None:
    page = html.document_fromstring(site.get(f"/{letter}?landing", BROWSER).body)
    places = [one.get("href") for one in page.iter("a") if "?diff=" in str(one.get("href"))]
    assert places == [f"{site.base}/{letter}?diff=1,2"]
    shown = html.document_fromstring(site.get(f"/{letter}?diff=1,2", BROWSER).body)
    assert [one.text for one in shown.iter("del")] == ["two <b>\n"]
    assert [one.text for one in shown.iter("ins")] == ["2 <b>\n", "four\n"]


@pytest.mark.parametrize(
    ("charset", "old", "new", "parts"),
    [
        ("utf-8", OLD, NEW, [(b"two <b>\r\n", b"2 <b>\r\n"), (None, b"four\r\n")]),
        ("utf-8", b"one\ntwo\n", b"two\n", [(b"one\r\n", None)]),
        (
            "utf-8",
            "\ufeffå\r𝔸\rc".encode(),
            "å\rß\rc".encode(),
            [("𝔸\r\n".encode(), "ß\r\n".encode())],
        ),
        ("iso-8859-1", b"\xe6\r\n\xf8", b"\xe6\r\n\xe5!", [(b"\xf8", b"\xe5!")]),
    ],
)
def test_passages_that_differ_are_exact_parts(
    site: Deployment,
    charset: str,
    old: bytes,
    new: bytes,
    parts: list[tuple[bytes | None, bytes | None]],
) -> None:
    """Section 3.4: a line break is two characters, and the part of a text has it as CRLF."""
    name = resource(site.mint(text(old, charset=charset)))
    site.commit(name, text(new, charset=charset))
    found = json.loads(site.get(f"/{name}?diff=1,2", "Accept: application/json").body)["passages"]
    shown = html.document_fromstring(site.get(f"/{name}?diff=1,2", BROWSER).body)
    links = [str(one.get("href")) for one in shown.iter("a")]
    for passage, pair in zip(found, parts, strict=True):
        for side, expected in zip((passage["before"], passage["after"]), pair, strict=True):
            assert (side is None) == (expected is None)
            if side is not None:
                assert site.get(f"/{side['path']}").body == expected
                assert f"/{side['path']}?landing" in links


def test_passages_of_html_are_parts_of_its_source(site: Deployment) -> None:
    old, new = b"<p>One <b>two</b></p><p>three</p>", b"<p>One <b>2</b></p><p>three</p>"
    name = resource(site.mint(text(old, "html", "text/html")))
    site.commit(name, text(new, "html", "text/html"))
    found = json.loads(site.get(f"/{name}?diff=1,2", "Accept: application/json").body)["passages"]
    (passage,) = found
    for side, changed in ((passage["before"], b"two"), (passage["after"], b"2")):
        assert changed in site.get(f"/{side['path']}").body


def test_bytes_without_text_are_compared_as_a_whole(site: Deployment) -> None:
    name = resource(site.mint(text(b"GIF89a1", "gif", "image/gif")))
    site.commit(name, text(b"GIF89a2", "gif", "image/gif"))
    assert site.get(f"/{name}?diff=1,2").body.decode() == f"{name}.gif.1 and {name}.gif.2 differ\n"
    page = site.get(f"/{name}?diff=1,2", BROWSER).body
    assert b"The bytes differ" in page


@pytest.mark.parametrize("asked", ["1", "1,", "0,1", "1,2,3", "a,b", ""])
def test_versions_are_two_numbers(site: Deployment, letter: str, asked: str) -> None:
    problem(site.get(f"/{letter}?diff={asked}"), 400, "invalid-request")


def test_a_version_that_is_not_there(site: Deployment, letter: str) -> None:
    problem(site.get(f"/{letter}?diff=1,9"), 404, "no-such-version")


def test_each_version_needs_its_rights(site: Deployment) -> None:
    """ruling: tombstone-silence"""
    closed, gone = (resource(site.mint(text(b"secret\r\n"))) for _ in range(2))
    for name in (closed, gone):
        site.commit(name, text(b"open\r\n"))
    site.do(Restrict(rule=ReadingRule(about=f"{closed}.text.1", access=Access.CLOSED)))
    site.do(Withdraw(identifier=parse(f"{gone}.text.1"), reason="asked to"))
    problem(site.get(f"/{closed}?diff=1,2"), 403, "forbidden")
    answer = site.get(f"/{gone}?diff=1,2")
    assert (answer.status, b"secret" in answer.body) == (410, False)
