"""Pictures: in the sizes of the IIIF Image API, frame by frame, with rectangles drawn on them.

An SVG is only an image to a browser, so no script in it runs; nothing can be pointed at in it.
"""

from __future__ import annotations

from typing import ClassVar
from urllib.parse import quote as escape

import msgspec

from perdure.extractors.image.file import MEDIA_TYPES
from perdure.parts import Rect
from perdure.reading.targets import spell_path
from perdure.server.apis import iiif
from perdure.server.resource.previews.drawing import Drawing, Pane, list_corners, make_mark
from perdure.server.resource.previews.port import ShownDocument

_SVG = "image/svg+xml"
_OTHERS = ("image/avif", "image/bmp", _SVG)
"""Media types that browsers show, and into which nothing here points."""
_MOST_PIXELS = 500_000_000  # that are decoded for a picture
_WIDEST = 2048  # pixels; larger pictures are for zooming


class PicturePreview(msgspec.Struct, frozen=True, kw_only=True):
    """A picture, or a frame of one."""

    template: ClassVar[str] = "landing/picture.html"
    address: str
    """Of the picture as it is, if nothing can be pointed at in it."""
    drawing: Drawing | None = None
    frame: int = 0
    count: int = 1
    """Frames."""
    page_url: str = ""
    is_turned: bool = False
    """True if its pixels are stored in another orientation."""


def suits_type(essence: str) -> bool:
    return essence in MEDIA_TYPES or essence in _OTHERS


async def make_preview(shown: ShownDocument) -> PicturePreview | None:
    if shown.source.essence in _OTHERS:
        return PicturePreview(address=shown.ask("bytes"))
    frame = shown.part.frame if isinstance(shown.part, Rect) else shown.at
    known = await shown.measure(frame)
    width, height = int(known.width), int(known.height)
    if width * height > _MOST_PIXELS:
        return None
    place = shown.locate_part(known)
    box = place.box if place else None
    pictures = [] if frame else _list_pictures(shown, width, height)
    drawing = Drawing(
        kind="rect",
        action=shown.path,
        picture=pictures[-1][0] if pictures else shown.ask(f"preview=frame-{frame}"),
        pictures=pictures,
        information="" if frame else f"{_find_base(shown)}/info.json",
        width=width,
        height=height,
        panes=(Pane(0, 0, width, height),),
        fields=list_corners(width, height, box),
        fixed=(("frame", frame),) if frame else (),
        mark=make_mark(box) if box else None,
    )
    return PicturePreview(
        address="",
        drawing=drawing,
        frame=frame,
        count=known.count,
        page_url=shown.ask("landing"),
        is_turned=known.stored is not None,
    )


def _find_base(shown: ShownDocument) -> str:
    """Return the address of a picture in the IIIF Image API."""
    return f"/{iiif.ROOT}/3/{escape(spell_path(shown.identifier), safe='')}"


def _list_pictures(shown: ShownDocument, width: int, height: int) -> list[tuple[str, int]]:
    return [
        (f"{_find_base(shown)}/full/{across},{down}/0/default.jpg", across)
        for across, down in iiif.list_sizes(width, height)
        if across <= _WIDEST
    ]
