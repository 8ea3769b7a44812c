"""No face reads a record twice: the look-ups of each request of the contract table, counted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.conftest import Clock, Desk, text
from tests.contract import locally
from tests.contract.fixture import make_registry
from tests.contract.table import TABLE, Cell, cells, fill_spelling
from tests.reading.test_resolve import ask
from tests.server.both_ways import BothWays
from tests.server.native_client import make_request

from perdure.ids import parse
from perdure.model.commands import Assign
from perdure.model.records import Record, Value
from perdure.model.references import DELEGATION
from perdure.policy.naming import identify_record
from perdure.server.fast.path import FastPath
from perdure.server.native import wire
from perdure.server.native.answering import Answerer
from perdure.storage.generation import Generation
from perdure.upkeep.collection.membership_index import find_collection

MOST = {
    "malformed": 0,
    "alias": 2,
    "alias of a version": 2,
    "alias of an image": 2,
    "unknown version of an alias": 2,
    "part of an alias": 3,  # the handle may be registered with its `#`, too
    "delegated ARK": len("b5x"),
    "ARK with suffix": len("/sheet2"),  # the whole may end at each character
}
"""The look-ups of records for the bytes of each kind of name, if they are not 1."""
AGAIN = ("history", "listing", "assertions", "link set")
"""The current record is also the last revision of its history, and a row of a listing. An assertion
is found by its record, and then read as any document is; a link set says whether there are any."""


CELLS = [
    cell
    for cell in cells()
    if cell.question in ("bytes", "locations")
    or cell.face not in ("command line", "absolute form")  # they ask the rest like the others
]
SITE = {
    "version": 1,
    "protocolVersion": "2.11",
    "serialNumber": 1,
    "primarySite": True,
    "servers": [],
}


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    root = make_registry(tmp_path_factory.mktemp("reads"))
    desk = Desk(root, Clock())
    desk.registry.delegations.load_index()  # which is read once
    ask(desk, "/oai?verb=Identify")  # which makes the index of collections
    yield desk
    desk.registry.close()


@contextmanager
def counting(desk: Desk) -> Iterator[list[str]]:
    """The keys of all records that are read inside, also by a registry that a command opens, and by
    look-ups that are made inside.
    """
    read: list[str] = []
    records = desk.registry.records
    with pytest.MonkeyPatch.context() as patch:
        for store in (type(records), type(records.open_lookup())):
            patch.setattr(store, "find_stored", note_reads(store.find_stored, read))
        lookup = type(records.open_lookup())
        patch.setattr(lookup, "find_last_stored", note_reads(lookup.find_last_stored, read))
        yield read


def note_reads(find_stored: Callable[..., Any], read: list[str]) -> Callable[..., Any]:
    """The same function, which notes each key, or the end of each range."""

    def find_noted(self: Any, *keys: str) -> Any:
        read.append(keys[-1])
        return find_stored(self, *keys)

    return find_noted


def send(desk: Desk, cell: Cell, place: Path) -> None:
    """Send the request of a cell, by the way of its face, within this process."""
    kind = TABLE["kinds"][cell.kind]
    match TABLE["faces"][cell.face]["via"]:
        case "http":
            ask(desk, fill_spelling(cell.spelling, kind), (b"accept", b"*/*"))
        case "handle protocol":
            request = make_request(fill_spelling(cell.spelling, kind).partition(" ")[2])
            answerer = Answerer(desk.registry, SITE, None)
            envelope = wire.read_envelope(request)
            answerer.answer(envelope, request[-envelope.length :], "127.0.0.1")
            answerer.close()
        case "command":
            locally.run_command(desk.root, place, cell, kind)
        case _:
            locally.call_python(desk.registry, cell, kind)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.label)
def test_a_request_looks_no_record_up_twice(cell: Cell, desk: Desk, tmp_path: Path) -> None:
    """architecture.md: "No interface makes decisions or reads the record again"."""
    with counting(desk) as read:
        send(desk, cell, tmp_path)
    if cell.face == "command line":  # it opens the registry, and may read its delegations, once
        delegating = desk.registry.records.find_referring(DELEGATION)
        read = [key for key in read if key not in delegating]
    if cell.question not in AGAIN:
        assert len(read) == len(set(read)), read
    if cell.question == "bytes":
        assert len(read) == MOST.get(cell.kind, 1), read


def test_harvesting_reads_the_record_and_the_collections_once(desk: Desk) -> None:
    """A collection is one of all collections first, which are looked through for its own."""
    asked = "/oai?verb=GetRecord&metadataPrefix=oai_dc&identifier="
    collections = find_collections(desk)
    for name, times in (("pdi://oma.eop.gov.us/1997/09/01/1", 1), (collections[0], 2)):
        with counting(desk) as read:
            assert ask(desk, f"{asked}{quote(name, safe='')}") == 200
        assert read.count(parse(name).key) == times
        assert len(read) == len(collections) + 1


@pytest.mark.parametrize("question", ["ListRecords", "ListIdentifiers"])
def test_a_list_for_harvesters_reads_each_record_once(question: str, desk: Desk) -> None:
    """Its rows are read in runs. The others are looked up: collections, for their sets, and their
    members, which are listed when they joined.
    """
    others = {parse(name).key for name in find_collections(desk)}
    others |= {"oma.eop.gov.us/19970901/a1", "hdl:10.1000/182"}
    with counting(desk) as read:
        assert ask(desk, f"/oai?verb={question}&metadataPrefix=oai_dc") == 200
    assert not set(read) - others
    assert len(read) == len(set(read))


FAST = {"version elsewhere": 1, "handle": 1, "URN": 1, "DOI": 1, "alias": 2, "ARK with suffix": 2}
"""The look-ups of the fast path, where one in a range of keys finds the longest beginning."""


@pytest.mark.parametrize("kind", FAST)
def test_the_fast_path_reads_as_seldom_as_the_plain_way(kind: str, desk: Desk) -> None:
    """The issue of the read door: "1 record read per plain request, 2 for a followed alias"."""
    target = fill_spelling("/{path}", TABLE["kinds"][kind]).encode("ascii")
    generation = Generation(desk.root)

    async def ask_once() -> None:
        fast = FastPath(desk.registry, generation)
        header = b"\r\nHost: resolver.example\r\n\r\n"
        assert fast.answer_request(b"GET", target, header) is not None

    with counting(desk) as read:
        asyncio.run(ask_once())
    generation.close()
    assert len(read) == FAST[kind], read


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BothWays]:
    ways = BothWays(make_registry(tmp_path_factory.mktemp("left")))
    ways.desk.registry.delegations.load_index()
    yield ways
    ways.close()


@pytest.mark.parametrize("kind", ["bare", "several versions", "reserved", "withdrawn"])
def test_what_the_fast_path_leaves_is_not_read_again(kind: str, ways: BothWays) -> None:
    """ "1 record read per plain request", whichever way answers it."""
    target = fill_spelling("/{path}", TABLE["kinds"][kind])
    assert ways.ask_fast(target) is None  # which has read the record
    with counting(ways.desk) as read:
        ways.ask_plainly(target)
    assert not read
    with counting(ways.desk) as read:
        ways.ask_plainly(target)
    assert len(read) == 1, read  # it is left for one request


@pytest.mark.parametrize("kind", ["unknown", "part of an alias"])
def test_that_a_name_is_unknown_is_found_once(kind: str, ways: BothWays) -> None:
    """ "An unknown name 2, and one more for each delimiter at which it could be unfolded"."""
    target = fill_spelling("/{path}", TABLE["kinds"][kind])
    assert ways.ask_fast(target) is None
    with counting(ways.desk) as read:
        ways.ask_plainly(target)
    assert len(read) == (kind == "part of an alias")  # the owner


@pytest.mark.parametrize("name", ["hdl:1839/one@two", "hdl:1839/one%23two"])
def test_a_registered_name_with_a_delimiter_is_read_once(name: str, ways: BothWays) -> None:
    """It is looked up as a name before anything is taken for a part of another."""
    ways.desk.bind(name.replace("%23", "#"), "https://one.example/two", register=True)
    assert ways.ask_fast(f"/{name}") is None
    with counting(ways.desk) as read:
        assert b"location: https://one.example/two" in ways.ask_plainly(f"/{name}")
    assert not read


def test_a_record_that_was_left_is_not_older_than_the_last_change(ways: BothWays) -> None:
    """fast/path: "no answer is older than the last change that was acknowledged"."""
    name = str(parse(ways.desk.mint(text("Dear")).identifier).resource)
    assert ways.ask_fast(f"/{name}") is None
    ways.desk.withdraw(name)
    assert ways.ask_plainly(f"/{name}").startswith(b"HTTP/1.1 410 ")
    assert ways.ask_fast("/hdl:1839/later") is None
    ways.desk.bind("hdl:1839/later", "https://later.example/", register=True)
    assert b"location: https://later.example/" in ways.ask_plainly("/hdl:1839/later")


def find_collections(desk: Desk) -> list[str]:
    """The names of all collections, read from their records."""
    rows = desk.registry.records.scan_records("", None, limit=1000)
    return [
        str(identify_record(key, one))
        for key, one in rows
        if isinstance(one, Record) and find_collection(one)
    ]


NAMESPACE = """<namespace><template delimiter="@"><foreach>
  <if value="type" test="equals" expression="URL"><value data="${data}?part=${extension}" /></if>
