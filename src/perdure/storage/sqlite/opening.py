"""The file of an embedded registry: its tables, its format number, and how to open it.

How it works: `user_version` in the head of the file is the number of its format; each migration
also writes it to `application_id`, so that a damaged number is not taken for that of a later
release. Readers open every format since the first, and change nothing. The writer migrates the file
step by step to the newest format, each step in one transaction. Some steps leave work behind that
takes many transactions (`reconstruct`, `sums`); the writer does it before its first batch. An older
program refuses a format that it does not know. A new file is made by the same steps, so it does not
differ from a file that was migrated.

What must stay true: steps are only added, and none is changed after a release; an interrupted step
is repeated from its beginning. The bytes of the file are read only with `open_raw`: SQLite knows
which of its descriptors have locks. If this process closed another one, it would lose all its locks
on the file (fcntl(2), record locks).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from perdure.errors import StorageFailed, Unavailable
from perdure.errors.moving import RegistryMoved
from perdure.errors.processes import (
    DatabaseBusy,
    DatabaseMissing,
    FileUnusable,
    FormatNumberDamaged,
    OtherFormat,
)
from perdure.model.references import EQUAL
from perdure.storage.reference_hashes import reference_hash
from perdure.storage.sqlite import changelog, references, rules, sums

FILE = "registry.sqlite"
FIRST_FORMAT = 1
MOVED, ARRIVED = "moved", "arrived"
"""Notes in a file: the address to which its registry was moved, and the move that brought it."""
CLOSED = "the registry was moved"
"""The error of the triggers in a file whose registry was moved."""
_RAW = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0]
_MAPPED = 1 << 40  # bytes; a mapped page costs no copy and is not counted as our memory
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
# Later additions to format 1, which its first releases ignore: the history of tokens, and triggers
# that guard the tables to which rows are only added.
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
_NOTHING_TO_INDEX = "INSERT OR IGNORE INTO refers(hash, key) VALUES(?, '')"
"""A new registry has no names of a release that did not make equal names findable."""


def _complete_first(connection: apsw.Connection) -> None:
    """Add to a file of format 1 the tables that its later releases added."""
    connection.execute(references.SCHEMA + _ADDED).fetchall()
    references.take_over(connection)


def _number_changes(connection: apsw.Connection) -> None:
    """Migrate to format 2: changes are numbered. `perdure.storage.sqlite.reconstruct` goes on."""
    connection.execute(changelog.SCHEMA).fetchall()


def _sum_changes(_connection: apsw.Connection) -> None:
    """Migrate to format 4: rows of changes have checksums. Earlier rows stay as they are."""


def _add_rules(connection: apsw.Connection) -> None:
    """Migrate to format 5: there are reading rules, which an older program must not ignore."""
    connection.execute(rules.SCHEMA).fetchall()


_STEPS = {
    2: _number_changes,
    3: sums.add_columns,
    4: _sum_changes,
    5: _add_rules,
    6: sums.sum_words,
}
"""For the number of each format, the function that migrates a file from the format before."""
NEWEST_FORMAT = max(_STEPS)

UNUSABLE = (
    apsw.BusyError,
    apsw.CantOpenError,
    apsw.CorruptError,
    apsw.LockedError,
    apsw.NotADBError,
)

_REBUILD = "stop the server, then rebuild the file from the segments with 'perdure rebuild'"


def make_unusable(what: str, error: Exception, file: Path | None = None) -> Unavailable:
    """Translate an error of SQLite. If the file is damaged or missing, it says how to rebuild it.

    A missing file is noticed only if `file` is given.
    """
    if isinstance(error, apsw.CantOpenError) and file is not None and not os.path.lexists(file):
        return DatabaseMissing(file=what, missing=FILE, mend=_REBUILD)
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return DatabaseBusy(what=what, fault=str(error))
    damaged = isinstance(error, (apsw.CorruptError, apsw.NotADBError, apsw.SQLError))
    return FileUnusable(file=what, fault=str(error), mend=_REBUILD if damaged else None)


@contextmanager
def storage_errors(what: str, file: Path | None = None) -> Iterator[None]:
    """Raise StorageFailed if the disk is full or failing, Unavailable if the file is unusable."""
    try:
        yield
    except (OSError, apsw.FullError, apsw.IOError, apsw.ReadOnlyError) as error:
        raise StorageFailed(what=what, reason=str(error)) from error
    except (apsw.SQLError, *UNUSABLE) as error:  # the schema can be damaged, too
        raise make_unusable(what, error, file) from error


def create_registry(root: Path, *, is_durable: bool = True) -> None:
    """Create an empty registry, unless there is one already. Raises StorageFailed.

    If it need not be durable, nothing is flushed to the disk.
    """
    with storage_errors("the registry"):
        connection = apsw.Connection(str(root / FILE))
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA synchronous={'FULL' if is_durable else 'OFF'}")
            with connection:
                if not connection.execute("PRAGMA user_version").get:
                    connection.execute(_SCHEMA + references.SCHEMA + _ADDED)
                    connection.execute(f"PRAGMA user_version={FIRST_FORMAT}")
                    migrate_file(connection)
                    connection.execute(_NOTHING_TO_INDEX, (reference_hash(EQUAL),))
        finally:
            connection.close()


def migrate_file(connection: apsw.Connection) -> None:
    """Migrate the file to the newest format. Raises apsw.Error."""
    found = read_format(connection)
    if found == FIRST_FORMAT:
        _complete_first(connection)
    for number in range(found + 1, NEWEST_FORMAT + 1):
        with connection:
            _STEPS[number](connection)
            connection.execute(f"PRAGMA user_version={number}; PRAGMA application_id={number}")


def read_format(connection: apsw.Connection) -> int:
    """The number of the format of a file."""
    found: int = connection.execute("PRAGMA user_version").get
    return found


def is_of_later_release(connection: apsw.Connection) -> bool:
    """Return True if both numbers in the head of a file are that of a later format."""
    found = read_format(connection)
    return found > NEWEST_FORMAT and found == connection.execute("PRAGMA application_id").get


def refuse_format(connection: apsw.Connection) -> None:
    """Raise OtherFormat, or FormatNumberDamaged if only one number in the head is unknown."""
    found, again = read_format(connection), connection.execute("PRAGMA application_id").get
    if FIRST_FORMAT <= again <= NEWEST_FORMAT:
        raise FormatNumberDamaged(file="the registry", found=found, mend=_REBUILD)
    raise OtherFormat(file="the registry", found=found, known=NEWEST_FORMAT, oldest=FIRST_FORMAT)


def open_file(name: str, flags: int) -> apsw.Connection:
    """Open a connection to a registry. Raises Unavailable if its format is not known."""
    connection = apsw.Connection(name, flags=flags)
    try:
        connection.set_busy_timeout(5000)
        connection.execute(f"PRAGMA mmap_size={_MAPPED}")
        if not FIRST_FORMAT <= read_format(connection) <= NEWEST_FORMAT:
            refuse_format(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def find_note(connection: apsw.Connection, name: str) -> str:
    """A note in a file, or an empty text. Raises apsw.Error."""
    return str(connection.execute("SELECT value FROM meta WHERE name=?", (name,)).get or "")


def check_not_moved(connection: apsw.Connection) -> None:
    """Raise RegistryMoved if the registry of a file was moved. Raises apsw.Error."""
    if to := find_note(connection, MOVED):
        raise RegistryMoved(to=to)


def lock_shared(path: Path) -> apsw.VFSFile:
    """Lock a file for reading, as a connection does that may write. Close it to end that.

    Raises apsw.BusyError if another process is writing to the file.
    """
    file = apsw.VFSFile("", str(path.resolve()), _RAW)
    try:
        file.xLock(apsw.SQLITE_LOCK_SHARED)
    except apsw.Error:
        file.xClose()
        raise
    return file


@contextmanager
def open_raw(path: Path) -> Iterator[apsw.VFSFile]:
    """The bytes of a file that connections of this process may have open. Raises apsw.Error."""
    file = apsw.VFSFile("", str(path.resolve()), _RAW)
    try:
        yield file
    finally:
        file.xClose()
