"""The ports of records: small protocols that a store of records implements.

To keep the records elsewhere, write a package that offers a `Store`, register it as an entry point
in the group `perdure.stores`, and choose it with the setting `store`: by its name, or by an address
that begins with its name (`name://…`). No existing file is edited. The contract tests in
`tests/storage` check what each port promises. `perdure.storage.byte_ports` has the port of bytes.

What must stay true: if the database refuses something, the adapter raises `JournalFull`,
`JournalBusy` or `JournalFailed`, and never an error of the database's own library.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Protocol, Self

from perdure.errors import Corrupt, StorageFailed, Unavailable
from perdure.errors.moving import RegistryMoved
from perdure.errors.processes import DatabaseBusy
from perdure.errors.root import quote
from perdure.errors.unavailable import WritingNotAllowed
from perdure.model.changes import ChainHead, Change, ChangeMark, ChangeMoment, Deed, Epoch, Line
from perdure.model.reading_rules import ReadingRule
from perdure.model.records import Record, Token
from perdure.model.stored import ShortLine
from perdure.storage.byte_ports import Bytes, BytesRefused
from perdure.storage.store_findings import StoreFinding
from perdure.storage.turn_ports import TurnReader

SERIALS_END = 10**18
"""The end of the serial numbers; every serial number is smaller."""


# Errors of a journal
# -------------------


class JournalError(Exception):
    """The database refused a batch, for a reason that is not in the batch itself."""

    passes: ClassVar[bool]
    """Whether the next batch may succeed without a restart."""


class JournalFull(JournalError):
    """No space is left."""

    passes = True


class JournalBusy(JournalError):
    """Another process holds the database, or the database is changing its leader."""

    passes = True


class JournalFailed(JournalError):
    """The database cannot say which writes are durable."""

    passes = False


class JournalUndecided(JournalFailed):
    """The connection was lost in a commit, and the database cannot say whether it succeeded."""


class JournalMoved(JournalFailed):
    """The registry was moved to another place, whose address the error has."""


class JournalInterrupted(JournalError):
    """Nothing of the batch is stored, and it may be carried out again at once.

    The connection was lost, or another machine was faster.
    """

    passes = True


_NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)


@contextmanager
def storage_errors(what: str) -> Iterator[None]:
    """Raise our own errors if the disk is full or failing, or if a database is busy.

    Raises StorageFailed or DatabaseBusy; `what` names the thing for the message.
    """
    try:
        yield
    except BytesRefused as error:
        raise error.failure from error
    except OSError as error:
        kind = WritingNotAllowed if error.errno in _NOT_ALLOWED else StorageFailed
        raise kind(what=what, reason=_describe_fault(error)) from error
    except JournalError as error:
        raise explain_failure(what, error) from error


def explain_failure(what: str, error: Exception) -> Unavailable:
    """Return the error that says why something is not stored."""
    if isinstance(error, BytesRefused):
        return error.failure
    if isinstance(error, JournalMoved):
        return RegistryMoved(to=str(error))
    if isinstance(error, JournalBusy):
        return DatabaseBusy(what=what, fault=str(error))
    return StorageFailed(what=what, reason=str(error))


def _describe_fault(error: OSError) -> str:
    """The words of the system, and the path to which they apply."""
    path = f": {quote(error.filename)}" if error.filename is not None else ""
    return f"{error.strerror}{path}" if error.strerror else str(error)


# Records
# -------


class CountPair(Protocol):
    """Counts of revisions and of changes, in this order, for those who read them at every request.

    The second one has no meaning but that it differs after each change.
    """

    def __getitem__(self, place: int, /) -> int: ...


class RevisionCounter(Protocol):
    """A count that grows before a revision of a record is acknowledged, on every node.

    What was read after the count was, is valid as long as the count is the same.
    """

    @property
    def is_mapped(self) -> bool:
        """True if the counts are in memory, so that to read one asks no server."""

    @property
    def counts(self) -> CountPair:
        """Both counts."""

    @property
    def revision_count(self) -> int:
        """The first count."""

    @property
    def change_count(self) -> int:
        """The second count."""

    def note_revision(self) -> None:
        """Count a revision after its batch, if the batch itself has not done so."""

    def note_change(self) -> None:
        """Signal that there are new changes."""

    def close(self) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...


class RecordLookUp(Protocol):
    """Looks up records for the one thread that looks up most of them.

    Methods raise Unavailable if the registry cannot be read, and Corrupt if it is damaged.
    """

    def find_stored(self, key: str) -> str | None:
        """The current revision of a record in its stored form."""

    def find_last_stored(self, low: str, high: str) -> tuple[str, str] | None:
        """The last record with low <= key <= high: its key and its stored form."""

    def find_referring(self, reference: str, *, limit: int) -> list[str]:
        """Keys of records that may have this reference (`perdure.model.references`), sorted.

        At most `limit`, any of them if there are more.
        """

    def hold_state(self) -> None:
        """Keep one state of the registry for all look-ups until `release_state`."""

    def release_state(self) -> None:
        """Let look-ups see the newest acknowledged state again."""


class LineRun(NamedTuple):
    """Neighbouring records in their stored form, one or more."""

    change: ChangeMark | None
    """The change that wrote all of them, if the store says so."""
    keys: Sequence[str]
    texts: Sequence[str]
    """For each key, the stored form of its record."""


class Records(Protocol):
    """A registry, as readers see it. Every method sees all writes acknowledged before the call.

    Methods raise Unavailable if the registry cannot be read, and Corrupt if it is damaged.
    """

    def find_stored(self, key: str) -> str | None:
        """The current revision of a record in its stored form (`perdure.model.stored`)."""

    def hold_snapshot(self) -> AbstractContextManager[None]:
        """Keep one state of the registry for everything that this thread reads in the context.

        Within another such context, it is that one's state.
        """

    @property
    def holds_snapshot(self) -> bool:
        """True while this thread keeps a state, which may be older than the newest."""

    def find_record(self, key: str) -> Record | None:
        """The current revision of a record."""

    def find_records(self, keys: Sequence[str]) -> dict[str, Record]:
        """The current revisions of the records with these keys that exist, by their keys."""

    def open_lookup(self, *, cold: bool = False) -> RecordLookUp:
        """Fast look-ups for one thread.

        A `cold` one reads no more than it needs from the disk, and costs more if nothing is read.
        """

    def open_turns(self) -> TurnReader | None:
        """Look-ups for an event loop, which must not wait for the store.

        None if the store is not behind a network, so that `open_lookup` hardly ever waits.
        """

    def open_counter(self) -> RevisionCounter:
        """The count of revisions of this registry. Raises OSError or Unavailable."""

    def read_ahead(self, is_wanted: Callable[[], bool]) -> None:
        """Get all records into the memory of the system, if more than twice as much is free.

        Stops early if `is_wanted` returns False.
        """

    def scan_records(
        self, low: str, high: str | None, *, limit: int, with_bytes: bool = False
    ) -> list[tuple[str, Record | Corrupt]]:
        """At most `limit` records with low <= key < high, in key order.

        Without `high`, all from `low` on: a damaged key may sort behind every text. In the place of
        a damaged record is an error. A key that is not in UTF-8 has a surrogate for each wrong
        byte. With `with_bytes`, records whose stored form says that they have no bytes are left out
        unchecked, if the store can find the others faster.
        """

    def scan_lines(self, low: str, high: str | None, *, limit: int) -> list[Line] | None:
        """The same records in their stored form, which is not decoded.

        None if a row is damaged, so that only `scan_records` can read them.
        """

    def scan_runs(self, low: str, *, limit: int) -> list[LineRun] | None:
        """The same from `low` on without an end, split where another change wrote the records.

        If many changes wrote them, one run without a change has them all.
        """

    def find_first_key(self, low: str, high: str) -> str | None:
        """The smallest key with low <= key < high."""

    def count_keys(self, low: str, high: str) -> int:
        """The number of keys with low <= key < high. It reads them."""

    def list_keys_with(self, text: str) -> list[str]:
        """All keys that contain a text, in order. It reads every key."""

    def find_referring(self, reference: str, *, limit: int | None = None) -> list[str]:
        """Keys of records with this reference (`perdure.model.references`), sorted.

        With a limit, any so many of them if there are more.
        """

    def find_any_referring(self, references: Sequence[str]) -> list[str]:
        """Keys of records with one of these references, each once, sorted."""

    def list_revisions(self, key: str) -> list[Record]:
        """All revisions of a record, the oldest first."""

    def list_past(self, key: str, before: int) -> list[Record]:
        """The past revisions of a record with smaller numbers than `before`, the oldest first."""

    def find_token(self, digest: str) -> Token | None:
        """The token whose secret has this SHA-256."""

    def find_token_named(self, name: str) -> Token | None:
        """The token with this name."""

    def list_tokens(self) -> list[Token]:
        """All tokens, in the order of their names."""

    def list_token_changes(self, name: str) -> list[tuple[str, str, str | None, str]]:
        """For each change of a token: time, actor, and the token before and after as JSON.

        The oldest change comes first.
        """

    def find_last_rule(self) -> int:
        """The number of the newest reading rule, or 0 if there never was one."""

    def find_rules(self, key: str, after: int = 0) -> list[ReadingRule]:
        """The reading rules with this key or, if it is empty, about scopes.

        The oldest comes first. Among them are rules that later ones replace or lift; rules up to
        the number `after` are left out.
        """

    def find_rules_below(self, beginning: str, after: int = 0) -> list[ReadingRule]:
        """The reading rules with keys that begin with a text, which is not empty, likewise."""

    def list_rules(self, after: int = 0, *, limit: int) -> list[ReadingRule]:
        """At most `limit` reading rules after the number `after`, of all keys, likewise."""

    def count_records(self) -> int:
        """The number of identifiers. Reads all keys."""

    def count_revisions(self) -> int:
        """The number of revisions of all records. Reads all keys."""

    def list_segments(self) -> list[tuple[int, int, str]]:
        """Number, committed length and opening time of each segment."""

    def find_head(self) -> ChainHead | None:
        """The last change, or None if no writer has numbered the changes yet."""

    def list_epochs(self) -> list[Epoch]:
        """All epochs of numbered changes, the oldest first."""

    def list_changes(self, since: ChangeMark | None = None, *, limit: int) -> list[Change]:
        """At most `limit` changes in order, after the mark `since` or from the first one.

        Raises Conflict if no change has this mark.
        """

    def find_lines(self, change: Change) -> list[Line]:
        """The keys and stored lines that a change wrote, in the order of the keys.

        There are fewer than the change says if some of them were lost. Raises Corrupt if one of
        them is damaged.
        """

    def list_lines(self, changes: Sequence[Change]) -> list[list[Line]]:
        """The same for each of several changes, which follow each other."""

    def find_change(self, key: str, revision: int) -> Change | None:
        """The change that wrote a revision of a record.

        None if there is no such revision, or if it was written before changes had numbers. Raises
        Corrupt if it is damaged.
        """

    def find_moments(self, revisions: Sequence[tuple[str, int]]) -> list[ChangeMoment | None]:
        """The same for each of several revisions, with their keys, but only mark and time.

        It is faster, since it reads little else of the changes.
        """

    def check_integrity(self) -> Iterator[Corrupt]:
        """An error for everything damaged in the store other than records.

        This is the database's own check of itself, and can take a while.
        """

    def find_unlinked(self, rows: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
        """Return the references, each a hash and the key of a record, that are not found."""

    def sum_references(self) -> tuple[int, int] | None:
        """The number of all references, and the sum of `hash((hash of the reference, key))`.

        None if the index may have references that no present record has, or if the store cannot
        read all of them faster than it finds each.
        """

    def divide_keys(self, count: int) -> list[str]:
        """At most `count` keys that divide all records into parts of about the same size, in order.

        A store may return fewer, or none.
        """

    def close(self) -> None:
        """Free the resources of the reader."""


# Writing
# -------


class ReplayedChange(NamedTuple):
    """A change of another registry, for its mirror."""

    change: Change
    lines: Sequence[Line] = ()
    """What it wrote, with the places of bytes in the mirror."""
    epoch: Epoch | None = None
    """The epoch that it begins."""
    subject: str = ""
    """If it wrote a reading rule: the key of the resource, or an empty text."""


class Journal(Records, Protocol):
    """The only way to write to a registry. A registry has one, and one thread at a time uses it.

    Everything written between `begin_batch` and `commit_batch` becomes durable together, each write
    with its numbered change. The journal's own reads see these writes. Methods raise
    `JournalError`.
    """

    is_shared: bool
    """Whether other machines write to the registry, so that a batch can rely on nothing that it has
    not read itself."""

    def number_changes(self, at: str) -> None:
        """Begin the first epoch, and number the changes that an older release did not number.

        It is called once before the first batch, and does nothing if all changes have numbers.
        """

    def begin_epoch(self, reason: str, at: str, actor: str) -> None:
        """Begin a new epoch, which names the last known change; numbers start again at 1."""

    def begin_batch(self) -> None:
        """Start a batch."""

    def begin_rehearsal(self) -> None:
        """Start a batch that reads as any other, but locks nothing. What it writes has no effect.

        `roll_back` ends it.
        """

    def read_time(self) -> datetime | None:
        """The time of the database at which the batch began, for its dates.

        None if the clock of this machine counts.
        """

    def lock_days(self, days: Iterable[str]) -> None:
        """Announce the days (`oma.eop.gov.us/20261121`) whose serial numbers the batch will use.

        A store that several machines write locks them in one order; another ignores this.
        """

    def prefetch_records(self, keys: Iterable[str]) -> None:
        """Announce the keys of records that the batch will read.

        A store fetches them together, and one behind a network locks them; another may ignore this.
        """

    def commit_batch(
        self, *, after: Callable[[], None] | None = None, is_revision: bool = False
    ) -> None:
        """Make the batch durable. Call `after` first, which makes its bytes durable.

        With `is_revision`, readers must forget what they remember (`RevisionCounter`).
        """

    def roll_back(self) -> None:
        """Undo the batch, with its records and its numbers."""

    def add_records(self, rows: Sequence[Line], deed: Deed) -> None:
        """Add new records, given as key and stored form, each with its own change."""

    def add_run(
        self, rows: Sequence[Line], deed: Deed, attested: Sequence[Line] | None = None
    ) -> None:
        """Add new records, in the order of their keys, as one change.

        The registry has no other record between the first and the last of them. `attested` has the
        same rows with their lines as `changes.attest_line` returns them, if the caller knows them.
        """

    def add_alike(self, keys: Sequence[str], text: str, deed: Deed) -> None:
        """Do the same as `add_run` for records that all have the stored form `text`."""

    def revise_record(self, key: str, text: str, revision: int, deed: Deed) -> None:
        """Store a changed record, and move the revision before it to the history."""

    def replay_changes(self, changes: Sequence[ReplayedChange]) -> None:
        """Add changes of another registry, with their numbers and hashes, and what they wrote.

        They follow the last change here. Raises Corrupt if they do not continue the chain.
        """

    def move_bytes(self, key: str, text: str) -> None:
        """Store the current revision of a record with other places of its bytes.

        It is not a change: no digest covers the places.
        """

    def redact_past(self, key: str, redact: Callable[[str], str]) -> None:
        """Rewrite the past revisions of a record, given in their stored form, after an erasure.

        The salts of the changes that wrote these revisions are destroyed: what they wrote can no
        longer be guessed, and the chain stays valid. Raises Corrupt, and rewrites nothing, if one
        of the revisions is damaged.
        """

    def drop_references(self, rows: Iterable[tuple[int, str]]) -> None:
        """Remove references of records, when the batch is committed."""

    def add_references(self, rows: Iterable[tuple[int, str]]) -> None:
        """Add references of records: each is a hash and the key of a record."""

    def stage_references(self, rows: Iterable[tuple[int, str]]) -> None:
        """Add references of a bulk load, which can be found only after `merge_staged`."""

    def merge_staged(self) -> None:
        """Make all staged references findable."""

    def find_last_serial(self, day: str) -> int:
        """The highest serial number under the key of a day, or 0 if the day has none yet.

        Numbers from `SERIALS_END` on are ordinary names and do not count.
        """

    def save_token(self, token: Token, before: Token | None, deed: Deed) -> None:
        """Add or replace a token, and note the change, without digests, in the token history."""

    def save_rule(self, key: str, rule: ReadingRule, deed: Deed) -> int:
        """Add a reading rule under its key, and return its number.

        The key is empty for a rule about a scope.
        """

    def find_answer(self, actor: str, once: str) -> tuple[str, str] | None:
        """Fingerprint and receipt of the request that was answered under this idempotency key."""

    def save_answer(self, actor: str, once: str, request: str, receipt: str, at: str) -> None:
        """Store the answer to a request."""

    def forget_answers(self, before: str) -> None:
        """Delete the answers given before this time."""

    def find_growing_segment(self) -> tuple[int, int, str] | None:
        """Number, committed length and opening time of the last segment that still grows."""

    def save_segment(self, number: int, length: int, opened: str, *, grows: bool) -> None:
        """Store the committed length of a segment, and whether it still grows."""

    def tidy_up(self) -> None:
        """Do the work that can wait until answers are given."""


class SalvagedRecord(NamedTuple):
    """A current revision of a damaged registry."""

    key: str
    text: str
    """Its stored form."""
    position: int | None
    """That of its change. Only the store itself knows how to read it."""
    sum: int | None = None
    """The checksum that the store keeps of all this, if it was compared."""


class Salvage(Protocol):
    """The readable content of a damaged registry.

    It is a context manager; no other process has the registry open meanwhile.
    """

    problems: list[str]
    """Descriptions of the parts that could not be read."""
    last_day: str
    """If records were lost, the last day (`2026/11/22`) of the changes."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def read_pages(self, *, with_bytes: bool = False) -> Iterator[list[SalvagedRecord]]:
        """Current revisions in the order of their keys, or only those that may have bytes.

        They come a few at a time, but never none.
        """

    def parse_content(self, salvaged: SalvagedRecord) -> ShortLine | Record | None:
        """The content of a record, decoded if it has no short form.

        None if it cannot be read, which is noted as by `note_lost`.
        """

    def note_lost(self, key: str, problem: str) -> None:
        """Note that the record with this key could not be taken over."""

    def find_lost_numbers(self, day: str) -> dict[str, int] | None:
        """By series, the highest number that a lost record may have had from a day on.

        None if it is not known which records were lost. Call it after `read_pages`.
        """


