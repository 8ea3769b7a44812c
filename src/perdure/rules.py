"""What may be minted, committed, bound, broken and withdrawn: pure functions over records.

How it works: each write is planned here before a byte is stored. A function takes the record as it
stands (or None) and what is asked, and gives the record as it will be, or raises. Where bytes come
along, planning and building are two steps, because a representation says where its bytes lie and
they lie nowhere before the plan is accepted.

What must stay true (PDI sections 2.1, 2.6, 3.6): the namespace is monotonic. No function here
returns a record with fewer versions, fewer representations or other digests than it was given.
"""

from __future__ import annotations

import re
from datetime import date
from functools import cache, lru_cache

import msgspec
import pycountry

from perdure import description, formats
from perdure.description import About, Attachment
from perdure.errors import (
    Conflict,
    InvalidRequest,
    MalformedIdentifier,
    NoSuchVersion,
    NotFound,
    PreconditionFailed,
    UnknownAuthority,
    UnknownScheme,
)
from perdure.ids import Identifier, grammar, parse
from perdure.ids.pdi import Pdi, plain_key
from perdure.ids.pdi_key import counted, resource_text
from perdure.model import (
    Content,
    Location,
    Outcome,
    Proposal,
    Record,
    Representation,
    Tombstone,
    Version,
)

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):[!-~]+", re.ASCII)
_LOCATING = frozenset(
    {"http", "https", "ftp", "ftps", "urn", "hdl", "doi", "ark", "pdi", "pwid", "info"}
)
"""Schemes of locations: what can be followed, or is another name; and nothing that runs."""
_LONGEST_URI = 8192  # characters
_LONGEST_SOUGHT = 1000  # characters of a handle value that it can be found by
_VERSIONS_END = 10**grammar.NUMERAL_DIGITS
_SHA512 = re.compile("[0-9a-f]{128}")
_TOKEN = re.compile("[A-Za-z0-9._:+/-]{1,100}", re.ASCII)


# What an identifier names
# ------------------------


def wanted(identifier: Identifier) -> tuple[int | None, str | None]:
    """Version and format that an identifier names; None for either where it leaves it open."""
    if not isinstance(identifier, Pdi):
        return None, None
    return (identifier.version if identifier.version != "*" else None), identifier.format


def qualified(identifier: Identifier, version: int, format: str) -> Identifier:
    """The identifier of exactly this representation, where its scheme has a way to say so."""
    if isinstance(identifier, Pdi) and (identifier.version, identifier.format) != (version, format):
        return identifier.at(version=version, format=format)
    return identifier.whole


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
    if isinstance(identifier, Pdi):
        return "" if identifier.foreign is None else str(identifier.resource)
    return str(identifier)


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
    if isinstance(identifier, Pdi) and identifier.is_pattern:
        raise _refused(identifier, "a pattern names many resources", "ruling pdi-wildcard")
    if identifier != identifier.whole:
        raise _refused(identifier, "bytes are bound to a whole document, not to a part of it", None)
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


# Minting
# -------


@cache
def _countries() -> frozenset[str]:
    """ISO 3166-1 alpha-2 codes, officially assigned or formerly used, in lower case."""
    past = (getattr(country, "alpha_2", None) for country in pycountry.historic_countries)
    present = (country.alpha_2 for country in pycountry.countries)
    return frozenset(code.lower() for code in (*present, *past) if code)


@lru_cache(maxsize=1024)
def check_series(series: str, owned: tuple[str, ...]) -> None:
    """Raises UnknownAuthority or, where it ends in no country, InvalidRequest (section 2.2)."""
    if series not in owned:
        raise UnknownAuthority(authority=series, known=owned)
    country = series.rpartition(".")[2]
    if country not in _countries():
        raise InvalidRequest(
            what=f"series {series}",
            reason=f"{country!r} is no ISO 3166 code of a country, present or former",
            rule="ruling pdi-series",
        )


def check_not_empty(uid: str) -> None:
    """Raises InvalidRequest for a name of no characters."""
    if not uid:
        raise InvalidRequest(what="unique-id ''", reason="it is empty: leave it out", rule=None)


