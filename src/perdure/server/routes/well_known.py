"""The routes at fixed addresses, by which programs find out what this server is (RFC 8615)."""

from __future__ import annotations

from perdure.server.apis import well_known
from perdure.server.routes.model import JSON, AnswerShape, Route

_GET = ("GET", "HEAD")

WELL_KNOWN = (
    Route(
        methods=_GET,
        pattern=well_known.SERIES_PAGE,
        handler=well_known.show_series,
        operation="showSeries",
        text="the series that are resolved here: roles, completeness as of a change, feeds; see "
        "[other resolvers](other-resolvers.md)",
        section="pages",
        answers=(
            AnswerShape(
                status=200,
                text="The series.",
                content={JSON: {"type": "object", "required": ["resolver", "series"]}},
                fields=("Link",),
            ),
        ),
    ),
    Route(
        methods=_GET,
        pattern=well_known.CATALOG_PAGE,
        handler=well_known.show_catalog,
        operation="showCatalog",
        text="the interfaces of this server as a link set (RFC 9727)",
        section="pages",
        answers=(
            AnswerShape(
                status=200,
                text="The interfaces.",
                content={"application/linkset+json": {"type": "object", "required": ["linkset"]}},
                fields=("Link",),
            ),
        ),
    ),
)
