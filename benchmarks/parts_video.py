"""Parts of video: half a minute cut out of a long film, and a rectangle out of a part of it.

How it works: ffmpeg makes a film of `PERDURE_BENCH_MINUTES` (10 if not set). Of an interval counts
how long it takes to the first byte, with the table of contents read anew each time. The other is a
process of ffmpeg that copies the packets of the interval as fragments, the only way it has to begin
before it has ended; it begins at the key frame before, and so does not give what was asked for. Of
a rectangle both decode, cut, and encode in FFV1: there all of it counts.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path
from statistics import median

import imageio_ffmpeg

from benchmarks import fixture
from benchmarks.measure import Ratio, show
from perdure.extractors.port import Source, iterate_body
from perdure.parts import Crop, Interval, Rect
from perdure.reading.extraction import PartExtraction

_MINUTES = int(os.environ.get("PERDURE_BENCH_MINUTES", "10"))
_SECONDS = 28  # of an interval, as in the draft's example
_CROPPED = 2  # seconds of a rectangle
_ROUNDS = 9
_WANTED = 0.050  # seconds to the first byte
_FFMPEG = imageio_ffmpeg.get_ffmpeg_exe()


def run() -> list[Ratio]:
    path = _film()
    film = Source(path=path, length=path.stat().st_size, media_type="video/mp4", name=path.name)
    extraction = PartExtraction()
    places = random.Random(1).sample(range(60 * _MINUTES - _SECONDS), _ROUNDS)

    def first_of_ours(at: int) -> None:
        part = extraction.cut_part(film, Interval(Fraction(at), Fraction(at + _SECONDS)))
        next(iter(iterate_body(part.body, film)))

    def first_of_theirs(at: int) -> None:
        moving = "frag_keyframe+empty_moov"
        words = ["-t", str(_SECONDS), "-c", "copy", "-movflags", moving, "-f", "mp4", "-"]
        command = [_FFMPEG, "-v", "quiet", "-ss", str(at), "-i", str(path), *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout
            process.stdout.read(1)
            process.kill()

    def crop_of_ours(at: int) -> None:
        time = Interval(Fraction(at), Fraction(at + _CROPPED))
        part = extraction.cut_part(film, Crop(time, Rect(10, 10, 310, 230)))
        _consume(iterate_body(part.body, film))

    def crop_of_theirs(at: int) -> None:
        words = ["-t", str(_CROPPED), "-vf", "crop=300:220:10:10:exact=1", "-c:v", "ffv1"]
        command = [_FFMPEG, "-v", "quiet", "-ss", str(at), "-i", str(path), *words]
        subprocess.run([*command, "-c:a", "pcm_f32le", "-f", "matroska", "-"], check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip

    ours, theirs = _seconds(first_of_ours, places), _seconds(first_of_theirs, places)
    cropped, by_ffmpeg = _seconds(crop_of_ours, places), _seconds(crop_of_theirs, places)
    extraction.close()
    size = f"MP4 of {_MINUTES} min, {film.length >> 20} MB"
    unit = "parts/s"
    begun = f"{_SECONDS} s of an {size}, first byte"
    return [
        Ratio(f"{begun} : ffmpeg -c copy", 1 / ours, 1 / theirs, unit, theirs / ours, 1),
        Ratio(f"{begun} : wanted", 1 / ours, 1 / _WANTED, unit, _WANTED / ours, 1),
        Ratio(
            f"{_CROPPED} s of a rectangle of it : ffmpeg",
            1 / cropped,
            1 / by_ffmpeg,
            unit,
            by_ffmpeg / cropped,
            0.3,
        ),
    ]


def _film() -> Path:
    """A minute again and again, with a key frame every ten seconds."""
    path = fixture.OUT / f"film-{_MINUTES}.mp4"
    if path.exists():
        return path
    fixture.OUT.mkdir(parents=True, exist_ok=True)
    minute, made = path.with_name("minute.mp4"), path.with_name(f"making-{path.name}")
    picture = ["-f", "lavfi", "-i", "testsrc2=s=320x240:r=25:d=60"]
    sound = ["-f", "lavfi", "-i", "anoisesrc=d=60:r=44100:a=0.2:seed=1"]
    codecs = ["-c:v", "libx264", "-preset", "veryfast", "-g", "250", "-c:a", "aac"]
    _ffmpeg(*picture, *sound, *codecs, "-pix_fmt", "yuv420p", str(minute))
    _ffmpeg("-stream_loop", str(_MINUTES - 1), "-i", str(minute), "-c", "copy", str(made))
    minute.unlink()
    made.rename(path)
    return path


def _ffmpeg(*words: str) -> None:
    subprocess.run([_FFMPEG, "-y", "-nostdin", "-v", "error", *words], check=True)


def _consume(chunks: Iterable[bytes]) -> None:
    for _ in chunks:
        pass


def _seconds(call: Callable[[int], None], places: list[int]) -> float:
    """By the clock, for others are processes; the median, after one call that does not count."""
    call(places[0])
    times = []
    for at in places:
        start = time.perf_counter()
        call(at)
        times.append(time.perf_counter() - start)
    return median(times)


if __name__ == "__main__":
    sys.exit(not show(run()))
