"""Tiled copies of large images without tiles, so that any rectangle is cut in milliseconds.

How it works: to cut a rectangle of a PNG, a JPEG or a TIFF in strips, everything above it must be
decoded. If that is much, and the image is requested again or prepared, it is decoded once into a
TIFF of uncompressed tiles, which is kept as an index. The copy is as large as the pixels, so its
size is known in advance, and making it takes little longer than decoding.

What must stay true: a rectangle cut from the copy equals the one cut from the image, including
everything that the image stores beside its pixels (profile, orientation, resolution).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from perdure.extractors.libraries import import_library
from perdure.extractors.port import Indexes, Source

_KIND = "image-tiles-1"
_WORTH_IT = 20_000_000  # pixels to decode for one rectangle
_MOST = 1_250_000_000  # bytes of pixels: 20,000 x 20,000 of three octets
_TILE = 256
_FORMATS = {"uchar": 1, "ushort": 2}
_COLOURS = ("b-w", "grey16", "srgb", "rgb16", "cmyk")
"""Kinds of pixels that a TIFF returns unchanged."""


def cut_from_copy(
    image: Any,
    corners: tuple[int, int, int, int],
    *,
    source: Source,
    number: int,
    indexes: Indexes,
    load: Callable[[], Any],
) -> Any | None:
    """Return left, top, right and bottom of a frame, in memory, or None if there is no copy.

    `image` is the open frame, whose pixels are not read; `load` opens it again. Raises
    `pyvips.Error`.
    """
    left, top, right, bottom = corners
    size = _estimate_size(image, bottom)
    if size is None:
        return None
    data = indexes.get_large_index(
        source, f"{_KIND}-{number}", size, lambda path: _write_tiles(path, load(), source)
    )
    if data is None:
        return None
    pyvips = import_library("pyvips", "images", source)
    mapped = pyvips.Source.new_from_memory(data)
    copy = pyvips.Image.tiffload_source(mapped, access="random", fail_on="warning")
    if _describe_pixels(copy) != _describe_pixels(image):
        return None
    box = left, top, right - left, bottom - top
    # inserted over all pixels of `image`, it gets its metadata; no pixel of `image` is decoded
    return image.crop(*box).insert(copy.crop(*box), 0, 0).copy_memory()


def make_copy(
    image: Any, *, source: Source, number: int, indexes: Indexes, load: Callable[[], Any]
) -> None:
    """Make the copy now, if it will be worth it.

    Raises Undecodable if the image is damaged anywhere, OverBudget or StorageFailed.
    """
    size = _estimate_size(image, image.height)
    if size is not None:
        indexes.make_large_index(
            source, f"{_KIND}-{number}", size, lambda path: _write_tiles(path, load(), source)
        )


def _estimate_size(image: Any, bottom: int) -> int | None:
    """Return the bytes of a copy, or None if one is impossible or not worth it for the rows above
    `bottom`.
    """
    size: int = image.width * image.height * image.bands * _FORMATS.get(image.format, 0)
    if image.width * bottom <= _WORTH_IT or not 0 < size <= _MOST:
        return None
    return size if image.interpretation in _COLOURS else None


def _write_tiles(path: Path, image: Any, source: Source) -> None:
    """Write the copy. Raises Undecodable; the rows above the damage can still be cut without a
    copy.
    """
    pyvips = import_library("pyvips", "images", source)
    try:
        image.tiffsave(
            str(path),
            compression="none",
            tile=True,
            tile_width=_TILE,
            tile_height=_TILE,
            keep="none",
        )
    except pyvips.Error as error:
        raise source.quote_decoder("libvips", error) from None


def _describe_pixels(image: Any) -> tuple[object, ...]:
    return image.width, image.height, image.bands, image.format, image.interpretation
