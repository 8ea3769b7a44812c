"""Plain operations on identifiers are carried out as on the plain way, byte for byte."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.server.conftest import Answer, parse_answers
from tests.server.deployment import OTHER_SERIES, SERIES, SHOULDER, Deployment, deployed
from tests.server.write_ways import ask, ask_plainly, count_fast, read_counter

from perdure.model.commands import SaveToken
from perdure.model.records import Token
from perdure.policy.tokens import make_token
from perdure.registry import initialise

PREFIX = "21.T14999"
PLACE = "https://a.example/letter"
JSON = "Content-Type: application/json"
PATCH = "Content-Type: application/merge-patch+json"
WAYS = ("wayf", "wayp")
"""What W stands for in the names that both ways use: the fast way, and the plain one."""
NAMES = [
    f"hdl:{PREFIX}/W",
    "ark:99999/fk4W",
    "urn:nbn:de:101-W",
    "urn:pwid:archive.example:2020-01-01T00:00:00Z:page:http://W.example/",
    "URN:IANA:42117::W:::",
    "doi:10.1000/W",
]
KINDS = ["Handle", "ARK", "URN", "PWID", "URN of 1993", "DOI"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("fast") / "registry"
    initialise(
        root, handle_prefixes=(PREFIX,), series=(SERIES, OTHER_SERIES), shoulders=(SHOULDER,)
    )
    with deployed(root) as running:
        yield running


@pytest.fixture(scope="module")
def secret(site: Deployment) -> str:
    made = site.token("writer", authorities=("*",))
    ask(site, write(made, f"hdl:{PREFIX}/first?register", {}))  # the server leads from now on
    return made


def write(
    secret: str, target: str, body: object, *fields: str, method: str = "POST", host: str = "a"
) -> bytes:
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"{method} /{target} HTTP/1.1", f"Host: {host}.example"]
    lines += [f"Authorization: Bearer {secret}", *fields, f"Content-Length: {len(sent)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + sent


def comparable(answer: Answer, name: str = "") -> tuple[int, list[tuple[str, str]], str]:
    """An answer without its date, what ends the connection, and the name of the way."""
    fields = [
        (key, hide_way(value, name))
        for key, value in answer.headers.items()
        if key not in ("date", "connection")
    ]
    return answer.status, fields, hide_way(answer.body.decode(), name)


def hide_way(text: str, name: str = "") -> str:
    for one in (name, *WAYS):
        text = text.replace(one, "N") if one else text
    return text


def compare_ways(
    site: Deployment,
    secret: str,
    name: str,
    query: str,
    body: object,
    *fields: str,
    method: str = "POST",
) -> int:
    """Send one write by both ways, with names of their own, and return its status."""
    sent = body if isinstance(body, bytes) else json.dumps(body).encode()
    requests = [
        write(
            secret,
            name.replace("W", way) + query,
            sent.replace(b"W", way.encode()),
            *(field.replace("NAME", name.replace("W", way)) for field in fields),
            method=method,
        )
        for way in WAYS
    ]
    [one] = ask(site, requests[0])
    other = ask_plainly(site, requests[1])
    assert comparable(one) == comparable(other)
    return one.status


def compare_records(site: Deployment, secret: str, name: str) -> None:
    """Compare what both ways have made of a name: the record, and its history but for the times."""
    bearer = f"Authorization: Bearer {secret}"
    for question in ("info", "metadata=json", "history", "linkset"):
        shown = []
        for way in WAYS:
            target = f"/{name.replace('W', way)}?{question}"
            answer = site.get(target, bearer, "Accept: application/json")
            text = re.sub(r"20\d\d-[01]\d-[0-9T:.Z]+", "T", hide_way(answer.body.decode()))
            shown.append((answer.status, text))
        assert shown[0] == shown[1]


def count_binds(site: Deployment) -> int:
    outcomes = ("created", "changed", "unchanged")
    names = [f'perdure_writes_total{{operation="bind",outcome="{one}"}}' for one in outcomes]
    return sum(read_counter(site, name) for name in names)


ABOUT = {"titles": [{"value": "A letter"}], "creators": [{"name": "A. Author"}]}
STEPS: list[tuple[str, object, tuple[str, ...], str]] = [
    ("?register", {"locations": [PLACE], "metadata": {"who": "a"}}, (JSON,), "POST"),
    ("?register", {}, (), "POST"),
    ("?bind", {"locations": [f"{PLACE}/2", {"uri": PLACE, "format": "html"}]}, (), "POST"),
    ("?bind", {"locations": [PLACE]}, (JSON, "Accept: */*"), "POST"),
    ("?metadata", ABOUT, (JSON,), "POST"),
    ("?metadata", ABOUT | {"odd": 1}, (JSON,), "PUT"),
    ("?metadata=json", ABOUT, (), "PUT"),
    ("?metadata", {"language": "en", "odd": None}, (PATCH,), "POST"),
    ("?alias", {"other": "hdl:20.500/also-W"}, (), "POST"),
    ("?bind", {"locations": [PLACE]}, ('If-Match: "r5"', "Idempotency-Key: NAME"), "POST"),
    ("?bind", {"locations": [PLACE]}, ('If-Match: "r5"', "Idempotency-Key: NAME"), "POST"),
    ("?break", {"uri": PLACE}, (), "POST"),
    ("?withdraw", {"reason": "a mistake"}, (), "POST"),
]
"""Operations that are carried out without ASGI, in this order."""
REFUSED: list[tuple[str, object, tuple[str, ...], str]] = [
    ("?bind", {"locations": [1]}, (), "POST"),
    ("?bind", {"locations": ["not a location"]}, (), "POST"),
    ("?bind", b"{", (), "POST"),
    ("?bind", b"[" * 100_000, (), "POST"),
    ("?bind&metadata", {}, (), "POST"),
    ("?bind&alias", {}, (), "POST"),
    ("?nothing", {}, (), "POST"),
    ("?mint", {}, (), "POST"),
    ("?erase", {"reason": "r", "part": "char=0,1"}, (), "POST"),
    ("?metadata", b"{" * 3000, (JSON,), "PUT"),
    ("?metadata", ABOUT, ("Content-Type: application/nothing",), "PUT"),
    ("?bind", {"locations": [PLACE]}, (), "PUT"),
    ("?bind", {"locations": [PLACE]}, (), "DELETE"),
    ("?bind", {"locations": [PLACE]}, ('If-Match: "r77"',), "POST"),
    ("?bind", {"locations": [PLACE]}, ("If-None-Match: *",), "POST"),
    ("?bind", {"locations": [PLACE]}, ("Content-Encoding: gzip",), "POST"),
    ("?bind", {"locations": [PLACE]}, ("Content-Digest: sha-256=:AAAA:",), "POST"),
    ("?bind", {"locations": [PLACE]}, ("Authorization: Bearer x",), "POST"),
    ("?bind", {"locations": [PLACE]}, ("Signature-Input: s=()", "Signature: s=:AA==:"), "POST"),
]
"""Writes that are refused before they reach the write door: the plain way says why."""


@pytest.mark.parametrize("name", NAMES, ids=KINDS)
def test_both_ways_give_the_same(site: Deployment, secret: str, name: str) -> None:
    before = count_fast(site, "operation")
    written = count_binds(site)
    for query, body, fields, method in STEPS:
        assert compare_ways(site, secret, name, query, body, *fields, method=method) < 300
        if query != "?withdraw":
            compare_records(site, secret, name)
    assert count_fast(site, "operation") - before == len(STEPS)
    assert count_binds(site) - written == 8  # four, each on both ways


@pytest.mark.parametrize(("number", "case"), [*enumerate(REFUSED)], ids=lambda one: str(one)[:60])
def test_refusals_come_from_the_plain_way(
    site: Deployment,
    secret: str,
    number: int,
    case: tuple[str, object, tuple[str, ...], str],
) -> None:
    query, body, fields, method = case
    name = f"hdl:{PREFIX}/refused-{number}-W"
    compare_ways(site, secret, name, "?register", {})
    before = count_fast(site, "operation")
    assert compare_ways(site, secret, name, query, body, *fields, method=method) >= 400
    assert count_fast(site, "operation") == before
    compare_records(site, secret, name)


def test_a_post_is_never_a_put(site: Deployment, secret: str) -> None:
    """A description may come by both, but bytes only by PUT, and operations only by POST."""
    name = site.mint(uid="once")
    before = count_fast(site, "mint")
    answers = ask(
        site,
        write(secret, f"pdi://{SERIES}/", b"a", "Content-Type: image/png", method="PUT"),
        write(secret, f"pdi://{SERIES}/", b"a", "Content-Type: image/png"),
        write(secret, f"{name}?bind", b'{"locations":[]}', method="PUT"),
    )
    assert [one.status for one in answers] == [201, 405, 400]
    assert count_fast(site, "mint") - before == 1


PUTS: list[tuple[str, bytes, tuple[str, ...], int]] = [
    ("", b"<p>second</p>", ("Content-Type: text/html; charset=utf-8",), 201),
    ("", b"<p>third</p>", ("Content-Type: text/html", "Content-Language: en"), 201),
    (".html.4", b"<p>fourth</p>", (), 201),
    ("", b"\x89PNG", ("Content-Type: image/png", 'If-Match: "r4"'), 201),
    (".html.5", b"<p>fifth</p>", ("Idempotency-Key: NAME",), 201),
    (".html.5", b"<p>fifth</p>", ("Idempotency-Key: NAME",), 201),
    ("", b"{}", ("Content-Type: application/json", "If-None-Match: *", "If-Match: *"), 412),
    ("", b"{}", ("Content-Type: application/json", 'If-Match: "r1"'), 412),
    (".html.9", b"<p>ninth</p>", (), 404),
    (".html.1", b"<p>other</p>", (), 201),
    ("", "Grüße".encode(), ("Content-Type: text/plain",), 201),
    ("", b"plain", (), 201),
    ("", b'{"@context":{}}', ("Content-Type: application/ld+json",), 201),
    ("?info", b"x", ("Content-Type: image/png",), 400),
    ("#char=0,1", b"x", ("Content-Type: image/png",), 405),
    (".html.6", b"x", ("Content-Type: image/png",), 400),
    ("", b"x", ("Content-Type: image/png", "Content-Range: bytes 0-1/2"), 400),
    ("", b"x" * 40_000, ("Content-Type: image/png",), 201),
]
"""Uploads to a known name, in this order, and their status."""


def test_bytes_are_put_into_a_known_name(site: Deployment, secret: str) -> None:
    """Version by version: the answers, the records and the bytes are the same."""
    first = ("Content-Type: text/html; charset=utf-8",)
    names = []
    for _ in WAYS:
        made = ask_plainly(
            site, write(secret, f"pdi://{SERIES}/", b"<p>first</p>", *first, method="PUT")
        )
        names.append(re.sub(r"\.html\.1$", "", json.loads(made.body)["identifier"]))
    taken = []
    for number, (rest, body, fields, status) in enumerate(PUTS):
        before = count_fast(site, "operation")
        requests = [
            write(
                secret,
                name + rest,
                body,
                *(one.replace("NAME", f"{name}-key") for one in fields),
                method="PUT",
            )
            for name in names
        ]
        [one], other = ask(site, requests[0]), ask_plainly(site, requests[1])
        assert one.status == status, (number, one)
        assert comparable(one, names[0]) == comparable(other, names[1])
        taken.append(count_fast(site, "operation") - before)
    assert [number for number, one in enumerate(taken) if one] == [0, 1, 2, 3, 4, 5, 9]
    shown = [
        re.sub(
            r"20\d\d-[01]\d-[0-9T:.Z]+",
            "T",
            hide_way(
                site.get(f"/{name}?history", f"Authorization: Bearer {secret}").body.decode(), name
            ),
        )
        for name in names
    ]
    assert shown[0] == shown[1]
    for version in (".html.2", ".html.3", ".html.4", ".png.5", ".html.6"):
        one, other = (site.get(f"/{name}{version}") for name in names)
        assert (one.status, one.body) == (200, other.body)


def test_a_share_that_is_used_up_is_counted_once(tmp_path: Path) -> None:
    initialise(tmp_path / "registry", series=(SERIES,), handle_prefixes=(PREFIX,))
    with (tmp_path / "registry/perdure.toml").open("a") as settings:
        settings.write("mints_per_day = 1\n")
    with deployed(tmp_path / "registry") as site:
        secret = site.token("small", authorities=("*",))
        mint = write(secret, f"pdi://{SERIES}/?mint", {})
        put = write(secret, f"pdi://{SERIES}/", b"a", "Content-Type: image/png", method="PUT")
        answers = ask(site, mint, mint, put, mint)
        assert [one.status for one in answers] == [201, 429, 429, 429]
        time.sleep(1.1)  # counts are gathered once a second
        assert read_counter(site, 'perdure_limited_requests_total{limit="mints"}') == 3


def test_names_are_minted(site: Deployment, secret: str) -> None:
    """POST to a series: each way takes the next number."""
    before = count_fast(site, "operation")
    for target in (f"pdi://{SERIES}/", f"ark:{SHOULDER}"):
        body = {"locations": [PLACE], "format": "html"} if target[:3] == "pdi" else {}
        one = ask(site, write(secret, f"{target}?mint", body))[0]
        other = ask_plainly(site, write(secret, f"{target}?mint", body))
        names = [json.loads(answer.body)["identifier"] for answer in (one, other)]
        assert comparable(one, names[0]) == comparable(other, names[1])
        assert one.status == 201
    assert count_fast(site, "operation") - before == 2


def test_what_only_the_door_can_refuse(site: Deployment, secret: str) -> None:
    """The location is checked by the door: the answer is the plain way's problem document."""
    name = f"hdl:{PREFIX}/door-W"
    compare_ways(site, secret, name, "?register", {})
    compare_ways(site, secret, name, "?withdraw", {"reason": "a mistake"})
    before = count_fast(site, "operation")
    assert compare_ways(site, secret, name, "?bind", {"locations": [PLACE]}) >= 400
    assert count_fast(site, "operation") == before


