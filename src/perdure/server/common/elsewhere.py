"""Answers about names for which another resolver answers: a redirect (307), or who knows (300).

How it works: the read door raises `AnsweredElsewhere`, whichever face asked, and the application
passes it here. The delegation says how to answer; the client may choose another way with
`Prefer: resolve=redirect`, `proxy` or `refer` (RFC 7240). The request keeps its form: the other
resolver is asked the same, so a request for handle values leads to handle values there, and a
request to a resolution service to the same service. A THTTP resolver (RFC 2169) is
asked through the services that it has.

A request that has passed this resolver before, according to `Via` or to our own field, is not sent
on again: 508.

What must stay true: a redirect never changes the method (307), and has nothing of the request but
its target.
"""

from __future__ import annotations

import hashlib
import re
import socket
from collections.abc import Iterable
from contextlib import suppress
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path

from perdure.errors import PerdureError
from perdure.errors.delegations import AnsweredElsewhere
from perdure.ids import Identifier, parse
from perdure.ids.name_set import make_set, read_set
from perdure.model.delegations import HOWS, HeldDelegation, Resolver
from perdure.reading.targets import read_identifier
from perdure.server.common import lists, problems
from perdure.server.common.answers import Answer, Fields, escape_uri, join_links, write_link
from perdure.server.common.readers import find_reader
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.settings import Settings

OWN_FIELD = b"perdure-via"
"""The pseudonyms of the resolvers that a request has passed, for networks that drop `Via`."""
MOST_HOPS = 8
_OUR_ADDRESS = re.compile(rb"https?://[^/?#]*/?", re.IGNORECASE)
_SERVICES = {"": "N2R", "bytes": "N2R", "info": "N2C", "locations": "N2Ls"}
"""The service of RFC 2169 for each question about a name."""
_THTTP = "uri-res/"
_OPEN_PLACES = (b"iiif/", b"api/handles", b"annotations/")
"""Paths whose answers pages of any origin may read."""


def answer_elsewhere(
    service: Service, request: Request, error: AnsweredElsewhere
) -> Answer | HeldDelegation:
    """Answer a request about a name for which another resolver answers.

    Returns the delegation if the request must be passed on to its resolvers. Raises Forbidden or
    Unauthenticated if it is about a set in which the reader may not read everything.
    """
    if passed_here(service.settings, service.registry.root, request):
        return problems.answer_problem(_make_loop_problem(error), request)
    if request.method in ("GET", "HEAD"):
        names = read_set(error.identifier)
        if not names.is_single:  # for a name, the read door has asked the rules
            service.registry.reading.check_passing(names, find_reader(service, request))
    held = find_delegation(service, error)
    how = read_wish(request) or error.how
    if how == "proxy" and held is not None:
        return held
    places = [] if held is None else list_places(held, request)
    if how == "refer" or not places:
        return _refer_reader(service, request, error, places)
    return make_redirection(
        places,
        fresh=service.settings.fresh_seconds,
        applied="redirect" if read_wish(request) else "",
        is_write=request.method not in ("GET", "HEAD"),
        is_open=_is_open(request),
    )


def find_delegation(service: Service, error: AnsweredElsewhere) -> HeldDelegation | None:
    """Return the delegation that an error names."""
    return service.registry.delegations.find_delegation(parse(error.delegation))


def make_redirection(
    places: list[str],
    *,
    fresh: int,
    applied: str = "",
    is_write: bool = False,
    is_open: bool = False,
) -> Answer:
    """Redirect to the first of several places, with the same method. Pure.

    `perdure.server.fast.path` sends the same bytes because it calls the same function.
    """
    links = [write_link(one, "alternate") for one in places[1:]]
    lifetime = b"no-store" if is_write else b"public, max-age=%d" % fresh
    fields: Fields = [
        (b"location", escape_uri(places[0])),
        (b"cache-control", lifetime),
        (b"vary", b"prefer"),
        *join_links(links),
        (b"content-length", b"0"),
    ]
    if applied:
        fields.append((b"preference-applied", f"resolve={applied}".encode()))
    if is_open:
        fields.append((b"access-control-allow-origin", b"*"))
    return Answer(HTTPStatus.TEMPORARY_REDIRECT, fields)


def _refer_reader(
    service: Service, request: Request, error: AnsweredElsewhere, places: list[str]
) -> Answer:
    """Answer with the resolvers that know the name (300)."""
    known = places or list(error.resolvers)
    told = {
        "resolvers": list(error.resolvers),
        "delegation": error.delegation,
        "role": error.role,
    }
    fresh = (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds)
    entries = [lists.ListEntry(one) for one in known]
    links = join_links(write_link(one, "alternate") for one in known)
    answer = lists.answer_list(request, error.identifier, entries, fresh, *links, told=told)
    answer.status = HTTPStatus.MULTIPLE_CHOICES
    answer.fields = [
        (name, b"accept, prefer" if name == b"vary" else value) for name, value in answer.fields
    ]
    if read_wish(request):
        answer.fields.append((b"preference-applied", b"resolve=refer"))
    if _is_open(request):
        answer.fields.append((b"access-control-allow-origin", b"*"))
    return answer


