"""Which documents a citation joins, and that each names one version in one format."""

from __future__ import annotations

import pytest

from perdure.errors import InvalidRequest
from perdure.errors.citing import NotACitation, SideNotPinned
from perdure.errors.naming import PatternNotAllowed
from perdure.ids import parse
from perdure.policy.citing import list_sides, require_citation

ONE, TWO, THREE = (f"pdi://a.us/1997/01/01/{number}.text.1" for number in (1, 2, 3))


@pytest.mark.parametrize(
    ("citation", "sides"),
    [
        (f"{ONE}@9={TWO}", [ONE, TWO]),
        (f"{ONE}@9={TWO}#char=37,51", [ONE, f"{TWO}#char=37,51"]),
        (f"{ONE}@9={TWO}@8={THREE}", [ONE, TWO, THREE]),
    ],
)
def test_the_sides_from_the_outside_to_the_inside(citation: str, sides: list[str]) -> None:
    """Section 3.5: `citing@position=cited`, and what is cited may be a citation."""
    found = require_citation(parse(citation))
    assert [str(one) for one in list_sides(found)] == sides


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (ONE, NotACitation),
        ("hdl:1839/a", NotACitation),
        (f"pdi://a.us/1997/01/01/1@9={TWO}", SideNotPinned),
        (f"{ONE}@9=pdi://a.us/1997/01/01/2.text", SideNotPinned),
        (f"{ONE}@9=pdi://a.us/1997/01/01/2.text.*", PatternNotAllowed),
    ],
)
def test_what_cannot_be_checked(text: str, error: type[InvalidRequest]) -> None:
    """Ruling pdi-citation: both sides name one version in one format."""
    with pytest.raises(error):
        require_citation(parse(text))


def test_the_side_that_is_a_pattern_is_named() -> None:
    with pytest.raises(PatternNotAllowed, match=r"list pdi://a\.us/1997/01/01/\*\.text\.1'"):
        require_citation(parse(f"{ONE}@9=pdi://a.us/1997/01/01/*.text.1#char=1,2"))
