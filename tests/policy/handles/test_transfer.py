"""Handle values leave a registry and come into another one with everything else."""

from __future__ import annotations

import io
import json
from pathlib import Path

from tests.conftest import SERIES, Clock, Desk

from perdure.ids import parse
from perdure.model.commands import Assign
from perdure.model.records import Value
from perdure.policy.handles import sealing
from perdure.policy.handles.values import list_values
from perdure.registry import initialise
from perdure.upkeep.transfer.exporting import export_lines
from perdure.upkeep.transfer.importing import ImportSource, import_lines

NAME = "hdl:21.T14999/x"


def copied(lines: bytes, place: Path) -> Desk:
    initialise(place, series=(SERIES,))
    copy = Desk(place, Clock())
    *_, end = import_lines(copy.registry, ImportSource(io.BytesIO(lines), place))
    assert end.refused == 0
    return copy


def test_import_is_the_inverse_of_export(desk: Desk, place: Path) -> None:
    values = (
        Value(index=1, type="URL", data="http://a.example/", ttl=60),
        Value(index=2, type="DESC", data="Ä\r\n", permissions="1100"),
        Value(index=100, type="HS_ADMIN", format="admin", data='{"handle":"x/y","index":300}'),
    )
    desk.registry.door.execute_command(Assign(identifier=parse(NAME), values=values))
    lines = b"".join(export_lines(desk.registry))
    copy = copied(lines, place / "copy")
    assert list_values(copy.record(NAME)) == list_values(desk.record(NAME))
    assert b"".join(export_lines(copy.registry)) == lines


def test_what_comes_from_a_handle_server(place: Path) -> None:
    """URLs become locations, secrets are sealed on the way in."""
    values = [
        {"index": 1, "type": "URL", "data": "http://a.example/", "at": "2015-06-09T12:34:06Z"},
        {"index": 300, "type": "HS_SECKEY", "data": "s3cret"},
    ]
    line = json.dumps({"id": NAME, "values": values}).encode()
    copy = copied(line, place / "copy")
    record = copy.record(NAME)
    assert [one.uri for one in record.locations] == ["http://a.example/"]
    first, secret = list_values(record)
    assert first.at == "2015-06-09T12:34:06Z"
    assert sealing.matches_secret("s3cret", secret.data)


def test_indexes_of_a_handle_server_are_kept(place: Path) -> None:
    """RFC 3651 section 3.1: an index is "An unsigned 32-bit integer"."""
    values = [{"index": index, "type": "DESC", "data": str(index)} for index in (0, 2_000_000_000)]
    copy = copied(json.dumps({"id": NAME, "values": values}).encode(), place / "copy")
    assert [one.index for one in list_values(copy.record(NAME))] == [0, 2_000_000_000]
