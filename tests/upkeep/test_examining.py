"""What `perdure doctor` says of the ground on which a registry stands."""

from __future__ import annotations

import shutil
from collections import namedtuple
from pathlib import Path

import pytest
from tests.conftest import Clock, Desk, text

from perdure.registry import Registry
from perdure.storage.store_findings import StoreFinding
from perdure.upkeep.examining import examine_registry

Usage = namedtuple("Usage", "total used free")


def find(registry: Registry, name: str) -> StoreFinding:
    return next(one for one in examine_registry(registry) if one.name == name)


def test_a_clock_before_the_last_change(desk: Desk, clock: Clock) -> None:
    """A name that is minted then would have a day that is over."""
    desk.mint(text("Dear Sir"))
    assert find(desk.registry, "clock").severity == "ok"
    clock.advance(days=-1)
    found = find(desk.registry, "clock")
    assert (found.severity, found.ok) == ("error", False)
    assert found.seen.startswith("86400 seconds before the last change, ")


@pytest.mark.parametrize(("free", "severity"), [(100, "ok"), (5, "ok"), (4, "warning")])
def test_little_space(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, free: int, severity: str
) -> None:
    def measure(path: Path) -> Usage:
        assert path == desk.registry.root
        return Usage(100, 100 - free, free)

    monkeypatch.setattr(shutil, "disk_usage", measure)
    found = find(desk.registry, "space")
    assert (found.severity, found.seen) == (severity, f"{free}% of the disk is free")
