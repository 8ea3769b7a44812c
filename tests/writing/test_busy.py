"""A database that another program holds: nothing is stored, and the error says what to do."""

from __future__ import annotations

import pytest
from tests.conftest import Desk, text

from perdure.cli.exits import exit_code_of
from perdure.errors import StorageFailed
from perdure.errors.processes import DatabaseBusy
from perdure.server.common.problems import make_problem
from perdure.storage.ports import JournalBusy, JournalFull
from perdure.writing.ledger import Ledger


def refuse(desk: Desk, monkeypatch: pytest.MonkeyPatch, error: Exception) -> Exception:
    """Return the error of a write whose batch the database refuses."""

    def refuse_batch(_: Ledger) -> None:
        raise error

    desk.mint(text(b"one"))  # the writer is open from now on
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "write_batch", refuse_batch)
        with pytest.raises(Exception) as told:  # noqa: PT011  (the caller looks at the class)
            desk.mint(text(b"two"))
    return told.value


def test_a_busy_database_is_no_failing_disk(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    error = refuse(desk, monkeypatch, JournalBusy("database is locked"))
    assert type(error) is DatabaseBusy
    assert str(error).startswith("the write is not available now: database is locked; try again")
    assert "disk" not in str(error)
    problem = make_problem(error)
    assert (problem.status, problem.code) == (503, "database-busy")
    assert b"retry-after" in dict(problem.fields)
    assert isinstance(error, DatabaseBusy)
    assert exit_code_of(error) == 20  # that of its parent
    desk.mint(text(b"two"))  # as soon as the other program has ended


def test_a_full_disk_is_called_so(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    error = refuse(desk, monkeypatch, JournalFull("no space is left"))
    assert type(error) is StorageFailed
    assert "free disk space" in str(error)
