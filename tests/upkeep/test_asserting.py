"""Assertions in a registry: stored, found, retracted, closed and rebuilt."""

from __future__ import annotations

import pytest
from tests.conftest import TODAY, Desk, text

from perdure.errors import NotFound
from perdure.errors.assertions import AssertionMalformed
from perdure.ids import parse
from perdure.model.assertions import write_assertion
from perdure.model.commands import Restrict
from perdure.model.reading_rules import Access, ReadingRule
from perdure.reading.assertions import Assertions, HeldAssertion
from perdure.storage.segments.store import Segments
from perdure.storage.sqlite.opening import FILE
from perdure.storage.sqlite.store import SqliteStore
from perdure.upkeep.asserting import retract_assertion, store_assertion
from perdure.upkeep.transfer.renewal import rebuild_registry

NAME = f"{TODAY}/1"
PART = f"{NAME}.text.1#char=0,4"


@pytest.fixture
def letter(desk: Desk) -> Desk:
    desk.mint(text("Dear Madam"))
    return desk


def list_about(desk: Desk, name: str) -> list[HeldAssertion]:
    registry = desk.registry
    return Assertions(registry.reading, registry.listings).list_assertions(parse(name))


def find_names(desk: Desk, name: str) -> list[str]:
    return [str(one.identifier) for one in list_about(desk, name)]


def store(desk: Desk, *targets: str, by: str = "ann") -> str:
    data = write_assertion(targets, ("commenting",), body="Out of context.")
    return store_assertion(desk.registry, data, by=by).identifier


def test_an_assertion_is_a_document_found_by_what_it_is_about(letter: Desk) -> None:
    before = letter.record(NAME)
    whole, part = store(letter, NAME), store(letter, PART)
    assert whole == f"{TODAY}/2.jsonld.1"
    about_both = store(letter, f"{TODAY}/2", "hdl:1839/x")
    assert find_names(letter, NAME) == [whole, part]
    assert find_names(letter, PART) == [part]
    assert find_names(letter, f"{TODAY}/2") == find_names(letter, "hdl:1839/x") == [about_both]
    assert letter.record(NAME) == before
    assert [(one.by, one.retracted_by) for one in list_about(letter, PART)] == [("ann", ())]


def test_a_retraction_by_the_same_actor_marks_an_assertion(letter: Desk) -> None:
    name = store(letter, NAME)
    retract_assertion(letter.registry, parse(name), "not mine", by="bob")
    assert list_about(letter, NAME)[0].retracted_by == ()
    retraction = retract_assertion(letter.registry, parse(name), "I was wrong", by="ann")
    (held,) = list_about(letter, NAME)
    assert list(map(str, held.retracted_by)) == [retraction.identifier]


def test_an_assertion_about_something_unknown_is_refused(letter: Desk) -> None:
    with pytest.raises(NotFound):
        store(letter, f"{TODAY}/99")
    with pytest.raises(AssertionMalformed, match="addresses"):
        store(letter, "https://a.example/")
    assert letter.mint(text("next")).identifier == f"{TODAY}/2.text.1"


def test_withdrawn_assertions_and_those_about_closed_documents_are_not_listed(
    letter: Desk,
) -> None:
    first, second = store(letter, NAME), store(letter, NAME)
    letter.withdraw(first.partition(".jsonld")[0])
    assert find_names(letter, NAME) == [second]
    rule = ReadingRule(about=NAME, access=Access.CLOSED)
    letter.registry.door.execute_command(Restrict(rule=rule))
    assert find_names(letter, NAME) == []


def test_assertions_are_found_after_a_rebuild_from_the_segments_alone(letter: Desk) -> None:
    name = store(letter, PART, "hdl:1839/x")
    letter.registry.close()
    (letter.root / FILE).unlink()
    list(rebuild_registry(letter.root, SqliteStore(), Segments, now="2026-11-22T00:00:00Z"))
    letter.reopen()
    assert find_names(letter, NAME) == find_names(letter, "hdl:1839/x") == [name]
