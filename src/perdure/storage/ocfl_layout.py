"""The places of objects in an OCFL storage root, by the SHA-256 of their ids.

    0003  three tuples of three hexadecimal digits of the digest of the id, then the escaped id
    0004  the tuples, then the digest

These are registered extensions (https://ocfl.github.io/extensions/). Paths of the second one have
no `%`, which manifests of BagIt would escape. Not every validator knows it, and a storage root need
not declare its layout.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import PurePosixPath
from urllib.parse import quote

NAME = "0003-hash-and-id-n-tuple-storage-layout"
DECLARATION = ("0=ocfl_1.1", b"ocfl_1.1\n")
"""The file that makes a directory a storage root: name and content."""
_TUPLES, _TUPLE_SIZE = 3, 3
_LONGEST = 100  # characters of an escaped id
_ESCAPE = re.compile("%[0-9A-F]{2}")


def find_object_path(name: str) -> PurePosixPath:
    """The directory of an object in its storage root.

    The extension escapes everything but letters, digits, `-` and `_`, in lower-case hexadecimal. An
    escaped id of more than 100 characters is cut there, and the digest follows.

    >>> str(find_object_path("object-01"))
    '3c0/ff4/240/object-01'
    >>> str(find_object_path("..hor/rib:le-$id"))
    '487/326/d8c/%2e%2ehor%2frib%3ale-%24id'
    """
    digest = hashlib.sha256(name.encode()).hexdigest()
    quoted = quote(name, safe="").replace(".", "%2E").replace("~", "%7E")
    escaped = _ESCAPE.sub(lambda found: found[0].lower(), quoted)
    if len(escaped) > _LONGEST:
        escaped = f"{escaped[:_LONGEST]}-{digest}"
    return PurePosixPath(*_split_tuples(digest), escaped)


def find_hashed_path(name: str) -> PurePosixPath:
    """The directory of an object by extension 0004.

    >>> str(find_hashed_path("object-01"))
    '3c0/ff4/240/3c0ff4240c1e116dba14c7627f2319b58aa3d77606d0d90dfc6161608ac987d4'
    """
    digest = hashlib.sha256(name.encode()).hexdigest()
    return PurePosixPath(*_split_tuples(digest), digest)


def _split_tuples(digest: str) -> list[str]:
    return [digest[at : at + _TUPLE_SIZE] for at in range(0, _TUPLES * _TUPLE_SIZE, _TUPLE_SIZE)]


def list_declarations() -> list[tuple[str, bytes]]:
    """The files that declare a directory a storage root, the declaration itself last.

    Its layout is extension 0003.
    """
    config = {
        "extensionName": NAME,
        "digestAlgorithm": "sha256",
        "tupleSize": _TUPLE_SIZE,
        "numberOfTuples": _TUPLES,
    }
    layout = {"extension": NAME, "description": "hashed n-tuples, then the escaped identifier"}
    return [
        (f"extensions/{NAME}/config.json", encode_json(config)),
        ("ocfl_layout.json", encode_json(layout)),
        DECLARATION,
    ]


def encode_json(value: object) -> bytes:
    """Write JSON as the files of a storage root have it."""
    return json.dumps(value, indent=2).encode() + b"\n"


def spell_sidecar(inventory: bytes) -> bytes:
    """The sidecar of an inventory: its digest and its name."""
    return f"{hashlib.sha512(inventory).hexdigest()}  inventory.json\n".encode()
