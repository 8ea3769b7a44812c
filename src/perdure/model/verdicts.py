"""Verdicts on citations: how the text at the origin of a citation compares with what is cited.

How it works: a comparison of two texts, pictures or sounds yields a `Comparison`. Positions count
the units of what was compared: code points of plain text, pixels, samples, bytes.

What must stay true: a verdict is computed whenever it is asked for, and never stored as truth. The
order of the verdicts is that of their strength: of several, the last one counts.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from perdure.ids import Identifier


class Verdict(StrEnum):
    """The content of a document at the origin of a citation, the strongest first."""

    VERBATIM = "verbatim"
    """Equal characters, pixels or samples."""
    REFLOWED = "reflowed"
    """Equal but for white space, line breaks, and `>` before lines."""
    SAME_WORDS = "same-words"
    """Equal but for case, quotation marks and dashes as well."""
    TRANSCLUDED = "transcluded"
    """An element that embeds the cited part by its identifier."""
    REFERENCED = "referenced"
    """The identifier of the cited part, or a link to it, but no copy."""
    ALTERED = "altered"
    """A passage of which at least half is the cited part."""
    ELSEWHERE = "elsewhere"
    """Nothing, but the cited part is at another place of the document."""
    ABSENT = "absent"
    """Nothing of the cited part."""
    UNVERIFIABLE = "unverifiable"
    """Unknown: one of the documents is not held here, or cannot be decoded."""

    @property
    def is_quotation(self) -> bool:
        """True if the cited part is at the origin, or is embedded there."""
        return self in _QUOTATIONS


_QUOTATIONS = frozenset(
    (Verdict.VERBATIM, Verdict.REFLOWED, Verdict.SAME_WORDS, Verdict.TRANSCLUDED)
)
_STRENGTH = {verdict: place for place, verdict in enumerate(Verdict)}


def find_weakest(*verdicts: Verdict) -> Verdict:
    """Return the verdict that counts for a citation of a citation.

    >>> find_weakest(Verdict.VERBATIM, Verdict.REFLOWED).value
    'reflowed'
    """
    return max(verdicts, key=_STRENGTH.__getitem__)


class WordChange(msgspec.Struct, frozen=True, kw_only=True):
    """Words of the cited part that the citing document replaces, leaves out or adds."""

    cited: str
    """The words of the cited part; empty if words were added."""
    citing: str
    """The words of the citing document; empty if words were left out."""
    cited_start: int
    """The place of the change in the cited part."""
    cited_stop: int
    start: int
    """The place of the change in the citing document."""
    stop: int


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """The result of comparing a cited part with the content at an origin."""

    verdict: Verdict
    start: int = 0
    """The place in the citing document at which the passage begins; for `elsewhere`, the place at
    which it does begin. 0 if there is none."""
    stop: int = 0
    """The end of the passage, excluded; equal to `start` if there is none."""
    kept: int = 0
    """If altered, the number of words, pixels, samples or bytes that are equal; if absent, of units
    of decoded content."""
    total: int = 0
    """If altered, the number of words, pixels, samples or bytes of the cited part; if absent, of
    units of decoded content that were compared at the origin."""
    is_complete: bool = True
    """False if the texts are so long that only the first `total` words of the cited part were
    compared or, if absent, that only copies without any difference were searched everywhere."""
    changes: tuple[WordChange, ...] = ()
    """If altered, the first differences, in order."""
    more_changes: int = 0
    """The number of further differences."""
    likeness: Verdict | None = None
    """If elsewhere, how the passage there compares with the cited part."""


class CitationReport(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict on a citation, and what it rests on."""

    citation: Identifier
    citing: Identifier
    origin: str
    cited: Identifier
    verdict: Verdict
    part: Identifier | None = None
    """The passage in the citing document, as a part of it; for `elsewhere`, the passage there."""
    extent: int = 0
    """The length of the passage."""
    unit: str = ""
    """The unit of the extent: `character`, `pixel`, `sample`, `byte`."""
    likeness: Verdict | None = None
    """If elsewhere, how the passage there compares with the cited part."""
    right: Identifier | None = None
    """If elsewhere, the citation with the right origin."""
    kept: int = 0
    total: int = 0
    is_complete: bool = True
    changes: tuple[WordChange, ...] = ()
    more_changes: int = 0
    passage: Excerpt | None = None
    """The text at the origin; None if nothing is there, or if it is not text."""
    quoted: Excerpt | None = None
    """The text of the cited part, None if it is not text."""
    side: Identifier | None = None
    """If unverifiable, the document that is not held here or cannot be decoded."""
    reason: str = ""
    """If unverifiable, why."""
    note: str = ""
    """If decoded content is not equal, what that does not say: the comparison is exact."""
    inner: CitationReport | None = None
    """The report on the cited identifier, if that is a citation itself."""


class Excerpt(msgspec.Struct, frozen=True, kw_only=True):
    """A passage in its context. Positions are not part of it."""

    text: str
    before: str = ""
    after: str = ""
    is_whole: bool = True
    """False if `text` is only the beginning of the passage."""
