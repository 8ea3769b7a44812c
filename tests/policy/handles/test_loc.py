"""`10320/loc`, with the examples of the Handle System, and XML that means harm."""

from __future__ import annotations

import pytest

from perdure.errors import InvalidRequest
from perdure.model.records import Location
from perdure.policy.handles import loc

# the example of http://www.handle.net/overviews/handle_type_10320_loc.html, shortened
EXAMPLE = """<locations>
  <location id="0" href="http://uk.example.com/" country="gb" weight="0" />
  <location id="1" href="http://www1.example.com/" weight="1" />
  <location id="2" href="http://www2.example.com/" />
</locations>"""


def test_the_example_of_the_handle_system() -> None:
    assert loc.read_locations(EXAMPLE) == (
        Location(uri="http://uk.example.com/", region="gb", weight=0),
        Location(uri="http://www1.example.com/"),
        Location(uri="http://www2.example.com/"),
    )


def test_fractions_are_scaled_alike() -> None:
    text = (
        '<locations><location href="hdl:1/a" weight="0.25"/><location href="hdl:1/b"/></locations>'
    )
    assert [one.weight for one in loc.read_locations(text)] == [250, 1000]


def test_what_is_gone_is_taken_out() -> None:
    left = loc.remove_locations(EXAMPLE, {"http://www1.example.com/"})
    assert [one.uri for one in loc.read_locations(left)] == [
        "http://uk.example.com/",
        "http://www2.example.com/",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<locations>",
        "<other/>",
        '<!DOCTYPE l [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><locations>&b;</locations>',
        '<!DOCTYPE l SYSTEM "file:///etc/passwd"><locations/>',
        "<locations>&undefined;</locations>",
        '<locations><location href="hdl:1/a" weight="-1"/></locations>',
        '<locations><location href="hdl:1/a" weight="1e400"/></locations>',
        '<locations><location href="hdl:1/a" weight="NaN"/></locations>',
        "<locations>" + '<location href="hdl:1/a"/>' * 1001 + "</locations>",
        "<locations>" + " " * loc.LONGEST + "</locations>",
    ],
)
def test_what_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequest):
        loc.read_locations(text)
