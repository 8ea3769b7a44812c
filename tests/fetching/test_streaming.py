"""Streamed requests and responses: kept connections, bodies both ways, servers that lie."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest
from tests.fetching.strangers import response, stranger

from perdure.errors import InvalidRequest
from perdure.errors.captures import HostNotPublic
from perdure.fetching.exchange import Cause, Unreachable
from perdure.fetching.streaming import StreamingFetcher, StreamLimits

LOOPBACK = ("127.0.0.0/8",)
Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test in an event loop of its own."""

    @functools.wraps(test)
    def run(*arguments: Any, **named: Any) -> None:
        asyncio.run(test(*arguments, **named))

    return run


def make_fetcher(networks: tuple[str, ...] = LOOPBACK, **limits: float) -> StreamingFetcher:
    fetcher = StreamingFetcher(user_agent="perdure", networks=networks)
    fetcher.limit_streams(StreamLimits(**limits))
    return fetcher


async def get(fetcher: StreamingFetcher, url: str, **request: Any) -> tuple[int, bytes]:
    answer = await fetcher.open_response(url, **request)
    return answer.status, await answer.read_all(1 << 24)


@asynccontextmanager
async def serving(serve: Serve) -> AsyncIterator[str]:
    """A server with a function for each connection; the address of its root."""

    async def guard(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(guard, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    finally:
        server.close()


async def serve_kept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer every request of a connection with the port that it came from."""
    port = str(writer.get_extra_info("peername")[1]).encode()
    while True:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(response(port))
        await writer.drain()


@in_loop
async def test_a_connection_is_kept_for_the_next_request() -> None:
    """ "keep-alive pool per pinned address" """
    async with serving(serve_kept) as url:
        fetcher = make_fetcher()
        first = await get(fetcher, url)
        assert first[0] == 200
        assert await get(fetcher, url) == first
        one, other = await asyncio.gather(get(fetcher, url), get(fetcher, url))
        assert one != other  # two at once need two
        fetcher.close()


@pytest.mark.parametrize("behind", [b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison", b"x"])
@in_loop
async def test_bytes_behind_a_response_are_never_the_next_response(behind: bytes) -> None:
    """ "no response is ever taken for that of another request" """

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(response(b"good") + behind)
        await writer.drain()
        await reader.read()

    async with serving(serve) as url:
        fetcher = make_fetcher()
        for _ in range(3):
            assert await get(fetcher, url) == (200, b"good")
            await asyncio.sleep(0.01)


@in_loop
async def test_a_kept_connection_that_was_closed_costs_one_repetition() -> None:
    async with stranger(lambda _: response(b"once")) as there:  # which closes after each answer
        fetcher = make_fetcher()
        for _ in range(3):
            assert await get(fetcher, there.url()) == (200, b"once")


@pytest.mark.parametrize("with_length", [True, False])
@in_loop
async def test_a_body_is_streamed_to_the_server(*, with_length: bool) -> None:
    """ "bodies both ways, any method" """
    pieces = [b"a" * 100_000, b"", b"b" * 3, b"c" * 70_000]

    async def send() -> AsyncIterator[bytes]:
        for piece in pieces:
            await asyncio.sleep(0)
            yield piece

    heads: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        heads.append(head)
        body = bytearray()
        if b"chunked" in head:
            while size := int(await reader.readline(), 16):
                body += await reader.readexactly(size)
                await reader.readexactly(2)
        else:
            body += await reader.readexactly(sum(map(len, pieces)))
        writer.write(response(bytes(body)))
        await writer.drain()

    async with serving(serve) as url:
        fields = (("Content-Length", str(sum(map(len, pieces)))),) if with_length else ()
        status, body = await get(make_fetcher(), url, method="PATCH", headers=fields, body=send())
    assert (status, body) == (200, b"".join(pieces))
    assert heads[0].startswith(b"PATCH / HTTP/1.1\r\n")
    assert (b"chunked" in heads[0]) is not with_length


@in_loop
async def test_a_server_may_answer_before_it_has_the_body() -> None:
    async def send() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 65_536

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(response(b"enough", "413 Content Too Large"))
        await writer.drain()
        await asyncio.sleep(0.2)

    async with serving(serve) as url:
        answer = await get(make_fetcher(), url, method="POST", body=send())
    assert answer == (413, b"enough")


@pytest.mark.parametrize(
    ("sent", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", b"abc"),
        (b"HTTP/1.0 200 OK\r\n\r\nto the end", b"to the end"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + response(b"after"), b"after"),
        (b"HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n" + response(b"late"), b"late"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
    ],
)
@in_loop
async def test_every_framing_is_read(sent: bytes, body: bytes) -> None:
    async with stranger(lambda _: sent) as there:
        assert (await get(make_fetcher(), there.url()))[1] == body


@in_loop
async def test_head_has_no_body() -> None:
    async with stranger(lambda _: b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n") as there:
        assert await get(make_fetcher(), there.url(), method="HEAD") == (200, b"")


@pytest.mark.parametrize(
    ("sent", "cause"),
    [
        (b"<html>HTTP/0.9 has no head</html>", Cause.PROTOCOL),
        (b"", Cause.CONNECTION),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", Cause.CONNECTION),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal", Cause.CONNECTION),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n", Cause.PROTOCOL),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", Cause.PROTOCOL),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
         Cause.PROTOCOL),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 40_000, Cause.PROTOCOL),
    ],
)  # fmt: skip
@in_loop
async def test_servers_that_lie_are_found_out(sent: bytes, cause: Cause) -> None:
    async with stranger(lambda _: sent) as there:
        with pytest.raises(Unreachable) as caught:
            await get(make_fetcher(), there.url())
    assert caught.value.cause == cause.value


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf"])
@in_loop
async def test_servers_that_hang_are_given_up(sent: bytes) -> None:
    async with stranger(lambda _: sent, hang=True) as there:
        fetcher = make_fetcher(head_seconds=0.1, piece_seconds=0.1)
        with pytest.raises(Unreachable) as caught:
            await get(fetcher, there.url())
    assert caught.value.cause == Cause.TIME.value


@in_loop
async def test_only_checked_addresses_are_asked() -> None:
    async with stranger(lambda _: response(b"secret")) as there:
        with pytest.raises(HostNotPublic):
            await get(make_fetcher(networks=()), there.url())
        assert there.asked == []


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nb", "☃"])
@in_loop
async def test_no_field_can_become_another(value: str) -> None:
    with pytest.raises(InvalidRequest):
        await get(make_fetcher(), "http://127.0.0.1:8/", headers=(("X", value),))


@in_loop
async def test_a_response_that_is_given_up_closes_its_connection() -> None:
    async with serving(serve_kept) as url:
        fetcher = make_fetcher()
        answer = await fetcher.open_response(url)
        answer.close()
        answer.close()
        status, _ = await get(fetcher, url)
        assert status == 200
