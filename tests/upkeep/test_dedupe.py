"""Duplicates: equal, equivalent, aliased, the same bytes, the same location."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import SERIES, TODAY, Desk, html, sha512, text

from perdure import testing
from perdure.ids import are_equivalent, parse
from perdure.model.records import Location
from perdure.upkeep.dedupe import (
    DuplicateReason,
    EmptyLookUp,
    Item,
    RegistryLookUp,
    sieve_lines,
)

DAY = f"pdi://{SERIES}/1997/09/01"


def find_duplicates(lines: Iterable[str], known: RegistryLookUp | EmptyLookUp) -> list[Item]:
    return [item for item in sieve_lines(lines, known) if item.why is not None]


def found(
    *lines: str, known: RegistryLookUp | None = None
) -> list[tuple[int, DuplicateReason, int]]:
    """Line, reason and first line of every duplicate."""
    items = find_duplicates(lines, known or EmptyLookUp())
    return [(one.line, one.why, one.first_line) for one in items if one.why and one.first_line]


def test_an_item_tells_what_it_duplicates() -> None:
    (item,) = find_duplicates([f" {DAY}/1 ", "", f"urn:{DAY}/1\n"], EmptyLookUp())
    assert item == Item(
        line=3, text=f"urn:{DAY}/1", why=DuplicateReason.EQUAL, first_line=1, first_text=f"{DAY}/1"
    )


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        (f"{DAY}/1.text.1", f"URN:PDI://{SERIES}/1997/9/1/1.TEXT.1", DuplicateReason.EQUAL),
        (f"{DAY}/1.text.1", f"{DAY}/1.text.2", None),
        (f"{DAY}/1.text.1", f"{DAY}/1", None),
        (f"{DAY}/1.text.1#char=1,2", f"{DAY}/1.text.1#1,2", DuplicateReason.EQUAL),
        (f"{DAY}/1.text.1#char=1,2", f"{DAY}/1.text.1", None),
        (f"{DAY}/http:%2f%2fA%2eb%2f", f"{DAY}/http:%2f%2fa%2eb%2f", DuplicateReason.EQUIVALENT),
        ("hdl:10.1000/ABC", "https://doi.org/10.1000/abc", DuplicateReason.EQUAL),
        ("urn:example:a?+r", "urn:example:a?=q", DuplicateReason.EQUIVALENT),
        ("urn:example:a", "urn:example:A", None),
        ("ark:/99999/fk4-x", "https://n2t.net/ark:99999/fk4x", DuplicateReason.EQUAL),
        ("URN:IANA:42117::Opaque:::", "urn:iana:42117::opaque:::", DuplicateReason.EQUAL),
        ("https://a.example/%7Ex", "HTTPS://A.example/~x", DuplicateReason.EQUIVALENT),
        ("https://a.example/x", "https://a.example/X", None),
        ("neither name nor URL", "neither name nor URL", DuplicateReason.EQUAL),
        ("größe", "größe", DuplicateReason.EQUAL),
    ],
)
def test_names_are_compared_as_their_scheme_says(
    one: str, other: str, why: DuplicateReason | None
) -> None:
    assert found(one, other) == ([(2, why, 1)] if why else [])
    assert found(other, one) == ([(2, why, 1)] if why else [])


@given(st.lists(testing.texts(), max_size=6))
def test_exactly_the_equivalent_are_duplicates(names: list[str]) -> None:
    """Equal, equivalent: what `perdure.ids.are_equivalent` says of each pair."""
    ids = [parse(name) for name in names]
    for number, item in enumerate(sieve_lines(names, EmptyLookUp())):
        before = [n for n in range(number) if are_equivalent(ids[n], ids[number])]
        assert (item.first_line, item.why is None) == (
            (before[0] + 1, False) if before else (None, True)
        )


@given(st.lists(st.sampled_from(["hdl:1/a", "hdl:1/A", "urn:x:1", "https://a/", "", "  "])))
def test_every_line_comes_out_once_and_in_order(lines: list[str]) -> None:
    items = list(sieve_lines(lines, EmptyLookUp()))
    assert [(one.line, one.text) for one in items] == [
        (number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()
    ]


# What the registry knows
# -----------------------


@pytest.fixture
def known(desk: Desk) -> RegistryLookUp:
    desk.mint(text("same"))
    desk.mint(text("same"), html("<p>other"))
    desk.mint(locations=(Location(uri="https://a.example/3"),))
    desk.bind("hdl:10.9999/x", "https://a.example/3", "https://b.example/x", register=True)
    desk.alias("hdl:10.9999/x", "urn:isbn:1")
    promise = Location(uri="https://c.example/same", sha512=sha512(b"same"))
    desk.bind("hdl:10.9999/y", promise, register=True)
    return RegistryLookUp(desk.registry.listings, desk.registry.reading)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["hdl:10.9999/x", "urn:isbn:1"], [(2, DuplicateReason.ALIASED, 1)]),
        (["urn:isbn:1", "hdl:10.9999/X"], [(2, DuplicateReason.ALIASED, 1)]),
        ([f"{TODAY}/1", f"{TODAY}/2.text.1"], [(2, DuplicateReason.SAME_BYTES, 1)]),
        ([f"{TODAY}/1", f"{TODAY}/1.text.1"], [(2, DuplicateReason.SAME_BYTES, 1)]),
        ([f"{TODAY}/1", f"{TODAY}/2.html.1"], []),
        (["hdl:10.9999/y", f"{TODAY}/1"], [(2, DuplicateReason.SAME_BYTES, 1)]),
        (["https://c.example/same", f"{TODAY}/1"], [(2, DuplicateReason.SAME_BYTES, 1)]),
        (["hdl:10.9999/x", f"{TODAY}/3"], [(2, DuplicateReason.SAME_LOCATION, 1)]),
        (["https://B.example/x", "hdl:10.9999/x"], [(2, DuplicateReason.SAME_LOCATION, 1)]),
        (["hdl:10.9999/x", "https://b.example/x"], [(2, DuplicateReason.SAME_LOCATION, 1)]),
        (
            ["urn:isbn:1", "hdl:10.9999/x", f"{TODAY}/3"],
            [(2, DuplicateReason.ALIASED, 1), (3, DuplicateReason.SAME_LOCATION, 1)],
        ),
        ([f"{TODAY}/9", "hdl:10.9999/z", f"{TODAY}/*"], []),
    ],
)
def test_what_the_registry_knows_makes_duplicates(
    known: RegistryLookUp, lines: list[str], expected: list[tuple[int, DuplicateReason, int]]
) -> None:
    assert found(*lines, known=known) == expected


def test_memory_grows_with_different_items_only() -> None:
    """A stream that repeats itself is looked at as it goes by."""

    def stream() -> Iterable[str]:
        for number in range(30_000):
            yield f"hdl:10.9999/{number % 3}"

    assert sum(one.why is not None for one in sieve_lines(stream(), EmptyLookUp())) == 29_997
