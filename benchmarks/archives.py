"""Web archives: indexing, look-ups and records, against cdxj-indexer, pywb and warcio.

What is compared: indexing a gzipped WARC of real documents (whole programs, processor seconds); one
URL at one second, in process, pywb in a process of its own; records read at random; ZipNum runs
against the CDXJ that they hold; memory of indexing a file and one four times as large.

`PERDURE_BENCH_CAPTURES` sets how many captures there are of the URL that has very many.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks import fixture
from benchmarks.measure import Ratio, compare
from benchmarks.servers import Missing
from perdure.archives.index import cdxj, ranges, sqlite_index, zipnum
from perdure.archives.index.adding import FileAddition
from perdure.archives.index.sqlite_index import ArchiveFile
from perdure.archives.library import Library
from perdure.archives.port import Capture
from perdure.ids.urlkey import make_url_key
from perdure.registry import Registry, initialise
from perdure.settings import Settings

OUT = fixture.OUT / "archives"
_ROOT = Path(__file__).parents[1]
_PEERS = _ROOT / ".peers" / "bin"
_CORPUS = _ROOT.parent / "shared" / "corpus"
_PAIRS = 5_000
"""Requests with their responses in the WARC that is indexed."""
_URLS = 50_000
_HOT = int(os.environ.get("PERDURE_BENCH_CAPTURES", "200000"))
_HOT_URL = "http://www.hot.example/"
_FEW = 4
"""Look-ups of pywb where a URL with very many captures is among them: seconds each."""
_ROUNDS = 5
_SMALL, _LARGE = 20_000, 80_000


def run() -> list[Ratio]:
    for name in ("cdxj-indexer", "pywb", "warcio"):
        if not (_PEERS / name).exists():
            raise Missing(f"{name} is not installed (see 'make unit')")
    OUT.mkdir(parents=True, exist_ok=True)
    warc = OUT / "documents.warc.gz"
    if not warc.exists():
        _write(warc, _documents(_PAIRS))
    return [*_indexing(warc), *_memory(), *_records(warc), *_looking()]


# Indexing
# --------


_CDXJ_INDEXER = """
import sys, time
from cdxj_indexer.main import CDXJIndexer
start = time.process_time()
CDXJIndexer(sys.argv[2], [sys.argv[1]], sort=True).process_all()
print(1 / (time.process_time() - start))
"""


def _indexing(warc: Path) -> list[Ratio]:
    """In process, without the start of either program."""

    def ours() -> float:
        registry = OUT / "registry"
        shutil.rmtree(registry, ignore_errors=True)
        initialise(registry)
        with Registry(registry, environment={}) as open_one:
            start = time.process_time()
            open_one.archive.add_file(warc)
            return 2 * _PAIRS / (time.process_time() - start)

    def theirs() -> float:
        return 2 * _PAIRS * _peer(_CDXJ_INDEXER, str(warc), str(OUT / "theirs.cdxj"))

    return [
        _alternating(
            "index a gzipped WARC / cdxj-indexer", ours, theirs, unit="records/CPU-s", target=2.5
        )
    ]


def _memory() -> list[Ratio]:
    """Peak of a process that indexes so many records, and four times as many."""
    peaks = []
    for number in (_SMALL, _LARGE):
        warc = OUT / f"small-{number}.warc.gz"
        if not warc.exists():
            _write(warc, _small(number))
        registry = OUT / "registry"
        shutil.rmtree(registry, ignore_errors=True)
        initialise(registry)
        code = (
            "import resource, sys\n"
            "from pathlib import Path\n"
            "from perdure.registry import Registry\n"
            "with Registry(Path(sys.argv[1])) as registry:\n"
            "    registry.archive.add_file(Path(sys.argv[2]))\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, registry, warc], check=True, capture_output=True
        )
        peaks.append(int(done.stdout) / 1024)
    return [
        Ratio(
            name="memory of indexing, a file / one four times as large",
            ours=peaks[1],
            other=peaks[0],
            unit="MB",
            ratio=peaks[0] / peaks[1],
            target=0.8,
        )
    ]


# Records
# -------

_WARCIO_RECORDS = """
import sys, time
from warcio.archiveiterator import ArchiveIterator
path, *offsets = sys.argv[1:]
start = time.process_time()
for offset in offsets:
    with open(path, "rb") as file:
        file.seek(int(offset))
        next(ArchiveIterator(file)).raw_stream.read()
