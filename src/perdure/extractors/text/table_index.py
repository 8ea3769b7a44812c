"""The index of a CSV file: the place of each row, without reading the rows before it.

How it works: the file is read once, in blocks that end with a row. For each block the index has the
offset of its first row and that row's number, 16 bytes for 8 KiB. To find a row, only its block is
read.

A quotation mark opens a quoted field only at the start of a field; elsewhere it is a character, as
for other readers (`6" x 9"`). Within quotes, commas and line breaks are text, and two quotation
marks are one. A row ends with CRLF, or with LF or CR alone. An empty line is a row of one empty
field: the grammar of RFC 4180 allows nothing else.

What must stay true: a row is a slice of the stored bytes with its line break, and all rows together
are the file after its byte-order mark. A quoted field that never ends is an error.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import islice

from perdure.errors import PartNotSupported
from perdure.errors.damage import QuotedFieldEndless
from perdure.errors.limits import RowTooLong
from perdure.extractors.port import Indexes, Source, Span
from perdure.extractors.text.ascii_view import Encoding, make_ascii_view
from perdure.extractors.text.coding import Coding

BLOCK = 8 * 1024  # bytes between marks, about
_CHUNK = 1 << 20  # bytes that are examined together
_COLUMNS = 2
_LONGEST_ROW = 16 << 20  # bytes

# field = (DQUOTE *(TEXTDATA / COMMA / CR / LF / 2DQUOTE) DQUOTE) / *TEXTDATA  (RFC 4180 section 2)
# Two quotation marks in a quoted field end one quoted section and begin the next. No group is
# possessive, because Python before 3.11.5 matches those wrongly.
_QUOTED = re.compile(rb'(?:"[^"]*+"){1,64}')
_UNQUOTED = re.compile(rb"[^,\r\n]*+")
_SIMPLE = re.compile(rb'(?:(?!")|"[^"]*+"(?!"))[^,\r\n]*+')  # a field without two such marks
_BREAK = re.compile(rb"\r\n?|\n")


class TableIndex:
    """Finds rows of one table, counted from 0. `open_table` creates it."""

    def __init__(self, source: Source, coding: Coding, kept: memoryview | bytes) -> None:
        self.source = source
        self.coding = coding
        self._encoding = _make_encoding(coding)
        self._marks = memoryview(kept).cast("Q")
        self._last = len(self._marks) // _COLUMNS - 1
        self.rows = self._marks[self._last * _COLUMNS + 1]
        """The number of rows."""

    def find_span(self, first: int, stop: int) -> Span:
        """Return the bytes of rows [first, stop), which exist."""
        return Span(self._find_start(first), self._find_start(stop))

    def read_fields(self, first: int, stop: int, most: int | None = None) -> Iterator[list[bytes]]:
        """Yield the first `most` fields of each of the rows [first, stop), as they are written."""
        width = self._encoding.width
        while first < stop:
            number, start, end = self._find_block(first)
            data = self.source.read_bytes(start, end)
            view = make_ascii_view(data, self._encoding)
            ends = find_row_ends(bytes(view), whole=True)
            for row in range(first, min(number + len(ends), stop)):
                at = ends[row - number - 1] if row > number else 0
                cut = islice(_cut_fields(view, at, ends[row - number]), most)
                yield [data[one * width : two * width] for one, two in cut]
            first = number + len(ends)

    def _find_start(self, row: int) -> int:
        if row >= self.rows:
            return self._marks[self._last * _COLUMNS]
        number, start, end = self._find_block(row)
        if row == number:
            return start
        view = make_ascii_view(self.source.read_bytes(start, end), self._encoding)
        ends = find_row_ends(bytes(view), whole=True)
        return start + ends[row - number - 1] * self._encoding.width

    def _find_block(self, row: int) -> tuple[int, int, int]:
        """Return the number of the first row in the block of a row, and the bytes of the block."""
        mark = bisect_right(range(self._last), row, key=lambda n: self._marks[n * _COLUMNS + 1]) - 1
        start, number, end = self._marks[mark * _COLUMNS : mark * _COLUMNS + 3]
        return number, start, end


def open_table(
    source: Source, coding: Coding, indexes: Indexes, *, block: int = BLOCK
) -> TableIndex:
    """Return the rows of a table; the first request finds them.

    Raises Undecodable if a quoted field never ends, OverBudget if a row has more than 16 MiB, and
    PartNotSupported for UTF-7.
    """
    if coding.codec == "utf-7":
        raise PartNotSupported(
            media_type=f"{source.essence}; charset=utf-7",
            selector="row",
            offered=("char range", "text range", "byte range"),
        )
    kind = f"rows-1-{coding.codec}"
    return TableIndex(
        source,
        coding,
        indexes.get_index(source, kind, lambda source: build_marks(source, coding, block)),
    )


def build_marks(source: Source, coding: Coding, block: int = BLOCK, chunk: int = _CHUNK) -> bytes:
    """Return the offset and number of the first row of each block, and of the end."""
    encoding = _make_encoding(coding)
    found = array("Q")
    at, rows, size = coding.start, 0, chunk
    while at < source.length:
        data = source.read_bytes(at, at + size * encoding.width)
        whole = at + len(data) == source.length
        ends = find_row_ends(bytes(make_ascii_view(data, encoding)), whole=whole)
        if not ends:
            _refuse_row(source, at, rows, whole=whole, size=size)
            size *= 2
            continue
        found.extend((at, rows))
        for border in range(block, ends[-1], block):
            passed = bisect_left(ends, border) + 1
            if passed < len(ends) and rows + passed > found[-1]:
                found.extend((at + ends[passed - 1] * encoding.width, rows + passed))
        at += ends[-1] * encoding.width
        rows += len(ends)
        size = chunk
    found.extend((source.length, rows))
    return found.tobytes()


def _refuse_row(source: Source, at: int, rows: int, *, whole: bool, size: int) -> None:
    if whole:
        raise QuotedFieldEndless(**source.subject, row=rows + 1, at=at)
    if size > _LONGEST_ROW:
        raise RowTooLong(row=rows + 1, most=_LONGEST_ROW)


def find_row_ends(data: bytes, *, whole: bool) -> list[int]:
    """Return the ends of the rows that begin at the start of the data; `whole`: nothing
    follows it.
    """
    if not whole and data[-1:] == b"\r":  # an LF may follow
        data = data[:-1]
    ends = _find_ends_by_parity(data)
    if ends is None:
        return _find_ends_one_by_one(data, whole=whole)
    last = ends[-1] if ends else 0
    if whole and last < len(data):
        ends += (last + one for one in _find_ends_one_by_one(data[last:], whole=True))
    return ends


def _find_ends_one_by_one(data: bytes, *, whole: bool) -> list[int]:
    ends = []
    at = 0
    while (stop := _find_field_end(data, at)) is not None:
        if data[stop : stop + 1] == b",":
            at = stop + 1
        elif line_break := _BREAK.match(data, stop):
            at = line_break.end()
            ends.append(at)
        else:
            begun = stop > (ends[-1] if ends else 0)
            return [*ends, stop] if whole and begun else ends
    return ends


def _find_field_end(view: bytes | memoryview, at: int) -> int | None:
    """Return the end of the field that begins here, or None if it is quoted and has no end.

    Characters after a closing quotation mark are text of the field, as for other readers.
    """
    if simple := _SIMPLE.match(view, at):
        return simple.end()
    while stretches := _QUOTED.match(view, at):
        at = stretches.end()
    return None if view[at : at + 1] == b'"' else _match_end(_UNQUOTED.match(view, at), at)


def _match_end(match: re.Match[bytes] | None, at: int) -> int:
    return match.end() if match else at


def _find_ends_by_parity(data: bytes) -> list[int] | None:
    """Find all ends at once: a line break ends a row if the number of quotation marks before it is
    even.

    None if by this rule a quotation mark would open or close a field in its middle; without numpy,
    if there is any quotation mark.
    """
    try:
        import numpy as np
    except ImportError:
        return None if b'"' in data else [one.end() for one in _BREAK.finditer(data)]
    octets = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(octets == 0x0A)
    if b"\r" in data:
        cr = np.flatnonzero(octets == 0x0D)
        alone = cr[octets[np.minimum(cr + 1, len(octets) - 1)] != 0x0A]
        if len(alone):
            ends = np.union1d(ends, alone)
    if b'"' in data:
        quotes = np.flatnonzero(octets == 0x22)
        border = np.zeros(256, bool)
        border[list(b'\r\n",')] = True
        opening, closing = quotes[::2], quotes[1::2]
        before = border[octets[np.maximum(opening - 1, 0)]]
        after = border[octets[np.minimum(closing + 1, len(octets) - 1)]]
        if not (before.all() and after.all()):
            return None
        ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
    found: list[int] = (ends + 1).tolist()
    return found


def _cut_fields(view: bytes | memoryview, at: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield the places of the fields of a row."""
    while (end := _find_field_end(view, at)) is not None:
        yield at, end
        if end == stop or view[end : end + 1] != b",":
            return
        at = end + 1


def _make_encoding(coding: Coding) -> Encoding:
    return Encoding(
        coding.codec.replace("-", "_"),
        len(coding.cr),
        coding.kind == "plain",
        coding.kind == "shifted",
    )
