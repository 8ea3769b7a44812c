"""Runs: sorted files of fingerprints, merged as in a log-structured merge tree.

How it works: a posting says that a document has a fingerprint at a place. New postings are written
to a run of their own. Runs of similar size are merged into one, so that their number grows with the
logarithm of the number of postings, and each posting is copied as often as that. A run is read by
binary search in a mapped file.

    run       = "PERDURE" %x01, 257 offsets of 8 bytes, postings
    posting   = low 32 bits of the fingerprint, document, place (4 bytes each, little-endian)
    offset n  = the number of postings whose fingerprint has less than n in its high 8 bits

To write a large run again takes long, so the postings of a document that is gone are overwritten in
their places: with the fingerprint before them, which keeps the order, and with document 0, which is
none. The next merge drops them.

What must stay true: only `blank_postings` changes a run after `write_run` has returned, and it is
durable by then. A merge needs memory for 1/256 of its postings.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from perdure.upkeep.quotations.words import Numbers, Places

_MAGIC = b"PERDURE\x01"
_BUCKETS = 256
_LOW = np.uint64(32)
_HEAD = len(_MAGIC) + (_BUCKETS + 1) * 8
_POSTING = np.dtype([("low", "<u4"), ("document", "<u4"), ("place", "<u4")])
_NONE = 0  # the number of no document
_Rows = NDArray[np.void]
_Bounds = NDArray[np.int64]


class RunUnreadable(Exception):
    """A file is not a run, or not a complete one. It does not leave this package."""


class Postings(NamedTuple):
    """Fingerprints with the documents and the places that have them."""

    prints: Numbers
    """40 bits each."""
    documents: Places
    places: Places
    """The first character of each."""


class FingerprintRun:
    """An open run."""

    def __init__(self, path: Path) -> None:
        """Raises RunUnreadable."""
        try:
            data = np.memmap(path, dtype=np.uint8, mode="r")
        except (OSError, ValueError) as error:
            raise RunUnreadable(path.name) from error
        if len(data) < _HEAD or bytes(data[: len(_MAGIC)]) != _MAGIC:
            raise RunUnreadable(path.name)
        self._offsets: _Bounds = np.frombuffer(data, "<u8", _BUCKETS + 1, len(_MAGIC)).astype(
            np.int64
        )
        self.count = int(self._offsets[-1])
        if len(data) != _HEAD + self.count * _POSTING.itemsize:
            raise RunUnreadable(path.name)
        self._rows: _Rows = data[_HEAD:].view(_POSTING)

    def find_bounds(self, prints: Numbers) -> tuple[_Bounds, _Bounds]:
        """Return, for each fingerprint, the range of its postings."""
        buckets = (prints >> _LOW).astype(np.intp)
        low = prints & np.uint64(0xFFFFFFFF)
        first, last = self._offsets[buckets], self._offsets[buckets + 1]
        starts = self._search(low, first, last)
        return starts, self._search(low + np.uint64(1), starts, last)

    def _search(self, low: Numbers, first: _Bounds, last: _Bounds) -> _Bounds:
        """Return the first posting in [first, last) whose low bits are not below these."""
        starts, stops = first.copy(), last.copy()
        column = self._rows["low"]
        while (active := np.flatnonzero(starts < stops)).size:
            middle = (starts[active] + stops[active]) >> 1
            smaller = column[middle] < low[active]
            starts[active[smaller]] = middle[smaller] + 1
            stops[active[~smaller]] = middle[~smaller]
        return starts

    def read_postings(self, at: _Bounds) -> tuple[Places, Places]:
        """Return the documents and the places of the postings with these numbers."""
        rows = self._rows[at]
        return rows["document"], rows["place"]

    def read_bucket(self, number: int) -> _Rows:
        """Return the postings whose fingerprints have this number in their high 8 bits."""
        return self._rows[self.find_bucket(number)]

    def find_bucket(self, number: int) -> slice:
        """Return where these postings are."""
        return slice(self._offsets[number], self._offsets[number + 1])


def write_run(path: Path, postings: Postings) -> int:
    """Write postings, in any order, to a new run. Return their number. Raises OSError."""
    order = np.argsort(postings.prints, kind="stable")
    prints = postings.prints[order]
    rows = np.empty(len(prints), dtype=_POSTING)
    rows["low"] = prints & np.uint64(0xFFFFFFFF)
    rows["document"] = postings.documents[order]
    rows["place"] = postings.places[order]
    borders = np.searchsorted(prints, np.arange(_BUCKETS + 1, dtype=np.uint64) << _LOW)
    pairs = zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True)
    return _write_buckets(path, (rows[start:stop] for start, stop in pairs))


def blank_postings(path: Path, gone: Iterable[int]) -> None:
    """Overwrite the postings of the documents that are gone. It can be repeated. Raises OSError."""
    removed = np.fromiter(gone, dtype=np.uint32)
    run = FingerprintRun(path)
    if not run.count:
        return
    rows = np.memmap(path, dtype=_POSTING, mode="r+", offset=_HEAD)
    for number in range(_BUCKETS):
        bucket = rows[run.find_bucket(number)]
        at = np.flatnonzero(np.isin(bucket["document"], removed))
        for one in at.tolist():  # in order: the posting before may be overwritten, too
            bucket[one] = (bucket["low"][one - 1] if one else 0, _NONE, 0)
    rows.flush()


def merge_runs(path: Path, runs: Sequence[FingerprintRun], gone: Iterable[int] = ()) -> int:
    """Write the postings of several runs to a new one, without those of the documents that are
    gone. Return their number. Raises OSError.
    """
    removed = np.fromiter((_NONE, *gone), dtype=np.uint32)
    return _write_buckets(path, _merge_buckets(runs, removed))


def _merge_buckets(runs: Sequence[FingerprintRun], removed: Places) -> Iterator[_Rows]:
    for number in range(_BUCKETS):
        rows = np.concatenate([one.read_bucket(number) for one in runs])
        rows = rows[~np.isin(rows["document"], removed)]
        yield rows[np.argsort(rows["low"], kind="stable")]


def _write_buckets(path: Path, buckets: Iterable[_Rows]) -> int:
    offsets = [0]
    with path.open("wb") as file:
        file.write(bytes(_HEAD))
        for rows in buckets:
            file.write(np.ascontiguousarray(rows).tobytes())
            offsets.append(offsets[-1] + len(rows))
        file.seek(0)
        file.write(_MAGIC + np.array(offsets, dtype="<u8").tobytes())
        file.flush()
        os.fsync(file.fileno())
    return offsets[-1]
