"""Makes the tables of a registry in PostgreSQL.

How it works: `schema.sql` runs in a new schema, in one transaction. Of several that begin at once,
one makes the tables, and the others find them.
"""

from __future__ import annotations

from pathlib import Path

from perdure.errors.processes import EncodingUnfit, ServerTooOld
from perdure.model.references import EQUAL
from perdure.storage.postgresql.addresses import DatabaseAddress
from perdure.storage.postgresql.connecting import (
    FORMAT,
    Connection,
    check_format,
    connect_database,
    reading_errors,
)
from perdure.storage.reference_hashes import reference_hash

OLDEST_SERVER = 15
_LOCK = "SELECT pg_advisory_xact_lock(hashtext('schema of perdure'), 0)"
_HAS_SCHEMA = "SELECT 1 FROM pg_namespace WHERE nspname = %s"
_HAS_TABLES = "SELECT to_regclass(%s) IS NOT NULL"
_SCRIPT = Path(__file__).with_name("schema.sql")


def create_schema(address: DatabaseAddress, note: tuple[str, str] | None = None) -> None:
    """Make the tables of a registry, unless they are there. Raises Unavailable.

    `note`: a name and a value for `meta`, which no session sees later than the tables.
    """
    with connect_database(address) as connection, reading_errors(address):
        check_server(connection, address)
        with connection.transaction():
            connection.execute(_LOCK)
            if connection.execute(_HAS_SCHEMA, (address.schema,)).fetchone() is None:
                connection.execute(f"CREATE SCHEMA {address.schema}")
            connection.execute(f"SET LOCAL search_path TO {address.schema}, pg_catalog")
            found = connection.execute(_HAS_TABLES, (f"{address.schema}.meta",)).fetchone()
            if found is not None and found[0]:
                check_format(connection, address)
                return
            connection.execute(_SCRIPT.read_text("utf-8"))
            connection.execute("INSERT INTO meta VALUES ('format', %s)", (str(FORMAT),))
            if note is not None:
                connection.execute("INSERT INTO meta VALUES (%s, %s)", note)
            connection.execute("INSERT INTO refers VALUES (%s, '')", (reference_hash(EQUAL),))


def check_server(connection: Connection, address: DatabaseAddress) -> None:
    """Raise DatabaseUnfit if the server is too old, or the database has another encoding."""
    version = connection.info.server_version // 10_000
    if version < OLDEST_SERVER:
        raise ServerTooOld(address=address.shown, version=version, oldest=OLDEST_SERVER)
    encoding = connection.info.parameter_status("server_encoding") or "unknown"
    if encoding != "UTF8":
        raise EncodingUnfit(address=address.shown, encoding=encoding)
