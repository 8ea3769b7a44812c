"""The text at an origin, in every document that has a text.

How it works: the same number of characters is cut out of the citing document, at the origin, as the
cited part has. If both are equal, the verdict is `verbatim`, for the price of two parts. Otherwise
the plain texts of both documents are compared (`perdure.extractors.plain_text`,
`perdure.policy.quotations`): markup without its tags, pages without their lines. An origin in
markup is a character of the source; the text content from there on is compared. In an archive, a
film or a book, the passage is in the record, the cue or the document at the origin.

What must stay true: a part of the result contains the passage that was compared; if no single part
does, the complete document does, and there is no part.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

import msgspec

from perdure.errors import PartNotSupported, PartOutOfRange
from perdure.errors.limits import PlainTextTooLong
from perdure.errors.root import count_things
from perdure.extractors.plain_text import LARGEST, PlainText, SlicedText, UnitText, list_breaks
from perdure.extractors.port import Part, Source, Span, iterate_body
from perdure.extractors.text.coding import find_coding, find_part_codec
from perdure.extractors.text.decoded import DecodedText
from perdure.extractors.text.index import TextIndex, Unit, open_index
from perdure.model.verdicts import Comparison, Excerpt, Verdict
from perdure.parts import ByteRange, CharRange, Instant, Page, Selector
from perdure.reading.citations.divided import DividedPassage, compare_divided
from perdure.reading.citations.origins import (
    TABLES,
    Medium,
    Origin,
    find_medium,
    find_source_characters,
    find_stretch,
    locate_origin,
    require_place,
)
from perdure.reading.citations.sides import Finding, Side, blame
from perdure.reading.extraction import PartExtraction
from perdure.reading.text_places import select_range

_LINE_BREAK = re.compile("\r\n?")
_USUAL = frozenset(("ascii", "iso8859-1", "utf-8"))
"""Codecs in which any byte after a character begins a character, or is recognisable if not."""
_AROUND = 300  # characters of the context of a passage
_LONGEST = 4_000_000  # characters of a passage that is not verbatim
_SHOWN = 4000  # characters of a passage


class _Place(NamedTuple):
    """The places of a text at one of which the passage must begin: [start, until)."""

    start: int
    until: int


def compare_texts(parts: PartExtraction, citing: Side, origin: Origin, cited: Side) -> Finding:
    """Compare the text of a cited part with the text at an origin.

    Raises PartOutOfRange if there is no such origin, PartNotFound if there is no such part, and
    SideUnreadable.
    """
    with blame(cited.identifier):
        quoted = cut_text(parts, cited)
    with blame(citing.identifier):
        if origin.medium is Medium.TEXT:
            found = _compare_characters(parts, citing.source, origin, quoted)
            if found is not None:
                return found
        ours = _open_text(parts, citing.source)
        place = _find_place(parts, citing.source, ours, origin)
    with blame(cited.identifier):
        passage = _read_passage(parts, cited, quoted)
        theirs = passage.text
        if len(theirs) > _LONGEST:
            raise PlainTextTooLong(source=cited.source.name, most=_LONGEST)
    with blame(citing.identifier):
        divided = DividedPassage(ours.text, list_breaks(ours))
        comparison = compare_divided(divided, place.start, place.until, passage)
        return _describe(parts, citing.source, ours, origin, comparison, theirs)


def cut_text(parts: PartExtraction, side: Side) -> str | None:
    """Return the cited characters as they are written, in canonical form; None if the document is
    not a text. Raises OverBudget and the errors of cutting the part.
    """
    source = side.source
    if find_medium(source.essence) is not Medium.TEXT:
        return None
    if side.selector is None:
        how = find_coding(source)
        written = _decode(source, how.codec, (source.read_bytes(how.start, LARGEST + 1),))
    else:
        written = _decode_part(source, side.part or parts.cut_part(source, side.selector))
        if isinstance(side.selector, CharRange):
            return written
    return _canonicalise(written)


def _compare_characters(
    parts: PartExtraction, source: Source, origin: Origin, quoted: str | None
) -> Finding | None:
    """Return a finding if exactly the quoted characters are at an origin. Raises PartOutOfRange if
    a text has no such character, nor ends there.
    """
    start, stop = origin.number, origin.number + len(quoted or "")
    index = open_index(source, find_coding(source), parts.indexes)
    size = index.count_units(Unit.CANONICAL)
    if start > size:
        raise PartOutOfRange(
            identifier=source.name,
            selector=f"origin {start}",
            extent=count_things(size, "character"),
        )
    if not quoted or stop > size:
        return None
    before, written = _read_from(parts, index, start, quoted)
    if not written.startswith(quoted):
        return None
    after = written[len(quoted) : len(quoted) + _AROUND]
    return Finding(
        comparison=Comparison(verdict=Verdict.VERBATIM, start=0, stop=len(quoted)),
        unit="character",
        part=CharRange(start, stop),
        extent=len(quoted),
        passage=_make_excerpt(quoted, before, after),
        quoted=_make_excerpt(quoted),
    )


def _read_from(parts: PartExtraction, index: TextIndex, start: int, quoted: str) -> tuple[str, str]:
    """Return the canonical text before a position, and that from there on: as many characters as
    are quoted, and some more if the text has them.

    In the usual charsets, bytes are read from the place of the position on, so that the place of
    the end need not be found.
    """
    source, codec = index.source, index.coding.codec
    mark = index.find_place(Unit.CANONICAL, start)
    if codec in _USUAL and not mark.skip and not mark.after_cr:
        length = len(quoted.encode(codec, "replace")) + 4 * _AROUND
        first = max(mark.byte - 4 * _AROUND, index.coding.start)
        data = source.read_bytes(first, mark.byte + length)
        split = mark.byte - first
        before = data[:split].decode(codec, "ignore")
        rest = data[split:].decode(codec, "ignore")
        return _canonicalise(before)[-_AROUND:], _canonicalise(rest)
    size = index.count_units(Unit.CANONICAL)
    around = CharRange(max(start - _AROUND, 0), min(start + len(quoted) + _AROUND, size))
    written = _decode_part(source, parts.cut_part(source, around))
    return written[: start - around.start], written[start - around.start :]


def _canonicalise(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\r\n")


# reading
# -------


def _decode_part(source: Source, part: Part) -> str:
    codec = find_part_codec(source, part.charset)
    return _decode(source, codec, iterate_body(part.body, source))


def _decode(source: Source, codec: str, chunks: Iterable[bytes]) -> str:
    data = bytearray()
    for chunk in chunks:
        data += chunk
        if len(data) > LARGEST:
            raise PlainTextTooLong(source=source.name, most=LARGEST)
    return data.decode(codec, "replace")


def _open_text(parts: PartExtraction, source: Source) -> PlainText:
    """Return the plain text of a source. A table is read as it is written."""
    if source.essence in TABLES:
        source = msgspec.structs.replace(source, media_type="text/plain")
    text = parts.read_text(source)
    if text is None:
        raise PartNotSupported(media_type=source.media_type, selector="text")
    return text


def _read_passage(parts: PartExtraction, cited: Side, quoted: str | None) -> DividedPassage:
    """Return the cited text as people read it."""
    source = cited.source
    plain = quoted is not None and (
        source.essence in TABLES or isinstance(text := _open_text(parts, source), DecodedText)
    )
    if plain and quoted is not None:
        return DividedPassage(_LINE_BREAK.sub("\n", quoted))
    text = _open_text(parts, source)
    if cited.selector is None:
        return DividedPassage(text.text, list_breaks(text))
    part = parts.cut_part(source, cited.selector)
    passage = text.locate_part(part)
    if passage is None:
        return DividedPassage("")
    breaks = [one - passage.start for one in list_breaks(text)]
    return DividedPassage(text.text[passage.start : passage.stop], breaks)


# places
# ------


def _find_place(parts: PartExtraction, source: Source, text: PlainText, origin: Origin) -> _Place:
    """Return the places of an origin in a plain text. Raises PartNotFound if there is no page."""
    if origin.medium is Medium.PAGES:
        part = require_place(parts, source, origin, Page(origin.number))
        passage = text.locate_part(part)
        if passage is None:  # a page without text
            return _Place(len(text.text), len(text.text) + 1)
        return _Place(passage.start, passage.stop)
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
    return _Place(place, place + 1)


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


def _find_passage(text: PlainText, origin: Origin) -> _Place:
    """Return the places of the part of a document that contains an origin, or comes after it; of
    all cues that are shown in a second.
    """
    length = len(text.text)
    found: _Place | None = None
    for passage in text.list_passages(0, length, finest=True) if length else ():
        stretch = find_stretch(passage.selector)
        if passage.selector is None and origin.number:
            break
        if stretch.stop is not None and stretch.stop <= origin.number:
            continue
        if found is not None and stretch.start > origin.number:
            break
        found = _Place(passage.start if found is None else found.start, passage.stop)
    return found or _Place(length, length + 1)


def _count_stored(text: str, canonical: int) -> int:
    """Return the place in a text of line feeds of a position in canonical text."""
    return bisect_left(
        range(len(text) + 1), canonical, key=lambda place: place + text.count("\n", 0, place)
    )


def _find_unit(text: PlainText, source: Source, byte: int) -> _Place:
    """Return the places of a byte in a text of units, such as the lines of mail: one of them if the
    unit is read as it is stored, else all of the unit that contains the byte or comes after it.
    """
    span = Span(byte, source.length)
    every = ByteRange(span.start, span.stop)
    rest = Part(selector=every, media_type=source.media_type, body=(), slices=(span,))
    unit = text.locate_part(rest)
    stored = _find_stored(text, unit.start, unit.start + 1) if unit is not None else None
    if unit is None or stored is None:
        return _Place(len(text.text), len(text.text) + 1)
    first = text.list_passages(unit.start, unit.stop, finest=True)[0]
    written = source.read_bytes(stored.start, stored.stop).rstrip(b"\r\n")
    if written == text.text[first.start : first.stop].encode("ascii", "replace"):
        place = min(first.start + max(byte - stored.start, 0), first.stop)
        return _Place(place, place + 1)
    return _Place(first.start, first.stop)


def _find_byte(text: SlicedText, byte: int) -> int:
    """Return the first place in a sliced text that is written at or after a byte."""
    return bisect_left(
        range(len(text.text)), byte, key=lambda place: text.find_span(place, place + 1).start
    )


# telling
# -------


def _describe(
    parts: PartExtraction,
    source: Source,
    text: PlainText,
    origin: Origin,
    comparison: Comparison,
    theirs: str,
) -> Finding:
    quoted = _make_excerpt(theirs)
    start, stop = comparison.start, comparison.stop
    if start >= stop:
        return Finding(comparison=comparison, unit="character", quoted=quoted)
    part = _select(parts, source, text, start, stop)
    extent = part.end - part.start if isinstance(part, CharRange) else stop - start
    moved: str | None = None
    if comparison.verdict is Verdict.ELSEWHERE:
        there = locate_origin(source, text, start, stop, parts.indexes)
        moved = None if there is None else origin.spell_moved(there.start)
    return Finding(
        comparison=comparison,
        unit="character",
        part=part,
        extent=extent,
        moved=moved,
        passage=_make_excerpt(
            text.text[start:stop],
            text.text[max(start - _AROUND, 0) : start],
            text.text[stop : stop + _AROUND],
        ),
        quoted=quoted,
    )


def _select(
    parts: PartExtraction, source: Source, text: PlainText, start: int, stop: int
) -> Selector | None:
    """Return the part of the citing document that contains a range of its text.

    It is None if only the complete document does: its format has no parts, or the passage goes from
    one to the next.
    """
    if find_medium(source.essence) is Medium.TEXT:
        part = find_source_characters(source, text, start, stop, parts.indexes)
        if part is not None:
            return part
    return select_range(parts, source, text, start, stop, has_own_parts=True)


def _find_stored(text: PlainText, start: int, stop: int) -> Span | None:
    """Return the stored bytes of the units of a range, or None if the text has no such units."""
    return text.find_stored(start, stop) if isinstance(text, UnitText) else None


def _make_excerpt(text: str, before: str = "", after: str = "") -> Excerpt:
    return Excerpt(text=text[:_SHOWN], before=before, after=after, is_whole=len(text) <= _SHOWN)
