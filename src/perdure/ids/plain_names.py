"""Names in their usual spelling, read without a parser: only the key and the path of the name.

How it works: most requests spell a name as it was given out. For such texts, each scheme has a
pattern (`Scheme.plain_spellings`), from whose groups the key is put together. `read_plain_name`
chooses it by the first characters of the text, as `perdure.ids.parse` chooses the parser.

`read_plain_part` reads such a name with a mark behind it, before a part: `@` or, as clients send a
`#`, `%23`.

What must stay true: the result is the key and the path of the identifier that `parse` returns, and
that identifier has no part; or it is None. The path of a name in a scheme with such marks is its
canonical text. Several schemes share `urn:`, so a text that begins with a longer prefix of another
scheme is not read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from perdure.ids import load_schemes, parse
from perdure.ids.grammar import LONGEST
from perdure.ids.scheme import PlainName, Scheme

_Reader = Callable[[str], PlainName | None]
_SHORT = 4  # characters that tell most labels apart: `hdl:`, `urn:`
_ESCAPED_HASH = "%23"
# a part of characters that every scheme with marks before parts has in its names
_PLAIN_PART = re.compile(r"[0-9A-Za-z._~:;,=+!$()/-]*[0-9A-Za-z_~)-]", re.ASCII)


class PlainPart(NamedTuple):
    """A name in its usual spelling, a mark behind it, and the text of a part."""

    key: str
    """Identity of the record of the complete name, if it has one."""
    whole: PlainName
    delimiter: str
    """`#` or `@`."""
    part: str


def read_plain_name(text: str) -> PlainName | None:
    """Return key and path of a name in its usual spelling, or None for any other text.

    >>> read_plain_name("doi:10.1000/182")
    PlainName(key='hdl:10.1000/182', path='doi:10.1000/182')
    >>> read_plain_name("doi:10.1000/a%2Fb")
    """
    reader = _index_readers().get(text[:_SHORT])
    return None if reader is None or len(text) > LONGEST else reader(text)


def read_plain_part(text: str) -> PlainPart | None:
    """Return the name and the part in a target, or None for any other text.

    Raises MalformedIdentifier if no name can be followed by this part.

    >>> read_plain_part("hdl:1839/A%23z")  # doctest: +NORMALIZE_WHITESPACE
    PlainPart(key='hdl:1839/a#z', whole=PlainName(key='hdl:1839/a', path='hdl:1839/A'),
              delimiter='#', part='z')
    """
    mark = _ESCAPED_HASH if "%" in text else "@"
    name, found, part = text.partition(mark)
    scheme = _index_marks().get((text[:_SHORT], mark)) if found else None
    if scheme is None or _PLAIN_PART.fullmatch(part) is None:
        return None
    whole = read_plain_name(name)
    if whole is None or len(text) > LONGEST:
        return None
    delimiter = "#" if mark == _ESCAPED_HASH else mark
    spelled = mark if scheme.is_uri else delimiter
    if scheme.passes_rest:  # it may allow fewer characters in its names, and normalises them
        return PlainPart(parse(f"{whole.path}{spelled}{part}").key, whole, delimiter, part)
    if scheme.folds_case and part != part.lower():
        complete = parse(f"{whole.path}{spelled}{part}")
        part = str(complete)[len(whole.path) + len(spelled) :]
        return PlainPart(complete.key, whole, delimiter, part)
    return PlainPart(f"{whole.key}{spelled}{part}", whole, delimiter, part)


@cache
def _index_marks() -> dict[tuple[str, str], Scheme]:
    """Return the schemes with marks before parts, by the first characters of their usual names and
    the mark as a target has it."""
    return {
        (beginning[:_SHORT], _ESCAPED_HASH if mark == "#" else mark): scheme
        for scheme in load_schemes().values()
        for mark in scheme.delimiters
        if mark in ("#", "@", _ESCAPED_HASH)
        for beginning, _ in scheme.plain_spellings
    }


@cache
def _index_readers() -> dict[str, _Reader]:
    """Return the functions that read plain names, by the first characters of such names."""
    found: dict[str, dict[str, _Reader]] = {}
    schemes = load_schemes().values()
    prefixes = [prefix for scheme in schemes for prefix in scheme.prefixes]
    for scheme in schemes:
        for beginning, reader in scheme.plain_spellings:
            longer = tuple(
                prefix
                for prefix in prefixes
                if prefix.startswith(beginning.lower()) and prefix not in scheme.prefixes
            )
            found.setdefault(beginning[:_SHORT], {})[beginning] = (
                _leave_claimed(longer, reader) if longer else reader
            )
    return {short: _choose_reader(readers) for short, readers in found.items()}


def _leave_claimed(longer: tuple[str, ...], reader: _Reader) -> _Reader:
    """Return a function that reads a name unless it begins with another scheme's prefix."""
    most = max(map(len, longer))

    def read_unclaimed(text: str) -> PlainName | None:
        return None if text[:most].lower().startswith(longer) else reader(text)

    return read_unclaimed


def _choose_reader(readers: dict[str, _Reader]) -> _Reader:
    """Return a function that reads a name by the longest of several beginnings."""
    several = sorted(readers.items(), key=lambda one: -len(one[0]))
    if len(set(readers.values())) == 1:  # it knows its beginnings itself
        return several[0][1]

    def read_longest(text: str) -> PlainName | None:
        for beginning, reader in several:
            if text.startswith(beginning):
                return reader(text)
        return None

    return read_longest
