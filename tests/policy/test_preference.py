"""Qualities of media types and languages: the most specific range decides, and of two the first."""

from __future__ import annotations

import pytest

from perdure.model.queries import Preference
from perdure.policy.preference import (
    language_quality,
    media_quality,
    prefers_other_than_page,
)


def wishes(*ranges: tuple[str, float]) -> tuple[Preference, ...]:
    return tuple(Preference(range_, quality) for range_, quality in ranges)


@pytest.mark.parametrize(
    ("ranges", "quality"),
    [
        ([], 0.0),
        ([("*", 0.3)], 0.3),
        ([("en", 0.7), ("*", 0.3)], 0.7),
        ([("*", 0.3), ("en-gb", 0.9), ("en", 0.7)], 0.9),
        ([("en-GB-oed", 0.9), ("en", 0.7)], 0.7),
        ([("e", 0.7)], 0.0),
        ([("en-gb", 0.2), ("en-gb", 0.8)], 0.2),
        ([("*", 0.2), ("*", 0.8)], 0.2),
    ],
)
def test_the_longest_range_that_matches_a_language(
    ranges: list[tuple[str, float]], quality: float
) -> None:
    """RFC 4647 section 3.3.1: "a language range matches a particular language tag if … it exactly
    equals the tag, or if it exactly equals a prefix of the tag such that the first character
    following the prefix is "-"."
    """
    assert language_quality(wishes(*ranges), "en-GB") == quality


@pytest.mark.parametrize(
    ("ranges", "quality"),
    [
        ([], 1.0),
        ([("*/*", 0.3)], 0.3),
        ([("text/*", 0.5), ("*/*", 0.3)], 0.5),
        ([("*/*", 0.3), ("text/html", 0.9), ("text/*", 0.5)], 0.9),
        ([("image/*", 0.9)], 0.0),
        ([("text/html", 0.2), ("text/html", 0.8)], 0.2),
    ],
)
def test_the_most_specific_range_that_matches_a_type(
    ranges: list[tuple[str, float]], quality: float
) -> None:
    """RFC 9110 section 12.5.1: "the most specific reference has precedence"."""
    assert media_quality(wishes(*ranges), "text/html; charset=utf-8") == quality


@pytest.mark.parametrize(
    ("ranges", "prefers"),
    [
        ([], False),
        ([("text/*", 1.0)], False),
        ([("*/*", 0.5)], False),
        ([("application/xhtml+xml", 1.0), ("image/png", 1.0)], False),
        ([("image/png", 1.0), ("text/html", 0.9)], True),
        ([("text/html", 0.0)], False),
    ],
)
def test_who_wants_no_page(ranges: list[tuple[str, float]], prefers: bool) -> None:
    """Ruling page-or-thing: a page is for clients that accept HTML no less than anything else."""
    assert prefers_other_than_page(wishes(*ranges)) is prefers
