r"""Cues of subtitles: SubRip (SRT) and WebVTT.

Specification: WebVTT (W3C Candidate Recommendation), sections 4.1 (syntax) and 6 (parsing). SubRip
has no specification: its files are read as its program writes them, with the tags and positions
that players know.

How it works: a cue begins with the line of its times, or with the line of its name or number before
that. In WebVTT its text ends at an empty line. In SubRip it ends before the next cue, because the
text may have empty lines.

>>> text = "1\n00:00:01,000 --> 00:00:02,500\n<i>Hello</i>,\nworld\n"
>>> cue, = list_cues(text, SUBRIP)
>>> cue.name, cue.start, cue.stop, read_cue_text(text, cue, SUBRIP)
('1', 1000, 2500, 'Hello,\nworld')
>>> list_cues("no times at all", SUBRIP)
[]

What must stay true: everything is pure and takes time in proportion to the text.
"""

from __future__ import annotations

import html
import re
from typing import NamedTuple

WEBVTT = "text/vtt"
SUBRIP = "application/x-subrip"
_SIGNATURE = re.compile(r"WEBVTT(?![^ \t\r\n])")
_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n)|([^\r\n]+)")
_LINE_BREAK = re.compile("\r\n?")

# WebVTT section 4.1: hours have at least two digits, and may be absent
_VTT_TIME = r"(?:([0-9]{2,9}):)?([0-5][0-9]):([0-5][0-9])\.([0-9]{3})"
_SRT_TIME = r"([0-9]{1,9}):([0-9]{1,2}):([0-9]{1,2})[,.]([0-9]{1,3})"
_TIMES = {
    WEBVTT: re.compile(rf"[ \t]*{_VTT_TIME}[ \t]*-->[ \t]*{_VTT_TIME}(?![^ \t])"),
    SUBRIP: re.compile(rf"[ \t]*{_SRT_TIME}[ \t]*-->[ \t]*{_SRT_TIME}(?![^ \t])"),
}
_VTT_TAG = re.compile("<[^>]*>?")
_SRT_TAG = re.compile(r"</?(?:b|i|u|s|font)(?![a-z0-9])[^>]*>|\{\\[^}]*\}", re.IGNORECASE)


class Cue(NamedTuple):
    """Characters [first, last) of a file, of which [begin, last) are the text of a cue."""

    name: str
    """Its identifier or number; it may be empty."""
    start: int
    """Milliseconds."""
    stop: int
    first: int
    begin: int
    last: int


def has_signature(text: str) -> bool:
    """Return True if a text begins as WebVTT requires (section 4.1)."""
    return _SIGNATURE.match(text) is not None


def list_cues(text: str, essence: str) -> list[Cue]:
    """Return the cues of a file in the order in which they are written."""
    lines = [found.span(1 if found[1] is not None else 2) for found in _LINE.finditer(text)]
    times = _TIMES[essence]
    timed = [
        (number, found)
        for number, (begin, end) in enumerate(lines)
        if text.find("-->", begin, end) >= 0 and (found := times.match(text, begin, end))
    ]
    cues: list[Cue] = []
    used = 0  # lines that belong to the cues so far
    for turn, (number, found) in enumerate(timed):
        until = timed[turn + 1][0] if turn + 1 < len(timed) else len(lines)
        named = number - 1
        is_named = named >= used and _is_name(text, lines[named], essence)
        until = _find_end(text, lines, number + 1, until, essence)
        first = lines[named if is_named else number][0]
        after = lines[number + 1][0] if until > number + 1 else lines[number][1]
        last = lines[until - 1][1] if until > number + 1 else lines[number][1]
        name = text[slice(*lines[named])].strip() if is_named else ""
        start, stop = _read_time(found.groups()[:4]), _read_time(found.groups()[4:])
        cues.append(Cue(name, start, stop, first, after, last))
        used = until
    return cues


def read_cue_text(text: str, cue: Cue, essence: str) -> str:
    """Return the text of a cue as it is shown, without tags."""
    written = _LINE_BREAK.sub("\n", text[cue.begin : cue.last])
    if essence == WEBVTT:
        return html.unescape(_VTT_TAG.sub("", written))
    return _SRT_TAG.sub("", written)


def _is_name(text: str, line: tuple[int, int], essence: str) -> bool:
    written = text[slice(*line)].strip()
    return written.isdecimal() if essence == SUBRIP else bool(written)


def _find_end(
    text: str, lines: list[tuple[int, int]], number: int, until: int, essence: str
) -> int:
    """Return the line after the text of a cue, which begins at line `number` and ends before the
    times of the next cue, at line `until`.
    """
    if essence == WEBVTT:
        for at in range(number, until):
            begin, end = lines[at]
            if begin == end or text.find("-->", begin, end) >= 0:
                return at
        return until
    if until < len(lines) and until > number and _is_name(text, lines[until - 1], essence):
        until -= 1
    while until > number and not text[slice(*lines[until - 1])].strip():
        until -= 1
    return until


def _read_time(fields: tuple[str | None, ...]) -> int:
    hours, minutes, seconds, fraction = fields
    whole = (int(hours or 0) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)
    return whole * 1000 + int((fraction or "").ljust(3, "0"))
