"""Spellings that a parser must treat as equal.

How it works: strategies are kept, here and in the modules of the schemes, because Hypothesis checks
each new one before it draws from it, which takes longer than the drawing.
"""

from __future__ import annotations

from functools import cache, lru_cache

from hypothesis import strategies as st


@lru_cache(4096)
def any_case(text: str) -> st.SearchStrategy[str]:
    """The ASCII `text` with its letters in either case."""
    return st.tuples(*(st.sampled_from(sorted({x.lower(), x.upper()})) for x in text)).map("".join)


@cache
def any_escape() -> st.SearchStrategy[str]:
    """A percent-escape, its digits in either case."""
    return st.integers(0, 255).flatmap(lambda byte: any_case(f"%{byte:02x}"))
