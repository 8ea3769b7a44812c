"""Searches over HTTP: JSON, a feed, a page, and what hostile clients send."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any
from urllib.parse import quote, urljoin
from xml.etree import ElementTree

import lxml.html
import pytest
from tests.server.deployment import (
    OTHER_SERIES,
    SERIES,
    Deployment,
    deployed,
    resource,
    text,
    today,
)

from perdure.ids import parse
from perdure.model.commands import Describe, Register, Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import Location

ATOM = "{http://www.w3.org/2005/Atom}"
OPENSEARCH = "{http://a9.com/-/spec/opensearch/1.1/}"
HOSTILE_TITLE = 'Birds <script>alert(1)</script> & "quotes" \N{RIGHT-TO-LEFT OVERRIDE}'


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployed(tmp_path_factory.mktemp("searching") / "registry") as running:
        yield running


@pytest.fixture(scope="module")
def name(site: Deployment) -> str:
    """A document with a title that would break out of a page."""
    found = site.mint(text(b'The <b>pelican</b> is a bird & "more".\r\nNo other pelican.'))
    members = {"titles": [{"value": HOSTILE_TITLE}], "creators": [{"name": "Ada"}]}
    patch = json.dumps(members).encode()
    site.do(Describe(identifier=parse(resource(found)), patch=patch))
    return found


def search(site: Deployment, query: str, *fields: str, more: str = "") -> dict[str, Any]:
    """The answer of a server that has seen every change, as a client gets it that waits."""
    end = time.monotonic() + 60
    while True:
        answer = site.get(f"/search?q={quote(query)}{more}", *fields)
        if answer.status == 503 and time.monotonic() < end:  # the index is being made
            time.sleep(min(int(answer.headers["retry-after"]), 2))
            continue
        assert answer.status == 200, answer
        found: dict[str, Any] = json.loads(answer.body)
        if found["index"]["behind"] == 0 or time.monotonic() > end:
            return found
        time.sleep(0.05)


def test_a_server_finds_what_was_minted_by_itself(site: Deployment, name: str) -> None:
    found = search(site, "pelican")
    (document,) = found["documents"]
    assert (found["count"], found["more"], found["next"]) == (1, False, None)
    assert (document["identifier"], document["title"]) == (name, HOSTILE_TITLE)
    assert document["media_type"] == "text/plain"
    (passage,) = document["passages"]
    for hit in passage["hits"]:
        assert passage["text"][hit["start"] : hit["stop"]] == "pelican"
        part = site.get(hit["url"].removeprefix(site.base))
        assert (part.status, part.body) == (200, b"pelican")
        assert hit["identifier"].startswith(f"{name}#char=")


def test_what_is_withdrawn_is_not_found_from_the_same_answer_on(site: Deployment) -> None:
    gone = site.mint(text(b"a cormorant"))
    assert search(site, "cormorant")["count"] == 1
    site.do(Withdraw(identifier=parse(resource(gone)), reason="a court said so"))
    answer = site.get("/search?q=cormorant")
    found = json.loads(answer.body)
    assert (found["count"], found["documents"]) == (0, [])
    assert answer.headers["cache-control"] == "no-cache"


def test_limits_are_those_of_the_command_line(site: Deployment, name: str) -> None:
    for more, count in (
        ("&in=text", 1), ("&in=title", 0), ("&in=title&in=text", 1), ("&by=ada", 1),
        ("&by=nobody", 0), (f"&series={SERIES}", 1), ("&series=hdl:1839/*", 0),
        ("&from=2020", 1), ("&to=2020", 0), ("&format=text", 1), ("&format=pdf&format=html", 0),
        ("&limit=", 1), ("&from=&to=&format=&by=&series=", 1),
    ):  # fmt: skip
        assert search(site, "pelican", more=more)["count"] == count, more


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ("/search", "invalid-request"),
        ("/search?q=", "invalid-request"),
        ("/search?q=%22%22", "invalid-request"),
        ("/search?q=-a", "invalid-request"),
        (f"/search?q={'a' * 2000}", "invalid-request"),
        ("/search?q=a&q=b", "invalid-request"),
        ("/search?q=a&in=body", "invalid-request"),
        ("/search?q=a&sort=best", "invalid-request"),
        ("/search?q=a&from=yesterday", "invalid-request"),
        ("/search?q=a&limit=0", "invalid-request"),
        ("/search?q=a&limit=101", "invalid-request"),
        ("/search?q=a&limit=%D9%A1", "invalid-request"),
        ("/search?q=a&cursor=-1", "invalid-request"),
        ("/search?q=a&cursor=99999999999999999999", "invalid-request"),
        ("/search?q=a&series=x%20y", "malformed-identifier"),
        ("/search?q=a&series=nonesuch:1", "unknown-scheme"),
        ("/search?q=a&series=pdi://a.us/1997/*/01/", "invalid-request"),
        ("/search?q=a&format=text/", "invalid-request"),
    ],
)
def test_mistakes_are_told(site: Deployment, target: str, code: str) -> None:
    answer = site.get(target)
    assert json.loads(answer.body)["code"] == code, answer
    assert 400 <= answer.status < 500


@pytest.mark.parametrize(
    "query",
    [
        '"', "' OR 1=1 --", "NEAR(a b)", "a AND (b OR", "text:pelican", "{title} : a", "^a",
        "pelican\0x", "%00", "\N{RIGHT-TO-LEFT OVERRIDE}a", "<script>alert(1)</script>",
        "a*b*c*", "-" * 500 + "a", "a " * 400, "\x1b[31m", "\r\nSet-Cookie: x=1",
    ],
)  # fmt: skip
@pytest.mark.parametrize("accept", ["application/json", "application/atom+xml", "text/html"])
def test_hostile_searches_do_no_harm(site: Deployment, name: str, query: str, accept: str) -> None:
    answer = site.get(f"/search?q={quote(query, safe='')}", f"Accept: {accept}")
    assert answer.status in (200, 400), answer
    assert "set-cookie" not in answer.headers
    if answer.status == 200 and accept == "application/atom+xml":
        ElementTree.fromstring(answer.body)
    if accept == "text/html":
        assert b"<script>" not in answer.body
    assert search(site, "pelican")["count"] == 1


def test_bytes_that_are_not_text_are_searched_as_words(site: Deployment) -> None:
    for target in ("/search?q=%ff%fe", "/search?q=a%ffb", "/search.atom?q=a%ffb&by=%ff"):
        assert site.get(target).status in (200, 400)


def test_pages_lead_from_one_to_the_next(site: Deployment) -> None:
    names = [site.mint(text(f"heron {number}".encode())) for number in range(5)]
    search(site, "heron")
    seen: list[str] = []
    target = "/search?q=heron&limit=2&format=text"
    while target:
        answer = site.get(target)
        found = json.loads(answer.body)
        assert (found["count"], found["more"]) == (5, False)
        seen += [one["identifier"] for one in found["documents"]]
        following = found["next"]
        assert ('rel="next"' in answer.headers["link"]) == (following is not None)
        target = following and urljoin(target, following)
    assert seen == names[::-1]


# the feed
# --------


def test_the_feed_is_atom(site: Deployment, name: str) -> None:
    """RFC 4287 section 4.1.1 and 4.1.2: what a feed and an entry must contain, and how often."""
    search(site, "pelican")
    answer = site.get("/search.atom?q=pelican")
    assert answer.headers["content-type"] == "application/atom+xml; charset=utf-8"
    feed = ElementTree.fromstring(answer.body)
    assert feed.tag == f"{ATOM}feed"
    for element in ("id", "title", "updated", "author"):
        assert len(feed.findall(f"{ATOM}{element}")) == 1
    links = {one.get("rel"): one.attrib for one in feed.findall(f"{ATOM}link")}
    assert links["self"]["href"] == f"{site.base}/search.atom?q=pelican"
    assert site.get(links["alternate"]["href"].removeprefix(site.base)).status == 200
    assert feed.findtext(f"{OPENSEARCH}totalResults") == "1"
    (entry,) = feed.findall(f"{ATOM}entry")
    for element in ("id", "title", "updated"):
        assert len(entry.findall(f"{ATOM}{element}")) == 1
    assert entry.findtext(f"{ATOM}id") == name
    assert entry.findtext(f"{ATOM}title") == HOSTILE_TITLE
    updated = entry.findtext(f"{ATOM}updated") or ""
    assert time.strptime(updated, "%Y-%m-%dT%H:%M:%SZ")
    assert feed.findtext(f"{ATOM}updated") == updated
    parts = [one.get("href") or "" for one in entry.findall(f"{ATOM}link[@rel='related']")]
    assert len(parts) == 2
    for part in parts:
        assert site.get(part.removeprefix(site.base)).body == b"pelican"


def test_an_empty_feed_is_atom_too(site: Deployment) -> None:
    feed = ElementTree.fromstring(site.get("/search.atom?q=nonesuch").body)
    assert feed.findall(f"{ATOM}entry") == []
    assert feed.findtext(f"{ATOM}updated")


def test_characters_that_xml_forbids_leave_the_feed_valid(site: Deployment) -> None:
    site.mint(text(b"a spoonbill \x00\x01\x0b\x1b here"))
    search(site, "spoonbill")
    feed = ElementTree.fromstring(site.get("/search.atom?q=spoonbill%01%0B").body)
    assert len(feed.findall(f"{ATOM}entry")) == 1


def test_a_feed_that_was_read_is_not_sent_again(site: Deployment, name: str) -> None:
    search(site, "pelican")
    first = site.get("/search.atom?q=pelican")
    again = site.get("/search.atom?q=pelican", f"If-None-Match: {first.headers['etag']}")
    assert (again.status, again.body) == (304, b"")


def test_the_description_of_the_search_leads_to_it(site: Deployment, name: str) -> None:
    """OpenSearch 1.1: ShortName has at most 16 characters, Description at most 1024."""
    answer = site.get("/opensearch.xml")
    assert answer.headers["content-type"] == "application/opensearchdescription+xml"
    described = ElementTree.fromstring(answer.body)
    assert 0 < len(described.findtext(f"{OPENSEARCH}ShortName") or "") <= 16
    assert 0 < len(described.findtext(f"{OPENSEARCH}Description") or "") <= 1024
    kinds = set()
    for one in described.findall(f"{OPENSEARCH}Url"):
        kind, template = one.attrib["type"], one.attrib["template"]
        target = template.replace("{searchTerms}", "pelican").replace("{count?}", "")
        found = site.get(target.removeprefix(site.base), f"Accept: {kind}")
        assert found.status == 200
        assert found.headers["content-type"].partition(";")[0] == kind
        kinds.add(kind)
    assert {"text/html", "application/json", "application/atom+xml"} <= kinds


# the page
# --------


class Page(HTMLParser):
    """The elements of a page, and those that were not closed."""

    VOID = frozenset(["meta", "link", "input", "br"])

    def __init__(self, body: bytes) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(body.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open[-1] in ("p", "li") and tag != self.open[-1]:
            self.open.pop()
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_works_without_script(site: Deployment, name: str) -> None:
    search(site, "pelican")
    answer = site.get("/search?q=pelican+bird*", "Accept: text/html")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert "script-src" not in answer.headers["content-security-policy"]
    page = Page(answer.body)
    assert page.open == []
    tags = [tag for tag, _ in page.elements]
    assert "script" not in tags
    assert tags.count("mark") >= 3
    assert "Birds <script>alert(1)</script>" in page.text
    labelled = {one["for"] for tag, one in page.elements if tag == "label" and "for" in one}
    fields = [one for tag, one in page.elements if tag == "input" and one.get("type") != "checkbox"]
    assert {one["id"] for one in fields if "aria-label" not in one} == labelled
    links = [
        one["href"] or "" for tag, one in page.elements if tag == "a" and "hreflang" not in one
    ]
    places = [one for one in links if not one.startswith("#")]
    parts = [one for one in places if "%23char=" in one]
    assert parts
    for place in {*parts, *places}:
        assert site.get(urljoin("/search", place), "Accept: text/html").status == 200, place
    assert 'value="pelican bird*"' in answer.body.decode()


def test_the_form_keeps_what_was_typed(site: Deployment) -> None:
    typed = '"><img src=x onerror=alert(1)>'
    answer = site.get(
        f"/search?q=a&by={quote(typed)}&series={SERIES}&in=title", "Accept: text/html"
    )
    page = Page(answer.body)
    values = {one.get("name"): one.get("value") for tag, one in page.elements if tag == "input"}
    assert (values["by"], values["series"]) == (typed, SERIES)
    chosen = [one["value"] for tag, one in page.elements if tag == "input" and "checked" in one]
    assert chosen == ["title"]
    assert ("details", {"open": None}) in page.elements


def test_the_page_without_words_is_the_form(site: Deployment) -> None:
    for target in ("/search", "/search?q=", "/search?q=+"):
        answer = site.get(target, "Accept: text/html")
        assert answer.status == 200
        assert b'role="search"' in answer.body
        assert b'role="status"' not in answer.body
    assert b'action="/search"' in site.get("/", "Accept: text/html").body


def test_searching_that_is_switched_off_has_no_pages(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERDURE_SEARCH", "off")
    with deployed(tmp_path / "registry") as running:
        for target in ("/search?q=a", "/search.atom?q=a", "/opensearch.xml"):
            assert running.get(target).status == 404
        assert b"/search" not in running.get("/", "Accept: text/html").body
        assert not (running.root / "followers" / "search.sqlite").exists()


# facets and orders
# -----------------


@pytest.fixture(scope="module")
def birds(site: Deployment) -> dict[str, int]:
    """Documents with one word, in several formats and series, and their number by format."""
    several = {"text": 4, "html": 3}
    for format, number in several.items():
        for at in range(number):
            body = f"<p>a shoebill {format} {at}</p>".encode()
            site.mint(text(body, format, "text/plain" if format == "text" else "text/html"))
    site.mint(text(b"a shoebill elsewhere"), authority=OTHER_SERIES)
    old = parse(f"pdi://{SERIES}/1997/09/01/77")
    site.do(Register(identifier=old, locations=(Location(uri="https://a.example/"),)))
    patch = json.dumps({"titles": [{"value": "Report about the shoebill"}]}).encode()
    site.do(Describe(identifier=old, patch=patch))
    return {"text": 5, "html": 3}


def test_facets_divide_what_was_found(site: Deployment, birds: dict[str, int]) -> None:
    """Each value, given back as a limit, leaves exactly the documents that it counts."""
    found = search(site, "shoebill")
    assert found["count"] == 9
    facets = {
        name: {one["value"]: one["count"] for one in values}
        for name, values in found["facets"].items()
    }
    this_year = today()[:4]
    assert facets == {
        "series": {SERIES: 8, OTHER_SERIES: 1},
        "year": {this_year: 8, "1997": 1},
        "format": birds,
    }
    for name, counts in facets.items():
        for value, count in counts.items():
            limit = f"&from={value}&to={value}" if name == "year" else f"&{name}={value}"
            assert search(site, "shoebill", more=limit)["count"] == count, (name, value)


def test_links_of_facets_keep_what_was_typed(site: Deployment, birds: dict[str, int]) -> None:
    search(site, "shoebill")
    page = site.get("/search?q=shoebill&by=&sort=old&in=text&in=title", "Accept: text/html")
    tree = lxml.html.document_fromstring(page.body.decode())
    links = {one.text: one.get("href") for one in tree.cssselect(".facets a")}
    assert {SERIES, OTHER_SERIES, "html", "text"} <= links.keys()
    limited = site.get(f"/search{links['html']}", "Accept: text/html")
    tree = lxml.html.document_fromstring(limited.body.decode())
    assert len(tree.cssselect("ol.found > li")) == 3
    assert tree.cssselect("#q")[0].get("value") == "shoebill"
    assert [one.get("value") for one in tree.cssselect('input[name="sort"]')] == ["old"]
    assert len(tree.cssselect('input[name="in"][checked]')) == 2
    removed = {str(one.xpath("string()")): one.get("href") for one in tree.cssselect(".limits a")}
    (back,) = (href for text, href in removed.items() if "html" in text)
    tree = lxml.html.document_fromstring(
        site.get(f"/search{back}", "Accept: text/html").body.decode()
    )
    assert len(tree.cssselect("ol.found > li")) == 9


def test_the_oldest_come_first_if_wanted(site: Deployment, birds: dict[str, int]) -> None:
    new = [one["identifier"] for one in search(site, "shoebill")["documents"]]
    pages, more = [], "&sort=old&limit=2"
    while True:
        found = search(site, "shoebill", more=more)
        pages.append([one["identifier"] for one in found["documents"]])
        if found["next"] is None:
            break
        assert "sort=old" in found["next"]
        more = found["next"].replace("?q=shoebill", "")
    assert [one for page in pages for one in page] == new[::-1]
    assert all(len(page) <= 2 for page in pages)


def test_what_fits_best_comes_first_if_wanted(site: Deployment) -> None:
    """Robertson, Zaragoza and Taylor (2004): by frequency, length, and the weight of a field."""
    once, often = (site.mint(text(f"a {words} b".encode())) for words in ("hoopoe", "hoopoe " * 3))
    diluted = site.mint(text(b"hoopoe " + b"c " * 2000))
    titled = site.mint(text(b"<title>Hoopoe</title>c", "html", "text/html"))
    both = [titled, often, once, diluted]
    found = search(site, "hoopoe", more="&sort=relevance")
    assert [one["identifier"] for one in found["documents"]] == both
    assert found["facets"] == search(site, "hoopoe")["facets"]
    seen, more = [], "&sort=relevance&limit=1"
    while more:
        page = search(site, "hoopoe", more=more)
        seen += [one["identifier"] for one in page["documents"]]
        more = (page["next"] or "").replace("?q=hoopoe", "")
    assert seen == both
    site.do(Withdraw(identifier=parse(titled), reason="x"))
    site.do(Restrict(rule=ReadingRule(about=resource(once), access=Access.CLOSED)))
    found = search(site, "hoopoe", more="&sort=relevance")
    assert [one["identifier"] for one in found["documents"]] == [often, diluted]
    assert site.get("/search?q=hoopoe&sort=relevance&cursor=999999").status == 400


def test_facets_say_nothing_of_what_is_closed(site: Deployment, birds: dict[str, int]) -> None:
    closed = site.mint(text(b"a shoebill", "html", "text/html"))
    assert search(site, "shoebill")["count"] == 10
    site.do(Restrict(rule=ReadingRule(about=resource(closed), access=Access.CLOSED)))
    found = search(site, "shoebill")
    assert found["count"] == 9
    assert {one["value"]: one["count"] for one in found["facets"]["format"]} == birds
