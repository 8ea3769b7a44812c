"""No face reads a record twice: the look-ups of each request of the contract table, counted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.conftest import Clock, Desk
from tests.contract.fixture import make_registry
from tests.contract.table import TABLE, Cell, cells, fill_spelling
from tests.reading.test_resolve import ask, counting

MOST = {
    "malformed": 0,
    "alias": 2,
    "alias of a version": 2,
    "alias of an image": 2,
    "unknown version of an alias": 2,
    "part of an alias": 3,  # the handle may be registered with its `#`, too
    "citation": 3,  # both sides, and the cited one again for its verdict
    "delegated ARK": len("b5x"),
    "ARK with suffix": len("/sheet2"),  # the whole may end at each character
}
"""The look-ups of records for the bytes of each kind of name, if they are not 1."""
AGAIN = ("history", "listing", "cited by", "references", "assertions", "link set")
"""The current record is also the last revision of its history, a row of a listing, and a side of
its citations. An assertion is found by its record, and then read as any document is; a link set
says whether there are any."""


def list_cells() -> list[Cell]:
    return [
        cell
        for cell in cells()
        if TABLE["faces"][cell.face]["via"] == "http"
        and cell.spelling.startswith("/")
        and cell.face != "OAI-PMH"  # which lists the collections of a record, too
    ]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    root = make_registry(tmp_path_factory.mktemp("reads"))
    desk = Desk(root, Clock())
    desk.registry.delegations.load_index()  # which is read once
    yield desk
    desk.registry.close()


@pytest.mark.parametrize("cell", list_cells(), ids=lambda cell: cell.label)
def test_a_request_looks_no_record_up_twice(cell: Cell, desk: Desk) -> None:
    """architecture.md: "No interface makes decisions or reads the record again"."""
    target = fill_spelling(cell.spelling, TABLE["kinds"][cell.kind])
    with counting(desk) as read:
        ask(desk, target, (b"accept", b"*/*"))
    if cell.question not in AGAIN and cell.kind != "citation":  # it may be of the same document
        assert len(read) == len(set(read)), read
    if cell.question == "bytes":
        assert len(read) == MOST.get(cell.kind, 1), read
