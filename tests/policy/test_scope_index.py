"""The index of scopes finds what trying all scopes finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.ids import parse
from perdure.policy.rights import covers_object, make_object
from perdure.policy.scope_index import ScopeIndex

SCOPES = (
    "*",
    "*.us",
    "*.gov.us",
    "*.eop.gov.us",
    "oma.eop.gov.us",
    "pdi://oma.eop.gov.us/",
    "pdi://oma.eop.gov.us/1997/",
    "pdi://oma.eop.gov.us/1997/09/",
    "pdi://oma.eop.gov.us/1997/09/01/",
    "pdi://oma.eop.gov.us/1997/*/01/*",
    "pdi://oma.eop.gov.us/1997/09/*",
    "pdi://oma.eop.gov.us/1997/0*",
    "99999/fk4",
    "99999/fk4*",
    "ark:99999/fk4x*",
    "hdl:1839/*",
    "hdl:1839/A*",
    "hdl:1839/a",
    "urn:isbn:*",
    "IANA:42117",
)
NAMES = (
    "pdi://oma.eop.gov.us/1997/09/01/1",
    "pdi://oma.eop.gov.us/1998/09/01/1",
    "pdi://eop.gov.us/1997/09/01/1",
    "pdi://gpo.gov.us/1997/09/02/2",
    "ark:99999/fk4xy",
    "ark:99999/fk5",
    "hdl:1839/A",
    "hdl:1839/abc",
    "hdl:1840/abc",
    "urn:isbn:9780141036144",
    "URN:IANA:42117::x:::",
)


@pytest.mark.parametrize("name", NAMES)
@given(scopes=st.sets(st.sampled_from(SCOPES)))
def test_law_the_index_finds_every_scope_that_covers_a_name(name: str, scopes: set[str]) -> None:
    """ "every scope that covers a name is found"."""
    index = ScopeIndex()
    for scope in sorted(scopes):
        index.add_scope(scope)
    what = make_object(parse(name))
    found = list(index.find_scopes(what))
    assert sorted(found) == sorted(one for one in scopes if covers_object(one, what))
    assert bool(index) is bool(scopes)


@pytest.mark.parametrize(
    ("name", "scopes"),
    [
        (
            "pdi://oma.eop.gov.us/1997/09/01/1",
            {
                "*",
                "*.us",
                "*.gov.us",
                "*.eop.gov.us",
                "oma.eop.gov.us",
                "pdi://oma.eop.gov.us/",
                "pdi://oma.eop.gov.us/1997/",
                "pdi://oma.eop.gov.us/1997/09/",
                "pdi://oma.eop.gov.us/1997/09/01/",
                "pdi://oma.eop.gov.us/1997/*/01/*",
                "pdi://oma.eop.gov.us/1997/09/*",
                "pdi://oma.eop.gov.us/1997/0*",
            },
        ),
        ("pdi://eop.gov.us/1997/09/01/1", {"*", "*.us", "*.gov.us", "*.eop.gov.us"}),
        ("ark:99999/fk4xy", {"*", "99999/fk4", "99999/fk4*", "ark:99999/fk4x*"}),
        ("hdl:1839/A", {"*", "hdl:1839/*", "hdl:1839/A*", "hdl:1839/a"}),
        ("hdl:1840/abc", {"*"}),
        ("urn:isbn:9780141036144", {"*", "urn:isbn:*"}),
        ("URN:IANA:42117::x:::", {"*", "IANA:42117"}),
    ],
)
def test_the_scopes_that_cover_a_name(name: str, scopes: set[str]) -> None:
    """Scopes are as the reference on rights describes them."""
    index = ScopeIndex()
    for scope in SCOPES:
        index.add_scope(scope)
    found = list(index.find_scopes(make_object(parse(name))))
    assert len(found) == len(set(found))
    assert set(found) == scopes


def test_scopes_that_differ_in_case_are_both_found() -> None:
    index = ScopeIndex()
    assert not index
    index.add_scope("hdl:1839/A*")
    index.add_scope("hdl:1839/a*")
    found = index.find_scopes(make_object(parse("hdl:1839/ab")))
    assert sorted(found) == ["hdl:1839/A*", "hdl:1839/a*"]
