"""Intervals, areas and tracks of media: `t=10,20&xywh=percent:0,0,50,50&track=audio`.

Specification: Media Fragments URI 1.0 (W3C Recommendation, 2012), sections 4.2 and 5.1. Unknown
and invalid pairs are ignored (section 6.2.1). If no pair remains, the text selects nothing, which
is an error here, because a part is never the complete resource. `read_time_query` and
`read_time_call` read two forms of intervals outside fragments.

>>> read_media("t=npt:10,20&t=foo").time
Time(start=Fraction(10, 1), end=Fraction(20, 1))
>>> read_media("T=3,7")  # doctest: +ELLIPSIS
Traceback (most recent call last):
perdure.errors.texts.MalformedPart: ... at 0; expected a valid t=, xywh=, track= or id= (...)
>>> str(read_time_query("15.0/30.0")), str(read_time_call("@time(100s,200s)"))
('t=15,30', 't=100,200')
"""

from __future__ import annotations

import re
from fractions import Fraction

from perdure.errors import MalformedPart
from perdure.parts.grammar import MOST, check_text, decode_piece, decode_text
from perdure.parts.port import XML, Syntax
from perdure.parts.selectors import MEDIA, Area, Media, Time
from perdure.parts.times import TIMECODES, read_npt, read_timecode

_RULE = "Media Fragments URI 1.0 section 4.2"
_DIMENSIONS = ("t", "xywh", "track", "id")

# xywhprefix =  %x78.79.77.68 ; "xywh"
# xywhparam  =  [ xywhunit ":" ] 1*DIGIT "," 1*DIGIT "," 1*DIGIT "," 1*DIGIT
# xywhunit   =  "pixel" / "percent"
_NUMBER = "([0-9]{1,19}+)"
_AREA = re.compile(f"(?:(pixel|percent):)?{','.join([_NUMBER] * 4)}", re.ASCII)


def read_media(text: str) -> Media:
    """Read the interval, area and tracks that a text names. Raises MalformedPart if it has none."""
    check_text(text, _RULE)
    time: Time | None = None
    area: Area | None = None
    tracks: list[str] = []
    named: str | None = None
    at = stopped = 0
    for pair in text.split("&"):
        name, _, value = (decode_piece(piece) or "" for piece in pair.partition("="))
        match name:
            case "t":
                time = _read_time(value) or time
            case "xywh":
                area = _read_area(value) or area
            case "track" if value:
                tracks.append(value)
            case "id" if value:
                named = value
        if name in _DIMENSIONS:
            stopped = min(at + pair.find("=") + 1, len(text))
        at += len(pair) + 1
    if len(tracks) > MOST:
        raise MalformedPart(text=text, at=0, expected=f"at most {MOST} tracks", rule=_RULE)
    if time is None and area is None and named is None and not tracks:
        expected = "a valid t=, xywh=, track= or id="
        raise MalformedPart(text=text, at=stopped, expected=expected, rule=_RULE)
    return Media(time, area, tuple(tracks), named)


def read_media_scheme(text: str) -> Media:
    """Read a PDI's `t=10,20`, `xywh=…`, `track=1` or `id=intro`. Raises MalformedPart.

    Each position of `track` is a track. A second dimension follows `t` or `xywh`, escaped.
    # ruling: pdi-other-schemes

    >>> read_media_scheme("track=1,b%2cc").tracks
    ('1', 'b,c')
    >>> str(read_media_scheme("t=10,20%26xywh%3d5,5,15,15"))
    't=10,20&xywh=5,5,15,15'
    """
    scheme, _, positions = text.partition("=")
    if scheme == "track":
        return read_media("&".join(f"track={one}" for one in positions.split(",")))
    if scheme == "id":
        return read_media(text)
    return read_media(f"{scheme}={decode_text(positions, _RULE).plain}")


def _read_time(value: str) -> Time | None:
    # npttimedef = [ "npt:" ] ( npttime [ "," npttime ] ) / ( "," npttime )
    first, comma, last = value.removeprefix("npt:").partition(",")
    if not first and not comma:
        return None
    return _make_time(
        read_npt(first) if first else Fraction(0), read_npt(last) if comma else None, comma
    )


