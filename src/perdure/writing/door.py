"""Write doors: hand in a command and wait for its receipt, in a thread or in an event loop.

How it works: a door takes commands with `enqueue_command` and calls back with the answer from a
thread of its own. All doors wait in the same way. A thread sleeps on an event. An event loop
collects the commands of one turn, hands them in at its end, and is woken once for all answers that
are ready. So neither side interrupts the other for every single command.

What must stay true: each command is answered exactly once.
"""

from __future__ import annotations

import abc
import asyncio
import contextlib
import threading
from asyncio import Future
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from threading import get_ident

from perdure.errors import PerdureError
from perdure.model.commands import Answer, Command, Receipt

Taker = Callable[[Answer], None]
Then = Taker | Future[Receipt]
"""Takes the answer of a command: a function, or in an event loop a future."""
Turn = list[tuple[Command, Then]]
"""Commands that were handed in together, each with what takes its answer."""
Arrive = Callable[[Iterable[tuple[Then, Answer]]], None]


class Door(abc.ABC):
    """Takes all writes to a registry. Every method may be called from any thread."""

    def __init__(self) -> None:
        self._exchanges: dict[int, _Exchange] = {}
        """By thread."""
        self._last: _Exchange | None = None
        """The exchange that was used last, which is nearly always the one that is needed."""

    @abc.abstractmethod
    def enqueue_turn(self, turn: Turn, arrive: Arrive) -> None:
        """Queue commands in this order.

        A thread of the door calls `arrive` with one or more answers, until all have arrived.
        """

    def enqueue_command(self, command: Command, then: Taker) -> None:
        """Queue a command; a thread of the door calls `then` with the answer."""

        def deliver_answers(answers: Iterable[tuple[Then, Answer]]) -> None:
            for _, answer in answers:
                then(answer)

        self.enqueue_turn([(command, then)], deliver_answers)

    @abc.abstractmethod
    def close(self) -> None:
        """Answer all accepted commands, then stop."""

    @property
    @abc.abstractmethod
    def failure(self) -> PerdureError | None:
        """The error for which the door refuses all commands, if this process knows one."""

    @property
    def is_open(self) -> bool:
        """True if a command can be handed in without waiting for an election."""
        return True

    def execute_command(self, command: Command) -> Receipt:
        """Carry out a command and wait for its receipt. Raises the error of the command."""
        done = threading.Event()
        answers: list[Answer] = []

        def deliver_answer(answer: Answer) -> None:
            answers.append(answer)
            done.set()

        self.enqueue_command(command, deliver_answer)
        done.wait()
        return unwrap_receipt(answers[0])

    def execute_commands(self, commands: Sequence[Command]) -> list[Answer]:
        """Carry out commands together, and wait for an answer to each, in their order."""
        if not commands:
            return []
        done = threading.Event()
        found: dict[int, Answer] = {}
        takers = [partial(found.__setitem__, at) for at in range(len(commands))]

        def deliver_answers(answers: Iterable[tuple[Then, Answer]]) -> None:
            for then, answer in answers:
                if not isinstance(then, Future):
                    then(answer)
            if len(found) == len(commands):
                done.set()

        self.enqueue_turn(list(zip(commands, takers, strict=True)), deliver_answers)
        done.wait()
        return [found[at] for at in range(len(commands))]

    def submit_command(self, command: Command) -> Future[Receipt]:
        """Do the same in the running event loop, which continues other work meanwhile."""
        # As `_find_exchange` and `hand_in` do, without their calls: mints are that frequent.
        exchange = self._last
        if exchange is None or exchange.thread != get_ident() or not exchange.loop.is_running():
            exchange = self._find_exchange()
        future: Future[Receipt] = exchange.loop.create_future()
        if not exchange.turn:
            exchange.begin_turn()
        exchange.turn.append((command, future))
        return future

    def hand_in(self, command: Command, then: Taker) -> None:
        """Queue a command; the running event loop calls `then` with the answer."""
        self._find_exchange().hand_in(command, then)

    def _find_exchange(self) -> _Exchange:
        """The exchange of the event loop that runs in this thread.

        It is found by the thread, because `asyncio.get_running_loop` asks the system for the
        process id (before Python 3.12), which costs more than the rest of handing in a command.
        """
        thread = get_ident()
        found = self._exchanges.get(thread)
        if found is None or not found.loop.is_running():
            found = _Exchange(self, asyncio.get_running_loop(), thread)
            self._exchanges[thread] = found
        self._last = found
        return found


def unwrap_receipt(answer: Answer) -> Receipt:
    """Return the receipt, or raise the answer if it is an error."""
    if isinstance(answer, PerdureError):
        # One error may answer a whole batch: each caller starts its own traceback.
        raise answer.with_traceback(None)
    return answer


class _Exchange:
    """Carries commands from one event loop to the door, and answers back."""

    def __init__(self, door: Door, loop: asyncio.AbstractEventLoop, thread: int) -> None:
        self._door = door
        self.loop = loop
        self.thread = thread
        """The thread of the event loop. When the loop has stopped, it may run another one."""
        self.turn: Turn = []
        """The commands of this turn of the event loop."""
        self._ready: deque[Iterable[tuple[Then, Answer]]] = deque()
        self._woken = False
        self._opening: Future[None] | None = None
        """Hands in a turn in a thread."""

    def hand_in(self, command: Command, then: Then) -> None:
        if not self.turn:
            self.begin_turn()
        self.turn.append((command, then))

    def begin_turn(self) -> None:
        """Hand in the commands at the end of this turn of the event loop."""
        self.loop.call_soon(self._end_turn)

    def _end_turn(self) -> None:
        if self._opening:  # the turn goes on, so that commands stay in order
            return
        turn, self.turn = self.turn, []
        if self._door.is_open:
            self._door.enqueue_turn(turn, self._take_answers)
        else:  # the door may have to wait for a leader that is ending
            self._opening = self.loop.run_in_executor(
                None, self._door.enqueue_turn, turn, self._take_answers
            )
            self._opening.add_done_callback(self._go_on)

    def _go_on(self, _opening: Future[None]) -> None:
        self._opening = None
        if self.turn:
            self._end_turn()

    def _take_answers(self, answers: Iterable[tuple[Then, Answer]]) -> None:
        self._ready.append(answers)
        if not self._woken:
            self._woken = True
            with contextlib.suppress(RuntimeError):  # the loop is closed, so no caller waits
                self.loop.call_soon_threadsafe(self._give_answers)

    def _give_answers(self) -> None:
        # Cleared before the queue is emptied: an answer that comes later wakes the loop again.
        self._woken = False
        while self._ready:
            for then, answer in self._ready.popleft():
                try:  # without a function for one answer: its call would cost 2 % of a mint
                    if not isinstance(then, Future):
                        then(answer)
                    elif isinstance(answer, Receipt):
                        then.set_result(answer)
                    else:
                        then.set_exception(answer.with_traceback(None))
                except Exception as error:  # the other callers still get their answers
                    if isinstance(then, Future) and then.cancelled():
                        continue
                    context = {"message": "an answer could not be delivered", "exception": error}
                    self.loop.call_exception_handler(context)