# where to ask
# ------------


def list_places(held: HeldDelegation, request: Request) -> list[str]:
    """Return the addresses at which other resolvers answer the same request, the first one first.

    A resolver that has no such service is left out.
    """
    written = strip_origin(request.raw)
    found = (find_place(one, written, request.method) for one in held.delegation.resolvers)
    return [one for one in found if one is not None]


def list_sources(touching: Iterable[HeldDelegation], request: Request) -> list[str]:
    """Return the addresses at which other resolvers list the rest of a set."""
    found = (list_places(one, request)[:1] for one in touching)
    return list(dict.fromkeys(place for places in found for place in places))


def link_resolvers(service: Service, request: Request) -> list[bytes]:
    """Link to the addresses at which other resolvers answer about a name, or some of a set."""
    name = read_target_name(request)
    delegations = service.registry.delegations
    if name is None:
        return []
    found = delegations.list_touching(make_set(name))
    return [write_link(one, "alternate") for one in list_sources(found, request)]


def strip_origin(raw: bytes) -> str:
    """Return a target without our own address, and without the slash at its beginning.

    A raw `#`, which an address cannot have, is escaped.
    """
    path = raw[1:] if raw[:1] == b"/" else _OUR_ADDRESS.sub(b"", raw, count=1)
    return path.decode("ascii").replace("#", "%23")


def find_place(resolver: Resolver, written: str, method: str) -> str | None:
    """Return the address of a target at a resolver; None if it does not have such a service."""
    if resolver.kind == "http":
        return resolver.base + written
    if written.lower().startswith(_THTTP):
        return resolver.base + written if method in ("GET", "HEAD") else None
    name, _, question = written.partition("?")
    asked = _SERVICES.get(question)
    if method == "HEAD":
        asked = asked and "N2C"
    if asked is None or method not in ("GET", "HEAD"):
        return None
    with suppress(PerdureError):
        name = read_identifier(name).urn
    return f"{resolver.base}{_THTTP}{asked}?{name}"


def _is_open(request: Request) -> bool:
    return strip_origin(request.raw).encode().startswith(_OPEN_PLACES)


# wishes and loops
# ----------------


def read_wish(request: Request) -> str:
    """Return the way that a client prefers: `redirect`, `proxy`, `refer` or an empty text."""
    for one in request.read_field(b"prefer").split(","):
        name, _, value = one.partition(";")[0].strip().partition("=")
        if name.strip().lower() == "resolve" and value.strip(' "').lower() in HOWS:
            return value.strip(' "').lower()
    return ""


def passed_here(settings: Settings, root: Path, request: Request) -> bool:
    """Return True if a request has passed this resolver before, or too many others."""
    via, own = request.read_field(b"via"), request.read_field(OWN_FIELD)
    if not via and not own:
        return False
    me = find_pseudonym(settings.base_url, str(root))
    hops = [one.split() for one in via.split(",") if one.strip()]
    named = [one.strip() for one in own.split(",") if one.strip()]
    if me in named or any(me == hop[1] for hop in hops if len(hop) > 1):
        return True
    return max(len(hops), len(named)) > MOST_HOPS


@lru_cache(maxsize=16)
def find_pseudonym(base_url: str, root: str) -> str:
    """The name of this resolver in `Via`: its host, or a name that no other resolver has."""
    host = base_url.partition("://")[2]
    if host:
        return host
    seed = f"{socket.gethostname()}\n{Path(root).resolve()}"
    return f"perdure-{hashlib.sha256(seed.encode()).hexdigest()[:12]}"


def _make_loop_problem(error: AnsweredElsewhere) -> problems.Problem:
    return problems.Problem(
        status=HTTPStatus.LOOP_DETECTED,
        code="resolver-loop",
        detail=f"{error.identifier} was sent here by a resolver to which it is delegated, or has "
        f"passed more than {MOST_HOPS} resolvers; the delegation is {error.delegation}",
        members={"identifier": error.identifier, "delegation": error.delegation},
        fields=((b"cache-control", b"no-store"),),
    )


# writes
# ------


def require_written_here(service: Service, request: Request) -> None:
    """Raise AnsweredElsewhere if the target of a write is assigned by another resolver."""
    delegations = service.registry.delegations
    if not delegations.load_index().has_writers:
        return
    name = read_target_name(request)
    if name is not None:
        delegations.require_written_here(name)


def read_target_name(request: Request) -> Identifier | None:
    """Return the name in a target, or one of the names that a target mints; None for a page."""
    text = request.target.text
    try:
        return read_identifier(text)
    except PerdureError:
        with suppress(PerdureError):
            return read_set(text).example  # `URN:IANA:42117::`
    return None
