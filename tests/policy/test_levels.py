"""Descriptions of a resource, of one version, one format or one part."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from perdure.errors import NoSuchVersion, NotAcceptable
from perdure.errors.naming import PatternNotAllowed, VersionNotSaid
from perdure.ids import parse
from perdure.model.about import About, Agent, Attachment, DescriptionDate, DescriptionText
from perdure.model.merging import lay_over
from perdure.model.records import (
    WHOLE_RESOURCE,
    Correction,
    Level,
    Location,
    LocationDrift,
    NarrowDescription,
    Reading,
    Record,
    Representation,
    Tombstone,
    Version,
)
from perdure.model.stored import decode_stored, encode_stored
from perdure.policy import levels
from perdure.policy.levels import is_resource_described
from perdure.policy.showing import show_to_readers

NAME = parse("pdi://oma.eop.gov.us/2026/11/21/1")
AT = "2026-11-21T00:00:00Z"


def make_version(number: int, *formats: str) -> Version:
    held = tuple(
        Representation(
            format=one, media_type="text/plain", length=1, sha512="a" * 128, segment=1, offset=0
        )
        for one in formats
    )
    return Version(number=number, at=AT, representations=held)


RECORD = Record(at=AT, versions=(make_version(1, "html", "text"), make_version(2, "text")))
LEVELS = [
    Level(version=version, format=format, part=part)
    for version, format, part in product((None, 1, 2), (None, "html", "text"), ("", "char=0,1"))
]
levels_ = st.sampled_from(LEVELS)
abouts = st.builds(
    About,
    titles=st.sampled_from([(), (DescriptionText(value="A"),), (DescriptionText(value="B"),)]),
    creators=st.sampled_from([(), (Agent(name="Doe, Jane"),)]),
    year=st.sampled_from(["", "1958", "1999"]),
    language=st.sampled_from(["", "en", "de"]),
)


def describe(record: Record, *said: tuple[Level, About]) -> Record:
    for level, about in said:
        record, _ = levels.describe_record(record, level, about, None)
    return record


@given(st.lists(st.tuples(levels_, abouts), max_size=6), levels_, abouts, levels_)
def test_a_description_stays_at_its_level(
    before: list[tuple[Level, About]], level: Level, about: About, other: Level
) -> None:
    """ "Metadata are said of a resource, of one version, of one format or of a part, and stay
    there" (ruling version-metadata)."""
    record = describe(RECORD, *before)
    changed = describe(record, (level, about))
    assert (levels.find_own(changed, level).about or About()) == about
    if other != level:
        assert levels.find_own(changed, other) == levels.find_own(record, other)
    contains = all(
        mine in (None, "", theirs)
        for mine, theirs in zip(
            (level.version, level.format, level.part),
            (other.version, other.format, other.part),
            strict=True,
        )
    )
    if not contains:  # nobody else's reader sees it
        assert levels.describe_level(changed, other) == levels.describe_level(record, other)
    assert decode_stored(encode_stored(changed).decode()) == changed


@given(st.lists(st.tuples(levels_, abouts), max_size=6), levels_, abouts)
def test_a_reader_sees_the_narrowest_first(
    before: list[tuple[Level, About]], level: Level, about: About
) -> None:
    """ "a reader of a version sees its own before the resource's"."""
    seen = levels.describe_level(describe(RECORD, *before, (level, about)), level)
    for member in ("titles", "creators", "year", "language"):
        own = getattr(about, member)
        assert not own or getattr(seen, member) == own


@given(abouts, abouts, abouts)
def test_laying_over_is_associative_and_empty_descriptions_change_nothing(
    one: About, two: About, three: About
) -> None:
    assert lay_over(lay_over(one, two), three) == lay_over(one, lay_over(two, three))
    assert lay_over(one, About()) == lay_over(About(), one) == one


