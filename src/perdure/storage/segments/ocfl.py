"""Sealed segments as OCFL 1.1 objects, so that any OCFL validator can audit the archive.

How it works: a segment that receives no more records becomes the one file of the one version of an
object `urn:perdure:segment:000001` in the storage root `archive/`, laid out by the registered
extension 0003 (hash and id n-tuple, SHA-256). The object is built in another directory, made
durable and renamed into place; only then is the loose file removed.

What must stay true: at every moment, even after a crash, the segment is readable under at least one
of its two paths.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import quote

from perdure.storage.durable import replace_durably, sync_above, sync_directory, write_durably

LAYOUT = "0003-hash-and-id-n-tuple-storage-layout"
_ALGORITHM = "sha512"
_TUPLES, _TUPLE_SIZE = 3, 3
_CHUNK = 1024 * 1024


def object_id(number: int) -> str:
    return f"urn:perdure:segment:{number:06d}"


def object_path(root: Path, number: int) -> Path:
    """The directory of an object: three tuples of three hex digits, then the escaped id.

    Extension 0003 escapes everything but letters, digits, `-` and `_`, in lower-case hexadecimal.
    """
    name = object_id(number)
    digest = hashlib.sha256(name.encode()).hexdigest()
    tuples = (digest[i : i + _TUPLE_SIZE] for i in range(0, _TUPLES * _TUPLE_SIZE, _TUPLE_SIZE))
    escaped = quote(name, safe="").replace(".", "%2e").replace("%3A", "%3a")
    return (root / "archive").joinpath(*tuples, escaped)


def content_path(root: Path, number: int) -> Path:
    """The segment file inside its object."""
    return object_path(root, number) / "v1" / "content" / f"{number:06d}.warc"


def list_objects(root: Path) -> list[int]:
    """The numbers of all segments that are already objects."""
    found = (root / "archive").glob("*/*/*/*/v1/content/[0-9]*.warc")
    return sorted(int(path.stem) for path in found)


def make_storage_root(root: Path) -> None:
    """Declare `archive/` an OCFL storage root, unless it is one already."""
    base = root / "archive"
    if (base / "0=ocfl_1.1").exists():
        return
    (base / "extensions" / LAYOUT).mkdir(parents=True, exist_ok=True)
    for name, text in list_declarations():
        write_durably(base / name, text)


def list_declarations() -> list[tuple[str, bytes]]:
    """The files that declare a directory a storage root, the declaration itself last."""
    config = {
        "extensionName": LAYOUT,
        "digestAlgorithm": "sha256",
        "tupleSize": _TUPLE_SIZE,
        "numberOfTuples": _TUPLES,
    }
    layout = {"extension": LAYOUT, "description": "hashed n-tuples, then the escaped identifier"}
    return [
        (f"extensions/{LAYOUT}/config.json", _encode_json(config)),
        ("ocfl_layout.json", _encode_json(layout)),
        ("0=ocfl_1.1", b"ocfl_1.1\n"),
    ]


def seal_segment(root: Path, number: int, loose: Path, *, at: str) -> None:
    """Turn a segment file into an object. Safe to repeat after a crash at any point."""
    place = object_path(root, number)
    if not place.exists():
        building = root / "incoming" / f"seal-{number:06d}"
        shutil.rmtree(building, ignore_errors=True)
        content = building / "v1" / "content" / f"{number:06d}.warc"
        content.parent.mkdir(parents=True)
        os.link(loose, content)
        inventory = _encode_json(_make_inventory(number, _digest_file(content), at=at))
        sidecar = spell_sidecar(inventory)
        for directory in (building / "v1", building):
            write_durably(directory / "inventory.json", inventory)
            write_durably(directory / f"inventory.json.{_ALGORITHM}", sidecar)
        write_durably(building / "0=ocfl_object_1.1", b"ocfl_object_1.1\n")
        for directory in (content.parent, building / "v1", building):
            sync_directory(directory)
        place.parent.mkdir(parents=True, exist_ok=True)
        replace_durably(building, place)
    sync_above(place, root / "archive")  # again, if a crash came before it
    loose.unlink(missing_ok=True)
    sync_directory(loose.parent)


def read_promised_digest(root: Path, number: int) -> str:
    """The SHA-512 of the segment file according to the object's inventory."""
    inventory = json.loads((object_path(root, number) / "inventory.json").read_bytes())
    return str(next(iter(inventory["manifest"])))


def spell_sidecar(inventory: bytes) -> bytes:
    """The sidecar of an inventory: its digest and its name."""
    return f"{hashlib.sha512(inventory).hexdigest()}  inventory.json\n".encode()


def find_promise(inventory: Any, number: int) -> str | None:
    """The SHA-512 of the segment file in an inventory; None if it is not that of its object.

    Raises KeyError, TypeError or AttributeError if it is not an inventory.
    """
    digest = str(next(iter(inventory["manifest"]), ""))
    made = _make_inventory(number, digest, at="")
    same = (inventory[name] == made[name] for name in ("id", "digestAlgorithm", "head", "manifest"))
    name = f"{number:06d}.warc"
    return (
        digest if all(same) and inventory["versions"]["v1"]["state"] == {digest: [name]} else None
    )


def _make_inventory(number: int, digest: str, *, at: str) -> dict[str, object]:
    name = f"{number:06d}.warc"
    return {
        "id": object_id(number),
        "type": "https://ocfl.io/1.1/spec/#inventory",
        "digestAlgorithm": _ALGORITHM,
        "head": "v1",
        "manifest": {digest: [f"v1/content/{name}"]},
        "versions": {
            "v1": {
                "created": at,
                "message": "segment sealed",
                "user": {"name": "perdure", "address": "urn:perdure"},
                "state": {digest: [name]},
            }
        },
    }


def _digest_file(path: Path) -> str:
    digest = hashlib.sha512()
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def _encode_json(value: object) -> bytes:
    return json.dumps(value, indent=2).encode() + b"\n"
