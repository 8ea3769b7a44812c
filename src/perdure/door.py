"""Handing a command in and waiting for its receipt, from a thread or from an event loop.

How it works: a door takes commands with `enqueue` and calls back with the answer from a thread of
its own. Waiting for it is the same for every door: a thread sleeps on an event; an event loop gets
its futures resolved, all that are ready with one wake-up.

What must stay true: each command is answered exactly once.
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable

from perdure.errors import PerdureError
from perdure.model import Command, Receipt
from perdure.registrar import Answer

Deliver = Callable[[Answer], None]


class Door(abc.ABC):
    """Where writes go in. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._replies: dict[asyncio.AbstractEventLoop, _Replies] = {}

    @abc.abstractmethod
    def enqueue(self, command: Command, deliver: Deliver) -> None:
        """Queues a command; `deliver` is called with the answer, in a thread of the door."""

    @abc.abstractmethod
    def close(self) -> None:
        """Answers what was accepted, then stops."""

    @property
    @abc.abstractmethod
    def broken(self) -> PerdureError | None:
        """Why nothing is accepted any more, as far as is known here; None while all is well."""

    def execute(self, command: Command) -> Receipt:
        """Carries out a command and waits for it. Raises what was wrong with it."""
        done = threading.Event()
        answers: list[Answer] = []

        def deliver(answer: Answer) -> None:
            answers.append(answer)
            done.set()

        self.enqueue(command, deliver)
        done.wait()
        return receipt(answers[0])

    async def submit(self, command: Command) -> Receipt:
        """The same for an event loop, which goes on with other work meanwhile."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        replies = self._replies.get(loop)
        if replies is None:
            replies = self._replies[loop] = _Replies(loop)
        self.enqueue(command, lambda answer: replies.add(future, answer))
        return receipt(await future)


def receipt(answer: Answer) -> Receipt:
    """The receipt; raises the answer where it is an error."""
    if isinstance(answer, PerdureError):
        # One error may answer a whole batch: each caller starts its own traceback.
        raise answer.with_traceback(None)
    return answer


class _Replies:
    """Answers on their way to one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._ready: deque[tuple[asyncio.Future[Answer], Answer]] = deque()
        self._woken = False

    def add(self, future: asyncio.Future[Answer], answer: Answer) -> None:
        self._ready.append((future, answer))
        if not self._woken:
            self._woken = True
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._resolve)

    def _resolve(self) -> None:
        # Cleared before the queue is emptied: an answer that comes later wakes the loop again.
        self._woken = False
        while self._ready:
            future, answer = self._ready.popleft()
            if not future.done():
                future.set_result(answer)
