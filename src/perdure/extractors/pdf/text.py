"""The plain text of a PDF: its pages in order, each with its lines and their places on the page.

How it works: PDFium (pypdfium2) reads the characters of a page in the order of its content and
finds its lines. A line is one line feed, a page ends with a form feed, and the hyphen at the end of
a line on which a word is divided is one hyphen. A passage is part of a page (`page=3`), or with
`finest` part of a line (`page=3&viewrect=…`, in the coordinates of RFC 8118, rounded outwards to
tenths of a unit). The lines of a page whose characters PDFium numbers in another way than Python
have no rectangles; their passages are those of the page. The passage of a rectangle goes from the
first to the last line whose middle is in it.

PDFium reads the characters outside a crop box, too. So the text of a rectangle, read as a document
of its own, is that of its page.

What must stay true: `map_text` runs confined. A page is read the same way alone and in its
document, so the text of `page=3`, a document of one page, is that of page 3.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import msgspec

from perdure.errors.damage import TextAbsent, TextIndexDamaged
from perdure.errors.limits import PlainTextTooLong
from perdure.extractors.measures import TextLine
from perdure.extractors.pdf.opening import open_document
from perdure.extractors.plain_text import LARGEST, TextPassage, clip_units
from perdure.extractors.port import Part, Source
from perdure.parts import Page

if TYPE_CHECKING:
    import pypdfium2

INDEX = "pdf-text-1"
_BOUNDARY = "\f"
_HYPHEN = "\ufffe"  # PDFium's mark for a hyphen that divides a word
_LINE = re.compile("[^\r\n]+")
_TENTHS = 10
_NUMBERS = 4  # of a rectangle


class _Kept(msgspec.Struct, frozen=True, array_like=True):
    """The form of a text in an index: columns of unsigned 32-bit numbers."""

    text: str
    pages: bytes
    """The place in the text at which each page begins, and last the end of the text."""
    starts: bytes
    """The place of each line that has a rectangle."""
    stops: bytes
    boxes: bytes
    """Left, top, width and height of each line, in tenths of a unit."""


class PdfText:
    """The text of a PDF."""

    def __init__(self, source: Source, index: bytes | memoryview) -> None:
        try:
            kept = msgspec.msgpack.decode(index, type=_Kept)
            columns = [memoryview(one).cast("I") for one in (kept.pages, kept.starts, kept.stops)]
            boxes = memoryview(kept.boxes).cast("i")
        except (msgspec.DecodeError, TypeError):
            raise TextIndexDamaged(**source.subject) from None
        self.text = kept.text
        self._begins, (self._starts, self._stops), self._boxes = columns[0], columns[1:], boxes
        fits = len(self._starts) == len(self._stops) == len(boxes) // _NUMBERS
        if not fits or not self._begins or self._begins[-1] > len(self.text):
            raise TextIndexDamaged(**source.subject)

    def list_passages(
        self, start: int, stop: int, *, finest: bool = False
    ) -> tuple[TextPassage, ...]:
        pages = self._list_pages(start, stop)
        if finest:
            return tuple(line for page in pages for line in self._list_lines(*page))
        return tuple(TextPassage(first, last, Page(number)) for number, first, last in pages)

    def locate_part(self, part: Part) -> TextPassage | None:
        match part.selector:
            case Page(number=number, view=None) if 0 < number < len(self._begins):
                start, stop = self._find_page(number)
                return TextPassage(start, stop, part.selector) if start < stop else None
            case Page(number=number, view=view) if view and 0 < number < len(self._begins):
                lines = clip_units(self._starts, self._stops, *self._find_page(number))
                inside = [line for line in lines if self._is_inside(line[0], view)]
                if inside:
                    return TextPassage(inside[0][1], inside[-1][2], part.selector)
        return None

    def _is_inside(self, line: int, view: tuple[Fraction, Fraction, Fraction, Fraction]) -> bool:
        """Return whether the middle of a line is at the height of a rectangle, and some of it is
        in the rectangle."""
        x, y, width, height = self._boxes[line * _NUMBERS : (line + 1) * _NUMBERS]
        left, top, across, down = (one * _TENTHS for one in view)
        middle = Fraction(2 * y + height, 2)
        return top <= middle < top + down and x < left + across and left < x + width

    def _find_page(self, number: int) -> tuple[int, int]:
        """Return the range of a page without the form feed after it."""
        return self._begins[number - 1], self._begins[number] - len(_BOUNDARY)

    def _list_pages(self, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """Yield the number of each page in [start, stop), and its range clipped to that."""
        for number in range(1, len(self._begins)):
            first, last = self._find_page(number)
            if max(first, start) < min(last, stop):
                yield number, max(first, start), min(last, stop)

    def _list_lines(self, page: int, start: int, stop: int) -> Iterator[TextPassage]:
        lines = list(clip_units(self._starts, self._stops, start, stop))
        if not lines:
            yield TextPassage(start, stop, Page(page))
        for number, begin, end in lines:
            at = number * _NUMBERS
            x, y, width, height = (
                Fraction(one, _TENTHS) for one in self._boxes[at : at + _NUMBERS]
            )
            yield TextPassage(begin, end, Page(page, (x, y, width, height)))


def map_pdf_text(source: Source) -> bytes:
    """Make the index of the text of a PDF.

    Raises DecoderFailed, PdfEncrypted, TextAbsent, OverBudget or MissingLibrary.
    """
    building = _Building(source)
    with open_document(source) as document:
        for number in range(len(document)):
            building.add_page(document, number)
    return building.build_index()


def list_lines(source: Source, document: pypdfium2.PdfDocument, number: int) -> list[TextLine]:
    """List the lines of a page, counted from 1.

    Raises PlainTextTooLong, and the errors of PDFium.
    """
    building = _Building(source)
    building.add_page(document, number - 1)
    return building.list_lines()


class _Building:
    """Pages and lines, collected while a document is read."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._texts: list[str] = []
        self._length = 0
        self._begins = array("I", [0])
        self._starts, self._stops, self._boxes = array("I"), array("I"), array("i")

    def add_page(self, document: pypdfium2.PdfDocument, number: int) -> None:
        page = document[number]
        letters = page.get_textpage()
        written = letters.get_text_range()
        places = written if len(written) == letters.count_chars() else ""
        if self._length + len(written) > LARGEST:
            raise PlainTextTooLong(source=self._source.name, most=LARGEST)
        crop = page.get_cropbox()
        breaks = seen = 0  # line breaks of two characters so far, each of which becomes one
        for line in _LINE.finditer(places):
            breaks += places.count("\r\n", seen, line.start())
            seen = line.start()
            box = _find_box(letters, line.start(), line.end(), crop)
            if box is not None:
                begin = self._length + line.start() - breaks
                self._starts.append(begin)
                self._stops.append(begin + len(line[0]))
                self._boxes.extend(box)
        text = written.replace("\r\n", "\n").replace("\r", "\n").replace(_HYPHEN, "-")
        self._texts.append(text + _BOUNDARY)
        self._length += len(text) + len(_BOUNDARY)
        self._begins.append(self._length)
        letters.close()
        page.close()

    def list_lines(self) -> list[TextLine]:
        text, boxes = "".join(self._texts), self._boxes
        return [
            TextLine(text[start:stop], *(one / _TENTHS for one in boxes[at : at + _NUMBERS]))
            for start, stop, at in zip(
                self._starts, self._stops, range(0, len(boxes), _NUMBERS), strict=True
            )
        ]

    def build_index(self) -> bytes:
        text = "".join(self._texts)
        if not text.strip():
            raise TextAbsent(**self._source.subject)
        columns = (self._begins, self._starts, self._stops, self._boxes)
        return msgspec.msgpack.encode(_Kept(text, *(one.tobytes() for one in columns)))


def _find_box(
    letters: Any, start: int, stop: int, crop: tuple[float, float, float, float]
) -> tuple[int, int, int, int] | None:
    """Return left, top, width and height of characters [start, stop) in tenths of a unit, from the
    top left of the crop box. None if they have no place inside it.
    """
    count = letters.count_rects(start, stop - start)
    boxes = [letters.get_rect(number) for number in range(count)]
    boxes = [one for one in boxes if one[0] < one[2] and one[1] < one[3]]
    if not boxes:
        return None
    left, bottom, right, top = crop
    x = max(floor((min(one[0] for one in boxes) - left) * _TENTHS), 0)
    y = max(floor((top - max(one[3] for one in boxes)) * _TENTHS), 0)
    until = ceil((min(max(one[2] for one in boxes), right) - left) * _TENTHS)
    below = ceil((top - max(min(one[1] for one in boxes), bottom)) * _TENTHS)
    return (x, y, until - x, below - y) if x < until and y < below else None
