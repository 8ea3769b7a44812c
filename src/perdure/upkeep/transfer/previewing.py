"""The preview of an import: the difference that it would make, and the lines that undo it.

How it works: each row is joined with the known record by the function that the import uses. The
fields that differ are the difference; the same fields as they are now make a line that
`import --replace` reads, so that the import can be undone.

What must stay true: nothing is written; an undo line gives every replaceable field that the import
would change, also if it is empty now.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from perdure.errors import PerdureError
from perdure.model.commands import Joining, LoadRow
from perdure.model.records import Record
from perdure.policy.joining import REPLACEABLE
from perdure.policy.naming import identify_record
from perdure.registry import Registry
from perdure.upkeep.transfer.blocks import Fault, cut_blocks, make_fault, read_rows_of
from perdure.upkeep.transfer.exporting import line_without_bytes
from perdure.upkeep.transfer.importing import ImportSource, make_terms
from perdure.upkeep.transfer.line_contents import discard_content
from perdure.writing.row_records import check_new_row, join_row, promise_contents


class FieldChange(msgspec.Struct, frozen=True, kw_only=True):
    """A field of a line that the import would change; None for a field that is empty."""

    name: str
    before: Any
    after: Any


class RecordChange(msgspec.Struct, frozen=True, kw_only=True):
    """The difference that an import would make to one identifier."""

    identifier: str
    line: int
    is_new: bool
    fields: tuple[FieldChange, ...]

    @property
    def undo_line(self) -> bytes:
        """The line that undoes the change; empty if `import --replace` cannot undo it."""
        empty: dict[str, Any] = {"metadata": {}, "about": {}}
        fields = {
            one.name: empty.get(one.name, []) if one.before is None else one.before
            for one in self.fields
            if one.name in REPLACEABLE
        }
        if self.is_new or not fields:
            return b""
        return msgspec.json.encode({"id": self.identifier} | fields) + b"\n"


def preview_lines(
    registry: Registry, source: ImportSource, how: Joining
) -> Iterator[RecordChange | Fault]:
    """Yield what each line would change, and the faults of bad lines. Raises StorageFailed."""
    terms = make_terms(registry, source, how)
    for block in cut_blocks(source.file):
        yield from source.take_faults()
        for row in read_rows_of(block, terms):
            if isinstance(row, Fault):
                yield row
                continue
            try:
                change = _preview_row(registry, row, terms.now, how)
            except PerdureError as error:
                yield make_fault(row.line, error)
            else:
                if change is not None:
                    yield change
            finally:
                for _, content in row.contents:
                    discard_content(content, terms)
    yield from source.take_faults()


def _preview_row(registry: Registry, row: LoadRow, at: str, how: Joining) -> RecordChange | None:
    held = registry.records.find_record(row.key)
    if held is None:
        check_new_row(row, at, how)
    asked = promise_contents(row, at) if held is None else join_row(held, row, at, how)
    before = {} if held is None else _list_fields(row.key, held)
    after = _list_fields(row.key, asked)
    names = [name for name in after | before if before.get(name) != after.get(name)]
    if held is not None and not names:
        return None
    return RecordChange(
        identifier=str(identify_record(row.key, held or asked).resource),
        line=row.line,
        is_new=held is None,
        fields=tuple(
            FieldChange(name=name, before=before.get(name), after=after.get(name))
            for name in names
            if name != "id"
        ),
    )


def _list_fields(key: str, record: Record) -> dict[str, Any]:
    line = line_without_bytes(identify_record(key, record), record)
    found: dict[str, Any] = msgspec.to_builtins(line)
    return found
