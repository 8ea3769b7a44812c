"""The names of records, as far as their keys tell them.

How it works: PDIs, Handles and URNs of 1993 have keys of a form of their own; each key of the other
schemes is an identifier. The spelling of a name is in its record (`spell_name` of
`perdure.policy.naming`), so this module is for messages about records that cannot be read.

What must stay true: a message never shows a key if the key tells the name.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from perdure.errors import PerdureError
from perdure.ids import Identifier, parse
from perdure.ids.handle import Handle
from perdure.ids.pdi import Pdi
from perdure.ids.urn1993 import Urn1993

_READERS: tuple[Callable[[str], Identifier], ...] = (
    Pdi.from_key,
    Handle.from_key,
    Urn1993.from_key,
    parse,
)


def spell_key(key: str) -> str:
    """Return the canonical text of the resource with a key.

    If no scheme has such a key, because it is damaged, it is returned as it is. Surrogates, which
    are in place of bytes that are not UTF-8, become escapes.
    """
    text = key.encode("utf-8", "backslashreplace").decode()
    for read_key in _READERS:
        with suppress(PerdureError, ValueError, IndexError):
            name = read_key(text)
            if name.key == text:
                return str(name)
    return text
