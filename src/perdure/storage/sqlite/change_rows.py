"""A change as a row of the registry file: pack it, and unpack it again. Pure.

How it works: a row holds only the differences from the row before: the key without the beginning
that both keys share, the time if it differs, the act and the actor as numbers of words, the digest,
a checksum of all this, and the salt. In a mirror, a row can hold the leaf of a change and nothing
else.

What must stay true: the salt is at the end of a row, so that it can be removed from it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple
from zlib import crc32

from perdure.model.changes import NO_CHAIN, SALT_BYTES

_FULL, _SAME_TIME, _SHORT_TIME, _RUN, _REVISED, SALTED, _SUMMED = 1, 2, 4, 8, 16, 32, 64
_LEAF = 128
_SUM_BYTES = 4
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_TIME_BYTES = 6


class ChangeRow(NamedTuple):
    """A change as it is stored. Act and actor are numbers of words."""

    act: int
    actor: int
    at: str
    first: str
    last: str
    records: int
    revision: int
    digest: bytes
    salt: bytes | None
    leaf: bytes | None = None
    """If it is given, nothing else is known."""


_OF_LEAF = ChangeRow(0, 0, "", "", "", 0, 0, b"", None)


def _pack_varint(value: int) -> bytes:
    """An integer in groups of seven bits, the lowest first."""
    if value < 128:
        return bytes((value,))
    found = bytearray()
    while value >= 128:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)


def _pack_text(text: str, before: str) -> bytes:
    """Pack a text without the beginning that it shares with another text."""
    shared = len(before) - 1  # most often it is a number, and one of the numbers just after
    if shared < 1 or not text.startswith(before[:shared]):
        shared = _count_shared(text, before)
    rest = text[shared:].encode()
    if shared < 128 and len(rest) < 128:
        return b"%c%c%b" % (shared, len(rest), rest)
    return _pack_varint(shared) + _pack_varint(len(rest)) + rest


def _count_shared(text: str, other: str) -> int:
    """The characters with which both texts begin, found by halving."""
    shared, end = 0, min(len(text), len(other))
    while shared < end:
        half = (shared + end + 1) // 2
        if text.startswith(other[:half]):
            shared = half
        else:
            end = half - 1
    return shared


def _pack_time(at: str) -> tuple[int, bytes]:
    """A time as bytes, with the flag of the short form if it is used."""
    if _TIME.fullmatch(at):
        digits = f"{at[:4]}{at[5:7]}{at[8:10]}{at[11:13]}{at[14:16]}{at[17:19]}"
        return _SHORT_TIME, int(digits).to_bytes(_TIME_BYTES)
    text = at.encode()
    return 0, _pack_varint(len(text)) + text


def pack_row(row: ChangeRow, before: tuple[str, str], chain: bytes | None) -> bytes:
    """A row as bytes. `before` is the time and the first key of the row before it.

    `chain` is the chain before it, if the row is written in full.
    """
    at, first = before if chain is None else ("", "")
    flags, time, rest = _SAME_TIME, b"", b""
    if chain is not None or row.at != at:
        flags, time = _pack_time(row.at)
    if chain is not None:
        flags |= _FULL
        time = chain + time
    if row.records != 1:
        flags |= _RUN
        rest = _pack_varint(row.records) + _pack_text(row.last, row.first)
    if row.revision != 1:
        flags |= _REVISED
        rest += _pack_varint(row.revision)
    words = (
        b"%c%c" % row[:2] if max(row[:2]) < 128 else _pack_varint(row.act) + _pack_varint(row.actor)
    )
    said = b"%b%b%b%b%b" % (time, words, _pack_text(row.first, first), rest, row.digest)
    flags |= _SUMMED
    salted = flags if row.salt is None else flags | SALTED
    return b"%c%b%b%b" % (salted, said, _sum_row(flags, said), row.salt or b"")


def pack_leaf(leaf: bytes, chain: bytes | None) -> bytes:
    """The row of a change of which only the leaf is known. The row after it shares nothing."""
    flags = _LEAF | _SUMMED | (0 if chain is None else _FULL)
    said = (chain or b"") + leaf
    return b"%c%b%b" % (flags, said, _sum_row(flags, said))


def _sum_row(flags: int, said: bytes) -> bytes:
    """The checksum of a row. Flag and bytes of the salt do not count: an erasure removes them."""
    return crc32(said, flags & ~SALTED).to_bytes(_SUM_BYTES)


class _RowReader:
    """Reads a row piece by piece. Raises IndexError or ValueError if the row is too short."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take_bytes(self, count: int) -> bytes:
        end = self._at + count
        found = self._data[self._at : end]
        if len(found) != count:
            raise ValueError("it is too short")
        self._at = end
        return found

    def read_number(self) -> int:
        value = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def read_text(self, before: str) -> str:
        shared = self.read_number()
        return before[:shared] + self.take_bytes(self.read_number()).decode()

    def read_time(self, flags: int) -> str:
        if not flags & _SHORT_TIME:
            return self.take_bytes(self.read_number()).decode()
        digits = f"{int.from_bytes(self.take_bytes(_TIME_BYTES)):014}"
        day = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}"
        return f"{day}T{digits[8:10]}:{digits[10:12]}:{digits[12:]}Z"

    def check_sum(self, flags: int) -> None:
        said = self.copy_taken()
        if self.take_bytes(_SUM_BYTES) != _sum_row(flags, said):
            raise ValueError("it does not have its checksum")

    def copy_taken(self) -> bytes:
        """The bytes that were read so far, without the flags."""
        return self._data[1 : self._at]

    def check_end(self) -> None:
        if self._at != len(self._data):
            raise ValueError("it is too long")


