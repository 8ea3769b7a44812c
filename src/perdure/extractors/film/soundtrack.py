"""The sound of a film alone: one of its tracks, or an interval of it, without the pictures.

How it works: the track is decoded (`perdure.extractors.film.footage`) and sent as WAV with the
samples that the decoder returns, like sound of other formats (`perdure.extractors.sound.audio`). An
interval is counted on the clock of the film, so that parts that follow each other have each sample
once. A long part is decoded again while it is sent.

What must stay true: the code runs confined. A gap in the sound is an error, because WAV has no
place for it. Sound that begins after the start of the interval, or ends before its end, is named by
the interval that it has.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from fractions import Fraction

from perdure.errors import PartOutOfRange
from perdure.errors.damage import SamplesMissing
from perdure.errors.root import count_seconds
from perdure.extractors.film.footage import FilmSound, Footage, open_footage
from perdure.extractors.port import Decoded, Part, Source, Stream
from perdure.extractors.sound import audio, wav
from perdure.parts import Media
from perdure.parts.selectors import Time

_WAV = "audio/wav"


def cut_sound(footage: Footage, selector: Media) -> Part:
    """Cut the only track of a part. Raises PartOutOfRange, PartNotSupported, or Undecodable."""
    assert footage.audio is not None  # noqa: S101  (for the type checker: only sound gets here)
    source = footage.source
    form = audio.read_sample_form(source, footage.audio)
    start, end = _read_bounds(selector)
    taken: list[bytes] = []
    length, first = 0, -1
    for sound in _decode_whole(footage, start, end):
        first = sound.first if first < 0 else first
        taken.append(sound.rows.tobytes())
        length += len(taken[-1])
        if length > audio.AT_ONCE:
            head = wav.build_header(form.format_chunk, None)
            return Part(
                selector=selector, media_type=_WAV, body=Stream(_send_sound(source, selector, head))
            )
    if not length:
        raise _make_out_of_range(footage, selector)
    data = b"".join(taken)
    last = first + length // form.block
    return Part(
        selector=_clip_selector(selector, first, last, form.rate),
        media_type=_WAV,
        body=(wav.build_header(form.format_chunk, length), data, b"\0" * (length % 2)),
        decoded=Decoded(form=str(form), sha512=hashlib.sha512(data).hexdigest()),
    )


def _read_bounds(selector: Media) -> tuple[Fraction, Fraction | None]:
    """Return the start and the end in seconds, or None for the end of the film."""
    time = selector.time or Time(None, None)
    return time.start or Fraction(0), time.end


def _decode_whole(footage: Footage, start: Fraction, end: Fraction | None) -> Iterator[FilmSound]:
    """Yield the samples of an interval. Raises SamplesMissing if there is a gap between them."""
    expected: int | None = None
    for sound in footage.decode_sound(start, end):
        if expected is not None and sound.first != expected:
            raise SamplesMissing(**footage.source.subject, at=sound.first)
        expected = sound.first + len(sound.rows)
        yield sound


def _send_sound(source: Source, selector: Media, head: bytes) -> Iterator[bytes]:
    yield head
    length = 0
    with open_footage(source, selector) as footage:
        for sound in _decode_whole(footage, *_read_bounds(selector)):
            data = sound.rows.tobytes()
            length += len(data)
            yield data
    yield b"\0" * (length % 2)


def _clip_selector(selector: Media, first: int, last: int, rate: int) -> Media:
    """Return the selector of samples [first, last)."""
    if selector.time is None:
        return selector
    start, end = _read_bounds(selector)
    if first > math.ceil(start * rate):
        start = Fraction(first, rate)
    stop = Fraction(last, rate)
    return Media(time=Time(start, stop if end is None else min(end, stop)), tracks=selector.tracks)


def _make_out_of_range(footage: Footage, selector: Media) -> PartOutOfRange:
    seconds = count_seconds(round(float(footage.stated_duration or 0), 3))
    return PartOutOfRange(
        identifier=footage.source.name, selector=str(selector), extent=f"a film of {seconds}"
    )
