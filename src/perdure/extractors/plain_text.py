"""The plain text of a source, with the map back to its bytes and its parts: the port `Text`.

How it works: an extractor that also is a `TextReader` gives a `PlainText`, or None if the document
has no text that it can map. `perdure.reading.extraction.Extraction.read_text` asks the extractors
of the media type, the most specific first.

    text = extraction.read_text(source)
    at = text.text.index("fox")
    extraction.extract(source, text.select(at, at + 3))

What must stay true: a line break is one line feed. The part that `select` gives has the stretch in
its own plain text, and nothing else unless the format cuts only larger units (a table: cells). It
comes from the bytes that `span` gives. A part of a CDATA section, or of an element such as `title`
whose text has other rules, is the right bytes, and only its context tells how they read.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from perdure.errors import OverBudget
from perdure.extractors.port import Indexes, Source, Span
from perdure.parts import Selector

LARGEST = 20 << 20
"""Bytes of a document whose plain text is made."""


class PlainText(Protocol):
    """The text of a source as people read it. Positions are code points."""

    @property
    def text(self) -> str:
        """All of it."""

    def span(self, start: int, stop: int) -> Span:
        """The stored bytes in which [start, stop) is written; start < stop."""

    def select(self, start: int, stop: int) -> Selector:
        """The smallest part that has [start, stop); start < stop."""


@runtime_checkable
class TextReader(Protocol):
    """An extractor that knows the plain text of its documents."""

    def read_text(self, source: Source, indexes: Indexes) -> PlainText | None:
        """The plain text, or None if this document has none that can be mapped.

        Raises Undecodable; OverBudget if the document has more than `LARGEST` bytes.
        """


def check_size(source: Source) -> None:
    """Raise OverBudget if a source is too large for its plain text to be made."""
    if source.length > LARGEST:
        raise OverBudget(what=f"the text content of {source.name}", limit=f"{LARGEST} bytes")
