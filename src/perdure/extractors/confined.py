"""Confined processes, which run third-party decoders over deposited bytes within bounds.

How it works: `Confined` has worker processes (`perdure.extractors.worker`), at most a few for each
extractor at a time, so that one kind of part cannot starve the others. Any worker can do any job,
and a few idle workers are kept. Each worker gets one job at a time over a socket: the name of an
extractor's entry point, a source and a selector. The worker sends back the part, and then the
chunks of its body if the body is a stream. Before each job the worker lowers its own limits:
seconds of CPU from now (RLIMIT_CPU) and bytes of private memory (RLIMIT_DATA; mapped files do not
count). The parent waits a bounded time for each message, but only while it reads: a slow reader
keeps a worker busy and is not cut off.

A worker that dies, hangs or reaches a limit is replaced, and the caller gets OverBudget or
Undecodable. A worker is also replaced if its stream is not read to the end, or if the client whose
part it cuts has left (`perdure.extractors.errands`).

What must stay true: nothing that happens in a worker harms the serving process. A worker carries
nothing from one job to the next except imported modules.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from perdure.errors import PerdureError, Undecodable
from perdure.errors.damage import DecoderCrashed
from perdure.errors.limits import TimeExceeded
from perdure.errors.processes import Stopping
from perdure.extractors.errands import hold_errand
from perdure.extractors.messages import (
    CHUNKS,
    END,
    JOB,
    LONGEST,
    REPLY,
    Budget,
    CutReply,
    Extents,
    FailedReply,
    Job,
    Reply,
    TextReply,
    encode,
    read_reply,
    read_selector,
    rebuild_error,
    receive_message,
    send_message,
    write_selector,
)
from perdure.extractors.port import Body, Extent, ListedLink, Part, Source, Stream
from perdure.parts import Selector

__all__ = ["AT_ONCE", "Budget", "Confined"]

AT_ONCE = 3
"""Jobs of one extractor that run at the same time, of one client of a server one less."""
_PATIENCE = 4  # wall-clock seconds that a second of CPU may take on a busy machine
_GRACE = 2  # wall-clock seconds in addition to those
_TO_PREPARE = 600  # seconds of CPU for one document
_UNREADABLE = (OSError, EOFError, ValueError)  # errors of reading from a crashed worker


class Confined:
    """Runs jobs in worker processes, at most `most` at a time for each extractor. Safe to use from
    several threads.
    """

    def __init__(self, *, most: int = AT_ONCE, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self._most = most
        self._lock = (
            threading.RLock()
        )  # for all of the below; a stream may be released while it is held
        self._turns: dict[str, threading.Semaphore] = {}
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._closed = False

    def extract_part(
        self,
        extractor: str,
        source: Source,
        selector: Selector,
        indexes: Path | None,
        *,
        outline: bool = False,
        seconds: int | None = None,
    ) -> Part:
        """Return the part that an extractor cuts. If an outline is enough, the part may have no
        body. `seconds` lowers the CPU time below the general limit.

        Raises what the extractor raises, OverBudget, or Undecodable if the decoder crashes.
        """
        most = self.budget.seconds
        budget = Budget(min(most if seconds is None else seconds, most), self.budget.memory)
        worker = self._take_worker(extractor)
        asked = write_selector(selector)
        with self._return_on_error(worker):
            cut = worker.run_job(Job(extractor, source, asked, indexes, budget, outline))
            if not isinstance(cut, CutReply):
                raise worker.make_breakdown(source)
            try:
                found = read_selector(cut.selector)
            except ValueError:  # not a part in its own syntax; MalformedPart is a ValueError
                raise worker.make_breakdown(source) from None
        if cut.pieces is not None:
            self._return_worker(worker)
        body: Body | None = Stream(iter(()), cut.length) if cut.outline else cut.pieces
        return Part(
            selector=found,
            media_type=cut.media_type,
            charset=cut.charset,
            body=Stream(_Chunks(worker, source, self._return_worker), cut.length)
            if body is None
            else body,
            slices=cut.slices,
            decoded=cut.decoded,
            facts=cut.facts,
        )

    def list_extents(
        self, extractor: str, source: Source, indexes: Path | None
    ) -> tuple[Extent, ...]:
        """Return the extents that an extractor reports. Raises what `extract_part` raises."""
        return self._request_extents(Job(extractor, source, None, indexes, self.budget))

    def prepare_source(self, extractor: str, source: Source, indexes: Path | None) -> None:
        """Let an extractor that is `Preparing` prepare a source. No request waits for it, so it may
        take longer.

        Raises what the extractor raises, OverBudget, or Undecodable if the decoder crashes.
        """
        budget = Budget(seconds=_TO_PREPARE, memory=self.budget.memory)
        self._request_extents(Job(extractor, source, None, indexes, budget, prepare=True))

    def map_text(self, extractor: str, source: Source) -> bytes:
        """Return the index that an extractor with `map_text` makes of a text. Raises what the
        extractor raises, OverBudget, or Undecodable if the decoder crashes.
        """
        return self._read_bytes(Job(extractor, source, None, None, self.budget, text=True))

    def list_links(self, extractor: str, source: Source) -> list[ListedLink]:
        """Return the links that an extractor with `list_links` lists. Raises what the extractor
        raises, OverBudget, or Undecodable if the decoder crashes.
        """
        found = self._read_bytes(Job(extractor, source, None, None, self.budget, links=True))
        try:
            return msgspec.json.decode(found, type=list[ListedLink])
        except msgspec.MsgspecError:
            raise DecoderCrashed(**source.subject) from None

    def _read_bytes(self, job: Job) -> bytes:
        """Return the bytes that a job makes."""
        source = job.source
        worker = self._take_worker(job.extractor)
        with self._return_on_error(worker):
            reply = worker.run_job(job)
            if not isinstance(reply, TextReply) or reply.length > LONGEST:
                raise worker.make_breakdown(source)
        index = bytearray()
        for chunk in _Chunks(worker, source, self._return_worker):
            index += chunk
            if len(index) > reply.length:
                break
        if len(index) != reply.length:
            raise worker.make_breakdown(source)
        return bytes(index)

    def _request_extents(self, job: Job) -> tuple[Extent, ...]:
        worker = self._take_worker(job.extractor)
        with self._return_on_error(worker):
            extents = worker.run_job(job)
            if not isinstance(extents, Extents):
                raise worker.make_breakdown(job.source)
        self._return_worker(worker)
        return extents.found

    def close(self) -> None:
        """End all workers, even busy ones, and start no more."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
            for worker in self._busy:
                worker.stop()  # a caller that waits for its answer gets an error
        for worker in idle:
            worker.kill()

    def _take_worker(self, extractor: str) -> _Worker:
        """Wait for a turn and return a worker for a job of this extractor. Raises Stopping after
        `close`.
        """
        with self._lock:
            turn = self._turns.setdefault(extractor, threading.Semaphore(self._most))
        turn.acquire()
        try:
            with self._lock:
                worker = self._idle.pop() if self._idle else None
            worker = worker or _Worker()
            worker.turn = turn
            with self._lock:
                if not self._closed:
                    self._busy.add(worker)
                    return worker
            worker.kill()
            raise Stopping(task="a decoder")
        except BaseException:
            turn.release()
            raise

    @contextlib.contextmanager
    def _return_on_error(self, worker: _Worker) -> Iterator[None]:
        """Release the worker if the block raises an error."""
        try:
            yield
        except BaseException:
            self._return_worker(worker)
            raise

    def _return_worker(self, worker: _Worker) -> None:
        turn = worker.turn
        with self._lock:
            self._busy.discard(worker)
            kept = worker.ready and len(self._idle) < self._most and not self._closed
            if kept:
                self._idle.append(worker)
        if not kept:
            worker.kill()
        if turn is not None:
            turn.release()


