"""Rows of a bulk load in a file: frames of MessagePack, each with its length before it."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import BinaryIO

import msgspec

from perdure.errors.importing import LoadUnreadable
from perdure.model.commands import (
    LoadRow,
)

_LENGTH = struct.Struct("!I")
_MOST_ROWS = 512  # in a frame
_MOST_BYTES = 4 << 20  # of content in a frame
_decode_rows = msgspec.msgpack.Decoder(tuple[LoadRow, ...]).decode


def write_rows(file: BinaryIO, rows: Iterable[LoadRow]) -> None:
    """Write rows in the form that `read_rows` reads. Raises OSError."""
    frame: list[LoadRow] = []
    size = 0
    for row in rows:
        frame.append(row)
        size += sum(len(content.data or b"") for _, content in row.contents)
        if len(frame) == _MOST_ROWS or size > _MOST_BYTES:
            _write_frame(file, frame)
            frame, size = [], 0
    if frame:
        _write_frame(file, frame)


def _write_frame(file: BinaryIO, rows: list[LoadRow]) -> None:
    text = msgspec.msgpack.encode(rows)
    file.write(_LENGTH.pack(len(text)) + text)


def read_rows(file: BinaryIO) -> Iterator[tuple[LoadRow, ...]]:
    """The rows of a file, some hundred at a time. Raises InvalidRequest if it is damaged."""
    while head := file.read(_LENGTH.size):
        try:
            yield _decode_rows(file.read(*_LENGTH.unpack(head)))
        except (struct.error, msgspec.DecodeError) as error:
            raise LoadUnreadable(fault=str(error)) from error
