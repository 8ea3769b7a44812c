"""The new file of a registry that is being rebuilt.

How it works: records come first from the segments and then from the old file
(`perdure.storage.sqlite.salvaging`). Changes, histories, tokens and idempotency keys are copied
unchanged. If no change of the old file wrote the line of a record, the record is marked; earlier
revisions and changes of tokens whose change was lost wait in tables of their own. At the end, a new
epoch begins with a change for each of these, and for each reading rule whose change was lost.

Until the new file is installed, no one reads it, and an interrupted rebuild begins again. So a
batch is not flushed to the disk, and nothing goes through a log; `install_registry` flushes the
complete file.

What must stay true: an unchanged record keeps the position of its change. No row has a position
that a later change will get.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain
from operator import itemgetter
from pathlib import Path

import apsw

from perdure.model import stored
from perdure.model.changes import RULE, RULE_KEY, TOKEN, TOKEN_KEY, Deed, Epoch
from perdure.model.records import Record
from perdure.storage.ports import SalvagedRecord
from perdure.storage.sqlite.changelog import TOGETHER, read_changes
from perdure.storage.sqlite.journal import SqliteJournal
from perdure.storage.sqlite.references import MOST_RECENT
from perdure.storage.sqlite.salvaging import UNNUMBERED, SqliteSalvage
from perdure.storage.sqlite.sums import sum_line, sum_whole
from perdure.storage.sqlite.words import Words

ACT = "rebuild"
_OF_NO_CHANGE = -1  # position of a record until `note_renewed`
_SOME = 1000
_PRAGMAS = {"locking_mode": "EXCLUSIVE", "journal_mode": "MEMORY", "synchronous": "OFF"}
_ALL_CHANGES = 1 << 62
_WAIT = """
CREATE TEMP TABLE unnumbered_{0} AS SELECT * FROM {0} WHERE 0;
CREATE UNIQUE INDEX temp.unique_{0} ON unnumbered_{0}({1});
"""
_WAITING = """
SELECT key, revision, record FROM unnumbered_history WHERE (key, revision) > (?, ?)
  ORDER BY key, revision LIMIT ?
