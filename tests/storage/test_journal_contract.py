"""What every journal promises (`perdure.storage.ports`), whatever it is kept with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.storage.stores import STORES, PostgresqlStore

from perdure.errors import Conflict, Corrupt
from perdure.model import stored
from perdure.model.changes import (
    BEGIN,
    NO_CHAIN,
    RULE,
    TOKEN,
    WITHHELD,
    ChainHead,
    ChangeMark,
    Deed,
    Numbering,
    digest_lines,
    find_leaf,
    link_change,
)
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import Location, Record, Representation, Token
from perdure.storage.ports import Journal, Records, ReplayedChange, Store
from perdure.storage.reference_hashes import reference_hash
from perdure.upkeep.changes.walking import check_changes

AT = "2026-11-21T12:00:00Z"
MINT, BIND = Deed("mint", AT, "press"), Deed("bind", AT, "local")
TOKEN_OF_PRESS = Token(name="press", digest="d1", operations=("mint",), authorities=("*",))
DAY = "oma.eop.gov.us/20261121"


@pytest.fixture(params=STORES, ids=lambda make: make.__name__)
def store(request: pytest.FixtureRequest) -> Store:
    made: Store = request.param()
    return made


@pytest.fixture
def journal(store: Store, place: Path) -> Iterator[Journal]:
    store.create_registry(place)
    with closing(store.open_journal(place)) as opened:
        opened.number_changes(AT)
        yield opened


@pytest.fixture
def reader(store: Store, place: Path, journal: Journal) -> Iterator[Records]:
    del journal  # the registry is there
    with closing(store.open_records(place)) as opened:
        yield opened


def line(uri: str = "https://a.example/", revision: int = 1) -> str:
    record = Record(at=AT, revision=revision, locations=(Location(uri=uri),))
    return stored.encode_stored(record).decode()


def add(journal: Journal, *keys: str) -> None:
    journal.begin_batch()
    journal.add_records([(key, line()) for key in keys], MINT)
    journal.commit_batch()


def refer(journal: Journal, reference: str, key: str) -> None:
    journal.begin_batch()
    journal.add_references([(reference_hash(reference), key)])
    journal.commit_batch()


def test_a_new_registry_begins_its_first_epoch(reader: Records) -> None:
    (change,) = reader.list_changes(limit=10)
    (epoch,) = reader.list_epochs()
    assert (change.mark, change.act, change.count) == (ChangeMark(1, 1), BEGIN, 0)
    assert (epoch.epoch, epoch.reason, epoch.previous) == (1, "created", None)
    assert link_change(NO_CHAIN, change) == change.chain
    assert reader.find_head() == change.head


def test_the_place_before_all_changes_is_always_known(store: Store, place: Path) -> None:
    store.create_registry(place)
    with closing(store.open_records(place)) as empty:
        for mark in (None, ChangeMark(0, 0), ChangeMark(1, 0)):
            assert empty.list_changes(mark, limit=10) == []
        assert (empty.find_head(), empty.list_epochs()) == (None, [])
    with closing(store.open_journal(place)) as opened:
        opened.number_changes(AT)
        for mark in (None, ChangeMark(0, 0), ChangeMark(1, 0)):
            assert [one.act for one in opened.list_changes(mark, limit=10)] == [BEGIN]


def test_changes_are_numbered_once(journal: Journal) -> None:
    journal.number_changes("2026-11-22T00:00:00Z")
    assert [one.mark for one in journal.list_changes(limit=10)] == [ChangeMark(1, 1)]


def test_what_a_batch_brings_is_seen_in_it_and_by_others_when_it_is_durable(
    journal: Journal, reader: Records
) -> None:
    journal.begin_batch()
    journal.add_records([("hdl:1/1", line())], MINT)
    assert journal.find_stored("hdl:1/1") == line()
    assert reader.find_stored("hdl:1/1") is None
    seen: list[str | None] = []
    journal.commit_batch(after=lambda: seen.append(reader.find_stored("hdl:1/1")))
    assert seen == [None]
    assert reader.find_stored("hdl:1/1") == line()


def test_each_record_alone_has_a_change_of_its_own(journal: Journal, reader: Records) -> None:
    add(journal, "hdl:1/2", "hdl:1/1")
    found = reader.list_changes(ChangeMark(1, 1), limit=10)
    assert [(one.first, one.last, one.count, one.revision) for one in found] == [
        ("hdl:1/2", "hdl:1/2", 1, 1),
        ("hdl:1/1", "hdl:1/1", 1, 1),
    ]
    assert {(one.act, one.actor, one.at) for one in found} == {("mint", "press", AT)}


def test_the_change_that_wrote_a_revision_is_found(journal: Journal, reader: Records) -> None:
    """The number of a change orders a revision among those of all records."""
    journal.begin_batch()
    journal.add_run([(f"hdl:1/{number}", line()) for number in (1, 3, 5)], MINT)
    journal.commit_batch()
    add(journal, "hdl:1/2")
    journal.begin_batch()
    journal.revise_record("hdl:1/3", line("https://b.example/", 2), 2, BIND)
    journal.commit_batch()
    _, run, two, revised = reader.list_changes(limit=10)
    sought = (
        ("hdl:1/1", 1, run),
        ("hdl:1/3", 1, run),
        ("hdl:1/3", 2, revised),
        ("hdl:1/2", 1, two),
        ("hdl:1/2", 2, None),
        ("hdl:1/4", 1, None),
    )
    for key, revision, change in sought:
        assert reader.find_change(key, revision) == change
    moments = reader.find_moments([(key, revision) for key, revision, _ in sought])
    assert moments == [change and (change.mark, change.at) for _, _, change in sought]
    assert reader.find_moments([]) == []


def test_moments_are_those_of_the_changes(journal: Journal, reader: Records) -> None:
    """Of many changes, in several epochs, with equal and with different times."""
    times = [f"2026-11-{21 + number // 30:02}T12:00:{number // 7:02}Z" for number in range(100)]
    for number, at in enumerate(times):
        if number in (40, 41):
            journal.begin_epoch("restored", at, "press")
        journal.begin_batch()
        journal.add_records([(f"hdl:1/{number}", line())], MINT._replace(at=at))
        journal.commit_batch()
    revisions = [(f"hdl:1/{number}", 1) for number in (99, 0, 41, *range(30, 70, 3), 99)]
    changes = [reader.find_change(*one) for one in revisions]
    expected = [change and (change.mark, change.at) for change in changes]
    assert reader.find_moments(revisions) == expected
    assert [one and one.at for one in changes[:3]] == [times[99], times[0], times[41]]


def test_a_run_is_one_change(journal: Journal, reader: Records) -> None:
    rows = [(f"hdl:1/{number:03}", line(f"https://a.example/{number}")) for number in range(100)]
    journal.begin_batch()
    journal.add_run(rows, MINT)
    journal.commit_batch()
    (change,) = reader.list_changes(ChangeMark(1, 1), limit=10)
    assert (change.first, change.last, change.count) == ("hdl:1/000", "hdl:1/099", 100)
    assert reader.find_lines(change) == rows
    assert change.salt is not None
    assert digest_lines(change.salt, "press", rows) == change.digest


def test_a_run_has_the_same_digest_if_its_caller_attests_it(
    journal: Journal, reader: Records
) -> None:
    one = Representation(
        format="text", media_type="text/plain", length=5, sha512="ab" * 64, segment=3, offset=1042
    )
    write = stored.encode_alike(AT, "press", one)
    rows = [(f"hdl:1/{number}", write(5, "ab" * 64, 3, 1042 + number)) for number in range(3)]
    attested = [(key, write(5, "ab" * 64, 0, 0)) for key, _ in rows]
    journal.begin_batch()
    journal.add_run(rows, MINT, attested)
    journal.commit_batch()
    (change,) = reader.list_changes(ChangeMark(1, 1), limit=10)
    assert reader.find_lines(change) == rows
    assert change.salt is not None
    assert digest_lines(change.salt, "press", rows) == change.digest


def test_lines_of_a_run_are_its_own_whatever_came_between_and_after(
    journal: Journal, reader: Records
) -> None:
    rows = [(f"hdl:1/{number}", line()) for number in (1, 3, 5)]
    journal.begin_batch()
    journal.add_alike([key for key, _ in rows], line(), MINT)
    journal.commit_batch()
    add(journal, "hdl:1/2", "hdl:1/4")
    journal.begin_batch()
    journal.revise_record("hdl:1/3", line("https://b.example/", 2), 2, BIND)
    journal.commit_batch()
    _, run, two, four, revised = reader.list_changes(limit=10)
    assert reader.find_lines(run) == rows
    assert reader.find_lines(two) == [("hdl:1/2", line())]
    assert reader.find_lines(four) == [("hdl:1/4", line())]
    assert reader.find_lines(revised) == [("hdl:1/3", line("https://b.example/", 2))]
    assert (revised.act, revised.actor, revised.revision) == ("bind", "local", 2)


def test_numbers_are_gapless_and_the_chain_holds(journal: Journal, reader: Records) -> None:
    for number in range(70):
        add(journal, f"hdl:1/{number}")
    found = reader.list_changes(limit=1000)
    assert [one.mark for one in found] == [ChangeMark(1, number) for number in range(1, 72)]
    chain = NO_CHAIN
    for change in found:
        chain = link_change(chain, change)
        assert change.chain == chain
    for since in (0, 1, 31, 32, 33, 70):
        assert reader.list_changes(ChangeMark(1, since), limit=3) == found[since : since + 3]
    assert reader.list_changes(ChangeMark(1, 71), limit=3) == []


def test_a_batch_that_is_taken_back_gives_no_number(journal: Journal, reader: Records) -> None:
    add(journal, "hdl:1/1")
    journal.begin_batch()
    journal.add_records([("hdl:1/2", line())], MINT)
    journal.revise_record("hdl:1/1", line("https://b.example/", 2), 2, BIND)
    journal.roll_back()
    assert reader.find_stored("hdl:1/2") is None
    assert reader.find_stored("hdl:1/1") == line()
    add(journal, "hdl:1/3")
    found = reader.list_changes(limit=10)
    assert [(one.mark, one.first) for one in found[1:]] == [
        (ChangeMark(1, 2), "hdl:1/1"),
        (ChangeMark(1, 3), "hdl:1/3"),
    ]
    assert link_change(found[1].chain, found[2]) == found[2].chain


def test_a_rehearsal_reads_as_a_batch_and_writes_nothing(journal: Journal, reader: Records) -> None:
    add(journal, "hdl:1/1")
    head = reader.find_head()
    journal.begin_rehearsal()
    journal.lock_days(["a/20261121"])
    journal.prefetch_records(["hdl:1/1"])
    assert journal.find_stored("hdl:1/1") == line()
    assert journal.find_last_serial("pdi:a/20261121") == 0
    assert journal.find_referring("alias:hdl:1/3") == []
    journal.add_records([("hdl:1/2", line())], MINT)
    journal.revise_record("hdl:1/1", line("https://b.example/", 2), 2, Deed("bind", AT, "local"))
    journal.save_answer("a", "once", "request", "receipt", AT)
    journal.roll_back()
    assert reader.find_stored("hdl:1/1") == line()
    assert reader.find_stored("hdl:1/2") is None
    assert journal.find_answer("a", "once") is None
    assert reader.find_head() == head
    add(journal, "hdl:1/2")
    assert reader.find_stored("hdl:1/2") == line()


def test_numbers_go_on_in_the_next_journal(store: Store, place: Path, journal: Journal) -> None:
    add(journal, *(f"hdl:1/{number}" for number in range(40)))
    head = journal.find_head()
    with closing(store.open_journal(place)) as following:
        following.number_changes(AT)
        assert following.find_head() == head
        add(following, "hdl:2/1")
        found = following.list_changes(ChangeMark(1, 41), limit=10)
        assert [one.mark for one in found] == [ChangeMark(1, 42)]
        assert head is not None
        assert link_change(bytes.fromhex(head.chain), found[0]) == found[0].chain


def test_a_new_epoch_names_the_last_change_before_it(journal: Journal, reader: Records) -> None:
    add(journal, "hdl:1/1")
    head = reader.find_head()
    assert head is not None
    journal.begin_batch()
    journal.begin_epoch("rebuild", AT, "local")
    journal.commit_batch()
    add(journal, "hdl:1/2")
    assert reader.list_epochs()[1].previous == head
    begun, added = reader.list_changes(ChangeMark(1, 2), limit=10)
    assert (begun.mark, begun.act, added.mark) == (ChangeMark(2, 1), BEGIN, ChangeMark(2, 2))
    assert link_change(bytes.fromhex(head.chain), begun) == begun.chain
    assert reader.list_changes(ChangeMark(2, 0), limit=10) == [begun, added]
    assert reader.find_lines(begun) == [("", reader.list_epochs()[1].line)]


@pytest.mark.parametrize("mark", [ChangeMark(1, 3), ChangeMark(2, 1), ChangeMark(0, 1)])
def test_changes_that_never_were_are_told(journal: Journal, mark: ChangeMark) -> None:
    add(journal, "hdl:1/1")
    with pytest.raises(Conflict, match=r"the last change here is 1\.2"):
        journal.list_changes(mark, limit=1)


def test_a_name_is_added_once(journal: Journal) -> None:
    add(journal, "hdl:1/1")
    journal.begin_batch()
    with pytest.raises(Exception, match=r"records\.key|hdl:1/1"):
        journal.add_records([("hdl:1/1", line())], MINT)
    journal.roll_back()


def test_a_change_of_a_token_is_one_of_the_registry(journal: Journal, reader: Records) -> None:
    deed = Deed(TOKEN, AT, "local")
    journal.begin_batch()
    journal.save_token(TOKEN_OF_PRESS, None, deed)
    journal.commit_batch()
    journal.begin_batch()
    journal.save_token(TOKEN_OF_PRESS, TOKEN_OF_PRESS, deed)
    journal.commit_batch()
    first, second = reader.list_changes(ChangeMark(1, 1), limit=10)
    assert [(one.act, one.first, one.revision) for one in (first, second)] == [
        (TOKEN, "token:press", 1),
        (TOKEN, "token:press", 2),
    ]
    assert not first.is_public
    assert first.salt is not None
    assert digest_lines(first.salt, "local", reader.find_lines(first)) == first.digest
    assert "d1" not in reader.find_lines(first)[0][1]
    assert len(reader.list_token_changes("press")) == 2
    assert reader.find_token("d1") == reader.find_token_named("press") == TOKEN_OF_PRESS


def test_a_reading_rule_is_a_change_of_the_registry(journal: Journal, reader: Records) -> None:
    assert reader.find_last_rule() == 0
    assert reader.find_rules("") == reader.list_rules(limit=9) == []
    deed = Deed(RULE, AT, "local")
    closed = ReadingRule(about="hdl:1/1", access=Access.CLOSED, until="2027-01-01", at=AT)
    scope = ReadingRule(about="hdl:1/*", access=Access.CLOSED, networks=("10.0.0.0/8",), at=AT)
    lifted = ReadingRule(about="hdl:1/1", access=Access.OPEN, lifted=True, at=AT)
    journal.begin_batch()
    numbers = [
        journal.save_rule(key, rule, deed)
        for key, rule in (("hdl:1/1", closed), ("", scope), ("hdl:1/1", lifted))
    ]
    assert journal.find_last_rule() == 3
    assert reader.find_last_rule() == 0
    journal.commit_batch()
    assert numbers == [1, 2, 3]
    first, second, third = (
        replace(rule, number=number) for number, rule in enumerate((closed, scope, lifted), 1)
    )
    assert reader.find_last_rule() == 3
    assert reader.find_rules("hdl:1/1") == [first, third]
    assert reader.find_rules("hdl:1/1", 1) == [third]
    assert reader.find_rules("") == [second]
    assert reader.find_rules("hdl:1/2") == []
    assert reader.find_rules_below("hdl:1/") == reader.find_rules_below("hdl:") == [first, third]
    assert reader.find_rules_below("hdl:1/", 1) == [third]
    assert reader.find_rules_below("hdl:2/") == reader.find_rules_below("hdl:1/1/") == []
    assert reader.list_rules(1, limit=1) == [second]
    change = reader.list_changes(ChangeMark(1, 1), limit=10)[0]
    assert (change.act, change.first, change.revision) == (RULE, "rule:1", 1)
    assert not change.is_public
    assert change.salt is not None
    assert digest_lines(change.salt, "local", reader.find_lines(change)) == change.digest


def test_references_are_found(journal: Journal, reader: Records) -> None:
    journal.begin_batch()
    journal.add_references(
        [(reference_hash("alias:a"), "hdl:1/2"), (reference_hash("alias:a"), "hdl:1/1")]
    )
    journal.stage_references([(reference_hash("alias:b"), "hdl:1/3")])
    journal.commit_batch()
    assert reader.find_referring("alias:a") == ["hdl:1/1", "hdl:1/2"]
    journal.begin_batch()
    journal.merge_staged()
    journal.merge_staged()
    journal.commit_batch()
    assert reader.find_referring("alias:b") == ["hdl:1/3"]
    both = ["hdl:1/1", "hdl:1/2", "hdl:1/3"]
    assert reader.find_any_referring(["alias:b", "alias:c", "alias:a", "alias:a"]) == both
    assert reader.find_any_referring([]) == []


def test_records_are_found_together(journal: Journal, reader: Records) -> None:
    add(journal, "hdl:1/1", "hdl:1/ü", f"{DAY}/a1")
    found = reader.find_records(["hdl:1/ü", "hdl:1/2", f"{DAY}/a1", "hdl:1/ü", "hdl:1/\0"])
    assert found == {key: reader.find_record(key) for key in ("hdl:1/ü", f"{DAY}/a1")}
    assert reader.find_records([]) == {}


def test_the_last_serial_of_a_day(journal: Journal) -> None:
    assert journal.find_last_serial(DAY) == 0
    add(
        journal,
        f"{DAY}/a1",
        f"{DAY}/a9",
        f"{DAY}/b10",
        f"{DAY}/~memo",
        "oma.eop.gov.us/20261122/a1",
    )
    assert journal.find_last_serial(DAY) == 10
    add(journal, f"{DAY}/s1000000000000000000")
    assert journal.find_last_serial(DAY) == 10


def test_answers_are_remembered_and_forgotten(journal: Journal) -> None:
    journal.begin_batch()
    journal.save_answer("press", "k1", "request", "receipt", AT)
    journal.commit_batch()
    assert journal.find_answer("press", "k1") == ("request", "receipt")
    assert journal.find_answer("desk", "k1") is None
    journal.begin_batch()
    journal.forget_answers("2026-11-21T12:00:01Z")
    journal.commit_batch()
    assert journal.find_answer("press", "k1") is None


def test_segments_grow_and_are_remembered(journal: Journal, reader: Records) -> None:
    assert journal.find_growing_segment() is None
    journal.begin_batch()
    journal.save_segment(1, 100, AT, grows=True)
    journal.save_segment(2, 5, AT, grows=False)
    journal.save_segment(1, 200, "later", grows=True)
    journal.commit_batch()
    assert journal.find_growing_segment() == (1, 200, AT)
    assert reader.list_segments() == [(1, 200, AT), (2, 5, AT)]


def test_look_ups_that_are_held_see_one_state(journal: Journal, reader: Records) -> None:
    lookup = reader.open_lookup()
    lookup.hold_state()
    assert lookup.find_stored("hdl:1/1") is None
    add(journal, "hdl:1/1")
    refer(journal, "alias:a", "hdl:1/1")
    assert lookup.find_stored("hdl:1/1") is None
    assert lookup.find_last_stored("", "~") is None
    assert lookup.find_referring("alias:a", limit=2) == []
    lookup.release_state()
    assert lookup.find_stored("hdl:1/1") == line()
    assert lookup.find_last_stored("", "~") == ("hdl:1/1", line())
    assert lookup.find_referring("alias:a", limit=2) == ["hdl:1/1"]
    lookup.hold_state()
    assert lookup.find_referring("alias:b", limit=2) == []
    refer(journal, "alias:b", "hdl:1/1")
    assert lookup.find_referring("alias:b", limit=2) == []
    lookup.release_state()
    lookup.hold_state()
    assert lookup.find_referring("alias:b", limit=2) == ["hdl:1/1"]


def test_a_snapshot_is_one_state(journal: Journal, reader: Records) -> None:
    """ "Keep one state of the registry for everything that this thread reads in the context." """
    add(journal, "hdl:1/1")
    before = reader.find_head()
    assert not reader.holds_snapshot
    with reader.hold_snapshot():
        assert reader.holds_snapshot
        assert reader.count_records() == 1
        add(journal, "hdl:1/2")
        assert reader.find_record("hdl:1/2") is None
        assert reader.find_first_key("hdl:1/2", "hdl:2") is None
        assert (reader.count_records(), reader.find_head()) == (1, before)
        with reader.hold_snapshot():
            assert reader.count_records() == 1
        assert reader.holds_snapshot
        assert reader.count_records() == 1, "the outer one keeps its state"
    assert not reader.holds_snapshot
    assert reader.find_stored("hdl:1/2") == line()
    assert reader.find_head() != before


def test_a_batch_may_announce_what_it_reads(journal: Journal) -> None:
    add(journal, "hdl:1/1")
    journal.begin_batch()
    journal.prefetch_records(("hdl:1/1", "hdl:1/unknown"))
    assert journal.find_stored("hdl:1/1") == line()
    assert journal.find_stored("hdl:1/unknown") is None
    journal.commit_batch()


def test_what_a_batch_announced_is_read_as_the_batch_has_left_it(journal: Journal) -> None:
    keys = [f"hdl:1/{number}" for number in range(40)]
    add(journal, *keys)
    journal.begin_batch()
    journal.prefetch_records((*keys, "hdl:2/alone", "hdl:3/1", "hdl:3/2", "hdl:4/1", "hdl:4/2"))
    journal.revise_record("hdl:1/7", line("https://b.example/", 2), 2, BIND)
    journal.add_records([("hdl:2/alone", line("https://c.example/"))], MINT)
    journal.add_run([("hdl:3/1", line()), ("hdl:3/2", line("https://d.example/"))], MINT)
    journal.add_alike(["hdl:4/1", "hdl:4/2"], line("https://e.example/"), MINT)
    assert journal.find_stored("hdl:1/7") == line("https://b.example/", 2)
    assert journal.find_stored("hdl:1/39") == line()
    assert journal.find_stored("hdl:2/alone") == line("https://c.example/")
    assert journal.find_stored("hdl:3/2") == line("https://d.example/")
    assert journal.find_stored("hdl:4/2") == line("https://e.example/")
    journal.roll_back()
    assert journal.find_stored("hdl:1/7") == line()
    assert journal.find_stored("hdl:4/2") is None


def test_revisions_are_counted(journal: Journal, reader: Records) -> None:
    add(journal, "hdl:1/1", "hdl:1/2")
    journal.begin_batch()
    journal.revise_record("hdl:1/1", line(revision=2), 2, BIND)
    journal.commit_batch()
    assert (reader.count_records(), reader.count_revisions()) == (2, 3)
    assert [one.revision for one in reader.list_revisions("hdl:1/1")] == [1, 2]


# The store
# ---------


def need_own_copies(store: Store) -> None:
    """Skip a test if the store leaves copies and repairs to other programs."""
    if isinstance(store, PostgresqlStore):
        pytest.skip("PostgreSQL's own tools copy and restore a database")


def test_a_copy_is_a_registry_of_its_own(store: Store, place: Path, journal: Journal) -> None:
    need_own_copies(store)
    add(journal, "hdl:1/1")
    work, target = place / "work", place / "target"
    for directory in (work, target):
        directory.mkdir()
    with closing(store.begin_copy(place, work, target)) as copy:
        assert list(copy.copy())[-1] == 1.0
        add(journal, "hdl:1/2")
        assert store.is_past(target, place)  # it has no registry
        copy.install()
    file = store.find_file(target)
    assert file is None or file.is_relative_to(target)
    assert store.is_past(target, place)
    assert not store.is_past(place, target)
    with closing(store.open_records(target)) as copied:
        head = copied.find_head()
        assert isinstance(head, ChainHead)
        assert (head.mark, copied.find_stored("hdl:1/2")) == (ChangeMark(1, 2), None)


def test_a_renewed_registry_begins_an_epoch(store: Store, place: Path, journal: Journal) -> None:
    need_own_copies(store)
    add(journal, "hdl:1/1", "hdl:1/2")
    journal.close()
    work = place / "work"
    work.mkdir()
    with store.open_salvage(place) as old, closing(store.open_renewal(work)) as renewal:
        renewal.begin_batch()
        renewal.take_over(old)
        first, second = chain.from_iterable(old.read_pages())
        assert (first.key, second.key) == ("hdl:1/1", "hdl:1/2")
        renewal.keep_lines([first])
        changed, past = stored.decode_stored(line(revision=2)), stored.decode_stored(second.text)
        renewal.keep_record("hdl:1/2", changed, second.position, past)
        renewal.put_record("hdl:1/3", stored.decode_stored(line()))
        renewal.commit_batch()
        renewal.note_renewed(AT, "rebuild")
    store.install_registry(work, place)
    with closing(store.open_records(place)) as renewed:
        assert renewed.find_stored("hdl:1/1") == first.text
        found = renewed.list_changes(ChangeMark(1, 1), limit=10)
        assert [(str(one.mark), one.act, one.first, one.revision) for one in found] == [
            ("1.2", "mint", "hdl:1/1", 1),
            ("1.3", "mint", "hdl:1/2", 1),
            ("2.1", "begin", "", 0),
            ("2.2", "rebuild", "hdl:1/2", 2),
            ("2.3", "rebuild", "hdl:1/3", 1),
        ]
        assert [one.revision for one in renewed.list_revisions("hdl:1/2")] == [1, 2]
        for change in found:
            assert change.salt is not None
            lines = renewed.find_lines(change)
            assert digest_lines(change.salt, change.actor, lines) == change.digest


def test_an_unfinished_copy_is_removed(store: Store, place: Path, journal: Journal) -> None:
    need_own_copies(store)
    add(journal, "hdl:1/1")
    work = place / "work"
    work.mkdir()
    with closing(store.begin_copy(place, work, place / "target")) as copy:
        list(copy.copy())
    assert not any(work.iterdir())
    assert store.is_past(place / "target", place)  # it has no registry


def test_a_later_copy_replaces_an_earlier_one(store: Store, place: Path, journal: Journal) -> None:
    need_own_copies(store)
    work, target = place / "work", place / "target"
    for directory in (work, target):
        directory.mkdir()
    for number in range(3):
        add(journal, *(f"hdl:1/{number}-{other}" for other in range(9)))
        with closing(store.begin_copy(place, work, target)) as copy:
            add(journal, f"hdl:2/{number}")  # after the moment of the copy
            list(copy.copy())
            copy.install()
        with closing(store.open_records(target)) as copied:
            assert copied.count_records() == 10 * (number + 1) - 1
            assert copied.find_stored(f"hdl:2/{number}") is None
            assert copied.find_stored(f"hdl:1/{number}-8") == line()


def test_content_of_a_salvaged_record(store: Store, place: Path, journal: Journal) -> None:
    need_own_copies(store)
    add(journal, "hdl:1/1")
    journal.close()
    with store.open_salvage(place) as old:
        (found,) = chain.from_iterable(old.read_pages())
        content = old.parse_content(found)
        assert isinstance(content, stored.ShortLine)
        assert (content.at, content.reference) == (AT, "location:https://a.example/")


def test_numbers_that_were_lost(store: Store, place: Path, journal: Journal) -> None:
    """ "By series, the highest number that a lost record may have had from a day on." """
    need_own_copies(store)
    add(journal, f"{DAY}/a7", f"{DAY}/b12", "oma.eop.gov.us/20261120/b50", "hdl:1/1")
    journal.close()
    with store.open_salvage(place) as old:
        assert len(list(chain.from_iterable(old.read_pages()))) == 4
        assert old.find_lost_numbers("2026/11/21") == {}
        assert (old.problems, old.last_day) == ([], "")
        old.note_lost(f"{DAY}/a7", "it is unreadable")
        assert old.problems == ["it is unreadable"]
        assert old.find_lost_numbers("2026/11/21") == {"oma.eop.gov.us": 12}
        assert old.find_lost_numbers("2026/11/22") == {}
        assert old.last_day == "2026/11/21"


# Erasing
# -------


def test_the_past_is_redacted_and_the_chain_goes_on(journal: Journal, reader: Records) -> None:
    """Architecture: after the salt is destroyed, "the lines can no longer be guessed, but the chain
    stays valid"."""
    key, other = f"{DAY}/a1", f"{DAY}/a2"
    add(journal, key, other)
    before = reader.list_changes(limit=10)
    journal.begin_batch()
    journal.revise_record(key, line("https://b.example/", 2), 2, BIND)
    journal.redact_past(key, lambda text: text.replace("a.example", "x.example"))
    journal.commit_batch()
    journal.tidy_up()
    (past, present) = reader.list_revisions(key)
    assert [one.locations[0].uri for one in (past, present)] == [
        "https://x.example/",
        "https://b.example/",
    ]
    after = reader.list_changes(limit=10)
    assert [one.chain for one in after[: len(before)]] == [one.chain for one in before]
    assert [one.salt is None for one in after] == [False, True, False, False]
    assert [one.problem for one in check_changes(reader) if one.problem] == []
    journal.begin_batch()  # a redaction that changes nothing destroys no salt
    journal.redact_past(other, str)
    journal.commit_batch()
    assert reader.list_changes(limit=10) == after


