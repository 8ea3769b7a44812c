"""The state of a registry in memory, and reading it as the port `perdure.storage.ports.Records`."""

from __future__ import annotations

import copy
import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby, islice
from pathlib import Path

from perdure.errors import Corrupt
from perdure.errors.conflicts import ChangeUnknown
from perdure.errors.processes import DatabaseMissing
from perdure.model import stored
from perdure.model.changes import (
    BEGINNING,
    ChainHead,
    Change,
    ChangeMark,
    ChangeMoment,
    Epoch,
    Line,
)
from perdure.model.reading_rules import ReadingRule
from perdure.model.records import Record, Token
from perdure.storage.generation import Generation
from perdure.storage.ports import LineRun
from perdure.storage.reference_hashes import reference_hash

UNNOTED = -1  # place of a record that was not written by a change


class MemoryState:
    """The complete state of a registry."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.records: dict[str, str] = {}
        self.places: dict[str, int] = {}
        self.history: dict[str, list[str]] = {}
        self.refers: dict[int, set[str]] = {}
        self.staged: list[tuple[int, str]] = []
        self.tokens: dict[str, Token] = {}
        self.token_changes: list[tuple[str, str, str, str | None, str]] = []
        self.rules: list[tuple[str, ReadingRule]] = []
        self.answered: dict[tuple[str, str], tuple[str, str, str]] = {}
        self.segments: dict[int, tuple[int, str, bool]] = {}
        self.epochs: list[Epoch] = []
        self.changes: list[Change] = []
        self.lines: list[list[Line]] = []

    def put_text(self, key: str, text: str, place: int) -> None:
        if key not in self.records:
            insort(self.keys, key)
        self.records[key] = text
        self.places[key] = place

    def copy_state(self) -> MemoryState:
        made = copy.copy(self)
        for name, value in vars(self).items():
            setattr(made, name, copy.copy(value))
        made.history = {key: list(past) for key, past in self.history.items()}
        made.refers = {hash: set(keys) for hash, keys in self.refers.items()}
        return made


class MemoryRecords:
    """Reads a registry in memory."""

    def __init__(self, states: dict[Path, MemoryState], root: Path) -> None:
        self._states = states
        self._root = root
        self._snapshot = threading.local()

    @property
    def _state(self) -> MemoryState:
        held: MemoryState | None = getattr(self._snapshot, "state", None)
        if held is not None:
            return held
        try:
            return self._states[self._root]
        except KeyError:
            raise DatabaseMissing(file="the registry", missing="it") from None

    @property
    def holds_snapshot(self) -> bool:
        return getattr(self._snapshot, "state", None) is not None

    @contextmanager
    def hold_snapshot(self) -> Iterator[None]:
        if self.holds_snapshot:
            yield
            return
        self._snapshot.state = self._state
        try:
            yield
        finally:
            self._snapshot.state = None

    def find_stored(self, key: str) -> str | None:
        return self._state.records.get(key)

    def find_record(self, key: str) -> Record | None:
        text = self.find_stored(key)
        return None if text is None else stored.decode_stored(text)

    def find_records(self, keys: Sequence[str]) -> dict[str, Record]:
        found = {key: self.find_record(key) for key in keys}
        return {key: record for key, record in found.items() if record is not None}

    def open_lookup(self, *, cold: bool = False) -> MemoryLookUp:  # noqa: ARG002
        return MemoryLookUp(lambda: self._state)

    def open_turns(self) -> None:
        """Return None: no network is between."""

    def open_counter(self) -> Generation:
        return Generation(self._root)

    def read_ahead(self, is_wanted: Callable[[], bool]) -> None:
        """Do nothing: all records are in memory."""

    def _select_keys(self, low: str, high: str | None) -> list[str]:
        keys = self._state.keys
        start = bisect_left(keys, low)
        return keys[start : len(keys) if high is None else max(bisect_left(keys, high), start)]

    def scan_records(
        self, low: str, high: str | None, *, limit: int, with_bytes: bool = False
    ) -> list[tuple[str, Record | Corrupt]]:
        texts = self._state.records
        least = stored.LEAST_WITH_BYTES if with_bytes else ""
        keys = (key for key in self._select_keys(low, high) if texts[key] >= least)
        return [(key, stored.decode_stored(texts[key])) for key in islice(keys, limit)]

    def scan_lines(self, low: str, high: str | None, *, limit: int) -> list[Line] | None:
        texts = self._state.records
        return [(key, texts[key]) for key in self._select_keys(low, high)[:limit]]

    def scan_runs(self, low: str, *, limit: int) -> list[LineRun] | None:
        state = self._state
        return [
            LineRun(state.changes[place - 1].mark, keys, [state.records[key] for key in keys])
            for place, found in groupby(
                self._select_keys(low, None)[:limit], state.places.__getitem__
            )
            if (keys := list(found))
        ]

    def find_first_key(self, low: str, high: str) -> str | None:
        return next(iter(self._select_keys(low, high)), None)

    def count_keys(self, low: str, high: str) -> int:
        return len(self._select_keys(low, high))

    def list_keys_with(self, text: str) -> list[str]:
        return [key for key in self._state.keys if text in key]

    def find_referring(self, reference: str, *, limit: int | None = None) -> list[str]:
        return sorted(self._state.refers.get(reference_hash(reference), ()))[:limit]

    def find_any_referring(self, references: Sequence[str]) -> list[str]:
        return sorted({key for one in references for key in self.find_referring(one)})

    def list_revisions(self, key: str) -> list[Record]:
        past = self._list_history(key)
        current = self.find_record(key)
        return [*past, current] if current else past

    def list_past(self, key: str, before: int) -> list[Record]:
        return [one for one in self._list_history(key) if one.revision < before]

    def _list_history(self, key: str) -> list[Record]:
        return [stored.decode_stored(text) for text in self._state.history.get(key, [])]

    def find_token(self, digest: str) -> Token | None:
        return next((one for one in self.list_tokens() if one.digest == digest), None)

    def find_token_named(self, name: str) -> Token | None:
        return self._state.tokens.get(name)

    def list_tokens(self) -> list[Token]:
        return [token for _, token in sorted(self._state.tokens.items())]

    def list_token_changes(self, name: str) -> list[tuple[str, str, str | None, str]]:
        return [row[1:] for row in self._state.token_changes if row[0] == name]

    def find_last_rule(self) -> int:
        return len(self._state.rules)

    def find_rules(self, key: str, after: int = 0) -> list[ReadingRule]:
        return [rule for of, rule in self._state.rules[after:] if of == key]

    def find_rules_below(self, beginning: str, after: int = 0) -> list[ReadingRule]:
        return [rule for of, rule in self._state.rules[after:] if of.startswith(beginning)]

    def list_rules(self, after: int = 0, *, limit: int) -> list[ReadingRule]:
        return [rule for _, rule in self._state.rules[after : after + limit]]

    def count_records(self) -> int:
        return len(self._state.keys)

    def count_revisions(self) -> int:
        return self.count_records() + sum(map(len, self._state.history.values()))

    def list_segments(self) -> list[tuple[int, int, str]]:
        rows = sorted(self._state.segments.items())
        return [(number, length, opened) for number, (length, opened, _) in rows]

    def find_head(self) -> ChainHead | None:
        changes = self._state.changes
        return changes[-1].head if changes else None

    def list_epochs(self) -> list[Epoch]:
        return list(self._state.epochs)

    def list_changes(self, since: ChangeMark | None = None, *, limit: int) -> list[Change]:
        changes = self._state.changes
        return changes[(after := self._find_index(since)) : after + limit]

    def _find_index(self, mark: ChangeMark | None) -> int:
        """The index after a mark."""
        if mark is None or mark == BEGINNING or not (mark.number or self._state.changes):
            return 0
        for index, change in enumerate(self._state.changes):
            if change.mark == mark:
                return index + 1
            if mark.number == 0 and change.mark == ChangeMark(mark.epoch, 1):
                return index
        head = self.find_head()
        raise ChangeUnknown(identifier=f"change {mark}", last=str(head.mark) if head else None)

    def find_lines(self, change: Change) -> list[Line]:
        return list(self._state.lines[self._find_index(change.mark) - 1])

    def list_lines(self, changes: Sequence[Change]) -> list[list[Line]]:
        return [self.find_lines(one) for one in changes]

    def find_change(self, key: str, revision: int) -> Change | None:
        for change, lines in zip(self._state.changes, self._state.lines, strict=True):
            if change.revision == revision and any(one == key for one, _ in lines):
                return change
        return None

    def find_moments(self, revisions: Sequence[tuple[str, int]]) -> list[ChangeMoment | None]:
        found = [self.find_change(key, revision) for key, revision in revisions]
        return [None if one is None else one.moment for one in found]

    def check_integrity(self) -> Iterator[Corrupt]:
        yield from ()  # memory is never damaged

    def find_unlinked(self, rows: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
        refers = self._state.refers
        return [(hash, key) for hash, key in rows if key not in refers.get(hash, ())]

    def sum_references(self) -> tuple[int, int] | None:
        return None  # to find one is as fast

    def divide_keys(self, count: int) -> list[str]:
        keys = sorted(self._state.records)
        size = len(keys) // (count + 1)
        return [keys[size * number] for number in range(1, count + 1)] if size else []

    def close(self) -> None:
        """Do nothing: there are no resources to release."""


class MemoryLookUp:
    """Looks up records for one thread."""

    def __init__(self, state: Callable[[], MemoryState]) -> None:
        self._current = state
        self._held: MemoryState | None = None

    @property
    def _state(self) -> MemoryState:
        return self._held or self._current()

    def find_stored(self, key: str) -> str | None:
        return self._state.records.get(key)

    def find_last_stored(self, low: str, high: str) -> tuple[str, str] | None:
        state = self._state
        at = bisect_right(state.keys, high) - 1
        key = state.keys[at] if at >= 0 else ""
        return (key, state.records[key]) if at >= 0 and key >= low else None

    def find_referring(self, reference: str, *, limit: int) -> list[str]:
        return sorted(self._state.refers.get(reference_hash(reference), ()))[:limit]

    def hold_state(self) -> None:
        self._held = self._current()

    def release_state(self) -> None:
        self._held = None