def unpack_row(data: bytes, before: tuple[str, str]) -> tuple[ChangeRow, bytes | None]:
    """The row, and the chain before it if the row was written in full.

    Raises ValueError or IndexError if the bytes are not a row.
    """
    reading = _RowReader(data)
    flags = reading.take_bytes(1)[0]
    chain = reading.take_bytes(len(NO_CHAIN)) if flags & _FULL else None
    if flags & _LEAF:
        leaf = reading.take_bytes(len(NO_CHAIN))
        reading.check_sum(flags)
        reading.check_end()
        return _OF_LEAF._replace(leaf=leaf), chain
    at, key = before if chain is None else ("", "")
    if not flags & _SAME_TIME:
        at = reading.read_time(flags)
    act, actor = reading.read_number(), reading.read_number()
    first = last = reading.read_text(key)
    count = revision = 1
    if flags & _RUN:
        count, last = reading.read_number(), reading.read_text(first)
    if flags & _REVISED:
        revision = reading.read_number()
    digest = reading.take_bytes(32)
    if flags & _SUMMED:  # rows of earlier formats have no checksum
        reading.check_sum(flags)
    salt = reading.take_bytes(SALT_BYTES) if flags & SALTED else None
    reading.check_end()
    return ChangeRow(act, actor, at, first, last, count, revision, digest, salt), chain


class PeekedRow(NamedTuple):
    """The part of a row that `peek_row` reads."""

    at: str | None
    """The time of the change; None if it is that of the row before."""
    is_first: bool
    """The change wrote first revisions of records."""


_FIRST_ROW, _LATER_ROW = PeekedRow(None, is_first=True), PeekedRow(None, is_first=False)


@lru_cache(maxsize=1024)
def peek_row(data: bytes) -> PeekedRow | None:
    """Return the time of a change from its row alone.

    None if the row does not tell: it is damaged, has no checksum, or has only the leaf. Cached,
    since the times of many changes are found in the same rows before them.
    """
    flags = data[0] if data else _LEAF
    if flags & _LEAF or not flags & _SUMMED:
        return None
    end = len(data) - _SUM_BYTES - (SALT_BYTES if flags & SALTED else 0)
    said = data[1:end]
    if data[end : end + _SUM_BYTES] != _sum_row(flags, said):
        return None
    if flags & _SAME_TIME:
        return _LATER_ROW if flags & _REVISED else _FIRST_ROW
    reading = _RowReader(said)
    if flags & _FULL:
        reading.take_bytes(len(NO_CHAIN))
    return PeekedRow(reading.read_time(flags), not flags & _REVISED)
