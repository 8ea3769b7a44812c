"""Imports of known identifiers: adding, merging, replacing, and undoing it.

docs/reference/jsonl.md: "Contradictions make a line bad", and RFC 7396 for `--merge`.
"""

from __future__ import annotations

import base64
import io
from typing import Any

import pytest
from tests.conftest import Desk
from tests.upkeep.transfer.test_importing import bad, lines, take

from perdure.errors import NotAcceptable
from perdure.model.commands import Joining
from perdure.upkeep.transfer.importing import ImportSource
from perdure.upkeep.transfer.previewing import RecordChange, preview_lines

NAME = "ark:99999/fk4zz1"


def attach(text: bytes) -> dict[str, Any]:
    content = base64.b64encode(text).decode()
    return {"format": "cmdi", "media_type": "application/x-cmdi+xml", "content": content}


CONTRADICTIONS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"about": {"titles": [{"value": "First"}]}}, {"about": {"titles": [{"value": "Second"}]}}),
    ({"attached": [attach(b"<a/>")]}, {"attached": [attach(b"<b/>")]}),
    ({"metadata": {"title": "X"}}, {"metadata": {"title": "Y"}}),
    ({"withdrawn": [{"reason": "fraud"}]}, {"withdrawn": [{"reason": "law"}]}),
    (
        {"locations": [{"uri": "https://a.example/", "weight": 2}]},
        {"locations": [{"uri": "https://a.example/", "weight": 3}]},
    ),
]
"""What is here, and the fields of a line that contradict it."""


def preview(desk: Desk, data: bytes, how: Joining) -> list[RecordChange]:
    source = ImportSource(io.BytesIO(data), desk.root.parent)
    changes = list(preview_lines(desk.registry, source, how))
    return [one for one in changes if isinstance(one, RecordChange)]


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize(("first", "second"), CONTRADICTIONS)
def test_a_contradiction_is_a_bad_line(
    desk: Desk, first: dict[str, Any], second: dict[str, Any], atomic: bool
) -> None:
    take(desk, [{"id": NAME} | first])
    before = desk.record(NAME)
    end = take(desk, [{"id": NAME} | second], atomic=atomic)
    assert (end.accepted, bad(end)) == (0, [1])
    assert end.faults[0].error["code"] == "conflict"
    assert desk.record(NAME) == before
    assert take(desk, [{"id": NAME} | first], atomic=atomic).refused == 0


def test_a_location_without_facts_adds_nothing_to_one_with(desk: Desk) -> None:
    take(desk, [{"id": NAME, "locations": [{"uri": "https://a.example/", "weight": 2}]}])
    end = take(desk, [{"id": NAME, "locations": ["https://a.example/"]}])
    assert end.refused == 0
    assert desk.record(NAME).locations[0].weight == 2


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize("how", [Joining.MERGE, Joining.REPLACE])
@pytest.mark.parametrize(("first", "second"), [CONTRADICTIONS[at] for at in (0, 1, 2, 4)])
def test_what_wins_is_shown_before_and_can_be_undone(
    desk: Desk, first: dict[str, Any], second: dict[str, Any], how: Joining, atomic: bool
) -> None:
    take(desk, [{"id": NAME} | first])
    before = desk.record(NAME)
    data = lines([{"id": NAME} | second])
    (change,) = preview(desk, data, how)
    assert [one.name for one in change.fields] == list(second)
    assert desk.record(NAME) == before
    assert take(desk, data, how=how, atomic=atomic).refused == 0
    (field,) = second
    assert getattr(desk.record(NAME), field) != getattr(before, field)
    assert preview(desk, data, how) == []
    take(desk, change.undo_line, how=Joining.REPLACE)
    assert getattr(desk.record(NAME), field) == getattr(before, field)


def test_merging_keeps_the_members_that_a_line_does_not_give(desk: Desk) -> None:
    about = {"titles": [{"value": "A"}], "year": "1994", "publisher": {"name": "P", "place": "Q"}}
    take(desk, [{"id": NAME, "about": about, "metadata": {"a": "1", "b": "2"}}])
    more = {"titles": [{"value": "B"}], "publisher": {"name": "R"}}
    take(desk, [{"id": NAME, "about": more, "metadata": {"b": "3"}}], how=Joining.MERGE)
    record = desk.record(NAME)
    assert record.about is not None
    assert record.about.publisher is not None
    assert (record.about.title, record.about.year) == ("B", "1994")
    assert (record.about.publisher.name, record.about.publisher.place) == ("R", "Q")
    assert record.metadata == {"a": "1", "b": "3"}


def test_replaced_locations_are_exactly_those_of_the_line(desk: Desk) -> None:
    take(desk, [{"id": NAME, "locations": ["https://old.example/"], "metadata": {"title": "T"}}])
    data = lines([{"id": NAME, "locations": ["https://new.example/"]}])
    (change,) = preview(desk, data, Joining.REPLACE)
    take(desk, data, how=Joining.REPLACE)
    assert [one.uri for one in desk.record(NAME).locations] == ["https://new.example/"]
    assert desk.record(NAME).metadata == {"title": "T"}
    take(desk, change.undo_line, how=Joining.REPLACE)
    assert [one.uri for one in desk.record(NAME).locations] == ["https://old.example/"]


