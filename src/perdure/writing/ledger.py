"""One batch of writes, made durable together: the unit of work behind the write door.

How it works: between `begin_batch` and `write_batch`, the ledger collects records and bytes, and
later commands of the batch see them. `write_batch` makes them durable in this order: content,
`fdatasync`, transaction of the registry. While the disk writes the content, the
transaction inserts the records; no reader sees them yet, and a crash discards them. `undo_batch`
takes everything back. If both are behind a network, the batch is rehearsed first, so that its bytes
are durable before it locks a row (`perdure.writing.rehearsing`).

What must stay true: a record never names bytes that are not durable; after `undo_batch`, it is as
if the batch had never been requested; after a failed flush nothing is accepted until a restart,
because the kernel may have dropped the pages (a second `fsync` would lie).
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import TypeGuard

import msgspec

from perdure.errors import Incomplete, InvalidRequest, StorageFailed, Unavailable
from perdure.errors.conflicts import DayClosed, SerialsUsedUp
from perdure.errors.naming import SpooledFileIsPath
from perdure.errors.quotas import SeriesQuotaUsedUp
from perdure.errors.unavailable import NextWriteBlocked
from perdure.ids import Identifier, parse
from perdure.ids.pdi import Pdi
from perdure.ids.pdi_key import NAMED, encode_number, make_resource_key
from perdure.model import stored
from perdure.model.changes import RULE, TOKEN, Deed, Line
from perdure.model.commands import Content, Outcome, Receipt, make_representation
from perdure.model.reading_rules import ReadingRule
from perdure.model.records import Correction, Record, Representation, Token, Tombstone
from perdure.model.references import DELEGATION, EQUAL, list_references
from perdure.model.timestamps import format_timestamp
from perdure.policy.proposals import check_alone
from perdure.policy.reading_rules import RuleSubject
from perdure.storage.byte_ports import (
    INCOMING,
    Bytes,
    BytesRefused,
    BytesWriter,
    FlushFailed,
    KeptCorrection,
)
from perdure.storage.closed_days import FILE, ClosedDays, load_closed_days, save_closed_days
from perdure.storage.durable import sync_directory
from perdure.storage.fence import load_fence
from perdure.storage.handover import load_handover
from perdure.storage.ports import (
    SERIALS_END,
    Journal,
    JournalError,
    JournalInterrupted,
    JournalMoved,
    explain_failure,
)
from perdure.storage.reference_hashes import hash_references, reference_hash
from perdure.storage.spool import HEAD_ROOM, clear_away
from perdure.writing.rehearsing import RehearsedBytes

_MOST_DIGITS = len(str(SERIALS_END - 1))
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_LAST = "\U0010ffff"
_MOST_DAYS = 1000
"""Days whose counters are kept; each takes some kilobytes."""

MINT, RESERVE, IMPORT = "mint", "reserve", "import"
"""Acts of changes that bring new records."""
_DELEGATION = reference_hash(DELEGATION)


class DocumentRun:
    """New records of one actor, in the order of their keys, that only say which bytes they hold."""

    __slots__ = ("attested", "by", "lines", "references")

    def __init__(self, by: str) -> None:
        self.by = by
        self.lines: list[Line] = []
        self.attested: list[Line] = []
        """The same lines as `attest_line` returns them."""
        self.references: list[str] = []
        """The digest of each document, as `list_references` spells it."""


class Serials:
    """The serial numbers of a series on one day, used in order (section 2.4)."""

    __slots__ = ("_before", "_last", "_most", "_series", "_stem", "named", "now")

    def __init__(self, series: str, day: str, last: int, most: int = SERIALS_END - 1) -> None:
        """`day`: such as `2026/11/21`; `last`: the highest number in use, or 0; `most`: the highest
        one that may be given out."""
        self._series, self._most = series, most
        self.now = ""
        """The time of the batch, such as `2026-11-21T05:13:46Z`."""
        self._stem = f"pdi://{series}/{day}/"
        key = f"{make_resource_key(series, day, None)}/"
        self._before = [key + encode_number("1" * length)[:1] for length in range(_MOST_DIGITS + 1)]
        """The beginning of a key, by the number of digits that follow."""
        self._last = last
        self.named = 0
        """Names of the day other than numbers; they count, if the series has a quota."""

    def list_following(self, count: int = 1, ending: str = "") -> tuple[list[str], list[str]]:
        """The texts of the next `count` generic resources, and their keys.

        The same ending follows each text. Raises Conflict if fewer numbers are left, ShareUsedUp if
        the quota of the series is less.
        """
        first = self._last + 1
        self.check_quota(count)
        if first + count > SERIALS_END:
            name = f"{self._stem}{self._last}"
            raise SerialsUsedUp(identifier=name)
        stem, before = self._stem, self._before
        numbers = [f"{number}" for number in range(first, first + count)]
        names = [f"{stem}{digits}{ending}" for digits in numbers]
        if len(numbers[0]) == len(numbers[-1]):
            beginning = before[len(numbers[0])]
            return names, [beginning + digits for digits in numbers]
        return names, [before[len(digits)] + digits for digits in numbers]

    def check_quota(self, count: int = 1) -> None:
        """Raise ShareUsedUp if the quota of the series is less than so many more names."""
        if self._most < self._last + self.named + count < SERIALS_END:
            raise SeriesQuotaUsedUp(
                series=self._series, limit=self._most, wait=seconds_to_midnight(self.now)
            )

    @property
    def last_number(self) -> int:
        """The highest number in use, or 0 if none is."""
        return self._last

    def use_numbers(self, count: int = 1) -> None:
        """Mark the next `count` numbers as used."""
        self._last += count


def seconds_to_midnight(now: str) -> int:
    """Return the seconds until the next day begins in UTC.

    >>> seconds_to_midnight("2026-11-21T23:59:30Z")
    30
    """
    hours, minutes, seconds = int(now[11:13]), int(now[14:16]), int(now[17:19])
    return 86_400 - (hours * 60 + minutes) * 60 - seconds


class Ledger:
    """Opens a registry directory for writing, and recovers it.

    Raises Corrupt if a segment is shorter than the registry says, StorageFailed or Unavailable if
    the registry cannot be opened, OSError if a file cannot.
    """

    def __init__(
        self,
        root: Path,
        journal: Journal,
        kept: Bytes,
        *,
        segment_bytes: int,
        now: str,
        quotas: Mapping[str, int] | None = None,
        find_move: Callable[[], str] = str,
    ) -> None:
        """The ledger owns the journal from now on, and closes it.

        `find_move` returns the address to which the registry was moved since, or an empty text.
        """
        self._root = root
        self._find_move = find_move
        self._counted_here = -1
        """The count of revisions at which the registry was certainly here."""
        self.journal = journal
        self._fence = load_fence(root)
        self._quotas = quotas or {}
        self._handover = load_handover(root)
        self.now = now
        self.broken: Unavailable | None = None
        self._serials: dict[tuple[str, str], Serials] = {}
        self._named: dict[tuple[str, str], int] = {}  # how many; only of series with a quota
        self._added: dict[str, str] = {}
        # Lines of `_added` that wait to be written, in the order in which they were added: changes
        # have the order of the serial numbers, which mirrors check. With lines as a change attests
        # them, they share a change; without, each has its own.
        self._runs: list[tuple[Deed, list[Line], list[Line] | None]] = []
        self._refers: list[tuple[int, str]] = []
        self._revised = False
        self._scope_rules: dict[str, int] = {}  # the newest rule about each scope
        self._last_scope_rule = 0
        self.persons = 1
        """Persons who must agree to a withdrawal."""
        self.note_withdrawn: Callable[[str, Record], None] = _note_nothing
        """Notes the work that follows the withdrawal of what a record holds, under its key."""
        with ExitStack() as opened:
            opened.callback(journal.close)
            self._counter = journal.open_counter()
            opened.callback(self._counter.close)
            self.bytes: BytesWriter = self._recover_registry(kept, segment_bytes)
            self._rehearsed: RehearsedBytes | None = None
            self.can_rehearse = journal.is_shared and kept.is_shared
            """True if other machines wait for a row that is locked while bytes are written."""
            opened.pop_all()

    def _recover_registry(self, kept: Bytes, segment_bytes: int) -> BytesWriter:
        # An earlier writer may have died between a commit and the count.
        self._counter.note_revision()
        sync_directory(self._root)  # SQLite creates its log, but ignores an error of this flush
        clear_away(self._root / INCOMING)
        return kept.open_writer(
            [number for number, _, _ in self.journal.list_segments()],
            self.journal.find_growing_segment(),
            segment_bytes=segment_bytes,
            now=self.now,
        )

    # The batch
    # ---------

    def begin_batch(self, now: str) -> None:
        """Start a batch at this time, unless the journal has a clock of its own.

        Raises JournalError or OSError.
        """
        self.journal.begin_batch()
        self._begin_at(now if self._rehearsed is None else self._rehearsed.at)

    def begin_rehearsal(self, now: str) -> None:
        """Start to find out which bytes a batch places, at this time. `place_bytes` ends it.

        Raises JournalError or OSError.
        """
        self.journal.begin_rehearsal()
        self._begin_at(now)
        self.bytes = self._rehearsed = RehearsedBytes(self.bytes, self.now)

    def _begin_at(self, now: str) -> None:
        moment = self.journal.read_time()
        if self._rehearsed is None and moment is not None:
            now = format_timestamp(moment)
        self.now = now
        if self.journal.is_shared:  # other machines may have used numbers since
            self._serials.clear()
            self._named.clear()
        else:
            self._check_place()
        self.bytes.begin_batch(now)

    def _check_place(self) -> None:
        """Raise JournalMoved if the registry was moved.

        A command that moves it counts a revision before, while no batch is open.
        """
        count = self._counter.revision_count
        if count != self._counted_here:
            if to := self._find_move():
                raise JournalMoved(to)
            self._counted_here = count

    def place_bytes(self) -> None:
        """Make the bytes of the rehearsal durable, while no row is locked. `begin_batch` follows.

        Raises JournalError or OSError.
        """
        self.bytes.send()
        self._forget_batch()
        self.journal.roll_back()
        self.bytes.flush()

    def _end_rehearsal(self) -> None:
        if self._rehearsed is not None:
            self.bytes, self._rehearsed = self._rehearsed.writer, None

    def write_batch(self) -> None:
        """Make the batch durable: the bytes first, then the records that name them."""
        self.bytes.send()
        for number, length, grows in self.bytes.list_lengths():
            self.journal.save_segment(number, length, self.now, grows=grows)
        self._flush_records()
        flush = self.bytes.flush if self._rehearsed is None else None
        self.journal.commit_batch(after=flush, is_revision=self._revised)
        self.bytes.note_commit()
        self._end_rehearsal()
        self._counter.note_change()
        if self._revised:
            self._counter.note_revision()
            self._revised = False

    def undo_batch(self, error: Exception) -> Unavailable | None:
        """Undo the batch. Return the failure of the storage, or None if it was another error.

        If the storage has failed in another way than a full disk, the ledger accepts nothing more
        and leaves the files unchanged. A commit that was reported as failed may have succeeded, and
        then its bytes must be in the place that it names. The next start finds out.
        """
        failure = explain_failure("the write", error)
        self._forget_batch()
        self._counter.note_revision()
        if _is_of_storage(error) and not _may_pass(error):
            self.broken = failure
        try:
            self.journal.roll_back()
            if not self.broken:
                self.bytes.rewind_batch()
        except (OSError, JournalError):
            self.broken = failure
        self._end_rehearsal()
        return failure if self.broken or _is_of_storage(error) else None

    def _forget_batch(self) -> None:
        self._added.clear()
        self._runs.clear()
        self._refers.clear()
        self._serials.clear()
        self._named.clear()
        self._scope_rules.clear()
        self._last_scope_rule = 0
        self._revised = False

    @staticmethod
    def may_repeat(error: Exception) -> bool:
        """Return True if a batch failed only because another machine was faster, or because the
        connection to the database was lost before anything was stored."""
        return isinstance(error, JournalInterrupted)

    def tidy_up(self) -> None:
        """Keep the log of the registry short, after a batch that is already durable."""
        try:
            self.journal.tidy_up()
        except JournalError as error:
            if not error.passes:
                self.broken = NextWriteBlocked(reason=str(error))

    @property
    def revision_count(self) -> int:
        """The count of revisions of this registry, in all processes."""
        return self._counter.revision_count

    def close(self) -> None:
        self.bytes.close()
        self.journal.close()
        self._counter.close()

    # Records
    # -------

    def find_record(self, key: str) -> Record | None:
        """The record as the earlier commands of this batch have left it."""
        text = self._added.get(key)
        return self.journal.find_record(key) if text is None else stored.decode_stored(text)

    def find_referring(self, reference: str, *, limit: int | None = None) -> list[str]:
        """Keys of records that may have a reference, those of this batch included.

        With a limit, any so many of them if there are more.
        """
        self._flush_records()
        return self.journal.find_referring(reference, limit=limit)

    def list_revisions(self, key: str) -> list[Record]:
        """All revisions of a record, the oldest first, those of this batch included."""
        self._flush_records()
        return self.journal.list_revisions(key)

    def is_empty(self, low: str, high: str) -> bool:
        """Return True if no record has a key from `low` to `high`, both included."""
        self._flush_records()
        return self.journal.find_first_key(low, high + "\0") is None

    def add_record(self, key: str, record: Record, act: str) -> None:
        """Add a new record."""
        text = stored.encode_stored(record).decode()
        self._added[key] = text
        deed = Deed(act, self.now, record.by)
        if self._runs and self._runs[-1][0] == deed and self._runs[-1][2] is None:
            self._runs[-1][1].append((key, text))
        else:
            self._runs.append((deed, [(key, text)], None))
        if record.name or record.locations or record.versions or record.aliases or record.values:
            self._add_references(key, record)

    def add_documents(self, run: DocumentRun) -> None:
        """Add new records under consecutive numbers that only say which bytes they hold."""
        self._added.update(run.lines)
        self._runs.append((Deed(MINT, self.now, run.by), run.lines, run.attested))
        keys = [key for key, _ in run.lines]
        self._refers += zip(hash_references(run.references), keys, strict=True)

    def reserve_names(self, keys: Sequence[str], format: str, by: str) -> None:
        """Add new records that only say when and by whom their names were minted."""
        text = _write_reservation(self.now, by, format)
        self._flush_records()
        self.journal.add_alike(keys, text, Deed(RESERVE, self.now, by))

    def add_loaded(self, rows: list[Line], refers: list[tuple[int, str]], by: str) -> None:
        """Add new records of a bulk load, in the order of their keys, and stage their references.

        The registry has no other record between the first and the last of them.
        """
        self._flush_records()
        if rows:
            self.journal.add_run(rows, Deed(IMPORT, self.now, by))
        self.journal.stage_references(refers)
        self.note_references(refers)
        self.recount_serials()
        self._named.clear()

    def find_incoming(self, name: str) -> Path:
        """The path of a file in `incoming`. Raises InvalidRequest if the name leads elsewhere."""
        if Path(name).name != name:
            raise SpooledFileIsPath()
        return self._root / INCOMING / name

    def adopt_line(self, key: str, text: str, revision: int, deed: tuple[str, str]) -> None:
        """Store a revision of a record as it is. `deed`: the act and the actor."""
        act, by = deed
        self._flush_records()
        if revision == 1:
            self.journal.add_records([(key, text)], Deed(act, self.now, by))
        else:
            self.journal.revise_record(key, text, revision, Deed(act, self.now, by))
        self._revised = True

    def begin_epoch(self, reason: str, by: str) -> None:
        """Begin a new epoch after everything that was written so far."""
        self._flush_records()
        self.journal.begin_epoch(reason, self.now, by)
        self._revised = True

    def revise_record(
        self,
        identifier: Identifier,
        old: Record,
        new: Record,
        outcome: Outcome,
        deed: tuple[str, str],
    ) -> Receipt:
        """Store a new revision of a record, unless nothing changed; the history keeps the old one.

        `deed`: the act and the actor.
        """
        act, by = deed
        if outcome is Outcome.UNCHANGED:
            return Receipt(outcome=outcome, identifier=str(identifier), revision=old.revision)
        new = msgspec.structs.replace(new, revision=old.revision + 1, at=self.now, by=by)
        self._flush_records()
        text = stored.encode_stored(new).decode()
        self.journal.revise_record(identifier.key, text, new.revision, Deed(act, self.now, by))
        self._add_references(identifier.key, new)
        self._revised = True
        return Receipt(outcome=outcome, identifier=str(identifier), revision=new.revision)

    def note_revised(self) -> None:
        """Note that caches may have what this batch changes."""
        self._revised = True

    def note_references(self, refers: Iterable[tuple[int, str]]) -> None:
        """Note that caches may have other delegations, if one of these references is that of one.

        Other new records revise nothing: no cache remembers that a record is missing.
        """
        if _DELEGATION in map(itemgetter(0), refers):
            self._revised = True

    def index_equal_names(self) -> list[tuple[str, ...]]:
        """Make the equal names of an older registry findable, once.

        Return those that were minted as two, the canonical text of each.
        """
        if self.journal.find_referring(EQUAL):
            return []
        groups: dict[str, list[str]] = {}
        for key in self.journal.list_keys_with("/~"):
            record = self.journal.find_record(key) if ":" in key else None
            equal = parse(record.name).equal_key if record and record.name else None
            if record is not None and equal is not None:
                self._refers.append((reference_hash(EQUAL + equal), key))
                groups.setdefault(equal, []).append(record.name)
        self._refers.append((reference_hash(EQUAL), ""))
        self._flush_records()
        return [tuple(names) for names in groups.values() if len(names) > 1]

    def merge_staged(self) -> None:
        """Make the references of a bulk load findable."""
        self._flush_records()
        self.journal.merge_staged()

    def _add_references(self, key: str, record: Record) -> None:
        self._refers += [(reference_hash(text), key) for text in list_references(record)]

    def _flush_records(self) -> None:
        if self._added:
            for deed, rows, attested in self._runs:
                if attested is None:
                    self.journal.add_records(rows, deed)
                else:
                    self.journal.add_run(rows, deed, attested)
            self._added.clear()
            self._runs.clear()
        if self._refers:
            self.journal.add_references(self._refers)
            self._refers.clear()

    def save_token(self, token: Token, before: Token | None, by: str) -> None:
        """Add or replace a token. It counts as a change, since caches may have the old one."""
        self._flush_records()
        self.journal.save_token(token, before, Deed(TOKEN, self.now, by))
        self._revised = True

    def save_rule(self, key: str, rule: ReadingRule) -> int:
        """Add a reading rule, and return its number. Caches may have what it closes."""
        self._flush_records()
        self._revised = True
        return self.journal.save_rule(key, rule, Deed(RULE, self.now, rule.by))

    def find_rules_about(self, subject: RuleSubject) -> list[ReadingRule]:
        """The reading rules about a resource and its levels, or the newest one about a scope.

        Of rules about scopes, only those are read that are newer than at the last call.
        """
        if subject.key:
            return self.journal.find_rules(subject.key)
        for rule in self.journal.find_rules("", self._last_scope_rule):
            self._scope_rules[rule.about] = self._last_scope_rule = rule.number
        number = self._scope_rules.get(subject.about)
        return [] if number is None else self.journal.list_rules(number - 1, limit=1)

    # Serial numbers
    # --------------

    def find_serials(self, series: str, day: str) -> Serials:
        """The numbers of a series on a day (`2026/11/21`), for this batch.

        Raises Conflict if numbers of this day may be in use by names that were lost.
        """
        found = self._serials.get((series, day))
        if found is None:
            self._flush_records()
            if len(self._serials) >= _MOST_DAYS:  # past days of a retrospective deposit
                self._serials.clear()
            floor = self.find_floor(series, day)
            last = max(floor, self.journal.find_last_serial(make_resource_key(series, day, None)))
            most = self._quotas.get(series, SERIALS_END - 1)
            found = self._serials[series, day] = Serials(series, day, last, most)
        found.now = self.now
        if series in self._quotas:
            found.named = self._count_named(series, day)
        return found

    def check_quota(self, identifier: Identifier, day: str) -> None:
        """Raise ShareUsedUp if a name that was chosen is one too many for its series on this day.

        Numbers are checked when they are given out.
        """
        if self._has_quota(identifier, day):
            self.find_serials(identifier.series, day).check_quota()

    def note_name(self, identifier: Identifier, day: str) -> None:
        """Count a new name of this day that was chosen, if its series has a quota."""
        if self._has_quota(identifier, day) and (identifier.series, day) in self._named:
            self._named[identifier.series, day] += 1

    def _has_quota(self, identifier: Identifier, day: str) -> TypeGuard[Pdi]:
        return (
            isinstance(identifier, Pdi)
            and identifier.series in self._quotas
            and identifier.date == day
            and identifier.serial is None
        )

    def _count_named(self, series: str, day: str) -> int:
        count = self._named.get((series, day))
        if count is None:
            self._flush_records()
            low = f"{make_resource_key(series, day, None)}/{NAMED}"
            count = self._named[series, day] = self.journal.count_keys(low, low + _LAST)
        return count

    def find_floor(self, series: str, day: str) -> int:
        """The number after which numbers of a day may be given out, or 0.

        Raises Conflict if numbers of this day may be in use by names that are not known here.
        """
        floors = (self._fence, self._handover)
        return max(one.find_floor(series, day) for one in floors)

    def require_open_day(self, series: str, day: str) -> None:
        """Raise DayClosed if no further names are given under a past day of a series."""
        closure = self.load_closed_days().find_closure(series, day)
        if closure is not None:
            name = f"pdi://{series}/{day}/"
            raise DayClosed(identifier=name, at=closure.at, why=closure.reason)

    def load_closed_days(self) -> ClosedDays:
        """The closed days of this registry. Raises Corrupt."""
        return load_closed_days(self._root)

    def save_closed_days(self, closed: ClosedDays) -> None:
        """Make closed days durable. Raises StorageFailed."""
        try:
            save_closed_days(self._root, closed)
        except OSError as error:
            raise StorageFailed(what=FILE, reason=error.strerror or "") from error

    def recount_serials(self) -> None:
        """Forget the counters, since other commands may have used serial numbers."""
        self._serials.clear()

    # Bytes
    # -----

    def check_spooled(self, contents: tuple[Content, ...]) -> None:
        """Raise Incomplete if a file in `incoming` does not have the length that its content
        says.

        Placed bytes cannot be taken back for one command alone, so all are checked first.
        """
        for content in contents:
            if content.spooled is not None:
                expected = content.length
                try:
                    received = self.find_incoming(content.spooled).stat().st_size - HEAD_ROOM
                except FileNotFoundError:
                    received = 0
                if received != expected:
                    raise Incomplete(expected=expected, received=max(received, 0))

    def discard_spooled(self, contents: Iterable[Content]) -> None:
        """Remove the files of these contents that are still in `incoming`."""
        for content in contents:
            if content.spooled is not None:
                with suppress(OSError, InvalidRequest):
                    self.find_incoming(content.spooled).unlink(missing_ok=True)

    def place_content(self, name: str, version: int, content: Content) -> Representation:
        """Queue bytes under their full name, and return the representation with their place."""
        if content.spooled is None:
            segment, offset = self.bytes.append(name, version, content)
        else:
            source = self.find_incoming(content.spooled)
            segment, offset = self.bytes.adopt(name, version, content, source)
        return make_representation(content, segment, offset)

    def log_tombstone(
        self, identifier: Identifier, tombstone: Tombstone, version: int | None
    ) -> None:
        """Write a withdrawal beside the bytes, so that a rebuild does not undo it."""
        self.bytes.append_tombstone(str(identifier.resource), version or 0, tombstone)

    def check_alone(self, identifier: Identifier, held: Record, changed: Record) -> None:
        """Raise Conflict if a change has the effect of a withdrawal that needs two persons."""
        if self.persons > 1:
            check_alone(identifier, held, changed)

    def log_correction(
        self, identifier: Identifier, version: int, format: str, correction: Correction
    ) -> None:
        """Write a correction beside the bytes, so that a rebuild does not lose it."""
        kept = KeptCorrection(format=format, correction=correction)
        self.bytes.append_correction(str(identifier.resource), version, kept)

    def list_sealable(self, now: str) -> list[int]:
        """Segments that receive no more records and are not sealed yet."""
        if self.broken:  # the segments may contain more than was committed
            return []
        return self.bytes.list_sealable(now)


@lru_cache(16)
def _write_reservation(at: str, by: str, format: str) -> str:
    """The record of a name that was only minted: the same for all names of a second."""
    return stored.encode_stored(Record(at=at, by=by, minted=format)).decode()


def _note_nothing(key: str, record: Record) -> None:
    """Do nothing: no writer has asked to know of withdrawals."""


def _is_of_storage(error: Exception) -> bool:
    """Return True if the disk or the database failed, rather than the command."""
    return isinstance(error, (OSError, JournalError))


def _may_pass(error: Exception) -> bool:
    """Return True if the error ends when space is freed, or another process or a server answers."""
    if isinstance(error, JournalError):
        return error.passes
    if isinstance(error, BytesRefused):
        return True
    if isinstance(error, FlushFailed):
        return False
    return isinstance(error, OSError) and error.errno in _NO_SPACE
