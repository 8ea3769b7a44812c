"""The part of a document that contains a range of its plain text, as a name.

How it works: positions in the parts of a PDI count characters of the source, with a line break as
two (section 3.4), so a range of a text that is stored in order becomes a range of characters.
Everywhere else, the format says which parts its text has (`PlainText.list_passages`).

What must stay true: the part contains the range. If no single part does, there is none.
"""

from __future__ import annotations

from perdure.extractors.plain_text import PlainText, SlicedText
from perdure.extractors.port import Source
from perdure.extractors.text.characters import find_characters
from perdure.extractors.text.decoded import DecodedText
from perdure.parts import CharRange, Selector
from perdure.reading.extraction import PartExtraction


def select_range(
    parts: PartExtraction,
    source: Source,
    text: PlainText,
    start: int,
    stop: int,
    *,
    has_own_parts: bool,
) -> Selector | None:
    """Return the part of a document that contains a range of its text, or None.

    `has_own_parts` is true of a document whose name defines what parts mean, as a PDI does.
    # ruling: part-meaning
    """
    if has_own_parts and isinstance(text, DecodedText):
        return CharRange(count_canonical(text.text, start), count_canonical(text.text, stop))
    if has_own_parts and isinstance(text, SlicedText):
        return find_characters(source, text.find_span(start, stop), parts.indexes)
    passages = text.list_passages(start, stop)
    return passages[0].selector if len(passages) == 1 else None


def count_canonical(text: str, place: int) -> int:
    """Return the characters before a place in a text, with each line break as two."""
    return place + text.count("\n", 0, place)
