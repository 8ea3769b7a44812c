"""The index of passages: what it finds, what it forgets, and how it resumes."""

from __future__ import annotations

import random
import struct
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import AUTHORITY, SERIES, TODAY, Desk, html, text
from tests.upkeep.test_fingerprints import PLANTED, RFC, list_equal_runs, read_words

pytest.importorskip("numpy")

import numpy as np

from perdure.errors import MissingLibrary
from perdure.ids import parse
from perdure.model.commands import Erase, Restrict, Withdraw
from perdure.model.queries import PUBLIC_READER, Gone, Query
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import Record
from perdure.storage.spool import make_content
from perdure.upkeep.changes.following import catch_up
from perdure.upkeep.quotations import FILE
from perdure.upkeep.quotations.asking import find_quotations_of
from perdure.upkeep.quotations.finding import MOST_PLACES, FoundPassage, find_passages
from perdure.upkeep.quotations.fingerprints import WORDS, Match
from perdure.upkeep.quotations.passage_index import RUNS, PassageIndex
from perdure.upkeep.quotations.runs import STRETCH
from perdure.upkeep.quotations.words import FoldedWords, fold_text, spell_words

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


@pytest.mark.parametrize(
    "page",
    [
        "<h1>Title</h1><p>{}</p><p>The end",
        "<table><tr><td>a</td><td>{}</td><td>b</td></table>",
        "<ul><li>a<li>{}<li>b</ul>",
        "<h1>Tïtle</h1><p>{}</p><p>Das Ende",  # with accents
        "<h1>Ti\u00adtle</h1><p>{}</p><p>The end",  # with characters that do not count
    ],
)
@pytest.mark.parametrize("at", [0, 7])
def test_words_end_where_a_block_of_a_page_does(desk: Desk, page: str, at: int) -> None:
    """ "every run of 15 equal words that is not boilerplate is found": exactly 15, also if nothing
    but a tag is between two of them, in both directions.
    """
    words = SENTENCE.split()
    written = "</p><p>".join((" ".join(words[:at]), " ".join(words[at:]))) if at else SENTENCE
    data = page.format(written).encode()
    desk.mint(make_content(data, format="html", media_type="text/html", charset="utf-8"))
    (found,) = search(desk, LETTER)
    assert (found.words, LETTER[found.start : found.stop]) == (15, SENTENCE.upper())
    index = PassageIndex(desk.registry)
    desk.mint(text(LETTER))
    list(catch_up(desk.registry.records, index))
    resolved = desk.registry.reading.resolve(Query(identifier=parse(f"{TODAY}/1.html.1")))
    report = find_quotations_of(desk.registry, index, resolved, PUBLIC_READER)
    index.close()
    assert not isinstance(report, Gone)
    assert [one.words for one in report.quotations] == [15]


@given(st.lists(st.text("ab1ä\u00adßえ .", min_size=1), min_size=1, max_size=6))
def test_law_a_break_divides_words_as_a_blank_does(pieces: list[str]) -> None:
    """ "it also ends where a block of a page begins or ends, although nothing divides it there"."""
    breaks = np.cumsum([len(one) for one in pieces])[:-1].astype(np.intp)
    broken, divided = fold_text("".join(pieces), breaks), fold_text(" ".join(pieces))
    for ours, theirs in zip(broken, divided, strict=True):
        assert ours.numbers.tolist() == theirs.numbers.tolist()
    assert spell_words("".join(pieces), breaks) == spell_words(" ".join(pieces))


@pytest.mark.parametrize(
    ("authority", "part"), [(SERIES, "byte=26,{}"), (AUTHORITY, "offset(26,{})")]
)
def test_a_passage_of_mail_has_the_part_that_its_name_can_say(
    desk: Desk, authority: str, part: str
) -> None:
    mail = f"From: ann@office.example\n\n{SENTENCE}\n".encode()
    content = make_content(mail, format="rfc822", media_type="message/rfc822", charset="us-ascii")
    desk.mint(content, authority=authority)
    (found,) = search(desk, LETTER)
    assert found.part == part.format(len(mail))


