"""What `verify` finds in numbered changes and in the records behind them."""

from __future__ import annotations

import random
import threading
from contextlib import closing
from pathlib import Path

import apsw
import msgspec
import pytest
from tests.conftest import SERIES, TODAY, Desk, text
from tests.storage.registries import unpack_registry

from perdure.errors import Corrupt
from perdure.model.changes import ChainHead, ChangeMark
from perdure.model.commands import Mint, SaveToken
from perdure.model.records import Location, Token
from perdure.registry import Registry
from perdure.storage.sqlite.opening import FILE
from perdure.storage.sqlite.records import SqliteRecords
from perdure.storage.sqlite.sums import SUMMED, sum_row
from perdure.upkeep.changes.rows import RowWriter
from perdure.upkeep.changes.walking import check_changes
from perdure.writing.door import Turn


@pytest.fixture
def full(desk: Desk) -> Desk:
    """Documents, a run of names, revisions, a token; closed."""
    for number in range(35):
        desk.mint(text(f"document {number}"), by="press")
        desk.clock.advance(seconds=number % 2)
    desk.registry.door.execute_command(
        SaveToken(token=Token(name="press", digest="d1", operations=("mint",), authorities=("*",)))
    )
    desk.bind(f"{TODAY}/3", Location(uri="https://a.example/3"))
    desk.commit(f"{TODAY}/3", text("again"), by="press")
    desk.bind("hdl:1/1", "https://a.example/", register=True)
    desk.registry.close()
    return desk


def unlocked(root: Path) -> apsw.Connection:
    """The file, without what keeps its past from being rewritten."""
    connection = apsw.Connection(str(root / FILE))
    names = "SELECT name FROM sqlite_master WHERE type='trigger'"
    for (name,) in connection.execute(names).fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    return connection


def forge_sums(connection: apsw.Connection) -> None:
    """Give each row the checksum of what it is now, as somebody would who rewrites the past."""
    for table in ("records", "history", "token_changes"):
        keys, columns = SUMMED[table]
        count = keys.count(",") + 1
        update = f"UPDATE {table} SET sum=? WHERE ({keys}) = ({','.join('?' * count)})"
        for row in connection.execute(f"SELECT {keys}, {columns} FROM {table}").fetchall():
            connection.execute(update, (sum_row(table, row[count:]), *row[:count]))


def problems(root: Path, against: ChainHead | None = None) -> list[str]:
    with closing(SqliteRecords(root)) as reader:
        found = list(check_changes(reader, against=against))
    return [f"{one.mark}: {one.problem}" for one in found if one.problem]


def head(root: Path) -> ChainHead:
    with closing(SqliteRecords(root)) as reader:
        found = reader.find_head()
    assert found is not None
    return found


def test_nothing_is_wrong_with_what_was_written(full: Desk) -> None:
    assert problems(full.root) == []
    assert problems(full.root, head(full.root)) == []


@pytest.mark.parametrize(
    ("table", "column"),
    [("changes", "row"), ("records", "record"), ("history", "record"), ("token_changes", "after")],
)
def test_every_altered_byte_is_found(full: Desk, table: str, column: str) -> None:
    chance = random.Random(19940120)
    with closing(unlocked(full.root)) as connection:
        select = f"SELECT rowid, {column} FROM {table} ORDER BY 1"
        if table in ("records", "history"):
            select = f"SELECT key, {column} FROM {table} ORDER BY 1"
        for name, value in connection.execute(select).fetchall():
            key = "key" if isinstance(name, str) else "rowid"
            update = f"UPDATE {table} SET {column}=? WHERE {key}=? AND {column}=?"
            data = value.encode() if isinstance(value, str) else value
            assert isinstance(data, bytes)
            at = chance.randrange(len(data))
            if b'"segment"' in data or data[:1] == b"=":
                at = chance.randrange(20)  # not where it lies: a rebuild may change that
            altered = data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :]
            if altered == data:
                continue
            changed = altered.decode() if isinstance(value, str) else altered
            connection.execute(update, (changed, name, value))
            assert problems(full.root), (name, at)
            forge_sums(connection)
            assert problems(full.root), (name, at)
            connection.execute(update, (value, name, changed))
            forge_sums(connection)
    assert problems(full.root) == []


