"""From a request to its handler and to the methods that its target allows. Pure.

How it works: the routes of pages are indexed once: by their path, or by their lead if they cover
every path below it. A target is a page if it is below a lead or has no colon (the name of a scheme
contains no slash). All other targets are identifiers, whose routes are chosen by the method.

What must stay true: `Allow` lists the methods that have a route, and no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import msgspec

from perdure.reading.targets import RequestTarget, is_escaped
from perdure.server.common.target_kinds import TargetKind
from perdure.server.resource import methods
from perdure.server.routes.model import Handler, Route, Security
from perdure.server.routes.table import ROUTES

Allow = Mapping[TargetKind, bytes]
_ORDER = ("GET", "HEAD", "OPTIONS", "TRACE", "PUT", "POST")


class RoutedHandler(msgspec.Struct, frozen=True):
    """The handler of a request, and the methods that its target allows."""

    handler: Handler
    allow: Allow
    asks_who: bool = False
    """True if a signature can authenticate the request."""
    is_write: bool = False
    """True if the request writes, so that a mirror leads it to its origin."""


class _Page(msgspec.Struct, frozen=True):
    """All routes of one path, or of all paths below one lead."""

    handlers: dict[str, Handler]
    otherwise: Handler
    allow: Allow
    signed: frozenset[str]
    """Methods that a signature can authenticate."""
    written: frozenset[str]
    """Methods that write."""

    def choose_handler(self, method: str) -> RoutedHandler:
        handler = self.handlers.get(method, self.otherwise)
        return RoutedHandler(handler, self.allow, method in self.signed, method in self.written)


def list_methods(routes: Iterable[Route]) -> tuple[str, ...]:
    """List the methods of routes, each once, in their order."""
    return tuple(dict.fromkeys(method for route in routes for method in route.methods))


def write_allow(allowed: Iterable[str]) -> bytes:
    """Write methods as the field `Allow` lists them."""
    return ", ".join(allowed).encode("ascii")


def _gather_page(routes: list[Route]) -> _Page:
    handlers = {method: route.handler for route in routes for method in route.methods}
    own = next((route.handler for route in routes if route.answers_every_method), None)
    return _Page(
        handlers=handlers,
        otherwise=own or methods.refuse_method,
        allow=MappingProxyType({TargetKind.PAGE: write_allow(list_methods(routes))}),
        signed=frozenset(
            method
            for route in routes
            if Security.SIGNATURE in route.security
            for method in route.methods
        ),
        written=_join_written(routes),
    )


def _join_written(routes: Iterable[Route]) -> frozenset[str]:
    return frozenset().union(*(route.written_methods for route in routes))


def _gather_pages(routes: Iterable[Route]) -> dict[str, _Page]:
    """Index pages by their leads."""
    leads: dict[str, list[Route]] = {}
    for route in routes:
        leads.setdefault(route.lead, []).append(route)
    return {lead: _gather_page(found) for lead, found in leads.items()}


def _gather_allow(routes: Iterable[Route]) -> Allow:
    """Index the allowed methods by the kind of target."""
    found = {
        kind: list_methods(one for one in routes if kind in one.kinds and one.is_of_names)
        for kind in TargetKind
    }
    return MappingProxyType(
        {
            kind: write_allow(sorted(allowed, key=_ORDER.index))
            for kind, allowed in found.items()
            if allowed
        }
    )


_OF_PAGES = tuple(route for route in ROUTES if not route.is_of_names)
_EXACT = _gather_pages(route for route in _OF_PAGES if not route.covers_below)
_BELOW = _gather_pages(route for route in _OF_PAGES if route.covers_below)
_LEADS = tuple(f"{lead}/" for lead in _BELOW)
_NAMES = tuple(route for route in ROUTES if route.is_of_names)
_ALLOW = _gather_allow(_NAMES)
_HANDLERS = {method: route.handler for route in _NAMES for method in route.methods}
_SIGNED = frozenset(
    method for one in _NAMES if Security.SIGNATURE in one.security for method in one.methods
)
_WRITTEN = _join_written(_NAMES)
_UNDEFINED = RoutedHandler(methods.refuse_method, _ALLOW)
_OF_NAMES = {
    method: RoutedHandler(handler, _ALLOW, method in _SIGNED, method in _WRITTEN)
    for method, handler in _HANDLERS.items()
}
_WHOLE_SERVER = RoutedHandler(methods.answer_options, _ALLOW)


def is_page(target: RequestTarget) -> bool:
    """True if a target names a page, existing or not. All other targets are identifiers."""
    text = target.text
    if text.startswith(_LEADS):
        return True
    return ":" not in text.partition("?")[0] and not is_escaped(text)


def find_handler(method: str, target: RequestTarget, raw: bytes) -> RoutedHandler | None:
    """Find the handler of a request. Returns None if there is no such page."""
    if not is_page(target):
        return _OF_NAMES.get(method, _UNDEFINED)
    if raw == b"*":
        return _WHOLE_SERVER if method == "OPTIONS" else None
    page = find_page(target.text)
    return None if page is None else page.choose_handler(method)


def find_page(text: str) -> _Page | None:
    """Find the page of a path, which has no leading slash, or None if no page has it."""
    first, _, rest = text.partition("/")
    second = f"{first}/{rest.partition('/')[0]}"
    return _EXACT.get(text) or _BELOW.get(second) or _BELOW.get(first)


def asks_for_view(target: RequestTarget) -> bool:
    """True if a target is a document as a page shows it, which the content origin has, too."""
    return target.question == "view" and not is_page(target)


def allow_on_content_origin() -> Allow:
    """The methods that the content origin allows: those of its routes, and no others."""
    replayed = [one for one in ROUTES if one.lead == "replay" and not one.is_common]
    return MappingProxyType({TargetKind.PAGE: write_allow(list_methods(replayed))})
