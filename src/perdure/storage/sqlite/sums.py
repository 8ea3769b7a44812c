"""Checksums of rows: a row that the disk or the memory changed is never taken for what was written.

How it works: a table of `SUMMED` has a column `sum` with the upper 31 bits of the CRC-32 of its
other columns (31 bits take four bytes in SQLite). For a record and a revision, these are the text,
the key and the position of the change; so many records with the same text need the CRC of the text
only once. Readers compare the sum whenever they read such a row, and `check_sums` compares all.
The other tables need none: a row of numbered changes has its checksum within (`changelog`), and
each entry of the index of references can be computed from its record.

The step to format 3 adds the columns, that to format 6 the one of the words of changes. `fill_sums`
then computes the sums of the old rows in many small transactions and stores its progress; if the
process is killed, the next one goes on there. Until then, a row without a sum is read unchecked.

What must stay true: a sum never changes for the same row, since it is stored on disk; a row without
a sum is damaged as soon as `fill_sums` has finished.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from operator import add, eq, rshift
from typing import Any
from zlib import crc32

import apsw

from perdure.errors import Corrupt
from perdure.model.changes import Line

SUMMED_FORMAT = 3
"""The first format in which rows have sums."""
SUMMED = {
    "records": ("key", "key, record, position"),
    "history": ("key, revision", "key, record, position"),
    "tokens": ("name", "name, digest, token"),
    "token_changes": ("number", "number, name, at, actor, before, after, position"),
    "answered": ("actor, once", "actor, once, request, receipt, at"),
    "segments": ("number", "number, length, opened, grows"),
    "recent_references": ("number", "count, rows"),
}
"""For each table that got sums later: its primary key, and the columns of which a sum is made."""
ALL_SUMMED = SUMMED | {
    "rules": ("number", "number, key, rule"),
    "words": ("number", "number, text"),
}
"""The same for each table with sums."""
_SINCE = {"rules": 5, "words": 6}
"""The format since which a table has sums, if it is later than the third."""
_LINES = ("records", "history")
_NUMBERS = ("number", "revision")  # keys that are not texts
_SOME = 4096  # rows in a transaction
_DONE = "all"
_PROGRESS = "INSERT OR REPLACE INTO meta VALUES('summed', ?)"
_READ = "SELECT value FROM meta WHERE name='summed'"
_ANY = "SELECT 1 FROM {} LIMIT 1"
_UNFILLED = "SELECT {}, {} FROM {} WHERE sum IS NULL {} ORDER BY {} LIMIT ?"
_FILL = "UPDATE {} SET sum=? WHERE ({}) = ({})"
_SUMS = "SELECT {}, {}, sum FROM {} ORDER BY {}"
_TRIGGERS = """
DROP TRIGGER records_hold;
DROP TRIGGER history_holds;
DROP TRIGGER token_changes_hold;
CREATE TRIGGER records_hold BEFORE UPDATE ON records
  WHEN NEW.key IS NOT OLD.key OR typeof(NEW.record) <> 'text' OR NOT EXISTS
    (SELECT 1 FROM history WHERE key = OLD.key AND record = OLD.record)
    AND (OLD.sum IS NOT NULL OR NEW.record IS NOT OLD.record OR NEW.position IS NOT OLD.position)
  BEGIN SELECT RAISE(ABORT, 'a record is never changed without its history'); END;
CREATE TRIGGER history_holds BEFORE UPDATE ON history
  WHEN OLD.sum IS NOT NULL OR NEW.key IS NOT OLD.key OR NEW.revision IS NOT OLD.revision
    OR NEW.record IS NOT OLD.record OR NEW.position IS NOT OLD.position
  BEGIN SELECT RAISE(ABORT, 'the history is only added to'); END;
CREATE TRIGGER token_changes_hold BEFORE UPDATE ON token_changes
  WHEN OLD.sum IS NOT NULL OR NEW.number IS NOT OLD.number OR NEW.name IS NOT OLD.name
    OR NEW.at IS NOT OLD.at OR NEW.actor IS NOT OLD.actor OR NEW.before IS NOT OLD.before
    OR NEW.after IS NOT OLD.after OR NEW.position IS NOT OLD.position
  BEGIN SELECT RAISE(ABORT, 'the history is only added to'); END;
"""
_log = logging.getLogger(__name__)


# A sum
# -----


def sum_line(key: str, text: str, position: int | None) -> int:
    """The sum of a record, or of an earlier revision of it."""
    return crc32((text + key).encode(), (position or 0) & 0xFFFFFFFF) >> 1


def sum_lines(lines: Sequence[Line], position: int) -> list[int]:
    """The sums of records of one change."""
    begun = position & 0xFFFFFFFF
    return [crc32((text + key).encode(), begun) >> 1 for key, text in lines]


def sum_alike(keys: Sequence[str], text: str, position: int) -> list[int]:
    """The sums of records that differ only in their keys."""
    begun = crc32(text.encode(), position & 0xFFFFFFFF)
    return list(map(rshift, map(crc32, map(str.encode, keys), repeat(begun)), repeat(1)))


def sum_values(*values: Any) -> int:
    """The sum of any other row. Text and bytes that spell it have the same sum."""
    return crc32(b"\0".join(map(_spell_value, values))) >> 1


def _spell_value(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return b"\xff" if value is None else f"{value}".encode("utf-8", "surrogateescape")


def sum_rule(number: int, key: str, text: str) -> int:
    """The sum of a reading rule."""
    return sum_line(key, text, number)


def is_sound_line(key: str, text: str, position: int | None, sum: int) -> bool:
    """Return False if a record has another sum than was stored with it, or another type."""
    try:
        return sum == sum_line(key, text, position)
    except (AttributeError, TypeError, UnicodeEncodeError):  # a number, or bytes
        return False


def are_sound_lines(
    keys: Sequence[str],
    texts: Sequence[str],
    positions: Sequence[int | None],
    sums: Sequence[int | None],
) -> bool:
    """Return True if each of these records, by columns, consists of texts and is sound.

    One without a sum is sound.
    """
    first = positions[0]
    begun = repeat(first or 0) if positions.count(first) == len(positions) else _begin(positions)
    try:
        found = map(crc32, map(str.encode, map(add, texts, keys)), begun)
        if all(map(eq, map(rshift, found, repeat(1)), sums)):
            return True
        rows = zip(keys, texts, positions, sums, strict=True)
        return all(sum_line(*row[:-1]) == row[-1] or row[-1] is None for row in rows)
    except (AttributeError, TypeError, UnicodeEncodeError):  # a number, or bytes
        return False


def _begin(positions: Sequence[int | None]) -> Iterator[int]:
    return (one or 0 for one in positions)


def sum_whole(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row that is not a record, followed by its sum."""
    return (*row, sum_values(*row))


