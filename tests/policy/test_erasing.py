"""Erasures in records: what they are about, and what they leave."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from perdure.errors.naming import BlankOutside
from perdure.ids import parse
from perdure.model import stored
from perdure.model.about import About, Attachment
from perdure.model.records import (
    Blank,
    Location,
    NarrowDescription,
    Record,
    Representation,
    Tombstone,
    Version,
)
from perdure.model.references import list_references
from perdure.policy.erasing import (
    Erasure,
    list_erasable,
    mark_erased,
    note_erased,
    redact_record,
    redact_stored,
)
from perdure.policy.joining import join_records

NAME = parse("pdi://oma.eop.gov.us/2026/11/21/1")
AT = "2026-11-22T09:00:00Z"
LEFT = "0" * 128
WHY = Tombstone(reason="a court said so", at=AT, by="anna")


def hold(number: int, *formats: str) -> Version:
    held = tuple(
        Representation(
            format=one,
            media_type="text/plain",
            length=10,
            sha512=f"{number}{index}".ljust(128, "a"),
            segment=1,
            offset=100 * number + 10 * index,
        )
        for index, one in enumerate(formats)
    )
    return Version(number=number, at=AT, representations=held)


RECORD = Record(
    at=AT,
    versions=(hold(1, "text", "html"), hold(2, "text")),
    locations=(
        Location(uri="https://a.example/", sha512="10".ljust(128, "a"), size=10),
        Location(uri="https://b.example/", sha512="b" * 128, size=3),
    ),
    metadata={"title": "x"},
    about=About(),
    attached=(Attachment(format="dc", media_type="text/xml", content=b"<x/>"),),
)


def erase(*places: tuple[int, str], **more: object) -> Erasure:
    fields = {"at": AT, "digests": dict.fromkeys(places, LEFT)} | more
    return Erasure(**fields)  # type: ignore[arg-type]


def test_an_erasure_is_about_a_version_or_all() -> None:
    def places(version: int | None) -> list[tuple[int, str]]:
        return [(one.version, one.held.format) for one in list_erasable(NAME, RECORD, version, ())]

    assert places(None) == [(1, "text"), (1, "html"), (2, "text")]
    assert places(1) == [(1, "text"), (1, "html")]
    assert places(9) == []
    assert {one.spans for one in list_erasable(NAME, RECORD, 1, ())} == {((0, 10),)}


def test_a_part_is_about_its_bytes_alone() -> None:
    blanks = (
        Blank(version=1, format="html", start=0, end=2),
        Blank(version=1, format="html", start=4, end=10),
    )
    (found,) = list_erasable(NAME, RECORD, 1, blanks)
    assert (found.held.format, found.spans) == ("html", ((0, 2), (4, 10)))


@pytest.mark.parametrize(
    ("version", "format", "start", "end"),
    [
        (1, "html", 0, 11),
        (1, "html", 3, 3),
        (1, "html", -1, 2),
        (1, "pdf", 0, 1),
        (3, "text", 0, 1),
    ],
)
def test_bytes_that_are_not_there_are_refused(
    version: int, format: str, start: int, end: int
) -> None:
    blank = Blank(version=version, format=format, start=start, end=end)
    with pytest.raises(BlankOutside):
        list_erasable(NAME, RECORD, None, (blank,))


def test_nothing_confirms_a_guess_at_erased_bytes() -> None:
    """Ruling tombstone-silence: "digest and length only where kept on purpose"."""
    left = redact_record(RECORD, erase((1, "text")))
    gone = "10".ljust(128, "a")
    assert gone not in stored.encode_stored(left).decode()
    assert f"sha512:{gone}" in list_references(RECORD) - list_references(left)
    (first, other) = left.locations
    assert (first.sha512, first.size) == (None, None)
    assert other == RECORD.locations[1]
    assert left.versions[1] == RECORD.versions[1]
    assert left.metadata == RECORD.metadata


def test_a_digest_is_kept_on_purpose() -> None:
    left = redact_record(RECORD, erase((1, "text"), keep_digest=True))
    (held, _) = left.versions[0].representations
    assert (held.sha512, held.original) == (LEFT, "10".ljust(128, "a"))
    assert left.locations == RECORD.locations


def test_a_silent_erasure_takes_the_descriptions() -> None:
    left = redact_record(RECORD, erase((1, "text"), silent=True, is_whole=True))
    assert (left.metadata, left.about, left.attached) == ({}, None, ())
    assert (left.locations, left.values) == ((), ())


def test_a_silent_erasure_of_a_version_takes_what_was_said_of_it() -> None:
    places = tuple(Location(uri=f"https://{one}.example/", version=one) for one in (1, 2))
    broken = replace(RECORD.versions[0], broken=WHY)
    record = replace(RECORD, locations=places, versions=(broken, RECORD.versions[1]))
    left = redact_record(record, erase((1, "text"), silent=True))
    assert (left.metadata, left.about) == (RECORD.metadata, RECORD.about)
    assert left.locations == places[1:]
    assert left.versions[0].broken is None


def test_a_silent_erasure_of_one_version_takes_what_was_said_of_it() -> None:
    """Ruling version-metadata: descriptions "stay there"; those of what is served stay."""
    levels = tuple(NarrowDescription(version=number, about=About()) for number in (1, 2, None))
    record = replace(RECORD, narrower=levels)
    left = redact_record(record, erase((1, "text"), (1, "html"), silent=True))
    assert left.narrower == levels[1:]
    assert (left.about, left.metadata) == (RECORD.about, RECORD.metadata)
    whole = redact_record(record, erase((1, "text"), silent=True, is_whole=True))
    assert whole.narrower == ()


def test_an_erasure_elsewhere_erases_nothing_here() -> None:
    """An export says that its registry erased the bytes. A registry that has them still says that
    they are withdrawn, so that `erase` does not take its work for done."""
    here = replace(RECORD, locations=())
    erased = note_erased(replace(here, tombstone=WHY), None, AT, "anna")
    empty = replace(erased, versions=(Version(number=1, at=AT, tombstone=erased.tombstone),))
    joined = join_records(NAME, here, empty)
    assert (joined.tombstone, joined.versions[0].tombstone) == (WHY, WHY)
    assert mark_erased(joined) == joined
    done = redact_record(here, erase((1, "text"), (1, "html"), (2, "text")))
    assert join_records(NAME, done, empty).tombstone == erased.tombstone
    assert join_records(NAME, Record(at=AT), empty).tombstone == erased.tombstone


def test_what_was_erased_is_not_erased_again() -> None:
    left = redact_record(RECORD, erase((1, "text")))
    assert [one.held.format for one in list_erasable(NAME, left, 1, ())] == ["html"]
    again = replace(erase((1, "text")), at="2027-01-01T00:00:00Z", keep_digest=True)
    assert redact_record(left, again) == left


def test_after_a_part_the_rest_can_be_erased() -> None:
    blank = Blank(version=1, format="text", start=0, end=2)
    part = redact_record(RECORD, erase((1, "text"), blanks=(blank,)))
    held = part.versions[0].representations[0]
    assert (held.erased, held.blanks, held.is_erased) == (AT, (blank,), False)
    more = Blank(version=1, format="text", start=5, end=6)
    part = redact_record(part, erase((1, "text"), blanks=(more,)))
    assert part.versions[0].representations[0].blanks == (blank, more)
    whole = redact_record(part, erase((1, "text")))
    held = whole.versions[0].representations[0]
    assert held.is_erased
    assert held.blanks == ()


def test_a_past_revision_of_something_else_stays() -> None:
    text = stored.encode_stored(Record(at=AT, locations=(Location(uri="https://c.example/"),)))
    assert redact_stored(text.decode(), erase((1, "text"))) == text.decode()
    line = stored.encode_stored(Record(at=AT, versions=(hold(1, "text"),))).decode()
    assert line.startswith("=")
    assert "10a" not in redact_stored(line, erase((1, "text")))


@given(st.sets(st.sampled_from([(1, "text"), (1, "html"), (2, "text")])), st.booleans())
def test_no_representation_leaves_its_record(places: set[tuple[int, str]], keep: bool) -> None:
    """PDI section 2.1: the namespace is monotonic; the place of bytes stays, too."""
    left = redact_record(RECORD, erase(*places, keep_digest=keep))

    def list_places(record: Record) -> list[tuple[object, ...]]:
        return [
            (one.number, held.format, held.media_type, held.length, held.segment, held.offset)
            for one in record.versions
            for held in one.representations
        ]

    assert list_places(left) == list_places(RECORD)
    erased = {
        (one.number, held.format)
        for one in left.versions
        for held in one.representations
        if held.is_erased
    }
    assert erased == places


def test_a_tombstone_tells_that_its_bytes_were_erased() -> None:
    whole = note_erased(replace(RECORD, tombstone=WHY), None, AT, "bert")
    assert whole.tombstone
    assert (whole.tombstone.erased, whole.tombstone.erased_by) == (AT, "bert")
    (first, second) = RECORD.versions
    one = replace(RECORD, versions=(replace(first, tombstone=WHY), replace(second, tombstone=WHY)))
    (first, second) = note_erased(one, 1, AT, "bert").versions
    assert first.tombstone
    assert first.tombstone.erased == AT
    assert second.tombstone == WHY


def test_a_rebuild_marks_what_the_tombstones_tell() -> None:
    whole = note_erased(replace(RECORD, tombstone=WHY), None, AT, "bert")
    assert all(
        held.is_erased for one in mark_erased(whole).versions for held in one.representations
    )
    (first, second) = RECORD.versions
    one = note_erased(replace(RECORD, versions=(replace(first, tombstone=WHY), second)), 1, AT, "b")
    (first, second) = mark_erased(one).versions
    assert all(held.is_erased for held in first.representations)
    assert second == RECORD.versions[1]
    assert mark_erased(mark_erased(one)) == mark_erased(one)
