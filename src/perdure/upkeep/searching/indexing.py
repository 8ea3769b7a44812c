"""The index of words of a registry: a follower of the changes.

How it works: a held document is an entry with its title, its description and its plain text. So is
a record without documents, such as a handle, if it has a description. At each change of a record,
the entries that became different are replaced, and those of documents that were withdrawn, erased
or corrected are deleted (`perdure.upkeep.changes.record_index` has the common half). Then `purge`
removes their words. A text that cannot be read is noted; its document is found by its description.

What must stay true: the index is a hint. Whatever it finds is compared through the read door
(`perdure.upkeep.searching.finding`), so an index that lags behind tells nothing.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from perdure.archives.port import Capture
from perdure.errors import PerdureError
from perdure.extractors.inside.derived import InsideReader
from perdure.ids import Identifier
from perdure.model.folding import fold_words
from perdure.model.records import Level, Record, Representation
from perdure.policy.naming import identify_record
from perdure.policy.searching.described import DescribedWords, describe_words, read_day
from perdure.policy.searching.matching import SearchedText
from perdure.policy.showing import show_to_readers
from perdure.reading.extraction import PartExtraction
from perdure.registry import Registry
from perdure.upkeep.changes.record_index import RecordIndex, list_held
from perdure.upkeep.searching.capture_table import (
    CAPTURE,
    CAPTURE_SCHEMA,
    CAPTURE_TABLES,
    CaptureTable,
    make_entry,
)
from perdure.upkeep.searching.capture_texts import (
    add_captures,
    carry_out_takedowns,
    forget_changed_files,
    has_unread_captures,
)
from perdure.upkeep.searching.describing import describe_held
from perdure.upkeep.searching.index_reader import FORMAT
from perdure.upkeep.searching.text_index import SCHEMA, Entry, EntryWords, WordTable

FILE = Path("followers", "search.sqlite")
_BATCH_LENGTH = 4 << 20  # characters
_BATCH_SECONDS = 1.0  # until what was indexed is committed, and can be found
_CACHE_KIB = 64 << 10
_FORGET_UNREAD = f"DELETE FROM unread WHERE substr(key, 1, 1) = '{CAPTURE}'"  # noqa: S608


class _Planned(NamedTuple):
    """An entry as it is to be, and what its words are read from."""

    entry: Entry
    name: Identifier
    said: DescribedWords
    held: Representation | None


class WordIndex(RecordIndex):
    """The index of one registry, for writing. For one thread."""

    schema = SCHEMA + CAPTURE_SCHEMA
    tables = CAPTURE_TABLES

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        # indexes of parts are made when a part is requested, not for every document
        self._parts = PartExtraction()
        self._inside = InsideReader()
        self._present: dict[str, list[Entry]] = {}  # entries of records that were looked up ahead
        super().__init__(registry.root / FILE)
        self.connection.pragma("journal_mode", "wal")  # searches go on meanwhile
        self.connection.pragma("cache_size", -_CACHE_KIB)
        self.words = WordTable(self.connection)
        self.captures = CaptureTable(self.connection, self.words)
        if self.connection.pragma("user_version") != FORMAT:
            self.reset()
            self.connection.pragma("user_version", FORMAT)
        self._due, self._length = 0.0, 0

    def close(self) -> None:
        self._parts.close()
        self._inside.close()
        super().close()

    def reset(self) -> None:
        with self.connection:
            self.words.drop_volumes()
            self._present.clear()
            super().reset()

    def index_captures(self) -> None:
        """Read the captures in archive files that are new or changed; delete those taken down."""
        registry, captures = self._registry, self.captures
        if not has_unread_captures(registry, captures):
            return
        with self._writing_captures():
            carry_out_takedowns(registry, captures)
        with self._writing_captures():
            files = forget_changed_files(registry, captures)
            self.connection.execute(_FORGET_UNREAD)
        if not files:
            return
        for some in add_captures(registry, captures, self._parts, files, self._note_capture):
            with self._writing_captures():
                for _ in some:
                    pass
        with self._writing_captures():
            for name, stamp in files.items():
                captures.note_file(name, stamp)

    def delete_taken_down(self) -> None:
        """Delete the captures that were taken down since the index was brought up to date."""
        with self._writing_captures():
            carry_out_takedowns(self._registry, self.captures)

    @contextmanager
    def _writing_captures(self) -> Iterator[None]:
        with self.connection:
            self.words.begin_batch()
            yield
            self.words.end_batch()

    def purge(self) -> None:
        """Remove the words of deleted entries from the file."""
        purged = False
        while self.words.purge():
            purged = True
        if purged:
            self.empty_log()

    # indexing
    # --------

    def begin_batch(self) -> None:
        super().begin_batch()
        self.words.begin_batch()
        self._due = time.monotonic() + _BATCH_SECONDS
        self._length = 0

    def is_batch_full(self) -> bool:
        return self._length >= _BATCH_LENGTH or time.monotonic() >= self._due

    def end_batch(self) -> None:
        self.words.end_batch()

    def prepare_keys(self, keys: Sequence[str]) -> None:
        self._present = self.words.list_entries_of(keys)

    def index_record(self, key: str, record: Record | None) -> None:
        entries = self._present.pop(key, None)  # it is out of date after this
        if entries is None:
            entries = self.words.list_entries(key)
        present = {(one.version, one.format): one for one in entries}
        for planned in () if record is None else self._plan_entries(key, record):
            new = planned.entry
            same = present.pop((new.version, new.format), None)
            if same is not None:
                if (same.day, same.state) == (new.day, new.state):
                    continue
                self.words.delete_entry(same.id)
            words = self._read_words(key, planned)
            if length := words.length:
                self._length += length
                self.words.add_entry(new, words, length)
        for stale in present.values():
            self.words.delete_entry(stale.id)

    def _plan_entries(self, key: str, record: Record) -> Iterator[_Planned]:
        """Yield the entries of a record: one for each document, or one for the record alone."""
        has_documents = False
        is_said = record.about or record.narrower or record.metadata or record.values
        shown = show_to_readers(record) if is_said else record
        for name, number, held in list_held(key, record):
            has_documents = True
            said = describe_held(
                self._registry, name, shown, number, held, self._inside.describe_document
            )
            version = record.version(number)
            deposited = held.at or (version.at if version else "")
            day = find_day(name, said, deposited)
            state = compute_state(said, held)
            yield _Planned(Entry(0, key, number, held.format, day, state), name, said, held)
        if has_documents or record.tombstone is not None:
            return
        name, said = identify_record(key, record), describe_words(shown, Level())
        if said.is_said:
            day = find_day(name, said, record.at)
            yield _Planned(Entry(0, key, 0, "", day, compute_state(said, None)), name, said, None)

    def _read_words(self, key: str, planned: _Planned) -> EntryWords:
        folded = ""
        if planned.held is not None:
            try:
                source = self._registry.documents.open_source(planned.name, planned.held)
                found = self._parts.read_characters(source)
                folded = SearchedText(*found).folded if found is not None else ""
            except PerdureError as problem:  # damaged, too large, a scan, no library to read it
                self.note_unread(key, str(planned.name), problem)
        if not planned.said.is_said:
            return EntryWords(folded, "", "", "")
        said = {field: fold_words(one) for field, one in planned.said.by_field()}
        return EntryWords(text=folded, **said)

    def _note_capture(self, capture: Capture, problem: Exception) -> None:
        self.note_unread(make_entry(capture).key, f"{capture.uri} of {capture.date}", problem)


def compute_state(said: DescribedWords, held: Representation | None) -> int:
    """Return a number that changes with the words of an entry."""
    about = "\0".join(said)
    if held is not None:
        about += f"\0{held.sha512}\0{held.reading}"
    digest = hashlib.blake2b(about.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def find_day(name: Identifier, said: DescribedWords, deposited: str) -> int:
    """Return the day of a document: as its description says, else that in its name, else the day on
    which it was deposited. It is 0 if none is known."""
    for text in (said.date, name.assigned_on, deposited):
        if text and (day := read_day(text)):
            return day
    return 0
