"""Where a text strays from a grammar; for messages.

How it works: each scheme's parser reads well-formed text with one pattern. Only where that fails
does it walk the text, step by step, to say where and why; these are the steps.

What must stay true: only ASCII letters have another case here. Some letters beyond ASCII become
one in lower case (the Kelvin sign does), and they are no part of any prefix.
"""

from __future__ import annotations

import re


def stray(text: str, prefixes: tuple[str, ...]) -> int:
    """The index in `text` up to which it agrees with one of the lower-case ASCII `prefixes`.

    >>> stray("HTTPS://n2t.org/ark:1", ("ark:", "https://n2t.net/ark:"))
    12
    """
    return max(_agreement(text, prefix) for prefix in prefixes)


def _agreement(text: str, prefix: str) -> int:
    for at, (found, letter) in enumerate(zip(text, prefix, strict=False)):
        if found not in (letter, letter.upper()):
            return at
    return min(len(text), len(prefix))


def reach(pattern: re.Pattern[str], text: str, start: int) -> int:
    """The index at which `pattern`, read from `start`, ends; `start` where it does not match.

    >>> reach(re.compile("[0-9]+"), "ark:123x", 4)
    7
    """
    match = pattern.match(text, start)
    return match.end() if match else start
