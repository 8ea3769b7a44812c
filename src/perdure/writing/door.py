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
from collections.abc import Callable, Iterable
from functools import partial

from perdure.errors import PerdureError
from perdure.model.commands import Command, Receipt
from perdure.writing.registrar import Answer

Then = Callable[[Answer], None]
Turn = list[tuple[Command, Then]]
"""Commands that were handed in together, and what each answer is for."""
Arrive = Callable[[Iterable[tuple[Then, Answer]]], None]


class Door(abc.ABC):
    """Where writes go in. All methods may be called from any thread."""

    def __init__(self) -> None:
        self._exchanges: dict[asyncio.AbstractEventLoop, _Exchange] = {}

    @abc.abstractmethod
    def enqueue_turn(self, turn: Turn, arrive: Arrive) -> None:
        """Queues commands in this order; `arrive` is called in a thread of the door, with one
        answer or with several, until each has come."""

    def enqueue(self, command: Command, then: Then) -> None:
        """Queues a command; `then` is called with the answer, in a thread of the door."""
        self.enqueue_turn([(command, then)], _arrive)

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

    def submit(self, command: Command) -> asyncio.Future[Receipt]:
        """The same for the event loop that runs now, which goes on with other work meanwhile."""
        return self._exchange(asyncio.get_running_loop()).submit(command)

    def hand_in(self, command: Command, then: Then) -> None:
        """Queues a command; `then` is called with the answer, in the event loop that runs now."""
        self._exchange(asyncio.get_running_loop()).hand_in(command, then)

    def _exchange(self, loop: asyncio.AbstractEventLoop) -> _Exchange:
        try:
            return self._exchanges[loop]
        except KeyError:
            found = self._exchanges[loop] = _Exchange(loop, self.enqueue_turn)
            return found


def receipt(answer: Answer) -> Receipt:
    """The receipt; raises the answer where it is an error."""
    if isinstance(answer, PerdureError):
        # One error may answer a whole batch: each caller starts its own traceback.
        raise answer.with_traceback(None)
    return answer


def _arrive(answers: Iterable[tuple[Then, Answer]]) -> None:
    for then, answer in answers:
        then(answer)


def _settle(future: asyncio.Future[Receipt], answer: Answer) -> None:
    if future.done():  # nobody waits any more
        return
    if isinstance(answer, PerdureError):
        future.set_exception(answer.with_traceback(None))
    else:
        future.set_result(answer)


class _Exchange:
    """Commands and answers on their way from and to one event loop."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, enqueue_turn: Callable[[Turn, Arrive], None]
    ) -> None:
        self._loop = loop
        self._enqueue_turn = enqueue_turn
        self._turn: Turn = []
        self._ready: deque[Iterable[tuple[Then, Answer]]] = deque()
        self._woken = False

    def hand_in(self, command: Command, then: Then) -> None:
        if not self._turn:
            self._loop.call_soon(self._end_turn)
        self._turn.append((command, then))

    def submit(self, command: Command) -> asyncio.Future[Receipt]:
        future: asyncio.Future[Receipt] = self._loop.create_future()
        self.hand_in(command, partial(_settle, future))
        return future

    def _end_turn(self) -> None:
        turn, self._turn = self._turn, []
        self._enqueue_turn(turn, self._arrive)

    def _arrive(self, answers: Iterable[tuple[Then, Answer]]) -> None:
        self._ready.append(answers)
        if not self._woken:
            self._woken = True
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._resolve)

    def _resolve(self) -> None:
        # Cleared before the queue is emptied: an answer that comes later wakes the loop again.
        self._woken = False
        while self._ready:
            for then, answer in self._ready.popleft():
                try:
                    then(answer)
                except Exception as error:  # the others have their answers all the same
                    context = {"message": "an answer could not be given", "exception": error}
                    self._loop.call_exception_handler(context)
