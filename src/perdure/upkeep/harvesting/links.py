"""Taking the links of a sitemap or of a ResourceSync list into the registry.

How it works: several addresses may belong to one name, such as those of its formats, so a link is
joined with those that are there. An address that the list calls deleted is removed from its name; a
name that loses its last address is withdrawn, silently.
"""

from __future__ import annotations

import io
from contextlib import suppress
from pathlib import Path

import msgspec

from perdure.errors import PerdureError
from perdure.model.commands import Joining
from perdure.policy.naming import identify_record
from perdure.upkeep.harvesting.sitemaps import find_name
from perdure.upkeep.harvesting.taking import HarvestTaking, is_brought
from perdure.upkeep.transfer.exporting import line_without_bytes
from perdure.upkeep.transfer.importing import ImportSource, import_lines


class LinkTaking(HarvestTaking):
    """Takes the parts of one list."""

    shares_names = True

    def _withdraw(self, there: str) -> bool:
        """Remove an address that its list calls deleted. Return True if this was needed."""
        key = ""
        with suppress(PerdureError):
            key = find_name(there).resource.key
        record = self._registry.records.find_record(key) if key else None
        if record is None or not is_brought(record, self._url) or record.tombstone is not None:
            return False
        name = identify_record(key, record)
        rest = tuple(one for one in record.locations if one.uri != there)
        if len(rest) == len(record.locations):
            return False
        if not rest:
            return self._bury(there, name)
        shown = line_without_bytes(name, msgspec.structs.replace(record, locations=rest))
        line = {"id": shown.id, "locations": msgspec.to_builtins(shown.locations)}
        source = ImportSource(io.BytesIO(msgspec.json.encode(line) + b"\n"), Path())
        for step in import_lines(self._registry, source, how=Joining.REPLACE):
            for fault in step.faults:
                self._note_error(there, fault.error)
        return True
