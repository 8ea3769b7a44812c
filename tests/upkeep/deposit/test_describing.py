"""The description of a document, from the rows of a plan."""

from __future__ import annotations

from typing import Any

from perdure.upkeep.deposit.describing import describe_rows
from perdure.upkeep.deposit.plan import PlannedFile


def row(**fields: Any) -> PlannedFile:
    usual: dict[str, Any] = {"action": "mint", "file": b"a", "document": 1}
    return PlannedFile(**usual | fields)


def test_nothing_is_said_of_a_file_about_which_nothing_is_known() -> None:
    assert describe_rows([row()]) == (None, {})


def test_words_of_dublin_core_describe_and_others_are_pairs() -> None:
    rows = [
        row(title="A", pairs={"publisher": "P", "shelf": "7"}),
        row(title="B", creator="Müller, Anna; Roe, Bob", pairs={"shelf": "8", "box": "1"}),
    ]
    about, metadata = describe_rows(rows)
    assert about is not None
    assert about.title == "A"
    assert [one.family for one in about.creators] == ["Müller", "Roe"]
    assert about.publisher is not None
    assert about.publisher.name == "P"
    assert metadata == {"shelf": "7", "box": "1"}


def test_dates_are_of_the_kind_that_their_source_allows() -> None:
    """Ruling cite-date: "A date of publication is what somebody said"."""
    kinds = {
        source: describe_rows([row(date="1997-09-01", date_source=source)])[0]
        for source in ("inventory", "", "EAD", "path", "file time", "inside: EXIF")
    }
    found = {source: (about.dates[0].kind, about.year) for source, about in kinds.items() if about}
    assert found == {
        "inventory": ("Issued", "1997"),
        "": ("Issued", "1997"),
        "EAD": ("Issued", "1997"),
        "path": ("Created", ""),
        "file time": ("Updated", ""),
        "inside: EXIF": ("Created", ""),
    }


def test_only_what_comes_from_inside_alone_is_marked_as_derived() -> None:
    derived, _ = describe_rows([row(title="A", described_by="inside: PDF"), row()])
    mixed, _ = describe_rows(
        [row(title="A", described_by="inventory"), row(title="B", described_by="inside: PDF")]
    )
    assert derived is not None
    assert mixed is not None
    assert (derived.derived, mixed.derived) == ("PDF", "")
