"""Delegating names to other resolvers, and ending that: what the commands and the server do.

How it works: a delegation is an assertion (`perdure.model.delegations`), stored as a document of
its own whose record says that this registry follows it. If a key is given, a signature of the
document is stored, too. `revoke_delegation` stores a further document, which ends it on a day.

What must stay true: callers have checked the right to delegate. A delegation
that must be signed (its series has a list of allowed signers) is refused without a signature that
would count, before anything is stored.
"""

from __future__ import annotations

import secrets
from datetime import date, timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from perdure.errors.delegations import DelegationMalformed, DelegationUnsigned, NotADelegation
from perdure.errors.succession import HandOverFinal
from perdure.ids import Identifier, parse
from perdure.ids.named_parts import Name
from perdure.model.commands import Mint, Receipt
from perdure.model.delegations import (
    Delegation,
    HeldDelegation,
    Revocation,
    check_day,
    write_delegation,
    write_revocation,
)
from perdure.model.records import LOCAL
from perdure.model.timestamps import format_timestamp
from perdure.registry import Registry
from perdure.upkeep.asserting import make_assertion_content
from perdure.upkeep.signing import choose_series, make_statement, plan_attachment

if TYPE_CHECKING:
    from perdure.signing.signers import Signer


def delegate_names(
    registry: Registry,
    delegation: Delegation,
    *,
    signer: Signer | None = None,
    series: str = "",
    by: str = LOCAL,
    once: str | None = None,
    at_once: bool = False,
) -> Receipt:
    """Delegate names to other resolvers. `series` is that of the document.

    `at_once`: names of today, too, of which this registry has given some. The resolver must know
    all of these names before it gives others.

    Raises DelegationUnsigned if the series of the names has a list of allowed signers that does not
    have the key, or if there is no key; UnknownAuthority if the registry has no series.
    """
    example = delegation.names.example
    _check_signer(registry, example, signer)
    if not at_once:
        delegation = _settle_first_day(registry, delegation)
    data = write_delegation(delegation, created=_find_created(registry, once))
    title = f"Delegation of {delegation.names} to {delegation.resolvers[0].base}"
    return _store(registry, example, data, title, signer, series, by, once)


def revoke_delegation(
    registry: Registry,
    name: Identifier,
    *,
    effective: str = "",
    first_day: str = "",
    reason: str = "",
    is_abandoned: bool = False,
    signer: Signer | None = None,
    by: str = LOCAL,
    once: str | None = None,
) -> Receipt:
    """End a delegation from a day on, by default from today. What was before stays as it is.

    `first_day`: only for names from this date on, at once.
    `is_abandoned`: a hand-over that the successor never took over.

    Raises NotADelegation, HandOverFinal, DelegationMalformed if the day is past, if both days are
    stated, or if names of today that others assign would be assigned here, or as `delegate_names`.
    """
    held = find_held(registry, name)
    if not is_abandoned and registry.delegations.find_act(held.identifier) is not None:
        raise HandOverFinal(identifier=str(held.identifier))
    check_day("effective", effective)
    today = registry.delegations.today
    if effective and effective < today:
        raise DelegationMalformed(place="effective", expected=f"today ({today}) or a later day")
    if first_day:
        _check_narrowing(held, first_day, effective, today)
    _check_signer(registry, held.delegation.names.example, signer)
    revocation = Revocation(
        delegation=held.identifier, effective=effective, first_day=first_day, reason=reason
    )
    data = write_revocation(revocation, created=_find_created(registry, once))
    title = f"End of the delegation {held.identifier}"
    return _store(registry, held.identifier, data, title, signer, "", by, once)


def _check_narrowing(held: HeldDelegation, first_day: str, effective: str, today: str) -> None:
    """Raise DelegationMalformed unless a delegation can end for the names from a date on."""
    check_day("first-day", first_day)
    if effective:
        raise DelegationMalformed(place="effective", expected="missing, if first-day is stated")
    if held.delegation.writes and first_day <= today:
        raise DelegationMalformed(
            place="first-day", expected=f"a day after {today}, of which names are given elsewhere"
        )
    held.delegation.narrow_days(first_day)


