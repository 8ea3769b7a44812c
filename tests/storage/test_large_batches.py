"""Batches with more rows than one statement takes."""

from __future__ import annotations

from pathlib import Path

from perdure.ids import parse
from perdure.model.commands import Assign, Receipt
from perdure.model.records import Value
from perdure.registry import Registry, initialise
from perdure.storage.sqlite.changelog import TOGETHER
from perdure.upkeep.audit import find_damaged

PREFIX = "21.T14999"


def test_each_record_of_a_large_batch_is_stored_with_its_change(tmp_path: Path) -> None:
    root = tmp_path / "registry"
    initialise(root, handle_prefixes=(PREFIX,))
    count = 2 * TOGETHER + 7
    names = [f"hdl:{PREFIX}/{number % 5}-{number}" for number in range(count)]
    with Registry(root) as registry:
        answers = registry.door.execute_commands(
            [
                Assign(
                    by="writer",
                    identifier=parse(name),
                    expect=0,
                    values=(Value(index=1, type="EMAIL", data=f"{name}@a.example"),),
                )
                for name in names
            ]
        )
        assert all(isinstance(one, Receipt) for one in answers)
    with Registry(root) as registry:
        for name in names:
            record = registry.records.find_record(parse(name).key)
            assert record is not None
            assert [one.data for one in record.values] == [f"{name}@a.example"]
        changes = registry.records.list_changes(limit=2 * count)
        written = [one.first for one in changes if one.act == "assign"]
        assert written == [parse(name).key for name in names]
        assert not list(find_damaged(registry.records))
