"""Ranges of the plain text of a document, and the parts that contain them.

How it works: positions in the parts of a PDI count characters of the source, with a line break as
two (section 3.4), so a range of a text that is stored in order becomes a range of characters.
Everywhere else, the format says which parts its text has (`PlainText.list_passages`).

A page shows a window of a text. A browser replaces or drops control characters, so they are shown
by their pictures (U+2400 …), each by one character.

What must stay true: the part contains the range. If no single part does, there is none.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import msgspec

from perdure.errors import PartNotSupported, PartOutOfRange
from perdure.errors.cutting import TextNotSupported
from perdure.errors.root import count_things
from perdure.extractors.markup.rendition import LocatedElement
from perdure.extractors.plain_text import LongText, PlainText, SlicedText
from perdure.extractors.port import Part, Source, Span, iterate_body
from perdure.extractors.text.characters import find_characters
from perdure.extractors.text.decoded import DecodedText
from perdure.parts import (
    ByteRange,
    CharRange,
    ChildSequence,
    Octets,
    Selector,
    TagRange,
    View,
)
from perdure.reading.extraction import PartExtraction

_CONTEXT = 32  # characters before and after a passage
_MOST_SHOWN = 4000  # characters of a passage
_LARGEST_HASHED = 1 << 20  # bytes of a part
_LEAD = 1000  # characters before a part in a window
_PICTURES = {code: 0x2400 + code for code in range(0x20) if code not in (0x09, 0x0A)} | {
    0x7F: 0x2421
}


class _TextInMemory(NamedTuple):
    """A text that is not stored as it is read, in the form of one that is."""

    found: PlainText

    @property
    def length(self) -> int:
        return len(self.found.text)

    def read_characters(self, start: int, stop: int) -> str:
        return self.found.text[start:stop]


class PointedPassage(NamedTuple):
    """A part that was found by the range of its text."""

    selector: Selector
    place: tuple[int, int] | None
    """The characters of the text that the part has."""
    text: str
    """The text of the part: what was selected, or more."""
    is_whole: bool
    """False if `text` is only the beginning."""
    before: str
    after: str
    sha512: str | None
    """The digest of the bytes of the part; None of a large one."""


class TextWindow(NamedTuple):
    """Characters [start, stop) of a plain text, as a page shows them."""

    text: str
    start: int
    stop: int
    length: int
    """Characters of the complete text."""
    mark: tuple[int, int] | None
    """The characters of a part of the text."""


def point_at_text(
    parts: PartExtraction, source: Source, start: int, stop: int, *, has_own_parts: bool
) -> PointedPassage:
    """Find the part that contains the characters [start, stop) of the text of a document.

    Raises TextNotSupported if it has no text, PartOutOfRange if the text has fewer characters,
    PartNotSupported if no single part contains the range, and the errors of reading the text.
    """
    text: LongText | _TextInMemory | None = parts.open_long_text(source) or _read_text(
        parts, source
    )
    if text is None:
        raise TextNotSupported(media_type=source.media_type, selector=f"point={start},{stop}")
    if stop > text.length:
        extent = count_things(text.length, "character")
        raise PartOutOfRange(
            identifier=source.name, selector=f"point={start},{stop}", extent=extent
        )
    selector: Selector | None
    if isinstance(text, _TextInMemory):
        found = text.found
        selector = select_range(parts, source, found, start, stop, has_own_parts=has_own_parts)
    elif has_own_parts:
        selector = find_characters(source, text.find_span(start, stop), parts.indexes)
    else:
        selector = text.select_part(start, stop)
    if selector is None:
        raise PartNotSupported(media_type=source.media_type, selector=f"point={start},{stop}")
    part = parts.cut_part(source, selector)
    place = text.found.locate_part(part) if isinstance(text, _TextInMemory) else None
    if place is not None:
        start, stop = place.start, place.stop
    return _show_passage(source, text, part, selector, start, stop)


def point_at_element(
    parts: PartExtraction, source: Source, tag: int, *, has_own_parts: bool
) -> PointedPassage:
    """Find the part that is the element of HTML that begins with a tag.

    The part of a PDI extends from tag to tag if the element ends with one, else it is the
    characters of the element, because `#elt=` ends with a tag.  # ruling: elt-range

    Raises PartNotFound if its place cannot be proved, and the errors of cutting.
    """
    body = parts.cut_part(source, View("element", tag)).body
    found = msgspec.json.decode(b"".join(iterate_body(body, source)), type=LocatedElement)
    selector: Selector
    if not has_own_parts:
        selector = ChildSequence(None, found.steps)
    elif found.last is not None:
        selector = TagRange(found.first, found.last)
    else:
        selector = find_characters(source, Span(found.start, found.stop), parts.indexes)
    text = _read_text(parts, source)
    if text is None:
        raise TextNotSupported(media_type=source.media_type, selector=f"point=tag={tag}")
    part = parts.cut_part(source, selector)
    place = text.found.locate_part(part)
    start, stop = (place.start, place.stop) if place else (0, 0)
    return _show_passage(source, text, part, selector, start, stop)


def _show_passage(
    source: Source,
    text: LongText | _TextInMemory,
    part: Part,
    selector: Selector,
    start: int,
    stop: int,
) -> PointedPassage:
    digest = None
    if part.length is not None and part.length <= _LARGEST_HASHED:
        digest = hashlib.sha512(b"".join(iterate_body(part.body, source))).hexdigest()
    return PointedPassage(
        selector,
        (start, stop) if start < stop else None,
        text.read_characters(start, min(stop, start + _MOST_SHOWN)),
        stop - start <= _MOST_SHOWN,
        text.read_characters(max(0, start - _CONTEXT), start),
        text.read_characters(stop, stop + _CONTEXT),
        digest,
    )


def read_window(
    parts: PartExtraction, source: Source, start: int, size: int, part: Selector | None
) -> TextWindow | None:
    """Read a window of the text of a document, or the one around a part of it.

    None if the document has no text, or the part has no place in it. Raises the errors of reading
    the text and of cutting the part.
    """
    mark = None
    text: LongText | _TextInMemory | None = None
    if part is None:
        text = parts.open_long_text(source)
    text = text or _read_text(parts, source)
    if text is None:
        return None
    if part is not None and isinstance(text, _TextInMemory):
        place = text.found.locate_part(parts.cut_part(source, part))
        if place is None:
            return None
        mark = place.start, place.stop
        start = _find_line_start(text, max(0, place.start - _LEAD), place.start)
    start = min(start, text.length)
    stop = min(start + size, text.length)
    shown = text.read_characters(start, stop).translate(_PICTURES)
    return TextWindow(shown, start, stop, text.length, mark)


def _read_text(parts: PartExtraction, source: Source) -> _TextInMemory | None:
    found = parts.read_text(source)
    return None if found is None else _TextInMemory(found)


def _find_line_start(text: LongText | _TextInMemory, start: int, stop: int) -> int:
    """Return the start of the first line that begins between two places, or the first place."""
    return start and start + text.read_characters(start, stop).find("\n") + 1


def select_range(
    parts: PartExtraction,
    source: Source,
    text: PlainText,
    start: int,
    stop: int,
    *,
    has_own_parts: bool,
) -> Selector | None:
    """Return the part of a document that contains a range of its text, or None.

    `has_own_parts` is true of a document whose name defines what parts mean, as a PDI does.
    # ruling: part-meaning
    """
    if has_own_parts and isinstance(text, DecodedText):
        return CharRange(count_canonical(text.text, start), count_canonical(text.text, stop))
    if has_own_parts and isinstance(text, SlicedText):
        return find_characters(source, text.find_span(start, stop), parts.indexes)
    return choose_passage(text, start, stop, has_own_parts=has_own_parts)


def choose_passage(
    text: PlainText, start: int, stop: int, *, has_own_parts: bool
) -> Selector | None:
    """Return the part that a format has for a range of its text, or None if no single one has it.

    `has_own_parts` is that of `select_range`.
    """
    passages = text.list_passages(start, stop)
    selector = passages[0].selector if len(passages) == 1 else None
    if isinstance(selector, Octets) and selector.end is not None:
        return select_octets(selector.start, selector.end, has_own_parts=has_own_parts)
    return selector


def select_octets(start: int, stop: int, *, has_own_parts: bool) -> Selector:
    """Return the octets [start, stop) as the name of their document can say it.

    `has_own_parts` is that of `select_range`.
    """
    return ByteRange(start, stop) if has_own_parts else Octets(start, stop)


def count_canonical(text: str, place: int) -> int:
    """Return the characters before a place in a text, with each line break as two."""
    return place + text.count("\n", 0, place)
