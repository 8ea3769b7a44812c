"""The ports of a move: what a store offers so that a registry can leave it, or arrive in it.

How it works: a move copies the numbered changes in their order, with what each of them wrote, while
the registry is in use. Then both sides are compared row by row. At the end `hold_writers` lets no
process write, the rest is copied, and `leave` closes the old place for good.

What must stay true: only the move opens an arriving registry; after `leave` has returned,
nothing is ever written in the old place, by no process of any machine, whatever it had open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from perdure.model.changes import Change, ChangeMark, Epoch, Line
from perdure.storage.byte_ports import Bytes
from perdure.storage.ports import Records, Store


class PastLine(NamedTuple):
    """An earlier revision of a record, as it is stored."""

    revision: int
    text: str
    mark: ChangeMark | None
    """The change that wrote it; None if changes had no numbers then."""


class WholeRecord(NamedTuple):
    """A record with all its revisions, as they are stored."""

    key: str
    text: str
    mark: ChangeMark | None
    past: tuple[PastLine, ...]


class MovedChange(NamedTuple):
    """A change with what it wrote."""

    change: Change
    lines: Sequence[Line]
    epoch: Epoch | None
    """The epoch that it begins."""


class OtherRows(NamedTuple):
    """Everything that a registry stores beside records, their changes and its references."""

    tokens: list[tuple[str, str, str]]
    """Name, digest and the token, in the order of the names."""
    token_changes: list[tuple[str, str, str, str | None, str, ChangeMark | None]]
    """Name, time, actor, the token before and after, and the change; in the order of changes."""
    rules: list[tuple[int, str, str]]
    """Number, key and rule, in the order of the numbers."""
    answers: list[tuple[str, str, str, str, str]]
    """Actor, idempotency key, request, receipt and time, in the order of the first two."""
    segments: list[tuple[int, int, str, bool]]
    """Number, length, time of opening, and whether it grows, in the order of the numbers."""


class WholeRegistry(Protocol):
    """A registry as it is stored, for a comparison row by row."""

    @property
    def records(self) -> Records:
        """The same registry, as readers see it."""

    def read_range(self, after: str, until: str | None, *, limit: int) -> list[WholeRecord]:
        """At most `limit` records with after < key <= until, in the order of their keys.

        Without `until`, all after it. `after` may be empty. Raises Corrupt if a row is damaged.
        """

    def read_some(self, keys: Sequence[str]) -> list[WholeRecord]:
        """The records with these keys that exist, in the order of the keys."""

    def read_others(self) -> OtherRows:
        """Everything else."""

    def close(self) -> None: ...


class Arrival(WholeRegistry, Protocol):
    """A registry that is being filled. What a method has written is durable when it returns."""

    def add_changes(
        self, changes: Sequence[MovedChange], references: Iterable[tuple[int, str]]
    ) -> None:
        """Add changes with their numbers and hashes, what they wrote, and its references.

        They follow the last change here. Raises Corrupt if they do not continue the chain.
        """

    def put_records(
        self,
        records: Sequence[WholeRecord],
        dropped: Iterable[tuple[int, str]],
        references: Iterable[tuple[int, str]],
    ) -> None:
        """Store records exactly as given, and destroy the salts of changes that `records` names
        with `drop_salts`."""

    def drop_salts(self, marks: Iterable[ChangeMark]) -> None:
        """Destroy the salts of changes, as an erasure has done in the registry itself."""

    def put_others(self, rows: OtherRows) -> None:
        """Store everything else exactly as given, in place of the earlier rows."""

    def complete(self) -> None:
        """Make it the registry of its place. Safe to repeat. Nothing else is called after it."""


class Departure(Protocol):
    """Holds all writers of a registry, until it is closed or left."""

    def leave(self, to: str) -> None:
        """Close the place for good: it says that the registry is at the address `to` now."""

    def change_bytes(self, to: str) -> None:
        """Let all writers open the registry again: its bytes are at the address `to` now."""


@runtime_checkable
class MovableStore(Store, Protocol):
    """A store that a registry can leave, and in which it can arrive."""

    def open_whole(self, root: Path) -> WholeRegistry:
        """Open a registry as it is stored."""

    def hold_writers(self, root: Path) -> AbstractContextManager[Departure]:
        """Let no process of any machine write to a registry meanwhile."""

    def find_new_place(self, root: Path) -> str:
        """The address to which the registry of this directory was moved, or an empty text."""

    def open_arrival(self, root: Path, move: str) -> Arrival:
        """Go on with the registry that arrives here with a move, or begin it.

        Raises PlaceTaken if another registry is there.
        """

    def has_arrived(self, root: Path, move: str) -> bool:
        """Return True if the registry of a move is complete here."""

    def abandon_arrival(self, root: Path, move: str) -> None:
        """Remove what a move has stored here, unless it is complete."""

    def check_bytes(self, root: Path, address: str) -> None:
        """Raise RegistryMoved if the bytes of the registry are elsewhere than at an address."""


@runtime_checkable
class MovableBytes(Bytes, Protocol):
    """Bytes that can be moved, a segment at a time."""

    def lend_segment(self, number: int) -> AbstractContextManager[Path]:
        """A directory with the files of one segment, as those of a registry directory."""

    def receive_segment(self, number: int, length: int, source: Path) -> None:
        """Take a segment, up to a length, from a directory that has its files. Safe to repeat.

        Bytes that are here already are taken for the same; see `drop_segment`.
        """

    def drop_segment(self, number: int) -> None:
        """Remove a segment that arrived, because its source has changed since."""

    def begin_arrival(self, registry: str) -> None:
        """Prepare for the bytes of a registry. Raises PlaceTaken if there are those of another."""
