"""Origin positions: what the position in a citation counts, by the media type of the document.

"When each content type token is made available for fragment citation, the origin position MUST be
defined" (draft-mallery-urn-pdi-00 section 3.5.2):

| media type | position | origin |
| --- | --- | --- |
| text, markup and everything else with `char=` | a character of the canonical source | 0 |
| image | the upper left corner `(x,y)`, or `(x,y,frame)` | (0,0) |
| audio, video | a second | 0 |
| PDF | the page on which the passage begins | 1 |
| anything else | a byte | 0 |

# ruling: citation-origin

How it works: `read_origin` reads the position of a citation into a value. `require_place` decides
whether a document has such a place, or the comparison does. In the other direction, `locate_origin`
returns the position of a passage of a text: in a page, a record of an archive or a cue of a film,
it is where that begins. The text of an office document or a book is in all of its bytes, which
begin at 0.
"""

from __future__ import annotations

import re
from enum import Enum
from fractions import Fraction
from math import floor
from typing import NamedTuple

from perdure.errors import PartOutOfRange
from perdure.errors.citing import PositionMalformed
from perdure.extractors.plain_text import PlainText, SlicedText, UnitText
from perdure.extractors.port import Indexes, Part, Source, Span
from perdure.extractors.text.characters import EXTRACTOR, find_characters
from perdure.extractors.text.decoded import DecodedText
from perdure.parts import CharRange, Media, Octets, Page, Selector
from perdure.parts.port import covers_type
from perdure.parts.selectors import Time
from perdure.reading.extraction import PartExtraction
from perdure.reading.text_places import count_canonical

_NUMBER = re.compile("[0-9]{1,18}", re.ASCII)
_POINT = re.compile(r"\(([0-9]{1,18}),([0-9]{1,18})(?:,([0-9]{1,18}))?\)", re.ASCII)
_PDF = "application/pdf"
TABLES = ("text/csv", "text/tab-separated-values")
CELLS = frozenset(("text/csv",))
"""Tables whose fields are divided by something that is not white space."""


class Medium(Enum):
    """A kind of content, with its positions in words."""

    TEXT = "the number of characters before it"
    IMAGE = "the upper left corner, such as (5,10)"
    SOUND = "the number of seconds before it"
    FILM = "the number of seconds before it "
    PAGES = "the number of a page, from 1"
    BYTES = "the number of bytes before it"


class Origin(NamedTuple):
    """A position: characters, seconds, a page or bytes, or the corner of a rectangle."""

    medium: Medium
    number: int
    top: int = 0
    frame: int = 0

    def __str__(self) -> str:
        return self.spell_moved(self.number, self.top)

    def spell_moved(self, number: int, top: int = 0) -> str:
        """Return the text of another position in the same medium and frame."""
        if self.medium is not Medium.IMAGE:
            return str(number)
        return f"({number},{top},{self.frame})" if self.frame else f"({number},{top})"


def find_medium(essence: str) -> Medium:
    """Return the medium of a media type."""
    top = essence.partition("/")[0]
    if essence == _PDF:
        return Medium.PAGES
    if any(covers_type(kind, essence) for kind in EXTRACTOR.media_types):
        return Medium.TEXT
    return {"image": Medium.IMAGE, "audio": Medium.SOUND, "video": Medium.FILM}.get(
        top, Medium.BYTES
    )


def read_origin(text: str, medium: Medium, media_type: str) -> Origin:
    """Read the origin position of a citation. Raises PositionMalformed.

    >>> read_origin("(5,10)", Medium.IMAGE, "image/png")[1:]
    (5, 10, 0)
    """
    if medium is Medium.IMAGE:
        corner = _POINT.fullmatch(text)
        if corner:
            return Origin(medium, *(int(one or 0) for one in corner.groups()))
    elif _NUMBER.fullmatch(text) and (medium is not Medium.PAGES or int(text)):
        return Origin(medium, int(text))
    raise PositionMalformed(origin=text, media_type=media_type, expected=medium.value.strip())


def require_place(
    parts: PartExtraction, source: Source, origin: Origin, selector: Selector
) -> Part:
    """Return the part at which an origin is. Raises PartOutOfRange, which names the origin."""
    try:
        return parts.outline_part(source, selector)
    except PartOutOfRange as error:
        raise PartOutOfRange(
            identifier=error.identifier, selector=f"origin {origin}", extent=error.extent
        ) from None


class Stretch(NamedTuple):
    """Positions [start, stop) of a document that a passage of its text takes."""

    start: int
    stop: int | None
    """None for the end of the document."""


def locate_origin(
    source: Source, text: PlainText, start: int, stop: int, indexes: Indexes
) -> Stretch | None:
    """Return the positions of characters [start, stop) of the text of a document. The first is the
    origin of a citation there. None if the document has no such characters.
    """
    if find_medium(source.essence) is Medium.TEXT:
        part = find_source_characters(source, text, start, stop, indexes)
        return None if part is None else Stretch(part.start, part.end)
    passages = text.list_passages(start, stop)
    return find_stretch(passages[0].selector) if passages else None


def find_source_characters(
    source: Source, text: PlainText, start: int, stop: int, indexes: Indexes
) -> CharRange | None:
    """Return the characters of the source of a text in which characters [start, stop) are written,
    of mail and subtitles complete lines and cues. None if their place is unknown.
    """
    if isinstance(text, DecodedText):
        return CharRange(count_canonical(text.text, start), count_canonical(text.text, stop))
    stored: Span | None = None
    if isinstance(text, SlicedText):
        stored = text.find_span(start, stop)
    elif isinstance(text, UnitText):
        stored = text.find_stored(start, stop)
    return None if stored is None else find_characters(source, stored, indexes)


def find_stretch(selector: Selector | None) -> Stretch:
    """Return the positions of a part that has a text: a page, bytes, or seconds."""
    match selector:
        case Page(number):
            return Stretch(number, number + 1)
        case Octets(start, end):
            return Stretch(start, end)
        case Media(time=Time(start=begin, end=end)):
            last = None if end is None else floor(end) + 1
            return Stretch(floor(begin or Fraction(0)), last)
    return Stretch(0, None)
