"""Judge how well the captures of an archive match a PWID; every answer carries the verdict. Pure.

How it works: `asked` converts a PWID to the URI, the span of seconds that its time covers and the
kind of record that its coverage means. `look_up` reads the candidates from the index: three short
ranges, however many captures there are. `judge` decides. Captures within the span with the
requested URI as recorded are exact. Those of another URI with the same canonical key are `same
second, other URI`. Otherwise the captures nearest in time can be offered. The captures of other
archives cannot be inspected here, so `judge_elsewhere` only reports how far to trust an archive.

What must stay true: `exact` depends only on the recorded URI and the recorded date, never on the
canonical key or on a date less precise than the PWID; a capture that is not exact is not returned,
unless the caller requested the nearest. docs/decisions/exactness.md
"""

from __future__ import annotations

import calendar
import enum
import re
from itertools import islice

import msgspec

from perdure.archives.dates import seconds_between, whole_second
from perdure.archives.index import ranges
from perdure.archives.index.ranges import Stretch
from perdure.archives.port import Capture, Captures
from perdure.archives.pwid.making import spelt
from perdure.archives.urlkey import urlkey
from perdure.ids.pwid import Pwid

MOST_CHOICES = 256
"""Captures listed as fitting one reference; a year of a busy page has more."""
_NEIGHBOURS = 32  # captures read on either side
_MOST_SEARCHED = 4096  # records, if the neighbours are all of unsuitable kinds


class Verdict(enum.Enum):
    """The relation of an answer to the request; a closed list."""

    EXACT = "exact"
    OTHER_URI = "same second, other URI"
    NEAREST = "nearest"
    ABSENT = "absent"
    CLOSED = "closed but known"
    MOVED = "moved"
    UNVERIFIED = "unverified"

    @property
    def token(self) -> str:
        """The word for machines: `exact`, `same-second-other-uri`, `nearest` …"""
        return self.value.replace(",", "").replace(" ", "-").lower()


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The capture that a reference asks for."""

    uri: str
    first: str
    """The first second that its time covers, in 14 digits."""
    last: str
    """The last second that its time covers."""
    date: str
    """Its time in the form of the W3C, with its precision."""
    coverage: str = "part"


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """The captures in an index with the canonical key of the request.

    If one within the span is exact, its neighbours are not needed and not included.
    """

    within: tuple[Capture, ...] = ()
    """Captures in the span of time, at most `MOST_CHOICES` and one."""
    before: tuple[Capture, ...] = ()
    """The last captures before it, the last first."""
    after: tuple[Capture, ...] = ()
    """The first captures after it."""


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict and the captures that it is about."""

    verdict: Verdict
    capture: Capture | None = None
    """The capture that is returned, or None."""
    delta: int | None = None
    """Seconds from the requested time to the capture; negative if the capture is earlier."""
    fits: tuple[Capture, ...] = ()
    """All captures that the reference fits exactly; several if its time is a day, for example."""
    offered: tuple[Capture, ...] = ()
    """Other captures, the best first, if none is returned."""

    @property
    def is_ambiguous(self) -> bool:
        """True if captures with different bytes fit equally well, so that one must be chosen."""
        return len({one.digest or (one.file, one.offset) for one in self.fits}) > 1

    @property
    def sentence(self) -> str:
        """The verdict for people."""
        if self.verdict is Verdict.NEAREST and self.delta is not None:
            return f"nearest {distance(self.delta)}"
        return self.verdict.value


# the request
# -----------


def asked(pwid: Pwid) -> Asked:
    """Return the capture that a PWID asks for.

    >>> from perdure.ids.pwid import parse
    >>> found = asked(parse("pwid:a.org:2016-02:page:http://www.dr.dk"))
    >>> found.first, found.last
    ('20160201000000', '20160229235959')
    """
    first, last = span(pwid.time)
    return Asked(
        uri=pwid.item, first=first, last=last, date=pwid.time, coverage=pwid.coverage or "page"
    )


