"""Servers on 127.0.0.1 that answer with just the bytes that a test gives them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

Answer = Callable[[str], bytes]
"""From the request line to the bytes that come back."""


class Stranger:
    """A running server, and what it was asked."""

    def __init__(self) -> None:
        self.port = 0
        self.asked: list[bytes] = []

    def url(self, path: str = "/", *, host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"


@asynccontextmanager
async def stranger(
    answer: Answer, *, tls: ssl.SSLContext | None = None, hang: bool = False
) -> AsyncIterator[Stranger]:
    """Serves until the block ends. With `hang` a connection stays open behind the answer."""
    running = Stranger()
    waiting = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await reader.readuntil(b"\r\n\r\n")
            running.asked.append(request)
            writer.write(answer(request.split(b"\r\n")[0].decode()))
            await writer.drain()
            if hang:
                await waiting.wait()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client had enough
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    running.port = server.sockets[0].getsockname()[1]
    try:
        yield running
    finally:
        waiting.set()
        server.close()


def response(body: bytes = b"", status: str = "200 OK", **fields: str) -> bytes:
    """A response with a length; `Content_Type` and the like are header fields."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items()]
    return "\r\n".join((*lines, "", "")).encode() + body
