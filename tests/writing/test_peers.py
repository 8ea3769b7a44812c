"""Many processes, one writer: numbers stay dense, versions stay single, nothing is lost."""

from __future__ import annotations

import asyncio
import fcntl
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import SERIES, TODAY, Clock, Desk, StartWorker, copy_as_new, sha512, text
from tests.crash.worker import body

from perdure.errors import InvalidRequest, PerdureError, Unavailable
from perdure.errors.naming import SerialNotCome
from perdure.errors.processes import CommandFailed, DoorUnusable, OutcomeUnknown
from perdure.ids import parse
from perdure.model.commands import (
    Alias,
    Assign,
    Bind,
    Break,
    Command,
    Commit,
    Describe,
    Load,
    LoadRow,
    Mint,
    Outcome,
    Receipt,
    Register,
    Relocate,
    Restrict,
    SaveToken,
    Withdraw,
)
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import Location, Token, Value
from perdure.registry import Registry
from perdure.storage.durable import WRITE_LOCK
from perdure.writing.peers import (
    SOCKET,
    decode_answer,
    decode_command,
    encode_answer,
    encode_command,
)

OpenRegistry = Callable[[], Registry]


@pytest.fixture
def open_registry(root: Path, clock: Clock) -> Iterator[OpenRegistry]:
    """Opens the same registry once more, as another process would."""
    opened: list[Registry] = []

    def open_registry() -> Registry:
        opened.append(Registry(root, environment={}, clock=clock))
        return opened[-1]

    yield open_registry
    for registry in reversed(opened):
        registry.close()


def mint(data: str = "a", once: str | None = None) -> Mint:
    return Mint(authority=SERIES, contents=(text(data),), once=once)


def serials(identifiers: list[str]) -> list[int]:
    """The serial numbers of version 1 of each, in order."""
    names = {name.rpartition("/")[2].split(".")[0] for name in identifiers}
    return sorted(map(int, names))


# Eight processes
# ---------------


def test_eight_processes_mint_densely_and_uniquely(root: Path, start: StartWorker) -> None:
    workers = [start("mint", f"actor{number}", 32) for number in range(8)]
    for worker in workers:
        worker.hear_until("done")
    for worker in workers:
        worker.stop()
    receipts = [(f"actor{n}", one) for n, worker in enumerate(workers) for one in worker.receipts]
    assert len(receipts) == 8 * 32
    names = [one["identifier"] for _, one in receipts]
    assert len(set(names)) == len(names)
    minted = serials(names)
    assert minted == list(range(1, 8 * 24 + 1))  # every fourth command was a commit
    with Registry(root, environment={}) as registry:
        for actor, one in receipts:
            assert read(registry, one["identifier"]) == body(actor, one["number"])


def read(registry: Registry, name: str) -> bytes:
    identifier = parse(name)
    record = registry.listings.find_record(identifier)
    assert record is not None
    version = record.version(int(name.rpartition(".")[2]))
    assert version is not None
    return registry.listings.read_bytes(version.representations[0])


@pytest.mark.parametrize("same", [False, True])
def test_two_processes_commit_the_same_versions_at_once(
    desk: Desk, start: StartWorker, same: bool
) -> None:
    """Of other bytes exactly one wins; of identical ones the second is a no-op that says so."""
    name = desk.mint(text("one")).identifier
    desk.registry.close()
    text_of_both = ("both",) if same else ()
    workers = [start("commit", actor, name, 2, 21, *text_of_both) for actor in ("anna", "ben")]
    for worker in workers:
        worker.hear_until("done")
    for worker in workers:
        worker.stop()
    outcomes = [
        {one["version"]: one["outcome"] for one in worker.said if "version" in one}
        for worker in workers
    ]
    other = "unchanged" if same else "conflict"
    for version in range(2, 22):
        assert sorted(found[version] for found in outcomes) == sorted(["created", other])
    desk.reopen()
    record = desk.record(name)
    assert [one.number for one in record.versions] == list(range(1, 22))
    for version in range(2, 22):
        winner = "both" if same else ("anna", "ben")[outcomes[1][version] == "created"]
        assert desk.served(name, version) == f"{winner} {version}".encode()


