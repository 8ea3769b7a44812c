"""The candidates of a record in a reader's order are the locations that are decided for him."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import SERIES
from tests.policy.test_sole_location import days, names, values, versions

from perdure.errors import PerdureError
from perdure.ids import parse
from perdure.ids.pdi_plain import read_plain_key
from perdure.model.queries import Preference, Query, Redirect
from perdure.model.records import Location, Record, Tombstone, Value, Version
from perdure.policy.decide import decide_step
from perdure.policy.handles.choosing import negotiates_elsewhere
from perdure.policy.handles.values import find_alias
from perdure.policy.ordering import ReaderWishes, find_pattern
from perdure.policy.several_locations import Candidates, find_candidates, list_candidates
from perdure.policy.showing import show_to_readers

HERE, THERE = "https://a.example/", "https://b.example/"
NAME = f"pdi://{SERIES}/1997/09/01/1"
preferences = st.lists(
    st.builds(
        Preference,
        range=st.sampled_from(["text/html", "application/pdf", "*/*", "en", "en-GB", "fr", "*"]),
        quality=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    ),
    max_size=3,
).map(tuple)
wishes = st.builds(
    ReaderWishes, preferences, preferences, st.sampled_from([None, "eu", "EU-de", "us", "cn"])
)
locations = st.builds(
    Location,
    uri=st.sampled_from([HERE, THERE, "https://c.example/"]),
    version=st.sampled_from([None, None, None, 1]),
    format=st.sampled_from([None, None, "html", "pdf"]),
    language=st.sampled_from([None, "en", "fr"]),
    region=st.sampled_from([None, "eu", "us"]),
    weight=st.integers(0, 2),
    valid_from=st.sampled_from([None, None, "1994-05-02"]),
    valid_until=st.sampled_from([None, None, "1994-05-01"]),
)
records = st.builds(
    Record,
    versions=st.just(()) | st.lists(versions, max_size=1).map(tuple),
    locations=st.lists(locations, min_size=1, max_size=4).map(tuple),
    values=st.just(()) | st.lists(values, max_size=3).map(tuple),
    tombstone=st.sampled_from([None, None, None, Tombstone(reason="r", at="", by="b")]),
)
lost = st.frozensets(st.sampled_from([HERE, THERE]))


@given(names, records, days, wishes, lost)
def test_the_order_of_the_candidates_is_the_decision(
    name: str, record: Record, day: str, asked: ReaderWishes, dead: frozenset[str]
) -> None:
    """ "the candidates in the reader's order are those that `decide_step` decides" """
    try:
        found = _find(name, record, day)
    except PerdureError:  # a value cannot be read
        return
    if found is None:
        return
    shown = show_to_readers(record)
    assert find_alias(shown) is None
    assert not negotiates_elsewhere(shown.values)
    assert _order(found, asked, dead) == _decide(name, record, day, asked, dead)


@given(names, records, days, wishes, lost)
def test_a_reader_without_wishes_has_the_candidates_of_all(
    name: str, record: Record, day: str, asked: ReaderWishes, dead: frozenset[str]
) -> None:
    """Whatever has to be decided, it is decided once: only the order differs between readers."""
    try:
        shown = show_to_readers(record)
        negotiates = negotiates_elsewhere(shown.values)
        step = decide_step(Query(identifier=parse(name), day=day, dead=dead), shown)
    except PerdureError:
        return
    if isinstance(step, Redirect) and not negotiates:
        found = list_candidates(step, shown.values)
        assert _order(found, asked, dead) == _decide(name, record, day, asked, dead)


def _find(name: str, record: Record, day: str = "") -> Candidates | None:
    plain = read_plain_key(name)
    assert plain is not None
    return find_candidates(record, plain[1], day)


def _order(
    found: Candidates, asked: ReaderWishes, dead: frozenset[str]
) -> tuple[list[Location], int | None]:
    order = find_pattern(found.locations, dead).find_order(asked)
    ordered = [found.locations[index] for index in order]
    return ordered, found.ttls.get(ordered[0].uri)


def _decide(
    name: str, record: Record, day: str, asked: ReaderWishes, dead: frozenset[str]
) -> tuple[list[Location], int | None]:
    accept, languages, region = asked
    query = Query(
        identifier=parse(name),
        accept=accept,
        languages=languages,
        region=region,
        day=day,
        dead=dead,
    )
    step = decide_step(query, show_to_readers(record))
    assert isinstance(step, Redirect)
    return [step.location, *step.others], step.ttl


A, B = Location(uri=HERE, language="en"), Location(uri=THERE, language="fr", weight=2)
LIMITED = Location(uri="https://c.example/", valid_until="1994-05-01")
STATED = Value(index=1, type="URL", data=HERE, ttl=60)
LISTED = Value(
    index=2,
    type="10320/loc",
    data=f'<locations chooseby="weighted"><location href="{THERE}" country="fr"/></locations>',
    ttl=30,
)
CONNEG = '<locations><location href="https://b.example/" http_role="conneg"/></locations>'


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (Record(locations=(A, B)), ((A, B), {})),
        (Record(locations=(A, B, LIMITED)), ((A, B), {})),
        (Record(locations=(A, LIMITED)), ((A,), {})),
        (Record(locations=(A, B), values=(STATED,)), ((A, B), {HERE: 60})),
        (
            Record(locations=(A, B), values=(STATED, Value(index=3, type="URL", data=f" {HERE}"))),
            ((A, B), {HERE: 60}),
        ),
        (Record(locations=(A, Location(uri=THERE, region="fr")), values=(LISTED,)), None),
    ],
)
def test_records_whose_locations_are_candidates(
    record: Record, expected: tuple[tuple[Location, ...], dict[str, int]] | None
) -> None:
    found = _find(NAME, record, "1994-05-02")
    if expected is None:  # the method that is not listed gets no region to choose from
        expected = (A, Location(uri=THERE)), {THERE: 30}
    assert found == Candidates(*expected)


@pytest.mark.parametrize(
    "record",
    [
        Record(locations=(A,)),
        Record(locations=(LIMITED, LIMITED)),
        Record(locations=(A, Location(uri=THERE, version=1))),
        Record(locations=(A, B), versions=(Version(number=1, at=""),)),
        Record(locations=(A, B), tombstone=Tombstone(reason="r", at="", by="b")),
        Record(locations=(A, B), values=(Value(index=1, type="HS_ALIAS", data="1/x"),)),
        Record(locations=(A, B), values=(Value(index=1, type="10320/loc", data=CONNEG),)),
        Record(
            locations=(A, B),
            values=(Value(index=1, type="URL", data=HERE, permissions="1100"),),
        ),
    ],
)
def test_records_for_which_more_is_decided(record: Record) -> None:
    assert _find(NAME, record, "1994-05-02") is None


def test_a_format_of_the_name_that_a_location_may_not_have() -> None:
    page = Location(uri=HERE, format="html")
    record = Record(locations=(page, B))
    assert _find(f"{NAME}.html", record) == Candidates((page, B), {})
    assert _find(f"{NAME}.text", record) is None


def test_the_candidates_of_a_decision() -> None:
    step = Redirect(identifier=parse(NAME), location=A, others=(B,))
    assert list_candidates(step, ()) == Candidates((A, B), {})
    assert list_candidates(step, (STATED,)) == Candidates((A, B), {HERE: 60})
