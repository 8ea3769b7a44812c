"""Records without a payload digest get the one that cdxj-indexer computes."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
from pathlib import Path

import pytest
from tests.archives.test_scanning import record

from perdure.archives.files import careful
from perdure.archives.files.scanning import ArchivePlace, detect_packing, scan_file
from perdure.archives.files.windows import Window
from perdure.archives.library import Library
from perdure.archives.port import Capture
from perdure.settings import Settings

PEERS = Path(__file__).parents[2] / ".peers" / "bin"
CORPUS = Path(__file__).parents[3] / "shared" / "corpus" / "webarchive"
FILES = [
    path
    for name in ("*example.arc", "*example.arc.gz", "*cc.warc.gz", "*warcfile.warc.gz",
                 "*dupes.warc.gz", "*resource.warc.gz")
    for path in sorted(CORPUS.glob(name))
]  # fmt: skip
SHA1 = "sha1:" + base64.b32encode(hashlib.sha1(b"abc", usedforsecurity=False).digest()).decode()


def scan(path: Path) -> list[Capture]:
    met = scan_file(ArchivePlace(path=str(path)), path.name)
    return [one for one in met if isinstance(one, Capture)]


@pytest.mark.corpus
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_digests_are_those_of_cdxj_indexer(path: Path) -> None:
    if not (PEERS / "cdxj-indexer").exists():
        pytest.skip("cdxj-indexer is not installed; see the Makefile")
    done = subprocess.run(
        [PEERS / "cdxj-indexer", path], capture_output=True, text=True, check=True
    )
    rows = [json.loads(line.split(" ", 2)[2]) for line in done.stdout.splitlines()]
    theirs = {int(row["offset"]): row["digest"] for row in rows}
    ours = {
        one.offset: one.digest
        for one in scan(path)
        if one.kind in ("response", "resource", "revisit", "metadata") and one.digest
    }
    assert ours
    assert ours == {offset: theirs[offset] for offset in ours}


HTTP = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"


@pytest.mark.parametrize(
    ("kind", "block", "expected"),
    [
        (b"resource", b"abc", SHA1),
        (b"conversion", b"abc", SHA1),
        (b"response", HTTP + b"abc", SHA1),
        (b"response", b"abc", SHA1),
        (b"response", HTTP.rstrip(), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"),
        (b"metadata", b"abc", ""),
        (b"request", b"GET / HTTP/1.1\r\n\r\n", ""),
        (b"response", b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000, ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("careful_only", [True, False])
def test_the_entity_is_hashed(
    tmp_path: Path, kind: bytes, block: bytes, expected: str, *, careful_only: bool
) -> None:
    path = tmp_path / "a.warc"
    path.write_bytes(
        record("http://a.example/", block).replace(b"Type: resource", b"Type: " + kind)
        + record("http://a.example/next")
    )
    if careful_only:
        with Window(path) as window:
            met = list(careful.read_records(window, detect_packing(window), "x"))
        found = [one for one in met if isinstance(one, Capture)]
    else:
        found = scan(path)
    assert found[0].digest == expected


def test_a_recorded_digest_is_kept_and_a_damaged_record_gets_none(tmp_path: Path) -> None:
    path = tmp_path / "a.warc"
    whole = record("http://a.example/", fields="WARC-Payload-Digest: md5:abc\r\n")
    path.write_bytes(whole + record("http://a.example/cut", b"x" * 100)[:-50])
    assert [one.digest for one in scan(path)] == ["md5:abc", ""]


def test_revisits_find_their_original_by_a_computed_digest(tmp_path: Path) -> None:
    """A revisit of a WARC file whose original is in an ARC file of the same archive."""
    from perdure.archives.index.revisits import PayloadSource, find_original

    body = HTTP + b"abc"
    arc = tmp_path / "a.arc"
    arc.write_bytes(
        b"filedesc://a.arc 0.0.0.0 20050101000000 text/plain 2\n1\n\n"
        b"http://a.example/ 1.2.3.4 20050101000000 text/plain %d\n" % len(body) + body + b"\n"
    )
    warc = tmp_path / "b.warc"
    warc.write_bytes(
        record("http://a.example/", b"", fields=f"WARC-Payload-Digest: {SHA1}\r\n").replace(
            b"Type: resource", b"Type: revisit"
        )
    )
    library = Library(tmp_path, Settings())
    for path in (arc, warc):
        library.add_file(path)
    found = library.captures.scan_range("", "~", limit=10)
    [revisit] = [one for one in found if one.kind == "revisit"]
    original = find_original(library.captures, revisit)
    assert original.how is PayloadSource.SAME_URL
    assert original.capture is not None
    assert original.capture.file == "a.arc"
    library.close()
