"""Reading a registry in PostgreSQL, as the port `perdure.storage.ports.Records`.

How it works: each thread has its own connection to the primary, so each read sees every write that
was acknowledged before. A connection that was lost is opened again, and the read repeated. Reads of
changes first number those that are waiting (`perdure.storage.postgresql.sequencing`).

What must stay true: within `hold_snapshot` nothing is repeated on another connection.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from typing import Any

import psycopg

from perdure.errors import Corrupt
from perdure.model.changes import Line
from perdure.model.reading_rules import ReadingRule
from perdure.model.records import Record, Token
from perdure.model.stored import LEAST_WITH_BYTES
from perdure.storage.ports import LineRun
from perdure.storage.postgresql.addresses import DatabaseAddress
from perdure.storage.postgresql.changes import ChangeReader
from perdure.storage.postgresql.connecting import Connection, connect, translate_reading
from perdure.storage.postgresql.counter import DatabaseCounter
from perdure.storage.postgresql.decoding import (
    decode_or_report,
    decode_record,
    decode_rule,
    decode_token,
)
from perdure.storage.postgresql.sequencing import number_waiting
from perdure.storage.postgresql.turns import DatabaseTurns
from perdure.storage.reference_hashes import reference_hash

_LAST_REVISION = (1 << 31) - 1
STORED = "SELECT record FROM records WHERE key = %s"
STORED_OF_MANY = "SELECT key, record FROM records WHERE key = ANY(%s)"
_LAST = "SELECT key, record FROM records WHERE key >= %s AND key <= %s ORDER BY key DESC LIMIT 1"
_REFERRING = "SELECT key FROM refers WHERE hash = %s ORDER BY key LIMIT %s"
_SEGMENTS = "SELECT number, length, opened FROM segments ORDER BY number"
_UNLINKED = """
SELECT sought.hash, sought.key FROM unnest(%s::bigint[], %s::text[]) AS sought (hash, key)
  LEFT JOIN refers USING (hash, key) LEFT JOIN staged_refers AS staged USING (hash, key)
  WHERE refers.hash IS NULL AND staged.hash IS NULL
"""
_INVALID = """
SELECT indexrelid::regclass::text FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
  WHERE indisvalid = false AND relnamespace = current_schema()::regnamespace
