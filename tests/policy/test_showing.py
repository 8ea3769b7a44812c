"""Records as readers may see them: of what was withdrawn, only its tombstone."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from perdure.ids import parse
from perdure.model.about import About
from perdure.model.records import (
    WHOLE_RESOURCE,
    Level,
    Location,
    LocationDrift,
    Record,
    Representation,
    Tombstone,
    Value,
    Version,
)
from perdure.policy.binding import break_location
from perdure.policy.showing import (
    find_withdrawal,
    hide_levels,
    show_to_readers,
    silence_descriptions,
)

AT = "2026-11-22T09:00:00Z"
WHY = Tombstone(reason="a court said so", at=AT, by="anna")
HELD = Representation(
    format="text", media_type="text/plain", length=10, sha512="a" * 128, segment=1, offset=9
)
FIRST = Version(number=1, at=AT, representations=(HELD,))
RECORD = Record(at=AT, versions=(FIRST,), metadata={"title": "x"}, about=About())
NAME = parse("pdi://oma.eop.gov.us/2026/11/21/1")


def shown(record: Record, current: Record | None = None) -> Representation:
    (held,) = show_to_readers(record, current).versions[0].representations
    return held


def test_nothing_is_hidden_of_what_is_served() -> None:
    assert show_to_readers(RECORD) == RECORD


@pytest.mark.parametrize(
    "withdrawn",
    [replace(RECORD, tombstone=WHY), replace(RECORD, versions=(replace(FIRST, tombstone=WHY),))],
)
def test_digest_and_length_are_hidden(withdrawn: Record) -> None:
    """Ruling tombstone-silence: "digest and length only where kept on purpose"."""
    held = shown(withdrawn)
    assert (held.sha512, held.length, held.is_shown) == ("", 0, False)
    assert shown(RECORD, withdrawn) == held  # a past revision says no more
    assert show_to_readers(withdrawn).metadata == {"title": "x"}


def test_they_are_shown_if_they_were_kept_on_purpose() -> None:
    kept = replace(RECORD, tombstone=replace(WHY, keeps_digest=True))
    assert shown(kept).sha512 == HELD.sha512
    erased = replace(HELD, erased=AT, sha512="0" * 128, original="a" * 128)
    kept = replace(kept, versions=(replace(FIRST, representations=(erased,)),))
    assert shown(kept).sha512 == "a" * 128
    assert shown(replace(kept, tombstone=WHY)).is_shown is False


def test_another_version_is_shown() -> None:
    second = Version(number=2, at=AT, representations=(HELD,))
    record = replace(RECORD, versions=(replace(FIRST, tombstone=WHY), second))
    assert show_to_readers(record).versions[1] == second


def test_a_silent_withdrawal_says_nothing_of_the_resource() -> None:
    """Ruling tombstone-silence: "the metadata that *people* had given, unless withdrawn with
    `--silent`"."""
    silent = replace(WHY, silent=True)
    for record in (
        replace(RECORD, tombstone=silent),
        replace(RECORD, versions=(replace(FIRST, tombstone=silent),)),
    ):
        found = show_to_readers(record)
        assert (found.metadata, found.about, found.attached) == ({}, None, ())
        assert found.targets == ()
    second = Version(number=2, at=AT, representations=(HELD,))
    one_of_two = replace(RECORD, versions=(replace(FIRST, tombstone=silent), second))
    assert show_to_readers(one_of_two).metadata == RECORD.metadata


@pytest.mark.parametrize("number", [None, 1])
def test_a_silent_withdrawal_tells_no_address(number: int | None) -> None:
    """Neither the present locations nor the evidence, nor the reason why one was broken."""
    address = "https://a.example/secret"
    place = Location(uri=address, version=number)
    drift = LocationDrift(uri="https://a.example/secret2", version=number)
    record = replace(RECORD, versions=(), drifted=(drift,))
    record = break_location(replace(record, locations=(place,)), place, "anna", AT)
    record = replace(record, locations=(replace(place, uri="https://a.example/secret3"),))
    assert "secret" in str(record.unbound(number) or record.broken or record.versions[0].broken)
    silent = replace(WHY, silent=True, keeps_digest=True)
    if number is None:
        withdrawn = replace(record, tombstone=silent)
    else:
        second = Version(number=2, at=AT, representations=(HELD,))
        withdrawn = replace(
            record, versions=(replace(record.versions[0], tombstone=silent), second)
        )
    assert "secret" not in str(show_to_readers(withdrawn))
    assert "secret" not in str(show_to_readers(record, withdrawn))
    assert "secret" not in str(silence_descriptions(withdrawn))


