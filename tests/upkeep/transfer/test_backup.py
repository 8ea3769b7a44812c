"""Backup while it is in use, and the restoration that docs/how-to/back-up.md tells of."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.conftest import NOON, SERIES, TODAY, Clock, Desk, large, text

from perdure.errors import Corrupt, InvalidRequest, PerdureError, Unavailable
from perdure.errors.conflicts import SerialsHandedOver
from perdure.errors.processes import HasWriter
from perdure.model.timestamps import format_timestamp
from perdure.registry import Registry, initialise
from perdure.settings import load_settings
from perdure.storage.durable import WRITE_LOCK, hold_lock
from perdure.storage.segments import ocfl
from perdure.storage.segments.store import Segments
from perdure.storage.sqlite.store import SqliteStore
from perdure.upkeep.transfer.backup import BackupProgress, back_up
from perdure.upkeep.transfer.promoting import Promotion, promote_copy
from perdure.upkeep.transfer.renewal import rebuild_registry

_CORPUS = Path(__file__).parents[4] / "shared" / "corpus" / "webarchive"
IANA = _CORPUS / "webrecorder+pywb__sample_archive_warcs_iana.warc.gz"
EXAMPLE = _CORPUS / "webrecorder+pywb__sample_archive_warcs_example.warc.gz"


def backed_up(desk: Desk, target: Path, **options: Any) -> list[BackupProgress]:
    return list(back_up(desk.root, target, SqliteStore(), Segments, **options))


def opened(root: Path) -> Desk:
    return Desk(root, Clock())


def promote(root: Path, now: datetime = NOON, **options: Any) -> Promotion:
    at = format_timestamp(now)
    return promote_copy(root, SqliteStore(), load_settings(root, {}), now=at, **options)


def test_a_backup_serves_what_the_registry_served(desk: Desk, place: Path) -> None:
    desk.mint(text("one"))
    desk.mint(large(desk.registry, bytes(9 << 20)))
    desk.bind("hdl:10.9999/x", "https://a.example", register=True)
    steps = backed_up(desk, place / "copy")
    assert steps[-1].share == 1
    promote(place / "copy", highest={SERIES: 2})
    copy = opened(place / "copy")
    assert copy.served(f"{TODAY}/1") == b"one"
    assert copy.record("hdl:10.9999/x").locations
    assert copy.problems() == []
    assert copy.mint(text("two")).identifier == f"{TODAY}/3.text.1"
    copy.registry.close()


def test_what_is_written_meanwhile_is_in_it_or_not_but_never_half(desk: Desk, place: Path) -> None:
    desk.mint(text("before"))
    for step in back_up(desk.root, place / "copy", SqliteStore(), Segments):
        desk.mint(text(f"during {step.phase}"))
    desk.mint(text("after"))
    copy = opened(place / "copy")
    assert copy.problems() == []
    (segment,) = (place / "copy" / "segments").glob("*.warc")
    (known,) = copy.registry.records.list_segments()
    assert segment.stat().st_size == known[1]
    assert copy.served(f"{TODAY}/1") == b"before"
    copy.registry.close()


@pytest.mark.corpus
def test_a_damaged_index_of_captures_is_an_error(desk: Desk, place: Path) -> None:
    """A disk can damage any file. The backup says which one cannot be copied."""
    desk.registry.archive.add_file(EXAMPLE)
    index = desk.root / "captures" / "index.sqlite"
    with closing(apsw.Connection(str(index))) as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    intact = index.read_bytes()
    for damaged in (intact[:12288], b"", bytes(4096), intact[:20] + b"\xff" + intact[21:]):
        index.write_bytes(damaged)
        with pytest.raises(PerdureError, match="index of captures"):
            backed_up(desk, place / "copy")
    index.unlink()
    index.mkdir()
    with pytest.raises(PerdureError, match="index of captures"):
        backed_up(desk, place / "copy")


@pytest.mark.corpus
def test_the_web_archive_goes_along(desk: Desk, place: Path) -> None:
    """Archive files that were moved into the registry, and index runs; whatever is added later."""
    desk.reopen(captures_in_sqlite=100)
    for number, source in enumerate((IANA, EXAMPLE)):
        moved = place / f"{number}.warc.gz"
        shutil.copy(source, moved)
        desk.registry.archive.add_file(moved, move=True)
        backed_up(desk, place / "copy")
    before = desk.registry.archive.captures.scan_range("", "~", limit=1000)
    desk.registry.close()
    shutil.rmtree(desk.root)
    with Registry(place / "copy") as copy:
        assert copy.archive.captures.scan_range("", "~", limit=1000) == before
        for capture in before[:20]:
            with closing(copy.archive.files.open_record(capture)) as record:
                assert dict(record.fields)["WARC-Date"] == capture.date


def test_a_second_backup_copies_only_what_is_new(desk: Desk, place: Path) -> None:
    desk.mint(text("one"))
    desk.mint(large(desk.registry, bytes(9 << 20)))
    backed_up(desk, place / "copy")
    files = {path: path.stat().st_ino for path in (place / "copy" / "segments").iterdir()}
    desk.commit(f"{TODAY}/1", text("two"))
    backed_up(desk, place / "copy")
    same = [path.name for path, inode in files.items() if path.stat().st_ino == inode]
    assert same == ["000002.warc"]
    copy = opened(place / "copy")
    assert copy.served(f"{TODAY}/1", 2) == b"two"
    assert copy.problems() == []
    copy.registry.close()


@pytest.mark.parametrize("link", [False, True])
def test_sealed_segments_are_copied_as_objects(desk: Desk, place: Path, link: bool) -> None:
    desk.mint(text("one"))
    backed_up(desk, place / "copy")
    desk.clock.advance(days=1)
    desk.mint(text("two"))
    assert desk.registry.seal() == [1]
    backed_up(desk, place / "copy", link=link)
    original, copy = (ocfl.content_path(root, 1) for root in (desk.root, place / "copy"))
    assert original.samefile(copy) is link
    assert not (place / "copy" / "segments" / "000001.warc").exists()
    assert (place / "copy" / "archive" / "0=ocfl_1.1").exists()
    restored = opened(place / "copy")
    assert restored.problems() == []
    restored.registry.close()


def test_a_copy_is_ready_to_be_served(desk: Desk, place: Path) -> None:
    """Readers must not wait for the writer, as in the original."""
    desk.mint(text("one"))
    backed_up(desk, place / "copy")
    assert sorted(path.name for path in (place / "copy").glob("registry*")) == ["registry.sqlite"]
    connection = apsw.Connection(str(place / "copy" / "registry.sqlite"))
    assert connection.execute("PRAGMA journal_mode").get == "wal"
    connection.close()


def test_an_interrupted_backup_leaves_the_earlier_one_usable(desk: Desk, place: Path) -> None:
    desk.mint(text("one"))
    backed_up(desk, place / "copy")
    for number in range(3):
        desk.mint(large(desk.registry, bytes([number]) * (9 << 20)))
    steps = back_up(desk.root, place / "copy", SqliteStore(), Segments)
    while next(steps).phase == "registry":
        pass
    steps.close()  # type: ignore[attr-defined]
    copy = opened(place / "copy")
    assert copy.served(f"{TODAY}/1") == b"one"
    assert copy.problems() == []
    copy.registry.close()
    backed_up(desk, place / "copy")
    assert opened(place / "copy").problems() == []


def test_a_backup_does_not_overwrite_something_else(desk: Desk, place: Path) -> None:
    (place / "home").mkdir()
    (place / "home" / "letter.txt").touch()
    with pytest.raises(InvalidRequest):
        backed_up(desk, place / "home")
    with pytest.raises(InvalidRequest):
        backed_up(desk, desk.root / "backup")
    with pytest.raises(InvalidRequest):
        backed_up(desk, desk.root)
    assert list((place / "home").iterdir()) == [place / "home" / "letter.txt"]


@pytest.mark.parametrize("of_bytes", [True, False])
def test_a_backup_does_not_overwrite_another_registry(
    desk: Desk, place: Path, *, of_bytes: bool
) -> None:
    """Be it in use, or itself a backup."""
    initialise(place / "another", series=(SERIES,))
    another = opened(place / "another")
    if of_bytes:
        another.mint(text("another's"))
    else:
        another.bind("hdl:10.9999/x", "https://a.example", register=True)
    backed_up(another, place / "copy")
    desk.bind("hdl:10.9999/y", "https://b.example", register=True)
    for target in (place / "another", place / "copy"):
        with pytest.raises(InvalidRequest, match="another registry"):
            backed_up(desk, target)
        assert list((target / "incoming").iterdir()) == []
        assert opened(target).registry.records.count_records() == 1
        assert opened(target).problems() == []


def restored(desk: Desk, backup: Path) -> None:
    """As the how-to tells, a day after the backup."""
    desk.registry.close()
    shutil.rmtree(desk.root)
    shutil.copytree(backup, desk.root)
    promote(desk.root, NOON + timedelta(days=1), highest={SERIES: 0})  # so it was believed
    desk.reopen()


@pytest.mark.parametrize("sealed", [True, False])
def test_what_a_restored_registry_lost_is_not_taken_for_its_own(
    desk: Desk, place: Path, *, sealed: bool
) -> None:
    """The same names, numbers and lengths as before, and other bytes."""
    desk.mint(text("one"))
    backed_up(desk, place / "monday")
    for body, day in (("before", "2026-11-22"), ("after!", "2026-11-22")):
        desk.clock.set(day)
        desk.mint(text(body))
        if sealed:
            desk.clock.set("2026-11-23")
            desk.registry.seal()
        if body == "before":
            backed_up(desk, place / "tuesday")
            restored(desk, place / "monday")
    with pytest.raises(InvalidRequest, match="before a restore"):
        backed_up(desk, place / "tuesday")
    copy = opened(place / "tuesday")
    assert copy.served("pdi://oma.eop.gov.us/2026/11/22/1") == b"before"
    assert copy.problems() == []


def test_a_copy_that_was_written_to_is_not_overwritten(desk: Desk, place: Path) -> None:
    """Both courses have the same names, and as many."""
    desk.mint(text("one"))
    backed_up(desk, place / "copy")
    promote(place / "copy", highest={SERIES: 1})
    copy = opened(place / "copy")
    copy.mint(text("three"))
    copy.registry.close()
    desk.mint(text("two"))
    with pytest.raises(InvalidRequest, match="written to"):
        backed_up(desk, place / "copy")
    assert opened(place / "copy").served(f"{TODAY}/2") == b"three"


def test_two_backups_into_one_directory_exclude_each_other(desk: Desk, place: Path) -> None:
    desk.mint(text("one"))
    steps = back_up(desk.root, place / "copy", SqliteStore(), Segments)
    next(steps)
    with pytest.raises(Unavailable, match="another backup is running"):
        backed_up(desk, place / "copy")
    list(steps)
    backed_up(desk, place / "copy")
    assert opened(place / "copy").problems() == []


def test_a_copy_in_use_by_a_writer_is_not_overwritten(desk: Desk, place: Path) -> None:
    desk.mint(text("one"))
    backed_up(desk, place / "copy")
    copy = opened(place / "copy")
    with hold_lock(place / "copy" / WRITE_LOCK, HasWriter(used="it")):
        desk.mint(text("two"))
        with pytest.raises(Unavailable, match="writing to it"):
            backed_up(desk, place / "copy")
    assert copy.problems() == []


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """Flushed directories and removed files, in order."""
    seen: list[tuple[str, str]] = []
    flush, unlink = os.fsync, Path.unlink

    def note_flush(fd: int) -> None:
        seen.append(("flush", str(Path(f"/proc/self/fd/{fd}").readlink())))
        flush(fd)

    def note_unlink(path: Path, missing_ok: bool = False) -> None:
        seen.append(("unlink", str(path)))
        unlink(path, missing_ok)

    monkeypatch.setattr(os, "fsync", note_flush)
    monkeypatch.setattr(Path, "unlink", note_unlink)
    return seen


def list_above(root: Path) -> list[str]:
    """The directories that hold the name of the first segment's object, the highest last."""
    place = ocfl.object_path(root, 1)
    return [str(one) for one in place.parents if one.is_relative_to(root / "archive")]


