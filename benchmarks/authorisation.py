"""What it costs to ask whether somebody may write: microseconds per request.

The target is absolute, because the issue gives it so. Measured is all that a write does before its
body is looked at: reading the secret from the header, hashing and finding it, and checking scope,
date and validity, for a token of an operator and for one that came through three hands.
"""

from __future__ import annotations

import shutil
import statistics
import time
from typing import NoReturn

from benchmarks import fixture
from benchmarks.measure import Ratio
from perdure.model.commands import SaveToken
from perdure.model.records import Token
from perdure.policy.tokens import make_token
from perdure.registry import Registry, initialise
from perdure.server.common import auth
from perdure.server.common.bearers import Bearers
from perdure.server.common.metrics import Metrics
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.protocol.http import EXTENSION
from perdure.storage.generation import Generation

_REQUESTS = 5_000
_ROUNDS = 7
_TARGET = 20.0  # microseconds


def run() -> list[Ratio]:
    root = fixture.OUT / "authorisation"
    shutil.rmtree(root, ignore_errors=True)
    initialise(root, series=(fixture.SERIES,))
    generation = Generation(root)
    with Registry(root) as registry:
        secrets = [_granted(registry, number) for number in range(4)]
        service = Service(registry, Bearers(registry.records, generation), Metrics())
        results = [
            _measure(service, secrets[0], "a token"),
            _measure(service, secrets[-1], "a token through three hands"),
        ]
    generation.close()
    shutil.rmtree(root)
    return results


def _granted(registry: Registry, number: int) -> str:
    """A token that was granted from the one before."""
    secret, digest = make_token()
    token = Token(
        name=f"hand {number}",
        digest=digest,
        operations=("mint", "delegate"),
        authorities=("gpo.gov.us", "99999/fk4*", f"*.{fixture.SERIES.partition('.')[2]}"),
        expires="2999-01-01T00:00:00Z",
        granted_by=f"hand {number - 1}" if number else "",
    )
    registry.door.execute_command(SaveToken(token=token))
    return secret


def _measure(service: Service, secret: str, name: str) -> Ratio:
    scope = {
        "method": "PUT",
        "http_version": "1.1",
        "scheme": "http",
        "headers": [(b"host", b"a"), (b"authorization", f"Bearer {secret}".encode())],
        "extensions": {EXTENSION: {"raw": f"/pdi://{fixture.SERIES}/".encode()}},
    }
    request = Request(scope, _nothing, "")

    def once() -> float:
        start = time.process_time()
        for _ in range(_REQUESTS):
            token = auth.find_bearer(service, request)
            auth.check_minting(service, token, fixture.SERIES)
        return (time.process_time() - start) / _REQUESTS * 1e6

    once()
    ours = statistics.median(once() for _ in range(_ROUNDS))
    return Ratio(
        name=f"authorisation by {name}, at most {_TARGET:.0f} µs / target",
        ours=ours,
        other=_TARGET,
        unit="µs",
        ratio=_TARGET / ours,
        target=1.0,
    )


async def _nothing() -> NoReturn:
    raise RuntimeError("no body is read here")
