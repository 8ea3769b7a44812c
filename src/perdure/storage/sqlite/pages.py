"""Rows read from the pages of a damaged registry file, without SQLite.

How it works: a table without row ids is a tree of index pages, and a cell of a page is one row
(https://www.sqlite.org/fileformat2.html, sections 1.6 and 2.1). SQLite cannot read the rows behind
a damaged cell of a page. It may even find a row by its key once and not the next time: a damaged
pointer makes it compare with the memory after the page. This module follows each pointer by itself,
and leaves out a cell that cannot be read.

What must stay true: only cells that a pointer leads to are read. Free pages, and the free space of
others, may contain rows that were superseded. A row that was read may still be damaged: the caller
compares its checksum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

Value = int | bytes | None
"""A column; texts are bytes."""
Read = Callable[[int, int], bytes]
"""Reads a number of bytes from an offset, as `apsw.VFSFile.xRead` does."""

_FILE_HEADER = 100
_INTERIOR, _LEAF = 2, 10  # types of index pages
_INTEGERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""Lengths of integers, by their serial types."""
_MOST_DEEP = 20  # levels that a tree can have (SQLite's BTCURSOR_MAX_DEPTH)


def scan_rows(read: Read, length: int, root: int) -> Iterator[tuple[Value, ...]]:
    """The rows of a table without row ids that can be read, from a file of this length in bytes.

    `root` is the number of the first page of the table. The rows come in the order of their keys,
    except where the tree is damaged. Raises what `read` raises.
    """
    if length < _FILE_HEADER:
        return
    header = read(_FILE_HEADER, 0)
    size = int.from_bytes(header[16:18])
    size = 65536 if size == 1 else size
    if size < 512 or size & (size - 1):
        return  # the header of the file is damaged
    yield from _Tree(read, length, size, size - header[20]).scan_page(root)


class _Tree:
    def __init__(self, read: Read, length: int, size: int, usable: int) -> None:
        self._read = read
        self._length = length
        self._size = size
        self._usable = usable
        self._seen: set[int] = set()

    def _find_page(self, number: int) -> bytes:
        """A page, or nothing if the file does not have all of it."""
        is_there = 0 < number <= self._length // self._size
        return self._read(self._size, (number - 1) * self._size) if is_there else b""

    def scan_page(self, number: int, depth: int = 0) -> Iterator[tuple[Value, ...]]:
        """The rows of a page and of the pages below it. Each page is read once."""
        if number in self._seen or depth > _MOST_DEEP:
            return
        page = self._find_page(number)
        if len(page) < self._size:
            return
        self._seen.add(number)
        start = _FILE_HEADER if number == 1 else 0
        kind = page[start]
        if kind not in (_INTERIOR, _LEAF):
            return
        pointers = start + (12 if kind == _INTERIOR else 8)
        count = int.from_bytes(page[start + 3 : start + 5])
        for at in range(pointers, min(pointers + 2 * count, self._usable - 1), 2):
            cell = int.from_bytes(page[at : at + 2])
            if cell >= self._usable - 4:
                continue
            if kind == _INTERIOR:
                yield from self.scan_page(int.from_bytes(page[cell : cell + 4]), depth + 1)
                cell += 4
            try:
                yield _parse_row(self._read_payload(page, cell))
            except (IndexError, ValueError):
                continue
        if kind == _INTERIOR:
            last = int.from_bytes(page[start + 8 : start + 12])
            yield from self.scan_page(last, depth + 1)

    def _read_payload(self, page: bytes, at: int) -> bytes:
        """The payload of a cell, with the part on other pages. Raises IndexError, ValueError."""
        usable = self._usable
        length, at = _read_varint(page, at)
        if length > self._length:
            raise ValueError("it is too long")
        here = length
        if length > (usable - 12) * 64 // 255 - 23:
            least = (usable - 12) * 32 // 255 - 23
            here = least + (length - least) % (usable - 4)
            if here > (usable - 12) * 64 // 255 - 23:
                here = least
        payload = page[at : at + here]
        following = int.from_bytes(page[at + here : at + here + 4]) if here < length else 0
        while len(payload) < length:
            page = self._find_page(following)
            if len(page) < usable:
                raise ValueError("it is cut off")
            following = int.from_bytes(page[:4])
            payload += page[4 : min(usable, 4 + length - len(payload))]
        return payload


def _parse_row(payload: bytes) -> tuple[Value, ...]:
    """The columns of a row. Raises IndexError or ValueError if they cannot be read."""
    end, at = _read_varint(payload, 0)
    body, values = end, []
    while at < end:
        kind, at = _read_varint(payload, at)
        length = _INTEGERS.get(kind, (kind - 12) // 2 if kind >= 12 else 0)
        data = payload[body : body + length]
        if len(data) < length or kind in (7, 10, 11):
            raise ValueError("it is too short, or has a column that no table has")
        body += length
        value: Value = data
        if kind == 0:
            value = None
        elif kind < 12:
            value = kind - 8 if kind in (8, 9) else int.from_bytes(data, signed=True)
        values.append(value)
    return tuple(values)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of one to nine bytes, and the place behind it. Raises IndexError at the end."""
    value = 0
    for index in range(at, at + 8):
        byte = data[index]
        value = value << 7 | byte & 127
        if byte < 128:
            return value, index + 1
    return value << 8 | data[at + 8], at + 9
