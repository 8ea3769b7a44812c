"""What is found, in which order, under which names, and with which parts."""

from __future__ import annotations

import json
import random
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from tests.conftest import TODAY, Desk, html, text
from tests.upkeep.searching.conftest import SearchDesk

from perdure.errors import InvalidRequest, MalformedIdentifier
from perdure.errors.requests import ForeignCursor
from perdure.errors.searching import QueryWithoutWords
from perdure.ids import parse
from perdure.model.commands import Assign, Content, Describe
from perdure.model.queries import LOCAL_READER, Fetch, Query
from perdure.model.records import Value
from perdure.policy.searching.query import MOST_CHARACTERS
from perdure.reading.plain_texts import choose_text
from perdure.storage.spool import make_content
from perdure.upkeep.searching import finding, text_index
from perdure.upkeep.searching.found import FoundDocument


def describe(desk: Desk, name: str, **members: object) -> None:
    desk.registry.door.execute_command(
        Describe(identifier=parse(name), patch=json.dumps(members).encode())
    )


def read_part(desk: Desk, identifier: str) -> str:
    """The text of a part, as `perdure text` reads it."""
    resolved = desk.registry.reading.resolve(
        Query(identifier=parse(identifier), reader=LOCAL_READER)
    )
    step = choose_text(resolved)
    assert isinstance(step, Fetch)
    return desk.registry.documents.read_text(resolved, step)


def say(
    said: str, format: str = "utf-8", media_type: str = "text/plain", charset: str = "utf-8"
) -> Content:
    return make_content(said.encode(charset), format=format, media_type=media_type, charset=charset)


def list_hits(found: FoundDocument) -> list[tuple[str, str | None]]:
    return [
        (passage.text[hit.start : hit.stop], hit.identifier)
        for passage in found.passages
        for hit in passage.hits
    ]


def test_a_document_is_found_by_its_words(desk: Desk, searched: SearchDesk) -> None:
    desk.mint(text("The archive is open until further notice."))
    desk.mint(text("Something else."))
    assert searched.names("ARCHIVE") == ["1.text.1"]
    assert searched.names('"further notice" op*') == ["1.text.1"]
    assert searched.names('"notice further"') == []
    assert searched.names("archive -notice") == []
    assert searched.names("something -notice") == ["2.text.1"]


def test_each_hit_is_named_by_the_part_that_contains_it(desk: Desk, searched: SearchDesk) -> None:
    desk.mint(text("No bird.\r\nThe Bird\rof birds\nand a bird."))
    (found,) = searched.find("bird")
    hits = list_hits(found)
    assert [word for word, _ in hits] == ["bird", "Bird", "bird"]
    for word, identifier in hits:
        assert identifier is not None
        assert read_part(desk, identifier) == word


@pytest.mark.parametrize(
    "content",
    [
        say("Grüße, déjà vu", "utf-16", charset="utf-16"),
        say("<p>a &amp; <b>Grü</b>ße, déjà vu", "html", "text/html"),
        say("a,b\ndéjà vu,Grüße\n", "csv", "text/csv"),
        say('{"a": "Grüße, déjà vu"}', "json", "application/json"),
    ],
    ids=["utf-16", "html", "csv", "json"],
)
def test_parts_of_every_kind_of_text(desk: Desk, searched: SearchDesk, content: Content) -> None:
    desk.mint(content)
    (found,) = searched.find('grusse "deja vu"')
    hits = dict(list_hits(found))
    assert set(hits) == {"Grüße", "déjà vu"}
    for word, identifier in hits.items():
        assert identifier is not None
        assert word in read_part(desk, identifier).replace("\n", "")


def test_the_newest_is_the_first(desk: Desk, searched: SearchDesk) -> None:
    for number in range(5):
        desk.mint(text(f"word number {number}"))
    assert searched.names("word") == [f"{number}.text.1" for number in (5, 4, 3, 2, 1)]
    assert searched.names("word", limit=2) == ["5.text.1", "4.text.1"]


def test_pages_list_every_document_once(desk: Desk, searched: SearchDesk) -> None:
    """Whatever is minted meanwhile."""
    for number in range(7):
        desk.mint(text(f"word {number}"))
    seen: list[str] = []
    before: int | None = None
    for count in (7, 8, 9):
        page = searched.ask("word", limit=3, before=before).page
        assert (page.count, page.is_more) == (count, False)
        seen += [one.identifier for one in page.documents]
        before = page.cursor
        desk.mint(text(f"another word {count}"))
    assert before is None
    assert seen == [f"{TODAY}/{number}.text.1" for number in range(7, 0, -1)]


def test_a_thing_is_shown_once_with_its_other_names(desk: Desk, searched: SearchDesk) -> None:
    """ruling urn93-duplicates: "show it once, with its other names" """
    desk.mint(text("word of one"), html("<p>word of one"))
    desk.commit(f"{TODAY}/1", text("word of two"))
    desk.mint(text("word of two"))
    (found,) = searched.find("word")
    assert found.identifier == f"{TODAY}/2.text.1"
    assert found.also == (f"{TODAY}/1.text.2",)
    # the first version has other bytes than the second document, so it is a thing of its own
    assert searched.count("word") == (4, False)


