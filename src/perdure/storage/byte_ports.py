"""The port of bytes: what a store of representations offers, to be read and to be written.

To keep the bytes elsewhere (in an object store, say), write a package that offers a function that
opens `Bytes`, register it as an entry point in the group `perdure.bytes`, and choose it with the
setting `bytes`. No existing file is edited. The contract tests in `tests/storage` check what the
port promises. `perdure.storage.ports` has the ports of records.

What must stay true: `BytesWriter` writes one batch at a time, and takes it back if the batch fails;
after `FlushFailed`, nothing more is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from perdure.errors import Corrupt, Unavailable
from perdure.model.commands import Content
from perdure.model.records import Correction, Representation, Tombstone
from perdure.storage.store_findings import StoreFinding

INCOMING = "incoming"
"""The directory of a registry for bytes on their way in, and for what is being built. It is on the
same file system as the rest, so that what is complete is moved to its place at once."""
CHUNK = 256 * 1024
"""Bytes that are read at a time; measured: at this size, `pread` keeps up with `sendfile`."""


class FlushFailed(OSError):
    """A flush to the disk failed; the data written before it may be lost without a trace."""


class BytesRefused(OSError):
    """The store takes no bytes now, and nothing of the batch counts: take it back and go on."""

    def __init__(self, failure: Unavailable) -> None:
        super().__init__(str(failure))
        self.failure = failure
        """The error for the clients."""


class FetchNeeded(Exception):
    """A document must be fetched from a server first, and an event loop must not wait for that.

    Call `find_local` in a thread, then do again what needed it.
    """

    def __init__(self, held: Representation) -> None:
        super().__init__(held.sha512)
        self.held = held


class LocalFile(Protocol):
    """An open file of this computer that contains bytes of a registry.

    It stays open as long as you keep a reference to it.
    """

    @property
    def fd(self) -> int:
        """The file descriptor, for `sendfile` and for reads from the page cache."""

    @property
    def path(self) -> Path:
        """The present path of the file, for programs that open it. Raises Corrupt if it is lost."""

    def read(self, length: int, offset: int) -> bytes:
        """At most `length` bytes from `offset`; fewer only at the end of the file."""


class KeptCorrection(msgspec.Struct, frozen=True, kw_only=True):
    """A correction of the bytes in one format of a version."""

    format: str
    correction: Correction


class KeptRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A record as its segment describes it: the bytes of one representation, one withdrawal, or one
    correction."""

    name: str
    """The identifier: with format and version for bytes, of the resource for a withdrawal or a
    correction."""
    at: str
    end: int
    """The length of the segment up to the end of this record."""
    version: int
    """The number of the version, or 0 for the withdrawal of a complete resource."""
    representation: Representation | None = None
    tombstone: Tombstone | None = None
    correction: KeptCorrection | None = None


class Blanking(msgspec.Struct, frozen=True, kw_only=True):
    """The bytes of a representation to erase."""

    held: Representation
    """As it is after the erasure: its digest is that of the remaining bytes."""
    spans: tuple[tuple[int, int], ...]
    """Start and end of each stretch to erase."""


HeadFacts = tuple[str, int, str, str, str | None, int, str]
"""The facts about some bytes in the head of their record: full name, version, format, media type
with its charset, language, length, SHA-512."""


def list_facts(name: str, version: int, held: Representation) -> HeadFacts:
    """The facts that the head of a representation's record must have."""
    kind = join_kind(held.media_type, held.charset)
    return name, version, held.format, kind, held.language or None, held.length, held.sha512


def join_kind(media_type: str, charset: str | None) -> str:
    """A media type with its charset, unless it has it already."""
    has_charset = not charset or "charset=" in media_type
    return media_type if has_charset else f"{media_type};charset={charset}"


class IntactBytes(NamedTuple):
    """Bytes of a segment that were read completely and have the digests of their head."""

    offset: int
    facts: HeadFacts


class CheckedRecord(NamedTuple):
    """Any other record of a segment that was read completely."""

    kept: KeptRecord
    is_intact: bool
    """False if its bytes do not have the digests with which they were written."""


class BytesWriter(Protocol):
    """Writes the bytes of a registry: one thread, in the process that holds the write lock.

    A registry consists of numbered segments, which only grow. What is written between `begin_batch`
    and `note_commit` becomes durable with `flush`, and `rewind_batch` takes it back. Methods raise
    OSError if the bytes cannot be written (then rewind and go on), and FlushFailed if they may be
    lost (then stop). BytesRefused is an OSError that passes without a repair here.
    """

    def begin_batch(self, now: str) -> None:
        """Start a batch at this time."""

    def append(self, name: str, version: int, content: Content) -> tuple[int, int]:
        """Queue content in memory under its full name. Return its segment and offset."""

    def adopt(self, name: str, version: int, content: Content, source: Path) -> tuple[int, int]:
        """Keep a spooled upload (`perdure.storage.spool`). Return its segment and offset.

        The file is gone after `note_commit`, and in its place again after `rewind_batch`.
        """

    def append_tombstone(self, name: str, version: int, tombstone: Tombstone) -> None:
        """Queue a withdrawal, so that a rebuild does not undo it. 0: of all versions."""

    def append_correction(self, name: str, version: int, kept: KeptCorrection) -> None:
        """Queue a correction of the reading of bytes, so that a rebuild does not lose it."""

    def send(self) -> None:
        """Start to write everything that is queued, without waiting for the disk."""

    def flush(self) -> None:
        """Make everything that is queued durable."""

    def list_lengths(self) -> list[tuple[int, int, bool]]:
        """Number and new length of each segment that this batch extends, and if it still grows."""

    def note_commit(self) -> None:
        """Keep the batch: the registry that names its bytes is durable."""

    def rewind_batch(self) -> None:
        """Undo everything since the last commit."""

    def list_sealable(self, now: str) -> list[int]:
        """Segments that receive no more records and are not sealed yet. Between batches only.

        The segment of a past day is one of them, even if nothing has been written since.
        """

    def close(self) -> None:
        """Free the resources of the writer."""


