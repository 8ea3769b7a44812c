"""Carrying out a plan: each document becomes a name, with one command for all its files.

How it works: the plan is read document by document. Their files are read and hashed, and handed to
the write door in turns; while a turn is written, the next one is read. After each turn its receipts
are made durable: for every row of the plan, in its order, one row with the name or the reason why
there is none. A deposit that was interrupted reads plan and receipts side by side, cuts off what is
incomplete, and goes on. The commands of a turn that was under way are sent again with the same
idempotency keys, so the registry answers them with their first receipts.

What must stay true: no document is minted twice; a document whose bytes are not the planned ones is
not minted; memory is bounded by two turns.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from perdure.errors import PerdureError, StorageFailed, Unavailable
from perdure.model.commands import Answer, Content, Mint, Receipt
from perdure.registry import Registry
from perdure.storage.spool import discard_content
from perdure.upkeep.deposit import plan as rows
from perdure.upkeep.deposit.contents import ContentTaker, MemberName
from perdure.upkeep.deposit.describing import describe_rows
from perdure.upkeep.deposit.plan import PlannedDocument, PlannedFile
from perdure.upkeep.deposit.receipts import (
    MINTED,
    REFUSED,
    SAME,
    SKIPPED,
    Receipted,
    ReceiptFile,
)
from perdure.upkeep.deposit.tables import RefusedRows, explain_error
from perdure.upkeep.deposit.taking import FileRoot
from perdure.writing.door import Door, Then

_DOCUMENTS = 500  # of a turn
_BYTES = 16 << 20  # in memory, of a turn


@dataclass(slots=True)
class Tally:
    """Totals of a deposit."""

    documents: int = 0
    files: int = 0
    bytes: int = 0
    rows: int = 0
    results: dict[str, int] = field(default_factory=dict)
    """Rows, by their status."""

    def count_rows(self, status: str, count: int = 1) -> None:
        self.results[status] = self.results.get(status, 0) + count
        self.rows += count


@dataclass(slots=True)
class _Waiting:
    """A document whose command was handed in."""

    document: PlannedDocument
    contents: list[tuple[PlannedFile, Content]]
    error: PerdureError | None = None
    command: Mint | None = None
    answer: Answer | None = None


class DepositRun:
    """Carries out one plan. Iterate over `run_documents` to the end."""

    def __init__(
        self,
        registry: Registry,
        root: FileRoot,
        job: str,
        *,
        refused: RefusedRows,
    ) -> None:
        """`job` begins the idempotency keys."""
        self._registry = registry
        self._job = job
        self._refused = refused
        self._taker = ContentTaker(registry, root)
        self._members: dict[int, list[MemberName]] = {}
        """Of the collections that are to come, by their documents."""
        self.tally = Tally()
        self.results: Callable[[Receipted], None] = _note_nothing
        """Called with the result of each row."""

    def run_documents(
        self, documents: Iterable[PlannedDocument], receipts: ReceiptFile
    ) -> Iterator[Tally]:
        """Mint all documents, and yield the progress after each turn.

        Raises StorageFailed or Unavailable if the registry accepts no more; then the receipts say
        what was minted, and another run goes on from there.
        """
        turn: list[_Waiting] = []
        under_way: _Turn | None = None
        size = 0
        try:
            for document in receipts.skip_known(documents, self._recall_earlier):
                if self._needs_all_before(document):
                    for done in (under_way, self._send(turn)):
                        if done is not None:
                            self._end_turn(done, receipts)
                    under_way, turn, size = None, [], 0
                waiting = self._prepare(document)
                turn.append(waiting)
                size += sum(len(one.data or b"") for _, one in waiting.contents)
                if len(turn) >= _DOCUMENTS or size >= _BYTES:
                    sent = self._send(turn)
                    turn, size = [], 0
                    if under_way is not None:
                        self._end_turn(under_way, receipts)
                        yield self.tally
                    under_way = sent
            for done in (under_way, self._send(turn)):
                if done is not None:
                    under_way, turn = None, []
                    self._end_turn(done, receipts)
                    yield self.tally
        finally:
            if under_way is not None:
                under_way.wait()
            self._discard(turn)
            self._taker.close()

    # One document
    # ------------

    def _prepare(self, document: PlannedDocument) -> _Waiting:
        """Read the files of a document, and make its command."""
        waiting = _Waiting(document, [])
        if not document.is_taken:
            return waiting
        try:
            if document.rows[0].action == rows.COLLECTION:
                row = document.rows[0]
                content = self._write_collection(row)
                waiting.contents.append((row, content))
                if self._registry.listings.find_same_bytes(content.sha512):
                    return self._leave(waiting)
            else:
                for row in rows.renumber_versions(document.rows):
                    waiting.contents.append((row, self._taker.take_file(row)))
            waiting.command = self._make_command(waiting)
        except PerdureError as error:
            if isinstance(error, StorageFailed):
                raise
            waiting.error = error
            self._discard([waiting])
            waiting.contents = []
        return waiting

    def _leave(self, waiting: _Waiting) -> _Waiting:
        """Leave a collection that is held already, with the same members."""
        (row, content), *_ = waiting.contents
        known = replace(row, action=rows.SAME, sha512=content.sha512, size=content.length)
        waiting.document = waiting.document._replace(rows=(known,))
        self._discard([waiting])
        waiting.contents = []
        return waiting

    def _make_command(self, waiting: _Waiting) -> Mint:
        """The command for a document. Raises UnusableRow."""
        first = waiting.contents[0][0]
        versions: dict[int, list[Content]] = {}
        for row, content in waiting.contents:
            versions.setdefault(row.version, []).append(content)
        about, metadata = describe_rows(waiting.document.rows)
        return Mint(
            authority=first.series,
            contents=tuple(versions.pop(1)),
            later=tuple(map(tuple, versions.values())),
            about=about,
            metadata=metadata,
            day="" if first.day == rows.TODAY else first.day.replace("-", "/"),
            once=f"deposit {self._job} {first.document}",
        )

    def _needs_all_before(self, document: PlannedDocument) -> bool:
        """A collection needs the names of its members."""
        return document.is_taken and document.rows[0].action == rows.COLLECTION

    def _write_collection(self, row: PlannedFile) -> Content:
        return self._taker.write_collection(row, self._members.pop(row.document, []))

    # Turns
    # -----

    def _send(self, turn: list[_Waiting]) -> _Turn | None:
        return _Turn(self._registry.door, turn) if turn else None

    def _end_turn(self, turn: _Turn, receipts: ReceiptFile) -> None:
        """Wait for the answers of a turn, and write its receipts. Raises what stops a deposit."""
        turn.wait()
        stopped: PerdureError | None = None
        for waiting in turn.documents:
            error = waiting.answer if isinstance(waiting.answer, PerdureError) else waiting.error
            if isinstance(error, StorageFailed | Unavailable):
                stopped = error
                break
            found = self._list_results(waiting, error)
            receipts.add_rows(found)
            for one in found:
                self._recall(one)
        receipts.flush()
        if stopped is not None:
            self._discard(turn.documents)
            raise stopped

    def _list_results(self, waiting: _Waiting, error: PerdureError | None) -> list[Receipted]:
        """The result of each row of a document, in the order of the plan."""
        for fault in waiting.document.faults:
            self._refused.add_row(*fault)
            self.tally.count_rows(REFUSED)
        receipt = waiting.answer if isinstance(waiting.answer, Receipt) else None
        if receipt is None or error is not None:
            return [self._explain_row(row, error) for row in waiting.document.rows]
        self.tally.documents += 1
        resource = receipt.identifier.rpartition(".")[0].rpartition(".")[0]
        taken = {
            (row.file, row.member): Receipted(
                row,
                MINTED,
                f"{resource}.{content.format}.{row.version}",
                content.sha512,
                content.length,
                row.why,
            )
            for row, content in waiting.contents
        }
        return [taken[row.file, row.member] for row in waiting.document.rows]

    def _explain_row(self, row: PlannedFile, error: PerdureError | None) -> Receipted:
        """The result of a row that was not minted."""
        if error is not None:
            cells = dict(zip(rows.COLUMNS, rows.write_row(row, ()), strict=True)) | row.pairs
            self._refused.add_row(row.line, cells, error)
            return Receipted(row, REFUSED, why=explain_error(error))
        if row.action != rows.SAME:
            return Receipted(row, SKIPPED, why=row.why)
        held = self._registry.listings.find_same_bytes(row.sha512) if row.sha512 else ()
        names = [str(one) for one in held]
        name = row.same_as if row.same_as in names else next(iter(names), "")
        return Receipted(row, SAME, name, row.sha512, row.size, row.why)

    def _recall(self, one: Receipted) -> None:
        """Count a result, of now or of an earlier run."""
        self.tally.count_rows(one.status)
        if one.status == MINTED:
            self.tally.files += 1
            self.tally.bytes += max(one.size, 0)
        if one.identifier and one.row.collection:
            name = MemberName(one.identifier, one.row.title, one.row.member or one.row.name)
            self._members.setdefault(one.row.collection, []).append(name)
        self.results(one)

    def _recall_earlier(self, document: PlannedDocument, results: list[Receipted]) -> None:
        """Count the results of a document that an earlier run has dealt with."""
        for fault in document.faults:
            self._refused.add_row(*fault)
            self.tally.count_rows(REFUSED)
        self.tally.documents += any(one.status == MINTED for one in results)
        for one in results:
            if one.status == REFUSED:
                cells = dict(zip(rows.COLUMNS, rows.write_row(one.row, ()), strict=True))
                self._refused.add_reason(one.row.line, cells | one.row.pairs, one.why)
            self._recall(one)

    def _discard(self, turn: Iterable[_Waiting]) -> None:
        """Remove the files of contents that were not committed."""
        for waiting in turn:
            for _, content in waiting.contents:
                discard_content(self._registry.incoming, content)


class _Turn:
    """Documents whose commands are with the write door."""

    def __init__(self, door: Door, documents: list[_Waiting]) -> None:
        self.documents = documents
        self._done = threading.Event()
        turn: list[tuple[Mint, Then]] = [
            (one.command, _Taker(one)) for one in documents if one.command is not None
        ]
        self._left = len(turn)
        if turn:
            door.enqueue_turn(list(turn), self._take_answers)
        else:
            self._done.set()

    def wait(self) -> None:
        """Wait for all answers."""
        self._done.wait()

    def _take_answers(self, answers: Iterable[tuple[Then, Answer]]) -> None:
        for then, answer in answers:
            if isinstance(then, _Taker):
                then.waiting.answer = answer
                self._left -= 1
        if not self._left:
            self._done.set()


class _Taker:
    """Takes the answer of a document."""

    def __init__(self, waiting: _Waiting) -> None:
        self.waiting = waiting

    def __call__(self, answer: Answer) -> None:
        self.waiting.answer = answer


def _note_nothing(one: Receipted) -> None:
    """Do nothing: no caller follows the results."""
