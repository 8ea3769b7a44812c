"""The one place where things are wired: a registry directory, opened for reading and writing.

How it works: `Registry` puts together the settings, the records, the segments, the resolver that
reads them and the door through which writes go. Readers need nothing else; the door elects a writer
when the first command comes.

What must stay true: no other module constructs adapters; opening a registry changes nothing in it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

from perdure import parts
from perdure import settings as setting
from perdure.archives.library import Library
from perdure.blobs import ocfl
from perdure.blobs.durable import write_durably
from perdure.blobs.segments import Segments, segment_path
from perdure.blobs.spool import Spool
from perdure.committer import Committer
from perdure.extraction import Extraction
from perdure.extractors.port import Source
from perdure.ids import Identifier
from perdure.model import Representation
from perdure.parts import Selector
from perdure.peers import SharedDoor
from perdure.registrar import Registrar, timestamp, utc_now
from perdure.resolver import Resolver
from perdure.settings import Settings
from perdure.stores import sqlite
from perdure.stores.sqlite import SqliteRecords

DIRECTORIES = ("segments", "archive", "incoming", "aside")


def initialise(root: Path, **authorities: tuple[str, ...]) -> Settings:
    """Makes a registry in a directory, or adds authorities to the one that is there.

    Raises BadSettings for an authority that cannot be, StorageFailed where the disk refuses.
    """
    current = setting.load(root, {}) if (root / setting.FILE).exists() else Settings()
    grown = setting.added(current, **authorities)
    with sqlite.storage_errors("the registry directory"):
        for name in DIRECTORIES:
            (root / name).mkdir(parents=True, exist_ok=True)
        ocfl.make_storage_root(root)
        sqlite.create(root)
        if grown != current or not (root / setting.FILE).exists():
            write_durably(root / setting.FILE, setting.write_toml(grown).encode())
    return grown


class Registry:
    """An open registry. Use as a context manager, or call `close`."""

    def __init__(
        self,
        root: Path,
        *,
        environment: Mapping[str, str] = os.environ,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        self.root = root
        self.settings = setting.load(root, environment)
        self.clock = clock
        self.records = SqliteRecords(root)
        self.segments = Segments(root)
        self.resolver = Resolver(self.records, self.segments)
        self.parts = Extraction(root / "indexes")
        self.door = SharedDoor(root, self._lead)

    @cached_property
    def archive(self) -> Library:
        """The web archive files of this registry; opened when first asked for."""
        return Library(self.root, self.settings)

    def _lead(self) -> Committer:
        return Committer(Registrar(self.root, self.settings, clock=self.clock))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def source(self, identifier: Identifier, held: Representation) -> Source:
        """The bytes of a representation, for parts to be cut from."""
        return Source(
            path=self.segments.path(held.segment),
            offset=held.offset,
            length=held.length,
            media_type=held.media_type,
            charset=held.charset,
            sha512=held.sha512,
            name=str(identifier.whole),
        )

    def selector(self, identifier: Identifier, source: Source, text: str | None) -> Selector:
        """What a part text selects, or the part that the identifier itself names.

        A PDI's has the PDI's rules, that of any other identifier those of the media type.
        # ruling: part-meaning
        """
        found = parts.select(identifier, source.essence)
        if found is None:
            found = parts.parse(text or "", source.essence)
        return found

    def spool(self, *, limit: int | None = None) -> Spool:
        """Where an upload collects; see `perdure.blobs.spool`."""
        return Spool(self.root / "incoming", limit=limit or self.settings.largest_upload)

    def seal(self) -> list[int]:
        """Makes OCFL objects of complete segments, if this process is the writer; tells which."""
        committer = self.door.committer
        sealed = committer.sealable() if committer else []
        for number in sealed:
            loose = segment_path(self.root, number)
            ocfl.seal(self.root, number, loose, at=timestamp(self.clock()))
        return sealed

    def close(self) -> None:
        self.door.close()
        self.parts.close()
        if "archive" in self.__dict__:
            self.archive.close()
        self.records.close()
        self.segments.close()
