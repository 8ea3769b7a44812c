"""Sound in RIFF WAVE files: samples by arithmetic on the stored bytes.

Specification: IBM and Microsoft, Multimedia Programming Interface and Data Specifications 1.0
(1991); EBU Tech 3306 for RF64, whose sizes have 64 bits.

How it works: a RIFF file is a sequence of chunks, each with its name and its size. The chunks `fmt
` and `data` determine the byte of each sample. A part is a new header and a span of the source:
nothing is decoded, and the last minute of a gigabyte costs as much as the first.

What must stay true: a size that reaches beyond the file is not trusted. The data ends where the
file ends only if an encoder that could not seek back left both sizes open (0 or 0xFFFFFFFF).
"""

from __future__ import annotations

import struct
from functools import partial

import msgspec

from perdure.errors.cutting import CodingNotSupported
from perdure.errors.damage import (
    ChunksTooMany,
    DataChunkMissing,
    FormatChunkMissing,
    NotWave,
    SamplesCutOff,
    SamplesImpossible,
)
from perdure.extractors.port import Extent, Indexes, Part, Source, Span
from perdure.extractors.sound import samples
from perdure.parts import Selector

_CHUNK = struct.Struct("<4sI")
_FORMAT = struct.Struct("<HHIIHH")
_MOST_CHUNKS = 10_000
_LONGEST_FORMAT = 1024  # bytes
_UNKNOWN = 0xFFFFFFFF
_OPEN = (0, _UNKNOWN)
_PCM, _FLOAT, _ALAW, _MULAW, _EXTENSIBLE = 0x1, 0x3, 0x6, 0x7, 0xFFFE
_BY_SAMPLE = frozenset((_PCM, _FLOAT, _ALAW, _MULAW))
_SUBFORMAT = slice(24, 26)  # of an extensible format: the old code, before a fixed GUID


class WavSound(msgspec.Struct, frozen=True):
    """The place of the samples, and their format."""

    format: bytes
    """The `fmt ` chunk without its header."""
    channels: int
    rate: int
    block: int
    """Bytes of one sample of all channels."""
    data: Span


class WavExtractor:
    """Intervals of RIFF WAVE and RF64 files, in uncompressed formats, A-law and µ-law."""

    media_types = ("audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave")
    selectors = samples.SELECTORS
    confined = False
    install = None

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        sound = read_sound(source)
        return samples.cut_samples(
            source, selector, sound, partial(build_header, sound.format), even=True
        )

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        return samples.list_extents(read_sound(source))


def build_header(format: bytes, length: int | None) -> bytes:
    """Return the header of a file with this format and `length` bytes of samples, which follow it.

    None leaves the sizes open: the samples end where the file does.
    """
    body = _CHUNK.pack(b"fmt ", len(format)) + format
    if length is None:
        riff = _CHUNK.pack(b"RIFF", _UNKNOWN) + b"WAVE"
        return riff + body + _CHUNK.pack(b"data", _UNKNOWN)
    around = 4 + len(body) + _CHUNK.size + length + length % 2
    if around < _UNKNOWN:
        riff = _CHUNK.pack(b"RIFF", around) + b"WAVE"
        return riff + body + _CHUNK.pack(b"data", length)
    sizes = struct.pack("<QQQI", around + 36, length, 0, 0)
    long = _CHUNK.pack(b"RF64", _UNKNOWN) + b"WAVE" + _CHUNK.pack(b"ds64", len(sizes)) + sizes
    return long + body + _CHUNK.pack(b"data", _UNKNOWN)


def read_sound(source: Source) -> WavSound:
    """Find the format and the samples. Raises Undecodable or PartNotSupported."""
    head = source.read_bytes(0, 12)
    if head[:4] not in (b"RIFF", b"RF64") or head[8:] != b"WAVE":
        raise NotWave(**source.subject)
    open_ended = int.from_bytes(head[4:8], "little") in _OPEN and head[:4] == b"RIFF"
    format, long = b"", 0
    at = 12
    for _ in range(_MOST_CHUNKS):
        name, size = _CHUNK.unpack(
            source.read_bytes(at, at + _CHUNK.size).ljust(_CHUNK.size, b"\0")
        )
        at += _CHUNK.size
        if at > source.length:
            raise DataChunkMissing(**source.subject)
        if name == b"ds64":
            long = struct.unpack("<8xQ", source.read_bytes(at, at + 16).ljust(16, b"\0"))[0]
        elif name == b"fmt ":
            format = source.read_bytes(at, at + min(size, _LONGEST_FORMAT))
        elif name == b"data":
            if size == _UNKNOWN and long:
                size = long
            elif size in _OPEN and open_ended:
                size = source.length - at
            return _check_sound(source, format, Span(at, at + size))
        at += size + size % 2
    raise ChunksTooMany(**source.subject, most=_MOST_CHUNKS)


def _check_sound(source: Source, format: bytes, data: Span) -> WavSound:
    if len(format) < _FORMAT.size:
        raise FormatChunkMissing(**source.subject)
    code, channels, rate, _, block, bits = _FORMAT.unpack_from(format)
    if code == _EXTENSIBLE and len(format) >= _SUBFORMAT.stop:
        code = int.from_bytes(format[_SUBFORMAT], "little")
    if code not in _BY_SAMPLE:
        raise CodingNotSupported(
            media_type=source.media_type,
            coding=f"{code:#06x}",
            selector="an interval",
            offered=("byte range",),
        )
    if not (rate and channels and block == channels * -(-bits // 8)):
        raise SamplesImpossible(**source.subject, bits=bits, channels=channels)
    left = source.length - data.start
    if data.length > left:
        raise SamplesCutOff(**source.subject, expected=data.length, found=left)
    whole = data.stop - data.length % block
    return WavSound(format, channels, rate, block, Span(data.start, whole))


EXTRACTOR = WavExtractor()
