"""Which other resolvers may know a name that is unknown here."""

from __future__ import annotations

import pytest

from perdure.ids import Authority, parse
from perdure.model.queries import Choices, Elsewhere, Redirect, Want
from perdure.policy.forwarding import find_public_resolvers
from perdure.policy.unfolding import split_hash

OWN = (Authority("ark", "99999/fk4"), Authority("pdi", "oma.eop.gov.us"))


def find(name: str, part: str = "", forward: str = "refer") -> Elsewhere | None:
    return find_public_resolvers(
        parse(name), part, forward=forward, authorities=OWN, prefixes=("1839",)
    )


def list_addresses(found: Elsewhere | None) -> list[str]:
    return [] if found is None else [one.address for one in found.resolvers]


@pytest.mark.parametrize(
    ("name", "addresses"),
    [
        ("doi:10.1000/182", ["https://doi.org/10.1000/182"]),
        ("ark:12148/btv1", ["https://n2t.net/ark:12148/btv1"]),
        ("hdl:1839/ours", []),
        ("hdl:0.NA/1839", []),
        ("ark:99999/fk4ours", []),
        ("ark:99999/another-shoulder", []),  # its public resolver may send readers here
        ("pdi://oma.eop.gov.us/1997/09/01/1", []),
        ("pdi://press.a.us/1997/09/01/1", []),
        ("urn:example:a", []),
        ("hdl:20.1/*", []),
        ("urn:isbn:*", []),
    ],
)
def test_names_of_other_authorities_have_public_resolvers(name: str, addresses: list[str]) -> None:
    assert list_addresses(find(name)) == addresses
    assert find(name, forward="never") is None


def test_a_part_becomes_the_fragment() -> None:
    assert list_addresses(find("doi:10.1000/182", "page=2")) == [
        "https://doi.org/10.1000/182#page=2"
    ]
    assert list_addresses(find("doi:10.1000/182", "a b<")) == [
        "https://doi.org/10.1000/182#a%20b%3C"
    ]


def test_readers_choose_unless_the_setting_says_otherwise() -> None:
    refer, redirect = find("doi:10.1000/182"), find("doi:10.1000/182", forward="redirect")
    assert refer is not None
    assert redirect is not None
    for want in (Want.RESOURCE, Want.LOCATION, Want.LOCATIONS, Want.RESOURCES):
        assert isinstance(refer.answer(want), Choices)
    step = redirect.answer(Want.LOCATION)
    assert isinstance(step, Redirect)
    assert step.location.uri == "https://doi.org/10.1000/182"
    assert isinstance(redirect.answer(Want.LOCATIONS), Choices)
    assert refer.answer(Want.DESCRIPTION) is redirect.answer(Want.NAMES) is None


def test_nobody_is_redirected_to_a_service_that_is_not_official() -> None:
    found = find("urn:isbn:9780140328721", forward="redirect")
    assert found is not None
    assert not found.is_followed
    assert isinstance(found.answer(Want.RESOURCE), Choices)


def test_only_a_scheme_without_hashes_splits_at_an_escaped_one() -> None:
    assert split_hash(parse("hdl:1/a%23b")) == (parse("hdl:1/a%23b"), "")
    assert split_hash(parse("urn:example:a")) == (parse("urn:example:a"), "")
    assert split_hash(parse("ark:12345/a%23page=2")) == (parse("ark:12345/a"), "page=2")
