"""Check archive files: read them again and compare the digests that their records carry.

How it works: each record is read as for a reader. Its block is hashed, and so is the payload in it.
If the transfer was chunked, programs differ about the payload: most include the chunks in it, some
do not. Either digest is accepted.

What must stay true: a record whose digests cannot be computed is not called sound.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator

import msgspec

from perdure.archives import digests
from perdure.archives.files import heads
from perdure.archives.files.careful import Flaw
from perdure.archives.files.records import WarcRecord
from perdure.archives.files.registered import RegisteredFiles
from perdure.archives.files.scanning import ArchivePlace, scan_file
from perdure.archives.index import ranges
from perdure.archives.index.sqlite_index import ArchiveFile
from perdure.archives.port import Capture, Captures
from perdure.errors import PerdureError
from perdure.errors.root import count_things

_FLAW = "flaw"
_OTHER_INDEX = "not as indexed"
_NOT_INDEXED = "it is not in the index: the file has changed since it was added; add it again"


class RecordCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The result for one record, or one flaw of the file."""

    file: str
    offset: int
    problem: str = ""
    """Empty if the record is sound."""
    fault: str = ""
    """The kind of problem, for a summary: `flaw`, `payload digest`, `unreadable` …"""
    digests: int = 0
    """Number of digests that were compared."""
    is_record: bool = True
    note: str = ""
    """Other things to say, such as who signed a package."""


def check_file(
    file: ArchiveFile, place: ArchivePlace, files: RegisteredFiles, captures: Captures
) -> Iterator[RecordCheck]:
    """Read a file again and compare it with its index, `captures`.

    Raises OSError if the file is gone.
    """
    records = 0
    for met in scan_file(place, file.name):
        if isinstance(met, Flaw):
            yield RecordCheck(
                file=file.name, offset=met.offset, problem=met.what, fault=_FLAW, is_record=False
            )
            continue
        records += 1
        try:
            with files.open_at(place, file.name, met.offset) as record:
                compared, fault, problem = _verify_digests(record)
        except PerdureError as error:
            compared, fault, problem = 0, "unreadable", str(error)
        if isinstance(met, Capture) and not _is_indexed(captures, met):
            problem = f"{_NOT_INDEXED}; {problem}" if problem else _NOT_INDEXED
            fault = _OTHER_INDEX
        yield RecordCheck(
            file=file.name, offset=met.offset, problem=problem, fault=fault, digests=compared
        )
    if records != file.records:
        problem = (
            f"it has {count_things(records, 'record')} now; it had {file.records} when it was added"
        )
        yield RecordCheck(
            file=file.name, offset=0, problem=problem, fault=_OTHER_INDEX, is_record=False
        )


def _is_indexed(captures: Captures, met: Capture) -> bool:
    """Return whether the index has the record as it is now, with the digest of its payload."""
    here = ranges.make_seconds_range(met.key, met.time, met.time)
    return any(
        (one.file, one.offset, one.uri, one.date) == (met.file, met.offset, met.uri, met.date)
        and one.digest in ("", met.digest)  # an index of an earlier release has fewer digests
        for one in ranges.walk_range(captures, here)
    )


def _verify_digests(record: WarcRecord) -> tuple[int, str, str]:
    """Return the number of digests compared, and the kind and text of the problem, if any."""
    compared, problems = 0, {}
    kind = heads.find_value(record.fields, "WARC-Type")
    readings: dict[str, list[Callable[[], Iterator[bytes]]]] = {"Block": [record.read_block]}
    if kind != "revisit":  # the payload of a revisit is in another record
        readings["Payload"] = [record.read_entity, record.read_unchunked]
    for name, ways in readings.items():
        promised = heads.find_value(record.fields, f"WARC-{name}-Digest")
        if not promised:
            continue
        compared += 1
        if name == "Payload" and promised == heads.find_value(record.fields, "WARC-Block-Digest"):
            ways = [record.read_block, *ways]  # as warcprox writes it for requests
        problem = _compare_digest(promised, ways)
        if problem:
            problems[f"{name.lower()} digest"] = problem
    if not compared:
        for _ in record.read_block():  # raises Corrupt if the block is shorter than announced
            pass
    said = "; ".join(f"{kind}: {problem}" for kind, problem in problems.items())
    return compared, " and ".join(problems), said


def _compare_digest(promised: str, ways: list[Callable[[], Iterator[bytes]]]) -> str:
    algorithm, text = digests.algorithm_of(promised), promised.partition(":")[2]
    if algorithm not in digests.ALGORITHMS:
        return f"unknown algorithm {algorithm[:40]!a}"
    found = b""
    for way in ways:
        digest = hashlib.new(algorithm, usedforsecurity=False)
        for piece in way():
            digest.update(piece)
        if digest.digest() in digests.decode_readings(text.strip(), digest.digest_size):
            return ""
        found = found or digest.digest()
    return f"expected {text[:128]}, found {base64.b32encode(found).decode()}"
