"""Undoing a content coding, within bounds.

What must stay true: a body of any kind takes no more memory than the limit, however it inflates;
what is damaged or goes on behind the limit gives what there was before.
"""

from __future__ import annotations

import zlib

from perdure.fetching.exchange import Exchange

ACCEPTED = "gzip, deflate"
_GZIP_OR_ZLIB = zlib.MAX_WBITS | 32
_RAW = -zlib.MAX_WBITS
_MOST_CODINGS = 3


def content(exchange: Exchange, limit: int) -> bytes:
    """The entity without its content codings, at most `limit` bytes of it.

    Empty where there is a coding that was not asked for.
    """
    codings = [
        coding.strip().lower()
        for name, value in exchange.headers
        if name.lower() == "content-encoding"
        for coding in value.split(",")
    ]
    body = exchange.body[:limit]
    applied = [coding for coding in codings if coding not in {"", "identity"}]
    if len(applied) > _MOST_CODINGS:
        return b""
    for coding in reversed(applied):
        if coding not in {"gzip", "x-gzip", "deflate"}:
            return b""
        body = _inflated(body, limit)
    return body


def _inflated(body: bytes, limit: int) -> bytes:
    # "deflate" is zlib's form by the standard and the bare one with some servers
    bare = len(body) > 1 and body[:2] != b"\x1f\x8b" and (body[0] & 15 != 8 or _sum(body) % 31)
    made = b""
    while body and len(made) < limit:
        stream = zlib.decompressobj(_RAW if bare else _GZIP_OR_ZLIB)
        try:
            made += stream.decompress(body, limit - len(made))
        except zlib.error:
            break
        body = stream.unused_data  # a further member of gzip
    return made


def _sum(body: bytes) -> int:
    return body[0] << 8 | body[1]
