"""The native Handle protocol: octets of RFC 3651 and 3652, over UDP, TCP and HTTP.

The client here is written from the specification, apart from perdure's code. One vector is genuine:
the data of an HS_ADMIN value of 10.1016, as the global service answered it to another's client.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from hypothesis import given
from hypothesis import strategies as st
from tests.server.deployment import Deployment, deployed, text
from tests.server.native_client import (
    CERTIFY,
    DELETE,
    DIGEST,
    KEEP_OPEN,
    SITE_INFO,
    NativeSite,
    Reply,
    find_port,
    make_request,
    pack_text,
    read_whole,
)

from perdure.ids import parse
from perdure.model.commands import Assign, Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import Value
from perdure.registry import initialise
from perdure.server.native import wire
from perdure.server.native.answering import Answerer
from perdure.server.native.listening import BURST, UdpBudget
from perdure.server.native.site import load_key, load_site
from perdure.server.native.value_bytes import write_data, write_value

PREFIX = "20.500.12345"


@pytest.fixture(scope="module")
def native(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NativeSite]:
    root = tmp_path_factory.mktemp("native") / "registry"
    initialise(root, handle_prefixes=(PREFIX,))
    port = find_port()
    with deployed(root, handle_port=port, base_url="https://pid.example") as site:
        made = NativeSite(site, port)
        made.wait()
        assign(site, "x", Value(index=1, type="URL", data="https://example.org/x", ttl=300))
        yield made


def assign(site: Deployment, suffix: str, *values: Value) -> str:
    handle = f"{PREFIX}/{suffix}"
    at = "2026-11-24T00:00:00Z"
    whole = tuple(
        Value(
            index=one.index,
            type=one.type,
            format=one.format,
            data=one.data,
            ttl=one.ttl,
            permissions=one.permissions,
            at=at,
        )
        for one in values
    )
    site.do(Assign(identifier=parse(f"hdl:{handle}"), values=whole))
    return handle


@pytest.mark.parametrize("way", ["ask_udp", "ask_tcp", "ask_http"])
def test_a_handle_resolves_over_every_transport(native: NativeSite, way: str) -> None:
    reply = getattr(native, way)(make_request(f"{PREFIX}/x"))
    assert (reply.code, reply.credential) == (1, bytes(4))
    assert reply.envelope[0] == 2
    assert reply.envelope[4] == 7
    handle, (value,) = reply.read_values()
    assert handle == f"{PREFIX}/x"
    assert abs(value.pop("timestamp") - time.time()) < 600
    assert value == {
        "index": 1,
        "ttl": 300,
        "permissions": 0x0E,
        "type": "URL",
        "data": b"https://example.org/x",
    }


def test_indexes_and_types_choose_values(native: NativeSite) -> None:
    handle = assign(
        native.site,
        "several",
        Value(index=1, type="URL", data="https://example.org/several"),
        Value(index=2, type="EMAIL", data="a@example.org"),
        Value(index=3, type="EMAIL.work", data="b@example.org"),
    )

    def ask(**chosen: Any) -> list[int]:
        reply = native.ask_udp(make_request(handle, **chosen))
        return [] if reply.code == 200 else [one["index"] for one in reply.read_values()[1]]

    assert ask() == [1, 2, 3]
    assert ask(indexes=(2,)) == [2]
    assert ask(types=("EMAIL.",)) == [3]  # section 3.2.1: "a type that ends with '.'"
    assert ask(types=("EMAIL",), indexes=(1,)) == [1, 2]
    assert ask(types=("NOTHING",)) == []


def test_values_that_are_not_public_never_leave(native: NativeSite) -> None:
    handle = assign(
        native.site,
        "secret",
        Value(index=1, type="URL", data="https://example.org/secret"),
        Value(index=2, type="NOTE", data="hidden-note", permissions="1100"),
        Value(index=300, type="HS_SECKEY", format="sealed", data="sealed-secret"),
    )
    for chosen in ({}, {"indexes": (2, 300)}, {"types": ("NOTE", "HS_SECKEY")}):
        for flags in (0, CERTIFY, DIGEST):
            reply = native.ask_tcp(make_request(handle, flags=flags, **chosen))
            assert b"hidden" not in reply.signed
            assert b"sealed-secret" not in reply.signed
            assert reply.code == (200 if chosen else 1)


def test_unknown_withdrawn_and_closed_handles(native: NativeSite) -> None:
    gone = assign(native.site, "gone", Value(index=1, type="URL", data="https://example.org/g"))
    assert native.ask_udp(make_request(gone)).code == 1
    native.site.do(Withdraw(identifier=parse(f"hdl:{gone}"), reason="wrong"))
    assert native.ask_udp(make_request(gone)).code == 100
    closed = assign(native.site, "closed", Value(index=1, type="URL", data="https://example.org/c"))
    assert native.ask_udp(make_request(closed)).code == 1
    native.site.do(Restrict(rule=ReadingRule(about=f"hdl:{closed}", access=Access.CLOSED)))
    reply = native.ask_udp(make_request(closed))
    assert reply.code == 401  # RC_ACCESS_DENIED; the REST API says the same
    assert b"example.org" not in reply.body
    rest = json.loads(native.site.get(f"/api/handles/{closed}").body)
    assert rest["responseCode"] in (401, 402)
    assert native.ask_udp(make_request(f"{PREFIX}/nothing")).code == 100
    assert native.ask_udp(make_request("20.500.99999/x")).code == 301
    assert native.ask_udp(make_request("no handle")).code == 102


def test_a_pdi_resolves_as_a_handle(native: NativeSite) -> None:
    name = str(parse(native.site.mint(text(b"held"))).resource)
    reply = native.ask_tcp(make_request(f"pdi/{name.removeprefix('pdi://')}"))
    urls = [one["data"] for one in reply.read_values()[1] if one["type"] == "URL"]
    assert urls[0].startswith(b"https://pid.example/pdi://")


def test_a_long_answer_is_several_datagrams(native: NativeSite) -> None:
    """Section 2.3: a message is "truncated to multiple packets", each of at most 512 octets."""
    handle = assign(
        native.site, "long", *(Value(index=i, type="T", data=f"{i:0500}") for i in range(1, 30))
    )
    request = make_request(handle)
    joined = native.collect_udp(request)
    assert all(len(one) == 492 for one in joined[1:-1])
    whole = joined[0][:2] + bytes(2) + b"".join(joined)[4:]
    assert Reply(whole, request).read_values() == native.ask_tcp(request).read_values()


@pytest.mark.parametrize(("minor", "algorithm"), [(1, 2), (11, 3)])
def test_the_digest_of_the_request_is_returned(
    native: NativeSite, minor: int, algorithm: int
) -> None:
    """Section 2.2.3: the digest of the request's header and body. Older clients know SHA-1."""
    request = make_request(f"{PREFIX}/x", flags=DIGEST, minor=minor)
    reply = native.ask_udp(request)
    assert reply.flags & DIGEST
    assert reply.signed[24] == algorithm
    assert reply.read_values()[0] == f"{PREFIX}/x"


