"""The index of passages: what it finds, what it forgets, and how it resumes."""

from __future__ import annotations

import random
from collections import Counter

import apsw
import pytest
from tests.conftest import TODAY, Desk, html, text
from tests.upkeep.test_fingerprints import PLANTED, RFC, list_equal_runs, read_words

pytest.importorskip("numpy")

from perdure.errors import MissingLibrary
from perdure.ids import parse
from perdure.model.commands import Erase, Restrict, Withdraw
from perdure.model.queries import PUBLIC_READER
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import Record
from perdure.upkeep.changes.following import catch_up
from perdure.upkeep.quotations.finding import MOST_PLACES, FoundPassage, find_passages
from perdure.upkeep.quotations.fingerprints import WORDS, Match
from perdure.upkeep.quotations.passage_index import FILE, PassageIndex
from perdure.upkeep.quotations.words import FoldedWords, fold_text

SENTENCE = " ".join(f"word{number}" for number in range(15))
LETTER = f"He wrote:\n> {SENTENCE.upper()}.\nSo he did."


def name_first(desk: Desk) -> str:
    return f"{TODAY}/1.text.1"


def search(desk: Desk, wanted: str, without: str = "") -> list[FoundPassage]:
    index = PassageIndex(desk.registry)
    try:
        list(catch_up(desk.registry.records, index))
        found = find_passages(desk.registry, index, wanted, PUBLIC_READER, without=without)
        return list(found)
    finally:
        index.close()


def list_rows(desk: Desk) -> list[tuple[str, str]]:
    index = PassageIndex(desk.registry)
    try:
        list(catch_up(desk.registry.records, index))
        return [(one.name, one.sha512) for one in index.list_documents()]
    finally:
        index.close()


def test_a_passage_is_found_with_its_places_and_part(desk: Desk) -> None:
    desk.mint(text(f"Before this. {SENTENCE}. After it."))
    (found,) = search(desk, LETTER)
    assert LETTER[found.start : found.stop] == SENTENCE.upper()
    assert (found.their_start, found.their_stop) == (13, 13 + len(SENTENCE))
    assert (found.name, found.words) == (name_first(desk), WORDS.promise)
    assert found.part == f"char=13,{13 + len(SENTENCE)}"


def test_the_text_of_a_page_is_searched_without_its_tags(desk: Desk) -> None:
    desk.mint(html("<p>" + SENTENCE.replace(" word7", " <b>word7</b>") + "</p>"))
    (found,) = search(desk, LETTER)
    assert found.words == WORDS.promise


def test_twelve_characters_of_a_script_without_spaces_are_found(desk: Desk) -> None:
    desk.mint(html("<meta charset=utf-8><p>前言。永遠存在的識別符號可以引用文字。"))
    assert [one.words for one in search(desk, "他說：「永遠存在的識別符號可以引」")] == [12]
    assert search(desk, "他說：「永遠存在的識別符號」") == []


def test_fewer_or_other_words_are_not_reported(desk: Desk) -> None:
    desk.mint(text(SENTENCE))
    assert search(desk, SENTENCE.rpartition(" ")[0]) == []
    assert search(desk, SENTENCE.replace("word7", "else")) == []


