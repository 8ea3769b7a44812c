"""`make search`, second half: breaks the pure core on purpose and counts what no test notices.

How it works: every place in the modules of `NEAREST` where one small change gives another program
(an operator, a condition, a constant, a returned value) is a mutant. A sample, always the same for
the same code, is tried. First the tests nearest to the modules of the sample run once, which shows
the lines that each executes (`test_map`). Then each mutant is written into a copy of the project,
and the tests that execute its lines run there, the fastest first, until one fails: no other test
can notice it. A mutant that passes them all has survived. The run fails if more than `--most` per
cent survive, and prints each survivor with its line before and after.

What must stay true: the working tree is never changed, and a sample depends on the seed and on the
code only. Nothing is mutated that only words an error: annotations, docstrings, texts in `raise`,
texts for a function that makes or raises an error (its annotation says so), and what a variable
called `expected` is set to.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from perdure.errors.tree import list_classes
from test_map import TestMap, map_tests

PROJECT = Path(__file__).resolve().parent.parent
SEED = 19940120
COPIED = ("src", "tests", "vectors", "examples", "docs", "deploy", "pyproject.toml", "conftest.py")
SLOW = ("linear", "megabytes", "takes_no_longer")
"""Words in the names of tests that measure growth: they take long and find no mutant."""
LEFT_OUT = ("-k", " and ".join(f"not {word}" for word in SLOW))
TIMEOUT = 300
"""Seconds after which a mutant counts as noticed: it never ends."""

_OF_ALL_SCHEMES = (
    "tests/ids/test_vectors.py",
    "tests/ids/test_schemes.py",
    "tests/ids/test_positions.py",
    "tests/ids/test_laws.py",
)
NEAREST = {
    "policy/handles": ("tests/policy/handles",),
    "policy/templates": ("tests/policy/templates",),
    "policy/operations.py": ("tests/policy/test_rights.py",),
    "policy": ("tests/policy",),
    "ids/pdi_key.py": ("tests/ids/test_pdi_key.py", *_OF_ALL_SCHEMES),
    "ids/pdi": ("tests/ids/test_pdi.py", "tests/ids/test_pdi_grammar.py", *_OF_ALL_SCHEMES),
    "ids/pwid": ("tests/ids/test_pwid.py", "tests/ids/test_pwid_misfits.py", *_OF_ALL_SCHEMES),
    "ids/urn1993.py": ("tests/ids/test_urn1993.py", *_OF_ALL_SCHEMES),
    "ids/urn.py": ("tests/ids/test_urn.py", *_OF_ALL_SCHEMES),
    "ids/ark.py": ("tests/ids/test_ark.py", *_OF_ALL_SCHEMES),
    "ids/handle.py": ("tests/ids/test_handle.py", *_OF_ALL_SCHEMES),
    "ids/urls.py": ("tests/ids/test_urls.py", *_OF_ALL_SCHEMES),
    "ids": ("tests/ids",),
    "archives/pwid/verdict.py": ("tests/archives/test_verdict.py",),
    "upkeep/linkcheck/verdict.py": ("tests/upkeep/linkcheck",),
    "reading/targets.py": ("tests/server/test_target_reading.py", "tests/ids/test_urls.py"),
}
"""Modules, each with the tests that are nearest to it; the first entry that fits counts."""

_OTHER_OPERATOR: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
}


@dataclass(frozen=True)
class Place:
    """One change that can be made: the number of a node in its module, and a change of it."""

    module: Path
    node: int
    change: int
    rank: str
    """By this the sample is drawn; it stays the same while other code changes."""


@dataclass(frozen=True)
class Mutant:
    """A module with one change."""

    module: Path
    line: int
    lines: range | None
    """All lines of the statement around it; the head only, of a statement with a body.

    None if it is executed once and remembered: while modules are imported, or in a cached function.
    """
    before: str
    after: str
    source: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line}\n  - {self.before}\n  + {self.after}"


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--sample", type=int, default=200, help="0 for all")
    options.add_argument("--seed", type=int, default=SEED)
    options.add_argument("--most", type=float, default=5.0, help="per cent that may survive")
    options.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options.add_argument(
        "only",
        nargs="*",
        help="modules, or functions in them: policy/rights.py, policy/decide.py:decide_part",
    )
    chosen = options.parse_args()
    functions = {module: name for module, _, name in (one.partition(":") for one in chosen.only)}
    modules = [one for one in find_modules() if not functions or str(one) in functions]
    places = sorted(
        (
            place
            for module in modules
            for place in find_places(module, chosen.seed, functions.get(str(module), ""))
        ),
        key=lambda place: place.rank,
    )
    mutants = [make_mutant(place) for place in places[: chosen.sample or None]]
    print(f"{len(mutants)} of {len(places)} mutants of {len(modules)} modules", flush=True)
    print("first, the tests run unbroken, which shows the lines that each executes", flush=True)
    start = time.monotonic()
    survivors = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as directory:
        tried = try_mutants(mutants, Path(directory), chosen.processes)
        for number, (mutant, survived) in enumerate(tried, 1):
            if survived:
                survivors.append(mutant)
                print(f"[{number}] {mutant}", flush=True)
            if number % 20 == 0:
                print(f"{number} tried, {len(survivors)} survive", flush=True)
    share = 100 * len(survivors) / max(len(mutants), 1)
    print(
        f"mutate ended after {(time.monotonic() - start) / 60:.0f} minutes: {len(mutants)} mutants"
        f" were tried; {len(survivors)} survive, {share:.1f} %, and {chosen.most} % may"
    )
    return int(share > chosen.most)


# Mutants
# -------


def find_modules() -> Iterator[Path]:
    """The modules to break, in alphabetical order, as paths below `src/perdure`."""
    root = PROJECT / "src" / "perdure"
    for path in sorted(root.rglob("*.py")):
        module = path.relative_to(root)
        if str(module).startswith(tuple(NEAREST)):
            yield module


def find_places(module: Path, seed: int, function: str = "") -> Iterator[Place]:
    """All changes that can be made in a module, or in a function of it."""
    seen: Counter[str] = Counter()
    tree = ast.parse(read_module(module))
    lines = find_lines(tree, function) if function else range(1 << 30)
    for number, node in enumerate(list_places(tree)):
        if node.lineno not in lines:
            continue
        text = ast.dump(node)
        seen[text] += 1
        for change in range(count_changes(node)):
            words = f"{seed} {module} {text} {seen[text]} {change}"
            rank = hashlib.sha256(words.encode()).hexdigest()
            yield Place(module, number, change, rank)


def find_lines(tree: ast.Module, name: str) -> range:
    """The lines of a function. Raises SystemExit if the module has none of this name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return range(node.lineno, (node.end_lineno or node.lineno) + 1)
    raise SystemExit(f"no function is called {name}")


