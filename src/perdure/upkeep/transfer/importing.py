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
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import msgspec

from perdure.errors import Conflict, PerdureError
from perdure.model.commands import Content, Load, Receipt, Row
from perdure.registry import Registry
from perdure.upkeep.transfer import blocks
from perdure.upkeep.transfer.blocks import Block, Fault, Reading, cut, fault, read_blocks, rows_of
from perdure.upkeep.transfer.rows import BY, Terms, discard, merged
from perdure.upkeep.transfer.sorting import Sorter, size_of
from perdure.writing.door import Door
from perdure.writing.load import write_rows
from perdure.writing.registrar import timestamp

_SOME = 5000  # rows of a load
_BLOCKS = 4  # of a load
_MOST_BYTES = 16 << 20  # of a load, roughly


class Source(msgspec.Struct, frozen=True):
    """The source of lines."""

    file: BinaryIO
    files: Path
    """Directory of the files that lines name by path."""
    path: Path | None = None
    """None for a stream, which cannot be resumed."""


class Progress(msgspec.Struct, frozen=True, kw_only=True):
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
    registry: Registry, source: Source, *, atomic: bool = False, processes: int | None = None
) -> Iterator[Progress]:
    """Import all lines. Iterate to the end.

    With `atomic`, nothing is written if one line is bad, and an interruption leaves nothing behind.
    Raises StorageFailed, Unavailable.
    """
    now = registry.clock()
    terms = Terms(
        now=timestamp(now),
        today=now.strftime("%Y/%m/%d"),
        incoming=str(registry.root / "incoming"),
        files=str(source.files),
        series=registry.settings.series,
    )
    if atomic:
        return _all_or_nothing(registry, source, terms, processes)
    return _one_by_one(registry, source, terms, processes)


# Line by line
# ------------


def _one_by_one(
    registry: Registry, source: Source, terms: Terms, processes: int | None
) -> Iterator[Progress]:
    checkpoint = _Checkpoint(registry.root, source)
    start, first = checkpoint.load()
    tally = _Tally(read=start)
    run = _Run(registry.door, tally, begun=(start, first))
    with Sorter(Path(terms.incoming)) as late, _Waiting(terms) as waiting:
        parts = cut(source.file, start=start, first=first)
        for block, reading in read_blocks(parts, terms, processes=processes):
            tally.note(*reading.faults)
            run.enter(block)
            if run.extend(reading):
                waiting.note(*reading.rows)
            else:
                for row in _good(_rows(block, reading, terms), tally):
                    waiting.note(row)
                    if not run.offer(row):
                        late.add(row)
            if run.is_full:
                run.send(kept=1)
                if not late.count:
                    checkpoint.save(*run.begun)
            tally.read = block.end
            yield tally.progress("reading")
        run.send()
        run = _Run(registry.door, tally)
        rows = late.sorted()
        while some := list(islice(rows, _SOME)):
            for row in some:
                run.offer(row)
            run.send(kept=1)
            yield tally.progress("sorting")
        run.send()
    yield tally.progress("indexing")
    registry.door.execute(Load(by=BY, last=True))
    checkpoint.clear()
    yield tally.progress("done")


class _Run:
    """Rows in ascending order on their way into the registry, collected from several blocks. The
    last row waits, because the next line may add to its identifier."""

    def __init__(self, door: Door, tally: _Tally, *, begun: tuple[int, int] = (0, 1)) -> None:
        self._door = door
        self._tally = tally
        self._rows: list[Row] = []
        self._size = 0
        self._high = ""
        self._length = 0  # of the block from which rows come
        self._here = begun
        self.begun = begun
        """Offset and first line of the block in which the waiting row begins."""

    def enter(self, block: Block) -> None:
        """Start a block; the next rows come from it."""
        self._here = block.start, block.first
        self._length = block.end - block.start
        if not self._rows:
            self.begun = self._here

    @property
    def is_full(self) -> bool:
        """True if there are enough rows to be worth a flush of the disk."""
        return len(self._rows) > _SOME or self._size >= _BLOCKS * blocks.BLOCK

    def extend(self, reading: Reading) -> bool:
        """Take all rows of a block at once if they are in order. Return whether they were taken."""
        if not reading.rows:
            return not reading.has_paths
        if not reading.ascending or reading.rows[0].key <= self._high:
            return False
        self._rows += reading.rows
        self._high = reading.rows[-1].key
        self.begun = self._here
        self._size += self._length
        return True

    def offer(self, row: Row) -> bool:
        """Take a row unless it comes too late. Return whether it was taken."""
        if row.key < self._high:
            return False
        if self._rows and row.key == self._high:
            try:
                self._rows[-1] = merged(self._rows[-1], row)
            except PerdureError as error:
                self._tally.note(fault(row.line, error))
        else:
            self._rows.append(row)
            self._high = row.key
            self.begun = self._here
        self._size += size_of(row)
        if self._size > _MOST_BYTES:
            self.send()
        return True

    def send(self, *, kept: int = 0) -> None:
        """Make all rows durable, except the last `kept` ones."""
        count = len(self._rows) - kept
        if count > 0:
            rows, self._rows = tuple(self._rows[:count]), self._rows[count:]
            self._size = sum(map(size_of, self._rows))
            self._tally.count(self._door.execute(Load(by=BY, rows=rows)))


