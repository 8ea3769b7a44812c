"""Reading rules in the read door: who is refused, and what is hidden from whom."""

from __future__ import annotations

from typing import Any

import pytest
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
from perdure.model.records import Location, Record, Token
from perdure.policy.scope_index import ScopeIndex
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
