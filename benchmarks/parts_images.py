"""A rectangle of a large image: out of tiled TIFFs and out of PNGs, beside Pillow.

`PERDURE_BENCH_IMAGE_SIDE` sets another side than 8,000 pixels; the files are made once and kept in
benchmarks/out, which may be deleted at any time. The rectangle of a PNG is its last, for which
all rows are decoded. Targets that the issue gives as times are absolute: 60 parts a second of a
TIFF, and 400 megapixels of a PNG in three seconds. They are asked of tiles in JPEG and of a
drawing, and of a photograph with its grain that was prepared (`perdure prepare`). What takes the
time in the others is inflating, the same for Pillow: there it is the measure.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import pyvips
from PIL import Image

from benchmarks.fixture import OUT
from benchmarks.measure import Ratio, show
from perdure.extractors.image.rectangle import EXTRACTOR
from perdure.extractors.indexes import DirectoryIndexes, NoIndexes
from perdure.extractors.port import Indexes, Part, Source
from perdure.parts import Rect

_SIDE = int(os.environ.get("PERDURE_BENCH_IMAGE_SIDE", "8000"))
_PART = 512
_ROUNDS = 3
_PARTS = 50
_LAST = Rect(_SIDE - _PART, _SIDE - _PART, _SIDE, _SIDE)
_CELL, _BAND = 32, 1024  # pixels between colours, and from a row to its repetition
_CELLS = -(-_SIDE // _CELL)
_CHOOSE = random.Random(2083)
_INDEXES = NoIndexes()


def run() -> list[Ratio]:
    Image.MAX_IMAGE_PIXELS = None  # the other shall decode it, however large
    tiles = {"tile": True, "tile_width": 256, "tile_height": 256}
    jpeg = _source(_photo, "photo-jpeg.tif", "image/tiff", compression="jpeg", Q=90, **tiles)
    deflate = _source(_photo, "photo-deflate.tif", "image/tiff", compression="deflate", **tiles)
    photo = _source(_photo, "photo.png", "image/png", compression=6, filter="up")
    drawing = _source(_drawing, "drawing.png", "image/png", compression=6)
    megapixels = _SIDE * _SIDE / 1e6
    return [
        *_measured("512² of a TIFF, tiles in JPEG", jpeg, _boxes(), 30, wanted=60, unit="parts/s"),
        *_measured("512² of a TIFF, tiles in deflate", deflate, _boxes(), 30),
        *_measured(
            "last 512² of a PNG, a drawing",
            drawing,
            [_LAST],
            1.3,
            work=megapixels,
            wanted=400 / 3,
            unit="Mpx/s",
        ),
        *_measured(
            "last 512² of a PNG, a photograph", photo, [_LAST], 1, work=megapixels, unit="Mpx/s"
        ),
        *_measured(
            "first part of that photograph, prepared",
            photo,
            [_LAST],
            20,
            work=megapixels,
            wanted=400 / 3,
            unit="Mpx/s",
            indexes=_prepared(photo),
        ),
    ]


def _measured(
    name: str,
    source: Source,
    boxes: list[Rect],
    target: float,
    *,
    work: float = 1,
    wanted: float | None = None,
    unit: str = "parts/s",
    indexes: Indexes = _INDEXES,
) -> list[Ratio]:
    """Of the processor, by the median of rounds; Pillow once, as it takes the same for any box."""
    _agree(_cut(source, _LAST, indexes), _by_pillow(source, _LAST))
    rounds = [
        _seconds(lambda: [_cut(source, box, indexes) for box in boxes]) for _ in range(_ROUNDS)
    ]
    ours = work * len(boxes) / statistics.median(rounds)
    other = work / _seconds(lambda: _by_pillow(source, _LAST))
    found = [Ratio(f"{name} : Pillow", ours, other, unit, ours / other, target)]
    if wanted:
        found.append(Ratio(f"{name} : wanted", ours, wanted, unit, ours / wanted, 1))
    return found


def _prepared(source: Source) -> Indexes:
    """As `perdure prepare` leaves them."""
    place = OUT / "image-indexes"
    shutil.rmtree(place, ignore_errors=True)
    indexes = DirectoryIndexes(place)
    EXTRACTOR.prepare_source(source, indexes)
    return indexes


def _boxes() -> list[Rect]:
    starts = range(_SIDE - _PART)
    corners = [(_CHOOSE.choice(starts), _CHOOSE.choice(starts)) for _ in range(_PARTS)]
    return [Rect(left, top, left + _PART, top + _PART) for left, top in corners]


def _source(draw: Callable[[], Any], name: str, media_type: str, **how: Any) -> Source:
    path = OUT / f"image-{_SIDE}-{name}"
    if not path.exists():
        OUT.mkdir(parents=True, exist_ok=True)
        made = path.with_name(f"making-{path.name}")
        draw().write_to_file(str(made), **how)
        made.rename(path)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha512").hexdigest()
    return Source(
        path=path,
        length=path.stat().st_size,
        media_type=media_type,
        sha512=digest,
        name=path.name,
    )


def _photo() -> Any:
    """Soft colours with some grain: twelve bits a pixel, compressed without loss."""
    grain = pyvips.Image.gaussnoise(_CELLS * _CELL, _BAND, sigma=2, mean=0, seed=4)
    return _filled((_colours().resize(_CELL) + grain).cast("uchar"))


def _drawing() -> Any:
    """Areas of one colour each, with straight edges."""
    return _filled(_colours().cast("uchar").zoom(_CELL, _CELL))


def _colours() -> Any:
    bands = [
        pyvips.Image.gaussnoise(_CELLS, _BAND // _CELL, sigma=60, mean=128, seed=seed)
        for seed in range(3)
    ]
    return bands[0].bandjoin(bands[1:])


def _filled(band: Any) -> Any:
    """A band of rows again and again, too far apart for deflate to see that they repeat."""
    times = -(-_SIDE // _BAND)
    whole = band.copy_memory().replicate(1, times).crop(0, 0, _SIDE, _SIDE)
    return whole.copy(interpretation="srgb")


def _cut(source: Source, box: Rect, indexes: Indexes) -> Part:
    """As the process with bounds does it."""
    return EXTRACTOR.extract_part(source, box, indexes)


def _by_pillow(source: Source, box: Rect) -> Any:
    with Image.open(source.path) as image:
        return image.crop((box.left, box.top, box.right, box.bottom))


def _agree(part: Part, image: Any) -> None:
    digest = hashlib.sha512(image.tobytes()).hexdigest()
    if part.decoded is None or part.decoded.sha512 != digest:
        raise AssertionError(f"{part.selector} has other pixels than Pillow sees")


def _seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(not show(run()))
