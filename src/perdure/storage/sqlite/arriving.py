"""A registry file in which a registry arrives.

How it works: it is in the directory `moving/`, in which readers and writers do not look, until
`install` puts it in its place.

What must stay true: a file that a registry has left is kept when another one takes its place.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import apsw

from perdure.errors.moving import PlaceTaken
from perdure.model import stored
from perdure.model.changes import (
    RECONSTRUCTED,
    WITHOUT_RECORDS,
    ChangeMark,
)
from perdure.storage.durable import replace_durably, sync_directory, sync_file
from perdure.storage.moving_ports import MovedChange, OtherRows, WholeRecord
from perdure.storage.sqlite import opening
from perdure.storage.sqlite.changelog import Epochs
from perdure.storage.sqlite.journal import SqliteJournal
from perdure.storage.sqlite.leaving import NOTE, WholeFile, find_new_place, find_place_note
from perdure.storage.sqlite.opening import (
    ARRIVED,
    FILE,
    open_file,
    storage_errors,
)
from perdure.storage.sqlite.records import ALL_SUMS, SqliteRecords
from perdure.storage.sqlite.sums import sum_line, sum_rule, sum_whole

DIRECTORY = "moving"
"""The directory of a registry file that arrives."""
_LOGS = ("-wal", "-shm")
_KEEP_PAST = """
INSERT INTO history SELECT key, ?, record, position, sum FROM records WHERE key=?
"""
_CHANGE = "UPDATE records SET record=?, position=?, sum=? WHERE key=?"
_PUT = "INSERT OR REPLACE INTO records VALUES(?,?,?,?)"
_PUT_PAST = "INSERT OR REPLACE INTO history VALUES(?,?,?,?,?)"
_GUARDS = "SELECT name, sql FROM sqlite_master WHERE type='trigger' AND name IN (?,?)"


class FileArrival(SqliteJournal):
    """A registry file that is being filled, as the port `perdure.storage.moving_ports.Arrival`."""

    def __init__(self, root: Path, move: str) -> None:
        self._root = root
        self._place = root / DIRECTORY
        super().__init__(self._place)
        self._usual_form = ALL_SUMS
        self._move = move
        self._whole = WholeFile(self)

    @property
    def records(self) -> SqliteRecords:
        return self

    def add_changes(
        self, changes: Sequence[MovedChange], references: Iterable[tuple[int, str]]
    ) -> None:
        self.begin_batch()
        try:
            self._add_all(changes)
            self.add_references(references)
            self.commit_batch()
        except BaseException:
            self.roll_back()
            raise
        self.tidy_up()

    def _add_all(self, changes: Sequence[MovedChange]) -> None:
        waiting: dict[str, tuple[str, str, int | None, int]] = {}
        for change, lines, epoch in changes:
            place: int | None = self._changes.replay_change(change, epoch)
            if change.act in WITHOUT_RECORDS:
                continue
            if change.epoch == RECONSTRUCTED:
                place = None
            for key, text in lines:
                if key in waiting:
                    self._add_waiting(waiting)
                row = (key, text, place, sum_line(key, text, place))
                is_new = change.revision <= 1 and change.count > 1
                before = None if is_new else self.find_stored(key)
                if before is None:
                    waiting[key] = row
                    continue
                revision = stored.decode_stored(before).revision
                self._only.execute(_KEEP_PAST, (revision, key))
                self._only.execute(_CHANGE, (*row[1:], key))
        self._add_waiting(waiting)

    def _add_waiting(self, waiting: dict[str, tuple[str, str, int | None, int]]) -> None:
        self._add_placed(list(waiting.values()))
        waiting.clear()

    def put_records(
        self,
        records: Sequence[WholeRecord],
        dropped: Iterable[tuple[int, str]],
        references: Iterable[tuple[int, str]],
    ) -> None:
        self.begin_batch()
        try:
            self._only.execute("PRAGMA secure_delete=ON").fetchall()
            names = ("records_hold", "history_holds")
            guards: list[Any] = self._only.execute(_GUARDS, names).fetchall()
            for name, _ in guards:
                self._only.execute(f"DROP TRIGGER {name}")
            for one in records:
                place = self._find_position(one.mark)
                row = (one.key, one.text, place)
                self._put_row(_PUT, row, row)
                for past in one.past:
                    place = self._find_position(past.mark)
                    line = (one.key, past.text, place)
                    self._put_row(_PUT_PAST, (one.key, past.revision, past.text, place), line)
            for _, sql in guards:
                self._only.execute(sql)
            self.drop_references(dropped)
            self.commit_batch()
            self.begin_batch()
            self.add_references(references)
            self.commit_batch()
        except BaseException:
            self.roll_back()
            raise

    def _put_row(self, statement: str, row: tuple[Any, ...], line: tuple[Any, ...]) -> None:
        self._only.execute(statement, (*row, sum_line(*line)))

    def _find_position(self, mark: ChangeMark | None) -> int | None:
        if mark is None:
            return None
        epochs = Epochs.load_epochs(self._ask_registry)
        return epochs.find_position(mark, self._find_last_position())

    def drop_salts(self, marks: Iterable[ChangeMark]) -> None:
        self.begin_batch()
        try:
            for mark in marks:
                if (place := self._find_position(mark)) is not None:
                    self._changes.destroy_salt(place)
            self.commit_batch()
        except BaseException:
            self.roll_back()
            raise

    def put_others(self, rows: OtherRows) -> None:
        self.begin_batch()
        execute = self._only.execute
        try:
            execute("DELETE FROM tokens; DELETE FROM answered; DELETE FROM segments").fetchall()
            for one in rows.tokens:
                execute("INSERT INTO tokens VALUES(?,?,?,?)", sum_whole(one))
            for answer in rows.answers:
                execute("INSERT INTO answered VALUES(?,?,?,?,?,?)", sum_whole(answer))
            for number, length, opened, grows in rows.segments:
                values = sum_whole((number, length, opened, int(grows)))
                execute("INSERT INTO segments VALUES(?,?,?,?,?)", values)
            known: int = execute("SELECT count(*) FROM token_changes").get
            for number, (*texts, mark) in enumerate(rows.token_changes[known:], known + 1):
                values = sum_whole((number, *texts, self._find_position(mark)))
                execute("INSERT INTO token_changes VALUES(?,?,?,?,?,?,?,?)", values)
            known = execute("SELECT count(*) FROM rules").get
            for number, key, text in rows.rules[known:]:
                execute(
                    "INSERT INTO rules VALUES(?,?,?,?)",
                    (number, key, text, sum_rule(number, key, text)),
                )
            self._segments.clear()
            self.commit_batch()
        except BaseException:
            self.roll_back()
            raise

    def read_range(self, after: str, until: str | None, *, limit: int) -> list[WholeRecord]:
        return self._whole.read_range(after, until, limit=limit)

    def read_some(self, keys: Sequence[str]) -> list[WholeRecord]:
        return self._whole.read_some(keys)

    def read_others(self) -> OtherRows:
        return self._whole.read_others()

    def complete(self) -> None:
        self._only.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        self.close()
        install(self._root)


def open_arrival(root: Path, move: str) -> FileArrival:
    """Open the file of a move, or create it. Raises PlaceTaken."""
    place = root / DIRECTORY
    if (root / FILE).exists() and not find_new_place(root):
        raise PlaceTaken(setting="store", value=str(root / FILE))
    place.mkdir(exist_ok=True)
    opening.create_registry(place)  # also what a kill has left of it
    if find_place_note(place / FILE, ARRIVED) not in ("", move):
        raise PlaceTaken(setting="store", value=str(place / FILE))
    with (
        storage_errors("the registry"),
        closing(open_file(str(place / FILE), apsw.SQLITE_OPEN_READWRITE)) as connection,
    ):
        connection.execute(NOTE, (ARRIVED, move))
    sync_directory(place)
    sync_directory(root)
    return FileArrival(root, move)


def install(root: Path) -> None:
    """Put the file that arrived in its place. Safe to repeat."""
    fresh, old = root / DIRECTORY / FILE, root / FILE
    if not fresh.exists():
        return
    with storage_errors("the registry"):
        if old.exists():
            _set_aside(root, old)
        sync_file(fresh)
        replace_durably(fresh, old)
        shutil.rmtree(root / DIRECTORY, ignore_errors=True)
        sync_directory(root)


def _set_aside(root: Path, old: Path) -> None:
    """Keep the file that was left under a name of its own."""
    names = (f"left-{number}.sqlite" for number in range(1, 1 << 20))
    free = next(name for name in names if not (root / "aside" / name).exists())
    for suffix in ("", *_LOGS):
        with suppress(FileNotFoundError):
            os.replace(f"{old}{suffix}", root / "aside" / f"{free}{suffix}")  # noqa: PTH105
    sync_directory(root / "aside")
    sync_directory(root)


def has_arrived(root: Path, move: str) -> bool:
    """Return True if the file in the place of the registry is that of a move."""
    return find_place_note(root / FILE, ARRIVED) == move


def abandon_arrival(root: Path) -> None:
    """Remove a file that has not arrived."""
    shutil.rmtree(root / DIRECTORY, ignore_errors=True)
