"""References of a record that point to nothing: members, aliases and templates.

How it works: only names that this registry numbers can be missing here; any other name is the
matter of another registry. A member of a collection is looked up like a request for it, without
following a location. A template must be one that the read door can use.

What must stay true: nothing is fetched; a collection that cannot be read is a problem of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.errors import Corrupt, InvalidMetadata, InvalidRequest, NotFound, PerdureError
from perdure.ids import parse
from perdure.model import collection
from perdure.model.queries import LOCAL_READER, Query
from perdure.model.records import Record
from perdure.policy import templates
from perdure.policy.handles import namespace
from perdure.policy.handles.values import TEMPLATE, find_alias
from perdure.registry import Registry


def find_dangling(registry: Registry, record: Record) -> Iterator[str]:
    """The problems with what a record refers to, each in words."""
    if record.values:
        yield from _check_values(registry, record)
    if record.tombstone is not None:
        return
    for version in record.versions:
        for held in version.representations:
            if held.media_type == collection.MEDIA_TYPE and held.length <= collection.LARGEST:
                try:
                    data = registry.bytes.read_bytes(held)
                    members = collection.load_collection(data).members
                except InvalidMetadata as error:
                    yield f"version {version.number} is not a collection: {error}"
                except (OSError, Corrupt):
                    continue  # the check of the bytes reports it
                else:
                    yield from _check_members(registry, version.number, members)


def _check_members(
    registry: Registry, version: int, members: tuple[collection.CollectionMember, ...]
) -> Iterator[str]:
    for number, member in enumerate(members, 1):
        if not _is_there(registry, member.identifier):
            yield f"member {number} of version {version}, {member.identifier}, does not exist"


def _check_values(registry: Registry, record: Record) -> Iterator[str]:
    try:
        target = find_alias(record)
    except PerdureError as error:
        yield f"its alias cannot be read: {error}"
    else:
        if target is not None and not _is_there(registry, str(target)):
            yield f"it is an alias of {target}, which does not exist"
    for value in record.values:
        try:
            if value.type == TEMPLATE:
                templates.read_record_template(value.data)
            elif value.type == namespace.TYPE:
                namespace.Namespace.read_xml(value.data)
        except InvalidRequest as error:
            yield f"the template in its value {value.index} cannot be used: {error}"


def _is_there(registry: Registry, text: str) -> bool:
    """Return False if this registry must know a name, and does not."""
    try:
        identifier = parse(text)
        if identifier.archived is not None or not registry.settings.is_numbered_here(identifier):
            return True
        registry.reading.resolve(Query(reader=LOCAL_READER, identifier=identifier)).choose(
            whole=True
        )
    except NotFound:
        return False
    except PerdureError:
        return True  # it exists, but not in this form
    return True
