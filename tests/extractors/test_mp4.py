"""Intervals and tracks of MP4 and QuickTime films, held to what ffmpeg shows of them.

The oracle is the ffmpeg program, which heeds edit lists: a part must show the frames that the whole
shows in the interval, each at its time less the start, and sound the samples that it sounds.
"""

from __future__ import annotations

import re
import struct
import subprocess
from fractions import Fraction
from functools import cache
from pathlib import Path

import imageio_ffmpeg
import pytest
from hypothesis import given
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
from perdure.extractors.film.sample_table import Runs
from perdure.extractors.port import Part, Source
from perdure.parts import Interval, Track, pdi
from perdure.reading.extraction import PartExtraction

MP4, MOV = "video/mp4", "video/quicktime"
FFMPEG = imageio_ffmpeg.get_ffmpeg_exe()
RATE = 44100
SECONDS = 6
X264 = ("-c:v", "libx264", "-g", "50", "-bf", "3", "-pix_fmt", "yuv420p")
AAC = ("-c:a", "aac", "-aac_pns", "0")  # whose noise does not depend on what came before
FILMS = {
    "frames in another order": (MP4, "25", (*X264, *AAC)),
    "offsets below zero": (MP4, "25", (*X264, *AAC, "-movflags", "negative_cts_offsets+faststart")),
    "open groups": (MP4, "25", ("-c:v", "mpeg2video", "-bf", "2", "-g", "12", *AAC)),
    "a rate of fractions": (MOV, "24000/1001", (*X264, "-c:a", "pcm_s16le")),
    "H.265": (MP4, "25", ("-c:v", "libx265", "-x265-params", "log-level=0:keyint=40", *AAC)),
    "without edits": (MP4, "25", ("-c:v", "mpeg4", "-g", "30", *AAC, "-use_editlist", "0")),
    "each frame alone": (MOV, "25", ("-c:v", "mjpeg", "-c:a", "pcm_mulaw")),
    "without sound": (MP4, "10", (*X264, "-an")),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("films")


def ffmpeg(*words: str | Path) -> bytes:
    command = [FFMPEG, "-y", "-nostdin", "-v", "error", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True).stdout


def made(path: Path, rate: str, settings: tuple[str, ...]) -> Path:
    picture = f"testsrc2=s=160x120:r={rate}:d={SECONDS}"
    sound = f"aevalsrc=0.4*sin(440*t*t):s={RATE}:d={SECONDS}"
    ffmpeg("-f", "lavfi", "-i", picture, "-f", "lavfi", "-i", sound, *settings, path)
    return path


def of_file(path: Path, media_type: str = MP4) -> Source:
    return Source(path=path, length=path.stat().st_size, media_type=media_type, name=path.name)


@pytest.fixture(scope="module", params=FILMS)
def film(request: pytest.FixtureRequest, place: Path) -> Source:
    media_type, rate, settings = FILMS[request.param]
    name = f"{request.param}.{'mov' if media_type == MOV else 'mp4'}"
    return of_file(made(place / name, rate, settings), media_type)


@pytest.fixture(scope="module")
def plain(place: Path) -> Source:
    """Four seconds of video, ten frames each, in groups of five."""
    path = place / "plain.mp4"
    settings = ("-c:v", "libx264", "-g", "5", "-bf", "0", "-movflags", "faststart")
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=10:d=4", *settings, path)
    return of_file(path)


def shown(path: Path) -> list[tuple[Fraction, str]]:
    """Each frame's time and digest, as ffmpeg shows them."""
    settings = ("-fps_mode", "passthrough", "-enc_time_base", "demux", "-copyts")
    listed = ffmpeg("-i", path, "-map", "0:v", *settings, "-f", "framemd5", "-").decode()
    unit = re.search(r"#tb 0: (\S+)", listed)
    assert unit
    rows = [line.split(",") for line in listed.splitlines() if not line.startswith("#")]
    return [(int(row[2]) * Fraction(unit[1]), row[-1].strip()) for row in rows]


def sounded(path: Path) -> bytes:
    return ffmpeg("-i", path, "-map", "0:a?", "-f", "s16le", "-") if has_sound(path) else b""


whole_shown, whole_sounded = cache(shown), cache(sounded)


def has_sound(path: Path) -> bool:
    return "without sound" not in str(path) and "plain" not in str(path)


def cut(extraction: PartExtraction, film: Source, start: Fraction, end: Fraction) -> Part:
    return extraction.cut_part(film, Interval(start, end))


def saved(part: Part, film: Source, place: Path) -> Path:
    path = place / f"part of {film.path.name}"
    path.write_bytes(content(part, film))
    return path


INTERVALS = (
    *((0, 1000), (2000, 4000), (1345, 4654), (5000, 6000), (0, 6000)),
    *((40, 200), (3999, 4200), (400, 480)),  # the last: leading pictures of an open group
)


@pytest.mark.parametrize(("start", "end"), INTERVALS)
def test_exactly_what_is_shown_in_the_interval(
    extraction: PartExtraction, film: Source, place: Path, start: int, end: int
) -> None:
    """ "frames whose presentation time lies in [start, end)"  # ruling: time-range"""
    first, last = Fraction(start, 1000), Fraction(end, 1000)
    path = saved(cut(extraction, film, first, last), film, place)
    expected = [
        (time - first, digest) for time, digest in whole_shown(film.path) if first <= time < last
    ]
    found = shown(path)
    assert [digest for _, digest in found] == [digest for _, digest in expected]
    # ffmpeg counts in the track's unit, which may not hold the start exactly
    for (one, _), (two, _) in zip(found, expected, strict=True):
        assert abs(one - two) < Fraction(1, 8000)


@pytest.mark.parametrize(("start", "end"), INTERVALS)
def test_exactly_what_sounds_in_the_interval(
    extraction: PartExtraction, film: Source, place: Path, start: int, end: int
) -> None:
    first, last = -(-start * RATE // 1000), -(-end * RATE // 1000)
    if not has_sound(film.path):
        return
    part = cut(extraction, film, Fraction(start, 1000), Fraction(end, 1000))
    path = saved(part, film, place)
    found, whole = sounded(path), whole_sounded(film.path)
    assert found == whole[2 * first : 2 * last]


def test_media_are_spans_of_the_source(extraction: PartExtraction, film: Source) -> None:
    part = cut(extraction, film, Fraction(2), Fraction(3))
    assert isinstance(part.body, tuple)
    head, *spans = part.body
    assert isinstance(head, bytes)
    assert tuple(spans) == part.slices
    assert all(0 <= one.start < one.stop <= film.length for one in part.slices)
    assert content(part, film) == content(cut(extraction, film, Fraction(2), Fraction(3)), film)


def test_beyond_the_film(extraction: PartExtraction, plain: Source) -> None:
    """ "start >= end, or anything beyond the resource, is HTTP 416"  # ruling: part-range"""
    assert cut(extraction, plain, Fraction(3), Fraction(4)).length
    for start, end in ((3, Fraction(4001, 1000)), (4, 5), (9, 10), (2, 2), (3, 2)):
        with pytest.raises(PartOutOfRange):
            cut(extraction, plain, Fraction(start), Fraction(end))


def test_between_two_frames_nothing_is_shown(extraction: PartExtraction, plain: Source) -> None:
    with pytest.raises(PartOutOfRange):
        cut(extraction, plain, Fraction(101, 1000), Fraction(199, 1000))


def test_what_is_decoded_and_not_shown_is_said(extraction: PartExtraction, plain: Source) -> None:
    assert not cut(extraction, plain, Fraction(1), Fraction(2)).facts
    facts = cut(extraction, plain, Fraction(14, 10), Fraction(2)).facts
    assert facts["pre-roll"].startswith("0.400 seconds")


def test_a_part_of_a_part(extraction: PartExtraction, film: Source, place: Path) -> None:
    """The edit list of a part is one that begins in the middle, and may begin with a gap."""
    outer = saved(cut(extraction, film, Fraction(1345, 1000), Fraction(5)), film, place)
    outer = outer.rename(place / f"outer of {film.path.name}")
    part = cut(extraction, of_file(outer, film.media_type), Fraction(1), Fraction(2))
    found = shown(saved(part, of_file(outer), place))
    first, last = Fraction(2345, 1000), Fraction(3345, 1000)
    expected = [digest for time, digest in whole_shown(film.path) if first <= time < last]
    assert [digest for _, digest in found] == expected


def number(data: bytes | bytearray, kind: bytes, at: int) -> int:
    start = data.index(kind) + at
    return int.from_bytes(data[start : start + 4])


def with_edits(film: Source, edits: list[tuple[int, int]]) -> bytes:
    """A film, its contents at its end, with these edits: seconds, and where they begin in it."""
    data = bytearray(film.read_bytes())
    assert data.index(b"mdat") < data.index(b"moov")
    unit, of_track = number(data, b"mvhd", 16), number(data, b"mdhd", 16)
    delay, length = number(data, b"elst", 16), number(data, b"elst", -4)
    rows = struct.pack(">II", 0, len(edits))
    for seconds, start in edits:
        rows += struct.pack(">IiI", seconds * unit, delay + start * of_track, 1 << 16)
    start = data.index(b"elst") - 4
    data[start : start + length] = box(b"elst", rows)
    for kind in (b"edts", b"trak", b"moov"):
        start, grown = data.index(kind) - 4, number(data, kind, -4) + len(rows) + 8 - length
        data[start : start + 4] = struct.pack(">I", grown)
    return bytes(data)


@pytest.mark.parametrize(
    ("start", "end"), [(0, 2000), (500, 2000), (1600, 1900), (250, 1000), (900, 1600)]
)
def test_a_film_that_was_edited_before(
    extraction: PartExtraction, place: Path, start: int, end: int
) -> None:
    """Its third second, then its second. Where ffmpeg does not follow edits, in the middle of a
    group and after a gap, it is no oracle."""
    path = place / "plain edited.mp4"
    words = ("-c:v", "libx264", "-g", "10", "-bf", "0")
    ffmpeg("-f", "lavfi", "-i", "testsrc2=s=64x48:r=10:d=4", *words, path)
    frames = [digest for _, digest in shown(path)]
    times = [Fraction(n, 10) for n in range(20)]
    whole = zip(times, frames[20:30] + frames[10:20], strict=True)
    path.write_bytes(with_edits(of_file(path), [(1, 2), (1, 1)]))
    first, last = Fraction(start, 1000), Fraction(end, 1000)
    part = cut(extraction, of_file(path), first, last)
    found = shown(saved(part, of_file(path), place))
    assert found == [(time - first, digest) for time, digest in whole if first <= time < last]


# tracks
# ------


def test_a_track_alone(extraction: PartExtraction, place: Path) -> None:
    film = of_file(made(place / "both.mp4", "25", (*X264, *AAC)))
    part = extraction.cut_part(film, Track("track_ID", "1"))
    path = place / "video alone.mp4"
    path.write_bytes(content(part, film))
    assert shown(path) == shown(film.path)
    with pytest.raises(subprocess.CalledProcessError):
        ffmpeg("-i", path, "-map", "0:a", "-f", "null", "-")
    sound = place / "sound alone.mp4"
    sound.write_bytes(content(extraction.cut_part(film, Track("track_ID", "2")), film))
    assert sounded(sound) == sounded(film.path)
    with pytest.raises(PartNotFound) as caught:
        extraction.cut_part(film, Track("track_ID", "3"))
    assert "1 (video, avc1), 2 (audio, mp4a)" in str(caught.value)
    with pytest.raises(PartNotSupported):
        extraction.cut_part(film, Track("item_ID", "1"))


def test_what_can_be_addressed(extraction: PartExtraction, plain: Source) -> None:
    extents = {one.what: one for one in extraction.list_extents(plain)}
    assert extents["seconds"].size == 4
    assert extents["tracks"].items == ("1 (video, avc1)",)


# what others send
# ----------------


def box(kind: bytes, data: bytes, size: int | None = None) -> bytes:
    return struct.pack(">I", len(data) + 8 if size is None else size) + kind + data


HOSTILE = {
    "empty": b"",
    "zeros": bytes(1000),
    "a playlist": b"#EXTM3U\n#EXTINF:10,\nhttp://127.0.0.1:9/secret.ts\n",
    "a list of files": b"ffconcat version 1.0\nfile /etc/passwd\n",
    "no contents": box(b"ftyp", b"isom") + box(b"mdat", bytes(100)),
    "an empty contents": box(b"ftyp", b"isom") + box(b"moov", b""),
    "a box smaller than its head": box(b"ftyp", b"isom") + box(b"moov", b"", 7),
    "a box beyond the file": box(b"ftyp", b"isom") + box(b"moov", bytes(100), 1 << 30),
    "an endless row of boxes": box(b"free", b"") * 20_000,
    "boxes that are no tracks": box(b"moov", box(b"mvhd", bytes(100)) + box(b"trak", bytes(8))),
}


@pytest.mark.parametrize("data", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_no_film(extraction: PartExtraction, place: Path, data: bytes) -> None:
    with pytest.raises(Undecodable) as caught:
        cut(extraction, source(place, data, MP4), Fraction(0), Fraction(1))
    assert "b'" not in str(caught.value)  # names of boxes are told as they are read


def test_a_large_table_of_contents_is_not_read(extraction: PartExtraction, place: Path) -> None:
    path = place / "large.mp4"
    with path.open("wb") as file:
        file.write(struct.pack(">I4s", 200 << 20, b"moov"))
        file.truncate(200 << 20)
    with pytest.raises(OverBudget):
        cut(extraction, of_file(path), Fraction(0), Fraction(1))


def test_a_film_in_fragments(extraction: PartExtraction, place: Path) -> None:
    """It has no table of samples: its intervals are decoded, as those of other containers are."""
    path = place / "fragments.mp4"
    film = of_file(made(path, "25", (*X264, *AAC, "-movflags", "frag_keyframe+empty_moov")))
    assert extraction.find_place(film, Interval(Fraction(0), Fraction(1)))  # where decoders run
    start, end = Fraction(1345, 1000), Fraction(4654, 1000)
    part = cut(extraction, film, start, end)
    assert part.media_type == "video/x-matroska"
    expected = [frame for time, frame in shown(path) if start <= time < end]
    assert [frame for _, frame in shown(saved(part, film, place))] == expected
    whats = [one.what for one in extraction.list_extents(film)]
    assert whats == ["pixels, 160 x 120", "seconds", "tracks", "octets"]
    with pytest.raises(PartNotSupported, match="fragments"):  # there is no lossless way to these
        extraction.cut_part(film, Track("track_ID", "1"))


def test_a_film_that_is_cut_off(extraction: PartExtraction, plain: Source, place: Path) -> None:
    """Its contents stand in front: what is there can be cut, what is missing is an error."""
    data = plain.read_bytes(0, plain.length - 2000)
    film = source(place, data, MP4)
    assert data.index(b"moov") < data.index(b"mdat")
    with pytest.raises(Undecodable):
        cut(extraction, film, Fraction(0), Fraction(4))
    with pytest.raises(Undecodable):
        cut(extraction, source(place, plain.read_bytes(0, 300), MP4), Fraction(0), Fraction(1))


def changed(film: Source, kind: bytes, at: int, value: int) -> bytes:
    """A film with one number in a box of this kind replaced."""
    data = bytearray(film.read_bytes())
    start = data.index(kind) + 4 + at
    data[start : start + 4] = struct.pack(">I", value)
    return bytes(data)


@pytest.mark.parametrize(
    ("kind", "at", "value"),
    [
        (b"stts", 4, 0xFFFFFFFF),  # rows that are not there
        (b"stts", 8, 0xFFFFFFFF),  # more samples than sizes
        (b"stsz", 8, 0xFFFFFFF0),
        (b"stsz", 4, 0x7FFFFFFF),  # samples of 2 GiB each
        (b"stsc", 8, 7),  # the first chunk is not the first
        (b"stsc", 12, 0),  # chunks without samples
        (b"stco", 8, 0xFFFFFFF0),  # beyond the file
        (b"mvhd", 12, 0),  # no unit
        (b"mdhd", 12, 0),
        (b"mdhd", 0, 0xFF000000),  # an unknown version
        (b"url ", 0, 0),  # media in another file
        (b"elst", 4, 500),  # edits that are not there
    ],
)
def test_contents_that_lie(
    extraction: PartExtraction, plain: Source, place: Path, kind: bytes, at: int, value: int
) -> None:
    film = source(place, changed(plain, kind, at, value), MP4)
    with pytest.raises(Undecodable):
        cut(extraction, film, Fraction(0), Fraction(2))


def test_more_edits_than_anybody_makes(
    extraction: PartExtraction, plain: Source, place: Path
) -> None:
    film = source(place, changed(plain, b"elst", 4, 0xFFFFFFFF), MP4)
    with pytest.raises(OverBudget):
        cut(extraction, film, Fraction(0), Fraction(2))


@given(st.data())
def test_any_contents_are_answered(place: Path, plain: Source, data: st.DataObject) -> None:
    """A part within bounds, or an error of ours."""
    film = bytearray(plain.read_bytes())
    stop = film.index(b"mdat")
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, stop))
        film[at] = data.draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]))
    hostile = source(place, bytes(film), MP4)
    extraction = PartExtraction()
    try:
        part = cut(extraction, hostile, Fraction(1), Fraction(2))
    except PerdureError:
        return
    assert part.length is not None
    assert part.length < 3 * hostile.length
    assert all(0 <= one.start < one.stop <= hostile.length for one in part.slices)


