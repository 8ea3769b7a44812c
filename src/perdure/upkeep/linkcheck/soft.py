"""Soft 404s: pages that say "not found" with status 200. Pure.

How it works: the server is asked for an invented address beside the one in question. If it answers
that with 200, too, and with nearly the same words, then it gives this page for any address, with or
without redirects. Similarity is measured on the sets of three consecutive words (Broder,
"On the resemblance and containment of documents", 1997), without any markup.

What must stay true: `_LONGEST` bounds the work; two empty pages are alike.
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


def may_be_excuse(media_type: str) -> bool:
    """Return whether a document of this type can be a soft 404: HTML, or a page without a type."""
    return media_type in _HTML or not media_type


def invent_sibling(url: str) -> str | None:
    """Invent an address beside this one, or return None for a root, which has no siblings."""
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
    """Return whether redirects led from an address to the page of a folder above or beside it.

    Servers that avoid saying "not found" do that: they redirect to the home page, or to one page
    for all missing addresses. Addresses that lead to one distant document may do so on purpose.

    >>> leads_up("http://a.example/b/c", "http://b.example/?x"), leads_up("http://a/b", "http://a/c/")
    (True, False)
    """
    path, folder = urlsplit(url).path, urlsplit(end).path.rpartition("/")[0]
    return url != end and path.startswith(f"{folder}/")


def page_shape(content: bytes, *addresses: str) -> Shape:
    """Return the words of a page as a set of triples, without the words of its own address."""
    text = content[:_LONGEST]
    for address in addresses:
        path = urlsplit(address).path
        for own in (address, path, path.rpartition("/")[2]):
            if len(own) > 2:
                text = text.replace(own.encode(), b" ")
    words = _WORD.findall(_MARKUP.sub(b" ", _strip_programs(text)))
    return frozenset(hash(tuple(words[at : at + 3])) for at in range(max(1, len(words) - 2)))


def _strip_programs(text: bytes) -> bytes:
    first, *others = _PROGRAM.split(text)
    behind = (_END_OF_PROGRAM.split(one, 1)[1:] for one in others)
    return b" ".join((first, *(rest for found in behind for rest in found)))


def are_alike(one: Shape, other: Shape) -> bool:
    """Return whether two pages say nearly the same."""
    return len(one & other) >= _ALIKE * len(one | other)
