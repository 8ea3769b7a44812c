"""Which record an identifier means, and how what is in it is named: pure functions.

How it works: a record is kept under the key of an identifier, which all versions, formats and parts
of one resource share. Here an identifier is taken apart into what the record is asked for, and full
names are made of what it says.

What must stay true: `identify(x.key, record) == x` for the identifier of every record; `references`
gives the same for a record for ever, since it is what was written down to find it by.
"""

from __future__ import annotations

from functools import lru_cache

from perdure import formats
from perdure.errors import MalformedIdentifier
from perdure.errors.naming import PartNotBindable, PatternNotAllowed
from perdure.ids import Identifier, parse
from perdure.ids.pdi import Pdi, plain_key
from perdure.ids.pdi_key import counted, resource_text
from perdure.model.records import Record

_LONGEST_SOUGHT = 1000  # characters of a handle value that it can be found by


def wanted(identifier: Identifier) -> tuple[int | None, str | None]:
    """Version and format that an identifier names; None for either where it leaves it open."""
    version = identifier.version
    return (version if version != "*" else None), identifier.format


def qualified(identifier: Identifier, version: int, format: str) -> Identifier:
    """The identifier of exactly this representation, where its scheme has a way to say so."""
    if (identifier.version, identifier.format) == (version, format):
        return identifier.whole
    return identifier.at(version=version, format=format)


@lru_cache(maxsize=1024)
def canonical_format(format: str) -> str:
    """The format as it stands in a PDI that is minted. Cached: formats are few.

    Raises MalformedIdentifier, also for a wildcard.
    """
    if format == "*":
        rule = "section 3.6.1: a PDI that is minted contains no wildcards"
        raise MalformedIdentifier(text=format, at=0, expected="a format", rule=rule)
    return str(Pdi.make(series="a.us", date="2026/01/01", uid="1", format=format).format)


def spelled(identifier: Identifier) -> str:
    """The name to keep with the record: none where the key spells it already."""
    return "" if identifier.is_spelled_by_key else str(identifier.resource)


def identify(key: str, record: Record) -> Identifier:
    """The identifier of a record: the inverse of its key and `spelled`."""
    return parse(record.name) if record.name else Pdi.from_key(key)


def full_name(key: str, record: Record, version: int, format: str) -> str:
    """The text of `qualified` for the identifier of a record.

    For those who place thousands: where the key spells the name it takes a fifth of the time, and
    of a serial number a tenth.
    """
    if not record.name:
        day, _, uid = key.rpartition("/")
        digits = uid[1:]
        around = _around_serial(day, version, format)
        if around and digits.isdigit() and digits[0] != "0" and counted(digits) == uid:
            return f"{around[0]}{digits}{around[1]}"
        name = f"{resource_text(key)}.{format}.{version}"
        if plain_key(name) == (key, format, str(version)):
            return name
    return str(qualified(identify(key, record), version, format))


@lru_cache(maxsize=1024)
def _around_serial(day: str, version: int, format: str) -> tuple[str, str] | None:
    """What the name of a serial number has before and behind it, where the key of its day and all
    else are plain."""
    text = resource_text(f"{day}/{counted('1')}")
    behind = f".{format}.{version}"
    if plain_key(text + behind) != (f"{day}/{counted('1')}", format, str(version)):
        return None
    return text[:-1], behind


def bindable(identifier: Identifier) -> Identifier:
    """The identifier itself. Raises InvalidRequest for what names no single whole resource."""
    if identifier.is_pattern:
        raise PatternNotAllowed(identifier=str(identifier))
    whole = identifier.whole
    if whole is not identifier and whole != identifier:
        raise PartNotBindable(identifier=str(identifier))
    return identifier


def references(record: Record) -> set[str]:
    """Everything that leads back to this record: its locations, digests and aliases."""
    found = {f"sha512:{held.sha512}" for one in record.versions for held in one.representations}
    for location in record.locations:
        found.add(f"location:{location.uri}")
        if location.sha512:
            found.add(f"sha512:{location.sha512}")
    for alias in record.aliases:
        found.add(f"alias:{parse(alias).key}")
    for value in record.values:
        if value.format == "string" and len(value.data) <= _LONGEST_SOUGHT:
            found.add(f"value:{value.type}:{value.data}")
    return found


def same_format(a: str, b: str) -> bool:
    """Whether two format tokens name one representation (`au` is `basic`; ruling pdi-token)."""
    return a == b or formats.same_format(a, b)
