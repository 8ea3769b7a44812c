"""Checksums of rows: every altered column of every row is found, by readers and by the check."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from zlib import crc32

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import SERIES, TODAY, Desk, text

from perdure.errors import Corrupt
from perdure.ids import parse
from perdure.model.commands import SaveToken
from perdure.model.records import Token
from perdure.reading.scanning import DamagedRecord, scan_readable
from perdure.storage.sqlite.journal import SqliteJournal
from perdure.storage.sqlite.opening import FILE
from perdure.storage.sqlite.records import SqliteRecords
from perdure.storage.sqlite.sums import (
    ALL_SUMMED,
    SUMMED,
    sum_alike,
    sum_line,
    sum_lines,
    sum_row,
    sum_values,
)

KEY = parse(f"{TODAY}/1").key


def test_sums_are_what_they_were_when_they_were_written() -> None:
    """They are stored on disk: "a sum never changes for the same row"."""
    line = "2026-11-21T05:13:46Z - - https://a.example/1"
    assert sum_line("a/20261121/a1", line, 7) == crc32(f"{line}a/20261121/a1".encode(), 7) >> 1
    assert sum_line("a/20261121/a1", line, None) == 684976025  # gzip's, halved
    assert sum_values("name", None, 3) == crc32(b"name\0\xff\0" + b"3") >> 1


@given(key=st.text(), line=st.text(), position=st.integers(-1, 1 << 40))
def test_one_record_has_one_sum(key: str, line: str, position: int) -> None:
    found = sum_line(key, line, position)
    assert found == sum_alike((key,), line, position)[0]
    assert found == sum_lines([(key, line)], position)[0]
    assert found == sum_row("records", (key, line, position))
    assert found == sum_row("records", (key.encode(), line.encode(), position))
    assert 0 <= found < 1 << 31


@pytest.fixture
def filled(desk: Desk) -> Path:
    """A registry with rows in every table that has sums."""
    desk.mint(text("one"), once="key")
    desk.bind(f"{TODAY}/1", "https://a.example/one")
    for name in ("first", "second"):
        token = Token(name=name, digest=name * 8, operations=("mint",), authorities=(SERIES,))
        desk.registry.door.execute_command(SaveToken(token=token))
    desk.mint(locations=())
    desk.registry.close()
    return desk.root


def change(root: Path, *statements: str) -> None:
    with closing(sqlite3.connect(root / FILE)) as connection, connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type='trigger'"):
            connection.execute(f"DROP TRIGGER {trigger}")
        for statement in statements:
            connection.execute(statement)


def faults(root: Path) -> list[str]:
    with closing(SqliteRecords(root)) as records:
        rows = records.scan_records("", None, limit=99)
        found = [one for _, one in rows if isinstance(one, Corrupt)]
        assert (records.scan_lines("", None, limit=99) is None) == bool(found)
        return [one.identifier for one in (*records.check_integrity(), *found)]


def test_a_new_registry_has_sums_everywhere(filled: Path) -> None:
    with closing(sqlite3.connect(filled / FILE)) as connection:
        for table in TABLES:
            rows = f"SELECT count(*), count(sum) FROM {table}"
            ((count, summed),) = connection.execute(rows).fetchall()
            assert count == summed > 0, table
    assert faults(filled) == []


TABLES = SUMMED | {"words": ALL_SUMMED["words"]}
_COLUMNS = [
    (table, column)
    for table, (_, columns) in TABLES.items()
    for column in (*columns.split(", "), "sum")
]


@pytest.mark.parametrize(("table", "column"), _COLUMNS)
@pytest.mark.parametrize("value", ["{0} || 'x'", "coalesce({0}, 0) + 1", "NULL"])
def test_every_altered_column_is_found(filled: Path, table: str, column: str, value: str) -> None:
    with closing(sqlite3.connect(filled / FILE)) as connection:
        (row,) = connection.execute(f"SELECT {column} FROM {table} LIMIT 1").fetchone()
    if row is None and "coalesce" not in value:
        return  # it stays as it is
    key = TABLES[table][0].partition(",")[0]
    where = f"WHERE {key} = (SELECT max({key}) FROM {table})"
    try:
        change(filled, f"UPDATE {table} SET {column} = {value.format(column)} {where}")
    except sqlite3.DatabaseError:
        return  # the schema forbids it: the database cannot hold such a row
    assert faults(filled), (table, column, value)


READS: dict[str, tuple[str, Callable[[SqliteRecords], object]]] = {
    "a record": (
        "UPDATE records SET record=replace(record, 'a.example', 'b.example')",
        lambda records: records.find_record(KEY),
    ),
    "a record under another key": (
        f"UPDATE records SET key='{KEY}7' WHERE key='{KEY}'",
        lambda records: records.find_record(f"{KEY}7"),
    ),
    "a record of the fast path": (
        "UPDATE records SET record=replace(record, 'a.example', 'b.example')",
        lambda records: records.open_lookup().find_stored(KEY),
    ),
    "the last record of a range": (
        "UPDATE records SET record=replace(record, 'a.example', 'b.example')",
        lambda records: records.open_lookup().find_last_stored("", KEY),
    ),
    "a revision": (
        "UPDATE history SET record=replace(record, 'text/plain', 'text/x-log')",
        lambda records: records.list_revisions(KEY),
    ),
    "the rights of a token": (
        "UPDATE tokens SET token=replace(token, 'mint', 'bind')",
        lambda records: records.find_token_named("first"),
    ),
    "the digest of a token": (
        "UPDATE tokens SET digest='x' WHERE name='first'",
        lambda records: records.find_token("x"),
    ),
    "the list of tokens": ("UPDATE tokens SET sum=1", lambda records: records.list_tokens()),
    "the history of a token": (
        "UPDATE token_changes SET actor='x'",
        lambda records: records.list_token_changes("first"),
    ),
    "the length of a segment": (
        "UPDATE segments SET length=length-8",
        lambda records: records.list_segments(),
    ),
}


@pytest.mark.parametrize(("statement", "read"), READS.values(), ids=READS)
def test_no_altered_row_is_read_as_it_is(
    filled: Path, statement: str, read: Callable[[SqliteRecords], object]
) -> None:
    change(filled, statement)
    with closing(SqliteRecords(filled)) as records, pytest.raises(Corrupt, match="its checksum"):
        read(records)


def test_a_listing_reports_the_altered_record(filled: Path) -> None:
    change(filled, f"UPDATE records SET record=record || ' ' WHERE key='{KEY}'")
    with closing(SqliteRecords(filled)) as records:
        rows = records.scan_records("", None, limit=9)
    assert [isinstance(one, Corrupt) for _, one in rows] == [True, False]


@pytest.mark.parametrize("key", ["CAST(x'ff6162' AS TEXT)", "CAST(key AS BLOB)"])
def test_a_key_that_sorts_behind_every_text_is_found(filled: Path, key: str) -> None:
    """One flipped bit makes a text of bytes, which SQLite sorts behind all texts."""
    change(filled, f"UPDATE records SET key={key} WHERE key='{KEY}'")
    with closing(SqliteRecords(filled)) as records:
        rows = records.scan_records("", None, limit=9)
        assert [isinstance(one, Corrupt) for _, one in rows] == [False, True]
        assert records.scan_lines("", None, limit=9) is None
        page = scan_readable(records, "", None, limit=1)
        (damaged,) = scan_readable(records, page.following or "", None, limit=1).rows
        assert isinstance(damaged, DamagedRecord)


def test_a_writer_does_not_build_on_an_altered_row(filled: Path, desk: Desk) -> None:
    change(filled, "UPDATE records SET record=replace(record, 'a.example', 'b.example')")
    desk.reopen()
    with pytest.raises(Corrupt):
        desk.bind(f"{TODAY}/1", "https://c.example/")


def test_a_writer_reads_the_rows_beside_an_altered_one(filled: Path) -> None:
    keys = [KEY, parse(f"{TODAY}/2").key]
    change(filled, f"UPDATE records SET record=record || ' ' WHERE key='{KEY}'")
    with closing(SqliteJournal(filled)) as journal:
        journal.number_changes("2026-11-21T12:00:00Z")
        journal.begin_batch()
        journal.prefetch_records(keys)
        assert journal.find_stored(keys[1]) is not None
        with pytest.raises(Corrupt):
            journal.find_stored(keys[0])
        journal.roll_back()


def test_a_writer_does_not_cut_off_bytes_by_an_altered_length(filled: Path, desk: Desk) -> None:
    size = (filled / "segments/000001.warc").stat().st_size
    change(filled, "UPDATE segments SET length=length-100")
    desk.reopen()
    with pytest.raises(Corrupt):
        desk.mint(text("two"))
    assert (filled / "segments/000001.warc").stat().st_size == size


def test_a_damaged_revision_is_not_redacted(filled: Path) -> None:
    """The redacted line would get a sum, as if it were sound."""
    change(filled, "UPDATE history SET record=replace(record, 'text/plain', 'text/x-log')")
    with closing(SqliteJournal(filled)) as journal:
        journal.begin_batch()
        with pytest.raises(Corrupt):
            journal.redact_past(KEY, lambda line: line.replace("2026", "1997"))
        journal.roll_back()
    assert faults(filled)
