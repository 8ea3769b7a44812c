"""A registry made anew: from its segments, and from whatever the old file still tells."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest
from tests.conftest import TODAY, Desk, html, text

from perdure.errors import Unavailable
from perdure.ids import parse
from perdure.model.commands import Correct, SaveToken
from perdure.model.records import Location, Record, Token
from perdure.registry import Registry
from perdure.storage.ports import SalvagedRecord
from perdure.storage.segments.store import Segments
from perdure.storage.sqlite import renewing, salvaging
from perdure.storage.sqlite.opening import FILE
from perdure.storage.sqlite.salvaging import SqliteSalvage
from perdure.storage.sqlite.store import SqliteStore
from perdure.storage.sqlite.sums import sum_line
from perdure.upkeep.transfer.exporting import export_lines
from perdure.upkeep.transfer.renewal import (
    RebuildStep,
    _TakeOver,
    combine_records,
    rebuild_registry,
)

NOW = "2026-11-22T00:00:00Z"


def renewed(desk: Desk) -> list[RebuildStep]:
    desk.registry.close()
    steps = list(rebuild_registry(desk.root, SqliteStore(), Segments, now=NOW))
    desk.reopen()
    return steps


def problems(steps: list[RebuildStep]) -> list[str]:
    return [step.problem for step in steps if step.problem]


@pytest.fixture
def full(desk: Desk) -> Desk:
    desk.mint(text("one"), html("<p>one"), metadata={"title": "One"})
    desk.commit(f"{TODAY}/1", text("two"))
    desk.withdraw(f"{TODAY}/1.text.1")
    desk.mint(text("url"), uid="https://WWW.example.com/%7ex")
    desk.mint()
    desk.bind("hdl:10.9999/x", "https://a.example", register=True)
    desk.alias("hdl:10.9999/x", f"{TODAY}/1")
    token = Token(name="t", digest="0" * 64, operations=("mint",), authorities=("*",))
    desk.registry.door.execute_command(SaveToken(token=token))
    return desk


def test_nothing_is_lost_where_the_old_file_can_be_read(full: Desk) -> None:
    names = [f"{TODAY}/1", f"{TODAY}/2", "hdl:10.9999/x"]
    before = list(export_lines(full.registry))
    histories = [full.history(name) for name in names]
    changes = full.registry.records.list_token_changes("t")
    assert len(changes) == 1
    assert problems(renewed(full)) == []
    assert list(export_lines(full.registry)) == before
    assert [full.history(name) for name in names] == histories
    assert full.names(f"{TODAY}/1") == [f"{TODAY}/1", "doi:10.9999/x"]
    assert [one.name for one in full.registry.records.list_tokens()] == ["t"]
    assert full.registry.records.list_token_changes("t") == changes
    assert full.problems() == []
    assert full.mint().identifier == f"{TODAY}/3"


def test_a_file_from_before_tokens_had_a_history_is_no_damaged_one(full: Desk) -> None:
    full.registry.close()
    connection = apsw.Connection(str(full.root / FILE))
    connection.execute("DROP TABLE token_changes")
    connection.close()
    assert problems(renewed(full)) == []
    assert [one.name for one in full.registry.records.list_tokens()] == ["t"]


def test_without_the_old_file_the_segments_tell_what_they_can(full: Desk) -> None:
    full.registry.close()
    (full.root / FILE).unlink()
    assert problems(renewed(full)) == ["of the old registry: it does not exist"]
    assert full.served(f"{TODAY}/1", 2) == b"two"
    withdrawn = full.record(f"{TODAY}/1").version(1)
    assert withdrawn is not None
    assert withdrawn.tombstone is not None
    foreign = parse(f"{TODAY}/https:%2f%2fWWW%2eexample%2ecom%2f%257ex")
    kept = full.registry.listings.find_record(foreign)
    assert kept is not None
    assert "WWW" in kept.name
    assert full.registry.listings.find_record(parse("hdl:10.9999/x")) is None


def test_of_a_damaged_file_everything_is_taken_that_can_be_read(desk: Desk) -> None:
    for number in range(300):
        desk.bind(f"hdl:10.9999/{number:03}", f"https://a.example/{number}", register=True)
    desk.mint(text("one"))
    desk.registry.close()
    old = desk.root / FILE
    connection = apsw.Connection(str(old))
    pages = [
        page
        for (page,) in connection.execute(
            "SELECT pageno FROM dbstat WHERE name='records' AND pagetype='leaf' ORDER BY path"
        )
    ]
    connection.close()
    with old.open("r+b") as file:
        file.seek((pages[len(pages) // 2] - 1) * 4096)
        file.write(random.Random(4096).randbytes(4096))
    steps = renewed(desk)
    assert any("records" in problem for problem in problems(steps))
    assert 0 < desk.registry.records.count_records() < 301
    assert desk.served(f"{TODAY}/1") == b"one"
    assert desk.record("hdl:10.9999/000").locations
    kept = list((desk.root / "aside").glob("registry-*.sqlite"))
    assert len(kept) == 1


@pytest.mark.parametrize(
    ("key", "lost"), [("CAST(x'ff6162' AS TEXT)", 1), ("CAST(key AS BLOB)", 0)]
)
def test_a_key_that_sorts_behind_every_text_is_read(desk: Desk, key: str, lost: int) -> None:
    """Bytes that spell the key have its checksum: they are the key."""
    for number in range(3):
        desk.bind(f"hdl:10.9999/{number}", f"https://a.example/{number}", register=True)
    desk.registry.close()
    connection = apsw.Connection(str(desk.root / FILE))
    connection.execute("DROP TRIGGER records_hold")
    connection.execute(f"UPDATE records SET key={key} WHERE key='hdl:10.9999/1'")
    connection.close()
    assert len(problems(renewed(desk))) == lost
    assert desk.registry.records.count_records() == 3 - lost
    assert lost or desk.record("hdl:10.9999/1").locations


def test_a_promise_whose_bytes_are_in_no_segment_stays_a_promise(desk: Desk) -> None:
    desk.mint(text("one"))
    desk.registry.close()
    (segment,) = (desk.root / "segments").glob("*.warc")
    segment.unlink()
    renewed(desk)
    assert desk.record(f"{TODAY}/1").versions[0].representations
    assert len(desk.problems()) == 1


def test_what_only_the_segments_tell_is_a_new_revision(desk: Desk) -> None:
    """The registry file of a backup, with the segments of today."""
    desk.mint(text("one"))
    desk.registry.close()
    earlier = (desk.root / FILE).read_bytes()
    desk.reopen()
    desk.commit(f"{TODAY}/1", text("two"))
    desk.mint(text("new"))
    desk.registry.close()
    (desk.root / FILE).write_bytes(earlier)
    assert problems(renewed(desk)) == []
    assert desk.served(f"{TODAY}/1", 2) == b"two"
    assert desk.served(f"{TODAY}/2") == b"new"
    assert [one.revision for one in desk.history(f"{TODAY}/1")] == [1, 2]
    assert desk.record(f"{TODAY}/1").by == "rebuild"


def test_a_correction_that_only_the_segments_tell_is_applied(desk: Desk) -> None:
    """The bytes are where the old file says, so that only the correction is new."""
    desk.mint(text("one"))
    desk.mint(text("two"))
    desk.registry.close()
    earlier = (desk.root / FILE).read_bytes()
    desk.reopen()
    for charset in ("cp850", "iso-8859-2"):
        desk.registry.door.execute_command(
            Correct(identifier=parse(f"{TODAY}/1"), charset=charset, reason="read wrongly")
        )
    corrected = desk.record(f"{TODAY}/1").versions
    desk.withdraw(f"{TODAY}/2.text.1")
    desk.registry.close()
    (desk.root / FILE).write_bytes(earlier)
    assert problems(renewed(desk)) == []
    assert desk.record(f"{TODAY}/1").versions == corrected
    assert len(corrected[0].representations[0].corrections) == 2
    assert desk.record(f"{TODAY}/2").versions[0].tombstone is not None
    assert desk.problems() == []


def test_a_record_that_is_read_only_once_comes_from_the_segments(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is failing: what confirmed the head of the bytes is gone when it is taken over."""
    desk.mint(text("one"))
    desk.mint(text("two"))
    read_pages, reads = SqliteSalvage.read_pages, count(1)

    def read_less(
        salvage: SqliteSalvage, *, with_bytes: bool = False
    ) -> Iterator[list[SalvagedRecord]]:
        (page,) = read_pages(salvage, with_bytes=with_bytes)
        yield page[1:] if next(reads) == 2 else page

    monkeypatch.setattr(SqliteSalvage, "read_pages", read_less)
    assert problems(renewed(desk)) == []
    assert next(reads) == 3
    assert desk.served(f"{TODAY}/1") == b"one"
    assert [desk.record(f"{TODAY}/{number}").by for number in (1, 2)] == ["rebuild", "local"]


