"""Batch files of Handle.Net: handles and their values, as text.

    CREATE 21.T14999/A
    1 URL 86400 1110 UTF8 https://a.example/
    100 HS_ADMIN 86400 1110 ADMIN 300:110011111110:21.T14999/ADMIN

How it works: a line that begins with an operation begins a record, and an empty line ends it.
`CREATE` and `ADD` are handles with values; so is `MODIFY`, which only `--merge` can take if a value
is already there. `HOME`, `UNHOME`, `AUTHENTICATE` and `SESSIONSETUP` are for the old server and are
passed over. `DELETE` and `REMOVE` are refused.

A value line is its index, type, TTL, permissions and data. The data begin with `UTF8`, `ADMIN`,
`LIST`, `FILE`, `HEX` or `BASE64`. The twelve permissions of an administrator have an order of their
own here.

What must stay true: a file that a value names is below the directory of the batch.

Specification: Handle.Net technical manual version 9, section 4.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, BinaryIO

import msgspec

from perdure.errors import PerdureError
from perdure.errors.exchanging import (
    BatchFileOutside,
    BatchFileTooLong,
    BatchFileUnreadable,
    BatchLineMalformed,
    BatchOperationRefused,
    RecordTooLong,
)
from perdure.model.records import Value
from perdure.policy.handles import values as handle_values
from perdure.policy.handles.admins import Permission
from perdure.storage.durable import resolve_path
from perdure.upkeep.exchange.port import (
    ExchangeForm,
    ExportedRecord,
    ReadingTerms,
    ReadRecord,
    Writing,
)
from perdure.upkeep.exchange.texts import LONGEST, join_commented, open_text

_WITH_VALUES = frozenset(("CREATE", "ADD", "MODIFY"))
_REFUSED = {"DELETE": "perdure withdraw", "REMOVE": "perdure import --replace"}
_OF_SESSION = frozenset(("HOME", "UNHOME", "AUTHENTICATE", "SESSIONSETUP"))
_OPERATION = re.compile(
    rf"({'|'.join((*_WITH_VALUES, *_REFUSED, *_OF_SESSION))})(?:[ \t]+(.*))?", re.IGNORECASE
)
_ADMIN = re.compile(r"([0-9]{1,10}):([01?]{12}):(\S.*)", re.ASCII)
_ORDER = (
    Permission.ADD_HANDLE,
    Permission.DELETE_HANDLE,
    Permission.ADD_PREFIX,
    Permission.DELETE_PREFIX,
    Permission.MODIFY_VALUE,
    Permission.REMOVE_VALUE,
    Permission.ADD_VALUE,
    Permission.READ_VALUE,
    Permission.MODIFY_ADMIN,
    Permission.REMOVE_ADMIN,
    Permission.ADD_ADMIN,
    Permission.LIST_HANDLES,
)
"""The permissions in the order of a batch file (section 4.9)."""
_BITS = tuple(reversed(Permission))
"""The same in the order of JSON: the highest bit first."""
_MOST_OF_FILE = 1 << 20  # bytes


# Reading
# -------


def read_batch(file: BinaryIO, terms: ReadingTerms) -> Iterator[ReadRecord]:
    """Read the records of a batch."""
    for number, lines in _cut_records(open_text(file, terms)):
        head = _OPERATION.fullmatch(lines[0].strip())
        raw = "".join(lines)
        if head is None:
            fault = BatchLineMalformed(text=lines[0].strip(), expected="an operation")
            yield ReadRecord(number, raw, fault=fault)
            continue
        operation, handle = head[1].upper(), (head[2] or "").strip()
        if operation in _OF_SESSION:
            continue
        try:
            yield ReadRecord(number, raw, _read_record(operation, handle, lines, terms))
        except PerdureError as error:
            yield ReadRecord(number, raw, fault=error)


def _cut_records(text: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the lines of each record, without comments and empty lines, and its first number."""
    lines: list[str] = []
    start = 0
    for number, line in enumerate(text, 1):
        first = line[:1]
        if first.isdigit() and lines:
            lines.append(line)
            continue
        stripped = line.strip()
        begins = bool(stripped) and not first.isdigit() and _OPERATION.fullmatch(stripped)
        if (begins or not stripped) and lines:
            yield start, lines
            lines = []
        if stripped and first != "#":
            if not lines:
                start = number
            lines.append(line)
    if lines:
        yield start, lines


def _read_record(
    operation: str, handle: str, lines: list[str], terms: ReadingTerms
) -> dict[str, Any]:
    if operation in _REFUSED:
        raise BatchOperationRefused(operation=operation, instead=_REFUSED[operation])
    if not handle:
        raise BatchLineMalformed(text=lines[0].strip(), expected="a handle after the operation")
    if sum(map(len, lines)) > LONGEST:
        raise RecordTooLong(most=LONGEST)
    line: dict[str, Any] = {"id": name_handle(handle)}
    found = [_read_value(one, terms) for one in lines[1:]]
    if found:
        line["values"] = found
    return line


def name_handle(handle: str) -> str:
    """Return the identifier of a handle, which has a prefix `doi:` if it is a DOI.

    >>> name_handle("10.5072/x"), name_handle("21.T14999/x")
    ('doi:10.5072/x', 'hdl:21.T14999/x')
    """
    return f"doi:{handle}" if handle.startswith("10.") else f"hdl:{handle}"


