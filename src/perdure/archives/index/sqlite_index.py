"""The index of captures in SQLite: one file, any number of readers, one writer at a time.

How it works: the primary key of `captures` is in the order of the index, so that a look-up is one
descent of a tree and its result is contiguous. `perdure.archives.index.rows` defines the row of a
capture. `files` lists the archive files and their paths. A file is added in one transaction with
all its captures (`perdure.archives.index.adding`).

What must stay true: a crash while a file is added leaves nothing of it; the index returns the
recorded values byte for byte; look-ups cost the same, however many captures a URL has.
"""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import starmap
from pathlib import Path
from typing import Any

import apsw
import msgspec

from perdure.archives import places
from perdure.archives.dates import format_second
from perdure.archives.files.scanning import ArchivePlace
from perdure.archives.index.cdxj import format_listed_place, is_moved
from perdure.archives.index.rows import COLUMNS, KINDS, Row, lengthen_uri
from perdure.archives.port import Capture
from perdure.errors import StorageFailed
from perdure.errors.processes import FileUnusable, OtherFormat

FILE = places.INDEX
_FORMAT = 3
_OLDEST = 1
BUSY = 60_000
"""Milliseconds to wait for another process that writes."""
_MAPPED = 16 << 30
_SCHEMA = """
CREATE TABLE files (
  id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, path TEXT NOT NULL, base INTEGER NOT NULL,
  size INTEGER NOT NULL, modified INTEGER NOT NULL, shared INTEGER NOT NULL, added TEXT NOT NULL,
  records INTEGER NOT NULL, captures INTEGER NOT NULL, flaws INTEGER NOT NULL, methods INTEGER,
  content INTEGER
);
CREATE TABLE runs (
  name TEXT PRIMARY KEY, level INTEGER NOT NULL, lines INTEGER NOT NULL, size INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE flaws (
  file INTEGER NOT NULL, number INTEGER NOT NULL, offset INTEGER NOT NULL, what TEXT NOT NULL,
  PRIMARY KEY (file, number)
) WITHOUT ROWID;
CREATE TABLE captures (
  key TEXT NOT NULL, date TEXT NOT NULL, file INTEGER NOT NULL, offset INTEGER NOT NULL,
  length INTEGER NOT NULL, kind, uri NOT NULL, status INTEGER, media_type TEXT NOT NULL,
  digest TEXT NOT NULL, refers TEXT, request TEXT, listed TEXT,
  PRIMARY KEY (key, date, file, offset)
) WITHOUT ROWID;
"""
_LISTED_INDEX = """
CREATE INDEX captures_listed ON captures(listed, date, file, offset) WHERE listed IS NOT NULL;
"""
_SCAN = f"SELECT {COLUMNS} FROM captures WHERE key>=? AND key<? ORDER BY key"  # noqa: S608
_SCAN_LISTED = f"SELECT {COLUMNS} FROM captures WHERE listed>=? AND listed<? ORDER BY listed"  # noqa: S608
# The limit is part of the text, rounded up so that there are few texts: SQLite plans a query again
# whenever a parameter in LIMIT is bound, which costs more than the query.
_FORWARDS = [f"{_SCAN}, date, file, offset LIMIT {1 << n}" for n in range(63)]
_BACKWARDS = [f"{_SCAN} DESC, date DESC, file DESC, offset DESC LIMIT {1 << n}" for n in range(63)]
_LISTED_FORWARDS = [text.replace(_SCAN, _SCAN_LISTED) for text in _FORWARDS]
_LISTED_BACKWARDS = [text.replace(_SCAN, _SCAN_LISTED) for text in _BACKWARDS]
_UNUSABLE = (
    apsw.BusyError,
    apsw.CantOpenError,
    apsw.CorruptError,
    apsw.LockedError,
    apsw.NotADBError,
)
NAMES = "SELECT name FROM files"
_OUTDATED = f"{NAMES} WHERE methods IS NULL"
_FLAWS_AT = "SELECT what FROM flaws WHERE file=(SELECT id FROM files WHERE name=?) AND offset=?"
_RUNS = "SELECT name, level, lines, size FROM runs ORDER BY name"


