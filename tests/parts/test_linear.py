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
    parse,
    pdi,
    plaintext,
    table,
    xpointer,
)
from perdure.parts.installed import load_syntaxes

KINDS = sorted({kind for syntax in load_syntaxes() for kind in syntax.media_types})
_LENGTH = 100_000

TEXTS: list[tuple[Callable[[str], object], str, str]] = [
    (plaintext.read, "char=", "1"),
    (plaintext.read, "char=1;length=1,", "a"),
    (plaintext.read, "char=1", ";length=1"),
    (plaintext.read, "char=1;md5=", "a"),
    (plaintext.read, "char=", "%31"),
    (table.read, "row=", "1-"),
    (table.read, "row=", "1;"),
    (table.read, "cell=", "*,"),
    (page.read, "", "page=1&"),
    (page.read, "page=", "0"),
    (page.read, "page=1&viewrect=", "1."),
    (page.read, "ef=", "%41"),
    (page.read, "", "zoom=1&"),
    (page.read, "zoom=1", ",1"),
    (page.read, "view=", "a"),
    (media.read, "", "t=1&"),
    (media.read, "", "&"),
    (media.read, "t=", "1:"),
    (media.read, "t=", "1"),
    (media.read, "t=1.", "0"),
    (media.read, "xywh=", "1,"),
    (media.read, "", "%74="),
    (media.read, "", "track=a&"),
    (media.read_time_query, "", "1/"),
    (media.read_time_query, "smpte-", "2-"),
    (media.read_time_call, "@time(", "1"),
    (media.read_time_call, "@time(1", ".0"),
    (mpeg21.read, "", "ffp(track_ID=1)*"),
    (mpeg21.read, "mp(", "/~time('npt','1')"),
    (mpeg21.read, "mp(/~time('npt',", " "),
    (mpeg21.read, "mp(/~time('npt','", "1"),
    (mpeg21.read, "mp(/~region(rect(", "1,"),
    (mpeg21.read, "mp(/~a(", "()"),
    (mpeg21.read, "mp(/", "a/"),
    (mpeg21.read, "mp(/~a(b(", "c"),
    (mpeg21.read, "", "’"),
    (xpointer.read, "", "a"),
    (xpointer.read, "", "a:"),
    (xpointer.read, "", "a("),
    (xpointer.read, "a(", "()"),
    (xpointer.read, "a(", "^^"),
    (xpointer.read, "a()", " "),
    (xpointer.read, "", "a() "),
    (xpointer.read, "element(", "/1"),
    (xpointer.read, "element(", "a"),
    (xpointer.read, "xmlns(a", " "),
    (xpointer.read, "xpointer(", '"'),
    (xpointer.read, "xpointer(", "'\""),
    (xpointer.read, "xpointer(", "descendant "),
    (xpointer.read, "", "%C3%A9"),
    (xpointer.read_id, "", "a%41"),
    (directive.read, ":~:text=", "a-,"),
    (directive.read, ":~:text=", "a,"),
    (directive.read, "", ":~:"),
    (directive.read, ":~:", "text=a-&"),
    (annotation.read, "", "selector(type="),
    (annotation.read, "selector(type=", "("),
    (annotation.read, "selector(", "a=,"),
    (annotation.read, "selector(a=", "()"),
    (annotation.read, "", '{"refinedBy":'),
    (annotation.read, "{", " "),
    (annotation.read, '{"type":"FragmentSelector","value":"x","conformsTo":"http://a/', "rfc1/"),
    (annotation.read, "", "%7b"),
    (pdi.read, "name=", "a,"),
    (pdi.read, "crop=sec,1,2,(", "1,"),
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
        parse(more * (_LENGTH // len(more)), media_type)


@pytest.mark.parametrize(("read", "start", "more"), TEXTS)
def test_a_text_beyond_the_limit_is_not_read(
    read: Callable[[str], object], start: str, more: str
) -> None:
    with pytest.raises(MalformedPart, match="at most 8192 characters") as caught:
        read((start + more * 9000)[:8193])
    assert caught.value.at == 8192