def test_a_redaction_that_is_undone_leaves_everything(journal: Journal, reader: Records) -> None:
    key = f"{DAY}/a1"
    add(journal, key)
    journal.begin_batch()
    journal.revise_record(key, line("https://b.example/", 2), 2, BIND)
    journal.redact_past(key, lambda text: text.replace("a.example", "x.example"))
    journal.drop_references([(reference_hash("location:https://a.example/"), key)])
    journal.roll_back()
    assert [one.locations[0].uri for one in reader.list_revisions(key)] == ["https://a.example/"]
    assert all(one.salt for one in reader.list_changes(limit=10))


def test_references_are_dropped(journal: Journal, reader: Records) -> None:
    keys = [f"{DAY}/a1", f"{DAY}/a2"]
    add(journal, *keys)
    hash = reference_hash("sha512:00")
    journal.begin_batch()
    journal.add_references([(hash, key) for key in keys])
    journal.commit_batch()
    assert reader.find_referring("sha512:00") == keys
    journal.begin_batch()
    journal.drop_references([(hash, keys[0])])
    journal.commit_batch()
    assert reader.find_referring("sha512:00") == keys[1:]
    journal.begin_batch()
    journal.add_references([(hash, keys[0])])
    journal.commit_batch()
    assert reader.find_referring("sha512:00") == keys


