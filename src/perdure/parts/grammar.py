"""Limits, escapes and numbers of part texts, for the readers of every syntax.

How it works: a syntax that reads decoded text (XPointer, RFC 5147 …) gets a `PartText` from
`decode_text`. It knows where each of its characters was written, so that an error points into the
text that the caller sent. A syntax of pairs (`t=3&track=a%26b`) must split its text first, and
decodes the pieces with `decode_piece` (RFC 3986 section 2.4: components are "parsed and separated
before the percent-encoded octets within those components can be safely decoded").

What must stay true: a checked text is Unicode text of bounded length, without halves of surrogate
pairs; numbers are short enough for every use.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from perdure.errors import MalformedPart

LONGEST = 8192  # characters  # ruling: pdi-limits
MOST = 32
"""Largest number of selectors, ranges, tracks or checks in one part."""
DIGITS = 19

_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPES = re.compile("(?:%[0-9A-Fa-f]{2})+")
_BAD_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")


class PartText(NamedTuple):
    """A decoded part text."""

    plain: str
    written: str
    places: Sequence[int]
    """Index in `written` of each character of `plain`, and of the end."""

    def make_fault(self, at: int, expected: str, rule: str) -> MalformedPart:
        """Make the error for an index in `plain`."""
        return MalformedPart(text=self.written, at=self.places[at], expected=expected, rule=rule)


def check_text(text: str, rule: str) -> None:
    """Raise MalformedPart if a text is too long or contains half of a surrogate pair."""
    if len(text) > LONGEST:
        expected = f"the end: a part has at most {LONGEST} characters"
        raise MalformedPart(text=text, at=LONGEST, expected=expected, rule="ruling pdi-limits")
    if not text.isascii() and (found := _SURROGATE.search(text)):
        expected = "Unicode text without halves of surrogate pairs"
        raise MalformedPart(text=text, at=found.start(), expected=expected, rule=rule)


def decode_text(written: str, rule: str) -> PartText:
    """Check a text and decode its percent-escapes. Raises MalformedPart."""
    check_text(written, rule)
    if "%" not in written:
        return PartText(written, written, range(len(written) + 1))
    if bad := _BAD_ESCAPE.search(written):
        expected = "two hexadecimal digits after '%'"
        raise MalformedPart(text=written, at=bad.start(), expected=expected, rule="RFC 3986 2.1")
    plain: list[str] = []
    places: list[int] = []
    at = 0
    for run in _ESCAPES.finditer(written):
        plain += written[at : run.start()]
        places += range(at, run.start())
        at = run.start()
        try:
            characters = bytes.fromhex(run[0].replace("%", "")).decode()
        except UnicodeDecodeError as error:
            raise MalformedPart(
                text=written, at=at + 3 * error.start, expected="UTF-8", rule="RFC 3986 2.5"
            ) from None
        for character in characters:
            plain.append(character)
            places.append(at)
            at += 3 * len(character.encode())
    plain += written[at:]
    places += range(at, len(written) + 1)
    return PartText("".join(plain), written, places)


def decode_piece(piece: str) -> str | None:
    """Decode the escapes in a piece of a checked text, or return None if they are not UTF-8."""
    try:
        return decode_text(piece, "").plain
    except MalformedPart:
        return None


def read_number(text: PartText, start: int, digits: str, rule: str) -> int:
    """Read the number whose decimal digits begin at `start`. Raises MalformedPart."""
    if not 0 < len(digits) <= DIGITS:
        raise text.make_fault(start, f"a number of at most {DIGITS} digits", rule)
    return int(digits)
