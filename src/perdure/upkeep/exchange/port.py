"""The interface between an import or export and the form of a file of another system.

How it works: an `ExchangeForm` reads a file record by record. A `ReadRecord` has its number, the
line that `import` takes (docs/reference/jsonl.md) or the reason why it has none, and its own text,
so that refused records can be written to a file, mended and given back. A form that can be written
has a `Writing`, which turns one record of the registry into text.

What must stay true: numbers ascend, and no two records have the same one; nothing of a record is
dropped: a member for which a line has no field is kept beside it, verbatim.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from perdure.errors import PerdureError
from perdure.ids import Identifier
from perdure.model.records import Record
from perdure.upkeep.transfer.lines import Line


class ReadRecord(NamedTuple):
    """A record of a file."""

    number: int
    """The number of its first line, or its position among the records."""
    raw: str
    """Its text, as the file has it."""
    line: dict[str, Any] | None = None
    """The line of an import; None if the record cannot be taken."""
    fault: PerdureError | None = None


class ReadingTerms(msgspec.Struct, frozen=True):
    """Facts that are the same for a whole file."""

    files: Path = Path()
    """The directory below which data files of a record may be."""
    charset: str = "utf-8"
    """Python's name of the charset."""
    mapping: tuple[tuple[str, str], ...] = ()
    """Columns of a table, and their meanings."""
    columns: tuple[str, ...] = ()
    """The columns of a table without a first row of names."""
    delimiter: str = ","
    """The delimiter of a table, for its refused rows."""


class ExportedRecord(msgspec.Struct, frozen=True):
    """A record of the registry, for a form to write."""

    identifier: Identifier
    record: Record
    line: Line
    url: str
    """Actionable form of the identifier."""


class Writing(ABC):
    """Writes records in a form. A form says how it writes one, and what is around its records."""

    head = ""
    between = ""
    """Separates two records."""
    tail = ""

    def begin(self, columns: Sequence[str]) -> str:  # noqa: ARG002  (only tables have columns)
        """Begin a file. `columns` are those of a table, which come before all records."""
        return self.head

    def list_columns(self, exported: ExportedRecord) -> Sequence[str]:  # noqa: ARG002
        """List the columns that a record needs; none if the form is not a table."""
        return ()

    @abstractmethod
    def write(self, exported: ExportedRecord) -> str:
        """Write a record; empty if the form cannot hold it."""


class ExchangeForm(msgspec.Struct, frozen=True, kw_only=True):
    """A form of files."""

    name: str
    """Its word after `--from` and `--as`."""
    title: str
    unit: str = "line"
    """What the number of a record counts: `line` or `record`."""
    suffixes: tuple[str, ...] = ()
    """Ends of file names that suggest the form, if `recognise` accepts the beginning."""
    opens_with: str = ""
    """Characters, one of which is the first of such a file; any if it is empty."""
    recognise: Callable[[str], bool] = bool
    """Returns True if the beginning of a file has this form."""
    read: Callable[[BinaryIO, ReadingTerms], Iterator[ReadRecord]]
    describe_table: Callable[[BinaryIO, ReadingTerms], ReadingTerms] | None = None
    """Adds the columns and the delimiter of a table to the terms; None if it is not a table."""
    refuse: Callable[[Sequence[tuple[ReadRecord, str]], ReadingTerms], str]
    """Writes refused records with their reasons, so that the form reads them again."""
    make_writing: Callable[[], Writing] | None = None
    holds: frozenset[str] = frozenset()
    """For a form that is only written: the fields that it holds, such as `about.titles`."""
