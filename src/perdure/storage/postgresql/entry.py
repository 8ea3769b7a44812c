"""The entry point of the store in PostgreSQL: it loads the driver, or says how to install it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure.errors.unavailable import import_library

if TYPE_CHECKING:
    from perdure.storage.postgresql.store import PostgresqlStore


def open_store(address: str = "postgresql://") -> PostgresqlStore:
    """The store at an address, such as `postgresql://perdure@db.example/perdure`.

    Raises BadSettings if it is not an address, and MissingLibrary without the extra `postgresql`.
    """
    import_library("psycopg", task="a registry in PostgreSQL", extra="postgresql")
    from perdure.storage.postgresql.store import PostgresqlStore

    return PostgresqlStore(address)
