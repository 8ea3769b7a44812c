"""What perdure asks of the world: small protocols that adapters fulfil.

A store of another kind (a database server, say) is a new package that offers a `Store`, registered
as an entry point in the group `perdure.stores` and chosen with the setting `store`; nothing that
stands is edited for it. `tests/storage/contracts` tells in tests what each port promises.

What must stay true: an adapter raises `Full`, `Busy` or `Failed` for what its database refuses, and
never an error of the database's own library.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Protocol, Self

from perdure.errors import StorageFailed
from perdure.errors.processes import FileUnusable
from perdure.model.changes import Change, Deed, Epoch, Head, Line, Mark
from perdure.model.records import Record, Token

SERIALS_END = 10**18
"""Where serial numbers end."""


# Errors of a journal
# -------------------


class JournalError(Exception):
    """A batch was refused by the database, not by what it was asked."""

    passes: ClassVar[bool]
    """Whether the next batch may succeed without a restart."""


class Full(JournalError):
    """There is no space left."""

    passes = True


class Busy(JournalError):
    """Another process holds the database, or it changes its leader."""

    passes = True


class Failed(JournalError):
    """It is not known what is durable."""

    passes = False


@contextmanager
def storage_errors(what: str) -> Iterator[None]:
    """Says in our terms that the disk is full or failing, or a database is busy."""
    try:
        yield
    except Busy as error:
        raise FileUnusable(file=what, fault=str(error)) from error
    except (OSError, JournalError) as error:
        raise StorageFailed(what=what, reason=str(error)) from error


# Records
# -------


class LookUp(Protocol):
    """Looks up records for the one thread that does it most."""

    def __call__(self, key: str) -> str | None:
        """The current revision of a record in its stored form."""

    def hold(self) -> None:
        """Until `release`, all look-ups see one state of the registry."""

    def release(self) -> None:
        """Look-ups see what is acknowledged again."""


class Records(Protocol):
    """A registry, as readers see it. Every method sees what was acknowledged before the call.

    Methods raise Unavailable if the registry cannot be read, Corrupt if it was damaged.
    """

    def raw(self, key: str) -> str | None:
        """The current revision of a record in its stored form (`perdure.model.stored`)."""

    def snapshot(self) -> AbstractContextManager[None]:
        """One state of the registry for all that this thread reads inside."""

    def record(self, key: str) -> Record | None:
        """The current revision of a record."""

    def lookup(self) -> LookUp:
        """A quick way to `raw` for one thread."""

    def scan(self, low: str, high: str, *, limit: int) -> list[tuple[str, Record]]:
        """At most `limit` records with low <= key < high, in key order."""

    def first_key(self, low: str, high: str) -> str | None:
        """The smallest key with low <= key < high."""

    def referring(self, reference: str) -> list[str]:
        """Keys of records that refer to this, in key order (`perdure.policy.naming.references`)."""

    def history(self, key: str) -> list[Record]:
        """All revisions of a record, the oldest first."""

    def token(self, digest: str) -> Token | None:
        """The token with this SHA-256."""

    def token_named(self, name: str) -> Token | None:
        """The token of this name."""

    def tokens(self) -> list[Token]:
        """All tokens, by name."""

    def token_history(self, name: str) -> list[tuple[str, str, str | None, str]]:
        """Time, actor, and the token before and after as JSON, for each change of a token; the
        oldest first."""

    def count(self) -> int:
        """The number of identifiers. Costs a pass over all keys."""

    def count_revisions(self) -> int:
        """The number of revisions of all records. Costs a pass over all keys."""

    def segments(self) -> list[tuple[int, int, str]]:
        """Number, committed length and opening time of each segment."""

    def head(self) -> Head | None:
        """The last change. None if no writer has numbered the changes yet."""

    def epochs(self) -> list[Epoch]:
        """All epochs of numbered changes, the oldest first."""

    def changes(self, since: Mark | None = None, *, limit: int) -> list[Change]:
        """At most `limit` changes in order, those behind a mark or from the very first on.

        Raises Conflict if there is no change with this mark.
        """

    def lines_of(self, change: Change) -> list[Line]:
        """The keys and lines that a change wrote, in the order of the keys, as they are stored.

        Fewer than the change says if some of them were lost.
        """

    def close(self) -> None:
        """Frees what the reader holds."""


# Writing
# -------


class Journal(Records, Protocol):
    """The one road into a registry. There is one per registry, used by one thread at a time.

    What is handed in between `begin` and `commit` becomes durable together, each write with its
    numbered change. Its own reads see what was handed in. Methods raise `JournalError`.
    """

    def number_changes(self, at: str) -> None:
        """Begins the first epoch, and numbers what was written before changes were numbered.

        Called once before the first batch; does nothing if all of it is done.
        """

    def begin_epoch(self, reason: str, at: str, actor: str) -> None:
        """Numbers begin again at 1, in a new epoch that names the last change known here."""

    def begin(self) -> None:
        """Starts a batch."""

    def prefetch(self, keys: Iterable[str]) -> None:
        """The batch will ask for these. A store behind a network fetches and locks them at once;
        for others this may mean nothing."""

    def commit(self, *, after: Callable[[], None] | None = None) -> None:
        """Durable when it returns, and not before `after` has made durable what it builds on."""

    def rollback(self) -> None:
        """Takes the batch back: no record, and no number, was given."""

    def add(self, rows: Sequence[Line], deed: Deed) -> None:
        """New records, each with a change of its own: key and stored form."""

    def add_run(self, rows: Sequence[Line], deed: Deed) -> None:
        """New records that make one change together, in the order of their keys. No other record
        lies between the first and the last of them."""

    def add_alike(self, keys: Sequence[str], text: str, deed: Deed) -> None:
        """The same for records that have the same stored form."""

    def revise(self, key: str, text: str, revision: int, deed: Deed) -> None:
        """A changed record in its stored form; the revision before it goes to the history."""

    def refer(self, rows: Iterable[tuple[int, str]]) -> None:
        """Makes records findable: hashes of what they refer to, and their keys."""

    def stage(self, rows: Iterable[tuple[int, str]]) -> None:
        """The same for a bulk load, whose references become findable when it is over."""

    def merge_staged(self) -> None:
        """Makes the references of a bulk load findable, if there are any."""

    def last_serial(self, day: str) -> int:
        """The highest serial number under the key of a day; 0 if there is none yet.

        Numbers from `SERIALS_END` on are names like any other: nothing is counted from them.
        """

    def save_token(self, token: Token, before: Token | None, deed: Deed) -> None:
        """Adds or replaces a token, and adds to the history of tokens, without their digests."""

    def answered(self, actor: str, once: str) -> tuple[str, str] | None:
        """Fingerprint and receipt of the request answered under this idempotency key."""

    def save_answer(self, actor: str, once: str, request: str, receipt: str, at: str) -> None:
        """Remembers what a request was answered."""

    def forget_answers(self, before: str) -> None:
        """Forgets the answers given before this time."""

    def growing_segment(self) -> tuple[int, int, str] | None:
        """Number, committed length and opening time of the last segment that is appended to."""

    def save_segment(self, number: int, length: int, opened: str, *, grows: bool) -> None:
        """Remembers what is committed of a segment, and whether more can be appended to it."""

    def tidy(self) -> None:
        """Does what need not be done before an answer is given."""


class Salvage(Protocol):
    """What a damaged registry still tells. A context manager; nobody else has the registry open."""

    problems: list[str]
    """What could not be read."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def records(self) -> Iterator[tuple[str, Record, int | None]]:
        """Current revisions in the order of their keys, each with what the store calls the place
        of its change."""


