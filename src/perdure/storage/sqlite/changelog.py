"""Numbered changes in the registry file: the form of a row, and how to read and add rows.

How it works: a change has a position, counted from 1 over all epochs, and one row. The table
`epochs` says at which position each epoch starts. A row holds only the differences from the row
before: the key without the beginning that both keys share, the time if it differs, the act and the
actor as numbers in the table `words`, the digest, a checksum of all this, and the salt. In a
mirror, a row can hold the leaf of a change and nothing else. Every 32nd row and the first of each
epoch are written in full, with the chain before them, so that reading can start there. Records and
history have the position of the change that wrote them.

What must stay true: rows are only added; only the salt, which is at the end of a row, can be
removed from it. A position is never used twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from os import urandom
from typing import Any, NamedTuple
from zlib import crc32

import apsw

from perdure.errors.corruption import (
    ChainBroken,
    ChainMissing,
    ChangeMissing,
    ChangeUnreadable,
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
_FULL, _SAME_TIME, _SHORT_TIME, _RUN, _REVISED, _SALTED, _SUMMED = 1, 2, 4, 8, 16, 32, 64
_LEAF = 128
_SUM_BYTES = 4
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_TIME_BYTES = 6
_EPOCHS = """
SELECT epoch, start, reason, previous_epoch, previous_number, previous_chain FROM epochs
  ORDER BY epoch
"""
_WRITE = "INSERT INTO changes VALUES(?,?)"
_REWRITE = "UPDATE changes SET row=? WHERE position=?"
_ROWS = "SELECT position, row FROM changes WHERE position>=? ORDER BY position LIMIT ?"
Ask = Callable[[str, tuple[str | int | None, ...]], list[Any]]


# A row
# -----


class ChangeRow(NamedTuple):
    """A change as it is stored. Act and actor are numbers of words."""

    act: int
    actor: int
    at: str
    first: str
    last: str
    records: int
    revision: int
    digest: bytes
    salt: bytes | None
    leaf: bytes | None = None
    """If it is given, nothing else is known."""


_OF_LEAF = ChangeRow(0, 0, "", "", "", 0, 0, b"", None)


def _pack_varint(value: int) -> bytes:
    """An integer in groups of seven bits, the lowest first."""
    if value < 128:
        return bytes((value,))
    found = bytearray()
    while value >= 128:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)


def _pack_text(text: str, before: str) -> bytes:
    """Pack a text without the beginning that it shares with another text."""
    shared = len(before) - 1  # most often it is a number, and one of the numbers just after
    for _ in range(4):
        if shared > 0 and text.startswith(before[:shared]):
            break
        shared -= 1
    else:
        shared = 0
        for one, other in zip(text, before, strict=False):
            if one != other:
                break
            shared += 1
    rest = text[shared:].encode()
    if shared < 128 and len(rest) < 128:
        return b"%c%c%b" % (shared, len(rest), rest)
    return _pack_varint(shared) + _pack_varint(len(rest)) + rest


def _pack_time(at: str) -> tuple[int, bytes]:
    """A time as bytes, with the flag of the short form if it is used."""
    if _TIME.fullmatch(at):
        digits = f"{at[:4]}{at[5:7]}{at[8:10]}{at[11:13]}{at[14:16]}{at[17:19]}"
        return _SHORT_TIME, int(digits).to_bytes(_TIME_BYTES)
    text = at.encode()
    return 0, _pack_varint(len(text)) + text


def pack_row(row: ChangeRow, before: tuple[str, str], chain: bytes | None) -> bytes:
    """A row as bytes. `before` is the time and the first key of the row before it.

    `chain` is the chain before it, if the row is written in full.
    """
    at, first = before if chain is None else ("", "")
    flags, time, rest = _SAME_TIME, b"", b""
    if chain is not None or row.at != at:
        flags, time = _pack_time(row.at)
    if chain is not None:
        flags |= _FULL
        time = chain + time
    if row.records != 1:
        flags |= _RUN
        rest = _pack_varint(row.records) + _pack_text(row.last, row.first)
    if row.revision != 1:
        flags |= _REVISED
        rest += _pack_varint(row.revision)
    words = (
        b"%c%c" % row[:2] if max(row[:2]) < 128 else _pack_varint(row.act) + _pack_varint(row.actor)
    )
    said = b"%b%b%b%b%b" % (time, words, _pack_text(row.first, first), rest, row.digest)
    flags |= _SUMMED
    salted = flags if row.salt is None else flags | _SALTED
    return b"%c%b%b%b" % (salted, said, _sum_row(flags, said), row.salt or b"")


def pack_leaf(leaf: bytes, chain: bytes | None) -> bytes:
    """The row of a change of which only the leaf is known. The row after it shares nothing."""
    flags = _LEAF | _SUMMED | (0 if chain is None else _FULL)
    said = (chain or b"") + leaf
    return b"%c%b%b" % (flags, said, _sum_row(flags, said))


def _sum_row(flags: int, said: bytes) -> bytes:
    """The checksum of a row. Flag and bytes of the salt do not count: an erasure removes them."""
    return crc32(said, flags & ~_SALTED).to_bytes(_SUM_BYTES)


class _RowReader:
    """Reads a row piece by piece. Raises IndexError or ValueError if the row is too short."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take_bytes(self, count: int) -> bytes:
        end = self._at + count
        found = self._data[self._at : end]
        if len(found) != count:
            raise ValueError("it is too short")
        self._at = end
        return found

    def read_number(self) -> int:
        value = shift = 0
        while True:
            byte = self._data[self._at]
            self._at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def read_text(self, before: str) -> str:
        shared = self.read_number()
        return before[:shared] + self.take_bytes(self.read_number()).decode()

    def read_time(self, flags: int) -> str:
        if not flags & _SHORT_TIME:
            return self.take_bytes(self.read_number()).decode()
        digits = f"{int.from_bytes(self.take_bytes(_TIME_BYTES)):014}"
        day = f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}"
        return f"{day}T{digits[8:10]}:{digits[10:12]}:{digits[12:]}Z"

    def check_sum(self, flags: int) -> None:
        said = self.copy_taken()
        if self.take_bytes(_SUM_BYTES) != _sum_row(flags, said):
            raise ValueError("it does not have its checksum")

    def copy_taken(self) -> bytes:
        """The bytes that were read so far, without the flags."""
        return self._data[1 : self._at]

    def check_end(self) -> None:
        if self._at != len(self._data):
            raise ValueError("it is too long")


