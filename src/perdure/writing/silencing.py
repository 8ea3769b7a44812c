"""The work on the disk that follows a withdrawal or an erasure, also after a crash.

    {"value":{"key":"…","at":"…","digests":["9b71d2…"],"blankings":[{"held":{…},…}]},"sum":"…"}

How it works: before the batch is committed, a file in `erasing/` says what is to be done: the
digests of the bytes whose indexes must go, and the bytes to overwrite, in segments and in archive
files. After the commit, it is done
and the file is removed. The next writer finishes what a crash has left, if the record says that the
batch was committed.

What must stay true: nothing is overwritten before the record says that it is erased; every step can
be repeated; a receipt is given only when all of it is done.
"""

from __future__ import annotations

import hashlib
import logging
import secrets
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from perdure.archives.port import CaptureBlanking
from perdure.errors import Corrupt
from perdure.errors.corruption import CheckedFileDamaged, ErasureNoteDamaged
from perdure.ids.keys import spell_key
from perdure.model.records import Record, Representation
from perdure.storage.byte_ports import Blanking, Bytes
from perdure.storage.checked_file import load_checked, save_checked
from perdure.storage.durable import sync_directory

PLACE = "erasing"
_log = logging.getLogger(__name__)

DeleteIndexes = Callable[[str, Collection[str]], None]
"""Deletes everything that was computed from the record with this key and from the bytes with these
SHA-512s, unless it is computed from what is left. Raises OSError or StorageFailed."""


class Silencing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The work that follows one withdrawal or erasure."""

    key: str
    at: str
    digests: tuple[str, ...]
    """Those of the bytes whose indexes must go."""
    blankings: tuple[Blanking, ...] = ()
    captures: tuple[CaptureBlanking, ...] = ()
    """The records of archive files to overwrite."""


class SilencingQueue:
    """The work of a registry that is not done yet. Its only writer owns it."""

    def __init__(
        self,
        root: Path,
        held: Bytes,
        *,
        delete_indexes: DeleteIndexes,
        erase_captures: Callable[[Sequence[CaptureBlanking]], list[str]],
    ) -> None:
        """`erase_captures` overwrites records, and returns the places that may still have them."""
        self._root = root
        self._bytes = held
        self._delete_indexes = delete_indexes
        self._erase_captures = erase_captures

    def add(self, work: Silencing) -> None:
        """Note work, durably, before the batch that it follows. Raises OSError."""
        place = self._root / PLACE
        if not place.exists():
            place.mkdir()
            sync_directory(self._root)
        save_checked(place / f"{secrets.token_hex(8)}.json", work)

    def finish(self, find_record: Callable[[str], Record | None]) -> list[str]:
        """Do all work whose batch was committed, and drop the rest.

        Return the places that may still have erased bytes. Raises OSError, StorageFailed or
        Unavailable; then repeat it. Raises Corrupt if a note is damaged: what it says must be
        erased again.
        """
        unreached: list[str] = []
        for path in self._list_files():
            work = _load_work(path)
            record = find_record(work.key)
            if record is not None and _is_committed(record, work):
                unreached += self._carry_out(work)
            path.unlink()
            sync_directory(path.parent)
        for path in (self._root / PLACE).glob("*"):
            if path.is_file():  # a copy or a note that a crash cut off
                path.unlink()
        return unreached

    def _list_files(self) -> list[Path]:
        return sorted((self._root / PLACE).glob("[0-9a-f]*.json"))

    def _carry_out(self, work: Silencing) -> Iterator[str]:
        self._delete_indexes(work.key, work.digests)
        if work.captures:
            yield from self._erase_captures(work.captures)
        if not work.blankings:
            return
        try:
            linked = self._bytes.blank_bytes(work.blankings, work.at)
        except Corrupt as error:  # there is nothing to overwrite
            _log.warning("erasing %s: %s", spell_key(work.key), error)
            yield str(error)
            linked = []
        for number in linked:
            yield f"segment {number}: its old file has another name, such as a backup with --link"
        aside = self._root / "aside"
        yield from (f"aside/{one.name}" for one in sorted(aside.glob("*")))


def _load_work(path: Path) -> Silencing:
    try:
        work = load_checked(path, Silencing)
    except CheckedFileDamaged as error:
        raise ErasureNoteDamaged(
            file=error.file, directory=error.directory, fault=error.fault
        ) from error
    if work is None:
        raise FileNotFoundError(path)
    return work


def _is_committed(record: Record, work: Silencing) -> bool:
    """Return whether a record says that the bytes were erased. Indexes can always go."""
    erased = {
        (held.segment, held.offset)
        for version in record.versions
        for held in version.representations
        if held.erased
    }
    if work.captures and (record.tombstone is None or record.tombstone.erased < work.at):
        return False
    return all((one.held.segment, one.held.offset) in erased for one in work.blankings)


def digest_rest(held: Bytes, one: Representation, spans: tuple[tuple[int, int], ...]) -> str:
    """The SHA-512 of the bytes of a representation after these stretches are blank.

    Raises Corrupt if bytes that stay are missing.
    """
    digest = hashlib.sha512()
    if spans == ((0, one.length),):
        for start in range(0, one.length, _ZEROS_LENGTH):
            digest.update(_ZEROS[: one.length - start])
        return digest.hexdigest()
    offset = 0
    for piece in held.read_chunks(one):
        data = bytearray(piece)
        for start, end in spans:
            low, high = max(start - offset, 0), min(end - offset, len(data))
            if low < high:
                data[low:high] = bytes(high - low)
        digest.update(data)
        offset += len(data)
    return digest.hexdigest()


_ZEROS_LENGTH = 1 << 20
_ZEROS = memoryview(bytes(_ZEROS_LENGTH))
