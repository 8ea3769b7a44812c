"""Nodes of one registry in PostgreSQL: servers side by side, and how they read.

`test_no_node_answers_older_than_the_last_acknowledged_change` checks a history of real servers.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.server.deployment import (
    OTHER_SERIES,
    SERIES,
    SHOULDER,
    Deployment,
    resource,
    start,
    text,
    wait_for,
)
from tests.server.node_history import Act, find_contradictions
from tests.storage.postgresql_server import find_server, make_address, make_server

from perdure.ids import parse
from perdure.model.changes import Deed
from perdure.model.commands import Alias, Bind, Withdraw
from perdure.model.records import Location, Record
from perdure.model.stored import encode_stored
from perdure.registry import Registry, initialise
from perdure.server.fast.path import FastPath
from perdure.server.protocol.http import AnswerLater
from perdure.storage.postgresql.addresses import parse_address
from perdure.storage.postgresql.journal import PostgresqlJournal
from perdure.storage.postgresql.records import PostgresqlRecords
from perdure.storage.postgresql.turns import DatabaseTurns
from perdure.storage.turn_ports import TurnState, Wants

WINDOW = 3
"""Requests that a client has on their way on one connection."""
WRITES = 12
"""For each name."""
PREFIX = "21.T14999"
OF_CONNECTIONS = (b"date:", b"connection:")
HEADER = b"\r\nHost: resolver.example\r\n\r\n"
_ANSWER = re.compile(rb"HTTP/1\.1 (\d+).*?\r\n\r\n", re.DOTALL)
_PLACE = re.compile(rb"\r\nlocation: https://a\.example/(\d+)\r\n", re.IGNORECASE)
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)


@contextmanager
def deployed_nodes(
    place: Path, count: int, address: str, **settings: Any
) -> Iterator[list[Deployment]]:
    """Servers on one registry, each with a directory of its own."""
    with ExitStack() as stack:
        nodes = []
        for number in range(count):
            root = place / f"node{number}" / "registry"
            root.parent.mkdir()
            initialise(
                root,
                address,
                series=(SERIES, OTHER_SERIES),
                shoulders=(SHOULDER,),
                handle_prefixes=(PREFIX,),
            )
            process, port = start(root, **settings)
            node = Deployment(root, port, process)
            stack.callback(node.registry.close)
            stack.callback(stop_node, node)
            nodes.append(node)
        for node in nodes:
            wait_for(node)
        yield nodes


def stop_node(node: Deployment) -> None:
    if node.process.poll() is None:
        node.stop()


# The history of several nodes
# ----------------------------


def put_location(node: Deployment, handle: str, number: int, token: str) -> None:
    data = {"format": "string", "value": f"https://a.example/{number}"}
    values = [{"index": 1, "type": "URL", "data": data}]
    body = json.dumps({"values": values}).encode()
    answer = node.put(f"/api/handles/{handle}", body, token=token)
    assert answer.status in (200, 201), answer.body


def write_numbers(nodes: list[Deployment], name: str, token: str, acts: list[Act]) -> None:
    """Lead a handle to one location after the other, by each node in turn."""
    for number in range(1, WRITES + 1):
        node = number % len(nodes)
        begin = time.monotonic()
        put_location(nodes[node], name, number, token)
        acts.append(Act(begin, time.monotonic(), number, node))


def read_numbers(
    node: Deployment,
    number: int,
    names: list[str],
    is_over: threading.Event,
    acts: dict[str, list[Act]],
) -> None:
    """Ask one node for the names in turn, with several requests on their way."""
    with node.connect() as wire:
        asked: deque[tuple[str, float]] = deque()
        received = b""
        turn = 0
        while not is_over.is_set() or asked:
            while len(asked) < WINDOW and not is_over.is_set():
                name = names[turn % len(names)]
                turn += 1
                asked.append((name, time.monotonic()))
                wire.sendall(f"GET /hdl:{name} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            received, head = take_answer(wire, received)
            name, begin = asked.popleft()
            place = _PLACE.search(head)
            assert place is not None, head
            acts[name].append(Act(begin, time.monotonic(), int(place[1]), number))


def take_answer(
    wire: socket.socket, received: bytes, *, with_body: bool = False
) -> tuple[bytes, bytes]:
    """What was received behind the next answer, or its body, and the head of that answer."""
    while True:
        head = _ANSWER.match(received)
        length = _LENGTH.search(head[0]) if head else None
        size = int(length[1]) if length else 0
        if head is not None and len(received) >= head.end() + size:
            end = head.end() + size
            return received[head.end() : end] if with_body else received[end:], head[0]
        more = wire.recv(1 << 16)
        assert more, received
        received += more


def record_history(nodes: list[Deployment]) -> list[str]:
    """Let clients write and read, and return what is wrong with the answers."""
    token = nodes[0].token("writer")
    names = [f"{PREFIX}/{number}" for number in range(2)]
    for name in names:
        put_location(nodes[0], name, 0, token)
    before = time.monotonic()
    writes = {name: [Act(before, before, 0, 0)] for name in names}
    reads: list[dict[str, list[Act]]] = []
    is_over = threading.Event()
    readers = []
    for number, node in [*enumerate(nodes)] * 2:
        reads.append({name: [] for name in names})
        readers.append(partial(read_numbers, node, number, names, is_over, reads[-1]))
    writers = [partial(write_numbers, nodes, name, token, writes[name]) for name in names]
    failures: list[BaseException] = []
    threads = [threading.Thread(target=note_failure, args=(one, failures)) for one in readers]
    writing = [threading.Thread(target=note_failure, args=(one, failures)) for one in writers]
    for thread in threads + writing:
        thread.start()
    for thread in writing:
        thread.join()
    is_over.set()
    for thread in threads:
        thread.join()
    assert not failures, failures
    wrong = []
    for name in names:
        of_name = [act for each in reads for act in each[name]]
        assert len(of_name) > WRITES
        wrong += find_contradictions(writes[name], of_name)
    return wrong


def note_failure(work: Callable[[], None], failures: list[BaseException]) -> None:
    try:
        work()
    except BaseException as error:
        failures.append(error)


def test_no_node_answers_older_than_the_last_acknowledged_change(place: Path) -> None:
    """Issue: "no node gives an answer older than the last acknowledged change, shown by a history
    checker over nodes".
    """
    with deployed_nodes(place, 2, make_address()) as nodes:
        assert record_history(nodes) == []


def test_the_history_shows_old_answers(place: Path) -> None:
    """With `stale_ms`, nodes give them: so the checker sees what it looks for."""
    with deployed_nodes(place, 2, make_address(), stale_ms=500) as nodes:
        wrong = record_history(nodes)
    assert any("is older than" in one for one in wrong)
    assert not any("was not written" in one for one in wrong)


# What a node asks the database
# -----------------------------


class Asker:
    """Asks the fast path of one node, as the protocol does."""

    def __init__(self, root: Path) -> None:
        self.registry = Registry(root)
        self._generation = self.registry.records.open_counter()
        self._loop = asyncio.new_event_loop()
        self.fast = FastPath(self.registry, self._generation)

    @property
    def queries(self) -> int:
        """The queries of the fast path so far."""
        assert self.fast.turns is not None
        return self.fast.turns.queries

    def ask(self, *targets: str) -> list[bytes | None]:
        """The answers to requests that arrive in one turn of the event loop; None: not by it."""
        return self._loop.run_until_complete(self._ask_all(targets))

    async def _ask_all(self, targets: tuple[str, ...]) -> list[bytes | None]:
        answers: list[asyncio.Future[bytes | None]] = [self._loop.create_future() for _ in targets]
        for target, answer in zip(targets, answers, strict=True):
            self._ask(target.encode(), answer)
        return list(await asyncio.gather(*answers))

    def _ask(self, target: bytes, answer: asyncio.Future[bytes | None]) -> None:
        try:
            answer.set_result(self.fast.entrance(b"GET", target, HEADER))
        except AnswerLater as later:
            later.start(partial(self._ask, target, answer))

    def look_up(self, *keys: str) -> list[str | None]:
        """The stored records of keys, by one query."""

        reader = DatabaseTurns(parse_address(self.registry.settings.store))

        async def read() -> TurnState | None:
            done: asyncio.Future[TurnState | None] = self._loop.create_future()
            reader.read_state(Wants(frozenset(keys)), done.set_result)
            return await done

        state = self._loop.run_until_complete(read())
        reader.close()
        assert state is not None
        return [state.records[key] for key in keys]

    def bind(self, name: str, place: str) -> str:
        command = Bind(identifier=parse(name), locations=(Location(uri=place),), register=True)
        return self.registry.door.execute_command(command).identifier

    def close(self) -> None:
        assert self.fast.turns is not None
        self.fast.turns.close()
        self._loop.close()
        self.registry.close()


@pytest.fixture
def asker(place: Path) -> Iterator[Asker]:
    yield from open_asker(place / "node", make_address())


def open_asker(root: Path, address: str) -> Iterator[Asker]:
    initialise(root, address, series=(SERIES,), shoulders=(SHOULDER,))
    opened = Asker(root)
    yield opened
    opened.close()


def refuse_waiting(*_: object) -> None:
    raise AssertionError("the event loop waited for the database")


def read_places(answers: list[bytes | None]) -> list[bytes]:
    """Where redirects lead."""
    found = [re.search(rb"\r\nlocation: (\S+)\r\n", answer or b"") for answer in answers]
    return [one[1] if one else b"" for one in found]


def test_the_look_ups_of_one_turn_are_one_query(
    asker: Asker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Issue: "Look-ups of one turn of the event loop are one `= ANY` query"."""
    names = [f"pdi://{SERIES}/2026/11/21/{number}" for number in range(1, 65)]
    places = [f"https://a.example/{number}" for number in range(1, 65)]
    for name, place in zip(names, places, strict=True):
        asker.bind(name, place)
    targets = [f"/{name}" for name in names]
    asker.ask("/ark:/99999/fk4none")  # rules and delegations are read once
    monkeypatch.setattr(PostgresqlRecords, "_ask", refuse_waiting)
    for _ in range(2):  # not remembered, remembered
        before = asker.queries
        assert read_places(asker.ask(*targets)) == [place.encode() for place in places]
        assert asker.queries == before + 1


