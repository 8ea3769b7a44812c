"""Frames of animated PNG: those that Pillow shows, and what PNG 3 says where Pillow is silent."""

from __future__ import annotations

import hashlib
import io
import struct
import subprocess
import zlib
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from perdure.errors import OverBudget, PartNotFound, Undecodable
from perdure.extractors.port import Part, Source
from perdure.parts import Rect
from perdure.reading.extraction import PartExtraction

pytest.importorskip("pyvips")
np = pytest.importorskip("numpy")
Image = pytest.importorskip("PIL.Image")

WIDTH, HEIGHT = 48, 36
WHOLE = (0, 0, WIDTH, HEIGHT)
_NONE, _BACKGROUND, _PREVIOUS = range(3)
_SOURCE, _OVER = range(2)


def source(place: Path, data: bytes) -> Source:
    path = place / "it.png"
    path.write_bytes(data)
    return Source(path=path, length=len(data), media_type="image/png", name="it")


def shown(part: Part) -> Any:
    """The pixels of a part, in which what cannot be seen has no colour."""
    assert isinstance(part.body, tuple)
    (data,) = part.body
    assert isinstance(data, bytes)
    return _seen(Image.open(io.BytesIO(data)).convert("RGBA"))


def _seen(image: Any) -> Any:
    pixels = np.array(image)
    pixels[pixels[..., 3] == 0] = 0
    return pixels


# files, written by the specification
# -----------------------------------


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def deflated(pixels: Any) -> bytes:
    """Rows without filters, as IDAT has them."""
    return zlib.compress(b"".join(b"\0" + row.tobytes() for row in pixels))


class Drawn:
    """A rectangle of pixels with a place, and what is done with it."""

    def __init__(
        self, seed: int, box: tuple[int, int, int, int], disposal: int, blending: int
    ) -> None:
        left, top, right, bottom = self.box = box
        self.disposal, self.blending = disposal, blending
        noise = np.random.default_rng(seed)
        self.pixels = noise.integers(0, 256, (bottom - top, right - left, 4), np.uint8)
        self.pixels[..., 3] = noise.choice([0, 255, 90, 200], self.pixels.shape[:2])


def apng(frames: list[Drawn], *, static: Any = None, counted: int | None = None) -> bytes:
    """An animated PNG in RGBA; with `static`, that image comes before its frames."""
    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 6, 0, 0, 0)
    control = struct.pack(">II", len(frames) if counted is None else counted, 0)
    chunks = [chunk(b"IHDR", head), chunk(b"acTL", control)]
    number = 0
    if static is not None:
        chunks.append(chunk(b"IDAT", deflated(static)))
    for frame in frames:
        left, top, right, bottom = frame.box
        size = struct.pack(">IIIII", number, right - left, bottom - top, left, top)
        delay = struct.pack(">HHBB", 1, 10, frame.disposal, frame.blending)
        chunks.append(chunk(b"fcTL", size + delay))
        number += 1
        data = deflated(frame.pixels)
        if static is None and frame is frames[0]:
            chunks.append(chunk(b"IDAT", data))
            continue
        half = len(data) // 2
        for piece in (data[:half], data[half:]):
            chunks.append(chunk(b"fdAT", struct.pack(">I", number) + piece))
            number += 1
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks) + chunk(b"IEND", b"")


def composed(frames: list[Drawn]) -> list[Any]:
    """What is shown at each frame, by the words of PNG 3, 11.3.6.2 and 13.16, in exact numbers."""
    canvas = np.zeros((HEIGHT, WIDTH, 4), np.uint8)
    found = []
    for frame in frames:
        left, top, right, bottom = frame.box
        before = canvas.copy()
        region = canvas[top:bottom, left:right]
        for y, x in np.ndindex(region.shape[:2]):
            above = [int(one) for one in frame.pixels[y, x]]
            below = [int(one) for one in region[y, x]]
            region[y, x] = above if frame.blending == _SOURCE else _blended(above, below)
        found.append(canvas.copy())
        if frame.disposal == _BACKGROUND:
            canvas[top:bottom, left:right] = 0
        elif frame.disposal == _PREVIOUS:
            canvas = before
    return found


