"""Bulk loads: what is new is added, what is known joined, what contradicts refused by its line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from perdure.errors import InvalidRequest
from perdure.ids import parse
from perdure.model import stored
from perdure.model.commands import (
    Content,
    Load,
    LoadColumns,
    LoadRow,
    Mint,
    Outcome,
    Register,
    Withdraw,
    make_representation,
)
from perdure.model.records import Location, Record, Representation, Tombstone, Version
from perdure.registry import Registry, initialise
from perdure.storage.reference_hashes import reference_hash
from perdure.storage.segments import warc
from perdure.storage.spool import make_content
from perdure.storage.sqlite import opening
from perdure.storage.sqlite.records import SqliteRecords
from perdure.storage.sqlite.renewing import RenewedJournal
from perdure.upkeep import audit, rebuilding
from perdure.upkeep.full_audit import audit_registry
from perdure.writing.row_files import write_rows

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
SERIES = "oma.eop.gov.us"
PLAIN: dict[str, Any] = {"format": "text", "media_type": "text/plain"}


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    root = tmp_path / "registry"
    initialise(root, series=(SERIES,))
    with Registry(root, environment={}, clock=lambda: NOON) as opened:
        yield opened


def row(name: str, *uris: str, line: int = 1, **more: object) -> LoadRow:
    identifier = parse(f"pdi://{SERIES}/{name}")
    record = Record(
        at="2026-11-21T12:00:00Z",
        locations=tuple(Location(uri=uri) for uri in uris),
        **more,  # type: ignore[arg-type]  # fields of a record
    )
    hashes = tuple(reference_hash(f"location:{uri}") for uri in uris)
    return LoadRow(identifier.key, msgspec.json.encode(record), line, hashes)


def with_bytes(one: LoadRow, data: bytes, *, version: int = 1, format: str = "text") -> LoadRow:
    kept = make_content(data, format=format, media_type="text/plain", charset="us-ascii")
    return msgspec.structs.replace(one, contents=(*one.contents, (version, kept)))


def record(registry: Registry, name: str) -> Record:
    found = registry.listings.find_record(parse(f"pdi://{SERIES}/{name}"))
    assert found is not None
    return found


def served(registry: Registry, name: str, version: int = 1, format: str = "text") -> bytes:
    held = record(registry, name).version(version)
    one = held.find_representation(format) if held else None
    assert one is not None
    return registry.listings.read_bytes(one)


def test_new_rows_are_added_and_findable_by_their_references_at_the_end(
    registry: Registry,
) -> None:
    rows = (row("1997/09/01/1", "https://a.example/1"), row("1997/09/01/2", "https://a.example/2"))
    receipt = registry.door.execute_command(Load(rows=rows))
    assert (receipt.outcome, receipt.accepted) == (Outcome.CREATED, 2)
    registry.door.execute_command(Load(last=True))
    found = registry.listings.find_bound("https://a.example/2")
    assert [str(one) for one in found] == [f"pdi://{SERIES}/1997/09/01/2"]


def columns(day: str, first: int, *names: int, host: str = "a.example") -> LoadColumns:
    rows = [row(f"{day}/{name}", f"https://{host}/{name}") for name in names]
    return LoadColumns(
        first,
        tuple(one.key for one in rows),
        tuple(one.record.decode() for one in rows),
        tuple(hash for one in rows for hash in one.refers),
    )


def test_columns_are_loaded_as_rows_are(registry: Registry) -> None:
    """The same records, references and numbered changes, apart from their salts."""
    days = ("1997/09/01", "1997/09/02")
    by_rows, by_columns = (
        Load(
            rows=(row(f"{day}/1", "https://x.example/1"),),
            columns=(columns(day, 2, 2, 3), columns(day, 4, 10, 11)),
        )
        for day in days
    )
    spread = (*by_rows.rows, *(one for part in by_rows.columns for one in part.as_rows()))
    assert [one.line for one in spread] == [1, 2, 3, 4, 5]
    receipts = [
        registry.door.execute_command(command)
        for command in (Load(rows=spread), by_columns, Load(last=True))
    ]
    assert [one.accepted for one in receipts] == [5, 5, 0]
    for number in (1, 2, 3, 10, 11):
        one, other = (record(registry, f"{day}/{number}") for day in days)
        assert one == other
        found = registry.listings.find_bound(one.locations[0].uri)
        assert [str(name) for name in found] == [f"pdi://{SERIES}/{day}/{number}" for day in days]
    first, second = registry.records.list_changes(limit=9)[-2:]
    assert (first.act, first.count, first.revision) == (second.act, second.count, second.revision)
    assert not [one for one in audit_registry(registry) if one.problem]


@pytest.mark.parametrize("known", [2, 10, 11])
def test_columns_are_joined_with_known_records(registry: Registry, known: int) -> None:
    registry.door.execute_command(Load(rows=(row(f"1997/09/01/{known}", "https://b.example/"),)))
    command = Load(columns=(columns("1997/09/01", 1, 2, 3), columns("1997/09/01", 3, 10, 11)))
    receipt = registry.door.execute_command(command)
    assert (receipt.accepted, receipt.rejected) == (4, ())
    held = record(registry, f"1997/09/01/{known}")
    assert [one.uri for one in held.locations] == [
        "https://b.example/",
        f"https://a.example/{known}",
    ]
    assert record(registry, "1997/09/01/3").revision == 1


def test_columns_that_contradict_are_refused_by_their_lines(registry: Registry) -> None:
    registry.door.execute_command(Mint(authority=SERIES, day="1997/09/01", once="x"))
    name = parse(f"pdi://{SERIES}/1997/09/01/1")
    registry.door.execute_command(Withdraw(identifier=name, by="local", reason="x"))
    receipt = registry.door.execute_command(Load(columns=(columns("1997/09/01", 7, 1, 2),)))
    assert receipt.accepted == 1
    assert [line for line, _ in receipt.rejected] == [7]


def test_columns_that_are_not_in_order_are_refused(registry: Registry) -> None:
    for parts in (
        (columns("1997/09/01", 1, 3, 2),),
        (columns("1997/09/01", 1, 3), columns("1997/09/01", 2, 2)),
        (columns("1997/09/01", 1, 3, 3),),
    ):
        with pytest.raises(InvalidRequest):
            registry.door.execute_command(Load(columns=parts))


def test_the_last_of_columns_is_a_row() -> None:
    whole = columns("1997/09/01", 5, 2, 3, 10)
    head, last = whole.split_last()
    assert (*head.as_rows(), last) == whole.as_rows()
    assert (len(head.keys), last.line) == (2, 7)


def test_a_load_of_columns_makes_no_row_of_each(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million of them would take a second."""
    monkeypatch.setattr(LoadColumns, "as_rows", None)
    receipt = registry.door.execute_command(Load(columns=(columns("1997/09/01", 1, 2, 3),)))
    assert receipt.accepted == 2


