"""The meanings of headers, cached for clients that repeat a header with each write.

How it works: the key is a digest of the complete header, so equal bytes have one meaning. When the
cache is full it is emptied, and fills again with the headers of the clients that are active.

What must stay true: no secret is remembered, because a header is stored only as its digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Generic, TypeVar

from perdure.server.protocol.head import join_fields, split_fields

_MOST_HEADERS = 1024
_DIGEST_BYTES = 16
T = TypeVar("T")


class RepeatedHeaders(Generic[T]):
    """The meanings of headers by `judge`, which returns None if the plain way must decide.

    The plain way decides, too, if an answer waits for mirrors (`perdure.server.common.mirrors`).
    """

    def __init__(self, judge: Callable[[dict[bytes, bytes]], T | None]) -> None:
        self._judge = judge
        self._known: dict[bytes, T | None] = {}

    def judge_fields(self, fields: bytes) -> T | None:
        """Return the meaning of the fields of a request."""
        key = hashlib.blake2b(fields, digest_size=_DIGEST_BYTES).digest()
        try:
            return self._known[key]
        except KeyError:
            if len(self._known) >= _MOST_HEADERS:
                self._known.clear()
            found = join_fields(split_fields(fields))
            waits = b"mirrored" in found.get(b"prefer", b"").lower()
            meaning = self._known[key] = None if waits else self._judge(found)
            return meaning
