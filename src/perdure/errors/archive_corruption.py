"""Errors about archive files, and the index of their captures, that have changed.

As in `corruption`, each class says which thing is damaged, at which place, what was promised there,
and what is there instead.
"""

from __future__ import annotations

from perdure.errors.corruption import FaultFound
from perdure.errors.root import count_things
from perdure.errors.stored import Corrupt


class ArchivedRecordDamaged(Corrupt):
    """A record of an archive file cannot be read. Abstract: each reason has a class."""

    record: str
    """The file and the offset of the record."""
    where = "its archive file"
    promised = "a complete record"

    @property
    def identifier(self) -> str:
        return self.record


class ArchivedHeadMissing(ArchivedRecordDamaged):
    """A record of an archive file has no head."""

    found = "no record head"


class ArchivedBlockCutOff(ArchivedRecordDamaged):
    """The block of a record of an archive file is shorter than its head says."""

    missing: int

    @property
    def found(self) -> str:
        return f"a block that lacks {count_things(self.missing, 'byte')} at its end"


class ArchivedBytesDamaged(FaultFound, ArchivedRecordDamaged):
    """The compressed bytes of a record are damaged; `fault` says how."""


class CodingDamaged(ArchivedRecordDamaged):
    """The content coding of a payload is damaged; `fault` quotes the decoder."""

    fault: str

    @property
    def found(self) -> str:
        return f"content coding: {self.fault}"


class CodingCutOff(ArchivedRecordDamaged):
    """The content coding of a payload ends too early."""

    found = "content coding: it ends too early"


class OffsetOutside(Corrupt):
    """The offset of a record is outside its archive file."""

    record: str
    offset: int
    size: int
    where = "its archive file"

    @property
    def identifier(self) -> str:
        return self.record

    @property
    def promised(self) -> str:
        return f"more than {count_things(self.offset, 'byte')}"

    @property
    def found(self) -> str:
        return count_things(self.size, "byte")


class CaptureReplaced(Corrupt):
    """The record at the offset of a capture is that of another capture."""

    file: str
    offset: int
    uri: str
    date: str
    found_uri: str
    found_date: str
    where = "its archive file, which has changed since it was added"

    @property
    def identifier(self) -> str:
        return f"{self.file}@{self.offset}"

    @property
    def promised(self) -> str:
        return f"{self.uri} at {self.date}"

    @property
    def found(self) -> str:
        return f"{self.found_uri} at {self.found_date}"


class PackageSignatureWrong(FaultFound):
    """The signature of a WACZ package is wrong; `fault` says why."""

    package: str
    where = "datapackage-digest.json"
    promised = "a signature of the package"

    @property
    def identifier(self) -> str:
        return self.package


class ArchiveFileCutOff(Corrupt):
    """An archive file has fewer bytes than when it was added."""

    file: str
    size: int
    left: int
    where = "its directory"

    @property
    def identifier(self) -> str:
        return f"archive file {self.file}"

    @property
    def promised(self) -> str:
        return f"{self.size} bytes, as when it was added"

    @property
    def found(self) -> str:
        return f"{self.left} bytes"


class EntriesLost(Corrupt):
    """The index of captures has another number of entries for a file than when it was added."""

    file: str
    noted: int
    entries: int
    where = "the index of captures"

    @property
    def identifier(self) -> str:
        return f"archive file {self.file}"

    @property
    def promised(self) -> str:
        return f"{self.noted} entries, as when it was added"

    @property
    def found(self) -> str:
        return f"{self.entries} entries; add the file again"


class IndexRunDamaged(Corrupt):
    """A run of the index of captures is damaged. Abstract: each reason has a class."""

    run: str

    @property
    def identifier(self) -> str:
        return f"index run {self.run}"


class BlockTableDamaged(IndexRunDamaged):
    """A line of the table of blocks of a run cannot be read."""

    where = "the index of its blocks"
    promised = "a line of five fields"
    found = "another line"


class IndexBlockDamaged(FaultFound, IndexRunDamaged):
    """A block of a run cannot be inflated; `fault` quotes the library."""

    block: int
    promised = "a complete block"

    @property
    def where(self) -> str:
        return f"block {self.block}"


class IndexBlockCutOff(IndexRunDamaged):
    """A block of a run is incomplete."""

    block: int
    promised = "a complete block"
    found = "a part of it"

    @property
    def where(self) -> str:
        return f"block {self.block}"
