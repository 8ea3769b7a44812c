"""Work that may be abandoned, because the client that asked for it has left.

How it works: a caller that starts work in a thread gives it an `Errand`, in a context of its own.
While the work waits for another process, it says how to stop that process (`hold_errand`).
`abandon` stops it, from any thread, and the work ends with ClientLeft.

What must stay true: an errand stops only what it holds at that moment; it can be abandoned at any
time, also before or after the work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

from perdure.errors.processes import ClientLeft


class Errand:
    """One piece of work for one client. `kind` names the work, as in ClientLeft."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._lock = threading.Lock()
        self._stop: Callable[[], None] | None = None
        self._is_abandoned = False

    def abandon(self) -> None:
        """Stop what the work waits for, now or as soon as it waits."""
        with self._lock:
            self._is_abandoned = True
            if self._stop is not None:
                self._stop()

    @contextmanager
    def holding(self, stop: Callable[[], None]) -> Iterator[None]:
        """Let `stop` be called while the block waits. Raises ClientLeft if the work is abandoned,
        whatever error the block then has.
        """
        with self._lock:
            self._require_client()
            self._stop = stop
        try:
            yield
        finally:
            with self._lock:
                self._stop = None
                self._require_client()

    def _require_client(self) -> None:
        if self._is_abandoned:
            raise ClientLeft(kind=self._kind)


_CURRENT: ContextVar[Errand | None] = ContextVar("perdure_errand", default=None)


def start_errand(errand: Errand, work: Callable[..., Any], *arguments: Any) -> Any:
    """Do work for an errand. Call it in a context of its own."""
    _CURRENT.set(errand)
    return work(*arguments)


def hold_errand(stop: Callable[[], None]) -> AbstractContextManager[None]:
    """Let `stop` be called while the block waits, if the running work is an errand."""
    errand = _CURRENT.get()
    return nullcontext() if errand is None else errand.holding(stop)
