"""One frame of an image file, as pixels not yet decoded; every limit is checked before decoding.

How it works: the media type names the only loader of libvips that may read the file, over the
mapped bytes of the source. Nothing is guessed from the content, and loaders that were not written
for hostile input are blocked. The header gives the size; the cost of decoding is computed from it
and refused above a budget. Tiles of a TIFF are read as needed. All else is decoded from the top
down to the last row needed or, once an earlier request has decoded much, is cut from a copy
(`perdure.extractors.image.copy`).

Frames are counted from 0: the pages of a TIFF, and the frames of an animated GIF, WebP or PNG as
they are shown, composed from those before. libvips composes them, except for PNG, which
`perdure.extractors.image.animated_png` composes.

What must stay true: missing or undecodable data is an error, never black pixels. (Damage that still
decodes looks as it does in every viewer: neither JPEG nor bare samples have checksums.) Nothing is
remembered between files (libvips remembers by name). The grid of pixels is that of the file,
whatever orientation it states.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from perdure.errors import OverBudget, PartNotFound, Undecodable
from perdure.errors.damage import PixelsCoded
from perdure.errors.limits import MemoryUsedUp, PixelsTooMany, SamplesTooLarge
from perdure.errors.root import count_things
from perdure.extractors.image.animated_png import Animation, compose_frame, read_animation
from perdure.extractors.image.copy import cut_from_copy, make_copy
from perdure.extractors.libraries import import_library
from perdure.extractors.port import Indexes, Source
from perdure.parts import Selector

INSTALL = "perdure[images]"
_LOADERS = {
    "image/png": "pngload_source",
    "image/x-png": "pngload_source",
    "image/apng": "pngload_source",
    "image/jpeg": "jpegload_source",
    "image/jpg": "jpegload_source",
    "image/pjpeg": "jpegload_source",
    "image/gif": "gifload_source",
    "image/webp": "webpload_source",
    "image/tiff": "tiffload_source",
    "image/x-tiff": "tiffload_source",
}
MEDIA_TYPES = tuple(_LOADERS)
_PAGED = ("gifload_source", "webpload_source", "tiffload_source")
_COMPOSED = ("gifload_source", "webpload_source")

_MOST_DECODED = 500_000_000  # pixels; a PNG of 20,000 x 20,000 takes one to ten seconds
_MOST_AT_ONCE = 50_000_000  # pixels of an image that can only be decoded completely, in memory
_MOST_BYTES = 128 << 20  # of a part's pixels


class PixelBox(msgspec.Struct, frozen=True, gc=False):
    """Pixels with left <= x < right and top <= y < bottom."""

    left: int
    top: int
    right: int
    bottom: int


class Frame:
    """A frame of a file whose header has been read.

    `image` is a lazy `pyvips.Image`: reading its pixels can raise `pyvips.Error`; `pixels` reads
    them safely.
    """

    def __init__(
        self,
        source: Source,
        number: int,
        image: Any,
        frames: int,
        data: memoryview,
        animated: Animation | None = None,
    ) -> None:
        self.source = source
        self.number = number
        self.image = image
        self.frames = frames
        self._data = data  # libvips reads it while decoding, but does not keep it alive
        self._animated = animated if number else None

    @property
    def width(self) -> int:
        width: int = self.image.width
        return width

    @property
    def height(self) -> int:
        height: int = self.image.height
        return height

    @property
    def orientation(self) -> int:
        """The EXIF orientation; 1 is upright."""
        return int(self._read_note("orientation", 1))

    def read_pixels(self, box: PixelBox, indexes: Indexes) -> Any:
        """Decode the pixels of a box: a `pyvips.Image` in memory.

        Raises Undecodable if they are damaged, OverBudget before anything is decoded.
        """
        self.check_budget(box)
        if self.image.coding != "none":
            raise PixelsCoded(**self.source.subject, coding=self.image.coding)
        pyvips = _import_pyvips(self.source)
        try:
            return self._decode_pixels(pyvips, box, indexes)
        except pyvips.Error as error:
            raise _explain_failure(error, self.source) from None

    def _decode_pixels(self, pyvips: Any, box: PixelBox, indexes: Indexes) -> Any:
        loader = _LOADERS[self.source.essence]
        corners = box.left, box.top, box.right, box.bottom
        if self._animated is not None:

            def load_file(data: bytes) -> Any:
                return _load_image(pyvips, memoryview(data), loader, {})

            return compose_frame(self._animated, self.number, corners, self.image, load_file)
        if self._can_be_copied:
            cut = cut_from_copy(
                self.image,
                corners,
                source=self.source,
                number=self.number,
                indexes=indexes,
                load=self._open_again,
            )
            if cut is not None:
                return cut
        width, height = box.right - box.left, box.bottom - box.top
        return self.image.crop(box.left, box.top, width, height).copy_memory()

    def prepare_copy(self, indexes: Indexes) -> None:
        """Make the copy that boxes are cut from, if it is worth it.

        Raises Undecodable, OverBudget before anything is decoded, or StorageFailed.
        """
        if self._can_be_copied:
            self._check_bound(self.width * self.height, _MOST_DECODED)
            make_copy(
                self.image,
                source=self.source,
                number=self.number,
                indexes=indexes,
                load=self._open_again,
            )

    def _open_again(self) -> Any:
        loader = _LOADERS[self.source.essence]
        page = {"page": self.number, "n": 1} if loader in _PAGED else {}
        return _load_image(_import_pyvips(self.source), self._data, loader, page)

    @property
    def _can_be_copied(self) -> bool:
        composed = _LOADERS[self.source.essence] in _COMPOSED or self._animated is not None
        return not composed and not self._has_tiles

    @property
    def _has_tiles(self) -> bool:
        return bool(self.image.get_typeof("tile-width"))

    def check_budget(self, box: PixelBox) -> None:
        """Raise OverBudget if decoding a box would cost more than the limit."""
        area = (box.right - box.left) * (box.bottom - box.top)
        if area * self.image.bands * _count_sample_bytes(self.image) > _MOST_BYTES:
            raise SamplesTooLarge(source=self.source.name, pixels=area, most=_MOST_BYTES)
        decoded = self.width * self.height
        if self._has_tiles:
            tile = self._read_note("tile-width", 0), self._read_note("tile-height", 0)
            decoded = math.prod(
                _round_outward(*span, size)
                for span, size in zip(
                    ((box.left, box.right), (box.top, box.bottom)), tile, strict=True
                )
            )
            self._check_bound(math.prod(tile), _MOST_AT_ONCE)
        elif self._animated is not None or _LOADERS[self.source.essence] in _COMPOSED:
            self._check_bound(decoded, _MOST_AT_ONCE)
            decoded *= self.number + 1
        elif self.image.get_typeof("interlaced"):
            self._check_bound(decoded, _MOST_AT_ONCE)
        self._check_bound(decoded, _MOST_DECODED)

    def _check_bound(self, pixels: int, most: int) -> None:
        if pixels > most:
            raise PixelsTooMany(source=self.source.name, pixels=pixels, most=most)

    def _read_note(self, name: str, otherwise: int) -> int:
        return int(self.image.get(name)) if self.image.get_typeof(name) else otherwise


def open_frame(source: Source, number: int = 0, selector: Selector | str = "") -> Frame:
    """Open a frame of a source, counted from 0; only its header is read.

    Raises PartNotFound if there are fewer frames, Undecodable if the bytes are not what the media
    type says, MissingLibrary if pyvips is not installed.
    """
    pyvips = _import_pyvips(source, selector)
    loader = _LOADERS[source.essence]
    paged = loader in _PAGED
    data = source.map_bytes()
    try:
        image = _load_image(pyvips, data, loader, {"page": 0, "n": 1} if paged else {})
        frames = image.get("n-pages") if image.get_typeof("n-pages") else 1
        animated = read_animation(source, data) if loader == "pngload_source" else None
        if animated is not None:
            frames = animated.frame_count
        if number >= frames:
            extent = (
                "one frame, 0"
                if frames == 1
                else f"{count_things(frames, 'frame')}, 0 to {frames - 1}"
            )
            raise PartNotFound(identifier=source.name, selector=str(selector), extent=extent)
        if number and paged:
            image = _load_image(pyvips, data, loader, {"page": number, "n": 1})
    except pyvips.Error as error:
        raise _explain_failure(error, source) from None
    return Frame(source, number, image, frames, data, animated)


def _load_image(pyvips: Any, data: memoryview, loader: str, page: dict[str, int]) -> Any:
    read = getattr(pyvips.Image, loader)
    # if a TIFF tile cannot be inflated, libvips only warns and leaves the tile as it was
    fail_on = "warning" if loader == "tiffload_source" else "error"

    def load_with(access: str) -> Any:
        mapped = pyvips.Source.new_from_memory(data)
        return read(mapped, access=access, fail_on=fail_on, **page)

    image = load_with("sequential")
    # random access reads tiles one by one, but would decode all else to its end
    return load_with("random") if image.get_typeof("tile-width") else image


def _import_pyvips(source: Source, selector: Selector | str = "") -> Any:
    pyvips = import_library("pyvips", "images", source, selector)
    pyvips.block_untrusted_set(True)  # loaders not hardened against hostile files
    pyvips.cache_set_max(0)  # it remembers results by names, and names are reused
    pyvips.concurrency_set(1)  # one part gets one core; the other cores are for other parts
    return pyvips


def _explain_failure(error: Any, source: Source) -> Undecodable | OverBudget:
    """Translate an error of libvips, whose message lists the names of operations line by line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    reason = lines[-1] if lines else ""
    if "out of memory" in reason:
        return MemoryUsedUp(source=source.name)
    return source.quote_decoder("libvips", reason)


def _count_sample_bytes(image: Any) -> int:
    """Return the number of bytes per sample."""
    return {"uchar": 1, "char": 1, "ushort": 2, "short": 2, "dpcomplex": 16}.get(
        image.format, 8 if image.format in ("double", "complex") else 4
    )


def _round_outward(start: int, stop: int, tile: int) -> int:
    """Return the number of columns or rows in the tiles that overlap [start, stop)."""
    return (math.ceil(stop / tile) - start // tile) * tile
