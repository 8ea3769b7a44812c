"""ARKs, against draft-kunze-ark-42, and their check characters, against the manual of `noid`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from perdure.errors import MalformedIdentifier
from perdure.ids.ark import SCHEME, Ark, compute_check_character, parse_ark
from perdure.ids.scheme import BETANUMERIC
from perdure.testing import ark as arks

VECTORS = Path(__file__).parents[2] / "vectors"


def cases(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((VECTORS / f"{name}.json").read_text())["cases"]
    return found


@pytest.mark.parametrize("case", cases("ark"), ids=lambda case: case["text"])
def test_vectors(case: dict[str, Any]) -> None:
    if "error" in case:
        with pytest.raises(MalformedIdentifier):
            parse_ark(case["text"])
        return
    ark = parse_ark(case["text"])
    assert str(ark) == case["canonical"]
    for name, value in case.get("fields", {}).items():
        assert getattr(ark, name) == value


@pytest.mark.parametrize("case", cases("ark-equivalence"), ids=lambda case: case["b"])
def test_equivalence_of_the_draft(case: dict[str, Any]) -> None:
    one, other = parse_ark(case["a"]), parse_ark(case["b"])
    assert (one == other) == case["equal"]
    assert SCHEME.equivalent(one, other) == case["equivalent"]


@given(arks.values())
def test_structural_characters_separate_something(ark: Ark) -> None:
    """Section 3.2 step 8: "iterating until each occurrence has at least one non-structural
    character on either side"."""
    canonical = str(ark).removeprefix("ark:")
    assert canonical == canonical.strip("/.")
    assert not any(pair in canonical for pair in ("//", "..", "/.", "./"))


@given(arks.values())
def test_hyphens_are_identity_inert(ark: Ark) -> None:
    """Section 3.1: "It is always safe for an NMA that receives an ARK to remove any hyphens"."""
    assert "-" not in str(ark)
    assert parse_ark(str(ark).replace("/", "/-")) == ark


@given(arks.values())
def test_the_base_is_what_the_authority_assigned(ark: Ark) -> None:
    assert str(ark) == str(ark.base) + ark.qualifier
    assert not ark.base.qualifier
    assert not set(ark.name) & set("/.")


@pytest.mark.parametrize("case", cases("ark-noid-check"), ids=lambda case: case["zone"])
def test_published_check_characters(case: dict[str, str]) -> None:
    assert compute_check_character(case["zone"]) == case["check"]
    assert compute_check_character(f"{case['zone'][:-1]}0") != case["check"]


_ZONES = st.tuples(
    st.text("0123456789", min_size=5, max_size=5), st.text(BETANUMERIC, min_size=1, max_size=21)
).map("/".join)


@given(_ZONES, st.data())
def test_any_single_wrong_character_is_found(zone: str, data: st.DataObject) -> None:
    """ "… guaranteed against single-character errors", for strings shorter than 29 characters."""
    at = data.draw(st.sampled_from([n for n, character in enumerate(zone) if character != "/"]))
    wrong = data.draw(st.sampled_from([c for c in BETANUMERIC if c != zone[at]]))
    assert compute_check_character(zone[:at] + wrong + zone[at + 1 :]) != compute_check_character(
        zone
    )


@given(_ZONES, st.data())
def test_any_two_exchanged_characters_are_found(zone: str, data: st.DataObject) -> None:
    """ "… and transposition of two single characters"."""
    places = [n for n, character in enumerate(zone) if character != "/"]
    one, other = sorted(data.draw(st.lists(st.sampled_from(places), min_size=2, max_size=2)))
    assume(zone[one] != zone[other])
    slipped = list(zone)
    slipped[one], slipped[other] = zone[other], zone[one]
    assert compute_check_character("".join(slipped)) != compute_check_character(zone)
