"""A registry in PostgreSQL that a registry leaves.

How it works: one transaction takes the lock of the table in which each batch of each node notes its
number, so that the batches under way have ended and no further one can. At its end a trigger
refuses all later batches, the schema gets another name, and a new one with the old name says where
the registry is now: no node finds the old tables, to write or to read.

What must stay true: after `leave`, no node answers from the old tables, whatever it had open.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import psycopg

from perdure.errors.moving import RegistryMoved
from perdure.model.changes import (
    ChangeMark,
)
from perdure.storage.moving_ports import OtherRows, PastLine, WholeRecord
from perdure.storage.postgresql.addresses import DatabaseAddress
from perdure.storage.postgresql.connecting import (
    Connection,
    connect,
    connect_database,
    reading_errors,
)
from perdure.storage.postgresql.elsewhere import name_node
from perdure.storage.postgresql.records import PostgresqlRecords

ARRIVING, ARRIVED, MOVED, BYTES = "arriving", "arrived", "moved", "bytes"
"""Names in `meta`: the move that fills the registry, the one that brought it, the address to which
it was moved, and that of its bytes."""
_LOCK_SECONDS = 60
NOTE = """
INSERT INTO meta VALUES (%s, %s) ON CONFLICT (name) DO UPDATE SET value = excluded.value
"""
"""The statement that writes into `meta`."""
_TABLES = """
SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s) AND relkind IN ('r', 'p')
"""
_REFUSE = """
CREATE FUNCTION refuse_batch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '%', TG_ARGV[0] USING ERRCODE = 'PD003';
END $$;
CREATE TRIGGER nodes_moved BEFORE INSERT OR UPDATE ON nodes
  FOR EACH ROW EXECUTE FUNCTION refuse_batch({});
"""
_MARKED = """
SELECT records.key, record, epoch, number FROM records LEFT JOIN changes ON id = change
  WHERE {} ORDER BY records.key LIMIT %s
"""
_PAST = """
SELECT history.key, history.revision, record, epoch, number
  FROM history LEFT JOIN changes ON id = change
  WHERE history.key = ANY(%s) ORDER BY history.key, history.revision
"""
_TOKEN_CHANGES = """
SELECT old.name, old.at, old.actor, before, after, epoch, changes.number
  FROM token_changes AS old LEFT JOIN changes ON id = change
  ORDER BY id, old.name, old.number
"""


class WholeSchema:
    """A registry as it is stored, as the port `perdure.storage.moving_ports.WholeRegistry`."""

    def __init__(self, records: PostgresqlRecords) -> None:
        self.records = records

    def read_range(self, after: str, until: str | None, *, limit: int) -> list[WholeRecord]:
        where, values = "records.key > %s", (after,)
        if until is not None:
            where, values = f"{where} AND records.key <= %s", (after, until)  # type: ignore[assignment]
        return self._read(where, (*values, limit))

    def read_some(self, keys: Sequence[str]) -> list[WholeRecord]:
        sought = [key for key in keys if "\0" not in key]
        return self._read("records.key = ANY(%s)", (sought, len(sought))) if sought else []

    def _read(self, where: str, values: Sequence[Any]) -> list[WholeRecord]:
        ask = self.records._ask
        with self.records.hold_snapshot():
            rows = ask(_MARKED.format(where), values)
            past = ask(_PAST, ([row[0] for row in rows],)) if rows else []
        earlier = {
            key: tuple(PastLine(one[1], one[2], _make_mark(*one[3:])) for one in some)
            for key, some in groupby(past, itemgetter(0))
        }
        return [
            WholeRecord(key, text, _make_mark(*mark), earlier.get(key, ()))
            for key, text, *mark in rows
        ]

    def read_others(self) -> OtherRows:
        ask = self.records._ask
        with self.records.hold_snapshot():
            return OtherRows(
                tokens=ask("SELECT name, digest, token FROM tokens ORDER BY name"),
                token_changes=[(*row[:5], _make_mark(*row[5:])) for row in ask(_TOKEN_CHANGES)],
                rules=ask("SELECT number, key, rule FROM rules ORDER BY number"),
                answers=sorted(ask("SELECT actor, once, request, receipt, at FROM answered")),
                segments=ask("SELECT number, length, opened, grows FROM segments ORDER BY number"),
            )

    def close(self) -> None:
        self.records.close()


def _make_mark(epoch: int | None, number: int | None) -> ChangeMark | None:
    return None if epoch is None or number is None else ChangeMark(epoch, number)


class SchemaDeparture:
    """The lock of all batches, as the port `perdure.storage.moving_ports.Departure`."""

    def __init__(self, connection: Connection, address: DatabaseAddress, root: Path) -> None:
        self._connection = connection
        self._address = address
        self._root = root

    def leave(self, to: str) -> None:
        execute, schema = self._connection.execute, self._address.schema
        with reading_errors(self._address):
            execute(_REFUSE.format(psycopg.sql.quote(to)))
            execute(NOTE, (MOVED, to))
            names = {row[0] for row in execute("SELECT nspname FROM pg_namespace").fetchall()}
            candidates = (f"{schema[:45]}_left_{number}" for number in range(1, 1 << 20))
            other = next(name for name in candidates if name not in names)
            execute(f"ALTER SCHEMA {schema} RENAME TO {other}")
            execute(f"CREATE SCHEMA {schema}")
            execute(f"CREATE TABLE {schema}.meta AS SELECT * FROM {other}.meta")
            self._connection.commit()

    def change_bytes(self, to: str) -> None:
        with reading_errors(self._address):
            self._connection.execute("UPDATE nodes SET batch = -1")
            self._connection.execute(NOTE, (BYTES, to))
            for name, value in name_node(self._root):  # if they are in files, they are here
                self._connection.execute(NOTE, (name, value))
            self._connection.commit()


@contextmanager
def hold_writers(address: DatabaseAddress, root: Path) -> Iterator[SchemaDeparture]:
    """Let no node commit a batch, after those under way. Raises Unavailable."""
    with closing(connect(address)) as connection:
        connection.autocommit = False
        with reading_errors(address):
            connection.execute(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'")
            connection.execute("LOCK TABLE nodes IN SHARE ROW EXCLUSIVE MODE")
        yield SchemaDeparture(connection, address, root)


def find_new_place(address: DatabaseAddress) -> str:
    """The address to which the registry of a schema was moved, or an empty text."""
    return find_place_note(address, MOVED)


def find_place_note(address: DatabaseAddress, name: str) -> str:
    """A value in `meta`, or an empty text if there is none."""
    with closing(connect_database(address)) as connection, reading_errors(address):
        if ("meta",) not in connection.execute(_TABLES, (address.schema,)).fetchall():
            return ""
        ask = f"SELECT value FROM {address.schema}.meta WHERE name = %s"
        row = connection.execute(ask, (name,)).fetchone()
        return str(row[0]) if row else ""


def check_bytes(address: DatabaseAddress, place: str) -> None:
    """Raise RegistryMoved if the bytes of a registry were moved elsewhere than to an address."""
    there = find_place_note(address, BYTES)
    if there not in ("", place):
        raise RegistryMoved(to=there)
