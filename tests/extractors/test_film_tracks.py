"""Tracks of films that are cut alone: sound and subtitles, held to what ffmpeg makes of them."""

from __future__ import annotations

import html
import struct
import subprocess
from fractions import Fraction
from pathlib import Path

import imageio_ffmpeg
import pytest
from tests.extractors.cutting import content

from perdure.errors import PartNotFound, PartNotSupported, PartOutOfRange
from perdure.errors.cutting import CodingNotSupported
from perdure.errors.damage import TextAbsent
from perdure.extractors.port import Source
from perdure.parts import Media, Playback, Within, parse_part
from perdure.reading.extraction import PartExtraction

pytest.importorskip("av")

FFMPEG = imageio_ffmpeg.get_ffmpeg_exe()
RATE = 48_000
CUES = """1
00:00:00,500 --> 00:00:01,250
<i>Tom</i> & Jerry

2
00:00:02,000 --> 00:00:03,500
two lines,
<font color="red">one</font> more

"""
FILMS = {
    "film.mkv": ("video/x-matroska", ("-c:v", "libx264", "-c:a", "flac", "-c:s", "srt")),
    "ssa.mkv": ("video/x-matroska", ("-c:v", "libx264", "-c:a", "pcm_s16le", "-c:s", "ass")),
    "film.webm": ("video/webm", ("-c:v", "libvpx", "-c:a", "libopus", "-c:s", "webvtt")),
    "vorbis.webm": ("video/webm", ("-c:v", "libvpx", "-c:a", "libvorbis", "-c:s", "webvtt")),
    "film.mp4": ("video/mp4", ("-c:v", "libx264", "-c:a", "aac", "-c:s", "mov_text")),
    "film.mov": ("video/quicktime", ("-c:v", "libx264", "-c:a", "aac", "-c:s", "mov_text")),
}


def run_ffmpeg(*words: str | Path) -> bytes:
    command = [FFMPEG, "-y", "-nostdin", "-v", "error", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True).stdout


def open_file(path: Path, media_type: str) -> Source:
    return Source(path=path, length=path.stat().st_size, media_type=media_type, name=path.name)


def write_film(place: Path, name: str) -> Source:
    """Write one of `FILMS` into a directory."""
    media_type, words = FILMS[name]
    cues = place / "cues.srt"
    cues.write_text(CUES, encoding="utf-8")
    run_ffmpeg(
        *("-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=4"),
        *("-f", "lavfi", "-i", f"aevalsrc=0.4*sin(440*t*t):s={RATE}:d=4", "-i", cues),
        *("-map", "0:v", "-map", "1:a", "-map", "2:s", "-pix_fmt", "yuv420p", *words),
        place / name,
    )
    return open_file(place / name, media_type)


@pytest.fixture(scope="module")
def films(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Source]:
    """Films of four seconds, with a track of video, one of sound and one of subtitles."""
    place = tmp_path_factory.mktemp("films")
    return {name: write_film(place, name) for name in FILMS}


def cut_text(extraction: PartExtraction, film: Source, text: str) -> tuple[str, bytes]:
    part = extraction.cut_part(film, parse_part(text, film.media_type))
    return part.media_type, content(part, film)


def decode_whole(film: Source, form: str) -> bytes:
    return run_ffmpeg("-i", film.path, "-map", "0:a", "-f", form, "-")


