"""Every face gives the outcome that the contract table says (`vectors/contract.json`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.contract import locally, over_handles, over_http
from tests.contract.fixture import ENVIRONMENT, make_registry
from tests.contract.table import TABLE, Cell, Outcome, cells
from tests.server.deployment import deployed
from tests.server.native_client import NativeSite, find_port

from perdure.registry import Registry

CELLS = cells()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_registry(tmp_path_factory.mktemp("contract"))


@pytest.fixture(scope="module")
def native(root: Path) -> Iterator[NativeSite]:
    """The site, with the native Handle protocol at a port of its own."""
    port = find_port()
    with deployed(root, handle_port=port, **TABLE["settings"]) as running:
        native = NativeSite(running, port)
        native.wait()
        yield native


@pytest.fixture(scope="module")
def registry(root: Path) -> Iterator[Registry]:
    with Registry(root, environment=ENVIRONMENT) as opened:
        yield opened


def ask(cell: Cell, native: NativeSite, registry: Registry, place: Path) -> Outcome:
    """The outcome of a cell, by the way of its face."""
    kind = TABLE["kinds"][cell.kind]
    match TABLE["faces"][cell.face]["via"]:
        case "http":
            return over_http.ask(native.site, cell, kind)
        case "handle protocol":
            return over_handles.ask(native, cell, kind)
        case "command":
            return locally.run_command(registry.root, place, cell, kind)
    return locally.call_python(registry, cell, kind)


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.label)
def test_every_face_gives_the_outcome_of_the_table(
    cell: Cell, native: NativeSite, registry: Registry, tmp_path: Path
) -> None:
    assert ask(cell, native, registry, tmp_path) == cell.expected
