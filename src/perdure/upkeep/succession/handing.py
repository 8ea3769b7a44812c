"""The side of the predecessor: it gives no more names, says what it hands over, and signs that.

How it works: first a delegation to the successor, which holds at once, closes the names: the
writer refuses them from the next change on. Then the predecessor reads its head, and states what
there is up to it (`perdure.model.hand_overs`). Last comes the signature. Each step is one durable
change, and begins only if it is not done yet, so the same command continues an interrupted one.

What must stay true: after the delegation, no name that it covers is given out here; the statement
names everything that was given out before. If something was withdrawn since, the statement is made
again.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from perdure.errors.delegations import DelegationMalformed
from perdure.ids import Identifier, parse
from perdure.model import stored
from perdure.model.changes import RULE, ChainHead, attest_line
from perdure.model.commands import Mint
from perdure.model.delegations import Delegation, HeldDelegation
from perdure.model.hand_overs import HandOver, write_hand_over
from perdure.model.records import LOCAL
from perdure.model.timestamps import format_timestamp
from perdure.registry import Registry
from perdure.upkeep.asserting import make_assertion_content
from perdure.upkeep.delegating import (
    choose_open_series,
    delegate_names,
    name_last_document,
    sign_document,
)
from perdure.upkeep.mirroring.wire import write_change
from perdure.upkeep.succession.acts import NamedDocument, SignedAct, find_only
from perdure.upkeep.succession.packing import PackedHandOver, list_sought, write_package
from perdure.upkeep.succession.selecting import ChangeSelection, list_records
from perdure.upkeep.succession.sources import LocalSource

if TYPE_CHECKING:
    from perdure.signing.signers import Signer


class HandedOver(msgspec.Struct, frozen=True, kw_only=True):
    """The act of a predecessor."""

    delegation: str
    statement: str
    signature: str
    """Empty if it is not signed."""
    head: str
    records: int
    documents: int
    bytes: int
    rules: int
    captures: int
    """Captures of the web archive here. They are not handed over."""
    package: PackedHandOver | None = None


def hand_over(
    registry: Registry,
    delegation: Delegation,
    *,
    signer: Signer | None = None,
    place: Path | None = None,
    by: str = LOCAL,
) -> HandedOver:
    """Hand names over to a successor, and write a package to `place`, if one is named.

    Raises DelegationMalformed if the names or the days cannot be handed over, and as
    `delegate_names` and `write_package`.
    """
    held = _close_names(registry, delegation, signer, by)
    identifier, said = _state_contents(registry, held, by)
    signature = find_signature(registry, identifier)
    if signature is None and signer is not None:
        signature = parse(sign_document(registry, identifier, signer, by).identifier)
    package = None
    if place is not None:
        act = SignedAct(
            statement=read_named(registry, identifier),
            signature=None if signature is None else read_named(registry, signature),
            hand_over=said,
            delegation=held.delegation,
        )
        created = format_timestamp(registry.clock())
        package = write_package(place, LocalSource(registry), act, created=created)
    return HandedOver(
        delegation=str(held.identifier),
        statement=str(identifier),
        signature=str(signature or ""),
        head=str(said.head.mark),
        records=said.records,
        documents=said.documents,
        bytes=said.bytes,
        rules=said.rules,
        captures=said.captures,
        package=package,
    )


def _close_names(
    registry: Registry, delegation: Delegation, signer: Signer | None, by: str
) -> HeldDelegation:
    """Delegate the names to the successor, unless that is done."""
    today = registry.delegations.today
    _check_days(delegation, today)
    for one in reversed(registry.delegations.list_in_force()):
        if _same_terms(one.delegation) == _same_terms(delegation):
            return one
    wanted = replace(delegation, effective=today)
    receipt = delegate_names(registry, wanted, signer=signer, by=by, at_once=True)
    held = registry.delegations.find_delegation(parse(receipt.identifier))
    if held is None:
        raise DelegationMalformed(place="names", expected="names that can be delegated")
    return held


def _same_terms(said: Delegation) -> Delegation:
    return replace(said, effective="", reason="", how="redirect")


def _check_days(delegation: Delegation, today: str) -> None:
    """Raise DelegationMalformed for days of which both registries would give names.

    Names of past days are handed over, or all of the days to come.
    """
    if delegation.first_day > today:
        raise DelegationMalformed(place="first-day", expected=f"today ({today}) or a past day")
    between = delegation.names.example.assigned_between
    last = min(delegation.last_day or _LAST, between[1] if between else _LAST)
    if today <= last < _LAST:
        raise DelegationMalformed(
            place="last-day", expected=f"a day before today ({today}), or none for all days to come"
        )


_LAST = "9999-12-31"


# The statement
# -------------


def _state_contents(
    registry: Registry, held: HeldDelegation, by: str
) -> tuple[Identifier, HandOver]:
    """State what is handed over, unless the last statement is still true."""
    head = registry.head()
    if head is None:
        raise DelegationMalformed(place="names", expected="names of a registry with changes")
    known = registry.delegations.find_act(held.identifier)
    if known is not None and isinstance(known.said, HandOver):
        stated = known.said
        if _is_still_true(registry, held, stated):
            return known.identifier, stated
    said = measure_contents(registry, held, head)
    data = write_hand_over(said, format_timestamp(registry.clock()))
    series = choose_open_series(registry, held.identifier, is_final=True)
    receipt = registry.door.execute_command(
        Mint(
            authority=series,
            uid=name_last_document(registry, series),
            contents=(make_assertion_content(data),),
            metadata={"title": f"Hand-over of {held.delegation.names}"},
            delegates=True,
            by=by,
        )
    )
    return parse(receipt.identifier), said


def _is_still_true(registry: Registry, held: HeldDelegation, said: HandOver) -> bool:
    """Return whether nothing but the statement itself and its signature came after its head."""
    selection = ChangeSelection(held.delegation)
    for whole in LocalSource(registry).walk_changes(said.head.mark):
        if whole.change.act == RULE and any(
            selection.selects_line(whole.change, line) for line in whole.lines
        ):
            return False
        for _, (key, text) in list_records((whole,)):
            if selection.covers_record(key, stored.decode_stored(text)) and not (
                stored.decode_stored(text).delegates
            ):
                return False
    return measure_contents(registry, held, said.head) == said


def measure_contents(registry: Registry, held: HeldDelegation, head: ChainHead) -> HandOver:
    """Measure what is handed over up to a change."""
    digest, selection = hashlib.sha512(), ChangeSelection(held.delegation)
    last: dict[str, str] = {}
    rules = 0
    for whole in LocalSource(registry).walk_changes():
        if whole.change.mark > head.mark:
            break
        selected = selection.select_change(whole)
        digest.update(write_change(selected))
        rules += selected.change.act == RULE
        last.update(line for _, line in list_records((selected,)))
    sought = [
        one for key, text in last.items() for one in list_sought(key, stored.decode_stored(text))
    ]
    return HandOver(
        delegation=held.identifier,
        head=head,
        changes=digest.hexdigest(),
        records=len(last),
        documents=len(sought),
        bytes=sum(one.length for one in sought),
        rules=rules,
        captures=_count_captures(registry),
    )


def _count_captures(registry: Registry) -> int:
    files = registry.archive.list_files() if (registry.root / "captures").exists() else []
    return sum(one.captures for one in files)


def find_signature(registry: Registry, identifier: Identifier) -> Identifier | None:
    """The first signature of the statement, or None."""
    from perdure.signing.document import is_signed_statement

    for key in registry.records.find_referring(f"target:{identifier.key}"):
        record = registry.records.find_record(key)
        if record is None or record.tombstone or str(identifier) not in record.targets:
            continue
        document = read_document(registry, key)
        if is_signed_statement(document.data):
            return document.identifier
    return None


def read_named(registry: Registry, name: Identifier) -> NamedDocument:
    """Read a document of one version and one format. Raises Corrupt or DelegationMalformed."""
    return read_document(registry, name.key)


def read_document(registry: Registry, key: str) -> NamedDocument:
    """Do the same for a key."""
    first = registry.records.list_revisions(key)[0]
    line = (key, attest_line(stored.encode_stored(first).decode()))
    current = registry.records.find_record(key) or first
    data = b"".join(registry.bytes.read_chunks(find_only(current)))
    return NamedDocument(line, data)