def test_bytes_get_another_place_without_a_change(journal: Journal, reader: Records) -> None:
    """docs/reference/changes.md: "a rebuild may change them", and so may a mirror."""
    document = "=2026-11-21T12:00:00Z press text - - 5 9b71d {} {} text/plain"
    journal.begin_batch()
    journal.add_records([(f"{DAY}/a1", document.format(0, 0))], MINT)
    journal.commit_batch()
    before = reader.list_changes(limit=10)
    journal.begin_batch()
    journal.move_bytes(f"{DAY}/a1", document.format(3, 1042))
    journal.commit_batch()
    assert reader.find_stored(f"{DAY}/a1") == document.format(3, 1042)
    assert reader.list_changes(limit=10) == before
    assert [one.problem for one in check_changes(reader) if one.problem] == []


# Changes of another registry
# ---------------------------


def fill_origin(journal: Journal) -> None:
    """One change of each kind: single names, a run, a revision, a token, a rule, a new epoch."""
    add(journal, "hdl:1/2", "hdl:1/1")
    journal.begin_batch()
    journal.add_run([("hdl:2/1", line()), ("hdl:2/2", line("https://b.example/"))], MINT)
    journal.commit_batch()
    journal.begin_batch()
    journal.revise_record("hdl:1/1", line("https://c.example/", revision=2), 2, BIND)
    journal.save_token(TOKEN_OF_PRESS, None, Deed(TOKEN, AT, "local"))
    journal.save_rule("hdl:1/1", ReadingRule(about="hdl:1/1", access=Access.CLOSED), RULE_DEED)
    journal.begin_epoch("promotion", AT, "local")
    journal.commit_batch()
    add(journal, *(f"hdl:3/{number:02}" for number in range(40)))


