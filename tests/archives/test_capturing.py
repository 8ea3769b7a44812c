"""Capturing pages from real servers: what is in the WARC, and what strangers cannot do."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from tests.fetching.strangers import response, stranger
from warcio.archiveiterator import ArchiveIterator

from perdure.archives.capture.capturing import Bounds, CaptureResult, capture_page
from perdure.archives.library import Library
from perdure.archives.pwid import playback, verdict
from perdure.errors import InvalidRequest, MalformedIdentifier
from perdure.fetching import Fetcher, Limits, Unreachable
from perdure.settings import Settings

CSS = b'@import "deep.css"; body { background: url(bg.png) }'
PAGE = b"""<!doctype html><title>a</title><link rel="stylesheet" href="/style.css">
<script src="a.js"></script><img src="a.png?x=1&amp;y=2" srcset="b.png 2x"><iframe src="frame">
</iframe><a href="/elsewhere">not part of it</a><img src="data:image/gif;base64,R0lGOD">
<div style="background: url('inline.png')"></div><img src="/moved">"""


def _site(line: str) -> bytes:
    path = line.split()[1]
    body = {
        "/": (PAGE, "text/html"),
        "/style.css": (CSS, "text/css"),
        "/deep.css": (b"@import 'style.css'; a { b: url(deep.png) }", "text/css"),
        "/frame": (b"<img src=in-frame.png>", "text/html; charset=utf-8"),
    }.get(path)
    if path == "/moved":
        return response(status="302 Found", Location="/target.png")
    if path == "/b.png":
        return response(b"gone", "404 Not Found")
    if body is None:
        return response(b"x", Content_Type="image/png")
    return response(body[0], Content_Type=body[1])


Answer = Callable[[str], bytes]


def captured(
    answer: Answer, path: str = "/", *, networks: tuple[str, ...] = ("127.0.0.1",), **bounds: int
) -> tuple[CaptureResult, bytes, str]:
    """What was captured from a server, the WARC, and the server's root."""

    async def work() -> tuple[CaptureResult, bytes, str]:
        async with stranger(answer) as server:
            into = io.BytesIO()
            found = await capture_page(
                server.url(path),
                into,
                fetcher=Fetcher(user_agent="test/1", networks=networks, limits=Limits(body=10_000)),
                archive_id="own.example",
                name="a.warc.gz",
                bounds=Bounds(**bounds),
            )
            return found, into.getvalue(), server.url("")

    return asyncio.run(work())


def records(warc: bytes) -> list[Any]:
    found = []
    for record in ArchiveIterator(io.BytesIO(warc), check_digests=True):
        record.content = record.raw_stream.read()
        record.passed = record.digest_checker.passed
        found.append(record)
    return found


def uris(warc: bytes, root: str, kind: str = "response") -> list[str]:
    return [
        one.rec_headers["WARC-Target-URI"].removeprefix(root)
        for one in records(warc)
        if one.rec_type == kind
    ]


def test_a_page_comes_with_all_that_belongs_to_it() -> None:
    found, warc, root = captured(_site)
    assert uris(warc, root)[0] == "/"
    belongs = {"/", "/style.css", "/deep.css", "/bg.png", "/deep.png", "/a.js", "/b.png", "/frame"}
    belongs |= {"/a.png?x=1&y=2", "/in-frame.png", "/inline.png", "/moved", "/target.png"}
    assert set(uris(warc, root)) == belongs
    assert sorted(uris(warc, root)) == sorted(uris(warc, root, "request"))
    assert (found.exchanges, found.status, found.missing) == (len(belongs), 200, ())
    assert str(found.pwid).startswith("pwid:own.example:20")
    assert str(found.pwid).endswith(f"Z:page:{root}/")
    first = records(warc)[1].rec_headers["WARC-Date"]
    assert found.pwid.time == first


def test_the_file_is_sound(tmp_path: Path) -> None:
    """WARC/1.1 (ISO 28500:2017): `warcio check` compares every digest."""
    _, warc, _ = captured(_site)
    path = tmp_path / "a.warc.gz"
    path.write_bytes(warc)
    command = (str(Path(sys.executable).with_name("warcio")), "check", "-v", str(path))
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert told.count("digest pass") == len(records(warc)) == 27
    fastwarc = str(Path(sys.executable).with_name("fastwarc"))
    subprocess.run((fastwarc, "check", str(path)), capture_output=True, check=True)
    broken = gzip.decompress(warc).replace(b"@import", b"@IMPORT", 1)
    path.with_suffix("").write_bytes(broken)
    for program in ((*command[:-1], str(path.with_suffix(""))),
                    (fastwarc, "check", str(path.with_suffix("")))):  # fmt: skip
        assert subprocess.run(program, capture_output=True, check=False).returncode, program
    info, response, request = records(warc)[:3]
    assert info.rec_type == "warcinfo"
    assert b"software: perdure/" in info.content
    for one in (response, request):
        assert one.rec_headers.protocol == "WARC/1.1"
        assert one.rec_headers["WARC-Warcinfo-ID"] == info.rec_headers["WARC-Record-ID"]
        assert one.rec_headers["WARC-IP-Address"] == "127.0.0.1"
        assert one.rec_headers["WARC-Payload-Digest"]
        assert one.rec_headers["WARC-Block-Digest"]
    assert request.rec_headers["WARC-Concurrent-To"] == response.rec_headers["WARC-Record-ID"]


