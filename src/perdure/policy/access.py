"""Access rules: they decide which records a reader may read. Pure.

How it works: the read door calls `may_read` once for every record that it answers with, for every
face. No record is closed to any reader yet, so the answer is always True. A rule about closed,
private or withdrawn records belongs here and nowhere else.
"""

from __future__ import annotations

from perdure.ids import Identifier
from perdure.model.queries import Reader
from perdure.model.records import LOCAL, Record


def may_read_captures(reader: Reader, access: str) -> bool:
    """Return True if the reader may read the captures of an archive with this access.

    Those of a closed archive are read only on its premises: by people on the machine itself.
    """
    return access != "closed" or reader.name == LOCAL


def may_read(reader: Reader, identifier: Identifier, record: Record) -> bool:  # noqa: ARG001
    """Return True if the reader may read the record."""
    return True
