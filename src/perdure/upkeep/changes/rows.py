"""Changes as lines of JSON: the public view, and the full view for mirrors.

How it works: a public row has everything that the chain is computed from, and names for people. For
a private change it has only the leaf, so that anyone can still check the chain. A full row adds the
actor and the salt. After it comes one line for each record that the change wrote: its key, its
stored form as the digest covers it, and the line that `perdure import` reads.

What must stay true: docs/reference/changes.md specifies these lines; members are only added.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from perdure.model import stored
from perdure.model.changes import (
    BEGIN,
    RULE,
    TOKEN,
    TOKEN_KEY,
    WITHOUT_RECORDS,
    Change,
    Epoch,
    attest_line,
    find_leaf,
)
from perdure.policy.naming import identify_record
from perdure.reading.scanning import name_key
from perdure.storage.ports import Records
from perdure.upkeep.transfer.exporting import line_without_bytes

_encode = msgspec.json.Encoder().encode


def make_public_row(records: Records, change: Change, epochs: list[Epoch]) -> dict[str, Any]:
    """Return the row of a change that everyone may see."""
    shown: dict[str, Any] = {"epoch": change.epoch, "number": change.number}
    if change.is_public:
        shown |= _describe_change(records, change, epochs)
    else:
        shown["leaf"] = find_leaf(change).hex()
    return shown | {"chain": change.chain.hex()}


def _describe_change(records: Records, change: Change, epochs: list[Epoch]) -> dict[str, Any]:
    shown: dict[str, Any] = {"at": change.at, "act": change.act}
    if change.act == BEGIN:
        begun = next((one for one in epochs if one.epoch == change.epoch), None)
        if begun is not None:
            shown |= {"reason": begun.reason, "previous": msgspec.to_builtins(begun.previous)}
    elif change.act == RULE:
        pass  # its line says what it is about
    elif change.act == TOKEN:
        shown["token"] = change.first.removeprefix(TOKEN_KEY)
    elif change.count == 1:
        shown["name"] = name_key(records, change.first)
    else:
        shown |= {
            "first": name_key(records, change.first),
            "last": name_key(records, change.last),
        }
    return shown | {
        "keys": [change.first, change.last],
        "count": change.count,
        "revision": change.revision,
        "digest": change.digest.hex(),
    }


def make_full_row(records: Records, change: Change, epochs: list[Epoch]) -> dict[str, Any]:
    """Return the row of a change that a mirror may see."""
    shown = {"epoch": change.epoch, "number": change.number}
    shown |= _describe_change(records, change, epochs)
    salt = change.salt.hex() if change.salt else None
    return shown | {"actor": change.actor, "salt": salt, "chain": change.chain.hex()}


def write_full_lines(records: Records, change: Change, epochs: list[Epoch]) -> Iterator[bytes]:
    """Yield the full row, then a line for each record or rule that the change wrote."""
    yield _encode(make_full_row(records, change, epochs)) + b"\n"
    if change.act == RULE:
        for key, text in records.find_lines(change):
            yield _encode({"key": key, "stored": text}) + b"\n"
    if change.act in WITHOUT_RECORDS:
        return
    for key, text in records.find_lines(change):
        record = stored.decode_stored(text)
        line = line_without_bytes(identify_record(key, record), record)
        yield _encode({"key": key, "stored": attest_line(text), "line": line}) + b"\n"


def write_public_line(records: Records, change: Change, epochs: list[Epoch]) -> bytes:
    """Return the public row as a line."""
    return _encode(make_public_row(records, change, epochs)) + b"\n"
