"""Hypothesis strategies for identifiers, for our own property tests and for yours.

How it works: one module per scheme defines `texts()`, well-formed texts in every spelling that the
scheme allows, and `values()`, the identifiers parsed from them. This module joins them, and also
generates damaged texts.

>>> from hypothesis import given
>>> @given(values())
... def whatever_is_parsed_comes_back(identifier):
...     assert parse(str(identifier)) == identifier
>>> whatever_is_parsed_comes_back()

What must stay true: Hypothesis is imported in `perdure.testing` and nowhere else in perdure.
Install it with `pip install perdure[testing]`.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec

from hypothesis import strategies as st

from perdure.ids import Identifier, load_schemes, parse

_TROUBLE = (
    *"%#@*=/:.,;()+-_~?&'\"<>[]\\ \t\r\n\x00\x7f",
    *(
        "%2f",
        "%00",
        "%",
        "%%",
        "//",
        "..",
        "::",
        ":::",
        "urn:",
        "pdi://",
        "@1=",
        "#1,2",
        "https://",
    ),
    *("\u0131", "\u017f", "\u212a", "\u0660", "\u00a0", "\u202e", "\ud800", "\U0001f4dc"),
    *("0", "00", "1", "9" * 20, "a", "Z"),
)
"""Texts on which parsers stumble: delimiters, halves of escapes, control characters, non-ASCII
letters with an ASCII lower case, non-ASCII digits, halves of surrogate pairs, long numbers."""


@cache
def list_schemes() -> tuple[str, ...]:
    """The names of the installed schemes that have a module here."""
    return tuple(name for name in load_schemes() if find_spec(f"{__name__}.{name}"))


@cache
def texts(*schemes: str) -> st.SearchStrategy[str]:
    """Well-formed texts of the named schemes, or of all schemes, in every spelling."""
    return st.one_of([import_module(f"{__name__}.{s}").texts() for s in schemes or list_schemes()])


@cache
def values(*schemes: str) -> st.SearchStrategy[Identifier]:
    """Identifiers of the named schemes, or of all schemes."""
    return texts(*schemes).map(parse)


_INSERTED = st.just("") | st.sampled_from(_TROUBLE)


@st.composite
def spoil_texts(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> str:
    """Texts with one to three random deletions, insertions or replacements.

    Some are still well-formed.
    """
    text = draw(texts)
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 3)))
        text = text[:start] + draw(_INSERTED) + text[end:]
    return text


@cache
def noisy_texts(*prefixes: str) -> st.SearchStrategy[str]:
    """Arbitrary texts, with or without one of the prefixes."""
    anything = st.text() | st.lists(st.sampled_from(_TROUBLE), max_size=8).map("".join)
    return st.builds("".join, st.tuples(st.sampled_from(("", *prefixes)), anything))
