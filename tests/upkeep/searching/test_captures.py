"""Captures are found by their words, as long as the reader may have them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.archives.warcs import Warc
from tests.conftest import Desk, text
from tests.upkeep.searching.conftest import SearchDesk

from perdure.archives.withholding import Withholding
from perdure.ids import parse
from perdure.model.commands import Erase, Register, Restrict, Withdraw
from perdure.model.queries import LOCAL_READER, PUBLIC_READER
from perdure.model.reading_rules import Access, ReadingRule
from perdure.upkeep.forgetting import forget_captures, forget_withdrawn
from perdure.upkeep.searching import updating
from perdure.upkeep.searching.indexing import FILE
from perdure.upkeep.searching.updating import Searching, update_index

HOST = "http://a.example/"
AT = "2014-01-26T20:06:24Z"
LATER = "2015-01-26T20:06:24Z"
PAGE = b"<html><head><title>The gazette &amp; more</title></head><body><p>An aardvark was seen.</p>"
PWID = f"pwid:archive.example.org:2014-01-26T20.06.24Z:page:{HOST}"
PWID_LATER = f"pwid:archive.example.org:2015-01-26T20.06.24Z:page:{HOST}"


@pytest.fixture
def archive(desk: Desk, searched: SearchDesk) -> SearchDesk:
    pytest.importorskip("fastwarc")
    settings = desk.root / "perdure.toml"
    settings.write_text(f'{settings.read_text()}archive_id = "archive.example.org"\n')
    desk.reopen()
    return searched


def add_page(desk: Desk, path: Path, at: str = AT, *, move: bool = False) -> None:
    warc = Warc(path)
    warc.response(HOST, at, PAGE)
    desk.registry.archive.add_file(warc.finish(), move=move)


def take_down(desk: Desk, *, lifts: bool = False) -> None:
    desk.registry.archive.take_down(
        Withholding(uri=HOST, match="exact", reason="a court", at=AT, by="local", lifts=lifts)
    )


def has_word(desk: Desk, word: bytes) -> bool:
    """Return True if a word is in the file of the index, or in its log."""
    files = (desk.root / FILE).parent.glob("search.sqlite*")
    return any(word in one.read_bytes() for one in files)


def test_a_page_is_found_by_its_words_and_its_title(archive: SearchDesk, tmp_path: Path) -> None:
    add_page(archive.desk, tmp_path / "a.warc.gz")
    (found,) = archive.find("aardvark")
    assert (found.identifier, found.title, found.media_type, found.day, found.at) == (
        PWID, "The gazette & more", "text/html", "2014-01-26", AT
    )  # fmt: skip
    (passage,) = found.passages
    assert passage.text == "The gazette & more\nAn aardvark was seen."
    (hit,) = passage.hits
    assert passage.text[hit.start : hit.stop] == "aardvark"
    assert hit.identifier is None  # no PWID names a part
    assert archive.names("gazette", places=("title",)) == [PWID]
    assert archive.names("aardvark", places=("title",)) == []
    assert archive.names("aardvark", formats=("html",), first="2014", last="2014-01") == [PWID]
    assert archive.names("aardvark", formats=("pdf",)) == []
    assert archive.names("gazette -aardvark") == []
    assert archive.count("aardvark") == (1, False)


def test_captures_of_one_address_are_shown_once(archive: SearchDesk, tmp_path: Path) -> None:
    add_page(archive.desk, tmp_path / "a.warc.gz")
    assert archive.names("aardvark") == [PWID]
    add_page(archive.desk, tmp_path / "b.warc.gz", at=LATER)
    (found,) = archive.find("aardvark")
    assert (found.identifier, found.also) == (PWID_LATER, (PWID,))
    assert archive.count("aardvark") == (2, False)


def test_only_answers_with_a_text_are_found(archive: SearchDesk, tmp_path: Path) -> None:
    warc = Warc(tmp_path / "a.warc.gz")
    warc.response(f"{HOST}missing", AT, b"<p>aardvark", status="404 Not Found")
    warc.response(f"{HOST}picture", AT, b"aardvark", media_type="image/png")
    warc.response(f"{HOST}text", AT, "Bär".encode("latin-1"), media_type="text/plain")
    warc.resource(f"urn:text:{HOST}", AT, b"aardvark", "text/plain")
    archive.desk.registry.archive.add_file(warc.finish())
    assert archive.names("aardvark") == []
    assert archive.names("bar") == [PWID.replace(":page:", ":part:") + "text"]


def test_a_damaged_page_is_told_and_hides_no_other(archive: SearchDesk, tmp_path: Path) -> None:
    warc = Warc(tmp_path / "a.warc.gz")
    warc.response(f"{HOST}a.pdf", AT, b"%PDF-1.4 damaged", media_type="application/pdf")
    warc.response(HOST, AT, PAGE)
    archive.desk.registry.archive.add_file(warc.finish())
    for _ in range(2):
        assert archive.names("aardvark") == [PWID]
        (unread,) = Searching(archive.desk.registry).list_unread()
        assert unread.name == f"{HOST}a.pdf of {AT}"
        list(update_index(archive.desk.registry, again=True))


def test_what_was_taken_down_is_silent_from_then_on(archive: SearchDesk, tmp_path: Path) -> None:
    add_page(archive.desk, tmp_path / "a.warc.gz")
    archive.desk.mint(text("another aardvark"))
    assert archive.count("aardvark") == (2, False)
    take_down(archive.desk)
    for update in (False, True):  # the index lags behind first
        assert archive.names("aardvark", update=update) == ["1.text.1"]
        assert archive.count("aardvark", update=update) == (1, False)
    take_down(archive.desk, lifts=True)
    assert archive.count("aardvark") == (2, False)


def test_words_of_what_was_taken_down_leave_the_file(archive: SearchDesk, tmp_path: Path) -> None:
    add_page(archive.desk, tmp_path / "a.warc.gz")
    list(update_index(archive.desk.registry))
    assert has_word(archive.desk, b"aardvark")
    take_down(archive.desk)
    forget_captures(archive.desk.registry)
    assert not has_word(archive.desk, b"aardvark")


@pytest.mark.parametrize("command", [Withdraw, Erase])
def test_a_withdrawn_pwid_is_silent(
    command: type[Withdraw | Erase], archive: SearchDesk, tmp_path: Path
) -> None:
    add_page(archive.desk, tmp_path / "a.warc.gz", move=True)
    registry = archive.desk.registry
    forget_withdrawn(registry)
    assert archive.names("aardvark") == [PWID]
    registry.door.execute_command(Register(identifier=parse(PWID)))
    assert has_word(archive.desk, b"aardvark")
    registry.door.execute_command(Withdraw(identifier=parse(PWID), reason="a court"))
    if command is Erase:
        registry.door.execute_command(Erase(identifier=parse(PWID), reason="a law"))
    assert not has_word(archive.desk, b"aardvark")
    assert archive.names("aardvark", LOCAL_READER, update=False) == []
    assert archive.names("aardvark", LOCAL_READER) == []


def test_a_closed_page_is_found_by_those_who_may_read_it(
    archive: SearchDesk, tmp_path: Path
) -> None:
    add_page(archive.desk, tmp_path / "a.warc.gz")
    rule = ReadingRule(about=HOST, access=Access.CLOSED, match="prefix", by_token=True)
    archive.desk.registry.door.execute_command(Restrict(rule=rule))
    assert archive.names("aardvark", LOCAL_READER) == [PWID]
    assert archive.names("aardvark", PUBLIC_READER) == []
    assert archive.count("aardvark", PUBLIC_READER) == (0, False)


def test_a_closed_archive_tells_nothing(archive: SearchDesk, tmp_path: Path) -> None:
    add_page(archive.desk, tmp_path / "a.warc.gz")
    (archive.desk.root / "own.toml").write_text(
        '[[archive]]\nid = "archive.example.org"\nname = "Ours"\naccess = "closed"\n'
    )
    archive.desk.reopen(archives_file="own.toml")
    assert archive.names("aardvark", LOCAL_READER) == [PWID]
    assert archive.names("aardvark", PUBLIC_READER) == []
    assert archive.count("aardvark", PUBLIC_READER) == (0, False)


def test_without_a_name_of_the_archive_nothing_is_read(
    desk: Desk, searched: SearchDesk, tmp_path: Path
) -> None:
    add_page(desk, tmp_path / "a.warc.gz")
    assert searched.names("aardvark") == []


def test_an_index_of_an_earlier_format_is_made_again(archive: SearchDesk, tmp_path: Path) -> None:
    import apsw

    add_page(archive.desk, tmp_path / "a.warc.gz")
    assert archive.names("aardvark") == [PWID]
    opened = apsw.Connection(str(archive.desk.root / FILE))
    opened.pragma("user_version", 0)
    opened.close()
    assert archive.names("aardvark") == [PWID]
    assert archive.count("aardvark") == (1, False)


def test_the_words_of_a_withdrawn_description_leave_the_file(
    desk: Desk, searched: SearchDesk
) -> None:
    """A name without documents here has words, too."""
    forget_withdrawn(desk.registry)
    desk.register("hdl:1839/a", metadata={"note": "an aardvark"})
    assert searched.names("aardvark") == ["hdl:1839/a"]
    desk.withdraw("hdl:1839/a")
    assert not has_word(desk, b"aardvark")


def test_a_follower_makes_a_deleted_index_again_and_reads_new_files(
    archive: SearchDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No change of a record tells it: archive files and the index are only looked at."""
    monkeypatch.setattr(updating, "_LOOK_FOR_CAPTURES", 0.0)
    registry = archive.desk.registry
    looks = iter(range(6))
    found: list[list[str]] = []

    def look() -> bool:
        number = next(looks, None)
        if number == 1:
            add_page(archive.desk, tmp_path / "a.warc.gz")
        if number in (2, 5):
            found.append(archive.names("aardvark", update=False))
        if number == 3:
            for path in (archive.desk.root / FILE).parent.glob("search.sqlite*"):
                path.unlink()
        return number is not None

    updating.follow_changes(registry, look)
    assert found == [[PWID], [PWID]]
