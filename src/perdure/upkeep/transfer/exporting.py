"""Export: the promises of a registry, as lines that `import` reads.

How it works: records are read in the order of their keys, some hundred at a time. Each becomes one
line, with its bytes in base64 or, if a directory is given, in files named by their digest.

What must stay true: a registry made by importing an export has an equal export; bytes that no
longer have their digest end the export with an error and are never passed on; of what was
withdrawn, the line has the tombstone and no content.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec import UNSET

from perdure import formats
from perdure.errors import Corrupt
from perdure.errors.corruption import RepresentationAltered
from perdure.errors.importing import BytesTooManyForLine
from perdure.ids import Identifier
from perdure.ids.name_set import NameSet, make_set
from perdure.model.records import (
    IdentifiedRecord,
    Location,
    LocationDrift,
    NarrowDescription,
    Record,
    Representation,
    Tombstone,
    Version,
)
from perdure.policy.naming import covers_record, qualify_identifier
from perdure.policy.showing import silence_descriptions
from perdure.reading.scanning import DamagedRecord, scan_readable
from perdure.registry import Registry
from perdure.storage.byte_ports import Bytes
from perdure.storage.durable import check_directory
from perdure.upkeep.transfer.lines import (
    Line,
    LineContent,
    LineCorrection,
    LineDescription,
    LineDrift,
    LineEnding,
    LinePlace,
    write_line,
)

LARGEST_IN_LINE = 32 << 20  # bytes; `import` reads lines of twice that length
_PAGE = 200


def export_lines(
    registry: Registry,
    *,
    within: Identifier | NameSet | None = None,
    files: Path | None = None,
    report: Callable[[Corrupt], None] | None = None,
) -> Iterator[bytes]:
    """Yield a line for each identifier, or for those of a set of names, in order.

    With `files`, bytes go to files there. Damaged records, and those whose bytes are damaged, are
    passed to `report` and left out; without it, the first one ends the export. Raises Corrupt,
    InvalidRequest if there are too many bytes for a line, OSError if a file cannot be written.
    """
    if files is not None:
        check_directory(files)
    for one in scan_records(registry, within, report):
        try:
            line = _export_record(one.identifier, one.record, registry.bytes, files)
        except Corrupt as error:
            if report is None:
                raise
            report(error)
        else:
            yield write_line(line)


def scan_records(
    registry: Registry,
    within: Identifier | NameSet | None,
    report: Callable[[Corrupt], None] | None,
) -> Iterator[IdentifiedRecord]:
    """Yield all records, or those of a set of names, in order. Damaged ones go to `report`.

    Raises Corrupt if there is no `report`.
    """
    names = None if within is None else make_set(within)
    low, high = (names.low, names.end) if names else ("", None)
    following: str | None = low
    while following is not None:
        batch, following = scan_readable(registry.records, following, high, limit=_PAGE)
        for row in batch:
            if isinstance(row, DamagedRecord):
                if report is None:
                    raise row.error
                report(row.error)
            elif names is None or covers_record(names, row.name, row.record):
                yield IdentifiedRecord(row.name, row.record)


def export_files(
    identifier: Identifier, record: Record, held: Bytes, files: Path
) -> Iterator[LineContent]:
    """Write the bytes of a record to files, and yield their descriptions with their paths.

    Raises Corrupt, OSError.
    """
    yield from _export_record(identifier, record, held, files).contents


def _export_record(identifier: Identifier, record: Record, held: Bytes, files: Path | None) -> Line:
    contents = tuple(
        _export_content(identifier, version, one, held, files)
        for version in record.versions
        if not (record.tombstone or version.tombstone)
        for one in version.representations
    )
    return _make_line(identifier, record, contents)


def line_without_bytes(identifier: Identifier, record: Record) -> Line:
    """Return the line of a record that describes its contents without their bytes."""
    contents = tuple(
        _describe_content(version, one)
        for version in record.versions
        if not (record.tombstone or version.tombstone)
        for one in version.representations
    )
    return _make_line(identifier, record, contents)


def _make_line(identifier: Identifier, record: Record, contents: tuple[LineContent, ...]) -> Line:
    record = silence_descriptions(record)
    return Line(
        id=str(identifier.resource),
        locations=tuple(map(_export_location, record.locations)),
        contents=contents,
        metadata=record.metadata,
        aliases=record.aliases,
        targets=record.targets,
        minted=record.minted,
        about=record.about,
        attached=record.attached,
        narrower=tuple(map(_export_narrower, record.narrower)),
        drifted=tuple(map(_export_drift, record.drifted)),
        values=record.values,
        withdrawn=_list_withdrawals(record),
        broken=_list_endings(record.broken, ((one.number, one.broken) for one in record.versions)),
        delegates=record.delegates,
    )


def _export_drift(one: LocationDrift) -> LineDrift:
    return LineDrift(**msgspec.structs.asdict(one) | {"at": one.at or None})


def _export_narrower(one: NarrowDescription) -> LineDescription:
    return LineDescription(**msgspec.structs.asdict(one))


def _export_location(location: Location) -> str | LinePlace:
    """Return the URI alone if the location has no other fields."""
    if location == Location(uri=location.uri):
        return location.uri
    return LinePlace(**msgspec.structs.asdict(location))


def _list_withdrawals(record: Record) -> tuple[LineEnding, ...]:
    """Return the tombstones. Each says all that is exported of a withdrawn version.

    # ruling: tombstone-silence
    """
    versions = tuple(
        _make_withdrawal(why, one)
        for one in record.versions
        if (why := one.tombstone or record.tombstone) is not None
        and (one.tombstone or one.representations)
    )
    whole = () if record.tombstone is None else (_make_withdrawal(record.tombstone),)
    return versions + whole


def _make_withdrawal(why: Tombstone, version: Version | None = None) -> LineEnding:
    return LineEnding(
        version=version.number if version else None,
        reason=why.reason,
        at=why.at,
        by=why.by,
        silent=why.silent,
        erased=why.erased or None,
        since=version.at if version else None,
    )


def _list_endings(
    whole: Tombstone | None, versions: Iterable[tuple[int, Tombstone | None]]
) -> tuple[LineEnding, ...]:
    """Return why versions, and then the resource, are no longer served."""
    return tuple(
        LineEnding(version=number, reason=why.reason, at=why.at, by=why.by)
        for number, why in (*versions, (None, whole))
        if why is not None
    )


def _export_content(
    identifier: Identifier,
    version: Version,
    one: Representation,
    held: Bytes,
    files: Path | None,
) -> LineContent:
    name = str(qualify_identifier(identifier, version.number, one.format))
    described = _describe_content(version, one)
    pieces = _check_pieces(name, one, held)
    if files is not None:
        return msgspec.structs.replace(described, path=_write_file(files, one, pieces))
    if one.length > LARGEST_IN_LINE:
        raise BytesTooManyForLine(identifier=name, length=one.length)
    return msgspec.structs.replace(described, base64=b"".join(pieces))


def _describe_content(version: Version, one: Representation) -> LineContent:
    return LineContent(
        version=version.number,
        format=one.format,
        type=one.media_type,
        charset=one.charset if one.charset or formats.is_text(one.media_type) else UNSET,
        language=one.language,
        at=one.at or version.at,
        corrections=tuple(
            msgspec.convert(msgspec.to_builtins(each), LineCorrection) for each in one.corrections
        ),
        sha512=one.sha512,
    )


def _check_pieces(name: str, one: Representation, held: Bytes) -> Iterator[bytes]:
    """Yield the bytes; raises Corrupt at their end if they are not those promised."""
    digest = hashlib.sha512()
    for piece in held.read_chunks(one):
        digest.update(piece)
        yield piece
    if digest.hexdigest() != one.sha512:
        raise RepresentationAltered(
            identifier=name,
            segment=one.segment,
            offset=one.offset,
            promised=one.sha512,
            found=digest.hexdigest(),
        )


def _write_file(files: Path, one: Representation, pieces: Iterator[bytes]) -> str:
    """Write bytes to a file named by their digest; return its path within `files`."""
    name = f"{one.sha512[:2]}/{one.sha512}.{formats.find_extension(one.format)}"
    target = files / name
    if target.exists():
        return name
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with beside.open("wb") as file:
            file.writelines(pieces)
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
    return name
