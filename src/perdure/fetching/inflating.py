"""Decode a content coding, within bounds.

What must stay true: no body takes more memory than the limit, however much it inflates; if a body
is damaged or exceeds the limit, the result is the data before that.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from perdure.fetching.exchange import Exchange

ACCEPTED = "gzip, deflate"
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
_RAW = -zlib.MAX_WBITS
_MOST_CODINGS = 3


def decode_content(exchange: Exchange, limit: int) -> bytes:
    """Return the entity without its content codings, at most `limit` bytes.

    It is empty if the entity has a coding that was not requested.
    """
    return decode_body(exchange.body, list_codings(exchange.headers), limit)


def list_codings(headers: Iterable[tuple[str, str]]) -> list[str]:
    """Return the content codings that a head names, in the order in which they were applied."""
    codings = [
        coding.strip().lower()
        for name, value in headers
        if name.lower() == "content-encoding"
        for coding in value.split(",")
    ]
    return [coding for coding in codings if coding not in {"", "identity"}]


def decode_body(body: bytes, applied: list[str], limit: int) -> bytes:
    """Return a body without these content codings, as `decode_content` does."""
    body = body[:limit]
    if len(applied) > _MOST_CODINGS:
        return b""
    for coding in reversed(applied):
        if coding not in {"gzip", "x-gzip", "deflate"}:
            return b""
        body = _inflate_body(body, limit)
    return body


def _inflate_body(body: bytes, limit: int) -> bytes:
    # "deflate" is the zlib format in the standard, but some servers send a bare stream
    bare = (
        len(body) > 1 and body[:2] != b"\x1f\x8b" and (body[0] & 15 != 8 or _sum_header(body) % 31)
    )
    made = b""
    while body and len(made) < limit:
        stream = zlib.decompressobj(_RAW if bare else _GZIP_OR_ZLIB)
        try:
            made += stream.decompress(body, limit - len(made))
        except zlib.error:
            break
        body = stream.unused_data  # a further member of gzip
    return made


def _sum_header(body: bytes) -> int:
    return body[0] << 8 | body[1]
