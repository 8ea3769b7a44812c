"""Films: a contact sheet, with spans of time drawn on it. The player is beside it."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from perdure.extractors.film import contact_sheet
from perdure.server.resource.previews.drawing import Drawing, Pane, list_corners
from perdure.server.resource.previews.port import ShownDocument
from perdure.server.resource.previews.sound import find_span, list_ends


class FilmPreview(msgspec.Struct, frozen=True, kw_only=True):
    """A contact sheet."""

    template: ClassVar[str] = "landing/film.html"
    drawing: Drawing
    seconds: float
    width: int
    height: int


def suits_type(essence: str) -> bool:
    return essence in contact_sheet.EXTRACTOR.media_types


async def make_preview(shown: ShownDocument) -> FilmPreview | None:
    known = await shown.measure()
    if not known.seconds:
        return None
    place = shown.locate_part(known)
    span = find_span(place)
    rows, columns = contact_sheet.ROWS, contact_sheet.COLUMNS
    stretch = known.seconds * 1000 / rows
    width, height = int(known.width), int(known.height)
    drawing = Drawing(
        kind="ms",
        action=shown.path,
        picture=shown.ask("preview=frames"),
        width=width * columns,
        height=height * rows,
        panes=tuple(Pane(row * stretch, 0, stretch, 1) for row in range(rows)),
        fields=(
            *list_ends(known, span),
            *list_corners(width, height, place.box if place else None, is_needed=False),
        ),
        mark=Pane(span[0], 0, span[1] - span[0], 1) if span else None,
    )
    return FilmPreview(drawing=drawing, seconds=known.seconds, width=width, height=height)
