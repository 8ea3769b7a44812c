"""Request targets reach the application byte for byte, however they arrive.

vectors/targets.json runs over real sockets; Hypothesis cuts and mixes
messages in memory, where a piece is a piece. The measure is the vectors, the specification, and for
framing a bare llhttp that is fed the same bytes whole.
"""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import pairwise
from typing import Any, NamedTuple

import httptools
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.server.conftest import TABLE, Answer, Running, drive

from perdure.server.protocol.head import explain_refusal, find_early_refusal, split_fields
from perdure.server.protocol.http import RawTargetProtocol

BEFORE = b"GET /before HTTP/1.1\r\nHost: a\r\n\r\n"
WITH_LENGTH = b"PUT /before HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\n\r\nb\r\n\r\ndy"
CHUNKED = (
    b"PUT /before HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3;x=y\r\nb\r\n\r\n4\r\n\r\ndy\r\n0\r\nTrailer: x\r\n\r\n"
)


def named(cases: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[case["name"] for case in cases])


# the table
# ---------


@named(TABLE["lines"])
@pytest.mark.parametrize(
    ("before", "cut"),
    [(b"", False), (b"", True), (BEFORE, False), (WITH_LENGTH, False), (CHUNKED, False)],
    ids=["whole", "byte by byte", "pipelined", "after a length", "after chunks"],
)
def test_line(targets_server: Running, case: dict[str, Any], before: bytes, *, cut: bool) -> None:
    head = case["line"].encode("latin-1") + b"\r\nHost: a\r\nConnection: close\r\n\r\n"
    pieces = [head[at : at + 1] for at in range(len(head))] if cut else [before + head]
    method = case.get("method", "GET")
    *earlier, answer = targets_server.exchange(
        *pieces, methods=["PUT", method] if before else [method]
    )
    assert [each.line[1] for each in earlier] == ["/before"] * bool(before)
    if "target" in case:
        assert answer.status == 200
        assert answer.line == (method, case["target"])
    else:
        assert answer.status == case["status"]
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.headers["connection"] == "close"
        assert json.loads(answer.body)["status"] == answer.status


@named([case for case in TABLE["lines"] if case.get("method") != "HEAD" and "target" in case])
def test_line_and_the_next(targets_server: Running, case: dict[str, Any]) -> None:
    head = case["line"].encode("latin-1") + b"\r\nHost: a\r\n\r\n"
    after = b"GET /after#x? HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    lines = [answer.line[1] for answer in targets_server.exchange(head + after)]
    assert lines == [case["target"], "/after#x?"][: 1 if "HTTP/1.0" in case["line"] else 2]


@named(TABLE["messages"])
def test_message(targets_server: Running, case: dict[str, Any]) -> None:
    answers = targets_server.exchange(case["bytes"].encode("latin-1"))
    assert [answer.status for answer in answers] == case["answers"]
    seen = [answer.line[1] for answer in answers if answer.status == 200]
    assert seen == case.get("targets", [])


@named(TABLE["messages"])
def test_message_cut_anywhere(case: dict[str, Any]) -> None:
    """Where the network cuts a message changes nothing, down to single bytes."""
    whole = case["bytes"].encode("latin-1")
    expected = drive(RawTargetProtocol, [whole])
    for at in range(1, len(whole)):
        assert drive(RawTargetProtocol, [whole[:at], whole[at:]]) == expected
    assert drive(RawTargetProtocol, [whole[at : at + 1] for at in range(len(whole))]) == expected


def test_table_is_of_one_mind() -> None:
    """The pure reading of a request line agrees with the table, for a whole head and for a part."""
    for case in TABLE["lines"]:
        line = case["line"].encode("latin-1") + b"\r\n"
        early = find_early_refusal(line)
        assert (early is None) == ("target" in case)
        if early is not None:
            assert (
                explain_refusal(line + b"Host: a\r\n\r\n").status == early.status == case["status"]
            )


def test_path_and_query_are_split_at_the_first_question_mark(targets_server: Running) -> None:
    """For what reads `path` instead: logs and middleware. ASGI wants it unescaped."""
    head = b"GET /a%20b//c?d?e#f HTTP/1.1\r\nHost: a\r\nX-Y:\t z \t\r\nConnection: close\r\n\r\n"
    [answer] = targets_server.exchange(head)
    assert answer.seen == {
        "path": "/a b//c",
        "raw_path": "/a%20b//c",
        "query_string": "d?e#f",
        "version": "1.1",
        "headers": [["host", "a"], ["x-y", "z"], ["connection", "close"]],
        "body": "",
    }


# laws
# ----

visible = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=200)


@given(target=visible, method=st.sampled_from(["GET", "PUT", "TRACE", "X-Y"]))
def test_any_target_survives(target: str, method: str) -> None:
    """ "`%2f`, `//`, `#`, `?` versus `??` versus `?info` must survive." """
    head = f"{method} {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode()
    [answer] = drive(RawTargetProtocol, [head])
    assert answer.line == (method, target)


