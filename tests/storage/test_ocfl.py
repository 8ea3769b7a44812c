"""Sealing: segments as OCFL 1.1 objects, judged by a validator that is not ours."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ocfl as validator
import pytest
from tests.conftest import TODAY, Desk, large, text

from perdure.model.records import Record
from perdure.registry import Registry
from perdure.storage.segments import ocfl
from perdure.storage.segments.directory import segment_path
from perdure.storage.segments.store import Segments


def valid(root: Path) -> bool:
    """What the validator of `ocfl-py` says about the storage root and every object in it."""
    store = validator.StorageRoot(root=str(root / "archive"))
    # `validate` answers for the hierarchy alone: what it thinks of the objects are the two counts.
    sound = store.validate(validate_objects=True, check_digests=True, log_errors=False)
    return bool(sound and store.good_objects == store.num_objects)


@pytest.fixture
def complete(desk: Desk) -> Desk:
    """A registry with two complete segments, one of them a single large document."""
    desk.reopen(segment_bytes=10_000)
    desk.mint(text(b"a" * 6000))
    desk.mint(text(b"b" * 6000))
    desk.mint(large(desk.registry, b"c" * (9 << 20), "text"))
    desk.mint(text("in the segment that is open now"))
    return desk


def contents(desk: Desk) -> list[bytes]:
    """All bytes as a reader finds them who has no file open yet."""
    with Registry(desk.root, environment={}, clock=desk.clock) as fresh:
        return [
            fresh.listings.read_bytes(one.representations[0])
            for _, record in fresh.records.scan_records("", "~", limit=100)
            if isinstance(record, Record)
            for one in record.versions
        ]


def test_an_empty_archive_is_valid(desk: Desk) -> None:
    assert valid(desk.root)


def test_sealed_segments_are_valid_objects(complete: Desk) -> None:
    before = contents(complete)
    assert complete.registry.seal() == [1, 3]
    assert len(list((complete.root / "archive").rglob("0=ocfl_object_1.1"))) == 2
    assert complete.segments() == ["000002.warc"]
    assert valid(complete.root)
    assert contents(complete) == before
    assert complete.problems() == []
    assert complete.registry.seal() == []


def test_the_validator_really_checks_digests(complete: Desk) -> None:
    complete.registry.seal()
    sealed = ocfl.content_path(complete.root, 1)
    sound = sealed.read_bytes()
    sealed.write_bytes(sound.replace(b"a", b"b", 1))
    assert not valid(complete.root)
    sealed.write_bytes(sound)
    assert valid(complete.root)
    inventory = ocfl.object_path(complete.root, 1) / "inventory.json"
    inventory.write_bytes(inventory.read_bytes().replace(b"perdure", b"perjury"))
    assert not valid(complete.root)


def test_an_inventory_says_whose_segment_it_is(complete: Desk) -> None:
    complete.registry.seal()
    inventory = json.loads((ocfl.object_path(complete.root, 3) / "inventory.json").read_bytes())
    assert inventory["id"] == "urn:perdure:segment:000003"
    assert inventory["versions"]["v1"]["created"] == "2026-11-21T12:00:00Z"
    assert ocfl.read_promised_digest(complete.root, 3) in inventory["manifest"]
    assert ocfl.list_objects(complete.root) == [1, 3]


def test_numbers_go_on_after_sealed_segments(complete: Desk) -> None:
    complete.registry.seal()
    (complete.root / "segments" / "000002.warc").rename(complete.root / "aside" / "lost.warc")
    complete.reopen()
    complete.mint(text("more"))
    assert complete.segments() == ["000004.warc"]


def test_the_segment_of_a_day_that_is_over_is_sealed_though_nothing_follows(desk: Desk) -> None:
    desk.mint(text("one"))
    assert desk.registry.seal() == []
    desk.clock.advance(days=1)
    assert desk.registry.seal() == [1]
    assert desk.segments() == []
    assert valid(desk.root)
    desk.mint(text("two"))
    assert desk.segments() == ["000002.warc"]
    assert desk.problems() == []


# Interruptions
# -------------


class _Interrupted(Exception):
    """Stands for the death of the process."""


class _Fuse:
    """Interrupts what changes files, just before the change that is counted out."""

    EVENTS = frozenset({"os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir"})

    def __init__(self) -> None:
        self.left: int | None = None
        sys.addaudithook(self)  # it cannot be taken away again: without a count it does nothing

    def __call__(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.left is None:
            return
        changes = event in self.EVENTS or (event == "open" and str(arguments[1]).startswith("w"))
        if changes:
            if self.left == 0:
                self.left = None
                raise _Interrupted
            self.left -= 1

    @contextmanager
    def after(self, changes: int) -> Iterator[None]:
        self.left = changes
        try:
            yield
        finally:
            self.left = None


FUSE = _Fuse()


def test_sealing_can_be_interrupted_at_each_step_and_repeated(complete: Desk) -> None:
    before = contents(complete)
    steps = 0
    while True:
        try:
            with FUSE.after(steps):
                complete.registry.seal()
            break
        except _Interrupted:
            steps += 1
        assert contents(complete) == before
        complete.reopen()  # which recovers, and must not take a sealed segment for an open one
        complete.mint(text(f"after the interruption at step {steps}"))
        before = contents(complete)
    assert steps > 20
    complete.registry.seal()
    assert valid(complete.root)
    assert contents(complete) == before
    assert complete.problems() == []
    assert list((complete.root / "incoming").iterdir()) == []


def test_what_an_archive_holds_is_not_written_to_through_the_other_link(desk: Desk) -> None:
    """Between the renaming of an object and the removal of the loose file, both are one file."""
    desk.mint(text("one"))
    desk.registry.close()
    loose = segment_path(desk.root, 1)
    ocfl.seal_segment(desk.root, 1, loose, at="2026-11-21T12:00:00Z")
    loose.hardlink_to(ocfl.content_path(desk.root, 1))
    desk.reopen()
    desk.mint(text("two"))
    assert valid(desk.root)
    assert desk.problems() == []
    desk.registry.seal()
    assert desk.segments() == ["000002.warc"]


def test_reading_goes_on_while_segments_are_sealed(desk: Desk) -> None:
    desk.reopen(segment_bytes=1)  # each document in a segment of its own
    data = [f"document {number}".encode() for number in range(40)]
    for one in data:
        desk.mint(text(one))
    places = [
        held.representations[0]
        for n in range(40)
        for held in desk.record(f"{TODAY}/{n + 1}").versions
    ]
    failures: list[BaseException] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            segments = Segments(desk.root)  # nothing is open yet: each path is looked up anew
            try:
                found = [segments.read_bytes(one) for one in places]
                assert found == data
            except BaseException as error:
                failures.append(error)
                return

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    assert len(desk.registry.seal()) == 39
    done.set()
    for reader in readers:
        reader.join()
    assert failures == []
    assert valid(desk.root)
