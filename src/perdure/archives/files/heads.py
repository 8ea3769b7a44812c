"""Parse the heads of WARC records and of archived HTTP messages: bytes in, fields out.

How it works: both have lines `Name: value` after a first line; a line that begins with a space
continues the one before. Real files end lines with LF alone, repeat fields and contain bytes that
are not UTF-8. All of that is read. Of repeated fields the first counts, as in other readers.

What must stay true: nothing is invented. A field that cannot be read is absent, and values stay as
recorded, except for the angle brackets that old versions of wget put around the target URI. Every
function here takes linear time.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from perdure.archives.dates import parse_second
from perdure.archives.files.chunks import remove_chunks
from perdure.archives.files.request_bodies import LONGEST_BODY, read_method, write_query
from perdure.archives.port import Capture
from perdure.formats import decode_unlabelled
from perdure.formats.essence import strip_parameters
from perdure.ids.urlkey import make_url_key

LONGEST_HEAD = 64 << 10
"""Bytes of the head of a record, or of the archived HTTP message in it."""
LONGEST_NUMBER = 18
_END = re.compile(rb"\n\r{0,2}\n")
_STATUS = re.compile(rb"HTTP[A-Z]?/\d(?:\.\d)?[ \t]+(\d{3})(?![0-9])[ \t]*([^\r\n]*)")
"""Some writers have damaged the first word by a letter: `HTTPX/1.1 200 OK` does occur."""
_HTTP_BEGIN = re.compile(rb"HTTP[A-Z]?/")
_TYPE_OR_END = re.compile(
    rb"\n(?:content-type[ \t]*:[ \t]*(?:\r?\n[ \t]+)?([^\s;]*)|\r{0,2}\n)", re.IGNORECASE
)
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([!#-~]{1,40}?)\"?\s*(?:;|$)", re.IGNORECASE)
_OF_HTTP = ("response", "revisit", "request")
HTTP_SCHEMES = ("http:", "https:")

Fields = list[tuple[str, str]]

# The request, response and metadata records of a capture follow each other.
_urlkey = lru_cache(maxsize=32)(make_url_key)
_second = lru_cache(maxsize=32)(parse_second)


class FaultyRecord(ValueError):
    """A record whose head lacks what the index needs to find it again. The text says what."""


class ArchivedHead(msgspec.Struct, frozen=True, gc=False):
    """The fields of a record's head that the index needs."""

    kind: str
    uri: str
    date: str
    length: int | None
    """Content-Length; None if it is absent or invalid."""
    content_type: str
    digest: str
    refers_to_uri: str
    refers_to_date: str
    id: str
    concurrent_to: str = ""


def find_end_of_head(text: bytes, start: int = 0) -> int:
    """Return the index after the blank line that ends a head; -1 if there is none."""
    found = _END.search(text, start)
    return found.end() if found else -1


def parse_fields(text: bytes) -> Fields:
    """Return the named fields of a head without its first line."""
    found: Fields = []
    for line in decode_unlabelled(text).split("\n"):
        line = line.rstrip("\r")
        if line[:1] in (" ", "\t") and found:
            name, value = found[-1]
            found[-1] = (name, f"{value} {line.strip()}")
            continue
        name, colon, value = line.partition(":")
        if colon and name:
            found.append((name.strip(), value.strip()))
    return found


def split_first_line(text: bytes) -> tuple[bytes, bytes]:
    line, _, rest = text.partition(b"\n")
    return line.rstrip(b"\r"), rest


def find_value(all_fields: Fields, name: str) -> str:
    """Return the value of the first field of this name, in any case; empty if there is none."""
    name = name.lower()
    return next((value for one, value in all_fields if one.lower() == name), "")


def parse_warc_fields(text: bytes) -> Fields:
    """Return the fields of a head that begins with its `WARC/` line and ends with a blank line."""
    return parse_fields(split_first_line(text)[1])


def parse_warc_head(named: Fields) -> ArchivedHead:
    """Return the fields of a head that the index needs; of repeated fields, the first."""
    found: dict[str, str] = {}
    for name, value in named:
        found.setdefault(name.lower(), value)
    get = found.get
    return ArchivedHead(
        kind=get("warc-type", ""),
        uri=strip_brackets(get("warc-target-uri", "")),
        date=get("warc-date", ""),
        length=parse_length(get("content-length", "")),
        content_type=get("content-type", ""),
        digest=get("warc-payload-digest", ""),
        refers_to_uri=strip_brackets(get("warc-refers-to-target-uri", "")),
        refers_to_date=get("warc-refers-to-date", ""),
        id=strip_brackets(get("warc-record-id", "")),
        concurrent_to=strip_brackets(get("warc-concurrent-to", "")),
    )


def parse_length(text: str) -> int | None:
    if text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER:
        return int(text)
    return None


def strip_brackets(uri: str) -> str:
    """Remove angle brackets. The grammar of WARC/1.0 has them, and wget wrote them literally."""
    return uri[1:-1] if uri[:1] == "<" and uri[-1:] == ">" else uri


def find_charset(content_type: str) -> str | None:
    """Return the charset that a Content-Type names, or None.

    >>> find_charset('text/html; Charset="windows-1251"')
    'windows-1251'
    """
    found = _CHARSET.search(content_type)
    return found[1] if found else None


