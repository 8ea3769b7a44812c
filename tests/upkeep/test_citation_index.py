"""Who cites what: what the index keeps, what each question lists, and what it is silent about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import SERIES, TODAY, Desk, html, text

from perdure.errors import NotFound, PartOutOfRange
from perdure.errors.requests import ForeignCursor
from perdure.ids import parse
from perdure.ids.named_parts import split_part
from perdure.model.commands import Restrict
from perdure.model.queries import PUBLIC_READER, Query, Reader
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import LOCAL
from perdure.upkeep.changes.following import catch_up
from perdure.upkeep.citations.citation_index import FILE, CitationIndex, RowFilter
from perdure.upkeep.citations.listing import CitationListing, CitationPage, ListedCitation
from perdure.upkeep.citations.subjects import make_foreign_subject, make_subject

SPEECH = f"{TODAY}/1.text.1"
WORDS = "We will open the archives of the past ten years, if each office agrees."


class Asking:
    """Asks an index that has seen all changes."""

    def __init__(self, desk: Desk, reader: Reader = PUBLIC_READER) -> None:
        self.desk = desk
        self.reader = reader
        self.index = CitationIndex(desk.registry)
        list(catch_up(desk.registry.records, self.index))

    def page(
        self, direction: str, name: str, wanted: RowFilter | None = None, **paging: object
    ) -> CitationPage:
        registry = self.desk.registry
        named = split_part(name)
        query = Query(
            identifier=named.identifier, part=named.part, names=named.names, reader=self.reader
        )
        subject = make_subject(registry, registry.reading.resolve(query))
        listing = CitationListing(registry, self.index, self.reader)
        return listing.list_page(subject, direction, wanted, **paging)  # type: ignore[arg-type]

    def walk(
        self, direction: str, name: str, wanted: RowFilter | None = None, limit: int = 1
    ) -> Iterator[ListedCitation]:
        cursor: str | None = None
        while True:
            page = self.page(direction, name, wanted, cursor=cursor, limit=limit)
            yield from page.citations
            cursor = page.cursor
            if cursor is None:
                return


def cited_by(desk: Desk, name: str, *kinds: str, reader: Reader = PUBLIC_READER) -> list[str]:
    asking = Asking(desk, reader)
    try:
        return [one.citing for one in asking.walk("citedby", name, RowFilter(kinds))]
    finally:
        asking.index.close()


def cites(desk: Desk, name: str, reader: Reader = PUBLIC_READER) -> list[str]:
    asking = Asking(desk, reader)
    try:
        return [one.cited for one in asking.walk("cites", name)]
    finally:
        asking.index.close()


@pytest.fixture
def cited(desk: Desk) -> Desk:
    """A speech, a memorandum that cites a part of it, and a page that cites it three times."""
    desk.mint(text(WORDS))
    desk.mint(text(f"The President said: {SPEECH}#char=0,47."))
    desk.mint(html(f'<q cite="{SPEECH}#char=60,70">x</q> <a href="/{TODAY}/1">y</a> {SPEECH}'))
    return desk


MEMO, PAGE = f"{TODAY}/2.text.1", f"{TODAY}/3.html.1"


def test_a_resource_is_cited_by_all_that_name_it_or_its_parts(cited: Desk) -> None:
    assert cited_by(cited, f"{TODAY}/1") == [PAGE, PAGE, PAGE, MEMO]
    assert cites(cited, MEMO) == [f"{SPEECH}#char=0,47"]
    assert cites(cited, f"{TODAY}/3") == [f"{SPEECH}#char=60,70", f"{TODAY}/1", SPEECH]
    assert cites(cited, SPEECH) == []


def test_a_version_is_cited_by_those_that_name_it(cited: Desk) -> None:
    cited.commit(f"{TODAY}/1", text(WORDS + " "))
    assert cited_by(cited, SPEECH) == [PAGE, PAGE, MEMO]
    assert cited_by(cited, f"{TODAY}/1.text.2") == []


@pytest.mark.parametrize(
    ("part", "found"),
    [
        ("char=46,50", [MEMO]),
        ("char=47,50", []),
        ("char=69,71", [PAGE]),
        ("char=0,71", [PAGE, MEMO]),
        ("byte=0,10", [MEMO]),  # compared by the stored bytes
        ("byte=47,60", []),
        ("line=0,1", [PAGE, MEMO]),
    ],
)
def test_a_part_is_cited_by_every_citation_that_overlaps_it(
    cited: Desk, part: str, found: list[str]
) -> None:
    """ "part (every citation that overlaps it)"."""
    assert cited_by(cited, f"{SPEECH}#{part}") == found


def test_a_document_that_is_looked_up_is_one_that_can_be_read(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there are no rules, names are looked up instead of resolved. Both say the same."""
    desk.mint(text("one"), html("one"))
    desk.commit(f"{TODAY}/1", text("two"))
    desk.mint(text("gone"))
    desk.withdraw(f"{TODAY}/2")
    desk.mint(text("first"))
    desk.commit(f"{TODAY}/3", text("second"))
    desk.withdraw(f"{TODAY}/3.text.1")
    names = [f"{TODAY}/{name}" for name in ("1.text.1", "1.html.1", "1.text.2", "1.html.2", "1")]
    names += [f"{TODAY}/{name}" for name in ("2.text.1", "3.text.1", "3.text.2", "4.text.1")]
    index = CitationIndex(desk.registry)
    found = []
    for _ in ("looked up", "resolved"):
        listing = CitationListing(desk.registry, index, PUBLIC_READER)
        found.append([listing._is_held(name) for name in names])
        monkeypatch.setattr(CitationListing, "_has_document", lambda *_: False)
    index.close()
    assert found[0] == found[1]
    assert found[0][:3] == [True, True, True]
    assert not found[0][5]


