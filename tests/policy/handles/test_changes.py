"""Writing the values of a handle: what is kept, what is replaced, and what is never lost."""

from __future__ import annotations

import msgspec
import pytest

from perdure.errors import Conflict, InvalidRequest
from perdure.ids import parse
from perdure.model.commands import Outcome
from perdure.model.records import Location, Record, Tombstone, Value, Version
from perdure.policy.handles import changes, values

HANDLE = parse("hdl:21.T14999/x")
AT, LATER, BY = "2026-11-21T01:02:03Z", "2026-11-22T01:02:03Z", "ann"
PLACE, OTHER = "https://a.example/", "https://b.example/"
URL = Value(index=1, type="URL", data=PLACE)
NOTE = Value(index=2, type="DESC", data="a note")
SECRET = Value(index=300, type="HS_SECKEY", data="s3cret")


def assign(record: Record, *values: Value, at: str = AT) -> tuple[Record, Outcome]:
    return changes.assign_values(HANDLE, record, values, at, BY)


def test_some_values_are_put_among_the_others_or_in_their_place() -> None:
    new = msgspec.structs.replace(NOTE, data="another note")
    assert changes.put_values((URL, NOTE), (new,), whole=False) == (URL, new)
    assert changes.put_values((URL, NOTE), (new,), whole=True) == (new,)
    assert changes.put_values((NOTE,), (URL,), whole=False) == (URL, NOTE)


@pytest.mark.parametrize("whole", [False, True])
def test_a_secret_that_comes_back_empty_stays_what_it_is(whole: bool) -> None:
    shown = msgspec.structs.replace(SECRET, data="")
    assert changes.put_values((SECRET,), (shown,), whole=whole) == (SECRET,)
    assert changes.put_values((), (shown,), whole=whole) == ()
    no_secret = msgspec.structs.replace(NOTE, index=300)
    kept = () if whole else (no_secret,)
    assert changes.put_values((no_secret,), (shown,), whole=whole) == kept
    assert changes.put_values(
        (SECRET,), (msgspec.structs.replace(SECRET, data="new"),), whole=whole
    ) == (msgspec.structs.replace(SECRET, data="new"),)


def test_values_are_removed_by_index() -> None:
    assert changes.remove_values((URL, NOTE, SECRET), frozenset((2, 7))) == (URL, SECRET)


def test_the_same_values_again_change_nothing() -> None:
    record, outcome = assign(Record(at=AT), URL, NOTE)
    assert outcome is Outcome.CHANGED
    assert [one.uri for one in record.locations] == [PLACE]
    assert assign(record, URL, NOTE, at=LATER) == (record, Outcome.UNCHANGED)


def test_only_what_changed_has_a_new_time() -> None:
    record, _ = assign(Record(at=AT), URL, NOTE)
    record, outcome = assign(record, URL, msgspec.structs.replace(NOTE, data="new"), at=LATER)
    assert outcome is Outcome.CHANGED
    assert [(one.index, one.at) for one in record.values] == [(1, AT), (2, LATER)]


def test_what_a_list_of_places_says_of_a_place_counts() -> None:
    listed = f'<locations><location href="{PLACE}" country="de" weight="3"/></locations>'
    places = Value(index=4, type="10320/loc", data=listed)
    record, _ = assign(Record(at=AT), URL, places)
    assert [(one.uri, one.weight, one.region) for one in record.locations] == [(PLACE, 3, "de")]
    heavier = msgspec.structs.replace(places, data=listed.replace('"3"', '"5"'))
    record, _ = assign(record, URL, heavier)
    assert [one.weight for one in record.locations] == [5]


def test_a_handle_that_was_withdrawn_is_not_written() -> None:
    with pytest.raises(Conflict):
        assign(Record(tombstone=Tombstone(reason="it was", at=AT, by=BY)), URL)


@pytest.mark.parametrize(
    "bad",
    [
        Value(index=1, type="TEMPLATE", data="@ no target"),
        Value(index=1, type="HS_NAMESPACE", data="<namespace"),
    ],
    ids=lambda one: one.type,
)
def test_values_that_could_not_be_carried_out_are_refused(bad: Value) -> None:
    with pytest.raises(InvalidRequest):
        assign(Record(), bad)


