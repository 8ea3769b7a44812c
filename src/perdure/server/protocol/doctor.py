"""The probes of `perdure doctor URL`: do request targets reach a resolver unchanged?

How it works: a proxy that rewrites targets does so unseen, and only the resolver knows what it
received. So a request with the header field `Perdure-Echo` is answered with its own method and
target as they arrived, without any look-up (`make_echo_answer`, which the application calls first).
`probe` sends request lines that proxies often change, byte for byte over a socket, and compares.

What must stay true: the echo discloses only the request line itself, is not stored by caches, and
is never sent for a method that could change something.
"""

from __future__ import annotations

import http.client
import re
import secrets
import socket
import ssl
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Literal
from urllib.parse import SplitResult, urlsplit

import msgspec

from perdure.errors.configuring import OriginMalformed
from perdure.errors.servers import ServerUnreachable
from perdure.server.protocol.http import get_raw_target

ECHO = "Perdure-Echo"
_TRUST = "name the authority that signed its certificate in SSL_CERT_FILE, or renew the certificate"
_START = "check the address, and that the server and any proxy in front of it are running"

Severity = Literal["ok", "note", "warning", "error"]
"""error: identifiers are resolved wrongly. warning: some forms of requests fail. note: the form is
one that few clients use, or that no proxy of this kind lets through."""

_ORIGIN = re.compile(r"https?://[^/?#@\s]+/?", re.IGNORECASE)
_LONGEST_ECHO = 64 * 1024  # bytes
_ECHOED = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))


class ProbeFinding(msgspec.Struct, frozen=True):
    """The result of one probe."""

    name: str
    sent: str
    """Method and target."""
    arrived: str | None
    """Method and target as the resolver received them; None if something else answered."""
    ok: bool
    severity: Severity
    advice: str
    """The meaning, and the configuration line that fixes it; empty if there is nothing to do."""


class _Echo(msgspec.Struct, frozen=True):
    """The body of an echo."""

    method: str
    target: str


class _Probe(msgspec.Struct, frozen=True):
    name: str
    target: str
    """`{id}` stands for an identifier that has never been requested, `{host}` for the host."""
    severity: Severity
    advice: str
    method: str = "GET"
    same: str | None = None
    """Another target that means the same request."""


def make_echo_answer(scope: Mapping[str, Any]) -> tuple[list[tuple[bytes, bytes]], bytes] | None:
    """Return the fields and body of the 200 that echoes a probe, or None for other requests."""
    wanted = ECHO.lower().encode()
    if scope["method"] not in _ECHOED or all(name != wanted for name, _ in scope["headers"]):
        return None
    seen = {"method": scope["method"], "target": get_raw_target(scope).decode("ascii")}
    body = msgspec.json.encode(seen)
    headers = [
        (b"content-type", b"application/json"),
        (b"cache-control", b"no-store"),
        (b"content-length", b"%d" % len(body)),
    ]
    return headers, body


_RAW = (
    "pass the request line on unchanged: nginx, the map of deploy/nginx.conf with "
    "'proxy_pass http://perdure$perdure_target;'; Apache, 'AllowEncodedSlashes NoDecode' and "
    "'ProxyPass / http://127.0.0.1:8080/ nocanon'; Varnish and HAProxy do this by default"
)
_PLAIN_FORM = (
    "put '/' in front of the identifier instead, and write %23 for '#': that form always arrives"
)
_ABSOLUTE = (
    f"nginx: the map of deploy/nginx.conf; HAProxy: 'option accept-invalid-http-request'; "
    f"Varnish: nothing to do. Otherwise {_PLAIN_FORM}"
)

