"""The sample table of an MP4 or QuickTime track: where its samples are and when they are shown.

Specification: ISO/IEC 14496-12, section 8.5 to 8.7. A sample is a frame of video, or a packet of
sound. It has a decoding time (`stts`, in runs), an offset from that to the time at which it is
shown (`ctts`), perhaps a mark that decoding can start with it (`stss`), a size (`stsz`), and a
place in one of the chunks (`stsc`, `stco`), which hold consecutive samples.

How it works: runs stay runs. Finding a sample is a search among runs, and cutting a range of
samples handles the runs that it touches, so an hour is as quick as a minute. Frames are examined
one by one only if they are shown in another order than they are decoded, and then only near the
part.

What must stay true: if the tables of a track contradict each other, BadBox is raised. Times are
whole numbers of the track's own unit.
"""

from __future__ import annotations

import struct
import sys
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from operator import mul, sub
from typing import NamedTuple

from perdure.errors.limits import FramesTooMany
from perdure.extractors.film.boxes import BadBox, build_full_box, require_box, unpack_fields

_COUNT = struct.Struct(">4xI")
_SIZES = struct.Struct(">4xII")
_DEEPEST_ORDER = 64  # frames between decoding and showing; H.264 and H.265 allow 16
_MOST_SHOWN = 2_000_000  # frames that are examined for one part: a day


