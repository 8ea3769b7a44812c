"""Erasing: the bytes, what was computed from them, their digests and salts; also after a crash."""

from __future__ import annotations

import io
import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from fastwarc.warc import ArchiveIterator
from tests.conftest import NOON, TODAY, Clock, Desk, large, sha512, text
from tests.storage.test_ocfl import valid
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from perdure.errors import Conflict, Corrupt, NoSuchVersion, StorageFailed
from perdure.errors.conflicts import NameWithdrawn, NoCapturesToErase, SecondPersonNeeded
from perdure.ids import parse
from perdure.model.commands import Assign, Erase, Outcome, Receipt, SaveToken
from perdure.model.queries import Fetch
from perdure.model.records import Blank, Location, Record, Token
from perdure.reading.extraction import PartExtraction
from perdure.registry import Registry, initialise
from perdure.storage.segments.directory import find_path, list_segments
from perdure.storage.sqlite.opening import FILE
from perdure.upkeep import audit
from perdure.upkeep.changes.walking import check_changes
from perdure.upkeep.transfer.importing import ImportSource, import_lines
from perdure.upkeep.transfer.renewal import rebuild_registry

NAME = f"{TODAY}/1"
SECRET = b"Jane Doe lives at 12 Mill Lane.\n"


@pytest.fixture
def desk(desk: Desk) -> Desk:
    desk.reopen(erasure_persons=1)
    return desk


def erase(desk: Desk, name: str = NAME, reason: str = "the law", **fields: Any) -> Receipt:
    command = Erase(identifier=parse(name), reason=reason, **fields)
    return desk.registry.door.execute_command(command)


def problems(registry: Registry) -> list[str]:
    """What `verify` finds."""
    digests = audit.verify_digests(registry.records, registry.bytes)
    found = [one.problem for one in digests if one.problem]
    return found + [one.problem for one in check_changes(registry.records) if one.problem]


def is_on_disk(root: Path, *secrets: bytes) -> list[str]:
    """The files of a registry that contain one of these texts."""
    return [
        str(path.relative_to(root))
        for path in sorted(root.rglob("*"))
        if path.is_file() and any(one in path.read_bytes() for one in secrets)
    ]


def check_segments(root: Path) -> None:
    """The segments are valid for readers that are not ours."""
    for number in list_segments(root):
        path = find_path(root, number)
        with path.open("rb") as file:
            for record in ArchiveIterator(file, parse_http=False):
                assert record.headers["WARC-Block-Digest"].startswith("sha512:")
                assert sha512(record.reader.read()) == record.headers["WARC-Block-Digest"][7:]
        with path.open("rb") as file:
            for record in WarcioIterator(file, check_digests="raise"):
                record.raw_stream.read()
    assert valid(root)


@pytest.mark.parametrize("sealed", [False, True])
def test_nothing_of_erased_bytes_is_left(desk: Desk, *, sealed: bool) -> None:
    """Ruling tombstone-silence: "blanks the content in segment, sealed object and indexes at the
    same length, keeps them valid for their validators, destroys salts"."""
    desk.mint(text(SECRET))
    desk.mint(text("something else"))
    desk.commit(NAME, text("a second version\n"))
    digest = sha512(SECRET)
    index = desk.root / "indexes" / "text" / digest[:2] / digest
    index.parent.mkdir(parents=True)
    index.write_bytes(SECRET)
    if sealed:
        desk.clock.advance(days=1)
        assert desk.registry.seal() == [1]
    assert is_on_disk(desk.root, SECRET)
    receipt = erase(desk)
    assert (receipt.outcome, receipt.unreached) == (Outcome.CHANGED, ())
    assert is_on_disk(desk.root, SECRET, digest.encode()) == []
    assert not index.exists()
    assert not list((desk.root / "erasing").iterdir())
    check_segments(desk.root)
    assert problems(desk.registry) == []
    erased = list(audit.verify_digests(desk.registry.records, desk.registry.bytes))
    assert [bool(one.erased) for one in erased] == [True, False, True]
    assert desk.served(f"{TODAY}/2") == b"something else"
    assert desk.registry.changes()[-1].act == "erase"
    with pytest.raises(NameWithdrawn):
        desk.commit(NAME, text("again"))