@pytest.mark.parametrize(
    "change",
    [
        "record=record",
        "record=replace(record, ' - - ', ' x - ')",
        "record=CAST(record AS BLOB)",
        "key=key || '/'",
        "key=CAST(X'ff' || key AS TEXT)",
        "position='x'",
        "position=999",
        "position=NULL",
        "sum=1",
    ],
)
@pytest.mark.parametrize("has_bytes", [True, False])
def test_a_page_and_its_records_are_taken_over_alike(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, change: str, has_bytes: bool
) -> None:
    """A damaged record is lost alone, whether or not the others are stored together."""
    for module in (renewing, salvaging):
        monkeypatch.setattr(module, "_SOME", 3)
    for number in range(1, 11):
        bound = Location(uri=f"https://a.example/{number}")
        desk.register(f"pdi://nara.gov.us/1997/09/01/{number}", locations=(bound,))
        if has_bytes:
            desk.mint(text("one"))
    desk.registry.close()
    with closing(sqlite3.connect(desk.root / FILE)) as connection, connection:
        connection.create_function("sum_line", 3, sum_line)
        connection.execute("DROP TRIGGER records_hold")
        connection.execute(f"UPDATE records SET {change} WHERE key LIKE '%a4'")
        if change != "sum=1" and "CAST" not in change:
            whole = "UPDATE records SET sum=sum_line(key, record, position)"
            connection.execute(f"{whole} WHERE typeof(position)<>'text'")
    shutil.copytree(desk.root, other := desk.root.parent / "other")
    short = list_rebuilt(desk.root)
    monkeypatch.setattr(SqliteSalvage, "_read_sound_page", lambda *_, **__: [])
    monkeypatch.setattr(_TakeOver, "_keep_locations", lambda *_: None)
    assert list_rebuilt(other) == short


