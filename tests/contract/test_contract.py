"""Every face gives the outcome that the contract table says (`vectors/contract.json`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract import locally, over_http
from tests.contract.fixture import ENVIRONMENT, make_registry
from tests.contract.table import TABLE, Cell, Outcome, cells
from tests.server.deployment import Deployment, deployed

from perdure.registry import Registry

CELLS = cells()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_registry(tmp_path_factory.mktemp("contract"))


@pytest.fixture(scope="module")
def site(root: Path) -> Iterator[Deployment]:
    with deployed(root, **TABLE["settings"]) as running:
        yield running


@pytest.fixture(scope="module")
def registry(root: Path) -> Iterator[Registry]:
    with Registry(root, environment=ENVIRONMENT) as opened:
        yield opened


def ask(cell: Cell, site: Deployment, registry: Registry, place: Path) -> Outcome:
    """The outcome of a cell, by the way of its face."""
    kind = TABLE["kinds"][cell.kind]
    match TABLE["faces"][cell.face]["via"]:
        case "http":
            return over_http.ask(site, cell, kind)
        case "command":
            return locally.run_command(registry.root, place, cell, kind)
    return locally.call_python(registry, cell, kind)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.label)
def test_every_face_gives_the_outcome_of_the_table(
    cell: Cell, site: Deployment, registry: Registry, tmp_path: Path
) -> None:
    assert ask(cell, site, registry, tmp_path) == cell.expected
