"""The delegations of a registry: read once, and again when one was added or withdrawn.

How it works: the records of delegations and of their revocations have a reference of their own
(`perdure.model.references.DELEGATION`), so a registry without any costs one look-up. Their
documents never change, so what was read is kept until the list of these records differs. A server
looks nothing up while its count of revisions is the same (`watch_revisions`).

What must stay true: only documents whose authors had the right to delegate count
(`Record.delegates`), whatever other assertions say. A damaged document stops no other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, date, datetime
from typing import NamedTuple

from msgspec.structs import replace

from perdure.errors import Corrupt, PerdureError
from perdure.errors.delegations import AnsweredElsewhere, DelegationMalformed
from perdure.ids import Identifier, parse
from perdure.ids.name_set import NameSet
from perdure.model.assertions import Assertion, read_assertion
from perdure.model.delegations import Delegation, HeldDelegation, Revocation, read_delegation
from perdure.model.hand_overs import HandOver, TakeOver, read_act
from perdure.model.records import Record, Representation
from perdure.model.references import DELEGATION, WITHDRAWN_DELEGATION
from perdure.policy.delegating import (
    DelegationIndex,
    choose_for_reading,
    choose_for_writing,
    choose_hand_over,
)
from perdure.policy.naming import identify_record, qualify_identifier
from perdure.storage.ports import Records

ReadBytes = Callable[[Representation], bytes]


class _Document(NamedTuple):
    """A document that delegates, or that ends a delegation."""

    identifier: Identifier
    said: Delegation | Revocation | HandOver | TakeOver | Assertion
    by: str
    at: str
    order: tuple[str, int, int, str]
    """Its time, the place of its change, and its key."""


class HeldAct(NamedTuple):
    """The statement of one side of a hand-over."""

    identifier: Identifier
    """With format and version."""
    said: HandOver | TakeOver


class Delegations:
    """The delegations of one registry. Safe to use from several threads."""

    def __init__(
        self,
        records: Records,
        read_bytes: ReadBytes,
        clock: Callable[[], datetime],
        *,
        own: Iterable[str] = (),
    ) -> None:
        """`own`: the addresses of this resolver, and of the one that it mirrors.

        What is delegated to them is answered here.
        """
        self._own = frozenset(f"{one.rstrip('/')}/" for one in own if one)
        self._records = records
        self._find_referring: Callable[[str], list[str]] = records.find_referring
        self._read_bytes = read_bytes
        self._clock = clock
        self._loading = threading.Lock()
        self._known: tuple[int | None, tuple[str, ...], DelegationIndex]
        self._known = (None, (), DelegationIndex())
        self._count_revisions: Callable[[], int] | None = None
        self._documents: dict[str, _Document | None] = {}
        self._today: tuple[date | None, str] = None, ""
        """The last day that was asked for, and its text."""
        self._minting_state: tuple[DelegationIndex, str] | None = None
        self._minting: dict[str, HeldDelegation | None] = {}
        """For each series the answer of `find_minting` in that state."""

    def watch_revisions(
        self,
        count: Callable[[], int],
        find_referring: Callable[[str], list[str]] | None = None,
    ) -> None:
        """Read the registry only if a number has changed, as it does with every delegation.

        `find_referring`, if it is given, is asked instead of the registry which records delegate.
        """
        self._count_revisions = count
        self._known = (None, *self._known[1:])
        self._find_referring = find_referring or self._records.find_referring

    @property
    def today(self) -> str:
        """The day, in UTC, that decides which delegations hold."""
        now = self._clock()
        day = (now if now.tzinfo is UTC else now.astimezone(UTC)).date()
        known, text = self._today
        if day != known:
            text = day.isoformat()
            self._today = day, text
        return text

    def load_index(self) -> DelegationIndex:
        """Return all delegations, as the registry has them now.

        While this thread holds a snapshot, those of the snapshot may be found; they are not kept.
        """
        counted, known, index = self._known
        count = None if self._count_revisions is None else self._count_revisions()
        if count is not None and count == counted:
            return index
        keys = self._list_keys()
        if keys != known:
            with self._loading:
                index = DelegationIndex(self._read_all(keys))
        if not self._records.holds_snapshot:  # it may be older than the count
            self._known = (
                count,
                keys,
                index,
            )  # counted before the look-up: no later change is missed
        return index

    def _list_keys(self) -> tuple[str, ...]:
        keys = tuple(self._find_referring(DELEGATION))
        if not keys:
            return keys
        gone = set(self._find_referring(WITHDRAWN_DELEGATION))
        return tuple(key for key in keys if key not in gone)

    def list_all(self) -> tuple[HeldDelegation, ...]:
        """Return all delegations, the oldest first; also those that hold no more, or not yet."""
        return self.load_index().held

    def list_in_force(self, day: str = "") -> list[HeldDelegation]:
        """Return the delegations that hold on a day (by default today), the oldest first."""
        day = day or self.today
        return [one for one in self.list_all() if one.is_in_force(day)]

    def list_covering(self, name: Identifier, day: str = "") -> list[HeldDelegation]:
        """Return the delegations that cover a name or an interval, the most specific first."""
        index = self.load_index()
        found = index.list_covering(name, day or self.today) if index.held else []
        return self._leave_out_own(found)

    def list_touching(self, names: NameSet, day: str = "") -> list[HeldDelegation]:
        """Return the delegations in force that may cover some names of a set."""
        index = self.load_index()
        found = index.list_touching(names, day or self.today) if index.held else []
        return [one for one in found if not self.is_own(one)]

    def _leave_out_own(self, found: list[HeldDelegation]) -> list[HeldDelegation]:
        """The delegations before the first one to this resolver, which has it as a mirror."""
        others: list[HeldDelegation] = []
        for one in found:
            if not self.is_own(one):
                others.append(one)
            elif one.delegation.role != "mirror":
                break
        return others

    def is_own(self, held: HeldDelegation) -> bool:
        """Return True if names are delegated to this resolver itself, or to its origin."""
        return any(one.base in self._own for one in held.delegation.resolvers)

    def find_reading(self, name: Identifier) -> HeldDelegation | None:
        """Return the delegation that answers readers of a name that is unknown here."""
        return choose_for_reading(self.list_covering(name))

    def find_writing(self, name: Identifier) -> HeldDelegation | None:
        """Return the delegation that answers writers of a name."""
        return choose_for_writing(self.list_covering(name))

    def find_minting(self, series: str) -> HeldDelegation | None:
        """Return the delegation by which another resolver assigns the names of today."""
        state = self.load_index(), self.today
        if state != self._minting_state:
            self._minting_state, self._minting = state, {}
        if series not in self._minting:
            today = parse(f"pdi://{series}/{state[1].replace('-', '/')}/")
            self._minting[series] = self.find_writing(today)
        return self._minting[series]

    def find_hand_over(self, name: Identifier) -> HeldDelegation | None:
        """Return the delegation that precedes the record of a name that is here."""
        index = self.load_index()
        if not index.has_hand_overs:
            return None
        return choose_hand_over(self.list_covering(name))

    def require_undelegated(self, name: Identifier) -> None:
        """Raise AnsweredElsewhere if another resolver answers readers of a name unknown here."""
        held = self.find_reading(name)
        if held is not None:
            raise make_error(held, name)

    def require_undelegated_set(self, names: NameSet) -> None:
        """Do the same for a set of names of which none is known here."""
        held = self.find_reading(names.example)
        if held is not None:
            raise make_error(held, names)

    def require_not_handed_over(self, name: Identifier) -> None:
        """Raise AnsweredElsewhere if a successor answers readers of a name that may be here."""
        held = self.find_hand_over(name)
        if held is not None:
            raise make_error(held, name)

    def require_written_here(self, name: Identifier) -> None:
        """Raise AnsweredElsewhere if another resolver assigns and changes a name.

        Of a series, these are the names of today.
        """
        is_series = name.is_interval and str(name) == name.authority_beginning
        held = self.find_minting(name.assigned_under) if is_series else self.find_writing(name)
        if held is not None:
            raise make_error(held, name)

    def find_fence(self) -> Callable[[Identifier], None] | None:
        """Return `require_written_here`, or None if no names are assigned elsewhere."""
        return self.require_written_here if self.load_index().has_writers else None

    def find_delegation(self, name: Identifier) -> HeldDelegation | None:
        """Return the delegation that a name names; None if it names something else."""
        return next((one for one in self.list_all() if name.matches(one.identifier)), None)

    def require_minted_here(self, series: str) -> None:
        """Raise AnsweredElsewhere if another resolver assigns the names of today of a series."""
        held = self.find_minting(series)
        if held is not None:
            raise make_error(held, parse(f"pdi://{series}/"))

    def find_act(self, about: Identifier) -> HeldAct | None:
        """Return the newest statement of a hand-over about a document, or None.

        Of a delegation it is that of the predecessor, and of this one that of the successor.
        """
        self.load_index()
        acts = [
            HeldAct(one.identifier, one.said)
            for one in sorted(self._list_documents(), key=lambda one: one.order)
            if isinstance(one.said, HandOver | TakeOver) and _find_subject(one.said) == about
        ]
        return acts[-1] if acts else None

    # reading
    # -------

    def _list_documents(self) -> list[_Document]:
        return [one for one in self._documents.values() if one is not None]

    def _read_all(self, keys: tuple[str, ...]) -> Iterator[HeldDelegation]:
        """Read the delegations that are new, and note what ended any of them."""
        self._documents = {
            key: self._documents[key] if key in self._documents else self._read_document(key)
            for key in keys
        }
        said = self._list_documents()
        numbered = {
            one.identifier.key: HeldDelegation(
                identifier=one.identifier,
                delegation=one.said,
                by=one.by,
                at=one.at,
                order=order,
            )
            for order, one in enumerate(sorted(said, key=lambda one: one.order))
            if isinstance(one.said, Delegation)
        }
        for one in sorted(said, key=lambda one: one.order):
            _end_delegations(numbered, one)
        return iter(numbered.values())

    def _read_document(self, key: str) -> _Document | None:
        """Read version 1 of a document; None if it is damaged, withdrawn or not a delegation."""
        try:
            record = self._find_first(key)
            version = record.version(1) if record is not None else None
            if record is None or version is None or version.tombstone is not None:
                return None
            held = version.representations[0]
            identifier = qualify_identifier(identify_record(key, record), 1, held.format)
            assertion = read_assertion(self._read_bytes(held))
            change = self._records.find_change(key, 1)
        except (Corrupt, PerdureError, IndexError):
            return None
        said: Delegation | Revocation | HandOver | TakeOver | Assertion = assertion
        with suppress(PerdureError):  # a retraction, or written by a later release
            said = read_act(assertion) or read_delegation(assertion)
        mark = (change.mark.epoch, change.mark.number) if change else (0, 0)
        return _Document(identifier, said, record.by, version.at, (version.at, *mark, key))

    def _find_first(self, key: str) -> Record | None:
        """The first revision of a record, with the places of its bytes now."""
        record = self._records.find_record(key)
        if record is None or record.revision == 1:
            return record
        first = self._records.list_revisions(key)[0]
        return replace(record, at=first.at, by=first.by)


def _find_subject(said: HandOver | TakeOver) -> Identifier:
    return said.delegation if isinstance(said, HandOver) else said.hand_over


def _end_delegations(numbered: dict[str, HeldDelegation], end: _Document) -> None:
    """Note the day on which a revocation, or a retraction by the same actor, ends delegations."""
    said, day = end.said, end.at[:10]
    ended: tuple[Identifier, ...] = ()
    if isinstance(said, Revocation) and said.first_day:
        _narrow_delegation(numbered, said)
    elif isinstance(said, Revocation):
        ended, day = (said.delegation,), said.effective or day
    elif isinstance(said, Assertion):
        ended = tuple(one for one in said.about if said.retracts(one))
    for one in ended:
        held = numbered.get(one.key)
        if held is None or not one.matches(held.identifier):
            continue
        if isinstance(said, Assertion) and held.by != end.by:
            continue
        if not held.ended or day < held.ended:
            numbered[one.key] = replace(held, ended=day, ended_by=end.identifier)


def _narrow_delegation(numbered: dict[str, HeldDelegation], said: Revocation) -> None:
    """Leave out the names of later dates, unless they are left out already."""
    held = numbered.get(said.delegation.key)
    if held is not None and said.delegation.matches(held.identifier):
        with suppress(DelegationMalformed):
            narrowed = held.delegation.narrow_days(said.first_day)
            numbered[said.delegation.key] = replace(held, delegation=narrowed)


def make_error(held: HeldDelegation, name: Identifier | NameSet) -> AnsweredElsewhere:
    """Return the error that says who answers for a name or a set."""
    said = held.delegation
    return AnsweredElsewhere(
        identifier=str(name),
        resolvers=tuple(one.base for one in said.resolvers),
        delegation=str(held.identifier),
        how=said.how,
        role=said.role,
    )


def describe_delegation(held: HeldDelegation, day: str) -> dict[str, object]:
    """Return a delegation as every interface shows it in JSON."""
    said = held.delegation
    return {
        "identifier": str(held.identifier),
        "names": str(said.names),
        "subseries": said.has_subseries,
        "first_day": said.first_day or None,
        "last_day": said.last_day or None,
        "role": said.role,
        "how": said.how,
        "resolvers": [
            {
                "url": one.base,
                "kind": one.kind,
                "priority": one.priority,
                "weight": one.weight,
            }
            for one in said.resolvers
        ],
        "effective": held.effective,
        "ended": held.ended or None,
        "ended_by": None if held.ended_by is None else str(held.ended_by),
        "in_force": held.is_in_force(day),
        "by": held.by,
        "at": held.at,
        "reason": said.reason,
    }
