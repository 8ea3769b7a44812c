"""Names of one thing: which other names a listing shows beside a name, and which one comes first.

"Lists and searches that bring several names of one thing (by alias or digest) show it once, with
its other names" (ruling urn93-duplicates). How it works: two resources are one thing if an owner
says so (an alias, in either direction), or if their newest versions have the same digests; and so
on from name to name. Two representations are one thing if they have the same digest. All names of a
thing are looked up, so every one of them knows which of them a set lists first, on whatever page.

What must stay true: "same thing" is an equivalence, else a name could be hidden by one that is
hidden itself; so a thing with too many names, such as the empty document, is not one thing. Each
name costs some look-ups in the index of references, and no memory beyond its page. Digests of what
was withdrawn, or is not open to everyone, are not compared, since that would confirm a guess
(ruling tombstone-silence) and would leave out an open document with the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable

from perdure.errors import Corrupt
from perdure.ids import Identifier, parse
from perdure.ids.name_set import NameSet
from perdure.model.records import IdentifiedRecord, Record
from perdure.policy.naming import (
    contains_representation,
    identify_record,
    qualify_identifier,
    read_qualifiers,
)
from perdure.storage.ports import Records

MOST_NAMES = 100
"""The most names that are taken for names of one thing."""


class Namesakes:
    """Finds the other names of the members of a set."""

    def __init__(self, records: Records, *, is_ruled: Callable[[Identifier], bool]) -> None:
        """`is_ruled` returns True if there is a rule about who may read a resource."""
        self._records = records
        self._is_ruled = is_ruled

    def list_first(
        self, names: NameSet, row: IdentifiedRecord, members: list[Identifier]
    ) -> list[tuple[Identifier, tuple[Identifier, ...]]]:
        """Return those members of a record that a set lists first, each with its other names.

        The others are listed beside a member of an earlier record.
        """
        found = []
        for member in members:
            if names.has_representations:
                others = self._list_same_bytes(member, row.record)
                known = [one for one in others if contains_representation(names, one)]
            else:
                others, known = self._list_same_resources(names, row)
            if all(member.key < one.key for one in known):
                found.append((member, others))
        return found

    # Representations
    # ---------------

    def _list_same_bytes(self, member: Identifier, record: Record) -> tuple[Identifier, ...]:
        """Return the full names of the same bytes in other records, in order."""
        number, format = read_qualifiers(member)
        version = record.version(number) if number is not None else None
        held = version.find_representation(format) if version and format else None
        if version is None or held is None or record.tombstone or version.tombstone:
            return ()
        if self._is_ruled(member.resource):
            return ()
        return tuple(
            qualify_identifier(one.identifier, other.number, each.format)
            for one in self._list_referring(f"sha512:{held.sha512}") or ()
            if one.identifier.key != member.key and one.record.tombstone is None
            if not self._is_ruled(one.identifier)
            for other in one.record.versions
            if other.tombstone is None
            for each in other.representations
            if each.sha512 == held.sha512
        )

    # Resources
    # ---------

    def _list_same_resources(
        self, names: NameSet, row: IdentifiedRecord
    ) -> tuple[tuple[Identifier, ...], list[Identifier]]:
        """Return all other names of a resource, and the names among them that a set lists."""
        found: dict[str, Identifier] = {row.identifier.key: row.identifier}
        listed: list[Identifier] = []
        waiting: list[tuple[Identifier, Record | None]] = [(row.identifier, row.record)]
        while waiting:
            neighbours = self._list_neighbours(*waiting.pop())
            if neighbours is None:
                return (), []
            for name, record in neighbours:
                if name.key in found:
                    continue
                if len(found) == MOST_NAMES:
                    return (), []
                found[name.key] = name
                waiting.append((name, record))
                if record is not None and names.contains(name):
                    listed.append(name)
        del found[row.identifier.key]
        return tuple(found[key] for key in sorted(found)), listed

    def _list_neighbours(
        self, name: Identifier, record: Record | None
    ) -> list[tuple[Identifier, Record | None]] | None:
        """Return the names that are directly the same as a name, each with its record or None.

        Returns None if they are too many.
        """
        aliases = [parse(one) for one in record.aliases] if record is not None else []
        digests = self._list_open_digests(name, record)
        owners = self._list_referring(f"alias:{name.key}")
        equal = self._list_referring(f"sha512:{min(digests)}") if digests else []
        if owners is None or equal is None:
            return None
        found = [
            one
            for one in owners
            if any(parse(alias).key == name.key for alias in one.record.aliases)
        ]
        found += [
            one for one in equal if self._list_open_digests(one.identifier, one.record) == digests
        ]
        return [(one, self._find_record(one.key)) for one in aliases] + [
            (one.identifier, one.record) for one in found
        ]

    def _list_open_digests(self, name: Identifier, record: Record | None) -> frozenset[str]:
        digests = _list_digests(record) if record is not None else frozenset[str]()
        return frozenset() if digests and self._is_ruled(name) else digests

    def _list_referring(self, reference: str) -> list[IdentifiedRecord] | None:
        """Return the records that may refer to something, or None if they are too many."""
        keys = self._records.find_referring(reference, limit=MOST_NAMES + 1)
        if len(keys) > MOST_NAMES:
            return None
        found = ((key, self._find_record(key)) for key in keys)
        return [
            IdentifiedRecord(identify_record(key, record), record)
            for key, record in found
            if record is not None
        ]

    def _find_record(self, key: str) -> Record | None:
        """Return a record, or None if it is damaged or does not exist."""
        try:
            return self._records.find_record(key)
        except Corrupt:
            return None


def _list_digests(record: Record) -> frozenset[str]:
    """Return the digests of the newest version or, if nothing is held, those of its locations."""
    if record.tombstone is not None:
        return frozenset()
    newest = record.newest
    if newest is not None:
        return frozenset(one.sha512 for one in newest.representations)
    return frozenset(one.sha512 for one in record.locations if one.sha512)
