"""A store that keeps registries in memory, for tests of code that uses the ports.

How it works: a `MemoryStore` has a state for each directory. From `begin_batch` on, a journal works
on a copy of the state; `commit_batch` replaces the state with the copy, so that readers never see
half a batch. Only one process sees the state, and it ends with the process.

What must stay true: the store keeps every promise of `perdure.storage.ports`. The contract tests
run on it and on the embedded store.
"""

from __future__ import annotations

import copy
import threading
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby, islice
from os import urandom
from pathlib import Path
from typing import Self

import msgspec

from perdure.errors import Corrupt
from perdure.errors.conflicts import ChangeUnknown
from perdure.errors.corruption import ChainBroken
from perdure.errors.processes import DatabaseMissing
from perdure.ids.pdi import Pdi
from perdure.ids.pdi_key import encode_number
from perdure.model import stored
from perdure.model.changes import (
    BEGINNING,
    RULE,
    RULE_KEY,
    SALT_BYTES,
    TOKEN_KEY,
    WITHOUT_RECORDS,
    ChainHead,
    Change,
    ChangeMark,
    Deed,
    Epoch,
    Line,
    Numbering,
    Scope,
    begin_chain,
    digest_attested,
    digest_lines,
    find_leaf,
    write_token_line,
)
from perdure.model.reading_rules import ReadingRule
from perdure.model.records import Record, Token
from perdure.storage.byte_ports import Bytes
from perdure.storage.generation import Generation
from perdure.storage.lost_numbers import find_highest_serials
from perdure.storage.ports import SERIALS_END, LineRun, ReplayedChange, SalvagedRecord
from perdure.storage.reference_hashes import reference_hash
from perdure.storage.store_findings import StoreFinding

_UNNOTED = -1  # place of a record that was not written by a change


class _State:
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

    def copy_state(self) -> _State:
        made = copy.copy(self)
        for name, value in vars(self).items():
            setattr(made, name, copy.copy(value))
        made.history = {key: list(past) for key, past in self.history.items()}
        made.refers = {hash: set(keys) for hash, keys in self.refers.items()}
        return made


class MemoryRecords:
    """Reads a registry in memory."""

    def __init__(self, states: dict[Path, _State], root: Path) -> None:
        self._states = states
        self._root = root
        self._snapshot = threading.local()

    @property
    def _state(self) -> _State:
        held: _State | None = getattr(self._snapshot, "state", None)
        if held is not None:
            return held
        try:
            return self._states[self._root]
        except KeyError:
            raise DatabaseMissing(file="the registry", missing="it") from None

    @contextmanager
    def hold_snapshot(self) -> Iterator[None]:
        if getattr(self._snapshot, "state", None) is not None:
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

    def __init__(self, state: Callable[[], _State]) -> None:
        self._current = state
        self._held: _State | None = None

    @property
    def _state(self) -> _State:
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


