"""Digests as collections have them: `sha512:0c11…`, `sha1:B2LTWW…`, computed and compared. Pure.

How it works: the value of a digest is hexadecimal, Base32 (as web archives write it) or Base64; its
length tells which. An algorithm that is not known cannot be compared, which is no mismatch.

What must stay true: two digests are called different only where both could be read.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

OURS = "sha512"
_SIZES = {"md5": 16, "sha1": 20, "sha224": 28, "sha256": 32, "sha384": 48, "sha512": 64}


class Measured(NamedTuple):
    """Bytes that were read to their end."""

    length: int
    values: dict[str, bytes]
    """By algorithm."""

    @property
    def digest(self) -> str:
        return f"{OURS}:{self.values[OURS].hex()}"


def measure(pieces: Iterable[bytes], promised: str = "") -> Measured:
    """Length and digests of bytes, in SHA-512 and whatever a promise is in."""
    algorithms = {OURS, algorithm_of(promised)} & set(_SIZES)
    hashes = {name: hashlib.new(name, usedforsecurity=False) for name in algorithms}
    length = 0
    for piece in pieces:
        length += len(piece)
        for one in hashes.values():
            one.update(piece)
    return Measured(length, {name: one.digest() for name, one in hashes.items()})


def algorithm_of(digest: str) -> str:
    """`sha512` of `sha-512:…`; whatever stands in front, where nobody knows it."""
    return digest.partition(":")[0].strip().lower().replace("-", "")


def agrees(promised: str, found: Measured) -> bool | None:
    """Whether bytes have a digest; None where that cannot be told."""
    value = found.values.get(algorithm_of(promised))
    readings = value_of(promised)
    return value in readings if value is not None and readings else None


def value_of(digest: str) -> tuple[bytes, ...]:
    """What the text of a digest can mean, by its length; nothing, where it cannot be read."""
    size = _SIZES.get(algorithm_of(digest), -1)
    text = digest.partition(":")[2].strip()
    found = []
    with suppress(ValueError):
        found.append(bytes.fromhex(text))
    with suppress(ValueError, binascii.Error):
        found.append(base64.b32decode(text.upper() + "=" * (-len(text) % 8)))
    with suppress(ValueError, binascii.Error):
        found.append(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_"))
    with suppress(ValueError, binascii.Error):
        found.append(base64.b64decode(text + "=" * (-len(text) % 4)))
    return tuple(one for one in found if len(one) == size)
