"""Writing a registry in PostgreSQL, as the port `perdure.storage.ports.Journal`.

Any number of nodes do so at once.

How it works: a batch is one transaction on the primary. What it writes is collected and sent
together, with its end: a batch of new names waits for the server three times (for the time, for
the lock of the day and its last number, and for the commit), however many names it has.

Nodes share nothing but locks that end with the transaction: the row of a series and day
(`find_last_serial`), the rows of the records that a batch reads, and the hash of a reference that
it looks up. A batch that another one was faster than (the same name, a deadlock) is undone, and its
caller carries it out again.

Each batch stores its number with the identity of this session (`note_batch`). If the connection is
lost while it commits, the journal connects again, to the server that is the primary now, and looks
the number up: it waits until the lost session has ended, and then knows whether the batch is
stored.

What must stay true: `commit_batch` returns only if the batch is durable; if it cannot find out,
it raises `JournalUndecided`. The id of a change is drawn after the locks of what it writes were
taken (`perdure.storage.postgresql.sequencing`).
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from os import urandom
from typing import Any
from uuid import uuid4

import msgspec
import psycopg

from perdure.errors import Unavailable
from perdure.errors.corruption import ChainBroken
from perdure.errors.moving import RegistryMoved
from perdure.ids.pdi import Pdi
from perdure.ids.pdi_key import encode_number
from perdure.model.changes import (
    BEGIN,
    RECONSTRUCTED,
    RULE,
    RULE_KEY,
    SALT_BYTES,
    TOKEN_KEY,
    WITHOUT_RECORDS,
    Change,
    Deed,
    Line,
    Numbering,
    Scope,
    begin_chain,
    digest_alike,
    digest_attested,
    digest_lines,
    find_leaf,
    write_token_line,
)
from perdure.model.reading_rules import ReadingRule
from perdure.model.records import Token
from perdure.storage.ports import (
    SERIALS_END,
    JournalBusy,
    JournalInterrupted,
    JournalMoved,
    JournalUndecided,
    ReplayedChange,
)
from perdure.storage.postgresql.addresses import DatabaseAddress
from perdure.storage.postgresql.connecting import (
    Connection,
    connect,
    end_silent_sessions,
    translate_writing,
)
from perdure.storage.postgresql.counter import STRIPES, DatabaseCounter
from perdure.storage.postgresql.decoding import decode_record, decode_token
from perdure.storage.postgresql.records import STORED, STORED_OF_MANY, PostgresqlRecords
from perdure.storage.postgresql.sequencing import (
    LOCK,
    add_epoch,
    find_chain_head,
    number_some,
    number_waiting,
)
from perdure.storage.reference_hashes import reference_hash

_UNDECIDED_SECONDS = 60
"""How long the journal tries to find out whether a batch is stored."""
_NUMBER_AT = 50_000
"""How many changes this node leaves to readers before it has them numbered."""
_CHANGE = """
INSERT INTO changes (act, at, actor, first, last, records, revision, digest, salt)
  VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
