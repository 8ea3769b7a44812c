"""Collecting all locations of a registry, or of identifiers that match a pattern or a prefix.

How it works: identifiers are listed by their keys. A pattern of PDIs, and the beginning of
identifiers of another scheme (`hdl:1839/*`), is a range of keys.

What must stay true: a name that is not registered is an error, never an empty list.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

import msgspec

from perdure.errors import NotFound
from perdure.errors.importing import SchemeUnordered
from perdure.ids import Identifier, parse, scheme_of
from perdure.model.records import Record
from perdure.policy.naming import identify_record
from perdure.storage.ports import Records
from perdure.storage.scanning import DamagedRecord, scan_readable
from perdure.upkeep.linkcheck.state import BoundLocation
from perdure.upkeep.linkcheck.verdict import ExpectedContent

_log = logging.getLogger(__name__)
_AT_ONCE = 1000
_END = "\U0010ffff"


class IdentifierPrefix(msgspec.Struct, frozen=True):
    """The beginning of identifiers."""

    text: str
    """The text as it was written, with `*` at its end."""
    key: str
    """The beginning of their keys."""

    def __str__(self) -> str:
        return self.text


Within = Identifier | IdentifierPrefix


def parse_within(text: str) -> Within:
    """Parse an identifier, a pattern of PDIs, or the beginning of identifiers of another scheme.

    Raises what parsing raises, and InvalidRequest if keys of the scheme do not begin with the text.

    >>> parse_within("doi:10.1000/A*").key
    'hdl:10.1000/a'
    """
    if not text.endswith("*"):
        return parse(text)
    one = parse(f"{text[:-1]}x")  # any name with this beginning
    if scheme_of(one).has_patterns:
        return parse(text)
    if not one.key.endswith("x"):
        raise SchemeUnordered(text=text)
    return IdentifierPrefix(text, one.key[:-1])


def walk_records(store: Records, within: Within | None = None) -> Iterator[tuple[str, Record]]:
    """Yield key and record of every identifier within a scope; without a scope, of all.

    Raises NotFound for an identifier that is not registered.
    """
    low, high = "", _END
    if isinstance(within, IdentifierPrefix):
        low, high = within.key, within.key + _END
    elif within is not None and within.is_pattern:
        low, high = within.key_range()
    elif within is not None:
        found = store.find_record(within.key)
        if found is None:
            raise NotFound(identifier=str(within))
        yield within.key, found
        return
    following: str | None = low
    while following is not None:
        batch, following = scan_readable(store, following, high, limit=_AT_ONCE)
        for row in batch:
            if isinstance(row, DamagedRecord):
                _log.warning("left out a damaged record: %s", row.error)
            elif (
                within is None
                or isinstance(within, IdentifierPrefix)
                or within.resource.matches(row.name)
            ):
                yield row.key, row.record


def walk_bound(store: Records, within: Within | None = None) -> Iterator[BoundLocation]:
    """Yield every location with what was bound there, except of withdrawn resources."""
    for key, record in walk_records(store, within):
        if record.tombstone is not None or not record.locations:
            continue
        name = str(identify_record(key, record))
        for one in record.locations:
            yield BoundLocation(name, ExpectedContent(one.uri, one.sha512, one.size))