def test_what_was_on_the_wire_is_in_the_record() -> None:
    odd = (
        b"HTTP/1.1 200  Fine \r\nconTENT-type:text/html\r\nX-B\xfcch: \xfc  \r\nX: 1\r\nX: 2\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nT: u\r\n\r\n"
    )
    _, warc, _ = captured(lambda _: odd)
    assert odd in gzip.decompress(warc)


def test_pages_that_were_compressed_are_read() -> None:
    packed = gzip.compress(b"<img src=/a.png>")

    def answer(line: str) -> bytes:
        if " / " in line:
            return response(packed, Content_Type="text/html", Content_Encoding="gzip")
        return response()

    _, warc, root = captured(answer)
    assert uris(warc, root) == ["/", "/a.png"]


def test_a_page_without_a_type_is_read() -> None:
    _, warc, root = captured(lambda line: response(b"<img src=/a.png>" if " / " in line else b""))
    assert uris(warc, root) == ["/", "/a.png"]


def test_the_pwid_is_that_of_the_page_where_redirects_lead_to() -> None:
    def answer(line: str) -> bytes:
        if " /start " in line:
            return response(status="301 Moved", Location="/end")
        return response(b"<p>", Content_Type="text/html")

    found, warc, root = captured(answer, "/start#here")
    assert uris(warc, root) == ["/start", "/end"]
    assert found.pwid.item == f"{root}/end"


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.2:8081/", "http://169.254.169.254/", "http://[::1]/", "http://localhost:22/"],
)
def test_no_page_makes_us_look_into_our_own_network(address: str) -> None:
    page = f"<img src='{address}'><img src=/ok><img src=/bad>".encode()

    def answer(line: str) -> bytes:
        if " /bad " in line:
            return response(status="302 Found", Location=address)
        return response(page, Content_Type="text/html")

    found, warc, root = captured(answer)
    assert sorted(uris(warc, root)) == ["/", "/bad", "/ok"]
    assert [one.uri for one in found.missing] == [address]
    assert "refused" in found.missing[0].reason
    with pytest.raises(InvalidRequest):
        captured(answer, networks=())


def test_a_capture_ends() -> None:
    def endless(line: str) -> bytes:
        path = line.split()[1]
        page = f"<iframe src='{path}a'></iframe><iframe src='{path}b'></iframe>"
        return response(page.encode(), Content_Type="text/html")

    found, warc, root = captured(endless, deepest=3)
    assert len(uris(warc, root)) == 1 + 2 + 4 + 8
    found, warc, _ = captured(endless, requests=5, deepest=100)
    assert found.exchanges == 5
    assert found.missing[0].reason == "left out: a capture may take 5 requests"
    found, _, _ = captured(endless, wire=1, deepest=100)
    assert found.exchanges == 1


def test_redirects_of_what_belongs_to_a_page_end() -> None:
    def answer(line: str) -> bytes:
        path = line.split()[1]
        if path == "/":
            return response(b"<img src=/a>", Content_Type="text/html")
        return response(status="302 Found", Location=f"{path}a")

    found, warc, root = captured(answer, redirects=3)
    assert uris(warc, root) == ["/", "/a", "/aa", "/aaa", "/aaaa"]
    assert found.missing[0].reason == "too many redirects"


def test_a_page_that_redirects_lead_away_from_is_an_error() -> None:
    """The last redirect is no page that anybody could cite."""

    def answer(line: str) -> bytes:
        path = line.split()[1]
        if path == "/file":
            return response(status="302 Found", Location="file:///etc/passwd")
        if path == "/circle":
            return response(status="302 Found", Location="/circle")
        return response(status="302 Found", Location=f"{path}a")

    with pytest.raises(InvalidRequest, match="only http and https"):
        captured(answer, "/file")
    for path in ("/circle", "/on"):
        with pytest.raises(Unreachable, match="too many"):
            captured(answer, path, redirects=3)
    with pytest.raises(Unreachable, match="too long"):
        captured(answer, "/on", seconds=-1)


def test_what_a_redirect_leads_to_in_vain_is_told() -> None:
    def answer(line: str) -> bytes:
        path = line.split()[1]
        if path == "/":
            return response(b"<img src=/self><img src=/file>", Content_Type="text/html")
        onwards = "/self" if path == "/self" else "file:///etc/passwd"
        return response(status="302 Found", Location=onwards)

    found, _, root = captured(answer)
    assert {one.uri.removeprefix(root) for one in found.missing} == {"/self", "file:///etc/passwd"}


