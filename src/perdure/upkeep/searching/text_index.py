"""An index of words: SQLite's FTS5, in volumes. The only module that knows its language.

How it works: an entry is a document, or a record without documents. It has a number, which grows
with time, and a row in the table `entry` that says what it is. Its words are in a volume: a table
of FTS5 without content, so the index has the words of a text and their places, but not the text.
Texts arrive folded (`perdure.model.folding`), and FTS5 divides them at characters of ASCII other
than letters and digits.

A volume has `VOLUME` entries, or a text of `VOLUME_LENGTH` characters; then the next one begins.
Searches look into the newest volume first and stop as soon as they know enough, so a very common
word, or the beginning of very many words, takes no longer in a large registry than in a small one.

FTS5 marks deleted entries and drops their words when it merges. `purge` merges the volumes in which
something was deleted, so that the file has no word of it left.

What must stay true: the words of a query consist of letters and digits (`parse_query`), and are
written in quotation marks, so they are never read as operators of FTS5. Numbers of entries are
never used twice.
"""

from __future__ import annotations

import zlib
from collections.abc import Generator, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, NamedTuple, Self

import apsw
import msgspec

from perdure.errors.requests import ForeignCursor
from perdure.policy.searching.query import SearchQuery, Term
from perdure.upkeep.searching.ranking import FUNCTION, MOST, make_ranking

VOLUME = 1 << 15
VOLUME_LENGTH = 32 << 20
FIELDS = ("text", "title", "people", "metadata")
"""The columns of a volume. The longest is the first: places in the others take 2 bytes more."""
SCHEMA = """
CREATE TABLE IF NOT EXISTS volume (
    number INTEGER PRIMARY KEY, first INTEGER NOT NULL, length INTEGER NOT NULL,
    deleted INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS entry (
    id INTEGER PRIMARY KEY AUTOINCREMENT, place INTEGER NOT NULL, key TEXT NOT NULL,
    version INTEGER NOT NULL, format TEXT NOT NULL, day INTEGER NOT NULL, state INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS entry_place ON entry (place);
"""
_COLUMNS = "id, key, version, format, day, state"
_LIMITS = """
SELECT min(entry.key), format, CASE WHEN day THEN day / 10000 END, count(*)
FROM json_each(?) AS number CROSS JOIN entry ON entry.id = number.value
GROUP BY substr(entry.key, 1, instr(entry.key || '/', '/') - 1), 2, 3
"""
_SURVEYED = 500  # entries that are read at a time
_TOGETHER = 1 << 20  # characters of entries that are written at a time
_HASH_BYTES = 16 << 20  # words that FTS5 gathers in memory before it writes them


class Entry(NamedTuple):
    """One entry: a document, or a record without documents (version 0, no format)."""

    id: int
    key: str
    """The key of its record; of a capture, see `perdure.upkeep.searching.capture_table`."""
    version: int
    format: str
    day: int
    """The day it is about: 19970901, 19970900 for a month, 19970000 for a year; 0: unknown."""
    state: int
    """Changes with its bytes, their reading, its title and its description."""


class EntryWords(NamedTuple):
    """The folded texts of an entry."""

    text: str
    title: str
    people: str
    metadata: str

    @property
    def length(self) -> int:
        """Characters."""
        return sum(map(len, self))


class LimitCount(NamedTuple):
    """A number of entries that agree in the beginning of their keys, format and year."""

    key: str
    """The key of one of them; they are equal up to the first slash."""
    format: str
    year: int | None
    """None if no day is known."""
    entries: int


class Selection(NamedTuple):
    """The entries to look for."""

    query: SearchQuery
    fields: tuple[str, ...] = FIELDS
    """The fields to look in."""
    by: SearchQuery | None = None
    """Words in the names of people and organisations."""
    low: str = ""
    high: str = ""
    """Keys from `low` on, and before `high`; all if it is empty."""
    first: int = 0
    last: int = 0
    """Days from `first` through `last`; all if it is 0."""
    formats: tuple[str, ...] = ()
    is_oldest_first: bool = False
    is_ranked: bool = False
    """The newest ones are ordered by how well they fit (`perdure.upkeep.searching.ranking`)."""

    def covers(self, entry: Entry) -> bool:
        """Return True if an entry is within the limits, whatever its words are."""
        return (
            (not self.high or self.low <= entry.key < self.high)
            and self.first <= entry.day
            and (not self.last or 0 < entry.day <= self.last)
            and (not self.formats or entry.format in self.formats)
        )

    @property
    def without_excluded(self) -> Self:
        """The same without the words that must not occur."""
        by = self.by and msgspec.structs.replace(self.by, excluded=())
        return self._replace(query=msgspec.structs.replace(self.query, excluded=()), by=by)