def list_rebuilt(root: Path) -> list[object]:
    """What a rebuild reports, and the rows that it stores."""
    steps = list(rebuild_registry(root, SqliteStore(), Segments, now=NOW))
    with closing(sqlite3.connect(root / FILE)) as connection:
        rows = connection.execute("SELECT key, record, position, sum FROM records").fetchall()
        references = connection.execute("SELECT * FROM refers ORDER BY hash, key").fetchall()
    return [problems(steps), rows, references]


def test_it_waits_until_nobody_writes_or_reads(desk: Desk) -> None:
    desk.mint(text("one"))
    with pytest.raises(Unavailable, match="writing"):
        list(rebuild_registry(desk.root, SqliteStore(), Segments, now=NOW))
    desk.registry.close()
    with Registry(desk.root, environment={}) as reader:
        assert reader.records.count_records() == 1
        with pytest.raises(Unavailable, match="open"):
            list(rebuild_registry(desk.root, SqliteStore(), Segments, now=NOW))
        assert reader.records.count_records() == 1
    assert list((desk.root / "incoming").iterdir()) == []
    desk.reopen()


def _rebuild_until(root: Path, phase: str) -> None:
    for step in rebuild_registry(root, SqliteStore(), Segments, now=NOW):
        if step.phase == phase:
            os._exit(1)


@pytest.mark.parametrize("phase", ["segments", "records"])
def test_an_interrupted_rebuild_leaves_the_old_file_in_place(full: Desk, phase: str) -> None:
    before = list(export_lines(full.registry))
    full.registry.close()
    process = multiprocessing.get_context("spawn").Process(
        target=_rebuild_until, args=(full.root, phase)
    )
    process.start()
    process.join()
    assert process.exitcode == 1
    full.reopen()
    assert list(export_lines(full.registry)) == before
    full.registry.close()
    assert problems(renewed(full)) == []
    assert list(export_lines(full.registry)) == before


def test_where_they_contradict_the_old_registry_is_right() -> None:
    def record(digit: str, segment: int, **more: Any) -> Record:
        return Record(versions=(version(digit, segment),), **more)

    def version(digit: str, segment: int) -> Any:
        from perdure.model.records import Representation, Version

        held = Representation(
            format="text",
            media_type="text/plain",
            length=1,
            sha512=digit * 128,
            segment=segment,
            offset=5,
        )
        return Version(number=1, at=NOW, representations=(held,))

    old = record("a", 1, metadata={"title": "One"})
    assert combine_records(old, None) == old
    assert combine_records(old, record("b", 2)) == old
    moved = combine_records(old, record("a", 2))
    assert moved.versions == (version("a", 2),)
    assert moved.metadata == {"title": "One"}
    about = ("pdi://a.us/1997/09/01/1.text.1",)
    targeted = record("a", 2, targets=about)
    assert combine_records(old, targeted).targets == about  # written before records had targets
    other = msgspec.structs.replace(targeted, targets=("hdl:1/1",))
    assert combine_records(targeted, other).targets == about
