"""Two readings of the same bytes, compared as texts: what a correction of the charset changes.

How it works: the bytes are decoded in both ways, side by side. Characters are counted as `char=` of
a PDI counts them, up to the first difference and to the end.

What must stay true: memory is bounded, whatever the length of the text.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

import msgspec

from perdure import formats
from perdure.errors import PartNotSupported
from perdure.extractors.port import Source
from perdure.extractors.text.coding import Coding, find_coding
from perdure.model.records import Reading

_PIECE = 1 << 20  # bytes
_BREAK = re.compile(r"\r\n|\r|\n")
_LONGEST_COUNTED = 1 << 30  # bytes


class TextDifference(msgspec.Struct, frozen=True, kw_only=True):
    """Two readings of the same bytes, compared. Characters are those of `char=` in a PDI."""

    before: int | None
    """Number of characters, or None if the bytes cannot be read in this way."""
    after: int | None
    first: int | None
    """Position of the first character that differs; None if none does, or if it is unknown."""


def compare_texts(source: Source, before: Reading, after: Reading) -> TextDifference | None:
    """Compare two readings of the same bytes. None if neither is text, or they are too long."""
    ways = [
        msgspec.structs.replace(source, media_type=one.media_type, charset=one.charset)
        for one in (before, after)
        if formats.is_text(one.media_type)
    ]
    if len(ways) < 2 or source.length > _LONGEST_COUNTED:
        return None
    texts = [_TextCount(one) for one in ways]
    for piece in _read_pieces(source):
        for text in texts:
            text.feed(piece)
        _compare_rest(*texts)
    for text in texts:
        text.feed(b"", final=True)
    _compare_rest(*texts)
    old, new = texts
    first = old.same if old.rest != new.rest and None not in (old.count, new.count) else None
    return TextDifference(before=old.count, after=new.count, first=first)


class _TextCount:
    """The characters of a text, counted while it is decoded."""

    def __init__(self, source: Source) -> None:
        self._coding = _find_coding(source)
        codec = self._coding.codec if self._coding else "ascii"
        self._decoder = codecs.getincrementaldecoder(codec)()
        self._start = self._coding.start if self._coding else 0
        self._after_cr = False
        self.count: int | None = 0 if self._coding else None
        self.rest = ""
        """Characters that were not compared yet, or differ."""
        self.same = 0
        """Characters that are equal in both texts."""

    def feed(self, data: bytes, *, final: bool = False) -> None:
        data, self._start = data[self._start :], max(self._start - len(data), 0)
        if self.count is None:
            return
        try:
            text = self._decoder.decode(data, final)
        except UnicodeError:
            self.count = None
            return
        self.count += _count_canonical(text) - (self._after_cr and text[:1] == "\n") * 2
        self._after_cr = text.endswith("\r") or (self._after_cr and not text)
        if len(self.rest) < _PIECE * 4:
            self.rest += text


def _compare_rest(old: _TextCount, new: _TextCount) -> None:
    """Drop what is equal at the beginning of both rests, and count it."""
    length = min(len(old.rest), len(new.rest))
    same = length
    if old.rest[:length] != new.rest[:length]:
        same = next(at for at in range(length) if old.rest[at] != new.rest[at])
    counted = _count_canonical(old.rest[:same])
    for one in (old, new):
        one.same += counted
        one.rest = one.rest[same:]


def _count_canonical(text: str) -> int:
    """Count characters of canonical text: a line break is two (ruling: text-positions)."""
    return len(_BREAK.sub("\r\n", text))


def _find_coding(source: Source) -> Coding | None:
    try:
        return find_coding(source)
    except PartNotSupported:
        return None


def _read_pieces(source: Source) -> Iterator[bytes]:
    for start in range(0, source.length, _PIECE):
        yield source.read_bytes(start, min(start + _PIECE, source.length))
