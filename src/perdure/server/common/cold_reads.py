"""Records that must be read from the disk: threads read them, and the event loop serves others.

How it works: the registry is a file that is mapped into memory. A look-up of a record that is not
in the page cache stops its thread until the disk has read it. While that is rare, the event loop
looks up all records itself, which costs least. `check_waits` asks the system ten times a second how
often the event loop had to wait. After more than a few times the registry counts as cold: a thread
looks each record up first, and the event loop does it again when the record is in the page cache.
Many threads wait for the disk at once, each with a connection of its own; meanwhile another one
reads the complete file, if there is memory for it. They wake the event loop once for all records
that have arrived, because each wake costs as much as a look-up. When they no longer have to wait,
the event loop looks up all records itself again.

What must stay true: a warm registry costs nothing here. Nothing that a thread found is used, so it
cannot be out of date.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from queue import SimpleQueue
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


class _Arrivals:
    """Calls functions in one event loop as soon as threads have done their work for them."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._done: deque[tuple[Callable[[], None], Exception | None]] = deque()
        self._woken = False

    def note_done(self, then: Callable[[], None], error: Exception | None) -> None:
        """Let the event loop call `then`, and report the error of the work. Called in a thread."""
        self._done.append((then, error))
        if not self._woken:
            self._woken = True
            with suppress(RuntimeError):  # the loop is closed, so no one waits
                self.loop.call_soon_threadsafe(self._give_done)

    def _give_done(self) -> None:
        # Cleared before the queue is emptied: work that is done later wakes the loop again.
        self._woken = False
        while self._done:
            then, error = self._done.popleft()
            if error is not None:
                self._report(error)
            try:
                then()
            except Exception as fault:  # the others still get their records
                self._report(fault)

    def _report(self, error: Exception) -> None:
        context = {"message": "a record was not read from the disk", "exception": error}
        self.loop.call_exception_handler(context)


class _Threads:
    """Threads that read for event loops; all are started at the first use."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._started: list[threading.Thread] = []
        self._arrivals: _Arrivals | None = None

    def start_job(self, job: Callable[[], None]) -> None:
        """Do this in a thread. It must raise nothing."""
        while len(self._started) < self._count:
            thread = threading.Thread(target=self._run_jobs, name="perdure-cold", daemon=True)
            self._started.append(thread)
            thread.start()
        self._jobs.put(job)

    def start_work(self, work: Callable[[], None], then: Callable[[], None]) -> None:
        """Do this in a thread, and then call `then` in the running event loop."""
        loop = asyncio.get_running_loop()
        arrivals = self._arrivals
        if arrivals is None or arrivals.loop is not loop:
            arrivals = self._arrivals = _Arrivals(loop)

        def job() -> None:
            error = None
            try:
                work()
            except Exception as fault:  # the event loop reports it
                error = fault
            arrivals.note_done(then, error)

        self.start_job(job)

    def close(self) -> None:
        """Wait until all work is done, and end the threads."""
        for _ in self._started:
            self._jobs.put(None)
        for thread in self._started:
            thread.join()
        self._started.clear()

    def _run_jobs(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


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
        self._threads = _Threads(_THREADS)
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
                self._threads.start_job(self._read_ahead)
        elif self.is_cold:
            self._warm_checks += 1
            self.is_cold = self._warm_checks < _WARM_AFTER

    def start_reading(self, key: str, then: Callable[[], None]) -> None:
        """Read a record from the disk, and then call a function."""
        self._threads.start_work(partial(self._count_wait, self._read_record, key), then)

    def read_target(self, text: str) -> Awaitable[None]:
        """Read from the disk what is needed to resolve the name in a request target, if any."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def finish() -> None:
            if not done.done():  # or the request was given up
                done.set_result(None)

        self._threads.start_work(partial(self._count_wait, self._resolve_target, text), finish)
        return done

    def close(self) -> None:
        """Wait for the threads, and end them."""
        self.is_cold = False
        self._threads.close()

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
