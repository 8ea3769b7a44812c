"""The embedded store: backups of a registry in use, copies that nobody can write, clear errors."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.conftest import SERIES, TODAY, Desk, text

from perdure.errors import Corrupt, Unavailable
from perdure.errors.importing import DirectoryObstructed
from perdure.errors.processes import DatabaseBusy
from perdure.ids import parse
from perdure.ids.pdi import Pdi
from perdure.model.records import Location, Record
from perdure.registry import Registry, initialise
from perdure.storage.sqlite import copies, opening
from perdure.storage.sqlite.decoding import decode_record
from perdure.storage.sqlite.journal import PRAGMAS, SqliteJournal
from perdure.storage.sqlite.records import SqliteRecords


def test_a_damaged_record_is_named_by_its_identifier() -> None:
    key = Pdi.make(series=SERIES, date="2026/11/22", uid="31").key
    with pytest.raises(Corrupt) as damaged:
        decode_record(key, "{")
    assert damaged.value.identifier == f"pdi://{SERIES}/2026/11/22/31"
    with pytest.raises(Corrupt) as damaged:
        decode_record("no key", "{")
    assert damaged.value.identifier == "no key"


def test_records_of_one_location_are_left_out_unread(desk: Desk) -> None:
    desk.mint(text("one"))
    desk.register("pdi://nara.gov.us/1997/09/01/1", locations=(Location(uri="urn:a:1"),))
    with closing(SqliteRecords(desk.root)) as records:
        assert len(records.scan_records("", "~", limit=9)) == 2
        ((key, record),) = records.scan_records("", "~", limit=9, with_bytes=True)
    assert isinstance(record, Record)
    assert key == parse(f"{TODAY}/1").key


def test_what_is_committed_is_flushed(root: Path) -> None:
    """`synchronous=FULL` (2), also for a registry that came out of a backup."""
    list(copies.SqliteCopy(root, root.parent / "copy.sqlite").copy())
    (root.parent / "copy.sqlite").replace(root / opening.FILE)
    with closing(SqliteJournal(root)) as writer:
        assert writer.connection.execute("PRAGMA journal_mode").get == "wal"
        assert writer.connection.execute("PRAGMA synchronous").get == 2


def test_the_writer_has_every_setting(root: Path) -> None:
    """A string of several statements runs only as far as the first one that returns a row."""
    read_back = {"journal_mode": "wal", "synchronous": 2, "secure_delete": 2}
    with closing(SqliteJournal(root)) as writer:
        found = {name: writer.connection.pragma(name) for name in PRAGMAS}
    assert found == PRAGMAS | read_back
    assert found["cache_size"] == -64 * 1024


def test_a_batch_reads_many_records_with_few_statements(root: Path) -> None:
    """Each statement lets other threads run, for which the writer then waits."""
    keys = [f"hdl:1/{number}" for number in range(512)]
    executed: list[str] = []

    def note_statement(_cursor: object, statement: str, _bindings: object) -> bool:
        executed.append(statement)
        return True

    with closing(SqliteJournal(root)) as writer:
        writer.begin_batch()
        writer.connection.exec_trace = note_statement
        writer.prefetch_records(keys)
        assert [writer.find_stored(key) for key in keys] == [None] * len(keys)
        writer.connection.exec_trace = None
        writer.roll_back()
    assert len(executed) == 512 // 32


def test_readers_cannot_write(root: Path) -> None:
    with closing(SqliteRecords(root)) as records, pytest.raises(apsw.ReadOnlyError):
        records.connection.execute("DELETE FROM records")


def test_threads_have_connections_of_their_own(root: Path) -> None:
    with closing(SqliteRecords(root)) as records:
        seen = {id(records.connection)}
        thread = threading.Thread(target=lambda: seen.add(id(records.connection)))
        thread.start()
        thread.join()
        assert len(seen) == 2


def test_a_backup_ends_though_writing_goes_on(desk: Desk) -> None:
    """A copy that starts again whenever something is written would never be done."""
    for number in range(40):
        desk.mint(metadata={"abstract": "x" * 4096, "number": str(number)})
    target = desk.root.parent / "copy.sqlite"
    shares = []
    work = copies.SqliteCopy(desk.root, target).copy(pages=4)
    for share in work:
        shares.append(share)
        desk.mint(text("written meanwhile"))
        assert len(shares) < 500
    assert shares == sorted(shares)
    assert shares[-1] == 1
    (desk.root.parent / "restored").mkdir()
    target.replace(desk.root.parent / "restored" / opening.FILE)
    with closing(SqliteRecords(desk.root.parent / "restored")) as restored:
        assert restored.count_records() == 40
        assert restored.connection.execute("PRAGMA integrity_check").get == "ok"


def read_texts(file: Path) -> list[str]:
    with closing(apsw.Connection(str(file))) as connection:
        assert connection.execute("PRAGMA integrity_check").get == "ok"
        return [text for (text,) in connection.execute("SELECT record FROM records")]


def test_a_copy_of_the_file_is_one_state_of_it(desk: Desk) -> None:
    """While the file is copied, a writer moves its log into the file as far as it may."""
    for number in range(300):
        desk.mint(metadata={"abstract": f"{number} " * 2000})
    source, target = desk.root / opening.FILE, desk.root.parent / "copy.sqlite"
    expected = read_texts(source)
    work = copies.SqliteCopy(desk.root, target).copy(pages=16)
    first = next(work)
    frozen = source.read_bytes()
    with closing(SqliteRecords(desk.root)) as records:
        mover = records._open_file()
        for _ in work:
            desk.mint(metadata={"abstract": "later " * 2000})
            mover.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        assert source.read_bytes() == frozen
        mover.close()
    assert first < 0.1
    assert target.read_bytes() == frozen
    assert read_texts(target) == expected


def test_a_log_that_cannot_be_moved_is_copied_too(desk: Desk) -> None:
    """A reader of an earlier state keeps later pages in the log."""
    desk.mint(text("one"))
    target = desk.root.parent / "copy.sqlite"
    with closing(SqliteRecords(desk.root)) as records, records.hold_snapshot():
        assert records.count_records() == 1
        desk.mint(text("two"))
        list(copies.SqliteCopy(desk.root, target).copy())
    assert len(read_texts(target)) == 2


def test_a_file_that_was_replaced_meanwhile_is_not_mixed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup that is copied may just be replaced by the next one."""
    desk.mint(text("one"))
    path, target = desk.root / opening.FILE, desk.root.parent / "copy.sqlite"
    begin = copies._begin_in_file

    def replace_file(*arguments: Any) -> bool:
        is_whole = begin(*arguments)
        shutil.copy(path, path.with_name("other"))
        path.with_name("other").replace(path)
        path.write_bytes(bytes(4096))
        return is_whole

    monkeypatch.setattr(copies, "_begin_in_file", replace_file)
    list(copies.SqliteCopy(desk.root, target).copy())
    assert len(read_texts(target)) == 1


