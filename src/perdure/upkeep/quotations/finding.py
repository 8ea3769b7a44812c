"""Passages of a text that other held documents contain, too: found by fingerprints, then compared.

How it works: the fingerprints of the text are looked up in the index. Each hit is extended to the
longest run of equal words, and these words are compared as they are written in both texts, folded.
The text of a document comes through the read door, as the reader may read it.

    every run of 15 equal words is found, and every run of 12 equal characters of scripts without
    spaces, unless 6 of them in a row are boilerplate: in more than 64 places of the held texts

What must stay true: a passage that is reported is in both texts. A document that is withdrawn, or
closed to the reader, is not reported. Nothing is written but the index.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from perdure.errors import PerdureError
from perdure.ids import parse
from perdure.model.folding import fold_character
from perdure.model.queries import Fetch, Query, Reader
from perdure.registry import Registry
from perdure.upkeep.quotations.fingerprints import (
    CHARACTERS,
    WORDS,
    Fingerprints,
    Match,
    Winnowing,
    extend_match,
    find_fingerprints,
)
from perdure.upkeep.quotations.passage_index import IndexedDocument, PassageIndex
from perdure.upkeep.quotations.words import (
    FoldedWords,
    Numbers,
    TextWords,
    fold_text,
)

MOST_PLACES = 64
"""A fingerprint in more places than this is boilerplate."""


class FoundPassage(NamedTuple):
    """A passage of a text that a held document contains, too. Positions are code points."""

    start: int
    stop: int
    name: str
    """The document, with version and format."""
    their_start: int
    their_stop: int
    part: str | None
    """The part of the document that contains the passage; None if it has no single part."""
    words: int
    """Equal words, or characters of scripts without spaces."""


class _Hits(NamedTuple):
    """Pairs of places of a text and of a document that have the same fingerprint."""

    words: list[tuple[int, int]]
    characters: list[tuple[int, int]]


def find_passages(
    registry: Registry, index: PassageIndex, text: str, reader: Reader, *, without: str = ""
) -> Iterator[FoundPassage]:
    """Yield the passages of a text that held documents contain, document by document.

    `without` is the key of a record whose documents are not searched. Raises ValueError if the text
    has more than 2^24 - 1 words.
    """
    ours = fold_text(text)
    for document, hits in _look_up(index, ours):
        if document.key == without:
            continue
        try:
            yield from _compare_document(registry, document, hits, text, ours, reader)
        except PerdureError:  # withdrawn, erased or closed since, or no longer readable
            continue


def _look_up(index: PassageIndex, ours: TextWords) -> list[tuple[IndexedDocument, _Hits]]:
    """Return the documents that share a fingerprint with a text which is not boilerplate."""
    words = find_fingerprints(ours.words, WORDS)
    characters = find_fingerprints(ours.characters, CHARACTERS)
    shared = []
    for document in index.list_documents():
        one = _choose_shared(document.words, words.prints)
        other = _choose_shared(document.characters, characters.prints)
        if len(one.prints) or len(other.prints):
            shared.append(document._replace(words=one, characters=other))
    common_words = _list_common([one.words.prints for one in shared])
    common_characters = _list_common([one.characters.prints for one in shared])
    return [
        (
            document,
            _Hits(
                _pair_places(words, document.words, common_words),
                _pair_places(characters, document.characters, common_characters),
            ),
        )
        for document in shared
    ]


def _choose_shared(theirs: Fingerprints, ours: Numbers) -> Fingerprints:
    chosen = np.isin(theirs.prints, ours)
    return Fingerprints(theirs.prints[chosen], theirs.places[chosen])


def _list_common(prints: list[Numbers]) -> frozenset[int]:
    """Return the fingerprints that are in too many places."""
    if not prints:
        return frozenset()
    numbers, counts = np.unique(np.concatenate(prints), return_counts=True)
    return frozenset(numbers[counts > MOST_PLACES].tolist())


def _pair_places(
    ours: Fingerprints, theirs: Fingerprints, common: frozenset[int]
) -> list[tuple[int, int]]:
    """Return the pairs of places with the same fingerprint, unless it is boilerplate."""
    there: dict[int, list[int]] = {}
    for number, place in zip(theirs.prints.tolist(), theirs.places.tolist(), strict=True):
        if number not in common:
            there.setdefault(number, []).append(place)
    return [
        (here, place)
        for number, here in zip(ours.prints.tolist(), ours.places.tolist(), strict=True)
        for place in there.get(number, ())
    ]


def _compare_document(
    registry: Registry,
    document: IndexedDocument,
    hits: _Hits,
    text: str,
    ours: TextWords,
    reader: Reader,
) -> Iterator[FoundPassage]:
    """Yield the passages of a document that are equal. Raises what reading it raises."""
    if not hits.words and not hits.characters:
        return
    resolved = registry.reading.resolve(Query(identifier=parse(document.name), reader=reader))
    step = resolved.require_step()
    if not isinstance(step, Fetch) or step.representation.sha512 != document.sha512:
        return
    source = registry.documents.open_source(step.identifier, step.representation)
    plain = registry.parts.read_text(source)
    if plain is None:
        return
    theirs = fold_text(plain.text)
    pairs = (
        (ours.words, theirs.words, hits.words, WORDS),
        (ours.characters, theirs.characters, hits.characters, CHARACTERS),
    )
    for mine, other, places, rule in pairs:
        for match in _extend_hits(mine, other, places, rule):
            first, second, length = match
            if _spell_words(text, mine, first, length) != _spell_words(
                plain.text, other, second, length
            ):
                continue
            start, stop = int(other.starts[second]), int(other.stops[second + length - 1])
            passages = plain.list_passages(start, stop)
            selector = passages[0].selector if len(passages) == 1 else None
            yield FoundPassage(
                start=int(mine.starts[first]),
                stop=int(mine.stops[first + length - 1]),
                name=document.name,
                their_start=start,
                their_stop=stop,
                part=None if selector is None else str(selector),
                words=length,
            )


def _extend_hits(
    mine: FoldedWords, other: FoldedWords, places: list[tuple[int, int]], rule: Winnowing
) -> Iterator[Match]:
    """Yield each longest run of equal words once, if it is as long as promised."""
    reached: dict[int, int] = {}  # by the distance of both places, the end of the last run
    for here, there in sorted(places):
        if here < reached.get(here - there, 0):
            continue
        match = extend_match(mine, here, other, there)
        if match is not None:
            reached[here - there] = match.first + match.length
            if match.length >= rule.promise:
                yield match


def _spell_words(text: str, words: FoldedWords, first: int, length: int) -> list[str]:
    """Return words as they are written in a text, folded."""
    places = slice(first, first + length)
    spans = zip(words.starts[places].tolist(), words.stops[places].tolist(), strict=True)
    return ["".join(map(fold_character, text[start:stop])) for start, stop in spans]
