"""Compute the digest of the payload of a record while its block is read.

How it works: the SHA-1 of the entity, in base 32, is what WARC writers record and what cdxj-indexer
computes: everything after the HTTP head, with chunks and content coding as recorded. A block that
is not an HTTP message is hashed completely.

What must stay true: a block that is incomplete has no digest; memory is bounded, however long a
block is.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable

from perdure.archives.files import heads
from perdure.archives.files.heads import LONGEST_HEAD, ArchivedHead

WITH_PAYLOAD = ("response", "resource", "conversion")
"""Kinds of record that have a payload of their own."""


def lacks_digest(head: ArchivedHead) -> bool:
    """Return whether a record should have a payload digest and does not carry one."""
    return not head.digest and bool(head.uri) and head.kind in WITH_PAYLOAD


class EntityDigest:
    """The digest of a block's payload; the block is added piece by piece."""

    def __init__(self, head: ArchivedHead) -> None:
        self._sha1 = hashlib.sha1(usedforsecurity=False)
        self._left = head.length
        self._begin: bytes | None = (
            b"" if heads.speaks_http(head.kind, head.uri, head.content_type) else None
        )
        """The bytes read so far, until it is known where the HTTP head ends."""

    def add_piece(self, piece: bytes) -> None:
        """Add the next bytes; those beyond the announced length are not part of the block."""
        if self._left is None:
            return
        piece = piece[: self._left]
        self._left -= len(piece)
        if self._begin is None:
            self._sha1.update(piece)
            return
        self._begin += piece
        end = heads.find_end_of_head(self._begin)
        if end >= 0 or len(self._begin) >= LONGEST_HEAD:
            self._skip_head(end)

    def _skip_head(self, end: int) -> None:
        """Hash the bytes after the HTTP head, or all of them if they do not begin with one."""
        assert self._begin is not None  # noqa: S101  (else it was skipped before)
        begin, self._begin = self._begin, None
        if heads.parse_status_line(begin)[0] is None:
            self._sha1.update(begin)
        elif end < 0:
            self._left = None  # the head is too long, so its payload cannot be read
        else:
            self._sha1.update(begin[end:])

    def format_digest(self) -> str:
        """Return `sha1:…`, or an empty text if the block is incomplete."""
        if self._left != 0:
            return ""
        if self._begin is not None:  # a block with only a head, or a short text without one
            self._skip_head(len(self._begin))
        return f"sha1:{base64.b32encode(self._sha1.digest()).decode()}"


def hash_entity(pieces: Iterable[bytes]) -> str:
    """Return the digest of an entity that is read without its HTTP head."""
    sha1 = hashlib.sha1(usedforsecurity=False)
    for piece in pieces:
        sha1.update(piece)
    return f"sha1:{base64.b32encode(sha1.digest()).decode()}"