print(len(offsets) / (time.process_time() - start))
"""


def _records(warc: Path) -> list[Ratio]:
    registry = OUT / "registry"
    shutil.rmtree(registry, ignore_errors=True)
    initialise(registry)
    with Registry(registry) as open_one:
        library = open_one.archive
        library.add_file(warc)
        everything = list(ranges.walk_range(library.captures, ranges.IndexRange("", "~")))
        chosen = random.Random(4).sample(everything, 3000)

        def ours() -> None:
            for capture in chosen:
                with library.files.open_record(capture) as record:
                    for _ in record.read_raw():
                        pass

        rate = _rate(ours, len(chosen))
    offsets = [str(capture.offset) for capture in chosen]
    theirs = _peer(_WARCIO_RECORDS, str(warc), *offsets)
    return [
        Ratio("raw record, at least 5,000", rate, 5000, "records/CPU-s", rate / 5000, 1.0),
        Ratio("raw record / warcio", rate, theirs, "records/CPU-s", rate / theirs, 1.0),
    ]


# Look-ups
# --------

_PYWB_LOOKUPS = """
import sys, time, json
from pywb.warcserver.index.aggregator import SimpleAggregator
from pywb.warcserver.index.indexsource import FileIndexSource
ask = SimpleAggregator({"index": FileIndexSource(sys.argv[1])})
wanted = json.load(open(sys.argv[2]))
start = time.process_time()
for url, second in wanted:
    found, errors = ask({"url": url, "from": second, "to": second, "matchType": "exact"})
    assert len(list(found)) == 1, (url, second)
