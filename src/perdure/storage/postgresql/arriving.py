"""A registry in PostgreSQL in which a registry arrives.

How it works: its schema says so in the table `meta`, and every session but that of the move is
refused. `complete` removes this note.

What must stay true: a change gets the next `id` in the order of the chain, as if it had been
numbered here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from perdure.errors.corruption import ChainBroken
from perdure.errors.moving import PlaceTaken
from perdure.model import stored
from perdure.model.changes import (
    RECONSTRUCTED,
    WITHOUT_RECORDS,
    ChangeMark,
    Numbering,
    begin_chain,
    find_leaf,
)
from perdure.storage.moving_ports import MovedChange, OtherRows, WholeRecord
from perdure.storage.postgresql.addresses import DatabaseAddress
from perdure.storage.postgresql.connecting import (
    Connection,
    connect_database,
    reading_errors,
)
from perdure.storage.postgresql.journal import PostgresqlJournal, spell_replayed
from perdure.storage.postgresql.leaving import (
    ARRIVED,
    ARRIVING,
    MOVED,
    NOTE,
    WholeSchema,
    find_place_note,
)
from perdure.storage.postgresql.records import PostgresqlRecords
from perdure.storage.postgresql.schema import create_schema
from perdure.storage.postgresql.sequencing import add_epoch, find_chain_head

_TABLES = """
SELECT relname FROM pg_class WHERE relnamespace = to_regnamespace(%s) AND relkind IN ('r', 'p')
"""
_COPY_CHANGES = """
COPY changes (id, act, at, actor, first, last, records, revision, digest, salt, leaf, epoch, number,
  chain) FROM STDIN
"""
_KEEP_PAST = """
INSERT INTO history SELECT key, %s, record, change FROM records WHERE key = %s
"""
_CHANGE = "UPDATE records SET record = %s, change = %s WHERE key = %s"
_PUT = """
INSERT INTO records VALUES (%s, %s, %s)
  ON CONFLICT (key) DO UPDATE SET record = excluded.record, change = excluded.change
"""
_PUT_PAST = """
INSERT INTO history VALUES (%s, %s, %s, %s)
  ON CONFLICT (key, revision) DO UPDATE SET record = excluded.record
