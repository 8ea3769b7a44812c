"""An inventory: a table about the files of a deposit, by their paths.

How it works: the names of columns say what they contain, in a few languages, or a mapping says it
(`Dateiname=file`). A path is one below the directory; `\\` and a leading `./` are read as Windows
and shells write them. A name without its directory is found if only one file has it.

What must stay true: a row that cannot be used is refused with its line, and the file that it names
is not taken without it; a column that has no meaning
here becomes a name-value pair, and nothing is dropped.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from pathlib import Path

from perdure.errors import PerdureError
from perdure.errors.depositing import (
    RowDateMalformed,
    RowFileAmbiguous,
    RowFileMissing,
    RowFileTwice,
    RowNumberMalformed,
    RowPathOutside,
    RowWithoutFile,
    TableColumnTwice,
    TableWithoutColumn,
)
from perdure.upkeep.deposit.dates import read_date
from perdure.upkeep.deposit.spelling import leads_outside, read_path
from perdure.upkeep.deposit.tables import RefusedRows, Row, RowFault, Table, explain_error
from perdure.upkeep.deposit.workbook import KnownRow, Workbook

MEANINGS = {
    "file": "file", "path": "file", "filename": "file", "file name": "file", "file path": "file",
    "datei": "file", "dateiname": "file", "pfad": "file", "fichier": "file", "chemin": "file",
    "title": "title", "titel": "title", "titre": "title", "dc.title": "title",
    "creator": "creator", "author": "creator", "authors": "creator", "dc.creator": "creator",
    "autor": "creator", "verfasser": "creator", "urheber": "creator", "auteur": "creator",
    "date": "date", "datum": "date", "dc.date": "date",
    "language": "language", "sprache": "language", "langue": "language", "dc.language": "language",
    "media_type": "media_type", "media type": "media_type", "mime": "media_type",
    "mimetype": "media_type", "mime type": "media_type", "mime_type": "media_type",
    "charset": "charset", "encoding": "charset", "zeichensatz": "charset",
    "format": "format", "version": "version", "document": "document", "dokument": "document",
    "series": "series", "day": "day",
}  # fmt: skip
"""The meaning of a column, by its name in lower case."""
KNOWN = tuple(dict.fromkeys(MEANINGS.values()))


def read_inventory(
    path: Path, workbook: Workbook, refused: RefusedRows, mapping: Mapping[str, str]
) -> tuple[str, ...]:
    """Put the rows of an inventory into the workbook, which knows the files already.

    Return the names of its further columns. Raises TableUnusable.
    """
    with Table(path) as table:
        meanings = choose_meanings(table, mapping)
        for row in table:
            if isinstance(row, RowFault):
                refused.add_row(*row)
                continue
            try:
                _add_row(row, meanings, workbook)
            except PerdureError as error:
                refused.add_row(row.line, row.cells, error)
    return tuple(one for one in meanings.values() if one not in KNOWN)


def choose_meanings(table: Table, mapping: Mapping[str, str]) -> dict[str, str]:
    """The meaning of each column of an inventory. Raises TableWithoutColumn or TableColumnTwice."""
    found: dict[str, str] = {}
    for name in table.columns:
        if not name or name.startswith("_"):
            continue
        meaning = mapping.get(name) or MEANINGS.get(name.lower(), name)
        if meaning in found.values():
            raise TableColumnTwice(path=table.path.name, column=meaning)
        found[name] = meaning
    if "file" not in found.values():
        raise TableWithoutColumn(path=table.path.name, needed=("file",), columns=table.columns)
    return found


def _add_row(row: Row, meanings: Mapping[str, str], workbook: Workbook) -> None:
    """Add a row to the workbook. Raises UnusableRow."""
    cells = {meanings[name]: cell for name, cell in row.cells.items()}
    written = cells.pop("file", "")
    if not written:
        raise RowWithoutFile()
    path = find_file(written, workbook)
    try:
        family = _check_cells(cells)
    except PerdureError as error:
        workbook.add_row(KnownRow(path, row.line, "", {}, explain_error(error)))
        raise
    earlier = workbook.add_row(KnownRow(path, row.line, family, cells))
    if earlier:
        raise RowFileTwice(path=written, line=earlier)


def _check_cells(cells: dict[str, str]) -> str:
    """Bring dates and the version into the form of plans, and take out the family.

    Raises UnusableRow.
    """
    if "date" in cells:
        cells["date"] = _check_date(cells["date"])
    if "day" in cells and cells["day"] != "today":
        cells["day"] = _check_date(cells["day"])
    version = cells.get("version", "1").lower().removeprefix("v")
    if not (version.isascii() and version.isdigit() and 0 < int(version) < 10**9):
        raise RowNumberMalformed(column="version", word=cells["version"])
    cells["version"] = version
    return cells.pop("document", "")


def _check_date(text: str) -> str:
    ends = [read_date(text)] if read_date(text) else [read_date(end) for end in text.split("/")]
    if None in ends or len(ends) > 2:
        raise RowDateMalformed(date=text)
    return "/".join(map(str, ends))


def find_file(written: str, workbook: Workbook) -> bytes:
    """The path of the file that an inventory names. Raises UnusableRow."""
    spellings = (written, written.replace("\\", "/"))
    for text in dict.fromkeys(spellings):
        for form in ("", "NFC", "NFD"):
            normal = unicodedata.normalize(form, text) if form else text  # type: ignore[arg-type]
            try:
                path = read_path(normal).removeprefix(b"./")
            except PerdureError:
                continue
            if leads_outside(path):
                raise RowPathOutside(path=written)
            if workbook.has_file(path):
                return path
            if b"/" not in path and (found := workbook.find_files(path)):
                if len(found) > 1:
                    raise RowFileAmbiguous(path=written)
                return found[0]
    raise RowFileMissing(path=written)
