"""Writes a hand-over package: a BagIt bag (RFC 8493) that needs no network and no perdure.

    bagit.txt  bag-info.txt  manifest-sha512.txt  tagmanifest-sha512.txt
    data/changes.jsonl           the changes that are handed over, and the leaves of all others
    data/act.jsonl               the lines of the statement and of its signature
    data/hand-over.jsonld        the statement of the predecessor
    data/hand-over.signature     its signature, if there is one
    data/objects/                an OCFL storage root: one object for each record with bytes
    data/ro-crate-metadata.json  all this described for people and programs (RO-Crate 1.1)

What must stay true: the package is written beside its place and renamed at the end, so that one in
its place is whole.
"""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import BinaryIO

import msgspec

from perdure.errors.succession import HandOverOutdated, PackageExists
from perdure.ids.keys import spell_key
from perdure.model import stored
from perdure.model.changes import NO_CHAIN, link_change
from perdure.model.mirroring import MirroredChange, SoughtContent
from perdure.model.records import Record
from perdure.policy.naming import identify_record
from perdure.storage import ocfl_layout
from perdure.storage.durable import replace_durably, sync_directory
from perdure.upkeep.mirroring.wire import write_change
from perdure.upkeep.succession.acts import NamedDocument, SignedAct
from perdure.upkeep.succession.crate import describe_crate
from perdure.upkeep.succession.selecting import ChangeSelection, list_records
from perdure.upkeep.succession.sources import SuccessionSource
from perdure.writing.replayed_places import is_served, list_held

CHANGES, ACT, STATEMENT, SIGNATURE = (
    "changes.jsonl",
    "act.jsonl",
    "hand-over.jsonld",
    "hand-over.signature",
)
OBJECTS, CRATE = "objects", "ro-crate-metadata.json"
DECLARATION = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
MANIFEST, TAG_MANIFEST = "manifest-sha512.txt", "tagmanifest-sha512.txt"
_PLAIN = re.compile("[a-z0-9][a-z0-9+._-]*")
_TOGETHER = 200  # records whose bytes are asked for at once


class PackedHandOver(msgspec.Struct, frozen=True, kw_only=True):
    """A package that was written."""

    path: str
    records: int
    documents: int
    bytes: int


def walk_selected(
    source: SuccessionSource, selection: ChangeSelection, act: SignedAct
) -> Iterator[MirroredChange]:
    """Yield what is handed over, and check that it is what the statement says.

    Raises HandOverOutdated.
    """
    head, digest, chain = act.hand_over.head, hashlib.sha512(), NO_CHAIN
    for whole in source.walk_changes():
        if whole.change.mark > head.mark:
            break
        selected = selection.select_change(whole)
        chain = link_change(chain, selected.change)
        digest.update(write_change(selected))
        yield selected
    if chain.hex() != head.chain or digest.hexdigest() != act.hand_over.changes:
        raise HandOverOutdated(identifier=str(act.statement.identifier))


def write_package(
    place: Path, source: SuccessionSource, act: SignedAct, *, created: str
) -> PackedHandOver:
    """Write a package. `created` is its date.

    Raises PackageExists, HandOverOutdated, StorageFailed, OSError, Corrupt or OriginUnusable.
    """
    if place.exists() or place.is_symlink():
        raise PackageExists(path=str(place))
    building = place.parent / f".{place.name}.partial"
    shutil.rmtree(building, ignore_errors=True)
    building.mkdir(parents=True)
    try:
        bag = _Bag(building)
        last = _write_changes(bag, source, act)
        _write_act(bag, act)
        documents = _write_objects(bag, source, last)
        crate = describe_crate(act, bag.sizes, created)
        bag.write_file(f"data/{CRATE}", crate)
        size = bag.close(act, created)
        replace_durably(building, place)
    except BaseException:
        shutil.rmtree(building, ignore_errors=True)
        raise
    return PackedHandOver(path=str(place), records=len(last), documents=documents, bytes=size)


def _write_changes(bag: _Bag, source: SuccessionSource, act: SignedAct) -> dict[str, str]:
    """Write the changes. Return the last line of each record."""
    last: dict[str, str] = {}
    with bag.open_file(f"data/{CHANGES}") as file:
        for selected in walk_selected(source, ChangeSelection(act.delegation), act):
            file.write(write_change(selected))
            last.update(line for _, line in list_records((selected,)))
    return last


def _write_act(bag: _Bag, act: SignedAct) -> None:
    documents = [act.statement] if act.signature is None else [act.statement, act.signature]
    bag.write_file(f"data/{ACT}", b"".join(map(_write_line, documents)))
    bag.write_file(f"data/{STATEMENT}", act.statement.data)
    if act.signature is not None:
        bag.write_file(f"data/{SIGNATURE}", act.signature.data)


def _write_line(document: NamedDocument) -> bytes:
    key, text = document.line
    return msgspec.json.encode({"key": key, "stored": text}) + b"\n"


def list_sought(key: str, record: Record) -> list[SoughtContent]:
    """The bytes of a record that are handed over: those that are served."""
    return [
        SoughtContent(key, number, one.format, one.sha512, one.length)
        for number, one in list_held(record)
        if is_served(record, number, one)
    ]


# Objects
# -------


