"""Fetching from real servers, some of which mean no good."""

from __future__ import annotations

import asyncio
import datetime as dt
import gzip
import ipaddress
import ssl
import zlib
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from tests.fetching.strangers import response, stranger

from perdure.errors import InvalidRequest
from perdure.fetching import Exchange, Fetcher, Limits, Unreachable

_T = TypeVar("_T")
HERE = ("127.0.0.0/8",)
HELLO = response(b"hello", Content_Type="Text/Plain; charset=utf-8")


def run(work: Coroutine[Any, Any, _T]) -> _T:
    return asyncio.run(work)


def fetcher(**settings: Any) -> Fetcher:
    return Fetcher(user_agent="test/1", **{"networks": HERE} | settings)


def test_an_exchange_is_kept_byte_by_byte() -> None:
    async def work() -> None:
        async with stranger(lambda _: HELLO) as server:
            found = await fetcher().exchange_once(server.url("/a?b"))
            assert found.received == HELLO
            assert (found.status, found.reason, found.body) == (200, "OK", b"hello")
            assert found.media_type == "text/plain"
            assert found.address == "127.0.0.1"
            assert [found.sent] == server.asked
            assert found.sent.startswith(b"GET /a?b HTTP/1.1\r\nHost: 127.0.0.1:")

    run(work())


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1"])
def test_one_s_own_network_is_refused_under_any_name(host: str) -> None:
    async def work() -> None:
        async with stranger(lambda _: HELLO) as server:
            with pytest.raises(InvalidRequest, match="not on the public internet"):
                await fetcher(networks=()).exchange_once(server.url(host=host))
            assert not server.asked

    run(work())


def test_a_name_with_one_address_that_is_not_public_is_refused() -> None:
    async def names(host: str, port: int) -> list[str]:
        return ["9.9.9.9", "127.0.0.1"]

    with pytest.raises(InvalidRequest, match=r"127\.0\.0\.1"):
        run(fetcher(networks=(), resolve=names).exchange_once("http://both.example/"))


def test_a_name_is_resolved_once_and_the_connection_made_to_that_address() -> None:
    answers = iter((["127.0.0.1"], ["127.0.0.2"]))

    async def names(host: str, port: int) -> list[str]:
        return next(answers)

    async def work() -> None:
        async with stranger(lambda _: HELLO) as server:
            found = await fetcher(networks=("127.0.0.1",), resolve=names).exchange_once(
                server.url(host="rebinding.example")
            )
            assert found.address == "127.0.0.1"
            with pytest.raises(InvalidRequest):  # the second answer is judged anew
                await fetcher(networks=("127.0.0.1",), resolve=names).exchange_once(
                    server.url(host="rebinding.example")
                )

    run(work())


def test_a_redirect_is_followed() -> None:
    def answer(line: str) -> bytes:
        return HELLO if " /b " in line else response(status="302 Found", Location="b#c")

    async def work() -> None:
        async with stranger(answer) as server:
            chain = await fetcher().follow_redirects(server.url("/a"))
            assert [one.url for one in chain] == [server.url("/a"), server.url("/b")]
            assert [one.status for one in chain] == [302, 200]

    run(work())


@pytest.mark.parametrize(
    "location",
    ["http://127.0.0.2:8081/", "http://169.254.169.254/latest", "file:///etc/passwd",
     "http://[::ffff:10.0.0.1]/", "gopher://127.0.0.1/", "//localhost:22/"],
)  # fmt: skip
def test_each_redirect_is_checked(location: str) -> None:
    async def work() -> None:
        async with stranger(lambda _: response(status="301 M", Location=location)) as server:
            with pytest.raises(InvalidRequest):
                await fetcher(networks=("127.0.0.1",)).follow_redirects(server.url())
            assert len(server.asked) == 1

    run(work())


def test_redirects_in_a_circle_and_without_end() -> None:
    def on(line: str) -> bytes:
        return response(status="302 Found", Location=f"{line.split()[1]}a")

    async def work() -> None:
        async with stranger(lambda _: response(status="302 Found", Location="/")) as server:
            with pytest.raises(Unreachable) as found:
                await fetcher().follow_redirects(server.url())
            assert found.value.cause == "redirects"
        async with stranger(on) as server:
            with pytest.raises(Unreachable):
                await fetcher(limits=Limits(redirects=3)).follow_redirects(server.url())
            assert len(server.asked) == 4

    run(work())


def test_a_body_without_end_is_cut_off() -> None:
    head = b"HTTP/1.1 200 OK\r\n\r\n"

    async def work() -> None:
        async with stranger(lambda _: head + b"a" * 1_000_000) as server:
            found = await fetcher(limits=Limits(body=1000)).exchange_once(server.url())
            assert (len(found.body), found.truncated) == (1000, "length")

    run(work())


