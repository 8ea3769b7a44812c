"""Rectangles and frames of images, pixel for pixel those that Pillow sees in the same file."""

from __future__ import annotations

import hashlib
import io
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from perdure.errors import (
    OverBudget,
    PartNotFound,
    PartNotSupported,
    PartOutOfRange,
    PerdureError,
    Undecodable,
)
from perdure.extractors.confined import Budget, Confined
from perdure.extractors.image.rectangle import EXTRACTOR
from perdure.extractors.port import Part, Source
from perdure.parts import Media, Rect, parse_part, pdi
from perdure.parts.selectors import Area
from perdure.reading.extraction import PartExtraction

pyvips = pytest.importorskip("pyvips")
np = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")
ImageCms = pytest.importorskip("PIL.ImageCms")

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
YOSEMITE = CORPUS / "yosemite-valley-l.gif"
BEFORE, AFTER = b"what comes before it\r\n", b"\r\nand after"
WIDTH, HEIGHT = 120, 90
BOX = Rect(10, 20, 57, 83)


def source(place: Path, data: bytes, media_type: str) -> Source:
    """A source inside a bigger file, as in an archive."""
    digest = hashlib.sha512(data).hexdigest()
    path = place / digest[:16]
    path.write_bytes(BEFORE + data + AFTER)
    return Source(
        path=path,
        offset=len(BEFORE),
        length=len(data),
        media_type=media_type,
        sha512=digest,
        name="it",
    )


