"""The plain text of a text: its characters, with every line break as one line feed.

How it works: positions are those of RFC 5147, which counts any line break as one character, so the
part of a passage is `char=start,stop`. The index of the text (`perdure.extractors.text.index`)
finds the bytes, in every charset.
"""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from perdure.extractors.plain_text import TextPassage, check_size, list_sliced, locate_slices
from perdure.extractors.port import Part, Source, Span
from perdure.extractors.text.coding import Coding
from perdure.extractors.text.index import TextIndex, Unit
from perdure.parts import TextRange

_LINE_BREAK = re.compile("\r\n?")


class DecodedText(NamedTuple):
    """The characters of a text."""

    places: TextIndex
    text: str

    def find_span(self, start: int, stop: int) -> Span:
        """Return the stored bytes of characters [start, stop)."""
        return _find_span(self.places, start, stop)

    def select_part(self, start: int, stop: int) -> TextRange:
        """Return a selector for characters by RFC 5147."""
        return TextRange("char", start, stop)

    def list_passages(
        self, start: int, stop: int, *, finest: bool = False
    ) -> tuple[TextPassage, ...]:
        return list_sliced(self, start, stop)

    def locate_part(self, part: Part) -> TextPassage | None:
        return locate_slices(self, part)


class IndexedText(NamedTuple):
    """The characters of a text of any length, read from the file when they are needed."""

    places: TextIndex

    @property
    def length(self) -> int:
        return self.places.count_units(Unit.CHARACTER)

    def find_span(self, start: int, stop: int) -> Span:
        """Return the stored bytes of characters [start, stop)."""
        return _find_span(self.places, start, stop)

    def read_characters(self, start: int, stop: int) -> str:
        """Return the characters [start, stop), as far as there are any."""
        stop = min(stop, self.length)
        if start >= stop:
            return ""
        first, end = self.places.find_place(Unit.CHARACTER, start), self.find_span(start, stop).stop
        decoder = codecs.getincrementaldecoder(self.places.coding.codec)()
        decoder.setstate((b"", first.state))
        stored = decoder.decode(self.places.source.read_bytes(first.byte, end))
        text = _LINE_BREAK.sub("\n", stored)[first.skip :]
        return text[: stop - start]

    def select_part(self, start: int, stop: int) -> TextRange:
        """Return a selector for characters by RFC 5147."""
        return TextRange("char", start, stop)


def _find_span(places: TextIndex, start: int, stop: int) -> Span:
    first, last = (places.find_place(Unit.CHARACTER, place) for place in (start, stop))
    return Span(first.byte, places.read_together(last)[1] if last.skip else last.byte)


def read_decoded(source: Source, index: TextIndex) -> DecodedText:
    """Return the text behind an index. Raises OverBudget."""
    check_size(source)
    return DecodedText(index, decode_stored(index.read_bytes(), index.coding))


def decode_stored(data: bytes, coding: Coding) -> str:
    """Return the characters of all bytes of a source, with each line break as a line feed.

    Raises UnicodeError.
    """
    stored = data[coding.start :].decode(coding.codec)
    return _LINE_BREAK.sub("\n", stored) if "\r" in stored else stored
