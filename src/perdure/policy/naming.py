"""Names of records, and of the versions and formats in them: pure functions.

How it works: a record is stored under the key of its identifier, which all versions, formats and
parts of a resource share. This module reads the version and the format of an identifier, and makes
full names from the content of a record.

What must stay true: `identify_record(x.key, record) == x` for the identifier of every record.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from perdure import formats
from perdure.errors import MalformedIdentifier
from perdure.errors.contents import FormatHasHash
from perdure.errors.naming import PartNotBindable, PatternNotAllowed
from perdure.ids import Identifier, parse
from perdure.ids.name_set import NameSet
from perdure.ids.pdi import Pdi
from perdure.ids.pdi_key import are_serial_keys, encode_number, read_resource_key
from perdure.ids.pdi_plain import read_plain_key
from perdure.model.records import Record, Representation


def read_qualifiers(identifier: Identifier) -> tuple[int | None, str | None]:
    """The version and the format that an identifier names, each None if it names none."""
    version = identifier.version
    return (version if version != "*" else None), identifier.format


def qualify_identifier(identifier: Identifier, version: int, format: str) -> Identifier:
    """The identifier of exactly this representation, if its scheme can name it."""
    if (identifier.version, identifier.format) == (version, format):
        return identifier.whole
    return identifier.at(version=version, format=format)


@lru_cache(maxsize=1024)
def canonical_format(format: str) -> str:
    """The format as a minted PDI spells it. Cached, since there are few formats.

    Raises MalformedIdentifier, also for a wildcard.
    """
    if format == "*":
        rule = "section 3.6.1: a minted PDI contains no wildcards"
        raise MalformedIdentifier(text=format, at=0, expected="a format", rule=rule)
    return str(Pdi.make(series="a.us", date="2026/01/01", uid="1", format=format).format)


@lru_cache(maxsize=1024)
def check_new_format(format: str) -> str:
    """The format as a minted PDI spells it.

    Raises MalformedIdentifier, and InvalidRequest if no new name may have it.
    """
    canonical = canonical_format(format)
    if "%23" in canonical:  # rulings: pdi-format, fragment-transport
        raise FormatHasHash(format=format)
    return canonical


def spell_first_ending(format: str) -> str:
    """The end of the name of a first version: `.text.1`.

    It is empty for a name that is reserved without a format.  # ruling: pdi-reserved-name
    Raises MalformedIdentifier, and InvalidRequest if no new name may have the format.
    """
    return f".{check_new_format(format)}.1" if format else ""


def spell_name(identifier: Identifier) -> str:
    """The name to store in the record, or an empty text if the key already spells it."""
    return "" if identifier.is_spelled_by_key else str(identifier.resource)


def identify_record(key: str, record: Record) -> Identifier:
    """The identifier of a record, from its key and its stored name (see `spell_name`)."""
    return parse(record.name) if record.name else Pdi.from_key(key)


def spell_full_name(key: str, record: Record, version: int, format: str) -> str:
    """The text of `qualify_identifier` for the identifier of a record.

    It is for callers that place thousands of contents: it takes a fifth of the time if the key
    spells the name, and a tenth for a serial number.
    """
    if not record.name:
        day, _, uid = key.rpartition("/")
        digits = uid[1:]
        around = _around_serial(day, version, format)
        if around and digits.isdigit() and digits[0] != "0" and encode_number(digits) == uid:
            return f"{around[0]}{digits}{around[1]}"
        name = f"{read_resource_key(key)}.{format}.{version}"
        if read_plain_key(name) == (key, format, str(version)):
            return name
    return str(qualify_identifier(identify_record(key, record), version, format))


def are_serial_names(keys: Sequence[str]) -> bool:
    """Return True if these keys, in order, all spell names of serial numbers of one day.

    None of them then makes `spell_full_name` raise an error.
    """
    day = keys[0].rpartition("/")[0]
    return _around_serial(day, 1, "text") is not None and are_serial_keys(day, keys)


@lru_cache(maxsize=1024)
def _around_serial(day: str, version: int, format: str) -> tuple[str, str] | None:
    """The text before and after the digits in the name of a serial number.

    None if the key of its day, or the rest of the name, is not plain.
    """
    text = read_resource_key(f"{day}/{encode_number('1')}")
    behind = f".{format}.{version}"
    if read_plain_key(text + behind) != (f"{day}/{encode_number('1')}", format, str(version)):
        return None
    return text[:-1], behind


def check_bindable(identifier: Identifier) -> Identifier:
    """Return the identifier. Raises InvalidRequest if it does not name one whole resource."""
    if identifier.is_pattern:
        raise PatternNotAllowed(identifier=str(identifier))
    whole = identifier.whole
    if whole is not identifier and whole != identifier:
        raise PartNotBindable(identifier=str(identifier))
    return identifier


def same_format(a: str, b: str) -> bool:
    """Return True if two format tokens name one format (`au` is `basic`; ruling pdi-token)."""
    return a == b or formats.is_same_format(a, b)


def list_members(names: NameSet, name: Identifier, record: Record) -> list[Identifier]:
    """The identifiers of a record that belong to a set, in order.

    They are representations if the set consists of these, else the resource itself.
    """
    if names.chosen is not None:
        return list(names.chosen.find_names(name.key))
    if not names.has_representations:
        return [name] if names.contains(name) else []
    there = {
        (version.number, held.format)
        for version in record.versions
        for held in version.representations
    }
    there |= {
        (location.version, location.format)
        for location in record.locations
        if location.version is not None and location.format
    }
    if not there and record.minted:
        there = {(1, record.minted)}
    found = (qualify_identifier(name, version, format) for version, format in sorted(there))
    return [one for one in found if contains_representation(names, one)]


def covers_record(names: NameSet, name: Identifier, record: Record) -> bool:
    """Return True if a set contains the resource of a record, or some of its representations."""
    if names.has_representations and not names.is_single:
        return bool(list_members(names, name, record))
    return names.covers_resource(name)


def contains_representation(names: NameSet, one: Identifier) -> bool:
    """Return True if a set contains a representation, in any spelling of its format."""
    pattern = names.pattern
    if (
        pattern is not None
        and pattern.format not in (None, "*", one.format)
        and same_format(str(pattern.format), str(one.format))
    ):
        return pattern.at(version=pattern.version, format=one.format).matches(one)
    return names.contains(one)


def list_reading_aliases(held: Representation) -> tuple[str, ...]:
    """The formats under which bytes are found after corrections, besides their own format.

    A name that once resolved goes on resolving, so the formats of earlier corrections stay.
    """
    if not held.corrections:
        return ()
    tokens = (
        formats.make_token(one.after.media_type, one.after.charset) for one in held.corrections
    )
    return tuple(dict.fromkeys(one for one in tokens if not same_format(one, held.format)))


def list_located_types(record: Record) -> list[str]:
    """The media types of the formats that the locations of a record name, without parameters."""
    found = (formats.find_media_type(one.format) for one in record.locations if one.format)
    return [one.essence for one in found if one is not None]


def select_format(held: Sequence[Representation], format: str) -> tuple[Representation, ...]:
    """The representations that a format names: by exactly this token, by another token of the same
    format or, if there are none, by a reading alias."""
    exact = tuple(one for one in held if one.format == format)
    alike = tuple(one for one in held if one not in exact and same_format(one.format, format))
    if exact or alike:
        return exact + alike
    return tuple(
        one
        for one in held
        if any(same_format(alias, format) for alias in list_reading_aliases(one))
    )


def has_format(held: Representation, format: str) -> bool:
    """Return True if a format names a representation, also as a reading alias."""
    return bool(select_format((held,), format))
