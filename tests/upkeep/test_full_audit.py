"""The full audit: whatever is damaged is found, and a sound registry has no findings."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from tests.archives.test_scanning import record
from tests.conftest import AUTHORITY, SERIES, SHOULDER, TODAY, Desk, html, large, text
from tests.storage.registries import unpack_registry

from perdure.errors.segment_corruption import SegmentMissing
from perdure.ids import parse
from perdure.model.collection import Collection, CollectionMember, write_collection
from perdure.model.commands import Correct, Register
from perdure.model.queries import IntegrityFinding
from perdure.model.records import Location
from perdure.model.references import ASSERTION
from perdure.registry import Registry
from perdure.storage.reference_hashes import reference_hash
from perdure.storage.segments import ocfl, warc
from perdure.storage.segments.directory import find_path
from perdure.storage.segments.store import Segments
from perdure.storage.sqlite.opening import FILE
from perdure.storage.sqlite.store import SqliteStore
from perdure.storage.sqlite.sums import sum_line
from perdure.testing.memory_bytes import MemoryByteStore
from perdure.testing.stores import MemoryStore
from perdure.upkeep import audit as audits
from perdure.upkeep import audit_records
from perdure.upkeep.full_audit import audit_registry, measure_size
from perdure.upkeep.transfer.renewal import rebuild_registry

LARGE = b"large" * (2 << 20)
OF_DOCUMENTS = {
    "record=replace(record, 'text/plain', 'text/x-log')",
    "record=replace(record, ' text ', ' html ')",
    "record=replace(record, ' 4 ', ' x ')",
    "record=replace(record, ' 1 ', ' 3 ')",
    "record=replace(record, ' text - - ', ' ')",
}
"""Changes that alter no record of a location."""


@pytest.fixture
def full(desk: Desk) -> Desk:
    """A registry with some of everything; 10 representations, and one segment is sealed."""
    desk.mint(text("one"), html("<p>one"))
    desk.commit(f"{TODAY}/1", text("two"))
    desk.mint(large(desk.registry, LARGE, "text"))
    desk.mint(html("<p>"), uid="HTTP://www.Example.org/")
    desk.mint(text("ark"), authority=SHOULDER, uid="7x")
    desk.mint(text("urn"), authority=AUTHORITY, uid="Report")
    desk.register("pdi://nara.gov.us/1997/09/01/7.text.3", text("of another day"))
    desk.mint(text("withdrawn"))
    desk.withdraw(f"{TODAY}/3")
    desk.mint()
    desk.bind(f"{TODAY}/4", "https://a.example/four")
    desk.alias(f"{TODAY}/4", "hdl:10.9999/four")
    desk.registry.seal()
    desk.mint(text("last"))
    return desk


def audit(root: Path, within: str | None = None) -> list[IntegrityFinding]:
    with Registry(root, environment={}) as registry:
        return list(audit_registry(registry, within=parse(within) if within else None))


def problems(root: Path, within: str | None = None) -> list[str]:
    return [f"{one.identifier}: {one.problem}" for one in audit(root, within) if one.problem]


def test_a_sound_registry_has_a_finding_for_each_representation(full: Desk) -> None:
    found = audit(full.root)
    assert [one.problem for one in found] == [None] * 10
    assert {f"{TODAY}/3.text.1", f"{TODAY}/5.text.1"} <= {one.identifier for one in found}
    assert sum(one.length for one in found) > len(LARGE)


def test_sealed_segments_count_for_the_size_of_an_audit(full: Desk, tmp_path: Path) -> None:
    """Helper processes help with what is read, which is not only what lies in `segments/`."""
    full.registry.seal()
    assert len(LARGE) < measure_size(full.root) < len(LARGE) + (1 << 20)
    assert measure_size(tmp_path / "nothing") == 0


def test_entries_of_the_index_of_captures_must_lead_to_records(full: Desk, tmp_path: Path) -> None:
    warc = tmp_path / "a.warc"
    warc.write_bytes(record("http://plain.example/"))
    full.registry.archive.add_file(warc)
    assert problems(full.root) == []
    warc.write_bytes(warc.read_bytes().replace(b"plain.example", b"other.example"))
    [found] = problems(full.root)
    assert found.startswith("a.warc@0: ")
    assert "http://plain.example/" in found
    assert "http://other.example/" in found
    assert problems(full.root, f"{TODAY}/1") == [], "captures are not among the names of a pattern"
    warc.unlink()
    [found] = problems(full.root)
    assert found.startswith("captures/index.sqlite: archive file a.warc")
    with sqlite3.connect(full.root / "captures" / "index.sqlite") as connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute("UPDATE sqlite_schema SET rootpage=9999 WHERE name='captures_listed'")
    assert any("captures/index.sqlite" in one for one in problems(full.root))


@pytest.mark.parametrize(("within", "count"), [(f"{TODAY}/1", 3), ("pdi://nara.gov.us/1997/", 1)])
def test_a_part_of_a_registry(full: Desk, within: str, count: int) -> None:
    assert [one.problem for one in audit(full.root, within)] == [None] * count


def test_stores_in_memory(root: Path) -> None:
    store, held = MemoryStore(), MemoryByteStore()
    store.create_registry(root)
    held.open_bytes(root).create()
    with Registry(root, environment={}, store=store, bytes=held.open_bytes) as registry:
        name = parse("hdl:10.9999/x")
        registry.door.execute_command(Register(identifier=name, contents=(text("one"),)))
        assert [one.problem for one in audit_registry(registry)] == [None]
        held.shorten_segment(root, 1, 1)
        assert len([one for one in audit_registry(registry) if one.problem]) == 2


def test_a_registry_of_the_first_format(place: Path) -> None:
    root = unpack_registry(1, place)
    assert problems(root) == []
    assert len(audit(root)) == 15


# Segments
# --------


def heads(path: Path) -> Iterator[tuple[int, int]]:
    """Begin and end of each head in a segment."""
    with path.open("rb") as file:
        end = 0
        for record in warc.read_records(file, where=path.name):
            yield end, record.offset
            end = record.end


def flip(path: Path, at: int, bit: int = 0) -> Callable[[], None]:
    """Flip a bit, and return a function that takes it back."""

    def turn() -> None:
        with path.open("r+b") as file:
            file.seek(at)
            [byte] = file.read(1)
            file.seek(at)
            file.write(bytes([byte ^ (1 << bit)]))

    turn()
    return turn


def test_a_head_is_checked_byte_by_byte(desk: Desk) -> None:
    """ISO 28500 section 5.2: a record id is any unique URI, so another one is not damage."""
    desk.mint(text("one"))
    desk.mint(html("<p>two"))
    desk.withdraw(f"{TODAY}/1")
    desk.registry.close()
    path = find_path(desk.root, 1)
    data = path.read_bytes()
    free: set[int] = set()
    for name, size in ((b"WARC-Record-ID: <urn:uuid:", 36), (b"WARC-Date: ", 20)):
        at = -1
        while (at := data.find(name, at + 1)) >= 0:
            free |= set(range(at + len(name), at + len(name) + size))
    for begin, end in heads(path):
        for at in range(begin, end, 5):
            if at in free:
                continue
            undo = flip(path, at, at % 8)
            assert problems(desk.root), data[at - 20 : at + 1]
            undo()
    assert problems(desk.root) == []


def test_a_damaged_head_is_named_with_its_document(full: Desk) -> None:
    """It was seen by neither `verify` nor `backup --check`."""
    path = find_path(full.root, 1)
    full.registry.close()
    before, mark, after = path.read_bytes().rpartition(b"Content-Length")
    path.write_bytes(before + mark.replace(b"on", b"mn", 1) + after)
    found = problems(full.root)
    assert len(found) == 2
    assert found[0].startswith(f"segment {int(path.stem)}: ")
    assert found[1].startswith(f"{TODAY}/5.text.1: its bytes are as promised, but the head")


def test_a_flipped_bit_in_a_document(full: Desk) -> None:
    path = find_path(full.root, 1)
    full.registry.close()
    flip(path, path.read_bytes().index(b"last"))
    [found] = problems(full.root)
    assert found.startswith(f"{TODAY}/5.text.1: digest ")


def test_a_flipped_bit_in_a_sealed_segment(full: Desk) -> None:
    full.registry.close()
    path = ocfl.content_path(full.root, 2)
    flip(path, 5 << 20)
    found = problems(full.root)
    assert [one.partition(": ")[0] for one in found] == ["segment 2", f"{TODAY}/2.text.1"]


def test_bytes_behind_the_committed_end_are_not_damage(full: Desk) -> None:
    """They are left by a crash, or another process is writing them."""
    path = find_path(full.root, 1)
    full.registry.close()
    with path.open("ab") as file:
        file.write(b"WARC/1.1\r\nWARC-Ty")
    assert problems(full.root) == []


def test_a_segment_that_is_too_short_or_missing(full: Desk) -> None:
    path = find_path(full.root, 1)
    full.registry.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:-3])
    assert any("bytes missing" in one for one in problems(full.root))
    path.unlink()
    found = [one.partition(": ")[0] for one in problems(full.root)]
    assert found[0] == "segment 1"
    assert len(found) == 1 + 9


def list_object_files(root: Path) -> list[Path]:
    return sorted(
        path for path in (root / "archive").rglob("*") if path.is_file() and path.suffix != ".warc"
    )


def test_every_byte_of_the_archive_is_checked(full: Desk) -> None:
    full.registry.close()
    for path in list_object_files(full.root):
        size = path.stat().st_size
        for at in {0, size // 3, size // 2, size - 2}:
            undo = flip(path, at, at % 8)
            assert problems(full.root), (path, at)
            undo()
        text = path.read_bytes()
        path.unlink()
        assert problems(full.root), path
        path.write_bytes(text)
    assert problems(full.root) == []


# The registry against the segments
# ---------------------------------


def change_rows(root: Path, *statements: str) -> None:
    """Change the registry file as only a person can who takes it apart."""
    with closing(sqlite3.connect(root / FILE)) as connection, connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type='trigger'"):
            connection.execute(f"DROP TRIGGER {trigger}")
        connection.create_function("sum_line", 3, sum_line)
        for statement in statements:
            connection.execute(statement)


def told(found: Iterable[str], words: str) -> bool:
    return any(words in one for one in found)


def test_bytes_that_no_record_names(full: Desk) -> None:
    key = parse(f"{TODAY}/5").key
    full.registry.close()
    change_rows(full.root, f"DELETE FROM records WHERE key='{key}'")
    [found] = [one for one in problems(full.root) if "that no record names" in one]
    assert found.startswith(f"{TODAY}/5.text.1: segment")


def test_a_record_whose_head_says_something_else(full: Desk) -> None:
    key = parse(f"{TODAY}/5").key
    full.registry.close()
    change_rows(
        full.root,
        f"UPDATE records SET record=replace(record, 'text/plain', 'text/x-log') WHERE key='{key}'",
        "UPDATE records SET sum=sum_line(key, record, position)",
    )
    [found] = [one for one in problems(full.root) if "text/x-log" in one]
    assert "head of its WARC record differs" in found
    assert "is 'text/plain" in found


def test_a_withdrawal_that_only_the_segment_tells(full: Desk) -> None:
    key = parse(f"{TODAY}/3").key
    full.registry.close()
    change_rows(
        full.root,
        f"UPDATE records SET record=(SELECT record FROM history WHERE key='{key}') "
        f"WHERE key='{key}'",
        "UPDATE records SET sum=sum_line(key, record, position)",
    )
    assert told(problems(full.root), "says that it was withdrawn, its record does not")


def correct(full: Desk) -> str:
    """Correct a document twice, one whose bytes are in a sealed segment. Its key."""
    name = parse(f"{TODAY}/1.text.2")
    for charset in ("cp850", "iso-8859-2"):
        full.registry.door.execute_command(
            Correct(identifier=name, charset=charset, reason="read wrongly")
        )
    return name.key


def test_corrected_bytes_keep_the_head_of_their_first_reading(full: Desk) -> None:
    correct(full)
    assert problems(full.root) == []


def test_a_correction_that_only_the_segment_tells(full: Desk) -> None:
    key = correct(full)
    full.registry.close()
    change_rows(
        full.root,
        "UPDATE records SET record="
        f"(SELECT record FROM history WHERE key='{key}' ORDER BY revision DESC LIMIT 1) "
        f"WHERE key='{key}'",
        "UPDATE records SET sum=sum_line(key, record, position)",
    )
    assert told(problems(full.root), "has a correction that its record does not have")


def test_a_json_ld_document_is_found_among_those_that_may_be_assertions(full: Desk) -> None:
    """As one that an earlier release stored without that reference: a rebuild adds it."""
    full.mint(text(b"{}", "ld+json", "application/ld+json"))
    assert problems(full.root) == []
    full.registry.close()
    for step in rebuild_registry(full.root, SqliteStore(), Segments, now="2026-11-22T00:00:00Z"):
        assert step.problem is None
    full.reopen()
    assert full.registry.records.find_referring(ASSERTION) == [parse(f"{TODAY}/6").key]
    full.registry.close()
    hashed = reference_hash(ASSERTION)
    change_rows(full.root, f"DELETE FROM refers WHERE hash={hashed}")
    (found,) = problems(full.root)
    assert found == f"{TODAY}/6: the index of references does not have {ASSERTION}"
    for _ in rebuild_registry(full.root, SqliteStore(), Segments, now="2026-11-22T00:00:01Z"):
        pass
    assert problems(full.root) == []


def test_a_reference_that_the_index_lost(full: Desk) -> None:
    full.registry.close()
    change_rows(full.root, "DELETE FROM recent_references", "DELETE FROM refers")
    found = problems(full.root)
    assert told(found, f"{TODAY}/4: the index of references does not have location:https://a.exa")
    assert told(found, f"{TODAY}/4: the index of references does not have alias:")


@pytest.mark.parametrize(
    "change",
    [
        "record=record",
        "record=replace(record, 'text/plain', 'text/x-log')",
        "record=replace(record, ' text ', ' html ')",
        "record=replace(record, ' 4 ', ' x ')",
        "record=replace(record, ' 1 ', ' 3 ')",
        "record=replace(record, ' - - ', ' x - ')",
        "record=replace(record, ' text - - ', ' ')",
        "record=CAST(record AS BLOB)",
        "key=key || '/'",
        "key=replace(key, 'a4', 'b4')",
        "key=CAST(X'ff' || key AS TEXT)",
        "position='x'",
    ],
)
@pytest.mark.parametrize("has_sums", [True, False])
@pytest.mark.parametrize("has_bytes", [True, False])
def test_the_short_way_and_the_long_way_find_the_same(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, change: str, has_sums: bool, has_bytes: bool
) -> None:
    """A page of records with one location each is also checked as a whole."""
    for number in range(1, 11):
        bound = Location(uri=f"https://a.example/{number}")
        desk.register(f"pdi://nara.gov.us/1997/09/01/{number}", locations=(bound,))
        if has_bytes:
            desk.register(f"pdi://nara.gov.us/1997/09/02/{number}", text("four"))
            desk.mint(html("<p>"))
    desk.registry.close()
    own = "sum" if "CAST" in change else "sum_line(key, record, position)"
    resum = own if has_sums else "NULL"
    if not has_sums:
        change_rows(desk.root, "DELETE FROM meta WHERE name='summed'")
    change_rows(
        desk.root,
        f"UPDATE OR IGNORE records SET {change} WHERE key LIKE '%a4'",
        f"UPDATE records SET sum={resum} WHERE typeof(position)<>'text'",
    )
    short, unread = problems(desk.root), desk.problems()
    monkeypatch.setattr(audit_records, "split_numbered_locations", lambda *_: None)
    monkeypatch.setattr(audit_records.RecordsCheck, "_accept_line", lambda *_: None)
    monkeypatch.setattr(audits, "_skip_locations", lambda _, low, __: low)
    assert problems(desk.root) == short
    assert desk.problems() == unread
    is_damaged = change != "record=record" and (has_bytes or change not in OF_DOCUMENTS)
    assert bool(short) == is_damaged


@pytest.mark.parametrize("version", [None, 1])
def test_a_page_of_locations_is_checked_as_a_whole(
    desk: Desk, version: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if they are the locations of a version and a format, as those of most imports."""
    for number in range(1, 11):
        bound = Location(
            uri=f"https://a.example/{number}", version=version, format="html" if version else None
        )
        desk.register(f"pdi://nara.gov.us/1997/09/01/{number}", locations=(bound,))
    desk.registry.close()
    monkeypatch.setattr(audit_records.RecordsCheck, "_accept_line", None)
    assert problems(desk.root) == []


