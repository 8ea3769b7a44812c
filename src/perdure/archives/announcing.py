"""The listing of archive files for mirrors: which files there are, and all takedowns.

How it works: a listing names each archive file with its length and SHA-512, and has all takedowns.
Digests that are not known yet are computed for a few seconds (`perdure.archives.file_digests`);
then the listing leaves files out and says that it is not complete, and the next one goes on.

What must stay true: files are listed before takedowns are read, so that a listing has every
takedown that was made before one of its files was added.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import msgspec

from perdure.archives import places
from perdure.archives.file_digests import stamp_file
from perdure.archives.library import Library
from perdure.archives.withholding import Withholding

_WATCHED = (
    Path(places.WITHHELD),
    Path(places.DIRECTORY, places.INDEX),
    Path(places.DIRECTORY, f"{places.INDEX}-wal"),
)


class AnnouncedFile(msgspec.Struct, frozen=True, kw_only=True):
    """An archive file in a listing."""

    name: str
    """Its registered name."""
    size: Annotated[int, msgspec.Meta(ge=0)]
    sha512: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{128}\Z")]
    """It names the file in which a mirror keeps what has arrived."""
    is_unpacked: bool = False
    """True if it was unpacked from a package, so that a mirror makes it itself."""


class ArchiveListing(msgspec.Struct, frozen=True, kw_only=True):
    """The archive files of a registry, and what governs their captures."""

    archive: str
    """The id of the archive in PWIDs, or an empty text."""
    aliases: tuple[str, ...] = ()
    access: str = "unknown"
    """`closed` if only people on the machine itself read the captures."""
    takedowns: tuple[Withholding, ...] = ()
    """All lines, in order, also those that end a takedown."""
    files: tuple[AnnouncedFile, ...] = ()
    is_complete: bool = True
    """False if files are left out, since their digests are not known yet."""


def stamp_archive(root: Path) -> tuple[tuple[int, int], ...]:
    """Return a value that differs after each change of files or takedowns of a registry."""
    found = []
    for path in _WATCHED:
        try:
            found.append(stamp_file(root / path))
        except OSError:
            found.append((-1, -1))
    return tuple(found)


def list_archive(
    library: Library, archive: str, aliases: tuple[str, ...], access: str, *, seconds: float
) -> ArchiveListing:
    """List the archive files, and hash for at most `seconds`.

    Raises StorageFailed or Unavailable.
    """
    deadline = time.monotonic() + seconds
    files, is_complete = [], True
    for one in library.list_files():
        found = library.find_place(one.name)
        if found is None or found[1].base:
            continue
        path = Path(found[1].path)
        try:
            digest = library.digests.find_digest(path, deadline)
            size = path.stat().st_size
        except OSError:  # a file that is away is announced when it is back
            continue
        if digest is None:
            is_complete = False
        elif size == one.size:  # otherwise it has grown, and was not added again yet
            files.append(
                AnnouncedFile(name=one.name, size=size, sha512=digest, is_unpacked="/" in one.name)
            )
    with suppress(OSError):  # it is hashed again
        library.digests.save()
    return ArchiveListing(
        archive=archive,
        aliases=aliases,
        access=access,
        takedowns=library.withheld.list_lines(),
        files=tuple(files),
        is_complete=is_complete,
    )
