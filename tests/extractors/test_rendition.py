"""HTML for a page: nothing active is left of it, and each number in it is the place of what it is
in front of.
"""

from __future__ import annotations

import html
import re
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perdure.errors import PartNotFound
from perdure.extractors.indexes import NoIndexes
from perdure.extractors.markup.html_tree import HtmlTree
from perdure.extractors.markup.rendition import EXTRACTOR, LocatedElement
from perdure.extractors.markup.tagged import Markup
from perdure.extractors.markup.text_content import read_text_content
from perdure.extractors.port import Source, iterate_body
from perdure.parts import View

pytest.importorskip("selectolax.lexbor")
etree = pytest.importorskip("lxml.etree")

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
RENDITION = View("rendition")
HOSTILE = b"""<!DOCTYPE html><title>t</title><base href="//evil.example/">
<meta http-equiv=refresh content="0;url=//evil.example/m"><link rel=stylesheet
href=//evil.example/l><style>@import "//evil.example/i.css";
p { background: url(//evil.example/u) }</style>
<body onload=alert(1) background=//evil.example/b><p style="background:url(//evil.example/s)">text
<script src=//evil.example/j></script><img src=//evil.example/p onerror=alert(2)
srcset="//evil.example/q 2x">
<iframe srcdoc="<script>alert(3)</script>" src=//evil.example/f></iframe>
<object data=//evil.example/o></object><embed src=//evil.example/e><form action=//evil.example/a>
<input type=image src=//evil.example/n><button formaction=//evil.example/g>go</button></form>
<a href="javascript:alert(4)" ping=//evil.example/k>link</a><td background=//evil.example/t>
<svg><script>alert(5)</script><image href=//evil.example/v /></svg>
<math><mtext><style><img src=//evil.example/w onerror=alert(6)></style></mtext></math>
<video src=//evil.example/x poster=//evil.example/y></video><q cite=//evil.example/c>q</q>
<noscript><p title="</noscript><img src=//evil.example/z onerror=alert(7)>"></noscript>
<template><script>alert(8)</script></template><portal src=//evil.example/0></portal>
"""


def make_source(place: Path, data: bytes, charset: str = "utf-8") -> Source:
    path = place / "page.html"
    path.write_bytes(data)
    return Source(path=path, length=len(data), media_type="text/html", charset=charset, name="page")


def render(source: Source) -> str:
    part = EXTRACTOR.extract_part(source, RENDITION, NoIndexes())
    return b"".join(iterate_body(part.body, source)).decode()


def list_texts(rendition: str) -> list[tuple[int, str]]:
    """The texts with a place."""
    found = re.findall(r"<\?t ([0-9]+)\?>([^<]*)", rendition)
    return [(int(place), html.unescape(text)) for place, text in found]


def read_as_shown(text: str) -> str:
    """The text as a page shows it: a control character by its picture (U+2400 …)."""
    return re.sub(r"[\x00-\x08\x0b-\x1f]", lambda found: chr(0x2400 + ord(found[0])), text)


def check_texts(source: Source, rendition: str) -> int:
    """Compare each text that has a place with the text content there. Returns their length."""
    content = read_text_content(Markup(source, RENDITION, NoIndexes())).text
    for place, text in list_texts(rendition):
        assert read_as_shown(content[place : place + len(text)]) == text
    return sum(len(text) for _, text in list_texts(rendition))


def test_nothing_active_is_left(tmp_path: Path) -> None:
    """Only listed elements and attributes are in it, and none of these has an address."""
    rendition = render(make_source(tmp_path, HOSTILE))
    names, attributes = set[str](), set[str]()
    for one in etree.fromstring(rendition).iter(etree.Element):
        names.add(one.tag)
        attributes.update(one.attrib)
    assert names <= {"div", "p", "span", "a", "q", "b", "i"}
    assert attributes <= {"data-tag", "class", "title"}
    assert "alert" not in rendition.replace("onerror=alert(7)", "")  # which is text in a title
    assert "evil" not in rendition.replace("src=//evil.example/z", "")


@pytest.mark.parametrize("name", ["features.html", "release-notes.html", "vrml.html"])
def test_places_in_documents(tmp_path: Path, name: str) -> None:
    if not CORPUS.exists():
        pytest.skip("the corpus of real documents is not here")
    source = make_source(tmp_path, (CORPUS / name).read_bytes(), "iso-8859-1")
    rendition = render(source)
    length = check_texts(source, rendition)
    content = read_text_content(Markup(source, RENDITION, NoIndexes())).text
    assert length > 0.85 * len(content)  # the rest is white space, and the title
    tree = HtmlTree(Markup(source, RENDITION, NoIndexes()), RENDITION)
    for tag in re.findall(r'data-tag="([0-9]+)"', rendition)[::7]:
        tree.find_span(tree.find_element(int(tag)))  # which proves it


