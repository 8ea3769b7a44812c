"""What a search means, and that no search has a meaning beyond its words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors.searching import QueryTooLong, QueryWithoutWords
from perdure.policy.searching.query import MOST_CHARACTERS, MOST_WORDS, Term, parse_query

TERMS = {
    "one word": ("Archive", [Term(("archive",))]),
    "several words": ("a b a", [Term(("a",)), Term(("b",))]),
    "a phrase": ('"a b" c', [Term(("a", "b")), Term(("c",))]),
    "a phrase that is not closed": ('a "b c', [Term(("a",)), Term(("b", "c"))]),
    "typographic quotation marks": ("“a b” „c d‟", [Term(("a", "b")), Term(("c", "d"))]),
    "the beginning of a word": ("arch*", [Term(("arch",), True)]),
    "a phrase with a beginning": ('"a arch"*', [Term(("a", "arch"), True)]),
    "a word that folds into several": ("e-mail", [Term(("e", "mail"))]),
    "a script without spaces": ("東京*", [Term(("東", "京"))]),
    "accents": ("Ärger", [Term(("arger",))]),
    "an asterisk alone": ("a *", [Term(("a",))]),
    "operators of databases": (
        "a AND b OR NOT NEAR(c, 2)",
        [Term((one,)) for one in ("a", "and", "b", "or", "not")]
        + [Term(("near", "c")), Term(("2",))],
    ),
    "a column": ("title:a", [Term(("title", "a"))]),
    "quotation marks and brackets": ("a' ); DROP --", [Term(("a",)), Term(("drop",))]),
    "NUL": ("a\0b", [Term(("a", "b"))]),
    "a lone surrogate": ("a\ud800b", [Term(("a", "b"))]),
}


@pytest.mark.parametrize(("text", "expected"), TERMS.values(), ids=TERMS.keys())
def test_terms(text: str, expected: list[Term]) -> None:
    query = parse_query(text)
    assert ([*query.terms], query.excluded) == (expected, ())


def test_words_that_must_not_occur() -> None:
    query = parse_query('a -b -"c d" e-f - -')
    assert query.terms == (Term(("a",)), Term(("e", "f")))
    assert query.excluded == (Term(("b",)), Term(("c", "d")))


@pytest.mark.parametrize("text", ["", " ", '""', "...", "-a", "*", "\0", "—"])
def test_a_search_names_a_word(text: str) -> None:
    with pytest.raises(QueryWithoutWords) as raised:
        parse_query(text)
    assert "word" in str(raised.value)


def test_a_search_has_a_limit() -> None:
    assert len(parse_query("a" * MOST_CHARACTERS).terms) == 1
    words = " ".join(f"w{number}" for number in range(MOST_WORDS))
    assert len(parse_query(words).terms) == MOST_WORDS
    with pytest.raises(QueryTooLong, match="characters"):
        parse_query("a" * 1_000_000)
    with pytest.raises(QueryTooLong, match="words"):
        parse_query("東" * (MOST_WORDS + 1))


@given(st.text(max_size=200))
def test_a_term_consists_of_letters_and_digits(text: str) -> None:
    """ "a term consists of letters and digits, whatever was typed" """
    try:
        query = parse_query(text)
    except QueryWithoutWords:
        return
    for term in (*query.terms, *query.excluded):
        assert all(re.fullmatch("[0-9a-z\x80-\U0010ffff]+", one) for one in term.tokens)
