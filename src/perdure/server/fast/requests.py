"""Requests as handlers see them, made without ASGI of what a client sent.

What must stay true: a handler cannot tell by which way a request came, except that its body is
passed separately.
"""

from __future__ import annotations

from typing import NoReturn

from perdure.server.common.request import Request
from perdure.server.protocol.head import Headers
from perdure.server.protocol.http import EXTENSION


def make_request(method: bytes, target: bytes, headers: Headers, base_url: str) -> Request:
    """Make the request that the plain way would see. Its body has been read."""
    scope = {
        "method": method.decode(),
        "http_version": "1.1",
        "scheme": "http",
        "headers": headers,
        "extensions": {EXTENSION: {"raw": target}},
    }
    return Request(scope, _refuse_reading, base_url)


async def _refuse_reading() -> NoReturn:
    raise RuntimeError("the body of this request was read")
