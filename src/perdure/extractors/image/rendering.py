"""Images rendered for viewing: a region, scaled, turned, and encoded (IIIF Image API).

How it works: `perdure.parts.iiif` works out the pixels and their size,
`perdure.extractors.image.file` decodes them with every limit checked, and libvips does the rest in
the order of the API: region, size, rotation, quality, format. Frame 0 is shown. If a region is too
large to be decoded and then scaled, it is reduced by a whole number while it is decoded, provided
that its format is read from the top down or in tiles.

An image is rendered as a viewer shows it, unlike a rectangle cut from it
(`perdure.extractors.image.rectangle`): its orientation is applied, so positions are those of the
upright picture. Its colours are converted to sRGB with its embedded profile, eight bits each. JPEG
has no transparency and shows white instead.

What must stay true: the same picture of the same bytes is the same file, octet for octet, as long
as libvips does not change. Nothing but pixels goes into it.
"""

from __future__ import annotations

from typing import Any

import msgspec

from perdure.errors import PartNotSupported
from perdure.errors.limits import MemoryUsedUp, PixelsTooMany
from perdure.extractors.image.file import INSTALL, MEDIA_TYPES, Frame, PixelBox, open_frame
from perdure.extractors.libraries import import_library
from perdure.extractors.port import Extent, Indexes, Part, Source
from perdure.parts import Information, Rendering, Selector, View, iiif

_WHITE = 255
_MIDDLE = 128  # of gray; below it is black in two colours
_SIDEWAYS = 5  # orientations from here on swap width and height
_KNOWN_BANDS = 5  # CMYK and transparency
_WHOLE = ("image/gif", "image/webp")  # formats that can only be decoded completely
_MOST_KEPT = 20_000_000  # pixels of a region that is decoded before it is scaled
_WIDEST_SHOWN = 1024  # pixels of the longer side of a frame on a page
_MOST_DECODED = 500_000_000  # pixels of an image that is scaled while it is decoded


class RenderingExtractor:
    """Renderings of PNG, JPEG, GIF, WebP and TIFF, and the information that describes them."""

    media_types = MEDIA_TYPES
    selectors = (Rendering, Information, View)
    confined = True
    install = INSTALL

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        number = selector.number if isinstance(selector, View) else 0
        frame = open_frame(source, number, selector)
        match selector:
            case Information():
                return _describe_image(frame)
            case View(what="measures"):
                described = _describe_image(frame, count=frame.frames)
                return msgspec.structs.replace(described, selector=selector)
            case View(what="frame"):
                shown = _render_picture(frame, _choose_rendering(frame), indexes)
                return msgspec.structs.replace(shown, selector=selector)
            case Rendering():
                return _render_picture(frame, selector, indexes)
        raise PartNotSupported(media_type=source.media_type, selector=str(selector), offered=())

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        return ()  # no fragment can name a rendering


def _describe_image(frame: Frame, **more: int) -> Part:
    width, height = _upright_size(frame)
    colours = frame.image.interpretation not in ("b-w", "grey16") and frame.image.bands > 2
    known: dict[str, object] = {"width": width, "height": height, "color": colours, **more}
    if frame.orientation != 1:
        known["stored"] = _describe_grid(frame)
    return Part(
        selector=Information(),
        media_type="application/json",
        body=(msgspec.json.encode(known),),
    )


def _describe_grid(frame: Frame) -> dict[str, object]:
    """Describe the pixel grid as stored, and how places in it and in the upright picture relate.

    A matrix [a, b, c, d, e, f] maps the place (x, y) to (ax + cy + e, bx + dy + f), as in SVG.
    Places are counted in pixels from the top left corner.
    """
    start, right, down = (_locate_point(frame, *place) for place in ((0, 0), (1, 0), (0, 1)))
    a, b = right[0] - start[0], right[1] - start[1]
    c, d = down[0] - start[0], down[1] - start[1]
    e, f = start
    # The inverse of a turn or reflection is its transpose.
    back = [a, c, b, d, -(a * e + b * f), -(c * e + d * f)]
    return {
        "width": frame.width,
        "height": frame.height,
        "orientation": frame.orientation,
        "uprightToStored": [a, b, c, d, e, f],
        "storedToUpright": back,
    }


