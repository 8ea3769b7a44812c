"""Selectors: a frozen value for each way to point into a resource, all in one union.

How it works: the other modules of this package read their syntaxes into these values, and
extractors match on them. A selector is named after the part that it selects, not after its syntax:
two syntaxes with the same meaning yield the same value. If they count positions differently, or
treat the end of the resource differently, they yield different values, and `reading` names the
rules (ruling: part-meaning). The union is closed except for `PluginSelector`, which plug-ins
subclass.

What must stay true: positions are not negative and are bounded by their grammars; `str()` is the
canonical text of the part in the syntax that `conforms_to` names, and contains only characters that
a URI fragment allows; reading it returns the same selector. Times are exact fractions of seconds,
never floats.
"""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

import msgspec

from perdure.parts.spelling import (
    KEPT_IN_PDI,
    escape_data,
    escape_term,
    escape_text,
    write_decimal,
    write_range,
    write_times,
)

PDI = "https://datatracker.ietf.org/doc/html/draft-mallery-urn-pdi-00"
PLAIN_TEXT = "http://tools.ietf.org/rfc/rfc5147"
CSV = "http://tools.ietf.org/rfc/rfc7111"
PDF = "http://tools.ietf.org/rfc/rfc8118"
HTML = "http://tools.ietf.org/rfc/rfc3236"
MEDIA = "http://www.w3.org/TR/media-frags/"
XPOINTER = "http://www.w3.org/TR/xptr-framework/"
MPEG_21 = "urn:iso:std:iso-iec:21000:-17"
TEXT_DIRECTIVE = "https://wicg.github.io/scroll-to-text-fragment/"
SELECTORS = "https://www.w3.org/TR/selectors-states/"
IMAGE_API = "http://iiif.io/api/image"
MEMBER = "https://www.iso.org/standard/37333.html"


class PartSelector(msgspec.Struct, frozen=True, gc=False, tag=True):
    """The attributes of all selectors."""

    reading: ClassVar[str]
    """The rules for its positions, by the name that answers use."""
    conforms_to: ClassVar[str]
    """The specification of its `str()`, by the name in Web Annotation (section 4.2.1)."""


# selectors of PDIs: half-open and entirely inside the resource  # ruling: part-range
# ------------------------------------------------------------------------------------


class CharRange(PartSelector, frozen=True):
    """Characters [start, end) of canonical text; a line break counts as two (section 3.4.1).
    # ruling: text-positions
    """

    reading = "pdi-char"
    conforms_to = PDI
    start: int
    end: int

    def __str__(self) -> str:
        return f"char={self.start},{self.end}"


class TagRange(PartSelector, frozen=True):
    """From the start of tag `first` through the end of tag `last`, counted from 0 (section 3.4.2).
    # ruling: elt-range
    """

    reading = "pdi-elt"
    conforms_to = PDI
    first: int
    last: int

    def __str__(self) -> str:
        return f"elt={self.first},{self.last}"


class NameRange(PartSelector, frozen=True):
    """From the first element whose `name` is `first` through the one whose `name` is `last`.
    # ruling: name-range
    """

    reading = "pdi-name"
    conforms_to = PDI
    first: str
    last: str

    def __str__(self) -> str:
        first, last = (escape_text(name, KEPT_IN_PDI) for name in (self.first, self.last))
        return f"name={first},{last}"


class Rect(PartSelector, frozen=True):
    """Pixels with left <= x < right and top <= y < bottom of a frame (section 3.4.5).
    # ruling: rect-frame
    """

    reading = "pdi-rect"
    conforms_to = PDI
    left: int
    top: int
    right: int
    bottom: int
    frame: int = 0

    def __str__(self) -> str:
        frame = f",{self.frame}" if self.frame else ""
        return f"rect=({self.left},{self.top}),({self.right},{self.bottom}){frame}"


class Interval(PartSelector, frozen=True):
    """Sound and images at times t with start <= t < end, in seconds (section 3.4.4).
    # ruling: time-range
    """

    reading = "pdi-time"
    conforms_to = PDI
    start: Fraction
    end: Fraction

    def __str__(self) -> str:
        return "{}={},{}".format(*write_times(self.start, self.end))


class Crop(PartSelector, frozen=True):
    """A rectangle of a video during an interval (section 3.4.5), or complete frames without `rect`.
    # ruling: pdi-crop
    """

    reading = "pdi-crop"
    conforms_to = PDI
    time: Interval
    rect: Rect | None = None

    def __str__(self) -> str:
        unit, start, end = write_times(self.time.start, self.time.end)
        corners = str(self.rect).replace("rect=", ",") if self.rect else ""
        return f"crop={unit},{start},{end}{corners}"


