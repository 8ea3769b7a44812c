"""What may be written: the laws of the namespace as pure functions."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import SERIES, sha512, text

from perdure.errors import (
    Conflict,
    InvalidRequest,
    MalformedIdentifier,
    NoSuchVersion,
    PerdureError,
    UnknownAuthority,
)
from perdure.errors.contents import UnknownCharset
from perdure.ids import parse
from perdure.ids.pdi import Pdi
from perdure.model.commands import make_representation
from perdure.model.records import Location, Record, Representation, Tombstone, Version
from perdure.policy import binding, rules
from perdure.policy.versions import list_versions

DOCUMENT = parse("pdi://oma.eop.gov.us/1997/09/01/1")
NOW = "2026-11-21T12:00:00Z"


# Laws
# ----

bodies = st.sampled_from(["one", "two", "three"])
formats = st.sampled_from(["text", "html", "basic", "au"])
contents = st.builds(text, bodies, formats)
locations = st.builds(
    Location,
    uri=st.sampled_from(["https://a.example/", "https://b.example/"]),
    version=st.none() | st.integers(-1, 4),
    format=st.none() | formats,
    sha512=st.none() | bodies.map(lambda body: sha512(body.encode())),
)
tombstones = st.builds(Tombstone, reason=st.just("a reason"), at=st.just(NOW), by=st.just("anna"))


def commit(record: Record, some: list[Any], number: int | None) -> Record:
    plan = rules.plan_commit(DOCUMENT, record, tuple(some), number)
    return with_plan(record, plan)


def with_plan(record: Record, plan: rules.CommitPlan | None) -> Record:
    if plan is None or not plan.fresh:
        return record
    added = tuple(
        Representation(
            format=one.format,
            media_type=one.media_type,
            length=one.length,
            sha512=one.sha512,
            segment=1,
            offset=0,
        )
        for one in plan.fresh
    )
    return rules.with_representations(record, plan.version, added, NOW)


def break_(record: Record, uri: str, content: Any) -> Record:
    location = binding.find_location(DOCUMENT, record, uri)
    plan = binding.plan_break(DOCUMENT, record, location, content)
    return binding.break_location(with_plan(record, plan), location, "ann", NOW)


steps = st.one_of(
    st.builds(
        lambda some, number: lambda record: commit(record, some, number),
        st.lists(contents, max_size=3),
        st.none() | st.integers(-1, 4),
    ),
    st.builds(
        lambda some: lambda record: binding.bind_locations(DOCUMENT, record, tuple(some))[0],
        st.lists(locations, max_size=2),
    ),
    st.builds(
        lambda uri, content: lambda record: break_(record, uri, content),
        st.sampled_from(["https://a.example/", "https://b.example/"]),
        st.none() | contents,
    ),
    st.builds(
        lambda tombstone, number: (
            lambda record: rules.withdraw_record(DOCUMENT, record, tombstone, number)[0]
        ),
        tombstones,
        st.none() | st.integers(1, 4),
    ),
    st.builds(
        lambda other: lambda record: binding.add_aliases(DOCUMENT, record, parse(other))[0],
        st.sampled_from(["hdl:1/2", "URN:IANA:1::a:::", "urn:iana:1::A:::"]),
    ),
)


def promises(record: Record) -> set[tuple[int, str, str]]:
    return {
        (version.number, one.format, one.sha512)
        for version in record.versions
        for one in version.representations
    }


@given(st.lists(steps, max_size=12))
def test_a_record_only_grows(changes: list[Any]) -> None:
    """ "The PDI namespace is monotonic; PDIs cannot be retracted. … This requirement assures that
    any machine representation (byte sequence) associated with formats of a versioned PDI never
    changes" (section 2.1)."""
    record = Record(minted="text")
    for change in changes:
        before = record
        with suppress(PerdureError):
            record = change(before)
        assert promises(before) <= promises(record)
        assert set(list_versions(before)) <= set(list_versions(record))
        assert set(before.aliases) <= set(record.aliases)
        for version in before.versions:
            after = record.version(version.number)
            assert after is not None
            assert not version.tombstone or after.tombstone == version.tombstone
        assert not before.tombstone or record.tombstone == before.tombstone
        places = [(number, form) for number, form, _ in promises(record)]
        assert len(places) == len(set(places))
        for version in record.versions:  # `au` is `basic`: one format, one representation
            assert not {"au", "basic"} <= {one.format for one in version.representations}
            assert version.number >= 1


