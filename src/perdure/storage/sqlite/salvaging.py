"""An old file of a registry, read for all that can still be read of it.

How it works: rows are read a page at a time. If a page is damaged, reading goes on behind it, and
the rows in it are looked up by the keys that other tables name.

What must stay true: no readable content is left out silently, and nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self

import apsw

from perdure.errors import Corrupt
from perdure.errors.processes import OpenElsewhere, OtherFormat
from perdure.ids.keys import spell_key
from perdure.model import stored
from perdure.model.records import Record
from perdure.storage.lost_numbers import find_highest_serials
from perdure.storage.ports import SalvagedRecord
from perdure.storage.sqlite import rules
from perdure.storage.sqlite.change_rows import unpack_row
from perdure.storage.sqlite.changelog import FULL_EVERY, read_changes
from perdure.storage.sqlite.decoding import (
    decode_record,
    decode_rule,
    decode_token,
    make_altered,
    make_unreadable,
    name_row,
)
from perdure.storage.sqlite.journal import SqliteJournal
from perdure.storage.sqlite.lost_words import recover_words
from perdure.storage.sqlite.opening import (
    FILE,
    FIRST_FORMAT,
    is_of_later_release,
    open_raw,
    refuse_format,
)
from perdure.storage.sqlite.pages import scan_rows
from perdure.storage.sqlite.records import PinnedRecords
from perdure.storage.sqlite.sums import ALL_SUMMED, are_sound_lines, has_sums, sum_row

_SOME = 1000
_COPIED = {
    "tokens": "name, digest, token",
    "answered": "actor, once, request, receipt, at",
    "words": "number, text",
    "changes": "position, row",
    "epochs": "epoch, start, reason, previous_epoch, previous_number, previous_chain",
    "history": "key, revision, record, position",
    "token_changes": "number, name, at, actor, before, after, position",
    "rules": rules.COLUMNS,
}
"""Tables that are copied unchanged, and their columns. All from epochs on depend on the changes."""
_LATER = ("words", "epochs", "changes")
"""Tables that the first format does not have."""
_ABSENT = ("no such table: token_changes", rules.ABSENT)
"""The errors for files of releases that did not have these tables yet."""
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
UNNUMBERED = ("history", "token_changes")
"""Tables whose last column is the position of a change. If that is lost, the row goes to a table
`unnumbered_…`, which the new file makes."""
_SELECT = "SELECT {} FROM {} {}"
_PAGE = """
SELECT key, record, position, sum FROM records WHERE key>? AND {} ORDER BY key LIMIT ?
"""
_WITH_BYTES = f"record>='{stored.LEAST_WITH_BYTES}'"
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
_OPTIONAL_TEXTS = ("before", "previous_chain")
Row = tuple[Any, ...]
_make_salvaged: Callable[[Row], SalvagedRecord] = partial(tuple.__new__, SalvagedRecord)
"""`SalvagedRecord._make`, which would take as long as to read the row."""


def _as_bytes(columns: str) -> str:
    """The same columns, with texts as bytes: one damaged text then hides no other row."""
    names = columns.split(", ")
    return ", ".join(one if one in _NUMBERS else f"CAST({one} AS BLOB)" for one in names)


def _lacks_text(columns: str, row: Row) -> bool:
    """Return True if a text is missing that every row of its table has."""
    names = columns.split(", ")
    return any(
        value is None and name not in _NUMBERS and name not in _OPTIONAL_TEXTS
        for name, value in zip(names, row, strict=True)
    )


def _sum_columns(table: str, columns: str, row: Row) -> int:
    """The checksum of a row with these columns. Raises TypeError, as `sum_row` does."""
    summed = set(ALL_SUMMED[table][1].split(", "))
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
    elif table == "rules":
        decode_rule(row[0], row[2])


class _OpenFile(NamedTuple):
    """An old registry file that could be opened."""

    connection: apsw.Connection
    format: int
    path: Path

    @property
    def has_positions(self) -> bool:
        return self.format > FIRST_FORMAT


class SqliteSalvage:
    """An old registry file. Use it as a context manager.

    `problems` describes what could not be read. Raises Unavailable if another process has it open.
    """

    def __init__(self, root: Path) -> None:
        self.problems: list[str] = []
        self._file: _OpenFile | None = None
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
        self._words: dict[int, str] | None = None
        self._problems_of_words: list[str] = []
        path = root / FILE
        if not path.exists():
            self.problems.append("it does not exist")
            return
        try:
            self._file = file = _open_alone(path)
            self._check_structure(file)
            numbered = "SELECT 1 FROM epochs WHERE epoch>0"
            self.is_unnumbered = (
                not file.has_positions or file.connection.execute(numbered).get is None
            )
        except (apsw.BusyError, apsw.LockedError) as error:
            raise OpenElsewhere(used="the registry") from error
        except apsw.Error as error:
            self.problems.append(str(error))

    def _check_structure(self, file: _OpenFile) -> None:
        """Note a fault in the structure of the file: a scan may pass over rows in silence."""
        try:
            found = file.connection.execute("PRAGMA quick_check(1)").get
        except apsw.CorruptError as error:
            found = error
        if found != "ok":
            self.problems.append(f"its structure is damaged: {found}")
            self._is_broken = self._lost_unknown = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file:
            self._file.connection.close()

    def read_pages(self, *, with_bytes: bool = False) -> Iterator[list[SalvagedRecord]]:
        """Current revisions with the positions of their changes, in the order of their keys."""
        low: str | None = ""
        while low is not None and (page := self._read_sound_page(low, with_bytes=with_bytes)):
            yield page
            low = page[-1].key if len(page) == _SOME else None
        if low is not None:
            rows = self._read_around(low, with_bytes=with_bytes)
            while page := list(islice(rows, _SOME)):
                yield page

    def _read_around(self, low: str, *, with_bytes: bool) -> Iterator[SalvagedRecord]:
        """The readable records behind a key, read around damage."""
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
        if self._file is None or self._is_broken or not has_sums("records", self._file.format):
            return []
        statement = _PAGE.format(_WITH_BYTES if with_bytes else "TRUE")
        try:
            rows: list[Any] = self._file.connection.execute(statement, (low, _SOME)).fetchall()
            if not rows:
                return []
            keys, texts, positions, sums = zip(*rows, strict=True)
            if None in sums or not are_sound_lines(keys, texts, positions, sums):
                return []
            if min(keys) <= low:
                return []
        except (apsw.Error, UnicodeError):
            return []
        return list(map(_make_salvaged, rows))

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
        if self._file is None:
            return None
        if not self._lost_keys and not self._lost_unknown:
            return {}
        known = self._find_numbered_keys()
        if known is None and self._lost_unknown:
            return None
        return find_highest_serials(known if known is not None else self._lost_keys, day)

    def _load_words(self) -> dict[int, str]:
        """The words of changes, with those that were lost and could be proven."""
        if self._words is None and self._file is not None:
            records = PinnedRecords(self._file.path.parent, self._file.connection)
            self._words, problems = recover_words(self._ask_old, records.find_lines)
            self._problems_of_words = problems
        return self._words or {}

    def _find_numbered_keys(self) -> set[str] | None:
        """The first and the last key of each change, or None if not all changes can be read."""
        if self.is_unnumbered or self.lost_changes:
            return None
        keys: set[str] = set()
        try:
            words = self._load_words()
            for change in read_changes(self._ask_old, words.__getitem__, 0, _ALL_CHANGES):
                keys |= {change.first, change.last}
                self.last_day = max(self.last_day, change.at[:10].replace("-", "/"))
        except (Corrupt, apsw.Error, TypeError, ValueError):
            return None
        return keys

    def copy_into(self, journal: SqliteJournal) -> None:
        """Copy the tables that are taken over unchanged. Runs in the caller's transaction."""
        last = 0 if self.is_unnumbered else self._find_last_readable()
        self.problems += self._problems_of_words
        for table, columns in _COPIED.items():
            if table in _LATER and not last:
                continue
            rows = self._read_rows(table, columns)
            if table == "words":
                rows = iter(sorted(self._load_words().items()))
            place = _PLACES.get(table)
            if place is not None:
                rows = (row for row in rows if isinstance(row[place], int) and row[place] <= last)
            self._copy_rows(journal, table, rows, last)
            if table == "changes":
                copied: int = journal.connection.execute(_LAST_COPIED).get
                self.lost_changes |= copied < last
                last = copied

    def _copy_rows(
        self, journal: SqliteJournal, table: str, rows: Iterator[Row], last: int
    ) -> None:
        columns = _COPIED[table]
        names = f"{columns}, sum" if table in ALL_SUMMED else columns
        marks = ",".join("?" * (names.count(",") + 1))
        for row in rows:
            try:
                _check_row(table, row)
                is_lost = table in UNNUMBERED and self._is_change_lost(row[-1], last)
                target = f"unnumbered_{table}" if is_lost else table
                sum = (_sum_columns(table, columns, row),) if table in ALL_SUMMED else ()
                journal.connection.execute(
                    f"INSERT OR IGNORE INTO {target}({names}) VALUES({marks})", (*row, *sum)
                )
            except (Corrupt, apsw.ConstraintError, apsw.MismatchError) as error:
                self.problems.append(f"{table}, {row[0]!r}: {error}")

    def _is_change_lost(self, position: int | None, last: int) -> bool:
        """Return True if the change at a position was lost.

        One without a position is in epoch 0, which is lost if no change is left.
        """
        if self.is_unnumbered:
            return False
        return not last if position is None else position > last

    def _find_last_readable(self) -> int:
        """The last position from which the sequence of changes can go on, or 0.

        Later changes cannot be read, and are left out with their epochs: the chain could not be
        continued behind them.
        """
        ask = self._ask_old
        try:
            end: int = ask("SELECT coalesce(max(position), 0) FROM changes", ())[0][0]
            words = self._load_words()
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
            self.problems.append(
                f"changes: those from position {last + 1} to {end} are lost; what they wrote gets "
                "new numbers in the new epoch"
            )
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
                is_known = row.leaf or (words[row.act] and words[row.actor])
                if is_next and is_known and (chain or not is_first):
                    before, following, last = (row.at, row.first), position + 1, position
        del self.problems[known:]  # noted when the rows are copied
        return last

    def _ask_old(self, statement: str, bindings: tuple[str | int | None, ...]) -> list[Any]:
        if self._file is None:
            return [(0,)] if "max" in statement else []
        try:
            return self._file.connection.execute(statement, bindings).fetchall()
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
        file = self._file
        if file is None:
            self._lost_unknown = True
            return
        first = columns.partition(",")[0]
        shown = _as_bytes(columns if file.has_positions else columns.replace("position", "NULL"))
        shown += ", sum" if has_sums(table, file.format) else ", NULL"
        known: apsw.SQLiteValue = behind.encode() or None
        wanted = [_WITH_BYTES] if with_bytes else []
        wanted += [f"{first}>?"] if behind else []
        rest = f"{'WHERE ' if wanted else ''}{' AND '.join(wanted)} ORDER BY {first}"
        bindings = (behind,) if behind else ()
        try:
            for row in file.connection.execute(_SELECT.format(shown, table, rest), bindings):
                known = row[0]
                yield from self._decode_row(table, row)
        except apsw.Error as error:
            if str(error) in _ABSENT:
                return
            self.problems.append(f"{table}: {error}")
            self._lost_unknown |= table == "records"
            yield from self._read_behind(file, table, shown, first, known)
            self._is_broken = True
        if self._is_broken and table in ("records", "history", "tokens"):
            yield from self._read_by_keys(file, table, shown, first)
            yield from self._read_pages(file, table)

    def _read_behind(
        self, file: _OpenFile, table: str, shown: str, first: str, known: apsw.SQLiteValue
    ) -> Iterator[Row]:
        """The rows behind the damage, if `known` is the first column of the last row before it."""
        start = None
        with suppress(apsw.Error):
            backwards = _SELECT.format(_as_bytes(first), table, f"ORDER BY {first} DESC")
            for (value,) in file.connection.execute(backwards):
                if value is None or (known is not None and _precedes(value, known)):
                    break
                start = value
        if start is None:
            return
        place = "CAST(? AS TEXT)" if isinstance(start, bytes) else "?"
        forwards = _SELECT.format(shown, table, f"WHERE {first}>={place} ORDER BY {first}")
        try:
            for row in file.connection.execute(forwards, (start,)):
                yield from self._decode_row(table, row)
        except apsw.Error as error:
            self.problems.append(f"{table}: {error}")

    def _read_by_keys(self, file: _OpenFile, table: str, shown: str, first: str) -> Iterator[Row]:
        """The rows that can be reached by the keys that other tables name. Some come again."""
        known: set[bytes] = set()
        for statement in _NAMES if table == "tokens" else _KEYS:
            with suppress(apsw.Error):
                rows = file.connection.execute(statement)
                known.update(key for (key,) in rows if isinstance(key, bytes))
        with suppress(apsw.Error, Corrupt, UnicodeDecodeError, ValueError, TypeError):
            words = self._load_words()
            for change in read_changes(self._ask_old, words.__getitem__, 0, _ALL_CHANGES):
                known |= {change.first.encode(), change.last.encode()}
        statement = _SELECT.format(shown, table, f"WHERE {first}=CAST(? AS TEXT)")
        for key in sorted(known):
            with suppress(apsw.Error):
                for row in file.connection.execute(statement, (key,)).fetchall():
                    yield from self._decode_row(table, row)

    def _read_pages(self, file: _OpenFile, table: str) -> Iterator[Row]:
        """The rows that the pages of a table contain and that have their checksum, once more."""
        if not has_sums(table, file.format):
            return
        root = 0
        with suppress(apsw.Error):
            root = file.connection.execute(_ROOT, (table,)).get or 0
        columns = _COPIED.get(table, _RECORDS)
        try:
            with open_raw(file.path) as raw:
                for values in scan_rows(raw.xRead, raw.xFileSize(), root):
                    with suppress(ValueError, TypeError):
                        *row, sum = values
                        if sum is not None and sum == _sum_columns(table, columns, tuple(row)):
                            yield from self._decode_row(table, values)
        except apsw.Error as error:
            self.problems.append(f"{table}: {error}")

    def _decode_row(self, table: str, row: Sequence[Any]) -> Iterator[Row]:
        """The row with text in place of bytes, or nothing if it is damaged."""
        columns = _COPIED.get(table, _RECORDS)
        *values, sum = row
        try:
            found = tuple(
                value.decode() if isinstance(value, bytes) and name != "row" else value
                for name, value in zip(columns.split(", "), values, strict=True)
            )
            is_sound = sum is None or sum == _sum_columns(table, columns, found)
            if not is_sound or (None in found and _lacks_text(columns, found)):
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


def _open_alone(path: Path) -> _OpenFile:
    """Open the file with exclusive access, and move its log into it.

    Raises OtherFormat if a later release wrote it: this one would drop what it does not know.
    """
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
        if is_of_later_release(connection):
            refuse_format(connection)
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        format: int = connection.execute("PRAGMA user_version").get
    except (apsw.Error, OtherFormat):
        connection.close()
        raise
    return _OpenFile(connection, format, path)
