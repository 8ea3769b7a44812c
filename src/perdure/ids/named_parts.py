"""Names with a part: reading one from a text, and joining a part to a name. Pure.

How it works: a PDI includes its part itself. For all other schemes the part is separate:
if a scheme allows no `#` in its names, a `#` begins a part.

What must stay true: nothing here needs a registry; `perdure.policy.unfolding` finds parts of names
that only a registry knows.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from urllib.parse import unquote

import msgspec

from perdure.errors import MalformedIdentifier, PerdureError
from perdure.errors.naming import PartEmpty
from perdure.ids import Identifier, parse, scheme_of
from perdure.ids.name_set import NameSet, read_set

_HASH = re.compile("#|%23")  # also as clients escape it


class Name(msgspec.Struct, frozen=True):
    """An identifier and, if its scheme cannot include one, a part of it."""

    identifier: Identifier
    part: str | None = None
    names: NameSet | None = None
    """The set of names that a text stands for if it is not an identifier: `hdl:1839/`."""
    doubt: MalformedIdentifier | None = None
    """The error to raise if the identifier is not known: the text was read as a name with a part
    only because it is malformed as a name."""


def split_part(text: str, read: Callable[[str], Identifier] = parse) -> Name:
    """Read a name. A `#` that the scheme does not allow in its names begins a part.

    `read` reads identifiers; its errors pass through. A PDI includes its part itself.

    >>> str(split_part("URN:IANA:42117::x:::#char=6,11").identifier)
    'URN:IANA:42117::x:::'
    >>> split_part("ark:/99999/x#page=2").part
    'page=2'
    """
    try:
        return Name(read(text))
    except MalformedIdentifier as error:
        hash = _HASH.search(text)
        if hash is None:
            with suppress(PerdureError):
                names = read_set(text)
                if not names.is_single:
                    return Name(names.example, names=names)
            raise
        with suppress(PerdureError):
            identifier = read(text[: hash.start()])
            if not scheme_of(identifier).part_mark:
                return Name(identifier, unquote(text[hash.end() :]), doubt=error)
        raise


def join_part(identifier: Identifier, part: str | None) -> tuple[Identifier, str | None]:
    """Join a part to a PDI; for any other identifier, keep the part separate.

    Raises MalformedIdentifier if the PDI allows no such part, or already has a part, PartEmpty if
    the part of another identifier is empty: it would be taken for the whole.
    # ruling: part-meaning

    >>> str(join_part(parse("pdi://oma.eop.gov.us/1997/09/01/1.text.1"), "37,51")[0])
    'pdi://oma.eop.gov.us/1997/09/01/1.text.1#char=37,51'
    """
    with_part = None if part is None else identifier.with_part(part)
    if part == "" and with_part is None:
        raise PartEmpty(identifier=str(identifier))
    return (identifier, part) if with_part is None else (with_part, None)


def written_part(identifier: Identifier) -> str:
    """The text of the part that an identifier includes; empty for a whole or a citation.

    >>> written_part(parse("pdi://oma.eop.gov.us/1997/09/01/1.text.1#37,51"))
    'char=37,51'
    """
    own = str(identifier).removeprefix(str(identifier.whole))
    return own[1:] if own.startswith("#") else ""