def test_in_a_larger_file(extraction: PartExtraction, plain: Source, place: Path) -> None:
    path = place / "segment.warc"
    path.write_bytes(b"WARC/1.1\r\n" + plain.read_bytes() + b"\r\n\r\n")
    film = Source(path=path, offset=10, length=plain.length, media_type=MP4, name="x")
    part = cut(extraction, film, Fraction(1), Fraction(2))
    assert content(part, film) == content(cut(extraction, plain, Fraction(1), Fraction(2)), plain)


def test_the_syntax_of_pdis(extraction: PartExtraction, plain: Source) -> None:
    part = extraction.cut_part(plain, pdi.read_pdi_part("sec=1,3"))
    assert (str(part.selector), part.media_type) == ("sec=1,3", MP4)
    assert part.decoded is None


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(-9, 9)), max_size=8), st.data())
def test_runs_between_two_samples_have_their_numbers(
    rows: list[tuple[int, int]], data: st.DataObject
) -> None:
    """ "Yield the runs of the samples [first, last), as (count, value)." """
    numbers = [value for count, value in rows for _ in range(count)]
    first = data.draw(st.integers(0, len(numbers)))
    last = data.draw(st.integers(0, len(numbers)))
    runs = [
        *Runs([count for count, _ in rows], [value for _, value in rows]).slice_runs(first, last)
    ]
    assert all(count > 0 for count, _ in runs)
    assert [value for count, value in runs for _ in range(count)] == numbers[first:last]
