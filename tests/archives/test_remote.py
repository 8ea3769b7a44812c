"""An index that another server keeps answers as ours does; the other server is a real pywb."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.archives.warcs import Warc

from perdure.archives.index import cdxj, ranges, remote
from perdure.archives.library import Library
from perdure.archives.port import Capture
from perdure.errors import InvalidRequest, Unavailable
from perdure.settings import Settings

PEERS = Path(__file__).parents[2] / ".peers" / "bin"
CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "webarchive"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    place = tmp_path_factory.mktemp("remote")
    made = Warc(place / "a.warc.gz")
    for minute in range(30):
        made.response("http://www.dr.dk/", f"2016-01-22T11:{minute:02}:00Z", b"%d" % minute)
    made.response("http://tv.dr.dk/a/b?c=1&d=2", "2017-01-01T00:00:00Z", b"tv")
    made.response("http://tv.dr.dk/a/c", "2017-01-01T00:00:00Z", b"tv")
    made.response("https://example.org:8443/A%20b", "2018-01-01T00:00:00Z", b"x")
    found = Library(place, Settings())
    found.add_file(made.finish())
    yield found
    found.close()


def all_of(library: Library) -> list[Capture]:
    return list(ranges.walk_range(library.captures, ranges.IndexRange("", "~")))


@pytest.fixture(scope="module")
def pywb(tmp_path_factory: pytest.TempPathFactory, library: Library) -> Iterator[str]:
    if not (PEERS / "wayback").exists():
        pytest.skip("pywb is not installed (make unit)")
    place = tmp_path_factory.mktemp("pywb")
    indexes = place / "collections" / "c" / "indexes"
    indexes.mkdir(parents=True)
    (indexes.parent / "archive").mkdir()
    (indexes / "index.cdxj").write_bytes(b"".join(map(cdxj.format_line, all_of(library))))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = subprocess.Popen(
        [PEERS / "wayback", "-p", str(port), "-b", "127.0.0.1", "-d", place],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}/c/cdx"
    try:
        wait_for(f"{url}?url=http://x/", server)
        yield url
    finally:
        server.terminate()
        server.wait()
        shutil.rmtree(place)


def wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        try:
            with urllib.request.urlopen(url):
                return
        except OSError:
            if server.poll() is not None:
                break
            time.sleep(0.1)
    pytest.fail("pywb did not start")


STRETCHES = [
    ranges.make_range("http://www.dr.dk/", "exact"),
    ranges.make_seconds_range("dk,dr)/", "20160122110500", "20160122111000"),
    ranges.IndexRange("dk,dr)/ ", "dk,dr)/ 20160122110500"),
    ranges.IndexRange("dk,dr)/ 20160122110500", "dk,dr)/!"),
    ranges.make_range("http://tv.dr.dk/a/", "prefix"),
    ranges.make_range("tv.dr.dk", "host"),
    ranges.make_range("dr.dk", "domain"),
    ranges.make_range("https://example.org:8443/A%20b", "exact"),
    ranges.make_range("http://nowhere.example/", "exact"),
]


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("stretch", STRETCHES, ids=str)
def test_pywb_answers_as_sqlite_does(
    pywb: str, library: Library, stretch: ranges.IndexRange, *, backwards: bool
) -> None:
    captures = remote.RemoteCaptures(pywb)
    for limit in (1, 7, 100):
        expected = library.captures.scan_range(*stretch, backwards=backwards, limit=limit)
        assert captures.scan_range(*stretch, backwards=backwards, limit=limit) == expected


def test_a_registry_asks_the_server_too(pywb: str, library: Library, tmp_path: Path) -> None:
    """And reads the records from the files that are registered here."""
    [file] = library.list_files()
    here = Library(tmp_path, Settings(capture_index=pywb))
    own = Warc(tmp_path / "own.warc.gz")
    own.response("http://www.dr.dk/", "2020-01-01T00:00:00Z", b"own")
    here.add_file(own.finish())
    found = here.captures.scan_range(*ranges.make_range("http://www.dr.dk/", "exact"), limit=100)
    assert len(found) == 31
    assert found[-1].file == "own.warc.gz"
    here.add_file(Path(file.path))
    with here.files.open_record(found[3]) as record:
        assert b"".join(record.read_payload()) == b"3"
    again = here.captures.scan_range(*ranges.make_range("http://www.dr.dk/", "exact"), limit=100)
    assert len(again) == 31  # what both have is given once
    here.close()


def test_what_cannot_be_asked_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    captures = remote.RemoteCaptures(f"http://127.0.0.1:{port}/cdx")
    with pytest.raises(InvalidRequest):
        captures.scan_range("", "~", limit=1)
    with pytest.raises(Unavailable):
        captures.scan_range("dk,dr)/ ", "dk,dr)/!", limit=1)


@pytest.mark.corpus
def test_lines_of_outbackcdx() -> None:
    """OutbackCDX's own integration tests: 11 fields, key first."""
    [path] = CORPUS.glob("nla+outbackcdx__test-integration_test1.cdx")
    lines = [line for line in path.read_bytes().splitlines() if not line.startswith(b" CDX")]
    found = [remote.parse_line(line) for line in lines]
    assert found
    for one, line in zip(found, lines, strict=True):
        fields = line.decode().split(" ")
        assert (one.key, one.time, one.uri, str(one.offset), one.file) == (
            *fields[:3],
            *fields[9:11],
        )
        assert one.digest == f"sha1:{fields[5]}"
