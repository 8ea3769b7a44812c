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
from collections.abc import Iterable

import msgspec

from perdure.errors import PartNotSupported, PartOutOfRange
from perdure.errors.cutting import TextNotSupported
from perdure.errors.damage import TextAbsent
from perdure.errors.limits import PlainTextTooLong
from perdure.errors.root import count_things
from perdure.extractors.plain_text import LARGEST, PlainText, list_breaks
from perdure.extractors.port import Part, Source, iterate_body
from perdure.extractors.text.coding import find_coding, find_part_codec
from perdure.extractors.text.decoded import DecodedText
from perdure.extractors.text.index import TextIndex, Unit, open_index
from perdure.formats.essence import strip_parameters
from perdure.model.verdicts import Comparison, Excerpt, Verdict
from perdure.parts import CharRange, Selector
from perdure.reading.citations.divided import DividedPassage, compare_divided
from perdure.reading.citations.origins import (
    CELLS,
    TABLES,
    Medium,
    Origin,
    find_medium,
    find_source_characters,
    locate_origin,
)
from perdure.reading.citations.sides import Finding, Side, blame
from perdure.reading.citations.text_origins import find_place
from perdure.reading.extraction import PartExtraction
from perdure.reading.plain_texts import read_divided_text
from perdure.reading.text_places import select_range

_LINE_BREAK = re.compile("\r\n?")
_USUAL = frozenset(("ascii", "iso8859-1", "utf-8"))
"""Codecs in which any byte after a character begins a character, or is recognisable if not."""
_AROUND = 300  # characters of the context of a passage
_LONGEST = 4_000_000  # characters of a passage that is not verbatim
_SHOWN = 4000  # characters of a passage


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
    found = _compare_plain(parts, citing, origin, cited, quoted)
    if found.verdict.is_quotation or not {citing.source.essence, cited.source.essence} & CELLS:
        return found
    cells = _compare_plain(parts, citing, origin, cited, quoted, as_cells=True)
    is_better = cells.verdict.is_quotation or cells.verdict is Verdict.ELSEWHERE
    return cells if is_better else found


def _compare_plain(
    parts: PartExtraction,
    citing: Side,
    origin: Origin,
    cited: Side,
    quoted: str | None,
    *,
    as_cells: bool = False,
) -> Finding:
    """Compare the plain texts. A table is read as it is written, or with `as_cells` without the
    commas and quotation marks around its fields. Raises as `compare_texts`.
    """
    with blame(citing.identifier):
        ours = _open_text(parts, citing.source, as_cells)
        place = find_place(parts, citing.source, ours, origin)
    with blame(cited.identifier):
        passage = _read_passage(parts, cited, None if as_cells else quoted, as_cells)
        if len(passage.text) > _LONGEST:
            raise PlainTextTooLong(source=cited.source.name, most=_LONGEST)
    with blame(citing.identifier):
        divided = DividedPassage(ours.text, list_breaks(ours))
        comparison = compare_divided(divided, place.start, place.until, passage)
        if as_cells and comparison.verdict is Verdict.VERBATIM:
            comparison = msgspec.structs.replace(comparison, verdict=Verdict.REFLOWED)
        return _describe(parts, citing.source, ours, origin, comparison, passage.text)


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


def _open_text(parts: PartExtraction, source: Source, as_cells: bool) -> PlainText:
    """Return the plain text of a source. A table is read as it is written, or as its cells."""
    if source.essence in TABLES and not (as_cells and source.essence in CELLS):
        source = msgspec.structs.replace(source, media_type="text/plain")
    text = parts.read_text(source)
    if text is None:
        raise PartNotSupported(media_type=source.media_type, selector="text")
    return text


def _read_passage(
    parts: PartExtraction, cited: Side, quoted: str | None, as_cells: bool
) -> DividedPassage:
    """Return the cited text as people read it."""
    source = cited.source
    if quoted is not None and source.essence in TABLES:
        return DividedPassage(_LINE_BREAK.sub("\n", quoted))
    text = _open_text(parts, source, as_cells)
    if quoted is not None and isinstance(text, DecodedText):
        return DividedPassage(_LINE_BREAK.sub("\n", quoted))
    if cited.selector is None:
        return DividedPassage(text.text, list_breaks(text))
    if as_cells and source.essence in CELLS:
        return _read_alone(parts, source, cited.selector)
    part = parts.cut_part(source, cited.selector)
    passage = text.locate_part(part)
    if passage is None:
        is_document = strip_parameters(part.media_type) != source.essence
        return _read_alone(parts, source, cited.selector) if is_document else DividedPassage("")
    breaks = [one - passage.start for one in list_breaks(text)]
    return DividedPassage(text.text[passage.start : passage.stop], breaks)


def _read_alone(parts: PartExtraction, source: Source, selector: Selector) -> DividedPassage:
    """Return the text of a part that is a document of its own, such as subtitles of a film."""
    try:
        alone = read_divided_text(parts, source, selector)
    except (TextAbsent, TextNotSupported):
        return DividedPassage("")
    return DividedPassage(alone.text.rstrip("\n"), alone.breaks)


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


def _make_excerpt(text: str, before: str = "", after: str = "") -> Excerpt:
    return Excerpt(text=text[:_SHOWN], before=before, after=after, is_whole=len(text) <= _SHOWN)
