"""The contents of mails and archives, as a list: attachments, mails of an mbox, members, records.

How it works: only headers and directories are read, and nothing is unpacked. Mails of an mbox and
records of a WARC file are slices of the stored bytes, so each has a part of its own.

What must stay true: the code runs confined. A list has a bounded number of entries.
"""

from __future__ import annotations

import contextlib
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from email.header import decode_header, make_header
from email.message import Message
from email.parser import BytesParser
from email.policy import compat32
from itertools import islice, pairwise

import msgspec

from perdure.errors import PartNotSupported
from perdure.errors.limits import PackageTooLong
from perdure.extractors import warc_text
from perdure.extractors.mail.structure import list_mails
from perdure.extractors.port import Extent, Indexes, Part, Source
from perdure.formats.zip_faults import ZIP_FAULTS
from perdure.parts import Selector, View

MOST = 500
"""Entries of a list."""
_LARGEST_MAIL = 64 << 20  # bytes
_LONGEST = 300  # characters of a name
_ZIP = ("application/zip", "application/x-zip-compressed")
_TAR = ("application/x-tar", "application/tar")
_MAIL, _MBOX = "message/rfc822", "application/mbox"
_SHOWN_FIELDS = ("Subject", "From", "To", "Date")


class ContentEntry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An entry of a list of contents."""

    name: str
    kind: str = ""
    """Its media type, or another word for what it is."""
    size: int | None = None
    """Bytes."""
    span: tuple[int, int] | None = None
    """Its bytes in the document, if it is stored as it is."""


class ContentsExtractor:
    """The contents of mails and archives."""

    media_types = (*_ZIP, *_TAR, _MAIL, _MBOX, warc_text.MEDIA_TYPE)
    selectors = (View,)
    confined = True
    install = None

    def extract_part(self, source: Source, selector: Selector, indexes: Indexes) -> Part:
        if selector != View("contents"):
            raise PartNotSupported(media_type=source.media_type, selector=str(selector))
        entries = list(islice(_list_entries(source), MOST))
        body = msgspec.json.encode(entries)
        return Part(selector=selector, media_type="application/json", body=(body,))

    def list_extents(self, source: Source, indexes: Indexes) -> tuple[Extent, ...]:
        return ()  # no fragment can name a list of contents


def _list_entries(source: Source) -> Iterator[ContentEntry]:
    """Yield the entries of a document. Raises Undecodable or OverBudget."""
    kind = source.essence
    if kind in _ZIP:
        return _list_members_of_zip(source)
    if kind in _TAR:
        return _list_members_of_tar(source)
    if kind == warc_text.MEDIA_TYPE:
        return _list_records(source)
    if source.length > _LARGEST_MAIL:
        raise PackageTooLong(source=source.name, most=_LARGEST_MAIL)
    return _list_bodies(source) if kind == _MAIL else _list_mails(source)


def _list_members_of_zip(source: Source) -> Iterator[ContentEntry]:
    with source.open_file() as file:
        try:
            with zipfile.ZipFile(file) as archive:
                for one in archive.infolist():
                    yield ContentEntry(name=_shorten_name(one.filename), size=one.file_size)
        except (*ZIP_FAULTS, OSError) as error:
            raise source.quote_decoder("zipfile", error) from None


def _list_members_of_tar(source: Source) -> Iterator[ContentEntry]:
    with source.open_file() as file:
        try:
            with tarfile.open(fileobj=file, mode="r:") as archive:
                for one in archive:
                    span = (one.offset_data, one.offset_data + one.size)
                    is_stored = one.isreg() and not one.issparse() and one.size > 0
                    yield ContentEntry(
                        name=_shorten_name(one.name),
                        size=one.size,
                        span=span if is_stored else None,
                    )
        except (tarfile.TarError, EOFError, ValueError, OSError) as error:
            raise source.quote_decoder("tarfile", error) from None


def _list_records(source: Source) -> Iterator[ContentEntry]:
    marks: list[tuple[int, Mapping[str, str]]] = [
        (start, dict(record.headers))
        for start, record in islice(warc_text.iterate_records(source), MOST + 1)
    ]
    for (start, fields), (stop, _) in pairwise([*marks, (source.length, {})]):
        name = fields.get("WARC-Target-URI") or fields.get("WARC-Filename") or ""
        kind = f"{fields.get('WARC-Type', '')} {fields.get('WARC-Date', '')}".strip()
        yield ContentEntry(
            name=_shorten_name(name), kind=kind, size=stop - start, span=(start, stop)
        )


def _list_mails(source: Source) -> Iterator[ContentEntry]:
    data = source.read_bytes()
    parser = BytesParser(policy=compat32)
    for start, stop in list_mails(data):
        header = parser.parsebytes(data[start:stop], headersonly=True)
        subject = _read_field(header, "Subject")
        yield ContentEntry(
            name=subject, kind=_read_field(header, "Date"), size=stop - start, span=(start, stop)
        )


def _list_bodies(source: Source) -> Iterator[ContentEntry]:
    """Yield the fields of a mail that people read, and then its bodies."""
    mail = BytesParser(policy=compat32).parsebytes(source.read_bytes())
    for name in _SHOWN_FIELDS:
        if text := _read_field(mail, name):
            yield ContentEntry(name=text, kind=name)
    for body in mail.walk():
        if body.is_multipart():
            continue
        content = body.get_payload(decode=True)
        size = len(content) if isinstance(content, bytes) else None
        yield ContentEntry(
            name=_shorten_name(body.get_filename() or ""), kind=body.get_content_type(), size=size
        )


def _read_field(header: Message[str, str], name: str) -> str:
    """Return a field without its encoded words, as far as they can be decoded."""
    text = str(header.get(name, ""))
    with contextlib.suppress(ValueError, LookupError):
        text = str(make_header(decode_header(text)))
    return _shorten_name(text)


def _shorten_name(text: str) -> str:
    """Return a name for a page: short, and only characters that UTF-8 can write."""
    return text[:_LONGEST].encode("utf-8", "replace").decode()


EXTRACTOR = ContentsExtractor()
