"""The changes of a next version: each file of a draft, compared with the version before.

How it works: a file is compared as two versions are (`perdure.reading.version_differences`), with
the rights of the token that deposits it. The version before is the newest that was not withdrawn.
The index of a file is not kept, because it may never be minted.

What must stay true: a version that the depositor may not read, or that was withdrawn, is not
compared, and nothing of it is shown.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from perdure.errors import PerdureError
from perdure.extractors.port import Source
from perdure.model.commands import Content
from perdure.model.queries import Gone, Query
from perdure.model.records import Token, Version
from perdure.reading.resolved import Resolved
from perdure.reading.targets import read_identifier
from perdure.reading.version_differences import (
    ComparedVersion,
    VersionDifference,
    compare_file,
)
from perdure.server.common.readers import make_reader
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.desk.drafts import Draft, StagedFile
from perdure.storage.spool import HEAD_ROOM

_MOST_COMPARED = 10  # files


class FileChange(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a draft beside the version before."""

    file: StagedFile
    difference: VersionDifference | None = None
    reason: str = ""
    """Why there is no difference to show: an error. Empty if all versions were withdrawn."""


class VersionChange(msgspec.Struct, frozen=True):
    """The changes that minting a draft would make."""

    files: tuple[FileChange, ...] = ()
    lost: tuple[str, ...] = ()
    """The formats that the version before has, and the draft has not."""
    left_out: int = 0
    """Files that are not compared."""


def compare_draft(
    service: Service, request: Request, token: Token, draft: Draft
) -> VersionChange | None:
    """Compare the draft of a next version with the version before, or return None if it is a new
    document, or the first version.
    """
    if not draft.of or draft.receipts:
        return None
    name = read_identifier(draft.of.strip()).whole.resource
    reader = make_reader(service, request, token)
    try:
        resolved = service.reading.resolve(Query(identifier=name, reader=reader))
        record = resolved.known
    except PerdureError as error:
        return VersionChange(
            tuple(FileChange(file=one, reason=str(error)) for one in draft.files[:1])
        )
    before = record.newest
    if before is None:
        files = tuple(FileChange(file=one) for one in draft.files[:1] if record.versions)
        return VersionChange(files) if files else None
    compared = draft.files[:_MOST_COMPARED]
    formats = {one.content.format for one in draft.files}
    return VersionChange(
        tuple(_compare_file(service, resolved, before, one) for one in compared),
        tuple(one.format for one in before.representations if one.format not in formats),
        len(draft.files) - len(compared),
    )


def _compare_file(
    service: Service, resolved: Resolved, before: Version, file: StagedFile
) -> FileChange:
    content, registry = file.content, service.registry
    after = ComparedVersion(
        identifier=file.name,
        version=before.number + 1,
        media_type=content.media_type,
        length=content.length,
        sha512=content.sha512,
    )
    try:
        with _open_content(registry.incoming, content, file.name) as source:
            found = compare_file(
                registry.reading,
                registry.documents,
                registry.parts,
                resolved,
                before.number,
                content.format,
                source,
                after,
            )
    except PerdureError as error:
        return FileChange(file=file, reason=str(error))
    return FileChange(file=file, difference=None if isinstance(found, Gone) else found)


@contextmanager
def _open_content(incoming: Path, content: Content, name: str) -> Iterator[Source]:
    """Open the bytes of a content, which are in memory or in `incoming`."""
    with tempfile.NamedTemporaryFile(prefix="perdure-draft-") as file:
        file.write(content.data or b"")
        file.flush()
        is_spooled = content.spooled is not None
        yield Source(
            path=incoming / content.spooled if content.spooled is not None else Path(file.name),
            offset=HEAD_ROOM if is_spooled else 0,
            length=content.length,
            media_type=content.media_type,
            charset=content.charset,
            name=name,
        )
