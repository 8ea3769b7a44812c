"""A copy of a registry takes over: it becomes the registry, and goes on with its names.

How it works: under the write lock of the copy, a new epoch begins, which names the last change of
the copy. The names that the predecessor gave out after this change are unknown here, so they must
not be given again. Serial numbers: the days from this change to today are closed, unless an
operator tells the highest numbers (`perdure.storage.handover`). All names: if the predecessor can
be reached (`perdure.upkeep.transfer.predecessors`), each of its later names is reserved here. If
the predecessor is a directory that can be stopped, it is marked as replaced; then nothing is
closed, because it gives out no further name. Tokens: `perdure.upkeep.transfer.revoking`. A mirror
that is behind adds the reading rules that it foresaw.

What must stay true: the closed days, the epoch, the foreseen rules, the reserved names and the
revocations are durable before the fence opens; after an interruption, the copy is still fenced, and
the promotion can be repeated.
# ruling: copy-fence
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import msgspec

from perdure.archives.withholding import Withholdings
from perdure.errors import UnknownAuthority
from perdure.errors.importing import NothingToPromote
from perdure.errors.processes import HasWriter
from perdure.errors.root import quote
from perdure.model import stored
from perdure.model.changes import RULE, ChainHead, ChangeMark, Deed
from perdure.model.reading_rules import ReadingRule
from perdure.model.records import LOCAL, Record, Token
from perdure.policy.naming import identify_record
from perdure.policy.reading_rules import read_rule
from perdure.settings import Settings
from perdure.storage import fence, handover, home
from perdure.storage.durable import WRITE_LOCK, hold_lock
from perdure.storage.generation import Generation
from perdure.storage.handover import Handover
from perdure.storage.origin import forget_foreseen, load_foreseen, retire_origin
from perdure.storage.ports import Journal, Records, Store, storage_errors
from perdure.upkeep.transfer.predecessors import Predecessor, PredecessorDirectory
from perdure.upkeep.transfer.revoking import TokenPlan, plan_tokens, revoke_tokens
from perdure.writing.copy_fence import CopyFence
from perdure.writing.ledger import RESERVE

REASON = "promotion"
"""The reason of the epoch that begins."""
REBUILD = "rebuild"
_LONG_AGO = "0001/01/01"
_SOME = 1000


class Promotion(msgspec.Struct, frozen=True, kw_only=True):
    """The effects of a promotion."""

    signs: tuple[str, ...]
    """Why the directory looked like a copy."""
    epoch: int | None
    """The number of the new epoch; None if the command only noted numbers."""
    previous: ChainHead | None
    """The last change of the copy. None if older releases alone have written it."""
    day: str
    """Today (UTC), such as `2026/11/22`."""
    closed: tuple[str, ...]
    """Series in which no number of today is given out."""
    highest: dict[str, int]
    """By series: the number after which numbers of today go on."""
    reserved: int = 0
    """Number of names of the predecessor that were unknown here."""
    unlisted: int = 0
    """Number of names of the predecessor that are unknown, and could not be listed."""
    withdrawn: tuple[str, ...] = ()
    """Names that the predecessor has withdrawn since, and that are served here."""
    revoked: tuple[str, ...] = ()
    """Names of tokens that the promotion revoked."""
    tokens: tuple[str, ...] = ()
    """Names of valid tokens of which it is unknown whether they were revoked since."""
    unknown_tokens: tuple[str, ...] = ()
    """Names of valid tokens of the predecessor that do not exist here."""
    is_complete: bool = False
    """True if the predecessor was stopped for good, so that all its names are known."""
    is_looked_up: bool = False
    """True if the changes of the predecessor were read."""


def promote_copy(
    root: Path,
    store: Store,
    settings: Settings,
    *,
    now: str,
    highest: Mapping[str, int] | None = None,
    predecessor: Predecessor | None = None,
    is_snapshot: bool = False,
    revoke_all: bool = False,
    dry_run: bool = False,
) -> Promotion:
    """Make the copy in `root` the registry.

    `highest`: by series, the highest serial number that was given out today. `is_snapshot`: promote
    even what does not look like a copy. `revoke_all`: revoke all tokens. `dry_run`: change nothing.

    Raises InvalidRequest if it is not a copy or the predecessor is another registry,
    UnknownAuthority for a series that is not minted here, Unavailable if a writer has the registry
    open, StorageFailed if the disk refuses.
    """
    told = dict(highest or {})
    for series in told:
        if series not in settings.series:
            raise UnknownAuthority(authority=series, known=settings.series)
    guard = CopyFence(root, store, settings.copy_fence)
    with _hold_writer(root, root), storage_errors("the registry"):
        signs, day = guard.list_signs(), now[:10].replace("-", "/")
        known = handover.load_handover(root)
        if not signs and not is_snapshot:
            return _tell_highest(root, settings, known, day, told, dry_run=dry_run)
        with ExitStack() as opened:
            records = opened.enter_context(closing(store.open_records(root)))
            plan = _Plan(records, day, predecessor)
            if isinstance(predecessor, PredecessorDirectory) and predecessor.is_original:
                opened.enter_context(_hold_writer(predecessor.root, predecessor.root))
                plan.is_complete = True
            plan.look_up_writes()
            plan.tokens = plan_tokens(
                records.list_tokens(), plan.their_tokens or {}, now=now, revoke_all=revoke_all
            )
            is_open = plan.is_complete and not _has_closed_days(predecessor, known)
            closed = known.close_days(min(plan.first_day, plan.today), plan.day)
            settled = known if is_open else closed
            if told:
                settled = settled.tell_highest(plan.day, told)
            if not dry_run:
                _take_over(root, store, guard, plan, settled, now)
            return _describe_promotion(plan, tuple(signs), settled, settings)


@contextmanager
def _hold_writer(root: Path, shown: Path) -> Iterator[None]:
    with hold_lock(root / WRITE_LOCK, HasWriter(used=quote(shown))):
        yield


def _has_closed_days(predecessor: Predecessor | None, known: Handover) -> bool:
    """Return whether a predecessor itself does not know all names that it gave out."""
    if not isinstance(predecessor, PredecessorDirectory):
        return False
    there = predecessor.root
    return (there / fence.FILE).exists() or handover.load_handover(there) != known


def _tell_highest(
    root: Path,
    settings: Settings,
    known: Handover,
    day: str,
    told: Mapping[str, int],
    *,
    dry_run: bool,
) -> Promotion:
    """Tell the highest numbers of a day that an earlier promotion closed."""
    if not told or not all(known.is_closed(one, day) or day in known.highest for one in told):
        raise NothingToPromote()
    settled = known.tell_highest(day, told)
    if not dry_run:
        handover.save_handover(root, settled)
    return Promotion(
        signs=(),
        epoch=None,
        previous=None,
        day=day,
        closed=tuple(one for one in settings.series if settled.is_closed(one, day)),
        highest=settled.highest.get(day, {}),
    )


class _Plan:
    """A copy and its predecessor before the promotion."""

    def __init__(self, records: Records, day: str, predecessor: Predecessor | None) -> None:
        self.head = records.find_head()
        self._shared = _find_shared_head(records, self.head)
        """The last change that the predecessor has, too."""
        self.first_day = _find_day(records, self._shared)
        self.today = day
        self.day = max(day, self.first_day)
        """The last day on which the predecessor may have given out names. It is later than today if
        the clock of one of them is wrong."""
        self.predecessor = predecessor
        self.is_complete = False
        self.names: dict[str, Record] = {}
        self.unlisted = 0
        self.withdrawn: list[str] = []
        self.their_tokens: dict[str, Token] | None = None
        """By name: the tokens of the predecessor; None if they are unknown."""
        self.tokens = TokenPlan()
        self._records = records

    def look_up_writes(self) -> None:
        """Look up the names and the tokens that only the predecessor has. Raises InvalidRequest."""
        if self.predecessor is None:
            return
        found = self.predecessor.list_later_writes(self._shared)
        self.unlisted, self.their_tokens = found.unlisted, found.tokens
        for key, record in sorted(found.names.items()):
            if self._records.find_record(key) is None:
                self.names[key] = record
        for key, there in sorted(found.withdrawn.items()):
            ours = self._records.find_record(key)
            if ours is not None and _is_served_longer(ours, there):
                self.withdrawn.append(str(identify_record(key, ours)))


def _is_served_longer(ours: Record, there: Record) -> bool:
    """Return whether bytes are served from one record that were withdrawn in the other."""
    if ours.tombstone is not None:
        return False
    ended = {one.number for one in there.versions if one.tombstone or there.tombstone}
    return any(
        one.tombstone is None and (one.number in ended or (there.tombstone and not there.versions))
        for one in ours.versions
    ) or (there.tombstone is not None and not ours.versions)


def _find_shared_head(records: Records, head: ChainHead | None) -> ChainHead | None:
    """The last change before the copy itself was rebuilt, if it was."""
    epochs = {one.epoch: one for one in records.list_epochs()}
    while head is not None and epochs[head.epoch].reason == REBUILD:
        head = epochs[head.epoch].previous
    return head


def _find_day(records: Records, head: ChainHead | None) -> str:
    """The day of the last change."""
    if head is None:
        return _LONG_AGO
    (last,) = records.list_changes(ChangeMark(head.epoch, head.number - 1), limit=1)
    return last.at[:10].replace("-", "/")


def _take_over(
    root: Path, store: Store, guard: CopyFence, plan: _Plan, settled: Handover, now: str
) -> None:
    handover.save_handover(root, settled)
    if isinstance(plan.predecessor, PredecessorDirectory):
        _take_over_takedowns(root, plan.predecessor.root)
    with closing(store.open_journal(root)) as journal:
        journal.number_changes(now)
        journal.begin_batch()
        journal.begin_epoch(REASON, now, LOCAL)
        revoke_tokens(journal, plan.tokens, now)
        _save_foreseen_rules(journal, load_foreseen(root), now)
        journal.commit_batch()
        _reserve_names(journal, plan.names, now)
    if plan.is_complete and isinstance(plan.predecessor, PredecessorDirectory):
        there = plan.predecessor.root
        mark = home.BackupMark(registry=home.find_id(there), at=now, replaced=True)
        home.mark_copy(there, mark)
    guard.settle()
    retire_origin(root, now)
    forget_foreseen(root)
    with Generation(root) as generation:  # wakes those who wait for changes
        generation.note_revision()
        generation.note_change()


def _save_foreseen_rules(journal: Journal, rules: Iterable[ReadingRule], now: str) -> None:
    """Add the rules of the origin whose changes the mirror does not have, the oldest first."""
    last = journal.find_last_rule()
    for rule in sorted(rules, key=lambda one: one.number):
        if rule.number > last:
            journal.save_rule(read_rule(rule).key, rule, Deed(RULE, now, LOCAL))


def _take_over_takedowns(root: Path, there: Path) -> None:
    """Add the takedowns of captures that the predecessor knows alone."""
    ours = Withholdings(root)
    known = ours.list_lines()
    for line in Withholdings(there).list_lines():
        if line not in known:
            ours.add(line)


def _reserve_names(journal: Journal, names: Mapping[str, Record], now: str) -> None:
    rows = [
        (key, stored.encode_stored(msgspec.structs.replace(record, at=now)).decode())
        for key, record in names.items()
    ]
    for at in range(0, len(rows), _SOME):
        journal.begin_batch()
        journal.add_records(rows[at : at + _SOME], Deed(RESERVE, now, LOCAL))
        journal.commit_batch()
        journal.tidy_up()


def _describe_promotion(
    plan: _Plan, signs: tuple[str, ...], settled: Handover, settings: Settings
) -> Promotion:
    is_known = plan.is_complete and plan.their_tokens is not None
    return Promotion(
        signs=signs,
        epoch=plan.head.epoch + 1 if plan.head else 1,
        previous=plan.head,
        day=plan.day,
        closed=tuple(one for one in settings.series if settled.is_closed(one, plan.day)),
        highest=settled.highest.get(plan.day, {}),
        reserved=len(plan.names),
        unlisted=plan.unlisted,
        withdrawn=tuple(plan.withdrawn),
        revoked=tuple(one.name for one in plan.tokens.revoked),
        tokens=() if is_known else plan.tokens.valid,
        unknown_tokens=plan.tokens.unknown,
        is_complete=plan.is_complete,
        is_looked_up=plan.predecessor is not None,
    )
