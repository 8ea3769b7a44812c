"""Read and compare the digests of archive files, such as `sha1:B2LTWW…`. Pure.

How it works: writers agree on an algorithm and a colon, but not on the encoding of the value. It
is usually Base 32, sometimes Base 16 or Base 64.

What must stay true: two digests are called different only if both are of the same algorithm.

>>> sha1 = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
>>> compare_digests(sha1, "SHA-1:da39a3ee5e6b4b0d3255bfef95601890afd80709")
True
>>> compare_digests("md5:d41d8cd98f00b204e9800998ecf8427e", sha1) is None
True
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable
from contextlib import suppress

ALGORITHMS = {"md5", "sha1", "sha224", "sha256", "sha384", "sha512"}


def algorithm_of(digest: str) -> str:
    """Return the algorithm of a digest: `sha512` for `sha-512:…`."""
    return digest.partition(":")[0].strip().lower().replace("-", "")


def decode_readings(text: str, size: int) -> list[bytes]:
    """Return all values of `size` bytes that the text of a digest can encode."""
    found = []
    readers: tuple[Callable[[str], bytes], ...] = (
        lambda text: base64.b32decode(text.upper() + "=" * (-len(text) % 8)),
        bytes.fromhex,
        lambda text: base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_"),
        lambda text: base64.b64decode(text + "=" * (-len(text) % 4)),
    )
    for read in readers:
        with suppress(ValueError, binascii.Error):
            found.append(read(text))
    return [one for one in found if len(one) == size]


def compare_digests(one: str, other: str) -> bool | None:
    """Return whether two digests are equal; None if they are of different algorithms."""
    if one == other:
        return True
    algorithm = algorithm_of(one)
    if algorithm != algorithm_of(other):
        return None
    if algorithm not in ALGORITHMS:
        return False
    if len(one) == len(other) and one.lower() != other.lower():  # nearly all comparisons
        return False
    size = hashlib.new(algorithm, usedforsecurity=False).digest_size
    values = [decode_readings(digest.partition(":")[2].strip(), size) for digest in (one, other)]
    return not set(values[0]).isdisjoint(values[1])
