"""Reading: listings of patterns and intervals, in order and page by page; names and same bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import SERIES, TODAY, Desk, copy_as_new, html, make_place, names, text

from perdure.errors import InvalidRequest, NotFound, NothingMatches
from perdure.ids import parse, pdi
from perdure.ids.name_set import read_set
from perdure.ids.pdi import Pdi
from perdure.model.commands import Commit, Mint, Register
from perdure.model.records import Location
from perdure.reading.listing import Listings
from perdure.registry import Registry

DAYS = (
    "1996/02/28",
    "1996/02/29",
    "1997/01/01",
    "1997/02/01",
    "1997/09/01",
    "1997/09/02",
    "1997/12/31",
    "1998/01/01",
    "1998/03/01",
    "2000/02/29",
    "2004/02/29",
    "12000/02/29",
)
UNIQUE_IDS = ("1", "2", "9", "10", "11", "100", "01", "memo", "Memo")
SHAPES: dict[str, tuple[str, ...]] = {
    "1": ("text.1",),
    "2": ("text.1", "html.1", "html.2"),
    "9": ("basic.1",),
    "10": ("html.1", "text.1", "text.10", "text.2"),
    "memo": ("text.2", "utf-8.2"),
}
"""Formats and versions by unique-id; the others were reserved as text."""


def chronological(name: Pdi) -> tuple[object, ...]:
    """Day, then serial numbers as numbers, then other unique-ids: written without the keys."""
    serial = name.uid is not None and name.uid.isdigit() and not name.uid.startswith("0")
    day = tuple(map(int, str(name.date).split("/")))
    return (day, 0, int(str(name.uid)), "") if serial else (day, 1, 0, name.uid)


@pytest.fixture(scope="module")
def everything(pristine: Path) -> Iterator[tuple[Listings, list[Pdi]]]:
    """A resolver, and all that it knows as fully qualified identifiers in chronological order."""
    with make_place() as place:
        root = copy_as_new(pristine, place / "registry")
        # names of days to come are registered in series of others only
        with Registry(root, environment={"PERDURE_SERIES": "minted.here.us"}) as registry:
            members = [
                member
                for series in (SERIES, "a.us", "z.us")
                for day in DAYS
                for uid in UNIQUE_IDS
                for member in populate(registry, f"pdi://{series}/{day}/{uid}")
            ]
            members.sort(key=lambda one: (one.series, chronological(one), one.version, one.format))
            yield registry.listings, members


def populate(registry: Registry, name: str) -> list[Pdi]:
    shape = SHAPES.get(pdi.parse_pdi(name).uid or "")
    if shape is None:
        # Minting gives today's names only: this is what came from an older system, reserved.
        reserved = pdi.parse_pdi(f"{name}.text.1")
        registry.door.execute_command(Register(identifier=reserved))
        return [reserved]
    for suffix in shape:
        member = pdi.parse_pdi(f"{name}.{suffix}")
        if suffix == "text.10":  # one of them lies elsewhere
            places = (Location(uri="https://a.example/"),)
            registry.door.execute_command(Register(identifier=member, locations=places))
        else:
            registry.door.execute_command(
                Register(identifier=member, contents=(text(name, suffix[:-2]),))
            )
    return [pdi.parse_pdi(f"{name}.{suffix}") for suffix in shape]


component = st.sampled_from
patterns = st.builds(
    lambda series, year, month, day, uid, suffix: (
        f"pdi://{series}/{year}/{month}/{day}/{uid}{suffix}"
    ),
    component((SERIES, "a.us", "b.us")),
    component(("1996", "1997", "2000", "12000", "*")),
    component(("01", "02", "09", "12", "*")),
    component(("01", "02", "28", "*")),
    component((*UNIQUE_IDS, "7", "*")),
    component(("", ".*", ".text", ".html", ".text.1", ".text.*", ".*.2", ".*.*", ".au.1", ".pdf")),
)
intervals = component(
    tuple(f"pdi://{one}/" for one in ("a.us", "b.us", SERIES, f"{SERIES}/1997", "z.us/12000"))
)
SAME_FORMAT = {"au": "basic"}


def filtered(pattern: Pdi, members: list[Pdi]) -> list[str]:
    """What a listing is defined to be: everything that matches."""
    if pattern.format is None:
        resources = dict.fromkeys(one.resource for one in members)
        return [str(one) for one in resources if pattern.matches(one)]
    asked = pattern
    if pattern.format in SAME_FORMAT:
        asked = pattern.at(format=SAME_FORMAT[pattern.format], version=pattern.version)
    return [str(one) for one in members if asked.matches(one)]


@given(patterns | intervals, st.integers(1, 30))
def test_a_listing_is_everything_that_matches_in_chronological_order(
    everything: tuple[Listings, list[Pdi]], text: str, limit: int
) -> None:
    """ "Lexical sorts of identifiers produce a chronological ordering of PDIs, making various
    listings … automatically appear in a meaningful order" (section 2.3)."""
    resolver, members = everything
    pattern = pdi.parse_pdi(text)
    listed: list[str] = []
    cursor = None
    is_resolved = any(one.series == pattern.series for one in members)
    if not filtered(pattern, members) and not (pattern.is_interval and is_resolved):
        with pytest.raises(NotFound):
            resolver.list_page(pattern, limit=limit)
        return
    while True:
        page = resolver.list_page(pattern, cursor=cursor, limit=limit)
        assert len(page.identifiers) <= limit
        listed += names(page.identifiers)
        cursor = page.cursor
        if cursor is None:
            break
    assert listed == filtered(pattern, members)


