"""Bytes that are placed before the rows of a batch are locked.

How it works: a store of bytes behind a network may take long, and the record of a document says
where its bytes are. So a batch is rehearsed first, on a registry in which it locks and writes
nothing: `RehearsedBytes` passes on what it places, and notes it. Then the batch is carried out, and
gets the same places for the same bytes. If it asks for others, because another machine was faster,
it is undone, with its bytes, and begins again.

What must stay true: a batch is committed only if it names all the bytes that were placed for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from perdure.errors import Unavailable
from perdure.model.commands import (
    Alias,
    Assign,
    Bind,
    Break,
    Claim,
    Command,
    Commit,
    Content,
    Correct,
    Describe,
    Mint,
    Register,
    SaveToken,
    list_contents,
)
from perdure.model.records import Tombstone
from perdure.storage.byte_ports import BytesWriter, KeptCorrection
from perdure.storage.ports import JournalInterrupted

_REHEARSED = frozenset(
    (Mint, Register, Commit, Correct, Bind, Break, Alias, Describe, Assign, SaveToken, Claim)
)
"""Commands that can be rehearsed: they do nothing but write to the ledger."""
_Place = tuple[int, int]
_NOWHERE = (0, 0)


def may_place_bytes(commands: Sequence[Command]) -> bool:
    """Return True if some commands may place bytes, and all of them can be rehearsed."""
    return all(type(command) in _REHEARSED for command in commands) and any(
        isinstance(command, Correct) or list_contents(command) for command in commands
    )


class _Placed(NamedTuple):
    """Something that a rehearsal has placed: what was asked for, and the place or the error."""

    asked: tuple[object, ...]
    place: _Place
    error: Unavailable | None = None


class RehearsedBytes:
    """The writer of the bytes of one batch, as `perdure.storage.byte_ports.BytesWriter`."""

    def __init__(self, writer: BytesWriter, at: str) -> None:
        """`at`: the time of the batch."""
        self.writer = writer
        self.at = at
        self._placed: list[_Placed] = []
        self._used: int | None = None
        """How many of these were asked for again; None in the rehearsal."""

    def begin_batch(self, now: str) -> None:
        """Do nothing: the rehearsal has begun it, at its time."""

    def append(self, name: str, version: int, content: Content) -> _Place:
        asked = "append", name, version, content
        return self._place(asked, lambda: self.writer.append(name, version, content))

    def adopt(self, name: str, version: int, content: Content, source: Path) -> _Place:
        asked = "adopt", name, version, content, source
        return self._place(asked, lambda: self.writer.adopt(name, version, content, source))

    def append_tombstone(self, name: str, version: int, tombstone: Tombstone) -> None:
        def append() -> _Place:
            self.writer.append_tombstone(name, version, tombstone)
            return _NOWHERE

        self._place(("tombstone", name, version, tombstone), append)

    def append_correction(self, name: str, version: int, kept: KeptCorrection) -> None:
        def append() -> _Place:
            self.writer.append_correction(name, version, kept)
            return _NOWHERE

        self._place(("correction", name, version, kept), append)

    def _place(self, asked: tuple[object, ...], place: Callable[[], _Place]) -> _Place:
        if self._used is not None:
            return self._find_place(asked, self._used)
        try:
            placed = _Placed(asked, place())
        except Unavailable as error:
            placed = _Placed(asked, _NOWHERE, error)
        self._placed.append(placed)
        return self._return_place(placed)

    def _find_place(self, asked: tuple[object, ...], number: int) -> _Place:
        """The place that the rehearsal found. Raises JournalInterrupted if it asked otherwise."""
        if number == len(self._placed) or self._placed[number].asked != asked:
            raise JournalInterrupted("another machine took the names of these bytes")
        self._used = number + 1
        return self._return_place(self._placed[number])

    @staticmethod
    def _return_place(placed: _Placed) -> _Place:
        if placed.error is not None:
            raise placed.error
        return placed.place

    def send(self) -> None:
        """In the batch, raise JournalInterrupted if some of the bytes have got no name."""
        if self._used is None:
            self.writer.send()
        elif self._used < len(self._placed):
            raise JournalInterrupted("another machine changed what names these bytes")

    def flush(self) -> None:
        """Make the bytes of the rehearsal durable. The batch follows."""
        if self._used is None:
            self.writer.flush()
            self._used = 0

    def list_lengths(self) -> list[tuple[int, int, bool]]:
        return self.writer.list_lengths()

    def note_commit(self) -> None:
        self.writer.note_commit()

    def rewind_batch(self) -> None:
        self.writer.rewind_batch()

    def list_sealable(self, now: str) -> list[int]:
        return self.writer.list_sealable(now)

    def close(self) -> None:
        self.writer.close()