class Bytes(Protocol):
    """The bytes of one registry. Safe to use from several threads.

    Methods raise Corrupt if bytes are missing, and never return fewer bytes than promised. They
    raise Unavailable if a server that has them does not answer.
    """

    @property
    def is_shared(self) -> bool:
        """True if all directories that have the registry reach the same bytes."""

    def examine(self) -> list[StoreFinding]:
        """Examine the server on which the bytes depend, if there is one.

        It may write there to try it, and removes that again.
        """

    def create(self) -> None:
        """Prepare the registry directory, unless that was done before."""

    def list_directories(self) -> tuple[str, ...]:
        """The names of the directories that `create` makes in the registry directory, if any.

        Only this store uses them.
        """

    def read_bytes(self, held: Representation) -> bytes:
        """All bytes of a representation."""

    def read_chunks(self, held: Representation) -> Iterator[bytes]:
        """The same bytes in pieces of at most `CHUNK`."""

    def find_local(self, held: Representation) -> tuple[LocalFile, int]:
        """A file that contains the bytes of a representation, and the offset of the first byte.

        The file may be shorter than promised; the reader checks that. Raises FetchNeeded in the
        thread of an event loop if that would have to wait for a server.
        """

    def list_numbers(self) -> list[int]:
        """The numbers of all segments, in order."""

    def read_records(self, number: int) -> Iterator[KeptRecord | Corrupt]:
        """The records of a segment, in order, for a rebuild, and an error for each damaged place.

        Behind the damage, reading goes on at the next complete record whose bytes have their
        digest. Raises Corrupt if there is no such segment.
        """

    def check_records(
        self, number: int, length: int
    ) -> Iterator[IntactBytes | CheckedRecord | Corrupt]:
        """The records of a segment up to a length, in order, each after all its bytes were read.

        In between is an error for each place that is damaged, and for everything else that the
        store promises about the segment and does not find. Reads the segment once.
        """

    def check_root(self) -> Iterator[Corrupt]:
        """An error for everything damaged that belongs to no segment."""

    def open_writer(
        self,
        known: Iterable[int],
        growing: tuple[int, int, str] | None,
        *,
        segment_bytes: int,
        now: str,
    ) -> BytesWriter:
        """Open the registry for writing, and take back what no committed batch names.

        `known`: the numbers of the segments that the journal names; `growing`: number, committed
        length and opening time of the segment that still grows. A segment that is longer than
        `segment_bytes` does not grow any more. Raises Corrupt if the growing segment is shorter
        than its committed length, OSError if the disk refuses.
        """

    def seal(self, number: int, at: str) -> None:
        """Put a segment into the archive. Safe to repeat after a crash at any point.

        Raises OSError if the disk refuses.
        """

    def blank_bytes(self, blankings: Sequence[Blanking], at: str) -> list[int]:
        """Overwrite bytes with zeros, also those of sealed segments; lengths and places stay.

        Safe to repeat after a crash at any point. Between batches only, and in the process that
        writes. Return the segments whose old bytes still exist under another name, such as a
        backup of hard links. Raises Corrupt if a segment is missing, OSError if the disk refuses.
        """

    def forget_erased(self) -> None:
        """Drop the copies on this machine of bytes that other directories have erased.

        A server calls this every minute. Raises Unavailable.
        """

    def mend_bytes(self, held: Representation, pieces: Iterable[bytes]) -> None:
        """Write the promised bytes of a representation in their place again.

        The caller has compared them with their digest. Any process may do so, also beside one that
        writes or seals. Raises Corrupt if the segment is missing, OSError if the disk refuses.
        """

    def is_same_sealed(self, number: int, target: Path) -> bool:
        """Return False if a segment is sealed in the registry `target` and has other bytes here.

        What was erased here may still be there.
        """

    def copy_segment(self, number: int, length: int, target: Path, *, link: bool = False) -> None:
        """Copy a segment, up to this length, into the registry `target`, and make it durable.

        `link`: make hard links to sealed segments, if the store has files. Raises OSError if the
        disk refuses.
        """

    def close(self) -> None:
        """Free the resources of the reader."""


OpenBytes = Callable[[Path], Bytes]
"""Opens the bytes of the registry in a directory, and changes nothing there.

Each entry point of the group `perdure.bytes` loads such a function.
"""
