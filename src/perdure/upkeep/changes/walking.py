"""The check of numbered changes: none is missing or altered, nor is any record that they wrote.

How it works: all changes are read from the first on. Each must have the next number and continue
the chain; the records that it wrote must have its digest; an epoch must begin where it says that
the one before ended. A head that was saved earlier must be on the chain. Finally, every stored
revision must have been written by a change, unless some changes cannot be read.

What must stay true: every altered byte of a change or of a record is found. Only a saved head can
show that the complete past was rewritten.
"""

from __future__ import annotations

from collections.abc import Container, Iterator

import msgspec

from perdure.errors import Conflict, Corrupt
from perdure.errors.root import count_things
from perdure.model.changes import (
    BEGIN,
    NO_CHAIN,
    RULE,
    RULE_KEY,
    TOKEN,
    TOKEN_KEY,
    WITHHELD,
    WITHOUT_RECORDS,
    ChainHead,
    Change,
    ChangeMark,
    Epoch,
    begin_chain,
    digest_lines,
    link_change,
    parse_mark,
)
from perdure.reading.scanning import name_key
from perdure.storage.ports import Records

_PAGE = 1000
_FULL_READS = 64  # rows to skip at most until one can be read again
_REBUILD = "rebuild"


class CheckedChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change that was checked, or a problem with it."""

    mark: ChangeMark | None
    """None if the problem belongs to no single change."""
    problem: str | None = None
    lost: int = 0
    """Number of revisions lost before a rebuild, as the rebuild itself recorded."""


def check_changes(
    records: Records,
    *,
    against: ChainHead | None = None,
    intact: Container[ChangeMark] = frozenset(),
) -> Iterator[CheckedChange]:
    """Check all changes in order, then check that changes wrote all revisions.

    The records of `intact` changes were compared already (`perdure.upkeep.changes.intact`).
    """
    walk = _Walk(records, against, intact)
    yield from walk.run()


class _Walk:
    def __init__(
        self, records: Records, against: ChainHead | None, intact: Container[ChangeMark]
    ) -> None:
        self._records = records
        self._against = against
        self._intact = intact
        self._epochs = {one.epoch: one for one in records.list_epochs()}
        rebuilt = (one.epoch for one in self._epochs.values() if one.reason == _REBUILD)
        self._rebuilt = max(rebuilt, default=0)
        self._last: Change | None = None
        self._seen = 0  # revisions
        self._is_unread = False  # some changes, so that it is not known how many they wrote

    def run(self) -> Iterator[CheckedChange]:
        lost = 0
        for found in self._read_changes():
            if isinstance(found, CheckedChange):
                yield found
                self._last = None
                continue
            for problem in self._find_flaws(found):
                yield CheckedChange(mark=found.mark, problem=problem)
            checked = self._check_lines(found)
            lost += checked.lost
            yield checked
            self._last = found
        if self._against is not None:
            known = f"a head {self._against.mark} was saved, but that change is missing here"
            yield CheckedChange(mark=self._against.mark, problem=known)
        stored = self._records.count_revisions()
        if self._seen != stored and self._epochs and not self._is_unread:
            problem = f"{count_things(stored, 'revision')} stored, but changes wrote {self._seen}"
            yield CheckedChange(mark=None, problem=problem)

    def _read_changes(self) -> Iterator[Change | CheckedChange]:
        """Yield all changes that can be read, and a problem for each gap between them.

        A page with damage is read again in smaller ones, so that it hides no other change.
        """
        since: ChangeMark | None = None
        tries, limit = 0, _PAGE
        while True:
            try:
                page = self._records.list_changes(since, limit=limit)
            except Corrupt as error:
                if limit > 1:
                    limit //= 2
                    continue
                at = parse_mark(error.identifier.removeprefix("change "), current=0)
                if not tries:
                    self._is_unread = True
                    yield CheckedChange(mark=at, problem=str(error))
                tries += 1
                since = self._next_mark(since, at, tries)
                if since is None:
                    return
                continue
            except Conflict:  # the end was reached while rows were skipped
                return
            if not page:
                return
            tries, limit = 0, min(2 * limit, _PAGE)
            yield from page
            since = page[-1].mark

    def _next_mark(
        self, since: ChangeMark | None, at: ChangeMark | None, tries: int
    ) -> ChangeMark | None:
        """Return the mark after which to try next."""
        if at is None or tries > _FULL_READS:
            return None
        before = ChangeMark(at.epoch, at.number - 1)
        if tries == 1 and (since is None or since < before):
            return before
        return ChangeMark(at.epoch, at.number + tries - 2)

    def _find_flaws(self, change: Change) -> Iterator[str]:
        last, epoch = self._last, self._epochs.get(change.epoch)
        if epoch is None:
            yield "its epoch never began"
            return
        if change.number == 1:
            try:
                before = begin_chain(epoch)
            except (TypeError, ValueError):
                yield "its epoch names no chain before it"
                return
            yield from self._find_flaws_of_begin(change, epoch)
        elif last is None:
            before = None
        else:
            before = last.chain
            if change.mark != ChangeMark(last.epoch, last.number + 1):
                yield f"it follows change {last.mark}: numbers are missing or out of order"
        if before is not None and link_change(before, change) != change.chain:
            yield "it does not continue the chain"
        if self._against is not None and change.mark == self._against.mark:
            if change.chain.hex() != self._against.chain:
                yield (
                    f"the past was rewritten: the chain is {change.chain.hex()} here, and was "
                    f"{self._against.chain} when the head was saved"
                )
            self._against = None

    def _find_flaws_of_begin(self, change: Change, epoch: Epoch) -> Iterator[str]:
        if change.act != BEGIN:
            yield f"an epoch begins with an act {change.act}"
        last, named = self._last, epoch.previous
        if last is not None and (named is None or named != last.head):
            yield f"its epoch does not name change {last.mark} as the last one before it"
        if named is None and begin_chain(epoch) != NO_CHAIN:
            yield "its epoch names nothing before it, but continues a chain"

    def _check_lines(self, change: Change) -> CheckedChange:
        if change.act == WITHHELD:
            return CheckedChange(mark=change.mark)
        wanted = change.count or 1
        writes_records = change.act not in WITHOUT_RECORDS
        if change.mark in self._intact:
            self._seen += wanted
            return CheckedChange(mark=change.mark)
        try:
            lines = self._records.find_lines(change)
        except Corrupt as error:
            self._seen += wanted if writes_records else 0  # damaged, not missing
            return CheckedChange(mark=change.mark, problem=str(error))
        if writes_records:
            self._seen += len(lines)
        if len(lines) < wanted and change.epoch < self._rebuilt:
            return CheckedChange(mark=change.mark, lost=wanted - len(lines))
        if len(lines) != wanted:
            problem = (
                f"it wrote {count_things(wanted, 'line')}{self._name_scope(change)}, "
                f"but {len(lines)} can be found"
            )
            return CheckedChange(mark=change.mark, problem=problem)
        if change.salt is not None:
            found = digest_lines(change.salt, change.actor, lines)
            if found != change.digest:
                problem = f"what it wrote{self._name_scope(change)} has another digest"
                return CheckedChange(mark=change.mark, problem=problem)
        return CheckedChange(mark=change.mark)

    def _name_scope(self, change: Change) -> str:
        """The names of the first and the last record of a change, or of its token or rule."""
        if change.act == BEGIN:
            return ""
        if change.act == RULE:
            return f" to the reading rule {change.first.removeprefix(RULE_KEY)}"
        if change.act == TOKEN:
            return f" to the token {change.first.removeprefix(TOKEN_KEY)}"
        first, last = (name_key(self._records, key) for key in (change.first, change.last))
        return f" at {first}" if first == last else f" from {first} to {last}"