def test_locations_are_replaced_at_the_level_of_the_line(desk: Desk) -> None:
    """A line whose name has a version or a format says nothing of the other ones."""
    whole = "pdi://oma.eop.gov.us/1997/09/01/1"
    old = {one: f"https://old.example/{one}" for one in ("html.1", "html.2", "text.2")}
    take(desk, [{"id": f"{whole}.{one}", "locations": [uri]} for one, uri in old.items()])
    new = "https://new.example/2.html"
    data = lines([{"id": f"{whole}.html.2", "locations": [new]}])
    (change,) = preview(desk, data, Joining.REPLACE)
    take(desk, data, how=Joining.REPLACE)
    found = {one.uri for one in desk.record(whole).locations}
    assert found == {old["html.1"], old["text.2"], new}
    take(desk, change.undo_line, how=Joining.REPLACE)
    assert {one.uri for one in desk.record(whole).locations} == set(old.values())
    take(desk, [{"id": f"{whole}.html", "locations": [new]}], how=Joining.REPLACE)
    assert {one.uri for one in desk.record(whole).locations} == {old["text.2"], new}


def test_an_empty_field_is_emptied_only_by_replacing(desk: Desk) -> None:
    take(desk, [{"id": NAME, "about": {"year": "1994"}, "locations": ["https://a.example/"]}])
    empty = [{"id": NAME, "about": {}}]
    take(desk, empty, how=Joining.MERGE)
    assert desk.record(NAME).about is not None
    take(desk, empty, how=Joining.REPLACE)
    assert desk.record(NAME).about is None
    assert desk.record(NAME).locations


@pytest.mark.parametrize("how", [Joining.MERGE, Joining.REPLACE])
def test_bytes_and_promises_stay_in_every_way(desk: Desk, how: Joining) -> None:
    digest = "0" * 128
    promised = {"uri": "https://a.example/", "version": 1, "format": "html", "sha512": digest}
    take(desk, [{"id": NAME, "locations": [promised]}])
    end = take(desk, [{"id": NAME, "locations": [promised | {"sha512": "1" * 128}]}], how=how)
    assert bad(end) == [1]
    if how is Joining.REPLACE:
        assert bad(take(desk, [{"id": NAME, "locations": []}], how=how)) == [1]
    assert desk.record(NAME).locations[0].sha512 == digest


@pytest.mark.parametrize("how", [Joining.MERGE, Joining.REPLACE])
def test_values_of_a_handle(desk: Desk, how: Joining) -> None:
    def value(index: int, data: str) -> dict[str, Any]:
        return {"index": index, "type": "EMAIL", "data": data}

    name = "hdl:10.9999/v"
    take(desk, [{"id": name, "values": [value(1, "a"), value(2, "b")], "locations": ["ftp://x/"]}])
    take(desk, [{"id": name, "values": [value(1, "c"), value(3, "d")]}], how=how)
    found = {one.index: one.data for one in desk.record(name).values if one.type == "EMAIL"}
    assert found == ({1: "c", 2: "b", 3: "d"} if how is Joining.MERGE else {1: "c", 3: "d"})
    assert bool(desk.record(name).locations) is (how is Joining.MERGE)


@pytest.mark.parametrize("how", list(Joining))
@pytest.mark.parametrize(
    ("ending", "fields"),
    [
        ("text.2", {"about": {"titles": [{"value": "Second"}]}}),
        ("text", {"attached": [attach(b"<a/>")]}),
        ("text", {"metadata": {"title": "X"}}),
        ("text", {"aliases": ["ark:99999/fk4zz2"]}),
    ],
)
def test_a_line_about_a_format_reserves_no_name(
    desk: Desk, how: Joining, ending: str, fields: dict[str, Any]
) -> None:
    """`…/1.text.1` never had bytes: it must not become another name of `…/1.html.1`.

    Ruling pdi-reserved-name is about names that were given out before the bytes.
    """
    name = "pdi://oma.eop.gov.us/1997/09/01/1"
    contents = [
        {"version": 1, "format": "html", "text": "<p>1</p>"},
        {"version": 2, "format": "text", "text": "2"},
    ]
    said = {"id": f"{name}.{ending}"} | fields
    assert take(desk, [{"id": name, "contents": contents}]).refused == 0
    assert take(desk, [said], how=how).refused == 0
    assert desk.record(name).minted == ""
    with pytest.raises(NotAcceptable):
        desk.resolve(f"{name}.text.1")


def test_a_description_before_the_bytes_reserves_no_name(desk: Desk) -> None:
    name = "pdi://oma.eop.gov.us/1997/09/01/2"
    about = {"titles": [{"value": "Second"}]}
    held = {"id": name, "content": {"format": "html", "text": "<p>1</p>"}}
    assert take(desk, [{"id": f"{name}.html.1", "about": about}, held]).refused == 0
    assert desk.record(name).minted == ""