def test_what_is_remembered_is_valid_under_one_count(asker: Asker) -> None:
    """Issue: "hot answers are valid only under the generation read in that same query"."""
    name = f"pdi://{SERIES}/2026/11/21/1"
    asker.bind(name, "https://a.example/")
    first = asker.ask(f"/{name}")
    assert read_places(first) == [b"https://a.example/"]
    assert asker.ask(f"/{name}") == first
    Registry(asker.registry.root).door.execute_command(
        Withdraw(identifier=parse(name), reason="an error")
    )
    assert asker.ask(f"/{name}") == [None]


def test_a_missing_record_is_not_remembered_after_a_change(asker: Asker) -> None:
    """Issue: "no node gives an answer older than the last acknowledged change"."""
    name, alias = f"pdi://{SERIES}/2026/11/21/1", f"pdi://{SERIES}/2026/11/21/2"
    asker.bind(name, "https://a.example/")
    assert asker.ask(f"/{alias}") == [None]
    asker.registry.door.execute_command(Alias(identifier=parse(name), other=parse(alias)))
    assert read_places(asker.ask(f"/{alias}")) == [f"http://resolver.example/{name}".encode()]
    asker.bind("ark:/99999/fk4a", "https://b.example/a")
    assert read_places(asker.ask("/ark:/99999/fk4a/c")) == [b"https://b.example/a/c"]
    asker.bind("ark:/99999/fk4a/c", "https://c.example/")
    assert read_places(asker.ask("/ark:/99999/fk4a/c")) == [b"https://c.example/"]


