"""Gzip members of a given length (RFC 1952), for records whose content is erased."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import chain

from perdure.errors.root import count_things

PIECE = 1 << 20


_ZEROS = bytes(PIECE)


_STORED = 65535
"""Most bytes of a stored block (RFC 1951 section 3.2.4)."""


_EMPTY_BLOCK = b"\x00\x00\x00\xff\xff"


_LEVEL = 9


class RecordNotBlankable(ValueError):
    """A record that cannot be overwritten at the same length. The text says why."""


def list_zeros(count: int) -> Iterator[bytes]:
    for start in range(0, count, PIECE):
        yield _ZEROS[: count - start]


def encode_member(head: bytes, zeros: int, tail: bytes, length: int) -> Iterator[bytes]:
    """Yield a gzip member of `length` bytes (RFC 1952) that inflates to head, zeros and tail.

    Raises RecordNotBlankable, before anything is yielded, if no such member is known.
    """
    end = _deflate((tail,), zlib.Z_FINISH)
    fixed = 10 + len(end) + 8
    stored = 0
    begin = _deflate(chain((head,), list_zeros(zeros)), zlib.Z_FULL_FLUSH)
    room = length - fixed - len(begin)
    if room > _SLACK:
        stored = min(zeros, (room - _SLACK) * _STORED // (_STORED + len(_EMPTY_BLOCK)))
        begin = _deflate(chain((head,), list_zeros(zeros - stored)), zlib.Z_FULL_FLUSH)
    blocks = -(-stored // _STORED)
    room = length - fixed - len(begin) - stored - blocks * len(_EMPTY_BLOCK)
    if room < 0:
        raise RecordNotBlankable(f"{count_things(-room, 'byte')} too long")
    empty, comment = divmod(room, len(_EMPTY_BLOCK))
    return chain(
        _gzip_head(comment),
        (begin,),
        _store_zeros(stored),
        _repeat(_EMPTY_BLOCK, empty),
        (end, _gzip_end(head, zeros, tail)),
    )


_SLACK = 32
"""Bytes by which fewer zeros may deflate to more than more zeros do."""


def _deflate(pieces: Iterator[bytes] | tuple[bytes, ...], mode: int) -> bytes:
    packing = zlib.compressobj(_LEVEL, zlib.DEFLATED, -zlib.MAX_WBITS)
    return b"".join(map(packing.compress, pieces)) + packing.flush(mode)


def _gzip_head(comment: int) -> Iterator[bytes]:
    """Yield the head of a member; `comment`: its bytes, with the zero byte that ends it."""
    yield b"\x1f\x8b\x08" + (b"\x10" if comment else b"\0") + bytes(4) + b"\x02\xff"
    if comment:
        yield b" " * (comment - 1) + b"\0"


def _store_zeros(count: int) -> Iterator[bytes]:
    for start in range(0, count, _STORED):
        size = min(_STORED, count - start)
        yield b"\0" + size.to_bytes(2, "little") + (size ^ 0xFFFF).to_bytes(2, "little")
        yield _ZEROS[:size]


def _repeat(text: bytes, count: int) -> Iterator[bytes]:
    most = PIECE // len(text)
    for start in range(0, count, most):
        yield text * min(most, count - start)


def _gzip_end(head: bytes, zeros: int, tail: bytes) -> bytes:
    sum = zlib.crc32(head)
    for piece in list_zeros(zeros):
        sum = zlib.crc32(piece, sum)
    sum = zlib.crc32(tail, sum)
    total = (len(head) + zeros + len(tail)) & 0xFFFFFFFF
    return sum.to_bytes(4, "little") + total.to_bytes(4, "little")
