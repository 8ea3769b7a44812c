"""The obvious resolver: a plain ASGI application on stock uvicorn. Only to compare with.

It does for each request what ours does (read the target, parse, look up, decide, redirect), written
as one would without thinking about speed. `PERDURE_REGISTRY` names the registry directory.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from perdure.ids import parse
from perdure.model.queries import Query, Redirect
from perdure.registry import Registry

_registry = Registry(Path(os.environ["PERDURE_REGISTRY"]))


async def app(
    scope: dict[str, Any],
    _receive: Callable[[], Awaitable[dict[str, Any]]],
    send: Callable[[dict[str, Any]], Awaitable[None]],
) -> None:
    if scope["type"] != "http":
        return
    identifier = parse(scope["raw_path"][1:].decode("ascii"))
    step = _registry.reading.resolve(Query(identifier=identifier)).step
    assert isinstance(step, Redirect)
    headers = [(b"location", step.location.uri.encode("ascii")), (b"content-length", b"0")]
    await send({"type": "http.response.start", "status": 302, "headers": headers})
    await send({"type": "http.response.body", "body": b""})
