"""Discovery among strangers: forged, slow and looping name servers, hosts that lie, the cache.

bind signs and validates; the slow name server and the lying hosts are sockets of this test.
"""

from __future__ import annotations

import asyncio
import http.server
import json
import re
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tests.name_servers import find_program, running

from perdure.errors.discovery import DiscoveryFailed, ResolverMalformed, ResolverNotFound
from perdure.fetching.discovery.cache import DiscoveryCache, find_cache_file
from perdure.fetching.discovery.discovering import Discoverer, Discovery, read_resolvers
from perdure.fetching.discovery.lookups import Lookup, NameServers, read_server
from perdure.fetching.fetcher import Fetcher
from perdure.ids import parse
from perdure.policy.discovery.pointers import Pointer

pytest.importorskip("dns")

SERIES = "oma.eop.gov.us"
NAME = parse(f"pdi://{SERIES}/1997/09/01/1")
LOOPBACK = ("127.0.0.0/8",)


async def resolve_here(_host: str, _port: int) -> list[str]:
    return ["127.0.0.1"]


def find(address: str, hosts: tuple[str, ...] = (), patience: float = 3.0) -> Discovery:
    async def run() -> Discovery:
        fetcher = Fetcher(user_agent="test", networks=LOOPBACK, resolve=resolve_here)
        names = NameServers((address,), seconds=patience)
        discoverer = Discoverer(fetcher=fetcher, name_servers=lambda: names, hosts=hosts)
        return await discoverer.discover(NAME)

    return asyncio.run(run())


# signed zones
# ------------


LINES = "\n".join(
    (
        f'@ IN NAPTR 10 10 "s" "https+N2L+N2R" "" _https._tcp.{SERIES}.',
        "_https._tcp IN SRV 1 1 443 pid.example.org.",
    )
)


@contextmanager
def validating(place: Path, damage: Callable[[str], str]) -> Iterator[str]:
    """A name server that validates what another serves: a zone that was damaged after signing."""
    zone = place / "signed"
    zone.mkdir(parents=True)
    make_key = [find_program("dnssec-keygen"), "-K", str(zone), "-a", "ECDSAP256SHA256"]
    keys = [
        subprocess.run([*make_key, *flags, SERIES], check=True, capture_output=True, text=True)
        for flags in (["-f", "KSK"], [])
    ]
    text = f"$ORIGIN {SERIES}.\n$TTL 60\n@ IN SOA ns h 1 3600 600 86400 60\n@ IN NS ns\n"
    (zone / "zone").write_text(f"{text}ns IN A 127.0.0.1\n{LINES}\n")
    words = [find_program("dnssec-signzone"), "-S", "-K", str(zone), "-o", SERIES, "zone"]
    subprocess.run(words, check=True, capture_output=True, cwd=zone)
    signed = zone / "zone.signed"
    signed.write_text(damage(signed.read_text()))
    public = (zone / f"{keys[0].stdout.strip()}.key").read_text()
    record = re.search(r"DNSKEY (\d+) (\d+) (\d+) (.+)", public)
    assert record is not None
    key = f'{record[1]} {record[2]} {record[3]} "{record[4].replace(" ", "")}"'
    with running(place / "served", "bind", {SERIES: str(signed)}, signed=True) as served:
        host, _, port = served.partition(":")
        more = (
            "recursion yes; dnssec-validation yes; forward only; "
            f"forwarders {{ {host} port {port}; }}; "
        )
        anchors = f"trust-anchors {{ {SERIES}. static-key {key}; }};"
        with running(place / "asked", "bind", {}, more=more, extra=anchors) as asked:
            yield asked


def test_signed_records_are_told_as_validated(tmp_path: Path) -> None:
    with validating(tmp_path, lambda zone: zone) as address:
        found = find(address)
    assert [one.base for one in found.resolvers] == ["https://pid.example.org"]
    assert found.resolvers[0].security == "validated"


def test_forged_records_end_discovery(tmp_path: Path) -> None:
    """A host that lies must not get its turn after name servers were attacked."""

    def forge(zone: str) -> str:
        assert "pid.example.org" in zone
        return zone.replace('"https+N2L+N2R"', '"https+N2L+N2C"')

    with validating(tmp_path, forge) as address, hosting({}) as host:
        found = find(address, (host,))
    assert found.resolvers == ()
    assert [one.security for one in found.steps[1:]] == ["bogus"]
    with pytest.raises(DiscoveryFailed, match="forged"):
        found.require_resolvers()