def _locate_point(frame: Frame, x: int, y: int) -> tuple[int, int]:
    """Return the place in the file of a place in the upright picture: the corner that the boxes on
    both sides of it have in common, because a box that is turned begins at another corner."""
    near = _locate_box(frame, (x, y, x + 1, y + 1))
    far = _locate_box(frame, (x - 1, y - 1, x, y))
    across = {near.left, near.right} & {far.left, far.right}
    along = {near.top, near.bottom} & {far.top, far.bottom}
    return across.pop(), along.pop()


def _render_picture(frame: Frame, asked: Rendering, indexes: Indexes) -> Part:
    pyvips = import_library("pyvips", "images", frame.source, asked)
    settled = iiif.settle_picture(asked, *_upright_size(frame), name=frame.source.name)
    box, picture = _locate_box(frame, settled.box), settled.selector
    try:
        region = _decode_box(frame, box, settled.size, indexes)
        shown = _convert_colours(_scale_pixels(region.autorot(), *settled.size))
        shown = _turn_pixels(shown, mirrored=picture.mirrored, degrees=float(picture.degrees))
        data = _encode_picture(_tone_pixels(shown, picture.quality), picture)
    except pyvips.Error as error:
        if "out of memory" in str(error):
            raise MemoryUsedUp(source=frame.source.name, part=str(picture)) from None
        reason = str(error).strip().rpartition("\n")[2]
        raise frame.source.quote_decoder("libvips", reason) from None
    return Part(selector=picture, media_type=iiif.FORMATS[picture.format], body=(bytes(data),))


def _choose_rendering(frame: Frame) -> Rendering:
    """The upright frame for a page, as JPEG."""
    width, height = _upright_size(frame)
    scale = min(_WIDEST_SHOWN / max(width, height), 1)
    across, down = (max(round(side * scale), 1) for side in (width, height))
    picture = iiif.read_picture(f"full/{across},{down}/0/default.jpg", version=3)
    assert isinstance(picture, Rendering)  # noqa: S101  (for the type checker)
    return picture


# its place in the file
# ---------------------


def _upright_size(frame: Frame) -> tuple[int, int]:
    if frame.orientation < _SIDEWAYS:
        return frame.width, frame.height
    return frame.height, frame.width


def _locate_box(frame: Frame, box: tuple[int, int, int, int]) -> PixelBox:
    """Return the place in the file of a box of the upright picture (Exif 2.32, tag 274)."""
    left, top, right, bottom = box
    width, height = frame.width, frame.height
    match frame.orientation:
        case 2:
            return PixelBox(width - right, top, width - left, bottom)
        case 3:
            return PixelBox(width - right, height - bottom, width - left, height - top)
        case 4:
            return PixelBox(left, height - bottom, right, height - top)
        case 5:
            return PixelBox(top, left, bottom, right)
        case 6:
            return PixelBox(top, height - right, bottom, height - left)
        case 7:
            return PixelBox(width - bottom, height - right, width - top, height - left)
        case 8:
            return PixelBox(width - bottom, left, width - top, right)
    return PixelBox(left, top, right, bottom)


# changes to the pixels
# ---------------------