def test_a_hit_is_compared_with_the_words_as_they_are_written(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "nothing false": even if the numbers of two words were equal by chance."""
    desk.mint(text(SENTENCE))
    asked: list[int] = []

    def claim_all(_a: FoldedWords, first: int, _b: FoldedWords, _second: int) -> Match:
        asked.append(first)
        return Match(0, 0, WORDS.promise)

    monkeypatch.setattr("perdure.upkeep.quotations.finding.extend_match", claim_all)
    assert search(desk, SENTENCE.replace("word14", "else")) == []
    assert asked
    assert len(search(desk, SENTENCE)) == 1


def test_boilerplate_is_what_stands_in_more_than_64_places(desk: Desk) -> None:
    between = "\n".join(f"{SENTENCE} {number}" for number in range(MOST_PLACES))
    desk.mint(text(between))
    assert len(search(desk, LETTER)) == MOST_PLACES
    desk.mint(text(SENTENCE))
    assert search(desk, LETTER) == []


def test_the_documents_of_a_record_can_be_left_out(desk: Desk) -> None:
    desk.mint(text(SENTENCE))
    key = parse(name_first(desk)).resource.key
    assert search(desk, LETTER)
    assert search(desk, LETTER, without=key) == []


@pytest.mark.parametrize("command", [Withdraw, Erase])
def test_what_is_withdrawn_or_erased_leaves_the_index(desk: Desk, command: type[Withdraw]) -> None:
    desk.reopen(erasure_persons=1)
    desk.mint(text(SENTENCE))
    desk.mint(text(SENTENCE + " more"))
    assert len(search(desk, LETTER)) == 2
    gone = command(identifier=parse(f"{TODAY}/1"), reason="a court said so")
    desk.registry.door.execute_command(gone)
    assert [name for name, _ in list_rows(desk)] == [f"{TODAY}/2.text.1"]
    assert [one.name for one in search(desk, LETTER)] == [f"{TODAY}/2.text.1"]


@pytest.mark.corpus
def test_every_run_of_15_equal_words_of_an_rfc_is_found_and_nothing_false(desk: Desk) -> None:
    """ "every run of 15 equal words" (the promise), with brute force as the judge."""
    if not RFC.exists():
        pytest.skip("the corpus of real documents is not here")
    data = RFC.read_bytes()
    desk.mint(text(data))
    choose = random.Random(17)
    own = read_words(data.decode("latin-1"))
    starts = [choose.randrange(len(own) - 60) for _ in range(PLANTED)]
    lines = ["\n> ".join(own[at : at + choose.randrange(15, 60)]).upper() for at in starts]
    letter = "\n".join(f"Letter {number} says: {line}." for number, line in enumerate(lines))
    theirs = read_words(letter)
    folded = fold_text(letter).words
    stored = fold_text(data.decode("latin-1")).words
    counts = Counter(zip(*(own[at:] for at in range(WORDS.size)), strict=False))
    covered = set()
    for one in search(desk, letter):
        first = folded.starts.tolist().index(one.start)
        second = stored.starts.tolist().index(one.their_start)
        assert theirs[first : first + one.words] == own[second : second + one.words]
        covered |= {(second + at, first + at) for at in range(one.words - WORDS.promise + 1)}
    for before, after in list_equal_runs(own, theirs, WORDS.promise):
        run = own[before : before + WORDS.promise]
        sixes = zip(*(run[at:] for at in range(WORDS.size)), strict=False)
        assert (before, after) in covered or max(counts[six] for six in sixes) > MOST_PLACES
    assert len(covered) > PLANTED


def test_a_document_withdrawn_since_is_not_reported(desk: Desk) -> None:
    desk.mint(text(SENTENCE))
    index = PassageIndex(desk.registry)
    list(catch_up(desk.registry.records, index))
    desk.registry.door.execute_command(
        Withdraw(identifier=parse(f"{TODAY}/1"), reason="a court said so")
    )
    assert list(find_passages(desk.registry, index, LETTER, PUBLIC_READER)) == []
    index.close()


def test_a_closed_document_is_not_named(desk: Desk) -> None:
    desk.mint(text(SENTENCE))
    rule = ReadingRule(about=name_first(desk), access=Access.CLOSED)
    desk.registry.door.execute_command(Restrict(rule=rule))
    assert search(desk, LETTER) == []


def test_the_index_resumes_after_a_crash_and_can_be_deleted(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "resumable at any kill": the third document is lost together with its position."""
    for number in range(5):
        desk.mint(text(f"{SENTENCE} {number}"))
    taken: list[str] = []
    index = PassageIndex(desk.registry)

    def stop_at_third(key: str, record: Record | None) -> None:
        taken.append(key)
        if len(taken) == 3:
            PassageIndex.index_record(index, key, record)
            raise KeyboardInterrupt
        PassageIndex.index_record(index, key, record)

    monkeypatch.setattr(index, "index_record", stop_at_third)
    with pytest.raises(KeyboardInterrupt):
        list(catch_up(desk.registry.records, index))
    assert len(list(index.list_documents())) == 2
    index.close()
    rows = list_rows(desk)
    assert len(rows) == 5
    (desk.root / FILE).unlink()
    assert list_rows(desk) == rows


def test_a_damaged_record_is_noted_and_hides_no_other(desk: Desk) -> None:
    for number in range(3):
        desk.mint(text(f"{SENTENCE} {number}"))
    key = parse(f"{TODAY}/2").key
    database = apsw.Connection(str(desk.root / "registry.sqlite"))
    database.execute("DROP TRIGGER records_hold")
    database.execute("UPDATE records SET record = 'x' || record WHERE key = ?", (key,))
    assert database.changes() == 1
    database.close()
    desk.reopen()
    assert [name for name, _ in list_rows(desk)] == [f"{TODAY}/1.text.1", f"{TODAY}/3.text.1"]
    index = PassageIndex(desk.registry)
    ((name, problem),) = index.list_unread()
    index.close()
    assert name == key
    assert problem


def test_a_document_without_readable_text_is_noted_until_its_record_changes(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.mint(text(SENTENCE))
    index = PassageIndex(desk.registry)
    with monkeypatch.context() as broken:
        broken.setattr(desk.registry.parts, "read_text", refuse_text)
        list(catch_up(desk.registry.records, index))
    assert [one.name for one in index.list_unread()] == [name_first(desk)]
    desk.registry.door.execute_command(
        Withdraw(identifier=parse(f"{TODAY}/1"), reason="a court said so")
    )
    list(catch_up(desk.registry.records, index))
    assert index.list_unread() == []
    index.close()


def refuse_text(source: object) -> None:
    raise MissingLibrary(library="pypdfium2", task="reading text of PDF", extra="text")
