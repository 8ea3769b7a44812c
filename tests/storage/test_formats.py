"""Registries of earlier formats: read, migrated by the first writer, changed and rebuilt."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.conftest import SERIES, Clock, Desk, copy_as_new, text
from tests.storage.registries import unpack_registry

from perdure.errors import Corrupt, Unavailable
from perdure.errors.processes import FormatNumberDamaged, OtherFormat
from perdure.ids import parse
from perdure.model.changes import ChangeMark, digest_lines
from perdure.registry import Registry
from perdure.storage.segments.store import Segments
from perdure.storage.sqlite.journal import SqliteJournal
from perdure.storage.sqlite.opening import FILE, FIRST_FORMAT, NEWEST_FORMAT, create_registry
from perdure.storage.sqlite.records import SqliteRecords
from perdure.storage.sqlite.store import SqliteStore
from perdure.storage.sqlite.sums import SUMMED
from perdure.upkeep import audit
from perdure.upkeep.changes.walking import check_changes
from perdure.upkeep.full_audit import audit_registry
from perdure.upkeep.transfer.backup import back_up
from perdure.upkeep.transfer.exporting import export_lines
from perdure.upkeep.transfer.renewal import rebuild_registry

AT = "2026-11-22T12:00:00Z"
DAY = f"pdi://{SERIES}/2026/11/21"


@pytest.fixture
def old(place: Path) -> Path:
    """A registry of the first format."""
    return unpack_registry(1, place)


def promises(root: Path) -> list[bytes]:
    with Registry(root, environment={}) as registry:
        return list(export_lines(registry))


def sound(root: Path, representations: int = 15) -> Registry:
    """The registry, after everything in it was checked."""
    registry = Registry(root, environment={})
    assert all(one.problem is None for one in check_changes(registry.records))
    found = list(audit.verify_digests(registry.records, registry.bytes))
    assert (len(found), [one for one in found if one.problem]) == (representations, [])
    return registry


def asked(root: Path, question: str) -> list[tuple[apsw.SQLiteValue, ...]]:
    connection = apsw.Connection(str(root / FILE))
    try:
        return list(connection.execute(question))
    finally:
        connection.close()


def format_of(root: Path) -> object:
    return asked(root, "PRAGMA user_version")[0][0]


def test_reading_an_older_registry_changes_nothing(old: Path) -> None:
    before = (old / FILE).read_bytes()
    with Registry(old, environment={}) as registry:
        assert registry.records.count_records() == 320
        assert registry.listings.find_record(parse(f"{DAY}/9")) is not None
        assert registry.records.find_referring("location:https://a.example/handle")
        assert registry.records.find_token_named("press") is not None
        assert len(registry.records.list_revisions(parse(f"{DAY}/9").key)) == 3
        assert (registry.head(), registry.changes(), registry.records.list_epochs()) == (
            None,
            [],
            [],
        )
    assert (old / FILE).read_bytes() == before
    assert format_of(old) == FIRST_FORMAT


def test_the_first_writer_migrates_and_numbers_all_there_is(old: Path) -> None:
    before = promises(old)
    desk = Desk(old, Clock())
    desk.clock.set("2026-11-22T12:00:00")
    assert desk.mint(text("new")).identifier == f"pdi://{SERIES}/2026/11/22/1.text.1"
    desk.registry.close()
    assert format_of(old) == NEWEST_FORMAT
    assert promises(old)[: len(before)] != before  # the new name
    assert set(before) < set(promises(old))
    with Registry(old, environment={}) as registry:
        changes = registry.changes(limit=1000)
    past = [one for one in changes if one.epoch == 0]
    assert [one.number for one in past] == list(range(1, len(past) + 1))
    assert [(one.at, one.first, one.revision) for one in past[1:]] == sorted(
        (one.at, one.first, one.revision) for one in past[1:]
    )
    assert sum(one.count for one in past if one.act == "reconstructed") == 320 + 12
    assert sum(one.act == "token" for one in past) == 2
    first, second = (one for one in changes if one.epoch == 1)
    assert (first.act, second.act, second.count) == ("begin", "mint", 1)


def test_a_migrated_file_is_like_a_new_one(old: Path, tmp_path: Path) -> None:
    with closing(SqliteJournal(old)) as journal:
        journal.number_changes(AT)
    create_registry(tmp_path)
    tables = "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
    assert asked(old, tables) == asked(tmp_path, tables)
    for name in ("records", "history", "token_changes", "changes", "words", "epochs"):
        columns = f"SELECT name, type, pk FROM pragma_table_info('{name}')"
        assert asked(old, columns) == asked(tmp_path, columns)


def test_a_migrated_registry_is_changed_verified_and_rebuilt(old: Path) -> None:
    desk = Desk(old, Clock())
    desk.clock.set("2026-11-22T12:00:00")
    desk.bind(f"{DAY}/9", "https://c.example/9", by="press")
    desk.break_("hdl:2000/0007", "https://i.example/7")
    head = desk.registry.head()
    assert head is not None
    assert head.mark == ChangeMark(1, 3)
    desk.registry.close()
    sound(old).close()
    before = promises(old)
    assert [step.problem for step in rebuild_registry(old, SqliteStore(), Segments, now=AT)] == [
        None
    ] * 3
    assert promises(old) == before
    with sound(old) as registry:
        (begun,) = registry.changes("1.3")
        assert (begun.mark, begun.act) == (ChangeMark(2, 1), "begin")
        assert registry.records.list_epochs()[2].previous == head
        assert not [one for one in check_changes(registry.records, against=head) if one.problem]


def test_an_older_registry_is_rebuilt_and_numbered(old: Path) -> None:
    before = promises(old)
    assert [step.problem for step in rebuild_registry(old, SqliteStore(), Segments, now=AT)] == [
        None
    ] * 3
    assert promises(old) == before
    with sound(old) as registry:
        assert [one.reason for one in registry.records.list_epochs()] == [
            "reconstructed",
            "numbered",
        ]


def test_a_registry_whose_file_was_lost_gives_no_number_twice(old: Path) -> None:
    with closing(SqliteJournal(old)) as journal:
        journal.number_changes(AT)
    (old / FILE).unlink()
    assert list(rebuild_registry(old, SqliteStore(), Segments, now=AT))
    with Registry(old, environment={}) as registry:
        (epoch,) = registry.records.list_epochs()
        assert (epoch.epoch, epoch.reason, epoch.previous) == (29_922_480, "rebuild", None)
        assert not [one for one in check_changes(registry.records) if one.problem]


def test_a_backup_of_an_older_registry_grows_into_one_of_this(old: Path, place: Path) -> None:
    target = place / "backup"
    assert list(back_up(old, target, SqliteStore(), Segments))
    assert format_of(target) == FIRST_FORMAT
    with closing(SqliteJournal(old)) as journal:
        journal.number_changes(AT)
    assert list(back_up(old, target, SqliteStore(), Segments))
    assert format_of(target) == NEWEST_FORMAT
    sound(target).close()


@pytest.fixture
def second(place: Path) -> Path:
    """A registry of the second format, whose rows have no checksums."""
    return unpack_registry(2, place)


def test_the_second_format_is_read_without_checksums(second: Path) -> None:
    before = (second / FILE).read_bytes()
    with Registry(second, environment={}) as registry:
        assert (registry.records.count_records(), registry.records.count_revisions()) == (328, 345)
        assert len(registry.records.list_revisions(parse(f"{DAY}/9").key)) == 3
        assert [one.name for one in registry.records.list_tokens()] == ["press", "second"]
        assert len(registry.records.list_segments()) == 3
        assert not [one for one in audit_registry(registry) if one.problem]
    assert (second / FILE).read_bytes() == before


def test_the_first_writer_adds_checksums_and_changes_nothing_else(second: Path) -> None:
    before = promises(second)
    rows = [asked(second, question) for question in _ROWS]
    with Registry(second, environment={}) as registry:
        head = registry.head()
    with closing(SqliteJournal(second)) as journal:
        journal.number_changes(AT)
        journal.number_changes(AT)  # does nothing
    assert format_of(second) == NEWEST_FORMAT
    assert promises(second) == before
    assert [asked(second, question) for question in _ROWS] == rows
    for table in (*SUMMED, "words"):
        assert asked(second, f"SELECT count(*) FROM {table} WHERE sum IS NULL") == [(0,)]
    with sound(second, 19) as registry:
        assert registry.head() == head
        assert not [one for one in audit_registry(registry) if one.problem]


@pytest.fixture
def third(place: Path) -> Path:
    """A registry of the third format, whose rows of changes have no checksums."""
    return unpack_registry(3, place)


def test_changes_of_the_third_format_are_read_and_followed(third: Path) -> None:
    """Rows with a checksum follow rows without one, in the same chain."""
    with Registry(third, environment={}) as registry:
        head = registry.head()
        assert len(registry.changes(limit=1000)) == 58
    assert head is not None
    desk = Desk(third, Clock())
    desk.clock.set("2026-11-23T13:00:00")
    desk.bind("hdl:2000/0009", "https://l.example/9")
    desk.registry.close()
    assert format_of(third) == NEWEST_FORMAT
    with sound(third, 22) as registry:
        assert len(registry.changes(limit=1000)) == 59
        assert not [one for one in check_changes(registry.records, against=head) if one.problem]
        assert not [one for one in audit_registry(registry) if one.problem]


_ROWS = (
    "SELECT key, record, position FROM records ORDER BY key",
    "SELECT key, revision, record, position FROM history ORDER BY key, revision",
    "SELECT position, row FROM changes ORDER BY position",
    "SELECT number, name, at, actor, before, after, position FROM token_changes",
)


def test_the_second_format_is_rebuilt(second: Path) -> None:
    before = promises(second)
    steps = list(rebuild_registry(second, SqliteStore(), Segments, now=AT))
    assert not [step.problem for step in steps if step.problem]
    assert promises(second) == before
    sound(second, 19).close()


def test_adding_checksums_goes_on_where_it_was_interrupted(
    second: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("perdure.storage.sqlite.sums._SOME", 40)
    commits = 0
    while True:
        root = shutil.copytree(second, place / f"after-{commits}")
        try:
            number(root, commits=commits)
        except apsw.ConstraintError:
            with closing(SqliteRecords(root)) as reader:  # it is read meanwhile
                assert reader.count_revisions() == 345
                assert not list(reader.check_integrity())
            number(root, commits=None)
        with closing(SqliteRecords(root)) as reader:
            assert not list(reader.check_integrity())
        if not asked(root, "SELECT 1 FROM records WHERE sum IS NULL") and commits > 20:
            break
        shutil.rmtree(root)
        commits += 1
    with sound(root, 19) as registry:
        assert not [one for one in audit_registry(registry) if one.problem]


def test_a_newer_registry_is_refused_with_a_sentence(old: Path) -> None:
    connection = apsw.Connection(str(old / FILE))
    connection.execute(f"PRAGMA user_version={NEWEST_FORMAT + 1}")
    connection.close()
    with closing(SqliteRecords(old)) as reader, pytest.raises(Unavailable) as refused:
        reader.count_records()
    assert f"its format is {NEWEST_FORMAT + 1}" in str(refused.value)
    assert "use the release that wrote it" in str(refused.value)


def set_numbers(root: Path, *numbers: str) -> None:
    connection = apsw.Connection(str(root / FILE))
    for number in numbers:
        connection.execute(f"PRAGMA {number}={NEWEST_FORMAT + 1}")
    connection.close()


def test_a_registry_of_a_later_release_is_not_rebuilt(desk: Desk) -> None:
    """This release would drop what it does not know."""
    desk.mint(text("kept"))
    desk.registry.close()
    set_numbers(desk.root, "user_version", "application_id")
    before = (desk.root / FILE).read_bytes()
    with pytest.raises(OtherFormat, match=f"its format is {NEWEST_FORMAT + 1}"):
        list(rebuild_registry(desk.root, SqliteStore(), Segments, now=AT))
    assert (desk.root / FILE).read_bytes() == before


def test_a_format_number_that_is_damaged_is_not_that_of_a_later_release(desk: Desk) -> None:
    name = desk.mint(text("kept")).identifier
    desk.registry.close()
    set_numbers(desk.root, "user_version")
    with closing(SqliteRecords(desk.root)) as reader, pytest.raises(FormatNumberDamaged) as refused:
        reader.count_records()
    assert "its format number is damaged" in str(refused.value)
    assert "perdure rebuild" in str(refused.value)
    assert not [
        step.problem
        for step in rebuild_registry(desk.root, SqliteStore(), Segments, now=AT)
        if step.problem
    ]
    desk.reopen()
    assert desk.served(name) == b"kept"


# A step that is interrupted
# --------------------------


@pytest.fixture
def many(old: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An older registry whose numbering takes many transactions."""
    monkeypatch.setattr("perdure.storage.sqlite.reconstruct._SOME", 20)
    monkeypatch.setattr("perdure.storage.sqlite.sums._SOME", 40)
    return old


