"""Elements of HTML by CSS, XPath and counting: slices that the tree proves, or errors."""

from __future__ import annotations

import hashlib
import html
import json
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perdure.errors import (
    MalformedPart,
    OverBudget,
    PartNotFound,
    PartNotSupported,
    PerdureError,
)
from perdure.extractors.indexes import NoIndexes
from perdure.extractors.markup.html import EXTRACTOR
from perdure.extractors.port import Source, iterate_body
from perdure.parts import Css, XPath, parse_part
from perdure.reading.extraction import PartExtraction

lexbor = pytest.importorskip("selectolax.lexbor")
pytest.importorskip("cssselect")
pytest.importorskip("lxml")

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"


def source(
    place: Path, data: bytes, media_type: str = "text/html", charset: str | None = "utf-8"
) -> Source:
    """A source inside a bigger file, as in an archive."""
    path = place / hashlib.sha512(data).hexdigest()[:16]
    path.write_bytes(b"<p>before" + data + b"</p>")
    return Source(
        path=path, offset=9, length=len(data), media_type=media_type, charset=charset, name="it"
    )


def css(selector: str) -> str:
    return json.dumps({"type": "CssSelector", "value": selector})


def xpath(expression: str) -> str:
    return json.dumps({"type": "XPathSelector", "value": expression})


def cut(extraction: PartExtraction, it: Source, text: str) -> str:
    part = extraction.cut_part(it, parse_part(text, it.media_type))
    (span,) = part.slices
    assert b"".join(iterate_body(part.body, it)) == it.read_bytes(span.start, span.stop)
    return it.read_bytes(span.start, span.stop).decode(it.charset or "utf-8")


PAGE = """<!DOCTYPE html>
<title>Of <b>tags</b></title>
<body class=wide>
<h1 id=top>Heading &amp; more</h1>
<p class="lead first">One <em>two</em> three
<p>Four <a href="/five?a=1&b=2">five</a>, <br>six &lt;seven&gt; <img src=x>
<ul><li>a<li>b <ul><li>c</ul><li id="d">d</ul>
<table border=1>
 <tr><td>1<td>2
 <tr><td colspan=2>3 <!-- <td>no --></td></tr>
</table>
<svg viewBox="0 0 1 1"><title>A title</title><path d="M0 0"/><g/></svg>
<script>if (a < b) document.write("<p>no</p>")</script>
<div>Überall – 日本語<span></span></div>
<form><input name=q><textarea><p>no</p></textarea></form>
"""


@pytest.mark.parametrize(
    ("selector", "wanted"),
    [
        ("h1", "<h1 id=top>Heading &amp; more</h1>"),
        ("#top", "<h1 id=top>Heading &amp; more</h1>"),
        ("H1#top", "<h1 id=top>Heading &amp; more</h1>"),
        ("body > p.lead", '<p class="lead first">One <em>two</em> three\n'),
        ("p.first em", "<em>two</em>"),
        ("p:nth-of-type(2) > a", '<a href="/five?a=1&b=2">five</a>'),
        ('a[href*="five"]', '<a href="/five?a=1&b=2">five</a>'),
        ("p > br", "<br>"),
        ("img", "<img src=x>"),
        ("body > ul", '<ul><li>a<li>b <ul><li>c</ul><li id="d">d</ul>'),
        ("body > ul > li:first-child", "<li>a"),
        ("body > ul > li:nth-child(2)", "<li>b <ul><li>c</ul>"),
        ("li li", "<li>c"),
        ("li#d", '<li id="d">d'),
        ("table > tbody > tr:first-child > td + td", "<td>2\n "),
        ("tr:last-child", "<tr><td colspan=2>3 <!-- <td>no --></td></tr>"),
        ("td[colspan]", "<td colspan=2>3 <!-- <td>no --></td>"),
        ("svg > title", "<title>A title</title>"),
        ("path", '<path d="M0 0"/>'),
        ("g", "<g/>"),
        ("head > title", "<title>Of <b>tags</b></title>"),
        ("script", '<script>if (a < b) document.write("<p>no</p>")</script>'),
        ("div", "<div>Überall – 日本語<span></span></div>"),
        ("div > span", "<span></span>"),
        ("textarea", "<textarea><p>no</p></textarea>"),
        ("form:has(input)", "<form><input name=q><textarea><p>no</p></textarea></form>"),
    ],
)
@pytest.mark.parametrize("charset", ["utf-8", "utf-16-le"])
def test_css(
    extraction: PartExtraction, tmp_path: Path, selector: str, wanted: str, charset: str
) -> None:
    it = source(tmp_path, PAGE.encode(charset), charset=charset)
    assert cut(extraction, it, css(selector)) == wanted