def _make_time(start: Fraction | None, end: Fraction | None, separator: str) -> Time | None:
    """Make an interval, or return None if it is invalid. Without a separator it has no end."""
    if start is None or (separator and (end is None or start >= end)):
        return None
    return Time(start, end)


def _read_area(value: str) -> Area | None:
    found = _AREA.fullmatch(value)
    if found is None:
        return None
    x, y, width, height = map(int, found.groups()[1:])
    if not width or not height:
        return None
    if found[1] == "percent" and (x + width > 100 or y + height > 100):
        return None
    return Area(found[1] or "pixel", x, y, width, height)


# beside fragments
# ----------------

_QUERY_RULE = "draft-pfeiffer-temporal-fragments-03 section 4"
_SCHEME = re.compile("(npt|smpte-[a-z0-9-]++):")
_SEPARATOR = re.compile("[/,]")


def read_time_query(value: str) -> Media:
    """Read the interval in the value of an Annodex query: `15.0/30.0`, `smpte-25:0:10:07:33`.

    Without an end it extends to the end of the medium. Many clients write the comma of Media
    Fragments instead of the slash; both are accepted. Raises MalformedPart.
    """
    whole = decode_text(value, _QUERY_RULE)
    head = _SCHEME.match(whole.plain)
    scheme, begin = (head[1], head.end()) if head else ("npt", 0)
    if scheme != "npt" and scheme not in TIMECODES:
        raise whole.make_fault(0, f"'npt:' or one of {', '.join(TIMECODES)}", _QUERY_RULE)
    separator = _SEPARATOR.search(whole.plain, begin)
    end = separator.start() if separator else len(whole.plain)
    first, last = whole.plain[begin:end], whole.plain[end + 1 :]
    time = _make_time(
        _read_moment(scheme, first), _read_moment(scheme, last), separator[0] if separator else ""
    )
    if time is None:
        raise whole.make_fault(begin, "a start, optionally with '/' and a later end", _QUERY_RULE)
    return Media(time)


def _read_moment(scheme: str, text: str) -> Fraction | None:
    return read_npt(text, relaxed=True) if scheme == "npt" else read_timecode(scheme, text)


_CALL_RULE = "ISO 24619:2011 section 5.3"
_UNITS = {unit: Fraction(seconds) for unit, seconds in {"": 1, "s": 1, "m": 60, "h": 3600}.items()}
_UNITS["ms"] = Fraction(1, 1000)
_AMOUNT = r"([0-9]{1,15}+)(?:\.([0-9]{1,15}+))?(ms|s|m|h|)"
_CALL = re.compile(rf"@?time\({_AMOUNT},{_AMOUNT}\)", re.ASCII)


def read_time_call(text: str) -> Media:
    """Read the interval after a handle: `@time(100s,200s)`, half-open, in s, ms, m or h.

    Raises MalformedPart.
    """
    whole = decode_text(text, _CALL_RULE)
    found = _CALL.fullmatch(whole.plain)
    if found is None:
        raise whole.make_fault(0, "@time(START,END), each a number and s, ms, m or h", _CALL_RULE)
    start, end = (
        Fraction(f"{found[group]}.{found[group + 1] or 0}") * _UNITS[found[group + 2]]
        for group in (1, 4)
    )
    if start >= end:
        raise whole.make_fault(found.start(4), "an end after the start", _CALL_RULE)
    return Media(Time(start, end))


_TIMED = (
    "application/mp4", "application/ogg", "application/x-subrip", "audio/*", "text/vtt", "video/*",
)  # fmt: skip

SYNTAX = Syntax(
    name="t=, xywh=, track= and id= (Media Fragments URI 1.0)",
    media_types=("image/*", *_TIMED),
    except_types=XML,
    mark=re.compile("(?:^|&)(?:t|xywh|track|id)="),
    read=read_media,
    forms={Media: ("t=", "xywh=", "track=", "id=")},
    specifications=(MEDIA,),
    schemes=("t", "xywh", "track", "id"),
    read_scheme=read_media_scheme,
    turn=30,
)
TIME = Syntax(
    name="@time() (ISO 24619)",
    media_types=_TIMED,
    except_types=XML,
    mark=re.compile(r"^@?time\("),
    read=read_time_call,
    turn=10,
)
