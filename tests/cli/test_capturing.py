"""`perdure archive capture`: from a server into the registry's archive files, and found there."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.cli.conftest import Shell

from perdure.cli import exits
from perdure.errors import InvalidRequest, Unavailable


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/drip":  # a page without end
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):
                while True:
                    self.wfile.write(b"x")
                    time.sleep(0.05)
            return
        body = b"<img src=/a.png><img src=http://10.0.0.1/>" if self.path == "/" else b"x"
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if self.path == "/" else "image/png")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def page() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(autouse=True)
def own_archive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_ARCHIVE_ID", "own.example")
    monkeypatch.setenv("PERDURE_PRIVATE_NETWORKS", "127.0.0.1")


def test_what_was_captured_is_found(shell: Shell, page: str) -> None:
    told = shell.json("archive", "capture", page)
    assert (told["status"], told["exchanges"]) == (200, 2)
    assert told["pwid"].endswith(f":page:{page}")
    assert [one["uri"] for one in told["missing"]] == ["http://10.0.0.1/"]
    at = told["pwid"].removeprefix("pwid:own.example:").split("Z:")[0].replace(".", ":") + "Z"
    found = shell.run("archive", "find", page, "--at", at, "--json").stdout.splitlines()
    assert len(found) >= 1
    shell.run("archive", "check")
    assert not list((shell.root / "incoming").iterdir())


def test_a_page_that_never_ends_is_cut_off_in_time(shell: Shell, page: str) -> None:
    told = shell.json("archive", "capture", f"{page}drip", "--seconds", "1")
    assert [one["reason"] for one in told["missing"]] == ["cut off (time)"]


def test_a_file_of_one_s_own(shell: Shell, page: str, place: Path) -> None:
    path = place / "a.warc.gz"
    (line,) = shell.lines("archive", "capture", page, "-o", str(path))
    assert line == shell.lines("pwid", "make", "--warc", str(path), "--offset", _second(path),
                               "--coverage", "page")[0]  # fmt: skip
    assert shell.lines("archive", "list") == []


def _second(path: Path) -> str:
    """Where the second record begins, behind the warcinfo."""
    from warcio.archiveiterator import ArchiveIterator

    with path.open("rb") as file:
        records = ArchiveIterator(file)
        next(records)
        next(records)
        return str(records.get_record_offset())


def test_what_cannot_be_captured_leaves_nothing(
    shell: Shell, page: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.error("archive", "capture", "http://127.0.0.1:1/", code=exits.CODES[InvalidRequest])
    port = page.split(":")[2].rstrip("/")
    path = place / "a.warc.gz"
    gone = f"http://127.0.0.1:{65000 if port != '65000' else 64999}/"
    shell.error("archive", "capture", gone, "-o", str(path), code=exits.CODES[Unavailable])
    assert not path.exists()
    monkeypatch.setenv("PERDURE_PRIVATE_NETWORKS", "")
    told = shell.error("archive", "capture", page, code=exits.CODES[InvalidRequest])
    assert "not on the public internet" in told["message"]
    monkeypatch.setenv("PERDURE_ARCHIVE_ID", "")
    shell.run("archive", "capture", page, code=exits.USAGE)