class ByteRange(PartSelector, frozen=True):
    """Octets [start, end) (section 3.4.6)."""

    reading = "pdi-byte"
    conforms_to = PDI
    start: int
    end: int

    def __str__(self) -> str:
        return f"byte={self.start},{self.end}"


class Extension(PartSelector, frozen=True):
    """A fragment scheme that the draft does not define (section 3.1), for a plug-in to read."""

    reading = "pdi-extension"
    conforms_to = PDI
    scheme: str
    positions: tuple[str | tuple[str, ...], ...]

    def __str__(self) -> str:
        shown = (one if isinstance(one, str) else f"({','.join(one)})" for one in self.positions)
        return f"{self.scheme}={','.join(shown)}"


# plain text on other identifiers: RFC 5147
# -----------------------------------------


class Check(msgspec.Struct, frozen=True, gc=False):
    """A condition that shows that the complete text is unchanged (RFC 5147 section 2.1.3)."""

    kind: str
    """`length` (octets) or `md5` (32 lower-case hexadecimal digits)."""
    value: str
    charset: str | None = None
    """The encoding whose octets are counted; None for that of the stored text."""

    def __str__(self) -> str:
        charset = f",{self.charset}" if self.charset else ""
        return f"{self.kind}={self.value}{charset}"


class TextRange(PartSelector, frozen=True):
    """Characters or lines between two positions (RFC 5147). Position 0 precedes the first one.

    Any line ending counts as one character. None is the start or the end of the text; a position
    beyond the text means its end. If `start == end`, the part is empty.
    """

    conforms_to = PLAIN_TEXT
    unit: str
    """`char` or `line`."""
    start: int | None
    end: int | None
    checks: tuple[Check, ...] = ()

    @property
    def reading(self) -> str:  # type: ignore[override]  # it depends on the unit
        return f"rfc5147-{self.unit}"

    def __str__(self) -> str:
        start = "" if self.start is None else self.start
        end = "" if self.end is None else self.end
        span = f"{start}" if self.start == self.end else f"{start},{end}"
        return ";".join([f"{self.unit}={span}", *map(str, self.checks)])


# media on other identifiers: Media Fragments URI 1.0, Annodex, ISO/IEC 21000-17
# -------------------------------------------------------------------------------


class Time(msgspec.Struct, frozen=True, gc=False):
    """The interval [start, end) in seconds; None is the start or the end of the medium."""

    start: Fraction | None
    end: Fraction | None

    def __str__(self) -> str:
        start = "" if self.start is None else write_decimal(self.start)
        return f"t={start}" if self.end is None else f"t={start},{write_decimal(self.end)}"


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


class Media(PartSelector, frozen=True):
    """Tracks, an interval and an area of a medium, or a named part (Media Fragments URI 1.0).

    A missing dimension selects everything. An interval is cut at the end of the medium, an area at
    the edge of the picture.
    """

    reading = "media-fragment"
    conforms_to = MEDIA
    time: Time | None = None
    area: Area | None = None
    tracks: tuple[str, ...] = ()
    id: str | None = None

    def __str__(self) -> str:
        tracks = (f"track={escape_text(one)}" for one in self.tracks)
        named = () if self.id is None else (f"id={escape_text(self.id)}",)
        return "&".join([*map(str, filter(None, (self.time, self.area))), *tracks, *named])


class Instant(PartSelector, frozen=True):
    """The frame or the single sample at a moment, in seconds (ISO/IEC 21000-17)."""

    reading = "mpeg21-time"
    conforms_to = MPEG_21
    at: Fraction

    def __str__(self) -> str:
        return f"mp(/~time('npt','{write_decimal(self.at)}'))"


class Track(PartSelector, frozen=True):
    """A track or item of an ISO base media file (ISO/IEC 21000-17, `ffp`)."""

    reading = "mpeg21-ffp"
    conforms_to = MPEG_21
    kind: str
    """`track_ID`, `item_ID` or `item_name`."""
    value: str

    def __str__(self) -> str:
        return f"ffp({self.kind}={escape_data(self.value)})"


class Octets(PartSelector, frozen=True):
    """Octets [start, end), or to the end if `end` is None. Octets beyond it are an error."""

    reading = "octets"
    conforms_to = MPEG_21
    start: int
    end: int | None

    def __str__(self) -> str:
        return f"offset({self.start},{'' if self.end is None else self.end})"


# tables and pages: RFC 7111, RFC 8118
# ------------------------------------


