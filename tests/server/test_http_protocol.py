"""Connections: limits, time, order, fast answers, and what is refused in the middle of things."""

from __future__ import annotations

import asyncio
import json
import logging
import select
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest
import uvicorn
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.conftest import (
    Answer,
    Running,
    Wire,
    drive,
    mirror,
    parse_answers,
    received,
    serving,
    settle,
)
from uvicorn._types import ASGIReceiveCallable, ASGISendCallable, Scope
from uvicorn.server import ServerState

from perdure.errors import BadSettings
from perdure.server.protocol import ending
from perdure.server.protocol.head import LONGEST_HEAD, LONGEST_TARGET
from perdure.server.protocol.http import (
    AnswerLater,
    Fast,
    RawTargetProtocol,
    get_raw_target,
    make_protocol_class,
)
from perdure.server.protocol.limits import ClientLimits

LAST = b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
MORE = b" HTTP/1.1\r\nHost: a\r\n\r\n"


def statuses(answers: list[Answer]) -> list[int]:
    return [answer.status for answer in answers]


def in_pieces(whole: bytes, size: int) -> list[bytes]:
    return [whole[at : at + size] for at in range(0, len(whole), size)]


# limits
# ------


def test_longest_target(targets_server: Running) -> None:
    target = b"/" + b"x" * (LONGEST_TARGET - 1)
    for pieces in ([b"GET " + target + LAST], in_pieces(b"GET " + target + LAST, 1000)):
        [answer] = targets_server.exchange(*pieces)
        assert answer.line == ("GET", target.decode())
    for pieces in ([b"GET " + target + b"x" + LAST], in_pieces(b"GET " + target + b"x" + LAST, 99)):
        assert statuses(targets_server.exchange(*pieces)) == [414]


def test_a_line_without_end_is_cut_short() -> None:
    pieces = in_pieces(b"GET /" + b"x" * 2 * LONGEST_HEAD, 1000)
    [answer] = drive(RawTargetProtocol, pieces)
    assert answer.status == 414


