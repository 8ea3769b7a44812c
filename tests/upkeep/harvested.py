"""A repository whose answers are written in a test, and a registry that harvests it."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from click.testing import CliRunner, Result

from perdure.cli import perdure
from perdure.ids import parse
from perdure.registry import Registry

OAI = "http://www.openarchives.org/OAI/2.0/"
NOW = "2026-11-27T12:00:00Z"
IDENTIFY = (
    "<Identify><repositoryName>R</repositoryName><granularity>YYYY-MM-DDThh:mm:ssZ</granularity>"
    "<deletedRecord>persistent</deletedRecord></Identify>"
)


def frame(body: str, at: str = NOW) -> bytes:
    """An answer of a repository."""
    time = f"<responseDate>{at}</responseDate>" if at else ""
    return f'<?xml version="1.0"?><OAI-PMH xmlns="{OAI}">{time}{body}</OAI-PMH>'.encode()


class Repository:
    """A repository of another: its answers by their tokens, "" for the first page."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {}
        self.paths: dict[str, bytes] = {}
        self.asked: list[dict[str, str]] = []
        self.busy: list[tuple[int, dict[str, str], bytes]] = []
        self.on_token: dict[str, Any] = {}
        repository = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = {
                    name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()
                }
                repository.asked.append(asked)
                if asked.get("resumptionToken") in repository.on_token:
                    repository.on_token.pop(asked["resumptionToken"])()
                if repository.busy:
                    status, fields, body = repository.busy.pop(0)
                else:
                    known = repository.paths.get(urlsplit(self.path).path)
                    status, fields, body = 200, {}, known or repository.answer(asked)
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name, value)
                if "Content-Length" not in fields:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/oai"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, asked: dict[str, str]) -> bytes:
        if asked.get("verb") == "Identify":
            return frame(IDENTIFY)
        token = asked.get("resumptionToken", "")
        unknown = frame(f'<error code="badResumptionToken">{token}</error>')
        return self.pages.get(token, unknown)


def run(place: Path, *words: str, code: int = 0) -> Result:
    runner = CliRunner(env={"PERDURE_REGISTRY": str(place)})
    done = runner.invoke(perdure, ("harvest", "--json", *words))
    assert done.exit_code == code, (done.stderr, done.exception)
    assert "Traceback" not in done.stderr
    return done


def count(done: Result) -> tuple[int, int, int]:
    said = json.loads(done.stdout)
    return said["taken"], said["deleted"], said["refused"]


def read(place: Path, name: str) -> Any:
    with Registry(place) as registry:
        return registry.records.find_record(parse(name).key)


def write_map(root: str, entries: str) -> bytes:
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<{root} xmlns="{space}">{entries}</{root}>'.encode()
