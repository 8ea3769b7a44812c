"""Help on pages about errors: the words that were typed, a search, and names nearby.

How it works: a name that is not known has neighbours in the narrowest set around it that has names
here: the day, the month, the year, and at last the authority. `list_neighbours` reads one page of
that set, and takes the names around the place where the missing one would be. Names are not
secret (`perdure.reading.listing`); the pages behind the links ask for the documents.

What must stay true: only pages need this, so no other client pays for it; a page about an error
never fails because of it.
"""

from __future__ import annotations

from bisect import bisect_left
from urllib.parse import parse_qsl, unquote

import msgspec

from perdure.errors import NotFound, PerdureError
from perdure.ids import LONGEST, Identifier, parse
from perdure.ids.name_set import NameSet, read_set
from perdure.model.parameters import Parameters
from perdure.reading.listing import Listings
from perdure.reading.targets import RequestTarget
from perdure.server.pages.trail import find_page, make_trail

_LOOKED = 200  # names
_SIDE = 3  # names before and behind
_TYPED = frozenset(("no-such-page", "not-found", "malformed-identifier", "unknown-scheme"))
"""Codes of problems after which a reader may have mistyped a name."""


class Neighbours(msgspec.Struct, frozen=True):
    """Names around a missing one."""

    within: tuple[str, str]
    """The text and the address of their set."""
    names: tuple[tuple[str, str], ...]
    """The texts and the addresses of their landing pages."""


def find_typed(target: RequestTarget, code: str) -> str:
    """Return what the reader typed, if an error of this code may come from that."""
    if code not in _TYPED:
        return ""
    typed = unquote(target.text)
    if not typed:
        typed = Parameters(parse_qsl(target.question or "")).get("identifier") or ""
    return typed[:LONGEST]


def list_neighbours(listings: Listings, error: PerdureError) -> Neighbours | None:
    """List the names around the one that an error says is not known, or return None."""
    if type(error).code != NotFound.code:
        return None
    try:
        name = parse(str(getattr(error, "identifier", ""))).whole.resource
        steps = make_trail(name)
    except PerdureError:
        return None
    for text, address in reversed(steps):
        try:
            found = _list_around(listings, read_set(text), name)
        except PerdureError:  # nothing is known there, or it is elsewhere
            continue
        if found:
            shown = tuple((str(one), find_page(one)) for one in found)
            return Neighbours((text, address), shown)
    return None


def _list_around(listings: Listings, names: NameSet, missing: Identifier) -> list[Identifier]:
    found = list(listings.list_page(names, limit=_LOOKED).identifiers)
    at = bisect_left([one.key for one in found], missing.key)
    return found[max(at - _SIDE, 0) : at + _SIDE]
