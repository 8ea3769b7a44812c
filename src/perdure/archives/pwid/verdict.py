"""Judge how well the captures of an archive match a PWID; every answer carries the verdict. Pure.

How it works: `interpret_pwid` converts a PWID to the URI, the span of seconds that its time covers
and the kind of record that its coverage means. `look_up_evidence` reads the candidates from the
index: three short ranges, however many captures there are. `judge_evidence` decides. Captures
within the span with the requested URI as recorded are exact. Those of another URI with the same
canonical key are `same second, other URI`. Otherwise the captures nearest in time can be offered.
The captures of other archives cannot be inspected here, so `judge_elsewhere` only reports how far
to trust an archive.

What must stay true: `exact` depends only on the recorded URI and the recorded date, never on the
canonical key or on a date less precise than the PWID; a capture that is not exact is not returned,
unless the caller requested the nearest. docs/decisions/exactness.md
"""

from __future__ import annotations

import enum
import re
from itertools import islice

import msgspec

from perdure.archives.dates import format_second, seconds_between
from perdure.archives.index import ranges
from perdure.archives.index.ranges import IndexRange
from perdure.archives.port import Capture, Captures
from perdure.archives.pwid.making import spell_item
from perdure.ids.pwid import Pwid
from perdure.ids.urlkey import make_url_key
from perdure.model.timestamps import find_span

MOST_CHOICES = 256
"""Captures listed as fitting one reference; a year of a busy page has more."""
_NEIGHBOURS = 32  # captures read on either side
_MOST_SEARCHED = 4096  # records, if the neighbours are all of unsuitable kinds


class CaptureVerdict(enum.Enum):
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


class WantedCapture(msgspec.Struct, frozen=True, kw_only=True):
    """The capture that a reference asks for."""

    uri: str
    first: str
    """The first second that its time covers, in 14 digits."""
    last: str
    """The last second that its time covers."""
    date: str
    """Its time in the form of the W3C, with its precision."""
    coverage: str = "part"
    any_method: bool = False
    """True if a response to another method, such as POST, is accepted when there is none to GET."""


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

    verdict: CaptureVerdict
    capture: Capture | None = None
    """The capture that is returned, or None."""
    delta: int | None = None
    """Seconds from the requested time to the capture; negative if the capture is earlier."""
    fits: tuple[Capture, ...] = ()
    """All captures that the reference fits exactly; several if its time is a day, for example."""
    offered: tuple[Capture, ...] = ()
    """Other captures, the best first, if none is returned."""
    other_uri: bool = False
    """Whether the capture has another URI than the requested one, with the same canonical key."""

    @property
    def is_ambiguous(self) -> bool:
        """True if captures with different bytes fit equally well, so that one must be chosen."""
        return len({one.digest or (one.file, one.offset) for one in self.fits}) > 1

    @property
    def sentence(self) -> str:
        """The verdict for people."""
        if self.verdict is CaptureVerdict.NEAREST and self.delta is not None:
            other = ", other URI" if self.other_uri else ""
            return f"nearest {format_distance(self.delta)}{other}"
        return self.verdict.value


# the request
# -----------


def interpret_pwid(pwid: Pwid) -> WantedCapture:
    """Return the capture that a PWID asks for.

    >>> from perdure.ids import parse
    >>> found = interpret_pwid(parse("pwid:a.org:2016-02:page:http://www.dr.dk"))
    >>> found.first, found.last
    ('20160201000000', '20160229235959')
    """
    first, last = find_span(pwid.time)
    return WantedCapture(
        uri=pwid.item,
        first=first,
        last=last,
        date=pwid.time,
        coverage=pwid.coverage or "page",
        any_method=True,
    )


def interpret_uri_at(uri: str, time: str) -> WantedCapture:
    """Return the capture that a URI at a 14-digit time asks for, as replay does."""
    return WantedCapture(uri=uri, first=time, last=time, date=format_second(time))


def look_up_evidence(captures: Captures, wanted: WantedCapture) -> Evidence:
    """Look up the candidates in an index and, if none is exact, their neighbours in time."""
    key = make_url_key(wanted.uri)
    inside = ranges.make_seconds_range(key, wanted.first, wanted.last)
    within = tuple(captures.scan_range(*inside, limit=MOST_CHOICES + 1))
    if any(_can_fit(wanted, one) and _is_exact(wanted, one) for one in within):
        return Evidence(within=within)
    whole = IndexRange(f"{key} ", f"{key}!")
    before, after = IndexRange(whole.low, inside.low), IndexRange(inside.high, whole.high)
    return Evidence(
        within=within,
        before=_find_beside(captures, before, wanted.coverage, backwards=True),
        after=_find_beside(captures, after, wanted.coverage, backwards=False),
    )


