"""Heads of WARC records and of archived HTTP messages: bytes in, fields out.

How it works: both are lines `Name: value` behind a first line; a line that begins with a blank
continues the one before. Real files end their lines with LF alone, repeat fields and have bytes in
them that are no UTF-8: all of that is read. The first of repeated fields counts, as other readers
have it.

What must stay true: nothing is invented: a field that cannot be read is absent, and values stay as
recorded, but for the angle brackets that old versions of wget put around the target URI. No
function here takes more than linear time.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from perdure.archives.dates import second
from perdure.archives.port import Capture
from perdure.archives.urlkey import urlkey
from perdure.parts.media_types import strip_parameters

LONGEST_HEAD = 64 << 10
"""Bytes of the head of a record, or of the archived HTTP message in it."""
LONGEST_NUMBER = 18
_END = re.compile(rb"\n\r{0,2}\n")
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})(?![0-9])[ \t]*([^\r\n]*)")
_TYPE_OR_END = re.compile(
    rb"\n(?:content-type[ \t]*:[ \t]*(?:\r?\n[ \t]+)?([^\s;]*)|\r{0,2}\n)", re.IGNORECASE
)
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([!#-~]{1,40}?)\"?\s*(?:;|$)", re.IGNORECASE)
_OF_HTTP = ("response", "revisit", "request")
HTTP_SCHEMES = ("http:", "https:")

Fields = list[tuple[str, str]]

# Request, response and metadata follow one another.
_urlkey = lru_cache(maxsize=32)(urlkey)
_second = lru_cache(maxsize=32)(second)


class Faulty(ValueError):
    """A record whose head says too little for it to be found again, and why."""


class Head(msgspec.Struct, frozen=True, gc=False):
    """What the index needs of the head of a record."""

    kind: str
    uri: str
    date: str
    length: int | None
    """Content-Length; None where there is none that could be."""
    content_type: str
    digest: str
    refers_to_uri: str
    refers_to_date: str
    id: str


def end_of_head(text: bytes, start: int = 0) -> int:
    """Index behind the blank line that ends a head; -1 where none does."""
    found = _END.search(text, start)
    return found.end() if found else -1


def fields(text: bytes) -> Fields:
    """The named fields of a head whose first line is left out."""
    found: Fields = []
    for line in decoded(text).split("\n"):
        line = line.rstrip("\r")
        if line[:1] in (" ", "\t") and found:
            name, value = found[-1]
            found[-1] = (name, f"{value} {line.strip()}")
            continue
        name, colon, value = line.partition(":")
        if colon and name:
            found.append((name.strip(), value.strip()))
    return found


def decoded(text: bytes) -> str:
    """UTF-8 (ISO 28500 section 4), or each byte as the character of its number."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:
        return text.decode("latin-1")


def first_line(text: bytes) -> tuple[bytes, bytes]:
    line, _, rest = text.partition(b"\n")
    return line.rstrip(b"\r"), rest


def value_of(all_fields: Fields, name: str) -> str:
    """The first field of this name, in any case; empty where there is none."""
    name = name.lower()
    return next((value for one, value in all_fields if one.lower() == name), "")


def warc_fields(text: bytes) -> Fields:
    """The fields of a head, from its `WARC/` line to its blank line."""
    return fields(first_line(text)[1])


def warc_head(named: Fields) -> Head:
    """What the index needs of the fields of a head; of those that are repeated, the first."""
    found: dict[str, str] = {}
    for name, value in named:
        found.setdefault(name.lower(), value)
    get = found.get
    return Head(
        kind=get("warc-type", ""),
        uri=unbracketed(get("warc-target-uri", "")),
        date=get("warc-date", ""),
        length=length_of(get("content-length", "")),
        content_type=get("content-type", ""),
        digest=get("warc-payload-digest", ""),
        refers_to_uri=unbracketed(get("warc-refers-to-target-uri", "")),
        refers_to_date=get("warc-refers-to-date", ""),
        id=unbracketed(get("warc-record-id", "")),
    )


def length_of(text: str) -> int | None:
    if text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER:
        return int(text)
    return None


