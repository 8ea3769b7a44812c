"""Samples of WAV and AU files, held to what other readers find in them."""

from __future__ import annotations

import io
import struct
import wave
from fractions import Fraction
from pathlib import Path

import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st
from tests.extractors.cutting import content, source

from perdure.errors import PartNotSupported, PartOutOfRange, PerdureError, Undecodable
from perdure.extractors.port import Source
from perdure.parts import Instant, Interval, parse_part
from perdure.reading.extraction import PartExtraction

WAV, AU = "audio/wav", "audio/basic"
CORPUS = Path(__file__).parents[3] / "shared" / "corpus"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sounds")


def recording(frames: bytes, *, channels: int = 1, width: int = 2, rate: int = 8000) -> bytes:
    """A WAV file as Python's own writer makes it."""
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(channels)
        sound.setsampwidth(width)
        sound.setframerate(rate)
        sound.writeframes(frames)
    return file.getvalue()


def frames_of(data: bytes) -> tuple[bytes, int]:
    """All samples of a WAV file, and their rate, as Python's own reader finds them."""
    with wave.open(io.BytesIO(data)) as sound:
        return sound.readframes(sound.getnframes()), sound.getframerate()


def got(extraction: PartExtraction, sound: Source, start: Fraction, end: Fraction) -> bytes:
    return content(extraction.cut_part(sound, Interval(start, end)), sound)


_rates = st.sampled_from([1, 7, 8000, 11025, 44100])
_borders = st.fractions(0, 1, max_denominator=1000)


@given(_rates, st.integers(1, 3), st.integers(1, 4), st.integers(1, 60), _borders, _borders)
def test_exactly_the_samples_in_the_interval(
    place: Path, rate: int, channels: int, width: int, count: int, one: Fraction, other: Fraction
) -> None:
    """ "samples n with start ≤ n/rate < end"  # ruling: time-range"""
    block = channels * width
    frames = bytes(at % 251 for at in range(count * block))
    sound = source(place, recording(frames, channels=channels, width=width, rate=rate), WAV)
    start, end = sorted(Fraction(count, rate) * border for border in (one, other))
    numbers = [n for n in range(count) if start <= Fraction(n, rate) < end]
    extraction = PartExtraction()
    if start < end and numbers:
        found, found_rate = frames_of(got(extraction, sound, start, end))
        expected = b"".join(frames[n * block : n * block + block] for n in numbers)
        assert (found, found_rate) == (expected, rate)
    else:
        with pytest.raises(PartOutOfRange):
            got(extraction, sound, start, end)


def test_beyond_the_recording(extraction: PartExtraction, place: Path) -> None:
    """A PDI's part never shrinks, a media fragment is cut  # ruling: part-range"""
    sound = source(place, recording(bytes(16000)), WAV)  # one second
    assert extraction.cut_part(sound, Interval(Fraction(0), Fraction(1))).length == 44 + 16000
    with pytest.raises(PartOutOfRange):
        extraction.cut_part(sound, Interval(Fraction(0), Fraction(8001, 8000)))
    for text in ("t=0.5,9", "t=0.5", "t=0.5,1"):
        part = extraction.cut_part(sound, parse_part(text, WAV))
        assert (part.length, str(part.selector)) == (44 + 8000, "t=0.5,1")
    for text in ("t=1", "t=9,10"):  # and it is told as it was asked for
        with pytest.raises(PartOutOfRange) as caught:
            extraction.cut_part(sound, parse_part(text, WAV))
        assert caught.value.selector == text
    with pytest.raises(PartNotSupported):
        extraction.cut_part(sound, parse_part("xywh=0,0,1,1", WAV))


def test_a_moment_is_one_sample(extraction: PartExtraction, place: Path) -> None:
    sound = source(place, recording(struct.pack("<8000h", *range(8000))), WAV)
    data = content(extraction.cut_part(sound, Instant(Fraction(1, 2))), sound)
    assert frames_of(data)[0] == struct.pack("<h", 4000)
    with pytest.raises(PartOutOfRange):
        extraction.cut_part(sound, Instant(Fraction(1)))


SUBTYPES = [
    *(("PCM_24", "WAV"), ("FLOAT", "WAV"), ("DOUBLE", "WAVEX"), ("PCM_16", "WAVEX")),
    *(("ULAW", "WAV"), ("ALAW", "WAV"), ("PCM_16", "RF64"), ("PCM_U8", "WAV")),
]


@pytest.mark.parametrize(("subtype", "kind"), SUBTYPES)
def test_formats_as_libsndfile_writes_and_reads_them(
    extraction: PartExtraction, place: Path, subtype: str, kind: str
) -> None:
    file = io.BytesIO()
    numbers = [[(n % 200 - 100) / 128, (n % 50) / 64] for n in range(4410)]
    soundfile.write(file, numbers, 44100, subtype=subtype, format=kind)
    sound = source(place, file.getvalue(), WAV)
    whole, _ = soundfile.read(io.BytesIO(file.getvalue()))
    data = got(extraction, sound, Fraction(10, 1000), Fraction(60, 1000))
    part, rate = soundfile.read(io.BytesIO(data))
    assert rate == 44100
    assert (part == whole[441:2646]).all()
    assert soundfile.info(io.BytesIO(data)).subtype == subtype


