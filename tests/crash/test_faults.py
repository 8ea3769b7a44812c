"""Disks that fail or are full: never a receipt for what is not durable, and a way to go on.

`strace` makes single system calls of a worker fail, as a failing disk would. A small file system in
memory is really full; it needs the right to mount one.
"""

from __future__ import annotations

import ctypes
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.conftest import SERIES, TODAY, Clock, Desk, StartWorker, Worker, large, text
from tests.crash.test_kill import check, serials
from tests.crash.worker import body, mint

from perdure.errors import StorageFailed
from perdure.ids import parse
from perdure.model.commands import Mint
from perdure.registry import Registry, initialise
from perdure.upkeep import audit

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
UPLOAD = "fsync:error=EIO:when=3"
COMMANDS, EVERY = 8, 5  # eight commands, the fifth of them large


def failing(fault: str) -> tuple[str, ...]:
    """The command line that makes system calls fail: which, how, and which of them."""
    traced = fault.partition(":")[0]
    # -D: the worker is our child, and not strace, so that it can be killed
    quiet = ("strace", "-D", "-f", "-qq", "--seccomp-bpf", "-o", os.devnull)
    return (*quiet, "-e", f"trace={traced}", "-e", f"inject={fault}")


def after_the_fault(root: Path, worker: Worker) -> None:
    """What was acknowledged is there; each key has one receipt; numbers are dense; all is sound."""
    with Registry(root, environment={}) as registry:
        check(registry, "anna", worker.receipts)
        again = list(mint(registry, "anna", COMMANDS, EVERY))
        assert [one["error"] for one in again if "error" in one] == []
        by_number = {one["number"]: one["identifier"] for one in again}
        assert len(set(by_number.values())) == COMMANDS
        for one in worker.receipts:
            assert by_number[one["number"]] == one["identifier"]
        check(registry, "anna", again)
        found = audit.verify_digests(registry.records, registry.bytes)
        assert [one.identifier for one in found if one.problem] == []
        for numbers in serials(registry).values():
            assert numbers == list(range(1, len(numbers) + 1))


@needs_strace
@pytest.mark.parametrize(
    ("fault", "end"),
    [
        # in turn: bytes, the log of the registry when it is new, and as it grows
        ("fdatasync:error=EIO:when=1", "kill"),
        ("fdatasync:error=EIO:when=2", "kill"),
        ("fdatasync:error=EIO:when=6", "stop"),
        ("fdatasync:error=EIO:when=6", "kill"),  # what was reported as failed may be found there
        ("fdatasync:error=EIO:when=7", "kill"),
        ("fdatasync:error=ENOSPC:when=5", "stop"),  # a failed flush is a failed flush
        # the directory of a new segment; an upload, the head before it, the directory behind it
        ("fsync:error=EIO:when=2", "kill"),
        (UPLOAD, "stop"),
        ("fsync:error=EIO:when=4", "kill"),
        ("fsync:error=EIO:when=5", "kill"),
        # bytes, the log of the registry, a large document on the way to its place
        ("pwrite64:error=EIO:when=9", "stop"),
        ("pwrite64:error=EIO:when=12", "kill"),
        ("rename:error=EIO:when=1", "kill"),
    ],
)
def test_after_a_failure_nothing_is_accepted_until_a_restart(
    root: Path, start: StartWorker, fault: str, end: str
) -> None:
    """Never retry a failed fsync: the kernel may have dropped the pages."""
    worker = start("mint", "anna", COMMANDS, EVERY, under=failing(fault))
    worker.hear_until("done")
    worker.kill() if end == "kill" else worker.stop()
    heard = ["error" if "error" in one else "receipt" for one in worker.said[1:-1]]
    assert len(heard) == COMMANDS
    assert set(worker.errors) == {"storage-failed"}
    failed = heard.index("error")
    if fault != UPLOAD:  # an upload that failed concerns nobody else
        assert heard == ["receipt"] * failed + ["error"] * (COMMANDS - failed)
    after_the_fault(root, worker)


@needs_strace
@pytest.mark.parametrize(
    "fault",
    [
        "pwrite64:error=ENOSPC:when=9",  # bytes
        "pwrite64:error=ENOSPC:when=12",  # the log of the registry
        "pwrite64:error=EDQUOT:when=20",
        "rename:error=ENOSPC:when=1",  # a large document into its place
    ],
)
def test_a_full_disk_takes_one_batch_back(root: Path, start: StartWorker, fault: str) -> None:
    worker = start("mint", "anna", COMMANDS, EVERY, under=failing(fault))
    worker.hear_until("done")
    worker.stop()
    assert worker.errors == ["storage-failed"]
    assert len(worker.receipts) == COMMANDS - 1
    after_the_fault(root, worker)


