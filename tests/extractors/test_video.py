"""Frames, rectangles and intervals of video, sample by sample what ffmpeg decodes.

The oracle is the ffmpeg program, which decodes each film whole.
"""

from __future__ import annotations

import hashlib
import math
import re
import struct
import subprocess
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import imageio_ffmpeg
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.extractors.cutting import content, source

from perdure.errors import (
    OverBudget,
    PartNotFound,
    PartNotSupported,
    PartOutOfRange,
    PerdureError,
    Undecodable,
)
from perdure.extractors.port import Part, Source, Stream
from perdure.parts import Crop, Instant, Interval, Rect, parse_part, pdi
from perdure.reading.extraction import PartExtraction

av = pytest.importorskip("av")
np = pytest.importorskip("numpy")

FFMPEG = imageio_ffmpeg.get_ffmpeg_exe()
CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
WIDTH, HEIGHT, FRAMES, RATE = 64, 48, 100, 25
FILMS = {
    "vp8.webm": ("video/webm", ("-c:v", "libvpx", "-g", "30", "-c:a", "libopus")),
    "vp9.webm": ("video/webm", ("-c:v", "libvpx-vp9", "-g", "30", "-c:a", "libvorbis")),
    "h264.mkv": ("video/x-matroska", ("-c:v", "libx264", "-bf", "3", "-c:a", "flac")),
    "program.mpg": ("video/mpeg", ("-c:v", "mpeg1video", "-bf", "2", "-g", "12", "-c:a", "mp2")),
    "transport.ts": ("video/mp2t", ("-c:v", "mpeg2video", "-bf", "2", "-g", "12", "-c:a", "mp2")),
    "bare.mpg": ("video/mpeg", ("-c:v", "mpeg1video", "-f", "mpeg1video", "-an")),
    "frames.avi": ("video/x-msvideo", ("-c:v", "mjpeg", "-c:a", "pcm_s16le")),
    "theora.ogv": (
        "video/ogg",  # noise, for frames that are like the one before are left out
        ("-vf", "noise=alls=40:allf=t", "-c:v", "libtheora", "-q:v", "10", "-c:a", "libvorbis"),
    ),
}
FRAGMENTS = ("-movflags", "frag_keyframe+empty_moov+default_base_moof")
FILMS["fragments.mp4"] = (
    "video/mp4",
    ("-c:v", "libx264", "-bf", "0", "-g", "10", "-c:a", "flac", *FRAGMENTS),
)
MP4 = ("video/mp4", ("-c:v", "libx264", "-bf", "3", "-g", "40", "-c:a", "aac"))


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("films")


def ffmpeg(*words: str | Path) -> bytes:
    command = [FFMPEG, "-y", "-nostdin", "-v", "error", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True).stdout


def made(path: Path, media_type: str, words: tuple[str, ...], size: str = "64x48") -> Source:
    seconds = FRAMES // RATE
    picture = f"testsrc2=s={size}:r={RATE}:d={seconds}"
    sound = f"aevalsrc=0.4*sin(440*t*t):s=48000:d={seconds}"
    ffmpeg("-f", "lavfi", "-i", picture, "-f", "lavfi", "-i", sound,
           "-pix_fmt", "yuv420p", *words, path)  # fmt: skip
    return of_file(path, media_type)


def of_file(path: Path, media_type: str) -> Source:
    return Source(path=path, length=path.stat().st_size, media_type=media_type, name=path.name)


@pytest.fixture(scope="module", params=FILMS)
def film(request: pytest.FixtureRequest, place: Path) -> Source:
    return made(place / request.param, *FILMS[request.param])


@pytest.fixture(scope="module")
def mp4(place: Path) -> Source:
    return made(place / "film.mp4", *MP4)