print(len(wanted) / (time.process_time() - start))
"""


def _looking() -> list[Ratio]:
    shutil.rmtree(OUT / "index", ignore_errors=True)
    library = Library(OUT / "index", Settings())
    text = OUT / "index.cdxj"
    wanted, hot = _fill(OUT / "index", text)
    captures = library.captures
    asked = OUT / "asked.json"
    asked.write_text(json.dumps(wanted[:2000]))
    by_capture = wanted[: len(hot) // 2] + hot
    few = OUT / "few.json"
    few.write_text(json.dumps(random.Random(2).sample(by_capture, _FEW)))

    def look(pairs: list[tuple[str, str]]) -> Callable[[], None]:
        def work() -> None:
            for url, second in pairs:
                key = make_url_key(url)
                found = captures.scan_range(
                    *ranges.make_seconds_range(key, second, second), limit=2
                )
                assert len(found) == 1
                assert found[0].uri == url

        return work

    hot_one = compare(
        f"a URL with {_HOT:,} captures / one with one",
        look(hot),
        look(wanted),
        work=len(hot),
        unit="look-ups/CPU-s",
        target=0.5,
        rounds=5,
    )
    library.close()
    return [
        _alternating(
            "exact look-up, any URL / pywb",
            lambda: _rate(look(wanted), len(wanted)),
            lambda: _peer(_PYWB_LOOKUPS, str(text), str(asked)),
            unit="look-ups/CPU-s",
            target=10,
        ),
        _alternating(
            "exact look-up, any capture / pywb",
            lambda: _rate(look(by_capture), len(by_capture)),
            lambda: _peer(_PYWB_LOOKUPS, str(text), str(few)),
            unit="look-ups/CPU-s",
            target=10,
        ),
        hot_one,
        *_zipnum(text, wanted),
    ]


def _zipnum(text: Path, wanted: list[tuple[str, str]]) -> list[Ratio]:
    shutil.rmtree(OUT / "runs", ignore_errors=True)
    with text.open("rb") as lines:
        written = zipnum.write_run(OUT / "runs", "run", lines)
    one = zipnum.Run(OUT / "runs", "run")
    share = written.size / text.stat().st_size

    def look() -> None:
        for url, second in wanted[:5000]:
            low, high = ranges.make_seconds_range(make_url_key(url), second, second)
            assert len(one.scan_range(low, high, backwards=False, limit=2)) == 1

    rate = _rate(look, 5000)
    return [
        Ratio(
            "ZipNum, at most 0.21 of its CDXJ",
            written.size / 1e6,
            text.stat().st_size / 1e6,
            "MB",
            0.21 / share,
            1.0,
        ),
        Ratio("ZipNum, at least 5,000", rate, 5000, "look-ups/CPU-s", rate / 5000, 1.0),
    ]


def _alternating(
    name: str, ours: Callable[[], float], theirs: Callable[[], float], *, unit: str, target: float
) -> Ratio:
    """Two rates, measured in turn; the median of their ratios counts."""
    pairs = [(ours(), theirs()) for _ in range(_ROUNDS)]
    return Ratio(
        name=name,
        ours=statistics.median(mine for mine, _ in pairs),
        other=statistics.median(other for _, other in pairs),
        unit=unit,
        ratio=statistics.median(mine / other for mine, other in pairs),
        target=target,
    )


def _rate(work: Callable[[], None], number: int) -> float:
    """How many a second of processor time, at the median of three rounds."""
    work()
    seconds = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return number / statistics.median(seconds)


def _peer(code: str, *words: str) -> float:
    done = subprocess.run(
        [_PEERS / "python", "-W", "ignore", "-c", code, *words],
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout)


# What is indexed
# ---------------


def _fill(root: Path, text: Path) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """An index with many URLs and one that has many captures, and the same as sorted CDXJ.

    Gives what to ask for: URLs with one capture, and the one with many.
    """
    sqlite_index.create_index(root / "captures")
    chance = random.Random(1)
    lines: list[bytes] = []
    asked: list[tuple[str, str]] = []
    hot: list[tuple[str, str]] = []
    with FileAddition(root / "captures") as adding:
        for capture in _captures(chance):
            adding.add_capture(capture)
            lines.append(cdxj.format_line(capture))
            (hot if capture.uri == _HOT_URL else asked).append((capture.uri, capture.time))
        file = ArchiveFile(
            id=0,
            name="a.warc.gz",
            path="/nowhere",
            size=0,
            modified=0,
            added="",
            records=0,
            captures=0,
            flaws=0,
        )
        adding.finish_file(file, [])
    lines.sort()
    text.write_bytes(b"".join(lines))
    return chance.sample(asked, 20_000), chance.sample(hot, 20_000)


def _captures(chance: random.Random) -> Iterator[Capture]:
    for number in range(_URLS + _HOT):
        if number < _URLS:
            uri = f"http://www.site{number % 977}.example/{number % 31}/page-{number}.html"
            seconds = chance.randrange(500_000_000)
        else:
            uri = _HOT_URL
            seconds = 100 + (number - _URLS) * 1800
        time_ = time.strftime("%Y%m%d%H%M%S", time.gmtime(900_000_000 + seconds))
        digest = base64.b32encode(chance.randbytes(20)).decode()
        yield Capture(
            key=make_url_key(uri),
            time=time_,
            date=f"{time_[:4]}-{time_[4:6]}-{time_[6:8]}T{time_[8:10]}:{time_[10:12]}:{time_[12:]}Z",
            uri=uri,
            kind="response",
            media_type="text/html",
            status=200,
            digest=f"sha1:{digest}",
            file="a.warc.gz",
            offset=chance.randrange(1 << 30),
            length=chance.randrange(1000, 100_000),
        )


def _write(path: Path, members: Iterator[bytes]) -> None:
    with path.open("wb") as file:
        for text in members:
            file.write(gzip.compress(text, 6))


def _documents(number: int) -> Iterator[bytes]:
    """Requests and responses whose bodies are stretches of real documents."""
    documents = [path.read_bytes() for path in sorted(_CORPUS.glob("*")) if path.is_file()]
    if not documents:
        raise Missing(f"the corpus of real documents is not at {_CORPUS}")
    chance = random.Random(3)
    for one in range(number):
        document = documents[one % len(documents)]
        start = chance.randrange(max(len(document) - 30_000, 1))
        body = document[start : start + chance.randint(2000, 30_000)]
        yield from _pair(f"http://www.example{one % 37}.org/{one % 1009}/page{one}.html", one, body)


def _small(number: int) -> Iterator[bytes]:
    for one in range(number // 2):
        yield from _pair(f"http://www.example.org/page{one}.html", one, b"<p>%d</p>" % one)


def _pair(uri: str, number: int, body: bytes) -> Iterator[bytes]:
    request = b"GET / HTTP/1.1\r\nHost: www.example.org\r\nUser-Agent: test\r\n\r\n"
    response = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nServer: test\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
    )
    for kind, block, payload in (("response", response, body), ("request", request, b"")):
        digests = [
            base64.b32encode(hashlib.sha1(one).digest()).decode() for one in (block, payload)
        ]
        head = (
            f"WARC/1.0\r\nWARC-Type: {kind}\r\n"
            f"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{number:012}>\r\n"
            f"WARC-Target-URI: {uri}\r\n"
            f"WARC-Date: 2020-{1 + number % 12:02}-{1 + number % 28:02}T"
            f"{number % 24:02}:{number % 60:02}:00Z\r\n"
            f"WARC-Payload-Digest: sha1:{digests[1]}\r\nWARC-Block-Digest: sha1:{digests[0]}\r\n"
            f"Content-Type: application/http; msgtype={kind}\r\n"
            f"Content-Length: {len(block)}\r\n\r\n"
        )
        yield head.encode() + block + b"\r\n\r\n"
