"""The words in which two passages differ.

How it works: both passages become tokens: words, and single marks of punctuation. Case, quotation
marks and dashes do not differ. `edits` finds the tokens that both have in common; the
tokens between these are the changes.

What must stay true: time is bounded, whatever the length of the passages and their likeness.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from perdure.model.verdicts import Comparison, Verdict, WordChange
from perdure.policy.quotations.edits import Edits, find_edits, list_changes
from perdure.policy.quotations.folding import fold_letters

MOST_CHANGES = 100
"""The most differences that a comparison lists."""

_MOST_WORDS = 100_000  # of a cited passage; the rest is not compared
_SPARE = 16  # tokens that may be added to a short passage
_EAST_ASIAN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"  # written without blanks between words
_TOKEN = re.compile(
    r"(?P<prefix>(?m:^)[ \t]*>[> \t]*)"  # of a line that mail quotes
    rf"|[{_EAST_ASIAN}]|[^\W{_EAST_ASIAN}]+(?:['\u2019][^\W\d_]+)*"
    r"|(?<![^\s(])[-\u2212](?=\d)"  # a minus is not a dash
    r"|[^\w\s\"'`\u00ab\u00ad\u00b4\u00bb\u2010-\u2015\u2018-\u201f\u200b\u2039\u203a\u2060\u2212"
    r"\u300c-\u300f\ufeff-]"
)


class _Token(NamedTuple):
    folded: str
    start: int
    stop: int

    @property
    def is_word(self) -> bool:
        return self.folded[0].isalnum() or self.folded[0] == "_"


def compare_words(citing: str, start: int, until: int, cited: str) -> Comparison | None:
    """Compare a passage that begins at one of the places [start, until) with a cited one.

    None if fewer than half of the cited words are there, or if nothing is cited but marks.
    """
    theirs = list(islice(_list_tokens(cited, 0), _MOST_WORDS + 1))
    is_long = len(theirs) > _MOST_WORDS
    total = sum(one.is_word for one in theirs[:_MOST_WORDS])
    theirs = theirs[:_MOST_WORDS]
    if not total:
        return None
    room = len(theirs) + len(theirs) // 2 + _SPARE
    ours = _list_window(citing, start, until, room)
    first = _find_beginning(ours, until, theirs) if until > start + 1 else 0
    ours = ours[first : first + room]
    edits = find_edits([one.folded for one in theirs], [one.folded for one in ours])
    kept = sum(theirs[one].is_word for one, _ in edits.pairs)
    compared = sum(one.is_word for one in theirs[: edits.cited])
    if not kept or kept * 2 < compared:
        return None
    changes = list(_list_differences(citing, cited, ours, theirs, edits))
    begin = ours[0].start if first else start
    return Comparison(
        verdict=Verdict.ALTERED,
        start=begin,
        stop=max(ours[edits.citing - 1].stop, begin) if edits.citing else begin,
        kept=kept,
        total=compared,
        is_complete=compared == total and not is_long,
        changes=tuple(changes[:MOST_CHANGES]),
        more_changes=max(len(changes) - MOST_CHANGES, 0),
    )


def _list_tokens(text: str, start: int) -> Iterator[_Token]:
    for token in _TOKEN.finditer(text, start):
        if token["prefix"]:
            continue
        yield _Token(fold_letters(token[0]).replace("\u2019", "'"), token.start(), token.end())


def _list_window(citing: str, start: int, until: int, room: int) -> list[_Token]:
    """Return the tokens from `start` on: those before `until`, and `room` more."""
    found: list[_Token] = []
    after = 0
    for token in _list_tokens(citing, start):
        after += token.start >= until
        if after > room or len(found) > 2 * _MOST_WORDS:
            break
        found.append(token)
    return found


def _find_beginning(ours: Sequence[_Token], until: int, theirs: Sequence[_Token]) -> int:
    """Return the place among our tokens where most words of theirs are at the right distance."""
    often = Counter(one.folded for one in theirs)
    places = {one.folded: at for at, one in enumerate(theirs) if often[one.folded] == 1}
    votes: Counter[int] = Counter()
    for at, token in enumerate(ours):
        if token.folded in places:
            votes[max(at - places[token.folded], 0)] += 1
    for place, _ in votes.most_common():
        if ours[place].start < until:
            return place
    return 0


def _list_differences(
    citing: str, cited: str, ours: Sequence[_Token], theirs: Sequence[_Token], edits: Edits
) -> Iterator[WordChange]:
    for one, other, first, last in list_changes(edits):
        begin, end = _find_range(theirs, one, other)
        start, stop = _find_range(ours, first, last)
        yield WordChange(
            cited=cited[begin:end],
            citing=citing[start:stop],
            cited_start=begin,
            cited_stop=end,
            start=start,
            stop=stop,
        )


def _find_range(tokens: Sequence[_Token], first: int, stop: int) -> tuple[int, int]:
    """Return the place of tokens [first, stop); if there are none, the place after the last."""
    if first < stop:
        return tokens[first].start, tokens[stop - 1].stop
    place = tokens[first - 1].stop if first else (tokens[0].start if tokens else 0)
    return place, place
