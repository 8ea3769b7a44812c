"""Identifiers in texts and pages: megabytes a second on one core, of which 100 are wanted.

How it works: ordinary words with an identifier or an address in every nine kilobytes (sparse), or
in every kilobyte, as in a list of references (dense): as plain text, Markdown, HTML and JATS. One
page has addresses of something else, which must be passed, one has letters that are not ASCII, and
one is read as a follower reads a document: from its file, with the places of its links. Small pages
have four kilobytes each.

Beside it, `re` looks for the same labels with one expression, as one writes it in Python, and
parses nothing.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from benchmarks.measure import Ratio, show
from perdure.extractors.markup.tags import HTML, XML, Rule
from perdure.extractors.port import Source
from perdure.reading.extraction import PartExtraction
from perdure.reading.links.declared import list_links
from perdure.reading.links.markup import find_marked
from perdure.reading.links.written import find_written

_PARAGRAPHS = 12_000
_SPARSE, _DENSE = 20, 2  # paragraphs for an address
_SMALL = 10  # paragraphs of a small page
_WANTED = 100e6  # bytes/s
_ROUNDS = 5
_LABELS = re.compile(
    rb"(?:pdi:|urn:|pwid:|hdl:|ark:|doi[:. ]|info:|https?://)[^\s<>\"]+", re.IGNORECASE
)
_WORDS = ["archive", "record", "river", "letter", "morning", "council", "number", "against", "the"]
_NAME = "pdi://oma.eop.gov.us/1997/09/01/{}.text.1"


def run() -> list[Ratio]:
    choose = random.Random(1737)
    paragraphs = [" ".join(choose.choices(_WORDS, k=60)) for _ in range(_PARAGRAPHS)]

    def write(form: str, link: str, each: int = _DENSE) -> bytes:
        return "\n".join(
            form.format(words=words, link="" if number % each else link.format(number))
            for number, words in enumerate(paragraphs)
        ).encode()

    page, jats = "<p class='a'>{words} <b>end</b> {link}</p>", "<p>{words} <b>end</b> {link}</p>"
    anchor = '<a href="https://doi.org/10.1000/{}">this</a>'
    other = '<a class="x" href="https://www.example.org/news/{}.html">this</a>'
    reference = (
        '<ext-link ext-link-type="uri" xlink:href="https://doi.org/10.1000/{}">it</ext-link>'
    )
    texts = {
        "sparse text": write("{words} {link}.", "(doi:10.1000/{})", _SPARSE),
        "dense text": write("{words} {link}.", "(doi:10.1000/{})"),
        "dense text of names": write("{words} {link}.", _NAME),
        "dense Markdown": write("{words} {link}.", "[this](https://doi.org/10.1000/{})"),
    }
    sparse, dense = write(page, anchor, _SPARSE), write(page, anchor)
    pages = {
        "sparse HTML": (sparse, HTML),
        "dense HTML": (dense, HTML),
        "dense HTML with accents": (write(page.replace("end", "dîner"), anchor), HTML),
        "dense HTML of names": (write(page, f'<q cite="{_NAME}">this</q>'), HTML),
        "dense HTML, other addresses": (write(page, other), HTML),
        "dense HTML, in its text": (write(page, "doi:10.1000/{}"), HTML),
        "dense JATS": (b'<article xmlns="jats">' + write(jats, reference), XML),
    }
    return [
        *(_measure(name, len(text), _find_in_text(text)) for name, text in texts.items()),
        *(
            _measure(name, len(one), _find_in_page(one, rule))
            for name, (one, rule) in pages.items()
        ),
        _measure("dense HTML, small pages", len(dense), _find_in_small(dense)),
        _measure_file("dense HTML, from its file", dense, "text/html"),
        _measure_file("dense text, from its file", texts["dense text"], "text/plain"),
        _beside("sparse HTML, beside re", sparse),
        _beside("dense HTML, beside re", dense),
    ]


def _find_in_text(text: bytes) -> Callable[[], object]:
    return lambda: list(find_written(text))


def _find_in_page(page: bytes, rule: Rule) -> Callable[[], object]:
    return lambda: find_marked(page, rule)


def _find_in_small(page: bytes) -> Callable[[], object]:
    lines = page.split(b"\n")
    pages = [b"\n".join(lines[at : at + _SMALL]) for at in range(0, len(lines), _SMALL)]
    return lambda: [find_marked(one, HTML) for one in pages]


def _measure_file(name: str, data: bytes, media_type: str) -> Ratio:
    """Measure all that a follower does for a document, but for writing into its index."""
    with tempfile.NamedTemporaryFile() as file, closing(PartExtraction()) as parts:
        file.write(data)
        file.flush()
        source = Source(
            path=Path(file.name), length=len(data), media_type=media_type, charset="utf-8"
        )
        return _measure(name, len(data), lambda: list_links(parts, source))


def _measure(name: str, size: int, work: Callable[[], object]) -> Ratio:
    speed = size / _find_cost(work)
    return Ratio(name, speed, _WANTED, "bytes/s", speed / _WANTED, 1)


def _beside(name: str, page: bytes) -> Ratio:
    ours = len(page) / _find_cost(lambda: find_marked(page, HTML))
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
