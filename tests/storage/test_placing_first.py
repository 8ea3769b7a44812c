"""Nodes with records in PostgreSQL and bytes in an S3 store: bytes come before any lock.

Faults of each of the two stores alone are in `test_postgresql.py` and `test_objects.py`.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import psycopg
import pytest
from tests.conftest import SERIES, text
from tests.storage.faulty_proxy import Fault, FaultyProxy, open_proxy
from tests.storage.postgresql_server import find_server, make_address
from tests.storage.s3_server import make_address as make_object_address
from tests.storage.s3_server import start_server
from tests.storage.test_postgresql import check_names

from perdure.errors import PerdureError, Unavailable
from perdure.ids import parse
from perdure.ids.pdi import Pdi
from perdure.model.commands import Bind, Commit, Correct, Mint, Withdraw
from perdure.model.records import Location
from perdure.registry import Registry, initialise
from perdure.upkeep.full_audit import audit_registry

KILLS = (9,)
"""Documents that each node has acknowledged before it is killed."""
OPEN = """
SELECT state, query FROM pg_stat_activity
  WHERE application_name = 'perdure' AND xact_start IS NOT NULL
"""


@pytest.fixture
def proxy() -> Iterator[FaultyProxy]:
    with open_proxy(start_server().endpoint) as opened:
        yield opened


@pytest.fixture
def nodes(place: Path, proxy: FaultyProxy) -> Iterator[list[Registry]]:
    """Two nodes; the first one reaches the S3 store through the proxy."""
    objects, records = make_object_address(options="&timeout=2&retry=1"), make_address()
    opened = []
    for name in ("one", "two"):
        root = place / name
        root.mkdir()
        address = objects
        if name == "one":
            address = objects.replace(start_server().endpoint, proxy.endpoint)
        initialise(root, records, address, series=(SERIES,))
        opened.append(Registry(root))
    yield opened
    for node in opened:
        node.close()


def mint(node: Registry, letter: str = "") -> str:
    """Mint a name for a letter, or one without bytes."""
    contents = (text(letter.encode()),) if letter else ()
    return node.door.execute_command(Mint(authority=SERIES, contents=contents)).identifier


def read(node: Registry, name: str) -> bytes:
    record = node.records.find_record(parse(name).key)
    assert record is not None
    return node.bytes.read_bytes(record.versions[-1].representations[0])


def is_part(method: str, path: str) -> bool:
    return method == "PUT" and "/segments/" in path


def do_at_parts(proxy: FaultyProxy, *acts: Callable[[], object]) -> list[Callable[[], object]]:
    """Do one act at the beginning of each of the next requests that place bytes.

    Return what is left to do.
    """
    left = list(acts)

    def find_fault(method: str, path: str) -> Fault | None:
        if is_part(method, path) and left:
            left.pop(0)()
        return None

    proxy.find_fault = find_fault
    return left


def check_everything(node: Registry) -> None:
    """Assert that bytes, records and changes agree: no bytes without a record, no hole, no twin."""
    keys = node.records.list_keys_with(SERIES)
    serials = sorted(Pdi.from_key(key).serial or 0 for key in keys)
    assert serials == list(range(1, len(keys) + 1))
    assert [one.problem for one in audit_registry(node) if one.problem] == []


def find_open_batches() -> Sequence[object]:
    """The transactions of nodes that are open now."""
    with psycopg.connect(find_server().address) as connection:
        return connection.execute(OPEN).fetchall()


def test_no_row_is_locked_while_bytes_are_placed(nodes: list[Registry], proxy: FaultyProxy) -> None:
    """Issue: bytes are "placed before the transaction"."""
    one, _ = nodes
    held: list[object] = []

    def find_fault(method: str, path: str) -> None:
        held.extend(find_open_batches())

    proxy.find_fault = find_fault
    name = parse(mint(one, "Dear Sir"))
    one.door.execute_command(Commit(identifier=name.resource, contents=(text(b"Dear Sir!"),)))
    one.door.execute_command(Correct(identifier=name.resource, language="en"))
    several = (text(b"a"), text(b"b", format="html", media_type="text/html"))
    one.door.execute_command(Mint(authority=SERIES, contents=several))
    assert len([request for request in proxy.requests if is_part(*request)]) >= 4
    assert held == []
    assert read(one, str(name)) == b"Dear Sir!"
    check_everything(one)


def test_another_node_takes_the_number_meanwhile(nodes: list[Registry], proxy: FaultyProxy) -> None:
    """The name is in the bytes, so they are placed again; nothing is left of the first ones."""
    one, two = nodes
    taken: list[str] = []
    do_at_parts(proxy, lambda: taken.append(mint(two)))
    name = mint(one, "Dear Sir")
    assert (taken, name) == ([f"{name[:-8]}1"], f"{name[:-8]}2.text.1")
    assert read(two, name) == b"Dear Sir"
    check_everything(two)


def test_a_node_that_others_outrun_gets_its_turn(nodes: list[Registry], proxy: FaultyProxy) -> None:
    one, two = nodes
    acts = [partial(mint, two, "first"), partial(mint, two, "second")]
    left = do_at_parts(proxy, *acts)
    name = mint(one, "Dear Sir")
    assert not left
    assert name.endswith("/3.text.1")
    assert [read(one, f"{name[:-8]}{number}.text.1") for number in (1, 2, 3)] == [
        b"first", b"second", b"Dear Sir",
    ]  # fmt: skip
    check_everything(one)


def test_another_node_changes_the_record_meanwhile(
    nodes: list[Registry], proxy: FaultyProxy
) -> None:
    one, two = nodes
    name = parse(mint(one, "Dear Sir")).resource
    do_at_parts(
        proxy,
        lambda: two.door.execute_command(Commit(identifier=name, contents=(text(b"Dear Madam"),))),
    )
    receipt = one.door.execute_command(Commit(identifier=name, contents=(text(b"Dear all"),)))
    assert receipt.identifier == f"{name}.text.3"
    do_at_parts(
        proxy, lambda: two.door.execute_command(Withdraw(identifier=name, reason="an error"))
    )
    with pytest.raises(PerdureError, match="withdrawn"):
        one.door.execute_command(Commit(identifier=name, contents=(text(b"Dear none"),)))
    check_everything(one)


def test_a_silent_store_stops_no_names(nodes: list[Registry], proxy: FaultyProxy) -> None:
    """Design: "S3 down: mints with bytes 503; names, bindings and redirects go on"."""
    one, two = nodes
    first = mint(one, "Dear Sir")
    taken: list[str] = []

    def find_fault(method: str, path: str) -> Fault | None:
        if not is_part(method, path):
            return None
        taken.append(mint(two))
        return Fault(status=503)

    proxy.find_fault = find_fault
    with pytest.raises(Unavailable):
        mint(one, "Dear Madam")
    assert taken
    last = mint(one)
    assert int(last.rpartition("/")[2]) == len(taken) + 2
    bound = Bind(identifier=parse(last), locations=(Location(uri="https://a.example/"),))
    one.door.execute_command(bound)
    proxy.find_fault = lambda method, path: None
    assert read(one, first) == b"Dear Sir"
    check_everything(two)


MINTING = """
import sys
from pathlib import Path
from perdure.model.commands import Mint
from perdure.registry import Registry
from perdure.storage.spool import make_content

