"""Addresses on private networks are refused, in whatever way they would come into a record."""

from __future__ import annotations

import pytest

from perdure.errors import InvalidRequest
from perdure.ids import parse
from perdure.model.commands import Assign, Bind, Command, Mint, Register, Relocate, Withdraw
from perdure.model.records import Location, Record, Value
from perdure.policy import private_locations
from perdure.policy.private_locations import LocationRule

NAME = parse("hdl:21.T14999/x")
HOME = "http://127.0.0.1/x"
PLACE = (Location(uri=HOME),)
LISTED = f'<locations><location href="{HOME}"/></locations>'
NAMESPACE = (
    '<namespace><template delimiter="@"><foreach><value data="http://127.0.0.1${extension}"/>'
    "</foreach></template></namespace>"
)


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (Mint(authority="a.example", contents=(), locations=PLACE), [HOME]),
        (Register(identifier=NAME, locations=PLACE), [HOME]),
        (Bind(identifier=NAME, locations=PLACE), [HOME]),
        (Relocate(moves=((HOME, "http://b.example/"),), keys=()), ["http://b.example/"]),
        (Relocate(moves=(("//a.example", "//10.0.0.1"),), keys=()), ["http://10.0.0.1"]),
        (Assign(identifier=NAME, values=(Value(index=1, type="URL", data=HOME),)), [HOME]),
        (Withdraw(identifier=NAME, reason=HOME), []),
    ],
    ids=lambda one: type(one).__name__,
)
def test_the_addresses_that_a_command_would_bind(command: Command, expected: list[str]) -> None:
    assert list(private_locations.list_command_addresses(command)) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Value(index=1, type="URL", data=HOME), [HOME]),
        (Value(index=1, type="10320/loc", data=LISTED), [HOME]),
        (Value(index=1, type="HS_NAMESPACE", data=NAMESPACE), ["http://127.0.0.1"]),
        (Value(index=1, type="DESC", data=HOME), []),
    ],
    ids=lambda one: one.type if isinstance(one, Value) else "",
)
def test_the_addresses_of_a_record(value: Value, expected: list[str]) -> None:
    place = Location(uri="https://a.example/")
    record = Record(locations=(place,), values=(value,))
    assert list(private_locations.list_record_addresses(record)) == [place.uri, *expected]


def test_only_what_is_allowed_lies_on_a_private_network() -> None:
    LocationRule(()).check_addresses([])
    LocationRule(()).check_addresses(["https://93.184.215.14/", "mailto:a@b.example"])
    LocationRule(("10.0.0.0/8",)).check_addresses(["http://10.1.2.3/"])
    for uris in (["https://a.example/", "http://10.1.2.3/"], ["http://10.1.2.3/"]):
        with pytest.raises(InvalidRequest):
            LocationRule(("192.168.0.0/16",)).check_addresses(uris)
