"""Hashes of references: they find the records that name a location, a digest or an alias.

Every store uses the same hash, since the rows of an import contain it. What must stay true: the
hash is stored on disk and never changes.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import blake3

_signed = struct.Struct(">q").unpack


def reference_hash(reference: str) -> int:
    """Eight bytes of BLAKE3 as a signed integer, which SQLite stores in eight bytes."""
    found: int = _signed(blake3.blake3(reference.encode()).digest(8))[0]
    return found


def hash_locations(uris: Sequence[str]) -> tuple[int, ...]:
    """The hash of the reference to each location."""
    whole = "\nlocation:".join(("", *uris)).encode()
    found = whole[1:].split(b"\n")
    if len(found) != len(uris) or not uris:  # a damaged one contains a line break
        return hash_references([f"location:{uri}" for uri in uris])
    blake = blake3.blake3
    digests = b"".join([blake(one).digest(8) for one in found])
    return struct.unpack(f">{len(uris)}q", digests)


def hash_references(references: Sequence[str]) -> tuple[int, ...]:
    """The hash of each reference."""
    blake = blake3.blake3
    digests = b"".join([blake(one.encode()).digest(8) for one in references])
    return struct.unpack(f">{len(references)}q", digests)
