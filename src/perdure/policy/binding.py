"""Bindings to locations and to other names, and how they are broken: pure functions over records.

How it works: as in `perdure.policy.rules`, each function takes the current record and the requested
change, and returns the changed record, or raises.

What must stay true (PDI section 3.6.2): a location that has promised its bytes is never bound to
others, and its bytes are kept when it is broken; a location sends a reader on, and runs no code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

import msgspec

from perdure.errors import MalformedIdentifier, UnknownScheme
from perdure.errors.conflicts import (
    BytesNotPromised,
    LocationPromisesOthers,
    NameWithdrawn,
    OriginalNeeded,
    VersionWithdrawn,
)
from perdure.errors.locations import (
    LocationDayInvalid,
    LocationDaysReversed,
    LocationDigestInvalid,
    LocationEndless,
    LocationNamesUser,
    LocationSizeInvalid,
    LocationVersionInvalid,
    LocationWeightInvalid,
    MalformedLocation,
    NoLocationGiven,
    NotBound,
    SchemeNotLocating,
)
from perdure.ids import Identifier, grammar, parse
from perdure.model.commands import Content, Outcome
from perdure.model.records import Location, LocationDrift, Record, Tombstone, Version
from perdure.policy.naming import canonical_format, read_qualifiers
from perdure.policy.rules import (
    CommitPlan,
    check_token,
    find_held,
    list_promises,
    plan_commit,
    with_version,
)

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):[!-~]+", re.ASCII)
_PLAIN = bytes((0x0A, *range(0x21, 0x7F)))
_USER = re.compile(r"https?://[^/?#@]*@", re.ASCII | re.IGNORECASE)
_LOCATING = frozenset(
    {"http", "https", "ftp", "ftps", "urn", "hdl", "doi", "ark", "pdi", "pwid", "info"}
)
"""Schemes of locations: those that a client can follow, or that are names; none that runs code."""
_LONGEST_URI = 8192  # characters
_VERSIONS_END = 10**grammar.NUMERAL_DIGITS
_SHA512 = re.compile("[0-9a-f]{128}")
_Promised = dict[tuple[int | None, str | None], str]
"""The digests that locations promise, by version and format."""


def check_locations(locations: tuple[Location, ...]) -> tuple[Location, ...]:
    """Check locations, and return them with their formats in canonical form.

    Raises InvalidRequest if a value must not get into a header or be sent to a browser,
    MalformedIdentifier if no PDI can have the format.
    """
    return tuple(map(_check_location, locations))


def check_uri(uri: str) -> None:
    """Raise InvalidRequest if the URI cannot be a location."""
    match = _URI.fullmatch(uri)
    if match is None or len(uri) > _LONGEST_URI:
        raise MalformedLocation(uri=uri)
    if match[1].lower() not in _LOCATING:
        known = tuple(sorted(_LOCATING))
        raise SchemeNotLocating(uri=uri, scheme=match[1], known=known)
    if "@" in uri and _USER.match(uri):
        raise LocationNamesUser(uri=uri)


def are_plain_urls(uris: Sequence[str]) -> bool:
    """Return True if all are http(s) URLs that `check_uri` admits, checked together.

    >>> are_plain_urls(["https://a.example/1", "http://a.example/2"])
    True
    >>> are_plain_urls(["https://a.example/1", "https://user@a.example/"])
    False
    """
    if not uris:
        return True
    text = "\n".join(("", *uris, ""))
    return (
        text.count("\n") == len(uris) + 1
        and text.count("\nhttps://") + text.count("\nhttp://") == len(uris)
        and "://\n" not in text
        and "@" not in text
        and text.isascii()
        and not text.encode().translate(None, _PLAIN)
        and max(map(len, uris)) <= _LONGEST_URI
    )


def _check_location(location: Location) -> Location:
    check_uri(location.uri)
    if location == Location(uri=location.uri):
        return location
    if location.version is not None and not 1 <= location.version < _VERSIONS_END:
        raise LocationVersionInvalid(uri=location.uri)
    if not 0 <= location.weight < 1 << 31:
        raise LocationWeightInvalid(uri=location.uri)
    if location.sha512 is not None and not _SHA512.fullmatch(location.sha512):
        raise LocationDigestInvalid(uri=location.uri)
    for name in ("language", "region", "role"):
        check_token(name, getattr(location, name))
    _check_validity(location)
    if location.format is None:
        return location
    return msgspec.structs.replace(location, format=canonical_format(location.format))


def _check_validity(location: Location) -> None:
    """Raise InvalidRequest for invalid days, days in the wrong order, or a negative size."""
    if location.size is not None and not 0 <= location.size < 1 << 63:
        raise LocationSizeInvalid(uri=location.uri)
    for day in (location.valid_from, location.valid_until):
        if day is not None and not _is_day(day):
            raise LocationDayInvalid(uri=location.uri, day=day)
    if not location.is_valid(location.valid_from or location.valid_until or ""):
        raise LocationDaysReversed(uri=location.uri)


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def bind_locations(
    identifier: Identifier, record: Record, locations: tuple[Location, ...]
) -> tuple[Record, Outcome]:
    """Bind a record to more locations. Raises Conflict if two promise different bytes."""
    if not locations:
        raise NoLocationGiven(identifier=str(identifier))
    if record.tombstone:
        raise NameWithdrawn(identifier=str(identifier))
    number, format = read_qualifiers(identifier)
    result = {location.place: location for location in record.locations}
    promised = {
        (one.version, one.format): one.sha512 for one in list_promises(record) if one.sha512
    }
    for location in check_locations(locations):
        _check_elsewhere(identifier, location)
        full = location
        if number is not None or format is not None:
            full = msgspec.structs.replace(
                location,
                version=location.version if location.version is not None else number,
                format=location.format if location.format is not None else format,
            )
        version = record.version(full.version) if full.version else None
        if version and version.tombstone:
            raise VersionWithdrawn(identifier=str(identifier), version=version.number)
        before = result.get(full.place)
        if before and full.sha512 is None:  # an earlier promise stays
            full = msgspec.structs.replace(full, sha512=before.sha512)
        _check_promise(identifier, version, promised, full)
        result[full.place] = full
    bound = tuple(result.values())
    if bound == record.locations:
        return record, Outcome.UNCHANGED
    outcome = Outcome.CREATED if len(bound) > len(record.locations) else Outcome.CHANGED
    return msgspec.structs.replace(record, locations=bound), outcome


def _check_elsewhere(identifier: Identifier, location: Location) -> None:
    """Raise InvalidRequest if the location is the identifier itself: no reader would arrive."""
    if location.uri.startswith(("http", "ftp")):  # another resolver may know more
        return
    try:
        leads_to = parse(location.uri).key
    except (MalformedIdentifier, UnknownScheme):
        return
    if leads_to == identifier.key:
        raise LocationEndless(identifier=str(identifier))


def _check_promise(
    identifier: Identifier, version: Version | None, promised: _Promised, new: Location
) -> None:
    """Add the digest of a location to the promised ones. Raises Conflict if they differ."""
    if new.sha512 is None:
        return
    held = find_held(version, new.format) if new.format else None
    for digest in (
        held.sha512 if held else new.sha512,
        promised.setdefault((new.version, new.format), new.sha512),
    ):
        if digest != new.sha512:
            raise LocationPromisesOthers(identifier=str(identifier), uri=new.uri, sha512=digest)


def find_location(identifier: Identifier, record: Record, uri: str) -> Location:
    """The location to break. Raises InvalidRequest if the identifier is not bound to it."""
    version, format = read_qualifiers(identifier)
    for location in record.locations:
        if (
            location.uri == uri
            and version in (None, location.version)
            and format in (None, location.format)
        ):
            return location
    raise NotBound(identifier=str(identifier), uri=uri)


def find_drifted(identifier: Identifier, record: Record, drift: LocationDrift) -> Location:
    """The location that evidence is about. Raises InvalidRequest if it is not bound, or if the
    evidence does not contradict its promise."""
    facts = (drift.uri, drift.version, drift.format), drift.sha512, drift.size
    for location in record.locations:
        if facts == (location.place, location.sha512, location.size) and drift.is_proven:
            return location
    raise NotBound(identifier=str(identifier), uri=drift.uri)


def plan_break(
    identifier: Identifier,
    record: Record,
    location: Location,
    content: Content | None,
    drift: LocationDrift | None = None,
) -> CommitPlan | None:
    """Plan the commit that keeps the original bytes of a location; None if nothing is needed.

    "If the URI changes, the indirect binding MUST be broken, and the original machine
    representation associated directly with the PDI" (section 3.6.2). Raises Conflict if the
    original bytes are promised but neither held here nor given, unless there is evidence that they
    are not at the location, either: then their promise stays in the record.  # ruling: drift
    """
    if content is not None:
        if location.sha512 is not None and location.sha512 != content.sha512:
            raise BytesNotPromised(identifier=str(identifier), sha512=location.sha512)
        return plan_commit(identifier, record, (content,), location.version)
    kept = {
        one.sha512
        for version in record.versions
        if location.version in (None, version.number)
        for one in version.representations
    }
    if location.sha512 is None or location.sha512 in kept or drift is not None:
        return None
    raise OriginalNeeded(identifier=str(identifier), sha512=location.sha512)


def break_location(
    record: Record, location: Location, by: str, at: str, drift: LocationDrift | None = None
) -> Record:
    """Remove a location from a record, with the evidence that its content changed, if there is any.
    If nothing else is bound, note the reason.

    The version of the location stays known, if only by number.
    """
    kept = tuple(one for one in record.locations if one != location)
    drifted = record.drifted if drift is None else (*record.drifted, drift)
    record = msgspec.structs.replace(record, locations=kept, drifted=drifted)
    if record.is_bound(location.version):
        return record
    reason = f"its location {location.uri} was broken"
    if drift is not None:
        reason += f": its content was different on {drift.at[:10]}"
    return mark_unbound(record, location.version, Tombstone(reason=reason, at=at, by=by))


def mark_unbound(record: Record, number: int | None, why: Tombstone) -> Record:
    """Note why a version or, if it is None, the resource is no longer bound to anything."""
    if number is None:
        return msgspec.structs.replace(record, broken=why)
    version = record.version(number) or Version(number=number, at=why.at)
    return with_version(record, msgspec.structs.replace(version, broken=why))


def add_aliases(
    identifier: Identifier, record: Record, *others: Identifier
) -> tuple[Record, Outcome]:
    """Add other names of the same resource to a record, without their formats and versions."""
    known = {identifier.key, *(parse(name).key for name in record.aliases)}
    new: list[str] = []
    for other in others:
        if other.key not in known:
            known.add(other.key)
            new.append(str(other.resource))
    if not new:
        return record, Outcome.UNCHANGED
    return msgspec.structs.replace(record, aliases=(*record.aliases, *new)), Outcome.CREATED