class _Worker:
    """A worker process as its parent sees it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "perdure.extractors.worker"],
            stdin=theirs.fileno(),
            stdout=subprocess.DEVNULL,
            close_fds=True,
        )
        theirs.close()
        self._socket = ours
        self._budget = Budget()
        self.ready = True
        """Whether it waits for a job."""
        self.turn: threading.Semaphore | None = None
        """The semaphore to release when its job is done."""

    def run_job(self, job: Job) -> Reply:
        """Return the answer to a job. Raises the error that the worker reports, or ClientLeft."""
        self.ready = False
        self._budget = job.budget
        self._socket.settimeout(_PATIENCE * job.budget.seconds + _GRACE)
        try:
            with hold_errand(self.stop):
                send_message(self._socket, JOB, encode(job))
                kind, data = receive_message(self._socket)
            reply: Reply | None = read_reply(data) if kind == REPLY else None
            error = rebuild_error(reply) if isinstance(reply, FailedReply) else None
        except (*_UNREADABLE, msgspec.DecodeError) as trouble:
            raise self._explain_failure(trouble, job.source) from None
        if reply is None:
            raise self.make_breakdown(job.source)
        streams = isinstance(reply, CutReply) and reply.pieces is None
        self.ready = not (streams or isinstance(reply, TextReply))
        if error is not None:
            raise error
        return reply

    def next_chunk(self, source: Source) -> bytes | None:
        """Return the next chunk of a stream, or None at its end. Raises the error that the worker
        reports instead.
        """
        try:
            kind, data = receive_message(self._socket)
            reply = read_reply(data) if kind == REPLY else None
            error = rebuild_error(reply) if isinstance(reply, FailedReply) else None
        except (*_UNREADABLE, msgspec.DecodeError) as trouble:
            raise self._explain_failure(trouble, source) from None
        if kind == CHUNKS:
            return data
        self.ready = kind == END or error is not None
        if kind == END:
            return None
        raise error or self.make_breakdown(source)

    def _explain_failure(self, trouble: Exception, source: Source) -> PerdureError:
        self.kill()
        if isinstance(trouble, TimeoutError) or -self._process.returncode == signal.SIGXCPU:
            return TimeExceeded(source=source.name or source.path.name, most=self._budget.seconds)
        return self.make_breakdown(source)

    def make_breakdown(self, source: Source) -> Undecodable:
        return DecoderCrashed(**source.subject)

    def stop(self) -> None:
        """End the process, so that a waiting caller can go on."""
        self._process.kill()

    def kill(self) -> None:
        self._socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.05)  # if it ended by itself, its exit code gives the cause
        self._process.kill()
        self._process.wait()


class _Chunks(Iterator[bytes]):
    """The chunks of a stream. The worker is released at the end of the stream, or when the reader
    stops early.
    """

    def __init__(
        self, worker: _Worker, source: Source, give_back: Callable[[_Worker], None]
    ) -> None:
        self._worker: _Worker | None = worker
        self._source = source
        self._give_back = give_back

    def __next__(self) -> bytes:
        if self._worker is None:
            raise StopIteration
        try:
            chunk = self._worker.next_chunk(self._source)
        except BaseException:
            self.close()
            raise
        if chunk is None:
            self.close()
            raise StopIteration
        return chunk

    def close(self) -> None:
        worker, self._worker = self._worker, None
        if worker is not None:
            self._give_back(worker)

    __del__ = close
