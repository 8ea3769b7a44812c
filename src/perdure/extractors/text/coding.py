"""The coding of a text's characters in its bytes: codec, byte-order mark, line breaks.

How it works: the charset comes from the source, else from the byte-order mark, else from a
declaration in the markup; the default is ISO 8859-1 (ruling: pdi-charset), or UTF-8 for types
that say so.
For cutting there are three kinds, by the way a line break can be inserted into the bytes:

* `plain`: CR and LF are the bytes 13 and 10, and these bytes are nothing else: ASCII, ISO 8859,
  UTF-8, EUC, Shift_JIS, Big5, GB18030.
* `wide`: every character can be decoded and encoded again to the very same bytes, but a line break
  has other bytes than in ASCII: UTF-16, UTF-32, EBCDIC.
* `shifted`: the meaning of a byte depends on those before it: ISO-2022, HZ, UTF-7.

What must stay true: a slice of a `plain` or `wide` text between two characters is itself a text in
the charset that `label` names.
"""

from __future__ import annotations

import codecs
from functools import cache
from typing import NamedTuple

import msgspec

from perdure import formats
from perdure.errors import PartNotSupported
from perdure.extractors.port import Source
from perdure.extractors.text.ascii_view import find_encoding

_MARKS = (  # the longer first: the mark of UTF-32LE begins with that of UTF-16LE
    ("utf-8", codecs.BOM_UTF8),
    ("utf-32-le", codecs.BOM_UTF32_LE),
    ("utf-32-be", codecs.BOM_UTF32_BE),
    ("utf-16-le", codecs.BOM_UTF16_LE),
    ("utf-16-be", codecs.BOM_UTF16_BE),
)
_ORDERED = {  # the names of RFC 2781 and IANA for encodings without a mark
    "utf-16-le": "UTF-16LE",
    "utf-16-be": "UTF-16BE",
    "utf-32-le": "UTF-32LE",
    "utf-32-be": "UTF-32BE",
}
_LONGEST_MARK = 4  # bytes
_MARK_BEGINS = frozenset(mark[:1] for _, mark in _MARKS)
_NOT_OF_TEXT = frozenset(
    {"idna", "mbcs", "oem", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}
)
_SHIFTED = ("iso2022", "hz", "utf-7")
_ASCII = bytes(range(128))


class Coding(NamedTuple):
    """The coding of a text."""

    codec: str
    """Python's name, including the byte order."""
    start: int
    """Bytes of the byte-order mark, which is not a character (ruling: text-positions)."""
    kind: str
    """`plain`, `wide` or `shifted`: see above."""
    cr: bytes
    lf: bytes
    state: int
    """The state of a decoder that has read nothing."""
    label: str | None
    """The charset of a part, which has no byte-order mark, or None if no charset is stated."""


def find_coding(source: Source, data: bytes | None = None) -> Coding:
    """Return the coding of a source, of which `data` may be the beginning.

    Raises PartNotSupported if its charset is unknown.
    """
    head = source.read_bytes(0, _LONGEST_MARK) if data is None else data[:_LONGEST_MARK]
    codec = _find_codec(source, head)
    mark = _measure_mark(codec, head) if head[:1] in _MARK_BEGINS else 0
    return Coding(codec, mark, *_describe_codec(codec), label=_ORDERED.get(codec, source.charset))


def _measure_mark(codec: str, head: bytes) -> int:
    """Return the length of the byte-order mark of a codec, or 0 if there is none."""
    return next((len(mark) for name, mark in _MARKS if name == codec and _has_mark(head, mark)), 0)


def find_part_codec(source: Source, label: str | None) -> str:
    """Return the codec of a part of a source, by the charset that the part states."""
    if label is None:
        return find_coding(source).codec
    if label != source.charset:
        source = msgspec.structs.replace(source, charset=label)
    return _find_codec(source, b"")


def _choose_default(source: Source) -> str:
    if _is_marked_up(source):
        return find_encoding(source, "char").codec.replace("_", "-")
    # ruling: pdi-charset, which covers text/*; JSON, YAML, TOML and WebVTT are UTF-8 by definition
    is_utf_8 = source.essence.startswith("application/") or source.essence == "text/vtt"
    return "utf-8" if is_utf_8 and source.essence != "application/x-subrip" else "iso8859-1"


def _is_marked_up(source: Source) -> bool:
    return source.essence.endswith(("/html", "/xml", "+xml", "/sgml"))


def _has_mark(head: bytes, mark: bytes) -> bool:
    return head.startswith(mark)


def _find_codec(source: Source, head: bytes) -> str:
    if source.charset is None:
        if head[:1] in _MARK_BEGINS:
            marked = (name for name, mark in _MARKS if _has_mark(head, mark))
            return next(marked, None) or _choose_default(source)
        return _choose_default(source)
    known = formats.find_charset(source.charset)
    try:
        info = codecs.lookup((known and known.codec) or source.charset)
    except (LookupError, ValueError):  # an unknown or invalid name
        raise _make_unsupported(source) from None
    codec = info.name.replace("_", "-")
    if codec in _NOT_OF_TEXT or not info._is_text_encoding:
        raise _make_unsupported(source)
    if codec in {"utf-16", "utf-32"}:
        ordered = (
            name for name, mark in _MARKS if name.startswith(codec) and _has_mark(head, mark)
        )
        return next(ordered, f"{codec}-be")  # RFC 2781 section 4.3
    return "utf-8" if codec == "utf-8-sig" else codec


@cache
def _describe_codec(codec: str) -> tuple[str, bytes, bytes, int]:
    """Return the kind, CR, LF and initial state of a codec."""
    cr, lf = (one.encode(codec) for one in "\r\n")
    kind = "wide"
    if codec.startswith(_SHIFTED):
        kind = "shifted"
    elif cr + lf == b"\r\n" and len(_ASCII.decode(codec, "replace")) == len(_ASCII):
        kind = "plain"
    return kind, cr, lf, codecs.getincrementaldecoder(codec)().getstate()[1]


def _make_unsupported(source: Source) -> PartNotSupported:
    return PartNotSupported(
        media_type=f"{source.essence}; charset={source.charset}",
        selector="char",
        offered=("byte range",),
    )
