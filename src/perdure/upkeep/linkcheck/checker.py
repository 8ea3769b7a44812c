"""Asks servers whether a location still exists, many at a time, and politely.

How it works: `LinkChecker.check_tasks` takes locations one by one from a source and yields findings
as they come. A fixed number of workers share the source. A worker waits for its turn at the host
(`politeness`), asks with GET (too many servers answer HEAD wrongly) and reads no more of the answer
than it needs: all of it if a digest was bound, otherwise the beginning. A redirect to another host
waits for its turn there. If the last check found no problem, the request is conditional. If a page
exists, its folder is asked once for an invented name, to recognise soft 404s.

What must stay true: a location gets exactly one finding, whatever its server does; the number of
workers and hosts bounds the memory, and the limits of `perdure.fetching` bound the time.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Iterator
from contextlib import nullcontext
from datetime import UTC, datetime
from urllib.parse import urlsplit

import msgspec

from perdure.errors import InvalidRequest, PerdureError
from perdure.errors.captures import RobotsForbid
from perdure.fetching import Cause, Exchange, Fetcher, Limits, Unreachable
from perdure.fetching.fetcher import Fields, find_redirect
from perdure.fetching.targets import parse_target
from perdure.upkeep.linkcheck import soft
from perdure.upkeep.linkcheck.politeness import BUSY, Host, import_protego
from perdure.upkeep.linkcheck.verdict import ExpectedContent, LinkFinding, LinkVerdict, judge_answer

USER_AGENT = "perdure-linkcheck/1 (+https://www.rfc-editor.org/rfc/rfc9309)"
_BEGINNING = 64 << 10  # bytes of a page that are read if nothing was bound
_TRIES = 3  # if the server answers "later"
_MOST_FOLDERS = 10_000  # folders whose soft 404s are remembered
_LARGE_AT_ONCE = 4
_FORBIDDEN = "its robots.txt forbids it, or cannot be read"
_PATIENCE = 2.0  # seconds that a worker waits for a host while there is other work


class Politeness(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on the work that is done at once."""

    workers: int = 64
    per_host: int = 2
    seconds: float = 30.0
    """Time limit of one exchange."""
    largest: int = 64 << 20
    """Bytes of the largest document whose digest is checked; above, only the size is."""


class Task(msgspec.Struct, frozen=True):
    """A location to check, and the finding of the last check."""

    expected: ExpectedContent
    before: LinkFinding | None = None


