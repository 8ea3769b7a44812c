"""Texts and values of `perdure.ids.ark` for property tests."""

from __future__ import annotations

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


def _add_hyphens(text: str) -> st.SearchStrategy[str]:
    """The text with hyphens between its characters, but never within an escape."""
    if "%" in text:
        return st.sampled_from((text, f"-{text}", f"{text}\u2010"))
    hyphens = st.sampled_from(("", "", "", "-", "--", "\u2013"))
    return st.tuples(*(hyphens.map(character.__add__) for character in text)).map("".join)


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Well-formed ARKs in every spelling: labels, hyphens, case, redundant slashes and periods."""
    label = draw(st.sampled_from(_LABELS).flatmap(any_case))
    naan = draw(_NAANS.flatmap(any_case).flatmap(_add_hyphens))
    name = draw(_NAMES.flatmap(_add_hyphens))
    qualifier = "".join(draw(st.lists(st.tuples(_STRUCTURE, _NAMES).map("".join), max_size=4)))
    idle = draw(st.sampled_from(("", "/", ".", "-/")))
    return f"{label}{naan}/{name}{qualifier}{idle}"


def values() -> st.SearchStrategy[Ark]:
    """ARKs."""
    return texts().map(parse_ark)