def _read_value(line: str, terms: ReadingTerms) -> dict[str, Any]:
    parts = line.rstrip("\r\n").split(" ", 5)
    if len(parts) < 5 or not (parts[0].isascii() and parts[0].isdigit()):
        raise BatchLineMalformed(text=line.strip(), expected="INDEX TYPE TTL PERMISSIONS DATA")
    index, kind, ttl, permissions, form, *rest = parts
    if not ttl.isdigit():
        raise BatchLineMalformed(text=line.strip(), expected=f"a number of seconds for {ttl!a}")
    value: dict[str, Any] = {"index": int(index), "type": kind}
    format, value["data"] = _read_data(form, rest[0] if rest else "", line, terms)
    if format != "string":
        value["format"] = format
    if ttl != "86400":
        value["ttl"] = int(ttl)
    if permissions != "1110":
        value["permissions"] = permissions
    return value


def _read_data(form: str, data: str, line: str, terms: ReadingTerms) -> tuple[str, str]:
    match form:
        case "UTF8":
            return "string", data
        case "ADMIN":
            return "admin", _read_admin(data)
        case "LIST":
            return "vlist", _read_list(data)
        case "HEX" | "BASE64":
            return form.lower(), data.strip()
        case "FILE":
            return "base64", _read_file(data.strip(), terms)
    expected = "UTF8, ADMIN, LIST, FILE, HEX or BASE64 before the data"
    raise BatchLineMalformed(text=line.strip(), expected=expected)


@lru_cache(maxsize=1024)
def _read_admin(data: str) -> str:
    """Return the JSON of an administrator. Cached, because most handles have the same."""
    found = _ADMIN.fullmatch(data.strip())
    if found is None:
        raise BatchLineMalformed(text=data, expected="INDEX:PERMISSIONS:HANDLE")
    granted = {one for one, digit in zip(_ORDER, found[2], strict=True) if digit == "1"}
    bits = "".join("1" if one in granted else "0" for one in _BITS)
    admin = {"handle": found[3], "index": int(found[1]), "permissions": bits}
    return msgspec.json.encode(admin).decode()


def _read_list(data: str) -> str:
    entries = []
    for entry in filter(None, (one.strip() for one in data.split(";"))):
        index, colon, handle = entry.partition(":")
        if not colon or not (index.isascii() and index.isdigit()) or not handle:
            raise BatchLineMalformed(text=entry, expected="INDEX:HANDLE")
        entries.append({"handle": handle, "index": int(index)})
    return msgspec.json.encode(entries).decode()


def _read_file(path: str, terms: ReadingTerms) -> str:
    try:
        root = resolve_path(terms.files)
        file = resolve_path(root / path)
        if not file.is_relative_to(root):
            raise BatchFileOutside(path=path, root=str(root))
        with file.open("rb") as opened:
            data = opened.read(_MOST_OF_FILE + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, PerdureError):
            raise
        raise BatchFileUnreadable(path=path, fault=str(error)) from None
    if len(data) > _MOST_OF_FILE:
        raise BatchFileTooLong(path=path, most=_MOST_OF_FILE)
    return base64.b64encode(data).decode()


# Writing
# -------


class BatchWriting(Writing):
    """Writes handles that can be created again."""

    between = "\n"

    def write(self, exported: ExportedRecord) -> str:
        identifier = exported.identifier
        if identifier.kind != "handle" or exported.record.tombstone is not None:
            return ""
        lines = [f"CREATE {str(identifier).partition(':')[2]}"]
        lines += filter(None, map(_write_value, handle_values.list_values(exported.record)))
        return "\n".join(lines) + "\n"


def _write_value(value: Value) -> str:
    """Write a value; empty if a batch cannot hold it: a secret, a line break, other formats."""
    if handle_values.is_secret(value):
        return ""
    data = _write_data(value)
    if data is None or "\n" in data or "\r" in data:
        return ""
    return f"{value.index} {value.type} {value.ttl} {value.permissions} {data}"


def _write_data(value: Value) -> str | None:
    match value.format:
        case "string":
            return f"UTF8 {value.data}"
        case "hex" | "base64":
            return f"{value.format.upper()} {value.data}"
        case "admin":
            return _write_admin(value.data)
        case "vlist":
            return _write_list(value.data)
    return None


def _write_admin(data: str) -> str | None:
    admin = msgspec.json.decode(data)
    bits = admin.get("permissions", "") if isinstance(admin, dict) else ""
    if not re.fullmatch("[01]{12}", bits) or admin.keys() != {"handle", "index", "permissions"}:
        return None
    granted = {one for one, digit in zip(_BITS, bits, strict=True) if digit == "1"}
    digits = "".join("1" if one in granted else "0" for one in _ORDER)
    return f"ADMIN {admin['index']}:{digits}:{admin['handle']}"


def _write_list(data: str) -> str | None:
    entries = msgspec.json.decode(data)
    if not isinstance(entries, list) or any(
        not isinstance(one, dict) or one.keys() != {"handle", "index"} or ";" in str(one["handle"])
        for one in entries
    ):
        return None
    return "LIST " + "".join(f"{one['index']}:{one['handle']};" for one in entries)


FORM = ExchangeForm(
    name="handle-batch",
    title="Handle.Net batch file",
    recognise=lambda head: any(
        _OPERATION.fullmatch(line.strip()) is not None
        for line in head.splitlines()[:50]
        if line.strip() and not line.startswith("#")
    ),
    read=read_batch,
    refuse=lambda refused, _: join_commented(refused, unit="line", after="\n"),
    make_writing=BatchWriting,
)
