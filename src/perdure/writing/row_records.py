"""The record of a row of a bulk load: made of the row, and joined to the one that exists."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from perdure.errors import NotFound
from perdure.errors.conflicts import BytesBound
from perdure.ids import Identifier
from perdure.model import stored
from perdure.model.commands import (
    Content,
    Joining,
    LoadRow,
    make_representation,
)
from perdure.model.records import NarrowDescription, Record
from perdure.policy import correcting, levels, naming, rules
from perdure.policy.joining import join_records

LEVELS = b'"narrower"'  # in records that describe single versions, formats or parts


def join_row(held: Record, row: LoadRow, at: str, how: Joining) -> Record:
    """Join the record of a row with the known one.

    Raises as `join_records`, and NoSuchVersion or NotAcceptable if the row describes a version or a
    format that the result does not have.
    """
    asked = promise_contents(row, at)
    identifier = naming.identify_record(row.key, asked)
    for number, content in row.contents:
        _check_content(identifier, held, asked, number, content)
    joined = join_records(identifier, held, asked, how, frozenset(row.given), row.located)
    known = {one.level for one in held.narrower}
    _check_levels(identifier, joined, (one for one in asked.narrower if one.level not in known))
    return joined


def check_new_row(row: LoadRow, at: str, how: Joining = Joining.ADD) -> None:
    """Raise NotFound if only known records change, NoSuchVersion or NotAcceptable if the row of a
    new identifier describes a version or a format that it does not bring."""
    if how is Joining.UPDATE:
        record = stored.decode_stored(row.record.decode())
        raise NotFound(identifier=str(naming.identify_record(row.key, record).resource))
    if _has_levels(row):
        record = promise_contents(row, at)
        _check_levels(naming.identify_record(row.key, record), record, record.narrower)


def _has_levels(row: LoadRow) -> bool:
    """Return True if the row may describe single versions, formats or parts."""
    return LEVELS in row.record


def _check_levels(
    identifier: Identifier, record: Record, described: Iterable[NarrowDescription]
) -> None:
    """Raise NoSuchVersion or NotAcceptable for a level that the record never had."""
    for one in described:
        levels.require_level(identifier, record, one.level)


def _check_content(
    identifier: Identifier, held: Record, asked: Record, number: int, content: Content
) -> None:
    """Raise Conflict if a line contradicts the record about the same name or the same bytes.

    A language is compared when the records are joined, and so are corrections.
    """
    known = rules.find_held(held.version(number), content.format)
    if known is None:
        return
    name = str(naming.qualify_identifier(identifier, number, content.format))
    if known.sha512 != content.sha512:
        raise BytesBound(identifier=name, sha512=known.sha512)
    new = rules.find_held(asked.version(number), content.format)
    if new is not None and not new.corrections:
        facts = tuple(one for one in content.stated if one != "language")
        correcting.check_stated(name, known, replace(content, stated=facts))


def promise_contents(row: LoadRow, at: str) -> Record:
    """The record with a representation for each content, whose bytes have no place yet.

    Representations that the record already has stay unchanged; the others are dated `at`.
    """
    record = stored.decode_stored(row.record.decode())
    known = {(one.number, held.format) for one in record.versions for held in one.representations}
    for number, content in row.contents:
        if (number, content.format) not in known:
            known.add((number, content.format))
            one = make_representation(content)
            record = rules.with_representations(record, number, (one,), at)
    return record