def test_entries_of_other_kinds_stay() -> None:
    """A correction has its own date of issue and a note; the rest is that of the resource."""
    wide = About(
        year="1958",
        dates=(
            DescriptionDate(value="1957", kind="Created"),
            DescriptionDate(value="1958", kind="Issued"),
        ),
        descriptions=(DescriptionText(value="On genes", kind="Abstract"),),
    )
    narrow = About(
        dates=(DescriptionDate(value="1999-05-01", kind="Issued"),),
        descriptions=(DescriptionText(value="A table was corrected", kind="Other"),),
    )
    seen = lay_over(wide, narrow)
    assert seen.year == ""  # that of the date of issue, which is another one now
    assert [one.value for one in seen.dates] == ["1999-05-01", "1957"]
    assert [one.kind for one in seen.descriptions] == ["Other", "Abstract"]


@pytest.mark.parametrize(
    ("ending", "level"),
    [
        ("", WHOLE_RESOURCE),
        (".*.*", WHOLE_RESOURCE),
        (".*.2", Level(version=2)),
        (".html", Level(format="html")),
        (".html.*", Level(format="html")),
        (".html.1", Level(version=1, format="html")),
        (".html.1#char=37,051", Level(version=1, format="html", part="char=37,51")),
    ],
)
def test_names_name_levels(ending: str, level: Level) -> None:
    resource, found = levels.read_described(parse(f"{NAME}{ending}"))
    assert (resource.resource, found) == (NAME, level)
    name = levels.spell_level(NAME, level)
    assert levels.read_described(parse(name))[1] == level


@pytest.mark.parametrize("name", ["*", "*.text.1", ""])
def test_sets_of_resources_are_not_described(name: str) -> None:
    with pytest.raises(PatternNotAllowed):
        levels.read_described(parse(f"pdi://oma.eop.gov.us/2026/11/21/{name}"))


def test_only_versions_and_formats_that_exist_are_described() -> None:
    for level in (Level(version=1), Level(format="html"), Level(version=2, format="text")):
        assert levels.settle_level(NAME, RECORD, level) == level
    with pytest.raises(NoSuchVersion):
        levels.settle_level(NAME, RECORD, Level(version=3))
    for level in (Level(version=2, format="html"), Level(format="pdf")):
        with pytest.raises(NotAcceptable):
            levels.settle_level(NAME, RECORD, level)
    elsewhere = Record(locations=(Location(uri="https://a.example/", version=4),))
    level = Level(version=4, format="pdf")
    assert levels.settle_level(NAME, elsewhere, level) == level


_AWAY = Tombstone(reason="moved", at=AT, by="local")
_DRIFT = LocationDrift(uri="https://a.example/", at=AT)


@pytest.mark.parametrize(
    "record",
    [
        replace(RECORD, locations=(Location(uri="https://a.example/"),)),
        replace(RECORD, drifted=(_DRIFT,)),
        replace(RECORD, broken=_AWAY),
        replace(RECORD, versions=(*RECORD.versions, Version(number=3, at=AT, tombstone=_AWAY))),
    ],
    ids=["location", "drifted", "broken", "withdrawn version"],
)
def test_an_export_describes_formats_that_its_line_no_longer_lists(record: Record) -> None:
    """ "Every export can be imported again" (`require_level`)."""
    levels.require_level(NAME, record, Level(format="pdf"))


def test_an_import_describes_no_format_that_the_record_never_had() -> None:
    with pytest.raises(NotAcceptable):
        levels.require_level(NAME, RECORD, Level(format="pdf"))
    withdrawn = replace(RECORD, versions=(*RECORD.versions, Version(number=3, at=AT)))
    with pytest.raises(NotAcceptable):
        levels.require_level(NAME, withdrawn, Level(version=2, format="pdf"))
    with pytest.raises(NoSuchVersion):
        levels.require_level(NAME, withdrawn, Level(version=4, format="pdf"))


def test_plain_pairs_describe_the_whole_resource_and_no_level_of_it() -> None:
    record = replace(RECORD, metadata={"title": "A"})
    titled = About(titles=(DescriptionText(value="A"),))
    assert levels.describe_own(record, WHOLE_RESOURCE) == titled
    assert levels.describe_own(record, Level(version=2)) == About()
    described = describe(record, (WHOLE_RESOURCE, About(year="1999")))
    assert levels.describe_own(described, WHOLE_RESOURCE) == About(year="1999")


