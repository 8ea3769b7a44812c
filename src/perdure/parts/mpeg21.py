"""Tracks, moments, intervals and regions of media: `ffp(track_ID=101)*mp(/~time('npt','50'))`.

Specification: ISO/IEC 21000-17, on the XPointer Framework, and its use by ISO 24619. A scheme
after `*` selects inside the part before it; schemes without `*` between them are alternatives.

>>> read_pointer("ffp(track_ID=101)*mp(/~time(’npt’,’50’))")
Within(outer=Track(kind='track_ID', value='101'), inner=Instant(at=Fraction(50, 1)))
>>> str(read_pointer("mp(~time('npt','10','30')/~region(rect(10,10,30,20)))"))
't=10,30&xywh=10,10,20,10'
>>> read_pointer("mp(/~time('utc','20261121T101500Z'))")  # doctest: +ELLIPSIS
Traceback (most recent call last):
perdure.errors.parts.PartNotSupported: ... the available kinds of part: ffp(), offset(), ...

Well-formed schemes, shapes, time schemes and paths that perdure does not support are skipped like
unknown schemes. If none remains, the part is not supported. A single time is a moment, not the
start of an interval. The typographic quotation marks that ISO 24619 prints are accepted for
straight ones, and a path without its initial slash, because both are in use.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from perdure.errors import PartNotSupported
from perdure.parts.grammar import DIGITS, PartText, decode_text
from perdure.parts.port import XML, Syntax
from perdure.parts.selectors import (
    MPEG_21,
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
from perdure.parts.times import TIMECODES, read_npt, read_timecode
from perdure.parts.xpointer import (
    ANY_SCHEME,
    PointerPart,
    make_pointer,
    refuse_noncharacters,
    split_pointer,
)

_RULE = "ISO/IEC 21000-17 section 6"
_QUOTES = str.maketrans("‘’", "''")
_TRACK = re.compile("(track_ID|item_ID|item_name)=(.++)", re.DOTALL)
_NUMERIC = frozenset({"track_ID", "item_ID"})
_OFFSET = re.compile(rf"'?([0-9]{{1,{DIGITS}}}+)'?,'?([0-9]{{1,{DIGITS}}}+)?'?", re.ASCII)


def read_pointer(text: str) -> Selector:
    """Read the part that a text names.

    Raises MalformedPart, and PartNotSupported if none of its alternatives is supported.
    """
    whole = decode_text(text, _RULE)
    refuse_noncharacters(whole)
    chains: list[list[Selector | None]] = []
    for piece in split_pointer(whole, joins=True):
        selector = _read_piece(whole, piece)
        if piece.joined:
            chains[-1].append(selector)
        else:
            chains.append([selector])
    choices = [_nest_selectors(chain) for chain in chains]
    known = tuple(choice for choice in choices if choice is not None)
    if not known:
        raise PartNotSupported(selector=text, offered=_SERVED)
    return known[0] if len(known) == 1 else First(known)


def read_pointer_scheme(text: str) -> Selector:
    """Read a PDI's `mp=/%7etime%28'npt','50'%29` or `ffp=track_ID%3d101`.

    Raises MalformedPart, and PartNotSupported as `read_pointer` does.
    """
    return read_pointer(make_pointer(text))


def _nest_selectors(chain: list[Selector | None]) -> Selector | None:
    """Nest selectors, each in the one before it; None if one of them is not supported."""
    *outer, selector = chain
    for one in reversed(outer):
        selector = Within(one, selector) if one is not None and selector is not None else None
    return selector


def _read_piece(whole: PartText, piece: PointerPart) -> Selector | None:
    match piece.name:
        case "ffp":
            return _read_track(whole, piece)
        case "offset":
            return _read_octets(whole, piece)
        case "mp":
            return _read_path(whole, piece)
    return None


def _read_track(whole: PartText, piece: PointerPart) -> Track:
    found = _TRACK.fullmatch(piece.data)
    numeric = found is not None and found[1] in _NUMERIC
    if found is None or (numeric and not re.fullmatch(f"[0-9]{{1,{DIGITS}}}", found[2])):
        raise whole.make_fault(
            piece.at, "track_ID= or item_ID= with a number, or item_name=", _RULE
        )
    return Track(found[1], str(int(found[2])) if numeric else found[2])


def _read_octets(whole: PartText, piece: PointerPart) -> Octets:
    found = _OFFSET.fullmatch(piece.data.translate(_QUOTES))
    end = int(found[2]) if found and found[2] else None
    if found is None or (end is not None and end <= int(found[1])):
        raise whole.make_fault(piece.at, "the first octet, ',' and the octet after the last", _RULE)
    return Octets(int(found[1]), end)


# mp: a path into the logical model of the medium
# -----------------------------------------------

_WITHIN = r"[^()]*+"
for _ in range(3):  # nested parentheses of a step
    _WITHIN = rf"[^()]*+(?:\({_WITHIN}\)[^()]*+)*"
_STEP = re.compile(rf"~?[A-Za-z][\w-]*+(?:\({_WITHIN}\)|\[[^]]*+\])?", re.ASCII)
_TIME = ",\\s*+'?([^',()]++)'?"
_TIME_STEP = re.compile(rf"~time\('?([A-Za-z][\w-]*+)'?{_TIME}(?:{_TIME})?\)", re.ASCII)
_CORNER = rf"\s*+'?([0-9]{{1,{DIGITS}}}+)'?"
_REGION_STEP = re.compile(rf"~region\(rect\({','.join([_CORNER] * 4)}\)\)", re.ASCII)
_PATH = "steps separated by '/', at most one ~time('npt',…) and one ~region(rect(…))"
_SERVED = (
    *("ffp()", "offset()", "mp(/~region(rect()))"),
    f"mp(/~time()) in {', '.join(('npt', *TIMECODES))}",
)


def _read_path(whole: PartText, piece: PointerPart) -> Selector | None:
    """Read the selector of a path; None if one of its steps is not supported."""
    time: Time | Instant | None = None
    area: Area | None = None
    served = True
    for step in _split_path(whole, piece):
        if step.startswith("~time("):
            found = _TIME_STEP.fullmatch(step)
            if found is None or time is not None:
                raise whole.make_fault(piece.at, _PATH, _RULE)
            time = _read_time(whole, piece, found)
            served = served and time is not None
        elif step.startswith("~region(rect("):
            found = _REGION_STEP.fullmatch(step)
            if found is None or area is not None:
                raise whole.make_fault(piece.at, _PATH, _RULE)
            area = _read_area(whole, piece, found)
        else:
            served = False
    if not served:
        return None
    if isinstance(time, Instant):
        return Within(time, Media(area=area)) if area else time
    return Media(time, area)


def _split_path(whole: PartText, piece: PointerPart) -> Iterator[str]:
    path = piece.data.translate(_QUOTES).removeprefix("/")
    at = 0
    while step := _STEP.match(path, at):
        yield step[0]
        at = step.end() + 1
        if at > len(path):
            return
        if path[at - 1] != "/":
            break
    raise whole.make_fault(piece.at, _PATH, _RULE)


def _read_time(whole: PartText, piece: PointerPart, found: re.Match[str]) -> Time | Instant | None:
    """Read a time or an interval; None if the time scheme is not supported."""
    scheme, first, last = found.groups()
    if scheme != "npt" and scheme not in TIMECODES:
        return None
    start = _read_moment(scheme, first, within=last is None)
    end = _read_moment(scheme, last, within=False) if last else None
    if start is None or (last and (end is None or start >= end)):
        raise whole.make_fault(piece.at, f"times of {scheme}, the second after the first", _RULE)
    return Instant(start) if end is None else Time(start, end)


def _read_moment(scheme: str, text: str, *, within: bool) -> Fraction | None:
    return (
        read_npt(text, relaxed=True)
        if scheme == "npt"
        else read_timecode(scheme, text, within=within)
    )


def _read_area(whole: PartText, piece: PointerPart, found: re.Match[str]) -> Area:
    left, top, right, bottom = map(int, found.groups())
    if left >= right or top >= bottom:
        raise whole.make_fault(piece.at, "two corners of a rectangle that is not empty", _RULE)
    return Area("pixel", left, top, right - left, bottom - top)


SYNTAX = Syntax(
    name="ffp() and mp() (ISO/IEC 21000-17)",
    media_types=("application/mp4", "application/ogg", "audio/*", "video/*"),
    except_types=XML,
    mark=ANY_SCHEME,
    read=read_pointer,
    forms={Instant: ("mp(/~time())",), Track: ("ffp()",)},
    specifications=(MPEG_21,),
    schemes=("mp", "ffp"),
    read_scheme=read_pointer_scheme,
    turn=20,
)
OCTETS = Syntax(
    name="offset() (ISO/IEC 21000-17)",
    media_types=("*/*",),
    mark=re.compile(r"^offset\('?[0-9]"),
    read=read_pointer,
    forms={Octets: ("offset()",)},
    turn=0,
)
