"""Resolution policy as a table: what is asked, what there is, what is done about it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.errors import NoSuchVersion, NotAcceptable, NotFound
from perdure.ids import parse
from perdure.model.queries import (
    NO_NEIGHBOURS,
    Choices,
    Description,
    Fetch,
    Gone,
    Preference,
    Query,
    Redirect,
    Want,
)
from perdure.model.records import Location, Record, Representation, Tombstone, Value, Version
from perdure.policy.decide import decide_part, decide_step
from perdure.policy.naming import read_qualifiers
from perdure.policy.preference import language_quality, media_quality

DOCUMENT = "pdi://oma.eop.gov.us/1997/09/01/1"
GRAVE = Tombstone(reason="a court said so", at="2026-11-21T12:00:00Z", by="anna")
TYPES = {"text": "text/plain", "html": "text/html", "jpeg": "image/jpeg", "pdf": "application/pdf"}


def held(format: str, language: str | None = None) -> Representation:
    return Representation(
        format=format,
        media_type=TYPES.get(format, "application/octet-stream"),
        language=language,
        length=1,
        sha512="0" * 128,
        segment=1,
        offset=0,
    )


def version(
    number: int, *ones: str | Representation, gone: bool = False, broken: Tombstone | None = None
) -> Version:
    representations = tuple(held(one) if isinstance(one, str) else one for one in ones)
    return Version(
        number=number,
        at="1997-09-01T00:00:00Z",
        representations=representations,
        tombstone=GRAVE if gone else None,
        broken=broken,
    )


def record(*members: Version | Location, **fields: Any) -> Record:
    return Record(
        versions=tuple(one for one in members if isinstance(one, Version)),
        locations=tuple(one for one in members if isinstance(one, Location)),
        **fields,
    )


def at(host: str, version: int | None = None, format: str | None = None, **more: Any) -> Location:
    return Location(uri=f"https://{host}.example/", version=version, format=format, **more)


def host(location: Location) -> str:
    return location.uri.removeprefix("https://").partition(".")[0]


def outcome(suffix: str, what: Record | None, **query: Any) -> str:
    """What is decided, in a word: the identifier fetched, the host redirected to, …"""
    name = DOCUMENT + suffix if suffix.startswith(".") or not suffix else suffix
    try:
        step = decide_step(Query(identifier=parse(name), **query), what)
    except (NotFound, NotAcceptable) as error:
        return type(error).__name__
    match step:
        case Fetch():
            return str(step.identifier).removeprefix(DOCUMENT)
        case Redirect():
            return "-> " + host(step.location)
        case Choices():
            fetched = [str(one.identifier).removeprefix(DOCUMENT) for one in step.fetches]
            return " ".join(fetched + [host(one) for one in step.locations])
    return type(step).__name__


def check_decided(there: Record, asked: str, answer: str) -> None:
    """What is gone is so whatever is wanted of it, and can be described all the same.

    A version that never was has no description.  # ruling: part-exists
    """
    if answer == "Gone":
        for want in (Want.RESOURCES, Want.LOCATION, Want.LOCATIONS):
            assert outcome(asked, there, want=want) == "Gone"
    assert outcome(asked, there, day="2026-11-22") == answer
    for want in (Want.DESCRIPTION, Want.NAMES):
        described = answer if answer == "NoSuchVersion" else "Description"
        assert outcome(asked, there, want=want) == described


THREE = record(version(1, "text"), version(2, "text", "html"), version(3, "html"))


@pytest.mark.parametrize(
    ("asked", "answer"),
    [
        ("", ".html.3"),  # "a request … to return the highest version available" (3.6.3)
        (".html", ".html.3"),
        (".*", ".html.3"),
        (".html.*", ".html.3"),
        (".text.1", ".text.1"),
        (".html.2", ".html.2"),
        (".text.2", ".text.2"),
        (".text", ".text.2"),  # "highest version available for the PDI" (3.6.3), which says text
        (".text.3", "NotAcceptable"),
        (".html.4", "NoSuchVersion"),
        (".pdf", "NotAcceptable"),
    ],
)
def test_versions_and_formats(asked: str, answer: str) -> None:
    assert outcome(asked, THREE) == answer


def test_what_was_never_registered() -> None:
    assert outcome("", None) == "NotFound"


@pytest.mark.parametrize(
    ("kept", "asked"),
    [("basic", "au"), ("au", "basic"), ("jpeg", "jpg"), ("text", "txt"), ("html", "htm")],
)
def test_another_name_of_a_format_finds_the_same_representation(kept: str, asked: str) -> None:
    """Ruling pdi-token."""
    assert outcome(f".{asked}.1", record(version(1, kept))) == f".{kept}.1"


def test_the_very_format_that_is_named_comes_before_its_other_names() -> None:
    both = record(version(1, "basic", "au"))
    assert outcome(".au.1", both) == ".au.1"
    assert outcome(".basic.1", both) == ".basic.1"


@pytest.mark.parametrize(
    ("there", "asked", "answer"),
    [
        # bytes held here come before locations elsewhere
        (record(version(1, "text"), at("a", 1, "text")), ".text.1", ".text.1"),
        (record(version(1, "text"), at("a", 1, "html")), ".html.1", "-> a"),
        (record(version(1, "text"), at("a", 1, "html")), ".html", "-> a"),
        (record(version(1, "text"), at("a", 1, "html")), ".pdf", "NotAcceptable"),
        (record(at("a", 1, "text"), at("b", 1, "text", weight=2)), ".text.1", "-> b"),
        # the highest version may lie elsewhere
        (record(version(1, "text"), at("a", 2, "text")), "", "-> a"),
        (record(version(1, "text"), at("a", 2, "text")), ".text.1", ".text.1"),
        (record(version(1, "text"), at("a", 2, "text")), ".text.2", "-> a"),
        (record(version(1, "text"), at("a", 2, "text")), ".text.3", "NoSuchVersion"),
        (record(version(2, "text"), at("a", 1, "text")), "", ".text.2"),
        # a location without a version holds the newest
        (record(at("a")), "", "-> a"),
        (record(at("a")), ".text.1", "-> a"),
        (record(at("a")), ".html.5", "-> a"),
        (record(version(1, "text"), version(2, "text"), at("a")), ".html.1", "NotAcceptable"),
        (record(version(1, "text"), version(2, "text"), at("a")), ".html.2", "NotAcceptable"),
        (record(version(1, "text"), version(2, "text"), at("a")), ".html", "-> a"),
        # and is no answer for a version that never existed (ruling: http-errors)
        (record(version(1, "text"), version(5, "text"), at("a")), ".text.3", "NoSuchVersion"),
        (record(version(1, "text"), version(5, "text"), at("a")), ".text.6", "NoSuchVersion"),
        (record(at("a"), at("b", 1)), ".text.2", "NoSuchVersion"),
        (record(at("a", weight=2), at("b", 1)), ".text.1", "-> b"),
        # known by name only
        (record(minted="text"), "", "Description"),
        (record(minted="text"), ".text.1", "Description"),
        (record(minted="text"), ".text.2", "NoSuchVersion"),
        # reserved with a format that the first bytes do not have (ruling: pdi-reserved-name)
        (record(version(1, "html"), minted="text"), ".text.1", ".html.1"),
        (record(version(1, "html"), version(2, "html"), minted="text"), ".text", ".html.2"),
        (record(version(1, "html"), version(2, "html"), minted="text"), ".text.1", ".html.1"),
        (record(version(1, "html"), version(2, "html"), minted="text"), ".text.2", "NotAcceptable"),
        (record(version(1, "html"), version(2, "text"), minted="text"), ".text", ".text.2"),
        (record(version(1, "html"), version(2, "text"), minted="text"), ".text.1", ".html.1"),
        (record(version(1, "html"), minted="text"), ".pdf.1", "NotAcceptable"),
        (record(version(1, "text"), minted="text"), ".text.1", ".text.1"),
        (record(), "hdl:1/2", "Description"),
        (record(version(1)), ".text.1", "Description"),  # why is not known
        (record(version(1, "text"), version(2)), "", ".text.1"),
        (record(version(1, "text"), version(2)), ".text.2", "Description"),
        (record(at("a")), "hdl:1/2", "-> a"),
    ],
)
def test_bytes_here_and_locations_elsewhere(there: Record, asked: str, answer: str) -> None:
    assert outcome(asked, there) == answer


@pytest.mark.parametrize(
    ("there", "asked", "answer"),
    [
        (record(version(1, "text"), at("a"), tombstone=GRAVE), "", "Gone"),
        (record(version(1, "text"), tombstone=GRAVE), ".text.1", "Gone"),
        (record(version(1, "text"), tombstone=GRAVE), ".text.7", "Gone"),
        (record(version(1, "text", gone=True)), "", "Gone"),
        (record(version(1, "text", gone=True), at("a")), ".text.1", "Gone"),
        (record(version(1, "text", gone=True), at("a", 1)), ".text.1", "Gone"),
        (record(version(1, "text", gone=True), at("a")), "", "Gone"),
        (record(version(1, "text", gone=True)), ".pdf.1", "Gone"),
        (record(version(1, "text"), version(2, "text", gone=True)), "", ".text.1"),
        (record(version(1, "text"), version(2, "text", gone=True)), ".text.2", "Gone"),
        (record(version(1, "text", gone=True), version(2, "text")), "", ".text.2"),
        (record(version(1, gone=True)), ".text.1", "Gone"),
    ],
)
def test_what_was_withdrawn_is_answered_with_its_tombstone(
    there: Record, asked: str, answer: str
) -> None:
    check_decided(there, asked, answer)


@pytest.mark.parametrize(
    ("there", "asked", "answer"),
    [
        (record(broken=GRAVE), "", "Gone"),
        (record(broken=GRAVE), ".html.5", "Gone"),  # it may have been there
        (record(broken=GRAVE, minted="text"), ".text.1", "Gone"),
        (record(version(1, broken=GRAVE)), "", "Gone"),
        (record(version(1, broken=GRAVE)), ".text.1", "Gone"),
        (record(version(1, broken=GRAVE)), ".text.2", "NoSuchVersion"),
        (record(version(1, "text"), version(2, broken=GRAVE)), "", ".text.1"),
        (record(version(1, "text"), version(2, broken=GRAVE)), ".text.2", "Gone"),
        # bound again
        (record(at("a"), broken=GRAVE), "", "-> a"),
        (record(at("a", valid_from="2999-01-01"), broken=GRAVE), "", "Description"),
        (record(version(1, "text"), broken=GRAVE), "", ".text.1"),
        (record(version(1, broken=GRAVE), at("a", 1)), ".text.1", "-> a"),
        # a handle that leads nowhere still has values
        (record(broken=GRAVE, values=(Value(index=1, type="DESC", data="x"),)), "", "Description"),
    ],
)
def test_what_is_bound_to_nothing_any_more_is_answered_with_why(
    there: Record, asked: str, answer: str
) -> None:
    """ "existed, nothing known now … → 410 with the tombstone"  # ruling: http-errors"""
    check_decided(there, asked, answer)


