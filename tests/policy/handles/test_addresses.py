"""The addresses that a text in a value means."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidRequest
from perdure.policy.binding import check_uri
from perdure.policy.handles.addresses import read_address


@given(
    st.sampled_from(["http://", "https://", "https:/", "ftp://"]),
    st.text("ab.-:0@[", max_size=4),
    st.text('/?#@:[]"<>% a1é', max_size=5),
)
def test_an_address_that_readers_can_open_is_returned_unchanged(
    scheme: str, host: str, rest: str
) -> None:
    text = f"{scheme}{host}{rest}"
    try:
        check_uri(text)
        parts = urlsplit(text)
        opens = bool(parts.hostname) and parts.port != 0
    except (InvalidRequest, ValueError):
        opens = False
    if opens:
        assert read_address(text) == text
    else:
        assert read_address(text) != text


@pytest.mark.parametrize("count", [8192 - len("https://a.example/"), 8193])
def test_an_address_is_at_most_as_long_as_a_location(count: int) -> None:
    text = f"https://a.example/{'x' * count}"
    assert read_address(text) == (text if len(text) <= 8192 else None)
    assert read_address(f"https://a.example/{'é' * 4000}") is None  # which is longer when escaped
