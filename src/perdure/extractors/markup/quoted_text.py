"""Parts by the text that people read: by position, by quotation, by text fragment.

Specification: Web Annotation Data Model, 4.2.4 and 4.2.5; URL Fragment Text Directives.

How it works: positions refer to the text content (`perdure.extractors.markup.text_content`).
Quotations are searched in it as they are and, if that finds nothing, with any white space for any
other. Text directives are searched without regard to case and diacritics, at the boundaries of
words; between blocks there is a character that no term contains. Chinese, Japanese, Korean and Thai
are written without spaces, so their text may be cut between any two characters.

What must stay true: a quotation that occurs several times is an error, because a part is one. For a
text directive the first occurrence counts, as its specification says. A part is a slice of the
source, from its first character through its last, including the tags between them.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from typing import NamedTuple

from perdure.errors import OverBudget, PartNotFound, PartNotSupported, PartOutOfRange
from perdure.errors.parts import AmbiguousQuotation
from perdure.errors.root import count_things
from perdure.extractors.markup.tagged import XML_TYPES, Markup, choose_rule
from perdure.extractors.markup.tags import TEXT
from perdure.extractors.markup.text_content import TextContent, read_text_content
from perdure.extractors.port import Extent, Indexes, Part, Source
from perdure.parts import Selector, TextDirective, TextPosition, TextQuote

_MOST = 100  # occurrences of a quotation that are counted
_MOST_SHOWN = 20  # of them, with their places
_AROUND = 60  # characters
_SHOWN = 100  # characters in the example of a part
_BREAK = "\ufffe"  # a noncharacter
_GAP = rf"[\s{_BREAK}]*+"
_WORD = (  # a character of a word, in a script that separates words by spaces
    r"[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff"
    r"\U00020000-\U0003ffff]"
)
_BEFORE = rf"(?:(?<!{_WORD})|(?!{_WORD}))"
_AFTER = rf"(?:(?!{_WORD})|(?<!{_WORD}))"


class QuotedTextExtractor:
    """Slices of markup, or of plain text, between two characters of the text content."""

    media_types = ("text/*", "application/sgml", *XML_TYPES)
    selectors = (TextPosition, TextQuote, TextDirective)
    confined = True
    install = None

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        markup = Markup(source, selector, indexes)
        content = read_text_content(markup)
        match selector:
            case TextPosition(start=start, end=end):
                if not start < end <= len(content.text):
                    raise PartOutOfRange(
                        identifier=source.name,
                        selector=str(selector),
                        extent=f"{count_things(len(content.text), 'character')} of text",
                    )
            case TextQuote():
                start, end = _find_quotation(content, selector)
            case TextDirective():
                start, end = _find_directed(content, selector)
            case _:
                raise PartNotSupported(media_type=source.media_type, selector=str(selector))
        return markup.make_part(selector, content.find_span(start, end))

    def may_have_text(self, essence: str) -> bool:
        return choose_rule(essence) is not TEXT  # another extractor reads text without tags

    def read_text(self, source: Source, indexes: Indexes) -> TextContent | None:
        if not self.may_have_text(source.essence):
            return None
        markup = Markup(source, "text", indexes)
        if markup.encoding.shifts:
            return None
        return read_text_content(markup)

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        try:
            size = len(read_text_content(Markup(source, "text", indexes)).text)
        except (PartNotSupported, OverBudget):
            return ()  # its text is not searched
        if not size:
            return ()
        example = str(TextPosition(0, min(size, _SHOWN)))
        return (Extent(syntax=example, what="characters of the text content", size=size),)


# quotations
# ----------


def _find_quotation(content: TextContent, selector: TextQuote) -> tuple[int, int]:
    """Return the place of the only occurrence of a quotation."""
    prefix, exact, suffix = selector.prefix, selector.exact, selector.suffix
    wanted = [rf"(?<={re.escape(prefix)})" if prefix else "", re.escape(exact)]
    found = (
        _find_occurrences(content, "".join([*wanted, f"(?={re.escape(suffix)})"])) if exact else []
    )
    if not found and exact.strip():
        spaced = [
            _build_spaced_pattern(prefix),
            f"({_build_spaced_pattern(exact)})",
            f"(?={_build_spaced_pattern(suffix)})",
        ]
        found = _find_occurrences(content, r"\s*+".join(filter(None, spaced)))
    if len(found) == 1:
        return found[0]
    if not found:
        raise PartNotFound(
            identifier=content.source.name, selector=str(selector), extent="no such text"
        )
    many = f"{len(found)}" if len(found) < _MOST else f"{_MOST} or more"
    shown = found[:_MOST_SHOWN]
    spans = (content.find_span(*one) for one in shown)
    raise AmbiguousQuotation(
        identifier=content.source.name,
        selector=str(selector),
        extent=f"such text {many} times: give a longer prefix or suffix",
        places=tuple(f"{span.start}-{span.stop}" for span in spans),
        around=tuple(
            text
            for start, end in shown
            for text in (
                content.text[max(start - _AROUND, 0) : start],
                content.text[end : end + _AROUND],
            )
        ),
    )


def _build_spaced_pattern(text: str) -> str:
    """Return a pattern for a text in which any white space matches any other."""
    return r"\s++".join(map(re.escape, text.split()))


def _find_occurrences(content: TextContent, pattern: str) -> list[tuple[int, int]]:
    found = []
    for match in re.finditer(pattern, content.text):
        found.append(match.span(match.lastindex or 0))
        if len(found) == _MOST:
            break
    return found


# text directives
# ---------------


class _Folded(NamedTuple):
    """Text without case and diacritics, and the places of its pieces in the original."""

    text: str
    places: list[int]
    """The place of each piece in the folded text."""
    origins: list[int]
    """The place of each piece in the original."""
    tables: list[list[int] | None]
    """The place of each character within the piece, or None if no character has moved."""

    def find_origin(self, place: int) -> int:
        piece = bisect_right(self.places, place) - 1
        inside, table = place - self.places[piece], self.tables[piece]
        return self.origins[piece] + (inside if table is None else table[inside])


class _Folds(dict[str, str]):
    """A cache of the folded form of each character that has occurred."""

    def __init__(self) -> None:
        super().__init__()
        self.uneven: set[str] = set()
        """The characters that do not fold to exactly one character."""

    def __missing__(self, character: str) -> str:
        folded = self[character] = _fold_characters(character)
        if len(folded) != 1:
            self.uneven.add(character)
        return folded

    def fold_text(self, text: str) -> tuple[str, list[int] | None]:
        """Return a folded text and the original place of each of its characters, or None if none
        has moved.
        """
        if text.isascii():
            return text.lower(), None
        folded = [self[character] for character in text]
        if self.uneven.isdisjoint(text):
            return "".join(folded), None
        places = [at for at, one in enumerate(folded) for _ in one]
        return "".join(folded), [*places, len(text)]


def _fold_content(content: TextContent) -> _Folded:
    folded, folds = _Folded("", [], [], []), _Folds()
    written: list[str] = []
    length, start = 0, 0
    for stop in (*content.blocks, len(content.text)):
        if stop == start:
            continue
        text, table = folds.fold_text(content.text[start:stop])
        folded.places.append(length)
        folded.origins.append(start)
        folded.tables.append(table)
        written += text, _BREAK
        length += len(text) + 1
        start = stop
    return folded._replace(text="".join(written))


def _fold_characters(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(one for one in plain if not unicodedata.combining(one))


def _find_directed(content: TextContent, selector: TextDirective) -> tuple[int, int]:
    """Return the place of the first match of a text directive."""
    folded = _fold_content(content)
    bounded = selector.suffix is None or selector.end is not None
    before = (
        f"{_BEFORE}{_build_term_pattern(selector.prefix)}{_GAP}" if selector.prefix else _BEFORE
    )
    suffix = f"(?={_GAP}{_build_term_pattern(selector.suffix)}{_AFTER})" if selector.suffix else ""
    opening = f"{before}({_build_term_pattern(selector.start)}){_AFTER if bounded else ''}"
    closing = ""
    if selector.end is not None:
        after = "" if selector.suffix else _AFTER
        closing = f"{_BEFORE}({_build_term_pattern(selector.end)}){after}{suffix}"
    else:
        opening += suffix
    begun = re.search(opening, folded.text) if _build_term_pattern(selector.start) else None
    ended = re.compile(closing).search(folded.text, begun.end(1)) if begun and closing else begun
    if not begun or not ended:
        raise PartNotFound(
            identifier=content.source.name, selector=str(selector), extent="no such text"
        )
    end = folded.find_origin(ended.end(1) - 1) + 1
    while end < len(content.text) and not _fold_characters(content.text[end]):
        end += 1  # characters that combine with the last one
    return folded.find_origin(begun.start(1)), end


def _build_term_pattern(text: str) -> str:
    """Return a pattern for a term, which does not match across blocks."""
    return _build_spaced_pattern(_fold_characters(text))


EXTRACTOR = QuotedTextExtractor()