"""
_WAITING_TOKENS = """
SELECT number, name, at, actor, before, after FROM unnumbered_token_changes ORDER BY number
"""
_KEEP_PAST = "INSERT OR IGNORE INTO history VALUES(?,?,?,?,?)"
_WAIT_PAST = "INSERT OR IGNORE INTO unnumbered_history VALUES(?,?,?,NULL,NULL)"
_MOST_UNSORTED = 4 * MOST_RECENT
_PUT = "INSERT OR REPLACE INTO records VALUES(?,?,?,?)"
_PUT_SOME = [_PUT + ",(?,?,?,?)" * (count - 1) for count in range(TOGETHER + 1)]
"""For each number of rows, the statement that puts them."""


class RenewedJournal(SqliteJournal):
    """The new file."""

    _is_unnumbered = False
    _lost_changes = False

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        for table, key in zip(UNNUMBERED, ("key, revision", "number"), strict=True):
            self._only.execute(_WAIT.format(table, key)).fetchall()
        self._unsorted: list[tuple[int, str]] = []  # references that are not in the tree yet

    def _open_connection(self) -> apsw.Connection:
        connection = super()._open_connection()
        for name, value in _PRAGMAS.items():
            connection.pragma(name, value)
        return connection

    def close(self) -> None:
        with suppress(apsw.Error):  # if it failed, it is not installed
            self._only.pragma("journal_mode", "WAL")  # as every registry; nothing is in the log
        super().close()

    def add_references(self, rows: Iterable[tuple[int, str]]) -> None:
        """Add references to the index in the order of their hashes, many at once.

        They need no log: an interrupted rebuild begins again.
        """
        self._unsorted += rows
        if len(self._unsorted) >= _MOST_UNSORTED:
            self._sort_in()

    def _sort_in(self) -> None:
        self._into_tree(sorted(self._unsorted, key=itemgetter(0)))  # pairs take twice as long
        self._unsorted.clear()

    def put_record(self, key: str, record: Record) -> None:
        """Store a record read from the segments, in place of any other."""
        self._put_row(key, record, _OF_NO_CHANGE)

    def keep_record(
        self, key: str, record: Record, position: int | None, past: Record | None
    ) -> None:
        """Store a record that the old file has.

        If `past` is given, `record` is a new revision with more in it, and `past` goes to the
        history.
        """
        position = self._find_kept(position)
        if past is not None:
            text = stored.encode_stored(past).decode()
            if position == _OF_NO_CHANGE:
                self._only.execute(_WAIT_PAST, (key, past.revision, text))
            else:
                sum = sum_line(key, text, position)
                self._only.execute(_KEEP_PAST, (key, past.revision, text, position, sum))
            position = _OF_NO_CHANGE
        self._put_row(key, record, position)

    def keep_lines(self, page: Sequence[SalvagedRecord]) -> None:
        """Store records that the old file has, exactly as they are there."""
        if not page:
            return
        _, _, positions, sums = zip(*page, strict=True)
        if None in sums or any(self._find_kept(one) != one for one in set(positions)):
            page = [self._sum_kept(*row) for row in page]
        for at in range(0, len(page), TOGETHER):
            rows = page[at : at + TOGETHER]
            self._only.execute(_PUT_SOME[len(rows)], tuple(chain.from_iterable(rows)))

    def _sum_kept(
        self, key: str, text: str, position: int | None, _sum: int | None
    ) -> SalvagedRecord:
        """A row with the position that it keeps, and with its checksum."""
        position = self._find_kept(position)
        return SalvagedRecord(key, text, position, sum_line(key, text, position))

    def _find_kept(self, position: int | None) -> int | None:
        """The position that an old record keeps.

        One without a position is in epoch 0, which is lost if no change is left.
        """
        last = self._changes.position
        is_lost = not (last or self._is_unnumbered) if position is None else position > last
        return _OF_NO_CHANGE if is_lost else position

    def _put_row(self, key: str, record: Record, position: int | None) -> None:
        self._put_text(key, stored.encode_stored(record).decode(), position)

    def _put_text(self, key: str, text: str, position: int | None) -> None:
        self._only.execute(_PUT, (key, text, position, sum_line(key, text, position)))

    def take_over(self, old: SqliteSalvage) -> None:
        """Take over everything but the records. Runs in the caller's transaction."""
        old.copy_into(self)
        self._changes.load_state()
        self._is_unnumbered = old.is_unnumbered
        self._lost_changes = old.lost_changes

    def note_renewed(self, at: str, actor: str) -> None:
        """Begin a new epoch, with a change for each record that no earlier change wrote.

        If some old changes cannot be read, not all earlier epochs are known. The number of the new
        one is then the minutes since 1970. If the changes of the registry never had numbers, they
        are numbered as if a writer had opened it.
        """
        self.begin_batch()
        self._sort_in()
        self.commit_batch()
        is_numbered = not self._is_unnumbered
        if is_numbered:
            self.begin_batch()
            head = self._changes.head
            if head is None or self._lost_changes:
                minutes = int(datetime.fromisoformat(at).timestamp()) // 60
                number = max(minutes, head.epoch + 1 if head else 0)
                epoch = Epoch(epoch=number, reason=ACT, previous=head)
                self._changes.begin_epoch(epoch, at, actor)
            else:
                self.begin_epoch(ACT, at, actor)
            self.commit_batch()
            self._note_unnumbered(at, actor)
        low = ""
        while rows := self._find_unnoted(low):
            self.begin_batch()
            for key, text in rows:
                revision = stored.decode_stored(text).revision
                deed = Deed(ACT, at, actor)
                place = (
                    self._changes.note_change(deed, ((key, text),), revision)
                    if is_numbered
                    else None
                )
                self._put_text(key, text, place)
            self.commit_batch()
            self.tidy_up()
            low = rows[-1][0]
        if not is_numbered:
            self.number_changes(at)

    def _note_unnumbered(self, at: str, actor: str) -> None:
        """Add a change for each earlier revision, change of a token and rule whose own was lost."""
        low: tuple[str, int] = ("", 0)
        while rows := self._fetch_all(_WAITING, (*low, _SOME)):
            self.begin_batch()
            for key, revision, text in rows:
                place = self._changes.note_change(Deed(ACT, at, actor), ((key, text),), revision)
                sum = sum_line(key, text, place)
                self._only.execute(_KEEP_PAST, (key, revision, text, place, sum))
            self.commit_batch()
            self.tidy_up()
            low = rows[-1][:2]
        if not self._lost_changes:
            return
        self.begin_batch()
        self._note_unnumbered_tokens(at, actor)
        self._note_unnumbered_rules(at, actor)
        self.commit_batch()

    def _note_unnumbered_tokens(self, at: str, actor: str) -> None:
        for *row, after in self._fetch_all(_WAITING_TOKENS):
            name = row[1]
            ((past,),) = self._fetch_all("SELECT count(*) FROM token_changes WHERE name=?", (name,))
            line = TOKEN_KEY + name, after
            place = self._changes.note_change(Deed(TOKEN, at, actor), (line,), past + 1)
            values = sum_whole((*row, after, place))
            self._only.execute("INSERT INTO token_changes VALUES(?,?,?,?,?,?,?,?)", values)

    def _note_unnumbered_rules(self, at: str, actor: str) -> None:
        ask = self._fetch_all
        rows = ask("SELECT number, rule FROM rules ORDER BY number")
        changes = read_changes(ask, Words(ask), 0, _ALL_CHANGES) if rows else ()
        noted = {change.first for change in changes if change.act == RULE}
        for number, text in rows:
            line = f"{RULE_KEY}{number}", text
            if line[0] not in noted:
                self._changes.note_change(Deed(RULE, at, actor), (line,))

    def _find_unnoted(self, low: str) -> list[tuple[str, str]]:
        return self._fetch_all(
            "SELECT key, record FROM records WHERE key>? AND position=? ORDER BY key LIMIT ?",
            (low, _OF_NO_CHANGE, _SOME),
        )