def check_unique_id(uid: str) -> None:
    """Raises InvalidRequest where a unique-id is asked for that the daily counter will hand out."""
    if uid.isascii() and uid.isdigit():
        raise InvalidRequest(
            what=f"unique-id {uid}",
            reason="numbers are handed out in order, without gaps",
            rule="section 2.4: leave the unique-id out, or choose one that is not a number",
        )


# Committing bytes
# ----------------


class Plan(msgspec.Struct, frozen=True):
    """Which version the contents become, and those of them that are not held yet."""

    version: int
    fresh: tuple[Content, ...]


def checked_contents(
    identifier: Identifier | str, contents: tuple[Content, ...]
) -> tuple[Content, ...]:
    """The contents, with their formats in canonical form; the identifier is for messages.

    Raises InvalidRequest for what must not get into a header or would give one format twice,
    MalformedIdentifier for a format that no PDI can have.
    """
    if not contents:
        raise _refused(identifier, "there are no bytes to commit", None)
    checked: list[Content] = []
    for content in contents:
        format = canonical_format(content.format)
        if checked and any(same_format(format, other.format) for other in checked):
            raise _refused(identifier, "a format stands twice in one version", "section 2.6")
        _check_media_type(content.media_type)
        _check_token("charset", content.charset)
        _check_token("language", content.language)
        same = content.format == format
        checked.append(content if same else msgspec.structs.replace(content, format=format))
    return tuple(checked)


@lru_cache(maxsize=1024)
def _check_media_type(text: str) -> None:
    """Raises InvalidRequest for what is no media type. Cached: they are few."""
    formats.MediaType.parse(text)


def plan_commit(
    identifier: Identifier, record: Record, contents: tuple[Content, ...], version: int | None
) -> Plan:
    """Decides where contents go. Raises Conflict, NoSuchVersion or InvalidRequest.

    "Any machine representation (byte sequence) associated with formats of a versioned PDI never
    changes" (section 2.1); "addition of a new FORMAT … does not require the version to be
    incremented" (section 2.6).
    """
    contents = checked_contents(identifier, contents)
    numbers = version_numbers(record)
    highest = max(numbers, default=0)
    if version is None:
        repeated = highest and all(_promised(record, highest, one) for one in contents)
        return plan_version(identifier, record, contents, highest if repeated else highest + 1)
    if version > highest + 1:
        raise NoSuchVersion(identifier=str(identifier), version=version, versions=numbers)
    return plan_version(identifier, record, contents, version)


def plan_version(
    identifier: Identifier, record: Record, contents: tuple[Content, ...], number: int
) -> Plan:
    """The contents become formats of this version. Raises Conflict or InvalidRequest."""
    if number < 1:
        raise _refused(identifier, "versions are counted from 1", "section 2.6")
    if record.tombstone:
        raise Conflict(identifier=str(identifier), reason="it was withdrawn", current=None)
    version = record.version(number)
    if version and version.tombstone:
        reason = f"version {number} was withdrawn"
        raise Conflict(identifier=str(identifier), reason=reason, current=None)
    fresh = []
    for content in contents:
        held = _held(version, content.format)
        if held is None:
            fresh.append(content)
        elif held.sha512 != content.sha512:
            raise Conflict(
                identifier=str(qualified(identifier, number, content.format)),
                reason="it is bound to other bytes for ever; commit the new bytes as a new version",
                current=f"sha512 {held.sha512}",
            )
    plan = Plan(number, tuple(fresh))
    check_promises(identifier, record, plan)
    return plan


def version_numbers(record: Record) -> tuple[int, ...]:
    """The versions that are known, here or elsewhere, in order."""
    held = {version.number for version in record.versions}
    elsewhere = {location.version for location in record.locations if location.version}
    return tuple(sorted(held | elsewhere))


def _held(version: Version | None, format: str) -> Representation | None:
    """The representation in this format, whichever of its names was used to commit it."""
    if version is None:
        return None
    aliases = (one for one in version.representations if same_format(one.format, format))
    return version.find(format) or next(aliases, None)


def _promised(record: Record, number: int, content: Content) -> bool:
    """Whether these bytes are those of a version already, held here or at a location."""
    version = record.version(number)
    if version and version.tombstone:
        return False
    held = _held(version, content.format)
    if held is not None:
        return held.sha512 == content.sha512
    return any(
        location.sha512 == content.sha512 and _holds(location, number, content.format)
        for location in record.locations
    )


