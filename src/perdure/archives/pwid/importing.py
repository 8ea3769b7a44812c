"""Add the web archives of another project's registry to the operator's own file.

What must stay true: an archive that is already known, by its id or an alias, is not added; the
entries that the file already has stay as they are, letter for letter.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from perdure.archives.pwid.known import Archive, Archives, load_packaged, read_toml
from perdure.archives.pwid.registries import read_registry, write_toml
from perdure.errors.records import RecordNotUtf8
from perdure.storage.durable import write_durably


class ImportedArchives(NamedTuple):
    """The result of an import."""

    added: tuple[Archive, ...]
    read: int
    """The number of archives in the imported registry."""


def import_archives(data: bytes, own_file: Path) -> ImportedArchives:
    """Add the archives of a registry that are not known yet to the operator's own file.

    Raises InvalidMetadata and BadSettings.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise RecordNotUtf8(format="web archives", line=None) from error
    had = own_file.read_text("utf-8") if own_file.exists() else ""
    known = Archives((*load_packaged(), *read_toml(had, own_file)))
    read = read_registry(text)
    added = tuple(one for one in read if not any(map(known.find_archive, one.names)))
    if added:
        write_durably(own_file, f"{had.rstrip()}\n\n{write_toml(added)}".lstrip().encode())
    return ImportedArchives(added, len(read))
