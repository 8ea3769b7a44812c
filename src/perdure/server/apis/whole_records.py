"""Writes of EZID's and DataCite's interfaces: a record is read, changed as a whole, and replaced.

How it works: a plan makes a line of an import (docs/reference/jsonl.md) from the current record.
The line is loaded so that the fields that it gives replace those of the record, if the record still
has the revision that the plan saw; otherwise the plan is made again.

What must stay true: two writers at a time never undo each other's work; a name is created once.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import msgspec

from perdure.errors import PreconditionFailed, RefusedThere
from perdure.ids import Identifier, parse
from perdure.ids.ark import compute_check_character
from perdure.model import stored
from perdure.model.commands import Joining, Load, LoadRow, Receipt
from perdure.model.queries import Query, Want
from perdure.model.records import Record, Token
from perdure.policy.showing import silence_descriptions
from perdure.server.common import asking
from perdure.server.common.readers import find_reader
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.upkeep.exchange.port import ExportedRecord
from perdure.upkeep.transfer.exporting import line_without_bytes
from perdure.upkeep.transfer.line_contents import Terms
from perdure.upkeep.transfer.lines import Line, read_line
from perdure.upkeep.transfer.rows import make_row, name_given_fields

_TRIES = 8  # if others write to the same record
_LETTERS = "0123456789bcdfghjkmnpqrstvwxz"
"""The characters of names of NOID, without vowels."""
_LENGTH = 8  # characters of a random name

Plan = Callable[[Record | None], dict[str, Any]]
"""Makes the fields of the line from the current record. Raises what refuses the write."""


async def change_record(
    service: Service, token: Token, identifier: Identifier, plan: Plan
) -> Receipt:
    """Change a record, or create it. Raises PerdureError."""
    for tried in range(_TRIES):
        record = service.find_record(identifier)
        line = plan(record)
        command = _make_command(service, token, identifier, record, line)
        try:
            receipt = await service.submit_command(command, token.name)
        except PreconditionFailed:
            if tried == _TRIES - 1:
                raise
            continue
        for _, reason in receipt.rejected:
            raise RefusedThere(what=str(identifier), reason=reason)
        service.metrics.count_write("load", receipt.outcome)
        return receipt
    raise AssertionError


def _make_command(
    service: Service,
    token: Token,
    identifier: Identifier,
    record: Record | None,
    line: dict[str, Any],
) -> Load:
    """Make the command that gives a record the fields of a line."""
    now = service.registry.clock()
    terms = Terms(
        now=f"{now:%Y-%m-%dT%H:%M:%SZ}",
        today=f"{now:%Y/%m/%d}",
        incoming="",
        files="",
        series=service.settings.series,
        how=Joining.REPLACE,
    )
    text = msgspec.json.encode({"id": str(identifier)} | line)
    row = name_given_fields(make_row(read_line(text), 1, terms), text)
    made = msgspec.structs.replace(stored.decode_stored(row.record.decode()), by=token.name)
    row = LoadRow(
        row.key, stored.encode_stored(made), 1, row.refers, row.contents, row.given, row.located
    )
    expect = 0 if record is None else record.revision
    return Load(by=token.name, rows=(row,), how=Joining.REPLACE, expect=expect)


def find_exported(
    service: Service, request: Request, identifier: Identifier, url: str
) -> ExportedRecord:
    """Find what a reader may see of a record, for a form to write. Raises NotFound, Forbidden …"""
    query = Query(
        identifier=identifier,
        want=Want.LOCATIONS,
        follow_aliases=False,
        reader=find_reader(service, request),
    )
    resolved = asking.resolve_query(service, request, query)
    record = silence_descriptions(resolved.require_known())
    line = make_line(resolved.identifier, record)
    return ExportedRecord(resolved.identifier, record, line, url)


def make_line(identifier: Identifier, record: Record) -> Line:
    """Make the line of a record, as an export without bytes has it."""
    return line_without_bytes(identifier, record)


def invent_name(shoulder: str) -> Identifier:
    """Make a random name on a shoulder, with a check character. Raises MalformedIdentifier.

    Like names of NOID, it has no vowels; it is as unlikely to be taken as one in 5 · 10¹¹.
    """
    text = shoulder + "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))
    return parse(text + compute_check_character(text.partition(":")[2]))
