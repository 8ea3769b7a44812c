"""Pages, destinations and embedded files of a PDF: `page=3`, `nameddest=chapter.2`, `ef=data.csv`.

Specification: RFC 8118 section 3. Parameters are processed from left to right, so the last one
counts. Those that only set up a viewer (`zoom`, `view`, `search` …) are ignored if another one
selects a part; alone they are not a part that perdure can cut.

>>> str(read_pdf_part("zoom=200&page=3&viewrect=0,0,100,50.5"))
'page=3&viewrect=0,0,100,50.5'
>>> read_pdf_part("zoom=200")  # doctest: +ELLIPSIS
Traceback (most recent call last):
perdure.errors.parts.PartNotSupported: ... the available kinds of part: page=, nameddest=, ef=, ...
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from perdure.errors import MalformedPart, PartNotSupported
from perdure.parts.grammar import DIGITS, check_text, decode_piece, decode_text
from perdure.parts.port import Syntax
from perdure.parts.selectors import PDF, Destination, Embedded, Page

_RULE = "RFC 8118 section 3"
_PAIR = re.compile("[^&#]++")
_PAGE = re.compile(f"0*+([1-9][0-9]{{0,{DIGITS - 1}}})", re.ASCII)
_NUMBER = r"([0-9]{1,19}+(?:\.[0-9]{1,18}+)?)"
_VIEW = re.compile(",".join([_NUMBER] * 4), re.ASCII)
_TEXT = re.compile(".++", re.DOTALL)
_SIGNED = r"-?[0-9]{1,19}+(?:\.[0-9]{1,18}+)?"
_VIEWER = {
    "comment": _TEXT,
    "fdf": _TEXT,
    "highlight": re.compile(",".join([_SIGNED] * 4), re.ASCII),
    "search": _TEXT,
    "structelem": _TEXT,
    "view": re.compile(f"[A-Za-z]++(?:,{_SIGNED}){{0,4}}", re.ASCII),
    "viewrect": _VIEW,
    "zoom": re.compile(f"{_SIGNED}(?:,{_SIGNED}){{0,2}}", re.ASCII),
}
"""Parameters that set up a viewer, with their possible values. `viewrect` is one of them unless a
page comes before it."""
_SERVED = ("page=", "nameddest=", "ef=", "viewrect= after page=")
PARAMETERS = ("page", "nameddest", "ef", *_VIEWER)
"""The names of all parameters, served or not."""


def read_pdf_part(text: str) -> Page | Destination | Embedded:
    """Read the page, destination or file that a text names.

    Raises MalformedPart, and PartNotSupported if all its parameters are for a viewer.
    """
    check_text(text, _RULE)
    selected: Page | Destination | Embedded | None = None
    for at, name, value in _split_pairs(text):
        match name:
            case "page":
                selected = Page(_read_page(text, at, value))
            case "viewrect" if isinstance(selected, Page):
                selected = Page(selected.number, _read_view(text, at, value))
            case "nameddest":
                selected = Destination(_read_name(text, at, value))
            case "ef":
                selected = Embedded(_read_name(text, at, value))
    if selected is None:
        raise _explain_refusal(text)
    return selected


def read_pdf_scheme(text: str) -> Page | Destination | Embedded:
    """Read a PDI's `page=3`, `nameddest=intro` or `ef=data.csv`. Raises MalformedPart.

    The rectangle of a page follows it, escaped.  # ruling: pdi-other-schemes

    >>> str(read_pdf_scheme("page=3%26viewrect%3d0,0,100,50"))
    'page=3&viewrect=0,0,100,50'
    >>> read_pdf_scheme("nameddest=a%26b")
    Destination(name='a&b')
    """
    scheme, _, positions = text.partition("=")
    if scheme == "page":
        return read_pdf_part(f"page={decode_text(positions, _RULE).plain}")
    return read_pdf_part(text)


def _explain_refusal(text: str) -> MalformedPart | PartNotSupported:
    """Make the error for a text that names no page, destination or file."""
    known = False
    for at, name, value in _split_pairs(text):
        if name in _VIEWER and not _VIEWER[name].fullmatch(value):
            return MalformedPart(text=text, at=at, expected=f"a value of {name}=", rule=_RULE)
        known = known or name in _VIEWER
    if known:
        return PartNotSupported(selector=text, offered=_SERVED)
    return MalformedPart(text=text, at=0, expected=", ".join(_SERVED), rule=_RULE)


def _split_pairs(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the start of each value, its name, and the value."""
    for pair in _PAIR.finditer(text):
        name, _, value = (decode_piece(piece) or "" for piece in pair[0].partition("="))
        yield min(pair.start() + len(name) + 1, len(text)), name, value


def _read_page(text: str, at: int, value: str) -> int:
    found = _PAGE.fullmatch(value)
    if found is None:
        raise MalformedPart(text=text, at=at, expected="a page number from 1", rule=_RULE)
    return int(found[1])


def _read_view(text: str, at: int, value: str) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    found = _VIEW.fullmatch(value)
    if found is not None:
        left, top, width, height = map(Fraction, found.groups())
        if width and height:
            return left, top, width, height
    expected = "left, top, width and height in page units, sides above 0"
    raise MalformedPart(text=text, at=at, expected=expected, rule=_RULE)


def _read_name(text: str, at: int, value: str) -> str:
    if not value:
        raise MalformedPart(text=text, at=at, expected="a name, its escapes in UTF-8", rule=_RULE)
    return value


SYNTAX = Syntax(
    name="page=, nameddest= and ef= (RFC 8118)",
    media_types=("application/pdf",),
    mark=re.compile(f"(?:^|[&#])(?:{'|'.join(PARAMETERS)})="),
    read=read_pdf_part,
    forms={Destination: ("nameddest=",), Embedded: ("ef=",), Page: ("page=",)},
    specifications=(PDF, "http://tools.ietf.org/rfc/rfc3778"),  # obsoleted by RFC 8118
    schemes=("page", "nameddest", "ef"),
    read_scheme=read_pdf_scheme,
    turn=30,
)
