"""Pages of a PDF as pictures, with their lines over them, so that words can be selected."""

from __future__ import annotations

from typing import ClassVar

import msgspec

from perdure.extractors.measures import TextLine
from perdure.extractors.pdf.pictures import EXTRACTOR
from perdure.parts import Page
from perdure.server.resource.previews.drawing import Drawing, Pane, list_corners, make_mark
from perdure.server.resource.previews.port import ShownDocument


class PagePreview(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a document."""

    template: ClassVar[str] = "landing/pages.html"
    drawing: Drawing
    number: int
    count: int
    lines: tuple[TextLine, ...]
    page_url: str


def suits_type(essence: str) -> bool:
    return essence in EXTRACTOR.media_types


async def make_preview(shown: ShownDocument) -> PagePreview | None:
    number = shown.part.number if isinstance(shown.part, Page) else max(shown.at, 1)
    known = await shown.measure(number)
    place = shown.locate_part(known)
    box = place.box if place else None
    is_rectangle = isinstance(shown.part, Page) and shown.part.view is not None
    width, height = known.width, known.height
    drawing = Drawing(
        kind="page",
        action=shown.path,
        picture=shown.ask(f"preview=page-{number}"),
        width=round(width),
        height=round(height),
        panes=(Pane(0, 0, width, height),),
        fields=list_corners(width, height, box if is_rectangle else None, is_needed=False),
        fixed=(("page", number),),
        mark=make_mark(box) if box else None,
    )
    return PagePreview(
        drawing=drawing,
        number=number,
        count=known.count,
        lines=() if known.stored else known.lines,
        page_url=shown.ask("landing"),
    )
