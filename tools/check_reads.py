"""Check that no interface reads records around the read door (docs/explanation/architecture.md).

The server, the command line and `perdure.api` get the record of a name from `ReadDoor.resolve`, so
that aliases, delegations, reading rules and withdrawals are respected everywhere. The methods and
functions of `READS` return records without that. The interfaces may call them only at the places
in tools/record_reads.toml, each with a reason; a place that no longer reads must leave the list.
There is one read door: only `registry.py` makes one.

    python tools/check_reads.py            exits with 1 if anything is found
"""

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src/perdure"
ALLOWED = ROOT / "tools/record_reads.toml"
FACES = ("server", "cli", "api.py")
READS = {
    # of a store of records, of its look-ups, and of `Listings`
    "find_record",
    "find_records",
    "find_stored",
    "find_last_stored",
    "list_revisions",
    "list_past",
    "scan_records",
    "scan_lines",
    "scan_runs",
    "find_lines",
    "list_lines",
    "open_lookup",
    # functions that read for others
    "scan_readable",
    "find_same_record",
    "find_equal_record",
}


def main() -> int:
    """Print all findings; 1 if there are any."""
    allowed = load_allowed(ALLOWED)
    complaints = [*compare_places(set(find_places(SOURCES)), allowed), *find_doors(SOURCES)]
    sys.stdout.writelines(f"{complaint}\n" for complaint in complaints)
    return 1 if complaints else 0


def load_allowed(path: Path) -> set[str]:
    """The places that the list allows. Raises ValueError if one has no reason, or two."""
    allowed: set[str] = set()
    for group in tomllib.loads(path.read_text("utf-8"))["allowed"]:
        places = set(group["places"])
        if not group["reason"].strip() or allowed & places:
            raise ValueError(f"one reason for each place: {sorted(allowed & places)}")
        allowed |= places
    return allowed


def compare_places(found: set[str], allowed: set[str]) -> Iterator[str]:
    """The places that are not in the list, and those in the list that read nothing."""
    for place in sorted(found - allowed):
        yield f"src/perdure/{place} reads a record around the read door: use ReadDoor.resolve"
    for place in sorted(allowed - found):
        yield f"tools/record_reads.toml: {place} reads no record: remove it from the list"


def find_places(root: Path) -> Iterator[str]:
    """The functions of the interfaces that use one of `READS`: `server/x.py:Class.function`."""
    for face in FACES:
        start = root / face
        for path in [start] if start.is_file() else sorted(start.rglob("*.py")):
            module = path.relative_to(root).as_posix()
            for scope, name in _walk_names(ast.parse(path.read_text("utf-8")), ()):
                if name in READS:
                    yield f"{module}:{scope}"


def find_doors(root: Path) -> Iterator[str]:
    """The places that make a read door of their own."""
    for path in sorted(root.rglob("*.py")):
        if path.relative_to(root).as_posix() == "registry.py":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ReadDoor":
                module = path.relative_to(root).as_posix()
                yield f"src/perdure/{module}:{node.lineno} makes a read door: ask the registry"


def _walk_names(node: ast.AST, scopes: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Each attribute and name that is used in a tree, with the function in which it is used."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Attribute):
            yield ".".join(scopes), child.attr
        elif isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
            yield ".".join(scopes), child.id
        inner = scopes
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = (*scopes, child.name)
        yield from _walk_names(child, inner)


if __name__ == "__main__":
    sys.exit(main())