class MemoryJournal(MemoryRecords):
    """Writes a registry in memory.

    A test can set `refuse` to a `JournalError`, which the next commit raises.
    """

    is_shared = False

    def __init__(self, states: dict[Path, _State], root: Path) -> None:
        super().__init__(states, root)
        self.refuse: Exception | None = None
        self._batch: _State | None = None
        self._numbering = Numbering()
        self._restart_numbering()

    @property
    def _state(self) -> _State:
        return self._batch or super()._state

    def _restart_numbering(self) -> None:
        changes = self._state.changes
        if changes:
            last = changes[-1]
            self._numbering.restart_at(last.epoch, last.number, last.chain)

    def number_changes(self, at: str) -> None:
        if not self._state.epochs:
            self.begin_batch()
            self._begin_epoch(Epoch(epoch=1, reason="created"), at, "local")
            self.commit_batch()

    def begin_epoch(self, reason: str, at: str, actor: str) -> None:
        head = self.find_head()
        number = head.epoch + 1 if head else 1
        self._begin_epoch(Epoch(epoch=number, reason=reason, previous=head), at, actor)

    def _begin_epoch(self, epoch: Epoch, at: str, actor: str) -> None:
        self._state.epochs.append(epoch)
        change = self._numbering.begin_epoch(epoch, at, actor, urandom(SALT_BYTES))
        self._append_change(change, [("", epoch.line)])

    def _append_change(self, change: Change, lines: list[Line]) -> int:
        self._state.changes.append(change)
        self._state.lines.append(lines)
        return len(self._state.changes)

    def _note_deed(
        self,
        deed: Deed,
        lines: Sequence[Line],
        revision: int = 1,
        *,
        attested: Sequence[Line] | None = None,
    ) -> int:
        salt = urandom(SALT_BYTES)
        if attested is None:
            digest = digest_lines(salt, deed.actor, lines)
        else:
            digest = digest_attested(salt, deed.actor, attested)
        scope = Scope(lines[0][0], lines[-1][0], len(lines), revision)
        return self._append_change(
            self._numbering.number_change(deed, scope, digest, salt), list(lines)
        )

    def begin_batch(self) -> None:
        self._batch = super()._state.copy_state()

    def prefetch_records(self, keys: Iterable[str]) -> None:
        """Do nothing: all records are in memory."""

    def read_time(self) -> None:
        """The clock of this machine counts."""

    def lock_days(self, days: Iterable[str]) -> None:
        """Do nothing: a batch has the registry for itself."""

    def commit_batch(
        self,
        *,
        after: Callable[[], None] | None = None,
        is_revision: bool = False,  # noqa: ARG002  (the file `generation` is counted after it)
    ) -> None:
        if after is not None:
            after()
        if self.refuse is not None:
            raise self.refuse
        if self._batch is not None:
            self._states[self._root] = self._batch
        self._batch = None

    def roll_back(self) -> None:
        self._batch = None
        self._restart_numbering()

    def _add_rows(self, rows: Iterable[Line], place: int) -> None:
        for key, text in rows:
            if key in self._state.records:
                raise KeyError(key)
            self._state.put_text(key, text, place)

    def add_records(self, rows: Sequence[Line], deed: Deed) -> None:
        for row in rows:
            self._add_rows((row,), self._note_deed(deed, (row,)))

    def add_run(
        self, rows: Sequence[Line], deed: Deed, attested: Sequence[Line] | None = None
    ) -> None:
        self._add_rows(rows, self._note_deed(deed, rows, attested=attested))

    def add_alike(self, keys: Sequence[str], text: str, deed: Deed) -> None:
        self.add_run([(key, text) for key in keys], deed)

    def revise_record(self, key: str, text: str, revision: int, deed: Deed) -> None:
        self._state.history.setdefault(key, []).append(self._state.records[key])
        self._state.put_text(key, text, self._note_deed(deed, ((key, text),), revision))

    def replay_changes(self, changes: Sequence[ReplayedChange]) -> None:
        for one in changes:
            if one.epoch is not None:
                self._state.epochs.append(one.epoch)
                self._numbering.restart_at(one.epoch.epoch, 0, begin_chain(one.epoch))
            change, numbering = one.change, self._numbering
            numbering.count_leaf(find_leaf(change))
            reached = ChainHead(
                epoch=numbering.epoch, number=numbering.number, chain=numbering.chain.hex()
            )
            if reached != change.head:
                raise ChainBroken(
                    change=str(change.mark), stated=change.chain.hex(), found=reached.chain
                )
            lines = [("", one.epoch.line)] if one.epoch else list(one.lines)
            place = self._append_change(change, lines)
            if change.act == RULE:
                for name, text in one.lines:
                    rule = msgspec.json.decode(text, type=ReadingRule)
                    number = int(name.removeprefix(RULE_KEY))
                    kept = msgspec.structs.replace(rule, number=number)
                    self._state.rules.append((one.subject, kept))
            elif change.act not in WITHOUT_RECORDS:
                for key, text in one.lines:
                    if change.revision > 1:
                        self._state.history.setdefault(key, []).append(self._state.records[key])
                    self._state.put_text(key, text, place)

    def move_bytes(self, key: str, text: str) -> None:
        before, place = self._state.records[key], self._state.places[key]
        self._state.put_text(key, text, place)
        self._state.lines = [
            [(name, text if (name, line) == (key, before) else line) for name, line in lines]
            for lines in self._state.lines
        ]

    def redact_past(self, key: str, redact: Callable[[str], str]) -> None:
        past = self._state.history.get(key, [])
        self._state.history[key] = [redact(text) for text in past]
        for place, lines in enumerate(self._state.lines):
            redacted = [
                (name, redact(text)) if name == key and text in past else (name, text)
                for name, text in lines
            ]
            if redacted != lines:
                self._state.lines[place] = redacted
                change = self._state.changes[place]
                self._state.changes[place] = msgspec.structs.replace(change, salt=None)

    def drop_references(self, rows: Iterable[tuple[int, str]]) -> None:
        for hash, key in rows:
            self._state.refers.get(hash, set()).discard(key)

    def add_references(self, rows: Iterable[tuple[int, str]]) -> None:
        for hash, key in rows:
            self._state.refers.setdefault(hash, set()).add(key)

    def stage_references(self, rows: Iterable[tuple[int, str]]) -> None:
        self._state.staged.extend(rows)

    def merge_staged(self) -> None:
        self.add_references(self._state.staged)
        self._state.staged.clear()

    def find_last_serial(self, day: str) -> int:
        low, high = encode_number("1"), encode_number(str(SERIALS_END))
        keys = self._select_keys(f"{day}/{low}", f"{day}/{high}")
        return (Pdi.from_key(keys[-1]).serial or 0) if keys else 0

    def save_token(self, token: Token, before: Token | None, deed: Deed) -> None:
        self._state.tokens[token.name] = token
        past = sum(name == token.name for name, *_ in self._state.token_changes)
        shown = write_token_line(token)
        shown_before = write_token_line(before) if before else None
        row = (token.name, deed.at, deed.actor, shown_before, shown)
        self._state.token_changes.append(row)
        self._note_deed(deed, ((TOKEN_KEY + token.name, shown),), past + 1)

    def save_rule(self, key: str, rule: ReadingRule, deed: Deed) -> int:
        number = len(self._state.rules) + 1
        self._state.rules.append((key, msgspec.structs.replace(rule, number=number)))
        text = msgspec.json.encode(msgspec.structs.replace(rule, number=0)).decode()
        self._note_deed(deed, ((f"{RULE_KEY}{number}", text),))
        return number

    def find_answer(self, actor: str, once: str) -> tuple[str, str] | None:
        found = self._state.answered.get((actor, once))
        return found[:2] if found else None

    def save_answer(self, actor: str, once: str, request: str, receipt: str, at: str) -> None:
        self._state.answered[actor, once] = request, receipt, at

    def forget_answers(self, before: str) -> None:
        kept = {key: one for key, one in self._state.answered.items() if one[2] >= before}
        self._state.answered = kept

    def find_growing_segment(self) -> tuple[int, int, str] | None:
        rows = sorted(self._state.segments.items())
        growing = [(number, *row[:2]) for number, row in rows if row[2]]
        return growing[-1] if growing else None

    def save_segment(self, number: int, length: int, opened: str, *, grows: bool) -> None:
        known = self._state.segments.get(number)
        row = (length, known[1], known[2]) if known else (length, opened, grows)
        self._state.segments[number] = row

    def tidy_up(self) -> None:
        """Do nothing: no work was deferred."""

    # Renewing a registry
    # -------------------

    def put_record(self, key: str, record: Record) -> None:
        self._state.put_text(key, stored.encode_stored(record).decode(), _UNNOTED)

    def keep_record(
        self, key: str, record: Record, position: int | None, past: Record | None
    ) -> None:
        if past is not None:
            self._state.history.setdefault(key, []).append(stored.encode_stored(past).decode())
        place = _UNNOTED if position is None or past is not None else position
        self._state.put_text(key, stored.encode_stored(record).decode(), place)

    def keep_lines(self, page: Sequence[SalvagedRecord]) -> None:
        for old in page:
            place = _UNNOTED if old.position is None else old.position
            self._state.put_text(old.key, old.text, place)

    def take_over(self, old: MemorySalvage) -> None:
        kept = old.state.copy_state()
        for name in (
            "history",
            "tokens",
            "token_changes",
            "rules",
            "answered",
            "epochs",
            "changes",
            "lines",
        ):
            setattr(self._state, name, getattr(kept, name))
        self._restart_numbering()

    def note_renewed(self, at: str, actor: str) -> None:
        self.begin_batch()
        self.begin_epoch("rebuild", at, actor)
        for key in self._state.keys:
            if self._state.places[key] == _UNNOTED:
                text = self._state.records[key]
                revision = stored.decode_stored(text).revision
                place = self._note_deed(Deed("rebuild", at, actor), ((key, text),), revision)
                self._state.places[key] = place
        self.commit_batch()


class MemorySalvage:
    """The readable rest of a registry: all of it, because memory is never damaged."""

    def __init__(self, state: _State) -> None:
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


class MemoryCopy:
    """A copy of a state, as the port `perdure.storage.ports.RegistryCopy`."""

    def __init__(self, states: dict[Path, _State], state: _State, target: Path) -> None:
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
        self._states: dict[Path, _State] = {}

    def create_registry(self, root: Path) -> None:
        self._states.setdefault(root, _State())

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