def test_a_part_has_a_version() -> None:
    """Ruling part-version: "the only version where there is one"."""
    part = Level(part="char=0,1")
    with pytest.raises(VersionNotSaid, match=r"1\.text\.2"):
        levels.settle_level(NAME, RECORD, part)
    only = replace(RECORD, versions=RECORD.versions[1:])
    settled = Level(version=2, format="text", part="char=0,1")
    assert levels.settle_level(NAME, only, part) == settled
    handle = parse("hdl:1839/1")
    assert levels.settle_level(handle, RECORD, part) == part  # handles cannot name versions


def test_the_narrowest_attached_record_is_seen() -> None:
    wide, narrow = (
        Attachment(format="cmdi", media_type="application/x-cmdi+xml", content=one)
        for one in (b"<a/>", b"<b/>")
    )
    record = replace(RECORD, attached=(wide,))
    record, _ = levels.describe_record(record, Level(version=2), None, (narrow,))
    assert levels.list_attached(record, Level(version=2, format="text")) == (narrow,)
    assert levels.list_attached(record, Level(version=1, format="text")) == (wide,)


def test_an_empty_description_is_not_stored() -> None:
    level = Level(version=1)
    record = describe(RECORD, (level, About(year="1999")))
    assert record.narrower == (NarrowDescription(version=1, about=About(year="1999")),)
    assert describe(record, (level, About())) == RECORD


def test_a_silent_withdrawal_of_a_version_hides_what_was_said_of_it() -> None:
    """Ruling tombstone-silence: "the metadata that *people* had given, unless withdrawn with
    `--silent`"."""
    said = About(year="1999")
    record = describe(
        RECORD,
        (WHOLE_RESOURCE, said),
        (Level(version=1, format="text", part="char=0,1"), said),
        (Level(version=2), said),
    )
    for silent in (False, True):
        why = Tombstone(reason="a court said so", at=AT, by="anna", silent=silent)
        first = replace(record.versions[0], tombstone=why)
        shown = show_to_readers(replace(record, versions=(first, record.versions[1])))
        assert shown.about == said
        assert [one.version for one in shown.narrower] == ([2] if silent else [1, 2])


def test_a_corrected_document_has_one_description_by_both_of_its_names() -> None:
    """ "If the right reading has another format in names, that name finds the bytes, too"
    (`perdure correct --help`)."""
    corrected = Correction(
        before=Reading(media_type="text/plain", charset="us-ascii"),
        after=Reading(media_type="text/csv", charset="us-ascii"),
        at=AT,
        by="anna",
    )
    held = replace(RECORD.versions[1].representations[0], corrections=(corrected,))
    record = replace(
        RECORD, versions=(RECORD.versions[0], replace(RECORD.versions[1], representations=(held,)))
    )
    text, csv = (parse(f"{NAME}.{format}.2") for format in ("text", "csv"))
    for said, about in ((text, About(year="1958")), (csv, About(year="1999"))):
        level = levels.settle_level(said, record, levels.find_level(said))
        record = describe(record, (level, about))
        assert len(record.narrower) == 1
        for name in (text, csv):
            assert levels.describe_level(record, levels.find_level(name)) == about
            assert levels.find_own(record, levels.find_level(name)).about == about
    for format in ("text", "csv"):
        wide = describe(RECORD, (Level(format=format), About(year="1990")))
        wide = replace(wide, versions=record.versions)
        for name in (text, csv):
            assert levels.describe_level(wide, levels.find_level(name)).year == "1990"


def test_a_resource_is_described_by_a_description_or_by_names_and_values() -> None:
    assert not is_resource_described(Record())
    assert is_resource_described(Record(about=About(year="1997")))
    assert is_resource_described(Record(metadata={"title": "Herons"}))
