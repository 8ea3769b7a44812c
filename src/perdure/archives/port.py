"""A capture, and the interfaces of the indexes and files that hold captures.

How it works: a `Capture` is one line of an index: one record of an archive file, with its place in
the file. Indexes are ordered by `(key, time, date, file, offset)`, so that every question (this
second, the nearest before and after, all of a page, all of a site) is a range of the index. A
`Captures` is such an index, in SQLite here, in compressed segments, or on another server. The
content of the record comes from `ArchiveFiles`.

What must stay true: `uri` and `date` are as recorded, never in a canonical form. `key` finds
candidates; `uri` and `date` decide whether a candidate is the capture that you asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import msgspec


class Capture(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One record of an archive file, as its index has it."""

    key: str
    """Canonical URL in sort-friendly order (SURT): `dk,dr)/nyheder?a=1`."""
    time: str
    """The second, UTC, in 14 digits: `20160122112029`."""
    date: str
    """WARC-Date as recorded: `2016-01-22T11:20:29Z`, or more or less precise."""
    uri: str
    """WARC-Target-URI as recorded, without the angle brackets that old versions of wget wrote."""
    kind: str
    """WARC-Type: `response`, `revisit`, `resource`, `conversion`, `metadata`, `request` …"""
    media_type: str = ""
    """Media type of the payload, without parameters; empty if it is not recorded."""
    status: int | None = None
    """HTTP status."""
    digest: str = ""
    """WARC-Payload-Digest as recorded, with its algorithm: `sha1:B2LTWW…`; if the record has none,
    it was computed when the record was indexed."""
    file: str = ""
    """Registered name of the archive file; never a path from an outside source."""
    offset: int = 0
    """Offset of the record in the file, in bytes; if compressed, of its first compressed byte."""
    length: int = 0
    """Bytes of the record in the file, compressed if the file is; 0 if the index lacks it."""
    refers_to_uri: str = ""
    """For a revisit: URI of the capture that has the payload (WARC-Refers-To-Target-URI)."""
    refers_to_date: str = ""
    method: str = ""
    """Method of the request, in upper case; empty if it is GET or unknown."""
    request_body: str = ""
    """Body of the request as a query, if the method is POST or PUT."""
    id: str = ""
    """WARC-Record-ID, without its angle brackets, if the index keeps it."""
    concurrent_to: str = ""
    """WARC-Concurrent-To, likewise."""


class CaptureBlanking(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record of an archive file that will be overwritten, and its new bytes."""

    path: str
    """The archive file, relative to the directory of the index."""
    size: int
    """Bytes of the file: one of another size is not the one that was planned for."""
    offset: int
    """In the file; if it is a WACZ package, not in the archive file inside."""
    length: int
    """Bytes to overwrite, from `offset` on."""
    codec: str = ""
    """`gzip`, `zstd`, or empty if the record is not compressed."""
    head: bytes
    """The rest of the record: its head, and the rest of the head of an HTTP message."""
    zeros: int
    """Zero bytes that follow the head."""
    tail: bytes = b""
    """What ends the record in its compressed member."""
    begin: bytes = b""
    """The head as blocks of a zstd frame."""


class Captures(Protocol):
    """An index of captures. Safe to use from several threads."""

    def scan_range(
        self, low: str, high: str, *, backwards: bool = False, limit: int
    ) -> list[Capture]:
        """Return at most `limit` captures with low <= `key SP time` < high, in index order.

        A look-up costs O(log n), however many captures a URL has. With `backwards`, the last ones
        are returned, the very last first. Raises Unavailable if the index is on another server
        that does not answer.
        """

    def scan_by_request(
        self, low: str, high: str, *, backwards: bool = False, limit: int
    ) -> list[Capture]:
        """Return captures that lists have under another key than the index.

        In lists for other programs, the key of an answer to POST contains the method and body of
        the request (`perdure.archives.index.cdxj.make_exchanged_key`). This is `scan_range` for
        `that key SP time`, and has no other captures.
        """

    def count_captures(self) -> int:
        """Return the number of captures. It is shown to people, so an estimate will do."""


class ArchivedRecord(Protocol):
    """One record of an archive file, open for reading. Use as a context manager."""

    @property
    def fields(self) -> list[tuple[str, str]]:
        """Named fields of the WARC head, in order, as recorded."""

    @property
    def status(self) -> int | None:
        """Status of the archived HTTP response; None if it has none."""

    @property
    def reason(self) -> str: ...

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Header fields of the archived HTTP response, in order, as recorded."""

    def read_entity(self) -> Iterator[bytes]:
        """Yield everything after the HTTP head, with chunks and coding as recorded.

        Payload digests are taken of it.
        """

    @property
    def payload_length(self) -> int | None:
        """Bytes of the payload according to the heads; None if it must be read to be known."""

    def read_payload(self) -> Iterator[bytes]:
        """Yield the entity without HTTP head, transfer coding and content coding.

        Memory is bounded. You can call it again; it then starts from the beginning. Raises Corrupt
        if the record is damaged, OverBudget if it inflates beyond the limit.
        """

    def read_raw(self) -> Iterator[bytes]:
        """Yield the record, from its `WARC/` line to the end of its block, uncompressed."""

    def close(self) -> None: ...


class ArchiveFiles(Protocol):
    """The archive files of this registry."""

    def open_record(self, capture: Capture) -> ArchivedRecord:
        """Open the record of a capture. Raises NotFound, Corrupt or Unavailable."""

    def is_damaged(self, capture: Capture) -> bool:
        """Return whether the record of a capture was found to be damaged when it was indexed."""
