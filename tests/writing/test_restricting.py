"""Reading rules are set, replaced and lifted through the write door, and survive a rebuild."""

from __future__ import annotations

import errno
import sqlite3
from contextlib import closing
from typing import Any

import pytest
from tests.conftest import TODAY, Desk, text

from perdure.errors import Corrupt, PerdureError
from perdure.errors.reading import MalformedSubject, RuleUnknown
from perdure.ids import parse
from perdure.model.commands import Outcome, Receipt, Restrict
from perdure.model.reading_rules import Access, ReadingRule
from perdure.policy.reading_rules import select_in_force
from perdure.registry import Registry
from perdure.storage.segments.store import Segments
from perdure.storage.sqlite.opening import FILE
from perdure.storage.sqlite.store import SqliteStore
from perdure.upkeep.changes.walking import check_changes
from perdure.upkeep.transfer.renewal import rebuild_registry
from perdure.writing.ledger import Ledger

NAME = f"{TODAY}/1"


def restrict(desk: Desk, about: str, *, by: str = "local", **fields: Any) -> Receipt:
    rule = ReadingRule(**({"about": about, "access": Access.CLOSED} | fields))
    return desk.registry.door.execute_command(Restrict(by=by, rule=rule))


def list_rules(registry: Registry) -> list[ReadingRule]:
    return select_in_force(registry.records.list_rules(limit=100))


def test_a_rule_is_set_replaced_and_lifted(desk: Desk) -> None:
    desk.mint(text("one"))
    first = restrict(desk, NAME.upper().replace("PDI", "pdi"), until="2027-01-01", by="ann")
    assert (first.outcome, first.identifier, first.revision) == (Outcome.CREATED, NAME, 1)
    again = restrict(desk, NAME, until="2027-01-01")
    assert (again.outcome, again.revision) == (Outcome.UNCHANGED, 1)
    second = restrict(desk, NAME, access=Access.UNAVAILABLE, reason="a court order")
    assert (second.outcome, second.revision) == (Outcome.CHANGED, 2)
    (rule,) = list_rules(desk.registry)
    assert (rule.access, rule.reason, rule.by) == (Access.UNAVAILABLE, "a court order", "local")
    assert desk.registry.records.find_rules(parse(NAME).key)[0].by == "ann"
    restrict(desk, NAME, access=Access.OPEN, lifted=True)
    assert list_rules(desk.registry) == []
    with pytest.raises(RuleUnknown):
        restrict(desk, NAME, access=Access.OPEN, lifted=True)
    assert restrict(desk, NAME).outcome is Outcome.CREATED
    assert [one.problem for one in check_changes(desk.registry.records) if one.problem] == []


def test_of_many_scopes_the_rule_about_the_same_one_is_found(desk: Desk) -> None:
    """Also after another process has set some, and after a batch that failed."""
    for number in range(5):
        assert restrict(desk, f"pdi://s{number}.us/").outcome is Outcome.CREATED
    assert restrict(desk, "pdi://s3.us/").revision == 4
    assert restrict(desk, "PDI://S3.us/", access=Access.OPEN).outcome is Outcome.CHANGED
    restrict(desk, "pdi://s2.us/", lifted=True)
    with pytest.raises(RuleUnknown):
        restrict(desk, "pdi://s2.us/", lifted=True)
    assert restrict(desk, "pdi://s2.us/").outcome is Outcome.CREATED
    desk.reopen()
    assert [restrict(desk, f"pdi://s{one}.us/").revision for one in (0, 2, 4)] == [1, 8, 5]
    assert restrict(desk, "pdi://s3.us/", access=Access.OPEN).outcome is Outcome.UNCHANGED


def test_rules_of_a_batch_that_was_undone_are_not_known(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = [ReadingRule(about=f"pdi://s{one}.us/", access=Access.CLOSED) for one in (1, 2)]
    with monkeypatch.context() as patch:

        def fail(_ledger: Ledger) -> None:
            raise OSError(errno.ENOSPC, "no space left")

        patch.setattr(Ledger, "write_batch", fail)
        answers = desk.registry.door.execute_commands([Restrict(rule=rule) for rule in rules])
    assert all(isinstance(one, PerdureError) for one in answers)
    assert list_rules(desk.registry) == []
    outcomes = [restrict(desk, f"pdi://s{one}.us/").outcome for one in (2, 2, 1, 1)]
    assert outcomes == [Outcome.CREATED, Outcome.UNCHANGED] * 2
    assert [one.about for one in list_rules(desk.registry)] == ["pdi://s2.us/", "pdi://s1.us/"]


def test_a_malformed_rule_changes_nothing(desk: Desk) -> None:
    with pytest.raises(MalformedSubject):
        restrict(desk, "a*b")
    assert list_rules(desk.registry) == []


def test_rules_survive_a_rebuild(desk: Desk) -> None:
    desk.mint(text("one"))
    restrict(desk, NAME, by_token=True)
    restrict(desk, "*", networks=("10.0.0.0/8",))
    before = list_rules(desk.registry)
    desk.registry.close()
    steps = list(rebuild_registry(desk.root, SqliteStore(), Segments, now="2026-11-22T00:00:00Z"))
    assert [step.problem for step in steps if step.problem] == []
    with Registry(desk.root, environment={}) as registry:
        assert list_rules(registry) == before
        assert [one.problem for one in check_changes(registry.records) if one.problem] == []


def test_a_damaged_rule_is_an_error_and_never_no_rule(desk: Desk) -> None:
    restrict(desk, NAME, until="2027-01-01")
    desk.registry.close()
    with closing(sqlite3.connect(desk.root / FILE)) as connection:
        connection.execute("DROP TRIGGER rules_hold")
        connection.execute("UPDATE rules SET rule=replace(rule, '2027', '2017')")
        connection.commit()
    with Registry(desk.root, environment={}) as registry:
        with pytest.raises(Corrupt, match="reading rule 1"):
            registry.records.find_rules(parse(NAME).key)
        with pytest.raises(Corrupt, match="reading rule 1"):
            registry.records.list_rules(limit=1)
        assert any("reading rule 1" in str(one) for one in registry.records.check_integrity())


def test_rules_are_never_deleted(desk: Desk) -> None:
    restrict(desk, NAME)
    desk.registry.close()
    with closing(sqlite3.connect(desk.root / FILE)) as connection:
        for statement in ("DELETE FROM rules", "UPDATE rules SET rule='{}'"):
            with pytest.raises(sqlite3.DatabaseError, match="only added"):
                connection.execute(statement)
