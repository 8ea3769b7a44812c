"""Composites as texts: their pieces, marks and places, without a registry."""

from __future__ import annotations

import pytest

from perdure.errors.composing import (
    CompositeCharset,
    CompositeEntities,
    CompositeNotWellFormed,
)
from perdure.model import composite_marks, composites
from perdure.model.composites import CanonicalPlaces, Piece, count_canonical

NAME = "pdi://oma.eop.gov.us/1994/03/21/1.text.1#char=3,5"
QUOTE = f'<q cite="{NAME}">a</q>'
XI = 'xmlns:xi="http://www.w3.org/2001/XInclude"'


def read(media_type: str, text: str) -> list[tuple[str, str, str]]:
    """The element, the identifier and the content of each piece."""
    pieces = composites.read_pieces(media_type, text.encode())
    return [(one.element, str(one.identifier), text[one.start : one.stop]) for one in pieces]


@pytest.mark.parametrize(
    ("page", "pieces"),
    [
        (f'<q cite="{NAME}">ab</q>', [("q", NAME, "ab")]),
        (f"<Q CITE='{NAME}'>ab</Q >", [("q", NAME, "ab")]),
        (f'<q cite=" {NAME} ">ab', [("q", NAME, "ab")]),
        (f'<blockquote cite="{NAME}"><p>a<q>b</q></blockquote>c', [
            ("blockquote", NAME, "<p>a<q>b</q>")]),
        (f'<blockquote cite="{NAME}"><q cite="{NAME}">b</blockquote>', [
            ("blockquote", NAME, f'<q cite="{NAME}">b'), ("q", NAME, "b")]),
        (f'<img src="/{NAME.replace("#", "%23")}">', [
            ("img", NAME, f'<img src="/{NAME.replace("#", "%23")}">')]),
        (f'<audio src="https://a.example/{NAME.replace("#", "%23")}"/>', [
            ("audio", NAME, f'<audio src="https://a.example/{NAME.replace("#", "%23")}"/>')]),
        (f"a\nb\n<q\ncite='{NAME}'>x</q>", [("q", NAME, "x")]),
        ("</q><q cite=''>x</q><q>x</q><img src=''><img><img src='a.gif'>", []),
        ("<q cite='https://a.example/'>x</q><q cite='pdi://bad'>x</q>", []),
        (f"<!-- <q cite='{NAME}'> --><script><q cite='{NAME}'></script>", []),
    ],
)  # fmt: skip
def test_the_pieces_of_a_page(page: str, pieces: list[tuple[str, str, str]]) -> None:
    assert read("text/html", page) == pieces


@pytest.mark.parametrize(
    ("document", "pieces"),
    [
        (f'<a><?perdure piece="{NAME}" date="x"?>é<?perdure end?></a>', [("include", NAME, "é")]),
        (f'<a>é<?perdure piece="{NAME}"?>b<?perdure end?></a>', [("include", NAME, "b")]),
        ("<a><?perdure end?><?other piece='x'?><?perdure?><?perdure composite?></a>", []),
        (f'<a><?perdure piece="{NAME}"?></a>', []),
    ],
)
def test_the_pieces_of_an_xml_document(document: str, pieces: list[tuple[str, str, str]]) -> None:
    assert read("application/xml", document) == pieces


def test_pieces_within_pieces() -> None:
    other = NAME.replace("3,5", "7,9")
    inner = f'<?perdure piece="{other}"?>b<?perdure end?>'
    text = f'<a><?perdure piece="{NAME}"?><x>a{inner}c</x><?perdure end?></a>'
    outer, within = composites.read_pieces("text/xml", text.encode())
    assert (str(outer.identifier), str(within.identifier)) == (NAME, other)
    pieces = [outer, within]
    assert composites.is_filled(text, pieces, outer, ["<x>a", "c</x>"])
    assert composites.is_filled(text, pieces, within, ["b"])
    assert composites.is_filled(text, pieces, outer, [text[outer.start : outer.stop]])  # its own
    for cuts in (["<x>a"], ["<x>", "c</x>"], ["<x>a", "c</x>", ""], ["<x>a", "c</x"], ["<x>b"]):
        assert not composites.is_filled(text, pieces, outer, cuts)