class ArchiveFile(msgspec.Struct, frozen=True, kw_only=True):
    """A registered archive file."""

    id: int
    name: str
    path: str
    """Absolute, or relative to the directory of the index if the file was moved there."""
    base: int = 0
    """Its offset in bytes if it is stored in another file."""
    size: int
    modified: int
    """Nanoseconds since 1970; for a stored file, those of the file that contains it."""
    shared: bool = False
    """Whether it is compressed as one stream, not record by record."""
    added: str
    records: int
    lines: int = 0
    """Records in the index; the others have no URI, or are faulty."""
    captures: int
    """Captures among them: no requests, and no records about captures."""
    flaws: int
    methods: int | None = None
    """Captures of requests other than GET; None if a release with index format 1 added the file."""

    @property
    def is_outdated(self) -> bool:
        """True if the index lacks what later releases read: methods, and digests of all records."""
        return self.methods is None


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """A valid ZipNum run; see `perdure.archives.index.runs`."""

    name: str
    level: int
    lines: int
    size: int


@contextmanager
def storage_errors(what: str) -> Iterator[None]:
    """Convert errors: the disk is full or failing, or the index is damaged or in use."""
    try:
        yield
    except (OSError, apsw.FullError, apsw.IOError, apsw.ReadOnlyError) as error:
        raise StorageFailed(what=what, reason=str(error)) from error
    except _UNUSABLE as error:
        raise FileUnusable(file=what, fault=str(error)) from error


def create_index(root: Path) -> None:
    """Create an empty index in a directory, if there is none. Raises StorageFailed.

    It gets its name only when it is complete, because readers may look for it at any time.
    """
    target = root / FILE
    if target.exists():
        return
    beside = root / f".{FILE}.{secrets.token_hex(8)}"
    with storage_errors("the index of captures"):
        root.mkdir(parents=True, exist_ok=True)
        try:
            connection = apsw.Connection(str(beside))
            try:
                connection.pragma("journal_mode", "WAL")
                connection.pragma("synchronous", "FULL")
                with connection:
                    connection.execute(_SCHEMA + _LISTED_INDEX)
                    connection.execute(f"PRAGMA user_version={_FORMAT}")
            finally:
                connection.close()
            with suppress(FileExistsError):  # another process was faster
                os.link(beside, target)
        finally:
            beside.unlink(missing_ok=True)


class _Reader:
    """The connection with which a thread reads the index, and values that it remembers."""

    __slots__ = ("connection", "cursor", "names", "outdated", "runs", "version")

    def __init__(self, connection: apsw.Connection) -> None:
        self.connection = connection
        self.cursor = connection.cursor()
        self.version: int | None = None
        self.runs: list[RunRow] = []
        self.names: set[str] | None = None
        self.outdated: frozenset[str] = frozenset()


