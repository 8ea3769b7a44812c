"""Reading rights: what rules cost a name in a registry that has 100,000 of them.

How it works: a thousand redirects are read again and again, by the read door and by the fast way of
the server, in a registry without rules and in others: with rules about other names only, with a
rule about each of these names, and with 3,000 rules about scopes. A rule costs the difference to
the registry without rules; 20 microseconds are the most that is wanted. A rule that admits readers
by their network is asked for each reader, so its names do not have the fast way.

Rules about scopes are set in batches of a thousand: the last batch must not take much longer than
the first one. What counts is the time of the processor.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

from benchmarks.measure import Ratio, show
from perdure.ids import parse
from perdure.model.commands import Bind, Restrict
from perdure.model.queries import Query, Reader
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import Location
from perdure.registry import Registry, initialise
from perdure.server.common.cold_reads import ColdReads
from perdure.server.fast.path import FastPath
from perdure.storage.generation import Generation

_NAMES, _RULES, _SCOPES, _BATCH = 1000, 100_000, 3000, 1000
_WANTED = 20e-6  # seconds
_ROUNDS = 7
_READER = Reader(address="10.1.2.3")


def run() -> list[Ratio]:
    about = [f"hdl:1839/{number}" for number in range(_NAMES)]
    others = [_close(f"hdl:9999/{number}") for number in range(_RULES - _NAMES)]
    cases = {
        "rules about other names": others,
        "open rules": [*others, *(ReadingRule(about=one, access=Access.OPEN) for one in about)],
        "embargoes that are over": [*others, *(_close(one, until="2020-01-01") for one in about)],
        "rules by network": [*others, *(_close(one, networks=("10.0.0.0/8",)) for one in about)],
        "rules about scopes": [_close(f"hdl:9999/{number}*") for number in range(_SCOPES)],
    }
    with tempfile.TemporaryDirectory() as place:
        bare = _measure_reads(Path(place) / "bare", ())
        ratios = []
        for number, (name, rules) in enumerate(cases.items()):
            door, fast = _measure_reads(Path(place) / f"{number}", rules)
            ratios.append(_compare(f"{name}, read door", door - bare[0]))
            if "network" not in name:
                ratios.append(_compare(f"{name}, fast way", fast - bare[1]))
        return [*ratios, _measure_setting(Path(place) / "scopes")]


def _close(about: str, until: str = "", networks: tuple[str, ...] = ()) -> ReadingRule:
    return ReadingRule(about=about, access=Access.CLOSED, until=until, networks=networks)


def _compare(name: str, cost: float) -> Ratio:
    cost = max(cost, 1e-9)
    return Ratio(f"{name}: cost", cost * 1e6, _WANTED * 1e6, "µs", _WANTED / cost, 1)


def _measure_reads(root: Path, rules: Iterable[ReadingRule]) -> tuple[float, float]:
    """The seconds that a redirect takes by the read door and by the fast way."""
    initialise(root, series=("oma.eop.gov.us",))
    names = [f"hdl:1839/{number}" for number in range(_NAMES)]
    with Registry(root) as registry:
        location = (Location(uri="https://a.example/"),)
        binds = [Bind(identifier=parse(one), locations=location, register=True) for one in names]
        registry.door.execute_commands(binds)
        _set_rules(registry, rules)
    fields = b"host: a.example\r\nuser-agent: bench\r\n"
    targets = [f"/{one}".encode() for one in names]
    queries = [Query(identifier=parse(one), reader=_READER) for one in names]
    with (
        Registry(root) as registry,
        closing(Generation(root)) as generation,
        closing(ColdReads(registry.records, registry.reading)) as cold,
    ):
        path = FastPath(registry, generation, cold=cold)
        resolve, answer = registry.reading.resolve, path.answer_request

        async def measure_fast() -> float:
            return _find_cost(lambda: [answer(b"GET", target, fields) for target in targets])

        door = _find_cost(lambda: [resolve(query).step for query in queries])
        return door / _NAMES, asyncio.run(measure_fast()) / _NAMES


def _set_rules(registry: Registry, rules: Iterable[ReadingRule]) -> list[float]:
    """Set rules in batches. Return the seconds that each batch took."""
    commands, costs = [Restrict(rule=rule) for rule in rules], []
    for at in range(0, len(commands), _BATCH):
        start = time.process_time()
        registry.door.execute_commands(commands[at : at + _BATCH])
        costs.append(time.process_time() - start)
    return costs


def _measure_setting(root: Path) -> Ratio:
    initialise(root, series=("oma.eop.gov.us",))
    with Registry(root) as registry:
        rules = [_close(f"hdl:9999/{number}*") for number in range(_RULES // 4)]
        costs = _set_rules(registry, rules)
    first, last = min(costs[:5]), min(costs[-5:])
    speed = _BATCH / last, _BATCH / first
    return Ratio("setting rules about scopes, last / first", *speed, "rules/s", first / last, 0.5)


def _find_cost(work: Callable[[], object]) -> float:
    costs = []
    for _ in range(_ROUNDS):
        start = time.process_time()
        work()
        costs.append(time.process_time() - start)
    return min(costs)


if __name__ == "__main__":
    sys.exit(0 if show(run()) else 1)
