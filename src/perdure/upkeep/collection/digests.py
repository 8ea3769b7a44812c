"""Digests of collections, such as `sha512:0c11…` and `sha1:B2LTWW…`: computed and compared. Pure.

How it works: the value of a digest is hexadecimal, Base32 (as web archives write it) or Base64; its
length shows which. A digest in an unknown algorithm cannot be compared; that is not a mismatch.

What must stay true: two digests are called different only if both could be read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import NamedTuple

from perdure.archives.digests import algorithm_of, decode_readings

OURS = "sha512"
_SIZES = {"md5": 16, "sha1": 20, "sha224": 28, "sha256": 32, "sha384": 48, "sha512": 64}


class MeasuredBytes(NamedTuple):
    """Bytes that were read to their end."""

    length: int
    values: dict[str, bytes]
    """Digests by algorithm."""

    @property
    def digest(self) -> str:
        return f"{OURS}:{self.values[OURS].hex()}"


def measure_bytes(pieces: Iterable[bytes], promised: str = "") -> MeasuredBytes:
    """Return the length of bytes and their digests, in SHA-512 and the algorithm of a promise."""
    algorithms = {OURS, algorithm_of(promised)} & set(_SIZES)
    hashes = {name: hashlib.new(name, usedforsecurity=False) for name in algorithms}
    length = 0
    for piece in pieces:
        length += len(piece)
        for one in hashes.values():
            one.update(piece)
    return MeasuredBytes(length, {name: one.digest() for name, one in hashes.items()})


def digest_agrees(promised: str, found: MeasuredBytes) -> bool | None:
    """Return whether bytes have a digest, or None if the digest cannot be compared."""
    value = found.values.get(algorithm_of(promised))
    readings = possible_values(promised)
    return value in readings if value is not None and readings else None


def possible_values(digest: str) -> tuple[bytes, ...]:
    """Return all values that the text of a digest can mean, by its length; empty if none fits."""
    size = _SIZES.get(algorithm_of(digest), -1)
    return tuple(decode_readings(digest.partition(":")[2].strip(), size))
