"""Rows of plain lines, made a block at a time, are those that the rules make of each line."""

from __future__ import annotations

import json
from collections.abc import Sequence
from operator import attrgetter

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.conftest import SERIES

from perdure.errors import InvalidRequest, PerdureError
from perdure.ids.pdi_plain import read_plain_ending, read_plain_key, read_plain_keys
from perdure.model.commands import LoadRow
from perdure.policy.binding import are_plain_urls, check_uri
from perdure.upkeep.transfer.blocks import (
    BlockReading,
    Fault,
    LineBlock,
    make_fault,
    read_blocks,
    read_rows_of,
)
from perdure.upkeep.transfer.line_contents import Terms
from perdure.upkeep.transfer.lines import Line
from perdure.upkeep.transfer.rows import make_row

TERMS = Terms("2026-11-21T12:00:00Z", "2026/11/21", "nowhere", "nowhere", series=(SERIES,))
DAYS = [
    f"pdi://{SERIES}/1997/09/01",
    f"pdi://{SERIES}/1997/09/02",
    f"pdi://{SERIES}/2026/11/21",
    f"pdi://{SERIES}/2027/01/01",
    f"pdi://{SERIES}/10000/01/01",
    f"pdi://{SERIES}/1997/02/30",
    f"pdi://{SERIES.upper()}/1997/09/01",
    "pdi://gpo.gov.us/2027/01/01",
    "hdl:20.500.12345",
    "doi:10.1000",
    "ark:99999",
    "URN:IANA:42117:",
    "urn:nbn:de",
    "",
]
ENDS = [
    "1",
    "12.text.1",
    "7.html",
    "x",
    "0",
    "007.text.1",
    "a:b",
    "a*",
    "1#char=1,2",
    "1@x",
    "\n",
    "",
]
NAMES = st.one_of(
    st.builds(lambda day, end: f"{day}/{end}", st.sampled_from(DAYS), st.sampled_from(ENDS)),
    st.builds(lambda day, end: f"{day}/{end}", st.sampled_from(DAYS[:2]), st.integers(0, 99)),
    st.sampled_from(["pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk/", "nothing"]),
    st.text(max_size=9),
)
URLS = st.one_of(
    st.sampled_from(
        [
            "https://a.example/1",
            "http://a",
            "http://",
            "https://u@a/",
            "ftp://a/",
            "hdl:20.500.12345/1",
            "https://a/\nhttps://b/",
            "https://a/\x7f",
            "https://ä/",
            f"https://a/{'x' * 9000}",
            "",
        ]
    ),
    st.text(max_size=9).map(lambda one: f"https://a/{one}"),
)


def write_block(lines: Sequence[tuple[str, str]], *, first: int = 1) -> LineBlock:
    text = b"".join(
        json.dumps({"id": name, "locations": [url]}, ensure_ascii=False).encode() + b"\n"
        for name, url in lines
    )
    return LineBlock(text, 0, len(text), first, len(lines))


def read_by_rules(lines: Sequence[tuple[str, str]], first: int) -> list[LoadRow | Fault]:
    """Read the lines one by one, as if each said more than a name and a URL."""
    found: list[LoadRow | Fault] = []
    for number, (name, url) in enumerate(lines, first):
        try:
            found.append(make_row(Line(id=name, locations=(url,)), number, TERMS))
        except PerdureError as error:
            found.append(make_fault(number, error))
    return found


@given(st.lists(st.tuples(NAMES, URLS), max_size=12), st.integers(1, 99))
@example([(f"{DAYS[0]}/{number}", "https://a/") for number in range(9)], 1)
@example([(f"{DAYS[number % 2]}/{number}.text.1", "https://a/") for number in range(9)], 5)
@example([(f"{DAYS[0]}/1", "https://a/"), (f"{DAYS[0]}/1\n{DAYS[0]}/2", "https://a/")], 1)
@example([(f"{DAYS[0]}/1", "https://a/"), (f"{DAYS[0]}/a:b", "https://a/")], 1)
def test_both_ways_make_the_same_rows(lines: list[tuple[str, str]], first: int) -> None:
    block = write_block(lines, first=first)
    assert list(read_rows_of(block, TERMS)) == read_by_rules(lines, first)


@given(st.lists(st.tuples(NAMES, URLS), max_size=6), st.integers(1, 99))
@example([(f"{DAYS[0]}/{number}", "https://a/") for number in range(9)], 1)
def test_a_process_that_reads_a_block_returns_its_rows(
    lines: list[tuple[str, str]], first: int
) -> None:
    """Also those that travel as columns."""
    block = write_block(lines, first=first)
    ((_, reading),) = read_blocks([block], TERMS)
    sent = msgspec.msgpack.decode(msgspec.msgpack.encode(reading), type=BlockReading)
    found = [*sent.list_rows(), *sent.faults]
    found.sort(key=attrgetter("line"))
    assert msgspec.json.encode(found) == msgspec.json.encode(read_by_rules(lines, first))
    keys = [row.key for row in sent.list_rows()]
    assert sent.ascending == (keys == sorted(set(keys)))


