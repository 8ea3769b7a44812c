"""Handles as the REST API of Handle.Net gives them: answers one after another, in lines or a list.

    {"responseCode": 1, "handle": "21.T14999/A", "values": [{"index": 1, "type": "URL",
     "data": {"format": "string", "value": "https://a.example/"}, "ttl": 86400}]}

How it works: each value keeps its index, type, data, TTL, time and permissions. An answer with
members or references that a value here cannot have is attached to the handle, byte for byte.

Specification: Handle.Net technical manual version 9, section 14.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from perdure.errors import PerdureError
from perdure.errors.exchanging import (
    HandleNotAnswered,
    HandleTtlNotSeconds,
    RecordMalformed,
    RecordWithoutName,
)
from perdure.policy.handles import values as handle_values
from perdure.upkeep.exchange import attaching, json_records
from perdure.upkeep.exchange.handle_batch import name_handle
from perdure.upkeep.exchange.port import (
    ExchangeForm,
    ExportedRecord,
    ReadingTerms,
    ReadRecord,
    Writing,
)

_NAME = "handle-json"
_KNOWN = {"responseCode", "handle", "values"}
_KNOWN_OF_VALUE = {"index", "type", "data", "ttl", "timestamp", "permissions"}
_FOUND = (1, 200)
"""Codes of answers about a handle that exists; 200 if it has none of the values asked for."""
_MOMENT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d+)?(?:Z|\+00:?00)", re.ASCII)


class _Data(msgspec.Struct):
    format: str
    value: Any


class _Value(msgspec.Struct):
    index: int
    type: str
    data: _Data | str
    ttl: int | str = 86400
    timestamp: str = ""
    permissions: str = "1110"


class _Answer(msgspec.Struct):
    code: int = msgspec.field(default=_FOUND[0], name="responseCode")
    handle: str = ""
    values: list[_Value] = []


def read_records(file: BinaryIO, terms: ReadingTerms) -> Iterator[ReadRecord]:
    """Read the answers in a file."""
    for record, value in json_records.cut_records(file, terms):
        if record.fault is not None:
            yield record
            continue
        try:
            yield record._replace(line=_make_line(value))
        except PerdureError as error:
            yield record._replace(fault=error)


def _make_line(members: Any) -> dict[str, Any]:
    try:
        answer = msgspec.convert(members, _Answer)
    except msgspec.ValidationError as error:
        raise RecordMalformed(fault=str(error)) from None
    if not answer.handle:
        raise RecordWithoutName(places=("handle",))
    if answer.code not in _FOUND:
        raise HandleNotAnswered(handle=answer.handle, answer=answer.code)
    line: dict[str, Any] = {"id": name_handle(answer.handle)}
    if answer.values:
        line["values"] = [_make_value(one) for one in answer.values]
    if not members.keys() <= _KNOWN or any(
        not one.keys() <= _KNOWN_OF_VALUE for one in members.get("values") or ()
    ):
        attaching.attach(line, msgspec.json.encode(members), _NAME, "application/json")
    return line


def _make_value(sent: _Value) -> dict[str, Any]:
    if not isinstance(sent.ttl, int):
        raise HandleTtlNotSeconds(index=sent.index)
    value: dict[str, Any] = {"index": sent.index, "type": sent.type}
    if isinstance(sent.data, str):
        value["data"] = sent.data
    else:
        data = sent.data.value
        value["data"] = data if isinstance(data, str) else msgspec.json.encode(data).decode()
        if sent.data.format != "string":
            value["format"] = sent.data.format
    if sent.ttl != 86400:
        value["ttl"] = sent.ttl
    if moment := _MOMENT.fullmatch(sent.timestamp):
        value["at"] = f"{moment[1]}Z"
    if sent.permissions != "1110":
        value["permissions"] = sent.permissions
    return value


class AnswerWriting(Writing):
    """Writes one line for each handle, as the server would answer an administrator."""

    def write(self, exported: ExportedRecord) -> str:
        identifier = exported.identifier
        if identifier.kind != "handle" or exported.record.tombstone is not None:
            return ""
        shown = [
            msgspec.to_builtins(one, builtin_types=(msgspec.Raw,))
            for one in handle_values.write_values(
                (
                    one
                    for one in handle_values.list_values(exported.record)
                    if not handle_values.is_secret(one)
                ),
                to_admin=True,
            )
        ]
        handle = str(identifier).partition(":")[2]
        answer = {"responseCode": 1, "handle": handle, "values": shown}
        for one in exported.record.attached:
            if one.format == _NAME:
                answer = _add_unknown(msgspec.json.decode(one.content), answer)
        return msgspec.json.encode(answer).decode() + "\n"


def _add_unknown(attached: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """Add the members of an attached answer for which values here have no field."""
    beside = {one.get("index"): one for one in attached.get("values") or ()}
    values = []
    for one in answer["values"]:
        members = beside.get(one["index"], {})
        more = {name: value for name, value in members.items() if name not in _KNOWN_OF_VALUE}
        values.append(one | more)
    more = {name: value for name, value in attached.items() if name not in _KNOWN}
    return answer | {"values": values} | more


FORM = ExchangeForm(
    name=_NAME,
    title="JSON of a Handle.Net server",
    unit="record",
    suffixes=(".json", ".jsonl"),
    opens_with="{[",
    recognise=lambda head: (
        re.search(r'"handle"\s*:\s*"', head) is not None
        and re.search(r'"values"\s*:\s*\[', head) is not None
    ),
    read=read_records,
    refuse=lambda refused, _: json_records.refuse_records(list(refused)),
    make_writing=AnswerWriting,
)
