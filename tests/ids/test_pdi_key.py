"""Sort keys, ranges and patterns of PDIs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import testing
from perdure.errors import MalformedIdentifier
from perdure.ids import are_equivalent
from perdure.ids.pdi import Pdi, parse_pdi
from perdure.ids.pdi_key import encode_number, find_next_day_key, make_resource_key
from perdure.testing import pdi as pdis


@st.composite
def in_one_series(draw: st.DrawFn) -> list[Pdi]:
    """Resources of one series, many on the same days."""
    days = draw(st.lists(pdis.existing_days(), min_size=1, max_size=2))
    some = st.builds(
        lambda day, uid: Pdi.make(series="a.us", date=day, uid=uid),
        st.sampled_from(days),
        pdis.unique_ids(),
    )
    return draw(st.lists(some, min_size=2, max_size=6))


def when_and_which(pdi: Pdi) -> tuple[int, int, int, bool, int, str]:
    """The day, then serial numbers as numbers, then names."""
    uid = str(pdi.uid)
    is_serial = uid.isdigit() and not uid.startswith("0")
    year, month, day = (int(str(component)) for component in (pdi.year, pdi.month, pdi.day))
    return year, month, day, not is_serial, int(uid) if is_serial else 0, pdi.key


@given(in_one_series())
def test_keys_of_a_series_list_chronologically(resources: list[Pdi]) -> None:
    """Section 2.3: "lexical sorts of identifiers produce a chronological ordering of PDIs, making
    various listings (e.g., directory lists) automatically appear in a meaningful order"."""
    by_key = sorted(resources, key=lambda pdi: pdi.key)
    assert by_key == sorted(resources, key=when_and_which)
    assert [pdi.key for pdi in sorted(resources)] == [pdi.key for pdi in by_key]


@given(st.integers(0, 10**300), st.integers(0, 10**300))
def test_counted_numbers_sort_as_numbers(one: int, other: int) -> None:
    assert (encode_number(str(one)) < encode_number(str(other))) == (one < other)


def test_numbers_of_any_length_sort_as_numbers() -> None:
    digits = [first + "0" * length for length in range(8192) for first in "19"]
    digits.reverse()
    assert sorted(digits, key=encode_number) == digits[::-1]


@given(pdis.generic_resources(), pdis.generic_resources())
def test_keys_are_injective_up_to_equivalence(one: Pdi, other: Pdi) -> None:
    assert (one.key == other.key) == are_equivalent(one, other)


@given(pdis.values())
def test_a_key_gives_its_resource_back(pdi: Pdi) -> None:
    again = Pdi.from_key(pdi.key)
    assert again.key == pdi.key
    assert are_equivalent(again, pdi.resource)
    if pdi.foreign is None:
        assert again == pdi.resource
    else:
        assert again.foreign == pdi.foreign


def whose(key: str) -> Pdi | None:
    try:
        return Pdi.from_key(key)
    except MalformedIdentifier:
        return None


@given(st.text() | testing.spoil_texts(pdis.values().map(lambda pdi: pdi.key)))
def test_a_text_that_is_no_key_is_refused(text: str) -> None:
    if whose(text):
        assert Pdi.from_key(text).key == text
        return
    with pytest.raises(MalformedIdentifier) as caught:
        Pdi.from_key(text)
    assert caught.value.text == text
    assert 0 <= caught.value.at <= len(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "/", "a.us", "a.us/1", "a.us/19970901/", "a.us/19970901/1", "a.us/19970901/a0"),
        *("a.us/19970901/b1", "a.us/19970901/a15", "a.us/19970901/~15", "a.us/19970901/z"),
        *("a.us/19970901/" + "z" * 8000, "a.us/e1997", "A.us/", "a.us/19970230/a1", "a.us/z"),
        *("a.us/1997*1", "a.us/19970901/~a.text", "a.us/19970901/~%41", "a.us/199709/a1"),
        "a.us/19970901/~http:%2f%2fA%2eorg%2f",
    ],
)
def test_these_are_no_keys(text: str) -> None:
    with pytest.raises(MalformedIdentifier):
        Pdi.from_key(text)


def test_a_key_is_short() -> None:
    """Ten million of them are kept."""
    pdi = parse_pdi("pdi://oma.eop.gov.us/1997/09/01/15.text.1")
    assert pdi.key == "oma.eop.gov.us/19970901/b15"


# patterns
# --------


