"""The index of members: which collections have a resource, and since which change.

How it works: a follower of the changes (`perdure.upkeep.changes.change_table`). The file
`followers/collections.sqlite` has a row for each collection, which is the newest version of its
resource, and a row for each member, with the change by which it came into the collection. A member
is kept by the key of its resource, whatever version or part of it the collection names. A change
that wrote no collection costs one look at its line.

What must stay true: what was withdrawn has no rows (`forget_record`). If the file is made again,
members have the last change of their collection; that may be later than before, never earlier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from perdure.errors import Corrupt, PerdureError
from perdure.ids import parse
from perdure.model import collection
from perdure.model.changes import WITHOUT_RECORDS, Change, ChangeMark
from perdure.model.records import Record, Representation
from perdure.registry import Registry
from perdure.storage.ports import Records
from perdure.upkeep.changes.change_table import ChangeTable
from perdure.upkeep.changes.record_index import list_keys

FILE = Path("followers", "collections.sqlite")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS collection (
    key TEXT NOT NULL PRIMARY KEY, sha512 TEXT NOT NULL, title TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS member (
    key TEXT NOT NULL, collection TEXT NOT NULL, epoch INTEGER NOT NULL, number INTEGER NOT NULL,
    PRIMARY KEY (key, collection)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS member_collection ON member (collection, key);
CREATE INDEX IF NOT EXISTS member_change ON member (epoch, number, key);
"""


class MembershipIndex(ChangeTable):
    """The collections of one registry, by their members. For one thread."""

    file = FILE
    format = 1
    schema = _SCHEMA
    tables = ("collection", "member")

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        super().__init__(registry.root)

    # following
    # ---------

    def add_changes(self, changes: Sequence[Change], records: Records) -> None:
        known = {key for (key,) in self.connection.execute("SELECT key FROM collection")}
        for change, key in _list_collections(changes, records, known):
            try:
                record = records.find_record(key)
            except Corrupt:  # the check of the registry reports it
                self._remove_collection(key)
                continue
            if record is None or record.revision <= change.revision:
                self._index_record(key, record, change.mark)  # else a later change has its turn

    def forget_record(self, key: str) -> None:
        """Index a record again that was withdrawn, before its change has its turn."""
        with self.writing():
            record = self._registry.records.find_record(key)
            if record is None or find_collection(record) is None:
                self._remove_collection(key)
        self.empty_log()

    def _index_record(self, key: str, record: Record | None, mark: ChangeMark) -> None:
        held = find_collection(record) if record is not None else None
        if held is None:
            self._remove_collection(key)
            return
        query = "SELECT sha512 FROM collection WHERE key = ?"
        if self.connection.execute(query, (key,)).fetchone() == (held.sha512,):
            return
        try:
            data = self._registry.bytes.read_bytes(held)
            found = collection.load_collection(data)
        except (PerdureError, OSError):  # damaged; the check of the registry reports it
            self._remove_collection(key)
            return
        keys = set(_list_keys(found.members))
        query = "SELECT key FROM member WHERE collection = ?"
        before = {row[0] for row in self.connection.execute(query, (key,))}
        self.connection.executemany(
            "DELETE FROM member WHERE key = ? AND collection = ?",
            [(one, key) for one in sorted(before - keys)],
        )
        self.connection.executemany(
            "INSERT INTO member VALUES (?, ?, ?, ?)",
            [(one, key, mark.epoch, mark.number) for one in sorted(keys - before)],
        )
        self.connection.execute(
            "INSERT OR REPLACE INTO collection VALUES (?, ?, ?)", (key, held.sha512, found.title)
        )

    def _remove_collection(self, key: str) -> None:
        self.connection.execute("DELETE FROM member WHERE collection = ?", (key,))
        self.connection.execute("DELETE FROM collection WHERE key = ?", (key,))

    # looking up
    # ----------

    def list_collections(self, after: str, *, limit: int) -> list[str]:
        """Return the keys of collections after a key, in order."""
        query = "SELECT key FROM collection WHERE key > ? ORDER BY key LIMIT ?"
        return [row[0] for row in self.connection.execute(query, (after, limit))]

    def find_title(self, key: str) -> str:
        """Return the title in the document of a collection, or an empty text."""
        query = "SELECT title FROM collection WHERE key = ?"
        row = self.connection.execute(query, (key,)).fetchone()
        return str(row[0]) if row else ""

    def list_collections_of(self, key: str) -> list[tuple[str, ChangeMark]]:
        """Return the collections that have a resource, each with the change since which."""
        query = "SELECT collection, epoch, number FROM member WHERE key = ? ORDER BY collection"
        rows: Iterator[Any] = self.connection.execute(query, (key,))
        return [(row[0], ChangeMark(row[1], row[2])) for row in rows]

    def list_members(self, of: str | None, after: str, *, limit: int) -> list[str]:
        """Return the keys of members of a collection, or of any, after a key, in order."""
        query = "SELECT key FROM member WHERE collection = ? AND key > ? ORDER BY key LIMIT ?"
        if of is not None:
            return [row[0] for row in self.connection.execute(query, (of, after, limit))]
        query = "SELECT DISTINCT key FROM member WHERE key > ? ORDER BY key LIMIT ?"
        return [row[0] for row in self.connection.execute(query, (after, limit))]

    def list_joined(self, mark: ChangeMark, after: str) -> list[str]:
        """Return the keys of the members that came by a change, after a key, in order."""
        query = (
            "SELECT DISTINCT key FROM member WHERE epoch = ? AND number = ? AND key > ? ORDER BY 1"
        )
        return [row[0] for row in self.connection.execute(query, (mark.epoch, mark.number, after))]


def find_collection(record: Record) -> Representation | None:
    """Return the newest version of a record if it is a collection that can be read."""
    newest = record.newest
    if newest is None or record.tombstone is not None or newest.tombstone is not None:
        return None
    for held in newest.representations:
        is_whole = not held.is_erased and held.length <= collection.LARGEST
        if held.media_type == collection.MEDIA_TYPE and is_whole:
            return held
    return None


def forget_record(registry: Registry, key: str) -> None:
    """Remove what the index keeps of a withdrawn record. It does nothing without an index."""
    if (registry.root / FILE).exists():
        with closing(MembershipIndex(registry)) as index:
            index.forget_record(key)


def _list_collections(
    changes: Sequence[Change], records: Records, known: set[str]
) -> Iterator[tuple[Change, str]]:
    """Yield each record that is or was a collection, with the change that wrote it."""
    wanted = [one for one in changes if one.act not in WITHOUT_RECORDS]
    try:
        pages = records.list_lines(wanted)
    except Corrupt:
        for change in wanted:
            with suppress(Corrupt):
                yield from ((change, key) for key in list_keys(change, records))
        return
    for change, lines in zip(wanted, pages, strict=True):
        for key, text in lines:
            if key in known or collection.MEDIA_TYPE in text:
                yield change, key


def _list_keys(members: Sequence[collection.CollectionMember]) -> Iterator[str]:
    for one in members:
        with suppress(PerdureError):
            yield parse(one.identifier).resource.key
