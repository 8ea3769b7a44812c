"""What hostile clients do: each attack, well-formed, and how it must be answered.

How it works: an attack does its thing once, on a port, and yields the status of each answer, or 0
for a connection that it gives up itself. It is repeated until the run ends.
"""

from __future__ import annotations

import contextlib
import gzip
import socket
import time
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple
from urllib.parse import quote

from benchmarks.hostile_site import POLITE, SERIES, TEMPLATED, TargetSite

_SECONDS = 0.5
"""For which an attack that waits does so."""
Attacking = Callable[[int, TargetSite], Iterator[int]]


class Attack(NamedTuple):
    """One kind of hostile client."""

    name: str
    run: Attacking
    expected: frozenset[int]
    """The answers that it may get; 503 is one that is refused because too much is under way."""


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), 5)


def ask(port: int, target: str, *fields: str, body: bytes = b"", method: str = "GET") -> int:
    """Send a request, read the answer to its end, and return its status, or 0 without one."""
    length = (f"Content-Length: {len(body)}",) if body else ()
    lines = (f"{method} {target} HTTP/1.1", "Host: a", "Connection: close", *fields, *length)
    begin = b""
    with contextlib.suppress(OSError), connect(port) as wire:
        wire.settimeout(60)
        with contextlib.suppress(OSError):  # an answer may come before all is sent
            wire.sendall("\r\n".join((*lines, "", "")).encode() + body)
        while piece := wire.recv(1 << 20):
            begin = begin or piece
    return int(begin[9:12]) if begin.startswith(b"HTTP/1.1 ") else 0


def _get(path: Callable[[TargetSite], str], *fields: str) -> Attacking:
    def run(port: int, site: TargetSite) -> Iterator[int]:
        yield ask(port, path(site), *fields)

    return run


def _post(
    path: Callable[[TargetSite], str],
    body: bytes | Callable[[], bytes],
    *fields: str,
    method: str = "POST",
) -> Attacking:
    def run(port: int, site: TargetSite) -> Iterator[int]:
        bearer = f"Authorization: Bearer {site.secret}"
        sent = body if isinstance(body, bytes) else body()
        yield ask(port, path(site), bearer, *fields, body=sent, method=method)

    return run


@cache
def _make_bomb() -> bytes:
    return gzip.compress(bytes(64 << 20), 6)


