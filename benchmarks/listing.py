"""Listing a month, with little and with much around it: it costs the same."""

from __future__ import annotations

import shutil

from benchmarks import fixture, loading
from benchmarks.measure import Ratio, compare
from perdure.ids import pdi
from perdure.model.commands import Bind
from perdure.model.records import Location
from perdure.registry import Registry, initialise

_MONTH = f"pdi://{fixture.SERIES}/1993/02/"
_LISTED = 10_000


def run() -> list[Ratio]:
    large, _ = loading.make_registry()
    small = fixture.OUT / "small"
    shutil.rmtree(small, ignore_errors=True)
    initialise(small, series=(fixture.SERIES,))
    with Registry(large) as much, Registry(small) as little:
        month = pdi.parse_pdi(_MONTH)
        for name in much.listings.list_page(month, limit=_LISTED).identifiers:
            location = Location(uri="https://clintonwhitehouse.archives.gov/")
            little.door.execute_command(Bind(identifier=name, locations=(location,), register=True))
        result = compare(
            f"a month among {fixture.COUNT:,} / among 10,000",
            lambda: much.listings.list_page(month, limit=_LISTED),
            lambda: little.listings.list_page(month, limit=_LISTED),
            work=_LISTED,
            unit="ids/CPU-s",
            target=0.8,
        )
    shutil.rmtree(small)
    return [result]