def _find_created(registry: Registry, once: str | None) -> str:
    """The time in a document; empty if the command may be repeated, and must write the same bytes.

    The record has the time in either case.
    """
    return "" if once else format_timestamp(registry.clock())


def find_held(registry: Registry, name: Identifier) -> HeldDelegation:
    """Return the delegation that a name names. Raises NotADelegation."""
    held = registry.delegations.find_delegation(name)
    if held is None:
        raise NotADelegation(identifier=str(name))
    return held


def _check_signer(registry: Registry, example: Identifier, signer: Signer | None) -> None:
    """Raise DelegationUnsigned if the names need a signature that the key cannot make."""
    if registry.settings.find_signers(example) is None:
        return
    trust = registry.trusted_signers.load_trust(example)
    if not trust.versions:
        return
    if signer is None or not trust.versions[-1].signers.find_signers(signer.key.fingerprint):
        raise DelegationUnsigned(identifier=str(example))


def _settle_first_day(registry: Registry, delegation: Delegation) -> Delegation:
    """Begin on a day of which no names were given here, if others will assign them.

    Two resolvers would give the same numbers otherwise. Raises DelegationMalformed if a day is
    stated on which this registry gives names.
    """
    delegations, series = registry.delegations, registry.settings.series
    today = delegations.today
    intervals = (parse(f"pdi://{one}/{today.replace('-', '/')}/") for one in series)
    if not delegation.writes or not any(map(delegation.covers, intervals)):
        return delegation
    if not delegation.effective:
        tomorrow = date.fromisoformat(today) + timedelta(days=1)
        return replace(delegation, effective=tomorrow.isoformat())
    if delegation.effective <= today:
        raise DelegationMalformed(
            place="effective", expected=f"a day after {today}, of which this registry gives names"
        )
    return delegation


def choose_open_series(registry: Registry, about: Identifier, *, is_final: bool = False) -> str:
    """The series of the document: one that is still minted here.

    `is_final`: the document ends a hand-over, so it may have the last name of its series.

    Raises UnknownAuthority, or AnsweredElsewhere if no series is minted here any more.
    """
    first = choose_series(registry, about)
    for one in (first, *registry.settings.series):
        if registry.delegations.find_minting(one) is None:
            return one
    if not is_final:
        registry.delegations.require_minted_here(first)
    return first


def _store(
    registry: Registry,
    about: Identifier,
    data: bytes,
    title: str,
    signer: Signer | None,
    series: str,
    by: str,
    once: str | None,
) -> Receipt:
    if series:
        registry.delegations.require_minted_here(series)
    receipt = registry.door.execute_command(
        Mint(
            authority=series or choose_open_series(registry, about),
            contents=(make_assertion_content(data),),
            metadata={"title": title},
            delegates=True,
            by=by,
            once=once,
        )
    )
    if signer is not None:
        sign_document(registry, parse(receipt.identifier), signer, by, series=series)
    return receipt


def sign_document(
    registry: Registry, name: Identifier, signer: Signer, by: str, *, series: str = ""
) -> Receipt:
    """Sign a document of a delegation. Its signature may have the last name of its series.

    Raises as `plan_attachment`.
    """
    from perdure.signing.document import join_signature

    made = make_statement(registry, Name(name), signer.key.fingerprint, "issuer")
    signed = str(join_signature(made, signer.sign_statement(made))).encode()
    series = series or choose_open_series(registry, made.identifier, is_final=True)
    planned = plan_attachment(registry, made.identifier, signed, series=series, by=by)
    if isinstance(planned, Receipt):
        return planned
    uid = name_last_document(registry, series)
    return registry.door.execute_command(replace(planned, delegates=True, uid=uid))


def name_last_document(registry: Registry, series: str) -> str | None:
    """The name of a document that ends a hand-over; None if it may have the next number.

    In a series that was handed over, its successor gives the numbers, so the name is random.
    """
    if registry.delegations.find_minting(series) is None:
        return None
    return f"hand-over-{secrets.token_hex(8)}"
