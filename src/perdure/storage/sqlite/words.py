"""The words of numbered changes in the registry file: acts and actors, each stored once.

How it works: a change names its act and its actor by the numbers of these rows. The index of the
table has each text a second time, so that a damaged row can be found again (`lost_words`).

What must stay true: a word without its checksum is never taken for what was written.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from perdure.storage.sqlite.sums import sum_values

Ask = Callable[[str, tuple[str | int | None, ...]], list[Any]]
"""Queries the registry file."""
_HAS_SUM = "SELECT 1 FROM pragma_table_info('words') WHERE name='sum'"
# Texts as bytes, so that a damaged one hides no other.
_ROWS = "SELECT number, CAST(text AS BLOB), {} FROM words NOT INDEXED ORDER BY number"
_INDEXED = """
SELECT number, CAST(text AS BLOB) FROM words INDEXED BY sqlite_autoindex_words_1
"""


class WordRow(NamedTuple):
    """A row as it is stored, even if it is damaged."""

    number: int
    text: bytes
    sum: Any
    has_sum: bool
    """False in a file before format 6, whose words have no checksums."""

    @property
    def is_sound(self) -> bool:
        is_summed = not self.has_sum or self.sum == sum_values(self.number, self.text)
        return is_summed and decode_word(self.text) is not None


class Words:
    """The words of the file. `ask` queries the registry."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._texts: dict[int, str] = {}

    def __call__(self, number: int) -> str:
        """The word with this number. Raises KeyError if there is no such word."""
        if number not in self._texts:
            self._texts = load_words(self._ask)
        return self._texts[number]


def load_words(ask: Ask) -> dict[int, str]:
    """The words of the file by their numbers, without those that do not have their checksum.

    A change with such a word cannot be read.
    """
    return {row.number: row.text.decode() for row in read_rows(ask) if row.is_sound}


def read_rows(ask: Ask) -> list[WordRow]:
    """All rows of the table."""
    has_sum = bool(ask(_HAS_SUM, ()))
    rows = ask(_ROWS.format("sum" if has_sum else "NULL"), ())
    return [WordRow(number, text or b"", sum, has_sum) for number, text, sum in rows]


def read_index(ask: Ask) -> dict[int, bytes]:
    """The texts by their numbers, as the index of the table has them."""
    return {number: text or b"" for number, text in ask(_INDEXED, ())}


def decode_word(text: bytes) -> str | None:
    """A word as text, or None if it is not in UTF-8."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return None
