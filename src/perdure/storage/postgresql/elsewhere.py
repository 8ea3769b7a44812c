"""Bytes that another machine keeps: what a node says that has only the records.

How it works: segments are files of one directory, that of the node which was made first: the keeper
of the bytes. The database names it. Every other node mints names, binds and redirects; asked for
bytes, to read or to write them, it names the keeper.

What must stay true: a node never takes the segments of another one for lost, and never writes some
of its own beside them.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, Never, cast
from uuid import uuid4

import psycopg

from perdure.errors.unavailable import BytesAtKeeper
from perdure.storage.byte_ports import Bytes, BytesWriter
from perdure.storage.durable import write_durably
from perdure.storage.postgresql.addresses import DatabaseAddress
from perdure.storage.postgresql.connecting import connect, reading_errors

_FILE = "node"
_NAME = "INSERT INTO meta VALUES ('keeper', %s), ('keeper host', %s) ON CONFLICT DO NOTHING"
_KEEPER = "SELECT name, value FROM meta WHERE name IN ('keeper', 'keeper host')"
_FREE_OF_BYTES = frozenset(
    (
        "create",
        "close",
        "examine",
        "forget_erased",
        "list_directories",
        "list_numbers",
        "open_writer",
    )
)
"""What also a node without the bytes does."""


def name_keeper(address: DatabaseAddress, root: Path) -> None:
    """Give a directory the name of a node; the first one is the keeper of the bytes."""
    values = [value for _, value in name_node(root)]
    with connect(address) as connection, reading_errors(address):
        connection.execute(_NAME, values)


def name_node(root: Path) -> tuple[tuple[str, str], tuple[str, str]]:
    """The rows of `meta` that make a directory the keeper of the bytes. It gets a name, if it has
    none. Raises OSError."""
    if not (root / _FILE).exists():
        write_durably(root / _FILE, f"{uuid4()}\n".encode())
    return ("keeper", _read_node(root)), ("keeper host", socket.gethostname())


def _read_node(root: Path) -> str:
    try:
        return (root / _FILE).read_text("ascii").strip()
    except (FileNotFoundError, UnicodeDecodeError):
        return ""


def find_keeper(address: DatabaseAddress, root: Path) -> str | None:
    """The machine of the node that keeps the bytes, or None if this directory does."""
    with connect(address) as connection, reading_errors(address):
        try:
            said = dict(connection.execute(_KEEPER).fetchall())
        except psycopg.errors.UndefinedTable:
            return None
    return None if said.get("keeper") == _read_node(root) else said.get("keeper host", "unknown")


class BytesOfKeeper:
    """The bytes of a registry for one of its nodes, as the port `perdure.storage.byte_ports.Bytes`.

    Which node keeps them is asked when they are needed first.
    """

    def __init__(self, held: Bytes, find: Callable[[], str | None]) -> None:
        self._held = held
        self._find = find
        self._is_known = False
        self._host: str | None = None

    @property
    def is_shared(self) -> bool:
        return False

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call_method(*arguments: Any, **named: Any) -> Any:
            if name not in _FREE_OF_BYTES and self._find_host() is not None:
                self._refuse()
            return getattr(self._held, name)(*arguments, **named)

        return call_method

    def _find_host(self) -> str | None:
        if not self._is_known:
            self._host = self._find()
            self._is_known = True
        return self._host

    def _refuse(self) -> Never:
        raise BytesAtKeeper(host=self._host or "")

    def open_writer(self, *arguments: Any, **named: Any) -> BytesWriter:
        if self._find_host() is not None:
            return cast("BytesWriter", _NoBytes(self._refuse))
        return self._held.open_writer(*arguments, **named)


class _NoBytes:
    """The writer of a node that keeps no bytes, as the port `BytesWriter`."""

    def __init__(self, refuse: Callable[..., Never]) -> None:
        self._refuse = refuse

    def begin_batch(self, now: str) -> None:
        """Do nothing."""

    def append(self, *_: object) -> Never:
        self._refuse()

    adopt = append_tombstone = append_correction = append

    def send(self) -> None:
        """Do nothing: nothing is queued."""

    flush = note_commit = rewind_batch = close = send

    def list_lengths(self) -> list[tuple[int, int, bool]]:
        return []

    def list_sealable(self, now: str) -> list[int]:
        del now
        return []