RULE_DEED = Deed(RULE, AT, "local")


def replay_all(origin: Records, mirror: Journal, hidden: frozenset[str] = frozenset()) -> None:
    """Replay all changes, with only the leaf of those whose act is among the hidden ones."""
    epochs = {one.epoch: one for one in origin.list_epochs()}
    replayed = []
    for change in origin.list_changes(limit=1000):
        if change.act in hidden:
            whole = change
            change = Numbering().number_leaf(find_leaf(change))
            change = replace(change, epoch=whole.epoch, number=whole.number, chain=whole.chain)
        epoch = epochs[change.epoch] if change.act == BEGIN else None
        lines = [] if epoch or change.leaf else origin.find_lines(change)
        replayed.append(ReplayedChange(change, lines, epoch, "hdl:1/1"))
    mirror.begin_batch()
    mirror.replay_changes(replayed)
    mirror.commit_batch()


@pytest.fixture
def mirror(store: Store, place: Path) -> Iterator[Journal]:
    there = place / "mirror"
    there.mkdir()
    store.create_registry(there)
    with closing(store.open_journal(there)) as opened:
        yield opened


def test_replayed_changes_are_those_of_the_other_registry(
    journal: Journal, mirror: Journal
) -> None:
    fill_origin(journal)
    replay_all(journal, mirror, frozenset((TOKEN,)))
    assert mirror.find_head() == journal.find_head()
    assert mirror.list_epochs() == journal.list_epochs()
    for ours, theirs in zip(
        mirror.list_changes(limit=1000), journal.list_changes(limit=1000), strict=True
    ):
        if theirs.act == TOKEN:
            assert (ours.act, find_leaf(ours), ours.chain) == (
                WITHHELD,
                find_leaf(theirs),
                theirs.chain,
            )
            assert mirror.find_lines(ours) == []
        else:
            assert ours == theirs
            assert mirror.find_lines(ours) == journal.find_lines(theirs)
    assert mirror.list_revisions("hdl:1/1") == journal.list_revisions("hdl:1/1")
    assert mirror.find_rules("hdl:1/1") == journal.find_rules("hdl:1/1")
    assert [one.problem for one in check_changes(mirror) if one.problem] == []


