"""Names under past days, and documents that come with several versions and a description."""

from __future__ import annotations

import pytest
from tests.conftest import SERIES, TODAY, Desk, html, large, text

from perdure.errors import Conflict, InvalidRequest, MalformedIdentifier, UnknownAuthority
from perdure.errors.conflicts import SerialsFenced, SerialsHandedOver
from perdure.errors.naming import DayNotPast
from perdure.model.about import About, DescriptionText
from perdure.model.changes import BEGINNING
from perdure.storage import fence, handover

PAST = f"pdi://{SERIES}/1997/09/01"
TITLED = About(titles=(DescriptionText(value="A report"),), derived="PDF")


def test_serials_go_on_from_the_highest_known_of_a_past_day(desk: Desk) -> None:
    """Ruling pdi-retrospective: "serials go on from the highest known one of that day"."""
    desk.register(f"{PAST}/15.text.1", text("known"))
    assert desk.mint(text("a"), day="1997/09/01").identifier == f"{PAST}/16.text.1"
    assert desk.mint(text("b"), day="1997/9/1").identifier == f"{PAST}/17.text.1"
    assert (
        desk.mint(text("c"), day="1997/09/02").identifier == f"pdi://{SERIES}/1997/09/02/1.text.1"
    )
    assert desk.mint(text("d")).identifier == f"{TODAY}/1.text.1"
    desk.reopen()
    assert desk.mint(text("e"), day="1997/09/01").identifier == f"{PAST}/18.text.1"
    assert desk.mint(day="1997/09/01", uid="a-speech").identifier == f"{PAST}/a-speech"
    assert desk.problems() == []


def test_the_change_says_so(desk: Desk) -> None:
    """Ruling pdi-retrospective: "The change then says `retrospect`"."""
    desk.mint(text("a"))
    desk.mint(text("b"), day="1997/09/01")
    acts = [one.act for one in desk.registry.records.list_changes(BEGINNING, limit=100)]
    assert acts[-2:] == ["mint", "retrospect"]


@pytest.mark.parametrize("day", ["2026/11/21", "2026/11/22", "1997", "1997/09", "1997/*/01", "x/y"])
def test_only_a_past_day_is_taken(desk: Desk, day: str) -> None:
    with pytest.raises((DayNotPast, MalformedIdentifier)):
        desk.mint(text("a"), day=day)
    assert desk.mint(text("a")).identifier == f"{TODAY}/1.text.1"


def test_a_shoulder_has_no_days(desk: Desk) -> None:
    with pytest.raises(UnknownAuthority):
        desk.mint(authority="99999/fk4", day="1997/09/01")


def test_no_number_of_a_fenced_or_handed_over_day_is_given(desk: Desk) -> None:
    """Ruling pdi-retrospective: "never under a day that was handed over or fenced"."""
    fence.raise_fence(desk.root, "1997/09/01", {}, lost=None)
    passed = handover.Handover().close_days("1997/09/05", "1997/09/06")
    handover.save_handover(desk.root, passed)
    desk.reopen()
    for day, error in (("1997/09/01", SerialsFenced), ("1997/09/05", SerialsHandedOver)):
        with pytest.raises(error):
            desk.mint(text("a"), day=day)
        with pytest.raises(Conflict):
            desk.mint(text("a"), day=day, uid="a-speech")
    assert desk.mint(text("a"), day="1997/09/07").identifier.endswith("/1997/09/07/1.text.1")


def test_a_document_comes_with_all_its_versions_and_its_description(desk: Desk) -> None:
    big = large(desk.registry, b"\0" * (9 << 20))
    later = ((text("two"), html("<p>two")), (big,))
    receipt = desk.mint(text("one"), later=later, about=TITLED, metadata={"box": "7"})
    assert receipt.identifier == f"{TODAY}/1.text.1"
    record = desk.record(f"{TODAY}/1")
    assert record.revision == 1
    assert (record.about, record.metadata) == (TITLED, {"box": "7"})
    assert desk.served(f"{TODAY}/1") == b"one"
    assert desk.served(f"{TODAY}/1", 2) == b"two"
    assert desk.served(f"{TODAY}/1", 2, "html") == b"<p>two"
    assert len(desk.served(f"{TODAY}/1", 3, "octet-stream")) == 9 << 20
    assert desk.problems() == []


def test_a_version_that_is_wrong_leaves_nothing_behind(desk: Desk) -> None:
    with pytest.raises(InvalidRequest):
        desk.mint(text("one"), later=((text("two"), text("three")),))
    missing = large(desk.registry, b"\0" * (9 << 20))
    (desk.root / "incoming" / str(missing.spooled)).unlink()
    size = sum(path.stat().st_size for path in (desk.root / "segments").iterdir())
    with pytest.raises(Exception, match="bytes"):
        desk.mint(text("one"), later=((missing,),))
    assert sum(path.stat().st_size for path in (desk.root / "segments").iterdir()) == size
    assert desk.mint(text("one")).identifier == f"{TODAY}/1.text.1"


def test_the_same_key_gives_the_same_document(desk: Desk) -> None:
    first = desk.mint(
        text("one"), later=((text("two"),),), about=TITLED, once="a", day="1997/09/01"
    )
    again = desk.mint(
        text("one"), later=((text("two"),),), about=TITLED, once="a", day="1997/09/01"
    )
    assert (again.identifier, again.replayed) == (first.identifier, True)
    for other in (
        {"later": ((text("three"),),)},
        {"later": ((text("two"),),), "about": About()},
        {"later": ((text("two"),),), "about": TITLED, "day": "1997/09/02"},
    ):
        fields = {"day": "1997/09/01"} | other
        with pytest.raises(InvalidRequest, match="key"):
            desk.mint(text("one"), once="a", **fields)
