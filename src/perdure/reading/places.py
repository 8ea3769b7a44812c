"""Places in what a landing page shows, and names of previews, as queries write them.

How it works: `?point=` has a kind and numbers in a fixed order. The same numbers can be parameters
of their own, because forms send them so. Pure.
"""

from __future__ import annotations

import re

import msgspec

from perdure.errors.requests import MalformedNumber, MalformedPlace, UnknownPreview
from perdure.model.parameters import Parameters
from perdure.parts import View

_CORNERS = ("left", "top", "right", "bottom")
_PLACES = {
    "text": ("start", "stop"),
    "rect": (*_CORNERS, "frame"),
    "ms": ("start", "stop", *_CORNERS),
    "page": ("page", *_CORNERS),
    "rows": ("first", "last"),
    "tag": ("tag",),
}
"""The numbers of a place, in this order, by its kind. Forms send each as a parameter."""
_COUNTS = {"text": (2,), "rect": (4, 5), "ms": (2, 6), "page": (1, 5), "rows": (2,), "tag": (1,)}
_BEGINNINGS = {"stop": "start", "right": "left", "bottom": "top", "last": "first"}
_VIEWS = {"peaks": False, "frames": False, "frame": True, "page": True}
"""Previews, and whether they are numbered."""
NUMBERS = tuple(dict.fromkeys(name for names in _PLACES.values() for name in names))
"""The names of all parameters that are numbers of a place."""


class PointedPlace(msgspec.Struct, frozen=True):
    """A place in a document, in the units of the page that shows it."""

    kind: str
    """`text`: characters [start, stop); `rect`: left, top, right, bottom and perhaps the frame;
    `ms`: start, stop and perhaps a rectangle; `page`: a page and perhaps a rectangle; `rows`: the
    first and the last; `tag`: the number of a start tag in HTML."""
    numbers: tuple[int, ...]


def read_place(given: Parameters) -> PointedPlace:
    """A place: `?point=12,40`, `?point=rect=1,2,3,4`, or `?point=rect&left=1&top=2&…` as forms send
    it, where the last fields may be empty. Raises InvalidRequest.
    """
    text = given["point"]
    kind, equals, written = text.partition("=")
    if not equals and kind not in _PLACES:
        kind, written = "text", text
    names = _PLACES.get(kind, ())
    pieces = written.split(",") if written else [given.get(name, "") for name in names]
    while pieces and not pieces[-1]:
        pieces.pop()
    if len(pieces) not in _COUNTS.get(kind, ()):
        raise MalformedPlace(text=text, known=tuple(map(_describe_place, _PLACES)))
    found = {
        name: read_position(piece, "point") for name, piece in zip(names, pieces, strict=False)
    }
    for end, beginning in _BEGINNINGS.items():
        if end in found and found[end] < found[beginning] + (kind != "rows"):
            low = found[beginning] + (kind != "rows")
            raise MalformedNumber(parameter="point", text=text, low=low)
    return PointedPlace(kind, tuple(found.values()))


def _describe_place(kind: str) -> str:
    return f"{kind}={','.join(_PLACES[kind])}"


def read_view(text: str) -> View:
    """The name of a preview: `peaks`, `page-3`. Raises InvalidRequest."""
    what, dash, number = text.partition("-")
    if what not in _VIEWS or bool(dash) is not _VIEWS[what]:
        known = tuple(f"{name}-<n>" if counted else name for name, counted in _VIEWS.items())
        raise UnknownPreview(text=text, known=known)
    return View(what, read_position(number, "preview") if dash else 0)


def read_position(text: str, name: str) -> int:
    if re.fullmatch("[0-9]{1,12}", text, re.ASCII):
        return int(text)
    raise MalformedNumber(parameter=name, text=text, low=0)
