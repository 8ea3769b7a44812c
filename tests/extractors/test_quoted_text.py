"""The text of markup: against other readers of it, and back to the bytes where it is written."""

from __future__ import annotations

from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import etree
from tests.extractors.cutting import cut, source

from perdure.errors import OverBudget, PartNotFound, PartNotSupported, PartOutOfRange
from perdure.extractors.indexes import NoIndexes
from perdure.extractors.markup.tagged import Markup
from perdure.extractors.markup.text_content import TextContent, read_text_content
from perdure.extractors.port import Source
from perdure.parts import Selector, TextDirective, TextPosition, TextQuote
from perdure.reading.extraction import PartExtraction

PAGE = (
    "<html><head><title>T &amp; t</title><script>no <b></script></head>\r\n<body>"
    "<p>Café <b>au</b>\r\nlait, &eacute;t\u00e9 &#x1F375;</p><!-- no --><p>Second one</p>"
    "<p>Second two</p><p>日本語の文</p></body></html>"
)
TEXT = "T & t\nCafé au\nlait, été 🍵Second oneSecond two日本語の文"


def text_of(document: Source) -> TextContent:
    return read_text_content(Markup(document, "text", NoIndexes()))


# the text
# --------


@pytest.mark.parametrize(
    "charset", ["utf-8", "utf-8-sig", "utf-16", "utf-16be", "utf-32", "gb18030"]
)
def test_text_content(tmp_path: Path, charset: str) -> None:
    """Web Annotation, 4.2.4: markup is removed, and references are replaced."""
    assert text_of(source(tmp_path, PAGE.encode(charset), "text/html", charset)).text == TEXT


