"""A registry moves to another store of records, or of bytes, or both, while it is in use.

How it works:

1. `moving.json` notes where the move goes. The bytes of all segments are copied, then the changes
   with what they wrote; then both sides are compared. All this can take days, and others write.
2. All writers are held. What came meanwhile is copied, and what differed is copied again and
   compared. This takes seconds.
3. `moving.json` says that the place is being left. The old place is closed for good: from this
   moment the registry is in the new one.
4. The new place is opened, the settings name it, and `moving.json` is removed.

If the move is killed before the old place is closed, the registry is there, and the next run goes
on with the copy. If it is killed after that, no process writes in either place until the next run
has done step 4. If only bytes move, the settings are the place: they are replaced while the writers
are held.

What must stay true: at every moment at most one place can be written to; an answer that was given
is in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

import msgspec

from perdure import settings as setting
from perdure.errors.changes import ChangesUnnumbered
from perdure.errors.moving import (
    MoveNotAbandoned,
    MoveRunning,
    NothingToMove,
    PlaceTaken,
    SegmentDiffers,
)
from perdure.errors.root import quote
from perdure.errors.segment_corruption import SegmentMissing
from perdure.model.changes import WITHOUT_RECORDS, ChainHead, Change
from perdure.model.store_addresses import hide_password
from perdure.storage import home
from perdure.storage.durable import hold_lock
from perdure.storage.generation import Generation
from perdure.storage.moving_ports import (
    Arrival,
    Departure,
    MovableBytes,
    WholeRegistry,
)
from perdure.storage.ports import storage_errors
from perdure.upkeep.places.choosing import Course, open_course, require_bytes, require_store
from perdure.upkeep.places.comparing import (
    PAGE,
    check_rest,
    check_segment,
    find_differing,
    settle_records,
)
from perdure.upkeep.places.copying import copy_changes
from perdure.upkeep.places.plan import (
    COPYING,
    LEAVING,
    LOCK,
    forget_move,
    load_move,
    save_move,
)
from perdure.upkeep.places.switching import switch_place
from perdure.writing.silencing import PLACE

_REWRITING = ("erase", "withdraw")
"""Acts after which bytes of a segment may be other than before."""


class MoveProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of a move."""

    phase: str
    share: float
    """Finished share of this phase, 0 to 1."""


def move_registry(
    root: Path,
    *,
    to_store: str = "",
    to_bytes: str = "",
    environment: Mapping[str, str],
) -> Iterator[MoveProgress]:
    """Move the registry of a directory, or go on with the move that was begun. Iterate to the end.

    `to_store` and `to_bytes` are settings; the one that stays is empty.

    Raises BadSettings if a place is not one, CopyNotPromoted, Corrupt if the registry is damaged,
    MoveIncomplete if the copy differs, Unavailable or StorageFailed if a store refuses.
    """
    with storage_errors("the move"), hold_lock(root / LOCK, MoveRunning(used=quote(root))):
        yield from _Mover(root, open_course(root, to_store, to_bytes, environment)).run()


def abandon_move(root: Path) -> None:
    """Give up a move that was begun, and remove the records that it has stored in the new place.

    Raises NothingToMove, or MoveNotAbandoned if the old place is closed already.
    """
    with storage_errors("the move"), hold_lock(root / LOCK, MoveRunning(used=quote(root))):
        move = load_move(root)
        if move is None:
            raise NothingToMove(setting="registry", value=root)
        current = setting.load_settings(root, {})
        source = require_store(current.store)
        if hide_password(current.store) != move.from_store or source.find_new_place(root):
            raise MoveNotAbandoned(setting="registry", value=root)
        if not move.moves_records:
            source.check_bytes(root, move.from_bytes)
        if move.moves_records and "***" not in move.to_store:
            require_store(move.to_store).abandon_arrival(root, move.id)
        forget_move(root)