# Leaders that end
# ----------------


def submit(registry: Registry, commands: list[Mint]) -> list[Receipt | PerdureError]:
    """All at once, from one thread, as a server does it; receipts and errors in order."""
    answers: dict[int, Receipt | PerdureError] = {}
    done = threading.Semaphore(0)

    def deliver(number: int, answer: Receipt | PerdureError) -> None:
        assert number not in answers  # each command is answered exactly once
        answers[number] = answer
        done.release()

    for number, command in enumerate(commands):
        registry.door.enqueue_command(command, partial(deliver, number))
    for _ in commands:
        assert done.acquire(timeout=60)
    return [answers[number] for number in range(len(commands))]


@pytest.mark.parametrize("heard", [2, 7, 20])
def test_a_leader_that_is_killed_leaves_each_key_one_receipt(
    root: Path, start: StartWorker, heard: int
) -> None:
    """What was not answered has an unknown outcome; repeated with its key, it is done once."""
    leader = start("mint", "leader", 2000)
    for _ in range(heard):
        leader.hear()
    with Registry(root, environment={}) as follower:
        follower.door.elect_leader()
        assert follower.door.committer is None  # somebody else leads
        commands = [mint(f"document {number}", once=f"k{number}") for number in range(200)]
        killer = threading.Timer(0.01 * heard, leader.kill)
        killer.start()
        answers = submit(follower, commands)
        killer.join()
        repeated = submit(follower, commands)
        assert follower.door.committer is not None
        for first, second in zip(answers, repeated, strict=True):
            assert isinstance(second, Receipt)
            if isinstance(first, Receipt):
                assert second.identifier == first.identifier
                assert second.replayed
            else:
                assert isinstance(first, OutcomeUnknown)
                assert "same idempotency key" in first.reason
        names = [one.identifier for one in repeated if isinstance(one, Receipt)]
        assert len(set(names)) == len(commands)
        for number, name in enumerate(names):
            assert read(follower, name) == f"document {number}".encode()
        for one in leader.receipts:
            assert read(follower, one["identifier"]) == body("leader", one["number"])


def test_a_leader_that_stops_in_good_order_hands_over_and_loses_nothing(
    open_registry: OpenRegistry,
) -> None:
    leader, follower = open_registry(), open_registry()
    leader.door.elect_leader()
    follower.door.elect_leader()
    assert follower.door.committer is None
    commands = [mint(f"document {number}") for number in range(300)]
    stopping = threading.Timer(0.005, leader.close)
    stopping.start()
    answers = submit(follower, commands)
    stopping.join()
    assert [type(one) for one in answers] == [Receipt] * 300
    names = [one.identifier for one in answers if isinstance(one, Receipt)]
    assert serials(names) == list(range(1, 301))
    assert follower.door.execute_command(mint()).identifier == f"{TODAY}/301.text.1"
    assert follower.door.committer is not None


