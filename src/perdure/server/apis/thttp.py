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

from perdure.errors import (
    MalformedIdentifier,
    NotFound,
    PerdureError,
    UnknownScheme,
)
from perdure.errors.naming import PatternNotAllowed
from perdure.errors.requests import MissingOperand, TwoOperandsNeeded, UnknownService
from perdure.ids import Identifier, equivalent
from perdure.model.queries import Choices, Gone, Redirect, Want
from perdure.model.records import Location
from perdure.reading.resolve import Resolved
from perdure.reading.targets import (
    Question,
    identify,
    is_escaped,
    part_path,
    part_uri,
    path_of,
    uri_of,
)
from perdure.server.apis import pwids
from perdure.server.common import asking, bodies, digests, lists, problems
from perdure.server.common.answers import Answer, Fields, link, links, plain, uri
from perdure.server.common.negotiate import prefers
from perdure.server.common.redirects import redirect
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource import held, reading
from perdure.server.resource.locating import known_by_url, locations, urls

PREFIX = "uri-res/"
_SEPARATOR = re.compile("%20|%0[dD]%0[aA]|%0[aA]")


async def answer(service: Service, request: Request) -> Answer:
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


async def _n2l(service: Service, request: Request, operand: str) -> Answer:
    """One URL, which "MUST be returned in a Location: header" (RFC 2169 section 3.1)."""
    resolved = _resolve(service, request, operand)
    if resolved.pwid is not None:
        there = await pwids.located(service, request, resolved.pwid)
        if prefers(request.accept, lists.TYPES):
            place = (b"location", uri(there.url))
            return _listed(service, request, operand, [lists.Entry(there.url)], place)
        return pwids.redirect(service, resolved.pwid, there, _see_other(request))
    identifier = resolved.identifier
    found = urls(request, resolved)
    if isinstance(found, Gone):
        return problems.answer(problems.of_tombstone(found), request)
    if not found:
        return problems.answer(problems.no_location(identifier), request)
    if prefers(request.accept, lists.TYPES):
        place = (b"location", uri(found[0]))
        return locations(service, request, resolved, place, about=operand)
    step = Redirect(
        identifier=identifier,
        location=Location(uri=found[0]),
        others=tuple(Location(uri=one) for one in found[1:]),
    )
    fresh, vary = service.settings.fresh_seconds, asking.varies(service)
    return redirect(step, fresh=fresh, status=_see_other(request), vary=vary)


def _see_other(request: Request) -> HTTPStatus:
    return HTTPStatus.FOUND if request.version == "1.0" else HTTPStatus.SEE_OTHER


async def _n2ls(service: Service, request: Request, operand: str) -> Answer:
    resolved = _resolve(service, request, operand)
    if resolved.pwid is not None:
        there = await pwids.located(service, request, resolved.pwid)
        return _listed(service, request, operand, [lists.Entry(there.url)])
    return locations(service, request, resolved, about=operand)


async def _n2r(service: Service, request: Request, operand: str) -> Answer:
    return await reading.resource(service, request, _resolve(service, request, operand))


async def _n2rs(service: Service, request: Request, operand: str) -> Answer:
    """Every acceptable representation, "a MIME multipart/alternative message" (section 3.4)."""
    resolved = _resolve(service, request, operand)
    if resolved.inside is not None or resolved.pwid is not None:
        return await reading.resource(service, request, resolved)
    step = resolved.choose(Want.RESOURCES)
    if not isinstance(step, Choices) or len(step.fetches) < 2:
        # "If there is only one version … it MAY be returned without the wrapper."
        return await reading.resource(service, request, resolved)
    segments = service.registry.segments
    parts: list[bodies.Part] = []
    for fetch in step.fetches:
        one = fetch.representation
        head: Fields = [
            (b"content-type", held.content_type(one)),
            (b"content-location", uri(uri_of(fetch.identifier))),
            (b"repr-digest", digests.of(one)),
        ]
        parts.append((head, one.length, bodies.read(segments, one, (0, one.length))))
    fields: Fields = [
        (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds),
        (b"vary", b"accept, accept-language"),
        *links(link(one.uri, "alternate") for one in step.locations),
    ]
    return bodies.multipart(HTTPStatus.OK, b"alternative", fields, parts)


async def _n2c(service: Service, request: Request, operand: str) -> Answer:
    resolved = _resolve(service, request, operand)
    if resolved.pwid is not None:
        return await pwids.answer(service, request, resolved.pwid, Question(verb="info"))
    return reading.description(service, request, resolved)


async def _n2ns(service: Service, request: Request, operand: str) -> Answer:
    resolved = _resolve(service, request, operand)
    if resolved.pwid is not None:
        await pwids.located(service, request, resolved.pwid)  # raises if it is unknown
    identifier, part = resolved.identifier, resolved.part_beside
    if part is None or resolved.is_elsewhere:
        return _names(service, request, (resolved,), operand)
    place = f"{request.base}/{part_path(identifier, part)}"
    return _listed(service, request, operand, [lists.Entry(part_uri(identifier, part), place)])


