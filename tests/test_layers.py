"""The import contracts of pyproject.toml leave no package out, and no modules import each other."""

from __future__ import annotations

import ast
import graphlib
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


def name_module(path: Path) -> str:
    """The name by which a module of perdure is imported."""
    parts = path.relative_to(SOURCES.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def list_imported_modules(path: Path, modules: set[str]) -> set[str]:
    """The modules that a module imports: anywhere in it, also for type hints only."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names = {f"{node.module}.{one.name}" for one in node.names}
            found |= names & modules
            found |= {node.module} if names - modules else set()
        elif isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
    return found & modules - {name_module(path)}


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Not by imports inside functions, either: what two modules share has a module of its own."""
    paths = {name_module(path): path for path in SOURCES.rglob("*.py")}
    imports = {name: list_imported_modules(path, set(paths)) for name, path in paths.items()}
    graphlib.TopologicalSorter(imports).prepare()  # raises CycleError, which lists the modules


LOADS_STORES = {
    "registry.py",
    "cli/promoting.py",
    "cli/keeping.py",
    "upkeep/places/choosing.py",
}
"""The wiring, two commands that work on a registry which cannot be opened, and a move, which needs
the stores of two places."""


def test_only_the_wiring_loads_stores() -> None:
    """Architecture: "Only `registry.py` builds adapters"; entry points are a way to them, too."""
    found = set()
    for path in SOURCES.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = getattr(node, "id", getattr(node, "attr", None))
            if name in ("load_store", "load_bytes") or (
                isinstance(node, ast.Constant) and node.value in ("perdure.stores", "perdure.bytes")
            ):
                found.add(path.relative_to(SOURCES).as_posix())
    assert found == LOADS_STORES


def test_nothing_uses_what_is_made_for_tests() -> None:
    modules = {name_module(path) for path in SOURCES.rglob("*.py")}
    made_for_tests = {name for name in modules if name.startswith("perdure.testing")}
    for path in SOURCES.rglob("*.py"):
        if not name_module(path).startswith("perdure.testing"):
            assert list_imported_modules(path, modules).isdisjoint(made_for_tests), path