@st.composite
def patterns_of(draw: st.DrawFn, pdi: Pdi) -> Pdi:
    """Patterns that stand for `pdi` among others."""
    assert pdi.date is not None
    date = pdi.date.split("/")
    if draw(st.booleans()):
        shown = draw(st.integers(0, 3))
        date = ["*" if draw(st.booleans()) else component for component in date[:shown]]
        return parse_pdi(f"pdi://{pdi.series}/" + "".join(f"{component}/" for component in date))
    wild = [draw(st.booleans()) for _ in range(4)]
    day = "/".join("*" if star else component for star, component in zip(wild, date, strict=False))
    token = draw(st.sampled_from(("", ".*", ".*.*")))
    return parse_pdi(f"pdi://{pdi.series}/{day}/{'*' if wild[3] else pdi.uid}{token}")


@given(st.data())
def test_what_a_pattern_matches_is_in_its_range(data: st.DataObject) -> None:
    pdi = data.draw(pdis.texts(patterns=False).map(parse_pdi))
    pattern = data.draw(patterns_of(pdi))
    assert pattern.matches(pdi)
    low, high = pattern.key_range()
    assert low <= pdi.key < high


@given(pdis.values(), pdis.values())
def test_what_is_not_in_its_range_is_not_matched(pattern: Pdi, pdi: Pdi) -> None:
    low, high = pattern.key_range()
    if pattern.matches(pdi):
        assert low <= pdi.key < high


@given(in_one_series(), st.data())
def test_an_interval_is_a_range(resources: list[Pdi], data: st.DataObject) -> None:
    """Section 2.3: "hierarchicalization by date enables reference to ranges of identifiers issued
    within specific time intervals"."""
    components = str(data.draw(st.sampled_from(resources)).date).split("/")
    shown = components[: data.draw(st.integers(0, 3))]
    interval = parse_pdi("pdi://a.us/" + "".join(f"{component}/" for component in shown))
    low, high = interval.key_range()
    for pdi in resources:
        within = str(pdi.date).split("/")[: len(shown)] == shown
        assert interval.matches(pdi) == within == (low <= pdi.key < high)


@given(pdis.generic_resources(), pdis.generic_resources())
def test_series_do_not_interleave(one: Pdi, other: Pdi) -> None:
    low, high = parse_pdi(f"pdi://{one.series}/").key_range()
    assert low <= one.key < high
    assert (low <= other.key < high) == (one.series == other.series)


@given(pdis.values())
def test_matching_is_reflexive(pdi: Pdi) -> None:
    assert pdi.matches(pdi)
    low, high = pdi.key_range()
    assert low <= pdi.key < high


@given(st.data())
def test_matching_is_transitive(data: st.DataObject) -> None:
    pdi = data.draw(pdis.texts(patterns=False).map(parse_pdi))
    narrow, wide = data.draw(patterns_of(pdi)), data.draw(patterns_of(pdi))
    if wide.matches(narrow) and narrow.matches(pdi):
        assert wide.matches(pdi)


@given(pdis.generic_resources())
def test_the_range_of_one_identifier_holds_no_other(pdi: Pdi) -> None:
    low, high = pdi.key_range()
    assert low == pdi.key
    for other in ("!", "$", "0", "z", "~", "%2e"):
        assert not low <= pdi.key + other < high


DAYS = [
    f"{year}/{month:02d}/{day:02d}"
    for year in (1996, 1997, 1998, 1999)
    for month in range(1, 13)
    for day in (1, 2, 15, 28)
]


@pytest.mark.parametrize("month", [None, "*", "01", "02", "06", "12"])
@pytest.mark.parametrize("day", [None, "*", "01", "02", "15", "28"])
def test_a_scan_skips_to_the_next_date_that_a_pattern_can_match(
    month: str | None, day: str | None
) -> None:
    def matches(date: str) -> bool:
        _, its_month, its_day = date.split("/")
        return month in (None, "*", its_month) and day in (None, "*", its_day)

    for date in (one for one in DAYS if one < "1998/12/16"):
        found = find_next_day_key("a.us", month, day, date)
        if matches(date):
            assert found is None
            continue
        assert found is not None
        following = next(one for one in DAYS if one > date and matches(one))
        written = make_resource_key("a.us", following, None)
        assert found > make_resource_key("a.us", date, None), "it goes on"
        assert written.startswith(found), "and skips no date"