def at(uri: str, time: str) -> Asked:
    """Return the capture that a URI at a 14-digit time asks for, as replay does."""
    return Asked(uri=uri, first=time, last=time, date=whole_second(time))


def span(date: str) -> tuple[str, str]:
    """Return the first and the last second of a time of any precision, in 14 digits each.

    A fraction is within its second; the second 60 is a second of its own.
    """
    digits = re.sub("[^0-9]", "", date)[:14]
    last = digits + "99991231235959"[len(digits) :]
    if len(digits) == len("201602"):
        last = f"{digits}{calendar.monthrange(int(digits[:4]), int(digits[4:6]))[1]:02}235959"
    return digits + "00000101000000"[len(digits) :], last


def look_up(captures: Captures, wanted: Asked) -> Evidence:
    """Look up the candidates in an index and, if none is exact, their neighbours in time."""
    key = urlkey(wanted.uri)
    inside = ranges.seconds(key, wanted.first, wanted.last)
    within = tuple(captures.scan(*inside, limit=MOST_CHOICES + 1))
    if any(suits(wanted.coverage, one) and _is_exact(wanted, one) for one in within):
        return Evidence(within=within)
    whole = Stretch(f"{key} ", f"{key}!")
    before, after = Stretch(whole.low, inside.low), Stretch(inside.high, whole.high)
    return Evidence(
        within=within,
        before=_beside(captures, before, wanted.coverage, backwards=True),
        after=_beside(captures, after, wanted.coverage, backwards=False),
    )


def _beside(
    captures: Captures, found: Stretch, coverage: str, *, backwards: bool
) -> tuple[Capture, ...]:
    """Return the first captures of a stretch; if none is suitable, search further for one."""
    first = captures.scan(*found, backwards=backwards, limit=_NEIGHBOURS)
    if len(first) < _NEIGHBOURS or any(suits(coverage, one) for one in first):
        return tuple(first)
    more = islice(ranges.walk(captures, found, backwards=backwards), _MOST_SEARCHED)
    return tuple(islice((one for one in more if suits(coverage, one)), 1))


# the verdict
# -----------


def judge(wanted: Asked, evidence: Evidence, *, nearest: bool = False) -> Judgement:
    """Return the verdict on the captures. `nearest` allows a capture that is not exact."""
    within = [one for one in evidence.within if suits(wanted.coverage, one)]
    fits = _best_dated(wanted, [one for one in within if _is_exact(wanted, one)])
    if fits:
        return Judgement(verdict=Verdict.EXACT, capture=fits[0], delta=0, fits=tuple(fits))
    others = sorted(
        (one for one in within if not same_uri(wanted.uri, one.uri) and _says_as_much(wanted, one)),
        key=_order,
    )
    near = _by_distance(wanted, evidence)
    offered = tuple(dict.fromkeys((*others, *near)))[:_NEIGHBOURS]
    if not nearest or not offered:
        verdict = Verdict.OTHER_URI if others else Verdict.ABSENT
        return Judgement(verdict=verdict, offered=offered)
    if others:
        return Judgement(verdict=Verdict.OTHER_URI, capture=others[0], delta=0)
    return Judgement(verdict=Verdict.NEAREST, capture=near[0], delta=delta(wanted, near[0]))


def judge_elsewhere(*, access: str, moved: bool) -> Judgement:
    """Return the verdict on another archive, from what the registry of archives says of it."""
    if access == "closed":
        return Judgement(verdict=Verdict.CLOSED)
    return Judgement(verdict=Verdict.MOVED if moved else Verdict.UNVERIFIED)


def same_uri(wanted: str, recorded: str) -> bool:
    """Return whether both are the same URI, character by character.

    `http://www.dr.dk` and `http://www.dr.dk/` are the same: HTTP cannot request an empty path, so
    the former can only be recorded as the latter (RFC 9110 section 4.2.3). A space that was
    recorded as such is the same as the `%20` of a PWID, which cannot contain spaces.
    """
    return wanted == recorded or _spelt(wanted) == _spelt(recorded)