def test_text_after_nested_elements_is_read_in_order(
    extraction: PartExtraction, tmp_path: Path
) -> None:
    page = b"<p><a><img> <i>one</i> two</a>. Three</p>"
    assert cut(extraction, source(tmp_path, page), css("p")) == page.decode()


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("/html/body/h1", "<h1 id=top>Heading &amp; more</h1>"),
        ("/html[1]/body[1]/table[1]/tbody[1]/tr[1]/td[2]", "<td>2\n "),
        ("//li[text()='c']", "<li>c"),
        ("(//td)[3]", "<td colspan=2>3 <!-- <td>no --></td>"),
        ("//*[@id='d']", '<li id="d">d'),
        ("//p[count(@*)=0]/a", '<a href="/five?a=1&b=2">five</a>'),
        ("//body[count(@*)=1]/div/span", "<span></span>"),
    ],
)
def test_xpath(extraction: PartExtraction, tmp_path: Path, expression: str, wanted: str) -> None:
    """Elements that are implied can be gone through, as in browsers; no attribute is there that is
    not written.
    """
    assert cut(extraction, source(tmp_path, PAGE.encode()), xpath(expression)) == wanted


@pytest.mark.parametrize(
    ("pointer", "wanted"),
    [
        ("element(/1/2/1)", "<h1 id=top>Heading &amp; more</h1>"),
        ("element(/1/1/1)", "<title>Of <b>tags</b></title>"),
        ("element(top)", "<h1 id=top>Heading &amp; more</h1>"),
        ("element(top/1)element(/1/2/1)", "<h1 id=top>Heading &amp; more</h1>"),
        ("element(/1/2/4/2/1/1)", "<li>c"),
        ("xpointer(//td[@colspan])", "<td colspan=2>3 <!-- <td>no --></td>"),
        ("element(/1/2/99)element(/1/2/1)", "<h1 id=top>Heading &amp; more</h1>"),
    ],
)
def test_pointers(extraction: PartExtraction, tmp_path: Path, pointer: str, wanted: str) -> None:
    assert cut(extraction, source(tmp_path, PAGE.encode()), pointer) == wanted


def test_what_refines(extraction: PartExtraction, tmp_path: Path) -> None:
    """Web Annotation Data Model, 4.2.9: a selector within what another selects."""
    text = json.dumps(
        {
            "type": "CssSelector",
            "value": "div",
            "refinedBy": {"type": "TextQuoteSelector", "exact": "日本語"},
        }
    )
    part = extraction.cut_part(source(tmp_path, PAGE.encode()), parse_part(text, "text/html"))
    assert part.body == ("日本語".encode(),)


# what has no place
# -----------------


@pytest.mark.parametrize(
    ("page", "selector", "why"),
    [
        ("<table><tr><td>1</table>", "tbody", "no tag of its own"),
        ("<p>text", "html", "no tag of its own"),
        ("<p>a<b>c<p>d</b>e", "p + p > b", "no tag of its own"),  # a clone of the first
        ("<table><b>x</b><tr><td>1</table>", "table", "not written in one piece"),
        ("<table>x<tr><td>1</table>", "table", "not written in one piece"),
        ("<div><iframe><p>raw</p></iframe></div>", "div", "not written in one piece"),
        ("<p>a", "section", "no node for"),
        ("<p>a<p>b", "p", "a set of 2 nodes"),
    ],
)
def test_refused(
    extraction: PartExtraction, tmp_path: Path, page: str, selector: str, why: str
) -> None:
    with pytest.raises(PartNotFound, match=why):
        cut(extraction, source(tmp_path, page.encode()), css(selector))


@pytest.mark.parametrize(
    ("page", "selector", "wanted"),
    [
        ("<table><b>x</b><tr><td>1</table>", "b", "<b>x</b>"),
        ("<p>a<b>c<p>d</b>e", "p:first-child > b", "<b>c"),  # and not what its clone has
        ("<b><i>x</b>y</i>z", "b > i", "<i>x"),
        ("<div><p>a</div>b</p>", "div > p", "<p>a"),
        ("<table><tr><td>1</table>after", "td", "<td>1"),
        ("<p>a<p>b<p>c", "p:last-child", "<p>c"),
        ("<p>a</i>b</p>", "p", "<p>a</i>b</p>"),
        ("<div><p>a</div>b", "p", "<p>a"),
        ("<P TITLE='x>y'>a</P >b", "p", "<P TITLE='x>y'>a</P >"),
        ("<dl><dt>a<dd>b<dt>c</dl>", "dd", "<dd>b"),
        ("<select><option>a<option>b</select>", "option:first-child", "<option>a"),
        ("<p tag0=7 tag1=8>a</p>", "p[tag0='7']", "<p tag0=7 tag1=8>a</p>"),
        ("<xmp><p tag0='0'></xmp><p>a</p>", "p", "<p>a</p>"),
        ("\ufeff<p>a</p>", "p", "<p>a</p>"),
        ("<p>a\0b</p>", "p", "<p>a\0b</p>"),
        ("<p>a\x01b</p>", "p", "<p>a\x01b</p>"),
        ("<pre>\n a\n</pre>", "pre", "<pre>\n a\n</pre>"),
    ],
)
def test_what_browsers_make_of_it(
    extraction: PartExtraction, tmp_path: Path, page: str, selector: str, wanted: str
) -> None:
    assert cut(extraction, source(tmp_path, page.encode()), css(selector)) == wanted


