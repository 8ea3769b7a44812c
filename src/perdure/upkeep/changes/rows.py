"""Changes as lines of JSON: the public view, and the full view for mirrors.

How it works: a public row has everything that the chain is computed from, and names for people. For
a private change it has only the leaf, so that anyone can still check the chain. A full row adds the
actor and the salt. After it comes one line for each record that the change wrote: its key, its
stored form as the digest covers it, and the line that `perdure import` reads. If a mirror may know
only some of the records of a change, their lines follow its public row. `RowWriter` writes a page,
and reads the records of all its changes together.

What must stay true: docs/reference/changes.md specifies these lines; members are only added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from perdure.errors import Corrupt
from perdure.ids.pdi_key import read_resource_key
from perdure.model import stored
from perdure.model.changes import (
    BEGIN,
    RULE,
    TOKEN,
    TOKEN_KEY,
    Change,
    Epoch,
    Line,
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
    return _make_public_row(change, epochs, lambda key: name_key(records, key))


NameKey = Callable[[str], str]
"""From the key of a record to its name."""


def _make_public_row(change: Change, epochs: list[Epoch], name: NameKey) -> dict[str, Any]:
    shown: dict[str, Any] = {"epoch": change.epoch, "number": change.number}
    if change.is_public:
        shown |= _describe_change(change, epochs, name)
    else:
        shown["leaf"] = find_leaf(change).hex()
    return shown | {"chain": change.chain.hex()}


def _describe_change(change: Change, epochs: list[Epoch], name: NameKey) -> dict[str, Any]:
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
        shown["name"] = name(change.first)
    else:
        shown |= {"first": name(change.first), "last": name(change.last)}
    return shown | {
        "keys": [change.first, change.last],
        "count": change.count,
        "revision": change.revision,
        "digest": change.digest.hex(),
    }


def _make_full_row(change: Change, epochs: list[Epoch], name: NameKey) -> dict[str, Any]:
    """Return the row of a change that a mirror may see."""
    shown = {"epoch": change.epoch, "number": change.number}
    shown |= _describe_change(change, epochs, name)
    salt = change.salt.hex() if change.salt else None
    return shown | {"actor": change.actor, "salt": salt, "chain": change.chain.hex()}


MayMirror = Callable[[Change, Sequence[Line]], Sequence[Line] | None]
"""From a change and the lines that it wrote to those that a mirror may have; None if it may know
nothing but the public row."""


class RowWriter:
    """Writes pages of rows of one registry."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def write_public(self, changes: Sequence[Change]) -> Iterator[bytes]:
        """Yield the public row of each change, as a line."""
        epochs = self._load_epochs(changes)
        alone = [one for one in changes if one.count == 1 and one.is_public]
        try:
            name = self._name_lines(self._records.list_lines(alone))
        except Corrupt:  # of a damaged record, its key tells the name
            name = self._name_lines(())
        for change in changes:
            yield _encode(_make_public_row(change, epochs, name)) + b"\n"

    def write_full(
        self, changes: Sequence[Change], may_mirror: MayMirror, *, with_import: bool
    ) -> Iterator[bytes]:
        """Yield the row of each change, and the lines that a mirror may have after it.

        `with_import`: add to each line of a record the form that `perdure import` reads.
        """
        epochs, wrote = self._load_epochs(changes), self._records.list_lines(changes)
        name = self._name_lines(wrote)
        for change, lines in zip(changes, wrote, strict=True):
            shown = may_mirror(change, lines)
            is_whole = shown is not None and len(shown) == len(lines)
            make_row = _make_full_row if is_whole else _make_public_row
            yield _encode(make_row(change, epochs, name)) + b"\n"
            if change.act in (BEGIN, TOKEN):  # their rows say everything
                continue
            for key, text in shown or ():
                yield _write_line(change, key, text, with_import=with_import)

    def _load_epochs(self, changes: Sequence[Change]) -> list[Epoch]:
        return self._records.list_epochs() if any(one.act == BEGIN for one in changes) else []

    def _name_lines(self, wrote: Sequence[Sequence[Line]]) -> NameKey:
        """Return a function that names the records of these lines without another look-up."""
        known = {key: text for lines in wrote for key, text in (*lines[:1], *lines[-1:])}

        def name(key: str) -> str:
            text = known.get(key)
            if text is None:
                return name_key(self._records, key)
            if text[0] == stored.JSON:
                named = _decode_name(text).name
                return named or read_resource_key(key)
            return read_resource_key(key)

        return name


class _NamedRecord(msgspec.Struct, frozen=True, gc=False):
    """The only field of a record that says its name."""

    name: str = ""


_decode_name = msgspec.json.Decoder(_NamedRecord).decode


def _write_line(change: Change, key: str, text: str, *, with_import: bool) -> bytes:
    if change.act == RULE:
        return _encode({"key": key, "stored": text}) + b"\n"
    shown: dict[str, Any] = {"key": key, "stored": attest_line(text)}
    if with_import:
        record = stored.decode_stored(text)
        shown["line"] = line_without_bytes(identify_record(key, record), record)
    return _encode(shown) + b"\n"