def _read_slowly(port: int, site: TargetSite) -> Iterator[int]:
    with contextlib.ExitStack() as open_, contextlib.suppress(OSError):
        for _ in range(50):
            wire = open_.enter_context(connect(port))
            wire.sendall(f"GET /{site.huge} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
            yield int(wire.recv(64)[9:12] or 0)
        time.sleep(_SECONDS)


def _write_slowly(port: int, site: TargetSite) -> Iterator[int]:
    head = f"PUT /pdi://{SERIES}/ HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {site.secret}\r\n"
    with contextlib.ExitStack() as open_, contextlib.suppress(OSError):
        wires = [open_.enter_context(connect(port)) for _ in range(50)]
        for wire in wires:
            wire.sendall(f"{head}Content-Length: 100000\r\n\r\n".encode())
        for _ in range(20):
            time.sleep(_SECONDS / 20)
            for wire in wires:
                wire.sendall(b"x")
    yield from [0] * 50


def _write_heads_slowly(port: int, _: TargetSite) -> Iterator[int]:
    with contextlib.ExitStack() as open_, contextlib.suppress(OSError):
        wires = [open_.enter_context(connect(port)) for _ in range(100)]
        for byte in f"GET {POLITE} HTTP/1.1\r\nHost: a\r\nX-A: ".encode():
            for wire in wires:
                wire.sendall(bytes((byte,)))
        time.sleep(_SECONDS / 5)
    yield from [0] * 100


def _keep_connections(port: int, _: TargetSite) -> Iterator[int]:
    with contextlib.ExitStack() as open_, contextlib.suppress(OSError):
        for _number in range(200):
            open_.enter_context(connect(port)).sendall(b"GET / HTTP/1.1\r\n")
        time.sleep(_SECONDS)
    yield from [0] * 200


def _churn(port: int, _: TargetSite) -> Iterator[int]:
    """Connect, ask for a redirect, and leave: 200 times."""
    for _number in range(200):
        yield ask(port, POLITE)


def _flood_and_leave(port: int, site: TargetSite) -> Iterator[int]:
    """Ask for 100 parts that take seconds each, and leave without an answer."""
    with contextlib.ExitStack() as open_, contextlib.suppress(OSError):
        for _number in range(100):
            wire = open_.enter_context(connect(port))
            wire.sendall(f"GET /{site.markup}{XPATH} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    yield from [0] * 100


def _connect_only(port: int, _: TargetSite) -> Iterator[int]:
    """200 connections at a time that are closed at once."""
    with contextlib.ExitStack() as open_, contextlib.suppress(OSError):
        for _number in range(200):
            open_.enter_context(connect(port))
    yield from [0] * 200


def _unfold(port: int, site: TargetSite) -> Iterator[int]:
    for number in range(50):
        yield ask(port, f"/{site.stem}/{'a/.b/' * 200}{number}")


def _harvest(port: int, _: TargetSite) -> Iterator[int]:
    """Follow the resumption tokens of a harvest, ten pages at a time."""
    target = "/oai?verb=ListRecords&metadataPrefix=oai_dc"
    for _number in range(10):
        with connect(port) as wire:
            wire.settimeout(60)
            wire.sendall(f"GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
            found = b"".join(iter(lambda: wire.recv(1 << 20), b""))
        yield int(found[9:12] or 0)
        token = found.rpartition(b"</resumptionToken>")[0].rpartition(b">")[2].decode()
        if not token:
            return
        target = f"/oai?verb=ListRecords&resumptionToken={quote(token, safe='')}"


_RANGES = ",".join(f"{number * 3}-{number * 3}" for number in range(5_000))
XPATH = f"%23xpointer={quote('//row[a=following::a]', safe='')}"
"""A part of the rows for which each is compared with all that follow; it never ends in time."""
_CSS = quote(
    '{"type": "CssSelector", "value": "p:has(b) ~ p ~ p ~ p:nth-last-child(3n+1) i"}', safe=""
)
"""A part of HTML for which each paragraph is compared with all before it; it never ends in time.
PDIs have no such parts, ARKs have."""
_FOLLOWING = quote('{"type": "XPathSelector", "value": "//p[b=following::b]"}', safe="")
_VALUES = " ".join(map(str, range(60)))
_CROSSED = " ".join(f"VALUES ?{one} {{{_VALUES}}}" for one in "abcdef")
_JOINS = quote(f"SELECT (COUNT(*) AS ?n) {{{_CROSSED}}}")
"""A query with 60 to the power of six solutions; it never ends in time (400)."""
_WORDS = quote('"line of" OR text* -parts ' * 12, safe="")
_JSON = "Content-Type: application/json"
_FORM = "Content-Type: application/x-www-form-urlencoded"

_OK = frozenset({200, 503})
_TOO_MUCH = frozenset({422, 503})
"""It was understood, begun, and given up."""
_REFUSED = frozenset({400, 413, 414, 416, 422, 431, 503})

ATTACKS = (
    Attack("slow readers", _read_slowly, frozenset({200})),
    Attack("slow writers", _write_slowly, frozenset({0})),
    Attack("slow heads", _write_heads_slowly, frozenset({0})),
    Attack("many connections", _keep_connections, frozenset({0})),
    Attack("connection churn", _churn, frozenset({302})),
    Attack("connections without requests", _connect_only, frozenset({0})),
    Attack("full-speed readers", _get(lambda site: f"/{site.huge}"), frozenset({200})),
    Attack(
        "5,000 ranges",
        _get(lambda site: f"/{site.text}", f"Range: bytes={_RANGES}"),
        frozenset({200, 206}),
    ),
    Attack("long parts", _get(lambda site: f"/{site.text}?part=char=1000000,3000000"), _OK),
    Attack(
        "sparse patterns", _get(lambda _: f"/pdi://{SERIES}/*/*/31/*.*.9"), frozenset({404, 503})
    ),
    Attack("XPath", _get(lambda site: f"/{site.markup}{XPATH}"), _TOO_MUCH),
    Attack("a flood that leaves", _flood_and_leave, frozenset({0})),
    Attack("XPath of HTML", _get(lambda site: f"/{site.own_page}?part={_FOLLOWING}"), _TOO_MUCH),
    Attack("CSS", _get(lambda site: f"/{site.own_page}?part={_CSS}"), _TOO_MUCH),
    Attack("expressions", _get(lambda _: f"/{TEMPLATED}@{'a' * 500}"), _TOO_MUCH),
    Attack("quotations", _get(lambda site: f"/{site.text}?quote=89999"), frozenset({303, 503})),
    Attack("citations of a set", _get(lambda _: f"/pdi://{SERIES}/?cite"), _OK),
    Attack("members", _get(lambda site: f"/{site.collection}?members"), _OK),
    Attack("page of a collection", _get(lambda site: f"/{site.collection}?landing"), _OK),
    Attack("differences", _get(lambda site: f"/{site.versions}?diff=1,2"), _REFUSED),
    Attack("HTML in a frame", _get(lambda site: f"/{site.page}?view"), _OK),
    Attack("landing page of HTML", _get(lambda site: f"/{site.page}?landing"), _OK),
    Attack("rows of a table", _get(lambda site: f"/{site.table}%23row=1-199999"), _OK),
    Attack("pages of a long PDF", _get(lambda site: f"/{site.pdf}%23page=1999"), _OK),
    Attack("text of a PDF", _get(lambda site: f"/{site.pdf}?text"), _OK),
    Attack("zip bomb", _get(lambda site: f"/{site.bomb}?text"), _REFUSED),
    Attack(
        "gzip bombs",
        _post(
            lambda _: f"/pdi://{SERIES}/",
            _make_bomb,
            "Content-Type: application/gzip",
            method="PUT",
        ),
        frozenset({201, 503}),
    ),
    Attack(
        "deep JSON", _post(lambda _: f"/pdi://{SERIES}/?mint", b'{"a":' * 150_000, _JSON), _REFUSED
    ),
    Attack(
        "long JSON",
        _post(
            lambda _: f"/pdi://{SERIES}/?mint",
            b'{"metadata":{"title":[' + b'"x",' * 200_000 + b'"x"]}}',
            _JSON,
        ),
        _REFUSED,
    ),
    Attack(
        "long forms",
        _post(lambda _: "/sign-in", b"&".join(b"a%d=%%41" % n for n in range(100_000)), _FORM),
        _REFUSED | {403},
    ),
    Attack("harvesters", _harvest, _OK),
    Attack("SPARQL", _get(lambda _: f"/sparql?query={_JOINS}"), frozenset({400, 503})),
    Attack("searches", _get(lambda _: f"/search?q={_WORDS}"), _OK | {400}),
    Attack("names that unfold", _unfold, frozenset({302, 404})),
)
