"""An origin that is served, its mirror, and an origin that can say anything."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from tests.server.deployment import Deployment, deployed

from perdure.model.changes import Change, Deed, Epoch, Line, Numbering, Scope, digest_lines
from perdure.model.records import Record
from perdure.registry import Registry
from perdure.upkeep.mirroring.adding import add_mirror
from perdure.upkeep.mirroring.following import MirrorFollower

AT = "2026-11-24T12:00:00Z"
DAY = "oma.eop.gov.us/20261124"
SALT = bytes(range(16))


class Mirror:
    """A mirror in a directory, followed by this process."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.registry = Registry(root)

    def catch_up(self) -> int:
        """Follow the origin as far as it is, and return the number of changes."""
        with MirrorFollower(self.registry) as follower:
            return sum(page.replayed for page in follower.catch_up())

    def record(self, key: str) -> Record | None:
        return self.registry.records.find_record(key)

    def close(self) -> None:
        self.registry.close()


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A registry that one person may erase from."""
    place = tmp_path_factory.mktemp("origin")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PERDURE_ERASURE_PERSONS", "1")
        with deployed(place / "registry") as running:
            yield running


MakeMirror = Callable[..., Mirror]


@pytest.fixture
def make_mirror(tmp_path: Path) -> Iterator[MakeMirror]:
    made: list[Mirror] = []

    def make(url: str, secret: str = "", scopes: Sequence[str] = ("*",), **more: Any) -> Mirror:
        root = tmp_path / f"mirror-{len(made)}"
        given = {"sources": (), "base_url": "", "backup": None, "now": AT} | more
        add_mirror(root, url, secret=secret, scopes=tuple(scopes), **given)
        made.append(Mirror(root))
        return made[-1]

    yield make
    for one in made:
        one.close()


# An origin that can say anything
# -------------------------------


class FakeOrigin:
    """An origin whose rows a test writes. Each continues the chain, whatever it says."""

    def __init__(self) -> None:
        self.url = ""
        self.pages: list[tuple[Change, list[bytes]]] = []
        self.contents: dict[tuple[str, int, str], bytes] = {}
        self.asked: list[str] = []
        self.refuses_ahead = False
        """True if it closes the connection over which it is asked ahead."""
        self._numbering = Numbering()

    def begin(self, reason: str = "created", at: str = AT, **named: Any) -> Change:
        epoch = Epoch(epoch=self._numbering.epoch + 1, reason=reason, **named)
        change = self._numbering.begin_epoch(epoch, at, "local", SALT)
        row = make_row(change) | {
            "reason": reason,
            "previous": msgspec.to_builtins(epoch.previous),
        }
        self.pages.append((change, [encode(row)]))
        return change

    def add(
        self, *lines: Line, act: str = "mint", revision: int = 1, at: str = AT, **more: Any
    ) -> Change:
        """One change with these lines; `more` replaces members of its row."""
        scope = Scope(lines[0][0], lines[-1][0], len(lines), revision)
        digest = digest_lines(SALT, "press", lines)
        change = self._numbering.number_change(Deed(act, at, "press"), scope, digest, SALT)
        wrote = [encode({"key": key, "stored": text}) for key, text in lines]
        self.pages.append((change, [encode(make_row(change) | more), *wrote]))
        return change

    def mint(self, *numbers: int, **more: Any) -> Change:
        """Serial numbers of a day, as one change."""
        line = "2026-11-24T12:00:00Z - - https://a.example/"
        return self.add(*((serial_key(number), line) for number in numbers), **more)

    def answer_changes(self, since: tuple[int, int], limit: int) -> bytes | None:
        marks = [(change.epoch, change.number) for change, _ in self.pages]
        if since[1] == 0:
            at = next((n for n, mark in enumerate(marks) if mark[0] == since[0]), 0)
        elif since in marks:
            at = marks.index(since) + 1
        else:
            return None
        return b"".join(line for _, lines in self.pages[at : at + limit] for line in lines)

    @property
    def head(self) -> str:
        return str(self.pages[-1][0].mark) if self.pages else "0.0"


def make_row(change: Change) -> dict[str, Any]:
    return {
        "epoch": change.epoch,
        "number": change.number,
        "at": change.at,
        "act": change.act,
        "keys": [change.first, change.last],
        "count": change.count,
        "revision": change.revision,
        "digest": change.digest.hex(),
        "actor": change.actor,
        "salt": change.salt.hex() if change.salt else None,
        "chain": change.chain.hex(),
    }


def serial_key(number: int) -> str:
    digits = str(number)
    return f"{DAY}/{chr(ord('a') + len(digits) - 1)}{digits}"


def encode(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


@contextmanager
def serve_fake(fake: FakeOrigin) -> Iterator[FakeOrigin]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            if self.path.startswith("/restrictions"):  # it is an older registry
                self._send(403, b"")
                return
            fake.asked.append(self.path)
            asked = parse_qs(urlsplit(self.path).query)
            if fake.refuses_ahead and "have" in asked:
                self.close_connection = True
                return
            epoch, _, number = asked["since"][0].partition(".")
            body = fake.answer_changes((int(epoch), int(number)), int(asked["limit"][0]))
            self._send(409 if body is None else 200, body or b"")

        def do_POST(self) -> None:
            body = b""
            for line in self.rfile.read(int(self.headers["Content-Length"])).splitlines():
                one = json.loads(line)
                found = fake.contents.get((one["key"], one["version"], one["format"]))
                if found is None:
                    body += encode(one | {"missing": "unknown"})
                else:
                    body += encode(one | {"length": len(found)}) + found
            self._send(200, body)

        def _send(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Perdure-Head", fake.head)
            self.end_headers()
            self.wfile.write(body)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def fake() -> Iterator[FakeOrigin]:
    with serve_fake(FakeOrigin()) as served:
        yield served
