"""Expressions: they match what Python's own engine matches, and never take long."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.errors import InvalidRequest
from perdure.policy.templates import expressions
from perdure.policy.templates.expressions import Expression

ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\d", r"\.", "[a-c0-9]", r"\W"])


def _grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    signs = st.sampled_from(["", "*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,2}?"])
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"({two[0]}|{two[1]})"),
        st.tuples(inner, signs).map(lambda two: f"(?:{two[0]}){two[1]}"),
        inner.map(lambda one: f"({one})"),
    )


@settings(max_examples=300, deadline=None)
@given(st.recursive(ATOMS, _grown, max_leaves=6), st.text("ab1.\n", max_size=8))
def test_it_matches_what_python_matches(pattern: str, text: str) -> None:
    try:
        expression = Expression.compile_text(pattern)
    except InvalidRequest:
        return  # too large
    found = expression.match_text(text)
    expected = re.compile(pattern, re.ASCII).fullmatch(text)
    assert (found is None) == (expected is None)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"box\(([^,]*),([^,]*)\)", "box(1,2)"),
        (r"(a*)(a*)", "aaa"),
        (r"(a*?)(a*)", "aaa"),
        (r"(a|ab)(c|bcd)(d*)", "abcd"),
        (r"x{2,3}(y?)", "xxxy"),
        (r"^(\w+)@(\w+)$", "me@home"),
        (r"([^/]+)/(?:page|p)=([0-9]{1,3})", "book/p=12"),
    ],
)
def test_groups_are_those_of_python(pattern: str, text: str) -> None:
    expected = re.fullmatch(pattern, text)
    assert expected is not None
    groups = (expected[0], *(group or "" for group in expected.groups()))
    assert Expression.compile_text(pattern).match_text(text) == groups


# https://owasp.org/www-community/attacks/Regular_expression_Denial_of_Service_-_ReDoS
@pytest.mark.parametrize(
    "pattern", ["(a+)+", "([a-zA-Z]+)*", "(a|aa)+", "(a|a?)+", "(.*a){12}", "(a*)*(a*)*(a*)*"]
)
def test_evil_expressions_take_no_longer_than_others(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests of characters are counted as steps."""
    expression = Expression.compile_text(pattern)
    tested = 0

    class Counted:
        def __init__(self, test: expressions.Test) -> None:
            self.test = test

        def __call__(self, character: str) -> bool:
            nonlocal tested
            tested += 1
            return self.test(character)

    steps = tuple(
        step if step.test is None else expressions._Step(test=Counted(step.test))
        for step in expression._program
    )
    counted = Expression(expression.text, steps, expression._groups)
    text = "a" * (expressions.LONGEST_TEXT - 1) + "!"
    assert counted.match_text(text) is None
    assert 0 < tested <= expressions.MOST_STEPS


EXPENSIVE = ".*" * 80 + "b"
"""Each character of a text takes 250 steps."""


def test_a_match_beyond_the_budget_is_none() -> None:
    """All expressions that are tried for one part take at most 5,000 steps together."""
    expression = Expression.compile_text(EXPENSIVE)
    text = "a" * 8 + "b"
    budget = expressions.StepBudget()
    assert expression.match_text(text, budget) == (text,)
    assert 0 < budget.left < expressions.MOST_STEPS
    while budget.left > 0:
        assert expression.match_text(text, budget) in (None, (text,))
    assert budget.left > -expressions.MOST_INSTRUCTIONS
    assert expression.match_text(text, budget) is None
    assert expression.match_text("a" * 300 + "b") is None


def test_a_long_text_matches_nothing() -> None:
    assert Expression.compile_text("a*").match_text("a" * (expressions.LONGEST_TEXT + 1)) is None


@pytest.mark.parametrize(
    "pattern",
    [
        "(", ")", "[", "[]", "*", "a**", "a{2,1}", "a++", r"(a)\1", "(?=a)", "(?<!a)", "(?i)a",
        "(?P<n>a)", r"\b", r"\p{L}", "a^b", "a$b", "[a&&b]", "[[:alpha:]]", "[z-a]", "\\", "{",
        "(" * 40 + ")" * 40, "a{999}", "((a{0}){999}){999}", "()" * 30, "a" * 500,
    ],
)  # fmt: skip
def test_what_is_not_followed_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidRequest):
        Expression.compile_text(pattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"[\d]+", "12"),
        (r"[\w-]+", "a-b"),
        (r"[^\s]", "a"),
        (r"[^\s]", " "),
        (r"[\t\]]", "\t"),
        (r"[\t\]]", "]"),
        (r"[a\-z]", "-"),
        (r"[a-c-]", "-"),
        (r"[\[]", "["),
        (r"\t\n\r", "\t\n\r"),
        (r"\D\S\W", "a-."),
        (r"\(\)\[\]\{\}\*\+\?\.\|\^\$\\", "()[]{}*+?.|^$\\"),
    ],
)
def test_classes_and_escapes_are_those_of_python(pattern: str, text: str) -> None:
    expected = re.compile(pattern, re.ASCII).fullmatch(text)
    assert (Expression.compile_text(pattern).match_text(text) is None) == (expected is None)


@pytest.mark.parametrize("escape", [r"\t", r"\n", r"\r", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S"])
def test_an_escape_means_the_characters_that_it_means_in_python(escape: str) -> None:
    for pattern in (escape, f"[{escape}]", f"[^{escape}]")[: 1 if escape[1].isupper() else 3]:
        ours, theirs = Expression.compile_text(pattern), re.compile(pattern, re.ASCII)
        for code in range(256):
            sign = chr(code)
            assert (ours.match_text(sign) is None) == (theirs.fullmatch(sign) is None), (
                pattern,
                code,
            )


def test_a_class_holds_any_sign_but_those_of_its_own_syntax() -> None:
    refused = []
    for sign in map(chr, range(32, 127)):
        if sign in "\\]^":
            continue
        try:
            found = Expression.compile_text(f"[{sign}]")
        except InvalidRequest:
            refused.append(sign)
            continue
        assert [one for one in map(chr, range(128)) if found.match_text(one)] == [sign]
    assert refused == ["&", "["]
