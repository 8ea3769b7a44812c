"""What every handler needs: the registry that is served, and where its answers are counted."""

from __future__ import annotations

from dataclasses import dataclass

from perdure.app import Registry
from perdure.ids import Identifier
from perdure.ids.pdi import Pdi
from perdure.model import Record
from perdure.resolver import Resolver
from perdure.server.bearers import Bearers
from perdure.server.metrics import Metrics
from perdure.settings import Settings


@dataclass(frozen=True, slots=True)
class Service:
    """One worker's view of the registry."""

    registry: Registry
    bearers: Bearers
    metrics: Metrics

    @property
    def settings(self) -> Settings:
        return self.registry.settings

    @property
    def resolver(self) -> Resolver:
        return self.registry.resolver

    def record(self, identifier: Identifier) -> Record | None:
        return self.registry.records.record(identifier.key)

    def knows_series(self, pattern: Pdi) -> bool:
        """Whether a series is minted here, or at least has identifiers here."""
        if pattern.series in self.settings.series:
            return True
        low, high = Pdi.from_key(f"{pattern.series}/").key_range()
        return self.registry.records.first_key(low, high) is not None