@pytest.mark.parametrize(
    ("page", "wanted"),
    [
        ("<p>a &amp; b</p>", '<p data-tag="0"><?t 0?>a &amp; b</p>'),
        ("<p>a\0b</p>", '<p data-tag="0"><?t 0?>a<?t 2?>b</p>'),
        ("<p>a\rb\r\nc</p>", '<p data-tag="0"><?t 0?>a\nb\nc</p>'),
        ("<p>&#13;\x01\U0001f600</p>", '<p data-tag="0">\u240d<?t 1?>\u2401\U0001f600</p>'),
        ("\ufeff<p>a</p>", '<p data-tag="0"><?t 0?>a</p>'),
        ("<pre>\na\n b</pre>", '<pre data-tag="0"><?t 1?>a\n b</pre>'),
        ("<p>x&#xffff;y", "<p><?t 0?>x<?t?>\ufffd<?t 1?>y</p>"),
        ("<b>a<p>b</b>", '<b data-tag="0"><?t 0?>a</b><p data-tag="1"><b><?t 1?>b</b></p>'),
        ("<table>a<caption>", '<?t 0?>a<table><caption data-tag="1"></caption></table>'),
        ("<div><xmp><i>a</i></xmp></div>", "<div><pre>&lt;i&gt;a&lt;/i&gt;</pre></div>"),
        ("<p>~tag0.7~&#126;tag1.0~</p>", '<p data-tag="0"><?t 0?>~tag0.7~~tag1.0~</p>'),
        ("<select><option>", '<span data-tag="0"><div data-tag="1"></div></span>'),
        ("<img alt='\"' src=x>", '<span class="box" data-tag="0" title="&quot;"></span>'),
        ("<details>a</details>", '<details data-tag="0" open="open"><?t 0?>a</details>'),
    ],
)  # fmt: skip
def test_places(tmp_path: Path, page: str, wanted: str) -> None:
    """Clones, implied elements and those that a table has torn apart have no number."""
    assert render(make_source(tmp_path, page.encode())) == f"<div><div>{wanted}</div></div>"


@pytest.mark.parametrize(
    ("page", "tag", "wanted"),
    [
        ("<p>a</p>", 0, LocatedElement(0, 8, 0, 1, (1, 2, 1))),
        ("<ul><li>a<li>b</ul>", 1, LocatedElement(4, 9, 1, None, (1, 2, 1, 1))),
        ("<ul><li><b>a</b><li>b</ul>", 1, LocatedElement(4, 16, 1, 3, (1, 2, 1, 1))),
        ("<p><img>", 1, LocatedElement(3, 8, 1, 1, (1, 2, 1, 1))),
    ],
)
def test_places_of_elements(tmp_path: Path, page: str, tag: int, wanted: LocatedElement) -> None:
    source = make_source(tmp_path, page.encode())
    part = EXTRACTOR.extract_part(source, View("element", tag), NoIndexes())
    body = b"".join(iterate_body(part.body, source))
    assert msgspec.json.decode(body, type=LocatedElement) == wanted


@pytest.mark.parametrize("tag", [1, 7])
def test_no_element_begins_with_that_tag(tmp_path: Path, tag: int) -> None:
    with pytest.raises(PartNotFound):
        EXTRACTOR.extract_part(make_source(tmp_path, b"<p></p>"), View("element", tag), NoIndexes())


PIECES = st.sampled_from(
    [
        "<p>",
        "</p>",
        "<b>",
        "</b>",
        "<i>",
        "</i>",
        "<table>",
        "</table>",
        "<tr>",
        "<td>",
        "<li>",
        "<ul>",
        "</ul>",
        "<div>",
        "</div>",
        "<!--",
        "-->",
        "<pre>",
        "\n",
        "\r",
        "\r\n",
        "\x00",
        "a",
        "b",
        "&amp;",
        "&#0;",
        "&not",
        "&notit;",
        "&#13;",
        "😀",
        "é",
        "<",
        ">",
        "&",
        "<xmp>",
        "</xmp>",
        "<svg>",
        "</svg>",
        "<select>",
        "<option>",
        "</select>",
        "<a>",
        "</a>",
        "<br>",
        "<textarea>",
        "</textarea>",
        "<form>",
        "<font>",
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(page=st.lists(PIECES, max_size=30).map("".join), codec=st.sampled_from(["utf-8", "utf-16"]))
def test_places_in_any_page(tmp_path: Path, page: str, codec: str) -> None:
    """A text has a place only if the text content reads the same there. An element has a number
    only if it is written in one piece.
    """
    source = make_source(tmp_path, page.encode(codec), codec)
    rendition = render(source)
    check_texts(source, rendition)
    root = etree.fromstring(rendition)
    numbers = [int(one.get("data-tag")) for one in root.iter("*") if one.get("data-tag")]
    assert len(set(numbers)) == len(numbers)
    tree = HtmlTree(Markup(source, RENDITION, NoIndexes()), RENDITION)
    for tag in numbers:
        tree.find_span(tree.find_element(tag))
