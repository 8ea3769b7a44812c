"""Taking harvested records into the registry, and honouring deletions.

How it works: the lines of a page are one import, whose fields replace those that an earlier harvest
brought. A record that its repository deleted is withdrawn here, silently. Then the page is recorded
in the state of the harvest.

What must stay true: a harvest changes only what it brought: no name that is assigned here, no
record that came from somewhere else. A record that cannot be taken is reported, and the others
are taken. A page is recorded as taken once its records are durable.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import msgspec

from perdure.errors import Conflict, InvalidRequest, PerdureError
from perdure.errors.harvesting import (
    HarvestedElsewhere,
    HarvestedOwn,
    HarvestedTwice,
    HarvestedWithdrawn,
    HarvestWaits,
)
from perdure.ids import Identifier
from perdure.ids.name_set import NameSet
from perdure.model.commands import Joining, Withdraw
from perdure.model.records import Record
from perdure.policy.forwarding import is_assigned_here
from perdure.policy.naming import identify_record
from perdure.registry import Registry
from perdure.upkeep.harvesting.lines import SOURCE, HarvestedLine
from perdure.upkeep.harvesting.state import Harvests, HarvestState, KnownRecord
from perdure.upkeep.transfer.blocks import make_fault
from perdure.upkeep.transfer.importing import ImportSource, import_lines

ACTOR = "harvest"
"""The author of withdrawals."""


class HarvestFault(NamedTuple):
    """A record that was not taken, or not completely."""

    there: str
    """Its identifier in the repository."""
    error: dict[str, Any]
    """The error as a problem: `code`, `message`, `repair`."""
    is_taken: bool = False
    """True if the record was taken, without its description."""


class HarvestCount(NamedTuple):
    """The outcome for the records of a page."""

    taken: int = 0
    """Records that are here now as the repository has them, new or not."""
    deleted: int = 0
    """Records that the repository deleted and that were withdrawn here."""
    skipped: int = 0
    """Records with names that the harvest does not take."""
    faults: tuple[HarvestFault, ...] = ()


class HarvestedItem(NamedTuple):
    """A record of a repository: its line, the reason why it has none, or its deletion."""

    there: str
    made: HarvestedLine | None = None
    fault: PerdureError | None = None
    """None, too, for a deleted record."""


class HarvestTaking:
    """Takes the pages of one harvest."""

    shares_names: ClassVar[bool] = False
    """True if several records of the repository may have one name here."""

    def __init__(
        self,
        registry: Registry,
        harvests: Harvests,
        url: str,
        *,
        only: NameSet | None,
        how: Joining,
    ) -> None:
        self._registry = registry
        self._harvests = harvests
        self._url = url
        self._only = only
        self._how = how
        self._files = Path()
        """The directory of the files that lines name."""
        self._faults: list[HarvestFault] = []

    def take_page(self, items: list[HarvestedItem], after: HarvestState) -> HarvestCount:
        """Take the records of a page, and record the state after it. Raises StorageFailed."""
        self._faults = []
        last = {item.there: item for item in items}  # of a record that comes twice, the later one
        names: dict[str, str] = {}
        chosen: list[HarvestedItem] = []
        gone: list[str] = []
        skipped = 0
        for item in last.values():
            if item.fault is not None:
                self._note(item.there, item.fault)
            elif item.made is None:
                gone.append(item.there)
            elif not self._takes(item.made.name):
                skipped += 1
            elif (fault := self._find_fault(item.there, item.made.name, names)) is not None:
                self._note(item.there, fault)
            else:
                names.setdefault(item.made.name.key, item.there)
                chosen.append(item)
        refused = self._import(chosen)
        brought: list[KnownRecord] = []
        for item in chosen:
            if item.made is None or item.there in refused:
                continue
            brought.append(KnownRecord(item.there, item.made.name.resource.key))
            if item.made.remark is not None:
                self._note(item.there, item.made.remark, is_taken=True)
        withdrawn = [there for there in gone if self._withdraw(there)]
        self._harvests.save_page(after, brought, withdrawn)
        return HarvestCount(len(brought), len(withdrawn), skipped, tuple(self._faults))

    def _takes(self, name: Identifier) -> bool:
        """Return True if the harvest takes this name (`--only`)."""
        return self._only is None or self._only.covers_resource(name)

    def _note(self, there: str, error: PerdureError, *, is_taken: bool = False) -> None:
        self._note_error(there, make_fault(0, error).error, is_taken=is_taken)

    def _note_error(self, there: str, error: dict[str, Any], *, is_taken: bool = False) -> None:
        self._faults.append(HarvestFault(there, error, is_taken))

    def _find_fault(
        self, there: str, name: Identifier, names: dict[str, str]
    ) -> PerdureError | None:
        """Say why a harvest must not write a name, or return None."""
        settings, spelled = self._registry.settings, str(name)
        if is_assigned_here(
            name, authorities=settings.owned_authorities, prefixes=settings.handle_prefixes
        ):
            return HarvestedOwn(identifier=spelled)
        if not self.shares_names and (other := self._find_twin(there, name, names)):
            return HarvestedTwice(identifier=spelled, first=other)
        record = self._registry.records.find_record(name.key)
        if record is None:
            return None
        if not is_brought(record, self._url):
            return HarvestedElsewhere(identifier=spelled)
        if record.tombstone is not None:
            return HarvestedWithdrawn(identifier=spelled)
        return None

    def _find_twin(self, there: str, name: Identifier, names: dict[str, str]) -> str | None:
        """Find another record of the repository that has a name; `names` are those of the page."""
        others = [*self._harvests.find_names_there(self._url, name.key), names.get(name.key, there)]
        return next((one for one in others if one != there), None)

    def _import(self, items: list[HarvestedItem]) -> set[str]:
        """Import the lines of records. Return the identifiers of those that were refused."""
        lines = [msgspec.json.encode(one.made.line) for one in items if one.made is not None]
        if not lines:
            return set()
        source = ImportSource(io.BytesIO(b"\n".join((*lines, b""))), self._files)
        refused: set[str] = set()
        for step in import_lines(self._registry, source, how=self._how):
            for fault in step.faults:
                there = items[fault.line - 1].there
                refused.add(there)
                self._note_error(there, fault.error)
        return refused

    def _withdraw(self, there: str) -> bool:
        """Withdraw a record that its repository deleted. Return True if this was needed."""
        key = self._harvests.find_key(self._url, there)
        record = self._registry.records.find_record(key) if key is not None else None
        if key is None or record is None or not is_brought(record, self._url):
            return False
        if record.tombstone is not None:
            return True
        return self._bury(there, identify_record(key, record))

    def _bury(self, there: str, name: Identifier, version: int | None = None) -> bool:
        """Withdraw a name, or a version, silently. Return True if it is withdrawn."""
        reason = f"deleted at {self._url}"
        command = Withdraw(identifier=name, reason=reason, version=version, silent=True, by=ACTOR)
        try:
            self._registry.door.execute_command(command)
        except (Conflict, InvalidRequest) as error:
            self._note(there, error)
            return False
        after = self._registry.records.find_record(name.resource.key)
        ended = after if after is None or version is None else after.version(version)
        if ended is not None and ended.tombstone is None:
            self._note(there, HarvestWaits(identifier=str(name)))
            return False
        return True


def is_brought(record: Record, url: str) -> bool:
    """Return True if a record came from a repository."""
    return record.metadata.get(SOURCE) == url
