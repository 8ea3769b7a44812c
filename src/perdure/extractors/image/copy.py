"""A copy in tiles of a large image that has none, from which any rectangle is cut in milliseconds.

How it works: a rectangle of a PNG, of a JPEG or of a TIFF in strips costs the decoding of all that
stands above it. Where that is much, and is asked for again or is to be prepared, the image is
decoded once into a TIFF of uncompressed tiles, which is kept as an index: it is as large as the
pixels are, so that what it takes is known before, and making it takes little longer than decoding.

What must stay true: what is cut from the copy is what would have been cut from the image, with all
that the image notes beside its pixels (profile, orientation, resolution).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from perdure.extractors.libraries import library
from perdure.extractors.port import Indexes, Source

_KIND = "image-tiles-1"
_WORTH_IT = 20_000_000  # pixels to decode for one rectangle
_MOST = 1_250_000_000  # bytes of pixels: 20,000 x 20,000 of three octets
_TILE = 256
_FORMATS = {"uchar": 1, "ushort": 2}
_COLOURS = ("b-w", "grey16", "srgb", "rgb16", "cmyk")
"""Kinds of pixels that a TIFF gives back as they were."""


def cut_from_copy(
    image: Any,
    corners: tuple[int, int, int, int],
    *,
    source: Source,
    number: int,
    indexes: Indexes,
    load: Callable[[], Any],
) -> Any | None:
    """Left, top, right and bottom of a frame, in memory; None where there is no copy to cut from.

    `image` is the frame as it was opened, of which no pixel is read; `load` opens it again.
    Raises `pyvips.Error`.
    """
    left, top, right, bottom = corners
    size = _size(image, bottom)
    if size is None:
        return None
    data = indexes.get_large(
        source, f"{_KIND}-{number}", size, lambda path: _write(path, load(), source)
    )
    if data is None:
        return None
    pyvips = library("pyvips", "images", source)
    mapped = pyvips.Source.new_from_memory(data)
    copy = pyvips.Image.tiffload_source(mapped, access="random", fail_on="warning")
    if _kind(copy) != _kind(image):
        return None
    box = left, top, right - left, bottom - top
    # put in the place of all the pixels of `image`, it has what that notes; none of them is decoded
    return image.crop(*box).insert(copy.crop(*box), 0, 0).copy_memory()


def make_copy(
    image: Any, *, source: Source, number: int, indexes: Indexes, load: Callable[[], Any]
) -> None:
    """Makes the copy now, where it will be worth it.

    Raises Undecodable where the image is damaged anywhere, OverBudget or StorageFailed.
    """
    size = _size(image, image.height)
    if size is not None:
        indexes.make_large(
            source, f"{_KIND}-{number}", size, lambda path: _write(path, load(), source)
        )


def _size(image: Any, bottom: int) -> int | None:
    """Bytes of a copy; None where none is worth it for what lies above `bottom`, or can be."""
    size: int = image.width * image.height * image.bands * _FORMATS.get(image.format, 0)
    if image.width * bottom <= _WORTH_IT or not 0 < size <= _MOST:
        return None
    return size if image.interpretation in _COLOURS else None


def _write(path: Path, image: Any, source: Source) -> None:
    """Raises Undecodable, which is no reason not to give what stands above the damage."""
    pyvips = library("pyvips", "images", source)
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
        raise source.undecodable(str(error).strip()) from None


def _kind(image: Any) -> tuple[object, ...]:
    return image.width, image.height, image.bands, image.format, image.interpretation