class SqliteCaptures:
    """Reads an index, with a connection per thread; implements `perdure.archives.port.Captures`."""

    def __init__(self, root: Path) -> None:
        self._path = root / FILE
        self._local = threading.local()
        self._connections: list[apsw.Connection] = []
        self._names: dict[int, str] = {}

    def _open_reader(self) -> _Reader | None:
        """Open a reader for this thread; None if nothing was ever added."""
        if not self._path.exists():
            return None
        with storage_errors("the index of captures"):
            connection = self._open_connection()
        self._connections.append(connection)
        reader = self._local.reader = _Reader(connection)
        return reader

    def _open_connection(self) -> apsw.Connection:
        # Without mutexes: no two threads use one connection.
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOMUTEX
        connection = apsw.Connection(str(self._path), flags=flags)
        try:
            connection.set_busy_timeout(BUSY)
            connection.execute(f"PRAGMA mmap_size={_MAPPED}")
            version = connection.execute("PRAGMA user_version").get
            if _OLDEST <= version < _FORMAT:
                version = _extend_index(connection)
            if version != _FORMAT:
                raise OtherFormat(
                    file="the index of captures", found=version, known=_FORMAT, oldest=_OLDEST
                )
        except BaseException:
            connection.close()
            raise
        return connection

    def _fetch_rows(self, statement: str, bindings: tuple[Any, ...] = ()) -> list[Row]:
        reader = getattr(self._local, "reader", None) or self._open_reader()
        if reader is None:
            return []
        try:
            return reader.cursor.execute(statement, bindings).fetchall()
        except (apsw.IOError, *_UNUSABLE) as error:
            raise FileUnusable(file="the index of captures", fault=str(error)) from error

    def scan_range(
        self, low: str, high: str, *, backwards: bool = False, limit: int
    ) -> list[Capture]:
        """See `Captures`. Within one key and date, files are in the order of their addition."""
        return self._scan(_BACKWARDS if backwards else _FORWARDS, low, high, limit)

    def scan_by_request(
        self, low: str, high: str, *, backwards: bool = False, limit: int
    ) -> list[Capture]:
        """See `Captures`."""
        return self._scan(_LISTED_BACKWARDS if backwards else _LISTED_FORWARDS, low, high, limit)

    def _scan(self, texts: list[str], low: str, high: str, limit: int) -> list[Capture]:
        rows = self._fetch_rows(texts[(limit - 1).bit_length()], (low, high))
        if len(rows) > limit:
            del rows[limit:]
        return list(starmap(self.read_row, rows))

    def read_row(
        self,
        key: str,
        date: str,
        file: int,
        offset: int,
        length: int,
        kind: int | str,
        uri: int | str,
        status: int | None,
        media_type: str,
        digest: str,
        refers: str | None,
        request: str | None,
    ) -> Capture:
        """Return the capture of a row. The arguments are in the order of `COLUMNS`."""
        urlkey, time = key[:-15], key[-14:]
        refers_to_uri, _, refers_to_date = refers.rpartition("\n") if refers else ("", "", "")
        method, _, request_body = request.partition("\n") if request else ("", "", "")
        return Capture(
            key=urlkey,
            time=time,
            date=date or format_second(time),
            uri=uri if isinstance(uri, str) else lengthen_uri(uri, urlkey),
            kind=kind if isinstance(kind, str) else KINDS[kind],
            media_type=media_type,
            status=status,
            digest=digest,
            file=self._names.get(file) or self._find_name(file),
            offset=offset,
            length=length,
            refers_to_uri=refers_to_uri,
            refers_to_date=refers_to_date,
            method=method,
            request_body=request_body,
        )

    def _find_name(self, file: int) -> str:
        found: str = self._fetch_rows("SELECT name FROM files WHERE id=?", (file,))[0][0]
        self._names[file] = found
        return found

    def count_captures(self) -> int:
        """Return the number of records of all registered files, whichever index has them."""
        return sum(count for (count,) in self._fetch_rows("SELECT captures FROM files"))

    def count_by_request(self) -> int:
        """Return the number of captures of `scan_by_request`."""
        rows = self._fetch_rows("SELECT count(*) FROM captures WHERE listed IS NOT NULL")
        return rows[0][0] if rows else 0

    def list_files(self) -> list[ArchiveFile]:
        return [_read_file(row) for row in self._fetch_rows("SELECT * FROM files ORDER BY id")]

    def find_file(self, name: str) -> ArchiveFile | None:
        rows = self._fetch_rows("SELECT * FROM files WHERE name=?", (name,))
        return _read_file(rows[0]) if rows else None

    def find_file_at(self, path: str, base: int) -> ArchiveFile | None:
        """Return the file that is registered at a place, or None."""
        rows = self._fetch_rows("SELECT * FROM files WHERE path=? AND base=?", (path, base))
        return _read_file(rows[0]) if rows else None

    def list_names(self) -> set[str]:
        """Return the names of all registered files, read again only after a change."""
        reader = self._refresh_reader()
        if reader is None:
            return set()
        if reader.names is None:
            reader.names = {name for (name,) in self._fetch_rows(NAMES)}
        return reader.names

    def list_outdated(self) -> frozenset[str]:
        """Return the names of files whose entries are outdated, see `ArchiveFile.is_outdated`.

        They are those of the state in which this thread last read captures.
        """
        reader: _Reader | None = getattr(self._local, "reader", None)
        return reader.outdated if reader else frozenset()

    def list_runs(self, *, fresh: bool = False) -> list[RunRow]:
        """Return the ZipNum runs with further captures, as of this thread's last read of captures.

        With `fresh`, return them as they are now.
        """
        reader = self._refresh_reader(fresh=fresh)
        return reader.runs if reader else []

    def _refresh_reader(self, *, fresh: bool = False) -> _Reader | None:
        """Return this thread's reader, with its remembered values updated after a write.

        The values belong to the state in which this thread last read captures. SQLite reports a
        change of that state without reading the disk.
        """
        reader = getattr(self._local, "reader", None) or self._open_reader()
        if reader is None:
            return None
        version = reader.connection.data_version()
        if fresh or reader.version != version:
            reader.version, reader.names = version, None
            reader.runs = [_read_run(row) for row in self._fetch_rows(_RUNS)]
            reader.outdated = frozenset(name for (name,) in self._fetch_rows(_OUTDATED))
        return reader

    def list_flaws(self, file: int, *, limit: int = 1000) -> list[tuple[int, str]]:
        """Return the offset and description of each flaw of a file."""
        return [
            (offset, what)
            for offset, what in self._fetch_rows(
                "SELECT offset, what FROM flaws WHERE file=? ORDER BY number LIMIT ?", (file, limit)
            )
        ]

    def list_flaws_at(self, file: str, offset: int) -> list[str]:
        """Return the descriptions of the recorded flaws at an offset of a file."""
        return [what for (what,) in self._fetch_rows(_FLAWS_AT, (file, offset))]

    def find_place(self, file: str) -> ArchivePlace | None:
        """Return the place of a file; implements `perdure.archives.files.registered.Places`."""
        found = self.find_file(file)
        return resolve_place(found, self._path.parent) if found else None

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
        self._connections.clear()
        self._local = threading.local()


