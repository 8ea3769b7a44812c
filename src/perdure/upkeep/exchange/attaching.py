"""Records of other forms, kept byte for byte beside the description that was read from them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from perdure.errors import PerdureError
from perdure.model.about import About
from perdure.model.records import Record

Reader = Callable[[bytes], About]
"""Reads a description from a record of a form. Raises InvalidMetadata."""


def describe(line: dict[str, Any], data: bytes, name: str, media_type: str, read: Reader) -> None:
    """Describe the resource of a line by a record, and attach the record to it.

    Raises InvalidMetadata, InvalidRequest or TooLarge if the record cannot be read.
    """
    about = read(data)
    if about != About():
        line["about"] = msgspec.to_builtins(about)
    attach(line, data, name, media_type)


def keep(line: dict[str, Any], data: bytes, name: str, media_type: str, read: Reader) -> None:
    """Do the same with a record that is not the main thing: one that cannot be read is attached
    without a description."""
    with suppress(PerdureError):
        describe(line, data, name, media_type, read)
        return
    attach(line, data, name, media_type)


def attach(line: dict[str, Any], data: bytes, name: str, media_type: str) -> None:
    """Attach a record to a line."""
    attached = {"format": name, "media_type": media_type, "content": data}
    line.setdefault("attached", []).append(attached)


def find_unchanged(record: Record, name: str, read: Reader) -> bytes | None:
    """Find the record of a form that still says what the description says.

    None if no such record is attached, or if the description was changed since.
    """
    for one in record.attached:
        if one.format == name:
            about = About()
            with suppress(PerdureError):
                about = read(one.content)
            return one.content if (record.about or About()) == about else None
    return None
