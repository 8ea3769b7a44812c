"""Errors about moving a registry to another store, and about the place that it has left."""

from __future__ import annotations

from perdure.errors.processes import InUse
from perdure.errors.root import quote
from perdure.errors.texts import BadSettings
from perdure.errors.unavailable import Unavailable


class RegistryMoved(Unavailable):
    """The registry was moved to another store: nothing is written in the old one any more."""

    to: str
    """The address of the other store, without its password."""
    what = "writing"

    @property
    def reason(self) -> str:
        return f"this registry was moved to {quote(self.to)}"

    @property
    def mend(self) -> str:
        return (
            "restart the server; a directory of another node needs the new address in its "
            "perdure.toml; if a move was interrupted, run 'perdure move' again"
        )


class RegistryArriving(Unavailable):
    """A registry is being moved to this place, and is not complete yet."""

    address: str

    @property
    def what(self) -> str:
        return f"the registry in {self.address}"

    reason = "it is being moved there and is not complete yet"
    mend = "wait until 'perdure move' has ended, or run it again in the directory that is moved"


class MoveRunning(InUse):
    """Another process is moving this registry."""

    reason = "another process is moving it"


class PlaceNotMovable(BadSettings):
    """A store cannot be left or entered by a move."""

    reason = "'perdure move' does not know how to move a registry from or to this store"


class PlaceInEnvironment(BadSettings):
    """A variable names the store, so that a move could not change it."""

    reason = "the environment sets it: a move changes perdure.toml. Unset the variable first"


class PlaceIsSame(BadSettings):
    """The registry is in this place already."""

    reason = "the registry is there already"


class PlaceTaken(BadSettings):
    """Another registry is in the place to which a move goes."""

    reason = "there is a registry already; choose an empty place"


class OtherMoveBegun(BadSettings):
    """A move to another place was begun, and has not ended."""

    other: str

    @property
    def reason(self) -> str:
        return (
            f"a move to {quote(self.other)} was begun; run 'perdure move' with that address to "
            "finish it, or 'perdure move --abandon' to give it up"
        )


class NothingToMove(BadSettings):
    """No move was begun here."""

    reason = "no move was begun in this directory; say where to with --to or --bytes"


class MoveNotAbandoned(BadSettings):
    """A move cannot be given up any more: the registry is in the new place."""

    reason = "the registry has left its old place; run 'perdure move' again to finish the move"


class MoveIncomplete(Unavailable):
    """The copy in the new place differs from the registry. Abstract: each reason has a class."""

    what = "the move"
    mend = "run 'perdure verify --all'; the registry stays in its place, and nothing in it changed"


class RecordDiffers(MoveIncomplete):
    """A record of the copy differs from that of the registry."""

    record: str

    @property
    def reason(self) -> str:
        return f"the record of {quote(self.record)} differs in the copy"


class TableDiffers(MoveIncomplete):
    """Other rows of the copy, such as tokens or segments, differ from those of the registry."""

    table: str

    @property
    def reason(self) -> str:
        return f"the {self.table} differ in the copy"


class SegmentDiffers(MoveIncomplete):
    """A record in a segment of the copy differs from that of the registry, or cannot be read."""

    segment: int

    @property
    def reason(self) -> str:
        return f"the bytes of segment {self.segment} differ in the copy"
