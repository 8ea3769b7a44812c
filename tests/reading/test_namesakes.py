"""Names of one thing: listed once, with its other names, and no name is lost."""

from __future__ import annotations

from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.conftest import TODAY, Desk, text

from perdure.ids import Identifier, parse
from perdure.ids.name_set import read_set
from perdure.model.records import IdentifiedRecord, Record, Representation, Tombstone, Version
from perdure.model.references import list_references
from perdure.policy.naming import list_members
from perdure.reading.namesakes import MOST_NAMES, Namesakes
from perdure.storage.ports import Records

DAY = "pdi://oma.eop.gov.us/1997/09/01/"
AT = "1997-09-01T00:00:00Z"


class KeptRecords:
    """Records in memory, found by key and by reference."""

    def __init__(self, records: dict[Identifier, Record]) -> None:
        self._records = {name.key: record for name, record in records.items()}

    def find_record(self, key: str) -> Record | None:
        return self._records.get(key)

    def find_referring(self, reference: str, *, limit: int | None = None) -> list[str]:
        found = (key for key, one in self._records.items() if reference in list_references(one))
        return sorted(found)[:limit]


def make_record(digests: tuple[str, ...] = (), aliases: tuple[str, ...] = ()) -> Record:
    held = tuple(
        Representation(
            format=format, media_type="text/plain", length=1, sha512=one * 128, segment=1, offset=0
        )
        for format, one in zip(("html", "text"), digests, strict=False)
    )
    versions = (Version(number=1, at=AT, representations=held),) if held else ()
    return Record(at=AT, versions=versions, aliases=aliases)


def list_once(
    records: dict[Identifier, Record], pattern: str
) -> list[tuple[Identifier, tuple[Identifier, ...]]]:
    namesakes = Namesakes(
        cast("Records", cast(Any, KeptRecords(records))), is_ruled=lambda _: False
    )
    names = read_set(pattern)
    return [
        pair
        for name, record in sorted(records.items(), key=lambda row: row[0].key)
        for members in (list_members(names, name, record),)
        for pair in namesakes.list_first(names, IdentifiedRecord(name, record), members)
    ]


records_ = st.dictionaries(
    st.integers(1, 9).map(lambda number: parse(f"{DAY}{number}")),
    st.builds(
        make_record,
        st.sampled_from([(), ("a",), ("b",), ("a", "b"), ("b", "a"), ("a", "a")]),
        st.lists(
            st.sampled_from([*(f"{DAY}{number}" for number in range(1, 10)), "hdl:1839/1"]),
            max_size=2,
            unique=True,
        ).map(tuple),
    ),
    max_size=8,
)


@given(records_, st.sampled_from([DAY, f"{DAY}*", f"{DAY}*.*.*", f"{DAY}*.text.*", f"{DAY}3"]))
def test_no_name_is_lost_and_none_is_listed_twice(
    records: dict[Identifier, Record], pattern: str
) -> None:
    """ "Lists and searches that bring several names of one thing (by alias or digest) show it once,
    with its other names" (ruling urn93-duplicates)."""
    names = read_set(pattern)
    every = [one for name, row in records.items() for one in list_members(names, name, row)]
    shown = list_once(records, pattern)
    first = [one for one, _ in shown]
    also = [other for _, others in shown for other in others]
    assert len(set(first)) == len(first)
    assert not {*first} & {*also} or names.has_representations
    assert {*every} <= {*first, *also}
    assert {*first} <= {*every}


def test_the_first_name_shows_the_others() -> None:
    one, two, three = (parse(f"{DAY}{number}") for number in (1, 2, 3))
    records = {
        one: make_record(("a",)),
        two: make_record(("b",), (str(three), "hdl:1839/1")),
        three: make_record(("a",)),
    }
    assert list_once(records, DAY) == [(one, (parse("hdl:1839/1"), two, three))]
    assert list_once(records, f"{DAY}*.html.*") == [
        (parse(f"{DAY}1.html.1"), (parse(f"{DAY}3.html.1"),)),
        (parse(f"{DAY}2.html.1"), ()),
    ]


def test_versions_of_one_resource_are_all_listed() -> None:
    name = parse(f"{DAY}1")
    first = make_record(("a",)).versions[0]
    record = Record(at=AT, versions=(first, replace(first, number=2)))
    shown = list_once({name: record}, f"{DAY}1.html.*")
    assert [str(one) for one, _ in shown] == [f"{DAY}1.html.1", f"{DAY}1.html.2"]


def test_withdrawn_bytes_are_not_compared() -> None:
    """Ruling tombstone-silence: a digest could confirm a guess."""
    records = {parse(f"{DAY}{number}"): make_record(("a",)) for number in (1, 2)}
    why = Tombstone(reason="a court said so", at=AT, by="anna")
    gone = parse(f"{DAY}2")
    records[gone] = replace(records[gone], tombstone=why)
    assert [others for _, others in list_once(records, DAY)] == [(), ()]


@pytest.mark.parametrize("pattern", [DAY, f"{DAY}*.*.*"])
def test_a_thing_with_very_many_names_is_not_one_thing(pattern: str) -> None:
    """Every empty document has the same digest."""
    count = MOST_NAMES + 1
    records = {parse(f"{DAY}{number}"): make_record(("a",)) for number in range(1, count + 1)}
    shown = list_once(records, pattern)
    assert len(shown) == count
    assert not any(others for _, others in shown)


def test_pages_show_each_thing_once(desk: Desk) -> None:
    for content in ("a", "b", "a", "c", "b", "a"):
        desk.mint(text(content))
    names, cursor = read_set(f"{TODAY}/"), None
    shown: dict[str, tuple[Identifier, ...]] = {}
    while True:
        page = desk.registry.listings.list_page(names, cursor=cursor, limit=2, once=True)
        assert len(page.records) == len(page.identifiers) <= 2
        shown |= {str(one): page.also.get(str(one), ()) for one in page.identifiers}
        cursor = page.cursor
        if cursor is None:
            break
    numbers = {
        name.rpartition("/")[2]: [str(one).rpartition("/")[2] for one in others]
        for name, others in shown.items()
    }
    assert numbers == {"1": ["3", "6"], "2": ["5"], "4": []}