def test_the_chain_goes_on_and_says_nothing(desk: Desk) -> None:
    desk.mint(text(SECRET))
    desk.mint(text("something else"))
    before = desk.registry.changes()
    erase(desk)
    after = desk.registry.changes()
    assert [one.chain for one in after[: len(before)]] == [one.chain for one in before]
    assert [one.salt is None for one in after] == [False, True, False, False]


def test_one_version_is_erased(desk: Desk) -> None:
    desk.mint(text(SECRET))
    desk.commit(NAME, text("without names"))
    erase(desk, f"{NAME}.text.1")
    assert is_on_disk(desk.root, SECRET) == []
    record = desk.record(NAME)
    assert record.tombstone is None
    assert record.versions[0].tombstone
    assert record.versions[0].tombstone.erased == "2026-11-21T12:00:00Z"
    assert desk.served(NAME, 2) == b"without names"
    with pytest.raises(NoSuchVersion):
        erase(desk, f"{NAME}.text.3")


def test_a_version_that_is_erased_silently_leaves_the_descriptions(desk: Desk) -> None:
    """They are about the versions that are still served, too."""
    desk.mint(text(SECRET), metadata={"title": "a title"})
    desk.commit(NAME, text("without names"))
    desk.registry.door.execute_command(
        Erase(identifier=parse(f"{NAME}.text.1"), reason="x", by="anna", silent=True)
    )
    assert desk.record(NAME).metadata == {"title": "a title"}
    desk.registry.door.execute_command(
        Erase(identifier=parse(NAME), reason="x", by="anna", silent=True)
    )
    assert desk.record(NAME).metadata == {}
    assert is_on_disk(desk.root, b"a title") == []


def test_a_part_is_erased_and_its_version_withdrawn(desk: Desk) -> None:
    desk.mint(text(SECRET))
    (stretch,) = desk.registry.documents.find_stretches(parse(f"{NAME}.text.1#char=0,8"), None)
    assert stretch == Blank(version=1, format="text", start=0, end=8)
    erase(desk, f"{NAME}.text.1", blanks=(stretch,))
    assert desk.served(NAME) == bytes(8) + SECRET[8:]
    version = desk.record(NAME).versions[0]
    assert version.tombstone
    assert version.tombstone.erased == ""
    assert problems(desk.registry) == []
    check_segments(desk.root)
    erase(desk, f"{NAME}.text.1")
    assert is_on_disk(desk.root, b"Mill Lane") == []
    assert problems(desk.registry) == []


def test_what_was_withdrawn_keeps_its_reason(desk: Desk) -> None:
    desk.mint(text(SECRET))
    desk.withdraw(NAME, "an error", by="anna")
    erase(desk, by="bert")
    tombstone = desk.record(NAME).tombstone
    assert tombstone
    assert (tombstone.reason, tombstone.by, tombstone.erased_by) == ("an error", "anna", "bert")
    assert erase(desk).outcome is Outcome.UNCHANGED


def test_a_digest_is_kept_on_purpose(desk: Desk) -> None:
    desk.mint(text(SECRET))
    erase(desk, keep_digest=True)
    (held,) = desk.record(NAME).versions[0].representations
    assert held.original == sha512(SECRET)
    assert problems(desk.registry) == []


def test_the_promise_of_a_location_goes_too(desk: Desk) -> None:
    desk.mint(text(SECRET))
    desk.bind(NAME, Location(uri="https://a.example/", version=1, sha512=sha512(SECRET)))
    erase(desk)
    assert is_on_disk(desk.root, sha512(SECRET).encode()) == []
    assert desk.registry.records.find_referring(f"sha512:{sha512(SECRET)}") == []


def test_documents_about_it_are_listed_and_stay(desk: Desk) -> None:
    """A signature states the digest of what was signed, so the withdrawer must know of it."""
    desk.mint(text("one"))
    desk.commit(NAME, text("another"))
    about = [
        desk.mint(text(str(at)), targets=tuple(map(parse, names))).identifier.rpartition(".text")[0]
        for at, names in enumerate(
            [(f"{NAME}.text.1#char=0,1",), (f"{NAME}.text.2",), (NAME, f"{TODAY}/9"), ("hdl:1/2",)]
        )
    ]
    assert desk.withdraw(f"{NAME}.text.1").written_about == (about[0], about[2])
    desk.withdraw(about[0])
    assert desk.withdraw(NAME).written_about == (about[1], about[2])
    assert desk.withdraw(about[3]).written_about == ()


