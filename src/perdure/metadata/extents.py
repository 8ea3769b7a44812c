"""The extent of a cited part, in words: "characters 37–51", "23–57 s".

How it works: a noun in the language of the citation precedes the numbers of the selector, which are
those in the identifier (ISO 24619 section 5.4: specifications of parts become part identifiers).
Selectors without a noun are written as in the identifier.

What must stay true: every selector has an extent, in every language.
"""

from __future__ import annotations

from fractions import Fraction

from perdure.parts import Selector
from perdure.parts.selectors import (
    ByteRange,
    Cells,
    CharRange,
    Crop,
    Instant,
    Interval,
    Media,
    NameRange,
    Octets,
    Page,
    Rect,
    TagRange,
    TextPosition,
    TextQuote,
    TextRange,
)

_WORDS = {
    "en": {
        "char": "characters", "line": "lines", "byte": "octets", "tag": "tags", "name": "names",
        "rect": "pixels", "frame": "frame", "row": "rows", "col": "columns", "cell": "cells",
        "page": "p.", "part": "part", "to": "to", "from": "from", "end": "the end",
        "one row": "row", "one col": "column", "one cell": "cell",
    },
    "fr": {
        "char": "caractères", "line": "lignes", "byte": "octets", "tag": "balises",
        "name": "noms", "rect": "pixels", "frame": "image", "row": "lignes", "col": "colonnes",
        "cell": "cellules", "page": "p.", "part": "partie", "to": "à", "from": "à partir de",
        "end": "la fin", "one row": "ligne", "one col": "colonne", "one cell": "cellule",
    },
    "de": {
        "char": "Zeichen", "line": "Zeilen", "byte": "Oktette", "tag": "Tags", "name": "Namen",
        "rect": "Pixel", "frame": "Bild", "row": "Zeilen", "col": "Spalten", "cell": "Zellen",
        "page": "S.", "part": "Teil", "to": "bis", "from": "ab", "end": "Ende",
        "one row": "Zeile", "one col": "Spalte", "one cell": "Zelle",
    },
}  # fmt: skip


def write_extent(part: Selector, language: str) -> str:
    """Write a part in words of a language: `en`, `fr`, `de`; English for any other.

    >>> write_extent(CharRange(37, 51), "en"), write_extent(CharRange(37, 51), "de")
    ('characters 37–51', 'Zeichen 37–51')
    >>> write_extent(Interval(Fraction(23), Fraction(115, 2)), "fr")
    '23–57,5 s'
    """
    say = _Language(language)
    match part:
        case CharRange():
            return f"{say['char']} {part.start}–{part.end}"
        case TagRange():
            return f"{say['tag']} {part.first}–{part.last}"
        case NameRange():
            return f"{say['name']} “{part.first}” {say['to']} “{part.last}”"
        case ByteRange():
            return f"{say['byte']} {part.start}–{part.end}"
        case Octets():
            return f"{say['byte']} {say.write_span(part.start, part.end)}"
        case TextRange() if part.start != part.end:
            return f"{say[part.unit]} {say.write_span(part.start or 0, part.end)}"
        case TextPosition():
            return f"{say['char']} {part.start}–{part.end}"
        case TextQuote():
            return f"“{part.exact}”"
        case Interval():
            return say.write_seconds(part.start, part.end)
        case Instant():
            return f"{say.write_number(part.at)} s"
        case Media(time=time) if time is not None:
            return say.write_seconds(time.start or Fraction(0), time.end)
        case Rect():
            return say.write_rectangle(part)
        case Crop():
            seconds = say.write_seconds(part.time.start, part.time.end)
            return seconds if part.rect is None else f"{seconds}, {say.write_rectangle(part.rect)}"
        case Page():
            return f"{say['page']} {part.number}"
        case Cells():
            is_single = len(part.ranges) == 1 and part.ranges[0][0] == part.ranges[0][1]
            noun = say[f"one {part.axis}" if is_single else part.axis]
            return f"{noun} {str(part).partition('=')[2].replace('-', '–')}"
    return f"{say['part']} {part}"


class _Language:
    """The words and numbers of one language."""

    def __init__(self, name: str) -> None:
        language = name[:2].lower()
        self._words = _WORDS.get(language, _WORDS["en"])
        self._comma = "," if language in ("fr", "de") else "."

    def __getitem__(self, word: str) -> str:
        return self._words[word]

    def write_number(self, value: Fraction) -> str:
        """Write a decimal number with the decimal sign of the language."""
        if value.denominator == 1:
            return str(value.numerator)
        return f"{float(value):.6f}".rstrip("0").replace(".", self._comma)

    def write_span(self, start: int, end: int | None) -> str:
        return f"{start}–{end}" if end is not None else f"{start}–{self['end']}"

    def write_seconds(self, start: Fraction, end: Fraction | None) -> str:
        if end is None:
            return f"{self['from']} {self.write_number(start)} s"
        return f"{self.write_number(start)}–{self.write_number(end)} s"

    def write_rectangle(self, rect: Rect) -> str:
        corners = f"({rect.left}, {rect.top})–({rect.right}, {rect.bottom})"
        frame = f", {self['frame']} {rect.frame}" if rect.frame else ""
        return f"{self['rect']} {corners}{frame}"