</foreach></template></namespace>"""


@pytest.mark.parametrize("mark", ["@", "%23", "?part="])
def test_a_part_without_a_template_reads_no_more_than_an_unknown_name(
    mark: str, ways: BothWays
) -> None:
    """ "An unknown name 2, and one more for each delimiter at which it could be unfolded".

    The third is the prefix, whose templates count: it is read again only after a change, and once
    for all locations.
    """
    whole = f"hdl:1839/whole-{ord(mark[0])}"
    ways.desk.bind(whole, "https://one.example/", register=True)
    with counting(ways.desk) as read:
        ways.begin_fast_path()
        for part in "abc":
            leave_to_plain_way(ways, f"/hdl:1839/missing{mark}{part}", b"404")
        unknown = len(read)
        assert unknown <= 2 * 3, read
        for part in "abc":
            leave_to_plain_way(ways, f"/{whole}{mark}{part}", b"501")
    assert len(read) - unknown <= 2 * 3 + 1, read
    ways.desk.bind(whole, "https://two.example/")
    with counting(ways.desk) as read:
        leave_to_plain_way(ways, f"/{whole}{mark}d")
    assert len(read) == len(set(read)) <= 3, read


def leave_to_plain_way(ways: BothWays, target: str, status: bytes = b"") -> None:
    assert ways.ask_fast(target) is None
    assert ways.ask_plainly(target).startswith(b"HTTP/1.1 " + status)


def test_a_template_of_a_prefix_counts_at_once(ways: BothWays) -> None:
    """fast/path: "no answer is older than the last change that was acknowledged"."""
    ways.desk.bind("hdl:77/whole", "https://one.example/", register=True)
    assert ways.ask_fast("/hdl:77/whole@a") is None
    assert ways.ask_plainly("/hdl:77/whole@a").startswith(b"HTTP/1.1 501 ")
    assert ways.ask_fast("/hdl:77/whole@a") is None  # the prefix is known now
    made = (Value(index=5, type="HS_NAMESPACE", data=NAMESPACE),)
    command = Assign(identifier=parse("hdl:0.NA/77"), values=made)
    ways.desk.registry.door.execute_command(command)
    for _ in range(2):
        answer = ways.ask_fast("/hdl:77/whole@a") or ways.ask_plainly("/hdl:77/whole@a")
        assert b"location: https://one.example/?part=a\r\n" in answer