class _Mover:
    """One run of a move."""

    def __init__(self, root: Path, course: Course) -> None:
        move, current, to_store, to_bytes, self._is_new = course
        self._root = root
        self._current = current
        self._to_store, self._to_bytes = to_store, to_bytes
        self._move = move
        self._target_store = require_store(to_store)
        self._is_switched = move.phase == LEAVING and (
            hide_password(current.store) == move.to_store
            and hide_password(current.bytes) == move.to_bytes
        )
        self._source_store = (
            self._target_store if self._is_switched else require_store(current.store)
        )
        self._begun: ChainHead | None = None
        self._lengths: dict[int, int] = {}
        """The lengths of segments that were copied and compared in this run."""
        self._differing: set[str] = set()
        self._ranges: list[tuple[str, str]] = []
        self._rewritten: set[str] = set()
        """Keys of records from whose bytes something was erased since they were copied."""

    def run(self) -> Iterator[MoveProgress]:
        if self._has_left():
            self._finish()
            yield MoveProgress(phase="switched", share=1.0)
            return
        if self._move.phase != COPYING:  # the old place was not closed: others may have written
            self._note_phase(COPYING)
        with ExitStack() as opened:
            source = self._source_store.open_whole(self._root)
            opened.callback(source.close)
            if source.records.find_head() is None:
                raise ChangesUnnumbered()
            ours = opened.enter_context(closing(require_bytes(self._current.bytes, self._root)))
            self._require_all_bytes(source, ours)
            theirs = opened.enter_context(closing(require_bytes(self._to_bytes, self._root)))
            target = self._begin_arrival(theirs)
            if target is not None:
                opened.callback(target.close)
            yield from self._copy_meanwhile(source, target, ours, theirs)
            yield MoveProgress(phase="switching", share=0.0)
            with self._source_store.hold_writers(self._root) as departure:
                self._copy_rest(source, target, ours, theirs)
                self._leave(departure, target)
        self._finish()
        yield MoveProgress(phase="switched", share=1.0)

    def _begin_arrival(self, theirs: MovableBytes) -> Arrival | None:
        """Begin to fill the new place, or go on. Return the records, if they move."""
        try:
            if self._move.moves_bytes:
                theirs.begin_arrival(home.find_id(self._root))
            if self._move.moves_records:
                return self._target_store.open_arrival(self._root, self._move.id)
        except PlaceTaken:
            if self._is_new:
                forget_move(self._root)
            raise
        return None

    def _require_all_bytes(self, source: WholeRegistry, ours: MovableBytes) -> None:
        """Raise SegmentMissing unless all bytes are here: another node may keep them."""
        there = set(ours.list_numbers())
        for number, _, _ in source.records.list_segments():
            if number not in there:
                raise SegmentMissing(segment=number)

    def _has_left(self) -> bool:
        """Return True if the registry has left its old place."""
        if self._is_switched:
            return True
        if self._move.phase != LEAVING or not self._move.moves_records:
            return False
        return bool(self._source_store.find_new_place(self._root))

    def _note_phase(self, phase: str) -> None:
        self._move = msgspec.structs.replace(self._move, phase=phase)
        save_move(self._root, self._move)

    # While others write
    # ------------------

    def _copy_meanwhile(
        self,
        source: WholeRegistry,
        target: Arrival | None,
        ours: MovableBytes,
        theirs: MovableBytes,
    ) -> Iterator[MoveProgress]:
        self._begun = source.records.find_head()
        if self._move.moves_bytes:
            yield from self._copy_segments(source, ours, theirs)
        if target is not None:
            total = max(_count_changes(source), 1)
            done = _count_changes(target)
            for changes in copy_changes(source, target):
                done += len(changes)
                yield MoveProgress(phase="changes", share=min(done / total, 1.0))
            total = max(source.records.count_records() // PAGE, 1)
            for done, keys in enumerate(find_differing(source, target), 1):
                self._differing.update(keys)
                yield MoveProgress(phase="comparing", share=min(done / total, 1.0))

    def _copy_segments(
        self, source: WholeRegistry, ours: MovableBytes, theirs: MovableBytes
    ) -> Iterator[MoveProgress]:
        known = source.records.list_segments()
        total, done = max(sum(length for _, length, _ in known), 1), 0
        for number, length, _ in known:
            _copy_segment(ours, theirs, number, length)
            self._lengths[number] = length
            done += length
            yield MoveProgress(phase="segments", share=done / total)

    # While no process writes
    # -----------------------

    def _copy_rest(
        self,
        source: WholeRegistry,
        target: Arrival | None,
        ours: MovableBytes,
        theirs: MovableBytes,
    ) -> None:
        if target is not None:
            for _ in copy_changes(source, target):
                pass
        self._note_changes(source)
        if target is not None:
            settle_records(source, target, self._differing)
            for low, high in self._ranges:
                self._settle_range(source, target, low, high)
            check_rest(source, target)
        if self._move.moves_bytes:
            self._copy_last_bytes(source, ours, theirs)

    def _copy_last_bytes(
        self, source: WholeRegistry, ours: MovableBytes, theirs: MovableBytes
    ) -> None:
        """Copy what was added, and what an erasure may have changed.

        An erasure overwrites bytes after its batch. If one ends meanwhile, the copy is repeated; if
        one was interrupted, its note stays, and the next writer finishes it in the new place.
        """
        place = self._root / PLACE
        while True:
            notes = sorted(path.name for path in place.glob("*.json"))
            again = self._find_rewritten(source)
            for number, length, _ in source.records.list_segments():
                if number in again:
                    theirs.drop_segment(number)
                if number in again or self._lengths.get(number) != length:
                    _copy_segment(ours, theirs, number, length)
                    self._lengths[number] = length
            if sorted(path.name for path in place.glob("*.json")) == notes:
                return

    def _note_changes(self, source: WholeRegistry) -> None:
        """Note the records that were written since the copy was begun."""
        since = self._begun.mark if self._begun else None
        while changes := source.records.list_changes(since, limit=1000):
            for change in changes:
                self._note_change(change)
            since = changes[-1].mark

    def _note_change(self, change: Change) -> None:
        if change.act in WITHOUT_RECORDS:
            return
        if change.count > 1:
            self._ranges.append((change.first, change.last))
            return
        self._differing.add(change.first)
        if change.act in _REWRITING:
            self._rewritten.add(change.first)

    @staticmethod
    def _settle_range(source: WholeRegistry, target: Arrival, low: str, high: str) -> None:
        settle_records(source, target, [low])
        after = low
        while page := source.read_range(after, high, limit=1000):
            settle_records(source, target, [one.key for one in page])
            after = page[-1].key

    def _find_rewritten(self, source: WholeRegistry) -> set[int]:
        """The segments with bytes that may have been erased since they were copied."""
        return {
            held.segment
            for record in source.records.find_records(sorted(self._rewritten)).values()
            for version in record.versions
            for held in version.representations
        }

    def _leave(self, departure: Departure, target: Arrival | None) -> None:
        self._note_phase(LEAVING)
        if target is not None:
            departure.leave(self._move.destination)
            return
        departure.change_bytes(self._move.to_bytes)
        with Generation(self._root) as generation:  # writers then look where the registry is
            generation.note_revision()
        switch_place(self._root, self._to_store, self._to_bytes)

    # In the new place
    # ----------------

    def _finish(self) -> None:
        root, store = self._root, self._target_store
        if self._move.moves_records:
            if not store.has_arrived(root, self._move.id):
                home.expect_records(root)
                arrival = store.open_arrival(root, self._move.id)
                arrival.complete()
            store.create_registry(root)
        if not self._is_switched:
            switch_place(root, self._to_store, self._to_bytes)
        home.settle_home(root, store.find_file(root), registry=home.find_id(root) or None)
        with Generation(root) as generation:  # wakes those who wait for changes
            generation.note_revision()
            generation.note_change()
        forget_move(root)


def _count_changes(registry: WholeRegistry) -> int:
    """About how many changes a registry has: those of its present epoch."""
    head = registry.records.find_head()
    return 0 if head is None else head.number


def _copy_segment(ours: MovableBytes, theirs: MovableBytes, number: int, length: int) -> None:
    with ours.lend_segment(number) as directory:
        theirs.receive_segment(number, length, directory)
    try:
        check_segment(ours, theirs, number, length)
    except SegmentDiffers:  # an earlier run has copied it, and something was erased since
        theirs.drop_segment(number)
        with ours.lend_segment(number) as directory:
            theirs.receive_segment(number, length, directory)
        check_segment(ours, theirs, number, length)
