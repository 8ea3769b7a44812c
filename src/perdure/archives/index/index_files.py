"""Indexes that other programs made: CDX, CDXJ, and the blocks of ZipNum. Their lines as captures.

How it works: a first line ` CDX N b a m s k r M S V g` names the columns of a CDX; without one, a
line has 9 to 14 fields, or is CDXJ, in which lines that begin with `!` are about the file. Blocks
of ZipNum are gzip members one after another, which are read as one text; their table (`.idx`) is
not needed. A member ends a line, also without a line break, as in the blocks that pywb has written;
only the blocks of BGZF (SAM format specification, section 4.1) divide a text anywhere. The key of
each capture is made again from its URL, because programs make different ones.

What must stay true: memory is bounded by the longest line; a line that cannot be read costs no
other.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from perdure.archives.dates import format_second, parse_second
from perdure.archives.index.remote import parse_line
from perdure.archives.port import Capture
from perdure.errors import PerdureError
from perdure.errors.captures import IndexLineUnreadable
from perdure.errors.root import count_things
from perdure.ids.urlkey import make_url_key

_LONGEST = 1 << 20  # bytes of a line
_LETTERS = {
    b"a": "url", b"b": "date", b"m": "mime", b"s": "status", b"k": "digest", b"S": "length",
    b"V": "offset", b"v": "offset", b"g": "file",
}  # fmt: skip
"""The columns of a CDX that a capture has (Internet Archive, "CDX file format reference")."""
_NEEDED = frozenset(("url", "date", "offset", "file"))
_SHA1 = 32  # characters in base32
_GZIP = 31  # the `wbits` of zlib for a gzip member
_AT_ONCE = 256 << 10  # bytes
_HEADER = 14  # bytes of a member, as far as they are looked at
_HAS_EXTRA = 4  # FEXTRA (RFC 1952 section 2.3.1)


class IndexLine(NamedTuple):
    """A line of an index: its capture, or why it has none."""

    number: int
    text: bytes
    capture: Capture | None = None
    fault: PerdureError | None = None


def read_index(path: Path) -> Iterator[IndexLine]:
    """Yield the lines of an index, compressed or not. Raises OSError."""
    columns: list[str] = []
    with path.open("rb") as file:
        is_packed = file.peek(2)[:2] == b"\x1f\x8b"
        lines = io.BufferedReader(_Members(file), _AT_ONCE) if is_packed else file
        number = 0
        while True:
            try:
                text = lines.readline(_LONGEST)
            except (EOFError, zlib.error) as error:
                yield IndexLine(number + 1, b"", fault=IndexLineUnreadable(fault=str(error)))
                return
            if not text:
                return
            number += 1
            if text.lstrip().startswith(b"CDX "):
                columns = [_LETTERS.get(one, "") for one in text.split()[1:]]
            elif text.strip() and not text.startswith(b"!"):
                yield _read_line(number, text, columns)


def _read_line(number: int, text: bytes, columns: list[str]) -> IndexLine:
    line = text.strip()
    try:
        if columns and line.split(b" ", 2)[-1][:1] != b"{":
            capture = _read_columns(line, columns)
        else:
            capture = parse_line(line)
        if not capture.uri or not capture.file:
            raise ValueError("it has no URL or no archive file")
        key = make_url_key(capture.uri)
        digest = _complete_digest(capture.digest)
        return IndexLine(number, text, msgspec.structs.replace(capture, key=key, digest=digest))
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        return IndexLine(number, text, fault=IndexLineUnreadable(fault=str(error)))


def _read_columns(line: bytes, columns: list[str]) -> Capture:
    """Read a line with named columns. Raises ValueError."""
    fields = line.decode("utf-8").split(" ")
    if len(fields) != len(columns) or not _NEEDED.issubset(columns):
        wanted = count_things(len(columns), "column")
        raise ValueError(f"it has {count_things(len(fields), 'field')} for {wanted}")
    named = dict(zip(columns, fields, strict=True))
    time = parse_second(named["date"])
    media_type = "" if named.get("mime") == "-" else named.get("mime", "")
    is_revisit = media_type == "warc/revisit"
    status, length = named.get("status", ""), named.get("length", "")
    return Capture(
        key="",
        time=time,
        date=format_second(time),
        uri=named["url"],
        kind="revisit" if is_revisit else "response",
        media_type="" if is_revisit else media_type,
        status=int(status) if status.isdecimal() else None,
        digest=named.get("digest", "").strip("-"),
        file=named["file"],
        offset=int(named["offset"]),
        length=int(length) if length.isdecimal() else 0,
    )


def _complete_digest(digest: str) -> str:
    """Return a digest with its algorithm: without one, 32 characters are SHA-1 in base32."""
    return f"sha1:{digest}" if len(digest) == _SHA1 and ":" not in digest else digest


class _Members(io.RawIOBase):
    """The text of gzip members, each of which ends a line."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._packed = b""
        self._inflate: Any = None  # of the member that is read
        self._last = b"\n"

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        target = memoryview(buffer).cast("B")
        while True:
            text = self._begin_member() if self._inflate is None else self._read_some(len(target))
            if text is None:
                return 0
            if text:
                self._last = text[-1:]
                target[: len(text)] = text
                return len(text)

    def _begin_member(self) -> bytes | None:
        """Begin the next member. Return the line break that the one before lacks, or None at the
        end of the file, which zeros may fill up.
        """
        self._packed = self._packed.lstrip(b"\0")
        while len(self._packed) < _HEADER and (more := self._file.read(_AT_ONCE)):
            self._packed = (self._packed + more).lstrip(b"\0")
        if not self._packed:
            return None
        self._inflate = zlib.decompressobj(_GZIP)
        head = self._packed[:_HEADER].ljust(_HEADER, b"\0")
        is_bgzf = bool(head[3] & _HAS_EXTRA) and head[12:14] == b"BC"
        return b"" if is_bgzf or self._last == b"\n" else b"\n"

    def _read_some(self, most: int) -> bytes:
        """Return some of the text of the member. Raises EOFError, zlib.error."""
        text: bytes = self._inflate.decompress(self._packed, most)
        self._packed = self._inflate.unconsumed_tail
        if self._inflate.eof:
            self._packed, self._inflate = self._inflate.unused_data, None
        elif not text and not self._packed:
            self._packed = self._file.read(_AT_ONCE)
            if not self._packed:
                raise EOFError("the file ends within a compressed block")
        return text
