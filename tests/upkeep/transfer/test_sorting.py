"""Sorting rows: in order, stable, and with nothing left behind."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.model.commands import LoadRow
from perdure.upkeep.transfer import sorting
from perdure.upkeep.transfer.sorting import Sorter


@given(st.lists(st.text("ab\U0001f600", max_size=2), max_size=60), st.integers(1, 12))
def test_rows_come_out_sorted_and_stable(keys: list[str], in_memory: int) -> None:
    """However many runs there are, and however often they were merged on the way."""
    rows = [LoadRow(key, b"{}", line) for line, key in enumerate(keys)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorting, "_MOST_BYTES", in_memory * sorting.size_of(LoadRow("a", b"{}", 1)))
        patch.setattr(sorting, "_MOST_RUNS", 3)
        with Sorter(Path(tempfile.gettempdir())) as sorter:
            for row in rows:
                sorter.add_row(row)
            assert sorter.count == len(rows)
            found = list(sorter.sorted_rows())
    assert found == sorted(rows, key=lambda row: row.key)


def test_no_file_is_ever_seen(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_MOST_BYTES", 1)
    with Sorter(place) as sorter:
        for number in range(10):
            sorter.add_row(LoadRow(str(number), b"{}", number))
        assert list(place.iterdir()) == []
