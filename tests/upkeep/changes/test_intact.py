"""Changes that a scan found intact: the check of changes then says the same as without the scan."""

from __future__ import annotations

import threading
from contextlib import closing
from pathlib import Path

import pytest
from tests.conftest import SERIES, TODAY, Desk, text
from tests.upkeep.changes.test_walking import forge_sums, unlocked

from perdure.model.changes import Change, Line
from perdure.model.commands import Mint
from perdure.registry import Registry
from perdure.upkeep.changes.intact import IntactChanges
from perdure.upkeep.changes.walking import check_changes
from perdure.upkeep.full_audit import audit_registry
from perdure.writing.door import Turn

COUNT = 1500
"""Names of one change, more than a page of the scan."""


@pytest.fixture
def many(desk: Desk) -> Desk:
    """A document, a run of names, another run, and a name that was bound; closed."""
    desk.mint(text("x"))
    committer = desk.registry.door.committer
    assert committer is not None
    done = threading.Semaphore(0)
    for count in (COUNT, 40):
        turn: Turn = [(Mint(authority=SERIES), lambda _: None)] * count
        committer.enqueue_turn(turn, lambda _: done.release())
        done.acquire()
    desk.mint()
    desk.bind(f"{TODAY}/{COUNT + 42}", "https://a.example/", register=False)
    desk.registry.close()
    return desk


def check(root: Path, *, scans: bool) -> tuple[list[str], IntactChanges]:
    """The problems of the changes, and what the scan found intact."""
    with Registry(root, environment={}) as registry:
        intact = IntactChanges(registry.records)
        if scans:
            assert list(audit_registry(registry, intact=intact))
        checked = list(check_changes(registry.records, intact=intact))
    return [f"{one.mark}: {one.problem}" for one in checked if one.problem], intact


def test_runs_are_found_intact_and_not_read_again(
    many: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    problems, intact = check(many.root, scans=True)
    assert problems == []
    with Registry(many.root, environment={}) as registry:
        changes = registry.changes()
        assert sum(one.count for one in changes if one.count > 1) == COUNT + 40
        read: list[Change] = []
        find_lines = registry.records.find_lines

        def find_noted(change: Change) -> list[Line]:
            read.append(change)
            return find_lines(change)

        monkeypatch.setattr(registry.records, "find_lines", find_noted)
        assert all(one.problem is None for one in check_changes(registry.records, intact=intact))
    assert read == [one for one in changes if one.count < 32]


@pytest.mark.parametrize("is_forged", [False, True])
@pytest.mark.parametrize(
    "done",
    [
        "UPDATE records SET record=replace(record, '2026', '2025') WHERE key LIKE '%/c700'",
        "UPDATE records SET record=replace(record, '2026', '2025') WHERE key LIKE '%/d1501'",
        "UPDATE records SET position=position+1 WHERE key LIKE '%/c700'",
        "UPDATE records SET position=NULL WHERE key LIKE '%/c700'",
        "DELETE FROM records WHERE key LIKE '%/c700'",
        "DELETE FROM records WHERE key LIKE '%/d1501'",
        """
        INSERT INTO records(key, record, position, sum)
          SELECT key || 'x', record, position, sum FROM records WHERE key LIKE '%/c700'
        """,
        """
        INSERT INTO history(key, revision, record, position, sum)
          SELECT key, 1, record, position, sum FROM records WHERE key LIKE '%/c700'
        """,
        "UPDATE changes SET row=substr(row, 1, length(row) - 1) || x'00' WHERE position=3",
        "DELETE FROM changes WHERE position=3",
    ],
)
def test_what_was_altered_is_found_with_the_scan_as_without(
    many: Desk, done: str, *, is_forged: bool
) -> None:
    """Also if all checksums were made right: digest, count and place of each record are held."""
    with closing(unlocked(many.root)) as connection:
        before = connection.total_changes()
        connection.execute(done).fetchall()
        assert connection.total_changes() > before
        if is_forged:
            forge_sums(connection)
    alone, _ = check(many.root, scans=False)
    together, _ = check(many.root, scans=True)
    surplus = "None: 1544 revisions stored, but changes wrote 1543"  # one in the history only
    assert alone
    assert together in (alone, [surplus])
