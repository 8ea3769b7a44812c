"""A registry directory, opened for reading and writing; the only place that wires components.

How it works: `Registry` assembles the settings, the records, the bytes, the read door for
queries and the write door for commands. Readers need nothing else. The write door elects a writer
when the first command arrives.

What must stay true: no other module constructs adapters. Opening a registry changes nothing in it.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

from perdure import settings as setting
from perdure.errors.changes import MalformedMark
from perdure.errors.configuring import StoreIsFixed, StoreUnknown
from perdure.model.changes import ChainHead, Change, ChangeMark, parse_mark
from perdure.model.queries import PUBLIC_READER, Reader
from perdure.model.store_addresses import find_store_name, hide_password
from perdure.model.timestamps import format_timestamp
from perdure.plugins import choose_point, load_point, select_points
from perdure.plugins.points import PluginPoint
from perdure.policy.access import may_read_captures
from perdure.settings import Settings
from perdure.storage.byte_ports import INCOMING, OpenBytes
from perdure.storage.durable import check_directory, write_durably
from perdure.storage.ports import Store, storage_errors
from perdure.writing.copy_fence import CopyFence

if TYPE_CHECKING:  # loaded when they are used: most commands write nothing and cut no part
    from perdure.archives.library import Library
    from perdure.archives.pwid.known import Archives
    from perdure.archives.readable import ReadableArchive
    from perdure.ids import Identifier
    from perdure.model.queries import Elsewhere
    from perdure.reading.assertions import Assertions
    from perdure.reading.citations.checking import CitationChecker
    from perdure.reading.citations.citing import QuotationCiter
    from perdure.reading.composites import Provenance
    from perdure.reading.delegations import Delegations
    from perdure.reading.documents import Documents
    from perdure.reading.extraction import PartExtraction
    from perdure.reading.harvest import Harvest
    from perdure.reading.listing import Listings
    from perdure.reading.manifests import Manifests
    from perdure.reading.resolve import ReadDoor
    from perdure.reading.signatures import Signatures
    from perdure.reading.signed_contents import SignedContents
    from perdure.reading.trusted_signers import TrustedSigners
    from perdure.storage.closed_days import ClosedDays
    from perdure.storage.mirrored_captures import MirroredAccess
    from perdure.storage.spool import Spool
    from perdure.writing.committer import Committer
    from perdure.writing.peers import SharedDoor

SETTINGS_FILE = setting.FILE
"""The file that makes a directory a registry."""
STORES = "perdure.stores"
"""The group of entry points that create a `perdure.storage.ports.Store`."""
BYTES = "perdure.bytes"
"""The group of entry points that are a `perdure.storage.byte_ports.OpenBytes`."""
DIRECTORIES = (INCOMING, "aside")
_INDEXES = "indexes"


def utc_now() -> datetime:
    """The clock of this machine."""
    return datetime.now(UTC)


def load_store(name: str, points: Iterable[PluginPoint] | None = None) -> Store:
    """Load the store with this name or at this address: `sqlite`, `postgresql://…`, or another one.

    The value of an entry point is called with the address, or without arguments if there is only a
    name. Raises BadSettings if no store has this name, or if it cannot be loaded.
    """
    point = _find_entry("store", find_store_name(name), points or STORES)
    made: Store = load_point(point, *((name,) if "://" in name else ()), call=True)
    return made


def load_bytes(name: str, points: Iterable[PluginPoint] | None = None) -> OpenBytes:
    """Load the store of bytes with this name or at this address: `segments`, `s3://…`, or another.

    The value of an entry point whose name begins an address is called with it, and returns what
    opens the bytes. Raises BadSettings if no store has this name, or if it cannot be loaded.
    """
    point = _find_entry("bytes", find_store_name(name), points or BYTES)
    opener: OpenBytes = load_point(point, name, call=True) if "://" in name else load_point(point)
    if not callable(opener):  # this store has no addresses
        installed = tuple(sorted({one.name for one in select_points(BYTES)}))
        raise StoreUnknown(setting="bytes", value=hide_password(name), installed=installed)
    return opener


def _find_entry(setting: str, name: str, points: Iterable[PluginPoint] | str) -> PluginPoint:
    """Find the entry point with a name, in a group or among `points`."""
    known = tuple(select_points(points) if isinstance(points, str) else points)
    chosen = choose_point(known, name)
    if chosen is None:
        installed = tuple(sorted({point.name for point in known}))
        raise StoreUnknown(setting=setting, value=name, installed=installed)
    return chosen


def initialise(
    root: Path, store_name: str = "", bytes_name: str = "", /, **authorities: tuple[str, ...]
) -> Settings:
    """Create a registry in a directory, or add authorities to the existing one.

    `store_name` and `bytes_name` are the settings `store` and `bytes` of a new one.

    Raises BadSettings for an invalid authority, InvalidRequest for a series in which nothing could
    be minted, or StorageFailed if the disk refuses to write.
    """
    from perdure.policy.rules import check_series

    check_directory(root, *DIRECTORIES)
    is_new = not (root / setting.FILE).exists()
    current = Settings() if is_new else setting.load_settings(root, {})
    chosen = replace(current, store=store_name or current.store, bytes=bytes_name or current.bytes)
    if not is_new:
        for name in ("store", "bytes"):
            if getattr(chosen, name) != getattr(current, name):
                raise StoreIsFixed(setting=name, value=hide_password(getattr(chosen, name)))
    current = chosen
    grown = setting.add_authorities(current, **authorities)
    for series in grown.series[len(current.series) :]:
        check_series(series, grown.series)
    store = load_store(grown.store)
    fence = CopyFence(root, store, grown.copy_fence)
    if not is_new and grown != current:
        fence.check_original()
    with storage_errors("the registry directory"):
        create_stores(root, grown)
        if is_new:
            with contextlib.closing(store.open_journal(root)) as journal:
                journal.number_changes(format_timestamp(utc_now()))
        if is_new:
            fence.settle()
        if grown != current or is_new:
            write_durably(root / setting.FILE, setting.write_toml(grown).encode())
            if any(hide_password(one) != one for one in (grown.store, grown.bytes)):
                (root / setting.FILE).chmod(0o600)
    return grown


def create_stores(root: Path, settings: Settings) -> Store:
    """Create the directories and the stores of a registry that are missing.

    Raises BadSettings for a store that is not installed, OSError or StorageFailed.
    """
    for name in DIRECTORIES:
        (root / name).mkdir(parents=True, exist_ok=True)
    store = load_store(settings.store)
    with contextlib.closing(load_bytes(settings.bytes)(root)) as held:
        held.create()
    store.create_registry(root)
    return store


class Registry:
    """An open registry. Use it as a context manager, or call `close`."""

    def __init__(
        self,
        root: Path,
        *,
        environment: Mapping[str, str] | None = None,
        clock: Callable[[], datetime] = utc_now,
        store: Store | None = None,
        bytes: OpenBytes | None = None,
    ) -> None:
        """`environment` has the settings that are variables; by default, it is that of the process.

        `store` and `bytes` take the place of those that the settings name.
        """
        self.root = root
        self.incoming = root / INCOMING
        own = os.environ if environment is None else environment
        self._settings_file = setting.SettingsFile(root, own)
        self.clock = clock
        self.store = store or load_store(self.settings.store)
        self.open_bytes = bytes or load_bytes(self.settings.bytes)
        self.records = self.store.open_records(root)
        self.bytes = self.store.guard_bytes(root, self.open_bytes(root))
        self.fence = CopyFence(root, self.store, self.settings.copy_fence)
        self.forget_record: Callable[[str], None] | None = None
        """Removes what indexes that follow the changes keep of a record with this key that was
        withdrawn (`perdure.upkeep.forgetting`). It is called in the process that writes."""
        self._door: SharedDoor | None = None
        self._opening = threading.Lock()

    @cached_property
    def listings(self) -> Listings:
        """Lists the records of this registry."""
        from perdure.reading.listing import Listings

        return Listings(
            self.records,
            self.bytes,
            follow=self.reading.follow_set,
            is_minted=self._settings_file.is_numbered_here,
            is_ruled=self.reading.rules.has_rules_now,
            require_undelegated=self.delegations.require_undelegated_set,
        )

    @cached_property
    def reading(self) -> ReadDoor:
        """Answers queries about names."""
        return self.make_read_door(self.settings.templates)

    def make_read_door(self, templates: tuple[str, ...]) -> ReadDoor:
        """Return a read door that locates parts by these templates, not those of the settings."""
        from perdure.reading.foreseen_rules import ForeseenRules
        from perdure.reading.resolve import ReadDoor
        from perdure.storage.origin import FORESEEN, find_origin, load_foreseen

        is_mirror = find_origin(self.root) is not None
        load = partial(load_foreseen, self.root)
        own = (self.settings.archive_id, *self.settings.archive_aliases)
        return ReadDoor(
            self.records,
            templates,
            delegations=self.delegations,
            find_elsewhere=self._find_elsewhere,
            is_assigned_here=self._is_assigned_here,
            clock=self.clock,
            archives=own,
            # rules come from the origin of a mirror, the id of its archive does not
            governs_all=not self.settings.archive_id or is_mirror,
            ruling=ForeseenRules(self.records, self.root / FORESEEN, load) if is_mirror else None,
        )

    def _is_assigned_here(self, name: Identifier) -> bool:
        """Return True if an authority of this registry assigns names as this one."""
        from perdure.policy.forwarding import is_assigned_here

        settings = self.settings
        return is_assigned_here(
            name, authorities=settings.owned_authorities, prefixes=settings.handle_prefixes
        )

    def _find_elsewhere(self, name: Identifier, part: str) -> Elsewhere | None:
        """Return the other resolvers that may know a name which is unknown here."""
        from perdure.policy.forwarding import find_public_resolvers

        settings = self.settings
        return find_public_resolvers(
            name,
            part,
            forward=settings.forward,
            authorities=settings.owned_authorities,
            prefixes=settings.handle_prefixes,
        )

    @cached_property
    def delegations(self) -> Delegations:
        """The names for which other resolvers answer."""
        from perdure.reading.delegations import Delegations
        from perdure.storage.origin import find_origin

        own = [self.settings.base_url]
        origin = find_origin(self.root)
        if origin is not None and origin.is_whole:  # all that its origin answers is here, too
            own.append(origin.url)
        return Delegations(self.records, self.bytes.read_bytes, self.clock, own=own)

    @property
    def closed_days(self) -> ClosedDays:
        """The past days of series under which no further names are given. Raises Corrupt."""
        from perdure.storage.closed_days import load_closed_days

        return load_closed_days(self.root)

    @property
    def door(self) -> SharedDoor:
        """Takes all writes. A process has one door, even if several threads ask for it first."""
        if self._door is None:
            from perdure.writing.peers import SharedDoor

            with self._opening:
                if self._door is None:
                    self._door = SharedDoor(
                        self.root, self._make_committer, self.fence.check_no_mirror
                    )
        return self._door

    @cached_property
    def parts(self) -> PartExtraction:
        """Cuts parts out of the documents of this registry."""
        from perdure.reading.extraction import PartExtraction

        return PartExtraction(self.root / _INDEXES)

    @cached_property
    def documents(self) -> Documents:
        """The documents of this registry, with their parts and descriptions."""
        from perdure.reading.documents import Documents

        return Documents(self.root / _INDEXES, self.bytes, self.parts, self.listings)

    @cached_property
    def harvest(self) -> Harvest:
        """Lists the records of this registry for harvesters."""
        from perdure.reading.harvest import Harvest

        return Harvest(self.records, self.reading)

    @cached_property
    def signatures(self) -> Signatures:
        """Finds and judges the signatures of the documents of this registry."""
        from perdure.reading.signatures import Signatures

        return Signatures(
            self.records,
            self.reading,
            self.listings,
            self.signed_contents,
            self.trusted_signers,
            self.clock,
        )

    @cached_property
    def signed_contents(self) -> SignedContents:
        """Measures what signatures are about."""
        from perdure.reading.signed_contents import SignedContents

        return SignedContents(self.reading, self.listings, self.documents)

    @cached_property
    def trusted_signers(self) -> TrustedSigners:
        """Knows whose signatures and time stamps count in this registry."""
        from perdure.reading.trusted_signers import TrustedSigners

        return TrustedSigners(
            self.records,
            self.reading,
            self.listings,
            find_signers=lambda name: self.settings.find_signers(name),
            authorities=self.settings.time_authorities,
        )

    @cached_property
    def assertions(self) -> Assertions:
        """Finds the assertions about names."""
        from perdure.reading.assertions import Assertions

        return Assertions(self.reading, self.listings)

    @cached_property
    def provenance(self) -> Provenance:
        """Tells where the pieces of composites are from."""
        from perdure.reading.composites import Provenance

        return Provenance(
            self.reading,
            self.listings,
            self.documents,
            self.citations,
            self.signed_contents,
            self.signatures,
        )

    @cached_property
    def manifests(self) -> Manifests:
        """Makes the IIIF manifests of composites, pictures, sounds and films."""
        from perdure.reading.manifests import Manifests

        return Manifests(self.reading, self.documents, self.parts, self.provenance)

    @cached_property
    def citations(self) -> CitationChecker:
        """Checks citations of the documents of this registry."""
        from perdure.reading.citations.checking import CitationChecker

        return CitationChecker(self.reading, self.documents, self.parts)

    @cached_property
    def quotation_citer(self) -> QuotationCiter:
        """Writes references to quotations."""
        from perdure.reading.citations.citing import QuotationCiter

        return QuotationCiter(self.reading, self.documents)

    @cached_property
    def archive(self) -> Library:
        """The web archive files of this registry, opened when they are first used."""
        from perdure.archives.library import Library

        return Library(self.root, self.settings, guard=self.fence.check_original)

    def read_archive(
        self, reader: Reader, note: Callable[[], None] = lambda: None
    ) -> ReadableArchive:
        """Return the captures that a reader may read. `note` is called if a rule is about some."""
        guard = self.reading.find_capture_guard(reader, note)
        if guard is None:
            return self.archive
        from perdure.archives.readable import GuardedArchive

        return GuardedArchive(self.archive, guard)

    @cached_property
    def web_archives(self) -> Archives:
        """All web archives that this registry knows."""
        from perdure.archives.pwid import known

        return known.load_archives(self.settings, self.root)

    @property
    def capture_access(self) -> str:
        """The access to the captures of this registry; `closed` also if its origin closed them."""
        return "closed" if self._mirrored_access.is_closed else self._own_access

    @cached_property
    def _own_access(self) -> str:
        own = self.web_archives.find_archive(self.settings.archive_id)
        return own.access if own else "unknown"

    @cached_property
    def _mirrored_access(self) -> MirroredAccess:
        from perdure.storage.mirrored_captures import MirroredAccess

        return MirroredAccess(self.root)

    @property
    def has_open_captures(self) -> bool:
        """True if everyone may read the captures of this registry: its own archive may be closed
        to all but those who work on the machine."""
        return may_read_captures(PUBLIC_READER, self.capture_access)

    @property
    def settings(self) -> Settings:
        """The settings as they were when the registry was opened, with authorities added since."""
        return self._settings_file.current

    def learn_authorities(self) -> Settings:
        """Return the settings with the authorities that `perdure init` added meanwhile."""
        return self._settings_file.learn_authorities()

    def _make_committer(self) -> Committer:
        from perdure.writing.committer import Committer
        from perdure.writing.registrar import Registrar

        self.fence.check_original()
        self._check_place()
        return Committer(
            Registrar(
                self.root,
                self.learn_authorities(),
                self.store.open_journal,
                self.bytes,
                clock=self.clock,
                delete_indexes=self.delete_indexes,
                learn=self.learn_authorities,
                find_fence=self.delegations.find_fence,
                check=self.fence.check_undivided,
                find_move=self._settings_file.find_move,
            )
        )

    def _check_place(self) -> None:
        """Raise RegistryMoved if the registry was moved since it was opened."""
        from perdure.errors.moving import RegistryMoved
        from perdure.storage.moving_ports import MovableStore

        if to := self._settings_file.find_move():
            raise RegistryMoved(to=to)
        if isinstance(self.store, MovableStore):
            self.store.check_bytes(self.root, hide_password(self.settings.bytes))

    def find_move(self) -> str:
        """The address to which the registry was moved since it was opened, or an empty text."""
        return self._settings_file.find_move()

    def delete_indexes(self, key: str, digests: Collection[str]) -> None:
        """Delete what was computed from a record and from these bytes (SHA-512)."""
        self.parts.delete_indexes(digests)  # loads the extractors, which few writers need
        if self.forget_record is not None:
            self.forget_record(key)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def spool(self, *, limit: int | None = None) -> Spool:
        """A spool for an upload; see `perdure.storage.spool`."""
        from perdure.storage.spool import Spool

        return Spool(self.incoming, limit=limit or self.settings.largest_upload)

    def seal(self) -> list[int]:
        """Put complete segments into the archive, and return their numbers.

        Does nothing unless this process is the writer.
        """
        committer = self._door.committer if self._door else None
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

    def mark(self, text: str | ChangeMark | None, parameter: str = "since") -> ChangeMark | None:
        """Parse the mark of a change as users write it. Raises InvalidRequest."""
        if not isinstance(text, str):
            return text
        head = self.records.find_head()
        found = parse_mark(text, current=head.epoch if head else 0)
        if found is None:
            raise MalformedMark(mark=text, parameter=parameter)
        return found

    def close(self) -> None:
        if self._door is not None:
            self._door.close()
        for opened in ("parts", "archive"):
            if opened in self.__dict__:
                getattr(self, opened).close()
        self.records.close()
        self.bytes.close()
