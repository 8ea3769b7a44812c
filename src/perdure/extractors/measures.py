"""The measures of a document that a page needs to show it, and to point into it.

How it works: an extractor returns them as JSON for the selector `View("measures")`. A photograph,
or a page of a PDF, can be stored in another orientation than it is shown. `stored` then has the
matrices between both. A matrix [a, b, c, d, e, f] maps the place (x, y) to
(ax + cy + e, bx + dy + f), as in SVG.
"""

from __future__ import annotations

import msgspec


class TextLine(msgspec.Struct, frozen=True, array_like=True):
    """A line of a page, and its place on the page as stored."""

    text: str
    x: float
    y: float
    width: float
    height: float


class StoredGrid(msgspec.Struct, frozen=True, rename="camel"):
    """The size of a picture as stored, and how places in it and in the upright one relate."""

    width: float
    height: float
    upright_to_stored: tuple[float, float, float, float, float, float]
    stored_to_upright: tuple[float, float, float, float, float, float]


class Measures(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Measures of a picture, a page, a sound or a film. Unknown ones are 0 or None."""

    width: float = 0
    """Of the upright picture, in pixels; of a page in its own units."""
    height: float = 0
    stored: StoredGrid | None = None
    """None if the picture is stored upright."""
    count: int = 1
    """Frames of a picture, or pages."""
    seconds: float | None = None
    lines: tuple[TextLine, ...] = ()
    """The lines of text of a page."""


Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""


def turn_box(box: Box, matrix: tuple[float, ...] | None) -> Box:
    """Map a rectangle by a matrix, which turns or reflects.

    >>> turn_box((0, 0, 10, 20), (0, -1, 1, 0, 0, 100))
    (0, 90, 20, 100)
    """
    if matrix is None:
        return box
    a, b, c, d, e, f = matrix
    left, top, right, bottom = box
    corners = [(a * x + c * y + e, b * x + d * y + f) for x, y in ((left, top), (right, bottom))]
    across, down = sorted(x for x, _ in corners), sorted(y for _, y in corners)
    return across[0], down[0], across[1], down[1]
