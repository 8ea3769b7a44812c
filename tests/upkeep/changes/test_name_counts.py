"""Counts of names by authority, year, month and day, as a follower of the changes."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import SERIES, Clock, Desk, text
from tests.storage.registries import unpack_registry

from perdure.ids import parse
from perdure.model.commands import Register
from perdure.model.records import Location
from perdure.registry import Registry, initialise
from perdure.upkeep.changes.name_counts import FILE, NameCounts
from perdure.upkeep.transfer.importing import ImportSource, import_lines


@pytest.fixture
def counts(desk: Desk) -> Iterator[NameCounts]:
    with closing(NameCounts(desk.root)) as found:
        yield found


def register(registry: Registry, *names: str) -> None:
    for one in names:
        place = Location(uri="https://a.example/")
        registry.door.execute_command(Register(identifier=parse(one), locations=(place,)))


def load(registry: Registry, *names: str) -> None:
    """Write many names as one change."""
    lines = [f'{{"id":"{one}","locations":["https://a.example/"]}}\n' for one in names]
    source = ImportSource(file=io.BytesIO("".join(lines).encode()), files=Path())
    list(import_lines(registry, source))


def count_all(counts: NameCounts, registry: Registry) -> dict[str, dict[str, int]]:
    """Take all changes, and return all rows."""
    list(counts.take_all(registry.records))
    found, waiting = {}, [""]
    while waiting:
        parent = waiting.pop()
        found[parent] = counts.list_members(parent)
        waiting += [f"{one}/" if not parent else one for one in found[parent]]
    return {parent: members for parent, members in found.items() if members}


def test_names_count_for_the_day_that_they_state(desk: Desk, counts: NameCounts) -> None:
    """Their changes are all of one day."""
    days = ("1997/09/01", "1997/09/01", "1997/10/01", "1998/01/01")
    names = [f"pdi://{SERIES}/{day}/{number}" for number, day in enumerate(days, 1)]
    register(desk.registry, *names, "hdl:4263537/1", "urn:isbn:9780306406157")
    assert count_all(counts, desk.registry) == {
        "": {SERIES: 4, "hdl:4263537": 1, "urn:isbn": 1},
        f"{SERIES}/": {f"{SERIES}/1997": 3, f"{SERIES}/1998": 1},
        f"{SERIES}/1997": {f"{SERIES}/199709": 2, f"{SERIES}/199710": 1},
        f"{SERIES}/1998": {f"{SERIES}/199801": 1},
        f"{SERIES}/199709": {f"{SERIES}/19970901": 2},
        f"{SERIES}/199710": {f"{SERIES}/19971001": 1},
        f"{SERIES}/199801": {f"{SERIES}/19980101": 1},
    }
    assert counts.count_authority(SERIES) == 4
    assert counts.count_authority("elsewhere.us") == 0


def test_a_further_version_and_a_withdrawal_are_no_further_names(
    desk: Desk, counts: NameCounts
) -> None:
    name = desk.mint(text("one")).identifier
    desk.commit(name, text("two"))
    desk.withdraw(name)
    assert count_all(counts, desk.registry)[""] == {SERIES: 1}


def test_one_change_may_bring_names_of_many_days(desk: Desk, counts: NameCounts) -> None:
    load(desk.registry, f"pdi://{SERIES}/1997/09/01/1", f"pdi://{SERIES}/1997/09/02/1", "hdl:1/1")
    load(desk.registry, *(f"pdi://{SERIES}/1997/09/03/{number}" for number in range(1, 5)))
    found = count_all(counts, desk.registry)
    assert found[""] == {"hdl:1": 1, SERIES: 6}
    days = {"19970901": 1, "19970902": 1, "19970903": 4}
    assert found[f"{SERIES}/199709"] == {f"{SERIES}/{day}": n for day, n in days.items()}


def test_a_few_changes_are_taken_at_once(desk: Desk, counts: NameCounts) -> None:
    assert counts.take_few(desk.registry.records) == 0
    desk.mint(text("one"))
    with closing(NameCounts(desk.root)) as other:  # as of another worker
        assert other.take_few(desk.registry.records) == 0
    assert counts.take_few(desk.registry.records) == 0
    assert counts.count_authority(SERIES) == 1


def test_what_it_keeps_can_be_deleted(desk: Desk) -> None:
    for number in range(5):
        desk.mint(text(f"document {number}"))
    with closing(NameCounts(desk.root)) as counts:
        before = count_all(counts, desk.registry)
    (desk.root / FILE).unlink()
    with closing(NameCounts(desk.root)) as counts:
        assert count_all(counts, desk.registry) == before


def test_counts_of_a_registry_with_another_past_are_made_anew(place: Path, clock: Clock) -> None:
    """As after it was restored: what was counted since never was."""
    desk = Desk(unpack_registry(1, place), clock)
    with closing(NameCounts(desk.root)) as counts:
        before = count_all(counts, desk.registry)
        desk.mint(text("two"))
        assert count_all(counts, desk.registry) != before
    kept = (desk.root / FILE).read_bytes()
    desk.registry.close()
    (place / "again").mkdir()
    again = Desk(unpack_registry(1, place / "again"), clock)
    (again.root / FILE).parent.mkdir()
    (again.root / FILE).write_bytes(kept)
    with closing(NameCounts(again.root)) as counts:
        assert count_all(counts, again.registry) == before
    again.registry.close()


_NAMES = st.builds(
    "pdi://{}.us/{}/{:02}/{:02}/{}".format,
    st.sampled_from(("a.b", "a.bc")),
    st.sampled_from((1997, 1998, 2001)),
    st.integers(1, 12),
    st.integers(1, 28),
    st.integers(1, 9),
)


@settings(max_examples=10, deadline=None)
@given(st.lists(st.lists(_NAMES, min_size=1, max_size=6), max_size=6))
def test_the_numbers_of_members_add_up(
    tmp_path_factory: pytest.TempPathFactory, batches: list[list[str]]
) -> None:
    """ "a directory list of all the documents in a year, a month, or on a day" (section 2.3): those
    of a year are those of its months, and so on."""
    root = tmp_path_factory.mktemp("law") / "registry"
    initialise(root, series=("a.b.us", "a.bc.us"))
    with Registry(root) as registry, closing(NameCounts(root)) as counts:
        for batch in batches:
            load(registry, *batch)
        found = count_all(counts, registry)
    names = {one for batch in batches for one in batch}
    assert found.get("", {}) == Counter(one.split("/")[2] for one in names)
    for parent, members in found.items():
        for member, number in members.items():
            inner = found.get(member if parent else f"{member}/")
            assert inner is None or sum(inner.values()) == number
