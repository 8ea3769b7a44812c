"""`POST /captures`: off unless it is enabled, and only for who may."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import quote

import pytest
from tests.server.deployment import SERIES, Deployment, deployed

OWN = "pwid:own.example:*"


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<img src=/a.png><img src=http://169.254.169.254/>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def page() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/?a=1&b"
        server.shutdown()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    place = tmp_path_factory.mktemp("capturing")
    with deployed(
        place / "registry", archive_id="own.example", private_networks="127.0.0.1", capture="on"
    ) as running:
        yield running


def _target(url: str) -> str:
    return f"/captures?url={quote(url, safe='')}"


def test_a_page_is_captured_and_found(site: Deployment, page: str) -> None:
    clerk = site.token("clerk", operations=("register",), authorities=(OWN,))
    answer = site.ask("POST", _target(page), f"Authorization: Bearer {clerk}")
    assert answer.status == 201, answer.body
    told = json.loads(answer.body)
    assert told["pwid"].startswith("pwid:own.example:20")
    assert told["pwid"].endswith(f"Z:page:{page}")
    assert [one["uri"] for one in told["missing"]] == ["http://169.254.169.254/"]
    assert answer.headers["location"].startswith(f"{site.base}/pwid:own.example:")
    resolved = site.get(f"/{told['pwid']}", "Accept: application/json")
    assert resolved.status == 200, resolved.body
    assert b"exact" in resolved.body
    found = site.get(f"/cdx?url={quote(page, safe='')}&output=json")
    assert page in found.body.decode()


@pytest.mark.parametrize(
    ("operations", "authorities", "status"),
    [(("mint",), ("*",), 403), (("register",), (SERIES,), 403), (None, None, 401)],
)
def test_who_may_not_may_not(
    site: Deployment,
    page: str,
    operations: tuple[str, ...] | None,
    authorities: tuple[str, ...] | None,
    status: int,
) -> None:
    fields = []
    if operations:
        name = f"{operations} {authorities}"
        secret = site.token(name, operations=operations, authorities=authorities)
        fields.append(f"Authorization: Bearer {secret}")
    assert site.ask("POST", _target(page), *fields).status == status


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("/captures", 400),
        (_target("http://10.0.0.1/"), 400),
        (_target("file:///etc/passwd"), 400),
        (_target("http://127.0.0.1:1/"), 400),
        (_target("no url"), 400),
        ("/captures/x?url=http%3A%2F%2Fa%2F", 404),
    ],
)
def test_what_cannot_be_captured(site: Deployment, target: str, status: int) -> None:
    boss = site.token(f"boss {target}"[:60])
    assert site.ask("POST", target, f"Authorization: Bearer {boss}").status == status


def test_other_methods_are_not_defined(site: Deployment) -> None:
    answer = site.get("/captures")
    assert (answer.status, answer.headers["allow"]) == (405, "POST")


def test_it_is_off_unless_it_is_enabled(
    tmp_path_factory: pytest.TempPathFactory, page: str
) -> None:
    place = tmp_path_factory.mktemp("off")
    with deployed(place / "registry", private_networks="127.0.0.1") as running:
        boss = running.token("boss")
        answer = running.ask("POST", _target(page), f"Authorization: Bearer {boss}")
        assert answer.status == 404