def _names(service: Service, request: Request, known: tuple[Resolved, ...], about: str) -> Answer:
    """List all names of the same resource, as URNs if their scheme has that form."""
    names = {name.key: name for one in known for name in service.listings.names_of(one)}
    entries = [lists.Entry(_urn(one), f"{request.base}/{path_of(one)}") for one in names.values()]
    return _listed(service, request, about, entries)


def _listed(
    service: Service,
    request: Request,
    about: str,
    entries: list[lists.Entry],
    *more: tuple[bytes, bytes],
) -> Answer:
    # "the standard HTTP mechanisms for communicating cachability MUST be honored" (section 3.6)
    fresh = (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds)
    return lists.answer(request, about, entries, fresh, *more)


def _urn(identifier: Identifier) -> str:
    return uri_of(identifier) if identifier.urn == str(identifier) else identifier.urn


def _resolve(service: Service, request: Request, operand: str) -> Resolved:
    """Resolve the operand. Raises NotFound, or InvalidRequest if it is a pattern."""
    resolved = asking.resolve(service, request, operand)
    if resolved.is_pattern:
        raise PatternNotAllowed(identifier=str(resolved.asked))
    return resolved


# from a URL
# ----------


def _known(service: Service, request: Request, operand: str) -> tuple[Resolved, ...]:
    url = unquote(operand) if is_escaped(operand) else operand
    found = known_by_url(service, request, url)
    if not found:
        raise NotFound(identifier=url)
    return tuple(service.reading.resolve(asking.query(service, request, one)) for one in found)


def _l2ns(service: Service, request: Request, operand: str) -> Answer:
    return _names(service, request, _known(service, request, operand), operand)


def _l2ls(service: Service, request: Request, operand: str) -> Answer:
    found: dict[str, None] = {}
    for resolved in _known(service, request, operand):
        for name in service.listings.names_of(resolved):
            found |= dict.fromkeys(_urls_of(service, request, name))
    return _listed(service, request, operand, [lists.Entry(one) for one in found])


def _urls_of(service: Service, request: Request, name: Identifier) -> list[str]:
    """The URLs of a name; an empty list if it has no record here or was withdrawn."""
    try:
        resolved = service.reading.resolve(asking.query(service, request, name))
        found = urls(request, resolved)
    except NotFound:
        return []
    return [] if isinstance(found, Gone) else found


def _l2c(service: Service, request: Request, operand: str) -> Answer:
    first, *others = _known(service, request, operand)
    answer = reading.description(service, request, first)
    more = (link(f"{request.base}/{path_of(one.asked)}", "alternate") for one in others)
    answer.fields += links(more)
    return answer


async def _l2r(service: Service, request: Request, operand: str) -> Answer:
    return await reading.resource(service, request, _known(service, request, operand)[0])


# equality
# --------


def _same(service: Service, _request: Request, operand: str) -> Answer:
    """Answer TRUE if two URIs name the same resource, otherwise FALSE.

    An escaped blank or line break separates them.
    """
    one, other = _two(operand)
    keys = {name.key for name in service.listings.names(one.whole)}
    same = equivalent(one, other) or (
        one.whole is one and other.whole is other and other.key in keys
    )
    fresh = (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds)
    return plain(
        HTTPStatus.OK, "text/plain; charset=us-ascii", b"TRUE\r\n" if same else b"FALSE\r\n", fresh
    )


def _two(operand: str) -> tuple[Identifier, Identifier]:
    """Split the operand at the first separator that leaves an identifier on both sides."""
    mistake: PerdureError | None = None
    for separator in _SEPARATOR.finditer(operand):
        try:
            return identify(operand[: separator.start()]), identify(operand[separator.end() :])
        except (MalformedIdentifier, UnknownScheme) as error:
            mistake = error
    raise mistake or TwoOperandsNeeded()


_Service = Callable[[Service, Request, str], Answer | Awaitable[Answer]]
SERVICES: dict[str, _Service] = {
    "N2L": _n2l,
    "N2LS": _n2ls,
    "N2R": _n2r,
    "N2RS": _n2rs,
    "N2C": _n2c,
    "N2CS": _n2c,
    "N2N": _n2ns,
    "N2NS": _n2ns,
    "L2NS": _l2ns,
    "L2N": _l2ns,
    "L2LS": _l2ls,
    "L2C": _l2c,
    "L2R": _l2r,
    "I2L": _n2l,
    "I2LS": _n2ls,
    "I2R": _n2r,
    "I2RS": _n2rs,
    "I2C": _n2c,
    "I2CS": _n2c,
    "I2N": _n2ns,
    "I2NS": _n2ns,
    "I=I": _same,
}
