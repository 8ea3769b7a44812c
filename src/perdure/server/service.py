"""What every handler needs: the registry that is served, and where its answers are counted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from perdure.app import Registry
from perdure.ids import Identifier
from perdure.ids.pdi import Pdi
from perdure.linkcheck.health import Health
from perdure.model import Record
from perdure.resolver import Resolver
from perdure.server.bearers import Bearers
from perdure.server.metrics import Metrics
from perdure.server.passwords import Passwords
from perdure.settings import Settings
from perdure.unfolding import Unfolding

AT_ONCE = 2  # captures
_CUTTERS = 4  # threads; the work itself is mostly done by other processes


@dataclass(frozen=True, slots=True)
class Service:
    """One worker's view of the registry."""

    registry: Registry
    bearers: Bearers
    metrics: Metrics
    passwords: Passwords = field(default_factory=Passwords)
    health: Health = field(default_factory=Health)
    capturing: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    """Held while a page is captured."""
    _cutters: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(_CUTTERS, thread_name_prefix="perdure-cutter")
    )

    @property
    def settings(self) -> Settings:
        return self.registry.settings

    @property
    def resolver(self) -> Resolver:
        return self.registry.resolver

    @property
    def unfolding(self) -> Unfolding:
        return self.registry.unfolding

    def record(self, identifier: Identifier) -> Record | None:
        return self.registry.records.record(identifier.key)

    async def cut(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """What cutting and hashing give, in a thread that nothing else waits for."""
        return await asyncio.get_running_loop().run_in_executor(self._cutters, work, *arguments)

    def knows_series(self, pattern: Pdi) -> bool:
        """Whether a series is minted here, or at least has identifiers here."""
        if pattern.series in self.settings.series:
            return True
        low, high = Pdi.from_key(f"{pattern.series}/").key_range()
        return self.registry.records.first_key(low, high) is not None
