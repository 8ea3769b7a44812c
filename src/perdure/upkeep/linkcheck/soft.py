"""Pages that say "not found" and answer 200: how they are told. Pure.

How it works: a server is asked for an address that nobody can have made, beside the one in
question. Where that is answered with 200, too, and with nearly the same words, the page in question
is what this server gives for anything, with redirects or without. Likeness is that of the sets of
three words in a row (Broder, "On the resemblance and containment of documents", 1997), with all
markup left out.

What must stay true: bounded by `_LONGEST`; two empty pages are alike.
"""

from __future__ import annotations

import re
import secrets
from urllib.parse import urlsplit, urlunsplit

_LONGEST = 64 << 10  # bytes of a page that are compared
_ALIKE = 0.9
_PROGRAM = re.compile(rb"<(?:script|style)\b", re.IGNORECASE)
_END_OF_PROGRAM = re.compile(rb"</(?:script|style)\s*>", re.IGNORECASE)
_MARKUP = re.compile(rb"<[^<>]*>")
_WORD = re.compile(rb"[^\s\x00-\x2f]+")
_HTML = ("text/html", "application/xhtml+xml")

Shape = frozenset[int]


def may_be(media_type: str) -> bool:
    """Whether such a document can be the excuse of a server: HTML, or what says no type."""
    return media_type in _HTML or not media_type


def sibling(url: str) -> str | None:
    """An address beside this one that nobody can have made; None for a root, which has none."""
    parts = urlsplit(url)
    folder, _, name = parts.path.rpartition("/")
    if not name and not folder and not parts.query:
        return None
    invented = f"{folder}/perdure-{secrets.token_hex(8)}"
    dot = name.rfind(".")
    if dot > 0 and len(name) - dot <= 6:
        invented += name[dot:]
    return urlunsplit((parts.scheme, parts.netloc, invented, "", ""))


def leads_up(url: str, end: str) -> bool:
    """Whether redirects led from an address to the page of a folder above it, or beside it.

    That is what servers do that would rather not say "not found": home they send, or to one page
    for all that is missing. Names that lead to one document far away may well do so on purpose.

    >>> leads_up("http://a.example/b/c", "http://b.example/?x"), leads_up("http://a/b", "http://a/c/")
    (True, False)
    """
    path, folder = urlsplit(url).path, urlsplit(end).path.rpartition("/")[0]
    return url != end and path.startswith(f"{folder}/")


def shape(content: bytes, *addresses: str) -> Shape:
    """What a page says: its threes of words, those of its own address left out."""
    text = content[:_LONGEST]
    for address in addresses:
        path = urlsplit(address).path
        for own in (address, path, path.rpartition("/")[2]):
            if len(own) > 2:
                text = text.replace(own.encode(), b" ")
    words = _WORD.findall(_MARKUP.sub(b" ", _without_programs(text)))
    return frozenset(hash(tuple(words[at : at + 3])) for at in range(max(1, len(words) - 2)))


def _without_programs(text: bytes) -> bytes:
    first, *others = _PROGRAM.split(text)
    behind = (_END_OF_PROGRAM.split(one, 1)[1:] for one in others)
    return b" ".join((first, *(rest for found in behind for rest in found)))


def alike(one: Shape, other: Shape) -> bool:
    """Whether two pages say the same."""
    return len(one & other) >= _ALIKE * len(one | other)
