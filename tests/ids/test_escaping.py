"""Texts in paths and queries are escaped as `urllib.parse.quote` escapes them."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.ids.escaping import escape_text

KEPT = ("", ":", "/:;,@!$&'()*+=-._~?", "/:;,@!$&'()*+=-._~?%", "^-]\\[")


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "1839/00-A",
        "page=2",
        "a b",
        "a%b",
        "50%25",
        "é",
        "^]\\-[",
        "\N{KELVIN SIGN}",
        "a\n",
        "ſ",
    ],
)
def test_examples(text: str, kept: str) -> None:
    assert escape_text(text, kept) == quote(text, safe=f"/{kept}")


@given(st.text(), st.sampled_from(KEPT))
def test_every_text(text: str, kept: str) -> None:
    """RFC 3986 section 2.1: "A percent-encoding mechanism is used to represent a data octet in a
    component when that octet's corresponding character is outside the allowed set\"."""
    encodable = text.encode("utf-8", "replace").decode()
    assert escape_text(encodable, kept) == quote(encodable, safe=f"/{kept}")
