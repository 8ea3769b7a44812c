"""Winnowed fingerprints: a few numbers of a text, so that equal passages have equal ones.

Specification: Schleimer, Wilkerson, Aiken: "Winnowing: Local Algorithms for Document
Fingerprinting" (SIGMOD 2003), with words instead of characters.

How it works: each run of `size` words has a number. Of each `window` of these numbers in a row, the
lowest is chosen. So every run of size + window - 1 equal words has at least one chosen number in
common, wherever it is: 15 words with runs of 6 in windows of 10, and 12 characters of scripts
without spaces with runs of 6 in windows of 7. A text that is shorter than a window has one
fingerprint, if it has one run. If a text repeats itself, so that a window has the lowest number
several times, only as many of its places are kept as the windows need.

A fingerprint has 40 bits, so that an index needs 5 bytes for it. Equal ones are a hint, not a find:
`extend_match` compares the words themselves.

What must stay true: the number that is chosen for a window depends on the window only, and a place
of that number in the window is kept.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from perdure.upkeep.quotations.words import FoldedWords, Numbers, mix_numbers

_PLACE_BITS = np.uint64(24)
_MOST_WORDS = (1 << 24) - 1
_STEP = np.uint64(0xD1342543DE82EF95)  # odd


class Winnowing(NamedTuple):
    """The length of a run, and the number of runs in a window."""

    size: int
    window: int

    @property
    def promise(self) -> int:
        """Every equal run of this many words is found."""
        return self.size + self.window - 1


WORDS = Winnowing(6, 10)
CHARACTERS = Winnowing(6, 7)


class Fingerprints(NamedTuple):
    """The fingerprints of a text in its order."""

    prints: Numbers
    """40 bits each."""
    places: NDArray[np.uint32]
    """The number of the first word of each run."""


class Match(NamedTuple):
    """Equal words: `length` of them from word `first` of a text and `second` of another."""

    first: int
    second: int
    length: int


def find_fingerprints(words: FoldedWords, rule: Winnowing = WORDS) -> Fingerprints:
    """Return the fingerprints of a text. Raises ValueError if it has more than 2^24 - 1 words."""
    if len(words.numbers) > _MOST_WORDS:
        raise ValueError(f"{len(words.numbers)} words are too many for one text")
    runs = number_runs(words, rule)
    count = len(runs)
    if not count:
        return Fingerprints(runs, np.empty(0, dtype=np.uint32))
    # the place is in the low bits, counted down, so that the last of equal runs is the lowest
    keys = runs >> _PLACE_BITS << _PLACE_BITS
    keys |= np.uint64(_MOST_WORDS) - np.arange(count, dtype=np.uint64)
    lowest = _find_lowest(keys, min(rule.window, count))
    chosen = lowest[np.append(True, lowest[1:] != lowest[:-1])]
    places = np.uint64(_MOST_WORDS) - (chosen & np.uint64(_MOST_WORDS))
    prints = chosen >> _PLACE_BITS
    kept = thin_repetitions(prints, places.astype(np.intp), rule)
    return Fingerprints(prints[kept], places[kept].astype(np.uint32))


def number_runs(words: FoldedWords, rule: Winnowing) -> Numbers:
    """Return the number of the run of words that begins at each word, in 64 bits. Those of a
    fingerprint are its high 40 bits.
    """
    count = max(len(words.numbers) - rule.size + 1, 0)
    runs = np.zeros(count, dtype=np.uint64)
    for at in range(rule.size):
        runs *= _STEP
        runs += words.numbers[at : at + count]
    return mix_numbers(runs)


def thin_repetitions(
    prints: Numbers, places: NDArray[np.intp], rule: Winnowing
) -> NDArray[np.bool_]:
    """Return which places are kept of those that have the same number, half a window apart at most.

    Of each such group these are the first of every half window, and the last. Two of them are less
    than a window apart, so that every window has one.
    """
    if not len(prints):
        return np.empty(0, dtype=bool)
    step = rule.window // 2
    begins = np.append(True, (prints[1:] != prints[:-1]) | (np.diff(places) > step))
    first = np.flatnonzero(begins)
    group = np.cumsum(begins) - 1
    turn = (places - places[first][group]) // step
    changes = begins.copy()
    changes[1:] |= turn[1:] != turn[:-1]
    kept: NDArray[np.bool_] = changes | np.append(begins[1:], True)
    return kept


def _find_lowest(keys: Numbers, window: int) -> Numbers:
    """Return the lowest key of each window of keys in a row."""
    lowest, width = keys, 1
    while width < window:
        step = min(width, window - width)
        lowest = np.minimum(lowest[:-step], lowest[step:])
        width += step
    return lowest


def extend_match(a: FoldedWords, first: int, b: FoldedWords, second: int) -> Match | None:
    """Return the longest run of equal words around word `first` of a text and word `second` of
    another, or None if these two words differ.
    """
    if a.numbers[first] != b.numbers[second]:
        return None
    back = _count_equal(a.numbers[:first][::-1], b.numbers[:second][::-1])
    forth = _count_equal(a.numbers[first:], b.numbers[second:])
    return Match(first - back, second - back, back + forth)


def _count_equal(a: Numbers, b: Numbers) -> int:
    """Return how many numbers two lists have in common at their beginning."""
    at, step, most = 0, 64, min(len(a), len(b))
    while at < most:
        stop = min(at + step, most)
        differs = np.flatnonzero(a[at:stop] != b[at:stop])
        if len(differs):
            return at + int(differs[0])
        at, step = stop, step * 2
    return most
