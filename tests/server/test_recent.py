"""What the fast path remembers is bounded, and never older than the last revision."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure.policy.ordering import LocationPattern
from perdure.server.fast.recent import MOST_ANSWERS, MOST_BYTES, RecentAnswers
from perdure.storage.generation import Generation

PATTERN = LocationPattern(())


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


@pytest.mark.parametrize("answer", [b"", b"x" * 4096, PATTERN])
def test_long_targets_and_answers_take_no_more_memory_than_short_ones(
    remembering: Remembering, answer: bytes | LocationPattern
) -> None:
    """A half is full by number or by bytes, whichever comes first."""
    recent, length = remembering.recent, 8000
    targets = [b"/%08d%s" % (number, b"x" * (length - 9)) for number in range(3000)]
    for target in targets:
        recent.find_answer(target)
        recent.keep_answer(target, answer)
        recent.keep_answer((target, (0, 1)), b"")
    kept = [target for target in targets if recent.find_answer(target) is not None]
    assert kept
    assert len(kept) * length <= 2 * MOST_BYTES