def test_a_thing_is_shown_under_a_name_within_the_limits(desk: Desk, searched: SearchDesk) -> None:
    desk.mint(text("word"), html("<p>word"))
    desk.register("ark:99999/fk4abc", text("word"))
    describe(desk, "ark:99999/fk4abc", dates=[{"value": "1997", "kind": "Issued"}])
    assert searched.names("word", formats=("html",)) == ["1.html.1"]
    assert searched.names("word", within="oma.eop.gov.us", formats=("text",)) == ["1.text.1"]
    assert searched.names("word", first="2026", formats=("text",)) == ["1.text.1"]
    assert searched.names("word", last="1997") == ["ark:99999/fk4abc"]
    (found,) = searched.find("word", last="1997")
    assert found.also == ()


def test_an_earlier_version_is_found_by_words_that_a_later_one_lacks(
    desk: Desk, searched: SearchDesk
) -> None:
    desk.mint(text("first draft"))
    desk.commit(f"{TODAY}/1", text("final text"))
    assert searched.names("draft") == ["1.text.1"]
    assert searched.names("final") == ["1.text.2"]


def test_titles_people_and_metadata_are_searched(desk: Desk, searched: SearchDesk) -> None:
    desk.mint(text("words of the text"))
    describe(
        desk,
        f"{TODAY}/1",
        titles=[{"value": "Annual Report"}],
        creators=[{"name": "Lovelace, Ada"}],
        subjects=[{"value": "birds"}],
    )
    (found,) = searched.find("annual birds words")
    assert (found.title, found.media_type, found.day) == (
        "Annual Report", "text/plain", "2026-11-21",
    )  # fmt: skip
    assert [one.field for one in found.passages] == ["title", "metadata", "text"]
    assert searched.names("lovelace", places=("metadata",)) == ["1.text.1"]
    assert searched.names("annual", places=("title",)) == ["1.text.1"]
    assert searched.names("annual", places=("text",)) == []
    assert searched.names("words", places=("title", "text")) == ["1.text.1"]
    assert searched.names("words", by="ada love*") == ["1.text.1"]
    assert searched.names("words", by="annual") == []


def test_a_name_without_documents_is_found_by_its_description(
    desk: Desk, searched: SearchDesk
) -> None:
    handle = parse("hdl:1839/abc")
    values = (Value(index=1, type="DESC", data="corpus of speech"),)
    desk.registry.door.execute_command(Assign(identifier=handle, values=values))
    (found,) = searched.find("speech")
    assert (found.identifier, found.media_type) == ("hdl:1839/abc", "")


def test_documents_of_other_schemes_are_found(desk: Desk, searched: SearchDesk) -> None:
    desk.register("ark:99999/fk4abc", text("word of an ark"))
    (found,) = searched.find("word")
    assert found.identifier == "ark:99999/fk4abc"
    assert list_hits(found) == [("word", "ark:99999/fk4abc?part=char=0,4")]


def test_limits(desk: Desk, searched: SearchDesk) -> None:
    desk.mint(text("word"))
    desk.mint(html("<p>word two"))
    desk.register("ark:99999/fk4abc", text("word three"))
    describe(desk, f"{TODAY}/1", dates=[{"value": "1997-09", "kind": "Issued"}])
    assert searched.names("word", within="oma.eop.gov.us") == ["1.text.1", "2.html.1"]
    assert searched.names("word", within="ark:99999/fk4*") == ["ark:99999/fk4abc"]
    assert searched.names("word", within=f"{TODAY}/") == ["1.text.1", "2.html.1"]
    assert searched.names("word", last="1997") == ["1.text.1"]
    assert searched.names("word", first="1997-09", last="1997-09") == ["1.text.1"]
    assert searched.names("word", first="1997-10", last="2000") == []
    assert searched.names("word", first="2026", formats=("html",)) == ["2.html.1"]
    assert searched.names("word", formats=("text/html", "pdf")) == ["2.html.1"]
    for mistake in (
        {"within": "pdi://oma.eop.gov.us/1997/*/01/"},
        {"within": "no series"},
        {"first": "yesterday"},
        {"last": "1997/09"},
        {"places": ("body",)},
        {"formats": ("text/",)},
    ):
        with pytest.raises((InvalidRequest, MalformedIdentifier)):
            searched.ask("word", **mistake)


HOSTILE = (
    '" OR 1=1 --', "a' ; DROP TABLE entry; --", '"unclosed', "NEAR(a b, 3)", "text : word",
    "{text title} : word", "^word", "word AND NOT word", "a\0b", "\ud800", "(((((", "word^2",
    "- word", "*", 'a"b"c', "%_", "words_1 MATCH 'a'", "rank:bm25()", "a" * MOST_CHARACTERS,
    "-" * MOST_CHARACTERS, '"' * MOST_CHARACTERS, "a* " * 50, "\u202e\u0301",
)  # fmt: skip