def test_records_of_an_unsigned_zone_are_not_told_as_validated(tmp_path: Path) -> None:
    with running(tmp_path, "bind", {SERIES: LINES}) as address:
        assert find(address).resolvers[0].security == "not validated"


# slow, silent and hostile name servers
# -------------------------------------


@contextmanager
def answering(answer: Callable[[bytes], bytes | None]) -> Iterator[str]:
    """A name server made of one function: a question in, an answer or nothing out."""
    with socket.socket(type=socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(0.1)
        stop = threading.Event()

        def serve() -> None:
            while not stop.is_set():
                try:
                    question, client = server.recvfrom(4096)
                except TimeoutError:
                    continue
                data = answer(question)
                if data is not None:
                    server.sendto(data, client)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}"
        finally:
            stop.set()
            thread.join()


def test_a_name_server_that_is_silent_takes_no_more_than_its_time() -> None:
    with answering(lambda _: None) as address:
        found = find(address, patience=0.5)
    with pytest.raises(DiscoveryFailed, match=r"did not answer within 0\.5 seconds"):
        found.require_resolvers()


@pytest.mark.parametrize(
    "answer",
    [
        lambda question: b"",
        lambda question: question[:5],
        lambda question: b"\xff" * 512,
        lambda question: question[:2] + b"\x81\x80" + 508 * b"\xc0\x0c",
        lambda question: b"\0\0" + question[2:],  # the answer to another question
    ],
)
def test_what_is_no_answer_is_not_believed(answer: Callable[[bytes], bytes]) -> None:
    with answering(answer) as address:
        found = find(address, patience=0.5)
    assert found.resolvers == ()
    assert found.fault


def make_answer(question: bytes, *rows: str) -> bytes:
    message: Any = import_module("dns.message")
    asked = message.from_wire(question)
    answer = message.make_response(asked)
    row = asked.question[0]
    if rows:
        rrset: Any = import_module("dns.rrset")
        answer.answer.append(rrset.from_text(row.name, 60, "IN", row.rdtype.name, *rows))
    return bytes(answer.to_wire())


def test_records_without_end_are_followed_five_times() -> None:
    count = 0

    def lead_on(question: bytes) -> bytes:
        nonlocal count
        count += 1
        return make_answer(question, f'10 10 "" "" "" n{count}.example.')

    with answering(lead_on) as address:
        found = find(address)
    assert any("more than 5 rewritings" in one.found for one in found.steps)
    assert count < 15


def test_hostile_records_lead_nowhere() -> None:
    rows = [
        r'1 1 "u" "http+N2R" "!^(a+)+$!https://a.example/!" .',
        r'1 2 "u" "http+N2R" "!^.*$!gopher://a.example/!" .',
        r'1 3 "u" "http+N2R" "!^.*$!https://user:pw@a.example/!" .',
        r'1 4 "u" "http+N2R" "!^.*$!http://a.example:25/!" .',
        r'1 5 "x" "http+N2R" "" a.example.',
        r'1 6 "u" "http+N2R" "!^(.*$!https://a.example/!" .',
    ]
    with answering(lambda question: make_answer(question, *rows)) as address:
        found = find(address)
    assert found.resolvers == ()
    with pytest.raises(ResolverNotFound):
        found.require_resolvers()


# the series as a host
# --------------------


