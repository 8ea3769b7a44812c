"""Checks that a server leaves to a process of its own; locations that no reader can follow."""

from __future__ import annotations

import asyncio
import io
import json
from contextlib import closing

import pytest
from tests.conftest import Desk
from tests.upkeep.linkcheck.conftest import World

from perdure.errors import InvalidRequest
from perdure.ids import parse
from perdure.model.commands import Assign
from perdure.model.records import Location, Value
from perdure.upkeep.linkcheck import Links, LinkVerdict, scheduling
from perdure.upkeep.linkcheck.state import is_taken
from perdure.upkeep.transfer.blocks import Fault
from perdure.upkeep.transfer.importing import ImportProgress, ImportSource, import_lines

NAME = "hdl:21.T14999/x"


def test_it_is_done_in_a_process_of_its_own(
    desk: Desk, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PERDURE_PRIVATE_NETWORKS", "127.0.0.0/8")
    desk.bind(NAME, world.url("/page/none"), register=True)
    assert asyncio.run(scheduling.check_due(desk.root, 24)) == ""
    with closing(Links(desk.root)) as links:
        finding = links.read_finding(world.url("/page/none"))
    assert finding is not None
    assert finding.verdict is LinkVerdict.DEAD
    world.asked.clear()
    assert asyncio.run(scheduling.check_due(desk.root, 24)) == ""
    assert not world.asked, "nothing is due"


def test_who_comes_second_does_nothing(desk: Desk, world: World) -> None:
    desk.bind(NAME, world.url("/page/1"), register=True)
    with closing(Links(desk.root)) as links, links.hold_lock():
        assert is_taken(desk.root)
        assert asyncio.run(scheduling.check_due(desk.root, 24)) == ""
    assert not is_taken(desk.root)
    assert not world.asked


def test_what_goes_wrong_is_told(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PERDURE_PORT", "none")
    assert "port" in asyncio.run(scheduling.check_due(desk.root, 24))


def imported(desk: Desk, text: str, *, atomic: bool = False) -> tuple[ImportProgress, list[Fault]]:
    """The end of an import of JSON Lines, and all bad lines."""
    source = ImportSource(io.BytesIO(text.encode()), desk.root.parent)
    steps = list(import_lines(desk.registry, source, atomic=atomic))
    return steps[-1], [fault for step in steps for fault in step.faults]


class TestPrivateLocations:
    PRIVATE = ("http://10.0.0.1/x", "http://0x7f.1/", "https://db.internal/")

    @pytest.mark.parametrize("uri", PRIVATE)
    def test_they_are_taken_where_nothing_is_said(self, desk: Desk, uri: str) -> None:
        desk.bind(NAME, uri, register=True)

    @pytest.mark.parametrize("uri", PRIVATE)
    def test_they_are_refused_where_the_operator_forbids_them(self, desk: Desk, uri: str) -> None:
        desk.bind(NAME, "https://a.example/", register=True)
        desk.reopen(private_locations="refuse")
        before = desk.record(NAME)
        for location in (Location(uri=uri), Location(uri=uri, weight=0)):
            with pytest.raises(InvalidRequest, match="private network"):
                desk.bind(NAME, location)
        with pytest.raises(InvalidRequest, match="private network"):
            desk.mint(locations=(Location(uri=uri),))
        assert desk.record(NAME) == before

    def test_in_a_handle_s_values_too(self, desk: Desk) -> None:
        desk.reopen(private_locations="refuse", handle_prefixes="21.T14999")
        xml = '<locations><location href="http://10.0.0.1/"/></locations>'
        for value in (
            Value(index=1, type="URL", data="http://192.168.1.1/"),
            Value(index=1, type="10320/loc", data=xml),
        ):
            with pytest.raises(InvalidRequest, match="private network"):
                desk.registry.door.execute_command(Assign(identifier=parse(NAME), values=(value,)))

    def test_and_in_its_templates(self, desk: Desk) -> None:
        desk.reopen(private_locations="refuse", handle_prefixes="21.T14999")
        namespace = (
            '<namespace><template delimiter="@"><value type="URL" index="1" '
            'data="http://10.0.0.1/${extension}"/></template></namespace>'
        )
        for value in (
            Value(index=1, type="TEMPLATE", data="# http://10.0.0.1/{part}"),
            Value(index=1, type="HS_NAMESPACE", data=namespace),
        ):
            with pytest.raises(InvalidRequest, match="private network"):
                desk.registry.door.execute_command(Assign(identifier=parse(NAME), values=(value,)))

    @pytest.mark.parametrize("data", ["http://10.0.0.1/", "//localhost/x", "192.168.1.1"])
    def test_but_not_in_values_that_are_no_locations(self, desk: Desk, data: str) -> None:
        desk.reopen(private_locations="refuse", handle_prefixes="21.T14999")
        value = Value(index=1, type="DESC", data=data)
        desk.registry.door.execute_command(Assign(identifier=parse(NAME), values=(value,)))
        assert [one.data for one in desk.record(NAME).values] == [data]

    @pytest.mark.parametrize("uri", PRIVATE)
    def test_in_bulk_they_are_refused_by_line(self, desk: Desk, uri: str) -> None:
        desk.reopen(private_locations="refuse")
        lines = [
            {"id": "hdl:1839/well", "locations": ["https://a.example/"]},
            {"id": "hdl:1839/private", "locations": [uri]},
            {
                "id": "hdl:1839/value",
                "values": [{"index": 1, "type": "URL", "data": uri}],
            },
        ]
        text = "".join(f"{json.dumps(one)}\n" for one in lines)
        end, faults = imported(desk, text)
        assert (end.accepted, end.refused) == (1, 2)
        assert sorted(one.line for one in faults) == [2, 3]
        assert all("private network" in str(one.error) for one in faults)
        for name in ("private", "value"):
            assert desk.registry.records.find_record(f"hdl:1839/{name}") is None

    def test_in_bulk_atomically_nothing_is_taken(self, desk: Desk) -> None:
        desk.reopen(private_locations="refuse")
        lines = '{"id": "hdl:1839/a", "locations": ["https://a.example/"]}\n'
        lines += '{"id": "hdl:1839/b", "locations": ["http://10.0.0.1/"]}\n'
        end, faults = imported(desk, lines, atomic=True)
        assert end.refused == 1
        assert [one.line for one in faults] == [2]
        assert desk.registry.records.find_record("hdl:1839/a") is None

    def test_but_for_networks_that_are_allowed(self, desk: Desk) -> None:
        desk.reopen(private_locations="refuse", private_networks="10.0.0.0/8")
        desk.bind(NAME, "http://10.0.0.1/x", register=True)
