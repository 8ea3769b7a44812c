"""The summary of an old Office document (Word, Excel, PowerPoint up to 2003).

Specifications: [MS-CFB] (the compound file: sectors, chains, directory) and [MS-OLEPS] (the
property set `SummaryInformation`).

What must stay true: each chain of sectors is followed for at most as many steps as the file has
sectors, so no cycle holds it up.
"""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta
from itertools import islice

from perdure import formats

Pairs = dict[str, str]

SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_SUMMARY = "\x05SummaryInformation"
_END = 0xFFFFFFFA  # from here on, a sector number is a mark
_NAMES = {2: "title", 3: "description", 4: "creator", 5: "keywords"}
_CODEPAGE, _CREATED = 1, 12
_TEXT, _WIDE, _TIME = 30, 31, 64
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_LONGEST = 1 << 20


def read_summary(data: bytes) -> Pairs:
    """Read the summary of a compound file; empty if it has none, or is damaged."""
    if data[:8] != SIGNATURE:
        return {}
    try:
        stream = _find_stream(data)
        return _read_properties(stream) if stream else {}
    except (struct.error, IndexError, ValueError, OverflowError):
        return {}


# The compound file
# -----------------


def _find_stream(data: bytes) -> bytes:
    sector = 1 << struct.unpack_from("<H", data, 30)[0]
    first_directory, cutoff, first_mini = (
        struct.unpack_from("<I", data, at)[0] for at in (48, 56, 60)
    )
    if not 128 <= sector <= 65536:
        return b""
    table: list[int] = []
    for number in struct.unpack_from("<109I", data, 76):
        if number < _END:
            table += _read_numbers(data, (number + 1) * sector, sector)
    directory = _read_chain(data, table, first_directory, sector)
    mini: bytes | None = None
    for at in range(0, len(directory) - 127, 128):
        entry = directory[at : at + 128]
        (length,) = struct.unpack_from("<H", entry, 64)
        name = entry[: max(length - 2, 0)].decode("utf-16-le", "replace")
        start, size = struct.unpack_from("<II", entry, 116)
        if entry[66] == 5:  # the root, which holds the short streams
            mini = _read_chain(data, table, start, sector)
        elif name == _SUMMARY:
            if size >= cutoff:
                return _read_chain(data, table, start, sector)[:size]
            shorts = _read_chain(data, table, first_mini, sector)
            return _read_chain(mini or b"", _read_numbers(shorts, 0, len(shorts)), start, 64, 0)
    return b""


def _read_numbers(data: bytes, at: int, length: int) -> list[int]:
    piece = data[at : at + length]
    return list(struct.unpack(f"<{len(piece) // 4}I", piece[: len(piece) // 4 * 4]))


def _read_chain(data: bytes, table: list[int], number: int, sector: int, before: int = 1) -> bytes:
    """Join the sectors of a chain. `before`: sectors ahead of the first."""
    found = bytearray()
    for _ in range(len(table)):
        if number >= _END or len(found) > _LONGEST:
            break
        at = (number + before) * sector
        found += data[at : at + sector]
        number = table[number]
    return bytes(found)


# The property set
# ----------------


def _read_properties(stream: bytes) -> Pairs:
    (start,) = struct.unpack_from("<I", stream, 44)
    (count,) = struct.unpack_from("<I", stream, start + 4)
    codec = "cp1252"
    found: Pairs = {}
    places = (struct.unpack_from("<II", stream, start + 8 + 8 * at) for at in range(count))
    properties = dict(islice(places, 64))
    if _CODEPAGE in properties:
        (page,) = struct.unpack_from("<H", stream, start + properties[_CODEPAGE] + 4)
        codec = {65001: "utf-8", 10000: "mac_roman"}.get(page, f"cp{page}")
        codec = formats.find_python_codec(codec) or codec
    for number, offset in properties.items():
        at = start + offset
        (kind,) = struct.unpack_from("<I", stream, at)
        if number in _NAMES and kind in (_TEXT, _WIDE):
            (length,) = struct.unpack_from("<I", stream, at + 4)
            wide = kind == _WIDE
            raw = stream[at + 8 : at + 8 + length * (2 if wide else 1)]
            try:
                text = raw.decode("utf-16-le" if wide else codec, "replace")
            except LookupError:
                text = raw.decode("cp1252", "replace")
            found[_NAMES[number]] = text.partition("\0")[0].strip()
        elif number == _CREATED and kind == _TIME:
            (ticks,) = struct.unpack_from("<Q", stream, at + 4)
            if ticks:
                found["date"] = (_EPOCH + timedelta(microseconds=ticks // 10)).strftime("%Y-%m-%d")
    return {name: value for name, value in found.items() if value}
