"""What `zipfile` raises for files that are damaged, or that it cannot read."""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Callable

import pytest

from perdure.formats.zip_faults import ZIP_FAULTS

LETTER = b"To whom it may concern. " * 20


def pack(method: int) -> bytearray:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", method) as package:
        package.writestr("a.txt", LETTER)
    return bytearray(sink.getvalue())


def set_field(data: bytearray, record: bytes, offset: int, form: str, value: int) -> None:
    struct.pack_into(form, data, data.rindex(record) + offset, value)


def damage_text(method: int) -> bytearray:
    """Damage the compressed bytes, which follow a local header with a name of five letters."""
    data = pack(method)
    data[39:44] = b"\xff" * 5
    return data


def move_directory() -> bytearray:
    """Say that the directory is further behind than the file is long, so that members begin
    before it."""
    data = pack(zipfile.ZIP_STORED)
    set_field(data, b"PK\x05\x06", 16, "<I", 1 << 20)
    return data


def change_field(record: bytes, offset: int, value: int) -> bytearray:
    data = pack(zipfile.ZIP_DEFLATED)
    set_field(data, record, offset, "<H", value)
    return data


def lengthen_name() -> bytearray:
    """Give the local header another name than the directory, in an unreadable charset."""
    data = pack(zipfile.ZIP_STORED)
    for at, flags in ((data.index(b"PK\x03\x04"), 6), (data.index(b"PK\x01\x02"), 8)):
        struct.pack_into("<H", data, at + flags, 0x800)  # names are in UTF-8
    data[30:31] = b"\xff"
    return data


@pytest.mark.parametrize(
    "damage",
    [
        lambda: bytearray(b"no package"),
        lambda: pack(zipfile.ZIP_STORED)[:-30],
        lambda: damage_text(zipfile.ZIP_STORED),
        lambda: damage_text(zipfile.ZIP_DEFLATED),
        lambda: damage_text(zipfile.ZIP_LZMA),
        lambda: change_field(b"PK\x01\x02", 10, 99),  # the method
        lambda: change_field(b"PK\x01\x02", 8, 1),  # encrypted
        move_directory,
        lengthen_name,
    ],
)
def test_a_damaged_package_raises_one_of_them(damage: Callable[[], bytearray]) -> None:
    with pytest.raises(ZIP_FAULTS), zipfile.ZipFile(io.BytesIO(damage())) as package:
        package.read("a.txt")