def test_a_part_that_is_not_there_is_an_error(cited: Desk) -> None:
    """ruling: part-exists"""
    with pytest.raises(PartOutOfRange):
        cited_by(cited, f"{SPEECH}#char=0,500")
    with pytest.raises(NotFound):
        cited_by(cited, f"{TODAY}/99")


def test_a_part_cites_what_is_referred_to_in_it(cited: Desk) -> None:
    at = len("The President said: ")
    assert cites(cited, f"{MEMO}#char=0,{at}") == []
    assert cites(cited, f"{MEMO}#char=0,{at + 1}") == [f"{SPEECH}#char=0,47"]
    assert cites(cited, f"{PAGE}#elt=0,0") == [f"{SPEECH}#char=60,70"]


def test_series_intervals_and_patterns_are_sets_of_both_sides(cited: Desk) -> None:
    both = [PAGE, PAGE, PAGE, MEMO]
    for name in (f"pdi://{SERIES}/", f"{TODAY}/", f"{TODAY}/*", f"pdi://{SERIES}/2026/"):
        assert cited_by(cited, name) == both, name
        assert len(cites(cited, name)) == 4, name
    assert cites(cited, f"{TODAY}/*.html.*") == cites(cited, f"{TODAY}/3")
    assert cited_by(cited, f"{TODAY}/*.text.1") == [PAGE, PAGE, MEMO]


def test_other_names_of_a_resource_count(cited: Desk) -> None:
    cited.alias(f"{TODAY}/1", "doi:10.1000/speech")
    cited.mint(text("see https://doi.org/10.1000/speech"))
    assert cited_by(cited, f"{TODAY}/1") == [f"{TODAY}/4.text.1", PAGE, PAGE, PAGE, MEMO]
    assert cited_by(cited, "doi:10.1000/speech") == cited_by(cited, f"{TODAY}/1")


def test_a_name_that_is_not_registered_here_can_be_cited(desk: Desk) -> None:
    desk.mint(text("DOI: 10.1000/182"))
    asking = Asking(desk)
    listing = CitationListing(desk.registry, asking.index, PUBLIC_READER)
    page = listing.list_page(make_foreign_subject(parse("doi:10.1000/182")), "citedby")
    assert [one.citing for one in page.citations] == [SPEECH]
    asking.index.close()


def test_kinds_and_days_choose(cited: Desk) -> None:
    cited.clock.set("2026-11-22T12:00:00")
    cited.mint(text(SPEECH))
    later = f"pdi://{SERIES}/2026/11/22/1.text.1"
    asking = Asking(cited)
    name = f"{TODAY}/1"

    def ask(**wanted: object) -> list[str]:
        return [one.citing for one in asking.walk("citedby", name, RowFilter(**wanted))]  # type: ignore[arg-type]

    assert ask() == [later, PAGE, PAGE, PAGE, MEMO]
    assert ask(since="2026-11-22") == [later]
    assert ask(until="2026-11-21") == [PAGE, PAGE, PAGE, MEMO]
    assert ask(kinds=("declared:cite",)) == [PAGE]
    assert ask(kinds=("declared:text", "declared:href")) == [later, PAGE, PAGE, MEMO]
    asking.index.close()


def test_a_citation_that_is_named_is_a_claim(cited: Desk) -> None:
    citation = f"{MEMO}@20={SPEECH}#char=0,47"
    cited.mint(text(f"You misquote: {citation}"))
    letter = f"{TODAY}/4.text.1"
    asking = Asking(cited)
    (claim,) = asking.walk("citedby", f"{TODAY}/1", RowFilter(("claimed",)))
    assert (claim.citing, claim.origin, claim.claimed_by) == (MEMO, "20", letter)
    assert claim.name == citation
    assert [(one.cited, one.kind) for one in asking.walk("cites", letter)] == [
        (citation, "declared:text")
    ]
    assert [one.claimed_by for one in asking.walk("cites", MEMO)] == [None, letter]
    assert [one.citing for one in asking.walk("citedby", MEMO)] == [letter]
    asking.index.close()


def test_the_name_of_a_citation_can_be_checked(cited: Desk) -> None:
    asking = Asking(cited)
    found = next(iter(asking.walk("cites", MEMO)))
    assert found.name == f"{MEMO}@20={SPEECH}#char=0,47"
    assert cited.registry.citations.check_citation(parse(found.name)).verdict.value == "referenced"
    asking.index.close()