def test_a_name_is_withdrawn_with_its_version_or_the_whole() -> None:
    second = Version(number=2, at=AT, representations=(HELD,))
    one = replace(RECORD, versions=(replace(FIRST, tombstone=WHY), second))
    assert find_withdrawal(NAME, one) is None
    assert find_withdrawal(parse(f"{NAME}.text.1"), one) == WHY
    assert find_withdrawal(parse(f"{NAME}.text.2"), one) is None
    assert find_withdrawal(NAME, replace(one, tombstone=WHY)) == WHY
    alone = replace(RECORD, versions=(replace(FIRST, tombstone=WHY),))
    assert find_withdrawal(NAME, alone) == WHY
    elsewhere = replace(alone, locations=(Location(uri="https://a.example/"),))
    assert find_withdrawal(NAME, elsewhere) is None
    assert find_withdrawal(NAME, Record()) is None


def test_an_address_that_is_private_now_is_in_no_past_revision() -> None:
    """A value without the third bit of its permissions is shown to administrators only."""
    public = Value(index=1, type="URL", data="https://a.example/", at=AT)
    private = replace(public, permissions="1100")
    place, other = Location(uri=public.data), Location(uri="https://b.example/")
    past = Record(at=AT, values=(public,), locations=(place, other))
    assert show_to_readers(past).locations == (place, other)
    assert show_to_readers(past, replace(past, values=(private,))).locations == (other,)


def test_evidence_of_withdrawn_or_private_locations_is_hidden() -> None:
    """A digest could confirm a guess, and a private value is not public after its location was
    broken."""
    drift = LocationDrift(uri="https://a.example/", version=1, sha512="b" * 128)
    record = replace(RECORD, drifted=(drift,))
    assert show_to_readers(record).drifted == (drift,)
    for why, shown in ((WHY, ()), (replace(WHY, keeps_digest=True), (drift,))):
        first = replace(FIRST, tombstone=why)
        assert show_to_readers(replace(record, versions=(first,))).drifted == shown
    private = Value(index=1, type="URL", data=drift.uri, permissions="1100")
    assert show_to_readers(replace(record, values=(private,))).drifted == ()


CLOSED = Level(version=1, format="html")


def hide(*closed: Level, partly: tuple[Level, ...] = ()) -> Record:
    """A record of three locations and two versions, as a reader sees it who may not read some."""
    html = replace(HELD, format="html")
    record = replace(
        RECORD,
        versions=(replace(FIRST, representations=(HELD, html)), replace(FIRST, number=2)),
        locations=(
            Location(uri="https://a.example/"),
            Location(uri="https://a.example/1", version=1, format="html"),
        ),
        drifted=(LocationDrift(uri="https://a.example/2", version=1, format="html"),),
    )
    return hide_levels(
        record,
        lambda level: level not in closed,
        lambda level: level not in (*closed, *partly),
    )


def test_only_what_is_closed_is_hidden() -> None:
    shown = hide(CLOSED)
    assert [one.format for one in shown.versions[0].representations] == ["text"]
    assert [one.number for one in shown.versions] == [1, 2]
    assert [one.uri for one in shown.locations] == ["https://a.example/"]
    assert shown.drifted == ()
    assert shown.metadata == {"title": "x"}
    assert hide() == hide(Level(version=3))


def test_digests_of_bytes_with_a_closed_part_are_hidden() -> None:
    """They could confirm a guess of the part."""
    text, html = hide(partly=(CLOSED,)).versions[0].representations
    assert (text.is_shown, html.is_shown, html.sha512, html.length) == (True, False, "", 0)


def test_a_version_without_anything_open_is_not_listed() -> None:
    closed = (Level(version=1), Level(version=1, format="text"), CLOSED)
    assert [one.number for one in hide(*closed).versions] == [2]


def test_a_closed_resource_says_nothing_of_itself() -> None:
    shown = hide(WHOLE_RESOURCE)
    assert (shown.metadata, shown.about, shown.aliases) == ({}, None, ())
    assert [one.number for one in shown.versions] == [1, 2]
