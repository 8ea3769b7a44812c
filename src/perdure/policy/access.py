"""Who may read what. Pure.

How it works: the read door asks `may_read` once for every record that it answers with, whatever the
face. Nothing is closed to anybody yet, so the answer is always yes. A rule about what is closed,
private or withdrawn belongs here and nowhere else.
"""

from __future__ import annotations

from perdure.ids import Identifier
from perdure.model.queries import Reader
from perdure.model.records import Record


def may_read(reader: Reader, identifier: Identifier, record: Record) -> bool:  # noqa: ARG001
    """Whether a reader may have what a record holds."""
    return True
