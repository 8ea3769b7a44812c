"""The statement of a predecessor, with its signature, as both sides and the package have it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from perdure.errors.delegations import DelegationMalformed
from perdure.errors.root import PerdureError
from perdure.ids import Identifier
from perdure.model import stored
from perdure.model.assertions import read_assertion
from perdure.model.changes import Line
from perdure.model.delegations import Delegation, read_delegation
from perdure.model.hand_overs import HandOver, read_act
from perdure.model.records import Record, Representation
from perdure.policy.naming import identify_record, qualify_identifier


class NamedDocument(NamedTuple):
    """A document of one version and one format: its line, and its bytes."""

    line: Line
    data: bytes

    @property
    def record(self) -> Record:
        return stored.decode_stored(self.line[1])

    @property
    def identifier(self) -> Identifier:
        """With format and version."""
        held = find_only(self.record)
        return qualify_identifier(identify_record(self.line[0], self.record), 1, held.format)


class SignedAct(msgspec.Struct, frozen=True, kw_only=True):
    """The statement of a predecessor, read."""

    statement: NamedDocument
    signature: NamedDocument | None
    """The signed statement about it; None if it is not signed."""
    hand_over: HandOver
    delegation: Delegation


ReadDocument = Callable[[Identifier], bytes]


def find_only(record: Record) -> Representation:
    """The only representation of a document. Raises DelegationMalformed."""
    version = record.version(1)
    if version is None or len(version.representations) != 1:
        raise DelegationMalformed(place="", expected="a document of one version and one format")
    return version.representations[0]


def read_hand_over(data: bytes) -> HandOver:
    """Read the statement of a predecessor. Raises DelegationMalformed, or as `read_assertion`."""
    said = read_act(read_assertion(data))
    if not isinstance(said, HandOver):
        raise DelegationMalformed(place="body.type", expected="pd:HandOver")
    return said


def read_successor(data: bytes) -> Delegation:
    """Read the delegation of a hand-over. Raises DelegationMalformed, or as `read_assertion`."""
    said = read_delegation(read_assertion(data))
    if not isinstance(said, Delegation) or not said.is_hand_over:
        raise DelegationMalformed(place="role", expected="successor")
    return said


def try_hand_over(data: bytes) -> HandOver | None:
    """Read the statement of a predecessor; None if a document is something else."""
    try:
        return read_hand_over(data)
    except PerdureError:
        return None