def test_a_repeated_row_changes_nothing(registry: Registry) -> None:
    again = with_bytes(row("1997/09/01/1", "https://a.example/1"), b"text")
    registry.door.execute_command(Load(rows=(again,)))
    receipt = registry.door.execute_command(Load(rows=(again,)))
    assert (receipt.outcome, receipt.accepted) == (Outcome.UNCHANGED, 1)
    assert record(registry, "1997/09/01/1").revision == 1


def test_a_row_adds_to_what_is_known(registry: Registry) -> None:
    first = with_bytes(row("1997/09/01/1", "https://a.example/1"), b"first")
    second = with_bytes(row("1997/09/01/1", "https://b.example/1"), b"second", version=2)
    registry.door.execute_command(Load(rows=(first,)))
    receipt = registry.door.execute_command(Load(rows=(second,)))
    assert (receipt.accepted, receipt.rejected) == (1, ())
    grown = record(registry, "1997/09/01/1")
    assert [one.uri for one in grown.locations] == ["https://a.example/1", "https://b.example/1"]
    assert served(registry, "1997/09/01/1", 1) == b"first"
    assert served(registry, "1997/09/01/1", 2) == b"second"
    history = registry.records.list_revisions(parse(f"pdi://{SERIES}/1997/09/01/1").key)
    assert [one.revision for one in history] == [1, 2]


def test_other_bytes_for_a_version_are_refused_and_the_rest_goes_on(registry: Registry) -> None:
    registry.door.execute_command(Load(rows=(with_bytes(row("1997/09/01/1"), b"these"),)))
    receipt = registry.door.execute_command(
        Load(
            rows=(
                with_bytes(row("1997/09/01/1", line=7), b"others"),
                with_bytes(row("1997/09/01/2", line=8), b"new"),
            )
        )
    )
    assert receipt.accepted == 1
    assert [line for line, _ in receipt.rejected] == [7]
    assert served(registry, "1997/09/01/1") == b"these"
    assert served(registry, "1997/09/01/2") == b"new"


