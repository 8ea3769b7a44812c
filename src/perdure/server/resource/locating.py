"""The URLs of a resource, including the resolver's own URLs for bytes held here."""

from __future__ import annotations

from perdure.errors import MalformedIdentifier, UnknownScheme
from perdure.ids import Identifier
from perdure.model.queries import Choices, Gone, Want
from perdure.model.records import Record
from perdure.reading.resolved import Resolved
from perdure.reading.targets import append_question, read_identifier, spell_part_path, spell_path
from perdure.server.common import asking, lists, problems
from perdure.server.common.answers import Answer
from perdure.server.common.negotiate import prefers_types
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.pages.trail import make_trail
from perdure.server.resource import landing, signposting
from perdure.upkeep.linkcheck.verdict import LinkFinding, LinkVerdict


def list_locations(
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
    found = list_urls(request, resolved)
    if isinstance(found, Gone):
        return problems.answer_problem(problems.make_gone_problem(found), request)
    inside = resolved.inside
    fresh = (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds)
    if record is not None and prefers_types(request.accept, signposting.TYPES):
        path = (
            spell_path(identifier) if inside is None else spell_part_path(inside.whole, inside.part)
        )
        return _answer_linkset(service, request, path, record, found, *more)
    entries = [lists.ListEntry(one) for one in found]
    told = {}
    if record is not None and inside is None and _asks_for_json(request):
        told = {"locations": _show_locations(service, record)}
    page = append_question(f"/{asking.spell_resolved(resolved)}", "landing")
    return lists.answer_list(
        request,
        about or str(identifier),
        entries,
        fresh,
        *more,
        told=told,
        page=page if record is not None else "",
        trail=make_trail(identifier) if record is not None else [],
    )


def _asks_for_json(request: Request) -> bool:
    return any(one.range.startswith("application/") for one in request.accept)


def _show_locations(service: Service, record: Record) -> list[dict[str, object]]:
    """Return all locations with all fields, whether they are valid now, and their health."""
    findings = service.health.read_findings(one.uri for one in record.locations)
    today = asking.current_day()
    return [
        {name: getattr(one, name) for name in one.__struct_fields__}
        | {"is_valid": one.is_valid(today), "health": _show_health(findings.get(one.uri))}
        for one in record.locations
    ]


def _show_health(finding: LinkFinding | None) -> dict[str, object] | None:
    if finding is None:
        return None
    shown: dict[str, object] = {
        "verdict": finding.verdict,
        "reason": finding.reason,
        "moved_to": finding.moved_to,
        "checked": finding.checked,
    }
    if finding.verdict is LinkVerdict.DRIFT:  # the evidence, as the landing page has it
        shown |= {"found_sha512": finding.sha512, "found_size": finding.size}
    return shown


def _answer_linkset(
    service: Service,
    request: Request,
    path: str,
    record: Record,
    found: list[str],
    *fields: tuple[bytes, bytes],
) -> Answer:
    """Answer with a linkset (RFC 9264): each URL is an `alternate` of the resource at the path."""
    anchor = f"{request.base_url}/{path}"
    kinds = {one.uri: one for one in record.locations}
    rows = tuple(
        signposting.make_location_link(anchor, kinds[one])
        if one in kinds
        else signposting.Signpost(anchor, "alternate", one)
        for one in found
    )
    return landing.answer_links(request, rows, *fields, fresh=service.settings.fresh_seconds)


def list_urls(request: Request, resolved: Resolved) -> list[str] | Gone:
    """Return the URLs of a resource, best first, or its tombstone if it was withdrawn.

    For a part, return the URLs of the part, or an empty list if it has none. Raises NotFound.
    """
    step = resolved.choose(Want.LOCATIONS)
    if isinstance(step, Gone):
        return step
    if not isinstance(step, Choices):
        return []
    paths = (_make_part_path(resolved, fetch.identifier) for fetch in step.fetches)
    ours = [f"{request.base_url}/{path}" for path in paths]
    elsewhere = [one.uri for one in step.locations]
    return list(dict.fromkeys((*elsewhere, *ours)))


def _make_part_path(resolved: Resolved, identifier: Identifier) -> str:
    """Return the path of a held document, or of the requested part of it."""
    if resolved.inside is None:
        return spell_path(identifier)
    return spell_part_path(identifier.whole, resolved.inside.part)


def find_by_url(service: Service, request: Request, url: str) -> tuple[Identifier, ...]:
    """Return the identifiers of a URL: those bound to it, and the one that the URL contains.

    Names that are closed to the reader are left out.
    """
    bound = tuple(
        one for one in service.listings.find_bound(url) if asking.is_admitted(service, request, one)
    )
    ours = read_own_url(service, request, url)
    return bound if ours is None else (ours, *(one for one in bound if one.key != ours.key))


def read_own_url(service: Service, request: Request, url: str) -> Identifier | None:
    """Return the identifier in a URL of this resolver, if the reader may know it here."""
    ours = f"{request.base_url}/"  # scheme and host are case-insensitive
    if url[: len(ours)].lower() != ours.lower():
        return None
    try:
        identifier = read_identifier(url[len(ours) :])
    except (MalformedIdentifier, UnknownScheme):
        return None
    resolved = asking.resolve_open(service, request, identifier)
    return None if resolved is None or resolved.record is None else identifier
