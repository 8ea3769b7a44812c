"""Redirects among ten million identifiers, against nginx's static 302 and plain ASGI."""

from __future__ import annotations

import sys

from benchmarks import fixture, loading
from benchmarks.measure import Ratio
from benchmarks.servers import free_port, nginx, perdure, rounds, serving, wrk

_MEMORY = 200  # megabytes


def run() -> list[Ratio]:
    registry, _ = loading.make_registry()
    anywhere = fixture.wrk_script(fixture.OUT / "anywhere.lua")
    hot = fixture.wrk_script(fixture.OUT / "hot.lua", distinct=1000)
    port = free_port()
    plain = [sys.executable, "-m", "uvicorn", "benchmarks.plain_asgi:app", "--port", str(port)]
    plain += ["--no-access-log", "--log-level", "error", "--loop", "uvloop", "--http", "httptools"]
    redirect = "location / { return 302 https://clintonwhitehouse.archives.gov/release.html; }"
    with (
        nginx(fixture.OUT / "nginx", redirect) as static,
        perdure(registry) as ours,
        serving(plain, port, PERDURE_REGISTRY=str(registry)) as asgi,
    ):
        results = rounds(
            "redirect among all",
            lambda: wrk(ours, anywhere),
            {
                "nginx static 302": (lambda: wrk(static, anywhere), 0.30),
                "plain ASGI on uvicorn": (lambda: wrk(asgi, anywhere), 1.5),
            },
            unit="requests/CPU-s",
        )
        memory = ours.own_memory()
        results += rounds(
            "redirect, hot",
            lambda: wrk(ours, hot),
            {"nginx static 302": (lambda: wrk(static, hot), 0.60)},
            unit="requests/CPU-s",
        )
    results.append(
        Ratio(
            name=f"memory after {fixture.COUNT:,} identifiers, at most {_MEMORY} MB / target",
            ours=memory,
            other=_MEMORY,
            unit="MB",
            ratio=_MEMORY / memory,
            target=1.0,
        )
    )
    return results
