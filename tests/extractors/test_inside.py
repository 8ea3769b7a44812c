"""Metadata inside mail, Office documents, OpenDocument, EPUB and XMP."""

from __future__ import annotations

import io
import struct
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.extractors.inside import documents
from perdure.extractors.inside.derived import (
    DocumentBytes,
    InsideMetadata,
    InsideReader,
    has_inside,
)
from perdure.extractors.inside.mail import read_mail
from perdure.extractors.inside.ole import SIGNATURE, read_summary
from perdure.extractors.inside.packages import read_epub, read_office, read_opendocument, read_xmp

CORE = """<?xml version="1.0"?><cp:coreProperties
 xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties"
 xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:dcterms="http://purl.org/dc/terms/">
<dc:title>Größe</dc:title><dc:creator>Müller, Anna</dc:creator><cp:keywords>names</cp:keywords>
<dcterms:created>1997-09-01T12:00:00Z</dcterms:created></cp:coreProperties>"""
META = """<office:document-meta xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:meta="urn:oasis:names:tc:opendocument:xmlns:meta:1.0"
 xmlns:dc="http://purl.org/dc/elements/1.1/"><office:meta><dc:title>A text</dc:title>
<meta:initial-creator>Anna</meta:initial-creator><meta:creation-date>1997-09-01T08:00:00
</meta:creation-date><meta:keyword>a</meta:keyword><meta:keyword>b</meta:keyword></office:meta>
</office:document-meta>"""
XMP = b"""<?xpacket begin=""?><x:xmpmeta xmlns:x="adobe:ns:meta/">
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/"
 xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:CreateDate="1997-09-01T12:00:00+02:00">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">A house</rdf:li></rdf:Alt></dc:title>
<dc:creator><rdf:Seq><rdf:li>Anna</rdf:li><rdf:li>Bob</rdf:li></rdf:Seq></dc:creator>
</rdf:Description></rdf:RDF></x:xmpmeta>"""


def pack(**members: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), text)
    return file.getvalue()


def test_office() -> None:
    assert read_office(pack(docProps__core_xml=CORE)) == {
        "title": "Größe",
        "creator": "Müller, Anna",
        "keywords": "names",
        "date": "1997-09-01",
    }
    assert read_office(pack(word__document_xml="<w/>")) == {}


def test_opendocument() -> None:
    assert read_opendocument(pack(meta_xml=META)) == {
        "title": "A text",
        "creator": "Anna",
        "date": "1997-09-01",
        "keywords": "a, b",
    }


def test_epub() -> None:
    opf = (
        '<package xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Book</dc:title>'
        "<dc:creator>Anna</dc:creator><dc:language>de</dc:language></package>"
    )
    found = read_epub(pack(OEBPS__content_opf=opf))
    assert found == {"title": "Book", "creator": "Anna", "language": "de"}
    assert read_epub(pack(a_txt="x")) == {}


def test_xmp() -> None:
    assert read_xmp(b"\xff\xd8..." + XMP + b"...") == {
        "title": "A house",
        "creator": "Anna; Bob",
        "date": "1997-09-01",
    }


def test_no_entity_expands() -> None:
    bomb = '<!DOCTYPE a [<!ENTITY b "bbbb">]>' + CORE.partition("?>")[2].replace("names", "&b;")
    assert read_office(pack(docProps__core_xml=bomb)) == {}


@pytest.mark.parametrize(
    ("header", "found"),
    [
        (
            (
                b"Subject: =?utf-8?q?Gr=C3=B6=C3=9Fe?= of\r\n things\r\n"
                b"From: Anna <a@x.example>\r\n"
                b"Date: Mon, 1 Sep 1997 12:00:00 +0200\r\n\r\nbody"
            ),
            {"title": "Größe of things", "creator": "Anna", "date": "1997-09-01"},
        ),
        (b"From: a@x.example, Bob <b@x.example>\n\n", {"creator": "a@x.example; Bob"}),
        (b"From a@x.example Mon Sep 1 1997\nSubject: Gr\xf6\xdfe\n\n", {"title": "Größe"}),
        (b"Subject: =?x-none?q?a?=\nDate: Mon, 99 Sep 1997\n\n", {"title": "a"}),
        (b"\n\nSubject: not this\n", {}),
        (b"", {}),
    ],
)
def test_mail(header: bytes, found: dict[str, str]) -> None:
    assert read_mail(header) == found


