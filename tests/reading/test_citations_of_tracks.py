"""Verdicts on citations of tracks of films: sound as sound, subtitles as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import Clock, Desk, copy_as_new
from tests.extractors.test_film_tracks import CUES, run_ffmpeg
from tests.reading.test_citations_of_media import check, keep

from perdure.errors import PartOutOfRange
from perdure.model.verdicts import Verdict

pytest.importorskip("av")


@pytest.fixture(scope="module")
def library(pristine: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    desk = Desk(copy_as_new(pristine, tmp_path_factory.mktemp("tracks") / "r"), Clock())
    yield desk
    desk.registry.close()


@pytest.fixture(scope="module")
def names(library: Desk, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A film of four seconds, and what ffmpeg makes of its tracks."""
    place = tmp_path_factory.mktemp("film")
    cues, film = place / "cues.srt", place / "film.mkv"
    cues.write_text(CUES, encoding="utf-8")
    run_ffmpeg(
        *("-f", "lavfi", "-i", "testsrc2=s=32x24:r=5:d=4"),
        *("-f", "lavfi", "-i", "aevalsrc=0.4*sin(440*t*t):s=8000:d=4", "-i", cues),
        *("-map", "0:v", "-map", "1:a", "-map", "2:s", "-pix_fmt", "yuv420p"),
        *("-c:v", "ffv1", "-c:a", "pcm_s16le", "-c:s", "srt", film),
    )
    made = {"film": ("x-matroska", "video/x-matroska", film)}
    for name, kind, words in (
        ("sound", "audio/wav", ("-map", "0:a")),
        ("cues", "text/vtt", ("-map", "0:s")),
        ("mute", "video/x-matroska", ("-map", "0:v", "-c", "copy")),
    ):
        ending = {"sound": "wav", "cues": "vtt", "mute": "mkv"}[name]
        run_ffmpeg("-i", film, *words, place / f"{name}.{ending}")
        made[name] = (ending, kind, place / f"{name}.{ending}")
    return {
        name: keep(library, path.read_bytes(), format, kind)
        for name, (format, kind, path) in made.items()
    }


@pytest.mark.parametrize(
    ("citing", "origin", "cited", "part", "verdict", "right"),
    [
        ("sound", 0, "film", "#track=2", Verdict.VERBATIM, None),
        ("sound", 1, "film", "#t=1,2%26track%3daudio", Verdict.VERBATIM, None),
        ("sound", 0, "film", "#t=1,2%26track%3d2", Verdict.ELSEWHERE, 1),
        ("film", 0, "sound", "", Verdict.VERBATIM, None),
        ("film", 2, "sound", "#sec=2,4", Verdict.VERBATIM, None),
        ("film", 0, "sound", "#sec=2,4", Verdict.ELSEWHERE, 2),
        ("film", 0, "film", "#track=2", Verdict.VERBATIM, None),
        ("mute", 0, "sound", "", Verdict.ABSENT, None),
        ("cues", 0, "film", "#track=3", Verdict.VERBATIM, None),
        ("cues", 0, "film", "#t=0,1%26track%3d3", Verdict.VERBATIM, None),
        ("film", 0, "cues", "", Verdict.VERBATIM, None),
        ("sound", 0, "film", "", Verdict.UNVERIFIABLE, None),
    ],
)
def test_tracks(
    library: Desk,
    names: dict[str, str],
    citing: str,
    origin: int,
    cited: str,
    part: str,
    verdict: Verdict,
    right: int | None,
) -> None:
    """A track "can be cited": citations.md, "a track of sound of a film is sound"."""
    found = check(library, f"{names[citing]}@{origin}={names[cited]}{part}")
    assert found.verdict is verdict, found
    expected = None if right is None else f"{names[citing]}@{right}={names[cited]}{part}"
    assert (found.right and str(found.right)) == expected
    if verdict is Verdict.VERBATIM and citing == "film" and cited == "sound":
        assert str(found.part) == f"{names['film']}#t={origin},4%26track%3daudio"
        again = check(library, f"{names['sound']}@{origin}={found.part}")
        assert again.verdict is Verdict.VERBATIM


def test_an_origin_after_a_film_does_not_exist(library: Desk, names: dict[str, str]) -> None:
    with pytest.raises(PartOutOfRange, match="'origin 9'"):
        check(library, f"{names['film']}@9={names['sound']}")
