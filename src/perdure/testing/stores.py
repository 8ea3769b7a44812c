"""A store that keeps registries in memory, for tests of code that uses the ports.

How it works: a `MemoryStore` has a state for each directory. From `begin_batch` on, a journal works
on a copy of the state; `commit_batch` replaces the state with the copy, so that readers never see
half a batch. Only one process sees the state, and it ends with the process.

What must stay true: the store keeps every promise of `perdure.storage.ports`. The contract tests
run on it and on the embedded store.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from perdure.storage.byte_ports import Bytes
from perdure.storage.store_findings import StoreFinding
from perdure.testing.memory_journal import MemoryJournal
from perdure.testing.memory_records import MemoryRecords, MemoryState
from perdure.testing.memory_salvage import MemorySalvage


class MemoryCopy:
    """A copy of a state, as the port `perdure.storage.ports.RegistryCopy`."""

    def __init__(self, states: dict[Path, MemoryState], state: MemoryState, target: Path) -> None:
        self._states, self._state, self._target = states, state, target

    def list_segments(self) -> list[tuple[int, int, str]]:
        rows = sorted(self._state.segments.items())
        return [(number, length, opened) for number, (length, opened, _) in rows]

    def copy(self) -> Iterator[float]:
        yield 1.0

    def install(self) -> None:
        self._states[self._target] = self._state

    def close(self) -> None:
        pass


class MemoryStore:
    """Keeps registries in memory, each under the directory with which it is opened."""

    def __init__(self) -> None:
        self._states: dict[Path, MemoryState] = {}

    def create_registry(self, root: Path) -> None:
        self._states.setdefault(root, MemoryState())

    def open_records(self, root: Path) -> MemoryRecords:
        return MemoryRecords(self._states, root)

    def open_journal(self, root: Path) -> MemoryJournal:
        return MemoryJournal(self._states, root)

    def examine(self, root: Path) -> list[StoreFinding]:  # noqa: ARG002  (as the port has it)
        advice = "choose a store that writes to a disk"
        return [StoreFinding("memory", "warning", "ends with this process", advice)]

    def guard_bytes(self, root: Path, held: Bytes) -> Bytes:  # noqa: ARG002  (as the port has it)
        return held

    def open_renewal(self, root: Path) -> MemoryJournal:
        self.create_registry(root)
        return MemoryJournal(self._states, root)

    def open_salvage(self, root: Path) -> MemorySalvage:
        return MemorySalvage(self._states[root])

    def begin_copy(self, root: Path, work: Path, target: Path) -> MemoryCopy:  # noqa: ARG002
        return MemoryCopy(self._states, self._states[root].copy_state(), target)

    def is_past(self, earlier: Path, later: Path) -> bool:
        before = self._states.get(earlier)
        return before is None or set(before.keys) <= set(self._states[later].keys)

    def find_file(self, root: Path) -> Path | None:  # noqa: ARG002  (as the port has it)
        return None

    def install_registry(self, work: Path, root: Path, *, aside: Path | None = None) -> None:
        if aside is not None and root in self._states:
            self._states[aside] = self._states[root]
        self._states[root] = self._states.pop(work)
