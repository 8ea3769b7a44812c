"""Which locations there may be, and what they may promise."""

from __future__ import annotations

from typing import Any

import pytest

from perdure.errors import (
    InvalidRequest,
)
from perdure.ids import parse
from perdure.model.records import Location, Record
from perdure.policy import binding
from perdure.writing.load import joined


@pytest.mark.parametrize(
    "fields",
    [
        {"uri": "/relative"},
        {"uri": ""},
        {"uri": "https:"},
        {"uri": "https://a.example/ b"},
        {"uri": "https://a.example/é"},
        {"uri": "https://a.example/\n"},
        {"uri": "https://a.example/" + "x" * 8192},
        {"uri": "javascript:alert(1)"},
        {"uri": "JavaScript:alert(1)"},
        {"uri": "data:text/html,x"},
        {"uri": "file:///etc/passwd"},
        {"uri": "https://a.example/", "version": 0},
        {"uri": "https://a.example/", "version": 10**18},
        {"uri": "https://a.example/", "weight": -1},
        {"uri": "https://a.example/", "weight": 2**70},
        {"uri": "https://a.example/", "sha512": "A" * 128},
        {"uri": "https://a.example/", "sha512": "a" * 127},
        {"uri": "https://a.example/", "language": "en\r\nX: y"},
        {"uri": "https://a.example/", "region": "x" * 101},
        {"uri": "https://a.example/", "role": ""},
    ],
)
def test_locations_that_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        binding.checked((Location(**fields),))


@pytest.mark.parametrize(
    "uri",
    [
        "https://a.example/x?y=z#part",
        "http://[::1]:8080/",
        "ftp://a.example/x",
        "urn:isbn:9780141036144",
        "hdl:1/2",
        "http://a.example/%e2%82%ac",
    ],
)
def test_locations_of_many_schemes(uri: str) -> None:
    assert binding.checked((Location(uri=uri, format="HTML"),)) == (
        Location(uri=uri, format="html"),
    )


@pytest.mark.parametrize(
    ("name", "uri"),
    [
        ("hdl:1839/A", "hdl:1839/a"),
        ("doi:10.1000/182", "info:doi/10.1000/182"),
        ("ark:12345/x8rd", "ark:/12345/x8rd"),
        ("pdi://oma.eop.gov.us/1997/09/01/1", "urn:pdi://oma.eop.gov.us/1997/9/1/1.text.1"),
    ],
)
def test_nothing_lies_at_itself(name: str, uri: str) -> None:
    with pytest.raises(InvalidRequest, match="the identifier itself"):
        binding.bind(parse(name), Record(), (Location(uri=uri),))
    binding.bind(parse(name), Record(), (Location(uri="hdl:1839/other"),))


def test_the_resolver_of_others_may_know_more() -> None:
    binding.bind(parse("doi:10.1000/182"), Record(), (Location(uri="https://doi.org/10.1000/182"),))


def test_many_at_once_cost_no_more_than_one_by_one() -> None:
    """Everybody waits for the one writer: time that grows with the square would be minutes."""
    name = parse("hdl:1839/x")
    many = [
        Location(uri=f"https://a.example/{number}", version=1, sha512="a" * 128)
        for number in range(100_000)
    ]
    record, _ = binding.bind(name, Record(), tuple(many[:50_000]))
    record = joined(name, record, Record(locations=tuple(many)))
    assert record.locations == tuple(many)
    others = [parse(f"hdl:1839/{number}") for number in range(20_000)]
    record, _ = binding.alias(name, record, *others, name, *others)
    assert len(record.aliases) == 20_000
