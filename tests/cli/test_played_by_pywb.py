"""pywb plays archive files over the CDXJ that `archive export-cdxj` writes."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.archives.exchanges import Exchange, write_exchanges
from tests.archives.warcs import Warc
from tests.cli.conftest import Shell

PEERS = Path(__file__).parents[2] / ".peers" / "bin"
CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "webarchive"
API = "http://api.example/activate"
FAQ = "http://www.archive.org/about/faqs.php"
DATE = "2020-01-02T03:04:05Z"
TIME = "20200102030405"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Archive files with what shadows pages: records about captures, and other methods."""
    heritrix = Warc(tmp_path / "heritrix.warc.gz")
    heritrix.response(FAQ, DATE, b"<p>the page")
    heritrix.metadata(FAQ, DATE, b"outlink: http://a.example/", "text/anvl")
    heritrix.finish()
    write_exchanges(
        tmp_path / "api.warc.gz",
        Exchange("OPTIONS", API, DATE, b"", status="204 No Content"),
        Exchange("POST", API, DATE, b"posted a", "application/json", b'{"id": "a"}'),
        Exchange("POST", API, DATE, b"posted b", "application/json", b'{"id": "b"}'),
        Exchange("GET", API, DATE, b"got"),
        Exchange("POST", f"{API}?q=1", DATE, b"posted q", "text/csv", b"1,2"),
    )
    return tmp_path


@pytest.fixture
def player(shell: Shell, place: Path) -> Iterator[str]:
    if not (PEERS / "wayback").exists():
        pytest.skip("pywb is not installed; see the Makefile")
    shell.run("archive", "add", str(place))
    shell.run("archive", "export-cdxj", "-o", str(place / "index.cdxj"))
    config = {"collections": {"c": {"index_paths": "index.cdxj", "archive_paths": f"{place}/"}}}
    (place / "config.yaml").write_text(json.dumps(config))  # JSON is YAML
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    running = subprocess.Popen(
        [PEERS / "wayback", "-b", "127.0.0.1", "-p", str(port)],
        cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        for _ in range(300):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/c/{TIME}mp_/"
    finally:
        running.terminate()
        running.wait(20)


def ask(url: str, body: bytes | None = None, media_type: str = "application/json") -> bytes:
    request = urllib.request.Request(url, data=body, headers={"Content-Type": media_type})
    with urllib.request.urlopen(request, timeout=60) as answer:
        found: bytes = answer.read()
        return found


def test_pywb_plays_pages_and_answers_by_their_request(player: str) -> None:
    raw = player.replace("mp_", "id_")
    assert ask(f"{raw}{FAQ}") == b"<p>the page"
    assert ask(f"{raw}{API}") == b"got"
    assert ask(f"{player}{API}", b'{"id": "b"}') == b"posted b"
    assert ask(f"{player}{API}", b'{"id": "a"}') == b"posted a"
    assert ask(f"{player}{API}?q=1", b"1,2", "text/csv") == b"posted q"
    with pytest.raises(urllib.error.HTTPError, match="404"):
        ask(f"{player}http://nowhere.example/", b'{"id": "c"}')


def test_the_export_is_sorted_and_has_the_keys_of_cdxj_indexer(shell: Shell, place: Path) -> None:
    if not (PEERS / "cdxj-indexer").exists():
        pytest.skip("cdxj-indexer is not installed; see the Makefile")
    shell.run("archive", "add", str(place))
    ours = shell.run("archive", "export-cdxj").stdout.splitlines()
    assert ours == sorted(ours)
    theirs = subprocess.run(
        [PEERS / "cdxj-indexer", "-s", "-p", place / "api.warc.gz"],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    fields = ("url", "mime", "status", "digest", "length", "offset", "method", "requestBody")

    def read(lines: list[str]) -> dict[tuple[str, ...], str]:
        rows = ((line.split(" ", 2)[0], json.loads(line.split(" ", 2)[2])) for line in lines)
        return {tuple(row.get(one, "") for one in fields): key for key, row in rows}

    # cdxj-indexer has no key of its own for OPTIONS, so pywb would play the answer for the page
    expected = {row: key for row, key in read(theirs).items() if row[2] != "204"}
    found = {row: key for row, key in read(ours).items() if row[0] != FAQ and row[2] != "204"}
    assert found == expected
    assert any("__wb_method=options" in line for line in ours)


@pytest.mark.corpus
def test_pywb_indexes_the_captures_of_heritrix_that_are_exported(
    shell: Shell, tmp_path: Path
) -> None:
    """`METADATA_NO_INDEX_TYPES = ('text/anvl',)` in pywb/indexer/cdxindexer.py."""
    if not (PEERS / "cdx-indexer").exists():
        pytest.skip("pywb is not installed; see the Makefile")
    path = next(CORPUS.glob("*IAH-20080430204825-00000-blackbook.warc.gz"))
    shell.run("archive", "add", str(path))
    ours = shell.run("archive", "export-cdxj").stdout.splitlines()
    theirs = subprocess.run(
        [PEERS / "cdx-indexer", "-s", "-j", path], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    offsets = [
        {int(json.loads(line.split(" ", 2)[2])["offset"]) for line in lines}
        for lines in (ours, [line for line in theirs if "{" in line])
    ]
    assert offsets[0] == offsets[1]
    assert not any('"mime":"text/anvl"' in line for line in ours)


def test_gzip_members_are_read_at_their_offsets(shell: Shell, place: Path) -> None:
    """Offset and length of a line are those of a complete gzip member."""
    shell.run("archive", "add", str(place))
    for line in shell.run("archive", "export-cdxj").stdout.splitlines():
        row = json.loads(line.split(" ", 2)[2])
        start, length = int(row["offset"]), int(row["length"])
        member = (place / row["filename"]).read_bytes()[start : start + length]
        assert row["url"].encode() in gzip.decompress(member)
