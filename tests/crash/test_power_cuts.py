"""Power cuts while a registry is written, sealed, rebuilt, backed up or promoted: all is usable.

Each program runs once, in a process whose system calls are recorded; the states come from the model
in `power.py`. A state counts once, and `incoming/` does not count, since nobody reads it.
"""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.conftest import SERIES, TODAY, Clock, Desk, text
from tests.crash.power import Disk, Tree, record_calls, write_tree

from perdure.errors import PerdureError
from perdure.ids import parse
from perdure.registry import Registry
from perdure.storage import home
from perdure.storage.segments.store import Segments
from perdure.storage.sqlite.store import SqliteStore
from perdure.upkeep import audit
from perdure.upkeep.transfer.backup import back_up

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
BACK_UP = """
import sys
from pathlib import Path
from perdure.storage.segments import copying, ocfl
from perdure.storage.segments.store import Segments
from perdure.storage.sqlite.store import SqliteStore
from perdure.upkeep.transfer.backup import back_up
if sys.argv[3:]:
    copying.sync_above = lambda *_: None
list(back_up(Path(sys.argv[1]), Path(sys.argv[2]), SqliteStore(), Segments))
"""
SEAL = """
import sys
from pathlib import Path
from perdure.storage.segments import ocfl
from perdure.storage.segments.store import Segments
if sys.argv[2:]:
    ocfl.sync_above = lambda *_: None
Segments(Path(sys.argv[1])).seal(1, "2026-11-22T00:00:00Z")
"""
PROMOTE = """
import sys
from pathlib import Path
from perdure.settings import load_settings
from perdure.storage.sqlite.store import SqliteStore
from perdure.upkeep.transfer.promoting import promote_copy
root = Path(sys.argv[1])
promote_copy(root, SqliteStore(), load_settings(root, {}), now="2026-11-21T12:00:00Z")
"""
WRITE = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path
from perdure.model.commands import Mint
from perdure.settings import load_settings
from perdure.storage.segments.store import Segments
from perdure.storage.spool import make_content
from perdure.storage.sqlite.journal import SqliteJournal
from perdure.writing.registrar import Registrar
root = Path(sys.argv[1])
clock = lambda: datetime(2026, 11, 21, 12, tzinfo=UTC)
settings = load_settings(root, {})
writer = Registrar(
    root, settings, SqliteJournal, Segments(root), clock=clock,
    delete_indexes=lambda _key, _digests: None
)
content = make_content(b"two", format="text", media_type="text/plain")
(receipt,) = writer.execute_commands([Mint(authority="oma.eop.gov.us", contents=(content,))])
os._exit(receipt.identifier != "pdi://oma.eop.gov.us/2026/11/21/2.text.1")
"""
REBUILD = """
import sys
from pathlib import Path
from perdure.storage.segments.store import Segments
from perdure.storage.sqlite.store import SqliteStore
from perdure.upkeep.transfer.renewal import rebuild_registry
now = "2026-11-21T12:00:00Z"
list(rebuild_registry(Path(sys.argv[1]), SqliteStore(), Segments, now=now))
"""
STORE = SqliteStore()
FIRST, SECOND = f"{TODAY}/1", f"{TODAY}/2"


def list_cuts(top: Path, program: str, *arguments: object) -> Iterator[tuple[Tree, bool]]:
    """The states that a power cut may leave, and whether the program had ended by then."""
    disk, log = Disk(top), top.parent / "strace.log"
    calls = record_calls(program, arguments, log)
    seen: set[frozenset[tuple[str, bytes]]] = set()
    for number, call in enumerate(calls, 1):
        changed = disk.carry_out(call)
        is_last = number == len(calls)
        if changed or is_last:
            for tree in disk.list_states():
                same = frozenset(one for one in tree.items() if "/incoming/" not in f"/{one[0]}")
                if same not in seen or is_last:
                    seen.add(same)
                    yield tree, is_last


def check_cuts(
    place: Path, cuts: Iterator[tuple[Tree, bool]], check: Callable[[Path, bool], None]
) -> int:
    """Check each state in a directory of its own, and return their number."""
    count = itertools.count()
    number = 0
    for number, (tree, is_last) in zip(count, cuts, strict=False):
        state = write_tree(tree, place / f"state-{number}")
        check(state, is_last)
        shutil.rmtree(state)
    return number + 1


def held_by(root: Path) -> dict[str, bytes]:
    """The documents of a registry; all of them must be sound."""
    with Registry(root, environment={}) as registry:
        found = audit.verify_digests(registry.records, registry.bytes)
        assert [one.problem for one in found if one.problem] == []
        held = {}
        for name in (FIRST, SECOND):
            record = registry.listings.find_record(parse(name))
            if record is not None:
                (one,) = record.versions[0].representations
                held[name] = registry.bytes.read_bytes(one)
        return held


@pytest.fixture
def written(desk: Desk) -> Desk:
    """A registry with a document."""
    desk.mint(text("one"))
    return desk


def add_second(desk: Desk) -> None:
    """Seal the segment of the first document, and write a second one."""
    desk.mint(text("two"))
    desk.clock.advance(days=1)
    desk.mint(text("three"))
    assert desk.registry.seal() == [1]


def is_registry(root: Path) -> bool:
    return (root / "perdure.toml").exists() and (root / "registry.sqlite").exists()


ONE, BOTH = {FIRST: b"one"}, {FIRST: b"one", SECOND: b"two"}


def test_a_first_backup_is_complete_or_none(written: Desk, tmp_path: Path, place: Path) -> None:
    (place / "top").mkdir()

    def check(state: Path, is_last: bool) -> None:
        target = state / "target"
        if is_last or is_registry(target):
            assert held_by(target) == ONE
            assert home.list_signs(target, None)

    cuts = list_cuts(place / "top", BACK_UP, written.root, place / "top" / "target")
    assert check_cuts(place, cuts, check) > 20


def make_backup(desk: Desk, place: Path) -> Path:
    """A directory with a backup, which is older than the registry."""
    target = place / "top" / "target"
    target.parent.mkdir()
    list(back_up(desk.root, target, STORE, Segments))
    add_second(desk)
    desk.registry.close()
    return target


def test_a_later_backup_leaves_the_earlier_one_or_is_complete(written: Desk, place: Path) -> None:
    """The segment is loose in the earlier backup, and sealed in the later one."""
    target = make_backup(written, place)

    def check(state: Path, is_last: bool) -> None:
        held = held_by(state / "target")
        assert held == BOTH or (held == ONE and not is_last)
        assert home.list_signs(state / "target", None)

    assert check_cuts(place, list_cuts(target.parent, BACK_UP, written.root, target), check) > 20


def test_the_model_finds_a_missing_flush(written: Desk, place: Path) -> None:
    """Finding D3: the loose segment went before the directories of its object were durable."""
    target = make_backup(written, place)
    lost = 0

    def check(state: Path, is_last: bool) -> None:
        nonlocal lost
        try:
            held_by(state / "target")
        except (AssertionError, PerdureError):
            lost += 1

    check_cuts(place, list_cuts(target.parent, BACK_UP, written.root, target, "unsafe"), check)
    assert lost


def test_an_interrupted_backup_can_be_repeated(written: Desk, place: Path) -> None:
    """The first one, and a later one; at a part of the moments."""

    def check(state: Path, is_last: bool) -> None:
        list(back_up(written.root, state / "target", STORE, Segments))
        assert held_by(state / "target") == BOTH

    target = make_backup(written, place)
    (place / "empty").mkdir()
    for top in (target.parent, place / "empty"):
        cuts = list_cuts(top, BACK_UP, written.root, top / "target")
        assert check_cuts(place, itertools.islice(cuts, 0, None, 7), check) > 2


@pytest.mark.parametrize("again", [False, True])
def test_a_seal_loses_no_segment(written: Desk, place: Path, *, again: bool) -> None:
    """Also if it is repeated after a crash between the rename and the flushes."""
    written.mint(text("two"))
    written.registry.close()
    root = Path(shutil.move(written.root, place / "top"))
    if again:
        loose = root / "segments" / "000001.warc"
        shutil.copy(loose, place / "kept")
        Segments(root).seal(1, "2026-11-22T00:00:00Z")
        shutil.move(place / "kept", loose)

    def check(state: Path, is_last: bool) -> None:
        assert held_by(state) == BOTH

    assert check_cuts(place, list_cuts(root, SEAL, root), check) > 2


def test_an_acknowledged_write_is_durable(written: Desk, place: Path) -> None:
    """The program is cut off at once, as soon as it has the receipt."""
    written.registry.close()
    root = Path(shutil.move(written.root, place / "top"))

    def check(state: Path, is_last: bool) -> None:
        held = held_by(state)
        assert held == BOTH or (held == ONE and not is_last)

    assert check_cuts(place, list_cuts(root, WRITE, root), check) > 10


def test_a_rebuild_leaves_the_old_file_or_the_new_one(written: Desk, place: Path) -> None:
    written.mint(text("two"))
    written.registry.close()
    root = Path(shutil.move(written.root, place / "top"))

    def check(state: Path, is_last: bool) -> None:
        assert held_by(state) == BOTH
        (state / home.FILE).stat()

    assert check_cuts(place, list_cuts(root, REBUILD, root), check) > 10


def test_a_promotion_closes_the_day_before_anything_is_written(written: Desk, place: Path) -> None:
    """Ruling copy-fence: it "gives out no serial of a day on which the predecessor may have given
    one" """
    root = place / "top"
    list(back_up(written.root, root, STORE, Segments))

    def check(state: Path, is_last: bool) -> None:
        assert held_by(state) == ONE
        # written elsewhere, so that it has no home: all that speaks for a copy is the mark
        if not home.load_mark(state):
            (state / home.FILE).unlink()
            desk = Desk(state, Clock())
            assert [one.reason for one in desk.registry.records.list_epochs()][-1] == "promotion"
            with pytest.raises(PerdureError, match="took over"):
                desk.mint(authority=SERIES)
            desk.registry.close()
        else:
            assert not is_last

    assert check_cuts(place, list_cuts(root, PROMOTE, root), check) > 5