def test_copies_under_other_names_are_listed_and_stay(desk: Desk) -> None:
    """Ruling tombstone-silence: "documents held here that contain a copy … are listed to the
    withdrawer and keep their bytes"."""
    for _ in range(3):
        desk.mint(text(SECRET))
    desk.commit(NAME, text("another"))
    desk.commit(NAME, text(SECRET))
    assert desk.withdraw(f"{NAME}.text.1").copies == (
        f"{NAME}.text.3",
        f"{TODAY}/2.text.1",
        f"{TODAY}/3.text.1",
    )
    assert desk.withdraw(f"{TODAY}/2").copies == (f"{NAME}.text.3", f"{TODAY}/3.text.1")
    assert erase(desk, f"{TODAY}/2").copies == (f"{NAME}.text.3", f"{TODAY}/3.text.1")
    assert desk.served(f"{TODAY}/3") == SECRET


def test_a_withdrawal_deletes_what_was_computed(desk: Desk) -> None:
    """Ruling tombstone-silence: "what was computed from it is deleted"."""
    desk.mint(text(SECRET))
    digest = sha512(SECRET)
    kept = [
        desk.root / "indexes" / kind / digest[:2] / f"{digest}{suffix}"
        for kind in ("about", "text", "pages")
        for suffix in ("", ".asked", ".making")
    ]
    other = desk.root / "indexes" / "text" / "00" / ("0" * 128)
    for path in (*kept, other):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    desk.withdraw(NAME)
    assert not any(path.exists() for path in kept)
    assert other.exists()
    assert desk.served(NAME) == SECRET  # it is kept, though not served


def test_a_rebuild_brings_nothing_back(desk: Desk) -> None:
    desk.mint(text(SECRET))
    desk.mint(text("something else"))
    erase(desk)
    registry = desk.registry
    store, open_bytes = registry.store, registry.open_bytes
    registry.close()
    for loss in (False, True):
        if loss:
            for path in desk.root.glob("registry.sqlite*"):
                path.unlink()
        steps = rebuild_registry(desk.root, store, open_bytes, now="2026-11-21T13:00:00Z")
        list(steps)
        with Registry(desk.root, environment={}, clock=desk.clock) as fresh:
            assert problems(fresh) == []
            record = fresh.records.find_record(parse(NAME).key)
            assert record
            assert record.tombstone
            assert record.tombstone.erased
            assert record.versions[0].representations[0].is_erased
        assert is_on_disk(desk.root, SECRET) == []


def test_links_of_a_backup_are_named(desk: Desk) -> None:
    desk.mint(text(SECRET))
    desk.clock.advance(days=1)
    desk.registry.seal()
    copy = desk.root.parent / "copy"
    desk.registry.bytes.copy_segment(1, 0, copy, link=True)
    (left,) = erase(desk).unreached
    assert left.startswith("segment 1: ")
    assert is_on_disk(desk.root, SECRET) == []
    assert is_on_disk(copy, SECRET)


