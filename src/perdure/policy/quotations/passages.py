"""Comparison of a quotation with the text at its origin (section 3.5.2 of the PDI draft).

How it works: `compare_passages` tries the grades of equality, the strictest first: equal
characters; equal but for white space (`REFLOWED`); equal but for case, quotation marks and dashes
(`SAME_WORDS`). If none holds at the origin, the words there are compared (`differences`), and the
nearest place where a grade does hold is found. That place counts, unless the passage at the origin
is a different one, of which more than half is the cited text.

The origin is a range of places at one of which the passage must begin: a single character in most
texts, all of a page or of a row where these are the positions of the medium.

What must stay true: time grows with the length of the texts and no faster; a search that does not
reach all of a document says so. If the cited text is at the origin, the result is `VERBATIM`,
however often it is elsewhere. A result other than `ABSENT` has the place of the passage.
"""

from __future__ import annotations

from perdure.model.verdicts import Comparison, Verdict
from perdure.policy.quotations.differences import compare_words
from perdure.policy.quotations.folding import FoldedText, fold_text

_GRADES = (Verdict.REFLOWED, Verdict.SAME_WORDS)
_AROUND = 2_000_000
"""Characters before and after an origin in which a passage that is not verbatim is looked for."""
_GLANCE = 200  # folded characters that are compared before all others


def compare_passages(citing: str, start: int, until: int, cited: str) -> Comparison:
    """Compare a cited text with the passage that begins at one of the places [start, until).

    Both texts have one line feed for each line break. Positions count code points.

    >>> compare_passages("He said: the\\n> fox jumps.", 9, 10, "the fox jumps").verdict.value
    'reflowed'
    """
    if not cited:
        return Comparison(verdict=Verdict.ABSENT)
    found = citing.find(cited, start, min(until - 1 + len(cited), len(citing)))
    if found >= 0:
        return _place(Verdict.VERBATIM, found, found + len(cited))
    folded = {grade: fold_text(cited, grade) for grade in _GRADES}
    for grade, wanted in folded.items():
        here = _find_here(citing, start, until, wanted, grade)
        if here is not None:
            return here
    altered = compare_words(citing, start, until, cited)
    there = None if altered is None else _find_inside(citing, altered, cited, folded)
    there = there or _find_there(citing, start, cited, folded)
    if there is None or (altered is not None and _is_apart(altered, there)):
        searched = start <= _AROUND and len(citing) - start <= _AROUND
        return altered or Comparison(verdict=Verdict.ABSENT, is_complete=searched)
    return Comparison(
        verdict=Verdict.ELSEWHERE, start=there.start, stop=there.stop, likeness=there.verdict
    )


def _is_apart(altered: Comparison, there: Comparison) -> bool:
    """Return True if a passage at the origin is altered, and not only begun at the wrong place."""
    # ruling: citation-verdict
    overlap = altered.start < there.stop and there.start < altered.stop
    return not overlap and altered.kept * 2 > altered.total


def _place(verdict: Verdict, start: int, stop: int) -> Comparison:
    return Comparison(verdict=verdict, start=start, stop=stop)


def _find_here(
    citing: str, start: int, until: int, wanted: str, grade: Verdict
) -> Comparison | None:
    """Return the passage at the origin that is equal in a grade."""
    if not wanted:
        return None
    if until > start + 1:
        folded = FoldedText(citing, grade, start, until - start + len(wanted))
        at = folded.text.find(wanted)
        if at < 0 or folded.find_start(at) >= until:
            return None
        return _place(grade, folded.find_start(at), folded.find_stop(at + len(wanted)))
    glance = FoldedText(citing, grade, start, _GLANCE).text[:_GLANCE]
    if not (glance.startswith(wanted) or wanted.startswith(glance)):
        return None
    folded = FoldedText(citing, grade, start, len(wanted))
    if not folded.text.startswith(wanted):
        return None
    return _place(grade, start, folded.find_stop(len(wanted)))


def _find_inside(
    citing: str, altered: Comparison, cited: str, folded: dict[Verdict, str]
) -> Comparison | None:
    """Return a copy that begins in an altered passage: only its origin is wrong."""
    stop = altered.stop + len(cited)
    found = citing.find(cited, altered.start, stop)
    if found >= 0:
        return _place(Verdict.VERBATIM, found, found + len(cited))
    for grade, wanted in folded.items():
        text = FoldedText(citing, grade, altered.start, stop=stop)
        at = text.text.find(wanted)
        if wanted and at >= 0:
            return _place(grade, text.find_start(at), text.find_stop(at + len(wanted)))
    return None


def _find_there(
    citing: str, start: int, cited: str, folded: dict[Verdict, str]
) -> Comparison | None:
    """Return the passage nearest to the origin that is equal in the strictest grade."""
    nearest = _find_nearest(citing, start, cited)
    if nearest is not None:
        return _place(Verdict.VERBATIM, nearest, nearest + len(cited))
    for grade, wanted in folded.items():
        if not wanted:
            continue
        text = FoldedText(citing, grade, max(start - _AROUND, 0), stop=start + _AROUND)
        at = _find_nearest(text.text, text.find_folded(start), wanted)
        if at is not None:
            return _place(grade, text.find_start(at), text.find_stop(at + len(wanted)))
    return None


def _find_nearest(text: str, origin: int, wanted: str) -> int | None:
    """Return the occurrence nearest to a place, the earlier of two at the same distance."""
    after = text.find(wanted, origin)
    before = text.rfind(wanted, 0, min(origin + len(wanted) - 1, len(text)))
    found = [at for at in (before, after) if at >= 0]
    return min(found, key=lambda at: abs(at - origin), default=None)
