"""Killed at any moment: what was acknowledged is there, what was not is served to nobody."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest
from fastwarc.warc import ArchiveIterator
from tests.conftest import StartWorker, sha512
from tests.crash.worker import SERIES, body
from tests.trials import Tally
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from perdure.ids import parse
from perdure.ids.pdi import Pdi
from perdure.model.queries import Fetch, Query
from perdure.registry import Registry
from perdure.upkeep import audit

ROUNDS = 20
MANY_ROUNDS = 1000


def check(registry: Registry, actor: str, receipts: list[dict[str, Any]]) -> None:
    """Every receipt resolves to the bytes that its actor wrote."""
    for one in receipts:
        step = registry.reading.resolve(Query(identifier=parse(one["identifier"]))).step
        assert isinstance(step, Fetch)
        data = body(actor, one["number"], large=one["large"])
        assert registry.listings.read_bytes(step.representation) == data


def serials(registry: Registry) -> dict[str, list[int | None]]:
    """All serial numbers that were used, by day."""
    days: dict[str, list[int | None]] = {}
    for key, _ in registry.records.scan_records(f"{SERIES}/", f"{SERIES}0", limit=100_000):
        name = Pdi.from_key(key)
        days.setdefault(str(name.date), []).append(name.serial)
    return days


def test_what_a_crowd_was_told_is_there_whenever_it_is_killed(
    root: Path, start: StartWorker
) -> None:
    """Sixty-four at once, whose mints are carried out and made durable together."""
    chance = random.Random(19940120)
    everything: dict[str, list[dict[str, Any]]] = {}
    for number in range(5):
        actor = f"crowd{number}"
        worker = start("crowd", actor, 64)
        for _ in range(chance.randrange(500, 3000)):
            worker.hear()
        worker.kill()
        everything[actor] = worker.receipts
    with Registry(root) as registry:
        for actor, receipts in everything.items():
            check(registry, actor, receipts)
            for one in receipts[::50]:
                digest = sha512(body(actor, one["number"]))
                assert one["identifier"] in map(str, registry.listings.find_same_bytes(digest))
        told = [one["identifier"] for receipts in everything.values() for one in receipts]
        assert len(set(told)) == len(told) >= 5 * 500
        for numbers in serials(registry).values():
            assert numbers == list(range(1, len(numbers) + 1))
        registry.door.elect_leader()
        found = audit.verify_digests(registry.records, registry.bytes)
        assert [one.identifier for one in found if one.problem] == []


@pytest.mark.parametrize("rounds", [ROUNDS, pytest.param(MANY_ROUNDS, marks=pytest.mark.trial)])
def test_nothing_acknowledged_is_lost_whenever_it_is_killed(
    root: Path, start: StartWorker, tally: Tally, rounds: int
) -> None:
    chance = random.Random(19970901)
    everything: dict[str, list[dict[str, Any]]] = {}
    for number in tally.each(range(rounds), "kills"):
        actor = f"round{number}"
        worker = start("mint", actor, 1000, 13 if number < ROUNDS else 0)
        for _ in range(chance.randrange(1, 20)):
            worker.hear()
        time.sleep(chance.random() / 50)
        worker.kill()
        assert worker.errors == []
        everything[actor] = worker.receipts
        tally.add("acknowledged writes", len(worker.receipts))
        with Registry(root, environment={}) as registry:
            check(registry, actor, worker.receipts)
            names = [one["identifier"] for one in worker.receipts]
            assert len(set(names)) == len(names)
    with Registry(root, environment={}) as registry:
        for actor, receipts in everything.items():
            check(registry, actor, receipts)
        registry.door.elect_leader()  # recovers for the last time, and sets aside the rest
        assert [
            one for one in audit.verify_digests(registry.records, registry.bytes) if one.problem
        ] == []
        lengths = {number: length for number, length, _ in registry.records.list_segments()}
    segments = sorted((root / "segments").glob("*.warc"))
    assert {int(path.stem): path.stat().st_size for path in segments} == lengths
    for path in segments:
        with path.open("rb") as file:
            assert all(record.verify_block_digest() for record in ArchiveIterator(file))
        with path.open("rb") as file:
            for record in WarcioIterator(file, check_digests="raise"):
                record.content_stream().read()
