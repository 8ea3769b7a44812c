"""The values that are kept: what lies on disk today must be readable for as long as identifiers."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.model.records import Location, Record, Representation, Tombstone, Version

KEPT = b"""{
  "revision": 3, "at": "2026-11-21T12:00:00Z", "by": "anna",
  "versions": [
    {"number": 1, "at": "2026-11-20T12:00:00Z", "representations": [
      {"format": "text", "media_type": "text/plain", "charset": "us-ascii", "length": 3,
       "sha512": "ab", "segment": 1, "offset": 400}]},
    {"number": 2, "at": "2026-11-21T12:00:00Z",
     "tombstone": {"reason": "enough", "at": "2026-11-21T12:00:00Z", "by": "anna"}}],
  "locations": [{"uri": "https://a.example/", "version": 2}],
  "aliases": ["hdl:1/2"], "metadata": {"title": "A memo"}, "a field of the future": 1
}"""
"""A record as version 1 of the format writes it. This text is never changed."""


def test_a_record_that_was_kept_is_read() -> None:
    record = msgspec.json.decode(KEPT, type=Record)
    grave = Tombstone(reason="enough", at="2026-11-21T12:00:00Z", by="anna")
    one = record.version(1)
    assert one is not None
    held = one.find_representation("text")
    assert held is not None
    assert (held.segment, held.offset, held.length, held.charset) == (1, 400, 3, "us-ascii")
    assert one.find_representation("html") is None
    assert record.version(2) == Version(number=2, at="2026-11-21T12:00:00Z", tombstone=grave)
    assert record.version(3) is None
    assert record.newest == one
    assert record.locations == (Location(uri="https://a.example/", version=2),)
    assert (record.aliases, record.metadata["title"]) == (("hdl:1/2",), "A memo")


def test_what_has_its_default_takes_no_room() -> None:
    assert msgspec.json.encode(Record()) == b"{}"


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
tombstones = st.builds(Tombstone, reason=words, at=words, by=words)
representations = st.builds(
    Representation,
    format=words,
    media_type=words,
    charset=st.none() | words,
    length=st.integers(0, 2**60),
    sha512=words,
    segment=st.integers(0, 2**40),
    offset=st.integers(0, 2**60),
)
versions = st.builds(
    Version,
    number=st.integers(1, 10**18 - 1),
    at=words,
    representations=st.lists(representations, max_size=2).map(tuple),
    tombstone=st.none() | tombstones,
)
records = st.builds(
    Record,
    name=words,
    revision=st.integers(1, 2**60),
    versions=st.lists(versions, max_size=2).map(tuple),
    locations=st.lists(st.builds(Location, uri=words, sha512=st.none() | words), max_size=2).map(
        tuple
    ),
    aliases=st.lists(words, max_size=2).map(tuple),
    metadata=st.dictionaries(words, words, max_size=2),
    tombstone=st.none() | tombstones,
)


@given(records)
def test_a_record_is_read_as_it_was_written(record: Record) -> None:
    assert msgspec.json.decode(msgspec.json.encode(record), type=Record) == record


@pytest.mark.parametrize(
    "value", [Record(), Version(number=1, at=""), Tombstone(reason="", at="", by="")]
)
def test_values_are_frozen(value: object) -> None:
    name = value.__struct_fields__[0]  # type: ignore[attr-defined]  # of a struct
    with pytest.raises(AttributeError):
        setattr(value, name, "changed")
