"""The stored form of records: nothing is lost in it, and what was written before is still read."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from perdure import stored
from perdure.model import Location, Record, Representation, Tombstone, Version

_AT = "2026-11-21T05:13:46Z"
_texts = st.text(max_size=12) | st.sampled_from(["", "-", "1", "{", "a b", "html", "utf-8"])
_locations = st.builds(
    Location,
    uri=_texts | st.just("https://a.example/1 2"),
    version=st.none() | st.integers(0, 10**18),
    format=st.none() | _texts,
    sha512=st.none() | st.just("ab"),
    region=st.none() | _texts,
    weight=st.integers(0, 2),
)
_held = Representation(
    format="text", media_type="text/plain", length=1, sha512="ab", segment=1, offset=9
)
_records = st.builds(
    Record,
    name=st.sampled_from(["", "hdl:1/X"]),
    revision=st.integers(1, 3),
    at=st.just(_AT) | _texts,
    by=st.sampled_from(["local", "somebody"]),
    minted=st.sampled_from(["", "text"]),
    versions=st.sampled_from([(), (Version(number=1, at=_AT, representations=(_held,)),)]),
    locations=st.lists(_locations, max_size=2).map(tuple),
    aliases=st.sampled_from([(), ("hdl:1/y",)]),
    metadata=st.sampled_from([{}, {"title": "T"}]),
    tombstone=st.none() | st.builds(Tombstone, reason=_texts, at=_texts, by=_texts),
)


@given(_records)
def test_nothing_is_lost(record: Record) -> None:
    assert stored.decode(stored.encode(record).decode()) == record


@given(_records)
def test_json_is_read(record: Record) -> None:
    """All records were JSON once, and any may be so again."""
    assert stored.decode(msgspec.json.encode(record).decode()) == record


def test_one_location_is_one_line() -> None:
    location = Location(uri="https://a.example/b c", version=2, format="html")
    record = Record(at=_AT, locations=(location,))
    assert stored.encode(record) == b"2026-11-21T05:13:46Z 2 html https://a.example/b c"
    assert stored.only("2026-11-21T05:13:46Z 2 html https://a.example/b c") == (_AT, location)