_NO_PATH = re.compile(r"(https?://[^/?#]+)(?=[?#]|\Z)", re.IGNORECASE)


def _spelt(uri: str) -> str:
    return spelt(_NO_PATH.sub(r"\1/", uri, count=1))


_CONTENT = ("response", "resource", "conversion", "revisit")
_RANKS = {"response": 0, "revisit": 0, "resource": 1, "conversion": 2}
_COVERS: dict[str, re.Pattern[str]] = {
    "snapshot": re.compile(r"image/.*|application/pdf"),
    "recording": re.compile(
        r"(?:video|audio)/.*|application/(?:warc|x-warc|wacz|x-wacz|ogg|mp4).*"
    ),
}


def suits(coverage: str, capture: Capture) -> bool:
    """Return whether a record fits a coverage: content, an image of it, or any record."""
    if coverage == "other":
        return True
    if capture.kind not in _CONTENT:
        return False
    needed = _COVERS.get(coverage)
    return needed is None or needed.fullmatch(capture.media_type) is not None


def delta(wanted: Asked, capture: Capture) -> int:
    """Return the seconds from the requested span to a capture; 0 within the span."""
    if capture.time < wanted.first:
        return seconds_between(wanted.first, capture.time)
    if capture.time > wanted.last:
        return seconds_between(wanted.last, capture.time)
    return 0


def distance(seconds: int) -> str:
    """Format a difference in time for people.

    >>> distance(-93784), distance(5)
    ('-1 d 02:03:04', '+00:00:05')
    """
    days, rest = divmod(abs(seconds), 86400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{'-' if seconds < 0 else '+'}{f'{days} d ' if days else ''}{clock}"


def _is_exact(wanted: Asked, capture: Capture) -> bool:
    return same_uri(wanted.uri, capture.uri) and _says_as_much(wanted, capture)


_FRACTION = re.compile(r"[.,]([0-9]+)")


def _says_as_much(wanted: Asked, capture: Capture) -> bool:
    """Return whether the recorded date is as precise as the requested one, fractions included."""
    if capture.date == wanted.date:
        return True
    fraction = _FRACTION.search(wanted.date)
    if fraction is not None:
        recorded = _FRACTION.search(capture.date)
        return recorded is not None and recorded[1].rstrip("0") == fraction[1].rstrip("0")
    return _digits(capture.date) >= _digits(wanted.date)


def _digits(date: str) -> int:
    return len(re.sub("[^0-9]", "", date)[:14])


def _best_dated(wanted: Asked, fits: list[Capture]) -> list[Capture]:
    """Return the best of the captures that fit, in order.

    Captures are preferred if their date is as precise as the requested one, then by their kind of
    record, then if their URI is identical. A page as transferred is better than an image of it.
    """
    if len(fits) < 2:
        return fits
    found = [one for one in fits if _digits(one.date) == _digits(wanted.date)] or fits
    if wanted.coverage != "other":
        best = min(map(_rank, found))
        found = [one for one in found if _rank(one) == best]
    return sorted([one for one in found if one.uri == wanted.uri] or found, key=_order)


def _rank(capture: Capture) -> int:
    return _RANKS.get(capture.kind, len(_RANKS))


def _order(capture: Capture) -> tuple[str, int, str, str, int]:
    kind = _CONTENT.index(capture.kind) if capture.kind in _CONTENT else len(_CONTENT)
    return capture.time, kind, capture.date, capture.file, capture.offset


def _by_distance(wanted: Asked, evidence: Evidence) -> list[Capture]:
    """Sort the captures by distance in time, those of the requested URI first."""
    found = [*evidence.within, *evidence.before, *evidence.after]
    return sorted(
        (one for one in found if suits(wanted.coverage, one)),
        key=lambda one: (
            not same_uri(wanted.uri, one.uri),
            abs(delta(wanted, one)),
            _order(one),
        ),
    )
