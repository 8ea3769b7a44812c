"""Rows of a registry in PostgreSQL, decoded, or the error that says which row is damaged."""

from __future__ import annotations

from typing import Any

import msgspec

from perdure.errors import Corrupt
from perdure.errors.corruption import RowContents, RowUnreadable
from perdure.ids.keys import spell_key
from perdure.model import stored
from perdure.model.changes import Change
from perdure.model.reading_rules import ReadingRule
from perdure.model.records import Record, Token

PLACE = "the database"
CHANGE = "epoch, number, at, act, first, last, records, revision, digest, chain, actor, salt, leaf"
"""The columns of a change, in the order in which `make_change` takes them."""
_FAULTS = (msgspec.DecodeError, TypeError, ValueError)
_read_token = msgspec.json.Decoder(Token).decode
_read_rule = msgspec.json.Decoder(ReadingRule).decode


def decode_record(key: str, text: str) -> Record:
    """Decode a record. Raises Corrupt if the text is not a record."""
    try:
        return stored.decode_stored(text)
    except _FAULTS as error:
        raise _make_unreadable(spell_key(key), "a record", error) from error


def decode_or_report(key: str, text: str) -> Record | Corrupt:
    """Decode a record, or return the error in its place."""
    try:
        return decode_record(key, text)
    except Corrupt as error:
        return error


def decode_token(text: str) -> Token:
    """Decode a token. Raises Corrupt if the text is not a token."""
    try:
        return _read_token(text)
    except _FAULTS as error:
        raise _make_unreadable("a token", "a token", error) from error


def decode_rule(number: int, text: str) -> ReadingRule:
    """Decode a reading rule. Raises Corrupt if the text is not a rule."""
    try:
        return msgspec.structs.replace(_read_rule(text), number=number)
    except _FAULTS as error:
        raise _make_unreadable(f"reading rule {number}", "a reading rule", error) from error


def make_change(row: tuple[Any, ...]) -> Change:
    """The change in a row with the columns `CHANGE`."""
    epoch, number, at, act, first, last, records, revision, digest, chain, actor, salt, leaf = row
    return Change(
        epoch=epoch,
        number=number,
        at=at,
        act=act,
        first=first,
        last=last,
        count=records,
        revision=revision,
        digest=digest or b"",
        chain=chain,
        actor=actor,
        salt=salt,
        leaf=leaf,
    )


def _make_unreadable(identifier: str, contents: RowContents, error: Exception) -> Corrupt:
    return RowUnreadable(
        identifier=identifier, file=PLACE, contents=contents, fault=f"{error}"[:200]
    )
