"""Taking the documents of a dump into the registry, and honouring deletions.

How it works: a name may have several documents, so each one is joined with those that are there. A
version is withdrawn here, silently, once all its formats are deleted there, and a name once all its
versions are.

What must stay true: a document that was withdrawn here does not come back; bytes that are here
never change.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from perdure.errors import PerdureError
from perdure.errors.harvesting import HarvestedWithdrawn
from perdure.ids import Identifier
from perdure.ids.name_set import NameSet
from perdure.model.commands import Joining
from perdure.model.records import Record, Version
from perdure.policy.naming import identify_record, read_qualifiers
from perdure.registry import Registry
from perdure.upkeep.harvesting.sitemaps import find_name
from perdure.upkeep.harvesting.state import Harvests
from perdure.upkeep.harvesting.taking import HarvestTaking, is_brought


class DocumentTaking(HarvestTaking):
    """Takes the packages of one dump."""

    shares_names = True

    def __init__(
        self, registry: Registry, harvests: Harvests, url: str, *, only: NameSet | None
    ) -> None:
        super().__init__(registry, harvests, url, only=only, how=Joining.MERGE)
        self._files = registry.incoming
        self._gone: set[tuple[str, int, str]] = set()
        """Key, version and format of documents that are deleted there."""

    def _find_fault(
        self, there: str, name: Identifier, names: dict[str, str]
    ) -> PerdureError | None:
        fault = super()._find_fault(there, name, names)
        record = None if fault else self._registry.records.find_record(name.resource.key)
        version = None if record is None else record.version(read_qualifiers(name)[0] or 1)
        if version is not None and version.tombstone is not None:
            return HarvestedWithdrawn(identifier=str(name))
        return fault

    def _withdraw(self, there: str) -> bool:
        """Withdraw the version, or the name, of a document that is deleted there.

        Return True if this was needed, and is done.
        """
        name: Identifier | None = None
        with suppress(PerdureError):
            name = find_name(there)
        record = None if name is None else self._registry.records.find_record(name.resource.key)
        if name is None or record is None or not is_brought(record, self._url):
            return False
        number, format = read_qualifiers(name)
        version = record.version(number or 1)
        if record.tombstone is not None or version is None or version.tombstone is not None:
            return False
        key = name.resource.key
        known = [one.format for one in version.representations]
        self._gone.update((key, version.number, one) for one in known if format in (one, None))
        if any((key, version.number, one) not in self._gone for one in known):
            return False
        named = identify_record(key, record)
        if record.locations or any(_list_other_versions(record, version)):
            return self._bury(there, named, version.number)
        return self._bury(there, named)


def _list_other_versions(record: Record, version: Version) -> Iterator[Version]:
    """Yield the other versions of a record that were not withdrawn."""
    for one in record.versions:
        if one.tombstone is None and one.number != version.number:
            yield one
