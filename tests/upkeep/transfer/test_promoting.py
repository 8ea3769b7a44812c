"""Copies that take over: no name is given twice."""

from __future__ import annotations

import shutil
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import NOON, SERIES, SHOULDER, TODAY, Clock, Desk, text

from perdure.archives.withholding import Withholding, Withholdings
from perdure.errors import CopyNotPromoted, InvalidRequest, Unavailable, UnknownAuthority
from perdure.errors.conflicts import SerialsHandedOver
from perdure.errors.importing import (
    NothingToPromote,
    PredecessorUnreadable,
    PredecessorUnrelated,
    TargetIsRegistry,
)
from perdure.errors.processes import HasWriter
from perdure.model.changes import BEGIN
from perdure.model.commands import SaveToken
from perdure.model.records import Token
from perdure.registry import initialise
from perdure.settings import load_settings
from perdure.storage import fence, handover, home
from perdure.storage.durable import WRITE_LOCK, hold_lock
from perdure.storage.handover import Handover
from perdure.storage.segments.store import Segments
from perdure.storage.sqlite.opening import FILE
from perdure.storage.sqlite.store import SqliteStore
from perdure.upkeep.changes.rows import make_public_row
from perdure.upkeep.changes.walking import check_changes
from perdure.upkeep.transfer.backup import back_up
from perdure.upkeep.transfer.predecessors import (
    LaterWrites,
    PredecessorDirectory,
    PredecessorUrl,
    _add_names,
)
from perdure.upkeep.transfer.promoting import Promotion, promote_copy
from perdure.upkeep.transfer.renewal import rebuild_registry

STORE = SqliteStore()
NOW = "2026-11-21T12:00:00Z"
DAY = "2026/11/21"


def promote(root: Path, now: str = NOW, **options: Any) -> Promotion:
    return promote_copy(root, STORE, load_settings(root, {}), now=now, **options)


def opened(root: Path, days: int = 0) -> Desk:
    return Desk(root, Clock(NOON + timedelta(days=days)))


@pytest.fixture
def copied(desk: Desk, place: Path) -> Path:
    """A copy of a registry with a document; then the registry gives out a second name."""
    desk.mint(text("one"))
    desk.registry.close()
    copy = Path(shutil.copytree(desk.root, place / "copied"))
    desk.reopen()
    desk.mint(text("two"))
    return copy


def test_a_promoted_copy_begins_an_epoch(desk: Desk, copied: Path) -> None:
    """Ruling copy-fence: "Promotion is recorded as a new epoch, names its predecessor" """
    done = promote(copied)
    assert done.signs
    copy = opened(copied)
    records = copy.registry.records
    assert done.previous is not None
    (begun,) = records.list_changes(done.previous.mark, limit=9)
    row = make_public_row(records, begun, records.list_epochs())
    assert (row["act"], row["reason"], row["epoch"], row["number"]) == (BEGIN, "promotion", 2, 1)
    second_last = desk.registry.changes()[-2]
    assert row["previous"] == {"epoch": 1, "number": 2, "chain": second_last.chain.hex()}
    assert [one.problem for one in check_changes(records) if one.problem] == []
    copy.registry.close()


def test_no_serial_number_of_the_day_is_given_out(desk: Desk, copied: Path) -> None:
    """Ruling copy-fence: it "gives out no serial of a day on which the predecessor may have given
    one, unless told the highest" """
    assert promote(copied).closed == (SERIES,)
    copy = opened(copied)
    with pytest.raises(SerialsHandedOver, match="perdure promote --highest"):
        copy.mint(text("x"))
    with pytest.raises(SerialsHandedOver):
        copy.register(f"{TODAY}/2", text("x"))
    copy.registry.close()
    with pytest.raises(NothingToPromote):
        promote(copied)
    assert promote(copied, highest={SERIES: 2}).epoch is None
    assert promote(copied, highest={SERIES: 1}).highest == {SERIES: 2}
    copy = opened(copied)
    assert copy.mint(text("x")).identifier == f"{TODAY}/3.text.1"
    copy.registry.close()


def test_the_next_day_has_numbers_and_the_closed_ones_never(copied: Path) -> None:
    """Between the last change and the promotion lie days on which numbers may have been given."""
    promote(copied, "2026-11-23T12:00:00Z")
    copy = opened(copied, days=3)
    assert copy.mint(text("x")).identifier == f"pdi://{SERIES}/2026/11/24/1.text.1"
    for day in (21, 22, 23):
        with pytest.raises(SerialsHandedOver):
            copy.register(f"pdi://{SERIES}/2026/11/{day}/2", text("x"))
    copy.register(f"pdi://{SERIES}/2026/11/20/2", text("x"))
    copy.bind(f"{TODAY}/1", "https://a.example/")  # what is known can change
    copy.registry.close()