def test_a_source_is_cut_at_its_includes() -> None:
    include = "<xi:include href='a>b'/>"
    other = "<xi:include href='c'><x/></xi:include>"
    data = f"<?xml version='1.0'?>\n<a {XI}>1{include}2{other}3</a>\n"
    assert composites.split_source(data.encode()) == [f"<a {XI}>1", "2", "3</a>"]
    found = composites.list_includes(data.encode())
    assert [data.encode()[begin:end] for begin, end, _ in found] == [
        include.encode(),
        other.encode(),
    ]
    nested = f"<a {XI}><xi:include href='a'><xi:include href='b'/></xi:include></a>"
    assert [one["href"] for _, _, one in composites.list_includes(nested.encode())] == ["a"]


def test_a_tag_that_does_not_end_is_the_rest() -> None:
    assert composites.find_tag_end(b"<a b='>", 0) == 7


@pytest.mark.parametrize(
    ("media_type", "beginning", "found"),
    [
        ("text/html; charset=utf-8", f"<!doctype html>{composite_marks.HTML_MARK}", True),
        ("application/xhtml+xml", composite_marks.XML_MARK, True),
        ("text/plain", composite_marks.HTML_MARK, False),
        ("text/html", "x" * 1024 + composite_marks.HTML_MARK, False),
        ("text/html", "", False),
    ],
)
def test_the_mark_of_a_composite(media_type: str, beginning: str, found: bool) -> None:
    assert composite_marks.is_composite(media_type, beginning.encode()) is found


@pytest.mark.parametrize(
    ("media_type", "document", "targets"),
    [
        (
            "text/html",
            f'{composite_marks.HTML_MARK}<q cite="{NAME}">a</q><q cite="{NAME}">b</q>',
            (NAME,),
        ),
        ("text/html", f'<q cite="{NAME}">a</q>', ()),
        ("text/xml", f"{composite_marks.XML_MARK}<a", ()),
        ("text/html", composite_marks.HTML_MARK + "x" * composites.LARGEST, ()),
    ],
)
def test_the_targets_of_a_composite(
    media_type: str, document: str, targets: tuple[str, ...]
) -> None:
    assert composites.find_targets(media_type, document.encode()) == targets


@pytest.mark.parametrize(
    ("document", "error", "line"),
    [
        (b"<a>\n<b></a>", CompositeNotWellFormed, 2),
        (b"", CompositeNotWellFormed, 1),
        (b"<!DOCTYPE a [\n<!ENTITY x 'y'>]><a>&x;</a>", CompositeEntities, 2),
    ],
)
def test_malformed_xml(document: bytes, error: type[Exception], line: int) -> None:
    with pytest.raises(error) as refused:
        composites.read_pieces("text/xml", document)
    assert refused.value.line == line  # type: ignore[attr-defined]
    assert f"line {line}" in str(refused.value)


def test_other_charsets_are_refused() -> None:
    with pytest.raises(CompositeCharset):
        composites.read_pieces("text/html", b"\xff")


def test_a_byte_order_mark_is_no_character() -> None:
    text = f'<a><?perdure piece="{NAME}"?>b<?perdure end?></a>'
    (one,) = composites.read_pieces("text/xml", b"\xef\xbb\xbf" + text.encode())
    assert text[one.start : one.stop] == "b"


@pytest.mark.parametrize(
    ("text", "place", "count"),
    [("ab", 1, 1), ("a\nb", 2, 3), ("a\r\nb", 3, 3), ("a\r\nb", 2, 3), ("\r\r", 2, 4), ("", 0, 0)],
)
def test_origins_count_line_breaks_twice(text: str, place: int, count: int) -> None:
    assert count_canonical(text, place) == CanonicalPlaces(text).count_before(place) == count


def test_places_may_go_back() -> None:
    places = CanonicalPlaces("a\nb\nc")
    assert [places.count_before(place) for place in (4, 2, 5)] == [6, 3, 7]


def test_lines_are_counted_from_one() -> None:
    assert [composites.find_line("a\nb\n", place) for place in (0, 1, 2, 4)] == [1, 1, 2, 3]


def test_a_piece_that_is_no_address_has_no_identifier() -> None:
    assert Piece("/a.gif", "img", 0, 0).identifier is None
    assert Piece("pdi://bad", "q", 0, 0).identifier is None
