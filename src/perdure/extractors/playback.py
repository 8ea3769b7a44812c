"""Sound and film in a form that every browser plays: for listening and viewing, not to be cited.

How it works: sound becomes WAV with 16 bits per sample, at its own rate. A film becomes WebM: VP8
and Opus, of at most 640 x 480 pixels. Only its first minute is shown, or less if its frames are
large, so that it takes no longer than a part may. Films are decoded by the same code as parts. A
part is cut first, and then its bytes are converted like those of a document (`Within`), so a
rendition never selects anything itself. A long one is generated while it is sent.

What must stay true: the code runs confined. The same bytes yield the same rendition, as long as
FFmpeg's libraries do not change. No name, date or random number is written.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from fractions import Fraction
from itertools import chain
from typing import TYPE_CHECKING, Any

from perdure.errors import PartNotSupported
from perdure.errors.damage import SoundMissing
from perdure.extractors import container
from perdure.extractors.film.footage import (
    FILMS,
    OTHERS,
    FilmSound,
    Footage,
    Shot,
    choose_demuxer,
    open_footage,
)
from perdure.extractors.film.matroska import Outbox
from perdure.extractors.film.picture import make_frame
from perdure.extractors.port import Extent, Indexes, Part, Source, Stream
from perdure.extractors.sound import audio, wav
from perdure.parts import Playback, Selector

if TYPE_CHECKING:
    from av.audio.stream import AudioStream
    from av.container import InputContainer, OutputContainer
    from av.video.stream import VideoStream

LONGEST = Fraction(60)
"""Seconds of a film that a rendition shows."""
_WIDEST, _HIGHEST = 640, 480  # pixels
_MOST_PIXELS = 1 << 31  # of all frames together, before they are scaled: some ten seconds of work
_AT_ONCE = 32 << 20  # bytes that are generated before the first is sent
_DEMUXERS = {
    **audio.DEMUXERS,
    **dict.fromkeys(("audio/basic", "audio/x-au", "audio/au"), "au"),
    **dict.fromkeys(("audio/aiff", "audio/x-aiff"), "aiff"),
    **dict.fromkeys(("audio/wav", "audio/x-wav", "audio/wave", "audio/vnd.wave"), "wav"),
}
SOUNDS = tuple(_DEMUXERS)
"""Media types of sound that can be played."""
_BARE_MULAW = {"sample_rate": "8000"}  # RFC 2046 section 4.3
_AU_MAGIC = b".snd"
_PCM, _BITS = 1, 16
_OPUS_RATE, _OPUS_SAMPLES = 48_000, 960
_MILLISECOND = Fraction(1, 1000)
_VP8 = {"deadline": "realtime", "cpu-used": "-8"}  # below 0, the speed does not depend on the clock
_BIT_RATE = 1_500_000  # bits per second
_KEY_FRAMES = 60  # frames from one that a player can seek to until the next


class PlaybackExtractor:
    """Renditions of sound and film."""

    media_types = (*SOUNDS, *FILMS, *OTHERS)
    selectors = (Playback,)
    confined = True
    install = f"perdure[{container.EXTRA}]"

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        if source.essence in _DEMUXERS or _is_sound_alone(source):
            return _make_part(decode_sound(source), decode_sound(source), "audio/wav")
        return _make_part(_convert_film(source), _convert_film(source), "video/webm")

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        return ()  # no fragment can name a rendition


def _is_sound_alone(source: Source) -> bool:
    """Return whether a film has sound and no pictures: the track of a part, for example."""
    with container.open_container(source, choose_demuxer(source), "a rendition") as opened:
        return not opened.streams.video and bool(opened.streams.audio)


def _make_part(chunks: Iterator[bytes], again: Iterator[bytes], media_type: str) -> Part:
    """Return a short rendition as it is, and generate a long one again while it is sent."""
    taken: list[bytes] = []
    length = 0
    for one in chunks:
        taken.append(one)
        length += len(one)
        if length > _AT_ONCE:
            return Part(selector=Playback(), media_type=media_type, body=Stream(again))
    if media_type == "audio/wav":
        taken[0] = wav.build_header(taken[0][_FORMAT], length - len(taken[0]))
    return Part(selector=Playback(), media_type=media_type, body=(b"".join(taken),))


# sound
# -----

_FORMAT = slice(20, 36)  # of a WAV file: the content of its `fmt ` chunk


def open_sound(source: Source, selector: Selector | str) -> AbstractContextManager[InputContainer]:
    """Open a sound. Raises as `container.open_container`."""
    demuxer, options = _DEMUXERS.get(source.essence) or choose_demuxer(source), {}
    if source.essence == "audio/basic" and source.read_bytes(0, 4) != _AU_MAGIC:
        demuxer, options = "mulaw", _BARE_MULAW
    return container.open_container(source, demuxer, selector, options)


def decode_sound(source: Source) -> Iterator[bytes]:
    """Yield a WAV file with 16 bits per sample, whose header leaves the length open."""
    import av

    with open_sound(source, "a rendition") as opened:
        if not opened.streams.audio:
            raise SoundMissing(**source.subject)
        stream = opened.streams.audio[0]
        channels, rate = stream.channels, stream.rate
        block = channels * _BITS // 8
        yield wav.build_header(
            struct.pack("<HHIIHH", _PCM, channels, rate, rate * block, block, _BITS), None
        )
        resampler = av.AudioResampler(format="s16", layout=stream.layout, rate=rate)
        frames: Iterable[Any] = chain(opened.decode(stream), (None,))
        for frame in frames:
            for made in resampler.resample(frame):
                if made.samples:
                    yield made.to_ndarray().tobytes()


# film
# ----


def _convert_film(source: Source) -> Iterator[bytes]:
    """Yield a WebM file of the first minute."""
    import av

    with open_footage(source, "a rendition") as footage:
        if footage.audio is not None and not footage.sound_rate:
            raise PartNotSupported(media_type=source.media_type, selector="a rendition", offered=())
        outbox = Outbox()
        options = {"fflags": "+bitexact", "live": "0"}
        with av.open(outbox, "w", format="webm", options=options) as container_:
            known = footage.stated_duration
            if known is not None:
                container_.metadata["DURATION"] = f"{round(min(known, LONGEST) * 1000)}ms"
            writer = _FilmWriter(footage, container_)
            left = _MOST_PIXELS
            for one in footage.decode_interval(Fraction(0), LONGEST):
                left -= footage.width * footage.height if isinstance(one, Shot) else 0
                if left < 0:
                    break
                writer.write(one)
                if ready := outbox.take_written():
                    yield ready
            writer.finish()
        yield outbox.take_written()


class _FilmWriter:
    """Encodes frames and samples into an open WebM container."""

    def __init__(self, footage: Footage, opened: OutputContainer) -> None:
        import av

        self._container = opened
        self._size = _fit_size(footage.width, footage.height)
        self._video: VideoStream = opened.add_stream("libvpx", rate=footage.frame_rate)
        self._video.width, self._video.height = self._size
        self._video.pix_fmt = "yuv420p"
        self._video.time_base = _MILLISECOND
        context = self._video.codec_context
        context.time_base, context.bit_rate = _MILLISECOND, _BIT_RATE
        context.gop_size, context.thread_count = _KEY_FRAMES, 1
        context.options = _VP8
        original = footage.video.codec_context
        if original.sample_aspect_ratio:
            context.sample_aspect_ratio = original.sample_aspect_ratio
        self._footage = footage
        self._audio: AudioStream | None = None
        self._last = -1
        if footage.audio is not None:
            layout = "mono" if len(footage.audio.layout.channels) == 1 else "stereo"
            self._audio = opened.add_stream("libopus", rate=_OPUS_RATE, layout=layout)
            self._resampler = av.AudioResampler(
                format="s16", layout=layout, rate=_OPUS_RATE, frame_size=_OPUS_SAMPLES
            )

    def write(self, one: Shot | FilmSound) -> None:
        if isinstance(one, Shot):
            self._write_shot(one)
        elif self._audio is not None:
            self._write_sound(self._make_samples(one))

    def finish(self) -> None:
        self._container.mux(self._video.encode(None))
        if self._audio is not None:
            self._write_sound(None)
            self._container.mux(self._audio.encode(None))

    def _write_shot(self, shot: Shot) -> None:
        at = round(shot.time * 1000)
        if at <= self._last:  # two frames within a millisecond
            return
        self._last = at
        width, height = self._size
        frame: Any = make_frame(shot.picture)
        frame.color_range = self._footage.video.codec_context.color_range
        frame = frame.reformat(width=width, height=height, format="yuv420p")
        frame.pts, frame.time_base = at, _MILLISECOND
        self._container.mux(self._video.encode(frame))

    def _make_samples(self, sound: FilmSound) -> Any:
        from av import AudioFrame

        audio_ = self._footage.audio
        assert audio_ is not None  # noqa: S101  (for the type checker: only films with sound get here)
        rows = sound.rows.reshape(1, -1)
        form = self._footage.sound_form
        frame = AudioFrame.from_ndarray(rows, format=form, layout=audio_.layout.name)
        frame.sample_rate = audio_.rate
        frame.pts, frame.time_base = sound.first, Fraction(1, audio_.rate)
        return frame

    def _write_sound(self, frame: Any) -> None:
        assert self._audio is not None  # noqa: S101  (for the type checker)
        for made in self._resampler.resample(frame):
            self._container.mux(self._audio.encode(made))


def _fit_size(width: int, height: int) -> tuple[int, int]:
    """Return the size of the rendition, even as VP8 with its shared colours needs it.

    >>> _fit_size(1920, 1080), _fit_size(352, 240), _fit_size(1, 3)
    ((640, 360), (352, 240), (2, 2))
    """
    scale = min(Fraction(_WIDEST, width), Fraction(_HIGHEST, height), Fraction(1))
    return max(int(width * scale) & ~1, 2), max(int(height * scale) & ~1, 2)


EXTRACTOR = PlaybackExtractor()
