"""Rows of an embedded registry, decoded, or the error that says which row is damaged.

What must stay true: a row that was altered, or that was not written by perdure, is an error
(`Corrupt`) that names it, and never a guess at its content.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec

from perdure.errors import Corrupt
from perdure.errors.corruption import RowAltered, RowContents, RowUnreadable
from perdure.ids.keys import spell_key
from perdure.model import stored
from perdure.model.changes import Line
from perdure.model.reading_rules import ReadingRule
from perdure.model.records import Record, Token
from perdure.storage.sqlite.opening import FILE
from perdure.storage.sqlite.sums import is_sound_line, sum_lines

_ROWS_OF = {
    "tokens": "token",
    "token_changes": "change of a token",
    "segments": "segment",
    "rules": "reading rule",
}

_read_token = msgspec.json.Decoder(Token).decode
_read_rule = msgspec.json.Decoder(ReadingRule).decode


def decode_record(key: str, text: str) -> Record:
    """Decode a record. Raises Corrupt if the text is not a record, so was not written by us."""
    try:
        return stored.decode_stored(text)
    except (msgspec.DecodeError, TypeError, ValueError) as error:
        raise make_unreadable(spell_key(key), "a record", error) from error


def decode_token(text: str) -> Token:
    """Decode a token. Raises Corrupt if the text is not a token."""
    try:
        return _read_token(text)
    except (msgspec.DecodeError, TypeError, ValueError) as error:
        raise make_unreadable("a token", "a token", error) from error


def decode_rule(number: int, text: str) -> ReadingRule:
    """Decode a reading rule. Raises Corrupt if the text is not a rule."""
    try:
        return msgspec.structs.replace(_read_rule(text), number=number)
    except (msgspec.DecodeError, TypeError, ValueError) as error:
        raise make_unreadable(f"reading rule {number}", "a reading rule", error) from error


def decode_line(key: str, text: str, position: int | None, sum: int | None) -> Record:
    """Decode a record. Raises Corrupt if it has another checksum, or is not a record."""
    if sum is not None and not is_sound_line(key, text, position, sum):
        raise make_altered(spell_key(key))
    return decode_record(key, text)


def check_lines(rows: list[Any]) -> list[Line]:
    """Keys and lines of rows with one position and checksums. Raises Corrupt if one is damaged."""
    lines = [row[:2] for row in rows]
    with suppress(AttributeError, TypeError, UnicodeEncodeError):  # other types, say
        if rows and sum_lines(lines, rows[0][2] or 0) == [row[3] for row in rows]:
            return lines
    for key, text, position, sum in rows:
        if sum is None:
            decode_record(f"{key}", text)
        elif not is_sound_line(key, text, position, sum):
            raise make_altered(spell_key(f"{key}"))
    return lines


def decode_or_report(
    key: str, text: str, position: int | None, sum: int | None
) -> Record | Corrupt:
    """Decode a record, or return the error in its place."""
    try:
        return decode_line(key, text, position, sum)
    except Corrupt as error:
        return error


def decode_scanned(
    key: bytes | None, text: bytes | None, kinds: str, position: int | None, sum: int | None
) -> tuple[str, Record | Corrupt]:
    """A key and its record. A key that is not in UTF-8 has surrogates in place of wrong bytes.

    `kinds` are the types of both, as SQLite names them: no reader finds bytes by a text.
    """
    name = (key or b"").decode("utf-8", "surrogateescape")
    if kinds != "texttext":
        return name, make_altered(spell_key(name))
    try:
        name.encode()
        return name, decode_line(name, (text or b"").decode(), position, sum)
    except UnicodeError as error:
        return name, make_unreadable(spell_key(name), "text in UTF-8", error)
    except Corrupt as error:
        return name, error


def make_unreadable(identifier: str, contents: RowContents, error: Exception) -> Corrupt:
    """The error that a row does not have its contents."""
    return RowUnreadable(
        identifier=identifier, file=FILE, contents=contents, fault=f"{error}"[:200]
    )


def make_altered(identifier: str) -> Corrupt:
    """The error that a row does not have its checksum."""
    return RowAltered(identifier=identifier, file=FILE)


def name_row(table: str, key: Any) -> str:
    """The name of a row in messages: that of its record, or its kind and its first column."""
    text = key.decode("utf-8", "backslashreplace") if isinstance(key, bytes) else f"{key}"
    if table in ("records", "history"):
        return spell_key(text)
    return f"{_ROWS_OF.get(table, table)} {text}"


def make_altered_row(table: str, key: Any) -> Corrupt:
    """The error that a row of a table does not have its checksum."""
    return make_altered(name_row(table, key))
