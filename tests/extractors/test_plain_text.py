"""What holds for the plain text of every format: the contract of the port `Text`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from tests.extractors.cutting import content, source

from perdure.errors import OverBudget, Undecodable
from perdure.extractors.indexes import NoIndexes
from perdure.extractors.plain_text import LARGEST, SlicedText, TextPassage, TextReader
from perdure.extractors.port import Part, Source
from perdure.parts import Selector
from perdure.reading.extraction import PartExtraction, load_extractors

HTML = (
    b"<!doctype html><title>A &amp; b</title><style>p{}</style>"
    b"<p class=x>The <b>qu&iacute;ck</b>\r\nfox<!-- no --> &lt;jumps&gt;</p><p>over\rit"
)
XML = "<?xml version='1.0'?><a><b>Ünder</b>\r\n&lt;the>&#x2713;<c/>tree</a>"
CSV = b'name,"said, ""twice""",n\r\nAnna,"a\r\nb",1\r\n\r\nBo,,2,more\r\n"C"'
DOCUMENTS = {
    "text": (b"one\r\ntwo\rthree\n\nfour", "text/plain", None),
    "utf-8": ("\ufeffné\r\nあ𝒳 e\u0301".encode(), "text/plain", "utf-8"),
    "utf-16": ("né\r\nあ𝒳".encode("utf-16"), "text/markdown", "utf-16"),
    "shifted": ("aあい\r\nb日本".encode("iso2022_jp"), "text/plain", "iso-2022-jp"),
    "json": (b'{"a":\r\n[1]}', "application/json", None),
    "html": (HTML, "text/html", None),
    "xhtml": (XML.encode(), "application/xhtml+xml", "utf-8"),
    "xml": (XML.encode("utf-16"), "application/tei+xml", "utf-16"),
    "table": (CSV, "text/csv", None),
    "wide table": (CSV.decode().encode("utf-16"), "text/csv", "utf-16"),
}
"""Each of an implementation, or of what is hard about its charset."""
EXACT = {name for name in DOCUMENTS if "table" not in name}
"""Those of formats that can cut any stretch of text."""
CHARSET = {"table": None, "wide table": "utf-16-le"}
TEXTS = {
    "text": "one\ntwo\nthree\n\nfour",
    "html": "A & bThe quíck\nfox <jumps>over\nit",
    "xml": "Ünder\n<the>✓tree",
    "table": 'name\tsaid, "twice"\tn\nAnna\ta\nb\t1\n\nBo\t\t2\tmore\nC\n',
}


class InProcess(PartExtraction):
    """Extraction that asks every extractor here: a worker for each of a thousand parts is slow."""

    def extract(self, source: Source, selector: Selector) -> Part:
        _, extractor = self._find_extractor(source, selector)
        assert extractor is not None
        return extractor.extract_part(source, selector, NoIndexes())


def read(place: Path, name: str) -> tuple[Source, SlicedText]:
    data, media_type, charset = DOCUMENTS[name]
    document = source(place, data, media_type, charset)
    text = InProcess().read_text(document)
    assert text is not None
    return document, cast(SlicedText, text)


def stretches(text: str) -> Iterator[tuple[int, int]]:
    """All short ones, and those that begin or end where the text does."""
    size = len(text)
    for start in range(size):
        yield from ((start, stop) for stop in range(start + 1, min(start + 4, size)))
        yield start, size
        yield 0, start + 1