def test_documents_are_kept_the_same_whichever_form_their_rows_have(registry: Registry) -> None:
    """The short form of a record that only holds a document has a short way to the disk."""
    at = "2026-11-21T12:00:00Z"
    english = make_content(b"yes", **PLAIN, language="en")
    page = make_content(b"yes", format="html", media_type="text/html", language="en")
    cases = [
        (english, english),
        (make_content(b"no", **PLAIN, language="en"),) * 2,
        (make_content(b"ja", **PLAIN, language="de"),) * 2,
        (make_content(b"<p>", format="html", media_type="text/html", charset="us-ascii"),) * 2,
        (english, page),  # of which the record says nothing yet
    ]
    for first, encode in ((1, stored.encode_stored), (11, msgspec.json.encode)):
        rows = []
        for number, (said, given) in enumerate(cases, first):
            version = Version(number=1, at=at, representations=(make_representation(said),))
            text = encode(Record(at=at, versions=(version,)))
            name = f"1997/09/01/{number}"
            rows.append(replace(row(name), record=text, contents=((1, given),)))
        registry.door.execute_command(Load(rows=tuple(sorted(rows, key=lambda one: one.key))))
    for number in range(1, len(cases)):
        assert _unplaced(registry, number) == _unplaced(registry, number + 10)
    assert _unplaced(registry, 3)[1] == [b"ja"]
    held = record(registry, "1997/09/01/5").versions[0].representations
    assert [one.format for one in held] == ["text", "html"]
    with (registry.root / "segments" / "000001.warc").open("rb") as file:
        blocks = [found.block for found in warc.read_records(file, where="")]
    heads = {one.uri.rpartition("/")[2]: replace(one, uri="") for one in blocks}
    for number, (_, given) in enumerate(cases, 1):
        assert heads[f"{number}.{given.format}.1"] == heads[f"{number + 10}.{given.format}.1"]


def _unplaced(registry: Registry, number: int) -> tuple[Record, list[bytes]]:
    """A record as if its bytes lay at the start of a segment, and these."""
    found = record(registry, f"1997/09/01/{number}")
    (version,) = found.versions
    here = tuple(replace(one, offset=0) for one in version.representations)
    data = [registry.listings.read_bytes(one) for one in version.representations]
    return replace(found, versions=(replace(version, representations=here),)), data


def test_what_was_withdrawn_is_not_added_to(registry: Registry) -> None:
    registry.door.execute_command(Load(rows=(with_bytes(row("1997/09/01/1"), b"these"),)))
    name = parse(f"pdi://{SERIES}/1997/09/01/1")
    registry.door.execute_command(Withdraw(identifier=name, reason="by mistake"))
    receipt = registry.door.execute_command(
        Load(rows=(with_bytes(row("1997/09/01/1"), b"more", version=2),))
    )
    assert receipt.accepted == 0
    assert "withdrawn" in receipt.rejected[0][1]


def test_dates_that_a_row_brings_stay(registry: Registry) -> None:
    """A version that moves in was committed on the day on which it was committed."""
    kept = make_content(b"old", format="text", media_type="text/plain")
    old = Version(
        number=1,
        at="1997-09-01T08:00:00Z",
        representations=(unplaced(kept, at="1997-09-02T08:00:00Z"),),
    )
    one = msgspec.structs.replace(row("1997/09/01/1", versions=(old,)), contents=((1, kept),))
    registry.door.execute_command(Load(rows=(one,)))
    held = record(registry, "1997/09/01/1").versions[0]
    assert (held.at, held.representations[0].at) == ("1997-09-01T08:00:00Z", "1997-09-02T08:00:00Z")
    assert served(registry, "1997/09/01/1") == b"old"


def unplaced(kept: Content, *, at: str) -> Representation:
    return Representation(
        format=kept.format,
        media_type=kept.media_type,
        length=kept.length,
        sha512=kept.sha512,
        segment=0,
        offset=0,
        at=at,
    )


def test_tombstones_of_a_load_survive_a_rebuild(registry: Registry, tmp_path: Path) -> None:
    gone = Tombstone(reason="a court said so", at="1999-01-01T00:00:00Z", by="oma")
    one = with_bytes(row("1997/09/01/1", tombstone=gone), b"text")
    registry.door.execute_command(Load(rows=(one,)))
    target = tmp_path / "new"
    target.mkdir()
    opening.create_registry(target)
    with closing(RenewedJournal(target)) as journal:
        steps = rebuilding.rebuild_index(registry.bytes, journal, now="now")
        assert all(step.problem is None for step in steps)
    rebuilt = SqliteRecords(target).find_record(one.key)
    assert rebuilt is not None
    assert rebuilt.tombstone == gone