BOTH = ["p", "b", "i", "a", "li", "ul", "td", "tr", "table", "div", "h1", "span", "option"]
PIECES = [
    *(f"<{name}>" for name in [*BOTH, "br", "select"]),
    *(f"</{name}>" for name in [*BOTH, "select"]),
    *("text ", "x", "&amp;", "<!-- c -->", "<svg><g/></svg>"),
]


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join), st.integers(1, 8))
def test_a_slice_is_the_element(tmp_path: Path, page: str, number: int) -> None:
    """What is found is the element that lexbor has there by its own selectors, with its text."""
    it = source(tmp_path, page.encode())
    try:
        part = EXTRACTOR.extract_part(it, XPath(f"(//body//*)[{number}]"), NoIndexes())
    except PartNotFound:
        return
    (span,) = part.slices
    written = page.encode()[span.start : span.stop].decode()
    element = lexbor.LexborHTMLParser(page).css("body *")[number - 1]
    assert written.startswith(f"<{element.tag}")
    texts = [one.text_content for one in element.traverse(include_text=True) if one.is_text_node]
    assert "".join("".join(texts).split()) == "".join(unmarked(written).split())


def unmarked(written: str) -> str:
    return html.unescape(re.sub("<!--.*?-->|<[^>]*>", "", written))


# what does harm
# --------------


def test_it_is_confined() -> None:
    assert EXTRACTOR.confined


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (css("p["), MalformedPart),
        (css("p::before"), MalformedPart),
        (css("a" * 2000), OverBudget),
        (css("*" + " *" * 40), OverBudget),
        (css(":is(" * 200), OverBudget),
        (xpath("//p["), MalformedPart),
        (xpath("re:test(.)"), MalformedPart),
        (xpath("//*//*//*//*"), MalformedPart),
        (xpath("//p/text()"), PartNotSupported),
        (xpath("//p/@id"), PartNotSupported),
        (xpath("1"), PartNotFound),
        ("xpointer(//p/range-to(//a))", PartNotSupported),
        ("xpointer(here())", PartNotSupported),
    ],
)
def test_expressions(
    extraction: PartExtraction, tmp_path: Path, text: str, error: type[PerdureError]
) -> None:
    with pytest.raises(error):
        cut(extraction, source(tmp_path, b"<p id=a>a</p>"), text)


@pytest.mark.parametrize(
    ("page", "limit"),
    [
        (b"<div>" * 200_000, "512 levels"),  # of which lexbor would take half a minute
        (b"<ul><li>" * 300, "512 levels"),
        (b"<b>" * 600, "512 levels"),
        (b"<b><p>" * 10_000, "512 levels"),
        (b"<a>" * 700_000, "500000 elements"),
    ],
    ids=["deep", "lists", "bold", "clones", "many"],
)
def test_bounds(extraction: PartExtraction, tmp_path: Path, page: bytes, limit: str) -> None:
    with pytest.raises(OverBudget, match=limit):
        cut(extraction, source(tmp_path, page), css("p:first-child"))


def test_what_is_never_closed_is_not_deep(extraction: PartExtraction, tmp_path: Path) -> None:
    """Browsers end a `p`, an `li`, a cell by the next: HTML standard, 13.1.2.4."""
    page = b"<ul>" + b"<li>a<p>b" * 1000 + b"</ul><table>" + b"<tr><td><font>x" * 1000 + b"</table>"
    assert cut(extraction, source(tmp_path, page), css("li:nth-child(1000) > p")) == "<p>b"


def test_an_expression_that_takes_too_long(extraction: PartExtraction, tmp_path: Path) -> None:
    page = b"<p><i></i>" * 8000
    with pytest.raises(OverBudget, match="2 seconds"):
        cut(extraction, source(tmp_path, page), xpath("//p[//i[last() > count(//i)]]"))


# XML
# ---


def test_css_on_xml(extraction: PartExtraction, tmp_path: Path) -> None:
    """Selectors Level 3, 6.1.1: without a default namespace, a type is that of any namespace."""
    data = '<d xmlns="urn:a"><s id="x"><P>1</P><p>2</p><p class="c d">3</p></s></d>'
    it = source(tmp_path, data.encode(), "application/xml")
    assert cut(extraction, it, css("s > P")) == "<P>1</P>"
    assert cut(extraction, it, css("p:nth-of-type(2)")) == '<p class="c d">3</p>'
    assert cut(extraction, it, css(".d")) == '<p class="c d">3</p>'
    assert cut(extraction, it, css("#x > p + p")) == '<p class="c d">3</p>'
    part = extraction.cut_part(it, Css("s p.c"))
    assert "urn:a" in part.facts["namespaces"]
    with pytest.raises(PartNotFound, match="2 nodes"):
        cut(extraction, it, css("p"))


@pytest.mark.corpus
def test_pages_of_the_time(extraction: PartExtraction) -> None:
    path = CORPUS / "vrml.html"
    it = Source(path=path, length=path.stat().st_size, media_type="text/html", name="vrml")
    part = extraction.cut_part(it, Css("head > title"))
    assert b"".join(iterate_body(part.body, it)).lower().startswith(b"<title>")
