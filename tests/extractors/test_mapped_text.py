"""What holds for texts that are made in a confined process: the port `Text` of these formats.

`test_plain_text.py` has the formats whose text is read in this process.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.extractors import (
    test_film_tracks,
    test_mail,
    test_pdf_text,
    test_subtitles,
    test_warc_text,
)
from tests.extractors.cutting import content, source
from tests.extractors.packages import ODF, OOXML, write_odf, write_ooxml, write_zip
from tests.extractors.test_epub import MEMBERS

from perdure.errors import PerdureError, Undecodable
from perdure.extractors.indexes import NoIndexes
from perdure.extractors.mail.text import MBOX
from perdure.extractors.packages.epub import MEDIA_TYPE as EPUB
from perdure.extractors.plain_text import PlainText, TextMapper, UnitText, list_breaks
from perdure.extractors.port import Part, Source
from perdure.extractors.text.cues import SUBRIP, WEBVTT
from perdure.extractors.warc_text import MEDIA_TYPE as WARC
from perdure.parts import Selector
from perdure.reading.extraction import PartExtraction, load_extractors

DOCX = {
    "word/document.xml": "<w:document @W ><w:body><w:p><w:r><w:t>One</w:t></w:r></w:p>"
    "<w:p><w:r><w:t>two words</w:t></w:r></w:p></w:body></w:document>"
}
ROWS = (
    "<table:table><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell>"
    "<table:table-cell><text:p>b c</text:p></table:table-cell></table:table-row></table:table>"
)


def write_mails() -> bytes:
    """Two mails of a mailbox."""
    data = test_mail.write_parts().as_bytes().replace(b"\r\n", b"\n")
    return b"".join(b"From j@example.org Sat Jan  3 01:05:34 1996\n" + data + b"\n" for _ in "ab")


DOCUMENTS: dict[str, Callable[[], tuple[bytes, str]]] = {
    "opendocument": lambda: (
        write_odf("text", "<text:h>Head</text:h><text:p>One <text:span>two</text:span></text:p>"),
        f"{ODF}text",
    ),
    "spreadsheet": lambda: (write_odf("spreadsheet", ROWS), f"{ODF}spreadsheet"),
    "office xml": lambda: (
        write_ooxml("word/document.xml", DOCX),
        f"{OOXML}wordprocessingml.document",
    ),
    "epub": lambda: (write_zip(MEMBERS), EPUB),
    "mail": lambda: (test_mail.write_parts().as_bytes(), test_mail.MAIL),
    "mailbox": lambda: (write_mails(), MBOX),
    "webvtt": lambda: (test_subtitles.VTT.encode(), WEBVTT),
    "subrip": lambda: (test_subtitles.SRT.encode(), SUBRIP),
    "warc": lambda: (
        test_warc_text.write_warc(*test_warc_text.RECORDS, packed=False),
        WARC,
    ),
    "packed warc": lambda: (
        test_warc_text.write_warc(*test_warc_text.RECORDS, packed=True),
        WARC,
    ),
}
"""Each of an implementation, or of what is special about one of its formats."""
NAMES = [*DOCUMENTS, "pdf", "film"]


class InProcess(PartExtraction):
    """Extraction that asks every extractor here: a worker for each of many parts is slow."""

    def extract(self, source: Source, selector: Selector) -> Part:
        _, extractor = self._find_extractor(source, selector)
        assert extractor is not None
        return extractor.extract_part(source, selector, NoIndexes())


def make_document(place: Path, name: str) -> Source:
    if name == "pdf":
        return test_pdf_text.written(place, "One two\nthree", "four")
    if name == "film":
        return test_film_tracks.write_film(place, "film.mkv")
    data, media_type = DOCUMENTS[name]()
    return source(place, data, media_type, "utf-8" if name == "subrip" else None)


def find_mapper(document: Source) -> tuple[str, TextMapper]:
    """The extractor that maps the text of a document, and its entry point."""
    for _, place, extractor in PartExtraction()._rank_extractors(document.essence):
        if isinstance(extractor, TextMapper):
            return place, extractor
    raise AssertionError(document.essence)


@pytest.fixture(params=NAMES)
def document(request: pytest.FixtureRequest, tmp_path: Path) -> Source:
    return make_document(tmp_path, request.param)


@pytest.fixture
def text(document: Source) -> PlainText:
    _, mapper = find_mapper(document)
    return mapper.open_text(document, mapper.map_text(document))


def choose_ranges(text: PlainText) -> Iterator[tuple[int, int]]:
    """The complete text, and some ranges of it."""
    size, chosen = len(text.text), random.Random(1)
    yield 0, size
    for _ in range(40):
        start = chosen.randrange(size)
        yield start, chosen.randrange(start, size) + 1


def test_there_is_a_text_in_units_of_line_feeds(text: PlainText) -> None:
    """ "A line break is one line feed." """
    assert text.text.strip()
    assert "\r" not in text.text


@pytest.mark.parametrize("finest", [False, True])
def test_passages_are_in_order_and_all_between_them_are_separators(
    text: PlainText, finest: bool
) -> None:
    """ "The passages of a range are in order and do not overlap. Every character of the range is in
    a passage, except for separators"."""
    for start, stop in choose_ranges(text):
        at = start
        for one in text.list_passages(start, stop, finest=finest):
            assert at <= one.start < one.stop <= stop
            assert not text.text[at : one.start].strip()
            at = one.stop
        assert not text.text[at:stop].strip()


