"""Reads as values: a `Query`, and the `Step` that answers it.

`perdure.policy.decide` chooses the step; a face (HTTP, THTTP, the command line …) only prints it.
"""

from __future__ import annotations

import enum

import msgspec

from perdure.errors import MalformedIdentifier
from perdure.ids import Identifier
from perdure.model.records import Location, Record, Representation, Tombstone


class Want(enum.StrEnum):
    """The services of RFC 2483 and RFC 2169, by the names of the former."""

    LOCATION = "I2L"
    LOCATIONS = "I2Ls"
    RESOURCE = "I2R"
    RESOURCES = "I2Rs"
    DESCRIPTION = "I2C"
    NAMES = "I2Ns"


class Preference(msgspec.Struct, frozen=True):
    """One range of an Accept or Accept-Language field with its quality, 0 to 1."""

    range: str
    quality: float = 1.0


class Reader(msgspec.Struct, frozen=True, kw_only=True):
    """Who asks. A reader without a name is the public."""

    name: str = ""
    """The name of the token that was presented; `local` on the machine itself."""


PUBLIC_READER = Reader()


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a reader can ask about one identifier."""

    identifier: Identifier
    part: str | None = None
    """The part, if it stood beside the identifier."""
    delimiter: str = "?part="
    """The text that stood between the identifier and the part."""
    doubt: MalformedIdentifier | None = None
    """The error to raise if the identifier is not known (`perdure.policy.unfolding.Name`)."""
    reader: Reader = PUBLIC_READER
    want: Want = Want.RESOURCE
    accept: tuple[Preference, ...] = ()
    languages: tuple[Preference, ...] = ()
    region: str | None = None
    """The part of the world that the reader is in, as locations have it."""
    day: str = ""
    """Today (`2026-11-21`, UTC); empty: whenever."""
    dead: frozenset[str] = frozenset()
    """URIs that are known to lead nowhere."""


class Fetch(msgspec.Struct, frozen=True, kw_only=True):
    """Serve these bytes, held here. `identifier` is fully qualified."""

    identifier: Identifier
    representation: Representation
    pinned: bool
    """The query named this version, so the answer can never change."""
    negotiated: bool = False


class Redirect(msgspec.Struct, frozen=True, kw_only=True):
    """Send the reader to a location."""

    identifier: Identifier
    location: Location
    others: tuple[Location, ...] = ()

    def to(self, uri: str) -> Redirect:
        """The same to another place, of which nothing else is known."""
        return Redirect(identifier=self.identifier, location=Location(uri=uri))


class Description(msgspec.Struct, frozen=True, kw_only=True):
    """Tell what is known."""

    identifier: Identifier
    record: Record


class Choices(msgspec.Struct, frozen=True, kw_only=True):
    """Several answers stand side by side: representations held here, then locations."""

    identifier: Identifier
    fetches: tuple[Fetch, ...] = ()
    locations: tuple[Location, ...] = ()


class Gone(msgspec.Struct, frozen=True, kw_only=True):
    """It was withdrawn, or its last location broken. To say so is an answer, not an error."""

    identifier: Identifier
    tombstone: Tombstone


Step = Fetch | Redirect | Description | Choices | Gone


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a listing, in listing order. `cursor` asks for the next one; None: that was all."""

    identifiers: tuple[Identifier, ...]
    cursor: str | None = None


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A series, year or month with the years, months or days in it that hold identifiers."""

    pattern: Identifier
    members: tuple[Identifier, ...]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What `verify` found about one representation; `problem` is None where it is sound."""

    identifier: str
    segment: int
    offset: int
    length: int
    problem: str | None = None
