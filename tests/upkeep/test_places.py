"""A registry moves to another store of records, or of bytes, while it is in use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as example_settings
from hypothesis import strategies as st
from tests.conftest import SERIES, TODAY, Clock, Desk, text
from tests.storage.postgresql_server import make_address
from tests.storage.s3_server import make_address as make_object_address

from perdure import settings as setting
from perdure.errors import BadSettings, Corrupt, PerdureError
from perdure.errors.moving import (
    MoveIncomplete,
    MoveNotAbandoned,
    NothingToMove,
    OtherMoveBegun,
    PlaceInEnvironment,
    PlaceIsSame,
    PlaceTaken,
    RegistryArriving,
    RegistryMoved,
)
from perdure.ids import parse
from perdure.model.changes import Deed
from perdure.model.commands import Bind, Erase, Mint, Restrict, SaveToken
from perdure.model.reading_rules import Access, ReadingRule
from perdure.model.records import Location, Token
from perdure.registry import Registry, initialise, load_store
from perdure.settings import Settings
from perdure.storage.moving_ports import MovableStore, OtherRows, WholeRecord
from perdure.storage.ports import JournalMoved
from perdure.upkeep import full_audit
from perdure.upkeep.places import comparing, moving, plan
from perdure.upkeep.places.switching import switch_place

LOCATION = "https://example.org/a"


def make_desk(place: Path, clock: Clock) -> Desk:
    """A registry with a bit of everything."""
    root = place / "registry"
    initialise(root, series=(SERIES,), handle_prefixes=("10.5555",))
    desk = Desk(root, clock)
    desk.reopen(erasure_persons=1)
    desk.environment.clear()
    desk.mint(text("first"))
    desk.commit(f"{TODAY}/1", text("second"))
    desk.mint(text("to be erased"))
    desk.mint(text("to be withdrawn"))
    for number in range(5):
        desk.mint(locations=(Location(uri=f"{LOCATION}{number}"),))
    desk.register("hdl:10.5555/abc", locations=(Location(uri=LOCATION),))
    desk.bind("hdl:10.5555/abc", f"{LOCATION}b")
    desk.alias(f"{TODAY}/1", "hdl:10.5555/alias")
    desk.withdraw(f"{TODAY}/3")
    erase(desk, f"{TODAY}/2")
    door = desk.registry.door
    for name in ("web", "other"):
        token = Token(name=name, digest=name * 8, operations=("mint",), authorities=("*",))
        door.execute_command(SaveToken(token=token))
    door.execute_command(SaveToken(token=msgspec.structs.replace(token, revoked="2026-11-21")))
    restrict(desk, "hdl:10.5555/abc")
    desk.mint(locations=(Location(uri=LOCATION),), once="key")
    return desk


def erase(desk: Desk, name: str) -> None:
    desk.registry.door.execute_command(Erase(identifier=parse(name), reason="privacy"))


def restrict(desk: Desk, name: str) -> None:
    rule = ReadingRule(about=name, access=Access.CLOSED, reason="secret")
    desk.registry.door.execute_command(Restrict(rule=rule))


def move(root: Path, store: str = "", held: str = "") -> list[str]:
    """Move a registry, and return the phases."""
    steps = moving.move_registry(root, to_store=store, to_bytes=held, environment={})
    return list(dict.fromkeys(step.phase for step in steps))


def read_whole(root: Path) -> tuple[list[WholeRecord], OtherRows, list[Any], list[Any]]:
    """Everything that a registry stores, with the salts and the chain of its changes."""
    store = load_store(setting.load_settings(root, {}).store)
    assert isinstance(store, MovableStore)
    whole = store.open_whole(root)
    with closing(whole):
        return (
            whole.read_range("", None, limit=10_000),
            whole.read_others(),
            whole.records.list_changes(limit=10_000),
            whole.records.list_epochs(),
        )


def find_problems(root: Path) -> list[str]:
    with closing(Registry(root, environment={})) as registry:
        return [one.problem for one in full_audit.audit_registry(registry) if one.problem]


@pytest.fixture
def desk(place: Path, clock: Clock) -> Iterator[Desk]:
    desk = make_desk(place, clock)
    yield desk
    with suppress(PerdureError):
        desk.registry.close()


def make_places() -> dict[str, Callable[[], tuple[str, str]]]:
    return {
        "postgresql": lambda: (make_address(), ""),
        "objects": lambda: ("", make_object_address()),
        "both": lambda: (make_address(), make_object_address()),
    }


@pytest.mark.parametrize("kind", make_places())
def test_all_is_the_same_there_and_back(desk: Desk, kind: str) -> None:
    """ "The numbers, epochs, salts and chain of the changes stay the same"."""
    desk.registry.close()
    before = read_whole(desk.root)
    store, held = make_places()[kind]()
    phases = move(desk.root, store, held)
    assert phases[-2:] == ["switching", "switched"]
    assert read_whole(desk.root) == before
    assert not find_problems(desk.root)
    found = setting.load_settings(desk.root, {})
    assert (found.store, found.bytes) == (store or "sqlite", held or "segments")
    desk.registry = desk._open()
    minted = desk.mint(text("there")).identifier
    assert minted is not None
    assert parse(minted).resource.key not in {one.key for one in before[0]}
    assert desk.mint(once="key", locations=(Location(uri=LOCATION),)).identifier == f"{TODAY}/9"
    desk.registry.close()
    after = read_whole(desk.root)
    assert after[2][: len(before[2])] == before[2]
    move(desk.root, store and "sqlite", held and "segments")
    assert read_whole(desk.root) == after
    assert not find_problems(desk.root)
    desk.registry = desk._open()
    back = desk.mint(text("back")).identifier
    assert back is not None
    assert parse(back).resource.key not in {one.key for one in after[0]}


@pytest.mark.parametrize("kind", make_places())
def test_others_write_while_it_moves(desk: Desk, kind: str) -> None:
    """An erasure rewrites what has been copied; the copy has nothing of it, either."""
    store, held = make_places()[kind]()
    steps = moving.move_registry(desk.root, to_store=store, to_bytes=held, environment={})
    for number, step in enumerate(steps):
        if step.phase in ("switching", "switched"):
            break
        name = desk.mint(text(f"secret {number}")).identifier or ""
        desk.commit(name.removesuffix(".text.1"), text(f"more {number}"))
        desk.bind("hdl:10.5555/abc", f"{LOCATION}{number}")
        if number == 0:
            erase(desk, f"{TODAY}/1")
            restrict(desk, f"{TODAY}/4")
    list(steps)
    with pytest.raises(RegistryMoved):
        desk.mint(text("too late"))
    with pytest.raises(RegistryMoved):  # and not only once
        desk.mint(text("too late"))
    assert not find_problems(desk.root)
    with closing(Registry(desk.root, environment={})) as there:
        assert not there.records.find_referring("sha512:" + text("first").sha512)
        revisions = there.records.list_revisions(parse(f"{TODAY}/1").key)
        assert text("first").sha512 not in str(revisions)
        (begun,) = there.records.list_changes(None, limit=1)
        assert begun.act == "begin"


def copy_until(root: Path, store: str, held: str, phase: str) -> None:
    """Begin a move, and stop at a phase as if the process was killed."""
    steps = moving.move_registry(root, to_store=store, to_bytes=held, environment={})
    next(step for step in steps if step.phase == phase)
    del steps  # it is closed


class Killed(BaseException):
    """As if the process was killed there."""


STEPS = ("before closing", "after closing", "after arriving", "after switching", "after all")


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", ["postgresql", "objects"])
def test_one_place_at_most_is_in_charge(
    desk: Desk, kind: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ "A kill at any point leaves either the old or the new one in charge, never both"."""
    desk.registry.close()
    before = read_whole(desk.root)
    store, held = make_places()[kind]()
    with monkeypatch.context() as patch:
        kill_at(step, patch)
        with pytest.raises(Killed):
            move(desk.root, store, held)
    written = []
    for settings in ({"PERDURE_STORE": "sqlite", "PERDURE_BYTES": "segments"}, {}):
        registry = Registry(desk.root, environment=settings, clock=desk.clock)
        with closing(registry), suppress(PerdureError):
            receipt = registry.door.execute_command(Mint(authority=SERIES))
            written.append(receipt.identifier)
    assert len(written) == len(set(written))
    assert plan.load_move(desk.root) is not None
    move(desk.root, store, held)
    assert plan.load_move(desk.root) is None
    after = read_whole(desk.root)
    assert after[2][: len(before[2])] == before[2]
    assert len(after[2]) == len(before[2]) + len(written)
    assert not find_problems(desk.root)


