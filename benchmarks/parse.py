"""Parsing and canonicalising identifiers, against `urllib.parse.urlsplit` on the same strings.

How it works: `perdure.ids.parse` gives the full value and `str()` its canonical text. The PDIs look
like those of a real registry: nine in ten are canonical and plain, the tenth is in upper case, a
URN, has an unpadded date, a fragment, or an escaped URL as its unique-id. The names of other
schemes are spelled as they are given out, and `read_plain_name` gives their key and their path,
which is all that a request needs. No two strings are equal, and `urlsplit` is called without its
cache.
"""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Callable
from urllib.parse import urlsplit

from benchmarks.measure import Ratio, compare, show
from perdure import ids
from perdure.ids.plain_names import read_plain_name

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


_USUAL = {
    "a handle": "hdl:1839/00-0000-0000-{:04X}-{:04X}-F",
    "a DOI": "doi:10.{:04}/zenodo.{}",
    "an ARK": "ark:{:05}/fk4{:x}",
    "a URN": "urn:nbn:de:{:03}:1-{}",
    "a URN of 1993": "URN:IANA:{}::report-{}:::",
    "a PWID": "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.{}.example.org/{}.html",
}
"""Names in their usual spelling, by scheme, with two numbers."""


def run() -> list[Ratio]:
    choose = random.Random(1997)
    results = [
        _compare_parsers("parse and canonicalise a PDI", identifiers(_COUNT), _canonicalise, 1.8)
    ]
    for name, spelling in _USUAL.items():
        texts = [spelling.format(choose.randrange(1000), n) for n in range(_COUNT)]
        results.append(_compare_parsers(f"read {name} as usual", texts, read_plain_name, 1.5))
    return results


def _canonicalise(text: str) -> str:
    return str(ids.parse(text))


def _compare_parsers(
    what: str, texts: list[str], read: Callable[[str], object], target: float
) -> Ratio:
    split = inspect.unwrap(urlsplit)

    def ours() -> None:
        for text in texts:
            read(text)

    def other() -> None:
        for text in texts:
            split(text)

    return compare(
        f"{what} : urlsplit", ours, other, work=_COUNT, unit="texts per CPU second", target=target
    )


if __name__ == "__main__":
    sys.exit(not show(run()))