def _find_beside(
    captures: Captures, found: IndexRange, coverage: str, *, backwards: bool
) -> tuple[Capture, ...]:
    """Return the first captures of a stretch; if none is suitable, search further for one."""
    first = captures.scan_range(*found, backwards=backwards, limit=_NEIGHBOURS)
    if len(first) < _NEIGHBOURS or any(suits_coverage(coverage, one) for one in first):
        return tuple(first)
    more = islice(ranges.walk_range(captures, found, backwards=backwards), _MOST_SEARCHED)
    return tuple(islice((one for one in more if suits_coverage(coverage, one)), 1))


# the verdict
# -----------


def judge_evidence(
    wanted: WantedCapture, evidence: Evidence, *, nearest: bool = False
) -> Judgement:
    """Return the verdict on the captures. `nearest` allows a capture that is not exact."""
    possible = [one for one in evidence.within if _can_fit(wanted, one)]
    fits = _choose_best_dated(wanted, [one for one in possible if _is_exact(wanted, one)])
    if fits:
        return Judgement(verdict=CaptureVerdict.EXACT, capture=fits[0], delta=0, fits=tuple(fits))
    others = sorted(
        (
            one
            for one in evidence.within
            if suits_coverage(wanted.coverage, one)
            and not is_same_uri(wanted.uri, one.uri)
            and _says_as_much(wanted, one)
        ),
        key=_sort_key,
    )
    near = _sort_by_distance(wanted, evidence)
    offered = tuple(dict.fromkeys((*others, *near)))[:_NEIGHBOURS]
    if not nearest or not offered:
        verdict = CaptureVerdict.OTHER_URI if others else CaptureVerdict.ABSENT
        return Judgement(verdict=verdict, offered=offered)
    return judge_capture(wanted, others[0] if others else near[0])


def judge_capture(wanted: WantedCapture, capture: Capture) -> Judgement:
    """Return the verdict on one capture with the canonical key of the request."""
    delta = measure_delta(wanted, capture)
    if _is_exact(wanted, capture) and not delta:
        return Judgement(
            verdict=CaptureVerdict.EXACT, capture=capture, delta=delta, fits=(capture,)
        )
    other_uri = not is_same_uri(wanted.uri, capture.uri)
    if other_uri and not delta and _says_as_much(wanted, capture):
        return Judgement(
            verdict=CaptureVerdict.OTHER_URI, capture=capture, delta=delta, other_uri=True
        )
    return Judgement(
        verdict=CaptureVerdict.NEAREST, capture=capture, delta=delta, other_uri=other_uri
    )


def judge_elsewhere(*, access: str, moved: bool) -> Judgement:
    """Return the verdict on another archive, from its entry in the registry of archives."""
    if access == "closed":
        return Judgement(verdict=CaptureVerdict.CLOSED)
    return Judgement(verdict=CaptureVerdict.MOVED if moved else CaptureVerdict.UNVERIFIED)


def is_same_uri(wanted: str, recorded: str) -> bool:
    """Return whether both are the same URI, character by character.

    `http://www.dr.dk` and `http://www.dr.dk/` are the same: HTTP cannot request an empty path, so
    the former can only be recorded as the latter (RFC 9110 section 4.2.3). A character that no URI
    can contain, such as a space or a vertical bar, is the same as its escape: some clients send it
    as it is, others escape it.
    """
    return wanted == recorded or _spell_uri(wanted) == _spell_uri(recorded)


_NEEDED_ESCAPE = re.compile(
    "%(?:[01][0-9a-f]|2[02]|3[ce]|5[b-e]|60|7[b-df]|[89a-f][0-9a-f])", re.IGNORECASE
)
"""An escape of a character that a URI cannot contain, in upper or lower case."""
_NO_PATH = re.compile(r"(https?://[^/?#]+)(?=[?#]|\Z)", re.IGNORECASE)


def _spell_uri(uri: str) -> str:
    spelled = spell_item(_NO_PATH.sub(r"\1/", uri, count=1))
    return _NEEDED_ESCAPE.sub(lambda escape: escape[0].upper(), spelled)


