from __future__ import annotations

import pytest

from perdure.errors import MalformedIdentifier
from perdure.policy.shoulders import (
    NONE_STATED,
    OF_TESTS,
    find_policy,
    is_primordinal,
    read_beginning,
    read_policy,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("12345/x5 = (:permanent) for ever", "12345/x5 = (:permanent) for ever"),
        ("ark:/12345/x-5=a = b", "12345/x5 = a = b"),
        ("99999 = (:unas) tests", "99999 = (:unas) tests"),
        ("ark:99999/ = t", "99999 = t"),
    ],
)
def test_policies(text: str, found: str) -> None:
    assert read_policy(text) == found
    assert read_policy(found) == found


@pytest.mark.parametrize(
    "text", ["", "12345/x5", "12345/x5 =", "= a", "12345/x/c = a", "vowel! = a"]
)
def test_texts_that_are_no_policies(text: str) -> None:
    with pytest.raises((ValueError, MalformedIdentifier)):
        read_policy(text)


def test_the_longest_shoulder_decides() -> None:
    policies = ("12345 = of all", "12345/x5 = of some", "12345/x55 = of few")
    for name, found in (
        ("12345/x5np/c1", "of some"),
        ("12345/x5", "of some"),
        ("12345/x55np", "of few"),
        ("12345/b", "of all"),
        ("12345", "of all"),
        ("123456/x5", NONE_STATED),
    ):
        assert find_policy(policies, name) == found


def test_names_for_tests_promise_nothing() -> None:
    """ "99999 … reserved … as a test or example NAAN" (draft-kunze-ark section 2.3)."""
    assert find_policy(OF_TESTS, "99999/fk4").startswith("(:unas)")
    assert find_policy(OF_TESTS, "12345/fk4") == NONE_STATED


def test_beginnings() -> None:
    assert read_beginning("ark:/12345/") == "12345"
    assert read_beginning("ark:12345/x5") == "12345/x5"
    assert read_beginning("ark:12345/x5/c1") is None
    assert read_beginning("ark:") is None
    assert is_primordinal("x5")
    assert not is_primordinal("x5np")
    assert not is_primordinal("")
