"""Replays the changes of an origin in its mirror: the only way in which a mirror writes.

How it works: a page of changes is one batch. Each change is checked against the rules
(`perdure.policy.replaying`) and against its own digest. The stored lines of an origin have no
places of bytes; here each representation gets the place that it has in the mirror: that of the
revision before, or that of bytes that were fetched. Bytes that cannot be had any more, because a
later change withdraws them, stay without a place.

A withdrawal deletes what was computed from the bytes, and an erasure overwrites them, in the same
way and with the same notes as in the origin (`perdure.writing.silencing`).

What must stay true: records and changes of a page become durable together, after their bytes; a
change that breaks a rule is not written, nor is any after it; nothing is fetched again that the
mirror has.
# ruling: tombstone-silence
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from perdure.errors import PerdureError
from perdure.errors.root import count_things
from perdure.ids import Identifier
from perdure.ids.keys import spell_key
from perdure.model import stored
from perdure.model.changes import (
    RULE,
    WITHOUT_RECORDS,
    ChainHead,
    Change,
    ChangeMark,
    Line,
    attest_line,
    digest_attested,
    link_change,
    withhold_change,
)
from perdure.model.commands import NOWHERE, Content
from perdure.model.mirroring import BrokenRule, MirroredChange, SoughtContent
from perdure.model.reading_rules import ReadingRule
from perdure.policy import replaying
from perdure.policy.naming import are_serial_names, identify_record, spell_full_name
from perdure.policy.reading_rules import read_rule
from perdure.policy.replaying import ReplayRules
from perdure.storage.byte_ports import Bytes
from perdure.storage.ports import Journal, JournalError, ReplayedChange
from perdure.writing.ledger import Ledger
from perdure.writing.line_placing import LinePlacer
from perdure.writing.replayed_places import (
    PLACE,
    describe_content,
    find_held,
    is_served,
    list_held,
    substitute_places,
)
from perdure.writing.replayed_silence import ReplayedSilence
from perdure.writing.silencing import DeleteIndexes, SilencingQueue

_ERASE = "erase"
_decode_rule = msgspec.json.Decoder(ReadingRule).decode
IsClosed = Callable[[Identifier, Change], bool]
"""Whether a name is one that the origin itself had handed over when a change gave it out."""
FindClosed = Callable[[], IsClosed | None]
"""Finds the test, or None if no names are assigned elsewhere."""
Contents = Mapping[SoughtContent, Content]


class Replayer:
    """Writes the changes of an origin. One process owns it, under the write lock."""

    def __init__(
        self,
        root: Path,
        journal: Journal,
        held: Bytes,
        *,
        segment_bytes: int,
        now: str,
        delete_indexes: DeleteIndexes,
        accepted: Mapping[str, str] | None = None,
        find_closed: FindClosed = lambda: None,
    ) -> None:
        """It owns the journal from now on. `accepted`: by its chain, the rule that a change may
        break. `find_closed`: asked for each page. Raises as `Ledger`."""
        self._accepted = accepted or {}
        self._find_closed = find_closed
        self._ledger = Ledger(root, journal, held, segment_bytes=segment_bytes, now=now)
        self._bytes = held
        self._queue = SilencingQueue(
            root, held, delete_indexes=delete_indexes, erase_captures=lambda _: []
        )
        self._rules = ReplayRules()
        self._queue.finish(journal.find_record)
        for epoch in journal.list_epochs()[-1:]:
            (begun,) = journal.list_changes(ChangeMark(epoch.epoch, 0), limit=1)
            self._rules.begin_epoch(epoch, begun.at)

    @property
    def head(self) -> ChainHead | None:
        """The last change that was replayed."""
        return self._ledger.journal.find_head()

    def place_missing(self, contents: Contents, now: str) -> None:
        """Give bytes a place that could not be had before.

        Raises as `replay_page`.
        """
        ledger = self._ledger
        try:
            ledger.begin_batch(now)
            for sought, content in contents.items():
                self._place_content(sought, content)
            ledger.write_batch()
        except (OSError, PerdureError, JournalError) as error:
            raise ledger.undo_batch(error) or error from error
        ledger.tidy_up()

    def _place_content(self, sought: SoughtContent, content: Content) -> None:
        record = self._ledger.journal.find_record(sought.key)
        held = find_held(record, sought.version, sought.format)
        if record is None or held is None or held.segment != NOWHERE:
            return
        if held.sha512 != sought.sha512 or not is_served(record, sought.version, held):
            return
        name = spell_full_name(sought.key, record, sought.version, sought.format)
        placed = self._ledger.place_content(name, sought.version, describe_content(content, held))
        text = self._ledger.journal.find_stored(sought.key) or ""
        line = stored.parse_document_line(text)
        if line is not None:
            moved = line.place_at(placed.segment, placed.offset)
        else:  # the text stays as the origin wrote it
            places = [(placed if one is held else one) for _, one in list_held(record)]
            moved = substitute_places(PLACE, text, [(one.segment, one.offset) for one in places])
        self._ledger.journal.move_bytes(sought.key, moved)
        self._ledger.note_revised()

    def list_sealable(self, now: str) -> list[int]:
        """Segments that receive no more records and are not sealed yet."""
        return self._ledger.list_sealable(now)

    def close(self) -> None:
        self._ledger.close()

    # What a page needs
    # -----------------

    def list_sought(self, page: Sequence[MirroredChange]) -> Iterator[SoughtContent]:
        """Yield the bytes that these changes bring, and that are served as far as they say."""
        for mirrored in page:
            if mirrored.change.act in WITHOUT_RECORDS:
                continue
            for key, text in mirrored.lines:
                yield from self._list_sought_of(key, text)

    def _list_sought_of(self, key: str, text: str) -> Iterator[SoughtContent]:
        if text[:1] == stored.DOCUMENT:
            line = stored.parse_document_line(text)
            if line is not None:
                yield SoughtContent(key, 1, line.format, line.sha512, int(line.length))
            return
        if text[:1] != stored.JSON or '"segment":' not in text:
            return
        record = stored.decode_stored(text)
        before = self._ledger.journal.find_record(key)
        for number, one in list_held(record):
            known = find_held(before, number, one.format)
            if known is None and is_served(record, number, one):
                yield SoughtContent(key, number, one.format, one.sha512, one.length)

    # A page
    # ------

    def replay_page(self, page: Sequence[MirroredChange], contents: Contents, now: str) -> None:
        """Write changes, with the bytes that were fetched, and make them durable.

        Raises BrokenRule, with the change, if one breaks a rule: then none is written. Raises
        StorageFailed or Unavailable if the storage fails.
        """
        ledger = self._ledger
        if ledger.broken:
            raise ledger.broken
        try:
            ledger.begin_batch(now)
            replayed = _Page(
                ledger, self._bytes, self._rules, self._queue, contents, now, self._accepted
            )
            replayed.is_closed = self._find_closed()
            replayed.write(page)
            ledger.write_batch()
        except (OSError, PerdureError, BrokenRule, JournalError) as error:
            self._rules.forget_serials()
            failure = ledger.undo_batch(error)
            if failure is not None:
                raise failure from error
            raise
        ledger.tidy_up()
        if replayed.silence.is_needed:
            self._queue.finish(ledger.journal.find_record)


class _Accepting:
    """Stops a BrokenRule that an operator accepted. It is entered twice for each change."""

    __slots__ = ("_accepted", "_change")

    def __init__(self, accepted: Mapping[str, str], change: Change) -> None:
        self._accepted, self._change = accepted, change

    def __enter__(self) -> None:
        """Nothing is needed."""

    def __exit__(self, _: object, error: BaseException | None, __: object) -> bool:
        if not isinstance(error, BrokenRule):
            return False
        return self._accepted.get(self._change.chain.hex()) == error.rule


class _Page:
    """The changes of one batch."""

    def __init__(
        self,
        ledger: Ledger,
        held: Bytes,
        rules: ReplayRules,
        queue: SilencingQueue,
        contents: Contents,
        now: str,
        accepted: Mapping[str, str],
    ) -> None:
        self._ledger, self._rules = ledger, rules
        self._accepted = accepted
        self._journal = ledger.journal
        self._pending: dict[str, str] = {}  # stored forms of this page, by key
        self._waiting: list[ReplayedChange] = []
        self._placer = LinePlacer(ledger, contents)
        self._chain = b""
        self.is_closed: IsClosed | None = None
        self.silence = ReplayedSilence(self._journal, held, queue, now)

    def write(self, page: Sequence[MirroredChange]) -> None:
        head = self._journal.find_head()
        self._chain = bytes.fromhex(head.chain) if head else bytes(32)
        self._journal.prefetch_records(
            [one.lines[0][0] for one in page if len(one.lines) == 1 and not _is_bare(one.change)]
        )
        for mirrored in page:
            self._check_chain(mirrored)
            self._replay_change(mirrored)
        self._flush_changes()

    def _check_chain(self, mirrored: MirroredChange) -> None:
        """Check that a change continues the chain, and wrote what its digest says."""
        change = mirrored.change
        chain = link_change(self._chain, change)
        if chain != change.chain:
            raise BrokenRule(replaying.CHAIN, "it does not continue the chain", change=change)
        self._chain = chain
        if mirrored.epoch is not None:
            self._check_digest(change, (("", mirrored.epoch.line),))
        elif mirrored.lines or (mirrored.is_whole and not _is_bare(change)):
            with self._accepting(change):
                self._check_scope(mirrored)

    def _accepting(self, change: Change) -> _Accepting:
        """Go on after a broken rule if an operator accepted that this change breaks it."""
        return _Accepting(self._accepted, change)

    def _check_scope(self, mirrored: MirroredChange) -> None:
        change, lines = mirrored.change, mirrored.lines
        if not mirrored.is_whole:
            inside = all(change.first <= key <= change.last for key, _ in lines)
            if not inside or len(lines) >= change.count:
                raise BrokenRule(replaying.DIGEST, "it wrote other records", change=change)
            return
        ends = (lines[0][0], lines[-1][0]) if lines else ()
        if len(lines) != change.count or ends != (change.first, change.last):
            wrote = count_things(change.count, "record")
            fault = f"it wrote {wrote}, but {len(lines)} of them were sent"
            raise BrokenRule(replaying.MISSING, fault, change=change)
        self._check_digest(change, lines)

    def _check_digest(self, change: Change, lines: Sequence[Line]) -> None:
        """Compare lines with their digest. Without its salt, nothing can be compared."""
        if change.salt is None:
            return
        if digest_attested(change.salt, change.actor, lines) != change.digest:
            raise BrokenRule(
                replaying.DIGEST, "what it wrote does not have its digest", change=change
            )

    def _replay_change(self, mirrored: MirroredChange) -> None:
        change = mirrored.change
        if mirrored.epoch is not None:
            self._rules.begin_epoch(mirrored.epoch, change.at)
            self._waiting.append(ReplayedChange(change, (), mirrored.epoch))
        elif change.act == RULE:
            self._replay_rule(mirrored)
        elif _is_bare(change):
            self._waiting.append(ReplayedChange(withhold_change(change)))
        else:
            kept = change if mirrored.lines else withhold_change(change)
            try:
                lines = self._place_lines(change, mirrored.lines)
            except BrokenRule as broken:
                if self._accepted.get(change.chain.hex()) != broken.rule:
                    raise
                kept, lines = withhold_change(change), []  # what the mirror has stays
            except (msgspec.DecodeError, TypeError, ValueError) as error:
                fault = f"a record cannot be read: {error}"
                raise BrokenRule(replaying.UNREADABLE, fault, change=change) from error
            self._waiting.append(ReplayedChange(kept, lines))

    def _replay_rule(self, mirrored: MirroredChange) -> None:
        change = mirrored.change
        try:
            (line,) = mirrored.lines
            rule = _decode_rule(line[1])
            subject = read_rule(rule).key
        except (msgspec.DecodeError, ValueError, PerdureError) as error:
            fault = f"a reading rule cannot be read: {error}"
            raise BrokenRule(replaying.UNREADABLE, fault, change=change) from error
        self._waiting.append(ReplayedChange(change, mirrored.lines, subject=subject))
        self._ledger.note_revised()

    def _place_lines(self, change: Change, lines: Sequence[Line]) -> list[Line]:
        """Check what a change wrote, and return it with the places that its bytes have here."""
        if change.revision > 1:
            return [self._revise_record(change, key, text) for key, text in lines]
        if not lines:
            return []
        self._check_unknown(change, lines)
        with self._accepting(change):
            self._rules.check_new(change, lines, self._find_last_serial)
        if self.is_closed is not None and change.act in replaying.NUMBERING:
            with self._accepting(change):
                self._check_open(change, lines, self.is_closed)
        if not are_serial_names([key for key, _ in lines]):
            for key, text in lines:
                _check_name(change, key, text)
        placed = [self._add_record(change, key, text) for key, text in lines]
        self._pending.update(placed)
        return placed

    def _check_unknown(self, change: Change, lines: Sequence[Line]) -> None:
        if len(lines) == 1:
            key = lines[0][0]
            is_known = key in self._pending or self._journal.find_stored(key) is not None
        else:
            self._flush_changes()
            keys = [key for key, _ in lines]
            is_known = not self._ledger.is_empty(keys[0], keys[-1]) and any(
                self._journal.find_stored(key) is not None for key in keys
            )
        if is_known:
            name = spell_key(lines[0][0])
            fault = f"{name} or a name after it was given out again"
            raise BrokenRule(replaying.REBOUND, fault, change=change)

    def _check_open(self, change: Change, lines: Sequence[Line], is_closed: IsClosed) -> None:
        """Check that no new name is one that another resolver assigns."""
        for key, text in lines:
            if is_closed(identify_record(key, stored.decode_stored(text)), change):
                fault = f"{spell_key(key)} was given out after it was handed over"
                raise BrokenRule(replaying.CLOSED, fault, change=change)

    def _find_last_serial(self, day: str) -> int:
        self._flush_changes()
        return self._journal.find_last_serial(day)

    def _add_record(self, change: Change, key: str, text: str) -> Line:
        revision = self._placer.read_revision(text)
        if revision != 1:
            fault = f"revision {revision} of a new name"
            raise BrokenRule(replaying.REVISION, fault, change=change)
        return key, self._placer.place_new(key, text)

    def _revise_record(self, change: Change, key: str, text: str) -> Line:
        self._flush_changes()
        before = self._journal.find_record(key)
        if attest_line(text) != text:
            raise ValueError("it has places of bytes")
        after = stored.decode_stored(text)
        with self._accepting(change):
            replaying.check_succession(change, before, after)
        if before is None:
            raise BrokenRule(replaying.REVISION, "its name is unknown", change=change)
        placed = self._placer.place_revision(key, text, after, before)
        if change.act == _ERASE:
            self.silence.note_erased(change, key, before, stored.decode_stored(placed))
        else:
            self.silence.note_withdrawn(key, before, after)
        self._ledger.note_revised()
        return key, placed

    # Passing on
    # ----------

    def _flush_changes(self) -> None:
        """Pass the changes so far to the journal, whose reads see them then."""
        if self._waiting:
            self._journal.replay_changes(self._waiting)
            self._waiting.clear()
        self._placer.pass_references()
        self.silence.redact_past()


def _is_bare(change: Change) -> bool:
    """Return True if a change wrote no record that a mirror could have."""
    return change.act in WITHOUT_RECORDS


def _check_name(change: Change, key: str, text: str) -> None:
    """Check that the name of a record has its key."""
    try:
        is_right = identify_record(key, stored.decode_stored(text)).key == key
    except PerdureError:
        is_right = False
    if not is_right:
        fault = f"{spell_key(key)} is not the name of its record"
        raise BrokenRule(replaying.UNREADABLE, fault, change=change)
