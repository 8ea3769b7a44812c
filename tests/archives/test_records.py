"""Records are read as they were recorded, and never more of them than was measured."""

from __future__ import annotations

import contextlib
import gzip
import io
import zlib
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from fastwarc.stream_io import BrotliWriter
from tests.archives.test_scanning import FILES, everything, record
from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from perdure.archives.files.registered import RegisteredFiles
from perdure.archives.files.scanning import ArchivePlace
from perdure.archives.port import Capture
from perdure.errors import Corrupt, NotFound, OverBudget, PerdureError, Unavailable


class OneFile:
    """The only file that is registered."""

    def __init__(self, path: Path, *, shared: bool = False) -> None:
        self._place = ArchivePlace(path=str(path), shared=shared)

    def find_place(self, file: str) -> ArchivePlace | None:
        return self._place if file == "x" else None

    def list_flaws_at(self, file: str, offset: int) -> list[str]:
        return []


def by_warcio(path: Path) -> dict[int, tuple[str | None, bytes]]:
    """Status and payload of each record by its offset, where warcio can tell."""
    found = {}
    with contextlib.redirect_stderr(io.StringIO()), path.open("rb") as file:
        records = ArchiveIterator(file)
        with contextlib.suppress(ArchiveLoadFailed):
            for one in records:
                status = None
                if one.http_headers and one.rec_type != "request":
                    status = one.http_headers.get_statuscode()
                try:
                    payload = one.content_stream().read()
                except AttributeError:  # warcio 1.8 and a newer brotli
                    continue
                found[records.get_record_offset()] = (status, payload)
    return found


DAMAGED = {
    "clipped.warc.gz",
    "transfer_compression_none_truncated.warc.gz",
    "Evil-Warc-Headers.warc",
    "warcs_redirect.warc",
    "data_bad.arc",
    "example-bad-length.warc",
    "example-space-in-url.arc",
    "example-trunc.warc",
}


@pytest.mark.corpus
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_payloads_are_those_that_warcio_reads(path: Path) -> None:
    found, shared = everything(path)
    files = RegisteredFiles(OneFile(path, shared=shared))
    theirs = {} if shared else by_warcio(path)
    for one in found:
        if not isinstance(one, Capture):
            continue
        try:
            with files.open_record(one) as opened:
                payload = b"".join(opened.read_payload())
                status = None if opened.status is None else str(opened.status)
                assert b"".join(opened.read_raw()).endswith(b"".join(opened.read_block()))
        except Corrupt:
            assert path.name.endswith(tuple(DAMAGED))
            continue
        assert opened.status == one.status
        if one.offset in theirs and not path.name.endswith("bad.arc"):
            assert (status, payload) == theirs[one.offset]


def opened_payload(tmp_path: Path, text: bytes) -> bytes:
    path = tmp_path / "a"
    path.write_bytes(text)
    [found] = [one for one in everything(path)[0] if isinstance(one, Capture)]
    with RegisteredFiles(OneFile(path)).open_record(found) as one:
        return b"".join(one.read_payload())


def response(body: bytes, *fields: str) -> bytes:
    head = "\r\n".join(("HTTP/1.1 200 OK", "Content-Type: text/plain", *fields, "", ""))
    text = record("http://example.org/", head.encode() + body)
    return text.replace(b"WARC-Type: resource", b"WARC-Type: response")


def chunked(text: bytes, size: int = 7) -> bytes:
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def brotli(text: bytes) -> bytes:
    into = io.BytesIO()
    writer = BrotliWriter(into)
    writer.write(text)
    writer.finish()
    del writer
    return into.getvalue()