MANY = record(version(1, held("text", "en"), held("html", "en"), held("pdf", "de")))


def accept(*ranges: str) -> tuple[Preference, ...]:
    parts = (one.partition(";q=") for one in ranges)
    return tuple(Preference(range, float(quality or 1)) for range, _, quality in parts)


@pytest.mark.parametrize(
    ("accepted", "languages", "answer"),
    [
        ((), (), ".text.1"),
        (("*/*",), (), ".text.1"),
        (("text/html",), (), ".html.1"),
        (("text/html", "text/plain;q=0.9"), (), ".html.1"),
        (("TEXT/HTML;level=1",), (), ".html.1"),
        (("application/*", "text/*;q=0.5"), (), ".pdf.1"),
        # "the most specific reference has precedence" (RFC 9110 section 12.5.1)
        (("text/*", "text/plain;q=0.1"), (), ".html.1"),
        (("*/*", "text/*;q=0"), (), ".pdf.1"),
        (("image/*",), (), "NotAcceptable"),
        (("text/html;q=0", "text/plain;q=0", "application/pdf;q=0"), (), "NotAcceptable"),
        ((), ("de",), ".pdf.1"),
        ((), ("en",), ".text.1"),
        ((), ("en-US", "de;q=0.5"), ".pdf.1"),
        ((), ("fr",), ".text.1"),  # better than an empty hand
        (("text/*",), ("de",), ".text.1"),
        ((), ("*;q=0.1", "de"), ".pdf.1"),
    ],
)
def test_negotiation(accepted: tuple[str, ...], languages: tuple[str, ...], answer: str) -> None:
    query = {"accept": accept(*accepted), "languages": accept(*languages)}
    assert outcome("", MANY, **query) == answer


