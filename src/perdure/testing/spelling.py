"""Spellings that a parser must treat as equal."""

from __future__ import annotations

from hypothesis import strategies as st


def any_case(text: str) -> st.SearchStrategy[str]:
    """The ASCII `text` with its letters in either case."""
    return st.tuples(*(st.sampled_from(sorted({x.lower(), x.upper()})) for x in text)).map("".join)


def any_escape() -> st.SearchStrategy[str]:
    """A percent-escape, its digits in either case."""
    return st.integers(0, 255).flatmap(lambda byte: any_case(f"%{byte:02x}"))