class Message(NamedTuple):
    """A well-formed request."""

    target: str
    body: bytes
    chunks: list[int] | None

    def __bytes__(self) -> bytes:
        head = f"PUT {self.target} HTTP/1.1\r\nHost: a\r\n".encode()
        if self.chunks is None:
            length = b"Content-Length: %d\r\n" % len(self.body) if self.body else b""
            return head + length + b"\r\n" + self.body
        coded = b""
        rest = self.body
        for size in self.chunks:
            chunk, rest = rest[:size], rest[size:]
            coded += b"%x\r\n%s\r\n" % (len(chunk), chunk) if chunk else b""
        coded += b"%x\r\n%s\r\n" % (len(rest), rest) if rest else b""
        return head + b"Transfer-Encoding: chunked\r\n\r\n" + coded + b"0\r\nX: y\r\n\r\n"


bodies = st.one_of(
    st.binary(max_size=60),
    st.lists(st.sampled_from([b"\r\n", b"\r", b"\n", b"GET / HTTP/1.1", b"0"]), max_size=12).map(
        b"".join
    ),
)
messages = st.builds(
    Message, visible, bodies, st.none() | st.lists(st.integers(min_value=1, max_value=20))
)


@given(data=st.data(), sent=st.lists(messages, min_size=1, max_size=4))
def test_any_split_survives(data: st.DataObject, sent: Any) -> None:
    """ "…must survive, also when the head arrives split or pipelined." """
    stream = b"".join(map(bytes, sent))
    cuts = data.draw(st.lists(st.integers(min_value=0, max_value=len(stream)), max_size=12))
    edges = [0, *sorted(cuts), len(stream)]
    pieces = [stream[start:end] for start, end in pairwise(edges)]
    answers = drive(RawTargetProtocol, pieces)
    assert [answer.line for answer in answers] == [("PUT", message.target) for message in sent]
    assert [answer.seen["body"].encode("latin-1") for answer in answers] == [
        message.body for message in sent
    ]


class BareLlhttp:
    """What llhttp makes of bytes by itself: bodies and header fields, message by message."""

    def __init__(self, stream: bytes) -> None:
        self.bodies: list[bytes] = []
        self.headers: list[list[tuple[bytes, bytes]]] = []
        parser = httptools.HttpRequestParser(self)
        with suppress(httptools.HttpParserError, httptools.HttpParserUpgrade):
            parser.feed_data(stream)

    def on_message_begin(self) -> None:
        self.reading: list[tuple[bytes, bytes]] = []
        self.body = b""

    def on_header(self, name: bytes, value: bytes) -> None:
        self.reading.append((name.lower(), value.strip(b" \t")))

    def on_headers_complete(self) -> None:
        self.headers.append(list(self.reading))

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.bodies.append(self.body)


fragments = st.sampled_from(
    [
        b"POST / HTTP/1.1\r\nHost: a\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"Content-Length: 5\r\n",
        b"Content-Length: 5\r\n\r\nhello",
        b"Content-Length: 0\r\n\r\n",
        b"content-length :5\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n2\r\n\r\n\r\n0\r\nX: y\r\n\r\n",
        b"Transfer-Encoding: x\r\n",
        b"Connection: close\r\n",
        b" folded\r\n",
        b"X: \xff\r\n",
        b"0\r\n\r\n",
        b"5\r\nhello\r\n",
        b"\r\n",
        b"\r\n\r\n",
        b"\n",
        b"\r",
        b"\0",
        b" ",
        b"hello",
    ]
)
streams = st.lists(fragments | st.binary(max_size=3), max_size=12).map(b"".join)


@given(stream=streams)
def test_framing_is_llhttps_own(stream: bytes) -> None:
    """We may refuse more than llhttp does; what we let through is framed as llhttp frames it.

    RFC 9112 section 11.2: request smuggling "exploits differences in protocol parsing among various
    recipients".
    """
    bare = BareLlhttp(stream)
    answers = drive(RawTargetProtocol, [stream])
    let_through = [answer for answer in answers if answer.status == 200]
    assume({answer.line[0] for answer in let_through} <= {"GET", "POST"})  # llhttp knows these
    bodies = [answer.seen["body"].encode("latin-1") for answer in let_through]
    assert bodies == bare.bodies[: len(bodies)]
    headers = [
        [(name.encode("latin-1"), value.encode("latin-1")) for name, value in each.seen["headers"]]
        for each in let_through
    ]
    assert headers == bare.headers[: len(headers)]


lines = st.lists(
    st.tuples(
        st.text("abcXYZ-_!", min_size=1, max_size=8).map(str.encode),
        st.sampled_from([b":", b": ", b":\t ", b" :"]),
        st.binary(max_size=12),
    ).map(lambda line: b"".join(line) + b"\r\n"),
    max_size=6,
).map(b"".join)


@given(fields=lines)
def test_fields_are_taken_apart_as_llhttp_does(fields: bytes) -> None:
    """ "Well-formed means … then there is only one way to read it." """
    fields, end, _ = (b"\r\n" + fields + b"\r\n").partition(b"\r\n\r\n")
    bare = BareLlhttp(b"GET / HTTP/1.1" + fields + end)
    if bare.headers:
        assert split_fields(fields + end) == bare.headers[0]


@given(garbage=st.lists(st.binary(max_size=40) | streams, max_size=4))
def test_garbage_is_no_exception(garbage: list[bytes]) -> None:
    """Whatever arrives, the protocol answers or waits; nothing is raised into the event loop."""
    answers = drive(RawTargetProtocol, garbage)
    assert all(isinstance(answer, Answer) for answer in answers)