def _blended(above: list[int], below: list[int]) -> list[int]:
    cover, rest = above[3] * 255, below[3] * (255 - above[3])
    total = cover + rest
    if not total:
        return [0, 0, 0, 0]
    colours = [
        (2 * (one * cover + other * rest) + total) // (2 * total)
        for one, other in zip(above[:3], below[:3], strict=True)
    ]
    return [*colours, (2 * total + 255) // 510]


BOXES = (WHOLE, (5, 3, 30, 20), (10, 0, WIDTH, 30), (0, 30, 20, HEIGHT), (20, 10, 40, 25))


def every_way() -> list[Drawn]:
    ways = list(product((_NONE, _BACKGROUND, _PREVIOUS), (_SOURCE, _OVER)))
    return [
        Drawn(seed, WHOLE if seed == 0 else BOXES[seed % len(BOXES)], *ways[seed % len(ways)])
        for seed in range(13)
    ]


# what is shown
# -------------


def test_frames_are_composed(extraction: PartExtraction, tmp_path: Path) -> None:
    """All ways to dispose and to blend, over each other, half of it through transparency."""
    frames = every_way()
    it = source(tmp_path, apng(frames))
    for number, wanted in enumerate(composed(frames)):
        part = extraction.cut_part(it, Rect(*WHOLE, number))
        assert (shown(part) == _seen(wanted)).all(), number
        assert part.facts == {"frame": f"{number} of 13, counted from 0"}


def test_a_rectangle_is_that_of_the_whole(extraction: PartExtraction, tmp_path: Path) -> None:
    frames = every_way()
    it = source(tmp_path, apng(frames))
    box = Rect(7, 15, 35, 33, 11)
    wanted = composed(frames)[11][box.top : box.bottom, box.left : box.right]
    assert (shown(extraction.cut_part(it, box)) == _seen(wanted)).all()


def test_a_static_image_before_the_animation(extraction: PartExtraction, tmp_path: Path) -> None:
    """PNG 3, 11.3.6.1: "the static image is not part of the animation": frame 0 here, as every
    reader of PNG shows it; those of the animation follow.
    """
    static, frames = Drawn(99, WHOLE, _NONE, _SOURCE).pixels, every_way()[:3]
    it = source(tmp_path, apng(frames, static=static))
    assert (shown(extraction.cut_part(it, Rect(*WHOLE))) == _seen(static)).all()
    for number, wanted in enumerate(composed(frames), 1):
        assert (shown(extraction.cut_part(it, Rect(*WHOLE, number))) == _seen(wanted)).all()
    with pytest.raises(PartNotFound, match="4 frames, 0 to 3"):
        extraction.cut_part(it, Rect(*WHOLE, 4))


def animation(mode: str, disposal: int, blending: int) -> bytes:
    """By Pillow: five frames, of which nothing is half seen, for that is rounded in many ways."""
    frames = []
    for number in range(5):
        patch = Image.fromarray(Drawn(number, (0, 0, 20, 15), 0, 0).pixels, "RGBA").convert("RGB")
        frame = Image.new("RGBA", (WIDTH, HEIGHT), (0, 0, 0, 0) if mode == "RGBA" else "navy")
        frame.paste(patch, (6 * number, 4 * number))
        frames.append(frame.convert(mode))
    file = io.BytesIO()
    how = {"disposal": disposal, "blend": blending, "duration": 80}
    frames[0].save(file, "PNG", save_all=True, append_images=frames[1:], **how)
    return file.getvalue()


@pytest.mark.parametrize("blending", [_SOURCE, _OVER])
@pytest.mark.parametrize("mode", ["RGBA", "RGB", "L", "P"])
def test_pillow_shows_the_same(
    extraction: PartExtraction, tmp_path: Path, mode: str, blending: int
) -> None:
    """In every kind of colour."""
    data = animation(mode, _NONE, blending)
    it, oracle = source(tmp_path, data), Image.open(io.BytesIO(data))
    for number in range(5):
        oracle.seek(number)
        wanted = _seen(oracle.convert("RGBA"))
        assert (shown(extraction.cut_part(it, Rect(*WHOLE, number))) == wanted).all(), number


@pytest.mark.parametrize("blending", [_SOURCE, _OVER])
@pytest.mark.parametrize("disposal", [_NONE, _BACKGROUND, _PREVIOUS])
def test_ffmpeg_shows_the_same(
    extraction: PartExtraction, tmp_path: Path, disposal: int, blending: int
) -> None:
    """In every way to dispose of a frame; Pillow differs in some where the canvas is restored."""
    ffmpeg = pytest.importorskip("imageio_ffmpeg").get_ffmpeg_exe()
    it = source(tmp_path, animation("RGBA", disposal, blending))
    plain = ["-f", "rawvideo", "-pix_fmt", "rgba", "-fps_mode", "passthrough", "-"]
    done = subprocess.run(
        [ffmpeg, "-v", "error", "-f", "apng", "-i", str(it.path), *plain],
        capture_output=True,
        check=True,
    )
    frames = np.frombuffer(done.stdout, np.uint8).reshape(-1, HEIGHT, WIDTH, 4)
    assert len(frames) == 5
    for number, wanted in enumerate(frames):
        found = shown(extraction.cut_part(it, Rect(*WHOLE, number)))
        assert (found == _seen(wanted)).all(), number


def test_frames_of_sixteen_bits(extraction: PartExtraction, tmp_path: Path) -> None:
    """Gray over transparent black: the whole of a sample is kept."""
    samples = np.random.default_rng(16).integers(0, 65536, (2, HEIGHT, WIDTH), np.uint16)
    static, second = (deflated(one.astype(">u2").view(np.uint8)) for one in samples)
    control = [
        struct.pack(">IIIIIHHBB", number, WIDTH, HEIGHT, 0, 0, 1, 10, 0, _OVER) for number in (0, 1)
    ]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(
        [
            chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, 16, 0, 0, 0, 0)),
            chunk(b"acTL", struct.pack(">II", 2, 0)),
            chunk(b"fcTL", control[0]),
            chunk(b"IDAT", static),
            chunk(b"fcTL", control[1]),
            chunk(b"fdAT", struct.pack(">I", 2) + second),
            chunk(b"IEND", b""),
        ]
    )
    part = extraction.cut_part(source(tmp_path, data), Rect(*WHOLE, 1))
    assert part.decoded is not None
    assert part.decoded.form == f"graya16le {WIDTH}x{HEIGHT}"
    wanted = np.stack([samples[1], np.full_like(samples[1], 65535)], axis=-1).astype("<u2")
    assert part.decoded.sha512 == hashlib.sha512(wanted.tobytes()).hexdigest()


