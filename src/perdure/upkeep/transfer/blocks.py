"""A long file of lines, cut into blocks that are read independently.

How it works: a block is about a mebibyte of complete lines and knows its place in the file, so
reading its lines is a pure function, done here or in another process (`fork_readers`,
`read_blocks`). If a line names a file, its block is left to the caller, who reads the files one
after another.

What must stay true: blocks come back in the order of the file; no more blocks are in memory than
the processes are busy with; a line of any length costs bounded memory; processes are forked before
any file of a registry is open and before threads start, and none outlives the one that forked it.
"""

from __future__ import annotations

import codecs
import gc
import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from operator import lt
from threading import Thread, active_count
from typing import Any, BinaryIO, TypeAlias

import msgspec

from perdure.errors import PerdureError, StorageFailed
from perdure.errors.limits import LineTooLong
from perdure.errors.processes import WorkerKilled
from perdure.model.commands import Joining, LoadColumns, LoadRow
from perdure.upkeep.helpers import count_cores
from perdure.upkeep.transfer.line_contents import Terms, discard_content
from perdure.upkeep.transfer.lines import Line, PlainLine, read_line, read_plain_lines
from perdure.upkeep.transfer.plain_rows import make_plain_columns
from perdure.upkeep.transfer.rows import make_row, name_given_fields

BLOCK = 1 << 20  # bytes read at once
LONGEST_LINE = 64 << 20  # bytes
_FEW = 4  # blocks; fewer are not worth another process
_NICE = 5  # the writing process comes first: the others read ahead
_MOST_PROCESSES = 3  # reading a line costs about twice as much as loading it costs this process
_MOST_WAITING = 2 * _MOST_PROCESSES + 1  # blocks

Readers: TypeAlias = ProcessPoolExecutor


class LineBlock(msgspec.Struct, frozen=True, gc=False):
    """A few consecutive lines of a file."""

    text: bytes
    start: int
    """Offset in the file."""
    end: int
    first: int
    """Number of the first line, from 1."""
    lines: int
    too_long: bool = False
    """It is one line, of which only the beginning was kept."""


class Fault(msgspec.Struct, frozen=True):
    """A line that cannot be used."""

    line: int
    error: dict[str, Any]
    """Code and fields of the error, and its texts as `message` and `repair`."""


class BlockReading(msgspec.Struct, frozen=True):
    """The rows that the lines of a block gave."""

    rows: tuple[LoadRow, ...]
    faults: tuple[Fault, ...] = ()
    ascending: bool = True
    """Each row has a greater key than the one before."""
    has_paths: bool = False
    """A line names a file: nothing was read."""
    columns: LoadColumns | None = None
    """Instead of rows, if all lines are plain."""

    def list_rows(self) -> tuple[LoadRow, ...]:
        """Return the rows, also if they are columns."""
        return self.columns.as_rows() if self.columns else self.rows


def make_fault(line: int, error: PerdureError) -> Fault:
    told = {"message": error.problem(), "repair": error.repair()}
    return Fault(line, error.as_dict() | told)


# Cutting
# -------


def cut_blocks(file: BinaryIO, *, start: int = 0, first: int = 1) -> Iterator[LineBlock]:
    """Cut a file into blocks from offset `start`, where line `first` begins."""
    pieces: list[bytes] = []  # of a line that is not complete yet
    kept = 0
    length = 0
    while piece := file.read(BLOCK):
        end = piece.rfind(b"\n") + 1
        if not end:
            length += len(piece)
            if kept <= LONGEST_LINE:
                pieces.append(piece)
                kept += len(piece)
            continue
        head = piece[:end]
        if kept > LONGEST_LINE:  # the rest of a line that is too long already
            rest = head.find(b"\n") + 1
            yield LineBlock(pieces[0][:100], start, start + length + rest, first, 1, too_long=True)
            start, first, head = start + length + rest, first + 1, head[rest:]
            pieces, length = [], 0
        text = b"".join((*pieces, head))
        if text:
            lines = text.count(b"\n")
            yield LineBlock(text, start, start + len(text), first, lines)
            start, first = start + len(text), first + lines
        pieces = [piece[end:]] if end < len(piece) else []
        kept = length = len(piece) - end
    if pieces:
        text = b"".join(pieces)
        too_long = kept > LONGEST_LINE
        yield LineBlock(text[:100] if too_long else text, start, start + length, first, 1, too_long)


# Reading
# -------


class _NamesFile(Exception):
    """A line that must be read where its file can be read."""


def read_rows_of(block: LineBlock, terms: Terms) -> Iterator[LoadRow | Fault]:
    """Yield the rows of a block one by one, and faults in their place. Raises StorageFailed."""
    reading = _begin_reading(block, terms)
    yield from reading.as_rows() if isinstance(reading, LoadColumns) else reading


