"""Text around an identifier, and what a text without a prefix means."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import testing
from perdure.errors import UnknownScheme
from perdure.ids import find_meant, parse
from perdure.ids.wrapping import list_guesses, unwrap_text

PDI = "pdi://oma.eop.gov.us/1997/09/01/1.text.1#char=37,51"
PAIRS = ("<>", "()", "[]", "{}", '""', "''", "“”", "„“", "„”", "‘’", "«»", "»«", "‹›", "``")


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("end", ["", ".", ",", " "])
def test_what_surrounds_a_quoted_identifier_is_removed(pair: str, end: str) -> None:
    assert unwrap_text(f"{pair[0]}{PDI}{pair[1]}{end}") == PDI
    assert unwrap_text(f"<{pair[0]} {PDI} {pair[1]}>") == PDI


@pytest.mark.parametrize("text", ["<URL:{}>", "<url: {}>", "URL:{}", "  {}\n"])
def test_rfc_3986_appendix_c(text: str) -> None:
    """ "Using <> angle brackets around each URI is especially recommended", and 'the prefix "URL:"
    … was recommended as a way to help distinguish a URI from other bracketed designators'."""
    assert unwrap_text(text.format(PDI)) == PDI


@pytest.mark.parametrize("text", ["", "<", "<>", "“", "<pdi:", "pdi:>", "((((a))))", "<a)"])
def test_what_is_not_closed_stays(text: str) -> None:
    assert len(unwrap_text(text)) <= len(text)
    assert unwrap_text("<pdi:") == "<pdi:"
    assert unwrap_text("<a)") == "<a)"
    assert unwrap_text("<>") == ""
    assert unwrap_text("((((a))))") == "(a)"  # three pairs at most


@pytest.mark.parametrize("pair", PAIRS)
def test_nothing_else_closes(pair: str) -> None:
    assert unwrap_text(f"{pair[0]}{PDI}~") == f"{pair[0]}{PDI}~"
    assert unwrap_text(f"{pair[0]}{PDI}{pair[1]}~") == f"{pair[0]}{PDI}{pair[1]}~"


def test_three_pairs_are_removed() -> None:
    assert unwrap_text("“(<pdi:>)”") == "pdi:"
    assert unwrap_text("“(<[pdi:]>)”") == "[pdi:]"


@given(testing.values())
def test_an_identifier_is_not_unwrapped(name: object) -> None:
    assert unwrap_text(str(name)) == str(name)


@given(st.text())
def test_any_text_can_be_unwrapped_and_guessed(text: str) -> None:
    assert unwrap_text(text) in text
    assert len(list(list_guesses(text))) <= 2


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        (f"<{PDI}>", PDI),
        (f"“{PDI}”", PDI),
        (f"%3C{PDI}%3E", PDI),
        (f"%E2%80%9C{PDI}%E2%80%9D", PDI),
        ("http://127.0.0.1:28411/pdi://a.us/1997/9/1/1", "pdi://a.us/1997/09/01/1"),
        ("https://pid.example.org/hdl:1839/a", "hdl:1839/a"),
        ("a.us/1997/09/01/1.text.1", "pdi://a.us/1997/09/01/1.text.1"),
        ("10.1000/182", "doi:10.1000/182"),
        ("https://a.example/x", ""),
        ("wp.login/", ""),
        ("nothing", ""),
        ("<nothing>", ""),
    ],
)
def test_an_unknown_scheme_is_told_what_it_seems_to_mean(text: str, meant: str) -> None:
    assert find_meant(text) == meant
    with pytest.raises(UnknownScheme) as refused:
        parse(text)
    assert refused.value.meant == meant
    assert (f"did you mean '{meant}'?" in str(refused.value)) == bool(meant)
