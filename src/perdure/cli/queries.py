"""Queries of the command line: what a server would ask today, in the name of the local reader."""

from __future__ import annotations

from perdure.ids import Identifier
from perdure.ids.name_set import NameSet
from perdure.model.queries import Preference, Query, Reader, Want
from perdure.model.records import LOCAL
from perdure.model.timestamps import format_timestamp
from perdure.registry import Registry
from perdure.upkeep.linkcheck.health import Health


def make_query(
    registry: Registry,
    identifier: Identifier,
    accept: tuple[str, ...] = (),
    want: Want = Want.RESOURCE,
    *,
    languages: tuple[str, ...] = (),
    region: str | None = None,
    part: str | None = None,
    names: NameSet | None = None,
    accepts_elsewhere: bool = False,
) -> Query:
    """Build the query that a server would ask today; formats and languages are best first."""
    health = Health(registry.root)
    health.refresh()
    return Query(
        identifier=identifier,
        part=part,
        names=names,
        reader=Reader(name=LOCAL),
        want=want,
        accept=_rank_preferences(accept),
        languages=_rank_preferences(languages),
        region=region,
        day=format_timestamp(registry.clock())[:10],
        dead=health.dead,
        accepts_elsewhere=accepts_elsewhere,
    )


def _rank_preferences(ranges: tuple[str, ...]) -> tuple[Preference, ...]:
    """Rank each range slightly below the one before; none falls to zero."""
    return tuple(Preference(one, 1 - place / 1000) for place, one in enumerate(ranges[:999]))
