"""Handle values: read from JSON, projected from a record, written as JSON. Pure.

How it works: `read_values` reads the values that a client sends, `list_values` returns those of a
record, and `write_values` converts them to the form for clients. Only the locations of a record say
where a resource is. A public value of type `URL` gives its location an index, and disappears with
it; a location without such a value is shown under the first free index. A `URL` that is not public
or that readers cannot open (`perdure.policy.handles.addresses`) is a value like any other.
`read_values` already seals secrets (`perdure.policy.handles.sealing`).

>>> from perdure.model.records import Location, Record
>>> record = Record(locations=(Location(uri="x:y"),))
>>> [(value.index, value.type, value.data) for value in list_values(record)]
[(1, 'URL', 'x:y')]

What must stay true: no index is shown twice; `write_values` drops every secret; a value that is not
public never becomes a location; values are in the order of their indexes.

Specification: RFC 3651 section 3.1; Handle.Net technical manual version 9, section 14 (JSON).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from functools import lru_cache
from itertools import count
from operator import attrgetter
from typing import Any

import msgspec

from perdure.errors import InvalidRequest, MalformedIdentifier, PerdureError
from perdure.errors.limits import SecretsTooMany, ValuesTooLong, ValuesTooMany
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
from perdure.errors.requests import MalformedBody, OtherHandleSent
from perdure.ids import Identifier
from perdure.model.records import Location, Record, Value
from perdure.policy.handles import loc, sealing
from perdure.policy.handles.addresses import read_address
from perdure.policy.handles.names import read_handle

URL = "URL"
SECKEY = "HS_SECKEY"
_SECKEY = SECKEY.encode()
ADMIN = "HS_ADMIN"
VLIST = "HS_VLIST"
ALIAS = "HS_ALIAS"
"""The type of a value that contains the handle by which its handle is resolved."""
TEMPLATE = "TEMPLATE"
"""The type of a template for locations of parts; see `perdure.policy.templates`."""
COMPUTED = 2_000_000_000
"""The server computes the values from this index on; clients cannot write them."""
HIGHEST = (1 << 32) - 1
"""The highest index that a handle can have; an import keeps it."""
MOST_VALUES = 1000
MOST_SECRETS = 4
"""The most secrets in one request: each takes some 40 ms to seal."""
LARGEST = 1 << 20
"""The most characters of all values of a handle together."""
LOCATING = frozenset((URL, loc.TYPE))
"""The types of values that can state locations."""
_by_index = attrgetter("index")
_TEXTUAL = ("string", "base64", "hex", sealing.FORMAT)
_TYPE = re.compile(r"[!-~]{1,255}", re.ASCII)
_FORMAT = re.compile(r"[a-z0-9]{1,20}", re.ASCII)
_PERMISSIONS = re.compile("[01]{4}", re.ASCII)
_SHORT_BODY = 16 << 10  # bytes
_SHORT_JSON = 256  # characters of the data of a value
_SHORT_TEXT = 512  # bytes of a value as it is sent
_MOST_KNOWN = 1024
_DEEPEST = 32  # levels of JSON in the data of a value
_LONGEST_TTL = 1 << 31  # seconds
_encode = msgspec.json.encode


# from JSON
# ---------


class _SentValue(msgspec.Struct, frozen=True):
    """A value as clients send it."""

    index: int | str
    type: str
    data: Any
    ttl: int | str = 86400
    permissions: str = "1110"
    timestamp: str = ""


class _TypedData(msgspec.Struct, frozen=True):
    format: str
    value: Any


class _SentRecord(msgspec.Struct, frozen=True):
    """The record of a handle as clients send it."""

    values: list[_SentValue] | None
    handle: str = ""


class _UsualRecord(msgspec.Struct, frozen=True):
    """The same, with values that are not read yet."""

    values: list[msgspec.Raw]
    handle: str = ""


def read_values(body: bytes, identifier: Identifier | None = None) -> tuple[Value, ...]:
    """Read the values of a request: an object with `values`, a list of them, or one value.

    If an object with `values` names a handle, that must be `identifier`. It seals the secrets,
    which takes a while. Raises InvalidRequest or TooLarge.
    """
    usual = _read_usual(body, identifier)
    if usual is not None:
        check_values(usual)
        return tuple(sorted(usual, key=_by_index))
    try:
        sent = _read_sent(body, identifier)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedBody(fault=str(error), manual=_RULE) from error
    if sum(one.type.upper() == SECKEY for one in sent) > MOST_SECRETS:
        raise SecretsTooMany(limit=MOST_SECRETS)
    found = tuple(_make_value(one) for one in sent)
    check_values(found)
    return tuple(sorted(found, key=_by_index))


_RULE = "docs/reference/handle-api.md"


def is_quickly_read(body: bytes) -> bool:
    """Return True if `read_values` takes less than a millisecond: a short body without secrets.

    >>> is_quickly_read(b'{"index":1,"type":"URL","data":"https://a.example/"}')
    True

    A body that names the type of secrets, or that could name it by escapes, takes longer.
    """
    return len(body) <= _SHORT_BODY and b"\\u" not in body and _SECKEY not in body.upper()


_decode_values = msgspec.json.Decoder(list[_SentValue]).decode
_decode_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_value = msgspec.json.Decoder(_SentValue).decode
_decode_record = msgspec.json.Decoder(_SentRecord).decode
_decode_usual = msgspec.json.Decoder(_UsualRecord).decode


def _read_usual(body: bytes, identifier: Identifier | None) -> tuple[Value, ...] | None:
    """Read an object with `values` that contains no secret. None for all others, and for faults.

    Many handles share most of their values, so the meaning of a short one is cached for its text.
    """
    try:
        record = _decode_usual(body)
        if identifier is not None and record.handle and read_handle(record.handle) != identifier:
            return None
        texts = map(bytes, record.values)
        return tuple(
            [_read_known(one) if len(one) <= _SHORT_TEXT else _read_value(one) for one in texts]
        )
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, PerdureError):
        return None


def _read_value(text: bytes) -> Value:
    """Read a value that is not a secret. Raises SealNotAllowed for a secret, among the others."""
    sent = _decode_value(text)
    if sent.type.upper() == SECKEY:
        raise SealNotAllowed(index=0, value_type=SECKEY)
    return _make_value(sent)


_read_known = lru_cache(maxsize=_MOST_KNOWN)(_read_value)


def _read_sent(body: bytes, identifier: Identifier | None) -> list[_SentValue]:
    """Read the values of a body, in the forms that Handle.Net reads (HandleJsonRestApiServlet)."""
    if body.lstrip()[:1] == b"[":
        return _decode_values(body)
    if "values" not in _decode_members(body):  # without the members of a value it is refused
        return [_decode_value(body)]
    record = _decode_record(body)
    if identifier is not None and record.handle and read_handle(record.handle) != identifier:
        raise OtherHandleSent(handle=identifier.handle, sent=record.handle)
    return record.values or []


def check_values(values: tuple[Value, ...]) -> None:
    """Raise TooLarge or InvalidRequest if no handle can have these values together."""
    if len(values) > MOST_VALUES:
        raise ValuesTooMany(limit=MOST_VALUES)
    if sum(len(one.data) for one in values) > LARGEST:
        raise ValuesTooLong(limit=LARGEST)
    if len({one.index for one in values}) < len(values):
        raise IndexTwice()


def read_index(text: int | str) -> int:
    """Read the index of a value to write. Some clients send a text. Raises InvalidRequest."""
    return _check_index(text, 1, COMPUTED - 1)


def read_asked_index(text: int | str) -> int:
    """Read the index of a value to read: any that a handle can have. Raises InvalidRequest.

    RFC 3651 section 3.1: "An unsigned 32-bit integer". Other servers have values with index 0, and
    with those that are computed here.
    """
    return _check_index(text, 0, HIGHEST)


def _check_index(text: int | str, lowest: int, highest: int) -> int:
    if isinstance(text, str):
        text = int(text) if re.fullmatch("[0-9]{1,10}", text, re.ASCII) else -1
    if not lowest <= text <= highest:
        raise IndexOutOfRange(lowest=lowest, highest=highest)
    return text


def prepare_values(given: tuple[Value, ...], at: str) -> tuple[Value, ...]:
    """Prepare values from an operator's file for storage, and seal secrets that are not sealed.

    They keep their indexes, also those that clients cannot write.

    Values without a time get the time `at`. Raises InvalidRequest or TooLarge.
    """
    found = []
    for one in given:
        index = read_asked_index(one.index)
        if not _is_well_formed(one.type, one.ttl, one.permissions, one.format):
            _check_outside(index, one.type, one.ttl, one.permissions)
            raise ValueFormatInvalid(index=index)
        if one.format not in _TEXTUAL and not _is_short_json(one.data):
            _check_json(index, one.data)
        if is_secret(one) and one.format != sealing.FORMAT:
            format, data = _seal_data(index, one.format, one.data)
            one = msgspec.structs.replace(one, format=format, data=data)
        found.append(one if one.at else msgspec.structs.replace(one, at=at))
    check_values(tuple(found))
    return tuple(sorted(found, key=lambda one: one.index))


@lru_cache(maxsize=1024)
def _is_well_formed(kind: str, ttl: object, permissions: str, format: str) -> bool:
    """Return True if a value can have this type, TTL, permissions and format. Cached, because a
    million handles have the same."""
    try:
        _check_outside(0, kind, ttl, permissions)
    except InvalidRequest:
        return False
    return _FORMAT.fullmatch(format) is not None


def _is_short_json(text: str) -> bool:
    """Return True if a short text is JSON that can be stored."""
    return len(text) <= _SHORT_JSON and _is_json(text)


@lru_cache(maxsize=1024)
def _is_json(text: str) -> bool:
    """Cached, because most handles have the same administrators."""
    try:
        _check_json(0, text)
    except InvalidRequest:
        return False
    return True


def _check_json(index: int, text: str) -> None:
    try:
        _check_depth(index, msgspec.json.decode(text))
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueDataNotJson(index=index, fault=str(error)) from error


def _check_outside(index: int, kind: str, ttl: object, permissions: str) -> None:
    """Raise InvalidRequest if a value cannot have this type, this TTL or these permissions."""
    if not _TYPE.fullmatch(kind):
        raise ValueTypeInvalid(index=index)
    if not isinstance(ttl, int) or not 0 <= ttl < _LONGEST_TTL:
        raise ValueTtlInvalid(index=index)
    if not _PERMISSIONS.fullmatch(permissions):
        raise ValuePermissionsInvalid(index=index)


def _make_value(sent: _SentValue) -> Value:
    index = read_index(sent.index)
    if not _is_well_formed(sent.type, sent.ttl, sent.permissions, "string"):
        _check_outside(index, sent.type, sent.ttl, sent.permissions)
    format, data = _read_data(index, sent.data)
    if sent.type.upper() == SECKEY:
        format, data = _seal_data(index, format, data)
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


def _read_data(index: int, data: Any) -> tuple[str, str]:
    if isinstance(data, str):
        return "string", data
    try:
        typed = msgspec.convert(data, type=_TypedData)
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
    """Raise InvalidRequest if JSON is nested too deep."""
    if left == 0:
        raise ValueDataTooDeep(index=index, deepest=_DEEPEST)
    inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    for one in inner:
        _check_depth(index, one, left - 1)


def _seal_data(index: int, format: str, data: str) -> tuple[str, str]:
    """The stored form of a secret; empty if the client sends back the shown form."""
    if format == sealing.FORMAT:
        return format, ""
    if format != "string" or not data:
        raise SecretEmpty(index=index)
    return sealing.FORMAT, sealing.seal_secret(data)


def is_secret(value: Value) -> bool:
    return value.type.upper() == SECKEY


# from a record
# -------------


def list_values(record: Record) -> tuple[Value, ...]:
    """The values of a record with its secrets, in the order of their indexes."""
    stored = list_stored_values(record)
    return _list_shown(record) if stored is None else stored


def _list_shown(record: Record) -> tuple[Value, ...]:
    places = {one.uri for one in record.locations}
    shown: list[Value] = []
    told: set[str] = set()
    for one in record.values:
        if one.type not in LOCATING:
            shown.append(one)
            continue
        hrefs = _list_addresses(one)
        if not is_public(one):
            told |= hrefs
        elif is_url(one):
            if hrefs - places:  # the location was broken or moved
                continue
            told |= hrefs
        elif one.type == loc.TYPE:
            if gone := hrefs - places:
                one = msgspec.structs.replace(one, data=loc.remove_locations(one.data, gone))
            told |= hrefs
        shown.append(one)
    if not told.issuperset(places):
        taken = {one.index for one in shown}
        free = (index for index in count(1) if index not in taken)
        for location in record.locations:
            if location.uri not in told:
                told.add(location.uri)
                shown.append(Value(index=next(free), type=URL, data=location.uri, at=record.at))
    return tuple(sorted(shown, key=_by_index))


def list_stored_values(record: Record) -> tuple[Value, ...] | None:
    """Do the same for a usual record, which shows the values that it stores and no others.

    Its only location is what each of its values with an address states. None for other records.
    """
    if len(record.locations) != 1:
        return None
    uri, is_stated = record.locations[0].uri, False
    for one in record.values:
        if one.type in LOCATING:
            if one.data != uri or not is_url(one) or not is_public(one) or read_address(uri) != uri:
                return None
            is_stated = True
    return tuple(sorted(record.values, key=_by_index)) if is_stated else None


def choose_locations(record: Record, indexes: tuple[int, ...], types: tuple[str, ...]) -> Record:
    """The record with the locations that its values with these indexes or types state."""
    chosen = {
        location.uri
        for one in list_values(record)
        if one.index in indexes or one.type in types
        for location in list_locations(one)
    }
    return msgspec.structs.replace(
        record, locations=tuple(one for one in record.locations if one.uri in chosen)
    )


def is_url(value: Value) -> bool:
    """Return True if a value is an address."""
    return value.type == URL and value.format == "string"


def is_public(value: Value) -> bool:
    """Return True if everyone may read a value (RFC 3651 section 3.1: the third bit)."""
    return value.permissions[2] == "1" and value.type.upper() != SECKEY


def list_locations(value: Value) -> tuple[Location, ...]:
    """The locations that a value states, whether or not everyone may read it."""
    if is_url(value):
        address = read_address(value.data)
        return () if address is None else (Location(uri=address),)
    return loc.read_locations(value.data) if value.type == loc.TYPE else ()


def _list_addresses(value: Value) -> set[str]:
    """The URIs of the locations that a value states."""
    if is_url(value):
        address = read_address(value.data)
        return set() if address is None else {address}
    return {one.uri for one in list_locations(value)}


def find_alias(record: Record) -> Identifier | None:
    """The handle that a handle is an alias of, according to its first public `HS_ALIAS` value.

    Returns None if it has none, or if the text is not a handle (RFC 3651 section 3.2.5).
    """
    for text in list_alias_texts(record):
        with suppress(MalformedIdentifier):
            return read_handle(text)
    return None


def list_alias_texts(record: Record) -> list[str]:
    """The texts of the public `HS_ALIAS` values of a handle, without the label of its scheme."""
    return [
        one.data.strip().removeprefix("hdl:")
        for one in record.values
        if one.type.upper() == ALIAS and one.format == "string" and is_public(one)
    ]


def find_ttl(values: Iterable[Value], uri: str) -> int | None:
    """The shortest time to live of the public values that state a location; None if none does."""
    found = [
        one.ttl
        for one in values
        if is_public(one)
        and (
            (one.data == uri and is_url(one))
            or any(location.uri == uri for location in list_locations(one))
        )
    ]
    return min(found, default=None)


def find_private_addresses(values: Collection[Value]) -> set[str]:
    """The addresses that only values state that are not public."""
    private = {
        location.uri for one in values if not is_public(one) for location in list_locations(one)
    }
    if not private:  # nearly always: then the public values need not be read
        return private
    return private - {
        location.uri for one in values if is_public(one) for location in list_locations(one)
    }


def hide_private_locations(record: Record, current: Record) -> Record:
    """The record as readers may see it: without locations, present or broken, that only private
    values state.

    `record` may be a past revision: an address that was public then, and is private in `current`,
    is hidden. Private values no longer become locations, but they did in older registries.
    """
    private = find_private_addresses(record.values) | find_private_addresses(current.values)
    shown = {one.uri for one in record.locations} | {one.uri for one in record.drifted}
    if private.isdisjoint(shown):
        return record
    return msgspec.structs.replace(
        record,
        locations=tuple(one for one in record.locations if one.uri not in private),
        drifted=tuple(one for one in record.drifted if one.uri not in private),
    )


# to JSON
# -------


class ShownData(msgspec.Struct, frozen=True, gc=False):
    """The data of a value in the form for clients."""

    format: str
    value: str | msgspec.Raw


class ShownValue(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """A value in the form for clients."""

    index: int
    type: str
    data: ShownData
    ttl: int
    timestamp: str
    permissions: str = "1110"


def write_values(values: Iterable[Value], *, to_admin: bool) -> list[ShownValue]:
    """Write values in the form for clients.

    Other clients see the publicly readable values without secrets. An administrator sees all
    values, but of a secret only that it exists.
    """
    return [_write_value(one) for one in values if is_shown(one, to_admin=to_admin)]


def is_shown(value: Value, *, to_admin: bool) -> bool:
    """Return True if a client may see a value.

    RFC 3651 section 3.1: "PUBLIC_READ" is the third bit, "ADMIN_READ" the first.
    """
    if to_admin:
        return value.permissions[0] == "1" or is_secret(value)
    return is_public(value)


def write_public_value(value: Value) -> ShownValue:
    """Write a value that everyone may read in the form for clients."""
    data = value.data if value.format in _TEXTUAL else msgspec.Raw(value.data.encode())
    shown = ShownData(value.format, data)
    return ShownValue(value.index, value.type, shown, value.ttl, value.at, value.permissions)


def _write_value(value: Value) -> ShownValue:
    """Write a value in the form for clients, but of a secret only that it exists."""
    shown = write_public_value(value)
    if is_secret(value):
        return msgspec.structs.replace(shown, data=ShownData(value.format, ""))
    return shown