class Cells(PartSelector, frozen=True):
    """Rows, columns or cells of a table, counted from 1; the header is row 1 (RFC 7111).

    Ranges are closed at both ends. None is the last row or column.
    """

    conforms_to = CSV
    axis: str
    """`row`, `col` or `cell`."""
    ranges: tuple[tuple[tuple[int | None, ...], tuple[int | None, ...]], ...]
    """Pairs of first and last: (row,), (column,) or (row, column)."""

    @property
    def reading(self) -> str:  # type: ignore[override]  # it depends on the axis
        return f"rfc7111-{self.axis}"

    def __str__(self) -> str:
        return f"{self.axis}=" + ";".join(write_range(first, last) for first, last in self.ranges)


class Page(PartSelector, frozen=True):
    """A page of a PDF, counted from 1 (RFC 8118), or a rectangle of it in its own units."""

    reading = "rfc8118-page"
    conforms_to = PDF
    number: int
    view: tuple[Fraction, Fraction, Fraction, Fraction] | None = None
    """Left, top, width and height from the top left of the crop box."""

    def __str__(self) -> str:
        if self.view is None:
            return f"page={self.number}"
        return f"page={self.number}&viewrect={','.join(map(write_decimal, self.view))}"


class Destination(PartSelector, frozen=True):
    """The page to which a named destination of a PDF leads (RFC 8118)."""

    reading = "rfc8118-nameddest"
    conforms_to = PDF
    name: str

    def __str__(self) -> str:
        return f"nameddest={escape_text(self.name)}"


class Embedded(PartSelector, frozen=True):
    """A file embedded in a PDF (RFC 8118)."""

    reading = "rfc8118-ef"
    conforms_to = PDF
    name: str

    def __str__(self) -> str:
        return f"ef={escape_text(self.name)}"


# collections
# -----------


class Member(PartSelector, frozen=True):
    """A member of a collection (ISO 24619 section 3.1.8), by its number from 1 or by its name."""

    reading = "member"
    conforms_to = MEMBER
    number: int
    """0 if `name` identifies the member."""
    name: str = ""

    def __str__(self) -> str:
        return f"member={escape_text(self.name, KEPT_IN_PDI) if self.name else self.number}"


# elements: XPointer, CSS
# -----------------------


class ElementById(PartSelector, frozen=True):
    """The element with this ID: an XPointer shorthand, a fragment of HTML."""

    reading = "xpointer-shorthand"
    conforms_to = HTML
    id: str

    def __str__(self) -> str:
        return escape_text(self.id)


class ChildSequence(PartSelector, frozen=True):
    """The element reached by counting child elements from 1 (XPointer `element()`)."""

    reading = "xpointer-element"
    conforms_to = XPOINTER
    id: str | None
    """The element at which counting begins; None for the document."""
    steps: tuple[int, ...]

    def __str__(self) -> str:
        return f"element({escape_data(self.id or '')}{''.join(f'/{step}' for step in self.steps)})"


class XPath(PartSelector, frozen=True):
    """The nodes of an XPath 1.0 expression, or a range between two (XPointer `xpointer()`)."""

    reading = "xpath"
    conforms_to = XPOINTER
    expression: str
    namespaces: tuple[tuple[str, str], ...] = ()
    """Pairs of prefix and namespace URI."""

    def __str__(self) -> str:
        bound = "".join(f"xmlns({escape_data(f'{name}={uri}')})" for name, uri in self.namespaces)
        return f"{bound}xpointer({escape_data(self.expression)})"


class Css(PartSelector, frozen=True):
    """The element of a CSS selector (Web Annotation)."""

    reading = "css"
    conforms_to = SELECTORS
    selector: str

    def __str__(self) -> str:
        return f"selector(type=CssSelector,value={escape_text(self.selector)})"


# text without markup, as people read it: Web Annotation, URL text fragments
# ---------------------------------------------------------------------------


class TextPosition(PartSelector, frozen=True):
    """Code points [start, end) of the text content (Web Annotation)."""

    reading = "oa-textposition"
    conforms_to = SELECTORS
    start: int
    end: int

    def __str__(self) -> str:
        return f"selector(type=TextPositionSelector,start={self.start},end={self.end})"


class TextQuote(PartSelector, frozen=True):
    """The text content `exact` between `prefix` and `suffix` (Web Annotation)."""

    reading = "oa-textquote"
    conforms_to = SELECTORS
    exact: str
    prefix: str = ""
    suffix: str = ""

    def __str__(self) -> str:
        around = (("exact", self.exact), ("prefix", self.prefix), ("suffix", self.suffix))
        fields = (f",{name}={escape_text(text)}" for name, text in around if text)
        return f"selector(type=TextQuoteSelector{''.join(fields)})"


