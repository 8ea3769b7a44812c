"""Choosing among the locations of `10320/loc` values (Handle.Net technical manual, section 3.2)."""

from __future__ import annotations

import pytest

from perdure.ids import parse
from perdure.model.queries import LocationAttribute, Preference, Query, Redirect, Want
from perdure.model.records import Location, Record, Value
from perdure.policy.decide import decide_step
from perdure.policy.handles import loc
from perdure.policy.handles.choosing import negotiates_elsewhere

# the example of the manual, with a role
_LOC = """<locations{}>
<location id="0" href="http://uk.example.com/" country="gb" weight="0" />
<location id="1" href="http://www1.example.com/" weight="1" />
<location id="2" href="http://www2.example.com/" weight="2" />
<location id="3" href="http://data.example.com/" http_role="conneg" weight="9" />
</locations>"""
_NAME = parse("hdl:1839/A")


def make_record(chooseby: str | None = None, permissions: str = "1110", ttl: int = 60) -> Record:
    text = _LOC.format("" if chooseby is None else f' chooseby="{chooseby}"')
    value = Value(index=1, type=loc.TYPE, data=text, permissions=permissions, ttl=ttl)
    return Record(locations=loc.read_locations(text), values=(value,))


def ask(
    record: Record,
    locatt: str = "",
    region: str | None = None,
    accept: str = "",
    want: Want = Want.RESOURCE,
) -> Redirect:
    name, _, text = locatt.partition(":")
    step = decide_step(
        Query(
            identifier=_NAME,
            want=want,
            attributes=(LocationAttribute(name, text),) if locatt else (),
            region=region,
            accept=(Preference(accept),) if accept else (),
        ),
        record,
    )
    assert isinstance(step, Redirect)
    return step


@pytest.mark.parametrize(
    ("chooseby", "asked", "found"),
    [
        (None, {}, "www2"),  # weighted: the greatest weight
        (None, {"region": "gb"}, "uk"),  # country comes before weighted
        (None, {"region": "de"}, "www2"),
        (None, {"locatt": "id:1"}, "www1"),  # locatt comes first
        (None, {"locatt": "id:1", "region": "gb"}, "www1"),
        (None, {"locatt": "id:9"}, "www2"),  # no location has it: the next method decides
        (None, {"locatt": "country:gb"}, "uk"),
        (None, {"locatt": "http_role:conneg"}, "data"),
        ("weighted", {"region": "gb"}, "www2"),
        ("weighted", {"locatt": "id:1"}, "www2"),
        ("weighted,country", {"region": "gb"}, "www2"),  # weighted leaves nothing to choose
        ("country", {}, "uk"),  # without weights, the first of all
        ("locatt, Country", {"locatt": "id:2"}, "www2"),
        (None, {"accept": "application/rdf+xml"}, "data"),
        (None, {"accept": "text/html"}, "www2"),
        (None, {"accept": "*/*"}, "www2"),
        (None, {"accept": "application/rdf+xml", "locatt": "id:1"}, "www1"),
    ],
)
def test_methods(chooseby: str | None, asked: dict[str, str], found: str) -> None:
    for want in (Want.RESOURCE, Want.LOCATION):
        step = ask(make_record(chooseby), want=want, **asked)
        assert step.location.uri == f"http://{found}.example.com/"


def test_a_choice_never_leaves_nothing() -> None:
    text = '<locations><location href="http://a.example/" http_role="conneg"/></locations>'
    value = Value(index=1, type=loc.TYPE, data=text)
    record = Record(locations=loc.read_locations(text), values=(value,))
    assert ask(record).location.uri == "http://a.example/"
    two = Record(locations=(*record.locations, Location(uri="http://b.example/")), values=(value,))
    assert ask(two).location.uri == "http://b.example/"
    assert ask(two, accept="text/turtle").location.uri == "http://a.example/"


def test_a_list_of_locations_has_all() -> None:
    step = decide_step(Query(identifier=_NAME, want=Want.LOCATIONS), make_record())
    assert len(getattr(step, "locations", ())) == 4


def test_a_value_that_is_not_public_chooses_nothing() -> None:
    record = make_record(permissions="1100")
    assert not negotiates_elsewhere(record.values)
    assert ask(record).location.uri == "http://data.example.com/"  # bound beside the value
    assert ask(record).ttl is None


def test_the_time_to_live_is_that_of_the_value() -> None:
    """RFC 3651 section 3.1: the TTL is how long a value may be cached."""
    record = make_record(ttl=7)
    assert negotiates_elsewhere(record.values)
    assert ask(record).ttl == 7
    shorter = Value(index=2, type="URL", data="http://www2.example.com/", ttl=3)
    both = Record(locations=record.locations, values=(*record.values, shorter))
    assert ask(both).ttl == 3
    assert ask(both, locatt="id:1").ttl == 7
    assert ask(both).redirect_to("http://x.example/").ttl == 3
    assert ask(Record(locations=record.locations)).ttl is None