BODY = b"Dear Sir, " * 20_000
BARE = zlib.compressobj(wbits=-15)
BARE_DEFLATE = BARE.compress(BODY) + BARE.flush()


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        (BODY, ()),
        (gzip.compress(BODY), ("Content-Encoding: gzip",)),
        (zlib.compress(BODY), ("content-encoding: deflate",)),
        (BARE_DEFLATE, ("Content-Encoding: deflate",)),
        (brotli(BODY), ("Content-Encoding: br",)),
        (gzip.compress(gzip.compress(BODY)), ("Content-Encoding: gzip, x-gzip",)),
        (chunked(BODY), ("Transfer-Encoding: chunked",)),
        (chunked(gzip.compress(BODY)), ("Transfer-Encoding: Chunked", "Content-Encoding: gzip")),
        (BODY, ("Transfer-Encoding: chunked",)),
        (BODY, ("Content-Encoding: gzip",)),
        (BODY, ("Content-Encoding: rot13",)),
    ],
    ids=lambda value: str(value) if isinstance(value, tuple) else "",
)
def test_what_the_transfer_added_is_undone(
    tmp_path: Path, body: bytes, fields: tuple[str, ...]
) -> None:
    """Also where a field speaks of what is not so: whoever recorded it had undone it already."""
    assert opened_payload(tmp_path, response(body, *fields)) == BODY
    assert opened_payload(tmp_path, gzip.compress(response(body, *fields))) == BODY


CODED = {"gzip": gzip.compress(BODY), "deflate": BARE_DEFLATE, "br": brotli(BODY)}


@pytest.mark.parametrize("coding", CODED)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_coding_is_known_by_more_than_a_first_chunk(
    tmp_path: Path, coding: str, size: int
) -> None:
    """A server sends in whatever pieces it likes (RFC 9112 section 7.1): of one byte, say."""
    fields = ("Transfer-Encoding: chunked", f"Content-Encoding: {coding}")
    assert opened_payload(tmp_path, response(chunked(CODED[coding], size), *fields)) == BODY
    plain = b"body { color: red }" * 20
    assert opened_payload(tmp_path, response(chunked(plain, size), *fields)) == plain


@pytest.mark.parametrize("coding", ["gzip", "br", "zstd"])
@pytest.mark.parametrize("first", "sf3=<;")
def test_what_is_not_coded_stays_as_it_is_whatever_it_begins_with(
    tmp_path: Path, coding: str, first: str
) -> None:
    """Text can look as if a bare deflate stream, or Brotli, begins in it."""
    body = first.encode() + b"ody { color: red } a b c d e f g h i j" * 20
    assert opened_payload(tmp_path, response(body, f"Content-Encoding: {coding}")) == body


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
def test_nothing_is_nothing_in_every_coding(tmp_path: Path, coding: str) -> None:
    """What answers HEAD, and a 304, says how the body would have been coded (RFC 9110 8.4)."""
    for transfer in ((), ("Transfer-Encoding: chunked",)):
        fields = (f"Content-Encoding: {coding}", *transfer)
        assert opened_payload(tmp_path, response(b"", *fields)) == b""


def test_chunks_without_a_last_one_end_with_what_they_hold(tmp_path: Path) -> None:
    for cut in (0, 1, 2, 3, 4, 5):
        whole = chunked(BODY)
        text = response(whole[: len(whole) - cut], "Transfer-Encoding: chunked")
        assert opened_payload(tmp_path, text) == BODY


@pytest.mark.parametrize("body", [b"1", b"\r\n", b"\n\n<p>"])
def test_what_says_that_it_is_chunked_and_has_no_chunk_stays_as_it_is(
    tmp_path: Path, body: bytes
) -> None:
    assert opened_payload(tmp_path, response(body, "Transfer-Encoding: chunked")) == body


def test_a_head_that_is_longer_than_heads_are_read_is_no_payload(tmp_path: Path) -> None:
    text = response(BODY, *(f"Set-Cookie: {number}={'x' * 4000}" for number in range(20)))
    with pytest.raises(OverBudget):
        opened_payload(tmp_path, text)


ZEROS = 80 << 20


