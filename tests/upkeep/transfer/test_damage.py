"""A damaged registry file: every question gets an answer, and a rebuild goes around the damage.

The sweep damages copies of one file at random places, from a fixed seed, in the ways in which disks
and memory do: one bit, one byte, a zeroed sector, a lost end.
"""

from __future__ import annotations

import contextlib
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from tests.conftest import NOON, SERIES, TODAY, Clock, Desk, copy_as_new, text

from perdure.errors import Conflict, Corrupt, PerdureError
from perdure.ids import parse
from perdure.model.commands import SaveToken
from perdure.model.records import Token
from perdure.registry import Registry, initialise
from perdure.storage.segments.store import Segments
from perdure.storage.sqlite.opening import FILE
from perdure.storage.sqlite.store import SqliteStore
from perdure.upkeep.audit import verify_digests
from perdure.upkeep.changes.walking import check_changes
from perdure.upkeep.transfer.exporting import export_lines
from perdure.upkeep.transfer.renewal import RebuildStep, rebuild_registry

NOW = "2026-11-22T00:00:00Z"
TODAY_NOON = "2026-11-21T12:00:00Z"
DOCUMENTS = 60
ROUNDS = 64


@pytest.fixture
def damaged(desk: Desk) -> Callable[[bytes, bytes], Desk]:
    """Replaces bytes in the file of a registry with three titled documents."""
    for number in (1, 2, 3):
        desk.mint(text(f"{number}"), metadata={"title": f"Title{number}"})

    def replace_bytes(old: bytes, new: bytes) -> Desk:
        desk.registry.close()
        flush_log(desk.root)
        path = desk.root / FILE
        data = path.read_bytes()
        assert old in data
        path.write_bytes(data.replace(old, new))
        desk.reopen()
        return desk

    return replace_bytes


def flush_log(root: Path) -> None:
    with contextlib.closing(apsw.Connection(str(root / FILE))) as connection:
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def rebuilt(root: Path, *, now: str = NOW, highest: dict[str, int] | None = None) -> list[str]:
    steps: list[RebuildStep] = list(
        rebuild_registry(root, SqliteStore(), Segments, now=now, highest=highest)
    )
    return [step.problem for step in steps if step.problem]


KEY = f"{SERIES}/20261121/a2"
FAULTS = {
    "no UTF-8 in a text": (b"Title2", b"Titl\xe52"),
    "no JSON": (b'"Title2"', b'"Title2 '),
    "no UTF-8 in a key": (
        f"{SERIES}/20261121/a2".encode(),
        f"{SERIES}/20261121/a\xff".encode("latin-1"),
    ),
}


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_one_damaged_record_hides_no_other(
    damaged: Callable[[bytes, bytes], Desk], fault: tuple[bytes, bytes]
) -> None:
    registry = damaged(*fault).registry
    page = registry.listings.list_page(parse(f"pdi://{SERIES}/2026/11/21/"))
    assert [str(one) for one in page.identifiers] == [f"{TODAY}/1", f"{TODAY}/3"]
    assert len(page.damaged) == 1
    findings = list(verify_digests(registry.records, registry.bytes))
    assert [one.identifier for one in findings if one.problem is None] == [
        f"{TODAY}/1.text.1",
        f"{TODAY}/3.text.1",
    ]
    assert len([one for one in findings if one.problem]) == 1
    reported: list[Corrupt] = []
    lines = list(export_lines(registry, report=reported.append))
    assert (len(lines), len(reported)) == (2, 1)
    with pytest.raises(Corrupt):
        list(export_lines(registry))


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_rebuild_keeps_everything_but_the_damaged_record(
    damaged: Callable[[bytes, bytes], Desk], fault: tuple[bytes, bytes]
) -> None:
    desk = damaged(*fault)
    desk.registry.close()
    problems = rebuilt(desk.root)
    assert problems
    assert KEY not in "".join(problems)
    if fault[1].isascii():
        assert f"{TODAY}/2" in problems[0]
    desk.reopen()
    assert desk.record(f"{TODAY}/1").metadata == {"title": "Title1"}
    assert desk.record(f"{TODAY}/3").metadata == {"title": "Title3"}
    assert desk.served(f"{TODAY}/2") == b"2"
    assert desk.problems() == []


