"""A process with bounds, in which decoders that others wrote meet bytes that others deposited.

How it works: `Confined` keeps a few worker processes (`perdure.extractors.worker`). Each gets one
job at a time over a socket: the name of an extractor's entry point, a source and a selector. It
sends back the part, then the chunks of its body where that is a stream. Before each job the worker
lowers its own limits: seconds of CPU from now (RLIMIT_CPU), bytes of private memory (RLIMIT_DATA;
mapped files do not count). The parent waits a bounded time for each message, while it reads at all:
a slow reader keeps a worker busy, and is not cut off.

A worker that dies, hangs or meets a bound is replaced, and whoever asked gets OverBudget or
Undecodable. So is one whose stream nobody reads to its end.

What must stay true: nothing that happens in a worker harms the process that serves; a worker never
carries anything from one job into the next but imported modules.
"""

from __future__ import annotations

import contextlib
import pickle
import queue
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from perdure.errors import OverBudget, PerdureError, Undecodable
from perdure.extractors.port import Part, Source, Stream
from perdure.parts import Selector

_HEAD = struct.Struct(">IB")
RESULT, ERROR, CHUNKS, END = range(4)
_GRACE = 2  # wall-clock seconds beside those of CPU, for a machine that is busy


class Budget(msgspec.Struct, frozen=True):
    """What one part may take."""

    seconds: int = 20
    """Of CPU; and of waiting for each piece of it."""
    memory: int = 1 << 30
    """Bytes of private memory of the process."""


class Job(msgspec.Struct, frozen=True):
    """What a worker is asked to do."""

    extractor: str
    """`module:attribute` of its entry point."""
    source: Source
    selector: Selector | None
    """None: say what can be addressed."""
    indexes: Path | None
    budget: Budget


class Confined:
    """Runs jobs in worker processes, at most `most` at a time. Safe to use from several threads."""

    def __init__(self, *, most: int = 2, budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self._slots: queue.LifoQueue[_Worker | None] = queue.LifoQueue()
        for _ in range(most):
            self._slots.put(None)
        self._closed = threading.Event()

    def run(
        self, extractor: str, source: Source, selector: Selector | None, indexes: Path | None
    ) -> Any:
        """What the extractor gives: a Part, or extents where no selector is given.

        Raises what the extractor raises, OverBudget, or Undecodable where the decoder breaks down.
        """
        worker = self._slots.get()
        try:
            if worker is None:
                worker = _Worker()
            result = worker.start(Job(extractor, source, selector, indexes, self.budget))
        except PerdureError:
            self._slots.put(worker if worker is not None and worker.ready else None)
            raise
        except BaseException:
            if worker is not None:
                worker.kill()
            self._slots.put(None)
            raise
        if isinstance(result, Part) and isinstance(result.body, Stream):
            chunks = self._chunks(worker, source)
            return msgspec.structs.replace(result, body=Stream(chunks, result.body.length))
        self._slots.put(worker)
        return result

    def _chunks(self, worker: _Worker, source: Source) -> Iterator[bytes]:
        try:
            yield from worker.chunks(source, self.budget)
        finally:
            if not worker.ready:
                worker.kill()
            self._slots.put(worker if worker.ready else None)

    def close(self) -> None:
        """End the workers that have nothing to do."""
        with contextlib.suppress(queue.Empty):
            while True:
                worker = self._slots.get_nowait()
                if worker is not None:
                    worker.kill()


class _Worker:
    """One process, as its parent sees it."""

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
        self.ready = True
        """It waits for a job."""

    def start(self, job: Job) -> Any:
        self.ready = False
        self._socket.settimeout(job.budget.seconds + _GRACE)
        try:
            send(self._socket, RESULT, pickle.dumps(job))
            kind, data = receive(self._socket)
        except (OSError, EOFError) as error:
            raise self._failure(error, job.source, job.budget) from None
        result = pickle.loads(data)  # noqa: S301  (from our own child, over our own socket)
        streams = isinstance(result, Part) and isinstance(result.body, Follows)
        self.ready = not streams
        if kind == ERROR:
            raise result
        if streams:
            return msgspec.structs.replace(result, body=Stream(iter(()), result.body.length))
        return result

    def chunks(self, source: Source, budget: Budget) -> Iterator[bytes]:
        while True:
            try:
                kind, data = receive(self._socket)
            except (OSError, EOFError) as error:
                raise self._failure(error, source, budget) from None
            if kind == CHUNKS:
                yield data
                continue
            self.ready = True
            if kind == ERROR:
                raise pickle.loads(data)  # noqa: S301
            return

    def _failure(self, error: Exception, source: Source, budget: Budget) -> PerdureError:
        self.kill()
        what = f"this part of {source.name or source.path.name}"
        if isinstance(error, TimeoutError) or -self._process.returncode == signal.SIGXCPU:
            return OverBudget(what=what, limit=f"{budget.seconds} seconds")
        return Undecodable(
            identifier=source.name, media_type=source.media_type, reason="the decoder broke down"
        )

    def kill(self) -> None:
        self._socket.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.05)  # one that ended by itself says why
        self._process.kill()
        self._process.wait()


class Follows(Stream):
    """Stands for a stream whose chunks come after it."""

    def __init__(self, length: int | None) -> None:
        super().__init__(iter(()), length)

    def __reduce__(self) -> tuple[Any, ...]:
        return Follows, (self.length,)


# messages
# --------


def send(to: socket.socket, kind: int, data: bytes) -> None:
    to.sendall(_HEAD.pack(len(data), kind))
    to.sendall(data)


def receive(wire: socket.socket) -> tuple[int, bytes]:
    length, kind = _HEAD.unpack(_exactly(wire, _HEAD.size))
    return kind, bytes(_exactly(wire, length))


def _exactly(wire: socket.socket, length: int) -> bytearray:
    received = bytearray(length)
    view, got = memoryview(received), 0
    while got < length:
        count = wire.recv_into(view[got:])
        if not count:
            raise EOFError
        got += count
    return received
