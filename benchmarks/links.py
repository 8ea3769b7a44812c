"""Checks of links a second, against a local server that answers after 50 ms, on one core."""

from __future__ import annotations

import asyncio
import sys
import time

from benchmarks.measure import Ratio
from benchmarks.servers import free_port, serving
from perdure.upkeep.linkcheck import LinkChecker, LinkVerdict, Politeness
from perdure.upkeep.linkcheck.checker import Task
from perdure.upkeep.linkcheck.verdict import ExpectedContent

LINKS = 3000
HOSTS = 100
TARGET = 300  # a second
_SERVER = """
import asyncio, sys
PAGE = b"<html><h1>A page</h1><p>that is there, number "
async def serve(reader, writer):
    try:
        head = await reader.readuntil(b"\\r\\n\\r\\n")
        path = head.split(b" ", 2)[1]
        await asyncio.sleep(0.05)
        there = path.startswith(b"/page/") and path[6:].isdigit()
        body = (PAGE + path[6:]) if there else b"none"
        writer.write(
            b"HTTP/1.1 %s\\r\\nContent-Type: text/html\\r\\nContent-Length: %d\\r\\n\\r\\n"
            % (b"200 OK" if there else b"404 Not Found", len(body)) + body
        )
        await writer.drain()
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", int(sys.argv[1]), backlog=4096)
    await server.serve_forever()
asyncio.run(main())
"""


def run() -> list[Ratio]:
    port = free_port()
    with serving([sys.executable, "-c", _SERVER, str(port)], port):
        began = time.perf_counter()
        well, requests = asyncio.run(_check(port))
        seconds = time.perf_counter() - began
    if well != LINKS:
        raise RuntimeError(f"{LINKS - well} links were found lost that are not")
    rate = LINKS / seconds
    print(f"{LINKS} links in {seconds:.2f} s, with {requests} requests")
    return [
        Ratio(
            name=f"links checked, {HOSTS} hosts with 50 ms latency / target",
            ours=rate,
            other=TARGET,
            unit="links/s",
            ratio=rate / TARGET,
            target=1.0,
        )
    ]


async def _check(port: int) -> tuple[int, int]:
    checker = LinkChecker(networks=("127.0.0.0/8",), politeness=Politeness(), resolve=_here)
    tasks = (
        Task(ExpectedContent(f"http://host{one % HOSTS}.example:{port}/page/{one}"))
        for one in range(LINKS)
    )
    found = [one async for one in checker.check_tasks(tasks)]
    return sum(one.verdict is LinkVerdict.OK for one in found), checker.requests


async def _here(_host: str, _port: int) -> list[str]:
    return ["127.0.0.1"]
