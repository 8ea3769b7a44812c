"""A page from its capture to its replay by others: PWID, citation, corpus, WACZ, pywb."""

from __future__ import annotations

import gzip
import json
import re
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.cli.conftest import Shell

PEERS = Path(__file__).parents[2] / ".peers" / "bin"
PAGE = b"""<!doctype html><title>A page</title><link rel=stylesheet href="/css?v=1&amp;x">
<img src="/i%20mage.png" srcset="/small.png 1x, /large.png 2x"><iframe src=/frame></iframe>
<script src=/moved.js></script>"""
SITE = {
    "/": (PAGE, "text/html; charset=utf-8", {"Set-Cookie": "a=1"}),
    "/css?v=1&x": (gzip.compress(b"@import 'deep.css';"), "text/css", {"Content-Encoding": "gzip"}),
    "/deep.css": (b"p { background: url('bg (1).png') }", "text/css", {}),
    "/bg%20(1).png": (b"\x89PNG bg", "image/png", {}),
    "/i%20mage.png": (b"\x89PNG image", "image/png", {}),
    "/small.png": (b"\x89PNG small", "image/png", {}),
    "/large.png": (b"\x89PNG large", "image/png", {}),
    "/frame": (b"<p>in a frame", "text/html", {}),
    "/new.js": (b"let a = 1", "text/javascript", {}),
}


class _Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/moved.js":
            self.send_response(301)
            self.send_header("Location", "/new.js")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        body, media_type, more = SITE[self.path]
        self.send_response(200)
        for name, value in {"Content-Type": media_type, **more}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def captured(shell: Shell) -> tuple[str, str]:
    """The PWID of a page, and the root of a site that is not there any more."""
    settings = shell.root / "perdure.toml"
    more = 'archive_id = "own.example"\nprivate_networks = ["127.0.0.1"]\n'
    settings.write_text(settings.read_text() + more)
    with ThreadingHTTPServer(("127.0.0.1", 0), _Site) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        root = f"http://127.0.0.1:{server.server_port}"
        told = shell.json("archive", "capture", f"{root}/")
        server.shutdown()
    assert (told["exchanges"], told["missing"]) == (len(SITE) + 1, [])
    return told["pwid"], root


@pytest.fixture
def player(shell: Shell, captured: tuple[str, str], tmp_path: Path) -> Iterator[str]:
    """pywb, with the package of a corpus that the page is the only member of."""
    if not (PEERS / "wayback").exists():
        pytest.skip("pywb is not installed; see the Makefile")
    (corpus,) = shell.lines("collection", "make", "-", stdin=captured[0])
    package = tmp_path / "corpus.wacz"
    shell.run("collection", "extract", corpus, "-o", str(package))
    for words in (("init", "c"), ("add", "--unpack-wacz", "c", str(package))):
        command = [str(PEERS / "wb-manager"), *words]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    running = subprocess.Popen(
        [PEERS / "wayback", "-b", "127.0.0.1", "-p", str(port), "-d", tmp_path],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        for _ in range(300):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/c"
    finally:
        running.terminate()
        running.wait()


def read(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=60) as answer:
        body: bytes = answer.read()
        return body


def test_others_play_what_was_captured(captured: tuple[str, str], player: str) -> None:
    pwid, root = captured
    digits = re.sub("[^0-9]", "", pwid.split(":")[2])
    for path, (body, _, more) in SITE.items():
        plain = gzip.decompress(body) if "Content-Encoding" in more else body
        found = read(f"{player}/{digits}id_/{root}{path}")
        assert found in (plain, body), path
    assert b"a = 1" in read(f"{player}/{digits}js_/{root}/moved.js")  # over the redirect
    shown = read(f"{player}/{digits}mp_/{root}/").decode()
    assert f"/c/{digits}" in shown
    assert "<title>A page</title>" in shown
    with pytest.raises(urllib.error.HTTPError):
        read(f"{player}/{digits}id_/{root}/not/there")


def test_the_pwid_is_exact_and_can_be_cited(shell: Shell, captured: tuple[str, str]) -> None:
    pwid, root = captured
    told = shell.run("resolve", pwid, "--json").stdout.splitlines()
    assert {json.loads(one)["verdict"] for one in told} == {"exact"}
    cited = shell.run("pwid", "cite", pwid).stdout
    assert cited.startswith("A page. (")
    assert pwid in cited
    (corpus,) = shell.lines("collection", "make", "-", stdin=pwid)
    (found,) = shell.json("collection", "check", corpus)["checked"]
    assert (found["state"], found["pieces"], found.get("missing")) == ("exact", len(SITE), None)
    assert f"{root}/" in found["identifier"]
