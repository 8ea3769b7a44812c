"""A WARC file of a collection as a WACZ package (Web Archive Collection Zipped, version 1.1.1).

    archive/data.warc.gz         the records, as they were extracted
    indexes/index.cdx.gz, .idx   CDXJ, in gzip members of 1,024 lines, and the start of each
    pages/pages.jsonl            the pages among the members, each once
    collection/collection.json   the document of the collection, in its canonical form
    datapackage.json             the files, with digests; datapackage-digest.json: its own digest

How it works: the WARC file is read again from the beginning, as any reader would read it, and the
records found there are indexed. The package is written once, without seeking backwards.

What must stay true: every file is listed with the digest of the bytes written; archive and index
are stored without further compression, so that readers can request ranges of them.
"""

from __future__ import annotations

import gzip
import hashlib
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from perdure.archives.dates import format_second
from perdure.archives.files.scanning import ArchivePlace, scan_file
from perdure.archives.index import cdxj
from perdure.archives.port import Capture
from perdure.model import collection as members
from perdure.upkeep.collection.extracting import ExtractedMember
from perdure.upkeep.collection.making import HeldCollection

VERSION = "1.1.1"
_WARC = "data.warc.gz"
_LINES = 1024
_PIECE = 1 << 20
_LEFT_OUT = ("request", "metadata", "warcinfo", "continuation")
_HTTP = ("http://", "https://")


def write_package(
    into: BinaryIO, warc: Path, seen: HeldCollection, steps: Sequence[ExtractedMember], created: str
) -> None:
    """Write the package. `created` is its date. Raises OSError."""
    with zipfile.ZipFile(into, "w", zipfile.ZIP_STORED, allowZip64=True) as package:
        resources = [_add_stored(package, f"archive/{_WARC}", warc, created)]
        index, begins = _write_index(warc)
        for path, data, packed in (
            ("indexes/index.cdx.gz", index, False),
            ("indexes/index.idx", begins, True),
            ("pages/pages.jsonl", _list_pages(seen, steps), True),
            ("collection/collection.json", members.write_collection(seen.collection), True),
        ):
            resources.append(_add_packed(package, path, data, created, packed=packed))
        description = _describe_package(seen, resources, created)
        _add_packed(package, "datapackage.json", description, created, packed=True)
        digest = {"path": "datapackage.json", "hash": _hash_bytes(description)}
        _add_packed(
            package, "datapackage-digest.json", msgspec.json.encode(digest), created, packed=True
        )


def _describe_package(seen: HeldCollection, resources: list[dict[str, Any]], created: str) -> bytes:
    collection = seen.collection
    said = {
        "profile": "data-package",
        "wacz_version": VERSION,
        "software": "perdure",
        "created": created,
        "title": collection.title,
        "description": collection.purpose,
        "id": str(seen.identifier),
        "contributors": [{"title": one, "role": "author"} for one in collection.creators],
        "resources": resources,
    }
    return msgspec.json.format(msgspec.json.encode({k: v for k, v in said.items() if v}))


# files
# -----


def _zip_info(path: str, created: str, *, packed: bool) -> zipfile.ZipInfo:
    date = tuple(map(int, (created[:4], created[5:7], created[8:10], *created[11:19].split(":"))))
    info = zipfile.ZipInfo(path, (date[0], date[1], date[2], date[3], date[4], date[5]))
    info.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    info.external_attr = 0o644 << 16
    return info


def _add_packed(
    package: zipfile.ZipFile, path: str, data: bytes, created: str, *, packed: bool
) -> dict[str, Any]:
    package.writestr(_zip_info(path, created, packed=packed), data)
    return _resource_entry(path, _hash_bytes(data), len(data))


def _add_stored(package: zipfile.ZipFile, path: str, source: Path, created: str) -> dict[str, Any]:
    digest = hashlib.sha256()
    info = _zip_info(path, created, packed=False)
    info.file_size = source.stat().st_size
    # zipfile writes Zip64 fields only for a file that needs them; ReplayWeb.page cannot read a
    # WARC file that has them without need.
    with source.open("rb") as file, package.open(info, "w") as into:
        while piece := file.read(_PIECE):
            digest.update(piece)
            into.write(piece)
    return _resource_entry(path, f"sha256:{digest.hexdigest()}", info.file_size)


def _resource_entry(path: str, hash: str, length: int) -> dict[str, Any]:
    return {"name": path.rpartition("/")[2], "path": path, "hash": hash, "bytes": length}


def _hash_bytes(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


# index and pages
# ---------------


def _write_index(warc: Path) -> tuple[bytes, bytes]:
    """Return the sorted CDXJ of a WARC file in gzip members, and the lines that locate these."""
    lines = sorted(
        cdxj.format_exchanged_line(one)
        for one in scan_file(ArchivePlace(path=str(warc)), _WARC)
        if isinstance(one, Capture) and one.kind not in _LEFT_OUT
    )
    packed = bytearray()
    begins = [b'!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}\n']
    for at in range(0, len(lines), _LINES):
        block = gzip.compress(b"".join(lines[at : at + _LINES]), mtime=0)
        place = {
            "offset": len(packed),
            "length": len(block),
            "digest": _hash_bytes(block),
            "filename": "index.cdx.gz",
        }
        position = b" ".join(lines[at].split(b" ", 2)[:2])
        begins.append(b"%b %b\n" % (position, msgspec.json.encode(place)))
        packed += block
    return bytes(packed) or gzip.compress(b"", mtime=0), b"".join(begins)


def _list_pages(seen: HeldCollection, steps: Iterable[ExtractedMember]) -> bytes:
    lines: list[dict[str, Any]] = [
        {"format": "json-pages-1.0", "id": "pages", "title": seen.collection.title or "All pages"}
    ]
    listed: set[tuple[str, str]] = set()
    for step in steps:
        place = step.page, step.time
        if step.page.startswith(_HTTP) and place not in listed:
            listed.add(place)
            member = seen.collection.members[step.number - 1]
            shown = member.title or member.name
            page = {"id": str(step.number), "url": step.page, "ts": _page_time(step.time)}
            lines.append(page | ({"title": shown} if shown else {}))
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


def _page_time(date: str) -> str:
    return format_second(date) if date.isdigit() else date
