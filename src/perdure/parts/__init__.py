"""Parts of resources: every syntax that points into a document, read into one union of selectors.

How it works: one module for each syntax, each with a function `read(text) -> Selector`; the
selectors are in `perdure.parts.selectors`. What a part text means follows the identifier (ruling:
part-meaning): in a PDI it has the PDI's rules (`perdure.parts.pdi`), on every other identifier
those of the fragments of its media type, in the order of `SYNTAXES`.

What must stay true: pure; reading never raises anything but MalformedPart, on any text.
"""

from __future__ import annotations

from perdure.parts.selectors import (
    Between,
    ByteRange,
    Cells,
    CharRange,
    ChildSequence,
    Crop,
    Css,
    Destination,
    ElementById,
    Embedded,
    Extension,
    First,
    Instant,
    Interval,
    Media,
    NameRange,
    Octets,
    Page,
    Rect,
    Selected,
    Selector,
    TagRange,
    TextDirective,
    TextPosition,
    TextQuote,
    TextRange,
    Track,
    Within,
    XPath,
)

__all__ = [
    "Between",
    "ByteRange",
    "Cells",
    "CharRange",
    "ChildSequence",
    "Crop",
    "Css",
    "Destination",
    "ElementById",
    "Embedded",
    "Extension",
    "First",
    "Instant",
    "Interval",
    "Media",
    "NameRange",
    "Octets",
    "Page",
    "Rect",
    "Selected",
    "Selector",
    "TagRange",
    "TextDirective",
    "TextPosition",
    "TextQuote",
    "TextRange",
    "Track",
    "Within",
    "XPath",
]
