"""Index of references: it finds the records that name a location, a digest or an alias by its hash.

How it works: hashes come in no order, so each new one would change a different page of a large
tree. The writer therefore logs new references as they come, those of a batch in one row
(`recent_references`). When there are many, it merges them into the tree (`refers`) in the order of
their hashes. With each batch it merges one slice of all hashes, so that no batch waits for all of
them. Until then, the writer keeps the logged references in memory. A reader keeps the recent ones
that it has read, reads the newer ones on each look-up, and then searches the tree.

What must stay true: a reference that is merged during a look-up is seen twice rather than missed.
So the look-up reads the recent ones before the tree, and they are deleted only when all slices are
in the tree. Writer and readers keep only unmerged references in memory.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, islice
from typing import Any

import apsw
import msgspec

from perdure.errors.corruption import ReferencesUnreadable
from perdure.storage.reference_hashes import hash_references, reference_hash
from perdure.storage.sqlite.sums import sum_whole

MOST_RECENT = 32_768
"""The number of references at which a merge begins. The larger it is, the less often each page of
the tree is written; a process that keeps this many in memory needs ten megabytes."""
_SLICES = 64
_TOO_MANY = 4  # times as many: a rebuild adds thousands at a time, and no caller waits for it
SCHEMA = """
CREATE TABLE IF NOT EXISTS recent_references (
  number INTEGER PRIMARY KEY, count INTEGER NOT NULL, rows BLOB NOT NULL
);
"""
_COUNT = "SELECT coalesce(sum(count), 0) FROM recent_references"
_WRITE = "INSERT INTO recent_references(count, rows, sum) VALUES(?,?,?)"
_RECENT = "SELECT number, rows FROM recent_references WHERE number>? ORDER BY number"
_NEWS = """
SELECT NULL, (SELECT value FROM meta WHERE name='merges of references')
  UNION ALL
SELECT * FROM (SELECT number, rows FROM recent_references WHERE number>? ORDER BY number)
"""
"""The count of merges, and the references that were logged after a row."""
_LAST = "SELECT max(number) FROM recent_references"
_FORGET = "DELETE FROM recent_references WHERE number<=?"
_MERGED = """
INSERT INTO meta VALUES('merges of references', '1')
  ON CONFLICT(name) DO UPDATE SET value=value+1
"""
_COUNT_IN_TREE = """
SELECT count(*) FROM json_each(?) AS sought CROSS JOIN refers
  ON refers.hash=CAST(sought.key AS INTEGER) AND refers.key=sought.value
"""
"""How many of the references in a JSON object, keys of records by hash, the tree has."""
_FIND_ONE = """
SELECT 1 FROM refers WHERE hash=?1 AND key=?2
  UNION ALL SELECT 1 FROM staged_refers WHERE hash=?1 AND key=?2 LIMIT 1
"""
_REFERRING = "SELECT key FROM refers WHERE hash=? LIMIT {}"
_REFERRING_ANY = """
SELECT refers.key FROM json_each(?) AS sought CROSS JOIN refers ON refers.hash=sought.value
"""
_TYPED = """
SELECT count(*), total(typeof(hash)='integer' AND typeof(key)='text') FROM refers WHERE key<>''
"""
_ALL_IN_TREE = "SELECT hash, key FROM refers WHERE key<>''"  # the marks of tasks done have none
_SOME = 10_000
_NO_LIMIT = -1
_ALL = -1
_HALF = 1 << 63

Row = tuple[int, str]
"""The hash of a reference, and the key of a record that has it."""
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Row]).decode
_encode_json = msgspec.json.Encoder().encode
Ask = Callable[[str, tuple[str | int | None, ...]], list[Any]]


@cache
def spell_search(most: int) -> str:
    """The statement that finds references. To bind the limit would take two microseconds more."""
    return _REFERRING.format(most)


def _make_slices() -> list[list[Row]]:
    return [[] for _ in range(_SLICES)]


def take_over(connection: apsw.Connection) -> None:
    """Merge the references that an older release logged in single rows. Raises apsw.Error."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name='recent_refers'").get is None:
        return
    with connection:
        connection.execute(
            "INSERT OR IGNORE INTO refers SELECT hash, key FROM recent_refers ORDER BY hash, key;"
            "DROP TABLE recent_refers"
        )