def unpack_row(data: bytes, before: tuple[str, str]) -> tuple[ChangeRow, bytes | None]:
    """The row, and the chain before it if the row was written in full.

    Raises ValueError or IndexError if the bytes are not a row.
    """
    reading = _RowReader(data)
    flags = reading.take_bytes(1)[0]
    chain = reading.take_bytes(len(NO_CHAIN)) if flags & _FULL else None
    if flags & _LEAF:
        leaf = reading.take_bytes(len(NO_CHAIN))
        reading.check_sum(flags)
        reading.check_end()
        return _OF_LEAF._replace(leaf=leaf), chain
    at, key = before if chain is None else ("", "")
    if not flags & _SAME_TIME:
        at = reading.read_time(flags)
    act, actor = reading.read_number(), reading.read_number()
    first = last = reading.read_text(key)
    count = revision = 1
    if flags & _RUN:
        count, last = reading.read_number(), reading.read_text(first)
    if flags & _REVISED:
        revision = reading.read_number()
    digest = reading.take_bytes(32)
    if flags & _SUMMED:  # rows of earlier formats have no checksum
        reading.check_sum(flags)
    salt = reading.take_bytes(SALT_BYTES) if flags & _SALTED else None
    reading.check_end()
    return ChangeRow(act, actor, at, first, last, count, revision, digest, salt), chain


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
        except (ValueError, IndexError, KeyError, TypeError) as error:
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


class Words:
    """The words of the file: acts and actors. `ask` queries the registry."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._texts: dict[int, str] = {}

    def __call__(self, number: int) -> str:
        """The word with this number. Raises KeyError if there is no such word."""
        if number not in self._texts:
            self._texts = dict(self._ask("SELECT number, text FROM words", ()))
        return self._texts[number]


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
        texts = self._ask("SELECT text, number FROM words", ())
        self._words: dict[str, int] = dict(texts)
        self.position: int = self._ask("SELECT coalesce(max(position), 0) FROM changes", ())[0][0]
        self._before = ("", "")
        if not self.position:
            self._numbering.restart_at(0, 0, NO_CHAIN)
            return
        numbers = {number: text for text, number in texts}
        after = self.position - 1
        (last,) = read_changes(self._ask, numbers.__getitem__, after, 1)
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
            number = max(self._words.values(), default=-1) + 1
            self._words[text] = number
            self._connection.execute("INSERT INTO words VALUES(?,?)", (number, text))
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
        if row[0] & _SALTED:
            rest = bytes((row[0] & ~_SALTED,)) + row[1:-SALT_BYTES]
            self._connection.execute(_REWRITE, (rest, position))

    def write_rows(self) -> None:
        """Insert the rows of this batch. Raises apsw.Error."""
        if self._rows:
            if len(self._rows) == 1:  # the usual batch, of one command or one run
                self._connection.execute(_WRITE, self._rows[0])
            else:
                self._connection.executemany(_WRITE, self._rows)
            self._rows.clear()