def _write_objects(bag: _Bag, source: SuccessionSource, last: dict[str, str]) -> int:
    """Write an OCFL object for each record with bytes. Return the number of documents."""
    name, data = ocfl_layout.DECLARATION
    bag.write_file(f"data/{OBJECTS}/{name}", data)
    documents = 0
    rows = iter(last.items())
    while some := list(islice(rows, _TOGETHER)):
        records = {key: stored.decode_stored(text) for key, text in some}
        sought = [one for key, record in records.items() for one in list_sought(key, record)]
        documents += len(sought)
        for one, pieces in source.read_contents(sought):
            if isinstance(pieces, str):
                raise HandOverOutdated(identifier=spell_key(one.key))
            place = _find_directory(one.key, records[one.key]) / find_content_path(one)
            with bag.open_file(str(place)) as file:
                for piece in pieces:
                    file.write(piece)
            if bag.digests[str(place)] != one.sha512:
                raise HandOverOutdated(identifier=spell_key(one.key))
        for key, record in records.items():
            _write_inventory(bag, key, record)
    return documents


def find_content_path(one: SoughtContent) -> PurePosixPath:
    """The path of a document in its object."""
    return PurePosixPath(f"v{one.version}", "content", _spell_format(one.format))


def _spell_format(format: str) -> str:
    """The name of a file for a format: the format itself, or its digest in hexadecimal."""
    return format if _PLAIN.fullmatch(format) else hashlib.sha256(format.encode()).hexdigest()


def _find_directory(key: str, record: Record) -> PurePosixPath:
    name = str(identify_record(key, record))
    return PurePosixPath("data", OBJECTS) / ocfl_layout.find_hashed_path(name)


def _write_inventory(bag: _Bag, key: str, record: Record) -> None:
    """Write what an object consists of, for each of its versions.

    They are those of the record up to the last one with bytes. A version without any has the state
    of the one before.
    """
    sought = list_sought(key, record)
    if not sought:
        return
    directory = _find_directory(key, record)
    manifest: dict[str, list[str]] = {}
    versions: dict[str, object] = {}
    state: dict[str, list[str]] = {}
    inventory = b""
    for number in range(1, max(one.version for one in sought) + 1):
        for one in (each for each in sought if each.version == number):
            manifest.setdefault(one.sha512, []).append(str(find_content_path(one)))
            names = state.get(one.sha512, [])
            state = state | {one.sha512: [*names, f"{number}/{_spell_format(one.format)}"]}
        version = record.version(number)
        versions[f"v{number}"] = {
            "created": version.at if version else record.at,
            "message": f"version {number}",
            "user": {"name": record.by or "unknown", "address": "urn:perdure"},
            "state": state,
        }
        inventory = ocfl_layout.encode_json(
            {
                "id": str(identify_record(key, record)),
                "type": "https://ocfl.io/1.1/spec/#inventory",
                "digestAlgorithm": "sha512",
                "head": f"v{number}",
                "manifest": manifest,
                "versions": versions,
            }
        )
        _write_with_sidecar(bag, directory / f"v{number}", inventory)
    _write_with_sidecar(bag, directory, inventory)
    bag.write_file(str(directory / "0=ocfl_object_1.1"), b"ocfl_object_1.1\n")


def _write_with_sidecar(bag: _Bag, directory: PurePosixPath, inventory: bytes) -> None:
    bag.write_file(str(directory / "inventory.json"), inventory)
    sidecar = ocfl_layout.spell_sidecar(inventory)
    bag.write_file(str(directory / "inventory.json.sha512"), sidecar)


# The bag
# -------


class _Bag:
    """A directory whose files are digested while they are written."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.digests: dict[str, str] = {}
        """By path: the SHA-512 of a file."""
        self.sizes: dict[str, int] = {}

    def open_file(self, name: str) -> _DigestedFile:
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return _DigestedFile(path.open("wb"), name, self)

    def write_file(self, name: str, data: bytes) -> None:
        with self.open_file(name) as file:
            file.write(data)

    def close(self, act: SignedAct, created: str) -> int:
        """Write the tag files. Return the number of bytes of the payload."""
        payload = dict(self.digests)
        size = sum(self.sizes.values())
        info = {
            "Bagging-Date": created[:10],
            "Bag-Software-Agent": "perdure",
            "External-Identifier": str(act.statement.identifier),
            "External-Description": f"Hand-over of {act.delegation.names}",
            "Payload-Oxum": f"{size}.{len(payload)}",
        }
        lines = "".join(f"{name}: {value}\n" for name, value in info.items())
        self.write_file("bagit.txt", DECLARATION)
        self.write_file("bag-info.txt", lines.encode())
        self.write_file(MANIFEST, _list_digests(payload))
        tags = {name: one for name, one in self.digests.items() if name not in payload}
        self.write_file(TAG_MANIFEST, _list_digests(tags))
        sync_directory(self._root)
        return size


class _DigestedFile:
    def __init__(self, file: BinaryIO, name: str, bag: _Bag) -> None:
        self._file, self._name, self._bag = file, name, bag
        self._digest, self._size = hashlib.sha512(), 0

    def __enter__(self) -> _DigestedFile:
        return self

    def write(self, piece: bytes) -> None:
        self._file.write(piece)
        self._digest.update(piece)
        self._size += len(piece)

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._bag.digests[self._name] = self._digest.hexdigest()
        self._bag.sizes[self._name] = self._size


def _list_digests(digests: dict[str, str]) -> bytes:
    """The lines of a manifest (RFC 8493 section 2.1.3). No path needs its escapes."""
    return b"".join(f"{digest}  {name}\n".encode() for name, digest in sorted(digests.items()))
