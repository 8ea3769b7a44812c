"""The heads of the sound files that parts are sent as: where the samples are, and their form.

How it works: a part of a sound is a WAV or AU file with its samples after a head that perdure has
written (`wav`, `au`). Two parts have the same form if the fields of their heads that describe the
samples are equal.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

_CHUNK = struct.Struct("<4sI")
_AU = struct.Struct(">4sIIIII")
_AU_WIDTHS = {1: 1, 2: 1, 3: 2, 4: 3, 5: 4, 6: 4, 7: 8, 27: 1}
_LEAST_FORMAT = 16
_UNKNOWN = 0xFFFFFFFF


class SoundHead(NamedTuple):
    """The samples at [start, stop), in bytes."""

    form: bytes
    start: int
    stop: int
    block: int
    """Bytes of one sample of all channels."""
    rate: int
    """Samples a second."""


def read_head(data: bytes) -> SoundHead | None:
    """Return where the samples of a part are, or None if it is neither WAV nor AU."""
    if data[:4] == b".snd":
        return _read_au(data)
    if data[8:12] == b"WAVE":
        return _read_wav(data)
    return None


def _read_wav(data: bytes) -> SoundHead | None:
    at, form = 12, b""
    while at + _CHUNK.size <= len(data):
        name, size = _CHUNK.unpack_from(data, at)
        at += _CHUNK.size
        if name == b"fmt ":
            form = data[at : at + size]
        elif name == b"data":
            if len(form) < _LEAST_FORMAT:
                return None
            rate, block = struct.unpack_from("<I4xH", form, 4)
            stop = len(data) if size == _UNKNOWN else min(at + size, len(data))
            stop -= (stop - at) % (block or 1)
            return SoundHead(form, at, stop, block, rate) if block and rate else None
        at += size + size % 2
    return None


def _read_au(data: bytes) -> SoundHead | None:
    if len(data) < _AU.size:
        return None
    _, start, size, coding, rate, channels = _AU.unpack_from(data)
    block = _AU_WIDTHS.get(coding, 0) * channels
    if not (block and rate):
        return None
    stop = len(data) if size == _UNKNOWN else min(start + size, len(data))
    return SoundHead(data[12:24], start, stop - (stop - start) % block, block, rate)
