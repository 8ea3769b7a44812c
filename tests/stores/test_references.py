"""What refers to something is found whether or not it was merged, by whoever looked before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.conftest import TODAY, Desk

from perdure.ids import parse
from perdure.stores import references
from perdure.stores.sqlite import FILE, SqliteRecords

MOST = 5


@pytest.fixture(autouse=True)
def merges_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(references, "MOST_RECENT", MOST)


@pytest.fixture
def reader(desk: Desk) -> Iterator[SqliteRecords]:
    with closing(SqliteRecords(desk.root)) as opened:
        yield opened


def bind(desk: Desk, number: int) -> str:
    name = f"hdl:1/{number}"
    desk.bind(name, f"https://a.example/{number}", f"https://all.example/{number % 2}",
              register=True)  # fmt: skip
    return parse(name).key


def unmerged(root: Path) -> int:
    connection = apsw.Connection(str(root / FILE))
    try:
        return references.count_recent(connection)
    finally:
        connection.close()


def test_found_at_once_and_for_ever(desk: Desk, reader: SqliteRecords) -> None:
    """A reader that looks after every write, and one that looks once, see the same."""
    keys: list[str] = []
    waiting = set()
    for number in range(20):
        keys.append(bind(desk, number))
        waiting.add(unmerged(desk.root))
        for one, key in enumerate(keys):
            assert reader.referring(f"location:https://a.example/{one}") == [key]
    assert max(waiting) < MOST  # and so it was merged, several times
    even = sorted(keys[::2])
    assert reader.referring("location:https://all.example/0") == even
    with closing(SqliteRecords(desk.root)) as another:
        assert another.referring("location:https://all.example/0") == even
    assert reader.referring("location:https://nobody.example/") == []


def test_what_a_revision_repeats_is_told_once(desk: Desk, reader: SqliteRecords) -> None:
    key = bind(desk, 1)
    for uri in ("https://b.example/", "https://c.example/"):
        desk.bind("hdl:1/1", uri)
        assert reader.referring("location:https://a.example/1") == [key]


def test_a_registry_that_only_older_releases_wrote(desk: Desk) -> None:
    key = bind(desk, 1)
    desk.registry.close()
    connection = apsw.Connection(str(desk.root / FILE))
    references.merge_recent(connection)
    connection.execute("DROP TABLE recent_refers")
    connection.close()
    with closing(SqliteRecords(desk.root)) as reader:
        assert reader.referring("location:https://a.example/1") == [key]
        assert reader.referring(f"location:https://a.example/{TODAY}") == []
