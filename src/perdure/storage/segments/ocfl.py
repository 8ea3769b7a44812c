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

from perdure.storage.byte_ports import INCOMING
from perdure.storage.durable import replace_durably, sync_above, sync_directory, write_durably
from perdure.storage.ocfl_layout import (
    NAME,
    encode_json,
    find_object_path,
    list_declarations,
    spell_sidecar,
)

ARCHIVE = "archive"
"""The directory of the sealed segments."""
_ALGORITHM = "sha512"
_CHUNK = 1024 * 1024


def object_id(number: int) -> str:
    return f"urn:perdure:segment:{number:06d}"


def object_path(root: Path, number: int) -> Path:
    """The directory of an object."""
    return root / ARCHIVE / find_object_path(object_id(number))


def content_path(root: Path, number: int) -> Path:
    """The segment file inside its object."""
    return object_path(root, number) / "v1" / "content" / f"{number:06d}.warc"


def list_objects(root: Path) -> list[int]:
    """The numbers of all segments that are already objects."""
    found = (root / ARCHIVE).glob("*/*/*/*/v1/content/[0-9]*.warc")
    return sorted(int(path.stem) for path in found)


def make_storage_root(root: Path) -> None:
    """Declare `archive/` an OCFL storage root, unless it is one already."""
    base = root / ARCHIVE
    if (base / "0=ocfl_1.1").exists():
        return
    (base / "extensions" / NAME).mkdir(parents=True, exist_ok=True)
    for name, text in list_declarations():
        write_durably(base / name, text)


def seal_segment(
    root: Path, number: int, loose: Path, *, at: str, message: str = "segment sealed"
) -> None:
    """Turn a segment file into an object. Safe to repeat after a crash at any point.

    `message` is written to the inventory.
    """
    place = object_path(root, number)
    if not place.exists():
        building = root / INCOMING / f"seal-{number:06d}"
        shutil.rmtree(building, ignore_errors=True)
        content = building / "v1" / "content" / f"{number:06d}.warc"
        content.parent.mkdir(parents=True)
        os.link(loose, content)
        inventory = encode_json(
            _make_inventory(number, _digest_file(content), at=at, message=message)
        )
        sidecar = spell_sidecar(inventory)
        for directory in (building / "v1", building):
            write_durably(directory / "inventory.json", inventory)
            write_durably(directory / f"inventory.json.{_ALGORITHM}", sidecar)
        write_durably(building / "0=ocfl_object_1.1", b"ocfl_object_1.1\n")
        for directory in (content.parent, building / "v1", building):
            sync_directory(directory)
        place.parent.mkdir(parents=True, exist_ok=True)
        replace_durably(building, place)
    sync_above(place, root / ARCHIVE)  # again, if a crash came before it
    loose.unlink(missing_ok=True)
    sync_directory(loose.parent)


def read_promised_digest(root: Path, number: int) -> str:
    """The SHA-512 of the segment file according to the object's inventory."""
    inventory = json.loads((object_path(root, number) / "inventory.json").read_bytes())
    return str(next(iter(inventory["manifest"])))


def find_promise(inventory: Any, number: int) -> str | None:
    """The SHA-512 of the segment file in an inventory; None if it is not that of its object.

    Raises KeyError, TypeError or AttributeError if it is not an inventory.
    """
    digest = str(next(iter(inventory["manifest"]), ""))
    made = _make_inventory(number, digest, at="", message="")
    same = (inventory[name] == made[name] for name in ("id", "digestAlgorithm", "head", "manifest"))
    name = f"{number:06d}.warc"
    return (
        digest if all(same) and inventory["versions"]["v1"]["state"] == {digest: [name]} else None
    )


def _make_inventory(number: int, digest: str, *, at: str, message: str) -> dict[str, object]:
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
                "message": message,
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
