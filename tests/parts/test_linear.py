"""No text makes a reader slow.

The limit on the length of a part is lifted, and each text is made to be read again and again by a
careless pattern. Time that grows with the square of its length would be hours: the test would not
end.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest

from perdure.errors import MalformedPart, PartNotSupported
from perdure.parts import (
    annotation,
    directive,
    grammar,
    media,
    mpeg21,
    page,
    parse_part,
    pdi,
    plaintext,
    table,
    xpointer,
)
from perdure.parts.installed import load_syntaxes

KINDS = sorted({kind for syntax in load_syntaxes() for kind in syntax.media_types})
pytestmark = pytest.mark.growth
_LENGTH = 100_000

TEXTS: list[tuple[Callable[[str], object], str, str]] = [
    (plaintext.read_text_range, "char=", "1"),
    (plaintext.read_text_range, "char=1;length=1,", "a"),
    (plaintext.read_text_range, "char=1", ";length=1"),
    (plaintext.read_text_range, "char=1;md5=", "a"),
    (plaintext.read_text_range, "char=", "%31"),
    (table.read_cells, "row=", "1-"),
    (table.read_cells, "row=", "1;"),
    (table.read_cells, "cell=", "*,"),
    (page.read_pdf_part, "", "page=1&"),
    (page.read_pdf_part, "page=", "0"),
    (page.read_pdf_part, "page=1&viewrect=", "1."),
    (page.read_pdf_part, "ef=", "%41"),
    (page.read_pdf_part, "", "zoom=1&"),
    (page.read_pdf_part, "zoom=1", ",1"),
    (page.read_pdf_part, "view=", "a"),
    (media.read_media, "", "t=1&"),
    (media.read_media, "", "&"),
    (media.read_media, "t=", "1:"),
    (media.read_media, "t=", "1"),
    (media.read_media, "t=1.", "0"),
    (media.read_media, "xywh=", "1,"),
    (media.read_media, "", "%74="),
    (media.read_media, "", "track=a&"),
    (media.read_time_query, "", "1/"),
    (media.read_time_query, "smpte-", "2-"),
    (media.read_time_call, "@time(", "1"),
    (media.read_time_call, "@time(1", ".0"),
    (mpeg21.read_pointer, "", "ffp(track_ID=1)*"),
    (mpeg21.read_pointer, "mp(", "/~time('npt','1')"),
    (mpeg21.read_pointer, "mp(/~time('npt',", " "),
    (mpeg21.read_pointer, "mp(/~time('npt','", "1"),
    (mpeg21.read_pointer, "mp(/~region(rect(", "1,"),
    (mpeg21.read_pointer, "mp(/~a(", "()"),
    (mpeg21.read_pointer, "mp(/", "a/"),
    (mpeg21.read_pointer, "mp(/~a(b(", "c"),
    (mpeg21.read_pointer, "", "’"),
    (xpointer.read_elements, "", "a"),
    (xpointer.read_elements, "", "a:"),
    (xpointer.read_elements, "", "a("),
    (xpointer.read_elements, "a(", "()"),
    (xpointer.read_elements, "a(", "^^"),
    (xpointer.read_elements, "a()", " "),
    (xpointer.read_elements, "", "a() "),
    (xpointer.read_elements, "element(", "/1"),
    (xpointer.read_elements, "element(", "a"),
    (xpointer.read_elements, "xmlns(a", " "),
    (xpointer.read_elements, "xpointer(", '"'),
    (xpointer.read_elements, "xpointer(", "'\""),
    (xpointer.read_elements, "xpointer(", "descendant "),
    (xpointer.read_elements, "", "%C3%A9"),
    (xpointer.read_id, "", "a%41"),
    (directive.read_directive, ":~:text=", "a-,"),
    (directive.read_directive, ":~:text=", "a,"),
    (directive.read_directive, "", ":~:"),
    (directive.read_directive, ":~:", "text=a-&"),
    (annotation.read_annotation, "", "selector(type="),
    (annotation.read_annotation, "selector(type=", "("),
    (annotation.read_annotation, "selector(", "a=,"),
    (annotation.read_annotation, "selector(a=", "()"),
    (annotation.read_annotation, "", '{"refinedBy":'),
    (annotation.read_annotation, "{", " "),
    (
        annotation.read_annotation,
        '{"type":"FragmentSelector","value":"x","conformsTo":"http://a/',
        "rfc1/",
    ),
    (annotation.read_annotation, "", "%7b"),
    (pdi.read_pdi_part, "name=", "a,"),
    (pdi.read_pdi_part, "crop=sec,1,2,(", "1,"),
]


@pytest.mark.parametrize(("read", "start", "more"), TEXTS)
@pytest.mark.parametrize("end", ["", "\x00", ")", "%"])
def test_a_long_text_is_read_once(
    read: Callable[[str], object],
    start: str,
    more: str,
    end: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(grammar, "LONGEST", 10 * _LENGTH)
    with suppress(MalformedPart, PartNotSupported):
        read(start + more * (_LENGTH // len(more)) + end)


@pytest.mark.parametrize("media_type", KINDS)
@pytest.mark.parametrize("more", [" ", "&", "page", "%20", ")", ":~", "(", "a", "a("])
def test_a_syntax_is_told_in_one_look(
    media_type: str, more: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grammar, "LONGEST", 10 * _LENGTH)
    with suppress(MalformedPart, PartNotSupported):
        parse_part(more * (_LENGTH // len(more)), media_type)


@pytest.mark.parametrize(("read", "start", "more"), TEXTS)
def test_a_text_beyond_the_limit_is_not_read(
    read: Callable[[str], object], start: str, more: str
) -> None:
    with pytest.raises(MalformedPart, match="at most 8192 characters") as caught:
        read((start + more * 9000)[:8193])
    assert caught.value.at == 8192
