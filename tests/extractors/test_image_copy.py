"""Copies in tiles of large images: when they are made, and that nothing in a part tells of them."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perdure.errors import OverBudget, StorageFailed, Undecodable
from perdure.extractors.image.rectangle import EXTRACTOR
from perdure.extractors.indexes import DirectoryIndexes
from perdure.extractors.port import Part, Source
from perdure.parts import Rect
from perdure.reading.extraction import PartExtraction

pyvips = pytest.importorskip("pyvips")
np = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")
ImageCms = pytest.importorskip("PIL.ImageCms")

SIDE = 5000
LAST = Rect(SIDE - 60, SIDE - 50, SIDE, SIDE)
PROFILE = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return tmp_path / "indexes"


@pytest.fixture
def extraction(kept: Path) -> Iterator[PartExtraction]:
    extraction = PartExtraction(indexes=kept)
    yield extraction
    extraction.close()


def source(place: Path, data: bytes, media_type: str) -> Source:
    digest = hashlib.sha512(data).hexdigest()
    path = place / digest[:16]
    path.write_bytes(data)
    return Source(path=path, length=len(data), media_type=media_type, sha512=digest, name="it")


def large(mode: str) -> Any:
    noise = np.random.default_rng(3).integers(0, 256, (SIDE // 100, SIDE // 100, 4), np.uint8)
    return (
        Image.fromarray(noise, "RGBA").resize((SIDE, SIDE), Image.Resampling.NEAREST).convert(mode)
    )


def encoded(image: Any, form: str, **how: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, form, **how)
    return file.getvalue()


def copies(kept: Path) -> list[Path]:
    """The files that are copies, whole ones."""
    return [one for one in kept.rglob("*") if one.is_file() and not one.suffix]


def same(part: Part, image: Any, box: Rect) -> None:
    assert isinstance(part.body, tuple)
    (data,) = part.body
    assert isinstance(data, bytes)
    with Image.open(io.BytesIO(data)) as found:
        wanted = image.crop((box.left, box.top, box.right, box.bottom))
        assert found.convert(wanted.mode).tobytes() == wanted.tobytes()


@pytest.mark.parametrize(
    ("form", "mode", "how"),
    [
        ("PNG", "RGB", {"icc_profile": PROFILE}),
        ("PNG", "L", {}),
        ("PNG", "P", {}),
        ("PNG", "RGBA", {}),
        ("JPEG", "RGB", {"icc_profile": PROFILE, "quality": 70}),
        ("JPEG", "CMYK", {}),
        ("TIFF", "RGB", {"compression": "tiff_adobe_deflate"}),
    ],
)
def test_every_part_is_the_same_file(
    extraction: PartExtraction,
    kept: Path,
    tmp_path: Path,
    form: str,
    mode: str,
    how: dict[str, Any],
) -> None:
    """The first is cut without a copy, the second from one that was made for it; so is another
    rectangle, though the image has gone.
    """
    how = how if form != "PNG" else {**how, "compress_level": 1}
    data = encoded(large(mode), form, **how)
    image = Image.open(io.BytesIO(data))
    it = source(tmp_path, data, f"image/{form.lower()}")
    first = extraction.cut_part(it, LAST)
    assert not copies(kept)
    second = extraction.cut_part(it, LAST)
    (copy,) = copies(kept)
    same(first, image.convert("RGB") if mode == "P" else image, LAST)
    assert second == first
    before = copy.stat()
    other = Rect(7, SIDE - 300, 900, SIDE - 7)
    same(extraction.cut_part(it, other), image.convert("RGB") if mode == "P" else image, other)
    assert copy.stat().st_mtime_ns == before.st_mtime_ns


def test_what_costs_little_has_none(extraction: PartExtraction, kept: Path, tmp_path: Path) -> None:
    it = source(tmp_path, encoded(large("L"), "PNG", compress_level=1), "image/png")
    for _ in range(3):
        extraction.cut_part(it, Rect(0, 0, 50, 50))
    assert not kept.exists()


def test_tiles_have_none(extraction: PartExtraction, kept: Path, tmp_path: Path) -> None:
    pixels = pyvips.Image.new_from_array(np.asarray(large("L")))
    tiled = bytes(pixels.tiffsave_buffer(tile=True, compression="deflate"))  # Pillow writes strips
    it = source(tmp_path, tiled, "image/tiff")
    for _ in range(3):
        extraction.cut_part(it, LAST)
    assert not kept.exists()


def test_no_copy_of_what_is_damaged(extraction: PartExtraction, kept: Path, tmp_path: Path) -> None:
    """What is above the damage is given as ever, what is below is an error as ever."""
    image = large("L")
    data = bytearray(encoded(image, "PNG", compress_level=0))
    data[-200_000] ^= 1
    it = source(tmp_path, bytes(data), "image/png")
    above = Rect(0, SIDE - 900, 90, SIDE - 800)
    for _ in range(3):
        same(extraction.cut_part(it, above), image, above)
        with pytest.raises(Undecodable):
            extraction.cut_part(it, LAST)
    assert not copies(kept)
    assert [one.stat().st_size for one in kept.rglob("*.making")] == [0]


def test_nobody_waits_for_another(extraction: PartExtraction, kept: Path, tmp_path: Path) -> None:
    """Where one process is making a copy, or was ended while it did, others do without."""
    image = large("L")
    it = source(tmp_path, encoded(image, "PNG", compress_level=1), "image/png")
    extraction.cut_part(it, LAST)
    (asked,) = kept.rglob("*.asked")
    asked.rename(asked.with_suffix(".making"))
    same(extraction.cut_part(it, LAST), image, LAST)
    assert not copies(kept)


def test_where_indexes_cannot_be_written(tmp_path: Path) -> None:
    place = tmp_path / "no-directory"
    place.write_bytes(b"")
    extraction = PartExtraction(indexes=place)
    image = large("L")
    it = source(tmp_path, encoded(image, "PNG", compress_level=1), "image/png")
    for _ in range(2):
        same(extraction.cut_part(it, LAST), image, LAST)
    extraction.close()


# made before anybody asks
# ------------------------


def test_what_is_prepared_is_there_for_the_first(
    extraction: PartExtraction, kept: Path, tmp_path: Path
) -> None:
    """The first part is cut from the copy; to prepare it again changes nothing."""
    image = large("RGB")
    it = source(tmp_path, encoded(image, "PNG", compress_level=1), "image/png")
    extraction.prepare_source(it)
    (copy,) = copies(kept)
    before = copy.stat()
    same(extraction.cut_part(it, LAST), image, LAST)
    extraction.prepare_source(it)
    assert copy.stat().st_mtime_ns == before.st_mtime_ns
    assert copies(kept) == [copy]


def test_every_page_is_prepared(extraction: PartExtraction, kept: Path, tmp_path: Path) -> None:
    """Of a TIFF in strips; pages in tiles, or small ones, have no copy."""
    first, second = large("L"), large("L").rotate(90)
    data = encoded(first, "TIFF", save_all=True, append_images=[second, first.resize((9, 9))])
    it = source(tmp_path, data, "image/tiff")
    extraction.prepare_source(it)
    assert len(copies(kept)) == 2
    for number, image in enumerate((first, second)):
        box = Rect(LAST.left, LAST.top, LAST.right, LAST.bottom, number)
        same(extraction.cut_part(it, box), image, box)


def test_what_is_damaged_cannot_be_prepared(
    extraction: PartExtraction, kept: Path, tmp_path: Path
) -> None:
    data = bytearray(encoded(large("L"), "PNG", compress_level=0))
    data[-200_000] ^= 1
    with pytest.raises(Undecodable):
        extraction.prepare_source(source(tmp_path, bytes(data), "image/png"))
    assert not copies(kept)


def test_to_prepare_what_was_begun(extraction: PartExtraction, kept: Path, tmp_path: Path) -> None:
    """What another is writing is left to it; what nobody has touched for a minute is made anew."""
    it = source(tmp_path, encoded(large("L"), "PNG", compress_level=1), "image/png")
    extraction.cut_part(it, LAST)
    (asked,) = kept.rglob("*.asked")
    making = asked.rename(asked.with_suffix(".making"))
    making.write_bytes(b"half of it")
    extraction.prepare_source(it)
    assert making.read_bytes() == b"half of it"
    os.utime(making, (0, 0))
    extraction.prepare_source(it)
    assert len(copies(kept)) == 1
    assert not making.exists()


def test_what_cannot_be_kept_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "no-directory"
    place.write_bytes(b"")
    it = source(tmp_path, encoded(large("L"), "PNG", compress_level=1), "image/png")
    with pytest.raises(StorageFailed):
        EXTRACTOR.prepare_source(it, DirectoryIndexes(place))
    nearly_full = shutil.disk_usage(tmp_path)._replace(free=SIDE * SIDE)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: nearly_full)
    with pytest.raises(OverBudget, match="free disk space"):
        EXTRACTOR.prepare_source(it, DirectoryIndexes(tmp_path / "indexes"))
    assert not list(tmp_path.glob("indexes/**/*.making"))
