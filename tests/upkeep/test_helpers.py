"""Helper processes do the same as one process, and whatever happens to them is told."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager, nullcontext
from functools import partial
from pathlib import Path

import apsw
import pytest
from tests.conftest import TODAY, Desk, html, text

from perdure.errors import Unavailable
from perdure.errors.lookup import NotFound
from perdure.model.changes import ChangeMark
from perdure.model.queries import IntegrityFinding
from perdure.registry import Registry
from perdure.storage.sqlite.opening import FILE
from perdure.upkeep.changes.intact import IntactChanges
from perdure.upkeep.full_audit import AuditWork, RangeResult, audit_registry, open_work
from perdure.upkeep.helpers import Call, RunHere, fork_helpers
from perdure.upkeep.transfer.importing import ImportSource, import_lines

pytestmark = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


class Work:
    """Things that a helper may be asked for."""

    known = 0

    def count_up(self, count: int) -> Iterator[int]:
        yield from range(count)

    def learn(self, number: int) -> Iterator[None]:
        self.known = number
        yield from ()

    def tell(self) -> Iterator[tuple[int, int]]:
        yield self.known, os.getpid()

    def fail(self) -> Iterator[int]:
        yield 1
        raise NotFound(identifier="hdl:10.9999/x")

    def die(self) -> Iterator[int]:
        yield 1
        os.kill(os.getpid(), signal.SIGKILL)


@contextmanager
def make_work() -> Iterator[Work]:
    yield Work()


def test_each_call_is_carried_out_once() -> None:
    calls = [Call("count_up", (count,)) for count in (3, 0, 5000, 2, 1)]
    expected = [(index, one) for index, (_, (count,)) in enumerate(calls) for one in range(count)]
    assert list(RunHere(Work()).run_calls(calls)) == expected
    with fork_helpers(2, make_work) as helpers:
        assert sorted(helpers.run_calls(calls)) == expected
        helpers.tell_all(Call("learn", (7,)))
        told = dict(item for _, item in helpers.run_calls([Call("tell")] * 2))
        assert list(told) == [7]
        assert os.getpid() not in told.values()


def test_an_error_is_raised_here_and_a_dead_helper_is_told() -> None:
    with fork_helpers(2, make_work) as helpers:
        with pytest.raises(NotFound, match=r"10\.9999/x"):
            list(helpers.run_calls([Call("fail")]))
        with pytest.raises(Unavailable, match="stopped"):
            list(helpers.run_calls([Call("die")]))


# The full audit
# --------------


@pytest.fixture
def mixed(desk: Desk) -> Desk:
    """Documents in two segments, and more than four pages of locations; closed."""
    for number in range(1, 40):
        desk.mint(text(f"document {number}"), html(f"<p>{number}"))
    desk.registry.seal()
    desk.mint(text("last"))
    lines = b"".join(
        b'{"id": "pdi://nara.gov.us/1997/09/01/%d", "locations": ["https://a.example/%d"]}\n'
        % (number, number)
        for number in range(1, 4500)
    )
    source = ImportSource(io.BytesIO(lines), desk.root.parent)
    list(import_lines(desk.registry, source))
    return desk


def audit(root: Path, count: int) -> tuple[list[IntegrityFinding], set[ChangeMark]]:
    """The findings, and the changes found intact, with so many helpers."""
    sharing = fork_helpers(count, partial(open_work, root)) if count else nullcontext()
    with sharing as helpers, Registry(root, environment={}) as registry:
        intact = IntactChanges(registry.records)
        found = list(audit_registry(registry, intact=intact, helpers=helpers))
    return sorted(found, key=str), intact.marks


@pytest.mark.parametrize("has_history", [False, True])
@pytest.mark.parametrize(
    ("done", "problems"),
    [
        ("SELECT 1", 0),
        ("UPDATE records SET record=replace(record, '2026', '2025') WHERE key LIKE '%/d2249'", 1),
        ("UPDATE records SET record=CAST(record AS BLOB) WHERE key LIKE '%/d2251'", 1),
        ("UPDATE records SET key='zz' || key WHERE key LIKE '%/d2250'", 1),
        ("UPDATE records SET sum=sum+1 WHERE key LIKE '%/a7'", 3),
        ("DELETE FROM records WHERE key LIKE '%/a7'", 2),
        ("UPDATE refers SET hash=hash+1 WHERE key LIKE '%/d2250'", 1),
        ("UPDATE refers SET key=CAST(key AS BLOB) WHERE key LIKE '%/d2250'", 1),
        ("DELETE FROM refers WHERE key LIKE '%/d2%9'", 1),
    ],
)
def test_helpers_find_what_one_process_finds(
    mixed: Desk, done: str, problems: int, *, has_history: bool
) -> None:
    """Also at the borders of their ranges. A registry without history has its references summed
    up, one with history has each looked up."""
    if has_history:
        mixed.withdraw(f"{TODAY}/3")
    mixed.registry.close()
    with closing(apsw.Connection(str(mixed.root / FILE))) as connection:
        for name in connection.execute(
            "SELECT name FROM sqlite_master WHERE type='trigger'"
        ).fetchall():
            connection.execute(f"DROP TRIGGER {name[0]}")
        connection.execute(done).fetchall()
    alone, intact = audit(mixed.root, 0)
    bad = [one for one in alone if one.problem]
    assert len(bad) == problems or (problems and len(bad) >= problems)
    assert len(alone) - len(bad) >= 79 - problems
    for count in (1, 3):
        shared, marks = audit(mixed.root, count)
        assert shared == alone
        assert marks <= intact, "a change on both sides of a border is read again"


def test_ranges_are_disjoint_and_leave_nothing_out(mixed: Desk) -> None:
    records = mixed.registry.records
    whole = sum_range(mixed.registry, "", None)
    for count in (1, 2, 5):
        keys = records.divide_keys(count)
        assert len(keys) == count
        parts = [
            sum_range(mixed.registry, *ends)
            for ends in zip(["", *keys], [*keys, None], strict=True)
        ]
        assert (sum(one for one, _ in parts), sum(one for _, one in parts)) == whole
    assert whole == records.sum_references()


def test_ranges_end_where_a_change_ends(desk: Desk) -> None:
    """If that is near: then the records of the change are in one range, and are read once."""
    for day, count in ((1, 90), (2, 50), (3, 80), (4, 60)):
        names = [f"pdi://oma.eop.gov.us/1997/09/0{day}/{number}" for number in range(1, count + 1)]
        lines = "".join(f'{{"id":"{name}","locations":["https://a.example/"]}}\n' for name in names)
        source = ImportSource(io.BytesIO(lines.encode()), desk.root.parent)
        list(import_lines(desk.registry, source))
    keys = desk.registry.records.divide_keys(3)
    days = "oma.eop.gov.us/1997090"
    assert keys == [f"{days}2/a1", f"{days}3/b21", f"{days}4/b11"]


def sum_range(registry: Registry, low: str, high: str | None) -> tuple[int, int]:
    """The number of references of a range, and their sum."""
    *_, seen = AuditWork(registry, is_alone=True).check_range(low, high, False)
    assert isinstance(seen, RangeResult)
    return seen.count, seen.total