class Merging:
    """Moves recent references to the tree. The only writer owns it, and calls it in its batches.

    `insert` adds rows to the tree.
    """

    def __init__(
        self, connection: apsw.Connection, insert: Callable[[Sequence[Row]], None]
    ) -> None:
        self._connection = connection
        self._insert = insert
        self._unread: int = connection.execute(_COUNT).get  # logged by earlier writers
        self._recent = _make_slices()  # logged since, and durable
        self._count = 0  # number of references in `_recent`
        self._batch: list[Row] = []  # logged in this batch
        self._writes = 0  # rows of the table that this batch wrote
        self._slices: list[list[Row]] = []  # slices being merged, the next one at the end
        self._last = 0  # number of the last write that is in them
        self._merged = 0  # slices merged in this batch, or `_ALL`

    def write_down(self, rows: Sequence[Row]) -> None:
        """Log new references, so that they can be found before they are merged.

        Raises apsw.Error.
        """
        self._connection.execute(_WRITE, sum_whole((len(rows), _encode(rows))))
        self._batch += rows
        self._writes += 1

    def merge_slice(self) -> None:
        """Merge a slice, if there is one to merge. Raises apsw.Error."""
        waiting = self._unread + self._count
        if waiting + len(self._batch) >= _TOO_MANY * MOST_RECENT:
            self._merge_all()
            return
        if not self._slices and waiting >= MOST_RECENT:
            self._begin_merge()
        if self._slices:
            self._insert(sorted(self._slices[-1]))
            self._merged = 1
            if len(self._slices) == 1:
                self._forget_merged(self._last)

    def merge_without(self, rows: Iterable[Row]) -> None:
        """Merge everything, and remove these references. The last call of a batch.

        Raises apsw.Error.
        """
        self._merge_all()
        self._connection.executemany("DELETE FROM refers WHERE hash=? AND key=?", rows)

    def _merge_all(self) -> None:
        self._insert(sorted(chain.from_iterable(self._read_written())))
        self._forget_merged(self._find_last_number())
        self._merged = _ALL

    def _forget_merged(self, last: int) -> None:
        self._connection.execute(_FORGET, (last,))
        self._connection.execute(_MERGED)

    def _read_written(self) -> Iterator[list[Row]]:
        """All logged references, in the order in which they were logged."""
        for _, rows in self._connection.execute(_RECENT, (0,)):
            yield _decode(rows)

    def _find_last_number(self) -> int:
        """The number of the last write."""
        found: int = self._connection.execute(_LAST).get
        return found

    def _begin_merge(self) -> None:
        """Begin to merge the references that are durable by now."""
        self._last = self._find_last_number() - self._writes
        if self._unread:
            for rows in self._read_written():
                self._remember_rows(rows)
                self._unread -= len(rows)
                if not self._unread:
                    break
        self._slices, self._recent, self._count = self._recent, _make_slices(), 0

    def _remember_rows(self, rows: Iterable[Row]) -> None:
        for row in rows:
            self._recent[(row[0] + _HALF) * _SLICES >> 64].append(row)

    def note_commit(self) -> None:
        """Accept the references of the batch, which is durable."""
        if self._merged == _ALL:
            self._unread, self._recent, self._count, self._slices = 0, _make_slices(), 0, []
        else:
            self._remember_rows(self._batch)
            self._count += len(self._batch)
            del self._slices[len(self._slices) - self._merged :]
        self._batch, self._writes, self._merged = [], 0, 0

    def note_rollback(self) -> None:
        """Drop the references of the batch, which was undone."""
        self._batch, self._writes, self._merged = [], 0, 0