def test_a_damaged_record_is_named_as_users_know_it(
    damaged: Callable[[bytes, bytes], Desk],
) -> None:
    registry = damaged(b"Title2", b"Titl\xe52").registry
    (finding,) = (one for one in verify_digests(registry.records, registry.bytes) if one.problem)
    assert finding.identifier == f"{TODAY}/2"
    with pytest.raises(Corrupt):
        registry.records.find_record(parse(f"{TODAY}/2").key)


# a sweep
# -------


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory, pristine: Path) -> Path:
    """A registry with several pages in each table."""
    root = tmp_path_factory.mktemp("swept") / "registry"
    copy_as_new(pristine, root)
    desk = Desk(root, Clock(NOON))
    for number in range(DOCUMENTS):
        desk.mint(text(f"document {number}"), metadata={"abstract": f"{number} " * 60})
        desk.mint(locations=())
        desk.bind(f"hdl:10.9999/{number}", f"https://a.example/{number}", register=True)
        desk.bind(f"{TODAY}/{2 * number + 1}", f"https://b.example/{number}")
    token = Token(name="t", digest="0" * 64, operations=("mint",), authorities=("*",))
    desk.registry.door.execute_command(SaveToken(token=token))
    desk.registry.close()
    flush_log(root)
    return root


def damage_file(path: Path, draw: random.Random) -> None:
    data = bytearray(path.read_bytes())
    at = draw.randrange(100, len(data))  # not in the head, which a rebuild reports as a whole
    kind = draw.randrange(4)
    if kind == 0:
        data[at] ^= 1 << draw.randrange(8)
    elif kind == 1:
        data[at] = draw.randrange(256)
    elif kind == 2:
        at -= at % 512
        data[at : at + 512] = bytes(512)
    else:
        del data[max(at, len(data) * 3 // 4) :]
    path.write_bytes(data)


def read_everything(root: Path) -> None:
    """Ask all questions. Each gives an answer or one of our errors, and nothing else is raised."""
    with Registry(root, environment={}) as registry:
        records = registry.records

        def walk_bound() -> None:
            from perdure.upkeep.linkcheck.collecting import walk_bound

            list(walk_bound(records, report=lambda error: None))

        for ask in (
            lambda: list(verify_digests(records, registry.bytes)),
            lambda: list(export_lines(registry, report=lambda error: None)),
            lambda: registry.listings.list_page(parse(f"pdi://{SERIES}/")),
            lambda: registry.listings.list_interval(parse(f"pdi://{SERIES}/")),
            lambda: registry.listings.find_bound("https://a.example/7"),
            lambda: list(check_changes(records)),
            walk_bound,
            records.list_tokens,
            records.find_head,
            lambda: records.list_token_changes("t"),
        ):
            with contextlib.suppress(PerdureError):
                ask()
        for number in range(1, 2 * DOCUMENTS, 7):
            with contextlib.suppress(PerdureError):
                records.list_revisions(parse(f"{TODAY}/{number}").key)


@pytest.mark.parametrize("seed", range(8))
def test_no_damage_ends_an_answer_or_a_rebuild(swept: Path, place: Path, seed: int) -> None:
    draw = random.Random(seed)
    for number in range(ROUNDS // 8):
        root = place / f"{seed}-{number}"
        copy_as_new(swept, root)
        damage_file(root / FILE, draw)
        read_everything(root)
        rebuilt(root)
        desk = Desk(root, Clock(NOON))
        try:
            for serial in range(1, 2 * DOCUMENTS, 2):  # the segments hold all of these
                assert desk.served(f"{TODAY}/{serial}") == f"document {serial // 2}".encode()
            # A digest that was hit contradicts the segment: that is reported, and not decided.
            assert [one for one in desk.problems() if ": digest " not in one] == []
            desk.mint(text("after"))
        finally:
            desk.registry.close()
        read_everything(root)
        shutil.rmtree(root)


# damaged segments
# ----------------


def replace_in_segment(desk: Desk, old: bytes, new: bytes, *, nth: int) -> None:
    """Replace the nth occurrence, counted from 0."""
    desk.registry.close()
    (path,) = (desk.root / "segments").iterdir()
    pieces = path.read_bytes().split(old)
    path.write_bytes(old.join(pieces[: nth + 1]) + new + old.join(pieces[nth + 1 :]))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"Content-Length", b"Cmntent-Length"),
        (b"WARC/1.1", b"WARC/1.\xb1"),
        (b"Content-Length: 2", b"Content-Length: 7"),
        (b"\r\n\r\nWARC", b"\r\n\r\xffWARC"),
        (b"Target-URI: pdi:", b"Target-URI: \xffdi:"),
    ],
)
def test_a_rebuild_goes_on_behind_a_damaged_head(desk: Desk, old: bytes, new: bytes) -> None:
    for number in range(5):
        desk.mint(text(f"d{number}"))
    replace_in_segment(desk, old, new, nth=1)
    for path in desk.root.glob("registry.sqlite*"):
        path.unlink()
    assert len(rebuilt(desk.root)) == 2  # the segment, and the missing file
    desk.reopen()
    for number in (0, 2, 3, 4):
        assert desk.served(f"{TODAY}/{number + 1}") == f"d{number}".encode()
    assert desk.problems() == []