def test_what_was_coded_otherwise_than_asked_is_told() -> None:
    def answer(line: str) -> bytes:
        if " / " in line:
            return response(b"<link rel=stylesheet href=/a.css>", Content_Type="text/html")
        return response(b"\x0b\x02\x80hello\x03", Content_Type="text/css", Content_Encoding="br")

    found, warc, root = captured(answer)
    assert uris(warc, root) == ["/", "/a.css"]
    assert [(one.uri.removeprefix(root), "(br)" in one.reason) for one in found.missing] == [
        ("/a.css", True)
    ]


def test_cookies_are_brought_along_and_no_two_captures_have_one_second() -> None:
    """A page that sets a cookie and redirects to itself, as many do to whoever brings none."""
    asked: list[bytes] = []

    def answer(line: str) -> bytes:
        path = line.split()[1]
        if path == "/" and not asked:
            asked.append(b"")
            return response(status="302 Found", Location="/", Set_Cookie="a=1; Path=/")
        return response(b"<img src=/a.png>" if path == "/" else b"x", Content_Type="text/html")

    found, warc, root = captured(answer)
    assert (found.status, uris(warc, root)) == (200, ["/", "/", "/a.png"])
    requests = [one for one in records(warc) if one.rec_type == "request"]
    brought = [one.http_headers.get_header("Cookie") for one in requests]
    assert brought == [None, "a=1", "a=1"]
    dates = [one.rec_headers["WARC-Date"] for one in requests]
    assert dates[0] < dates[1] == found.pwid.time


def test_what_was_cut_off_says_so() -> None:
    found, warc, _ = captured(lambda _: b"HTTP/1.1 200 OK\r\n\r\n" + b"a" * 20_000)
    assert records(warc)[1].rec_headers["WARC-Truncated"] == "length"
    assert all(one.passed for one in records(warc))
    assert found.missing[0].reason == "cut off (length)"


def test_a_page_that_is_not_there_is_an_error() -> None:
    with pytest.raises(Unreachable):
        captured(lambda _: b"")
    with pytest.raises(MalformedIdentifier):
        asyncio.run(
            capture_page(
                "http://a.example/",
                io.BytesIO(),
                fetcher=Fetcher(user_agent="test/1"),
                archive_id="no id",
                name="a",
            )
        )


def test_other_programs_index_it(tmp_path: Path) -> None:
    """cdxj-indexer of Webrecorder, run as a program, finds what was captured, and so do we."""
    indexer = Path(__file__).parents[2] / ".peers/bin/cdxj-indexer"
    if not indexer.exists():
        pytest.skip("the peers are not installed (make unit)")
    found, warc, root = captured(_site)
    path = tmp_path / "a.warc.gz"
    path.write_bytes(warc)
    told = subprocess.run((str(indexer), str(path)), capture_output=True, text=True, check=True)
    theirs = [json.loads(line.split(" ", 2)[2]) for line in told.stdout.splitlines()]
    assert sorted(one["url"].removeprefix(root) for one in theirs) == sorted(uris(warc, root))
    assert {one["status"] for one in theirs} == {"200", "302", "404"}
    library = Library(tmp_path, Settings())
    try:
        (added,) = library.add_file(path)
        assert (added.file.flaws, added.flaws) == (0, ())
        assert added.file.records == len(records(warc))
        wanted = verdict.interpret_pwid(found.pwid)
        judged = verdict.judge_evidence(wanted, verdict.look_up_evidence(library.captures, wanted))
        assert judged.verdict is verdict.CaptureVerdict.EXACT
        assert judged.capture is not None
        with closing(library.files.open_record(judged.capture)) as record:
            assert b"".join(record.read_payload()) == PAGE
    finally:
        library.close()


def test_pywb_plays_it(tmp_path: Path) -> None:
    """A capture with chunks, played back by pywb from its own index of the file."""
    peers = Path(__file__).parents[2] / ".peers/bin"
    if not (peers / "wayback").exists():
        pytest.skip("the peers are not installed (make unit)")
    chunked = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n"
        b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"
    )
    found, warc, root = captured(lambda _: chunked)
    held, indexes = tmp_path / "collections/c/archive", tmp_path / "collections/c/indexes"
    held.mkdir(parents=True)
    indexes.mkdir()
    (held / "a.warc.gz").write_bytes(warc)
    lines = subprocess.run(
        (str(peers / "cdxj-indexer"), "a.warc.gz"), cwd=held, capture_output=True, check=True
    ).stdout
    (indexes / "index.cdxj").write_bytes(lines)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [peers / "wayback", "-p", str(port), "-b", "127.0.0.1", "-d", tmp_path],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time = playback.format_digits(found.pwid)
    try:
        assert _played(f"http://127.0.0.1:{port}/c/{time}id_/{root}/", server) == b"hello"
    finally:
        server.terminate()
        server.wait()


def _played(url: str, server: subprocess.Popen[bytes]) -> bytes:
    for _ in range(300):
        try:
            with urllib.request.urlopen(url) as answer:
                body: bytes = answer.read()
                return body
        except urllib.error.HTTPError:
            raise
        except OSError:
            assert server.poll() is None, "pywb did not start"
            sleep(0.1)
    pytest.fail("pywb did not start")
