"""Registries on every store there is, for the contracts of the ports."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.conftest import Clock, Desk

from perdure.registry import Registry
from perdure.storage.ports import Store
from perdure.storage.sqlite.store import SqliteStore
from perdure.testing.stores import MemoryStore

STORES: list[Callable[[], Store]] = [SqliteStore, MemoryStore]


class StoreDesk(Desk):
    """A desk whose registry is kept with a given store."""

    def __init__(self, root: Path, clock: Clock, store: Store) -> None:
        self.store = store
        store.create_registry(root)
        super().__init__(root, clock)

    def _open(self) -> Registry:
        return Registry(self.root, environment=self.environment, clock=self.clock, store=self.store)
