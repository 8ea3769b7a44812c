"""The places of an origin in the plain text of a document, at one of which a passage must begin.

How it works: an origin in a text is a character of its source, in a PDF a page, in a film a second,
elsewhere a byte. What is read as it is stored has one place for it; a cell, a line of mail or a cue
that is read in another way has all of its places.

What must stay true: an origin after the end of a document is an error. An origin after the last
passage is a place after the text.
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction
from typing import NamedTuple

from perdure.errors import PartOutOfRange
from perdure.errors.root import count_things
from perdure.extractors.plain_text import PlainText, SlicedText, UnitText
from perdure.extractors.port import Part, Source, Span
from perdure.extractors.text.coding import find_coding
from perdure.extractors.text.decoded import DecodedText
from perdure.extractors.text.index import Unit, open_index
from perdure.extractors.text.table_text import TableText
from perdure.parts import ByteRange, Instant, Page
from perdure.reading.citations.origins import Medium, Origin, find_stretch, require_place
from perdure.reading.extraction import PartExtraction


class TextPlace(NamedTuple):
    """The places of a text at one of which the passage must begin: [start, until)."""

    start: int
    until: int


def find_place(parts: PartExtraction, source: Source, text: PlainText, origin: Origin) -> TextPlace:
    """Return the places of an origin in a plain text. Raises PartNotFound if there is no page."""
    if origin.medium is Medium.PAGES:
        part = require_place(parts, source, origin, Page(origin.number))
        passage = text.locate_part(part)
        if passage is None:  # a page without text
            return TextPlace(len(text.text), len(text.text) + 1)
        return TextPlace(passage.start, passage.stop)
    if origin.medium is not Medium.TEXT:
        _require_within(parts, source, origin)
        return _find_passage(text, origin)
    if isinstance(text, DecodedText):
        place = _count_stored(text.text, origin.number)
    else:
        index = open_index(source, find_coding(source), parts.indexes)
        byte = index.find_place(Unit.CANONICAL, origin.number).byte
        if not isinstance(text, SlicedText):
            return _find_unit(text, source, byte)
        place = _find_byte(text, byte)
        if isinstance(text, TableText):
            return _find_cell(text, byte, place)
    return TextPlace(place, place + 1)


def _find_cell(text: TableText, byte: int, after: int) -> TextPlace:
    """Return the places of the cell that contains a byte. `after` is the first place of the next
    one, or that of the cell if the byte is its first one."""
    if after < len(text.text) and text.find_span(after, after + 1).start == byte:
        return TextPlace(after, after + 1)
    start = text.find_span(after - 1, after).start if after else 0
    return TextPlace(_find_byte(text, start), max(after, 1))


def _require_within(parts: PartExtraction, source: Source, origin: Origin) -> None:
    """Raise PartOutOfRange if a document ends before an origin."""
    if origin.medium is not Medium.BYTES:
        require_place(parts, source, origin, Instant(Fraction(origin.number)))
    elif origin.number > source.length:
        raise PartOutOfRange(
            identifier=source.name,
            selector=f"origin {origin}",
            extent=count_things(source.length, "byte"),
        )


def _find_passage(text: PlainText, origin: Origin) -> TextPlace:
    """Return the places of the part of a document that contains an origin, or comes after it; of
    all cues that are shown in a second.
    """
    length = len(text.text)
    found: TextPlace | None = None
    for passage in text.list_passages(0, length, finest=True) if length else ():
        stretch = find_stretch(passage.selector)
        if passage.selector is None and origin.number:
            break
        if stretch.stop is not None and stretch.stop <= origin.number:
            continue
        if found is not None and stretch.start > origin.number:
            break
        found = TextPlace(passage.start if found is None else found.start, passage.stop)
    return found or TextPlace(length, length + 1)


def _count_stored(text: str, canonical: int) -> int:
    """Return the place in a text of line feeds of a position in canonical text."""
    return bisect_left(
        range(len(text) + 1), canonical, key=lambda place: place + text.count("\n", 0, place)
    )


def _find_unit(text: PlainText, source: Source, byte: int) -> TextPlace:
    """Return the places of a byte in a text of units, such as the lines of mail: one of them if the
    unit is read as it is stored, else all of the unit that contains the byte or comes after it.
    """
    span = Span(byte, source.length)
    every = ByteRange(span.start, span.stop)
    rest = Part(selector=every, media_type=source.media_type, body=(), slices=(span,))
    unit = text.locate_part(rest)
    stored = find_stored(text, unit.start, unit.start + 1) if unit is not None else None
    if unit is None or stored is None:
        return TextPlace(len(text.text), len(text.text) + 1)
    first = text.list_passages(unit.start, unit.stop, finest=True)[0]
    written = source.read_bytes(stored.start, stored.stop).rstrip(b"\r\n")
    if written == text.text[first.start : first.stop].encode("ascii", "replace"):
        place = min(first.start + max(byte - stored.start, 0), first.stop)
        return TextPlace(place, place + 1)
    return TextPlace(first.start, first.stop)


def _find_byte(text: SlicedText, byte: int) -> int:
    """Return the first place in a sliced text that is written at or after a byte."""
    return bisect_left(
        range(len(text.text)), byte, key=lambda place: text.find_span(place, place + 1).start
    )


def find_stored(text: PlainText, start: int, stop: int) -> Span | None:
    """Return the stored bytes of the units of a range, or None if the text has no such units."""
    return text.find_stored(start, stop) if isinstance(text, UnitText) else None