def test_a_server_that_never_ends_is_left() -> None:
    async def work() -> None:
        async with stranger(lambda _: HELLO[:-1], hang=True) as server:
            found = await fetcher(limits=Limits(seconds=0.3)).exchange_once(server.url())
            assert (found.body, found.truncated) == (b"hell", "time")
        async with stranger(lambda _: b"HTTP/1.1 ", hang=True) as server:
            with pytest.raises(Unreachable) as error:
                await fetcher(limits=Limits(seconds=0.3)).exchange_once(server.url())
            assert error.value.cause == "time"

    run(work())


def test_an_address_that_does_not_answer_leaves_time_for_the_next() -> None:
    async def work() -> None:
        # a queue for connections that is full: who asks waits
        full = await asyncio.start_server(lambda reader, writer: None, "127.0.0.2", 0, backlog=1)
        port = full.sockets[0].getsockname()[1]
        asyncio.get_running_loop().remove_reader(full.sockets[0].fileno())
        waiting = [
            asyncio.create_task(asyncio.open_connection("127.0.0.2", port)) for _ in range(3)
        ]
        await asyncio.sleep(0.1)

        async def names(host: str, port: int) -> list[str]:
            return ["127.0.0.2", "127.0.0.1"]

        server = await asyncio.start_server(_hello, "127.0.0.1", port)
        client = fetcher(resolve=names, limits=Limits(connect_seconds=1))
        found = await client.exchange_once(f"http://two.example:{port}/")
        assert (found.address, found.body) == ("127.0.0.1", b"hello")
        for task in waiting:
            task.cancel()
        server.close()
        full.close()

    run(work())


async def _hello(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(HELLO)
    writer.close()


def test_why_nobody_answers_is_told() -> None:
    async def nowhere(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    async def cause(url: str, **settings: Any) -> str:
        with pytest.raises(Unreachable) as error:
            await fetcher(**settings).exchange_once(url)
        return str(error.value.cause)

    async def work() -> None:
        assert await cause("http://nowhere.example/", resolve=nowhere) == "name"
        async with stranger(lambda _: b"") as server:
            assert await cause(server.url()) == "protocol"
            port = server.port
        async with stranger(lambda _: b"SMTP ready\r\n") as server:
            assert await cause(server.url()) == "protocol"
        assert await cause(f"http://127.0.0.1:{port}/") == "connection"

    run(work())


def _coded(body: bytes, coding: str) -> Exchange:
    async def work() -> Exchange:
        async with stranger(lambda _: response(body, Content_Encoding=coding)) as server:
            return await fetcher().exchange_once(server.url())

    return run(work())


def test_content_codings_are_undone() -> None:
    text = b"hello " * 100
    bare = zlib.compressobj(wbits=-15)
    for body, coding in (
        (gzip.compress(text), "gzip"),
        (gzip.compress(text[:300]) + gzip.compress(text[300:]), "x-gzip"),
        (zlib.compress(text), "deflate"),
        (bare.compress(text) + bare.flush(), "Deflate"),
        (gzip.compress(zlib.compress(text)), "deflate, gzip"),
        (text, "identity"),
    ):
        found = _coded(body, coding)
        assert found.body == body
        assert fetcher().decode_content(found) == text


def test_a_coding_nobody_asked_for_gives_nothing() -> None:
    assert fetcher().decode_content(_coded(b"abc", "br")) == b""


def test_inflation_is_bounded() -> None:
    bomb = _coded(gzip.compress(gzip.compress(b"\0" * (64 << 20))), "gzip, gzip")
    assert len(fetcher(limits=Limits(inflated=1 << 20)).decode_content(bomb)) == 1 << 20
    cut = _coded(gzip.compress(b"hello" * 1000)[:-10], "gzip")
    assert fetcher().decode_content(cut).startswith(b"hello")


def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1/")
    test_an_exchange_is_kept_byte_by_byte()


def test_no_header_is_smuggled_in() -> None:
    with pytest.raises(InvalidRequest):
        run(fetcher().exchange_once("http://127.0.0.1/", headers=(("X", "a\r\nHost: b"),)))


def _certified(place: Path, name: str) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """What a server of this name and who trusts it need."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    names: list[x509.GeneralName] = [x509.DNSName(name)]
    names.append(x509.IPAddress(ipaddress.ip_address("127.0.0.9")))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = place / "both.pem"
    pem.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(pem)
    return server, ssl.create_default_context(cafile=str(pem))


def test_the_certificate_is_that_of_the_name_not_of_the_address(tmp_path: Path) -> None:
    async def names(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    serving, trusting = _certified(tmp_path, "named.example")

    async def work() -> None:
        async with stranger(lambda _: HELLO, tls=serving) as server:
            client = fetcher(resolve=names, tls=trusting)
            found = await client.exchange_once(server.url(host="named.example", scheme="https"))
            assert found.body == b"hello"
            for host, trusts in (("other.example", client), ("named.example", None)):
                asking = trusts or fetcher(resolve=names)
                with pytest.raises(Unreachable) as error:
                    await asking.exchange_once(server.url(host=host, scheme="https"))
                assert error.value.cause == "tls"

    run(work())
