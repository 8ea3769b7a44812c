"""The plain text of PDFs, and the pages and rectangles to which its passages lead."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.extractors.cutting import content, source

from perdure.errors import OverBudget, Undecodable
from perdure.errors.damage import DecoderFailed, PdfEncrypted, TextAbsent, TextIndexDamaged
from perdure.extractors.pdf.parts import EXTRACTOR
from perdure.extractors.pdf.text import PdfText
from perdure.extractors.plain_text import PlainText
from perdure.extractors.port import Source
from perdure.parts import Page
from perdure.reading.extraction import PartExtraction

pikepdf = pytest.importorskip("pikepdf")
pypdfium2 = pytest.importorskip("pypdfium2")

PDF = "application/pdf"
PAPER = Path(__file__).parents[3] / "shared" / "corpus" / "wd-xml-link-970406.pdf"


def written(place: Path, *pages: str, **settings: Any) -> Source:
    """A document whose pages have these lines of text, 20 units apart."""
    pdf = pikepdf.new()
    for text in pages:
        page = pdf.add_blank_page(page_size=(300, 200))
        lines = b" T* ".join(b"(" + line.encode("latin-1") + b") Tj" for line in text.splitlines())
        page.Contents = pdf.make_stream(b"BT /F 12 Tf 20 TL 30 150 Td " + lines + b" ET")
        font = pikepdf.Dictionary(
            Type=pikepdf.Name.Font,
            Subtype=pikepdf.Name.Type1,
            BaseFont=pikepdf.Name.Helvetica,
            Encoding=pikepdf.Name.WinAnsiEncoding,
        )
        page.Resources = pikepdf.Dictionary(Font=pikepdf.Dictionary(F=font))
    path = place / "written.pdf"
    pdf.save(path, **settings)
    return source(place, path.read_bytes(), PDF)


def read(extraction: PartExtraction, document: Source) -> PlainText:
    text = extraction.read_text(document)
    assert text is not None
    return text


def read_part(extraction: PartExtraction, place: Path, document: Source, page: Any) -> str:
    part = extraction.cut_part(document, page)
    cut = source(place, content(part, document), PDF)
    return PdfText(cut, EXTRACTOR.map_text(cut)).text


def read_inside(extraction: PartExtraction, document: Source, rectangle: Any) -> str:
    """The characters inside the crop box of a part, and no others of its page."""
    part = extraction.cut_part(document, rectangle)
    page = pypdfium2.PdfDocument(content(part, document))[0]
    text = page.get_textpage().get_text_bounded(*page.get_cropbox())
    return str(text.replace("\x02", "-"))  # PDFium's hyphen that divides a word, here


def test_a_page_ends_with_a_form_feed_and_a_line_with_a_line_feed(
    extraction: PartExtraction, tmp_path: Path
) -> None:
    document = written(tmp_path, "One fox\nand two", "", "Caf\xe9")
    text = read(extraction, document)
    assert text.text == "One fox\nand two\f\fCaf\xe9\f"
    at = text.text.index("two")
    assert text.list_passages(at, at + 3) == ((at, at + 3, Page(1)),)
    whole = text.list_passages(0, len(text.text))
    assert whole == ((0, 15, Page(1)), (17, 21, Page(3)))
    assert text.list_passages(15, 17) == ()


def test_the_finest_parts_are_the_rectangles_of_lines(
    extraction: PartExtraction, tmp_path: Path
) -> None:
    document = written(tmp_path, "One fox\nand two")
    text = read(extraction, document)
    first, second = text.list_passages(4, 11, finest=True)
    assert (first[:2], second[:2]) == ((4, 7), (8, 11))
    for passage in (first, second):
        line = text.text.splitlines()[passage is second]
        assert read_inside(extraction, document, passage.selector).strip() == line
        assert text.text[passage.start : passage.stop] in line
    match first.selector, second.selector:
        case Page(1, (_, upper, _, _)), Page(1, (_, lower, _, _)):
            assert upper < lower
        case other:
            pytest.fail(f"not two rectangles of page 1: {other}")


def test_a_page_has_its_range_in_the_text(extraction: PartExtraction, tmp_path: Path) -> None:
    document = written(tmp_path, "One fox", "Two")
    text = read(extraction, document)
    for number, words in ((1, "One fox"), (2, "Two")):
        place = text.locate_part(extraction.cut_part(document, Page(number)))
        assert place is not None
        assert text.text[place.start : place.stop] == words


@pytest.mark.corpus
def test_every_range_of_a_real_document_is_in_the_parts_that_the_map_names(
    extraction: PartExtraction, tmp_path: Path
) -> None:
    if not PAPER.exists():
        pytest.skip("the corpus of real documents is not here")
    document = source(tmp_path, PAPER.read_bytes(), PDF)
    text = read(extraction, document)
    chosen = random.Random(1)
    for _ in range(30):
        start = chosen.randrange(len(text.text))
        stop = min(start + chosen.randrange(1, 3000), len(text.text))
        passages = text.list_passages(start, stop)
        for passage in passages:
            page = read_part(extraction, tmp_path, document, passage.selector)
            assert text.text[passage.start : passage.stop] in page
        covered = {place for one in passages for place in range(one.start, one.stop)}
        rest = {text.text[place] for place in range(start, stop) if place not in covered}
        assert rest <= {"\f"}


@pytest.mark.corpus
def test_every_line_of_a_real_page_is_in_its_rectangle(
    extraction: PartExtraction, tmp_path: Path
) -> None:
    if not PAPER.exists():
        pytest.skip("the corpus of real documents is not here")
    document = source(tmp_path, PAPER.read_bytes(), PDF)
    text = read(extraction, document)
    place = text.locate_part(extraction.cut_part(document, Page(3)))
    assert place is not None
    lines = text.list_passages(place.start, place.stop, finest=True)
    assert len(lines) > 30
    for passage in lines:
        line = text.text[passage.start : passage.stop].strip()
        inside = read_inside(extraction, document, passage.selector)
        assert line in inside
        assert len(inside) < len(line) + 10  # and not its neighbours


@pytest.mark.corpus
def test_poppler_reads_the_same_words(extraction: PartExtraction, tmp_path: Path) -> None:
    if shutil.which("pdftotext") is None or not PAPER.exists():
        pytest.skip("pdftotext (poppler-utils) is not installed, or the corpus is not here")
    theirs = subprocess.run(["pdftotext", "-raw", PAPER, "-"], capture_output=True, check=True)
    words = re.findall(r"\w+", theirs.stdout.decode())
    ours = re.findall(r"\w+", read(extraction, source(tmp_path, PAPER.read_bytes(), PDF)).text)
    common = set(words) & set(ours)
    assert len(common) > 0.97 * len(set(words) | set(ours))


def test_a_document_without_characters_has_no_text(
    extraction: PartExtraction, tmp_path: Path
) -> None:
    with pytest.raises(TextAbsent, match="pictures"):
        extraction.read_text(written(tmp_path, "", ""))


def test_an_encrypted_document_says_so(extraction: PartExtraction, tmp_path: Path) -> None:
    document = written(tmp_path, "secret", encryption=pikepdf.Encryption(user="u", owner="o"))
    with pytest.raises(PdfEncrypted):
        extraction.read_text(document)


def test_a_damaged_document_says_so(extraction: PartExtraction, tmp_path: Path) -> None:
    with pytest.raises(DecoderFailed, match="application/pdf"):
        extraction.read_text(source(tmp_path, b"%PDF-1.4 and nothing", PDF))


def test_a_text_that_is_too_long_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure.extractors.pdf.text.LARGEST", 5)
    with pytest.raises(OverBudget):
        EXTRACTOR.map_text(written(tmp_path, "One fox"))


@pytest.mark.parametrize("index", [b"", b"\x91\xa1a", b"\x95\xa1a\xc4\x00\xc4\x00\xc4\x00\xc4\x00"])
def test_what_is_no_index_is_refused(tmp_path: Path, index: bytes) -> None:
    """A process that decodes may have been taken over: its answer is checked."""
    with pytest.raises(TextIndexDamaged):
        PdfText(source(tmp_path, b"x", PDF), index)


def test_the_text_is_kept_among_the_indexes(tmp_path: Path) -> None:
    extraction = PartExtraction(tmp_path / "indexes")
    try:
        document = written(tmp_path, "One fox")
        assert read(extraction, document).text == "One fox\f"
        (kept,) = (tmp_path / "indexes" / "pdf-text-1").rglob(document.sha512 or "")
        kept.write_bytes(b"no index")
        with pytest.raises(Undecodable):
            extraction.read_text(document)
    finally:
        extraction.close()
