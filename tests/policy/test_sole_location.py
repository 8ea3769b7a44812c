"""The only location of a record, found without a decision, is the one that is decided."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import SERIES

from perdure.ids import parse
from perdure.ids.pdi_plain import read_plain_key
from perdure.model import stored
from perdure.model.queries import Query, Redirect
from perdure.model.records import Location, Record, Representation, Tombstone, Value, Version
from perdure.policy.decide import decide_step
from perdure.policy.handles.choosing import negotiates_elsewhere
from perdure.policy.handles.values import find_alias
from perdure.policy.showing import show_to_readers
from perdure.policy.sole_location import SoleLocation, find_sole_location

formats = st.sampled_from([None, "text", "html", "png"])
numbers = st.sampled_from([None, 1, 2])
locations = st.builds(
    Location,
    uri=st.sampled_from(["https://a.example/", "https://b.example/"]),
    version=numbers,
    format=formats,
    weight=st.integers(0, 2),
    valid_from=st.sampled_from([None, "1994-05-02"]),
    valid_until=st.sampled_from([None, "1994-05-01"]),
)
held = st.builds(
    Representation,
    format=st.sampled_from(["text", "html"]),
    media_type=st.just("text/plain"),
    length=st.just(1),
    sha512=st.just("ab"),
    segment=st.just(1),
    offset=st.just(0),
)
tombstones = st.none() | st.just(Tombstone(reason="r", at="2026-11-21T00:00:00Z", by="b"))
versions = st.builds(
    Version,
    number=st.sampled_from([1, 2]),
    at=st.just("2026-11-21T00:00:00Z"),
    representations=st.lists(held, max_size=2).map(tuple),
    tombstone=tombstones,
)
values = st.builds(
    Value,
    index=st.integers(1, 9),
    type=st.sampled_from(["URL", "url", "HS_ALIAS", "10320/loc", "HS_ADMIN", "HS_SECKEY"]),
    format=st.sampled_from(["string", "admin"]),
    data=st.sampled_from(
        [
            *("https://a.example/", " https://a.example/", "hdl:1/x", "<locations/>", "www.a.b"),
            '<locations><location href="https://a.example/" weight="1"/></locations>',
            '<locations><location http_role="conneg" href="https://b.example/"/></locations>',
        ]
    ),
    ttl=st.sampled_from([86400, 60]),
    permissions=st.sampled_from(["1110", "1100"]),
)
records = st.builds(
    Record,
    minted=st.sampled_from(["", "text"]),
    versions=st.lists(versions, max_size=2, unique_by=lambda one: one.number).map(tuple),
    locations=st.lists(locations, max_size=2).map(tuple),
    values=st.lists(values, max_size=2).map(tuple),
    metadata=st.sampled_from([{}, {"title": "A"}]),
    tombstone=tombstones,
)
names = st.sampled_from(
    [
        f"pdi://{SERIES}/1997/09/01/1{rest}"
        for rest in ("", ".text", ".html", ".text.1", ".html.2", ".png.3")
    ]
)
days = st.sampled_from(["", "1994-05-01", "1994-05-02"])


@given(names, records, days)
def test_the_short_way_decides_as_decide_does(name: str, record: Record, day: str) -> None:
    """ "the result is what `decide_step` decides for readers, or None" """
    found = _short_way(name, record, day)
    if found is None:
        return
    shown = show_to_readers(record)
    assert find_alias(shown) is None
    assert not negotiates_elsewhere(shown.values)
    step = decide_step(Query(identifier=parse(name), day=day), shown)
    assert isinstance(step, Redirect)
    assert (step.location.uri, step.ttl, step.others) == (*found, ())


@given(names, locations)
def test_the_short_way_is_the_common_one(name: str, location: Location) -> None:
    """One location that holds for everything is all that most records have."""
    anywhere = Location(uri=location.uri)
    assert _short_way(name, Record(locations=(anywhere,))) == (anywhere.uri, None)
    handle = Value(index=1, type="URL", data=anywhere.uri, ttl=60)
    admin = Value(index=100, type="HS_ADMIN", format="admin", data="{}")
    record = Record(locations=(anywhere,), values=(handle, admin), metadata={"title": "A"})
    assert _short_way(name, record) == (anywhere.uri, 60)


def _short_way(name: str, record: Record, day: str = "") -> SoleLocation | None:
    plain = read_plain_key(name)
    assert plain is not None
    key, format, version = plain
    assert key == parse(name).key
    return find_sole_location(stored.encode_stored(record).decode(), version, format, day)


HERE = "https://a.example/"
NAME = f"pdi://{SERIES}/1997/09/01/1.text.1"
STATED = Value(index=1, type="URL", data=HERE, ttl=60)


@pytest.mark.parametrize("author", ["local", "press"])  # stored as one line, and as JSON
@pytest.mark.parametrize(
    ("location", "found"),
    [
        (Location(uri=HERE), True),
        (Location(uri=HERE, version=1, format="text"), True),
        (Location(uri=HERE, version=2), False),
        (Location(uri=HERE, format="html"), False),
        (Location(uri=HERE, valid_from="1994-05-01", valid_until="1994-05-03"), True),
        (Location(uri=HERE, valid_until="1994-05-01"), False),
    ],
)
def test_a_location_that_may_be_of_something_else(
    location: Location, author: str, *, found: bool
) -> None:
    record = Record(at="1994-05-01T00:00:00Z", by=author, locations=(location,))
    assert _short_way(NAME, record, "1994-05-02") == ((HERE, None) if found else None)


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ((), (HERE, None)),
        ((STATED,), (HERE, 60)),
        ((Value(index=2, type="EMAIL", data="a@b.example"),), (HERE, None)),
        ((Value(index=1, type="URL", data="https://b.example/"),), None),
        ((Value(index=1, type="URL", data=HERE, permissions="1100"),), None),
        ((Value(index=1, type="hs_alias", data="hdl:1/x"),), None),
        ((STATED, Value(index=2, type="URL", data=HERE)), None),
    ],
)
def test_values_that_may_change_the_choice(
    values: tuple[Value, ...], found: SoleLocation | None
) -> None:
    record = Record(locations=(Location(uri=HERE),), values=values, metadata={"title": "A"})
    assert _short_way(NAME, record) == found


def test_records_that_lead_elsewhere_or_nowhere() -> None:
    document = Representation(
        format="text", media_type="text/plain", length=1, sha512="ab", segment=1, offset=0
    )
    at = "1994-05-01T00:00:00Z"
    version = Version(number=1, at=at, representations=(document,))
    here = Location(uri=HERE)
    for record in (
        Record(at=at, versions=(version,)),
        Record(at=at, versions=(version,), locations=(here,)),
        Record(at=at, locations=(here, Location(uri="https://b.example/"))),
        Record(at=at, locations=(here,), tombstone=Tombstone(reason="r", at=at, by="b")),
        Record(at=at),
    ):
        assert _short_way(NAME, record) is None
