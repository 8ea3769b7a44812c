"""Access rules: they decide which records a reader may read. Pure.

How it works: the read door calls `may_read` once for every record that it answers with, for every
face. No record is closed to any reader yet, so the answer is always True. A rule about closed,
private or withdrawn records belongs here and nowhere else.
"""

from __future__ import annotations

from perdure.ids import Identifier
from perdure.model.queries import Reader
from perdure.model.records import Record


def may_read(reader: Reader, identifier: Identifier, record: Record) -> bool:  # noqa: ARG001
    """Return True if the reader may read the record."""
    return True
