"""Helper processes: parts of one long task, done at the same time.

How it works: `fork_helpers` forks processes, which wait for calls of the methods of a work object
that each makes for itself. Each method is a generator; its items are sent back as they come. The
call that is next goes to the process that is free. `RunHere` does the same in this process, so that
a caller has one way to write its task.

What must stay true: fork before any file of a registry is open and before threads start; SQLite's
locks do not survive a fork. No helper outlives the process that forked it.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple, Protocol

from perdure.errors.processes import HelperEnded

MOST = 8
"""Processes; each opens the registry and needs some memory."""


class Call(NamedTuple):
    """A method of the work object, which is a generator, and its arguments."""

    method: str
    arguments: tuple[Any, ...] = ()


class Helpers(Protocol):
    """Carries out calls."""

    count: int
    """Number of calls that are carried out at the same time."""

    def run_calls(self, calls: Sequence[Call]) -> Iterator[tuple[int, Any]]:
        """Yield the index of a call and an item of it, as they come.

        Raises what a method raises, or Unavailable if a process ends.
        """

    def tell_all(self, call: Call) -> None:
        """Have each work object carry out a call that yields nothing."""


class RunHere:
    """Carries out the calls in this process, one after the other."""

    count = 1

    def __init__(self, work: object) -> None:
        self._work = work

    def run_calls(self, calls: Sequence[Call]) -> Iterator[tuple[int, Any]]:
        for index, call in enumerate(calls):
            for item in getattr(self._work, call.method)(*call.arguments):
                yield index, item

    def tell_all(self, call: Call) -> None:
        for _ in getattr(self._work, call.method)(*call.arguments):
            pass


class HelperProcesses:
    """Carries out the calls in other processes."""

    def __init__(self, connections: Sequence[Connection]) -> None:
        self._connections = tuple(connections)
        self.count = len(connections)

    def run_calls(self, calls: Sequence[Call]) -> Iterator[tuple[int, Any]]:
        waiting = deque(enumerate(calls))
        running: dict[Connection, int] = {}
        for connection in self._connections:
            _give_next(connection, waiting, running)
        while running:
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)  # noqa: S101 - wait() knows sockets, too
                is_end, item = _receive(ready)
                if not is_end:
                    yield running[ready], item
                    continue
                if item is not None:
                    raise item
                del running[ready]
                _give_next(ready, waiting, running)

    def tell_all(self, call: Call) -> None:
        for connection in self._connections:
            connection.send(call)
        for connection in self._connections:
            _, error = _receive(connection)
            if error is not None:
                raise error


def _give_next(
    connection: Connection, waiting: deque[tuple[int, Call]], running: dict[Connection, int]
) -> None:
    if waiting:
        index, call = waiting.popleft()
        running[connection] = index
        connection.send(call)


def _receive(connection: Connection) -> tuple[bool, Any]:
    """True and an error or None at the end of a call, else False and an item of it."""
    try:
        found: tuple[bool, Any] = connection.recv()
    except (EOFError, OSError) as error:
        raise HelperEnded from error
    return found


def count_cores() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def fork_helpers(
    count: int, make_work: Callable[[], AbstractContextManager[object]]
) -> Iterator[HelperProcesses]:
    """Fork processes, each of which makes its own work object with its first call.

    They end with the block.
    """
    context = multiprocessing.get_context("fork")
    ours: list[Connection] = []
    processes = []
    try:
        for _ in range(count):
            here, there = context.Pipe()
            ours.append(here)
            process = context.Process(target=_serve, args=(there, tuple(ours), make_work))
            process.daemon = True
            process.start()
            there.close()
            processes.append(process)
        yield HelperProcesses(ours)
    finally:
        for connection in ours:
            connection.close()
        for process in processes:
            process.terminate()
            process.join()


def _serve(
    calls: Connection,
    inherited: Sequence[Connection],
    make_work: Callable[[], AbstractContextManager[object]],
) -> None:
    """Carry out calls until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process is interrupted as well
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    for connection in inherited:
        connection.close()
    try:
        call: Call = calls.recv()
        with make_work() as work:
            while True:
                error: Exception | None = None
                try:
                    for item in getattr(work, call.method)(*call.arguments):
                        calls.send((False, item))
                except OSError:
                    raise
                except Exception as raised:
                    error = raised
                calls.send((True, error))
                call = calls.recv()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return
