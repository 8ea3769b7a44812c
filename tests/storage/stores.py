"""Registries on every store of records and of bytes there is, for the contracts of the ports."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from tests.conftest import Clock, Desk
from tests.storage.postgresql_server import make_address
from tests.storage.s3_server import make_address as make_object_address

from perdure.registry import Registry
from perdure.storage.byte_ports import Bytes
from perdure.storage.ports import Store
from perdure.storage.postgresql import store as registries
from perdure.storage.postgresql.addresses import DatabaseAddress, parse_address
from perdure.storage.postgresql.journal import PostgresqlJournal
from perdure.storage.segments.directory import find_path
from perdure.storage.segments.objects import addresses as objects
from perdure.storage.segments.objects.client import ObjectClient
from perdure.storage.segments.objects.store import ObjectBytes
from perdure.storage.segments.objects.workshop import require_layout
from perdure.storage.segments.store import Segments
from perdure.storage.sqlite.store import SqliteStore
from perdure.testing.memory_bytes import MemoryByteStore
from perdure.testing.stores import MemoryStore


class PostgresqlStore(registries.PostgresqlStore):
    """A registry in PostgreSQL for each directory. The clocks of the tests count."""

    def __init__(self) -> None:
        super().__init__(make_address())
        self._addresses: dict[Path, DatabaseAddress] = {}

    def find_address(self, root: Path) -> DatabaseAddress:
        if root not in self._addresses:
            self._addresses[root] = parse_address(make_address())
        return self._addresses[root]

    def open_journal(self, root: Path) -> PostgresqlJournal:
        return JournalOnTestTime(self.find_address(root))


class JournalOnTestTime(PostgresqlJournal):
    """A journal whose batches have the time of the tests."""

    def read_time(self) -> None:
        """The clock of this machine counts."""


STORES: list[Callable[[], Store]] = [SqliteStore, MemoryStore, PostgresqlStore]


class ByteStore(Protocol):
    """Opens the bytes of registries, and damages them for a test."""

    def open_bytes(self, root: Path) -> Bytes: ...

    def shorten_segment(self, root: Path, number: int, length: int) -> None: ...


class SegmentStore:
    """WARC segments on the disk."""

    def open_bytes(self, root: Path) -> Segments:
        return Segments(root)

    def shorten_segment(self, root: Path, number: int, length: int) -> None:
        os.truncate(find_path(root, number), length)


class ObjectByteStore:
    """Objects of an S3 server, under a prefix for each directory."""

    def __init__(self) -> None:
        self._address = objects.parse_address(make_object_address(), {})

    def open_bytes(self, root: Path) -> ObjectBytes:
        return ObjectBytes(self._address, root, self.find_prefix)

    def find_prefix(self, root: Path) -> str:
        return f"{self._address.prefix}/{root.name}"

    def shorten_segment(self, root: Path, number: int, length: int) -> None:
        client = ObjectClient(self._address, self.find_prefix(root))
        for part in require_layout(client, number).parts:
            if part.end > length:
                left = client.read_range(part.key, 0, length - part.start)
                client.replace_object(part.key, lambda: iter((left,)))  # noqa: B023 - used at once


BYTE_STORES: list[Callable[[], ByteStore]] = [SegmentStore, MemoryByteStore, ObjectByteStore]


class StoreDesk(Desk):
    """A desk whose registry is kept with a given store."""

    def __init__(self, root: Path, clock: Clock, store: Store) -> None:
        self.store = store
        store.create_registry(root)
        super().__init__(root, clock)

    def _open(self) -> Registry:
        return Registry(self.root, environment=self.environment, clock=self.clock, store=self.store)
