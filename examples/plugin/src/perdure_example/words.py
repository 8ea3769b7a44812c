"""Parts by words: `word=3,7` is words 3 to 6 of a text, counted from 0.

A word is a run of letters, digits and underscores. Positions lie between words, as those of
RFC 5147 lie between characters; a range that is empty or lies beyond the text is an error.

>>> read("word=3,7")
Words(start=3, end=7)
>>> read("word=7,3")  # doctest: +ELLIPSIS
Traceback (most recent call last):
perdure.errors.texts.MalformedPart: ... expected an end that is not before its start ...

How it works: the syntax makes a `Words` of the text. The extractor counts words in the plain text
of the document and maps the first and the last one to stored bytes.
"""

from __future__ import annotations

import re
from itertools import islice

from perdure.errors import PartNotSupported, PartOutOfRange
from perdure.extractors.port import Extent, Indexes, Part, Source
from perdure.extractors.text.characters import EXTRACTOR as TEXT
from perdure.parts import PluginSelector, Selector
from perdure.parts.grammar import decode_text, read_number
from perdure.parts.port import Syntax

SPECIFICATION = "https://perdure.example/parts/words"
_RULE = "docs/how-to/write-a-plugin.md"
_WORDS = re.compile("word=([0-9]+),([0-9]+)", re.ASCII)
_WORD = re.compile(r"\w+")


class Words(PluginSelector, frozen=True):
    """Words [start, end)."""

    reading = "example-word"
    conforms_to = SPECIFICATION
    start: int
    end: int

    def __str__(self) -> str:
        return f"word={self.start},{self.end}"


def read(text: str) -> Words:
    """The words that a text names. Raises MalformedPart."""
    plain = decode_text(text, _RULE)
    match = _WORDS.fullmatch(plain.plain)
    if match is None:
        raise plain.make_fault(0, "'word=' and two numbers with ',' between", _RULE)
    start, end = (read_number(plain, match.start(group), match[group], _RULE) for group in (1, 2))
    if start > end:
        raise plain.make_fault(match.start(2), "an end that is not before its start", _RULE)
    return Words(start, end)


SYNTAX = Syntax(
    name="word= (perdure-example)",
    media_types=("text/plain",),
    mark=re.compile("^word="),
    read=read,
    forms={Words: ("word=",)},
    specifications=(SPECIFICATION,),
    schemes=("word",),
)


class WordExtractor:
    """Words of plain text."""

    media_types = ("text/plain",)
    selectors = (Words,)
    confined = False
    install = None
    lengthy_from = 1 << 20
    """Bytes from which a worker process cuts, so that the server does not wait."""

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        """A slice of the text. Raises PartOutOfRange, Undecodable or OverBudget."""
        if not isinstance(selector, Words):
            raise PartNotSupported(media_type=source.media_type, selector=str(selector))
        text = TEXT.read_text(source, indexes)
        content = text.text if text else ""
        chosen = list(islice(_WORD.finditer(content), selector.start, selector.end))
        if text is None or not chosen or len(chosen) < selector.end - selector.start:
            count = sum(1 for _ in _WORD.finditer(content))
            raise PartOutOfRange(
                identifier=source.name, selector=str(selector), extent=f"{count} words"
            )
        part = text.select_part(chosen[0].start(), chosen[-1].end())
        found = TEXT.extract_part(source, part, indexes)
        return Part(
            selector=selector,
            media_type=found.media_type,
            charset=found.charset,
            body=found.body,
            slices=found.slices,
        )

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        """Return how many words there are."""
        text = TEXT.read_text(source, indexes)
        count = sum(1 for _ in _WORD.finditer(text.text)) if text else 0
        return (Extent(syntax=f"word=0,{count}", what="words", size=count),) if count else ()


EXTRACTOR = WordExtractor()
