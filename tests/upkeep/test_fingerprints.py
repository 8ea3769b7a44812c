"""Fingerprints of texts, with brute force as the judge."""

from __future__ import annotations

import random
import re
import unicodedata
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.model.folding import Kind, classify_character, fold_character

np = pytest.importorskip("numpy")

from perdure.upkeep.quotations import words as folding  # noqa: E402  (needs numpy)
from perdure.upkeep.quotations.fingerprints import (  # noqa: E402
    CHARACTERS,
    WORDS,
    Match,
    Winnowing,
    extend_match,
    find_fingerprints,
)
from perdure.upkeep.quotations.words import FoldedWords, fold_text  # noqa: E402

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
RFC = CORPUS / "rfc2616.txt"
PLANTED = 40


def read_words(text: str) -> list[str]:
    """The words of a text, in another way: character by character."""
    words: list[str] = []
    inside = False
    for character in text:
        category = unicodedata.category(character)
        if classify_character(character) is Kind.IGNORED:
            continue
        if category[0] in "LNM":
            if not inside:
                words.append("")
            words[-1] += fold_character(character)
            inside = True
        else:
            inside = False
    return words


def list_equal_runs(first: list[str], second: list[str], size: int) -> set[tuple[int, int]]:
    """All pairs of places at which `size` equal words begin, by brute force."""
    places = defaultdict(list)
    for at in range(len(first) - size + 1):
        places[tuple(first[at : at + size])].append(at)
    return {
        (before, at)
        for at in range(len(second) - size + 1)
        for before in places.get(tuple(second[at : at + size]), ())
    }


def check_promise(
    first: FoldedWords, second: FoldedWords, runs: set[tuple[int, int]], rule: Winnowing
) -> None:
    """Every equal run has a fingerprint in common, which lies in it in both."""
    ours, theirs = find_fingerprints(first, rule), find_fingerprints(second, rule)
    prints = dict(zip(ours.places.tolist(), ours.prints.tolist(), strict=True))
    others = dict(zip(theirs.places.tolist(), theirs.prints.tolist(), strict=True))
    for before, after in runs:
        mine = {prints.get(before + at, -1) for at in range(rule.window)}
        assert mine & {others.get(after + at, -2) for at in range(rule.window)}, (before, after)


# words
# -----


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The Fox", "the, FOX!"),
        ("don't", "DON\u2019T"),
        ("Café", "cafe\u0301"),
        ("Straße", "STRASSE"),
        ("o\ufb03ce", "office"),
        ("exam\xadple", "example"),
        ("ǅ Ⅳ ２", "dž iv 2"),
        ("Ελλάς", "ΕΛΛΆΣ"),
        ("ｶﾞ", "ガ"),
        ("a_b", "a b"),
        ("한국어", "한국어"),
    ],
)
def test_words_are_equal_however_they_are_written(one: str, other: str) -> None:
    for ours, theirs in zip(fold_text(one), fold_text(other), strict=True):
        assert ours.numbers.tolist() == theirs.numbers.tolist()


def test_words_have_their_places_in_the_text() -> None:
    text = "\u201cÄpfel\u201d, 3 e\u0301té 日本 wo\xadrd"
    folded = fold_text(text)
    words = zip(folded.words.starts.tolist(), folded.words.stops.tolist(), strict=True)
    assert [text[start:stop] for start, stop in words] == ["Äpfel", "3", "e\u0301té", "wo\xadrd"]
    places = zip(folded.characters.starts.tolist(), folded.characters.stops.tolist(), strict=True)
    assert [text[start:stop] for start, stop in places] == ["日", "本"]


_TEXTS = st.text("abÄß\u0301\xad ﬁ,1\n\u2019İΣς", max_size=80)


@given(_TEXTS, _TEXTS)
def test_words_have_equal_numbers_exactly_if_they_are_equal(one: str, other: str) -> None:
    """The number of a word depends on the word only, not on its place."""
    numbers: dict[int, str] = {}
    for text in (one, other, f"{other} {one}"):
        found, words = fold_text(text).words.numbers.tolist(), read_words(text)
        assert len(found) == len(words)
        for number, word in zip(found, words, strict=True):
            assert numbers.setdefault(number, word) == word
    assert len(set(numbers.values())) == len(numbers)


@given(st.text("ab \nä\xad日", max_size=300), st.integers(1, 20))
def test_blocks_do_not_matter(text: str, block: int) -> None:
    whole = fold_text(text).words
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(folding, "_BLOCK", block)
        pieces = fold_text(text).words
    assert all(np.array_equal(a, b) for a, b in zip(whole, pieces, strict=True))


@given(st.text("ab ,日本ä\n", max_size=80))
def test_the_fast_ways_are_equal_to_the_slow_one(text: str) -> None:
    """An ignored character before the text makes the difference."""
    for part in (text, "".join(one for one in text if one.isascii())):
        for fast, slow in zip(fold_text(part), fold_text(f"\xad {part}"), strict=True):
            assert np.array_equal(fast.numbers, slow.numbers)
            assert np.array_equal(fast.starts + 2, slow.starts)
            assert np.array_equal(fast.stops + 2, slow.stops)


# fingerprints
# ------------

_VOCABULARY = st.lists(st.sampled_from(["a", "b", "c", "of", "the"]), max_size=40)


