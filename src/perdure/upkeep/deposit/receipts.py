"""Receipts: a row for each row of a plan, in the same order, with the name or the reason.

How it works: rows are appended and made durable after each turn. `skip_known` reads them beside the
plan; what a crash has left incomplete at the end is cut off.

What must stay true: the receipts are a beginning of the plan, document by document.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple, Self

from perdure.upkeep.deposit.plan import PlannedDocument, PlannedFile
from perdure.upkeep.deposit.spelling import spell_path
from perdure.upkeep.deposit.tables import bare_cell, protect_cell

COLUMNS = ("file", "member", "status", "identifier", "sha512", "size", "document", "why")
MINTED, SAME, SKIPPED, REFUSED = "minted", "same", "skipped", "refused"


class Receipted(NamedTuple):
    """The result of one row of a plan."""

    row: PlannedFile
    status: str
    identifier: str = ""
    """The full name."""
    sha512: str = ""
    size: int = -1
    why: str = ""

    def list_cells(self) -> tuple[str, ...]:
        row = self.row
        size = "" if self.size < 0 else str(self.size)
        path, document = spell_path(row.file), str(row.document or "")
        why = " ".join(self.why.split())
        path, member, why = protect_cell(path), protect_cell(row.member), protect_cell(why)
        return path, member, self.status, self.identifier, self.sha512, size, document, why


Recall = Callable[[PlannedDocument, list[Receipted]], None]
"""Takes the results of a document that an earlier run has dealt with."""


class ReceiptFile:
    """The receipts of a deposit. Use it as a context manager."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Self:
        self._file: IO[str] = self._path.open("a+", encoding="utf-8", newline="")
        self._writer = csv.writer(self._file, lineterminator="\n")
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def skip_known(
        self, documents: Iterable[PlannedDocument], recall: Recall
    ) -> Iterator[PlannedDocument]:
        """Yield the documents that have no receipts yet."""
        following = iter(documents)
        end = 0
        self._file.seek(0)
        if self._file.readline() == ",".join(COLUMNS) + "\n":
            end = self._file.tell()
            for document in following:
                results = self._read_results(document)
                if results is None:
                    self._cut_off(end)
                    yield document
                    yield from following
                    return
                end = self._file.tell()
                recall(document, results)
            self._cut_off(end)
            return
        self._cut_off(end)
        self._writer.writerow(COLUMNS)
        yield from following

    def _read_results(self, document: PlannedDocument) -> list[Receipted] | None:
        """The next receipts, if they are complete and those of a document."""
        found: list[Receipted] = []
        for row in document.rows:
            line = self._file.readline()
            if not line.endswith("\n"):
                return None
            cells = next(csv.reader([line]))
            if len(cells) != len(COLUMNS):
                return None
            path, member, status, name, sha512, size, number, why = map(bare_cell, cells)
            if (path, member, number) != (
                spell_path(row.file),
                row.member,
                str(row.document or ""),
            ):
                return None
            found.append(Receipted(row, status, name, sha512, int(size or -1), why))
        return found

    def _cut_off(self, end: int) -> None:
        """Remove what is behind the last complete document."""
        self._file.seek(end)
        self._file.truncate()

    def add_rows(self, results: Iterable[Receipted]) -> None:
        self._writer.writerows(one.list_cells() for one in results)

    def flush(self) -> None:
        """Make all rows durable. Raises OSError."""
        self._file.flush()
        os.fsync(self._file.fileno())
