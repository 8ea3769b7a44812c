"""Responses as they come in: whole, byte by byte, cut off, and what is none."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.fetching.exchange import Limits
from perdure.fetching.reading import NotHttp, ResponseReader

LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: a\r\nx:  b \r\n\r\nhello"
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3;x=y\r\nhel\r\n2\r\nlo\r\n0\r\nT: u\r\n\r\n"
)
CLOSED = b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nhello"
BARE = b"HTTP/1.1 200\nContent-Length: 5\n\nhello"
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
LIMITS = Limits(head=1000, body=1000)


def read(
    text: bytes, *, step: int = 1 << 20, method: str = "GET", limits: Limits = LIMITS
) -> ResponseReader:
    reading = ResponseReader(limits, method=method)
    for at in range(0, len(text), step):
        reading.feed_piece(text[at : at + step])
    if not reading.done:
        reading.end_response()
    return reading


@pytest.mark.parametrize("step", [1, 2, 7, 1 << 20])
@pytest.mark.parametrize("text", [LENGTH, CHUNKED, CLOSED, BARE])
def test_a_response_is_kept_as_it_came(text: bytes, step: int) -> None:
    found = read(text, step=step)
    assert found.received_bytes == text
    assert found.body == b"hello"
    assert found.status == 200
    assert found.truncated is None


@pytest.mark.parametrize("step", [1, 1 << 20])
def test_interim_responses_are_dropped(step: int) -> None:
    found = read(INTERIM + LENGTH, step=step)
    assert found.received_bytes == LENGTH
    assert found.headers == [("Content-Length", "5"), ("X", "a"), ("x", "b")]


def test_the_head_is_told_from_the_body() -> None:
    found = read(CHUNKED)
    assert found.received_bytes[: found.head_length].endswith(b"chunked\r\n\r\n")


def test_a_head_alone_answers_head() -> None:
    found = read(LENGTH[: -len(b"hello")], method="HEAD")
    assert (found.done, found.body, found.truncated) == (True, b"", None)


@pytest.mark.parametrize("text", [LENGTH, CHUNKED])
@pytest.mark.parametrize("lost", [1, 3])
def test_what_ends_early_is_said_to(text: bytes, lost: int) -> None:
    assert read(text[:-lost]).truncated == "disconnect"


def test_what_is_too_long_is_cut_off() -> None:
    found = read(CLOSED + b"!" * 2000)
    assert found.truncated == "length"
    assert len(found.body) == 1000
    assert found.received_bytes == CLOSED + b"!" * 995


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"SSH-2.0-OpenSSH_9\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"<html>\n\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 2000,
        b"HTTP/1.1 200 OK\r\nX: " + b"a" * 2000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno number\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
    ],
)
def test_what_is_no_response_is_an_error(text: bytes) -> None:
    with pytest.raises(NotHttp):
        read(text)
    with pytest.raises(NotHttp):
        read(text, step=1)


@pytest.mark.parametrize(
    ("fields", "read_as"),
    [
        (b"no field\r\nX: 1", [("X", "1")]),
        (b"X-B\xfcch: \xfc  ", [("X-B\xfcch", "\xfc")]),
        (b"X : 1\r\n 2\r\n\t3\r\nY:", [("X", "1 2 3"), ("Y", "")]),
        (b"X: a\x00b\rc", [("X", "a\x00b c")]),
        (b": 1", [("", "1")]),
        (b"Content-Length: 5\r\ncontent-length: 5, 5", None),
        (b"Content-Length: 1\r\nTransfer-Encoding:  chunked", None),
    ],
)
@pytest.mark.parametrize("step", [1, 1 << 20])
def test_a_head_that_no_strict_parser_accepts_is_read(
    fields: bytes, read_as: list[tuple[str, str]] | None, step: int
) -> None:
    body = b"5\r\nhello\r\n0\r\n\r\n" if b"chunked" in fields else b"hello"
    text = b"HTTP/1.1 200 OK\r\n" + fields + b"\r\n\r\n" + body
    found = read(text, step=step)
    assert found.received_bytes == text
    assert found.body == b"hello"
    if read_as is not None:
        assert found.headers == read_as


@given(
    text=st.sampled_from((LENGTH, CHUNKED, CLOSED, BARE, INTERIM + CHUNKED, CLOSED + b"!" * 2000)),
    lost=st.integers(0, 40),
    cuts=st.lists(st.integers(0, 2200), max_size=6),
)
def test_how_it_is_cut_into_pieces_makes_no_difference(
    text: bytes, lost: int, cuts: list[int]
) -> None:
    """RFC 9112 section 2.2: a recipient parses an HTTP message as a sequence of octets."""
    whole = text[: len(text) - lost]
    places = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    told: list[object] = []
    for pieces in ([whole], [whole[a:b] for a, b in pairwise(places)]):
        reading = ResponseReader(LIMITS, method="GET")
        try:
            for piece in pieces:
                reading.feed_piece(piece)
            if not reading.done:
                reading.end_response()
        except NotHttp:
            told.append(None)
        else:
            told.append((reading.received_bytes, reading.body, reading.truncated, reading.headers))
    assert told[0] == told[1]
