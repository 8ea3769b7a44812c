"""The reading rules that an origin has, before the mirror has the changes that set them.

How it works: a mirror that is behind writes old changes first, and would serve a document until it
comes to the change that closed it. So before it replays a page after which more may follow, or
with a rule in it, it asks the origin for the rules in force that it does not have, and keeps them
in a file, which the read door obeys (`perdure.reading.foreseen_rules`). The file is removed when
the mirror has everything.

What must stay true: rules are foreseen before anything that they are about is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from perdure.model.changes import RULE
from perdure.model.mirroring import MirroredChange
from perdure.model.reading_rules import ReadingRule
from perdure.registry import Registry
from perdure.storage.origin import forget_foreseen, save_foreseen
from perdure.upkeep.mirroring.client import RegistryClient


class Foresight:
    """The foreseen rules of one mirror, for the process that follows the origin."""

    def __init__(self, registry: Registry, client: RegistryClient) -> None:
        self._registry = registry
        self._client = client
        self._found: list[ReadingRule] = []

    def foresee(self, page: Sequence[MirroredChange], *, is_full: bool) -> None:
        """Keep the rules of the origin before a page is replayed. Raises OriginUnusable."""
        if not (is_full or any(one.change.act == RULE for one in page)):
            return
        known = self._registry.records.find_last_rule()
        last = self._found[-1].number if self._found else 0
        fresh = self._client.fetch_rules(max(known, last))
        if fresh:
            self._found += fresh
            save_foreseen(self._registry.root, self._found)

    def forget(self) -> None:
        """Remove what was foreseen, since the mirror has everything."""
        self._found.clear()
        forget_foreseen(self._registry.root)
