"""A part syntax: one way to write which part of a resource is meant.

How it works: a `Syntax` is data. It says of which media types it is a syntax, by which mark its
texts are recognised, and which function reads them into a selector. A syntax is found by entry
point, in the group `perdure.parts`:

    word = "perdure_word.syntax:SYNTAX"

A plug-in defines its selector as a subclass of `perdure.parts.selectors.PluginSelector`.

What must stay true: a syntax is recognised by its mark, never by trying to read the text. `read` is
pure. It raises MalformedPart, or PartNotSupported for a text that keeps to the grammar and has no
meaning here, and takes time in proportion to the text; `read(str(selector)) == selector`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import msgspec

from perdure.parts.selectors import Selected, Selector

LAST = 100
"""The turn of a syntax whose mark is found in every text."""
MARKUP = ("application/xhtml+xml", "text/html")
XML = ("*/*+xml", "application/xml", "text/xml")
SGML = ("application/sgml", "text/sgml")


class Syntax(msgspec.Struct, frozen=True, kw_only=True):
    """A way to write parts."""

    name: str
    """As messages name it: `char= and line= (RFC 5147)`."""
    media_types: tuple[str, ...]
    """`text/html`, `image/*`, `*/*+xml`, `*/*`: of what it is a syntax."""
    except_types: tuple[str, ...] = ()
    """Of what it is none all the same."""
    mark: re.Pattern[str]
    """Found in the texts that are written in this syntax, and in no others."""
    read: Callable[[str], Selector]
    """Text to selector."""
    forms: Mapping[type[Selected], tuple[str, ...]] = {}
    """Each kind of selector that only this syntax has, and how messages show it: `("char=",)`."""
    specifications: tuple[str, ...] = ()
    """What `conformsTo` of a Web Annotation calls this syntax. The first one stands in
    `conforms_to` of the selectors."""
    schemes: tuple[str, ...] = ()
    """Fragment schemes of PDIs (section 3.1 of the draft) that `read` understands: `word` for
    `#word=3,7`."""
    is_id: bool = False
    """Whether it reads plain names, so that its mark tells little."""
    turn: int = 45
    """When its mark is looked for: lower turns come first. Those of perdure are 0 to 60 and
    `LAST`."""


def fits(kind: str, essence: str) -> bool:
    """Whether a media type is of a kind: itself, `image/*`, `*/*+xml` or `*/*`.

    >>> fits("*/*+xml", "image/svg+xml"), fits("image/*", "text/plain")
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
