"""Numbered changes: the hashes that docs/reference/changes.md specifies."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.model import stored
from perdure.model.changes import (
    BEGIN,
    NO_CHAIN,
    NOTHING,
    WITHHELD,
    ChainHead,
    ChangeMark,
    Deed,
    Epoch,
    Numbering,
    Scope,
    attest_line,
    begin_chain,
    digest_alike,
    digest_lines,
    find_leaf,
    link_change,
    make_row,
    parse_mark,
)
from perdure.model.records import Record, Representation, Version

SALT = bytes(range(16))
DEED = Deed("bind", "2026-11-21T12:00:00Z", "press")
LINE = "2026-11-21T12:00:00Z - - https://a.example/1"
SPECIFICATION = Path(__file__).parents[2] / "docs" / "reference" / "changes.md"


def sha256(*parts: bytes) -> bytes:
    return hashlib.sha256(b"".join(parts)).digest()


def test_the_digest_of_one_line() -> None:
    expected = sha256(SALT, b"press\0", LINE.encode(), b"\0hdl:1/1")
    assert digest_lines(SALT, "press", [("hdl:1/1", LINE)]) == expected


@pytest.mark.parametrize(
    ("line", "attested"),
    [
        (f"={DEED.at} press text - - 5 9b71d 3 1042 text/plain",) * 2,
        ('{"segment":7,"offset":8}', '{"segment":0,"offset":0}'),
        (f'{LINE}?"segment":7,"offset":8', f'{LINE}?"segment":0,"offset":0'),
        (f"{LINE}?=1", f"{LINE}?=1"),
    ],
)
def test_the_digest_of_lines_of_which_one_has_a_place(line: str, attested: str) -> None:
    attested = attested.replace(" 3 1042 ", " 0 0 ")
    expected = sha256(SALT, f"press\0\0hdl:1/1\0{LINE}\0hdl:1/2\0{attested}".encode())
    assert digest_lines(SALT, "press", [("hdl:1/1", LINE), ("hdl:1/2", line)]) == expected


def test_the_digest_of_lines_that_are_the_same() -> None:
    expected = sha256(SALT, b"press\0", LINE.encode(), b"\0hdl:1/1\0hdl:1/2")
    assert digest_lines(SALT, "press", [("hdl:1/1", LINE), ("hdl:1/2", LINE)]) == expected
    assert digest_alike(SALT, "press", ["hdl:1/1", "hdl:1/2"], LINE) == expected


def test_the_digest_of_lines_that_differ() -> None:
    other = LINE + "0"
    expected = sha256(SALT, b"press\0\0hdl:1/1\0", LINE.encode(), b"\0hdl:1/2\0", other.encode())
    assert digest_lines(SALT, "press", [("hdl:1/1", LINE), ("hdl:1/2", other)]) == expected


def test_the_row_the_leaf_and_the_chain() -> None:
    numbering = Numbering()
    numbering.restart_at(3, 1041, bytes(32))
    digest = digest_lines(SALT, "press", [("hdl:1/1", LINE)])
    change = numbering.number_change(DEED, Scope("hdl:1/1", "hdl:1/1", 1, 2), digest, SALT)
    row = (
        "perdure change 1\n3\n1042\n2026-11-21T12:00:00Z\nbind\nhdl:1/1\nhdl:1/1\n1\n2\n"
        f"{digest.hex()}\n"
    ).encode()
    assert make_row(change) == row
    assert change.chain == sha256(b"\1", bytes(32), sha256(b"\0", row))
    assert link_change(bytes(32), change) == change.chain
    assert change.head == ChainHead(epoch=3, number=1042, chain=change.chain.hex())


def test_an_epoch_continues_the_chain_of_the_one_before() -> None:
    previous = ChainHead(epoch=0, number=31, chain="ab" * 32)
    epoch = Epoch(epoch=1, reason="numbered", previous=previous)
    change = Numbering().begin_epoch(epoch, "2026-11-22T12:00:00Z", "local", SALT)
    assert (change.mark, change.act, change.count) == (ChangeMark(1, 1), BEGIN, 0)
    assert link_change(bytes.fromhex("ab" * 32), change) == change.chain
    before = '{"epoch":0,"number":31,"chain":"' + "ab" * 32 + '"}'
    said = '{"epoch":1,"reason":"numbered","previous":' + before + "}"
    assert epoch.line == said
    assert change.digest == sha256(SALT, b"local\0", said.encode(), b"\0")
    assert begin_chain(Epoch(epoch=1, reason="created")) == NO_CHAIN == bytes(32)


def test_all_acts_but_those_of_tokens_are_public() -> None:
    numbering = Numbering()
    for act, public in (("mint", True), ("begin", True), ("token", False)):
        deed = Deed(act, DEED.at, DEED.actor)
        assert numbering.number_change(deed, NOTHING, bytes(32), SALT).is_public is public


@pytest.mark.parametrize(
    "text",
    ["", "1.", ".1", "1.2.3", "-1", "+1", "1 ", "x", "1e3", "1" * 19, "1" * 10 + ".1", "١"],
)
def test_what_is_no_mark(text: str) -> None:
    assert parse_mark(text, current=1) is None


@given(st.integers(0, 10**9 - 1), st.integers(0, 10**18 - 1))
def test_a_mark_is_read_as_it_is_written(epoch: int, number: int) -> None:
    mark = ChangeMark(epoch, number)
    assert parse_mark(str(mark), current=0) == mark
    assert parse_mark(str(number), current=epoch) == mark


def documents(segment: int, offset: int, count: int) -> Record:
    held = tuple(
        Representation(
            format=f"text{number}",
            media_type='text/plain; a="segment":1,"offset":2',
            length=5,
            sha512="ab",
            segment=segment,
            offset=offset + number,
        )
        for number in range(count)
    )
    version = Version(number=1, at="2026-11-21T12:00:00Z", representations=held)
    return Record(at="2026-11-21T12:00:00Z", versions=(version,), metadata={"segment": "1"})


@given(st.integers(0, 10**6), st.integers(0, 10**12), st.integers(0, 3))
def test_what_is_attested_does_not_say_where_bytes_lie(
    segment: int, offset: int, count: int
) -> None:
    """A rebuild may find them elsewhere; nothing else about the line may differ."""
    here = stored.encode_stored(documents(segment, offset, count)).decode()
    attested = stored.decode_stored(attest_line(here))
    for version in attested.versions:
        assert all((one.segment, one.offset) == (0, 0) for one in version.representations)
        assert [one.media_type for one in version.representations] == [
            'text/plain; a="segment":1,"offset":2'
        ] * count
    assert attested.metadata == {"segment": "1"}
    assert attest_line(stored.encode_stored(documents(1, 2, count)).decode()) == attest_line(here)


def test_the_line_of_a_document_is_attested_without_its_place() -> None:
    one = documents(3, 1042, 1).versions[0].representations[0]
    line = stored.encode_alike("2026-11-21T12:00:00Z", "press", one)
    assert attest_line(line(5, "ab", 3, 1042)) == attest_line(line(5, "ab", 0, 0))
    assert attest_line(line(5, "ab", 0, 0)) == line(5, "ab", 0, 0)


keys = st.text(st.characters(exclude_categories=["C"], exclude_characters="\0"), min_size=1)
lines = st.lists(st.tuples(keys, keys), min_size=1, max_size=4)


@given(lines, lines, keys, keys)
def test_other_lines_have_another_digest(
    one: list[tuple[str, str]], other: list[tuple[str, str]], actor: str, second: str
) -> None:
    said = [(key, attest_line(line)) for key, line in one if not line.startswith("=")]
    meant = [(key, attest_line(line)) for key, line in other if not line.startswith("=")]
    if said and meant:
        same = (said, actor) == (meant, second)
        equal = digest_lines(SALT, actor, said) == digest_lines(SALT, second, meant)
        assert equal is same


def test_a_change_of_which_only_the_leaf_is_known_continues_the_chain() -> None:
    """A mirror that may not know a change has its leaf, from which the chain follows."""
    whole, bare = Numbering(), Numbering()
    whole.restart_at(1, 4, NO_CHAIN)
    bare.restart_at(1, 4, NO_CHAIN)
    deed = Deed("token", "2026-11-24T12:00:00Z", "local")
    change = whole.number_change(deed, Scope("token:a", "token:a", 1, 1), bytes(32), None)
    leaf = bare.number_leaf(find_leaf(change))
    assert leaf.head == change.head
    assert (leaf.act, leaf.is_public, leaf.count, leaf.at) == (WITHHELD, False, 0, "")
    assert link_change(NO_CHAIN, leaf) == link_change(NO_CHAIN, change) == change.chain
