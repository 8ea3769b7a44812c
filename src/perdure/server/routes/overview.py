"""The table of routes as one page for people: `/api`."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from perdure.server.routes.model import Route

_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_HEADINGS = (
    ("names", "Identifiers"),
    ("pages", "Pages, feeds and lists"),
    ("iiif", "Images (IIIF)"),
    ("", "Interfaces and writing"),
)


class ShownParameter(msgspec.Struct, frozen=True):
    """A parameter as the page shows it."""

    name: str
    text: str
    required: bool


class ShownRoute(msgspec.Struct, frozen=True, kw_only=True):
    """A route as the page shows it."""

    anchor: str
    """The name of its operation; empty if a route before it has the same one."""
    methods: tuple[str, ...]
    request: str
    text: str
    parameters: tuple[ShownParameter, ...]
    body: str
    answers: tuple[tuple[int, str], ...]
    security: str
    is_open: bool


class RouteGroup(msgspec.Struct, frozen=True):
    """Routes under one heading."""

    id: str
    title: str
    routes: tuple[ShownRoute, ...]


def group_routes(routes: Sequence[Route]) -> tuple[RouteGroup, ...]:
    """Return all routes in groups; those that every page shares stand once."""
    groups: dict[str, list[ShownRoute]] = {key: [] for key, _ in _HEADINGS}
    common: set[str] = set()
    shown: set[str] = set()
    for route in routes:
        if route.is_common:
            if route.operation.partition("Of")[0] in common:
                continue
            common.add(route.operation.partition("Of")[0])
        key = "names" if route.is_of_names else route.section
        groups[key if key in groups else ""].append(
            _show_route(route, is_first=route.operation not in shown)
        )
        shown.add(route.operation)
    return tuple(
        RouteGroup(key or "interfaces", title, tuple(groups[key])) for key, title in _HEADINGS
    )


def _show_route(route: Route, *, is_first: bool) -> ShownRoute:
    return ShownRoute(
        anchor=route.operation if is_first else "",
        methods=route.methods,
        request="…" if route.is_common else route.shown or route.pattern,
        text=_write_plain(route.text),
        parameters=tuple(
            ShownParameter(one.shown or one.name, _write_plain(one.text), one.required)
            for one in route.parameters
        ),
        body=_describe_body(route),
        answers=tuple((one.status, one.text) for one in route.answers),
        security=", ".join(route.security),
        is_open=route.is_open,
    )


def _describe_body(route: Route) -> str:
    if route.body is None:
        return ""
    return f"{_write_plain(route.body.text)} ({', '.join(route.body.content)})"


def _write_plain(text: str) -> str:
    """A text of the reference without its links and marks of code.

    >>> _write_plain("the `names` of [a part](parts.md)")
    'the names of a part'
    """
    return _LINK.sub(r"\1", text).replace("`", "")