@pytest.mark.parametrize(
    ("done", "told"),
    [
        (
            "DELETE FROM records WHERE key='hdl:1/1'",
            "it wrote 1 line at hdl:1/1, but 0",
        ),
        ("DELETE FROM history", "it wrote 1 line at "),
        ("DELETE FROM changes WHERE position=20", "1.20: "),
        (
            "UPDATE records SET position=5 WHERE key='hdl:1/1'",
            "it wrote 1 line at hdl:1/1, but 0",
        ),
        (
            """
            INSERT INTO records(key, record, position)
              SELECT 'hdl:1/2', record, 40 FROM records WHERE key='hdl:1/1'
            """,
            "None: 39 revisions stored, but changes wrote 38",
        ),
        ("UPDATE epochs SET reason='rebuild'", "1.1: what it wrote has another digest"),
        (
            "UPDATE epochs SET previous_epoch=0, previous_number=1, previous_chain='no chain'",
            "1.1: its epoch names no chain before it",
        ),
        ("DELETE FROM epochs", "no epoch begins before it"),
        (
            """
            UPDATE changes SET position=position+1000 WHERE position=40;
            UPDATE changes SET position=40 WHERE position=39;
            UPDATE changes SET position=39 WHERE position=1040
            """,
            "1.39: ",
        ),
    ],
)
def test_what_was_taken_away_or_slipped_in_is_found(full: Desk, done: str, told: str) -> None:
    with closing(unlocked(full.root)) as connection:
        connection.execute(done).fetchall()
    assert any(told in one for one in problems(full.root)), problems(full.root)


def test_a_change_that_cannot_be_read_hides_no_other(full: Desk) -> None:
    """How many revisions it wrote is not known then, so their number is no second problem."""
    count = len(full.registry.changes(limit=1000))
    with closing(unlocked(full.root)) as connection:
        connection.execute("DELETE FROM changes WHERE position=20")
    found = list(check_changes(full.registry.records))
    assert len({one.mark for one in found}) >= count - 12  # all but those up to the next full row
    assert not [one for one in found if one.problem and "changes wrote" in one.problem]


def test_a_broken_chain_hides_no_change(place: Path) -> None:
    """The row of change 1.9 is of a format without checksums, so that only its records and the next
    chain that is stored show that its digest was altered."""
    root = unpack_registry(5, place)
    with closing(unlocked(root)) as connection:
        query = "SELECT row FROM changes WHERE position=40"
        altered = bytearray(connection.execute(query).get)
        altered[-25] ^= 1
        connection.execute("UPDATE changes SET row=? WHERE position=40", (bytes(altered),))
    with Registry(root, environment={}) as registry:
        found = list(check_changes(registry.records))
    assert len({one.mark for one in found}) == 70
    told = [f"{one.mark}: {one.problem}" for one in found if one.problem]
    assert len(told) == 2
    assert told[0].startswith("1.9: what it wrote at ")
    assert told[1] == "1.34: it does not continue the chain"


@pytest.mark.parametrize(
    ("done", "problem"),
    [
        (
            "UPDATE records SET record=replace(record, 'press', 'Press') WHERE key LIKE '%/a7'",
            f"1.8: what it wrote at {TODAY}/7 has another digest",
        ),
        (
            "DELETE FROM records WHERE key LIKE '%/a7'",
            f"1.8: it wrote 1 line at {TODAY}/7, but 0 can be found",
        ),
        (
            "UPDATE records SET record='?' WHERE key LIKE '%/a7'",
            f"1.8: what it wrote at {TODAY}/7 has another digest",
        ),
        (
            "UPDATE token_changes SET after=replace(after, 'mint', 'bind')",
            "1.37: what it wrote to the token press has another digest",
        ),
    ],
)
def test_a_problem_names_the_record_as_people_write_it(full: Desk, done: str, problem: str) -> None:
    with closing(unlocked(full.root)) as connection:
        connection.execute(done).fetchall()
        forge_sums(connection)
    assert problem in problems(full.root)


