"""Words of a text as numbers: equal words have equal numbers, however they are written.

How it works: each character has a class and a folded form (`perdure.model.folding`). Tables with an
entry per code point have them, and are filled page by page when a text first has a character of the
page. A word is a run of letters and digits; it also ends where a block of a page begins or ends,
although nothing divides it there (`perdure.extractors.plain_text.list_breaks`). A character of a
script without spaces (Han, Kana, Thai …) is a word of its own, in a list of its own. The number of
a word is a polynomial of its folded characters modulo 2^64, mixed.

What must stay true: the number of a word depends on the word only, not on its place. Everything is
pure and takes time and memory in proportion to the text. Different words may have equal numbers, by
chance in 2^64: what is found by them is compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from perdure.model.folding import MOST_FOLDED, Kind, classify_character, fold_character

Numbers = NDArray[np.uint64]
Places = NDArray[np.uint32]

_BLOCK = 1 << 17  # characters that are folded at once
_LONGEST = 1 << 16  # characters of a word; a longer one is divided
_PAGE = 1 << 8  # code points
_POINTS = 0x110000
_LETTER, _ALONE, _IGNORED = Kind.LETTER, Kind.ALONE, Kind.IGNORED
_SEPARATOR = Kind.SEPARATOR
_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd, so that it has an inverse modulo 2^64
_SPACE = re.compile(r"\s")
NO_BREAKS: NDArray[np.intp] = np.empty(0, dtype=np.intp)
"""The places at which words end of a text in which something divides all words."""


class FoldedWords(NamedTuple):
    """The words of a text in order: their numbers, and where each is in the text."""

    numbers: Numbers
    starts: Places
    """Code points."""
    stops: Places


class TextWords(NamedTuple):
    """A text as words of letters, and as characters of scripts without spaces."""

    words: FoldedWords
    characters: FoldedWords


class _Spelling(dict[int, str]):
    """The folded form of each code point in a text of words with blanks between them."""

    def __missing__(self, point: int) -> str:
        character = chr(point)
        kind = classify_character(character)
        form = "" if kind is Kind.IGNORED else fold_character(character)
        if kind is Kind.SEPARATOR:
            form = " "
        elif kind is Kind.ALONE and form:
            form = f" {form} "
        self[point] = form
        return form


_spelling = _Spelling()


def spell_words(text: str, breaks: NDArray[np.intp] = NO_BREAKS) -> list[str]:
    """Return the words of a text as they are written, folded, one after the other. `breaks` are
    those of `fold_text`.

    >>> spell_words("Änd\u0301 the 永遠")
    ['and', 'the', '永', '遠']
    """
    if len(breaks):
        text = " ".join(text[start:stop] for start, stop in pairwise([0, *breaks.tolist(), None]))
    return text.translate(_spelling).split()


def fold_text(text: str, breaks: NDArray[np.intp] = NO_BREAKS) -> TextWords:
    """Return the words of a text. `breaks` are the places, in order, at which words end although
    nothing divides them.
    """
    found = []
    for start, stop in _list_blocks(text):
        inside = cut_breaks(breaks, start, stop)
        found.append(_fold_block(text[start:stop], start, inside))
    return TextWords(_join([one.words for one in found]), _join([one.characters for one in found]))


def cut_breaks(breaks: NDArray[np.intp], start: int, stop: int) -> NDArray[np.intp]:
    """Return the breaks inside characters [start, stop) of a text, counted from the first."""
    if not len(breaks):  # most texts
        return breaks
    low, high = np.searchsorted(breaks, (start, stop), side="left")
    found: NDArray[np.intp] = breaks[low:high] - start
    return found[found > 0]


# tables
# ------


class _Tables:
    """The class and the folded form of every code point that was met."""

    def __init__(self) -> None:
        self.known = np.zeros(_POINTS // _PAGE, dtype=bool)
        self.classes = np.zeros(_POINTS, dtype=np.uint8)
        self.folded = np.zeros(_POINTS, dtype=np.uint32)
        """The first folded character."""
        self.lengths = np.ones(_POINTS, dtype=np.uint8)
        """How many folded characters there are."""
        self.more = np.zeros(_POINTS * (MOST_FOLDED - 1), dtype=np.uint32)
        """The other folded characters, in rows."""

    def learn_pages(self, points: NDArray[np.intp]) -> None:
        pages = np.flatnonzero(np.bincount(points >> 8, minlength=1))
        for page in pages[~self.known[pages]].tolist():
            for point in range(page * _PAGE, (page + 1) * _PAGE):
                self._learn_character(point)
            self.known[page] = True

    def _learn_character(self, point: int) -> None:
        character = chr(point)
        kind = classify_character(character)
        form = fold_character(character) if kind in (_LETTER, _ALONE) else ""
        if kind in (_LETTER, _ALONE) and not form:
            kind = _IGNORED  # a sound mark that is written as a letter
        self.classes[point] = kind
        self.lengths[point] = max(len(form), 1)
        row = point * (MOST_FOLDED - 1)
        for at, one in enumerate(form):
            if at == 0:
                self.folded[point] = ord(one)
            else:
                self.more[row + at - 1] = ord(one)


@cache
def _tables() -> _Tables:
    return _Tables()


@cache
def _powers() -> tuple[Numbers, Numbers]:
    """Return the powers of the base, and their inverses."""
    count = MOST_FOLDED * (_BLOCK + _LONGEST)
    inverse = np.uint64(pow(int(_BASE), -1, 1 << 64))
    rows = []
    for base in (_BASE, inverse):
        powers = np.full(count, base, dtype=np.uint64)
        powers[0] = 1
        rows.append(np.cumprod(powers, dtype=np.uint64))
    return rows[0], rows[1]


# blocks
# ------


def _list_blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield ranges of a text that end between words."""
    start = 0
    while start < len(text):
        stop = start + _BLOCK
        found = _SPACE.search(text, stop, stop + _LONGEST)
        stop = min(found.start() if found else stop + _LONGEST, len(text))
        yield start, stop
        start = stop


