"""The paths of files as text: reversible, printable, on one line.

How it works: a path is bytes. Valid UTF-8 that is printable is written as it is. A backslash is
doubled, and every other byte is written `\\xhh`, so that tables, reports and receipts can hold the
names of any file system.

What must stay true: `read_path(spell_path(path)) == path` for all bytes; the text has no line
break, no control character and no lone surrogate.
"""

from __future__ import annotations

import os
import re

from perdure.errors.depositing import PathUnreadable

_ESCAPED = re.compile(r"\\(?:\\|x([0-9a-f]{2}))")
_PLAIN = re.compile(r"[ !-\[\]-~]*", re.ASCII)
_OUTSIDE = re.compile(rb"(?:^|/)\.\.(?:/|$)|^/|\0")


def spell_path(path: bytes) -> str:
    r"""Write a path as text.

    >>> spell_path(b"Akten/Stra\xc3\x9fe.txt"), spell_path(b"a\nb\\c\xe9")
    ('Akten/Straße.txt', 'a\\x0ab\\\\c\\xe9')
    """
    text = path.decode("utf-8", "surrogateescape")
    if _PLAIN.fullmatch(text):
        return text
    return "".join(map(_spell_character, text))


def _spell_character(character: str) -> str:
    if character == "\\":
        return "\\\\"
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))


def is_odd(path: bytes) -> bool:
    r"""Return True if the text of a path is not the path itself.

    >>> is_odd(b"a b.txt"), is_odd(b"a\xe9.txt")
    (False, True)
    """
    return spell_path(path).encode() != path


def read_path(text: str) -> bytes:
    r"""Read a path that `spell_path` wrote. Raises PathUnreadable.

    >>> read_path("a\\x0ab\\\\c\\xe9")
    b'a\nb\\c\xe9'
    """
    if "\\" not in text:
        return text.encode("utf-8", "surrogateescape")
    pieces: list[bytes] = []
    at = 0
    for found in _ESCAPED.finditer(text):
        between = text[at : found.start()]
        if "\\" in between:
            break
        pieces.append(between.encode())
        pieces.append(bytes.fromhex(found[1]) if found[1] else b"\\")
        at = found.end()
    rest = text[at:]
    if "\\" in rest:
        raise PathUnreadable(path=text)
    return b"".join((*pieces, rest.encode()))


def leads_outside(path: bytes) -> bool:
    """Return True if a relative path may lead out of the directory that it starts in.

    >>> leads_outside(b"a/../b"), leads_outside(b"/etc"), leads_outside(b"a..b/c")
    (True, True, False)
    """
    return bool(_OUTSIDE.search(path))
