"""Tables: a hundred rows, of which some can be chosen."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from perdure.extractors.measures import Measures
from perdure.extractors.text.table import EXTRACTOR
from perdure.reading.table_rows import read_rows
from perdure.server.resource.previews.port import ShownDocument

_SHOWN = 100  # rows
_LEAD = 10  # rows before a part


class TablePreview(msgspec.Struct, frozen=True, kw_only=True):
    """Rows of a table."""

    template: ClassVar[str] = "landing/table.html"
    names: list[str]
    first: int
    rows: list[list[str]]
    count: int
    chosen: tuple[int, int] | None
    """The first and the last row of the part."""
    action: str
    earlier: str
    later: str
    """The addresses of the neighbouring rows, or empty strings."""


def suits_type(essence: str) -> bool:
    return essence in EXTRACTOR.media_types


async def make_preview(shown: ShownDocument) -> TablePreview:
    place = shown.locate_part(Measures())
    span = place.span if place else None
    chosen = None if span is None else (int(span[0]), int(span[1]))
    first = max(1, chosen[0] - _LEAD) if chosen else shown.at
    service = shown.service
    found = await service.run_cutter(read_rows, service.registry.parts, shown.source, first, _SHOWN)
    page, after = shown.ask("landing"), found.first + len(found.rows)
    return TablePreview(
        names=found.names,
        first=found.first,
        rows=found.rows,
        count=found.length,
        chosen=chosen,
        action=shown.path,
        earlier=f"{page}&at={max(1, found.first - _SHOWN)}" if found.first > 1 else "",
        later=f"{page}&at={after}" if after <= found.length else "",
    )
