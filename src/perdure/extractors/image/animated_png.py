"""The frames of an animated PNG as a viewer shows them: each is composed from those before it.

Specification: PNG 3, section 11.3.6 (acTL, fcTL, fdAT).

How it works: libvips reads only the static image of a PNG. So the chunks are read here, and the
data of each frame is put behind a header of its own: that is a PNG, which libvips decodes like any
other. The frames are drawn over each other on a canvas that starts transparent, and only within the
requested rectangle. Frame 0 is the static image, which every reader of PNG shows, whether or not
the animation begins with it; if it does not, the frames of the animation are counted from 1.

Colours are mixed in integers held by doubles and rounded once, so they are the same on every
machine; the compositor of libvips computes with single precision.

What must stay true: a missing, misplaced or damaged chunk is an error. It never causes a missing
frame or a frame that looks different.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from perdure.errors.damage import AnimationDamaged, AnimationFault, ChunkSumWrong
from perdure.extractors.port import Source

SIGNATURE = b"\x89PNG\r\n\x1a\n"
_CHUNK = struct.Struct(">I4s")
_CONTROL = struct.Struct(">5I2H2B")
_SIZE = struct.Struct(">2I")
_SEQUENCE = struct.Struct(">I")
_SHARED = (b"PLTE", b"tRNS")
"""The meaning of colours, the same in every frame as in the static image."""
_DISPOSALS = (_KEPT, _CLEARED, _REVERTED) = range(3)
_BLENDINGS = (_REPLACING, _OVER) = range(2)

Corners = tuple[int, int, int, int]
"""Left, top, right and bottom in pixels; right and bottom are exclusive."""


class AnimationStep(NamedTuple):
    """A frame as the file stores it: a rectangle, and how to draw it."""

    box: Corners
    disposal: int
    """What happens to its rectangle before the next frame is drawn."""
    blending: int
    data: list[memoryview]
    """Compressed pixels."""


class Animation(NamedTuple):
    """The frames of a file."""

    size: tuple[int, int]
    depth: bytes
    """The rest of the header: depth, kind of colours, compression, filter and interlacing."""
    shared: bytes
    """Chunks that each frame needs."""
    steps: tuple[AnimationStep, ...]
    starts_static: bool
    """Whether the static image is the first frame of the animation."""

    @property
    def frame_count(self) -> int:
        return len(self.steps) + (not self.starts_static)

    def list_steps(self, number: int) -> tuple[AnimationStep, ...]:
        """Return the steps that lead to a frame."""
        return self.steps[: number + self.starts_static]

    def build_file(self, step: AnimationStep) -> bytes:
        """Return a PNG with only the pixels of a step."""
        left, top, right, bottom = step.box
        head = _SIZE.pack(right - left, bottom - top) + self.depth
        data = b"".join(step.data)
        chunks = (
            _build_chunk(b"IHDR", head),
            self.shared,
            _build_chunk(b"IDAT", data),
            _build_chunk(b"IEND", b""),
        )
        return SIGNATURE + b"".join(chunks)


def read_animation(source: Source, data: memoryview) -> Animation | None:
    """Return the animation of a PNG, or None if it has none. Raises Undecodable if it
    is damaged.
    """
    chunks = _read_chunks(source, data)
    kind, head = next(chunks, (b"", memoryview(b"")))
    if kind != b"IHDR" or len(head) != 13 or not _is_animated(data):
        return None
    reader = _Reader(source, _SIZE.unpack_from(head))
    for kind, content in chunks:
        reader.take_chunk(kind, content)
    return Animation(
        size=reader.size,
        depth=bytes(head[_SIZE.size :]),
        shared=b"".join(_build_chunk(kind, bytes(one)) for kind, one in reader.shared.items()),
        steps=reader.check_steps(),
        starts_static=reader.starts_static,
    )


def _is_animated(data: memoryview) -> bool:
    """Return whether `acTL` comes before the first `IDAT`; if not, reading can stop here."""
    at = len(SIGNATURE)
    while at + _CHUNK.size <= len(data):
        length, kind = _CHUNK.unpack_from(data, at)
        if kind in (b"acTL", b"IDAT"):
            return bool(kind == b"acTL")
        at += 12 + length
    return False


class _Reader:
    """Collects the frames from a sequence of chunks."""

    def __init__(self, source: Source, size: tuple[int, int]) -> None:
        self.size = size
        self.shared: dict[bytes, memoryview] = {}
        self.steps: list[AnimationStep] = []
        self.starts_static = False
        self._source = source
        self._declared = 0
        self._sequence = 0
        self._seen_static = False

    def take_chunk(self, kind: bytes, content: memoryview) -> None:
        if kind == b"acTL":
            self._require(len(content) == 8, "header-length")
            (self._declared,) = _SEQUENCE.unpack_from(content)
        elif kind in _SHARED:
            self.shared.setdefault(kind, content)
        elif kind == b"fcTL":
            self._read_control(content)
        elif kind == b"IDAT":
            if self.steps and not self._seen_static:
                self._require(self.steps[0].box == (0, 0, *self.size), "first-frame")
                self.starts_static = True
            self._seen_static = True
            if self.starts_static:
                self.steps[0].data.append(content)
        elif kind == b"fdAT":
            self._check_sequence(content)
            self._require(bool(self.steps) and self._seen_static, "data-stray")
            self.steps[-1].data.append(content[_SEQUENCE.size :])

    def check_steps(self) -> tuple[AnimationStep, ...]:
        found = len(self.steps)
        self._require(found == self._declared, "frame-count", expected=self._declared, found=found)
        self._require(all(step.data for step in self.steps), "frame-empty")
        return tuple(self.steps)

    def _read_control(self, content: memoryview) -> None:
        self._require(len(content) == _CONTROL.size, "control-length")
        self._check_sequence(content)
        _, width, height, left, top, _, _, disposal, blending = _CONTROL.unpack(content)
        right, bottom = left + width, top + height
        fits = left < right <= self.size[0] and top < bottom <= self.size[1]
        self._require(fits, "frame-outside")
        known = disposal in _DISPOSALS and blending in _BLENDINGS
        self._require(known, "frame-unknown")
        self._require(self._seen_static or not self.steps, "frame-early")
        self.steps.append(AnimationStep((left, top, right, bottom), disposal, blending, []))

    def _check_sequence(self, content: memoryview) -> None:
        self._require(len(content) >= _SEQUENCE.size, "number-missing")
        in_order = _SEQUENCE.unpack_from(content)[0] == self._sequence
        self._require(in_order, "chunk-missing", expected=self._sequence)
        self._sequence += 1

    def _require(
        self,
        holds: bool,
        fault: AnimationFault,
        *,
        expected: int | None = None,
        found: int | None = None,
    ) -> None:
        if not holds:
            raise AnimationDamaged(
                **self._source.subject, fault=fault, expected=expected, found=found
            )


def _read_chunks(source: Source, data: memoryview) -> Iterator[tuple[bytes, memoryview]]:
    """Yield the kind and content of every chunk. For chunks that libvips does not read, check the
    sum.
    """
    at = len(SIGNATURE)
    kind = b""
    while kind != b"IEND":
        if at + 12 > len(data):
            raise AnimationDamaged(**source.subject, fault="end-missing")
        length, kind = _CHUNK.unpack_from(data, at)
        start = at + _CHUNK.size
        at = start + length + 4
        if at > len(data):
            raise AnimationDamaged(**source.subject, fault="chunk-cut-off")
        if kind not in (b"IDAT", b"IEND"):
            (wanted,) = _SEQUENCE.unpack_from(data, at - 4)
            if zlib.crc32(data[start - 4 : at - 4]) != wanted:
                raise ChunkSumWrong(**source.subject, chunk=kind.decode("latin-1"))
        yield kind, data[start : at - 4]


def _build_chunk(kind: bytes, content: bytes) -> bytes:
    named = kind + content
    return _SEQUENCE.pack(len(content)) + named + _SEQUENCE.pack(zlib.crc32(named))


# composing
# ---------


def compose_frame(
    animation: Animation, number: int, box: Corners, static: Any, load: Callable[[bytes], Any]
) -> Any:
    """Return the pixels of a box of a frame, with transparency: a `pyvips.Image` in memory.

    `load` opens a PNG; `static` is the static image, whose header holds the properties of all
    frames. Raises `pyvips.Error` if a frame is damaged.
    """
    left, top, right, bottom = box
    canvas = _make_transparent(static, right - left, bottom - top)
    for step in animation.list_steps(number):
        before = shown = canvas
        x, y, beyond_x, beyond_y = _intersect_boxes(step.box, box)
        if x >= beyond_x or y >= beyond_y:
            continue
        width, height = beyond_x - x, beyond_y - y
        at = x - left, y - top
        file = animation.build_file(step)  # libvips reads it until `copy_memory`
        pixels = _add_alpha(load(file)).crop(x - step.box[0], y - step.box[1], width, height)
        if step.blending == _OVER:
            pixels = _blend_over(pixels, canvas.crop(*at, width, height))
        canvas = canvas.insert(pixels, *at).copy_memory()
        shown = canvas
        if step.disposal == _CLEARED:
            canvas = canvas.insert(_make_transparent(static, width, height), *at).copy_memory()
        elif step.disposal == _REVERTED:
            canvas = before
    return shown


def _intersect_boxes(one: Corners, other: Corners) -> Corners:
    return (
        max(one[0], other[0]),
        max(one[1], other[1]),
        min(one[2], other[2]),
        min(one[3], other[3]),
    )


def _add_alpha(pixels: Any) -> Any:
    return pixels if pixels.hasalpha() else pixels.addalpha()


def _make_transparent(static: Any, width: int, height: int) -> Any:
    """Return fully transparent pixels with the colour profile of the static image."""
    like = _add_alpha(static)
    empty = like.new_from_image([0] * like.bands).crop(0, 0, 1, 1)
    empty = empty.embed(0, 0, width, height).copy_memory()
    profile = "icc-profile-data"
    if static.get_typeof(profile):
        empty.set_type(static.get_typeof(profile), profile, static.get(profile))
    return empty


def _blend_over(above: Any, below: Any) -> Any:
    """Blend `above` over `below` (PNG 3, "Alpha channel processing")."""
    most = 65535 if above.format == "ushort" else 255
    last = above.bands - 1
    cover = above[last].cast("double") * most
    rest = below[last].cast("double") * (most - above[last].cast("double"))
    total = cover + rest
    colours = (above[:last].cast("double") * cover + below[:last].cast("double") * rest) / total
    mixed = colours.bandjoin(total / most)
    return (mixed + 0.5).floor().cast(above.format).copy(interpretation=above.interpretation)