@pytest.mark.parametrize(
    ("name", "form", "width"),
    [
        ("film.mkv", "s32le", 4),
        ("ssa.mkv", "s16le", 2),
        ("film.webm", "f32le", 4),
        ("vorbis.webm", "f32le", 4),
    ],
)
def test_a_track_of_sound_has_the_samples_that_ffmpeg_decodes(
    extraction: PartExtraction, films: dict[str, Source], name: str, form: str, width: int
) -> None:
    """ "It allows the extraction of tracks (audio, video, subtitles, etc)" (Media Fragments 1.0,
    section 4.2.3)"""
    film = films[name]
    expected = decode_whole(film, form)
    kind, whole = cut_text(extraction, film, "track=2")
    assert (kind, whole[44:]) == ("audio/wav", expected)
    assert struct.unpack_from("<HHI", whole, 20)[1:] == (1, RATE)
    assert cut_text(extraction, film, "track=audio")[1] == whole
    for start, end in ((0, 1), (2, 3), (3, 60)):
        part = extraction.cut_part(film, parse_part(f"t={start},{end}&track=2", film.media_type))
        samples = content(part, film)[44:]
        assert samples == expected[start * RATE * width : end * RATE * width]
        assert isinstance(part.selector, Media)
        assert part.selector.tracks == ("2",)
        assert part.selector.time
        stops = start + Fraction(len(samples) // width, RATE)
        assert part.selector.time.start == start
        assert part.selector.time.end == stops
        assert extraction.cut_part(film, part.selector).decoded == part.decoded


def test_sound_that_begins_later_is_named_by_its_times(
    extraction: PartExtraction, films: dict[str, Source], tmp_path: Path
) -> None:
    """ "the part's times are those of the film" """
    late = tmp_path / "late.mkv"
    run_ffmpeg(
        *("-i", films["film.mkv"].path, "-itsoffset", "1.5", "-i", films["film.mkv"].path),
        *("-map", "0:v", "-map", "1:a", "-c", "copy", late),
    )
    film = open_file(late, "video/x-matroska")
    part = extraction.cut_part(film, parse_part("t=1,2&track=2", film.media_type))
    assert isinstance(part.selector, Media)
    assert part.selector.time
    assert part.selector.time.start == Fraction(3, 2)
    assert part.selector.time.end == 2
    assert content(part, film)[44:] == decode_whole(films["film.mkv"], "s32le")[: RATE // 2 * 4]
    with pytest.raises(PartOutOfRange):
        cut_text(extraction, film, "t=0,1&track=2")


@pytest.mark.parametrize("name", ["film.mkv", "ssa.mkv", "film.webm"])
def test_a_track_of_subtitles_is_what_ffmpeg_writes(
    extraction: PartExtraction, films: dict[str, Source], name: str
) -> None:
    film = films[name]
    expected = run_ffmpeg("-i", film.path, "-map", "0:s", "-f", "webvtt", "-").decode()
    kind, found = cut_text(extraction, film, "track=3")
    assert kind == "text/vtt"
    assert read_lines(found.decode()) == read_lines(expected)
    assert cut_text(extraction, film, "track=subtitle")[1] == found


def read_lines(text: str) -> list[str]:
    """The lines of WebVTT, which may leave out the hours. ffmpeg does not escape `&`."""
    return [html.unescape(one.replace("00:00:0", "00:0")) for one in text.splitlines() if one]


def test_cues_of_an_interval(extraction: PartExtraction, films: dict[str, Source]) -> None:
    film = films["film.mkv"]
    part = extraction.cut_part(film, parse_part("t=1,2&track=3", film.media_type))
    found = content(part, film).decode()
    assert "Tom" in found
    assert "two lines" not in found
    assert "00:00:00.500 --> 00:00:01.250" in found  # as in a file of subtitles
    assert part.facts == {"cues": "1"}
    with pytest.raises(PartNotFound, match="no cue"):
        cut_text(extraction, film, "t=1.3,1.9&track=3")
    with pytest.raises(PartOutOfRange, match=r"cues until 3\.5"):
        cut_text(extraction, film, "t=3.6,4&track=3")


@pytest.mark.parametrize("name", FILMS)
def test_the_text_of_a_film_leads_to_its_cues(
    extraction: PartExtraction, films: dict[str, Source], name: str
) -> None:
    """ "The part of a passage, read as a text of its own, contains the passage." """
    film = films[name]
    text = extraction.read_text(film)
    assert text
    assert text.text.splitlines() == ["Tom & Jerry", "two lines,", "one more"]
    at = text.text.index("one")
    (passage,) = text.list_passages(at, at + 3)
    assert str(passage.selector) == "t=2,3.5&track=3"
    assert passage.selector
    part = extraction.cut_part(film, passage.selector)
    (place := film.path.parent / f"part-{name}").write_bytes(content(part, film))
    again = extraction.read_text(open_file(place, part.media_type))
    assert again
    assert again.text.splitlines() == ["two lines,", "one more"]


def test_a_film_without_subtitles_has_no_text(
    extraction: PartExtraction, films: dict[str, Source], tmp_path: Path
) -> None:
    silent = tmp_path / "silent.mkv"
    run_ffmpeg("-i", films["film.mkv"].path, "-map", "0:v", "-c", "copy", silent)
    with pytest.raises(TextAbsent):
        extraction.read_text(open_file(silent, "video/x-matroska"))


def test_pictures_of_text_are_not_read(
    extraction: PartExtraction, films: dict[str, Source], tmp_path: Path
) -> None:
    pictures = tmp_path / "pictures.mkv"
    run_ffmpeg(
        *("-i", films["film.mkv"].path, "-map", "0:v", "-map", "0:s", "-c", "copy", pictures),
    )
    data = pictures.read_bytes().replace(b"S_TEXT/UTF8", b"S_HDMV/PGS\0")
    pictures.write_bytes(data)
    film = open_file(pictures, "video/x-matroska")
    with pytest.raises(CodingNotSupported):
        cut_text(extraction, film, "track=2")


def test_tracks_that_cannot_be_together(
    extraction: PartExtraction, films: dict[str, Source]
) -> None:
    film = films["film.mkv"]
    for text in ("track=2&track=3", "track=1&track=3", "track=2&xywh=0,0,5,5"):
        with pytest.raises(PartNotSupported):
            cut_text(extraction, film, text)


@pytest.mark.parametrize("name", ["film.mkv", "film.webm", "film.mp4", "film.mov"])
def test_a_track_of_sound_is_played(
    extraction: PartExtraction, films: dict[str, Source], name: str
) -> None:
    film = films[name]
    outer = parse_part("track=2", film.media_type)
    part = extraction.cut_part(film, Within(outer=outer, inner=Playback()))
    assert part.media_type == "audio/wav"
    expected = len(decode_whole(film, "s16le"))
    assert abs(len(content(part, film)) - 44 - expected) <= 2 * 2048  # priming of AAC


def test_a_track_of_sound_in_mp4_is_sound(
    extraction: PartExtraction, films: dict[str, Source]
) -> None:
    """RFC 4337 section 2: audio/mp4 is for files with audio and without visual content."""
    assert cut_text(extraction, films["film.mp4"], "track=2")[0] == "audio/mp4"
    assert cut_text(extraction, films["film.mp4"], "track=1")[0] == "video/mp4"