@cache
def frames_of(path: Path, form: str = "yuv420p") -> list[bytes]:
    """All frames of a film, as ffmpeg decodes them."""
    words = ("-map", "0:v", "-fps_mode", "passthrough", "-pix_fmt", form, "-f", "rawvideo", "-")
    data = ffmpeg("-i", path, *words)
    size = WIDTH * HEIGHT * 3 // (1 if form == "rgb24" else 2)
    assert len(data) == FRAMES * size
    return [data[at : at + size] for at in range(0, len(data), size)]


def raw(data: bytes, place: Path, *words: str) -> bytes:
    path = place / "part.mkv"
    path.write_bytes(data)
    return ffmpeg("-i", path, "-map", "0:v", "-fps_mode", "passthrough", *words, "-f", "rawvideo",
                  "-")  # fmt: skip


def interval(start: int, end: int) -> Interval:
    """In milliseconds."""
    return Interval(Fraction(start, 1000), Fraction(end, 1000))


@pytest.mark.parametrize(("start", "end"), [(0, 1000), (1345, 2654), (3000, 4000), (40, 80)])
def test_exactly_the_frames_in_the_interval(
    extraction: PartExtraction, film: Source, place: Path, start: int, end: int
) -> None:
    """ "frames whose presentation time lies in [start, end)"  # ruling: time-range"""
    part = extraction.cut_part(film, interval(start, end))
    data = content(part, film)
    numbers = [n for n in range(FRAMES) if start <= n * 1000 // RATE < end]
    expected = b"".join(frames_of(film.path)[n] for n in numbers)
    assert raw(data, place) == expected
    assert part.media_type == "video/x-matroska"
    assert part.decoded
    assert part.decoded.form == f"yuv420p 64x48 {len(numbers)} frames"
    assert part.decoded.sha512 == hashlib.sha512(expected).hexdigest()
    assert content(extraction.cut_part(film, interval(start, end)), film) == data


def test_frames_are_shown_when_they_were(
    extraction: PartExtraction, film: Source, place: Path
) -> None:
    data = content(extraction.cut_part(film, interval(1345, 1600)), film)
    path = place / "times.mkv"
    path.write_bytes(data)
    with av.open(path) as shown:
        times = [round(frame.time * 1000) for frame in shown.decode(video=0)]
    assert times == [1360 - 1345 + at for at in range(0, 240, 40)]


def test_sound_goes_along(extraction: PartExtraction, film: Source, place: Path) -> None:
    if film.path.name == "bare.mpg":
        return
    path = place / "sound.mkv"
    path.write_bytes(content(extraction.cut_part(film, interval(1000, 2000)), film))
    words = ("-map", "0:a", "-ac", "1", "-f", "s16le", "-")
    part = np.frombuffer(ffmpeg("-i", path, *words), "<i2").astype(float)
    whole = np.frombuffer(ffmpeg("-i", film.path, *words), "<i2").astype(float)
    assert abs(len(part) - 48000) <= 48  # a millisecond, which is what Matroska counts in
    if film.path.name == "frames.avi":
        assert (part == whole[48000:96000]).all()
    else:
        far = range(-2000, 2001)  # some encoders' delays are counted by ffmpeg, some are not
        compared = (np.abs(part[4000:6000] - whole[52000 + by : 54000 + by]).mean() for by in far)
        assert min(compared) < 200


# rectangles
# ----------

_across, _down = st.integers(0, WIDTH), st.integers(0, HEIGHT)


def cut_by_hand(frame: bytes, left: int, top: int, right: int, bottom: int) -> tuple[Any, ...]:
    """Each pixel's three samples; in yuv420p four pixels share two of them."""
    light = np.frombuffer(frame, "u1", WIDTH * HEIGHT).reshape(HEIGHT, WIDTH)
    colours = np.frombuffer(frame, "u1", offset=WIDTH * HEIGHT).reshape(2, HEIGHT // 2, WIDTH // 2)
    rows, columns = np.arange(top, bottom), np.arange(left, right)
    shared = [one[rows[:, None] // 2, columns[None, :] // 2] for one in colours]
    return light[top:bottom, left:right], *shared


@settings(max_examples=25)
@given(_across, _across, _down, _down)
def test_any_rectangle_pixel_by_pixel(
    extraction: PartExtraction, mp4: Source, place: Path, x1: int, x2: int, y1: int, y2: int
) -> None:
    left, right, top, bottom = min(x1, x2), max(x1, x2), min(y1, y2), max(y1, y2)
    crop = Crop(interval(1000, 1200), Rect(left, top, right, bottom))
    if left == right or top == bottom:
        with pytest.raises(PartOutOfRange):
            extraction.cut_part(mp4, crop)
        return
    part = extraction.cut_part(mp4, crop)
    path = place / "crop.mkv"
    path.write_bytes(content(part, mp4))
    with av.open(path) as cropped:
        found = list(cropped.decode(video=0))
    assert len(found) == 5
    odd = left % 2 or top % 2
    assert found[0].format.name == ("yuv444p" if odd else "yuv420p")
    for number, frame in enumerate(found, 25):
        expected = cut_by_hand(frames_of(mp4.path)[number], left, top, right, bottom)
        if not odd:
            expected = (expected[0], *(one[::2, ::2] for one in expected[1:]))
        for plane, samples in zip(frame.planes, expected, strict=True):
            height, width = samples.shape
            rows = np.frombuffer(memoryview(plane), "u1").reshape(-1, plane.line_size)
            assert (rows[:height, :width] == samples).all()


def test_a_rectangle_beyond_the_picture(extraction: PartExtraction, mp4: Source) -> None:
    """A PDI's part never shrinks, a media fragment is cut  # ruling: part-range"""
    with pytest.raises(PartOutOfRange):
        extraction.cut_part(mp4, Crop(interval(0, 1000), Rect(0, 0, WIDTH + 1, HEIGHT)))
    part = extraction.cut_part(mp4, parse_part("t=1,2&xywh=32,24,100,100", "video/mp4"))
    assert str(part.selector) == "t=1,2&xywh=32,24,32,24"
    part = extraction.cut_part(mp4, parse_part("t=1,2&xywh=percent:50,50,50,50", "video/mp4"))
    assert str(part.selector) == "t=1,2&xywh=32,24,32,24"
    with pytest.raises(PartOutOfRange):
        extraction.cut_part(mp4, parse_part("t=1,2&xywh=64,0,10,10", "video/mp4"))


def test_a_crop_without_a_rectangle_is_the_interval(
    extraction: PartExtraction, mp4: Source, place: Path
) -> None:
    data = content(extraction.cut_part(mp4, Crop(interval(1000, 2000))), mp4)
    assert raw(data, place) == b"".join(frames_of(mp4.path)[25:50])


# time
# ----


def test_beyond_the_film(extraction: PartExtraction, film: Source) -> None:
    assert extraction.cut_part(film, interval(3900, 4000)).length
    for start, end in ((3900, 4500), (9000, 10000), (2000, 2000), (3000, 2000)):
        with pytest.raises(PartOutOfRange):
            extraction.cut_part(film, interval(start, end))


def test_a_media_fragment_is_cut_at_the_end(
    extraction: PartExtraction, film: Source, mp4: Source, place: Path
) -> None:
    part = extraction.cut_part(film, parse_part("t=3.5,60", film.media_type))
    assert str(part.selector) == "t=3.5,4"
    numbers = [n for n in range(FRAMES) if n >= 3.5 * RATE]
    expected = b"".join(frames_of(film.path)[n] for n in numbers)
    assert raw(content(part, film), place) == expected
    part = extraction.cut_part(mp4, parse_part("t=3.5,60", "video/mp4"))
    assert (part.media_type, part.decoded) == ("video/mp4", None)


def test_tracks(extraction: PartExtraction, film: Source, mp4: Source) -> None:
    with pytest.raises(PartNotFound):
        extraction.cut_part(film, parse_part("t=1,2&track=Commentary", film.media_type))
    assert (
        extraction.cut_part(mp4, parse_part("track=video", "video/mp4")).media_type == "video/mp4"
    )


@pytest.fixture(scope="module")
def tracked(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """A film in Matroska with two sound tracks, one louder than the other."""
    path = tmp_path_factory.mktemp("tracked") / "film.mkv"
    rate = 8000
    with av.open(str(path), "w", format="matroska") as made:
        video = made.add_stream("ffv1", rate=25)
        video.width, video.height, video.pix_fmt = 32, 32, "yuv420p"
        sounds = [made.add_stream("pcm_s16le", rate=rate, layout="mono") for _ in range(2)]
        sounds[1].metadata["title"] = "Commentary"
        for number in range(25):
            frame = av.VideoFrame.from_ndarray(np.full((48, 32), number, "u1"), "yuv420p")
            frame.pts, frame.time_base = number, Fraction(1, 25)
            made.mux(video.encode(frame))
            for loudness, sound in enumerate(sounds, 1):
                rows = np.full((1, rate // 25), 100 * loudness, "i2")
                samples = av.AudioFrame.from_ndarray(rows, "s16", "mono")
                samples.sample_rate, samples.pts = rate, number * rate // 25
                samples.time_base = Fraction(1, rate)
                made.mux(sound.encode(samples))
        for stream in (video, *sounds):
            made.mux(stream.encode(None))
    return Source(path=path, length=path.stat().st_size, media_type="video/x-matroska", name="film")


@pytest.mark.parametrize(
    ("text", "loudness"),
    [
        ("track=1", None),
        ("track=video", None),
        ("t=0,0.5&track=1", None),
        ("t=0,0.5", 100),
        ("track=1&track=2", 100),
        ("track=1&track=3", 200),
        ("track=video&track=Commentary", 200),
        ("track=1&track=9", None),
    ],
)
def test_tracks_of_matroska(
    extraction: PartExtraction, tracked: Source, place: Path, text: str, loudness: int | None
) -> None:
    """ "It allows the extraction of tracks (audio, video, subtitles, etc)" (Media Fragments 1.0,
    section 4.2.3): nothing but the tracks that are named is in the part."""
    part = extraction.cut_part(tracked, parse_part(text, tracked.media_type))
    path = place / "part.mkv"
    path.write_bytes(content(part, tracked))
    with av.open(str(path)) as made:
        kinds = [one.type for one in made.streams]
        values = (
            {int(value) for frame in made.decode(audio=0) for value in frame.to_ndarray().ravel()}
            if made.streams.audio
            else set()
        )
    assert kinds == ["video"] + ["audio"] * (loudness is not None)
    assert values == ({loudness} if loudness else set())


def test_tracks_that_a_decoded_part_cannot_have(
    extraction: PartExtraction, tracked: Source
) -> None:
    with pytest.raises(PartNotFound, match=r"1 \(video, ffv1\), 2 \(audio, .*\), 3 \(audio"):
        extraction.cut_part(tracked, parse_part("track=9", tracked.media_type))
    for text in ("track=2&track=3", "track=audio", "track=1&track=2&track=3"):
        with pytest.raises(PartNotSupported, match="alone or with one of sound"):
            extraction.cut_part(tracked, parse_part(text, tracked.media_type))


def test_the_frame_of_a_moment(extraction: PartExtraction, film: Source, place: Path) -> None:
    part = extraction.cut_part(film, Instant(Fraction(2999, 1000)))
    data = content(part, film)
    assert part.media_type == "image/png"
    path = place / "frame.png"
    path.write_bytes(data)
    pixels = ffmpeg("-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
    assert part.decoded
    assert part.decoded.form == "rgb8 64x48"
    assert part.decoded.sha512 == hashlib.sha512(pixels).hexdigest()
    found = np.frombuffer(pixels, "u1").astype(int)
    expected = np.frombuffer(frames_of(film.path, "rgb24")[74], "u1").astype(int)
    assert np.abs(found - expected).max() <= 2  # as far as converting to RGB is defined
    with pytest.raises(PartOutOfRange):
        extraction.cut_part(film, Instant(Fraction(4001, 1000)))


@pytest.mark.parametrize("form", ["yuv420p10le", "yuv411p", "gbrp", "gray", "rgb24", "yuvj422p"])
@pytest.mark.parametrize("box", ["", ",(8,8),(20,20)", ",(1,1),(2,47)"])
def test_samples_of_every_kind(
    extraction: PartExtraction, place: Path, form: str, box: str
) -> None:
    """Deep ones, and such as lie in another order, as ffmpeg's own crop gives them."""
    if form.startswith("yuv") and "(1,1)" in box:
        return  # there the pixels have colours of their own
    codec = {"rgb24": "png", "gbrp": "utvideo", "yuvj422p": "mjpeg"}.get(form, "ffv1")
    words = ("-pix_fmt", form, "-c:v", codec, "-strict", "unofficial", "-an")
    film = made(place / f"{form}.mkv", "video/x-matroska", words)
    part = extraction.cut_part(film, pdi.read_pdi_part(f"crop=msec,1000,1120{box}"))
    left, top, right, bottom = map(int, re.findall(r"\d+", box)) if box else (0, 0, 64, 48)
    crop = f"trim=start_frame=25:end_frame=28,crop={right - left}:{bottom - top}:{left}:{top}"
    expected = raw(film.read_bytes(), place, "-vf", crop, "-pix_fmt", form)
    assert raw(content(part, film), place, "-pix_fmt", form) == expected


@pytest.mark.parametrize("box", ["(0,0),(2000,1)", "(3,5),(4,40)", "(0,0),(1,1)"])
def test_thin_rectangles(extraction: PartExtraction, place: Path, box: str) -> None:
    words = ("-c:v", "mpeg4", "-t", "0.2", "-an")
    film = made(place / "wide.mkv", "video/x-matroska", words, "2000x40")
    part = extraction.cut_part(film, pdi.read_pdi_part(f"crop=msec,0,200,{box}"))
    left, top, right, bottom = map(int, re.findall(r"\d+", box))
    assert part.decoded
    assert f" {right - left}x{bottom - top} 5 frames" in part.decoded.form
    assert hashlib.sha512(raw(content(part, film), place)).hexdigest() == part.decoded.sha512


@pytest.mark.corpus
def test_a_film_of_the_nineties(extraction: PartExtraction, place: Path) -> None:
    """A bare stream of MPEG video, 30 frames a second."""
    path = CORPUS / "us-radar.mpg"
    if not path.exists():
        pytest.skip(f"the corpus of real documents is not at {CORPUS}")
    film = of_file(path, "video/mpeg")
    part = extraction.cut_part(film, interval(100, 500))
    frames = ffmpeg("-i", path, "-fps_mode", "passthrough", "-f", "rawvideo", "-")
    size = 768 * 528 * 3 // 2
    first, last = math.ceil(0.1 * 30), math.ceil(0.5 * 30)
    assert raw(content(part, film), place) == frames[first * size : last * size]
    with pytest.raises(PartOutOfRange):
        extraction.cut_part(film, interval(100, 900))


def test_what_can_be_addressed(extraction: PartExtraction, film: Source, mp4: Source) -> None:
    for one in (film, mp4):
        syntaxes = [extent.syntax for extent in extraction.list_extents(one)]
        assert {"crop=sec,0,1,(0,0),(64,48)", "sec=0,1"} <= set(syntaxes)


@pytest.mark.parametrize(
    ("name", "media_type", "words"),
    [
        ("short.mpg", "video/mpeg", ("-c:v", "mpeg1video", "-f", "mpeg1video", "-an")),
        ("short.mkv", "video/x-matroska", ("-c:v", "mpeg4", "-an")),
        ("short.mp4", "video/mp4", ("-c:v", "libx264", "-bf", "0", "-an")),
    ],
)
def test_a_film_of_less_than_a_second(
    extraction: PartExtraction, place: Path, name: str, media_type: str, words: tuple[str, ...]
) -> None:
    """Five frames, 25 a second: all that is offered is there, and who asks for more is told."""
    film = made(place / name, media_type, (*words, "-t", "0.2"))
    offered = {one.syntax: one for one in extraction.list_extents(film) if "sec" in one.syntax}
    assert set(offered) == {"msec=0,200", "crop=msec,0,200,(0,0),(64,48)"}
    assert offered["msec=0,200"].size == 200
    for syntax in offered:
        assert extraction.cut_part(film, pdi.read_pdi_part(syntax)).length
    with pytest.raises(PartOutOfRange, match=r"0\.2 seconds"):
        extraction.cut_part(film, pdi.read_pdi_part("sec=0,1"))


def test_a_film_that_does_not_say_how_long_it_is(extraction: PartExtraction, place: Path) -> None:
    """As browsers record them: the end of its last frame is found among its packets."""
    words = ("-c:v", "libvpx", "-an", "-t", "2", "-f", "webm", "-live", "1")
    film = made(place / "live.webm", "video/webm", words)
    with av.open(film.path) as opened:
        assert opened.duration is None
    sizes = {one.syntax: one.size for one in extraction.list_extents(film)}
    assert sizes["sec=0,1"] == 2
    with pytest.raises(PartOutOfRange, match="48 pixels and 2 seconds"):
        extraction.cut_part(film, interval(0, 3000))


# size and damage
# ---------------


def test_a_long_part_is_sent_while_it_is_decoded(extraction: PartExtraction, place: Path) -> None:
    """100 frames of 1 MB: longer than what is decoded in advance."""
    words = ("-c:v", "mpeg4", "-q:v", "20", "-an")
    film = made(place / "large.mkv", "video/x-matroska", words, "1024x768")
    part = extraction.cut_part(film, interval(0, 4000))
    assert isinstance(part.body, Stream)
    data = content(part, film)
    whole = ffmpeg("-i", film.path, "-f", "md5", "-map", "0:v", "-c:v", "rawvideo", "-")
    path = place / "part of large.mkv"
    path.write_bytes(data)
    assert ffmpeg("-i", path, "-f", "md5", "-map", "0:v", "-c:v", "rawvideo", "-") == whole
    assert lasting(path) == "00:00:04.00"
    with pytest.raises(PartOutOfRange):
        extraction.cut_part(film, interval(0, 4500))


def lasting(path: Path) -> str:
    """How long a player says that a film lasts."""
    told = subprocess.run([FFMPEG, "-i", path], check=False, capture_output=True).stderr
    found = re.search(rb"Duration: ([^,]*),", told)
    assert found
    assert b"Estimating duration" not in told
    return found[1].decode()


@pytest.mark.parametrize(
    ("part", "seconds"),
    [
        ("t=1,2", "00:00:01.00"),
        ("t=0.5,3.25", "00:00:02.75"),
        ("t=3", "00:00:01.00"),
        ("t=3.5,99", "00:00:00.50"),
        ("t=1,2&xywh=0,0,8,8", "00:00:01.00"),
    ],
)
def test_a_part_says_how_long_it_lasts(
    extraction: PartExtraction, place: Path, part: str, seconds: str
) -> None:
    """So that a player need not guess by the bit rate of the sound."""
    film = made(place / "program.mpg", *FILMS["program.mpg"])
    path = place / "part.mkv"
    path.write_bytes(content(extraction.cut_part(film, parse_part(part, film.media_type)), film))
    assert lasting(path) == seconds


def test_a_film_that_is_cut_off(extraction: PartExtraction, film: Source, place: Path) -> None:
    """What is there can be had; what is missing is an error, and never fewer frames."""
    cut = source(place, film.read_bytes(0, film.length * 6 // 10), film.media_type)
    with pytest.raises((Undecodable, PartOutOfRange)):
        extraction.cut_part(cut, interval(0, 4000))
    with pytest.raises((Undecodable, PartOutOfRange)):
        extraction.cut_part(cut, interval(3000, 4000))


HOSTILE = {
    "empty": b"",
    "zeros": bytes(100_000),
    "a playlist": b"#EXTM3U\n#EXTINF:10,\nhttp://127.0.0.1:9/secret.ts\n#EXT-X-ENDLIST\n",
    "a list of files": b"ffconcat version 1.0\nfile /etc/passwd\n",
    "a manifest": b'<?xml version="1.0"?><MPD><Period><BaseURL>file:///etc/passwd</BaseURL></Period>'
    b"</MPD>",
    "text": b"Not a film. " * 1000,
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("media_type", [*(kind for kind, _ in FILMS.values()), "video/mp4"])
def test_what_is_no_film(
    extraction: PartExtraction, place: Path, data: bytes, media_type: str
) -> None:
    film = source(place, data, media_type)
    for selector in (Crop(interval(0, 1000), Rect(0, 0, 9, 9)), Instant(Fraction(0))):
        with pytest.raises(Undecodable):
            extraction.cut_part(film, selector)


@settings(max_examples=30)
@given(st.data())
def test_damage_is_answered(
    extraction: PartExtraction, film: Source, place: Path, data: st.DataObject
) -> None:
    """A part, or an error of ours; the next part is as good as ever."""
    damaged = bytearray(film.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(damaged) - 100))
        damaged[at : at + 50] = data.draw(st.binary(min_size=50, max_size=50))
    try:
        part: Part = extraction.cut_part(
            source(place, bytes(damaged), film.media_type), interval(0, 400)
        )
    except PerdureError:
        pass
    else:
        assert part.decoded
        assert part.decoded.form.endswith("frames")
    assert extraction.cut_part(film, interval(0, 40)).length


def test_frames_too_large(extraction: PartExtraction, place: Path) -> None:
    """A few bytes that say 30,000 by 30,000 pixels: 2.7 GB decoded."""
    film = made(place / "bomb.avi", *FILMS["frames.avi"])
    size = struct.Struct(">BHH")  # in the header of a JPEG
    data = film.read_bytes().replace(size.pack(8, HEIGHT, WIDTH), size.pack(8, 30000, 30000))
    assert data != film.read_bytes()
    with pytest.raises((OverBudget, Undecodable)):
        extraction.cut_part(source(place, data, film.media_type), interval(0, 400))


def test_sound_that_cannot_be_decoded(extraction: PartExtraction, place: Path, mp4: Source) -> None:
    """A part without it would be less than was asked for; a single frame has none anyway."""
    data = mp4.read_bytes().replace(b"mp4a", b"xyz9")
    data = data.replace(b"\x40\x15", b"\xfe\x15", 1)  # the kind of codec in its description
    film = source(place, data, "video/mp4")
    with pytest.raises(PartNotSupported):
        extraction.cut_part(film, Crop(interval(0, 400)))
    assert extraction.cut_part(film, Instant(Fraction(1))).length
    assert extraction.cut_part(film, interval(0, 400)).length


def test_sound_alone_is_no_video(extraction: PartExtraction, place: Path) -> None:
    path = place / "sound.webm"
    ffmpeg("-f", "lavfi", "-i", "sine=d=1", "-c:a", "libopus", path)
    with pytest.raises(Undecodable) as caught:
        extraction.cut_part(of_file(path, "video/webm"), interval(0, 500))
    assert "no video" in str(caught.value)


def test_parts_that_video_does_not_have(extraction: PartExtraction, film: Source) -> None:
    with pytest.raises(PartNotSupported):
        extraction.cut_part(film, parse_part("id=chapter-1", film.media_type))
