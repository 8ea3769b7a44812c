"""Parts of HTML, SGML and XML between tags: as slices of the source, in every encoding.

`vectors/part-name.json` says what parse5 takes for the elements of each name.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.extractors.cutting import cut, source

from perdure.errors import OverBudget, PartNotFound, PartNotSupported, PartOutOfRange, PerdureError
from perdure.extractors.confined import Budget, Confined
from perdure.extractors.indexes import NoIndexes
from perdure.extractors.markup import quoted_text
from perdure.extractors.markup import tagged as markup
from perdure.extractors.markup.elements import find_named_elements
from perdure.extractors.markup.tags import HTML, Rule, Tags, read_tag, scan_tags
from perdure.extractors.port import Span
from perdure.extractors.text.ascii_view import Encoding, find_encoding, make_ascii_view
from perdure.parts import (
    ElementById,
    NameRange,
    Page,
    Rect,
    Selector,
    TagRange,
    TextDirective,
    TextPosition,
    TextQuote,
)
from perdure.reading.extraction import PartExtraction

NAMES = json.loads((Path(__file__).parents[2] / "vectors" / "part-name.json").read_text())
PAGE = (
    '<html><head><title>a <b> c</title></head><body>\r\n<h1 id="q&amp;a">Émile</h1>'
    '<!-- <p> --><a name="日本">x</a><p name=z id=z>y<br>z</p></body></html>'
)


CHARSETS = (
    "utf-8 utf-16 utf-16le utf-16be utf-32 shift_jis euc-jp iso-2022-jp gb18030 big5 hz iso-2022-kr"
)
ODD = "us-ascii iso-8859-1 cp037 utf-7 johab utf-16 cp1252 base64 x-unknown unicode_escape euc-kr"


# tags, by number
# ---------------


def test_a_part_goes_from_the_start_of_one_tag_to_the_end_of_another(
    extraction: PartExtraction, tmp_path: Path
) -> None:
    """Ruling elt-range."""
    page = source(tmp_path, PAGE.encode(), "text/html", "utf-8")
    part = extraction.cut_part(page, TagRange(6, 7))
    assert cut(extraction, page, TagRange(6, 7)) == '<h1 id="q&amp;a">Émile</h1>'.encode()
    assert (part.media_type, part.charset, part.length) == ("text/html", "utf-8", 28)
    assert cut(extraction, page, TagRange(2, 3)) == b"<title>a <b> c</title>"
    assert cut(extraction, page, TagRange(0, 0)) == b"<html>"
    assert cut(extraction, page, TagRange(0, 14)) == PAGE.encode()


@pytest.mark.parametrize("selector", [TagRange(3, 2), TagRange(0, 15), TagRange(15, 15)])
def test_beyond_the_last_tag(
    extraction: PartExtraction, tmp_path: Path, selector: TagRange
) -> None:
    """Ruling part-range: "`start >= end`, or anything beyond the resource, is HTTP 416"."""
    page = source(tmp_path, PAGE.encode(), "text/html", "utf-8")
    with pytest.raises(PartOutOfRange) as caught:
        extraction.cut_part(page, selector)
    assert caught.value.extent == "15 tags, counted from 0"


def test_a_document_without_tags(extraction: PartExtraction, tmp_path: Path) -> None:
    for data in (b"", b"no tags, 1 < 2"):
        empty = source(tmp_path, data, "text/html", None)
        with pytest.raises(PartOutOfRange):
            extraction.cut_part(empty, TagRange(0, 0))
        assert [one.size for one in extraction.list_extents(empty) if "tags" in one.what] == [0]


def test_a_number_too_large_for_any_index(extraction: PartExtraction, tmp_path: Path) -> None:
    page = source(tmp_path, b"<p>", "text/html", None)
    with pytest.raises(PartOutOfRange):
        extraction.cut_part(page, TagRange(0, 10**19))


@pytest.mark.parametrize(
    "media_type", ["text/xml", "application/xml", "application/xhtml+xml", "image/svg+xml"]
)
def test_xml_has_no_text_that_is_not_markup(
    extraction: PartExtraction, tmp_path: Path, media_type: str
) -> None:
    document = source(tmp_path, b"<a><title><b/></title></a>", media_type, "utf-8")
    assert cut(extraction, document, TagRange(1, 3)) == b"<title><b/></title>"


def test_what_is_no_well_formed_xml_has_tags(extraction: PartExtraction, tmp_path: Path) -> None:
    document = source(tmp_path, b"<a><b></a>&x;<c", "application/xml", "utf-8")
    assert cut(extraction, document, TagRange(1, 2)) == b"<b></a>"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(alphabet="<>/ab=\"'! -é", max_size=40))
def test_parts_of_one_tag_each_are_the_tags(
    extraction: PartExtraction, tmp_path: Path, page: str
) -> None:
    document = source(tmp_path, page.encode(), "text/html", "utf-8")
    tags = scan_tags(page.encode(), HTML)
    for number, (start, stop) in enumerate(zip(*tags, strict=True)):
        assert cut(extraction, document, TagRange(number, number)) == page.encode()[start:stop]
    with pytest.raises(PartOutOfRange):
        extraction.cut_part(document, TagRange(len(tags.starts), len(tags.starts)))


SELECTORS: list[Selector] = [
    TagRange(0, 0),
    TagRange(1, 2),
    NameRange("a", "b"),
    ElementById("é"),
    TextPosition(0, 3),
    TextQuote("a"),
    TextDirective("a", "b"),
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(
        st.binary(max_size=60),
        st.text(alphabet="<>/ab=\"'! -éid&;日", max_size=60).map(str.encode),
        st.lists(st.sampled_from([b"<a name=a>", b"<b id='\xe9", b"'>", b"\xff", b"a", b"\0"])).map(
            b"".join
        ),
    ),
    st.sampled_from(["text/html", "text/sgml", "application/atom+xml"]),
    st.one_of(st.none(), st.sampled_from(CHARSETS.split()), st.sampled_from(ODD.split())),
    st.sampled_from(SELECTORS),
)
@example(b"\x80a", "text/html", "euc-jp", TextQuote("a"))  # two characters come out at once
def test_whatever_is_read_nothing_but_our_errors_comes(
    tmp_path: Path, data: bytes, media_type: str, charset: str | None, selector: Selector
) -> None:
    document = source(tmp_path, data, media_type, charset)
    for extractor in (markup.EXTRACTOR, markup.IDS, quoted_text.EXTRACTOR):
        extractor.list_extents(document, NoIndexes())
        if isinstance(selector, extractor.selectors):
            with suppress(PerdureError):
                part = extractor.extract_part(document, selector, NoIndexes())
                (span,) = part.slices
                assert 0 <= span.start < span.stop <= len(data)


# names
# -----


@pytest.mark.parametrize("case", NAMES["cases"], ids=lambda case: case["rule"])
def test_names_of_the_vectors(
    extraction: PartExtraction, tmp_path: Path, case: dict[str, Any]
) -> None:
    data = case["markup"].encode("latin-1")
    page = source(tmp_path, data, "text/html", "iso-8859-1")
    for name, (start, stop) in case["names"].items():
        assert cut(extraction, page, NameRange(name, name)) == data[start:stop], name
    (extent,) = (one for one in extraction.list_extents(page) if one.syntax.startswith("name="))
    assert set(extent.items) == set(case["names"])


def test_from_one_name_to_another(extraction: PartExtraction, tmp_path: Path) -> None:
    """Ruling name-range: "through the first whose `name` equals b, its matching explicit end tag
    included where it has one".
    """
    data = b"<a name=a>1</a> <i>2</i> <p name=b>3 <b>4</b></p> <a name=c>5"
    page = source(tmp_path, data, "text/html", "us-ascii")
    assert cut(extraction, page, NameRange("a", "b")) == data[:49]
    assert cut(extraction, page, NameRange("a", "c")) == data[:-1]
    with pytest.raises(PartOutOfRange):
        extraction.cut_part(page, NameRange("b", "a"))
    within = source(tmp_path, b"<p name=b><a name=a>1</a></p>", "text/html", "us-ascii")
    with pytest.raises(PartOutOfRange):
        extraction.cut_part(within, NameRange("a", "b"))
    with pytest.raises(PartNotFound) as caught:
        extraction.cut_part(page, NameRange("a", "B"))
    assert not isinstance(caught.value, PartOutOfRange)
    assert caught.value.extent == "a choice of 3 names: a, b, c"


def test_names_in_xml_are_matched_as_written(extraction: PartExtraction, tmp_path: Path) -> None:
    data = b"<r><A name='x'><a name='y'/></A><A Name='z'/></r>"
    document = source(tmp_path, data, "application/xml", "utf-8")
    assert cut(extraction, document, NameRange("x", "y")) == b"<A name='x'><a name='y'/>"
    assert cut(extraction, document, NameRange("x", "x")) == b"<A name='x'><a name='y'/></A>"
    with pytest.raises(PartNotFound):
        extraction.cut_part(document, NameRange("z", "z"))


def test_names_in_sgml(extraction: PartExtraction, tmp_path: Path) -> None:
    data = b"<DOC><SECT NAME=a><P>1<SECT NAME=b>2</sect></SECT></DOC>"
    document = source(tmp_path, data, "text/sgml", "us-ascii")
    assert cut(extraction, document, NameRange("a", "a")) == data[5:50]
    assert cut(extraction, document, NameRange("b", "b")) == data[22:43]


# IDs
# ---


def test_elements_of_html_by_id(extraction: PartExtraction, tmp_path: Path) -> None:
    """HTML standard, 7.4.6.4: an ID first, then the name of an `a`."""
    data = b"<a name=x>1</a><p id=x>2</p><a name=y>3</a><p name=z>4</p><P ID=a&amp;b>5</P>"
    page = source(tmp_path, data, "text/html", "us-ascii")
    assert cut(extraction, page, ElementById("x")) == b"<p id=x>2</p>"
    assert cut(extraction, page, ElementById("y")) == b"<a name=y>3</a>"
    assert cut(extraction, page, ElementById("a&b")) == b"<P ID=a&amp;b>5</P>"
    with pytest.raises(PartNotFound, match="3 IDs: x, y, a&b"):
        extraction.cut_part(page, ElementById("z"))


# encodings
# ---------


@pytest.mark.parametrize("charset", CHARSETS.split())
def test_tags_and_names_in_every_encoding(
    extraction: PartExtraction, tmp_path: Path, charset: str
) -> None:
    """The same part of the same page, whatever bytes it is written in."""
    page = PAGE.replace("É", "E")
    if charset == "iso-2022-kr":
        page = page.replace("日本", "한국")
    name = "한국" if charset == "iso-2022-kr" else "日本"
    data = page.encode(charset)
    document = source(tmp_path, data, "text/html", charset)
    selectors: list[tuple[Selector, str]] = [
        (TagRange(6, 7), '<h1 id="q&amp;a">Emile</h1>'),
        (NameRange(name, "z"), page[page.index("<a name") : page.index("</body>")]),
        (ElementById("q&a"), '<h1 id="q&amp;a">Emile</h1>'),
    ]
    for selector, expected in selectors:
        part = extraction.cut_part(document, selector)
        found = cut(extraction, document, selector)
        assert found in data
        assert part.charset in (charset, "UTF-16LE", "UTF-32LE", "UTF-16BE")
        header = b"\x1b$)C" if charset == "iso-2022-kr" else b""  # it begins a text, not a part
        assert (header + found).decode(part.charset or charset) == expected


@pytest.mark.parametrize("charset", ["cp037", "cp500", "cp1140"])
def test_ebcdic(extraction: PartExtraction, tmp_path: Path, charset: str) -> None:
    page = "<p id=x>1</p><a name=y>2</a>"
    document = source(tmp_path, page.encode(charset), "text/html", charset)
    assert cut(extraction, document, NameRange("y", "y")).decode(charset) == "<a name=y>2</a>"
    assert cut(extraction, document, TagRange(0, 1)).decode(charset) == "<p id=x>1</p>"


@pytest.mark.parametrize(
    ("charset", "data", "start"),
    [
        ("iso-2022-jp", b"<p>\x1b$B$<<a>!\x1b(B</p>", 0),
        ("iso-2022-kr", b"\x1b$)C<p>\x0e$<<a>!\x0f</p>", 4),
        ("hz", b"<p>~{$<<a>!~}</p>", 0),
    ],
)
def test_what_looks_like_a_tag_within_a_character(
    extraction: PartExtraction, tmp_path: Path, charset: str, data: bytes, start: int
) -> None:
    """`$<` is one character there, and `<a>` stands within two."""
    assert len(data.decode(charset)) == len("<p>...</p>")
    document = source(tmp_path, data, "text/html", charset)
    assert cut(extraction, document, TagRange(0, 1)) == data[start:]


@pytest.mark.parametrize("charset", ["utf-7", "johab"])
def test_an_encoding_in_which_tags_cannot_be_told(
    extraction: PartExtraction, tmp_path: Path, charset: str
) -> None:
    document = source(tmp_path, b"<p>x</p>", "text/html", charset)
    with pytest.raises(PartNotSupported) as caught:
        extraction.cut_part(document, TagRange(0, 1))
    assert caught.value.media_type == f"text/html; charset={charset}"
    assert "byte range" in (caught.value.offered or ())
    assert {one.what for one in extraction.list_extents(document)} >= {"octets"}


@pytest.mark.parametrize(
    ("data", "charset", "codec"),
    [
        (b"\xef\xbb\xbf<p>", "iso-8859-1", "utf_8"),
        (b"\xff\xfe<\0p\0>\0", None, "utf_16_le"),
        (b"<\0p\0>\0\n\0", None, "utf_16_le"),
        (b"\0<\0p\0>\0\n", "utf-16", "utf_16_be"),
        (b"<\0p\0>\0\n\0", "utf-16", "utf_16_le"),
        (b"<p>", "utf-16", "utf_16_be"),
        (b"<?xml version='1.0' encoding='Shift_JIS'?><p/>", None, "shift_jis"),
        (b"<html><meta charset=euc-jp>", None, "euc_jp"),
        (b"<html><meta content='text/html; charset=koi8-r'>", None, "koi8_r"),
        (b"<html><meta charset=euc-jp>", "utf-8", "utf_8"),
        (b"<html><meta charset=utf-16>", None, "utf_8"),
        (b"<p>", "x-unheard-of", "latin_1"),
        (b"<p>", "base64", "latin_1"),
        (b"<p>", "\0", "latin_1"),
        (b"", None, "latin_1"),
        (b"<p>", "Windows-31J", "cp932"),
    ],
)
def test_which_encoding(tmp_path: Path, data: bytes, charset: str | None, codec: str) -> None:
    """By byte-order mark, then what the deposit says, then what the document says."""
    assert find_encoding(source(tmp_path, data, "text/html", charset), "elt").codec == codec


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_a_view_has_ascii_where_the_text_has(text: str) -> None:
    for codec in ("utf_16_le", "utf_16_be", "utf_32_le", "utf_32_be"):
        width = 2 if codec.startswith("utf_16") else 4
        view = make_ascii_view(
            text.encode(codec), Encoding(codec, width, plain=False, shifts=False)
        )
        units = "".join(one if ord(one) < 0x10000 or width == 4 else "\xff\xff" for one in text)
        assert bytes(view) == bytes(ord(one) if ord(one) < 0x80 else 0xFF for one in units)


# which end tag: what goes wrong with bounds
# ------------------------------------------


@pytest.mark.parametrize(
    "page",
    [
        b"<a name=x>" * 20_000 + b"</a>" * 20_000,
        b"<div name=x>" + b"<b><i>" * 20_000 + b"</div></p></span>" * 20_000,
        b"<span name=x><div>" + b"<z>" * 50_000 + b"</span>" * 50_000,
        b"<div name=x><i>" + b"<td><b>" + b"<b>" * 50_000 + b"</i>" * 50_000,
        b"<table name=x>" + b"<tr><td>" * 20_000 + b"</table>" * 20_000,
        b"<div name=x>" * 40_000 + b"</p>" * 40_000,
    ],
)
def test_nesting_of_any_depth_takes_bounded_steps(page: bytes) -> None:
    """Steps that grow with the square of the depth would be hours: the test would not end."""
    found = find_named_elements(page, scan_tags(page, HTML), HTML, lambda at: page[at].decode())
    assert found.names.keys() == {"x"}


names = st.sampled_from([b"a", b"b", b"p", b"div", b"li", b"td", b"h1", b"br", b"svg"])
one_tag = st.builds(
    lambda close, name: b"<" + close + name + b" name=n>", st.sampled_from([b"", b"/"]), names
)


@given(st.lists(one_tag, max_size=30).map(b"".join), st.sampled_from([HTML]))
def test_an_element_ends_with_an_end_tag_of_its_name(page: bytes, rule: Rule) -> None:
    """Ruling name-range: "its matching explicit end tag included where it has one"."""
    tags: Tags = scan_tags(page, rule)
    for element in find_named_elements(
        page, tags, rule, lambda at: page[at].decode()
    ).names.values():
        first, last = (
            read_tag(page, tags.starts[one], tags.stops[one])
            for one in (element.first, element.last)
        )
        assert element.first <= element.last
        assert first.name == last.name
        assert last.closing == (element.first != element.last)


# indexes
# -------


def test_a_second_part_needs_no_scan(tmp_path: Path) -> None:
    """What is kept is found again though the document is not to be read any more."""
    page = source(tmp_path, PAGE.encode(), "text/html", "utf-8")
    first = PartExtraction(indexes=tmp_path / "indexes")
    expected = (
        first.cut_part(page, NameRange("z", "z")).body,
        first.cut_part(page, TagRange(6, 7)).body,
    )
    page.path.write_bytes(b"#" * page.length)
    second = PartExtraction(indexes=tmp_path / "indexes")
    found = (
        second.cut_part(page, NameRange("z", "z")).body,
        second.cut_part(page, TagRange(6, 7)).body,
    )
    assert found == expected
    kept = {path.parts[-3] for path in (tmp_path / "indexes").rglob("*") if path.is_file()}
    assert kept == {"tags-html-ascii-1", "called-html-utf_8-2"}


def test_an_index_takes_eight_bytes_a_tag(tmp_path: Path) -> None:
    page = source(tmp_path, b"<p>x</p>" * 500, "text/html", "utf-8")
    PartExtraction(indexes=tmp_path / "indexes").cut_part(page, TagRange(0, 999))
    (kept,) = (path for path in (tmp_path / "indexes").rglob("*") if path.is_file())
    assert kept.stat().st_size == 8 + 8 * 1000


def test_indexes_of_one_file_by_rule_and_encoding_differ(tmp_path: Path) -> None:
    extraction = PartExtraction(indexes=tmp_path / "indexes")
    data = b"<title><b>\x1b$B$<<a>!\x1b(B</b></title>"
    counts = set()
    for media_type, charset in [
        ("text/html", "iso-2022-jp"),
        ("text/html", "us-ascii"),
        ("application/xml", "iso-2022-jp"),
    ]:
        (extent,) = (
            one
            for one in extraction.list_extents(source(tmp_path, data, media_type, charset))
            if "tags" in one.what
        )
        counts.add((media_type, charset, extent.size))
    assert ("text/html", "iso-2022-jp", 2) in counts
    assert ("application/xml", "iso-2022-jp", 4) in counts


# what there is
# -------------


def test_what_can_be_addressed(extraction: PartExtraction, tmp_path: Path) -> None:
    shown = {
        one.syntax: one
        for one in extraction.list_extents(source(tmp_path, PAGE.encode(), "text/html", "utf-8"))
    }
    assert shown["elt=0,14"].size == 15
    assert shown["elt=0,14"].items[:4] == ("html", "head", "title", "/title")
    assert shown["name=日本,日本"].items == ("日本", "z")
    assert shown["ID"].items == ("q&a", "日本", "z")


def test_what_markup_does_not_have_is_named(extraction: PartExtraction, tmp_path: Path) -> None:
    page = source(tmp_path, b"<p>", "text/html", None)
    with pytest.raises(PartNotSupported) as caught:
        extraction.cut_part(page, Page(1))
    assert {"ID", "selector(type=TextQuoteSelector)"} <= set(caught.value.offered or ())
    with pytest.raises(PartNotSupported) as caught:
        extraction.cut_part(page, Rect(0, 0, 1, 1))
    offered = set(caught.value.offered or ())
    assert {
        "byte=",
        "char=",
        "elt=",
        "name=",
        "line=",
        "quote=",
    } <= offered  # ruling: pdi-other-schemes


def test_large_documents_are_looked_through_elsewhere(tmp_path: Path) -> None:
    """The tags of 36 MB of nothing else take seconds: in a process with bounds, which end it."""
    extraction = PartExtraction(confined=Confined(most=1, budget=Budget(seconds=1)))
    large = source(tmp_path, b"<a>" * 12_000_000, "text/html")
    for selector in (TagRange(3, 7), NameRange("a", "b")):
        with pytest.raises(OverBudget, match=r"1 second\b"):
            extraction.cut_part(large, selector)
    small = source(tmp_path, b"<a>" * 100, "text/html")
    assert extraction.cut_part(small, TagRange(3, 7)).slices == (Span(9, 24),)
    extraction.close()
