"""WARC files with requests and their responses, written by warcio."""

from __future__ import annotations

import io
from pathlib import Path
from typing import NamedTuple

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter


class Exchange(NamedTuple):
    """A request and its response."""

    method: str
    uri: str
    date: str
    answer: bytes
    sent_type: str = ""
    sent: bytes = b""
    status: str = "200 OK"


def write_exchanges(
    path: Path, *exchanges: Exchange, request_first: bool = False, concurrent: bool = True
) -> Path:
    """Write a compressed file; `concurrent`: with the fields that name the other record."""
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=True)
        for one in exchanges:
            response = writer.create_warc_record(
                one.uri,
                "response",
                payload=io.BytesIO(one.answer),
                http_headers=StatusAndHeaders(
                    one.status, [("Content-Type", "text/html")], protocol="HTTP/1.1"
                ),
                warc_headers_dict={"WARC-Date": one.date},
            )
            fields = [("Host", one.uri.split("/")[2]), ("Content-Length", str(len(one.sent)))]
            if one.sent_type:
                fields.append(("Content-Type", one.sent_type))
            target = "/" + one.uri.split("/", 3)[3]
            named = {
                "WARC-Concurrent-To": response.rec_headers.get_header("WARC-Record-ID"),
            }
            request = writer.create_warc_record(
                one.uri,
                "request",
                payload=io.BytesIO(one.sent),
                http_headers=StatusAndHeaders(
                    f"{one.method} {target} HTTP/1.1", fields, is_http_request=True
                ),
                warc_headers_dict={"WARC-Date": one.date, **(named if concurrent else {})},
            )
            records = (request, response) if request_first else (response, request)
            for record in records:
                writer.write_record(record)
    return path