class Reader(HTMLParser):
    """What Python's own parser takes for text."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.text = ""
        self._unread = False

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self._unread = tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._unread = False

    def handle_data(self, data: str) -> None:
        self.text += "" if self._unread else data


html_pieces = st.sampled_from(
    [
        "<p>",
        "</p>",
        "<b x='>'>",
        "<!-- <i> -->",
        "é",
        "日本",
        "a",
        " ",
        "\n",
        "&amp;",
        "&#233;",
        "𝄞",
        "&eacute;",
        "&notanentity;",
        "&noti",
        "&copy=1",
        "&zzz;",
        "<script>if (a<b) 1</script>",
        "<style>p>a {}</style>",
        "<br/>",
        "&lt;b&gt;",
    ]
)


@given(st.lists(html_pieces, max_size=20).map("".join))
def test_text_is_what_another_parser_reads(
    tmp_path_factory: pytest.TempPathFactory, page: str
) -> None:
    reader = Reader()
    reader.feed(page)
    reader.close()
    document = source(tmp_path_factory.mktemp("law"), page.encode(), "text/html", "utf-8")
    assert text_of(document).text == reader.text


xml_pieces = st.sampled_from(
    [
        "<b/>",
        "<b>c</b>",
        "<!--x-->",
        "é",
        "&amp;",
        "&#xe9;",
        "<?p q?>",
        "<![CDATA[<&amp;]]>",
        "\r\n",
        "<script>&lt;</script>",
        "<title><i/>t</title>",
        " ",
        "\r",
        "𝄞",
        "]]&gt;",
    ]
)


@given(st.lists(xml_pieces, max_size=20).map(lambda inside: f"<a>{''.join(inside)}</a>"))
def test_text_of_xml_is_its_string_value(
    tmp_path_factory: pytest.TempPathFactory, text: str
) -> None:
    """XPath 1.0, section 5.1: the string-value of the root node."""
    document = source(tmp_path_factory.mktemp("law"), text.encode(), "text/xml", "utf-8")
    tree = etree.fromstring(text.encode())
    assert text_of(document).text == tree.xpath("string(/)")


@given(
    st.lists(st.one_of(html_pieces, st.just("\r\n")), max_size=20).map("".join),
    st.sampled_from(["utf-8", "utf-16le", "utf-32be", "gb18030"]),
)
def test_each_character_is_written_where_it_is_said_to_be(
    tmp_path_factory: pytest.TempPathFactory, page: str, charset: str
) -> None:
    data = page.encode(charset)
    document = source(tmp_path_factory.mktemp("law"), data, "text/html", charset)
    content = text_of(document)
    end = 0
    for place, character in enumerate(content.text):
        span = content.find_span(place, place + 1)
        assert end <= span.start < span.stop <= len(data)
        written = data[span.start : span.stop].decode(charset)
        assert written in (character, "\r\n") or unescape(written) == character
        end = span.stop


def test_a_reference_without_its_semicolon_ends_where_html_ends_it(tmp_path: Path) -> None:
    """ "If the match's last character is not a semicolon, … the rest is text" (HTML, 13.2.5.73)."""
    page = b"<p>a&notanentity;b"
    content = text_of(source(tmp_path, page, "text/html", "us-ascii"))
    assert content.text == "a\u00acanentity;b"
    assert page[slice(*msgspec.structs.astuple(content.find_span(1, 2)))] == b"&not"
    assert page[slice(*msgspec.structs.astuple(content.find_span(2, 5)))] == b"ane"
    assert content.find_character(page.index(b"entity")) == 4


@example("a" * 1022 + "日" * 9, 1022)  # the first KiB ends within a character
@given(st.text(alphabet="a日é", min_size=1, max_size=3000), st.integers(0, 3000))
def test_a_place_in_a_long_run(
    tmp_path_factory: pytest.TempPathFactory, text: str, place: int
) -> None:
    data = f"<p>{text}</p>".encode()
    content = text_of(source(tmp_path_factory.mktemp("law"), data, "text/html", "utf-8"))
    place = min(place, len(text) - 1)
    span = content.find_span(place, len(text))
    assert data[span.start : span.stop].decode() == text[place:]
    assert content.find_character(span.start) == place


# positions and quotations
# ------------------------


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (TextPosition(0, 5), "T &amp; t"),
        (TextPosition(2, 3), "&amp;"),
        (TextPosition(6, 13), "Café <b>au"),
        (TextPosition(11, 18), "au</b>\r\nlait"),
        (TextPosition(24, 25), "&#x1F375;"),
        (TextQuote("au"), "au"),
        (TextQuote("été"), "&eacute;té"),
        (TextQuote("au\nlait"), "au</b>\r\nlait"),
        (TextQuote("au lait"), "au</b>\r\nlait"),
        (TextQuote("Second", suffix=" two"), "Second"),
        (TextQuote("Second", prefix="one"), "Second"),
        (TextQuote("one", "Second ", "Second"), "one"),
        (TextQuote("Café  au  lait", suffix=" , "), "Café <b>au</b>\r\nlait"),
        (TextDirective("cafe au"), "Café <b>au"),
        (TextDirective("CAFÉ", "LAIT"), "Café <b>au</b>\r\nlait"),
        (TextDirective("second"), "Second"),
        (TextDirective("second", None, None, "TWO"), "Second"),
        (TextDirective("second", None, "one"), "Second"),
        (TextDirective("Sec", None, None, "ond"), "Sec"),
        (TextDirective("ete"), "&eacute;té"),
        (TextDirective("second", "two"), "Second one</p><p>Second two"),
        (TextDirective("second", "日本"), "Second one</p><p>Second two</p><p>日本"),
        (TextDirective("本語"), "本語"),
        (TextDirective("T & t"), "T &amp; t"),
        (TextDirective("strasse"), "Straße"),
        (TextDirective("office"), "oﬃce"),
        (TextDirective("e", "x"), "e\u0301 x"),
        (TextDirective("E"), "e\u0301"),
    ],
)
def test_parts(
    extraction: PartExtraction, tmp_path: Path, selector: Selector, expected: str
) -> None:
    more = "<p>Straße oﬃce e\u0301 x</p>"  # one becomes two, three become one, two become one
    page = source(tmp_path, f"{PAGE}{more}".encode(), "text/html", "utf-8")
    assert cut(extraction, page, selector).decode() == expected


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (TextPosition(0, 5), b"a &am"),
        (TextPosition(4, 11), b"mp; <b>"),
        (TextPosition(10, 13), b">\r\nd"),
        (TextQuote("<b>\nd"), b"<b>\r\nd"),
        (TextDirective("d", "f"), b"d e\rf"),
    ],
)
def test_plain_text_is_read_as_it_is(
    extraction: PartExtraction, tmp_path: Path, selector: Selector, expected: bytes
) -> None:
    document = source(tmp_path, b"a &amp; <b>\r\nd e\rf", "text/plain", "us-ascii")
    assert text_of(document).text == "a &amp; <b>\nd e\nf"
    assert cut(extraction, document, selector) == expected


@pytest.mark.parametrize(
    ("selector", "extent"),
    [
        (TextQuote("Second"), "2 times"),
        (TextQuote("e"), "times"),
        (TextQuote("second"), "no such text"),
        (TextQuote(""), "no such text"),
        (TextQuote(" "), "times"),
        (TextQuote("one", prefix="x"), "no such text"),
        (TextDirective("sec"), "no such text"),
        (TextDirective("cond"), "no such text"),
        (TextDirective("ne second"), "no such text"),
        (TextDirective("one second"), "no such text"),
        (TextDirective("two", "one"), "no such text"),
        (TextDirective(" "), "no such text"),
        (TextDirective("second", None, "lait"), "no such text"),
    ],
)
def test_parts_that_are_not_there(
    extraction: PartExtraction, tmp_path: Path, selector: Selector, extent: str
) -> None:
    """URL Fragment Text Directives, 3.5: whole words, and a term within one block."""
    page = source(tmp_path, PAGE.encode(), "text/html", "utf-8")
    with pytest.raises(PartNotFound, match=extent):
        extraction.cut_part(page, selector)


@pytest.mark.parametrize("selector", [TextPosition(3, 3), TextPosition(5, 4), TextPosition(0, 99)])
def test_positions_beyond_the_text(
    extraction: PartExtraction, tmp_path: Path, selector: Selector
) -> None:
    page = source(tmp_path, PAGE.encode(), "text/html", "utf-8")
    with pytest.raises(PartOutOfRange, match=f"{len(TEXT)} characters of text"):
        extraction.cut_part(page, selector)


def test_a_charset_with_shifts(extraction: PartExtraction, tmp_path: Path) -> None:
    """A slice that begins within a shift would read as something else."""
    page = source(tmp_path, "<p>日本</p>".encode("iso-2022-jp"), "text/html", "iso-2022-jp")
    with pytest.raises(PartNotSupported, match="iso2022-jp"):
        extraction.cut_part(page, TextQuote("日"))


@pytest.mark.parametrize("selector", [TextQuote("b"), TextDirective("b"), TextPosition(0, 1)])
def test_a_document_too_large_to_look_through(
    extraction: PartExtraction, tmp_path: Path, selector: Selector
) -> None:
    page = source(tmp_path, b"a" * (20 << 20) + b"b", "text/html", "us-ascii")
    with pytest.raises(OverBudget, match="20971520 bytes"):
        extraction.cut_part(page, selector)


@pytest.mark.parametrize(
    ("text", "selector"),
    [
        ("a" * 1_000_000, TextDirective("a" * 50 + "b")),
        ("a " * 500_000, TextDirective("a a a a", "b", "a a", "b")),
        (" " * 1_000_000, TextQuote("  a  ", "   ", "   ")),
        ("&amp;" * 200_000, TextQuote("&&&&", "", "x")),
        ("\r\n" * 500_000, TextQuote("\n\n\nx")),
    ],
)
def test_long_texts_are_searched_in_bounded_time(
    extraction: PartExtraction, tmp_path: Path, text: str, selector: Selector
) -> None:
    page = source(tmp_path, text.encode(), "text/html", "us-ascii")
    with pytest.raises(PartNotFound):
        extraction.cut_part(page, selector)


def test_what_can_be_addressed(extraction: PartExtraction, tmp_path: Path) -> None:
    page = source(tmp_path, PAGE.encode(), "text/html", "utf-8")
    assert len(TEXT) in {one.size for one in extraction.list_extents(page)}