def _fold_block(text: str, offset: int, breaks: NDArray[np.intp]) -> TextWords:
    if text.isascii():
        data = text.encode("ascii")
        letters, forms = _ascii_tables()
        kept = np.frombuffer(data.translate(letters), dtype=bool)
        return _cut_words(_Block(kept, None, _widen(data.translate(forms)), offset, breaks))
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.intp)
    tables = _tables()
    tables.learn_pages(points)
    classes = tables.classes[points]
    alone = classes == _ALONE
    kept = (classes == _LETTER) | alone
    if (classes == _IGNORED).any() or tables.lengths[points].max() > 1:
        return _cut_slowly(points, classes, tables, offset, breaks)
    folded = tables.folded[points].astype(np.uint64)
    return _cut_words(_Block(kept, alone, folded, offset, breaks))


@cache
def _ascii_tables() -> tuple[bytes, bytes]:
    """Return tables for `bytes.translate`: which characters are letters, and their folded forms."""
    points = range(128)
    tables = _tables()
    tables.learn_pages(np.arange(128))
    letters = bytes(int(tables.classes[point]) == _LETTER for point in points)
    forms = bytes(int(tables.folded[point]) for point in points)
    return letters.ljust(256, b"\0"), forms.ljust(256, b"\0")


def _widen(data: bytes) -> Numbers:
    return np.frombuffer(data, dtype=np.uint8).astype(np.uint64)


class _Block(NamedTuple):
    """Characters of which each has one folded form, which is 0 for a separator."""

    kept: NDArray[np.bool_]
    alone: NDArray[np.bool_] | None
    """None if the block has only words of letters."""
    folded: Numbers
    offset: int
    breaks: NDArray[np.intp]


