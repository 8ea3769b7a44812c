"""Withdrawn, closed and erased things are not found, from the same act on."""

from __future__ import annotations

import json
import threading

import apsw
import pytest
from tests.conftest import TODAY, Desk, text
from tests.upkeep.searching.conftest import SearchDesk

from perdure.ids import parse
from perdure.model.commands import Describe, Erase, Restrict
from perdure.model.queries import LOCAL_READER
from perdure.model.reading_rules import Access, ReadingRule
from perdure.upkeep.searching import finding
from perdure.upkeep.searching.indexing import FILE
from perdure.upkeep.searching.updating import Searching, update_index

MARKER = "xyzzymarker"


def read_file(desk: Desk) -> bytes:
    """Every byte of the index."""
    paths = (desk.root / FILE).parent.glob("search.sqlite*")
    return b"".join(path.read_bytes() for path in paths)


def close(desk: Desk, about: str, access: Access = Access.CLOSED) -> None:
    desk.registry.door.execute_command(Restrict(rule=ReadingRule(about=about, access=access)))


def describe(desk: Desk, name: str, title: str) -> None:
    patch = json.dumps({"titles": [{"value": title}]}).encode()
    desk.registry.door.execute_command(Describe(identifier=parse(name), patch=patch))


def test_what_is_withdrawn_is_not_found_although_the_index_lags_behind(
    desk: Desk, searched: SearchDesk
) -> None:
    for number in range(3):
        desk.mint(text(f"word {MARKER} {number}"))
    assert searched.count(MARKER) == (3, False)
    desk.withdraw(f"{TODAY}/2")
    for reader in ((), (LOCAL_READER,)):
        assert searched.names(MARKER, *reader, update=False) == ["3.text.1", "1.text.1"]
        assert searched.count(MARKER, *reader, update=False) == (2, False)
    assert searched.ask(MARKER, update=False).state.behind == 1
    assert searched.names(MARKER) == ["3.text.1", "1.text.1"]
    assert searched.ask(MARKER).state.behind == 0


def test_a_version_that_is_withdrawn_is_not_found(desk: Desk, searched: SearchDesk) -> None:
    desk.mint(text(f"{MARKER} one"))
    desk.commit(f"{TODAY}/1", text("two"))
    assert searched.names(MARKER) == ["1.text.1"]
    desk.withdraw(f"{TODAY}/1", version=1)
    assert searched.names(MARKER, update=False) == []
    assert searched.names(MARKER) == []
    assert searched.names("two") == ["1.text.2"]


def test_the_description_of_what_is_withdrawn_is_not_found(
    desk: Desk, searched: SearchDesk
) -> None:
    desk.mint(text("word"))
    describe(desk, f"{TODAY}/1", MARKER)
    assert searched.names(MARKER) == ["1.text.1"]
    desk.withdraw(f"{TODAY}/1", silent=True)
    assert searched.names(MARKER, update=False) == searched.names(MARKER) == []


def test_a_changed_description_is_not_found_by_its_old_words(
    desk: Desk, searched: SearchDesk
) -> None:
    desk.mint(text("word"))
    describe(desk, f"{TODAY}/1", MARKER)
    assert searched.names(MARKER) == ["1.text.1"]
    describe(desk, f"{TODAY}/1", "other")
    assert (searched.names(MARKER, update=False), searched.count(MARKER, update=False)) == (
        [], (0, False),
    )  # fmt: skip
    assert searched.names("other") == ["1.text.1"]


@pytest.mark.parametrize("is_erased", [False, True])
def test_no_word_of_what_is_withdrawn_or_erased_is_left_in_the_index(
    desk: Desk, searched: SearchDesk, is_erased: bool
) -> None:
    """ruling tombstone-silence: "what was computed from it is deleted" """
    desk.reopen(erasure_persons=1)
    desk.mint(text(f"word {MARKER}"))
    for number in range(50):
        desk.mint(text(f"another word {number}"))
    assert searched.names(MARKER) == ["1.text.1"]
    assert MARKER.encode() in read_file(desk)
    if is_erased:
        erasing = Erase(identifier=parse(f"{TODAY}/1"), reason="a court said so")
        desk.registry.door.execute_command(erasing)
    else:
        desk.withdraw(f"{TODAY}/1")
    assert searched.names(MARKER) == []
    assert MARKER.encode() not in read_file(desk)
    assert len(searched.find("word", limit=100)) == 50


def test_what_is_closed_is_found_by_its_readers_only(desk: Desk, searched: SearchDesk) -> None:
    desk.mint(text(f"word {MARKER}"))
    desk.mint(text("word"))
    close(desk, f"{TODAY}/1")
    for update in (False, True):
        if not update:
            searched.ask("word", LOCAL_READER)  # indexes
        assert searched.names(MARKER, update=update) == []
        assert searched.count(MARKER, update=update) == (0, False)
        assert searched.names("word", update=update) == ["2.text.1"]
        assert searched.count("word", update=update) == (1, False)
        assert searched.names(MARKER, LOCAL_READER, update=update) == ["1.text.1"]


def test_a_rule_holds_from_the_same_act_on(desk: Desk, searched: SearchDesk) -> None:
    desk.mint(text(MARKER))
    assert searched.names(MARKER) == ["1.text.1"]
    close(desk, f"{TODAY}/1")
    assert searched.names(MARKER, update=False) == []
    assert searched.count(MARKER, update=False) == (0, False)