_CONTENT = ("response", "resource", "conversion", "revisit")
_RANKS = {"response": 0, "revisit": 0, "resource": 1, "conversion": 2}
_COVERS: dict[str, re.Pattern[str]] = {
    "snapshot": re.compile(r"image/.*|application/pdf"),
    "recording": re.compile(
        r"(?:video|audio)/.*|application/(?:warc|x-warc|wacz|x-wacz|ogg|mp4).*"
    ),
}


def suits_coverage(coverage: str, capture: Capture) -> bool:
    """Return whether a record fits a coverage: content, an image of it, or any record.

    Content is what GET returns: the answer to a POST or OPTIONS request is another thing.
    """
    if coverage == "other":
        return True
    return not capture.method and _has_content(coverage, capture)


def _can_fit(wanted: WantedCapture, capture: Capture) -> bool:
    """Return whether a record can be what a reference means, apart from its URI and time."""
    if wanted.any_method and capture.method:
        return wanted.coverage == "other" or _has_content(wanted.coverage, capture)
    return suits_coverage(wanted.coverage, capture)


def _has_content(coverage: str, capture: Capture) -> bool:
    if capture.kind not in _CONTENT:
        return False
    needed = _COVERS.get(coverage)
    return needed is None or needed.fullmatch(capture.media_type) is not None


def measure_delta(wanted: WantedCapture, capture: Capture) -> int:
    """Return the seconds from the requested span to a capture; 0 within the span."""
    if capture.time < wanted.first:
        return seconds_between(wanted.first, capture.time)
    if capture.time > wanted.last:
        return seconds_between(wanted.last, capture.time)
    return 0


def format_distance(seconds: int) -> str:
    """Format a difference in time for people.

    >>> format_distance(-93784), format_distance(5)
    ('-1 d 02:03:04', '+00:00:05')
    """
    days, rest = divmod(abs(seconds), 86400)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{'-' if seconds < 0 else '+'}{f'{days} d ' if days else ''}{clock}"


def _is_exact(wanted: WantedCapture, capture: Capture) -> bool:
    return is_same_uri(wanted.uri, capture.uri) and _says_as_much(wanted, capture)


_FRACTION = re.compile(r"[.,]([0-9]+)")


def _says_as_much(wanted: WantedCapture, capture: Capture) -> bool:
    """Return whether the recorded date is as precise as the requested one, fractions included."""
    if capture.date == wanted.date:
        return True
    fraction = _FRACTION.search(wanted.date)
    if fraction is not None:
        recorded = _FRACTION.search(capture.date)
        return recorded is not None and recorded[1].rstrip("0") == fraction[1].rstrip("0")
    return _count_digits(capture.date) >= _count_digits(wanted.date)


def _count_digits(date: str) -> int:
    return len(re.sub("[^0-9]", "", date)[:14])


def _choose_best_dated(wanted: WantedCapture, fits: list[Capture]) -> list[Capture]:
    """Return the best of the captures that fit, in order.

    Captures are preferred if their date is as precise as the requested one, then by their kind of
    record, then if their URI is identical. A page as transferred is better than an image of it.
    """
    if len(fits) < 2:
        return fits
    found = [one for one in fits if _count_digits(one.date) == _count_digits(wanted.date)] or fits
    if wanted.coverage != "other":
        found = [one for one in found if not one.method] or found
        best = min(map(_rank_kind, found))
        found = [one for one in found if _rank_kind(one) == best]
    return sorted([one for one in found if one.uri == wanted.uri] or found, key=_sort_key)


def _rank_kind(capture: Capture) -> int:
    return _RANKS.get(capture.kind, len(_RANKS))


def _sort_key(capture: Capture) -> tuple[str, int, str, str, int]:
    kind = _CONTENT.index(capture.kind) if capture.kind in _CONTENT else len(_CONTENT)
    return capture.time, kind, capture.date, capture.file, capture.offset


def _sort_by_distance(wanted: WantedCapture, evidence: Evidence) -> list[Capture]:
    """Sort the captures by distance in time, then by spelling."""
    found = [*evidence.within, *evidence.before, *evidence.after]
    suited = [one for one in found if suits_coverage(wanted.coverage, one)]
    return sorted(suited, key=lambda one: rank_distance(wanted, one))


def rank_distance(wanted: WantedCapture, capture: Capture) -> tuple[object, ...]:
    """Return the sort key of a capture among those that can be returned instead: the nearest in
    time, of those at the same distance the requested spelling.  # ruling: capture-choice
    """
    distance = abs(measure_delta(wanted, capture))
    return distance, not is_same_uri(wanted.uri, capture.uri), _sort_key(capture)
