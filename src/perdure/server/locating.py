"""Where a thing can be had: the URLs of a resource, our own for bytes held here among them."""

from __future__ import annotations

from perdure.decide import decide
from perdure.errors import MalformedIdentifier, UnknownScheme
from perdure.ids import Identifier
from perdure.model import Choices, Gone, Want
from perdure.server import asking, lists, problems
from perdure.server.answers import Answer
from perdure.server.request import Request
from perdure.server.service import Service
from perdure.server.targets import identify, path_of


def locations(
    service: Service,
    request: Request,
    identifier: Identifier,
    *more: tuple[bytes, bytes],
    about: str | None = None,
) -> Answer:
    """The list of URLs of an identifier (`N2Ls`, `?locations`), empty where there are none.

    `about` is what was asked for, as it was spelled. Raises NotFound or NoSuchVersion.
    """
    found = urls(service, request, identifier)
    if isinstance(found, Gone):
        return problems.answer(problems.of_tombstone(found), request)
    fresh = (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds)
    entries = [lists.Entry(one) for one in found]
    return lists.answer(request, about or str(identifier), entries, fresh, *more)


def urls(service: Service, request: Request, identifier: Identifier) -> list[str] | Gone:
    """URLs where the resource can be had, best first; its tombstone where it was withdrawn."""
    query = asking.query(service, request, identifier.whole, Want.LOCATIONS)
    step = decide(query, service.record(identifier))
    if isinstance(step, Gone):
        return step
    if not isinstance(step, Choices):
        return []
    ours = [f"{request.base}/{path_of(fetch.identifier)}" for fetch in step.fetches]
    return list(dict.fromkeys((*(one.uri for one in step.locations), *ours)))


def known_by_url(service: Service, request: Request, url: str) -> tuple[Identifier, ...]:
    """The identifiers of the resource at a URL: those bound to it, or the one that it resolves."""
    bound = service.resolver.named(url)
    ours = own(service, request, url)
    return bound if ours is None else (ours, *(one for one in bound if one.key != ours.key))


def own(service: Service, request: Request, url: str) -> Identifier | None:
    """The identifier that stands in a URL of our own, where it is known here."""
    if not url.startswith(f"{request.base}/"):
        return None
    try:
        identifier = identify(url[len(request.base) + 1 :])
    except (MalformedIdentifier, UnknownScheme):
        return None
    return identifier if service.record(identifier) is not None else None
