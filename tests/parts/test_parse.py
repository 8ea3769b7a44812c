"""Which syntaxes a media type has, and what becomes of a text in none of them."""

from __future__ import annotations

import pytest

from perdure.errors import MalformedPart, PartNotSupported
from perdure.ids import parse as parse_identifier
from perdure.parts import COLLECTION, annotation, list_syntaxes, parse_part, select_part
from perdure.parts.installed import load_syntaxes

KINDS = sorted({kind for syntax in load_syntaxes() for kind in syntax.media_types})
EVERYWHERE = "offset( selector("
MARKUP = f"{EVERYWHERE} element() :~:text= char= ID"
XML = f"{EVERYWHERE} element() ID :~:text= char="
SGML = f"{EVERYWHERE} ID char= :~:text="
TIMED = f"{EVERYWHERE} @time( ffp() t="


@pytest.mark.parametrize(
    ("media_type", "marks"),
    [
        ("text/plain; charset=utf-8", f"{EVERYWHERE} char= :~:text="),
        ("text/", f"{EVERYWHERE} char= :~:text="),
        ("TEXT/CSV", f"{EVERYWHERE} row= char= :~:text="),
        ("text/html;level=1", MARKUP),
        ("application/xhtml+xml", MARKUP),
        ("text/sgml", SGML),
        ("application/sgml", SGML),
        ("text/xml", XML),
        ("application/xml", XML),
        ("application/tei+xml", XML),
        ("image/svg+xml", XML),
        ("video/x+xml", XML),
        ("application/pdf", f"{EVERYWHERE} page="),
        (COLLECTION, f"{EVERYWHERE} member="),
        ("image/png", f"{EVERYWHERE} t="),
        ("video/mp4", TIMED),
        ("audio/mpeg", TIMED),
        ("application/ogg", TIMED),
        ("application/octet-stream", EVERYWHERE),
        ("", EVERYWHERE),
        ("+xml", EVERYWHERE),
    ],
)
def test_the_syntaxes_of_a_media_type_have_an_order(media_type: str, marks: str) -> None:
    """docs/reference/parts.md; the order decides what a text with two marks means."""
    names = [syntax.name for syntax in list_syntaxes(media_type)]
    expected = marks.split()
    assert len(names) == len(expected)
    for name, mark in zip(names, expected, strict=True):
        assert name.startswith(mark.rstrip("()") if mark != "ID" else "IDs of ")


@pytest.mark.parametrize(
    ("text", "media_type", "kind"),
    [
        ("char=1,2", "text/plain", "TextRange"),
        ("line=1", "text/csv", "TextRange"),
        ("char=1,2", "text/html", "TextRange"),
        ("row=1", "text/csv", "Cells"),
        (":~:text=a", "text/html", "TextDirective"),
        ("intro:~:text=a", "text/plain", "TextDirective"),
        ("add(int)", "text/html", "ElementById"),
        ("t=3", "text/html", "ElementById"),
        ("section-1", "text/xml", "ElementById"),
        ("z", "text/sgml", "ElementById"),
        ("z", "application/sgml", "ElementById"),
        ("line=1", "application/sgml", "TextRange"),
        (":~:text=a", "text/sgml", "TextDirective"),
        ("bogus(1)element(/1)", "text/xml", "ChildSequence"),
        ("bogus(1)%20element(/1)", "text/html", "ChildSequence"),
        ("xpointer(//a[.=':~:'])", "text/html", "XPath"),
        ("t=1&track=a)mp(", "video/mp4", "Media"),
        ("ffp(item_name=a&t=1)", "video/mp4", "Track"),
        ("bogus(a)ffp(track_ID=1)", "video/mp4", "Track"),
        ("@time(1s,2s)", "audio/mpeg", "Media"),
        ("xywh=1,2,3,4", "image/png", "Media"),
        ("page=3", "application/pdf", "Page"),
        ("offset(1,2)", "application/octet-stream", "Octets"),
        ("%63har%3D1", "text/plain", "TextRange"),
        ("%74=1", "audio/mpeg", "Media"),
        ('{"type":"DataPositionSelector","start":1,"end":2}', "application/pdf", "Octets"),
        ("selector(type=TextPositionSelector,start=1,end=2)", "text/html", "TextPosition"),
        ("selector(type=FragmentSelector,value=page%3d3)", "application/pdf", "Page"),
    ],
)
def test_a_syntax_is_told_by_its_mark(text: str, media_type: str, kind: str) -> None:
    assert type(parse_part(text, media_type)).__name__ == kind


@pytest.mark.parametrize(
    ("text", "media_type", "offered"),
    [
        ("t=3", "text/plain", "char= and line= (RFC 5147)"),
        ("t=3", "text/sgml", "IDs of SGML"),
        ("element(/1)", "text/sgml", "IDs of SGML"),
        ("page=3", "image/png", "t=, xywh=, track= and id= (Media Fragments URI 1.0)"),
        ("char=1,2", "application/pdf", "page=, nameddest= and ef= (RFC 8118)"),
        ("element(/1)", "text/plain", "offset() (ISO/IEC 21000-17)"),
        ("row=1", "application/zip", "selector() and JSON (Web Annotation)"),
        ("zoom=50", "image/png", "t=, xywh=, track= and id= (Media Fragments URI 1.0)"),
        ("mask(u)", "image/png", "t=, xywh=, track= and id= (Media Fragments URI 1.0)"),
        ("bogus(1)", "text/plain", "char= and line= (RFC 5147)"),
        (
            "selector(type=FragmentSelector,value=row%3d1)",
            "text/plain",
            "char= and line= (RFC 5147)",
        ),
    ],
)
def test_a_syntax_of_other_media_types_is_not_supported(
    text: str, media_type: str, offered: str
) -> None:
    with pytest.raises(PartNotSupported) as caught:
        parse_part(text, media_type)
    assert offered in (caught.value.offered or ())


@pytest.mark.parametrize("media_type", KINDS)
@pytest.mark.parametrize("text", ["", "%", "\ud800", "a b", "x" * 8193, "\x00"])
def test_a_text_in_no_syntax_is_malformed(text: str, media_type: str) -> None:
    with pytest.raises(MalformedPart) as caught:
        parse_part(text, media_type)
    assert caught.value.text == text


def test_annotations_do_not_hide_in_fragments() -> None:
    text = "selector(type=FragmentSelector,value=%73elector(type=CssSelector,value=a))"
    with pytest.raises((MalformedPart, PartNotSupported)):
        parse_part(text, "text/plain")


def test_the_syntax_of_a_fragment_that_is_not_named_is_that_of_the_media_type() -> None:
    given = {"type": "FragmentSelector", "value": "intro"}
    with pytest.raises(MalformedPart, match="conformsTo"):
        annotation.read_annotation(given)
    html = annotation.read_annotation(given, lambda value: parse_part(value, "text/html"))
    assert html == parse_part("intro", "text/html")


@pytest.mark.parametrize(
    "text", ["urn:example:a#row=1", "urn:example:a#%00", "urn:example:a#t=5,3"]
)
def test_what_an_identifier_says_is_not_passed_over(text: str) -> None:
    with pytest.raises((MalformedPart, PartNotSupported)):
        select_part(parse_identifier(text), "audio/mpeg")