def test_longest_head(targets_server: Running) -> None:
    field = b"X-Y: " + b"z" * 995 + b"\r\n"
    start = b"GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
    fits = start + field * ((LONGEST_HEAD - len(start) - 2) // len(field)) + b"\r\n"
    assert statuses(targets_server.exchange(fits)) == [200]
    exceeds = start + field * (LONGEST_HEAD // 1000 + 1) + b"\r\n"
    for pieces in ([exceeds], in_pieces(exceeds, 5000), in_pieces(exceeds[:-2], 5000)):
        assert statuses(targets_server.exchange(*pieces)) == [431]


def test_trailers_are_not_read_and_end_somewhere() -> None:
    start = b"PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n"
    [answer] = drive(RawTargetProtocol, [start, b"Authorization: x\r\n", b"\r\n"])
    assert answer.seen["headers"] == [["host", "a"], ["transfer-encoding", "chunked"]]
    endless = [start, *[b"X: y\r\n\0"[:6] * 100] * 200]
    assert statuses(drive(RawTargetProtocol, endless)) == [431]


def test_refusal_reaches_a_client_that_is_still_sending(targets_server: Running) -> None:
    """Closing at once would reset the connection and take the answer away."""
    answers = targets_server.exchange(b"GET  /x" + MORE, *[bytes(65536)] * 100)
    assert statuses(answers) == [400]


# the host: RFC 9112 section 3.2, RFC 3986 section 3.2
# ----------------------------------------------------

HOSTS = {
    "": True,
    "a": True,
    "a.example:8080": True,
    "a.example:": True,
    ":80": True,
    "127.0.0.1:80": True,
    "[::1]": True,
    "[2001:db8::7]:80": True,
    "[v1.fe80::a+en1]": True,
    "a_b.example": True,
    "a%20b": True,
    "sub!$&'()*+,;=delims~": True,
    "a/b c": False,
    "a b": False,
    "a/b": False,
    "a:b": False,
    "a:80:80": False,
    "user@a": False,
    "http://a": False,
    "[::1": False,
    "::1": False,
    "[::g]": False,
    "a%2": False,
    "a?b": False,
    "a#b": False,
    'a"b': False,
    "a<b>": False,
    "m\xfcnchen": False,
}


@pytest.mark.parametrize(("host", "good"), HOSTS.items())
def test_hosts(host: str, *, good: bool) -> None:
    """A server "MUST respond with a 400 … to any request message that contains … a Host header
    field with an invalid field value"; 1.0 need not have one, and yet no bad one."""
    for version in (b"1.1", b"1.0"):
        head = b"GET /x HTTP/%s\r\nA: b\r\nHOST: \t%s \r\nC: d\r\n\r\n"
        [answer] = drive(RawTargetProtocol, [head % (version, host.encode("latin-1"))])
        assert answer.status == (200 if good else 400)


# time
# ----


def hurried(protocol: type[RawTargetProtocol]) -> type[RawTargetProtocol]:
    """The same class, with little patience."""
    return type(protocol.__name__, (protocol,), {"head_seconds": 0.2})


def test_slow_head() -> None:
    with serving(hurried(RawTargetProtocol)) as running:
        assert running.exchange() == []  # not a byte: closed, not answered
        assert statuses(running.exchange(b"GET /x HTTP/1.1\r\nHos")) == [408]
        assert statuses(running.exchange(b"GET /x" + MORE, b"GET /x HTTP")) == [200, 408]


def test_trickling_head() -> None:
    """The limit is for the whole head: a byte now and then does not renew it."""
    with serving(hurried(RawTargetProtocol)) as running, running.connect() as wire:
        wire.sendall(b"GET /x HTTP/1.1\r\n")
        while not select.select([wire], [], [], 0.05)[0]:
            wire.sendall(b"x")
        assert wire.recv(65536).startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("target", [b"/fast", b"/slow"])
def test_idle_connections_are_closed(target: bytes) -> None:
    fast = make_protocol_class(lambda _, target, __: FOUND if target == b"/fast" else None)
    with serving(fast, timeout_keep_alive=1) as running:
        assert len(running.exchange(b"GET " + target + MORE)) == 1
        assert len(running.exchange(b"GET " + target + MORE, b"\r\n")) == 1


@pytest.mark.parametrize(
    "pieces", [[b"GET /fa", b"st" + MORE], [b"GET /fast" + MORE, b"\r", b"\n"]]
)
def test_idle_connections_are_not_told_off(pieces: list[bytes]) -> None:
    """408 is for the head that is wanting, not for one that came in parts or for an empty line."""

    async def steps(protocol: RawTargetProtocol, wire: Wire) -> None:
        for piece in pieces:
            protocol.data_received(piece)
        while not wire.ended:  # noqa: ASYNC110  (a transport in memory announces nothing)
            await asyncio.sleep(0.01)
        assert statuses(parse_answers(bytes(wire.written))) == [302]

    on_wire(mirror, steps, Asked(), timeout_keep_alive=0)


# the body
# --------


async def hasty(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Answers without looking at the body."""
    await send({"type": "http.response.start", "status": 200, "headers": [LENGTH_0]})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


LENGTH_0 = (b"content-length", b"0")
PUT_LENGTH = b"PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 40\r\n\r\n"
PUT_CHUNKS = b"PUT /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"


def test_a_body_that_nobody_reads_is_not_taken_for_requests() -> None:
    body = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n" + b"12345"
    for sent in (PUT_LENGTH + body, PUT_CHUNKS + b"28\r\n" + body + b"\r\n0\r\n\r\n"):
        for size in (1, 7, len(sent)):
            pieces = [*in_pieces(sent, size), b"GET /y" + LAST]
            assert statuses(drive(RawTargetProtocol, pieces, hasty)) == [200, 200]


@pytest.mark.parametrize("late", [b"part of it", b"x" * 40])
def test_idle_behind_a_body_that_nobody_read(late: bytes) -> None:
    """Such a connection is closed in time like any other, be the whole body there or not."""
    with (
        serving(RawTargetProtocol, hasty, timeout_keep_alive=1) as running,
        running.connect() as wire,
    ):
        wire.settimeout(5)
        wire.sendall(PUT_LENGTH)
        assert wire.recv(65536).startswith(b"HTTP/1.1 200 ")
        wire.sendall(late)
        assert received(wire) == b""


def test_bad_chunk_while_the_application_reads() -> None:
    seen = []

    async def reader(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        while (message := await receive())["type"] == "http.request":
            seen.append(message["body"])
        seen.append(message["type"].encode())
        await hasty(scope, receive, send)

    answers = drive(
        RawTargetProtocol, [PUT_CHUNKS, b"2\r\nab\r\n", b"x\r\n", b"GET /y" + LAST], reader
    )
    assert statuses(answers) == [400]
    assert b"".join(seen) == b"abhttp.disconnect"


def test_bad_chunk_behind_an_answer_gets_none() -> None:
    pieces = [PUT_CHUNKS, b"2\r\nab\r\n", b"x\r\n", b"GET /y" + LAST]
    assert statuses(drive(RawTargetProtocol, pieces, hasty)) == [200]


def test_bad_chunk_within_an_answer_ends_it() -> None:
    """No second status line within a response: what was begun is cut off, and so seen to be."""

    async def beginner(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        headers = [(b"content-length", b"9")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        while (await receive())["type"] == "http.request":
            pass
        await send({"type": "http.response.body", "body": b"123456789", "more_body": False})

    with serving(RawTargetProtocol, beginner) as running, running.connect() as wire:
        wire.sendall(PUT_CHUNKS)
        answer = wire.recv(65536)
        wire.sendall(b"x\r\n")
        answer += received(wire)
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert answer.endswith(b"\r\n\r\n")
        assert answer.count(b"HTTP/1.1") == 1


def test_expect_continue(targets_server: Running) -> None:
    with targets_server.connect() as wire:
        wire.sendall(
            b"PUT /x HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\nConnection: close\r\n"
            b"Content-Length: 2\r\n\r\n"
        )
        assert wire.recv(65536).startswith(b"HTTP/1.1 100 ")
        wire.sendall(b"ab")
        [answer] = parse_answers(received(wire))
    assert answer.seen["body"] == "ab"


def test_expect_continue_means_nothing_in_http_1_0(targets_server: Running) -> None:
    """RFC 9110 section 10.1.1; no 1xx is sent to such a client (section 15.2)."""
    with targets_server.connect() as wire:
        wire.sendall(
            b"PUT /x HTTP/1.0\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
        )
        assert not select.select([wire], [], [], 0.2)[0]
        wire.sendall(b"ab")
        [answer] = parse_answers(received(wire))
    assert (answer.status, answer.seen["body"]) == (200, "ab")


def test_no_request_line_gets_past_the_protocol() -> None:
    """Should our count of a body ever differ from llhttp's, that ends the connection."""
    targets = []

    async def app(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        targets.append(get_raw_target(scope))
        await mirror(scope, receive, send)

    async def steps(protocol: RawTargetProtocol, wire: Wire) -> None:
        protocol.data_received(b"PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n")
        body = b"hello" + b"GET /smuggled" + MORE
        protocol._body_left = len(body)  # the miscount
        protocol.data_received(body)
        await settle(wire)
        assert statuses(parse_answers(bytes(wire.written))) == [400]

    on_wire(app, steps)
    assert targets == [b"/x"]


# fast answers
# ------------

FOUND = b"HTTP/1.1 302 Found\r\nlocation: http://b/\r\ncontent-length: 0\r\n\r\n"


class Asked:
    """A function for fast answers that remembers what it was asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[bytes, bytes, bytes]] = []

    def __call__(self, method: bytes, target: bytes, fields: bytes) -> bytes | None:
        self.calls.append((method, target, fields))
        return FOUND if target.startswith(b"/fast") else None


def test_fast_answer() -> None:
    asked = Asked()
    with serving(make_protocol_class(asked)) as running:
        before = running.server.server_state.total_requests
        fields = b"\r\nHost: a\r\nACCEPT:  x/y \r\n\r\n"
        answers = running.exchange(b"GET /fast#x? HTTP/1.1" + fields, b"GET /slow" + LAST)
        assert statuses(answers) == [302, 200]
        assert asked.calls == [(b"GET", b"/fast#x?", fields)]  # the other one was the last
        assert answers[0].headers.keys() == {"date", "server", "location", "content-length"}
        assert answers[0].headers["date"] == answers[1].headers["date"]
        assert running.server.server_state.total_requests == before + 2


@pytest.mark.parametrize(
    ("request_", "fast"),
    [
        (b"GET /fast" + MORE, True),
        (b"HEAD /fast" + MORE, True),
        (b"GET /fast HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n", True),
        (b"GET /slow" + MORE, True),
        (b"get /fast" + MORE, False),
        (b"PUT /fast" + MORE, False),
        (b"GET /fast" + LAST, False),
        (b"GET /fast HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n", False),
        (b"GET /fast HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx", False),
        (b"GET /fast HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", False),
        (b"GET /fast HTTP/1.1\r\n\r\n", False),
        (b"GET /fast HTTP/1.1\r\nHost: a\r\nX: a\nb\r\n\r\n", False),
        (b"GET /fast HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n", False),
        (b"GET /fast HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n", False),
    ],
)
def test_when_fast_is_asked(request_: bytes, *, fast: bool) -> None:
    """For GET and HEAD without body, of a head that llhttp accepts, where others may follow."""
    asked = Asked()
    answers = drive(make_protocol_class(asked), [request_])
    assert len(asked.calls) == fast
    assert len(answers) == 1


def test_fast_answers_keep_their_place() -> None:
    """RFC 9112 section 9.3.2: "A server … MUST send the corresponding responses in the same order
    that the requests were received." """
    sent = b"GET /fast/1" + MORE + b"GET /slow/2" + MORE + b"GET /fast/3" + MORE
    sent += (
        b"PUT /slow/4 HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab" + b"GET /fast/5" + MORE
    )
    sent += b"GET /slow/6" + LAST
    for size in (1, 50, len(sent)):
        answers = drive(make_protocol_class(Asked()), in_pieces(sent, size))
        assert statuses(answers) == [302, 200, 302, 200, 302, 200]


@pytest.mark.parametrize(
    ("last", "status"),
    [
        (b"GET /last HTTP/1.0", 200),
        (b"PUT /last HTTP/1.1", 200),
        (b"HEAD /fast HTTP/1.1", 302),
        (b"GET  /last HTTP/1.1", 400),
        (b"GET  HTTP/1.1", 400),
        (b"GET /%s HTTP/1.1" % (b"a" * LONGEST_TARGET), 414),
        (b"GET /la\xffst HTTP/1.1", 400),
        (b"GET /last HTTP/1.2", 505),
        (b"CONNECT a:1 HTTP/1.1", 405),
    ],
)
def test_familiar_fields_do_not_excuse_a_request_line(last: bytes, status: int) -> None:
    """Fields that were found well-formed are not read again, the line before them is."""
    fields = b"\r\nHost: a\r\nX: y\r\n\r\n"
    lines = [b"GET /slow HTTP/1.1", b"GET /fast HTTP/1.1", b"GET /slow#?x HTTP/1.1", last]
    asked = Asked()
    pieces = [piece for line in lines for piece in (line + fields, *[b"\r\n"] * 20)]
    first, second, third, answer = drive(make_protocol_class(asked), pieces)
    assert first.line[1] == "/slow"
    assert second.status == 302
    assert third.line[1] == "/slow#?x"
    assert answer.status == status
    if status == 200:
        assert " ".join([*answer.line, "HTTP/" + answer.seen["version"]]).encode() == last
        assert answer.seen["headers"] == [["host", "a"], ["x", "y"]]
        assert answer.headers.get("connection") == ("close" if b"1.0" in last else None)
    assert {call[2] for call in asked.calls} == {fields}


KNOWN = b"\r\nHost: a\r\n\r\n"
HEAD = b"GET /fast/x HTTP/1.1" + KNOWN
PUT = b"PUT /slow HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(HEAD)
CHUNK = b"%x\r\n%s\r\n" % (len(HEAD), HEAD)


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ([HEAD, HEAD, HEAD], [302, 302, 302]),
        ([HEAD, HEAD + HEAD], [302, 302, 302]),
        ([HEAD, HEAD[:-2], b"\r\n", HEAD], [302, 302, 302]),
        ([HEAD, PUT, HEAD, HEAD], [302, 200, 302]),
        ([HEAD, PUT + HEAD[:-1], HEAD[-1:], HEAD], [302, 200, 302]),
        ([PUT + HEAD, PUT, HEAD, HEAD], [200, 200, 302]),
        ([HEAD, PUT_CHUNKS, CHUNK[:4], HEAD, b"\r\n0\r\n\r\n", HEAD], [302, 200, 302]),
        ([HEAD, b"GET  /" + KNOWN, HEAD], [302, 400]),
        ([HEAD, b"GET /slow HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", HEAD], [302, 200]),
    ],
)
def test_a_head_is_one_only_where_a_head_is_due(pieces: list[bytes], expected: list[int]) -> None:
    """The bytes of a head, as a piece of their own: in a body or behind the end they are none."""
    bodies: list[str] = []

    async def steps(protocol: RawTargetProtocol, wire: Wire) -> None:
        for piece in pieces:
            if not wire.closed:
                protocol.data_received(piece)
            await settle(wire)
        answers = parse_answers(bytes(wire.written))
        assert statuses(answers) == expected
        bodies.extend(answer.seen["body"] for answer in answers if answer.status == 200)

    on_wire(mirror, steps, Asked())
    assert all(body in ("", HEAD.decode()) for body in bodies)


def test_a_head_is_none_in_a_body_that_was_answered_unread() -> None:
    async def steps(protocol: RawTargetProtocol, wire: Wire) -> None:
        for piece in (HEAD, PUT, HEAD, HEAD, PUT_CHUNKS, CHUNK[:4], HEAD, b"\r\n0\r\n\r\n", HEAD):
            protocol.data_received(piece)
            await settle(wire)
        answers = parse_answers(bytes(wire.written))
        assert statuses(answers) == [302, 200, 302, 200, 302]

    on_wire(hasty, steps, Asked())


def test_a_head_waits_its_turn_as_a_piece_of_its_own() -> None:
    answering = asyncio.Event()

    async def app(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        await answering.wait()
        await hasty(scope, receive, send)

    async def steps(protocol: RawTargetProtocol, wire: Wire) -> None:
        protocol.data_received(HEAD)
        protocol.pause_writing()
        protocol.data_received(HEAD)
        assert statuses(parse_answers(bytes(wire.written))) == [302]
        protocol.resume_writing()
        assert statuses(parse_answers(bytes(wire.written))) == [302, 302]
        protocol.data_received(b"GET /slow HTTP/1.1" + KNOWN)
        protocol.data_received(HEAD)
        await settle(wire)
        assert statuses(parse_answers(bytes(wire.written))) == [302, 302]
        answering.set()
        await settle(wire)
        assert statuses(parse_answers(bytes(wire.written))) == [302, 302, 200, 302]

    on_wire(app, steps, Asked())


def test_fast_answers_tell_the_time_of_the_server() -> None:
    """uvicorn makes a new list of header fields each second."""

    async def steps(protocol: RawTargetProtocol, wire: Wire) -> None:
        for second in (b"1", b"2"):
            protocol.server_state.default_headers = [(b"date", second)]
            protocol.data_received(HEAD)
            protocol.data_received(HEAD)
        answers = parse_answers(bytes(wire.written))
        assert [answer.headers["date"] for answer in answers] == ["1", "1", "2", "2"]

    on_wire(mirror, steps, Asked())


def test_fast_answers_are_logged_like_others(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "uvicorn.access")
    with serving(make_protocol_class(Asked())) as running:
        running.exchange(b"GET /fast?x" + MORE, b"GET /slow?x" + LAST)
    fast, slow = (r.getMessage() for r in caplog.records if r.name == "uvicorn.access")
    assert fast.partition(" - ")[2] == '"GET /fast?x HTTP/1.1" 302'
    assert slow.partition(" - ")[2] == '"GET /slow?x HTTP/1.1" 200'
    assert fast.rpartition(":")[0] == slow.rpartition(":")[0].replace("slow", "fast")


class Waiting:
    """A function for fast answers that waits once, or more often, for each message."""

    def __init__(self, times: int = 1) -> None:
        self.again: list[Callable[[], None]] = []
        self._times = times
        self._asked = 0

    def __call__(self, method: bytes, target: bytes, fields: bytes) -> bytes | None:
        self._asked += 1
        if self._asked % (self._times + 1):
            raise AnswerLater(self.again.append)
        return FOUND if target.startswith(b"/fast") else None

    def go_on(self) -> None:
        self.again.pop()()


# flow
# ----


def on_wire(
    app: Callable[..., Any],
    steps: Callable[[RawTargetProtocol, Wire], Any],
    fast: Fast | None = None,
    **settings: Any,
) -> None:
    """Run some steps with a protocol on a transport in memory."""

    async def run() -> None:
        config = uvicorn.Config(app, ws="none", lifespan="off", log_config=None, **settings)
        wire = Wire()
        protocol = make_protocol_class(fast, head_seconds=0.1)(
            config, ServerState(), {}, asyncio.get_running_loop()
        )
        protocol.connection_made(wire)
        await steps(protocol, wire)
        protocol.connection_lost(None)
        await asyncio.gather(*protocol.tasks)

    asyncio.run(run())


def test_no_fast_answer_to_a_client_that_does_not_read() -> None:
    async def steps(protocol: RawTargetProtocol, wire: Wire) -> None:
        protocol.data_received(b"GET /fast" + MORE)
        protocol.pause_writing()
        protocol.data_received((b"GET /fast" + MORE) * 2)
        assert len(parse_answers(bytes(wire.written))) == 1
        assert wire.reading
        protocol.data_received((b"GET /fast" + MORE) * 3000)
        assert not wire.reading
        protocol.resume_writing()
        assert len(parse_answers(bytes(wire.written))) == 3003
        assert wire.reading

    on_wire(mirror, steps, Asked())


def test_requests_wait_as_bytes_while_one_is_answered() -> None:
    answering = asyncio.Event()

    async def app(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        await answering.wait()
        await hasty(scope, receive, send)

    async def steps(protocol: RawTargetProtocol, wire: Wire) -> None:
        protocol.data_received((b"GET /x" + MORE) * 5000)
        await settle(wire)
        assert len(protocol.tasks) == 1
        assert not wire.reading
        answering.set()
        while not wire.reading:  # noqa: ASYNC110  (until they are used up, whatever that takes)
            await asyncio.sleep(0)
        await settle(wire)
        assert len(parse_answers(bytes(wire.written))) == 5000
        assert wire.reading

    on_wire(app, steps)


def test_a_stop_finishes_what_was_begun() -> None:
    """Answers under way are completed, idle connections closed, nothing new is begun."""
    begun, go_on = threading.Event(), asyncio.Event()

    async def app(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        begun.set()
        await go_on.wait()
        await mirror(scope, receive, send)

    with (
        serving(make_protocol_class(Asked()), app) as running,
        running.connect() as busy,
        running.connect() as idle,
    ):
        idle.sendall(b"GET /fast" + MORE)
        assert idle.recv(65536).startswith(b"HTTP/1.1 302")
        busy.sendall(b"GET /slow" + MORE + b"GET /slow/never" + MORE)
        begun.wait()
        running.server.should_exit = True
        assert idle.recv(65536) == b""
        running.server.servers[0].get_loop().call_soon_threadsafe(go_on.set)
        [answer] = parse_answers(received(busy))
    assert answer.line == ("GET", "/slow")
    assert answer.headers["connection"] == "close"


def test_too_many_at_once() -> None:
    with serving(RawTargetProtocol, limit_concurrency=1) as running:
        assert statuses(running.exchange(b"GET /x" + MORE)) == [503]


# others
# ------


@settings(max_examples=50)
@given(garbage=st.lists(st.binary(min_size=1, max_size=300), min_size=1, max_size=3))
def test_garbage_harms_nobody_else(targets_server: Running, garbage: list[bytes]) -> None:
    with targets_server.connect() as other:
        other.sendall(b"GET /x")
        with targets_server.connect() as wire:
            for piece in garbage:
                wire.sendall(piece)
            wire.shutdown(socket.SHUT_WR)
            received(wire)
        other.sendall(LAST)
        assert statuses(parse_answers(received(other))) == [200]


def test_refusals_are_problem_documents(targets_server: Running) -> None:
    """RFC 9457 section 3."""
    [answer] = targets_server.exchange(b"GET / HTTP/3.0\r\nHost: a\r\n\r\n")
    problem = json.loads(answer.body)
    assert problem.keys() == {"type", "title", "status", "detail", "code"}
    assert problem["type"] == "/problems/unsupported-version"
    assert answer.headers.keys() >= {"date", "content-type", "content-length", "connection"}


def test_connect_allows_nothing(targets_server: Running) -> None:
    """RFC 9110 section 15.5.6: a 405 MUST have Allow, and an empty one is allowed."""
    [answer] = targets_server.exchange(b"CONNECT a:1" + MORE)
    assert (answer.status, answer.headers["allow"]) == (405, "")


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (b"GET / HTTP/1.1\r\nHost: a\r\nAuthorization : Bearer s3cret\r\n\r\n", b""),
        (b"GET / HTTP/1.1\r\nHost: a\r\nBearer s3cret\r\n\r\n", b""),
        (b"GET /?s3cret HTTP/x\r\nHost: a\r\n\r\n", b""),
        (b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", b"s3cret\r\n"),
        (b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nas3\r\n"),
    ],
)
def test_refusals_quote_nothing(
    targets_server: Running, caplog: pytest.LogCaptureFixture, head: bytes, body: bytes
) -> None:
    """Neither to whoever reads the answer, nor in the log: it may be a secret."""
    caplog.set_level(logging.DEBUG)
    [answer] = targets_server.exchange(head + body)
    assert answer.status == 400
    assert b"s3" not in answer.body
    assert "s3" not in caplog.text
    assert "bytearray" not in caplog.text


def test_refusals_say_what_is_wrong() -> None:
    with serving(RawTargetProtocol) as server:
        [proxied] = server.exchange(b"CONNECT a:1" + MORE)
        [later] = server.exchange(b"GET / HTTP/3.0\r\nHost: a\r\n\r\n")
    assert json.loads(proxied.body)["detail"] == "this is an origin server, not a proxy"
    assert json.loads(later.body)["detail"] == "this server speaks only HTTP/1.1 and HTTP/1.0"


def test_target_is_not_guessed() -> None:
    with pytest.raises(BadSettings, match="does not pass on request targets"):
        get_raw_target({"type": "http", "path": "/x", "raw_path": b"/x"})


# the client's end
# ----------------


def half_closed(running: Running, sent: bytes) -> bytes:
    """What comes for what was sent, after which the client closes its sending side."""
    with running.connect() as wire:
        wire.sendall(sent)
        wire.shutdown(socket.SHUT_WR)
        return received(wire)


async def late(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Answers when the client's end has long been seen."""
    await asyncio.sleep(0.05)
    await mirror(scope, receive, send)


async def counting(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Says how many bytes of body came, with 400 where they broke off."""
    body = b""
    while (message := await receive())["type"] == "http.request":
        body += message["body"]
        if not message["more_body"]:
            break
    status = 200 if message["type"] == "http.request" else 400
    headers = [LENGTH_0, (b"counted", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def test_who_closes_the_sending_side_is_answered() -> None:
    """RFC 9112 section 9.6 has such a close in both directions; neither takes the other along."""
    put = b"PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab"
    with serving(RawTargetProtocol, late) as running:
        for sent in (b"GET /x" + MORE, put, PUT_CHUNKS + b"2\r\nab\r\n0\r\n\r\n"):
            [answer] = parse_answers(half_closed(running, sent))
            assert (answer.status, answer.seen["body"]) == (200, "ab" if b"PUT" in sent else "")


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client is asked at once whether it is there, and only a few times."""
    monkeypatch.setattr(ending, "UNASKED", 0.01)
    monkeypatch.setattr(ending, "AGAIN", 0.3)


@pytest.mark.usefixtures("soon")
def test_a_client_that_may_still_read_is_asked_until_its_answer() -> None:
    """RFC 9110 section 15.2: "A client MUST be able to parse one or more 1xx responses received
    prior to a final response"; "a server MUST NOT send a 1xx response to an HTTP/1.0 client"."""

    async def slow(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        await asyncio.sleep(0.4)
        await mirror(scope, receive, send)

    with serving(RawTargetProtocol, slow) as running:
        told = half_closed(running, b"GET /x" + MORE)
        asked = b"HTTP/1.1 102 Processing\r\n\r\n"
        assert told.startswith(asked * 2 + b"HTTP/1.1 200 OK\r\n")
        assert b"102" not in half_closed(running, b"GET /x HTTP/1.0\r\nHost: a\r\n\r\n")


@pytest.mark.usefixtures("soon")
def test_a_client_that_closed_its_socket_has_left() -> None:
    """RFC 9293 section 3.6.1: a host that closed a socket resets the connection if data arrives."""
    left, begun = threading.Event(), threading.Event()

    async def waiting(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        assert (await receive())["type"] == "http.request"
        begun.set()
        assert (await receive())["type"] == "http.disconnect"
        left.set()

    with serving(RawTargetProtocol, waiting) as running:
        with running.connect() as wire:
            wire.sendall(b"GET /x" + MORE)
            assert begun.wait(10)
        assert left.wait(10)


@pytest.mark.usefixtures("soon")
def test_no_interim_response_in_an_answer_that_has_begun() -> None:
    async def begun(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for more in (True, False):
            await send({"type": "http.response.body", "body": b"a", "more_body": more})
            await asyncio.sleep(0.1)

    with serving(RawTargetProtocol, begun) as running:
        told = half_closed(running, b"GET /x" + MORE)
    assert told.count(b"HTTP/1.1") == 1
    assert told.endswith(b"\r\n\r\naa")


def test_all_that_were_asked_before_the_end_are_answered_in_order() -> None:
    """The last head is half of one, and gets nothing."""
    sent = b"".join(b"GET /%d" % number + MORE for number in range(5)) + b"GET /x HTTP/1.1\r\nHos"
    with serving(RawTargetProtocol, late) as running:
        answers = parse_answers(half_closed(running, sent))
    assert [answer.line[1] for answer in answers] == ["/0", "/1", "/2", "/3", "/4"]


@pytest.mark.parametrize("sent", [b"", b"GET", b"GET /x HTTP/1.1\r\nHost: a\r\n"])
def test_half_a_head_is_just_closed(sent: bytes) -> None:
    with serving(RawTargetProtocol) as running:
        assert half_closed(running, sent) == b""
        assert half_closed(running, b"GET /x" + MORE + sent).count(b"HTTP/1.1 200 OK") == 1


@pytest.mark.parametrize("before", [b"", b"GET /x" + MORE])
@pytest.mark.parametrize(
    "sent", [PUT_LENGTH + b"ab", PUT_CHUNKS + b"2\r\nab\r\n", PUT_CHUNKS + b"8\r\nab", PUT_LENGTH]
)
def test_an_upload_that_breaks_off_can_be_answered(before: bytes, sent: bytes) -> None:
    with serving(RawTargetProtocol, counting) as running:
        answer = parse_answers(half_closed(running, before + sent))[-1]
        assert answer.status == 400
        assert answer.headers["counted"] == ("2" if sent[-2:] != b"\r\n" or b"ab" in sent else "0")
        assert not running.server.server_state.connections


def test_no_100_for_who_will_send_nothing() -> None:
    fields = b"Host: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"

    async def patient(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        await asyncio.sleep(0.05)
        await counting(scope, receive, send)

    with serving(RawTargetProtocol, patient) as running:
        assert half_closed(running, b"PUT /x HTTP/1.1\r\n" + fields).startswith(b"HTTP/1.1 400")


def test_a_body_that_breaks_off_behind_its_answer_or_within() -> None:
    """Nobody waits for the rest of it, and there is no second answer."""
    begun = threading.Event()

    async def beginner(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        headers = [(b"content-length", b"9")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        begun.set()
        while (await receive())["type"] == "http.request":
            pass

    for app in (hasty, beginner):
        with serving(RawTargetProtocol, app) as running, running.connect() as wire:
            wire.sendall(PUT_LENGTH + b"ab")
            answer = wire.recv(65536)
            wire.shutdown(socket.SHUT_WR)
            answer += received(wire)
            assert answer.count(b"HTTP/1.1 200 OK") == answer.count(b"HTTP/1.1") == 1


def test_fast_answers_before_the_end() -> None:
    """Also those that wait until the client reads."""
    many = 3000
    with serving(make_protocol_class(Asked())) as running:
        assert half_closed(running, (b"GET /fast" + MORE) * many).count(b"302 Found") == many

    async def steps(protocol: RawTargetProtocol, wire: Wire) -> None:
        protocol.pause_writing()
        protocol.data_received(HEAD + HEAD)
        assert protocol.eof_received()
        assert not wire.closed
        protocol.resume_writing()
        assert statuses(parse_answers(bytes(wire.written))) == [302, 302]
        assert wire.closed

    on_wire(mirror, steps, Asked())


def test_a_promised_answer_comes_after_the_end() -> None:
    promised: list[Callable[[bytes], None]] = []

    def fast_write(
        method: bytes, target: bytes, fields: bytes, body: bytes, answer: Callable[[bytes], None]
    ) -> bool:
        promised.append(answer)
        return True

    async def steps(protocol: RawTargetProtocol, wire: Wire) -> None:
        protocol._fast_write, protocol.access_log = fast_write, False
        protocol.data_received(b"PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab")
        assert protocol.eof_received()
        assert not wire.closed
        promised[0](FOUND)
        assert statuses(parse_answers(bytes(wire.written))) == [302]
        assert wire.closed

    on_wire(mirror, steps)


@pytest.mark.parametrize("times", [1, 2])
def test_a_later_answer_keeps_its_place(times: int) -> None:
    """The next message waits as bytes, and is not read before the answer."""
    waiting = Waiting(times)

    async def steps(protocol: RawTargetProtocol, wire: Wire) -> None:
        protocol.data_received(
            b"GET /fast/1" + MORE + b"GET /slow/2" + MORE + b"GET /fast/3" + MORE
        )
        for number, status in enumerate([302, 200, 302]):
            for _ in range(times):
                await settle(wire)
                assert len(waiting.again) == 1
                assert len(parse_answers(bytes(wire.written))) == number
                waiting.go_on()
            await settle(wire)
            assert parse_answers(bytes(wire.written))[number].status == status
        assert protocol.server_state.total_requests == 3

    on_wire(mirror, steps, waiting)


def test_a_message_with_a_later_answer_counts_once_for_its_client() -> None:
    limits = ClientLimits(requests_per_minute=2, trusted_proxies=("127.0.0.1",))
    asked: list[bytes] = []

    def wait_once(method: bytes, target: bytes, fields: bytes) -> bytes:
        asked.append(target)
        if len(asked) % 2:
            raise AnswerLater(asyncio.get_running_loop().call_soon)
        return FOUND

    request = b"GET /x HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n"
    with serving(make_protocol_class(wait_once, limits=limits)) as running:
        assert statuses(running.exchange(request * 3)) == [302, 302, 429]


def test_a_later_answer_comes_after_the_end() -> None:
    waiting = Waiting()

    async def steps(protocol: RawTargetProtocol, wire: Wire) -> None:
        protocol.data_received(HEAD)
        assert protocol.eof_received()
        assert not wire.closed
        waiting.go_on()
        assert statuses(parse_answers(bytes(wire.written))) == [302]
        assert wire.closed

    on_wire(mirror, steps, waiting)


@pytest.mark.parametrize("target", [b"/fast", b"/slow"])
def test_a_server_that_stops_gives_a_later_answer(target: bytes) -> None:
    waiting = Waiting()

    async def steps(protocol: RawTargetProtocol, wire: Wire) -> None:
        protocol.data_received(b"GET " + target + MORE)
        protocol.shutdown()
        assert not wire.closed
        waiting.go_on()
        await settle(wire)
        assert len(parse_answers(bytes(wire.written))) == 1
        assert wire.closed

    on_wire(mirror, steps, waiting)


def test_a_client_that_left_gets_no_later_answer() -> None:
    waiting = Waiting()

    async def steps(protocol: RawTargetProtocol, wire: Wire) -> None:
        protocol.data_received(HEAD)
        wire.close()
        protocol.connection_lost(None)
        waiting.go_on()
        await settle(wire)
        assert not wire.written

    on_wire(mirror, steps, waiting)


def test_a_connection_with_a_later_answer_is_closed_when_it_is_idle() -> None:
    waiting = Waiting()

    async def steps(protocol: RawTargetProtocol, wire: Wire) -> None:
        protocol.data_received(HEAD)
        await asyncio.sleep(0.15)  # the timer for the head, which `on_wire` sets to 0.1 s, fires
        assert not wire.closed
        waiting.go_on()
        assert protocol.timeout_keep_alive_task is not None

    on_wire(mirror, steps, waiting)


def test_who_is_really_gone_is_not_answered_for_ever() -> None:
    """The first bytes that are written tell; a stream ends then."""
    ended = threading.Event()

    async def endless(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        gone = asyncio.ensure_future(receive_to_the_end(receive))
        while not gone.done():
            await send({"type": "http.response.body", "body": bytes(65536), "more_body": True})
            await asyncio.sleep(0.01)
        ended.set()

    async def receive_to_the_end(receive: ASGIReceiveCallable) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    with serving(RawTargetProtocol, endless) as running:
        running.connect().close()  # before a byte
        with running.connect() as wire:
            wire.sendall(b"GET /x" + MORE)
        assert ended.wait(10)
