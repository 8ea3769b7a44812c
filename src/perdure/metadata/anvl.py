"""ANVL: names and values as lines of text, as EZID and N2T read and write them.

How it works: a line is a name, a colon and a value. A per cent sign and two hexadecimal digits mean
a character, so that names and values may have colons and line breaks. A line that begins with a
blank continues the value before it, and one that begins with `#` is a comment.

>>> read_elements("who: Proust, Marcel\\nwhat: A%0Ab\\n")
{'who': 'Proust, Marcel', 'what': 'A\\nb'}

What must stay true: `read_elements(write_elements(x)) == x` for all names and values without blanks
at their ends.

Specification: "A Name-Value Language (ANVL)", draft-kunze-anvl-02; the percent escapes are those of
EZID's API, version 2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from perdure.errors.exchanging import (
    AnvlColonMissing,
    AnvlElementTwice,
    AnvlEscapeIncomplete,
    AnvlNameMissing,
    AnvlNothingContinued,
)

_LINE_END = re.compile("\r\n?|\n")
_IN_NAME = re.compile("[%:\r\n]|\\A#")
_IN_VALUE = re.compile("[%\r\n]")
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})?")


def read_elements(text: str) -> dict[str, str]:
    """Read the elements of a record. Raises InvalidRequest."""
    found: dict[str, str] = {}
    name: str | None = None
    for line in _LINE_END.split(text):
        if not line:
            name = None
        elif line[0] == "#":
            continue
        elif line[0].isspace():
            if name is None:
                raise AnvlNothingContinued()
            found[name] = " ".join(filter(None, (found[name], _decode(line).strip())))
        else:
            name = _read_line(line, found)
    return found


def _read_line(line: str, found: dict[str, str]) -> str:
    """Add the element of a line to those found, and return its name."""
    before, colon, after = line.partition(":")
    if not colon:
        raise AnvlColonMissing(text=line)
    name = _decode(before).strip()
    if not name:
        raise AnvlNameMissing(text=line)
    if name in found:
        raise AnvlElementTwice(element=name)
    found[name] = _decode(after).strip()
    return name


def _decode(text: str) -> str:
    return _ESCAPE.sub(_decode_escape, text) if "%" in text else text


def _decode_escape(escape: re.Match[str]) -> str:
    if not escape[1]:
        raise AnvlEscapeIncomplete()
    return chr(int(escape[1], 16))


def write_elements(elements: Mapping[str, str]) -> str:
    """Write elements, one a line.

    >>> write_elements({"a:b": "50%"})
    'a%3Ab: 50%25\\n'
    """
    return "".join(map(write_element, elements, elements.values()))


def write_element(name: str, value: str) -> str:
    """Write one element with its line end."""
    return f"{_IN_NAME.sub(_encode, name)}: {_IN_VALUE.sub(_encode, value)}\n"


def _encode(character: re.Match[str]) -> str:
    return f"%{ord(character[0]):02X}"