def read_site(body: bytes) -> dict[str, Any]:
    """Read HS_SITE (RFC 3651 section 3.2.2)."""
    version, major, minor, serial, mask, hashed = struct.unpack_from("!HBBHBB", body)
    at = 8

    def take_octets() -> bytes:
        nonlocal at
        (length,) = struct.unpack_from("!I", body, at)
        at += 4 + length
        return body[at - length : at]

    def take_number() -> int:
        nonlocal at
        at += 4
        return int(struct.unpack_from("!I", body, at - 4)[0])

    assert take_octets() == b""  # the hash filter
    for _ in range(2 * take_number()):
        take_octets()
    assert take_number() == 1  # one server
    take_number()
    address = body[at : at + 16]
    at += 16
    key = take_octets()
    interfaces = []
    for _ in range(take_number()):
        interfaces.append(struct.unpack_from("!BBI", body, at))
        at += 6
    assert at == len(body)
    shown = {"version": version, "protocol": (major, minor), "serial": serial, "mask": mask}
    return shown | {"hash": hashed, "address": address, "key": key, "interfaces": interfaces}


def read_key(key: bytes) -> rsa.RSAPublicKey:
    """Read an RSA key of RFC 3651 section 3.2.2: its type, two octets, exponent, modulus."""
    assert key[:15] == pack_text("RSA_PUB_KEY")
    (length,) = struct.unpack_from("!I", key, 17)
    exponent = int.from_bytes(key[21 : 21 + length], "big", signed=True)
    modulus = int.from_bytes(key[25 + length :], "big", signed=True)
    return rsa.RSAPublicNumbers(exponent, modulus).public_key()