@pytest.mark.parametrize("series", [SERIES, "a.us", "z.us"])
@pytest.mark.parametrize(
    ("pattern", "days"),
    [
        ("*/02/29", ("1996/02/29", "2000/02/29", "2004/02/29", "12000/02/29")),
        ("1997/*/01", ("1997/01/01", "1997/02/01", "1997/09/01")),
        ("*/*/01", ("1997/01/01", "1997/02/01", "1997/09/01", "1998/01/01", "1998/03/01")),
        ("*/03/*", ("1998/03/01",)),
        ("*/12/31", ("1997/12/31",)),
        ("*/04/*", ()),
    ],
)
def test_wildcards_in_dates(
    everything: tuple[Listings, list[Pdi]], series: str, pattern: str, days: tuple[str, ...]
) -> None:
    """ "A date wildcard to the left of a fixed part (`1997/*/01`) is legal" (ruling
    pdi-wildcard)."""
    resolver, _ = everything
    asked = pdi.parse_pdi(f"pdi://{series}/{pattern}/1")
    if not days:
        with pytest.raises(NothingMatches):
            resolver.list_page(asked)
        return
    page = resolver.list_page(asked)
    assert names(page.identifiers) == [f"pdi://{series}/{day}/1" for day in days]


def test_the_example_of_the_issue(everything: tuple[Listings, list[Pdi]]) -> None:
    resolver, _ = everything
    page = resolver.list_page(pdi.parse_pdi(f"pdi://{SERIES}/1997/09/*/*.text.*"))
    day = f"pdi://{SERIES}/1997/09/0"
    expected = [
        f"{day}{n}/{name}"
        for n in (1, 2)
        for name in (
            "1.text.1",
            "2.text.1",
            "10.text.1",
            "10.text.2",
            "10.text.10",
            "11.text.1",
            "100.text.1",
            "01.text.1",
            "Memo.text.1",
            "memo.text.2",
        )
    ]
    assert names(page.identifiers) == expected


def test_an_interval_shows_what_is_directly_in_it(
    everything: tuple[Listings, list[Pdi]],
) -> None:
    resolver, _ = everything

    def members(name: str) -> list[str]:
        found = resolver.list_interval(pdi.parse_pdi(f"pdi://{SERIES}/{name}")).members
        return [str(one).removeprefix(f"pdi://{SERIES}/") for one in found]

    assert members("") == ["1996/", "1997/", "1998/", "2000/", "2004/", "12000/"]
    assert members("1997/") == ["1997/01/", "1997/02/", "1997/09/", "1997/12/"]
    assert members("1997/09/") == ["1997/09/01/", "1997/09/02/"]
    assert members("1999/") == []
    assert members("12000/") == ["12000/02/"]