def test_the_finest_passages_are_inside_the_others(text: PlainText) -> None:
    for start, stop in choose_ranges(text):
        coarse = text.list_passages(start, stop)
        for one in text.list_passages(start, stop, finest=True):
            assert any(each.start <= one.start < one.stop <= each.stop for each in coarse)


def test_the_part_of_a_passage_contains_the_passage(
    document: Source, text: PlainText, tmp_path: Path
) -> None:
    """ "The part of a passage, read as a text of its own, contains the passage." """
    extraction = InProcess()
    for start, stop in choose_ranges(text):
        for begin, end, selector in text.list_passages(start, stop):
            if selector is None:
                continue  # only the complete document contains it
            part = extraction.extract(document, selector)
            place = text.locate_part(part)
            if place is not None:
                assert place.start <= begin < end <= place.stop
            else:
                cut = source(tmp_path, content(part, document), part.media_type, part.charset)
                _, mapper = find_mapper(cut)
                read = mapper.open_text(cut, mapper.map_text(cut)).text
                assert text.text[begin:end].strip() in read


def test_stored_bytes_of_units_are_in_the_document(document: Source, text: PlainText) -> None:
    if not isinstance(text, UnitText):
        pytest.skip("its units have no bytes of their own")
    for start, stop in choose_ranges(text):
        span = text.find_stored(start, stop)
        if span is not None:
            assert 0 <= span.start < span.stop <= document.length
            whole = text.find_stored(0, len(text.text))
            assert whole is not None
            assert whole.start <= span.start < span.stop <= whole.stop


def test_breaks_are_places_in_the_text_in_order(text: PlainText) -> None:
    places = list(list_breaks(text))
    assert places == sorted(places)
    assert all(0 <= place <= len(text.text) for place in places)


def test_an_index_is_the_same_each_time_and_no_other_is_read(document: Source) -> None:
    """ "Return the text of an index that `map_text` made. Raises Undecodable if it is not one." """
    _, mapper = find_mapper(document)
    index = mapper.map_text(document)
    assert mapper.map_text(document) == index
    for spoiled in (b"", index[: len(index) // 2], b"\xff" * 40, index[::-1]):
        with pytest.raises(Undecodable):
            _ = mapper.open_text(document, spoiled).text


@pytest.mark.parametrize("name", ["mail", "opendocument"])
def test_a_confined_process_makes_the_same_text(tmp_path: Path, name: str) -> None:
    document = make_document(tmp_path, name)
    _, mapper = find_mapper(document)
    extraction = PartExtraction(tmp_path / "indexes")
    try:
        read = extraction.read_text(document)
        assert read is not None
        assert read.text == mapper.open_text(document, mapper.map_text(document)).text
    finally:
        extraction.close()


def test_damaged_documents_raise_errors_of_perdure_only(document: Source, tmp_path: Path) -> None:
    if document.essence == test_pdf_text.PDF:
        pytest.skip("its decoder is confined, because damage may end the process")
    _, mapper = find_mapper(document)
    data, chosen = document.read_bytes(0, document.length), random.Random(2)
    for _ in range(12):
        spoiled = bytearray(data)
        for _ in range(chosen.randrange(1, 6)):
            spoiled[chosen.randrange(len(data))] = chosen.randrange(256)
        cut = source(
            tmp_path, bytes(spoiled[: chosen.randrange(1, len(data))]), document.media_type, None
        )
        with suppress(PerdureError):
            mapper.open_text(cut, mapper.map_text(cut))


def test_every_implementation_is_in_the_suite(tmp_path: Path) -> None:
    mappers = {one.place for one in load_extractors() if isinstance(one.value, TextMapper)}
    assert {find_mapper(make_document(tmp_path, name))[0] for name in NAMES} == mappers
