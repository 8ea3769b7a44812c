"""Tracks, moments, intervals and regions of media: `ffp(track_ID=101)*mp(/~time('npt','50'))`.

Specification: ISO/IEC 21000-17, on the XPointer Framework, and its use by ISO 24619. Schemes that
are joined by `*` are looked for one in another; those side by side are alternatives.

>>> read("ffp(track_ID=101)*mp(/~time(’npt’,’50’))")
Within(outer=Track(kind='track_ID', value='101'), inner=Instant(at=Fraction(50, 1)))
>>> str(read("mp(~time('npt','10','30')/~region(rect(10,10,30,20)))"))
't=10,30&xywh=10,10,20,10'
>>> read("mp(/~time('utc','50'))")  # doctest: +ELLIPSIS
Traceback (most recent call last):
perdure.errors.MalformedPart: ... at 3; expected the time scheme npt or smpte-24, ...

One time is a moment, not the begin of an interval. The quotation marks that ISO 24619 prints are
read as those that are meant, and so is a path without its slash, as it is found in the wild.
"""

from __future__ import annotations

import re
from fractions import Fraction

from perdure.parts.grammar import DIGITS, Text, decode
from perdure.parts.selectors import (
    Area,
    First,
    Instant,
    Media,
    Octets,
    Selector,
    Time,
    Track,
    Within,
)
from perdure.parts.times import TIMECODES, npt, timecode
from perdure.parts.xpointer import Piece, pieces, refuse_no_characters

_RULE = "ISO/IEC 21000-17 section 6"
_QUOTES = str.maketrans("‘’", "''")
_TRACK = re.compile("(track_ID|item_ID|item_name)=(.++)", re.DOTALL)
_NUMERIC = frozenset({"track_ID", "item_ID"})
_OFFSET = re.compile(rf"'?([0-9]{{1,{DIGITS}}}+)'?,'?([0-9]{{1,{DIGITS}}}+)?'?", re.ASCII)


def read(text: str) -> Selector:
    """The part that a text names. Raises MalformedPart."""
    whole = decode(text, _RULE)
    refuse_no_characters(whole)
    chains: list[list[Selector | None]] = []
    for piece in pieces(whole, joins=True):
        selector = _select(whole, piece)
        if piece.joined:
            chains[-1].append(selector)
        else:
            chains.append([selector])
    choices = [_nested(chain) for chain in chains]
    known = tuple(choice for choice in choices if choice is not None)
    if not known:
        raise whole.fault(0, "ffp(), offset() or mp(): no other scheme is served", _RULE)
    return known[0] if len(known) == 1 else First(known)


def _nested(chain: list[Selector | None]) -> Selector | None:
    """Selectors one in another; None where one of them has a scheme that is not known."""
    *outer, selector = chain
    for one in reversed(outer):
        selector = Within(one, selector) if one is not None and selector is not None else None
    return selector


def _select(whole: Text, piece: Piece) -> Selector | None:
    match piece.name:
        case "ffp":
            return _track(whole, piece)
        case "offset":
            return _octets(whole, piece)
        case "mp":
            return _path(whole, piece)
    return None


def _track(whole: Text, piece: Piece) -> Track:
    found = _TRACK.fullmatch(piece.data)
    numeric = found is not None and found[1] in _NUMERIC
    if found is None or (numeric and not re.fullmatch(f"[0-9]{{1,{DIGITS}}}", found[2])):
        raise whole.fault(piece.at, "track_ID= or item_ID= with a number, or item_name=", _RULE)
    return Track(found[1], str(int(found[2])) if numeric else found[2])


def _octets(whole: Text, piece: Piece) -> Octets:
    found = _OFFSET.fullmatch(piece.data.translate(_QUOTES))
    end = int(found[2]) if found and found[2] else None
    if found is None or (end is not None and end <= int(found[1])):
        raise whole.fault(piece.at, "the first octet, ',' and the octet behind the last", _RULE)
    return Octets(int(found[1]), end)


# mp: a path into the logical model of the medium
# -----------------------------------------------

_ARGUMENT = "'?([a-z0-9:.-]++)'?"
_TIME_STEP = re.compile(rf"~time\({_ARGUMENT},\s*+{_ARGUMENT}(?:,\s*+{_ARGUMENT})?\)", re.ASCII)
_CORNER = rf"\s*+'?([0-9]{{1,{DIGITS}}}+)'?"
_REGION_STEP = re.compile(rf"~region\(rect\({','.join([_CORNER] * 4)}\)\)", re.ASCII)
_STEPS = "~time('npt',…) or ~region(rect(…)), each at most once: nothing else of a path is served"


def _path(whole: Text, piece: Piece) -> Selector:
    time: Time | Instant | None = None
    area: Area | None = None
    for step in piece.data.translate(_QUOTES).removeprefix("/").split("/"):
        if (found := _TIME_STEP.fullmatch(step)) and time is None:
            time = _time(whole, piece, found)
        elif (found := _REGION_STEP.fullmatch(step)) and area is None:
            area = _area(whole, piece, found)
        else:
            raise whole.fault(piece.at, _STEPS, _RULE)
    if isinstance(time, Instant):
        return Within(time, Media(area=area)) if area else time
    return Media(time, area)


def _time(whole: Text, piece: Piece, found: re.Match[str]) -> Time | Instant:
    scheme, first, last = found.groups()
    if scheme != "npt" and scheme not in TIMECODES:
        expected = f"the time scheme npt or {', '.join(TIMECODES)}"
        raise whole.fault(piece.at, expected, _RULE)
    start = _moment(scheme, first, within=last is None)
    end = _moment(scheme, last, within=False) if last else None
    if start is None or (last and (end is None or start >= end)):
        raise whole.fault(piece.at, f"times of {scheme}, the second after the first", _RULE)
    return Instant(start) if end is None else Time(start, end)


def _moment(scheme: str, text: str, *, within: bool) -> Fraction | None:
    return npt(text, relaxed=True) if scheme == "npt" else timecode(scheme, text, within=within)


def _area(whole: Text, piece: Piece, found: re.Match[str]) -> Area:
    left, top, right, bottom = map(int, found.groups())
    if left >= right or top >= bottom:
        raise whole.fault(piece.at, "two corners with an area between", _RULE)
    return Area("pixel", left, top, right - left, bottom - top)
