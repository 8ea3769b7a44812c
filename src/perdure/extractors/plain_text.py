"""The plain text of a source, mapped back to its bytes and its parts: the port `Text`.

How it works: an extractor that is also a `TextReader` returns a `PlainText`, or None if the
document has no text that it can map. `perdure.reading.extraction.PartExtraction.read_text` asks the
extractors of the media type, the most specific first.

    text = extraction.read_text(source)
    at = text.text.index("fox")
    extraction.extract(source, text.select(at, at + 3))

What must stay true: a line break is one line feed. The part that `select_part` returns has the
passage in its own plain text, and nothing else unless the format cuts only larger units (a table:
cells). It comes from the bytes that `find_span` returns. If the passage is in a CDATA section, or
in an element such as `title` whose text follows other rules, the part has the right bytes, but only
its context shows how to read them.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from perdure.errors.limits import PlainTextTooLong
from perdure.extractors.port import Indexes, Source, Span
from perdure.parts import Selector

LARGEST = 20 << 20
"""The largest document, in bytes, whose plain text is made."""


class PlainText(Protocol):
    """The text of a source as people read it. Positions are code points."""

    @property
    def text(self) -> str:
        """The complete text."""

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


def check_size(source: Source) -> None:
    """Raise OverBudget if a source is too large for its plain text to be made."""
    if source.length > LARGEST:
        raise PlainTextTooLong(source=source.name, most=LARGEST)
