"""Group commit: every command is answered once, in order, when it is durable, whatever happens."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.conftest import SERIES, TODAY, Clock, text
from tests.writing.registrars import open_registrar

from perdure.errors import InvalidRequest, PerdureError, Unavailable
from perdure.model.commands import Answer, Command, Mint, Receipt
from perdure.writing.committer import LARGEST_BATCH, Committer
from perdure.writing.door import Taker


@pytest.fixture
def committer(root: Path, clock: Clock) -> Iterator[Committer]:
    opened = Committer(open_registrar(root, clock))
    yield opened
    opened.close()


def mint(number: int = 0, authority: str = SERIES) -> Mint:
    return Mint(authority=authority, contents=(text(str(number)),))


def enqueue_all(committer: Committer, commands: list[Command]) -> list[Answer]:
    """Queued at once, so that they make batches; answers in the order in which they came."""
    answers: list[tuple[int, Answer]] = []
    done = threading.Semaphore(0)

    def deliver_to(number: int) -> Taker:
        def deliver(answer: Answer) -> None:
            answers.append((number, answer))
            done.release()

        return deliver

    for number, command in enumerate(commands):
        committer.enqueue_command(command, deliver_to(number))
    for _ in commands:
        assert done.acquire(timeout=60)
    assert [number for number, _ in answers] == list(range(len(commands)))
    return [answer for _, answer in answers]


def test_more_commands_than_fit_into_a_batch(committer: Committer) -> None:
    count = 2 * LARGEST_BATCH + 7
    answers = enqueue_all(committer, [mint(number) for number in range(count)])
    names = [answer.identifier for answer in answers if isinstance(answer, Receipt)]
    assert names == [f"{TODAY}/{number + 1}.text.1" for number in range(count)]


def test_each_command_of_a_batch_has_its_own_answer(committer: Committer) -> None:
    broken = Mint(authority=SERIES, metadata={"title": "\ud800"})
    answers = enqueue_all(committer, [mint(1), mint(2, "nobody.us"), broken, mint(3), broken])
    kinds = [type(answer).__name__ for answer in answers]
    assert kinds == [
        "Receipt",
        "UnknownAuthority",
        "UnspeakableValue",
        "Receipt",
        "UnspeakableValue",
    ]


def test_a_mistake_of_ours_is_answered_too(
    committer: Committer, caplog: pytest.LogCaptureFixture
) -> None:
    """A command that nobody knows how to carry out stands for what nobody has foreseen."""
    answers = enqueue_all(committer, [mint(1), Command(), mint(2)])
    assert [isinstance(answer, Receipt) for answer in answers] == [True, False, True]
    assert isinstance(answers[1], Unavailable)
    assert "TypeError" in answers[1].reason
    assert "command failed" in caplog.text  # with its traceback, for whoever must mend it
    assert committer.failure is None
    assert committer.execute_command(mint(3)).identifier == f"{TODAY}/3.text.1"


def test_waiting_and_queued_callers_share_one_counter(committer: Committer) -> None:
    names: list[str] = []

    def write() -> None:
        names.extend(committer.execute_command(mint(number)).identifier for number in range(40))

    threads = [threading.Thread(target=write) for _ in range(6)]
    for thread in threads:
        thread.start()
    queued = enqueue_all(committer, [mint(number) for number in range(60)])
    for thread in threads:
        thread.join()
    names += [answer.identifier for answer in queued if isinstance(answer, Receipt)]
    assert sorted(names) == sorted(f"{TODAY}/{number + 1}.text.1" for number in range(300))


def test_event_loops_one_after_another_in_one_thread(committer: Committer) -> None:
    async def mint_two() -> list[str]:
        receipts = await asyncio.gather(*(committer.submit_command(mint()) for _ in range(2)))
        return [one.identifier for one in receipts]

    names = [name for _ in range(3) for name in asyncio.run(mint_two())]
    assert len(set(names)) == 6


def test_event_loops_of_several_threads_at_once(committer: Committer) -> None:
    both = threading.Barrier(2, timeout=60)

    async def mint_beside_another() -> str:
        both.wait()  # each loop runs when the other hands in its command
        receipt = await committer.submit_command(mint())
        both.wait()
        return receipt.identifier

    with ThreadPoolExecutor(2) as threads:
        names = list(threads.map(lambda _: asyncio.run(mint_beside_another()), range(2)))
    assert len(set(names)) == 2


def test_a_loop_that_has_ended_takes_no_command(committer: Committer) -> None:
    async def mint_one() -> Receipt:
        return await committer.submit_command(mint())

    asyncio.run(mint_one())
    with pytest.raises(RuntimeError, match="no running event loop"):
        committer.submit_command(mint())


def test_closing_answers_what_was_accepted(root: Path, clock: Clock) -> None:
    committer = Committer(open_registrar(root, clock))
    answers: list[Answer] = []
    for number in range(300):
        committer.enqueue_command(mint(number), answers.append)
    committer.close()
    assert [type(answer) for answer in answers] == [Receipt] * 300
    committer.enqueue_command(mint(), answers.append)
    assert isinstance(answers[-1], Unavailable)
    with pytest.raises(Unavailable):
        committer.execute_command(mint())
    committer.close()  # once more harms nothing


def test_an_error_is_raised_anew_for_each_caller(committer: Committer) -> None:
    raised: list[PerdureError] = []
    for _ in range(2):
        with pytest.raises(InvalidRequest) as caught:
            committer.execute_command(Mint(authority=SERIES, uid="7"))
        raised.append(caught.value)
    assert raised[0] is not raised[1]
