"""What was recorded with a capture comes along when it is extracted, and nothing else does."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Shell
from warcio.archiveiterator import ArchiveIterator
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

OWN = "archive.example.org"
URL = "http://a.example/"
AT = "2016-01-22T11:20:29Z"
FIELDS = "application/warc-fields"


class Crawl:
    """A WARC file whose records name each other, as crawlers write them."""

    def __init__(self, path: Path, *, named: bool = True) -> None:
        self.path = path
        self._file = path.open("wb")
        self._writer = WARCWriter(self._file, gzip=True, warc_version="1.1")
        info = self._writer.create_warcinfo_record(path.name, {"software": "a crawler"})
        self._writer.write_record(info)
        self.info: str = info.rec_headers["WARC-Record-ID"]
        self._named = named

    def add(
        self, uri: str, kind: str, body: bytes, head: object = None, at: str = AT, **fields: str
    ) -> str:
        told = {"WARC-Warcinfo-ID": self.info} if self._named else {}
        named = {f"WARC-{name.replace('_', '-')}": value for name, value in fields.items()}
        record = self._writer.create_warc_record(
            uri,
            kind,
            payload=io.BytesIO(body),
            http_headers=head,
            warc_content_type=FIELDS if kind == "metadata" else "text/plain",
            warc_headers_dict={"WARC-Date": at} | told | named,
        )
        self._writer.write_record(record)
        identity: str = record.rec_headers["WARC-Record-ID"]
        return identity

    def response(
        self, uri: str, body: bytes, at: str = AT, status: str = "200 OK", **fields: str
    ) -> str:
        """`fields`: `Location` is of HTTP, others are of the record."""
        media_type = "text/css" if uri.endswith(".css") else "text/html"
        pairs = [("Content-Type", media_type)]
        if "Location" in fields:
            pairs.append(("Location", fields.pop("Location")))
        head = StatusAndHeaders(status, pairs, protocol="HTTP/1.1")
        return self.add(uri, "response", body, head, at, **fields)

    def request(self, uri: str, at: str = AT, **fields: str) -> str:
        head = StatusAndHeaders("GET / HTTP/1.1", [("Host", "a.example")], is_http_request=True)
        return self.add(uri, "request", b"", head, at, **fields)

    def finish(self) -> Path:
        self._file.close()
        return self.path


def records(path: Path) -> list[Any]:
    with path.open("rb") as file:
        return [(one.rec_headers["WARC-Record-ID"], one.rec_type) for one in ArchiveIterator(file)]


@pytest.fixture
def archive(shell: Shell) -> Shell:
    settings = shell.root / "perdure.toml"
    settings.write_text(settings.read_text() + f'archive_id = "{OWN}"\n')
    return shell


def extracted(
    archive: Shell, place: Path, *files: Path, coverage: str = "part", at: str = AT
) -> list[tuple[str, str]]:
    """The records that come with the capture of URL, without our own two in front."""
    for file in files:
        archive.run("archive", "add", str(file))
    pwid = f"pwid:{OWN}:{at.replace(':', '.')}:{coverage}:{URL}"
    (name,) = archive.lines("collection", "make", "-", stdin=pwid)
    into = place / "out.warc.gz"
    archive.run("collection", "extract", name, "-o", str(into))
    return records(into)[2:]


def test_all_record_types_are_kept(archive: Shell, place: Path) -> None:
    """WARC 1.1 section 5.7: concurrent records are of "the same capture event"; 6.7: a conversion
    should refer to what it was made of; 7.1: segments have the first one's id."""
    crawl = Crawl(place / "a.warc.gz")
    first = crawl.response(URL, b"0123", Segment_Number="1")
    crawl.request(URL, at="2016-01-22T11:20:28Z", Concurrent_To=first)
    crawl.add(URL, "metadata", b"via: x\r\n", Concurrent_To=first)
    crawl.add(URL, "metadata", b"seen: y\r\n", at="2018-01-01T00:00:00Z", Refers_To=first)
    crawl.add(URL, "conversion", b"text", at="2020-01-01T00:00:00Z", Refers_To=first)
    for number in ("2", "3"):
        at = f"2016-01-22T11:20:3{number}Z"
        crawl.add(URL, "continuation", b"4567", at=at,
                  Segment_Origin_ID=first, Segment_Number=number)  # fmt: skip
    everything = records(crawl.finish())
    found = extracted(archive, place, crawl.path)
    assert found[0] == (crawl.info, "warcinfo")
    assert sorted(found) == sorted(everything)


