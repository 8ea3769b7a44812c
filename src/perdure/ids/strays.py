"""Finding the index at which a text departs from a grammar, for messages.

How it works: each scheme's parser matches well-formed text with one pattern. Only if that fails
does it walk through the text, step by step, to find where and why; these functions are the steps.

What must stay true: only ASCII letters are compared without regard to case. Some other letters
become ASCII in lower case (such as the Kelvin sign), but they are not part of any prefix.
"""

from __future__ import annotations

import re


def find_stray(text: str, prefixes: tuple[str, ...]) -> int:
    """Return the index up to which `text` agrees with one of the lower-case ASCII `prefixes`.

    >>> find_stray("HTTPS://n2t.org/ark:1", ("ark:", "https://n2t.net/ark:"))
    12
    """
    return max(_count_agreement(text, prefix) for prefix in prefixes)


def _count_agreement(text: str, prefix: str) -> int:
    for at, (found, letter) in enumerate(zip(text, prefix, strict=False)):
        if found not in (letter, letter.upper()):
            return at
    return min(len(text), len(prefix))


def find_reach(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Return the index at which a match of `pattern` at `start` ends; `start` if it fails.

    >>> find_reach(re.compile("[0-9]+"), "ark:123x", 4)
    7
    """
    match = pattern.match(text, start)
    return match.end() if match else start
