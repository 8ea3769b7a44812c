"""The text of WARC files, and the records to which its passages lead."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest
from tests.extractors.cutting import content, source

from perdure.errors import OverBudget, Undecodable
from perdure.errors.damage import TextAbsent
from perdure.extractors.mapped_text import MappedText
from perdure.extractors.port import Source
from perdure.extractors.warc_text import EXTRACTOR, MEDIA_TYPE
from perdure.formats.detect import detect_type
from perdure.reading.extraction import PartExtraction

pytest.importorskip("fastwarc")
warcio = pytest.importorskip("warcio")
_Record = tuple[str, str, bytes, list[tuple[str, str]]]
PAGE = b"<title>T</title><p>One <b>fox</b><p>J\xfcrgen"


def write_warc(*records: _Record, packed: bool) -> bytes:
    """A WARC file, written by warcio: kind, media type, payload and more fields of HTTP."""
    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter

    file = io.BytesIO()
    writer = WARCWriter(file, gzip=packed)
    writer.write_record(writer.create_warcinfo_record("a.warc", {"software": "test"}))
    for number, (kind, media_type, payload, fields) in enumerate(records):
        http = StatusAndHeaders("200 OK", [("Content-Type", media_type), *fields], "HTTP/1.1")
        response = kind == "response"
        writer.write_record(
            writer.create_warc_record(
                f"https://a.example/{number}",
                kind,
                payload=io.BytesIO(payload),
                http_headers=http if response else None,
                warc_content_type="" if response else media_type,
            )
        )
    return file.getvalue()


RECORDS: tuple[_Record, ...] = (
    ("response", "text/html; charset=iso-8859-1", PAGE, []),
    ("response", "image/png", b"\x89PNG", []),
    ("response", "text/html", gzip.compress(b"<p>packed"), [("Content-Encoding", "gzip")]),
    ("response", "text/plain", b"5\r\nchunk\r\n0\r\n\r\n", [("Transfer-Encoding", "chunked")]),
    ("resource", "text/plain", b"a\r\nb\r\n", []),
)


def read(place: Path, data: bytes) -> tuple[Source, MappedText]:
    document = source(place, data, MEDIA_TYPE)
    return document, EXTRACTOR.open_text(document, EXTRACTOR.map_text(document))


@pytest.mark.parametrize("packed", [False, True])
def test_the_text_is_that_of_the_pages(tmp_path: Path, *, packed: bool) -> None:
    document, text = read(tmp_path, write_warc(*RECORDS, packed=packed))
    assert text.text == "T\nOne fox\nJürgen\n\fpacked\n\fchunk\n\fa\nb\n\f"
    extraction = PartExtraction()
    for words, recorded in (("fox", b"<b>fox</b>"), ("b\n\f", b"a\r\nb\r\n")):
        at = text.text.index(words)
        (passage,) = text.list_passages(at, at + 1)
        assert passage.selector is not None
        part = extraction.cut_part(document, passage.selector)
        record = content(part, document)
        record = gzip.decompress(record) if packed else record
        assert record.startswith(b"WARC/1.0\r\n")
        assert recorded in record
        assert record.count(b"WARC-Record-ID") == 1
        place = text.locate_part(part)
        assert place is not None
        assert words.strip() in text.text[place.start : place.stop]


def test_a_file_is_detected_and_read_in_a_confined_process(
    extraction: PartExtraction, tmp_path: Path
) -> None:
    data = write_warc(*RECORDS, packed=False)
    assert str(detect_type(data).media_type) == MEDIA_TYPE
    text = extraction.read_text(source(tmp_path, data, MEDIA_TYPE))
    assert text is not None
    assert "One fox" in text.text


def test_what_has_no_text_says_why(tmp_path: Path) -> None:
    with pytest.raises(TextAbsent):
        read(tmp_path, write_warc(RECORDS[1], packed=False))
    with pytest.raises(Undecodable):
        read(tmp_path, b"no archive at all")


def test_a_damaged_payload_is_left_out(tmp_path: Path) -> None:
    packed = gzip.compress(b"<p>packed" * 100)
    damaged: _Record = (
        "response",
        "text/html",
        packed[:30] + b"?" * 9,
        [("Content-Encoding", "gzip")],
    )
    _, text = read(tmp_path, write_warc(RECORDS[0], damaged, RECORDS[4], packed=False))
    assert text.text == "T\nOne fox\nJürgen\n\fa\nb\n\f"


def test_a_payload_that_expands_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure.extractors.warc_text._MOST", 1 << 20)
    bomb = gzip.compress(b" " * (1 << 21))
    record: _Record = ("response", "text/plain", bomb, [("Content-Encoding", "gzip")])
    with pytest.raises(OverBudget, match="decompressed"):
        read(tmp_path, write_warc(record, packed=False))


@pytest.mark.corpus
def test_real_archives_are_read(tmp_path: Path) -> None:
    place = Path(__file__).parents[3] / "shared" / "corpus" / "webarchive"
    files = sorted(place.glob("webrecorder+warcio__test_data_example.warc*"))
    if not files:
        pytest.skip("the corpus of real documents is not here")
    for file in files:
        _, text = read(tmp_path, file.read_bytes())
        assert "Example Domain" in text.text