def _begin_reading(
    block: LineBlock, terms: Terms, *, paths: bool = True
) -> LoadColumns | Iterator[LoadRow | Fault]:
    """Return the rows of a block by columns if all its lines are plain, else one by one.

    Without `paths`, a line that names a file ends the reading.
    """
    if block.too_long:
        return iter((make_fault(block.first, LineTooLong(limit=LONGEST_LINE)),))
    plain = read_plain_lines(block.text) if terms.how is Joining.ADD else None
    if plain is None:
        return _read_by_rules(block, terms, paths=paths)
    columns = make_plain_columns(
        plain, block.first, now=terms.now, today=terms.today, series=terms.series
    )
    return columns or _make_rows(plain, block.first, terms)


def _make_rows(lines: Sequence[PlainLine], first: int, terms: Terms) -> Iterator[LoadRow | Fault]:
    for number, line in enumerate(lines, first):
        try:
            yield make_row(line, number, terms)
        except PerdureError as error:
            yield make_fault(number, error)


def _read_by_rules(block: LineBlock, terms: Terms, *, paths: bool) -> Iterator[LoadRow | Fault]:
    adding = terms.how is Joining.ADD
    for number, text in enumerate(block.text.split(b"\n"), block.first):
        if number == 1:
            text = text.removeprefix(codecs.BOM_UTF8)
        if not text or text.isspace():
            continue
        try:
            line = read_line(text)
            if not paths and isinstance(line, Line) and line.names_file:
                raise _NamesFile
            row = make_row(line, number, terms)
            yield row if adding else name_given_fields(row, text)
        except StorageFailed:
            raise
        except PerdureError as error:
            yield make_fault(number, error)


def _read(block: LineBlock, terms: Terms) -> BlockReading:
    found: list[LoadRow | Fault] = []
    try:
        reading = _begin_reading(block, terms, paths=False)
        if isinstance(reading, LoadColumns):
            return BlockReading((), (), _are_ascending(reading.keys), columns=reading)
        found.extend(reading)
    except _NamesFile:
        _discard_contents(found, terms)
        return BlockReading((), has_paths=True)
    rows = tuple(one for one in found if isinstance(one, LoadRow))
    faults = tuple(one for one in found if isinstance(one, Fault))
    return BlockReading(rows, faults, _are_ascending([row.key for row in rows]))


def _are_ascending(keys: Sequence[str]) -> bool:
    return all(map(lt, keys, keys[1:]))


def _discard_contents(found: list[LoadRow | Fault], terms: Terms) -> None:
    """Remove the files of long content, which will be read again."""
    for row in found:
        if isinstance(row, LoadRow):
            for _, content in row.contents:
                discard_content(content, terms)


def count_readers(length: int | None) -> int:
    """Return how many other processes help to read `length` bytes of lines, None if it is unknown.

    None does if this process has threads, for then it must not fork.
    """
    cores = count_cores()
    is_long = length is None or length >= _FEW * BLOCK
    return min(cores, _MOST_PROCESSES) if cores > 1 and is_long and active_count() == 1 else 0


@contextmanager
def fork_readers(count: int) -> Iterator[Readers]:
    """Fork processes that read blocks; they end with the `with` block.

    They share what this process has loaded, which takes a few milliseconds; to start them from
    nothing would take as much time as reading 15,000 lines.
    """
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(count, mp_context=context, initializer=_prepare) as pool:
        # Ctrl-C must not leave half of a process. They inherit that SIGINT is blocked here.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
        try:
            pool.submit(os.getpid)  # the first call forks all of them
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        try:
            yield pool
        finally:
            pool.shutdown(cancel_futures=True)


def read_blocks(
    blocks: Iterable[LineBlock], terms: Terms, readers: Readers | None = None
) -> Iterator[tuple[LineBlock, BlockReading]]:
    """Yield all blocks in order with their readings, by other processes if there are some.

    Raises StorageFailed, and Unavailable if a process was killed.
    """
    if readers is None:
        yield from ((block, _read(block, terms)) for block in blocks)
        return
    waiting: deque[tuple[LineBlock, Future[bytes]]] = deque()
    try:
        for block in blocks:
            waiting.append((block, readers.submit(_read_elsewhere, block, terms)))
            if len(waiting) > _MOST_WAITING:
                yield _await_reading(*waiting.popleft())
        while waiting:
            yield _await_reading(*waiting.popleft())
    except BrokenProcessPool as error:
        raise WorkerKilled(fault=str(error)) from error


def _await_reading(block: LineBlock, future: Future[bytes]) -> tuple[LineBlock, BlockReading]:
    return block, _decode(future.result())


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(BlockReading).decode


def _read_elsewhere(block: LineBlock, terms: Terms) -> bytes:
    return _encode(_read(block, terms))


def _prepare() -> None:
    """Prepare a process for reading lines."""
    os.nice(_NICE)
    # Ctrl-C goes to all processes; the one that forked this decides what to do.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Thousands of rows are alive at a time, without cycles that a collection could find.
    gc.set_threshold(100_000)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process if the one that forked it is killed.

    Nothing else would: this process holds both ends of the queue on which it waits.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
