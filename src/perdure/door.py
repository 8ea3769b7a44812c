"""Handing a command in and waiting for its receipt, from a thread or from an event loop.

How it works: a door takes commands with `enqueue` and calls back with the answer from a thread of
its own. Waiting for it is the same for every door: a thread sleeps on an event; an event loop hands
in at the end of a turn what came up in it, and is woken once for all answers that are ready. So
neither side interrupts the other for every single command.

What must stay true: each command is answered exactly once.
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Callable
from functools import partial

from perdure.errors import PerdureError
from perdure.model import Command, Receipt
from perdure.registrar import Answer

Deliver = Callable[[Answer], None]
Waiting = list[tuple[Command, Deliver]]
Then = Callable[[Answer], None]


class Door(abc.ABC):
    """Where writes go in. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._exchanges: dict[asyncio.AbstractEventLoop, _Exchange] = {}

    @abc.abstractmethod
    def enqueue(self, command: Command, deliver: Deliver) -> None:
        """Queues a command; `deliver` is called with the answer, in a thread of the door."""

    def enqueue_all(self, waiting: Waiting) -> None:
        """Queues commands in this order."""
        for command, deliver in waiting:
            self.enqueue(command, deliver)

    @abc.abstractmethod
    def close(self) -> None:
        """Answers what was accepted, then stops."""

    @property
    @abc.abstractmethod
    def broken(self) -> PerdureError | None:
        """Why nothing is accepted any more, as far as is known here; None while all is well."""

    @property
    def is_open(self) -> bool:
        """Whether a command can be handed in without waiting for an election."""
        return True

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
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self.hand_in(command, partial(_settle, future))
        return receipt(await future)

    def hand_in(self, command: Command, then: Then) -> None:
        """Queues a command; `then` is called with the answer, in the event loop that runs now."""
        loop = asyncio.get_running_loop()
        exchange = self._exchanges.get(loop)
        if exchange is None:
            exchange = self._exchanges[loop] = _Exchange(loop, self.enqueue_all)
        exchange.hand_in(command, then)


def receipt(answer: Answer) -> Receipt:
    """The receipt; raises the answer where it is an error."""
    if isinstance(answer, PerdureError):
        # One error may answer a whole batch: each caller starts its own traceback.
        raise answer.with_traceback(None)
    return answer


def _settle(future: asyncio.Future[Answer], answer: Answer) -> None:
    if not future.done():  # nobody waits any more
        future.set_result(answer)


class _Exchange:
    """Commands and answers on their way from and to one event loop."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, enqueue_all: Callable[[Waiting], None]
    ) -> None:
        self._loop = loop
        self._enqueue_all = enqueue_all
        self._turn: Waiting = []
        self._ready: deque[tuple[Then, Answer]] = deque()
        self._woken = False

    def hand_in(self, command: Command, then: Then) -> None:
        if not self._turn:
            self._loop.call_soon(self._end_turn)
        self._turn.append((command, partial(self._deliver, then)))

    def _end_turn(self) -> None:
        turn, self._turn = self._turn, []
        self._enqueue_all(turn)

    def _deliver(self, then: Then, answer: Answer) -> None:
        self._ready.append((then, answer))
        if not self._woken:
            self._woken = True
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._resolve)

    def _resolve(self) -> None:
        # Cleared before the queue is emptied: an answer that comes later wakes the loop again.
        self._woken = False
        while self._ready:
            then, answer = self._ready.popleft()
            then(answer)
