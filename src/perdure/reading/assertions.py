"""The assertions about a name: which documents say something about it, and whether they stand.

How it works: an assertion is a document of its own; its record has the names that it is about as
targets (`Record.targets`). `list_assertions` reads the assertions about a name. A retraction is a
further assertion about an assertion; it counts if it has the same actor.

What must stay true: assertions are read through the read door, so nothing that was withdrawn or is
closed to a reader is shown, nor an assertion about something closed.
"""

from __future__ import annotations

import msgspec

from perdure.errors import PerdureError
from perdure.formats.essence import strip_parameters
from perdure.ids import Identifier
from perdure.model.assertions import LONGEST, MEDIA_TYPE, RETRACTS, Assertion, read_assertion
from perdure.model.queries import PUBLIC_READER, Reader
from perdure.model.records import IdentifiedRecord
from perdure.reading.listing import Listings
from perdure.reading.resolve import ReadDoor
from perdure.reading.targeting import fetch_document, is_open

MOST = 1000
"""Assertions about one name that are read."""


class HeldAssertion(msgspec.Struct, frozen=True, kw_only=True):
    """An assertion in the registry."""

    identifier: Identifier
    """Of the assertion, with format and version."""
    assertion: Assertion
    by: str
    """The actor who minted it."""
    at: str
    retracted_by: tuple[Identifier, ...] = ()
    """The retractions of it that count."""


class Assertions:
    """The assertions of a registry, for reading."""

    def __init__(self, door: ReadDoor, listings: Listings) -> None:
        self._door = door
        self._listings = listings

    def list_assertions(
        self, name: Identifier, reader: Reader = PUBLIC_READER
    ) -> list[HeldAssertion]:
        """Return the assertions about a name, and about every version, format and part of it.

        They are in the order of their names. Those that were retracted are marked.
        """
        held = self._find_about(name, reader)
        return [
            msgspec.structs.replace(one, retracted_by=self._find_retractions(one, reader))
            for one in held
        ]

    def _find_about(self, name: Identifier, reader: Reader) -> list[HeldAssertion]:
        found = []
        for one in self._listings.find_targeting(name)[:MOST]:
            held = self._read_held(one, reader)
            if held is not None and any(map(name.matches, held.assertion.about)):
                found.append(held)
        return found

    def _find_retractions(self, held: HeldAssertion, reader: Reader) -> tuple[Identifier, ...]:
        others = self._find_about(held.identifier.resource, reader)
        return tuple(
            other.identifier
            for other in others
            if RETRACTS in other.assertion.motivations and other.by == held.by
        )

    def _read_held(self, one: IdentifiedRecord, reader: Reader) -> HeldAssertion | None:
        """Read an assertion; None if the record is not one, or is not for this reader."""
        step = fetch_document(self._door, one.identifier, reader, longest=LONGEST)
        if step is None:
            return None
        if strip_parameters(step.representation.media_type) != strip_parameters(MEDIA_TYPE):
            return None
        try:
            assertion = read_assertion(self._listings.read_bytes(step.representation))
        except PerdureError:  # another document about the name
            return None
        if not all(is_open(self._door, about, reader) for about in assertion.about):
            return None
        past = self._listings.records.list_revisions(one.identifier.key)
        first = past[0] if past else one.record
        return HeldAssertion(
            identifier=step.identifier, assertion=assertion, by=first.by, at=first.at
        )
