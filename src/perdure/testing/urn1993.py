"""Texts and values of `perdure.ids.urn1993` for property tests."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from perdure.ids.urn1993 import Urn1993, parse_urn1993
from perdure.testing.spelling import any_case

_INDIVIDUALS = {
    "IANA": r"[0-9]{1,6}",
    "ISBN_Publisher_ID": r"[0-9]{1,5}(_[0-9]{1,7}){1,2}",
}
_XALPHAS = st.text("abzABZ019-_.@", min_size=1, max_size=12)


@cache
@st.composite
def texts(draw: st.DrawFn) -> str:
    """Well-formed URNs of 1993 in every spelling.

    They are of both naming schemes, with and without an individual identifier.
    """
    scheme = draw(st.sampled_from(sorted(_INDIVIDUALS)))
    individual = draw(st.none() | st.from_regex(_INDIVIDUALS[scheme], fullmatch=True))
    authority = draw(any_case(scheme)) + ("" if individual is None else f":{individual}")
    return f"{draw(any_case('urn'))}:{authority}::{draw(_XALPHAS)}:::"


@cache
def values() -> st.SearchStrategy[Urn1993]:
    """URNs of 1993."""
    return texts().map(parse_urn1993)