def test_records_inside_a_damaged_record_are_not_taken_for_ours(desk: Desk, place: Path) -> None:
    """A segment of another registry was deposited as a document, and its head is damaged."""
    initialise(place / "other", series=("other.example.us",))
    other = Desk(place / "other", Clock(NOON))
    other.mint(text("a"), authority="other.example.us")
    other.mint(text("b"), authority="other.example.us")
    other.registry.close()
    (segment,) = (place / "other" / "segments").iterdir()
    desk.mint(text("one"))
    desk.mint(text(segment.read_bytes(), "octet-stream", "application/octet-stream"))
    desk.mint(text("three"))
    replace_in_segment(desk, b"WARC-Block-Digest", b"WARC-Bl\xefck-Digest", nth=1)
    (desk.root / FILE).unlink()
    assert rebuilt(desk.root)
    desk.reopen()
    assert desk.registry.records.count_records() == 2
    assert desk.served(f"{TODAY}/3") == b"three"


# serial numbers after a loss
# ---------------------------


def test_no_number_is_given_twice_after_a_loss(desk: Desk) -> None:
    """Architecture: "No identifier is used twice, even if it was withdrawn." """
    desk.mint(text("one"))
    desk.mint()  # reserved: it is in no segment
    desk.registry.close()
    for path in desk.root.glob("registry.sqlite*"):
        path.unlink()
    assert rebuilt(desk.root, now=TODAY_NOON)
    desk.reopen()
    for contents in ((text("two"),), ()):
        with pytest.raises(Conflict, match="--highest"):
            desk.mint(*contents)
    desk.registry.close()
    # The fence stays, although everything can be read now.
    assert not rebuilt(desk.root, now="2026-11-21T13:00:00Z")
    desk.reopen()
    with pytest.raises(Conflict):
        desk.mint(text("two"))
    desk.registry.close()
    rebuilt(desk.root, now="2026-11-21T14:00:00Z", highest={SERIES: 2})
    desk.reopen()
    assert desk.mint(text("two")).identifier == f"{TODAY}/3.text.1"
    desk.clock.advance(days=1)
    assert desk.mint(text("x")).identifier == f"pdi://{SERIES}/2026/11/22/1.text.1"


def test_a_clock_that_is_behind_fences_the_last_day_too(desk: Desk) -> None:
    """A rebuild on a machine that does not know the time yet."""
    desk.mint(text("one"))
    desk.mint()  # reserved: it is in no segment
    desk.registry.close()
    for path in desk.root.glob("registry.sqlite*"):
        path.unlink()
    assert rebuilt(desk.root, now="2026-11-19T12:00:00Z")
    desk.reopen()
    with pytest.raises(Conflict, match="2026/11/21"):
        desk.mint()
    desk.registry.close()
    # The fence stays, although a later rebuild loses everything on an earlier day.
    for path in (*desk.root.glob("registry.sqlite*"), *(desk.root / "segments").glob("*.warc")):
        path.unlink()
    assert rebuilt(desk.root, now="2026-11-20T12:00:00Z")
    desk.reopen()
    with pytest.raises(Conflict):
        desk.mint()
    desk.clock.advance(days=1)
    assert desk.mint().identifier.startswith(f"pdi://{SERIES}/2026/11/22/1")


