"""Group commit: the commands of all callers, carried out together and answered when durable.

How it works: a flush of the disk costs the same for one command as for a hundred. Commands wait in
a queue. One thread takes all of them, lets the registrar carry them out in one durable step, and
delivers the answers. While it flushes, the next batch gathers. If the thread is idle, a caller
carries out its own command at once, which saves two thread switches.

What must stay true: an answer is given only when its batch is durable or refused; commands of one
caller are carried out in the order in which they were given.
"""

from __future__ import annotations

import queue
import threading

from perdure.errors import PerdureError, Unavailable
from perdure.errors.processes import Stopping
from perdure.model.commands import Command, Receipt
from perdure.writing.door import Arrive, Door, Turn, unwrap_receipt
from perdure.writing.registrar import Registrar

LARGEST_BATCH = 512
_Waiting = tuple[Turn, Arrive]


class Committer(Door):
    """Runs a registrar in this process."""

    def __init__(self, registrar: Registrar) -> None:
        super().__init__()
        self._registrar = registrar
        self._waiting: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._at_work = threading.Lock()
        self._taking = threading.Lock()
        self._closing = False
        self._thread = threading.Thread(
            target=self._run_batches, name="perdure-committer", daemon=True
        )
        self._thread.start()

    def execute_command(self, command: Command) -> Receipt:
        if not self._waiting.empty() or not self._at_work.acquire(blocking=False):
            return super().execute_command(command)
        try:
            if self._closing:
                raise _make_stopping()
            answer = self._registrar.execute_commands((command,))[0]
        finally:
            self._at_work.release()
        return unwrap_receipt(answer)

    def enqueue_turn(self, turn: Turn, arrive: Arrive) -> None:
        with self._taking:
            if not self._closing:
                self._waiting.put((turn, arrive))
                return
        arrive([(then, _make_stopping()) for _, then in turn])

    @property
    def failure(self) -> PerdureError | None:
        return self._registrar.failure

    def list_sealable(self) -> list[int]:
        """Segments that are complete but not sealed yet."""
        with self._at_work:
            return self._registrar.list_sealable()

    def close(self) -> None:
        with self._taking:  # nothing is queued after the None; it would wait forever
            self._closing = True
            self._waiting.put(None)
        self._thread.join()
        with self._at_work:
            self._registrar.close()

    def _run_batches(self) -> None:
        while batch := self._take_batch():
            commands = [command for turn, _ in batch for command, _ in turn]
            with self._at_work:
                answers = self._registrar.execute_commands(commands)
            first = 0
            for turn, arrive in batch:
                end = first + len(turn)
                thens = [then for _, then in turn]
                arrive(zip(thens, answers[first:end], strict=True))
                first = end

    def _take_batch(self) -> list[_Waiting]:
        """Wait for a turn, then take all that are queued. The list is empty at the end."""
        first = self._waiting.get()
        if first is None:
            return []
        batch, size = [first], len(first[0])
        while size < LARGEST_BATCH and not self._waiting.empty():  # no other thread takes any
            following = self._waiting.get()
            if following is None:
                self._waiting.put(None)
                break
            batch.append(following)
            size += len(following[0])
        return batch


def _make_stopping() -> Unavailable:
    return Stopping(task="the write door")
