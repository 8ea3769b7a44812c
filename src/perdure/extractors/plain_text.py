"""The plain text of a source, mapped to its parts: the port `Text`.

How it works: an extractor with a text of its own is either a `TextReader`, which reads the text in
this process from its own indexes, or a `TextMapper`, whose text a third-party decoder makes in a
confined process and sends as bytes. `perdure.reading.extraction.PartExtraction.read_text` asks the
extractors of the media type, the most specific first, and returns a `PlainText`.

    text = extraction.read_text(source)
    at = text.text.index("fox")
    for passage in text.list_passages(at, at + 3):
        extraction.cut_part(source, passage.selector)

What must stay true: a line break is one line feed. The passages of a range are in order and do not
overlap. Every character of the range is in a passage, except for separators that the reader adds
(between pages, paragraphs, cells) and that the document writes as markup or not at all. The part of
a passage, read as a text of its own, contains the passage.

If a text is a `SlicedText`, every range is one passage, and its part comes from the bytes that
`find_span` returns. If such a passage is in a CDATA section, or in an element such as `title` whose
text follows other rules, the part has the right bytes, but only its context shows how to read them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, runtime_checkable

from perdure.errors.limits import PlainTextTooLong
from perdure.extractors.port import Indexes, Part, Source, Span
from perdure.parts import Selector

LARGEST = 20 << 20
"""The largest document, in bytes, whose plain text is made, and the longest text, in characters."""


class Characters(NamedTuple):
    """A plain text without its map to parts."""

    text: str
    breaks: Sequence[int] = ()
    """Places in the text at which a word ends although nothing divides it: a block of a page begins
    or ends there.
    """


@runtime_checkable
class DividedText(Protocol):
    """A plain text that consists of blocks, such as paragraphs."""

    @property
    def blocks(self) -> Sequence[int]:
        """Places in the text at which a block begins or ends, in order."""


def list_breaks(text: PlainText) -> Sequence[int]:
    """Return the places at which words end although nothing divides them."""
    # to compare a class with a protocol by isinstance takes as long as to find a word
    blocks: Sequence[int] = getattr(text, "blocks", ())
    return blocks


class TextPassage(NamedTuple):
    """Code points [start, stop) of a text, and the part that contains them.

    The selector is None if the format has no parts that can be addressed: then only the complete
    document contains the passage.
    """

    start: int
    stop: int
    selector: Selector | None


class PlainText(Protocol):
    """The text of a source as people read it. Positions are code points."""

    @property
    def text(self) -> str:
        """The complete text."""

    def list_passages(
        self, start: int, stop: int, *, finest: bool = False
    ) -> tuple[TextPassage, ...]:
        """Return the passages of [start, stop); start < stop.

        `finest` asks for the smallest parts that the format can address, even if they are many: the
        rectangles of lines instead of a page. The tuple is empty if the range has separators only.
        """

    def locate_part(self, part: Part) -> TextPassage | None:
        """Return the range of this text that a part of the source has. None if it has no text, or
        if its place in the text is unknown.
        """


@runtime_checkable
class SlicedText(PlainText, Protocol):
    """A text whose characters are stored in order, so that every range is one part."""

    def find_span(self, start: int, stop: int) -> Span:
        """Return the stored bytes of [start, stop); start < stop."""

    def select_part(self, start: int, stop: int) -> Selector:
        """Return the smallest part that contains [start, stop); start < stop."""


@runtime_checkable
class UnitText(PlainText, Protocol):
    """A text in units whose stored bytes are known, such as the lines of mail or cues."""

    def find_stored(self, start: int, stop: int) -> Span | None:
        """Return the stored bytes of the units that overlap [start, stop). None if there is no such
        unit, or if the document is compressed.
        """


class LongText(Protocol):
    """A text of any length, read in stretches. Positions are code points."""

    @property
    def length(self) -> int:
        """The number of characters."""

    def read_characters(self, start: int, stop: int) -> str:
        """Return the characters [start, stop), or as many of them as there are."""

    def find_span(self, start: int, stop: int) -> Span:
        """Return the stored bytes of [start, stop); start < stop."""

    def select_part(self, start: int, stop: int) -> Selector:
        """Return the smallest part that contains [start, stop); start < stop."""


@runtime_checkable
class TextReader(Protocol):
    """An extractor that can read the plain text of its documents."""

    def read_text(self, source: Source, indexes: Indexes) -> PlainText | None:
        """Return the plain text, or None if this document has none that can be mapped.

        Raises Undecodable; OverBudget if the document has more than `LARGEST` bytes.
        """


@runtime_checkable
class SelectiveTextReader(TextReader, Protocol):
    """A reader that leaves some of its media types to others."""

    def may_have_text(self, essence: str) -> bool:
        """Return False if `read_text` returns None for every document of a media type."""


@runtime_checkable
class CharacterReader(TextReader, Protocol):
    """A reader whose texts can be read without their map to parts, which takes less time."""

    def read_characters(self, source: Source) -> str | None:
        """Return the text that `read_text` returns, or None. Raises the same errors."""


@runtime_checkable
class LongTextReader(TextReader, Protocol):
    """A reader whose texts are stored as they are read, so that any length can be read."""

    def open_long_text(self, source: Source, indexes: Indexes) -> LongText | None:
        """Return the text, to be read in stretches, or None if this document has none.

        Raises Undecodable.
        """


@runtime_checkable
class TextMapper(Protocol):
    """An extractor whose texts are made in a confined process and kept as an index."""

    text_index: str
    """The kind of the index, with a number that grows when its format changes: `pdf-text-1`."""

    def map_text(self, source: Source) -> bytes:
        """Make the index of a text. Runs in a confined process.

        Raises Undecodable (damaged, encrypted), TextAbsent if the document is readable and has no
        text, OverBudget, or MissingLibrary.
        """

    def open_text(self, source: Source, index: bytes | memoryview) -> PlainText:
        """Return the text of an index that `map_text` made. Raises Undecodable if it is not one."""


def check_size(source: Source) -> None:
    """Raise OverBudget if a source is too large for its plain text to be made."""
    if source.length > LARGEST:
        raise PlainTextTooLong(source=source.name, most=LARGEST)


# texts whose characters are stored in order
# ------------------------------------------


def list_sliced(text: SlicedText, start: int, stop: int) -> tuple[TextPassage, ...]:
    """Return the only passage of a range of a sliced text."""
    return (TextPassage(start, stop, text.select_part(start, stop)),)


def locate_slices(text: SlicedText, part: Part) -> TextPassage | None:
    """Return the characters of a sliced text that are written in the slices of a part."""
    if not part.slices:
        return None
    places = range(len(text.text))
    first, last = part.slices[0].start, part.slices[-1].stop
    start = bisect_right(places, first, key=lambda place: text.find_span(place, place + 1).stop)
    stop = bisect_left(places, last, key=lambda place: text.find_span(place, place + 1).start)
    return TextPassage(start, stop, part.selector) if start < stop else None


# texts in units
# --------------


def clip_units(
    starts: memoryview, stops: memoryview, start: int, stop: int
) -> Iterable[tuple[int, int, int]]:
    """Yield the number of each unit that overlaps [start, stop), and its range clipped to that.

    Units are in order and do not overlap.
    """
    for number in range(bisect_right(stops, start), bisect_left(starts, stop)):
        begin, end = max(starts[number], start), min(stops[number], stop)
        if begin < end:
            yield number, begin, end