with Registry(Path(sys.argv[1])) as registry:
    for number in range(int(sys.argv[3])):
        data = f"{sys.argv[1]} {number}".encode()
        content = make_content(data, format="text", media_type="text/plain")
        mint = Mint(authority=sys.argv[2], contents=(content,))
        print(registry.door.execute_command(mint).identifier, number, flush=True)
"""
"""A node that mints documents, and prints the name and the number of each acknowledged one."""


def start_minting(root: Path, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", MINTING, str(root), SERIES, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_no_acknowledged_document_is_lost_if_nodes_are_killed(nodes: list[Registry]) -> None:
    """Architecture: "What was acknowledged is durable"."""
    roots = [node.root for node in nodes]
    written: dict[str, bytes] = {}
    for node in nodes:
        node.close()
    for wanted in KILLS:
        started = [start_minting(root, 10_000) for root in roots]
        for process, root in zip(started, roots, strict=True):
            assert process.stdout is not None
            for _ in range(wanted):
                note_written(written, process.stdout.readline(), root)
        for process, root in zip(started, roots, strict=True):
            process.send_signal(signal.SIGKILL)
            assert process.stdout is not None
            for line in process.stdout:
                note_written(written, line, root)
            process.wait()
    nodes[0] = Registry(roots[0])
    mint(nodes[0], "after")  # the node takes up what it had left
    assert all(read(nodes[0], name) == data for name, data in written.items())
    check_names(nodes[0], [str(parse(name).resource) for name in written])


def note_written(written: dict[str, bytes], line: str, root: Path) -> None:
    if line.endswith("\n"):
        name, number = line.split()
        written[name] = f"{root} {number}".encode()
