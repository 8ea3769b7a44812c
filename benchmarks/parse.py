"""Parsing and canonicalising PDIs, against `urllib.parse.urlsplit` on the same strings.

How it works: `perdure.ids.parse` gives the full value and `str()` its canonical text. The strings
look like those of a real registry: nine in ten are canonical and plain, the tenth is in upper
case, a URN, has an unpadded date, a fragment, or an escaped URL as its unique-id. No two are equal,
and `urlsplit` is called without its cache.
"""

from __future__ import annotations

import inspect
import random
import sys
from urllib.parse import urlsplit

from benchmarks.measure import Ratio, compare, show
from perdure import ids

_COUNT = 20_000
_SERIES = ("oma.eop.gov.us", "images.satellite.nasa.gov.us", "audio.npr.org.us", "reports.bnf.fr")
_FORMATS = ("text", "html", "html", "pdf", "gif", "jpeg", "audio+mpeg")


def identifiers(count: int, seed: int = 1997) -> list[str]:
    """`count` different PDIs, the same ones for the same seed."""
    choose = random.Random(seed)
    return [_identifier(choose, number) for number in range(count)]


def _identifier(choose: random.Random, number: int) -> str:
    year, month, day = choose.randint(1993, 2026), choose.randint(1, 12), choose.randint(1, 28)
    start = f"pdi://{choose.choice(_SERIES)}/{year}/{month:02}/{day:02}/{number}"
    full = f"{start}.{choose.choice(_FORMATS)}.{choose.randint(1, 3)}"
    if choose.random() < 0.9:
        return choose.choice((full, full, full, start))
    return choose.choice(
        (
            full.upper(),
            f"urn:{full}",
            f"urn:pdi://oma.eop.gov.us/{year}/{month}/{day}/{number}.text.1",
            f"{start}http%3A%2F%2Fwww%2Eexample%2Eorg%2F.html.1",
            f"{start}.text.1#{number % 97},{number % 97 + 14}",
            f"{start}.gif.1#(5,10),(25,30)",
        )
    )


def run() -> list[Ratio]:
    texts = identifiers(_COUNT)
    split = inspect.unwrap(urlsplit)

    def ours() -> None:
        for text in texts:
            str(ids.parse(text))

    def other() -> None:
        for text in texts:
            split(text)

    return [
        compare(
            "parse and canonicalise a PDI : urlsplit",
            ours,
            other,
            work=_COUNT,
            unit="texts per CPU second",
            target=1.5,
        )
    ]


if __name__ == "__main__":
    sys.exit(not show(run()))
