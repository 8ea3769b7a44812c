"""The rules that a mirror checks again (docs/reference/mirrors.md)."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from perdure.model.changes import NO_CHAIN, ChainHead, Change, Epoch
from perdure.model.mirroring import BrokenRule
from perdure.model.records import Record, Representation, Tombstone, Version
from perdure.policy import replaying
from perdure.policy.replaying import ReplayRules, check_succession, read_dated_key

DAY = "oma.eop.gov.us/20261124"
LINE = "2026-11-24T12:00:00Z - - https://a.example/"
GONE = Tombstone(reason="the law", at="2026-11-24T12:00:00Z", by="press")


def change(act: str = "mint", *, at: str = "2026-11-24T12:00:00Z", revision: int = 1) -> Change:
    return Change(
        epoch=1,
        number=2,
        at=at,
        act=act,
        first="",
        last="",
        count=1,
        revision=revision,
        digest=NO_CHAIN,
        chain=NO_CHAIN,
        actor="press",
        salt=None,
    )


def broken(
    rules: ReplayRules, one: Change, *keys: str, last: Mapping[str, int] | None = None
) -> str | None:
    """The rule that new records break."""
    known = last or {}
    try:
        rules.check_new(one, [(key, LINE) for key in keys], lambda day: known.get(day, 0))
    except BrokenRule as error:
        return error.rule if error.change is one and str(error) == error.fault else "mistaken"
    return None


def test_numbers_follow_each_other() -> None:
    rules = ReplayRules()
    assert broken(rules, change(), f"{DAY}/a4", f"{DAY}/a5", last={DAY: 3}) is None
    assert broken(rules, change(), f"{DAY}/a6") is None
    assert broken(rules, change(), f"{DAY}/a8") == replaying.SERIAL
    assert broken(rules, change("reserve"), f"{DAY}/a6") == replaying.SERIAL
    rules.forget_serials()
    assert broken(rules, change(), f"{DAY}/a1") is None


def test_names_that_are_registered_take_numbers() -> None:
    rules = ReplayRules()
    assert broken(rules, change("register"), f"{DAY}/a7") is None
    assert broken(rules, change(), f"{DAY}/a8", last={DAY: 7}) is None
    assert broken(rules, change("import"), f"{DAY}/b20", f"{DAY}/~x") is None
    assert broken(rules, change(), f"{DAY}/b21") is None


def test_a_name_is_given_out_under_its_day() -> None:
    rules = ReplayRules()
    yesterday, tomorrow = "oma.eop.gov.us/20261123/a1", "oma.eop.gov.us/20261125/~a"
    assert broken(rules, change(), yesterday) == replaying.DAY
    assert broken(rules, change(), tomorrow) == replaying.DAY
    assert broken(rules, change("retrospect"), yesterday) is None
    assert broken(rules, change("retrospect"), tomorrow) == replaying.DAY
    assert broken(rules, change(), f"{DAY}/~chosen") is None


def test_an_epoch_declares_gaps_up_to_its_beginning() -> None:
    rules = ReplayRules()
    head = ChainHead(epoch=1, number=9, chain=NO_CHAIN.hex())
    rules.begin_epoch(Epoch(epoch=2, reason="promotion", previous=head), "2026-11-24T13:00:00Z")
    assert broken(rules, change(), f"{DAY}/a9") is None
    assert broken(rules, change("reserve"), "oma.eop.gov.us/20261123/a4") is None
    later = change(at="2026-11-25T00:00:00Z")
    assert broken(rules, later, "oma.eop.gov.us/20261125/a2") == replaying.SERIAL
    rules.begin_epoch(Epoch(epoch=1, reason="created"), "2026-11-24T13:00:00Z")
    assert broken(rules, change(), f"{DAY}/b30") == replaying.SERIAL


def test_records_come_in_order_and_are_new() -> None:
    rules = ReplayRules()
    assert broken(rules, change(), f"{DAY}/a2", f"{DAY}/a1") == replaying.UNREADABLE
    assert broken(rules, change(revision=2), f"{DAY}/a1") == replaying.REVISION
    assert broken(rules, change("reserve"), "hdl:1/20261124/a1", "urn:nbn:x") is None


@pytest.mark.parametrize(
    "key", ["hdl:1/20261124/a1", "oma.eop.gov.us/0202611/a1", "oma.eop.gov.us/2026112x/a1", ""]
)
def test_other_keys_have_no_day(key: str) -> None:
    assert read_dated_key(key) is None


def held(sha512: str = "aa", length: int = 5, **more: object) -> Representation:
    given = {"format": "text", "media_type": "text/plain", "segment": 1, "offset": 0} | more
    return Representation(sha512=sha512, length=length, **given)  # type: ignore[arg-type]


def record(revision: int, *versions: Version, **more: object) -> Record:
    return Record(revision=revision, versions=versions, **more)  # type: ignore[arg-type]


def one(*representations: Representation, number: int = 1, gone: bool = False) -> Version:
    tombstone = GONE if gone else None
    return Version(number=number, at="", representations=representations, tombstone=tombstone)


BEFORE = record(1, one(held()), one(held("bb"), number=2, gone=True))
SECOND = one(held("bb"), number=2, gone=True)


@pytest.mark.parametrize(
    ("after", "rule"),
    [
        (record(3, one(held()), SECOND), replaying.REVISION),
        (record(2, one(held()), SECOND, name="hdl:1/1"), replaying.REBOUND),
        (record(2, one(held("cc")), SECOND), replaying.REBOUND),
        (record(2, one(held(length=6)), SECOND), replaying.REBOUND),
        (record(2, one(held(format="html")), SECOND), replaying.REBOUND),
        (record(2, one(held("cc", erased="2026")), SECOND), replaying.REBOUND),
        (record(2, SECOND), replaying.PROMISE),
        (record(2, one(held()), one(held("bb"), number=2)), replaying.PROMISE),
    ],
)
def test_a_revision_keeps_the_promises_of_the_one_before(after: Record, rule: str) -> None:
    with pytest.raises(BrokenRule) as caught:
        check_succession(change("commit", revision=2), BEFORE, after)
    assert caught.value.rule == rule


def test_what_was_withdrawn_stays_so() -> None:
    before = record(1, one(held()), tombstone=GONE)
    with pytest.raises(BrokenRule, match="there again"):
        check_succession(change("commit", revision=2), before, record(2, one(held())))
    check_succession(change("describe", revision=2), before, record(2, one(held()), tombstone=GONE))


def test_a_name_that_is_unknown_has_no_second_revision() -> None:
    with pytest.raises(BrokenRule, match="never given out"):
        check_succession(change("commit", revision=2), None, record(2))


def test_a_revision_may_add_and_an_erasure_may_blank() -> None:
    added = record(2, one(held(), held("dd", format="html")), SECOND, one(held("ee"), number=3))
    check_succession(change("commit", revision=2), BEFORE, added)
    erased = record(2, one(held("00", erased="2026-11-24T12:00:00Z")), SECOND)
    check_succession(change("erase", revision=2), BEFORE, erased)
