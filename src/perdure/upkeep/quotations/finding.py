"""Passages of a text that other held documents contain, too: found by fingerprints, then compared.

How it works: the fingerprints of the text are looked up in the index, which says in what stretches
of which documents they are. These stretches are read, and each place in them that has the same
fingerprint is a hit. Each hit is extended to the longest run of equal words, and these words are
compared as they are written in both texts, folded.
The text of a document comes through the read door, as the reader may read it. Of a long text, only
what is around a hit is folded, and more of it if the equal words reach the border.

What must stay true: what `PROMISE` says. A passage that is reported is in both texts. A document
that is withdrawn, or closed to the reader, is not reported. Nothing is written but the index.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from perdure.errors import PerdureError
from perdure.ids import parse
from perdure.model.queries import Fetch, Query, Reader
from perdure.registry import Registry
from perdure.upkeep.quotations.fingerprints import (
    CHARACTERS,
    WORDS,
    Match,
    Winnowing,
    extend_match,
    find_fingerprints,
    number_runs,
    thin_repetitions,
)
from perdure.upkeep.quotations.passage_index import KINDS, IndexedDocument, PassageIndex
from perdure.upkeep.quotations.runs import STRETCH, list_ranges
from perdure.upkeep.quotations.texts import ComparedText, open_compared_text
from perdure.upkeep.quotations.words import (
    NO_BREAKS,
    FoldedWords,
    Numbers,
    TextWords,
    cut_breaks,
    fold_text,
    mix_numbers,
    spell_words,
)

MOST_PLACES = 64
"""A fingerprint in more places than this is boilerplate."""
PROMISE = (
    f"every run of {WORDS.promise} equal words that is not boilerplate is found, and every run of "
    f"{CHARACTERS.promise} equal characters of scripts without spaces; boilerplate has "
    f"{WORDS.size} words in a row that are in more than {MOST_PLACES} places"
)
_WINDOW = 1 << 16  # characters that are folded around a hit at first
_GROWTH = 4  # a window that is too small grows by this factor
_SPACE = re.compile(r"\s")
_LONGEST_WORD = 1 << 12  # characters in which the border of a word is looked for


class FoundPassage(NamedTuple):
    """A passage of a text that a held document contains, too. Positions are code points."""

    start: int
    stop: int
    name: str
    """The document, with version and format."""
    their_start: int
    their_stop: int
    part: str | None
    """The part of the document that contains the passage, in the meaning that parts of its name
    have; None if it has no single part."""
    origin: int | None
    """The position of the passage in a citation by the document (ruling: citation-origin)."""
    words: int
    """Equal words, or characters of scripts without spaces."""
    day: str
    """The day on which the document was deposited."""


class _Hits(NamedTuple):
    """Words of a text, and stretches or characters of a document, with the same fingerprint."""

    words: NDArray[np.intp]
    places: NDArray[np.int64]
    """The numbers of stretches; after `_locate_hits`, characters."""


def find_passages(
    registry: Registry,
    index: PassageIndex,
    text: str,
    reader: Reader,
    *,
    breaks: NDArray[np.intp] = NO_BREAKS,
    without: str = "",
    note: Callable[[str, PerdureError], None] = lambda _name, _error: None,
) -> Iterator[FoundPassage]:
    """Yield the passages of a text that held documents contain, document by document.

    `breaks` are the places at which words of the text end although nothing divides them.
    `without` is the key of a record whose documents are not searched. `note` gets each document
    that could not be read. Raises ValueError if the text has more than 2^24 - 1 words.
    """
    ours = fold_text(text, breaks)
    for number, hits in _look_up(index, ours):
        document = index.find_document(number)
        if document is None or document.key == without:
            continue
        try:
            theirs = _open_document(registry, document, reader)
        except PerdureError as error:  # withdrawn, erased or closed since, or no longer readable
            note(document.name, error)
            continue
        if theirs is not None:
            yield from _compare_document(document, theirs, hits, _OurText(text, breaks, ours))


class _OurText(NamedTuple):
    """The text of which passages are searched."""

    text: str
    breaks: NDArray[np.intp]
    words: TextWords


def _look_up(index: PassageIndex, ours: TextWords) -> Iterator[tuple[int, dict[str, _Hits]]]:
    """Yield the number of each document that shares a fingerprint which is not boilerplate."""
    found = {kind: _group_hits(index, kind, getattr(ours, kind)) for kind in KINDS}
    for number in sorted(set().union(*found.values())):
        yield number, {kind: hits[number] for kind, hits in found.items() if number in hits}


def _group_hits(index: PassageIndex, kind: str, words: FoldedWords) -> dict[int, _Hits]:
    """Return the hits of each document, in the order of our words."""
    mine = find_fingerprints(words, KINDS[kind])
    order = np.argsort(mine.prints, kind="stable")
    prints, first, counts = np.unique(mine.prints[order], return_index=True, return_counts=True)
    found = index.find_places(kind, prints, most=MOST_PLACES)
    if not len(found.wanted):
        return {}
    wanted = found.wanted.astype(np.intp)
    each = counts[wanted]  # a fingerprint may be at several places of ours, too
    at = list_ranges(first[wanted], each)
    ours = mine.places[order][at].astype(np.intp)
    documents = np.repeat(found.documents, each)
    places = np.repeat(found.stretches, each).astype(np.int64)
    order = np.lexsort((places, ours, documents))
    ours, documents, places = ours[order], documents[order], places[order]
    borders = np.flatnonzero(np.diff(documents, prepend=-1, append=-1))
    return {
        int(documents[start]): _Hits(ours[start:stop], places[start:stop])
        for start, stop in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)
    }


def _open_document(
    registry: Registry, document: IndexedDocument, reader: Reader
) -> ComparedText | None:
    """Return the text of a document, unless it is not the one that was indexed.

    Raises the errors of resolving and of reading it.
    """
    resolved = registry.reading.resolve(Query(identifier=parse(document.name), reader=reader))
    step = resolved.require_step()
    if not isinstance(step, Fetch) or step.representation.sha512 != document.sha512:
        return None
    source = registry.documents.open_source(step.identifier, step.representation)
    return open_compared_text(registry.parts, source)


def _compare_document(
    document: IndexedDocument,
    theirs: ComparedText,
    hits: dict[str, _Hits],
    ours: _OurText,
) -> Iterator[FoundPassage]:
    """Yield the passages of a document that are equal."""
    for kind, found in hits.items():
        rule = KINDS[kind]
        mine: FoldedWords = getattr(ours.words, kind)
        reading = _WindowedWords(theirs, kind)
        located = _locate_hits(mine, reading, found, rule)
        for match in _extend_hits(mine, reading, located, rule):
            start, stop = _measure(mine, match.first, match.length)
            their_start, their_stop = reading.measure(match.second, match.length)
            one = spell_words(ours.text[start:stop], cut_breaks(ours.breaks, start, stop))
            there = theirs.list_breaks(their_start, their_stop)
            if one != spell_words(theirs.cut(their_start, their_stop), there):
                continue
            yield FoundPassage(
                start=start,
                stop=stop,
                name=document.name,
                their_start=their_start,
                their_stop=their_stop,
                part=theirs.find_part(parse(document.name), their_start, their_stop),
                origin=theirs.find_origin(their_start, their_stop),
                words=match.length,
                day=document.day,
            )


def _measure(words: FoldedWords, first: int, length: int) -> tuple[int, int]:
    """Return the characters of words in a row."""
    return int(words.starts[first]), int(words.stops[first + length - 1])


class _WindowedWords:
    """The words of a text around the places that are asked about."""

    def __init__(self, text: ComparedText, kind: str) -> None:
        self._text = text
        self._kind = kind
        self._size = _WINDOW
        self._start = self._stop = 0
        self.words = FoldedWords(*(np.empty(0, dtype=kind) for kind in ("u8", "u4", "u4")))

    def find_word(self, place: int) -> int | None:
        """Return the number of the word that begins at a character, in the window around it."""
        if not self._start <= place < self._stop or self._is_near_border(place):
            self._move_to(place)
        at = int(np.searchsorted(self.words.starts, place - self._start))
        if at < len(self.words.starts) and int(self.words.starts[at]) == place - self._start:
            return at
        return None

    def show_stretches(self, first: int, rule: Winnowing) -> NDArray[np.intp]:
        """Move the window to a stretch. Return the number of its first word, of the first word of
        each next stretch, as far as they are complete in the window, and of the last one's end.

        A stretch is complete if each run of words that begins in it is in the window.
        """
        start = first * STRETCH
        self._move_to(start)
        while (last := self._find_last_stretch(rule)) < first and self._stop < self._text.length:
            self.enlarge(start)
        borders = np.arange(first, max(last, first) + 2, dtype=np.int64) * STRETCH - self._start
        return np.searchsorted(self.words.starts, borders)

    def _find_last_stretch(self, rule: Winnowing) -> int:
        """Return the last stretch that is complete in the window, or -1."""
        if self._stop == self._text.length:
            return self._stop // STRETCH
        runs = len(self.words.starts) - rule.size + 1
        if runs < 1:
            return -1
        return (int(self.words.starts[runs - 1]) + self._start) // STRETCH - 1

    def find_start(self, word: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return the first characters of words of the window."""
        return self.words.starts[word].astype(np.int64) + self._start

    def enlarge(self, place: int) -> None:
        """Fold more of the text around a place."""
        self._size *= _GROWTH
        self._move_to(place)

    def reaches_border(self, match: Match) -> bool:
        """Return True if more words may be equal outside the window."""
        end = match.second + match.length
        return (not match.second and self._start > 0) or (
            end == len(self.words.starts) and self._stop < self._text.length
        )

    def measure(self, first: int, length: int) -> tuple[int, int]:
        """Return the characters of words in a row."""
        start, stop = _measure(self.words, first, length)
        return start + self._start, stop + self._start

    def _is_near_border(self, place: int) -> bool:
        margin = self._size // 8
        return (self._start > 0 and place - self._start < margin) or (
            self._stop < self._text.length and self._stop - place < margin
        )

    def _move_to(self, place: int) -> None:
        self._start = max(place - self._size // 4, 0)
        self._stop = min(place + self._size - self._size // 4, self._text.length)
        written = self._text.cut(self._start, self._stop)
        if self._start:
            border = _SPACE.search(written, 0, _LONGEST_WORD)
            skipped = border.end() if border else 0
            self._start, written = self._start + skipped, written[skipped:]
        if self._stop < self._text.length:
            tail = written[-_LONGEST_WORD:]
            kept = max(tail.rfind(" "), tail.rfind("\n"))
            if kept > 0:
                written = written[: len(written) - len(tail) + kept]
                self._stop = self._start + len(written)
        breaks = self._text.list_breaks(self._start, self._start + len(written))
        self.words = getattr(fold_text(written, breaks), self._kind)


def _locate_hits(mine: FoldedWords, theirs: _WindowedWords, hits: _Hits, rule: Winnowing) -> _Hits:
    """Return the hits with the character at which each begins, instead of its stretch.

    A stretch may have the same words at several places. Each of them is a hit.
    """
    fresh = np.diff(hits.words, prepend=-1).astype(bool) | np.diff(hits.places, prepend=-1).astype(
        bool
    )
    words = hits.words[fresh]
    wanted = _mark_runs(number_runs(mine, rule)[words], hits.places[fresh])
    found = list(_find_marks(theirs, np.unique(hits.places), np.unique(wanted), rule))
    marks = np.concatenate([one[0] for one in found])
    order = np.argsort(marks, kind="stable")
    places = np.concatenate([one[1] for one in found])[order]
    starts = np.searchsorted(marks, wanted, "left", order)
    counts = np.searchsorted(marks, wanted, "right", order) - starts
    return _Hits(np.repeat(words, counts), places[list_ranges(starts, counts)])


def _find_marks(
    theirs: _WindowedWords, stretches: NDArray[np.int64], wanted: Numbers, rule: Winnowing
) -> Iterator[tuple[Numbers, NDArray[np.int64]]]:
    """Yield the marks that are wanted, and the characters at which they are, in stretches."""
    while len(stretches):
        first = int(stretches[0])
        borders = theirs.show_stretches(first, rule)
        count = int(np.searchsorted(stretches, first + len(borders) - 1))
        inside = stretches[:count] - first
        there = list_ranges(borders[inside], borders[inside + 1] - borders[inside])
        runs = number_runs(theirs.words, rule)
        there = there[there < len(runs)]
        places = theirs.find_start(there)
        marks = _mark_runs(runs[there], places // STRETCH)
        same = np.flatnonzero(np.isin(marks, wanted))
        kept = same[thin_repetitions(marks[same], there[same], rule)]
        yield marks[kept], places[kept]
        stretches = stretches[count:]


def _mark_runs(runs: Numbers, stretches: NDArray[np.int64]) -> Numbers:
    """Return numbers that are equal if the runs of words are, and the stretches they begin in."""
    return mix_numbers(runs + stretches.astype(np.uint64))


def _extend_hits(
    mine: FoldedWords, theirs: _WindowedWords, hits: _Hits, rule: Winnowing
) -> Iterator[Match]:
    """Yield each longest run of equal words once, if it is as long as promised.

    The second word of a match is one of the window as it is when the match is yielded.
    """
    left = np.ones(len(hits.words), dtype=bool)
    for number in np.argsort(hits.places, kind="stable").tolist():
        if not left[number]:
            continue
        here, place = int(hits.words[number]), int(hits.places[number])
        match = _extend_hit(mine, here, theirs, place)
        if match is None:
            continue
        inside = (hits.words >= match.first) & (hits.words < match.first + match.length)
        same = theirs.words.starts[match.second - match.first + hits.words[inside]]
        shift = place - int(theirs.words.starts[match.second - match.first + here])
        left[np.flatnonzero(inside)[same + shift == hits.places[inside]]] = False
        if match.length >= rule.promise:
            yield match


def _extend_hit(mine: FoldedWords, here: int, theirs: _WindowedWords, place: int) -> Match | None:
    """Return the longest run of equal words around a hit, or None if its words differ."""
    while True:
        there = theirs.find_word(place)
        if there is None:
            return None
        match = extend_match(mine, here, theirs.words, there)
        if match is None or not theirs.reaches_border(match):
            return match
        theirs.enlarge(place)
