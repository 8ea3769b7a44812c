"""What `perdure.storage.ports.Records` promises, asked of everything that offers it.

Another store is added to `STORES` in `tests/storage/stores.py`, and must then pass all of this.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.conftest import SERIES, TODAY, Desk, sha512, text
from tests.storage.stores import STORES, StoreDesk

from perdure.ids import parse
from perdure.model.commands import SaveToken
from perdure.model.records import Location, Record, Token
from perdure.storage.ports import Records
from perdure.storage.reference_hashes import reference_hash
from perdure.storage.sqlite import copies, opening
from perdure.storage.sqlite.journal import SqliteJournal
from perdure.storage.sqlite.records import SqliteRecords
from perdure.upkeep.changes.walking import check_changes


def reader(root: Path) -> SqliteRecords:
    return SqliteRecords(root)


def writer(root: Path) -> SqliteRecords:
    return SqliteJournal(root)


def copy(root: Path) -> SqliteRecords:
    """Made while the original is open."""
    target = root.parent / "copy"
    target.mkdir()
    list(copies.SqliteCopy(root, target / opening.FILE).copy())
    return SqliteRecords(target)


def moved(root: Path) -> SqliteRecords:
    """The files as they lie there, log included."""
    sockets = shutil.ignore_patterns("*.sock")
    return SqliteRecords(shutil.copytree(root, root.parent / "moved", ignore=sockets))


EMBEDDED = [reader, writer, copy, moved]
"""The ways to read the embedded store."""
PRESS = Token(name="press", digest="d1", operations=("mint",), authorities=("*",))
DESK = Token(name="desk", digest="d2", operations=("bind",), authorities=("a.us",))


@pytest.fixture(params=[*EMBEDDED, *STORES], ids=lambda make: make.__name__)
def records(desk: Desk, request: pytest.FixtureRequest) -> Iterator[Records]:
    """Three documents of today in order 1, 2, 10 and a handle; number 2 has three revisions."""
    if request.param in STORES:
        other = StoreDesk(desk.root, desk.clock, request.param())
        fill(other)
        yield other.registry.records
        other.registry.close()
        return
    fill(desk)
    make: Callable[[Path], SqliteRecords] = request.param
    with closing(make(desk.root)) as made:
        yield made


def fill(desk: Desk) -> None:
    for number in range(1, 11):
        desk.mint(text(f"document {number}"))
    desk.commit(f"{TODAY}/2", text("again"))
    desk.bind(f"{TODAY}/2", Location(uri="https://a.example/", sha512=sha512(b"x")))
    desk.alias(f"{TODAY}/2", "hdl:1/2")
    desk.bind("hdl:1/3", "https://a.example/", register=True)
    for token in (PRESS, DESK):
        desk.registry.door.execute_command(SaveToken(token=token))


def key(name: str) -> str:
    return parse(name).key


def test_a_record_by_its_key(records: Records) -> None:
    found = records.find_record(key(f"{TODAY}/2"))
    assert found is not None
    assert (found.revision, len(found.versions), found.aliases) == (4, 2, ("hdl:1/2",))
    assert records.find_record(key(f"{TODAY}/11")) is None


def test_a_scan_is_in_order_and_excludes_its_end(records: Records) -> None:
    low, high = key(f"{TODAY}/2"), key(f"{TODAY}/10")
    found = [one for one, _ in records.scan_records(low, high, limit=100)]
    assert found == [key(f"{TODAY}/{number}") for number in range(2, 10)]
    assert [one for one, _ in records.scan_records(low, high, limit=3)] == found[:3]
    assert records.scan_records(high, low, limit=100) == []
    assert records.scan_records(low, high, limit=100)[0][1] == records.find_record(low)
    assert records.scan_lines(low, high, limit=3) == [
        (one, records.find_stored(one)) for one in found[:3]
    ]


def test_a_scan_of_runs_names_the_change_that_wrote_all_of_each(records: Records) -> None:
    lines = records.scan_lines("", None, limit=100)
    changes = {one.mark: one for one in records.list_changes(limit=100)}
    for low, limit in (("", 100), ("", 3), (key(f"{TODAY}/2"), 2)):
        runs = records.scan_runs(low, limit=limit)
        assert runs is not None
        assert [line for run in runs for line in zip(run.keys, run.texts, strict=True)] == [
            line for line in lines or () if line[0] >= low
        ][:limit]
        for run in runs:
            if run.change is not None:
                found = list(zip(run.keys, run.texts, strict=True))
                assert found == records.find_lines(changes[run.change])
    assert [run.change is None for run in records.scan_runs("", limit=2) or ()] == [False, False]
    assert records.scan_runs("~", limit=9) == []


def test_a_scan_of_records_with_bytes_leaves_out_none_of_them(records: Records) -> None:
    every = records.scan_records("", "~", limit=100)
    some = records.scan_records("", "~", limit=100, with_bytes=True)
    holding = [row for row in every if isinstance(row[1], Record) and row[1].versions]
    assert len(holding) == 10
    assert [row for row in every if row in some] == some
    assert [row for row in some if row in holding] == holding
    assert records.scan_records("", "~", limit=3, with_bytes=True) == some[:3]
    low, high = key(f"{TODAY}/2"), key(f"{TODAY}/10")
    between = records.scan_records(low, high, limit=100, with_bytes=True)
    assert between == [row for row in some if low <= row[0] < high]


def test_the_first_key(records: Records) -> None:
    assert records.find_first_key("", "~") == key("hdl:1/3")
    assert records.find_first_key(key(f"{TODAY}/10") + "\0", key(f"{TODAY}/99")) is None
    assert records.find_first_key(key(f"{TODAY}/2"), key(f"{TODAY}/2")) is None
    assert records.count_keys("", "~") == len(records.scan_records("", "~", limit=1000))
    assert records.count_keys(key(f"{TODAY}/2"), key(f"{TODAY}/2")) == 0
    assert records.count_keys(key(f"{TODAY}/2"), key(f"{TODAY}/2") + "\0") == 1


def test_what_refers_to_something(records: Records) -> None:
    both = sorted([key(f"{TODAY}/2"), key("hdl:1/3")])
    assert records.find_referring("location:https://a.example/") == both
    assert records.find_referring(f"sha512:{sha512(b'again')}") == [key(f"{TODAY}/2")]
    assert records.find_referring(f"sha512:{sha512(b'x')}") == [key(f"{TODAY}/2")]
    assert records.find_referring(f"alias:{key('hdl:1/2')}") == [key(f"{TODAY}/2")]
    assert records.find_referring("location:https://b.example/") == []


def test_the_history_is_complete_and_in_order(records: Records) -> None:
    history = records.list_revisions(key(f"{TODAY}/2"))
    assert [one.revision for one in history] == [1, 2, 3, 4]
    assert [len(one.versions) for one in history] == [1, 2, 2, 2]
    assert history[-1] == records.find_record(key(f"{TODAY}/2"))
    assert records.list_revisions(key(f"{TODAY}/99")) == []
    assert records.list_past(key(f"{TODAY}/2"), history[-1].revision) == history[:-1]
    assert records.list_past(key(f"{TODAY}/2"), history[0].revision) == []


@pytest.mark.parametrize("cold", [False, True])
def test_raw_records_and_look_ups_say_the_same(records: Records, *, cold: bool) -> None:
    lookup = records.open_lookup(cold=cold)
    for name in (f"{TODAY}/1", "hdl:1/3", f"{TODAY}/11"):
        raw = records.find_stored(key(name))
        assert lookup.find_stored(key(name)) == raw
        assert (raw is None) is (records.find_record(key(name)) is None)


def test_the_last_record_of_a_range(records: Records) -> None:
    """ "The last record with low <= key <= high: its key and its stored form." """
    lookup = records.open_lookup()
    handle = key("hdl:1/3")
    stored = (handle, records.find_stored(handle))
    assert lookup.find_last_stored("hdl:1/", f"{handle}/x") == stored
    assert lookup.find_last_stored("hdl:1/", handle) == stored
    assert lookup.find_last_stored(handle, handle) == stored
    assert lookup.find_last_stored("hdl:1/", "hdl:1/2") is None
    assert lookup.find_last_stored(f"{handle}/", f"{handle}/x") is None
    last = lookup.find_last_stored("", "~")
    assert last is not None
    assert last[0] == max(one for one, _ in records.scan_records("", None, limit=100))


@pytest.mark.parametrize("cold", [False, True])
def test_look_ups_find_what_refers_to_something(records: Records, *, cold: bool) -> None:
    lookup = records.open_lookup(cold=cold)
    both = records.find_referring("location:https://a.example/")
    for _ in range(2):
        assert lookup.find_referring("location:https://a.example/", limit=3) == both
        (one,) = lookup.find_referring("location:https://a.example/", limit=1)
        assert one in both
        alias = f"alias:{key('hdl:1/2')}"
        assert lookup.find_referring(alias, limit=2) == [key(f"{TODAY}/2")]
        assert lookup.find_referring("location:https://b.example/", limit=2) == []


def test_counts(records: Records) -> None:
    assert (records.count_records(), records.count_revisions()) == (11, 14)


def test_every_change_verifies(records: Records) -> None:
    assert [one.number for one in records.list_changes(limit=100)] == list(range(1, 18))
    assert not [one for one in check_changes(records) if one.problem]


def test_keys_with_a_text(records: Records) -> None:
    assert records.list_keys_with("hdl:1/") == [key("hdl:1/3")]
    assert records.list_keys_with(f"{SERIES}/") == sorted(
        key(f"{TODAY}/{number}") for number in range(1, 11)
    )
    assert records.list_keys_with("%") == []


def test_references_that_are_not_found(records: Records) -> None:
    known, other = key(f"{TODAY}/2"), key(f"{TODAY}/1")
    alias = reference_hash(f"alias:{key('hdl:1/2')}")
    rows = [(alias, known), (alias, other), (reference_hash("alias:hdl:1/9"), known)]
    assert records.find_unlinked(rows) == rows[1:]
    assert records.find_unlinked([]) == []


def test_a_store_that_is_whole_has_nothing_to_report(records: Records) -> None:
    assert list(records.check_integrity()) == []


def test_tokens(records: Records) -> None:
    assert records.find_token("d1") == PRESS
    assert records.find_token("d3") is None
    assert records.list_tokens() == [DESK, PRESS]


def test_what_was_acknowledged_before_the_call_is_seen(desk: Desk) -> None:
    with closing(SqliteRecords(desk.root)) as other:
        for number in range(1, 6):
            desk.mint(text("a"), authority=SERIES)
            assert other.find_record(key(f"{TODAY}/{number}")) is not None
