"""Video as PyAV (FFmpeg) decodes it: the frames and the sound of an interval, each with its time.

How it works: the media type determines the demuxer. If a container has an index, decoding begins a
second before the interval, or at the beginning of the film if that finds no frame before the
interval. MPEG streams have no index and are always decoded from the beginning, so that every
request yields the same frame. Time 0 is the beginning of the film. If a container's clock can begin
at any time (MPEG), time 0 is the first frame. A bare stream of MPEG video has no times: its frames
follow each other, and each is as long as the stream says.

The time of the sound is the one in its container, which in Matroska is precise to a millisecond.

What must stay true: the code runs confined. A damaged frame is an error; a frame that the decoder
made up is never returned. Nothing is read except the bytes of the source.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from perdure.errors import PartNotFound, PartNotSupported
from perdure.errors.cutting import (
    CodingNotSupported,
    FilmForm,
    FilmFormNotSupported,
    TracksNotSupported,
)
from perdure.errors.damage import FrameDamaged, FrameWithoutTime, VideoMissing
from perdure.errors.limits import FrameTooLarge
from perdure.extractors import container
from perdure.extractors.film.picture import Picture, is_known_format, read_picture
from perdure.extractors.port import Source
from perdure.extractors.sound.audio import FROM_THE_START
from perdure.parts import Media, Selector

if TYPE_CHECKING:
    import numpy as np
    from av.audio.stream import AudioStream
    from av.container import InputContainer
    from av.subtitles.stream import SubtitleStream
    from av.video.stream import VideoStream

FILMS = ("video/mp4", "video/quicktime", "video/x-m4v", "application/mp4")
_MPEG = {b"\0\0\1\xba": "mpeg", b"\0\0\1\xb3": "mpegvideo"}
_DEMUXERS = {
    **dict.fromkeys(FILMS, "mov"),
    "video/mpeg": "mpeg",
    "video/mp2t": "mpegts",
    "video/webm": "matroska",
    "video/x-matroska": "matroska",
    "video/matroska": "matroska",
    "video/ogg": "ogg",
    "video/x-msvideo": "avi",
    "video/vnd.avi": "avi",
}
OTHERS = tuple(kind for kind in _DEMUXERS if kind not in FILMS)
_INDEXED = frozenset(("mov", "matroska", "avi"))
_ANY_CLOCK = frozenset(("mpeg", "mpegts"))
_BARE = "mpegvideo"
_PRE_ROLL = Fraction(1)  # seconds
_LATEST_SOUND = Fraction(5)  # seconds that sound may lag behind the neighbouring frames in the file
_GRID_FRAMES = 4  # frames of sound whose equal lengths show that all have this length
_ROUNDED = Fraction(1, 1000)  # seconds by which a container may round times
_CLOSE = Fraction(1, 50)  # seconds by which a clock may drift within continuous sound
_MOST_PIXELS = 1 << 26  # of a frame
_SAMPLES = {"u8": "u1", "s16": "<i2", "s32": "<i4", "flt": "<f4", "dbl": "<f8"}


class Shot(NamedTuple):
    """A frame, the time from which it is shown, and its duration, in seconds."""

    time: Fraction
    length: Fraction
    picture: Picture


class FilmSound(NamedTuple):
    """Consecutive samples, with a row for each moment."""

    first: int
    """The number of the first sample, counted from the beginning of the film."""
    rows: np.ndarray[Any, Any]


class _SoundGrid(NamedTuple):
    """The sample at which a frame of sound begins, and the length of each frame, in samples.

    A container that rounds its times does not say at which sample a frame begins. If all frames
    have one length, the nearest of these places is the true one.
    """

    origin: int
    length: int

    def find_shift(self, first: int, rate: int) -> int | None:
        """Return how many samples later a frame begins than its time says, or None if unknown."""
        frames = round(Fraction(first - self.origin, self.length))
        shift = self.origin + frames * self.length - first
        return shift if abs(shift) <= math.ceil(_ROUNDED * rate) < self.length / 2 else None


def _find_grid(begun: list[FilmSound]) -> _SoundGrid | None:
    """Return the places of frames. The first frame may be shorter, by the delay of its encoder."""
    lengths = {len(one.rows) for one in begun[1:]}
    if len(begun) < _GRID_FRAMES or len(lengths) != 1:
        return None
    return _SoundGrid(begun[1].first, lengths.pop())


class ChosenTracks(NamedTuple):
    """The tracks of a film that a part has."""

    video: VideoStream
    """The first track of video, which the part need not have."""
    audio: AudioStream | None
    alone: AudioStream | SubtitleStream | None
    """The only track of the part, if that is not video."""


class Footage:
    """An open film: its first video stream, and one sound stream."""

    def __init__(
        self,
        source: Source,
        opened: InputContainer,
        demuxer: str,
        tracks: ChosenTracks,
    ) -> None:
        self.source = source
        self.video, self.audio, self.alone = video, _, _ = tracks
        self._container = opened
        self._bare = demuxer == _BARE
        self._indexed = demuxer in _INDEXED
        started = video.start_time if demuxer in _ANY_CLOCK else None
        self._zero = (started or 0) * Fraction(video.time_base or 0)

    @property
    def streams(self) -> Iterable[Any]:
        """All tracks."""
        return self._container.streams

    @property
    def width(self) -> int:
        return self.video.codec_context.width

    @property
    def height(self) -> int:
        return self.video.codec_context.height

    @property
    def is_indexed(self) -> bool:
        """True if the film can be decoded from any time on."""
        return self._indexed

    @property
    def stated_duration(self) -> Fraction | None:
        """The duration in seconds that the film states, or None."""
        duration = self._container.duration
        return None if duration is None or self._bare else Fraction(duration, 1_000_000)

    def find_duration(self) -> Fraction:
        """Return the duration in seconds. If the film does not state it, this reads all packets, so
        it must be the first question to the film.
        """
        return self.stated_duration or max(self._list_frame_ends(), default=Fraction(0))

    @property
    def frame_rate(self) -> Fraction:
        """Frames per second, as far as the film states them."""
        return self.video.codec_context.framerate or self.video.average_rate or Fraction(25)

    def decode_interval(self, start: Fraction, end: Fraction | None) -> Iterator[Shot | FilmSound]:
        """Yield the frames and samples with times in [start, end). If the film has ended, a last
        frame before `end` may be missing.
        """
        sound: Any = self.audio.codec_context if self.audio else None
        form = sound.format.packed.name if sound and sound.rate and sound.format else None
        if self.audio and form not in _SAMPLES:
            raise _refuse_form(self.source, "sound-coding")
        for one in self._decode_early(start, *self._streams):
            if isinstance(one, Shot):
                if end is not None and one.time >= end + (_LATEST_SOUND if self.audio else 0):
                    return
                if start <= one.time and (end is None or one.time < end):
                    yield one
                continue
            rate = self.sound_rate
            first = max(math.ceil(start * rate), one.first)
            stop = one.first + len(one.rows)
            last = stop if end is None else min(math.ceil(end * rate), stop)
            if first < last:
                yield FilmSound(first, one.rows[first - one.first : last - one.first])

    def decode_sound(self, start: Fraction, end: Fraction | None) -> Iterator[FilmSound]:
        """Yield the samples with times in [start, end), without decoding pictures."""
        assert self.audio is not None  # noqa: S101  (for the type checker: only sound gets here)
        first = math.ceil(start * self.sound_rate)
        last = None if end is None else math.ceil(end * self.sound_rate)
        for one in self._decode_sound_early(start, self.audio):
            stop = one.first + len(one.rows)
            begin, until = max(first, one.first), stop if last is None else min(last, stop)
            if begin < until:
                yield FilmSound(begin, one.rows[begin - one.first : until - one.first])
            if last is not None and stop >= last:
                return

    def demux_alone(self) -> Iterator[Any]:
        """Yield the packets of the only track of a part."""
        assert self.alone is not None  # noqa: S101  (for the type checker: only such parts get here)
        return (packet for packet in self._container.demux(self.alone) if packet.size)

    def find_frame(self, moment: Fraction) -> Shot | None:
        """Return the frame that is shown at this moment."""
        found: Shot | None = None
        for one in self._decode_early(moment, self.video):
            if isinstance(one, Shot):
                if one.time > moment:
                    return found
                found = one
        return found if found and moment < found.time + found.length else None

    def reaches_time(self, end: Fraction) -> bool:
        """Return whether frames are shown up to this time. This reads packets but decodes none."""
        self._seek_before(end)
        return any(one >= end for one in self._list_frame_ends())

    def _list_frame_ends(self) -> Iterator[Fraction]:
        """Yield the time at which each of the following frames ends."""
        for number, packet in enumerate(self._container.demux(self.video), 1):
            if self._bare and packet.size:
                yield number / self.frame_rate
            elif not self._bare and packet.pts is not None:
                yield self._compute_time(packet, packet.pts + (packet.duration or 0))

    @property
    def sound_rate(self) -> int:
        return self.audio.rate if self.audio else 0

    @property
    def sound_form(self) -> str:
        """The format of samples in FFmpeg's terms, with the channels interleaved."""
        return str(self.audio.format.packed.name) if self.audio else ""

    # decoding
    # --------

    @property
    def _streams(self) -> tuple[VideoStream | AudioStream, ...]:
        return (self.video, self.audio) if self.audio else (self.video,)

    def _decode_early(
        self, start: Fraction, *streams: VideoStream | AudioStream
    ) -> Iterator[Shot | FilmSound]:
        """Yield everything from some time before `start`, or from the beginning."""
        if not self._seek_before(start):
            return self._decode_streams(*streams)
        found = self._decode_streams(*streams)
        seen: list[Shot | FilmSound] = []
        for one in found:
            seen.append(one)
            if isinstance(one, Shot):
                if one.time <= start:
                    return chain(seen, found)
                break
        self._container.seek(0)
        return self._decode_streams(*streams)

    def _decode_sound_early(self, start: Fraction, audio: AudioStream) -> Iterator[FilmSound]:
        """Yield sound from some time before `start`, or from the beginning."""
        sound = self._decode_track(audio)
        begun = list(islice(sound, _GRID_FRAMES))
        grid = _find_grid(begun)
        if (
            grid is None
            or audio.codec_context.name in FROM_THE_START
            or not self._seek_before(start, audio)
        ):
            return chain(begun, sound)
        found = self._decode_track(audio)
        one = next(found, None)
        shift = None if one is None else grid.find_shift(one.first, self.sound_rate)
        if one is not None and shift is not None and one.first + shift <= start * self.sound_rate:
            return (each._replace(first=each.first + shift) for each in chain((one,), found))
        self._container.seek(0)
        return self._decode_track(audio)

    def _decode_track(self, audio: AudioStream) -> Iterator[FilmSound]:
        return (one for one in self._decode_streams(audio) if isinstance(one, FilmSound))

    def _seek_before(
        self, moment: Fraction, stream: VideoStream | AudioStream | None = None
    ) -> bool:
        """Seek to a time before this one. Without an index, or near the beginning, do not move."""
        early, stream = moment - _PRE_ROLL, stream or self.video
        if not self._indexed or early <= 0 or stream.time_base is None:
            return False
        self._container.seek(math.floor(early / stream.time_base), stream=stream)
        return True

    def _decode_streams(self, *streams: VideoStream | AudioStream) -> Iterator[Shot | FilmSound]:
        number = 0
        expected: int | None = None
        for packet in self._container.demux(*streams):
            if not packet.size and packet.pts is not None:  # "as before", in Theora
                continue
            frames: Iterable[Any] = packet.decode()
            for frame in frames:
                if frame.is_corrupt:
                    raise FrameDamaged(**self.source.subject)
                if packet.stream is self.audio:
                    sound = self._make_sound(frame, expected)
                    expected = sound.first + len(sound.rows)
                    yield sound
                else:
                    yield self._make_shot(frame, number)
                    number += 1

    def _make_shot(self, frame: Any, number: int) -> Shot:
        if (frame.width, frame.height) != (self.width, self.height):
            raise _refuse_form(self.source, "changing-size")
        if not is_known_format(frame.format.name):
            raise _refuse_coding(self.source, frame.format.name)
        length = Fraction(frame.duration or 0) * (frame.time_base or 0) or 1 / self.frame_rate
        time = number * length if self._bare else self._compute_time(frame, frame.pts)
        return Shot(time, length, read_picture(frame))

    def _make_sound(self, frame: Any, expected: int | None) -> FilmSound:
        first = round(self._compute_time(frame, frame.pts) * self.sound_rate)
        if expected is not None and abs(first - expected) <= _CLOSE * self.sound_rate:
            first = expected
        rows = frame.to_ndarray()
        channels = len(frame.layout.channels)
        rows = rows.T if frame.format.is_planar else rows.reshape(-1, channels)
        return FilmSound(first, rows.astype(_SAMPLES[self.sound_form], copy=False))

    def _compute_time(self, timed: Any, pts: int | None) -> Fraction:
        if pts is None or timed.time_base is None:
            raise FrameWithoutTime(**self.source.subject)
        return pts * Fraction(timed.time_base) - self._zero