def _cut_words(block: _Block) -> TextWords:
    """Return the words of a block: a word ends before a separator, and at a break."""
    kept, alone, folded, offset, breaks = block
    begins, ends = kept.copy(), kept.copy()
    begins[1:] &= ~kept[:-1]
    ends[:-1] &= ~kept[1:]
    if alone is not None:
        begins[1:] |= kept[1:] & (alone[1:] | alone[:-1])
        ends[:-1] |= kept[:-1] & (alone[1:] | alone[:-1])
    if len(breaks):
        begins[breaks] |= kept[breaks]
        ends[breaks - 1] |= kept[breaks - 1]
    first = np.flatnonzero(begins)
    if not len(first):
        return TextWords(_join([]), _join([]))
    starts = (first + offset).astype(np.uint32)
    stops = (np.flatnonzero(ends) + 1 + offset).astype(np.uint32)
    words = FoldedWords(_number_words(folded, first), starts, stops)
    if alone is None or not alone.any():
        return TextWords(words, _join([]))
    return _separate(words, alone[first])


def _cut_slowly(
    points: NDArray[np.intp],
    classes: NDArray[np.uint8],
    tables: _Tables,
    offset: int,
    breaks: NDArray[np.intp],
) -> TextWords:
    """Do the same if some characters are ignored, or have several folded forms."""
    kept = np.flatnonzero((classes == _LETTER) | (classes == _ALONE))
    if not len(kept):
        return TextWords(_join([]), _join([]))
    alone = classes[kept] == _ALONE
    divides = classes == _SEPARATOR
    divides[breaks] = True
    separators = np.cumsum(divides, dtype=np.uint32)[kept]
    begins = np.ones(len(kept), dtype=bool)
    begins[1:] = (separators[1:] != separators[:-1]) | alone[1:] | alone[:-1]
    first = np.flatnonzero(begins)
    last = np.append(first[1:], len(kept)) - 1
    starts = (kept[first] + offset).astype(np.uint32)
    stops = (kept[last] + 1 + offset).astype(np.uint32)
    folded, places = _fold_points(points[kept], first, tables)
    numbers = _number_words(folded.astype(np.uint64), places)
    return _separate(FoldedWords(numbers, starts, stops), alone[first])


def _separate(words: FoldedWords, alone: NDArray[np.bool_]) -> TextWords:
    return TextWords(_choose_words(words, ~alone), _choose_words(words, alone))


def _choose_words(words: FoldedWords, chosen: NDArray[np.bool_]) -> FoldedWords:
    return FoldedWords(words.numbers[chosen], words.starts[chosen], words.stops[chosen])


def _number_words(folded: Numbers, first: NDArray[np.intp]) -> Numbers:
    """Return the number of each word. `first` has the place of its first character."""
    powers, inverses = _powers()
    sums = np.add.reduceat(folded * powers[: len(folded)], first) * inverses[first]
    return mix_numbers(sums)


def _fold_points(
    points: NDArray[np.intp], first: NDArray[np.intp], tables: _Tables
) -> tuple[NDArray[np.uint32], NDArray[np.intp]]:
    """Return folded characters, and the places of the first of each word in them."""
    folded, lengths = tables.folded[points], tables.lengths[points]
    begins = np.cumsum(lengths, dtype=np.intp) - lengths
    opened = np.repeat(folded, lengths)
    for at in range(1, MOST_FOLDED):
        longer = lengths > at
        rows = points[longer] * (MOST_FOLDED - 1) + at - 1
        opened[begins[longer] + at] = tables.more[rows]
    return opened, begins[first]


def mix_numbers(numbers: Numbers) -> Numbers:
    """Return numbers whose bits all depend on all bits of the given ones (SplitMix64)."""
    mixed = numbers ^ (numbers >> np.uint64(30))
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def _join(found: list[FoldedWords]) -> FoldedWords:
    if not found:
        none = np.empty(0, dtype=np.uint32)
        return FoldedWords(np.empty(0, dtype=np.uint64), none, none)
    return FoldedWords(*(np.concatenate(column) for column in zip(*found, strict=True)))