def _holds(location: Location, number: int, format: str) -> bool:
    """Whether a location is bound as this version and format."""
    return (
        location.version == number
        and location.format is not None
        and same_format(location.format, format)
    )


def check_promises(identifier: Identifier, record: Record, plan: Plan) -> None:
    """Raises Conflict where a location has promised other bytes for what is committed."""
    for content in plan.fresh:
        for location in record.locations:
            if location.sha512 not in (None, content.sha512) and _holds(
                location, plan.version, content.format
            ):
                raise Conflict(
                    identifier=str(qualified(identifier, plan.version, content.format)),
                    reason=f"the location {location.uri} is bound with another digest",
                    current=f"sha512 {location.sha512}",
                )


def with_representations(
    record: Record, number: int, added: tuple[Representation, ...], at: str
) -> Record:
    """The record with representations added to a version, which is made where it is new."""
    held = record.version(number)
    if held is None:
        version = Version(number=number, at=at, representations=added)
    else:
        late = tuple(msgspec.structs.replace(one, at=at) for one in added)
        version = msgspec.structs.replace(held, representations=held.representations + late)
    others = tuple(one for one in record.versions if one.number != number)
    versions = tuple(sorted((*others, version), key=lambda one: one.number))
    return msgspec.structs.replace(record, versions=versions)


# Locations and names
# -------------------


def checked(locations: tuple[Location, ...]) -> tuple[Location, ...]:
    """The locations, with their formats in canonical form.

    Raises InvalidRequest for what must not get into a header or be sent to a browser,
    MalformedIdentifier for a format that no PDI can have.
    """
    return tuple(map(_checked, locations))


def check_uri(uri: str) -> None:
    """Raises InvalidRequest for what cannot be a location."""
    match = _URI.fullmatch(uri)
    if match is None or len(uri) > _LONGEST_URI:
        raise InvalidRequest(
            what=f"location {uri[:100]!a}",
            reason="an absolute URI in ASCII of at most 8192 characters is needed",
            rule="RFC 3986 section 4.3: escape other characters as %hh",
        )
    if match[1].lower() not in _LOCATING:
        reason = f"a location is one of {', '.join(sorted(_LOCATING))}, not {match[1]}"
        raise InvalidRequest(what=f"location {uri[:100]!a}", reason=reason, rule=None)


def _checked(location: Location) -> Location:
    check_uri(location.uri)
    what = f"location {location.uri[:100]!a}"
    if location.version is not None and not 1 <= location.version < _VERSIONS_END:
        reason = "versions are counted from 1, and have at most 18 digits"
        raise InvalidRequest(what=what, reason=reason, rule="section 2.6")
    if not 0 <= location.weight < 1 << 31:
        reason = "a weight is not negative, and less than 2^31"
        raise InvalidRequest(what=what, reason=reason, rule=None)
    if location.sha512 is not None and not _SHA512.fullmatch(location.sha512):
        reason = "a SHA-512 digest is 128 lower-case hexadecimal digits"
        raise InvalidRequest(what=what, reason=reason, rule=None)
    for name in ("language", "region", "role"):
        _check_token(name, getattr(location, name))
    _check_validity(what, location)
    if location.format is None:
        return location
    return msgspec.structs.replace(location, format=canonical_format(location.format))


def _check_validity(what: str, location: Location) -> None:
    """Raises InvalidRequest for days that are none, or in the wrong order, and a negative size."""
    if location.size is not None and not 0 <= location.size < 1 << 63:
        raise InvalidRequest(what=what, reason="a size is a number of bytes", rule=None)
    for day in (location.valid_from, location.valid_until):
        if day is not None and not _is_day(day):
            reason = f"{day[:40]!a} is no day, such as 2026-11-21"
            raise InvalidRequest(what=what, reason=reason, rule=None)
    if not location.is_valid(location.valid_from or location.valid_until or ""):
        reason = "its last day lies before its first"
        raise InvalidRequest(what=what, reason=reason, rule=None)


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _check_token(name: str, value: str | None) -> None:
    """Raises InvalidRequest for a value that could not stand in a header as it is."""
    if value is not None and not _TOKEN.fullmatch(value):
        reason = "letters, digits and -._:+/ are allowed, 100 at most"
        raise InvalidRequest(what=f"{name} {value[:100]!a}", reason=reason, rule=None)


