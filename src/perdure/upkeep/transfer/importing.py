"""Import: a file of lines into the registry.

How it works: blocks of lines are read (by other processes if there are many) and handed to the
write door as loads of some thousand rows. Rows in the order of their keys are loaded at once; rows
that come too late wait in a `Sorter` until the end. References are indexed once, at the very end.
Consecutive lines of one identifier make one row.

An interrupted import resumes where it stopped: a small file in the registry records how far all
lines are durable. This ends when the first row has to wait; after a later interruption, lines are
read again, and known ones change nothing.

What must stay true: a bad line is reported with its number and does not affect the others; an
atomic import writes everything in one transaction, or nothing; memory is bounded, whatever the
number of lines.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Self

import msgspec

from perdure.errors import Conflict, PerdureError
from perdure.model.commands import Content, Joining, Load, LoadColumns, LoadRow, Receipt
from perdure.model.timestamps import format_timestamp
from perdure.registry import Registry
from perdure.storage.byte_ports import INCOMING
from perdure.upkeep.transfer import blocks
from perdure.upkeep.transfer.blocks import (
    BlockReading,
    Fault,
    LineBlock,
    Readers,
    cut_blocks,
    make_fault,
    read_blocks,
    read_rows_of,
)
from perdure.upkeep.transfer.line_contents import Terms, discard_content
from perdure.upkeep.transfer.plain_rows import BY
from perdure.upkeep.transfer.rows import merge_rows
from perdure.upkeep.transfer.sorting import Sorter, size_of
from perdure.writing.door import Door
from perdure.writing.row_files import write_rows

_SOME = 5000  # rows of a load
_BLOCKS = 4  # of a load
_MOST_BYTES = 16 << 20  # of a load, roughly


class ImportSource(msgspec.Struct, frozen=True):
    """The source of lines."""

    file: BinaryIO
    files: Path
    """Directory of the files that lines name by path."""
    path: Path | None = None
    """None for a stream, which cannot be resumed."""
    key: str = ""
    """All that decides to which lines a file of another system is converted."""
    unit: str = "line"
    """What the number of a line counts in that file: `line` or `record`."""
    take_faults: Callable[[], tuple[Fault, ...]] = tuple
    """Returns the records that could not be converted since the last call."""


class ImportProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of an import; all numbers are totals."""

    phase: str
    read: int
    """Bytes of the source."""
    accepted: int
    """Identifiers that are in the registry now, new or not."""
    refused: int
    """Lines."""
    faults: tuple[Fault, ...] = ()
    """Faults since the last progress."""


def import_lines(
    registry: Registry,
    source: ImportSource,
    *,
    how: Joining = Joining.ADD,
    atomic: bool = False,
    readers: Readers | None = None,
) -> Iterator[ImportProgress]:
    """Import all lines, and join them with known records as `how` says. Iterate to the end.

    `readers` read the lines of a long source (`blocks.fork_readers`).
    With `atomic`, nothing is written if one line is bad, and an interruption leaves nothing behind.
    Raises StorageFailed, Unavailable.
    """
    terms = make_terms(registry, source, how)
    if atomic:
        return _import_atomically(registry, source, terms, readers)
    return _import_line_by_line(registry, source, terms, readers)


def make_terms(registry: Registry, source: ImportSource, how: Joining) -> Terms:
    """Make the terms of an import that begins now."""
    now = registry.clock()
    return Terms(
        now=format_timestamp(now),
        today=now.strftime("%Y/%m/%d"),
        incoming=str(registry.incoming),
        files=str(source.files),
        series=registry.settings.series,
        how=how,
    )


# Line by line
# ------------