def unbracketed(uri: str) -> str:
    """Without the angle brackets of the grammar of WARC/1.0, which wget took at its word."""
    return uri[1:-1] if uri[:1] == "<" and uri[-1:] == ">" else uri


def charset_of(content_type: str) -> str | None:
    """The charset that a Content-Type names.

    >>> charset_of('text/html; Charset="windows-1251"')
    'windows-1251'
    """
    found = _CHARSET.search(content_type)
    return found[1] if found else None


def speaks_http(kind: str, uri: str, content_type: str) -> bool:
    """Whether the block of such a record is an HTTP message, as a rule."""
    return kind in _OF_HTTP and (
        content_type.startswith("application/http") or uri[:6].lower().startswith(HTTP_SCHEMES)
    )


def status_line(text: bytes) -> tuple[int | None, str]:
    """Status and reason of an archived HTTP response that begins so."""
    found = _STATUS.match(text)
    return (int(found[1]), decoded(found[2]).strip()) if found else (None, "")


def media_type_of(text: bytes) -> str:
    """From the head of an HTTP message; without parameters, in lower case."""
    found = _TYPE_OR_END.search(text)
    return decoded(found[1]).lower() if found and found[1] else ""


_ARC = re.compile(
    rb"([A-Za-z][A-Za-z0-9+.-]{0,30}:[^\r\n]{0,16384}?) ([0-9a-fA-F.:]{0,45}|[^ \r\n]{1,45}) "
    rb"(\d{12,20}) ([^ \r\n]{0,256}) "
    rb"(?:[^\r\n]{0,2048} )?([^ \r\n]{1,18})\r?\n"
)
ARC_START = re.compile(
    rb"(?:^|\n)(?=(?:filedesc|https?|ftp|dns)[^ \r\n]{0,4096} [0-9.]{7,15} \d{12,20} "
    rb"[^\r\n]{0,2048}\n)"
)


def arc_head(text: bytes) -> tuple[Head, str, int] | None:
    """A head of an ARC file, its IP address, and its length in bytes; None where it is none.

    `URL IP-address date type length`, with more between type and length in version 2. URLs with
    spaces in them have been seen; a line of an index is none.
    """
    found = _ARC.match(text)
    if not found:
        return None
    uri, address, date, content_type, length = (decoded(group) for group in found.groups())
    http = uri[:6].lower().startswith(HTTP_SCHEMES)
    kind = "response" if http else "resource"
    if uri.startswith("filedesc:"):
        kind = "warcinfo"
    head = Head(
        kind=kind,
        uri="" if kind == "warcinfo" else uri,
        date=date,
        length=length_of(length),
        content_type="application/http; msgtype=response" if http else content_type,
        digest="",
        refers_to_uri="",
        refers_to_date="",
        id="",
    )
    return head, address, found.end()


class Block(msgspec.Struct, frozen=True, gc=False):
    """What the index needs of the block of a record."""

    status: int | None = None
    media_type: str = ""


def block_of(head: Head, start: bytes) -> Block:
    """`start`: the first bytes of the block, where it is an HTTP message."""
    if not speaks_http(head.kind, head.uri, head.content_type):
        return Block(None, strip_parameters(head.content_type))
    if head.kind == "request" or not start.startswith(b"HTTP/"):
        return Block()
    status = _STATUS.match(start)
    return Block(int(status[1]) if status else None, media_type_of(start))


def capture(head: Head, block: Block, *, file: str, offset: int, length: int) -> Capture | None:
    """The line of the index for a record; None where it names no URI, as `warcinfo` does not.

    Raises Faulty where the record has a URI and cannot be found by it.
    """
    if not head.uri or head.kind == "warcinfo":
        return None
    try:
        time = _second(head.date)
    except ValueError:
        raise Faulty(f"no WARC-Date that could be: {head.date[:40]!r}") from None
    if not head.kind:
        raise Faulty("no WARC-Type")
    return Capture(
        key=_urlkey(head.uri),
        time=time,
        date=head.date,
        uri=head.uri,
        kind=head.kind,
        media_type=block.media_type,
        status=block.status,
        digest=head.digest,
        file=file,
        offset=offset,
        length=length,
        refers_to_uri=head.refers_to_uri,
        refers_to_date=head.refers_to_date,
        id=head.id,
    )
