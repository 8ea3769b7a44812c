"""Places in pictures, sounds, films, pages and tables, as a page shows them, and the parts there.

How it works: a reader points into what a landing page shows: pixels of the upright picture,
milliseconds, units of a page, rows. `select_place` returns the part at such a place; parts of
pictures and pages count as they are stored, so a rectangle is turned back. In a PDI, the part is
that of the draft; elsewhere it is that of the media type (ruling: part-meaning). `locate_part` is
the way back: where a part is in what the page shows.

What must stay true: a part never contains less than the place that was pointed at.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from perdure.extractors.measures import Box, Measures, turn_box
from perdure.parts import Cells, Crop, Interval, Media, Page, Rect, Selector
from perdure.parts.selectors import Area, Time
from perdure.reading.places import PointedPlace

_MILLISECONDS = 1000


class ShownPart(NamedTuple):
    """The place of a part in the preview on a page."""

    box: Box | None = None
    """In pixels or in units of a page; None for all of it."""
    span: tuple[float, float] | None = None
    """In milliseconds, or the first and the last row."""


def select_place(place: PointedPlace, known: Measures, *, has_own_parts: bool) -> Selector | None:
    """Return the part at a place, or None if no part of this name is there."""
    numbers = place.numbers
    match place.kind:
        case "rect":
            box, frame = _turn_back(numbers[:4], known), (*numbers[4:], 0)[0]
            if has_own_parts:
                return Rect(*box, frame)
            return None if frame else Media(area=_make_area(box))
        case "ms":
            start, end = (Fraction(one, _MILLISECONDS) for one in numbers[:2])
            corners = numbers[2:]
            if not has_own_parts:
                return Media(time=Time(start, end), area=_make_area(corners) if corners else None)
            time = Interval(start, end)
            return Crop(time, Rect(*corners)) if corners else time
        case "page":
            if len(numbers) == 1:
                return Page(numbers[0])
            left, top, right, bottom = _turn_back(numbers[1:], known)
            return Page(
                numbers[0],
                (Fraction(left), Fraction(top), Fraction(right - left), Fraction(bottom - top)),
            )
        case "rows":
            return Cells("row", (((numbers[0],), (numbers[1],)),))
    return None


def write_place(selector: Selector, *, has_own_parts: bool) -> str:
    """Write a part as a fragment of its document.

    >>> view = Fraction(1), Fraction(2), Fraction(30), Fraction(40)
    >>> write_place(Page(3, view), has_own_parts=True)
    'page=3%26viewrect%3d1,2,30,40'
    """
    scheme, equals, positions = str(selector).partition("=")
    if has_own_parts and isinstance(selector, Page | Media):  # ruling: pdi-other-schemes
        positions = positions.replace("&", "%26").replace("=", "%3d")
    return scheme + equals + positions


def locate_part(part: Selector, known: Measures) -> ShownPart | None:
    """Return where a part is, or None if it has no place in what a page shows."""
    matrix = known.stored.stored_to_upright if known.stored else None
    match part:
        case Rect(left, top, right, bottom):
            return ShownPart(box=turn_box((left, top, right, bottom), matrix))
        case Interval(start, end):
            return ShownPart(span=(_count(start), _count(end)))
        case Crop(time, rect):
            box = None if rect is None else (rect.left, rect.top, rect.right, rect.bottom)
            return ShownPart(box, (_count(time.start), _count(time.end)))
        case Media(time, area, (), None) if time is not None or area is not None:
            return ShownPart(
                None if area is None else turn_box(_find_corners(area, known), matrix),
                None if time is None else _find_span(time, known),
            )
        case Page(_, view):
            if view is None:
                return ShownPart(box=(0, 0, known.width, known.height))
            x, y, width, height = map(float, view)
            return ShownPart(box=turn_box((x, y, x + width, y + height), matrix))
        case Cells("row", ((first, last), *_)) if first[0] is not None:
            return ShownPart(span=(first[0], first[0] if last[0] is None else last[0]))
    return None


def _turn_back(box: tuple[int, ...], known: Measures) -> tuple[int, int, int, int]:
    left, top, right, bottom = box
    matrix = known.stored.upright_to_stored if known.stored else None
    turned = turn_box((left, top, right, bottom), matrix)
    return int(turned[0]), int(turned[1]), -int(-turned[2] // 1), -int(-turned[3] // 1)


def _make_area(box: tuple[int, ...]) -> Area:
    left, top, right, bottom = box
    return Area("pixel", left, top, right - left, bottom - top)


def _find_corners(area: Area, known: Measures) -> Box:
    """Return the corners of an area in stored pixels."""
    right, bottom = area.x + area.width, area.y + area.height
    if area.unit == "pixel":
        return area.x, area.y, right, bottom
    grid = known.stored or known
    across, down = grid.width / 100, grid.height / 100
    return area.x * across, area.y * down, right * across, bottom * down


def _find_span(time: Time, known: Measures) -> tuple[float, float]:
    end = known.seconds or 0 if time.end is None else time.end
    return _count(time.start or Fraction(0)), _count(end)


def _count(seconds: Fraction | float) -> float:
    return float(seconds * _MILLISECONDS)