def bind(
    identifier: Identifier, record: Record, locations: tuple[Location, ...]
) -> tuple[Record, Outcome]:
    """The record with these locations. Raises Conflict where two promise different bytes."""
    if not locations:
        raise _refused(identifier, "no location is given", None)
    if record.tombstone:
        raise Conflict(identifier=str(identifier), reason="it was withdrawn", current=None)
    number, format = wanted(identifier)
    result = {_place(location): location for location in record.locations}
    for location in checked(locations):
        _check_elsewhere(identifier, location)
        full = msgspec.structs.replace(
            location,
            version=location.version if location.version is not None else number,
            format=location.format if location.format is not None else format,
        )
        version = record.version(full.version) if full.version else None
        if version and version.tombstone:
            reason = f"version {full.version} was withdrawn"
            raise Conflict(identifier=str(identifier), reason=reason, current=None)
        before = result.get(_place(full))
        if before and full.sha512 is None:  # what was promised once stays promised
            full = msgspec.structs.replace(full, sha512=before.sha512)
        _check_promise(identifier, version, tuple(result.values()), full)
        result[_place(full)] = full
    bound = tuple(result.values())
    if bound == record.locations:
        return record, Outcome.UNCHANGED
    outcome = Outcome.CREATED if len(bound) > len(record.locations) else Outcome.CHANGED
    return msgspec.structs.replace(record, locations=bound), outcome


def _check_elsewhere(identifier: Identifier, location: Location) -> None:
    """Raises InvalidRequest for a location that is the identifier itself: nobody would arrive."""
    if location.uri.startswith(("http", "ftp")):  # a resolver of others may well know more
        return
    try:
        leads_to = parse(location.uri).key
    except (MalformedIdentifier, UnknownScheme):
        return
    if leads_to == identifier.key:
        raise _refused(identifier, "its location is the identifier itself, without end", None)


def _place(location: Location) -> tuple[str, int | None, str | None]:
    return location.uri, location.version, location.format


def _check_promise(
    identifier: Identifier, version: Version | None, others: tuple[Location, ...], new: Location
) -> None:
    if new.sha512 is None:
        return
    held = _held(version, new.format) if new.format else None
    promised = [held.sha512] if held else []
    promised += [
        other.sha512
        for other in others
        if other.sha512 and (other.version, other.format) == (new.version, new.format)
    ]
    for digest in promised:
        if digest != new.sha512:
            raise Conflict(
                identifier=str(identifier),
                reason=f"the location {new.uri} promises other bytes than those bound already",
                current=f"sha512 {digest}",
            )


def find_location(identifier: Identifier, record: Record, uri: str) -> Location:
    """The location to break. Raises InvalidRequest where the identifier is not bound to it."""
    version, format = wanted(identifier)
    for location in record.locations:
        if (
            location.uri == uri
            and version in (None, location.version)
            and format in (None, location.format)
        ):
            return location
    raise _refused(identifier, f"it is not bound to {uri[:200]!a}", None)


def plan_break(
    identifier: Identifier, record: Record, location: Location, content: Content | None
) -> Plan | None:
    """What must be committed so that the original bytes outlive the location; None: nothing.

    "If the URI changes, the indirect binding MUST be broken, and the original machine
    representation associated directly with the PDI" (section 3.6.2). Raises Conflict where the
    original bytes are promised, not held here and not given.
    """
    if content is not None:
        if location.sha512 not in (None, content.sha512):
            raise Conflict(
                identifier=str(identifier),
                reason="the bytes given are not those that the location promised",
                current=f"sha512 {location.sha512}",
            )
        return plan_commit(identifier, record, (content,), location.version)
    kept = {
        one.sha512
        for version in record.versions
        if location.version in (None, version.number)
        for one in version.representations
    }
    if location.sha512 is None or location.sha512 in kept:
        return None
    raise Conflict(
        identifier=str(identifier),
        reason="the original bytes are not held here; give them, so that they are kept",
        current=f"sha512 {location.sha512}",
    )


def without(record: Record, location: Location, at: str) -> Record:
    """The record without one location. The version that it held stays known, if only by number."""
    kept = tuple(one for one in record.locations if one != location)
    if location.version:
        record = with_representations(record, location.version, (), at)
    return msgspec.structs.replace(record, locations=kept)