@pytest.mark.parametrize("gone", [2, 1])
def test_what_was_withdrawn_is_silent_before_the_index_knows(cited: Desk, gone: int) -> None:
    """ "What was withdrawn is not served … index entry" (ruling: tombstone-silence)."""
    asking = Asking(cited)
    cited.withdraw(f"{TODAY}/{gone}")
    left = [one.citing for one in asking.walk("citedby", f"pdi://{SERIES}/")]
    assert left == ([PAGE, PAGE, PAGE] if gone == 2 else [])
    asking.index.close()
    assert cited_by(cited, f"pdi://{SERIES}/") == left


def test_the_rows_of_a_withdrawn_document_are_deleted(cited: Desk) -> None:
    Asking(cited).index.close()
    cited.withdraw(f"{TODAY}/3")
    asking = Asking(cited)
    assert asking.index.count_rows() == 1
    cited.withdraw(f"{TODAY}/2")
    list(catch_up(cited.registry.records, asking.index))
    assert list(asking.index.list_targets("", "\U0010ffff")) == []
    asking.index.close()


def close(desk: Desk, name: str, part: str = "", access: Access = Access.CLOSED) -> None:
    rule = ReadingRule(about=name, part=part, access=access)
    desk.registry.door.execute_command(Restrict(rule=rule))


@pytest.mark.parametrize("closed", [2, 1])
def test_what_is_closed_to_the_reader_is_silent(cited: Desk, closed: int) -> None:
    close(cited, f"{TODAY}/{closed}")
    left = [PAGE, PAGE, PAGE] if closed == 2 else []
    assert cited_by(cited, f"pdi://{SERIES}/") == left
    local = cited_by(cited, f"pdi://{SERIES}/", reader=Reader(name=LOCAL))
    assert local == [PAGE, PAGE, PAGE, MEMO]


def test_a_closed_part_hides_the_citations_in_it(cited: Desk) -> None:
    close(cited, f"{PAGE}#char=0,30")
    assert cites(cited, f"{TODAY}/3") == [f"{TODAY}/1", SPEECH]


def test_an_open_part_of_a_closed_document_shows_the_citations_in_it(cited: Desk) -> None:
    close(cited, f"{TODAY}/2")
    close(cited, f"{MEMO}#char=0,90", access=Access.OPEN)
    assert cited_by(cited, f"{TODAY}/1") == [PAGE, PAGE, PAGE, MEMO]


def test_a_page_is_bounded_by_the_rows_that_it_reads(
    cited: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure.upkeep.citations.listing._MOST_READ", 2)
    asking = Asking(cited)
    page = asking.page("citedby", f"{TODAY}/1", limit=50)
    assert len(page.citations) == 2
    assert page.cursor is not None
    for direction in ("citedby", "cites"):
        assert len(list(asking.walk(direction, f"pdi://{SERIES}/", limit=9))) == 4
    assert list(asking.walk("citedby", f"{SPEECH}#char=46,50", limit=9))
    asking.index.close()


@pytest.mark.parametrize("cursor", ["", "x", "W10", "é", "WzIsIiIsIiIsMV0", "A" * 5000])
def test_a_foreign_cursor_is_refused(cited: Desk, cursor: str) -> None:
    asking = Asking(cited)
    with pytest.raises(ForeignCursor):
        asking.page("cites", f"{TODAY}/1", cursor=cursor)
    asking.index.close()


def test_the_index_can_be_deleted_and_is_made_again(cited: Desk) -> None:
    before = cited_by(cited, f"{TODAY}/1")
    (cited.root / FILE).unlink()
    assert cited_by(cited, f"{TODAY}/1") == before


def test_a_document_that_cites_itself_is_not_listed(desk: Desk) -> None:
    desk.mint(text(f"This is {SPEECH}#char=0,4, and {TODAY}/1."))
    assert cites(desk, SPEECH) == []


_NAMES = st.lists(st.integers(1, 4), max_size=6)


@given(st.lists(_NAMES, min_size=1, max_size=4), st.integers(1, 3))
def test_pages_list_every_citation_once_in_both_directions(
    pristine: object, references: list[list[int]], limit: int
) -> None:
    """ "following `next` from page to page lists every identifier once"."""
    from tests.conftest import Clock, copy_as_new, make_place

    with make_place() as place:
        desk = Desk(copy_as_new(pristine, place / "r"), Clock())  # type: ignore[arg-type]
        for cited in references:
            desk.mint(text(" ".join(f"{TODAY}/{number}" for number in cited) or "none"))
        expected = sorted(
            (number, other)
            for number, cited in enumerate(references, 1)
            for other in cited
            if number != other
        )
        asking = Asking(desk)
        for direction in ("cites", "citedby"):
            listed = asking.walk(direction, f"pdi://{SERIES}/", limit=limit)
            pairs = [
                (int(one.citing.split("/")[-1].split(".")[0]), int(one.cited.split("/")[-1]))
                for one in listed
            ]
            assert sorted(pairs) == expected
        asking.index.close()
        desk.registry.close()