def test_a_backup_does_not_wait_for_a_long_write(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copies, "_PATIENCE", 1)
    desk.mint(text("one"))
    target = desk.root.parent / "copy.sqlite"
    with closing(SqliteRecords(desk.root)) as records:
        writer = records._open_file()
        writer.execute("BEGIN IMMEDIATE")
        list(copies.SqliteCopy(desk.root, target).copy())
        writer.close()
    assert len(read_texts(target)) == 1


def test_a_backup_with_its_segments_is_a_registry(desk: Desk) -> None:
    """Records first, then segments: what is written between is set aside, and nothing is lost."""
    desk.mint(text("one"))
    restored = desk.root.parent / "restored"
    initialise(restored, series=(SERIES,))
    list(copies.SqliteCopy(desk.root, restored / opening.FILE).copy())
    desk.mint(text("after the backup of the records"))
    shutil.copytree(desk.root / "segments", restored / "segments", dirs_exist_ok=True)
    opened = Desk(restored, desk.clock)
    assert opened.served(f"{TODAY}/1") == b"one"
    assert opened.mint(text("two")).identifier == f"{TODAY}/2.text.1"
    assert opened.problems() == []
    assert len(list((restored / "aside").iterdir())) == 1
    opened.registry.close()


def test_a_long_read_does_not_stop_the_writer(desk: Desk) -> None:
    """Whoever reads holds the log; it grows, is moved on later, and nothing waits."""
    desk.mint(text("one"))
    with closing(SqliteRecords(desk.root)) as records:
        records.connection.execute("BEGIN; SELECT count(*) FROM records")
        for _ in range(60):  # more than the log is allowed to hold before it is moved
            desk.mint(metadata={"abstract": "x" * 200_000})
        assert records.connection.execute("SELECT count(*) FROM records").get == 1
        records.connection.execute("COMMIT")
        assert records.count_records() == 61
    for _ in range(3):
        desk.mint(text("more"))
    assert desk.problems() == []


# Registries that cannot be used as asked
# ---------------------------------------

