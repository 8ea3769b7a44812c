"""The index of words: it follows, resumes, can be deleted, and says what it could not read."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path

import apsw
import pytest
from tests.conftest import TODAY, Desk, html, text
from tests.upkeep.searching.conftest import SearchDesk

from perdure.errors.searching import IndexNotMade, SearchOff
from perdure.model.queries import PUBLIC_READER
from perdure.model.records import Record
from perdure.reading.extraction import PartExtraction
from perdure.registry import Registry
from perdure.storage.spool import make_content
from perdure.upkeep.changes.following import catch_up
from perdure.upkeep.searching import indexing, text_index
from perdure.upkeep.searching.asking import make_selection
from perdure.upkeep.searching.indexing import FILE, WordIndex
from perdure.upkeep.searching.text_index import Entry, EntryWords
from perdure.upkeep.searching.updating import (
    LOCK,
    Searching,
    follow_changes,
    hold_lock,
    is_followed,
    update_index,
)


def list_rows(desk: Desk) -> list[tuple[object, ...]]:
    opened = apsw.Connection(str(desk.root / FILE))
    query = "SELECT key, version, format, day, state FROM entry ORDER BY key, version, format"
    rows = opened.execute(query).fetchall()
    opened.close()
    return rows


def delete_index(desk: Desk) -> None:
    for path in (desk.root / FILE).parent.glob("search.*"):
        path.unlink()


def test_the_index_can_be_deleted_and_is_made_again(desk: Desk, searched: SearchDesk) -> None:
    desk.mint(text("word one"), html("<p>word"))
    desk.commit(f"{TODAY}/1", text("word two"))
    desk.mint(text("word three"))
    desk.withdraw(f"{TODAY}/2")
    list(update_index(desk.registry))
    rows = list_rows(desk)
    assert len(rows) == 3
    delete_index(desk)
    assert searched.names("word", limit=9) == searched.names("word", limit=9)
    assert list_rows(desk) == rows
    list(update_index(desk.registry, again=True))
    assert list_rows(desk) == rows


def test_the_index_resumes_after_a_crash(
    desk: Desk, searched: SearchDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        desk.mint(text(f"word {number}"))
    monkeypatch.setattr(indexing, "_BATCH_LENGTH", 1)  # each document in a transaction of its own
    index_record = WordIndex.index_record
    taken: list[str] = []

    def stop_at_third(self: WordIndex, key: str, record: Record | None) -> None:
        index_record(self, key, record)
        taken.append(key)
        if len(taken) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(WordIndex, "index_record", stop_at_third)
    with pytest.raises(KeyboardInterrupt):
        list(update_index(desk.registry))
    state = Searching(desk.registry).find_state()
    assert state.behind == 4
    assert len(list_rows(desk)) == 2
    list(update_index(desk.registry))
    assert len(list_rows(desk)) == 6
    assert len(taken) == 7  # the third one again, and the others once


def test_each_record_is_indexed_once_however_often_it_was_changed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.mint(text("word"))
    for number in range(5):
        desk.commit(f"{TODAY}/1", text(f"word {number}"))
    taken: list[str] = []
    index_record = WordIndex.index_record

    def note(self: WordIndex, key: str, record: Record | None) -> None:
        taken.append(key)
        index_record(self, key, record)

    monkeypatch.setattr(WordIndex, "index_record", note)
    list(update_index(desk.registry))
    assert len(taken) == 1
    assert len(list_rows(desk)) == 6


def test_a_change_that_leaves_the_words_reads_no_text_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.mint(text("word"))
    list(update_index(desk.registry))
    read: list[str] = []
    monkeypatch.setattr(PartExtraction, "read_characters", lambda _, one: read.append(one.name))
    desk.bind(f"{TODAY}/1", "https://a.example/")
    list(update_index(desk.registry))
    assert read == []


def test_a_restored_registry_is_indexed_from_nothing(desk: Desk, searched: SearchDesk) -> None:
    desk.mint(text("word"))
    list(update_index(desk.registry))
    with apsw.Connection(str(desk.root / FILE)) as opened:
        opened.execute("UPDATE head SET chain = ?", ("00" * 32,))
    state = Searching(desk.registry).find_state()
    assert (state.at, state.behind) == (None, 2)
    assert searched.names("word", update=False) == ["1.text.1"]
    assert searched.names("word") == ["1.text.1"]
    assert Searching(desk.registry).find_state().behind == 0


def test_unread_documents_are_listed_as_long_as_they_are_held(
    desk: Desk, searched: SearchDesk
) -> None:
    broken = make_content(b"ab\xff", format="utf-8", media_type="text/plain", charset="utf-8")
    desk.mint(broken)
    desk.mint(text("fine"))

    list(update_index(desk.registry))
    (unread,) = Searching(desk.registry).list_unread()
    assert unread.name == f"{TODAY}/1.utf-8.1"
    assert "invalid text at byte 2" in unread.problem
    assert searched.names("fine") == ["2.text.1"]
    desk.withdraw(f"{TODAY}/1")
    list(update_index(desk.registry))
    assert Searching(desk.registry).list_unread() == []


def test_a_large_index_has_several_volumes(
    desk: Desk, searched: SearchDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_index, "VOLUME", 4)
    for number in range(11):
        desk.mint(text(f"word {number}"))
    assert [int(one.split(".")[0]) for one in searched.names("word", limit=20)] == [
        *range(11, 0, -1)
    ]
    with apsw.Connection(str(desk.root / FILE)) as opened:
        assert opened.execute("SELECT number, first FROM volume").fetchall() == [
            (1, 1), (2, 5), (3, 9),
        ]  # fmt: skip
    desk.withdraw(f"{TODAY}/2")
    assert len(searched.names("word", limit=20)) == 10
    desk.mint(text("word more"))
    assert len(searched.names("word", limit=20)) == 11


def test_a_volume_ends_with_a_long_text(
    desk: Desk, searched: SearchDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_index, "VOLUME_LENGTH", 100)
    for number in range(4):
        desk.mint(text(f"word {number} " * 20))
    assert len(searched.names("word")) == 4
    with apsw.Connection(str(desk.root / FILE)) as opened:
        assert opened.execute("SELECT count(*) FROM volume").fetchone() == (4,)


def test_searching_can_be_switched_off(desk: Desk) -> None:
    desk.reopen(search="off")
    desk.mint(text("word"))
    with pytest.raises(SearchOff):
        list(update_index(desk.registry))
    with pytest.raises(SearchOff):
        Searching(desk.registry).search(make_selection("word"), PUBLIC_READER, limit=1)
    assert not (desk.root / FILE).exists()


def test_an_index_that_is_not_made_is_unavailable(desk: Desk) -> None:
    desk.mint(text("word"))
    searching = Searching(desk.registry)
    with pytest.raises(IndexNotMade):
        searching.find_state()
    list(update_index(desk.registry))
    assert searching.find_state().behind == 0
    delete_index(desk)
    with pytest.raises(IndexNotMade):
        searching.find_state()


def test_a_file_that_is_no_index_is_unavailable(desk: Desk) -> None:
    (desk.root / FILE).parent.mkdir(exist_ok=True)
    (desk.root / FILE).write_bytes(b"nonsense" * 1000)
    with pytest.raises(Exception, match="the index of words"):
        Searching(desk.registry).find_state()


def test_one_process_writes_the_index_at_a_time(desk: Desk, root: Path) -> None:
    desk.mint(text("word"))
    with hold_lock(root / LOCK, 0) as is_held:
        assert is_held
        assert list(update_index(desk.registry, wait=0)) == []
    assert list(update_index(desk.registry, wait=0))


def test_a_process_follows_the_changes(desk: Desk, root: Path) -> None:
    desk.mint(text("first word"))
    wanted = threading.Event()
    with Registry(root, environment={}) as other:
        follower = threading.Thread(
            target=follow_changes, args=(other, lambda: not wanted.is_set())
        )
        follower.start()
        try:
            searching = Searching(desk.registry)
            for number in (1, 2):
                end = time.monotonic() + 60
                while time.monotonic() < end:
                    try:
                        if searching.find_state().behind == 0:
                            break
                    except IndexNotMade:
                        pass
                    time.sleep(0.05)
                found = searching.search(make_selection("word"), PUBLIC_READER, limit=9)
                assert found.page.count == number
                assert is_followed(root)
                if number == 1:
                    desk.mint(text("second word"))
                    time.sleep(0.1)
        finally:
            wanted.set()
            follower.join()
    assert not is_followed(root)


def test_the_counts_of_the_index(desk: Desk) -> None:
    desk.mint(text("four"), html("<p>five5"))
    index = WordIndex(desk.registry)
    list(catch_up(desk.registry.records, index))
    assert (index.words.count_entries(), index.words.measure_text()) == (
        2,
        10,
    )  # a paragraph begins with a space
    index.close()


def test_entries_are_looked_up_together_as_one_by_one(desk: Desk, searched: SearchDesk) -> None:
    """text_index.py: records whose keys have equal hashes are told apart, too."""
    first, second = "plumless", "buckeroo"  # CRC-32 0x4ddb0c25 of both
    index = WordIndex(desk.registry)
    table = index.words
    words = EntryWords(text="word", title="", people="", metadata="")
    with index.connection:
        table.begin_batch()
        for key, version in ((first, 1), (second, 1), (first, 2)):
            table.add_entry(Entry(0, key, version, "text", 0, 0), words)
        keys = [first, second, "neither"]
        assert table.list_entries_of(keys) == {key: table.list_entries(key) for key in keys}
        assert [one.version for one in table.list_entries(first)] == [1, 2]
        table.end_batch()
    index.close()


def test_a_batch_that_failed_leaves_no_entry(desk: Desk, searched: SearchDesk) -> None:
    index = WordIndex(desk.registry)
    words = EntryWords(text="word", title="", people="", metadata="")
    with suppress(apsw.InterruptError), index.connection:
        index.words.begin_batch()
        index.words.add_entry(Entry(0, "a", 1, "text", 0, 0), words)
        raise apsw.InterruptError
    with index.connection:
        index.words.begin_batch()
        number = index.words.add_entry(Entry(0, "b", 1, "text", 0, 0), words)
        index.words.end_batch()
    assert index.words.list_entries("a") == []
    assert [one.id for one in index.words.list_entries("b")] == [number]
    index.close()
