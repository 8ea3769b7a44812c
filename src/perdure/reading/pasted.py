"""Identifiers as people paste them: in brackets, in quotation marks, or as the address of a page.

How it works: `read_pasted` gives the text to a reader unchanged, and only if the reader refuses it,
without what surrounds the identifier. An address at a resolver (`http://host/pdi://…`) is read as
the resolver reads it: `%23` and `?part=` begin a part, other questions are left out.

What must stay true: a text that the reader accepts means what it says. Only the command line and
the forms for people read in this way: parsers and request targets are strict, and their errors name
the identifier within (`perdure.ids.wrapping`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar
from urllib.parse import quote as escape
from urllib.parse import unquote

from perdure.errors import MalformedIdentifier, UnknownScheme
from perdure.errors.locations import UnknownResolver
from perdure.ids import urls
from perdure.ids.named_parts import Name, join_part
from perdure.ids.wrapping import unwrap_text
from perdure.reading.targets import read_name, read_question, read_target

_T = TypeVar("_T")
_VISIBLE = "".join(map(chr, range(0x21, 0x7F)))


def read_pasted(text: str, read: Callable[[str], _T], bases: Callable[[], tuple[str, ...]]) -> _T:
    """Read a text or, if `read` refuses it, the identifier within. Raises the errors of `read`.

    `bases` returns the addresses of our own resolver; only an address needs them.
    """
    try:
        return read(text)
    except (MalformedIdentifier, UnknownScheme):
        within = find_within(text, bases)
        if within in ("", text):
            raise
    return read(within)


def find_within(text: str, bases: Callable[[], tuple[str, ...]]) -> str:
    """Return the identifier within a text, or the text without what surrounds it.

    Raises the errors of `read_address_path` for an address at a resolver.
    """
    found = unwrap_text(text)
    if not found.lower().startswith(("http://", "https://")):
        return found
    try:
        return read_address(found, bases())
    except UnknownResolver:
        return found


def read_address(url: str, bases: tuple[str, ...]) -> str:
    """Return the identifier in an address, with the part that the address asks for.

    Raises UnknownResolver, MalformedIdentifier, and the errors of `read_address_path`.
    """
    path = urls.find_path(url, bases)
    if path is not None:
        return spell_name(read_address_path(path))
    whole, mark, part = url.partition("#")  # at a public resolver, which never sees the part
    identifier = str(urls.deurlify(whole))
    return f"{identifier}#{unquote(part)}" if mark and part else identifier


def read_address_path(path: str) -> Name:
    """Read the path at a resolver, and the part that its query asks for.

    Raises MalformedIdentifier, UnknownScheme, or InvalidRequest for an unknown question.
    """
    target = read_target(b"/" + escape(path, safe=_VISIBLE).encode("ascii"))
    return read_name(target.text, read_question(target.question).part)


def spell_name(name: Name) -> str:
    """Write a name as people give it: with its part after a `#`."""
    if name.names is not None:
        return str(name.names)
    identifier, part = join_part(name.identifier, name.part)
    return str(identifier) if part is None else f"{identifier}#{escape(part, safe=_VISIBLE)}"
