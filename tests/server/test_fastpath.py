"""The fast path gives what the plain way gives, byte for byte, and nothing that is out of date."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from tests.server.deployment import SERIES, Deployment, resource, text

from perdure.ids import parse
from perdure.model.commands import Assign, Bind, Break, Describe, Withdraw
from perdure.model.records import Location, Value

ADMIN = '{"handle":"0.NA/1","index":200,"permissions":"011111110011"}'


def exchange(site: Deployment, head: str) -> bytes:
    """The bytes of an answer, without its date."""
    with site.connect() as wire:
        wire.sendall(head.encode("latin-1"))
        received = b""
        while part := wire.recv(1 << 16):
            received += part
    lines = received.split(b"\r\n")
    return b"\r\n".join(line for line in lines if not line.startswith(b"date: "))


FIELDS = [
    "",
    "Accept: */*\r\n",
    "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n",
    "Accept: application/json\r\n",
    "Accept: application/xml;q=0.5, text/html;q=0.1\r\n",
    "Accept: text/html\r\nAccept: application/json\r\n",
    "Range: bytes=0-3\r\n",
    "Range: bytes=2-\r\n",
    "Range: bytes=-2\r\n",
    "Range: bytes=9-3\r\n",
    "Range: bytes=99-\r\n",
    "Range: bytes=0-0, 2-2\r\n",
    'Range: bytes=0-3\r\nIf-Range: "x"\r\n',
    "If-None-Match: *\r\n",
    "Want-Repr-Digest: sha-512=0\r\n",
    "X-Forwarded-Proto: https\r\n",
    "Perdure-Echo: 1\r\n",
    "Expect: 100-continue\r\n",
]


def test_both_ways_give_the_same_bytes(site: Deployment) -> None:
    """The same request is sent to be kept open, which the fast path may answer, and to be closed,
    which it never does; then again, when the answer is remembered."""
    letter = site.mint(text(b"0123456789"), text(b"<p>", "html", "text/html"))
    site.commit(resource(letter), text(b"second"))
    moved = site.mint(format="html", locations=(Location(uri="https://a.example/?b=c&d"),))
    site.bind("hdl:1/two", "https://a.example/1", Location(uri="https://a.example/2", weight=9))
    site.bind("urn:example:a-b", 'https://a.example/"<>')
    for name in USUAL_NAMES:
        site.bind(name, f"https://a.example/{len(name)}")
    stated = "https://a.example/stated"
    site.do(Assign(identifier=parse("hdl:1/valued"), values=_list_values(stated, ttl=77)))
    gone = site.mint(text(b"x"))
    site.do(Withdraw(identifier=parse(resource(gone)), reason="r"))
    targets = [
        *(f"/{letter}", f"/{letter.upper()}", letter, f"/{resource(letter)}.text"),
        *(f"/{resource(letter)}", f"/{letter.replace('.text.1', '.text.2')}"),
        *(f"/{letter.replace('.text.1', '.png.1')}", f"/{letter.replace('.text.1', '.text.7')}"),
        *(f"/{moved}", f"/urn:{moved}", f"/{resource(moved)}", f"/{moved}?info", f"/{moved}?"),
        *("/hdl:1/two", "/hdl:1/TWO", "/hdl:1/t%77o", "/urn:example:a-b", "/urn:EXAMPLE:a-b"),
        *(f"/{name}" for name in USUAL_NAMES),
        *("/1/valued", "/hdl:1/valued", "/hdl:1/Valued", "/10.1/ABC", "/doi:10.1/ABC", "/1/", "/1"),
        *("/ark:/99999/x-6", "/ark:99999/x6/", "/ark:99999/x6.y", "/urn:pwid:a.b", "/2026/1"),
        *(f"/{gone}", f"/{moved}x", f"/pdi://{SERIES}/", "/", "/healthz", "/nothing", "/a:b", "/:"),
    ]
    for method in ("GET", "HEAD"):
        for target in targets:
            for fields in FIELDS:
                line = f"{method} {target} HTTP/1.1\r\nHost: id.example\r\n{fields}"
                closing = exchange(site, f"{line}Connection: close\r\n\r\n")
                plain = closing.replace(b"connection: close\r\n", b"")
                ender = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
                for _ in range(2):
                    both = exchange(site, f"{line}\r\n{ender}")
                    fast = both[: both.rindex(b"HTTP/1.1 200 OK")]
                    assert _comparable(fast) == _comparable(plain), (method, target, fields)


USUAL_NAMES = (
    "hdl:1/usual",
    "doi:10.1/abc",
    "ark:99999/x6",
    "urn:nbn:de:101:1-2011",
    "URN:IANA:42117::opaque-1:::",
    "pwid:archive.org:2016-01-22T11.20.29Z:page:http://www.dr.dk/",
)


def _list_values(uri: str, *, ttl: int) -> tuple[Value, ...]:
    return (
        Value(index=1, type="URL", data=uri, ttl=ttl),
        Value(index=2, type="EMAIL", data="a@b.example"),
        Value(index=100, type="HS_ADMIN", format="admin", data=ADMIN),
    )


def _comparable(answer: bytes) -> bytes:
    """Without what is drawn at random."""
    head, _, _ = answer.partition(b"\r\n\r\n")
    found = [line for line in head.split(b"\r\n") if b"boundary=" in line]
    if not found:
        return answer
    return answer.replace(found[0].partition(b"boundary=")[2], b"")


def test_redirects_are_answered_without_asgi(site: Deployment) -> None:
    """Or all of the above proves nothing."""
    for name in USUAL_NAMES:
        site.bind(name, "https://a.example/")
    described = site.bind(f"pdi://{SERIES}/1997/09/01/7", "https://a.example/")
    site.do(Describe(identifier=parse(described), patch=b'{"title":"A"}'))
    site.do(
        Assign(identifier=parse("hdl:1/valued"), values=_list_values("https://a.example/", ttl=7))
    )
    names = [*USUAL_NAMES, described, "hdl:1/valued", "1/valued", "10.1/ABC", "ark:/99999/x6"]
    ender = "GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    for name in names:
        before = _counted(site)
        site.send((3 * f"GET /{name} HTTP/1.1\r\nHost: a\r\n\r\n" + ender).encode())
        assert _counted(site) == before + 3, name


def _counted(site: Deployment) -> float:
    for line in site.get("/metrics").body.decode().splitlines():
        if line.startswith('perdure_fast_answers_total{kind="redirect"}'):
            return float(line.rpartition(" ")[2])
    raise AssertionError


def test_what_strangers_ask_for_does_not_fill_the_memory(site: Deployment) -> None:
    """What was understood once is remembered, but not at any length."""
    letter, name = site.mint(text(b"x")), site.bind("hdl:1/remembered", "https://a.example/")
    mirrors = [Location(uri=f"https://a.example/{one}", language=one) for one in ("de", "en")]
    mirrored = site.bind("hdl:1/mirrored", *mirrors)
    asked = [(f"/{name}", "X-Padding"), (f"/{name}", "Accept"), ("/api/handles/1/remembered", "X")]
    asked.append((f"/{mirrored}", "Accept-Language"))
    with site.connect() as wire:
        for warm in range(600):
            if warm == 20:
                before = _resident(site)
            for target, field in asked:
                _answered(wire, target, f"{field}: a/{warm:03}{'x' * 50_000}\r\n")
            unknown = f"{resource(letter)}.{warm:03}{'x' * 8000}.1"
            assert _answered(wire, f"/{unknown}").startswith(b"HTTP/1.1 406")
    assert _resident(site) - before < 16 << 20


def _resident(site: Deployment) -> int:
    """Bytes of memory that the server takes."""
    pages = Path(f"/proc/{site.process.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGESIZE")


def test_an_answer_is_never_older_than_an_acknowledged_change(site: Deployment) -> None:
    """Changes are made by another process than the one that answers."""
    name = site.bind("hdl:1/moving", "https://a.example/0")
    with site.connect() as wire:
        for number in range(1, 30):
            assert f"location: https://a.example/{number - 1}\r\n".encode() in _asked(wire, name)
            site.do(
                Bind(
                    identifier=parse(name),
                    locations=(Location(uri=f"https://a.example/{number}", weight=number + 1),),
                )
            )
            assert f"location: https://a.example/{number}\r\n".encode() in _asked(wire, name)
        site.do(Break(identifier=parse(name), uri="https://a.example/29"))
        assert b"location: https://a.example/28\r\n" in _asked(wire, name)
        site.do(Withdraw(identifier=parse(name), reason="r"))
        assert _asked(wire, name).startswith(b"HTTP/1.1 410 ")


def _asked(wire: socket.socket, name: str) -> bytes:
    return _answered(wire, f"/{name}")


def _answered(wire: socket.socket, target: str, fields: str = "") -> bytes:
    wire.sendall(f"GET {target} HTTP/1.1\r\nHost: a\r\n{fields}\r\n".encode())
    received = b""
    while b"\r\n\r\n" not in received:
        received += wire.recv(1 << 16)
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += wire.recv(1 << 16)
    return head + b"\r\n\r\n" + body
