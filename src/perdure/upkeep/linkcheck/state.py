"""`links.sqlite`: the locations to check, and the findings of the last check.

How it works: a run begins by writing every location in its scope into the table `location`, with
the number of the run. Locations without a finding of this run remain to be checked, in an order
that mixes the hosts. So an interrupted run resumes where it stopped. Findings are written in
batches; every write changes the file, which readers watch to notice news. The errors of records
that a run could not read are in the table `unread`, so that a resumed run reports them again.

What must stay true: it is a cache of answers from the web; you may delete it at any time, and it is
never a part of a record. A run that could not read all records forgets no location.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import apsw
import msgspec

from perdure.errors import Corrupt
from perdure.errors.processes import LinksChecked
from perdure.errors.tree import pack_error, unpack_error
from perdure.upkeep.linkcheck.checker import Task
from perdure.upkeep.linkcheck.verdict import (
    LOST,
    PATIENCE,
    ExpectedContent,
    LinkFinding,
    LinkVerdict,
)

FILE = "links.sqlite"
LOCK = "links.lock"
_BUSY_MS = 10_000
_AT_ONCE = 500
_PACKED = tuple[tuple[str, ...], dict[str, object]]
_SCHEMA = """
CREATE TABLE IF NOT EXISTS run (
    number INTEGER PRIMARY KEY, what TEXT NOT NULL, began TEXT NOT NULL, collected TEXT, ended TEXT
);
CREATE TABLE IF NOT EXISTS location (
    uri TEXT PRIMARY KEY, run INTEGER NOT NULL, sha512 TEXT, size INTEGER, shuffle INTEGER NOT NULL,
    found_in INTEGER, verdict TEXT, status INTEGER, reason TEXT, moved_to TEXT, etag TEXT,
    modified TEXT, checked TEXT, failures INTEGER NOT NULL DEFAULT 0, identifier TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS unread (run INTEGER NOT NULL, error TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS todo ON location (run, found_in, shuffle);
CREATE INDEX IF NOT EXISTS lost ON location (verdict) WHERE verdict NOT IN ('ok', 'moved');
"""
_ADDED = {"found_sha512": "TEXT", "found_size": "INTEGER"}
"""Columns that files of earlier releases lack."""
_FOUND = (
    "uri, verdict, status, reason, moved_to, etag, modified, checked, failures, "
    "found_sha512, found_size"
)

_LOST_NAMES = ", ".join(f"'{one}'" for one in sorted(LOST))
_IS_LOST = (
    "verdict NOT IN ('ok', 'moved') "  # so that the index `lost` has these rows
    f"AND (verdict IN ({_LOST_NAMES}) OR (verdict = 'unreachable' AND failures >= {PATIENCE}))"
)


class BoundLocation(msgspec.Struct, frozen=True):
    """A location, and one of the identifiers that are bound to it."""

    identifier: str
    expected: ExpectedContent


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of a run."""

    run: int
    what: str
    began: str
    ended: str | None
    checked: int
    verdicts: dict[str, int]

    @property
    def has_problems(self) -> bool:
        """True if a location that was asked is not as it should be."""
        fine = self.verdicts[LinkVerdict.OK] + self.verdicts[LinkVerdict.REFUSED]
        return fine < self.checked


class Links:
    """The findings of one registry directory. For one thread."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._connection = apsw.Connection(str(root / FILE))
        self._connection.set_busy_timeout(_BUSY_MS)
        self._connection.pragma("journal_mode", "wal")
        self._connection.pragma("synchronous", "NORMAL")
        self._connection.execute(_SCHEMA)
        self._add_columns()

    def _add_columns(self) -> None:
        known = {row[1] for row in self._fetch_rows("PRAGMA table_info(location)")}
        for name, kind in _ADDED.items():
            if name not in known:
                with suppress(apsw.SQLError):  # another process was faster
                    self._connection.execute(f"ALTER TABLE location ADD COLUMN {name} {kind}")

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def hold_lock(self) -> Iterator[None]:
        """Hold the lock on checking this registry. Raises Unavailable if another process has it."""
        fd = os.open(self._root / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LinksChecked(used="checking links") from None
            yield
        finally:
            os.close(fd)

    # A run
    # -----

    def find_unfinished(self, what: str) -> int | None:
        """Return the run over these identifiers that was interrupted after collecting."""
        row = self._fetch_row(
            "SELECT number, what FROM run WHERE collected IS NOT NULL AND ended IS NULL "
            "AND number = (SELECT max(number) FROM run)"
        )
        return int(row[0]) if row and row[1] == what else None

    def begin_run(
        self,
        what: str,
        bound: Iterable[BoundLocation],
        unread: Collection[Corrupt] = (),
        *,
        fresh_hours: float = 0,
    ) -> int:
        """Begin a run over these locations, without those that were checked recently.

        `unread` are the errors of records that cannot be read, complete when `bound` has ended.
        """
        recently = _format_time(datetime.now(UTC) - timedelta(hours=fresh_hours))
        self._connection.execute(
            "INSERT INTO run (what, began) VALUES (?, ?)", (what, _format_time(datetime.now(UTC)))
        )
        run = self._connection.last_insert_rowid()
        with self._connection:
            self._connection.executemany(
                "INSERT INTO location (uri, run, sha512, size, shuffle, identifier) "
                "VALUES (?1, ?2, ?3, ?4, random(), ?5) ON CONFLICT (uri) DO UPDATE SET run = ?2, "
                "sha512 = iif(run = ?2, coalesce(sha512, ?3), ?3), "
                "size = iif(run = ?2, coalesce(size, ?4), ?4), "
                "etag = iif(sha512 IS ?3 AND size IS ?4, etag, NULL), "
                "modified = iif(sha512 IS ?3 AND size IS ?4, modified, NULL), "
                "shuffle = random(), identifier = iif(run = ?2, identifier, ?5)",
                (
                    (one.expected.uri, run, one.expected.sha512, one.expected.size, one.identifier)
                    for one in bound
                ),
            )
            self._connection.executemany(
                "INSERT INTO unread (run, error) VALUES (?, ?)",
                ((run, msgspec.json.encode(pack_error(one)).decode()) for one in unread),
            )
            if fresh_hours:
                self._connection.execute(
                    "UPDATE location SET found_in = ?1 WHERE run = ?1 AND checked >= ?2",
                    (run, recently),
                )
            self._connection.execute(
                "UPDATE run SET collected = ? WHERE number = ?",
                (_format_time(datetime.now(UTC)), run),
            )
        return run

    def list_unread(self, run: int) -> list[Corrupt]:
        """List the errors of the records that a run could not read."""
        rows = self._fetch_rows("SELECT error FROM unread WHERE run = ? ORDER BY rowid", (run,))
        errors = [unpack_error(*msgspec.json.decode(text, type=_PACKED)) for (text,) in rows]
        return [error for error in errors if isinstance(error, Corrupt)]

    def count_remaining(self, run: int) -> int:
        """Return the number of locations without a finding of this run."""
        row = self._fetch_row(
            "SELECT count(*) FROM location WHERE run = ?1 AND found_in IS NOT ?1", (run,)
        )
        return int(row[0]) if row else 0

    def list_tasks(self, run: int) -> Iterator[Task]:
        """Yield the locations that remain to be checked, in an order that mixes the hosts."""
        after = -(1 << 63)
        while True:
            rows = self._fetch_rows(
                f"SELECT shuffle, sha512, size, {_FOUND} FROM location "  # noqa: S608  (constants)
                "WHERE run = ?1 AND found_in IS NOT ?1 AND shuffle > ?2 ORDER BY shuffle LIMIT ?3",
                (run, after, _AT_ONCE),
            )
            for shuffle, sha512, size, *found in rows:
                after = shuffle
                before = _finding_from_row(found) if found[1] is not None else None
                yield Task(ExpectedContent(found[0], sha512, size), before)
            if len(rows) < _AT_ONCE:
                return

    def save_findings(self, run: int, findings: Iterable[LinkFinding]) -> None:
        """Write findings, all or none."""
        with self._connection:
            self._connection.executemany(
                "UPDATE location SET found_in = ?, verdict = ?, status = ?, reason = ?, "
                "moved_to = ?, etag = ?, modified = ?, checked = ?, failures = ?, "
                "found_sha512 = ?, found_size = ? WHERE uri = ?",
                (
                    (run, one.verdict, one.status, one.reason, one.moved_to, one.etag,
                     one.modified, one.checked, one.failures, one.sha512, one.size, one.uri)
                    for one in findings
                ),
            )  # fmt: skip

    def end_run(self, run: int) -> None:
        """End a run. If it read the whole registry, forget locations that no record has any more.

        A record that could not be read may still have any location.
        """
        with self._connection:
            self._connection.execute(
                "UPDATE run SET ended = ? WHERE number = ?", (_format_time(datetime.now(UTC)), run)
            )
            self._connection.execute(
                "DELETE FROM location WHERE run < ?1 "
                "AND (SELECT what FROM run WHERE number = ?1) = '' "
                "AND NOT EXISTS (SELECT 1 FROM unread WHERE run = ?1)",
                (run,),
            )
            self._connection.execute("DELETE FROM unread WHERE run < ?", (run,))

    # Findings
    # --------------

    def summarise_run(self, run: int) -> Summary:
        row = self._fetch_row("SELECT what, began, ended FROM run WHERE number = ?", (run,))
        counts = self._fetch_rows(
            "SELECT verdict, count(*) FROM location WHERE run = ?1 AND found_in = ?1 "
            "GROUP BY verdict",
            (run,),
        )
        verdicts = {one.value: 0 for one in LinkVerdict} | {str(name): n for name, n in counts}
        what, began, ended = row or ("", "", None)
        return Summary(
            run=run,
            what=what,
            began=began,
            ended=ended,
            checked=sum(verdicts.values()),
            verdicts=verdicts,
        )

    def list_findings(self, run: int, *, well: bool = False) -> Iterator[tuple[str, LinkFinding]]:
        """Yield the findings of a run, each with an identifier; good ones only if `well`."""
        only = "" if well else "AND verdict != 'ok' "
        rows = self._connection.execute(
            f"SELECT identifier, {_FOUND} FROM location WHERE run = ?1 AND found_in = ?1 "  # noqa: S608
            f"{only}ORDER BY verdict, uri",
            (run,),
        )
        for identifier, *found in rows:
            yield identifier, _finding_from_row(found)

    def read_finding(self, uri: str) -> LinkFinding | None:
        """Return the last finding for a location."""
        row = self._fetch_row(
            f"SELECT {_FOUND} FROM location WHERE uri = ? AND verdict IS NOT NULL",  # noqa: S608
            (uri,),
        )
        return _finding_from_row(row) if row else None

    def list_lost(self) -> frozenset[str]:
        """Return all locations that redirects skip."""
        rows = self._fetch_rows(f"SELECT uri FROM location WHERE {_IS_LOST}")  # noqa: S608
        return frozenset(uri for (uri,) in rows)

    def list_lost_findings(self, limit: int) -> list[LinkFinding]:
        """Return the findings of the first lost locations, by verdict and address."""
        rows = self._fetch_rows(
            f"SELECT {_FOUND} FROM location WHERE {_IS_LOST} ORDER BY verdict, uri LIMIT ?",  # noqa: S608
            (limit,),
        )
        return [_finding_from_row(row) for row in rows]

    def count_lost(self, most: int) -> dict[str, int]:
        """Return the numbers of lost locations by verdict. No more than `most` are counted."""
        rows = self._fetch_rows(
            f"SELECT verdict, count(*) FROM (SELECT verdict FROM location WHERE {_IS_LOST} LIMIT ?)"  # noqa: S608
            " GROUP BY verdict ORDER BY verdict",
            (most,),
        )
        return dict(rows)

    def find_last_end(self) -> str | None:
        """Return when the last complete check of the whole registry ended."""
        row = self._fetch_row("SELECT max(ended) FROM run WHERE what = ''")
        return row[0] if row else None

    def _fetch_rows(self, statement: str, bindings: tuple[Any, ...] = ()) -> list[Any]:
        return list(self._connection.execute(statement, bindings))

    def _fetch_row(self, statement: str, bindings: tuple[Any, ...] = ()) -> Any:
        return next(iter(self._connection.execute(statement, bindings)), None)


def is_taken(root: Path) -> bool:
    """Return whether a process is checking this registry now."""
    try:
        fd = os.open(root / LOCK, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def _finding_from_row(row: Any) -> LinkFinding:
    uri, verdict, status, reason, moved_to, etag, modified, checked, failures, sha512, size = row
    return LinkFinding(
        uri=uri,
        verdict=LinkVerdict(verdict),
        status=status,
        reason=reason or "",
        moved_to=moved_to,
        etag=etag,
        modified=modified,
        checked=checked or "",
        failures=failures,
        sha512=sha512,
        size=size,
    )


def _format_time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
