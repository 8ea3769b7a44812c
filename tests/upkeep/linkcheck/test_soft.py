"""Likeness of pages, and the time it takes on pages made to take long."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.upkeep.linkcheck import soft

PAGE = (
    b"<html><script>var a = 1</script><h1>Not found</h1><p>There is no %s here, reader</p></html>"
)


def test_what_differs_only_in_the_address_is_alike() -> None:
    one = soft.page_shape(PAGE % b"/x/report.html", "http://a.example/x/report.html")
    other = soft.page_shape(PAGE % b"/x/perdure-1", "http://a.example/x/perdure-1")
    assert soft.are_alike(one, other)


def test_what_says_something_else_is_not() -> None:
    one = soft.page_shape(b"<p>The annual report of the society for nineteen ninety seven")
    assert not soft.are_alike(one, soft.page_shape(PAGE % b""))


def test_programs_do_not_count() -> None:
    assert soft.page_shape(PAGE % b"a") == soft.page_shape(
        PAGE.replace(b"var a = 1", b"other()") % b"a"
    )


@given(st.binary(max_size=500), st.binary(max_size=500))
def test_likeness_is_mutual_and_everything_is_like_itself(one: bytes, other: bytes) -> None:
    a, b = soft.page_shape(one), soft.page_shape(other)
    assert soft.are_alike(a, a)
    assert soft.are_alike(a, b) == soft.are_alike(b, a)


@pytest.mark.parametrize("piece", [b"<", b"<script ", b"<script></", b"a ", b"</style "])
def test_no_page_takes_long(piece: bytes) -> None:
    """Would take minutes where the time grows with the square of the size."""
    soft.page_shape(piece * (1 << 20))


@pytest.mark.parametrize(
    ("url", "beginning", "end"),
    [
        ("http://a.example/x/y.html?q", "http://a.example/x/perdure-", ".html"),
        ("http://a.example/x/", "http://a.example/x/perdure-", ""),
        ("http://a.example/x", "http://a.example/perdure-", ""),
    ],
)
def test_invented_addresses_lie_beside(url: str, beginning: str, end: str) -> None:
    found = soft.invent_sibling(url)
    assert found is not None
    assert found.startswith(beginning)
    assert found.endswith(end)


def test_a_root_has_no_siblings() -> None:
    assert soft.invent_sibling("http://a.example/") is None
