"""A file of another system as lines of an import: converted while it is read.

How it works: the line of record *n* is line *n* of the stream; numbers without a record are empty
lines, which an import skips. So the faults that an import finds have the numbers of the file, and
an interrupted import can resume at an offset: the same file is converted to the same lines.

What must stay true: memory is bounded by the longest record; a record that cannot be converted is
an empty line, and a fault.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from perdure.errors.exchanging import RecordInOtherCharset
from perdure.upkeep.exchange.port import ExchangeForm, ReadingTerms, ReadRecord
from perdure.upkeep.transfer.blocks import Fault, make_fault

_SOME = 256 << 10  # bytes converted at once


class ConvertedLines(io.RawIOBase):
    """The lines of an import, made from a file. It can be read once, and sought forward."""

    def __init__(self, form: ExchangeForm, file: BinaryIO, terms: ReadingTerms) -> None:
        self._charset = terms.charset
        self._records: Iterator[ReadRecord] = form.read(file, terms)
        self._waiting = memoryview(b"")
        self._position = 0
        self._lines = 0
        self._faults: list[Fault] = []

    def take_faults(self) -> tuple[Fault, ...]:
        """Return the faults that were found since the last call."""
        found = tuple(self._faults)
        self._faults.clear()
        return found

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go forward to an offset. Faults on the way were reported by an earlier run."""
        if whence != io.SEEK_SET or offset < self._position:
            raise io.UnsupportedOperation("a converted file is read forward only")
        while self._position < offset and self.read(min(offset - self._position, _SOME)):
            pass
        self._faults.clear()
        return self._position

    def readinto(self, buffer: Any, /) -> int:
        target = memoryview(buffer).cast("B")
        if not self._waiting:
            self._waiting = memoryview(self._convert_some())
        count = min(len(target), len(self._waiting))
        target[:count] = self._waiting[:count]
        self._waiting = self._waiting[count:]
        self._position += count
        return count

    def _convert_some(self) -> bytes:
        pieces: list[bytes] = []
        size = 0
        for record in self._records:
            line = self._encode(record)
            pieces.append(b"\n" * (record.number - self._lines - 1) + line + b"\n")
            self._lines = record.number
            size += len(pieces[-1])
            if size >= _SOME:
                break
        return b"".join(pieces)

    def _encode(self, record: ReadRecord) -> bytes:
        if record.line is None:
            if record.fault is not None:
                self._faults.append(make_fault(record.number, record.fault))
            return b""
        try:
            return _encode(record.line)
        except UnicodeEncodeError:
            fault = RecordInOtherCharset(charset=self._charset)
            self._faults.append(make_fault(record.number, fault))
            return b""


_encode = msgspec.json.Encoder().encode
