"""A server of pages that live, die, move, lie and change, in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web

LATENCY = 0.05
"""Seconds."""


class World:
    """What the server does, and what it was asked. Any host name leads to it."""

    def __init__(self) -> None:
        self.port = 0
        self.asked: Counter[str] = Counter()
        self.headers: list[dict[str, str]] = []
        self.at_once = self.most_at_once = 0
        self.at_host: Counter[str] = Counter()
        self.most_at_host: Counter[str] = Counter()
        self.later: dict[str, int] = {}
        """How often an address still answers 429, by path."""
        self.retry_after = "0"
        self.slow = True
        """Whether the page /slow is still on its way."""
        self.robots = ""
        self.pages: dict[str, bytes] = {}
        self.coding: str | None = None
        """In which pages are sent, whatever a request accepts."""

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked[request.path] += 1
        self.headers.append(dict(request.headers))
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        host = request.host.partition(":")[0]
        self.at_host[host] += 1
        self.most_at_host[host] = max(self.most_at_host[host], self.at_host[host])
        try:
            await asyncio.sleep(LATENCY)
            if request.path == "/slow":
                while self.slow:  # noqa: ASYNC110  (a test in another thread ends it)
                    await asyncio.sleep(LATENCY)
                return web.Response(text="at last", content_type="text/plain")
            return self._answer(request)
        finally:
            self.at_once -= 1
            self.at_host[host] -= 1

    def _answer(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        if path == "/robots.txt":
            return web.Response(text=self.robots, status=200 if self.robots else 404)
        if self.later.get(path, 0):
            self.later[path] -= 1
            return web.Response(status=429, headers={"Retry-After": self.retry_after})
        if path.startswith("/moved/"):
            raise web.HTTPMovedPermanently("/page/" + path.removeprefix("/moved/"))
        if path.startswith("/elsewhere/"):
            raise web.HTTPFound("/page/1")
        if path.startswith("/home/"):
            raise web.HTTPFound("/")
        if path == "/":
            return _html("<h1>Welcome</h1><p>to the home of all that we have to say to the world")
        if path.startswith("/away/"):
            raise web.HTTPFound(self.url("/page/1", "other.example"))
        if path.startswith("/loop/"):
            raise web.HTTPFound(f"/loop/{int(path.removeprefix('/loop/')) + 1}")
        if path.startswith("/circle"):
            raise web.HTTPMovedPermanently("/circle")
        if path.startswith("/soft/"):
            return _html(f"<h1>Sorry</h1><p>We could not find {path} for you, dear reader of ours")
        if path.startswith("/status/"):
            return web.Response(status=int(path.removeprefix("/status/")))
        if path.startswith("/page/"):
            tag = f'"{path}"'
            if request.headers.get("If-None-Match") == tag:
                return web.Response(status=304, headers={"ETag": tag})
            number = path.removeprefix("/page/")
            if number.isdigit():
                return _html(f"<h1>Page {number}</h1>" + f"<p>word{number} " * 20, ETag=tag)
        if path in self.pages:
            coding = {"Content-Encoding": self.coding} if self.coding else None
            body = self.pages[path]
            return web.Response(body=body, content_type="application/pdf", headers=coding)
        return web.Response(status=404, text="no such page")


def _html(text: str, **headers: str) -> web.Response:
    return web.Response(text=text, content_type="text/html", headers=headers)


@pytest.fixture
def world() -> Iterator[World]:
    running, ready = World(), threading.Event()
    loop = asyncio.new_event_loop()

    async def serve() -> web.AppRunner:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", running.answer)
        runner = web.AppRunner(application)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        server: Any = site._server
        running.port = server.sockets[0].getsockname()[1]
        return runner

    runner = loop.run_until_complete(serve())

    def run() -> None:
        loop.call_soon(ready.set)
        loop.run_forever()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    ready.wait()
    yield running
    asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(10)
    loop.call_soon_threadsafe(loop.stop)
    thread.join(10)
    loop.close()