def test_a_format_in_the_name_leaves_nothing_to_negotiate() -> None:
    assert outcome(".text.1", MANY, accept=accept("image/*")) == ".text.1"
    assert outcome(".text", MANY, accept=accept("image/*"), languages=accept("de")) == ".text.1"


def test_a_location_answers_where_nothing_here_is_acceptable() -> None:
    there = record(version(1, "text"), at("a", 1, "html"))
    assert outcome("", there, accept=accept("text/html")) == "-> a"


@pytest.mark.parametrize(
    ("want", "there", "answer"),
    [
        (Want.LOCATION, record(version(1, "text"), at("a", 1)), "-> a"),
        (Want.LOCATION, record(version(1, "text")), ".text.1"),
        (Want.LOCATION, record(minted="text"), "Description"),
        (Want.LOCATIONS, record(version(1, "text"), at("a", 1), at("b")), ".text.1 a b"),
        (
            Want.LOCATIONS,
            record(version(1, "text"), at("b", 1), at("a", 1, weight=3)),
            ".text.1 a b",
        ),
        (Want.RESOURCES, record(version(1, "text", "html"), at("a", 1)), ".text.1 .html.1 a"),
        (Want.RESOURCES, record(minted="text"), "Description"),
    ],
)
def test_the_services_of_rfc_2483(want: Want, there: Record, answer: str) -> None:
    assert outcome("", there, want=want) == answer


