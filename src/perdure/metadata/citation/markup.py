"""Rich text in the variables of an item: `<i>`, `<b>`, `<sup>`, `<sub>`, `<sc>`, and no case.

Specification: CSL 1.0.2, appendix "Rich Text Markup within Fields". Citations are plain text, so
the tags are removed. Text in `<span class="nocase">` and in small capitals keeps its case: it is
between two private characters until the entry is complete.

What must stay true: only pairs of these tags are markup; everything else with `<` is text, in time
proportional to its length.

    >>> mark_text('H<sub>2</sub>O, a < b, <i>never closed')
    'H2O, a < b, <i>never closed'
"""

from __future__ import annotations

import re
from collections.abc import Callable

KEEP, RELEASE = "\ue002", "\ue003"
"""Placeholders around text that keeps its case."""
NO_CASE = "nocase"
_TAG = re.compile(
    '<(/)?(?:(i|b|sup|sub|sc|span)|span (class="nocase"|style="font-variant: ?small-caps;?"))>'
)
_CASED = (NO_CASE, "sc")
_MARKS = str.maketrans("", "", KEEP + RELEASE)


def replace_markup(
    text: str, write_tag: Callable[[str, bool], str], write_text: Callable[[str], str] = str
) -> str:
    """Replace each pair of tags by what `write_tag` returns for its name and for opening it.

    The names are those of the elements, and `nocase`. `write_text` writes the text between.
    """
    if "<" not in text:
        return write_text(text)
    tags = list(_TAG.finditer(text))
    names: dict[int, str] = {}
    opened: list[tuple[int, str, str]] = []
    for at, tag in enumerate(tags):
        element = tag[2] or "span"
        if not tag[1]:
            name = NO_CASE if tag[3] and tag[3].startswith("class") else "sc" if tag[3] else element
            opened.append((at, element, name))
        elif opened and opened[-1][1] == element:
            first, _, name = opened.pop()
            names[first] = names[at] = name
    pieces, end = [], 0
    for at, tag in enumerate(tags):
        if at in names:
            pieces += [write_text(text[end : tag.start()]), write_tag(names[at], not tag[1])]
            end = tag.end()
    return "".join((*pieces, write_text(text[end:])))


def mark_text(text: str) -> str:
    """Remove markup from a text, and put placeholders around those parts that keep their case."""
    return replace_markup(
        remove_marks(text),
        lambda name, opens: (KEEP if opens else RELEASE) if name in _CASED else "",
    )


def keep_case(text: str, change: Callable[[str], str]) -> str:
    """Change the case of a text, except between the placeholders, which stay.

    >>> keep_case(f"on {KEEP}iPod{RELEASE} use", str.upper) == f"ON {KEEP}iPod{RELEASE} USE"
    True
    """
    if KEEP not in text:
        return change(text)
    bare = remove_marks(text)
    changed = change(bare)
    if len(changed) != len(bare):  # "ß" became two letters, so places are not known any more
        return text
    pieces, at, depth = [], 0, 0
    for letter in text:
        if letter in (KEEP, RELEASE):
            depth += 1 if letter == KEEP else -1
            pieces.append(letter)
        else:
            pieces.append(letter if depth > 0 else changed[at])
            at += 1
    return "".join(pieces)


def remove_marks(text: str) -> str:
    return text.translate(_MARKS)