def test_an_erasure_that_the_disk_refuses_is_repeated(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.mint(text(SECRET))
    with monkeypatch.context() as patched:

        def refuse(*_: object) -> None:
            raise OSError(5, "Input/output error")

        patched.setattr(PartExtraction, "delete_indexes", refuse)
        desk.reopen()  # its writer gets the function when it is opened
        with pytest.raises(StorageFailed):
            erase(desk)
    desk.reopen()
    assert is_on_disk(desk.root, SECRET)
    assert erase(desk).outcome is Outcome.UNCHANGED
    assert is_on_disk(desk.root, SECRET) == []
    assert problems(desk.registry) == []


def test_an_erasure_blesses_no_damaged_revision(desk: Desk) -> None:
    """A redacted line gets a new checksum, so a line without its own is not redacted."""
    desk.mint(text(SECRET))
    desk.bind(NAME, "https://a.example/")
    desk.registry.close()
    change = "UPDATE history SET record=replace(record, 'text/plain', 'text/x-log')"
    with closing(sqlite3.connect(desk.root / FILE)) as connection, connection:
        (guard,) = connection.execute(
            "SELECT sql FROM sqlite_master WHERE name='history_holds'"
        ).fetchone()
        for statement in ("DROP TRIGGER history_holds", change, guard):
            connection.execute(statement)
    desk.reopen()
    before = desk.record(NAME)
    with pytest.raises(Corrupt, match="a row with its checksum"):
        erase(desk)
    assert desk.record(NAME) == before
    assert desk.served(NAME) == SECRET
    with pytest.raises(Corrupt):
        desk.registry.records.list_revisions(parse(NAME).key)
    assert [one.act for one in desk.registry.changes()] == ["begin", "mint", "bind"]


def test_work_of_a_batch_that_failed_is_dropped(desk: Desk) -> None:
    desk.mint(text(SECRET))
    record = desk.record(NAME)
    (held,) = record.versions[0].representations
    desk.registry.close()
    place = desk.root / "erasing"
    place.mkdir()
    blanking = {"held": json.loads(json.dumps(_plain(held))), "spans": [[0, held.length]]}
    work = {"key": parse(NAME).key, "at": "x", "digests": [], "blankings": [blanking]}
    (place / "00.json").write_text(json.dumps(work))
    desk.reopen()
    desk.mint(text("the writer is open"))
    assert desk.served(NAME) == SECRET
    assert not list(place.iterdir())


def _plain(held: Any) -> dict[str, Any]:
    return {name: getattr(held, name) for name in held.__struct_fields__}


# Crashes
# -------

_CALLS = ("fsync", "fdatasync", "pwrite", "rename", "replace", "unlink", "link", "mkdir", "rmdir")


def _die_at(number: int) -> None:
    """Let the process die before its call `number` of those that change files."""
    left = number

    def guard(call: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **named: Any) -> Any:
            nonlocal left
            left -= 1
            if left < 0:
                os._exit(9)
            return call(*arguments, **named)

        return counted

    for name in _CALLS:
        setattr(os, name, guard(getattr(os, name)))


def _die_while_erasing(root: Path, clock: Clock, number: int) -> bool:
    """Erase in another process that dies at this call. Return whether it died."""
    child = os.fork()
    if not child:
        with suppress(BaseException):
            environment = {"PERDURE_ERASURE_PERSONS": "1"}
            with Registry(root, environment=environment, clock=clock) as registry:
                _die_at(number)
                registry.door.execute_command(Erase(identifier=parse(NAME), reason="the law"))
                os._exit(0)
        os._exit(1)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, 9)
    return code == 9


@pytest.mark.parametrize("sealed", [False, True])
def test_a_crash_at_any_point_is_mended_by_repeating(place: Path, *, sealed: bool) -> None:
    """At every moment the other documents are readable, and nothing is half erased in the end."""
    number, died = 0, True
    while died:
        root = place / str(number)
        initialise(root, series=("oma.eop.gov.us",))
        desk = Desk(root, Clock(NOON))
        desk.mint(text(SECRET))
        desk.mint(text("something else"))
        if sealed:
            desk.clock.advance(days=1)
            desk.registry.seal()
        desk.registry.close()
        died = _die_while_erasing(root, desk.clock, number)
        desk.reopen(erasure_persons=1)
        assert desk.served(f"{TODAY}/2") == b"something else"
        erase(desk)
        assert is_on_disk(root, SECRET, sha512(SECRET).encode()) == []
        assert problems(desk.registry) == []
        check_segments(root)
        desk.clock.advance(days=1)
        desk.registry.seal()
        assert desk.served(f"{TODAY}/2") == b"something else"
        assert valid(root)
        desk.registry.close()
        number += 1
    assert number > 15


# Two persons
# -----------


def test_an_erasure_needs_two_persons(root: Path) -> None:
    """Ruling tombstone-silence: "`erase` (law: two persons, recorded)"."""
    desk = Desk(root, Clock(NOON))
    for name in ("anna", "bert"):
        token = Token(
            name=name,
            digest=sha512(name.encode())[:64],
            operations=("withdraw", "erase"),
            authorities=("*",),
        )
        desk.registry.door.execute_command(SaveToken(token=token))
    desk.mint(text(SECRET))
    first: dict[str, Any] = {"by": "anna", "bearer": "anna", "keep_digest": True}
    second = first | {"by": "bert", "bearer": "bert"}
    assert erase(desk, **first).outcome is Outcome.PROPOSED
    assert erase(desk, **first).outcome is Outcome.PROPOSED
    with pytest.raises(Conflict) as refused:
        erase(desk, **second | {"reason": "The law"})
    assert type(refused.value).__name__ == "ReasonNotRepeated"
    with pytest.raises(Conflict) as refused:
        erase(desk, **second | {"keep_digest": False})
    assert type(refused.value).__name__ == "ProposalContradicted"
    assert desk.withdraw(NAME, "the law", by="bert", bearer="bert").outcome is Outcome.CHANGED
    assert is_on_disk(desk.root, SECRET)
    assert erase(desk, **first).outcome is Outcome.PROPOSED
    assert erase(desk, **second).outcome is Outcome.CHANGED
    assert is_on_disk(desk.root, SECRET) == []
    tombstone = desk.record(NAME).tombstone
    assert tombstone
    assert tombstone.erased_by == "anna, bert"
    assert problems(desk.registry) == []


