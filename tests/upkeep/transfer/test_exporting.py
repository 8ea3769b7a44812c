"""Export, and that import is its inverse."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import SERIES, TODAY, Clock, Desk, html, large, sha512, text

from perdure import testing
from perdure.errors import Corrupt, InvalidRequest
from perdure.ids import parse
from perdure.ids.pdi import Pdi
from perdure.model.about import About
from perdure.model.commands import Describe
from perdure.model.records import Location
from perdure.registry import Registry, initialise
from perdure.upkeep.transfer import exporting
from perdure.upkeep.transfer.exporting import export_lines
from perdure.upkeep.transfer.importing import ImportSource, import_lines

DAY = f"pdi://{SERIES}/1997/09/01"


def exported(desk: Desk, **options: object) -> bytes:
    return b"".join(export_lines(desk.registry, **options))  # type: ignore[arg-type]


def copied(data: bytes, place: Path, files: Path | None = None) -> Desk:
    """A new registry into which an export was imported, a year later."""
    initialise(place, series=(SERIES,))
    copy = Desk(place, Clock())
    copy.clock.advance(days=365)
    source = ImportSource(io.BytesIO(data), files or place)
    (*_, end) = import_lines(copy.registry, source)
    assert end.refused == 0
    return copy


@pytest.fixture
def full(desk: Desk) -> Desk:
    """A registry in which everything is that can be."""
    desk.mint(text("one"), html("<p>one"), metadata={"title": "Ä \n"})
    desk.clock.advance(hours=1)
    desk.commit(f"{TODAY}/1", text("two"))
    desk.commit(f"{TODAY}/1", html("<p>two"), version=2)
    desk.clock.advance(hours=1)
    desk.commit(f"{TODAY}/1", text("late", "utf-8"), version=1)
    desk.withdraw(f"{TODAY}/1.text.2", "a misprint", by="me")
    desk.mint()
    desk.mint(locations=(Location(uri="https://a.example/3"),))
    desk.break_(f"{TODAY}/3", "https://a.example/3")
    desk.mint(text("gone"))
    desk.withdraw(f"{TODAY}/4", "a court said so")
    desk.mint(text("same bytes"), uid="https://WWW.example.com/%7ex")
    desk.register("hdl:10.9999/A", locations=(Location(uri="https://a", weight=3, role="mirror"),))
    desk.alias("hdl:10.9999/A", f"{TODAY}/1")
    desk.alias("hdl:10.9999/A", "urn:isbn:0-395-36341-1")
    desk.mint(authority="IANA:42117", uid="Opaque")
    desk.mint(large(desk.registry, bytes(9 << 20)))
    return desk


def test_an_export_of_an_import_of_an_export_is_the_export(full: Desk, place: Path) -> None:
    first = exported(full)
    copy = copied(first, place / "copy")
    assert exported(copy) == first
    assert copy.names("urn:isbn:0-395-36341-1") == full.names("urn:isbn:0-395-36341-1")
    assert copy.problems() == []
    copy.registry.close()


def test_descriptions_of_what_is_gone_are_imported_again(desk: Desk, place: Path) -> None:
    """A line has neither the formats of withdrawn versions nor those of broken locations.

    # ruling: version-metadata
    """
    about = About(edition="proof")

    def describe(*names: str) -> None:
        for name in names:
            command = Describe(identifier=parse(name), about=about)
            desk.registry.door.execute_command(command)

    for uid in (1, 2):
        desk.register(f"{DAY}/{uid}", text("one"))
        desk.commit(f"{DAY}/{uid}", html("<p>two"))
        describe(*(f"{DAY}/{uid}{level}" for level in (".*.1", ".text", ".text.1", ".html")))
    desk.withdraw(f"{DAY}/1")
    desk.withdraw(f"{DAY}/2.text.1", version=1)
    for uid, levels in ((3, (".html.3", ".*.3")), (4, (".html",)), (5, (".html", ".pdf"))):
        name, format = f"{DAY}/{uid}", "html"
        version = 3 if uid == 3 else None
        desk.bind(
            name, Location(uri="https://a.example/", version=version, format=format), register=True
        )
        if uid == 5:
            desk.bind(name, Location(uri="https://b.example/", format="pdf"))
        describe(*(f"{name}{level}" for level in levels))
        desk.break_(name, "https://a.example/")
    first = exported(desk)
    copy = copied(first, place / "copy")
    assert exported(copy) == first
    copy.registry.close()
    source = ImportSource(io.BytesIO(first), place)
    (*_, end) = import_lines(desk.registry, source)
    assert (end.accepted, end.refused) == (5, 0)
    assert exported(desk) == first


def test_bytes_go_into_files_named_by_their_digest(full: Desk, place: Path) -> None:
    files = place / "files"
    lines = exported(full, files=files)
    assert b"base64" not in lines
    paths = [
        held["path"]
        for line in lines.splitlines()
        for held in json.loads(line).get("contents", ())
        if held["sha512"] in held["path"]
    ]
    assert len(paths) == 5  # not those of withdrawn versions
    assert all((files / path).is_file() for path in paths)
    assert any(path.endswith(".html") for path in paths)
    copy = copied(lines, place / "copy", files)
    assert exported(copy) == exported(full)
    copy.registry.close()


def test_each_content_says_when_it_was_committed(full: Desk) -> None:
    within = parse(f"{TODAY}/1")
    assert isinstance(within, Pdi)
    held = json.loads(exported(full, within=within))["contents"]
    assert {(one["version"], one["format"]): one["at"][11:16] for one in held} == {
        (1, "text"): "12:00",
        (1, "html"): "12:00",
        (1, "utf-8"): "14:00",
    }


def test_an_export_has_the_tombstone_and_not_the_bytes(full: Desk, place: Path) -> None:
    """Ruling tombstone-silence: "Exports, feeds and mirrors carry the tombstone, not the bytes"."""
    lines = exported(full)
    withdrawn = {one["id"]: one.get("withdrawn") for one in map(json.loads, lines.splitlines())}
    (one,) = withdrawn[f"{TODAY}/1"]
    assert (one["version"], one["reason"], one["since"][11:16]) == (2, "a misprint", "13:00")
    (version, whole) = withdrawn[f"{TODAY}/4"]
    assert (version["version"], whole["reason"]) == (1, "a court said so")
    assert sha512(b"gone").encode() not in lines
    copy = copied(lines, place / "copy")
    assert copy.record(f"{TODAY}/1").versions[1].at[11:16] == "13:00"
    copy.registry.close()


def test_an_export_is_as_silent_as_a_withdrawal(desk: Desk) -> None:
    desk.mint(text("one"), metadata={"title": "Jane"})
    desk.bind(f"{TODAY}/1", "https://a.example/Jane")
    desk.withdraw(f"{TODAY}/1", silent=True)
    assert b"Jane" not in exported(desk)
    assert b'"silent":true' in exported(desk)


def test_lines_are_in_the_order_of_listings(full: Desk) -> None:
    ids = [json.loads(line)["id"] for line in exported(full).splitlines()]
    keys = [parse(one).key for one in ids]
    assert keys == sorted(keys)


@pytest.mark.parametrize(
    ("pattern", "numbers"),
    [(f"{TODAY}/", 6), (f"{TODAY}/1.text.1", 1), (f"pdi://{SERIES}/*/11/*/2", 1), (f"{DAY}/", 0)],
)
def test_a_pattern_exports_what_it_matches(full: Desk, pattern: str, numbers: int) -> None:
    within = parse(pattern)
    assert isinstance(within, Pdi)
    assert len(exported(full, within=within).splitlines()) == numbers


def test_damaged_bytes_are_not_passed_on(desk: Desk, place: Path) -> None:
    desk.mint(text("one"))
    (segment,) = (desk.root / "segments").glob("*.warc")
    segment.write_bytes(segment.read_bytes().replace(b"\r\n\r\none", b"\r\n\r\nONE"))
    with pytest.raises(Corrupt):
        exported(desk)
    with pytest.raises(Corrupt):
        exported(desk, files=place / "files")
    assert not any(path.is_file() for path in (place / "files").rglob("*"))


def test_what_is_too_long_for_a_line_goes_into_a_file(
    desk: Desk, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "LARGEST_IN_LINE", 2)
    desk.mint(text("one"))
    with pytest.raises(InvalidRequest, match="--files"):
        exported(desk)
    assert exported(desk, files=place / "files")


contents = st.fixed_dictionaries(
    {"base64": st.sampled_from(["", "AA==", "YQ=="]), "version": st.integers(1, 3)},
    optional={
        "format": st.sampled_from(["text", "html", "gif", "utf-8", "svg%2bxml"]),
        "type": st.sampled_from(["text/plain", "image/gif", "application/x-unheard-of"]),
        "charset": st.sampled_from(["utf-8", "latin1", "us-ascii"]),
        "language": st.sampled_from(["en", "de-AT"]),
        "at": st.sampled_from(["1997-09-01T08:00:00Z", "2001-01-01T00:00:00Z"]),
    },
)
records: st.SearchStrategy[dict[str, object]] = st.fixed_dictionaries(
    {
        "id": testing.values().map(
            lambda one: str(one.resource if isinstance(one, Pdi) else one.whole)
        )
    },
    optional={
        "locations": st.lists(
            st.fixed_dictionaries(
                {"uri": st.sampled_from(["https://a.example/", "ftp://b.example"])},
                optional={"version": st.integers(1, 3), "weight": st.integers(0, 3)},
            ),
            max_size=2,
        ),
        "contents": st.lists(
            contents, max_size=3, unique_by=lambda one: (one["version"], one.get("format"))
        ),
        "metadata": st.dictionaries(st.text(max_size=3), st.text(max_size=3), max_size=2),
        "aliases": st.lists(st.sampled_from(["hdl:1/A", "urn:isbn:1", "ark:1/2"]), max_size=2),
        "targets": st.lists(st.sampled_from(["hdl:1/A", "pdi://a.us/1995/"]), max_size=2),
        "withdrawn": st.just([{"reason": "x", "by": "me", "at": "2002-02-02T00:00:00Z"}]),
        "broken": st.lists(
            st.fixed_dictionaries(
                {"reason": st.just("moved"), "at": st.just("2002-02-02T00:00:00Z")},
                optional={"version": st.integers(1, 3), "by": st.just("me")},
            ),
            max_size=2,
        ),
    },
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(records, max_size=4))
def test_import_is_the_inverse_of_export(
    tmp_path_factory: pytest.TempPathFactory, given: list[dict[str, object]]
) -> None:
    """Whatever lines there were (bad ones among them are left out at the first import)."""
    place = tmp_path_factory.mktemp("inverse")
    data = "".join(json.dumps(one) + "\n" for one in given).encode()
    exports = []
    for name in ("first", "second"):
        initialise(place / name, series=(SERIES,))
        with Registry(place / name, environment={}) as registry:
            source = ImportSource(io.BytesIO(data), place)
            assert list(import_lines(registry, source))
            data = b"".join(export_lines(registry))
            exports.append(data)
    assert exports[0] == exports[1]
