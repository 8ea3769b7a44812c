"""Records that are read several at a time for an index, and what changes meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest
from tests.conftest import Desk, text

from perdure.errors.corruption import RowAltered
from perdure.model.records import Record
from perdure.storage.ports import Records, RevisionCounter
from perdure.upkeep.changes.record_index import RecordsAhead

KEYS = [f"oma.eop.gov.us/20261121/a{number}" for number in range(1, 5)]
UNKNOWN = "oma.eop.gov.us/20261121/a9"


@pytest.fixture
def records(desk: Desk) -> Records:
    for number in range(4):
        desk.mint(text(f"number {number}"))
    return desk.registry.records


def read(ahead: RecordsAhead, keys: Sequence[str]) -> list[Record | None]:
    return [ahead.find_record(key) for key in keys]


def test_records_are_read_together(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = [records.find_record(key) for key in KEYS]
    monkeypatch.setattr(records, "find_record", None)
    with records.open_counter() as counter:
        assert read(RecordsAhead(records, counter, KEYS), KEYS) == expected


def test_what_was_withdrawn_meanwhile_is_read_again(desk: Desk, records: Records) -> None:
    """docs/reference/searching.md: "A document that is withdrawn or erased … leaves no word in it
    when the command or the request ends."
    """
    with records.open_counter() as counter:
        ahead = RecordsAhead(records, counter, KEYS)
        read(ahead, KEYS[:2])
        desk.withdraw("pdi://oma.eop.gov.us/2026/11/21/3")
        third, fourth = read(ahead, KEYS[2:])
    assert third is not None
    assert third.tombstone is not None
    assert fourth == records.find_record(KEYS[3])


class DistantCounter:
    """A counter that asks a server at each look."""

    is_mapped = False

    @property
    def revision_count(self) -> int:
        raise AssertionError("it costs as much as to read the record")


def test_a_distant_counter_is_not_asked(records: Records) -> None:
    ahead = RecordsAhead(records, cast(RevisionCounter, DistantCounter()), KEYS)
    assert read(ahead, KEYS) == [records.find_record(key) for key in KEYS]


def test_any_record_can_be_asked_for_at_any_time(records: Records) -> None:
    keys = [KEYS[2], KEYS[0], UNKNOWN, KEYS[2], KEYS[1], KEYS[1]]
    with records.open_counter() as counter:
        ahead = RecordsAhead(records, counter, [*KEYS, UNKNOWN])
        assert read(ahead, keys) == [records.find_record(key) for key in keys]


def test_a_damaged_record_hides_no_other(records: Records, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Sequence[str]) -> dict[str, Record]:
        raise RowAltered(identifier=KEYS[1], file="registry.sqlite")

    monkeypatch.setattr(records, "find_records", fail)
    with records.open_counter() as counter:
        found = read(RecordsAhead(records, counter, KEYS), KEYS)
    assert found == [records.find_record(key) for key in KEYS]