def test_rights(site: Deployment, secret: str) -> None:
    del secret  # the server leads
    binder = site.token("binds here", operations=("bind",), authorities=(f"hdl:{PREFIX}/a*",))
    both = site.token("aliases here", operations=("alias",), authorities=(f"hdl:{PREFIX}/a*",))
    for name in ("a1", "b1"):
        site.bind(f"hdl:{PREFIX}/{name}", PLACE)
    bind, alias = {"locations": [PLACE]}, {"other": f"hdl:{PREFIX}/b1"}
    answers = ask(
        site,
        write(binder, f"hdl:{PREFIX}/a1?bind", bind),
        write(binder, f"hdl:{PREFIX}/b1?bind", bind),
        write(binder, f"hdl:{PREFIX}/a1?withdraw", {"reason": "r"}),
        write(both, f"hdl:{PREFIX}/a1?alias", alias),
        write(both, f"hdl:{PREFIX}/unknown?alias", alias),
    )
    assert [one.status for one in answers] == [200, 403, 403, 403, 404]


def test_a_token_is_refused_as_soon_as_it_is_revoked(site: Deployment, secret: str) -> None:
    del secret  # the server leads
    passing, digest = make_token()
    scope = Token(name="passing", digest=digest, operations=("register",), authorities=("*",))
    statuses = []
    with site.connect() as wire:
        for number, revoked in enumerate((None, "2026-01-01T00:00:00Z")):
            site.do(SaveToken(token=msgspec.structs.replace(scope, revoked=revoked)))
            wire.sendall(write(passing, f"hdl:{PREFIX}/passing-{number}?register", {}))
            data = b""
            while b"}" not in data:
                data += wire.recv(65536)
            statuses.append(parse_answers(data, ["POST"])[0].status)
    assert statuses == [201, 401]


def test_long_headers_are_not_remembered(site: Deployment, secret: str) -> None:
    """A thousand of them would take megabytes."""
    name = f"hdl:{PREFIX}/long-header-W"
    compare_ways(site, secret, name, "?register", {})
    before = count_fast(site, "operation")
    field = f"X-Anything: {'x' * 5000}"
    assert compare_ways(site, secret, name, "?bind", {"locations": [PLACE]}, field) == 201
    assert count_fast(site, "operation") == before


def test_bodies_of_other_lengths_follow_each_other(site: Deployment, secret: str) -> None:
    """llhttp is not asked again about a header that differs only in its length."""
    requests = [
        write(secret, f"hdl:{PREFIX}/long-{number}?register", {"metadata": {"a": "x" * number}})
        for number in (1, 1000, 20)
    ]
    with site.connect() as wire:
        for request in requests:
            wire.sendall(request)
            data = b""
            while b"}" not in data:
                data += wire.recv(65536)
            assert parse_answers(data, ["POST"])[0].status == 201
    for number in (1, 1000, 20):
        shown = site.get(f"/hdl:{PREFIX}/long-{number}?info", "Accept: application/json")
        assert json.loads(shown.body)["metadata"] == {"a": "x" * number}
