"""The table of routes for people: the map of the server and the tables of the reference.

How it works: `write_map` writes one line per route, with the function that answers it.
`write_tables` writes the Markdown tables of docs/reference/http.md, by the names of their sections.
`replace_sections` puts them between the comments `<!-- routes: NAME -->` and `<!-- end -->` of a
page. `tools/route_tables.py` writes all of them into the files, and a test compares them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from http import HTTPStatus

from perdure.server.routes.model import AnswerShape, Parameter, Route

_VARIABLE = re.compile(r"\{(\w+)\}")
_MOST_VARIABLES = 3  # of a target in the map
_SECTION = re.compile(r"(<!-- routes: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def write_map(routes: Sequence[Route]) -> str:
    """Write the map of the server: methods, target, function.

    >>> print(write_map([Route(methods=("GET",), pattern="/x/{y}", handler=write_map,
    ...                        operation="x", text="")]))
        GET  /x/<y>  listing.write_map
    """
    rows = [
        (" ".join(one.methods), "every page" if one.is_common else target, _name_handler(one))
        for one in routes
        for target in (_write_target(one),)
    ]
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return "\n".join(
        f"    {methods:<{widths[0]}}  {target:<{widths[1]}}  {handler}"
        for methods, target, handler in dict.fromkeys(rows)
    )


def _write_target(route: Route) -> str:
    """Write a target for people: variables in angle brackets, and the word of the query."""
    target = _VARIABLE.sub(r"<\1>", route.pattern)
    if target.count("<") > _MOST_VARIABLES:
        target = f"{'/'.join(target.split('/')[:4])}/…"
    if route.is_of_names:
        target = "<identifier>"
    if route.word:
        return f"{target}?{route.word}"
    at = route.shown.find("?")
    return target if at < 0 or route.is_of_names else f"{target}{route.shown[at:]}"


def _name_handler(route: Route) -> str:
    module = str(getattr(route.handler, "__module__", ""))
    return f"{module.rpartition('.')[2]}.{getattr(route.handler, '__name__', '')}"


# Markdown
# --------


def write_tables(routes: Sequence[Route]) -> dict[str, str]:
    """Write the tables of the reference, by the names of their sections."""
    asking = next(one for one in routes if one.operation == "resolve")
    pictures = next(one for one in routes if one.operation == "renderImage")
    return {
        "pages": _write_table(
            ("page", "content"),
            ([_show_request(one), one.text] for one in _select_section(routes, "pages")),
        ),
        "questions": _write_table(
            ("query", "answer"),
            ([_show_parameter(one), one.text] for one in asking.parameters if _is_listed(one)),
        ),
        "iiif": _write_table(
            ("request", "answer"),
            ([_show_request(one), one.text] for one in _select_section(routes, "iiif")),
        ),
        "pictures": _write_table(
            ("parameter", "values"),
            ([_show_parameter(one, "path"), one.text] for one in pictures.parameters if one.listed),
        ),
        "writing": _write_table(
            ("request", "effect", "status"),
            (
                [_show_request(one), one.text, _show_statuses(one.answers)]
                for one in _select_section(routes, "writing")
            ),
        ),
        "tokens": _write_table(
            ("request", "effect", "status"),
            (
                [f"`{one.methods[0]} {_name_request(one)}`", one.text, _show_statuses(one.answers)]
                for one in _select_section(routes, "tokens")
            ),
        ),
        "foreign": _write_table(
            ("request", "effect", "status"),
            (
                [f"`{one.methods[0]} {_name_request(one)}`", one.text, _show_done(one.answers)]
                for one in _select_section(routes, "foreign")
            ),
        ),
        "annotations": _write_table(
            ("request", "effect", "status"),
            (
                [_show_request(one), one.text, _show_statuses(one.answers)]
                for one in _select_section(routes, "annotations")
            ),
        ),
    }


def replace_sections(page: str, tables: Mapping[str, str]) -> str:
    """Replace the generated tables of a page. Raises KeyError for an unknown section."""
    return _SECTION.sub(lambda found: f"{found[1]}{tables[found[2]]}\n{found[3]}", page)


def _select_section(routes: Iterable[Route], section: str) -> list[Route]:
    return [one for one in routes if one.section == section]


def _is_listed(parameter: Parameter) -> bool:
    return parameter.listed and parameter.place == "query"


def _name_request(route: Route) -> str:
    return route.shown or _VARIABLE.sub(r"<\1>", route.pattern)


def _show_request(route: Route) -> str:
    return f"`{_name_request(route)}`"


def _show_parameter(parameter: Parameter, place: str = "query") -> str:
    if place == "path":
        return parameter.shown or parameter.name
    return f"`{parameter.shown or '?' + parameter.name}`"


def _show_statuses(answers: Iterable[AnswerShape]) -> str:
    return ", ".join(str(one.status) for one in answers)


def _show_done(answers: Iterable[AnswerShape]) -> str:
    """Show the statuses of answers to requests that succeed."""
    return ", ".join(str(one.status) for one in answers if one.status < HTTPStatus.MULTIPLE_CHOICES)


def _write_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"| {' | '.join('---' for _ in head)} |"]
    for row in rows:
        cells = (one.replace("|", r"\|") for one in row)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
