"""Write a blank record as a zstd frame of a given length (RFC 8878).

    magic | head of the frame | head: raw or compressed blocks | zeros: raw blocks, then runs |
    end: a raw block | empty raw blocks

How it works: the more zeros are in raw blocks, the longer the frame is. Empty blocks add three
bytes each, and a dictionary id of zero, which means no dictionary, adds the last one or two. If the
head is too long for a raw block, it is compressed, and the blocks of that frame begin this one.

What must stay true: the frame has exactly the length; it needs no dictionary but that of its file,
and its window is at most that of usual frames.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import chain
from typing import Any

from perdure.archives.files.windows import ZSTD
from perdure.archives.libraries import import_library

_LARGEST = 128 << 10
"""Bytes of a block, with the window of 128 KiB (section 3.1.1.2.4)."""
_WINDOW = 0x38
_RAW, _RUN, _COMPRESSED = 0, 1, 2
_HEAD = 3
_SINGLE_SEGMENT = 0x20


def list_beginnings(head: bytes, dictionary: bytes | None) -> Iterator[bytes]:
    """Yield blocks that inflate to a head, the longest and simplest first.

    `dictionary`: that of the file. Only the last of them needs it.
    """
    yield _store(head)
    for one in (None, dictionary) if dictionary else (None,):
        blocks = _compress(head, one)
        if blocks is not None:
            yield blocks


def encode_frame(begin: bytes, zeros: int, tail: bytes, length: int) -> Iterator[bytes] | None:
    """Return a frame of `length` bytes: blocks of the head, zeros, tail.

    It comes in pieces. Returns None if no frame has this length.
    """
    room = length - len(ZSTD) - 2 - len(begin) - len(_store(tail)) - _HEAD
    stored = min(zeros, max(0, room))
    while stored and _measure_zeros(stored, zeros) > room:
        stored = max(0, stored - max(1, _measure_zeros(stored, zeros) - room))
    room -= _measure_zeros(stored, zeros)
    if room < 0:
        return None
    empty, extra = divmod(room, _HEAD)
    start = ZSTD + bytes((extra, _WINDOW)) + bytes(extra)  # an id of `extra` bytes
    return chain(
        (start, begin),
        _store_zeros(stored),
        (_repeat(zeros - stored), _store(tail)),
        _repeat_empty(empty),
        (_block(_RAW, 0, is_last=True),),
    )


def _measure_zeros(stored: int, zeros: int) -> int:
    """Return the bytes of all zeros, if some are in raw blocks and the others in runs."""
    blocks, runs = -(-stored // _LARGEST), -(-(zeros - stored) // _LARGEST)
    return stored + _HEAD * blocks + (_HEAD + 1) * runs


def _store_zeros(count: int) -> Iterator[bytes]:
    for start in range(0, count, _LARGEST):
        size = min(_LARGEST, count - start)
        yield _block(_RAW, size) + bytes(size)


def _repeat_empty(count: int) -> Iterator[bytes]:
    for start in range(0, count, _LARGEST):
        yield _block(_RAW, 0) * min(_LARGEST, count - start)


def _block(kind: int, size: int, *, is_last: bool = False) -> bytes:
    """Return the head of a block (section 3.1.1.2)."""
    return (is_last | kind << 1 | size << 3).to_bytes(_HEAD, "little")


def _store(text: bytes) -> bytes:
    pieces = (text[start : start + _LARGEST] for start in range(0, len(text), _LARGEST))
    return b"".join(_block(_RAW, len(piece)) + piece for piece in pieces)


def _repeat(zeros: int) -> bytes:
    sizes = (min(_LARGEST, zeros - start) for start in range(0, zeros, _LARGEST))
    return b"".join(_block(_RUN, size) + b"\0" for size in sizes)


def _compress(text: bytes, dictionary: bytes | None) -> bytes | None:
    """Return the blocks of a compressed frame; None if these cannot begin another frame."""
    if not 0 < len(text) <= _LARGEST:
        return None
    stream_io: Any = import_library("fastwarc.stream_io")
    made = io.BytesIO()
    writer = stream_io.ZstdWriter(made, dictionary=dictionary, compress_dictionary_frame=False)
    writer.write(text)
    writer.flush()
    writer.close()
    frame = made.getvalue()
    return _cut_blocks(frame[max(frame.find(ZSTD), 0) :])  # after the dictionary, if it has one


def _cut_blocks(frame: bytes) -> bytes | None:
    if frame[:4] != ZSTD:
        return None
    told = frame[4]
    is_single = bool(told & _SINGLE_SEGMENT)
    sizes = (int(is_single), 2, 4, 8)[told >> 6]
    at = 5 + (not is_single) + (0, 1, 2, 4)[told & 3] + sizes
    blocks = b""
    while at + _HEAD <= len(frame):
        head = int.from_bytes(frame[at : at + _HEAD], "little")
        kind, size = head >> 1 & 3, head >> 3
        stored = 1 if kind == _RUN else size
        body = frame[at + _HEAD : at + _HEAD + stored]
        if size:
            blocks += _block(kind, size) + body
        at += _HEAD + stored
        if head & 1:
            return blocks
    return None
