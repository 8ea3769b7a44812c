"""Writing a registry in memory, as the port `perdure.storage.ports.Journal`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from os import urandom
from pathlib import Path

import msgspec

from perdure.errors.corruption import ChainBroken
from perdure.ids.pdi import Pdi
from perdure.ids.pdi_key import encode_number
from perdure.model import stored
from perdure.model.changes import (
    RULE,
    RULE_KEY,
    SALT_BYTES,
    TOKEN_KEY,
    WITHOUT_RECORDS,
    ChainHead,
    Change,
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
from perdure.storage.ports import SERIALS_END, ReplayedChange, SalvagedRecord
from perdure.testing.memory_records import UNNOTED, MemoryRecords, MemoryState
from perdure.testing.memory_salvage import MemorySalvage


class MemoryJournal(MemoryRecords):
    """Writes a registry in memory.

    A test can set `refuse` to a `JournalError`, which the next commit raises.
    """

    is_shared = False

    def __init__(self, states: dict[Path, MemoryState], root: Path) -> None:
        super().__init__(states, root)
        self.refuse: Exception | None = None
        self._batch: MemoryState | None = None
        self._numbering = Numbering()
        self._restart_numbering()

    @property
    def _state(self) -> MemoryState:
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

    def begin_rehearsal(self) -> None:
        self.begin_batch()

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
        self._state.put_text(key, stored.encode_stored(record).decode(), UNNOTED)

    def keep_record(
        self, key: str, record: Record, position: int | None, past: Record | None
    ) -> None:
        if past is not None:
            self._state.history.setdefault(key, []).append(stored.encode_stored(past).decode())
        place = UNNOTED if position is None or past is not None else position
        self._state.put_text(key, stored.encode_stored(record).decode(), place)

    def keep_lines(self, page: Sequence[SalvagedRecord]) -> None:
        for old in page:
            place = UNNOTED if old.position is None else old.position
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
            if self._state.places[key] == UNNOTED:
                text = self._state.records[key]
                revision = stored.decode_stored(text).revision
                place = self._note_deed(Deed("rebuild", at, actor), ((key, text),), revision)
                self._state.places[key] = place
        self.commit_batch()
