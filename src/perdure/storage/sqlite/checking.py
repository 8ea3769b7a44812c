"""The registry file's own check: its pages, its indexes, and the tables that hold no record.

How it works: SQLite checks the structure of the file (`integrity_check`, `foreign_key_check`). It
reports a limited number of faults, because a damaged page causes many. Then the checksums of all
rows are compared (`perdure.storage.sqlite.sums`).

What must stay true: nothing is changed; a fault that ends a check is reported as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import apsw

from perdure.errors import Corrupt
from perdure.errors.corruption import DatabaseUnsound
from perdure.storage.sqlite import sums
from perdure.storage.sqlite.opening import FILE

_MOST_FAULTS = 100
_CHECKS = (f"PRAGMA integrity_check({_MOST_FAULTS})", "PRAGMA foreign_key_check")


def check_file(connection: apsw.Connection) -> Iterator[Corrupt]:
    """An error for each fault that SQLite finds."""
    for statement in _CHECKS:
        try:
            for row in connection.execute(statement):
                if row != ("ok",):
                    yield make_fault(" ".join(str(one) for one in row if one is not None))
        except (apsw.Error, UnicodeDecodeError) as error:
            yield make_fault(str(error))


def check_rows(
    connection: apsw.Connection, name_row: Callable[[str, Any], Corrupt]
) -> Iterator[Corrupt]:
    """An error for each row that does not have its checksum."""
    try:
        yield from sums.check_sums(connection, name_row)
    except (apsw.Error, UnicodeDecodeError) as error:
        yield make_fault(str(error))


def make_fault(fault: str) -> Corrupt:
    """An error about the file as a whole."""
    return DatabaseUnsound(file=FILE, fault=fault)