@pytest.mark.parametrize("version", [None, 1])
def test_a_reference_that_a_page_of_locations_lost(desk: Desk, version: int | None) -> None:
    for number in range(1, 11):
        bound = Location(uri=f"https://a.example/{number % 9}", version=version)
        desk.register(f"pdi://nara.gov.us/1997/09/01/{number}", locations=(bound,))
    desk.registry.close()
    assert problems(desk.root) == []
    change_rows(desk.root, "DELETE FROM recent_references WHERE number IN (4, 10)")
    assert sorted(problems(desk.root)) == [
        f"pdi://nara.gov.us/1997/09/01/{number}: the index of references does not have "
        f"location:https://a.example/{number % 9}"
        for number in (10, 4)
    ]


def test_the_structure_of_the_file(full: Desk) -> None:
    full.registry.close()
    change_rows(full.root, "CREATE INDEX extra ON segments(length)")
    change_rows(
        full.root,
        "PRAGMA writable_schema=1",
        "UPDATE sqlite_master SET sql='CREATE INDEX extra ON segments(opened)' WHERE name='extra'",
    )
    assert told(problems(full.root), "registry.sqlite")


@pytest.mark.parametrize(
    "name",
    [
        "fence.json",
        "handover.json",
        "home.json",
        "backup.json",
        "withheld.jsonl",
        "segments/erased.json",
    ],
)
def test_small_files_that_hold_promises(full: Desk, name: str) -> None:
    full.registry.close()
    (full.root / name).write_bytes(b"\0\n")
    assert told(problems(full.root), Path(name).name)


