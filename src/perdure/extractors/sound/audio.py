"""Sound that must be decoded: FLAC, MP3, Ogg, AAC, AIFF; exact to the sample, in any container.

How it works: the output of a decoder depends on what came before. So PyAV (FFmpeg's libraries)
seeks to a place a little before the part and decodes from there; AAC is decoded from the start.
Each frame states the sample at which it begins, counted from the first sample after the encoder's
delay; frames are cut at the part's borders. For a long part, the extractor first makes sure that
its end exists, and then decodes it while it is sent.

A part is sent as WAV with the samples that the decoder returns, in 16 or 32 bits or floating point,
because a second encoding could not preserve them. Their digest is that of the part's decoded form
(ruling: part-digest).

What must stay true: the code runs confined. The media type determines the demuxer, which reads
nothing but the bytes that it is given. A gap in the sound is an error.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import msgspec

from perdure.errors import PartNotSupported, PartOutOfRange
from perdure.errors.cutting import CodingNotSupported
from perdure.errors.damage import (
    FrameWithoutTime,
    SampleFormMissing,
    SamplesMissing,
    SoundFrameMissing,
    SoundMissing,
    TimeUnitMissing,
)
from perdure.errors.root import count_things
from perdure.extractors import container, lasting
from perdure.extractors.port import Decoded, Extent, Indexes, Part, Source, Stream
from perdure.extractors.sound import samples, wav
from perdure.parts import Instant, Interval, Media, Selector
from perdure.parts.selectors import Time

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer

DEMUXERS = {
    "audio/flac": "flac",
    "audio/x-flac": "flac",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/ogg": "ogg",
    "application/ogg": "ogg",
    "audio/vorbis": "ogg",
    "audio/opus": "ogg",
    "audio/aac": "aac",
    "audio/mp4": "mov",
    "audio/x-m4a": "mov",
    "audio/webm": "matroska",
    "audio/aiff": "aiff",
    "audio/x-aiff": "aiff",
}
_PRE_ROLL = Fraction(1)  # seconds
"""0.2 was measured to be enough for MP3. Opus asks for 0.08 (RFC 7845, 4.6), but half a second
later the values that its decoder predicts from earlier frames may still differ in the last bit.
"""
FROM_THE_START = frozenset(("aac", "aac_latm", "wmav2"))
"""Codecs whose decoder adds noise from a generator that runs from the first sample: a decoder that
starts elsewhere adds different noise.
"""
AT_ONCE = 32 << 20  # bytes of samples that are decoded before the first is sent

# Sample formats of decoders: name in decoded forms, code of WAV, bytes.
_FORMATS = {
    "u8": ("u8", 1, 1),
    "s16": ("s16le", 1, 2),
    "s32": ("s32le", 1, 4),
    "flt": ("f32le", 3, 4),
    "dbl": ("f64le", 3, 8),
}


class SampleForm(msgspec.Struct, frozen=True):
    """The format of the samples of a stream."""

    name: str
    code: int
    width: int
    channels: int
    rate: int

    @property
    def block(self) -> int:
        """Bytes of one sample of all channels."""
        return self.width * self.channels

    @property
    def format_chunk(self) -> bytes:
        """The format as a `fmt ` chunk of WAV."""
        return struct.pack(
            "<HHIIHH",
            *(self.code, self.channels, self.rate, self.rate * self.block),
            *(self.block, self.width * 8),
        )

    def __str__(self) -> str:
        return f"{self.name} {self.rate} Hz {self.channels} ch"


class AudioExtractor:
    """Intervals of sound in lossy and compressed formats."""

    media_types = tuple(DEMUXERS)
    selectors = samples.SELECTORS
    confined = True
    install = f"perdure[{container.EXTRA}]"

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        with _open_sound(source, selector) as sound:
            return _cut_part(source, selector, sound)

    def outline_part(self, source: Source, selector: Selector) -> Part | None:
        if not isinstance(
            selector, Interval
        ):  # the others are clipped, so their end must be found first
            return None
        with _open_sound(source, selector) as sound:
            first, last = _find_bounds(source, selector, sound.form.rate)
            if last is None or first >= last or not sound.reaches_sample(last):
                raise _make_out_of_range(source, selector, sound)
            length = (last - first) * sound.form.block
            head = wav.build_header(sound.form.format_chunk, length)
        total = len(head) + length + length % 2
        return Part(selector=selector, media_type="audio/wav", body=Stream(iter(()), total))

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        with _open_sound(source, "sec") as sound:
            form, lasts = sound.form, sound.container.duration
            seconds = None if lasts is None else Fraction(lasts, 1_000_000)
            return lasting.list_time_extents(
                seconds, f", {count_things(form.channels, 'channel')} at {form.rate} Hz"
            )


class _Sound:
    """An open source: its first stream of sound, and access to any of its samples."""

    def __init__(self, source: Source, container: InputContainer, stream: AudioStream) -> None:
        self._source = source
        self.container = container
        self._stream = stream
        self._zero = stream.start_time or 0
        self.form = read_sample_form(source, stream)

    def decode_from(self, first: int) -> Iterator[tuple[int, bytes]]:
        """Yield frames as packed bytes, each with the number of its first sample, starting with
        sample `first`.
        """
        start = Fraction(first, self.form.rate) - _PRE_ROLL
        if start > 0 and self._stream.codec_context.name not in FROM_THE_START:
            place = self._zero + math.floor(start / self._time_base)
            self.container.seek(place, stream=self._stream, backward=True)
        expected: int | None = None
        for frame in self.container.decode(self._stream):
            if not frame.samples:
                continue
            if frame.pts is None:
                raise FrameWithoutTime(**self._source.subject)
            at = round((frame.pts - self._zero) * self._time_base * self.form.rate)
            if (at > first) if expected is None else (at != expected):
                raise SamplesMissing(**self._source.subject, at=at)
            expected = at + frame.samples
            if expected > first:
                yield at, _pack_frame(frame)

    @property
    def _time_base(self) -> Fraction:
        base = self._stream.time_base
        if base is None:
            raise TimeUnitMissing(**self._source.subject)
        return base

    def decode_samples(self, first: int, last: int | None) -> Iterator[bytes]:
        """Yield the samples [first, last), or to the end; fewer if the sound ends earlier."""
        block = self.form.block
        for at, data in self.decode_from(first):
            stop = None if last is None else (last - at) * block
            yield data[max(first - at, 0) * block : stop]
            if last is not None and at * block + len(data) >= last * block:
                return

    def reaches_sample(self, last: int) -> bool:
        """Return whether there is a sample before number `last`."""
        return any(True for data in self.decode_samples(last - 1, last) if data)


def read_sample_form(source: Source, stream: AudioStream) -> SampleForm:
    """Return the format of the samples of a stream. Raises Undecodable or PartNotSupported."""
    if not stream.rate:
        raise SoundFrameMissing(**source.subject)
    form: Any = stream.format
    if form is None:
        raise SampleFormMissing(**source.subject)
    kind = form.packed.name
    if kind not in _FORMATS:
        raise CodingNotSupported(media_type=source.media_type, coding=kind, selector="samples")
    name, code, width = _FORMATS[kind]
    return SampleForm(name, code, width, stream.channels, stream.rate)


def _pack_frame(frame: Any) -> bytes:
    """Return the samples with the channels interleaved; planar frames have a row for
    each channel.
    """
    rows = frame.to_ndarray()
    packed: bytes = (rows.T if frame.format.is_planar else rows).tobytes()
    return packed


def _cut_part(source: Source, selector: Selector, sound: _Sound) -> Part:
    form = sound.form
    first, last = _find_bounds(source, selector, form.rate)
    if last is not None and first >= last:
        raise _make_out_of_range(source, selector, sound)
    taken: list[bytes] = []
    length = 0
    for piece in sound.decode_samples(first, last):
        taken.append(piece)
        length += len(piece)
        if length > AT_ONCE:
            return _stream_part(source, selector, sound, first, last)
    whole = last is not None and length == (last - first) * form.block
    if not length or (isinstance(selector, Interval) and not whole):
        raise _make_out_of_range(source, selector, sound)
    data = b"".join(taken)
    if isinstance(selector, Media):
        selector = _clip_selector(selector, Fraction(first + length // form.block, form.rate))
    return Part(
        selector=selector,
        media_type="audio/wav",
        body=(wav.build_header(form.format_chunk, length), data, b"\0" * (length % 2)),
        decoded=Decoded(form=str(form), sha512=hashlib.sha512(data).hexdigest()),
    )


def _clip_selector(selector: Media, end: Fraction) -> Media:
    time = selector.time or Time(None, None)
    asked = end if time.end is None else time.end
    return Media(time=Time(time.start or Fraction(0), min(asked, end)))


def _stream_part(
    source: Source, selector: Selector, sound: _Sound, first: int, last: int | None
) -> Part:
    """Return a part that is decoded again while it is sent. If its end is not known yet, its length
    is not stated either.
    """
    if last is not None and not sound.reaches_sample(last):
        if isinstance(selector, Interval):
            raise _make_out_of_range(source, selector, sound)
        last = None
    form = sound.form
    length = None if last is None else (last - first) * form.block
    head = wav.build_header(form.format_chunk, length)
    chunks = _decode_again(source, selector, head, first, last)
    total = None if length is None else len(head) + length + length % 2
    return Part(selector=selector, media_type="audio/wav", body=Stream(chunks, total))


def _decode_again(
    source: Source, selector: Selector, head: bytes, first: int, last: int | None
) -> Iterator[bytes]:
    yield head
    with _open_sound(source, selector) as sound:
        length = 0
        for piece in sound.decode_samples(first, last):
            length += len(piece)
            yield piece
        yield b"\0" * (length % 2)


def _find_bounds(source: Source, selector: Selector, rate: int) -> tuple[int, int | None]:
    """Return the first and last sample of a selector, before the number of samples is known."""
    match selector:
        case Interval(start=start, end=end):
            return math.ceil(start * rate), math.ceil(end * rate)
        case Instant(at=at):
            return math.floor(at * rate), math.floor(at * rate) + 1
        case Media(time=Time(start=begin, end=stop), area=None, tracks=(), id=None):
            return math.ceil((begin or 0) * rate), None if stop is None else math.ceil(stop * rate)
    raise PartNotSupported(
        media_type=source.media_type, selector=str(selector), offered=("time intervals",)
    )


# opening
# -------


@contextmanager
def _open_sound(source: Source, selector: Selector | str) -> Iterator[_Sound]:
    """Open the first stream of sound. Raises Undecodable or PartNotSupported."""
    with container.open_container(source, DEMUXERS[source.essence], selector) as found:
        streams = found.streams.audio
        if not streams:
            raise SoundMissing(**source.subject)
        if streams[0].codec_context is None:
            raise CodingNotSupported(
                media_type=source.media_type,
                coding=None,
                selector=str(selector),
                offered=("byte range",),
            )
        yield _Sound(source, found, streams[0])


def _make_out_of_range(source: Source, selector: Selector, sound: _Sound) -> PartOutOfRange:
    duration = sound.container.duration
    extent = "less than that" if duration is None else f"about {duration / 1_000_000:.3f} seconds"
    return PartOutOfRange(identifier=source.name, selector=str(selector), extent=extent)


EXTRACTOR = AudioExtractor()