@pytest.mark.parametrize("orderly", [True, False])
def test_what_a_leader_did_not_take_is_handed_over_only_if_it_says_so(
    root: Path, open_registry: OpenRegistry, orderly: bool
) -> None:
    """A leader that takes one of three commands and ends, saying that it did not take the others,
    or saying nothing: then nobody knows, and nothing is repeated in secret."""
    lock = (root / WRITE_LOCK).open("wb")
    fcntl.flock(lock, fcntl.LOCK_EX)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(root / SOCKET))
    listener.listen()
    first = Receipt(outcome=Outcome.CREATED, identifier=f"{TODAY}/77.text.1")

    def lead() -> None:
        connection, _ = listener.accept()
        connection.sendall(frame(b"ready"))
        commands = [mint("one"), mint("two"), mint("three")]
        expected = b"".join(frame(encode_command(command)) for command in commands)
        received = b""
        while len(received) < len(expected):
            received += connection.recv(1 << 16)
        connection.sendall(frame(encode_answer(first)))
        lock.close()
        if orderly:
            connection.sendall(frame(b""))
        connection.close()
        listener.close()

    leader = threading.Thread(target=lead)
    leader.start()
    follower = open_registry()
    answers = submit(follower, [mint("one"), mint("two"), mint("three")])
    leader.join()
    assert answers[0] == first
    if orderly:
        names = [one.identifier for one in answers[1:] if isinstance(one, Receipt)]
        assert names == [f"{TODAY}/1.text.1", f"{TODAY}/2.text.1"]
        assert read(follower, names[0]) == b"two"
    else:
        assert [type(one) for one in answers[1:]] == [OutcomeUnknown, OutcomeUnknown]
        assert follower.records.count_records() == 0
    assert follower.door.execute_command(mint("four")).outcome is Outcome.CREATED


def test_a_worker_may_stop_while_others_write(root: Path, start: StartWorker) -> None:
    """Three rounds of leaders; each stops in good order while the next is writing."""
    workers = []
    for number in range(3):
        workers.append(start("mint", f"actor{number}", 60))
        workers[-1].hear_until("ready")
    for worker in workers:
        worker.hear_until("done")
        worker.stop()
        assert worker.errors == []
    names = [one["identifier"] for worker in workers for one in worker.receipts]
    assert serials(names) == list(range(1, 3 * 45 + 1))


def test_the_lock_has_one_holder(open_registry: OpenRegistry) -> None:
    first, second = open_registry(), open_registry()
    first.door.execute_command(mint())
    assert second.door.execute_command(mint()).identifier.endswith("/2.text.1")
    assert first.door.committer is not None
    assert second.door.committer is None
    first.close()
    assert second.door.execute_command(mint()).identifier.endswith("/3.text.1")
    assert second.door.committer is not None
    third = open_registry()
    assert third.door.execute_command(mint()).identifier.endswith("/4.text.1")


def test_a_door_that_was_closed_takes_nothing(open_registry: OpenRegistry) -> None:
    leader, follower = open_registry(), open_registry()
    leader.door.execute_command(mint())
    follower.door.execute_command(mint())
    follower.close()
    leader.close()
    for registry in (leader, follower):
        with pytest.raises(Unavailable, match="this process is stopping"):
            registry.door.execute_command(mint())
        registry.close()  # once more harms nothing
    assert open_registry().door.execute_command(mint()).identifier.endswith("/3.text.1")


def test_whoever_writes_while_the_door_closes_gets_an_answer(open_registry: OpenRegistry) -> None:
    registry = open_registry()
    registry.door.execute_command(mint())
    receipts: list[str] = []
    refusals: list[str] = []

    def write() -> None:
        try:
            while True:
                receipts.append(registry.door.execute_command(mint()).identifier)
        except Unavailable as error:
            refusals.append(error.reason)

    threads = [threading.Thread(target=write) for _ in range(8)]
    for thread in threads:
        thread.start()
    while len(receipts) < 50:
        pass
    registry.close()
    for thread in threads:
        thread.join()
    assert refusals == ["this process is stopping"] * 8
    assert serials(receipts) == list(range(2, len(receipts) + 2))
    with Registry(registry.root, environment={}) as again:
        assert again.records.count_records() == len(receipts) + 1


# Event loops
# -----------


@pytest.mark.parametrize("follows", [False, True])
def test_an_event_loop_waits_without_blocking(open_registry: OpenRegistry, follows: bool) -> None:
    if follows:
        open_registry().door.execute_command(mint())
    registry = open_registry()

    async def many() -> list[Receipt]:
        return await asyncio.gather(
            *(registry.door.submit_command(mint(str(n))) for n in range(200))
        )

    receipts = asyncio.run(many())
    first = 2 if follows else 1
    assert serials([one.identifier for one in receipts]) == list(range(first, 200 + first))
    assert (registry.door.committer is None) == follows

    async def wrong() -> Receipt:
        return await registry.door.submit_command(Mint(authority=SERIES, uid="7"))

    with pytest.raises(InvalidRequest):
        asyncio.run(wrong())