_ADD_RUN = f"""
WITH written AS ({_CHANGE} RETURNING id)
INSERT INTO records SELECT new.key, new.record, written.id
  FROM written, unnest(%s::text[], %s::text[]) AS new (key, record)
"""
_ADD_ALIKE = f"""
WITH written AS ({_CHANGE} RETURNING id)
INSERT INTO records SELECT key, %s, written.id FROM written, unnest(%s::text[]) AS key
"""
_ADD_EACH = """
WITH new AS (
  SELECT * FROM unnest(%s::text[], %s::text[], %s::bytea[], %s::bytea[])
    AS one (key, record, digest, salt)
), written AS (
  INSERT INTO changes (act, at, actor, first, last, records, revision, digest, salt)
    SELECT %s, %s, %s, key, key, 1, 1, digest, salt FROM new RETURNING id, first
)
INSERT INTO records SELECT new.key, new.record, written.id
  FROM new JOIN written ON written.first = new.key
"""
_KEEP_PAST = "INSERT INTO history SELECT key, %s, record, change FROM records WHERE key = %s"
_REVISE = f"""
WITH written AS ({_CHANGE} RETURNING id)
UPDATE records SET record = %s, change = written.id FROM written WHERE key = %s
"""
_LOCK_DAY = "SELECT FROM days WHERE day = %s FOR UPDATE"
_ADD_DAY = "INSERT INTO days VALUES (%s) ON CONFLICT DO NOTHING"
_LAST_SERIAL = "SELECT key FROM records WHERE key >= %s AND key < %s ORDER BY key DESC LIMIT 1"
_LOCK_SOME = "SELECT key, record FROM records WHERE key = ANY(%s) ORDER BY key FOR UPDATE"
_LOCK_ONE = "SELECT record FROM records WHERE key = %s FOR UPDATE"
_LOCK_REFERENCE = "SELECT pg_advisory_xact_lock(%s)"
_LOCK_TOKEN = "SELECT token FROM tokens WHERE name = %s FOR UPDATE"
_LOCK_RULES = "SELECT pg_advisory_xact_lock(hashtext(current_schema()), 2)"
_ADD_REFERENCES = """
INSERT INTO refers SELECT * FROM unnest(%s::bigint[], %s::text[]) ON CONFLICT DO NOTHING
"""
_DROP_REFERENCES = """
DELETE FROM refers USING unnest(%s::bigint[], %s::text[]) AS gone (hash, key)
  WHERE refers.hash = gone.hash AND refers.key = gone.key
"""
_STAGE = "INSERT INTO staged_refers SELECT * FROM unnest(%s::bigint[], %s::text[])"
_MERGE = """
WITH gone AS (DELETE FROM staged_refers RETURNING hash, key)
INSERT INTO refers SELECT DISTINCT hash, key FROM gone ORDER BY hash, key ON CONFLICT DO NOTHING
"""
_SAVE_TOKEN = """
INSERT INTO tokens VALUES (%s, %s, %s) ON CONFLICT (name)
  DO UPDATE SET digest = excluded.digest, token = excluded.token
"""
_SAVE_TOKEN_CHANGE = f"""
WITH written AS ({_CHANGE} RETURNING id)
INSERT INTO token_changes SELECT %s, %s, %s, %s, %s, %s, id FROM written
"""
_SAVE_SEGMENT = """
INSERT INTO segments VALUES (%s, %s, %s, %s) ON CONFLICT (number)
  DO UPDATE SET length = excluded.length
"""
_GROWING = "SELECT number, length, opened FROM segments WHERE grows ORDER BY number DESC LIMIT 1"
_ANSWER = "SELECT request, receipt FROM answered WHERE actor = %s AND once = %s"
_REPLAY = """
INSERT INTO changes
    (act, at, actor, first, last, records, revision, digest, salt, leaf, epoch, number, chain)
  VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING id
"""
_ADD_NODE = "INSERT INTO nodes (node, batch, host) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING"
_LAST_BATCH = "SELECT batch FROM nodes WHERE node = %s FOR UPDATE"
_COUNT = "UPDATE generation SET count = count + 1 WHERE stripe = %s"
_READ_ONLY = "SET default_transaction_read_only ="
"""While it is on, the server itself refuses to lock a row."""
_REWRITTEN = "SELECT set_config('perdure.rewritten', %s, true)"


def _split_rows(rows: Iterable[tuple[Any, ...]]) -> list[list[Any]]:
    """The columns of rows, as arrays."""
    return [list(column) for column in zip(*rows, strict=True)]


