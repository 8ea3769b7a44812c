"""Deflate streams of an exact length (RFC 1951): compress a text, and pad it until it fits.

How it works: empty blocks, stored or of fixed codes, add the missing bytes. If no number of them
fits, the text is compressed in other ways.
"""

from __future__ import annotations

import zlib
from itertools import product

_EMPTY_BLOCK = b"\x00\x00\x00\xff\xff"


_BLOCK_BITS = 10


_FOUR_BLOCKS = sum(2 << _BLOCK_BITS * place for place in range(4)).to_bytes(5, "little")
"""Four empty blocks of fixed codes: each has type 1 and the end of a block, seven zeros."""


_STRATEGIES = (zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED, zlib.Z_HUFFMAN_ONLY)


FEW = 1 << 20


def deflate_to_length(text: bytes, length: int) -> bytes | None:
    """Return a deflate stream (RFC 1951) of exactly this length; None if none was found.

    >>> zlib.decompress(deflate_to_length(b"a" * 99, 42), -zlib.MAX_WBITS) == b"a" * 99
    True
    """
    tries = 64 if len(text) <= FEW else 8
    for cut, level in product(range(min(tries, len(text) + 1)), (9, 6)):
        packing = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS, 9)
        begin = packing.compress(text[:cut]) + packing.flush(zlib.Z_FULL_FLUSH) if cut else b""
        end = packing.compress(text[cut:]) + packing.flush()
        padding = _pad_deflate(length - len(begin) - len(end))
        if padding is not None:
            return begin + padding + end
    for cut, strategy, level in product(range(min(tries, len(text) + 1)), _STRATEGIES, (9, 6, 1)):
        packing = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS, 9, strategy)
        begin = packing.compress(text[:cut]) + packing.flush(zlib.Z_BLOCK) if cut else b""
        packed = begin + packing.compress(text[cut:]) + packing.flush()
        shifted = _shift_deflate(packed, text, length)
        if shifted is not None:
            return shifted
    return None


def _shift_deflate(packed: bytes, text: bytes, length: int) -> bytes | None:
    """Return a stream with empty blocks of fixed codes in front, or None if its length is another.

    Such a block has ten bits, so four of them end at a byte, and fewer shift the bits of the stream
    behind them. A block that is stored does not bear that: decompressing finds it.
    """
    bits = int.from_bytes(packed, "little")
    for fewer in range(4):
        groups, rest = divmod(length - len(packed) - fewer, len(_FOUR_BLOCKS))
        if groups < 0 or rest > 1:
            continue
        front = int.from_bytes(_FOUR_BLOCKS, "little") & ((1 << _BLOCK_BITS * fewer) - 1)
        room = length - groups * len(_FOUR_BLOCKS)
        moved = bits << _BLOCK_BITS * fewer | front
        if moved.bit_length() > 8 * room:
            continue
        stream = _FOUR_BLOCKS * groups + moved.to_bytes(room, "little")
        if _unpacks_to(stream, text):
            return stream
    return None


def _unpacks_to(stream: bytes, text: bytes) -> bool:
    unpacking = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        return unpacking.decompress(stream) == text and unpacking.eof and not unpacking.unused_data
    except zlib.error:
        return False


def _pad_deflate(room: int) -> bytes | None:
    """Return empty blocks of this length, before a block that begins at a byte; None if none are.

    An empty stored block has five bytes. After n blocks of fixed codes, with ten bits each, it
    begins later, and so ends one, two or four bytes later.
    """
    for counts in ((), (1,), (2,), (3,), (1, 2)):
        begin = b"".join(map(_delay_block, counts))
        rest = room - len(begin)
        if rest >= 0 and rest % len(_EMPTY_BLOCK) == 0:
            return begin + _EMPTY_BLOCK * (rest // len(_EMPTY_BLOCK))
    return None


def _delay_block(count: int) -> bytes:
    """Return some empty blocks of fixed codes, and an empty stored block."""
    bits = sum(2 << (10 * number) for number in range(count))  # not the last, type 01, end of block
    return bits.to_bytes((10 * count + 3 + 7) // 8, "little") + _EMPTY_BLOCK[1:]
