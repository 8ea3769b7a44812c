"""Errors about segments that have changed: their records, and the files around a sealed segment.

As in `corruption`, each class says which thing is damaged, at which place, what was promised there,
and what is there instead.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Literal

from perdure.errors.corruption import FaultFound
from perdure.errors.root import count_things, quote
from perdure.errors.stored import Corrupt

HeadFlaw = Literal["type", "id", "date", "text"]
"""The ways in which the head of a record of a segment can differ from one written by perdure."""


class SegmentMissing(Corrupt):
    """A segment does not exist."""

    segment: int
    where = "segments/"
    promised = "a file"
    found = "none"

    @property
    def identifier(self) -> str:
        return f"segment {self.segment}"


class PlaceDamaged(Corrupt):
    """The damage is at an offset of a file."""

    file: str
    offset: int

    @property
    def identifier(self) -> str:
        return self.file

    @property
    def where(self) -> str:
        return f"offset {self.offset}"


# records of segments
# -------------------


class SegmentRecordDamaged(PlaceDamaged):
    """A record of a segment cannot be read. Abstract: each reason has a class."""

    is_searched: bool = False
    """True if the next record behind the damage was looked for."""
    following: int | None = None
    """The offset of that record; None if no record follows."""
    computed = (*Corrupt.computed, "damage")
    promised = "a complete record"

    @property
    def found(self) -> str:
        if not self.is_searched:
            return self.damage
        if self.following is None:
            return f"{self.damage}; nothing behind it"
        return f"{self.damage}; the next record at {self.following}"

    if TYPE_CHECKING:  # at run time each class has an attribute or a property for it

        @property
        @abstractmethod
        def damage(self) -> str: ...


class SegmentHeadMissing(SegmentRecordDamaged):
    """A record does not begin with a head."""

    damage = "no complete WARC/1.1 head"


class SegmentHeadIncomplete(SegmentRecordDamaged):
    """The head of a record lacks a field, or the value of one."""

    lacks: str

    @property
    def damage(self) -> str:
        return f"a head without {self.lacks}"


class SegmentHeadAltered(SegmentRecordDamaged):
    """The head of a record is not the one that perdure writes for its fields."""

    flaw: HeadFlaw
    value: str = ""
    """The value with the flaw; empty if it is not a single one."""

    @property
    def damage(self) -> str:
        says = {
            "type": f"a record of type {self.value}",
            "id": f"a record id {self.value}",
            "date": f"a date {self.value}",
            "text": "a head that perdure did not write",
        }
        return says[self.flaw]


class SegmentRecordCutOff(SegmentRecordDamaged):
    """The segment ends within a record."""

    missing: int

    @property
    def damage(self) -> str:
        return f"{count_things(self.missing, 'byte')} missing"


class SegmentRecordEndless(SegmentRecordDamaged):
    """A record is not followed by the end of a record."""

    damage = "a record without an end"


class RecordEndAltered(PlaceDamaged):
    """The bytes behind a record are not the end of a record."""

    promised = "the end of a record"
    found = "other bytes"


class NoteUnreadable(FaultFound, PlaceDamaged):
    """The block of a correction or tombstone cannot be read; `fault` quotes the parser."""

    note: Literal["a correction", "a tombstone"]

    @property
    def promised(self) -> str:
        return self.note


class HeadContradictory(Corrupt):
    """The values in the head of a record contradict each other, or the registry."""

    identifier: str
    version: int
    format: str | None
    where = "the head of its record"
    promised = "its name, version and format"

    @property
    def found(self) -> str:
        return f"version {self.version}, format {self.format or 'none'}"


class ErasureMisplaced(PlaceDamaged):
    """The record to erase is not in its place. Abstract: each reason has a class."""

    promised = "the record to erase"


class OtherRecordFound(ErasureMisplaced):
    """The place of the record to erase has another record."""

    found = "another record"


class HeadNotFound(ErasureMisplaced):
    """The place of the record to erase has no head before it."""

    found = "no head before it"


# sealed segments
# ---------------


class SealedFileAltered(Corrupt):
    """A file of the OCFL storage root does not have the text that it must have."""

    container: str
    """The OCFL object, or the directory of the storage root."""
    file: str
    expected: str
    text: str | None
    """Its text; None if it is missing."""

    @property
    def identifier(self) -> str:
        return self.container

    @property
    def where(self) -> str:
        return self.file

    @property
    def promised(self) -> str:
        return quote(self.expected)

    @property
    def found(self) -> str:
        return "none" if self.text is None else quote(self.text)


class InventoryMissing(Corrupt):
    """An OCFL object has no inventory."""

    container: str
    file: str
    promised = "an inventory"
    found = "none"

    @property
    def identifier(self) -> str:
        return self.container

    @property
    def where(self) -> str:
        return self.file


class InventoriesDiffer(Corrupt):
    """The inventory of an OCFL object is not that of its version."""

    container: str
    where = "inventory.json"
    promised = "the inventory of its version"
    found = "another one"

    @property
    def identifier(self) -> str:
        return self.container


class SealedSegmentAltered(Corrupt):
    """A sealed segment does not have the digest of its inventory."""

    container: str
    file: str
    digest: str | None
    """The digest in the inventory; None if it cannot be read."""
    found: str
    """The digest of the segment."""

    @property
    def identifier(self) -> str:
        return self.container

    @property
    def where(self) -> str:
        return self.file

    @property
    def promised(self) -> str:
        return f"digest {self.digest or 'in an inventory that can be read'}"
