"""Parts of a large text and of a large table, against decoding the whole and against `csv`.

`PERDURE_BENCH_TEXT_MB` sets another size than 200 MB; the files are made once and kept in
benchmarks/out, which may be deleted at any time. Targets that the issue gives as times are
absolute: a part in a millisecond, an index of half a percent made at 500 MB/s.
"""

from __future__ import annotations

import csv
import datetime
import hashlib
import itertools
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

from benchmarks.fixture import OUT
from benchmarks.measure import Ratio, show
from perdure.extractors.indexes import DirectoryIndexes
from perdure.extractors.port import Source, iterate_body
from perdure.extractors.text import index as text_index
from perdure.extractors.text import table_index
from perdure.extractors.text.characters import EXTRACTOR as TEXT
from perdure.extractors.text.coding import Coding, find_coding
from perdure.extractors.text.index import Unit
from perdure.extractors.text.table import EXTRACTOR as TABLE
from perdure.parts import Cells, CharRange, Selector, TextRange

_SIZE = int(os.environ.get("PERDURE_BENCH_TEXT_MB", "200")) * 1_000_000
_LOOKUPS = 1_000
_PART = 2_000  # characters
_CHOOSE = random.Random(7111)
_INDEXES = DirectoryIndexes(OUT / "indexes")
_LINES = (
    "The quick brown fox jumps over the lazy dog, and then rests beside the river for a while.",
    "Το πρωί ξεκίνησαν όλοι μαζί για το βουνό, und am Abend kamen sie müde zurück.",
    "朝早く家を出て、夕方には村に着いた。",
    "Plain words make up the most of what is kept, in lines of about eighty characters \U0001f600",
)
_ROW = '{0},"Smith, John",{1:%Y-%m-%d},45.20,"a ""quoted"" word",,note {0}\r\n'


def run() -> list[Ratio]:
    lf = _text("lf", "utf-8", "\n")
    crlf = _text("crlf", "utf-8", "\r\n")
    japanese = _text("sjis", "shift_jis", "\r\n")
    table = _table()
    return [
        *_index("text, LF", lf, text_index.build_marks, wanted=500),
        *_index("text, CRLF", crlf, text_index.build_marks, wanted=500),
        *_index("text, Shift_JIS", japanese, text_index.build_marks, wanted=150),
        *_index("table, quoted", table, table_index.build_marks, wanted=150),
        *_parts("characters, LF", lf, _characters(lf), _by_decoding),
        *_parts("characters, CRLF", crlf, _characters(crlf), _by_decoding),
        *_parts("characters, Shift_JIS", japanese, _characters(japanese), _by_decoding),
        *_parts("lines, CRLF", crlf, _lines(crlf), _by_lines, target=20),
        *_parts("lines, Shift_JIS", japanese, _lines(japanese), _by_lines, target=20),
        *_parts("rows", table, _rows(table), _by_csv),
    ]


# what is cut
# -----------


def _text(name: str, charset: str, line_break: str) -> Source:
    lines = [line for line in _LINES if _writable(line, charset)]
    choose = random.Random(5147)
    block = "".join(choose.choice(lines) + line_break for _ in range(20_000)).encode(charset)
    return _source(f"text-{name}-{_SIZE}.txt", block, "text/plain", charset)


def _writable(line: str, charset: str) -> bool:
    return line.encode(charset, "ignore").decode(charset) == line


def _table() -> Source:
    first = datetime.date(1993, 1, 20)
    rows = (_ROW.format(n, first + datetime.timedelta(n)) for n in range(10_000))
    return _source(f"table-{_SIZE}.csv", "".join(rows).encode(), "text/csv", "utf-8")


