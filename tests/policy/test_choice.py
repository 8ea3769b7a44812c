"""Which of several locations a reader is sent to: validity, health, acceptance, region, weight."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import InvalidRequest
from perdure.ids import parse
from perdure.model import stored
from perdure.model.queries import Choices, Description, Preference, Query, Redirect, Want
from perdure.model.records import Location, Record
from perdure.policy.binding import check_locations
from perdure.policy.decide import decide_step
from perdure.policy.ordering import depends_on_reader

NAME = parse("hdl:10.9999/x")


def at(name: str, **fields: object) -> Location:
    return Location(uri=f"https://{name}.example/", **fields)  # type: ignore[arg-type]


def chosen(*locations: Location, **asked: object) -> str:
    """The first label of the host that is chosen; `-` for none."""
    query = Query(identifier=NAME, **asked)  # type: ignore[arg-type]
    step = decide_step(query, Record(locations=locations))
    if isinstance(step, Description):
        return "-"
    assert isinstance(step, Redirect)
    return step.location.uri.removeprefix("https://").partition(".")[0]


def wishes(*ranges: str) -> tuple[Preference, ...]:
    return tuple(Preference(range=one, quality=1 - i / 10) for i, one in enumerate(ranges))


HTML, PDF = at("page", format="html"), at("print", format="pdf")


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        ((), "page"),
        (("application/pdf",), "print"),
        (("text/html", "application/pdf"), "page"),
        (("application/pdf", "*/*"), "print"),
        (("image/png",), "page"),
    ],
)
def test_by_format(accept: tuple[str, ...], expected: str) -> None:
    assert chosen(HTML, PDF, accept=wishes(*accept)) == expected


def test_a_format_that_fits_wins_over_one_that_nobody_said() -> None:
    assert chosen(at("some"), PDF, accept=wishes("application/pdf")) == "print"
    assert chosen(PDF, at("some"), accept=wishes("text/html")) == "some"


@pytest.mark.parametrize(
    ("languages", "expected"),
    [((), "en"), (("fr",), "fr"), (("fr-CA", "de"), "de"), (("da", "en"), "en"), (("xx",), "any")],
)
def test_by_language(languages: tuple[str, ...], expected: str) -> None:
    several = (*(at(one, language=one) for one in ("en", "de", "fr")), at("any"))
    assert chosen(*several, languages=wishes(*languages)) == expected


@pytest.mark.parametrize(
    ("region", "expected"),
    [(None, "heavy"), ("eu", "eu"), ("EU", "eu"), ("us-ny", "us"), ("jp", "heavy")],
)
def test_by_region(region: str | None, expected: str) -> None:
    several = (at("eu", region="eu"), at("us", region="US"), at("heavy", weight=2))
    assert chosen(*several, region=region) == expected


def test_by_weight() -> None:
    assert chosen(at("a"), at("b", weight=5), at("c", weight=2)) == "b"


def test_what_is_dead_comes_after_all_that_is_not() -> None:
    dead = frozenset({"https://best.example/"})
    best, other = at("best", weight=9, language="fr"), at("other", language="en")
    assert chosen(best, other, languages=wishes("fr"), dead=dead) == "other"
    assert chosen(best, dead=dead) == "best", "nothing else is left to try"


def test_nobody_is_sent_where_a_location_is_not_valid() -> None:
    spring = at("spring", valid_from="2026-03-01", valid_until="2026-05-31", weight=9)
    always = at("always")
    days = ("2026-02-28", "2026-03-01", "2026-05-31", "2026-06-01")
    assert [chosen(spring, always, day=day) for day in days] == [
        "always",
        "spring",
        "spring",
        "always",
    ]
    assert chosen(spring, day="2027-01-01") == "-"


def test_lists_have_the_same_order() -> None:
    query = Query(
        identifier=NAME,
        want=Want.LOCATIONS,
        day="2026-11-21",
        dead=frozenset({"https://a.example/"}),
    )
    step = decide_step(
        query, Record(locations=(at("a", weight=9), at("b"), at("old", valid_until="2020-01-01")))
    )
    assert isinstance(step, Choices)
    assert [one.uri for one in step.locations] == ["https://b.example/", "https://a.example/"]


_some = st.builds(
    Location,
    uri=st.sampled_from([f"https://{one}.example/" for one in "abcd"]),
    format=st.sampled_from([None, "html", "pdf"]),
    language=st.sampled_from([None, "en", "fr"]),
    region=st.sampled_from([None, "eu", "us"]),
    weight=st.integers(0, 3),
)


@given(
    st.lists(_some, min_size=1, max_size=4).map(tuple),
    st.sampled_from([(), wishes("application/pdf"), wishes("text/html", "*/*")]),
    st.sampled_from([(), wishes("fr", "en")]),
)
def test_the_choice_for_all_holds_where_it_depends_on_nobody(
    locations: tuple[Location, ...],
    accept: tuple[Preference, ...],
    languages: tuple[Preference, ...],
) -> None:
    """What the fast way of the server rests on."""
    if not depends_on_reader(locations):
        mine = chosen(*locations, accept=accept, languages=languages, region="eu")
        assert mine == chosen(*locations)


# what is kept
# ------------


@given(_some)
def test_ordinary_locations_are_still_short_lines(location: Location) -> None:
    record = Record(at="2026-11-21T12:00:00Z", locations=(location,))
    text = stored.encode_stored(record).decode()
    assert stored.decode_stored(text) == record
    ordinary = (location.language, location.region, location.weight) == (None, None, 1)
    assert text.startswith("2026") == ordinary


def test_new_fields_are_kept_and_old_records_read() -> None:
    new = at("a", size=5, valid_from="2026-01-01", valid_until="2026-12-31")
    record = Record(at="2026-11-21T12:00:00Z", locations=(new,))
    assert stored.decode_stored(stored.encode_stored(record).decode()) == record
    old = '{"at":"2026-11-21T12:00:00Z","locations":[{"uri":"https://a.example/","weight":2}]}'
    assert stored.decode_stored(old).locations == (at("a", weight=2),)


@pytest.mark.parametrize(
    "wrong",
    [
        {"valid_from": "2026-02-30"},
        {"valid_until": "20260101"},
        {"valid_until": "soon"},
        {"valid_from": "2026-02-01", "valid_until": "2026-01-31"},
        {"size": -1},
    ],
)
def test_what_cannot_be_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidRequest):
        check_locations((at("a", **wrong),))
