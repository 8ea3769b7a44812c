"""The hash by which a record is found that names a location, a digest or an alias.

Every store finds records by the same hash: the rows of an import bring it along. What must stay
true: it lies on disk and never changes.
"""

from __future__ import annotations

import struct

import blake3

_signed = struct.Struct(">q").unpack


def reference_hash(reference: str) -> int:
    """Eight bytes of BLAKE3 as a signed integer, which SQLite stores in eight bytes."""
    found: int = _signed(blake3.blake3(reference.encode()).digest(8))[0]
    return found