def test_numbers_of_lost_records_count_if_the_clock_is_behind(desk: Desk) -> None:
    desk.mint(text("one"))
    desk.mint()
    spoil_record(desk, parse(f"{TODAY}/2").key)
    assert rebuilt(desk.root, now="2026-11-19T12:00:00Z")
    desk.reopen()
    assert desk.mint().identifier.startswith(f"{TODAY}/3")


def test_the_next_day_is_free(desk: Desk) -> None:
    desk.registry.close()
    (desk.root / FILE).unlink()
    assert rebuilt(desk.root, now=TODAY_NOON)
    desk.clock.advance(days=1)
    desk.reopen()
    assert desk.mint().identifier.startswith(f"pdi://{SERIES}/2026/11/22/1")


def test_a_rebuild_that_loses_nothing_fences_nothing(desk: Desk) -> None:
    desk.mint(text("one"))
    desk.registry.close()
    assert not rebuilt(desk.root, now=TODAY_NOON)
    desk.reopen()
    assert desk.mint(text("two")).identifier == f"{TODAY}/2.text.1"


def spoil_record(desk: Desk, key: str) -> None:
    """Change a record so that its checksum does not hold."""
    desk.registry.close()
    with contextlib.closing(apsw.Connection(str(desk.root / FILE))) as connection:
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='trigger'"):
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("UPDATE records SET record=record || ' ' WHERE key=?", (key,))
    flush_log(desk.root)


def test_the_day_stays_open_if_changes_tell_all_names(desk: Desk) -> None:
    """Only reserved names are in no segment. The lost one is the last of the day."""
    desk.mint(text("one"))
    desk.mint()
    spoil_record(desk, parse(f"{TODAY}/2").key)
    assert rebuilt(desk.root, now=TODAY_NOON)
    desk.reopen()
    assert desk.registry.listings.find_record(parse(f"{TODAY}/2")) is None
    assert desk.mint(text("two")).identifier == f"{TODAY}/3.text.1"
    desk.registry.close()
    assert not rebuilt(desk.root, now="2026-11-21T13:00:00Z")
    desk.reopen()
    assert desk.mint(text("three")).identifier == f"{TODAY}/4.text.1"


def test_the_day_closes_if_changes_are_damaged_too(desk: Desk) -> None:
    for number in range(40):
        desk.mint(locations=()) if number % 2 else desk.mint(text(f"{number}"))
    spoil_record(desk, parse(f"{TODAY}/40").key)
    with contextlib.closing(apsw.Connection(str(desk.root / FILE))) as connection:
        connection.execute("DELETE FROM changes WHERE position=3")
    flush_log(desk.root)
    assert rebuilt(desk.root, now=TODAY_NOON)
    desk.reopen()
    with pytest.raises(Conflict, match="--highest"):
        desk.mint(text("two"))


def test_other_problems_close_no_day(desk: Desk) -> None:
    """A damaged segment loses no name that the registry file tells."""
    for number in range(3):
        desk.mint(text(f"d{number}"))
    replace_in_segment(desk, b"Content-Length", b"Cmntent-Length", nth=1)
    assert rebuilt(desk.root, now=TODAY_NOON)
    desk.reopen()
    assert desk.served(f"{TODAY}/2") == b"d1"
    assert desk.mint(text("d3")).identifier == f"{TODAY}/4.text.1"


def test_two_rebuilds_within_a_second_keep_both_old_files(desk: Desk) -> None:
    desk.mint(text("one"))
    desk.registry.close()
    for _ in range(3):
        assert not rebuilt(desk.root, now=TODAY_NOON)
    assert sorted(path.name for path in (desk.root / "aside").glob("registry-*.sqlite")) == [
        "registry-2026-11-21T120000Z-2.sqlite",
        "registry-2026-11-21T120000Z-3.sqlite",
        "registry-2026-11-21T120000Z.sqlite",
    ]
    desk.reopen()
    assert desk.served(f"{TODAY}/1") == b"one"
