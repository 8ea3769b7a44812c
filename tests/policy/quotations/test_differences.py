"""The words in which two passages differ: shortest scripts, and bounds on time."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.model.verdicts import Verdict
from perdure.policy.quotations import differences, edits
from perdure.policy.quotations.differences import MOST_CHANGES, compare_words
from perdure.policy.quotations.edits import find_edits, list_changes

SHORT = st.lists(st.sampled_from("abcd"), max_size=12)
WORDS = st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=30)


def measure_script(cited: list[str], citing: list[str]) -> int:
    """Count the edits of a shortest script with an open end, by dynamic programming."""
    row = list(range(len(citing) + 1))
    for word in cited:
        after = [row[0] + 1]
        for at, other in enumerate(citing, 1):
            kept = row[at - 1] if word == other else row[at] + 1
            after.append(min(kept, after[at - 1] + 1, row[at] + 1))
        row = after
    return min(row)


@given(SHORT, SHORT)
def test_a_script_is_a_shortest_one(cited: list[str], citing: list[str]) -> None:
    stretch = edits._find_stretch(cited, citing, open_end=True)
    left_out = len(cited) - len(stretch.pairs)
    added = stretch.citing - len(stretch.pairs)
    assert stretch.cited == len(cited)
    assert left_out + added == measure_script(cited, citing)


@given(WORDS, WORDS)
def test_equal_words_are_equal_and_in_order(cited: list[str], citing: list[str]) -> None:
    found = find_edits(cited, citing)
    assert all(cited[one] == citing[other] for one, other in found.pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(found.pairs))


@given(WORDS, WORDS)
def test_changes_make_one_passage_from_the_other(cited: list[str], citing: list[str]) -> None:
    found = find_edits(cited, citing)
    made: list[str] = []
    at = 0
    for one, other, first, last in list_changes(found):
        made += [*cited[at:one], *citing[first:last]]
        at = other
    assert made + cited[at : found.cited] == citing[: found.citing]


@given(st.lists(st.integers(0, 9999), min_size=3, max_size=60, unique=True), st.data())
def test_altered_counts_the_words_that_are_kept(numbers: list[int], data: st.DataObject) -> None:
    """The verdict table: altered (n of m words, word diff)."""
    words = [f"w{one}" for one in numbers]
    at = data.draw(st.integers(0, len(words) - 1))
    changed = [*words[:at], "other", *words[at + 1 :]]
    found = compare_words(" ".join(changed), 0, 1, " ".join(words))
    assert found is not None
    assert found.verdict is Verdict.ALTERED
    assert (found.kept, found.total, found.is_complete) == (len(words) - 1, len(words), True)
    if at < len(words) - 1:  # the last word of a passage may be missing
        assert [(one.cited, one.citing) for one in found.changes] == [(words[at], "other")]


@given(st.integers(1, 5), st.integers(10, 60))
def test_a_passage_without_its_first_words_begins_at_its_origin(missing: int, count: int) -> None:
    """Most words of the cited text are then nearer to the beginning than the text has places."""
    words = [f"w{number}" for number in range(count)]
    citing = " ".join(words[missing:])
    found = compare_words(citing, 0, 1, " ".join(words))
    assert found is not None
    assert (found.kept, found.total) == (count - missing, count)
    assert (found.start, found.stop) == (0, len(citing))


def test_a_long_omission_is_one_change() -> None:
    words = [f"w{number}" for number in range(5000)]
    citing = " ".join([*words[:1500], "[...]", *words[3000:]])
    found = compare_words(citing, 0, 1, " ".join(words))
    assert found is not None
    assert found.kept == 3500
    assert found.stop == len(citing)
    assert [one.cited.split()[0] for one in found.changes if one.cited] == ["w1500"]


def test_a_passage_is_compared_far_behind_the_first_place_where_it_may_begin() -> None:
    """ "a passage that begins at one of the places [start, until)" """
    before = "".join(f"word{number} " for number in range(500))
    citing = f"{before}The quick brown fox leaps over the lazy dog."
    found = compare_words(citing, 0, len(citing), "The quick brown fox jumps over the lazy dog")
    assert found is not None
    assert (found.start, found.kept, found.total) == (len(before), 8, 9)


@pytest.mark.growth
def test_time_is_bounded_for_long_passages_of_few_words() -> None:
    """What must stay true: time is bounded, whatever the length of the sequences."""
    random = Random(1)
    cited, citing = (random.choices("abcdef", k=5_000) for _ in range(2))
    found = find_edits(cited, citing)
    stretch = edits._align(cited, citing, 10_000)
    assert stretch.steps < 10_000 + 3 * edits._MOST_EDITS**2
    assert found.cited <= len(cited)


def test_only_the_first_changes_are_listed() -> None:
    words = [f"w{number}" for number in range(2000)]
    changed = [f"x{word}" if at % 4 == 1 else word for at, word in enumerate(words)]
    found = compare_words(" ".join(changed), 0, 1, " ".join(words))
    assert found is not None
    assert len(found.changes) == MOST_CHANGES
    assert found.more_changes == 500 - MOST_CHANGES


def test_only_the_first_words_of_a_long_passage_are_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(differences, "_MOST_WORDS", 100)
    words = [f"w{number}" for number in range(110)]
    found = compare_words(" ".join(["x", *words[1:]]), 0, 1, " ".join(words))
    assert found is not None
    assert (found.kept, found.total, found.is_complete) == (99, 100, False)


def test_marks_alone_are_not_compared() -> None:
    assert compare_words("... !", 0, 1, "?!") is None
