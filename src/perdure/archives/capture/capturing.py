"""Capture a page and everything that belongs to it into a WARC file.

How it works: the page is fetched, then the images, style sheets, scripts and frames that it names
(found by `perdure.archives.capture.references`, as for replay), then whatever the frames and style
sheets name in turn. Each exchange is written as a response and a request record as soon as it is
complete. A redirect is recorded too, and its target is fetched next. Cookies are kept and sent as a
browser does until the capture is complete, and then dropped.

What must stay true: a response record holds the bytes that were on the wire; every address goes
through `perdure.fetching`, so that no page can make this machine reach into its own network; time,
memory and the number of requests are bounded, and everything that was left out is reported.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from secrets import token_hex
from time import monotonic
from typing import BinaryIO

import msgspec

from perdure.archives.capture import references
from perdure.archives.capture.warc_writing import CaptureWriter
from perdure.archives.files import heads
from perdure.archives.library import Library
from perdure.archives.pwid.making import make_pwid
from perdure.errors import InvalidRequest, PerdureError
from perdure.fetching import Cause, Exchange, Fetcher, Limits, Unreachable
from perdure.fetching.cookies import Cookies
from perdure.fetching.fetcher import find_redirect
from perdure.fetching.targets import join_url, parse_target
from perdure.ids.pwid import Pwid
from perdure.settings import Settings

_BELONGS = frozenset(("resource", "style", "frame"))
_HTML = frozenset(("text/html", "application/xhtml+xml", ""))  # no media type means HTML

Watch = Callable[[int, int, str], None]
"""Called with the number of requests made, the number of known URLs, and the last URL fetched."""


def _ignore_progress(done: int, known: int, last: str) -> None:
    """Ignore the progress."""


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one capture."""

    requests: int = 1000
    wire: int = 512 << 20
    """Bytes received in total. Requests already under way at the limit are still recorded."""
    seconds: int = 900
    """Time in total. Requests already under way at the limit are still recorded."""
    deepest: int = 4
    """Depth of frames in frames and of style sheets that import style sheets."""
    redirects: int = 10
    """Redirects in a row."""
    at_once: int = 4
    """Requests at a time. Each takes up to twice the fetcher's limit on a body in memory."""


class MissingResource(msgspec.Struct, frozen=True, kw_only=True):
    """A resource of the page that is not in the file, or only in part."""

    uri: str
    reason: str


class CaptureResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a capture."""

    pwid: Pwid
    """PWID of the page after all redirects."""
    status: int
    """HTTP status of the page."""
    exchanges: int
    wire: int
    """Bytes received."""
    missing: tuple[MissingResource, ...]

    def as_dict(self) -> dict[str, object]:
        """Return the result as a JSON object."""
        return {
            "pwid": str(self.pwid),
            "urn": self.pwid.urn,
            "status": self.status,
            "exchanges": self.exchanges,
            "bytes": self.wire,
            "missing": [msgspec.to_builtins(one) for one in self.missing],
        }


class _WantedAddress(msgspec.Struct, frozen=True):
    """An address to fetch, and how it was found."""

    url: str
    role: str
    depth: int = 0
    hops: int = 0


async def capture_page(
    url: str,
    into: BinaryIO,
    *,
    fetcher: Fetcher,
    archive_id: str,
    name: str,
    bounds: Bounds | None = None,
    watch: Watch = _ignore_progress,
) -> CaptureResult:
    """Fetch a page with its requisites and write them as WARC/1.1, each record compressed.

    `name` is the future name of the file. Raises InvalidRequest or Unreachable if the page itself
    cannot be fetched, MalformedIdentifier if no PWID can name it. Resources of the page that cannot
    be fetched are listed in `missing`.
    """
    parse_target(url)  # raises before anything is written
    make_pwid(archive_id, "2000", "page", url)
    writer = CaptureWriter(into, name=name, software=name_software(), user_agent=fetcher.user_agent)
    return await _CaptureRun(fetcher, writer, bounds or Bounds(), watch).capture_all(
        url, archive_id
    )


class _CaptureRun:
    """One capture in progress."""

    def __init__(
        self, fetcher: Fetcher, writer: CaptureWriter, bounds: Bounds, watch: Watch
    ) -> None:
        self._fetcher = fetcher
        self._writer = writer
        self._bounds = bounds
        self._watch = watch
        self._waiting: deque[_WantedAddress] = deque()
        self._known: set[str] = set()
        self._missing: list[MissingResource] = []
        self._cookies = Cookies()
        self._asked = 0
        self._wire = 0
        self._began = monotonic()

    async def capture_all(self, url: str, archive_id: str) -> CaptureResult:
        page = await self._fetch_page(join_url(url, ""))
        running: dict[asyncio.Task[Exchange], _WantedAddress] = {}
        try:
            while self._waiting or running:
                while self._waiting and len(running) < self._bounds.at_once:
                    wanted = self._waiting.popleft()
                    if self._is_affordable(wanted):
                        running[self._begin_fetch(wanted)] = wanted
                if running:
                    done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                    for task in done:
                        self._finish_fetch(task, running.pop(task))
        finally:
            for task in running:
                task.cancel()
        return CaptureResult(
            pwid=make_pwid(archive_id, page.began, "page", page.url),
            status=page.status,
            exchanges=self._writer.exchanges,
            wire=self._wire,
            missing=tuple(self._missing),
        )

    async def _fetch_page(self, url: str) -> Exchange:
        """Fetch the page itself through all redirects. Raises if it cannot be fetched."""
        met: set[tuple[str, str]] = set()
        while True:
            where = parse_target(url).url
            state = where, self._cookies.make_field(where)
            hops = len(met)
            if state in met or hops > self._bounds.redirects:
                fault = "it redirects too many times"
                raise Unreachable(url=where, fault=fault, cause=Cause.REDIRECTS.value)
            if monotonic() - self._began > self._bounds.seconds:
                raise Unreachable(
                    url=where, fault="its redirects take too long", cause=Cause.TIME.value
                )
            if where in self._known:
                await asyncio.sleep(1)  # a PWID cannot tell two captures in one second apart
            met.add(state)
            self._known.add(where)
            self._asked += 1
            wanted = _WantedAddress(where, "frame")
            exchange = await self._ask_server(wanted)
            onwards = find_redirect(exchange)
            self._write_exchange(exchange)
            self._watch(self._asked, len(self._known), where)
            if onwards is None:
                self._queue_named(exchange, wanted)
                return exchange
            url = onwards

    async def _ask_server(self, wanted: _WantedAddress) -> Exchange:
        cookies = self._cookies.make_field(wanted.url)
        fields = (("Cookie", cookies),) if cookies else ()
        exchange = await self._fetcher.exchange_once(wanted.url, headers=fields)
        self._cookies.keep_cookies(exchange)
        return exchange

    def _begin_fetch(self, wanted: _WantedAddress) -> asyncio.Task[Exchange]:
        self._asked += 1
        return asyncio.create_task(self._ask_server(wanted))

    def _finish_fetch(self, task: asyncio.Task[Exchange], wanted: _WantedAddress) -> None:
        try:
            exchange = task.result()
        except PerdureError as error:
            self._note_missing(wanted.url, str(error))
        else:
            self._keep_exchange(exchange, wanted)
        self._watch(self._asked, len(self._known), wanted.url)

    def _is_affordable(self, wanted: _WantedAddress) -> bool:
        for spent, most, what in (
            (self._asked, self._bounds.requests, "requests"),
            (self._wire, self._bounds.wire, "bytes"),
            (int(monotonic() - self._began), self._bounds.seconds, "seconds"),
        ):
            if spent >= most:
                self._note_missing(wanted.url, f"left out: a capture may take {most} {what}")
                return False
        return True

    def _keep_exchange(self, exchange: Exchange, wanted: _WantedAddress) -> None:
        """Record an exchange and queue the addresses to which it leads."""
        self._write_exchange(exchange)
        onwards = find_redirect(exchange)
        if onwards is None:
            self._queue_named(exchange, wanted)
        elif onwards == exchange.url or wanted.hops >= self._bounds.redirects:
            self._note_missing(onwards, "too many redirects")
        else:
            self._queue_address(_WantedAddress(onwards, wanted.role, wanted.depth, wanted.hops + 1))

    def _write_exchange(self, exchange: Exchange) -> None:
        self._writer.write_exchange(exchange)
        self._wire += len(exchange.received)
        if exchange.truncated:
            self._note_missing(exchange.url, f"cut off ({exchange.truncated})")

    def _queue_named(self, exchange: Exchange, wanted: _WantedAddress) -> None:
        """Queue the addresses that a document names."""
        if wanted.depth < self._bounds.deepest:
            for one in self._find_named(exchange, wanted):
                self._queue_address(_WantedAddress(one.uri, one.role, wanted.depth + 1))

    def _queue_address(self, wanted: _WantedAddress) -> None:
        try:
            url = parse_target(wanted.url).url
        except InvalidRequest as error:
            url = wanted.url
            is_of_web = url.startswith(("http:", "https:"))
            if url not in self._known and (is_of_web or wanted.hops):
                self._note_missing(url, str(error))
            self._known.add(url)  # `data:` and the like are part of the page itself
            return
        if url not in self._known:
            self._known.add(url)
            self._waiting.append(wanted)

    def _note_missing(self, uri: str, reason: str) -> None:
        self._missing.append(MissingResource(uri=uri, reason=reason))

    def _find_named(self, exchange: Exchange, wanted: _WantedAddress) -> list[references.Address]:
        """Return the addresses that belong to a document, in order."""
        css = exchange.media_type == "text/css"
        if not css and (exchange.media_type not in _HTML or wanted.role != "frame"):
            return []
        text = self._fetcher.decode_content(exchange)
        if exchange.body and not text:
            coding = exchange.find_header("Content-Encoding") or "damaged"
            self._note_missing(exchange.url, f"its content coding ({coding}) could not be decoded")
        charset = heads.find_charset(exchange.find_header("Content-Type") or "")
        found = references.find_addresses(text, exchange.url, css=css, charset=charset)
        return [one for one in found if one.role in _BELONGS]


def make_fetcher(settings: Settings, *, body: int, seconds: float) -> Fetcher:
    """Return a fetcher that names this registry in its User-Agent.

    `body`: the most bytes of one response; `seconds`: how long one response may take.
    """
    limits = Limits(body=body, seconds=seconds)
    about = f" (+{settings.base_url})" if settings.base_url else ""
    return Fetcher(
        user_agent=name_software() + about, networks=settings.private_networks, limits=limits
    )


def name_software() -> str:
    """Return the name and version of the software, for a `warcinfo` record."""
    return f"perdure/{version('perdure')}"


def capture_into_library(
    url: str,
    library: Library,
    incoming: Path,
    *,
    fetcher: Fetcher,
    archive_id: str,
    bounds: Bounds,
    watch: Watch = _ignore_progress,
) -> tuple[CaptureResult, str]:
    """Capture a page into the archive files of a registry. Return the result and the file's name.

    Runs an event loop of its own. The file is first written in the directory `incoming`. The index
    then gets all of its captures or none. Raises the errors of `capture_page` and of
    `Library.add_file`.
    """
    library.check_writable()
    path = incoming / make_file_name(url, mark=token_hex(2))
    try:
        with path.open("xb") as into:
            captured = asyncio.run(
                capture_page(
                    url,
                    into,
                    fetcher=fetcher,
                    archive_id=archive_id,
                    name=path.name,
                    bounds=bounds,
                    watch=watch,
                )
            )
        (added,) = library.add_file(path, move=True)
    finally:
        path.unlink(missing_ok=True)
    return captured, added.file.name


def make_file_name(url: str, *, mark: str, at: datetime | None = None) -> str:
    """Return the name of a capture's file, made of its time, its host and a unique mark.

    >>> moment = datetime(2016, 1, 22, 11, 20, 29, tzinfo=UTC)
    >>> make_file_name("http://www.dr.dk/a", mark="1f", at=moment)
    '20160122112029-www.dr.dk-1f.warc.gz'
    """
    moment = at or datetime.now(UTC)
    host = parse_target(url).host.replace(":", "_")
    return f"{moment:%Y%m%d%H%M%S}-{host[:100]}-{mark}.warc.gz"