@pytest.mark.parametrize("turns", [1, 4])
def test_commands_that_wait_for_an_election_stay_in_order(
    open_registry: OpenRegistry, monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    """\"Commands of one caller are carried out in the order in which they were given.\""""
    door = open_registry().door
    begun, end = threading.Event(), threading.Event()
    elect = door.elect_leader

    def elect_slowly() -> None:
        begun.set()
        end.wait()
        elect()

    monkeypatch.setattr(door, "elect_leader", elect_slowly)  # as with a leader that is ending

    async def submit_all() -> list[Receipt]:
        waiting = []
        for number in range(24):
            waiting.append(door.submit_command(mint(str(number))))
            if number % (24 // turns) == 0:
                await asyncio.sleep(0)  # the loop goes on, although the door is not open
        await asyncio.to_thread(begun.wait)
        end.set()
        return await asyncio.gather(*waiting)

    receipts = asyncio.run(submit_all())
    numbers = [int(one.identifier.rpartition("/")[2].split(".")[0]) for one in receipts]
    assert numbers == list(range(1, 25))


def test_a_door_that_fails_to_open_answers_each_command(open_registry: OpenRegistry) -> None:
    """\"Each command is answered exactly once.\""""
    registry = open_registry()
    (registry.root / WRITE_LOCK).mkdir()

    async def submit_two() -> list[Receipt | BaseException]:
        waiting = [registry.door.submit_command(mint()) for _ in range(2)]
        return await asyncio.gather(*waiting, return_exceptions=True)

    answers = asyncio.run(submit_two())
    assert [type(one) for one in answers] == [DoorUnusable] * 2


def test_a_mistake_while_a_door_opens_is_an_answer(
    open_registry: OpenRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = open_registry()

    def fail() -> None:
        raise ValueError("a mistake")

    monkeypatch.setattr(registry.door, "elect_leader", fail)
    with pytest.raises(CommandFailed, match="a mistake"):
        asyncio.run(asyncio.wait_for(_submit(registry, mint()), 60))


async def _submit(registry: Registry, command: Command) -> Receipt:
    return await registry.door.submit_command(command)


def test_an_event_loop_that_went_away_takes_nobody_along(open_registry: OpenRegistry) -> None:
    registry = open_registry()

    async def impatient() -> None:
        for number in range(50):
            waiting = registry.door.submit_command(mint(str(number)))
            await asyncio.sleep(0)
            if number % 2:
                waiting.cancel()

    asyncio.run(impatient())  # its loop is closed before the last answers come
    assert registry.door.execute_command(mint()).outcome is Outcome.CREATED


# Strange places and strange clients
# ----------------------------------


def test_a_directory_may_lie_deeper_than_the_path_of_a_socket(pristine: Path, place: Path) -> None:
    """The system allows 107 bytes for the path of a socket."""
    deep = place / ("d" * 100) / ("e" * 100) / ("f" * 100)
    copy_as_new(pristine, deep)
    with Registry(deep, environment={}) as leader, Registry(deep, environment={}) as follower:
        leader.door.execute_command(mint())
        assert follower.door.execute_command(mint()).identifier.endswith("/2.text.1")
        assert follower.door.committer is None


def test_what_another_leader_left_lying_is_in_nobodys_way(
    root: Path, open_registry: OpenRegistry
) -> None:
    (root / WRITE_LOCK).write_bytes(b"")
    dead = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    dead.bind(str(root / SOCKET))
    dead.close()
    leader, follower = open_registry(), open_registry()
    leader.door.execute_command(mint())
    assert follower.door.execute_command(mint()).identifier.endswith("/2.text.1")
    assert ((root / SOCKET).stat().st_mode & 0o777) == 0o600


def frame(data: bytes) -> bytes:
    return struct.pack("!I", len(data)) + data


def connect(root: Path) -> socket.socket:
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.settimeout(30)
    client.connect(str(root / SOCKET))
    assert client.recv(9) == frame(b"ready")
    return client


def answers_of(client: socket.socket, count: int) -> list[Any]:
    file = client.makefile("rb")
    found = []
    for _ in range(count):
        (length,) = struct.unpack("!I", file.read(4))
        found.append(decode_answer(file.read(length)))
    return found


def test_a_client_that_speaks_nonsense_is_told_in_its_turn(
    root: Path, open_registry: OpenRegistry
) -> None:
    leader = open_registry()
    leader.door.execute_command(mint())
    client = connect(root)
    good = encode_command(mint())
    unknown = msgspec.msgpack.encode(("Destroy", {}))
    malformed = msgspec.msgpack.encode(("Withdraw", {"identifier": "nonsense", "reason": "x"}))
    client.sendall(b"".join(map(frame, (good, b"\xc1", good, unknown, malformed, good))))
    answers = answers_of(client, 6)
    done = [isinstance(one, Receipt) for one in answers]
    refused = [isinstance(one, InvalidRequest) for one in answers]
    assert done == [True, False, True, False, False, True]
    assert refused == [False, True, False, True, True, False]
    client.sendall(struct.pack("!I", (1 << 32) - 1))  # and now 4 GiB, please
    assert client.recv(4) == frame(b"")  # it is sent away in good order
    assert client.recv(1) == b""
    client.close()
    assert leader.door.execute_command(mint()).identifier.endswith("/5.text.1")


def test_clients_that_vanish_or_say_nothing_hold_nobody_up(
    root: Path, open_registry: OpenRegistry
) -> None:
    leader = open_registry()
    leader.door.execute_command(mint())
    silent, vanishing, halfway = (connect(root) for _ in range(3))
    vanishing.sendall(frame(encode_command(mint())))
    vanishing.close()
    halfway.sendall(frame(encode_command(mint()))[:-1])
    assert leader.door.execute_command(mint()).outcome is Outcome.CREATED
    leader.close()
    assert silent.recv(100) == frame(b"")
    assert halfway.recv(100) == frame(b"")  # half a command was not taken
    for client in (silent, halfway):
        client.close()
    assert open_registry().records.count_records() == 3


def test_what_cannot_be_sent_is_refused(open_registry: OpenRegistry) -> None:
    leader, follower = open_registry(), open_registry()
    leader.door.execute_command(mint())
    number = Mint(authority=SERIES, locations=(Location(uri="https://a.example/", weight=2**70),))
    for registry in (leader, follower):
        for command in (Mint(authority=SERIES, metadata={"title": "\ud800"}), number):
            with pytest.raises(InvalidRequest):
                registry.door.execute_command(command)
    assert follower.door.execute_command(mint()).identifier == f"{TODAY}/2.text.1"


# Commands and answers as bytes
# -----------------------------

words = st.text(max_size=5)
identifiers = st.sampled_from(
    [
        parse(name)
        for name in (
            "pdi://oma.eop.gov.us/1997/09/01/1.text.1",
            "hdl:4263537/4000",
            "doi:10.1000/182",
            "ark:12345/x6np1wh8k/c3",
            "URN:IANA:1::Foo:::",
            "urn:isbn:9780141036144",
            "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk",
        )
    ]
)
contents = st.builds(text, st.binary(max_size=9), st.sampled_from(["text", "html"]))
locations = st.builds(
    Location,
    uri=words,
    version=st.none() | st.integers(1, 9),
    sha512=st.none() | st.just(sha512(b"")),
    weight=st.integers(0, 9),
)
tokens = st.builds(
    Token,
    name=words,
    digest=words,
    operations=st.tuples(words),
    authorities=st.tuples(words, words),
    expires=st.none() | words,
)
rows = st.builds(
    LoadRow,
    words,
    st.binary(max_size=9),
    st.integers(0, 9),
    st.lists(st.integers(-(2**63), 2**63 - 1), max_size=2).map(tuple),
    st.lists(st.tuples(st.integers(1, 9), contents), max_size=2).map(tuple),
)
values = st.builds(Value, index=st.integers(0, 9), type=words, data=words, ttl=st.integers(0, 9))
some_contents = st.lists(contents, max_size=2).map(tuple)
some_locations = st.lists(locations, max_size=2).map(tuple)
once = st.none() | words
commands: st.SearchStrategy[Command] = st.one_of(
    st.builds(
        Mint,
        by=words,
        authority=words,
        uid=once,
        contents=some_contents,
        locations=some_locations,
        metadata=st.dictionaries(words, words, max_size=2),
        targets=st.lists(identifiers, max_size=2).map(tuple),
        once=once,
    ),
    st.builds(Restrict, rule=st.builds(ReadingRule, about=words, access=st.sampled_from(Access))),
    st.builds(Register, identifier=identifiers, contents=some_contents, locations=some_locations),
    st.builds(Commit, identifier=identifiers, contents=some_contents, once=once),
    st.builds(Bind, identifier=identifiers, locations=some_locations, register=st.booleans()),
    st.builds(Break, identifier=identifiers, uri=words, content=st.none() | contents),
    st.builds(Alias, identifier=identifiers, other=identifiers),
    st.builds(
        Withdraw, identifier=identifiers, reason=words, version=st.none() | st.integers(1, 10**18)
    ),
    st.builds(
        Assign,
        identifier=identifiers,
        values=st.none() | st.lists(values, max_size=2).map(tuple),
        expect=st.none() | st.integers(0, 9),
    ),
    st.builds(Describe, identifier=identifiers, part=once, patch=st.none() | st.binary(max_size=9)),
    st.builds(Relocate, moves=st.just((("a", "b"),)), keys=st.just((("hdl:1/1", 7),))),
    st.builds(SaveToken, token=tokens),
    st.builds(Load, rows=st.lists(rows, max_size=2).map(tuple), last=st.booleans()),
)


@given(commands)
def test_a_command_arrives_as_it_was_sent(command: Command) -> None:
    assert decode_command(encode_command(command)) == command


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"identifier": "hdl:1/1"},
        {"identifier": "hdl:1/1", "other": "x"},
        {"identifier": "hdl:1", "other": "hdl:1/1"},
        {"identifier": 7, "other": "hdl:1/1"},
        {"identifier": "hdl:1/1", "other": "hdl:1/2", "by": 7},
        [],
        7,
    ],
    ids=str,
)
def test_what_is_no_command_is_not_decoded(fields: object) -> None:
    with pytest.raises(msgspec.MsgspecError):
        decode_command(msgspec.msgpack.encode(("Alias", fields)))
    with pytest.raises(KeyError):
        decode_command(msgspec.msgpack.encode(("Nothing", fields)))


def test_an_error_arrives_as_it_was_sent() -> None:
    """For every class: tests/errors/test_laws.py."""
    sent = SerialNotCome(identifier="pdi://a.example.us/2026/11/22/9", last=3)
    assert decode_answer(encode_answer(sent)) == sent


@given(
    st.builds(
        Receipt,
        outcome=st.sampled_from(Outcome),
        identifier=words,
        revision=st.integers(0, 9),
        replayed=st.booleans(),
        rejected=st.lists(st.tuples(st.integers(1, 9), words), max_size=2).map(tuple),
    )
)
def test_a_receipt_arrives_as_it_was_sent(receipt: Receipt) -> None:
    assert decode_answer(encode_answer(receipt)) == receipt