@contextmanager
def hosting(answers: dict[str, tuple[int, dict[str, str], bytes]]) -> Iterator[str]:
    """A web server that gives these answers by `METHOD path`, else 404."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, fields, body = answers.get(
                f"{self.command} {self.path}", answers.get(self.command, (404, {}, b""))
            )
            self.send_response(status)
            for name, value in fields.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_OPTIONS = do_GET  # noqa: N815 (the name is that of http.server)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://{{series}}:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


ALLOW = {"Allow": "GET, HEAD, OPTIONS"}


def state(series: Any) -> tuple[int, dict[str, str], bytes]:
    return 200, {}, json.dumps({"series": [{"series": series}]}).encode()


@pytest.mark.parametrize(
    ("answers", "confirms"),
    [
        ({"GET /.well-known/pdi": state(SERIES)}, True),
        ({"GET /.well-known/pdi": state(SERIES.upper())}, True),
        ({"GET /.well-known/pdi": state("press.a.us")}, False),
        ({"GET /.well-known/pdi": state(None)}, False),
        ({"GET /.well-known/pdi": (200, {}, b"[" * 100_000)}, False),
        ({"GET /.well-known/pdi": (200, {}, b'{"series": 7}')}, False),
        ({"GET /.well-known/pdi": (200, {}, b"x" * 300_000)}, False),
        ({"GET /.well-known/pdi": (302, {"Location": "/.well-known/pdi"}, b"")}, False),
        ({f"OPTIONS /pdi://{SERIES}/": (204, ALLOW, b"")}, True),
        ({f"OPTIONS /pdi://{SERIES}/": (200, {"Allow": "POST"}, b"")}, False),
        ({"OPTIONS": (200, ALLOW, b"")}, False),  # answers OPTIONS on everything
        ({"GET": (200, {}, b"<h1>It works!</h1>"), "OPTIONS": (200, {}, b"")}, False),
        ({}, False),
    ],
)
def test_a_host_must_confirm_the_series(
    answers: dict[str, tuple[int, dict[str, str], bytes]], confirms: bool
) -> None:
    with answering(make_answer) as address, hosting(answers) as host:
        found = find(address, (host,))
        base = host.format(series=SERIES)
    assert [one.base for one in found.resolvers] == ([base] if confirms else [])
    assert all(one.source == "host" for one in found.resolvers)


def test_a_host_on_a_private_address_is_not_asked() -> None:
    async def run(host: str, address: str) -> Discovery:
        fetcher = Fetcher(user_agent="test", resolve=resolve_here)
        names = NameServers((address,))
        return await Discoverer(
            fetcher=fetcher, name_servers=lambda: names, hosts=(host,)
        ).discover(NAME)

    with answering(make_answer) as address, hosting({"GET": state(SERIES)}) as host:
        found = asyncio.run(run(host, address))
    assert found.resolvers == ()
    assert "127.0.0.1" in found.steps[-1].found


# the cache
# ---------

LOOKUP = Lookup(
    owner=SERIES, kind="NAPTR", pointers=(Pointer(1, 1, "u", "http+N2R", "!.*!http://a/!", ""),)
)


def test_what_was_learnt_ends_with_its_lifetime(tmp_path: Path) -> None:
    now = 1000.0
    file = tmp_path / "cache" / "discovery.json"
    cache = DiscoveryCache(file, lambda: now)
    cache.keep_lookup(LOOKUP)
    cache.keep_host(SERIES, "https://a.example", 60)
    cache.save()
    again = DiscoveryCache(file, lambda: now)
    assert again.find_lookup(SERIES, "NAPTR") == LOOKUP
    assert again.find_host(SERIES) == "https://a.example"
    assert again.find_lookup(SERIES, "SRV") is None
    assert again.find_host("a.us") is None
    now += 61
    assert again.find_lookup(SERIES, "NAPTR") is None
    assert again.find_host(SERIES) is None
    again.keep_host("b.us", "", 60)
    again.save()
    assert SERIES not in file.read_text()


@pytest.mark.parametrize("text", ["", "{", '{"version": 2}', '{"lookups": 7}', "[]"])
def test_a_damaged_cache_is_none(tmp_path: Path, text: str) -> None:
    file = tmp_path / "discovery.json"
    file.write_text(text)
    assert DiscoveryCache(file).find_lookup(SERIES, "NAPTR") is None


def test_a_failure_is_not_kept(tmp_path: Path) -> None:
    cache = DiscoveryCache()
    cache.keep_lookup(Lookup(owner=SERIES, kind="NAPTR", fault="no answer"))
    assert cache.find_lookup(SERIES, "NAPTR") is None


def test_a_cache_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = DiscoveryCache(tmp_path / "file" / "discovery.json")
    cache.keep_lookup(LOOKUP)
    cache.save()


def test_the_usual_place_of_the_cache() -> None:
    assert find_cache_file({"XDG_CACHE_HOME": "/c"}) == Path("/c/perdure/discovery.json")


# settings
# --------


def test_entries_of_resolvers_are_read() -> None:
    found = read_resolvers((" PDI://A.us/ = https://a.example/x/ ", "*.b.us=http://b"))
    assert found == {"a.us": "https://a.example/x", "*.b.us": "http://b"}
    for wrong in ("a.us", "= https://a", "a.us = ftp://a", "a.us ="):
        with pytest.raises(ResolverMalformed):
            read_resolvers((wrong,))


@pytest.mark.parametrize("text", ["", "localhost", "127.0.0.1:", "127.0.0.1:x", "[::1", "1.2.3:53"])
def test_a_name_server_is_an_address(text: str) -> None:
    with pytest.raises(ValueError, match=r"address|IP"):
        read_server(text)
