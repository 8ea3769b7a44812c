"""The complete resolution policy: from a query and a record to the step to take. Pure.

How it works: the identifier names a version and a format, and the record lists those that exist.
Bytes held here come before locations elsewhere. If no version is named, the highest one answers; if
no format is named, it is negotiated (RFC 9110 section 12). A format without a version means the
highest version that has this format. A withdrawn resource is answered with its tombstone. A
version or format that does not exist has no description either. A location without a version holds
the newest one. It answers a name without a version, and a name with a version only if no version is
known (ruling: http-errors).

Of several locations, only those that are valid today count, in the order of
`perdure.policy.ordering`. A location that is known to be dead comes last, but stays in the list:
the check may be wrong, and if there is no other location it is still the best answer.

What must stay true: the answer to a query that names version and format never changes, except to a
tombstone, and except for the versions around it, which it names; nothing that was withdrawn is ever
fetched.
"""

from __future__ import annotations

from collections.abc import Iterable

from perdure.errors import NoSuchVersion, NotAcceptable, NotFound
from perdure.ids import Identifier
from perdure.model.queries import (
    Choices,
    Description,
    Fetch,
    Gone,
    Query,
    Redirect,
    Step,
    Want,
)
from perdure.model.records import Location, Record, Representation, Tombstone, Version
from perdure.policy.handles.choosing import choose_entries
from perdure.policy.handles.values import find_ttl
from perdure.policy.naming import (
    qualify_identifier,
    read_qualifiers,
    same_format,
    select_format,
)
from perdure.policy.ordering import ReaderWishes, order_locations
from perdure.policy.preference import (
    language_quality,
    media_quality,
    prefers_other_than_page,
)
from perdure.policy.versions import find_highest, find_neighbours, list_having, list_versions

_ONE_LOCATION = (Want.RESOURCE, Want.LOCATION)


def decide_step(query: Query, record: Record | None) -> Step:
    """Decide the step that answers a query.

    Raises NotFound, NoSuchVersion, or NotAcceptable if the query accepts none of the formats.
    """
    identifier = query.identifier
    if record is None:
        raise NotFound(identifier=str(identifier))
    if query.want in (Want.DESCRIPTION, Want.NAMES):
        require_existing(query, record)
        return Description(identifier=identifier, record=record)
    if record.tombstone:
        return Gone(identifier=identifier, tombstone=record.tombstone)
    candidates = _find_candidates(query, record)
    if isinstance(candidates, Tombstone):
        return Gone(identifier=identifier, tombstone=candidates)
    fetches, locations = candidates
    if query.want is Want.LOCATIONS:
        return Choices(identifier=identifier, fetches=fetches, locations=locations)
    if query.want is Want.LOCATION:
        return _decide_location(identifier, record, fetches, locations)
    if query.want is Want.RESOURCES:
        accepted = tuple(f for f in fetches if _rate_representation(f.representation, query) > 0)
        if accepted or locations:
            return Choices(identifier=identifier, fetches=accepted, locations=locations)
        if fetches:
            raise _make_not_acceptable(query, fetches)
        return Description(identifier=identifier, record=record)
    return _decide_resource(query, record, fetches, locations)


def require_existing(query: Query, record: Record) -> None:
    """Raise NoSuchVersion or NotAcceptable if the name has a version or format that does not exist.

    A description, a citation or a page of such a name would be one of nothing. All versions of a
    withdrawn resource are gone, and a resource elsewhere may have any.  # ruling: part-exists
    """
    if record.tombstone is None and read_qualifiers(query.identifier) != (None, None):
        _find_candidates(query, record)


def decide_part(query: Query, record: Record | None) -> Step:
    """Decide which document the requested part is cut out of.

    A part belongs to one version. If the identifier names none and there are several, the step is
    Choices, and the reader chooses. Raises the same errors as `decide_step`.  # ruling:
    part-version
    """
    step = decide_step(query, record)
    if not isinstance(step, Fetch) or step.pinned or record is None:
        return step
    format = step.representation.format
    candidates = tuple(
        Fetch(
            identifier=qualify_identifier(query.identifier, version.number, format),
            representation=one,
            pinned=True,
        )
        for version in record.versions
        for one in version.representations
        if version.tombstone is None and one.format == format
    )
    named = {str(one.identifier) for one in candidates}
    if len(candidates) == len(named) > 1:
        return Choices(identifier=query.identifier, fetches=candidates)
    return step


def _decide_resource(
    query: Query, record: Record, fetches: tuple[Fetch, ...], locations: tuple[Location, ...]
) -> Step:
    _, named = read_qualifiers(query.identifier)
    if named and fetches:
        return fetches[0]  # the name has the format: there is nothing to negotiate
    ranked = sorted(fetches, key=lambda fetch: -_rate_representation(fetch.representation, query))
    if ranked and _rate_representation(ranked[0].representation, query) > 0:
        return ranked[0]
    if locations:
        return _make_redirect(query.identifier, record, locations)
    if fetches:
        raise _make_not_acceptable(query, fetches)
    # Only the name is known: it is bound to nothing yet, or to nothing that is valid on this day.
    return Description(identifier=query.identifier, record=record)


def _decide_location(
    identifier: Identifier,
    record: Record,
    fetches: tuple[Fetch, ...],
    locations: tuple[Location, ...],
) -> Step:
    if locations:
        return _make_redirect(identifier, record, locations)
    if fetches:
        return Choices(identifier=identifier, fetches=fetches)
    return Description(identifier=identifier, record=record)


def _make_redirect(
    identifier: Identifier, record: Record, locations: tuple[Location, ...]
) -> Redirect:
    first, *others = locations
    ttl = find_ttl(record.values, first.uri) if record.values else None
    return Redirect(identifier=identifier, location=first, others=tuple(others), ttl=ttl)


