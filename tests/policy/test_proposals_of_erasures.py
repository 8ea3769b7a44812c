"""Proposals of withdrawals and erasures, and acts that would evade them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from perdure.errors.conflicts import (
    ProposalContradicted,
    ReasonNotRepeated,
    SecondPersonNeeded,
)
from perdure.ids import parse
from perdure.model.commands import Erase, Withdraw
from perdure.model.records import (
    Blank,
    IdentifiedRecord,
    Location,
    Proposal,
    Record,
    Representation,
    Tombstone,
    Version,
)
from perdure.policy.proposals import (
    check_alone,
    confirm_proposal,
    find_standing,
    show_proposal,
)

NAME = parse("pdi://oma.eop.gov.us/2026/11/21/1")
AT, LATER = "2026-11-22T09:00:00Z", "2026-12-22T09:00:00Z"
WHY = Tombstone(reason="the law", at=AT, by="anna")
HELD = Representation(
    format="text", media_type="text/plain", length=10, sha512="a" * 128, segment=1, offset=9
)
FIRST = Version(number=1, at=AT, representations=(HELD,))
BLANK = Blank(version=1, format="text", start=0, end=2)


def propose(act: str, **fields: object) -> Proposal:
    made = Proposal(act=act, reason="the law", at=AT, by="anna", until=LATER, highest=1)
    return replace(made, **fields)


def test_a_withdrawal_is_confirmed_as_it_was_proposed() -> None:
    proposal = propose("withdraw", silent=True)
    confirm_proposal(NAME, proposal, Withdraw(identifier=NAME, reason="the law", silent=True))
    with pytest.raises(ReasonNotRepeated):
        confirm_proposal(NAME, proposal, Withdraw(identifier=NAME, reason="The law", silent=True))
    with pytest.raises(ProposalContradicted, match=r"(?<!not )silent, without the digest"):
        confirm_proposal(NAME, proposal, Withdraw(identifier=NAME, reason="the law"))


def test_an_erasure_is_confirmed_as_it_was_proposed() -> None:
    part = propose("erase", blanks=(BLANK,), keeps_digest=True)
    confirm_proposal(
        NAME,
        part,
        Erase(identifier=NAME, reason="the law", blanks=(BLANK,), keep_digest=True),
    )
    with pytest.raises(
        ProposalContradicted, match="not silent, with the digest kept, 1 stretches of bytes"
    ):
        confirm_proposal(NAME, part, Erase(identifier=NAME, reason="the law", keep_digest=True))
    with pytest.raises(ProposalContradicted, match="all bytes"):
        confirm_proposal(
            NAME, propose("erase"), Erase(identifier=NAME, reason="the law", blanks=(BLANK,))
        )


def test_an_erasure_can_be_proposed_of_what_is_withdrawn() -> None:
    record = Record(at=AT, versions=(FIRST,), tombstone=WHY)
    assert find_standing(replace(record, proposal=propose("withdraw")), AT) is None
    assert find_standing(replace(record, proposal=propose("erase")), AT) is not None
    assert find_standing(replace(record, proposal=propose("erase")), LATER) is None


@pytest.mark.parametrize("act", ["withdraw", "erase"])
def test_a_proposal_is_shown_with_its_act(act: str) -> None:
    shown = show_proposal(IdentifiedRecord(NAME, Record(proposal=propose(act))))
    assert (shown["act"], shown["reason"], shown["by"]) == (act, "the law", "anna")


HERE = Location(uri="https://a.example/", version=1)
BOUND = Record(at=AT, locations=(HERE,), versions=(Version(number=1, at=AT),))


@pytest.mark.parametrize(
    ("held", "changed", "version"),
    [
        (Record(versions=(FIRST,)), Record(versions=(FIRST,), tombstone=WHY), None),
        (
            Record(versions=(FIRST, replace(FIRST, number=2))),
            Record(versions=(FIRST, replace(FIRST, number=2, tombstone=WHY))),
            2,
        ),
        (BOUND, replace(BOUND, locations=()), None),
        (
            replace(BOUND, locations=(HERE, replace(HERE, version=2))),
            replace(
                BOUND,
                locations=(replace(HERE, version=2),),
                versions=(Version(number=1, at=AT, broken=WHY),),
            ),
            1,
        ),
    ],
    ids=["whole", "version", "last location", "last location of a version"],
)
def test_no_other_act_withdraws(held: Record, changed: Record, version: int | None) -> None:
    """Ruling two-persons."""
    with pytest.raises(SecondPersonNeeded) as refused:
        check_alone(NAME, held, changed)
    assert refused.value.version == version
    check_alone(NAME, changed, changed)  # it is withdrawn already
    check_alone(NAME, held, held)


def test_a_location_of_several_can_go() -> None:
    other = replace(HERE, uri="https://b.example/")
    check_alone(NAME, replace(BOUND, locations=(HERE, other)), BOUND)