class TextDirective(PartSelector, frozen=True):
    """`:~:text=[prefix-,]start[,end][,-suffix]` (URL text fragments)."""

    reading = "text-fragment"
    conforms_to = TEXT_DIRECTIVE
    start: str
    end: str | None = None
    prefix: str | None = None
    suffix: str | None = None

    def __str__(self) -> str:
        terms = (
            f"{escape_term(self.prefix)}-" if self.prefix else None,
            escape_term(self.start),
            escape_term(self.end) if self.end else None,
            f"-{escape_term(self.suffix)}" if self.suffix else None,
        )
        return f":~:text={','.join(filter(None, terms))}"


# pictures made from images: IIIF Image API 2.1 and 3.0
# ------------------------------------------------------


class Region(msgspec.Struct, frozen=True, gc=False):
    """The region of an image that a picture shows (IIIF Image API, section 4.1)."""

    unit: str
    """`full`, `square`, `pixel` or `percent`."""
    box: tuple[Fraction, ...] = ()
    """Left, top, width and height, for `pixel` and `percent`."""

    def __str__(self) -> str:
        if not self.box:
            return self.unit
        return ("pct:" if self.unit == "percent" else "") + ",".join(map(write_decimal, self.box))


class Size(msgspec.Struct, frozen=True, gc=False):
    """The size of a picture (IIIF Image API, section 4.2)."""

    form: str
    """`full` (version 2 only), `max`, `percent`, `exact`, or `confined` (best fit in a box)."""
    width: int | None = None
    height: int | None = None
    """One of them may be None for `exact`: it then follows from the other."""
    percent: Fraction | None = None
    upscaled: bool = False
    """True if the region may be enlarged: with `^` in version 3, always in version 2."""


class Rendering(PartSelector, frozen=True):
    """A picture of a region, scaled, rotated and encoded for viewing (IIIF Image API)."""

    version: int
    """Version of the API, 2 or 3; their rules for sizes differ."""
    region: Region
    size: Size
    mirrored: bool
    degrees: Fraction
    """Clockwise, after mirroring."""
    quality: str
    format: str

    @property
    def reading(self) -> str:  # type: ignore[override]  # it depends on the version
        return f"iiif-image-{self.version}"

    @property
    def conforms_to(self) -> str:  # type: ignore[override]  # it depends on the version
        return f"{IMAGE_API}/{self.version}"

    def __str__(self) -> str:
        turn = f"{'!' if self.mirrored else ''}{write_decimal(self.degrees)}"
        return f"{self.region}/{self._size_text}/{turn}/{self.quality}.{self.format}"

    @property
    def _size_text(self) -> str:
        size = self.size
        mark = "%5e" if size.upscaled and self.version > 2 else ""
        if size.percent is not None:
            return f"{mark}pct:{write_decimal(size.percent)}"
        if size.form in ("full", "max"):
            return mark + size.form
        sides = ",".join("" if side is None else str(side) for side in (size.width, size.height))
        return f"{mark}{'!' if size.form == 'confined' else ''}{sides}"


class Information(PartSelector, frozen=True):
    """Facts about an image: its size, and whether it has colours (IIIF Image API)."""

    reading = "iiif-information"
    conforms_to = IMAGE_API

    def __str__(self) -> str:
        return "info.json"


class Playback(PartSelector, frozen=True):
    """All of a sound or film, in a form that browsers play: a rendition, which nothing cites."""

    reading = "playback"
    conforms_to = "https://www.w3.org/TR/media-frags/"  # which selects all without a dimension

    def __str__(self) -> str:
        return "play"


class View(PartSelector, frozen=True):
    """A picture of a document for its page, such as the waveform of a sound: a rendition, which
    nothing cites.

    >>> str(View("peaks")), str(View("page", 3))
    ('peaks', 'page-3')
    """

    reading = "view"
    conforms_to = "https://www.w3.org/TR/media-frags/"  # which selects all without a dimension
    what: str
    number: int = 0
    """The frame, counted from 0, or the page, counted from 1."""

    def __str__(self) -> str:
        return f"{self.what}-{self.number}" if self.number else self.what


class Units(PartSelector, frozen=True):
    """The decoded units of a part, to compare them with others: the pixels of a rectangle, or the
    digests of the frames of a scene. A media fragment means a scene. No fragment names them.
    """

    reading = "units"
    conforms_to = PDI
    part: Rect | Crop | Media

    def __str__(self) -> str:
        return f"units of {self.part}"


