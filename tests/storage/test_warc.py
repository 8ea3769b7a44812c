"""WARC records: written as ISO 28500 says, read back whole or not at all."""

from __future__ import annotations

import re
import uuid
from functools import partial
from itertools import islice
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import sha512

from perdure.errors import Corrupt
from perdure.ids import LONGEST
from perdure.storage.segments import warc
from perdure.storage.spool import HEAD_ROOM

BLOCK = warc.WarcBlock(
    uri="pdi://oma.eop.gov.us/1997/09/01/1.text.1",
    at="2026-11-21T12:00:00Z",
    media_type="text/plain;charset=us-ascii",
    length=5,
    sha512=sha512(b"hello"),
    blake3="b" * 64,
    format="text",
    version=1,
    language="en",
)


head = partial(warc.make_head, id=next(warc.make_record_ids()))


def written(path: Path, *pieces: bytes) -> Path:
    path.write_bytes(b"".join(pieces))
    return path


def read(path: Path) -> list[warc.SegmentRecord]:
    with path.open("rb") as file:
        return list(warc.read_records(file, where=path.name))


def test_a_head_has_the_fields_that_the_standard_demands() -> None:
    """ISO 28500:2017, 5.1 to 5.6: record id, length, date and type are mandatory."""
    text = head(BLOCK).decode("ascii")
    first, *fields = text.removesuffix("\r\n\r\n").split("\r\n")
    assert first == "WARC/1.1"
    found = dict(field.split(": ", 1) for field in fields)
    assert re.fullmatch(
        r"<urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}>",
        found["WARC-Record-ID"],
    )
    assert found["WARC-Type"] == "resource"
    assert found["WARC-Date"] == "2026-11-21T12:00:00Z"
    assert found["Content-Length"] == "5"
    assert found["WARC-Target-URI"] == BLOCK.uri
    assert found["WARC-Block-Digest"] == f"sha512:{BLOCK.sha512}"


def test_no_two_records_have_one_id() -> None:
    """UUIDs of version 8: "uniqueness will be implementation specific and MUST NOT be assumed"
    (RFC 9562 section 5.8). Here two writers draw different beginnings, and each counts."""
    ids = [one for _ in range(100) for one in islice(warc.make_record_ids(), 100)]
    assert len(set(ids)) == 10_000
    for one in ids:
        found = uuid.UUID(one.removeprefix("<urn:uuid:").removesuffix(">"))
        assert found.version == 8
        assert found.variant == uuid.RFC_4122


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    path = written(tmp_path / "a.warc", *(head(BLOCK), b"hello", warc.TRAILER) * 3)
    found = read(path)
    assert [one.block for one in found] == [BLOCK] * 3
    data = path.read_bytes()
    assert {data[one.offset : one.offset + 5] for one in found} == {b"hello"}
    assert found[-1].end == len(data)


def test_a_head_is_padded_to_the_room_that_was_kept(tmp_path: Path) -> None:
    padded = head(BLOCK, size=HEAD_ROOM)
    assert len(padded) == HEAD_ROOM
    [found] = read(written(tmp_path / "a.warc", padded, b"hello", warc.TRAILER))
    assert (found.block, found.offset) == (BLOCK, HEAD_ROOM)


def test_the_longest_identifier_fits_into_the_room(tmp_path: Path) -> None:
    """Ruling pdi-limits: 8,192 characters."""
    long = msgspec.structs.replace(BLOCK, uri="pdi://a.us/1997/09/01/" + "x" * (LONGEST - 22))
    assert len(head(long, size=HEAD_ROOM)) == HEAD_ROOM
    with pytest.raises(ValueError, match="does not fit"):
        head(msgspec.structs.replace(BLOCK, media_type="x" * HEAD_ROOM), size=HEAD_ROOM)


WHOLE = b"".join((head(BLOCK), b"hello", warc.TRAILER))


