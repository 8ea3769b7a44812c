"""The readable rest of a registry in memory, as the port `perdure.storage.ports.Salvage`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Self

from perdure.model import stored
from perdure.model.records import Record
from perdure.storage.lost_numbers import find_highest_serials
from perdure.storage.ports import SalvagedRecord
from perdure.testing.memory_records import MemoryState


class MemorySalvage:
    """The readable rest of a registry: all of it, because memory is never damaged."""

    def __init__(self, state: MemoryState) -> None:
        self.state = state
        self.problems: list[str] = []
        self.last_day = ""
        self._has_lost = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Do nothing: there are no resources to release."""

    def read_pages(self, *, with_bytes: bool = False) -> Iterator[list[SalvagedRecord]]:
        del with_bytes  # no record is left out
        for key in self.state.keys:
            yield [SalvagedRecord(key, self.state.records[key], self.state.places[key])]

    def parse_content(self, salvaged: SalvagedRecord) -> stored.ShortLine | Record:
        return stored.parse_short_line(salvaged.text) or stored.decode_stored(salvaged.text)

    def note_lost(self, key: str, problem: str) -> None:
        del key  # the changes name it
        self.problems.append(problem)
        self._has_lost = True

    def find_lost_numbers(self, day: str) -> dict[str, int] | None:
        if not self._has_lost:
            return {}
        changes = self.state.changes
        self.last_day = max(change.at[:10].replace("-", "/") for change in changes)
        keys = {key for change in changes for key in (change.first, change.last)}
        return find_highest_serials(keys, day)
