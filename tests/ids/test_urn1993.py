"""URNs of 1993, against draft-ietf-uri-resource-names-00."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from perdure.errors import InvalidRequest, MalformedIdentifier
from perdure.ids.urn1993 import SCHEME, Urn1993, parse_urn1993, register_scheme
from perdure.testing import urn1993 as urns

VECTORS = Path(__file__).parents[2] / "vectors"


@pytest.mark.parametrize(
    "case",
    [
        case
        for name in ("urn1993-form", "urn1993-schemes")
        for case in json.loads((VECTORS / f"{name}.json").read_text())["cases"]
    ],
    ids=lambda case: case["text"],
)
def test_vectors(case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises(MalformedIdentifier):
            parse_urn1993(case["text"])
        return
    urn = parse_urn1993(case["text"])
    assert str(urn) == case["canonical"]
    for name, value in case["fields"].items():
        assert getattr(urn, name) == value


@given(urns.values())
def test_the_opaque_string_is_compared_without_regard_to_case(urn: Urn1993) -> None:
    """Guideline 1: "A given opaque string should be case-insensitive"."""
    for opaque in (urn.opaque.upper(), urn.opaque.lower()):
        other = parse_urn1993(f"urn:{urn.authority}::{opaque}:::")
        assert other == urn
        assert other.opaque == opaque  # kept as written


@given(urns.values())
def test_a_key_gives_its_identifier(urn: Urn1993) -> None:
    assert Urn1993.from_key(urn.key) == urn


@pytest.mark.parametrize("key", ["", "IANA::x", "urn1993:", "urn1993:IANA::", "urn1993:IANA:1::x "])
def test_what_is_no_key_gives_nothing(key: str) -> None:
    with pytest.raises(MalformedIdentifier):
        Urn1993.from_key(key)


def test_the_authority_distinguishes() -> None:
    assert parse_urn1993("URN:IANA:1::x:::") != parse_urn1993("URN:IANA:2::x:::")
    assert parse_urn1993("URN:IANA:1::x:::") != parse_urn1993("URN:IANA::x:::")


def test_a_registered_scheme_reads_its_names_and_no_others() -> None:
    nobody = register_scheme("NoBody", lambda it: it.startswith("n"), expected="an n")
    urn = nobody.parse("urn:NOBODY:n1::X:::")
    assert str(urn) == "URN:NoBody:n1::X:::"
    assert isinstance(urn, Urn1993)
    assert Urn1993.from_key(urn.key) == urn
    assert str(nobody.parse("urn:nobody::x:::")) == "URN:NoBody::x:::"
    with pytest.raises(MalformedIdentifier, match="expected an n"):
        nobody.parse("urn:nobody:m1::x:::")
    with pytest.raises(MalformedIdentifier, match="expected the naming scheme NoBody"):
        nobody.parse("urn:iana:1::x:::")


def test_registering_changes_nothing_elsewhere() -> None:
    register_scheme("elsewhere", str.isdigit)
    with pytest.raises(MalformedIdentifier, match="the naming scheme IANA or ISBN_Publisher_ID"):
        parse_urn1993("urn:elsewhere:1::x:::")
    assert SCHEME.prefixes == ("urn:iana:", "urn:isbn_publisher_id:")


@pytest.mark.parametrize("name", ["", "a b", "a:b", "é"])
def test_a_name_that_the_grammar_forbids_cannot_be_registered(name: str) -> None:
    with pytest.raises(InvalidRequest):
        register_scheme(name, str.isdigit)


@pytest.mark.parametrize(
    ("text", "authority"),
    [
        ("URN:IANA:42117::", "IANA:42117"),
        ("urn:iana:42117::", "IANA:42117"),
        ("URN:IANA:forty::", None),
        ("URN:IANA:42117:", None),
        ("URI:IANA:42117::", None),
        ("IANA:42117::", None),
    ],
)
def test_what_asks_for_a_name_of_an_authority(text: str, authority: str | None) -> None:
    assert SCHEME.minting is not None
    assert SCHEME.minting.requested_authority(text) == authority
