"""The doctor, in front of servers that say what they saw, that lie, and that are no resolvers."""

from __future__ import annotations

import json
import shutil
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.server.conftest import Running, serving
from uvicorn._types import ASGIReceiveCallable, ASGISendCallable, Scope

from perdure.cli import perdure
from perdure.errors import BadSettings, Unavailable
from perdure.server.protocol.doctor import ECHO, PROBES, make_echo_answer, probe
from perdure.server.protocol.http import EXTENSION, RawTargetProtocol


def asked(method: str, target: bytes, *fields: tuple[bytes, bytes]) -> dict[str, Any]:
    """As much of a scope as the echo looks at."""
    extensions = {EXTENSION: {"raw": target}}
    return {"method": method, "headers": [(b"host", b"a"), *fields], "extensions": extensions}


def test_nothing_is_lost_without_a_proxy(targets_server: Running) -> None:
    findings = probe(f"http://127.0.0.1:{targets_server.port}")
    assert [finding.name for finding in findings] == [each.name for each in PROBES]
    for finding in findings:
        assert finding.ok
        assert finding.arrived == finding.sent
        assert (finding.severity, finding.advice) == ("ok", "")


def test_a_long_request_line_does_not_flood_the_terminal(targets_server: Running) -> None:
    words = ["doctor", f"http://127.0.0.1:{targets_server.port}"]
    told = CliRunner().invoke(perdure, words)
    assert told.exit_code == 0
    assert max(map(len, told.stdout.splitlines())) < 200
    told = CliRunner().invoke(perdure, [*words, "--json"])
    sent = {one["name"]: one["sent"] for one in map(json.loads, told.stdout.splitlines())}
    assert len(sent["long"]) > 8000


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificate")
def test_over_tls(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=a"
    command += f" -addext subjectAltName=IP:127.0.0.1 -keyout {key} -out {certificate}"
    subprocess.run(command.split(), check=True, capture_output=True)
    trusting = ssl.create_default_context(cafile=str(certificate))
    with serving(RawTargetProtocol, ssl_keyfile=key, ssl_certfile=certificate) as running:
        url = f"https://127.0.0.1:{running.port}/"
        assert all(finding.ok for finding in probe(url, context=trusting))
        with pytest.raises(Unavailable, match=r"certificate.*SSL_CERT_FILE"):
            probe(url)


def test_echo_discloses_the_request_line_and_nothing_else() -> None:
    fields = [(b"perdure-echo", b"1"), (b"cookie", b"secret")]
    answer = make_echo_answer(asked("GET", b"/x?y#z", *fields))
    assert answer is not None
    headers, body = answer
    assert json.loads(body) == {"method": "GET", "target": "/x?y#z"}
    assert dict(headers) == {
        b"content-type": b"application/json",
        b"cache-control": b"no-store",
        b"content-length": b"%d" % len(body),
    }


@pytest.mark.parametrize("method", ["PUT", "POST", "DELETE", "PATCH", "get"])
def test_echo_never_stands_in_for_a_change(method: str) -> None:
    assert make_echo_answer(asked(method, b"/x", (ECHO.lower().encode(), b"1"))) is None


def test_echo_only_for_a_doctor() -> None:
    assert make_echo_answer(asked("GET", b"/x", (b"perdure-echoes", b"1"))) is None


async def stranger(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """A server that is no resolver."""
    headers = [(b"content-type", b"text/html"), (b"content-length", b"4")]
    await send({"type": "http.response.start", "status": 404, "headers": headers})
    await send({"type": "http.response.body", "body": b"<p>?", "more_body": False})


def test_no_resolver() -> None:
    with serving(RawTargetProtocol, stranger) as running:
        [finding] = probe(f"http://127.0.0.1:{running.port}")
    assert (finding.name, finding.arrived, finding.ok) == ("plain", None, False)
    assert "answered 404" in finding.advice


async def folding(scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """A resolver behind something that merges slashes and hangs up on TRACE."""
    assert scope["type"] == "http"
    if scope["method"] == "TRACE":
        raise ConnectionError
    raw = scope["extensions"][EXTENSION]
    raw["raw"] = raw["raw"].replace(b"//", b"/")  # type: ignore[attr-defined]
    headers, body = make_echo_answer(scope) or ([], b"")
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})


def test_damage_is_named() -> None:
    with serving(RawTargetProtocol, folding) as running:
        findings = {f.name: f for f in probe(f"http://127.0.0.1:{running.port}")}
    assert findings["plain"].ok
    merged = findings["double-slash"]
    assert (merged.ok, merged.severity) == (False, "error")
    assert merged.arrived == merged.sent.replace("//", "/")
    assert "merged" in merged.advice
    assert findings["trace"].arrived is None


@pytest.mark.parametrize(
    "url",
    [
        "",
        "resolver.example",
        "ftp://a/",
        "http://",
        "http://:80",
        "http://a/b",
        "http://a?b",
        "http://a:99999",
        "http://a:0",
        "http://u@a/",
        "http://[::1",
        "http://a b/",
    ],
)
def test_url_that_cannot_be_probed(url: str) -> None:
    with pytest.raises(BadSettings, match=r"expected http://host"):
        probe(url)


def test_nobody_there() -> None:
    with pytest.raises(Unavailable):
        probe("http://127.0.0.1:1")