def _find_candidates(
    query: Query, record: Record
) -> tuple[tuple[Fetch, ...], tuple[Location, ...]] | Tombstone:
    """Representations and locations that the identifier can mean, the best first.

    If all of them are gone, the tombstone that says why. Raises NoSuchVersion or NotAcceptable.
    """
    identifier = query.identifier
    named, format = read_qualifiers(identifier)
    reserved = _is_reserved_name(record, named, format)
    if reserved:
        format = None
    if named is not None:
        _check_known(identifier, record, named)
    # ruling: pdi-format-without-version
    number = find_highest(record, format) if named is None else named
    version = record.version(number) if number is not None else None
    if version is not None and version.tombstone:
        return version.tombstone
    elsewhere = _list_locations(record, named, number)
    if not elsewhere and (version is None or not version.representations):
        return _explain_unbound(record, version) or ((), ())
    pinned = named is not None and not reserved
    fetches = _make_fetches(identifier, record, version, format, pinned=pinned) if version else ()
    locations = [one for one in elsewhere if _has_format(one, format)]
    if not (fetches or locations):
        versions = record.versions if named is None else (version,)
        raise _make_format_unknown(identifier, format, versions, elsewhere)
    best_first = _order_locations(locations, record, query)
    return fetches, tuple(one for one in best_first if one.is_valid(query.day))


def _list_locations(record: Record, named: int | None, number: int | None) -> list[Location]:
    """The locations of a version; one without a version holds the newest.

    `named` is the version that the identifier names, `number` the one that it means.
    """
    holds_any = named is None or not list_versions(record)
    return [
        location
        for location in record.locations
        if (holds_any if location.version is None else location.version == number)
    ]


def _make_fetches(
    identifier: Identifier, record: Record, version: Version, format: str | None, *, pinned: bool
) -> tuple[Fetch, ...]:
    """Make a step for each representation of a version that has the format."""
    held = version.representations
    return tuple(
        Fetch(
            identifier=qualify_identifier(identifier, version.number, one.format),
            representation=one,
            pinned=pinned,
            negotiated=format is None and len(held) > 1,
            neighbours=find_neighbours(identifier, record, version.number, one.format),
        )
        for one in (held if format in (None, "*") else select_format(held, str(format)))
    )


def _has_format(location: Location, format: str | None) -> bool:
    """Return True if a location may have the format; one without a format may have any."""
    return format in (None, "*") or not location.format or same_format(location.format, str(format))


def _make_format_unknown(
    identifier: Identifier,
    format: str | None,
    versions: Iterable[Version | None],
    locations: Iterable[Location],
) -> NotAcceptable:
    """The error for a format that is neither held nor elsewhere. It lists the formats that are."""
    offered = {one.format for one in locations if one.format} | {
        one.format
        for version in versions
        if version is not None and not version.tombstone
        for one in version.representations
    }
    return NotAcceptable(
        identifier=str(identifier), asked=str(format), offered=tuple(sorted(offered))
    )


def _order_locations(locations: list[Location], record: Record, query: Query) -> list[Location]:
    """Order locations, the best first, and leave out those that a handle excludes."""
    if len(locations) > 1 and record.values and query.want in _ONE_LOCATION:
        locations = choose_entries(
            record.values,
            locations,
            attributes=query.attributes,
            is_negotiated=prefers_other_than_page(query.accept),
        )
    if len(locations) > 1:
        wishes = ReaderWishes(query.accept, query.languages, query.region)
        locations = order_locations(locations, wishes, query.dead)
    return locations


def _is_reserved_name(record: Record, number: int | None, format: str | None) -> bool:
    """Return True for a name that was reserved with a format which the first bytes did not have.

    Earlier releases reserved every name as `text`. Such a name means the same as the generic one.
    # ruling: pdi-reserved-name
    """
    if not (record.minted and record.versions and format and number in (None, 1)):
        return False
    if not same_format(record.minted, format):
        return False
    having = list_having(record, format)
    return 1 not in having if number == 1 else not having


def _explain_unbound(record: Record, version: Version | None) -> Tombstone | None:
    """Why nothing is bound any more, or None if nothing ever was, or if a handle has values."""
    if record.values:
        return None
    return (record.unbound(version.number) if version else None) or record.unbound(None)


def _check_known(identifier: Identifier, record: Record, number: int) -> None:
    """Raise NoSuchVersion if the version was neither committed nor bound nor reserved.

    Do not raise it if no version is known, and a location may hold any version or may have held it.
    """
    numbers = list_versions(record)
    anywhere = not numbers and (
        record.broken is not None or any(location.version is None for location in record.locations)
    )
    reserved = number == 1 and record.minted and not record.versions
    if number not in numbers and not anywhere and not reserved:
        raise NoSuchVersion(identifier=str(identifier), version=number, versions=numbers)


def _rate_representation(held: Representation, query: Query) -> float:
    """The quality of a representation for the reader, 0 to 1: media type times language."""
    media = media_quality(query.accept, held.media_type)
    if not query.languages or not held.language:
        return media
    # A language that was not asked for is still better than no answer (RFC 9110 12.5.4).
    return media * max(language_quality(query.languages, held.language), 0.001)


def _make_not_acceptable(query: Query, fetches: tuple[Fetch, ...]) -> NotAcceptable:
    offered = {fetch.representation.media_type for fetch in fetches}
    asked = ", ".join(preference.range for preference in query.accept)
    return NotAcceptable(
        identifier=str(query.identifier), asked=asked, offered=tuple(sorted(offered))
    )