def test_twelve_characters_of_a_script_without_spaces_are_found(desk: Desk) -> None:
    desk.mint(html("<meta charset=utf-8><p>前言。永遠存在的識別符號可以引用文字。"))
    assert [one.words for one in search(desk, "他說：「永遠存在的識別符號可以引」")] == [12]
    assert search(desk, "他說：「永遠存在的識別符號」") == []


def test_every_run_of_12_equal_characters_is_found_and_nothing_false(desk: Desk) -> None:
    """ "every run of 12 equal characters of scripts without spaces" (the promise), with brute force
    as the judge. The text repeats itself, also within a stretch.
    """
    choose = random.Random(12)
    pieces = [
        "".join(choose.choices("永遠存在識別", k=choose.randrange(12, 90))) for _ in range(60)
    ]
    written = "".join(choose.choices(pieces, k=120))
    assert len(written) > 4 * STRETCH
    desk.mint(html(f"<meta charset=utf-8><p>{written}"))
    pieces += ["".join(choose.choices("可以引用文字", k=30)) for _ in range(20)]
    letter = "".join(choose.choices(pieces, k=80))
    counts = Counter(written[at : at + 6] for at in range(len(written)))
    covered = set()
    for one in search(desk, letter):
        assert letter[one.start : one.stop] == written[one.their_start : one.their_stop]
        covered |= {(one.their_start + at, one.start + at) for at in range(one.words - 11)}
    expected = list_equal_runs(list(written), list(letter), 12)
    assert len(expected) > 1000
    for before, after in expected:
        run = written[before : before + 12]
        common = max(counts[run[at : at + 6]] for at in range(7))
        assert (before, after) in covered or common > MOST_PLACES


def test_words_far_from_each_other_are_found(desk: Desk) -> None:
    """A run of words may be longer than a window, and than many stretches."""
    words = SENTENCE.split()
    desk.mint(text(f"{(' ' * 40_000).join(words)} end"))
    (found,) = search(desk, LETTER)
    assert (found.words, found.their_start) == (WORDS.promise, 0)