# what is wrong with it
# ---------------------


def _without(data: bytes, kind: bytes, number: int) -> bytes:
    """A PNG without its chunk of a kind, by number."""
    at, kept = 8, [data[:8]]
    while at < len(data):
        length = 12 + struct.unpack_from(">I", data, at)[0]
        if data[at + 4 : at + 8] == kind and not number:
            number = -1
        else:
            number -= data[at + 4 : at + 8] == kind
            kept.append(data[at : at + length])
        at += length
    return b"".join(kept)


FINE = apng(every_way()[:4])


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (_without(FINE, b"fdAT", 1), "chunk 3 of the animation is missing"),
        (_without(FINE, b"fcTL", 2), "of the animation is missing"),
        (_without(FINE, b"IEND", 0), "ends before its end chunk"),
        (FINE[: len(FINE) - 300], "ends within a chunk"),
        (apng(every_way()[:3], counted=4), "it declares 4 frames, but has 3"),
        (apng(every_way()[:3], counted=0), "it declares 0 frames, but has 3"),
        (apng([Drawn(1, (0, 0, WIDTH - 1, HEIGHT), 0, 0)]), "frame 0 does not cover the image"),
        (apng([*every_way()[:1], Drawn(1, (40, 0, WIDTH + 1, 9), 0, 0)]), "outside the image"),
        (apng([*every_way()[:1], Drawn(1, (0, 0, 9, 9), 3, 0)]), "unknown disposal or blending"),
        (apng([*every_way()[:1], Drawn(1, (0, 0, 9, 9), 0, 2)]), "unknown disposal or blending"),
    ],
)
def test_damaged(extraction: PartExtraction, tmp_path: Path, data: bytes, why: str) -> None:
    with pytest.raises(Undecodable, match=why):
        extraction.cut_part(source(tmp_path, data), Rect(0, 0, 9, 9, 1))


def test_every_bit_of_a_frame_counts(extraction: PartExtraction, tmp_path: Path) -> None:
    """A bit that is turned anywhere from the first control chunk on is an error, or the number of
    frames is: never another picture.
    """
    start, rest = FINE.index(b"fcTL"), FINE.rindex(b"IEND")
    for at in range(start, rest, 97):
        broken = bytearray(FINE)
        broken[at] ^= 1 << at % 8
        with pytest.raises(Undecodable):
            extraction.cut_part(source(tmp_path, bytes(broken)), Rect(*WHOLE, 3))


def test_many_large_frames_are_refused(extraction: PartExtraction, tmp_path: Path) -> None:
    """What composing would decode is reckoned before it is done."""
    frame = Image.new("L", (5000, 5000))
    file = io.BytesIO()
    others = [Image.new("L", (5000, 5000), shade) for shade in range(1, 30)]
    frame.save(file, "PNG", save_all=True, append_images=others, compress_level=1)
    it = source(tmp_path, file.getvalue())
    with pytest.raises(OverBudget, match="pixels"):
        extraction.cut_part(it, Rect(0, 0, 9, 9, 29))
    assert extraction.cut_part(it, Rect(0, 0, 9, 9, 1)).media_type == "image/png"
