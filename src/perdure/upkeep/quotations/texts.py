"""The text of a document that is compared: cut anywhere, with the parts that contain its passages.

How it works: most texts are complete in memory (`perdure.extractors.plain_text`). A plain text of
any length is read in stretches from the file, by its index.

What must stay true: both have the same characters at the same places.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from perdure.errors.limits import PlainTextTooLong
from perdure.extractors.plain_text import (
    LARGEST,
    LongText,
    PlainText,
    SlicedText,
    list_breaks,
)
from perdure.extractors.port import Indexes, Source
from perdure.extractors.text.characters import find_characters
from perdure.ids import Identifier, scheme_of
from perdure.parts import CharRange, select_part
from perdure.reading.citations.origins import Medium, find_medium, locate_origin
from perdure.reading.extraction import PartExtraction
from perdure.reading.media_places import write_place
from perdure.reading.text_places import choose_passage
from perdure.upkeep.quotations.fingerprints import (
    CHARACTERS,
    WORDS,
    Fingerprints,
    Winnowing,
    find_fingerprints,
)
from perdure.upkeep.quotations.words import NO_BREAKS, FoldedWords, cut_breaks, fold_text

_STRETCH = 4 << 20  # characters that are fingerprinted at once
_OVERLAP = 16 << 10  # characters of the stretch before that are read again
_LONGEST = (1 << 32) - 1  # characters of a text, so that a place has 4 bytes


class ComparedText(Protocol):
    """A text of a known length. Positions are code points."""

    @property
    def length(self) -> int: ...

    def cut(self, start: int, stop: int) -> str:
        """Return the characters [start, stop)."""

    def list_breaks(self, start: int, stop: int) -> NDArray[np.intp]:
        """Return the places inside them, from their first, at which words end although nothing
        divides them.
        """

    def find_part(self, name: Identifier, start: int, stop: int) -> str | None:
        """Return the part of a document that contains them, in the meaning that parts of this name
        have (ruling: part-meaning); None if no single part does.
        """

    def find_origin(self, start: int, stop: int) -> int | None:
        """Return the position of them in a citation (ruling: citation-origin)."""


class CompleteText(NamedTuple):
    """A text in memory."""

    plain: PlainText
    breaks: NDArray[np.intp]
    source: Source
    indexes: Indexes

    @property
    def length(self) -> int:
        return len(self.plain.text)

    def cut(self, start: int, stop: int) -> str:
        return self.plain.text[start:stop]

    def list_breaks(self, start: int, stop: int) -> NDArray[np.intp]:
        return cut_breaks(self.breaks, start, stop)

    def find_part(self, name: Identifier, start: int, stop: int) -> str | None:
        if isinstance(self.plain, SlicedText) and _is_canonical(name, self.source):
            span = self.plain.find_span(start, stop)
            return str(find_characters(self.source, span, self.indexes))
        has_own_parts = bool(scheme_of(name).part_mark)
        selector = choose_passage(self.plain, start, stop, has_own_parts=has_own_parts)
        return None if selector is None else write_place(selector, has_own_parts=has_own_parts)

    def find_origin(self, start: int, stop: int) -> int | None:
        place = locate_origin(self.source, self.plain, start, stop, self.indexes)
        return None if place is None else place.start


class StoredText(NamedTuple):
    """A text that is read in stretches."""

    stored: LongText
    source: Source
    indexes: Indexes

    @property
    def length(self) -> int:
        return self.stored.length

    def cut(self, start: int, stop: int) -> str:
        return self.stored.read_characters(start, stop)

    def list_breaks(self, start: int, stop: int) -> NDArray[np.intp]:
        return cut_breaks(NO_BREAKS, start, stop)  # as it is read, all words are divided

    def find_part(self, name: Identifier, start: int, stop: int) -> str | None:
        if _is_canonical(name, self.source):
            span = self.stored.find_span(start, stop)
            return str(find_characters(self.source, span, self.indexes))
        return str(self.stored.select_part(start, stop))

    def find_origin(self, start: int, stop: int) -> int | None:
        span = self.stored.find_span(start, stop)
        return find_characters(self.source, span, self.indexes).start


def _is_canonical(name: Identifier, source: Source) -> bool:
    """Return True if `#char=` of a name counts the characters of canonical text."""
    if find_medium(source.essence) is not Medium.TEXT:
        return False
    named = name.whole.with_part("char=0,1")
    return named is not None and isinstance(select_part(named, source.essence), CharRange)


def open_compared_text(parts: PartExtraction, source: Source) -> ComparedText | None:
    """Return the text of a source, or None if it has none.

    Raises the errors of reading it; PlainTextTooLong if it is too long to be in memory, and not a
    plain text.
    """
    long = parts.open_long_text(source) if source.length > LARGEST else None
    if long is None:
        plain = parts.read_text(source)  # raises, if it is too long
        if plain is None:
            return None
        return CompleteText(plain, read_breaks(list_breaks(plain)), source, parts.indexes)
    if long.length > _LONGEST:
        raise PlainTextTooLong(source=source.name, most=_LONGEST)
    return StoredText(long, source, parts.indexes)


def read_breaks(breaks: Sequence[int]) -> NDArray[np.intp]:
    """Return the breaks of a text as `perdure.upkeep.quotations.words` reads them."""
    return np.unique(np.asarray(breaks, dtype=np.intp)) if len(breaks) else NO_BREAKS


class TextPrints(NamedTuple):
    """The fingerprints of a text. Places are its characters."""

    words: Fingerprints
    characters: Fingerprints


def list_prints(text: ComparedText) -> TextPrints:
    """Return the fingerprints of a text of any length.

    A long one is read in stretches that overlap by more than a window, so that the choice is the
    same as in one piece, or has a few more.
    """
    found = [
        _find_prints(written, start, text.list_breaks(start, start + len(written)))
        for written, start in _read_stretches(text)
    ]
    return TextPrints(_join([one.words for one in found]), _join([one.characters for one in found]))


def _read_stretches(text: ComparedText) -> Iterator[tuple[str, int]]:
    """Yield stretches of a text, with their places. Only white space is between two of them."""
    start = 0
    while start < text.length or not start:
        written = text.cut(start, start + _STRETCH)
        if start + len(written) >= text.length:
            yield written, start
            return
        stop = _find_border(written, len(written))
        yield written[:stop], start
        start += _find_border(written, stop - _OVERLAP)


def _find_border(written: str, before: int) -> int:
    """Return the last place before another at which a text can be divided between two words."""
    at = max(written.rfind(" ", 0, before), written.rfind("\n", 0, before))
    return at if at > before // 2 else before


def _find_prints(written: str, offset: int, breaks: NDArray[np.intp]) -> TextPrints:
    folded = fold_text(written, breaks)
    return TextPrints(
        _place_prints(folded.words, WORDS, offset),
        _place_prints(folded.characters, CHARACTERS, offset),
    )


def _place_prints(words: FoldedWords, rule: Winnowing, offset: int) -> Fingerprints:
    """Return fingerprints with their first characters instead of their first words."""
    found = find_fingerprints(words, rule)
    places = words.starts[found.places].astype(np.uint64) + np.uint64(offset)
    return Fingerprints(found.prints, places.astype(np.uint32))


def _join(found: list[Fingerprints]) -> Fingerprints:
    if len(found) == 1:
        return found[0]
    prints = np.concatenate([one.prints for one in found])
    places = np.concatenate([one.places for one in found])
    order = np.lexsort((prints, places))
    prints, places = prints[order], places[order]
    fresh = np.ones(len(prints), dtype=bool)
    fresh[1:] = (places[1:] != places[:-1]) | (prints[1:] != prints[:-1])
    return Fingerprints(prints[fresh], places[fresh])
