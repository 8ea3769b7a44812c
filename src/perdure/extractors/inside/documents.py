"""Readers of the metadata inside documents: HTML, PDF, EXIF, PNG, ID3, and those of other modules.

How it works: each reader takes bytes and returns plain name-value pairs, from which a description
is made. Only `perdure.extractors.inside.derived` runs them, in a process with limits.

Specifications: HTML (title, meta; the names of Dublin Core and of Google Scholar), ISO 32000-2
section 14.3.3 (document information), EXIF 2.32, PNG 3rd edition section 11.3.3, ID3 2.3 and 2.4.
"""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module

import msgspec

from perdure import formats
from perdure.extractors.inside.mail import read_mail
from perdure.extractors.inside.ole import read_summary
from perdure.extractors.inside.packages import read_epub, read_office, read_opendocument, read_xmp
from perdure.model.about import About
from perdure.model.description_checks import clean_text
from perdure.model.plain_words import read_pairs

Pairs = dict[str, str]

OFFICE = "application/vnd.openxmlformats-officedocument."
OPENDOCUMENT = "application/vnd.oasis.opendocument."
OLD_OFFICE = frozenset(
    (
        "application/msword",
        "application/vnd.ms-excel",
        "application/vnd.ms-powerpoint",
        "application/x-ole-storage",
    )
)
_HEAD = 128 * 1024  # bytes of HTML; a head is not longer
_MOST_FRAMES = 500


def describe_bytes(data: bytes, media_type: str, charset: str | None) -> About | None:
    """Return the description inside the bytes, or None if they contain none."""
    name, pairs = read_inside(data, media_type, charset)
    if not pairs:
        return None
    return msgspec.structs.replace(read_pairs(pairs), derived=name)


def read_inside(data: bytes, media_type: str, charset: str | None) -> tuple[str, Pairs]:
    """Return the names and values inside the bytes, and what they were read from."""
    name, pairs = _read_by_type(data, media_type, charset)
    return name, {key: value for key, value in pairs.items() if clean_text(value)}


def _read_by_type(data: bytes, media_type: str, charset: str | None) -> tuple[str, Pairs]:
    match media_type:
        case "text/html" | "application/xhtml+xml":
            return "HTML", read_html(data[:_HEAD], charset)
        case "application/pdf":
            return "PDF", read_pdf(data)
        case "image/jpeg" | "image/tiff":
            return _join_sources(("EXIF", read_exif(data)), ("XMP", read_xmp(data)))
        case "image/png":
            return _join_sources(("PNG", read_png(data)), ("XMP", read_xmp(data)))
        case "message/rfc822":
            return "mail", read_mail(data)
        case "application/epub+zip":
            return "EPUB", read_epub(data)
    if media_type.startswith(OFFICE):
        return "Office", read_office(data)
    if media_type.startswith(OPENDOCUMENT):
        return "OpenDocument", read_opendocument(data)
    if media_type in OLD_OFFICE:
        return "Office", read_summary(data)
    return "ID3", read_id3(data)


def _join_sources(*sources: tuple[str, Pairs]) -> tuple[str, Pairs]:
    """Join what several places in one file say: the first one wins, value by value."""
    names = [name for name, pairs in sources if pairs]
    joined: Pairs = {}
    for _, pairs in sources:
        joined = pairs | joined
    return " and ".join(names), joined


# HTML
# ----

_META = {
    "author": "creator", "dc.creator": "creator", "dcterms.creator": "creator",
    "citation_author": "creator", "description": "description", "dc.description": "description",
    "og:title": "title", "dc.title": "title", "dcterms.title": "title",
    "citation_title": "title", "keywords": "keywords", "dc.publisher": "publisher",
    "dc.date": "date", "dcterms.date": "date", "dcterms.issued": "date",
    "citation_publication_date": "date", "date": "date", "dc.rights": "rights",
    "copyright": "rights", "dc.language": "language",
}  # fmt: skip

_WRITTEN = {"iso8859-1": "cp1252", "ascii": "cp1252", "gb2312": "gbk", "shift_jis": "cp932"}
"""Larger encodings that the names of smaller ones mean (Encoding Standard section 4.2)."""