@pytest.mark.parametrize(
    "make",
    [
        lambda zeros: gzip.compress(response(gzip.compress(zeros), "Content-Encoding: gzip")),
        lambda zeros: response(gzip.compress(gzip.compress(zeros)), "Content-Encoding: gzip, gzip"),
        lambda zeros: response(brotli(zeros), "Content-Encoding: br"),
    ],
    ids=["twice, in the file and in the transfer", "twice in the transfer", "brotli"],
)
def test_what_inflates_without_measure_is_over_budget(
    tmp_path: Path, make: Callable[[bytes], bytes]
) -> None:
    """What inflates is made here, since each process of a run collects the test."""
    with pytest.raises(OverBudget):
        opened_payload(tmp_path, make(bytes(ZEROS)))


def test_what_is_cut_off_is_corrupt(tmp_path: Path) -> None:
    noise = Random(4).randbytes(20_000)
    for text in (
        gzip.compress(response(noise))[:-600],
        response(noise)[:-600],
        response(gzip.compress(noise)[:-20], "Content-Encoding: gzip"),
        response(brotli(noise)[:-20], "Content-Encoding: br"),
        response(brotli(BODY)[:-2], "Content-Encoding: br"),
    ):
        with pytest.raises(Corrupt):
            opened_payload(tmp_path, text)


def test_a_record_says_what_was_recorded(tmp_path: Path) -> None:
    path = tmp_path / "a"
    text = response(b"abc", "X-A: 1", "X-A:2", "Set-Cookie: evil=\xc3\xa6")
    path.write_bytes(gzip.compress(text))
    [found] = [one for one in everything(path)[0] if isinstance(one, Capture)]
    with RegisteredFiles(OneFile(path)).open_record(found) as one:
        assert (one.status, one.reason) == (200, "OK")
        assert one.headers[:3] == [("Content-Type", "text/plain"), ("X-A", "1"), ("X-A", "2")]
        assert one.fields[:2] == [
            ("WARC-Type", "response"),
            ("WARC-Target-URI", "http://example.org/"),
        ]
        assert b"".join(one.read_raw()) == text.removesuffix(b"\r\n\r\n")
        assert b"".join(one.read_payload()) == b"".join(one.read_payload()) == b"abc"


def test_an_arc_record_has_the_fields_of_a_warc_record(tmp_path: Path) -> None:
    path = tmp_path / "a"
    block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>"
    path.write_bytes(
        b"http://example.org/a b 127.0.0.1 20140216050221 text/html %d\n%b\n" % (len(block), block)
    )
    [found] = [one for one in everything(path)[0] if isinstance(one, Capture)]
    assert (found.uri, found.date, found.status) == (
        "http://example.org/a b",
        "20140216050221",
        200,
    )
    with RegisteredFiles(OneFile(path)).open_record(found) as one:
        assert dict(one.fields) == {
            "WARC-Type": "response",
            "WARC-Target-URI": "http://example.org/a b",
            "WARC-Date": "2014-02-16T05:02:21Z",
            "WARC-IP-Address": "127.0.0.1",
            "Content-Type": "application/http; msgtype=response",
            "Content-Length": str(len(block)),
        }
        assert b"".join(one.read_payload()) == b"<p>"


def test_only_registered_names_are_opened(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(response(BODY))
    files = RegisteredFiles(OneFile(path))
    for name in ("../a", str(path), "a", "", "x\0", "/etc/passwd"):
        with pytest.raises(NotFound):
            files.open_record(place(name, 0))
    for offset in (-1, 7, 10**9):
        with pytest.raises(PerdureError):
            files.open_record(place("x", offset))
    path.unlink()
    with pytest.raises(Unavailable):
        files.open_record(place("x", 0))


def place(file: str, offset: int) -> Capture:
    return Capture(
        key="org,example)/",
        time="20200102030405",
        date="2020-01-02T03:04:05Z",
        uri="http://example.org/",
        kind="response",
        file=file,
        offset=offset,
    )