def alias(identifier: Identifier, record: Record, other: Identifier) -> tuple[Record, Outcome]:
    """The record with another name of the same resource, whatever its formats and versions."""
    known = {identifier.key, *(parse(name).key for name in record.aliases)}
    if other.key in known:
        return record, Outcome.UNCHANGED
    name = str(other.resource if isinstance(other, Pdi) else other)
    return msgspec.structs.replace(record, aliases=(*record.aliases, name)), Outcome.CREATED


def describe(
    record: Record, about: About | None, attached: tuple[Attachment, ...] | None
) -> tuple[Record, Outcome]:
    """The record with another description, other attached records, or both; None: as they were.

    What was withdrawn can still be described: what it was is what a tombstone is asked for.
    Raises InvalidRequest.
    """
    changed = record
    if about is not None:
        kept = None if about == About() else description.checked(about)
        changed = msgspec.structs.replace(changed, about=kept)
    if attached is not None:
        attached = description.checked_attached(attached)
        changed = msgspec.structs.replace(changed, attached=attached)
    return changed, Outcome.UNCHANGED if changed == record else Outcome.CHANGED


# Withdrawing
# -----------


def withdraw(
    identifier: Identifier, record: Record, tombstone: Tombstone, version: int | None
) -> tuple[Record, Outcome]:
    """The record with a tombstone on itself or one version. What is gone stays gone."""
    if not tombstone.reason.strip():
        raise _refused(identifier, "a reason must be given", None)
    if record.tombstone:
        return record, Outcome.UNCHANGED
    if version is None:
        return msgspec.structs.replace(record, tombstone=tombstone), Outcome.CHANGED
    numbers = version_numbers(record) or ((1,) if record.minted else ())
    if version not in numbers:
        raise NoSuchVersion(identifier=str(identifier), version=version, versions=numbers)
    held = record.version(version)
    if held and held.tombstone:
        return record, Outcome.UNCHANGED
    return buried(record, version, tombstone), Outcome.CHANGED


def proposed(record: Record, proposal: Proposal) -> Record:
    """The record with a withdrawal proposed, in place of any earlier proposal."""
    return msgspec.structs.replace(record, proposal=proposal)


def seconded(record: Record, version: int | None, by: str) -> Proposal | None:
    """The proposal that a withdrawal by this actor seconds; None where it is the first word."""
    proposal = record.proposal
    if proposal is None or proposal.version != version or proposal.by == by:
        return None
    return proposal


def buried(record: Record, number: int, tombstone: Tombstone) -> Record:
    """The record with a tombstone on a version, whether bytes of it are held here or not."""
    held = record.version(number) or Version(number=number, at=tombstone.at)
    others = tuple(one for one in record.versions if one.number != number)
    gone = msgspec.structs.replace(held, tombstone=tombstone)
    versions = tuple(sorted((*others, gone), key=lambda one: one.number))
    return msgspec.structs.replace(record, versions=versions)


# Who may
# -------


def known(identifier: Identifier, record: Record | None) -> Record:
    """The record. Raises NotFound where there is none."""
    if record is None:
        raise NotFound(identifier=str(identifier))
    return record


def check_revision(identifier: Identifier, record: Record, expect: int | None) -> None:
    """Raises PreconditionFailed where the caller saw another revision (`If-Match`)."""
    if expect is not None and expect != record.revision:
        raise PreconditionFailed(
            identifier=str(identifier),
            reason=f"revision {expect} was expected",
            current=f"revision {record.revision}",
        )


def check_unknown(identifier: Identifier, expect: int | None) -> None:
    """Raises PreconditionFailed where the caller saw a record that is not there."""
    if expect:
        raise PreconditionFailed(
            identifier=str(identifier), reason=f"revision {expect} was expected", current="unknown"
        )


def same_format(a: str, b: str) -> bool:
    """Whether two format tokens name one representation (`au` is `basic`; ruling pdi-token)."""
    return a == b or formats.same_format(a, b)


def _refused(identifier: Identifier | str, reason: str, rule: str | None) -> InvalidRequest:
    return InvalidRequest(what=str(identifier)[:200], reason=reason, rule=rule)
