"""The interface of a part syntax, which is one way to write a part of a resource.

How it works: a `Syntax` is data: its media types, the mark by which its texts are recognised, and
the function that reads them into a selector. perdure finds a syntax by its entry point in the group
`perdure.parts`:

    word = "perdure_word.syntax:SYNTAX"

A plug-in defines its selector as a subclass of `perdure.parts.selectors.PluginSelector`.

What must stay true: a syntax is recognised by its mark, never by trying to read the text. `read` is
pure. It raises MalformedPart, or PartNotSupported if a text follows the grammar but has no meaning
here, and takes time in proportion to the text; `read(str(selector)) == selector`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec

from perdure.parts.selectors import PartSelector, Selector

LAST = 100
"""The turn of a syntax whose mark matches every text."""
MARKUP = ("application/xhtml+xml", "text/html")
XML = ("*/*+xml", "application/xml", "text/xml")
SGML = ("application/sgml", "text/sgml")


class Syntax(msgspec.Struct, frozen=True, kw_only=True):
    """One way to write parts."""

    name: str
    """Name in messages: `char= and line= (RFC 5147)`."""
    media_types: tuple[str, ...]
    """Media types to which it applies: `text/html`, `image/*`, `*/*+xml`, `*/*`."""
    except_types: tuple[str, ...] = ()
    """Exceptions from `media_types`."""
    mark: re.Pattern[str]
    """Matches the texts in this syntax, and no others."""
    read: Callable[[str], Selector]
    """Reads a text into a selector."""
    forms: Mapping[type[PartSelector], tuple[str, ...]] = {}
    """The selectors that only this syntax has, each with its form in messages: `("char=",)`."""
    specifications: tuple[str, ...] = ()
    """Values of `conformsTo` in a Web Annotation that mean this syntax. The first one is
    `conforms_to` of its selectors."""
    schemes: tuple[str, ...] = ()
    """Fragment schemes of PDIs that the draft does not define (section 3.1): `word` for
    `#word=3,7`.  # ruling: pdi-other-schemes"""
    read_scheme: Callable[[str], Selector] | None = None
    """Reads a fragment of these schemes: scheme, `=` and positions, in which percent-escapes stand
    for all characters that PDI reserves. None if `read` understands it."""
    ignores_case: bool = False
    """True if upper and lower case mean the same in the positions of these schemes (section 3.6.4
    of the draft, step 5). They are then read in lower case."""
    is_id: bool = False
    """True if it reads plain names, so that its mark is not distinctive."""
    turn: int = 45
    """Order in which marks are searched: lower turns come first. perdure uses 0 to 60 and
    `LAST`."""


def covers_type(kind: str, essence: str) -> bool:
    """Return True if a kind covers a media type: itself, `image/*`, `*/*+xml` or `*/*`.

    >>> covers_type("*/*+xml", "image/svg+xml"), covers_type("image/*", "text/plain")
    (True, False)
    """
    if kind in (essence, "*/*"):
        return True
    top, slash, minor = essence.partition("/")
    if not slash:
        return False
    if kind.startswith("*/*+"):
        return "+" in minor and minor.rpartition("+")[2] == kind[4:]
    return kind == f"{top}/*"
