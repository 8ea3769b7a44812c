"""How Hypothesis runs in all tests: without a clock, and with the same examples everywhere.

`make test` derives its examples from the tests themselves, so that the same commit gives the same
result on every machine, whichever tests run, and in whatever order. Hypothesis would also draw
constants from all local modules that are loaded by then, which depends on exactly that; so it does
not (`forget_local_constants`). `make search` loads the profile of `tools/search.py`: new examples
in each run, many more of them, constants of the code among them, and a database in `.hypothesis/`
from which a failure is repeated first.

`--shuffle SEED` runs the tests in another order: the modules, and the tests of each. No test may
need what another one left behind.

Each process of a run collects all tests, which takes it many seconds: it looks for doctests only in
files that have some, and the garbage collector does not walk over the tests that it holds.

`--rest-of PATH` leaves out the tests of a place that `make coverage` runs: those without examples
of Hypothesis, and without much to read (`growth`), because each line takes three times as long
there. So `make test` runs each test once.
"""

from __future__ import annotations

import gc
import random
import signal
from collections.abc import Generator
from itertools import groupby
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule  # pytest publishes no name for it
from hypothesis import settings
from hypothesis.internal.conjecture import providers

settings.register_profile("perdure", deadline=None, derandomize=True, database=None)
settings.load_profile("perdure")


CORPUS = Path(__file__).resolve().parent.parent / "shared" / "corpus"


def pytest_configure() -> None:
    """Let processes that tests start be interrupted, also where a shell runs them in background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)  # Hypothesis has loaded the profile of the command line by then
def pytest_sessionstart() -> None:
    if settings().derandomize:
        forget_local_constants()


def forget_local_constants() -> None:
    """Let no example depend on the modules that are loaded."""
    none = providers.Constants()
    providers._get_local_constants = lambda: none  # it has no setting


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect without the garbage collector, since everything that is collected stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(
    file_path: Path,
) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for doctests only in files that have some."""
    found = yield
    return [
        one
        for one in found
        if not isinstance(one, DoctestModule) or b">>>" in file_path.read_bytes()
    ]


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("corpus") and not CORPUS.is_dir():
        pytest.skip("the corpus is not beside the project")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shuffle", type=int, metavar="SEED", help="run the tests in another order")
    parser.addoption(
        "--rest-of",
        type=Path,
        action="append",
        default=[],
        metavar="PATH",
        help="leave out the tests in PATH that are not marked hypothesis or growth",
    )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    leave_out_measured(config, items)
    shuffle_tests(config, items)


def leave_out_measured(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests that `make coverage` runs."""
    places = [one.resolve() for one in config.getoption("--rest-of")]
    kept: list[pytest.Item] = []
    measured: list[pytest.Item] = []
    for item in items:
        is_within = any(item.path.is_relative_to(place) for place in places)
        is_slow = any(map(item.get_closest_marker, ("hypothesis", "growth")))
        (measured if is_within and not is_slow else kept).append(item)
    if measured:
        config.hook.pytest_deselected(items=measured)
        items[:] = kept


def shuffle_tests(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Put the tests in another order, if a seed was given."""
    seed = config.getoption("--shuffle")
    if seed is None:
        return
    chance = random.Random(seed)  # noqa: S311  (no secret depends on it)
    modules = [list(group) for _, group in groupby(items, key=lambda item: item.path)]
    chance.shuffle(modules)
    for module in modules:
        chance.shuffle(module)
    items[:] = [item for module in modules for item in module]
