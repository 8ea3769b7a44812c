"""The records of an XML file, one by one, as text that can be parsed alone.

How it works: expat reads the file in pieces. When it enters an element that is a record, its text
is kept until it ends. Namespaces that are declared around the record, and used in it, are added to
its first tag.

What must stay true: memory is bounded by the longest record; a document type declaration ends the
reading, so that no entity expands; after a fault of the grammar nothing more is read.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO
from xml.parsers import expat

from perdure.errors import PerdureError
from perdure.errors.exchanging import RecordTooLong, XmlFileDeclares, XmlFileMalformed
from perdure.upkeep.exchange.port import ReadRecord
from perdure.upkeep.exchange.texts import LONGEST

_PIECE = 1 << 20  # bytes
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def cut_elements(file: BinaryIO, is_record: Callable[[str, int], bool]) -> Iterator[ReadRecord]:
    """Yield the elements for which `is_record(name, depth)` is true, numbered by their position.

    Elements inside of a record are not records. The last one has a fault if the file has one.
    """
    cutter = _Cutter(is_record)
    head = file.read(2)
    wide = head in _WIDE
    if wide:
        file = codecs.EncodedFile(_Prefixed(head, file), "utf-8", "utf-16")  # type: ignore[arg-type]
        head = b""
    cutter.prepare("utf-8" if wide else None)
    while piece := head + file.read(_PIECE):
        head = b""
        fault = cutter.feed(piece)
        yield from cutter.take()
        if fault is not None:
            yield ReadRecord(cutter.count + 1, "", fault=fault)
            return
    fault = cutter.feed(b"", last=True)
    yield from cutter.take()
    if fault is not None:
        yield ReadRecord(cutter.count + 1, "", fault=fault)


class _Prefixed:
    """A file with bytes before it."""

    def __init__(self, head: bytes, file: BinaryIO) -> None:
        self._head = head
        self._file = file

    def read(self, size: int = -1) -> bytes:
        head, self._head = self._head, b""
        return head + self._file.read(size)


class _Forbidden(Exception):
    """The file has a document type declaration."""


class _Cutter:
    """Finds records in the pieces of a file."""

    def __init__(self, is_record: Callable[[str, int], bool]) -> None:
        self._is_record = is_record
        self._found: list[ReadRecord] = []
        self._kept = bytearray()
        self._offset = 0  # of the first kept byte
        self._start = -1
        self._depth = self._inside = 0
        self._declared: list[tuple[str, str]] = []
        self._encoding = "utf-8"
        self.count = 0
        self._parser: Any = None

    def prepare(self, encoding: str | None) -> None:
        """Make the parser. `encoding` overrules the one that the file declares."""
        parser = self._parser = expat.ParserCreate(encoding)
        parser.StartElementHandler = self._enter
        parser.EndElementHandler = self._leave
        parser.StartDoctypeDeclHandler = self._refuse
        parser.XmlDeclHandler = lambda _version, name, _alone: self._declare(encoding or name)

    def _declare(self, encoding: str | None) -> None:
        self._encoding = encoding or "utf-8"

    def _refuse(self, *_: object) -> None:
        raise _Forbidden

    def feed(self, piece: bytes, *, last: bool = False) -> PerdureError | None:
        """Parse a piece. Return the fault that ends the reading, or None."""
        self._kept += piece
        try:
            self._parser.Parse(piece, last)
        except expat.ExpatError as error:
            words = expat.errors.messages[error.code]
            return XmlFileMalformed(line=error.lineno, column=error.offset, fault=words)
        except (_Forbidden, UnicodeDecodeError):
            return XmlFileDeclares(line=self._parser.CurrentLineNumber)
        if self._start < 0:
            drop = max(0, self._parser.CurrentByteIndex - self._offset)
            del self._kept[:drop]
            self._offset += drop
        elif len(self._kept) > LONGEST:
            return RecordTooLong(most=LONGEST)
        return None

    def take(self) -> list[ReadRecord]:
        found, self._found = self._found, []
        return found

    def _enter(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._start >= 0:
            return
        if self._is_record(name.rpartition(":")[2], self._depth):
            self._start = self._parser.CurrentByteIndex
            self._inside = self._depth
            return
        self._declared += [
            (one, value) for one, value in attributes.items() if one.split(":")[0] == "xmlns"
        ]

    def _leave(self, _: str) -> None:
        if self._start >= 0 and self._depth == self._inside:
            begin = self._start - self._offset
            at = self._parser.CurrentByteIndex - self._offset
            end = self._kept.index(b">", at) + 1
            raw = self._kept[begin:end].decode(self._encoding, "replace")
            self.count += 1
            self._found.append(ReadRecord(self.count, self._declare_around(raw)))
            self._start = -1
        self._depth -= 1

    def _declare_around(self, raw: str) -> str:
        """Declare the namespaces around a record in its first tag, if it uses them."""
        tag = raw[: raw.find(">")]
        added = {}
        for name, uri in self._declared:
            prefix = name.partition(":")[2]
            is_used = f"{prefix}:" in raw if prefix else ":" not in tag.split(None, 1)[0]
            if f"{name}=" not in tag and is_used:
                added[name] = uri.replace("&", "&amp;").replace('"', "&quot;")
        if not added:
            return raw
        end = len(tag.split(None, 1)[0].rstrip("/"))
        words = "".join(f' {name}="{uri}"' for name, uri in added.items())
        return raw[:end] + words + raw[end:]
