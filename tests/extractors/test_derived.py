"""What documents say about themselves, read in a process that cannot do harm."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pikepdf
import pytest
from PIL import Image, PngImagePlugin

from perdure.extractors.inside import derived, documents
from perdure.extractors.inside.derived import DocumentBytes
from perdure.model.about import About

HTML = b"""<!DOCTYPE html><html lang="en-GB"><head><meta charset="utf-8">
<title>Remarks &amp; replies</title><meta name="author" content="Doe, Jane">
<meta name="DC.creator" content="Roe, Richard"><meta name="keywords" content="words">
<meta property="og:title" content="Another"></head><body><title>Not this</title></body></html>"""


def read(tmp_path: Path, data: bytes, media_type: str, charset: str | None = None) -> About | None:
    path = tmp_path / "segment"
    path.write_bytes(b"before" + data + b"after")
    return derived.describe_document(DocumentBytes(path, 6, len(data), media_type, charset))


def test_html(tmp_path: Path) -> None:
    about = read(tmp_path, HTML, "text/html", "utf-8")
    assert about is not None
    assert (about.title, about.language, about.derived) == ("Remarks & replies", "en-GB", "HTML")
    assert [one.display_name for one in about.creators] == ["Doe, Jane", "Roe, Richard"]


def test_pdf(tmp_path: Path) -> None:
    file = io.BytesIO()
    with pikepdf.new() as document:
        document.add_blank_page()
        document.docinfo["/Title"] = "Überschrift"
        document.docinfo["/Author"] = "Doe, Jane"
        document.docinfo["/CreationDate"] = "D:19970901120000Z"
        document.save(file)
    about = read(tmp_path, file.getvalue(), "application/pdf")
    assert about is not None
    assert (about.title, about.year, about.derived) == ("Überschrift", "1997", "PDF")
    assert about.creators[0].family == "Doe"


@pytest.mark.parametrize("kind", ["jpeg", "tiff"])
def test_exif(tmp_path: Path, kind: str) -> None:
    file = io.BytesIO()
    exif = Image.Exif()
    exif[0x010E], exif[0x013B], exif[0x8298] = "A house", "Jane Doe", "CC0"
    exif[0x0132] = "1997:09:01 12:00:00"
    Image.new("RGB", (4, 4)).save(file, kind, exif=exif)
    about = read(tmp_path, file.getvalue(), f"image/{kind}")
    assert about is not None
    assert (about.title, about.creators[0].name, about.year) == ("A house", "Jane Doe", "1997")
    assert about.rights[0].value == "CC0"


def test_png(tmp_path: Path) -> None:
    file = io.BytesIO()
    info = PngImagePlugin.PngInfo()
    info.add_text("Title", "A tree")
    info.add_itxt("Author", "Dürer, Albrecht")
    Image.new("RGB", (4, 4)).save(file, "png", pnginfo=info)
    about = read(tmp_path, file.getvalue(), "image/png")
    assert about is not None
    assert (about.title, about.creators[0].family) == ("A tree", "Dürer")


def frame(name: bytes, text: str) -> bytes:
    body = b"\x03" + text.encode()
    return name + struct.pack(">I", len(body)) + b"\0\0" + body


def test_id3(tmp_path: Path) -> None:
    frames = frame(b"TIT2", "Song") + frame(b"TPE1", "Doe, Jane") + frame(b"TDRC", "1963-05-01")
    head = b"ID3\x04\0\0" + bytes((0, 0, len(frames) >> 7, len(frames) & 0x7F))
    about = read(tmp_path, head + frames + b"\xff\xfb" * 9, "audio/mpeg")
    assert about is not None
    assert (about.title, about.year, about.derived) == ("Song", "1963", "ID3")
    old = b"\xff\xfb" * 9 + b"TAG" + b"Old song".ljust(30, b"\0") + b"Somebody".ljust(30, b"\0")
    about = read(tmp_path, old + bytes(30) + b"1961" + bytes(31), "audio/mpeg")
    assert about is not None
    assert (about.title, about.year) == ("Old song", "1961")


_DAMAGED = [
    b"",
    b"\0" * 100,
    b"II*\0\x08\0\0\0\xff\xff" + b"\xff" * 600,
    b"\xff\xd8\xff\xe1\xff\xffExif\0\0MM\0*\xff\xff\xff\xff",
    b"\x89PNG\r\n\x1a\n\xff\xff\xff\xfftEXt",
    b"ID3\x03\0\x40\x7f\x7f\x7f\x7f" + b"\xff" * 50,
    b"ID3\x03\0\0\x7f\x7f\x7f\x7fTIT2\xff\xff\xff\xff\0\0\x01",
    b"<title>",
    b"<title>\x00\x01</title>",
]


@pytest.mark.parametrize("media_type", sorted(derived.TYPES - {"application/pdf"}))
@pytest.mark.parametrize("data", _DAMAGED, ids=lambda one: repr(one[:12]))
def test_what_is_damaged_says_nothing(media_type: str, data: bytes) -> None:
    """In our own process, in which nothing but an answer will do; PDF is read by others' code."""
    assert documents.describe_bytes(data, media_type, None) is None


def test_what_breaks_the_reader_says_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        assert read(tmp_path, b"%PDF-1.4 nothing", "application/pdf") is None
    assert "the metadata inside a document were not read: " in caplog.text
    assert "PdfError" in caplog.text
    assert read(tmp_path, b"%PDF-1.4\n%%EOF", "application/pdf") is None
    assert read(tmp_path, b"", "text/html") is None
    assert read(tmp_path, b"<html>", "application/zip") is None


def test_a_page_that_takes_long_is_given_up(tmp_path: Path) -> None:
    """Its reader has a limit of time; without one, the test would not end."""
    read(tmp_path, b"<!" * 60_000 + b"<a " * 20_000, "text/html")
