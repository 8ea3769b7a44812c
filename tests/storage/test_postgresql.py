"""A registry in PostgreSQL, with a real server: commands, nodes side by side, and lost servers.

What every store promises is in the contract tests.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import psycopg
import pytest
from tests.cli.conftest import Shell
from tests.conftest import SERIES, text
from tests.storage.postgresql_server import PostgresqlServer, make_address, make_server

from perdure.errors import BadSettings, PerdureError, Unavailable
from perdure.errors.configuring import StoreAddressMalformed, StoreIsFixed
from perdure.errors.processes import NotOfThisStore, OtherFormat, RegistryNotInDatabase
from perdure.errors.unavailable import BytesAtKeeper
from perdure.ids import parse
from perdure.ids.pdi import Pdi
from perdure.model.changes import Deed
from perdure.model.commands import Bind, Mint, Outcome, Register
from perdure.model.records import Location, Record
from perdure.model.stored import encode_stored
from perdure.registry import Registry, initialise, load_store
from perdure.storage.ports import JournalInterrupted
from perdure.storage.postgresql.addresses import parse_address
from perdure.storage.postgresql.connecting import connect, connect_database
from perdure.storage.postgresql.journal import PostgresqlJournal
from perdure.upkeep.changes.walking import check_changes

AT = "2026-11-21T12:00:00Z"
DEED = Deed("mint", AT, "local")
RESERVE = Mint(authority=SERIES)


def make_node(root: Path, address: str) -> Path:
    root.mkdir()
    initialise(root, address, series=(SERIES,))
    return root


@pytest.fixture
def address() -> str:
    return make_address()


@pytest.fixture
def nodes(place: Path, address: str) -> Iterator[list[Registry]]:
    """Two nodes of one registry."""
    opened = [Registry(make_node(place / name, address)) for name in ("one", "two")]
    yield opened
    for node in opened:
        node.close()


@pytest.fixture
def server() -> Iterator[PostgresqlServer]:
    """A server of this test alone, which it may stop."""
    made = make_server()
    yield made
    made.remove()


def ask_server(address: str, statement: str) -> None:
    """Send a statement to the database of a registry, in its schema."""
    parsed = parse_address(address)
    with psycopg.connect(**parsed.parameters) as connection:  # type: ignore[arg-type]
        connection.execute(f"SET search_path TO {parsed.schema}")
        connection.execute(statement)


def run_together(*tasks: Callable[[], None]) -> None:
    threads = [threading.Thread(target=task) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def check_serials(names: list[str]) -> None:
    """Assert that the names of a day have the numbers from 1 on, each once."""
    by_day: dict[str, list[int]] = {}
    for name in names:
        day, _, serial = name.rpartition("/")
        by_day.setdefault(day, []).append(int(serial))
    for serials in by_day.values():
        assert sorted(serials) == list(range(1, len(serials) + 1))


# The command line
# ----------------


def test_the_commands_work_on_it(place: Path, address: str) -> None:
    shell = Shell(make_node(place / "node", address))
    letter = "Dear Sir,\nyours\n"
    minted = shell.lines("mint", "--series", SERIES, "-", "--type", "text/plain", stdin=letter)
    name = minted[0].removesuffix(".text.1")
    assert shell.run("get", name).stdout == letter
    assert shell.run("get", name, "--part", "char=0,4").stdout == "Dear"
    other = shell.lines("mint", "--series", SERIES)[0]
    assert other == f"{name[:-1]}2"
    shell.run("bind", other, "https://a.example/")
    shell.run("commit", name, "-", "--type", "text/plain", stdin="again\n")
    assert shell.run("resolve", other).stdout == "redirect https://a.example/\n"
    assert shell.lines("list", f"pdi://{SERIES}/") == [name, other]
    assert [line.split()[0] for line in shell.lines("changes")] == [f"1.{n}" for n in range(1, 6)]
    assert shell.json("verify")["problems"] == 0
    assert shell.json("verify", "--all")["problems"] == 0
    assert len(shell.lines("history", name)) >= 2
    lines = shell.lines("export")
    shell.run("withdraw", name, "--reason", "a court said so")
    assert len(shell.lines("export")) == len(lines)


def test_a_copy_is_left_to_the_tools_of_the_server(place: Path, address: str) -> None:
    root = make_node(place / "node", address)
    store = load_store(address)
    with pytest.raises(NotOfThisStore, match="pg_dump"):
        store.begin_copy(root, root, place / "copy")
    for work in (store.open_renewal, store.open_salvage):
        with pytest.raises(NotOfThisStore, match="pg_restore"):
            work(root)


# Addresses and passwords
# -----------------------

SECRET = "geheim-42"


@pytest.mark.parametrize(
    "given",
    [
        f"postgresql://u:{SECRET}@127.0.0.1:5/x",
        f"postgresql://u:{SECRET}@127.0.0.1:5/x?schema=Bad",
        f"postgresql://u:{SECRET}/y@127.0.0.1:5/x",
        f"postgresql://127.0.0.1:5/x?password={SECRET}",
        f"postgresql://127.0.0.1:5/x?password={SECRET}&nothing=1",
        f"postgresq://u:{SECRET}@127.0.0.1:5/x",
        f"sqlite://u:{SECRET}@x",
    ],
)
def test_no_error_has_the_password(place: Path, given: str) -> None:
    with pytest.raises(PerdureError) as raised:
        initialise(place / "node", given, series=(SERIES,))
    assert SECRET not in f"{raised.value}{raised.value!r}{raised.value.problem()}"


def test_a_wrong_address_is_a_mistake_of_the_setting() -> None:
    with pytest.raises(StoreAddressMalformed):
        load_store("postgresql://h/db?nothing=1")
    with pytest.raises(BadSettings):
        load_store("postgresql://[h/db")


def test_the_store_of_a_registry_stays(place: Path, address: str) -> None:
    root = make_node(place / "node", address)
    with pytest.raises(StoreIsFixed):
        initialise(root, "sqlite")
    assert initialise(root, series=("b.example.us",)).series == (SERIES, "b.example.us")


def test_a_database_without_a_registry_is_told(address: str) -> None:
    with pytest.raises(RegistryNotInDatabase, match="perdure init"):
        load_store(address).open_records(Path()).count_records()


def test_tables_of_another_release_are_refused(place: Path, address: str) -> None:
    root = make_node(place / "node", address)
    ask_server(address, "UPDATE meta SET value = '2' WHERE name = 'format'")
    with Registry(root) as registry, pytest.raises(OtherFormat, match="a newer one"):
        registry.records.count_records()


# What was written stays
# ----------------------


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM records",
        "TRUNCATE records",
        "UPDATE records SET record = 'x'",
        "UPDATE records SET key = 'x'",
        "DELETE FROM history",
        "UPDATE history SET record = 'x'",
        "DELETE FROM changes",
        "UPDATE changes SET digest = ''",
        "UPDATE changes SET number = number + 1",
        "UPDATE epochs SET reason = 'x'",
        "DELETE FROM token_changes",
    ],
)
def test_the_database_refuses_to_forget(place: Path, address: str, statement: str) -> None:
    load_store(address).create_registry(place)
    with closing(PostgresqlJournal(parse_address(address))) as journal:
        journal.number_changes(AT)
        journal.begin_batch()
        line = encode_stored(Record(at=AT)).decode()
        journal.add_records([("hdl:1/1", line)], DEED)
        later = encode_stored(Record(at=AT, revision=2)).decode()
        journal.revise_record("hdl:1/1", later, 2, DEED)
        journal.commit_batch()
        assert journal.find_head() is not None
    with pytest.raises(psycopg.Error, match=r"only|never|permission denied"):
        ask_server(address, statement)


# Nodes side by side
# ------------------


def test_nodes_see_what_each_has_acknowledged(nodes: list[Registry]) -> None:
    one, two = nodes
    name = one.door.execute_command(RESERVE).identifier
    with two.records.open_counter() as counter:
        before = counter.revision_count
        one.door.execute_command(Bind(identifier=parse(name), locations=(_at("a"),)))
        assert counter.revision_count != before
    found = two.records.find_record(parse(name).key)
    assert found is not None
    assert [place.uri for place in found.locations] == ["https://a.example/"]
    two.door.execute_command(Bind(identifier=parse(name), locations=(_at("b"),)))
    assert len(one.records.list_revisions(parse(name).key)) == 3


def _at(host: str) -> Location:
    return Location(uri=f"https://{host}.example/")


def test_bytes_are_kept_by_the_first_node(nodes: list[Registry]) -> None:
    one, two = nodes
    mint = Mint(authority=SERIES, contents=(text("one"),))
    name = one.door.execute_command(mint).identifier
    record = two.records.find_record(parse(name).resource.key)
    assert record is not None
    (held,) = record.versions[0].representations
    assert one.bytes.read_bytes(held) == b"one"
    with pytest.raises(BytesAtKeeper):
        two.bytes.read_bytes(held)
    with pytest.raises(BytesAtKeeper):
        two.door.execute_command(mint)
    assert two.door.execute_command(RESERVE).identifier.endswith("/2")


def test_two_nodes_mint_in_one_series_without_hole_or_twin(nodes: list[Registry]) -> None:
    """Rulings: no identifier is used twice, "not on a second node"."""
    names: list[str] = []

    def mint_some(node: Registry) -> None:
        names.extend(node.door.execute_command(RESERVE).identifier for _ in range(40))

    run_together(*(partial(mint_some, node) for node in (*nodes, *nodes)))
    assert len(names) == 160
    check_serials(names)
    assert [one.problem for one in check_changes(nodes[0].records) if one.problem] == []


def test_two_nodes_register_a_name_once(nodes: list[Registry]) -> None:
    answers: dict[str, list[Outcome]] = {f"hdl:1/{number}": [] for number in range(20)}

    def register_all(node: Registry) -> None:
        for name, outcomes in answers.items():
            command = Register(identifier=parse(name), locations=(_at("a"),))
            outcomes.append(node.door.execute_command(command).outcome)

    run_together(*(partial(register_all, node) for node in nodes))
    for outcomes in answers.values():
        assert sorted(outcomes) == [Outcome.CREATED, Outcome.UNCHANGED]
    assert nodes[0].records.count_revisions() == len(answers)


def test_a_batch_that_was_overtaken_is_carried_out_again(address: str, place: Path) -> None:
    load_store(address).create_registry(place)
    parsed = parse_address(address)
    line = encode_stored(Record(at=AT)).decode()
    with (
        closing(PostgresqlJournal(parsed)) as one,
        closing(PostgresqlJournal(parsed)) as two,
    ):
        one.number_changes(AT)
        for journal in (one, two):
            journal.begin_batch()
            assert journal.find_stored("hdl:1/1") is None
        one.add_records([("hdl:1/1", line)], DEED)
        one.commit_batch()
        with pytest.raises(JournalInterrupted, match="hdl:1/1"):
            two.add_records([("hdl:1/1", line)], DEED)
        two.roll_back()
        two.begin_batch()
        assert two.find_stored("hdl:1/1") == line
        two.roll_back()


# Lost connections and servers
# ----------------------------


def test_a_commit_whose_answer_was_lost_is_looked_up(address: str, place: Path) -> None:
    load_store(address).create_registry(place)
    line = encode_stored(Record(at=AT)).decode()
    with closing(PostgresqlJournal(parse_address(address))) as journal:
        journal.number_changes(AT)
        for number, is_stored in enumerate((True, False, True)):
            journal.begin_batch()
            journal.add_records([(f"hdl:1/{number}", line)], DEED)
            _lose_answer(journal, is_stored=is_stored)
            if is_stored:
                journal.commit_batch()
            else:
                with pytest.raises(JournalInterrupted):
                    journal.commit_batch()
                journal.roll_back()
            found = journal.find_stored(f"hdl:1/{number}")
            assert (found is not None) is is_stored


def _lose_answer(journal: PostgresqlJournal, *, is_stored: bool) -> None:
    """Cut the connection just after the commit reached the server, or just before."""
    send = journal._send_waiting

    def send_and_cut() -> None:
        if not any(statement == "COMMIT" for statement, _ in journal._waiting):
            return send()
        journal._send_waiting = send  # type: ignore[method-assign]
        assert journal._only is not None
        if is_stored:
            send()
        journal._only.close()
        journal._waiting.clear()
        raise JournalInterrupted("the answer was lost")

    journal._send_waiting = send_and_cut  # type: ignore[method-assign]


def test_nothing_acknowledged_is_lost_if_the_server_is_killed(
    place: Path, server: PostgresqlServer
) -> None:
    """Architecture: "What was acknowledged is durable"."""
    roots = [make_node(place / name, server.address) for name in ("one", "two")]
    nodes = [Registry(root) for root in roots]
    acknowledged: list[str] = []
    stop = threading.Event()

    def mint_on(node: Registry) -> None:
        while not stop.is_set():
            try:
                acknowledged.append(node.door.execute_command(RESERVE).identifier)
            except Unavailable:
                time.sleep(0.01)

    threads = [threading.Thread(target=mint_on, args=(node,)) for node in (*nodes, *nodes)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        before = len(acknowledged)
        while len(acknowledged) < before + 40:
            time.sleep(0.01)
        server.stop("immediate")
        server.start()
    before = len(acknowledged)
    while len(acknowledged) < before + 40:
        time.sleep(0.01)
    stop.set()
    for thread in threads:
        thread.join()
    keys = nodes[0].records.list_keys_with(SERIES)
    assert len(set(acknowledged)) == len(acknowledged)
    assert {parse(name).key for name in acknowledged} == set(keys)
    check_serials(acknowledged)
    assert [one.problem for one in check_changes(nodes[0].records) if one.problem] == []
    for node in nodes:
        node.close()


MINTING = """
import sys
from pathlib import Path
from perdure.model.commands import Mint
from perdure.registry import Registry

