"""Small files of one value with a checksum, so that no damaged byte changes what they say.

    {"value":{"days":[["2026/11/22","2026/11/23"]],"highest":{}},"sum":"5c9f0a1e83b7d246"}

How it works: the checksum is taken of the bytes of the value. A file of an earlier release is the
value alone; it is read, too.

What must stay true: a value that is read is the value that was written, or the file is Corrupt; no
unknown member is passed over, since a damaged name of a member looks like one.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TypeVar

import msgspec

from perdure.errors.corruption import CheckedFileDamaged
from perdure.storage.durable import write_durably

_Value = TypeVar("_Value")


class _CheckedValue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    value: msgspec.Raw
    sum: str


def sum_bytes(text: bytes) -> str:
    """The checksum of some bytes: 64 bits, because it protects against damage, not forgery."""
    return hashlib.sha256(text).hexdigest()[:16]


def save_checked(path: Path, value: object) -> None:
    """Write a value durably. Raises OSError."""
    text = msgspec.json.encode(value)
    checked = _CheckedValue(value=msgspec.Raw(text), sum=sum_bytes(text))
    write_durably(path, msgspec.json.encode(checked))


def load_checked(path: Path, kind: type[_Value]) -> _Value | None:
    """Read a value, or None if there is no such file. Raises Corrupt, OSError.

    A `kind` with fields must forbid unknown ones.
    """
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        return msgspec.json.decode(_take_value(text), type=kind)
    except (ValueError, UnicodeDecodeError) as error:
        raise CheckedFileDamaged(
            file=path.name, directory=str(path.parent), fault=str(error)
        ) from error


def _take_value(text: bytes) -> bytes | msgspec.Raw:
    """The bytes of the value. Raises ValueError if its checksum differs."""
    try:
        checked = msgspec.json.decode(text, type=_CheckedValue)
    except msgspec.ValidationError:  # a file of an earlier release, or `kind` refuses it
        return text
    if sum_bytes(bytes(checked.value)) != checked.sum:
        raise ValueError("another checksum")
    return checked.value
