"""Audit: what was promised compared with what lies there, and a registry made from its bytes."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.conftest import AUTHORITY, SERIES, SHOULDER, TODAY, Desk, html, large, text

from perdure.errors import Corrupt
from perdure.ids import parse, pdi
from perdure.model.commands import Correct
from perdure.model.queries import Fetch, Gone, IntegrityFinding, Query
from perdure.model.records import Record, Version
from perdure.policy.naming import identify_record
from perdure.registry import Registry, initialise
from perdure.storage.segments import ocfl
from perdure.storage.segments.store import Segments
from perdure.storage.sqlite import copies
from perdure.storage.sqlite.opening import FILE
from perdure.storage.sqlite.renewing import RenewedJournal
from perdure.upkeep import audit, rebuilding

LARGE = b"large" * (2 << 20)


@pytest.fixture
def full(desk: Desk) -> Desk:
    """A registry with some of everything; 10 representations."""
    desk.mint(text("one"), html("<p>one"))
    desk.commit(f"{TODAY}/1", text("two"))
    desk.mint(large(desk.registry, LARGE, "text"))
    desk.commit(f"{TODAY}/2", text("after the large one"))
    desk.mint(html("<p>"), uid="HTTP://www.Example.org/")
    desk.mint(text("ark"), authority=SHOULDER, uid="7x")
    desk.mint(text("urn"), authority=AUTHORITY, uid="Report")
    desk.register("pdi://nara.gov.us/1997/09/01/7.text.3", text("of another day"))
    desk.mint(text("withdrawn"))
    desk.withdraw(f"{TODAY}/3")
    return desk


def findings(desk: Desk, within: str | None = None) -> list[IntegrityFinding]:
    with Registry(desk.root, environment={}, clock=desk.clock) as fresh:
        pattern = pdi.parse_pdi(within) if within else None
        return list(audit.verify_digests(fresh.records, fresh.bytes, within=pattern))


# Verifying
# ---------


def test_everything_is_looked_at_also_what_was_withdrawn(full: Desk) -> None:
    found = findings(full)
    assert [one.problem for one in found] == [None] * 10
    assert f"{TODAY}/3.text.1" in {one.identifier for one in found}
    assert sum(one.length for one in found) > len(LARGE)


@pytest.mark.parametrize(
    ("within", "count"),
    [
        (f"pdi://{SERIES}/", 7),
        ("pdi://nara.gov.us/1997/", 1),
        (f"{TODAY}/1", 3),
        (f"{TODAY}/*", 7),
        ("pdi://nara.gov.us/*/09/*/*", 1),
        ("pdi://nara.gov.us/*/10/*/*", 0),
    ],
)
def test_a_part_is_looked_at(full: Desk, within: str, count: int) -> None:
    assert len(findings(full, within)) == count


def spoil(desk: Desk, key: str, form: str | bytes) -> None:
    """Writes over a record as nobody can who has not taken the registry apart."""
    with closing(sqlite3.connect(desk.root / "registry.sqlite")) as connection, connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type='trigger'"):
            connection.execute(f"DROP TRIGGER {trigger}")
        statement = "UPDATE records SET record=? WHERE key=?"
        connection.execute(statement, (form, key))


@pytest.mark.parametrize("form", ["", "{", "no record", b"\xff\x00", "[1]"])
def test_a_record_that_is_none_is_found_and_the_rest_looked_at(
    full: Desk, form: str | bytes
) -> None:
    key = pdi.parse_pdi(f"{TODAY}/2").key
    lost = sum(one.identifier.startswith(f"{TODAY}/2.") for one in findings(full))
    spoil(full, key, form)
    found = findings(full)
    assert [one.identifier for one in found if one.problem] == [f"{TODAY}/2"]
    assert len(found) == 10 - lost + 1
    with (
        Registry(full.root, environment={}, clock=full.clock) as fresh,
        pytest.raises(Corrupt, match="promised a row with its checksum"),
    ):
        fresh.records.find_record(key)


@pytest.mark.parametrize(
    ("document", "name"),
    [
        (b"two", f"{TODAY}/1.text.2"),
        (b"<p>one", f"{TODAY}/1.html.1"),
        (b"withdrawn", f"{TODAY}/3.text.1"),
        (b"ark", "ark:99999/fk47x"),
    ],
)
def test_a_flipped_bit_is_found_with_name_and_place(full: Desk, document: bytes, name: str) -> None:
    file = full.root / "segments" / "000001.warc"
    data = bytearray(file.read_bytes())
    at = data.index(b"\r\n\r\n" + document + b"\r\n\r\n") + 4
    data[at] ^= 1
    file.write_bytes(data)
    [bad] = [one for one in findings(full) if one.problem]
    assert bad.identifier.startswith(name)
    assert (bad.segment, bad.offset) == (1, at)
    assert bad.problem is not None
    assert "promised" in bad.problem


def test_a_flipped_bit_in_a_large_document(full: Desk) -> None:
    file = full.root / "segments" / "000002.warc"
    with file.open("r+b") as opened:
        opened.seek(5 << 20)
        opened.write(b"!")
    assert [one.identifier for one in findings(full) if one.problem] == [f"{TODAY}/2.text.1"]


def test_a_truncated_segment(full: Desk) -> None:
    file = full.root / "segments" / "000002.warc"
    with file.open("r+b") as opened:
        opened.truncate(1 << 20)
    [bad] = [one for one in findings(full) if one.problem]
    assert bad.identifier == f"{TODAY}/2.text.1"
    assert bad.problem is not None
    assert "the end of the file" in bad.problem


def test_a_missing_segment(full: Desk) -> None:
    full.registry.seal()
    ocfl.content_path(full.root, 2).unlink()
    [bad] = [one for one in findings(full) if one.problem]
    assert (bad.identifier, bad.segment) == (f"{TODAY}/2.text.1", 2)


# Rebuilding
# ----------


def rebuilt(
    desk: Desk, *, expect: Callable[[rebuilding.RebuiltSegment], bool] = lambda one: not one.problem
) -> Desk:
    """The registry that the segments alone give, in a directory of its own."""
    desk.registry.close()
    root = desk.root.parent / "rebuilt"
    initialise(root, series=(SERIES,), naming_authorities=(AUTHORITY,), shoulders=(SHOULDER,))
    for name in ("segments", "archive"):
        shutil.rmtree(root / name)
        shutil.copytree(desk.root / name, root / name)
    with closing(RenewedJournal(root)) as journal, closing(Segments(root)) as held:
        assert all(
            expect(one)
            for one in rebuilding.rebuild_index(held, journal, now="2026-11-22T00:00:00Z")
        )
        journal.note_renewed("2026-11-22T00:00:00Z", "rebuild")
    return Desk(root, desk.clock)


def promises(root: Path) -> dict[str, object]:
    """By name: versions with their formats and digests, and what was withdrawn."""
    with Registry(root, environment={}) as registry:
        found = registry.records.scan_records("", "~", limit=100)
    return {
        str(identify_record(key, record)): (list(map(told, record.versions)), record.tombstone)
        for key, record in found
        if isinstance(record, Record)
    }


def told(version: Version) -> tuple[object, ...]:
    ones = version.representations
    formats = sorted((one.format, one.sha512, one.media_type, one.charset) for one in ones)
    return version.number, formats, version.tombstone


@pytest.mark.parametrize("sealed", [False, True])
def test_the_segments_suffice(full: Desk, sealed: bool) -> None:
    full.mint(text("charset"), uid="memo")
    if sealed:
        full.reopen(segment_bytes=1)
        full.mint(text("in another segment"))
        assert full.registry.seal() == [1, 2]
    before = promises(full.root)
    again = rebuilt(full)
    assert promises(again.root) == before
    assert again.problems() == []
    step = again.resolve(f"{TODAY}/2.text.1")
    assert isinstance(step, Fetch)
    assert again.registry.listings.read_bytes(step.representation) == LARGE
    again.registry.close()


def test_what_was_withdrawn_stays_withdrawn(full: Desk) -> None:
    again = rebuilt(full)
    step = again.resolve(f"{TODAY}/3")
    assert isinstance(step, Gone)
    assert (step.tombstone.reason, step.tombstone.at) == ("a court said so", "2026-11-21T12:00:00Z")
    again.registry.close()


def test_a_withdrawal_may_lie_before_the_bytes_that_it_withdraws(desk: Desk) -> None:
    """A large document has a segment with a higher number than that of its tombstone."""
    desk.mint(text("one"))
    desk.commit(f"{TODAY}/1", large(desk.registry, LARGE, "text"))
    desk.withdraw(f"{TODAY}/1.text.2")
    desk.mint(locations=(), uid="memo")
    desk.withdraw(f"{TODAY}/memo")
    before = promises(desk.root)
    again = rebuilt(desk)
    assert promises(again.root) == before
    assert isinstance(again.resolve(f"{TODAY}/1.text.2"), Gone)
    assert isinstance(again.resolve(f"{TODAY}/memo"), Gone)
    assert isinstance(again.resolve(f"{TODAY}/1"), Fetch)
    again.registry.close()


def test_a_damaged_tombstone_is_a_problem_and_not_the_end_of_the_rebuild(full: Desk) -> None:
    full.registry.close()
    problems = []
    for file in (full.root / "segments").glob("*.warc"):
        file.write_bytes(file.read_bytes().replace(b'{"reason":', b'{"reason";'))

    def note(step: rebuilding.RebuiltSegment) -> bool:
        problems.append(step.problem)
        return True

    again = rebuilt(full, expect=note)
    (problem,) = [told for told in problems if told]
    assert "a tombstone" in problem
    assert isinstance(again.resolve(f"{TODAY}/1"), Fetch)
    again.registry.close()


def test_serials_go_on_where_those_found_end(full: Desk) -> None:
    again = rebuilt(full)
    assert again.mint(text("new")).identifier == f"{TODAY}/4.text.1"
    assert again.commit(f"{TODAY}/1", text("three")).identifier == f"{TODAY}/1.text.3"
    assert again.problems() == []
    again.registry.close()


def test_names_are_found_by_their_bytes_again(full: Desk) -> None:
    again = rebuilt(full)
    digest = again.record(f"{TODAY}/1").versions[0].representations[0].sha512
    found = again.registry.listings.find_same_bytes(digest)
    assert [str(one) for one in found] == [f"{TODAY}/1.text.1"]
    again.registry.close()


def test_what_was_refused_or_set_aside_does_not_come_back(desk: Desk) -> None:
    desk.mint(text("one"))
    with pytest.raises(Exception, match="conflict"):
        desk.commit(f"{TODAY}/1", text("other"), html("<p>"), version=1)
    desk.registry.close()
    file = desk.root / "segments" / "000001.warc"
    record = file.read_bytes()
    file.write_bytes(record + record.replace(b"/1.text.1", b"/9.text.1"))  # never committed
    desk.reopen()
    desk.mint(text("two"))
    again = rebuilt(desk)
    assert sorted(promises(again.root)) == [f"{TODAY}/1", f"{TODAY}/2"]
    again.registry.close()


def test_a_segment_is_read_behind_a_damaged_head(full: Desk) -> None:
    before = set(promises(full.root))
    full.registry.close()
    file = full.root / "segments" / "000001.warc"
    data = file.read_bytes()
    broken = data.index(b"WARC/1.1", data.index(b"ark:99999"))
    file.write_bytes(data[:broken] + b"X" + data[broken + 1 :])
    problems: list[str] = []

    def note(one: rebuilding.RebuiltSegment) -> bool:
        problems.extend(filter(None, [one.problem]))
        return True

    again = rebuilt(full, expect=note)
    assert len(problems) == 1
    assert f"offset {broken}" in problems[0]
    lost = before - set(promises(again.root))
    assert [name[:4] for name in lost] == ["URN:"]
    assert isinstance(again.resolve(f"{TODAY}/2.text.1"), Fetch)  # of another segment
    # what lies behind the damage is not cut off when writing goes on
    again.mint(text("new"))
    assert (again.root / "segments" / "000001.warc").read_bytes() == file.read_bytes()
    again.registry.close()


def test_a_backup_of_the_records_and_the_segments_tell_the_same(full: Desk) -> None:
    copy = full.root.parent / "copy"
    copy.mkdir()
    list(copies.SqliteCopy(full.root, copy / FILE).copy())
    shutil.copytree(full.root / "segments", copy / "segments")
    shutil.copy(full.root / "perdure.toml", copy)
    assert promises(copy) == promises(full.root)
    with Registry(copy, environment={}) as registry:
        step = registry.reading.resolve(Query(identifier=pdi.parse_pdi(f"{TODAY}/2.text.1"))).step
        assert isinstance(step, Fetch)
        assert registry.listings.read_bytes(step.representation) == LARGE


def test_a_correction_is_kept_also_if_its_bytes_are_in_a_later_segment(desk: Desk) -> None:
    """Large bytes have a segment of their own, with a higher number than the growing one."""
    desk.mint(text("small"))
    name = desk.mint(large(desk.registry, LARGE, "text")).identifier
    for charset in ("koi8-r", "ibm850"):
        desk.registry.door.execute_command(
            Correct(identifier=parse(name), media_type="text/plain", charset=charset)
        )
    before = desk.record(name).versions
    with closing(rebuilt(desk).registry) as found:
        record = found.listings.find_record(parse(name))
    assert record is not None
    assert record.versions == before