"""


def write_range(low: str, high: str | None) -> tuple[str, tuple[str, ...]]:
    """The condition of a range of keys, and its values. No text in PostgreSQL has a zero byte."""
    end = f"{low}\0".partition("\0")[0]  # a key with such a byte comes after the one without
    above = "key >= %s" if end == low else "key > %s"
    if high is None:
        return above, (end,)
    top = high.partition("\0")[0]
    return f"{above} AND key {'<' if top == high else '<='} %s", (end, top)


class PostgresqlRecords(ChangeReader):
    """Reads a registry. Each thread has its own connection."""

    def __init__(self, address: DatabaseAddress) -> None:
        self._address = address
        self._local = threading.local()
        self._connections: list[Connection] = []

    @property
    def connection(self) -> Connection:
        """The connection of this thread."""
        found: Connection | None = getattr(self._local, "connection", None)
        if found is None or found.closed:
            if found is not None:
                self._local.connection = None
                self._connections.remove(found)
            found = self._local.connection = connect(self._address)
            self._connections.append(found)
        return found

    def _ask(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Query the registry. Raises Unavailable."""
        rows: list[Any] = self._read(lambda one: one.execute(statement, values).fetchall())
        return rows

    def _read(self, read: Callable[[Connection], Any]) -> Any:
        is_held = getattr(self._local, "is_held", False)
        connection = self.connection
        try:
            return read(connection)
        except psycopg.Error as error:
            if is_held or not connection.closed:
                raise translate_reading(error, self._address) from None
        try:
            return read(self.connection)
        except psycopg.Error as error:
            raise translate_reading(error, self._address) from None

    def _number_waiting(self) -> None:
        if not self.holds_snapshot:
            self._read(number_waiting)

    @property
    def holds_snapshot(self) -> bool:
        return getattr(self._local, "is_held", False)

    @contextmanager
    def hold_snapshot(self) -> Iterator[None]:
        if self.holds_snapshot:
            yield
            return
        self._number_waiting()
        self.begin_reading()
        try:
            yield
        finally:
            self.end_reading()

    def begin_reading(self) -> None:
        """Keep one state for this thread until `end_reading`. Raises Unavailable."""
        self._read(lambda one: one.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))
        self._local.is_held = True

    def end_reading(self) -> None:
        """See the newest state again."""
        self._local.is_held = False
        with suppress(psycopg.Error):
            self._local.connection.execute("COMMIT")

    def open_counter(self) -> DatabaseCounter:
        return DatabaseCounter(self._ask)

    # Records
    # -------

    def find_stored(self, key: str) -> str | None:
        rows = self._ask(STORED, (key,)) if "\0" not in key else ()
        return rows[0][0] if rows else None

    def find_record(self, key: str) -> Record | None:
        text = self.find_stored(key)
        return None if text is None else decode_record(key, text)

    def find_records(self, keys: Sequence[str]) -> dict[str, Record]:
        sought = [key for key in keys if "\0" not in key]
        rows = self._ask(STORED_OF_MANY, (sought,)) if sought else ()
        return {key: decode_record(key, text) for key, text in rows}

    def open_lookup(self, *, cold: bool = False) -> PostgresqlLookUp:
        del cold  # the server has the pages
        return PostgresqlLookUp(self._address)

    def open_turns(self) -> DatabaseTurns:
        return DatabaseTurns(self._address)

    def read_ahead(self, is_wanted: Callable[[], bool]) -> None:
        """Do nothing: the server has the pages."""

    def _scan(self, low: str, high: str | None, limit: int, *, columns: str, more: str = "") -> Any:
        where, values = write_range(low, high)
        statement = f"SELECT {columns} FROM records WHERE {where} {more} ORDER BY key LIMIT %s"
        return self._ask(statement, (*values, limit))

    def scan_records(
        self, low: str, high: str | None, *, limit: int, with_bytes: bool = False
    ) -> list[tuple[str, Record | Corrupt]]:
        more = f"AND record COLLATE \"C\" >= '{LEAST_WITH_BYTES}'" if with_bytes else ""
        rows = self._scan(low, high, limit, columns="key, record", more=more)
        return [(key, decode_or_report(key, text)) for key, text in rows]

    def scan_lines(self, low: str, high: str | None, *, limit: int) -> list[Line] | None:
        rows: list[Line] = self._scan(low, high, limit, columns="key, record")
        return rows

    def scan_runs(self, low: str, *, limit: int) -> list[LineRun] | None:
        self._number_waiting()
        rows = self._scan(low, None, limit, columns="key, record, change")
        marks = self._find_marks({change for _, _, change in rows if change is not None})
        runs = []
        for change, run in groupby(rows, lambda row: row[2]):
            keys, texts, _ = zip(*run, strict=True)
            runs.append(LineRun(marks.get(change), keys, texts))
        return runs

    def find_first_key(self, low: str, high: str) -> str | None:
        rows = self._scan(low, high, 1, columns="key")
        return rows[0][0] if rows else None

    def count_keys(self, low: str, high: str) -> int:
        where, values = write_range(low, high)
        return int(self._ask(f"SELECT count(*) FROM records WHERE {where}", values)[0][0])

    def list_keys_with(self, text: str) -> list[str]:
        rows = self._ask("SELECT key FROM records WHERE strpos(key, %s) > 0 ORDER BY key", (text,))
        return [key for (key,) in rows]

    def find_referring(self, reference: str, *, limit: int | None = None) -> list[str]:
        return [key for (key,) in self._ask(_REFERRING, (reference_hash(reference), limit))]

    def find_any_referring(self, references: Sequence[str]) -> list[str]:
        return sorted({key for one in references for key in self.find_referring(one)})

    def list_revisions(self, key: str) -> list[Record]:
        past = self.list_past(key, _LAST_REVISION)
        current = self.find_record(key)
        return [*past, current] if current else past

    def list_past(self, key: str, before: int) -> list[Record]:
        rows = self._ask(
            "SELECT record FROM history WHERE key = %s AND revision < %s ORDER BY revision",
            (key, before),
        )
        return [decode_record(key, text) for (text,) in rows]

    def count_records(self) -> int:
        return int(self._ask("SELECT count(*) FROM records")[0][0])

    def count_revisions(self) -> int:
        both = "SELECT (SELECT count(*) FROM records) + (SELECT count(*) FROM history)"
        return int(self._ask(both)[0][0])

    # Tokens, rules, segments
    # -----------------------

    def find_token(self, digest: str) -> Token | None:
        rows = self._ask("SELECT token FROM tokens WHERE digest = %s", (digest,))
        return decode_token(rows[0][0]) if rows else None

    def find_token_named(self, name: str) -> Token | None:
        if "\0" in name:
            return None
        rows = self._ask("SELECT token FROM tokens WHERE name = %s", (name,))
        return decode_token(rows[0][0]) if rows else None

    def list_tokens(self) -> list[Token]:
        rows = self._ask("SELECT token FROM tokens ORDER BY name")
        return [decode_token(text) for (text,) in rows]

    def list_token_changes(self, name: str) -> list[tuple[str, str, str | None, str]]:
        of_name = "SELECT at, actor, before, after FROM token_changes WHERE name = %s"
        return self._ask(f"{of_name} ORDER BY number", (name,))

    def find_last_rule(self) -> int:
        return int(self._ask("SELECT coalesce(max(number), 0) FROM rules")[0][0])

    def _find_rules(self, where: str, *values: str | int) -> list[ReadingRule]:
        rows = self._ask(f"SELECT number, rule FROM rules WHERE {where}", values)
        return [decode_rule(number, text) for number, text in rows]

    def find_rules(self, key: str, after: int = 0) -> list[ReadingRule]:
        return self._find_rules("key = %s AND number > %s ORDER BY number", key, after)

    def find_rules_below(self, beginning: str, after: int = 0) -> list[ReadingRule]:
        where = "starts_with(key, %s) AND key >= %s AND number > %s ORDER BY number"
        return self._find_rules(where, beginning, beginning, after)

    def list_rules(self, after: int = 0, *, limit: int) -> list[ReadingRule]:
        return self._find_rules("number > %s ORDER BY number LIMIT %s", after, limit)

    def list_segments(self) -> list[tuple[int, int, str]]:
        return self._ask(_SEGMENTS)

    # Checking
    # --------

    def check_integrity(self) -> Iterator[Corrupt]:
        """Yield an error for each index that the server says is not valid.

        The server checks its pages itself if the cluster has checksums (`perdure doctor`).
        """
        from perdure.errors.corruption import IndexInvalid

        for (name,) in self._ask(_INVALID):
            yield IndexInvalid(identifier=name)

    def find_unlinked(self, rows: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
        if not rows:
            return []
        hashes, keys = zip(*rows, strict=True)
        found = set(self._ask(_UNLINKED, (list(hashes), list(keys))))
        return [row for row in rows if row in found]

    def sum_references(self) -> tuple[int, int] | None:
        return None  # all of them would have to be sent here

    def divide_keys(self, count: int) -> list[str]:  # noqa: ARG002 - it need not divide
        return []

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        self._local = threading.local()


class PostgresqlLookUp:
    """Looks up records for one thread, as the port `perdure.storage.ports.RecordLookUp`."""

    def __init__(self, address: DatabaseAddress) -> None:
        self._records = PostgresqlRecords(address)

    def find_stored(self, key: str) -> str | None:
        return self._records.find_stored(key)

    def find_last_stored(self, low: str, high: str) -> tuple[str, str] | None:
        if "\0" in low or "\0" in high:
            return None
        rows = self._records._ask(_LAST, (low, high))
        return rows[0] if rows else None

    def find_referring(self, reference: str, *, limit: int) -> list[str]:
        return self._records.find_referring(reference, limit=limit)

    def hold_state(self) -> None:
        self._records.begin_reading()

    def release_state(self) -> None:
        self._records.end_reading()
