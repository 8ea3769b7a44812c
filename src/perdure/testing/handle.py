"""Texts and values of `perdure.ids.handle` for property tests."""

from __future__ import annotations

from functools import cache
from urllib.parse import quote

from hypothesis import strategies as st

from perdure.ids.handle import Handle, parse_handle
from perdure.testing.spelling import any_case

_DECODED = (
    "https://doi.org/",
    "http://dx.doi.org/",
    "https://www.doi.org/",
    "https://hdl.handle.net/",
    "info:hdl/",
)
_CHARACTERS = "abzABZ019-_()<>;:%#?&=+[]@é字𝔸"
_PREFIXES = st.from_regex(r"10\.[0-9]{4}(\.[0-9]{2})?|[0-9]{2,5}(\.[A-Za-z]{1,4})?", fullmatch=True)
_SUFFIXES = st.text(_CHARACTERS + "./", min_size=1, max_size=16)


_PROXIES = st.sampled_from(_DECODED).flatmap(any_case)


@cache
@st.composite
def texts(draw: st.DrawFn) -> str:
    """Well-formed Handles and DOIs in every spelling: schemes, proxies, case, escapes."""
    prefix, suffix = draw(_PREFIXES), draw(_SUFFIXES)
    handle = f"{prefix}/{suffix}"
    if prefix.startswith("10.") and draw(st.booleans()):
        return draw(any_case("doi:")) + handle
    if draw(st.booleans()):
        return draw(any_case("hdl:")) + handle
    return draw(_PROXIES) + quote(handle, safe=draw(st.sampled_from(("/", "/:;()", ""))))


@cache
def values() -> st.SearchStrategy[Handle]:
    """Handles and DOIs."""
    return texts().map(parse_handle)
