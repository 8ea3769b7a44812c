"""Collections as documents: one form, judged on reading, no member taken for another."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidMetadata, records
from perdure.model import collection as members
from perdure.model.collection import Collection, CollectionMember

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
            CollectionMember(
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
    data = members.write_collection(one)
    assert members.read_collection(data) == one
    assert members.write_collection(members.read_collection(data)) == data


@given(collections())
def test_every_member_stands_on_a_line_of_its_own(one: Collection) -> None:
    lines = members.write_collection(one).split(b"\n")
    rows = [line.rstrip(b",") for line in lines if line.startswith(b'{"')]
    assert [json.loads(row)["identifier"] for row in rows] == [m.identifier for m in one.members]


@given(collections())
def test_a_member_is_reached_by_its_number_and_by_its_name(one: Collection) -> None:
    data = members.write_collection(one)
    for number, member in enumerate(one.members, 1):
        for wanted in (number, member.name):
            count, found, entry = members.find_entry(data, wanted)
            assert (count, found) == (len(one.members), number)
            assert entry is not None
            assert members.read_entry(entry) == member
    assert members.find_entry(data, len(one.members) + 1)[2] is None
    assert members.find_entry(data, "never used as a name!")[2] is None


def test_identifiers_are_read_in_every_form_and_written_in_one() -> None:
    data = b'{"collection": 1, "members": [{"identifier": "urn:PDI://OMA.eop.gov.us/1997/9/1/1.txt.1"}]}'
    assert (
        members.read_collection(data).members[0].identifier
        == "pdi://oma.eop.gov.us/1997/09/01/1.txt.1"
    )


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([{"identifier": "no:identifier"}], "member 1: unknown scheme"),
        ([{"identifier": PDI}, {"identifier": "urn:" + PDI}], "is already member 1"),
        ([{"identifier": PDI, "name": "7"}], "is a number"),
        ([{"identifier": PDI, "name": "a\nb"}], "is not printable"),
        (
            [{"identifier": PDI, "name": "a"}, {"identifier": "hdl:1/2", "name": "a"}],
            "has the same name",
        ),
        ([{"identifier": PDI, "digest": "abc"}], "digest"),
        ([{"identifier": PDI, "length": -1}], "length is negative"),
        ([{"identifier": PDI, "media_type": "text"}], "media type"),
        ([{"identifier": PDI, "note": "\u0000"}], "contains the control character 0x0"),
        ([{"name": "nothing"}], "identifier"),
    ],
)
def test_what_no_collection_can_be_is_refused(rows: list[object], reason: str) -> None:
    with pytest.raises(InvalidMetadata) as raised:
        members.read_collection(json.dumps({"collection": 1, "members": rows}).encode())
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
        members.read_collection(data)


# by example
# ----------

PLAIN = Collection(
    title="Fronts",
    members=(
        CollectionMember(identifier=PDI, name="a page"),
        CollectionMember(identifier="hdl:1839/b", length=0, media_type="text/html"),
    ),
)


def test_members_are_numbered_from_one() -> None:
    assert PLAIN.find_number(PDI) == 1
    assert PLAIN.find_number("hdl:1839/b") == 2
    assert PLAIN.find_number("hdl:1839/c") is None


def test_one_entry_is_found_by_number_or_name() -> None:
    data = members.write_collection(PLAIN)
    for wanted, number in ((1, 1), (2, 2), ("a page", 1), (0, 0), (3, 0), ("b page", 0)):
        count, found, entry = members.find_entry(data, wanted)
        assert (count, found) == (2, number)
        assert (entry and members.read_entry(entry)) == (
            PLAIN.members[number - 1] if number else None
        )


def test_a_document_is_taken_apart_into_its_entries() -> None:
    about, rows = members.split_entries(members.write_collection(PLAIN))
    assert about == Collection(title="Fronts")
    assert tuple(map(members.read_entry, rows)) == PLAIN.members


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff",
        b"[]",
        b'{"collection": 2, "members": []}',
        b'{"collection": 1, "members": [7]}',
        b'{"collection": 1, "members": 7}',
    ],
)
def test_what_is_no_collection(data: bytes) -> None:
    with pytest.raises(InvalidMetadata):
        members.read_collection(data)
    with pytest.raises(InvalidMetadata):
        members.split_entries(data)


def test_what_is_no_entry() -> None:
    for data in (b"", b"7", b"{}", b"\xff"):
        with pytest.raises(InvalidMetadata):
            members.read_entry(data)
    for wanted in (1, "a"):
        with pytest.raises(InvalidMetadata):
            members.find_entry(b"[", wanted)


@pytest.mark.parametrize(
    "one",
    [
        Collection(title="a\x07"),
        Collection(purpose="x" * (members.LONGEST_TEXT + 1)),
        Collection(creators=("",)),
        Collection(creators=(" Ada",)),
        Collection(creators=("Ada\nLovelace",)),
        Collection(date="yesterday"),
        Collection(members=(CollectionMember(identifier="nothing"),)),
        Collection(members=(CollectionMember(identifier=PDI, name="7"),)),
        Collection(members=(CollectionMember(identifier=PDI, name="a\n"),)),
        Collection(members=(CollectionMember(identifier=PDI, name="n" * 1000),)),
        Collection(members=(CollectionMember(identifier=PDI, digest="sha512"),)),
        Collection(members=(CollectionMember(identifier=PDI, length=-1),)),
        Collection(members=(CollectionMember(identifier=PDI, media_type="text"),)),
        Collection(members=(CollectionMember(identifier=PDI, title="a\x00"),)),
        Collection(members=(CollectionMember(identifier=PDI, note="a\x00"),)),
        Collection(members=(CollectionMember(identifier=PDI), CollectionMember(identifier=PDI))),
        Collection(
            members=(
                CollectionMember(identifier=PDI, name="a"),
                CollectionMember(identifier="hdl:1/a", name="a"),
            )
        ),
    ],
    ids=lambda one: str(one)[:60],
)
def test_what_no_collection_can_be(one: Collection) -> None:
    with pytest.raises(InvalidMetadata):
        members.check_collection(one)


def test_the_line_of_a_bad_member_is_told() -> None:
    one = Collection(
        members=(CollectionMember(identifier=PDI), CollectionMember(identifier="nothing"))
    )
    with pytest.raises(InvalidMetadata) as refused:
        members.check_collection(one, lines=(4, 9))
    assert refused.value.line == 9


@pytest.mark.parametrize(
    ("one", "error"),
    [
        (Collection(title="a\x07"), records.ControlCharacterFound(name="title", character=7)),
        (
            Collection(members=(CollectionMember(identifier=PDI, note="a\x00"),)),
            records.ControlCharacterFound(member=1, name="note", character=0, line=9),
        ),
        (
            Collection(members=(CollectionMember(identifier=PDI, name="7"),)),
            records.MemberNameIsNumber(member=1, name="7", line=9),
        ),
        (
            Collection(members=(CollectionMember(identifier=PDI, length=-1),)),
            records.MemberLengthNegative(member=1, line=9),
        ),
        (
            Collection(
                members=(CollectionMember(identifier=PDI), CollectionMember(identifier=PDI))
            ),
            records.MemberTwice(member=2, identifier=PDI, first=1, line=10),
        ),
        (Collection(date="yesterday"), records.CollectionDateMalformed(date="yesterday")),
    ],
)
def test_each_reason_is_a_class_with_its_fields(one: Collection, error: InvalidMetadata) -> None:
    with pytest.raises(InvalidMetadata) as refused:
        members.check_collection(one, lines=(9, 10))
    assert refused.value == error
