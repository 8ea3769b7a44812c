"""The values of handles, as JSON: the fast path writes what the plain way writes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.test_several_locations import records
from tests.server.deployment import Deployment, deployed, text
from tests.server.test_fast_choices import Registered
from tests.server.test_fastpath import exchange

from perdure.errors import PerdureError
from perdure.ids import parse
from perdure.model.commands import Assign, Withdraw
from perdure.model.records import Location, Record, Value
from perdure.policy.handles.values import list_values
from perdure.policy.showing import show_to_readers
from perdure.registry import initialise
from perdure.server.common.answers import make_answer, write_answer
from perdure.server.common.conditions import add_entity_tag

HERE = "https://a.example/"
LOC = '<locations><location href="https://a.example/0" country="gb"/></locations>'
ADMIN = '{"handle":"0.NA/1","index":200,"permissions":"011111110011"}'
HANDLES: dict[str, list[dict[str, Any]]] = {
    "1/usual": [
        {"type": "URL", "data": HERE},
        {"type": "EMAIL", "data": 'é\u2028"\\<a@b.example>'},
        {"type": "HS_ADMIN", "format": "admin", "data": ADMIN},
    ],
    "1/times": [{"type": "URL", "data": HERE, "ttl": 77}, {"type": "A", "data": "a", "ttl": 5}],
    "1/never-kept": [{"type": "A", "data": "a", "ttl": 0}],
    "1/private": [
        {"type": "URL", "data": "https://b.example/", "permissions": "1100"},
        {"type": "URL", "data": HERE},
        {"type": "A", "data": "a", "permissions": "1111"},
    ],
    "1/all-private": [{"type": "A", "data": "a", "permissions": "1100"}],
    "1/loc": [{"type": "10320/loc", "data": LOC}, {"type": "URL", "data": "www.a.example"}],
    "1/alias": [{"type": "HS_ALIAS", "data": "1/usual"}],
    "1/secret": [{"type": "HS_SECKEY", "format": "sealed", "data": "x"}, {"type": "A", "data": ""}],
    "10.1/doi": [{"type": "URL", "data": HERE}],
}
FIELDS = [
    "",
    "Accept: text/html\r\n",
    "Authorization: Bearer x\r\n",
    "If-None-Match: *\r\n",
    "Range: bytes=0-3\r\n",
    "Origin: https://b.example\r\n",
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    root = tmp_path_factory.mktemp("values") / "registry"
    initialise(root, handle_prefixes=("1", "10.1"), mutable_prefixes=("1",))
    with deployed(root) as running:
        for handle, given_values in HANDLES.items():
            values = tuple(Value(index=index * 3, **one) for index, one in enumerate(given_values))
            running.do(Assign(identifier=parse(f"hdl:{handle}"), values=values))
        running.bind("hdl:1/bound", HERE, Location(uri="https://b.example/", weight=2))
        running.bind("hdl:1/usual", "https://b.example/beside")
        running.do(Withdraw(identifier=parse(running.bind("hdl:1/gone", HERE)), reason="r"))
        yield running


def test_both_ways_give_the_same_bytes(site: Deployment) -> None:
    held = site.mint(text(b"0123456789"))
    names = [
        *(*HANDLES, "1/bound", "1/gone", "1/unknown", "2/elsewhere", "1/USUAL", "1/us%75al"),
        *("10.1/DOI", "1/usual?", "1/usual?index=0", "1/usual?type=URL", "1/usual?pretty", "1/"),
        *("1/usual/", "/1/usual", "1", "pdi/1", f"pdi/{held.removeprefix('pdi://')}", "1/a@b", ""),
    ]
    ender = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    for name in names:
        for method in ("GET", "HEAD"):
            line = f"{method} /api/handles/{name} HTTP/1.1\r\nHost: a\r\n"
            plain = [
                exchange(site, f"{line}{fields}Connection: close\r\n\r\n").replace(
                    b"connection: close\r\n", b""
                )
                for fields in FIELDS
            ]
            requests = [f"{line}{fields}\r\n" for fields in (*FIELDS, *FIELDS)]
            fast = exchange(site, "".join(requests) + ender)
            assert fast.startswith(b"".join((*plain, *plain))), (method, name)


def test_values_are_written_without_asgi(site: Deployment) -> None:
    """Or the comparison proves nothing."""
    ender = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    for name in (*HANDLES, "1/bound", "1/USUAL"):
        before = _count_bodies(site)
        request = f"GET /api/handles/{name} HTTP/1.1\r\nHost: a\r\n\r\n"
        site.send((3 * request + ender).encode())
        assert _count_bodies(site) == before + 3, name


def _count_bodies(site: Deployment) -> float:
    lines = site.get("/metrics").body.decode().splitlines()
    found = [line for line in lines if line.startswith('perdure_fast_answers_total{kind="bytes"}')]
    return float(found[0].rpartition(" ")[2])


def test_a_private_value_is_silent(site: Deployment) -> None:
    for name, indexes in (("1/private", [3, 6]), ("1/all-private", []), ("1/secret", [3])):
        answer = site.send(
            f"GET /api/handles/{name} HTTP/1.1\r\nHost: a\r\n\r\n"
            "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode()
        )[0]
        assert [one["index"] for one in json.loads(answer.body)["values"]] == indexes
        assert b"b.example" not in answer.body
        assert b"sealed" not in answer.body


@pytest.fixture(scope="module")
def registered(tmp_path_factory: pytest.TempPathFactory) -> Registered:
    return Registered(tmp_path_factory.mktemp("registered"))


def _make_sound(record: Record) -> Record:
    """The record with data in JSON in each value that has such a format."""
    values = tuple(
        msgspec.structs.replace(one, data=ADMIN) if one.format == "admin" else one
        for one in record.values
    )
    return msgspec.structs.replace(record, values=values)


@given(st.sampled_from(["1/x", "10.1/X", "1/a:b", "0.NA/1"]), records.map(_make_sound))
def test_readers_get_the_public_values_and_nothing_else(
    registered: Registered, handle: str, record: Record
) -> None:
    """RFC 3651 section 3.1: "PUBLIC_READ", the third bit of the permissions; no secrets."""
    registered.change(record)
    found = registered.ask(f"api/handles/{handle}")
    if record.tombstone or record.versions:
        assert found is None
        return
    try:
        values = list_values(show_to_readers(record))
    except PerdureError:
        return
    public = [one for one in values if one.permissions[2] == "1" and one.type != "HS_SECKEY"]
    stored = {one.index for one in record.values}
    fresh = registered.settings.fresh_seconds
    fresh = min((one.ttl if one.index in stored else fresh for one in public), default=fresh)
    body = {
        "responseCode": 1 if public else 200,
        "handle": handle,
        "values": [_write_value(one) for one in public],
    }
    written = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    answer = make_answer(
        200,
        "application/json;charset=UTF-8",
        written,
        (b"access-control-allow-origin", b"*"),
        (b"cache-control", b"public, max-age=%d" % fresh),
    )
    assert found == write_answer(add_entity_tag(answer))


def _write_value(value: Value) -> dict[str, object]:
    data: object = value.data
    if value.format == "admin":
        data = json.loads(value.data)
    shown = {
        "index": value.index,
        "type": value.type,
        "data": {"format": value.format, "value": data},
        "ttl": value.ttl,
        "timestamp": value.at,
    }
    return shown | ({} if value.permissions == "1110" else {"permissions": value.permissions})


def test_the_values_of_a_handle_are_remembered_only_for_a_time(tmp_path: Path) -> None:
    registered = Registered(tmp_path)
    registered.change(Record(locations=(Location(uri=HERE),)))
    first = registered.ask("api/handles/1/x")
    registered.change(Record(locations=(Location(uri="https://b.example/"),)))
    second = registered.ask("api/handles/1/x")
    assert first is not None
    assert HERE.encode() in first
    assert second is not None
    assert HERE.encode() not in second
