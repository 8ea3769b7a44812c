"""Proposed assertions: what people without the right to assert would like to assert.

How it works: each proposal is a file in the directory `proposed`: the document, its author, the
series and the time. Its id is a digest of author and document, so the same proposal is kept once.
`accept_proposal` stores it as an assertion of its author, and `delete_proposal` removes it.

What must stay true: a proposal has no identifier and no change, and no face shows it except to its
author and to those who may accept it. Their number is bounded, and they end after 90 days.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import msgspec

from perdure.errors.assertions import ProposalsTooMany, ProposalUnknown
from perdure.errors.requests import KeyReused
from perdure.model.assertions import Assertion, read_assertion
from perdure.model.commands import Receipt
from perdure.model.records import LOCAL
from perdure.model.timestamps import format_timestamp
from perdure.registry import Registry
from perdure.storage.durable import write_durably
from perdure.storage.ports import storage_errors
from perdure.upkeep.asserting import check_assertion, plan_assertion

DIRECTORY = "proposed"
MOST = 10_000
"""Proposals of a registry."""
MOST_OF_ONE = 100
"""Proposals of one author."""
LIFETIME = timedelta(days=90)
_ID = re.compile("[0-9a-f]{16}-[0-9a-f]{32}", re.ASCII)


class ProposedAssertion(msgspec.Struct, frozen=True, kw_only=True):
    """A proposed assertion."""

    id: str
    series: str
    by: str
    """The name of a token, or `key:` and the fingerprint of a key."""
    at: str
    document: str

    @property
    def assertion(self) -> Assertion:
        return read_assertion(self.document.encode())


def propose_assertion(
    registry: Registry, data: bytes, *, series: str, by: str
) -> ProposedAssertion:
    """Keep a proposal; the same one again changes nothing.

    The caller has checked it with `check_assertion`. Raises ProposalsTooMany, StorageFailed.
    """
    author = hashlib.sha256(by.encode()).hexdigest()[:16]
    proposal = ProposedAssertion(
        id=f"{author}-{hashlib.sha256(series.encode() + data).hexdigest()[:32]}",
        series=series,
        by=by,
        at=format_timestamp(registry.clock()),
        document=data.decode(),
    )
    path = _find_path(registry, proposal.id)
    if path.exists():
        return read_proposal(registry, proposal.id)
    known = [one.id for one in list_proposals(registry)]
    if sum(one.startswith(author) for one in known) >= MOST_OF_ONE:
        raise ProposalsTooMany(limit=MOST_OF_ONE)
    if len(known) >= MOST:
        raise ProposalsTooMany(limit=MOST)
    with storage_errors("the proposal"):
        path.parent.mkdir(exist_ok=True)
        write_durably(path, msgspec.json.encode(proposal))
    return proposal


def list_proposals(registry: Registry, series: str = "") -> Iterator[ProposedAssertion]:
    """Yield the proposals of a series, or all; those that have ended are removed."""
    ended = format_timestamp(registry.clock() - LIFETIME)
    directory = registry.root / DIRECTORY
    for path in sorted(directory.glob("*.json")) if directory.is_dir() else ():
        proposal = _load(path)
        if proposal is None:
            continue
        if proposal.at < ended:
            path.unlink(missing_ok=True)
        elif series in ("", proposal.series):
            yield proposal


def read_proposal(registry: Registry, id: str) -> ProposedAssertion:
    """Return a proposal. Raises ProposalUnknown."""
    proposal = _load(_find_path(registry, id)) if _ID.fullmatch(id) else None
    if proposal is None:
        raise ProposalUnknown(identifier=id)
    return proposal


def delete_proposal(registry: Registry, id: str) -> None:
    """Remove a proposal. Raises ProposalUnknown."""
    read_proposal(registry, id)
    _find_path(registry, id).unlink(missing_ok=True)


def accept_proposal(registry: Registry, id: str, *, by: str = LOCAL) -> Receipt:
    """Store a proposal as an assertion of its author; `by` accepts it. The proposal ends.

    Raises ProposalUnknown, and the errors of `check_assertion`.
    """
    proposal = read_proposal(registry, id)
    data = proposal.document.encode()
    plan = plan_assertion(
        registry,
        check_assertion(registry, data),
        data,
        series=proposal.series,
        by=proposal.by,
        once=f"proposal {id}",  # accepted once, also if the file survives a crash
    )
    accepted = plan.metadata | {"accepted by": by}
    try:
        receipt = registry.door.execute_command(msgspec.structs.replace(plan, metadata=accepted))
    except KeyReused:  # another person has accepted it
        _find_path(registry, id).unlink(missing_ok=True)
        raise ProposalUnknown(identifier=id) from None
    _find_path(registry, id).unlink(missing_ok=True)
    return receipt


def describe_proposal(proposal: ProposedAssertion) -> dict[str, object]:
    """Return a proposal as every interface shows it in JSON."""
    return {
        "id": proposal.id,
        "series": proposal.series,
        "by": proposal.by,
        "at": proposal.at,
        "annotation": proposal.assertion.document,
    }


def _find_path(registry: Registry, id: str) -> Path:
    return registry.root / DIRECTORY / f"{id}.json"


def _load(path: Path) -> ProposedAssertion | None:
    """Read a file; None if it is gone meanwhile, or is not a proposal."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=ProposedAssertion)
    except (OSError, msgspec.MsgspecError):
        return None