@needs_strace
@pytest.mark.parametrize("fault", ["fsync:error=EIO:when=1", "ftruncate:error=EIO:when=1"])
def test_a_registry_that_cannot_be_opened_is_tried_again(
    root: Path, start: StartWorker, fault: str
) -> None:
    worker = start("mint", "anna", 3, under=failing(fault))
    worker.hear_until("done")
    worker.stop()
    assert worker.errors == ["storage-failed"]
    assert len(worker.receipts) == 2


# Really full
# -----------


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A registry on a file system of 24 MiB with few inodes."""
    libc = ctypes.CDLL(None, use_errno=True)
    mounted = tmp_path / "small"
    mounted.mkdir()
    options = b"size=24m,nr_inodes=64"
    if libc.mount(b"none", bytes(mounted), b"tmpfs", 0, options) != 0:
        pytest.skip(f"no file system can be mounted: {os.strerror(ctypes.get_errno())}")
    try:
        initialise(mounted / "registry", series=(SERIES,))
        yield mounted
    finally:
        libc.umount2(bytes(mounted), 2)  # even if something is open


@pytest.fixture
def tight(small: Path, clock: Clock) -> Iterator[Desk]:
    desk = Desk(small / "registry", clock)
    yield desk
    desk.registry.close()


def fill(place: Path) -> Path:
    """A file that takes all the space there is."""
    ballast = place / "ballast"
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"\0" * 4096)
    return ballast


def test_writing_goes_on_once_there_is_space(tight: Desk) -> None:
    tight.mint(text("before"))
    ballast = fill(tight.root.parent)
    for _ in range(3):
        with pytest.raises(StorageFailed, match="the write could not be made durable"):
            tight.mint(text(b"x" * 300_000))
    with pytest.raises(StorageFailed):
        large(tight.registry, body("anna", 1, large=True))
    assert list((tight.root / "incoming").iterdir()) == []
    assert tight.served(f"{TODAY}/1") == b"before"  # reading goes on all the while
    ballast.unlink()
    assert tight.mint(text(b"x" * 300_000)).identifier == f"{TODAY}/2.text.1"
    assert tight.mint(large(tight.registry, b"y" * (9 << 20), "text")).identifier == (
        f"{TODAY}/3.text.1"
    )
    assert tight.problems() == []
    tight.reopen()
    assert tight.served(f"{TODAY}/2") == b"x" * 300_000


def test_a_disk_that_fills_up_while_it_is_written_to(tight: Desk) -> None:
    """Until the log, the segment or the registry itself finds no room: all three take turns."""
    names = []
    for size in (200_000, 20_000, 2_000, 200):
        with suppress(StorageFailed):
            while True:
                names.append(tight.mint(text(b"x" * size)).identifier)
    assert names == [f"{TODAY}/{number}.text.1" for number in range(1, len(names) + 1)]
    assert tight.problems() == []
    tight.registry.close()
    reopened = Desk(tight.root, tight.clock)
    assert reopened.registry.records.count_records() == len(names)
    reopened.registry.close()


def test_a_registry_that_finds_no_room_to_grow(tight: Desk) -> None:
    """Its log is overwritten in place; moving it into the file is what needs room."""
    names = []
    with suppress(StorageFailed):
        while True:
            names.append(tight.mint(metadata={"abstract": "x" * 100_000}).identifier)
    assert names == [f"{TODAY}/{number}" for number in range(1, len(names) + 1)]
    assert len(names) > 50
    tight.reopen()
    assert tight.registry.records.count_records() == len(names)
    assert tight.record(names[-1]).metadata == {"abstract": "x" * 100_000}


def test_a_day_begins_when_no_file_can_be_made(tight: Desk) -> None:
    tight.mint(text("yesterday"))
    ballast = tight.root.parent / "ballast"
    ballast.mkdir()
    with suppress(OSError):
        for number in range(100):
            (ballast / str(number)).touch()
    tight.clock.advance(days=1)
    for _ in range(3):
        with pytest.raises(StorageFailed, match="No space left"):
            tight.mint(text("today"))
    shutil.rmtree(ballast)
    assert tight.mint(text("today")).identifier == f"pdi://{SERIES}/2026/11/22/1.text.1"
    assert tight.served(f"{TODAY}/1") == b"yesterday"
    assert tight.problems() == []


def test_a_registry_on_a_full_disk_is_not_opened_for_writing(small: Path) -> None:
    ballast = fill(small)
    with Registry(small / "registry", environment={}) as registry:
        with pytest.raises(StorageFailed):
            registry.door.execute_command(Mint(authority=SERIES, metadata={"x": "y" * 100_000}))
        ballast.unlink()
        assert registry.door.execute_command(Mint(authority=SERIES)).identifier.endswith("/1")
        assert registry.listings.find_record(parse(f"pdi://{SERIES}/2026/01/01/1")) is None
