"""The embedded registry: one SQLite file in WAL mode, any number of readers, one writer.

How it works: `records` holds the current revision of each record under its key, in the form that
`perdure.model.stored` gives it, so that a listing is a range of the primary key; superseded
revisions move to `history`. `refers` leads from a location, a digest or an alias back to the
records that name it: eight bytes of hash and the key, checked against the record when read, so that
an entry may be stale but is never missing; `perdure.storage.sqlite.references` says how new ones
get there. Those of a bulk load are staged and merged all at once.

What must stay true: `synchronous=FULL`, so that a committed transaction survives a power cut;
nothing in `records` or `history` is ever deleted.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw
import msgspec

from perdure.errors import Corrupt, StorageFailed, Unavailable
from perdure.errors.processes import FileUnusable, OtherFormat
from perdure.ids.pdi import Pdi
from perdure.ids.pdi_key import counted
from perdure.model import stored
from perdure.model.records import Record, Token
from perdure.storage.sqlite import references
from perdure.storage.sqlite.references import Merging, References

FILE = "registry.sqlite"
SERIALS_END = 10**18
"""Where serial numbers end."""
_FORMAT = 1
_WAL_PAGES = 2048  # 8 MiB: a log that is overwritten is flushed faster than one that grows
_MAPPED = 16 << 30  # bytes; a mapped page costs no copy and is not counted as our memory
_SCHEMA = """
CREATE TABLE records (key TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE history (
  key TEXT NOT NULL, revision INTEGER NOT NULL, record TEXT NOT NULL, PRIMARY KEY (key, revision)
) WITHOUT ROWID;
CREATE TABLE refers (
  hash INTEGER NOT NULL, key TEXT NOT NULL, PRIMARY KEY (hash, key)
) WITHOUT ROWID;
CREATE TABLE staged_refers (hash INTEGER NOT NULL, key TEXT NOT NULL);
CREATE TABLE segments (
  number INTEGER PRIMARY KEY, length INTEGER NOT NULL, opened TEXT NOT NULL, grows INTEGER NOT NULL
);
CREATE TABLE tokens (name TEXT PRIMARY KEY, digest TEXT NOT NULL UNIQUE, token TEXT NOT NULL)
  WITHOUT ROWID;
CREATE TABLE answered (
  actor TEXT NOT NULL, once TEXT NOT NULL, request TEXT NOT NULL, receipt TEXT NOT NULL,
  at TEXT NOT NULL, PRIMARY KEY (actor, once)
) WITHOUT ROWID;
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
# What came later than the first registries of this format, and takes nothing from older releases:
# what was done with tokens, and a lock on all that is only ever added to.
_ADDED = """
CREATE TABLE IF NOT EXISTS token_changes (
  number INTEGER PRIMARY KEY, name TEXT NOT NULL, at TEXT NOT NULL, actor TEXT NOT NULL,
  before TEXT, after TEXT NOT NULL
);
CREATE TRIGGER IF NOT EXISTS records_stay BEFORE DELETE ON records
  BEGIN SELECT RAISE(ABORT, 'a record is never removed'); END;
CREATE TRIGGER IF NOT EXISTS records_hold BEFORE UPDATE ON records
  WHEN NEW.key IS NOT OLD.key OR typeof(NEW.record) <> 'text' OR NOT EXISTS
    (SELECT 1 FROM history WHERE key = OLD.key AND record = OLD.record)
  BEGIN SELECT RAISE(ABORT, 'a record is never changed without its history'); END;
CREATE TRIGGER IF NOT EXISTS history_stays BEFORE DELETE ON history
  BEGIN SELECT RAISE(ABORT, 'the history is only added to'); END;
CREATE TRIGGER IF NOT EXISTS history_holds BEFORE UPDATE ON history
  BEGIN SELECT RAISE(ABORT, 'the history is only added to'); END;
CREATE TRIGGER IF NOT EXISTS token_changes_stay BEFORE DELETE ON token_changes
  BEGIN SELECT RAISE(ABORT, 'the history is only added to'); END;
CREATE TRIGGER IF NOT EXISTS token_changes_hold BEFORE UPDATE ON token_changes
  BEGIN SELECT RAISE(ABORT, 'the history is only added to'); END;
"""

_UNUSABLE = (
    apsw.BusyError,
    apsw.CantOpenError,
    apsw.CorruptError,
    apsw.LockedError,
    apsw.NotADBError,
)

_REBUILD = "with no server running, 'perdure rebuild' makes the file anew from the segments"

_TOGETHER = 32
_PAIRS = " VALUES" + ",".join(["(?,?)"] * _TOGETHER)
_ALIKE = " VALUES" + ",".join(f"(?{number},?1)" for number in range(2, _TOGETHER + 2))
_ADD = "INSERT INTO records(key, record)"
_RECORD = "SELECT record FROM records WHERE key=?"
_GONE = """
SELECT 1 FROM main.records AS one
  WHERE NOT EXISTS (SELECT 1 FROM later.records WHERE key=one.key) LIMIT 1
"""

_decode_token = msgspec.json.Decoder(Token).decode


def _text(record: Record) -> str:
    return stored.encode(record).decode()


def _shown(token: Token) -> str:
    fields = msgspec.to_builtins(token)
    del fields["digest"]
    return msgspec.json.encode(fields).decode()


def _insert(connection: apsw.Connection, into: str, rows: Iterable[tuple[str | int, str]]) -> None:
    """Inserts pairs, 32 with one call: other threads run at the end of each."""
    waiting = list(rows)
    whole = len(waiting) - len(waiting) % _TOGETHER
    for at in range(0, whole, _TOGETHER):
        flat = tuple(chain.from_iterable(waiting[at : at + _TOGETHER]))
        connection.execute(into + _PAIRS, flat)
    connection.executemany(into + " VALUES(?,?)", waiting[whole:])


def _decoded(key: str, text: str) -> Record:
    """A record. Raises Corrupt where what lies there is none: it was not written by us."""
    try:
        return stored.decode(text)
    except (msgspec.DecodeError, TypeError, ValueError) as error:
        raise Corrupt(
            identifier=key, where=FILE, promised="a record", found=f"{error}"[:200]
        ) from error


def _unusable(what: str, error: Exception, file: Path | None = None) -> Unavailable:
    """The error in our terms; a file that is damaged or, where it is named, missing must be made
    anew."""
    if isinstance(error, apsw.CantOpenError) and file is not None and not os.path.lexists(file):
        return FileUnusable(file=what, fault=f"{FILE} is missing", mend=_REBUILD)
    damaged = isinstance(error, (apsw.CorruptError, apsw.NotADBError))
    return FileUnusable(file=what, fault=str(error), mend=_REBUILD if damaged else None)


@contextmanager
def storage_errors(what: str, file: Path | None = None) -> Iterator[None]:
    """Says in our terms that the disk is full or failing, or the file is not a registry."""
    try:
        yield
    except (OSError, apsw.FullError, apsw.IOError, apsw.ReadOnlyError) as error:
        raise StorageFailed(what=what, reason=str(error)) from error
    except _UNUSABLE as error:
        raise _unusable(what, error, file) from error


def create(root: Path) -> None:
    """Makes an empty registry. Raises StorageFailed; harmless where there is one already."""
    with storage_errors("the registry"):
        connection = apsw.Connection(str(root / FILE))
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            with connection:
                if not connection.execute("PRAGMA user_version").get:
                    connection.execute(_SCHEMA + references.SCHEMA + _ADDED)
                    connection.execute(f"PRAGMA user_version={_FORMAT}")
        finally:
            connection.close()


def _opened(name: str, flags: int) -> apsw.Connection:
    """A connection to a registry of our format. Raises Unavailable where it is of another."""
    connection = apsw.Connection(name, flags=flags)
    try:
        connection.set_busy_timeout(5000)
        connection.execute(f"PRAGMA mmap_size={_MAPPED}")
        version = connection.execute("PRAGMA user_version").get
        if version != _FORMAT:
            raise OtherFormat(file="the registry", found=version, known=_FORMAT)
    except BaseException:
        connection.close()
        raise
    return connection


class SqliteRecords:
    """Reads a registry: the port `perdure.storage.ports.Records`. A connection for each thread."""

    def __init__(self, root: Path) -> None:
        self._path = root / FILE
        self._local = threading.local()
        self._connections: list[apsw.Connection] = []
        self._references = References()

    @property
    def connection(self) -> apsw.Connection:
        found: apsw.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            found = self._local.connection = self._connect()
            self._connections.append(found)
        return found

    def _connect(self) -> apsw.Connection:
        with storage_errors("the registry", self._path):
            connection = self._open()
        connection.execute("PRAGMA query_only=1")
        return connection

    def _open(self) -> apsw.Connection:
        try:
            return _opened(str(self._path), apsw.SQLITE_OPEN_READWRITE)
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            log = self._path.with_name(f"{FILE}-wal")
            if os.access(self._path.parent, os.W_OK) or log.exists():
                raise
        # A copy that nobody can write to: there is no log to read and none can be made.
        name = f"file:{quote(str(self._path))}?immutable=1"
        return _opened(name, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)

    def _all(self, statement: str, bindings: tuple[str | int, ...] = ()) -> list[Any]:
        try:
            return self.connection.execute(statement, bindings).fetchall()
        except (apsw.IOError, *_UNUSABLE) as error:
            raise _unusable("the registry", error) from error

    def raw(self, key: str) -> str | None:
        """The current revision in its stored form."""
        try:
            found: str | None = self.connection.execute(_RECORD, (key,)).get
        except (apsw.IOError, *_UNUSABLE) as error:
            raise _unusable("the registry", error) from error
        return found

    def lookup(self) -> Lookup:
        """A way to `raw` for the one thread that will use it most."""
        connection = self._connect()
        self._connections.append(connection)
        return Lookup(connection)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """One state of the registry for all that this thread reads inside."""
        execute = self.connection.execute
        execute("BEGIN")
        try:
            yield
        finally:
            execute("COMMIT")

    def record(self, key: str) -> Record | None:
        text = self.raw(key)
        return None if text is None else _decoded(key, text)

    def scan(self, low: str, high: str, *, limit: int) -> list[tuple[str, Record]]:
        rows = self._all(
            "SELECT key, record FROM records WHERE key>=? AND key<? ORDER BY key LIMIT ?",
            (low, high, limit),
        )
        return [(key, _decoded(key, text)) for key, text in rows]

    def first_key(self, low: str, high: str) -> str | None:
        rows = self._all(
            "SELECT key FROM records WHERE key>=? AND key<? ORDER BY key LIMIT 1", (low, high)
        )
        return rows[0][0] if rows else None

    def referring(self, reference: str) -> list[str]:
        return self._references.keys(reference, self._all)

    def history(self, key: str) -> list[Record]:
        rows = self._all("SELECT record FROM history WHERE key=? ORDER BY revision", (key,))
        past = [_decoded(key, text) for (text,) in rows]
        current = self.record(key)
        return [*past, current] if current else past

    def token(self, digest: str) -> Token | None:
        rows = self._all("SELECT token FROM tokens WHERE digest=?", (digest,))
        return _decode_token(rows[0][0]) if rows else None

    def token_named(self, name: str) -> Token | None:
        rows = self._all("SELECT token FROM tokens WHERE name=?", (name,))
        return _decode_token(rows[0][0]) if rows else None

    def tokens(self) -> list[Token]:
        return [
            _decode_token(text) for (text,) in self._all("SELECT token FROM tokens ORDER BY name")
        ]

    def token_history(self, name: str) -> list[tuple[str, str, str | None, str]]:
        """When, by whom, before and after, of each change of a token; as JSON, the oldest first."""
        return self._all(
            "SELECT at, actor, before, after FROM token_changes WHERE name=? ORDER BY number",
            (name,),
        )

    def count(self) -> int:
        """How many identifiers there are. Costs a pass over the index."""
        return int(self._all("SELECT count(*) FROM records")[0][0])

    def segments(self) -> list[tuple[int, int, str]]:
        """Number, committed length and opening time of each segment."""
        return self._all("SELECT number, length, opened FROM segments ORDER BY 1")

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        self._local = threading.local()


class Lookup:
    """Looks up records on a connection of its own. For one thread.

    Look-ups between `hold` and `release` see one state of the registry, that of the first of them,
    and cost half; a state that is held for long keeps the log of the registry from being reused.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._execute = connection.cursor().execute

    def __call__(self, key: str) -> str | None:
        """The current revision in its stored form."""
        try:
            row: tuple[str] | None = self._execute(_RECORD, (key,)).fetchone()
        except (apsw.IOError, *_UNUSABLE) as error:
            raise _unusable("the registry", error) from error
        return row[0] if row else None

    def hold(self) -> None:
        self._execute("BEGIN")

    def release(self) -> None:
        self._execute("COMMIT")


class SqliteWriter(SqliteRecords):
    """Writes a registry. There is one per registry, guarded by the write lock.

    Its one connection is used from one thread at a time: by whoever holds the batch.
    """

    def _connect(self) -> apsw.Connection:
        with storage_errors("the registry", self._path):
            connection = _opened(str(self._path), apsw.SQLITE_OPEN_READWRITE)
            connection.execute(
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"  # a backup comes without a log
                "PRAGMA cache_size=-65536; PRAGMA wal_autocheckpoint=0"
            )
            connection.execute(references.SCHEMA + _ADDED).fetchall()
            references.take_over(connection)
        return connection

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._only = self._connect()
        self._connections.append(self._only)
        self._merging = Merging(self._only, self._into_tree)
        self._wal_pages = 0
        self._only.set_wal_hook(self._note_wal)

    @property
    def connection(self) -> apsw.Connection:
        return self._only

    def _all(self, statement: str, bindings: tuple[str | int, ...] = ()) -> list[Any]:
        """Leaves errors as they are: an error that ends a transaction ends the whole batch."""
        return self._only.execute(statement, bindings).fetchall()

    def begin(self) -> None:
        self._only.execute("BEGIN IMMEDIATE")

    def commit(self, *, after: Callable[[], None] | None = None) -> None:
        """Durable when it returns, and not before `after` has made durable what it builds on."""
        self._merging.step()
        if after is not None:
            after()
        self._only.execute("COMMIT")
        self._merging.committed()

    def rollback(self) -> None:
        self._merging.undone()
        if self._only.in_transaction:
            self._only.execute("ROLLBACK")

    def add(self, rows: Iterable[tuple[str, str]]) -> None:
        """New records: key and stored form."""
        _insert(self._only, _ADD, rows)

    def add_alike(self, keys: Sequence[str], text: str) -> None:
        """New records that have the same stored form."""
        whole = len(keys) - len(keys) % _TOGETHER
        for at in range(0, whole, _TOGETHER):
            self._only.execute(_ADD + _ALIKE, (text, *keys[at : at + _TOGETHER]))
        self._only.executemany(_ADD + " VALUES(?,?)", [(key, text) for key in keys[whole:]])

    def put(self, key: str, record: Record) -> None:
        """A record as it is found during a rebuild, whatever was there."""
        self._only.execute("INSERT OR REPLACE INTO records VALUES(?,?)", (key, _text(record)))

    def revise(self, key: str, record: Record, past: Record) -> None:
        """A changed record, and the revision of it that goes to the history."""
        self._only.execute(  # as it stands there: the trigger looks for the very same text
            "INSERT INTO history SELECT key, ?, record FROM records WHERE key=?",
            (past.revision, key),
        )
        self._only.execute("UPDATE records SET record=? WHERE key=?", (_text(record), key))

    def refer(self, rows: Iterable[tuple[int, str]]) -> None:
        self._merging.write_down(list(rows))

    def _into_tree(self, rows: Iterable[tuple[int, str]]) -> None:
        _insert(self._only, "INSERT OR IGNORE INTO refers(hash, key)", rows)

    def stage(self, rows: Iterable[tuple[int, str]]) -> None:
        """References of a bulk load, to be merged when it is over."""
        self._only.executemany("INSERT INTO staged_refers VALUES(?,?)", rows)

    def merge_staged(self) -> None:
        """Runs in the caller's transaction. The way over a temporary table frees the pages of the
        stage before they are needed, so that the file does not keep them empty."""
        self._only.execute(
            "CREATE TEMP TABLE sorted AS SELECT hash, key FROM staged_refers ORDER BY hash, key;"
            "DELETE FROM staged_refers;"
            "INSERT OR IGNORE INTO refers SELECT hash, key FROM sorted;"
            "DROP TABLE sorted"
        )

    def has_staged(self) -> bool:
        return self._only.execute("SELECT 1 FROM staged_refers LIMIT 1").get is not None

    def last_serial(self, day: str) -> int:
        """The highest serial number under the key of a day; 0 where there is none yet.

        Numbers from 10^18 on are names like any other: nothing is counted from them.
        """
        low, high = counted("1"), counted(str(SERIALS_END))
        row = self._only.execute(
            "SELECT key FROM records WHERE key>=? AND key<? ORDER BY key DESC LIMIT 1",
            (f"{day}/{low}", f"{day}/{high}"),
        ).fetchone()
        return Pdi.from_key(row[0]).serial or 0 if row else 0

    def growing_segment(self) -> tuple[int, int, str] | None:
        """Number, committed length and opening time of the last segment that is appended to."""
        row = self._only.execute(
            "SELECT number, length, opened FROM segments WHERE grows ORDER BY number DESC LIMIT 1"
        ).fetchone()
        return (row[0], row[1], row[2]) if row else None

    def save_segment(self, number: int, length: int, opened: str, *, grows: bool) -> None:
        """Remembers what is committed of a segment, and whether more can be appended to it."""
        self._only.execute(
            "INSERT INTO segments VALUES(?,?,?,?) "
            "ON CONFLICT(number) DO UPDATE SET length=excluded.length",
            (number, length, opened, grows),
        )

    def save_token(self, token: Token) -> None:
        text = msgspec.json.encode(token).decode()
        self._only.execute(
            "INSERT INTO tokens VALUES(?,?,?) "
            "ON CONFLICT(name) DO UPDATE SET digest=excluded.digest, token=excluded.token",
            (token.name, token.digest, text),
        )

    def log_token(self, before: Token | None, after: Token, at: str, by: str) -> None:
        """Adds to the history of tokens, without their digests."""
        self._only.execute(
            "INSERT INTO token_changes(name, at, actor, before, after) VALUES(?,?,?,?,?)",
            (after.name, at, by, before and _shown(before), _shown(after)),
        )

    def answered(self, actor: str, once: str) -> tuple[str, str] | None:
        """Fingerprint and receipt of the request answered under this idempotency key."""
        row = self._only.execute(
            "SELECT request, receipt FROM answered WHERE actor=? AND once=?", (actor, once)
        ).fetchone()
        return (row[0], row[1]) if row else None

    def save_answer(self, actor: str, once: str, request: str, receipt: str, at: str) -> None:
        self._only.execute(
            "INSERT INTO answered VALUES(?,?,?,?,?)", (actor, once, request, receipt, at)
        )

    def forget_answers(self, before: str) -> None:
        self._only.execute("DELETE FROM answered WHERE at<?", (before,))

    def _note_wal(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK

    def tidy(self) -> None:
        """Keeps the write-ahead log short: moves it into the file, as far as readers allow."""
        if self._wal_pages > _WAL_PAGES:
            self._only.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)


def is_past(earlier: Path, later: Path) -> bool:
    """Whether one registry file may be an earlier state of another: all that it names is there.

    Raises StorageFailed, or Unavailable where the earlier one cannot be read.
    """
    with storage_errors("the earlier backup"):
        connection = _opened(str(earlier), apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.execute("ATTACH ? AS later", (str(later),))
            return connection.execute(_GONE).get is None
        finally:
            connection.close()


def backup(root: Path, target: Path, *, pages: int = 4096) -> Iterator[float]:
    """Copies the registry while it is in use, so many pages at a time.

    Yields the share done, 0 to 1. Raises StorageFailed or Unavailable.
    """
    with storage_errors("the backup"):
        source = _opened(str(root / FILE), apsw.SQLITE_OPEN_READWRITE)
        copy = apsw.Connection(str(target))
    try:
        # Held to the end: a copy starts again from the beginning when what it reads is changed.
        source.execute("BEGIN; SELECT count(*) FROM meta")
        with storage_errors("the backup"), copy.backup("main", source, "main") as work:
            while not work.done:
                work.step(pages)
                yield 1 - work.remaining / max(work.page_count, 1)
        copy.execute("PRAGMA journal_mode=WAL")  # as wherever it is served; closing ends the log
    finally:
        copy.close()
        source.close()
