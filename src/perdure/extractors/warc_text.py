"""The text of web archive files (WARC) that are held as documents, and the links in their pages.

Specification: ISO 28500 (WARC 1.1), sections 6.3 (response) and 6.4 (resource).

How it works: FastWARC reads one record after the other, and removes chunks and content codings. The
text of a page of HTML is its lines (`perdure.extractors.markup.page_text`), that of other text its
characters; a form feed follows. Records of name servers and damaged payloads are left out. A
passage leads to the octets of its record, which in a compressed file are a member of their own. A
capture that is resolved by a name of its own is read as the document that it is
(`perdure.reading.plain_texts`).

What must stay true: it runs confined. Payloads are decompressed up to a limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from perdure.errors import PartNotSupported
from perdure.errors.limits import PackageTooLong
from perdure.extractors.libraries import import_library
from perdure.extractors.mapped_text import MappedText, TextBuilding
from perdure.extractors.markup.page_links import list_page_links
from perdure.extractors.markup.page_text import read_page_text
from perdure.extractors.port import MOST_LINKS, Extent, Indexes, ListedLink, Part, Source, Span
from perdure.formats import decode_unlabelled, find_declared_charset, find_python_codec
from perdure.formats.essence import strip_parameters
from perdure.parts import Octets, Selector
from perdure.parts.selectors import PartSelector

MEDIA_TYPE = "application/warc"
_EXTRA = "archives"
_MOST = 256 << 20  # bytes of payloads that are decompressed for one text
_HEAD = 1024  # bytes with the declaration of a charset
_PAGES = ("text/html", "application/xhtml+xml")
_KINDS = ("response", "resource")


class WarcExtractor:
    """The text of WARC files. Octets of them have an extractor of their own."""

    media_types = (MEDIA_TYPE,)
    selectors: tuple[type[PartSelector], ...] = ()
    confined = False
    install = f"perdure[{_EXTRA}]"
    text_index = "warc-text-1"

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        raise PartNotSupported(media_type=source.media_type, selector=str(selector))

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        return ()

    def map_text(self, source: Source) -> bytes:
        building = TextBuilding(source)
        left = _MOST
        pending: tuple[int, str] | None = None  # a text whose record has not ended yet
        group = 0
        for start, record in iterate_records(source):
            if pending is not None:
                _add_record(building, *pending, start, group)
            pending, group = None, group + 1
            if record.headers.get("WARC-Type") not in _KINDS:
                continue
            kind, charset, payload = _read_record(source, record, left)
            if _is_text(kind):
                left -= len(payload)
                if left < 0:
                    raise PackageTooLong(source=source.name, most=_MOST)
                pending = start, _read_payload(source, payload, kind, charset)
        if pending is not None:
            _add_record(building, *pending, source.length, group)
        return building.build_index()

    def list_links(self, source: Source) -> list[ListedLink]:
        return list(islice(_list_links(source), MOST_LINKS))

    def open_text(self, source: Source, index: bytes | memoryview) -> MappedText:
        return MappedText(source, index, Octets)


def _list_links(source: Source) -> Iterator[ListedLink]:
    """Yield the links of the pages. Raises Undecodable or OverBudget."""
    left = _MOST
    for start, record in iterate_records(source):
        if record.headers.get("WARC-Type") not in _KINDS:
            continue
        kind, charset, payload = _read_record(source, record, left)
        if kind not in _PAGES:
            continue
        left -= len(payload)
        if left < 0:
            raise PackageTooLong(source=source.name, most=_MOST)
        page = decode_payload(payload, kind, charset)
        for how, address in list_page_links(page, xhtml=kind != "text/html"):
            yield ListedLink(how, address, start)


def iterate_records(source: Source) -> Iterator[tuple[int, Any]]:
    """Yield the records of a file, each with its first byte. Raises Undecodable."""
    warc = import_library("fastwarc.warc", _EXTRA, source)
    with source.open_file() as file:
        try:
            for record in warc.ArchiveIterator(
                file, parse_http=False, max_content_length=_MOST, quirks_mode=True
            ):
                yield record.stream_pos, record
        except (OSError, ValueError, EOFError) as error:
            raise source.quote_decoder("FastWARC", error) from None


def _read_record(source: Source, record: Any, left: int) -> tuple[str, str | None, bytes]:
    """Return the media type, charset and payload of a record, up to one byte more than `left`.

    A damaged payload is empty, so that the other pages of the archive can be read: it is decoded
    from memory, apart from the file.
    """
    if not record.is_http:
        stated = record.headers.get("Content-Type") or ""
        kind = _strip_type(stated)
        return kind, None, record.reader.read(left + 1) if _is_text(kind) else b""
    alone = import_library("fastwarc.warc", _EXTRA, source).WarcRecord()
    alone.set_bytes_content(record.reader.read(_MOST))
    alone.is_http = True
    try:
        alone.parse_http(auto_decode="all", quirks_mode=True)
        kind = _strip_type(alone.http_content_type or "")
        payload: bytes = alone.reader.read(left + 1) if _is_text(kind) else b""
    except OSError:
        return "", None, b""
    return kind, alone.http_charset, payload


def _add_record(building: TextBuilding, start: int, text: str, stop: int, group: int) -> None:
    """Add the text of a record at bytes [start, stop)."""
    building.add_unit(text, group=group, first=start, last=stop, stored=Span(start, stop))
    building.add_text("\n\f")


def _strip_type(stated: str) -> str:
    """Return a media type without parameters; empty if it is not stated."""
    return next(iter(strip_parameters(stated).split()), "")  # some servers forget the semicolon


def _is_text(kind: str) -> bool:
    return (kind.startswith("text/") and kind != "text/dns") or kind in _PAGES


def _read_payload(source: Source, payload: bytes, kind: str, charset: str | None) -> str:
    text = decode_payload(payload, kind, charset)
    if kind in _PAGES:
        return read_page_text(text, source.name, xhtml=kind != "text/html")
    return text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")


def decode_payload(payload: bytes, kind: str, charset: str | None) -> str:
    """Return the characters of a page or a text. `charset` is what the server stated."""
    named = charset or (find_declared_charset(payload[:_HEAD]) if kind in _PAGES else None)
    codec = find_python_codec(named) if named else None
    try:
        return payload.decode(codec or "utf-8")
    except (UnicodeDecodeError, LookupError):
        return decode_unlabelled(payload)


EXTRACTOR = WarcExtractor()
