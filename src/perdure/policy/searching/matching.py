"""The places of words in a text, and the passages that show them. Pure.

How it works: a text is folded, and terms are searched in it by regular expressions. A place in the
folded text is mapped back through a table of blocks. `choose_passages` takes the passages that show
the most terms on the least text, the first ones if they are equal.

What must stay true: a word is found here exactly if an index of the folded text finds it
(`perdure.upkeep.searching.text_index`). Everything takes time in proportion to the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, islice, pairwise
from typing import NamedTuple

from perdure.model.folding import fold_words
from perdure.policy.searching.query import INSIDE, SearchQuery, Term

MOST_PASSAGES = 3
MOST_HITS = 4
"""In a passage."""
_SPAN = 160  # characters between the first and the last hit of a passage
_AROUND = 60  # characters before the first hit and after the last
_MOST_PLACES = 500  # of a term that are looked at
_BLOCK = 1024  # characters
_INSIDE, _BETWEEN = f"[{INSIDE}]", f"[^{INSIDE}]+"


class Place(NamedTuple):
    """Code points [start, stop) of a text."""

    start: int
    stop: int


class HitWindow(NamedTuple):
    """A piece of a text, and the places of the words in it."""

    start: int
    stop: int
    hits: tuple[Place, ...]


class SearchedText:
    """A text, its folded form, and the way back."""

    def __init__(self, text: str, breaks: Sequence[int] = ()) -> None:
        """`breaks` are places at which a word ends, in order, although nothing divides it there: a
        paragraph of a page begins.
        """
        self.text = text
        self._is_plain = not breaks and text.isascii()
        if self._is_plain:
            self.folded = fold_words(text)
            return
        ends = sorted({*breaks, *range(_BLOCK, len(text), _BLOCK), len(text)} - {0})
        self._borders = [0, *ends]
        divided = frozenset(breaks)
        pieces = [
            (" " if start in divided else "") + fold_words(text[start:stop])
            for start, stop in pairwise(self._borders)
        ]
        self._starts = [0, *accumulate(map(len, pieces))]
        self._divided = divided
        self.folded = "".join(pieces)

    def has_term(self, term: Term) -> bool:
        """Return True if a term occurs."""
        return _compile_term(term).search(self.folded) is not None

    def find_folded(self, term: Term) -> Iterator[Place]:
        """Yield the places of a term in the folded text, in order."""
        for found in _compile_term(term).finditer(self.folded):
            yield Place(*found.span())

    def map_back(self, place: Place) -> Place:
        """Return the place in the text of a place in the folded text."""
        if self._is_plain:
            return place
        start, stop = self._find_character(place.start), self._find_character(place.stop - 1)
        return Place(start, self._skip_marks(stop))

    def _find_character(self, place: int) -> int:
        """Return the character whose folded form is at a place."""
        piece = bisect_right(self._starts, place) - 1
        border = self._borders[piece]
        at = self._starts[piece] + (border in self._divided)
        for number in range(border, len(self.text)):
            at += len(fold_words(self.text[number]))
            if at > place:
                return number
        return len(self.text) - 1

    def _skip_marks(self, last: int) -> int:
        """Return the end of a character, with the marks on it."""
        stop = last + 1
        while stop < len(self.text) and not fold_words(self.text[stop]):
            stop += 1
        return stop


@lru_cache(maxsize=256)
def _compile_term(term: Term) -> re.Pattern[str]:
    words = _BETWEEN.join(map(re.escape, term.tokens))
    end = f"{_INSIDE}*" if term.is_prefix else f"(?!{_INSIDE})"
    return re.compile(f"(?<!{_INSIDE}){words}{end}")


def matches_query(texts: Sequence[SearchedText], query: SearchQuery) -> bool:
    """Return True if every term of a query occurs in one of the texts, and no excluded one."""
    return all(any(one.has_term(term) for one in texts) for term in query.terms) and not any(
        one.has_term(term) for term in query.excluded for one in texts
    )


def choose_passages(text: SearchedText, terms: Sequence[Term]) -> list[HitWindow]:
    """Return the passages of a text that show terms, in order: at most `MOST_PASSAGES`."""
    found = [islice(text.find_folded(term), _MOST_PLACES) for term in terms]
    places = sorted((place, number) for number, some in enumerate(found) for place in some)
    shown: set[int] = set()
    chosen: list[tuple[int, int]] = []
    while len(chosen) < MOST_PASSAGES:
        window = _choose_window(places, shown, chosen)
        if window is None:
            break
        chosen.append(window)
        shown |= {number for _, number in places[slice(*window)]}
    return [
        _make_passage(text, [place for place, _ in places[first:last]])
        for first, last in sorted(chosen)
    ]


def _choose_window(
    places: Sequence[tuple[Place, int]], shown: set[int], chosen: Sequence[tuple[int, int]]
) -> tuple[int, int] | None:
    """Return the range of places that shows the most terms that are not shown yet.

    The first passage is always given; a further one only if it shows a further term.
    """
    best, most = None, 0
    last = 0
    counts: dict[int, int] = {}
    for first, (place, number) in enumerate(places):
        while last < len(places) and places[last][0].stop - place.start <= _SPAN:
            counts[places[last][1]] = counts.get(places[last][1], 0) + 1
            last += 1
        if last <= first:  # a single place that is longer
            last = first + 1
            counts[number] = counts.get(number, 0) + 1
        fresh = len(counts.keys() - shown)
        overlaps = any(first < end and begin < last for begin, end in chosen)
        if fresh > most and not overlaps:
            best, most = (first, last), fresh
        counts[number] -= 1
        if not counts[number]:
            del counts[number]
    return best


def _make_passage(folded: SearchedText, places: Sequence[Place]) -> HitWindow:
    """Return the passage around some folded places, which begins and ends between words."""
    hits: list[Place] = []
    for place in places:  # in order; those that overlap are one
        if hits and place.start < hits[-1].stop:
            hits[-1] = Place(hits[-1].start, max(hits[-1].stop, place.stop))
        else:
            hits.append(place)
    text = folded.text
    shown = tuple(map(folded.map_back, hits[:MOST_HITS]))
    start, stop = max(shown[0].start - _AROUND, 0), min(shown[-1].stop + _AROUND, len(text))
    if start:
        gap = _find_gap(text, start, shown[0].start)
        start = start if gap is None else gap + 1
    if stop < len(text):
        gap = _find_gap_before(text, shown[-1].stop, stop)
        stop = stop if gap is None else gap
    return HitWindow(start, stop, shown)


def _find_gap(text: str, start: int, stop: int) -> int | None:
    return next((at for at in range(start - 1, stop) if text[at].isspace()), None)


def _find_gap_before(text: str, start: int, stop: int) -> int | None:
    return next((at for at in range(stop, start - 1, -1) if text[at].isspace()), None)
