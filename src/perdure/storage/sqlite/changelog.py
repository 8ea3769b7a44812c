"""Numbered changes in the registry file: how their rows are read and added.

How it works: a change has a position, counted from 1 over all epochs, and one row. The table
`epochs` says at which position each epoch starts. Every 32nd row and the first of each
epoch are written in full, with the chain before them, so that reading can start there. Records and
history have the position of the change that wrote them.

What must stay true: rows are only added; only the salt can be removed from one. A position is never
used twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from os import urandom
from typing import Any

import apsw

from perdure.errors.corruption import (
    ChainBroken,
    ChainMissing,
    ChangeMissing,
    ChangeUnreadable,
    ChangeWordMissing,
    EpochMissing,
    EpochUnreadable,
)
from perdure.model.changes import (
    NO_CHAIN,
    NOTHING,
    RECONSTRUCTED,
    SALT_BYTES,
    ChainHead,
    Change,
    ChangeMark,
    ChangeMoment,
    Deed,
    Epoch,
    Line,
    Numbering,
    Scope,
    begin_chain,
    digest_alike,
    digest_attested,
    digest_lines,
)
from perdure.storage.sqlite.change_rows import (
    SALTED,
    ChangeRow,
    pack_leaf,
    pack_row,
    peek_row,
    unpack_row,
)
from perdure.storage.sqlite.sums import sum_whole
from perdure.storage.sqlite.words import Ask, load_words

SCHEMA = """
ALTER TABLE records ADD COLUMN position INTEGER;
ALTER TABLE history ADD COLUMN position INTEGER;
ALTER TABLE token_changes ADD COLUMN position INTEGER;
CREATE TABLE changes (position INTEGER PRIMARY KEY, row BLOB NOT NULL);
CREATE TABLE words (number INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE epochs (
  epoch INTEGER PRIMARY KEY, start INTEGER NOT NULL UNIQUE, reason TEXT NOT NULL,
  previous_epoch INTEGER, previous_number INTEGER, previous_chain TEXT
);
CREATE TRIGGER changes_stay BEFORE DELETE ON changes
  BEGIN SELECT RAISE(ABORT, 'changes are only added to'); END;
CREATE TRIGGER changes_hold BEFORE UPDATE ON changes
  WHEN NEW.position IS NOT OLD.position OR length(NEW.row) IS NOT length(OLD.row) - 16
    OR substr(NEW.row, 2) IS NOT substr(OLD.row, 2, length(NEW.row) - 1)
  BEGIN SELECT RAISE(ABORT, 'of a change, only the salt can be destroyed'); END;
CREATE TRIGGER epochs_stay BEFORE DELETE ON epochs
  BEGIN SELECT RAISE(ABORT, 'epochs are only added to'); END;
CREATE TRIGGER epochs_hold BEFORE UPDATE ON epochs
  BEGIN SELECT RAISE(ABORT, 'epochs are only added to'); END;
"""
FULL_EVERY = 32
_SALTS = 256  # drawn at once
_EPOCHS = """
SELECT epoch, start, reason, previous_epoch, previous_number, previous_chain FROM epochs
  ORDER BY epoch
"""
TOGETHER = 32
"""The most rows of one statement: other threads run after each."""
_WRITE = ["INSERT INTO changes VALUES" + ",".join(["(?,?)"] * n) for n in range(TOGETHER + 1)]
"""For each number of rows, its statement."""
_REWRITE = "UPDATE changes SET row=? WHERE position=?"
_BETWEEN = "SELECT position, row FROM changes WHERE position BETWEEN ? AND ?"
_ROWS = "SELECT position, row FROM changes WHERE position>=? ORDER BY position LIMIT ?"


# Reading
# -------


class Epochs:
    """Maps positions to epochs."""

    def __init__(self, rows: Sequence[tuple[Any, ...]]) -> None:
        self.epochs: list[Epoch] = []
        self._starts: list[int] = []
        for number, start, reason, *previous in rows:
            if not (isinstance(number, int) and isinstance(start, int)):
                nowhere = str(ChangeMark(0, 0))
                raise EpochUnreadable(change=nowhere, number=repr(number), start=repr(start))
            head = None
            if previous[0] is not None:
                head = ChainHead(epoch=previous[0], number=previous[1], chain=previous[2])
            self.epochs.append(Epoch(epoch=number, reason=reason, previous=head))
            self._starts.append(start)

    @classmethod
    def load_epochs(cls, ask: Ask) -> Epochs:
        return cls(ask(_EPOCHS, ()))

    def find_mark(self, position: int) -> ChangeMark:
        """Epoch and number of a position. Raises Corrupt if no epoch begins before it."""
        for epoch, start in zip(reversed(self.epochs), reversed(self._starts), strict=True):
            if start <= position:
                return ChangeMark(epoch.epoch, position - start + 1)
        raise EpochMissing(change=str(ChangeMark(0, position)))

    def find_position(self, mark: ChangeMark, end: int) -> int | None:
        """The position of a mark, or None if no change up to the position `end` has it.

        Number 0 is the place before an epoch; 0.0 is always the place before the first change.
        """
        if mark.number == 0 and (mark.epoch == RECONSTRUCTED or not self.epochs):
            return 0
        ends = [*(start - 1 for start in self._starts[1:]), end]
        for epoch, start, last in zip(self.epochs, self._starts, ends, strict=False):
            if epoch.epoch == mark.epoch:
                position = start + mark.number - 1
                return position if position <= last else None
        return None


def read_changes(ask: Ask, words: Callable[[int], str], after: int, limit: int) -> Iterator[Change]:
    """The changes after a position, in order.

    Raises Corrupt, with the mark of a change in `identifier`, if a row is damaged or missing, or if
    the chain before it is not the one stored with it.
    """
    start = after // FULL_EVERY * FULL_EVERY + 1
    rows = ask(_ROWS, (start, after + limit - start + 1))
    epochs = Epochs.load_epochs(
        ask
    )  # after the rows: an epoch exists as soon as its first row does
    before, numbering, is_begun = ("", ""), Numbering(), False
    for expected, (position, data) in enumerate(rows, start):
        mark = epochs.find_mark(position)
        if position != expected:
            missing = str(epochs.find_mark(expected))
            raise ChangeMissing(change=missing, following=str(mark))
        try:
            row, stated = unpack_row(data, before)
            deed = None if row.leaf else Deed(words(row.act), row.at, words(row.actor))
        except KeyError as error:
            raise ChangeWordMissing(change=str(mark), number=str(error)) from error
        except (ValueError, IndexError, TypeError) as error:
            raise ChangeUnreadable(change=str(mark), fault=str(error)) from error
        if stated is not None:
            if is_begun and mark.number > 1 and stated != numbering.chain:
                chain = numbering.chain.hex()
                raise ChainBroken(change=str(mark), stated=stated.hex(), found=chain)
            numbering.restart_at(mark.epoch, mark.number - 1, stated)
            is_begun = True
        elif not is_begun:
            raise ChainMissing(change=str(mark))
        before = row.at, row.first
        if deed is None:
            change = numbering.number_leaf(row.leaf or b"")
        else:
            scope = Scope(row.first, row.last, row.records, row.revision)
            change = numbering.number_change(deed, scope, row.digest, row.salt)
        if position > after:
            yield change


def read_moments(ask: Ask, positions: Iterable[int]) -> dict[int, ChangeMoment]:
    """Mark and time of those changes at some positions that wrote first revisions.

    A row that cannot be read alone is left out, as are those that depend on it: `read_changes`
    says what is wrong with it.
    """
    rows: dict[int, bytes] = {}
    wanted = sorted(set(positions))
    for start, end in _join_blocks(wanted):
        rows.update(ask(_BETWEEN, (start, end)))
    epochs = Epochs.load_epochs(ask)  # after the rows, as above
    times: dict[int, str] = {}
    found: dict[int, ChangeMoment] = {}
    for position in wanted:
        peeked = peek_row(rows.get(position, b""))
        time = _find_time(rows, times, position)
        if peeked is not None and peeked.is_first and time is not None:
            found[position] = ChangeMoment(epochs.find_mark(position), time)
    return found


def _join_blocks(positions: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The first and the last position of rows that give the times of some rows, in order."""
    start = end = -FULL_EVERY
    for position in positions:
        begin = (position - 1) // FULL_EVERY * FULL_EVERY + 1
        if begin - end > FULL_EVERY:
            if end > 0:
                yield start, end
            start = begin
        end = position
    if end > 0:
        yield start, end


def _find_time(rows: Mapping[int, bytes], times: dict[int, str], position: int) -> str | None:
    """The time of a row, which may be that of an earlier row. `times` has those found before."""
    passed = []
    while position not in times:
        peeked = peek_row(rows.get(position, b""))
        if peeked is None:
            return None
        passed.append(position)
        if peeked.at is not None:
            times[position] = peeked.at
            break
        position -= 1
    times.update(dict.fromkeys(passed, times[position]))
    return times[position]


# Adding
# ------


class ChangeLog:
    """Adds changes. The only writer owns it, and calls it in its batches."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._ask: Ask = lambda statement, values: connection.execute(statement, values).fetchall()
        self._rows: list[tuple[int, bytes]] = []
        self._salts: list[bytes] = []
        self._numbering = Numbering()
        self.load_state()

    def load_state(self) -> None:
        """Load the end of the sequence, at the start or after a batch that was undone."""
        self._rows.clear()
        texts = load_words(self._ask)
        self._words = {text: number for number, text in texts.items()}
        self.position: int = self._ask("SELECT coalesce(max(position), 0) FROM changes", ())[0][0]
        self._before = ("", "")
        if not self.position:
            self._numbering.restart_at(0, 0, NO_CHAIN)
            return
        after = self.position - 1
        (last,) = read_changes(self._ask, texts.__getitem__, after, 1)
        self._numbering.restart_at(last.epoch, last.number, last.chain)
        self._before = last.at, last.first

    @property
    def head(self) -> ChainHead | None:
        """The last change, whether or not it is durable yet."""
        if not self.position:
            return None
        numbering = self._numbering
        return ChainHead(
            epoch=numbering.epoch, number=numbering.number, chain=numbering.chain.hex()
        )

    def _number_word(self, text: str) -> int:
        try:
            return self._words[text]
        except KeyError:
            number: int = self._ask("SELECT coalesce(max(number), -1) + 1 FROM words", ())[0][0]
            self._words[text] = number
            self._connection.execute("INSERT INTO words VALUES(?,?,?)", sum_whole((number, text)))
            return number

    def begin_epoch(self, epoch: Epoch, at: str, actor: str) -> None:
        """Begin a new epoch; numbers start again at 1. Raises apsw.Error."""
        chain = self._open_epoch(epoch)
        change = self._numbering.begin_epoch(epoch, at, actor, urandom(SALT_BYTES))
        deed = Deed(change.act, at, actor)
        self._append_row(deed, NOTHING, (change.digest, change.salt), chain)

    def _open_epoch(self, epoch: Epoch) -> bytes:
        """Begin an epoch with the next change. Return the chain before it."""
        previous = epoch.previous
        named = (None, None, None)
        if previous:
            named = (previous.epoch, previous.number, previous.chain)  # type: ignore[assignment]
        self._connection.execute(
            "INSERT INTO epochs VALUES(?,?,?,?,?,?)",
            (epoch.epoch, self.position + 1, epoch.reason, *named),
        )
        return begin_chain(epoch)

    def replay_change(self, change: Change, epoch: Epoch | None = None) -> int:
        """Add a change of another registry with its own number, and return its position.

        `epoch` if it begins one. Raises ChainBroken if it is not the next change of the chain.
        """
        numbering = self._numbering
        before = self._open_epoch(epoch) if epoch else None
        if before is not None:
            numbering.restart_at(change.epoch, 0, before)
        elif self.position % FULL_EVERY == 0:
            before = numbering.chain
        deed = Deed(change.act, change.at, change.actor)
        scope = Scope(change.first, change.last, change.count, change.revision)
        if change.leaf is not None:
            numbering.count_leaf(change.leaf)
        else:
            numbering.count_change(deed, scope, change.digest)
        if (numbering.epoch, numbering.number, numbering.chain) != (
            change.epoch,
            change.number,
            change.chain,
        ):
            raise ChainBroken(
                change=str(change.mark), stated=change.chain.hex(), found=numbering.chain.hex()
            )
        if change.leaf is None:
            return self._append_row(deed, scope, (change.digest, change.salt), before)
        self.position += 1
        self._rows.append((self.position, pack_leaf(change.leaf, before)))
        self._before = ("", "")
        return self.position

    def _draw_salt(self) -> bytes:
        """Random bytes, drawn for many changes at once."""
        if not self._salts:
            drawn = urandom(SALT_BYTES * _SALTS)
            self._salts = [drawn[at : at + SALT_BYTES] for at in range(0, len(drawn), SALT_BYTES)]
        return self._salts.pop()

    def note_change(self, deed: Deed, lines: Sequence[Line], revision: int = 1) -> int:
        """Add a change that wrote these lines, and return its position."""
        salt = self._draw_salt()
        scope = Scope(lines[0][0], lines[-1][0], len(lines), revision)
        return self.add_change(deed, scope, digest_lines(salt, deed.actor, lines), salt)

    def note_attested(self, deed: Deed, lines: Sequence[Line]) -> int:
        """Do the same for new records whose lines `attest_line` returned."""
        salt = self._draw_salt()
        scope = Scope(lines[0][0], lines[-1][0], len(lines), 1)
        return self.add_change(deed, scope, digest_attested(salt, deed.actor, lines), salt)

    def note_alike(self, deed: Deed, keys: Sequence[str], line: str) -> int:
        """Do the same for records that all have the same line."""
        salt = self._draw_salt()
        scope = Scope(keys[0], keys[-1], len(keys), 1)
        return self.add_change(deed, scope, digest_alike(salt, deed.actor, keys, line), salt)

    def add_change(self, deed: Deed, scope: Scope, digest: bytes, salt: bytes) -> int:
        """Add a change whose digest is known, and return its position."""
        chain = self._numbering.chain if self.position % FULL_EVERY == 0 else None
        self._numbering.count_change(deed, scope, digest)
        return self._append_row(deed, scope, (digest, salt), chain)

    def _append_row(
        self, deed: Deed, scope: Scope, hashes: tuple[bytes, bytes | None], chain: bytes | None
    ) -> int:
        row = ChangeRow(
            self._number_word(deed.act), self._number_word(deed.actor), deed.at, *scope, *hashes
        )
        self.position += 1
        self._rows.append((self.position, pack_row(row, self._before, chain)))
        self._before = deed.at, scope.first
        return self.position

    def destroy_salt(self, position: int) -> None:
        """Remove the salt of a row, which must be written already. Raises apsw.Error."""
        found = self._ask("SELECT row FROM changes WHERE position=?", (position,))
        row = found[0][0] if found else b"\0"
        if row[0] & SALTED:
            rest = bytes((row[0] & ~SALTED,)) + row[1:-SALT_BYTES]
            self._connection.execute(_REWRITE, (rest, position))

    def write_rows(self) -> None:
        """Insert the rows of this batch. Raises apsw.Error."""
        if self._rows:
            for at in range(0, len(self._rows), TOGETHER):
                some = self._rows[at : at + TOGETHER]
                self._connection.execute(_WRITE[len(some)], tuple(chain.from_iterable(some)))
            self._rows.clear()