@given(st.integers(1, len(WHOLE) - 1))
def test_a_record_that_breaks_off_is_told_by_its_offset(
    tmp_path_factory: pytest.TempPathFactory, length: int
) -> None:
    """A reader stops at the first record that is not whole, and never invents one."""
    path = written(tmp_path_factory.mktemp("broken") / "a.warc", WHOLE, WHOLE[:length])
    with path.open("rb") as file:
        records = warc.read_records(file, where=path.name)
        assert next(records).block == BLOCK
        with pytest.raises(Corrupt) as broken:
            next(records)
    assert broken.value.where == f"offset {len(WHOLE)}"


@pytest.mark.parametrize(
    "damaged",
    [
        WHOLE.replace(b"WARC/1.1", b"WARC/0.9"),
        WHOLE.replace(b"Content-Length: 5", b"Content-Length: 4"),
        WHOLE.replace(b"Content-Length: 5", b"Content-Length: x"),
        WHOLE.replace(b"Content-Length: 5", b"Content-Length: -5"),
        WHOLE.replace(b"sha512:", b"sha1:"),
        WHOLE.replace(b"WARC-Target-URI", b"WARC-Target-URL"),
        WHOLE.replace(b"WARC-Type: resource\r\n", b""),
        b"\0" * 100,
        b"WARC/1.1\r\n" + b"x" * 70_000,
    ],
)
def test_damage_is_told(tmp_path: Path, damaged: bytes) -> None:
    with pytest.raises(Corrupt):
        read(written(tmp_path / "a.warc", damaged))


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=9)
blocks = st.builds(
    warc.WarcBlock,
    uri=texts,
    at=st.sampled_from(["2026-11-22T05:10:00Z", "2026-11-22T05:10:00.5Z"]),
    media_type=st.sampled_from(["text/plain", "a/b;charset=x", warc.TOMBSTONE]),
    length=st.integers(0, 1 << 40),
    sha512=st.just("5e" * 64),
    blake3=st.just("b3" * 32),
    format=st.sampled_from(["text", "svg%2bxml"]),
    version=st.integers(1, 12),
    language=st.sampled_from([None, "fr"]),
)
damages = st.one_of(
    st.none(),
    st.tuples(st.integers(0, 600), st.binary(min_size=1, max_size=2)),
    st.sampled_from([(b"Length: ", b"Length: 0"), (b"Version: ", b"version: "), (b"\r", b"")]),
)


@given(blocks, damages, st.booleans())
def test_a_head_is_matched_only_if_it_has_no_flaw(
    block: warc.WarcBlock, damage: tuple[int | bytes, bytes] | None, padded: bool
) -> None:
    """The fast way and the plain way agree: a head that matches describes the same block, and one
    that perdure wrote matches."""
    type = "metadata" if block.media_type == warc.TOMBSTONE else "resource"
    id = next(warc.make_record_ids())
    text = warc.make_head(block, id=id, type=type, size=1000 if padded else None)
    if damage is None:
        assert warc.match_head(text) == (type, block)
        return
    place, other = damage
    if isinstance(place, bytes):
        text = text.replace(place, other)
    else:
        text = text[:place] + other + text[place + len(other) :]
    found = warc.match_head(text)
    if found is not None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(warc, "match_head", lambda _: None)
            assert warc.parse_head(text, "000001.warc", 0) == found


def test_an_empty_segment_has_no_records(tmp_path: Path) -> None:
    assert read(written(tmp_path / "a.warc")) == []


@given(st.lists(st.integers(0, 3) | st.integers(1_900, 2_100) | st.integers(65_000, 66_000)))
def test_records_of_all_lengths_are_read_in_one_pass(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int]
) -> None:
    """Heads may begin and end anywhere in a piece that was read."""
    path = tmp_path_factory.mktemp("warc") / "000001.warc"
    blocks = [msgspec.structs.replace(BLOCK, length=length) for length in lengths]
    pieces = [head(one) + b"\r" * one.length + warc.TRAILER for one in blocks]
    written(path, *pieces)
    ends = [sum(map(len, pieces[: number + 1])) for number in range(len(pieces))]
    with path.open("rb") as file:
        found = list(warc.read_records(file, where="it"))
    assert [one.block for one in found] == blocks
    assert [one.end for one in found] == ends
