"""Proposals of withdrawals: who is a second person, which still stand, and what is kept of them."""

from __future__ import annotations

import msgspec
import pytest
from tests.conftest import text

from perdure.errors.conflicts import NothingProposed, ReasonNotRepeated
from perdure.errors.naming import ReasonMissing
from perdure.ids import parse
from perdure.model.commands import Withdraw, make_representation
from perdure.model.records import IdentifiedRecord, Proposal, Record, Tombstone, Version
from perdure.policy import proposals
from perdure.policy.proposals import Person

NAME = parse("pdi://oma.eop.gov.us/1997/09/01/1")
AT = "2026-11-21T12:00:00Z"
WISH = Proposal(reason="a court said so", at=AT, by="ann")


def record_with(versions: int, **fields: object) -> Record:
    held = tuple(
        Version(number=number, at=AT, representations=(make_representation(text("one")),))
        for number in range(1, versions + 1)
    )
    return msgspec.structs.replace(Record(at=AT, versions=held, revision=7), **fields)


def test_a_proposal_is_kept_with_its_end_and_what_its_author_saw() -> None:
    record, made = proposals.make_proposal(NAME, record_with(2), WISH, days=30)
    assert record.proposal == made
    assert made == msgspec.structs.replace(
        WISH, until="2026-12-21T12:00:00Z", revision=7, highest=2
    )
    assert proposals.make_proposal(NAME, record_with(0), WISH, days=1)[1].highest == 0
    shown = proposals.show_proposal(IdentifiedRecord(identifier=NAME, record=record))
    assert shown["identifier"] == str(NAME)
    assert (shown["reason"], shown["by"], shown["until"]) == (WISH.reason, "ann", made.until)
    assert "highest" not in shown


def test_a_proposal_gives_a_reason() -> None:
    with pytest.raises(ReasonMissing):
        proposals.make_proposal(NAME, record_with(1), msgspec.structs.replace(WISH, reason=" "), 1)


def test_which_proposals_stand() -> None:
    record, made = proposals.make_proposal(NAME, record_with(1), WISH, days=1)
    later = record_with(2, proposal=made)
    gone = record_with(1, proposal=made, tombstone=Tombstone(reason="x", at=AT, by="oma"))
    assert proposals.find_standing(record) == made
    assert proposals.find_standing(record, "2026-11-22T11:59:59Z") == made
    assert proposals.find_standing(record, made.until) is None
    assert proposals.find_standing(record_with(1)) is None
    assert proposals.find_standing(record_with(1, proposal=WISH)) is None, "of an older registry"
    assert proposals.find_standing(later) is None, "a version came that its author has not seen"
    assert proposals.find_standing(gone) is None


def test_the_reason_is_repeated_word_for_word() -> None:
    proposals.confirm_proposal(NAME, WISH, Withdraw(identifier=NAME, reason="a court said so"))
    with pytest.raises(ReasonNotRepeated) as refused:
        proposals.confirm_proposal(NAME, WISH, Withdraw(identifier=NAME, reason="a court said so "))
    assert (refused.value.by, refused.value.proposed) == ("ann", WISH.reason)


def test_what_is_proposed_is_refused_and_nothing_else() -> None:
    record, _ = proposals.make_proposal(NAME, record_with(1), WISH, days=1)
    assert proposals.refuse_proposal(NAME, record, None, AT).proposal is None
    for version, now in ((1, AT), (None, "2027-01-01T00:00:00Z")):
        with pytest.raises(NothingProposed):
            proposals.refuse_proposal(NAME, record, version, now)


def test_who_may_be_one_person() -> None:
    one = Person(root="ann", keys=frozenset({b"1", b"2"}))
    assert one.is_same(Person(root="ann"))
    assert one.is_same(Person(root="bob", keys=frozenset({b"2"})))
    assert not one.is_same(Person(root="bob", keys=frozenset({b"3"})))
    assert Person().is_same(Person())
