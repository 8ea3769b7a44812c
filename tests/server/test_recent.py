"""What the fast path remembers is bounded, and never older than the last revision."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.policy.ordering import LocationPattern
from perdure.server.fast.choices import MOST_ORDERS, ChosenAnswers
from perdure.server.fast.recent import MOST_ANSWERS, MOST_BYTES, RecentAnswers
from perdure.storage.generation import Generation


def choose(orders: int, length: int) -> ChosenAnswers:
    """Answers of some bytes for some orders."""
    chosen = ChosenAnswers(LocationPattern(()))
    for number in range(orders):
        chosen.add_answer((number,), b"x" * length)
    return chosen


class Remembering:
    """Recent answers, and how often they were told of a revision."""

    def __init__(self, root: Path) -> None:
        self.generation = Generation(root)
        self.revisions = 0
        self.recent = RecentAnswers(self.generation.counts, self._note_revision)

    def _note_revision(self) -> None:
        self.revisions += 1


@pytest.fixture
def remembering(tmp_path: Path) -> Remembering:
    return Remembering(tmp_path)


def ask(recent: RecentAnswers, target: bytes, answer: bytes) -> bool:
    """Ask for a target as the fast path does; True if its answer was remembered."""
    found = recent.find_answer(target)
    if found is None:
        recent.keep_answer(target, answer)
        return False
    assert found == answer
    return True


def test_an_answer_is_remembered_until_a_record_is_revised(remembering: Remembering) -> None:
    recent = remembering.recent
    assert not ask(recent, b"/a", b"1")
    assert ask(recent, b"/a", b"1")
    remembering.generation.note_change()
    assert ask(recent, b"/a", b"1")
    before = remembering.revisions
    remembering.generation.note_revision()
    assert not ask(recent, b"/a", b"2")
    assert ask(recent, b"/a", b"2")
    assert remembering.revisions == before + 1
    recent.drop_answers()
    assert recent.find_answer(b"/a") is None


def test_a_popular_answer_stays_while_others_pass(remembering: Remembering) -> None:
    recent = remembering.recent
    ask(recent, b"/popular", b"1")
    for number in range(5 * MOST_ANSWERS):
        assert not ask(recent, b"/%d" % number, b"")
        if number % 1000 == 0:
            assert ask(recent, b"/popular", b"1")


@pytest.mark.parametrize("answer", [b"", b"x" * 4096, choose(2, 2000)])
def test_long_targets_and_answers_take_no_more_memory_than_short_ones(
    remembering: Remembering, answer: bytes | ChosenAnswers
) -> None:
    """A half is full by number or by bytes, whichever comes first."""
    recent, length = remembering.recent, 8000
    targets = [b"/%08d%s" % (number, b"x" * (length - 9)) for number in range(3000)]
    for target in targets:
        recent.find_answer(target)
        recent.keep_answer(target, answer)
    kept = [target for target in targets if recent.find_answer(target) is not None]
    assert kept
    assert len(kept) * length <= 2 * MOST_BYTES


def test_answers_for_many_orders_count_as_many(remembering: Remembering) -> None:
    """At most `MOST_ORDERS` are remembered for a target, and all of them are measured."""
    assert len(choose(MOST_ORDERS, 1).list_answers()) == MOST_ORDERS
    assert len(choose(MOST_ORDERS + 1, 1).list_answers()) == 1
    recent = remembering.recent
    targets = [b"/%d" % number for number in range(1000)]
    for target in targets:
        recent.find_answer(target)
        recent.keep_answer(target, choose(MOST_ORDERS, 4000))
    kept = [target for target in targets if recent.find_answer(target) is not None]
    assert 0 < len(kept) * MOST_ORDERS * 4000 <= 2 * MOST_BYTES