"""
_PLACE = "(SELECT id FROM changes WHERE epoch = %s AND number = %s)"
_FREE = "ALTER SEQUENCE changes_id_seq RESTART WITH {}"


class SchemaArrival(PostgresqlJournal):
    """A schema that is being filled, as the port `perdure.storage.moving_ports.Arrival`."""

    def __init__(self, address: DatabaseAddress, root: Path, move: str) -> None:
        super().__init__(address)
        self._root = root
        self._move = move
        self._whole = WholeSchema(PostgresqlRecords(address))

    @property
    def records(self) -> PostgresqlRecords:
        return self._whole.records

    @contextmanager
    def _hold_batch(self) -> Iterator[Connection]:
        self.begin_batch()
        try:
            with self._in_our_terms() as connection:
                yield connection
            self.commit_batch()
        except BaseException:
            self.roll_back()
            raise

    def add_changes(
        self, changes: Sequence[MovedChange], references: Iterable[tuple[int, str]]
    ) -> None:
        with self._hold_batch() as connection:
            last = connection.execute("SELECT coalesce(max(id), 0) FROM changes").fetchone()
            first = (last[0] if last else 0) + 1
            self._copy_changes(connection, changes, first)
            self._add_lines(connection, changes, first)
            self.add_references(references)

    def _copy_changes(
        self, connection: Connection, changes: Sequence[MovedChange], first: int
    ) -> None:
        head, numbering = find_chain_head(connection), Numbering()
        if head is not None:
            numbering.restart_at(head.epoch, head.number, bytes.fromhex(head.chain))
        for change, _, epoch in changes:
            if epoch is not None:
                numbering.restart_at(epoch.epoch, 0, begin_chain(epoch))
                add_epoch(connection, epoch)
            numbering.count_leaf(find_leaf(change))
            if (change.epoch, change.number, change.chain) != (
                numbering.epoch,
                numbering.number,
                numbering.chain,
            ):
                mark = str(change.mark)
                stated, found = change.chain.hex(), numbering.chain.hex()
                raise ChainBroken(change=mark, stated=stated, found=found)
        with connection.cursor().copy(_COPY_CHANGES) as copy:
            for id, (change, _, _) in enumerate(changes, first):
                copy.write_row((id, *spell_replayed(change)))

    def _add_lines(
        self, connection: Connection, changes: Sequence[MovedChange], first: int
    ) -> None:
        sought = {
            key
            for change, lines, _ in changes
            if change.act not in WITHOUT_RECORDS and change.count == 1
            for key, _ in lines
        }
        known = "SELECT key, record FROM records WHERE key = ANY(%s)"
        present: dict[str, str] = dict(connection.execute(known, (sorted(sought),)).fetchall())
        waiting: dict[str, tuple[str, str, int | None]] = {}
        for id, (change, lines, _) in enumerate(changes, first):
            if change.act in WITHOUT_RECORDS:
                continue
            place = None if change.epoch == RECONSTRUCTED else id
            for key, text in lines:
                if key in waiting:
                    present.update((one, row[1]) for one, row in waiting.items())
                    _copy_records(connection, waiting)
                if key not in present:
                    waiting[key] = (key, text, place)
                    continue
                revision = stored.decode_stored(present[key]).revision
                self._write(_KEEP_PAST, (revision, key))
                self._write(_CHANGE, (text, place, key))
                present[key] = text
                if len(self._waiting) > 1000:
                    self._send_waiting()
        _copy_records(connection, waiting)
        self._send_waiting()

    def put_records(
        self,
        records: Sequence[WholeRecord],
        dropped: Iterable[tuple[int, str]],
        references: Iterable[tuple[int, str]],
    ) -> None:
        with self._hold_batch() as connection:
            for one in records:
                connection.execute("SELECT set_config('perdure.rewritten', %s, true)", (one.key,))
                place = self._find_id(connection, one.mark)
                connection.execute(_PUT, (one.key, one.text, place))
                for past in one.past:
                    place = self._find_id(connection, past.mark)
                    connection.execute(_PUT_PAST, (one.key, past.revision, past.text, place))
            connection.execute("SELECT set_config('perdure.rewritten', '', true)")
            self.drop_references(dropped)
            self.add_references(references)

    @staticmethod
    def _find_id(connection: Connection, mark: ChangeMark | None) -> int | None:
        if mark is None:
            return None
        row = connection.execute(f"SELECT {_PLACE}", (mark.epoch, mark.number)).fetchone()
        return row[0] if row else None

    def drop_salts(self, marks: Iterable[ChangeMark]) -> None:
        with self._hold_batch() as connection:
            for mark in marks:
                where = "WHERE epoch = %s AND number = %s"
                connection.execute(
                    f"UPDATE changes SET salt = NULL {where}", (mark.epoch, mark.number)
                )

    def put_others(self, rows: OtherRows) -> None:
        with self._hold_batch() as connection:
            execute = connection.execute
            execute("DELETE FROM tokens")
            execute("DELETE FROM answered")
            execute("DELETE FROM segments")
            cursor = connection.cursor()
            cursor.executemany("INSERT INTO tokens VALUES (%s, %s, %s)", rows.tokens)
            cursor.executemany("INSERT INTO answered VALUES (%s, %s, %s, %s, %s)", rows.answers)
            cursor.executemany("INSERT INTO segments VALUES (%s, %s, %s, %s)", rows.segments)
            known = execute("SELECT count(*)::int FROM token_changes").fetchone()
            numbers: dict[str, int] = {}
            for at, (name, *texts, mark) in enumerate(rows.token_changes):
                numbers[name] = numbers.get(name, 0) + 1
                if at >= (known[0] if known else 0):
                    place = self._find_id(connection, mark) or 0
                    execute(
                        "INSERT INTO token_changes VALUES (%s, %s, %s, %s, %s, %s, %s)",
                        (name, numbers[name], *texts, place),
                    )
            there = execute("SELECT count(*)::int FROM rules").fetchone()
            added = rows.rules[there[0] if there else 0 :]
            cursor.executemany("INSERT INTO rules VALUES (%s, %s, %s)", added)

    def read_range(self, after: str, until: str | None, *, limit: int) -> list[WholeRecord]:
        return self._whole.read_range(after, until, limit=limit)

    def read_some(self, keys: Sequence[str]) -> list[WholeRecord]:
        return self._whole.read_some(keys)

    def read_others(self) -> OtherRows:
        return self._whole.read_others()

    def complete(self) -> None:
        with self._hold_batch() as connection:
            row = connection.execute("SELECT coalesce(max(id), 0) + 1 FROM changes").fetchone()
            connection.execute(_FREE.format(row[0] if row else 1))
            connection.execute("DELETE FROM meta WHERE name = %s", (ARRIVING,))
            connection.execute(NOTE, (ARRIVED, self._move))
        self.close()

    def close(self) -> None:
        self._whole.close()
        super().close()


def _copy_records(connection: Connection, waiting: dict[str, tuple[str, str, int | None]]) -> None:
    """Add new records, and clear the dictionary."""
    if waiting:
        with connection.cursor().copy("COPY records (key, record, change) FROM STDIN") as copy:
            for row in waiting.values():
                copy.write_row(row)
        waiting.clear()


def open_arrival(address: DatabaseAddress, root: Path, move: str) -> SchemaArrival:
    """Open the schema of a move, or create it. Raises PlaceTaken."""
    there = address._replace(arrives=True)
    with closing(connect_database(address)) as connection, reading_errors(address):
        schema = address.schema
        with connection.transaction():
            tables = {row[0] for row in connection.execute(_TABLES, (schema,)).fetchall()}
            notes: dict[str, str] = {}
            if "meta" in tables:
                ask = f"SELECT name, value FROM {schema}.meta"
                notes = dict(connection.execute(ask).fetchall())
            if tables == {"meta"} and MOVED in notes:  # only says that a registry was here
                connection.execute(f"DROP SCHEMA {schema} CASCADE")
                tables = set()
            elif tables and move not in (notes.get(ARRIVING), notes.get(ARRIVED)):
                raise PlaceTaken(setting="store", value=address.shown)
        if not tables:
            create_schema(there, (ARRIVING, move))
    return SchemaArrival(there, root, move)


def has_arrived(address: DatabaseAddress, move: str) -> bool:
    """Return True if the registry of a move is complete in a schema."""
    return find_place_note(address, ARRIVED) == move and not find_place_note(address, ARRIVING)


def abandon_arrival(address: DatabaseAddress, move: str) -> None:
    """Remove the schema of a move that is not complete."""
    if find_place_note(address, ARRIVING) != move:
        return
    with closing(connect_database(address)) as connection, reading_errors(address):
        connection.execute(f"DROP SCHEMA {address.schema} CASCADE")
