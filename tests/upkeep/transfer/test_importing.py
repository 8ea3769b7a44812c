"""Import: bad lines, order, resumption, all or nothing, bytes in files."""

from __future__ import annotations

import base64
import io
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import SERIES, TODAY, Desk
from tests.trials import Tally

from perdure.ids import parse
from perdure.model.commands import Joining, Load
from perdure.registry import Registry
from perdure.storage.spool import IN_MEMORY
from perdure.upkeep.transfer import blocks, importing
from perdure.upkeep.transfer.importing import ImportProgress, ImportSource, import_lines
from perdure.upkeep.transfer.previewing import preview_lines
from perdure.writing.peers import SharedDoor

DAY = f"pdi://{SERIES}/1997/09/01"


def lines(objects: Iterable[object]) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in objects).encode()


def take(desk: Desk, data: bytes | Iterable[object], **options: Any) -> ImportProgress:
    """Imports a stream; gives the last progress, with all faults."""
    if not isinstance(data, bytes):
        data = lines(data)
    source = ImportSource(io.BytesIO(data), desk.root.parent)
    return last(import_lines(desk.registry, source, **options))


def last(steps: Iterable[ImportProgress]) -> ImportProgress:
    faults: list[blocks.Fault] = []
    end = None
    for end in steps:
        faults += end.faults
    assert end is not None
    assert end.refused == len(faults)
    return ImportProgress(
        phase=end.phase,
        read=end.read,
        accepted=end.accepted,
        refused=end.refused,
        faults=tuple(faults),
    )


def bad(progress: ImportProgress) -> list[int]:
    return [fault.line for fault in progress.faults]


def bound(number: int) -> dict[str, Any]:
    return {"id": f"{DAY}/{number}.html.1", "locations": [f"https://a.example/{number}"]}


def listed(desk: Desk) -> list[str]:
    page = desk.registry.listings.list_page(parse(f"pdi://{SERIES}/"))
    return [str(one) for one in page.identifiers]


# Line by line
# ------------