@pytest.mark.parametrize("query", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_searches_are_words_or_a_clear_error(
    desk: Desk, searched: SearchDesk, query: str
) -> None:
    desk.mint(text("word"))
    for places in ((), ("title",)):
        with suppress(QueryWithoutWords):
            assert searched.names(query, places=places) in ([], ["1.text.1"])
    assert searched.names("word") == ["1.text.1"]


def test_the_count_is_bounded(
    desk: Desk, searched: SearchDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finding, "MOST_COUNTED", 3)
    for number in range(3):
        desk.mint(text(f"word {number}"))
    assert searched.count("word") == (3, False)
    desk.mint(text("word"))
    assert searched.count("word") == (3, True)


# compared with grep
# ------------------


@pytest.fixture
def volumes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Volumes are so small that several are searched."""
    monkeypatch.setattr(text_index, "VOLUME", 40)


@pytest.mark.usefixtures("volumes")
def test_what_fits_best_comes_first_among_the_newest(
    desk: Desk, searched: SearchDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rank depends on a document alone, so volumes do not matter; nothing is shown twice."""
    monkeypatch.setattr(text_index, "MOST", 60)
    rng = random.Random(3)
    counts = {}
    for number in range(1, 91):
        counts[number] = rng.randrange(1, 9)
        desk.mint(text("word " * counts[number] + "other " * (10 - counts[number]) + f"n{number}"))
    names, before = [], None
    while True:
        page = searched.ask("word", sort="relevance", limit=7, before=before).page
        names += [int(one.identifier.split("/")[-1].split(".")[0]) for one in page.documents]
        before = page.cursor
        if before is None:
            break
    newest = sorted(range(31, 91), key=lambda number: (-counts[number], -number))
    assert names == [*newest, *range(30, 0, -1)]
    with pytest.raises(ForeignCursor):
        searched.ask("word", sort="relevance", before=1000)


@pytest.mark.usefixtures("volumes")
def test_the_same_documents_are_found_as_by_grep(
    desk: Desk, searched: SearchDesk, tmp_path: Path
) -> None:
    rng = random.Random(19)
    words = ["archive", "archives", "arch", "notice", "further", "of", "the", "a", "Bird", "e-mail",
             "don't", "1997", "café", "naïve", "東京", "京都", "Straße"]  # fmt: skip
    texts = {}
    for number in range(1, 131):
        chosen = [rng.choice(words) for _ in range(rng.randrange(1, 12))]
        said = "".join(one + rng.choice([" ", "\n", ", ", " - "]) for one in chosen)
        texts[f"{number}.utf-8.1"] = said
        desk.mint(say(said))
        (tmp_path / f"{number}.utf-8.1").write_text(said, "utf-8")
    patterns = {
        "archive": r"(?<![\w])archive(?![\w])",
        "arch*": r"(?<![\w])arch",
        '"further notice"': r"(?<![\w])further[^\w]+notice(?![\w])",
        '"of the"': r"(?<![\w])of[^\w]+the(?![\w])",
        "bird": r"(?<![\w])Bird(?![\w])",
        "e-mail": r"(?<![\w])e-mail(?![\w])",
        "café": r"(?<![\w])café(?![\w])",
        "東京": "東京",
        "都": "都",
        "strasse": "Straße",
    }
    for query, pattern in patterns.items():
        done = subprocess.run(
            ["grep", "-Pzlr", pattern, "."],
            cwd=tmp_path,
            env={"LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            check=False,
        )
        expected = {line.removeprefix("./") for line in done.stdout.splitlines()}
        found = {
            name.removeprefix(f"{TODAY}/")
            for one in searched.find(query, limit=200)
            for name in (one.identifier, *one.also)
        }
        if len(expected) < 100:  # else 20 other names of equal bytes are shown at most
            assert found == expected, query
        assert searched.count(query) == (len(expected), False), query


@pytest.mark.usefixtures("volumes")
def test_two_words_are_found_as_by_hand(desk: Desk, searched: SearchDesk) -> None:
    rng = random.Random(7)
    said = []
    for number in range(100):
        some = [f"w{rng.randrange(30)}" for _ in range(6)]
        said.append([*some, f"unique{number}"])
        desk.mint(text(" ".join(said[-1])))
    for first, second in (("w1", "w2"), ("w3", "w29"), ("w7", "w7")):
        expected = [
            f"{number}.text.1"
            for number in range(100, 0, -1)
            if {first, second} <= {*said[number - 1]}
        ]
        assert searched.names(f"{first} {second}", limit=100) == expected
        without = [
            f"{number}.text.1"
            for number in range(100, 0, -1)
            if first in said[number - 1] and second not in said[number - 1]
        ]
        assert searched.names(f"{first} -{second}", limit=100) == without
