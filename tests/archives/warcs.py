"""Small WARC files for tests, written by warcio, the reference writer."""

from __future__ import annotations

import io
from pathlib import Path

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

Field = tuple[str, str]


class Warc:
    """A compressed WARC file in the making."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("wb")
        self._writer = WARCWriter(self._file, gzip=True)

    def response(
        self,
        uri: str,
        date: str,
        body: bytes = b"",
        *fields: Field,
        media_type: str = "text/html",
        status: str = "200 OK",
    ) -> None:
        head = StatusAndHeaders(
            status, [("Content-Type", media_type), *fields], protocol="HTTP/1.1"
        )
        record = self._writer.create_warc_record(
            uri,
            "response",
            payload=io.BytesIO(body),
            http_headers=head,
            warc_headers_dict={"WARC-Date": date},
        )
        self._writer.write_record(record)

    def resource(self, uri: str, date: str, body: bytes, media_type: str) -> None:
        self._write("resource", uri, date, body, media_type)

    def metadata(self, uri: str, date: str, body: bytes, media_type: str) -> None:
        self._write("metadata", uri, date, body, media_type)

    def _write(self, kind: str, uri: str, date: str, body: bytes, media_type: str) -> None:
        record = self._writer.create_warc_record(
            uri,
            kind,
            payload=io.BytesIO(body),
            warc_content_type=media_type,
            warc_headers_dict={"WARC-Date": date},
        )
        self._writer.write_record(record)

    def revisit(
        self,
        uri: str,
        date: str,
        digest: str,
        of: str,
        of_date: str,
        *fields: Field,
        status: str = "200 OK",
    ) -> None:
        head = StatusAndHeaders(
            status, [("Content-Type", "text/html"), *fields], protocol="HTTP/1.1"
        )
        record = self._writer.create_revisit_record(
            uri, digest, of, of_date, http_headers=head, warc_headers_dict={"WARC-Date": date}
        )
        self._writer.write_record(record)

    def finish(self) -> Path:
        self._file.close()
        return self.path
