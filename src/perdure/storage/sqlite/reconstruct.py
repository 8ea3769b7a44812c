"""Epoch 0: numbers for changes that were made before changes had numbers.

How it works: the first pass reads all records, their history and the history of tokens in the order
of keys, and writes a change for each revision to `reconstructing`. Neighbours with the same time
and actor that never changed become one change, like the records of a batch. The second pass numbers
the changes in the order of time, key and revision, and moves them. Both passes consist of many
small transactions that store their progress. If the process is killed, the next one goes on there.
At the end epoch 1 begins.

What must stay true: no new change is written to the registry before all of this is done; a record
that cannot be read still gets a number, by its text.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from os import urandom
from typing import Any

import apsw
import msgspec

from perdure.model import stored
from perdure.model.changes import (
    RECONSTRUCTED,
    SALT_BYTES,
    TOKEN,
    TOKEN_KEY,
    Deed,
    Epoch,
    Line,
    Scope,
    digest_lines,
)
from perdure.model.records import LOCAL
from perdure.storage.sqlite.changelog import ChangeLog

ACT = "reconstructed"
"""The act of a change that was not recorded when it was made."""
_SOME = 4096  # records or changes in a transaction
_STAGE = """
CREATE TABLE IF NOT EXISTS reconstructing (
  at TEXT NOT NULL, first TEXT NOT NULL, revision INTEGER NOT NULL, last TEXT NOT NULL,
  count INTEGER NOT NULL, act TEXT NOT NULL, actor TEXT NOT NULL, digest BLOB NOT NULL,
  salt BLOB NOT NULL, PRIMARY KEY (at, first, revision)
) WITHOUT ROWID
"""
_PROGRESS = "INSERT OR REPLACE INTO meta VALUES('reconstructed', ?)"
_READ = "SELECT value FROM meta WHERE name='reconstructed'"
_ALL_READ = "\U0010ffff"
_log = logging.getLogger(__name__)

Staged = tuple[str, str, int, str, int, str, str, bytes, bytes]


def number_changes(connection: apsw.Connection, log: ChangeLog, at: str) -> None:
    """Number all earlier changes, so that new ones can follow. Raises apsw.Error."""
    newest = connection.execute("SELECT max(epoch) FROM epochs").get
    if newest:
        return
    if newest is None and _is_empty(connection):
        _begin_first(connection, log, at)
        return
    _log.info("numbering the changes of this registry; this happens once and can take a while")
    with connection:
        connection.execute(_STAGE)
    _stage_all(connection)
    with connection:
        if newest is None:
            log.begin_epoch(Epoch(epoch=RECONSTRUCTED, reason=ACT), at, LOCAL)
            log.write_rows()
    while _number_some(connection, log):
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    with connection:
        log.begin_epoch(Epoch(epoch=1, reason="numbered", previous=log.head), at, LOCAL)
        log.write_rows()
        connection.execute("DROP TABLE reconstructing; DELETE FROM meta WHERE name='reconstructed'")


def _begin_first(connection: apsw.Connection, log: ChangeLog, at: str) -> None:
    """Begin the first epoch, unless another process that made this registry has just done so."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if connection.execute("SELECT 1 FROM epochs").get is None:
            log.begin_epoch(Epoch(epoch=1, reason="created"), at, LOCAL)
            log.write_rows()
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    log.load_state()


def _is_empty(connection: apsw.Connection) -> bool:
    both = "SELECT 1 FROM records UNION ALL SELECT 1 FROM token_changes LIMIT 1"
    return connection.execute(both).get is None


# Staging
# -------


def _stage_all(connection: apsw.Connection) -> None:
    """Stage all changes that are not staged yet."""
    read = connection.execute(_READ).get
    if read == _ALL_READ:
        return
    low = read or ""
    while True:
        with connection:
            rows: list[Any] = connection.execute(
                "SELECT key, record FROM records WHERE key>? ORDER BY key LIMIT ?", (low, _SOME)
            ).fetchall()
            staged = list(_find_changes(connection, rows))
            if not rows:
                staged = list(_find_token_changes(connection))
            low = rows[-1][0] if rows else _ALL_READ
            _stage_changes(connection, staged)
            connection.execute(_PROGRESS, (low,))
        if not rows:
            return
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)


def _stage_changes(connection: apsw.Connection, staged: list[Staged]) -> None:
    marks = ",".join("?" * 9)
    connection.executemany(f"INSERT INTO reconstructing VALUES({marks})", staged)


def _find_changes(connection: apsw.Connection, rows: list[Line]) -> Iterator[Staged]:
    """The changes that wrote some records and their history."""
    if not rows:
        return
    history: dict[str, list[tuple[int, str]]] = {}
    for key, revision, text in connection.execute(
        "SELECT key, revision, record FROM history WHERE key>=? AND key<=?",
        (rows[0][0], rows[-1][0]),
    ):
        history.setdefault(key, []).append((revision, text))
    run: list[Line] = []
    common: tuple[str, str] | None = None
    for key, text in rows:
        at, by, revision = _read_stamp(text)
        past = history.get(key, [])
        plain = revision == 1 and not past
        if run and (not plain or (at, by) != common):
            yield _make_staged(run, *(common or ("", "")), 1)
            run = []
        if plain:
            run.append((key, text))
            common = at, by
            continue
        for number, before in past:
            yield _make_staged([(key, before)], *_read_stamp(before)[:2], number)
        yield _make_staged([(key, text)], at, by, revision)
    if run:
        yield _make_staged(run, *(common or ("", "")), 1)


def _read_stamp(text: str) -> tuple[str, str, int]:
    """Time, actor and revision of a record."""
    try:
        record = stored.decode_stored(text)
    except (msgspec.DecodeError, TypeError, ValueError):
        return "", LOCAL, 1
    return record.at, record.by, record.revision


def _find_token_changes(connection: apsw.Connection) -> Iterator[Staged]:
    seen: dict[str, int] = {}
    for name, at, actor, after in connection.execute(
        "SELECT name, at, actor, after FROM token_changes ORDER BY number"
    ):
        seen[name] = seen.get(name, 0) + 1
        yield _make_staged([(TOKEN_KEY + name, after)], at, actor, seen[name], TOKEN)


def _make_staged(lines: list[Line], at: str, actor: str, revision: int, act: str = ACT) -> Staged:
    salt = urandom(SALT_BYTES)
    digest = digest_lines(salt, actor, lines)
    return at, lines[0][0], revision, lines[-1][0], len(lines), act, actor, digest, salt


# Numbering
# ---------


def _number_some(connection: apsw.Connection, log: ChangeLog) -> bool:
    """Number the next staged changes. Return False if there were none."""
    with connection:
        rows: list[tuple[Any, ...]] = connection.execute(
            "SELECT * FROM reconstructing ORDER BY at, first, revision LIMIT ?", (_SOME,)
        ).fetchall()
        for at, first, revision, last, count, act, actor, digest, salt in rows:
            scope = Scope(first, last, count, revision)
            log.add_change(Deed(act, at, actor), scope, digest, salt)
        log.write_rows()
        connection.executemany(
            "DELETE FROM reconstructing WHERE at=? AND first=? AND revision=?",
            [row[:3] for row in rows],
        )
    return bool(rows)