with Registry(Path(sys.argv[1])) as registry:
    for _ in range(int(sys.argv[3])):
        print(registry.door.execute_command(Mint(authority=sys.argv[2])).identifier, flush=True)
"""
"""A node that mints, and prints each name that was acknowledged."""


def start_minting(root: Path, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", MINTING, str(root), SERIES, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def check_names(node: Registry, acknowledged: list[str]) -> None:
    """Assert that acknowledged names are stored, each once, without a hole in the numbers."""
    keys = {parse(name).key for name in acknowledged}
    stored = set(node.records.list_keys_with(SERIES))
    assert len(keys) == len(acknowledged)
    assert keys <= stored
    check_serials([str(Pdi.from_key(key)) for key in stored])
    assert [one.problem for one in check_changes(node.records) if one.problem] == []


def test_nothing_acknowledged_is_lost_if_a_node_is_killed(nodes: list[Registry]) -> None:
    """Architecture: "What was acknowledged is durable"; the other node goes on."""
    acknowledged: list[str] = []
    nodes[0].close()
    for wanted in (7, 31, 64):
        with start_minting(nodes[0].root, 10_000) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline().strip() for _ in range(wanted)]
            process.kill()
            lines += process.stdout.read().split()
        acknowledged += lines
        acknowledged.append(nodes[1].door.execute_command(RESERVE).identifier)
    check_names(nodes[1], acknowledged)


def test_a_node_that_was_stopped_writes_nothing_stale(nodes: list[Registry]) -> None:
    """A stopped node may hold the lock of the series; the server ends its session then."""
    acknowledged: list[str] = []
    nodes[0].close()
    with start_minting(nodes[0].root, 120) as process:
        assert process.stdout is not None
        for _ in range(2):
            acknowledged += [process.stdout.readline().strip() for _ in range(20)]
            process.send_signal(signal.SIGSTOP)
            acknowledged += [nodes[1].door.execute_command(RESERVE).identifier for _ in range(20)]
            process.send_signal(signal.SIGCONT)
        acknowledged += process.stdout.read().split()
    assert process.returncode == 0
    assert len(acknowledged) == 160
    check_names(nodes[1], acknowledged)


def test_a_node_that_stopped_while_it_sent_a_batch_blocks_none(
    nodes: list[Registry], address: str
) -> None:
    """The server waits for the rest of its statements, and does not count it as idle."""
    nodes[1].door.execute_command(RESERVE)
    schema = parse_address(address)
    with closing(connect(schema, writes=True)) as stopped:
        sending = stopped.pgconn
        sending.enter_pipeline_mode()
        for statement in (b"BEGIN", b"SELECT FROM days FOR UPDATE"):
            sending.send_query_params(statement, None)
        sending.send_flush_request()
        while sending.flush():
            pass
        while not is_waiting_for_client(address):
            time.sleep(0.05)
        before = time.monotonic()
        nodes[1].door.execute_command(RESERVE)
        assert time.monotonic() - before > 1, "the lock was held"
    check_names(nodes[1], [])


def is_waiting_for_client(address: str) -> bool:
    shown = "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND wait_event = %s"
    with closing(connect_database(parse_address(address))) as asking:
        return asking.execute(shown, ("ClientRead",)).fetchone() == (1,)