def test_an_open_writer_stops_although_the_move_was_killed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It had looked where the registry is, and nothing else has changed since."""
    desk.mint(text("the last one here"))
    store, held = make_places()["objects"]()
    with monkeypatch.context() as patch:
        kill_at("after switching", patch)
        with pytest.raises(Killed):
            move(desk.root, store, held)
    for _ in range(2):
        with pytest.raises(RegistryMoved):
            desk.mint(text("too late"))
    move(desk.root, store, held)
    assert not find_problems(desk.root)


def kill_at(step: str, patch: pytest.MonkeyPatch) -> None:
    """Let the next move end at a step, before or after what is done there."""

    def kill(*_: object, **__: object) -> None:
        raise Killed

    def kill_after(owner: object, name: str) -> None:
        original = getattr(owner, name)

        def run(*words: Any, **named: Any) -> None:
            original(*words, **named)
            raise Killed

        patch.setattr(owner, name, run)

    match step:
        case "before closing":
            patch.setattr(moving._Mover, "_leave", kill)
        case "after closing":
            kill_after(moving._Mover, "_leave")
        case "after arriving":
            patch.setattr(moving, "switch_place", kill)
        case "after switching":
            kill_after(moving, "switch_place")
        case "after all":
            patch.setattr(moving, "forget_move", kill)


def test_what_was_written_after_a_kill_is_moved(desk: Desk) -> None:
    store, held = make_address(), make_object_address()
    for phase in ("segments", "switching"):
        copy_until(desk.root, store, held, phase)
        desk.mint(text(f"after {phase}"))
        erase(desk, f"{TODAY}/{'4' if phase == 'segments' else '1'}")
        erase_again = desk.mint(text("short")).identifier or ""
        erase(desk, erase_again.removesuffix(".text.1"))
    desk.registry.close()
    before = read_whole(desk.root)
    move(desk.root, store, held)
    assert read_whole(desk.root) == before
    assert not find_problems(desk.root)


def test_a_file_that_a_kill_has_left_empty_is_taken(desk: Desk) -> None:
    desk.registry.close()
    move(desk.root, make_address())
    (desk.root / "moving").mkdir()
    (desk.root / "moving" / "registry.sqlite").touch()
    assert move(desk.root, "sqlite")[-1] == "switched"


def test_a_place_on_its_way_is_not_opened(desk: Desk, place: Path) -> None:
    store = make_address()
    copy_until(desk.root, store, "", "comparing")
    with pytest.raises(RegistryArriving):
        initialise(place / "node", store, series=(SERIES,))
    with pytest.raises(OtherMoveBegun):
        move(desk.root, make_address())
    moving.abandon_move(desk.root)
    with pytest.raises(NothingToMove):
        moving.abandon_move(desk.root)
    with pytest.raises(NothingToMove):
        move(desk.root)
    desk.mint(text("still here"))
    assert move(desk.root, store)[-1] == "switched"


def test_other_nodes_stop_as_soon_as_it_has_left(desk: Desk, place: Path) -> None:
    """No node answers from the tables that were left, to write or to read."""
    store, held = make_address(), make_object_address()
    desk.registry.close()
    move(desk.root, store, held)
    initialise(place / "node", store, held, series=(SERIES,))
    with closing(Registry(place / "node", environment={})) as node:
        node.door.execute_command(Mint(authority=SERIES))
        assert node.records.count_records() > 0
        move(desk.root, "sqlite")
        with pytest.raises(PerdureError):
            node.door.execute_command(Mint(authority=SERIES))
        with pytest.raises(PerdureError):
            node.records.count_records()
    with pytest.raises(RegistryMoved, match="sqlite"):
        Registry(place / "node", environment={}).records.count_records()
    assert not find_problems(desk.root)
    move(desk.root, store)  # to the address that it has left
    with closing(Registry(place / "node", environment={})) as node:
        node.door.execute_command(Mint(authority=SERIES))
    assert not find_problems(desk.root)


def test_nodes_do_not_write_bytes_in_the_bucket_that_was_left(desk: Desk, place: Path) -> None:
    store, held = make_address(), make_object_address()
    desk.registry.close()
    move(desk.root, store, held)
    initialise(place / "node", store, held, series=(SERIES,))
    bind = Bind(identifier=parse("hdl:10.5555/abc"), locations=(Location(uri=LOCATION),))
    with closing(Registry(place / "node", environment={})) as node:
        node.door.execute_command(bind)
        move(desk.root, held=make_object_address())
        with pytest.raises(RegistryMoved):
            node.door.execute_command(bind)
    with closing(Registry(place / "node", environment={})) as node, pytest.raises(RegistryMoved):
        node.door.execute_command(bind)
    assert not find_problems(desk.root)


@pytest.mark.parametrize("destination", ["postgresql", "sqlite"])
def test_a_journal_that_was_open_writes_nothing_more(desk: Desk, destination: str) -> None:
    """ "Nothing is ever written in the old place, by no process of any machine, whatever it had
    open"."""
    desk.registry.close()
    store = make_address()
    if destination == "sqlite":
        move(desk.root, store)
    old = load_store(setting.load_settings(desk.root, {}).store)
    with closing(old.open_journal(desk.root)) as journal:
        move(desk.root, store if destination == "postgresql" else "sqlite")
        before = read_whole(desk.root)
        line = ("oma.eop.gov.us/20261121/b99", "-2026-11-21T12:00:00Z local")
        journal.begin_batch()
        with pytest.raises(JournalMoved):
            journal.add_records((line,), Deed("mint", "2026-11-21T12:00:00Z", "local"))
        journal.roll_back()
    if destination == "postgresql":
        with pytest.raises(RegistryMoved):
            old.open_journal(desk.root)
    assert read_whole(desk.root) == before


