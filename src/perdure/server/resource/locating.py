"""The URLs of a resource, including the resolver's own URLs for bytes held here."""

from __future__ import annotations

from http import HTTPStatus

from perdure.errors import MalformedIdentifier, UnknownScheme
from perdure.ids import Identifier
from perdure.model.queries import Choices, Gone, Want
from perdure.model.records import Record
from perdure.reading.resolve import Resolved
from perdure.reading.targets import identify, part_path, path_of
from perdure.server.common import asking, lists, problems
from perdure.server.common.answers import Answer, plain
from perdure.server.common.negotiate import choose, prefers
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource import signposting
from perdure.upkeep.linkcheck.verdict import Finding


def locations(
    service: Service,
    request: Request,
    resolved: Resolved,
    *more: tuple[bytes, bytes],
    about: str | None = None,
) -> Answer:
    """Answer with the list of URLs of a name (`N2Ls`, `?locations`), empty if it has none.

    `about` is the name as the request spells it. Raises NotFound or NoSuchVersion.
    """
    record, identifier = resolved.record, resolved.identifier
    found = urls(request, resolved)
    if isinstance(found, Gone):
        return problems.answer(problems.of_tombstone(found), request)
    inside = resolved.inside
    fresh = (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds)
    if record is not None and prefers(request.accept, signposting.TYPES):
        path = path_of(identifier) if inside is None else part_path(inside.whole, inside.part)
        return _linkset(request, path, record, found, fresh, *more)
    entries = [lists.Entry(one) for one in found]
    told = {}
    if record is not None and inside is None and _is_json(request):
        told = {"locations": _told(service, record)}
    return lists.answer(request, about or str(identifier), entries, fresh, *more, told=told)


def _is_json(request: Request) -> bool:
    return any(one.range.startswith("application/") for one in request.accept)


def _told(service: Service, record: Record) -> list[dict[str, object]]:
    """Return all locations with all fields, whether they are valid now, and their health."""
    findings = service.health.findings(one.uri for one in record.locations)
    today = asking.today()
    return [
        {name: getattr(one, name) for name in one.__struct_fields__}
        | {"is_valid": one.is_valid(today), "health": _health(findings.get(one.uri))}
        for one in record.locations
    ]


def _health(finding: Finding | None) -> dict[str, object] | None:
    if finding is None:
        return None
    return {
        "verdict": finding.verdict,
        "reason": finding.reason,
        "moved_to": finding.moved_to,
        "checked": finding.checked,
    }


def _linkset(
    request: Request,
    path: str,
    record: Record,
    found: list[str],
    *fields: tuple[bytes, bytes],
) -> Answer:
    """Answer with a linkset (RFC 9264): each URL is an `alternate` of the resource at the path."""
    anchor = f"{request.base}/{path}"
    kinds = {one.uri: one for one in record.locations}
    rows = tuple(
        signposting.of_location(anchor, kinds[one])
        if one in kinds
        else signposting.Signpost(anchor, "alternate", one)
        for one in found
    )
    kind = choose(request.accept, signposting.TYPES) or signposting.JSON
    body = signposting.as_json(rows) if kind == signposting.JSON else signposting.as_text(rows)
    return plain(HTTPStatus.OK, kind, body, *fields, (b"vary", b"accept"))


def urls(request: Request, resolved: Resolved) -> list[str] | Gone:
    """Return the URLs of a resource, best first, or its tombstone if it was withdrawn.

    For a part, return the URLs of the part, or an empty list if it has none. Raises NotFound.
    """
    step = resolved.choose(Want.LOCATIONS)
    if isinstance(step, Gone):
        return step
    if not isinstance(step, Choices):
        return []
    paths = (_path_of_part(resolved, fetch.identifier) for fetch in step.fetches)
    ours = [f"{request.base}/{path}" for path in paths]
    elsewhere = [one.uri for one in step.locations]
    return list(dict.fromkeys((*elsewhere, *ours)))


def _path_of_part(resolved: Resolved, identifier: Identifier) -> str:
    """Return the path of a held document, or of the requested part of it."""
    if resolved.inside is None:
        return path_of(identifier)
    return part_path(identifier.whole, resolved.inside.part)


def known_by_url(service: Service, request: Request, url: str) -> tuple[Identifier, ...]:
    """Return the identifiers of a URL: those bound to it, and the one that the URL contains."""
    bound = service.listings.named(url)
    ours = own(service, request, url)
    return bound if ours is None else (ours, *(one for one in bound if one.key != ours.key))


def own(service: Service, request: Request, url: str) -> Identifier | None:
    """Return the identifier in a URL of this resolver, if it is registered here."""
    ours = f"{request.base}/"  # scheme and host are case-insensitive
    if url[: len(ours)].lower() != ours.lower():
        return None
    try:
        identifier = identify(url[len(ours) :])
    except (MalformedIdentifier, UnknownScheme):
        return None
    return identifier if service.record(identifier) is not None else None
