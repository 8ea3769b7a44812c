"""Finding duplicates: a stream of identifiers and URLs in, duplicates out.

"A URN's purpose", says the draft of 1993, is to tell whether two names name the same thing. How it
works: each item has traits, which are hashes of its canonical text, its equivalence class, the
aliases of its resource, the bytes that it names and the locations where these are. An item that
shares a trait with an earlier one is its duplicate, for the first reason in that order. The
knowledge of the registry is an argument, so the sieve itself is pure.

What must stay true: items come out in the order in which they came in, each once; memory grows only
with the number of different items; text that cannot be parsed is compared as text, never an error.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Iterable, Iterator
from typing import Protocol

import msgspec

from perdure.errors import PerdureError
from perdure.ids import Identifier, are_equivalent, parse
from perdure.ids.urls import normalise_url
from perdure.model.queries import LOCAL_READER, Choices, Query, Want
from perdure.reading.listing import Listings
from perdure.reading.resolve import ReadDoor


class DuplicateReason(enum.StrEnum):
    """Reasons, in the order in which they are tried."""

    EQUAL = "equals"
    EQUIVALENT = "is equivalent to"
    ALIASED = "is an alias of"
    SAME_BYTES = "has the same bytes as"
    SAME_LOCATION = "has the same location as"


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the stream. `why` is None if it duplicates no earlier line."""

    line: int
    text: str
    why: DuplicateReason | None = None
    first_line: int | None = None
    first_text: str | None = None


class NameLookUp(Protocol):
    """The knowledge of a registry about names."""

    def names(self, identifier: Identifier) -> Iterable[str]:
        """Return the keys of all names of the resource, its own included; none if unknown."""

    def digests(self, identifier: Identifier) -> Iterable[str]:
        """Return the SHA-512 of the bytes that the identifier names."""

    def locations(self, identifier: Identifier) -> Iterable[str]:
        """Return the URIs of the locations of an identifier."""

    def promised_digests(self, uri: str) -> Iterable[str]:
        """Return the SHA-512 that was promised for a location when it was bound."""


class EmptyLookUp:
    """A registry that knows nothing: names are compared by themselves."""

    def names(self, identifier: Identifier) -> Iterable[str]:
        del identifier
        return ()

    digests = locations = names

    def promised_digests(self, uri: str) -> Iterable[str]:
        del uri
        return ()


def sieve_lines(lines: Iterable[str], known: NameLookUp) -> Iterator[Item]:
    """Yield all lines that are not blank, with what each duplicates."""
    seen = _EarlierItems(known)
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if not text:
            continue
        found = seen.look_up((number, text))
        if found is None:
            yield Item(line=number, text=text)
        else:
            why, (first_line, first_text) = found
            yield Item(
                line=number, text=text, why=why, first_line=first_line, first_text=first_text
            )


_Place = tuple[int, str]
"""Line number and text."""


class _EarlierItems:
    """The earlier items."""

    def __init__(self, known: NameLookUp) -> None:
        self._known = known
        self._traits: dict[bytes, _Place] = {}
        self._classes: dict[tuple[str, str], list[tuple[Identifier, _Place]]] = {}

    def look_up(self, place: _Place) -> tuple[DuplicateReason, _Place] | None:
        """Return why an item is a duplicate, and of what. Add it to the earlier items."""
        try:
            identifier = parse(place[1])
        except PerdureError:
            found = None
            traits = _find_text_traits(place[1], self._known)
        else:
            # No scheme calls identifiers with different keys equivalent: `Identifier.key`.
            same_key = self._classes.setdefault((identifier.kind, identifier.key), [])
            found = _find_same(same_key, identifier)
            if found and found[0] is DuplicateReason.EQUAL:
                return found  # it has no trait that the other lacks
            same_key.append((identifier, found[1] if found else place))
            traits = _find_traits(identifier, self._known)
        fresh = []
        for why, trait in traits:
            if found is None and trait in self._traits:
                found = why, self._traits[trait]
            fresh.append(trait)
        for trait in fresh:
            self._traits.setdefault(trait, found[1] if found else place)
        return found


def _find_same(
    others: list[tuple[Identifier, _Place]], identifier: Identifier
) -> tuple[DuplicateReason, _Place] | None:
    for other, place in others:
        if other == identifier:
            return DuplicateReason.EQUAL, place
    for other, place in others:
        if are_equivalent(other, identifier):
            return DuplicateReason.EQUIVALENT, place
    return None


# Traits
# ------


def _find_traits(
    identifier: Identifier, known: NameLookUp
) -> Iterator[tuple[DuplicateReason, bytes]]:
    """Yield hashes of the traits that make items the same, the strictest reason first."""
    if identifier == identifier.whole:
        # Aliases of a resource are not aliases across its versions.
        named = f"{identifier.format}.{identifier.version}"
        named = "" if named == "None.None" else named
        for key in known.names(identifier):
            yield DuplicateReason.ALIASED, _hash_trait("names", f"{key} {named}")
    for digest in known.digests(identifier):
        yield DuplicateReason.SAME_BYTES, _hash_trait("sha512", digest)
    for uri in known.locations(identifier):
        yield DuplicateReason.SAME_LOCATION, _hash_trait("location", normalise_url(uri))


def _find_text_traits(text: str, known: NameLookUp) -> Iterator[tuple[DuplicateReason, bytes]]:
    """Yield the traits of a URL, or of other text that is not an identifier."""
    yield DuplicateReason.EQUAL, _hash_trait("text", text)
    url = normalise_url(text)
    yield DuplicateReason.EQUIVALENT, _hash_trait("url", url)
    for digest in known.promised_digests(text):
        yield DuplicateReason.SAME_BYTES, _hash_trait("sha512", digest)
    yield DuplicateReason.SAME_LOCATION, _hash_trait("location", url)


def _hash_trait(kind: str, text: str) -> bytes:
    data = f"{kind} {text}".encode("utf-8", "surrogateescape")
    return hashlib.blake2b(data, digest_size=16).digest()


# The registry
# ------------


class RegistryLookUp:
    """The knowledge of an actual registry."""

    def __init__(self, listings: Listings, reading: ReadDoor) -> None:
        self._listings = listings
        self._reading = reading

    def names(self, identifier: Identifier) -> Iterable[str]:
        found = self._listings.list_names(identifier)
        return (name.key for name in found) if len(found) > 1 else ()

    def digests(self, identifier: Identifier) -> Iterable[str]:
        choices = self._find_choices(identifier)
        if choices is None:
            return
        yield from (one.representation.sha512 for one in choices.fetches)
        yield from (one.sha512 for one in choices.locations if one.sha512)

    def locations(self, identifier: Identifier) -> Iterable[str]:
        choices = self._find_choices(identifier)
        return (one.uri for one in choices.locations) if choices else ()

    def _find_choices(self, identifier: Identifier) -> Choices | None:
        if identifier != identifier.whole:
            return None
        try:
            step = self._reading.resolve(Query(reader=LOCAL_READER, identifier=identifier)).choose(
                Want.LOCATIONS
            )
        except PerdureError:
            return None  # nothing is known about it
        return step if isinstance(step, Choices) else None

    def promised_digests(self, uri: str) -> Iterable[str]:
        for name in self._listings.find_bound(uri):
            record = self._listings.find_record(name)
            for location in record.locations if record else ():
                if location.sha512 and normalise_url(location.uri) == normalise_url(uri):
                    yield location.sha512
