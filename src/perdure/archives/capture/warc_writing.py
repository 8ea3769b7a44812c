"""Write captures as WARC/1.1 (ISO 28500:2017), each record compressed by itself.

How it works: a `warcinfo` record opens the file. For each exchange, a `response` record follows,
then the `request` that it answered. A block has the bytes that were on the wire. Digests are SHA-1
in base 32, because other archives use these in their indexes, so that both find the same captures.

What must stay true: every record has the digest of its block, and every message the digest of its
payload; `warcio check` and `fastwarc check` accept both.
"""

from __future__ import annotations

import base64
import hashlib
import uuid
import zlib
from datetime import UTC, datetime
from typing import BinaryIO

from perdure.fetching import Exchange

_CONFORMS = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_GZIP = zlib.MAX_WBITS + 16
_LEVEL = 9


class CaptureWriter:
    """Writes exchanges into a file. `exchanges` counts them."""

    def __init__(self, into: BinaryIO, *, name: str, software: str, user_agent: str) -> None:
        self._into = into
        self._info_id = make_record_id()
        self.exchanges = 0
        about = {
            "software": software,
            "format": "WARC File Format 1.1",
            "conformsTo": _CONFORMS,
            "http-header-user-agent": user_agent,
            "robots": "ignore",
        }
        fields = {
            "WARC-Type": "warcinfo",
            "WARC-Record-ID": self._info_id,
            "WARC-Filename": name,
            "WARC-Date": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}",
            "Content-Type": "application/warc-fields",
        }
        lines = "".join(f"{key}: {value}\r\n" for key, value in about.items() if value)
        self._write_record(fields, lines.encode())

    def write_exchange(self, exchange: Exchange) -> None:
        """Write the response, and the request that it answered."""
        response_id = make_record_id()
        fields = {"WARC-Type": "response", "WARC-Record-ID": response_id}
        if exchange.truncated:
            fields["WARC-Truncated"] = exchange.truncated
        self._write_message(fields, exchange, exchange.received, exchange.head_length)
        fields = {
            "WARC-Type": "request",
            "WARC-Record-ID": make_record_id(),
            "WARC-Concurrent-To": response_id,
        }
        self._write_message(fields, exchange, exchange.sent, len(exchange.sent))
        self.exchanges += 1

    def _write_message(
        self, fields: dict[str, str], exchange: Exchange, block: bytes, head_length: int
    ) -> None:
        said = {
            "WARC-Target-URI": exchange.url,
            "WARC-Date": exchange.began,
            "WARC-IP-Address": exchange.address.partition("%")[0],
            "WARC-Warcinfo-ID": self._info_id,
            "WARC-Payload-Digest": make_digest(block[head_length:]),
            "Content-Type": f"application/http; msgtype={fields['WARC-Type']}",
        }
        self._write_record(fields | said, block)

    def _write_record(self, fields: dict[str, str], block: bytes) -> None:
        fields |= {"WARC-Block-Digest": make_digest(block), "Content-Length": str(len(block))}
        head = "WARC/1.1\r\n" + "".join(f"{key}: {value}\r\n" for key, value in fields.items())
        compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
        for piece in (head.encode(), b"\r\n", block, b"\r\n\r\n"):
            self._into.write(compressor.compress(piece))
        self._into.write(compressor.flush())


def make_record_id() -> str:
    return f"<{uuid.uuid4().urn}>"


def make_digest(data: bytes) -> str:
    """Return the SHA-1 of bytes in the form that indexes of web archives use.

    >>> make_digest(b"")
    'sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ'
    """
    digest = hashlib.sha1(data, usedforsecurity=False).digest()
    return f"sha1:{base64.b32encode(digest).decode()}"
