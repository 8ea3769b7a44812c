"""Search an index of captures on another server: OutbackCDX, pywb, or any CDX server.

How it works: a stretch of the index becomes a query: for one URL, with times, or for all URLs of a
host or domain. Lines of the answer outside the stretch are dropped. Lines are CDXJ or one of the
text forms with 9 to 14 fields; the server chooses.

What must stay true: file names in an answer are only looked up among the registered files; a
question that such a server cannot answer is refused, never answered in part; no answer is larger
than its limit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from perdure.archives.dates import format_second, parse_second
from perdure.archives.index import cdxj
from perdure.archives.port import Capture
from perdure.errors.captures import RangeNotListable
from perdure.errors.limits import StretchTooLong
from perdure.errors.servers import AnswerCut, ForeignAnswer, ServerRefused
from perdure.fetching import Exchange, Fetcher, Limits

MOST_LINES = 100_000
"""Lines that one stretch may cost."""
_LIMITS = Limits(seconds=30.0, body=64 << 20)
_EVERYWHERE = ("0.0.0.0/0", "::/0")
_SHA1_LENGTH = 32
_OK, _NOT_FOUND = 200, 404


class RemoteCaptures:
    """Implements `perdure.archives.port.Captures`."""

    def __init__(self, url: str) -> None:
        """`url` is that of the CDX server, chosen by the operator. A private network is allowed."""
        self._url = url
        self._fetcher = Fetcher(user_agent="perdure", networks=_EVERYWHERE, limits=_LIMITS)

    def scan_range(
        self, low: str, high: str, *, backwards: bool = False, limit: int
    ) -> list[Capture]:
        """See `Captures`.

        Raises Unavailable, InvalidRequest if the stretch is not that of one URL, host or domain,
        OverBudget if it costs more than `MOST_LINES` lines.
        """
        query = make_query(low, high)
        turned = backwards and query["matchType"] == "exact"
        if turned:
            query["sort"] = "reverse"
        size = min(limit, MOST_LINES) if query["matchType"] == "exact" else MOST_LINES
        while True:
            lines = self._ask_server(query | {"limit": str(size)})
            found = [one for one in map(self._read_line, lines) if low <= _format_place(one) < high]
            if backwards and not turned:
                found.reverse()
            if len(lines) < size or (len(found) >= limit and (turned or not backwards)):
                return found[:limit]
            if size >= MOST_LINES:
                raise StretchTooLong(most=MOST_LINES)
            size = min(size * 8, MOST_LINES)

    def scan_by_request(
        self,
        low: str,  # noqa: ARG002  # the port has it, like the other parameters
        high: str,  # noqa: ARG002
        *,
        backwards: bool = False,  # noqa: ARG002
        limit: int,  # noqa: ARG002
    ) -> list[Capture]:
        """Return nothing: the keys of a server are those of lists, so `scan_range` has all."""
        return []

    def count_captures(self) -> int:
        """Return 0: CDX servers do not report how many captures they have."""
        return 0

    def _ask_server(self, query: dict[str, str]) -> list[bytes]:
        mark = "&" if "?" in self._url else "?"
        found = _await_answer(self._fetcher.exchange_once(f"{self._url}{mark}{urlencode(query)}"))
        if found.status == _NOT_FOUND:
            return []
        if found.status != _OK or found.truncated:
            if found.truncated:
                raise AnswerCut(url=self._url, limit=found.truncated)
            raise ServerRefused(url=self._url, answered=found.status)
        return [line for line in self._fetcher.decode_content(found).splitlines() if line.strip()]

    def _read_line(self, line: bytes) -> Capture:
        try:
            return parse_line(line)
        except (ValueError, IndexError):
            raise ForeignAnswer(url=self._url, found=repr(line[:80])) from None


def _format_place(capture: Capture) -> str:
    return f"{capture.key} {capture.time}"


def _await_answer(asked: Coroutine[Any, Any, Exchange]) -> Exchange:
    """Wait for an answer, even on the thread of a running event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(asked)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, asked).result()


def make_query(low: str, high: str) -> dict[str, str]:
    """Return the query for a stretch of the index. Raises InvalidRequest if none fits.

    >>> make_query("dk,dr)/a 2016", "dk,dr)/a 20170101000000")
    {'url': 'http://dr.dk/a', 'matchType': 'exact', 'from': '2016', 'to': '20161231235959'}
    >>> make_query("dk,dr)/", "dk,dr-")
    {'url': 'dr.dk', 'matchType': 'domain'}
    """
    key, blank, first = low.partition(" ")
    if blank and high.startswith((f"{key} ", f"{key}!")):
        query = {"url": make_url(key), "matchType": "exact"}
        if first:
            query["from"] = first[:14]
        last = high[len(key) + 1 :]
        if last:
            query["to"] = last[:14] if len(last) != 14 else _second_before(last)
        return query
    host, mark, _ = low.partition(" ")[0].partition(")")
    if mark and high.startswith((f"{host})", f"{host}*")):
        common = next((n for n in range(len(low)) if low[n] != high[n : n + 1]), len(low))
        if common > len(host):
            return {"url": make_url(low[:common].partition(" ")[0]), "matchType": "prefix"}
        return {"url": _restore_host(host), "matchType": "host"}
    domain = high[:-1] if high.endswith("-") else ""
    if domain and host.startswith(domain):
        return {"url": _restore_host(domain), "matchType": "domain"}
    raise RangeNotListable()


def make_url(key: str) -> str:
    """Return a URL with this key.

    >>> make_url("org,example:8080)/a?b=1")
    'http://example.org:8080/a?b=1'
    """
    host, mark, path = key.partition(")")
    return f"http://{_restore_host(host)}{path}" if mark else key


def _restore_host(written: str) -> str:
    name, colon, port = written.partition(":")
    return ".".join(reversed(name.split(","))) + colon + port


def _second_before(time: str) -> str:
    try:
        moment = datetime.strptime(time, "%Y%m%d%H%M%S")  # noqa: DTZ007  # all are UTC
        before = moment - timedelta(seconds=1)
    except (ValueError, OverflowError):
        return time  # the caller drops lines outside the stretch
    return f"{before.year:04}{before:%m%d%H%M%S}"


def parse_line(line: bytes) -> Capture:
    """Parse a line of CDXJ, or of text with 9 to 14 fields. Raises ValueError, IndexError.

    key time URL type status digest redirect [meta length] offset file [more]
    """
    if line.split(b" ", 2)[2][:1] == b"{":
        return cdxj.parse_line(line)
    fields = line.decode("utf-8").split(" ")
    key, time, url, media_type, status, digest = fields[:6]
    offset, file = (fields[9], fields[10]) if len(fields) >= 11 else (fields[7], fields[8])
    revisit = media_type == "warc/revisit"
    return Capture(
        key=key,
        time=parse_second(time),
        date=format_second(parse_second(time)),
        uri=url,
        kind="revisit" if revisit else "response",
        media_type="" if revisit or media_type == "-" else media_type,
        status=int(status) if status.isdigit() else None,
        digest=f"sha1:{digest}" if len(digest) == _SHA1_LENGTH else digest.strip("-"),
        file=file,
        offset=int(offset),
        length=int(fields[8]) if len(fields) >= 11 and fields[8].isdigit() else 0,
    )