def _import_line_by_line(
    registry: Registry, source: ImportSource, terms: Terms, readers: Readers | None
) -> Iterator[ImportProgress]:
    checkpoint = _Checkpoint(registry.root, source)
    start, first = checkpoint.load_start()
    tally = _Tally(read=start)
    run = _Run(registry.door, tally, terms.how, begun=(start, first))
    with Sorter(Path(terms.incoming)) as late, _SpooledContents(terms) as waiting:
        parts = cut_blocks(source.file, start=start, first=first)
        for block, reading in read_blocks(parts, terms, readers):
            tally.note_faults(*source.take_faults(), *reading.faults)
            run.enter_block(block)
            if run.take_block(reading):
                waiting.note_rows(*reading.rows)
            else:
                for row in _sift_faults(_rows_of_block(block, reading, terms), tally):
                    waiting.note_rows(row)
                    if not run.take_row(row):
                        late.add_row(row)
            if run.is_full:
                run.send_rows(keep_last=True)
                if not late.count:
                    checkpoint.save_start(*run.begun)
            tally.read = block.end
            yield tally.make_progress("reading")
        tally.note_faults(*source.take_faults())
        run.send_rows()
        run = _Run(registry.door, tally, terms.how)
        rows = late.sorted_rows()
        while some := list(islice(rows, _SOME)):
            for row in some:
                run.take_row(row)
            run.send_rows(keep_last=True)
            yield tally.make_progress("sorting")
        run.send_rows()
    yield tally.make_progress("indexing")
    registry.door.execute_command(Load(by=BY, last=True))
    checkpoint.clear()
    yield tally.make_progress("done")


class _Run:
    """Rows in ascending order on their way into the registry, collected from several blocks. The
    last row waits, because the next line may add to its identifier."""

    def __init__(
        self, door: Door, tally: _Tally, how: Joining, *, begun: tuple[int, int] = (0, 1)
    ) -> None:
        self._door = door
        self._how = how
        self._tally = tally
        self._rows: list[LoadRow] = []
        self._columns: list[LoadColumns] = []  # of later rows
        self._size = 0
        self._high = ""
        self._length = 0  # of the block from which rows come
        self._here = begun
        self.begun = begun
        """Offset and first line of the block in which the waiting row begins."""

    def enter_block(self, block: LineBlock) -> None:
        """Start a block; the next rows come from it."""
        self._here = block.start, block.first
        self._length = block.end - block.start
        if not self._count_rows():
            self.begun = self._here

    def _count_rows(self) -> int:
        return len(self._rows) + sum(len(one.keys) for one in self._columns)

    @property
    def is_full(self) -> bool:
        """True if there are enough rows to be worth a flush of the disk."""
        return self._count_rows() > _SOME or self._size >= _BLOCKS * blocks.BLOCK

    def take_block(self, reading: BlockReading) -> bool:
        """Take all rows of a block at once if they are in order. Return whether they were taken."""
        columns = reading.columns
        if columns is None and not reading.rows:
            return not reading.has_paths
        first, last = (
            (columns.keys[0], columns.keys[-1])
            if columns
            else (reading.rows[0].key, reading.rows[-1].key)
        )
        if not reading.ascending or first <= self._high:
            return False
        if columns:
            self._columns.append(columns)
        else:
            self._spread_columns()
            self._rows += reading.rows
        self._high = last
        self.begun = self._here
        self._size += self._length
        return True

    def _spread_columns(self) -> None:
        """Make rows of columns, since other rows follow."""
        for columns in self._columns:
            self._rows += columns.as_rows()
        self._columns.clear()

    def take_row(self, row: LoadRow) -> bool:
        """Take a row unless it comes too late. Return whether it was taken."""
        self._spread_columns()
        if row.key < self._high:
            return False
        if self._rows and row.key == self._high:
            try:
                self._rows[-1] = merge_rows(self._rows[-1], row)
            except PerdureError as error:
                self._tally.note_faults(make_fault(row.line, error))
        else:
            self._rows.append(row)
            self._high = row.key
            self.begun = self._here
        self._size += size_of(row)
        if self._size > _MOST_BYTES:
            self.send_rows()
        return True

    def send_rows(self, *, keep_last: bool = False) -> None:
        """Make all rows durable, or all but the last."""
        kept: list[LoadRow] = []
        if keep_last and self._columns:
            self._columns[-1], last = self._columns[-1].split_last()
            kept.append(last)
        elif keep_last and self._rows:
            kept.append(self._rows.pop())
        rows, columns = tuple(self._rows), tuple(self._columns)
        self._rows, self._columns = kept, []
        self._size = sum(map(size_of, kept))
        if rows or columns:
            command = Load(by=BY, rows=rows, columns=columns, how=self._how)
            self._tally.count_receipt(self._door.execute_command(command))


# All or nothing
# --------------


