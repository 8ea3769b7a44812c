"""Errors about stored bytes that have changed: one class for each kind of damage.

Each class says in four phrases which thing is damaged (`identifier`), at which place (`where`),
what was promised there (`promised`), and what is there instead (`found`). The areas are files in
general, representations, rows of the registry, and numbered changes. Segments have a module of
their own (`segment_corruption`), and so have archive files (`archive_corruption`).
"""

from __future__ import annotations

from typing import Literal

from perdure.errors.root import count_things
from perdure.errors.stored import Corrupt

_END = "the end of the file"
RowContents = Literal[
    "a record", "a token", "a reading rule", "a revision", "a position", "text in UTF-8"
]
"""The contents that a row of the registry, or a value in it, must have."""


class FaultFound(Corrupt):
    """The finding is what a parser or a library says, quoted word for word."""

    fault: str

    @property
    def found(self) -> str:
        return self.fault


# files
# -----


class FileEndsEarly(Corrupt):
    """A file ends before the last byte that is needed."""

    file: str
    at: int
    """Its length in bytes."""
    missing: int
    """The number of bytes that are missing."""
    found = _END

    @property
    def identifier(self) -> str:
        return self.file

    @property
    def where(self) -> str:
        return f"offset {self.at}"

    @property
    def promised(self) -> str:
        return count_things(self.missing, "more byte")


class FileTooShort(Corrupt):
    """A file has fewer bytes than the registry says."""

    file: str
    expected: int
    size: int

    @property
    def identifier(self) -> str:
        return self.file

    @property
    def where(self) -> str:
        return f"offset {self.size}"

    @property
    def promised(self) -> str:
        return count_things(self.expected, "byte")

    @property
    def found(self) -> str:
        return count_things(self.size, "byte")


class FileUnreadable(FaultFound):
    """A small file of a registry directory cannot be read; `fault` quotes the parser."""

    file: str
    directory: str
    contents: Literal["a place"]

    @property
    def identifier(self) -> str:
        return self.file

    @property
    def where(self) -> str:
        return self.directory

    @property
    def promised(self) -> str:
        return self.contents


class CheckedFileDamaged(FaultFound):
    """A small file with a checksum is damaged; `fault` quotes the parser."""

    file: str
    directory: str

    @property
    def identifier(self) -> str:
        return self.file

    @property
    def where(self) -> str:
        return self.directory

    @property
    def promised(self) -> str:
        return "a value with its checksum"


class ErasureNoteDamaged(CheckedFileDamaged):
    """The note of an erasure that is under way is damaged."""

    @property
    def found(self) -> str:
        return f"{self.fault}; delete it, and repeat the erasures that were interrupted"


# representations
# ---------------


class RepresentationCutOff(Corrupt):
    """The segment ends within a representation."""

    segment: int
    at: int
    """The offset at which the segment ends."""
    length: int
    """The bytes of the whole representation."""
    sha512: str
    found = _END

    @property
    def identifier(self) -> str:
        return f"segment {self.segment}"

    @property
    def where(self) -> str:
        return f"offset {self.at}"

    @property
    def promised(self) -> str:
        return f"{count_things(self.length, 'byte')}, sha512 {self.sha512}"


class RepresentationAltered(Corrupt):
    """The bytes of a representation do not have their digest."""

    identifier: str
    segment: int
    offset: int
    promised: str
    """The recorded digest."""
    found: str
    """The digest of the bytes."""

    @property
    def where(self) -> str:
        return f"segment {self.segment}, offset {self.offset}"


class DeliveryAltered(Corrupt):
    """The bytes that this registry delivered do not have the digest that it promised."""

    identifier: str
    promised: str
    """The promised digest."""
    found: str
    """The digest of the bytes."""
    where = "this registry"


# rows of the registry
# --------------------


class RowUnreadable(FaultFound):
    """A row of the registry cannot be read; `fault` quotes the parser."""

    identifier: str
    file: str
    contents: RowContents

    @property
    def where(self) -> str:
        return self.file

    @property
    def promised(self) -> str:
        return self.contents


class RowAltered(Corrupt):
    """A row of the registry does not have its checksum."""

    identifier: str
    file: str
    promised = "a row with its checksum"
    found = "another one"

    @property
    def where(self) -> str:
        return self.file


class IndexInvalid(Corrupt):
    """An index of a database is not valid: rows can be missing from it."""

    identifier: str
    """Its name."""
    where = "the database"
    promised = "a valid index"
    found = "one that the server does not use; run REINDEX"


class KeyUnreadable(FaultFound):
    """The key of a record does not make a name; `fault` says why."""

    identifier: str
    where = "the registry"
    promised = "the name of a record"


class ReferencesUnreadable(FaultFound):
    """A row of recent references cannot be read; `fault` quotes the parser."""

    row: int
    file: str
    promised = "references"

    @property
    def identifier(self) -> str:
        return f"recent references {self.row}"

    @property
    def where(self) -> str:
        return self.file


class DatabaseUnsound(FaultFound):
    """The file of the registry does not pass its own check; `fault` quotes the database."""

    file: str
    where = "its own check"
    promised = "a sound file"

    @property
    def identifier(self) -> str:
        return self.file


# numbered changes
# ----------------


class ChangeDamaged(Corrupt):
    """A numbered change cannot be read. Abstract: each reason has a class."""

    change: str
    """Its number, such as `1.42`."""
    where = "the numbered changes"

    @property
    def identifier(self) -> str:
        return f"change {self.change}"


class EpochUnreadable(ChangeDamaged):
    """The row of an epoch has no numbers."""

    number: str
    start: str
    promised = "an epoch"

    @property
    def found(self) -> str:
        return f"{self.number} from {self.start}"


class EpochMissing(ChangeDamaged):
    """A change belongs to no epoch."""

    promised = "an epoch"
    found = "no epoch begins before it"


class ChangeMissing(ChangeDamaged):
    """The row of a change is missing."""

    following: str
    """The number of the change whose row comes instead."""
    promised = "a row"

    @property
    def found(self) -> str:
        return f"the row of {self.following}"


class ChangeUnreadable(FaultFound, ChangeDamaged):
    """The row of a change cannot be read; `fault` quotes the parser."""

    promised = "a row"


class ChangeWordMissing(ChangeDamaged):
    """The act of a change, or the name of its actor, is missing or was altered."""

    number: str
    """That of the word."""
    promised = "an act and an actor"

    @property
    def found(self) -> str:
        return f"no word {self.number} with its checksum"


class ChainBroken(ChangeDamaged):
    """The chain stored with a change is not the chain of the changes before it."""

    stated: str
    found: str

    @property
    def promised(self) -> str:
        return f"chain {self.stated}"


class ChangeDigestWrong(ChangeDamaged):
    """The stored lines of a change do not have its digest."""

    stated: str
    found: str

    @property
    def promised(self) -> str:
        return f"digest {self.stated}"


class ChainMissing(ChangeDamaged):
    """The chain before a change is not stored."""

    promised = "the chain before it"
    found = "none"