class Runs:
    """A number for each sample, stored as runs of equal numbers."""

    def __init__(self, counts: Sequence[int], values: Sequence[int]) -> None:
        self.counts, self.values = counts, values
        self.starts: list[int] = [*accumulate(counts, initial=0)]
        """The first sample of each run, and the one after the last run."""

    @property
    def count(self) -> int:
        return self.starts[-1]

    def find_value(self, sample: int) -> int:
        return self.values[bisect_right(self.starts, sample) - 1]

    def slice_runs(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the runs of the samples [first, last), as (count, value)."""
        if first >= last:
            return
        starts, values = self.starts, self.values
        run = bisect_right(starts, first) - 1
        end = bisect_left(starts, last, run + 1) - 1  # the run that has the last sample
        if end == run:
            yield last - first, values[run]
            return
        yield starts[run + 1] - first, values[run]
        for count, value in zip(self.counts[run + 1 : end], values[run + 1 : end], strict=True):
            if count:
                yield count, value
        yield last - starts[end], values[end]


class ShownFrames(NamedTuple):
    """The frames that an interval shows."""

    first: int
    """The first of them in decoding order."""
    last: int
    """The one after the last of them in decoding order."""
    begins: int
    """The time at which the first of them is shown."""


class SamplePiece(NamedTuple):
    """Consecutive samples in the file."""

    start: int
    length: int
    """Bytes."""
    samples: int
    description: int


class SampleTable:
    """The sample table of one track."""

    def __init__(self, boxes: dict[bytes, memoryview], least: int = 0) -> None:
        """If all samples have one size, it is at least `least`, whatever the table says."""
        self._deltas = _read_runs(require_box(boxes, b"stts"), "I")
        self._times: list[int] = [
            *accumulate(map(mul, self._deltas.counts, self._deltas.values), initial=0)
        ]
        self._offsets = _read_runs(boxes[b"ctts"], "i") if b"ctts" in boxes else None
        self._sync = _read_table(boxes[b"stss"], "I") if b"stss" in boxes else None
        self._sizes = _read_sizes(boxes, least)
        self._chunks = _read_chunk_places(boxes)
        self._layout = _Layout(require_box(boxes, b"stsc"), len(self._chunks))
        self.count = self._deltas.count
        if isinstance(self._sizes, array) and len(self._sizes) != self.count:
            raise BadBox("sizes-missing", expected=self.count, found=len(self._sizes))
        if self._offsets is not None and self._offsets.count < self.count:
            raise BadBox("offsets-missing", expected=self.count, found=self._offsets.count)
        if self._layout.count < self.count:
            raise BadBox("places-missing", expected=self.count, found=self._layout.count)

    @property
    def has_equal_sizes(self) -> bool:
        """True if all samples have one size, as in uncompressed sound."""
        return isinstance(self._sizes, int)

    # times
    # -----

    @property
    def shown_until(self) -> int:
        """The time at which the last frame ends; it is among the last that are decoded."""
        if not self.count:
            return 0
        last = range(max(self.count - _DEEPEST_ORDER, 0), self.count)
        return max(map(self.find_showing_time, last)) + self._deltas.find_value(self.count - 1)

    def find_decoding_time(self, sample: int) -> int:
        """Return the decoding time of a sample; for the one after the last, the duration."""
        run = bisect_right(self._deltas.starts, sample) - 1
        if run >= len(self._deltas.values):
            return self._times[-1]
        return self._times[run] + (sample - self._deltas.starts[run]) * self._deltas.values[run]

    def find_showing_time(self, sample: int) -> int:
        """Return the time at which a sample is shown."""
        return self.find_decoding_time(sample) + (
            self._offsets.find_value(sample) if self._offsets else 0
        )

    def find_first_since(self, time: int) -> int:
        """Return the first sample that is decoded at this time or later."""
        run = bisect_left(self._times, time)
        if run == 0:
            return 0
        if run == len(self._times):
            return self.count
        gone = time - self._times[run - 1]
        return self._deltas.starts[run - 1] + -(-gone // self._deltas.values[run - 1])

    def find_shown_frames(self, start: int, end: int) -> ShownFrames | None:
        """Return the frames that are shown at times t with start <= t < end, or None."""
        if self._offsets is None:
            first, last = self.find_first_since(start), self.find_first_since(end)
            return (
                ShownFrames(first, last, self.find_decoding_time(first)) if first < last else None
            )
        offsets = self._offsets.values
        first = self.find_first_since(start - max(offsets, default=0))
        last = self.find_first_since(end - min(offsets, default=0))
        if last - first > _MOST_SHOWN:
            raise FramesTooMany(most=_MOST_SHOWN)
        found = [
            (sample, time)
            for sample, time in self._list_showing_times(first, last)
            if start <= time < end
        ]
        if not found:
            return None
        return ShownFrames(found[0][0], found[-1][0] + 1, min(time for _, time in found))

    def _list_showing_times(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Yield the samples [first, last), each with the time at which it is shown."""
        offsets = (
            offset
            for count, offset in (self._offsets.slice_runs(first, last) if self._offsets else ())
            for _ in range(count)
        )
        time = self.find_decoding_time(first)
        deltas = (
            delta for count, delta in self._deltas.slice_runs(first, last) for _ in range(count)
        )
        for sample, (offset, delta) in enumerate(zip(offsets, deltas, strict=True), first):
            yield sample, time + offset
            time += delta

    def find_least_offset(self, first: int, last: int) -> int:
        """Return the least offset of the samples [first, last). It is negative if one is shown
        before it is decoded.
        """
        runs = self._offsets.slice_runs(first, last) if self._offsets else ()
        return min((offset for _, offset in runs), default=0)

    def find_decodable(self, shown: ShownFrames) -> int:
        """Return the sample from which all of these can be decoded.

        Frames that are shown before the frame that starts the decoding (the leading pictures of an
        open group) may need earlier frames.
        """
        if self._sync is None:
            return shown.first
        at = bisect_right(self._sync, shown.first + 1)
        while at > 0:
            sample = self._sync[at - 1] - 1
            if self.find_showing_time(sample) <= shown.begins:
                return sample
            at -= 1
        return 0

    # places
    # ------

    def list_pieces(self, first: int, last: int) -> Iterator[SamplePiece]:
        """Yield the places of the samples [first, last), chunk by chunk."""
        if first >= last:
            return
        chunks, sizes = self._chunks, self._sizes
        begun = self._layout.find_first_sample(first)  # of the chunk that has the first sample
        # the bytes of all samples from there to each sample, so that no chunk is added up alone
        sums: Sequence[int]
        if isinstance(sizes, int):
            sums = (
                range(0, (last - begun) * sizes + 1, sizes) if sizes else [0] * (last - begun + 1)
            )
        else:
            sums = [*accumulate(sizes[begun:last], initial=0)]
        for chunk, begins, ends, description in self._layout.list_chunks(begun, last):
            begin = max(begins, first)  # min() and max() take twice as long
            end = min(ends, last)
            at = sums[begin - begun]
            yield SamplePiece(
                chunks[chunk] + at - sums[begins - begun],
                sums[end - begun] - at,
                end - begin,
                description,
            )

    # writing
    # -------

    def build_cut_boxes(self, first: int, last: int, shift: int) -> list[bytes]:
        """Build the boxes of a table with only the samples [first, last), shown `shift` later.
        `build_layout_box` and `build_place_box` build the boxes of their places.
        """
        count = last - first
        deltas = [*self._deltas.slice_runs(first, last)]
        boxes = [
            build_full_box(
                b"stts", 0, 0, _pack_numbers("I", [len(deltas)]), _pack_runs(deltas, "I")
            )
        ]
        if self._offsets is not None or shift:
            offsets = [*self._offsets.slice_runs(first, last)] if self._offsets else [(count, 0)]
            offsets = [(length, offset + shift) for length, offset in offsets]
            version = int(any(offset < 0 for _, offset in offsets))
            packed = (_pack_numbers("I", [len(offsets)]), _pack_runs(offsets, "i"))
            boxes.append(build_full_box(b"ctts", version, 0, *packed))
        if self._sync is not None:
            lowest, highest = (bisect_left(self._sync, sample + 1) for sample in (first, last))
            sync = [sample - first for sample in self._sync[lowest:highest]]
            boxes.append(build_full_box(b"stss", 0, 0, _pack_numbers("I", [len(sync), *sync])))
        if isinstance(self._sizes, int):
            boxes.append(build_full_box(b"stsz", 0, 0, _pack_numbers("I", [self._sizes, count])))
        else:
            sizes = _pack_numbers("I", self._sizes[first:last])
            boxes.append(build_full_box(b"stsz", 0, 0, _pack_numbers("I", [0, count]), sizes))
        return boxes


def build_layout_box(pieces: Sequence[SamplePiece]) -> bytes:
    """Build the box with the number of samples in each piece."""
    rows: list[int] = []
    before = None
    for chunk, (_, _, samples, description) in enumerate(pieces, 1):
        if before != (samples, description):
            before = samples, description
            rows += [chunk, samples, description]
    return build_full_box(
        b"stsc", 0, 0, _pack_numbers("I", [len(rows) // 3]), _pack_numbers("I", rows)
    )


def build_place_box(starts: Sequence[int], start: int) -> bytes:
    """Build the box with the places of pieces, which follow one another from `start` on."""
    far = starts[-1] + start > 0xFFFFFFFF
    kind, code = (b"co64", "Q") if far else (b"stco", "I")
    places = _pack_numbers(code, [one + start for one in starts])
    return build_full_box(kind, 0, 0, _pack_numbers("I", [len(starts)]), places)


class _Layout:
    """The chunk of each sample (`stsc`)."""

    def __init__(self, content: memoryview, chunks: int) -> None:
        entries = _read_table(content, "I", 3)
        self._first, self._per, self._descriptions = (entries[at::3] for at in range(3))
        behind = self._first[1:] + array("I", [chunks + 1] if self._first else [])
        lengths = [*map(mul, map(sub, behind, self._first), self._per)]
        if self._first and (self._first[0] != 1 or min(lengths) <= 0):
            raise BadBox("chunks-unordered")
        self._starts: list[int] = [*accumulate(lengths, initial=0)]

    @property
    def count(self) -> int:
        return self._starts[-1]

    def find_first_sample(self, sample: int) -> int:
        """Return the first sample of the chunk that has a sample."""
        run = bisect_right(self._starts, sample) - 1
        return sample - (sample - self._starts[run]) % self._per[run]

    def list_chunks(self, first: int, last: int) -> Iterator[tuple[int, int, int, int]]:
        """Yield the chunks of the samples [first, last), each with its samples and their
        description. `first` is the first sample of its chunk."""
        run = bisect_right(self._starts, first) - 1
        while first < last:
            per, description = self._per[run], self._descriptions[run]
            chunk = self._first[run] - 1 + (first - self._starts[run]) // per
            ends = self._starts[run + 1]
            for begins in range(first, min(ends, last), per):
                yield chunk, begins, begins + per, description
                chunk += 1
            first = ends
            run += 1


# tables of numbers
# -----------------


def _read_table(content: memoryview, code: str, width: int = 1) -> array[int]:
    """Read the numbers of a box that begins with its count of rows."""
    (count,) = unpack_fields(_COUNT, content)
    return _read_numbers(content, _COUNT.size, count * width, code)


def _read_numbers(content: memoryview, start: int, count: int, code: str) -> array[int]:
    found = array(code)
    stop = start + count * found.itemsize
    if stop > len(content):
        raise BadBox("table-cut-off", expected=count, found=len(content) - start)
    found.frombytes(content[start:stop])
    if sys.byteorder == "little":
        found.byteswap()
    return found


def _read_runs(content: memoryview, code: str) -> Runs:
    rows = _read_table(content, "I", 2)
    values = rows[1::2]
    return Runs(rows[0::2], values if code == "I" else array(code, values.tobytes()))


def read_common_size(boxes: dict[bytes, memoryview]) -> int:
    """Return the size that all samples share, or 0 if each has its own."""
    return unpack_fields(_SIZES, require_box(boxes, b"stsz"))[0]


def _read_sizes(boxes: dict[bytes, memoryview], least: int) -> int | array[int]:
    content = require_box(boxes, b"stsz")
    size, count = unpack_fields(_SIZES, content)
    return max(size, least) if size else _read_numbers(content, _SIZES.size, count, "I")


def _read_chunk_places(boxes: dict[bytes, memoryview]) -> array[int]:
    if b"co64" in boxes:
        return _read_table(boxes[b"co64"], "Q")
    return _read_table(require_box(boxes, b"stco"), "I")


def _pack_numbers(code: str, numbers: Iterable[int]) -> bytes:
    found = array(code, numbers)
    if sys.byteorder == "little":
        found.byteswap()
    return found.tobytes()


def _pack_runs(runs: Iterable[tuple[int, int]], code: str) -> bytes:
    """Pack runs as rows of count and value."""
    return _pack_numbers(code, (number for row in runs for number in row))