@given(_VOCABULARY, _VOCABULARY, _VOCABULARY, _VOCABULARY, st.data())
def test_every_run_of_15_equal_words_is_found(
    before: list[str], after: list[str], more: list[str], rest: list[str], data: st.DataObject
) -> None:
    """ "every run of 15 equal words" (the promise of `perdure quotes`)."""
    run = data.draw(st.lists(st.sampled_from("pqrstab"), min_size=15, max_size=25))
    one, other = [*before, *run, *after], [*more, *run, *rest]
    runs = list_equal_runs(one, other, WORDS.promise)
    assert (len(before), len(more)) in runs
    check_promise(fold_text(" ".join(one)).words, fold_text("\n".join(other)).words, runs, WORDS)


@given(st.text("日本語の文", max_size=30), st.text("日本語の文字", min_size=12, max_size=20))
def test_every_run_of_12_equal_characters_is_found(other: str, run: str) -> None:
    one, two = f"{other}。{run}", f"「{run}」、{other}"
    ours, theirs = (re.findall(r"\w", text) for text in (one, two))
    runs = list_equal_runs(ours, theirs, CHARACTERS.promise)
    assert runs
    check_promise(fold_text(one).characters, fold_text(two).characters, runs, CHARACTERS)


@pytest.mark.parametrize(("words", "count"), [(0, 0), (5, 0), (6, 1), (15, 1)])
def test_a_short_text_has_one_fingerprint_if_it_has_a_run(words: int, count: int) -> None:
    text = fold_text(" ".join(map(str, range(words)))).words
    assert len(find_fingerprints(text).prints) == count


def test_a_fingerprint_has_forty_bits() -> None:
    prints = find_fingerprints(fold_text(" ".join(map(str, range(5000)))).words).prints
    assert 0 < int(prints.max()) < 1 << 40
    assert len(np.unique(prints)) == len(prints)


def test_a_text_that_repeats_itself_has_few_fingerprints() -> None:
    for period in range(1, 9):
        text = fold_text((" ".join(map(str, range(period))) + " ") * 1000).words
        found = find_fingerprints(text)
        assert len(found.prints) <= len(text.numbers) // 4
        assert int(np.diff(found.places).max()) <= WORDS.window


def test_too_many_words_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perdure.upkeep.quotations.fingerprints._MOST_WORDS", 9)
    with pytest.raises(ValueError, match="too many"):
        find_fingerprints(fold_text("a " * 10).words)


# matches
# -------


def test_a_match_is_extended_to_both_sides() -> None:
    one, other = fold_text("x a b c d y").words, fold_text("A, b; C d").words
    for at in range(4):
        assert extend_match(one, at + 1, other, at) == Match(1, 0, 4)
    assert extend_match(one, 0, other, 0) is None


@given(_VOCABULARY, _VOCABULARY, st.integers(0, 39), st.integers(0, 39))
def test_a_match_is_the_longest_run(one: list[str], other: list[str], i: int, j: int) -> None:
    if i >= len(one) or j >= len(other):
        return
    found = extend_match(fold_text(" ".join(one)).words, i, fold_text(" ".join(other)).words, j)
    if found is None:
        assert one[i] != other[j]
        return
    first, second, count = found
    assert first <= i < first + count
    assert i - first == j - second
    assert one[first : first + count] == other[second : second + count]
    assert not first or not second or one[first - 1] != other[second - 1]
    ends = first + count, second + count
    assert ends[0] == len(one) or ends[1] == len(other) or one[ends[0]] != other[ends[1]]


# a real text
# -----------


@pytest.mark.corpus
def test_quotations_of_an_rfc_are_found_and_nothing_false() -> None:
    """Planted quotations that are wrapped in another way, and what the text itself repeats."""
    if not RFC.exists():
        pytest.skip("the corpus of real documents is not here")
    rfc = RFC.read_text("latin-1")
    choose = random.Random(2616)
    own = read_words(rfc)
    pieces = []
    for number in range(PLANTED):
        at = choose.randrange(len(own) - 60)
        quoted = own[at : at + choose.randrange(15, 60)]
        pieces.append(f"> Letter {number} says: \u201c" + "\n> ".join(quoted).upper() + "\u201d.\n")
    letter = "".join(pieces)
    source, citing = fold_text(rfc).words, fold_text(letter).words
    theirs = read_words(letter)
    assert (len(source.numbers), len(citing.numbers)) == (len(own), len(theirs))
    check_promise(source, citing, list_equal_runs(own, theirs, WORDS.promise), WORDS)
    check_promise(source, source, list_equal_runs(own, own, WORDS.promise), WORDS)

    by_print = defaultdict(list)
    for number, at in zip(*(one.tolist() for one in find_fingerprints(source)), strict=True):
        by_print[number].append(at)
    covered = np.zeros(len(theirs), dtype=bool)
    for number, at in zip(*(one.tolist() for one in find_fingerprints(citing)), strict=True):
        for there in by_print.get(number, ()):
            found = extend_match(citing, at, source, there)
            assert found is not None, "a fingerprint was equal by chance"
            first, second, count = found
            assert theirs[first : first + count] == own[second : second + count]
            covered[first : first + count] |= count >= WORDS.promise
    assert covered.sum() >= PLANTED * WORDS.promise