class WordTable:
    """The index in one file. For one thread."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        connection.register_fts5_function(FUNCTION, make_ranking(FIELDS))
        self._volume = self._first = self._length = 0  # of the newest volume, in a batch
        self._last = 0  # the number of the newest entry, in a batch
        self._waiting: list[tuple[int, Entry, EntryWords]] = []
        self._waiting_length = 0

    # writing
    # -------

    def begin_batch(self) -> None:
        """Read the state of the newest volume, in the transaction of a batch.

        Entries that a failed batch left unwritten are forgotten: the batch is done again.
        """
        self._forget_waiting()
        row = self._connection.execute(
            "SELECT seq FROM sqlite_sequence WHERE name = 'entry'"
        ).fetchone()
        self._last = row[0] if row else 0
        row = self._connection.execute(
            "SELECT number, first, length FROM volume ORDER BY number DESC LIMIT 1"
        ).fetchone()
        self._volume, self._first, self._length = row or (0, 0, 0)

    def end_batch(self) -> None:
        """Write the last entries and the state of the newest volume, in the same transaction."""
        self._write_waiting()
        self._connection.execute(
            "UPDATE volume SET length = ? WHERE number = ?", (self._length, self._volume)
        )

    def add_entry(self, entry: Entry, words: EntryWords, length: int | None = None) -> int:
        """Add an entry, and return its number, which is the next one. Call it in a batch.

        `length` is that of the words, if it was measured.
        """
        self._last += 1
        is_full = self._last - self._first >= VOLUME or self._length >= VOLUME_LENGTH
        if is_full or not self._volume:
            self._write_waiting()
            self._begin_volume(self._last)
        self._waiting.append((self._last, entry, words))
        if length is None:
            length = words.length
        self._length += length
        self._waiting_length += length
        if self._waiting_length >= _TOGETHER:
            self._write_waiting()
        return self._last

    def _write_waiting(self) -> None:
        """Write the entries that were added, all of the same volume."""
        if not self._waiting:
            return
        self._connection.executemany(
            "INSERT INTO entry (id, place, key, version, format, day, state) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(number, _hash_key(entry.key), *entry[1:]) for number, entry, _ in self._waiting],
        )
        self._connection.executemany(
            f"INSERT INTO words_{self._volume} (rowid, {', '.join(FIELDS)}) "  # noqa: S608
            "VALUES (?, ?, ?, ?, ?)",
            [(number, *words) for number, _, words in self._waiting],
        )
        self._forget_waiting()

    def _forget_waiting(self) -> None:
        self._waiting.clear()
        self._waiting_length = 0

    def _begin_volume(self, first: int) -> None:
        """Begin the next volume, and merge the one before, which now stays as it is."""
        if self._volume:
            self._merge_volume(self._volume)
            self.end_batch()
        self._volume, self._first, self._length = self._volume + 1, first, 0
        self._connection.execute(
            f"CREATE VIRTUAL TABLE words_{self._volume} USING fts5 "
            f"({', '.join(FIELDS)}, content='', contentless_delete=1, tokenize='ascii')"
        )
        self._connection.execute(
            f"INSERT INTO words_{self._volume} (words_{self._volume}, rank) "  # noqa: S608
            f"VALUES ('hashsize', {_HASH_BYTES})"
        )
        self._connection.execute(
            "INSERT INTO volume VALUES (?, ?, 0, 0)", (self._volume, self._first)
        )

    def delete_entry(self, number: int) -> None:
        """Delete an entry. Its words are gone after `purge`."""
        self._write_waiting()
        self._connection.execute("DELETE FROM entry WHERE id = ?", (number,))
        volume = self._find_volume(number)
        self._connection.execute(f"DELETE FROM words_{volume} WHERE rowid = ?", (number,))  # noqa: S608
        self._connection.execute(
            "UPDATE volume SET deleted = deleted + 1 WHERE number = ?", (volume,)
        )

    def purge(self, *, from_deleted: int = 1) -> bool:
        """Remove the words of deleted entries from a volume, if it has at least as many of them.

        Return False if there is no such volume. It is a transaction of its own.
        """
        row = self._connection.execute(
            "SELECT number FROM volume WHERE deleted >= ? LIMIT 1", (from_deleted,)
        ).fetchone()
        if row is None:
            return False
        with self._connection:
            self._merge_volume(row[0])
        return True

    def _merge_volume(self, number: int) -> None:
        self._connection.execute(f"INSERT INTO words_{number} (words_{number}) VALUES ('optimize')")  # noqa: S608
        self._connection.execute("UPDATE volume SET deleted = 0 WHERE number = ?", (number,))

    def drop_volumes(self) -> None:
        """Delete all entries."""
        self._forget_waiting()
        for (number,) in self._connection.execute("SELECT number FROM volume").fetchall():
            self._connection.execute(f"DROP TABLE words_{number}")
        self._connection.execute("DELETE FROM volume")
        self._connection.execute("DELETE FROM entry")

    # reading
    # -------

    def list_entries(self, key: str) -> list[Entry]:
        """Return the entries of a record."""
        self._write_waiting()
        query = f"SELECT {_COLUMNS} FROM entry WHERE place = ? AND key = ? ORDER BY id"  # noqa: S608
        rows = self._connection.execute(query, (_hash_key(key), key))
        return [Entry(*row) for row in rows]

    def list_entries_of(self, keys: Sequence[str]) -> dict[str, list[Entry]]:
        """Return the entries of each of several records. Takes less time than one by one."""
        self._write_waiting()
        found: dict[str, list[Entry]] = {key: [] for key in keys}
        places = tuple(dict.fromkeys(map(_hash_key, keys)))
        for at in range(0, len(places), _SURVEYED):
            some = places[at : at + _SURVEYED]
            marks = ",".join("?" * len(some))
            query = f"SELECT {_COLUMNS} FROM entry WHERE place IN ({marks}) ORDER BY id"  # noqa: S608
            for row in self._connection.execute(query, some):
                entry = Entry(*row)
                if entry.key in found:  # else another key has the same hash
                    found[entry.key].append(entry)
        return found

    def find_entry(self, number: int) -> Entry | None:
        query = f"SELECT {_COLUMNS} FROM entry WHERE id = ?"  # noqa: S608
        row = self._connection.execute(query, (number,)).fetchone()
        return Entry(*row) if row else None

    def find_numbers(self, selection: Selection, past: int | None = None) -> Generator[int]:
        """Yield the numbers of the selected entries, the newest first unless the selection says
        otherwise; all of them come after the number `past` in this order.

        Close the generator if it is not read to its end. Raises ForeignCursor if a ranked selection
        does not contain `past`.
        """
        if selection.is_ranked:
            yield from self._rank_numbers(selection._replace(is_ranked=False), past)
            return
        for number, _ in self._walk_matches(selection, past):
            yield number

    def _rank_numbers(self, selection: Selection, past: int | None) -> Generator[int]:
        """Yield the newest numbers in the order of their ranks, then all others, the newest first.

        Equal ranks are ordered by time.
        """
        with closing(self._walk_matches(selection, rank=FUNCTION)) as matches:
            ranks = dict(islice(matches, MOST))
        oldest = min(ranks, default=0)
        start = 0
        if past is None or past >= oldest:
            ordered = sorted(ranks, key=lambda number: (-ranks[number], -number))
            if past is not None:
                if past not in ranks:
                    raise ForeignCursor(cursor=str(past))
                start = ordered.index(past) + 1
            yield from ordered[start:]
            past = oldest
        if len(ranks) == MOST:
            yield from self.find_numbers(selection, past)

    def _walk_matches(
        self, selection: Selection, past: int | None = None, *, rank: str = ""
    ) -> Generator[tuple[int, float]]:
        """Yield the numbers of the selected entries by time, each with the value of a function."""
        condition, values = _write_conditions(selection)
        is_upwards = selection.is_oldest_first
        order = "ASC" if is_upwards else "DESC"
        start = past or 0 if is_upwards else 0
        end = past if past is not None and not is_upwards else 1 << 62
        volumes = f"SELECT number FROM volume WHERE first < ? ORDER BY number {order}"  # noqa: S608
        for (number,) in self._connection.execute(volumes, (end,)).fetchall():
            table = f"words_{number}"
            joined = " CROSS JOIN entry ON entry.id = w.rowid" if condition else ""
            value = f"{rank}(w.{table})" if rank else "0.0"
            query = (
                f"SELECT w.rowid, {value} FROM {table} AS w{joined} "  # noqa: S608
                f"WHERE w.{table} MATCH ? AND w.rowid > ? AND w.rowid < ?{condition} "
                f"ORDER BY w.rowid {order}"
            )
            words = write_match(selection.query, selection.fields, selection.by)
            yield from self._connection.execute(query, (words, start, end, *values))

    def count_limits(self, numbers: list[int]) -> list[LimitCount]:
        """Count existing entries by what a search can be limited to. An entry is counted once."""
        rows = self._connection.execute(_LIMITS, (msgspec.json.encode(numbers).decode(),))
        return [LimitCount(*row) for row in rows]

    def _find_volume(self, number: int) -> int:
        """Return the volume of an existing entry."""
        query = "SELECT max(number) FROM volume WHERE first <= ?"
        found: int = self._fetch_one(query, (number,))[0]
        return found

    def _fetch_one(self, query: str, values: tuple[int, ...] = ()) -> tuple[Any, ...]:
        row: tuple[Any, ...] | None = self._connection.execute(query, values).fetchone()
        assert row is not None  # noqa: S101  (an aggregate has a row)
        return row

    def count_entries(self) -> int:
        """Return the number of entries. Reads all of their numbers."""
        found: int = self._fetch_one("SELECT count(*) FROM entry")[0]
        return found

    def measure_text(self) -> int:
        """Return the number of characters that were indexed, also of entries deleted since."""
        return int(self._fetch_one("SELECT total(length) FROM volume")[0])


def _hash_key(key: str) -> int:
    return zlib.crc32(key.encode("utf-8", "surrogatepass"))


def _write_conditions(selection: Selection) -> tuple[str, list[object]]:
    conditions: list[str] = []
    values: list[object] = []
    if selection.high:
        conditions.append("entry.key >= ? AND entry.key < ?")
        values += [selection.low, selection.high]
    if selection.first:
        conditions.append("entry.day >= ?")
        values.append(selection.first)
    if selection.last:
        conditions.append("entry.day BETWEEN 1 AND ?")
        values.append(selection.last)
    if selection.formats:
        conditions.append(f"entry.format IN ({', '.join('?' * len(selection.formats))})")
        values += selection.formats
    return "".join(f" AND {one}" for one in conditions), values


def write_match(
    query: SearchQuery, fields: Sequence[str] = FIELDS, by: SearchQuery | None = None
) -> str:
    """Write a query in the language of FTS5.

    >>> from perdure.policy.searching.query import parse_query
    >>> write_match(parse_query('a "b c" d* -e'))
    '(("a" "b c" "d" *) NOT ("e"))'
    >>> write_match(parse_query('a'), ("title",), parse_query("b"))
    '({title} : (("a"))) AND ({people} : (("b")))'
    """
    wanted = _write_terms(query, fields)
    return wanted if by is None else f"{wanted} AND {_write_terms(by, ('people',))}"


def _write_terms(query: SearchQuery, fields: Sequence[str]) -> str:
    wanted = f"({' '.join(map(_write_term, query.terms))})"
    if query.excluded:
        wanted += f" NOT ({' OR '.join(map(_write_term, query.excluded))})"
    if tuple(fields) == FIELDS:
        return f"({wanted})"
    return f"({{{' '.join(fields)}}} : ({wanted}))"


def _write_term(term: Term) -> str:
    return f'"{" ".join(term.tokens)}"{" *" if term.is_prefix else ""}'