class _Head(HTMLParser):
    """Collects title and meta elements, up to the body."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: Pairs = {}
        self._title: list[str] | None = None
        self._over = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        if tag == "title" and not self._over and "title" not in self.found:
            self._title = []
        elif tag == "html" and said.get("lang"):
            self.found["language"] = said["lang"]
        elif tag == "meta":
            name = _META.get((said.get("name") or said.get("property", "")).lower())
            value = said.get("content", "")
            if name == "creator" and name in self.found:
                self.found[name] += f"; {value}"
            elif name and value:
                self.found.setdefault(name, value)
        elif tag == "body":
            self._over = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "title" and self._title is not None:
            self.found["title"] = "".join(self._title)  # the visible title overrides meta elements
            self._title = None

    def handle_data(self, data: str) -> None:
        if self._title is not None:
            self._title.append(data)


def read_html(data: bytes, charset: str | None) -> Pairs:
    """Read title and meta elements of a page."""
    head = _Head()
    codec = formats.find_python_codec(charset or "utf-8") or "latin-1"
    head.feed(data.decode(_WRITTEN.get(codec, codec), "replace"))
    return head.found


# PDF
# ---

_INFO = {"/Title": "title", "/Author": "creator", "/Subject": "description",
         "/Keywords": "keywords"}  # fmt: skip
_PDF_DATE = re.compile(r"D:([0-9]{4})([0-9]{2})?([0-9]{2})?", re.ASCII)


def read_pdf(data: bytes) -> Pairs:
    """Read the document information dictionary."""
    pikepdf = import_module("pikepdf")
    found: Pairs = {}
    with pikepdf.open(io.BytesIO(data)) as document:
        for key, value in document.docinfo.items():
            if key in _INFO:
                found[_INFO[key]] = str(value)
            elif key == "/CreationDate" and (date := _PDF_DATE.match(str(value))):
                found["date"] = "-".join(part for part in date.groups() if part)
        packet = document.Root.get("/Metadata")
        if packet is not None:
            found = read_xmp(bytes(packet.read_bytes())) | found
    return found


# EXIF
# ----

_TAGS = {0x010E: "title", 0x013B: "creator", 0x8298: "rights", 0x9003: "date", 0x0132: "changed"}
_EXIF_IFD = 0x8769
_ASCII = 2


def read_exif(data: bytes) -> Pairs:
    """Read the text tags of the first directory of a JPEG or TIFF, and of its EXIF directory."""
    tiff = data if data[:2] in (b"II", b"MM") else _find_exif(data)
    if tiff[:4] not in (b"II*\0", b"MM\0*"):
        return {}
    order = "<" if tiff[:2] == b"II" else ">"
    found: Pairs = {}
    pending = [struct.unpack_from(f"{order}I", tiff, 4)[0]]
    for at in pending[:4]:
        for tag, value in _list_tags(tiff, at, order):
            if tag == _EXIF_IFD and isinstance(value, int) and len(pending) < 2:
                found |= dict(_list_texts(_list_tags(tiff, value, order)))
            elif isinstance(value, str) and tag in _TAGS:
                found.setdefault(_TAGS[tag], value)
    date = found.pop("date", "") or found.pop("changed", "")
    found.pop("changed", "")
    if re.match("[0-9]{4}:[0-9]{2}:[0-9]{2}", date):
        found["date"] = date[:10].replace(":", "-")
    return found


def _list_texts(entries: Iterator[tuple[int, str | int]]) -> Iterator[tuple[str, str]]:
    for tag, value in entries:
        if isinstance(value, str) and tag in _TAGS:
            yield _TAGS[tag], value


def _find_exif(data: bytes) -> bytes:
    at = 2
    while data[:2] == b"\xff\xd8" and at + 4 <= len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4])
        if marker == 0xE1 and data[at + 4 : at + 10] == b"Exif\0\0":
            return data[at + 10 : at + 2 + length]
        if marker == 0xDA or length < 2:
            break
        at += 2 + length
    return b""


def _list_tags(tiff: bytes, at: int, order: str) -> Iterator[tuple[int, str | int]]:
    """Yield the tags of a directory whose values are text or one number."""
    if not 8 <= at <= len(tiff) - 2:
        return
    (count,) = struct.unpack_from(f"{order}H", tiff, at)
    for number in range(min(count, _MOST_FRAMES)):
        entry = at + 2 + 12 * number
        if entry + 12 > len(tiff):
            return
        tag, kind, length = struct.unpack_from(f"{order}HHI", tiff, entry)
        (value,) = struct.unpack_from(f"{order}I", tiff, entry + 8)
        if kind == _ASCII:
            start = entry + 8 if length <= 4 else value
            text = tiff[start : start + min(length, 65536)].split(b"\0")[0]
            yield tag, formats.decode_unlabelled(text)
        elif length == 1:
            yield tag, value


# PNG
# ---

_KEYWORDS = {"title": "title", "author": "creator", "description": "description",
             "copyright": "rights", "creation time": "date"}  # fmt: skip


def read_png(data: bytes) -> Pairs:
    """Read the textual chunks that are not compressed."""
    found: Pairs = {}
    at = 8
    while data[:8] == b"\x89PNG\r\n\x1a\n" and at + 8 <= len(data):
        length, kind = int.from_bytes(data[at : at + 4]), data[at + 4 : at + 8]
        if kind in (b"tEXt", b"iTXt"):
            keyword, _, rest = data[at + 8 : at + 8 + min(length, 65536)].partition(b"\0")
            if kind == b"iTXt":
                compressed, rest = rest[:1] == b"\1", rest[2:].split(b"\0", 2)[-1]
                text = "" if compressed else rest.decode("utf-8", "replace")
            else:
                text = rest.decode("latin-1")
            name = _KEYWORDS.get(keyword.decode("latin-1").lower())
            if name and text:
                found.setdefault(name, text)
        at += 12 + length
    return found


# ID3
# ---

_FRAMES = {"TIT2": "title", "TPE1": "creator", "TPUB": "publisher", "TCOP": "rights",
           "TDRC": "date", "TYER": "date", "TLAN": "language", "COMM": "description"}  # fmt: skip
_CODINGS = ("latin-1", "utf-16", "utf-16-be", "utf-8")


def read_id3(data: bytes) -> Pairs:
    """Read the text frames of ID3v2, or else the fields of ID3v1."""
    if data[:3] != b"ID3" or data[3] not in (3, 4):
        return _read_id3v1(data[-128:])
    end = min(10 + _read_synchsafe(data[6:10]), len(data))
    found: Pairs = {}
    at = 10
    if data[5] & 0x40:  # an extended header
        at += _read_synchsafe(data[10:14]) if data[3] == 4 else 4 + int.from_bytes(data[10:14])
    for _ in range(_MOST_FRAMES):
        name = data[at : at + 4].decode("latin-1")
        if at + 10 > end or not name.isalnum():
            break
        raw = data[at + 4 : at + 8]
        length = _read_synchsafe(raw) if data[3] == 4 else int.from_bytes(raw)
        body = data[at + 10 : min(at + 10 + length, end)]
        if name in _FRAMES and body and body[0] < len(_CODINGS):
            text = body[4:] if name == "COMM" else body[1:]
            shown = text.decode(_CODINGS[body[0]], "replace").strip("\0\ufeff")
            found.setdefault(_FRAMES[name], shown.replace("\0", "; "))
        at += 10 + length
    return found


def _read_synchsafe(raw: bytes) -> int:
    """Read 28 bits from four bytes."""
    return sum((byte & 0x7F) << shift for byte, shift in zip(raw, (21, 14, 7, 0), strict=False))


def _read_id3v1(tail: bytes) -> Pairs:
    if tail[:3] != b"TAG":
        return {}
    fields = {"title": tail[3:33], "creator": tail[33:63], "date": tail[93:97]}
    return {name: raw.split(b"\0")[0].decode("latin-1").strip() for name, raw in fields.items()}
