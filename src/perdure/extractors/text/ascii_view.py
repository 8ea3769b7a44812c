"""ASCII views: documents in any encoding as bytes in which only ASCII characters look like ASCII.

Markup is delimited by ASCII characters. So its tags can be found in the bytes as they are, as long
as a byte that looks like `<` is always a `<`. That is true of UTF-8, ISO 8859, Shift_JIS, Big5,
GB18030 and most others. How it works for the rest:

* UTF-16 and UTF-32: one byte for each unit, 0xFF if the unit is not ASCII. An offset is multiplied
  by the width of a unit.
* ISO-2022 and HZ: the bytes between a shift and the next are overwritten with 0xFF.
* EBCDIC and other sets of 256 characters: translated byte by byte.

What must stay true: `view[n]` stands for the bytes [n·width, (n+1)·width) of the document. An
encoding in which that is impossible is refused, never guessed at.
"""

from __future__ import annotations

import codecs
import re
import sys
from array import array
from typing import NamedTuple

from perdure import formats
from perdure.errors import PartNotSupported
from perdure.extractors.port import Source
from perdure.parts import Selector

_HEAD = 1024  # bytes that HTML searches for a charset; XML has it in the first line
_MARKS = (
    (codecs.BOM_UTF8, "utf_8"),
    (codecs.BOM_UTF32_LE, "utf_32_le"),
    (codecs.BOM_UTF32_BE, "utf_32_be"),
    (codecs.BOM_UTF16_LE, "utf_16_le"),
    (codecs.BOM_UTF16_BE, "utf_16_be"),
)
_WIDTHS = {"utf_16_le": 2, "utf_16_be": 2, "utf_32_le": 4, "utf_32_be": 4}
_SHIFTED = re.compile(rb"\x1b(?!\([BJ]|\.|\$\))[^\x1b]*+|\x0e[^\x0f\n]*+")
_HZ = re.compile(rb"~~|~\{.*?(?:~\}|\Z)", re.DOTALL)
_TANGLED = frozenset(
    {"utf_7", "johab", "idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape"}
)


class Encoding(NamedTuple):
    """The encoding of a document's characters."""

    codec: str
    """Python's name, including the byte order; a codec of 8-bit units if no encoding is stated."""
    width: int
    """Bytes per unit."""
    plain: bool
    """Whether the bytes are their own view."""
    shifts: bool
    """Whether the meaning of a byte depends on the bytes before it."""

    @property
    def charset(self) -> str | None:
        """The charset label of a part that loses the byte-order mark of the document, or None."""
        named = self.codec.upper().replace("_", "-", 1).replace("_", "")  # UTF-16LE
        return named if self.width > 1 else None


def find_encoding(source: Source, selector: Selector | str) -> Encoding:
    """Return the encoding given by the byte-order mark, by the source or by the document, in this
    order. The default is UTF-8 for XML, ISO 8859-1 for all others (ruling: pdi-charset).

    Raises PartNotSupported if markup cannot be found in the bytes of the encoding.
    """
    head = source.read_bytes(0, _HEAD)
    codec = _find_codec(
        source.charset, head, "utf_8" if source.essence.endswith("xml") else "latin_1"
    )
    if codec in _TANGLED:
        raise PartNotSupported(
            media_type=f"{source.essence}; charset={codec.replace('_', '-')}",
            selector=str(selector),
            offered=("char range", "byte range"),
        )
    shifts = codec.startswith("iso2022") or codec == "hz"
    plain = codec not in _WIDTHS and not shifts and _build_table(codec) is None
    return Encoding(codec, _WIDTHS.get(codec, 1), plain, shifts)


def make_ascii_view(data: bytes | memoryview, encoding: Encoding) -> bytes | memoryview:
    """Return the view of a document, or of a part of one that begins in the unshifted state."""
    if encoding.plain:
        return data
    if encoding.width > 1:
        return _narrow_units(data, encoding)
    if encoding.shifts:
        pattern = _HZ if encoding.codec == "hz" else _SHIFTED
        return pattern.sub(lambda shifted: b"\xff" * len(shifted[0]), data)
    return bytes(data).translate(_build_table(encoding.codec))


def _find_codec(charset: str | None, head: bytes, default: str) -> str:
    for mark, codec in _MARKS:
        if head.startswith(mark):
            return codec
    declared = None if charset else formats.find_declared_charset(head)
    said = charset or declared
    if not said:
        return _detect_wide_codec(head) or default
    known = formats.find_charset(said)
    try:
        info = codecs.lookup((known and known.codec) or said)
    except (LookupError, ValueError):  # an unknown or invalid name
        return _detect_wide_codec(head) or default
    codec = info.name.replace("-", "_")
    if not info._is_text_encoding:
        return default
    if declared and codec.startswith(("utf_16", "utf_32")):
        return "utf_8"  # a label readable as ASCII is in neither (HTML standard, 13.2.3.2)
    if codec in {"utf_16", "utf_32"}:  # RFC 2781, 4.3: big-endian without a mark
        return _detect_wide_codec(head) or f"{codec}_be"
    return "utf_8" if codec == "utf_8_sig" else codec


def _detect_wide_codec(head: bytes) -> str | None:
    """Return the encoding of `<` and another ASCII character if its units are wide (XML
    1.0, F.1).
    """
    match tuple(head[:4]):
        case [0x3C, 0, 0, 0]:
            return "utf_32_le"
        case [0, 0, 0, 0x3C]:
            return "utf_32_be"
        case [0x3C, 0, _, 0]:
            return "utf_16_le"
        case [0, 0x3C, 0, _]:
            return "utf_16_be"
    return None


def _narrow_units(data: bytes | memoryview, encoding: Encoding) -> bytes:
    units = array("H" if encoding.width == 2 else "I")
    units.frombytes(data[: len(data) - len(data) % encoding.width])
    if encoding.codec.endswith("be") == (sys.byteorder == "little"):
        units.byteswap()
    return bytes(unit if unit < 0x80 else 0xFF for unit in units)


def _build_table(codec: str) -> bytes | None:
    """Return a table to ASCII from a set of 256 characters that arranges it
    differently, or None.
    """
    every = bytes(range(256))
    if every[:128].decode(codec, "replace") == every[:128].decode("ascii"):
        return None
    characters = every.decode(codec, "replace")
    if len(characters) != len(every):
        return None
    return bytes(ord(one) if ord(one) < 0x80 else 0xFF for one in characters)
