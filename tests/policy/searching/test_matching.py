"""Where words are in a text, with a search by hand as the judge."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.model.folding import fold_words
from perdure.policy.searching.matching import (
    MOST_HITS,
    MOST_PASSAGES,
    SearchedText,
    choose_passages,
    matches_query,
)
from perdure.policy.searching.query import Term, parse_query

LETTERS = "ab eé\u0301ßﬁ東京 -\n"


def find(text: str, query: str, *breaks: int) -> list[str]:
    folded = SearchedText(text, breaks)
    return [
        folded.text[slice(*folded.map_back(place))]
        for term in parse_query(query).terms
        for place in folded.find_folded(term)
    ]


HITS = {
    "case": ("The Archive of archives", "archive", ["Archive"]),
    "beginning": ("The Archive of archives", "arch*", ["Archive", "archives"]),
    "whole words": ("rearchive archived", "archive", []),
    "a phrase over punctuation": (
        "until further\n  notice.",
        '"further notice"',
        ["further\n  notice"],
    ),
    "accents composed": ("caf\u00e9s café", "cafe", ["caf\u00e9"]),
    "accents decomposed": ("cafe\u0301 cafe", "café", ["cafe\u0301", "cafe"]),
    "sharp s": ("Die Straße.", "STRASSE", ["Straße"]),
    "a ligature": ("the ﬁle", "file", ["ﬁle"]),
    "a word within Han": ("東京都の鳥", "京", ["京"]),
    "two characters": ("東京都と東の京", "東京", ["東京"]),
    "Greek": ("ΟΔΟΣ", "οδος", ["ΟΔΟΣ"]),
    "digits": ("in 1997/09", "1997", ["1997"]),
}


@pytest.mark.parametrize(("text", "query", "expected"), HITS.values(), ids=HITS.keys())
def test_hits(text: str, query: str, expected: list[str]) -> None:
    assert find(text, query) == expected
    assert find("ü. " * 700 + text, query) == expected  # beyond the first block


def test_words_end_where_a_block_of_a_page_begins() -> None:
    assert find("TitleParagraph", "title") == []
    assert find("TitleParagraph", "title", 5) == ["Title"]
    assert find("TitleParagraph", "paragraph", 0, 5, 5, 14) == ["Paragraph"]
    assert find("GrußÄhre", "ahre", 4) == ["Ähre"]


@given(st.text(LETTERS, max_size=60), st.text(LETTERS, min_size=1, max_size=6), st.booleans())
def test_a_term_is_found_where_its_words_are(text: str, typed: str, is_prefix: bool) -> None:
    words = re.findall("[0-9a-z\x80-\U0010ffff]+", fold_words(typed))
    if not words:
        return
    here = re.findall("[0-9a-z\x80-\U0010ffff]+", fold_words(text))
    count = sum(
        here[at : at + len(words)] == words
        or (
            is_prefix
            and here[at : at + len(words) - 1] == words[:-1]
            and len(here) >= at + len(words)
            and here[at + len(words) - 1].startswith(words[-1])
        )
        for at in range(len(here))
    )
    term = Term(tuple(words), is_prefix)
    assert SearchedText(text).has_term(term) == bool(count)


@given(st.text(LETTERS, max_size=300), st.sampled_from(["a", "b", "e", "ß", "東", "fi"]))
def test_a_hit_folds_into_its_word(text: str, word: str) -> None:
    folded = SearchedText(text)
    tokens = tuple(re.findall("[0-9a-z\x80-\U0010ffff]+", fold_words(word)))
    for place in folded.find_folded(Term(tokens)):
        shown = text[slice(*folded.map_back(place))]
        assert re.findall("[0-9a-z\x80-\U0010ffff]+", fold_words(shown)) == [*tokens]


def test_a_document_contains_all_terms_in_any_field() -> None:
    title, text = SearchedText("Annual report"), SearchedText("Birds of the year")
    assert matches_query([title, text], parse_query("report birds"))
    assert not matches_query([title, text], parse_query("report cats"))
    assert not matches_query([title, text], parse_query("report -birds"))
    assert not matches_query([title, text], parse_query('"report birds"'))


def show(text: str, query: str) -> list[str]:
    folded = SearchedText(text)
    return [text[one.start : one.stop] for one in choose_passages(folded, parse_query(query).terms)]


def test_a_passage_shows_the_most_terms_on_the_least_text() -> None:
    filler = "word " * 100
    text = f"one {filler} two {filler} one two {filler} two"
    (passage,) = show(text, "one two")
    assert passage.count("one two") == 1
    assert passage.startswith("word ")
    assert passage.endswith(" word")


def test_terms_far_from_each_other_have_passages_of_their_own() -> None:
    filler = "word " * 100
    words = ["alpha", "beta", "gamma", "delta"]
    found = show(f" {filler}".join(words), " ".join(words))
    assert len(found) == MOST_PASSAGES
    assert [one in shown for one, shown in zip(words, found, strict=False)] == [True] * 3


def test_a_passage_has_a_bounded_number_of_hits() -> None:
    folded = SearchedText("a " * 1000)
    (passage,) = choose_passages(folded, parse_query("a").terms)
    assert len(passage.hits) == MOST_HITS
    assert passage.stop - passage.start < 200


def test_hits_that_overlap_are_one() -> None:
    folded = SearchedText("further notice")
    (passage,) = choose_passages(folded, parse_query('notice "further notice" furth*').terms)
    assert passage.hits == ((0, 14),)


def test_a_hit_that_is_longer_than_a_passage_is_shown() -> None:
    words = " ".join(f"w{number}" for number in range(60))
    folded = SearchedText(f"x {words} y")
    (passage,) = choose_passages(folded, parse_query(f'"{words}"').terms)
    assert folded.text[slice(*passage.hits[0])] == words


def test_a_text_without_spaces_is_cut_anywhere() -> None:
    folded = SearchedText("東" * 200 + "京" + "東" * 200)
    (passage,) = choose_passages(folded, parse_query("京").terms)
    assert passage.stop - passage.start == 121


@given(
    st.lists(st.text("abc", min_size=1, max_size=9), max_size=40),
    st.lists(st.text("abc", min_size=1, max_size=9), max_size=40),
)
def test_a_passage_begins_and_ends_between_words(before: list[str], after: list[str]) -> None:
    """ "the passage around some folded places, which begins and ends between words" """
    text = " ".join([*before, "one", *after])
    (passage,) = choose_passages(SearchedText(text), parse_query("one").terms)
    assert passage.start == 0 or text[passage.start - 1] == " "
    assert passage.stop == len(text) or text[passage.stop] == " "


def test_no_passage_without_a_hit() -> None:
    assert show("nothing of the kind", "other") == []