@given(st.lists(steps, max_size=12))
def test_what_is_promised_elsewhere_is_never_contradicted(changes: list[Any]) -> None:
    """ "A URI that is indirectly bound to a PDI MUST NOT change" (section 3.6.2)."""
    record = Record(minted="text")
    for change in changes:
        with suppress(PerdureError):
            record = change(record)
        for location in record.locations:
            version = record.version(location.version) if location.version else None
            held = (
                version.find_representation(location.format)
                if version and location.format
                else None
            )
            if location.sha512 and held:
                assert held.sha512 == location.sha512


# Series and unique-ids
# ---------------------


@pytest.mark.parametrize("country", ["us", "de", "uk", "su", "yu", "dd"])
def test_countries_of_now_and_then(country: str) -> None:
    """Ruling pdi-series: "officially assigned or formerly used"."""
    series = f"a.b.{country}"
    if country == "uk":  # reserved, never assigned: the code of that country is gb
        with pytest.raises(InvalidRequest):
            rules.check_series(series, (series,))
    else:
        rules.check_series(series, (series,))


@pytest.mark.parametrize("series", ["oma.eop.gov", "a.usa", "a.xx"])
def test_series_that_end_in_no_country(series: str) -> None:
    with pytest.raises(InvalidRequest):
        rules.check_series(series, (series,))


def test_a_series_that_nobody_owns_here() -> None:
    with pytest.raises(UnknownAuthority) as refused:
        rules.check_series("gpo.gov.us", ("oma.eop.gov.us",))
    assert refused.value.known == ("oma.eop.gov.us",)


@pytest.mark.parametrize("uid", ["1", "01", "0", "99999999999999999999"])
def test_numbers_are_handed_out_and_not_chosen(uid: str) -> None:
    with pytest.raises(InvalidRequest, match="assigned in order"):
        rules.check_unique_id(uid)


@pytest.mark.parametrize("uid", ["memo-7", "1a", "١", "http://a.example/"])
def test_names_are_chosen_freely(uid: str) -> None:
    rules.check_unique_id(uid)


# where bytes go
# --------------


def test_bytes_become_the_next_version_unless_they_are_the_last_again() -> None:
    record = commit(Record(), [text("one")], None)
    assert list_versions(record) == (1,)
    again = rules.plan_commit(DOCUMENT, record, (text("one"),), None)
    assert (again.version, again.fresh) == (1, ())
    other = rules.plan_commit(DOCUMENT, record, (text("two"),), None)
    assert (other.version, len(other.fresh)) == (2, 1)
    more = rules.plan_commit(DOCUMENT, record, (text("one"), text("h", "html")), None)
    assert (more.version, len(more.fresh)) == (2, 2)


def test_what_a_location_promised_is_the_last_version_again() -> None:
    promised = Location(uri="https://a.example/", version=1, format="text", sha512=sha512(b"one"))
    record = Record(locations=(promised,))
    assert rules.plan_commit(DOCUMENT, record, (text("one"),), None).version == 1
    assert rules.plan_commit(DOCUMENT, record, (text("two"),), None).version == 2
    assert rules.plan_commit(DOCUMENT, record, (text("one", "html"),), None).version == 2


@pytest.mark.parametrize("number", [0, -1])
def test_versions_are_counted_from_one(number: int) -> None:
    with pytest.raises(InvalidRequest):
        rules.plan_commit(DOCUMENT, Record(), (text("one"),), number)


def test_no_version_is_left_out() -> None:
    record = commit(Record(), [text("one")], None)
    assert rules.plan_commit(DOCUMENT, record, (text("two"),), 2).version == 2
    with pytest.raises(NoSuchVersion):
        rules.plan_commit(DOCUMENT, record, (text("two"),), 3)


def test_a_format_is_added_to_a_version_and_never_replaced() -> None:
    """Sections 2.1 and 2.6."""
    record = commit(Record(), [text("one")], None)
    plan = rules.plan_commit(DOCUMENT, record, (text("one"), text("h", "html")), 1)
    assert [one.format for one in plan.fresh] == ["html"]
    with pytest.raises(Conflict):
        rules.plan_commit(DOCUMENT, record, (text("two"),), 1)
    with pytest.raises(InvalidRequest):
        rules.plan_commit(DOCUMENT, record, (text("a"), text("b")), None)
    with pytest.raises(InvalidRequest):
        rules.plan_commit(DOCUMENT, record, (), None)


