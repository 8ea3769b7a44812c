"""The embedded store, which keeps a registry unless its settings name another."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from pathlib import Path

from perdure.storage.byte_ports import Bytes
from perdure.storage.durable import replace_durably, sync_directory, sync_file
from perdure.storage.sqlite import arriving, copies, leaving, opening
from perdure.storage.sqlite.journal import SqliteJournal
from perdure.storage.sqlite.opening import FILE, storage_errors
from perdure.storage.sqlite.records import SqliteRecords
from perdure.storage.sqlite.renewing import RenewedJournal
from perdure.storage.sqlite.salvaging import SqliteSalvage
from perdure.storage.store_findings import StoreFinding, examine_file_system

_LOGS = ("-wal", "-shm")


class SqliteStore:
    """Keeps a registry in one SQLite file in its directory."""

    def create_registry(self, root: Path) -> None:
        opening.create_registry(root)

    def open_records(self, root: Path) -> SqliteRecords:
        return SqliteRecords(root)

    def open_journal(self, root: Path) -> SqliteJournal:
        return SqliteJournal(root)

    def examine(self, root: Path) -> list[StoreFinding]:
        return [examine_file_system(root)]

    def guard_bytes(self, root: Path, held: Bytes) -> Bytes:  # noqa: ARG002  (as the port has it)
        return held

    def open_renewal(self, root: Path) -> RenewedJournal:
        opening.create_registry(root, is_durable=False)
        return RenewedJournal(root)

    def open_salvage(self, root: Path) -> SqliteSalvage:
        return SqliteSalvage(root)

    def begin_copy(self, root: Path, work: Path, target: Path) -> copies.SqliteCopy:
        return copies.SqliteCopy(root, work / FILE, target / FILE)

    def is_past(self, earlier: Path, later: Path) -> bool:
        before = earlier / FILE
        return not before.exists() or copies.is_past(before, later / FILE)

    def find_file(self, root: Path) -> Path | None:
        return root / FILE

    def install_registry(self, work: Path, root: Path, *, aside: Path | None = None) -> None:
        fresh, old = work / FILE, root / FILE
        if aside is not None:
            for suffix in _LOGS:  # left only if the old file could not be opened
                log = root / f"{FILE}{suffix}"
                if log.exists():
                    log.replace(aside.with_name(f"{aside.name}.sqlite{suffix}"))
            if old.exists():
                os.link(old, aside.with_name(f"{aside.name}.sqlite"))
                sync_directory(aside.parent)
        with storage_errors("the new registry"):
            sync_file(fresh)
            replace_durably(fresh, old)

    # Moving
    # ------

    def open_whole(self, root: Path) -> leaving.WholeFile:
        return leaving.WholeFile(SqliteRecords(root))

    def hold_writers(self, root: Path) -> AbstractContextManager[leaving.FileDeparture]:
        return leaving.hold_writers(root)

    def find_new_place(self, root: Path) -> str:
        return leaving.find_new_place(root)

    def open_arrival(self, root: Path, move: str) -> arriving.FileArrival:
        return arriving.open_arrival(root, move)

    def has_arrived(self, root: Path, move: str) -> bool:
        return arriving.has_arrived(root, move)

    def abandon_arrival(self, root: Path, move: str) -> None:
        del move
        arriving.abandon_arrival(root)

    def check_bytes(self, root: Path, address: str) -> None:
        """Do nothing: no other directory has the registry."""
