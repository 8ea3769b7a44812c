"""Identifiers in texts and pages: megabytes a second on one core, of which 100 are wanted.

How it works: ordinary words with an identifier or an address in every eight kilobytes, once as
plain text and once in HTML, and HTML with an address in every kilobyte, as in a list of references.
Beside it, `re` looks for the same labels with one expression, as one writes it in Python, and
parses nothing.
"""

from __future__ import annotations

import random
import re
import sys
import time
from collections.abc import Callable

from benchmarks.measure import Ratio, show
from perdure.extractors.markup.tags import HTML
from perdure.reading.links.markup import find_marked
from perdure.reading.links.written import find_written

_PARAGRAPHS = 24_000
_EACH = 20  # paragraphs
_EACH_DENSE = 2  # paragraphs
_WANTED = 100e6  # bytes/s
_ROUNDS = 5
_LABELS = re.compile(
    rb"(?:pdi:|urn:|pwid:|hdl:|ark:|doi[:. ]|info:|https?://)[^\s<>\"]+", re.IGNORECASE
)
_WORDS = ["archive", "record", "river", "letter", "morning", "council", "number", "against", "the"]


def run() -> list[Ratio]:
    choose = random.Random(1737)
    paragraphs = [" ".join(choose.choices(_WORDS, k=60)) for _ in range(_PARAGRAPHS)]
    text = "\n".join(map(_write_text, range(_PARAGRAPHS), paragraphs)).encode()
    page, dense = (
        "\n".join(
            _write_page(number, words, each) for number, words in enumerate(paragraphs)
        ).encode()
        for each in (_EACH, _EACH_DENSE)
    )
    return [
        _measure("identifiers in text", lambda: list(find_written(text)), len(text)),
        _measure("identifiers in HTML", lambda: list(find_marked(page, HTML)), len(page)),
        _measure("identifiers in dense HTML", lambda: list(find_marked(dense, HTML)), len(dense)),
        _beside("identifiers in HTML, beside re", page),
        _beside("identifiers in dense HTML, beside re", dense),
    ]


def _write_text(number: int, words: str) -> str:
    return f"{words} (doi:10.1000/{number})." if not number % _EACH else f"{words}."


def _write_page(number: int, words: str, each: int) -> str:
    link = f'<a href="https://doi.org/10.1000/{number}">this</a>' if not number % each else ""
    return f"<p class='a'>{words} <b>end</b> {link}</p>"


def _measure(name: str, work: Callable[[], object], size: int) -> Ratio:
    speed = size / _find_cost(work)
    return Ratio(name, speed, _WANTED, "bytes/s", speed / _WANTED, 1)


def _beside(name: str, page: bytes) -> Ratio:
    ours = len(page) / _find_cost(lambda: list(find_marked(page, HTML)))
    other = len(page) / _find_cost(lambda: list(_LABELS.finditer(page)))
    return Ratio(name, ours, other, "bytes/s", ours / other, 1)


def _find_cost(work: Callable[[], object]) -> float:
    """Return the least seconds of the processor that some work needs."""
    costs = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        work()
        costs.append(time.process_time() - start)
    return min(costs)


if __name__ == "__main__":
    sys.exit(0 if show(run()) else 1)