def test_resources_are_filtered_by_what_is_accepted() -> None:
    query = {"want": Want.RESOURCES, "accept": accept("text/*")}
    assert outcome("", MANY, **query) == ".text.1 .html.1"
    with pytest.raises(NotAcceptable) as refused:
        decide_step(
            Query(identifier=parse(DOCUMENT), want=Want.RESOURCES, accept=accept("image/png")), MANY
        )
    assert refused.value.offered == ("application/pdf", "text/html", "text/plain")


@pytest.mark.parametrize(
    ("asked", "newer"),
    [
        ("", None),
        (".text", ".html.3"),
        (".html", None),
        (".text.2", ".html.3"),
        (".text.*", ".html.3"),
    ],
)
def test_a_newer_version_without_the_format_is_named(asked: str, newer: str | None) -> None:
    """Ruling pdi-format-without-version: the answer names the newer version of other formats."""
    step = decide_step(Query(identifier=parse(DOCUMENT + asked)), THREE)
    assert isinstance(step, Fetch)
    assert step.neighbours.latest == (parse(DOCUMENT + newer) if newer else None)


def test_the_only_version_has_no_neighbours() -> None:
    step = decide_step(Query(identifier=parse(DOCUMENT)), record(version(1, "text")))
    assert isinstance(step, Fetch)
    assert step.neighbours == NO_NEIGHBOURS


def test_a_withdrawn_version_does_not_answer_for_its_format() -> None:
    there = record(version(1, "text"), version(2, "text", gone=True), version(3, "html"))
    assert outcome(".text", there) == ".text.1"


def test_a_location_of_a_version_answers_for_its_format() -> None:
    there = record(version(2, "html"), at("a", 1, "text"))
    assert outcome(".text", there) == "-> a"


def test_errors_say_what_there_is() -> None:
    with pytest.raises(NoSuchVersion) as missing:
        decide_step(
            Query(identifier=parse(DOCUMENT + ".text.9")), record(version(1, "text"), at("a", 4))
        )
    assert missing.value.versions == (1, 4)
    with pytest.raises(NotAcceptable) as refused:
        decide_step(
            Query(identifier=parse(DOCUMENT + ".pdf.1")),
            record(version(1, "text"), at("a", 1, "html")),
        )
    assert refused.value.offered == ("html", "text")


@pytest.mark.parametrize(("asked", "pinned"), [("", False), (".text", False), (".text.1", True)])
def test_only_a_named_version_pins_the_answer(asked: str, pinned: bool) -> None:
    step = decide_step(Query(identifier=parse(DOCUMENT + asked)), record(version(1, "text")))
    assert isinstance(step, Fetch)
    assert step.pinned is pinned
    assert not step.negotiated


def test_a_chosen_format_is_marked_as_negotiated() -> None:
    step = decide_step(Query(identifier=parse(DOCUMENT)), MANY)
    assert isinstance(step, Fetch)
    assert step.negotiated


# Laws
# ----

