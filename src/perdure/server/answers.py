"""An answer to a request, as a value; and the one place where header values are made.

How it works: handlers return an `Answer`. `begin` reads the first piece of a stream, so that what
goes wrong at once can still be said; `send` hands the whole to the server. `wire` spells the same
answer as bytes, for those that are given without ASGI.

What must stay true: a header value is visible ASCII whatever it was made from; a body that cannot
be sent whole ends the connection and never looks complete.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable
from http import HTTPStatus

import msgspec

from perdure.server.request import Receive, Send

Fields = list[tuple[bytes, bytes]]

_IN_URI = re.compile(r"[!#-;=?-~]*")
_NOT_IN_URI = re.compile(r"[^!#-;=?-~]")  # controls, blanks, `"`, `<`, `>`, and all beyond ASCII
STATUS_LINES = {
    status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus
}


class Answer(msgspec.Struct):
    """Status, header fields in order, and a body: bytes, or a stream of known length."""

    status: int
    fields: Fields
    body: bytes = b""
    stream: AsyncIterator[bytes] | None = None


def uri(text: str) -> bytes:
    """A URI reference for a header field, whatever the text holds.

    >>> uri("http://a/>; x=é\\r\\nY: 1")
    b'http://a/%3E;%20x=%C3%A9%0D%0AY:%201'
    """
    if not _IN_URI.fullmatch(text):
        text = _NOT_IN_URI.sub(_escaped, text)
    return text.encode("ascii")


def _escaped(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "replace"))


def link(target: str, rel: str, **attributes: str) -> bytes:
    """A link of a Link field (RFC 8288). Attributes are ours, or media types and languages.

    >>> link("?info", "describedby", type="application/json")
    b'<?info>; rel="describedby"; type="application/json"'
    """
    written = "".join(f'; {name}="{token(text)}"' for name, text in attributes.items())
    return b'<%s>; rel="%s"%s' % (uri(target), rel.encode(), written.encode())


def token(text: str) -> str:
    """Text for a header value: printable ASCII, and neither quote nor backslash in it."""
    return "".join(one if " " <= one <= "~" and one not in '"\\' else "_" for one in text)


def links(found: Iterable[bytes]) -> Fields:
    """The Link field that joins these; none where there are none."""
    value = b", ".join(found)
    return [(b"link", value)] if value else []


def plain(status: int, media_type: str, body: bytes, *more: tuple[bytes, bytes]) -> Answer:
    """An answer whose body is at hand."""
    return Answer(
        status,
        [
            (b"content-type", media_type.encode("ascii")),
            (b"content-length", b"%d" % len(body)),
            *more,
        ],
        body,
    )


def empty(status: int, *fields: tuple[bytes, bytes]) -> Answer:
    """An answer without a body; 204 and 304 have no length either (RFC 9110 section 8.6)."""
    without = status in (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
    return Answer(status, [*fields] if without else [*fields, (b"content-length", b"0")])


def wire(answer: Answer) -> bytes:
    """A whole answer as HTTP/1.1, without the fields that the server adds to all."""
    return b"".join((STATUS_LINES[answer.status], lines(answer.fields), b"\r\n", answer.body))


def lines(fields: Fields) -> bytes:
    """Header fields as they are sent."""
    return b"".join([b"%s: %s\r\n" % field for field in fields])


async def begin(answer: Answer) -> Answer:
    """The answer with the first piece of its stream read: what fails now can still be said."""
    if answer.stream is not None:
        answer.body = await anext(answer.stream, b"")
    return answer


async def send(answer: Answer, to: Send, *, receive: Receive, with_body: bool) -> int:
    """Send an answer that has begun; gives the bytes of body sent. Raises what its stream does."""
    await to({"type": "http.response.start", "status": answer.status, "headers": answer.fields})
    if answer.stream is not None and with_body:
        return len(answer.body) + await _send_rest(answer.body, answer.stream, to, receive)
    await to({"type": "http.response.body", "body": answer.body, "more_body": False})
    return len(answer.body) if with_body else 0


async def _send_rest(first: bytes, stream: AsyncIterator[bytes], to: Send, receive: Receive) -> int:
    """Send a stream until it ends or the client goes away, which the server tells nobody else."""
    sent = 0
    departure = asyncio.ensure_future(_departure(receive))
    try:
        await to({"type": "http.response.body", "body": first, "more_body": True})
        async for piece in stream:
            if departure.done():
                return sent
            await to({"type": "http.response.body", "body": piece, "more_body": True})
            sent += len(piece)
        await to({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        departure.cancel()
    return sent


async def _departure(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
