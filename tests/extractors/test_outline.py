"""What is told of a part before it is decoded is what `extract` says of it."""

from __future__ import annotations

import io
import subprocess
from fractions import Fraction
from pathlib import Path

import imageio_ffmpeg
import pytest
from PIL import Image
from tests.extractors.cutting import content, source

from perdure.errors import OverBudget, PartNotFound, PartOutOfRange
from perdure.extractors.port import Part, Source, Stream
from perdure.parts import Crop, Interval, Media, Rect, Selector
from perdure.parts.selectors import Area
from perdure.reading.extraction import PartExtraction

pytest.importorskip("av")
pytest.importorskip("pyvips")

SECONDS = 2
FILM = ("-f", "lavfi", "-i", f"testsrc=size=64x48:rate=10:duration={SECONDS}")
SOUND = ("-f", "lavfi", "-i", f"sine=duration={SECONDS}")
MADE = {
    "flac": ("audio/flac", (*SOUND, "-f", "flac")),
    "mp3": ("audio/mpeg", (*SOUND, "-f", "mp3")),
    "ogg": ("audio/ogg", (*SOUND, "-f", "ogg")),
    "webm": ("video/webm", (*FILM, "-f", "webm")),
}


def recorded(place: Path, kind: str) -> Source:
    media_type, words = MADE[kind]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-nostdin", "-v", "error", *words, "-"]
    data = subprocess.run(command, check=True, capture_output=True).stdout
    return source(place, data, media_type)


def picture(place: Path, form: str, mode: str = "RGB", frames: int = 1) -> Source:
    file = io.BytesIO()
    image = Image.radial_gradient("L").convert(mode)
    others = [image.rotate(90 * turns) for turns in range(1, frames)]
    image.save(file, form, **({"save_all": True, "append_images": others} if others else {}))
    return source(place, file.getvalue(), f"image/{form.lower()}")


def agree(extraction: PartExtraction, it: Source, selector: Selector) -> Part:
    known, whole = extraction.outline_part(it, selector), extraction.cut_part(it, selector)
    assert isinstance(known.body, Stream)
    assert not list(known.body.chunks)
    assert known.length in (None, len(content(whole, it)))
    assert (known.selector, known.media_type) == (whole.selector, whole.media_type)
    assert (known.facts, known.charset, known.slices) == (whole.facts, whole.charset, whole.slices)
    return known


@pytest.mark.parametrize(
    ("form", "mode", "frames"),
    [("PNG", "RGB", 1), ("JPEG", "L", 1), ("JPEG", "CMYK", 1), ("GIF", "L", 3), ("TIFF", "RGB", 2)],
)
def test_images(
    extraction: PartExtraction, tmp_path: Path, form: str, mode: str, frames: int
) -> None:
    it = picture(tmp_path, form, mode, frames)
    agree(extraction, it, Rect(3, 4, 50, 60, frames - 1))
    clipped = agree(extraction, it, Media(area=Area("pixel", 200, 200, 100, 100)))
    assert str(clipped.selector) == "xywh=200,200,56,56"


@pytest.mark.parametrize("kind", ["flac", "mp3", "ogg"])
def test_sound(extraction: PartExtraction, tmp_path: Path, kind: str) -> None:
    known = agree(extraction, recorded(tmp_path, kind), Interval(Fraction(1, 3), Fraction(3, 2)))
    assert known.length is not None


def test_video(extraction: PartExtraction, tmp_path: Path) -> None:
    it = recorded(tmp_path, "webm")
    time = Interval(Fraction(1, 2), Fraction(3, 2))
    agree(extraction, it, time)
    agree(extraction, it, Crop(time, Rect(1, 2, 33, 44)))


@pytest.mark.parametrize("kind", ["flac", "mp3", "ogg", "webm"])
def test_times_that_are_not_there(extraction: PartExtraction, tmp_path: Path, kind: str) -> None:
    it = recorded(tmp_path, kind)
    with pytest.raises(PartOutOfRange):
        extraction.outline_part(it, Interval(Fraction(1), Fraction(SECONDS + 1)))


def test_pixels_that_are_not_there(extraction: PartExtraction, tmp_path: Path) -> None:
    it = picture(tmp_path, "GIF", "L", 2)
    with pytest.raises(PartOutOfRange):
        extraction.outline_part(it, Rect(0, 0, 257, 1))
    with pytest.raises(PartNotFound):
        extraction.outline_part(it, Rect(0, 0, 1, 1, 2))


def test_more_than_is_decoded_for_one_part(extraction: PartExtraction, tmp_path: Path) -> None:
    file = io.BytesIO()
    Image.new("1", (25_000, 25_000)).save(file, "PNG")
    it = source(tmp_path, file.getvalue(), "image/png")
    with pytest.raises(OverBudget):
        extraction.outline_part(it, Rect(0, 0, 1, 1))


def test_what_is_decoded_for_nobody_stays_in_use(
    extraction: PartExtraction, tmp_path: Path
) -> None:
    """An outline ends with its answer: the worker that gave it has no stream to be waited for."""
    it = recorded(tmp_path, "webm")
    for _ in range(5):
        assert isinstance(
            extraction.outline_part(it, Interval(Fraction(0), Fraction(1))).body, Stream
        )
    agree(extraction, it, Interval(Fraction(0), Fraction(1)))