def _extend_index(connection: apsw.Connection) -> int:
    """Give an index of an earlier format the columns of this one, at once. Return its format.

    Format 1 lacks the methods of requests, and format 2 the order in which lists have their
    answers. Files count as outdated, until they are read again, if their entries lack methods, or
    if runs may have answers to other methods than GET.
    """
    connection.execute("BEGIN IMMEDIATE")
    version: int = connection.execute("PRAGMA user_version").get
    if version < _FORMAT:  # else another process was faster
        if version == _OLDEST:
            connection.execute("ALTER TABLE captures ADD COLUMN request TEXT")
            connection.execute("ALTER TABLE files ADD COLUMN methods INTEGER")
            connection.execute("ALTER TABLE files ADD COLUMN content INTEGER")
        connection.execute("ALTER TABLE captures ADD COLUMN listed TEXT")
        connection.execute(_LISTED_INDEX)
        connection.create_scalar_function("listed_place", _find_listed_place)
        connection.execute(
            "UPDATE captures SET listed=listed_place(key, uri, request) WHERE request IS NOT NULL"
        )
        connection.execute(
            "UPDATE files SET methods=NULL WHERE methods>0 AND EXISTS (SELECT 1 FROM runs)"
        )
        connection.execute(f"PRAGMA user_version={_FORMAT}")
    connection.execute("COMMIT")
    return max(version, _FORMAT)


def _find_listed_place(*columns: Any) -> str | None:
    """Return the column `listed` of a row, given its columns key, uri and request."""
    place, uri, request = columns
    key, time = place[:-15], place[-14:]
    method, _, body = request.partition("\n")
    capture = Capture(
        key=key,
        time=time,
        date="",
        uri=uri if isinstance(uri, str) else lengthen_uri(uri, key),
        kind="",
        method=method,
        request_body=body,
    )
    return format_listed_place(capture) if is_moved(capture) else None


def resolve_place(file: ArchiveFile, root: Path) -> ArchivePlace:
    return ArchivePlace(
        path=os.path.join(root, file.path),  # noqa: PTH118  # once for each record that is read
        base=file.base,
        size=file.size if file.base else None,
        shared=file.shared,
    )


def _read_run(row: Row) -> RunRow:
    name, level, lines, size = row
    return RunRow(name=name, level=level, lines=lines, size=size)


def _read_file(row: Row) -> ArchiveFile:
    id, name, path, base, size, modified, shared, added, records, lines, flaws, methods, content = (
        row
    )
    return ArchiveFile(
        id=id,
        name=name,
        path=path,
        base=base,
        size=size,
        modified=modified,
        shared=bool(shared),
        added=added,
        records=records,
        lines=lines,
        captures=lines if content is None else content,
        flaws=flaws,
        methods=methods,
    )