def test_an_object_is_durable_before_the_loose_copy_goes(
    desk: Desk, place: Path, calls: list[tuple[str, str]]
) -> None:
    """fsync(2): "Calling fsync() does not necessarily ensure that the entry in the directory
    containing the file has also reached disk. For that an explicit fsync() on a file descriptor for
    the directory is also needed." """
    copy = place / "copy"
    desk.mint(text("one"))
    backed_up(desk, copy)
    desk.clock.advance(days=1)
    desk.mint(text("two"))
    desk.registry.seal()
    calls.clear()
    backed_up(desk, copy)
    gone = calls.index(("unlink", str(copy / "segments" / "000001.warc")))
    assert {("flush", one) for one in list_above(copy)} <= set(calls[:gone])
    behind = {path for call, path in calls[gone:] if call == "flush"}
    assert {str(copy / "segments"), str(copy), str(place.resolve())} <= behind


def test_a_seal_repeats_its_flushes_after_a_crash(
    desk: Desk, place: Path, calls: list[tuple[str, str]]
) -> None:
    desk.mint(text("one"))
    loose = desk.root / "segments" / "000001.warc"
    kept = place / "kept"
    os.link(loose, kept)
    desk.clock.advance(days=1)
    desk.mint(text("two"))
    desk.registry.seal()
    os.link(kept, loose)  # as if the crash had come before it was removed
    calls.clear()
    ocfl.seal_segment(desk.root, 1, loose, at="2026-11-22T00:00:00Z")
    gone = calls.index(("unlink", str(loose)))
    assert {("flush", one) for one in list_above(desk.root)} <= set(calls[:gone])


