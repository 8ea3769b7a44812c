"""References by which assertions and composites about a part are found: examples of each kind."""

from __future__ import annotations

import pytest

from perdure.ids import parse
from perdure.model.records import Record, Representation, Version
from perdure.model.target_references import (
    TargetUse,
    find_target_kind,
    list_part_references,
    list_target_references,
)

NAME = "pdi://oma.eop.gov.us/1997/09/01/1.text.1"


def hold(*types: str) -> Record:
    """A record with one version in these media types."""
    held = tuple(
        Representation(format=f"f{at}", media_type=one, length=1, sha512="", segment=1, offset=0)
        for at, one in enumerate(types)
    )
    return Record(versions=(Version(number=1, at="", representations=held),))


@pytest.mark.parametrize(
    ("types", "kind"),
    [
        (("text/plain",), TargetUse.SIGNED),
        ((), TargetUse.SIGNED),
        (("text/html; charset=utf-8",), TargetUse.COMPOSED),
        (("application/xml",), TargetUse.COMPOSED),
        (("application/ld+json; profile=x",), TargetUse.ASSERTED),
        (("text/html", "application/ld+json"), TargetUse.ASSERTED),
    ],
)
def test_the_type_of_a_document_says_what_it_does_with_its_targets(
    types: tuple[str, ...], kind: TargetUse
) -> None:
    assert find_target_kind(hold(*types)) is kind


@pytest.mark.parametrize(
    ("about", "asked", "found"),
    [
        ("#char=3,7", "#char=5,6", True),
        ("#char=3,7", "#char=5,600", True),
        ("", "#char=5,6", True),  # about the whole
        ("#name=a,b", "#name=a,b", True),
        ("#name=a,b", "#name=a,c", False),
        ("#name=a,b", "#char=5,6", False),
    ],
)
def test_a_question_about_a_part_finds_what_is_about_a_part_that_overlaps(
    about: str, asked: str, *, found: bool
) -> None:
    stored = set(list_target_references(TargetUse.ASSERTED, parse(NAME + about)))
    looked = list_part_references(TargetUse.ASSERTED, parse(NAME + asked))
    assert looked is not None
    assert bool(stored & set(looked)) is found


def test_a_question_about_a_very_long_part_looks_through_all() -> None:
    assert list_part_references(TargetUse.ASSERTED, parse(f"{NAME}#char=5,900000")) is None


def test_a_signature_is_found_by_its_resource_alone() -> None:
    name = parse(NAME)
    assert list(list_target_references(TargetUse.SIGNED, name)) == [f"target:{name.key}"]
