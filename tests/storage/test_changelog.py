"""How a change lies in the file of the embedded store."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import TODAY, Desk, text

from perdure.errors import Corrupt
from perdure.ids import parse
from perdure.model.changes import ChangeMark
from perdure.storage.sqlite.change_rows import (
    ChangeRow,
    pack_leaf,
    pack_row,
    peek_row,
    unpack_row,
)
from perdure.storage.sqlite.opening import FILE
from perdure.storage.sqlite.records import SqliteRecords

times = st.one_of(
    st.datetimes().map(lambda moment: moment.isoformat(timespec="seconds") + "Z"),
    st.text(max_size=30),
)
words = st.integers(0, 1 << 40)
texts = st.text(st.characters(exclude_categories=["Cs"]))
rows = st.builds(
    ChangeRow,
    act=words,
    actor=words,
    at=times,
    first=texts,
    last=texts,
    records=st.integers(0, 10**9).filter(lambda count: count != 1),
    revision=words,
    digest=st.binary(min_size=32, max_size=32),
    salt=st.one_of(st.none(), st.binary(min_size=16, max_size=16)),
    leaf=st.none(),
)


@given(rows, st.tuples(times, texts), st.one_of(st.none(), st.binary(min_size=32, max_size=32)))
def test_a_row_is_read_as_it_was_written(
    row: ChangeRow, before: tuple[str, str], chain: bytes | None
) -> None:
    for one in (row, row._replace(records=1, last=row.first)):
        packed = pack_row(one, before, chain)
        assert unpack_row(packed, before) == (one, chain)
        at = None if chain is None and one.at == before[0] else one.at
        assert peek_row(packed) == (at, one.revision == 1)


@given(rows, st.tuples(times, texts), st.data())
def test_a_row_that_is_cut_off_or_goes_on_is_none(
    row: ChangeRow, before: tuple[str, str], data: st.DataObject
) -> None:
    packed = pack_row(row, before, None)
    cut = packed[: data.draw(st.integers(0, len(packed) - 1))]
    for broken in (cut, packed + b"\0"):
        with pytest.raises((ValueError, IndexError)):
            unpack_row(broken, before)
        assert peek_row(broken) is None


@given(rows, st.tuples(times, texts), st.data())
def test_a_flipped_bit_of_a_row_is_noticed(
    row: ChangeRow, before: tuple[str, str], data: st.DataObject
) -> None:
    """CRC-32 finds every single flipped bit. The salt is covered by the digest of the change."""
    packed = bytearray(pack_row(row, before, None))
    last = len(packed) - (16 if row.salt is not None else 0)
    packed[data.draw(st.integers(0, last - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises((ValueError, IndexError)):
        unpack_row(bytes(packed), before)
    assert peek_row(bytes(packed)) is None


hashes = st.binary(min_size=32, max_size=32)


@given(hashes, st.one_of(st.none(), hashes), st.data())
def test_a_leaf_is_read_as_it_was_written_and_a_flipped_bit_of_it_is_noticed(
    leaf: bytes, chain: bytes | None, data: st.DataObject
) -> None:
    """A row of a mirror for a change that it may not know."""
    packed = bytearray(pack_leaf(leaf, chain))
    row, before = unpack_row(bytes(packed), ("2026-11-23T12:00:00Z", "a"))
    assert (row.leaf, before, row.at, row.first) == (leaf, chain, "", "")
    assert peek_row(bytes(packed)) is None
    packed[data.draw(st.integers(0, len(packed) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises((ValueError, IndexError)):
        unpack_row(bytes(packed), ("", ""))


def test_the_salt_can_be_removed_from_a_row() -> None:
    """An erasure destroys the salt; the checksum of the row stays right."""
    row = ChangeRow(1, 2, "2026-11-23T12:00:00Z", "a", "a", 1, 1, bytes(32), bytes(16))
    packed = pack_row(row, ("", ""), None)
    bare = pack_row(row._replace(salt=None), ("", ""), None)
    assert bare == bytes((packed[0] & ~32,)) + packed[1:-16]


def test_a_redirect_minted_alone_costs_at_most_80_bytes(desk: Desk) -> None:
    """Its change and the number in its record, measured as the growth of full pages."""
    for number in range(1500):
        desk.clock.advance(seconds=1)
        desk.bind(f"hdl:4263537/{number:06}", "https://a.example/", register=True)
    desk.registry.close()
    connection = apsw.Connection(str(desk.root / FILE))
    (size,) = (connection.execute("SELECT sum(length(row)) FROM changes WHERE position>1").get,)
    assert connection.execute("SELECT count(*) FROM changes").get == 1501
    around = 2 + 3 + 2 + 3  # the cell, its position, the head of the row, its pointer in the page
    column = 1 + 3  # the type of the number in the record, and the number
    assert size / 1500 + around + column <= 80


def test_only_the_salt_can_be_destroyed(desk: Desk) -> None:
    for number in range(3):
        desk.mint(text(f"document {number}"))
    before = desk.registry.changes()
    desk.registry.close()
    connection = apsw.Connection(str(desk.root / FILE))
    for statement in (
        "DELETE FROM changes",
        "DELETE FROM epochs",
        "UPDATE epochs SET reason='rebuild'",
        "UPDATE changes SET position=position+10",
        "UPDATE changes SET row=zeroblob(length(row)) WHERE position=2",
        "UPDATE changes SET row=substr(row, 1, length(row) - 1) WHERE position=2",
    ):
        with pytest.raises(apsw.ConstraintError):
            connection.execute(statement)
    (row,) = (connection.execute("SELECT row FROM changes WHERE position=2").get,)
    bare = bytes((row[0] & ~32,)) + row[1:-16]
    connection.execute("UPDATE changes SET row=? WHERE position=2", (bare,))
    connection.close()
    with closing(SqliteRecords(desk.root)) as reader:
        found = reader.list_changes(limit=10)
    assert found[1].salt is None
    assert [one.chain for one in found] == [one.chain for one in before]
    assert found[1].digest == before[1].digest


@pytest.mark.parametrize("damage", ["DELETE FROM changes WHERE position=40", "row", "chain"])
def test_a_damaged_row_is_told_with_its_mark(desk: Desk, damage: str) -> None:
    for number in range(80):
        desk.mint(text(f"document {number}"))
    desk.registry.close()
    unlock(desk.root)
    connection = apsw.Connection(str(desk.root / FILE))
    if damage == "row":
        damage = "UPDATE changes SET row=substr(row, 1, 20) WHERE position=40"
    if damage == "chain":
        damage = (
            "UPDATE changes SET row=(SELECT row FROM changes WHERE position=1) WHERE position=33"
        )
    connection.execute(damage)
    connection.close()
    with closing(SqliteRecords(desk.root)) as reader:
        assert len(reader.list_changes(limit=30)) == 30
        with pytest.raises(Corrupt, match=r"change 1\.(40|33)"):
            reader.list_changes(ChangeMark(1, 10), limit=50)
        assert len(reader.list_changes(ChangeMark(1, 64), limit=50)) == 17
        sound = [(parse(f"{TODAY}/{number}").key, 1) for number in (10, 70)]
        changes = [reader.find_change(*one) for one in sound]
        assert reader.find_moments(sound) == [one and one.moment for one in changes]
        if "33" not in damage:
            for number in (39, 41):  # the second one has the same time
                with pytest.raises(Corrupt, match=r"change 1\.40"):
                    reader.find_moments([*sound, (parse(f"{TODAY}/{number}").key, 1)])


def test_a_minted_document_is_found_by_its_change(desk: Desk) -> None:
    desk.mint(text("one"))
    (change,) = desk.registry.changes("1.1")
    assert (change.act, change.actor) == ("mint", "local")
    ((key, line),) = desk.registry.records.find_lines(change)
    assert (key, line) == (change.first, desk.registry.records.find_stored(key))
    assert desk.record(f"{TODAY}/1").at == change.at


def unlock(root: Path) -> None:
    """Takes the locks off the tables, as somebody would who rewrites the past."""
    connection = apsw.Connection(str(root / FILE))
    names = "SELECT name FROM sqlite_master WHERE type='trigger'"
    for (name,) in connection.execute(names).fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    connection.close()