def test_site_information_names_the_interfaces(native: NativeSite) -> None:
    reply = native.ask_tcp(make_request("", opcode=SITE_INFO, body=b""))
    site = read_site(reply.body)
    assert (site["version"], site["protocol"], site["mask"], site["hash"]) == (1, (2, 11), 0x80, 2)
    assert site["serial"] == reply.serial == 1
    assert site["address"] == bytes(12) + bytes((127, 0, 0, 1))
    assert site["interfaces"] == [(2, protocol, native.port) for protocol in (0, 1, 2)]


@pytest.mark.parametrize(
    ("minor", "named", "hash"), [(1, "SHA-1", hashes.SHA1()), (11, "SHA-256", hashes.SHA256())]
)
def test_certified_answers_are_signed_by_the_key_of_the_site(
    native: NativeSite, minor: int, named: str, hash: hashes.HashAlgorithm
) -> None:
    """Section 2.2.4: a signature "of the Message Header and Message Body"."""
    site = read_site(native.ask_tcp(make_request("", opcode=SITE_INFO, body=b"")).body)
    key = read_key(site["key"])
    reply = native.ask_udp(make_request(f"{PREFIX}/x", flags=CERTIFY | DIGEST, minor=minor))
    assert reply.code == 1
    assert reply.flags & CERTIFY
    assert reply.expires > time.time()
    credential = reply.credential
    assert struct.unpack("!I", credential[:4])[0] == len(credential) - 4
    head = bytes(4) + pack_text("") + bytes(4) + pack_text("HS_SIGNED")
    assert credential[4 : 4 + len(head)] == head
    signed = credential[4 + len(head) :]
    assert struct.unpack("!I", signed[:4])[0] == len(signed) - 4
    assert signed[4 : 4 + len(pack_text(named))] == pack_text(named)
    signature = signed[8 + len(pack_text(named)) :]
    key.verify(signature, reply.signed, padding.PKCS1v15(), hash)
    with pytest.raises(InvalidSignature):
        key.verify(signature, reply.signed + b"x", padding.PKCS1v15(), hash)


def test_administration_is_refused(native: NativeSite) -> None:
    for opcode in (100, DELETE, 105, 200, 400, 1000, 0, 2**32 - 1):
        assert native.ask_udp(make_request(f"{PREFIX}/x", opcode=opcode)).code == 5
    assert native.ask_udp(make_request(f"{PREFIX}/x")).code == 1


def test_a_connection_is_kept_if_the_client_asks(native: NativeSite) -> None:
    with native.connect() as stream:
        for number in (1, 2):
            request = make_request(f"{PREFIX}/x", flags=KEEP_OPEN, number=number)
            stream.sendall(request)
            assert Reply(read_whole(stream), request).envelope[4] == number
        request = make_request(f"{PREFIX}/x")
        stream.sendall(request)
        assert Reply(read_whole(stream), request).code == 1
        assert stream.recv(1) == b""


HOSTILE = [
    b"",
    b"\x02",
    bytes(20),
    b"\xff" * 600,
    struct.pack("!BBHIIII", 2, 1, 0, 0, 1, 0, 2**32 - 1) + bytes(24),
    struct.pack("!BBHIIII", 2, 1, 0, 0, 1, 0, 0),
    make_request("x", code=1),  # an answer: two servers must not answer each other
    make_request("", body=b"\xff\xff\xff\xff")[:-5],
]


@pytest.mark.parametrize("octets", HOSTILE)
def test_what_cannot_be_a_request_is_not_answered(native: NativeSite, octets: bytes) -> None:
    with pytest.raises(TimeoutError):
        native.collect_udp(octets, seconds=0.3)
    with native.connect() as stream:
        stream.sendall(octets)
        stream.shutdown(socket.SHUT_WR)
        assert stream.recv(100) == b""
    assert native.ask_udp(make_request(f"{PREFIX}/x")).code == 1


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xff\xff\xff",
        b"\0\0\0\x01",
        b"\0\0\0\x02\xff\xfe" + bytes(8),
        pack_text("a/b") + b"\xff\xff\xff\xff" + bytes(4),
        pack_text("a/b") + bytes(3),
    ],
)
def test_malformed_bodies_are_told(native: NativeSite, body: bytes) -> None:
    """RC_PROTOCOL_ERROR: "Corrupted or unrecognizable message" (section 2.2.2.2)."""
    assert native.ask_udp(make_request("", body=body)).code == 4