PROBES = (
    _Probe("plain", "/{id}", "error", "is this the address of a perdure resolver?"),
    _Probe("double-slash", "/pdi://doctor.invalid/{id}", "error", f"slashes are merged: {_RAW}"),
    _Probe("urn", "/urn:pdi://doctor.invalid/{id}", "error", f"the path is rewritten: {_RAW}"),
    _Probe("escaped-slash", "/hdl:1/{id}%2Fa%2fb", "error", f"%2F is unescaped: {_RAW}"),
    _Probe("escaped-hash", "/pdi://doctor.invalid/{id}%23char%3D37,51", "error", f"%23: {_RAW}"),
    _Probe("escaped-percent", "/hdl:1/{id}%2525%20%3C%3f", "error", f"escapes change: {_RAW}"),
    _Probe("marks", "/pdi://doctor.invalid/{id}(a),b;c$d!e'f*g@h=i&j+k~l_m", "error", _RAW),
    _Probe("query", "/ark:/12345/{id}?info", "error", f"the query is lost: {_RAW}"),
    _Probe("question-mark", "/ark:/12345/{id}?", "warning", f"a lone '?' is lost: {_RAW}"),
    _Probe("two-question-marks", "/ark:/12345/{id}??", "warning", f"'??' is changed: {_RAW}"),
    _Probe("dots", "/pwid:x:{id}:page:http://a/b/../c/./d", "warning", f"dots are folded: {_RAW}"),
    _Probe(
        "long",
        "/pdi://doctor.invalid/{id}" + 8192 * "x",
        "warning",
        "long targets are refused: nginx, 'large_client_header_buffers 4 32k;'; Varnish, "
        "'-p http_req_size=64k -p http_req_hdr_len=32k'; Apache, 'LimitRequestLine 32768'",
    ),
    _Probe(
        "raw-hash",
        "/pdi://doctor.invalid/{id}#char=37,51",
        "warning",
        f"a raw '#' does not get through: HAProxy, 'option accept-invalid-http-request'; nginx and "
        f"Varnish pass it on by default. Otherwise {_PLAIN_FORM}",
    ),
    _Probe(
        "absolute-http",
        "http://{host}/pdi://doctor.invalid/{id}",
        "warning",
        f"the absolute form of RFC 9112 section 3.2.2 is changed: {_RAW}",
        same="/pdi://doctor.invalid/{id}",
    ),
    _Probe(
        "absolute-pdi",
        "pdi://doctor.invalid/{id}",
        "warning",
        _ABSOLUTE,
        same="/pdi://doctor.invalid/{id}",
    ),
    _Probe(
        "absolute-pdi-hash",
        "pdi://doctor.invalid/{id}#char=37,51",
        "warning",
        _ABSOLUTE,
        same="/pdi://doctor.invalid/{id}#char=37,51",
    ),
    _Probe(
        "absolute-pwid",
        "pwid:doctor.invalid:{id}",
        "note",
        _PLAIN_FORM,
        same="/pwid:doctor.invalid:{id}",
    ),
    _Probe(
        "absolute-urn",
        "urn:pdi://doctor.invalid/{id}",
        "note",
        _PLAIN_FORM,
        same="/urn:pdi://doctor.invalid/{id}",
    ),
    _Probe("absolute-ark", "ark:/12345/{id}", "note", _PLAIN_FORM, same="/ark:/12345/{id}"),
    _Probe(
        "trace",
        "/{id}",
        "note",
        "a proxy answers TRACE itself; nginx can only refuse it",
        method="TRACE",
    ),
)


def probe(
    url: str, *, timeout: float = 10.0, context: ssl.SSLContext | None = None
) -> list[ProbeFinding]:
    """Send every probe to the resolver at `url` (http or https, no path) and report what arrived.

    `timeout` is in seconds and applies to each probe; `context` checks certificates. If the first
    probe finds no resolver, it is the only finding. Raises BadSettings if the URL cannot be probed,
    and Unavailable if the server cannot be reached.
    """
    place = _read_origin(url)
    tls = context or ssl.create_default_context() if place.scheme == "https" else None
    findings = []
    for each in PROBES:
        finding = _send_probe(each, place, timeout, tls)
        findings.append(finding)
        if each is PROBES[0] and finding.arrived is None:
            break
    return findings


def _read_origin(url: str) -> SplitResult:
    """Split the URL of a host. Raises BadSettings for any other URL."""
    try:
        place = urlsplit(url)
        usable = _ORIGIN.fullmatch(url) and place.hostname and place.port != 0
    except ValueError:  # an impossible port or address
        usable = False
    if not usable:
        raise OriginMalformed(setting="url", value=url)
    return place


def _send_probe(
    each: _Probe, place: SplitResult, timeout: float, tls: ssl.SSLContext | None
) -> ProbeFinding:
    """Send one probe and compare what arrived."""
    words = {"id": secrets.token_hex(8), "host": place.netloc}
    target = each.target.format(**words)
    sent = f"{each.method} {target}"
    try:
        status, body = _send_line(place, each.method, target, timeout, tls)
    except (OSError, http.client.HTTPException) as error:
        if each is PROBES[0]:
            mend = _TRUST if isinstance(error, ssl.SSLCertVerificationError) else _START
            raise ServerUnreachable(url=place.geturl(), fault=str(error), mend=mend) from error
        status, body = 0, b""
    try:
        seen = msgspec.json.decode(body, type=_Echo)
    except msgspec.MsgspecError:
        what = f"something else answered {status}" if status else "there was no answer"
        return ProbeFinding(each.name, sent, None, False, each.severity, f"{what}; {each.advice}")
    arrived = f"{seen.method} {seen.target}"
    if arrived == sent:
        return ProbeFinding(each.name, sent, arrived, True, "ok", "")
    if each.same is not None and arrived == f"{each.method} {each.same.format(**words)}":
        return ProbeFinding(
            each.name, sent, arrived, True, "ok", "another form of the same request"
        )
    return ProbeFinding(each.name, sent, arrived, False, each.severity, each.advice)


def _send_line(
    place: SplitResult, method: str, target: str, timeout: float, tls: ssl.SSLContext | None
) -> tuple[int, bytes]:
    """Send one request line byte for byte; no HTTP client lets these lines through unchanged."""
    request = (
        f"{method} {target} HTTP/1.1\r\nHost: {place.netloc}\r\nUser-Agent: perdure-doctor\r\n"
        f"Accept: application/json\r\n{ECHO}: 1\r\nConnection: close\r\n\r\n"
    ).encode("ascii")
    port = place.port or (443 if tls else 80)
    with ExitStack() as opened:
        wire = opened.enter_context(socket.create_connection((place.hostname, port), timeout))
        if tls is not None:
            wire = opened.enter_context(tls.wrap_socket(wire, server_hostname=place.hostname))
        wire.sendall(request)
        response = http.client.HTTPResponse(wire, method=method)
        response.begin()
        return response.status, response.read(_LONGEST_ECHO)
