"""Quoted text at an origin: the grades of equality, and the right place of what is elsewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.model.verdicts import Comparison, Verdict, find_weakest
from perdure.policy.quotations import passages
from perdure.policy.quotations.folding import FoldedText, fold_text
from perdure.policy.quotations.passages import compare_passages

VECTORS = Path(__file__).parents[3] / "vectors" / "quotations.json"
CASES: list[dict[str, Any]] = json.loads(VECTORS.read_text())["cases"]

WORD = st.text("abcdefgh", min_size=1, max_size=6)
WORDS = st.lists(WORD, min_size=1, max_size=20)
MARKED = st.text("ab \n>\"'-\u2014\u201c\u00ad\u00df\ufb01e\u0301.\u0130", max_size=40)


def compare_at(citing: str, origin: int | list[int], cited: str) -> Comparison:
    start, until = origin if isinstance(origin, list) else (origin, origin + 1)
    return compare_passages(citing, start, until, cited)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_stands_at_an_origin(case: dict[str, Any]) -> None:
    found = compare_at(case["citing"], case["origin"], case["cited"])
    assert found.verdict == case["verdict"]
    assert case["citing"][found.start : found.stop] == case["passage"]
    assert [[one.cited, one.citing] for one in found.changes] == case.get("changes", [])
    assert (found.kept, found.total) == (case.get("kept", 0), case.get("total", 0))
    assert found.likeness == case.get("likeness")
    assert found.start == case.get("at", found.start)


@given(st.text(), st.text(min_size=1), st.text())
def test_section_3_5_2_the_fragment_begins_at_the_origin_and_continues_for_its_full_extent(
    before: str, cited: str, after: str
) -> None:
    """The cited fragment begins at the origin position and continues for the full extent of the
    fragment."""
    found = compare_at(before + cited + after, len(before), cited)
    assert (found.verdict, found.start) == (Verdict.VERBATIM, len(before))
    assert found.stop == len(before) + len(cited)


@given(st.text(), st.text(), st.integers(0, 20))
def test_a_passage_that_is_told_is_in_the_text_and_reads_as_the_verdict_says(
    citing: str, cited: str, origin: int
) -> None:
    origin = min(origin, len(citing))
    found = compare_at(citing, origin, cited)
    assert 0 <= found.start <= found.stop <= len(citing)
    passage = citing[found.start : found.stop]
    match found.likeness or found.verdict:
        case Verdict.VERBATIM:
            assert passage == cited
        case Verdict.REFLOWED | Verdict.SAME_WORDS as grade:
            assert fold_text(cited, grade).strip() in fold_text(passage, grade) + " "
        case Verdict.ABSENT:
            assert not cited or cited not in citing


@given(
    WORDS,
    WORDS,
    st.sampled_from(["\n", "  ", "\n> ", "\r\n", "\n> > ", "\u00a0", "\f"]),
    st.integers(1, 2),
)
def test_reflowed_is_equal_but_for_white_space_line_breaks_and_prefixes(
    before: list[str], words: list[str], blank: str, places: int
) -> None:
    """Also if the origin is an interval of places, and the passage begins at the first."""
    citing, cited = " ".join(before) + " ", " ".join(words)
    passage = blank.join(words)
    origin = [len(citing), len(citing) + places]
    found = compare_at(f"{citing}{passage} end", origin, cited)
    assert found.verdict == (Verdict.VERBATIM if passage == cited else Verdict.REFLOWED)
    assert (found.start, found.stop) == (len(citing), len(citing) + len(passage))


@given(WORDS, st.sampled_from(["{}", "\u201c{}\u201d", "'{}'", "\u00ab {} \u00bb"]))
def test_same_words_is_equal_but_for_case_and_quotation_marks(words: list[str], marks: str) -> None:
    cited = " ".join(words)
    citing = " ".join([marks.format(words[0].upper()), *words[1:]])
    found = compare_at(citing, 0, cited)
    assert found.verdict == Verdict.SAME_WORDS
    assert fold_text(citing[: found.stop], Verdict.SAME_WORDS) == cited


@given(st.lists(st.text("xyz", min_size=1), min_size=1), WORDS)
def test_elsewhere_tells_the_right_origin(before: list[str], words: list[str]) -> None:
    cited = " ".join(words).upper()
    citing = " ".join(before) + ": " + cited
    found = compare_at(citing, 0, cited)
    assert (found.verdict, found.likeness) == (Verdict.ELSEWHERE, Verdict.VERBATIM)
    assert compare_at(citing, found.start, cited).verdict == Verdict.VERBATIM


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("e-mail", "email"),
        ("an e-mail", "an email"),
        ("x\u2014y", "x y"),
        ("-ly", "-ly"),
        ("a b-", "a b"),
        ("a 5-y", "a 5-y"),
        ("y-5", "y-5"),
        ("ab5-y", "ab5-y"),
    ],
)
def test_a_dash_between_letters_is_none_and_beside_a_digit_a_minus(
    written: str, folded: str
) -> None:
    """The reference on citations: "a long dash between words reads as a blank, and a hyphen
    between letters as nothing …. A dash beside a digit may be a minus"."""
    assert fold_text(written, Verdict.SAME_WORDS) == folded


@given(MARKED, st.sampled_from([Verdict.REFLOWED, Verdict.SAME_WORDS]), st.data())
def test_every_folded_character_has_its_place(
    written: str, grade: Verdict, data: st.DataObject
) -> None:
    folded = FoldedText(written, grade)
    places = [(folded.find_start(at), folded.find_stop(at + 1)) for at in range(len(folded.text))]
    assert all(0 <= start < stop <= len(written) for start, stop in places)
    assert places == sorted(places)
    plain = [(at, place) for at, place in enumerate(places) if folded.text[at] in "abe."]
    for at, (start, stop) in plain:
        assert folded.text[at] in FoldedText(written[start:stop], grade).text
        assert folded.find_folded(start) <= at


@given(MARKED, st.sampled_from([Verdict.REFLOWED, Verdict.SAME_WORDS]), st.integers(0, 12))
def test_a_bounded_fold_is_the_beginning_of_the_fold(
    written: str, grade: Verdict, most: int
) -> None:
    whole, short = FoldedText(written, grade), FoldedText(written, grade, most=most)
    assert whole.text.startswith(short.text)
    assert len(short.text) >= min(most, len(whole.text))


def test_the_weakest_verdict_counts() -> None:
    ordered = list(Verdict)
    for place, strong in enumerate(ordered):
        for weak in ordered[place:]:
            assert find_weakest(strong, weak) is find_weakest(weak, strong) is weak
    assert [one for one in ordered if one.is_quotation] == ordered[:4]


def test_a_search_that_does_not_reach_all_of_a_document_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(passages, "_AROUND", 1000)
    far = "x " * 600 + "The\nfox jumps"
    found = compare_at(far, 0, "the fox jumps")
    assert (found.verdict, found.is_complete) == (Verdict.ABSENT, False)
    assert compare_at(far, 0, "The\nfox jumps").likeness is Verdict.VERBATIM
    assert compare_at(far, 800, "the fox jumps").likeness is Verdict.SAME_WORDS
