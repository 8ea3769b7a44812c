"""A move that is killed at any moment leaves the registry in one place, with all that it had."""

from __future__ import annotations

import random
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path

from tests.conftest import SERIES, text
from tests.storage.postgresql_server import make_address
from tests.trials import Tally

from perdure.errors import PerdureError
from perdure.ids import parse
from perdure.model.commands import Mint
from perdure.model.records import Location
from perdure.registry import Registry, initialise
from perdure.upkeep import full_audit

_KILLS = 4


def mint(root: Path, number: int) -> str | None:
    """Mint where the registry is; None if it was refused."""
    with closing(Registry(root, environment={})) as registry, suppress(PerdureError):
        location = Location(uri=f"https://example.org/{number}")
        return registry.door.execute_command(
            Mint(authority=SERIES, locations=(location,))
        ).identifier
    return None


def test_a_killed_move_loses_no_name(place: Path, tally: Tally) -> None:
    """ "Nothing acknowledged lost, no name twice", between kills of moves to and fro."""
    root, store = place / "registry", make_address()
    initialise(root, series=(SERIES,))
    with closing(Registry(root, environment={})) as registry:
        registry.door.execute_command(Mint(authority=SERIES, contents=(text("bytes"),)))
        before = registry.records.list_changes(limit=100)
    chance, names, kills = random.Random(7), [mint(root, 0)], 0
    while kills < _KILLS:
        for destination in (store, "sqlite"):
            words = [
                sys.executable,
                "-m",
                "perdure.cli",
                "-C",
                str(root),
                "move",
                "--to",
                destination,
            ]
            while True:
                process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
                try:
                    # past the start of Python, in the half second that the move takes
                    _, said = process.communicate(timeout=chance.uniform(0.3, 0.9))
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.communicate()
                    kills += 1
                    if (name := mint(root, kills)) is not None:
                        names.append(name)
                    if kills < 3 * _KILLS:
                        continue
                    _, said = subprocess.Popen(
                        words, stderr=subprocess.PIPE, text=True
                    ).communicate()
                break
            assert said.endswith("switched\n") or "there already" in said, said
    assert len(names) == len(set(names))
    with closing(Registry(root, environment={})) as registry:
        found = registry.records.find_records([parse(name or "").key for name in names])
        assert len(found) == len(names)
        assert registry.records.list_changes(limit=100)[: len(before)] == before
        assert not [one for one in full_audit.audit_registry(registry) if one.problem]
    tally.add("kills of moves", kills)
