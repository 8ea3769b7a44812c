"""The order of locations: that of the properties, one after the other, and bounded in memory."""

from __future__ import annotations

import tracemalloc

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.policy.test_several_locations import locations, lost, wishes

from perdure.model.queries import Preference
from perdure.model.records import Location
from perdure.policy.ordering import (
    ReaderWishes,
    depends_on_reader,
    find_pattern,
    order_locations,
)
from perdure.policy.preference import language_quality, media_quality

TYPES = {"html": "text/html", "pdf": "application/pdf"}


@given(st.lists(locations, max_size=5), wishes, lost)
def test_locations_are_ordered_by_one_property_after_the_other(
    given_locations: list[Location], asked: ReaderWishes, dead: frozenset[str]
) -> None:
    """ "not known to be dead, accepted most by the reader (format and language), for the reader's
    region, with the highest weight. Otherwise they keep their order." """
    expected = list(given_locations)
    expected.sort(key=lambda one: one.weight, reverse=True)
    if asked.region is not None:
        expected.sort(key=lambda one: _compare_region(one, str(asked.region)))
    expected.sort(key=lambda one: _rate(one, asked), reverse=True)
    expected.sort(key=lambda one: one.uri in dead)
    assert order_locations(given_locations, asked, dead) == expected


def _compare_region(location: Location, region: str) -> int:
    """0 for the reader's region, 1 for a location without a region, 2 for another region."""
    if location.region is None:
        return 1
    return 0 if f"{region.lower()}-".startswith(f"{location.region.lower()}-") else 2


def _rate(location: Location, asked: ReaderWishes) -> float:
    rate = 1.0
    if asked.accept:
        kind = TYPES.get(location.format or "")
        rate = 0.001 if kind is None else media_quality(asked.accept, kind)
    if asked.languages:
        language = location.language
        rate *= max(0.001, language_quality(asked.languages, language)) if language else 0.002
    return rate


def test_the_order_depends_on_the_reader_if_a_property_differs() -> None:
    here = Location(uri="https://a.example/")
    for other, expected in (
        (Location(uri="https://b.example/", weight=2, role="mirror"), False),
        (Location(uri="https://b.example/", language="en"), True),
        (Location(uri="https://b.example/", format="html"), True),
        (Location(uri="https://b.example/", region="eu"), True),
    ):
        assert depends_on_reader((here, other)) is expected


def test_a_wish_that_makes_no_difference_is_ignored() -> None:
    places = [Location(uri=f"https://{one}.example/", weight=one) for one in (1, 3, 2)]
    asked = Preference(range="en")
    for wished in (
        ReaderWishes(),
        ReaderWishes(accept=(asked,)),
        ReaderWishes(languages=(asked,)),
        ReaderWishes(region="eu"),
    ):
        assert find_pattern(places).find_order(wished) == (1, 2, 0)


def test_many_wishes_and_locations_are_ordered_all_the_same() -> None:
    places = [Location(uri=f"https://{one}.example/", language=f"x-{one}") for one in range(20)]
    many = tuple(Preference(range=f"x-{one}", quality=1 - one / 100) for one in range(19, -1, -1))
    asked = ReaderWishes(languages=many, region="e" * 100)
    for count in (2, 20):
        assert find_pattern(places[:count]).find_order(asked) == tuple(range(count))
    near = Location(uri="https://near.example/", region="e" * 100)
    assert find_pattern([*places[:2], near]).find_order(asked)[0] == 0


@pytest.mark.growth
@pytest.mark.parametrize("count", [2, 60])
def test_hostile_wishes_fill_no_memory(count: int) -> None:
    """ "patterns and orders are remembered in a bounded number and size" """
    first, *rest = [
        Location(uri=f"https://a.example/{number}", format="html", language="en", region="eu")
        for number in range(count)
    ]
    _ask([first, *rest], range(1100))
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(1100):
        find_pattern([msgspec.structs.replace(first, region=f"r{number}"), *rest])
    between, _ = tracemalloc.get_traced_memory()
    assert between - before < 3 << 20
    _ask([first, *rest], range(1100, 2200))
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 3 << 20


def _ask(places: list[Location], numbers: range) -> None:
    pattern = find_pattern(places)
    for number in numbers:
        few = tuple(Preference(range=f"a/{number}.{each}") for each in range(2))
        pattern.find_order(ReaderWishes(few, (), str(number)))
        pattern.find_order(ReaderWishes((), (), f"{number}{'x' * 9000}"))
        if number % 11 == 0:
            many = tuple(Preference(range=f"{number}.{each}" * 9) for each in range(200))
            pattern.find_order(ReaderWishes(few, many, None))
