"""Delegations in a registry: recorded, read, revoked, signed, exported."""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SERIES, TODAY, Clock, Desk, text

from perdure.errors.delegations import DelegationMalformed, NotADelegation
from perdure.ids import parse
from perdure.ids.name_set import read_set
from perdure.model.delegations import Delegation, make_delegation, read_resolver, write_delegation
from perdure.registry import Registry, initialise
from perdure.upkeep.asserting import make_assertion_content
from perdure.upkeep.delegating import delegate_names, revoke_delegation
from perdure.upkeep.transfer.exporting import export_lines
from perdure.upkeep.transfer.importing import ImportSource, import_lines

OLD = "pdi://oma.eop.gov.us/1993/"
NAME = f"{OLD}01/20/1"


def make(
    names: str = OLD, to: str = "https://resolver.archives.example", **terms: Any
) -> Delegation:
    return make_delegation(read_set(names), (read_resolver(to),), **terms)


def find_base(desk: Desk, name: str = NAME) -> str:
    held = desk.registry.delegations.find_reading(parse(name))
    return held.delegation.resolvers[0].base if held else ""


def test_a_delegation_is_a_document_and_one_numbered_change(desk: Desk) -> None:
    head = desk.registry.head()
    receipt = delegate_names(desk.registry, make(), by="ann")
    (change,) = desk.registry.changes(head.mark if head else None)
    assert (change.act, change.actor) == ("delegate", "ann")
    (held,) = desk.registry.delegations.list_all()
    assert (str(held.identifier), held.by) == (receipt.identifier, "ann")
    assert held.delegation == make()
    assert find_base(desk) == "https://resolver.archives.example/"
    assert find_base(desk, "pdi://oma.eop.gov.us/1994/01/20/1") == ""
    assert [
        str(one.identifier) for one in desk.registry.assertions.list_assertions(parse(NAME))
    ] == [receipt.identifier]


def test_an_assertion_of_a_depositor_delegates_nothing(desk: Desk) -> None:
    """ "only documents whose authors had the right to delegate count" """
    data = write_delegation(make())
    desk.mint(make_assertion_content(data))
    desk.mint(text("x"))
    assert desk.registry.delegations.list_all() == ()


def test_a_revocation_ends_it_for_the_days_to_come(desk: Desk, clock: Clock) -> None:
    """ "revocable for the days to come" """
    name = parse(delegate_names(desk.registry, make()).identifier)
    revoke_delegation(desk.registry, name, effective="2026-12-24", reason="moved on")
    (held,) = desk.registry.delegations.list_all()
    assert held.ended == "2026-12-24"
    assert find_base(desk)
    clock.set("2026-12-24T00:00:00")
    assert not find_base(desk)


def test_a_retraction_by_its_actor_ends_it_and_by_others_does_not(desk: Desk) -> None:
    receipt = delegate_names(desk.registry, make(), by="ann")
    revoke_delegation(desk.registry, parse(receipt.identifier))
    assert not find_base(desk)
    with pytest.raises(NotADelegation):
        revoke_delegation(desk.registry, parse(f"{TODAY}/2"))
    with pytest.raises(NotADelegation):
        revoke_delegation(desk.registry, parse(NAME))


def test_a_revocation_is_not_of_days_past(desk: Desk) -> None:
    name = parse(delegate_names(desk.registry, make()).identifier)
    for day in ("2026-01-01", "x"):
        with pytest.raises(DelegationMalformed):
            revoke_delegation(desk.registry, name, effective=day)
    assert find_base(desk)


def test_a_withdrawn_delegation_delegates_nothing(desk: Desk) -> None:
    receipt = delegate_names(desk.registry, make())
    assert find_base(desk)
    desk.withdraw(receipt.identifier.partition(".jsonld")[0])
    assert not find_base(desk)


def test_all_kinds_of_names_are_delegated_by_a_registry_without_them(desk: Desk) -> None:
    names = {
        "hdl:4263537/": "hdl:4263537/4000",
        "ark:12148/b5*": "ark:/12148/b51",
        "URN:IANA:42117::*": "URN:IANA:42117::report-7:::",
        "pdi://nara.gov.us/": "pdi://nara.gov.us/2001/01/20/1",
    }
    for at, one in enumerate(names):
        delegate_names(desk.registry, make(one, f"https://r{at}.example"))
    assert [find_base(desk, one)[8:10] for one in names.values()] == ["r0", "r1", "r2", "r3"]


def test_the_order_of_delegations_is_that_of_their_changes(desk: Desk) -> None:
    for at in range(12):
        delegate_names(desk.registry, make(to=f"https://r{at}.example"))
    assert find_base(desk) == "https://r11.example/"