class PostgresqlJournal(PostgresqlRecords):
    """Writes a registry. It has one connection, which one thread at a time uses."""

    is_shared = True

    def __init__(self, address: DatabaseAddress) -> None:
        super().__init__(address)
        self._node = uuid4()
        self._batch = 0
        """The number of the last batch that is stored."""
        self._only: Connection | None = None
        self._stripe = self._node.int % STRIPES
        self._waiting: list[tuple[str, Sequence[Any]]] = []
        """Statements of the batch that were not sent yet."""
        self._fetched: dict[str, str | None] = {}
        self._days: set[str] = set()
        """Days that are known to have a row."""
        self._now: datetime | None = None
        self._in_batch = False
        self._is_rehearsal = False
        self._unnumbered = 0
        self._readers = PostgresqlRecords(address)
        self._reconnect()

    # Connection
    # ----------

    @property
    def connection(self) -> Connection:
        return self._reconnect() if self._only is None or self._only.closed else self._only

    def _reconnect(self) -> Connection:
        """Connect, and introduce this node unless the database knows it. Raises JournalBusy."""
        try:
            made = self._only = connect(self._address, writes=True)
            made.execute(_ADD_NODE, (self._node, self._batch, socket.gethostname()))
        except RegistryMoved as error:
            raise JournalMoved(error.to) from error
        except Unavailable as error:
            raise JournalBusy(error.problem()) from error
        except psycopg.Error as error:
            raise JournalBusy(self._address.scrub_text(str(error))) from None
        return made

    @contextmanager
    def _in_our_terms(self) -> Iterator[Connection]:
        """Raise JournalError for what the server refuses."""
        connection = self.connection if not self._in_batch else self._only
        if connection is None or connection.closed:
            raise JournalInterrupted("the connection to the database was lost")
        try:
            yield connection
        except psycopg.Error as error:
            if isinstance(error, psycopg.errors.LockNotAvailable) and self._end_silent_sessions():
                raise JournalInterrupted("a node that had stopped held a lock") from None
            ours = translate_writing(error, connection, self._address)
            raise ours from (None if ours is not error else error.__cause__)

    def _end_silent_sessions(self) -> bool:
        """Return True if a session that may have held a lock was ended."""
        try:
            return end_silent_sessions(self._address) > 0
        except Unavailable:
            return False

    def _ask(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        self._send_waiting()
        with self._in_our_terms() as connection:
            return connection.execute(statement, values).fetchall()

    def _ask_last(self, *statements: tuple[str, Sequence[Any]]) -> list[Any]:
        """Send several statements at once, and return the rows of the last one."""
        self._send_waiting()
        with self._in_our_terms() as connection, connection.pipeline():
            for statement, values in statements:
                cursor = connection.execute(statement, values)
            return cursor.fetchall()

    def _write(self, statement: str, values: Sequence[Any]) -> None:
        if not self._is_rehearsal:
            self._waiting.append((statement, values))

    def _send_waiting(self) -> None:
        """Send what the batch has written so far."""
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            with self._in_our_terms() as connection, connection.pipeline():
                for statement, values in waiting:
                    connection.execute(statement, values)

    def _number_waiting(self) -> None:
        if not self._in_batch:
            with self._in_our_terms() as connection:
                number_waiting(connection)

    def open_counter(self) -> DatabaseCounter:
        return DatabaseCounter(self._readers._ask)

    def close(self) -> None:
        if self._only is not None:
            with suppress(psycopg.Error):
                self._only.close()
        self._readers.close()
        super().close()

    # The batch
    # ---------

    def number_changes(self, at: str) -> None:
        with self._in_our_terms() as connection, connection.transaction():
            connection.execute(LOCK)
            number_some(connection)
            if find_chain_head(connection) is None:
                self.begin_epoch("created", at, "local")
                self._send_waiting()
                number_some(connection)

    def begin_epoch(self, reason: str, at: str, actor: str) -> None:
        """Leave a change that begins an epoch; it is numbered after all that came before."""
        salt = urandom(SALT_BYTES)
        self._write(
            "INSERT INTO changes (act, at, actor, first, last, records, revision, salt, reason)"
            " VALUES (%s, %s, %s, '', '', 0, 0, %s, %s)",
            (BEGIN, at, actor, salt, reason),
        )

    def begin_batch(self) -> None:
        self._begin("BEGIN")

    def begin_rehearsal(self) -> None:
        self._begin(f"{_READ_ONLY} on")  # no transaction, so that nothing waits for its end
        self._is_rehearsal = True

    def _begin(self, statement: str) -> None:
        self._forget_batch()
        connection = self.connection
        try:
            with connection.pipeline():
                connection.execute(statement)
                cursor = connection.execute("SELECT now()")
                row = cursor.fetchone()
        except psycopg.Error as error:
            raise translate_writing(error, connection, self._address) from None
        self._now = row[0].astimezone(UTC) if row else None
        self._in_batch = True

    def read_time(self) -> datetime | None:
        """The time of the primary at which the batch began."""
        return self._now

    def _forget_batch(self) -> None:
        self._in_batch = self._is_rehearsal = False
        self._waiting.clear()
        self._fetched.clear()
        self._now = None

    def commit_batch(
        self, *, after: Callable[[], None] | None = None, is_revision: bool = False
    ) -> None:
        """Make the batch durable. Call `after` first, which makes its bytes durable."""
        if after is not None:
            self._send_waiting()
            after()
        if is_revision:
            self._write(_COUNT, (self._stripe,))
        self._write("SELECT note_batch(%s, %s)", (self._node, self._batch + 1))
        self._write("COMMIT", ())
        try:
            self._send_waiting()
        except JournalInterrupted as error:
            if not self._find_out(error):
                raise
        self._batch += 1
        self._forget_batch()

    def _find_out(self, error: JournalInterrupted) -> bool:
        """Return True if the batch whose commit was interrupted is stored.

        Raises JournalUndecided if no primary says so in a minute.
        """
        if self._only is not None and not self._only.closed:
            return False  # the server itself refused the batch
        deadline = time.monotonic() + _UNDECIDED_SECONDS
        while True:
            try:  # it waits while the lost session still holds the row
                row = self._reconnect().execute(_LAST_BATCH, (self._node,)).fetchone()
                return row is not None and row[0] > self._batch
            except (JournalBusy, psycopg.Error) as failure:
                if time.monotonic() > deadline:
                    self._node, self._batch = uuid4(), 0  # nothing is sent again under the old one
                    raise JournalUndecided(str(error)) from failure
                time.sleep(0.2)

    def roll_back(self) -> None:
        is_begun, is_rehearsal = self._in_batch, self._is_rehearsal
        self._forget_batch()
        if not is_rehearsal:
            self._days.clear()
        if is_begun and self._only is not None and not self._only.closed:
            try:
                if is_rehearsal:
                    self._only.execute(f"{_READ_ONLY} off")
                else:
                    self._only.rollback()
            except psycopg.Error:
                with suppress(psycopg.Error):
                    self._only.close()

    def tidy_up(self) -> None:
        """Number changes, if this node has left many that no reader has numbered."""
        if self._unnumbered >= _NUMBER_AT:
            self._unnumbered = 0
            self._number_waiting()

    # Reading in the batch
    # --------------------

    def prefetch_records(self, keys: Iterable[str]) -> None:
        """Read the records that the batch will read, and lock them in the order of their keys."""
        wanted = sorted({key for key in keys if "\0" not in key})
        if wanted and self._in_batch:
            rows = self._ask(STORED_OF_MANY if self._is_rehearsal else _LOCK_SOME, (wanted,))
            self._fetched.update(dict.fromkeys(wanted))
            self._fetched.update(rows)

    def lock_days(self, days: Iterable[str]) -> None:
        for day in sorted(set(days)):
            self._lock_day(day)

    def _lock_day(self, day: str) -> None:
        if self._is_rehearsal:
            return
        if day not in self._days:
            self._write(_ADD_DAY, (day,))
            self._days.add(day)
        self._write(_LOCK_DAY, (day,))

    def find_stored(self, key: str) -> str | None:
        if not self._in_batch:
            return super().find_stored(key)
        if key not in self._fetched:
            statement = STORED if self._is_rehearsal else _LOCK_ONE
            rows = self._ask(statement, (key,)) if "\0" not in key else ()
            self._fetched[key] = rows[0][0] if rows else None
        return self._fetched[key]

    def find_last_serial(self, day: str) -> int:
        """The highest serial number of a day, whose row the batch holds from now on."""
        low, high = encode_number("1"), encode_number(str(SERIALS_END))
        self._lock_day(day)
        waiting, self._waiting = self._waiting, []
        # In a statement of its own, which sees what others have committed before the lock was free.
        rows = self._ask_last(*waiting, (_LAST_SERIAL, (f"{day}/{low}", f"{day}/{high}")))
        return Pdi.from_key(rows[0][0]).serial or 0 if rows else 0

    def find_referring(self, reference: str, *, limit: int | None = None) -> list[str]:
        """Keys of records with a reference. No other batch adds the reference meanwhile."""
        if self._in_batch:
            self._write(_LOCK_REFERENCE, (reference_hash(reference),))
            self._send_waiting()
        return super().find_referring(reference, limit=limit)

    def find_token_named(self, name: str) -> Token | None:
        if not self._in_batch or self._is_rehearsal or "\0" in name:
            return super().find_token_named(name)
        rows = self._ask(_LOCK_TOKEN, (name,))
        return decode_token(rows[0][0]) if rows else None

    # Records
    # -------

    def _describe_change(
        self, deed: Deed, scope: Scope, digest: bytes, salt: bytes
    ) -> tuple[Any, ...]:
        self._unnumbered += 1
        return (deed.act, deed.at, deed.actor, *scope, digest, salt)

    def _describe_lines(
        self, deed: Deed, lines: Sequence[Line], revision: int = 1
    ) -> tuple[Any, ...]:
        salt = urandom(SALT_BYTES)
        scope = Scope(lines[0][0], lines[-1][0], len(lines), revision)
        return self._describe_change(deed, scope, digest_lines(salt, deed.actor, lines), salt)

    def add_records(self, rows: Sequence[Line], deed: Deed) -> None:
        new = []
        for row in rows:
            salt = urandom(SALT_BYTES)
            new.append((*row, digest_lines(salt, deed.actor, (row,)), salt))
        self._unnumbered += len(new)
        self._write(_ADD_EACH, (*_split_rows(new), deed.act, deed.at, deed.actor))
        self._fetched.update(rows)
        self._send_waiting()  # another node may have been faster

    def add_run(
        self, rows: Sequence[Line], deed: Deed, attested: Sequence[Line] | None = None
    ) -> None:
        salt = urandom(SALT_BYTES)
        digest = (
            digest_lines(salt, deed.actor, rows)
            if attested is None
            else digest_attested(salt, deed.actor, attested)
        )
        scope = Scope(rows[0][0], rows[-1][0], len(rows), 1)
        change = self._describe_change(deed, scope, digest, salt)
        self._write(_ADD_RUN, (*change, *_split_rows(rows)))
        self._fetched.update(rows)

    def add_alike(self, keys: Sequence[str], text: str, deed: Deed) -> None:
        salt = urandom(SALT_BYTES)
        scope = Scope(keys[0], keys[-1], len(keys), 1)
        digest = digest_alike(salt, deed.actor, keys, text)
        change = self._describe_change(deed, scope, digest, salt)
        self._write(_ADD_ALIKE, (*change, text, list(keys)))
        self._fetched.update(dict.fromkeys(keys, text))

    def revise_record(self, key: str, text: str, revision: int, deed: Deed) -> None:
        self._write(_KEEP_PAST, (revision - 1, key))
        change = self._describe_lines(deed, ((key, text),), revision)
        self._write(_REVISE, (*change, text, key))
        self._fetched[key] = text

    def replay_changes(self, changes: Sequence[ReplayedChange]) -> None:
        """Add changes of another registry, under the lock of those who number changes."""
        self._write(LOCK, ())
        self._send_waiting()
        with self._in_our_terms() as connection:
            number_some(connection)
            head = find_chain_head(connection)
        numbering = Numbering()
        if head is not None:
            numbering.restart_at(head.epoch, head.number, bytes.fromhex(head.chain))
        for one in changes:
            self._replay_change(one, numbering)

    def _replay_change(self, one: ReplayedChange, numbering: Numbering) -> None:
        change = one.change
        if one.epoch is not None:
            numbering.restart_at(one.epoch.epoch, 0, begin_chain(one.epoch))
            self._send_waiting()
            with self._in_our_terms() as connection:
                add_epoch(connection, one.epoch)
        numbering.count_leaf(find_leaf(change))
        if (numbering.epoch, numbering.number, numbering.chain) != (
            change.epoch,
            change.number,
            change.chain,
        ):
            raise ChainBroken(
                change=str(change.mark), stated=change.chain.hex(), found=numbering.chain.hex()
            )
        place: int | None = self._ask(_REPLAY, spell_replayed(change))[0][0]
        if change.act == RULE:
            for name, text in one.lines:
                number = int(name.removeprefix(RULE_KEY))
                self._write("INSERT INTO rules VALUES (%s, %s, %s)", (number, one.subject, text))
        elif change.act not in WITHOUT_RECORDS:
            place = None if change.epoch == RECONSTRUCTED else place
            for key, text in one.lines:
                if change.revision > 1:
                    self._write(_KEEP_PAST, (change.revision - 1, key))
                    revise = "UPDATE records SET record = %s, change = %s WHERE key = %s"
                    self._write(revise, (text, place, key))
                else:
                    self._write("INSERT INTO records VALUES (%s, %s, %s)", (key, text, place))
                self._fetched[key] = text

    def move_bytes(self, key: str, text: str) -> None:
        self._write(_REWRITTEN, (key,))
        self._write("UPDATE records SET record = %s WHERE key = %s", (text, key))
        self._write(_REWRITTEN, ("",))
        self._fetched[key] = text

    def redact_past(self, key: str, redact: Callable[[str], str]) -> None:
        rows = self._ask(
            "SELECT revision, record, change FROM history WHERE key = %s ORDER BY revision", (key,)
        )
        for _, text, _ in rows:
            decode_record(key, text)
        self._write(_REWRITTEN, (key,))
        for revision, text, place in rows:
            redacted = redact(text)
            if redacted != text:
                rewrite = "UPDATE history SET record = %s WHERE key = %s AND revision = %s"
                self._write(rewrite, (redacted, key, revision))
                if place is not None:
                    self._write("UPDATE changes SET salt = NULL WHERE id = %s", (place,))
        self._write(_REWRITTEN, ("",))

    # References
    # ----------

    def drop_references(self, rows: Iterable[tuple[int, str]]) -> None:
        self._write_pairs(_DROP_REFERENCES, rows)

    def add_references(self, rows: Iterable[tuple[int, str]]) -> None:
        self._write_pairs(_ADD_REFERENCES, rows)

    def stage_references(self, rows: Iterable[tuple[int, str]]) -> None:
        self._write_pairs(_STAGE, rows)

    def _write_pairs(self, statement: str, rows: Iterable[tuple[int, str]]) -> None:
        pairs = sorted(rows)  # always in this order, so that no two batches wait for each other
        if pairs:
            self._write(statement, _split_rows(pairs))

    def merge_staged(self) -> None:
        self._write(_MERGE, ())

    # Tokens, rules, answers, segments
    # --------------------------------

    def save_token(self, token: Token, before: Token | None, deed: Deed) -> None:
        text = msgspec.json.encode(token).decode()
        self._write(_SAVE_TOKEN, (token.name, token.digest, text))
        count = "SELECT count(*)::int FROM token_changes WHERE name = %s"
        number = self._ask(count, (token.name,))[0][0] + 1
        shown, was = write_token_line(token), before and write_token_line(before)
        change = self._describe_lines(deed, ((TOKEN_KEY + token.name, shown),), number)
        row = (token.name, number, deed.at, deed.actor, was, shown)
        self._write(_SAVE_TOKEN_CHANGE, (*change, *row))

    def save_rule(self, key: str, rule: ReadingRule, deed: Deed) -> int:
        self._write(_LOCK_RULES, ())
        number = int(self._ask("SELECT coalesce(max(number), 0) + 1 FROM rules")[0][0])
        text = msgspec.json.encode(msgspec.structs.replace(rule, number=0)).decode()
        self._write("INSERT INTO rules VALUES (%s, %s, %s)", (number, key, text))
        self._write(_CHANGE, self._describe_lines(deed, ((f"{RULE_KEY}{number}", text),)))
        return number

    def find_answer(self, actor: str, once: str) -> tuple[str, str] | None:
        rows = self._ask(_ANSWER, (actor, once))
        return rows[0] if rows else None

    def save_answer(self, actor: str, once: str, request: str, receipt: str, at: str) -> None:
        self._write(
            "INSERT INTO answered VALUES (%s, %s, %s, %s, %s)", (actor, once, request, receipt, at)
        )

    def forget_answers(self, before: str) -> None:
        self._write("DELETE FROM answered WHERE at < %s", (before,))

    def find_growing_segment(self) -> tuple[int, int, str] | None:
        rows = self._ask(_GROWING)
        return rows[0] if rows else None

    def save_segment(self, number: int, length: int, opened: str, *, grows: bool) -> None:
        self._write(_SAVE_SEGMENT, (number, length, opened, grows))


def spell_replayed(change: Change) -> tuple[Any, ...]:
    """The columns of a change that has its number already."""
    return (
        change.act,
        change.at,
        change.actor,
        change.first,
        change.last,
        change.count,
        change.revision,
        change.digest,
        change.salt,
        change.leaf,
        change.epoch,
        change.number,
        change.chain,
    )
