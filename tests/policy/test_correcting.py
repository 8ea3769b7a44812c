"""Corrections of what is said of bytes: which are possible, and how copies of them are joined."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from perdure.errors import Conflict, InvalidRequest, NoSuchVersion, NotAcceptable
from perdure.errors.conflicts import NameWithdrawn, ReadingContradicted, VersionWithdrawn
from perdure.errors.contents import CharsetOfNoText, MalformedLanguage, UnknownCharset
from perdure.errors.naming import NothingToCorrect, RepresentationNotNamed, VersionContradicted
from perdure.ids import parse
from perdure.model.commands import Content, Correct
from perdure.model.records import (
    Correction,
    Location,
    Reading,
    Record,
    Representation,
    Tombstone,
    Version,
)
from perdure.model.stored import decode_stored, encode_stored
from perdure.policy import correcting
from perdure.policy.joining import join_records
from perdure.policy.naming import has_format, list_reading_aliases, select_format

NAME = parse("pdi://oma.eop.gov.us/2026/11/21/5")
NOON = "2026-11-21T12:00:00Z"
LATER = "2026-11-22T12:00:00Z"
WHY = Tombstone(reason="a court said so", at=NOON, by="oma")


def held(format: str = "text", media_type: str = "text/plain", charset: str | None = None,
         sha512: str = "ab" * 64) -> Representation:  # fmt: skip
    return Representation(
        format=format, media_type=media_type, charset=charset, length=8, sha512=sha512,
        segment=1, offset=99,
    )  # fmt: skip


def record(*ones: Representation, number: int = 1) -> Record:
    return Record(at=NOON, versions=(Version(number=number, at=NOON, representations=ones),))


def plan(before: Record, name: str = "", **said: object) -> correcting.CorrectionPlan:
    identifier = parse(f"{NAME}{name}")
    command = Correct(identifier=identifier, by="oma", **said)  # type: ignore[arg-type]
    return correcting.plan_correction(identifier, before, command, LATER)


def only(found: Record) -> Representation:
    (one,) = found.versions[0].representations
    return one


def test_a_charset_is_corrected_and_the_record_says_what_was_said_before() -> None:
    before = record(held(charset="windows-1252"))
    found = plan(before, charset="CP850", reason="from DOS")
    assert str(found.name) == f"{NAME}.text.1"
    assert only(found.record) == replace(
        held(charset="ibm850"),
        corrections=(
            Correction(
                before=Reading(media_type="text/plain", charset="windows-1252"),
                after=Reading(media_type="text/plain", charset="ibm850"),
                at=LATER,
                by="oma",
                reason="from DOS",
            ),
        ),
    )
    assert found.aliases == ()
    again = plan(found.record, charset="ibm850")
    assert (again.correction, again.record) == (None, found.record)


def test_the_name_stays_and_the_right_format_becomes_a_reading_alias() -> None:
    """ "Any machine representation … associated with formats of a versioned PDI never changes"
    (section 2.1)."""
    found = plan(record(held("shift_jis", charset="shift_jis")), charset="utf-8")
    assert str(found.name) == f"{NAME}.shift_jis.1"
    assert found.aliases == (f"{NAME}.utf-8.1",)
    once = only(found.record)
    assert has_format(once, "utf-8")
    assert has_format(once, "shift_jis")
    assert not has_format(once, "euc-jp")
    twice = only(plan(found.record, charset="euc-jp").record)
    assert list_reading_aliases(twice) == ("utf-8", "euc-jp")  # what resolved once goes on


def test_a_format_that_is_really_there_is_no_alias() -> None:
    page = held("html", "text/html", sha512="cd" * 64)
    found = plan(record(held(charset="us-ascii"), page), ".text.1", media_type="text/html")
    assert found.aliases == ()
    ones = found.record.versions[0].representations
    assert [one.format for one in ones] == ["text", "html"]
    assert select_format(ones, "html") == (page,)


@pytest.mark.parametrize(
    ("said", "after"),
    [
        ({"media_type": "text/html"}, ("text/html", "us-ascii")),
        ({"media_type": "text/html; charset=KOI8-R"}, ("text/html", "koi8-r")),
        ({"media_type": "image/png"}, ("image/png", None)),
        ({"media_type": "text/csv", "charset": "latin1"}, ("text/csv", "iso-8859-1")),
    ],
)
def test_types_are_corrected(said: dict[str, str], after: tuple[str, str | None]) -> None:
    found = only(plan(record(held(charset="us-ascii")), **said).record)
    assert (found.media_type, found.charset) == after


def test_a_language_is_corrected() -> None:
    assert only(plan(record(held()), language="da").record).language == "da"


@pytest.mark.parametrize(
    ("said", "error"),
    [
        ({"charset": "nosuchcharset"}, UnknownCharset),
        ({"media_type": "text/plain; charset=nosuchcharset"}, UnknownCharset),
        ({"media_type": "image/png", "charset": "utf-8"}, CharsetOfNoText),
        ({"media_type": "no type"}, InvalidRequest),
        ({"language": "not a tag"}, MalformedLanguage),
        ({"charset": "utf-8", "version": 2}, NoSuchVersion),
        ({"charset": "utf-8", "format": "html"}, NotAcceptable),
    ],
)
def test_what_cannot_be_is_refused(said: dict[str, str], error: type[Exception]) -> None:
    with pytest.raises(error):
        plan(record(held(charset="us-ascii")), **said)


def test_it_must_be_clear_which_bytes_are_meant() -> None:
    two = record(held(), held("html", "text/html"))
    with pytest.raises(RepresentationNotNamed):
        plan(two, charset="koi8-r")
    assert str(plan(two, ".html", charset="koi8-r").name) == f"{NAME}.html.1"
    with pytest.raises(VersionContradicted):
        plan(two, ".html.1", version=2, charset="koi8-r")
    with pytest.raises(NothingToCorrect):
        plan(Record(at=NOON, locations=(Location(uri="https://a.example/"),)), charset="koi8-r")
    newest = replace(two, versions=(*two.versions, *record(held(), number=2).versions))
    assert str(plan(newest, charset="koi8-r").name) == f"{NAME}.text.2"


def test_what_was_withdrawn_is_not_corrected() -> None:
    whole = replace(record(held()), tombstone=WHY)
    with pytest.raises(NameWithdrawn):
        plan(whole, charset="koi8-r")
    version = replace(record(held()).versions[0], tombstone=WHY)
    with pytest.raises(VersionWithdrawn):
        plan(replace(whole, tombstone=None, versions=(version,)), ".text.1", charset="koi8-r")


# joining
# -------

CHARSETS = st.lists(st.sampled_from(["koi8-r", "ibm850", "utf-8", "shift_jis"]), max_size=5)


def correct(found: Record, charsets: list[str]) -> Record:
    for charset in charsets:
        found = plan(found, charset=charset).record
    return found


@given(charsets=CHARSETS, cut=st.integers(0, 5))
def test_of_two_copies_the_one_that_knows_more_corrections_wins(
    charsets: list[str], cut: int
) -> None:
    base = record(held(charset="us-ascii"))
    more, less = correct(base, charsets), correct(base, charsets[:cut])
    assert join_records(NAME, more, less) == more
    assert join_records(NAME, less, more) == more
    assert decode_stored(encode_stored(more).decode()) == more


def test_two_copies_that_were_corrected_differently_contradict_each_other() -> None:
    base = record(held(charset="us-ascii"))
    with pytest.raises(ReadingContradicted):
        join_records(NAME, correct(base, ["koi8-r"]), correct(base, ["ibm850"]))


@pytest.mark.parametrize(
    ("charset", "stated", "agrees"),
    [
        ("windows-1252", "windows-1252", True),
        ("windows-1252", "ibm850", False),
        ("us-ascii", "utf-8", True),
        ("us-ascii", "utf-16", False),
        (None, "utf-8", False),
    ],
)
def test_a_statement_about_bytes_that_are_held_agrees_or_is_a_conflict(
    charset: str | None, stated: str, agrees: bool
) -> None:
    """ "unchanged: the record says so already" must be true."""
    content = Content(
        format="text", media_type="text/plain", charset=stated, length=8, sha512="ab" * 64,
        blake3="", stated=("charset",),
    )  # fmt: skip
    if agrees:
        correcting.check_stated("x", held(charset=charset), content)
    else:
        with pytest.raises(Conflict):
            correcting.check_stated("x", held(charset=charset), content)
    detected = replace(content, stated=())
    correcting.check_stated("x", held(charset=charset), detected)


def test_what_was_said_before_a_correction_may_be_said_again() -> None:
    found = only(correct(record(held(charset="windows-1252")), ["ibm850"]))
    content = Content(
        format="text", media_type="text/plain", charset="windows-1252", length=8,
        sha512="ab" * 64, blake3="", stated=("charset", "media_type"),
    )  # fmt: skip
    correcting.check_stated("x", found, content)


def test_a_reading_has_a_name_of_its_own_while_it_differs_from_the_first() -> None:
    first = record(held(charset="us-ascii"))
    once, back = correct(first, ["koi8-r"]), correct(first, ["koi8-r", "us-ascii"])
    assert correcting.is_corrected(only(once))
    assert not correcting.is_corrected(only(back))
    assert correcting.name_reading(only(once)) != correcting.name_reading(only(first))
    assert correcting.name_reading(only(back)) == correcting.name_reading(only(first))
