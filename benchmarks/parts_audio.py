"""Parts of sound: seconds cut out of long recordings, beside the ffmpeg program doing the same.

How it works: ffmpeg makes a recording of `PERDURE_BENCH_MINUTES` (10 if not set) in three formats.
A part is cut by a warm worker, as the resolver has it; the other is a process of ffmpeg with `-ss`
in front of its input, the fastest way it has (and of MP3 not an exact one: it spares the pre-roll).
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import median

import imageio_ffmpeg

from benchmarks import fixture
from benchmarks.measure import Ratio, show
from perdure.extractors.port import Source, iterate_body
from perdure.parts import Interval
from perdure.reading.extraction import PartExtraction

_MINUTES = int(os.environ.get("PERDURE_BENCH_MINUTES", "10"))
_SECONDS = 10  # of a part
_ROUNDS = 9
_FFMPEG = imageio_ffmpeg.get_ffmpeg_exe()
_RECORDINGS = {
    "wav": ("audio/wav", ("-c:a", "pcm_s16le"), 0.010),
    "flac": ("audio/flac", ("-c:a", "flac"), 0.100),
    "mp3": ("audio/mpeg", ("-c:a", "libmp3lame", "-b:a", "128k"), 0.100),
}


def run() -> list[Ratio]:
    results = []
    extraction = PartExtraction()
    for ending, (media_type, options, most) in _RECORDINGS.items():
        path = _recording(ending, options)
        source = Source(
            path=path, length=path.stat().st_size, media_type=media_type, name=path.name
        )
        places = random.Random(1).sample(range(60 * _MINUTES - _SECONDS), _ROUNDS)
        ours = _median(partial(_ours, extraction, source), places)
        theirs = _median(partial(_theirs, path), places)
        name = f"{_SECONDS} s of {ending}, {source.length >> 20} MB"
        results += [
            Ratio(f"{name} / ffmpeg -ss", 1 / ours, 1 / theirs, "parts/s", theirs / ours, 0.5),
            Ratio(f"{name}, ms / target", ours * 1e3, most * 1e3, "ms", most / ours, 1.0),
        ]
    extraction.close()
    return results


def _recording(ending: str, options: tuple[str, ...]) -> Path:
    path = fixture.OUT / f"sound-{_MINUTES}.{ending}"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        tone = "aevalsrc=0.4*sin(200*t*t)|0.3*sin(300*t*t)+0.05*random(0):s=44100"
        _ffmpeg("-f", "lavfi", "-i", f"{tone}:d={60 * _MINUTES}", *options, str(path))
    return path


def _ffmpeg(*words: str) -> None:
    command = [_FFMPEG, "-y", "-nostdin", "-v", "error", *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _ours(extraction: PartExtraction, source: Source, at: int) -> None:
    part = extraction.cut_part(source, Interval(Fraction(at), Fraction(at + _SECONDS)))
    for _ in iterate_body(part.body, source):
        pass


def _theirs(path: Path, at: int) -> None:
    _ffmpeg("-ss", str(at), "-t", str(_SECONDS), "-i", str(path), "-f", "wav", "-")


def _median(cut: Callable[[int], None], places: list[int]) -> float:
    cut(places[0])  # what happens once only
    times = []
    for at in places:
        start = time.perf_counter()
        cut(at)
        times.append(time.perf_counter() - start)
    return median(times)


if __name__ == "__main__":
    sys.exit(not show(run()))
