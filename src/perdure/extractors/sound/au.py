"""Sound in AU files (`audio/basic`): samples by arithmetic on the stored bytes.

Specification: the header of NeXT and Sun, six words of 32 bits, the most significant byte first:
`.snd`, the start of the samples, their length, their encoding, the rate, the channels. RFC 2046
also calls µ-law at 8000 Hz without a header `audio/basic`.

What must stay true: the same as in `perdure.extractors.sound.wav`.
"""

from __future__ import annotations

import struct
from functools import partial

import msgspec

from perdure.errors.cutting import CodingNotSupported
from perdure.errors.damage import (
    NotAu,
    SamplesCutOff,
    SoundHeaderContradictory,
    SoundHeaderTruncated,
)
from perdure.extractors.port import Extent, Indexes, Part, Source, Span
from perdure.extractors.sound import samples
from perdure.parts import Selector

_HEAD = struct.Struct(">4s5I")
_MAGIC = b".snd"
_UNKNOWN = 0xFFFFFFFF
_SIZES = {1: 1, 2: 1, 3: 2, 4: 3, 5: 4, 6: 4, 7: 8, 27: 1}
"""Bytes per sample by encoding: µ-law, linear of 8 to 32 bits, floats, A-law."""
_MULAW = 1
_ANNOTATION = bytes(4)  # the header asks for one


class AuSound(msgspec.Struct, frozen=True):
    """The place of the samples, and their format."""

    encoding: int
    rate: int
    channels: int
    data: Span

    @property
    def block(self) -> int:
        """Bytes of one sample of all channels."""
        return _SIZES[self.encoding] * self.channels


class AuExtractor:
    """Intervals of AU files."""

    media_types = ("audio/basic", "audio/x-au", "audio/au")
    selectors = samples.SELECTORS
    confined = False
    install = None

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        sound = read_sound(source)
        return samples.cut_samples(
            source, selector, sound, partial(build_header, sound), even=False
        )

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        return samples.list_extents(read_sound(source))


def build_header(sound: AuSound, length: int) -> bytes:
    """Return the header of a file with `length` bytes of samples, which follow it."""
    head = _HEAD.pack(
        *(_MAGIC, _HEAD.size + len(_ANNOTATION), min(length, _UNKNOWN)),
        *(sound.encoding, sound.rate, sound.channels),
    )
    return head + _ANNOTATION


def read_sound(source: Source) -> AuSound:
    """Find the format and the samples. Raises Undecodable or PartNotSupported."""
    head = source.read_bytes(0, _HEAD.size)
    if head[:4] != _MAGIC:
        if source.essence == "audio/basic":  # RFC 2046 section 4.3
            return AuSound(_MULAW, 8000, 1, Span(0, source.length))
        raise NotAu(**source.subject)
    if len(head) < _HEAD.size:
        raise SoundHeaderTruncated(**source.subject)
    _, start, length, encoding, rate, channels = _HEAD.unpack(head)
    if encoding not in _SIZES:
        raise CodingNotSupported(
            media_type=source.media_type,
            coding=str(encoding),
            selector="an interval",
            offered=("byte range",),
        )
    if not (rate and channels) or start < _HEAD.size or start > source.length:
        raise SoundHeaderContradictory(**source.subject)
    left = source.length - start
    if length == _UNKNOWN:
        length = left
    if length > left:
        raise SamplesCutOff(**source.subject, expected=length, found=left)
    block = _SIZES[encoding] * channels
    return AuSound(encoding, rate, channels, Span(start, start + length - length % block))


EXTRACTOR = AuExtractor()
