"""Errors about moving in: tables, plans, and the files of a deposit."""

from __future__ import annotations

from perdure.errors.invalid import InvalidRequest
from perdure.errors.root import FaultQuoted, count_things, quote
from perdure.errors.unavailable import Unavailable

_PAGE = "docs/how-to/move-in.md"


class UnusableRow(InvalidRequest):
    """A row of an inventory or a plan cannot be used. Abstract: each reason has a class."""

    what = "the row"
    rule = _PAGE


class PathUnreadable(UnusableRow):
    """The path of a file has a backslash that begins no escape."""

    path: str

    @property
    def reason(self) -> str:
        return f"in {quote(self.path)}, write a backslash as \\\\ and any other byte as \\xhh"


class RowWithoutFile(UnusableRow):
    """A row names no file."""

    reason = "it names no file"


class RowFileMissing(UnusableRow):
    """A row names a file that is not in the directory."""

    path: str

    @property
    def reason(self) -> str:
        return f"the directory has no file {quote(self.path)}"


class RowFileAmbiguous(UnusableRow):
    """A row names a file without its directory, and several directories have one of this name."""

    path: str

    @property
    def reason(self) -> str:
        return f"several files are called {quote(self.path)}; give the path within the directory"


class RowFileTwice(UnusableRow):
    """Two rows are about the same file."""

    path: str
    line: int

    @property
    def reason(self) -> str:
        return f"line {self.line} is already about {quote(self.path)}"


class RowPathOutside(UnusableRow):
    """The path of a row leads out of the directory."""

    path: str

    @property
    def reason(self) -> str:
        return f"path {quote(self.path)} leads out of the directory"


class RowDateMalformed(UnusableRow):
    """The date of a row is not a date."""

    date: str

    @property
    def reason(self) -> str:
        return f"{quote(self.date)} is not a date such as 1997, 1997-09 or 1997-09-01"


class RowDayMissing(UnusableRow):
    """The day of a document is not known, so it cannot be named under its day."""

    reason = (
        "with --retrospective, a document needs a date with its day; state one, or write 'today' "
        "under day"
    )


class RowWordUnknown(UnusableRow):
    """A cell has a word that this column does not have."""

    column: str
    word: str
    known: tuple[str, ...]

    @property
    def reason(self) -> str:
        return f"{self.column} is {quote(self.word)}; it must be one of {', '.join(self.known)}"


class RowNumberMalformed(UnusableRow):
    """A cell must have a number and has none."""

    column: str
    word: str

    @property
    def reason(self) -> str:
        return f"{self.column} is {quote(self.word)}; it must be a number from 1 on"


class RowTooWide(UnusableRow):
    """A row has more cells than the first row has names."""

    cells: int
    columns: int

    @property
    def reason(self) -> str:
        return f"it has {count_things(self.cells, 'cell')}, and the first row {self.columns}"


class FileNotTaken(InvalidRequest):
    """A file cannot be taken. Abstract: each reason has a class."""

    path: str
    rule = _PAGE

    @property
    def what(self) -> str:
        return f"file {quote(self.path)}"


class FileChanged(FileNotTaken):
    """A file is not the one that was planned, or changed while it was read."""

    reason = "it changed since the deposit was planned; plan it again"


class FileNotRegular(FileNotTaken):
    """The path leads to a link, a directory, a pipe or a device."""

    reason = "it is not a regular file"


class DepositUnreadable(FaultQuoted, FileNotTaken):
    """The file cannot be read; `fault` quotes the system."""


class MemberNotTaken(FaultQuoted, FileNotTaken):
    """A member of a package cannot be taken; `fault` says why."""

    member: str


class PackageNotOpened(FaultQuoted, FileNotTaken):
    """A package cannot be opened; `fault` says why."""


class PackageTooLarge(FileNotTaken):
    """A package expands to more than one package may."""

    most_bytes: int
    most_members: int

    @property
    def reason(self) -> str:
        size = count_things(self.most_bytes, "byte")
        return f"it expands to more than {size} or {count_things(self.most_members, 'member')}"


class MemberAbsent(FileNotTaken):
    """A package has no member of this name."""

    member: str

    @property
    def reason(self) -> str:
        return f"it has no member {quote(self.member)}"


class TableUnusable(InvalidRequest):
    """A table cannot be used. Abstract: each reason has a class."""

    path: str
    rule = _PAGE

    @property
    def what(self) -> str:
        return f"table {quote(self.path)}"


class TableUnreadable(FaultQuoted, TableUnusable):
    """A file is not a table of text; `fault` says why."""


class TableNotText(TableUnusable):
    """A file is not text in a known charset."""

    reason = "it is not text in a charset that is known"


class TableWithoutNames(TableUnusable):
    """The first line of a file is not a row of names."""

    reason = "its first line is not a row of names"


class TableWithoutColumn(TableUnusable):
    """A table lacks a column that it needs."""

    needed: tuple[str, ...]
    columns: tuple[str, ...]

    @property
    def reason(self) -> str:
        found = ", ".join(map(quote, self.columns[:20])) or "(none)"
        return (
            f"one of its columns must be called {' or '.join(self.needed)}; it has {found}; "
            "rename a column, or give --map NAME=file"
        )


class TableColumnTwice(TableUnusable):
    """Two columns of a table have the same meaning."""

    column: str

    @property
    def reason(self) -> str:
        return f"two columns are called {quote(self.column)}"


class TableTooWide(TableUnusable):
    """A table has too many columns."""

    columns: int
    most: int

    @property
    def reason(self) -> str:
        return f"it has {count_things(self.columns, 'column')}; at most {self.most} are read"


class PlanWithoutDirectory(TableUnusable):
    """A plan does not say in which directory its files are."""

    reason = "it does not name its directory in the first row; give DIR on the command line"


class DatePatternMalformed(InvalidRequest):
    """A pattern of dates cannot be used."""

    pattern: str
    rule = _PAGE
    reason = "it needs %Y or %y, and may have %m, %b and %d, each once; write % as %%"

    @property
    def what(self) -> str:
        return f"date pattern {quote(self.pattern)}"


class DepositRunning(Unavailable):
    """Another process carries out the same deposit."""

    job: str

    reason = "another process carries it out"
    mend = "wait until that process ends, or stop it"

    @property
    def what(self) -> str:
        return f"deposit {self.job}"
