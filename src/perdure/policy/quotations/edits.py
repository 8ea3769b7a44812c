"""The shortest way from one sequence of words to another, in bounded time.

How it works: in long sequences, three words in a row that are in either only once are an anchor; of
these, the longest ascending run is taken (as in patience diff). Between two anchors, Myers's
algorithm finds the shortest edit script ("An O(ND) Difference Algorithm and Its Variations", 1986,
figure 2). The end of the citing sequence is open: after the last anchor, a script ends where the
cited words do. After `_MOST_EDITS` edits, the furthest place that was reached is taken for good,
and the search goes on from there.

What must stay true: time is bounded, whatever the length of the sequences and their likeness.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

_MOST_EDITS = 256
_MOST_STEPS = 1_000_000
_ANCHOR = 3  # words
_FEW = 400  # words; a repetition in a short passage is not an anchor
_NOWHERE = -(1 << 60)

Pairs = list[tuple[int, int]]
"""The places of equal words in both sequences, in order."""


class Edits(NamedTuple):
    """The common words of two sequences, up to the places where the comparison ended."""

    pairs: Pairs
    cited: int
    citing: int


def find_edits(cited: Sequence[str], citing: Sequence[str]) -> Edits:
    """Return what two sequences have in common. All cited words are compared, unless fewer than
    half of those before are equal, or the time is up.
    """
    anchors = [(0, 0), *(_find_anchors(cited, citing) if len(cited) > _FEW else [])]
    pairs: Pairs = []
    steps = 0
    for (x, y), (until_x, until_y) in pairwise(anchors):
        found = _align(cited[x:until_x], citing[y:until_y], _MOST_STEPS - steps)
        pairs += [(one + x, other + y) for one, other in found.pairs]
        steps += found.steps
    x, y = anchors[-1]
    found = _align(cited[x:], citing[y:], _MOST_STEPS - steps, open_end=True)
    pairs += [(one + x, other + y) for one, other in found.pairs]
    return Edits(pairs, x + found.cited, y + found.citing)


def _find_anchors(cited: Sequence[str], citing: Sequence[str]) -> Pairs:
    """Return places of equal words that are far from chance, ascending in both sequences."""
    ours, theirs = _find_unique(citing), _find_unique(cited)
    shared = [(place, ours[words]) for words, place in theirs.items() if words in ours]
    ends: list[int] = []  # the least end of an ascending run of each length
    last: list[int] = []
    before: list[int] = []
    for number, (_, place) in enumerate(shared):
        length = bisect_left(ends, place)
        ends[length : length + 1] = [place]
        last[length : length + 1] = [number]
        before.append(last[length - 1] if length else -1)
    found: Pairs = []
    at = last[-1] if last else -1
    while at >= 0:
        found.append(shared[at])
        at = before[at]
    return found[::-1]


def _find_unique(words: Sequence[str]) -> dict[tuple[str, ...], int]:
    """Return the place of each run of words that stands once, in order."""
    runs = list(zip(*(words[shift:] for shift in range(_ANCHOR)), strict=False))
    often = Counter(runs)
    return {run: place for place, run in enumerate(runs) if often[run] == 1}


class _Stretch(NamedTuple):
    """Equal words, the places that were reached, and the steps that it took."""

    pairs: Pairs
    cited: int
    citing: int
    steps: int


def _align(
    cited: Sequence[str], citing: Sequence[str], most: int, *, open_end: bool = False
) -> _Stretch:
    """Return the equal words of two sequences. After `most` steps, no more are looked for."""
    pairs: Pairs = []
    x = y = steps = 0
    while x < len(cited) and steps < most:
        found = _find_stretch(cited[x:], citing[y:], open_end=open_end)
        pairs += [(one + x, other + y) for one, other in found.pairs]
        x, y, steps = x + found.cited, y + found.citing, steps + found.steps
        if open_end and len(pairs) * 2 < x:
            break
    return _Stretch(pairs, x, y, steps)


def _find_stretch(cited: Sequence[str], citing: Sequence[str], *, open_end: bool) -> _Stretch:
    """Return the equal words from the beginning of both sequences.

    `reach[k]` is the furthest place in the cited words on diagonal k, where k fewer citing words
    are before it.
    """
    reach = {1: 0}
    rounds: list[dict[int, int]] = []
    steps = 0
    for edits in range(_MOST_EDITS + 1):
        rounds.append(dict(reach))
        for k in range(-edits, edits + 1, 2):
            begin, _ = _choose_edit(reach, k, len(cited), len(citing))
            x = begin
            while 0 <= x < len(cited) and x - k < len(citing) and cited[x] == citing[x - k]:
                x += 1
            reach[k] = x
            steps += 1 + x - begin
            if x == len(cited) and (open_end or x - k == len(citing)):
                pairs = _trace_back(rounds, k, x, len(cited), len(citing))
                return _Stretch(pairs, x, x - k, steps)
    ended = [(x, k) for k, x in reach.items() if x >= 0 and (k - _MOST_EDITS) % 2 == 0]
    x, k = max(ended, key=lambda place: (2 * place[0] - place[1], place[0]))
    return _Stretch(_trace_back(rounds, k, x, len(cited), len(citing)), x, x - k, steps)


def _choose_edit(reach: dict[int, int], k: int, cited: int, citing: int) -> tuple[int, int]:
    """Return the furthest place on a diagonal after one more edit, and the diagonal before it.

    The edit adds a citing word, or leaves out a cited one. The place is negative if there is none.
    """
    added, left_out = reach.get(k + 1, _NOWHERE), reach.get(k - 1, _NOWHERE) + 1
    if added - k > citing:
        added = _NOWHERE
    if left_out > cited:
        left_out = _NOWHERE
    return (added, k + 1) if added >= left_out else (left_out, k - 1)


def _trace_back(rounds: Sequence[dict[int, int]], k: int, x: int, cited: int, citing: int) -> Pairs:
    """Return the pairs of equal words on the way to a place."""
    pairs: Pairs = []
    for reach in reversed(rounds):
        begin, before = _choose_edit(reach, k, cited, citing)
        pairs += [(place, place - k) for place in range(x - 1, begin - 1, -1)]
        x, k = reach[before], before
    return pairs[::-1]


def list_changes(edits: Edits) -> Iterator[tuple[int, int, int, int]]:
    """Yield the ranges of words between equal ones: cited start and stop, citing start and stop."""
    x = y = 0
    for one, other in (*edits.pairs, (edits.cited, edits.citing)):
        if one > x or other > y:
            yield x, one, y, other
        x, y = one + 1, other + 1