def number(root: Path, *, commits: int | None) -> None:
    """Numbers the changes of a registry, until so many transactions were committed."""
    journal = SqliteJournal(root)
    left = commits

    def count() -> bool:
        nonlocal left
        if left is not None:
            left -= 1
        return left is not None and left < 0  # True takes the transaction back

    journal.connection.set_commit_hook(count)
    try:
        journal.number_changes(AT)
    finally:
        journal.close()


def test_numbering_goes_on_where_it_was_interrupted(many: Path, place: Path) -> None:
    whole = copy_as_new(many, place / "whole")
    number(whole, commits=None)
    with closing(SqliteRecords(whole)) as reader:
        expected = [said(reader)]
    commits = 0
    while True:
        root = copy_as_new(many, place / f"after-{commits}")
        try:
            number(root, commits=commits)
        except apsw.ConstraintError:
            with closing(SqliteRecords(root)) as reader:
                is_numbered = len(reader.list_epochs()) == 2  # then checksums were interrupted
                assert is_numbered or {one.epoch for one in reader.list_changes(limit=9999)} <= {0}
            number(root, commits=None)
            with closing(SqliteRecords(root)) as reader:
                assert [said(reader)] == expected
                assert not [one for one in check_changes(reader) if one.problem]
                assert not list(reader.check_integrity())
        else:
            break
        shutil.rmtree(root)
        commits += 1
    assert commits > 20


