"""Indexes that other programs made: CDX, CDXJ, and the blocks of ZipNum. Their lines as captures.

How it works: a first line ` CDX N b a m s k r M S V g` names the columns of a CDX; without one, a
line has 9 to 14 fields, or is CDXJ. Blocks of ZipNum are gzip members one after another, which are
read as one text; their table (`.idx`) is not needed. The key of each capture is made again from its
URL, because programs make different ones.

What must stay true: memory is bounded by the longest line; a line that cannot be read costs no
other.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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


class IndexLine(NamedTuple):
    """A line of an index: its capture, or why it has none."""

    number: int
    text: bytes
    capture: Capture | None = None
    fault: PerdureError | None = None


def read_index(path: Path) -> Iterator[IndexLine]:
    """Yield the lines of an index, compressed or not. Raises OSError."""
    with path.open("rb") as file:
        is_packed = file.read(2) == b"\x1f\x8b"
    columns: list[str] = []
    with gzip.open(path) if is_packed else path.open("rb") as lines:
        number = 0
        while True:
            try:
                text = lines.readline(_LONGEST)
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                yield IndexLine(number + 1, b"", fault=IndexLineUnreadable(fault=str(error)))
                return
            if not text:
                return
            number += 1
            if text.lstrip().startswith(b"CDX "):
                columns = [_LETTERS.get(one, "") for one in text.split()[1:]]
            elif text.strip() and not text.startswith(b"!meta"):
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
