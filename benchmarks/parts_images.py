"""A rectangle of a large image: out of a tiled TIFF and out of a PNG, beside Pillow.

`PERDURE_BENCH_IMAGE_SIDE` sets another side than 8,000 pixels; the files are made once and kept in
benchmarks/out, which may be deleted at any time. The rectangle of the PNG is its last, for which
all rows are decoded. Targets that the issue gives as times are absolute: 60 parts a second of a
TIFF, and 400 megapixels of a PNG in three seconds.
"""

from __future__ import annotations

import hashlib
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pyvips
from PIL import Image

from benchmarks.fixture import OUT
from benchmarks.measure import Ratio, show
from perdure.extractors.image import EXTRACTOR
from perdure.extractors.indexes import NoIndexes
from perdure.extractors.port import Part, Source
from perdure.parts import Rect

_SIDE = int(os.environ.get("PERDURE_BENCH_IMAGE_SIDE", "8000"))
_PART = 512
_ROUNDS = 3
_PARTS = 50
_CHOOSE = random.Random(2083)
_INDEXES = NoIndexes()


def run() -> list[Ratio]:
    Image.MAX_IMAGE_PIXELS = None  # the other shall decode it, however large
    tiff = _source(
        "tif", "image/tiff", compression="deflate", tile=True, tile_width=256, tile_height=256
    )
    png = _source("png", "image/png", compression=1)
    last = Rect(_SIDE - _PART, _SIDE - _PART, _SIDE, _SIDE)
    tiled = _seconds(lambda: [_cut(tiff, box) for box in _boxes()], 1) / _PARTS
    rows = _seconds(lambda: _cut(png, last))
    by_pillow = {
        one.media_type: _seconds(partial(_by_pillow, one, last), rounds=1) for one in (tiff, png)
    }
    for one in (tiff, png):
        _agree(_cut(one, last), _by_pillow(one, last))
    megapixels = _SIDE * _SIDE / 1e6
    return [
        Ratio("512² of a tiled TIFF : wanted", 1 / tiled, 60, "parts/s", 1 / tiled / 60, 1),
        _against("512² of a tiled TIFF : Pillow", tiled, by_pillow["image/tiff"], 30),
        Ratio(
            "last 512² of a PNG : wanted",
            megapixels / rows,
            133,
            "Mpx/s",
            megapixels / rows / 133,
            1,
        ),
        _against("last 512² of a PNG : Pillow", rows, by_pillow["image/png"], 1.5),
    ]


def _against(name: str, ours: float, other: float, target: float) -> Ratio:
    return Ratio(name, 1 / ours, 1 / other, "parts/s", other / ours, target)


def _boxes() -> list[Rect]:
    starts = range(_SIDE - _PART)
    corners = [(_CHOOSE.choice(starts), _CHOOSE.choice(starts)) for _ in range(_PARTS)]
    return [Rect(left, top, left + _PART, top + _PART) for left, top in corners]


def _source(ending: str, media_type: str, **how: Any) -> Source:
    path = OUT / f"image-{_SIDE}.{ending}"
    if not path.exists():
        OUT.mkdir(parents=True, exist_ok=True)
        made = path.with_suffix(f".making.{ending}")
        _picture().write_to_file(str(made), **how)
        made.rename(path)
    return Source(path=path, length=path.stat().st_size, media_type=media_type, name=path.name)


def _picture() -> Any:
    """Soft colours with some grain, as of a photograph; the same tile over and over."""
    bands = [pyvips.Image.gaussnoise(32, 32, sigma=60, mean=128, seed=n) for n in range(3)]
    grain = pyvips.Image.gaussnoise(1024, 1024, sigma=2, mean=0, seed=4)
    tile = (bands[0].bandjoin(bands[1:]).resize(32) + grain).cast("uchar").copy_memory()
    times = -(-_SIDE // 1024)
    return tile.replicate(times, times).crop(0, 0, _SIDE, _SIDE).copy(interpretation="srgb")


def _cut(source: Source, box: Rect) -> Part:
    """As the process with bounds does it."""
    return EXTRACTOR.extract(source, box, _INDEXES)


def _by_pillow(source: Source, box: Rect) -> Any:
    with Image.open(source.path) as image:
        return image.crop((box.left, box.top, box.right, box.bottom))


def _agree(part: Part, image: Any) -> None:
    digest = hashlib.sha512(image.tobytes()).hexdigest()
    if part.decoded is None or part.decoded.sha512 != digest:
        raise AssertionError(f"{part.selector} has other pixels than Pillow sees")


def _seconds(call: Callable[[], object], rounds: int = _ROUNDS) -> float:
    """Of the processor, by the median; what happens once only has happened before."""
    call()
    found = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return statistics.median(found)


if __name__ == "__main__":
    sys.exit(not show(run()))
