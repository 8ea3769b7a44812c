"""Batches on disk: where bytes go, what a restart finds, what is set aside."""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import msgspec
import pytest
from tests.conftest import SERIES, TODAY, Desk, large, text

from perdure.errors import Corrupt, Unavailable
from perdure.ids import parse
from perdure.model.commands import Load, LoadRow, Mint
from perdure.model.queries import Fetch
from perdure.model.records import Location, Record
from perdure.storage.reference_hashes import reference_hash
from perdure.storage.spool import HEAD_ROOM
from perdure.storage.sqlite.records import SqliteRecords

LARGE = bytes(range(256)) * 40_000  # 10 MB


def place(desk: Desk, name: str, version: int = 1) -> tuple[int, int]:
    """Segment and offset of the first representation of a version."""
    held = desk.record(name).version(version)
    assert held is not None
    return held.representations[0].segment, held.representations[0].offset


# Where bytes go
# --------------


def test_small_content_goes_to_the_open_segment(desk: Desk) -> None:
    for data in (b"", b"one", b"x" * (1 << 20)):
        desk.mint(text(data))
    assert desk.segments() == ["000001.warc"]
    assert [desk.served(f"{TODAY}/{n}") for n in (1, 2, 3)] == [b"", b"one", b"x" * (1 << 20)]


def test_more_than_8_mib_is_a_segment_of_its_own(desk: Desk) -> None:
    desk.mint(text("small"))
    name = desk.mint(large(desk.registry, LARGE)).identifier
    desk.commit(name, text("small again", "octet-stream"))
    assert place(desk, name, 1) == (2, HEAD_ROOM)
    assert place(desk, name, 2)[0] == 1
    shared, file = (desk.root / "segments" / f"00000{number}.warc" for number in (1, 2))
    assert file.stat().st_size == HEAD_ROOM + len(LARGE) + len("\r\n\r\n")
    assert file.stat().st_mode == shared.stat().st_mode
    assert desk.served(name, 1, "octet-stream") == LARGE


def test_a_segment_of_its_own_is_never_appended_to(desk: Desk) -> None:
    desk.mint(text("small"))
    name = desk.mint(large(desk.registry, LARGE)).identifier
    desk.reopen()
    desk.mint(text("after a restart"))
    assert place(desk, f"{TODAY}/3")[0] == 1
    desk.reopen()
    assert desk.served(name, 1, "octet-stream") == LARGE
    assert desk.problems() == []


def test_a_registry_may_begin_with_a_large_document(desk: Desk) -> None:
    desk.mint(large(desk.registry, LARGE))
    desk.reopen()
    desk.mint(text("small"))
    assert place(desk, f"{TODAY}/2")[0] == 2
    assert desk.problems() == []


def test_a_full_segment_is_followed_by_another(desk: Desk) -> None:
    desk.reopen(segment_bytes=10_000)
    for number in range(12):
        desk.mint(text(bytes([number]) * 3000))
    assert desk.segments() == [f"00000{n}.warc" for n in (1, 2, 3, 4)]
    desk.reopen()
    desk.mint(text("on it goes"))
    assert [desk.served(f"{TODAY}/{n + 1}") for n in range(12)] == [
        bytes([n]) * 3000 for n in range(12)
    ]
    assert desk.problems() == []


def test_a_new_day_begins_a_new_segment(desk: Desk) -> None:
    desk.mint(text("today"))
    desk.clock.set("2026-11-21T23:59:59")
    desk.mint(text("still today"))
    desk.clock.set("2026-11-22T00:00:00")
    desk.mint(text("tomorrow"))
    desk.reopen()
    desk.mint(text("tomorrow, after a restart"))
    assert desk.segments() == ["000001.warc", "000002.warc"]
    desk.clock.set("2026-11-23T00:00:00")
    desk.reopen()
    desk.mint(text("the day after"))
    assert desk.segments() == ["000001.warc", "000002.warc", "000003.warc"]


# What a restart finds
# --------------------


def test_what_lies_beyond_the_last_commit_is_set_aside(desk: Desk) -> None:
    desk.mint(text("one"))
    desk.registry.close()
    file = desk.root / "segments" / "000001.warc"
    sound = file.read_bytes()
    file.write_bytes(sound + b"WARC/1.1\r\nWARC-Type: resource\r\n")
    desk.reopen()
    desk.mint(text("two"))
    [tail] = (desk.root / "aside").iterdir()
    assert tail.read_bytes() == b"WARC/1.1\r\nWARC-Type: resource\r\n"
    assert file.read_bytes().startswith(sound + b"WARC/1.1\r\n")
    assert desk.problems() == []


def test_a_segment_that_no_commit_knows_is_set_aside(desk: Desk) -> None:
    desk.mint(text("one"))
    desk.registry.close()
    stray = desk.root / "segments" / "000002.warc"
    stray.write_bytes(b"half a document")
    desk.reopen(segment_bytes=1)
    desk.mint(text("two"))
    desk.mint(text("three"))
    assert [path.read_bytes() for path in (desk.root / "aside").iterdir()] == [b"half a document"]
    assert desk.served(f"{TODAY}/3") == b"three"
    assert desk.problems() == []