def test_large_documents_are_erased(desk: Desk) -> None:
    desk.mint(large(desk.registry, SECRET * 300_000, "text"))
    erase(desk)
    assert is_on_disk(desk.root, SECRET) == []
    record = desk.record(NAME)
    assert isinstance(record, Record)
    assert problems(desk.registry) == []
    check_segments(desk.root)


def test_one_person_withdraws_by_no_other_act(desk: Desk) -> None:
    """Ruling two-persons, finding D20: the last location, the values of a handle, an import."""
    place = "https://a.example/"
    desk.register("hdl:10.9999/a", locations=(Location(uri=place),))
    desk.mint(text(SECRET))
    desk.mint(locations=(Location(uri=place), Location(uri="https://b.example/")))
    desk.reopen(withdrawal_persons=2)
    with pytest.raises(SecondPersonNeeded):
        desk.break_("hdl:10.9999/a", place)
    assign = Assign(identifier=parse("hdl:10.9999/a"), values=())
    with pytest.raises(SecondPersonNeeded):
        desk.registry.door.execute_command(assign)
    ending = {"id": NAME, "withdrawn": [{"reason": "x"}]}
    for atomic in (False, True):
        assert import_line(desk, ending, atomic=atomic) == 1
    assert isinstance(desk.resolve(NAME), Fetch)
    assert import_line(desk, ending | {"id": f"{TODAY.replace('21', '20')}/9"}) == 0  # a new name
    desk.break_(f"{TODAY}/2", place)  # another location is left
    desk.reopen(withdrawal_persons=1)
    desk.break_("hdl:10.9999/a", place)
    digest = sha512(SECRET)
    index = desk.root / "indexes" / "text" / digest[:2] / digest
    index.parent.mkdir(parents=True)
    index.write_bytes(b"x")
    assert import_line(desk, ending) == 0
    assert not index.exists()


def import_line(desk: Desk, line: dict[str, Any], *, atomic: bool = False) -> int:
    """Import one line. Return the number of refused lines."""
    source = ImportSource(io.BytesIO(json.dumps(line).encode() + b"\n"), desk.root)
    (*_, end) = import_lines(desk.registry, source, atomic=atomic)
    return end.refused


def test_a_capture_that_is_not_here_is_not_withdrawn_instead(desk: Desk) -> None:
    """Half of what was requested is not done; `tests/writing/test_capture_erasing.py` erases."""
    desk.reopen(archive_id="archive.example.org")
    name = "pwid:archive.example.org:2014-01-26T20:06:24Z:part:http://a.example/"
    with pytest.raises(NoCapturesToErase):
        erase(desk, name)
    assert not (desk.root / "withheld.jsonl").exists()
    desk.withdraw(name)
    assert (desk.root / "withheld.jsonl").exists()
    desk.register(f"{name}x", text(SECRET))  # its bytes are in a segment
    erase(desk, f"{name}x")
    assert is_on_disk(desk.root, SECRET) == []


def test_a_damaged_note_of_an_erasure_says_how_to_repair_it(desk: Desk) -> None:
    """What was to be erased is not forgotten because of a damaged byte."""
    desk.mint(text("one"))
    desk.registry.close()
    (desk.root / "erasing").mkdir(exist_ok=True)
    note = desk.root / "erasing" / "00.json"
    note.write_bytes(b'{"value":{"key":"oma.eop.gov.us/20261121/a1"},"sum":"0"}')
    desk.reopen()
    with pytest.raises(Corrupt, match="repeat the erasures"):
        desk.mint(text("two"))
    note.unlink()
    assert desk.mint(text("two")).identifier == f"{TODAY}/2.text.1"
