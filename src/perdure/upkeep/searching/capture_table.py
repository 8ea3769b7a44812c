"""The captures in the index of words, and the archive files that they come from.

How it works: a capture is an entry whose key is the URI after `CAPTURE`, and whose version is its
second in 14 digits; so the captures of one URI are found together, as the versions of a document
are. Beside it stands the file that contains it. The table also has the files that were read, each
with its stamp, and the number of takedowns (`perdure.archives.withholding`) that were carried out.

What must stay true: an entry of a capture is deleted with its file, and by its takedown.
"""

from __future__ import annotations

from typing import Any

import apsw

from perdure.archives.port import Capture
from perdure.formats import list_tokens
from perdure.policy.searching.described import read_day
from perdure.upkeep.searching.text_index import Entry, EntryWords, WordTable

CAPTURE = "\x01"
"""Begins the keys of captures. No key of a record begins so."""
CAPTURE_SCHEMA = """
CREATE TABLE IF NOT EXISTS archive_file (name TEXT PRIMARY KEY, stamp TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS captured (entry INTEGER PRIMARY KEY, file TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS captured_file ON captured (file);
CREATE TABLE IF NOT EXISTS takedown (
    one INTEGER PRIMARY KEY CHECK (one = 1), carried_out INTEGER NOT NULL
);
"""
CAPTURE_TABLES = ("archive_file", "captured", "takedown")


class CaptureTable:
    """The captures in one index. For one thread."""

    def __init__(self, connection: apsw.Connection, words: WordTable) -> None:
        self._connection = connection
        self._words = words

    def has_captures(self) -> bool:
        found = self._connection.execute("SELECT 1 FROM captured LIMIT 1").fetchone()
        return found is not None

    # archive files
    # -------------

    def list_files(self) -> dict[str, str]:
        """Return the archive files whose captures were read, each with its stamp."""
        return dict(self._connection.execute("SELECT name, stamp FROM archive_file"))

    def note_file(self, name: str, stamp: str) -> None:
        """Note that the captures of an archive file were read."""
        self._connection.execute("INSERT OR REPLACE INTO archive_file VALUES (?, ?)", (name, stamp))

    def forget_file(self, name: str) -> None:
        """Delete the captures of an archive file, which is then read again if it is still there."""
        query = "SELECT entry FROM captured WHERE file = ?"
        rows: list[tuple[Any, ...]] = self._connection.execute(query, (name,)).fetchall()
        for (number,) in rows:
            self._delete_entry(number)
        self._connection.execute("DELETE FROM archive_file WHERE name = ?", (name,))

    # captures
    # --------

    def add_capture(self, capture: Capture, words: EntryWords) -> None:
        """Add a capture. Of several with one URI and second, the first one counts."""
        entry = make_entry(capture)
        if any(one.version == entry.version for one in self._words.list_entries(entry.key)):
            return
        number = self._words.add_entry(entry, words)
        self._connection.execute("INSERT INTO captured VALUES (?, ?)", (number, capture.file))

    def delete_capture(self, capture: Capture) -> None:
        """Delete the entry of a capture, if there is one."""
        entry = make_entry(capture)
        for one in self._words.list_entries(entry.key):
            if one.version == entry.version:
                self._delete_entry(one.id)

    def _delete_entry(self, number: int) -> None:
        self._words.delete_entry(number)
        self._connection.execute("DELETE FROM captured WHERE entry = ?", (number,))

    # takedowns
    # ---------

    def count_takedowns(self) -> int:
        """Return the number of lines of takedowns that were carried out."""
        row = self._connection.execute("SELECT carried_out FROM takedown").fetchone()
        return int(row[0]) if row else 0

    def note_takedowns(self, count: int) -> None:
        self._connection.execute("INSERT OR REPLACE INTO takedown VALUES (1, ?)", (count,))


def make_entry(capture: Capture) -> Entry:
    """Return the entry of a capture, without its number."""
    format = list_tokens(capture.media_type)[0] if capture.media_type else ""
    day = read_day(capture.date)
    return Entry(0, f"{CAPTURE}{capture.uri}", int(capture.time), format, day, 0)


def read_key(entry: Entry) -> tuple[str, str] | None:
    """Return the URI and the second of the capture of an entry, or None if it is a record."""
    if not entry.key.startswith(CAPTURE):
        return None
    return entry.key.removeprefix(CAPTURE), f"{entry.version:014}"