def test_a_clock_that_is_behind_closes_the_day_of_the_copy_too(copied: Path) -> None:
    """A new machine may not know the time yet when a backup is promoted on it."""
    done = promote(copied, "2026-11-19T12:00:00Z")
    assert (done.day, done.closed) == (DAY, (SERIES,))
    for days in (-2, -1, 0):
        copy = opened(copied, days=days)
        with pytest.raises(SerialsHandedOver, match="2026/11/21"):
            copy.mint(text("x"))
        copy.registry.close()
    copy = opened(copied, days=1)
    assert copy.mint(text("x")).identifier == f"pdi://{SERIES}/2026/11/22/1.text.1"
    copy.registry.close()


def test_a_backup_carries_the_closed_days_on(copied: Path, place: Path) -> None:
    promote(copied)
    list(back_up(copied, place / "backup", STORE, Segments))
    assert handover.load_handover(place / "backup") == handover.load_handover(copied)


def test_a_dry_run_changes_nothing(copied: Path) -> None:
    assert promote(copied, dry_run=True).closed == (SERIES,)
    assert not (copied / handover.FILE).exists()
    copy = opened(copied)
    with pytest.raises(CopyNotPromoted):
        copy.mint(text("x"))
    copy.registry.close()


def test_the_registry_itself_is_not_promoted(desk: Desk, copied: Path) -> None:
    desk.registry.close()
    with pytest.raises(NothingToPromote, match="--snapshot"):
        promote(desk.root)
    assert promote(desk.root, is_snapshot=True).epoch == 2
    with pytest.raises(UnknownAuthority):
        promote(copied, highest={"other.gov.us": 1})


def test_a_writer_keeps_a_promotion_away(copied: Path) -> None:
    with (
        hold_lock(copied / WRITE_LOCK, HasWriter(used="it")),
        pytest.raises(Unavailable, match="writing"),
    ):
        promote(copied)


