"""The import contracts of pyproject.toml leave no package out."""

from __future__ import annotations

import ast
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


def list_packages() -> set[str]:
    """The packages and modules directly in `perdure`."""
    return {
        f"perdure.{path.stem}"
        for path in SOURCES.iterdir()
        if (path.suffix == ".py" or (path / "__init__.py").exists()) and path.stem != "__init__"
    }


def list_imports(module: Path) -> set[str]:
    """The modules of perdure that a module imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
        elif isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
    return {name for name in found if name.partition(".")[0] == "perdure"}


def test_the_citation_processor_imports_nothing_else_of_perdure() -> None:
    """The contract knows packages only, so its neighbours in `metadata` are looked for here."""
    forbidden = set(find_contract("the citation processor")["forbidden_modules"])
    assert forbidden == list_packages() - {"perdure.metadata"}
    own = "perdure.metadata.citation"
    for module in (SOURCES / "metadata/citation").rglob("*.py"):
        assert {one for one in list_imports(module) if not f"{one}.".startswith(f"{own}.")} == set()


def test_the_pure_core_is_the_packages_under_the_gate_of_coverage() -> None:
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
    measured = settings["tool"]["coverage"]["run"]["source_pkgs"]
    assert set(find_contract("the core is pure")["source_modules"]) == set(measured)
