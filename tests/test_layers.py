"""The import contracts of pyproject.toml leave no package out."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parent.parent
SOURCES = PROJECT / "src/perdure"


def find_contract(name: str) -> dict[str, Any]:
    """The only contract whose name begins so."""
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
    (found,) = (
        one
        for one in settings["tool"]["importlinter"]["contracts"]
        if str(one["name"]).startswith(name)
    )
    return dict(found)


def list_modules(package: Path, prefix: str) -> set[str]:
    """The packages and modules directly in a package."""
    return {
        f"{prefix}.{path.stem}"
        for path in package.iterdir()
        if (path.suffix == ".py" or (path / "__init__.py").exists()) and path.stem != "__init__"
    }


def test_the_citation_processor_may_import_nothing_else() -> None:
    beside = list_modules(SOURCES / "metadata", "perdure.metadata") - {"perdure.metadata.citation"}
    others = list_modules(SOURCES, "perdure") - {"perdure.metadata"}
    assert set(find_contract("the citation processor")["forbidden_modules"]) == beside | others


def test_the_pure_core_is_the_packages_under_the_gate_of_coverage() -> None:
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
    measured = settings["tool"]["coverage"]["run"]["source_pkgs"]
    assert set(find_contract("the core is pure")["source_modules"]) == set(measured)
