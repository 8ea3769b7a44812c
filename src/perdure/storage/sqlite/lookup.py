"""Look-ups of one thread in an embedded registry: records by their keys, and by their references.

How it works: the thread has a connection of its own, and one statement for each kind of look-up.
Between `hold_state` and `release_state` it sees one state of the registry, that of the first
look-up: then SQLite need not lock the file each time, and the recent references
(`perdure.storage.sqlite.references`) are read once.

What must stay true: a row with a wrong checksum is never returned. While a state is held, the log
of the registry cannot be reused, so hold it only for a moment.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from zlib import crc32

import apsw

from perdure.errors import Corrupt, Unavailable
from perdure.ids.keys import spell_key
from perdure.storage.reference_hashes import reference_hash
from perdure.storage.sqlite.decoding import make_altered, make_unreadable
from perdure.storage.sqlite.opening import UNUSABLE, make_unusable
from perdure.storage.sqlite.references import References, join_keys, spell_search
from perdure.storage.sqlite.sums import is_sound_line

_STORED = "SELECT record, {} FROM records WHERE key=?"
_LAST = "SELECT record, {}, key FROM records WHERE key>=? AND key<=? ORDER BY key DESC LIMIT 1"

_FAULTS = (apsw.IOError, apsw.SQLError, *UNUSABLE, UnicodeDecodeError)


def end_reading(connection: apsw.Connection) -> None:
    """End a transaction that only read, even if it failed at a damaged page."""
    try:
        connection.execute("COMMIT")
    except apsw.Error:
        with suppress(apsw.Error):
            connection.execute("ROLLBACK")


class SqliteLookUp:
    """Looks up records for one thread, as the port `perdure.storage.ports.RecordLookUp`.

    `columns` are those of the place and the checksum of a record, or NULL in a file that has none.
    """

    def __init__(self, connection: apsw.Connection, columns: str, *, all_summed: bool) -> None:
        self._connection = connection
        self._execute = connection.cursor().execute
        self._stored = _STORED.format(columns)
        self._last = _LAST.format(columns)
        self._all_summed = all_summed
        self._references = References()
        self._is_held = False
        self._is_caught_up = False
        """True if `_references` has the recent references of the state that is held."""

    def find_stored(self, key: str) -> str | None:
        """The current revision in its stored form."""
        try:
            row = self._execute(self._stored, (key,)).fetchone()
        except _FAULTS as error:
            raise _make_failure(error, spell_key(key)) from error
        if row is None:
            return None
        text: str
        text, position, sum = row
        try:  # `is_sound_line` without its calls, since each redirect comes here
            if sum == crc32((text + key).encode(), position) >> 1:
                return text
        except (TypeError, UnicodeEncodeError):  # no checksum or no position, or another type
            pass
        return self._check_slowly(key, text, position, sum)

    def _check_slowly(self, key: str, text: str, position: int | None, sum: int | None) -> str:
        """The text of a row whose checksum is not the usual one. Raises Corrupt."""
        if is_sound_line(key, text, position, sum) if sum is not None else not self._all_summed:
            return text
        raise make_altered(spell_key(key))

    def find_last_stored(self, low: str, high: str) -> tuple[str, str] | None:
        """The last record with low <= key <= high: its key and its stored form."""
        try:
            row = self._execute(self._last, (low, high)).fetchone()
        except _FAULTS as error:
            raise _make_failure(error, spell_key(high)) from error
        if row is None:
            return None
        text, position, sum, key = row
        try:  # as in `find_stored`
            if sum == crc32((text + key).encode(), position) >> 1:
                return key, text
        except (TypeError, UnicodeEncodeError):
            pass
        return key, self._check_slowly(key, text, position, sum)

    def find_referring(self, reference: str, *, limit: int) -> list[str]:
        """Keys of at most `limit` records that may have this reference."""
        hash = reference_hash(reference)
        try:
            if not self._is_caught_up:
                self._references.catch_up(self._ask)
                self._is_caught_up = self._is_held
            recent = self._references.list_recent(hash)
            rows = self._execute(spell_search(limit), (hash,)).fetchall()
        except _FAULTS as error:
            raise _make_failure(error, reference) from error
        return join_keys(recent, rows, limit)

    def _ask(self, statement: str, bindings: tuple[str | int | None, ...]) -> list[Any]:
        return self._execute(statement, bindings).fetchall()

    def hold_state(self) -> None:
        self._execute("BEGIN")
        self._is_held, self._is_caught_up = True, False

    def release_state(self) -> None:
        self._is_held = self._is_caught_up = False
        end_reading(self._connection)


def _make_failure(error: Exception, what: str) -> Corrupt | Unavailable:
    """The error to raise if `what` could not be looked up."""
    if isinstance(error, UnicodeDecodeError):
        return make_unreadable(what, "a record", error)
    return make_unusable("the registry", error)