@contextmanager
def open_footage(source: Source, selector: Selector | str) -> Iterator[Footage]:
    """Open a film. Raises Undecodable, OverBudget or PartNotSupported."""
    demuxer = choose_demuxer(source)
    with container.open_container(source, demuxer, selector) as found:
        yield _make_footage(source, found, demuxer, selector)


def choose_demuxer(source: Source) -> str:
    """Return the name of the demuxer of a film."""
    if source.essence == "video/mpeg":
        return _MPEG.get(source.read_bytes(0, 4), "mpegts")
    return _DEMUXERS[source.essence]


def _make_footage(source: Source, found: Any, demuxer: str, selector: Selector | str) -> Footage:
    if not found.streams.video:
        raise VideoMissing(**source.subject)
    tracks = _choose_streams(source, found, selector)
    context = tracks.video.codec_context
    if context is None:
        raise _refuse_coding(source, None)
    if context.width * context.height > _MOST_PIXELS:
        raise FrameTooLarge(source=source.name, most=_MOST_PIXELS)
    context.options = {"err_detect": "explode", "max_pixels": str(_MOST_PIXELS)}
    context.thread_count = 1
    return Footage(source, found, demuxer, tracks)


def _choose_streams(source: Source, found: Any, selector: Selector | str) -> ChosenTracks:
    """Return the first stream of video, and the sound or the subtitles that a selector chooses.

    Tracks have numbers from 1 on, in the order of the container, and may be chosen by their title
    or kind, too (Media Fragments 1.0, section 4.2.3). Without a choice, it is the first of sound.
    Raises PartNotFound, or PartNotSupported for tracks that a decoded part cannot have.
    """
    video, sounds = found.streams.video[0], found.streams.audio
    names = selector.tracks if isinstance(selector, Media) else ()
    if not names:
        return ChosenTracks(video, sounds[0] if sounds else None, None)
    chosen = [
        one
        for one in found.streams
        if not {str(one.index + 1), one.metadata.get("title"), one.type}.isdisjoint(names)
    ]
    if not chosen:
        known = ", ".join(map(describe_track, found.streams))
        raise PartNotFound(identifier=source.name, selector=str(selector), extent=f"tracks {known}")
    others = [one for one in chosen if one is not video]
    alone = len(chosen) == 1 and others and others[0].type in ("audio", "subtitle")
    if not alone and (
        len(others) == len(chosen) or len(others) > 1 or any(one not in sounds for one in others)
    ):
        raise TracksNotSupported(
            media_type=source.media_type, selector=str(selector), video=describe_track(video)
        )
    sound = others[0] if others and others[0] in sounds else None
    return ChosenTracks(video, sound, others[0] if alone else None)


def list_tracks(footage: Footage) -> tuple[str, ...]:
    """Return the number, kind and coding of each track."""
    return tuple(map(describe_track, footage.streams))


def describe_track(stream: Any) -> str:
    """The number, kind and coding of a track."""
    coding = stream.codec_context.name if stream.codec_context else "unknown"
    return f"{stream.index + 1} ({stream.type}, {coding})"


def _refuse_form(source: Source, form: FilmForm) -> PartNotSupported:
    return FilmFormNotSupported(
        media_type=source.media_type, form=form, selector="frames", offered=("byte range",)
    )


def _refuse_coding(source: Source, coding: str | None) -> PartNotSupported:
    return CodingNotSupported(
        media_type=source.media_type,
        coding=coding,
        selector="frames",
        offered=("byte range",),
    )
