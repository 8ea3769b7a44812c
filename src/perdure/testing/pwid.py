"""Texts and values of `perdure.ids.pwid` for property tests."""

from __future__ import annotations

import datetime as dt
from functools import cache

from hypothesis import strategies as st

from perdure.ids.pwid import COVERAGES, Pwid, parse_pwid
from perdure.testing.spelling import any_case

_ARCHIVES = st.sampled_from(
    ("archive.org", "netarkivet.dk", "webarchive.org.uk", "~DKWA", "a%41b", "x_1-y")
)
_OPENINGS = (
    "http://",
    "https://",
    "ftp://",
    "http://a@b:8080/",
    "http://[::1]/",
    "urn:x:",
    "data:",
)
_ADDRESSES = st.tuples(
    st.sampled_from(_OPENINGS),
    st.text("abzABZ019-._~/:?#[]@!$&'()*+,;=|{}\\^`%", max_size=16),
    st.sampled_from(("", "%20", "%3F", "%3f", "%25", "?a=b:c", "#x")),
).map("".join)
_ITEMS = _ADDRESSES | st.from_regex(r"~?[A-Za-z0-9._-]{1,10}", fullmatch=True)
_COVERAGES = st.sampled_from(COVERAGES)
_SPELLED_OPENINGS = st.sampled_from(("pwid", "urn:pwid")).flatmap(any_case)
_SPELLED_ARCHIVES = _ARCHIVES.flatmap(any_case)
_OLD_COVERAGES = ("page", "part", "coll", "snapshot", "rec", "other")


@cache
@st.composite
def _time_spellings(draw: st.DrawFn) -> str:
    """A time of any precision in any spelling."""
    moment = draw(st.datetimes(dt.datetime(1990, 1, 1), dt.datetime(2040, 1, 1)))  # noqa: DTZ001
    units = draw(st.integers(1, 6))
    year, month, day = (f"{moment:%Y}", f"-{moment:%m}", f"-{moment:%d}")
    date = "".join((year, month, day)[: min(units, 3)])
    if units < 4:
        return date + draw(st.sampled_from(("", "Z")))
    mark = draw(st.sampled_from(".:"))
    minutes, seconds = draw(st.tuples(*[st.sampled_from(("", mark))] * 2))
    clock = f"{moment:%H}{minutes}{moment:%M}"
    if units > 4:
        clock += f"{seconds}{draw(st.sampled_from((f'{moment:%S}', '60')))}"
    if units > 5:
        clock += f".{draw(st.from_regex('[0-9]{1,9}', fullmatch=True))}"
    return f"{date}{draw(st.sampled_from('Tt_'))}{clock}{draw(st.sampled_from(('Z', 'z', '')))}"


@cache
@st.composite
def texts(draw: st.DrawFn) -> str:
    """Well-formed PWIDs in every dialect, and in mixtures of dialects."""
    opening = draw(_SPELLED_OPENINGS)
    old = draw(st.booleans())
    coverage = f"_{draw(st.sampled_from(_OLD_COVERAGES))}" if old else f":{draw(_COVERAGES)}"
    archive, item = draw(_SPELLED_ARCHIVES), draw(_ITEMS)
    if "://" in item and draw(st.booleans()):  # optional in draft-00
        coverage = ""
    return f"{opening}:{archive}:{draw(_time_spellings())}{draw(any_case(coverage))}:{item}"


@cache
def values() -> st.SearchStrategy[Pwid]:
    """PWIDs."""
    return texts().map(parse_pwid)
