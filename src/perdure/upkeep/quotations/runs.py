"""Runs: sorted files of fingerprints, merged as in a log-structured merge tree.

How it works: a posting says that a document has a fingerprint in a stretch of `STRETCH` characters.
New postings are written to a run of their own. Runs of similar size are merged into one, so that
their number grows with the logarithm of the number of postings, and each posting is copied as often
as that. A run is read by binary search in a mapped file.

    run       = "PERDURE" %x02, head, documents, firsts, offsets, postings
    head      = postings, documents, bytes of an offset, bits of a bucket, bits of a position
                (8 bytes each)
    documents = the number of each document (4 bytes), in any order; the first is 0, which is none
    firsts    = the position of its first stretch (8 bytes); the last one is that of the end
    offsets   = for each bucket, the number of postings before it, and the number of all
    posting   = packed bits (`packing`): the low bits of the fingerprint, above the position
    position  = the number of a stretch, counted through all documents of the run

Numbers are little-endian. The high bits of a fingerprint are the number of its bucket. There are so
many buckets that each has a few dozen postings; so a posting needs about 5 bytes in a run of any
size, as the fingerprint needs fewer bits where the position needs more.

To write a large run again takes long, so the postings of a document that is gone are overwritten in
their places: with the fingerprint before them, which keeps the order, and with position 0, which is
in document 0. The next merge drops them.

What must stay true: only `blank_postings` changes a run after `write_run` has returned, and it is
durable by then. A merge needs memory for 1/256 of its postings, and for a number per document.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from perdure.upkeep.quotations.packing import WIDEST, PackedValues, PackedWriter, measure_packed
from perdure.upkeep.quotations.words import Numbers, Places

STRETCH = 1 << 10  # characters; a hit is looked for in them
_STRETCH_BITS = 10
_MAGIC = b"PERDURE\x02"
_PRINT_BITS = 40
_SLICE_BITS = 8  # of a fingerprint: a run is merged in so many slices
_SLICES = 1 << _SLICE_BITS
_SLICED = np.uint64(_PRINT_BITS - _SLICE_BITS)
_IN_SLICE = np.uint64((1 << (_PRINT_BITS - _SLICE_BITS)) - 1)
_FULL = 5  # a bucket has 2^4 to 2^5 postings on average
_HEAD = len(_MAGIC) + 5 * 8
_NONE = 0  # the number of no document
_Bounds = NDArray[np.int64]


class RunUnreadable(Exception):
    """A file is not a run, or not a complete one. It does not leave this package."""


class Postings(NamedTuple):
    """Fingerprints with the documents and the places that have them."""

    prints: Numbers
    """40 bits each."""
    documents: Places
    places: Places
    """The first character of each. A run keeps its stretch only."""


class _Shape(NamedTuple):
    """The form of the postings of a run."""

    bucket_bits: int
    position_bits: int

    @property
    def low_bits(self) -> int:
        """The bits of a fingerprint that are in a posting."""
        return _PRINT_BITS - self.bucket_bits

    @property
    def width(self) -> int:
        return self.low_bits + self.position_bits


class _Documents(NamedTuple):
    """The documents of a run, and the positions at which they begin."""

    numbers: Places
    firsts: _Bounds
    """One more than there are documents: the last one is the end."""

    def find(self, positions: Numbers) -> NDArray[np.intp]:
        """Return the row of the document at each position."""
        return np.searchsorted(self.firsts, positions.astype(np.int64), side="right") - 1


class FingerprintRun:
    """An open run."""

    def __init__(self, path: Path, *, is_writable: bool = False) -> None:
        """Raises RunUnreadable."""
        try:
            data = np.memmap(path, dtype=np.uint8, mode="r+" if is_writable else "r")
        except (OSError, ValueError) as error:
            raise RunUnreadable(path.name) from error
        if len(data) < _HEAD or bytes(data[: len(_MAGIC)]) != _MAGIC:
            raise RunUnreadable(path.name)
        head = np.frombuffer(data, "<u8", 5, len(_MAGIC)).tolist()
        self.count, documents, offset, *bits = head
        self.shape = _Shape(*bits)
        numbers = _HEAD
        firsts = numbers + documents * 4
        offsets = firsts + (documents + 1) * 8
        buckets = (1 << min(self.shape.bucket_bits, _PRINT_BITS)) + 1
        postings = offsets + buckets * offset
        if len(data) != postings + measure_packed(self.count, self.shape.width):
            raise RunUnreadable(path.name)
        self._data = data
        self._offsets = np.frombuffer(data, f"<u{offset}", buckets, offsets)
        self._values = PackedValues(data[postings:], self.shape.width)
        self._numbers = np.frombuffer(data, "<u4", documents, numbers)
        self.documents = _Documents(
            self._numbers, np.frombuffer(data, "<u8", documents + 1, firsts).astype(np.int64)
        )

    def find_bounds(self, prints: Numbers) -> tuple[_Bounds, _Bounds]:
        """Return, for each fingerprint, the range of its postings."""
        buckets = (prints >> np.uint64(self.shape.low_bits)).astype(np.intp)
        low = prints & np.uint64((1 << self.shape.low_bits) - 1)
        first = self._offsets[buckets].astype(np.int64)
        last = self._offsets[buckets + 1].astype(np.int64)
        starts = self._search(low, first, last)
        return starts, self._search(low + np.uint64(1), starts, last)

    def _search(self, low: Numbers, first: _Bounds, last: _Bounds) -> _Bounds:
        """Return the first posting in [first, last) whose low bits are not below these."""
        starts, stops = first.copy(), last.copy()
        position_bits = np.uint64(self.shape.position_bits)
        while (active := np.flatnonzero(starts < stops)).size:
            middle = (starts[active] + stops[active]) >> 1
            smaller = (self._values.read(middle) >> position_bits) < low[active]
            starts[active[smaller]] = middle[smaller] + 1
            stops[active[~smaller]] = middle[~smaller]
        return starts

    def read_postings(self, at: _Bounds) -> tuple[Places, Places]:
        """Return the documents of the postings with these numbers, and their stretches."""
        positions = self._values.read(at) & self._position_mask
        rows = self.documents.find(positions)
        stretches = positions.astype(np.int64) - self.documents.firsts[rows]
        return self.documents.numbers[rows], stretches.astype(np.uint32)

    def read_slice(self, number: int) -> tuple[Numbers, Numbers]:
        """Return the fingerprints with this number in their high 8 bits, without these, and their
        positions.
        """
        borders = self._find_borders(number)
        values = self._values.read(np.arange(borders[0], borders[-1]))
        buckets = np.repeat(np.arange(len(borders) - 1, dtype=np.uint64), np.diff(borders))
        low = values >> np.uint64(self.shape.position_bits)
        return (buckets << np.uint64(self.shape.low_bits)) | low, values & self._position_mask

    def blank_documents(self, gone: Places) -> None:
        """Overwrite the postings of documents."""
        is_gone = np.isin(self.documents.numbers, gone)
        is_gone[_NONE] = False
        if not is_gone.any():
            return
        for number in range(_SLICES):
            borders = self._find_borders(number)
            self._blank_slice(borders, is_gone)
        self._data[_HEAD : _HEAD + 4 * len(is_gone)].view("<u4")[is_gone] = _NONE
        self._data.flush()

    def _blank_slice(self, borders: _Bounds, is_gone: NDArray[np.bool_]) -> None:
        start = int(borders[0])
        values = self._values.read(np.arange(start, borders[-1]))
        blanked = is_gone[self.documents.find(values & self._position_mask)]
        if not blanked.any():
            return
        kept = np.maximum.accumulate(np.where(blanked, -1, np.arange(len(values))))
        begins = np.repeat(borders[:-1] - start, np.diff(borders))
        low = values & ~self._position_mask
        before = np.where(kept >= begins, low[kept], np.uint64(0))
        self._values.overwrite(start, np.where(blanked, before, values))

    def _find_borders(self, number: int) -> _Bounds:
        """Return the first posting of each bucket of a slice, and the end of the last one."""
        size = 1 << (self.shape.bucket_bits - _SLICE_BITS)
        return self._offsets[number * size : (number + 1) * size + 1].astype(np.int64)

    @property
    def _position_mask(self) -> np.uint64:
        return np.uint64((1 << self.shape.position_bits) - 1)


def write_run(path: Path, postings: Postings) -> int:
    """Write postings, in any order, to a new run. Return their number. Raises OSError."""
    order = np.argsort(postings.documents, kind="stable")  # they are sorted, as a rule
    documents, stretches = postings.documents[order], postings.places[order] >> _STRETCH_BITS
    begins = np.flatnonzero(np.diff(documents, prepend=np.uint32(_NONE)))
    sizes = np.maximum.reduceat(stretches, begins).astype(np.int64) + 1
    table = _list_documents(documents[begins], sizes)
    rows = np.repeat(np.arange(1, len(begins) + 1), np.diff(begins, append=len(documents)))
    positions = table.firsts[rows].astype(np.uint64) + stretches
    prints = postings.prints[order]
    high = (prints >> _SLICED).astype(np.uint8)
    sliced = np.argsort(high, kind="stable")
    prints, positions = prints[sliced] & _IN_SLICE, positions[sliced]
    borders = [0, *np.cumsum(np.bincount(high, minlength=_SLICES)).tolist()]
    slices = ((prints[start:stop], positions[start:stop]) for start, stop in pairwise(borders))
    return _write_slices(path, table, len(prints), slices)


def blank_postings(path: Path, gone: Iterable[int]) -> None:
    """Overwrite the postings of the documents that are gone. It can be repeated. Raises OSError."""
    run = FingerprintRun(path, is_writable=True)
    run.blank_documents(np.fromiter(gone, dtype=np.uint32))


def merge_runs(path: Path, runs: Sequence[FingerprintRun], gone: Iterable[int] = ()) -> int:
    """Write the postings of several runs to a new one, without those of the documents that are
    gone. Return their number. Raises OSError.
    """
    removed = np.fromiter((_NONE, *gone), dtype=np.uint32)
    kept = [~np.isin(one.documents.numbers, removed) for one in runs]
    numbers = [one.documents.numbers[rows] for one, rows in zip(runs, kept, strict=True)]
    sizes = [np.diff(one.documents.firsts)[rows] for one, rows in zip(runs, kept, strict=True)]
    table = _list_documents(np.concatenate(numbers), np.concatenate(sizes))
    moved, first = [], 1
    for rows in kept:
        ours = np.full(len(rows), -1, dtype=np.int64)
        ours[rows] = np.arange(first, first + int(rows.sum()))
        moved.append(ours)
        first += int(rows.sum())
    slices = (_merge_slice(number, runs, moved, table) for number in range(_SLICES))
    return _write_slices(path, table, sum(one.count for one in runs), slices)


def _merge_slice(
    number: int, runs: Sequence[FingerprintRun], moved: list[_Bounds], table: _Documents
) -> tuple[Numbers, Numbers]:
    """Return a slice of all runs. `moved` has the new row of each document, or -1."""
    found: list[tuple[Numbers, Numbers]] = []
    for run, ours in zip(runs, moved, strict=True):
        prints, positions = run.read_slice(number)
        rows = run.documents.find(positions)
        kept = ours[rows] >= 0
        prints, positions, rows = prints[kept], positions[kept], rows[kept]
        shift = table.firsts[ours[rows]] - run.documents.firsts[rows]
        found.append((prints, (positions.astype(np.int64) + shift).astype(np.uint64)))
    return np.concatenate([one[0] for one in found]), np.concatenate([one[1] for one in found])


def list_ranges(starts: _Bounds, counts: _Bounds) -> _Bounds:
    """Return the numbers of all ranges, one after the other.

    >>> list_ranges(np.array([7, 2]), np.array([2, 3])).tolist()
    [7, 8, 2, 3, 4]
    """
    before = np.cumsum(counts) - counts
    numbers: _Bounds = np.arange(int(counts.sum())) + np.repeat(starts - before, counts)
    return numbers


# writing
# -------


def _list_documents(numbers: Places, sizes: _Bounds) -> _Documents:
    """Return a table of documents, each with a number of stretches."""
    ends = np.cumsum(np.concatenate([np.zeros(1, np.int64), np.ones(1, np.int64), sizes]))
    return _Documents(np.concatenate([np.zeros(1, np.uint32), numbers.astype(np.uint32)]), ends)


def _choose_shape(count: int, positions: int) -> _Shape:
    position_bits = max(int(positions - 1).bit_length(), 1)
    bucket_bits = max(count.bit_length() - _FULL, _PRINT_BITS + position_bits - WIDEST)
    return _Shape(min(max(bucket_bits, _SLICE_BITS), _PRINT_BITS), position_bits)


def _write_slices(
    path: Path, table: _Documents, most: int, slices: Iterable[tuple[Numbers, Numbers]]
) -> int:
    """Write `most` postings or fewer, in slices of the high 8 bits of their fingerprints."""
    shape = _choose_shape(most, int(table.firsts[-1]))
    offset = np.dtype("<u4" if most < 1 << 32 else "<u8")
    count = 0
    with path.open("wb") as file:
        file.write(bytes(_HEAD))
        file.write(table.numbers.astype("<u4").tobytes())
        file.write(table.firsts.astype("<u8").tobytes())
        place = file.tell()
        file.seek(((1 << shape.bucket_bits) + 1) * offset.itemsize, os.SEEK_CUR)
        writer = PackedWriter(file.write, shape.width)
        for prints, positions in slices:
            values, sizes = _pack_slice(prints, positions, shape)
            writer.add(values)
            offsets = count + np.concatenate(([0], np.cumsum(sizes)))
            _write_at(file, place, offsets.astype(offset).tobytes())
            place += len(sizes) * offset.itemsize
            count += len(values)
        writer.finish()
        head = np.array([count, len(table.numbers), offset.itemsize, *shape], dtype="<u8")
        _write_at(file, 0, _MAGIC + head.tobytes())
        file.flush()
        os.fsync(file.fileno())
    return count


def _pack_slice(prints: Numbers, positions: Numbers, shape: _Shape) -> tuple[Numbers, _Bounds]:
    """Return the postings of a slice in their order, and the number of them in each bucket."""
    keys = (prints << np.uint64(shape.position_bits)) | positions  # fewer than 64 bits
    keys.sort()
    buckets = (keys >> np.uint64(shape.width)).astype(np.intp)
    sizes = np.bincount(buckets, minlength=1 << (shape.bucket_bits - _SLICE_BITS))
    return keys & np.uint64((1 << shape.width) - 1), sizes


def _write_at(file: BinaryIO, place: int, data: bytes) -> None:
    """Write data at a place, and return to the place where the file was."""
    end = file.tell()
    file.seek(place)
    file.write(data)
    file.seek(end)