def picture(mode: str = "RGB", seed: int = 1, size: tuple[int, int] = (WIDTH, HEIGHT)) -> Any:
    """Colours that run into each other, and some noise; no row or column is like another."""
    noise = np.random.default_rng(seed).integers(0, 256, (size[1] // 6, size[0] // 6, 4), np.uint8)
    image = Image.fromarray(noise, "RGBA").resize(size)
    return image.convert(mode) if "A" in mode else image.convert("RGB").convert(mode)


def encoded(image: Any, form: str, *, tile: int = 0, **how: Any) -> bytes:
    if tile:  # Pillow writes strips only
        pixels = pyvips.Image.new_from_array(np.asarray(image))
        size = {"tile": True, "tile_width": tile, "tile_height": tile}
        return bytes(pixels.tiffsave_buffer(**size, **how))
    file = io.BytesIO()
    image.save(file, form, **how)
    return file.getvalue()


def read(data: bytes) -> Any:
    return Image.open(io.BytesIO(data))


def body(part: Part) -> bytes:
    assert isinstance(part.body, tuple)
    (data,) = part.body
    assert isinstance(data, bytes)
    return data


def same(part: Part, wanted: Any) -> None:
    """The body holds these pixels, and `decoded` is their digest."""
    found = read(body(part))
    assert found.size == wanted.size
    if "A" in found.mode:  # what cannot be seen may have any colour
        found, wanted = (_visible(one.convert("RGBA")) for one in (found, wanted))
        assert (found == wanted).all()
        return
    found, wanted = np.asarray(found), np.asarray(wanted.convert(found.mode))
    assert (found == wanted).all()
    assert part.decoded is not None
    assert part.decoded.sha512 == hashlib.sha512(wanted.tobytes()).hexdigest()


def _visible(image: Any) -> Any:
    pixels = np.array(image)
    pixels[pixels[..., 3] == 0] = 0
    return pixels


def corners(box: Rect) -> tuple[int, int, int, int]:
    return box.left, box.top, box.right, box.bottom


# what is cut
# -----------


@pytest.mark.parametrize(
    ("form", "mode", "how", "gives", "decoded"),
    [
        ("PNG", "1", {}, "image/png", "gray8"),
        ("PNG", "L", {}, "image/png", "gray8"),
        ("PNG", "LA", {}, "image/png", "graya8"),
        ("PNG", "P", {}, "image/png", "rgb8"),
        ("PNG", "P", {"transparency": 3}, "image/png", "rgba8"),
        ("PNG", "RGB", {}, "image/png", "rgb8"),
        ("PNG", "RGBA", {}, "image/png", "rgba8"),
        ("JPEG", "L", {}, "image/png", "gray8"),
        ("JPEG", "RGB", {}, "image/png", "rgb8"),
        ("JPEG", "RGB", {"subsampling": 0, "quality": 95}, "image/png", "rgb8"),
        ("JPEG", "RGB", {"progressive": True}, "image/png", "rgb8"),
        ("JPEG", "CMYK", {}, "image/tiff", "cmyk8"),
        ("WEBP", "RGB", {"lossless": True}, "image/png", "rgb8"),
        ("WEBP", "RGB", {"quality": 70}, "image/png", "rgb8"),
        ("WEBP", "RGBA", {"lossless": True}, "image/png", "rgba8"),
        ("GIF", "L", {}, "image/png", "rgb8"),
        ("GIF", "P", {"interlace": True}, "image/png", "rgb8"),
        ("TIFF", "1", {}, "image/tiff", "gray8"),
        ("TIFF", "1", {"compression": "group4"}, "image/tiff", "gray8"),
        ("TIFF", "L", {"compression": "packbits"}, "image/tiff", "gray8"),
        ("TIFF", "P", {}, "image/tiff", "rgb8"),
        ("TIFF", "RGB", {"compression": "tiff_lzw"}, "image/tiff", "rgb8"),
        ("TIFF", "RGB", {"compression": "tiff_adobe_deflate"}, "image/tiff", "rgb8"),
        ("TIFF", "RGB", {"tile": 32}, "image/tiff", "rgb8"),
        ("TIFF", "RGB", {"tile": 32, "compression": "deflate"}, "image/tiff", "rgb8"),
        ("TIFF", "RGBA", {}, "image/tiff", "rgba8"),
        ("TIFF", "CMYK", {}, "image/tiff", "cmyk8"),
        ("TIFF", "F", {}, "image/tiff", "grayf32le"),
        ("TIFF", "I", {}, "image/tiff", "grays32le"),
    ],
)
def test_pixels_are_those_of_the_file(
    extraction: PartExtraction,
    tmp_path: Path,
    form: str,
    mode: str,
    how: dict[str, Any],
    gives: str,
    decoded: str,
) -> None:
    """Ruling rect-frame: "in the image's own format where that is lossless …, else as PNG"."""
    data = encoded(picture(mode), form, **how)
    part = extraction.cut_part(source(tmp_path, data, f"image/{form.lower()}"), BOX)
    assert part.media_type == gives
    assert part.decoded is not None
    assert part.decoded.form == f"{decoded} 47x63"
    same(part, read(data).crop(corners(BOX)))


@pytest.mark.parametrize("form", ["PNG", "TIFF"])
def test_samples_of_sixteen_bits(extraction: PartExtraction, tmp_path: Path, form: str) -> None:
    samples = np.random.default_rng(16).integers(0, 65536, (HEIGHT, WIDTH), np.uint16)
    data = encoded(Image.fromarray(samples), form)
    part = extraction.cut_part(source(tmp_path, data, f"image/{form.lower()}"), BOX)
    wanted = np.ascontiguousarray(samples[BOX.top : BOX.bottom, BOX.left : BOX.right])
    assert part.decoded is not None
    assert part.decoded.form == "gray16le 47x63"
    assert part.decoded.sha512 == hashlib.sha512(wanted.astype("<u2").tobytes()).hexdigest()
    assert (np.asarray(read(body(part))) == wanted).all()


def png(width: int, height: int, bits: int, colour: int, rows: Iterator[bytes]) -> bytes:
    """A PNG of these rows (each with its filter), by the specification (PNG 3, section 5)."""
    deflate = zlib.compressobj(1)
    data = b"".join([*map(deflate.compress, rows), deflate.flush()])
    head = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def test_colours_of_sixteen_bits(extraction: PartExtraction, tmp_path: Path) -> None:
    """Pillow cannot hold these, so the file is written by hand."""
    samples = np.random.default_rng(48).integers(0, 65536, (HEIGHT, WIDTH, 3), np.uint16)
    rows = (b"\0" + row.astype(">u2").tobytes() for row in samples)
    it = source(tmp_path, png(WIDTH, HEIGHT, 16, 2, rows), "image/png")
    part = extraction.cut_part(it, BOX)
    wanted = samples[BOX.top : BOX.bottom, BOX.left : BOX.right].astype("<u2").tobytes()
    assert part.decoded is not None
    assert part.decoded.form == "rgb16le 47x63"
    assert part.decoded.sha512 == hashlib.sha512(wanted).hexdigest()
    again = extraction.cut_part(source(tmp_path, body(part), "image/png"), Rect(0, 0, 47, 63))
    assert again.decoded == part.decoded


@pytest.mark.parametrize("form", ["JPEG", "TIFF"])
def test_orientation_is_told_and_not_applied(
    extraction: PartExtraction, tmp_path: Path, form: str
) -> None:
    """Ruling rect-frame: "pixel grid of the image as stored, before any EXIF rotation"."""
    exif = Image.Exif()
    exif[0x0112] = 6
    turned, upright = encoded(picture(), form, exif=exif), encoded(picture(), form)
    part = extraction.cut_part(source(tmp_path, turned, f"image/{form.lower()}"), BOX)
    assert part.facts == {"orientation": "6, not applied"}
    same(part, read(upright).crop(corners(BOX)))
    assert read(body(part)).getexif().get(0x0112, 1) == 1


@pytest.mark.parametrize("form", ["PNG", "JPEG", "TIFF", "WEBP"])
def test_the_colour_profile_goes_with_it(
    extraction: PartExtraction, tmp_path: Path, form: str
) -> None:
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    data = encoded(picture(), form, icc_profile=profile)
    part = extraction.cut_part(source(tmp_path, data, f"image/{form.lower()}"), BOX)
    assert read(body(part)).info["icc_profile"] == profile
    same(part, read(data).crop(corners(BOX)))


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    left=st.integers(0, WIDTH + 2),
    top=st.integers(0, HEIGHT + 2),
    right=st.integers(0, WIDTH + 2),
    bottom=st.integers(0, HEIGHT + 2),
)
def test_every_rectangle(
    extraction: PartExtraction, tmp_path: Path, left: int, top: int, right: int, bottom: int
) -> None:
    """Ruling part-range: "`start >= end`, or anything beyond the resource, is HTTP 416"."""
    box = Rect(left, top, right, bottom)
    it = source(tmp_path, encoded(picture(), "PNG"), "image/png")
    if left < right <= WIDTH and top < bottom <= HEIGHT:
        same(extraction.cut_part(it, box), picture().crop(corners(box)))
        return
    with pytest.raises(PartOutOfRange, match="120 x 90 pixels"):
        extraction.cut_part(it, box)


# frames
# ------


def animation(form: str, disposal: int | None) -> bytes:
    """Frames that cover only some of the canvas, with holes."""
    frames = []
    for number in range(6):
        frame = Image.new("RGBA", (WIDTH, HEIGHT), (0, 0, 0, 0))
        patch = picture("RGB", seed=number, size=(60, 42)).convert("RGBA")
        frame.paste(patch, (7 * number, 5 * number))
        frame.paste((0, 0, 0, 0), (7 * number + 10, 5 * number + 10, 7 * number + 25, 40))
        frames.append(frame)
    how = {} if disposal is None else {"disposal": disposal}
    return encoded(frames[0], form, save_all=True, append_images=frames[1:], duration=80, **how)


@pytest.mark.parametrize("disposal", [0, 1, 2, 3])
def test_frames_of_gif_are_composed(
    extraction: PartExtraction, tmp_path: Path, disposal: int
) -> None:
    data = animation("GIF", disposal)
    it, oracle = source(tmp_path, data, "image/gif"), read(data)
    assert oracle.n_frames == 6
    for number in (5, 0, 3):
        part = extraction.cut_part(it, Rect(*corners(BOX), number))
        oracle.seek(number)
        same(part, oracle.convert("RGBA").crop(corners(BOX)))
        assert part.facts == {"frame": f"{number} of 6, counted from 0"}


def test_frames_of_webp_are_composed(extraction: PartExtraction, tmp_path: Path) -> None:
    frames = [picture("RGB", seed=number) for number in range(4)]
    data = encoded(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True)
    it = source(tmp_path, data, "image/webp")
    for number in (3, 0, 1):
        same(
            extraction.cut_part(it, Rect(*corners(BOX), number)), frames[number].crop(corners(BOX))
        )


def test_pages_of_tiff_are_frames(extraction: PartExtraction, tmp_path: Path) -> None:
    """Each has its own size."""
    pages = [picture("RGB"), picture("L", seed=2, size=(60, 180)), picture("CMYK", seed=3)]
    data = encoded(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    it = source(tmp_path, data, "image/tiff")
    same(extraction.cut_part(it, Rect(0, 100, 60, 180, 1)), pages[1].crop((0, 100, 60, 180)))
    same(extraction.cut_part(it, Rect(*corners(BOX), 2)), pages[2].crop(corners(BOX)))
    with pytest.raises(PartOutOfRange):
        extraction.cut_part(it, Rect(0, 100, 60, 180, 0))


@pytest.mark.parametrize(
    ("form", "media_type"), [("PNG", "image/png"), ("GIF", "image/gif"), ("JPEG", "image/jpeg")]
)
def test_no_such_frame(
    extraction: PartExtraction, tmp_path: Path, form: str, media_type: str
) -> None:
    it = source(tmp_path, encoded(picture("L"), form), media_type)
    with pytest.raises(PartNotFound, match="it has one frame, 0") as caught:
        extraction.cut_part(it, Rect(0, 0, 5, 5, 1))
    assert not isinstance(caught.value, PartOutOfRange)


@pytest.mark.corpus
def test_a_picture_of_the_time(extraction: PartExtraction) -> None:
    it = Source(
        path=YOSEMITE, length=YOSEMITE.stat().st_size, media_type="image/gif", name="yosemite"
    )
    part = extraction.cut_part(it, pdi.read_pdi_part("rect=(5,10),(25,30)"))
    with Image.open(YOSEMITE) as whole:
        same(part, whole.convert("RGB").crop((5, 10, 25, 30)))


# areas of Media Fragments
# ------------------------


@pytest.mark.parametrize(
    ("area", "box"),
    [
        (Area("pixel", 10, 20, 30, 40), (10, 20, 40, 60)),
        (Area("pixel", 100, 80, 300, 400), (100, 80, WIDTH, HEIGHT)),
        (Area("percent", 25, 50, 50, 50), (30, 45, 90, 90)),
        (Area("percent", 0, 0, 1, 1), (0, 0, 2, 1)),
        (Area("percent", 99, 99, 1, 1), (118, 89, WIDTH, HEIGHT)),
        (Area("percent", 0, 0, 100, 100), (0, 0, WIDTH, HEIGHT)),
    ],
)
def test_areas_are_clipped(
    extraction: PartExtraction, tmp_path: Path, area: Area, box: tuple[int, int, int, int]
) -> None:
    """Media Fragments 1.0, 4.2.2 and 6.2.2: what lies outside is cut off. The part is named by
    the pixels that it has.
    """
    it = source(tmp_path, encoded(picture(), "PNG"), "image/png")
    part = extraction.cut_part(it, Media(area=area))
    left, top, right, bottom = box
    assert str(part.selector) == f"xywh={left},{top},{right - left},{bottom - top}"
    same(part, picture().crop(box))
    assert body(extraction.cut_part(it, part.selector)) == body(part)


def test_an_area_outside(extraction: PartExtraction, tmp_path: Path) -> None:
    it = source(tmp_path, encoded(picture(), "PNG"), "image/png")
    with pytest.raises(PartOutOfRange):
        extraction.cut_part(it, Media(area=Area("pixel", WIDTH, 0, 10, 10)))


@pytest.mark.parametrize("text", ["t=1,2", "track=1", "id=a", "t=1,2&xywh=0,0,5,5"])
def test_images_have_no_time_and_no_tracks(
    extraction: PartExtraction, tmp_path: Path, text: str
) -> None:
    it = source(tmp_path, encoded(picture(), "PNG"), "image/png")
    with pytest.raises(PartNotSupported):
        extraction.cut_part(it, parse_part(text, "image/png"))


# what does harm
# --------------


def test_it_is_confined() -> None:
    assert EXTRACTOR.confined


@pytest.mark.parametrize("form", ["PNG", "JPEG", "GIF", "WEBP", "TIFF"])
def test_truncated(extraction: PartExtraction, tmp_path: Path, form: str) -> None:
    """Damage is an error, never black pixels."""
    data = encoded(picture(size=(600, 600)), form)
    it = source(tmp_path, data[: len(data) // 2], f"image/{form.lower()}")
    with pytest.raises(Undecodable):
        extraction.cut_part(it, Rect(500, 500, 600, 600))


@pytest.mark.parametrize(
    "how",
    [
        {"compression": "tiff_adobe_deflate"},
        {"compression": "tiff_lzw"},
        {"compression": "deflate", "tile": 32},
        {"compression": "lzw", "tile": 32},
    ],
)
def test_damaged_within(extraction: PartExtraction, tmp_path: Path, how: dict[str, Any]) -> None:
    data = encoded(picture(size=(600, 600)), "TIFF", **how)
    third = len(data) // 3
    noise = np.random.default_rng(7).bytes(third)
    it = source(tmp_path, data[:third] + noise + data[2 * third :], "image/tiff")
    with pytest.raises(Undecodable):
        extraction.cut_part(it, Rect(0, 0, 600, 600))


def test_tags_that_nobody_knows_do_no_harm(extraction: PartExtraction, tmp_path: Path) -> None:
    data = encoded(picture(), "TIFF", tiffinfo={65000: "what is this?", 306: "not a date"})
    same(
        extraction.cut_part(source(tmp_path, data, "image/tiff"), BOX), picture().crop(corners(BOX))
    )


@pytest.mark.parametrize("media_type", ["png", "jpeg", "gif", "webp", "tiff"])
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0" * 100,
        b'<svg xmlns="http://www.w3.org/2000/svg" width="90" height="90"><rect/></svg>',
        b"P5 90 90 255\n" + b"\0" * 8100,
        encoded(picture(), "BMP"),
    ],
    ids=["empty", "zeros", "svg", "pgm", "bmp"],
)
def test_not_what_it_says(
    extraction: PartExtraction, tmp_path: Path, media_type: str, data: bytes
) -> None:
    with pytest.raises(Undecodable):
        extraction.cut_part(source(tmp_path, data, f"image/{media_type}"), Rect(0, 0, 9, 9))


def test_another_format_than_it_says(extraction: PartExtraction, tmp_path: Path) -> None:
    forms = ("PNG", "JPEG", "GIF", "WEBP", "TIFF")
    for form in forms:
        data = encoded(picture(), form)
        for other in set(forms) - {form}:
            with pytest.raises(Undecodable):
                extraction.cut_part(source(tmp_path, data, f"image/{other.lower()}"), BOX)


def test_a_bomb_is_refused_by_its_header(extraction: PartExtraction, tmp_path: Path) -> None:
    """A PNG of 40,000 x 40,000 in some hundred kilobytes: 1.6 Gigapixels."""
    rows = (bytes(5001) for _ in range(40_000))
    data = png(40_000, 40_000, 1, 0, rows)
    assert len(data) < 1_000_000
    it = source(tmp_path, data, "image/png")
    for box in (Rect(0, 0, 9, 9), Rect(39_990, 39_990, 40_000, 40_000)):
        with pytest.raises(OverBudget, match="1600000000 pixels"):
            extraction.cut_part(it, box)


@pytest.mark.parametrize("mode", ["L", "P"])
def test_more_than_one_part_may_have(extraction: PartExtraction, tmp_path: Path, mode: str) -> None:
    """A palette of a GIF, or gray: pixels that would take more than 128 MiB."""
    data = encoded(Image.new(mode, (12_000, 12_000)), "PNG")
    it = source(tmp_path, data, "image/png")
    with pytest.raises(OverBudget):
        extraction.cut_part(it, Rect(0, 0, 12_000, 12_000))
    assert extraction.cut_part(it, Rect(11_990, 11_990, 12_000, 12_000)).media_type == "image/png"


def test_a_process_that_runs_out_of_memory_harms_none(tmp_path: Path) -> None:
    extraction = PartExtraction(confined=Confined(most=1, budget=Budget(memory=90 << 20)))
    big = source(tmp_path, encoded(Image.new("RGB", (6_000, 6_000)), "PNG"), "image/png")
    small = source(tmp_path, encoded(picture(), "PNG"), "image/png")
    with pytest.raises((OverBudget, Undecodable)):
        extraction.cut_part(big, Rect(0, 0, 6_000, 6_000))
    same(extraction.cut_part(small, BOX), picture().crop(corners(BOX)))
    extraction.close()


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    form=st.sampled_from(["PNG", "JPEG", "GIF", "WEBP", "TIFF"]),
    damage=st.lists(st.tuples(st.floats(0, 0.999), st.integers(0, 255)), min_size=1, max_size=4),
)
def test_damage_is_an_error_of_ours_or_none(
    extraction: PartExtraction, tmp_path: Path, form: str, damage: list[tuple[float, int]]
) -> None:
    data = bytearray(encoded(picture("RGB"), form))
    for where, value in damage:
        data[int(where * len(data))] = value
    it = source(tmp_path, bytes(data), f"image/{form.lower()}")
    try:
        part = extraction.cut_part(it, Rect(0, 0, 30, 30))
    except PerdureError as error:
        assert isinstance(error, Undecodable | OverBudget | PartOutOfRange)  # noqa: PT017
    else:
        assert read(body(part)).size == (30, 30)


# the same for ever
# -----------------


def test_the_same_octets_from_every_process(tmp_path: Path) -> None:
    found = set()
    it = source(tmp_path, animation("GIF", 2), "image/gif")
    for _ in range(2):
        extraction = PartExtraction()
        for _ in range(2):
            part = extraction.cut_part(it, Rect(*corners(BOX), 2))
            found.add((body(part), part.decoded))
        extraction.close()
    assert len(found) == 1


def test_what_can_be_addressed(extraction: PartExtraction, tmp_path: Path) -> None:
    it = source(tmp_path, animation("GIF", 1), "image/gif")
    extents = {one.syntax: one for one in extraction.list_extents(it)}
    assert extents["rect=(0,0),(120,90)"].what == "pixels, 120 x 90"
    assert extents["xywh=0,0,120,90"].what == "pixels, 120 x 90"
    assert extents["rect=(0,0),(120,90),5"].size == 6
