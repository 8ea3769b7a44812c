"""What refers to something is found whether or not it was merged, by whoever looked before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import TODAY, Clock, Desk
from tests.storage.registries import unpack_registry

from perdure.ids import parse
from perdure.storage.reference_hashes import hash_references, reference_hash
from perdure.storage.sqlite import references
from perdure.storage.sqlite.journal import SqliteJournal
from perdure.storage.sqlite.opening import FILE
from perdure.storage.sqlite.records import SqliteRecords

MOST = 5
SLICES = 4


@pytest.fixture(autouse=True)
def merges_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "MOST_RECENT", MOST)
    monkeypatch.setattr(references, "_SLICES", SLICES)


@pytest.fixture
def reader(desk: Desk) -> Iterator[SqliteRecords]:
    with closing(SqliteRecords(desk.root)) as opened:
        yield opened


def bind(desk: Desk, number: int) -> str:
    name = f"hdl:1/{number}"
    desk.bind(name, f"https://a.example/{number}", f"https://all.example/{number % 2}",
              register=True)  # fmt: skip
    return parse(name).key


def asked(root: Path, statement: str) -> int:
    connection = apsw.Connection(str(root / FILE))
    try:
        found: int = connection.execute(statement).get
    finally:
        connection.close()
    return found


def unmerged(root: Path) -> int:
    return asked(root, "SELECT coalesce(sum(count), 0) FROM recent_references")


def test_found_at_once_and_for_ever(desk: Desk, reader: SqliteRecords) -> None:
    """A reader that looks after every write, and one that looks once, see the same."""
    keys: list[str] = []
    waiting: list[int] = []
    for number in range(40):
        keys.append(bind(desk, number))
        waiting.append(unmerged(desk.root))
        for one, key in enumerate(keys):
            assert reader.find_referring(f"location:https://a.example/{one}") == [key]
    assert max(waiting) < MOST + 2 * SLICES + 2  # two for each name, and a slice with each
    assert waiting != sorted(waiting)  # and so it was merged
    every = [f"location:https://a.example/{one}" for one in range(40)]
    assert reader.find_any_referring(every) == sorted(keys)
    even = sorted(keys[::2])
    assert reader.find_referring("location:https://all.example/0") == even
    with closing(SqliteRecords(desk.root)) as another:
        assert another.find_referring("location:https://all.example/0") == even
    assert reader.find_referring("location:https://nobody.example/") == []


def test_look_ups_find_what_was_written_since_the_state_was_released(
    desk: Desk, reader: SqliteRecords
) -> None:
    """While a state is held, the recent references are read once, and merged ones are not lost."""
    lookup, keys = reader.open_lookup(), []
    for number in range(40):
        keys.append(bind(desk, number))
        lookup.hold_state()
        for one, key in enumerate(keys):
            assert lookup.find_referring(f"location:https://a.example/{one}", limit=2) == [key]
        lookup.release_state()


def test_what_came_while_others_were_merged(desk: Desk, reader: SqliteRecords) -> None:
    """A merge that is half done, given up, and begun again by the next writer."""
    keys = [bind(desk, number) for number in range(4)]
    before = unmerged(desk.root)
    assert before >= MOST  # a merge has begun
    assert asked(desk.root, "SELECT count(*) FROM refers") > 0
    desk.reopen()
    keys += [bind(desk, number) for number in range(4, 20)]
    for one, key in enumerate(keys):
        assert reader.find_referring(f"location:https://a.example/{one}") == [key]
    assert unmerged(desk.root) < before + 2 * 16


def test_more_at_once_than_can_wait(root: Path) -> None:
    """As in a rebuild, whose batches are as large as segments."""
    with closing(SqliteJournal(root)) as writer:
        many = [(reference_hash(str(one)), f"key {one}") for one in range(50)]
        writer.begin_batch()
        writer.add_references(many)
        writer.commit_batch()
        assert unmerged(root) == 0
        assert writer.find_referring("7") == ["key 7"]


def test_a_batch_that_is_undone(root: Path) -> None:
    with closing(SqliteJournal(root)) as writer, closing(SqliteRecords(root)) as reader:
        for one in range(30):
            writer.begin_batch()
            writer.add_references([(reference_hash(str(one)), f"key {one}")])
            writer.roll_back()
            writer.begin_batch()
            writer.add_references([(reference_hash(f"kept {one}"), f"key {one}")])
            writer.commit_batch()
            assert reader.find_referring(str(one)) == []
            assert reader.find_referring(f"kept {one}") == [f"key {one}"]
        assert unmerged(root) < 30
        assert all(reader.find_referring(f"kept {one}") == [f"key {one}"] for one in range(30))


def test_what_a_revision_repeats_is_told_once(desk: Desk, reader: SqliteRecords) -> None:
    key = bind(desk, 1)
    for uri in ("https://b.example/", "https://c.example/"):
        desk.bind("hdl:1/1", uri)
        assert reader.find_referring("location:https://a.example/1") == [key]


def test_a_registry_that_only_older_releases_wrote(desk: Desk) -> None:
    key = bind(desk, 1)
    desk.registry.close()
    connection = apsw.Connection(str(desk.root / FILE))
    hash = reference_hash("location:https://a.example/1")
    connection.execute("INSERT INTO refers VALUES(?,?)", (hash, key))
    connection.execute("DROP TABLE recent_references")
    connection.close()
    with closing(SqliteRecords(desk.root)) as reader:
        assert reader.find_referring("location:https://a.example/1") == [key]
        assert reader.find_referring(f"location:https://a.example/{TODAY}") == []


def test_what_older_releases_wrote_down_is_taken_over(place: Path, clock: Clock) -> None:
    desk = Desk(unpack_registry(1, place), clock)
    desk.registry.close()
    key = "hdl:2000/0001"
    connection = apsw.Connection(str(desk.root / FILE))
    connection.execute(
        "DELETE FROM recent_references; DELETE FROM refers;"
        "CREATE TABLE recent_refers (number, hash, key)"
    )
    for number, uri in enumerate(("https://i.example/1", "https://all.example/1")):
        hash = reference_hash(f"location:{uri}")
        connection.execute("INSERT INTO recent_refers VALUES(?,?,?)", (number, hash, key))
    connection.close()
    desk.reopen()
    bind(desk, 2)
    desk.registry.close()
    assert asked(desk.root, "SELECT count(*) FROM sqlite_master WHERE name='recent_refers'") == 0
    with closing(SqliteRecords(desk.root)) as reader:
        assert reader.find_referring("location:https://i.example/1") == [key]
        assert reader.find_referring("location:https://all.example/1") == [key]


@given(st.lists(st.text()))
def test_hashes_are_the_same_alone_and_together(texts: list[str]) -> None:
    assert hash_references(texts) == tuple(reference_hash(one) for one in texts)


def test_only_what_is_not_there_is_unlinked(desk: Desk, reader: SqliteRecords) -> None:
    """Two records share each location of the second kind, and the index has them merged or not."""
    keys = [bind(desk, number) for number in range(1, 3 * MOST)]
    rows = [
        (reference_hash(f"location:{uri}"), key)
        for number, key in enumerate(keys, 1)
        for uri in (f"https://a.example/{number}", f"https://all.example/{number % 2}")
    ]
    assert reader.find_unlinked(rows) == reader.find_unlinked(rows[:1]) == []
    lost = [(rows[0][0], keys[1]), (rows[1][0], "hdl:1/none"), (0, keys[0])]
    assert reader.find_unlinked(rows + lost) == sorted(lost)
    assert reader.find_unlinked([*lost, *lost]) == sorted(lost)
    assert reader.find_unlinked([(1, keys[0]), *rows[::2]]) == [(1, keys[0])]
    assert reader.find_unlinked([(rows[0][0], keys[1])]) == [(rows[0][0], keys[1])]
