"""Plain uploads are minted as on the plain way, byte for byte, and nothing else is taken."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import threading
from collections.abc import Iterator

import msgspec
import pytest
from tests.server.conftest import Answer, parse_answers, received
from tests.server.deployment import OTHER_SERIES, SERIES, Deployment, deployed, today

from perdure.ids import parse
from perdure.ids.name_set import read_set
from perdure.model.assertions import write_assertion
from perdure.model.commands import SaveToken
from perdure.model.delegations import make_delegation, read_resolver
from perdure.model.records import Token
from perdure.policy.tokens import make_token
from perdure.registry import initialise
from perdure.upkeep.delegating import delegate_names, revoke_delegation

MINT = f"/pdi://{SERIES}/"
LETTER = b"To whom it may concern.\r\n"
TYPE = "Content-Type: text/plain; charset=us-ascii"
LD_JSON = "Content-Type: application/ld+json"
SIGNED = (
    b"perdure-signature-v1\nidentifier: %s\nsha512: "
    + b"0" * 128
    + b"\nlength: 1\nmedia-type: text/plain\nreading: bytes\nrole: author\nsigner: SHA256:"
    + b"A" * 43
    + b"\nsigned: 2026-11-23T22:30:00Z\n\n-----BEGIN SSH SIGNATURE-----\n"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployed(tmp_path_factory.mktemp("fast") / "registry", largest_upload=50_000) as running:
        yield running


@pytest.fixture(scope="module")
def secret(site: Deployment) -> str:
    return site.token("depositor")


def put(secret: str, *fields: str, target: str = MINT, body: bytes = LETTER) -> bytes:
    lines = [f"PUT {target} HTTP/1.1", "Host: a.example", f"Authorization: Bearer {secret}"]
    lines += [*fields, f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def ask(site: Deployment, *requests: bytes) -> list[Answer]:
    """The answers on one connection, which stays open until the last request asks to end it."""
    with site.connect() as wire:
        wire.sendall(b"".join(requests))
        wire.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        return parse_answers(received(wire), ["PUT"] * len(requests))[:-1]


def taken(site: Deployment) -> int:
    """How many uploads were minted without ASGI."""
    exposed = site.get("/metrics").body.decode()
    found = re.search(
        r'^perdure_fast_answers_total\{kind="mint"\} ([0-9.]+)$', exposed, re.MULTILINE
    )
    return int(float(found[1])) if found else 0


SAME = [
    (TYPE,),
    ("Content-Type: text/html; charset=UTF-8",),
    ("Content-Type: image/png",),
    ("Content-Type: text/plain; charset=iso-8859-1", "Content-Language: fr"),
    (TYPE, "Accept: text/html"),
    (TYPE, "X-Anything: at all"),
    # these are none of its business
    (),
    ("Content-Type: text/plain",),
    ("Content-Type: application/x-www-form-urlencoded",),
    ("Content-Type: nothing",),
    (TYPE, "Content-Language: de, fr"),
    (TYPE, "Content-Encoding: gzip"),
    (TYPE, "Content-Range: bytes 0-24/25"),
    (TYPE, "Repr-Digest: sha-256=:AAAA:"),
    (TYPE, "If-None-Match: *"),
    (TYPE, "X-Forwarded-Proto: https"),
    (TYPE, "Authorization: Bearer x"),
]


@pytest.mark.parametrize("fields", SAME, ids=lambda fields: " ".join(fields) or "nothing")
def test_both_ways_give_the_same(site: Deployment, secret: str, fields: tuple[str, ...]) -> None:
    """Sent to be kept open, which may be minted here, and to be closed, which never is."""
    for _ in range(2):  # the second time what the header means is remembered
        [fast] = ask(site, put(secret, *fields))
        [plain] = parse_answers(site_send(site, put(secret, *fields, "Connection: close")), ["PUT"])
        assert comparable(fast) == comparable(plain)


@pytest.mark.parametrize("fields", [TYPE, "Content-Type: text/html; charset=utf-8", LD_JSON])
def test_what_asserts_something_needs_another_right(site: Deployment, fields: str) -> None:
    """Assertions and signed statements, as new documents and as next versions."""
    secret = site.token(f"only mints {fields}", operations=("mint", "commit"))
    [first] = ask(site, put(secret, fields))
    name = json.loads(first.body)["identifier"]
    data = (
        write_assertion((name,), ("commenting",)) if fields == LD_JSON else SIGNED % name.encode()
    )
    for _ in range(2):  # the second time what the header means is remembered
        for target in (MINT, f"/{parse(name).whole.resource}"):
            [answer] = ask(site, put(secret, fields, target=target, body=data))
            assert (answer.status, json.loads(answer.body)["code"]) == (403, "forbidden")


def test_answers_differ_in_their_numbers_alone(site: Deployment, secret: str) -> None:
    """Which have more digits as they grow; each answer tells its own, everywhere."""
    before = taken(site)
    told = []
    for _ in range(120):
        [answer] = ask(site, put(secret, TYPE))
        body = msgspec.json.decode(answer.body)
        assert int(answer.headers["content-length"]) == len(answer.body)
        assert body["url"] == f"http://a.example/{body['identifier']}" == answer.headers["location"]
        assert answer.headers["content-location"] == body["identifier"]
        told.append(body["identifier"])
    assert taken(site) == before + len(told)
    first = int(told[0].rpartition("/")[2].partition(".")[0])
    start = f"pdi://{SERIES}/{today()}/"
    assert told == [f"{start}{first + number}.text.1" for number in range(len(told))]
    assert len({len(one) for one in told}) > 1


def site_send(site: Deployment, request: bytes) -> bytes:
    with site.connect() as wire:
        wire.sendall(request)
        return received(wire)


def comparable(answer: Answer) -> tuple[int, list[tuple[str, str]], str]:
    """An answer without its date, what ends the connection, and the serial number in it."""
    fields = [
        (name, re.sub(r"/[0-9]+\.", "/N.", value))
        for name, value in answer.headers.items()
        if name not in ("date", "connection", "content-length")
    ]
    return answer.status, fields, re.sub(r"/[0-9]+\.", "/N.", answer.body.decode())


def test_plain_uploads_are_minted_without_asgi(site: Deployment, secret: str) -> None:
    """Or all of the above proves nothing."""
    before = taken(site)
    answers = ask(site, *[put(secret, TYPE, body=b"%d" % number) for number in range(20)])
    assert taken(site) == before + 20
    names = [answer.headers["content-location"] for answer in answers]
    serials = [int(name.split("/")[-1].split(".")[0]) for name in names]
    assert serials == list(range(serials[0], serials[0] + 20))  # in the order of the requests
    for number, name in enumerate(names):
        assert name.startswith(f"pdi://{SERIES}/{today()}/")
        held = site.get(f"/{name}")
        assert held.body == b"%d" % number
        assert held.headers["content-type"] == "text/plain; charset=us-ascii"


def test_a_series_is_fast_as_soon_as_it_is_minted_in(site: Deployment, secret: str) -> None:
    """The plain way learns a series that is added while the server runs; so does this one."""
    ask(site, put(secret, TYPE))  # the server leads from now on
    fresh = f"fresh.{SERIES}"
    request = put(secret, TYPE, target=f"/pdi://{fresh}/")
    assert [one.status for one in ask(site, request)] == [404]
    initialise(site.root, series=(fresh,))
    before = taken(site)
    assert [one.status for one in ask(site, request, request)] == [201, 201]
    assert taken(site) == before + 2
    other = put(secret, TYPE, target=f"/PDI://{fresh}/")  # another spelling: the plain way
    assert [one.status for one in ask(site, other)] == [201]
    assert taken(site) == before + 2


def test_only_a_series_that_is_minted_elsewhere_goes_the_plain_way(
    site: Deployment, secret: str
) -> None:
    other = f"statistics.{SERIES}"
    initialise(site.root, series=(other,))

    def mint(series: str) -> tuple[int, int]:
        """The status of a mint, and how many were minted without ASGI."""
        before = taken(site)
        (answer,) = ask(site, put(secret, TYPE, target=f"/pdi://{series}/"))
        return answer.status, taken(site) - before

    assert mint(SERIES) == (201, 1)  # the server leads from now on
    assert mint(other) == (201, 1)
    elsewhere = (read_resolver("https://pid.example"),)
    made = make_delegation(read_set(f"pdi://{other}/"), elsewhere, role="authority")
    receipt = delegate_names(site.registry, made, series=SERIES, at_once=True)
    assert mint(other) == (307, 0)
    assert mint(SERIES) == (201, 1)
    revoke_delegation(site.registry, parse(receipt.identifier))
    assert mint(other) == (201, 1)


def test_a_body_that_comes_later_goes_the_plain_way(site: Deployment, secret: str) -> None:
    before = taken(site)
    request = put(secret, TYPE)
    with site.connect() as wire:
        wire.sendall(request[: -len(LETTER)])
        site.get("/healthz")  # by now the header was read
        wire.sendall(LETTER + b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert parse_answers(received(wire), ["PUT"])[0].status == 201
    assert taken(site) == before


@pytest.mark.parametrize(("size", "status"), [(40_000, 201), (50_000, 201), (50_001, 413)])
def test_large_bodies(site: Deployment, secret: str, size: int, status: int) -> None:
    before = taken(site)
    [answer] = ask(site, put(secret, "Content-Type: image/png", body=bytes(size)))
    assert answer.status == status
    assert taken(site) == before


def test_tokens(site: Deployment, secret: str) -> None:
    """Whatever was remembered of a header, the token is looked at each time."""
    other = site.token("other series", authorities=(OTHER_SERIES,))
    reader = site.token("no minting", operations=("bind",))
    late = site.token("too late", expires="2020-01-01T00:00:00Z")
    before = taken(site)
    for one, status in ((other, 403), (reader, 403), (late, 401), (make_token()[0], 401)):
        assert [answer.status for answer in ask(site, *[put(one, TYPE)] * 2)] == [status] * 2
    assert taken(site) == before

    passing, digest = make_token()
    scope = Token(name="passing", digest=digest, operations=("mint",), authorities=("*",))
    site.do(SaveToken(token=scope))
    with site.connect() as wire:
        for revoked, status in ((None, 201), ("2026-01-01T00:00:00Z", 401)):
            site.do(SaveToken(token=msgspec.structs.replace(scope, revoked=revoked)))
            wire.sendall(put(passing, TYPE))
            answer = next_answer(wire)
            assert answer is not None
            assert answer.status == status


def next_answer(wire: socket.socket) -> Answer | None:
    """The next answer, JSON, of a connection that stays open; None where it was ended."""
    data = b""
    while not data.endswith(b"}"):
        part = wire.recv(65536)
        if not part:
            assert not data
            return None
        data += part
    return parse_answers(data, ["PUT"])[0]


def test_one_after_the_other(site: Deployment, secret: str) -> None:
    """With the same fields but for the length; in pieces, and with the next behind it, too."""
    before = taken(site)
    bodies = [b"x" * length for length in (1, 9, 10, 123, 1, 4000, 7)]
    with site.connect() as wire:
        for body in bodies:
            wire.sendall(put(secret, TYPE, body=body))
            answer = next_answer(wire)
            assert answer is not None
            assert site.get(f"/{answer.headers['content-location']}").body == body
        request = put(secret, TYPE, body=b"0123456789")
        wire.sendall(request[:-5])
        site.get("/healthz")
        wire.sendall(request[-5:])
        assert site.get(f"/{named(wire)}").body == b"0123456789"
        wire.sendall(put(secret, TYPE, body=b"first") + put(secret, TYPE, body=b"the second"))
        first, second = received_names(wire, 2)
        assert site.get(f"/{first}").body == b"first"
        assert site.get(f"/{second}").body == b"the second"
    assert taken(site) == before + len(bodies) + 2


def named(wire: socket.socket) -> str:
    answer = next_answer(wire)
    assert answer is not None
    return answer.headers["content-location"]


def received_names(wire: socket.socket, count: int) -> list[str]:
    data = b""
    while data.count(b'"replayed"') < count or not data.endswith(b"}"):
        data += wire.recv(65536)
    return [answer.headers["content-location"] for answer in parse_answers(data, ["PUT"] * count)]


@pytest.mark.parametrize(
    ("usual", "then"),
    [
        (b"Content-Length: 25", b"Content-Length: 025"),
        (b"Content-Length: 25", b"Content-Length: +25"),
        (b"Content-Length: 25", b"Content-Length: 2 5"),
        (b"Content-Length: 25", b"Content-Length: "),
        (b"Content-Length: 25", b"Content-Length: 25\r\nContent-Length: 7"),
        (
            b"X-Content-Length: 25\r\nContent-Length: 25",
            b"X-Content-Length: 7\r\nContent-Length: 25",
        ),
        (b"Content-Length:\t 25 ", b"Content-Length:\t 25,25 "),
    ],
)
def test_what_is_familiar_makes_nothing_acceptable(
    site: Deployment, secret: str, usual: bytes, then: bytes
) -> None:
    """A message is answered as it would be on a connection of its own."""
    told = b"Content-Length: %d" % len(LETTER)
    good, other = (put(secret, TYPE).replace(told, one) for one in (usual, then))
    with site.connect() as wire:
        wire.sendall(good)
        assert named(wire)
        wire.sendall(other)
        wire.shutdown(socket.SHUT_WR)
        on_the_same = received(wire)
    alone = site_send_and_end(site, other)
    assert on_the_same[:12] == alone[:12]


def site_send_and_end(site: Deployment, request: bytes) -> bytes:
    with site.connect() as wire:
        wire.sendall(request)
        wire.shutdown(socket.SHUT_WR)
        return received(wire)


def test_what_was_begun_is_finished_when_the_server_stops(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Every upload that was taken is answered, and what was answered is there."""
    with deployed(tmp_path_factory.mktemp("stopping") / "registry") as site:
        secret = site.token("depositor")
        names: list[str] = []
        ready = threading.Barrier(9, timeout=30)

        def deposit() -> None:
            with site.connect() as wire, contextlib.suppress(ConnectionError):
                for number in range(1_000_000):
                    if number == 20:
                        ready.wait()
                    wire.sendall(put(secret, TYPE))
                    found = next_answer(wire)
                    if found is None:  # ended between two requests
                        return
                    assert found.status == 201
                    names.append(found.headers["content-location"])

        depositors = [threading.Thread(target=deposit, daemon=True) for _ in range(8)]
        for one in depositors:
            one.start()
        ready.wait()
        assert site.stop() == 0
        for one in depositors:
            one.join(30)
        assert len(names) == len(set(names)) > 160
        assert site.registry.records.count_records() == len(names)