class LinkChecker:
    """Checks locations. `networks`: private networks that it may contact (`private_networks`)."""

    def __init__(
        self,
        *,
        networks: tuple[str, ...] = (),
        politeness: Politeness | None = None,
        **more: object,
    ) -> None:
        self._how = politeness or Politeness()
        settings = {"user_agent": USER_AGENT, "networks": networks} | more
        few = Limits(seconds=self._how.seconds, body=_BEGINNING, inflated=_BEGINNING)
        all_ = Limits(
            seconds=self._how.seconds * 4, body=self._how.largest, inflated=self._how.largest
        )
        self._brief = Fetcher(limits=few, **settings)  # type: ignore[arg-type]  # as they are there
        self._thorough = Fetcher(limits=all_, **settings)  # type: ignore[arg-type]
        self._hosts: dict[str, Host] = {}
        self._folders: dict[str, asyncio.Task[soft.Shape | None]] = {}
        self._later: deque[Task] = deque()
        self._large = asyncio.Semaphore(_LARGE_AT_ONCE)
        self.requests = 0

    async def check_tasks(self, tasks: Iterator[Task]) -> AsyncIterator[LinkFinding]:
        """Yield findings as they come. Raises MissingLibrary without perdure[links]."""
        import_protego()  # before any task is running, and whether or not a host has a robots.txt
        found: asyncio.Queue[LinkFinding | None] = asyncio.Queue(self._how.workers)
        async with asyncio.TaskGroup() as group:
            for _ in range(self._how.workers):
                group.create_task(self._run_worker(tasks, found))
            running = self._how.workers
            while running:
                finding = await found.get()
                if finding is None:
                    running -= 1
                else:
                    yield finding

    async def _run_worker(
        self, tasks: Iterator[Task], found: asyncio.Queue[LinkFinding | None]
    ) -> None:
        for task, is_late in self._with_later(tasks):
            finding = await self._find_or_defer(task, is_late=is_late)
            if finding is None:
                self._later.append(task)
                continue
            now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            failures = 0
            if finding.verdict in (LinkVerdict.UNREACHABLE, LinkVerdict.DEAD, LinkVerdict.SOFT_404):
                failures = 1 + (task.before.failures if task.before else 0)
            await found.put(msgspec.structs.replace(finding, checked=now, failures=failures))
        await found.put(None)

    def _with_later(self, tasks: Iterator[Task]) -> Iterator[tuple[Task, bool]]:
        """Yield all tasks, then those whose hosts asked for a pause."""
        for task in tasks:
            yield task, False
        while self._later:
            yield self._later.popleft(), True

    async def _find_or_defer(self, task: Task, *, is_late: bool) -> LinkFinding | None:
        """Return the finding, or None if the host should be asked later."""
        uri = task.expected.uri
        try:
            if not is_late and self._host_of(parse_target(uri).url).remaining_wait > _PATIENCE:
                return None
            return await self._ask_server(task)
        except InvalidRequest as error:
            return _make_finding(uri, LinkVerdict.REFUSED, error.reason)
        except Unreachable as error:
            circle = error.cause == Cause.REDIRECTS.value
            return _make_finding(
                uri, LinkVerdict.DEAD if circle else LinkVerdict.UNREACHABLE, error.reason
            )

    async def _ask_server(self, task: Task) -> LinkFinding:
        expected, before = task.expected, task.before
        for _ in range(_TRIES):
            chain, content = await self._exchange_bound(expected, before)
            if chain[-1].status not in BUSY:
                break
        finding = judge_answer(expected, chain, content, before)
        if finding.verdict in (LinkVerdict.OK, LinkVerdict.MOVED) and not expected.sha512:
            return await self._doubt_page(finding, chain)
        return finding

    async def _exchange_bound(
        self, expected: ExpectedContent, before: LinkFinding | None
    ) -> tuple[tuple[Exchange, ...], bytes | None]:
        """Return the chain of exchanges and the content at its end. The content is None if it was
        compressed all the same, and is too long or cannot be decompressed."""
        fields = _conditional_fields(before)
        if expected.is_bound:  # a length must be that of the content itself
            fields = (*fields, ("Accept-Encoding", "identity"))
        fetcher = self._brief if expected.sha512 is None else self._thorough
        chain = await self._follow_redirects(fetcher, expected.uri, fields)
        content = fetcher.decode_content(chain[-1])
        is_coded = chain[-1].find_header("Content-Encoding") is not None
        if is_coded and len(content) in (0, fetcher.limits.inflated):
            return chain, None
        return chain, content

    async def _follow_redirects(
        self, fetcher: Fetcher, uri: str, fields: Fields
    ) -> tuple[Exchange, ...]:
        """Ask, and follow redirects; ask each server as its rules require.

        Raises InvalidRequest if one of them must not be asked, Unreachable if one cannot be.
        """
        large = self._large if fetcher is self._thorough else nullcontext()

        async def ask_politely(url: str) -> Exchange:
            host = self._host_of(parse_target(url).url)
            if not (await host.load_robots(self._brief)).allows_url(url):
                raise RobotsForbid(url=url)
            async with host.take_turn(), large:
                self.requests += 1
                found = await fetcher.exchange_once(url, headers=fields)
            host.note_answer(found)
            if find_redirect(found) is None:
                return found
            return msgspec.structs.replace(found, received=found.head, body=b"")  # saves memory

        return await fetcher.follow_redirects(uri, ask=ask_politely)

    async def _doubt_page(self, finding: LinkFinding, chain: tuple[Exchange, ...]) -> LinkFinding:
        """Return the finding, or SOFT_404 if a server on the way answers any address like this."""
        last = chain[-1]
        if last.status != 200 or not soft.may_be_excuse(last.media_type):
            return finding
        page = soft.page_shape(self._brief.decode_content(last), last.url)
        asked = (chain[0].url,) if soft.leads_up(chain[0].url, last.url) else ()
        for url in (*asked, last.url):
            beside = soft.invent_sibling(url)
            excuse = await self._folder_excuse(beside) if beside is not None else None
            if excuse is not None and soft.are_alike(page, excuse):
                return msgspec.structs.replace(
                    finding,
                    verdict=LinkVerdict.SOFT_404,
                    reason="200, but the same page as for an invented address",
                    moved_to=None,
                    etag=None,
                    modified=None,
                )
        return finding

    async def _folder_excuse(self, beside: str) -> soft.Shape | None:
        """Return the page for an invented name, or None if the folder honestly says "not found"."""
        folder = beside.rpartition("/")[0] + "." + beside.rpartition("/")[2].partition(".")[2]
        asked = self._folders.get(folder)
        if asked is None:
            if len(self._folders) >= _MOST_FOLDERS:
                self._folders.clear()
            asked = asyncio.create_task(self._ask_invented(beside))
            self._folders[folder] = asked
        return await asked

    async def _ask_invented(self, beside: str) -> soft.Shape | None:
        try:
            chain = await self._follow_redirects(self._brief, beside, ())
        except PerdureError:
            return None
        if chain[-1].status != 200:
            return None
        return soft.page_shape(self._brief.decode_content(chain[-1]), beside, chain[-1].url)

    def _host_of(self, uri: str) -> Host:
        parts = urlsplit(uri)
        origin = f"{parts.scheme.lower()}://{parts.netloc.lower()}"
        host = self._hosts.get(origin)
        if host is None:
            host = self._hosts[origin] = Host(origin, connections=self._how.per_host)
        return host


def _conditional_fields(before: LinkFinding | None) -> tuple[tuple[str, str], ...]:
    """Return header fields that make the request conditional, if the last answer was good."""
    if before is None or before.verdict not in (LinkVerdict.OK, LinkVerdict.MOVED):
        return ()
    if before.etag:
        return (("If-None-Match", before.etag),)
    return (("If-Modified-Since", before.modified),) if before.modified else ()


def _make_finding(uri: str, verdict: LinkVerdict, reason: str) -> LinkFinding:
    return LinkFinding(uri=uri, verdict=verdict, reason=reason)
