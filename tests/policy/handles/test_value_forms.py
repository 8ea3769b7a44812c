"""Handle values as clients send them, as they are kept, and as they are shown."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidRequest, TooLarge
from perdure.model.records import Location, Record, Value
from perdure.policy.handles import sealing, values

AT = "2026-11-21T01:02:03Z"
URL = {"index": 1, "type": "URL", "data": "https://a.example/"}


def sent(*ones: object) -> bytes:
    return json.dumps(list(ones)).encode()


def test_values_come_as_a_list_or_in_an_object() -> None:
    expected = (Value(index=1, type="URL", data="https://a.example/"),)
    assert values.read_values(sent(URL)) == expected
    assert values.read_values(b" " + sent(URL)) == expected
    assert values.read_values(json.dumps({"values": [URL]}).encode()) == expected


def test_values_are_sorted_by_index_which_may_be_text() -> None:
    found = values.read_values(sent(URL | {"index": "12"}, URL | {"index": 3}))
    assert [one.index for one in found] == [3, 12]


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        ("plain", ("string", "plain")),
        ({"format": "string", "value": "plain"}, ("string", "plain")),
        ({"format": "base64", "value": "AAAA"}, ("base64", "AAAA")),
        (
            {"format": "admin", "value": {"index": 3, "handle": "1/a"}},
            ("admin", '{"index":3,"handle":"1/a"}'),
        ),
    ],
)
def test_data_is_text_or_has_a_format(data: object, kept: tuple[str, str]) -> None:
    (one,) = values.read_values(sent(URL | {"type": "X", "data": data}))
    assert (one.format, one.data) == kept


def nested(depth: int) -> Any:
    return [] if depth == 0 else [nested(depth - 1)]


@pytest.mark.parametrize(
    "one",
    [
        7,
        URL | {"index": 0},
        URL | {"index": "one"},
        URL | {"index": values.COMPUTED},
        URL | {"type": ""},
        URL | {"type": "a b"},
        URL | {"type": "x" * 256},
        URL | {"ttl": -1},
        URL | {"ttl": 2**31},
        URL | {"ttl": "soon"},
        URL | {"permissions": "111"},
        URL | {"permissions": "1112"},
        URL | {"data": 7},
        URL | {"data": {"format": "X Y", "value": ""}},
        URL | {"data": {"format": "string", "value": 7}},
        URL | {"data": {"format": "admin", "value": nested(100)}},
        URL | {"data": {"format": sealing.FORMAT, "value": "x"}},
        {"index": 300, "type": "HS_SECKEY", "data": ""},
        {"index": 300, "type": "HS_SECKEY", "data": {"format": "admin", "value": {}}},
    ],
    ids=lambda one: str(one)[:70],
)
def test_what_is_no_value(one: object) -> None:
    with pytest.raises(InvalidRequest):
        values.read_values(sent(one))


@pytest.mark.parametrize("ttl", [0, 1, 2**31 - 1])
def test_a_value_is_cached_for_seconds_in_31_bits_or_not_at_all(ttl: int) -> None:
    """A TTL has four octets on the wire (RFC 3651 section 3.1), and is not negative."""
    (found,) = values.read_values(sent(URL | {"ttl": ttl}))
    assert found.ttl == ttl


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"7", b"[" * 10_000])
def test_what_is_no_json_with_values(body: bytes) -> None:
    with pytest.raises(InvalidRequest):
        values.read_values(body)


@pytest.mark.parametrize(
    "body",
    [
        sent({"index": 300, "type": "HS_SECKEY", "data": "x"}),
        sent({"index": 300, "type": "hs_SecKey", "data": "x"}),
        rb'{"index":300,"type":"HS_SE\u0043KEY","data":"x"}',
        sent(URL | {"data": "x" * values.LARGEST}),
    ],
    ids=("a secret", "in any case", "escaped", "long"),
)
def test_what_takes_long_to_read(body: bytes) -> None:
    assert not values.is_quickly_read(body)
    assert values.is_quickly_read(sent(URL, URL | {"type": "10320/loc", "data": '<a b="c">'}))


def test_an_index_has_one_value_and_a_handle_not_too_many() -> None:
    with pytest.raises(InvalidRequest):
        values.read_values(sent(URL, URL))
    many = [URL | {"index": number} for number in range(1, values.MOST_VALUES + 2)]
    with pytest.raises(TooLarge):
        values.read_values(sent(*many))
    with pytest.raises(TooLarge):
        values.read_values(sent(URL | {"type": "X", "data": "x" * (values.LARGEST + 1)}))
    secrets = [
        {"index": number, "type": "HS_SECKEY", "data": "x"}
        for number in range(1, values.MOST_SECRETS + 2)
    ]
    with pytest.raises(TooLarge):
        values.read_values(sent(*secrets))


def test_a_secret_is_sealed_and_never_shown() -> None:
    (one,) = values.read_values(sent({"index": 300, "type": "hs_seckey", "data": "s3cret"}))
    assert one.format == sealing.FORMAT
    assert "s3cret" not in one.data
    assert values.is_secret(one)
    assert not values.is_shown(one, to_admin=False)
    (shown,) = values.write_values([one], to_admin=True)
    assert shown.data == values.ShownData(sealing.FORMAT, "")
    back = {"format": sealing.FORMAT, "value": ""}
    (again,) = values.read_values(sent({"index": 300, "type": "HS_SECKEY", "data": back}))
    assert again.data == ""


def test_a_secret_is_sealed_each_time() -> None:
    """What is remembered of values is never a secret."""
    body = json.dumps({"values": [{"index": 300, "type": "HS_SECKEY", "data": "s3cret"}]}).encode()
    (one,), (other,) = values.read_values(body), values.read_values(body)
    assert one.data != other.data  # each has a salt of its own
    assert sealing.matches_secret("s3cret", other.data)


indexes = st.one_of(st.integers(-1, 3), st.sampled_from(["1", "2", "x", ""]))
datas = st.one_of(
    st.sampled_from(["https://a.example/", "é", 7, None]),
    st.fixed_dictionaries(
        {
            "format": st.sampled_from(["string", "admin", "base64", "Bad", 3]),
            "value": st.sampled_from(["text", "\u2028", {"index": 3, "a": [1.0, {}]}, [], 0]),
        }
    ),
)
members = st.fixed_dictionaries(
    {"index": indexes, "type": st.sampled_from(["URL", "X", "HS_VLIST", "ſ", ""]), "data": datas},
    optional={
        "ttl": st.sampled_from([0, 1, "1", -1, 86400, True, 1 << 40]),
        "permissions": st.sampled_from(["1110", "0000", "111", 1]),
        "timestamp": st.just("2026-11-21T01:02:03Z"),
        "other": st.just([{}]),
    },
)


def read_or_refuse(body: bytes) -> object:
    try:
        return values.read_values(body)
    except (InvalidRequest, TooLarge) as error:
        return type(error)


@given(found=st.lists(members, max_size=3), spaced=st.booleans())
def test_the_object_and_the_list_mean_the_same(found: list[object], *, spaced: bool) -> None:
    """docs/reference/handle-api.md: "The body is `{"values": …}`, the list alone, or one …"."""
    whole = json.dumps({"values": found}, indent=2 if spaced else None, ensure_ascii=False)
    for _ in range(2):  # the second time, some are remembered
        assert read_or_refuse(whole.encode()) == read_or_refuse(sent(*found))


@pytest.mark.parametrize(
    ("permissions", "to_all", "to_admin"),
    [("1110", True, True), ("1100", False, True), ("0010", True, False), ("0000", False, False)],
)
def test_who_reads_a_value(permissions: str, *, to_all: bool, to_admin: bool) -> None:
    """RFC 3651 section 3.1."""
    one = Value(index=1, type="X", data="y", permissions=permissions, at=AT)
    assert values.is_shown(one, to_admin=False) is to_all
    assert values.is_shown(one, to_admin=True) is to_admin
    for shown in values.write_values([one], to_admin=True):
        assert shown.permissions == permissions
        assert (shown.index, shown.ttl, shown.timestamp) == (1, 86400, AT)


def test_data_that_is_no_text_is_shown_as_it_came() -> None:
    admin = {"format": "admin", "value": {"index": 3}}
    found = values.read_values(sent(URL | {"type": "HS_ADMIN", "data": admin}))
    (shown,) = values.write_values(found, to_admin=False)
    assert shown.data == values.ShownData("admin", msgspec.Raw(b'{"index":3}'))


# from a file of an operator
# --------------------------


def test_values_of_a_file_are_kept_with_their_time() -> None:
    old, new = (Value(index=at, type="X", data="y", at=time) for at, time in ((2, AT), (1, "")))
    later = "2026-11-22T00:00:00Z"
    assert [(one.index, one.at) for one in values.prepare_values((old, new), later)] == [
        (1, later),
        (2, AT),
    ]


def test_a_secret_of_a_file_is_sealed_once() -> None:
    plain = Value(index=300, type="HS_SECKEY", data="s3cret")
    (one,) = values.prepare_values((plain,), AT)
    assert one.format == sealing.FORMAT
    assert values.prepare_values((one,), AT) == (one,)


@pytest.mark.parametrize(
    "one",
    [
        Value(index=-1, type="X", data="y"),
        Value(index=1 << 32, type="X", data="y"),
        Value(index=1, type="", data="y"),
        Value(index=1, type="X", data="y", format="A B"),
        Value(index=1, type="X", data="{", format="admin"),
        Value(index=1, type="X", data="[" * 100_000, format="admin"),
        Value(index=300, type="HS_SECKEY", data=""),
    ],
    ids=lambda one: str(one)[:60],
)
def test_a_file_has_no_worse_values_than_a_client(one: Value) -> None:
    with pytest.raises(InvalidRequest):
        values.prepare_values((one,), AT)


# from a record
# -------------


def test_only_places_where_the_thing_still_lies_are_values() -> None:
    place, gone, bound = (f"https://{name}.example/" for name in "abc")
    listed = f'<locations><location href="{place}"/><location href="{gone}"/></locations>'
    record = Record(
        at=AT,
        locations=(Location(uri=place), Location(uri=bound)),
        values=(
            Value(index=1, type="URL", data=place),
            Value(index=2, type="URL", data=gone),
            Value(index=3, type="10320/loc", data=listed),
        ),
    )
    found = {one.index: one for one in values.list_values(record)}
    assert sorted(found) == [1, 2, 3]
    assert found[1].data == place
    assert (found[2].data, found[2].at) == (bound, AT)  # the free index, for what was bound since
    assert gone not in found[3].data
    assert place in found[3].data
