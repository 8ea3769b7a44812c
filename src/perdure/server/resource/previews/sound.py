"""Sounds: their waveform, with spans drawn on it. The player is beside it."""

from __future__ import annotations

from math import ceil
from typing import ClassVar

import msgspec

from perdure.extractors.measures import Measures
from perdure.extractors.playback import SOUNDS
from perdure.reading.media_places import ShownPart
from perdure.server.resource.previews.drawing import Drawing, Field, Pane
from perdure.server.resource.previews.port import ShownDocument

_WIDTH, _HEIGHT = 800, 100


class SoundPreview(msgspec.Struct, frozen=True, kw_only=True):
    """A waveform."""

    template: ClassVar[str] = "landing/sound.html"
    drawing: Drawing
    seconds: float


def suits_type(essence: str) -> bool:
    return essence in SOUNDS


async def make_preview(shown: ShownDocument) -> SoundPreview | None:
    known = await shown.measure()
    if not known.seconds:
        return None
    span = find_span(shown.locate_part(known))
    length = known.seconds * 1000
    drawing = Drawing(
        kind="ms",
        action=shown.path,
        picture=shown.ask("preview=peaks"),
        width=_WIDTH,
        height=_HEIGHT,
        panes=(Pane(0, 0, length, 1),),
        fields=list_ends(known, span),
        mark=Pane(span[0], 0, span[1] - span[0], 1) if span else None,
    )
    return SoundPreview(drawing=drawing, seconds=known.seconds)


def find_span(place: ShownPart | None) -> tuple[float, float] | None:
    """Return the milliseconds of a part, if the page is about one."""
    return place.span if place else None


def list_ends(known: Measures, span: tuple[float, float] | None) -> tuple[Field, Field]:
    """The fields of a span of time."""
    most = ceil((known.seconds or 0) * 1000)
    start, stop = (round(span[0]), round(span[1])) if span else (None, None)
    return (
        Field(name="start", most=most, value=start),
        Field(name="stop", most=most, value=stop),
    )
