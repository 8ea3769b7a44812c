"""What perdure knows of a capture, and what it asks of whoever keeps captures.

How it works: a `Capture` is one line of an index: one record of an archive file, with where it
lies. Indexes are ordered by `(key, time, date, file, offset)`, so that everything that is asked
(this second, the nearest before and after, all of a page, all of a site) is a range of it. A
`Captures` is such an index, whether it lies in SQLite here, in compressed segments, or with another
server. What the record itself says comes from `ArchiveFiles`.

What must stay true: `uri` and `date` are what was recorded, never a canonical form of it:
`key` finds candidates, `uri` and `date` decide whether they are what was asked for.
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
    """WARC-Date as recorded: `2016-01-22T11:20:29Z`, or finer, or coarser."""
    uri: str
    """WARC-Target-URI as recorded, without the brackets of old wget."""
    kind: str
    """WARC-Type: `response`, `revisit`, `resource`, `conversion`, `metadata`, `request` …"""
    media_type: str = ""
    """Of the payload, without parameters; empty where nothing says so."""
    status: int | None = None
    """Of HTTP."""
    digest: str = ""
    """WARC-Payload-Digest as recorded, with its algorithm: `sha1:B2LTWW…`."""
    file: str = ""
    """Registered name of the archive file; never a path that somebody else wrote."""
    offset: int = 0
    """Of the record in the file, in bytes; in a compressed file, of its first compressed byte."""
    length: int = 0
    """Bytes of the record in the file, compressed where the file is; 0: to be found by reading."""
    refers_to_uri: str = ""
    """Of a revisit: where the payload was met first (WARC-Refers-To-Target-URI)."""
    refers_to_date: str = ""
    id: str = ""
    """WARC-Record-ID, without its angle brackets, where the index keeps it."""


class Captures(Protocol):
    """An index of captures. Safe to use from several threads."""

    def scan(self, low: str, high: str, *, backwards: bool = False, limit: int) -> list[Capture]:
        """At most `limit` captures with low <= `key SP time` < high, in order of the index.

        One look-up costs O(log n), whatever the number of captures of a URL. `backwards` gives
        the last ones, the last first. Raises Unavailable where another server keeps the index.
        """

    def count(self) -> int:
        """How many captures there are; for a person, so an estimate will do."""


class ArchivedRecord(Protocol):
    """One record of an archive file, open for reading. Use as a context manager."""

    @property
    def fields(self) -> list[tuple[str, str]]:
        """Named fields of the WARC head, in order, as recorded."""

    @property
    def status(self) -> int | None:
        """Of the archived HTTP response; None where there is none."""

    @property
    def reason(self) -> str: ...

    @property
    def headers(self) -> list[tuple[str, str]]:
        """Of the archived HTTP response, in order, as recorded."""

    def unchunked(self) -> Iterator[bytes]:
        """The entity without the chunks of the transfer: what a recorded payload digest is of."""

    @property
    def payload_length(self) -> int | None:
        """Bytes of the payload, where the heads say so; None where it must be read to be known."""

    def payload(self) -> Iterator[bytes]:
        """The entity: without HTTP head, transfer coding and content coding. Bounded in memory.

        May be asked for again, and then begins anew. Raises Corrupt where the record is damaged,
        OverBudget where it inflates without measure.
        """

    def raw(self) -> Iterator[bytes]:
        """The record, from its `WARC/` line to the end of its block, uncompressed."""

    def close(self) -> None: ...


class ArchiveFiles(Protocol):
    """The archive files of this registry."""

    def open(self, capture: Capture) -> ArchivedRecord:
        """The record of a capture. Raises NotFound, Corrupt or Unavailable."""
