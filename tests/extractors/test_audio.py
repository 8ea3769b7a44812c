"""Sound that is decoded: to the sample, as a decoder gives it that starts at the beginning.

The oracle is the ffmpeg program, which decodes each recording whole; a part must be a slice of it.
"""

from __future__ import annotations

import hashlib
import io
import math
import random
import re
import subprocess
from fractions import Fraction
from pathlib import Path

import imageio_ffmpeg
import pytest
import soundfile
from tests.extractors.cutting import content

from perdure.errors import PartNotSupported, PartOutOfRange, Undecodable
from perdure.extractors.port import Source
from perdure.parts import Interval, parse_part
from perdure.reading.extraction import PartExtraction

pytest.importorskip("av")

FFMPEG = imageio_ffmpeg.get_ffmpeg_exe()
SECONDS = 12
RECORDINGS = {
    "flac": ("audio/flac", ("-c:a", "flac")),
    "flac24": ("audio/flac", ("-c:a", "flac", "-sample_fmt", "s32")),
    "mp3": ("audio/mpeg", ("-c:a", "libmp3lame", "-b:a", "128k")),
    "mp3-vbr": ("audio/mpeg", ("-c:a", "libmp3lame", "-q:a", "3")),
    "vorbis": ("audio/ogg", ("-c:a", "libvorbis")),
    "opus": ("audio/ogg", ("-c:a", "libopus")),
    "aac": ("audio/mp4", ("-c:a", "aac")),
}
_ENDINGS = {"flac": "flac", "flac24": "flac", "vorbis": "ogg", "opus": "ogg", "aac": "m4a"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sounds")


def ffmpeg(*words: str) -> bytes:
    command = [FFMPEG, "-y", "-nostdin", "-v", "error", *words]
    return subprocess.run(command, check=True, capture_output=True).stdout


@pytest.fixture(scope="module", params=RECORDINGS)
def recording(request: pytest.FixtureRequest, place: Path) -> Source:
    """A rising tone with some noise in it, so that no two seconds are alike."""
    name: str = request.param
    media_type, options = RECORDINGS[name]
    path = place / f"{name}.{_ENDINGS.get(name, 'mp3')}"
    tone = "aevalsrc=0.4*sin(200*t*t)|0.3*sin(300*t*t)+0.05*random(0):s=44100"
    ffmpeg("-f", "lavfi", "-i", f"{tone}:d={SECONDS}", *options, str(path))
    return Source(path=path, length=path.stat().st_size, media_type=media_type, name=name)


_INTERVALS = [
    (Fraction(0), Fraction(1)),
    (Fraction(3), Fraction(5)),
    (Fraction(12345, 2000), Fraction(13001, 2000)),
    (Fraction(SECONDS - 1), Fraction(SECONDS)),
    (Fraction(1, 44100), Fraction(2, 44100)),
    *((start, start + 1) for start in (Fraction(158, 100), Fraction(13, 2))),  # the last bits
]


def test_exactly_the_samples_in_the_interval(extraction: PartExtraction, recording: Source) -> None:
    """ "Sample-exact for audio: samples n with start ≤ n/rate < end, time 0 after encoder delay"
    # ruling: time-range"""
    whole = b""
    for start, end in _INTERVALS:
        part = extraction.cut_part(recording, Interval(start, end))
        assert part.decoded is not None
        kind, rate, _, channels, _ = part.decoded.form.split()
        if not whole:
            whole = ffmpeg("-i", str(recording.path), "-f", kind, "-")
        block = int(channels) * {"s16le": 2, "s32le": 4, "f32le": 4}[kind]
        first, last = (math.ceil(time * int(rate)) * block for time in (start, end))
        expected = whole[first:last]
        assert len(expected) == last - first
        data = content(part, recording)
        assert data[44 : 44 + len(expected)] == expected, (start, end)
        assert part.decoded.sha512 == hashlib.sha512(expected).hexdigest()
        info = soundfile.info(io.BytesIO(data))
        assert (info.samplerate, info.channels) == (int(rate), int(channels))
        assert info.frames * block == len(expected)
        assert content(extraction.cut_part(recording, Interval(start, end)), recording) == data


def test_beyond_the_recording(extraction: PartExtraction, recording: Source) -> None:
    """A PDI's part never shrinks, a media fragment is cut  # ruling: part-range"""
    for start, end in ((SECONDS - 1, SECONDS + 1), (SECONDS + 5, SECONDS + 6), (3, 3)):
        with pytest.raises(PartOutOfRange):
            extraction.cut_part(recording, Interval(Fraction(start), Fraction(end)))
    clipped = extraction.cut_part(recording, parse_part(f"t={SECONDS - 1},99", "audio/mpeg"))
    exact = extraction.cut_part(recording, parse_part(f"t={SECONDS - 1}", "audio/mpeg"))
    assert content(clipped, recording) == content(exact, recording)
    assert str(clipped.selector) == str(exact.selector)
    with pytest.raises(PartOutOfRange):
        extraction.cut_part(recording, parse_part("t=99", "audio/mpeg"))
    with pytest.raises(PartNotSupported):
        extraction.cut_part(recording, parse_part("track=1", "audio/mpeg"))


def test_what_can_be_addressed(extraction: PartExtraction, recording: Source) -> None:
    extents = [one for one in extraction.list_extents(recording) if one.syntax.startswith("sec")]
    assert [one.size for one in extents] == [SECONDS]


def test_long_parts_are_decoded_while_they_are_sent(
    extraction: PartExtraction, place: Path
) -> None:
    path = place / "long.flac"
    minutes = 4
    source_filter = f"sine=frequency=440:sample_rate=44100:duration={60 * minutes}"
    ffmpeg("-f", "lavfi", "-i", source_filter, "-ac", "2", "-c:a", "flac", str(path))
    sound = Source(path=path, length=path.stat().st_size, media_type="audio/flac", name="long")
    whole = ffmpeg("-i", str(path), "-f", "s16le", "-")
    start, end = 7, 60 * minutes - 3
    part = extraction.cut_part(sound, Interval(Fraction(start), Fraction(end)))
    data = content(part, sound)
    assert part.length == len(data)
    assert data[44:] == whole[start * 176400 : end * 176400]
    open_ended = content(extraction.cut_part(sound, parse_part("t=7", "audio/flac")), sound)
    assert open_ended[44:] == whole[start * 176400 :]
    with pytest.raises(PartOutOfRange):
        extraction.cut_part(sound, Interval(Fraction(0), Fraction(60 * minutes + 1)))


# what others send
# ----------------


def of_bytes(place: Path, data: bytes, media_type: str) -> Source:
    path = place / hashlib.sha512(data).hexdigest()[:16]
    path.write_bytes(data)
    return Source(path=path, length=len(data), media_type=media_type, name="x")


PLAYLISTS = {
    "hls": b"#EXTM3U\n#EXTINF:10,\nfile:///etc/passwd\nhttp://127.0.0.1:1/a.ts\n",
    "concat": b"ffconcat version 1.0\nfile /etc/passwd\n",
    "html": b"<html><body>no sound</body></html>",
    "nothing": b"",
    "zeros": bytes(10_000),
    "noise": b"ID3\4\0\0\0\0\0\0" + random.Random(4).randbytes(300_000),
}


@pytest.mark.parametrize("media_type", ["audio/mpeg", "audio/mp4", "audio/flac", "audio/ogg"])
@pytest.mark.parametrize("data", PLAYLISTS.values(), ids=PLAYLISTS.keys())
def test_what_is_no_sound(
    extraction: PartExtraction, place: Path, data: bytes, media_type: str
) -> None:
    """No playlist is followed, whatever it calls itself."""
    with pytest.raises((Undecodable, PartOutOfRange)) as caught:
        extraction.cut_part(of_bytes(place, data, media_type), Interval(Fraction(0), Fraction(1)))
    assert not re.search(r"Errno|<none>|\(\)", str(caught.value))  # but words


def test_garbage_within(extraction: PartExtraction, recording: Source, place: Path) -> None:
    """Either the very samples that were there, or an error."""
    data = bytearray(recording.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 3000] = bytes(n * 7 % 256 for n in range(3000))
    damaged = of_bytes(place, bytes(data), recording.media_type)
    for start in range(SECONDS):
        interval = Interval(Fraction(start), Fraction(start + 1))
        expected = content(extraction.cut_part(recording, interval), recording)
        try:
            found = content(extraction.cut_part(damaged, interval), damaged)
        except (Undecodable, PartOutOfRange):
            continue
        if start < 3:
            assert found == expected


def test_truncated(extraction: PartExtraction, recording: Source, place: Path) -> None:
    cut = of_bytes(place, recording.read_bytes(0, recording.length // 2), recording.media_type)
    with pytest.raises((Undecodable, PartOutOfRange)):
        extraction.cut_part(cut, Interval(Fraction(SECONDS - 2), Fraction(SECONDS - 1)))


def test_an_unknown_codec(extraction: PartExtraction, place: Path) -> None:
    path = place / "unknown.m4a"
    ffmpeg("-f", "lavfi", "-i", "sine=d=1", "-c:a", "aac", str(path))
    data = path.read_bytes().replace(b"mp4a", b"xyz9")
    path.write_bytes(data.replace(b"\x40\x15", b"\xfe\x15", 1))  # its kind in its description
    sound = Source(path=path, length=path.stat().st_size, media_type="audio/mp4", name="unknown")
    with pytest.raises(PartNotSupported):
        extraction.cut_part(sound, Interval(Fraction(0), Fraction(1)))


def test_samples_of_an_unknown_kind(extraction: PartExtraction, place: Path) -> None:
    """FLAC of three bits a sample (RFC 9639, section 8.2), of which there is none."""
    path = place / "three-bits.flac"
    ffmpeg("-f", "lavfi", "-i", "sine=d=1", "-c:a", "flac", str(path))
    data = bytearray(path.read_bytes())
    data[20] &= 0xFE
    data[21] = data[21] & 0x0F | 2 << 4
    with pytest.raises(Undecodable, match="does not state the format of its samples"):
        extraction.cut_part(
            of_bytes(place, bytes(data), "audio/flac"), Interval(Fraction(0), Fraction(1))
        )


def test_in_a_larger_file(extraction: PartExtraction, recording: Source, place: Path) -> None:
    path = place / f"{recording.name}.warc"
    path.write_bytes(b"WARC/1.1\r\n\r\n" + recording.read_bytes() + b"\r\n\r\nWARC/1.1")
    inside = Source(
        path=path,
        offset=12,
        length=recording.length,
        media_type=recording.media_type,
        name="inside",
    )
    interval = Interval(Fraction(5), Fraction(6))
    assert content(extraction.cut_part(inside, interval), inside) == content(
        extraction.cut_part(recording, interval), recording
    )