@pytest.fixture(params=[False, True], ids=["one by one", "atomic"])
def atomic(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_lines_in_any_order_are_imported(desk: Desk, atomic: bool) -> None:
    numbers = list(range(1, 500))
    random.Random(1997).shuffle(numbers)
    end = take(desk, map(bound, numbers), atomic=atomic)
    assert (end.accepted, end.refused) == (499, 0)
    assert listed(desk) == [f"{DAY}/{number}" for number in range(1, 500)]
    assert desk.registry.listings.find_bound("https://a.example/250")


def test_one_bad_line_does_not_spoil_the_others(desk: Desk) -> None:
    """ "a bad line is reported with its number and the rest goes on"."""
    given = [bound(1), {"id": "nothing"}, bound(2), {"id": f"{DAY}/3", "typo": 1}, bound(3)]
    end = take(desk, lines(given) + b"{\n")
    assert (end.accepted, bad(end)) == (3, [2, 4, 6])
    assert [fault.error["code"] for fault in end.faults] == [
        "unknown-scheme",
        "invalid-request",
        "invalid-request",
    ]


def test_or_nothing_does(desk: Desk) -> None:
    """ "or nothing does with `--atomic`"."""
    given = [bound(1), {"id": "nothing"}, {"id": "nothing either"}]
    end = take(desk, given, atomic=True)
    assert (end.accepted, bad(end)) == (0, [2, 3])
    assert desk.registry.records.count_records() == 0


def test_a_contradiction_is_a_bad_line_also_between_lines(desk: Desk, atomic: bool) -> None:
    def held(number: int, text: str) -> dict[str, Any]:
        return {"id": f"{DAY}/{number}", "content": {"text": text}}

    take(desk, [held(1, "a")])
    given = [held(1, "a"), held(1, "b"), held(2, "c"), held(2, "d"), held(0, "e"), held(2, "f")]
    end = take(desk, given, atomic=atomic)
    assert sorted(bad(end)) == [2, 4, 6]
    assert all(fault.error["code"] == "conflict" for fault in end.faults)
    assert desk.served(f"{DAY}/1") == b"a"
    assert desk.registry.records.count_records() == (1 if atomic else 3)


def test_what_a_name_or_a_record_cannot_have_is_a_bad_line(desk: Desk, atomic: bool) -> None:
    """Which is found only when all that is said of it comes together."""

    def values(*indexes: int) -> dict[str, Any]:
        some = [{"index": index, "type": "EMAIL", "data": "x"} for index in indexes]
        return {"id": "hdl:10.9999/values", "values": some}

    take(desk, [values(*range(1, 600))])
    given = [
        bound(1),
        {"id": f"{DAY}/2", "content": {"text": "kept"}},
        values(*range(600, 1200)),  # handles have at most 1000
        {"id": "hdl:10.9999/new", "values": values(*range(1, 600))["values"]},
        {"id": "hdl:10.9999/new", "values": values(*range(600, 1200))["values"]},
        {"id": f"{DAY}/3", "content": {"text": "x", "version": 10**18}},  # of 18 digits at most
        {"id": f"{DAY}/{'x' * (8190 - len(DAY))}", "content": {"text": "x"}},  # 8192 with .text.1
        {"id": f"{DAY}/y", "content": {"text": "x", "format": "x" * 8190}},
        bound(4),
    ]
    if atomic:  # what can be told of each line alone is told first
        for some, faults in ((given, [6, 7, 8]), (given[:5], [5]), (given[:3], [3])):
            assert bad(take(desk, some, atomic=True)) == faults
        assert listed(desk) == []
        return
    end = take(desk, given)
    assert (end.accepted, sorted(bad(end))) == (4, [3, 5, 6, 7, 8])
    assert listed(desk) == [f"{DAY}/1", f"{DAY}/2", f"{DAY}/4"]


TITLE = {"about": {"titles": [{"value": "T"}]}}
THIRD = {"version": 3, **TITLE}
PDF = {"format": "pdf", **TITLE}


@pytest.mark.parametrize(
    ("line", "known"),
    [
        ({"id": f"{DAY}/1.text.3", **TITLE}, "none"),
        ({"id": f"{DAY}/1.text.1", **TITLE}, "none"),
        ({"id": f"{DAY}/1", "narrower": [THIRD], "metadata": {"a": "b"}}, "none"),
        ({"id": f"{DAY}/1", "content": {"text": "one"}, "narrower": [THIRD]}, "1"),
        ({"id": f"{DAY}/1", "content": {"text": "one"}, "narrower": [PDF]}, "text"),
    ],
    ids=["full name", "first version", "nothing held", "another version", "another format"],
)  # fmt: skip
@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("how", [Joining.ADD, Joining.MERGE, Joining.REPLACE])
def test_a_level_that_does_not_exist_is_not_described(
    desk: Desk, atomic: bool, line: dict[str, Any], known: str, *, is_known: bool, how: Joining
) -> None:
    """A new name is no exception.  # rulings: version-metadata, part-exists"""
    if is_known:
        take(desk, [{"id": f"{DAY}/1", "metadata": {"c": "d"}}])
    before = desk.registry.listings.find_record(parse(f"{DAY}/1"))
    end = take(desk, [line, bound(2)], atomic=atomic, how=how)
    assert bad(end) == [1]
    assert known in str(end.faults[0].error["message"])
    source = ImportSource(io.BytesIO(lines([line])), desk.root.parent)
    (fault,) = preview_lines(desk.registry, source, how)
    assert isinstance(fault, blocks.Fault)
    assert desk.registry.listings.find_record(parse(f"{DAY}/1")) == before
    assert (f"{DAY}/2" in listed(desk)) is not atomic


@pytest.mark.parametrize(
    "line",
    [
        {"id": f"{DAY}/1.text.3", "content": {"text": "three"}, **TITLE},
        {"id": f"{DAY}/1.text.3", "locations": ["https://a.example/3"], **TITLE},
        {"id": f"{DAY}/1", "contents": [{"version": 3, "text": "x"}], "narrower": [THIRD]},
        {"id": f"{DAY}/1.html", "locations": ["https://a.example/3"], **TITLE},
    ],
    ids=["content", "location", "contents", "format"],
)
def test_a_level_that_the_line_creates_is_described(
    desk: Desk, atomic: bool, line: dict[str, Any]
) -> None:
    end = take(desk, [line], atomic=atomic)
    assert (end.accepted, end.refused) == (1, 0), end.faults
    (said,) = desk.record(f"{DAY}/1").narrower
    assert said.about is not None
    assert said.about.title == "T"


def test_a_contradiction_with_the_registry_stops_all_or_nothing(desk: Desk) -> None:
    take(desk, [{"id": f"{DAY}/2", "content": {"text": "a"}}])
    end = take(desk, [bound(1), {"id": f"{DAY}/2", "content": {"text": "b"}}], atomic=True)
    assert (end.accepted, bad(end)) == (0, [2])
    assert listed(desk) == [f"{DAY}/2"]


def test_importing_again_changes_nothing(desk: Desk, atomic: bool) -> None:
    given = [bound(1), {"id": f"{DAY}/2", "content": {"text": "x"}, "aliases": ["hdl:1/2"]}]
    take(desk, given, atomic=atomic)
    before = [desk.record(f"{DAY}/{number}") for number in (1, 2)]
    segments = desk.registry.records.list_segments()
    desk.clock.advance(hours=1)
    end = take(desk, given, atomic=atomic)
    assert (end.accepted, end.refused) == (2, 0)
    assert [desk.record(f"{DAY}/{number}") for number in (1, 2)] == before
    assert desk.registry.records.list_segments() == segments


def test_lines_of_one_identifier_make_one_revision(
    desk: Desk, atomic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the end of a block comes between them."""
    monkeypatch.setattr(blocks, "BLOCK", 100)
    given = [
        {"id": f"{DAY}/{number}", "locations": [f"https://{host}.example/{number}"]}
        for number in range(1, 30)
        for host in "abc"
    ]
    take(desk, given, atomic=atomic)
    for number in range(1, 30):
        found = desk.record(f"{DAY}/{number}")
        assert (found.revision, len(found.locations)) == (1, 3)


def test_a_known_identifier_takes_what_is_new(desk: Desk, atomic: bool) -> None:
    take(desk, [bound(1)])
    more = {"id": f"{DAY}/1", "locations": ["https://b.example/1"], "content": {"text": "x"}}
    take(desk, [more], atomic=atomic)
    found = desk.record(f"{DAY}/1")
    assert (len(found.locations), found.revision) == (2, 2)
    assert desk.served(f"{DAY}/1") == b"x"


def test_aliases_lead_both_ways(desk: Desk, atomic: bool) -> None:
    take(desk, [{"id": f"{DAY}/1", "aliases": ["DOI:10.1000/182"]}], atomic=atomic)
    assert desk.names("hdl:10.1000/182") == ["doi:10.1000/182", f"{DAY}/1"]
    assert desk.names(f"{DAY}/1") == [f"{DAY}/1", "doi:10.1000/182"]


def test_dates_to_come_are_refused_and_serials_of_today_are_not_minted_again(desk: Desk) -> None:
    end = take(desk, [{"id": f"{TODAY}/41"}, {"id": f"pdi://{SERIES}/2026/11/22/1"}])
    assert bad(end) == [2]
    assert desk.mint().identifier == f"{TODAY}/42"


def test_many_runs_and_blocks_give_what_few_give(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 2000)
    monkeypatch.setattr(importing, "_MOST_BYTES", 3000)
    monkeypatch.setattr(importing, "_SOME", 7)
    rng = random.Random(42)
    given: list[dict[str, Any]] = [bound(rng.randrange(1, 200)) for _ in range(400)]
    given += [
        {"id": f"{DAY}/{rng.randrange(300, 350)}", "content": {"text": "x" * 100}}
        for _ in range(100)
    ]
    rng.shuffle(given)
    end = take(desk, given)
    assert end.refused == 0
    expected = {one["id"].removesuffix(".html.1") for one in given}
    assert set(listed(desk)) == expected
    assert desk.problems() == []


@pytest.mark.trial
def test_two_million_names_are_imported_and_found_again(
    desk: Desk, place: Path, tally: Tally
) -> None:
    count = 2_000_000
    path = place / "names.jsonl"
    with path.open("w") as file:
        file.writelines(f"{json.dumps(bound(number))}\n" for number in range(1, count + 1))
    with path.open("rb") as opened:
        steps = []
        for step in import_lines(desk.registry, ImportSource(opened, place, path)):
            tally.reach("imported names", step.accepted, count)
            steps.append(step)
    end = last(steps)
    assert (end.accepted, end.refused) == (count, 0)
    for number in tally.each(random.Random(1997).sample(range(1, count + 1), 1000), "names read"):
        (location,) = desk.record(f"{DAY}/{number}").locations
        assert location.uri == f"https://a.example/{number}"
    assert desk.registry.records.count_records() == count
    assert desk.problems() == []


# Bytes in files
# --------------


def test_bytes_lie_beside_the_lines(desk: Desk, place: Path, atomic: bool) -> None:
    long = random.Random(1984).randbytes(IN_MEMORY + 1)
    (place / "long.bin").write_bytes(long)
    (place / "short.txt").write_bytes(b"short")
    given = [
        {"id": f"{DAY}/1", "content": {"path": "long.bin", "format": "octet-stream"}},
        {"id": f"{DAY}/2", "content": {"path": "short.txt"}},
        {"id": f"{DAY}/3", "content": {"path": "absent.txt"}},
    ]
    assert bad(take(desk, given, atomic=atomic)) == [3]
    if not atomic:
        assert desk.served(f"{DAY}/1", format="octet-stream") == long
        assert desk.served(f"{DAY}/2") == b"short"
    assert list((desk.root / "incoming").iterdir()) == []


# Interruptions
# -------------


def interrupted(desk: Desk, path: Path, steps: int) -> None:
    """An import that ends after some steps, as by Ctrl-C."""
    with path.open("rb") as file:
        run = import_lines(desk.registry, ImportSource(file, path.parent, path))
        for _ in range(steps):
            next(run)
        run.close()  # type: ignore[attr-defined]


def resumed(desk: Desk, path: Path) -> tuple[ImportProgress, int]:
    """The last progress, and where reading began."""
    with path.open("rb") as file:
        steps = list(import_lines(desk.registry, ImportSource(file, path.parent, path)))
    return last(steps), steps[0].read


def test_an_interrupted_import_goes_on_where_it_stopped(
    desk: Desk, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 1000)
    path = place / "lines.jsonl"
    path.write_bytes(lines(map(bound, range(1, 200))))
    interrupted(desk, path, 12)
    done = desk.registry.records.count_records()
    assert 0 < done < 199
    end, began = resumed(desk, path)
    assert began > 5000
    assert end.accepted < 199
    assert len(listed(desk)) == 199
    assert desk.registry.listings.find_bound("https://a.example/1")
    assert list((desk.root / "incoming").iterdir()) == []


def test_a_row_that_waits_while_nothing_comes_is_read_again(
    desk: Desk, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks of bad lines follow: an interruption among them must not lose the last good one."""
    monkeypatch.setattr(blocks, "BLOCK", 1000)
    monkeypatch.setattr(importing, "_BLOCKS", 1)
    path = place / "lines.jsonl"
    path.write_bytes(
        lines(map(bound, range(1, 50))) + b"bad\n" * 2000 + lines(map(bound, range(50, 99)))
    )
    interrupted(desk, path, 9)
    assert 0 < len(listed(desk)) < 49
    resumed(desk, path)
    assert len(listed(desk)) == 98


def test_lines_that_had_to_wait_are_read_again(
    desk: Desk, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first line that comes too late is not durable, and neither is any checkpoint after it."""
    monkeypatch.setattr(blocks, "BLOCK", 1000)
    path = place / "lines.jsonl"
    path.write_bytes(lines(map(bound, [*range(100, 150), *range(1, 100), *range(150, 200)])))
    interrupted(desk, path, 20)
    resumed(desk, path)
    assert len(listed(desk)) == 199


def test_a_file_that_was_changed_is_read_from_the_beginning(
    desk: Desk, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 1000)
    path = place / "lines.jsonl"
    path.write_bytes(lines(map(bound, range(1, 100))))
    interrupted(desk, path, 5)
    path.write_bytes(lines(map(bound, range(501, 700))))
    end, _ = resumed(desk, path)
    assert end.accepted == 199


def test_an_interrupted_atomic_import_leaves_nothing(
    desk: Desk, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 1000)
    (place / "long.bin").write_bytes(bytes(IN_MEMORY + 1))
    given = [
        {"id": f"{DAY}/0", "content": {"path": "long.bin"}},
        *map(bound, range(1, 100)),
    ]
    source = ImportSource(io.BytesIO(lines(given)), place)
    run = import_lines(desk.registry, source, atomic=True)
    next(run)
    next(run)
    run.close()  # type: ignore[attr-defined]
    assert desk.registry.records.count_records() == 0
    assert list((desk.root / "incoming").iterdir()) == []


def test_references_are_findable_after_an_interruption(
    desk: Desk, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever writes next, or the same import when it goes on, sees to it."""
    monkeypatch.setattr(blocks, "BLOCK", 1000)
    path = place / "lines.jsonl"
    path.write_bytes(lines(map(bound, range(1, 100))))
    interrupted(desk, path, 5)
    desk.reopen()
    desk.registry.door.execute_command(Load())
    assert desk.registry.listings.find_bound("https://a.example/1")


def test_what_is_refused_leaves_no_file_behind(desk: Desk, place: Path, atomic: bool) -> None:
    """Long content waits in files, also that of a line which turns out to be bad."""
    (place / "long.bin").write_bytes(bytes(IN_MEMORY + 1))
    long = {"path": "long.bin", "format": "gif"}
    in_line = {"base64": base64.b64encode(bytes(IN_MEMORY + 1)).decode(), "format": "gif"}
    given = [
        {"id": f"{DAY}/1", "content": in_line},  # read twice: what follows names files
        {"id": f"{DAY}/2", "contents": [long, {"path": "missing"}]},
        {"id": f"{DAY}/3", "content": long, "withdrawn": [{"reason": "r", "version": 7}]},
        {"id": f"{DAY}/4", "contents": [long, {"text": "x", "format": "gif"}]},
        {"id": f"{DAY}/{'x' * (8190 - len(DAY))}", "content": long},
    ]
    source = ImportSource(io.BytesIO(lines(given)), place)
    end = last(import_lines(desk.registry, source, atomic=atomic))
    assert bad(end) == [2, 3, 4, 5]
    assert list((desk.root / "incoming").iterdir()) == []
    assert listed(desk) == ([] if atomic else [f"{DAY}/1"])


# Beside others, and through crashes
# ----------------------------------


def test_import_works_beside_a_process_that_writes(desk: Desk, atomic: bool, place: Path) -> None:
    """As beside a server: loads go to whoever holds the write lock."""
    (place / "long.bin").write_bytes(bytes(IN_MEMORY + 1))
    given = [
        bound(1),
        {"id": f"{DAY}/2", "content": {"text": "x"}, "aliases": ["hdl:1/2"]},
        {"id": f"{DAY}/3", "content": {"path": "long.bin", "format": "gif"}},
    ]
    assert isinstance(desk.registry.door, SharedDoor)
    desk.registry.door.elect_leader()
    with Registry(desk.root, environment={}, clock=desk.clock) as other:
        source = ImportSource(io.BytesIO(lines(given)), place)
        end = last(import_lines(other, source, atomic=atomic))
        assert isinstance(other.door, SharedDoor)
        assert other.door.committer is None
    assert (end.accepted, end.refused) == (3, 0)
    assert desk.served(f"{DAY}/2") == b"x"
    assert set(desk.names("hdl:1/2")) == {"hdl:1/2", f"{DAY}/2"}
    assert desk.problems() == []


@pytest.mark.parametrize("seed", range(3))
def test_an_import_that_was_killed_is_completed_by_the_next(
    desk: Desk, place: Path, seed: int
) -> None:
    """Nothing is lost, nothing is there twice, and nothing half."""
    desk.registry.close()
    rng = random.Random(seed)
    path = place / "lines.jsonl"
    numbers = list(range(1, 20_001))
    if seed:
        rng.shuffle(numbers)
    path.write_bytes(
        lines(
            bound(number) | ({"content": {"text": f"text {number}"}} if number % 9 == 0 else {})
            for number in numbers
        )
    )
    command = [sys.executable, "-m", "perdure.cli", "-C", str(desk.root), "import", str(path)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    segment = desk.root / "segments" / "000001.warc"
    while process.poll() is None and not segment.exists():
        time.sleep(0.001)
    time.sleep(rng.random() / 5)
    process.kill()
    process.wait()
    subprocess.run(command, stderr=subprocess.DEVNULL, check=True)
    desk.reopen()
    assert desk.registry.records.count_records() == 20_000
    assert desk.problems() == []
    assert desk.served(f"{DAY}/9", format="html") == b"text 9"
    assert all(
        desk.registry.listings.find_bound(f"https://a.example/{number}")
        for number in (1, 9, 20_000)
    )
    left = {one.name for one in (desk.root / "incoming").iterdir()}
    assert left == set()