formats = st.sampled_from(["text", "html", "pdf", "jpeg"])
versions = st.builds(
    lambda number, names, gone: version(number, *names, gone=gone),
    st.integers(1, 4),
    st.lists(formats, unique=True, max_size=3),
    st.booleans(),
)
locations = st.builds(
    at,
    st.sampled_from(["a", "b"]),
    st.none() | st.integers(1, 5),
    st.none() | formats,
    weight=st.integers(0, 3),
)
records = st.builds(
    lambda versions, locations, gone: record(
        *sorted(versions, key=lambda one: one.number),
        *locations,
        tombstone=GRAVE if gone else None,
    ),
    st.lists(versions, unique_by=lambda one: one.number, max_size=4),
    st.lists(locations, max_size=3),
    st.booleans(),
)


@given(records, st.integers(1, 5), formats, st.data())
def test_an_answer_with_version_and_format_never_changes_except_to_a_tombstone(
    before: Record, number: int, format: str, data: st.DataObject
) -> None:
    """ "PDIs cannot be retracted … any machine representation (byte sequence) associated with
    formats of a versioned PDI never changes" (section 2.1): whatever a record gains."""
    name = f".{format}.{number}"
    first = outcome(name, before)
    more = data.draw(records)
    known = {one.number for one in before.versions}
    grown = msgspec.structs.replace(
        before,
        versions=tuple(
            sorted(
                (*before.versions, *(one for one in more.versions if one.number not in known)),
                key=lambda one: one.number,
            )
        ),
        locations=(*before.locations, *more.locations),
    )
    after = outcome(name, grown)
    if first in (name, "Gone"):
        assert after == first
    assert outcome(name, msgspec.structs.replace(grown, tombstone=GRAVE)) == "Gone"


@given(records, st.sampled_from(["", ".text", ".html.2", ".*.1", ".pdf.5"]), st.sampled_from(Want))
def test_nothing_that_was_withdrawn_is_fetched(there: Record, suffix: str, want: Want) -> None:
    gone = {one.number for one in there.versions if one.tombstone}
    try:
        step = decide_step(Query(identifier=parse(DOCUMENT + suffix), want=want), there)
    except (NotFound, NotAcceptable):
        return
    assert not (there.tombstone and isinstance(step, (Fetch, Redirect, Choices)))
    fetches = (step,) if isinstance(step, Fetch) else getattr(step, "fetches", ())
    for fetch in fetches:
        assert read_qualifiers(fetch.identifier)[0] not in gone
    assert isinstance(step, (Fetch, Redirect, Choices, Gone, Description))


@given(st.text(max_size=20), st.floats(0, 1), st.text(max_size=10))
def test_quality_is_a_share(range: str, quality: float, value: str) -> None:
    asked = (Preference(range, quality),)
    assert media_quality(asked, value) in (0.0, quality)
    assert language_quality(asked, value) in (0.0, quality)


# what a part is cut out of
# -------------------------


def part_of(name: str, what: Record | None) -> object:
    return decide_part(Query(identifier=parse(name)), what)


@pytest.mark.parametrize("numbers", [(1, 2), (1, 2, 3)])
@pytest.mark.parametrize("name", [f"{DOCUMENT}.text", DOCUMENT])
def test_a_part_of_several_versions_is_the_readers_choice(
    name: str, numbers: tuple[int, ...]
) -> None:
    """Ruling part-version."""
    step = part_of(name, record(*(version(one, "text") for one in numbers)))
    assert isinstance(step, Choices)
    assert step.identifier == parse(name)
    assert [str(one.identifier) for one in step.fetches] == [
        f"{DOCUMENT}.text.{number}" for number in numbers
    ]
    assert all(one.pinned for one in step.fetches)


@pytest.mark.parametrize(
    ("name", "what"),
    [
        (f"{DOCUMENT}.text.1", record(version(1, "text"), version(2, "text"))),  # named
        (f"{DOCUMENT}.text", record(version(1, "text"))),  # there is one only
        (f"{DOCUMENT}.text", record(version(1, "text"), version(2, "text", gone=True))),
        (
            f"{DOCUMENT}.text",
            record(version(1, "text", "text"), version(2, "text")),
        ),  # no name each
    ],
    ids=["named", "alone", "withdrawn", "alike"],
)
def test_a_part_of_one_version_is_cut_out_of_it(name: str, what: Record) -> None:
    step = part_of(name, what)
    assert isinstance(step, Fetch)
    assert step.representation == what.versions[0].representations[0]


def test_a_part_of_what_lies_elsewhere_or_nowhere() -> None:
    place = Location(uri="https://a.example/")
    assert isinstance(part_of(DOCUMENT, record(place)), Redirect)
    with pytest.raises(NotFound):
        part_of(DOCUMENT, None)
