"""Reading an embedded registry: one SQLite file in WAL mode, any number of readers.

How it works: `records` holds the current revision of each record under its key, in the form that
`perdure.model.stored` gives it, so that a listing is a range of the primary key; superseded
revisions move to `history`. `refers` leads from a location, a digest or an alias back to the
records that name it. An entry is eight bytes of hash and the key, and is checked against the record
when it is read: an entry may be stale, but none is missing. `perdure.storage.sqlite.references`
says how new entries get there, and `perdure.storage.sqlite.changelog` how changes are numbered.

What must stay true: opening a registry to read it changes nothing in it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

import apsw
import msgspec

from perdure.errors import Corrupt
from perdure.errors.conflicts import ChangeUnknown
from perdure.errors.corruption import EpochMissing
from perdure.ids.keys import spell_key
from perdure.model.changes import (
    BEGIN,
    RECONSTRUCTED,
    RULE,
    RULE_KEY,
    TOKEN,
    TOKEN_KEY,
    WITHHELD,
    WITHOUT_RECORDS,
    ChainHead,
    Change,
    ChangeMark,
    ChangeMoment,
    Epoch,
    Line,
)
from perdure.model.reading_rules import ReadingRule
from perdure.model.records import Record, Token
from perdure.model.stored import LEAST_WITH_BYTES
from perdure.storage.generation import Generation
from perdure.storage.ports import LineRun
from perdure.storage.sqlite import checking, rules
from perdure.storage.sqlite.changelog import Epochs, read_changes, read_moments
from perdure.storage.sqlite.columns import Lines, divide_keys, fetch_sound_lines
from perdure.storage.sqlite.decoding import (
    check_lines,
    decode_line,
    decode_or_report,
    decode_record,
    decode_rule,
    decode_scanned,
    decode_token,
    make_altered,
    make_altered_row,
    make_unreadable,
    name_row,
)
from perdure.storage.sqlite.lookup import SqliteLookUp, end_reading
from perdure.storage.sqlite.opening import (
    FILE,
    UNUSABLE,
    lock_shared,
    make_unusable,
    open_file,
    open_raw,
    read_format,
    storage_errors,
)
from perdure.storage.sqlite.references import References, sum_references
from perdure.storage.sqlite.sums import (
    SUMMED_FORMAT,
    are_sound_lines,
    is_filled,
    is_sound_line,
    sum_row,
    sum_rule,
)
from perdure.storage.sqlite.words import Words

_AHEAD = 1 << 20  # bytes
_MOST_RUNS = 8  # in a page of a scan
_COLD_CACHE = 256  # KiB of each connection that maps nothing; the system has the rest
_RECORD = "SELECT record, {} FROM records WHERE key=?"
_RECORDS = (
    "SELECT records.key, record, {} FROM json_each(?) AS sought"
    " CROSS JOIN records ON records.key=sought.value"
)
_SCAN = "SELECT key, record, {} FROM records WHERE key>=? AND key<? ORDER BY key LIMIT ?"
_SCAN_ON = "SELECT key, record, {} FROM records WHERE key>=? ORDER BY key LIMIT ?"
_BYTES = "SELECT CAST(key AS BLOB), CAST(record AS BLOB), typeof(key)||typeof(record), {} "
_SCAN_BYTES = f"""
{_BYTES} FROM records
  WHERE key>=CAST(? AS TEXT) AND key<CAST(? AS TEXT) ORDER BY key LIMIT ?