def test_an_interrupted_promotion_can_be_repeated(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError("no space")

    with monkeypatch.context() as patch:
        patch.setattr(home, "settle_home", fail)
        with pytest.raises(Unavailable):
            promote(copied)
    assert handover.load_handover(copied).is_closed(SERIES, DAY)
    copy = opened(copied)
    with pytest.raises(CopyNotPromoted):
        copy.mint(text("x"))
    copy.registry.close()
    assert promote(copied).epoch == 3


# The predecessor
# ---------------


def test_a_predecessor_in_reach_hands_over_every_name(desk: Desk, copied: Path) -> None:
    """Ruling copy-fence: "other kinds of names (ARK, stated ones) are looked up in the
    predecessor's changes where it can be reached" """
    desk.mint()
    desk.bind("hdl:10.9999/x", "https://a.example", register=True)
    ark = desk.mint(text("three"), authority=SHOULDER).identifier
    desk.registry.close()
    done = promote(copied, predecessor=PredecessorDirectory(desk.root, STORE))
    assert (done.is_complete, done.closed, done.reserved) == (True, (), 4)
    copy = opened(copied)
    assert copy.mint(text("x")).identifier == f"{TODAY}/4.text.1"
    assert {copy.record(one).revision for one in (ark, "hdl:10.9999/x")} == {1}
    assert copy.problems() == []
    copy.registry.close()
    before = opened(desk.root)
    with pytest.raises(CopyNotPromoted, match="took over"):
        before.mint(text("x"))
    before.registry.close()


def test_a_predecessor_with_closed_days_hands_them_over(
    desk: Desk, copied: Path, place: Path
) -> None:
    """It was rebuilt with losses, so it does not know all its names itself."""
    desk.registry.close()
    fence.raise_fence(desk.root, DAY, {}, lost=None)
    list(back_up(desk.root, place / "backup", STORE, Segments))
    assert fence.load_fence(place / "backup").day == DAY
    there = PredecessorDirectory(desk.root, STORE)
    done = promote(copied, predecessor=there)
    assert (done.is_complete, done.closed) == (True, (SERIES,))


def test_a_predecessor_that_writes_must_be_stopped(desk: Desk, copied: Path) -> None:
    with pytest.raises(Unavailable, match="stop it first"):
        promote(copied, predecessor=PredecessorDirectory(desk.root, STORE))


def test_a_predecessor_that_is_a_copy_is_not_the_last_word(
    desk: Desk, copied: Path, place: Path
) -> None:
    list(back_up(desk.root, place / "backup", STORE, Segments))
    done = promote(copied, predecessor=PredecessorDirectory(place / "backup", STORE))
    assert (done.is_complete, done.closed, done.reserved) == (False, (SERIES,), 1)


def test_another_registry_is_no_predecessor(desk: Desk, copied: Path, place: Path) -> None:
    initialise(place / "other", series=(SERIES,))
    with pytest.raises(PredecessorUnrelated):
        promote(copied, predecessor=PredecessorDirectory(place / "other", STORE))
    with pytest.raises(InvalidRequest):
        promote(copied, predecessor=PredecessorUrl("ftp://a.example"))
    with pytest.raises(PredecessorUnreadable):
        promote(copied, predecessor=PredecessorUrl("http://127.0.0.1:1"))
    desk.registry.close()
    assert home.list_signs(desk.root, desk.root / "registry.sqlite") == []


def test_a_copy_that_was_rebuilt_has_the_same_predecessor(desk: Desk, copied: Path) -> None:
    (copied / "registry.sqlite").chmod(0o600)
    list(rebuild_registry(copied, STORE, Segments, now="2026-11-25T00:00:00Z"))
    desk.registry.close()
    there = PredecessorDirectory(desk.root, STORE)
    done = promote(copied, "2026-11-25T00:00:00Z", predecessor=there)
    assert done.previous is not None
    assert done.previous.epoch == 2
    assert (done.reserved, done.epoch) == (1, 3)


def test_withdrawals_of_the_predecessor_are_not_forgotten(desk: Desk, copied: Path) -> None:
    """Ruling tombstone-silence: what was withdrawn is not served. The copy still has its bytes, so
    the operator learns of it before the copy is served."""
    desk.withdraw(f"{TODAY}/1")
    desk.mint(text("three"))
    desk.withdraw(f"{TODAY}/3")  # the copy has no bytes of it
    takedown = Withholding(uri="http://a.example/", match="host", reason="x", at="2026", by="Ada")
    Withholdings(desk.root).add(takedown)
    desk.registry.close()
    predecessor = PredecessorDirectory(desk.root, STORE)
    assert promote(copied, predecessor=predecessor, dry_run=True).withdrawn == (f"{TODAY}/1",)
    assert Withholdings(copied).list_lines() == ()
    assert promote(copied, predecessor=predecessor).withdrawn == (f"{TODAY}/1",)
    assert Withholdings(copied).list_lines() == (takedown,)


# Tokens
# ------


def save_tokens(desk: Desk, *names: str, **fields: Any) -> None:
    for name in names:
        token = Token(name=name, digest=name, operations=("mint",), authorities=("*",), **fields)
        desk.registry.door.execute_command(SaveToken(token=token))


@pytest.fixture
def credentials(desk: Desk, place: Path) -> Path:
    """A copy with two valid tokens; then one is revoked in the registry, and another one made."""
    save_tokens(desk, "lost", "press")
    save_tokens(desk, "late", expires="2026-11-20T00:00:00Z")
    save_tokens(desk, "old", revoked="2026-11-20T00:00:00Z")
    desk.registry.close()
    copy = Path(shutil.copytree(desk.root, place / "copied"))
    desk.reopen()
    save_tokens(desk, "lost", revoked="2026-11-21T10:00:00Z")
    save_tokens(desk, "new")
    desk.registry.close()
    return copy


def list_revoked(root: Path) -> dict[str, str | None]:
    with closing(STORE.open_records(root)) as records:
        assert [one.problem for one in check_changes(records) if one.problem] == []
        return {one.name: one.revoked for one in records.list_tokens()}


def test_tokens_that_may_have_been_revoked_are_named(credentials: Path) -> None:
    """A backup revives a token that was revoked after it: only an administrator can know."""
    done = promote(credentials)
    assert (done.revoked, done.tokens, done.unknown_tokens) == ((), ("lost", "press"), ())
    assert list_revoked(credentials)["lost"] is None


def test_all_tokens_can_be_revoked(credentials: Path) -> None:
    plan = promote(credentials, revoke_all=True, dry_run=True)
    assert (plan.revoked, plan.tokens) == (("lost", "press"), ())
    assert list_revoked(credentials)["press"] is None
    assert promote(credentials, revoke_all=True).revoked == ("lost", "press")
    ended = "2026-11-20T00:00:00Z"
    assert list_revoked(credentials) == {"late": None, "lost": NOW, "old": ended, "press": NOW}


def test_a_predecessor_tells_its_revocations(desk: Desk, credentials: Path) -> None:
    done = promote(credentials, predecessor=PredecessorDirectory(desk.root, STORE))
    assert (done.revoked, done.tokens, done.unknown_tokens) == (("lost",), (), ("new",))
    found = list_revoked(credentials)
    assert (found["lost"], found["press"]) == ("2026-11-21T10:00:00Z", None)
    assert "new" not in found


def test_a_predecessor_that_is_a_copy_does_not_know_all_revocations(
    desk: Desk, credentials: Path, place: Path
) -> None:
    list(back_up(desk.root, place / "backup", STORE, Segments))
    done = promote(credentials, predecessor=PredecessorDirectory(place / "backup", STORE))
    assert (done.revoked, done.tokens) == (("lost",), ("press",))


def test_damaged_tokens_of_the_predecessor_end_no_promotion(desk: Desk, credentials: Path) -> None:
    with closing(apsw.Connection(str(desk.root / FILE))) as connection:
        connection.execute("UPDATE tokens SET sum=1").fetchall()
    done = promote(credentials, predecessor=PredecessorDirectory(desk.root, STORE))
    assert (done.is_complete, done.revoked, done.tokens) == (True, (), ("lost", "press"))


def test_a_withdrawal_is_read_from_a_public_row() -> None:
    names: dict[str, Any] = {}
    withdrawn: dict[str, Any] = {}
    row = {"act": "withdraw", "name": f"{TODAY}/2", "count": 1}
    assert _add_names(names, row, withdrawn) == 0
    assert list(withdrawn) == [f"{SERIES}/20261121/a2"]


def test_rows_without_all_names_are_counted() -> None:
    names: dict[str, Any] = {}
    serials = {"act": "mint", "first": f"{TODAY}/2", "last": f"{TODAY}/11", "count": 10}
    assert _add_names(names, serials, {}) == 0
    assert sorted(names)[:2] == [f"{SERIES}/20261121/a2", f"{SERIES}/20261121/a3"]
    assert len(names) == 10
    assert f"{SERIES}/20261121/b11" in names
    loaded = {"act": "import", "first": "hdl:10.1/a", "last": "hdl:10.1/z", "count": 9}
    assert _add_names(names, loaded, {}) == 7
    assert _add_names(names, {"act": "import", "name": "a damaged key", "count": 1}, {}) == 1
    assert _add_names(names, {"leaf": "ab"}, {}) == 0
    assert len(names) == 12


def test_a_registry_without_numbers_has_a_predecessor_too(desk: Desk) -> None:
    found = PredecessorDirectory(desk.root, STORE).list_later_writes(None)
    assert found == LaterWrites(names={}, tokens={})


# Backups
# -------


def test_a_backup_is_marked_and_its_source_is_not(desk: Desk, copied: Path, place: Path) -> None:
    backup = place / "backup"
    list(back_up(desk.root, backup, STORE, Segments))
    with closing(opened(backup).registry) as copy, pytest.raises(CopyNotPromoted, match="backup"):
        copy.door.elect_leader()
    desk.mint(text("three"))
    list(back_up(desk.root, backup, STORE, Segments))
    promote(backup, highest={SERIES: 3})
    with pytest.raises(InvalidRequest, match="changes that this registry does not have"):
        list(back_up(desk.root, backup, STORE, Segments))
    list(back_up(backup, place / "second", STORE, Segments))


def test_a_backup_leaves_a_registry_in_its_home_alone(desk: Desk, copied: Path) -> None:
    """Nothing was written since, so it holds nothing that the copy lacks."""
    desk.registry.close()
    same = Path(shutil.copytree(desk.root, copied.parent / "same"))
    with pytest.raises(TargetIsRegistry):
        list(back_up(same, desk.root, STORE, Segments))
    desk.reopen()
    desk.mint(text("goes on"))


# Closed days
# -----------

_days = st.dates().map(lambda day: f"{day:%Y/%m/%d}".zfill(10))


@given(st.lists(st.tuples(_days, _days), max_size=4), _days, st.integers(0, 99))
def test_a_day_is_closed_until_it_is_told(
    stretches: list[tuple[str, str]], day: str, number: int
) -> None:
    """Ruling copy-fence: no serial "of a day on which the predecessor may have given one, unless
    told the highest" """
    found = Handover()
    for first, last in stretches:
        found = found.close_days(first, last)
    closed = any(min(pair) <= day <= max(pair) for pair in stretches)
    assert found.is_closed(SERIES, day) == closed
    told = found.tell_highest(day, {SERIES: number})
    assert told.find_floor(SERIES, day) == number
    assert told.is_closed("other.gov.us", day) == closed
    again = told.close_days(day, day)
    with pytest.raises(SerialsHandedOver):
        again.find_floor(SERIES, day)
