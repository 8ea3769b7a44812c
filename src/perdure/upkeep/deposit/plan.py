"""A plan: what a deposit would do with each file, as values and as a table (CSV).

How it works: a row is a file (or a member of a package), with its action, its document and version,
and all that is known of it and why. The rows of a document follow each other. The first row names
the directory. People correct the table and give it back; so reading it checks everything again.

What must stay true: `read_plan` reads what `PlanWriter` wrote as equal values; columns that the
plan does not know become name-value pairs of the metadata.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, NamedTuple, Self

from perdure.errors import PerdureError
from perdure.errors.depositing import (
    PlanWithoutDirectory,
    RowDateMalformed,
    RowDayMissing,
    RowNumberMalformed,
    RowPathOutside,
    RowWithoutFile,
    RowWordUnknown,
    TableWithoutColumn,
)
from perdure.upkeep.deposit.dates import read_date
from perdure.upkeep.deposit.spelling import leads_outside, read_path, spell_path
from perdure.upkeep.deposit.tables import Row, RowFault, Table, protect_cell

MINT, SKIP, SAME, COLLECTION = "mint", "skip", "same", "collection"
ACTIONS = (MINT, SKIP, SAME, COLLECTION)
"""Mint a document; leave it; leave it, because these bytes have a name; list the members."""
DIRECTORY = "directory"
"""The action of the first row, whose file is the directory of all others."""
TODAY = "today"
COLUMNS = (
    "action", "document", "version", "file", "member", "format", "media_type", "charset",
    "language", "title", "creator", "date", "date_source", "described_by", "series", "day",
    "collection", "same_as", "size", "sha512", "why",
)  # fmt: skip
DESCRIBING = ("publisher", "description", "keywords", "rights")
"""Further columns that the files themselves often fill."""
_NUMBER = re.compile("[1-9][0-9]{0,17}", re.ASCII)
_DIGEST = re.compile("[0-9a-f]{128}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFile:
    """A row of a plan."""

    action: str
    file: bytes
    """The path below the directory."""
    document: int = 0
    """Its number in the plan, from 1; 0 if it is not taken."""
    version: int = 1
    member: str = ""
    """The name of a member of a package, if the file is one."""
    format: str = ""
    media_type: str = ""
    """Empty: it is detected when the file is taken."""
    charset: str = ""
    language: str = ""
    title: str = ""
    creator: str = ""
    date: str = ""
    date_source: str = ""
    described_by: str = ""
    """`inventory`, or `inside: PDF`: where title, creator and the like come from."""
    series: str = ""
    day: str = TODAY
    """The day under which the name is given: `1997-09-01`, or `today`."""
    collection: int = 0
    """The number of the collection in the plan of which it is a member; 0: of none."""
    same_as: str = ""
    """The file or the identifier that has these bytes already."""
    size: int = -1
    sha512: str = ""
    why: str = ""
    pairs: dict[str, str] = field(default_factory=dict)
    """Further metadata, by the names of columns."""
    line: int = 0
    """The line of the table."""

    @property
    def name(self) -> str:
        """The file, and the member if there is one, as people read them."""
        path = spell_path(self.file)
        return f"{path}!/{self.member}" if self.member else path


class PlanTerms(NamedTuple):
    """Facts that all rows of a plan share."""

    directory: Path
    series: str
    extra: tuple[str, ...]
    """Further columns."""

    @property
    def columns(self) -> tuple[str, ...]:
        return (*COLUMNS, *self.extra)


class PlanWriter:
    """Writes a plan. Use it as a context manager."""

    def __init__(self, path: Path, terms: PlanTerms) -> None:
        self._file: IO[str] = path.open("w", encoding="utf-8", newline="")
        self._writer = csv.writer(self._file)
        self._writer.writerow(terms.columns)
        self._writer.writerow(map(protect_cell, write_directory(terms)))
        self._extra = terms.extra

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write_rows(self, rows: Iterable[PlannedFile]) -> None:
        self._writer.writerows(map(protect_cell, write_row(one, self._extra)) for one in rows)


def write_directory(terms: PlanTerms) -> list[str]:
    """The cells of the first row."""
    cells = dict.fromkeys(terms.columns, "")
    spelled = spell_path(bytes(terms.directory))
    cells |= {"action": DIRECTORY, "file": spelled, "series": terms.series}
    return list(cells.values())


def write_row(row: PlannedFile, extra: tuple[str, ...]) -> list[str]:
    """The cells of a row."""
    return [
        row.action, str(row.document or ""), str(row.version), spell_path(row.file), row.member,
        row.format, row.media_type, row.charset, row.language, row.title, row.creator, row.date,
        row.date_source, row.described_by, row.series, row.day, str(row.collection or ""),
        row.same_as, "" if row.size < 0 else str(row.size), row.sha512, row.why,
        *(row.pairs.get(name, "") for name in extra),
    ]  # fmt: skip


def read_terms(table: Table, directory: Path | None = None, series: str = "") -> PlanTerms:
    """Read the columns and the first row of a plan. What is given here overrules the row.

    Raises TableWithoutColumn or PlanWithoutDirectory.
    """
    for needed in ("action", "file", "document"):
        if needed not in table.columns:
            columns = table.columns
            raise TableWithoutColumn(path=table.path.name, needed=(needed,), columns=columns)
    extra = tuple(one for one in table.columns if one and one not in COLUMNS and one[0] != "_")
    first = next(iter(table), None)
    if isinstance(first, Row) and first.cells.get("action") == DIRECTORY:
        said = Path(read_path(first.cells.get("file", "")).decode("utf-8", "surrogateescape"))
        return PlanTerms(directory or said, series or first.cells.get("series", ""), extra)
    raise PlanWithoutDirectory(path=table.path.name)


def read_rows(table: Table, terms: PlanTerms) -> Iterator[PlannedFile | RowFault]:
    """Read the other rows of a plan."""
    for row in table:
        if isinstance(row, RowFault):
            yield row
            continue
        try:
            yield _read_row(row, terms)
        except PerdureError as error:
            yield RowFault(row.line, row.cells, error)


def _read_row(row: Row, terms: PlanTerms) -> PlannedFile:
    """Read a row. Raises UnusableRow."""
    cells = row.cells
    action = cells.get("action", MINT).lower()
    if action not in ACTIONS:
        raise RowWordUnknown(column="action", word=action, known=ACTIONS)
    if "file" not in cells:
        raise RowWithoutFile()
    path = read_path(cells["file"])
    if leads_outside(path):
        raise RowPathOutside(path=cells["file"])
    date = _read_date(cells.get("date", ""))
    day = cells.get("day", TODAY)
    size = cells.get("size", "")
    sha512 = cells.get("sha512", "").lower()
    return PlannedFile(
        action=action,
        file=path,
        document=_read_number(cells, "document") if action in (MINT, COLLECTION) else 0,
        version=_read_number(cells, "version", 1),
        member=cells.get("member", ""),
        format=cells.get("format", ""),
        media_type=cells.get("media_type", ""),
        charset=cells.get("charset", ""),
        language=cells.get("language", ""),
        title=cells.get("title", ""),
        creator=cells.get("creator", ""),
        date=date,
        date_source=cells.get("date_source", ""),
        described_by=cells.get("described_by", ""),
        series=cells.get("series", terms.series),
        day=day if day == TODAY else _read_day(day),
        collection=_read_number(cells, "collection", 0),
        same_as=cells.get("same_as", ""),
        size=int(size) if size.isascii() and size.isdigit() else -1,
        sha512=sha512 if _DIGEST.fullmatch(sha512) else "",
        why=cells.get("why", ""),
        pairs={name: cells[name] for name in terms.extra if name in cells},
        line=row.line,
    )


def _read_number(cells: dict[str, str], column: str, usual: int | None = None) -> int:
    word = cells.get(column, "")
    if not word and usual is not None:
        return usual
    if not _NUMBER.fullmatch(word):
        raise RowNumberMalformed(column=column, word=word)
    return int(word)


def _read_date(text: str) -> str:
    """A date in the form of plans, also an interval with a slash. Raises RowDateMalformed."""
    if not text:
        return ""
    date = read_date(text)
    if date is not None:
        return date
    ends = [read_date(end) for end in text.split("/")]
    if len(ends) == 2 and None not in ends:
        return "/".join(map(str, ends))
    raise RowDateMalformed(date=text)


def _read_day(text: str) -> str:
    """A day. Raises RowDateMalformed or RowDayMissing."""
    date = read_date(text)
    if date is None:
        raise RowDateMalformed(date=text)
    if len(date) < len("1997-09-01"):
        raise RowDayMissing()
    return date


class PlannedDocument(NamedTuple):
    """The rows of one document; or one row that is not taken."""

    rows: tuple[PlannedFile, ...]
    faults: tuple[RowFault, ...] = ()
    """Rows that cannot be used, before these."""

    @property
    def is_taken(self) -> bool:
        return bool(self.rows) and self.rows[0].action in (MINT, COLLECTION)


def join_rows(rows: Iterable[PlannedFile | RowFault]) -> Iterator[PlannedDocument]:
    """Join the rows of each document, which follow each other."""
    waiting: list[PlannedFile] = []
    faults: list[RowFault] = []
    for row in rows:
        if isinstance(row, RowFault):
            faults.append(row)
            continue
        if waiting and (not row.document or row.document != waiting[0].document):
            yield PlannedDocument(tuple(waiting), tuple(faults))
            waiting, faults = [], []
        waiting.append(row)
    if waiting or faults:
        yield PlannedDocument(tuple(waiting), tuple(faults))


def renumber_versions(rows: tuple[PlannedFile, ...]) -> tuple[PlannedFile, ...]:
    """The rows of a document in the order of their versions, which are numbered without gaps."""
    numbers = {number: at for at, number in enumerate(sorted({one.version for one in rows}), 1)}
    ordered = sorted(rows, key=lambda one: one.version)
    return tuple(
        one if numbers[one.version] == one.version else replace(one, version=numbers[one.version])
        for one in ordered
    )
