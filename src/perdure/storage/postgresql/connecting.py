"""Connections to the database of a registry, and its errors in our terms.

How it works: a connection works on the primary, in the schema of the registry, and notices within
some seconds that the other machine is gone. Each statement is a transaction of its own unless one
was begun.

What must stay true: an error of the driver never leaves the adapter, and no message has the
password.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg
from psycopg import errors as pg

from perdure.errors.moving import RegistryArriving, RegistryMoved
from perdure.errors.processes import DatabaseUnreachable, OtherFormat, RegistryNotInDatabase
from perdure.storage.ports import (
    JournalBusy,
    JournalError,
    JournalFailed,
    JournalFull,
    JournalInterrupted,
    JournalMoved,
)
from perdure.storage.postgresql.addresses import DatabaseAddress

FORMAT = 1
"""The format of the tables that this release writes and reads."""
Connection = psycopg.Connection[Any]
_PARAMETERS = {
    "connect_timeout": "5",
    "keepalives": "1",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
    "target_session_attrs": "read-write",  # not a standby, which would be behind
    "client_encoding": "utf8",
}
_IDLE_SECONDS = 10
"""The server ends the session of a node that stops between two statements of a batch."""
_STATEMENT_SECONDS = 600
_LOCK_SECONDS = _IDLE_SECONDS + 5
"""Then a node looks for sessions that `end_silent_sessions` must end."""
_END_SILENT = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND usename = current_user
AND application_name = current_setting('application_name')
AND state = 'active' AND wait_event = 'ClientRead'
AND query_start < clock_timestamp() - make_interval(secs => %s)
"""
_NOTES = "SELECT name, value FROM meta WHERE name IN ('format', 'moved', 'arriving')"
_MOVED = ("PD001", "PD003", pg.UndefinedTable.sqlstate)
"""The codes of a batch whose node or tables are gone: the registry or its bytes were moved."""
_NEEDS_NO_REPAIR = (pg.OperationalError, pg.InterfaceError)
_RACES = (
    pg.UniqueViolation,
    pg.SerializationFailure,
    pg.DeadlockDetected,
    pg.IdleInTransactionSessionTimeout,
)


def connect(address: DatabaseAddress, *, writes: bool = False) -> Connection:
    """Connect to the database of a registry. Raises Unavailable."""
    connection = connect_database(address)
    try:
        limits = f"SET statement_timeout = '{_STATEMENT_SECONDS}s'"
        if writes:  # no limit for a statement: it would also end the wait for a standby
            limits = (
                f"SET idle_in_transaction_session_timeout = '{_IDLE_SECONDS}s';"
                f"SET lock_timeout = '{_LOCK_SECONDS}s'; SET statement_timeout = 0"
            )
        with reading_errors(address):
            connection.execute(f"SET search_path TO {address.schema}, pg_catalog; {limits}")
        check_format(connection, address)
    except BaseException:
        connection.close()
        raise
    return connection


def connect_database(address: DatabaseAddress) -> Connection:
    """Connect to the database alone, whether it has a registry or not. Raises Unavailable."""
    parameters = {**_PARAMETERS, "application_name": "perdure", **address.parameters}
    with reading_errors(address):
        found: Connection = psycopg.connect(**parameters, autocommit=True)  # type: ignore[arg-type]
    return found


def end_silent_sessions(address: DatabaseAddress) -> int:
    """End the sessions of nodes that stopped while they sent a batch; return how many these were.

    The server does not end them itself: for it, a session whose statements are still being sent is
    not idle, however long the next one takes. Releases before 17 have no limit for a transaction.
    Raises Unavailable.
    """
    with reading_errors(address), closing(connect_database(address)) as connection:
        ended = connection.execute(_END_SILENT, (_IDLE_SECONDS,)).fetchall()
    return len(ended)


def check_format(connection: Connection, address: DatabaseAddress) -> None:
    """Raise Unavailable if the schema has no registry, or one of another release."""
    try:
        notes = dict(connection.execute(_NOTES).fetchall())
    except (pg.UndefinedTable, pg.InvalidSchemaName):
        notes = {}
    except psycopg.Error as error:
        raise translate_reading(error, address) from None
    if "moved" in notes:
        raise RegistryMoved(to=notes["moved"])
    if "arriving" in notes and not address.arrives:
        raise RegistryArriving(address=address.shown)
    if "format" not in notes:
        raise RegistryNotInDatabase(address=address.shown, schema=address.schema)
    if notes["format"] != str(FORMAT):
        found = int(notes["format"]) if notes["format"].isdecimal() else 0
        raise OtherFormat(file=f"the registry in {address.shown}", found=found, known=FORMAT)


@contextmanager
def reading_errors(address: DatabaseAddress) -> Iterator[None]:
    """Raise Unavailable if the database cannot be read."""
    try:
        yield
    except psycopg.Error as error:
        raise translate_reading(error, address) from None


def translate_reading(error: psycopg.Error, address: DatabaseAddress) -> Exception:
    """The error to raise if the database could not be read."""
    return DatabaseUnreachable(address=address.shown, fault=address.scrub_text(str(error)))


def translate_writing(
    error: psycopg.Error, connection: Connection, address: DatabaseAddress
) -> JournalError | psycopg.Error:
    """Translate an error in a batch; return the error itself if the mistake is ours."""
    text = address.scrub_text(str(error))
    if error.sqlstate in _MOVED:
        found = error.diag.message_primary if error.sqlstate == "PD003" else ""
        return JournalMoved(found or "another place")
    if isinstance(error, (pg.DiskFull, pg.OutOfMemory, pg.ConfigurationLimitExceeded)):
        return JournalFull(text)
    if isinstance(error, (pg.DataCorrupted, pg.IndexCorrupted, pg.IoError)):
        return JournalFailed(text)
    if connection.closed or isinstance(error, _RACES):
        return JournalInterrupted(text)
    if isinstance(error, (pg.ReadOnlySqlTransaction, pg.QueryCanceled, pg.InsufficientPrivilege)):
        return JournalBusy(text)
    return JournalBusy(text) if isinstance(error, _NEEDS_NO_REPAIR) else error
