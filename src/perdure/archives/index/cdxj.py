"""Format and parse captures as lines of CDXJ, the form of exchanged indexes and ZipNum segments.

    dk,dr)/nyheder 20160122112029 {"url": "http://www.dr.dk/nyheder", "mime": "text/html", …}

How it works: the fields are those of `cdxj-indexer` and pywb, which also write numbers as text.
perdure adds fields for values that these lack, if there is a value: the kind of record, a date more
precise than the second, the capture to which a revisit refers.

What must stay true: `parse_line(format_line(capture))` is the capture without its record id; a line
has no line break inside.
"""

from __future__ import annotations

import msgspec

from perdure.archives.dates import format_second
from perdure.archives.files.request_bodies import append_request
from perdure.archives.port import Capture
from perdure.ids.urlkey import make_url_key


class _Fields(msgspec.Struct, omit_defaults=True):
    url: str = ""
    mime: str = ""
    status: str | int = ""
    digest: str = ""
    length: str | int = ""
    offset: str | int = ""
    filename: str = ""
    kind: str = ""
    date: str = ""
    payload_mime: str = ""
    refers_to_uri: str = ""
    refers_to_date: str = ""
    method: str = ""
    requestBody: str = ""  # noqa: N815  # the name that cdxj-indexer gives it


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Fields).decode
_REVISIT = "warc/revisit"


def make_exchanged_key(capture: Capture) -> str:
    """Return the key under which cdxj-indexer and pywb list a capture.

    That of a capture of another method than GET contains the method and the body of the request.
    """
    if not capture.method:
        return capture.key
    return make_url_key(append_request(capture.uri, capture.method, capture.request_body))


def is_moved(capture: Capture) -> bool:
    """Return whether lists have a capture under another key than the index."""
    return bool(capture.method) and make_exchanged_key(capture) != capture.key


def format_listed_place(capture: Capture) -> str:
    """Return the position of a capture in a list for other programs, `key SP time`."""
    return f"{make_exchanged_key(capture)} {capture.time}"


def format_exchanged_line(capture: Capture) -> bytes:
    """Format a capture as a line for other programs, under `make_exchanged_key`."""
    if capture.method:
        capture = msgspec.structs.replace(capture, key=make_exchanged_key(capture))
    return format_line(capture)


def format_line(capture: Capture) -> bytes:
    """Format a capture as a line, with its line break."""
    revisit = capture.kind == "revisit"
    fields = _Fields(
        url=capture.uri,
        mime=_REVISIT if revisit else capture.media_type,
        status="" if capture.status is None else str(capture.status),
        digest=capture.digest,
        length=str(capture.length),
        offset=str(capture.offset),
        filename=capture.file,
        kind="" if revisit or capture.kind == "response" else capture.kind,
        date="" if capture.date == format_second(capture.time) else capture.date,
        payload_mime=capture.media_type if revisit else "",
        refers_to_uri=capture.refers_to_uri,
        refers_to_date=capture.refers_to_date,
        method=capture.method,
        requestBody=capture.request_body,
    )
    return b"%b %b %b\n" % (capture.key.encode(), capture.time.encode(), _encode(fields))


def parse_line(line: bytes) -> Capture:
    """Parse a line from perdure or another writer into a capture.

    Raises ValueError if it is not a line of CDXJ. The file name is the one in the line: do not open
    it unless it is a registered name.
    """
    key, time, text = line.rstrip(b"\r\n").split(b" ", 2)
    try:
        fields = _decode(text)
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from error
    second = time.decode("ascii")
    revisit = fields.mime == _REVISIT
    return Capture(
        key=key.decode("utf-8"),
        time=second,
        date=fields.date or format_second(second),
        uri=fields.url,
        kind="revisit" if revisit else fields.kind or "response",
        media_type=fields.payload_mime if revisit else fields.mime,
        status=int(fields.status) if str(fields.status).isdigit() else None,
        digest=fields.digest,
        file=fields.filename,
        offset=int(fields.offset or 0),
        length=int(fields.length or 0),
        refers_to_uri=fields.refers_to_uri,
        refers_to_date=fields.refers_to_date,
        method=fields.method if fields.method != "GET" else "",
        request_body=fields.requestBody,
    )