@given(st.lists(NAMES, max_size=6))
@example([f"{DAYS[0]}/1.text.1", f"{DAYS[0]}/2.text.1", f"{DAYS[1]}/3.text.1", f"{DAYS[1]}/3"])
@example([f"{DAYS[0]}/1.text", f"{DAYS[5]}/1.text"])
@example([f"{DAYS[0]}/1", f"{DAYS[0]}/2."])
@example([f"{DAYS[0]}/{'x' * 300}"])
@example([f"{'x' * 301}/1"])
def test_names_are_read_together_as_one_by_one(names: list[str]) -> None:
    alone = [read_plain_key(name) for name in names]
    together = read_plain_keys(names)
    if None in alone:
        assert together is None
    else:
        assert together is not None
        keys, endings = together
        pairs = zip(keys, map(read_plain_ending, endings), strict=True)
        assert [(key, *ending) for key, ending in pairs] == alone


def test_names_of_today_are_read_by_the_rules() -> None:
    """Wherever they stand: the numbers of a day that is not over may be minted."""
    for today in (0, 4, 8):
        lines = [(f"{DAYS[0]}/{number}", "https://a/") for number in range(1, 10)]
        lines[today] = f"{DAYS[2]}/x", "https://a/"
        ((_, reading),) = read_blocks([write_block(lines)], TERMS)
        assert reading.columns is None
        lines[today] = lines[today][0].replace(SERIES, "gpo.gov.us"), "https://a/"
        ((_, reading),) = read_blocks([write_block(lines)], TERMS)
        assert reading.columns is not None


@given(st.lists(URLS, max_size=4))
def test_urls_that_are_plain_are_locations(urls: list[str]) -> None:
    """Never the other way round: `check_uri` admits more."""
    if are_plain_urls(urls):
        for url in urls:
            check_uri(url)


@pytest.mark.parametrize(
    ("url", "plain"),
    [
        ("https://a.example/1?x=1#y", True),
        ("http://a", True),
        ("http://", False),
        ("https://a@b/", False),
        ("HTTPS://a/", False),
        ("https://a b", False),
        ("https://a/\nhttps://b/", False),
        ("https://ä/", False),
        (f"https://{'a' * 8184}", True),
        (f"https://{'a' * 8185}", False),
    ],
)
def test_plain_urls(url: str, *, plain: bool) -> None:
    assert are_plain_urls([url]) is plain
    assert are_plain_urls(["https://a/", url, "https://b/"]) is plain
    assert are_plain_urls([])


@pytest.mark.parametrize(
    "text",
    [
        b'{"id":"hdl:1/a","locations":["https://a/"]}\n\n{"id":"hdl:1/b","locations":["https://a/"]}\n',
        b'{"id":"hdl:1/a","locations":["https://a/"]}\r\n{"id":"hdl:1/b",\n',
        b'{"id":"hdl:1/a","locations":["https://a/"]}{"id":"hdl:1/b","locations":["https://a/"]}\n\n',
        b'{"id":"hdl:1/a","locations":["https://a/"],"metadata":{"a":"b"}}\n',
        b'{"id":"hdl:1/a","locations":["https://a/"]}',
        b"\xff\n",
    ],
)
def test_other_blocks_are_read_line_by_line(text: bytes) -> None:
    """Numbers count blank lines, and two objects in a line are a fault, as everywhere."""
    found = list(read_rows_of(LineBlock(text, 0, len(text), 7, text.count(b"\n")), TERMS))
    lines = [one for one in enumerate(text.split(b"\n"), 7) if one[1].strip()]
    assert [one.line for one in found] == [number for number, _ in lines]
    for one, (number, line) in zip(found, lines, strict=True):
        block = LineBlock(line, 0, len(line), number, 1)
        assert list(read_rows_of(block, TERMS)) == [one]


def test_a_url_that_cannot_be_a_location_is_one_fault() -> None:
    lines = [(f"{DAYS[0]}/{number}", "https://a/") for number in range(9)]
    lines[4] = (lines[4][0], "javascript:alert(1)")
    found = list(read_rows_of(write_block(lines), TERMS))
    assert [isinstance(one, Fault) for one in found] == [number == 4 for number in range(9)]
    with pytest.raises(InvalidRequest):
        check_uri(lines[4][1])
