"""An answer to a request, as a value; and the only place where header values are made.

How it works: handlers return an `Answer`. `begin_answer` reads the first piece of a stream, so that
an early failure can still become an error answer; `send_answer` passes the complete answer to the
server. `write_answer` writes the same answer as bytes, for answers that are sent without ASGI.

What must stay true: a header value is visible ASCII whatever text it was made from; a body that
cannot be sent in full ends the connection and never looks complete.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncIterator, Iterable
from http import HTTPStatus

import msgspec

from perdure.errors.corruption import FileEndsEarly
from perdure.server.protocol.asgi import Receive, Scope, Send
from perdure.server.protocol.sendfile import FileSender, find_sender
from perdure.storage.byte_ports import LocalFile

Fields = list[tuple[bytes, bytes]]

_PIECE = 1 << 18
"""Bytes of a body that are sent in one go; to copy them takes 0.1 ms."""
_IN_URI = bytes(one if 0x21 <= one < 0x7F and one not in b'"<>' else 0 for one in range(256))
"""A table of translation that changes every byte that a URI must not contain."""
_NOT_IN_URI = re.compile(r"[^!#-;=?-~]")  # controls, spaces, `"`, `<`, `>`, and non-ASCII
_NOT_IN_VALUE = re.compile(r"[^ !#-\[\]-~]")  # controls, quotes, backslashes, and non-ASCII
STATUS_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}


class FileSpan(msgspec.Struct, frozen=True):
    """The place of a stream's bytes in a file, so that they can be sent without being read."""

    file: LocalFile
    offset: int
    length: int


class Answer(msgspec.Struct):
    """Status, header fields in order, and a body: bytes, or a stream of known length.

    If `file` is given, too, it has the same bytes as the stream.
    """

    status: int
    fields: Fields
    body: bytes = b""
    stream: AsyncIterator[bytes] | None = None
    file: FileSpan | None = None
    coding: str = ""
    """The coding in which the body will be sent (`perdure.server.common.content_coding`)."""


def keep_private(answer: Answer) -> None:
    """Forbid caches to store an answer that another reader may not get."""
    answer.fields = [field for field in answer.fields if field[0] != b"cache-control"]
    answer.fields.append((b"cache-control", b"private, no-store"))


def escape_uri(text: str) -> bytes:
    """Escape a text as a URI reference for a header field, whatever the text contains.

    >>> escape_uri("http://a/>; x=é\\r\\nY: 1")
    b'http://a/%3E;%20x=%C3%A9%0D%0AY:%201'
    """
    plain = text.encode() if text.isascii() else text.encode("utf-8", "replace")
    if plain.translate(_IN_URI) != plain:
        return _NOT_IN_URI.sub(_escape_match, text).encode("ascii")
    return plain


def _escape_match(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "replace"))


def write_link(target: str, rel: str, **attributes: str) -> bytes:
    """Write a link of a Link field (RFC 8288). Attribute names are safe; values are cleaned.

    >>> write_link("?info", "describedby", type="application/json")
    b'<?info>; rel="describedby"; type="application/json"'
    """
    link = b'<%s>; rel="%s"' % (escape_uri(target), rel.encode())
    if not attributes:
        return link
    written = "".join(f'; {name}="{clean_value(text)}"' for name, text in attributes.items())
    return link + written.encode()


def clean_value(text: str) -> str:
    """Clean a text for a header value: printable ASCII without quotes or backslashes."""
    return _NOT_IN_VALUE.sub("_", text)


def join_links(found: Iterable[bytes]) -> Fields:
    """Join links in one Link field. Without links, there is no field."""
    value = b", ".join(found)
    return [(b"link", value)] if value else []


def make_answer(status: int, media_type: str, body: bytes, *more: tuple[bytes, bytes]) -> Answer:
    """Make an answer with a body of bytes."""
    return Answer(
        status,
        [
            (b"content-type", media_type.encode("ascii")),
            (b"content-length", b"%d" % len(body)),
            *more,
        ],
        body,
    )


def make_empty_answer(status: int, *fields: tuple[bytes, bytes]) -> Answer:
    """Make an answer without a body; 204 and 304 have no length either (RFC 9110 section 8.6)."""
    without = status in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
    return Answer(status, [*fields] if without else [*fields, (b"content-length", b"0")])


def write_answer(answer: Answer) -> bytes:
    """Write an answer as HTTP/1.1, without the fields that the server adds to all answers."""
    return b"".join(
        (STATUS_LINES[answer.status], write_fields(answer.fields), b"\r\n", answer.body)
    )


def write_fields(fields: Fields) -> bytes:
    """Write header fields as they are sent."""
    return b"".join([b"%s: %s\r\n" % field for field in fields])


async def begin_answer(answer: Answer) -> Answer:
    """Read the first piece of the stream. A failure here can still become an error answer."""
    if answer.stream is not None:
        answer.body = await anext(answer.stream, b"")
    return answer


async def send_answer(answer: Answer, scope: Scope, receive: Receive, to: Send) -> int:
    """Send an answer that has begun. Return the number of bytes of the body that were sent.

    Raises the errors of its stream.
    """
    await to({"type": "http.response.start", "status": answer.status, "headers": answer.fields})
    if scope["method"] == "HEAD":
        await to({"type": "http.response.body", "body": answer.body, "more_body": False})
        return 0
    if answer.stream is None:
        await _send_body(answer.body, to)
        return len(answer.body)
    await to({"type": "http.response.body", "body": answer.body, "more_body": True})
    send_file = find_sender(scope)
    if answer.file is not None and send_file is not None:
        whole = await _send_file(answer.file, len(answer.body), send_file, receive)
        sent = answer.file.length
    else:
        whole, sent = await _send_stream(answer.stream, to, receive)
        sent += len(answer.body)
    if whole:
        await to({"type": "http.response.body", "body": b"", "more_body": False})
    return sent


async def _send_body(body: bytes, to: Send) -> None:
    """Send a body that is at hand. Other requests run after each piece of a long one: the kernel
    copies as much as it is given."""
    last = max(len(body) - 1, 0) // _PIECE * _PIECE
    for at in range(0, last, _PIECE):
        await to({"type": "http.response.body", "body": body[at : at + _PIECE], "more_body": True})
        await asyncio.sleep(0)
    await to({"type": "http.response.body", "body": body[last:], "more_body": False})


async def _send_file(span: FileSpan, begun: int, send_file: FileSender, receive: Receive) -> bool:
    """Send the rest of a span. Return False if the client went away."""
    rest = span.length - begun
    if await send_file(span.file.fd, span.offset + begun, rest) == rest:
        return True
    end = os.fstat(span.file.fd).st_size
    if end < span.offset + span.length:
        missing = span.offset + span.length - end
        raise FileEndsEarly(file="a segment", at=end, missing=missing)
    await _await_departure(receive)
    return False


async def _send_stream(
    stream: AsyncIterator[bytes], to: Send, receive: Receive
) -> tuple[bool, int]:
    """Send a stream until it ends or the client goes away. Other requests run after each piece.

    Only `receive` reports that the client went away.
    """
    sent = 0
    departure = asyncio.ensure_future(_await_departure(receive))
    try:
        async for piece in stream:
            if departure.done():
                return False, sent
            await to({"type": "http.response.body", "body": piece, "more_body": True})
            sent += len(piece)
            await asyncio.sleep(0)  # `to` does not wait if the client reads fast enough
    finally:
        departure.cancel()
    return True, sent


async def _await_departure(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