def test_a_serial_of_today_is_not_minted_again(registry: Registry) -> None:
    registry.door.execute_command(Load(rows=(row("2026/11/21/41", "https://a.example/41"),)))
    receipt = registry.door.execute_command(Mint(authority=SERIES))
    assert receipt.identifier == f"pdi://{SERIES}/2026/11/21/42"


@pytest.mark.parametrize("order", [(2, 1), (1, 1)])
def test_rows_out_of_order_are_refused_and_harm_nobody(
    registry: Registry, order: tuple[int, int]
) -> None:
    rows = tuple(row(f"1997/09/01/{number}") for number in order)
    with pytest.raises(InvalidRequest):
        registry.door.execute_command(Load(rows=rows))
    assert registry.door.execute_command(Mint(authority=SERIES)).outcome is Outcome.CREATED


def test_a_load_of_more_bytes_than_are_buffered(registry: Registry) -> None:
    pieces = [bytes([65 + number]) * (3 << 20) for number in range(5)]
    rows = tuple(
        with_bytes(row(f"1997/09/01/{number}"), data) for number, data in enumerate(pieces, 1)
    )
    registry.door.execute_command(Load(rows=rows))
    assert [served(registry, f"1997/09/01/{number}") for number in range(1, 6)] == pieces
    assert all(
        found.problem is None for found in audit.verify_digests(registry.records, registry.bytes)
    )


def test_a_name_beyond_ascii_has_bytes_and_survives_a_rebuild(
    registry: Registry, tmp_path: Path
) -> None:
    """Handles may have any characters in them (RFC 3651 section 3)."""
    name = parse("doi:10.1000/\u00e9")
    registry.door.execute_command(
        Register(identifier=name, contents=(make_content(b"x", **PLAIN),))
    )
    target = tmp_path / "new"
    target.mkdir()
    opening.create_registry(target)
    with closing(RenewedJournal(target)) as journal:
        steps = rebuilding.rebuild_index(registry.bytes, journal, now="now")
        assert all(step.problem is None for step in steps)
    rebuilt = SqliteRecords(target).find_record(name.key)
    assert rebuilt is not None
    assert rebuilt.name == str(name)


# All or nothing
# --------------


def spill(registry: Registry, *rows: LoadRow, name: str = "load.rows") -> str:
    with (registry.root / "incoming" / name).open("wb") as file:
        write_rows(file, rows)
    return name


def test_an_atomic_load_takes_all_rows(registry: Registry) -> None:
    rows = [
        with_bytes(row(f"1997/09/{day:02}/1"), bytes([day]) * (1 << 20)) for day in range(1, 12)
    ]
    receipt = registry.door.execute_command(Load(spilled=spill(registry, *rows), last=True))
    assert (receipt.accepted, receipt.rejected) == (11, ())
    assert served(registry, "1997/09/11/1") == b"\x0b" * (1 << 20)


def test_an_atomic_load_takes_no_row_where_one_is_refused(registry: Registry) -> None:
    registry.door.execute_command(Load(rows=(with_bytes(row("1997/09/01/1"), b"these"),)))
    before = registry.records.list_segments()
    name = spill(
        registry,
        with_bytes(row("1997/08/31/1", line=1), b"new"),
        with_bytes(row("1997/09/01/1", line=2), b"others"),
    )
    receipt = registry.door.execute_command(Load(spilled=name, last=True))
    assert (receipt.outcome, receipt.accepted) == (Outcome.UNCHANGED, 0)
    assert [line for line, _ in receipt.rejected] == [2]
    assert registry.records.count_records() == 1
    assert registry.records.list_segments() == before


@pytest.mark.parametrize("name", ["absent", "../perdure.toml", "", "truncated"])
def test_a_file_that_cannot_be_loaded_is_refused_and_harms_nobody(
    registry: Registry, name: str
) -> None:
    whole = registry.root / "incoming" / spill(registry, row("1997/09/01/1"))
    (registry.root / "incoming" / "truncated").write_bytes(whole.read_bytes()[:-1])
    with pytest.raises(InvalidRequest):
        registry.door.execute_command(Load(spilled=name))
    assert registry.records.count_records() == 0
    assert registry.door.execute_command(Mint(authority=SERIES)).outcome is Outcome.CREATED