def test_a_closed_part_closes_the_words_of_its_document(desk: Desk, searched: SearchDesk) -> None:
    desk.mint(text(f"word {MARKER}"))
    close(desk, f"{TODAY}/1.text.1#char=5,9")
    assert searched.names(MARKER) == searched.names("word") == []
    assert searched.names(MARKER, LOCAL_READER) == ["1.text.1"]


def test_a_closed_description_hides_nothing_and_is_not_found(
    desk: Desk, searched: SearchDesk
) -> None:
    """Not even as a word that must not occur: its absence would tell."""
    desk.mint(text("word of one"))
    desk.commit(f"{TODAY}/1", text("word of two"))
    describe(desk, f"{TODAY}/1.*.2", MARKER)
    close(desk, f"{TODAY}/1")
    close(desk, f"{TODAY}/1.*.1", Access.OPEN)
    assert searched.names(MARKER) == []
    assert searched.names(f"word -{MARKER}") == searched.names("word") == ["1.text.1"]
    assert searched.count(f"word -{MARKER}") == (1, False)


def test_pages_do_not_tell_of_what_is_closed(
    desk: Desk, searched: SearchDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        desk.mint(text(f"word {number}"))
    for number in (1, 2, 3):
        close(desk, f"{TODAY}/{number}")
    page = searched.ask("word", limit=3).page
    assert (len(page.documents), page.cursor, page.count) == (3, None, 3)
    monkeypatch.setattr(finding, "_MOST_COUNTED_SLOWLY", 3)
    assert searched.count("word") == (3, False)


def test_other_names_that_are_closed_are_not_shown(desk: Desk, searched: SearchDesk) -> None:
    desk.mint(text(MARKER))
    desk.mint(text(MARKER))
    close(desk, f"{TODAY}/1")
    (found,) = searched.find(MARKER)
    assert (found.identifier, found.also) == (f"{TODAY}/2.text.1", ())
    close(desk, f"{TODAY}/2")
    desk.mint(text(MARKER))
    close(desk, f"{TODAY}/1", Access.OPEN)
    (found,) = searched.find(MARKER)
    assert (found.identifier, found.also) == (f"{TODAY}/3.text.1", (f"{TODAY}/1.text.1",))


def test_what_is_damaged_is_not_found_and_hides_no_other(desk: Desk, searched: SearchDesk) -> None:
    desk.mint(text(f"{MARKER} one"))
    desk.mint(text(f"{MARKER} two"))
    assert len(searched.find(MARKER)) == 2
    key = parse(f"{TODAY}/1").key
    database = apsw.Connection(str(desk.root / "registry.sqlite"))
    database.execute("DROP TRIGGER records_hold")
    database.execute("UPDATE records SET record = 'x' || record WHERE key = ?", (key,))
    database.close()
    desk.reopen()
    assert searched.names(MARKER) == ["2.text.1"]
    list(update_index(desk.registry, again=True))
    assert searched.names(MARKER) == ["2.text.1"]
    (unread,) = Searching(desk.registry).list_unread()
    assert unread.name == key


def test_nothing_is_found_after_the_act_while_others_search(
    desk: Desk, searched: SearchDesk
) -> None:
    """Ruled: "not found, from the same act on". A search that begins after the act has ended never
    finds them, whatever searches and follows the changes beside it."""
    count = 24
    for number in range(count):
        desk.mint(text(f"word {MARKER} {number}"))
    list(update_index(desk.registry))
    ended: set[str] = set()
    stop = threading.Event()
    shown: list[set[str]] = []
    searches = 0

    def search() -> None:
        nonlocal searches
        while not stop.is_set():
            gone = set(ended)  # whose act had ended before this search began
            found = set(searched.names(MARKER, update=False, limit=count))
            shown.append(found & gone)
            searches += 1

    def follow() -> None:
        while not stop.is_set():
            list(update_index(desk.registry))

    threads = [threading.Thread(target=one) for one in (search, search, follow)]
    for thread in threads:
        thread.start()
    for number in range(1, count + 1):
        name = f"{TODAY}/{number}"
        if number % 2:
            desk.withdraw(name)
        else:
            close(desk, name)
        ended.add(f"{number}.text.1")
        before = searches
        while searches < before + 2 and all(one.is_alive() for one in threads[:2]):
            threads[0].join(0.001)
    stop.set()
    for thread in threads:
        thread.join()
    assert searches >= 2 * count
    assert [one for one in shown if one] == []
    assert searched.names(MARKER) == []


@pytest.mark.parametrize("archive", ["arc.example", ""])
def test_rules_about_captures_hide_the_titles_of_their_names(
    desk: Desk, searched: SearchDesk, archive: str
) -> None:
    """ "A document that the reader may not see has no effect on an answer, be it on its hits, its
    count or its pages": the rules are about addresses, with or without `archive_id` as in a mirror.
    """
    desk.reopen(archive_id=archive)
    for host in ("closed.example", "open.example"):
        name = f"pwid:arc.example:2014-01-26T20.07.00Z:page:http://{host}/"
        desk.bind(name, f"https://a.example/{host}", register=True)
        describe(desk, name, f"Memoir about {host.partition('.')[0]}")
    rule = ReadingRule(about="http://closed.example/", match="prefix", access=Access.CLOSED)
    desk.registry.door.execute_command(Restrict(rule=rule))
    page = searched.ask("memoir").page
    assert (len(page.documents), page.count) == (1, 1)
    assert [one.count for one in page.facets.series] == [1]
    page = searched.ask('"about closed"').page
    assert (page.documents, page.count, page.facets.series) == ((), 0, ())
