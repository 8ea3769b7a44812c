"""Parts of markup: finding every tag, and a part whose tags are known already.

How it works: the page is made, of rows of a table with links, a tag in nineteen bytes, as dense as
the directories of the 1990s. Beside the tokenizer stands `html.parser`, which is what Python has:
it tells line and column of start tags, not where they end. Beside a part that the index answers
stands the same part without one.
"""

from __future__ import annotations

import hashlib
import random
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path

from benchmarks.measure import Ratio, compare, show
from perdure.extractors.indexes import DirectoryIndexes, NoIndexes
from perdure.extractors.markup.tagged import EXTRACTOR
from perdure.extractors.markup.tags import HTML, scan_tags
from perdure.extractors.port import Indexes, Source
from perdure.parts import NameRange, TagRange

_ROWS = 5_000
_PARTS = 5
_WANTED = 25  # MB/s, by the issue
_WORDS = ("climate", "budget", "radar", "weather", "report", "minutes", "hearing", "appendix")


def page(rows: int = _ROWS, seed: int = 1997) -> bytes:
    """A directory of so many rows, the same one for the same seed."""
    choose = random.Random(seed)
    lines = ["<html><head><title>Directory</title></head><body><table border=1>\n"]
    for row in range(rows):
        text = " ".join(choose.choices(_WORDS, k=choose.randint(12, 24)))
        lines.append(
            f'<tr><td align=right>{row}</td><td><a name="r{row}" href="/doc/{row}.html">{text}</a>'
            f"</td><td><b>{choose.randint(1, 99)}</b> KB<br></td></tr>\n"
        )
    return "".join([*lines, "</table></body></html>\n"]).encode()


class _Places(HTMLParser):
    """The places that Python's parser can tell."""

    def __init__(self) -> None:
        super().__init__()
        self.places: list[tuple[int, int]] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002
        self.places.append(self.getpos())

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self.places.append(self.getpos())


def run() -> list[Ratio]:
    data = page()
    text = data.decode()

    def other() -> None:
        reader = _Places()
        reader.feed(text)
        reader.close()

    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "page.html")
        path.write_bytes(data)
        source = Source(
            path=path,
            length=len(data),
            media_type="text/html",
            charset="us-ascii",
            sha512=hashlib.sha512(data).hexdigest(),
            name="page",
        )
        # the extractor itself: the time of a worker, which large documents have, is not ours
        kept, anew = DirectoryIndexes(Path(place, "indexes")), NoIndexes()

        def parts(indexes: Indexes) -> None:
            for number in range(0, _PARTS * 50, 50):
                EXTRACTOR.extract_part(source, TagRange(number, number + 9), indexes)

        found = compare(
            "bytes of HTML whose tags are found : html.parser",
            lambda: scan_tags(data, HTML),
            other,
            work=len(data),
            unit="bytes per CPU second",
            target=3,
            rounds=7,
        )
        rate = found.ours / 1e6
        return [
            found,
            Ratio("tags of HTML found : wanted", rate, _WANTED, "MB/s", rate / _WANTED, 1),
            compare(
                "parts by number of tag, indexed : not indexed",
                lambda: parts(kept),
                lambda: parts(anew),
                work=_PARTS,
                unit="parts per CPU second",
                target=100,
                rounds=5,
            ),
            compare(
                "parts by name, indexed : not indexed",
                lambda: EXTRACTOR.extract_part(source, NameRange("r7", "r9"), kept),
                lambda: EXTRACTOR.extract_part(source, NameRange("r7", "r9"), anew),
                work=1,
                unit="parts per CPU second",
                target=10,
                rounds=5,
            ),
        ]


if __name__ == "__main__":
    sys.exit(not show(run()))