def test_an_open_registry_learns_of_new_delegations(desk: Desk) -> None:
    counts = [0]
    desk.registry.delegations.watch_revisions(lambda: counts[0])
    assert not find_base(desk)
    delegate_names(desk.registry, make())
    assert not find_base(desk)  # nobody told of a revision
    counts[0] += 1
    assert find_base(desk)


def test_a_delegation_that_comes_while_a_snapshot_is_held_is_found_after_it(desk: Desk) -> None:
    """The count of revisions is newer than what the snapshot has."""
    counts = [0]
    delegations, records = desk.registry.delegations, desk.registry.records
    delegations.watch_revisions(lambda: counts[0])
    assert not delegations.load_index().held
    with records.hold_snapshot():
        records.count_records()
        with ThreadPoolExecutor(1) as another:
            another.submit(delegate_names, desk.registry, make()).result()
        counts[0] += 1
        assert not delegations.load_index().held
    assert delegations.load_index().held


def test_an_export_brings_delegations_to_another_registry(desk: Desk, tmp_path: Path) -> None:
    """ "export ∘ import is the identity" """
    ended = delegate_names(desk.registry, make("hdl:4263537/"))
    delegate_names(desk.registry, make(to="https://old.example"))
    revoke_delegation(desk.registry, parse(ended.identifier))
    desk.clock.set("2026-12-01T00:00:00")
    delegate_names(desk.registry, make())
    lines = b"".join(line.rstrip(b"\n") + b"\n" for line in export_lines(desk.registry))
    initialise(tmp_path / "other", series=(SERIES,))
    desk.clock.set("2027-01-01T00:00:00")
    with Registry(tmp_path / "other", clock=desk.clock) as other:
        assert other.delegations.list_all() == ()
        source = ImportSource(io.BytesIO(lines), tmp_path)
        list(import_lines(other, source))
        assert describe_all(other) == describe_all(desk.registry)


def describe_all(registry: Registry) -> list[object]:
    return [
        (one.identifier, one.delegation, one.at, one.effective, one.ended, one.order)
        for one in registry.delegations.list_all()
    ]


def test_a_repetition_with_the_same_key_records_nothing_more(desk: Desk) -> None:
    """Also if it comes a minute later: the document has no time of its own then."""
    first = delegate_names(desk.registry, make(), once="a")
    ended = revoke_delegation(desk.registry, parse(first.identifier), once="b")
    head = desk.registry.head()
    desk.clock.advance(minutes=1)
    assert delegate_names(desk.registry, make(), once="a").identifier == first.identifier
    again = revoke_delegation(desk.registry, parse(first.identifier), once="b")
    assert again.identifier == ended.identifier
    assert desk.registry.head() == head


def test_a_delegation_ends_for_later_dates_only(desk: Desk) -> None:
    """ "revocable for the days to come" """
    first = delegate_names(desk.registry, make())
    revoke_delegation(desk.registry, parse(first.identifier), first_day="1993-07-01")
    assert find_base(desk, f"{OLD}06/30/1") != ""
    assert find_base(desk, f"{OLD}07/01/1") == ""
    revoke_delegation(desk.registry, parse(first.identifier), first_day="1993-02-01")
    assert find_base(desk, f"{OLD}02/01/1") == ""
    assert find_base(desk, f"{OLD}01/31/1") != ""
    with pytest.raises(DelegationMalformed, match="after 1993-01-01"):
        revoke_delegation(desk.registry, parse(first.identifier), first_day="1994-01-01")
    with Registry(desk.root, clock=desk.clock) as again:  # as documents say, not memory
        (held,) = again.delegations.list_all()
        assert held.delegation.last_day == "1993-01-31"
    revoke_delegation(desk.registry, parse(first.identifier))
    assert find_base(desk, f"{OLD}01/31/1") == ""


def test_names_of_today_are_not_taken_back(desk: Desk) -> None:
    """Of which the other resolver has given some: two would give the same numbers."""
    desk.clock.set("2026-11-21T12:00:00")
    made = make(f"pdi://{SERIES}/", role="authority")
    first = parse(delegate_names(desk.registry, made, at_once=True).identifier)
    for day, effective in (("2026-11-21", ""), ("2026-12-01", "2026-12-01"), ("2026-02-30", "")):
        with pytest.raises(DelegationMalformed):
            revoke_delegation(desk.registry, first, first_day=day, effective=effective)
    name = f"pdi://{SERIES}/2026/12/01/"
    assert find_base(desk, name) != ""