"""
_SCAN_BYTES_ON = f"{_BYTES} FROM records WHERE key>=CAST(? AS TEXT) ORDER BY key LIMIT ?"


def _leave_out(scan: str) -> str:
    """The same scan without records that have no bytes: SQLite compares one character, and reads
    no more."""
    return scan.replace("ORDER BY", f"AND record>='{LEAST_WITH_BYTES}' ORDER BY")


_SCANS = {
    (is_text, is_bounded, with_bytes): _leave_out(scan) if with_bytes else scan
    for is_text, is_bounded, scan in (
        (True, True, _SCAN),
        (True, False, _SCAN_ON),
        (False, True, _SCAN_BYTES),
        (False, False, _SCAN_BYTES_ON),
    )
    for with_bytes in (False, True)
}
"""The scans: of texts or bytes, with or without an end, of all records or of those with bytes."""
_OLDER = "SELECT record, {} FROM history WHERE key=? AND revision<? ORDER BY revision"
_LAST_REVISION = (1 << 63) - 1
_GRANT_OF_DIGEST = "SELECT name, digest, token, {} FROM tokens WHERE digest=?"
_GRANT_NAMED = "SELECT name, digest, token, {} FROM tokens WHERE name=?"
_GRANTS = "SELECT name, digest, token, {} FROM tokens ORDER BY name"
_GRANT_CHANGES = """
SELECT number, name, at, actor, before, after, {} FROM token_changes WHERE name=? ORDER BY number
"""
_SEGMENTS = "SELECT number, length, opened, grows, {} FROM segments ORDER BY number"
PLACE = "position, sum"
_encode_json = msgspec.json.Encoder().encode
"""The columns of `records` that only newer files have."""
_PRESENT = "SELECT key, record, position, {} FROM records WHERE key=?"
_PRESENT_SOME = "SELECT key, record, position, {} FROM records WHERE key IN (??)"
_TOGETHER = 32  # records of one statement
_PAST = "SELECT key, record, position, {} FROM history WHERE key=? AND revision=?"
_REVISIONS = """
SELECT 1, records.key, record, position, {0} FROM json_each(?1) AS sought
  CROSS JOIN records ON records.key=sought.value->>0
  UNION ALL
SELECT history.revision, history.key, record, position, {0} FROM json_each(?1) AS sought
  CROSS JOIN history ON history.key=sought.value->>0 AND history.revision=sought.value->>1
"""
"""The present revisions, as if each were the first, and after them the past ones."""
_RUN = """
SELECT key, record, position, {0} FROM records WHERE key>=? AND key<=? AND position IS ?
  UNION ALL
SELECT key, record, position, {0} FROM history
  WHERE key>=? AND key<=? AND position IS ? AND revision=1
  ORDER BY key
"""
_LINES_OF_TOKENS = """
SELECT number, name, at, actor, before, after, position, {} FROM token_changes
  WHERE name=? ORDER BY number
