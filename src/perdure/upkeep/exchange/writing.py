"""An export in the form of another system, and the list of what that form cannot hold.

How it works: each record of the registry is written, and what was written is read again by the same
form. Data that does not come back is a `Loss` (`perdure.upkeep.exchange.losses`), so that the list
is true whatever a form does. The columns of a table must be known before its first row, so the
records are read twice for it.

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

from perdure.errors import Corrupt
from perdure.ids import Identifier
from perdure.ids.name_set import NameSet
from perdure.ids.urls import find_public_address, urlify
from perdure.model.commands import Joining
from perdure.model.records import IdentifiedRecord
from perdure.policy.showing import silence_descriptions
from perdure.registry import Registry
from perdure.storage.durable import check_directory
from perdure.upkeep.exchange import losses
from perdure.upkeep.exchange.port import ExchangeForm, ExportedRecord, ReadingTerms, Writing
from perdure.upkeep.transfer.exporting import export_files, line_without_bytes, scan_records
from perdure.upkeep.transfer.importing import ImportSource, make_terms

Report = Callable[[Corrupt], None]
_LATER = "9999-12-31T23:59:59Z"
"""The time of data without one when it is read again: no stored time equals it."""
_MANIFEST = "files.csv"


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
        found = [losses.WHOLE]
        if text and self._form.holds:
            found = losses.list_unheld(exported, self._form.holds)
        elif text:
            alone = self._form.make_writing() if self._form.make_writing else writing
            file = alone.begin(columns) + alone.write(exported) + alone.tail
            found = list(
                losses.compare_lines(exported, self._read_again(file.encode()), self._terms)
            )
        for field in found:
            self.losses[losses.name_kind(field)] += 1
            if self._note_loss is not None:
                self._note_loss(Loss(str(exported.identifier.resource), field))

    def _read_again(self, file: bytes) -> dict[str, Any] | None:
        records = self._form.read(io.BytesIO(file), ReadingTerms())
        return next((one.line for one in records), None)


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
