"""What a part can be: one frozen value for each way to point into a resource, in a closed union.

How it works: the modules beside this one read their syntax into these values, extractors match on
them. A selector is named by what it selects, not by where its text came from: two syntaxes that
mean the same give the same value. Where they differ in what counts as one position, or in what
happens at the end of the resource, they give different values, and `reading` names the rules
(ruling: part-meaning).

What must stay true: positions are not negative and are bounded by the grammars that made them;
`str()` is the canonical text of the part in the syntax of its reading. Times are exact fractions of
seconds, never floats.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import msgspec


class Selected(msgspec.Struct, frozen=True, gc=False):
    """What all selectors have."""

    reading: ClassVar[str]
    """The rules by which the positions were read, as answers name them."""


# what PDIs have: half-open, and nothing beyond the resource  # ruling: part-range
# ----------------------------------------------------------------------------------


class CharRange(Selected, frozen=True):
    """Characters [start, end) of canonical text, a line break being two (section 3.4.1).
    # ruling: text-positions
    """

    reading = "pdi-char"
    start: int
    end: int

    def __str__(self) -> str:
        return f"char={self.start},{self.end}"


class TagRange(Selected, frozen=True):
    """From the start of tag `first` through the end of tag `last`, counted from 0 (section 3.4.2).
    # ruling: elt-range
    """

    reading = "pdi-elt"
    first: int
    last: int

    def __str__(self) -> str:
        return f"elt={self.first},{self.last}"


class NameRange(Selected, frozen=True):
    """From the first element whose `name` is `first` through that whose `name` is `last`.
    # ruling: name-range
    """

    reading = "pdi-name"
    first: str
    last: str

    def __str__(self) -> str:
        return f"name={_escaped(self.first)},{_escaped(self.last)}"


class Rect(Selected, frozen=True):
    """Pixels with left <= x < right and top <= y < bottom of a frame (section 3.4.5).
    # ruling: rect-frame
    """

    reading = "pdi-rect"
    left: int
    top: int
    right: int
    bottom: int
    frame: int = 0

    def __str__(self) -> str:
        frame = f",{self.frame}" if self.frame else ""
        return f"rect=({self.left},{self.top}),({self.right},{self.bottom}){frame}"


class Interval(Selected, frozen=True):
    """What sounds or is shown at times t with start <= t < end, in seconds (section 3.4.4).
    # ruling: time-range
    """

    reading = "pdi-time"
    start: Fraction
    end: Fraction

    def __str__(self) -> str:
        return "{}={},{}".format(*_times(self.start, self.end))


class Crop(Selected, frozen=True):
    """A rectangle of a video, through an interval (section 3.4.5); all of it where there is none.
    # ruling: pdi-crop
    """

    reading = "pdi-crop"
    time: Interval
    rect: Rect | None = None

    def __str__(self) -> str:
        unit, start, end = _times(self.time.start, self.time.end)
        corners = str(self.rect).replace("rect=", ",") if self.rect else ""
        return f"crop={unit},{start},{end}{corners}"


class ByteRange(Selected, frozen=True):
    """Octets [start, end) (section 3.4.6)."""

    reading = "pdi-byte"
    start: int
    end: int

    def __str__(self) -> str:
        return f"byte={self.start},{self.end}"


class Extension(Selected, frozen=True):
    """A fragment scheme that the draft leaves to others (section 3.1), for a plug-in to read."""

    reading = "pdi-extension"
    scheme: str
    positions: tuple[str | tuple[str, ...], ...]

    def __str__(self) -> str:
        shown = (one if isinstance(one, str) else f"({','.join(one)})" for one in self.positions)
        return f"{self.scheme}={','.join(shown)}"


# plain text on other identifiers: RFC 5147
# -----------------------------------------


class Check(msgspec.Struct, frozen=True, gc=False):
    """What must hold of the whole text, or the part is another (RFC 5147 section 2.1.3)."""

    kind: str
    """`length` (octets) or `md5` (32 lower-case hexadecimal digits)."""
    value: str
    charset: str | None = None
    """The encoding in which the octets are counted; None: as the text is stored."""

    def __str__(self) -> str:
        charset = f",{self.charset}" if self.charset else ""
        return f"{self.kind}={self.value}{charset}"


class TextRange(Selected, frozen=True):
    """Characters or lines between two positions, each before the one that it counts (RFC 5147).

    Any line ending counts one character. None is the start or the end of the text; a position
    beyond it is the end. `start == end` is a position, and its part empty.
    """

    unit: str
    """`char` or `line`."""
    start: int | None
    end: int | None
    checks: tuple[Check, ...] = ()

    @property
    def reading(self) -> str:  # type: ignore[override]  # of two units, each with its name
        return f"rfc5147-{self.unit}"

    def __str__(self) -> str:
        start = "" if self.start is None else self.start
        end = "" if self.end is None else self.end
        span = f"{start}" if self.start == self.end else f"{start},{end}"
        return ";".join([f"{self.unit}={span}", *map(str, self.checks)])


# media on other identifiers: Media Fragments URI 1.0, Annodex, ISO/IEC 21000-17
# -------------------------------------------------------------------------------


class Time(msgspec.Struct, frozen=True, gc=False):
    """[start, end) in seconds; None is the beginning or the end of the medium."""

    start: Fraction | None
    end: Fraction | None

    def __str__(self) -> str:
        start = "" if self.start is None else _decimal(self.start)
        return f"t={start}" if self.end is None else f"t={start},{_decimal(self.end)}"


class Area(msgspec.Struct, frozen=True, gc=False):
    """A rectangle by its corner and its size, in pixels or in percent of the picture."""

    unit: str
    """`pixel` or `percent`."""
    x: int
    y: int
    width: int
    height: int

    def __str__(self) -> str:
        unit = "percent:" if self.unit == "percent" else ""
        return f"xywh={unit}{self.x},{self.y},{self.width},{self.height}"


class Media(Selected, frozen=True):
    """Tracks, an interval and an area of a medium, or a named part (Media Fragments URI 1.0).

    What is not given is not narrowed. An interval is cut at the end of the medium, an area at the
    edge of the picture.
    """

    reading = "media-fragment"
    time: Time | None = None
    area: Area | None = None
    tracks: tuple[str, ...] = ()
    id: str | None = None

    def __str__(self) -> str:
        tracks = (f"track={_escaped(one)}" for one in self.tracks)
        named = () if self.id is None else (f"id={_escaped(self.id)}",)
        return "&".join([*map(str, filter(None, (self.time, self.area))), *tracks, *named])


class Instant(Selected, frozen=True):
    """What is shown, or the one sample that sounds, at a moment, in seconds (ISO/IEC 21000-17)."""

    reading = "mpeg21-time"
    at: Fraction

    def __str__(self) -> str:
        return f"mp(/~time('npt','{_decimal(self.at)}'))"


class Track(Selected, frozen=True):
    """A track or item of an ISO base media file (ISO/IEC 21000-17, `ffp`)."""

    reading = "mpeg21-ffp"
    kind: str
    """`track_ID`, `item_ID` or `item_name`."""
    value: str

    def __str__(self) -> str:
        return f"ffp({self.kind}={self.value})"


class Octets(Selected, frozen=True):
    """Octets from `start`, cut at the end of the resource; None: all that follow."""

    reading = "octets"
    start: int
    end: int | None

    def __str__(self) -> str:
        return f"offset({self.start},{'' if self.end is None else self.end})"


# tables and pages: RFC 7111, RFC 8118
# ------------------------------------


class Cells(Selected, frozen=True):
    """Rows, columns or cells of a table, counted from 1, the header being row 1 (RFC 7111).

    Ranges are closed at both ends. None is the last one there is.
    """

    axis: str
    """`row`, `col` or `cell`."""
    ranges: tuple[tuple[tuple[int | None, ...], tuple[int | None, ...]], ...]
    """Pairs of first and last: (row,), (column,) or (row, column)."""

    @property
    def reading(self) -> str:  # type: ignore[override]  # of three kinds, each with its name
        return f"rfc7111-{self.axis}"

    def __str__(self) -> str:
        return f"{self.axis}=" + ";".join(_range(first, last) for first, last in self.ranges)


class Page(Selected, frozen=True):
    """A page of a PDF, counted from 1 (RFC 8118), or a rectangle of it in its own units."""

    reading = "rfc8118-page"
    number: int
    view: tuple[Fraction, Fraction, Fraction, Fraction] | None = None
    """Left, top, width and height from the top left of the crop box."""

    def __str__(self) -> str:
        if self.view is None:
            return f"page={self.number}"
        return f"page={self.number}&viewrect={','.join(map(_decimal, self.view))}"


class Destination(Selected, frozen=True):
    """The page to which a named destination of a PDF leads (RFC 8118)."""

    reading = "rfc8118-nameddest"
    name: str

    def __str__(self) -> str:
        return f"nameddest={_escaped(self.name)}"


class Embedded(Selected, frozen=True):
    """A file embedded in a PDF (RFC 8118)."""

    reading = "rfc8118-ef"
    name: str

    def __str__(self) -> str:
        return f"ef={_escaped(self.name)}"


# elements: XPointer, CSS
# -----------------------


class ElementById(Selected, frozen=True):
    """The element with this ID: an XPointer shorthand, a fragment of HTML."""

    reading = "xpointer-shorthand"
    id: str

    def __str__(self) -> str:
        return self.id


class ChildSequence(Selected, frozen=True):
    """The element reached by counting child elements from 1 (XPointer `element()`)."""

    reading = "xpointer-element"
    id: str | None
    """Where the counting begins; None: at the document."""
    steps: tuple[int, ...]

    def __str__(self) -> str:
        return f"element({self.id or ''}{''.join(f'/{step}' for step in self.steps)})"


class XPath(Selected, frozen=True):
    """The nodes of an XPath 1.0 expression, or a range between two (XPointer `xpointer()`)."""

    reading = "xpath"
    expression: str
    namespaces: tuple[tuple[str, str], ...] = ()
    """Prefixes with what they stand for."""

    def __str__(self) -> str:
        bound = "".join(f"xmlns({prefix}={uri})" for prefix, uri in self.namespaces)
        return f"{bound}xpointer({_balanced(self.expression)})"


class Css(Selected, frozen=True):
    """The element of a CSS selector (Web Annotation)."""

    reading = "css"
    selector: str

    def __str__(self) -> str:
        return f"css({_balanced(self.selector)})"


# text as people read it, markup removed: Web Annotation, URL text fragments
# ---------------------------------------------------------------------------


class TextPosition(Selected, frozen=True):
    """Code points [start, end) of the text content (Web Annotation)."""

    reading = "oa-textposition"
    start: int
    end: int

    def __str__(self) -> str:
        return f"textposition({self.start},{self.end})"


class TextQuote(Selected, frozen=True):
    """The text content `exact` between `prefix` and `suffix` (Web Annotation)."""

    reading = "oa-textquote"
    exact: str
    prefix: str = ""
    suffix: str = ""

    def __str__(self) -> str:
        return f"textquote({','.join(map(_escaped, (self.exact, self.prefix, self.suffix)))})"


class TextDirective(Selected, frozen=True):
    """`:~:text=[prefix-,]start[,end][,-suffix]` (URL text fragments)."""

    reading = "text-fragment"
    start: str
    end: str | None = None
    prefix: str | None = None
    suffix: str | None = None

    def __str__(self) -> str:
        terms = (
            f"{_term(self.prefix)}-" if self.prefix else None,
            _term(self.start),
            _term(self.end) if self.end else None,
            f"-{_term(self.suffix)}" if self.suffix else None,
        )
        return f":~:text={','.join(filter(None, terms))}"


# put together
# ------------


class Between(Selected, frozen=True):
    """From the start of one part to the start of another (Web Annotation RangeSelector)."""

    reading = "oa-range"
    start: Selector
    end: Selector

    def __str__(self) -> str:
        return f"range({self.start},{self.end})"


class Within(Selected, frozen=True):
    """A part of a part: `*` of ISO/IEC 21000-17, `refinedBy` of Web Annotation."""

    outer: Selector
    inner: Selector

    @property
    def reading(self) -> str:  # type: ignore[override]  # of what it is made of
        return f"{self.outer.reading}*{self.inner.reading}"

    def __str__(self) -> str:
        return f"{self.outer}*{self.inner}"


class First(Selected, frozen=True):
    """The first of several that selects anything (XPointer Framework section 3.3)."""

    reading = "xpointer"
    choices: tuple[Selector, ...]

    def __str__(self) -> str:
        return "".join(map(str, self.choices))


Selector = (
    CharRange
    | TagRange
    | NameRange
    | Rect
    | Interval
    | Crop
    | ByteRange
    | Extension
    | TextRange
    | Media
    | Instant
    | Track
    | Octets
    | Cells
    | Page
    | Destination
    | Embedded
    | ElementById
    | ChildSequence
    | XPath
    | Css
    | TextPosition
    | TextQuote
    | TextDirective
    | Between
    | Within
    | First
)


# writing
# -------

_KEPT = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:;$!'")


def _escaped(text: str) -> str:
    """Text as it may stand between commas, parentheses and ampersands; hex digits in lower case."""
    if _KEPT.issuperset(text):
        return text
    return "".join(
        one if one in _KEPT else "".join(f"%{byte:02x}" for byte in one.encode()) for one in text
    )


def _term(text: str) -> str:
    return _escaped(text).replace("-", "%2d")


def _balanced(text: str) -> str:
    """Data of an XPointer part: circumflexes escaped, and parentheses too (Framework, 3.1)."""
    return text.replace("^", "^^").replace("(", "^(").replace(")", "^)")


def _times(start: Fraction, end: Fraction) -> tuple[str, int, int]:
    """Two times in whole units: seconds where they are, else milliseconds."""
    if start.denominator == end.denominator == 1:
        return "sec", start.numerator, end.numerator
    return "msec", round(start * 1000), round(end * 1000)


def _decimal(value: Fraction) -> str:
    """A number as a decimal fraction, exact: those that are read have finitely many digits."""
    whole, rest = divmod(value.numerator, value.denominator)
    digits = ""
    while rest and len(digits) < 18:
        digit, rest = divmod(rest * 10, value.denominator)
        digits += str(digit)
    return f"{whole}.{digits}" if digits else str(whole)


def _range(first: tuple[int | None, ...], last: tuple[int | None, ...]) -> str:
    shown = [",".join("*" if one is None else str(one) for one in end) for end in (first, last)]
    return shown[0] if first == last else "-".join(shown)
