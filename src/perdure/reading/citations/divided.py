"""Texts with a line break where a block of a page ends, although its source has only tags there.

How it works: people see two paragraphs or cells as two, but their text may be `one.Two`. If a
passage does not compare as the text is, it is compared again with a line feed at these places
(`perdure.extractors.plain_text.list_breaks`). The result is that of white space that differs.

What must stay true: positions in the result are those of the texts themselves.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

from msgspec import structs

from perdure.model.verdicts import Comparison, Verdict, WordChange
from perdure.policy.quotations.passages import compare_passages


class DividedPassage:
    """A text, and the same with line feeds at its breaks."""

    def __init__(self, text: str, breaks: Sequence[int] = ()) -> None:
        self.text = text
        self._breaks = [
            one
            for one in sorted(set(breaks))
            if 0 < one < len(text) and not (text[one - 1].isspace() or text[one].isspace())
        ]
        self._shifted = [one + number for number, one in enumerate(self._breaks)]

    @property
    def has_breaks(self) -> bool:
        """True if something is only divided by tags."""
        return bool(self._breaks)

    def divide(self) -> str:
        """Return the text with line feeds at its breaks."""
        ends = [0, *self._breaks, len(self.text)]
        return "\n".join(self.text[start:stop] for start, stop in pairwise(ends))

    def shift(self, place: int) -> int:
        """Return the place in the divided text of a place in the text."""
        return place + bisect_right(self._breaks, place)

    def restore(self, place: int) -> int:
        """Return the place in the text of one in the divided text."""
        return place - bisect_left(self._shifted, place)


def compare_divided(
    citing: DividedPassage, start: int, until: int, cited: DividedPassage
) -> Comparison:
    """Compare a cited text with the passage that begins at one of the places [start, until), as
    `compare_passages` does, and again as divided texts if that finds no quotation.
    """
    found = compare_passages(citing.text, start, until, cited.text)
    if found.verdict.is_quotation or not (citing.has_breaks or cited.has_breaks):
        return found
    first, last = citing.shift(start), citing.shift(until - 1) + 1
    divided = compare_passages(citing.divide(), first, last, cited.divide())
    if found.verdict is Verdict.ELSEWHERE and not divided.verdict.is_quotation:
        return found
    likeness = divided.likeness
    if likeness is Verdict.VERBATIM:
        likeness = Verdict.REFLOWED
    is_equal = divided.verdict is Verdict.VERBATIM
    return structs.replace(
        divided,
        verdict=Verdict.REFLOWED if is_equal else divided.verdict,
        likeness=likeness,
        start=citing.restore(divided.start),
        stop=citing.restore(divided.stop),
        changes=tuple(_restore(one, citing, cited) for one in divided.changes),
    )


def _restore(change: WordChange, citing: DividedPassage, cited: DividedPassage) -> WordChange:
    return structs.replace(
        change,
        start=citing.restore(change.start),
        stop=citing.restore(change.stop),
        cited_start=cited.restore(change.cited_start),
        cited_stop=cited.restore(change.cited_stop),
    )