def test_a_journal_goes_on_after_replayed_changes(journal: Journal, mirror: Journal) -> None:
    fill_origin(journal)
    replay_all(journal, mirror, frozenset((TOKEN, RULE)))
    mirror.begin_batch()
    mirror.begin_epoch("promotion", AT, "local")
    mirror.commit_batch()
    add(mirror, "hdl:4/1")
    assert [one.problem for one in check_changes(mirror) if one.problem] == []
    assert mirror.list_epochs()[-1].previous == journal.find_head()


def test_a_change_that_does_not_continue_the_chain_is_not_replayed(
    journal: Journal, mirror: Journal
) -> None:
    fill_origin(journal)
    replay_all(journal, mirror)
    before = mirror.find_head()
    (first,) = journal.list_changes(ChangeMark(1, 1), limit=1)
    mirror.begin_batch()
    with pytest.raises(Corrupt):
        mirror.replay_changes([ReplayedChange(first, [("hdl:9/9", line())])])
    mirror.roll_back()
    assert (mirror.find_head(), mirror.find_stored("hdl:9/9")) == (before, None)


def test_a_store_examines_what_it_stands_on(store: Store, place: Path) -> None:
    """What is amiss comes with advice, and nothing is changed."""
    root = place / "registry"
    root.mkdir()
    store.create_registry(root)
    before = sorted(root.iterdir())
    findings = store.examine(root)
    assert findings
    assert len({one.name for one in findings}) == len(findings)
    assert all(one.advice for one in findings if not one.ok)
    assert sorted(root.iterdir()) == before
