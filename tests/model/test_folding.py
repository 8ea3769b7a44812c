"""Folded words: what people take for the same word, in any script."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.model.folding import Kind, classify_character, fold_character, fold_words

SAME = {
    "case": ("Straße", "STRASSE"),
    "accents": ("Ångström", "angstrom"),
    "composed and decomposed": ("caf\u00e9", "cafe\u0301"),
    "ligatures": ("\ufb01le", "file"),
    "full width": ("ＴＯＫＹＯ", "tokyo"),
    "Greek final sigma": ("ΛΟΓΟΣ", "λογος"),
    "Cyrillic short i": ("Й", "и"),
    "Arabic points": ("كِتَاب", "كتاب"),
    "Hebrew points": ("שָׁלוֹם", "שלום"),
    "soft hyphen": ("co\u00adoperate", "cooperate"),
    "variation selectors": ("葛\U000e0100", "葛"),
    "circled ideograph": ("\u3280", "一"),
    "half-width Kana": ("ｶ", "カ"),
}


@pytest.mark.parametrize("pair", SAME.values(), ids=SAME.keys())
def test_these_are_the_same_words(pair: tuple[str, str]) -> None:
    first, second = (fold_words(one).split() for one in pair)
    assert first == second != []


def test_vowel_signs_of_indian_scripts_distinguish_words() -> None:
    """Unicode 12.1: dependent vowels are written with signs; without them these are equal."""
    assert fold_words("किताब") != fold_words("कुताब")
    assert fold_words("கி") != fold_words("கு")
    assert classify_character("\u093f") is Kind.LETTER
    assert classify_character("\u0e34") is Kind.ALONE  # Thai has no spaces
    assert classify_character("\u20dd") is Kind.IGNORED  # an enclosing circle


def test_words_of_scripts_without_spaces_are_characters() -> None:
    assert fold_words("漢字と仮名ABC").split() == [*"漢字と仮名", "abc"]
    assert fold_words("한국어 글").split() == ["한국어", "글"]


def test_separators_of_any_script_divide_words() -> None:
    assert fold_words("a\u2003b\u00a0c、d\u0000e—f").replace("\0", " ").split() == [*"abcdef"]


@given(st.text())
def test_the_form_of_a_character_does_not_depend_on_its_place(given: str) -> None:
    """ "a folded text is the sequence of the forms of its characters" """
    assert fold_words(given) == "".join(map(fold_words, given))


@given(st.characters())
def test_a_form_has_only_letters(given: str) -> None:
    folded = fold_words(given) if not given.isascii() else ""
    for one in folded.replace(" ", ""):
        assert unicodedata.category(one)[0] in "LNM"
        assert fold_character(one) in (one, fold_character(one))
