"""Pictures for viewing, beside what Pillow makes of the same image."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from tests.extractors.cutting import content, source

from perdure.extractors.image.rendering import EXTRACTOR
from perdure.parts import iiif
from perdure.reading.extraction import PartExtraction

pytest.importorskip("pyvips")
np = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")
ImageOps = pytest.importorskip("PIL.ImageOps")

WIDTH, HEIGHT = 90, 60


def gradient(mode: str = "RGB") -> Any:
    """No two pixels of it are alike."""
    picture = Image.new("RGB", (WIDTH, HEIGHT))
    picture.putdata([(2 * x, 4 * y, 255 - x - y) for y in range(HEIGHT) for x in range(WIDTH)])
    return picture.convert(mode)


def saved(picture: Any, format: str = "png", **more: Any) -> bytes:
    data = io.BytesIO()
    picture.save(data, format, **more)
    return data.getvalue()


def rendered(
    extraction: PartExtraction, place: Path, data: bytes, text: str, kind: str = "image/png"
) -> Any:
    image = source(place, data, kind)
    part = extraction.cut_part(image, iiif.read_picture(text, 3))
    assert part.media_type == iiif.FORMATS[text.rpartition(".")[2]]
    return Image.open(io.BytesIO(content(part, image)))


def same(one: Any, other: Any) -> bool:
    return one.size == other.size and bool(
        (np.asarray(one.convert("RGB")) == np.asarray(other.convert("RGB"))).all()
    )


@pytest.mark.parametrize("orientation", range(1, 9))
def test_what_is_shown_is_upright(
    extraction: PartExtraction, tmp_path: Path, orientation: int
) -> None:
    picture = gradient()
    notes = Image.Exif()
    notes[274] = orientation
    data = saved(picture, exif=notes)
    upright = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    found = rendered(extraction, tmp_path, data, "7,11,30,20/max/0/default.png")
    assert same(found, upright.crop((7, 11, 37, 31)))
    assert 274 not in found.getexif()
    whole = rendered(extraction, tmp_path, data, "full/max/0/default.png")
    assert same(whole, upright)


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        ("90", lambda one: one.rotate(-90, expand=True)),
        ("180", lambda one: one.rotate(180)),
        ("270", lambda one: one.rotate(90, expand=True)),
        ("!0", ImageOps.mirror),
        ("!90", lambda one: ImageOps.mirror(one).rotate(-90, expand=True)),
    ],
)
def test_turns(extraction: PartExtraction, tmp_path: Path, turn: str, expected: Any) -> None:
    """ "mirrored by reflection on the vertical axis before any rotation" (section 4.3)"""
    found = rendered(extraction, tmp_path, saved(gradient()), f"full/max/{turn}/default.png")
    assert same(found, expected(gradient()))


def test_a_turn_by_any_angle_leaves_corners_transparent(
    extraction: PartExtraction, tmp_path: Path
) -> None:
    """ "no additional space between the corners of the rotated image contents and the bounding
    box" (section 4.3)"""
    found = rendered(extraction, tmp_path, saved(gradient()), "full/max/45/default.png")
    assert found.mode == "RGBA"
    assert found.width == pytest.approx((WIDTH + HEIGHT) / 2**0.5, abs=2)
    assert found.getpixel((0, 0))[3] == 0
    assert found.getpixel((found.width // 2, found.height // 2))[3] == 255
    white = rendered(extraction, tmp_path, saved(gradient()), "full/max/45/default.jpg")
    assert min(white.getpixel((0, 0))) > 245


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA", "P", "1", "CMYK", "I;16"])
@pytest.mark.parametrize("format", list(iiif.FORMATS))
@pytest.mark.parametrize("quality", iiif.QUALITIES)
def test_every_kind_of_image_in_every_format(
    extraction: PartExtraction, tmp_path: Path, mode: str, format: str, quality: str
) -> None:
    picture = gradient("L").convert(mode) if mode == "I;16" else gradient(mode)
    data = saved(picture, "tiff" if mode == "CMYK" else "png")
    kind = "image/tiff" if mode == "CMYK" else "image/png"
    found = rendered(extraction, tmp_path, data, f"full/45,30/0/{quality}.{format}", kind)
    assert found.format == {"jpg": "JPEG", "tif": "TIFF"}.get(format, format.upper())
    assert found.size == (45, 30)
    pixels = np.asarray(found.convert("RGB")).astype(int)
    if quality in ("gray", "bitonal"):
        spread = pixels.max(axis=2) - pixels.min(axis=2)
        assert spread.max() <= 4
    if quality == "bitonal" and format in ("png", "tif", "gif"):
        assert set(np.unique(pixels)) <= {0, 255}


def test_scaling_is_about_what_pillow_does(extraction: PartExtraction, tmp_path: Path) -> None:
    found = rendered(extraction, tmp_path, saved(gradient()), "full/45,20/0/default.png")
    expected = gradient().resize((45, 20), Image.Resampling.LANCZOS)
    difference = np.asarray(found).astype(int) - np.asarray(expected).astype(int)
    assert abs(difference).mean() < 2


@pytest.mark.parametrize(
    ("format", "more"),
    [("png", {}), ("jpeg", {"quality": 95}), ("tiff", {"compression": "tiff_lzw"})],
)
def test_an_image_too_large_to_keep_is_scaled_while_it_is_decoded(
    extraction: PartExtraction, tmp_path: Path, format: str, more: dict[str, Any]
) -> None:
    picture = gradient().resize((9000, 6000), Image.Resampling.BILINEAR)
    data = saved(picture, format, **more)
    text = "0,0,8999,6000/300,200/90/default.png"
    found = rendered(extraction, tmp_path, data, text, f"image/{format}")
    expected = picture.resize((300, 200)).rotate(-90, expand=True)
    difference = np.asarray(found).astype(int) - np.asarray(expected).astype(int)
    assert abs(difference).mean() < 2


def test_transparent_pixels_do_not_colour_others(
    extraction: PartExtraction, tmp_path: Path
) -> None:
    picture = Image.new("RGBA", (80, 80), (255, 0, 0, 255))
    picture.paste((0, 255, 0, 0), (41, 0, 80, 80))
    found = rendered(extraction, tmp_path, saved(picture), "full/8,8/0/default.png")
    assert all(found.getpixel((x, 4))[1] < 8 for x in range(8) if found.getpixel((x, 4))[3])


@pytest.mark.parametrize("format", list(iiif.FORMATS))
def test_two_colours(extraction: PartExtraction, tmp_path: Path, format: str) -> None:
    """ "each pixel is either black or white" (section 4.4)"""
    picture = Image.new("RGB", (64, 32), (0, 90, 160))
    picture.paste((200, 180, 40), (32, 0, 64, 32))
    found = rendered(extraction, tmp_path, saved(picture), f"full/max/0/bitonal.{format}")
    dark, light = (found.convert("L").getpixel((x, 16)) for x in (12, 52))
    assert (dark, light) == (0, 255)


def test_the_same_picture_is_the_same_file(extraction: PartExtraction, tmp_path: Path) -> None:
    image = source(tmp_path, saved(gradient()), "image/png")
    for format in iiif.FORMATS:
        selector = iiif.read_picture(f"full/50,/33/default.{format}", 3)
        one, two = (content(extraction.cut_part(image, selector), image) for _ in range(2))
        assert one == two


def test_it_knows_no_part_that_a_fragment_names(extraction: PartExtraction, tmp_path: Path) -> None:
    assert EXTRACTOR.confined
    image = source(tmp_path, saved(gradient()), "image/png")
    assert all("max" not in one.syntax for one in extraction.list_extents(image))
