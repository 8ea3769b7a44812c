"""Conjunctions of parts (PDI draft, section 3.2.3), without a registry."""

from __future__ import annotations

import json
from typing import Any

import pytest

from perdure.errors.assertions import AssertionMalformed, ConjunctionMalformed
from perdure.model.assertions import CONTEXT, MOST, read_assertion
from perdure.model.conjunctions import is_conjunction, list_conjuncts, write_conjunction
from perdure.parts.selectors import PLAIN_TEXT

TEXT = "pdi://oma.eop.gov.us/1994/03/21/1.text.1"
PARTS = (f"{TEXT}#char=3,5", "pdi://oma.eop.gov.us/1994/03/21/2.gif.1#rect=(0,0),(2,2)")
MEMBER = "http://www.w3.org/ns/prov#hadMember"


def conjoined(*parts: str, **fields: Any) -> list[str]:
    target = {"type": "as:Collection", "items": list(parts)}
    plain = {"@context": CONTEXT, "type": "Annotation", "motivation": MEMBER, "target": target}
    return list(map(str, list_conjuncts(read_assertion(json.dumps(plain | fields).encode()))))


def test_the_set_is_explicitly_represented() -> None:
    """ "In this way, the set is explicitly represented" (section 3.2.3)"""
    data = write_conjunction(PARTS, body="Both.", creator="https://a.example/", created="2026")
    document = json.loads(data)
    assert document["motivation"] == MEMBER
    assert document["target"] == {"type": "as:Collection", "items": list(PARTS)}
    assert (document["body"]["value"], document["created"]) == ("Both.", "2026")
    assertion = read_assertion(data)
    assert is_conjunction(assertion)
    assert tuple(map(str, list_conjuncts(assertion))) == PARTS
    assert assertion.words == ("conjoins",)


def test_a_part_is_read_however_it_is_named() -> None:
    address = f"https://pid.example/{TEXT}%23char=3,5"
    selector = {"type": "FragmentSelector", "value": "char=0,1", "conformsTo": PLAIN_TEXT}
    selected = {"source": TEXT, "selector": selector}
    assert conjoined(address, PARTS[1]) == list(PARTS)
    target = {"type": "as:Collection", "items": [selected, PARTS[0]]}
    assert conjoined(target=target) == [f"{TEXT}#char=0,1", PARTS[0]]


@pytest.mark.parametrize(
    "fields",
    [
        {"motivation": "commenting"},
        {"target": list(PARTS)},
        {"target": {"type": "Choice", "items": list(PARTS)}},
        {"target": PARTS[0]},
    ],
)
def test_other_assertions_are_no_conjunctions(fields: dict[str, Any]) -> None:
    assert conjoined(*PARTS, **fields) == []


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((PARTS[0],), "it must have at least 2 parts"),
        ((PARTS[0], PARTS[0]), "is listed twice"),
        ((PARTS[0], TEXT), "is not the identifier of a part"),
        ((PARTS[0], "https://a.example/"), "is not the identifier of a part"),
        ((PARTS[0], f"{TEXT}@7={PARTS[0]}"), "is not the identifier of a part"),
        ((PARTS[0], "hdl:1839/x"), "is not the identifier of a part"),
        ((PARTS[0], "pdi://oma.eop.gov.us/1994/03/21/1#char=3,5"), "a format and a version"),
        ((PARTS[0], "pdi://oma.eop.gov.us/1994/03/21/1.text#char=3,5"), "a format and a version"),
        ((PARTS[0], "pdi://oma.eop.gov.us/1994/03/21/*.text.1#char=3,5"), "a format and a version"),
    ],
)
def test_what_is_not_a_set_of_parts_is_refused(parts: tuple[str, ...], message: str) -> None:
    with pytest.raises(ConjunctionMalformed, match=message):
        conjoined(*parts)


def test_a_conjunction_has_as_many_parts_as_an_assertion_has_targets() -> None:
    parts = [f"{TEXT}#char={at},{at + 1}" for at in range(MOST + 1)]
    assert conjoined(*parts[:-1]) == parts[:-1]
    with pytest.raises(AssertionMalformed):
        conjoined(*parts)
