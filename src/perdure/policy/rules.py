"""Rules for minting, committing and withdrawing: pure functions over records.

How it works: each write is planned here before a byte is stored. A function takes the current
record (or None) and the requested change, and returns the changed record, or raises. For a write
with bytes, planning and building are two steps: a representation names the place of its bytes, and
they have no place before the plan is accepted. Locations and aliases have their own module,
`perdure.policy.binding`.

What must stay true (PDI sections 2.1, 2.6, 3.6): the namespace is monotonic. No function here
returns a record with fewer versions, fewer representations or other digests than it was given.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache

import msgspec

from perdure import formats
from perdure.errors import (
    NoSuchVersion,
    NotFound,
    UnknownAuthority,
)
from perdure.errors.conflicts import (
    BytesBound,
    FormatsLacking,
    LocationBoundOtherwise,
    NameWithdrawn,
    RevisionNotCurrent,
    VersionWithdrawn,
)
from perdure.errors.contents import FormatContradicted, MalformedToken, UnknownCharset
from perdure.errors.naming import (
    CountryUnknown,
    DayNotCome,
    DayNotPast,
    EmptyUniqueId,
    FormatTwice,
    NothingToCommit,
    NumericUniqueId,
    PatternNotAllowed,
    ReasonMissing,
    SerialNotCome,
    VersionBelowOne,
)
from perdure.ids import Identifier, grammar, pdi
from perdure.ids.pdi import Pdi
from perdure.model.commands import Content, Outcome
from perdure.model.records import (
    Location,
    LocationDrift,
    Record,
    Representation,
    Tombstone,
    Version,
)
from perdure.policy import correcting
from perdure.policy.naming import (
    canonical_format,
    check_new_format,
    qualify_identifier,
    same_format,
    select_format,
)
from perdure.policy.versions import list_versions

_VERSIONS_END = 10**grammar.NUMERAL_DIGITS
_TOKEN = re.compile("[A-Za-z0-9._:+/-]{1,100}", re.ASCII)


# Minting
# -------


@cache
def _list_countries() -> frozenset[str]:
    """ISO 3166-1 alpha-2 codes, officially assigned or formerly used, in lower case."""
    import pycountry  # here, because most commands start without its tables

    past = (getattr(country, "alpha_2", None) for country in pycountry.historic_countries)
    present = (country.alpha_2 for country in pycountry.countries)
    return frozenset(code.lower() for code in (*present, *past) if code)


@lru_cache(maxsize=1024)
def check_series(series: str, owned: tuple[str, ...]) -> None:
    """Raise UnknownAuthority, or InvalidRequest if the series ends in no country (section 2.2)."""
    if series not in owned:
        raise UnknownAuthority(authority=series, known=owned)
    country = series.rpartition(".")[2]
    if country not in _list_countries():
        raise CountryUnknown(series=series, country=country)


def check_not_empty(uid: str | None) -> None:
    """Raise InvalidRequest if the name is empty. None asks for any name."""
    if uid == "":
        raise EmptyUniqueId()


def check_unique_id(uid: str) -> None:
    """Raise InvalidRequest for a unique-id of digits, which the daily counter assigns."""
    if uid.isascii() and uid.isdigit():
        raise NumericUniqueId(unique_id=uid)


# Registering names that were made elsewhere or earlier
# -----------------------------------------------------


def check_day(identifier: Pdi, today: str) -> None:
    """Raise InvalidRequest for a future day in a series that is minted here.

    Names are minted on their day, and the numbers of a day begin at 1. `today`: `2026/11/21`.
    """
    date = identifier.date
    if date is not None and (date > today or len(date) > len("YYYY/MM/DD")):
        raise DayNotCome(identifier=str(identifier))


def check_past_day(series: str, day: str, today: str) -> str:
    """Return a day of a series in canonical form (`1997/09/01`). Both days are in this form.

    Raises MalformedIdentifier if the day does not exist, InvalidRequest if it is not past.
    # ruling: pdi-retrospective
    """
    named = pdi.parse_pdi(f"pdi://{series}/{day}/")
    date = named.date or ""
    if "*" in date or len(date) != len("YYYY/MM/DD") or date >= today:
        raise DayNotPast(identifier=str(named))
    return date


def check_serial(identifier: Pdi, today: str, last: int) -> None:
    """Raise InvalidRequest for a serial number of today after the last one that was minted here.

    The counter would go on after it, and leave a gap.
    """
    if identifier.date == today and (identifier.serial or 0) > last:
        raise SerialNotCome(identifier=str(identifier), last=last)


# Committing bytes
# ----------------


class CommitPlan(msgspec.Struct, frozen=True):
    """The version that the contents become, and the contents that are not held yet."""

    version: int
    fresh: tuple[Content, ...]
    format: str
    """The format of the first of the contents, also if it is held already."""


def check_contents(
    identifier: Identifier | str, contents: tuple[Content, ...]
) -> tuple[Content, ...]:
    """Check contents, and return them with their formats in canonical form.

    The identifier is only for messages. Raises InvalidRequest if a value must not get into a
    header, or if two contents have one format; MalformedIdentifier if no PDI can have the format.
    """
    if not contents:
        raise NothingToCommit(identifier=str(identifier))
    checked: list[Content] = []
    for content in contents:
        format = canonical_format(content.format)
        if checked and any(same_format(format, other.format) for other in checked):
            raise FormatTwice(identifier=str(identifier))
        _check_media_type(content.media_type)
        check_token("charset", content.charset)
        check_token("language", content.language)
        same = content.format == format
        checked.append(content if same else msgspec.structs.replace(content, format=format))
    return tuple(checked)


def check_new_contents(
    identifier: Identifier | str, contents: tuple[Content, ...]
) -> tuple[Content, ...]:
    """Check contents that were not committed before, elsewhere or under an earlier release.

    Raises the errors of `check_contents`, and InvalidRequest for a format or charset that would
    make the bytes unreachable for ever.
    """
    checked = check_contents(identifier, contents)
    for content in checked:
        check_new_format(content.format)
        if content.charset is not None and formats.find_charset(content.charset) is None:
            raise UnknownCharset(charset=content.charset)
    return checked


@lru_cache(maxsize=1024)
def _check_media_type(text: str) -> None:
    """Raise InvalidRequest if the text is not a media type. Cached, since there are few."""
    formats.MediaType.parse(text)


def plan_commit(
    identifier: Identifier, record: Record, contents: tuple[Content, ...], version: int | None
) -> CommitPlan:
    """Choose the version of contents. Raises Conflict, NoSuchVersion or InvalidRequest.

    "Any machine representation (byte sequence) associated with formats of a versioned PDI never
    changes" (section 2.1); "addition of a new FORMAT … does not require the version to be
    incremented" (section 2.6).
    """
    contents = keep_tokens(record, check_new_contents(identifier, contents))
    numbers = list_versions(record)
    highest = max(numbers, default=0)
    if version is None:
        repeated = highest and all(_is_promised(record, highest, one) for one in contents)
        return plan_version(identifier, record, contents, highest if repeated else highest + 1)
    if version > highest + 1:
        raise NoSuchVersion(identifier=str(identifier), version=version, versions=numbers)
    return plan_version(identifier, record, contents, version)


def keep_tokens(record: Record, contents: tuple[Content, ...]) -> tuple[Content, ...]:
    """Give contents the tokens under which a record already has their media types.

    A record keeps the token that it was minted with, also if a later release would choose another
    one for the same media type.  # ruling: pdi-token
    """
    known = [one.format for held in reversed(record.versions) for one in held.representations]
    known += [one for one in (record.minted, *(at.format for at in record.locations)) if one]
    return tuple(_with_token(content, known) for content in contents)


def _with_token(content: Content, known: list[str]) -> Content:
    if content.format in known:
        return content
    meant = formats.find_media_type(content.format)
    alike = (one for one in known if meant is not None and formats.find_media_type(one) == meant)
    kept = next(alike, None)
    return content if kept is None else msgspec.structs.replace(content, format=kept)


def list_left_behind(
    identifier: Identifier, record: Record, plan: CommitPlan
) -> tuple[Identifier, ...]:
    """The formats of the last version that a new version lacks, as full names.

    "Versions … are incremented together" (section 2.6): names of these formats keep their old
    version.  # ruling: formats-together
    """
    last = record.newest
    if last is None or plan.version <= last.number:
        return ()
    return tuple(
        qualify_identifier(identifier, last.number, held.format)
        for held in last.representations
        if not any(same_format(held.format, content.format) for content in plan.fresh)
    )


def check_formats_together(identifier: Identifier, left: tuple[Identifier, ...]) -> None:
    """Raise Conflict if a new version lacks formats of the last one."""
    if left:
        raise FormatsLacking(identifier=str(identifier), formats=tuple(map(str, left)))


def choose_version(record: Record, number: int | None, contents: tuple[Content, ...]) -> int | None:
    """The version of bytes that are committed under a name with version `number`.

    None means the next version, also if this version holds other bytes.  # ruling: http-put
    """
    version = record.version(number) if number is not None else None
    for content in contents:
        held = find_held(version, content.format)
        if held is not None and held.sha512 != content.sha512:
            return None
    return number


def check_format_named(named: str | None, found: Iterable[str]) -> None:
    """Raise InvalidRequest if a name has a format that the bytes do not have."""
    if named is None or any(same_format(one, named) for one in found):
        return
    raise FormatContradicted(format=named, found=tuple(found))


def plan_version(
    identifier: Identifier, record: Record, contents: tuple[Content, ...], number: int
) -> CommitPlan:
    """Plan contents as formats of this version. Raises Conflict or InvalidRequest."""
    if number < 1:
        raise VersionBelowOne(version=number)
    if record.tombstone:
        raise NameWithdrawn(identifier=str(identifier))
    version = record.version(number)
    if version and version.tombstone:
        raise VersionWithdrawn(identifier=str(identifier), version=number)
    fresh = []
    for content in contents:
        held = find_held(version, content.format)
        if held is None:
            fresh.append(content)
        elif held.sha512 != content.sha512:
            raise BytesBound(
                identifier=str(qualify_identifier(identifier, number, content.format)),
                sha512=held.sha512,
            )
        else:
            name = str(qualify_identifier(identifier, number, held.format))
            correcting.check_stated(name, held, content)
    plan = CommitPlan(number, tuple(fresh), contents[0].format)
    check_promises(identifier, record, plan)
    return plan


def find_held(version: Version | None, format: str) -> Representation | None:
    """The representation in this format, under whichever name of the format it was committed."""
    if version is None:
        return None
    return next(iter(select_format(version.representations, format)), None)


def _is_promised(record: Record, number: int, content: Content) -> bool:
    """Return True if a version already has these bytes, here or at a location."""
    version = record.version(number)
    if version and version.tombstone:
        return False
    held = find_held(version, content.format)
    if held is not None:
        return held.sha512 == content.sha512
    return any(
        location.sha512 == content.sha512 and _is_bound_as(location, number, content.format)
        for location in record.locations
    )


def _is_bound_as(location: Location | LocationDrift, number: int, format: str) -> bool:
    """Return True if a location is bound as this version and format."""
    return (
        location.version == number
        and location.format is not None
        and same_format(location.format, format)
    )


def list_promises(record: Record) -> tuple[Location | LocationDrift, ...]:
    """The locations that may have promised their content, also those that were broken when it
    changed: the promise stays.  # ruling: drift
    """
    return (*record.locations, *record.drifted)


def check_promises(identifier: Identifier, record: Record, plan: CommitPlan) -> None:
    """Raise Conflict if a location has promised other bytes for a planned content."""
    for content in plan.fresh:
        for location in list_promises(record):
            if location.sha512 in (None, content.sha512):
                continue
            if _is_bound_as(location, plan.version, content.format):
                raise LocationBoundOtherwise(
                    identifier=str(qualify_identifier(identifier, plan.version, content.format)),
                    uri=location.uri,
                    sha512=str(location.sha512),
                )


def with_representations(
    record: Record, number: int, added: tuple[Representation, ...], at: str
) -> Record:
    """Add representations to a version of a record, which is created if it is new."""
    held = record.version(number)
    if held is None:
        version = Version(number=number, at=at, representations=added)
    else:
        late = tuple(msgspec.structs.replace(one, at=at) for one in added)
        version = msgspec.structs.replace(held, representations=held.representations + late)
    return with_version(record, version)


def with_version(record: Record, version: Version) -> Record:
    """Put a version into a record, in place of any version with the same number."""
    others = (one for one in record.versions if one.number != version.number)
    versions = tuple(sorted((*others, version), key=lambda one: one.number))
    return msgspec.structs.replace(record, versions=versions)


def check_token(name: str, value: str | None) -> None:
    """Raise InvalidRequest if a value cannot be written to a header unchanged."""
    if value is not None and not _TOKEN.fullmatch(value):
        raise MalformedToken(name=name, text=value)


# Withdrawing
# -----------


def withdraw_record(
    identifier: Identifier, record: Record, tombstone: Tombstone, version: int | None
) -> tuple[Record, Outcome]:
    """Add a tombstone to a record or to one of its versions. An earlier tombstone stays."""
    if not tombstone.reason.strip():
        raise ReasonMissing(identifier=str(identifier))
    if record.tombstone:
        return record, Outcome.UNCHANGED
    if version is None:
        return msgspec.structs.replace(record, tombstone=tombstone), Outcome.CHANGED
    numbers = list_versions(record) or ((1,) if record.minted else ())
    if version not in numbers:
        raise NoSuchVersion(identifier=str(identifier), version=version, versions=numbers)
    held = record.version(version)
    if held and held.tombstone:
        return record, Outcome.UNCHANGED
    return bury_version(record, version, tombstone), Outcome.CHANGED


def bury_version(record: Record, number: int, tombstone: Tombstone) -> Record:
    """Add a tombstone to a version of a record, whether or not its bytes are held here."""
    held = record.version(number) or Version(number=number, at=tombstone.at)
    return with_version(record, msgspec.structs.replace(held, tombstone=tombstone))


# Checking the current state
# --------------------------


def require_known(identifier: Identifier, record: Record | None) -> Record:
    """Return the record, or raise NotFound if there is none."""
    if record is None:
        raise NotFound(identifier=str(identifier))
    return record


def require_one(identifier: Identifier, record: Record | None) -> Record:
    """Return the record of one name. Raises PatternNotAllowed for a pattern, else NotFound."""
    if identifier.is_pattern:
        raise PatternNotAllowed(identifier=str(identifier))
    return require_known(identifier, record)


def check_revision(identifier: Identifier, record: Record, expect: int | None) -> None:
    """Raise PreconditionFailed if the caller expects another revision (`If-Match`)."""
    if expect is not None and expect != record.revision:
        raise RevisionNotCurrent(
            identifier=str(identifier), expected=expect, revision=record.revision
        )


def check_unknown(identifier: Identifier, expect: int | None) -> None:
    """Raise PreconditionFailed if the caller expects a record, but there is none."""
    if expect:
        raise RevisionNotCurrent(identifier=str(identifier), expected=expect, revision=None)
