"""Records that must be read from the disk: threads read them, and the event loop serves others.

How it works: the registry is a file that is mapped into memory. A look-up of a record that is not
in the page cache stops its thread until the disk has read it. While that is rare, the event loop
looks up all records itself, which costs least. `check_waits` asks the system ten times a second how
often the event loop had to wait. After more than a few times the registry counts as cold: a thread
looks each record up first, and the event loop does it again when the record is in the page cache.
Many threads wait for the disk at once, each with a connection of its own; meanwhile another one
reads the complete file, if there is memory for it. When they no longer have to wait, the event loop
looks up all records itself again.

What must stay true: a warm registry costs nothing here. Nothing that a thread found is used, so it
cannot be out of date.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from resource import RUSAGE_THREAD, getrusage
from typing import Protocol

from perdure.errors import PerdureError
from perdure.model.queries import LOCAL_READER, Query
from perdure.reading.resolve import ReadDoor
from perdure.reading.targets import read_name
from perdure.storage.ports import RecordLookUp, Records

CHECK_EVERY = 0.1  # seconds
_MANY = 2  # waits between two checks
_WARM_AFTER = 10  # checks, each after fewer waits than that
_THREADS = 32


class WaitCounts(Protocol):
    """Counts how often the calling thread has waited for the disk."""

    def count_faults(self) -> int:
        """Waits for pages of mapped files."""

    def count_blocks(self) -> int:
        """Blocks that were read from the disk."""


class SystemCounts:
    """The counts of the operating system."""

    def count_faults(self) -> int:
        return getrusage(RUSAGE_THREAD).ru_majflt

    def count_blocks(self) -> int:
        return getrusage(RUSAGE_THREAD).ru_inblock


class ColdReads:
    """Reads records from the disk for one worker. Call its methods only in the event loop."""

    def __init__(
        self, records: Records, reading: ReadDoor, counts: WaitCounts | None = None
    ) -> None:
        self.is_cold = False
        """True while records must be read in threads before they are looked up."""
        self._records = records
        self._reading = reading
        self._counts = counts or SystemCounts()
        self._waits: int | None = None
        """Of the event loop, at the last check."""
        self._waited = 0
        """Threads that had to wait since the last check."""
        self._warm_checks = 0
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="perdure-cold")
        self._local = threading.local()

    def check_waits(self) -> None:
        """Decide whether the registry is cold. Call this every `CHECK_EVERY` seconds."""
        before, self._waits = self._waits, self._counts.count_faults()
        waits = self._waited + (0 if before is None else self._waits - before)
        self._waited = 0
        if waits >= _MANY:
            self._warm_checks = 0
            if not self.is_cold:
                self.is_cold = True
                self._threads.submit(self._read_ahead)
        elif self.is_cold:
            self._warm_checks += 1
            self.is_cold = self._warm_checks < _WARM_AFTER

    def start_reading(self, key: str, then: Callable[[], None]) -> None:
        """Read a record from the disk, and then call a function."""

        def finish(future: asyncio.Future[None]) -> None:
            try:
                future.result()
            finally:
                then()

        self._run_in_thread(self._read_record, key).add_done_callback(finish)

    def read_target(self, text: str) -> Awaitable[None]:
        """Read from the disk what is needed to resolve the name in a request target, if any."""
        return self._run_in_thread(self._resolve_target, text)

    def close(self) -> None:
        """Wait for the threads, and end them."""
        self.is_cold = False
        self._threads.shutdown()

    def _run_in_thread(self, work: Callable[[str], object], text: str) -> asyncio.Future[None]:
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(self._threads, self._count_wait, work, text)

    # in a thread
    # -----------

    def _read_ahead(self) -> None:
        with suppress(OSError, PerdureError):  # it only makes look-ups faster
            self._records.read_ahead(lambda: self.is_cold)

    def _count_wait(self, work: Callable[[str], object], text: str) -> None:
        before = self._counts.count_blocks()
        with suppress(PerdureError):  # who looks up next reports it
            work(text)
        if self._counts.count_blocks() > before:
            self._waited += 1  # now and then one is lost to another thread

    def _read_record(self, key: str) -> str | None:
        lookup: RecordLookUp | None = getattr(self._local, "lookup", None)
        if lookup is None:
            lookup = self._local.lookup = self._records.open_lookup(cold=True)
        return lookup.find_stored(key)

    def _resolve_target(self, text: str) -> None:
        name = read_name(text)
        if self._read_record(name.identifier.whole.key) is None:
            # an alias, or a part: the records to which it leads
            self._reading.resolve(
                Query(reader=LOCAL_READER, identifier=name.identifier, part=name.part)
            )
