"""The quick way to read a plain address finds what the complete check finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.model.records import Value
from perdure.policy.handles import addresses, values
from perdure.policy.handles.addresses import read_address

PIECES = st.sampled_from(
    [
        *"azAZ09.-:@/?#[]%\\ é_~",
        "http://",
        "https://",
        "HTTP://",
        "ftp://",
        "a.example",
        ":80",
        ":0",
    ]
)


@given(st.lists(PIECES, max_size=8).map("".join))
def test_a_plain_address_is_a_location(text: str) -> None:
    """`_PLAIN` accepts only what a client can open, and leaves the rest to the complete check."""
    if addresses._PLAIN.fullmatch(text):
        assert addresses._is_location(text)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://a.example", "https://a.example"),
        ("http://127.0.0.1/a?b#c@d", "http://127.0.0.1/a?b#c@d"),
        ("https://a.example:8080/", "https://a.example:8080/"),
        ("https://a.example:0/", None),
        ("https://a.example:99999/", None),
        ("https://user@a.example/", None),
        ("https://[a/", None),
        ("https:///a", None),
        ("https://a.example/\u00e9", "https://a.example/%C3%A9"),
        ("https://a.example/" + "x" * 8192, None),
        ("javascript://a.example/", None),
    ],
)
def test_addresses(text: str, address: str | None) -> None:
    assert read_address(text) == address


def test_an_address_is_private_if_no_public_value_has_it() -> None:
    """Permissions `1100`: administrators may read, everyone else may not."""
    shown = Value(index=1, type="URL", data="https://a.example/")
    both = Value(index=2, type="URL", data="https://a.example/", permissions="1100")
    hidden = Value(index=3, type="URL", data="https://b.example/", permissions="1100")
    assert values.find_private_addresses((shown,)) == set()
    assert values.find_private_addresses((shown, both)) == set()
    assert values.find_private_addresses((shown, both, hidden)) == {"https://b.example/"}
