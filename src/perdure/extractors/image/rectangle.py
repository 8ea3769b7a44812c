"""Rectangles of images: `#(5,10),(25,30),2` of a PDI, `#xywh=5,10,20,20` elsewhere.

How it works: the frame is opened (`perdure.extractors.image.file`), the rectangle is checked
against its size, and its decoded pixels are written without loss: from a TIFF as TIFF, from
anything else as PNG, or as TIFF if PNG cannot hold the pixels, such as those of a JPEG in CMYK.
Palettes become the colours that they stand for.
# ruling: rect-frame

The part keeps the colour profile of the image. It has no other metadata, not even the orientation,
which `facts` states. The pixels themselves are digested too, row by row, samples in little-endian
order (ruling: part-digest): `rgb8 20x15` is a row of 20 pixels of three octets, fifteen times.

What must stay true: no pixel is ever changed, turned or scaled. The same part of the same bytes is
the same file, octet for octet.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

from perdure.errors import PartNotSupported, PartOutOfRange
from perdure.extractors.image.file import INSTALL, MEDIA_TYPES, Frame, PixelBox, open_frame
from perdure.extractors.port import Decoded, Extent, Indexes, Part, Source, Stream
from perdure.parts import Media, Rect, Selector, Units
from perdure.parts.selectors import Area

_TIFF = ("image/tiff", "image/x-tiff")
_COLOURS = {
    ("b-w", 1): "gray",
    ("b-w", 2): "graya",
    ("grey16", 1): "gray",
    ("grey16", 2): "graya",
    ("srgb", 3): "rgb",
    ("srgb", 4): "rgba",
    ("rgb16", 3): "rgb",
    ("rgb16", 4): "rgba",
    ("scrgb", 3): "rgb",
    ("scrgb", 4): "rgba",
    ("cmyk", 4): "cmyk",
    ("cmyk", 5): "cmyka",
    ("lab", 3): "lab",
    ("labs", 3): "lab",
}
_SAMPLES = {
    "uchar": "8",
    "char": "s8",
    "ushort": "16le",
    "short": "s16le",
    "uint": "32le",
    "int": "s32le",
    "float": "f32le",
    "double": "f64le",
    "complex": "c64le",
    "dpcomplex": "c128le",
}
FRAMES = "frames, counted from 0"
"""What the extent is that has the number of frames."""
_MOST_SIZES = 32  # frames of another size that are listed
_EFFORT = 3  # of deflate, out of 9: more would save only a few percent
_SMALL = 1 << 20  # bytes of pixels; below it, compressing takes longer than cutting from tiles


class ImageExtractor:
    """Rectangles of PNG, JPEG, GIF, WebP and TIFF, cut with libvips."""

    media_types = MEDIA_TYPES
    selectors = (Rect, Media, Units)
    confined = True
    install = INSTALL

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        if isinstance(selector, Units):
            return _list_pixels(selector, *_resolve_selector(source, selector.part), indexes)
        return _cut_part(*_resolve_selector(source, selector), indexes)

    def outline_part(self, source: Source, selector: Selector) -> Part:
        frame, kept, box = _resolve_selector(source, selector)
        frame.check_budget(box)
        return Part(
            selector=kept,
            media_type="image/tiff" if _is_written_as_tiff(frame) else "image/png",
            body=Stream(iter(())),
            facts=_list_facts(frame),
        )

    def prepare_source(self, source: Source, indexes: Indexes) -> None:
        frame = open_frame(source)
        frame.prepare_copy(indexes)
        for number in range(1, frame.frames):
            open_frame(source, number).prepare_copy(indexes)

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        frame = open_frame(source)
        width, height = frame.width, frame.height
        size = f"{width} x {height}"
        found = [
            Extent(syntax=f"rect=(0,0),({width},{height})", what=f"pixels, {size}"),
            Extent(syntax=f"xywh=0,0,{width},{height}", what=f"pixels, {size}"),
        ]
        if frame.frames > 1:
            found.append(
                Extent(
                    syntax=f"rect=(0,0),({width},{height}),{frame.frames - 1}",
                    what=FRAMES,
                    size=frame.frames,
                )
            )
            found += _list_other_sizes(source, frame)
        return tuple(found)


def _list_other_sizes(source: Source, first: Frame) -> Iterator[Extent]:
    """Yield the pixels of the next frames that have another size than the first one."""
    paged = range(1, min(first.frames, _MOST_SIZES + 1)) if source.essence in _TIFF else ()
    for number in paged:
        frame = open_frame(source, number)
        if (frame.width, frame.height) != (first.width, first.height):
            yield Extent(
                syntax=f"rect=(0,0),({frame.width},{frame.height}),{number}",
                what=f"pixels of frame {number}, {frame.width} x {frame.height}",
            )


def _resolve_selector(source: Source, selector: Selector) -> tuple[Frame, Selector, PixelBox]:
    """Return the frame that a selector addresses, the selector after clipping, and the pixels."""
    match selector:
        case Rect(left=left, top=top, right=right, bottom=bottom, frame=number):
            frame = open_frame(source, number, selector)
            if not (left < right <= frame.width and top < bottom <= frame.height):
                raise _make_out_of_range(frame, selector)  # ruling: part-range
            return frame, selector, PixelBox(left, top, right, bottom)
        case Media(time=None, area=Area() as area, tracks=(), id=None):
            frame = open_frame(source, 0, selector)
            box = _clip_area(area, frame.width, frame.height)
            if box.left >= box.right or box.top >= box.bottom:
                raise _make_out_of_range(frame, selector)
            width, height = box.right - box.left, box.bottom - box.top
            return frame, Media(area=Area("pixel", box.left, box.top, width, height)), box
    raise PartNotSupported(
        media_type=source.media_type,
        selector=str(selector),
        offered=("rect", "xywh"),
    )


def _clip_area(area: Area, width: int, height: int) -> PixelBox:
    """Return the pixels that an area touches, as far as they exist (Media Fragments 1.0, 4.2.2)."""
    right, bottom = area.x + area.width, area.y + area.height
    if area.unit == "pixel":
        return PixelBox(area.x, area.y, min(right, width), min(bottom, height))
    return PixelBox(
        area.x * width // 100,
        area.y * height // 100,
        min(-(-right * width // 100), width),
        min(-(-bottom * height // 100), height),
    )


def _make_out_of_range(frame: Frame, selector: Selector) -> PartOutOfRange:
    return PartOutOfRange(
        identifier=frame.source.name,
        selector=str(selector),
        extent=f"{frame.width} x {frame.height} pixels",
    )


def _cut_part(frame: Frame, selector: Selector, box: PixelBox, indexes: Indexes) -> Part:
    pixels = frame.read_pixels(box, indexes)
    in_tiff = _is_written_as_tiff(frame)
    raw = pixels.write_to_memory()
    data = _encode_tiff(pixels, len(raw)) if in_tiff else _encode_png(pixels)
    return Part(
        selector=selector,
        media_type="image/tiff" if in_tiff else "image/png",
        body=(bytes(data),),
        decoded=Decoded(form=_describe_form(pixels), sha512=hashlib.sha512(raw).hexdigest()),
        facts=_list_facts(frame),
    )


def _list_pixels(
    selector: Units, frame: Frame, _: Selector, box: PixelBox, indexes: Indexes
) -> Part:
    """Return the pixels themselves, of which `Decoded` has the digest."""
    pixels = frame.read_pixels(box, indexes)
    raw = bytes(pixels.write_to_memory())
    return Part(
        selector=selector,
        media_type="application/octet-stream",
        body=(raw,),
        decoded=Decoded(form=_describe_form(pixels), sha512=hashlib.sha512(raw).hexdigest()),
    )


def _is_written_as_tiff(frame: Frame) -> bool:
    return frame.source.essence in _TIFF or frame.image.interpretation == "cmyk"


def _encode_png(pixels: Any) -> bytes:
    # with a palette, differences between rows would hide repeated colours
    differences = "none" if pixels.get_typeof("palette") else "up"
    return bytes(pixels.pngsave_buffer(compression=_EFFORT, filter=differences, keep="icc"))


def _encode_tiff(pixels: Any, length: int) -> bytes:
    plain = pixels.copy()
    plain.remove("orientation")  # it would be written, whatever `keep` says
    if length < _SMALL:
        return bytes(plain.tiffsave_buffer(compression="none", keep="icc"))
    return bytes(plain.tiffsave_buffer(compression="deflate", level=_EFFORT, keep="icc"))


def _describe_form(pixels: Any) -> str:
    kind = pixels.interpretation, pixels.bands
    colours = _COLOURS.get(kind, f"{pixels.bands}-band ")
    return f"{colours}{_SAMPLES[pixels.format]} {pixels.width}x{pixels.height}"


def _list_facts(frame: Frame) -> dict[str, str]:
    facts = {}
    if frame.orientation != 1:
        facts["orientation"] = f"{frame.orientation}, not applied"
    if frame.frames > 1:
        facts["frame"] = f"{frame.number} of {frame.frames}, counted from 0"
    return facts


EXTRACTOR = ImageExtractor()
