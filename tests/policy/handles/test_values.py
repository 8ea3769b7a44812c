"""Handle values: from JSON and back, from a record and back. Laws quote the specification."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.errors import Conflict, InvalidRequest, TooLarge
from perdure.ids import parse
from perdure.model.commands import Outcome
from perdure.model.records import Location, Record, Value
from perdure.policy.handles import changes, values
from perdure.policy.handles.names import read_handle
from perdure.policy.handles.values import is_shown, list_values, read_values, write_values

HANDLE = parse("hdl:21.T14999/x")
AT, LATER = "2026-11-21T01:02:03Z", "2026-11-22T01:02:03Z"
BY = "ann"
INDEXES = st.integers(1, values.COMPUTED - 1)
HOSTS = st.sampled_from([f"http://{name}.example/" for name in "abcdef"])
TEXTS = st.text(max_size=20)


@st.composite
def some_values(draw: st.DrawFn) -> tuple[Value, ...]:
    """Values with different indexes, some of them locations."""
    indexes = draw(st.lists(INDEXES, unique=True, max_size=6))
    found = []
    for index in sorted(indexes):
        url = draw(st.booleans())
        kind = "URL" if url else draw(st.sampled_from(("DESC", "EMAIL", "X.Y")))
        found.append(Value(index=index, type=kind, data=draw(HOSTS if url else TEXTS)))
    return tuple(found)


def assigned(new: tuple[Value, ...], record: Record | None = None, at: str = AT) -> Record:
    return changes.assign_values(HANDLE, record or Record(at=AT), new, at, BY)[0]


@settings(deadline=None)
@given(some_values())
def test_what_was_assigned_is_told(new: tuple[Value, ...]) -> None:
    """RFC 3651 section 3.1: "Each handle value … is assigned with a unique index"."""
    told = list_values(assigned(new))
    assert [(one.index, one.type, one.data) for one in told] == [
        (one.index, one.type, one.data) for one in new
    ]
    assert {one.at for one in told} <= {AT}


@settings(deadline=None)
@given(some_values(), st.lists(HOSTS, unique=True))
def test_locations_of_other_ways_have_values_too(new: tuple[Value, ...], more: list[str]) -> None:
    record = assigned(new)
    known = {one.uri for one in record.locations}
    added = tuple(Location(uri=uri) for uri in more if uri not in known)
    told = list_values(msgspec.structs.replace(record, locations=record.locations + added))
    indexes = [one.index for one in told]
    assert indexes == sorted(set(indexes))
    assert {one.data for one in told if one.type == "URL"} == known | set(more)


@settings(deadline=None)
@given(some_values(), some_values())
def test_a_value_that_did_not_change_keeps_its_time(
    first: tuple[Value, ...], second: tuple[Value, ...]
) -> None:
    before = assigned(first)
    after, outcome = changes.assign_values(HANDLE, before, second, LATER, BY)
    same = {(one.index, one.type, one.data) for one in first}
    for one in list_values(after):
        assert one.at == (AT if (one.index, one.type, one.data) in same else LATER)
    unchanged = same == {(one.index, one.type, one.data) for one in second}
    assert (outcome is Outcome.UNCHANGED) == unchanged


@settings(deadline=None)
@given(some_values(), some_values())
def test_a_handle_that_leads_nowhere_any_more_knows_why(
    first: tuple[Value, ...], second: tuple[Value, ...]
) -> None:
    after = assigned(second, assigned(first), LATER)
    led, leads = ({one.uri for one in record.locations} for record in (assigned(first), after))
    assert (after.unbound(None) is None) == (not led or bool(leads))
    assert (after.broken is None) == (not led or bool(leads))  # to move on is not to be broken


@settings(deadline=None)
@given(some_values())
def test_values_written_are_read_again(new: tuple[Value, ...]) -> None:
    body = msgspec.json.encode({"values": write_values(new, to_admin=True)})
    assert read_values(body) == new


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_no_body_but_json_with_values_is_read(body: bytes) -> None:
    try:
        found = read_values(body)
    except (InvalidRequest, TooLarge):
        return
    assert all(0 < one.index < values.COMPUTED for one in found)


@pytest.mark.parametrize(
    ("body", "indexes"),
    [
        ('{"index": 1, "type": "A", "data": "x"}', [1]),
        (
            '[{"index": 1, "type": "A", "data": "x"}, {"index": 2, "type": "A", "data": "y"}]',
            [1, 2],
        ),
        ('{"values": [{"index": 1, "type": "A", "data": "x"}]}', [1]),
        ('{"handle": "21.t14999/A", "values": []}', []),
        ('{"values": null}', []),
        ("{}", None),
        ('{"handle": "21.T14999/a"}', None),
        ('{"index": 1, "type": "A"}', None),
        ('{"handle": "21.T14999/b", "values": []}', None),
        ("null", None),
        ('"values"', None),
    ],
)
def test_bodies_as_handle_net_reads_them(body: str, indexes: list[int] | None) -> None:
    """HandleJsonRestApiServlet (Handle.Net 9): "Invalid JSON in PUT request" unless it is a list,
    has "values", or has "index", "type" and "data"; "Mismatched handle in PUT request"."""
    sent = body.encode()
    if indexes is None:
        with pytest.raises(InvalidRequest):
            read_values(sent, read_handle("21.T14999/a"))
    else:
        assert [one.index for one in read_values(sent, read_handle("21.T14999/a"))] == indexes


def test_secrets_are_sealed_before_anybody_sees_them() -> None:
    body = b'{"values":[{"index":300,"type":"HS_SECKEY","data":"s3cret"}]}'
    (one,) = read_values(body)
    assert one.format == "sealed"
    assert "s3cret" not in one.data
    assert write_values((one,), to_admin=False) == []
    assert b"scrypt" not in msgspec.json.encode(write_values((one,), to_admin=True))


@pytest.mark.parametrize(
    ("permissions", "to_admin", "to_others"),
    [
        ("1110", True, True),
        ("1100", True, False),
        ("0100", False, False),
        ("1000", True, False),
        ("0010", False, True),
        ("0011", False, True),
    ],
)
def test_who_may_read_a_value(permissions: str, to_admin: bool, to_others: bool) -> None:
    """RFC 3651 section 3.1: "PUBLIC_READ", "ADMIN_READ" are the third and the first bit."""
    value = Value(index=1, type="URL", data="https://a.example/", permissions=permissions)
    assert is_shown(value, to_admin=True) is to_admin
    assert is_shown(value, to_admin=False) is to_others


def test_too_many_secrets_take_too_long() -> None:
    many = [{"index": n, "type": "hs_seckey", "data": "x"} for n in range(1, 6)]
    with pytest.raises(TooLarge):
        read_values(msgspec.json.encode({"values": many}))


def test_limits() -> None:
    many = [{"index": n, "type": "A", "data": ""} for n in range(1, values.MOST_VALUES + 2)]
    with pytest.raises(TooLarge):
        read_values(msgspec.json.encode({"values": many}))
    half = "x" * (values.LARGEST // 2 + 1)
    with pytest.raises(TooLarge):
        assigned(tuple(Value(index=n, type="A", data=half) for n in (1, 2)))


def test_a_location_that_was_broken_takes_its_value_along() -> None:
    record = assigned((Value(index=7, type="URL", data="http://a.example/"),))
    assert list_values(msgspec.structs.replace(record, locations=())) == ()


def test_joining_keeps_what_is_there() -> None:
    record = assigned((Value(index=1, type="DESC", data="a"),))
    more = (Value(index=2, type="URL", data="http://a.example/"),)
    both = changes.join_values(HANDLE, record, more)
    assert [one.index for one in list_values(both)] == [1, 2]
    assert [one.uri for one in both.locations] == ["http://a.example/"]
    with pytest.raises(Conflict):
        changes.join_values(HANDLE, record, (Value(index=1, type="DESC", data="b"),))


@pytest.mark.parametrize(("levels", "is_read"), [(31, True), (32, False)])
@pytest.mark.parametrize("opened", [("[", "]"), ('{"a":', "}")])
def test_data_is_nested_so_deep_and_no_deeper(
    levels: int, opened: tuple[str, str], *, is_read: bool
) -> None:
    data = opened[0] * levels + "1" + opened[1] * levels
    value = f'{{"index": 5, "type": "X", "data": {{"format": "x", "value": {data}}}}}'
    body = f"[{value}]".encode()
    if is_read:
        assert [one.index for one in read_values(body)] == [5]
    else:
        with pytest.raises(InvalidRequest, match="32"):
            read_values(body)


# values that are shown as they are stored
# ----------------------------------------

PLACE = "https://a.example/"
XML = '<locations><location href="https://a.example/"/></locations>'
odd_values = st.builds(
    Value,
    index=st.integers(1, 9),
    type=st.sampled_from(["URL", "url", "10320/loc", "EMAIL", "HS_SECKEY"]),
    format=st.sampled_from(["string", "admin"]),
    data=st.sampled_from([PLACE, f" {PLACE}", "https://b.example/", XML, "http://[x", "a b"]),
    permissions=st.sampled_from(["1110", "1100"]),
).filter(lambda one: one.type != "10320/loc" or one.data == XML)
odd_places = st.sampled_from([PLACE, f" {PLACE}", "https://b.example/", "http://[x"])


@given(st.lists(odd_values, max_size=4, unique_by=lambda one: one.index), st.lists(odd_places))
def test_values_that_are_stored_are_those_that_are_shown(
    held: list[Value], places: list[str]
) -> None:
    """The short way for usual records, if it is open, lists what the long way lists."""
    record = Record(values=tuple(held), locations=tuple(Location(uri=one) for one in places))
    stored = values.list_stored_values(record)
    assert stored in (None, values._list_shown(record))
    assert list_values(record) == values._list_shown(record)


URL = Value(index=2, type="URL", data=PLACE)
MAIL = Value(index=1, type="EMAIL", data="a@a.example")


@pytest.mark.parametrize(
    ("held", "places", "stored"),
    [
        ((URL, MAIL), (PLACE,), (MAIL, URL)),
        ((URL,), (), None),
        ((URL,), (PLACE, "https://b.example/"), None),
        ((MAIL,), (PLACE,), None),
        ((URL,), ("https://b.example/",), None),
        ((msgspec.structs.replace(URL, permissions="1100"),), (PLACE,), None),
        ((msgspec.structs.replace(URL, data=f"{PLACE} "),), (f"{PLACE} ",), None),
        ((msgspec.structs.replace(URL, format="admin"),), (PLACE,), None),
        ((msgspec.structs.replace(URL, type="10320/loc", data=XML),), (PLACE,), None),
    ],
)
def test_usual_values(
    held: tuple[Value, ...], places: tuple[str, ...], stored: tuple[Value, ...] | None
) -> None:
    record = Record(values=held, locations=tuple(Location(uri=one) for one in places))
    assert values.list_stored_values(record) == stored
