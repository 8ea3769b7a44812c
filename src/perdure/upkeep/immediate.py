"""Transactions of SQLite that read before they write, in files that several processes write.

How it works: a transaction usually begins with a lock for reading. If another process is about to
commit when it first writes, SQLite fails at once, however long the connection would wait, because
both would wait for each other. A transaction that begins as a writer waits before it has read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol


class Executing(Protocol):
    """A connection to a database."""

    @property
    def in_transaction(self) -> bool: ...

    def execute(self, statements: str, /) -> object: ...


@contextmanager
def begin_immediately(connection: Executing) -> Iterator[None]:
    """Begin a transaction as the only writer. Commit it at the end, or undo it after an error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:  # SQLite undoes it itself if its disk is full, for example
            connection.execute("ROLLBACK")
        raise