def make_mutant(place: Place) -> Mutant:
    tree = ast.parse(read_module(place.module))
    node = list_places(tree)[place.node]
    statement = find_statement(tree, node)
    before = shorten_source(statement)
    apply_change(node, place.change)
    after = shorten_source(statement)
    lines = None if is_remembered(tree, node) else list_lines(statement)
    return Mutant(place.module, node.lineno, lines, before, after, ast.unparse(tree))


def read_module(module: Path) -> str:
    return (PROJECT / "src" / "perdure" / module).read_text("utf-8")


def list_places(tree: ast.Module) -> list[ast.expr | ast.stmt]:
    """The nodes that can be changed, in the order of the source."""
    places: list[ast.expr | ast.stmt] = []
    erring = find_erring(tree)

    def visit(node: ast.AST, *, is_worded: bool = False) -> None:
        if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr | ast.Import | ast.ImportFrom):
            return
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return  # a docstring
        if isinstance(node, ast.Subscript) and name_function(node.value) == "Literal":
            return  # an annotation with a name
        if is_worded and isinstance(node, ast.Constant) and isinstance(node.value, str):
            return
        if isinstance(node, ast.Call):
            is_worded = is_worded or name_function(node.func) in erring
        elif isinstance(node, ast.Assign):
            is_worded = all(name_function(one) == "expected" for one in node.targets)
        if isinstance(node, ast.expr | ast.stmt) and count_changes(node):
            places.append(node)
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list", "bases"):
                continue
            if isinstance(node, ast.keyword) and node.arg == "strict":
                continue  # like an assertion: that zip's arguments have the same length
            if name == "keywords" and isinstance(node, ast.ClassDef):
                continue  # how a value is made, not what it does
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    visit(child, is_worded=is_worded)

    visit(tree)
    return places


def find_erring(tree: ast.Module) -> set[str]:
    """The names of the functions of a module that return an error, or never return."""
    errors = {"NoReturn"} | {kind.__name__ for kind in list_classes()}
    return {
        function.name
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef) and function.returns is not None
        if errors & {one.id for one in ast.walk(function.returns) if isinstance(one, ast.Name)}
    }


def name_function(node: ast.expr) -> str:
    """The name that a function or a variable has where it is used."""
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def count_changes(node: ast.expr | ast.stmt) -> int:
    match node:
        case ast.Compare(ops=[operator]):
            return len(_OTHER_OPERATOR.get(type(operator), ()))
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()) | ast.If() | ast.IfExp() | ast.While():
            return 1
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return 1
        case ast.Constant(value=bool() | int()):
            return 1
        case ast.Constant(value=str() as text):
            return int(bool(text))
        case ast.Return(value=value):
            return int(value is not None and not _is_falsy(value))
    return 0