def test_a_cursor_stays_valid_while_minting_goes_on(desk: Desk) -> None:
    for number in range(5):
        desk.mint(text(str(number)))
    interval = pdi.parse_pdi(f"{TODAY}/")
    first = desk.registry.listings.list_page(interval, limit=2)
    assert names(first.identifiers) == [f"{TODAY}/1", f"{TODAY}/2"]
    for number in range(3):
        desk.mint(text(str(number)))
    desk.register(f"pdi://{SERIES}/2026/11/20/7", locations=(Location(uri="https://a.example/"),))
    second = desk.registry.listings.list_page(interval, cursor=first.cursor, limit=3)
    assert names(second.identifiers) == [f"{TODAY}/{number}" for number in (3, 4, 5)]
    third = desk.registry.listings.list_page(interval, cursor=second.cursor, limit=3)
    assert names(third.identifiers) == [f"{TODAY}/{number}" for number in (6, 7, 8)]


def test_a_cursor_holds_for_another_process_and_after_a_restart(desk: Desk) -> None:
    for number in range(4):
        desk.mint(text(str(number)))
    first = desk.registry.listings.list_page(pdi.parse_pdi(f"{TODAY}/"), limit=3)
    desk.reopen()
    rest = desk.registry.listings.list_page(pdi.parse_pdi(f"{TODAY}/"), cursor=first.cursor)
    assert names(rest.identifiers) == [f"{TODAY}/4"]


def test_a_listing_gives_names_as_they_were_minted(desk: Desk) -> None:
    """An encapsulated URL is found by its normal form and called by its own."""
    minted = desk.mint(html("<p>"), uid="HTTP://WWW.example.org/%7Ejcma").identifier
    desk.withdraw(minted)
    [listed] = desk.registry.listings.list_page(pdi.parse_pdi(f"{TODAY}/*.html.*")).identifiers
    assert str(listed) == minted
    second = desk.mint(html("<p>"), uid="doi:10.1000/A%20b").identifier
    page = desk.registry.listings.list_page(pdi.parse_pdi(f"{TODAY}/*.html.*"), limit=1)
    assert names(page.identifiers) == [second]
    rest = desk.registry.listings.list_page(pdi.parse_pdi(f"{TODAY}/*.html.*"), cursor=page.cursor)
    assert names(rest.identifiers) == [minted]


@pytest.mark.parametrize(
    "cursor", ["garbage", f"{SERIES}/", f"{SERIES}/20261120/a1", f"{SERIES}/99991231/a1", "hdl:1/2"]
)
def test_a_cursor_that_is_none_of_the_listing_is_refused(desk: Desk, cursor: str) -> None:
    with pytest.raises(InvalidRequest, match="cursor"):
        desk.registry.listings.list_page(pdi.parse_pdi(f"{TODAY}/"), cursor=cursor)


def test_other_schemes_lie_in_no_interval(desk: Desk) -> None:
    for name in ("hdl:1/2", "ark:12345/x6", "URN:IANA:1::a:::", "urn:isbn:9780141036144"):
        desk.bind(name, "https://a.example/", register=True)
    desk.mint(text("a"))
    page = desk.registry.listings.list_page(pdi.parse_pdi(f"pdi://{SERIES}/"))
    assert names(page.identifiers) == [f"{TODAY}/1"]


def test_what_has_the_same_bytes_in_another_format_or_version(desk: Desk) -> None:
    desk.mint(text("same"), html("same"))
    desk.commit(f"{TODAY}/1", text("other"))
    desk.registry.door.execute_command(
        Commit(identifier=parse(f"{TODAY}/1"), contents=(text("same"),))
    )
    desk.registry.door.execute_command(Mint(authority=SERIES, contents=(text("other"),)))
    digest = desk.record(f"{TODAY}/1").versions[0].representations[0].sha512
    found = names(desk.registry.listings.find_same_bytes(digest))
    assert found == [f"{TODAY}/1.text.1", f"{TODAY}/1.html.1", f"{TODAY}/1.text.3"]
    assert desk.registry.listings.find_same_bytes("0" * 128) == ()


def test_series_that_are_resolved(desk: Desk) -> None:
    """ruling: series-resolved"""
    for name in ("pdi://b.gov.us/1999/01/02/1", "pdi://a-b.us/1999/01/02/http:%2f%2fx%2f"):
        desk.register(name)
    for name in ("ark:12345/x", "hdl:1839/a", "hdl:1839/b", "urn:isbn:0451450523"):
        desk.register(name)
    for day in ("01", "02"):
        desk.register(f"pdi://b.us/2001/01/{day}/7")
    listed = desk.registry.listings.list_series
    assert listed() == ("a-b.us", "b.gov.us", "b.us")
    assert listed((SERIES,)) == ("a-b.us", "b.gov.us", "b.us", SERIES)