def test_a_change_of_many_records_is_named_by_the_first_and_the_last(desk: Desk) -> None:
    desk.mint(text("x"))
    committer = desk.registry.door.committer
    assert committer is not None
    done = threading.Event()
    turn: Turn = [(Mint(authority=SERIES), lambda _: None)] * 3
    committer.enqueue_turn(turn, lambda _: done.set())
    done.wait()
    desk.registry.close()
    with closing(unlocked(desk.root)) as connection:
        connection.execute("DELETE FROM records WHERE key LIKE '%/a3'").fetchall()
    named = f"1.3: it wrote 3 lines from {TODAY}/2 to {TODAY}/4, but 2 can be found"
    assert named in problems(desk.root)


def test_only_a_saved_head_tells_that_the_past_was_rewritten(full: Desk, place: Path) -> None:
    """Somebody makes a registry with another past, all of whose hashes are right."""
    saved = head(full.root)
    other = Desk(full.root, full.clock)
    other.registry.close()
    with closing(unlocked(full.root)) as connection:
        connection.execute("DELETE FROM changes; DELETE FROM epochs; DELETE FROM words").fetchall()
        for table in ("records", "history", "token_changes"):
            connection.execute(f"UPDATE {table} SET position=NULL")
        connection.execute(
            "UPDATE records SET record=replace(record, 'a.example', 'b.example') "
            "WHERE key='hdl:1/1'"
        )
        forge_sums(connection)
    other.reopen()
    other.mint(text("one more"))
    other.registry.close()
    assert problems(full.root) == []
    (found,) = problems(full.root, saved)
    assert found == "1.40: a head 1.40 was saved, but that change is missing here"
    rewritten = head(full.root)
    forged = msgspec.structs.replace(rewritten, chain="00" * 32)
    (found,) = problems(full.root, forged)
    assert found.startswith("1.2: the past was rewritten: the chain is ")


def test_a_head_that_lies_ahead_is_told(full: Desk) -> None:
    ahead = ChainHead(epoch=1, number=1000, chain="00" * 32)
    assert problems(full.root, ahead) == [
        "1.1000: a head 1.1000 was saved, but that change is missing here"
    ]


def test_a_change_whose_salt_was_destroyed_is_no_problem(full: Desk) -> None:
    """And what it wrote may be erased by law: only its own line is missed then."""
    with closing(unlocked(full.root)) as connection:
        row = connection.execute("SELECT row FROM changes WHERE position=40").get
        connection.execute(
            "UPDATE changes SET row=? WHERE position=40", (bytes((row[0] & ~32,)) + row[1:-16],)
        )
        connection.execute(
            "UPDATE records SET record=replace(record, 'a.example', 'x.example') "
            "WHERE key='hdl:1/1'"
        )
        forge_sums(connection)
    assert problems(full.root) == []
    with closing(SqliteRecords(full.root)) as reader:
        assert reader.list_changes(ChangeMark(1, 39), limit=1)[0].salt is None


@pytest.mark.parametrize(
    ("key", "at", "byte"),
    [
        (f"{SERIES}/20261121/a1", 21, "_"),  # the line of a document with a field too few
        (f"{SERIES}/20261121/a1", -12, "7"),  # the offset of the bytes, which no digest covers
        (f"{SERIES}/20261121/a1", 0, "{"),  # neither a line nor JSON
        ("hdl:1/1", -10, "x"),  # another location
    ],
)
def test_a_damaged_record_is_one_problem_and_is_given_to_no_mirror(
    full: Desk, key: str, at: int, byte: str
) -> None:
    with closing(unlocked(full.root)) as connection:
        line = str(connection.execute("SELECT record FROM records WHERE key=?", (key,)).get)
        at %= len(line)
        changed = f"{line[:at]}{byte}{line[at + 1 :]}"
        assert changed != line
        connection.execute("UPDATE records SET record=? WHERE key=?", (changed, key))
    (problem,) = problems(full.root)
    assert "promised a row with its checksum" in problem
    with closing(SqliteRecords(full.root)) as reader:
        (change,) = [one for one in reader.list_changes(limit=100) if one.first == key]
        with pytest.raises(Corrupt):
            list(RowWriter(reader).write_full([change], lambda _, lines: lines, with_import=True))
        (row,) = RowWriter(reader).write_public([change])
        assert b'"act":"' in row  # a damaged record does not end the public feed