READ = """
import os
import sys
from pathlib import Path
import perdure.reading.listing, perdure.reading.resolve  # loaded while files can be read
import perdure.writing.committer, perdure.writing.peers, perdure.writing.registrar
from perdure.registry import Registry, load_bytes, load_store
from perdure.errors import PerdureError
from perdure.ids import parse
from perdure.model.commands import Mint
from perdure.model.queries import Query

query = Query(identifier=parse(sys.argv[2]))
load_store("sqlite"), load_bytes("segments")
if os.geteuid() == 0:  # who may do everything; the interpreter itself may be out of others' reach
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
with Registry(Path(sys.argv[1]), environment={}) as registry:
    try:
        step = registry.reading.resolve(query).step
        print(registry.listings.read_bytes(step.representation).decode())
    except PerdureError as error:
        print(error.code, error)
    try:
        print(registry.door.execute_command(Mint(authority="oma.eop.gov.us")).identifier)
    except PerdureError as error:
        print(error.code, error)
"""


def as_nobody(*arguments: object) -> list[str]:
    """What a process prints that may not write, whoever runs the tests."""
    ran = subprocess.run(
        [sys.executable, "-c", READ, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.stderr == ""
    return ran.stdout.splitlines()


@pytest.fixture
def readable(desk: Desk) -> Path:
    """A registry, closed, that can be read by everybody and written by nobody."""
    desk.mint(text("one"))
    desk.registry.close()
    copy = Path(shutil.copytree(desk.root, desk.root.parent / "readable"))
    for path in (copy.parent, copy, *copy.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    return copy


def test_a_directory_that_nobody_can_write_to_is_read(readable: Path) -> None:
    read, written = as_nobody(readable, f"{TODAY}/1")
    assert read == "one"
    assert written.startswith("unavailable the write door is not available now: ")
    assert "Permission denied" in written
    readable.parent.chmod(0o755)


def test_a_log_that_cannot_be_read_is_told(readable: Path) -> None:
    """It may hold what the file does not: saying 'not found' would be wrong."""
    readable.chmod(0o755)
    log = readable / f"{opening.FILE}-wal"
    log.write_bytes(b"")
    log.chmod(0o444)
    readable.chmod(0o555)
    read, _ = as_nobody(readable, f"{TODAY}/1")
    assert read.startswith("unavailable the registry is not available now")
    readable.parent.chmod(0o755)


def test_a_registry_is_not_made_where_nobody_may_write(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_bytes(b"")
    with pytest.raises(DirectoryObstructed, match="is not a directory"):
        initialise(blocked / "registry", series=(SERIES,))


def test_making_a_registry_again_harms_nothing(desk: Desk) -> None:
    desk.mint(text("one"))
    grown = initialise(desk.root, series=("nara.gov.us",))
    assert grown.series == (SERIES, "nara.gov.us")
    desk.reopen()
    assert desk.served(f"{TODAY}/1") == b"one"
    assert desk.mint(text("a"), authority="nara.gov.us").identifier.startswith("pdi://nara.gov.us/")


def test_another_process_that_holds_the_database_is_waited_for(desk: Desk) -> None:
    desk.mint(text("one"))
    other = apsw.Connection(str(desk.root / opening.FILE))
    other.execute("BEGIN IMMEDIATE")
    timer = threading.Timer(0.3, lambda: other.execute("ROLLBACK"))
    timer.start()
    assert desk.mint(text("two")).identifier == f"{TODAY}/2.text.1"
    timer.join()
    other.close()


def test_a_corrupt_page_is_told_and_not_taken_for_nothing(desk: Desk) -> None:
    for _ in range(200):
        desk.mint(metadata={"abstract": "x" * 1000})
    desk.registry.close()
    file = desk.root / opening.FILE
    data = bytearray(file.read_bytes())
    data[4096 * 8 : 4096 * 40] = b"\xff" * (4096 * 32)
    file.write_bytes(data)
    names = [parse(f"{TODAY}/{number}") for number in range(1, 201)]
    with Registry(desk.root, environment={}) as registry, pytest.raises(Unavailable) as told:
        list(map(registry.listings.find_record, names))
    assert "'perdure rebuild'" in told.value.repair()


@pytest.mark.parametrize("records", [SqliteRecords, SqliteJournal])
def test_a_registry_that_is_missing_or_none_is_to_be_rebuilt(
    root: Path, records: type[SqliteRecords]
) -> None:
    """docs/how-to/back-up.md: "It makes a new registry file"."""
    file = root / opening.FILE
    file.write_bytes(b"no database at all, but long enough for a header" * 100)
    with pytest.raises(Unavailable, match="from the segments with 'perdure rebuild'"):
        _ = records(root).connection
    file.unlink()
    with pytest.raises(Unavailable, match=r"registry\.sqlite is missing; .*'perdure rebuild'"):
        _ = records(root).connection
    assert not file.exists()


def test_a_registry_that_another_holds_is_waited_for(root: Path) -> None:
    error = opening.make_unusable("the registry", apsw.BusyError("database is locked"), root)
    assert isinstance(error, DatabaseBusy)
    assert error.repair().startswith("try again; if it lasts, end the other program")
