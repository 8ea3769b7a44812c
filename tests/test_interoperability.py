"""Readers and validators that are not ours, on what we keep: nobody needs our code to read it."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType
from tests.conftest import SHOULDER, TODAY, Desk, html, large, sha512, text
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from perdure.storage.segments import ocfl
from perdure.storage.spool import HEAD_ROOM
from perdure.storage.sqlite import opening as sqlite

LARGE = bytes(range(251)) * 42_000  # 10.5 MB


@pytest.fixture
def full(desk: Desk) -> Desk:
    """Some of everything, in three segments: shared ones, and one of a single document."""
    desk.mint(text("Grüße\r\n".encode(), "utf-8"), html("<p>one</p>"))
    desk.commit(f"{TODAY}/1", text(b""))
    desk.mint(large(desk.registry, LARGE))
    desk.mint(html("<p>"), uid="http://www.whitehouse.gov/")
    desk.mint(text("ark"), authority=SHOULDER)
    desk.withdraw(f"{TODAY}/1.text.2")
    desk.clock.advance(days=1)
    desk.mint(text("another day, another segment"))
    return desk


def warcs(desk: Desk) -> list[Path]:
    return sorted(desk.root.glob("segments/*.warc")) + sorted(desk.root.glob("archive/**/*.warc"))


@pytest.fixture(params=["open", "sealed"])
def segments(full: Desk, request: pytest.FixtureRequest) -> list[Path]:
    if request.param == "sealed":
        assert full.registry.seal() == [1, 2]
    found = warcs(full)
    assert len(found) == 3
    return found


def test_warcio_reads_every_record_and_checks_its_digest(segments: list[Path]) -> None:
    found = {}
    for path in segments:
        with path.open("rb") as file:
            for record in WarcioIterator(file, check_digests="raise"):
                data = record.content_stream().read()
                assert record.digest_checker.passed or not data  # it checks no empty blocks
                headers = record.rec_headers
                found[headers.get_header("WARC-Target-URI"), record.rec_type] = data
                assert headers.protocol == "WARC/1.1"
    assert found[f"{TODAY}/1.utf-8.1", "resource"] == "Grüße\r\n".encode()
    assert found[f"{TODAY}/1.text.2", "resource"] == b""
    assert found[f"{TODAY}/2.octet-stream.1", "resource"] == LARGE
    assert found[f"{TODAY}/http:%2f%2fwww%2ewhitehouse%2egov%2f.html.1", "resource"] == b"<p>"
    assert found[f"{TODAY}/1", "metadata"] == (
        b'{"reason":"a court said so","at":"2026-11-21T12:00:00Z","by":"local"}'
    )
    assert len(found) == 8


def test_warcio_check_finds_nothing(segments: list[Path]) -> None:
    """The command `warcio check`, as an archivist would run it."""
    command = [sys.executable, "-m", "warcio.cli", "check", "-v", *map(str, segments)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stdout
    assert ran.stdout.count("digest pass") == 7  # of 8 records, one of which is empty
    assert "fail" not in ran.stdout


def test_warcio_check_finds_a_flipped_bit(full: Desk) -> None:
    path = warcs(full)[0]
    path.write_bytes(path.read_bytes().replace(b"<p>one</p>", b"<p>ome</p>"))
    command = [sys.executable, "-m", "warcio.cli", "check", str(path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 1
    assert f"{TODAY}/1.html.1" in ran.stdout or "digest failed" in ran.stdout


def test_fastwarc_verifies_every_block(segments: list[Path]) -> None:
    kinds = []
    for path in segments:
        with path.open("rb") as file:
            for record in ArchiveIterator(file):
                assert record.verify_block_digest()
                kinds.append(record.record_type)
    assert kinds.count(WarcRecordType.resource) == 7
    assert kinds.count(WarcRecordType.metadata) == 1


def test_a_large_document_is_a_segment_of_its_own_with_a_padded_head(full: Desk) -> None:
    path = full.root / "segments" / "000002.warc"
    data = path.read_bytes()
    assert data[HEAD_ROOM - 4 : HEAD_ROOM] == b"\r\n\r\n"
    assert sha512(data[HEAD_ROOM:-4]) == sha512(LARGE)
    with path.open("rb") as file:
        [record] = ArchiveIterator(file)
        assert record.content_length == len(LARGE)
        assert set(record.headers["Perdure-Padding"]) == {"."}


def test_the_ocfl_validator_of_the_command_line_agrees(full: Desk) -> None:
    full.registry.seal()
    validate = Path(sys.executable).with_name("ocfl-validate.py")
    objects = [ocfl.object_path(full.root, number) for number in (1, 2)]
    command = [sys.executable, str(validate), *map(str, objects)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "INVALID" not in ran.stdout + ran.stderr
    assert ran.stdout.count("is VALID") == 2


def test_pythons_own_sqlite_reads_the_registry(full: Desk) -> None:
    full.registry.close()
    connection = sqlite3.connect(full.root / sqlite.FILE)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    texts = [text for (text,) in connection.execute("SELECT record FROM records ORDER BY key")]
    lines = [text.split(" ", 9) for text in texts if text.startswith("=")]
    versions = [json.loads(text)["versions"] for text in texts if not text.startswith("=")]
    assert sorted(one[-1]["number"] for one in versions) == [1, 1, 2]
    held = {int(words[5]): words[6] for words in lines}  # length and digest
    another = b"another day, another segment"
    assert held == {len(LARGE): sha512(LARGE), len(another): sha512(another)}
    connection.close()
