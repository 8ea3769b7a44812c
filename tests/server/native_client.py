"""A client of the native Handle protocol, written from RFC 3651 and 3652 and not from the code."""

from __future__ import annotations

import hashlib
import http.client
import socket
import struct
import time
from typing import Any

from tests.server.deployment import Deployment

CERTIFY, RECURSIVE, KEEP_OPEN, DIGEST = 1 << 30, 1 << 28, 1 << 25, 1 << 23
RESOLUTION, SITE_INFO, DELETE = 1, 2, 101


def pack_text(text: str) -> bytes:
    return struct.pack("!I", len(text.encode())) + text.encode()


def make_request(
    handle: str,
    *,
    indexes: tuple[int, ...] = (),
    types: tuple[str, ...] = (),
    opcode: int = RESOLUTION,
    flags: int = 0,
    minor: int = 11,
    number: int = 7,
    body: bytes | None = None,
    code: int = 0,
) -> bytes:
    """A request (RFC 3652 sections 2.2 and 3.2.1)."""
    if body is None:
        body = pack_text(handle)
        body += struct.pack(f"!I{len(indexes)}I", len(indexes), *indexes)
        body += struct.pack("!I", len(types)) + b"".join(map(pack_text, types))
    header = struct.pack("!IIIHBBII", opcode, code, flags, 0, 0, 0, 0, len(body))
    message = header + body + bytes(4)
    return struct.pack("!BBHIIII", 2, minor, 0, 0, number, 0, len(message)) + message


class Reply:
    """An answer, read by the specification."""

    def __init__(self, whole: bytes, request: bytes) -> None:
        self.envelope = struct.unpack("!BBHIIII", whole[:20])
        message = whole[20:]
        assert self.envelope[6] == len(message)
        self.header = struct.unpack("!IIIHBBII", message[:24])
        _, self.code, self.flags, self.serial, _, _, self.expires, length = self.header
        self.signed = message[: 24 + length]
        self.body = message[24 : 24 + length]
        self.credential = message[24 + length :]
        if self.flags & DIGEST:
            (asked,) = struct.unpack("!I", request[40:44])
            hash = {2: hashlib.sha1, 3: hashlib.sha256}[self.body[0]]
            expected = hash(request[20 : 44 + asked]).digest()
            assert self.body[1 : 1 + len(expected)] == expected
            self.body = self.body[1 + len(expected) :]

    def read_values(self) -> tuple[str, list[dict[str, Any]]]:
        """The handle and the values (sections 3.2.2; RFC 3651 section 3.1)."""
        at = 0

        def take(form: str) -> Any:
            nonlocal at
            found = struct.unpack_from(form, self.body, at)
            at += struct.calcsize(form)
            return found[0] if len(found) == 1 else found

        def take_octets() -> bytes:
            nonlocal at
            length = take("!I")
            at += length
            return self.body[at - length : at]

        handle, values = take_octets().decode(), []
        for _ in range(take("!I")):
            index, timestamp, kind, ttl, permissions = take("!IIBIB")
            one = {"index": index, "timestamp": timestamp, "ttl": ttl, "permissions": permissions}
            assert kind == 0
            values.append(one | {"type": take_octets().decode(), "data": take_octets()})
            for _ in range(take("!I")):
                take_octets()
                take("!I")
        assert at == len(self.body)
        return handle, values


class NativeSite:
    """A resolver with the native interface."""

    def __init__(self, site: Deployment, port: int) -> None:
        self.site, self.port = site, port

    def ask_udp(self, request: bytes, *, seconds: float = 20) -> Reply:
        return Reply(b"".join(self.collect_udp(request, seconds=seconds)), request)

    def collect_udp(self, request: bytes, *, seconds: float = 20) -> list[bytes]:
        """The datagrams of an answer, joined by section 2.3: an envelope, then the pieces."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as wire_:
            wire_.settimeout(seconds)
            wire_.sendto(request, ("127.0.0.1", self.port))
            first = wire_.recv(2048)
            assert len(first) <= 512
            flags, length = struct.unpack("!H", first[2:4])[0], struct.unpack("!I", first[16:20])[0]
            if not flags & 0x2000:
                return [first]
            pieces = {struct.unpack("!I", first[12:16])[0]: first[20:]}
            while sum(map(len, pieces.values())) < length:
                more = wire_.recv(2048)
                assert len(more) <= 512
                assert struct.unpack("!I", more[16:20])[0] == length
                pieces[struct.unpack("!I", more[12:16])[0]] = more[20:]
            return [first[:20], *(pieces[number] for number in range(len(pieces)))]

    def wait(self) -> None:
        """Wait until the interface is listening."""
        until = time.monotonic() + 60
        while True:
            try:
                self.connect().close()
            except OSError:
                assert time.monotonic() < until, self.site.log()
                time.sleep(0.05)
            else:
                return

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=20)

    def ask_tcp(self, request: bytes, stream: socket.socket | None = None) -> Reply:
        with stream or self.connect() as opened:
            opened.sendall(request)
            return Reply(read_whole(opened), request)

    def ask_http(self, request: bytes) -> Reply:
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        fields = {"Content-Type": "application/x-hdl-message"}
        client.request("POST", "/", body=request, headers=fields)
        answer = client.getresponse()
        assert answer.getheader("Content-Type") == "application/x-hdl-message"
        return Reply(answer.read(), request)


def read_whole(stream: socket.socket) -> bytes:
    whole = b""
    while len(whole) < 20 or len(whole) < 20 + struct.unpack("!I", whole[16:20])[0]:
        piece = stream.recv(65536)
        assert piece, "closed without an answer"
        whole += piece
    return whole


def find_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
