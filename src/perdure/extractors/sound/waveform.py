"""The waveform of a sound as a picture: the loudest samples of 800 stretches, as SVG.

How it works: the sound is decoded once, like its rendition (`perdure.extractors.playback`). Its
length is known only at the end, so the loudest samples of short stretches are collected. Whenever
there are too many, neighbours are joined, and from then on a stretch is twice as long.

What must stay true: the code runs confined, in memory that does not grow with the sound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import ceil, floor

import msgspec

from perdure.errors import PartNotSupported
from perdure.errors.damage import SoundMissing
from perdure.extractors import container, playback
from perdure.extractors.measures import Measures
from perdure.extractors.port import Extent, Indexes, Part, Source
from perdure.parts import Selector, View

BARS = 800
_LOUDEST = 1 << 15  # of samples of 16 bits
_HEIGHT = 100  # units of the picture; a bar for silence is one unit high
_FIRST_STRETCH = 64  # samples
_BAR = '<path stroke="#2a6a9e" d="{}"/>'  # visible on light and on dark pages


class WaveformExtractor:
    """The waveform and the duration of a sound."""

    media_types = playback.SOUNDS
    selectors = (View,)
    confined = True
    install = f"perdure[{container.EXTRA}]"

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        if selector == View("measures"):
            with playback.open_sound(source, selector) as opened:
                if not opened.streams.audio:
                    raise SoundMissing(**source.subject)
                duration = opened.duration
            seconds = None if duration is None else duration / 1_000_000
            body = msgspec.json.encode(Measures(seconds=seconds))
            return Part(selector=selector, media_type="application/json", body=(body,))
        if selector != View("peaks"):
            raise PartNotSupported(media_type=source.media_type, selector=str(selector))
        chunks = playback.decode_sound(source)
        channels = int.from_bytes(next(chunks)[22:24], "little")  # of a WAV header
        picture = draw_peaks(find_peaks(_list_loudest(chunks, channels)))
        return Part(selector=selector, media_type="image/svg+xml", body=(picture,))

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        return ()  # no fragment can name a picture of a sound


def _list_loudest(chunks: Iterable[bytes], channels: int) -> Iterator[int]:
    """Yield the loudest sample of each short stretch of all channels."""
    import numpy as np

    size = _FIRST_STRETCH * channels
    left = np.zeros(0, np.int32)
    for chunk in chunks:
        loudness = np.abs(np.frombuffer(chunk, "<i2").astype(np.int32))
        loudness = np.concatenate((left, loudness))
        whole = len(loudness) - len(loudness) % size
        yield from loudness[:whole].reshape(-1, size).max(axis=1).tolist()
        left = loudness[whole:]
    if len(left):
        yield int(left.max())


def find_peaks(loudest: Iterable[int]) -> list[int]:
    """Return the loudest values of at most `BARS` stretches of equal length, the last one shorter.

    >>> find_peaks([3, 1, 4])
    [3, 1, 4]
    >>> len(find_peaks(range(100_000))), max(find_peaks(range(100_000)))
    (800, 99999)
    """
    kept: list[int] = []
    stretch, seen, peak = 1, 0, 0  # values in a stretch, and in the one that is not complete
    for one in loudest:
        seen, peak = seen + 1, max(peak, one)
        if seen < stretch:
            continue
        kept.append(peak)
        seen, peak = 0, 0
        if len(kept) == 16 * BARS:
            kept = [max(kept[at : at + 2]) for at in range(0, len(kept), 2)]
            stretch *= 2
    if seen:
        kept.append(peak)
    count = len(kept)
    if count <= BARS:
        return kept
    return [
        max(kept[floor(count * bar / BARS) : ceil(count * (bar + 1) / BARS)]) for bar in range(BARS)
    ]


def draw_peaks(peaks: list[int]) -> bytes:
    """Draw a bar for each value, as SVG that fills any frame."""
    middle = _HEIGHT / 2
    bars = "".join(
        f"M{bar}.5 {middle - half:.0f}V{middle + half:.0f}"
        for bar, half in (
            (bar, max(middle * peak / _LOUDEST, 0.5)) for bar, peak in enumerate(peaks)
        )
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {max(len(peaks), 1)} {_HEIGHT}" '
        f'preserveAspectRatio="none">{_BAR.format(bars)}</svg>'
    ).encode()


EXTRACTOR = WaveformExtractor()
