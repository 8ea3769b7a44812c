"""Reading the documents that are about a name, such as signatures and assertions.

How it works: `fetch_document` asks the read door for the bytes of such a document, and `is_open`
for the right to read what it is about, since it may tell the digest or the words of that.
`find_commit` finds the revision that recorded the bytes.

What must stay true: a document that was withdrawn or is closed to the reader is not found; what a
later version or format says is never as old as the name, nor by the actor who minted it.
"""

from __future__ import annotations

from perdure.errors import Forbidden, Unauthenticated
from perdure.ids import Identifier
from perdure.model.queries import Fetch, Query, Reader, Step
from perdure.model.records import Record, Representation
from perdure.reading.resolve import ReadDoor
from perdure.storage.ports import Records


def fetch_document(
    door: ReadDoor,
    identifier: Identifier,
    reader: Reader,
    *,
    longest: int,
    record: Record | None = None,
    is_plain: bool = False,
) -> Fetch | None:
    """Return the step that leads to the bytes of a document held here.

    None if it was withdrawn, is closed to the reader, or has more than `longest` bytes. `record` is
    that of the name, if it was read in the same snapshot; `is_plain` says that the reader has no
    exceptions there (`ReadDoor.has_exceptions`).
    """
    step: Step | None = None
    if record is not None:
        step = door.fetch_only(identifier, record, reader, is_plain=is_plain)
    try:
        step = step or door.resolve(Query(identifier=identifier, reader=reader)).step
    except (Forbidden, Unauthenticated):
        return None
    if isinstance(step, Fetch) and step.representation.length <= longest:
        return step
    return None


def is_open(door: ReadDoor, about: Identifier, reader: Reader) -> bool:
    """Return whether a reader may read what a document is about."""
    guard = door.find_guard(about, reader)
    return guard is None or guard.is_admitted()


def find_commit(records: Records, key: str, record: Record, held: Representation) -> Record:
    """Return the first revision that has the bytes of a representation in the same version.

    It says who committed them, and when. `record` is the present revision with this key; it is the
    answer if no revision of the past has them.
    """
    if record.revision == 1:
        return record
    within = next(
        (one.number for one in reversed(record.versions) if held in one.representations), 0
    )
    for past in records.list_past(key, record.revision):
        version = past.version(within)
        if version is not None and version.find_representation(held.format) is not None:
            return past
    return record
