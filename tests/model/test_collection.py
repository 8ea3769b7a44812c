"""Collections as documents: one form, judged on reading, no member taken for another."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidMetadata
from perdure.model import collection as members
from perdure.model.collection import Collection, Member

PDI = "pdi://oma.eop.gov.us/1997/09/01/1.text.1"
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=40)
NAMES = st.from_regex(r"[a-z][a-zé .#,/-]{0,10}[a-z]", fullmatch=True)


@st.composite
def collections(draw: st.DrawFn) -> Collection:
    names = draw(st.lists(NAMES, unique=True, max_size=5))
    return Collection(
        title=draw(TEXTS),
        creators=tuple(draw(st.lists(NAMES, max_size=2))),
        purpose=draw(TEXTS),
        date=draw(st.sampled_from(["", "2026", "2026-11-21", "2026-11-21T12:00:00Z"])),
        members=tuple(
            Member(
                identifier=f"hdl:1839/{number}",
                name=name,
                title=draw(TEXTS),
                digest=draw(st.sampled_from(["", f"sha512:{'a' * 128}", f"sha1:{'B' * 32}"])),
                length=draw(st.none() | st.integers(0, 10**12)),
                note=draw(TEXTS),
            )
            for number, name in enumerate(names)
        ),
    )


@given(collections())
def test_reading_what_was_written_gives_the_collection_again(one: Collection) -> None:
    data = members.write(one)
    assert members.read(data) == one
    assert members.write(members.read(data)) == data


@given(collections())
def test_every_member_stands_on_a_line_of_its_own(one: Collection) -> None:
    lines = members.write(one).split(b"\n")
    rows = [line.rstrip(b",") for line in lines if line.startswith(b'{"')]
    assert [json.loads(row)["identifier"] for row in rows] == [m.identifier for m in one.members]


@given(collections())
def test_a_member_is_reached_by_its_number_and_by_its_name(one: Collection) -> None:
    data = members.write(one)
    for number, member in enumerate(one.members, 1):
        for wanted in (number, member.name):
            count, found, entry = members.entry(data, wanted)
            assert (count, found) == (len(one.members), number)
            assert entry is not None
            assert members.read_entry(entry) == member
    assert members.entry(data, len(one.members) + 1)[2] is None
    assert members.entry(data, "never used as a name!")[2] is None


def test_identifiers_are_read_in_every_form_and_written_in_one() -> None:
    data = b'{"collection": 1, "members": [{"identifier": "urn:PDI://OMA.eop.gov.us/1997/9/1/1.txt.1"}]}'
    assert members.read(data).members[0].identifier == "pdi://oma.eop.gov.us/1997/09/01/1.txt.1"


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([{"identifier": "no:identifier"}], "member 1: unknown scheme"),
        ([{"identifier": PDI}, {"identifier": "urn:" + PDI}], "is member 1 already"),
        ([{"identifier": PDI, "name": "7"}], "is a number"),
        ([{"identifier": PDI, "name": "a\nb"}], "not in print"),
        ([{"identifier": PDI, "name": "a"}, {"identifier": "hdl:1/2", "name": "a"}], "is called"),
        ([{"identifier": PDI, "digest": "abc"}], "digest"),
        ([{"identifier": PDI, "length": -1}], "a length below 0"),
        ([{"identifier": PDI, "media_type": "text"}], "media type"),
        ([{"identifier": PDI, "note": "\u0000"}], "has the character 0x0"),
        ([{"name": "nothing"}], "identifier"),
    ],
)
def test_what_no_collection_can_be_is_refused(rows: list[object], reason: str) -> None:
    with pytest.raises(InvalidMetadata) as raised:
        members.read(json.dumps({"collection": 1, "members": rows}).encode())
    assert reason in raised.value.reason


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"[]",
        b"{}",
        b'{"collection": 2}',
        b"\xff",
        b'{"collection": 1, "evil": 1}',
        b"[" * 9999,
    ],
)
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidMetadata):
        members.read(data)
