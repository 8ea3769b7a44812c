"""Proposed assertions in a registry: bounded, and gone after a while."""

from __future__ import annotations

import pytest
from tests.conftest import SERIES, TODAY, Desk, text

from perdure.errors.assertions import ProposalsTooMany, ProposalUnknown
from perdure.ids import parse
from perdure.model.assertions import write_assertion
from perdure.upkeep import proposing

NAME = f"{TODAY}/1"


@pytest.fixture
def letter(desk: Desk) -> Desk:
    desk.mint(text("Dear Madam"))
    return desk


def propose(desk: Desk, body: str, by: str = "eve") -> str:
    data = write_assertion((NAME,), body=body)
    return proposing.propose_assertion(desk.registry, data, series=SERIES, by=by).id


def list_ids(desk: Desk) -> list[str]:
    return [one.id for one in proposing.list_proposals(desk.registry)]


def test_proposals_end_after_ninety_days(letter: Desk) -> None:
    old = propose(letter, "old")
    letter.clock.advance(days=89)
    new = propose(letter, "new")
    assert sorted(list_ids(letter)) == sorted((old, new))
    letter.clock.advance(days=2)
    assert list_ids(letter) == [new]
    with pytest.raises(ProposalUnknown):
        proposing.read_proposal(letter.registry, old)


def test_their_number_is_bounded(letter: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proposing, "MOST", 3)
    for number in range(3):
        propose(letter, "x", by=f"author {number}")
    with pytest.raises(ProposalsTooMany):
        propose(letter, "x", by="another")
    assert propose(letter, "x", by="author 1") in list_ids(letter)  # it is there already


def test_a_proposal_is_accepted_once_even_if_its_file_survives(letter: Desk) -> None:
    id = propose(letter, "x")
    path = letter.root / "proposed" / f"{id}.json"
    data = path.read_bytes()
    first = proposing.accept_proposal(letter.registry, id, by="ann")
    path.write_bytes(data)  # as after a crash
    again = proposing.accept_proposal(letter.registry, id, by="ann")
    assert again.identifier == first.identifier
    path.write_bytes(data)
    with pytest.raises(ProposalUnknown):
        proposing.accept_proposal(letter.registry, id, by="bob")
    (held,) = letter.registry.assertions.list_assertions(parse(NAME))
    assert (held.by, list_ids(letter)) == ("eve", [])


def test_other_files_are_no_proposals(letter: Desk) -> None:
    id = propose(letter, "x")
    (letter.root / "proposed" / "notes.json").write_text("{}")
    assert list_ids(letter) == [id]
    for other in ("notes", "../perdure", ""):
        with pytest.raises(ProposalUnknown):
            proposing.delete_proposal(letter.registry, other)