def said(reader: SqliteRecords) -> list[tuple[object, ...]]:
    """All changes but for their salts, and what follows from those."""
    found: list[tuple[object, ...]] = []
    for one in reader.list_changes(limit=10_000):
        assert one.salt is not None
        assert digest_lines(one.salt, one.actor, reader.find_lines(one)) == one.digest
        scope = (one.first, one.last, one.count, one.revision)
        found.append((str(one.mark), one.at, one.act, one.actor, *scope))
    return found


@pytest.fixture
def fifth(place: Path) -> Path:
    """A registry of the fifth format, whose words of changes have no checksums."""
    return unpack_registry(5, place)


def test_words_of_the_fifth_format_get_their_checksums(fifth: Path) -> None:
    with Registry(fifth, environment={}) as registry:
        head, count = registry.head(), len(registry.changes(limit=1000))
        assert not [one for one in audit_registry(registry) if one.problem]
    before = asked(fifth, "SELECT number, text FROM words ORDER BY number")
    desk = Desk(fifth, Clock())
    desk.clock.set("2026-11-28T14:00:00")
    desk.bind("hdl:2000/0010", "https://m.example/10", by="a new name")
    desk.registry.close()
    assert format_of(fifth) == NEWEST_FORMAT
    after = asked(fifth, "SELECT number, text FROM words ORDER BY number")
    assert after == [*before, (len(before), "a new name")]
    assert asked(fifth, "SELECT count(*) FROM words WHERE sum IS NULL") == [(0,)]
    with Registry(fifth, environment={}) as registry:
        assert len(registry.changes(limit=1000)) == count + 1
        assert not [one for one in check_changes(registry.records, against=head) if one.problem]
        assert not [one for one in audit_registry(registry) if one.problem]


def test_a_damaged_word_never_becomes_part_of_the_chain(fifth: Path) -> None:
    """A change is not read with another act than was written, and nothing follows on it."""
    desk = Desk(fifth, Clock())
    desk.clock.set("2026-11-28T14:00:00")
    desk.alias("hdl:2000/0007", "doi:10.1000/182")
    desk.registry.close()
    connection = apsw.Connection(str(fifth / FILE))
    connection.execute("UPDATE words SET text='aliaz' WHERE text='alias'")
    connection.close()
    with Registry(fifth, environment={}) as registry:
        with pytest.raises(Corrupt):
            registry.changes(limit=1000)
        assert [one.problem for one in audit_registry(registry) if one.problem]
    with pytest.raises(Corrupt), closing(SqliteJournal(fifth)) as journal:
        journal.number_changes(AT)
