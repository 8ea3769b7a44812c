"""Rebuild of a registry file, with everything that can still be read from the old one.

How it works: records come first from the segments and then from the old file. Changes, histories,
tokens and idempotency keys are copied unchanged. If no change of the old file wrote the line of a
record, the record is marked. At the end, a new epoch begins with a change for each marked record.

What must stay true: no readable content is left out silently, and nothing is guessed; an unchanged
record keeps the position of its change.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from mmap import PROT_READ, mmap
from pathlib import Path
from typing import Any, Self
from zlib import crc32

import apsw

from perdure.errors import Corrupt, MalformedIdentifier
from perdure.errors.processes import OpenElsewhere
from perdure.ids.keys import spell_key
from perdure.ids.pdi import Pdi
from perdure.model import stored
from perdure.model.changes import Deed, Epoch
from perdure.model.records import Record
from perdure.storage.ports import SalvagedRecord
from perdure.storage.sqlite.changelog import FULL_EVERY, read_changes, unpack_row
from perdure.storage.sqlite.journal import SqliteJournal
from perdure.storage.sqlite.opening import FILE, FIRST_FORMAT, SUMMED_FORMAT
from perdure.storage.sqlite.pages import scan_rows
from perdure.storage.sqlite.records import (
    decode_record,
    decode_token,
    make_altered,
    make_unreadable,
    name_row,
)
from perdure.storage.sqlite.references import MOST_RECENT
from perdure.storage.sqlite.sums import SUMMED, sum_line, sum_row

ACT = "rebuild"
_OF_NO_CHANGE = -1  # position of a record until `note_renewed`
_SOME = 1000
_MOST_UNSORTED = 4 * MOST_RECENT
_COPIED = {
    "history": "key, revision, record, position",
    "tokens": "name, digest, token",
    "answered": "actor, once, request, receipt, at",
    "token_changes": "number, name, at, actor, before, after, position",
    "words": "number, text",
    "changes": "position, row",
    "epochs": "epoch, start, reason, previous_epoch, previous_number, previous_chain",
}
"""Tables that are copied unchanged, and their columns. Epochs depend on the changes before them."""
_LATER = ("words", "epochs", "changes")
"""Tables that the first format does not have."""
_ABSENT = "no such table: token_changes"
"""The error for a file of a release that did not have this table yet."""
_PUT = "INSERT OR REPLACE INTO records VALUES(?,?,?,?)"
_RECORDS = "key, record, position"
_KEYS = ("SELECT CAST(key AS BLOB) FROM refers", "SELECT CAST(key AS BLOB) FROM history")
"""Statements for keys of records, in tables that are read if that of the records is damaged."""
_NAMES = ("SELECT CAST(name AS BLOB) FROM token_changes",)
"""The same for names of tokens."""
_ROOT = "SELECT rootpage FROM sqlite_master WHERE type='table' AND name=?"
_LAST_COPIED = "SELECT coalesce(max(position), 0) FROM changes"
_ALL_CHANGES = 1 << 62
_PLACES = {"epochs": 1, "changes": 0}
"""Columns with the position of a change, in tables that end with the last change."""
_SELECT = "SELECT {} FROM {} {}"
_PAGE = """
SELECT key, record, position, sum FROM records WHERE key>? AND {} ORDER BY key LIMIT ?
"""
_WITH_BYTES = "substr(CAST(record AS BLOB), 1, 1) IN (x'3d', x'7b')"
"""All records but those that are stored as one location (`perdure.model.stored`)."""
_NUMBERS = {
    "revision",
    "position",
    "number",
    "epoch",
    "start",
    "previous_epoch",
    "previous_number",
    "NULL",
}
Row = tuple[Any, ...]


def _as_bytes(columns: str) -> str:
    """The same columns, with texts as bytes: one damaged text then hides no other row."""
    names = columns.split(", ")
    return ", ".join(one if one in _NUMBERS else f"CAST({one} AS BLOB)" for one in names)


def _sum_columns(table: str, columns: str, row: Row) -> int:
    """The checksum of a row with these columns. Raises TypeError, as `sum_row` does."""
    summed = set(SUMMED[table][1].split(", "))
    names = columns.split(", ")
    return sum_row(
        table, tuple(value for name, value in zip(names, row, strict=True) if name in summed)
    )


def _precedes(value: Any, known: Any) -> bool:
    """True if a value is not behind another of the same column."""
    return type(value) is type(known) and value <= known


def _check_row(table: str, row: Row) -> None:
    """Raise Corrupt if a row that is copied unchanged could not be read later."""
    if table == "history":
        if not isinstance(row[1], int):
            raise make_unreadable(spell_key(str(row[0])), "a revision", TypeError(repr(row[1])))
        decode_record(str(row[0]), row[2])
    elif table == "tokens":
        decode_token(row[2])


class SqliteSalvage:
    """An old registry file. Use it as a context manager.

    `problems` describes what could not be read. Raises Unavailable if another process has it open.
    """

    def __init__(self, root: Path) -> None:
        self.problems: list[str] = []
        self._connection: apsw.Connection | None = None
        self._has_positions = False
        self._has_sums = False
        self._root = root
        self._lost_keys: set[str] = set()
        self._is_broken = False
        """True if rows may be missing without an error."""
        self._lost_unknown = False
        """True if records may be lost whose keys are not known."""
        self.is_unnumbered = False
        """True if its changes certainly never had numbers."""
        self.lost_changes = False
        """True if some of its last changes cannot be read."""
        self.last_day = ""
        path = root / FILE
        if not path.exists():
            self.problems.append("it does not exist")
            return
        try:
            self._connection = _open_alone(path)
            found: int = self._connection.execute("PRAGMA user_version").get
            self._has_positions = found > FIRST_FORMAT
            self._has_sums = found >= SUMMED_FORMAT
            self._check_structure()
            numbered = "SELECT 1 FROM epochs WHERE epoch>0"
            self.is_unnumbered = (
                not self._has_positions or self._connection.execute(numbered).get is None
            )
        except (apsw.BusyError, apsw.LockedError) as error:
            raise OpenElsewhere(used="the registry") from error
        except apsw.Error as error:
            self.problems.append(str(error))

    def _check_structure(self) -> None:
        """Note a fault in the structure of the file: a scan may pass over rows in silence."""
        assert self._connection is not None  # noqa: S101  (only called if the file could be opened)
        try:
            found = self._connection.execute("PRAGMA quick_check(1)").get
        except apsw.CorruptError as error:
            found = error
        if found != "ok":
            self.problems.append(f"its structure is damaged: {found}")
            self._is_broken = self._lost_unknown = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection:
            self._connection.close()

    def read_records(self, *, with_bytes: bool = False) -> Iterator[SalvagedRecord]:
        """Current revisions with the positions of their changes, in the order of their keys."""
        low: str | None = ""
        while low is not None and (page := self._read_sound_page(low, with_bytes=with_bytes)):
            yield from page
            low = page[-1].key if len(page) == _SOME else None
        if low is None:
            return
        rows = self._read_rows("records", _RECORDS, behind=low, with_bytes=with_bytes)
        for key, text, position in rows:
            if position is None or isinstance(position, int):
                yield SalvagedRecord(str(key), text, position)
            else:
                error = make_unreadable(
                    spell_key(str(key)), "a position", TypeError(repr(position))
                )
                self.note_lost(str(key), str(error))

    def _read_sound_page(self, low: str, *, with_bytes: bool) -> list[SalvagedRecord]:
        """The next records behind a key, at most `_SOME`; empty if there are none, or if the way
        that reads around damage must go on."""
        if self._connection is None or self._is_broken or not self._has_sums:
            return []
        statement = _PAGE.format(_WITH_BYTES if with_bytes else "TRUE")
        try:
            rows: list[Any] = self._connection.execute(statement, (low, _SOME)).fetchall()
            for key, text, position, sum in rows:  # `is_sound_line` without its call
                if sum != crc32((text + key).encode(), position or 0) >> 1 or key <= low:
                    return []
        except (apsw.Error, AttributeError, TypeError, UnicodeError):
            return []
        return [SalvagedRecord(key, text, position) for key, text, position, _ in rows]

    def parse_content(self, salvaged: SalvagedRecord) -> stored.ShortLine | Record | None:
        try:
            return _read_content(salvaged.key, salvaged.text)
        except Corrupt as error:
            self.note_lost(salvaged.key, str(error))
            return None

    def note_lost(self, key: str, problem: str) -> None:
        self._lost_keys.add(key)
        self.problems.append(problem)

    def find_lost_numbers(self, day: str) -> dict[str, int] | None:
        """By series, the highest number that a lost record may have had from a day on, or None.

        If something was lost, the changes tell all names that were ever given out, unless they
        are damaged, too.
        """
        if self._connection is None:
            return None
        if not self._lost_keys and not self._lost_unknown:
            return {}
        known = self._find_numbered_keys()
        if known is None and self._lost_unknown:
            return None
        return _find_highest(known if known is not None else self._lost_keys, day)

    def _find_numbered_keys(self) -> set[str] | None:
        """The first and the last key of each change, or None if not all changes can be read."""
        if self.is_unnumbered or self.lost_changes:
            return None
        keys: set[str] = set()
        try:
            words = dict(self._ask_old("SELECT number, text FROM words", ()))
            for change in read_changes(self._ask_old, words.__getitem__, 0, _ALL_CHANGES):
                keys |= {change.first, change.last}
                self.last_day = max(self.last_day, change.at[:10].replace("-", "/"))
        except (Corrupt, apsw.Error, TypeError, ValueError):
            return None
        return keys

    def copy_into(self, journal: SqliteJournal) -> None:
        """Copy the tables that are taken over unchanged. Runs in the caller's transaction."""
        last = 0 if self.is_unnumbered else self._find_last_readable()
        for table, columns in _COPIED.items():
            if table in _LATER and not last:
                continue
            names = f"{columns}, sum" if table in SUMMED else columns
            marks = ",".join("?" * (names.count(",") + 1))
            statement = f"INSERT OR IGNORE INTO {table}({names}) VALUES({marks})"
            rows = self._read_rows(table, columns)
            place = _PLACES.get(table)
            if place is not None:
                rows = (row for row in rows if isinstance(row[place], int) and row[place] <= last)
            self._copy_rows(journal, table, statement, rows)
            if table == "changes":
                copied: int = journal.connection.execute(_LAST_COPIED).get
                self.lost_changes |= copied < last
                last = copied

    def _copy_rows(
        self, journal: SqliteJournal, table: str, statement: str, rows: Iterator[Row]
    ) -> None:
        columns = _COPIED[table]
        for row in rows:
            try:
                _check_row(table, row)
                sum = (_sum_columns(table, columns, row),) if table in SUMMED else ()
                journal.connection.execute(statement, (*row, *sum))
            except (Corrupt, apsw.ConstraintError, apsw.MismatchError) as error:
                self.problems.append(f"{table}, {row[0]!r}: {error}")

    def _find_last_readable(self) -> int:
        """The last position from which the sequence of changes can go on, or 0.

        Later changes cannot be read, and are left out with their epochs: the chain could not be
        continued behind them.
        """
        ask = self._ask_old
        try:
            end: int = ask("SELECT coalesce(max(position), 0) FROM changes", ())[0][0]
            words = dict(ask("SELECT number, text FROM words", ()))
        except (Corrupt, apsw.Error) as error:
            self.problems.append(f"changes: {error}")
            self.lost_changes = True
            return 0
        last = self._find_last_scanned(end, words) if self._is_broken else end
        while last > 0:
            try:
                if list(read_changes(ask, words.__getitem__, last - 1, 1)):
                    break
            except (Corrupt, apsw.Error, TypeError, ValueError):
                pass
            last = (last - 1) // FULL_EVERY * FULL_EVERY
        if last < end:
            self.problems.append(f"changes: those from position {last + 1} to {end} are lost")
            self.lost_changes = True
        return last

    def _find_last_scanned(self, end: int, words: dict[int, str]) -> int:
        """The last position from which a scan can go on, since this is how changes are copied.

        If the structure is damaged, a scan may give other rows than a search for them. A row can be
        read only with those before it, from the last full one on; of two rows with one position,
        the first is copied.
        """
        known = len(self.problems)
        last = highest = following = 0
        before = ("", "")
        for position, data in self._read_rows("changes", _COPIED["changes"]):
            if position > end:
                continue
            is_first = position % FULL_EVERY == 1
            is_next = position > highest and (is_first or position == following)
            highest, following = max(highest, position), 0
            with suppress(ValueError, IndexError, KeyError, TypeError):
                row, chain = unpack_row(data, before)
                if is_next and words[row.act] and words[row.actor] and (chain or not is_first):
                    before, following, last = (row.at, row.first), position + 1, position
        del self.problems[known:]  # noted when the rows are copied
        return last

    def _ask_old(self, statement: str, bindings: tuple[str | int | None, ...]) -> list[Any]:
        if self._connection is None:
            return [(0,)] if "max" in statement else []
        try:
            return self._connection.execute(statement, bindings).fetchall()
        except UnicodeDecodeError as error:
            raise make_unreadable("a row", "text in UTF-8", error) from error

    def _read_rows(
        self, table: str, columns: str, *, behind: str = "", with_bytes: bool = False
    ) -> Iterator[Row]:
        """The readable rows of a table, in the order of their first columns.

        With `behind`, only those behind this text; with `with_bytes`, records that certainly have
        no bytes may be left out.

        If a page is damaged, reading goes on behind it, at the first row that can be reached from
        the end of the table. A row whose text is not in UTF-8 is left out. Both are noted in
        `problems`.
        """
        if self._connection is None:
            self._lost_unknown = True
            return
        first = columns.partition(",")[0]
        shown = _as_bytes(columns if self._has_positions else columns.replace("position", "NULL"))
        shown += ", sum" if self._has_sums and table in SUMMED else ", NULL"
        known: apsw.SQLiteValue = behind.encode() or None
        wanted = [_WITH_BYTES] if with_bytes else []
        wanted += [f"{first}>?"] if behind else []
        rest = f"{'WHERE ' if wanted else ''}{' AND '.join(wanted)} ORDER BY {first}"
        bindings = (behind,) if behind else ()
        try:
            for row in self._connection.execute(_SELECT.format(shown, table, rest), bindings):
                known = row[0]
                yield from self._decode_row(table, row)
        except apsw.Error as error:
            if str(error) == _ABSENT:
                return
            self.problems.append(f"{table}: {error}")
            self._lost_unknown |= table == "records"
            yield from self._read_behind(table, shown, first, known)
            self._is_broken = True
        if self._is_broken and table in ("records", "history", "tokens"):
            yield from self._read_by_keys(table, shown, first)
            yield from self._read_pages(table)

    def _read_behind(
        self, table: str, shown: str, first: str, known: apsw.SQLiteValue
    ) -> Iterator[Row]:
        """The rows behind the damage, if `known` is the first column of the last row before it."""
        assert self._connection is not None  # noqa: S101  (only called if the file could be opened)
        start = None
        with suppress(apsw.Error):
            backwards = _SELECT.format(_as_bytes(first), table, f"ORDER BY {first} DESC")
            for (value,) in self._connection.execute(backwards):
                if value is None or (known is not None and _precedes(value, known)):
                    break
                start = value
        if start is None:
            return
        place = "CAST(? AS TEXT)" if isinstance(start, bytes) else "?"
        forwards = _SELECT.format(shown, table, f"WHERE {first}>={place} ORDER BY {first}")
        try:
            for row in self._connection.execute(forwards, (start,)):
                yield from self._decode_row(table, row)
        except apsw.Error as error:
            self.problems.append(f"{table}: {error}")

    def _read_by_keys(self, table: str, shown: str, first: str) -> Iterator[Row]:
        """The rows that can be reached by the keys that other tables name. Some come again."""
        assert self._connection is not None  # noqa: S101  (only called if the file could be opened)
        known: set[bytes] = set()
        for statement in _NAMES if table == "tokens" else _KEYS:
            with suppress(apsw.Error):
                rows = self._connection.execute(statement)
                known.update(key for (key,) in rows if isinstance(key, bytes))
        with suppress(apsw.Error, Corrupt, UnicodeDecodeError, ValueError, TypeError):
            words = dict(self._connection.execute("SELECT number, text FROM words"))
            for change in read_changes(self._ask_old, words.__getitem__, 0, _ALL_CHANGES):
                known |= {change.first.encode(), change.last.encode()}
        statement = _SELECT.format(shown, table, f"WHERE {first}=CAST(? AS TEXT)")
        for key in sorted(known):
            with suppress(apsw.Error):
                for row in self._connection.execute(statement, (key,)).fetchall():
                    yield from self._decode_row(table, row)

    def _read_pages(self, table: str) -> Iterator[Row]:
        """The rows that the pages of a table contain and that have their checksum, once more."""
        assert self._connection is not None  # noqa: S101  (only called if the file could be opened)
        if not self._has_sums:
            return
        root = 0
        with suppress(apsw.Error):
            root = self._connection.execute(_ROOT, (table,)).get or 0
        columns = _COPIED.get(table, _RECORDS)
        with (self._root / FILE).open("rb") as opened:
            file = mmap(opened.fileno(), 0, prot=PROT_READ)
        with file:
            for values in scan_rows(file, root):
                with suppress(ValueError, TypeError):
                    *row, sum = values
                    if sum is not None and sum == _sum_columns(table, columns, tuple(row)):
                        yield from self._decode_row(table, values)

    def _decode_row(self, table: str, row: Sequence[Any]) -> Iterator[Row]:
        """The row with text in place of bytes, or nothing if it is damaged."""
        columns = _COPIED.get(table, _RECORDS)
        *values, sum = row
        try:
            found = tuple(
                value.decode() if isinstance(value, bytes) and name != "row" else value
                for name, value in zip(columns.split(", "), values, strict=True)
            )
            if sum is not None and sum != _sum_columns(table, columns, found):
                raise make_altered(name_row(table, row[0]))
            yield found
        except (Corrupt, TypeError, UnicodeDecodeError) as error:
            what = "" if isinstance(error, Corrupt) else f"{name_row(table, row[0])}: "
            self.problems.append(f"{what}{error}")
            self._lost_unknown |= table == "records"  # its key may be what is damaged


