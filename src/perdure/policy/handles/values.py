"""Handle values: read from JSON, projected from a record, written as JSON. Pure.

How it works: `read` makes values of what a client sends, `values_of` tells those of a record, and
`written` gives them the form in which clients read them. A record's locations are the truth about
where a thing lies: a value of type `URL` that was stored says under which index a location is
shown, and goes with the location; a location without one is shown under the first index that is
free. Secrets are sealed by `read` already (`perdure.policy.handles.sealing`).

>>> from perdure.model.records import Location, Record
>>> [(one.index, one.type, one.data) for one in values_of(Record(locations=(Location(uri="x:y"),)))]
[(1, 'URL', 'x:y')]

What must stay true: no index is shown twice; a secret is in no value that `written` is given
without being dropped there; values are in the order of their indexes.

Specification: RFC 3651 section 3.1; Handle.Net technical manual version 9, section 14 (JSON).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import count
from typing import Any

import msgspec

from perdure.errors import TooLarge
from perdure.errors.locations import (
    IndexOutOfRange,
    IndexTwice,
    SealNotAllowed,
    SecretEmpty,
    ValueDataInvalid,
    ValueDataNotJson,
    ValueDataNotText,
    ValueDataTooDeep,
    ValueFormatInvalid,
    ValuePermissionsInvalid,
    ValueTtlInvalid,
    ValueTypeInvalid,
)
from perdure.errors.requests import MalformedBody
from perdure.model.records import Record, Value
from perdure.policy.handles import loc, sealing

URL = "URL"
SECKEY = "HS_SECKEY"
ADMIN = "HS_ADMIN"
VLIST = "HS_VLIST"
TEMPLATE = "TEMPLATE"
"""Says where parts of what the handle names lie; see `perdure.policy.templates`."""
COMPUTED = 2_000_000_000
"""Values from this index on are told of what is held here; nobody writes them."""
MOST_VALUES = 1000
MOST_SECRETS = 4
"""In one request: each takes some 40 ms to seal."""
LARGEST = 1 << 20
"""Characters of all values of a handle together."""
_TEXTUAL = ("string", "base64", "hex", sealing.FORMAT)
_TYPE = re.compile(r"[!-~]{1,255}", re.ASCII)
_FORMAT = re.compile(r"[a-z0-9]{1,20}", re.ASCII)
_PERMISSIONS = re.compile("[01]{4}", re.ASCII)
_DEEPEST = 32  # levels of JSON in the data of a value
_LONGEST_TTL = 1 << 31  # seconds
_encode = msgspec.json.encode


# from JSON
# ---------


class _Sent(msgspec.Struct, frozen=True):
    """A value as clients send it."""

    index: int | str
    type: str
    data: Any
    ttl: int | str = 86400
    permissions: str = "1110"
    timestamp: str = ""


class _Typed(msgspec.Struct, frozen=True):
    format: str
    value: Any


class _Body(msgspec.Struct, frozen=True):
    values: list[_Sent] = []


def read(body: bytes) -> tuple[Value, ...]:
    """The values of a request: an object with `values`, a list of them, or one value.

    Secrets in them are sealed, which takes a while. Raises InvalidRequest or TooLarge.
    """
    try:
        if body.lstrip()[:1] == b"[":
            sent = msgspec.json.decode(body, type=list[_Sent])
        else:
            sent = msgspec.json.decode(body, type=_Body).values
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        fault = f"it is no JSON with handle values: {error}"
        raise MalformedBody(fault=fault, manual=_RULE) from error
    if sum(one.type.upper() == SECKEY for one in sent) > MOST_SECRETS:
        raise TooLarge(what="the number of secrets in one request", limit=MOST_SECRETS)
    found = tuple(_value(one) for one in sent)
    check(found)
    return tuple(sorted(found, key=lambda one: one.index))


_RULE = "docs/reference/handle-api.md"


def check(values: tuple[Value, ...]) -> None:
    """Raises TooLarge or InvalidRequest for values that no handle can have together."""
    if len(values) > MOST_VALUES:
        raise TooLarge(what="the number of values", limit=MOST_VALUES)
    if sum(len(one.data) for one in values) > LARGEST:
        raise TooLarge(what="the record", limit=LARGEST)
    if len({one.index for one in values}) < len(values):
        raise IndexTwice()


def number(text: int | str) -> int:
    """An index, which some clients send as text. Raises InvalidRequest."""
    if isinstance(text, str):
        text = int(text) if re.fullmatch("[0-9]{1,10}", text, re.ASCII) else 0
    if not 0 < text < COMPUTED:
        raise IndexOutOfRange(highest=COMPUTED - 1)
    return text


def kept(given: tuple[Value, ...], at: str) -> tuple[Value, ...]:
    """Values that come from a file of an operator, as they are kept; secrets that are not sealed
    are. Without a time of their own they are of `at`. Raises InvalidRequest or TooLarge."""
    found = []
    for one in given:
        index = number(one.index)
        _check_outside(index, one.type, one.ttl, one.permissions)
        if not _FORMAT.fullmatch(one.format):
            raise ValueFormatInvalid(index=index)
        if one.format not in _TEXTUAL:
            _check_json(index, one.data)
        data, format = one.data, one.format
        if is_secret(one) and format != sealing.FORMAT:
            format, data = _secret(index, format, data)
        changed = msgspec.structs.replace(one, format=format, data=data, at=one.at or at)
        found.append(changed)
    check(tuple(found))
    return tuple(sorted(found, key=lambda one: one.index))


def _check_json(index: int, text: str) -> None:
    try:
        _check_depth(index, msgspec.json.decode(text))
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueDataNotJson(index=index, fault=str(error)) from error


def _check_outside(index: int, kind: str, ttl: object, permissions: str) -> None:
    """Raises InvalidRequest for what no value can have around its data."""
    if not _TYPE.fullmatch(kind):
        raise ValueTypeInvalid(index=index)
    if not isinstance(ttl, int) or not 0 <= ttl < _LONGEST_TTL:
        raise ValueTtlInvalid(index=index)
    if not _PERMISSIONS.fullmatch(permissions):
        raise ValuePermissionsInvalid(index=index)


def _value(sent: _Sent) -> Value:
    index = number(sent.index)
    _check_outside(index, sent.type, sent.ttl, sent.permissions)
    format, data = _data(index, sent.data)
    if sent.type.upper() == SECKEY:
        format, data = _secret(index, format, data)
    elif format == sealing.FORMAT:
        raise SealNotAllowed(index=index, value_type=SECKEY)
    return Value(
        index=index,
        type=sent.type,
        format=format,
        data=data,
        ttl=int(sent.ttl),
        permissions=sent.permissions,
    )


def _data(index: int, data: Any) -> tuple[str, str]:
    if isinstance(data, str):
        return "string", data
    try:
        typed = msgspec.convert(data, type=_Typed)
    except msgspec.ValidationError as error:
        raise ValueDataInvalid(index=index, fault=str(error)) from error
    if not _FORMAT.fullmatch(typed.format):
        raise ValueFormatInvalid(index=index)
    if typed.format in _TEXTUAL:
        if not isinstance(typed.value, str):
            raise ValueDataNotText(index=index, format=typed.format)
        return typed.format, typed.value
    _check_depth(index, typed.value)
    return typed.format, _encode(typed.value).decode()


def _check_depth(index: int, data: Any, left: int = _DEEPEST) -> None:
    """Raises InvalidRequest for JSON that is nested deeper than anybody reads."""
    if left == 0:
        raise ValueDataTooDeep(index=index, deepest=_DEEPEST)
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    for one in inner:
        _check_depth(index, one, left - 1)


def _secret(index: int, format: str, data: str) -> tuple[str, str]:
    """A secret as it is kept; empty where the client sends back what it was shown."""
    if format == sealing.FORMAT:
        return format, ""
    if format != "string" or not data:
        raise SecretEmpty(index=index)
    return sealing.FORMAT, sealing.sealed(data)


def is_secret(value: Value) -> bool:
    return value.type.upper() == SECKEY


# from a record
# -------------


def values_of(record: Record) -> tuple[Value, ...]:
    """The values of a record, in the order of their indexes; secrets among them."""
    places = {one.uri for one in record.locations}
    shown: list[Value] = []
    told: set[str] = set()
    for one in record.values:
        if is_url(one):
            if one.data not in places:  # it was broken, or moved elsewhere
                continue
            told.add(one.data)
        elif one.type == loc.TYPE:
            hrefs = {location.uri for location in loc.read(one.data)}
            if gone := hrefs - places:
                one = msgspec.structs.replace(one, data=loc.without(one.data, gone))
            told |= hrefs
        shown.append(one)
    taken = {one.index for one in shown}
    free = (index for index in count(1) if index not in taken)
    for location in record.locations:
        if location.uri not in told:
            told.add(location.uri)
            shown.append(Value(index=next(free), type=URL, data=location.uri, at=record.at))
    return tuple(sorted(shown, key=lambda one: one.index))


def is_url(value: Value) -> bool:
    """Whether a value is a location."""
    return value.type == URL and value.format == "string"


# to JSON
# -------


def written(values: Iterable[Value], *, to_admin: bool) -> list[dict[str, Any]]:
    """Values as clients read them. Everybody sees what everybody may read, and no secret; an
    administrator sees the rest, and of a secret that it is there."""
    return [_written(one) for one in values if is_shown(one, to_admin=to_admin)]


def is_shown(value: Value, *, to_admin: bool) -> bool:
    """RFC 3651 section 3.1: "PUBLIC_READ" is the third bit, "ADMIN_READ" the first."""
    if to_admin:
        return value.permissions[0] == "1" or is_secret(value)
    return value.permissions[2] == "1" and not is_secret(value)


def _written(value: Value) -> dict[str, Any]:
    data: Any = value.data
    if is_secret(value):
        data = ""
    elif value.format not in _TEXTUAL:
        data = msgspec.Raw(value.data.encode())
    found = {
        "index": value.index,
        "type": value.type,
        "data": {"format": value.format, "value": data},
        "ttl": value.ttl,
        "timestamp": value.at,
    }
    if value.permissions != "1110":
        found["permissions"] = value.permissions
    return found
