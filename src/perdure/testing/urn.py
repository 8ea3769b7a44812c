"""Texts and values of `perdure.ids.urn` for property tests."""

from __future__ import annotations

from functools import cache

from hypothesis import strategies as st

from perdure.ids.urn import Urn, parse_urn
from perdure.testing.spelling import any_case, any_escape

_PCHAR = st.sampled_from("abcxyzABCXYZ0189-._~!$&'()*+,;=:@") | any_escape()
_PATH = st.lists(_PCHAR | st.just("/"), max_size=12).map("".join)
_REST = st.lists(_PCHAR | st.sampled_from("/?"), max_size=12).map("".join)


def _join_name(first: str, rest: str) -> str:
    return (first + rest).rstrip(":") or "a"  # ":::" at the end marks a URN of 1993


_NIDS = st.from_regex("x[a-z0-9-]{0,8}[a-z0-9]|isbn|nbn|uuid|[a-z]{32}", fullmatch=True)
_NAMES = st.builds(_join_name, _PCHAR, _PATH)


@cache
@st.composite
def texts(draw: st.DrawFn) -> str:
    """Well-formed URNs in every spelling, of namespaces that no other scheme uses."""
    nid, name = draw(_NIDS), draw(_NAMES)
    text = f"{draw(any_case('urn'))}:{draw(any_case(nid))}:{name}"
    for introducer in ("?+", "?="):
        if draw(st.booleans()):
            rest = draw(_REST)
            if introducer == "?+":  # it would end there
                rest = rest.replace("?=", "")
            text += introducer + draw(_PCHAR) + rest
    if draw(st.booleans()):
        text += f"#{draw(_REST)}"
    return text


@cache
def values() -> st.SearchStrategy[Urn]:
    """URNs."""
    return texts().map(parse_urn)
