"""Points in time in media syntaxes: normal play time and SMPTE time codes.

Specifications: Media Fragments URI 1.0 section 4.2.1 (RFC 2326 section 3.6) and RFC 2326
section 3.5 with the frame rates of draft-pfeiffer-temporal-fragments. All values are exact
fractions of seconds; a time code means the start of the frame that it numbers.

>>> read_npt("0:02:03.5")
Fraction(247, 2)
>>> read_timecode("smpte-25", "0:00:03:05")
Fraction(16, 5)
>>> read_timecode("smpte-30-drop", "0:01:00:02")
Fraction(3003, 50)
>>> read_npt("3:7")  # seconds need two digits
>>> read_timecode("smpte-30-drop", "0:01:00:00")  # a frame that is dropped

What must stay true: every result is a decimal fraction of at most 18 digits, so that it can be
written again. If the start of a frame is not one, it is rounded down to the nanosecond: an interval
cut there contains the same frames.
"""

from __future__ import annotations

import re
from fractions import Fraction


# npt-sec    =  1*DIGIT [ "." *DIGIT ]
# npt-mmss   =  npt-mm ":" npt-ss [ "." *DIGIT ]
# npt-hhmmss =  npt-hh ":" npt-mm ":" npt-ss [ "." *DIGIT ]
# npt-hh     =  1*DIGIT
# npt-mm     =  2DIGIT                  ; 0 to 59, as npt-ss
def _compile_npt(sixty: str) -> re.Pattern[str]:
    hours, seconds, fraction = "[0-9]{1,15}+", "[0-9]{1,19}+", "[0-9]{0,18}+"
    clock = rf"(?:({hours}):)?({sixty}):({sixty})"
    return re.compile(rf"(?:{clock}|({seconds}))(?:\.({fraction}))?", re.ASCII)


_STRICT, _RELAXED = _compile_npt("[0-5][0-9]"), _compile_npt("[0-5]?[0-9]")

# smpte-time =  1*2DIGIT ":" 1*2DIGIT ":" 1*2DIGIT [ ":" 1*2DIGIT ] [ "." 1*2DIGIT ]
_TIMECODE = re.compile(
    r"([0-9]{1,12}+):([0-5]?[0-9]):([0-5]?[0-9])(?::([0-9]{1,2}+)(?:\.([0-9]{1,2}+))?)?", re.ASCII
)
TIMECODES = {
    "smpte-24": 24,
    "smpte-24-drop": 24,
    "smpte-25": 25,
    "smpte-30": 30,
    "smpte-30-drop": 30,
    "smpte-50": 50,
    "smpte-60": 60,
    "smpte-60-drop": 60,
}
"""Schemes that count frames, with the numbers that each has per second."""
_NANOSECONDS = 10**9


def read_npt(text: str, *, relaxed: bool = False) -> Fraction | None:
    """Read normal play time in seconds; None for any other text. Relaxed: accept `1:5:7` too."""
    found = (_RELAXED if relaxed else _STRICT).fullmatch(text)
    if found is None:
        return None
    hours, minutes, seconds, only, fraction = found.groups()
    whole = int(only) if only else int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)
    return Fraction(f"{whole}.{fraction or 0}")


def read_timecode(scheme: str, text: str, *, within: bool = False) -> Fraction | None:
    """Read a SMPTE time code in seconds; None for any other text or a frame that does not exist.

    `within`: return a moment inside the frame, rather than an end of an interval.
    """
    found = _TIMECODE.fullmatch(text)
    numbers = TIMECODES.get(scheme)
    if found is None or numbers is None:
        return None
    hours, minutes, seconds, frame = (int(one or 0) for one in found.groups()[:4])
    minutes += hours * 60
    if frame >= numbers:
        return None
    count = (minutes * 60 + seconds) * numbers + frame
    drops = scheme.endswith("-drop")
    if drops and numbers != 24:
        # SMPTE ST 12-1: every minute except each tenth skips its first numbers
        dropped = numbers // 15
        if frame < dropped and not seconds and minutes % 10:
            return None
        count -= dropped * (minutes - minutes // 10)
    rate = Fraction(numbers * 1000, 1001) if drops else Fraction(numbers)
    exact = (count + Fraction(f"0.{found[5] or 0}")) / rate
    nanoseconds = exact * _NANOSECONDS
    return Fraction(-(-nanoseconds // 1) if within else nanoseconds // 1, _NANOSECONDS)