def _decode_box(frame: Frame, box: PixelBox, size: tuple[int, int], indexes: Indexes) -> Any:
    """Return the pixels of a box, or a smaller image of the box that is still larger
    than `size`.
    """
    width, height = box.right - box.left, box.bottom - box.top
    if width * height <= _MOST_KEPT or not _can_decode_piecewise(frame):
        return frame.read_pixels(box, indexes)
    if (pixels := frame.width * frame.height) > _MOST_DECODED:
        raise PixelsTooMany(source=frame.source.name, pixels=pixels, most=_MOST_DECODED)
    across, down = size if frame.orientation < _SIDEWAYS else size[::-1]
    region = frame.image.crop(box.left, box.top, width, height)
    transparent, depth = region.hasalpha(), region.format
    flat = region.premultiply() if transparent else region
    flat = flat.shrink(max(width // across, 1), max(height // down, 1))
    return (flat.unpremultiply().cast(depth) if transparent else flat).copy_memory()


def _can_decode_piecewise(frame: Frame) -> bool:
    """Return whether the image can be decoded piece by piece, a few rows or tiles at a time."""
    if frame.source.essence in _WHOLE or frame.image.get_typeof("interlaced"):
        return False
    if frame.image.coding != "none":
        return False
    if not frame.image.get_typeof("tile-width"):
        return True
    return int(frame.image.get("tile-width")) * int(frame.image.get("tile-height")) <= _MOST_KEPT


def _scale_pixels(pixels: Any, width: int, height: int) -> Any:
    if (pixels.width, pixels.height) == (width, height):
        return pixels
    transparent = pixels.hasalpha()
    depth = pixels.format
    flat = pixels.premultiply() if transparent else pixels
    flat = flat.resize(width / pixels.width, vscale=height / pixels.height)
    if transparent:
        flat = flat.unpremultiply().cast(depth)
    # rounding may make it a pixel too short or too long
    return flat.gravity("north-west", width, height, extend="copy")


def _convert_colours(pixels: Any) -> Any:
    """Convert colours to sRGB, or to grays, with eight bits each."""
    if pixels.interpretation in ("b-w", "grey16"):
        return pixels.colourspace("b-w")
    if pixels.bands > _KNOWN_BANDS or pixels.interpretation == "multiband":
        return pixels.colourspace("srgb")
    if pixels.get_typeof("icc-profile-data") or pixels.interpretation == "cmyk":
        fallback = "cmyk" if pixels.interpretation == "cmyk" else "srgb"
        return pixels.icc_transform("srgb", embedded=True, input_profile=fallback, depth=8)
    return pixels.colourspace("srgb")


def _turn_pixels(pixels: Any, *, mirrored: bool, degrees: float) -> Any:
    shown = pixels.fliphor() if mirrored else pixels
    match degrees:
        case 0:
            return shown
        case 90 | 180 | 270:
            return shown.rot(f"d{degrees:.0f}")
    if not shown.hasalpha():
        shown = shown.bandjoin(_WHITE)
    return shown.premultiply().rotate(degrees).unpremultiply().cast("uchar")


def _tone_pixels(pixels: Any, quality: str) -> Any:
    if quality not in ("gray", "bitonal"):
        return pixels
    gray = pixels.colourspace("b-w")
    if quality == "gray":
        return gray
    return (_flatten_pixels(gray) >= _MIDDLE).copy(interpretation="b-w")


def _flatten_pixels(pixels: Any) -> Any:
    return pixels.flatten(background=_WHITE) if pixels.hasalpha() else pixels


def _encode_picture(pixels: Any, picture: Rendering) -> bytes:
    two = picture.quality == "bitonal"
    match picture.format:
        case "jpg":
            data = _flatten_pixels(pixels).jpegsave_buffer(Q=85, keep="none")
        case "png":
            data = pixels.pngsave_buffer(keep="none", compression=6, bitdepth=1 if two else 8)
        case "webp":
            data = pixels.webpsave_buffer(Q=80, keep="none")
        case "tif":
            packed = (
                {"compression": "ccittfax4", "bitdepth": 1} if two else {"compression": "deflate"}
            )
            data = pixels.tiffsave_buffer(keep="none", **packed)
        case _:
            data = pixels.gifsave_buffer(keep="none")
    return bytes(data)


EXTRACTOR = RenderingExtractor()
