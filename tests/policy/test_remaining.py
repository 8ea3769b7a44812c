"""What remains after a withdrawal: "the same bytes under other names, and documents about what is
withdrawn, or that contain it"."""

from __future__ import annotations

import pytest

from perdure.ids import parse
from perdure.model.records import Record, Representation, Tombstone, Version
from perdure.model.references import list_references
from perdure.policy import remaining
from perdure.policy.remaining import Remaining, list_remaining

NAME = parse("pdi://oma.eop.gov.us/2026/11/21/1")
OTHER = parse("pdi://oma.eop.gov.us/2026/11/21/2")
ABOUT = "pdi://oma.eop.gov.us/2026/11/21/3"
AT = "2026-11-22T09:00:00Z"
WHY = Tombstone(reason="a court said so", at=AT, by="anna")


def hold(number: int, letter: str, media_type: str = "text/plain", format: str = "text") -> Version:
    held = Representation(
        format=format, media_type=media_type, length=1, sha512=letter * 128, segment=1, offset=1
    )
    return Version(number=number, at=AT, representations=(held,))


class FewRecords(dict[str, Record]):
    """Some records by their keys, found by their references."""

    def find_record(self, key: str) -> Record | None:
        return self.get(key)

    def find_referring(self, reference: str, *, limit: int) -> list[str]:
        found = [key for key, one in self.items() if reference in list_references(one)]
        return found[:limit]


def list_of(record: Record, version: int | None, **others: Record) -> Remaining:
    keys = {"other": OTHER.key, "about": parse(ABOUT).key}
    records = FewRecords({NAME.key: record} | {keys[name]: one for name, one in others.items()})
    return list_remaining(records, NAME, record, version)


@pytest.mark.parametrize(
    ("withdrawn", "copies"),
    [
        (None, (f"{OTHER}.text.1",)),
        (1, (f"{NAME}.text.3", f"{OTHER}.text.1")),  # version 3 has the same bytes
        (2, ()),
    ],
)
def test_copies_have_the_same_bytes_and_are_not_withdrawn(
    withdrawn: int | None, copies: tuple[str, ...]
) -> None:
    record = Record(versions=(hold(1, "a"), hold(2, "b"), hold(3, "a")))
    other = Record(versions=(hold(1, "a"), hold(2, "c")))
    assert list_of(record, withdrawn, other=other).copies == copies


def test_copies_of_names_that_were_withdrawn_do_not_remain() -> None:
    record = Record(versions=(hold(1, "a"),))
    assert (
        list_of(record, None, other=Record(versions=(hold(1, "a"),), tombstone=WHY)) == Remaining()
    )


@pytest.mark.parametrize(
    ("target", "withdrawn", "remains"),
    [
        (str(NAME), 1, True),  # about the resource, and so about each version
        (str(NAME), None, True),
        (f"{NAME}.text.1", 1, True),
        (f"{NAME}.text.1", None, True),
        (f"{NAME}.text.2", 1, False),
        (f"{NAME}.text.2", None, True),
        (f"{OTHER}.text.1", 1, False),
    ],
)
def test_documents_about_what_is_withdrawn_remain(
    target: str, withdrawn: int | None, remains: bool
) -> None:
    record = Record(versions=(hold(1, "a"), hold(2, "b")))
    assertion = hold(1, "d", "application/ld+json", "ld%2bjson")
    about = Record(versions=(assertion,), targets=(target,))
    assert list_of(record, withdrawn, about=about).written_about == ((ABOUT,) if remains else ())


def test_documents_about_it_that_were_withdrawn_are_not_named() -> None:
    record = Record(versions=(hold(1, "a"),))
    signature = Record(versions=(hold(1, "d"),), targets=(str(NAME),), tombstone=WHY)
    assert list_of(record, 1, about=signature).written_about == ()


@pytest.mark.parametrize(("most", "is_cut"), [(1, True), (2, False)])
def test_a_list_that_is_cut_says_so(
    monkeypatch: pytest.MonkeyPatch, most: int, is_cut: bool
) -> None:
    """`Remaining`: "The names that remain, at most `MOST_LISTED` of each kind"."""
    monkeypatch.setattr(remaining, "MOST_LISTED", most)
    record = Record(versions=(hold(1, "a"),))
    found = list_of(record, None, other=Record(versions=(hold(1, "a"), hold(2, "a"))))
    assert found.copies == tuple(f"{OTHER}.text.{number}" for number in (1, 2))[:most]
    assert found.is_cut is is_cut