def test_passages_at_the_border_of_a_window_are_found(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure.upkeep.quotations.finding._WINDOW", 8192)
    choose = random.Random(5)
    passages = [" ".join(f"w{choose.randrange(10**9)}" for _ in range(15)) for _ in range(400)]
    desk.mint(text("\n".join(f"{one} before" for one in passages)))
    found = search(desk, "\n".join(f"{one} after" for one in passages))
    assert [one.words for one in found] == [15] * len(passages)


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
    """ "an interrupted run resumes after the last page": nothing of this one is kept."""
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
    assert list(index.list_documents()) == []
    index.close()
    rows = list_rows(desk)
    assert len(rows) == 5
    assert {one.name for one in search(desk, LETTER)} == {name for name, _ in rows}
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


def read_runs(desk: Desk) -> list[tuple[int, int, int]]:
    """The fingerprint, the document and the stretch of each posting, read bit by bit as the form of
    a run says.
    """
    runs = [one.read_bytes() for one in sorted((desk.root / RUNS).glob("*.run"))]
    return sorted(row for run in runs for row in read_run(run))


def read_run(run: bytes) -> Iterator[tuple[int, int, int]]:
    assert run[:8] == b"PERDURE\x02"
    count, size, offset, bucket_bits, position_bits = struct.unpack_from("<5Q", run, 8)
    documents = struct.unpack_from(f"<{size}I", run, 48)
    firsts = struct.unpack_from(f"<{size + 1}Q", run, 48 + 4 * size)
    at = 48 + 4 * size + 8 * (size + 1)
    stop = at + ((1 << bucket_bits) + 1) * offset
    offsets = [int.from_bytes(run[one : one + offset], "little") for one in range(at, stop, offset)]
    packed = int.from_bytes(run[stop:], "little")
    low_bits = 40 - bucket_bits
    for number in range(count):
        value = packed >> (number * (low_bits + position_bits)) & ~(-1 << low_bits + position_bits)
        position = value & ~(-1 << position_bits)
        row = bisect_right(firsts, position) - 1
        high = bisect_right(offsets, number) - 1
        yield high << low_bits | value >> position_bits, documents[row], position - firsts[row]


def test_the_fingerprints_of_a_withdrawn_document_are_deleted_from_the_files(desk: Desk) -> None:
    """ "what was computed from it is deleted" (ruling: tombstone-silence)."""
    desk.mint(text("entirely different words, " * 3 + SENTENCE[:60]))
    list_rows(desk)
    before = read_runs(desk)
    desk.mint(text(SENTENCE))
    list_rows(desk)
    assert read_runs(desk) != before
    desk.withdraw(f"{TODAY}/2")
    list_rows(desk)
    assert [one for one in read_runs(desk) if one[1]] == before
    low = (1 << 40 - 8) - 1  # the high bits are those of the bucket
    others = {one & low for one, _, _ in before} | {0}
    assert {one & low for one, _, _ in read_runs(desk)} <= others, "nor one that only it had"


def test_an_index_in_the_format_before_is_made_again(desk: Desk) -> None:
    """Format 3 had 12 bytes for each posting, behind `PERDURE` %x01 and 257 offsets."""
    desk.mint(text(SENTENCE))
    rows = list_rows(desk)
    old = desk.root / RUNS / "000000001.run"
    old.write_bytes(b"PERDURE\x01" + struct.pack("<257Q3I", *([0] * 256), 1, 7, 1, 0))
    database = apsw.Connection(str(desk.root / FILE))
    database.pragma("user_version", 3)
    database.close()
    assert list_rows(desk) == rows
    assert len(search(desk, LETTER)) == 1
    assert {one.read_bytes()[:8] for one in old.parent.glob("*.run")} == {b"PERDURE\x02"}


def test_runs_are_merged_and_their_number_grows_slowly(desk: Desk) -> None:
    for number in range(40):
        desk.mint(text(f"{SENTENCE} {number}"))
        list_rows(desk)
    assert len(list((desk.root / RUNS).glob("*.run"))) <= 6
    assert len(search(desk, LETTER)) == 40


def test_a_missing_run_makes_the_index_begin_again(desk: Desk) -> None:
    desk.mint(text(SENTENCE))
    rows = list_rows(desk)
    for path in (desk.root / RUNS).glob("*.run"):
        path.write_bytes(path.read_bytes()[:-1])
    assert list_rows(desk) == rows
    assert len(search(desk, LETTER)) == 1


def test_a_long_text_is_searched_from_end_to_end(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text above the limit for texts in memory, in stretches: the passages at every border."""
    monkeypatch.setattr("perdure.upkeep.quotations.texts.LARGEST", 1000)
    monkeypatch.setattr("perdure.upkeep.quotations.texts._STRETCH", 40_000)
    choose = random.Random(3)
    fillers = [f"w{choose.randrange(10**9)}" for _ in range(20_000)]
    written = "\r\n".join(" ".join(fillers[at : at + 8]) for at in range(0, len(fillers), 8))
    desk.mint(text(written))
    for at in (*range(0, len(fillers) - 20, 997), len(fillers) - 15):
        wanted = " ".join(fillers[at : at + 15])
        (found,) = search(desk, wanted)
        assert found.words == 15
        counted = written.replace("\r\n", "\n")
        assert counted[found.their_start : found.their_stop].split() == wanted.split()
        begin = found.their_start + counted.count("\n", 0, found.their_start)
        end = found.their_stop + counted.count("\n", 0, found.their_stop)
        assert found.part == f"char={begin},{end}"  # of canonical text


def test_a_passage_longer_than_a_window_is_found_as_one(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure.upkeep.quotations.finding._WINDOW", 20_000)
    choose = random.Random(4)
    written = " ".join(f"w{choose.randrange(10**9)}" for _ in range(9000))
    desk.mint(text(f"before {written} after"))
    (found,) = search(desk, written)
    assert (found.words, found.their_start) == (9000, len("before "))


def refuse_text(source: object) -> None:
    raise MissingLibrary(library="pypdfium2", task="reading text of PDF", extra="text")
