"""The documents of a record that everyone may have, as they are held here.

How it works: each document of a record is asked for by its full name, as any reader asks. What is
withdrawn, erased, closed or missing is thus left out here for the same reasons as everywhere. If
there are no rules about a record, its documents are decided about together (`Resolved.narrow_to`).

What must stay true: the answer about a document is that of `ReadDoor`, never one found here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from perdure.errors import Forbidden, LegallyUnavailable, NotAcceptable, NotFound, Unauthenticated
from perdure.ids import Identifier
from perdure.model.commands import NOWHERE
from perdure.model.queries import Fetch, Query
from perdure.model.records import Representation
from perdure.policy.naming import qualify_identifier
from perdure.reading.harvest import HarvestedRecord
from perdure.reading.resolve import ReadDoor
from perdure.reading.resolved import Resolved

_REFUSALS = (Forbidden, Unauthenticated, LegallyUnavailable, NotFound, NotAcceptable)


class PublicDocument(NamedTuple):
    """A document that everyone may have."""

    identifier: Identifier
    """With version and format."""
    held: Representation
    at: str
    """When it was committed."""


def list_documents(reading: ReadDoor, record: HarvestedRecord) -> Iterator[PublicDocument]:
    """Yield the documents of a record, in the order of versions. Raises Corrupt."""
    shown = record.resolved.record if record.resolved is not None else None
    for version in shown.versions if shown is not None else ():
        for held in version.representations:
            name = qualify_identifier(record.identifier, version.number, held.format)
            found = find_document(reading, name, within=record.resolved)
            if found is not None and found.sha512 == held.sha512:
                yield PublicDocument(name, found, held.at or version.at)


def find_document(
    reading: ReadDoor, identifier: Identifier, *, within: Resolved | None = None
) -> Representation | None:
    """Find the document with a full name, or None if not everyone may have it. Raises Corrupt.

    `within` is the answer about its resource, if that is known already.
    """
    with suppress(*_REFUSALS):
        resolved = None if within is None else within.narrow_to(identifier)
        step = (resolved or reading.resolve(Query(identifier=identifier))).step
        if isinstance(step, Fetch) and step.representation.segment != NOWHERE:
            held = step.representation
            return held if held.is_shown and not held.is_erased else None
    return None
