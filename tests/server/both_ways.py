"""The fast path and the application over one registry, in one process: the answers of both."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from http import HTTPStatus
from pathlib import Path
from typing import Any

from tests.conftest import Clock, Desk

from perdure.server.application import Application
from perdure.server.common.bearers import Bearers
from perdure.server.common.cold_reads import ColdReads
from perdure.server.common.left_records import LeftRecords
from perdure.server.common.metrics import Metrics
from perdure.server.common.service import Service
from perdure.server.fast.path import FastPath
from perdure.server.fast.taskless import TasklessWrites
from perdure.server.protocol.head import split_fields
from perdure.server.protocol.http import EXTENSION
from perdure.storage.generation import Generation


class BothWays:
    """A registry, and two ways to read it."""

    def __init__(self, root: Path) -> None:
        self.desk = Desk(root, Clock())
        registry = self.desk.registry
        self.generation = Generation(root)
        cold = ColdReads(registry.records, registry.reading)
        left = LeftRecords(self.generation.counts)
        self._left = left
        self._cold = cold
        self.begin_fast_path()
        bearers = Bearers(registry.records, self.generation)
        service = Service(registry, bearers, Metrics(), left=left)
        self._application = Application(service, cold, TasklessWrites(service, cold))
        self._runner = asyncio.Runner()

    def begin_fast_path(self) -> None:
        """Make the fast path anew, as in a worker that has answered nothing yet."""
        registry = self.desk.registry
        self.fast = FastPath(registry, self.generation, cold=self._cold, left=self._left)

    def close(self) -> None:
        self._runner.close()
        self._cold.close()
        self.desk.registry.close()
        self.generation.close()

    def ask_fast(self, target: str, *fields: str, method: str = "GET") -> bytes | None:
        """The answer of the fast path, or None if it leaves the answer to the application."""

        async def ask() -> bytes | None:
            return self.fast.answer_request(
                method.encode(), target.encode("ascii"), _write_fields(fields)
            )

        return self._runner.run(ask())

    def ask_plainly(self, target: str, *fields: str, method: str = "GET") -> bytes:
        """The answer of the application, as bytes."""
        sent: list[MutableMapping[str, Any]] = []

        async def receive() -> MutableMapping[str, Any]:
            return {"type": "http.disconnect"}

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": method,
            "http_version": "1.1",
            "scheme": "http",
            "headers": split_fields(_write_fields(fields)),
            "extensions": {EXTENSION: {"raw": target.encode("ascii")}},
        }
        self._runner.run(self._application(scope, receive, send))
        status = HTTPStatus(sent[0]["status"])
        lines = [b"%s: %s\r\n" % (name, value) for name, value in sent[0]["headers"]]
        body = b"".join(message.get("body", b"") for message in sent[1:])
        return b"HTTP/1.1 %d %s\r\n%s\r\n%s" % (
            status,
            status.phrase.encode(),
            b"".join(lines),
            body,
        )


def _write_fields(fields: tuple[str, ...]) -> bytes:
    lines = ("", "Host: id.example", *fields, "", "")
    if any(one.lower().startswith("host:") for one in fields):
        lines = ("", *fields, "", "")
    return "\r\n".join(lines).encode("latin-1")
