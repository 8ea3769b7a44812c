"""THTTP: `GET /uri-res/<service>?<uri>`, with the service names of RFC 2169 and RFC 2483.

How it works: a service, in upper or lower case, is one entry of a table. All services read
identifiers and records in the same way as the rest of the server. `N2…` and `I2…` start from an
identifier, `L2…` from a URL that identifiers are bound to.

Two clients in use need opposite answers to N2L: Squid understands a list but not a redirect, others
follow redirects only. Squid asks for `text/plain` and nothing else. So a client that puts plain
text or URI lists first in Accept gets a list (with Location too). All others get a redirect: 303,
or 302 in HTTP/1.0 (ruling: thttp-status).

What must stay true: lexically equivalent identifiers get the same answer (RFC 2169 section 2).
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from urllib.parse import unquote

import msgspec

from perdure.errors import (
    Forbidden,
    MalformedIdentifier,
    NotFound,
    PerdureError,
    Unauthenticated,
    UnknownScheme,
)
from perdure.errors.requests import MissingOperand, TwoOperandsNeeded, UnknownService
from perdure.ids import Identifier, are_equivalent
from perdure.ids.name_set import NameSet
from perdure.model.parameters import decode_names
from perdure.model.queries import Choices, Gone, Redirect, Want
from perdure.model.records import Location
from perdure.reading.resolved import Resolved
from perdure.reading.targets import (
    Question,
    is_escaped,
    read_identifier,
    read_question,
    spell_part_path,
    spell_part_uri,
    spell_path,
    spell_uri,
)
from perdure.server.apis import pwids
from perdure.server.common import asking, bodies, digests, lists, problems
from perdure.server.common.answers import (
    Answer,
    Fields,
    escape_uri,
    join_links,
    make_answer,
    make_empty_answer,
    write_link,
)
from perdure.server.common.negotiate import prefers_types
from perdure.server.common.redirects import make_redirect
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.pages.trail import find_page
from perdure.server.resource import held, reading, referring
from perdure.server.resource.listings import list_set, write_urn
from perdure.server.resource.locating import find_by_url, list_locations, list_urls

PREFIX = "uri-res/"
_PAGING = re.compile(r"(?:(?:cursor|limit)=[^&?#]*(?:&|\Z))+")
_SEPARATOR = re.compile("%20|%0[dD]%0[aA]|%0[aA]")


async def ask_service(service: Service, request: Request) -> Answer:
    """Answer GET or HEAD of a resolution service.

    Raises InvalidRequest if the service is unknown or its operand is missing.
    """
    name = request.target.text[len(PREFIX) :]
    asked = SERVICES.get(name.upper())
    if asked is None:
        raise UnknownService(text=name, known=tuple(SERVICES))
    operand = request.target.question
    if not operand:
        raise MissingOperand(service=name)
    found = asked(service, request, operand)
    return await found if isinstance(found, Awaitable) else found


# from an identifier
# ------------------


async def _answer_n2l(service: Service, request: Request, operand: str) -> Answer:
    """One URL, which "MUST be returned in a Location: header" (RFC 2169 section 3.1)."""
    resolved = _resolve_operand(service, request, operand, accepts_elsewhere=True)
    resolved.require_single()
    if resolved.pwid is not None:
        there = await pwids.locate_pwid(service, request, resolved.pwid)
        if prefers_types(request.accept, lists.TYPES):
            place = (b"location", escape_uri(there.url))
            return _answer_list(service, request, operand, [lists.ListEntry(there.url)], place)
        return pwids.redirect_reader(
            service, request, resolved.pwid, there, _choose_redirect_status(request)
        )
    if resolved.elsewhere is not None and not prefers_types(request.accept, lists.TYPES):
        status = _choose_redirect_status(request)
        return referring.answer_elsewhere(
            service, request, resolved, resolved.elsewhere, status=status
        )
    identifier = resolved.identifier
    if resolved.is_citation:
        address = escape_uri(f"{request.base_url}/{spell_path(identifier)}")
        return make_empty_answer(_choose_redirect_status(request), (b"location", address))
    found = list_urls(request, resolved)
    if isinstance(found, Gone):
        return problems.answer_problem(problems.make_gone_problem(found), request)
    if not found:
        return problems.answer_problem(problems.no_location(identifier), request)
    if prefers_types(request.accept, lists.TYPES):
        place = (b"location", escape_uri(found[0]))
        return list_locations(service, request, resolved, place, about=operand)
    chosen = resolved.choose(Want.LOCATION)
    ttl = chosen.ttl if isinstance(chosen, Redirect) else None
    first = chosen.location.uri if isinstance(chosen, Redirect) else found[0]
    others = tuple(Location(uri=one) for one in found if one != first)
    step = Redirect(identifier=identifier, location=Location(uri=first), others=others, ttl=ttl)
    fresh, vary = service.settings.fresh_seconds, asking.write_vary(service)
    base, status = service.settings.base_url, _choose_redirect_status(request)
    return make_redirect(
        step,
        fresh=fresh,
        base=base,
        status=status,
        vary=vary,
        path=asking.spell_resolved(resolved),
        has_linkset=not resolved.is_elsewhere,
    )


def _choose_redirect_status(request: Request) -> HTTPStatus:
    return HTTPStatus.FOUND if request.version == "1.0" else HTTPStatus.SEE_OTHER


async def _answer_n2ls(service: Service, request: Request, operand: str) -> Answer:
    resolved = _resolve_operand(service, request, operand, accepts_elsewhere=True)
    if resolved.names is not None:
        return await _answer_set(service, request, resolved.names, operand, "locations")
    if resolved.pwid is not None:
        there = await pwids.locate_pwid(service, request, resolved.pwid)
        return _answer_list(service, request, operand, [lists.ListEntry(there.url)])
    if resolved.is_citation:
        address = f"{request.base_url}/{spell_path(resolved.identifier)}"
        return _answer_list(service, request, operand, [lists.ListEntry(address)])
    return list_locations(service, request, resolved, about=operand)


async def _answer_n2r(service: Service, request: Request, operand: str) -> Answer:
    resolved = _resolve_operand(service, request, operand, accepts_elsewhere=True)
    if resolved.names is not None:
        return await _answer_set(service, request, resolved.names, operand)
    return await reading.answer_resource(service, request, resolved)


async def _answer_n2rs(service: Service, request: Request, operand: str) -> Answer:
    """Every acceptable representation, "a MIME multipart/alternative message" (section 3.4)."""
    resolved = _resolve_operand(service, request, operand, accepts_elsewhere=True)
    if resolved.names is not None:
        return await _answer_set(service, request, resolved.names, operand)
    is_single = resolved.inside or resolved.pwid or resolved.elsewhere or resolved.is_citation
    if is_single:
        return await reading.answer_resource(service, request, resolved)
    step = resolved.choose(Want.RESOURCES)
    if not isinstance(step, Choices) or len(step.fetches) < 2:
        # "If there is only one version … it MAY be returned without the wrapper."
        return await reading.answer_resource(service, request, resolved)
    source = service.registry.bytes
    parts: list[bodies.Part] = []
    for fetch in step.fetches:
        one = fetch.representation
        head: Fields = [
            (b"content-type", held.write_content_type(one)),
            (b"content-location", escape_uri(spell_uri(fetch.identifier))),
            (b"repr-digest", digests.write_whole_digest(one)),
        ]
        parts.append((head, one.length, bodies.read_span(source, one, (0, one.length))))
    fields: Fields = [
        (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds),
        (b"vary", b"accept, accept-language"),
        *join_links(write_link(one.uri, "alternate") for one in step.locations),
    ]
    return bodies.answer_multipart(HTTPStatus.OK, b"alternative", fields, parts)


async def _answer_n2c(service: Service, request: Request, operand: str) -> Answer:
    resolved = _resolve_operand(service, request, operand)
    if resolved.names is not None:
        return await _answer_set(service, request, resolved.names, operand, "info")
    if resolved.pwid is not None:
        return await pwids.answer_pwid(service, request, resolved.pwid, Question(verb="info"))
    if resolved.is_described_by_whole:
        return reading.lead_to_whole(service, request, resolved, "?info")
    return await reading.answer_description(service, request, resolved)


async def _answer_n2ns(service: Service, request: Request, operand: str) -> Answer:
    resolved = _resolve_operand(service, request, operand)
    if resolved.names is not None:
        return await _answer_set(service, request, resolved.names, operand, "names")
    if resolved.pwid is not None:
        await pwids.locate_pwid(service, request, resolved.pwid)  # raises if it is unknown
    identifier, part = resolved.identifier, resolved.part_beside
    if resolved.is_citation:
        address = f"{request.base_url}/{spell_path(identifier)}"
        entries = [lists.ListEntry(write_urn(identifier), address)]
        return _answer_list(service, request, operand, entries)
    if part is None:
        return _list_names(service, request, (resolved,), operand)
    place = f"{request.base_url}/{spell_part_path(identifier, part)}"
    return _answer_list(
        service, request, operand, [lists.ListEntry(spell_part_uri(identifier, part), place)]
    )


def _list_names(
    service: Service, request: Request, known: tuple[Resolved, ...], about: str
) -> Answer:
    """List all names of the same resource, as URNs if their scheme has that form."""
    names = {
        name.key: (name, record)
        for one in known
        for name, record in service.listings.list_resolved_records(one)
    }
    entries = [
        lists.ListEntry(
            write_urn(name),
            f"{request.base_url}/{spell_path(name)}",
            page=None if record is None else find_page(name),
        )
        for name, record in names.values()
    ]
    return _answer_list(service, request, about, entries)


def _answer_list(
    service: Service,
    request: Request,
    about: str,
    entries: list[lists.ListEntry],
    *more: tuple[bytes, bytes],
) -> Answer:
    # "the standard HTTP mechanisms for communicating cachability MUST be honored" (section 3.6)
    fresh = (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds)
    return lists.answer_list(request, about, entries, fresh, *more)


def _resolve_operand(
    service: Service, request: Request, operand: str, *, accepts_elsewhere: bool = False
) -> Resolved:
    """Resolve the operand. It may be a set of names, with a cursor and a limit behind it."""
    name = _split_paging(operand)[0]
    return asking.resolve_name(service, request, name, accepts_elsewhere=accepts_elsewhere)


def _split_paging(operand: str) -> tuple[str, str | None]:
    """Split an operand into the name, and the cursor and limit behind it."""
    name, mark, paging = operand.rpartition("?")
    if mark and _PAGING.fullmatch(decode_names(paging)):
        return name, paging
    return operand, None


async def _answer_set(
    service: Service, request: Request, names: NameSet, operand: str, verb: str = ""
) -> Answer:
    """Answer a service about all names of a set, page by page.

    "When submitting a PDI to a URN resolver, wildcards may be used to obtain information for sets
    of PDIs" (draft-mallery-urn-pdi-00 section 3.6.3).
    """
    operand, paging = _split_paging(operand)
    question = read_question(paging)
    return await list_set(
        service,
        request,
        names,
        msgspec.structs.replace(question, verb=verb),
        operand=operand,
    )


# from a URL
# ----------


def _find_by_url(service: Service, request: Request, operand: str) -> tuple[Resolved, ...]:
    url = unquote(operand) if is_escaped(operand) else operand
    found = find_by_url(service, request, url)
    if not found:
        raise NotFound(identifier=url)
    return tuple(
        asking.resolve_query(service, request, asking.make_query(service, request, one))
        for one in found
    )


def _answer_l2ns(service: Service, request: Request, operand: str) -> Answer:
    return _list_names(service, request, _find_by_url(service, request, operand), operand)


def _answer_l2ls(service: Service, request: Request, operand: str) -> Answer:
    found: dict[str, None] = {}
    for resolved in _find_by_url(service, request, operand):
        for name in service.listings.list_resolved_names(resolved):
            found |= dict.fromkeys(_list_urls(service, request, name))
    return _answer_list(service, request, operand, [lists.ListEntry(one) for one in found])


def _list_urls(service: Service, request: Request, name: Identifier) -> list[str]:
    """The URLs of a name; an empty list if it has no record here, was withdrawn, or is
    closed to the reader.
    """
    try:
        resolved = asking.resolve_query(service, request, asking.make_query(service, request, name))
        found = list_urls(request, resolved)
    except (NotFound, Forbidden, Unauthenticated):
        return []
    return [] if isinstance(found, Gone) else found


async def _answer_l2c(service: Service, request: Request, operand: str) -> Answer:
    first, *others = _find_by_url(service, request, operand)
    answer = await reading.answer_description(service, request, first)
    more = (
        write_link(f"{request.base_url}/{spell_path(one.asked)}", "alternate") for one in others
    )
    answer.fields += join_links(more)
    return answer


async def _answer_l2r(service: Service, request: Request, operand: str) -> Answer:
    return await reading.answer_resource(
        service, request, _find_by_url(service, request, operand)[0]
    )


# equality
# --------


def _compare_names(service: Service, _request: Request, operand: str) -> Answer:
    """Answer TRUE if two URIs name the same resource, otherwise FALSE.

    An escaped blank or line break separates them.
    """
    one, other = _split_operand(operand)
    keys = {name.key for name in service.listings.list_names(one.whole)}
    same = are_equivalent(one, other) or (
        one.whole is one and other.whole is other and other.key in keys
    )
    fresh = (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds)
    return make_answer(
        HTTPStatus.OK, "text/plain; charset=us-ascii", b"TRUE\r\n" if same else b"FALSE\r\n", fresh
    )


def _split_operand(operand: str) -> tuple[Identifier, Identifier]:
    """Split the operand at the first separator that leaves an identifier on both sides."""
    mistake: PerdureError | None = None
    for separator in _SEPARATOR.finditer(operand):
        try:
            return read_identifier(operand[: separator.start()]), read_identifier(
                operand[separator.end() :]
            )
        except (MalformedIdentifier, UnknownScheme) as error:
            mistake = error
    raise mistake or TwoOperandsNeeded()


_Service = Callable[[Service, Request, str], Answer | Awaitable[Answer]]
SERVICES: dict[str, _Service] = {
    "N2L": _answer_n2l,
    "N2LS": _answer_n2ls,
    "N2R": _answer_n2r,
    "N2RS": _answer_n2rs,
    "N2C": _answer_n2c,
    "N2CS": _answer_n2c,
    "N2N": _answer_n2ns,
    "N2NS": _answer_n2ns,
    "L2NS": _answer_l2ns,
    "L2N": _answer_l2ns,
    "L2LS": _answer_l2ls,
    "L2C": _answer_l2c,
    "L2R": _answer_l2r,
    "I2L": _answer_n2l,
    "I2LS": _answer_n2ls,
    "I2R": _answer_n2r,
    "I2RS": _answer_n2rs,
    "I2C": _answer_n2c,
    "I2CS": _answer_n2c,
    "I2N": _answer_n2ns,
    "I2NS": _answer_n2ns,
    "I=I": _compare_names,
}