def _source(name: str, block: bytes, media_type: str, charset: str) -> Source:
    path = OUT / name
    if not path.exists():
        OUT.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            for _ in range(max(_SIZE // len(block), 1)):
                file.write(block)
    return Source(
        path=path,
        length=path.stat().st_size,
        media_type=media_type,
        charset=charset,
        sha512=hashlib.sha512(name.encode()).hexdigest(),  # stands for that of the bytes
    )


def _characters(source: Source) -> list[Selector]:
    size = text_index.open_index(source, find_coding(source), _INDEXES).count_units(Unit.CANONICAL)
    starts = _CHOOSE.choices(range(size - _PART), k=_LOOKUPS)
    return [CharRange(start, start + _PART) for start in starts]


def _lines(source: Source) -> list[Selector]:
    size = text_index.open_index(source, find_coding(source), _INDEXES).count_units(Unit.LINE)
    return [
        TextRange("line", start, start + 10) for start in _CHOOSE.choices(range(size), k=_LOOKUPS)
    ]


def _rows(source: Source) -> list[Selector]:
    size = table_index.open_table(source, find_coding(source), _INDEXES).rows
    return [
        Cells("row", (((row,), (row,)),)) for row in _CHOOSE.choices(range(1, size), k=_LOOKUPS)
    ]


# the obvious way
# ---------------


def _by_decoding(source: Source, selector: Selector) -> bytes:
    assert isinstance(selector, CharRange)
    text = source.path.read_bytes().decode(source.charset or "")
    whole = text if "\r\n" in text[:1000] else text.replace("\n", "\r\n")
    return whole[selector.start : selector.end].encode(source.charset or "")


def _by_lines(source: Source, selector: Selector) -> bytes:
    assert isinstance(selector, TextRange)
    with source.path.open("rb") as file:
        return b"".join(itertools.islice(file, selector.start, selector.end))


def _by_csv(source: Source, selector: Selector) -> bytes:
    """The values of a row, which is all that `csv` can say, written anew as they were."""
    assert isinstance(selector, Cells)
    number = selector.ranges[0][0][0]
    with source.path.open(encoding="utf-8", newline="") as file:
        values = next(itertools.islice(csv.reader(file), (number or 1) - 1, None))
    quoted = {1, 4}
    written = (
        '"' + value.replace('"', '""') + '"' if at in quoted else value
        for at, value in enumerate(values)
    )
    return (",".join(written) + "\r\n").encode()


# measuring
# ---------


def _index(
    name: str, source: Source, build: Callable[[Source, Coding], bytes], *, wanted: int
) -> list[Ratio]:
    """How fast an index is made, by the median of three, and how little it is of the whole."""
    how = find_coding(source)
    index = build(source, how)  # imports, and has the file in memory
    rate = (
        source.length / 1e6 / statistics.median(_seconds(lambda: build(source, how)) for _ in "123")
    )
    share = source.length / len(index)
    return [
        Ratio(f"index of {name} : wanted", rate, wanted, "MB/s", rate / wanted, 1),
        Ratio(f"{name} per index : wanted", share, 200, "bytes", share / 200, 1),
    ]


def _parts(
    name: str,
    source: Source,
    selectors: list[Selector],
    other: Callable[[Source, Selector], bytes],
    target: float = 100,
) -> list[Ratio]:
    """A thousand parts by an index that exists; the ninth of ten is the one that counts."""
    extractor = TABLE if source.media_type == "text/csv" else TEXT

    def cut(selector: Selector) -> bytes:
        return b"".join(
            iterate_body(extractor.extract_part(source, selector, _INDEXES).body, source)
        )

    middle = selectors[_LOOKUPS // 2]
    theirs = _seconds(lambda: other(source, middle))
    if cut(middle) != other(source, middle):
        raise AssertionError(f"{middle} of {source.path.name} is not what the other says")
    seconds = [_seconds(partial(cut, selector)) for selector in selectors]
    usual, slow = statistics.median(seconds), statistics.quantiles(seconds, n=10)[8]
    return [
        Ratio(f"{name} : wanted (9 of 10)", 1 / slow, 1000, "parts/s", 0.001 / slow, 1),
        Ratio(
            f"{name} : reading the whole", 1 / usual, 1 / theirs, "parts/s", theirs / usual, target
        ),
    ]


def _seconds(call: Callable[[], object]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(not show(run()))
