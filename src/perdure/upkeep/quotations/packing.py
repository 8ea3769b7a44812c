"""Packed numbers: values of a fixed number of bits, one behind the other, read at any place.

How it works: the first value is in the lowest bits. Eight values of `width` bits fill `width`
bytes, so values are written in groups of eight; the last group is filled up with zeros. To read a
value, the eight bytes around it are read as one number, and shifted. `GUARD` bytes behind the last
group make this possible at the end, too.

What must stay true: a width is at most `WIDEST`, so that a value and the bits before it in its
first byte fit into eight bytes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.uint64]

WIDEST = 57  # bits
GUARD = 8  # bytes
_GROUP = 8  # values


def measure_packed(count: int, width: int) -> int:
    """Return the bytes of packed values, with the guard."""
    return -(-count // _GROUP) * width + GUARD


def pack_values(values: Numbers, width: int) -> bytes:
    """Return packed values, without the guard.

    >>> pack_values(np.array([1, 2, 3], dtype=np.uint64), 4).hex()
    '21030000'
    """
    groups = -(-len(values) // _GROUP)
    padded = np.zeros(groups * _GROUP, dtype="<u8")
    padded[: len(values)] = values
    rows = np.zeros((groups, width + 8), dtype=np.uint8)
    for number in range(_GROUP):
        byte, shift = divmod(number * width, 8)
        column = padded[number::_GROUP] << np.uint64(shift)
        rows[:, byte : byte + 8] |= column.view(np.uint8).reshape(groups, 8)
    return rows[:, :width].tobytes()


class PackedWriter:
    """Packs values that come in pieces."""

    def __init__(self, write: Callable[[bytes], object], width: int) -> None:
        self._write = write
        self._width = width
        self._rest = np.empty(0, dtype=np.uint64)

    def add(self, values: Numbers) -> None:
        values = np.concatenate([self._rest, values])
        complete = len(values) // _GROUP * _GROUP
        self._write(pack_values(values[:complete], self._width))
        self._rest = values[complete:]

    def finish(self) -> None:
        self._write(pack_values(self._rest, self._width) + bytes(GUARD))


class PackedValues:
    """Packed values in bytes that may be writable."""

    def __init__(self, data: NDArray[np.uint8], width: int) -> None:
        """`data` has whole groups and the guard."""
        self._data = data
        self._width = width
        self._mask = np.uint64((1 << width) - 1)
        self._words: Numbers = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))

    def read(self, at: NDArray[np.int64]) -> Numbers:
        """Return the values with these numbers."""
        bits = at * self._width
        values: Numbers = self._words[bits >> 3] >> (bits & 7).astype(np.uint64)
        return values & self._mask

    def overwrite(self, start: int, values: Numbers) -> None:
        """Replace values from number `start` on."""
        first = start // _GROUP * _GROUP
        stop = -(-(start + len(values)) // _GROUP) * _GROUP
        around = self.read(np.arange(first, stop))
        around[start - first : start - first + len(values)] = values
        packed = np.frombuffer(pack_values(around, self._width), dtype=np.uint8)
        place = first // _GROUP * self._width
        self._data[place : place + len(packed)] = packed
