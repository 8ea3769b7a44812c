"""A picture with transparent panes over it, on which a reader draws a rectangle or a span.

How it works: panes cover the picture from top to bottom, and each has its own coordinates, as SVG
defines them (`viewBox`). A picture has one pane. A contact sheet has one for each row, which
continues the time of the row before. What is drawn is drawn on all panes, and each shows its part.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from perdure.extractors.measures import Box


class Pane(msgspec.Struct, frozen=True):
    """Left, top, width and height of a pane, in the units of the document."""

    left: float
    top: float
    width: float
    height: float


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """A number in the form beside a drawing."""

    name: str
    most: int
    value: int | None = None
    is_needed: bool = True


class Drawing(msgspec.Struct, frozen=True, kw_only=True):
    """A picture to point into, with the form that does the same."""

    kind: str
    """The kind of place (`perdure.reading.places.PointedPlace`)."""
    action: str
    """The address of the document."""
    picture: str
    pictures: Sequence[tuple[str, int]] = ()
    """Addresses of the picture with their widths in pixels, the smallest first."""
    information: str = ""
    """The address of its description for zooming (`info.json` of IIIF), or an empty string."""
    width: int
    height: int
    """Of the picture, in pixels or in any other unit."""
    panes: tuple[Pane, ...]
    fields: tuple[Field, ...]
    fixed: tuple[tuple[str, int], ...] = ()
    """Names and values that the form sends in addition."""
    mark: Pane | None = None
    """The part that the page is about."""


def list_corners(
    width: float, height: float, box: Box | None, *, is_needed: bool = True
) -> tuple[Field, ...]:
    """The four fields of a rectangle."""
    values = (None,) * 4 if box is None else tuple(map(round, box))
    sides = (("left", width), ("top", height), ("right", width), ("bottom", height))
    return tuple(
        Field(name=name, most=int(most), value=value, is_needed=is_needed)
        for (name, most), value in zip(sides, values, strict=True)
    )


def make_mark(box: Box) -> Pane:
    left, top, right, bottom = box
    return Pane(left, top, right - left, bottom - top)
