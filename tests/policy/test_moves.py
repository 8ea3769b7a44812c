"""Moving locations by rule: what a rule may say, what it changes, and what it leaves."""

from __future__ import annotations

import pytest

from perdure.errors import InvalidRequest
from perdure.model.commands import Outcome
from perdure.model.records import Location, Record, Value
from perdure.policy import moves
from perdure.policy.moves import Move

OLD, NEW = "https://old.example/a/", "https://new.example/b/"
BEGINNING = Move(source=OLD, target=NEW)
HOST = Move(source="//old.example", target="//new.example:8080")


@pytest.mark.parametrize(
    ("move", "uri", "expected"),
    [
        (BEGINNING, "https://old.example/a/x?y#z", "https://new.example/b/x?y#z"),
        (BEGINNING, "https://old.example/a/", NEW),
        (BEGINNING, "https://old.example/A/x", None),
        (BEGINNING, "http://old.example/a/x", None),
        (BEGINNING, "https://other.example/https://old.example/a/", None),
        (HOST, "http://OLD.example/x?y", "http://new.example:8080/x?y"),
        (HOST, "ftp://old.example", "ftp://new.example:8080"),
        (HOST, "https://old.example.org/", None),
        (HOST, "https://old.example:80/", None),
        (HOST, "https://www.old.example/", None),
        (HOST, "mailto:a@old.example", None),
    ],
)
def test_what_a_rule_makes_of_an_address(move: Move, uri: str, expected: str | None) -> None:
    assert move.apply_to(uri) == expected


@pytest.mark.parametrize(
    "sides",
    [
        (OLD, NEW),
        ("//old.example", "//new.example"),
        ("//[::1]:80", "//127.0.0.1"),
        ("https://old.example/" + "a" * (2048 - 20), NEW),
        ("//" + "a" * 2046, "//b"),
    ],
)
def test_rules_that_can_be_followed(sides: tuple[str, str]) -> None:
    moves.check_moves((Move(source=sides[0], target=sides[1]),))


@pytest.mark.parametrize(
    "sides",
    [
        ("https://old.example", "https://new.example"),  # would take old.example.org along
        (OLD, "//new.example"),
        ("//old.example", NEW),
        ("//old.example/a", "//new.example/b"),
        ("", ""),
        (OLD, "https://new.example/\n"),
        ("https://old.example/" + "a" * (2048 - 19), NEW),
        ("//" + "a" * 2047, "//b"),
    ],
)
def test_rules_that_could_mean_something_else(sides: tuple[str, str]) -> None:
    with pytest.raises(InvalidRequest):
        moves.check_moves((BEGINNING, Move(source=sides[0], target=sides[1])))


def test_the_first_rule_that_fits_is_applied_once() -> None:
    again = Move(source=NEW, target="https://third.example/")
    record, outcome = moves.move_locations(
        Record(locations=(Location(uri=f"{OLD}x"),)), (BEGINNING, again)
    )
    assert [one.uri for one in record.locations] == [f"{NEW}x"]
    assert outcome is Outcome.CHANGED


def test_a_record_to_which_no_rule_applies_is_unchanged() -> None:
    record = Record(locations=(Location(uri="https://third.example/"),))
    assert moves.move_locations(record, (BEGINNING, HOST)) == (record, Outcome.UNCHANGED)


def test_two_locations_that_become_one_keep_the_promise_of_either() -> None:
    plain, promised = Location(uri=f"{OLD}x", weight=2), Location(uri=f"{NEW}x", sha512="ab" * 64)
    for locations in ((plain, promised), (promised, plain)):
        record, outcome = moves.move_locations(Record(locations=locations), (BEGINNING,))
        (one,) = record.locations
        assert (one.uri, one.sha512, outcome) == (f"{NEW}x", "ab" * 64, Outcome.CHANGED)
        assert one.weight == locations[0].weight


def test_locations_of_different_versions_stay_apart() -> None:
    locations = (Location(uri=f"{OLD}x", version=1), Location(uri=f"{NEW}x", version=2))
    record, _ = moves.move_locations(Record(locations=locations), (BEGINNING,))
    assert [(one.uri, one.version) for one in record.locations] == [(f"{NEW}x", 1), (f"{NEW}x", 2)]


def test_the_values_of_a_handle_move_with_its_locations() -> None:
    listed = f'<locations><location href="{OLD}x" weight="2"/><location href="//c"/></locations>'
    values = (
        Value(index=1, type="URL", data=f"{OLD}x"),
        Value(index=2, type="10320/loc", data=listed),
        Value(index=3, type="DESC", data=f"{OLD}x"),
        Value(index=4, type="URL", data="https://third.example/"),
    )
    record = Record(locations=(Location(uri=f"{OLD}x"),), values=values)
    moved, _ = moves.move_locations(record, (BEGINNING,))
    assert [one.index for one in moved.values] == [1, 2, 3, 4]
    assert moved.values[0].data == f"{NEW}x"
    assert f'href="{NEW}x" weight="2"' in moved.values[1].data
    assert 'href="//c"' in moved.values[1].data
    assert moved.values[2:] == values[2:]


def test_a_list_of_places_that_do_not_move_is_kept_to_the_letter() -> None:
    listed = '<locations ><location href="https://third.example/"/></locations>'
    values = (Value(index=2, type="10320/loc", data=listed),)
    record = Record(locations=(Location(uri=f"{OLD}x"),), values=values)
    assert moves.move_locations(record, (BEGINNING,))[0].values == values
