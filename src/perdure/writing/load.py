"""Bulk loads: many identifiers in one command, in the order of their keys.

How it works: a `Row` contains a record that was made and checked elsewhere, with its references
already hashed, so a new record costs little more than its insertion. If the identifier of a row is
known, its record is joined with the existing one (`perdure.policy.joining`), in the way that the
command states; a contradiction is refused and reported with the line of the row. The rows of an
atomic load are in a file in `incoming`, which is read twice: first to check that all rows can be
joined, and then to join them.

What must stay true: an atomic load is written completely in one batch of the ledger, or not at
all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from operator import attrgetter, lt
from pathlib import Path
from typing import BinaryIO

from msgspec.structs import replace

from perdure.errors import InvalidRequest, PerdureError
from perdure.errors.conflicts import RevisionNotCurrent
from perdure.errors.importing import LoadUnreadable, RowsUnordered
from perdure.model import stored
from perdure.model.commands import (
    NOWHERE,
    Content,
    Joining,
    Load,
    LoadRow,
    Outcome,
    Receipt,
)
from perdure.model.records import Record, Representation, Version
from perdure.policy import naming
from perdure.writing.ledger import IMPORT, Ledger
from perdure.writing.row_files import read_rows
from perdure.writing.row_records import LEVELS, check_new_row, join_row, promise_contents

_MOST_REFUSED = 1000  # reported for an atomic load
_UNNAMED = Record()  # a record whose key spells the name
_ENDING = b'"tombstone"'
_get_contents = attrgetter("contents")

Refused = tuple[int, str]
Check = Callable[[Record], None]
"""Raises InvalidRequest if an operator forbids the record."""


def execute_load(ledger: Ledger, command: Load, *, check: Check | None = None) -> Receipt:
    """Carry out a load.

    The receipt counts all rows that are true of the registry now, new or not, and lists the rows
    that `check` refuses by their lines. Raises InvalidRequest if the rows are not in order, OSError
    if the file of an atomic load cannot be read.
    """
    if command.expect is not None:
        _check_expected(ledger, command.rows, command.expect)
    if check is None and _can_add_columns(ledger, command):
        count, changed, refused = _add_columns(ledger, command)
    elif command.spilled is None:
        rows, forbidden = _split_allowed(_list_rows(command), check)
        count, changed, refused = _take_rows(ledger, rows, command.by, command.how)
        count, refused = count + len(forbidden), forbidden + refused
    else:
        count, changed, refused = _take_all(ledger, command.spilled, command, check)
    if command.last:
        ledger.merge_staged()
    return Receipt(
        outcome=Outcome.CREATED if changed else Outcome.UNCHANGED,
        accepted=count - len(refused),
        rejected=tuple(refused),
    )


def _can_add_columns(ledger: Ledger, command: Load) -> bool:
    """Return True if a load has columns, no record exists between its first and its last row, and
    its other rows bring no bytes, ends or levels.

    Raises InvalidRequest if the rows are not in order.
    """
    if not command.columns or command.how is not Joining.ADD:
        return False
    texts = _join_records(command.rows)
    if LEVELS in texts or _ENDING in texts or any(map(_get_contents, command.rows)):
        return False
    keys = _list_keys(command)
    _check_order(keys)
    return ledger.is_empty(keys[0], keys[-1])


def _list_keys(command: Load) -> list[str]:
    return [row.key for row in command.rows] + [
        key for columns in command.columns for key in columns.keys
    ]


def _add_columns(ledger: Ledger, command: Load) -> tuple[int, int, list[Refused]]:
    """Add new records without making a row of each."""
    lines = [(row.key, row.record.decode()) for row in command.rows]
    refers = [(hash, row.key) for row in command.rows for hash in row.refers]
    for columns in command.columns:
        lines += zip(columns.keys, columns.records, strict=True)
        refers += zip(columns.refers, columns.keys, strict=True)
    ledger.add_loaded(lines, refers, command.by)
    return len(lines), len(lines), []


def _list_rows(command: Load) -> tuple[LoadRow, ...]:
    """Return all rows of a load, also those that are columns."""
    return command.rows + tuple(row for one in command.columns for row in one.as_rows())


def _check_order(keys: Sequence[str]) -> None:
    """Raise InvalidRequest if the keys are not in order."""
    if not all(map(lt, keys, keys[1:])):
        raise RowsUnordered()


def _check_expected(ledger: Ledger, rows: Sequence[LoadRow], expect: int) -> None:
    """Raise PreconditionFailed if a record has another revision than its writer saw."""
    for row in rows:
        held = ledger.find_record(row.key)
        revision = 0 if held is None else held.revision
        if revision != expect:
            record = held or stored.decode_stored(row.record.decode())
            name = str(naming.identify_record(row.key, record))
            raise RevisionNotCurrent(identifier=name, expected=expect, revision=revision or None)


def _split_allowed(
    rows: Sequence[LoadRow], check: Check | None
) -> tuple[Sequence[LoadRow], list[Refused]]:
    """The rows that the operator allows, and the refused ones with the reason."""
    if check is None:  # the usual case: a million rows need not be decoded
        return rows, []
    taken: list[LoadRow] = []
    refused: list[Refused] = []
    for row in rows:
        try:
            check(stored.decode_stored(row.record.decode()))
        except InvalidRequest as error:
            refused.append((row.line, str(error)))
        else:
            taken.append(row)
    return taken, refused


def _take_rows(
    ledger: Ledger, rows: Sequence[LoadRow], by: str, how: Joining
) -> tuple[int, int, list[Refused]]:
    """Add rows, or join them with known records.

    Return the number of rows, the number of changed records, and the refused rows.
    """
    keys = [row.key for row in rows]
    _check_order(keys)
    is_new = not rows or ledger.is_empty(keys[0], keys[-1])
    if is_new and how is not Joining.UPDATE:
        together = _join_records(rows)
        if LEVELS not in together:
            _add_rows(ledger, rows, by, together)
            return len(rows), len(rows), []
    fresh: list[LoadRow] = []
    refused: list[Refused] = []
    changed = 0
    for row in rows:
        held = None if is_new else ledger.find_record(row.key)
        try:
            if held is None:
                check_new_row(row, ledger.now, how)
                fresh.append(row)
                continue
            changed += _join_row(ledger, held, row, by, how)
        except PerdureError as error:
            refused.append((row.line, str(error)))
    for run in _split_runs(ledger, fresh):
        _add_rows(ledger, run, by, _join_records(run))
    return len(rows), changed + len(fresh), refused


def _take_all(
    ledger: Ledger, spilled: str, command: Load, check: Check | None
) -> tuple[int, int, list[Refused]]:
    """Add all rows of a file, or none of them."""
    with _open_rows(ledger.find_incoming(spilled)) as file:
        refusals = (
            one
            for rows in read_rows(file)
            for one in _find_refusals(ledger, rows, command.how, check)
        )
        refused = list(islice(refusals, _MOST_REFUSED))
        if refused:
            return len(refused), 0, refused
        file.seek(0)
        count = changed = 0
        for rows in read_rows(file):
            taken, grown, _ = _take_rows(ledger, rows, command.by, command.how)
            count, changed = count + taken, changed + grown
    return count, changed, []


def _open_rows(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise LoadUnreadable(fault=str(error)) from error


def _find_refusals(
    ledger: Ledger, rows: Sequence[LoadRow], how: Joining, check: Check | None
) -> Iterator[Refused]:
    """The rows that are forbidden, or contradict known records."""
    yield from _split_allowed(rows, check)[1]
    is_new = ledger.is_empty(rows[0].key, rows[-1].key)
    if is_new and how is not Joining.UPDATE and LEVELS not in _join_records(rows):
        return
    for row in rows:
        held = None if is_new else ledger.find_record(row.key)
        try:
            if held is None:
                check_new_row(row, ledger.now, how)
                continue
            changed = join_row(held, row, ledger.now, how)
            ledger.check_alone(naming.identify_record(row.key, changed), held, changed)
        except PerdureError as error:
            yield row.line, str(error)


def _split_runs(ledger: Ledger, rows: Sequence[LoadRow]) -> Iterator[Sequence[LoadRow]]:
    """New rows, divided into runs that have no existing record between them."""
    begin = 0
    for at in range(1, len(rows)):
        if not ledger.is_empty(rows[at - 1].key, rows[at].key):
            yield rows[begin:at]
            begin = at
    yield rows[begin:]


def _add_rows(ledger: Ledger, rows: Sequence[LoadRow], by: str, together: bytes) -> None:
    """Add new identifiers. `together` is the text of all records."""
    refers = [(hash, row.key) for row in rows for hash in row.refers]
    has_more = _ENDING in together or any(map(_get_contents, rows))
    if not has_more:  # a million of these take seconds
        ledger.add_loaded([(row.key, row.record.decode()) for row in rows], refers, by)
        return
    records = []
    for row in rows:
        text = _store_document(ledger, row) or _with_bytes(ledger, row)
        records.append((row.key, text))
    ledger.add_loaded(records, refers, by)


def _has_more(row: LoadRow) -> bool:
    """Return True if the row writes to the segments."""
    return bool(row.contents) or _ENDING in row.record


def _join_records(rows: Sequence[LoadRow]) -> bytes:
    """Join the records of rows, so that a word is sought in all at once."""
    return b"\n".join([row.record for row in rows])


def _store_document(ledger: Ledger, row: LoadRow) -> str | None:
    """Place the bytes of a record that only says which bytes it holds, and return its stored form.

    None for all other records.
    """
    if len(row.contents) != 1:
        return None
    ((number, content),) = row.contents
    held = stored.parse_document_line(row.record.decode())
    if number != 1 or content.spooled or held is None or held.format != content.format:
        return None
    name = naming.spell_full_name(row.key, _UNNAMED, 1, content.format)
    return held.place_at(*ledger.bytes.append(name, 1, content))


def _with_bytes(ledger: Ledger, row: LoadRow) -> str:
    if not _has_more(row):
        return row.record.decode()
    record = promise_contents(row, ledger.now)
    log_tombstones(ledger, row.key, None, record)
    log_corrections(ledger, row.key, None, record)
    return stored.encode_stored(_place_bytes(ledger, row.key, record, row.contents)).decode()


def _join_row(ledger: Ledger, held: Record, row: LoadRow, by: str, how: Joining) -> bool:
    """Add the data of a row to a known record. Return True if any is new.

    Raises as `join_records`.
    """
    changed = join_row(held, row, ledger.now, how)
    identifier = naming.identify_record(row.key, changed)
    if changed == held:
        return False
    ledger.check_alone(identifier, held, changed)
    log_tombstones(ledger, row.key, held, changed)
    log_corrections(ledger, row.key, held, changed)
    changed = _place_bytes(ledger, row.key, changed, row.contents)
    ledger.revise_record(identifier, held, changed, Outcome.CHANGED, (IMPORT, by))
    return True


def _place_bytes(
    ledger: Ledger, key: str, record: Record, contents: tuple[tuple[int, Content], ...]
) -> Record:
    """Write the bytes that have no place yet, and return the record with their places."""
    if not contents:
        return record
    given = {(number, one.format): one for number, one in reversed(contents)}
    versions: list[Version] = []
    for version in record.versions:
        number = version.number
        held: list[Representation] = []
        for one in version.representations:
            content = given.get((number, one.format))
            if content is None or one.segment != NOWHERE:
                held.append(one)
                continue
            name = naming.spell_full_name(key, record, number, one.format)
            placed = ledger.place_content(name, number, content)
            held.append(replace(placed, at=one.at, corrections=one.corrections))
        versions.append(replace(version, representations=tuple(held)))
    return replace(record, versions=tuple(versions))


def log_tombstones(ledger: Ledger, key: str, held: Record | None, record: Record) -> None:
    """Write new withdrawals to the segment, so that a rebuild does not undo them."""
    if held is not None and _count_endings(record) > _count_endings(held):
        ledger.note_withdrawn(key, record)
    if record.tombstone and not (held and held.tombstone):
        ledger.log_tombstone(naming.identify_record(key, record), record.tombstone, None)
    for version in record.versions:
        if version.tombstone:
            known = held.version(version.number) if held else None
            if not (known and known.tombstone):
                identifier = naming.identify_record(key, record)
                ledger.log_tombstone(identifier, version.tombstone, version.number)


def _count_endings(record: Record) -> int:
    endings = (record.tombstone, *(one.tombstone for one in record.versions))
    return sum(one is not None for one in endings)


def log_corrections(ledger: Ledger, key: str, held: Record | None, record: Record) -> None:
    """Write new corrections to the segment, so that a rebuild does not lose them."""
    for version in record.versions:
        known = held.version(version.number) if held else None
        for one in version.representations:
            before = known.find_representation(one.format) if known else None
            for correction in one.corrections[len(before.corrections) if before else 0 :]:
                identifier = naming.identify_record(key, record)
                ledger.log_correction(identifier, version.number, one.format, correction)