def test_a_value_that_is_not_public_is_no_location() -> None:
    """RFC 3651 section 3.1: only "PUBLIC_READ" lets everyone read a value."""
    hidden = msgspec.structs.replace(URL, permissions="1100")
    listed = f'<locations><location href="{OTHER}"/></locations>'
    places = Value(index=4, type="10320/loc", data=listed, permissions="1100")
    record, _ = assign(Record(at=AT), hidden, places)
    assert record.locations == ()
    assert [one.index for one in record.values] == [1, 4]
    assert changes.join_values(HANDLE, Record(at=AT), (hidden, places)).locations == ()


def test_a_location_that_becomes_private_is_named_by_no_reason() -> None:
    record, _ = assign(Record(at=AT), URL)
    hidden = msgspec.structs.replace(URL, permissions="1100")
    record, _ = assign(record, hidden, at=LATER)
    assert record.locations == ()
    assert record.broken is None
    older = Record(at=AT, locations=(Location(uri=PLACE),), values=(hidden,))
    record, _ = assign(older, NOTE, at=LATER)
    assert (record.locations, record.broken) == ((), None)


@pytest.mark.parametrize(
    ("data", "address"),
    [
        ("https://a.example/\u00e9", "https://a.example/%C3%A9"),  # RFC 3987 section 3.1
        ("https://a.example/a b", "https://a.example/a%20b"),
        ("https://b\u00fccher.example/", "https://xn--bcher-kva.example/"),  # RFC 3490
        ("www.a.example", None),
        ("mailto:a@b.example", None),
        ("javascript:alert(1)", None),
        ("http://a/\r\nX: y", None),
        ("", None),
        ("no address", None),
        ("https://[::1/", None),  # no IP literal
        ("https://a.example:65536/", None),  # no port
        ("https:///a", None),
        ("https://a.example:/", "https://a.example:/"),  # RFC 3986 section 3.2.3: may be empty
    ],
)
def test_an_address_is_kept_as_it_came_and_located_as_it_can_be(
    data: str, address: str | None
) -> None:
    odd = Value(index=1, type="URL", data=data)
    record, _ = assign(Record(at=AT), odd, NOTE)
    assert [one.uri for one in record.locations] == ([address] if address else [])
    assert [one.data for one in values.list_values(record)] == [data, NOTE.data]
    joined = changes.join_values(HANDLE, Record(at=AT), (odd, NOTE))
    assert joined.locations == record.locations
    assert [one.data for one in values.list_values(joined)] == [data, NOTE.data]


def test_values_of_two_records_are_joined_with_their_places() -> None:
    record, _ = assign(Record(at=AT), URL)
    more = (Value(index=7, type="URL", data=OTHER), URL)
    joined = changes.join_values(HANDLE, record, more)
    assert [one.index for one in joined.values] == [1, 7]
    assert [one.uri for one in joined.locations] == [PLACE, OTHER]
    assert changes.join_values(HANDLE, record, (NOTE,)).locations == record.locations


@pytest.mark.parametrize("field", ["type", "format", "data"])
def test_one_index_has_one_value(field: str) -> None:
    record, _ = assign(Record(at=AT), NOTE)
    other = msgspec.structs.replace(NOTE, **{field: "OTHER"})
    with pytest.raises(Conflict):
        changes.join_values(HANDLE, record, (other,))


# Deleting
# --------


def test_a_prefix_is_mutable_in_any_case_of_its_letters() -> None:
    assert changes.is_mutable("21.T14999", ("21.t14999",))
    assert not changes.is_mutable("21.T1499", ("21.t14999",))
    assert changes.refuse_deletion(HANDLE).identifier == str(HANDLE)


def test_a_handle_that_was_deleted_may_be_made_anew() -> None:
    record, _ = assign(Record(at=AT), URL, NOTE)
    deleted = changes.delete_handle(HANDLE, record, LATER, BY)
    assert (deleted.values, deleted.locations) == ((), ())
    assert deleted.tombstone == Tombstone(reason=changes.DELETED, at=LATER, by=BY)
    assert changes.is_deleted(deleted)
    assert changes.revive_handle(deleted).tombstone is None
    assert not changes.is_deleted(record)
    withdrawn = msgspec.structs.replace(
        record, tombstone=Tombstone(reason="a court said so", at=AT, by=BY)
    )
    assert not changes.is_deleted(withdrawn)


def test_a_handle_with_bytes_is_never_deleted() -> None:
    with pytest.raises(Conflict):
        changes.delete_handle(HANDLE, Record(versions=(Version(number=1, at=AT),)), LATER, BY)
