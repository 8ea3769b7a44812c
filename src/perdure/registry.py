"""A registry directory, opened for reading and writing; the only place that wires components.

How it works: `Registry` assembles the settings, the records, the bytes, the read door for
queries and the write door for commands. Readers need nothing else. The write door elects a writer
when the first command arrives.

What must stay true: no other module constructs adapters. Opening a registry changes nothing in it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Self

import msgspec

from perdure import formats, parts
from perdure import settings as setting
from perdure.archives.library import Library
from perdure.archives.pwid import known
from perdure.archives.pwid.known import Archives
from perdure.errors import InvalidMetadata, MalformedPart, PartNotSupported
from perdure.errors.changes import MalformedMark
from perdure.errors.configuring import StoreUnknown
from perdure.errors.naming import DocumentOpen, PartNotStored
from perdure.extractors.indexes import DirectoryIndexes
from perdure.extractors.port import Part, Source, Span, Stream, iterate_body
from perdure.ids import Identifier
from perdure.metadata import DescribedResource, derived, describe_resource, narrow_to_part
from perdure.metadata.derived import DocumentBytes
from perdure.metadata.port import MOST_MEMBERS, CollectedMember
from perdure.model import collection
from perdure.model.about import About
from perdure.model.changes import ChainHead, Change, ChangeMark, parse_mark
from perdure.model.queries import PUBLIC_READER, Fetch
from perdure.model.records import Blank, Reading, Record, Representation
from perdure.parts import Selector
from perdure.plugins import select_entry_points
from perdure.policy.access import may_read_captures
from perdure.policy.correcting import hash_reading
from perdure.policy.levels import is_resource_described
from perdure.policy.naming import read_qualifiers, select_format
from perdure.policy.rules import check_series, require_known
from perdure.reading.extraction import PartExtraction
from perdure.reading.listing import Listings
from perdure.reading.resolve import ReadDoor, Resolved
from perdure.settings import Settings
from perdure.storage.durable import write_durably
from perdure.storage.ports import OpenBytes, Store, storage_errors
from perdure.storage.spool import Spool
from perdure.writing.committer import Committer
from perdure.writing.copy_fence import CopyFence
from perdure.writing.peers import SharedDoor
from perdure.writing.registrar import Registrar, format_timestamp, utc_now

_MEDIA = ("text/plain", "video/mp4", "application/pdf", "text/csv", "text/html")
SETTINGS_FILE = setting.FILE
"""The file that makes a directory a registry."""
STORES = "perdure.stores"
"""The group of entry points that create a `perdure.storage.ports.Store`."""
BYTES = "perdure.bytes"
"""The group of entry points that are a `perdure.storage.ports.OpenBytes`."""
DIRECTORIES = ("incoming", "aside")


def _select_elsewhere(identifier: Identifier, record: Record, part: str | None) -> Selector:
    """The selector of a part of a resource that is held elsewhere.

    The media type comes from the locations of the record, or is the first that has such parts.
    Raises MalformedPart or PartNotSupported.
    """
    known = (formats.find_media_type(one.format) for one in record.locations if one.format)
    kinds = [*(one.essence for one in known if one is not None), *_MEDIA]
    for kind in kinds:
        found = parts.select_part(identifier, kind)
        if found is not None:
            return found
        with contextlib.suppress(MalformedPart, PartNotSupported):
            return parts.parse_part(part or "", kind)
    return parts.parse_part(part or "", kinds[0])  # raises the error that explains the fault


def load_store(name: str, points: Iterable[EntryPoint] | None = None) -> Store:
    """Load the store with this name: `sqlite`, or one from another package.

    Raises BadSettings if no store has this name.
    """
    found = points or select_entry_points(STORES)
    made: Callable[[], Store] = _find_entry("store", name, found).load()
    return made()


def load_bytes(name: str, points: Iterable[EntryPoint] | None = None) -> OpenBytes:
    """Load the store of bytes with this name: `segments`, or one from another package.

    Raises BadSettings if none has this name.
    """
    opener: OpenBytes = _find_entry("bytes", name, points or select_entry_points(BYTES)).load()
    return opener


def _find_entry(setting: str, name: str, points: Iterable[EntryPoint]) -> EntryPoint:
    known = {point.name: point for point in points}
    if name not in known:
        raise StoreUnknown(setting=setting, value=name, installed=tuple(sorted(known)))
    return known[name]


def initialise(root: Path, **authorities: tuple[str, ...]) -> Settings:
    """Create a registry in a directory, or add authorities to the existing one.

    Raises BadSettings for an invalid authority, InvalidRequest for a series in which nothing could
    be minted, or StorageFailed if the disk refuses to write.
    """
    is_new = not (root / setting.FILE).exists()
    current = Settings() if is_new else setting.load_settings(root, {})
    grown = setting.add_authorities(current, **authorities)
    for series in grown.series[len(current.series) :]:
        check_series(series, grown.series)
    store = load_store(grown.store)
    fence = CopyFence(root, store, grown.copy_fence)
    if not is_new and grown != current:
        fence.check_original()
    with storage_errors("the registry directory"):
        for name in DIRECTORIES:
            (root / name).mkdir(parents=True, exist_ok=True)
        with contextlib.closing(load_bytes(grown.bytes)(root)) as held:
            held.create()
        store.create_registry(root)
        if is_new:
            with contextlib.closing(store.open_journal(root)) as journal:
                journal.number_changes(format_timestamp(utc_now()))
        if is_new:
            fence.settle()
        if grown != current or is_new:
            write_durably(root / setting.FILE, setting.write_toml(grown).encode())
    return grown


class Registry:
    """An open registry. Use it as a context manager, or call `close`."""

    def __init__(
        self,
        root: Path,
        *,
        environment: Mapping[str, str] = os.environ,
        clock: Callable[[], datetime] = utc_now,
        store: Store | None = None,
        bytes: OpenBytes | None = None,
    ) -> None:
        self.root = root
        self.settings = setting.load_settings(root, environment)
        self.clock = clock
        self.store = store or load_store(self.settings.store)
        self.open_bytes = bytes or load_bytes(self.settings.bytes)
        self.records = self.store.open_records(root)
        self.bytes = self.open_bytes(root)
        self.listings = Listings(self.records, self.bytes, is_minted=self.settings.is_numbered_here)
        self.reading = ReadDoor(self.records, self.settings.templates)
        self.parts = PartExtraction(root / "indexes")
        self.fence = CopyFence(root, self.store, self.settings.copy_fence)
        self.door = SharedDoor(root, self._make_committer)

    @cached_property
    def archive(self) -> Library:
        """The web archive files of this registry, opened when they are first used."""
        return Library(self.root, self.settings, guard=self.fence.check_original)

    @cached_property
    def web_archives(self) -> Archives:
        """All web archives that this registry knows."""
        return known.load_archives(self.settings, self.root)

    @cached_property
    def has_open_captures(self) -> bool:
        """True if everybody may read the captures of this registry: its own archive may be closed
        to all but those who work on the machine."""
        own = self.web_archives.find_archive(self.settings.archive_id)
        return may_read_captures(PUBLIC_READER, own.access if own else "unknown")

    def _make_committer(self) -> Committer:
        self.fence.check_original()
        return Committer(
            Registrar(
                self.root, self.settings, self.store.open_journal, self.bytes, clock=self.clock
            )
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def source(self, identifier: Identifier, held: Representation) -> Source:
        """The bytes of a representation, as a source from which to cut parts."""
        file, offset = self.bytes.find_local(held)
        return Source(
            path=file.path,
            offset=offset,
            length=held.length,
            media_type=held.media_type,
            charset=held.charset,
            sha512=held.sha512,
            name=str(identifier.whole),
        )

    def selector(self, identifier: Identifier, source: Source, text: str | None) -> Selector:
        """The selector of a part text, or of the part that the identifier itself names.

        Parts of PDIs follow the rules of PDI, parts of all other identifiers those of the media
        type.  # ruling: part-meaning
        """
        found = parts.select_part(identifier, source.essence)
        if found is None:
            found = parts.parse_part(text or "", source.essence)
        return found

    def open_part(self, resolved: Resolved, step: Fetch) -> tuple[Part, Iterator[bytes]]:
        """Cut the part of a resolved name out of the bytes of a step, and open it for reading.

        Raises the errors of cutting a part.
        """
        source = self.source(step.identifier, step.representation)
        selector = self.selector(resolved.identifier, source, resolved.part_beside)
        part = self.parts.cut_part(source, selector)
        return part, iterate_body(part.body, source)

    def described(self, resolved: Resolved, url: str) -> DescribedResource:
        """Describe a resource, or a part of one, for metadata and citations.

        `url` is the actionable form of the identifier, or of the part. If the record has a
        description, only the record is read; otherwise the description comes from the document,
        unless that was withdrawn.  # ruling: tombstone-silence

        Raises NotFound, MalformedPart or PartNotSupported and, if the resource is held here, the
        other errors of cutting the part.
        """
        identifier, record = resolved.identifier, resolved.citable
        part = resolved.part_beside
        held = describe_resource(identifier, record, url, part=part)
        source = self._find_source(identifier, record)
        if source is not None and source.essence == collection.MEDIA_TYPE:
            held = msgspec.structs.replace(held, members=self._list_members(source, url))
        if source is not None and not is_resource_described(record):
            about = self._read_about(source)
            members = held.members
            held = describe_resource(identifier, record, url, about, part)
            held = msgspec.structs.replace(held, members=members)
        if identifier.whole is identifier and resolved.part is None:
            return held
        if source is not None:
            return narrow_to_part(held, self._find_part(identifier, source, part))
        return narrow_to_part(held, _select_elsewhere(identifier, record, part))

    def _list_members(self, source: Source, url: str) -> tuple[CollectedMember, ...]:
        """List the first members of a collection; none if it cannot be read."""
        if source.length > collection.LARGEST:
            return ()
        try:
            found = collection.load_collection(source.read_bytes(0, source.length))
        except InvalidMetadata:
            return ()
        base = url.partition("/pdi:")[0] if "/pdi:" in url else ""
        return tuple(
            CollectedMember(
                number=number,
                identifier=one.identifier,
                url=f"{base}/{one.identifier}" if base else "",
                title=one.title or one.name,
            )
            for number, one in enumerate(found.members[:MOST_MEMBERS], 1)
        )

    def select_part(self, resolved: Resolved) -> Selector | None:
        """The selector of the part of a resolved name, by the rules of its scheme and media type.

        Raises the same errors as `described`.
        """
        step = resolved.usual_step
        if isinstance(step, Fetch):
            source = self.source(step.identifier, step.representation)
            return self._find_part(resolved.identifier, source, resolved.part_beside)
        return self.described(resolved, "").part

    def find_stretches(
        self, identifier: Identifier, part: str | None, version: int | None = None
    ) -> tuple[Blank, ...]:
        """The stored bytes of a part of a document, also of a withdrawn one, for an erasure.

        Raises NotFound, InvalidRequest if the name leaves the document open or if the bytes of the
        part are not stored as they are, and the errors of cutting the part.
        """
        record = require_known(identifier, self.listings.find_record(identifier))
        number, format = read_qualifiers(identifier.whole)
        held = [
            (one.number, kept)
            for one in record.versions
            for kept in one.representations
            if one.number == (version or number) and (format is None or kept.format == format)
        ]
        if len(held) != 1:
            raise DocumentOpen(identifier=str(identifier))
        (found, one) = held[0]
        source = self.source(identifier, one)
        cut = self.parts.cut_part(source, self.selector(identifier, source, part))
        stored = cut.slices or tuple(
            piece
            for piece in (() if isinstance(cut.body, Stream) else cut.body)
            if isinstance(piece, Span)
        )
        if not any(piece.length for piece in stored):
            raise PartNotStored(identifier=str(identifier))
        return tuple(
            Blank(version=found, format=one.format, start=piece.start, end=piece.stop)
            for piece in stored
            if piece.length
        )

    def _find_part(self, identifier: Identifier, source: Source, text: str | None) -> Selector:
        """The selector of a part. Raises the errors of cutting it, unless the source contains it.

        # ruling: part-exists
        """
        selector = self.selector(identifier, source, text)
        self.parts.outline_part(source, selector)
        return selector

    def _find_source(self, identifier: Identifier, record: Record) -> Source | None:
        """The bytes of an identifier, in the first of its formats. None if they are not served."""
        if record.tombstone is not None:
            return None
        number, format = read_qualifiers(identifier)
        version = record.version(number) if number is not None else record.newest
        if version is None or version.tombstone or not version.representations:
            return None
        found = version.representations
        if format is not None:
            found = select_format(found, format)
        return self.source(identifier, found[0]) if found else None

    def _read_about(self, source: Source) -> About | None:
        """The description of a document from its own bytes, read once and then stored."""

        def build_about(one: Source) -> bytes:
            place = DocumentBytes(one.path, one.offset, one.length, one.essence, one.charset)
            return msgspec.json.encode(derived.describe_document(place) or About())

        indexes = DirectoryIndexes(self.root / "indexes")
        reading = Reading(media_type=source.media_type, charset=source.charset)
        kind = f"about-{hash_reading(reading)}"  # equal bytes may be read in several ways
        kept = msgspec.json.decode(bytes(indexes.get_index(source, kind, build_about)), type=About)
        return kept if kept.titles or kept.creators else None

    def spool(self, *, limit: int | None = None) -> Spool:
        """A spool for an upload; see `perdure.storage.spool`."""
        return Spool(self.root / "incoming", limit=limit or self.settings.largest_upload)

    def seal(self) -> list[int]:
        """Put complete segments into the archive, and return their numbers.

        Does nothing unless this process is the writer.
        """
        committer = self.door.committer
        sealed = committer.list_sealable() if committer else []
        for number in sealed:
            self.bytes.seal(number, format_timestamp(self.clock()))
        return sealed

    def head(self) -> ChainHead | None:
        """The last numbered change, or None if only older releases have written this registry."""
        return self.records.find_head()

    def changes(self, since: str | ChangeMark | None = None, *, limit: int = 1000) -> list[Change]:
        """At most `limit` numbered changes: those after a mark, or from the first one on.

        `since`: `3.1042`, or `1042` for a number of the current epoch. Raises InvalidRequest if it
        is neither, or Conflict if this registry has no such change.
        """
        return self.records.list_changes(self.mark(since), limit=limit)

    def mark(self, text: str | ChangeMark | None) -> ChangeMark | None:
        """Parse the mark of a change as users write it. Raises InvalidRequest."""
        if not isinstance(text, str):
            return text
        head = self.records.find_head()
        found = parse_mark(text, current=head.epoch if head else 0)
        if found is None:
            raise MalformedMark(mark=text)
        return found

    def close(self) -> None:
        self.door.close()
        self.parts.close()
        if "archive" in self.__dict__:
            self.archive.close()
        self.records.close()
        self.bytes.close()