def test_a_lost_connection_is_opened_again(asker: Asker) -> None:
    name = f"pdi://{SERIES}/2026/11/21/1"
    asker.bind(name, "https://a.example/")
    assert read_places(asker.ask(f"/{name}")) == [b"https://a.example/"]
    for _ in range(2):
        end_sessions()
        assert read_places(asker.ask(f"/{name}")) == [b"https://a.example/"]


def end_sessions() -> None:
    """Have the server end all other sessions."""
    with psycopg.connect(find_server().address) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )


def test_a_lost_server_is_reported_and_found_again(place: Path) -> None:
    """The plain way reports it; the fast path waits for nothing."""
    server = make_server()
    for asker in open_asker(place / "node", server.address):
        name = f"pdi://{SERIES}/2026/11/21/1"
        asker.bind(name, "https://a.example/")
        asker.ask(f"/{name}")
        server.stop()
        assert asker.ask(f"/{name}") == [None]
        server.start()
        assert read_places(asker.ask(f"/{name}")) == [b"https://a.example/"]
    server.remove()


def test_a_key_that_no_database_has_does_not_disturb_others(asker: Asker) -> None:
    """PostgreSQL stores no zero bytes, and a query that has one fails as a whole."""
    name = f"pdi://{SERIES}/2026/11/21/1"
    asker.bind(name, "https://a.example/")
    answers = asker.ask("/hdl:21.T14999/a%00b", f"/{name}", "/urn:x-a:%ED%A0%80")
    assert read_places(answers) == [b"", b"https://a.example/", b""]