@pytest.mark.parametrize("name", TEXTS)
def test_the_plain_text_is_what_people_read(tmp_path: Path, name: str) -> None:
    assert read(tmp_path, name)[1].text == TEXTS[name]


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_stretch_leads_to_a_part_with_this_text(tmp_path: Path, name: str) -> None:
    document, text = read(tmp_path, name)
    assert text.text
    extraction = InProcess()
    for start, stop in stretches(text.text):
        stretch = text.text[start:stop]
        part = extraction.extract(document, text.select_part(start, stop))
        cut = source(tmp_path, content(part, document), part.media_type, part.charset)
        again = extraction.read_text(cut)
        assert again is not None
        assert stretch == again.text if name in EXACT else stretch in again.text, (start, stop)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_stretch_leads_to_the_bytes_of_its_part(tmp_path: Path, name: str) -> None:
    document, text = read(tmp_path, name)
    extraction = InProcess()
    for start, stop in stretches(text.text):
        span = text.find_span(start, stop)
        assert 0 <= span.start < span.stop <= document.length or text.text[start:stop].isspace()
        slices = extraction.extract(document, text.select_part(start, stop)).slices
        if slices:
            assert slices[0].start <= span.start
            assert span.stop <= slices[-1].stop
        if name not in EXACT:  # fields, which are a table of their own
            cut = source(
                tmp_path, document.read_bytes(span.start, span.stop), "text/csv", CHARSET[name]
            )
            again = extraction.read_text(cut)
            assert again is not None
            assert text.text[start:stop].rstrip("\n") in again.text


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_part_is_found_again_in_the_text(tmp_path: Path, name: str) -> None:
    document, text = read(tmp_path, name)
    extraction = InProcess()
    for start, stop in stretches(text.text):
        ((begin, end, selector),) = text.list_passages(start, stop)
        assert selector is not None
        part = extraction.extract(document, selector)
        place = text.locate_part(part)
        if not part.slices:
            assert place is None
            continue
        assert (begin, end) == (start, stop)
        if place is None:
            assert text.text[start:stop].isspace()
            continue
        assert isinstance(place, TextPassage)
        if text.text[start:stop].strip():
            inside = text.text[place.start : place.stop]
            assert text.text[start:stop].strip() in inside


def test_a_stretch_of_a_cdata_section_is_cut_but_needs_its_context(tmp_path: Path) -> None:
    document = source(tmp_path, b"<a><![CDATA[1 <b> 2]]></a>", "text/xml")
    text = cast(SlicedText, InProcess().read_text(document))
    assert text.text == "1 <b> 2"
    part = InProcess().extract(document, text.select_part(2, 5))
    assert content(part, document) == b"<b>"


def test_every_implementation_is_in_the_suite(tmp_path: Path) -> None:
    readers = {one.place for one in load_extractors() if isinstance(one.value, TextReader)}
    asked = set()
    for data, media_type, charset in DOCUMENTS.values():
        document = source(tmp_path, data, media_type, charset)
        for _, place, extractor in PartExtraction()._rank_extractors(document.essence):
            if isinstance(extractor, TextReader):
                asked |= {place} if extractor.read_text(document, NoIndexes()) else set()
    assert asked == readers


@pytest.mark.parametrize(
    ("data", "media_type", "charset"),
    [
        (b"\x89PNG", "image/png", None),
        (b"MZ", "application/octet-stream", None),
        ("<p>日本".encode("iso2022_jp"), "text/html", "iso-2022-jp"),  # a byte is no character
    ],
)
def test_what_has_no_text_that_can_be_mapped_has_none(
    tmp_path: Path, data: bytes, media_type: str, charset: str | None
) -> None:
    assert PartExtraction().read_text(source(tmp_path, data, media_type, charset)) is None


def test_bytes_that_are_no_text_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(Undecodable, match="invalid text at byte 1"):
        PartExtraction().read_text(source(tmp_path, b"a\xff", "text/plain", "utf-8"))


@pytest.mark.parametrize("media_type", ["text/plain", "text/csv", "text/html"])
def test_a_document_that_is_too_large_is_an_error(tmp_path: Path, media_type: str) -> None:
    with pytest.raises(OverBudget, match=f"{LARGEST} bytes"):
        PartExtraction().read_text(source(tmp_path, b"a\n" * (LARGEST // 2 + 1), media_type))


def test_text_of_a_confined_reader_is_made_in_its_process(tmp_path: Path) -> None:
    extraction = PartExtraction(tmp_path / "indexes")
    try:
        document = source(tmp_path, HTML, "text/html")
        text = cast(SlicedText, extraction.read_text(document))
        assert text.text == TEXTS["html"]
        part = extraction.cut_part(document, text.select_part(5, 8))
        assert content(part, document) == b"The"
    finally:
        extraction.close()
