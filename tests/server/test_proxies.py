"""deploy/nginx.conf and deploy/varnish.vcl, run by real nginx and varnishd on the loopback.

Only addresses are changed in the shipped files. Each proxy is asked every target of
vectors/targets.json; what cannot get through is listed here, as in docs/how-to/behind-a-proxy.md.
"""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.name_servers import find_program
from tests.server.conftest import TABLE, Answer, Running, parse_answers, received, serving

from perdure.server.protocol.doctor import probe
from perdure.server.protocol.http import RawTargetProtocol

DEPLOY = Path(__file__).parents[2] / "deploy"


class Proxy(msgspec.Struct, frozen=True):
    """A proxy in front of the mirror."""

    name: str
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def exchange(self, sent: bytes, method: str = "GET") -> list[Answer]:
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as wire:
            wire.sendall(sent)
            return parse_answers(received(wire), [method])


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextlib.contextmanager
def running(command: list[str], port: int) -> Iterator[None]:
    """A proxy as a child process, from when it listens until it has ended."""
    process = subprocess.Popen(
        [find_program(command[0]), *command[1:]],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        while True:
            if process.poll() is not None:
                pytest.fail(f"{command[0]} ended: {process.communicate()[0]}")
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.communicate(timeout=30)


@contextlib.contextmanager
def nginx(site: str, place: Path) -> Iterator[Proxy]:
    """nginx with one file of its conf.d, which listens on port 80 and asks port 8080."""
    port = free_port()
    (place / "site.conf").write_text(re.sub(r"listen 80\b", f"listen 127.0.0.1:{port}", site))
    temporary = "".join(
        f"{kind}_temp_path {place}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (place / "nginx.conf").write_text(
        f"daemon off; master_process off; pid {place}/pid; error_log stderr; events {{}}\n"
        f"http {{ access_log off; {temporary} include {place}/site.conf; }}\n"
    )
    with running(["nginx", "-e", "stderr", "-c", str(place / "nginx.conf")], port):
        yield Proxy("nginx", port)


@contextlib.contextmanager
def varnish(vcl: str, place: Path) -> Iterator[Proxy]:
    """varnishd with one VCL and the parameters that are written in it."""
    port = free_port()
    (place / "perdure.vcl").write_text(vcl)
    parameters = re.findall(r"-p (\w+=\w+)", vcl)
    command = ["varnishd", "-F", "-j", "none", "-n", str(place / "varnish")]
    command += ["-a", f"127.0.0.1:{port}", "-f", str(place / "perdure.vcl"), "-s", "malloc,16m"]
    with running(command + [word for each in parameters for word in ("-p", each)], port):
        yield Proxy("varnish", port)


@pytest.fixture(scope="module")
def mirror_server() -> Iterator[Running]:
    with serving(RawTargetProtocol) as server:
        yield server


@pytest.fixture(scope="module", params=["nginx", "varnish"])
def proxy(
    request: pytest.FixtureRequest,
    mirror_server: Running,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Proxy]:
    """Each proxy as it is shipped, in front of the mirror."""
    place = tmp_path_factory.mktemp(request.param)
    backend = str(mirror_server.port)
    if request.param == "nginx":
        with nginx((DEPLOY / "nginx.conf").read_text().replace("8080", backend), place) as started:
            yield started
    else:
        with varnish((DEPLOY / "varnish.vcl").read_text().replace("8080", backend), place) as it:
            yield it


METRICS = ("/metrics", "/metrics?x", "/%6detrics", "/./metrics", "http://a/metrics", "/metrics#x")


def read_status(port: int, target: str) -> int:
    """The status of an answer to a target that is sent as it is."""
    with socket.create_connection(("127.0.0.1", port), 30) as wire:
        head = f"GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        wire.sendall(head.encode())
        return int(wire.recv(1 << 16).split(b" ", 2)[1])


def test_nginx_keeps_metrics_private(mirror_server: Running, tmp_path: Path) -> None:
    """The configuration allows this machine; here, another address stands for it."""
    site = (DEPLOY / "nginx.conf").read_text().replace("8080", str(mirror_server.port))
    with nginx(site.replace("allow 127.0.0.1;", "allow 127.0.0.2;"), tmp_path) as started:
        assert {read_status(started.port, one) for one in METRICS} == {403}
        assert read_status(started.port, "/healthz") == 200


def test_varnish_keeps_metrics_private(mirror_server: Running, tmp_path: Path) -> None:
    vcl = (DEPLOY / "varnish.vcl").read_text().replace("8080", str(mirror_server.port))
    with varnish(vcl, tmp_path) as started:
        for target in ("/metrics", "/metrics?x", "http://a/metrics", "/metrics#x"):
            assert read_status(started.port, target) == 403, target
        assert read_status(started.port, "/healthz") == 200


NOT_THROUGH = {
    "nginx": {
        "absolute form with user information",
        "urn, no slashes",
        "urn with r-component and q-component",
        "urn of 1993",
        "pwid",
        "ark",
        "hdl",
        "doi with SICI",
        "one word",
        "asterisk",
        "authority form, not CONNECT",
        "a target that looks like a version",
        "escaped CR LF NUL",
        "broken escapes",
        "dot segments",
        "TRACE",
        "a method that nobody knows",
        "a method in lower case",
    },
    "varnish": {
        "absolute form with user information",  # it makes a Host of it, which we must refuse
        "PURGE",
        "a method that nobody knows",
        "a method in lower case",
        "a method that llhttp knows from RTSP",
    },
}


def same_requests(target: str) -> set[str]:
    """The targets that mean the same to a resolver (ruling: http-forms; RFC 9112 section 3.2.2)."""
    if target.startswith("/") or target == "*":
        return {target}
    http = re.match(r"https?://[^/?#]*", target)
    if http is None:
        return {target, "/" + target}
    rest = target[http.end() :]
    return {target, rest if rest.startswith("/") else "/" + rest}


def test_targets_through(proxy: Proxy) -> None:
    """A target arrives as it is or as another form of the same request, or it is refused; it never
    arrives as something else."""
    refused = set()
    for case in TABLE["lines"]:
        if "target" not in case:
            continue
        method = case.get("method", "GET")
        sent = case["line"].encode("latin-1") + b"\r\nHost: a\r\nConnection: close\r\n\r\n"
        [answer] = proxy.exchange(sent, method)
        if answer.status != 200:
            assert answer.status in (400, 405, 501), case["name"]
            refused.add(case["name"])
        else:
            assert answer.line[1] in same_requests(case["target"]), case["name"]
    assert refused == NOT_THROUGH[proxy.name]


def test_doctor_through(proxy: Proxy) -> None:
    damaged = {finding.name: finding for finding in probe(proxy.url) if not finding.ok}
    expected = {
        "nginx": {"absolute-pwid", "absolute-urn", "absolute-ark", "trace"},
        "varnish": set(),
    }[proxy.name]
    assert damaged.keys() == expected
    assert {finding.severity for finding in damaged.values()} <= {"note"}


def test_deposits_through(proxy: Proxy) -> None:
    body = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n" * 5000
    head = b"PUT /pdi://a.us/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
    length = head + b"Content-Length: %d\r\n\r\n" % len(body) + body
    chunks = head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    for sent in (length, chunks):
        [answer] = proxy.exchange(sent)
        assert answer.line == ("PUT", "/pdi://a.us/")
        assert answer.seen["body"].encode() == body


def test_doctor_finds_what_the_usual_configuration_breaks(
    mirror_server: Running, tmp_path: Path
) -> None:
    """`proxy_pass` with a path, as most examples have it, decodes and merges."""
    site = f"""
        server {{
            listen 80;
            location / {{ proxy_pass http://127.0.0.1:{mirror_server.port}/; }}
        }}
    """
    with nginx(site, tmp_path) as usual:
        findings = {finding.name: finding for finding in probe(usual.url)}
    assert findings["plain"].ok
    for name in ("double-slash", "urn"):
        finding = findings[name]
        assert (finding.ok, finding.severity) == (False, "error")
        assert finding.arrived == finding.sent.replace("//", "/")
        assert "deploy/nginx.conf" in finding.advice
    assert {name for name, finding in findings.items() if finding.severity == "error"} >= {
        "double-slash",
        "urn",
        "escaped-slash",
    }
    assert findings["absolute-pdi"].severity == "warning"
