"""Text without the differences that a grade of equality disregards, with the places of the rest.

How it works: runs of white space, and for `SAME_WORDS` of quotation marks and dashes, read as one
blank, one dash or nothing. What lies between them is copied, for `SAME_WORDS` without case and in
one Unicode form. The folded text is one string beside two columns: the places of each copied
stretch in the folded text and in the text itself. Bisection finds the place of a folded character.

Two texts are equal in a grade if their folded texts are. Between letters, a long dash or one after
a blank reads as a blank, and a hyphen as nothing, because it may be the end of a line that divides
a word. Beside a digit a dash may be a minus, so it is kept.

What must stay true: a character whose folded form has another length is a stretch of its own, so
the place of every folded character is exact.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Iterator

from perdure.model.verdicts import Verdict

# white space, signs without width, and the marks that mail puts before quoted lines
_PREFIX = r"(?m:^)[ \t]*>[> \t]*"
_SPACES = r"\s\u200b\u2060\ufeff"
_HYPHEN = "\u00ad"  # a soft hyphen is invisible, or divides a word at the end of a line
_QUOTES = "\"'`\u00ab\u00b4\u00bb\u2018-\u201f\u2039\u203a\u300c-\u300f\u301d-\u301f\uff02\uff07"
_DASHES = "\\-\u2010-\u2015\u2212\u2e3a\u2e3b\ufe58\ufe63\uff0d"


def _compose_run(marks: str) -> re.Pattern[str]:
    """Return a pattern of runs of white space and marks, other than a single blank."""
    run = rf"{_PREFIX}|[{_SPACES}{marks}]"
    return re.compile(rf"(?:{_PREFIX}| (?=[{_SPACES}{marks}])|(?! )[{_SPACES}{marks}])(?:{run})*")


_RUNS = {
    Verdict.REFLOWED: _compose_run(_HYPHEN),
    Verdict.SAME_WORDS: _compose_run(_HYPHEN + _QUOTES + _DASHES),
}
_DASH = re.compile(f"[{_DASHES}]")
_BREAK = re.compile(rf"[{_SPACES}][^{_DASHES}]*[{_DASHES}]|--|[\u2014\u2015\u2e3a\u2e3b]")
_QUOTES_ONLY = re.compile(f"[{_QUOTES}]+")


class FoldedText:
    """A text from `start` to `stop`, folded for a grade, up to `most` folded characters or a few
    more.
    """

    def __init__(
        self,
        written: str,
        grade: Verdict,
        start: int = 0,
        most: int | None = None,
        stop: int | None = None,
    ) -> None:
        written = written if stop is None else written[:stop]
        self._start = start
        self._folded, self._places = array("Q"), array("Q")
        self._stops = array("Q")
        pieces: list[str] = []
        length = 0
        while written.startswith(" ", start):
            start += 1  # a blank before the first word
        for place, stop, text in _fold_pieces(written, grade, start):
            if not text or (text == " " and not length):
                continue
            self._folded.append(length)
            self._places.append(place)
            self._stops.append(stop)
            pieces.append(text)
            length += len(text)
            if most is not None and length >= most:
                break
        self.text = "".join(pieces)

    def find_start(self, place: int) -> int:
        """Return the place in the text at which a folded character begins."""
        if place >= len(self.text):
            return self._stops[-1] if self._stops else self._start
        run = bisect_right(self._folded, place) - 1
        return self._places[run] + self._measure(run, place)

    def find_stop(self, place: int) -> int:
        """Return the place in the text at which the folded character before a place ends."""
        if place <= 0:
            return self._places[0] if self._places else self._start
        run = bisect_right(self._folded, place - 1) - 1
        inside = self._measure(run, place - 1)
        whole = self._stops[run] - self._places[run]
        stretch = self._measure_folded(run)
        return self._places[run] + (inside + 1 if stretch == whole else whole)

    def find_folded(self, place: int) -> int:
        """Return the first folded character that is written at or after a place in the text."""
        run = bisect_right(self._places, place) - 1
        if run < 0:
            return 0
        inside = min(place - self._places[run], self._measure_folded(run))
        return self._folded[run] + (inside if place < self._stops[run] else 0)

    def _measure(self, run: int, place: int) -> int:
        """Return the characters before a folded place in its stretch."""
        if self._measure_folded(run) != self._stops[run] - self._places[run]:
            return 0
        return place - self._folded[run]

    def _measure_folded(self, run: int) -> int:
        after = self._folded[run + 1] if run + 1 < len(self._folded) else len(self.text)
        return after - self._folded[run]


def fold_letters(written: str) -> str:
    """Return letters without case and in one Unicode form: ligatures as letters.

    >>> fold_letters("O\\ufb03cial")
    'official'
    """
    if written.isascii():
        return written.lower()
    return unicodedata.normalize("NFKC", written).casefold()


def fold_text(written: str, grade: Verdict) -> str:
    """Return a folded text without a blank or a dash at its end, where the next word is unknown.

    >>> fold_text('The "fox" \\u2013 it jumps', Verdict.SAME_WORDS)
    'the fox it jumps'
    """
    return FoldedText(written, grade).text.rstrip(" -" if grade is Verdict.SAME_WORDS else " ")


def _fold_pieces(written: str, grade: Verdict, start: int) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and folded form of each stretch and of each run between them."""
    at = start
    for run in _RUNS[grade].finditer(written, start):
        yield from _fold_stretch(written, at, run.start(), grade)
        yield run.start(), run.end(), _read_run(written, run, grade, start)
        at = run.end()
    yield from _fold_stretch(written, at, len(written), grade)


def _read_run(written: str, run: re.Match[str], grade: Verdict, start: int) -> str:
    """Return what a run reads as."""
    marks = run[0]
    if grade is Verdict.SAME_WORDS:
        if _DASH.search(marks):
            before, after = run.start() - 1, run.end()
            joins = start <= before and after < len(written)
            if not (joins and written[before].isalpha() and written[after].isalpha()):
                return "-"
            return " " if _BREAK.search(marks) else ""
        if _QUOTES_ONLY.fullmatch(marks):
            return ""
    return "" if _HYPHEN in marks else " "


def _fold_stretch(
    written: str, start: int, stop: int, grade: Verdict
) -> Iterator[tuple[int, int, str]]:
    if start == stop:
        return
    stretch = written[start:stop]
    if grade is Verdict.REFLOWED:
        yield start, stop, stretch
        return
    folded = fold_letters(stretch)
    if stretch.isascii() or (
        len(folded) == len(stretch) and unicodedata.is_normalized("NFKC", stretch)
    ):
        yield start, stop, folded
        return
    at = start
    for place in range(start + 1, stop + 1):
        if place == stop or not unicodedata.combining(written[place]):
            yield at, place, fold_letters(written[at:place])
            at = place