# other schemes  # ruling: pdi-patterns-everywhere
# -------------

_NAMES = (
    "ark:99999/fk4b",
    "ark:99999/fk4c/part",
    "ark:99999/other",
    "doi:10.5072/a",
    "hdl:1839/A1",
    "hdl:1839/a2",
    "hdl:1840/b",
    f"pdi://{SERIES}/1997/09/01/1",
    "pwid:archive.example:2016-01-22T11.20.29Z:page:http://www.dr.dk",
    "URN:IANA:42117::x:::",
    "urn:isbn:1",
)


@pytest.fixture
def many(desk: Desk) -> Listings:
    for name in _NAMES:
        desk.register(name, locations=(Location(uri="https://a.example/"),))
    return desk.registry.listings


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("hdl:1839/*", ("hdl:1839/A1", "hdl:1839/a2")),
        ("hdl:1839/A1*", ("hdl:1839/A1",)),
        ("ark:99999/fk4*", ("ark:99999/fk4b", "ark:99999/fk4c/part")),
        ("urn:isbn:", ("urn:isbn:1",)),
        ("URN:IANA:42117::*", ("URN:IANA:42117::x:::",)),
        ("pwid:archive.example:2016*", (_NAMES[8],)),
        ("doi:10.5072/*", ("doi:10.5072/a",)),
    ],
)
def test_names_of_every_scheme_are_listed(
    many: Listings, text: str, found: tuple[str, ...]
) -> None:
    names_of = read_set(text)
    assert names(many.list_page(names_of).identifiers) == list(found)
    paged = [str(one) for page in many.walk_pages(names_of, limit=1) for one in page.identifiers]
    assert paged == list(found)
    many.require_known(names_of)


def test_authorities_of_every_scheme_are_listed(many: Listings) -> None:
    found, cursor = many.list_authorities()
    assert cursor is None
    assert [str(one) for one in found] == [
        "ark:99999/",
        "doi:10.5072/",
        "hdl:1839/",
        "hdl:1840/",
        f"pdi://{SERIES}/",
        "pwid:archive.example:",
        "URN:IANA:42117::",
        "urn:isbn:",
    ]
    first, cursor = many.list_authorities(limit=3)
    rest, end = many.list_authorities(cursor=cursor)
    assert (first + rest, end) == (found, None)


@pytest.mark.parametrize("text", ["hdl:1841/*", f"pdi://{SERIES}/1997/*/*/*.html.*", "hdl:1839/x"])
def test_what_matches_nothing_is_not_found(many: Listings, text: str) -> None:
    """ "A pattern that matches nothing known is not-found" (ruling pdi-patterns-everywhere)."""
    for ask in (many.list_page, many.require_known):
        with pytest.raises(NotFound):
            ask(read_set(text))


def test_an_empty_interval_of_a_series_is_an_empty_list(many: Listings) -> None:
    """ "an empty day, month or year of a series that is resolved here is an empty list" """
    for text_ in (f"pdi://{SERIES}/1999/", f"pdi://{SERIES}/1997/09/02/"):
        assert many.list_page(read_set(text_)).identifiers == ()
        many.require_known(read_set(text_))
    with pytest.raises(NothingMatches):
        many.list_page(read_set("pdi://nowhere.us/1999/"))


def test_a_limit_counts_lines_not_resources(desk: Desk) -> None:
    """One resource may have more representations than a page has lines."""
    name = desk.mint(text("a"), html("<p>a")).identifier
    desk.commit(name, text("b"), html("<p>b"))
    desk.mint(text("c"))
    asked = read_set(f"{TODAY}/*.*.*")
    pages = [names(page.identifiers) for page in desk.registry.listings.walk_pages(asked, limit=2)]
    assert pages == [
        [f"{TODAY}/1.html.1", f"{TODAY}/1.text.1"],
        [f"{TODAY}/1.html.2", f"{TODAY}/1.text.2"],
        [f"{TODAY}/2.text.1"],
    ]
