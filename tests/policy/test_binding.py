"""Which locations there may be, and what they may promise."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.conftest import sha512, text

from perdure.errors import Conflict, InvalidRequest
from perdure.errors.locations import LocationNamesUser, MalformedLocation
from perdure.ids import parse
from perdure.model.commands import Outcome
from perdure.model.records import (
    Location,
    LocationDrift,
    Record,
    Representation,
    Tombstone,
    Version,
)
from perdure.policy import binding
from perdure.policy.joining import join_records


@pytest.mark.parametrize(
    "fields",
    [
        {"uri": "/relative"},
        {"uri": ""},
        {"uri": "https:"},
        {"uri": "https://a.example/ b"},
        {"uri": "https://a.example/é"},
        {"uri": "https://a.example/\n"},
        {"uri": "https://a.example/" + "x" * (8193 - len("https://a.example/"))},
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
        binding.check_locations((Location(**fields),))


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
    assert binding.check_locations((Location(uri=uri, format="HTML"),)) == (
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
        binding.bind_locations(parse(name), Record(), (Location(uri=uri),))
    binding.bind_locations(parse(name), Record(), (Location(uri="hdl:1839/other"),))


def test_a_location_has_at_most_8192_characters() -> None:
    longest = "https://a.example/".ljust(8192, "x")
    binding.check_uri(longest)
    with pytest.raises(MalformedLocation):
        binding.check_uri(longest + "x")


@pytest.mark.parametrize("uri", ["https://a@b.com/", "HTTP://a:b@c.example/x", "http://@a.example"])
def test_a_location_must_not_name_a_user(uri: str) -> None:
    """ "A sender MUST NOT generate the userinfo subcomponent" (RFC 9110 section 4.2.4)."""
    with pytest.raises(LocationNamesUser):
        binding.check_uri(uri)
    binding.check_uri("https://a.example/b@c?d@e#f@g")


def test_the_resolver_of_others_may_know_more() -> None:
    binding.bind_locations(
        parse("doi:10.1000/182"), Record(), (Location(uri="https://doi.org/10.1000/182"),)
    )


@pytest.mark.growth
def test_many_at_once_cost_no_more_than_one_by_one() -> None:
    """Everybody waits for the one writer: time that grows with the square would be minutes."""
    name = parse("hdl:1839/x")
    many = [
        Location(uri=f"https://a.example/{number}", version=1, sha512="a" * 128)
        for number in range(100_000)
    ]
    record, _ = binding.bind_locations(name, Record(), tuple(many[:50_000]))
    record = join_records(name, record, Record(locations=tuple(many)))
    assert record.locations == tuple(many)
    others = [parse(f"hdl:1839/{number}") for number in range(20_000)]
    record, _ = binding.add_aliases(name, record, *others, name, *others)
    assert len(record.aliases) == 20_000


# binding and breaking
# --------------------

PLACE, OTHER = "https://a.example/", "https://b.example/"
NAME = parse("ark:/99999/x")
PDI_NAME = parse("pdi://oma.eop.gov.us/1997/09/01/1.text.1")
DIGEST, ANOTHER = "a" * 128, "b" * 128
AT = "2026-11-21T12:00:00Z"
GRAVE = Tombstone(reason="a court said so", at=AT, by="anna")


def held(sha512: str, number: int = 1) -> Version:
    one = Representation(
        format="text", media_type="text/plain", length=1, sha512=sha512, segment=1, offset=0
    )
    return Version(number=number, at=AT, representations=(one,))


def test_what_became_of_a_record_by_binding() -> None:
    record, outcome = binding.bind_locations(NAME, Record(), (Location(uri=PLACE),))
    assert outcome is Outcome.CREATED
    assert binding.bind_locations(NAME, record, (Location(uri=PLACE),)) == (
        record,
        Outcome.UNCHANGED,
    )
    heavier, outcome = binding.bind_locations(NAME, record, (Location(uri=PLACE, weight=3),))
    assert outcome is Outcome.CHANGED
    assert [one.weight for one in heavier.locations] == [3]
    both, outcome = binding.bind_locations(NAME, record, (Location(uri=OTHER),))
    assert ([one.uri for one in both.locations], outcome) == ([PLACE, OTHER], Outcome.CREATED)


def test_a_location_is_of_the_version_and_format_in_the_name() -> None:
    record, _ = binding.bind_locations(PDI_NAME, Record(), (Location(uri=PLACE),))
    assert [(one.version, one.format) for one in record.locations] == [(1, "text")]
    record, _ = binding.bind_locations(
        PDI_NAME, Record(), (Location(uri=PLACE, version=2, format="html"),)
    )
    assert [(one.version, one.format) for one in record.locations] == [(2, "html")]


def test_what_a_location_promised_stays_promised() -> None:
    promised = Location(uri=PLACE, sha512=DIGEST)
    record, _ = binding.bind_locations(PDI_NAME, Record(), (promised,))
    again, _ = binding.bind_locations(PDI_NAME, record, (Location(uri=PLACE, weight=2),))
    assert [(one.sha512, one.weight) for one in again.locations] == [(DIGEST, 2)]


@pytest.mark.parametrize(
    ("record", "location"),
    [
        (Record(tombstone=GRAVE), Location(uri=PLACE)),
        (Record(versions=(Version(number=1, at=AT, tombstone=GRAVE),)), Location(uri=PLACE)),
        (Record(versions=(held(DIGEST),)), Location(uri=PLACE, sha512=ANOTHER)),
        (
            Record(locations=(Location(uri=OTHER, version=1, format="text", sha512=DIGEST),)),
            Location(uri=PLACE, sha512=ANOTHER),
        ),
    ],
    ids=["withdrawn", "version withdrawn", "other bytes held", "other bytes promised"],
)
def test_what_is_bound_for_ever_is_not_bound_otherwise(record: Record, location: Location) -> None:
    with pytest.raises(Conflict):
        binding.bind_locations(PDI_NAME, record, (location,))


def test_at_least_one_location_is_needed() -> None:
    with pytest.raises(InvalidRequest):
        binding.bind_locations(NAME, Record(), ())


def test_the_location_to_break_is_of_the_version_in_the_name() -> None:
    first, second = (Location(uri=PLACE, version=one, format="text") for one in (1, 2))
    record = Record(locations=(second, first))
    assert binding.find_location(PDI_NAME, record, PLACE) == first
    assert binding.find_location(PDI_NAME.whole, record, PLACE) in (first, second)
    for name, uri in ((PDI_NAME, OTHER), (parse(f"{str(PDI_NAME)[:-1]}3"), PLACE)):
        with pytest.raises(InvalidRequest):
            binding.find_location(name, record, uri)


def test_original_bytes_outlive_their_location() -> None:
    """PDI section 3.6.2."""
    promised = Location(uri=PLACE, version=1, format="text", sha512=sha512(b"one"))
    gone = Record(locations=(promised,))
    with pytest.raises(Conflict):
        binding.plan_break(PDI_NAME, gone, promised, None)
    with pytest.raises(Conflict):
        binding.plan_break(PDI_NAME, gone, promised, text("two"))
    plan = binding.plan_break(PDI_NAME, gone, promised, text("one"))
    assert plan is not None
    assert (plan.version, [one.sha512 for one in plan.fresh]) == (1, [promised.sha512])
    kept = Record(locations=(promised,), versions=(held(sha512(b"one")),))
    assert binding.plan_break(PDI_NAME, kept, promised, None) is None
    elsewhere = Record(locations=(promised,), versions=(held(sha512(b"one"), 2),))
    with pytest.raises(Conflict):
        binding.plan_break(PDI_NAME, elsewhere, promised, None)
    plain = Location(uri=PLACE)
    assert binding.plan_break(NAME, Record(locations=(plain,)), plain, None) is None


def test_a_name_that_lost_its_last_location_knows_why() -> None:
    one, two = Location(uri=PLACE), Location(uri=OTHER)
    record = binding.break_location(Record(locations=(one, two)), one, "anna", AT)
    assert (record.locations, record.broken) == ((two,), None)
    record = binding.break_location(record, two, "anna", AT)
    assert record.locations == ()
    assert record.broken == Tombstone(reason=f"its location {OTHER} was broken", at=AT, by="anna")
    of_version = Location(uri=PLACE, version=4)
    record = binding.break_location(Record(locations=(of_version,)), of_version, "anna", AT)
    assert [(one.number, one.at) for one in record.versions] == [(4, AT)]
    assert record.versions[0].broken is not None


def test_only_evidence_against_a_promise_of_a_location_breaks_it() -> None:
    """Ruling drift: the content that was found contradicts what was bound."""
    bound = Location(uri=PLACE, version=1, format="text", sha512=DIGEST, size=3)
    record = Record(locations=(Location(uri=OTHER), bound))
    drift = LocationDrift(
        uri=PLACE, version=1, format="text", sha512=DIGEST, size=3, found_sha512=ANOTHER
    )
    assert binding.find_drifted(PDI_NAME, record, drift) == bound
    for other in (
        replace(drift, found_sha512=DIGEST),
        replace(drift, found_sha512=None),
        replace(drift, uri=OTHER),
        replace(drift, version=2),
        replace(drift, sha512=ANOTHER),
    ):
        with pytest.raises(InvalidRequest):
            binding.find_drifted(PDI_NAME, record, other)
