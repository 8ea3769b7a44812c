"""A number for how well a document fits the words of a search, for SQLite's FTS5.

How it works: it is the sum over the words of BM25 with field weights (Robertson, Zaragoza and
Taylor, "Simple BM25 Extension to Multiple Weighted Fields", 2004), with `k1` and `b` as FTS5 has
them. Its two statistics of the collection are constants: the mean length, and the weight of a
word by its rarity. Every document that is found contains every word, so rarity would only weigh the
words against one another.

What must stay true: the number depends on the words and on this document alone. So a document that
a reader may not see has no effect on the order, and numbers of different volumes can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

FUNCTION = "perdure_rank"
"""The name of the function in SQL; its argument is the hidden column of a volume."""
MOST = 10_000
"""Documents that are ranked: the newest of those that are found. It takes about 20 ms."""
_WEIGHTS = {"text": 1.0, "title": 10.0, "people": 8.0, "metadata": 4.0}
_K1, _B = 1.2, 0.75
_MEAN_LENGTH = 1000  # words


class FoundRow(Protocol):
    """A row of FTS5 that was found, as its extension API shows it."""

    @property
    def phrase_count(self) -> int: ...

    def column_size(self, col: int = -1) -> int: ...

    def phrase_columns(self, phrase: int, /) -> Sequence[int]: ...

    def phrase_column_offsets(self, phrase: int, column: int, /) -> Sequence[int]: ...


def make_ranking(fields: Sequence[str]) -> Callable[..., float]:
    """Make the function that ranks a row. `fields` are the columns of a volume."""
    weights = tuple(_WEIGHTS[field] for field in fields)

    def rank_document(found: FoundRow, *_: object) -> float:
        length = found.column_size()
        return sum(
            saturate_frequency(_weigh_word(found, number, weights), length)
            for number in range(found.phrase_count)
        )

    return rank_document


def _weigh_word(found: FoundRow, number: int, weights: Sequence[float]) -> float:
    """Return how often a document has a word, weighted by the fields in which it is."""
    return sum(
        weights[column] * len(found.phrase_column_offsets(number, column))
        for column in found.phrase_columns(number)
    )


def saturate_frequency(frequency: float, length: int) -> float:
    """The share of one word in the rank of a document with this many words.

    Each further occurrence counts less, and less in a long document.

    >>> [round(saturate_frequency(times, 1000), 2) for times in (0, 1, 2, 10)]
    [0.0, 1.0, 1.38, 1.96]
    >>> saturate_frequency(1, 100) > saturate_frequency(1, 1000) > saturate_frequency(1, 10_000)
    True
    """
    return frequency * (_K1 + 1) / (frequency + _K1 * (1 - _B + _B * length / _MEAN_LENGTH))