class Renewal(Journal, Protocol):
    """A registry that is being rebuilt."""

    def put_record(self, key: str, record: Record) -> None:
        """Store a record read from the segments, in place of any other. `note_renewed` notes it."""

    def keep_record(
        self, key: str, record: Record, position: int | None, past: Record | None
    ) -> None:
        """Store a record that the old registry has.

        If `past` is given, `record` is a new revision with more in it, and `past` goes to the
        history.
        """

    def keep_lines(self, page: Sequence[SalvagedRecord]) -> None:
        """Store records that the old registry has, exactly as they are there."""

    def take_over(self, old: Any) -> None:
        """Take over everything but the records from a registry that the same store salvaged."""

    def note_renewed(self, at: str, actor: str) -> None:
        """Begin a new epoch, with a change for each record that no earlier change wrote."""


class RegistryCopy(Protocol):
    """A copy of a registry as it was at one moment, while others write to it.

    Methods raise StorageFailed or Unavailable.
    """

    def list_segments(self) -> list[tuple[int, int, str]]:
        """Number, length and opening time of each segment at that moment."""

    def copy(self) -> Iterator[float]:
        """Copy what the target does not have, and yield the share done (0 to 1)."""

    def install(self) -> None:
        """Make the registry in the target the copied one, in one step that is durable."""

    def close(self) -> None:
        """Remove the files of an unfinished copy."""