def test_a_segment_shorter_than_remembered_is_an_alarm(desk: Desk) -> None:
    desk.mint(text("one"))
    desk.mint(text("two"))
    file = desk.root / "segments" / "000001.warc"
    sound = file.read_bytes()
    desk.registry.close()
    file.write_bytes(sound[:-10])
    desk.reopen()
    for _ in range(2):  # nobody keeps the lock, and nothing is made worse
        with pytest.raises(Corrupt, match=f"promised {len(sound)} bytes"):
            desk.mint(text("three"))
    assert file.read_bytes() == sound[:-10]
    assert desk.served(f"{TODAY}/1") == b"one"  # readers go on
    file.write_bytes(sound)
    assert desk.mint(text("three")).identifier == f"{TODAY}/3.text.1"


def test_a_missing_segment_is_told_to_readers(desk: Desk) -> None:
    desk.mint(text("one"))
    desk.reopen()
    (desk.root / "segments" / "000001.warc").unlink()
    step = desk.resolve(f"{TODAY}/1")
    assert isinstance(step, Fetch)
    with pytest.raises(Corrupt, match="promised a file"):
        desk.registry.listings.read_bytes(step.representation)


def test_old_uploads_that_nobody_finished_are_cleared_away(desk: Desk) -> None:
    incoming = desk.root / "incoming"
    for name, age in (("1-abc", 2 * 86400), ("2-abc", 60)):
        (incoming / name).write_bytes(b"half")
        then = (incoming / name).stat().st_mtime - age
        os.utime(incoming / name, (then, then))
    desk.mint(text("one"))
    assert [path.name for path in incoming.iterdir()] == ["2-abc"]


# References of a bulk load
# -------------------------


def test_references_of_a_load_that_broke_off_are_merged_at_the_next_start(desk: Desk) -> None:
    name = parse(f"{TODAY}/memo")
    record = Record(locations=(Location(uri="https://a.example/"),))
    refers = (reference_hash("location:https://a.example/"),)
    row = LoadRow(name.key, msgspec.json.encode(record), 1, refers)
    desk.registry.door.execute_command(Load(rows=(row,)))
    assert desk.registry.listings.find_bound("https://a.example/") == ()
    desk.reopen()
    desk.mint(text("the first write opens the registry"))
    assert [str(one) for one in desk.registry.listings.find_bound("https://a.example/")] == [
        str(name)
    ]


@pytest.mark.parametrize("day", ["2026/11/21", "2026/11/22"])
def test_serials_go_on_after_numbers_that_were_loaded(desk: Desk, day: str) -> None:
    desk.mint(text("one"))
    name = parse(f"pdi://oma.eop.gov.us/{day}/41")
    row = LoadRow(name.key, msgspec.json.encode(Record(minted="text")), 1)
    desk.registry.door.execute_command(Load(rows=(row,), last=True))
    desk.clock.set(day.replace("/", "-"))
    assert desk.mint(text("two")).identifier == f"pdi://oma.eop.gov.us/{day}/42.text.1"


# Registries that cannot be opened
# --------------------------------


def test_a_registry_of_a_newer_format_is_left_alone(desk: Desk) -> None:
    desk.mint(text("one"))
    desk.registry.close()
    connection = apsw.Connection(str(desk.root / "registry.sqlite"))
    connection.execute("PRAGMA user_version=99; PRAGMA application_id=99")
    connection.close()
    desk.reopen()
    with pytest.raises(Unavailable, match="its format is 99, but this release reads"):
        desk.record(f"{TODAY}/1")
    with pytest.raises(Unavailable, match="its format is 99, but this release reads"):
        desk.mint(text("two"))


@pytest.mark.parametrize("damage", ["garbage", "nothing"])
def test_a_file_that_is_no_registry(desk: Desk, damage: str) -> None:
    desk.registry.close()
    file = desk.root / "registry.sqlite"
    file.unlink()
    if damage == "garbage":
        file.write_bytes(b"not a database, but long enough to be looked at" * 100)
    desk.reopen()
    with pytest.raises(Unavailable):
        desk.mint(text("one"))
    with pytest.raises(Unavailable):
        desk.record(f"{TODAY}/1")


def test_readers_need_no_writer(desk: Desk, tmp_path: Path) -> None:
    desk.mint(text("one"))
    reader = SqliteRecords(desk.root)
    assert reader.count_records() == 1
    reader.close()


def test_changes_of_a_batch_have_the_order_of_the_numbers(desk: Desk) -> None:
    """A mirror refuses a number that is "given out after" a higher one of its day."""
    here = Location(uri="https://example.org/here")
    mints = [
        Mint(authority=SERIES, locations=(here,), by="one"),
        Mint(authority=SERIES, contents=(text("a document"),), by="one"),
        Mint(authority=SERIES, locations=(here,), by="two"),
        Mint(authority=SERIES, by="one"),
        Mint(authority=SERIES, locations=(here,), by="one"),
        Mint(authority=SERIES, contents=(text("another"),), by="two"),
        Mint(authority=SERIES, contents=(text("a third"),), by="two"),
        Mint(authority=SERIES, locations=(here,), by="two"),
    ]
    desk.registry.door.elect_leader()
    committer = desk.registry.door.committer
    assert committer is not None
    committer._registrar.execute_commands(mints)
    changes = [one for one in desk.registry.changes() if one.first]
    assert [one.first for one in changes] == sorted(one.first for one in changes)
    assert sum(one.count for one in changes) == len(mints)