# selectors of plug-ins
# ---------------------


class PluginSelector(PartSelector, frozen=True):
    """A selector from a plug-in. Each plug-in defines subclasses with fields of its own.

    A subclass sets `reading` and `conforms_to`, and its `str()` is a text that the syntax reads.
    `conforms_to` is the first of the syntax's `specifications`. These two represent the selector in
    Web Annotations and in messages to the processes that run decoders.
    """


# combinations
# ------------


class Between(PartSelector, frozen=True):
    """From the start of one part to the start of another (Web Annotation RangeSelector)."""

    reading = "oa-range"
    conforms_to = SELECTORS
    start: Selector
    end: Selector

    def __str__(self) -> str:
        start, end = _write_nested(self.start), _write_nested(self.end)
        return f"selector(type=RangeSelector,startSelector={start},endSelector={end})"


class Within(PartSelector, frozen=True):
    """A part of a part: `*` of ISO/IEC 21000-17, `refinedBy` of Web Annotation.

    In a chain of three, the second and third together are the inner one.
    """

    outer: Selector
    inner: Selector

    @property
    def reading(self) -> str:  # type: ignore[override]  # it depends on both selectors
        return f"{self.outer.reading}*{self.inner.reading}"

    @property
    def conforms_to(self) -> str:  # type: ignore[override]  # it depends on both selectors
        return SELECTORS if self._pointer_text is None else MPEG_21

    @property
    def _pointer_text(self) -> str | None:
        if isinstance(self.outer, _Elements | First) or isinstance(self.inner, _Elements | First):
            return None  # only parts of media can be joined by `*`
        outer, inner = _write_pointer(self.outer), _write_pointer(self.inner)
        return f"{outer}*{inner}" if outer and inner else None

    def __str__(self) -> str:
        if isinstance(self.outer, Within):
            return str(Within(self.outer.outer, Within(self.outer.inner, self.inner)))
        return (
            self._pointer_text
            or f"{_write_nested(self.outer)[:-1]},refinedBy={_write_nested(self.inner)})"
        )


class First(PartSelector, frozen=True):
    """The first of several selectors that selects anything (XPointer Framework section 3.3)."""

    reading = "xpointer"
    choices: tuple[Selector, ...]

    @property
    def conforms_to(self) -> str:  # type: ignore[override]  # it depends on the choices
        elements = all(isinstance(one, _Elements) for one in self.choices)
        return XPOINTER if elements else MPEG_21

    def __str__(self) -> str:
        return "".join(_write_pointer(one) or str(one) for one in self.choices)


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
    | Member
    | ElementById
    | ChildSequence
    | XPath
    | Css
    | TextPosition
    | TextQuote
    | TextDirective
    | Rendering
    | Information
    | Playback
    | View
    | Units
    | PluginSelector
    | Between
    | Within
    | First
)


# writing
# -------

_Elements = ElementById | ChildSequence | XPath

_GREATEST = 10**19 - 1  # the greatest number that a reader accepts


def _write_pointer(selector: Selector) -> str | None:
    """Write a selector for use in an XPointer with others; None if it cannot be written so."""
    match selector:
        case ElementById(id):
            return f"element({escape_data(id)})"
        case ChildSequence() | XPath() | Instant() | Track() | Octets() | First():
            return str(selector)
        case Within():
            return selector._pointer_text
        case Media(time, area, (), None):
            steps = (
                _write_time_step(time) if time else "",
                _write_region_step(area) if area else "",
            )
            known = [step for step in steps if step is not None]
            return f"mp({''.join(known)})" if len(known) == len(steps) else None
    return None


def _write_time_step(time: Time) -> str | None:
    if time.end is None:  # a single time would be a moment
        return None
    return f"/~time('npt','{write_decimal(time.start or Fraction(0))}','{write_decimal(time.end)}')"


def _write_region_step(area: Area) -> str | None:
    right, bottom = area.x + area.width, area.y + area.height
    if area.unit != "pixel" or max(right, bottom) > _GREATEST:
        return None
    return f"/~region(rect({area.x},{area.y},{right},{bottom}))"


def _write_nested(selector: Selector) -> str:
    """Write a selector inside another one (Selectors and States section 5)."""
    text = str(selector)
    if selector.conforms_to == SELECTORS:
        return text
    conforms = escape_text(selector.conforms_to)
    return f"selector(type=FragmentSelector,value={escape_text(text)},conformsTo={conforms})"
