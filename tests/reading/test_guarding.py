"""Reading rules in the read door: who is refused, and what is hidden from whom."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.conftest import SERIES, TODAY, Desk, text

from perdure.errors import Embargoed, LegallyUnavailable, NotFound, PerdureError
from perdure.errors.credentials import ReadingNeedsToken, ReadingNotAllowed, ReadingOnPremises
from perdure.ids import parse
from perdure.model.commands import Describe, Restrict
from perdure.model.queries import (
    LOCAL_READER,
    PUBLIC_READER,
    Choices,
    Description,
    Fetch,
    Query,
    Reader,
    Redirect,
    Want,
)
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import Location, Record, Representation, Token, Version
from perdure.policy.reading_rights import find_refusal, make_read_object
from perdure.policy.scope_index import ScopeIndex
from perdure.reading.guarding import Guard
from perdure.reading.resolved import Resolved

NAME = f"{TODAY}/1"
TOKEN = Token(name="ann", digest="0" * 64, operations=("read",), authorities=(SERIES,))
ANN = Reader(name="ann", tokens=(TOKEN,))


@pytest.fixture
def document(desk: Desk) -> str:
    """A document in two versions, with a title and a location of the second version."""
    desk.mint(text("first version"))
    desk.commit(NAME, text("second version"))
    desk.bind(NAME, Location(uri="https://a.example/2", version=2))
    desk.registry.door.execute_command(
        Describe(identifier=parse(NAME), patch=b'{"titles":[{"value":"Whole title"}]}')
    )
    desk.registry.door.execute_command(
        Describe(identifier=parse(f"{NAME}.text.2"), patch=b'{"titles":[{"value":"Second title"}]}')
    )
    return NAME


def restrict(desk: Desk, about: str = NAME, **fields: Any) -> None:
    rule = ReadingRule(**({"about": about, "access": Access.CLOSED} | fields))
    desk.registry.door.execute_command(Restrict(rule=rule))


def resolve(desk: Desk, name: str = NAME, reader: Reader = PUBLIC_READER, **more: Any) -> Resolved:
    return desk.registry.reading.resolve(Query(identifier=parse(name), reader=reader, **more))


def show_record(resolved: Resolved) -> str:
    assert isinstance(resolved.record, Record)
    return repr(resolved.record)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({}, ReadingNotAllowed),
        ({"access": Access.UNAVAILABLE, "reason": "a court"}, LegallyUnavailable),
        ({"until": "2026-11-22"}, Embargoed),
        ({"by_token": True}, ReadingNeedsToken),
        ({"networks": ("10.0.0.0/8",)}, ReadingOnPremises),
    ],
)
@pytest.mark.parametrize("want", Want)
def test_a_closed_document_answers_no_question(
    desk: Desk, document: str, fields: dict[str, Any], error: type[PerdureError], want: Want
) -> None:
    restrict(desk, **fields)
    for name in (document, f"{document}.text.1", f"{document}.text.2#char=0,3", f"{document}.*.2"):
        with pytest.raises(error):
            resolve(desk, name, want=want)
        resolve(desk, name, LOCAL_READER, want=want)
    with pytest.raises(NotFound):  # it does not say more than before about unknown names
        resolve(desk, f"{TODAY}/9", want=want)


def test_readers_who_are_admitted(desk: Desk, document: str) -> None:
    restrict(desk, by_token=True, networks=("10.0.0.0/8",))
    assert isinstance(resolve(desk, document, ANN).step, Fetch)
    assert isinstance(resolve(desk, document, Reader(address="10.9.9.9")).step, Fetch)


def test_an_embargo_ends_by_itself(desk: Desk, document: str) -> None:
    restrict(desk, until="2026-11-22")
    with pytest.raises(Embargoed):
        resolve(desk)
    desk.clock.set("2026-11-22T00:00:00")
    assert isinstance(resolve(desk).step, Fetch)


def test_a_rule_holds_at_once_and_ends_at_once(desk: Desk, document: str) -> None:
    assert isinstance(resolve(desk).step, Fetch)
    restrict(desk, SERIES)
    with pytest.raises(ReadingNotAllowed):
        resolve(desk)
    restrict(desk, SERIES, access=Access.OPEN, lifted=True)
    assert isinstance(resolve(desk).step, Fetch)


def test_of_a_closed_version_nothing_is_shown(desk: Desk, document: str) -> None:
    restrict(desk, f"{document}.*.2")
    resolved = resolve(desk)
    step = resolved.step
    assert isinstance(step, Fetch)
    assert str(step.identifier) == f"{document}.text.1"
    assert step.neighbours.successor is step.neighbours.latest is None
    shown = show_record(resolved)
    assert "Whole title" in shown
    assert "Second title" not in shown
    assert "a.example" not in shown
    assert [one.number for one in resolved.record.versions] == [1]  # type: ignore[union-attr]
    several = resolved.choose(Want.RESOURCES)
    assert isinstance(several, Choices)
    assert [str(one.identifier) for one in several.fetches] == [f"{document}.text.1"]
    with pytest.raises(ReadingNotAllowed):
        resolve(desk, f"{document}.text.2")


def test_an_open_version_of_a_closed_document(desk: Desk, document: str) -> None:
    restrict(desk)
    restrict(desk, f"{document}.*.1", access=Access.OPEN)
    resolved = resolve(desk, f"{document}.text.1")
    assert isinstance(resolved.step, Fetch)
    shown = show_record(resolved)
    assert "title" not in shown
    assert "a.example" not in shown
    with pytest.raises(ReadingNotAllowed):
        resolve(desk)
    with pytest.raises(ReadingNotAllowed):
        resolve(desk, f"{document}.text.2")


def test_an_open_part_of_a_closed_document(desk: Desk, document: str) -> None:
    """ "A part of a closed document can be open and the reverse."."""
    restrict(desk)
    restrict(desk, f"{document}.text.2#char=0,6", access=Access.OPEN)
    for part in ("char=0,6", "char=2,4"):
        resolved = resolve(desk, f"{document}.text.2#{part}")
        assert isinstance(resolved.step, Fetch)
        assert "title" not in show_record(resolved)
        assert resolved.record is not None
        assert all(
            not held.is_shown for one in resolved.record.versions for held in one.representations
        )
        with pytest.raises(ReadingNotAllowed):
            resolved.choose(whole=True)
    for part in ("char=0,7", "char=8,9", "byte=0,2"):
        with pytest.raises(ReadingNotAllowed):
            resolve(desk, f"{document}.text.2#{part}")


def test_a_closed_part_of_an_open_document(desk: Desk, document: str) -> None:
    restrict(desk, f"{document}.text.2#char=4,9")
    for part in ("char=4,9", "char=5,6", "char=0,14", "byte=0,2"):
        with pytest.raises(ReadingNotAllowed):
            resolve(desk, f"{document}.text.2#{part}").require_step()
    for part in ("char=0,4", "char=9,14"):
        assert isinstance(resolve(desk, f"{document}.text.2#{part}").step, Fetch)
    resolved = resolve(desk, f"{document}.text.2")
    with pytest.raises(ReadingNotAllowed):
        resolved.require_step()
    with pytest.raises(ReadingNotAllowed):
        resolved.require_usual_step()
    assert isinstance(resolved.choose(Want.DESCRIPTION), Description)
    assert "Second title" in show_record(resolved)
    held = resolved.record.versions[1].representations[0]  # type: ignore[union-attr]
    assert not held.is_shown
    assert isinstance(resolve(desk, f"{document}.text.1").step, Fetch)


def test_a_closed_name_that_leads_elsewhere(desk: Desk) -> None:
    desk.bind("hdl:1839/a", "https://a.example/a", register=True)
    desk.alias("hdl:1839/a", "hdl:1839/b")
    assert isinstance(resolve(desk, "hdl:1839/b").step, Redirect)
    restrict(desk, "hdl:1839/A")
    for name in ("hdl:1839/a", "hdl:1839/A", "hdl:1839/b", "hdl:1839/a#page=2"):
        with pytest.raises(ReadingNotAllowed):
            resolve(desk, name)
    restrict(desk, "hdl:1839/a", access=Access.OPEN, lifted=True)
    restrict(desk, "hdl:1839/b")
    assert isinstance(resolve(desk, "hdl:1839/a").step, Redirect)
    with pytest.raises(ReadingNotAllowed):
        resolve(desk, "hdl:1839/b")


def test_a_closed_side_of_a_citation(desk: Desk, document: str) -> None:
    restrict(desk, f"{document}.text.1")
    one, two = f"{document}.text.1", f"{document}.text.2"
    for citation in (f"{one}@3={two}", f"{two}@3={one}"):
        with pytest.raises(ReadingNotAllowed):
            resolve(desk, citation)


def test_many_rules_of_scopes_are_read_as_they_come(desk: Desk, document: str) -> None:
    for number in range(30):
        restrict(desk, f"pdi://s{number}.us/1997/")
    assert isinstance(resolve(desk).step, Fetch)
    restrict(desk, f"{TODAY}/")
    with pytest.raises(ReadingNotAllowed):
        resolve(desk)


def test_a_new_rule_leaves_the_known_ones_as_they_are(
    desk: Desk, document: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        restrict(desk, f"pdi://s{number}.us/1997/")
    resolve(desk)
    added: list[str] = []
    add_scope = ScopeIndex.add_scope

    def note_scope(index: ScopeIndex, scope: str) -> None:
        added.append(scope)
        add_scope(index, scope)

    monkeypatch.setattr(ScopeIndex, "add_scope", note_scope)
    restrict(desk, f"{TODAY}/")
    for _ in range(2):
        with pytest.raises(ReadingNotAllowed):
            resolve(desk)
    assert added == [f"{TODAY}/"]


def test_a_rule_about_a_scope_is_replaced_lifted_and_set_again(desk: Desk, document: str) -> None:
    restrict(desk, f"{TODAY}/")
    restrict(desk, f"{TODAY}/", access=Access.OPEN)
    assert isinstance(resolve(desk).step, Fetch)
    restrict(desk, f"{TODAY}/")
    with pytest.raises(ReadingNotAllowed):
        resolve(desk)
    restrict(desk, f"{TODAY}/", lifted=True)
    assert isinstance(resolve(desk).step, Fetch)
    restrict(desk, f"{TODAY}/")
    with pytest.raises(ReadingNotAllowed):
        resolve(desk)


# remembered rules
# ----------------


@pytest.mark.parametrize("about", [NAME, f"{TODAY}/"])
def test_rules_that_were_remembered_end_with_the_next_one(
    desk: Desk, document: str, about: str
) -> None:
    """A receipt for a rule means that every later answer obeys it."""
    for access in (Access.OPEN, Access.CLOSED, Access.OPEN, Access.UNAVAILABLE):
        restrict(desk, about, access=access)
        for _ in range(2):
            if access is Access.OPEN:
                assert isinstance(resolve(desk).step, Fetch)
            else:
                with pytest.raises((ReadingNotAllowed, LegallyUnavailable)):
                    resolve(desk)
    restrict(desk, about, lifted=True)
    assert isinstance(resolve(desk).step, Fetch)


def test_a_thread_in_an_earlier_state_does_not_say_what_holds_later(
    desk: Desk, document: str
) -> None:
    """It reads one state of the registry, and remembers for others nothing that is older."""
    rules, name = desk.registry.reading.rules, parse(NAME)
    restrict(desk, "hdl:1839/other")
    with ThreadPoolExecutor(1) as other, desk.registry.records.hold_snapshot():
        assert rules.has_rules_now(name) is False
        other.submit(restrict, desk).result()
        assert other.submit(rules.has_rules_now, name).result() is True
        assert rules.has_rules_now(parse(f"{NAME}.text.1")) is True  # what is newer may be known
        other.submit(restrict, desk, "hdl:1839/x").result()
        other.submit(rules.refresh).result()
        assert rules.has_rules_now(name) is False
        assert other.submit(rules.has_rules_now, name).result() is True
    assert rules.has_rules_now(name) is True


def test_what_one_thread_has_seen_holds_for_the_others(desk: Desk, document: str) -> None:
    """A guard is often asked in another thread than the one that looked for new rules."""
    rules, name = desk.registry.reading.rules, parse(NAME)
    restrict(desk, "hdl:1839/other")
    assert rules.has_rules_now(name) is False
    with ThreadPoolExecutor(1) as other:
        other.submit(restrict, desk).result()
        other.submit(rules.refresh).result()
    assert rules.has_rules(name) is True


def test_rules_that_refuse_nobody_need_no_guard(desk: Desk, document: str) -> None:
    rules, name = desk.registry.reading.rules, parse(NAME)
    restrict(desk, access=Access.OPEN)
    restrict(desk, f"{NAME}.text.1", until="2026-11-20")
    assert rules.has_rules_now(name) is True
    assert (rules.has_rules(name, "2026-11-19"), rules.has_rules(name, "2026-11-20")) == (
        True,
        False,
    )
    assert resolve(desk).guard is None
    restrict(desk, f"{NAME}.text.2#char=0,1")
    assert rules.has_rules(name, "2026-11-21") is False  # until it looks for new rules
    assert rules.has_rules_now(name) is True
    with pytest.raises(ReadingNotAllowed):
        _ = resolve(desk).step


RULES = st.builds(
    ReadingRule,
    about=st.sampled_from([NAME, f"{NAME}.text.1", f"{NAME}.*.2", f"{TODAY}/", SERIES]),
    part=st.just(""),
    access=st.sampled_from(Access),
    until=st.sampled_from(["", "2026-11-21", "2027-01-01"]),
    by_token=st.booleans(),
    networks=st.sampled_from([(), ("10.0.0.0/8",)]),
)
READERS = (PUBLIC_READER, ANN, Reader(address="10.1.2.3"), Reader(address="192.0.2.1"))


@given(st.lists(RULES, max_size=3), st.sampled_from(READERS))
def test_a_guard_whose_rules_refuse_nobody_answers_as_if_it_asked_them(
    rules: list[ReadingRule], reader: Reader
) -> None:
    """ "the most specific rule wins, then the newest": if none refuses, whichever wins admits."""
    name = parse(f"{NAME}.text.2#char=0,5")
    found = [replace(rule, number=number) for number, rule in enumerate(rules)]
    wanted, now = make_read_object(name), "2026-11-21T12:00:00Z"
    if any(find_refusal(rule, wanted, reader, now) for rule in found):
        return
    held = Representation(
        format="text", media_type="text/plain", length=5, sha512="ab" * 64, segment=3, offset=1
    )
    record = Record(
        versions=tuple(Version(number=one, at=now, representations=(held,)) for one in (1, 2)),
        locations=(Location(uri="https://a.example/2", version=2),),
    )
    asking = Guard(tuple(found), wanted, name, reader, now, record)
    free = dataclasses.replace(asking, is_free=True)
    step = Fetch(identifier=parse(f"{NAME}.text.2"), representation=held, pinned=True)
    steps = (step, Choices(identifier=name, fetches=(step,), locations=record.locations))
    for guard in (asking, free):
        guard.check_name()
        guard.check_document(name.whole)
        guard.check_kept(Record())
        assert guard.is_admitted()
        assert guard.show(record) == guard.show_around_part(record) == record
        assert [guard.guard_step(one, part) for one in steps for part in (None, "char=0,5")] == [
            one for one in steps for _ in range(2)
        ]
    closed = dataclasses.replace(free, refusal=NotFound(identifier="x"))
    with pytest.raises(NotFound):
        closed.check_name()
    assert closed.show(record) != record