def apply_change(node: ast.expr | ast.stmt, change: int) -> None:
    match node:
        case ast.Compare():
            node.ops = [_OTHER_OPERATOR[type(node.ops[0])][change]()]  # type: ignore[list-item]
        case ast.BoolOp():
            node.op = _OTHER_OPERATOR[type(node.op)][0]()  # type: ignore[assignment]
        case ast.UnaryOp():
            node.op, node.operand = ast.Not(), ast.UnaryOp(ast.Not(), node.operand)
        case ast.If() | ast.IfExp() | ast.While():
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case ast.BinOp():
            node.op = _OTHER_OPERATOR[type(node.op)][0]()  # type: ignore[assignment]
        case ast.Constant(value=bool()):
            node.value = not node.value
        case ast.Constant(value=int() as number):
            node.value = number + 1
        case ast.Constant(value=str() as text):
            node.value = f"{text}~"
        case ast.Return():
            node.value = ast.Constant(None)


def find_statement(tree: ast.Module, node: ast.AST) -> ast.stmt:
    """The smallest statement around a node."""
    around = tree.body[0]
    for statement in ast.walk(tree):
        if isinstance(statement, ast.stmt) and any(one is node for one in ast.walk(statement)):
            around = statement
    return around


def is_remembered(tree: ast.Module, node: ast.AST) -> bool:
    """Whether a node is outside of functions, or in a function whose results are cached.

    What such a function calls in its module is executed once, too.
    """
    cached = {getattr(one, "name", "") for one in ast.walk(tree) if _is_cached(one)}
    called = {
        name_function(call.func)
        for function in ast.walk(tree)
        if getattr(function, "name", "") in cached
        for call in ast.walk(function)
        if isinstance(call, ast.Call)
    }
    around = [
        function
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        and any(one is node for one in ast.walk(function))
    ]
    return not around or any(getattr(one, "name", "") in cached | called for one in around)


def _is_cached(node: ast.AST) -> bool:
    return any("cache" in ast.unparse(one) for one in getattr(node, "decorator_list", ()))


def list_lines(statement: ast.stmt) -> range:
    """The lines of a statement; of one with a body, the lines of its head."""
    body = getattr(statement, "body", None)
    last = body[0].lineno if body else (statement.end_lineno or statement.lineno) + 1
    return range(statement.lineno, max(last, statement.lineno + 1))


def shorten_source(statement: ast.stmt) -> str:
    return " ".join(ast.unparse(statement).split())[:200]


def _is_falsy(node: ast.expr) -> bool:
    """Whether None in its place would mean the same to almost every caller."""
    return isinstance(node, ast.Constant) and not node.value


# Trials
# ------


def try_mutants(
    mutants: list[Mutant], directory: Path, processes: int
) -> Iterator[tuple[Mutant, bool]]:
    """Tries all mutants, several at once, and tells of each whether it survived."""
    modules = sorted({mutant.module for mutant in mutants})
    wanted = dict.fromkeys(test for module in modules for test in list_nearest(module))
    mapped = copy_project(directory / "map")
    tests = map_tests(mapped, modules, [*LEFT_OUT, *wanted])
    copies: SimpleQueue[Path] = SimpleQueue()
    for number in range(processes):  # with the bytecode that was compiled there
        copies.put(Path(shutil.copytree(mapped, directory / str(number))))

    def try_one(mutant: Mutant) -> tuple[Mutant, bool]:
        copy = copies.get()
        try:
            return mutant, is_unnoticed(mutant, copy, tests)
        finally:
            copies.put(copy)

    with ThreadPoolExecutor(processes) as pool:
        yield from pool.map(try_one, mutants)


def list_nearest(module: Path) -> list[str]:
    """The tests nearest to a module: its doctests, and those that `NEAREST` names."""
    name = next(name for name in NEAREST if str(module).startswith(name))
    return [f"src/perdure/{module}", *NEAREST[name]]


def copy_project(target: Path) -> Path:
    target.mkdir()
    for name in COPIED:
        source = PROJECT / name
        if source.is_dir():
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, target / name, ignore=ignore)
        else:
            shutil.copy(source, target / name)
    return target


def is_unnoticed(mutant: Mutant, copy: Path, tests: TestMap) -> bool:
    """Whether a mutant passes the tests that execute its lines."""
    path = copy / "src" / "perdure" / mutant.module
    original, times = path.read_text("utf-8"), path.stat()
    path.write_text(mutant.source, "utf-8")
    os.utime(path, ns=(0, 0))  # so that the bytecode of the original is not taken for it
    try:
        if mutant.lines is None:
            executing = tests.find_all(mutant.module)
        else:
            executing = tests.find_tests(mutant.module, mutant.lines)
            if not executing:  # perhaps only while modules are imported
                executing = tests.find_all(mutant.module)
        # A module of constants executes nothing in any test.
        return not run_tests(executing or list_nearest(mutant.module), copy)
    finally:
        path.write_text(original, "utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def run_tests(arguments: list[str], copy: Path) -> int:
    """Runs tests until one fails; returns pytest's exit code, or 1 if they did not end."""
    listed = copy / "arguments"
    listed.write_text("\n".join(arguments), "utf-8")
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"),
        f"@{listed}",
    ]
    environment = os.environ | {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        return subprocess.run(
            command,
            cwd=copy,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=TIMEOUT,
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        return 1


if __name__ == "__main__":
    sys.exit(main())
