"""A sweep of damages over a small registry: nothing wrong is served as right, and all is found.

How it works: `make_registry` fills every table of the registry file, and closes one segment. The
sweep damages one place after the other, in every page of the file and along every segment: a bit,
a run of bytes, a sector of zeros. The places are fixed. After each damage

1. every read gives the answer of the intact registry, one of our errors, or nothing;
2. if a read gives anything else than the intact registry did, `verify --all` has a finding;
3. a rebuild ends, and afterwards everything that could be read before it still can be.
"""

from __future__ import annotations

import random
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest
from click.testing import CliRunner
from tests.conftest import (
    AUTHORITY,
    NOON,
    SERIES,
    SHOULDER,
    TODAY,
    Clock,
    Desk,
    copy_as_new,
    html,
    text,
)
from tests.server.deployment import Deployment, start, wait_for
from tests.trials import Tally

from perdure.cli import perdure
from perdure.errors import Corrupt, PerdureError
from perdure.errors.stored import CorruptThere
from perdure.ids import parse
from perdure.model.collection import MEDIA_TYPE, Collection, CollectionMember, write_collection
from perdure.model.commands import SaveToken
from perdure.model.queries import Fetch, Query, Redirect
from perdure.model.records import Token
from perdure.registry import Registry, initialise
from perdure.storage.ports import Records
from perdure.storage.segments.directory import find_path
from perdure.storage.segments.store import Segments
from perdure.storage.sqlite.opening import FILE
from perdure.storage.sqlite.store import SqliteStore
from perdure.upkeep.changes.walking import check_changes
from perdure.upkeep.full_audit import audit_registry
from perdure.upkeep.transfer.renewal import rebuild_registry

REBUILT_AT = "2026-11-22T00:00:00Z"
PAGE = 4096
Answers = dict[str, Any]
Damage = Callable[[bytearray], None]


# A registry
# ----------


def make_registry(root: Path) -> None:
    desk = Desk(root, Clock(NOON))
    for number in range(1, 7):
        desk.mint(
            text(f"document {number}"), metadata={"title": f"Title {number}"}, once=f"{number}"
        )
    desk.mint(text("<p>both"), html("<p>both"))
    desk.clock.advance(days=1)
    desk.reopen()
    for number in range(1, 6):
        desk.mint(text(f"next {number} " * 40))
        desk.mint(locations=())
        desk.bind(f"hdl:10.9999/{number}", f"https://a.example/{number}", register=True)
        desk.bind(f"{TODAY}/{number}", f"https://b.example/{number}")
    desk.alias(f"{TODAY}/1", "hdl:10.9999/alias")
    desk.mint(text("ark"), authority=SHOULDER, uid="7x")
    desk.withdraw(f"{TODAY}/6")
    members = tuple(CollectionMember(identifier=f"{TODAY}/{number}") for number in (1, 2, 3))
    desk.mint(text(write_collection(Collection(members=members)), "json", MEDIA_TYPE))
    for name in ("press", "editor"):
        token = Token(name=name, digest=name * 9, operations=("mint",), authorities=(SERIES,))
        desk.registry.door.execute_command(SaveToken(token=token))
    desk.registry.seal()
    desk.registry.close()
    connection = apsw.Connection(str(root / FILE))
    connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    connection.close()


