"""Writing an embedded registry: one SQLite file in WAL mode, one writer.

How it works: between `begin_batch` and `commit_batch`, one transaction collects records, their
references and their changes. One statement inserts up to 32 rows of a large batch. References of a
bulk load are staged and merged all at once.

Every statement lets the other threads of the process run, and then has to wait for them. So the
records that the commands of a batch will read are fetched with one statement for 32 of them, and
are remembered until the batch writes them or ends.

What must stay true: `synchronous=FULL`, so that a committed transaction survives a power cut;
nothing in `records` or `history` is ever deleted, and only an erasure rewrites what is in
`history`; every record has the position of the change that wrote it; what was fetched is what the
batch would read.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import wraps
from itertools import chain, islice
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import apsw
import msgspec

from perdure.errors import Corrupt
from perdure.ids.pdi import Pdi
from perdure.ids.pdi_key import encode_number
from perdure.model.changes import (
    RECONSTRUCTED,
    RULE,
    RULE_KEY,
    TOKEN_KEY,
    WITHOUT_RECORDS,
    Deed,
    Epoch,
    Line,
    write_token_line,
)
from perdure.model.reading_rules import ReadingRule
from perdure.model.records import Token
from perdure.storage.ports import (
    SERIALS_END,
    JournalBusy,
    JournalFailed,
    JournalFull,
    JournalMoved,
    ReplayedChange,
)
from perdure.storage.sqlite import opening, reconstruct, rules, sums
from perdure.storage.sqlite.changelog import TOGETHER, ChangeLog
from perdure.storage.sqlite.decoding import decode_line, make_unreadable
from perdure.storage.sqlite.opening import open_file, storage_errors
from perdure.storage.sqlite.records import ALL_SUMS, PLACE, SqliteRecords
from perdure.storage.sqlite.references import Merging, References
from perdure.storage.sqlite.sums import (
    is_sound_line,
    sum_alike,
    sum_line,
    sum_lines,
    sum_rule,
    sum_whole,
)

_WAL_PAGES = 2048  # 8 MiB: to flush an overwritten log is faster than to flush a growing one
PRAGMAS = {
    "journal_mode": "WAL",  # a backup has no log yet
    "synchronous": "FULL",
    "cache_size": -65_536,  # KiB, used as a batch needs them
    "wal_autocheckpoint": 0,  # `tidy_up` does it, after the answers of a batch
    "secure_delete": "FAST",  # no page keeps an old text that an erasure could not find
}
"""The settings of the connection that writes."""
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_LAST_GRANT = "SELECT coalesce(max(number), 0) FROM token_changes"
_ANSWER = "SELECT actor, once, request, receipt, at, sum FROM answered WHERE actor=? AND once=?"
_MISTAKES = (apsw.ConstraintError, apsw.MismatchError, apsw.SQLError, apsw.TooBigError)
_GUARD = "SELECT sql FROM sqlite_master WHERE type='trigger' AND name=?"
_UNREDACTED = "SELECT revision, record, position, {} FROM history WHERE key=?"
_REDACT = "UPDATE history SET record=?, sum=? WHERE key=? AND revision=?"
_P = ParamSpec("_P")
_R = TypeVar("_R")
_PAIRS = " VALUES" + ",".join(["(?,?)"] * TOGETHER)
_ADD = "INSERT INTO records(key, record, position, sum) VALUES"
_ADD_SOME = [_ADD + ",".join(["(?,?,?,?)"] * count) for count in range(TOGETHER + 1)]
"""For each number of rows, its statement: bind the key, record, position and sum of each row."""
_ADD_RUN = [
    _ADD
    + ",".join(f"(?{2 * at},?{2 * at + 1},?1,?{2 * count + 1 + at})" for at in range(1, count + 1))
    for count in range(TOGETHER + 1)
]
"""For each number of rows, its statement: bind the position, keys and records, then the sums."""
_ADD_ALIKE = [
    _ADD + ",".join(f"(?{at},?1,?2,?{at + count})" for at in range(3, count + 3))
    for count in range(TOGETHER + 1)
]
"""The same for rows with one record: bind the record, the position, the keys, then the sums."""
_FIND = "SELECT key, record, {} FROM records WHERE key IN"
_FIND_SOME = [_FIND + "(" + ",".join("?" * count) + ")" for count in range(TOGETHER + 1)]
"""For each number of keys, the statement that finds their records."""


def _insert_pairs(
    connection: apsw.Connection, into: str, rows: Iterable[tuple[str | int, str]]
) -> None:
    """Insert pairs, 32 with one call, because other threads run after each call."""
    waiting = list(rows)
    whole = len(waiting) - len(waiting) % TOGETHER
    for at in range(0, whole, TOGETHER):
        flat = tuple(chain.from_iterable(waiting[at : at + TOGETHER]))
        connection.execute(into + _PAIRS, flat)
    connection.executemany(into + " VALUES(?,?)", waiting[whole:])


def _in_our_terms(method: Callable[_P, _R]) -> Callable[_P, _R]:
    """Decorate a method so that it raises Full, Busy or Failed if SQLite refuses its statement."""

    @wraps(method)
    def call_method(*arguments: _P.args, **named: _P.kwargs) -> _R:
        try:
            return method(*arguments, **named)
        except apsw.Error as error:
            journal = cast("SqliteJournal", arguments[0])
            raise translate_error(error, journal.connection) from error

    return call_method


def translate_error(error: apsw.Error, connection: apsw.Connection) -> Exception:
    """Translate an error of SQLite; return the error itself if the mistake is ours."""
    if isinstance(error, apsw.ConstraintError) and opening.CLOSED in str(error):
        return JournalMoved(opening.find_note(connection, opening.MOVED))
    if isinstance(error, _MISTAKES):
        return error
    text = str(error)
    if isinstance(error, apsw.FullError):
        return JournalFull(text)
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return JournalBusy(text)
    refused = getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_WRITE
    if refused and connection.system_errno in _NO_SPACE:  # SQLite knows ENOSPC only
        return JournalFull(text)
    return JournalFailed(text)


class SqliteJournal(SqliteRecords):
    """Writes a registry. There is one per registry, guarded by the write lock.

    It has one connection, which only the thread that runs the batch uses.
    """

    is_shared = False

    def _open_connection(self) -> apsw.Connection:
        with storage_errors("the registry", self._path):
            connection = open_file(str(self._path), apsw.SQLITE_OPEN_READWRITE)
            for name, value in PRAGMAS.items():  # in one string, only the first would be set
                connection.pragma(name, value)
            opening.check_not_moved(connection)
            opening.migrate_file(connection)
        return connection

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._only = self._open_connection()
        self._connections.append(self._only)
        self._merging = Merging(self._only, self._into_tree)
        self._changes = ChangeLog(self._only)
        self._dropped: list[tuple[int, str]] = []
        self._is_redacted = False  # the log has pages from before an erasure

        self._fetched: dict[str, str | None] = {}  # stored forms, None for an unknown key
        self._segments: dict[int, tuple[str, int]] = {}  # time of opening, and whether it grows
        self._wal_pages = 0
        self._only.set_wal_hook(self._note_wal)

    def number_changes(self, at: str) -> None:
        """Begin the first epoch of a new registry, or number the changes of an older release."""
        with storage_errors("the registry", self._path):
            reconstruct.number_changes(self._only, self._changes, at)
            sums.fill_sums(self._only)
            self._usual_form = ALL_SUMS

    @property
    def connection(self) -> apsw.Connection:
        return self._only

    @_in_our_terms
    def _fetch_all(
        self, statement: str, bindings: tuple[str | bytes | int | None, ...] = ()
    ) -> list[Any]:
        """Query the registry. Raises JournalError, since any error may have ended the batch, or
        Corrupt if a text is damaged.
        """
        try:
            return self._only.execute(statement, bindings).fetchall()
        except UnicodeDecodeError as error:
            raise make_unreadable("a row", "text in UTF-8", error) from error

    def _ask_plainly(
        self, statement: str, bindings: tuple[str | bytes | int | None, ...] = ()
    ) -> list[Any]:
        return self._fetch_all(statement, bindings)

    @_in_our_terms
    def begin_epoch(self, reason: str, at: str, actor: str) -> None:
        """Begin a new epoch; numbers start again at 1. Runs in the caller's transaction."""
        head = self._changes.head
        number = head.epoch + 1 if head else 1
        epoch = Epoch(epoch=number, reason=reason, previous=head)
        self._changes.begin_epoch(epoch, at, actor)

    @_in_our_terms
    def begin_batch(self) -> None:
        self._fetched.clear()
        self._only.execute("BEGIN IMMEDIATE")

    def begin_rehearsal(self) -> None:
        """Begin a batch: no other one waits for it longer than for this process."""
        self.begin_batch()

    def read_time(self) -> None:
        """The clock of this machine counts."""

    def lock_days(self, days: Iterable[str]) -> None:
        """Do nothing: a batch has the registry for itself."""

    def prefetch_records(self, keys: Iterable[str]) -> None:
        """Fetch the records that the batch will read, many with one statement."""
        wanted = iter(dict.fromkeys(keys))
        while some := tuple(islice(wanted, TOGETHER)):
            try:
                rows = self._fetch_summed(_FIND_SOME[len(some)], some, PLACE)
            except Corrupt:  # the command that needs the damaged record reports it
                continue
            self._fetched.update(dict.fromkeys(some))
            for key, text, position, total in rows:
                if total is None or is_sound_line(key, text, position, total):
                    self._fetched[key] = text
                else:
                    self._fetched.pop(key, None)

    def find_stored(self, key: str) -> str | None:
        try:
            return self._fetched[key]
        except KeyError:
            return super().find_stored(key)

    @_in_our_terms
    def commit_batch(
        self,
        *,
        after: Callable[[], None] | None = None,
        is_revision: bool = False,  # noqa: ARG002  (the file `generation` is counted after it)
    ) -> None:
        """Make the batch durable. Call `after` first, which makes its bytes durable."""
        if self._dropped:
            self._merging.merge_without(self._dropped)
            self._dropped.clear()
        else:
            self._merging.merge_slice()
        self._changes.write_rows()
        if after is not None:
            after()
        self._only.execute("COMMIT")
        self._fetched.clear()
        self._merging.note_commit()

    @_in_our_terms
    def roll_back(self) -> None:
        self._fetched.clear()
        self._merging.note_rollback()
        self._dropped.clear()
        if self._only.in_transaction:
            self._only.execute("ROLLBACK")
        self._references = References()  # it may have read rows of the batch
        self._segments.clear()
        self._changes.load_state()

    @_in_our_terms
    def add_records(self, rows: Sequence[Line], deed: Deed) -> None:
        """Add new records, given as key and stored form, each with its own change."""
        note = self._changes.note_change
        placed: list[tuple[str, str, int | None, int]] = []
        self._forget_fetched(key for key, _ in rows)
        for line in rows:
            position = note(deed, (line,))
            placed.append((*line, position, sum_line(*line, position)))
        self._add_placed(placed)

    @_in_our_terms
    def add_run(
        self, rows: Sequence[Line], deed: Deed, attested: Sequence[Line] | None = None
    ) -> None:
        """Add new records, in the order of their keys, as one change.

        The registry has no other record between the first and the last of them.
        """
        self._forget_fetched(key for key, _ in rows)
        if attested is None:
            position = self._changes.note_change(deed, rows)
        else:
            position = self._changes.note_attested(deed, attested)
        execute = self._only.execute
        for at in range(0, len(rows), TOGETHER):
            some = rows[at : at + TOGETHER]
            sums = sum_lines(some, position)
            execute(_ADD_RUN[len(some)], (position, *chain.from_iterable(some), *sums))

    @_in_our_terms
    def add_alike(self, keys: Sequence[str], text: str, deed: Deed) -> None:
        """Do the same as `add_run` for records that all have the stored form `text`."""
        self._forget_fetched(keys)
        position = self._changes.note_alike(deed, keys, text)
        execute, sums = self._only.execute, sum_alike(keys, text, position)
        for at in range(0, len(keys), TOGETHER):
            some = keys[at : at + TOGETHER]
            execute(_ADD_ALIKE[len(some)], (text, position, *some, *sums[at : at + TOGETHER]))

    @_in_our_terms
    def revise_record(self, key: str, text: str, revision: int, deed: Deed) -> None:
        """Store a changed record, and move the revision before it to the history."""
        self._fetched.pop(key, None)
        position = self._changes.note_change(deed, ((key, text),), revision)
        self._revise_placed(key, text, revision, position)

    def _revise_placed(self, key: str, text: str, revision: int, position: int | None) -> None:
        self._only.execute(  # copied in SQL: the trigger compares the exact text
            "INSERT INTO history SELECT key, ?, record, position, sum FROM records WHERE key=?",
            (revision - 1, key),
        )
        self._only.execute(
            "UPDATE records SET record=?, position=?, sum=? WHERE key=?",
            (text, position, sum_line(key, text, position), key),
        )

    @_in_our_terms
    def replay_changes(self, changes: Sequence[ReplayedChange]) -> None:
        """Add changes of another registry, with their numbers and hashes, and what they wrote.

        New records of several changes are inserted together.
        """
        self._fetched.clear()
        waiting: list[tuple[str, str, int | None, int]] = []
        for one in changes:
            change = one.change
            place: int | None = self._changes.replay_change(change, one.epoch)
            if change.act == RULE:
                for name, text in one.lines:
                    number = int(name.removeprefix(RULE_KEY))
                    total = sum_rule(number, one.subject, text)
                    self._only.execute(rules.ADD, (number, one.subject, text, total))
            elif change.act not in WITHOUT_RECORDS:
                if change.epoch == RECONSTRUCTED:
                    place = None
                if change.revision > 1:
                    self._add_placed(waiting)
                    for key, text in one.lines:
                        self._revise_placed(key, text, change.revision, place)
                else:
                    waiting += [
                        (key, text, place, sum_line(key, text, place)) for key, text in one.lines
                    ]
        self._add_placed(waiting)

    @_in_our_terms
    def move_bytes(self, key: str, text: str) -> None:
        """Store the current revision of a record with other places of its bytes.

        The trigger that protects the records is absent only within this transaction.
        """
        self._fetched.pop(key, None)
        ((position,),) = self._fetch_all("SELECT position FROM records WHERE key=?", (key,))
        (trigger,) = self._fetch_all(_GUARD, ("records_hold",))[0]
        self._only.execute("DROP TRIGGER records_hold")
        self._only.execute(
            "UPDATE records SET record=?, sum=? WHERE key=?",
            (text, sum_line(key, text, position), key),
        )
        self._only.execute(trigger)

    def _add_placed(self, rows: list[tuple[str, str, int | None, int]]) -> None:
        """Add new records, given as key, stored form, position and sum, and clear the list."""
        for at in range(0, len(rows), TOGETHER):
            some = rows[at : at + TOGETHER]
            self._only.execute(_ADD_SOME[len(some)], tuple(chain.from_iterable(some)))
        rows.clear()

    def _forget_fetched(self, keys: Iterable[str]) -> None:
        """Forget what was fetched under these keys, because the batch writes them."""
        if self._fetched:
            for key in keys:
                self._fetched.pop(key, None)

    @_in_our_terms
    def redact_past(self, key: str, redact: Callable[[str], str]) -> None:
        """Rewrite past revisions, and destroy the salts of the changes that wrote them.

        The trigger that protects the history is absent only within this transaction. All lines are
        compared with their checksums first: a damaged one would get the sum of a sound one.
        """
        rows = self._fetch_summed(_UNREDACTED, (key,))
        for _, *line in rows:
            decode_line(key, *line)
        self._only.execute("PRAGMA secure_delete=ON").fetchall()
        self._changes.write_rows()
        (trigger,) = self._fetch_all(_GUARD, ("history_holds",))[0]
        self._only.execute("DROP TRIGGER history_holds")
        for revision, text, position, _ in rows:
            redacted = redact(text)
            if redacted != text:
                total = sum_line(key, redacted, position)
                self._only.execute(_REDACT, (redacted, total, key, revision))
                if position is not None:
                    self._changes.destroy_salt(position)
        self._only.execute(trigger)
        self._is_redacted = True

    @_in_our_terms
    def drop_references(self, rows: Iterable[tuple[int, str]]) -> None:
        self._dropped += rows

    @_in_our_terms
    def add_references(self, rows: Iterable[tuple[int, str]]) -> None:
        self._merging.write_down(list(rows))

    def _into_tree(self, rows: Iterable[tuple[int, str]]) -> None:
        _insert_pairs(self._only, "INSERT OR IGNORE INTO refers(hash, key)", rows)

    @_in_our_terms
    def stage_references(self, rows: Iterable[tuple[int, str]]) -> None:
        """Stage references of a bulk load, which are merged at its end."""
        _insert_pairs(self._only, "INSERT INTO staged_refers", rows)

    @_in_our_terms
    def merge_staged(self) -> None:
        """Merge all staged references. Runs in the caller's transaction.

        The temporary table lets the pages of the stage be reused, so that the file keeps no empty
        pages.
        """
        if self._only.execute("SELECT 1 FROM staged_refers LIMIT 1").get is None:
            return
        self._only.execute(
            "CREATE TEMP TABLE sorted AS SELECT hash, key FROM staged_refers ORDER BY hash, key;"
            "DELETE FROM staged_refers;"
            "INSERT OR IGNORE INTO refers SELECT hash, key FROM sorted;"
            "DROP TABLE sorted"
        )

    @_in_our_terms
    def find_last_serial(self, day: str) -> int:
        """The highest serial number under the key of a day, or 0 if the day has none yet.

        Numbers from 10^18 on are ordinary names and do not count.
        """
        low, high = encode_number("1"), encode_number(str(SERIALS_END))
        row = self._only.execute(
            "SELECT key FROM records WHERE key>=? AND key<? ORDER BY key DESC LIMIT 1",
            (f"{day}/{low}", f"{day}/{high}"),
        ).fetchone()
        return Pdi.from_key(row[0]).serial or 0 if row else 0

    @_in_our_terms
    def find_growing_segment(self) -> tuple[int, int, str] | None:
        """Number, committed length and opening time of the last segment that still grows."""
        rows = self._list_segment_rows()
        growing = [(number, length, opened) for number, length, opened, grows in rows if grows]
        return growing[-1] if growing else None

    @_in_our_terms
    def save_segment(self, number: int, length: int, opened: str, *, grows: bool) -> None:
        """Store the committed length of a segment, and whether it still grows."""
        if number not in self._segments:
            known = {row[0]: row[2:] for row in self._list_segment_rows()}
            self._segments[number] = known.get(number, (opened, int(grows)))
        row = (number, length, *self._segments[number])
        self._only.execute("INSERT OR REPLACE INTO segments VALUES(?,?,?,?,?)", sum_whole(row))

    @_in_our_terms
    def save_token(self, token: Token, before: Token | None, deed: Deed) -> None:
        """Add or replace a token, and note the change, without digests, in the token history."""
        text = msgspec.json.encode(token).decode()
        self._only.execute(
            "INSERT INTO tokens VALUES(?,?,?,?) ON CONFLICT(name) "
            "DO UPDATE SET digest=excluded.digest, token=excluded.token, sum=excluded.sum",
            sum_whole((token.name, token.digest, text)),
        )
        shown = write_token_line(token)
        (past,) = self._fetch_all("SELECT count(*) FROM token_changes WHERE name=?", (token.name,))[
            0
        ]
        position = self._changes.note_change(deed, ((TOKEN_KEY + token.name, shown),), past + 1)
        last: int = self._only.execute(_LAST_GRANT).get
        was = before and write_token_line(before)
        row = (last + 1, token.name, deed.at, deed.actor, was, shown, position)
        self._only.execute("INSERT INTO token_changes VALUES(?,?,?,?,?,?,?,?)", sum_whole(row))

    @_in_our_terms
    def save_rule(self, key: str, rule: ReadingRule, deed: Deed) -> int:
        """Add a rule under the key of its resource, and return its number."""
        last: int = self._only.execute(rules.LAST).get
        text = msgspec.json.encode(msgspec.structs.replace(rule, number=0)).decode()
        self._only.execute(rules.ADD, (last + 1, key, text, sum_rule(last + 1, key, text)))
        self._changes.note_change(deed, ((f"{RULE_KEY}{last + 1}", text),))
        return last + 1

    @_in_our_terms
    def find_answer(self, actor: str, once: str) -> tuple[str, str] | None:
        """Fingerprint and receipt of the request that was answered under this idempotency key."""
        rows = self._fetch_all(_ANSWER, (actor, once))
        return self._check_rows("answered", rows)[0][2:4] if rows else None

    @_in_our_terms
    def save_answer(self, actor: str, once: str, request: str, receipt: str, at: str) -> None:
        self._only.execute(
            "INSERT INTO answered VALUES(?,?,?,?,?,?)",
            sum_whole((actor, once, request, receipt, at)),
        )

    @_in_our_terms
    def forget_answers(self, before: str) -> None:
        self._only.execute("DELETE FROM answered WHERE at<?", (before,))

    def _note_wal(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK

    @_in_our_terms
    def tidy_up(self) -> None:
        """Keep the write-ahead log short: move it into the file, as far as readers allow.

        After an erasure, the log is emptied, because it has the old pages.
        """
        if self._is_redacted:
            with suppress(apsw.BusyError, apsw.LockedError):  # a reader is at work: later
                self._only.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                self._is_redacted = False
        if self._wal_pages > _WAL_PAGES:
            with suppress(apsw.BusyError, apsw.LockedError):  # a backup is doing it
                self._only.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
