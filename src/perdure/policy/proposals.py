"""Withdrawals that need two persons: who is a second person, and which proposals still stand. Pure.

How it works: the first request is kept in the record as a proposal. Another person carries it out
by repeating it, with its reason word for word, or refuses it. Two tokens are two persons if they
have no grantor in common, and no key. All commands that are given on the machine itself come from
one person, whatever name they state. A proposal ends on its day (`until`), and as soon as a
version is committed that its author has not seen. # ruling: two-persons

What must stay true: one person alone never carries out a withdrawal that needs two; the second
person has read the reason that the tombstone gives.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec

from perdure.errors.conflicts import (
    NothingProposed,
    ProposalContradicted,
    ReasonNotRepeated,
    SecondPersonNeeded,
)
from perdure.errors.naming import ReasonMissing
from perdure.ids import Identifier
from perdure.model.commands import Erase, Withdraw
from perdure.model.records import IdentifiedRecord, Proposal, Record, Token
from perdure.policy.rights import LONGEST_CHAIN
from perdure.policy.tokens import read_key
from perdure.policy.versions import list_versions


class Person(msgspec.Struct, frozen=True):
    """The person behind a request, as far as tokens show."""

    root: str = ""
    """The token that an operator made, from which all others of the chain were granted; empty for
    commands on the machine itself."""
    keys: frozenset[bytes] = frozenset()
    """The public keys of the chain."""

    def is_same(self, other: Person) -> bool:
        """Return True if both may be one person."""
        return self.root == other.root or not self.keys.isdisjoint(other.keys)


def find_person(name: str, find_token: Callable[[str], Token | None]) -> Person:
    """The person behind a token, or on the machine if the name is empty."""
    chain: list[Token] = []
    while name and len(chain) <= LONGEST_CHAIN:
        token = find_token(name)
        if token is None:
            break
        chain.append(token)
        name = token.granted_by
    return Person(root=_name_root(chain), keys=_list_keys(chain))


def _name_root(chain: Sequence[Token]) -> str:
    return chain[-1].name if chain else ""


def _list_keys(chain: Sequence[Token]) -> frozenset[bytes]:
    return frozenset(read_key(one.key) for one in chain if one.key)


def make_proposal(
    identifier: Identifier, record: Record, proposal: Proposal, days: int
) -> tuple[Record, Proposal]:
    """Add the proposal of a withdrawal to a record, in place of any earlier one.

    It stands for `days`. Raises InvalidRequest if it gives no reason.
    """
    if not proposal.reason.strip():
        raise ReasonMissing(identifier=str(identifier))
    end = datetime.fromisoformat(proposal.at) + timedelta(days=days)
    made = msgspec.structs.replace(
        proposal,
        until=f"{end.isoformat(timespec='seconds')[:19]}Z",
        revision=record.revision,
        highest=max(list_versions(record), default=0),
    )
    return msgspec.structs.replace(record, proposal=made), made


def find_standing(record: Record, now: str = "") -> Proposal | None:
    """The proposal of a record, or None if it has none, or one that is void.

    With the current time, one that has ended is void, too.
    """
    proposal = record.proposal
    if proposal is None or not proposal.until:
        return None
    if record.tombstone is not None and proposal.act == "withdraw":
        return None
    if max(list_versions(record), default=0) > proposal.highest:
        return None
    return None if now and proposal.until <= now else proposal


def confirm_proposal(identifier: Identifier, proposal: Proposal, command: Withdraw) -> None:
    """Raise Conflict unless a second person repeats the reason of a proposal word for word, and
    requests the same in all else.
    """
    if (command.silent, command.keep_digest) != (proposal.silent, proposal.keeps_digest) or (
        isinstance(command, Erase) and command.blanks != proposal.blanks
    ):
        raise ProposalContradicted(
            identifier=str(identifier),
            by=proposal.by,
            at=proposal.at,
            proposed=_describe_way(proposal),
        )
    if command.reason != proposal.reason:
        raise ReasonNotRepeated(
            identifier=str(identifier), by=proposal.by, at=proposal.at, proposed=proposal.reason
        )


def check_alone(identifier: Identifier, held: Record, changed: Record) -> None:
    """Raise Conflict if a change withdraws something, or takes away its last binding.

    It is for registries in which a withdrawal needs two persons: no other act of one person has the
    effect of a withdrawal.  # ruling: two-persons
    """
    for number in (None, *list_versions(held)):
        if _is_ended(changed, number) and not _is_ended(held, number):
            raise SecondPersonNeeded(identifier=str(identifier), version=number)


def _is_ended(record: Record, number: int | None) -> bool:
    """Return True if a version, or the whole, is withdrawn or not bound any more."""
    if number is None:
        return record.tombstone is not None or not record.is_bound(None)
    version = record.version(number)
    is_gone = version is not None and version.tombstone is not None
    return is_gone or record.tombstone is not None or record.unbound(number) is not None


def _describe_way(proposal: Proposal) -> str:
    words = [
        "silent" if proposal.silent else "not silent",
        "with the digest kept" if proposal.keeps_digest else "without the digest",
    ]
    if proposal.act == "erase":
        some = f"{len(proposal.blanks)} stretches of bytes"
        words.append(some if proposal.blanks else "all bytes")
    return ", ".join(words)


def refuse_proposal(
    identifier: Identifier, record: Record, version: int | None, now: str
) -> Record:
    """The record without its proposal. Raises Conflict if no such withdrawal is proposed."""
    standing = find_standing(record, now)
    if standing is None or standing.version != version:
        raise NothingProposed(identifier=str(identifier), version=version)
    return msgspec.structs.replace(record, proposal=None)


def show_proposal(row: IdentifiedRecord) -> dict[str, Any]:
    """The proposal in a record, as fields, for persons who may confirm or refuse it."""
    shown: dict[str, Any] = msgspec.to_builtins(row.record.proposal)
    shown.pop("highest", None)
    shown.setdefault("act", row.record.proposal.act if row.record.proposal else "")
    return {"identifier": str(row.identifier)} | shown