def _read_content(key: str, text: str) -> stored.ShortLine | Record:
    """The content of a record, decoded if it has no short form. Raises Corrupt."""
    try:
        short = stored.parse_short_line(text)
    except (TypeError, ValueError):
        short = None
    return short or decode_record(key, text)


def _find_highest(keys: Iterable[str], day: str) -> dict[str, int]:
    """By series, the highest serial number from a day on among these keys."""
    found: dict[str, int] = {}
    for key in keys:
        with suppress(MalformedIdentifier, ValueError):
            name = Pdi.from_key(key)
            if name.date is not None and name.date >= day:
                found[name.series] = max(name.serial or 0, found.get(name.series, 0))
    return found


def _open_alone(path: Path) -> apsw.Connection:
    """Open a connection with exclusive access to the file, and move its log into it."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    except apsw.Error:
        connection.close()
        raise
    return connection


class RenewedJournal(SqliteJournal):
    """The new file."""

    _is_unnumbered = False
    _lost_changes = False

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._unsorted: list[tuple[int, str]] = []  # references that are not in the tree yet

    def add_references(self, rows: Iterable[tuple[int, str]]) -> None:
        """Add references to the index in the order of their hashes, many at once.

        They need no log: an interrupted rebuild begins again.
        """
        self._unsorted += rows
        if len(self._unsorted) >= _MOST_UNSORTED:
            self._sort_in()

    def _sort_in(self) -> None:
        self._into_tree(sorted(self._unsorted))
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
            self._only.execute(
                "INSERT OR IGNORE INTO history VALUES(?,?,?,?,?)",
                (key, past.revision, text, position, sum_line(key, text, position)),
            )
            position = _OF_NO_CHANGE
        self._put_row(key, record, position)

    def keep_lines(self, page: Sequence[SalvagedRecord]) -> None:
        """Store records that the old file has, exactly as they are there."""
        last = self._changes.position
        rows = []
        for key, text, position in page:
            if position is not None and position > last:
                position = _OF_NO_CHANGE  # as `_find_kept`
            rows.append((key, text, position, sum_line(key, text, position)))
        self._only.executemany(_PUT, rows)

    def _find_kept(self, position: int | None) -> int | None:
        """The position that an old record keeps."""
        is_lost = position is not None and position > self._changes.position
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

    def _find_unnoted(self, low: str) -> list[tuple[str, str]]:
        return self._fetch_all(
            "SELECT key, record FROM records WHERE key>? AND position=? ORDER BY key LIMIT ?",
            (low, _OF_NO_CHANGE, _SOME),
        )
