"""Captured pages as citing documents: found in archive files, shown as rights and takedowns say."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.archives.warcs import Warc
from tests.conftest import TODAY, Desk, text

from perdure.archives.withholding import Withholding
from perdure.errors import Unauthenticated
from perdure.ids import parse
from perdure.model.commands import Restrict
from perdure.model.queries import LOCAL_READER, PUBLIC_READER, Query, Reader
from perdure.model.reading_rules import Access, ReadingRule
from perdure.upkeep.citations.asking import CitationsWanted, ask_citations
from perdure.upkeep.citations.listing import CitationPage
from perdure.upkeep.indexing import bring_up_to_date, open_citations

SPEECH = f"{TODAY}/1.text.1"
DOI = "doi:10.1000/182"
HOST = "http://a.example/"
AT = "2014-01-26T20:06:24Z"
PWID = f"pwid:archive.example.org:2014-01-26T20.06.24Z:page:{HOST}"


@pytest.fixture
def archive(desk: Desk, tmp_path: Path) -> Desk:
    pytest.importorskip("fastwarc")
    desk.mint(text("Dear Madam"))
    settings = desk.root / "perdure.toml"
    settings.write_text(f'{settings.read_text()}archive_id = "archive.example.org"\n')
    desk.reopen()
    add_pages(desk, tmp_path / "a.warc.gz", f'<q cite="{SPEECH}#char=0,4">Dear</q> {DOI}')
    return desk


def add_pages(desk: Desk, path: Path, *pages: str) -> Path:
    warc = Warc(path)
    for number, page in enumerate(pages):
        warc.response(f"{HOST}{number or ''}", AT, page.encode())
    warc.resource("http://a.example/text", AT, DOI.encode(), "text/plain")  # no page
    desk.registry.archive.add_file(warc.finish())
    return path


def ask(desk: Desk, direction: str, name: str, reader: Reader = LOCAL_READER) -> list[str]:
    with open_citations(desk.registry) as index:
        bring_up_to_date(index)
        query = Query(identifier=parse(name), reader=reader)
        page = ask_citations(desk.registry, index, query, CitationsWanted(direction))
    assert isinstance(page, CitationPage)
    return [one.citing if direction == "citedby" else one.cited for one in page.citations]


def test_a_captured_page_cites_what_it_names(archive: Desk) -> None:
    for reader in (LOCAL_READER, PUBLIC_READER):
        assert ask(archive, "citedby", f"{SPEECH}#char=2,9", reader) == [PWID]
        assert ask(archive, "citedby", DOI, reader) == [PWID]
        assert ask(archive, "cites", PWID, reader) == [f"{SPEECH}#char=0,4", DOI]
    with open_citations(archive.registry) as index:
        query = Query(identifier=parse(SPEECH), reader=PUBLIC_READER)
        page = ask_citations(archive.registry, index, query, CitationsWanted("citedby"))
    assert isinstance(page, CitationPage)
    (one,) = page.citations
    assert (one.kind, one.day, one.origin, one.name) == ("declared:cite", "2014-01-26", None, None)


def test_files_that_are_added_later_are_read(archive: Desk, tmp_path: Path) -> None:
    assert ask(archive, "citedby", DOI) == [PWID]
    add_pages(archive, tmp_path / "b.warc.gz", f"<p>{SPEECH}</p>", f'<a href="{DOI}">')
    assert ask(archive, "citedby", DOI) == [f"{PWID}1", PWID]
    with open_citations(archive.registry) as index:
        index.reset()
    assert sorted(ask(archive, "citedby", DOI)) == [PWID, f"{PWID}1"]


def test_a_page_that_was_taken_down_cites_nothing(archive: Desk) -> None:
    assert ask(archive, "citedby", DOI) == [PWID]
    archive.registry.archive.take_down(
        Withholding(uri=HOST, match="exact", reason="a court", at=AT, by="local")
    )
    assert ask(archive, "citedby", DOI) == ask(archive, "cites", PWID) == []


def test_a_closed_page_is_told_to_those_who_may_read_it(archive: Desk) -> None:
    rule = ReadingRule(about=HOST, access=Access.CLOSED, match="prefix", by_token=True)
    archive.registry.door.execute_command(Restrict(rule=rule))
    assert ask(archive, "citedby", DOI) == [PWID]
    assert ask(archive, "citedby", DOI, PUBLIC_READER) == []
    with pytest.raises(Unauthenticated):
        ask(archive, "cites", PWID, PUBLIC_READER)


def test_an_archive_without_a_name_is_not_read(desk: Desk, tmp_path: Path) -> None:
    desk.mint(text("Dear Madam"))
    add_pages(desk, tmp_path / "a.warc.gz", f"<p>{SPEECH}</p>")
    assert ask(desk, "citedby", SPEECH) == []
