"""Plain writes to handles are carried out as on the plain way, byte for byte."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from tests.server.conftest import Answer, parse_answers
from tests.server.deployment import Deployment, deployed
from tests.server.write_ways import ask, ask_plainly, count_fast

from perdure.errors import PerdureError
from perdure.ids import parse
from perdure.model.commands import Answer as Outcome
from perdure.model.commands import Assign, Command, SaveToken
from perdure.model.records import Token, Value
from perdure.policy.tokens import make_token
from perdure.registry import Registry, initialise
from perdure.server.common.bearers import Bearers
from perdure.server.common.cold_reads import ColdReads
from perdure.server.common.metrics import Metrics
from perdure.server.common.service import Service
from perdure.server.fast.assign import FastAssign
from perdure.server.fast.taskless import TasklessWrites
from perdure.storage.generation import Generation

PREFIX = "21.T14999"
TESTS = "21.T11998"
"""A prefix whose handles can be deleted."""
ADMIN = {"handle": f"{PREFIX}/ADMIN", "index": 300, "permissions": "011111110011"}
URL = {"index": 1, "type": "URL", "data": {"format": "string", "value": "https://a.example/"}}
MAIL = {"index": 2, "type": "EMAIL", "data": "a@a.example"}
VALUES = {
    "values": [
        URL,
        MAIL,
        {"index": 100, "type": "HS_ADMIN", "data": {"format": "admin", "value": ADMIN}},
    ]
}
RECORD = json.dumps(VALUES).encode()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("fast") / "registry"
    initialise(root, handle_prefixes=(PREFIX, TESTS))
    with (root / "perdure.toml").open("a") as settings:
        settings.write(f'mutable_prefixes = ["{TESTS}"]\n')
    with deployed(root) as running:
        yield running


@pytest.fixture(scope="module")
def secret(site: Deployment) -> str:
    made = site.token("writer", authorities=("*",))
    ask(site, put(made, f"{PREFIX}/first"))  # the server leads from now on
    return made


def put(secret: str, handle: str, *fields: str, body: bytes = RECORD) -> bytes:
    lines = [f"PUT /api/handles/{handle} HTTP/1.1", "Host: a.example"]
    lines += [f"Authorization: Bearer {secret}", *fields, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def count_taken(site: Deployment) -> int:
    return count_fast(site, "assign")


def comparable(answer: Answer) -> tuple[int, list[tuple[str, str]], str]:
    """An answer without its date, what ends the connection, and the name of the handle."""
    fields = [
        (name, value)
        for name, value in answer.headers.items()
        if name not in ("date", "connection")
    ]
    return answer.status, fields, re.sub(r"/[fp]-\d+", "/N", answer.body.decode())


TAKEN: list[tuple[str, tuple[str, ...], bytes]] = [
    ("", (), RECORD),
    ("", ("Content-Type: application/json", "Accept: */*", "X-Anything: at all"), RECORD),
    ("", (), json.dumps(URL).encode()),
    ("", (), json.dumps([URL, MAIL]).encode()),
    ("", (), json.dumps([URL | {"data": "no address"}]).encode()),
    ("?overwrite=false", (), RECORD),
    ("?overwrite=true&pretty", (), RECORD),
    ("?callback=call", (), RECORD),
]
LEFT: list[tuple[str, tuple[str, ...], bytes]] = [
    ("?index=various", (), RECORD),
    ("?index=7", (), RECORD),
    ("?callback=1", (), RECORD),
    ("%20", (), RECORD),
    ("%2D", (), RECORD),
    ("", (), b"{"),
    ("", (), b'{"values":[{"index":0}]}'),
    ("", (), json.dumps([{"index": 300, "type": "HS_SECKEY", "data": "secret"}]).encode()),
    ("", ("Content-Encoding: gzip",), RECORD),
    ("", ("Content-Digest: sha-256=:AAAA:",), RECORD),
    ("", ("If-None-Match: *",), RECORD),
    ("", ("Authorization: Bearer x",), RECORD),
    ("", ("Signature-Input: sig=()", "Signature: sig=:AAAA:"), RECORD),
    ("", ("Idempotency-Key: k",), RECORD),
]


def pairs(
    site: Deployment, secret: str, number: int, case: tuple[str, tuple[str, ...], bytes]
) -> None:
    query, fields, body = case
    fast, plain = (f"{PREFIX}/{way}-{number}" for way in "fp")
    for _ in range(2):  # first of an unknown handle, then of one that is known
        [one] = ask(site, put(secret, fast + query, *fields, body=body))
        other = ask_plainly(site, put(secret, plain + query, *fields, body=body))
        assert comparable(one) == comparable(other)
    own = f"Authorization: Bearer {secret}"
    shown = [
        re.sub(
            r'"timestamp":"[^"]*"|/[fp]-\d+',
            "",
            site.get(f"/api/handles/{name}", own).body.decode(),
        )
        for name in (fast, plain)
    ]
    assert shown[0] == shown[1]


@pytest.mark.parametrize(("number", "case"), [*enumerate(TAKEN)], ids=lambda one: str(one)[:60])
def test_both_ways_give_the_same(
    site: Deployment, secret: str, number: int, case: tuple[str, tuple[str, ...], bytes]
) -> None:
    before = count_taken(site)
    pairs(site, secret, number, case)
    assert count_taken(site) - before == (1 if "false" in case[0] else 2)


@pytest.mark.parametrize(("number", "case"), [*enumerate(LEFT, 100)], ids=lambda one: str(one)[:60])
def test_other_writes_go_the_plain_way(
    site: Deployment, secret: str, number: int, case: tuple[str, tuple[str, ...], bytes]
) -> None:
    before = count_taken(site)
    pairs(site, secret, number, case)
    assert count_taken(site) == before


def delete(secret: str, handle: str, *fields: str) -> bytes:
    lines = [f"DELETE /api/handles/{handle} HTTP/1.1", "Host: a.example"]
    lines += [f"Authorization: Bearer {secret}", *fields, "", ""]
    return "\r\n".join(lines).encode("latin-1")


REMOVED: list[tuple[str, tuple[str, ...], int, int]] = [
    ("?index=1", (), 200, 1),
    ("?index=1", (), 400, 0),
    ("?index=2&index=100&pretty", ("Accept: */*",), 200, 1),
    ("?index=x", (), 400, 0),
    ("?index=2", ("If-Match: *",), 400, 0),
    ("", ("Content-Length: 0",), 200, 1),
    ("", (), 404, 0),
]
"""Removals, in this order: their status, and whether the write door is asked without ASGI."""


def test_values_and_handles_are_removed_by_both_ways(site: Deployment, secret: str) -> None:
    fast, plain = (f"{TESTS}/{way}-900" for way in "fp")
    ask(site, put(secret, fast), put(secret, plain))
    for query, fields, status, taken in REMOVED:
        before = count_taken(site)
        [one] = ask(site, delete(secret, fast + query, *fields))
        other = ask_plainly(site, delete(secret, plain + query, *fields))
        assert comparable(one) == comparable(other)
        assert (one.status, count_taken(site) - before) == (status, taken), query
    for handle in (f"{PREFIX}/first", f"{PREFIX}/first?index=7", "20.500/x"):
        before = count_taken(site)
        [one], other = ask(site, delete(secret, handle)), ask_plainly(site, delete(secret, handle))
        assert comparable(one) == comparable(other)
        assert (one.status >= 400, count_taken(site)) == (True, before), handle
    [one] = ask(site, delete(secret, f"{PREFIX}/first?index=2"))
    assert (one.status, count_taken(site) - before) == (200, 1)


def test_a_delete_between_other_messages(site: Deployment, secret: str) -> None:
    """It has no body: the next message begins behind its head."""
    names = [f"{TESTS}/between-{number}" for number in range(3)]
    answers = ask(site, *(put(secret, one) for one in names))
    assert [one.status for one in answers] == [200] * 3
    first, second, third = names
    body = put(secret, second, body=json.dumps(MAIL).encode())
    answers = ask(site, delete(secret, first), body, delete(secret, second), delete(secret, third))
    assert [one.status for one in answers] == [200] * 4
    assert [site.get(f"/api/handles/{one}").status for one in names] == [404] * 3


def test_a_deleted_handle_is_created_again(site: Deployment, secret: str) -> None:
    fast, plain = (f"{TESTS}/{way}-901" for way in "fp")
    for status in (201, 409, 201):
        before = count_taken(site)
        [one] = ask(site, put(secret, f"{fast}?overwrite=false"))
        other = ask_plainly(site, put(secret, f"{plain}?overwrite=false"))
        assert comparable(one) == comparable(other)
        assert (one.status, count_taken(site) - before) == (status, int(status == 201))
        if status == 409:
            ask(site, delete(secret, fast), delete(secret, plain))


def test_what_a_record_forbids_comes_before_what_the_operator_forbids(tmp_path: Path) -> None:
    """A handle to create is not looked up before the write door refuses the values."""
    initialise(tmp_path, handle_prefixes=(PREFIX,))
    with (tmp_path / "perdure.toml").open("a") as settings:
        settings.write('private_locations = "refuse"\n')
    private = json.dumps(URL | {"data": "http://10.0.0.1/"}).encode()
    with deployed(tmp_path) as site:
        secret = site.token("writer", authorities=("*",))
        ask(site, put(secret, f"{PREFIX}/known"))
        for handle, status in (("known", 409), ("unknown", 400)):
            sent = put(secret, f"{PREFIX}/{handle}?overwrite=false", body=private)
            [one], other = ask(site, sent), ask_plainly(site, sent)
            assert comparable(one) == comparable(other)
            assert one.status == status


def test_names_that_are_not_written_here(site: Deployment, secret: str) -> None:
    for handle in ("20.500/x", f"pdi/{PREFIX}", "x", f"{PREFIX}/f-7?mintNewSuffix=true"):
        before = count_taken(site)
        [one] = ask(site, put(secret, handle))
        other = ask_plainly(site, put(secret, handle))
        assert one.status == other.status
        assert count_taken(site) == before


def test_a_token_is_refused_as_soon_as_it_is_revoked(site: Deployment, secret: str) -> None:
    del secret  # the server leads
    passing, digest = make_token()
    scope = Token(name="passing", digest=digest, operations=("register",), authorities=("*",))
    statuses = []
    with site.connect() as wire:
        for number, revoked in enumerate((None, "2026-01-01T00:00:00Z")):
            site.do(SaveToken(token=msgspec.structs.replace(scope, revoked=revoked)))
            wire.sendall(put(passing, f"{PREFIX}/passing-{number}"))
            data = b""
            while b"}" not in data:
                data += wire.recv(65536)
            statuses.append(parse_answers(data, ["PUT"])[0].status)
    assert statuses == [200, 401]


def test_rights(site: Deployment, secret: str) -> None:
    del secret
    other = site.token("of another prefix", authorities=("hdl:20.1/*",))
    maker = site.token("only creates", operations=("register",), authorities=("*",))
    [refused] = ask(site, put(other, f"{PREFIX}/rights"))
    [made, again] = ask(
        site,
        *[put(maker, f"{PREFIX}/rights", body=json.dumps(one).encode()) for one in (URL, MAIL)],
    )
    assert [one.status for one in (refused, made, again)] == [403, 200, 403]


# another write was faster
# ------------------------


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    initialise(tmp_path / "registry", handle_prefixes=(PREFIX,))
    generation = Generation(tmp_path / "registry")
    with Registry(tmp_path / "registry") as registry:
        yield Service(registry, Bearers(registry.records, generation), Metrics())
    generation.close()


def hand_in_after(
    service: Service, monkeypatch: pytest.MonkeyPatch, interfere: Callable[[], object]
) -> None:
    """Let something happen before each command that is handed in."""
    door = service.registry.door

    def hand_in(command: Command, then: Callable[[Outcome], None]) -> None:
        interfere()
        try:
            outcome: Outcome = door.execute_command(command)
        except PerdureError as error:
            outcome = error
        then(outcome)

    monkeypatch.setattr(door, "hand_in", hand_in)


def write_mail(service: Service) -> bytes:
    """Write one value of a handle without ASGI, and return the answer."""
    secret, digest = make_token()
    token = Token(name="t", digest=digest, operations=("register", "bind"), authorities=("*",))
    service.registry.door.execute_command(SaveToken(token=token))
    fields = f"\r\nHost: a\r\nAuthorization: Bearer {secret}\r\n\r\n".encode()
    sent: list[bytes] = []
    target = f"/api/handles/{PREFIX}/raced?index=2".encode()
    cold = ColdReads(service.registry.records, service.registry.reading)
    assign = FastAssign(service, TasklessWrites(service, cold))
    assert assign(b"PUT", target, fields, json.dumps(MAIL).encode(), sent.append)
    (answer,) = sent
    return answer


def assign_other(service: Service, number: int) -> None:
    values = (Value(index=1, type="NOTE", data=str(number)),)
    name = parse(f"hdl:{PREFIX}/raced")
    service.registry.door.execute_command(Assign(identifier=name, values=values))


def test_a_write_is_planned_again_if_another_was_faster(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    assign_other(service, 0)
    left = [2, 1]

    def interfere() -> None:
        if left:
            assign_other(service, left.pop())

    hand_in_after(service, monkeypatch, interfere)
    assert write_mail(service).startswith(b"HTTP/1.1 200 OK\r\n")
    record = service.find_record(parse(f"hdl:{PREFIX}/raced"))
    assert record is not None
    assert [one.data for one in record.values] == ["2", "a@a.example"]


def test_a_write_that_is_never_fastest_is_refused(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    assign_other(service, 0)
    numbers = iter(range(1, 100))
    hand_in_after(service, monkeypatch, lambda: assign_other(service, next(numbers)))
    answer = write_mail(service)
    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b'"responseCode":3' in answer
