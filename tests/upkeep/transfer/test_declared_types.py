"""The format of a name without bytes: stated, or asked of a real server.

Ruling: pdi-reserved-name.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.conftest import SERIES

import perdure
from perdure.errors import InvalidRequest, MalformedIdentifier
from perdure.errors.locations import NobodyToAsk
from perdure.errors.servers import ServerRefused, TypeNotDeclared
from perdure.model.queries import Redirect
from perdure.registry import initialise
from perdure.settings import Settings, load_settings
from perdure.upkeep.transfer.declared_types import ask_format, state_format

TYPES = {"/m": "video/mpeg", "/utf": "text/plain; charset=UTF-8", "/xml": "text/xml"}


class _Declaring(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/m")
        elif self.path == "/missing":
            self.send_response(404)
        else:
            self.send_response(200)
            if self.path in TYPES:
                self.send_header("Content-Type", TYPES[self.path])
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture(scope="module")
def there() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Declaring) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def near(root: Path) -> Settings:
    return load_settings(root, {"PERDURE_PRIVATE_NETWORKS": "127.0.0.1"})


@pytest.mark.parametrize(
    ("path", "format"), [("/m", "mpeg"), ("/moved", "mpeg"), ("/utf", "utf-8"), ("/xml", "xml")]
)
def test_the_declared_type(there: str, near: Settings, path: str, format: str) -> None:
    assert asyncio.run(ask_format([there + path, "http://192.0.2.1/"], near)) == format


@pytest.mark.parametrize(
    ("path", "error"), [("/missing", ServerRefused), ("/undeclared", TypeNotDeclared)]
)
def test_a_server_that_does_not_say(
    there: str, near: Settings, path: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        asyncio.run(ask_format([there + path], near))


def test_only_public_servers_are_asked(there: str, root: Path, near: Settings) -> None:
    with pytest.raises(InvalidRequest, match="127"):
        asyncio.run(ask_format([f"{there}/m"], load_settings(root, {})))
    with pytest.raises(NobodyToAsk):
        asyncio.run(ask_format([], near))


def test_what_the_depositor_states() -> None:
    assert state_format() == ""
    assert state_format(None, "text/plain", "utf-8") == "utf-8"
    assert state_format("GIF", "text/plain") == "gif"
    for wrong in ("", "*", "a b"):
        with pytest.raises(MalformedIdentifier):
            state_format(wrong)


def test_python_reserves_states_and_asks(
    there: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    initialise(place / "near", series=(SERIES,))
    monkeypatch.setenv("PERDURE_PRIVATE_NETWORKS", "127.0.0.1")
    with perdure.open(place / "near") as registry:
        reserved, bound, stated, asked = (
            registry.mint().identifier,
            registry.mint(locations=[f"{there}/m"]).identifier,
            registry.mint(locations=[f"{there}/m"], media_type="text/html").identifier,
            registry.mint(locations=[f"{there}/m"], ask=True).identifier,
        )
        day = reserved.rpartition("/")[0]
        assert (bound, stated, asked) == (f"{day}/2", f"{day}/3.html.1", f"{day}/4.mpeg.1")
        assert isinstance(registry.resolve(bound).step, Redirect)
        assert registry.commit(reserved, b"<p>", media_type="text/html").identifier == (
            f"{reserved}.html.1"
        )
