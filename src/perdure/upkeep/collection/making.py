"""New collections, and new versions of them: from a list to bytes that the registry holds.

How it works: the caller gives a complete collection
(`perdure.upkeep.collection.runs.complete_members` adds the digests of bytes that are here).
`mint_collection` stores the document under a new identifier. `commit_collection` makes it the next
version of an existing collection, unless that has changed meanwhile.

What must stay true: a document is committed in its canonical form; `add_members` never reorders
members, so that `#member=7` stays the seventh.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from perdure.errors import NotAcceptable
from perdure.errors.conflicts import CollectionNotNewest
from perdure.errors.servers import BytesElsewhere
from perdure.ids import Identifier
from perdure.model import collection as members
from perdure.model.collection import Collection, CollectionMember
from perdure.model.commands import Commit, Content, Mint, Receipt
from perdure.model.queries import LOCAL_READER, Fetch, Preference, Query
from perdure.registry import Registry
from perdure.storage.spool import IN_MEMORY, discard_content


class HeldCollection(NamedTuple):
    """A collection that is held here."""

    identifier: Identifier
    """Fully qualified."""
    sha512: str
    revision: int
    """Revision of its record when it was read."""
    collection: Collection


def load_held(registry: Registry, identifier: Identifier) -> HeldCollection:
    """Load the collection of this identifier, its newest version unless it names another.

    Raises NotFound, NoSuchVersion, NotAcceptable if it is not a collection, InvalidMetadata if it
    claims to be one but is not valid.
    """
    query = Query(
        reader=LOCAL_READER, identifier=identifier.whole, accept=(Preference(members.MEDIA_TYPE),)
    )
    resolved = registry.reading.resolve(query)
    step = resolved.step
    if not isinstance(step, Fetch):
        raise BytesElsewhere(identifier=str(identifier))
    if step.representation.media_type != members.MEDIA_TYPE:
        raise NotAcceptable(
            identifier=str(identifier),
            asked=members.MEDIA_TYPE,
            offered=(step.representation.media_type,),
        )
    data = registry.listings.read_bytes(step.representation)
    revision = resolved.known.revision
    return HeldCollection(
        step.identifier, step.representation.sha512, revision, members.read_collection(data)
    )


def add_members(collection: Collection, more: Iterable[CollectionMember]) -> tuple[Collection, int]:
    """Append members to a collection. Return the new collection and the number of new members.

    A member that the collection has already stays unchanged. Raises InvalidMetadata for a name that
    another member has.
    """
    there = {one.identifier for one in collection.members}
    new = tuple(one for one in more if one.identifier not in there)
    grown = msgspec.structs.replace(collection, members=(*collection.members, *new))
    members.check_collection(grown)
    return grown, len(new)


def fill_description(collection: Collection, before: Collection) -> Collection:
    """Fill in missing fields of a collection from an earlier one. Its members are its own."""
    return msgspec.structs.replace(
        collection,
        title=collection.title or before.title,
        creators=collection.creators or before.creators,
        purpose=collection.purpose or before.purpose,
        date=collection.date or before.date,
    )


def mint_collection(
    registry: Registry, authority: str, collection: Collection, once: str | None
) -> Receipt:
    """Store the collection under a new identifier. Raises what the registrar raises."""
    metadata = {"title": collection.title} if collection.title else {}
    if collection.creators:
        metadata["creator"] = "; ".join(collection.creators)
    with _spool_document(registry, collection) as content:
        return registry.door.execute_command(
            Mint(authority=authority, contents=(content,), metadata=metadata, once=once)
        )


def commit_collection(
    registry: Registry, seen: HeldCollection, collection: Collection, expect: int | None
) -> Receipt:
    """Store the next version of a collection, if none was committed since `seen`.

    `expect`: the expected revision, if not that of `seen`. Raises PreconditionFailed if the record
    has changed, Conflict if `seen` is not the newest version.
    """
    resource = seen.identifier.resource
    newest = load_held(registry, resource)
    if newest.identifier != seen.identifier:
        raise CollectionNotNewest(identifier=str(seen.identifier), newest=str(newest.identifier))
    with _spool_document(registry, collection) as content:
        return registry.door.execute_command(
            Commit(identifier=resource, contents=(content,), expect=expect or seen.revision)
        )


@contextmanager
def _spool_document(registry: Registry, collection: Collection) -> Iterator[Content]:
    """Spool the document; remove it at the end if it was not committed."""
    content = store_document(registry, collection)
    try:
        yield content
    finally:
        discard_content(registry.incoming, content)


def store_document(registry: Registry, collection: Collection) -> Content:
    """Return the document as a content, which may wait in a file until it is committed.

    Raises StorageFailed or TooLarge.
    """
    data = members.write_collection(collection)
    with registry.spool() as spool:
        for start in range(0, len(data), IN_MEMORY):
            spool.write(data[start : start + IN_MEMORY])
        return spool.finish_content(format=members.FORMAT, media_type=members.MEDIA_TYPE)
