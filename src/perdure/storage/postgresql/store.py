"""The store that keeps registries in PostgreSQL.

A directory is a node: it has the settings, which name the database, and what a node keeps for
itself. Any number of directories, on any machines, may name the same registry.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Never, cast

from perdure.errors.processes import NotOfThisStore
from perdure.storage.byte_ports import Bytes
from perdure.storage.postgresql import arriving, leaving
from perdure.storage.postgresql.addresses import DatabaseAddress, parse_address
from perdure.storage.postgresql.elsewhere import BytesOfKeeper, find_keeper, name_keeper
from perdure.storage.postgresql.examining import examine_database
from perdure.storage.postgresql.journal import PostgresqlJournal
from perdure.storage.postgresql.records import PostgresqlRecords
from perdure.storage.postgresql.schema import create_schema
from perdure.storage.store_findings import StoreFinding

_TO_RESTORE = "restore the database with PostgreSQL's own tools, such as pg_restore or pgBackRest"
_TO_BACK_UP = "back up the database with pg_dump or pgBackRest, and the directory with its bytes"


class PostgresqlStore:
    """Keeps a registry in a schema of a database."""

    def __init__(self, address: str) -> None:
        """Raises BadSettings if the address is not one."""
        self._address = parse_address(address)

    def find_address(self, root: Path) -> DatabaseAddress:
        """The address of the registry of a directory: the same for every directory."""
        del root
        return self._address

    def create_registry(self, root: Path) -> None:
        create_schema(self.find_address(root))
        name_keeper(self.find_address(root), root)

    def open_records(self, root: Path) -> PostgresqlRecords:
        return PostgresqlRecords(self.find_address(root))

    def open_journal(self, root: Path) -> PostgresqlJournal:
        return PostgresqlJournal(self.find_address(root))

    def examine(self, root: Path) -> list[StoreFinding]:
        return examine_database(self.find_address(root))

    def guard_bytes(self, root: Path, held: Bytes) -> Bytes:
        """The bytes as this node may use them: only one node keeps those that are in files."""
        if held.is_shared:
            return held
        find = partial(find_keeper, self.find_address(root), root)
        return cast("Bytes", BytesOfKeeper(held, find))

    def open_renewal(self, root: Path) -> Never:
        del root
        raise NotOfThisStore(task="rebuilding the registry", mend=_TO_RESTORE)

    def open_salvage(self, root: Path) -> Never:
        del root
        raise NotOfThisStore(task="rebuilding the registry", mend=_TO_RESTORE)

    def begin_copy(self, root: Path, work: Path, target: Path) -> Never:
        del root, work, target
        raise NotOfThisStore(task="copying the registry", mend=_TO_BACK_UP)

    def is_past(self, earlier: Path, later: Path) -> bool:
        """Return True: all directories have the same registry."""
        del earlier, later
        return True

    def find_file(self, root: Path) -> Path | None:
        del root
        return None

    def install_registry(self, work: Path, root: Path, *, aside: Path | None = None) -> Never:
        del work, root, aside
        raise NotOfThisStore(task="rebuilding the registry", mend=_TO_RESTORE)

    # Moving
    # ------

    def open_whole(self, root: Path) -> leaving.WholeSchema:
        return leaving.WholeSchema(self.open_records(root))

    def hold_writers(self, root: Path) -> AbstractContextManager[leaving.SchemaDeparture]:
        return leaving.hold_writers(self.find_address(root), root)

    def find_new_place(self, root: Path) -> str:
        return leaving.find_new_place(self.find_address(root))

    def open_arrival(self, root: Path, move: str) -> arriving.SchemaArrival:
        return arriving.open_arrival(self.find_address(root), root, move)

    def has_arrived(self, root: Path, move: str) -> bool:
        return arriving.has_arrived(self.find_address(root), move)

    def abandon_arrival(self, root: Path, move: str) -> None:
        arriving.abandon_arrival(self.find_address(root), move)

    def check_bytes(self, root: Path, address: str) -> None:
        leaving.check_bytes(self.find_address(root), address)