class Store(Protocol):
    """Keeps registries. Each entry point of the group `perdure.stores` loads a store.

    Methods raise StorageFailed or Unavailable.
    """

    def create_registry(self, root: Path) -> None:
        """Create an empty registry, unless the directory has one already."""

    def open_records(self, root: Path) -> Records:
        """Open a registry for reading, and change nothing in it."""

    def open_journal(self, root: Path) -> Journal:
        """Open a registry for writing. The caller holds its write lock."""

    def examine(self, root: Path) -> list[StoreFinding]:
        """Examine the disk or server on which the store depends. Changes nothing."""

    def guard_bytes(self, root: Path, held: Bytes) -> Bytes:
        """The bytes of a directory as it may use them, if other directories have the registry, too.

        Otherwise `held` itself.
        """

    def open_renewal(self, root: Path) -> Renewal:
        """Create an empty registry in a directory, for a rebuild. It is durable when installed."""

    def open_salvage(self, root: Path) -> Salvage:
        """Open what is left of a damaged registry. Raises Unavailable if it is in use."""

    def begin_copy(self, root: Path, work: Path, target: Path) -> RegistryCopy:
        """Begin to copy a registry that is in use to `target`, which may have an earlier copy.

        `work` is a directory on the same disk as `target`, for unfinished files.
        """

    def is_past(self, earlier: Path, later: Path) -> bool:
        """Return True if every identifier of the registry in `earlier` is in the one in `later`.

        It is also True if `earlier` has no registry.
        """

    def find_file(self, root: Path) -> Path | None:
        """The file that contains the records, or None if they are not in one file of `root`."""

    def install_registry(self, work: Path, root: Path, *, aside: Path | None = None) -> None:
        """Replace the registry in `root` by the one in `work`, in one step.

        If `aside` is given, keep the old one under a name that begins with it.
        """