def speaks_http(kind: str, uri: str, content_type: str) -> bool:
    """Return whether the block of such a record is usually an HTTP message."""
    return kind in _OF_HTTP and (
        content_type.startswith("application/http") or uri[:6].lower().startswith(HTTP_SCHEMES)
    )


def begins_http(start: bytes) -> bool:
    """Return whether a block begins with the head of an HTTP response."""
    return _HTTP_BEGIN.match(start) is not None


def parse_status_line(text: bytes) -> tuple[int | None, str]:
    """Return the status and reason of an archived HTTP response, given its first bytes."""
    found = _STATUS.match(text)
    return (int(found[1]), decode_unlabelled(found[2]).strip()) if found else (None, "")


def find_media_type(text: bytes) -> str:
    """Return the media type in an HTTP head, without parameters, in lower case; empty if none."""
    found = _TYPE_OR_END.search(text)
    return decode_unlabelled(found[1]).lower() if found and found[1] else ""


_ARC_DATE = len("20140401000000")
_ARC = re.compile(
    rb"([A-Za-z][A-Za-z0-9+.-]{0,30}:[^\r\n]{0,16384}?) ([0-9a-fA-F.:]{0,45}|[^ \r\n]{1,45}) "
    rb"(\d{12,20}) ([^ \r\n]{0,256}) "
    rb"(?:[^\r\n]{0,2048} )?([^ \r\n]{1,18})\r?\n"
)
ARC_START = re.compile(
    rb"(?:^|\n)(?=(?:filedesc|https?|ftp|dns)[^ \r\n]{0,4096} [0-9.]{7,15} \d{12,20} "
    rb"[^\r\n]{0,2048}\n)"
)


def parse_arc_head(text: bytes) -> tuple[ArchivedHead, str, int] | None:
    """Parse the head of an ARC record. Return it, its IP address and its bytes; None if invalid.

    `URL IP-address date type length`, with more fields between type and length in version 2. Some
    files have URLs with spaces. A line of a CDX index is not a head.
    """
    found = _ARC.match(text)
    if not found:
        return None
    uri, address, date, content_type, length = (
        decode_unlabelled(group) for group in found.groups()
    )
    http = uri[:6].lower().startswith(HTTP_SCHEMES)
    kind = "response" if http else "resource"
    if uri.startswith("filedesc:"):
        kind = "warcinfo"
    head = ArchivedHead(
        kind=kind,
        uri="" if kind == "warcinfo" else uri,
        date=date[:_ARC_DATE],  # some writers added the fraction of the second
        length=parse_length(length),
        content_type="application/http; msgtype=response" if http else content_type,
        digest="",
        refers_to_uri="",
        refers_to_date="",
        id="",
    )
    return head, address, found.end()


class ArchivedBlock(msgspec.Struct, frozen=True, gc=False):
    """The properties of a record's block that the index needs."""

    status: int | None = None
    media_type: str = ""
    digest: str = ""
    """Payload digest, computed if the record has none."""
    method: str = ""
    """For a request: its method; empty if it is GET."""
    request_body: str = ""
    """For a request: its body as a query."""


def summarise_block(head: ArchivedHead, start: bytes, digest: str = "") -> ArchivedBlock:
    """Return the properties of a block. `start`: its first bytes, if it is an HTTP message."""
    if not speaks_http(head.kind, head.uri, head.content_type):
        return ArchivedBlock(None, strip_parameters(head.content_type), digest)
    if head.kind == "request":
        method = read_method(start)
        return ArchivedBlock(method=method, request_body=_read_query(method, start))
    if not begins_http(start):
        return ArchivedBlock(digest=digest)
    status = _STATUS.match(start)
    return ArchivedBlock(int(status[1]) if status else None, find_media_type(start), digest)


def _read_query(method: str, start: bytes) -> str:
    """Return the body of a request as a query; `start` has as much of it as counts."""
    end = find_end_of_head(start)
    if not method or end < 0:
        return ""
    fields = parse_fields(split_first_line(start[:end])[1])
    body = start[end : end + LONGEST_BODY]
    if "chunked" in find_value(fields, "Transfer-Encoding").lower():
        body = b"".join(remove_chunks(iter([body])))
    return write_query(method, find_value(fields, "Content-Type"), body)


def make_capture(
    head: ArchivedHead, block: ArchivedBlock, *, file: str, offset: int, length: int
) -> Capture | None:
    """Return the index line of a record; None if it has no URI, like `warcinfo`.

    Raises Faulty if the record has a URI but lacks a field that the index needs.
    """
    if not head.uri or head.kind == "warcinfo":
        return None
    try:
        time = _second(head.date)
    except ValueError:
        raise FaultyRecord(f"invalid WARC-Date: {head.date[:40]!r}") from None
    if not head.kind:
        raise FaultyRecord("no WARC-Type")
    return Capture(
        key=_urlkey(head.uri),
        time=time,
        date=head.date,
        uri=head.uri,
        kind=head.kind,
        media_type=block.media_type,
        status=block.status,
        digest=head.digest or block.digest,
        file=file,
        offset=offset,
        length=length,
        refers_to_uri=head.refers_to_uri,
        refers_to_date=head.refers_to_date,
        method=block.method,
        request_body=block.request_body,
        id=head.id,
        concurrent_to=head.concurrent_to,
    )