@pytest.fixture(scope="module")
def intact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same bytes in each run, so that a damage that reveals a fault can be repeated."""
    root = tmp_path_factory.mktemp("swept") / "registry"
    chance = random.Random(19940120)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("perdure.registry.utc_now", Clock(NOON))
        patch.setattr("perdure.storage.sqlite.changelog.urandom", chance.randbytes)
        patch.setattr("uuid.uuid4", lambda: uuid.UUID(bytes=chance.randbytes(16), version=4))
        initialise(root, series=(SERIES,), naming_authorities=(AUTHORITY,), shoulders=(SHOULDER,))
        make_registry(root)
    return root


# All that a reader can ask
# -------------------------


def ask_everything(root: Path, names: tuple[str, ...]) -> Answers:
    """The answer to each question, or the class of the error."""
    answers: Answers = {}

    def note(question: str, ask: Callable[[], object]) -> None:
        try:
            answers[question] = ask()
        except PerdureError as error:
            answers[question] = type(error)

    try:
        registry = Registry(root, environment={})
    except PerdureError as error:
        return {"open": type(error)}
    with registry:
        records = registry.records
        for name in names:
            note(f"get {name}", lambda name=name: get(registry, name))  # type: ignore[misc]
            key = parse(name).key
            note(f"history {name}", lambda key=key: records.list_revisions(key))  # type: ignore[misc]
        for pattern in (f"pdi://{SERIES}/2026/11/21/", f"pdi://{SERIES}/2026/11/22/"):
            note(f"list {pattern}", lambda one=pattern: list_all(registry, one))  # type: ignore[misc]
        note("interval", lambda: registry.listings.list_interval(parse(f"pdi://{SERIES}/")))
        for number in (1, 5):
            uri = f"https://a.example/{number}"
            note(f"bound {uri}", lambda uri=uri: registry.listings.find_bound(uri))  # type: ignore[misc]
        for name in ("press", "editor"):
            note(f"token {name}", lambda name=name: records.find_token_named(name))  # type: ignore[misc]
            note(f"grants {name}", lambda name=name: records.list_token_changes(name))  # type: ignore[misc]
        note("tokens", records.list_tokens)
        note("segments", records.list_segments)
        note("head", registry.head)
        note("changes", lambda: walk_changes(records))
    return answers


def get(registry: Registry, name: str) -> object:
    step = registry.reading.resolve(Query(identifier=parse(name))).step
    match step:
        case Fetch(representation=held):
            data = registry.bytes.read_bytes(held)  # a digest field goes with it over HTTP
            return (held.media_type, held.sha512, data)
        case Redirect(location=location):
            return location.uri
    return step


def list_all(registry: Registry, pattern: str) -> tuple[str, ...]:
    page = registry.listings.list_page(parse(pattern))
    if page.damaged:
        raise page.damaged[0]
    return tuple(map(str, page.identifiers))


def walk_changes(records: Records) -> object:
    found = list(check_changes(records))
    problem = next((one.problem for one in found if one.problem), None)
    if problem is not None:
        raise CorruptThere(identifier="changes", where="", promised="", found=problem)
    return found


def audit(root: Path) -> list[str]:
    """The findings of `verify --all`."""
    try:
        with Registry(root, environment={}) as registry:
            found = [str(one.problem) for one in audit_registry(registry) if one.problem]
            found += [one.problem for one in check_changes(registry.records) if one.problem]
            return found
    except PerdureError as error:
        return [str(error)]


def list_names(root: Path) -> tuple[str, ...]:
    with Registry(root, environment={}) as registry:
        rows = registry.records.scan_records("", "\U0010ffff", limit=1000)
        names = []
        for key, record in rows:
            assert not isinstance(record, Corrupt)
            names.append(record.name or str(parse_key(key)))
        return tuple(names)


def parse_key(key: str) -> object:
    from perdure.ids.pdi import Pdi

    return Pdi.from_key(key)


# Damages
# -------


def flip_bit(at: int, bit: int) -> Damage:
    def damage(data: bytearray) -> None:
        data[at] ^= 1 << bit

    return damage


def fill(at: int, length: int, value: int) -> Damage:
    def damage(data: bytearray) -> None:
        data[at : at + length] = bytes([value]) * len(data[at : at + length])

    return damage


def flip_last_time(data: bytearray) -> None:
    """Flip a bit in the time of the last change that states one, wherever it lies."""
    copy = bytearray(data)
    copy[18:20] = b"\1\1"  # a file in memory has no log
    connection = apsw.Connection(":memory:")
    connection.deserialize("main", bytes(copy))
    rows: Any = connection.execute("SELECT row FROM changes ORDER BY position").fetchall()
    connection.close()
    last = [row for (row,) in rows if not row[0] & 2][-1]  # not the same as before
    data[data.index(last) + 6 + 32 * (last[0] & 1)] ^= 16  # behind the chain of a full row


def list_damages(size: int, *, each: int, seed: int) -> Iterator[tuple[str, Damage]]:
    """Damages in every page: of its head, of its list of cells, and of its content."""
    draw = random.Random(seed)
    for page in range(0, size, PAGE):
        for number in range(each):
            room = min(PAGE, size - page)
            at = page + (draw.randrange(min(24, room)) if number % 5 == 0 else draw.randrange(room))
            if number % 4 == 3:
                length = draw.choice((2, 16, 512))
                yield f"{length} bytes at {at}", fill(at, length, draw.choice((0, 255)))
            else:
                bit = draw.randrange(8)
                yield f"bit {bit} at {at}", flip_bit(at, bit)


def check_damage(intact: Path, expected: Answers, place: Path, file: Path, damage: Damage) -> None:
    """Damage a copy of the registry and check all three promises."""
    root = damage_copy(intact, place, file, damage)
    names = tuple(one[4:] for one in expected if one.startswith("get "))
    found = ask_everything(root, names)
    told = audit(root)
    for question, answer in found.items():
        if answer != expected.get(question):
            assert told, f"{question} is {answer!r}, and nothing was found"
            assert not is_wrong(question, answer, expected.get(question)), f"{question}: {answer!r}"
    steps = rebuild_registry(root, SqliteStore(), Segments, now=REBUILT_AT)
    problems = [step.problem for step in steps if step.problem]
    again = ask_everything(root, names)
    for question, answer in again.items():
        if question.startswith(("get ", "token ")):
            if found.get(question) == expected[question]:
                assert answer == expected[question], f"{question}, rebuilt: {answer!r} {problems}"
            assert not is_wrong(question, answer, expected[question]), f"{question}: {answer!r}"
            # A rebuild reads no bytes whose heads are intact; `verify` finds those.
            if isinstance(answer, tuple) and isinstance(expected[question], tuple):
                continue
        if answer != expected[question] and question not in ("segments", "head", "changes"):
            assert problems, f"{question} is {answer!r} after a rebuild without a problem"
    shutil.rmtree(root)


def is_wrong(question: str, answer: Any, expected: Any) -> bool:
    """Whether an answer states something that was never true.

    An error, or less than the whole, does not.
    """
    if isinstance(answer, type) or answer in (None, [], ()) or expected is None:
        return False
    if question.startswith("get ") and isinstance(answer, tuple) and isinstance(expected, tuple):
        return answer[:2] != expected[:2]  # the bytes are sent with the digest that was promised
    if question == "interval":
        return not set(answer.members) <= set(expected.members)
    if isinstance(answer, (list, tuple)):
        return not {repr(one) for one in answer} <= {repr(one) for one in expected}
    return question != "head" and bool(answer != expected)


def sweep(
    intact: Path, place: Path, tally: Tally, files: list[Path], *, each: int, seed: int
) -> None:
    expected = ask_everything(intact, list_names(intact))
    assert not [one for one in expected.values() if isinstance(one, type)]
    assert audit(intact) == []
    failures = []
    for file in files:
        size = (intact / file).stat().st_size
        damages = list(list_damages(size, each=each, seed=seed))
        for name, damage in tally.each(damages, "damaged files"):
            try:
                check_damage(intact, expected, place, file, damage)
            except Exception as error:
                shutil.rmtree(place / "damaged", ignore_errors=True)
                kind = "" if isinstance(error, AssertionError) else f"{type(error).__name__}: "
                failures.append(f"{file.name}, {name}: {kind}{error}"[:600])
                tally.add("faults")
                tally.show(failures[-1])
    assert not failures, "\n".join(failures)


def test_damages_of_the_registry_file(intact: Path, place: Path, tally: Tally) -> None:
    sweep(intact, place, tally, [Path(FILE)], each=4, seed=1)


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(
            flip_bit(4107, 2), id="a pointer into the middle of a row: its key is a number"
        ),
        pytest.param(flip_bit(84003, 6), id="a line of a document that has a field too few"),
        pytest.param(flip_bit(49166, 0), id="a change that a scan passes over and a search finds"),
        pytest.param(fill(77844, 512, 255), id="rows among damaged pointers"),
        pytest.param(flip_bit(4096, 3), id="a page of records that becomes one of an index"),
        pytest.param(fill(48817, 512, 0), id="a change of a token without its name"),
        pytest.param(flip_last_time, id="the time of one of the last changes"),
    ],
)
def test_damages_that_sweeps_have_shown(intact: Path, place: Path, damage: Damage) -> None:
    expected = ask_everything(intact, list_names(intact))
    check_damage(intact, expected, place, Path(FILE), damage)


def test_damages_of_the_segments(intact: Path, place: Path, tally: Tally) -> None:
    with Registry(intact, environment={}) as registry:
        numbers = registry.bytes.list_numbers()
    files = [find_path(intact, number).relative_to(intact) for number in numbers]
    sweep(intact, place, tally, files, each=15, seed=2)


def damage_copy(intact: Path, place: Path, file: Path, damage: Damage) -> Path:
    root = place / "damaged"
    copy_as_new(intact, root)
    data = bytearray((root / file).read_bytes())
    damage(data)
    (root / file).write_bytes(data)
    return root


def test_every_command_ends_without_a_traceback(intact: Path, place: Path) -> None:
    size = (intact / FILE).stat().st_size
    for name, damage in list_damages(size, each=2, seed=3):
        root = damage_copy(intact, place, Path(FILE), damage)
        for words in (
            ("get", f"{TODAY}/2"),
            ("list", f"pdi://{SERIES}/2026/11/21/"),
            ("export",),
            ("verify", "--all"),
            ("history", f"{TODAY}/1"),
            ("rebuild",),
            ("verify", "--all"),
        ):
            result = CliRunner(env={"PERDURE_REGISTRY": str(root)}).invoke(perdure, words)
            failure = result.exception
            assert failure is None or isinstance(failure, SystemExit), (name, words, failure)
            assert "Traceback" not in result.stderr, (name, words)
        shutil.rmtree(root)


def test_a_server_answers_whatever_is_damaged(intact: Path, place: Path) -> None:
    records = {f"{TODAY}/{number}": f"document {number}".encode() for number in (1, 2, 3)}
    size = (intact / FILE).stat().st_size
    damages = list(list_damages(size, each=1, seed=5))
    for name, damage in damages[4 :: len(damages) // 2]:
        root = damage_copy(intact, place, Path(FILE), damage)
        process, port = start(root)
        try:
            running = Deployment(root, port, process)
            wait_for(running)
            for record, data in records.items():
                answer = running.get(f"/{record}")
                assert answer.status in (200, 302, 303, 404, 500, 503), (name, record, answer)
                assert answer.status != 200 or answer.body == data, (name, record)
            listing = running.get(f"/{TODAY}/")
            assert listing.status in (200, 404, 500, 503), (name, listing)
            running.registry.close()
        finally:
            process.terminate()
            process.wait(60)
        assert "Traceback" not in (root.parent / f"{port}.log").read_text("utf-8"), name
        shutil.rmtree(root)


@pytest.mark.trial
@pytest.mark.parametrize("seed", range(10, 30))
def test_many_damages(intact: Path, place: Path, tally: Tally, seed: int) -> None:
    sweep(intact, place, tally, [Path(FILE)], each=40, seed=seed)
