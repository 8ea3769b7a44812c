"""The stored form of records: nothing is lost in it, and what was written before is still read."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from perdure.model import stored
from perdure.model.changes import attest_line
from perdure.model.records import Location, Record, Representation, Tombstone, Version

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
_documents = st.builds(
    Representation,
    format=_texts,
    media_type=_texts | st.just("text/html; charset=utf-8"),
    charset=st.none() | _texts,
    language=st.none() | _texts,
    length=st.integers(0, 10**12),
    sha512=_texts | st.just("ab" * 64),
    segment=st.integers(0, 10**6),
    offset=st.integers(0, 10**12),
    at=st.sampled_from(["", _AT]),
)
_records = st.builds(
    Record,
    name=st.sampled_from(["", "hdl:1/X"]),
    revision=st.integers(1, 3),
    at=st.just(_AT) | _texts,
    by=st.sampled_from(["local", "somebody", "some body", ""]),
    minted=st.sampled_from(["", "text"]),
    versions=st.just(())
    | st.builds(
        lambda number, at, held: (Version(number=number, at=at, representations=tuple(held)),),
        st.integers(1, 2),
        st.just(_AT) | _texts,
        st.lists(st.just(_held) | _documents, max_size=2),
    ),
    locations=st.lists(_locations, max_size=2).map(tuple),
    aliases=st.sampled_from([(), ("hdl:1/y",)]),
    metadata=st.sampled_from([{}, {"title": "T"}]),
    tombstone=st.none() | st.builds(Tombstone, reason=_texts, at=_texts, by=_texts),
)


@given(_records)
def test_nothing_is_lost(record: Record) -> None:
    assert stored.decode_stored(stored.encode_stored(record).decode()) == record


@given(_records)
def test_json_is_read(record: Record) -> None:
    """All records were JSON once, and any may be so again."""
    assert stored.decode_stored(msgspec.json.encode(record).decode()) == record


def test_one_location_is_one_line() -> None:
    location = Location(uri="https://a.example/b c", version=2, format="html")
    record = Record(at=_AT, locations=(location,))
    assert stored.encode_stored(record) == b"2026-11-21T05:13:46Z 2 html https://a.example/b c"
    assert stored.read_only_location("2026-11-21T05:13:46Z 2 html https://a.example/b c") == (
        _AT,
        location,
    )


def test_one_document_is_one_line() -> None:
    record = Record(at=_AT, versions=(Version(number=1, at=_AT, representations=(_held,)),))
    line = b"=2026-11-21T05:13:46Z local text - - 1 ab 1 9 text/plain"
    assert stored.encode_stored(record) == line
    assert stored.split_location_line(line.decode()) is None
    held = stored.parse_document_line(line.decode())
    assert held is not None
    assert (held.format, held.length) == ("text", "1")
    assert held.place_at(7, 70) == "=2026-11-21T05:13:46Z local text - - 1 ab 7 70 text/plain"


_placed = _documents.map(lambda one: replace(one, sha512="cd" * 64))


@given(_records)
def test_bytes_show_at_the_beginning_of_the_stored_form(record: Record) -> None:
    """A store finds the records with bytes by it, and reads no others."""
    text = stored.encode_stored(record).decode()
    assert not record.versions or text >= stored.LEAST_WITH_BYTES


def test_a_location_alone_shows_that_there_are_no_bytes() -> None:
    bound = Record(at=_AT, locations=(Location(uri="https://a.example/1"),))
    assert stored.encode_stored(bound).decode() < stored.LEAST_WITH_BYTES


@given(_placed, _placed, st.just(_AT) | _texts, st.sampled_from(["local", "some body"]))
def test_documents_that_are_alike_are_stored_alike(
    one: Representation, other: Representation, at: str, by: str
) -> None:
    same = replace(
        one, length=other.length, sha512=other.sha512, segment=other.segment, offset=other.offset
    )
    expected = Record(at=at, by=by, versions=(Version(number=1, at=at, representations=(same,)),))
    text = stored.encode_alike(at, by, one)(same.length, same.sha512, same.segment, same.offset)
    assert text == stored.encode_stored(expected).decode()
    assert stored.decode_stored(text) == expected
    twice = stored.encode_alike_twice(at, by, one)
    both = twice(same.length, same.sha512, same.segment, same.offset)
    assert both == (text, attest_line(text))


LINES = st.builds(
    " ".join,
    st.lists(st.sampled_from(["2026-11-21T05:13:46Z", "-", "1", "=", "{", "https://a.example/"])),
)


@given(st.lists(LINES | st.text()))
def test_locations_are_split_together_as_they_are_alone(texts: list[str]) -> None:
    uris = stored.split_only_locations(texts)
    if uris is not None:
        alone = [stored.read_only_location(text) for text in texts]
        assert [one and one[1].uri for one in alone] == uris


def test_locations_of_one_page() -> None:
    line = "2026-11-21T05:13:46Z - - https://a.example/{}"
    assert stored.split_only_locations([line.format(1), line.format(" - - ")]) == [
        "https://a.example/1",
        "https://a.example/ - - ",
    ]
    for other in ("{}", "=2026-11-21T05:13:46Z - - ", "2026-11-21T05:13:46Z x - a:b", "", "x - -"):
        assert stored.split_only_locations([line.format(1), other]) is None
        assert stored.split_only_locations([other, line.format(1)]) is None


def test_locations_of_one_page_may_be_of_versions_and_formats() -> None:
    lines = [
        f"2026-11-21T05:13:4{second}Z {version} {format} https://a.example/b c"
        for second in (6, 7)
        for version in ("-", "1", "22")
        for format in ("-", "html")
    ]
    assert stored.split_only_locations(lines) == ["https://a.example/b c"] * len(lines)
    for line in lines:
        assert stored.split_only_locations([line, line]) == ["https://a.example/b c"] * 2
    assert stored.split_only_locations(["2026-11-21T05:13:46Z - - "]) == [""]
    assert stored.split_only_locations([lines[0] + "\n" + lines[0]]) == [
        "https://a.example/b c\n" + lines[0]
    ]
    assert stored.split_only_locations([]) == []


def test_a_short_line_tells_its_reference() -> None:
    located = stored.parse_short_line("2026-11-21T05:13:46Z 2 html https://a.example/b c")
    assert located == ("2026-11-21T05:13:46Z", "location:https://a.example/b c", None)
    line = "=2026-11-21T05:13:46Z local text - - 1 ab 1 9 text/plain"
    held = stored.parse_short_line(line)
    assert held == (_AT, "sha512:ab", stored.parse_document_line(line))
    assert stored.parse_short_line('{"at": "2026-11-21T05:13:46Z"}') is None


@pytest.mark.parametrize(
    "damaged",
    [
        "2026-11-21T05:13:46Z two html https://a.example/",
        "2026-11-21T05:13:46Z - html",
        "=2026-11-21T05:13:46Z local text - - 1 ab one 9 text/plain",
        "=2026-11-21T05:13:46Z local text - - 1",
    ],
)
def test_a_damaged_line_is_no_line(damaged: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        stored.parse_short_line(damaged)