def sum_row(table: str, row: tuple[Any, ...]) -> int:
    """The sum of a row that has the columns of `SUMMED`; texts may be bytes.

    Raises TypeError if a column has another type than was written.
    """
    if table == "rules":
        position, key, text = row
    elif table not in _LINES:
        return sum_values(*row)
    else:
        key, text, position = row
    if isinstance(key, str):
        key, text = key.encode("utf-8", "surrogateescape"), text.encode("utf-8", "surrogateescape")
    return crc32(text + key, (position or 0) & 0xFFFFFFFF) >> 1


def has_sums(table: str, format: int) -> bool:
    """Return True if the rows of a table have sums in a file of a format."""
    return table in ALL_SUMMED and format >= _SINCE.get(table, SUMMED_FORMAT)


# The steps to formats 3 and 6
# ----------------------------


def add_columns(connection: apsw.Connection) -> None:
    """Add the columns for sums. Runs in a transaction; `fill_sums` goes on."""
    for table in SUMMED:
        connection.execute(f"ALTER TABLE {table} ADD COLUMN sum INTEGER")
    connection.execute(_TRIGGERS)
    if all(connection.execute(_ANY.format(table)).get is None for table in SUMMED):
        connection.execute(_PROGRESS, (_DONE,))


def sum_words(connection: apsw.Connection) -> None:
    """Add the sums of the words of changes, which are few. Runs in a transaction."""
    connection.execute("ALTER TABLE words ADD COLUMN sum INTEGER")
    rows = connection.execute("SELECT number, text FROM words").fetchall()
    sums = [(sum_values(*row), row[0]) for row in rows]
    connection.executemany("UPDATE words SET sum=? WHERE number=?", sums)


def is_filled(connection: apsw.Connection) -> bool:
    """Return True if every row of the file must have a sum."""
    return bool(connection.execute(_READ).get == _DONE)


def fill_sums(connection: apsw.Connection) -> None:
    """Compute the sums of all rows that have none. Raises apsw.Error."""
    if is_filled(connection):
        return
    _log.info("adding checksums to this registry; this happens once and can take a while")
    tables = list(SUMMED)
    reached = connection.execute(_READ).get
    for table in tables[tables.index(reached) if reached in SUMMED else 0 :]:
        low: tuple[Any, ...] | None = ()
        while low is not None:
            low = _fill_some(connection, table, low)
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    with connection:
        connection.execute(_PROGRESS, (_DONE,))


def _fill_some(
    connection: apsw.Connection, table: str, low: tuple[Any, ...]
) -> tuple[Any, ...] | None:
    """Fill the next rows of a table. Return the key of the last one, or None at the end."""
    keys, columns = SUMMED[table]
    names = keys.split(", ")
    marks = ", ".join("?" if one in _NUMBERS else "CAST(? AS TEXT)" for one in names)
    behind = f"AND ({keys}) > ({marks})" if low else ""
    with connection:
        rows = connection.execute(
            _UNFILLED.format(as_bytes(keys), as_bytes(columns), table, behind, keys), (*low, _SOME)
        ).fetchall()
        found = [(sum_row(table, row[len(names) :]), *row[: len(names)]) for row in rows]
        connection.executemany(_FILL.format(table, keys, marks), found)
        connection.execute(_PROGRESS, (table,))
    last = found[-1][1:] if found else low
    return None if last == low else last


def as_bytes(columns: str) -> str:
    """The same columns with all texts as bytes, so that a damaged one can be read."""
    return ", ".join(
        f"CASE typeof({one}) WHEN 'text' THEN CAST({one} AS BLOB) ELSE {one} END"
        for one in columns.split(", ")
    )


# Checking
# --------


def check_sums(
    connection: apsw.Connection, name_row: Callable[[str, Any], Corrupt]
) -> Iterator[Corrupt]:
    """An error for each row other than records whose sum differs.

    `name_row` makes it from the table and the first key. A scan of the records checks theirs.
    """
    format: int = connection.execute("PRAGMA user_version").get
    every = format >= SUMMED_FORMAT and is_filled(connection)
    for table, (keys, columns) in ALL_SUMMED.items():
        if table == "records" or not has_sums(table, format):
            continue
        first = as_bytes(keys.partition(",")[0])
        statement = _SUMS.format(first, as_bytes(columns), table, keys)
        for key, *row, sum in connection.execute(statement):
            if sum is None and not every:
                continue
            try:
                sound = sum == sum_row(table, tuple(row))
            except TypeError:
                sound = False
            if not sound:
                yield name_row(table, key)