def _import_atomically(
    registry: Registry, source: ImportSource, terms: Terms, readers: Readers | None
) -> Iterator[ImportProgress]:
    tally = _Tally()
    spilled = Path(terms.incoming) / f"import-{uuid.uuid4().hex}.rows"
    with Sorter(Path(terms.incoming)) as sorter, _SpooledContents(terms) as waiting:
        for block, reading in read_blocks(cut_blocks(source.file), terms, readers):
            tally.note_faults(*source.take_faults(), *reading.faults)
            for row in _sift_faults(_rows_of_block(block, reading, terms), tally):
                waiting.note_rows(row)
                sorter.add_row(row)
            tally.read = block.end
            yield tally.make_progress("reading")
        tally.note_faults(*source.take_faults())
        try:
            if not tally.refused:
                with spilled.open("xb") as file:
                    write_rows(file, _join_rows(sorter.sorted_rows(), tally))
            yield tally.make_progress("writing")
            if not tally.refused:
                command = Load(by=BY, spilled=spilled.name, how=terms.how, last=True)
                tally.count_receipt(registry.door.execute_command(command))
        finally:
            spilled.unlink(missing_ok=True)
    yield tally.make_progress("done")


def _join_rows(rows: Iterable[LoadRow], tally: _Tally) -> Iterator[LoadRow]:
    """Join sorted rows, so that each key comes once."""
    last: LoadRow | None = None
    for row in rows:
        if last is not None and row.key == last.key:
            try:
                last = merge_rows(last, row)
            except PerdureError as error:
                tally.note_faults(make_fault(row.line, error))
            continue
        if last is not None:
            yield last
        last = row
    if last is not None:
        yield last


# Shared by both ways
# -------------------


class _Tally:
    """Totals, and the faults that were not reported yet."""

    def __init__(self, *, read: int = 0) -> None:
        self.read = read
        self.refused = 0
        self._accepted = 0
        self._faults: list[Fault] = []

    def note_faults(self, *faults: Fault) -> None:
        self._faults += faults
        self.refused += len(faults)

    def count_receipt(self, receipt: Receipt) -> None:
        """Count the result of a load."""
        self._accepted += receipt.accepted
        for line, reason in receipt.rejected:
            self.note_faults(Fault(line, {"code": Conflict.code, "message": reason, "repair": ""}))

    def make_progress(self, phase: str) -> ImportProgress:
        found = tuple(self._faults)
        self._faults.clear()
        return ImportProgress(
            phase=phase,
            read=self.read,
            accepted=self._accepted,
            refused=self.refused,
            faults=found,
        )


class _SpooledContents:
    """Content that waits in files until its row is loaded. At the end, files that were not
    committed are removed; committed content is in no such file any more."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._contents: list[Content] = []

    def note_rows(self, *rows: LoadRow) -> None:
        for row in rows:
            if row.contents:
                self._contents += (one for _, one in row.contents if one.spooled)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for content in self._contents:
            discard_content(content, self._terms)


def _rows_of_block(
    block: LineBlock, reading: BlockReading, terms: Terms
) -> Iterable[LoadRow | Fault]:
    """Return the rows of a block; read them one by one if their bytes are in files."""
    return read_rows_of(block, terms) if reading.has_paths else reading.list_rows()


def _sift_faults(rows: Iterable[LoadRow | Fault], tally: _Tally) -> Iterator[LoadRow]:
    for row in rows:
        if isinstance(row, Fault):
            tally.note_faults(row)
        else:
            yield row


class _Checkpoint:
    """The position of an import, so that it can resume there. Nothing is remembered for a stream,
    or for a file that was changed meanwhile."""

    def __init__(self, root: Path, source: ImportSource) -> None:
        self._source = source
        self._path: Path | None = None
        if source.path is not None:
            path = source.path.resolve()
            known = path.stat()
            self._about = [str(path), known.st_size, known.st_mtime_ns, source.key]
            name = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
            self._path = root / INCOMING / f"import-{name}.json"

    def load_start(self) -> tuple[int, int]:
        """Return where to begin: an offset, and the number of the line there."""
        if self._path is None:
            return 0, 1
        try:
            about, start, first = msgspec.json.decode(
                self._path.read_bytes(), type=tuple[list[str | int], int, int]
            )
        except (FileNotFoundError, msgspec.MsgspecError):
            return 0, 1
        if about != self._about:
            return 0, 1
        self._source.file.seek(start)
        return start, first

    def save_start(self, start: int, first: int) -> None:
        """Record that all lines before this one are durable."""
        if self._path is not None:
            beside = self._path.with_suffix(".new")
            beside.write_bytes(msgspec.json.encode((self._about, start, first)))
            beside.replace(self._path)

    def clear(self) -> None:
        if self._path is not None:
            self._path.unlink(missing_ok=True)