@pytest.mark.corpus
def test_a_sound_of_the_nineties(extraction: PartExtraction) -> None:
    path = CORPUS / "us-vp2.au"
    if not path.exists():
        pytest.skip(f"the corpus of real documents is not at {CORPUS}")
    sound = Source(path=path, length=path.stat().st_size, media_type=AU, name=path.name)
    whole, rate = soundfile.read(path)
    data = got(extraction, sound, Fraction(2), Fraction(5))
    part, _ = soundfile.read(io.BytesIO(data))
    assert (part == whole[2 * rate : 5 * rate]).all()
    with pytest.raises(PartOutOfRange):
        got(extraction, sound, Fraction(2), Fraction(len(whole) + 1, rate))


@pytest.mark.parametrize("subtype", ["ULAW", "ALAW", "PCM_16", "PCM_24", "FLOAT"])
def test_au_as_libsndfile_writes_and_reads_it(
    extraction: PartExtraction, place: Path, subtype: str
) -> None:
    file = io.BytesIO()
    soundfile.write(file, [(n % 200 - 100) / 128 for n in range(8000)], 8000, subtype, format="AU")
    sound = source(place, file.getvalue(), AU)
    whole, _ = soundfile.read(io.BytesIO(file.getvalue()))
    part, _ = soundfile.read(io.BytesIO(got(extraction, sound, Fraction(1, 4), Fraction(1, 2))))
    assert (part == whole[2000:4000]).all()


def test_mulaw_without_a_header(extraction: PartExtraction, place: Path) -> None:
    """ "audio/basic … 8bit ISDN mu-law [PCM] … at a sample rate of 8000 Hz" (RFC 2046, 4.3)"""
    sound = source(place, bytes(range(256)) * 100, AU)
    data = got(extraction, sound, Fraction(1), Fraction(2))
    assert data[-8000:] == (bytes(range(256)) * 100)[8000:16000]
    assert soundfile.info(io.BytesIO(data)).subtype == "ULAW"


def test_bytes_are_those_of_the_source(extraction: PartExtraction, place: Path) -> None:
    sound = source(place, recording(bytes(range(200)) * 80), WAV)
    part = extraction.cut_part(sound, Interval(Fraction(1, 8), Fraction(1, 2)))
    assert [sound.read_bytes(one.start, one.stop) for one in part.slices] == [
        content(part, sound)[44:]
    ]


# what others send
# ----------------


def chunk(name: bytes, data: bytes, size: int | None = None) -> bytes:
    length = len(data) if size is None else size
    return name + struct.pack("<I", length) + data + b"\0" * (len(data) % 2)


FORMAT = struct.pack("<HHIIHH", 1, 1, 8000, 16000, 2, 16)


def riff(*chunks: bytes, size: int | None = None) -> bytes:
    body = b"WAVE" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body) if size is None else size) + body


def test_chunks_of_odd_length_and_of_other_kinds(extraction: PartExtraction, place: Path) -> None:
    samples = struct.pack("<8000h", *range(8000))
    data = riff(
        chunk(b"LIST", b"odd"), chunk(b"fmt ", FORMAT), chunk(b"fact", b"1234"),
        chunk(b"data", samples), chunk(b"LIST", b"behind"),
    )  # fmt: skip
    found, _ = frames_of(got(extraction, source(place, data, WAV), Fraction(0), Fraction(1)))
    assert found == samples


@pytest.mark.parametrize("size", [0, 0xFFFFFFFF])
def test_a_recording_whose_encoder_could_not_go_back(
    extraction: PartExtraction, place: Path, size: int
) -> None:
    samples = struct.pack("<8000h", *range(8000))
    data = riff(chunk(b"fmt ", FORMAT), chunk(b"data", samples, size), size=size)
    found, _ = frames_of(got(extraction, source(place, data, WAV), Fraction(1, 2), Fraction(1)))
    assert found == samples[8000:]


HOSTILE = {
    "empty": b"",
    "another format": b"ID3\4" + bytes(100),
    "cut off": recording(bytes(16000))[:-100],
    "no data": riff(chunk(b"fmt ", FORMAT)),
    "no format": riff(chunk(b"data", bytes(100))),
    "short format": riff(chunk(b"fmt ", FORMAT[:8]), chunk(b"data", bytes(100))),
    "a size beyond the file": riff(chunk(b"fmt ", FORMAT), chunk(b"data", bytes(100), 1 << 31)),
    "an empty chunk for ever": riff(*[chunk(b"junk", b"")] * 20_000),
    "no channels": riff(
        chunk(b"fmt ", struct.pack("<HHIIHH", 1, 0, 8000, 0, 0, 16)), chunk(b"data", bytes(100))
    ),
    "no rate": riff(
        chunk(b"fmt ", struct.pack("<HHIIHH", 1, 1, 0, 0, 2, 16)), chunk(b"data", bytes(100))
    ),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_no_recording(extraction: PartExtraction, place: Path, data: bytes) -> None:
    with pytest.raises(Undecodable):
        got(extraction, source(place, data, WAV), Fraction(0), Fraction(1, 100))


def test_blocks_that_cannot_be_cut(extraction: PartExtraction, place: Path) -> None:
    adpcm = struct.pack("<HHIIHH", 2, 1, 8000, 4000, 256, 4)
    data = riff(chunk(b"fmt ", adpcm), chunk(b"data", bytes(1000)))
    with pytest.raises(PartNotSupported):
        got(extraction, source(place, data, WAV), Fraction(0), Fraction(1, 100))


@given(st.binary(max_size=80), st.sampled_from([WAV, AU]), st.booleans())
def test_anything_is_answered(place: Path, data: bytes, kind: str, begins: bool) -> None:
    if begins:
        data = (b"RIFF\0\0\0\0WAVE" if kind == WAV else b".snd") + data
    extraction = PartExtraction()
    try:
        got(extraction, source(place, data, kind), Fraction(0), Fraction(1, 8000))
    except PerdureError:
        return