def test_a_key_with_the_separator_of_keys_is_looked_up(asker: Asker) -> None:
    """No identifier has it, but a query must not depend on that."""
    keys = ["hdl:1/1", "hdl:1/a\x01b"]
    text = encode_stored(Record(at="2026-11-21T12:00:00Z")).decode()
    with closing(PostgresqlJournal(parse_address(asker.registry.settings.store))) as journal:
        journal.begin_batch()
        journal.add_records([(key, text) for key in keys], Deed("mint", text, "local"))
        journal.commit_batch()
    assert asker.look_up(*keys) == [text, text]
    assert asker.look_up(keys[0]) == [text]


# Answers
# -------


def ask_node(node: Deployment, target: str, *fields: str) -> tuple[bytes, bytes]:
    """The head, without what differs between connections, and the body of an answer."""
    with node.connect() as wire:
        lines = (f"GET {target} HTTP/1.1", "Host: a.example", *fields, "", "")
        wire.sendall("\r\n".join(lines).encode())
        rest, head = take_answer(wire, b"", with_body=True)
    kept = [one for one in head.split(b"\r\n") if not one.lower().startswith(OF_CONNECTIONS)]
    return b"\r\n".join(kept), rest


def test_both_ways_answer_alike_on_a_database(place: Path) -> None:
    """The plain way answers if the connection is to be closed."""
    with deployed_nodes(place, 1, make_address()) as (node,):
        token = node.token("writer")
        one, other = (
            node.bind(f"pdi://{SERIES}/2026/11/21/{n}", f"https://a.example/{n}") for n in (1, 2)
        )
        node.do(Alias(identifier=parse(one), other=parse(f"pdi://{SERIES}/2026/11/21/3")))
        node.bind(f"ark:/{SHOULDER}a", "https://a.example/ark")
        node.bind(f"pdi://{SERIES}/2026/11/21/4", "https://a.example/4", "https://b.example/4")
        node.do(Withdraw(identifier=parse(other), reason="an error"))
        put_location(node, f"{PREFIX}/1", 7, token)
        held = node.mint(text(b"Dear Sir"))
        targets = [
            f"/{one}", f"/{other}", f"/pdi://{SERIES}/2026/11/21/3", f"/pdi://{SERIES}/2026/11/21/4",
            f"/ark:/{SHOULDER}a/rest", f"/ark:/{SHOULDER}b", f"/hdl:{PREFIX}/1", f"/{PREFIX}/1",
            f"/api/handles/{PREFIX}/1", f"/{held}", f"/{resource(held)}", f"/{one}#p1", "/nothing",
        ]  # fmt: skip
        for target in targets * 2:
            assert ask_node(node, target) == ask_node(node, target, "Connection: close"), target
        answered = node.get("/metrics").body.decode()
    counts = re.findall(r"(?m)^perdure_fast_answers_total\S* (\S+)$", answered)
    assert sum(map(float, counts)) >= len(targets)
