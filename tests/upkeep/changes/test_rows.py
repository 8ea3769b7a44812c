"""Changes as lines of JSON, checked as a stranger would who has only the specification."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import apsw
from tests.conftest import TODAY, Desk, text

from perdure.model.changes import Change, ChangeMark
from perdure.model.commands import Load, LoadRow, Mint, SaveToken
from perdure.model.records import Location, Token
from perdure.storage.ports import Records
from perdure.storage.sqlite.opening import FILE
from perdure.storage.sqlite.records import SqliteRecords
from perdure.upkeep.changes.rows import RowWriter
from perdure.writing.door import Turn

TRIGGERS = "SELECT name FROM sqlite_master WHERE type='trigger'"


def sha256(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def write(desk: Desk) -> list[Change]:
    desk.mint(text("one"), by="press")
    desk.mint(format="text", by="press")
    desk.registry.door.execute_command(
        SaveToken(token=Token(name="press", digest="d1", operations=("mint",), authorities=("*",)))
    )
    desk.bind(f"{TODAY}/1", Location(uri="https://a.example/1"), by="press")
    desk.bind("hdl:1/A", "https://a.example/", register=True)
    return desk.registry.changes()


def public_line(records: Records, change: Change) -> bytes:
    (line,) = RowWriter(records).write_public([change])
    return line


def full_lines(records: Records, change: Change) -> Iterator[bytes]:
    return RowWriter(records).write_full([change], lambda _, lines: lines, with_import=True)


def extended(chain: bytes, row: dict[str, Any]) -> bytes:
    """The chain behind a row of either view, by docs/reference/changes.md."""
    if "leaf" in row:
        leaf = bytes.fromhex(row["leaf"])
    else:
        first, last = row["keys"]
        fields = (row["epoch"], row["number"], row["at"], row["act"], first, last, row["count"])
        written = (*fields, row["revision"], row["digest"])
        said = "perdure change 1\n" + "".join(f"{field}\n" for field in written)
        leaf = sha256(b"\0", said.encode())
    return sha256(b"\1", chain, leaf)


def test_both_views_verify_with_the_same_chain(desk: Desk) -> None:
    records = desk.registry.records
    public, full = bytes(32), bytes(32)
    for change in write(desk):
        row = json.loads(public_line(records, change))
        public = extended(public, row)
        assert row["chain"] == public.hex()
        row = json.loads(next(full_lines(records, change)))
        full = extended(full, row)
        assert row["chain"] == full.hex()
    assert public == full


def test_the_full_view_verifies_what_was_written(desk: Desk) -> None:
    records = desk.registry.records
    seen = []
    for change in write(desk):
        first, *lines = map(json.loads, full_lines(records, change))
        if change.act in ("begin", "token"):
            assert lines == []
            assert first.get("token") == ("press" if change.act == "token" else None)
            continue
        salt, actor = bytes.fromhex(first["salt"]), first["actor"].encode()
        (line,) = lines
        said = (actor, b"\0", line["stored"].encode(), b"\0", line["key"].encode())
        assert sha256(salt, *said).hex() == first["digest"]
        seen.append((first["act"], first["name"], line["line"]["id"]))
    assert seen == [
        ("mint", f"{TODAY}/1", f"{TODAY}/1"),
        ("reserve", f"{TODAY}/2", f"{TODAY}/2"),
        ("bind", f"{TODAY}/1", f"{TODAY}/1"),
        ("register", "hdl:1/A", "hdl:1/A"),
    ]


def test_the_public_view_tells_neither_actors_nor_tokens(desk: Desk) -> None:
    records = desk.registry.records
    text = b"".join(public_line(records, one) for one in write(desk))
    assert b"press" not in text
    assert b"salt" not in text
    rows = list(map(json.loads, text.splitlines()))
    assert rows[0]["reason"] == "created"
    assert set(rows[3]) == {"epoch", "number", "leaf", "chain"}


def test_a_run_names_its_first_and_last(desk: Desk) -> None:
    """Names that are reserved together; the lines of all of them follow in the full view."""
    desk.mint(text("x"))
    commands = [Mint(authority="oma.eop.gov.us")] * 3
    committer = desk.registry.door.committer
    assert committer is not None
    done = threading.Event()
    turn: Turn = [(command, lambda _: None) for command in commands]
    committer.enqueue_turn(turn, lambda _: done.set())
    done.wait()
    records = desk.registry.records
    change = desk.registry.changes("1.2")[0]
    row, *lines = map(json.loads, full_lines(records, change))
    assert (row["first"], row["last"], row["count"]) == (f"{TODAY}/2", f"{TODAY}/4", 3)
    assert [one["line"]["id"] for one in lines] == [f"{TODAY}/{number}" for number in (2, 3, 4)]
    keys = [one["key"].encode() for one in lines]
    (stored,) = {one["stored"] for one in lines}
    said = b"\0".join((row["actor"].encode(), stored.encode(), *keys))
    assert sha256(bytes.fromhex(row["salt"]), said).hex() == row["digest"]


def test_a_damaged_record_hides_no_change(desk: Desk) -> None:
    """Its key tells the name, which the change says, too."""
    write(desk)
    desk.registry.close()
    with closing(apsw.Connection(str(desk.root / FILE))) as connection:
        for (name,) in connection.execute(TRIGGERS).fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE records SET sum=1 WHERE key LIKE '%/a2'").fetchall()
    with closing(SqliteRecords(desk.root)) as records:
        (change,) = records.list_changes(ChangeMark(1, 2), limit=1)
        row = json.loads(public_line(records, change))
    assert row["name"] == f"{TODAY}/2"


def test_of_a_change_that_a_mirror_may_know_in_part_the_row_is_public(desk: Desk) -> None:
    """A run of names, of which a scope covers only some."""
    record = b"2026-11-21T12:00:00Z - - https://a.example/"
    keys = ("oma.eop.gov.us/19970901/~a", "oma.eop.gov.us/19970902/~a")
    rows = tuple(LoadRow(line=1, key=key, record=record) for key in keys)
    desk.registry.door.execute_command(Load(rows=rows, last=True))
    (change,) = desk.registry.changes("1.1")
    writer = RowWriter(desk.registry.records)
    row, line = map(
        json.loads, writer.write_full([change], lambda _, lines: lines[1:], with_import=False)
    )
    assert (set(row) & {"actor", "salt"}, row["count"]) == (set(), 2)
    assert line == {"key": keys[1], "stored": record.decode()}
