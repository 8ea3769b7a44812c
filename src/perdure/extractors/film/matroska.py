"""Lossless video: FFV1 and uncompressed sound in Matroska, written while it is decoded.

How it works: each picture is encoded by itself (FFV1, RFC 9043), and sound stays as it is. The
output is sent as soon as the container has it: nothing goes back to change earlier bytes. So the
duration is in the header or nowhere, and the caller must give it in advance: players without it
guess, and guess wrongly. Times are whole milliseconds, the unit of Matroska.

What must stay true: the same pictures yield the same bytes. No program name, date or random number
is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any

import msgspec

from perdure.extractors.film.footage import FilmSound, Footage, Shot
from perdure.extractors.film.picture import make_frame

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.video.stream import VideoStream

_MILLISECOND = Fraction(1, 1000)
_FFV1 = {"coder": "1", "g": "1"}
_SMALL = 32  # pixels; a smaller picture has no room for the slices of version 3
_PCM = {"u8": "pcm_u8", "s16": "pcm_s16le", "s32": "pcm_s32le", "flt": "pcm_f32le"}
_PACKED = {"gbrp": "bgr0"}  # formats that FFV1 takes with their samples in another order
_PCM |= {"dbl": "pcm_f64le"}


class Outbox:
    """A write-only file that collects what was written since it was last emptied."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._written.append(bytes(data))
        return len(data)

    def take_written(self) -> bytes:
        written, self._written = self._written, []
        return b"".join(written)


class MatroskaWriter(msgspec.Struct, frozen=True):
    """A writer for parts of a film."""

    footage: Footage
    start: Fraction
    """The time in the film, in seconds, that becomes zero in the output."""
    length: Fraction | None
    """The duration of the output in seconds, if it is known."""

    def write_shots(self, shots: Iterable[Shot | FilmSound]) -> Iterator[bytes]:
        """Encode these shots, at least one of them a picture, as a Matroska file."""
        import av

        outbox = Outbox()
        before: list[Shot | FilmSound] = []
        rest = iter(shots)
        for one in rest:
            before.append(one)
            if isinstance(one, Shot):
                break
        with av.open(outbox, "w", format="matroska", options={"fflags": "+bitexact"}) as container:
            if self.length is not None:
                container.metadata["DURATION"] = f"{round(self.length * 1000)}ms"
            video = self._add_video(container, next(one for one in before if isinstance(one, Shot)))
            audio = self._add_audio(container)
            for one in chain(before, rest):
                if isinstance(one, Shot):
                    container.mux(video.encode(self._make_frame(one)))
                elif audio is not None:
                    container.mux(audio.encode(self._make_samples(one)))
                if ready := outbox.take_written():
                    yield ready
            container.mux(video.encode(None))
            if audio is not None:
                container.mux(audio.encode(None))
        yield outbox.take_written()

    def _add_video(self, container: Any, first: Shot) -> VideoStream:
        stream: VideoStream = container.add_stream("ffv1", rate=self.footage.frame_rate)
        stream.width, stream.height = first.picture.width, first.picture.height
        stream.pix_fmt = _PACKED.get(first.picture.form, first.picture.form)
        stream.time_base = _MILLISECOND
        context, original = stream.codec_context, self.footage.video.codec_context
        context.time_base = _MILLISECOND
        small = min(stream.width, stream.height) < _SMALL
        context.options = _FFV1 | ({"level": "1"} if small else {"level": "3", "slicecrc": "1"})
        context.thread_count = 1
        context.color_range = original.color_range
        context.colorspace = original.colorspace
        context.color_primaries = original.color_primaries
        context.color_trc = original.color_trc
        if original.sample_aspect_ratio:
            context.sample_aspect_ratio = original.sample_aspect_ratio
        return stream

    def _add_audio(self, container: Any) -> AudioStream | None:
        audio = self.footage.audio
        if audio is None:
            return None
        codec = _PCM[self.footage.sound_form]
        stream: AudioStream = container.add_stream(codec, rate=audio.rate, layout=audio.layout)
        stream.time_base = Fraction(1, audio.rate)
        return stream

    def _make_frame(self, shot: Shot) -> Any:
        frame = make_frame(shot.picture)
        if shot.picture.form in _PACKED:
            frame = frame.reformat(format=_PACKED[shot.picture.form])
        frame.pts = round((shot.time - self.start) * 1000)
        frame.time_base = _MILLISECOND
        return frame

    def _make_samples(self, sound: FilmSound) -> Any:
        from av import AudioFrame

        audio = self.footage.audio
        assert audio is not None  # noqa: S101  (for the type checker: only films with sound get here)
        rows = sound.rows.reshape(1, -1)
        form = self.footage.sound_form
        frame = AudioFrame.from_ndarray(rows, format=form, layout=audio.layout.name)
        frame.sample_rate = audio.rate
        frame.time_base = Fraction(1, audio.rate)
        frame.pts = sound.first - round(self.start * audio.rate)
        return frame
