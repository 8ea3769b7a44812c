"""An export in the form of another system, and the list of what that form cannot hold.

How it works: each record of the registry is written, and what was written is read again by the same
form. Data that does not come back is a `Loss`, so that the list is true whatever a form does. The
columns of a table must be known before its first row, so the records are read twice for it.

What must stay true: nothing is lost in silence; a record that a form cannot hold at all is a loss,
too; of what was withdrawn, nothing is written but what the tombstone shows.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from perdure.errors import Corrupt, PerdureError
from perdure.ids import Identifier
from perdure.ids.name_set import NameSet
from perdure.ids.urls import find_public_address, urlify
from perdure.model import stored
from perdure.model.commands import Joining
from perdure.model.records import IdentifiedRecord
from perdure.policy.naming import identify_record
from perdure.policy.showing import silence_descriptions
from perdure.registry import Registry
from perdure.storage.durable import check_directory
from perdure.upkeep.exchange.port import ExchangeForm, ExportedRecord, ReadingTerms, Writing
from perdure.upkeep.transfer.exporting import export_files, line_without_bytes, scan_records
from perdure.upkeep.transfer.importing import ImportSource, make_terms
from perdure.upkeep.transfer.lines import read_line
from perdure.upkeep.transfer.rows import Terms, make_row

Report = Callable[[Corrupt], None]
_LATER = "9999-12-31T23:59:59Z"
"""The time of data without one when it is read again: no stored time equals it."""
WHOLE = "record"
"""The field of a loss if the form cannot hold the record at all."""
_MANIFEST = "files.csv"
_BEFORE_CONTENT = frozenset(("contents", "minted"))


class Loss(msgspec.Struct, frozen=True):
    """Data that a form cannot hold."""

    identifier: str
    field: str
    """Its place in a line of `import`, such as `metadata.shelf` or `values[3].at`."""


class FormExport:
    """An export in a form. Iterate over it once; `losses` counts what was lost until then."""

    def __init__(
        self,
        registry: Registry,
        form: ExchangeForm,
        *,
        within: Identifier | NameSet | None = None,
        files: Path | None = None,
        report: Report | None = None,
        note_loss: Callable[[Loss], None] | None = None,
    ) -> None:
        self._registry = registry
        self._form = form
        self._within = within
        self._files = files
        self._report = report
        self._note_loss = note_loss
        terms = make_terms(registry, ImportSource(io.BytesIO(), Path()), Joining.ADD)
        self._terms = msgspec.structs.replace(terms, now=_LATER)
        self.losses: Counter[str] = Counter()
        """How many records lost what."""
        self.written = 0
        """Records."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield the text of the file. Raises Corrupt, OSError."""
        assert self._form.make_writing is not None  # noqa: S101
        writing = self._form.make_writing()
        columns = self._list_columns(writing)
        yield writing.begin(columns).encode()
        with _Manifest(self._files) as manifest:
            for one in scan_records(self._registry, self._within, self._report):
                exported = self._make_exported(one)
                text = writing.write(exported)
                if text:
                    between = writing.between if self.written else ""
                    self.written += 1
                    yield (between + text).encode("utf-8", "surrogatepass")
                self._find_losses(exported, writing, columns, text)
                manifest.note_record(self._registry, one)
        yield writing.tail.encode()

    def _make_exported(self, one: IdentifiedRecord) -> ExportedRecord:
        record = silence_descriptions(one.record)
        base = self._registry.settings.base_url
        url = urlify(one.identifier, base) if base else find_public_address(one.identifier)
        return ExportedRecord(
            one.identifier, record, line_without_bytes(one.identifier, record), url
        )

    def _list_columns(self, writing: Writing) -> list[str]:
        """List the columns of a table. One that a record needs twice is there twice."""
        most: Counter[str] = Counter()
        if self._form.describe_table is None:
            return []
        for one in scan_records(self._registry, self._within, self._report):
            for name, count in Counter(writing.list_columns(self._make_exported(one))).items():
                most[name] = max(most[name], count)
        return list(most.elements())

    def _find_losses(
        self, exported: ExportedRecord, writing: Writing, columns: list[str], text: str
    ) -> None:
        found = [WHOLE]
        if text and self._form.holds:
            found = _list_unheld(exported, self._form.holds)
        elif text:
            alone = self._form.make_writing() if self._form.make_writing else writing
            file = alone.begin(columns) + alone.write(exported) + alone.tail
            found = list(compare_lines(exported, self._read_again(file.encode()), self._terms))
        for field in found:
            self.losses[_name_kind(field)] += 1
            if self._note_loss is not None:
                self._note_loss(Loss(str(exported.identifier.resource), field))

    def _read_again(self, file: bytes) -> dict[str, Any] | None:
        records = self._form.read(io.BytesIO(file), ReadingTerms())
        return next((one.line for one in records), None)


