"""From a request to a query: the reader's preferences and region, the day, the dead locations.

How it works: the region comes from `?region=`, or else from the header field that the operator
names (`region_header`) and that the operator's proxy or CDN sets. No address is looked up anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import msgspec

from perdure.archives.readable import ReadableArchive
from perdure.errors import (
    Forbidden,
    LegallyUnavailable,
    MalformedIdentifier,
    NotFound,
    Unauthenticated,
)
from perdure.ids import Identifier
from perdure.model.queries import Query, Want
from perdure.reading.guarding import Guard
from perdure.reading.resolved import Resolved
from perdure.reading.targets import Question, read_name, spell_part_path, spell_path
from perdure.server.common.readers import find_reader
from perdure.server.common.request import Request
from perdure.server.common.service import Service

_REGION = re.compile("[A-Za-z0-9_-]{1,64}", re.ASCII)


def make_query(
    service: Service,
    request: Request,
    identifier: Identifier,
    want: Want = Want.RESOURCE,
    *,
    region: str | None = None,
    part: str | None = None,
    delimiter: str = "?part=",
    doubt: MalformedIdentifier | None = None,
) -> Query:
    """Make the query of a request about one identifier. `region` is the value of `?region=`."""
    return Query(
        identifier=identifier,
        part=part,
        delimiter=delimiter,
        doubt=doubt,
        reader=find_reader(service, request),
        want=want,
        accept=request.accept,
        languages=request.languages,
        region=region or read_region(service, request),
        day=current_day(),
        dead=service.health.dead,
    )


def resolve_name(
    service: Service,
    request: Request,
    text: str,
    *,
    question: Question | None = None,
    accepts_elsewhere: bool = False,
) -> Resolved:
    """Resolve the name in a target, about which `question` may ask for a part, for example.

    With `accepts_elsewhere`, other resolvers are an answer about a name that is unknown here.

    Raises the errors of `read_name` and `ReadDoor.resolve`.
    """
    question = question or Question()
    part = question.part
    name = read_name(text, part)
    asked = make_query(
        service,
        request,
        name.identifier,
        region=question.region,
        part=name.part,
        delimiter="#" if part is None else "?part=",
        doubt=name.doubt,
    )
    chosen = msgspec.structs.replace(
        asked,
        names=name.names,
        follow_aliases=question.follow_aliases,
        indexes=question.indexes,
        types=question.types,
        attributes=question.attributes,
        accepts_elsewhere=accepts_elsewhere,
    )
    return resolve_query(service, request, chosen)


def resolve_query(service: Service, request: Request, query: Query) -> Resolved:
    """Resolve a query of a request. Answers that reading rules decide are not stored by caches.

    Raises the errors of `ReadDoor.resolve`.
    """
    try:
        resolved = service.reading.resolve(query, service.left.take_records())
    except (Forbidden, Unauthenticated):
        request.is_governed = True  # a list without this name is of this reader only, too
        raise
    request.is_governed |= resolved.guard is not None
    if resolved.asked.is_citation:
        for side in _list_sides(resolved.asked):
            find_guard(service, request, side)
    return resolved


def _list_sides(citation: Identifier) -> Iterator[Identifier]:
    """Yield the documents of a citation, the citing one first."""
    side: Identifier | None = citation
    while side is not None:
        yield side.whole
        side = side.cited


def find_guard(service: Service, request: Request, name: Identifier) -> Guard | None:
    """Return the guard of a name that was found otherwise than by resolving a query."""
    guard = service.reading.find_guard(name, find_reader(service, request))
    request.is_governed |= guard is not None
    return guard


def is_admitted(service: Service, request: Request, name: Identifier) -> bool:
    """Return True if the reader of a request may read the named thing."""
    guard = find_guard(service, request, name)
    return guard is None or guard.is_admitted()


def read_archive(service: Service, request: Request, *, is_list: bool = False) -> ReadableArchive:
    """Return the captures that the reader of a request may read.

    If a rule matters to the answer, no cache stores it; nor any list that is sent piece by piece
    (`is_list`) if there are rules.
    """

    def note_rule() -> None:
        request.is_governed = True

    archive = service.registry.read_archive(find_reader(service, request), note_rule)
    request.is_governed |= is_list and archive is not service.registry.archive
    return archive


def is_known(service: Service, request: Request, name: Identifier) -> bool:
    """Return True if this registry answers for a name, even if not for the reader of a request."""
    try:
        return resolve_listed(service, request, name).holder is not None
    except (Forbidden, Unauthenticated, LegallyUnavailable):
        return True
    except NotFound:
        return False


def spell_resolved(resolved: Resolved) -> str:
    """Return the path of a name, with the part that was given beside it."""
    identifier, part = resolved.identifier, resolved.part_beside
    return spell_path(identifier) if part is None else spell_part_path(identifier, part)


def read_region(service: Service, request: Request) -> str | None:
    """Return the region in the operator's header field, or None without such a field."""
    return find_region(request.fields, service.settings.region_header)


def find_region(fields: Mapping[bytes, bytes], name: str) -> str | None:
    """Return the region in the header field with this name, or None without such a field."""
    text = fields.get(name.lower().encode(), b"").decode("latin-1").strip() if name else ""
    return text if _REGION.fullmatch(text) else None


def current_day() -> str:
    """Return the day in UTC, such as `2026-11-21`."""
    return datetime.now(UTC).date().isoformat()


def write_vary(service: Service) -> bytes:
    """Write the `Vary` field of an answer that was chosen among locations."""
    return write_choice_fields(service.settings.region_header)


def write_choice_fields(region_header: str) -> bytes:
    """Write the names of the request fields by which one of several locations is chosen."""
    names = ("accept", "accept-language", region_header.lower())
    return ", ".join(filter(None, names)).encode()


def resolve_open(service: Service, request: Request, name: Identifier) -> Resolved | None:
    """Resolve a name, or return None if it is closed to the reader or leads nowhere."""
    try:
        return resolve_listed(service, request, name)
    except (Forbidden, Unauthenticated, NotFound):
        return None


def resolve_listed(service: Service, request: Request, name: Identifier) -> Resolved:
    """Resolve a name for the reader of a request. Raises NotFound, Forbidden, Unauthenticated."""
    return resolve_query(service, request, make_query(service, request, name))
