"""The check of the index of captures: every damage is found, and a sound index has none."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from tests.archives.exchanges import Exchange, write_exchanges
from tests.archives.test_scanning import record

from perdure.archives.index.sqlite_index import FILE
from perdure.archives.library import Library
from perdure.errors import PerdureError
from perdure.errors.archive_corruption import (
    ArchivedRecordDamaged,
    ArchiveFileCutOff,
    CaptureReplaced,
    EntriesLost,
    IndexRunDamaged,
)
from perdure.errors.corruption import DatabaseUnsound
from perdure.errors.processes import FileUnusable
from perdure.settings import Settings

DATE = "2020-01-02T03:04:05Z"


def make_library(root: Path, most: int) -> Library:
    library = Library(root, Settings(captures_in_sqlite=most))
    (root / "w").mkdir()
    for number in range(3):
        uris = [f"http://a.example/{number}/{page}" for page in range(200)]
        exchanges = [Exchange("GET", uri, DATE, uri.encode()) for uri in uris]
        exchanges.append(Exchange("POST", uris[0], DATE, b"posted", "text/plain", b"x"))
        library.add_file(write_exchanges(root / "w" / f"{number}.warc.gz", *exchanges))
    (root / "w" / "plain.warc").write_bytes(record("http://plain.example/"))
    library.add_file(root / "w" / "plain.warc")
    return library


def execute(root: Path, statement: str) -> None:
    connection = apsw.Connection(str(root / "captures" / FILE))
    connection.execute(statement)
    connection.close()


def cut_file(root: Path) -> None:
    os.truncate(root / "w" / "1.warc.gz", 700)


def replace_record(root: Path) -> None:
    path = root / "w" / "plain.warc"
    text = path.read_bytes()
    path.write_bytes(text.replace(b"http://plain.example/", b"http://other.example/"))


def overwrite_record(root: Path) -> None:
    path = root / "w" / "plain.warc"
    path.write_bytes(b"x" * path.stat().st_size)


def damage_database(root: Path) -> None:
    execute(root, "PRAGMA wal_checkpoint(TRUNCATE)")
    path = root / "captures" / FILE
    data = bytearray(path.read_bytes())
    data[4096 * 8 : 4096 * 9] = b"\xff" * 4096
    path.write_bytes(data)


def damage_run(root: Path) -> None:
    [run] = (root / "captures" / "runs").glob("*.cdxj.gz")
    data = bytearray(run.read_bytes())
    data[len(data) // 2] ^= 255
    run.write_bytes(data)


DAMAGES: list[tuple[Callable[[Path], None], int, type[PerdureError], str]] = [
    (cut_file, 10_000, ArchiveFileCutOff, "1.warc.gz"),
    (lambda root: (root / "w" / "2.warc.gz").unlink(), 10_000, FileUnusable, "2.warc.gz"),
    (replace_record, 10_000, CaptureReplaced, "plain.warc"),
    (overwrite_record, 10_000, ArchivedRecordDamaged, "plain.warc"),
    (lambda root: execute(root, "DELETE FROM captures WHERE file=2 AND kind=0"), 10_000,
     EntriesLost, "1.warc.gz"),
    (lambda root: execute(root, "UPDATE captures SET offset=offset+7 WHERE file=4"), 10_000,
     ArchivedRecordDamaged, "plain.warc"),
    (damage_database, 10_000, DatabaseUnsound, "index.sqlite"),
    (damage_run, 500, IndexRunDamaged, "index run"),
]  # fmt: skip


@pytest.mark.parametrize(("damage", "most", "kind", "where"), DAMAGES)
def test_damage_is_found(
    tmp_path: Path, damage: Callable[[Path], None], most: int, kind: type[PerdureError], where: str
) -> None:
    make_library(tmp_path, most).close()
    damage(tmp_path)
    library = Library(tmp_path, Settings(captures_in_sqlite=most))
    found = list(library.check_index())
    assert [type(one) for one in found if isinstance(one, kind)], found
    assert all(isinstance(one, kind) for one in found), found
    assert where in str(found[0])
    library.close()


@pytest.mark.parametrize("most", [10_000, 500])
def test_a_sound_index_has_no_problem(tmp_path: Path, most: int) -> None:
    library = make_library(tmp_path, most)
    assert list(library.check_index()) == []
    library.close()


def test_a_file_that_is_added_again_meanwhile_is_not_called_damaged(tmp_path: Path) -> None:
    library = make_library(tmp_path, 10_000)
    problems = library.check_index()
    cut_file(tmp_path)
    assert isinstance(next(problems), ArchiveFileCutOff)
    problems = library.check_index()
    execute(tmp_path, "DELETE FROM captures WHERE file=2 AND kind=0")
    replace_record(tmp_path)
    assert isinstance(next(problems), CaptureReplaced), "the check has begun"
    library.add_file(tmp_path / "w" / "1.warc.gz")
    assert list(problems) == []
    library.close()


def test_without_captures_there_is_nothing_to_check(tmp_path: Path) -> None:
    library = Library(tmp_path, Settings())
    assert list(library.check_index()) == []
    assert not (tmp_path / "captures").exists()
    library.close()