# All or nothing
# --------------


def _all_or_nothing(
    registry: Registry, source: Source, terms: Terms, processes: int | None
) -> Iterator[Progress]:
    tally = _Tally()
    spilled = Path(terms.incoming) / f"import-{uuid.uuid4().hex}.rows"
    with Sorter(Path(terms.incoming)) as sorter, _Waiting(terms) as waiting:
        for block, reading in read_blocks(cut(source.file), terms, processes=processes):
            tally.note(*reading.faults)
            for row in _good(_rows(block, reading, terms), tally):
                waiting.note(row)
                sorter.add(row)
            tally.read = block.end
            yield tally.progress("reading")
        try:
            if not tally.refused:
                with spilled.open("xb") as file:
                    write_rows(file, _joined(sorter.sorted(), tally))
            yield tally.progress("writing")
            if not tally.refused:
                command = Load(by=BY, spilled=spilled.name, last=True)
                tally.count(registry.door.execute(command))
        finally:
            spilled.unlink(missing_ok=True)
    yield tally.progress("done")


def _joined(rows: Iterable[Row], tally: _Tally) -> Iterator[Row]:
    """Join sorted rows, so that each key comes once."""
    last: Row | None = None
    for row in rows:
        if last is not None and row.key == last.key:
            try:
                last = merged(last, row)
            except PerdureError as error:
                tally.note(fault(row.line, error))
            continue
        if last is not None:
            yield last
        last = row
    if last is not None:
        yield last


# Shared by both ways
# -------------------
# -------------------


class _Tally:
    """Totals, and the faults that were not reported yet."""

    def __init__(self, *, read: int = 0) -> None:
        self.read = read
        self.refused = 0
        self._accepted = 0
        self._faults: list[Fault] = []

    def note(self, *faults: Fault) -> None:
        self._faults += faults
        self.refused += len(faults)

    def count(self, receipt: Receipt) -> None:
        """Count the result of a load."""
        self._accepted += receipt.accepted
        for line, reason in receipt.rejected:
            self.note(Fault(line, {"code": Conflict.code, "message": reason, "repair": ""}))

    def progress(self, phase: str) -> Progress:
        found = tuple(self._faults)
        self._faults.clear()
        return Progress(
            phase=phase,
            read=self.read,
            accepted=self._accepted,
            refused=self.refused,
            faults=found,
        )


class _Waiting:
    """Content that waits in files until its row is loaded. At the end, files that were not
    committed are removed; committed content is in no such file any more."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._contents: list[Content] = []

    def note(self, *rows: Row) -> None:
        for row in rows:
            if row.contents:
                self._contents += (one for _, one in row.contents if one.spooled)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for content in self._contents:
            discard(content, self._terms)


def _rows(block: Block, reading: Reading, terms: Terms) -> Iterable[Row | Fault]:
    """Return the rows of a block; read them one by one if their bytes are in files."""
    return rows_of(block, terms) if reading.has_paths else reading.rows


def _good(rows: Iterable[Row | Fault], tally: _Tally) -> Iterator[Row]:
    for row in rows:
        if isinstance(row, Fault):
            tally.note(row)
        else:
            yield row


class _Checkpoint:
    """The position of an import, so that it can resume there. Nothing is remembered for a stream,
    or for a file that was changed meanwhile."""

    def __init__(self, root: Path, source: Source) -> None:
        self._source = source
        self._path: Path | None = None
        if source.path is not None:
            path = source.path.resolve()
            known = path.stat()
            self._about = [str(path), known.st_size, known.st_mtime_ns]
            name = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
            self._path = root / "incoming" / f"import-{name}.json"

    def load(self) -> tuple[int, int]:
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

    def save(self, start: int, first: int) -> None:
        """Record that all lines before this one are durable."""
        if self._path is not None:
            beside = self._path.with_suffix(".new")
            beside.write_bytes(msgspec.json.encode((self._about, start, first)))
            beside.replace(self._path)

    def clear(self) -> None:
        if self._path is not None:
            self._path.unlink(missing_ok=True)
