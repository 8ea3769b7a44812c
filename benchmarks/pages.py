"""The pages that people see: processor time of the server for each, and what a browser loads.

How it works: a registry with texts, an HTML document and a picture is served by one worker. Each
page is asked for in rounds of requests, one after the other on one connection, and the median of
the rounds counts. Lists are those of the fixture with ten million names
(`PERDURE_BENCH_IDENTIFIERS` sets another number). Sizes are those with gzip -9: of a page with the
style sheet and the scripts that it loads at once, and of all files that it may load on demand.

What must stay true: the targets are absolute, because pages are for people, who wait.
"""

from __future__ import annotations

import gzip
import http.client
import io
import re
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

from benchmarks import fixture, loading
from benchmarks.measure import Ratio, show
from benchmarks.servers import Server, perdure
from perdure.model.commands import Content, Mint
from perdure.registry import Registry, initialise
from perdure.storage.spool import make_content

_ROUNDS = 7
_REQUESTS = 100  # in a round; the kernel counts processor time in hundredths of a second
_ABOUT = {"title": "A document", "creator": "Lovelace, Ada", "date": "1997"}
_LANDING, _LIST = 0.005, 0.010  # seconds
_PAGE, _HEAVIEST = 12e3, 110e3  # bytes
_ASSET = re.compile(rb'"(/assets/[^"]+)"')
_IMPORTED = re.compile(rb"""["'`](?:\./)?([\w-]+\.js)["'`]""")
_STARTED = re.compile(rb'data-script="([\w-]+)"')
_AT_ONCE = re.compile(
    rb'<(?:link rel="stylesheet" href|script type="module" src)="(/assets/[^"]+)"'
)


def run() -> list[Ratio]:
    return [*_measure_documents(), *_measure_lists()]


# documents
# ---------


def _measure_documents() -> Iterator[Ratio]:
    root = fixture.OUT / "pages"
    names = _mint_documents(root)
    with perdure(root) as server, _connect(server) as get:
        for kind, name in names.items():
            yield _measure(server, get, f"landing page of {kind}", f"/{name}?landing", _LANDING)
        text, markup = names["a text"], names["HTML"]
        yield _measure(server, get, "?point in a text", f"/{text}?point=900,1000", _LANDING)
        yield _measure(server, get, "?point in HTML", f"/{markup}?point=300,400", _LANDING)
        sizes = {kind: _weigh(get, f"/{name}?landing") for kind, name in names.items()}
    yield _compare_size("landing page without preview, gzip", sizes["a short text"][0], _PAGE)
    heaviest = max(everything for _, everything in sizes.values())
    yield _compare_size("all assets of the heaviest page, gzip", heaviest, _HEAVIEST)


def _mint_documents(root: Path) -> dict[str, str]:
    """Mint the documents, and return their names by what they are."""
    shutil.rmtree(root, ignore_errors=True)
    initialise(root, series=(fixture.SERIES,))
    line = "A line of a document that is shown on a page, and pointed at.\n"
    picture = io.BytesIO()
    Image.effect_noise((2400, 1800), 60).save(picture, "jpeg")
    markup = f"<!DOCTYPE html><title>Page</title>{f'<p>{line} <b>Bold</b>.' * 200}"
    documents = {
        "a text": _make(line * 2000, "text", "text/plain"),
        "HTML": _make(markup, "html", "text/html"),
        "a picture": make_content(picture.getvalue(), format="jpeg", media_type="image/jpeg"),
        "a short text": _make("Short.\n", "text", "text/plain"),
    }
    with Registry(root, environment={}) as registry:
        return {
            kind: registry.door.execute_command(
                Mint(authority=fixture.SERIES, contents=(content,), metadata=_ABOUT)
            ).identifier
            for kind, content in documents.items()
        }


def _make(text: str, format: str, media_type: str) -> Content:
    return make_content(text.encode(), format=format, media_type=media_type, charset="us-ascii")


# lists
# -----


def _measure_lists() -> Iterator[Ratio]:
    root, _ = loading.make_registry()
    command = [sys.executable, "-m", "perdure.cli", "-C", str(root), "counts"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # counts what is not counted
    series, day = f"/pdi://{fixture.SERIES}/", fixture.days()[-1]
    year, month = day[:4], day[:7]
    with perdure(root) as server, _connect(server) as get:
        page = get(f"{series}{day}/").decode()
        following = re.search(r'rel="next" href="([^"]+)"', page)
        assert following is not None, "a day has more names than a page"
        rows = {
            "a series": series,
            "a year": f"{series}{year}/",
            "a month": f"{series}{month}/",
            "a day": f"{series}{day}/",
            "a day by a cursor": f"{series}{day}/{following[1].replace('&amp;', '&')}",
        }
        for name, path in rows.items():
            title = f"list of {name} among {fixture.COUNT:,}"
            yield _measure(server, get, title, path, _LIST)


# measuring
# ---------


_Get = Callable[[str], bytes]


@contextmanager
def _connect(server: Server) -> Iterator[_Get]:
    """Ask a server on one connection, as a browser asks it for pages."""
    wire = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    fields = {"Accept": "text/html,*/*;q=0.8", "Accept-Encoding": "identity"}

    def get(path: str) -> bytes:
        accept = {"Accept": "application/json"} if "?point" in path else {}
        wire.request("GET", path, headers=fields | accept)
        answer = wire.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {body[:300]!r}")
        return body

    try:
        yield get
    finally:
        wire.close()


def _measure(server: Server, get: _Get, name: str, path: str, target: float) -> Ratio:
    seconds = []
    for number in range(_ROUNDS + 1):
        before = server.seconds()
        for _ in range(_REQUESTS):
            get(path)
        if number:  # the first round fills caches
            seconds.append((server.seconds() - before) / _REQUESTS)
    median = max(statistics.median(seconds), 1e-6)
    print(f"  {name}: {median * 1000:.2f} ms", file=sys.stderr)
    return Ratio(name, 1 / median, 1 / target, "pages/CPU-s", target / median, 1)


def _weigh(get: _Get, path: str) -> tuple[int, int]:
    """Return the bytes of a page with what it loads at once, and those of all that it may load."""
    page = get(path)
    at_once = {one.decode() for one in _AT_ONCE.findall(page)}
    scripts = next(one for one in at_once if one.endswith(".js")).rpartition("/")[0]
    every, waiting = dict[str, int](), {one.decode() for one in _ASSET.findall(page)} | at_once
    waiting |= {f"{scripts}/{one.decode()}.js" for one in _STARTED.findall(page)}
    while waiting:
        place = waiting.pop()
        data = get(place)
        every[place] = _zip_length(data)
        beside = {place.rpartition("/")[0] + f"/{one.decode()}" for one in _IMPORTED.findall(data)}
        waiting |= (beside if place.endswith(".js") else set()) - every.keys()
    return _zip_length(page) + sum(every[one] for one in at_once), sum(every.values())


def _zip_length(data: bytes) -> int:
    return len(gzip.compress(data, 9))


def _compare_size(name: str, size: float, target: float) -> Ratio:
    print(f"  {name}: {size / 1000:.1f} kB", file=sys.stderr)
    return Ratio(f"{name} / target", size, target, "bytes", target / size, 1)


if __name__ == "__main__":
    sys.exit(0 if show(run()) else 1)