def _list_unheld(exported: ExportedRecord, holds: frozenset[str]) -> list[str]:
    """List the fields of a record that are not among those that a form holds."""
    fields = _list_missing(msgspec.to_builtins(exported.line), {})
    return [one for one in fields if one != "id" and _name_kind(one) not in holds]


def _name_kind(field: str) -> str:
    """Return the kind of a field, without the index of a value.

    >>> _name_kind("values[3].at")
    'values.at'
    """
    before, bracket, after = field.partition("[")
    return before + after.partition("]")[2] if bracket else field


def compare_lines(
    exported: ExportedRecord, again: dict[str, Any] | None, terms: Terms
) -> Iterator[str]:
    """Yield the fields of a record that the line read again does not have."""
    if again is None:
        yield WHOLE
        return
    try:
        row = make_row(read_line(msgspec.json.encode(again)), 1, terms)
    except PerdureError:
        yield WHOLE
        return
    record = stored.decode_stored(row.record.decode())
    name = identify_record(row.key, record)
    before = msgspec.to_builtins(exported.line)
    after = msgspec.to_builtins(line_without_bytes(name, record))
    yield from _list_missing(before, after)


def _list_missing(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    for field, value in before.items():
        other = after.get(field)
        if value == other or (field in _BEFORE_CONTENT and not value):
            continue
        if field in ("metadata", "about"):
            for name in value:
                if (other or {}).get(name) != value[name]:
                    yield f"{field}.{name}"
        elif field == "values":
            yield from _list_missing_values(value, other or [])
        elif field == "attached":
            kept = {one["format"]: one for one in other or []}
            for one in value:
                if kept.get(one["format"]) != one:
                    yield f"attached.{one['format']}"
        elif field in ("broken", "withdrawn") and other and len(other) == len(value):
            for one, kept_one in zip(value, other, strict=True):
                yield from (f"{field}.{name}" for name in one if one[name] != kept_one.get(name))
        else:
            yield field


def _list_missing_values(before: list[Any], after: list[Any]) -> Iterator[str]:
    kept = {one["index"]: one for one in after}
    for one in before:
        other = kept.get(one["index"])
        if other is None:
            yield f"values[{one['index']}]"
            continue
        for name, value in one.items():
            if other.get(name) != value:
                yield f"values[{one['index']}].{name}"


class _Manifest:
    """The table of the files with the bytes of an export, in their directory."""

    def __init__(self, files: Path | None) -> None:
        self._files = files
        self._file: Any = None
        self._writer: Any = None

    def __enter__(self) -> _Manifest:
        if self._files is not None:
            check_directory(self._files)
            self._files.mkdir(parents=True, exist_ok=True)
            self._file = (self._files / _MANIFEST).open("w", encoding="utf-8", newline="")
            self._writer = csv.writer(self._file)
            self._writer.writerow(("id", "version", "format", "type", "charset", "sha512", "path"))
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def note_record(self, registry: Registry, one: IdentifiedRecord) -> None:
        """Write the bytes of a record, and a row for each file. Raises Corrupt, OSError."""
        if self._files is None or not one.record.versions:
            return
        for held in export_files(one.identifier, one.record, registry.bytes, self._files):
            charset = held.charset if isinstance(held.charset, str) else ""
            self._writer.writerow(
                (str(one.identifier.resource), held.version, held.format, held.type, charset,
                 held.sha512, held.path)
            )  # fmt: skip
