"""Counts by series and day, as a follower of the changes."""

from __future__ import annotations

import io
from pathlib import Path

from tests.conftest import SERIES, TODAY, Clock, Desk, text
from tests.storage.registries import unpack_registry

from perdure.registry import Registry
from perdure.upkeep.changes.counts import FILE, Count, Counts
from perdure.upkeep.changes.following import catch_up
from perdure.upkeep.transfer.importing import ImportSource, import_lines


def counted(registry: Registry) -> list[tuple[str, str, int, int]]:
    follower = Counts(registry.root)
    list(catch_up(registry.records, follower))
    return [shown(one) for one in follower.list_counts()]


def shown(one: Count) -> tuple[str, str, int, int]:
    return one.day, one.series, one.names, one.changes


def test_names_and_changes_are_counted_by_series_and_day(desk: Desk) -> None:
    desk.mint(text("one"))
    desk.mint(text("two"))
    desk.bind(f"{TODAY}/1", "https://a.example/1")
    desk.clock.advance(days=1)
    desk.bind("hdl:1/1", "https://a.example/", register=True)
    assert counted(desk.registry) == [
        ("2026-11-21", SERIES, 2, 3),
        ("2026-11-22", "hdl:1", 1, 1),
    ]


def test_a_follower_goes_on_where_it_was(desk: Desk) -> None:
    desk.mint(text("one"))
    counted(desk.registry)
    desk.mint(text("two"))
    follower = Counts(desk.root)
    (step,) = catch_up(desk.registry.records, follower)
    assert (str(step.at), step.taken, step.behind) == ("1.3", 1, 0)
    assert [shown(one) for one in follower.list_counts()] == [("2026-11-21", SERIES, 2, 2)]


def test_what_it_keeps_can_be_deleted(desk: Desk) -> None:
    for number in range(5):
        desk.mint(text(f"document {number}"))
    before = counted(desk.registry)
    for spoiled in (None, b"", b"{}", b"nonsense"):
        if spoiled is None:
            (desk.root / FILE).unlink()
        else:
            (desk.root / FILE).write_bytes(spoiled)
        assert counted(desk.registry) == before


def test_the_rows_of_an_import_are_counted_for_their_own_series(desk: Desk) -> None:
    ids = ("hdl:1/1", "hdl:1/2", "hdl:2/1")
    lines = b"".join(b'{"id":"%s","locations":["https://a.example/"]}\n' % i.encode() for i in ids)
    source = ImportSource(file=io.BytesIO(lines), files=Path())
    list(import_lines(desk.registry, source))
    assert counted(desk.registry) == [
        ("2026-11-21", "hdl:1", 2, 1),
        ("2026-11-21", "hdl:2", 1, 1),
    ]


def test_counts_of_a_registry_with_another_past_are_made_anew(place: Path, clock: Clock) -> None:
    """As after it was restored: what was counted since never was."""
    desk = Desk(unpack_registry(1, place), clock)
    clock.set("2026-11-22T12:00:00")
    desk.mint(text("one"))
    before = counted(desk.registry)
    desk.mint(text("two"))
    ahead = Counts(desk.root).last_head()
    counted(desk.registry)
    kept = (desk.root / FILE).read_bytes()
    desk.registry.close()
    assert ahead is not None
    (place / "again").mkdir()
    again = Desk(unpack_registry(1, place / "again"), clock)
    again.mint(text("one"))
    (again.root / FILE).parent.mkdir()
    (again.root / FILE).write_bytes(kept)
    assert counted(again.registry) == before
    again.registry.close()