# References
# ----------


def test_members_that_do_not_exist(desk: Desk) -> None:
    desk.mint(text("one"))
    members = (f"{TODAY}/1", f"{TODAY}/77", "pdi://elsewhere.example.us/2026/11/21/9")
    made = Collection(members=tuple(CollectionMember(identifier=one) for one in members))
    desk.mint(text(write_collection(made), "json", "application/vnd.perdure.collection+json"))
    [found] = problems(desk.root)
    assert found == f"{TODAY}/2: member 2 of version 1, {TODAY}/77, does not exist"


def test_an_error_names_the_place(full: Desk) -> None:
    full.registry.close()
    found = list(Registry(full.root, environment={}).bytes.check_records(99, 10))
    assert [type(one) for one in found] == [SegmentMissing]
    assert SERIES in TODAY


_IMPORTED = """
import sys
from pathlib import Path
from perdure.registry import Registry, load_bytes, load_store
from perdure.upkeep.full_audit import audit_registry
from perdure.upkeep.transfer.backup import back_up

root, target = map(Path, sys.argv[1:])
with Registry(root, environment={}) as registry:
    assert not [one for one in audit_registry(registry) if one.problem]
    list(back_up(root, target, load_store("sqlite"), load_bytes("segments")))
print(*(name for name in sys.modules if name.startswith("perdure.archives.")))
"""


def test_a_registry_without_captures_does_not_load_the_web_archive(desk: Desk, place: Path) -> None:
    """The start is a third of the time of a small check."""
    desk.registry.close()
    command = [sys.executable, "-c", _IMPORTED, str(desk.root), str(place / "copy")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["perdure.archives.places"]