"""

_NO_SUMS, _SUMS, ALL_SUMS = range(3)
"""Whether the rows of a file have no checksums, may have them, or all have them."""


def _find_form(connection: apsw.Connection) -> int:
    """Return whether the rows of a file have checksums."""
    if read_format(connection) < SUMMED_FORMAT:
        return _NO_SUMS
    try:
        return ALL_SUMS if is_filled(connection) else _SUMS
    except (apsw.Error, UnicodeDecodeError):  # a damaged table must not end all reading
        return _SUMS


@cache
def _add_columns(statement: str, columns: str, form: int) -> str:
    if form == _NO_SUMS:
        columns = ", ".join("NULL" for _ in columns.split(", "))
    elif form == ALL_SUMS:  # so that a row without one is a damaged row
        columns = columns.replace("sum", "ifnull(sum, -1)")
    return statement.format(columns)


class SqliteRecords:
    """Reads a registry, as the port `perdure.storage.ports.Records`.

    Each thread has its own connection.
    """

    _usual_form = _SUMS

    def __init__(self, root: Path) -> None:
        self._path = root / FILE
        self._local = threading.local()
        self._connections: list[apsw.Connection] = []
        self._locks: list[apsw.VFSFile] = []
        self._references = References()
        self._has_epochs = False
        self._words = Words(self._ask_registry)

    @property
    def connection(self) -> apsw.Connection:
        found: apsw.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            found = self._local.connection = self._open_connection()
            self._connections.append(found)
        return found

    def _open_connection(self) -> apsw.Connection:
        with storage_errors("the registry", self._path):
            connection = self._open_file()
        connection.execute("PRAGMA query_only=1")
        self._local.form = _find_form(connection)
        return connection

    def _open_file(self) -> apsw.Connection:
        try:
            return open_file(str(self._path), apsw.SQLITE_OPEN_READWRITE)
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            if os.access(self._path.parent, os.W_OK):
                raise
            # A copy without write access: a log cannot be created, and the connection takes no
            # lock. A backup into the copy makes a new file while this lock is held.
            with suppress(apsw.IOError):  # a file system without locks
                self._locks.append(lock_shared(self._path))
            if any(self._path.with_name(f"{FILE}-{log}").exists() for log in ("wal", "journal")):
                raise
        name = f"file:{quote(str(self._path))}?immutable=1"
        return open_file(name, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)

    def _fetch_all(
        self, statement: str, bindings: tuple[str | bytes | int | None, ...] = ()
    ) -> list[Any]:
        try:
            return self._ask_plainly(statement, bindings)
        except apsw.SQLError as error:  # our statements are right, so the schema is damaged
            raise make_unusable("the registry", error) from error

    def _ask_plainly(
        self, statement: str, bindings: tuple[str | bytes | int | None, ...] = ()
    ) -> list[Any]:
        """The same, but let SQLError pass, which a table of a later format may cause."""
        try:
            return self.connection.execute(statement, bindings).fetchall()
        except (apsw.IOError, *UNUSABLE) as error:
            raise make_unusable("the registry", error) from error
        except UnicodeDecodeError as error:
            raise make_unreadable("a row", "text in UTF-8", error) from error

    @property
    def _form(self) -> int:
        """The form of the rows that this thread reads: one of `_NO_SUMS`, `_SUMS`, `ALL_SUMS`."""
        form: int = getattr(self._local, "form", self._usual_form)
        return form

    def _with(self, statement: str, columns: str = "sum") -> str:
        """A statement with columns that only newer files have; NULL in their place for others."""
        return _add_columns(statement, columns, self._form)

    def _check_rows(self, table: str, rows: list[Any]) -> list[Any]:
        """The rows without their checksums. Raises Corrupt if one has another checksum."""
        for row in rows:
            if row[-1] is not None and row[-1] != sum_row(table, row[:-1]):
                raise make_altered(name_row(table, row[0]))
        return [row[:-1] for row in rows]

    def _fetch_summed(
        self,
        statement: str,
        bindings: tuple[str | bytes | int | None, ...] = (),
        columns: str = "sum",
    ) -> list[Any]:
        """Query rows with their checksums, which are NULL in a file of an earlier format."""
        _ = self.connection  # opens the file, if this thread has not done so
        return self._fetch_all(self._with(statement, columns), bindings)

    def find_stored(self, key: str) -> str | None:
        """The current revision in its stored form."""
        connection = self.connection  # opens the file, if this thread has not done so
        try:
            row = connection.execute(self._with(_RECORD, PLACE), (key,)).fetchone()
        except (apsw.IOError, apsw.SQLError, *UNUSABLE) as error:
            raise make_unusable("the registry", error) from error
        except UnicodeDecodeError as error:
            raise make_unreadable(spell_key(key), "a record", error) from error
        if row is None:
            return None
        text: str = row[0]
        if row[2] is not None and not is_sound_line(key, *row):
            raise make_altered(spell_key(key))
        return text

    def open_lookup(self, *, cold: bool = False) -> SqliteLookUp:
        """Fast look-ups for one thread.

        The kernel reads ahead in a mapped file, which takes longer than to read the page that is
        needed. So a `cold` one maps nothing.
        """
        connection = self._open_connection()
        self._connections.append(connection)
        if cold:
            connection.execute(f"PRAGMA mmap_size=0; PRAGMA cache_size=-{_COLD_CACHE}").fetchall()
        columns = "NULL, NULL" if self._form == _NO_SUMS else PLACE
        return SqliteLookUp(connection, columns, all_summed=self._form == ALL_SUMS)

    def open_turns(self) -> None:
        """Return None: no network is between."""

    def open_counter(self) -> Generation:
        return Generation(self._path.parent)

    def read_ahead(self, is_wanted: Callable[[], bool]) -> None:
        size = self._path.stat().st_size
        if size > os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2:
            return
        with open_raw(self._path) as file:
            for start in range(0, size, _AHEAD):
                if not is_wanted():
                    return
                file.xRead(min(_AHEAD, size - start), start)

    @property
    def holds_snapshot(self) -> bool:
        return self.connection.in_transaction

    @contextmanager
    def hold_snapshot(self) -> Iterator[None]:
        """Keep one state of the registry for everything that this thread reads in the context.

        Within another such context, it is that one's state.
        """
        connection = self.connection
        if connection.in_transaction:
            yield
            return
        connection.execute("BEGIN")
        try:
            yield
        finally:
            end_reading(connection)

    def find_record(self, key: str) -> Record | None:
        text = self.find_stored(key)
        return None if text is None else decode_record(key, text)

    def find_records(self, keys: Sequence[str]) -> dict[str, Record]:
        rows = self._fetch_summed(_RECORDS, (_encode_json(keys).decode(),), PLACE)
        return {row[0]: decode_line(*row) for row in rows}

    def _fetch_range(
        self, low: str, high: str | None, limit: int, *, with_bytes: bool = False
    ) -> list[Any]:
        ends = (low,) if high is None else (low, high)
        return self._fetch_summed(_SCANS[True, high is not None, with_bytes], (*ends, limit), PLACE)

    def scan_records(
        self, low: str, high: str | None, *, limit: int, with_bytes: bool = False
    ) -> list[tuple[str, Record | Corrupt]]:
        with suppress(Corrupt, UnicodeEncodeError):  # a text or a key is not in UTF-8
            rows = self._fetch_range(low, high, limit, with_bytes=with_bytes)
            if all(isinstance(row[0], str) for row in rows):
                return [(row[0], decode_or_report(*row)) for row in rows]
        statement = _SCANS[False, high is not None, with_bytes]
        ends = [one.encode("utf-8", "surrogateescape") for one in (low, high) if one is not None]
        damaged = self._fetch_summed(statement, (*ends, limit), PLACE)
        return [decode_scanned(*row) for row in damaged]

    def scan_lines(self, low: str, high: str | None, *, limit: int) -> list[Line] | None:
        found = self._fetch_sound(low, high, limit)
        return None if found is None else list(zip(found.keys, found.texts, strict=True))

    def scan_runs(self, low: str, *, limit: int) -> list[LineRun] | None:
        connection = self.connection  # opens the file, if this thread has not done so
        found = fetch_sound_lines(connection, low, limit) if self._form == ALL_SUMS else None
        found = found or self._fetch_sound(low, None, limit)
        if found is None:
            return None
        keys, texts, positions = found
        if len(set(positions)) > _MOST_RUNS:
            return [LineRun(None, keys, texts)]
        epochs = Epochs.load_epochs(self._ask_registry) if self._is_numbered() else Epochs(())
        runs: list[LineRun] = []
        try:
            for place, run in groupby(positions):
                mark = epochs.find_mark(place) if place else None
                low_at = sum(len(one.keys) for one in runs)
                high_at = low_at + len(list(run))
                runs.append(LineRun(mark, keys[low_at:high_at], texts[low_at:high_at]))
        except EpochMissing:
            return None
        return runs

    def _fetch_sound(self, low: str, high: str | None, limit: int) -> Lines | None:
        """Rows from `records`, or None if one is damaged."""
        try:
            rows = self._fetch_range(low, high, limit)
            if not rows:
                return Lines((), (), ())
            keys, texts, positions, sums = zip(*rows, strict=True)
            if not are_sound_lines(keys, texts, positions, sums):
                return None
        except Corrupt:
            return None
        return Lines(keys, texts, positions)

    def find_first_key(self, low: str, high: str) -> str | None:
        rows = self._fetch_all(
            "SELECT key FROM records WHERE key>=? AND key<? ORDER BY key LIMIT 1", (low, high)
        )
        return rows[0][0] if rows else None

    def count_keys(self, low: str, high: str) -> int:
        ((count,),) = self._fetch_all(
            "SELECT count(*) FROM records WHERE key>=? AND key<?", (low, high)
        )
        return int(count)

    def list_keys_with(self, text: str) -> list[str]:
        rows = self._fetch_all("SELECT key FROM records WHERE instr(key, ?) ORDER BY key", (text,))
        return [key for (key,) in rows]

    def find_referring(self, reference: str, *, limit: int | None = None) -> list[str]:
        try:
            return self._references.find_keys(reference, self._ask_plainly, limit)
        except apsw.SQLError as error:
            raise make_unusable("the registry", error) from error

    def find_any_referring(self, references: Sequence[str]) -> list[str]:
        try:
            return self._references.find_any_keys(references, self._ask_plainly)
        except apsw.SQLError as error:
            raise make_unusable("the registry", error) from error

    def list_revisions(self, key: str) -> list[Record]:
        past = self.list_past(key, _LAST_REVISION)
        current = self.find_record(key)
        return [*past, current] if current else past

    def list_past(self, key: str, before: int) -> list[Record]:
        rows = self._fetch_summed(_OLDER, (key, before), PLACE)
        return [decode_line(key, *row) for row in rows]

    def find_token(self, digest: str) -> Token | None:
        rows = self._check_rows("tokens", self._fetch_summed(_GRANT_OF_DIGEST, (digest,)))
        return decode_token(rows[0][2]) if rows else None

    def find_token_named(self, name: str) -> Token | None:
        rows = self._check_rows("tokens", self._fetch_summed(_GRANT_NAMED, (name,)))
        return decode_token(rows[0][2]) if rows else None

    def list_tokens(self) -> list[Token]:
        rows = self._check_rows("tokens", self._fetch_summed(_GRANTS))
        return [decode_token(text) for _, _, text in rows]

    def list_token_changes(self, name: str) -> list[tuple[str, str, str | None, str]]:
        """Time, actor, and the token before and after as JSON, the oldest change first."""
        rows = self._fetch_summed(_GRANT_CHANGES, (name,), PLACE)
        return [row[2:6] for row in self._check_rows("token_changes", rows)]

    def find_last_rule(self) -> int:
        rows = self._ask_rules(rules.LAST)
        return int(rows[0][0]) if rows else 0

    def find_rules(self, key: str, after: int = 0) -> list[ReadingRule]:
        if not self._ask_rules(rules.ANY_OF_KEY, (key,)):  # as nearly always; half the time
            return []
        return self._decode_rules(self._ask_rules(rules.OF_KEY, (key, after)))

    def find_rules_below(self, beginning: str, after: int = 0) -> list[ReadingRule]:
        end = beginning[:-1] + chr(ord(beginning[-1]) + 1)
        return self._decode_rules(self._ask_rules(rules.BELOW, (beginning, end, after)))

    def list_rules(self, after: int = 0, *, limit: int) -> list[ReadingRule]:
        return self._decode_rules(self._ask_rules(rules.AFTER, (after, limit)))

    def _ask_rules(self, statement: str, bindings: tuple[str | int, ...] = ()) -> list[Any]:
        try:
            return self._ask_plainly(statement, bindings)
        except apsw.SQLError as error:
            if str(error) == rules.ABSENT:
                return []
            raise make_unusable("the registry", error) from error

    def _decode_rules(self, rows: list[Any]) -> list[ReadingRule]:
        for number, key, text, total in rows:
            if total != sum_rule(number, key, text):
                raise make_altered(name_row("rules", number))
        return [decode_rule(number, text) for number, _, text, _ in rows]

    def count_records(self) -> int:
        """The number of identifiers. Reads the complete index."""
        return int(self._fetch_all("SELECT count(*) FROM records")[0][0])

    def count_revisions(self) -> int:
        """The number of revisions of all records. Reads the complete indexes."""
        both = "SELECT (SELECT count(*) FROM records) + (SELECT count(*) FROM history)"
        return int(self._fetch_all(both)[0][0])

    def list_segments(self) -> list[tuple[int, int, str]]:
        """Number, committed length and opening time of each segment."""
        return [row[:3] for row in self._list_segment_rows()]

    def _list_segment_rows(self) -> list[tuple[int, int, str, int]]:
        return self._check_rows("segments", self._fetch_summed(_SEGMENTS))

    # Changes
    # -------

    def _ask_registry(self, statement: str, bindings: tuple[str | int | None, ...]) -> list[Any]:
        return self._fetch_all(statement, bindings)

    def _is_numbered(self) -> bool:
        """Return True if a writer that numbers changes has opened the registry.

        It stays so.
        """
        if not self._has_epochs:
            statement = "SELECT 1 FROM sqlite_master WHERE name='epochs'"
            self._has_epochs = bool(self._fetch_all(statement))
        return self._has_epochs

    def _find_last_position(self) -> int:
        return int(self._fetch_all("SELECT coalesce(max(position), 0) FROM changes")[0][0])

    def list_epochs(self) -> list[Epoch]:
        """All epochs, the oldest first. Empty if the changes of the registry have no numbers."""
        return Epochs.load_epochs(self._ask_registry).epochs if self._is_numbered() else []

    def find_head(self) -> ChainHead | None:
        """The last change, or None if the changes of the registry have no numbers yet.

        Raises Corrupt if the last changes cannot be read.
        """
        last = self._find_last_position() if self._is_numbered() else 0
        found = list(read_changes(self._ask_registry, self._words, last - 1, 1)) if last else []
        return found[0].head if found else None

    def list_changes(self, since: ChangeMark | None = None, *, limit: int) -> list[Change]:
        """At most `limit` changes in order, after the mark `since` or from the first one.

        Raises Conflict if no change has this mark, Corrupt if a row cannot be read or does not fit
        the chain.
        """
        if not self._is_numbered():
            return []
        last = self._find_last_position()
        after: int | None = 0
        if since is not None:
            after = Epochs.load_epochs(self._ask_registry).find_position(since, last)
        if after is None:
            head = self.find_head()
            raise ChangeUnknown(identifier=f"change {since}", last=str(head.mark) if head else None)
        return list(read_changes(self._ask_registry, self._words, after, limit))

    def find_lines(self, change: Change) -> list[Line]:
        """The keys and stored lines that a change wrote, in the order of the keys.

        There are fewer than the change says if some of them were lost. Raises Corrupt if one of
        them does not have its checksum.
        """
        if change.act == WITHHELD:
            return []
        if change.act == BEGIN:
            return [("", one.line) for one in self.list_epochs() if one.epoch == change.epoch]
        position = None
        if change.epoch != RECONSTRUCTED:
            position = Epochs.load_epochs(self._ask_registry).find_position(
                change.mark, self._find_last_position()
            )
        if change.act == TOKEN:
            return self._find_token_lines(change, position)
        if change.act == RULE:
            number = int(change.first.removeprefix(RULE_KEY))
            found = self._check_rows("rules", self._ask_rules(rules.NUMBERED, (number,)))
            return [(change.first, text) for _, _, text in found]
        if change.count == 1:
            return self._find_one_line(change, position)
        scope = (change.first, change.last, position)
        return check_lines(self._fetch_summed(_RUN, scope + scope))

    def list_lines(self, changes: Sequence[Change]) -> list[list[Line]]:
        """The same for each of several changes: those of one record are looked up together."""
        last, epochs = self._find_last_position(), Epochs.load_epochs(self._ask_registry)
        found: dict[tuple[str, int | None], list[Line]] = {}
        alone: list[tuple[Change, int | None]] = []
        for change in changes:
            if change.count == 1 and change.act not in WITHOUT_RECORDS:
                is_numbered = change.epoch != RECONSTRUCTED
                place = epochs.find_position(change.mark, last) if is_numbered else None
                alone.append((change, place))
        keys = list(dict.fromkeys(change.first for change, _ in alone))
        for at in range(0, len(keys), _TOGETHER):
            some = tuple(keys[at : at + _TOGETHER])
            rows = self._fetch_summed(_PRESENT_SOME.replace("??", ",".join("?" * len(some))), some)
            for row in rows:
                found[row[0], row[2]] = check_lines([row])
        for change, place in alone:
            if (change.first, place) not in found or place is None:
                found[change.first, place] = self._find_one_line(change, place)
        places = {change.mark: place for change, place in alone}
        return [
            found[one.first, places[one.mark]] if one.mark in places else self.find_lines(one)
            for one in changes
        ]

    def find_change(self, key: str, revision: int) -> Change | None:
        """The change that wrote a revision of a record, or None if none with a number did.

        Raises Corrupt if the record or the change is damaged.
        """
        if not self._is_numbered():
            return None
        rows = self._fetch_summed(_PAST, (key, revision))
        rows = rows or self._fetch_summed(_PRESENT, (key,))
        check_lines(rows)
        position = rows[0][2] if rows else None
        if position is None:
            return None
        (change,) = read_changes(self._ask_registry, self._words, position - 1, 1)
        return change if change.revision == revision else None

    def find_moments(self, revisions: Sequence[tuple[str, int]]) -> list[ChangeMoment | None]:
        """Mark and time of the change that wrote each revision. Raises Corrupt as `find_change`."""
        if not self._is_numbered():
            return [None] * len(revisions)
        rows = self._fetch_summed(_REVISIONS, (_encode_json(revisions).decode(),))
        check_lines([row[1:] for row in rows])
        places = {(row[1], row[0]): row[3] for row in rows if row[3] is not None}
        moments = read_moments(self._ask_registry, places.values())
        return [moments.get(places.get(one, 0)) or self._find_moment(*one) for one in revisions]

    def _find_moment(self, key: str, revision: int) -> ChangeMoment | None:
        change = self.find_change(key, revision)
        return None if change is None else change.moment

    def _find_token_lines(self, change: Change, position: int | None) -> list[Line]:
        name = change.first.removeprefix(TOKEN_KEY)
        rows = self._check_rows("token_changes", self._fetch_summed(_LINES_OF_TOKENS, (name,)))
        return [
            (change.first, after)
            for number, (*_, after, place) in enumerate(rows, 1)
            if (place == position if position else number == change.revision)
        ]

    def _find_one_line(self, change: Change, position: int | None) -> list[Line]:
        key = change.first
        rows = self._fetch_summed(_PAST, (key, change.revision))
        rows = rows or self._fetch_summed(_PRESENT, (key,))
        return check_lines([row for row in rows if row[2] == position])

    # Checking
    # --------

    def check_integrity(self) -> Iterator[Corrupt]:
        connection = self.connection
        yield from checking.check_file(connection)
        yield from checking.check_rows(connection, make_altered_row)

    def find_unlinked(self, rows: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
        try:
            return self._references.find_unlinked(rows, self._ask_plainly)
        except apsw.SQLError as error:
            raise make_unusable("the registry", error) from error

    def sum_references(self) -> tuple[int, int] | None:
        connection = self.connection
        try:
            if connection.execute("SELECT 1 FROM history LIMIT 1").get is not None:
                return None  # an earlier revision may have had others
            return sum_references(connection)
        except (apsw.Error, UnicodeDecodeError):
            return None

    def divide_keys(self, count: int) -> list[str]:
        try:
            return divide_keys(self.connection, count)
        except (apsw.Error, UnicodeDecodeError):
            return []

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
        for lock in self._locks:
            lock.xClose()
        self._connections.clear()
        self._locks.clear()
        self._local = threading.local()


class PinnedRecords(SqliteRecords):
    """Reads a registry in this thread on a connection of the caller, in its transaction."""

    def __init__(self, root: Path, connection: apsw.Connection) -> None:
        super().__init__(root)
        self._local.connection = connection
        self._local.form = _find_form(connection)