class Renewal(Journal, Protocol):
    """A registry that is being made anew."""

    def put(self, key: str, record: Record) -> None:
        """A record as the segments tell it, whatever was there. `note_renewed` notes it."""

    def keep(self, key: str, record: Record, position: int | None, past: Record | None) -> None:
        """A record that the old registry has. With `past`, which goes to the history, it says more
        than that: a new revision."""

    def take_over(self, old: Any) -> None:
        """Takes over what lies beside the records from what the same store salvaged."""

    def note_renewed(self, at: str, actor: str) -> None:
        """Begins a new epoch, whose changes are the records that no earlier change wrote."""


class Store(Protocol):
    """A way to keep registries. An entry point of the group `perdure.stores` is one.

    Methods raise StorageFailed or Unavailable.
    """

    def create(self, root: Path) -> None:
        """Makes an empty registry; harmless if there is one already."""

    def open_records(self, root: Path) -> Records:
        """Opens a registry for reading, and changes nothing in it."""

    def open_journal(self, root: Path) -> Journal:
        """Opens a registry for writing. The caller holds its write lock."""

    def open_renewal(self, root: Path) -> Renewal:
        """Opens a registry that is being made anew."""

    def salvage(self, root: Path) -> Salvage:
        """Opens what is left of a damaged registry. Raises Unavailable if it is in use."""

    def back_up(self, root: Path, target: Path) -> Iterator[float]:
        """Copies a registry that is in use into a directory; yields the share that is done."""

    def is_past(self, earlier: Path, later: Path) -> bool:
        """Whether all that the registry in one directory names is in that of another one. True if
        there is none in the first."""

    def drop(self, root: Path) -> None:
        """Removes a copy that came to nothing."""

    def install(self, work: Path, root: Path, *, aside: Path | None = None) -> None:
        """Puts the registry made in `work` in the place of the one in `root`, in one step. The old
        one is kept under a name that begins with `aside`."""


# Bytes
# -----


class Bytes(Protocol):
    """Where the bytes of representations lie."""

    def read(self, number: int, offset: int, length: int) -> bytes: ...

    def chunks(self, number: int, offset: int, length: int) -> Iterator[bytes]: ...