class References:
    """The recent references that a reader keeps in memory. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._merges: str | None = None
        self._last = 0
        self._keys: dict[int, str] = {}
        """For each hash, the key of the first record that has it."""
        self._more_keys: dict[int, list[str]] = {}
        """For each hash that several records have, the keys of the others."""

    def find_keys(self, reference: str, ask: Ask, limit: int | None = None) -> list[str]:
        """Keys of records that may have this reference, in order. `ask` queries the registry.

        With a limit, any so many of them if there are more.
        """
        hash = reference_hash(reference)
        with self._lock:
            self._catch_up_if_any(ask)
            recent = self.list_recent(hash)
        rows = ask(spell_search(_NO_LIMIT if limit is None else limit), (hash,))
        return join_keys(recent, rows, limit)

    def find_any_keys(self, references: Sequence[str], ask: Ask) -> list[str]:
        """Keys of records that may have one of these references, in order."""
        hashes = hash_references(references)
        with self._lock:
            self._catch_up_if_any(ask)
            recent = [key for hash in self._keys.keys() & hashes for key in self.list_recent(hash)]
        rows = ask(_REFERRING_ANY, (_encode_json(hashes).decode(),))
        return sorted({*recent, *(key for (key,) in rows)})

    def catch_up(self, ask: Ask) -> None:
        """Read the references that were logged since the last call. `ask` queries the registry."""
        with self._lock:
            self._catch_up_if_any(ask)

    def list_recent(self, hash: int) -> Sequence[str]:
        """Keys of recent references with this hash that were read so far.

        For a caller that shares the object with no other thread: list them before the tree is
        searched, in the state of the registry of the last `catch_up`.
        """
        key = self._keys.get(hash)
        return () if key is None else (key, *self._more_keys.get(hash, ()))

    def find_unlinked(self, rows: Sequence[Row], ask: Ask) -> list[Row]:
        """Return the references that are not found. `ask` queries the registry."""
        with self._lock:
            self._catch_up_if_any(ask)
            known, more = self._keys.get, self._more_keys.get
            older = rows  # nothing is logged since the last merge, as after an import
            if self._keys:
                older = [
                    row
                    for row in rows
                    if known(row[0]) != row[1] and row[1] not in more(row[0], ())
                ]
        sought = dict(older)
        if len(sought) == len(older):  # no two have one hash
            ((count,),) = ask(_COUNT_IN_TREE, (_encode_json(sought).decode(),))
            if count == len(older):
                return []
        return [row for row in sorted(set(older)) if not ask(_FIND_ONE, row)]

    def _catch_up_if_any(self, ask: Ask) -> None:
        try:
            self._catch_up(ask)
        except apsw.SQLError as error:
            if "no such table" not in str(error):  # no writer of this release has opened it yet
                raise

    def _catch_up(self, ask: Ask) -> None:
        """Read the references logged since the last look, or all of them after a merge."""
        (_, merges), *news = ask(_NEWS, (self._last,))
        if merges != self._merges:
            self._merges, self._last, self._keys, self._more_keys = merges, 0, {}, {}
            news = ask(_RECENT, (0,))
        for number, rows in news:
            try:
                decoded = _decode(rows)
            except (msgspec.MsgspecError, TypeError, UnicodeError) as error:
                raise ReferencesUnreadable(
                    row=number, file="registry.sqlite", fault=str(error)
                ) from error
            self._last = number
            self._remember_keys(decoded)

    def _remember_keys(self, rows: list[Row]) -> None:
        new = dict(rows)
        if len(new) == len(rows) and self._keys.keys().isdisjoint(new):
            self._keys |= new
            return
        for hash, key in rows:
            if self._keys.setdefault(hash, key) != key:
                self._more_keys.setdefault(hash, []).append(key)


def sum_references(connection: apsw.Connection) -> tuple[int, int] | None:
    """The number of references in the index, and the sum of the hashes of these rows.

    None if a value has a wrong type. Raises apsw.Error, UnicodeDecodeError.
    """
    row: Any = connection.execute(_TYPED).fetchone()
    count, typed = row
    if count != typed or connection.execute("SELECT 1 FROM staged_refers LIMIT 1").get is not None:
        return None
    try:
        recent = {
            row for _, rows in connection.execute(_RECENT, (0,)) for row in _decode(rows) if row[1]
        }
    except (msgspec.MsgspecError, TypeError):
        return None
    rows = connection.execute(_ALL_IN_TREE)
    if not recent:
        return count, sum(map(hash, rows))
    total = 0
    while page := list(islice(rows, _SOME)):
        recent.difference_update(page)  # those that are merged, but not forgotten yet
        total += sum(map(hash, page))
    return count + len(recent), total + sum(map(hash, recent))


def join_keys(recent: Sequence[str], rows: list[Any], limit: int | None) -> list[str]:
    """The keys of recent references and those from the tree, each once, in order."""
    if not recent and len(rows) < 2:
        return [key for (key,) in rows]
    return sorted({*recent, *(key for (key,) in rows)})[:limit]
