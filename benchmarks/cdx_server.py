"""`/cdx` over HTTP, against pywb's: the nearest capture of a URL, all of a URL, one of a hot URL.

How it works: both have the same 120,000 captures, pywb as a sorted CDXJ file in a collection, we in
our own index. pywb answers CDX queries in two programs: `wayback`, which archives run and which
hands the query on, and the `warcserver` inside it alone. Each is asked on one core.

What must stay true: both give the same lines; it is checked before anything is measured.
"""

from __future__ import annotations

import json
import os
import shutil
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from benchmarks.fixture import OUT, expect
from benchmarks.measure import Ratio
from benchmarks.servers import Missing, Server, free_port, perdure, rounds, serving, wrk
from perdure.archives.dates import format_second
from perdure.archives.index import sqlite_index
from perdure.archives.index.adding import FileAddition
from perdure.archives.index.sqlite_index import ArchiveFile
from perdure.archives.library import DIRECTORY
from perdure.archives.port import Capture
from perdure.ids.urlkey import make_url_key
from perdure.registry import initialise

PEERS = Path(__file__).parents[1] / ".peers" / "bin"
URLS = 20_000
CAPTURES = 5  # of each URL
HOT = 20_000  # captures of one URL
_TARGET = 10.0


def captures() -> Iterator[Capture]:
    """In order of the index."""
    found = []
    for number in range(URLS):
        uri = f"http://www.site{number % 500}.example/path/{number}/page.html?id={number}"
        found += [
            _capture(uri, f"{2010 + year}0{1 + number % 9}12112029", number)
            for year in range(CAPTURES)
        ]
    for number in range(HOT):
        day, rest = divmod(number, 1440)
        found.append(
            _capture(
                "http://hot.example/", f"201501{1 + day:02}{rest // 60:02}{rest % 60:02}00", number
            )
        )
    return iter(sorted(found, key=lambda one: (one.key, one.time)))


def _capture(uri: str, time: str, number: int) -> Capture:
    return Capture(
        key=make_url_key(uri),
        time=time,
        date=format_second(time),
        uri=uri,
        kind="response",
        media_type="text/html",
        status=200,
        digest=f"sha1:{number:032}",
        file="bench.warc.gz",
        offset=number * 1000,
        length=900,
    )


def _line(one: Capture) -> str:
    body = {
        "url": one.uri,
        "mime": one.media_type,
        "status": str(one.status),
        "digest": one.digest,
        "length": str(one.length),
        "offset": str(one.offset),
        "filename": one.file,
    }
    return f"{one.key} {one.time} {json.dumps(body)}\n"


def make_ours(root: Path) -> Path:
    """A registry with these captures."""
    initialise(root)
    place = root / DIRECTORY
    sqlite_index.create_index(place)
    with FileAddition(place) as adding:
        for one in captures():
            adding.add_capture(one)
        adding.finish_file(
            ArchiveFile(
                id=0,
                name="bench.warc.gz",
                path="bench.warc.gz",
                base=0,
                size=1,
                modified=0,
                added="2026-11-21T00:00:00Z",
                records=0,
                captures=0,
                flaws=0,
            ),
            [],
        )
    return root


def make_pywb(root: Path) -> Path:
    """A pywb directory with a collection of these captures."""
    indexes = root / "collections" / "bench" / "indexes"
    indexes.mkdir(parents=True)
    (root / "collections" / "bench" / "archive").mkdir()
    (indexes / "index.cdxj").write_text("".join(map(_line, captures())))
    return root


@contextmanager
def _pywb(program: str, root: Path) -> Iterator[Server]:
    path = PEERS / program
    if not path.exists():
        raise Missing(f"{path} is not installed (see 'make .peers/.installed')")
    port = free_port()
    back = Path.cwd()
    os.chdir(root)  # where both look for collections
    try:
        started = serving([str(path), "-b", "127.0.0.1", "-p", str(port)], port)
        server = started.__enter__()
    finally:
        os.chdir(back)
    try:
        yield server
    finally:
        started.__exit__(None, None, None)


def _script(path: Path, place: str, queries: list[str]) -> Path:
    """A wrk script that asks one of these at random, and counts what is not 200."""
    lines = ",\n".join(json.dumps(one) for one in queries)
    path.write_text(
        f"""local queries = {{ {lines} }}
        math.randomseed(1994)
        request = function()
          return wrk.format("GET", "{place}?" .. queries[math.random(#queries)])
        end
        {expect("status ~= 200")}
        """
    )
    return path


def _ask(server: Server, target: str) -> list[tuple[str, str, dict[str, str]]]:
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}{target}") as answer:
        lines = answer.read().decode().splitlines()
    found = []
    for line in lines:
        key, time, body = line.split(" ", 2)
        said = json.loads(body)
        found.append((key, time, {name: said[name] for name in ("url", "digest", "offset")}))
    return found


def _queries() -> dict[str, list[str]]:
    chosen = range(0, URLS, 40)
    urls = [
        f"http%3A%2F%2Fwww.site{one % 500}.example%2Fpath%2F{one}%2Fpage.html%3Fid%3D{one}"
        for one in chosen
    ]
    return {
        "nearest": [f"url={url}&closest=20120601000000&limit=1" for url in urls],
        "all of a URL": [f"url={url}" for url in urls],
    }


def run() -> list[Ratio]:
    work = OUT / "cdx_server"
    shutil.rmtree(work, ignore_errors=True)
    ours_root, theirs_root = make_ours(work / "registry"), make_pywb(work / "pywb")
    ratios = []
    with (
        perdure(ours_root) as ours,
        _pywb("wayback", theirs_root) as wayback,
        _pywb("warcserver", theirs_root) as warcserver,
    ):
        places = (("wayback", wayback, "/bench/cdx"), ("warcserver", warcserver, "/bench/index"))
        for name, queries in _queries().items():
            mine = _script(work / "ours.lua", "/cdx", queries)
            for rival, server, place in places:
                for query in queries[:5]:
                    same = _ask(ours, f"/cdx?{query}") == _ask(server, f"{place}?{query}")
                    if not same:
                        raise RuntimeError(f"{rival} gives other lines for {query}")
                theirs = _script(work / f"{rival}.lua", place, queries)
                ratios += rounds(
                    f"/cdx, {name}",
                    partial(wrk, ours, mine, seconds=2, connections=8),
                    {
                        f"pywb {rival}": (
                            partial(wrk, server, theirs, seconds=2, connections=8),
                            _TARGET if rival == "wayback" else 4.0,
                        )
                    },
                    unit="requests/CPU-s",
                    count=3,
                )
    return ratios
