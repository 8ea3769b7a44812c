"""The collections that the public may read, with their members: sets of records for harvesters.

How it works: `MembershipIndex` knows the collections; the read door decides which of them the
public may read, and what it may read of them. Each is asked for once, so make one
`PublicCollections` for one request.

What must stay true: a collection that is closed or withdrawn is not listed, its members do not name
it, and no date tells that it changed.
"""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from perdure.errors import PerdureError
from perdure.ids import Identifier
from perdure.model.changes import ChangeMark
from perdure.model.collection import MEDIA_TYPE
from perdure.model.queries import Fetch, Preference, Query
from perdure.policy.naming import identify_record
from perdure.reading.resolved import Resolved
from perdure.registry import Registry
from perdure.upkeep.collection.membership_index import MembershipIndex, find_collection

_SOME = 500


class PublicCollection(NamedTuple):
    """A collection that the public may read."""

    key: str
    identifier: Identifier
    title: str
    """The title in its document; it may be empty."""
    resolved: Resolved


class PublicCollections:
    """The public collections of a registry, as one request sees them."""

    def __init__(self, registry: Registry, index: MembershipIndex) -> None:
        self._registry = registry
        self._index = index
        self._known: dict[str, PublicCollection | None] = {}

    def find_collection(self, key: str) -> PublicCollection | None:
        """Return the collection with a key if the public may read it, or None."""
        if key not in self._known:
            found = None
            with suppress(PerdureError):
                found = self._find_public(key)
            self._known[key] = found
        return self._known[key]

    def _find_public(self, key: str) -> PublicCollection | None:
        records = self._registry.records
        with records.hold_snapshot():
            record = records.find_record(key)
            if record is None or find_collection(record) is None:
                return None
            name = identify_record(key, record)
            resolved = self._registry.reading.resolve(Query(identifier=name), {key: record})
        step = resolved.choose(accept=(Preference(MEDIA_TYPE),), whole=True)
        if not isinstance(step, Fetch) or step.representation.media_type != MEDIA_TYPE:
            return None
        return PublicCollection(key, name, self._index.find_title(key), resolved)

    def list_collections(self, after: str, *, limit: int) -> list[PublicCollection]:
        """Return collections after a key, in the order of their keys."""
        found: list[PublicCollection] = []
        while keys := self._index.list_collections(after, limit=_SOME):
            public = filter(None, map(self.find_collection, keys))
            found += list(public)[: limit - len(found)]
            after = keys[-1]
            if len(found) == limit:
                break
        return found

    def list_collections_of(self, key: str) -> list[PublicCollection]:
        """Return the collections that have a resource."""
        rows = self._index.list_collections_of(key)
        return list(filter(None, (self.find_collection(one) for one, _ in rows)))

    def list_members(self, of: str | None, after: str, *, limit: int) -> list[str]:
        """Return the keys of members after a key: of a collection, or of any public one."""
        return self._index.list_members(of, after, limit=limit)

    # membership as a change of the member
    # ------------------------------------

    def find_join(self, key: str) -> ChangeMark | None:
        """Return the last change by which a collection got a resource as a member, or None."""
        rows = self._index.list_collections_of(key)
        return max((mark for one, mark in rows if self.find_collection(one)), default=None)

    def list_joined(self, mark: ChangeMark, after: str) -> list[str]:
        """Return the keys of the members that came into a collection by a change, in order."""
        keys = self._index.list_joined(mark, after)
        return [key for key in keys if self.find_join(key) == mark]
