"""Texts and values of `perdure.ids.ark` for property tests."""

from __future__ import annotations

from functools import cache, lru_cache

from hypothesis import strategies as st

from perdure.ids.ark import Ark, parse_ark
from perdure.ids.scheme import BETANUMERIC
from perdure.testing.spelling import any_case, any_escape

_LABELS = ("ark:", "ark:/", "https://n2t.net/ark:", "http://n2t.net/ark:/")
_NAANS = st.text(BETANUMERIC, min_size=1, max_size=9)
_NAMES = st.lists(
    st.sampled_from("abxyzABXYZ0123456789=~*+@_$") | any_escape(), min_size=1, max_size=12
).map("".join)
_STRUCTURE = st.sampled_from(("/", ".", "//", "./", "/."))


@lru_cache(4096)
def _add_hyphens(text: str) -> st.SearchStrategy[str]:
    """The text with hyphens between its characters, but never within an escape."""
    if "%" in text:
        return st.sampled_from((text, f"-{text}", f"{text}\u2010"))
    hyphens = st.sampled_from(("", "", "", "-", "--", "\u2013"))
    return st.tuples(*(hyphens.map(character.__add__) for character in text)).map("".join)


_SPELLED_LABELS = st.sampled_from(_LABELS).flatmap(any_case)
_SPELLED_NAANS = _NAANS.flatmap(any_case).flatmap(_add_hyphens)
_SPELLED_NAMES = _NAMES.flatmap(_add_hyphens)
_QUALIFIERS = st.lists(st.tuples(_STRUCTURE, _NAMES).map("".join), max_size=4)
_IDLE = st.sampled_from(("", "/", ".", "-/"))


@cache
@st.composite
def texts(draw: st.DrawFn) -> str:
    """Well-formed ARKs in every spelling: labels, hyphens, case, redundant slashes and periods."""
    label, naan, name = draw(_SPELLED_LABELS), draw(_SPELLED_NAANS), draw(_SPELLED_NAMES)
    qualifier = "".join(draw(_QUALIFIERS))
    return f"{label}{naan}/{name}{qualifier}{draw(_IDLE)}"


@cache
def values() -> st.SearchStrategy[Ark]:
    """ARKs."""
    return texts().map(parse_ark)