def test_bytes_that_are_erased_at_the_last_moment_do_not_move(desk: Desk) -> None:
    """In a segment that has not grown since it was copied."""
    desk.reopen(segment_bytes=1, erasure_persons=1)
    desk.mint(text("a short secret"))
    desk.mint(text("another"))
    secret = desk.mint(text("the secret")).identifier or ""
    desk.mint(text("another one"))
    steps = moving.move_registry(
        desk.root, to_store="", to_bytes=make_object_address(), environment={}
    )
    next(step for step in steps if step.phase == "switching")
    erase(desk, secret.removesuffix(".text.1"))
    list(steps)
    assert not find_problems(desk.root)


def test_the_node_that_moves_bytes_into_files_keeps_them(desk: Desk, place: Path) -> None:
    store, held = make_address(), make_object_address()
    desk.registry.close()
    move(desk.root, store, held)
    initialise(place / "node", store, held, series=(SERIES,))
    move(place / "node", held="segments")
    assert not find_problems(place / "node")
    with closing(Registry(place / "node", environment={})) as node:
        node.door.execute_command(Mint(authority=SERIES, contents=(text("kept"),)))


def test_a_copy_that_differs_is_not_taken(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.registry.close()
    before = read_whole(desk.root)

    def lose_past(target: Any, keys: Any) -> list[WholeRecord]:
        return [one._replace(past=()) for one in read_some(target, keys)]

    from perdure.storage.postgresql.arriving import SchemaArrival

    read_some = SchemaArrival.read_some
    monkeypatch.setattr(SchemaArrival, "read_some", lose_past)
    monkeypatch.setattr(
        comparing, "_list_differences", lambda ours, there: differ(list(ours), list(there))
    )

    def differ(ours: list[WholeRecord], there: list[WholeRecord]) -> list[str]:
        right = {one.key: one for one in there}
        return [one.key for one in ours if right.get(one.key) != one or one.past]

    with pytest.raises(MoveIncomplete):
        move(desk.root, make_address())
    assert read_whole(desk.root) == before
    desk.registry = desk._open()
    desk.mint(text("still here"))


def test_a_damaged_registry_stays(desk: Desk) -> None:
    desk.registry.close()
    path = next((desk.root / "segments").glob("*.warc"))
    damaged = path.read_bytes().replace(b"second", b"sec0nd")
    path.write_bytes(damaged)
    move(desk.root, held=make_object_address())  # damage that is on both sides moves, too
    assert find_problems(desk.root)
    from perdure.storage.sqlite.opening import FILE

    file = desk.root / FILE
    import apsw

    connection = apsw.Connection(str(file))
    connection.execute("DROP TRIGGER records_hold")
    connection.execute("UPDATE records SET record=replace(record, 'example', 'exbmple')")
    connection.close()
    with pytest.raises(Corrupt):
        move(desk.root, make_address())


@pytest.mark.parametrize(
    ("words", "environment", "error"),
    [
        (("sqlite", ""), {}, PlaceIsSame),
        (("sqlite", "segments"), {}, PlaceIsSame),
        (("", ""), {}, NothingToMove),
        (("mysql://x", ""), {}, BadSettings),
        (("postgresql://x", ""), {"PERDURE_STORE": "sqlite"}, PlaceInEnvironment),
    ],
)
def test_moves_that_are_refused(
    desk: Desk, words: tuple[str, str], environment: dict[str, str], error: type[Exception]
) -> None:
    with pytest.raises(error):
        list(
            moving.move_registry(
                desk.root, to_store=words[0], to_bytes=words[1], environment=environment
            )
        )
    assert plan.load_move(desk.root) is None
    desk.mint(text("still here"))


def test_a_place_with_another_registry_is_refused(desk: Desk, place: Path) -> None:
    store, held = make_address(), make_object_address()
    initialise(place / "other", store, held, series=(SERIES,))
    with closing(Registry(place / "other", environment={})) as other:
        other.door.execute_command(Mint(authority=SERIES, contents=(text("bytes"),)))
    with pytest.raises(PlaceTaken):
        move(desk.root, store)
    with pytest.raises(PlaceTaken):
        move(desk.root, held=held)
    assert not find_problems(place / "other")


def test_a_move_that_has_left_is_not_abandoned(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.registry.close()
    with monkeypatch.context() as patch:
        kill_at("after closing", patch)
        with pytest.raises(Killed):
            move(desk.root, store := make_address())
    with pytest.raises(MoveNotAbandoned):
        moving.abandon_move(desk.root)
    move(desk.root, store)


@example_settings(max_examples=25)
@given(
    comment=st.text(st.characters(exclude_characters="\r\n", exclude_categories=("Cs", "Cc"))),
    workers=st.integers(0, 9),
    store=st.sampled_from(["sqlite", "postgresql://a:b@c/d?schema=e"]),
)
def test_only_the_place_changes_in_the_settings(
    tmp_path_factory: pytest.TempPathFactory, comment: str, workers: int, store: str
) -> None:
    """ "Only `store` and `bytes` change; comments and all other settings stay"."""
    root = tmp_path_factory.mktemp("settings")
    before = setting.write_toml(Settings(workers=workers)).replace(
        "[perdure]", f"[perdure]\n# {comment}"
    )
    (root / setting.FILE).write_text(before, "utf-8")
    switch_place(root, store, "segments")
    found = setting.load_settings(root, {})
    assert found == Settings(workers=workers, store=store)
    assert f"\n# {comment}\n" in (root / setting.FILE).read_text("utf-8")