@pytest.mark.parametrize(
    "head",
    [
        b"POST / HTTP/1.1\r\n\r\n" + bytes(40),
        b"POST / HTTP/1.1\r\nContent-Length: 999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"POST / HTTP/1.1\r\nX: " + b"x" * 20000,
        b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
    ],
)
def test_hostile_http_is_closed(native: NativeSite, head: bytes) -> None:
    with native.connect() as stream:
        stream.sendall(head)
        stream.shutdown(socket.SHUT_WR)
        with contextlib.suppress(ConnectionResetError):
            assert stream.recv(100) == b""
    assert native.ask_http(make_request(f"{PREFIX}/x")).code == 1


def test_long_answers_over_udp_have_a_budget() -> None:
    now = [0.0]
    budget = UdpBudget(lambda: now[0])
    assert sum(budget.take("192.0.2.1", 4096) for _ in range(1000)) == BURST // 4096
    assert not budget.take("192.0.2.99", 4096)  # the same network
    assert budget.take("198.51.100.1", 4096)
    assert budget.take("2001:db8::1", 4096)
    now[0] = 10.0
    assert budget.take("192.0.2.1", 4096)


# octets
# ------


def test_admin_data_are_those_of_a_real_server() -> None:
    admin = {"handle": "0.na/10.1016", "index": 200, "permissions": "111111110010"}
    value = Value(index=100, type="HS_ADMIN", format="admin", data=json.dumps(admin))
    assert write_data(value).hex() == "0ff20000000c302e6e612f31302e31303136000000c8"


def test_other_data_have_the_form_of_their_type() -> None:
    one = {"handle": "0.NA/1", "index": 3}
    cases = [
        ("string", "é", "é".encode()),
        ("hex", "00ff", b"\0\xff"),
        ("base64", "AP8=", b"\0\xff"),
        ("base64", "?", b"?"),
        ("hex", "zz", b"zz"),
        ("vlist", json.dumps([one]), bytes((0, 0, 0, 1)) + pack_text("0.NA/1") + b"\0\0\0\x03"),
        ("admin", "{}", b"{}"),
        ("site", '{"serialNumber": "x"}', b'{"serialNumber": "x"}'),
        ("other", "[1]", b"[1]"),
    ]
    for format, data, expected in cases:
        value = Value(index=1, type="T", format=format, data=data)
        assert write_data(value) == expected, format


def test_a_value_without_a_time_has_none() -> None:
    octets = write_value(Value(index=1, type="URL", data="x:y", ttl=86400))
    assert octets.hex() == ("000000010000000000000151800e0000000355524c00000003783a7900000000")


@given(st.binary(max_size=200))
def test_no_octets_break_the_reader(octets: bytes) -> None:
    """Whatever arrives is read as a request or raises `MalformedMessage`."""
    for read in (wire.read_envelope, wire.read_header, wire.read_resolution):
        with contextlib.suppress(wire.MalformedMessage):
            read(octets)


def test_the_serial_number_grows_with_a_change(tmp_path: Path) -> None:
    """RFC 3652 section 2.2.2.4: the number tells a client that its site information is old."""
    settings = initialise(tmp_path, handle_prefixes=(PREFIX,))
    key = load_key(tmp_path)
    assert (tmp_path / "handle.key").stat().st_mode & 0o777 == 0o600
    serials = [
        load_site(tmp_path, settings, port, again)["serialNumber"]
        for port, again in ((2641, key), (2641, load_key(tmp_path)), (2642, key), (2642, None))
    ]
    assert serials == [1, 1, 2, 3]


def test_a_server_without_a_key_says_so(tmp_path: Path) -> None:
    import perdure

    with perdure.open(tmp_path / "registry", create=True) as registry:
        site = load_site(registry.root, registry.settings, 2641, None)
        answerer = Answerer(registry, site, None)
        request = make_request("20.500.12345/x", flags=CERTIFY)
        found = answerer.answer(wire.read_envelope(request), request[20:], "127.0.0.1")
        answerer.close()
    assert found is not None
    code, flags = struct.unpack("!II", found.message[4:12])
    assert (code, flags & CERTIFY) == (2, 0)


def test_the_command_line_prints_the_site(native: NativeSite) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "perdure.cli",
            "handle-server",
            "site",
            "--json",
            "-C",
            str(native.site.root),
            "--port",
            str(native.port),
        ],
        capture_output=True,
        check=True,
        text=True,
        env=os.environ | {"PERDURE_BASE_URL": "https://pid.example"},
    )
    printed = json.loads(done.stdout)
    reply = native.ask_tcp(make_request("", opcode=SITE_INFO, body=b""))
    assert bytes.fromhex(printed["octets"]) == reply.body
    assert printed["site"]["servers"][0]["interfaces"][0]["port"] == native.port