def make_compound(properties: dict[int, bytes]) -> bytes:
    """A compound file with one sector of FAT, one of directory, and a summary ([MS-CFB] 2.2)."""
    offsets, body = b"", b""
    at = 8 + 8 * len(properties)
    for number, value in properties.items():
        offsets += struct.pack("<II", number, at + len(body))
        body += value
    section = struct.pack("<II", at + len(body), len(properties)) + offsets + body
    stream = struct.pack("<HHIQQI", 0xFFFE, 0, 0, 0, 0, 1) + bytes(16) + struct.pack("<I", 48)
    stream = (stream + section).ljust(4096, b"\0")
    header = SIGNATURE + bytes(16) + struct.pack("<HHHHH", 62, 3, 0xFFFE, 9, 6)
    header = header.ljust(44, b"\0") + struct.pack(
        "<IIIIIIIII", 1, 1, 0, 4096, 0xFFFFFFFE, 0, 0xFFFFFFFE, 0, 0
    )
    header += struct.pack("<I", 0xFFFFFFFF) * 108
    fat = [0xFFFFFFFD, 0xFFFFFFFE, *range(3, 10), 0xFFFFFFFE]
    table = struct.pack(f"<{len(fat)}I", *fat).ljust(512, b"\xff")

    def entry(name: str, kind: int, start: int, size: int) -> bytes:
        raw = name.encode("utf-16-le")
        head = raw.ljust(64, b"\0") + struct.pack("<HBB", len(raw) + 2, kind, 1)
        return head.ljust(116, b"\0") + struct.pack("<IQ", start, size)

    directory = entry("Root Entry", 5, 0xFFFFFFFE, 0) + entry("\x05SummaryInformation", 2, 2, 4096)
    return header.ljust(512, b"\0") + table + directory.ljust(512, b"\0") + stream


def spell(text: bytes) -> bytes:
    return struct.pack("<II", 30, len(text) + 1) + text + b"\0"


def test_old_office() -> None:
    ticks = int(
        (datetime(1997, 9, 1, 12, tzinfo=UTC) - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds()
    )
    data = make_compound(
        {
            1: struct.pack("<IHH", 2, 850, 0),
            2: spell("Größe".encode("cp850")),
            4: spell(b"Anna"),
            12: struct.pack("<IQ", 64, ticks * 10_000_000),
        }
    )
    assert read_summary(data) == {"title": "Größe", "creator": "Anna", "date": "1997-09-01"}
    assert read_summary(b"no compound file") == {}


@given(st.binary(max_size=600), st.integers(0, 5000))
def test_a_damaged_compound_file_says_little(noise: bytes, at: int) -> None:
    """ole.py: "no cycle holds it up"."""
    data = bytearray(make_compound({2: spell(b"Title")}))
    data[at : at + len(noise)] = noise
    assert isinstance(read_summary(bytes(data)), dict)


def test_types() -> None:
    word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    assert has_inside(word)
    assert has_inside("application/vnd.oasis.opendocument.text")
    assert not has_inside("text/plain")
    assert documents.read_inside(pack(docProps__core_xml=CORE), word, None)[0] == "Office"
    assert documents.read_inside(b"Subject: a\n\n", "message/rfc822", None) == (
        "mail",
        {"title": "a"},
    )


def test_one_process_reads_many_and_outlives_a_crash(tmp_path: Path) -> None:
    good, bad = tmp_path / "good\udce4.eml", tmp_path / "bad.pdf"
    good.write_bytes(b"Subject: Good\n\n")
    bad.write_bytes(b"%PDF-1.4\n" + b"[" * 100_000)
    mail = DocumentBytes(good, 0, good.stat().st_size, "message/rfc822")
    with InsideReader() as reader:
        found = InsideMetadata("mail", {"title": "Good"})
        assert reader.read_document(mail) == found
        broken = reader.read_document(DocumentBytes(bad, 0, 10**5, "application/pdf"))
        assert (broken.pairs, broken.source) == ({}, "")
        assert broken.problem
        missing = DocumentBytes(tmp_path / "none", 0, 9, "application/pdf")
        assert reader.read_document(missing).problem.startswith("FileNotFoundError: ")
        assert reader.read_document(DocumentBytes(bad, 0, 9, "text/plain")) == InsideMetadata()
        process = reader._process
        assert process is not None
        process.kill()
        process.wait()
        assert reader.read_document(mail) in (found, InsideMetadata(problem="its reader died"))
        assert reader.read_document(mail) == found