def test_nothing_is_added_to_what_was_withdrawn() -> None:
    grave = Tombstone(reason="a court said so", at=NOW, by="anna")
    with pytest.raises(Conflict):
        rules.plan_commit(DOCUMENT, Record(tombstone=grave), (text("one"),), None)
    record = Record(versions=(Version(number=1, at=NOW, tombstone=grave),))
    with pytest.raises(Conflict):
        rules.plan_commit(DOCUMENT, record, (text("one"),), 1)
    assert rules.plan_commit(DOCUMENT, record, (text("one"),), None).version == 2


def test_bytes_under_the_name_of_others_are_for_the_next_version() -> None:
    """Ruling http-put."""
    record = commit(Record(), [text("one")], None)
    assert rules.choose_version(record, 1, (text("one"),)) == 1
    assert rules.choose_version(record, 1, (text("h", "html"),)) == 1
    assert rules.choose_version(record, 1, (text("two"),)) is None
    assert rules.choose_version(record, None, (text("one"),)) is None


def test_a_format_that_is_named_is_one_of_those_found() -> None:
    rules.check_format_named(None, ["text"])
    rules.check_format_named("text", ["html", "text"])
    for found in (["html"], []):
        with pytest.raises(InvalidRequest):
            rules.check_format_named("text", found)


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("pdi://oma.eop.gov.us/2026/11/21/1", True),
        ("pdi://oma.eop.gov.us/2026/11/20/1", True),
        ("pdi://oma.eop.gov.us/2026/11/22/1", False),
    ],
)
def test_names_are_minted_on_their_day(name: str, good: bool) -> None:
    identifier = parse(name)
    assert isinstance(identifier, Pdi)
    if good:
        rules.check_day(identifier, "2026/11/21")
    else:
        with pytest.raises(InvalidRequest):
            rules.check_day(identifier, "2026/11/21")


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("pdi://oma.eop.gov.us/2026/11/21/7", True),
        ("pdi://oma.eop.gov.us/2026/11/21/8", False),
        ("pdi://oma.eop.gov.us/2026/11/20/8", True),
        ("pdi://oma.eop.gov.us/2026/11/21/report", True),
    ],
)
def test_numbers_of_today_are_not_run_ahead_of(name: str, good: bool) -> None:
    identifier = parse(name)
    assert isinstance(identifier, Pdi)
    if good:
        rules.check_serial(identifier, "2026/11/21", 7)
    else:
        with pytest.raises(InvalidRequest):
            rules.check_serial(identifier, "2026/11/21", 7)


def test_what_is_held_is_found_under_every_name_of_its_format() -> None:
    one, other = (make_representation(text("one", format)) for format in ("text", "basic"))
    version = Version(number=1, at="2026-11-21T12:00:00Z", representations=(one, other))
    assert rules.find_held(version, "basic") == other
    assert rules.find_held(version, "text") == one
    assert rules.find_held(version, "au") == other
    assert rules.find_held(version, "pdf") is None
    assert rules.find_held(None, "text") is None


def test_a_past_day_is_one_day_before_today() -> None:
    """Ruling pdi-retrospective: "under a past day of its series"."""
    today = "2026/11/21"
    assert rules.check_past_day("oma.eop.gov.us", "1997/9/1", today) == "1997/09/01"
    assert rules.check_past_day("oma.eop.gov.us", "2026/11/20", today) == "2026/11/20"
    for other in ("2026/11/21", "2026/12/01", "1997", "1997/09", "1997/*/01", "10000/01/01"):
        with pytest.raises(InvalidRequest):
            rules.check_past_day("oma.eop.gov.us", other, today)
    for other in ("1997/02/30", "", "yesterday"):
        with pytest.raises((MalformedIdentifier, InvalidRequest)):
            rules.check_past_day("oma.eop.gov.us", other, today)


@pytest.mark.parametrize(("charset", "is_known"), [("utf-8", True), ("klingon", False)])
def test_a_charset_is_one_that_is_registered(charset: str, is_known: bool) -> None:
    """The registry is that of IANA, "Character Sets"."""
    name = parse(f"pdi://{SERIES}/2026/11/21/1")
    content = msgspec.structs.replace(text(b"x"), charset=charset)
    if is_known:
        assert rules.check_new_contents(name, (content,)) == (content,)
    else:
        with pytest.raises(UnknownCharset):
            rules.check_new_contents(name, (content,))