def test_a_first_segment_is_not_taken_for_the_whole(archive: Shell, place: Path) -> None:
    """WARC 1.1 section 7.1: the payload is that of all segments, put together."""
    crawl = Crawl(place / "a.warc.gz")
    crawl.response(URL, b"0123", Segment_Number="1")
    archive.run("archive", "add", str(crawl.finish()))
    pwid = f"pwid:{OWN}:2016-01-22T11.20.29Z:part:{URL}"
    (name,) = archive.lines("collection", "make", "-", stdin=pwid)
    assert archive.lines("collection", "list", name, "--form", "text")[-1] == pwid  # no digest
    told = archive.run("collection", "check", name, code=1).stdout
    assert "1 unreadable: " in told


def test_what_belongs_to_another_capture_stays(archive: Shell, place: Path) -> None:
    crawl = Crawl(place / "a.warc.gz")
    other = crawl.response(URL, b"other", at="2016-01-22T11:20:28Z")
    crawl.request(URL, Concurrent_To=other)  # a second later, and of the other one
    wanted = crawl.response(URL, b"wanted")
    mine = crawl.request(URL, at="2016-01-22T11:20:31Z", Concurrent_To=wanted)
    crawl.add(URL, "conversion", b"text", at="2020-01-01T00:00:00Z", Refers_To=other)
    found = extracted(archive, place, crawl.finish())
    assert [one for one, _ in found] == [crawl.info, wanted, mine]


def test_what_another_file_says_of_a_capture_comes_too(archive: Shell, place: Path) -> None:
    crawl, later = Crawl(place / "a.warc.gz"), Crawl(place / "b.warc.gz")
    wanted = crawl.response(URL, b"page")
    told = later.add(URL, "metadata", b"a: b\r\n", at="2017-01-01T00:00:00Z", Refers_To=wanted)
    found = extracted(archive, place, crawl.finish(), later.finish())
    assert [one for one, _ in found] == [crawl.info, wanted, told]


def test_without_ids_the_second_tells(archive: Shell, place: Path) -> None:
    crawl = Crawl(place / "a.warc.gz", named=False)
    wanted = crawl.response(URL, b"page")
    mine = crawl.request(URL)
    crawl.request(URL, at="2016-01-22T11:20:31Z")
    found = extracted(archive, place, crawl.finish())
    assert [one for one, _ in found] == [crawl.info, wanted, mine]


def test_a_response_may_name_its_request(archive: Shell, place: Path) -> None:
    crawl = Crawl(place / "a.warc.gz")
    asked = crawl.request(URL, at="2016-01-22T11:20:25Z")
    wanted = crawl.response(URL, b"page", Concurrent_To=asked)
    found = extracted(archive, place, crawl.finish())
    assert sorted(found) == sorted(records(crawl.path))
    assert (wanted, "response") in found


def test_a_page_comes_with_where_its_redirects_lead(archive: Shell, place: Path) -> None:
    crawl = Crawl(place / "a.warc.gz")
    crawl.response(URL, b"", status="302 Found", Location="/home")
    crawl.response(f"{URL}home", b"<link rel=stylesheet href=a.css><img src=/i><a href=/no>")
    crawl.response(f"{URL}a.css", b"", status="301 Moved", Location="http://cdn.example/a.css")
    crawl.response("http://cdn.example/a.css", b"i{background:url(bg)}")
    crawl.response("http://cdn.example/bg", b"bg")
    crawl.response(f"{URL}i", b"", status="302 Found", Location="/i")  # in a circle
    everything = records(crawl.finish())
    assert sorted(extracted(archive, place, crawl.path, coverage="page")) == sorted(everything)