def test_a_missing_segment_is_told(desk: Desk, place: Path) -> None:
    desk.mint(text("one"))
    (segment,) = (desk.root / "segments").glob("*.warc")
    os.truncate(segment, 10)
    with pytest.raises(Corrupt):
        backed_up(desk, place / "copy")
    segment.unlink()
    with pytest.raises(Corrupt):
        backed_up(desk, place / "copy")


def test_restoring_as_the_how_to_tells(desk: Desk, place: Path) -> None:
    desk.mint(text("one"))
    backed_up(desk, place / "backup")
    desk.mint(text("after the backup"))
    desk.registry.close()

    # A disaster: the registry file is gone, the segments are not.
    (desk.root / "registry.sqlite").write_bytes(b"not a registry any more" * 100)
    damaged = desk.root.rename(place / "damaged")
    shutil.copytree(place / "backup", desk.root)
    desk.reopen()
    assert desk.problems() == []
    assert desk.registry.records.count_records() == 1
    desk.registry.close()

    shutil.copytree(damaged / "segments", desk.root / "segments", dirs_exist_ok=True)
    promote(desk.root, desk.clock())
    steps = list(rebuild_registry(desk.root, SqliteStore(), Segments, now="2026-11-22T00:00:00Z"))
    assert all(step.problem is None for step in steps)
    desk.reopen()
    assert desk.served(f"{TODAY}/2") == b"after the backup"
    assert desk.problems() == []
    with pytest.raises(SerialsHandedOver):  # there may be names without bytes
        desk.mint()
    desk.clock.advance(days=1)
    assert desk.mint().identifier == "pdi://oma.eop.gov.us/2026/11/22/1"
    with Registry(desk.root, environment={}) as registry:
        assert registry.records.count_records() == 3
