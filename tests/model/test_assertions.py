"""Assertions: reading and writing Web Annotations, without a registry."""

from __future__ import annotations

import json
from typing import Any

import pytest

from perdure.errors import MalformedIdentifier, PerdureError
from perdure.errors.assertions import (
    AssertionMalformed,
    AssertionTooLong,
    ContextUnknown,
    MotivationUnknown,
)
from perdure.model.assertions import (
    CONTEXT,
    DEEPEST,
    LONGEST,
    MOST,
    RETRACTS,
    STANDARD,
    SUPERSEDES,
    find_iri,
    find_targets,
    read_assertion,
    write_assertion,
)

PDI = "pdi://oma.eop.gov.us/1994/03/21/1"
PART = f"{PDI}.text.1#char=3,5"


def annotation(**fields: Any) -> bytes:
    plain = {"@context": CONTEXT, "type": "Annotation", "target": PDI}
    given = {name.replace("context", "@context"): value for name, value in fields.items()}
    return json.dumps(plain | given).encode()


def about(**fields: Any) -> list[str]:
    return list(map(str, read_assertion(annotation(**fields)).about))


@pytest.mark.parametrize(
    "name",
    [
        PDI,
        PART,
        f"{PDI}.text.1@103={PART}",
        "pdi://oma.eop.gov.us/1994/03/",
        "pdi://oma.eop.gov.us/1994/03/*/*",
        "hdl:1839/x",
    ],
)
def test_an_assertion_is_about_any_name(name: str) -> None:
    """ "about any identifier, version, format, part, citation, interval, pattern" """
    assert about(target=name) == [name]
    assert find_targets(annotation(target=name)) == (name,)


def test_targets_are_read_from_each_form_of_the_recommendation() -> None:
    """Web Annotation Data Model sections 3.2.3, 3.2.7 and 4."""
    selector = {"type": "TextQuoteSelector", "exact": "Madam"}
    specific = {"type": "SpecificResource", "source": PDI, "selector": selector}
    assert about(target=[PDI, PART, PDI]) == [PDI, PART]
    assert about(target={"id": PART, "type": "Text"}) == [PART]
    assert about(target=specific) == [PDI]
    assert about(target={"source": {"id": PDI}}) == [PDI]
    assert about(target={"type": "Composite", "items": [PART, {"id": PDI}]}) == [PART, PDI]
    assert read_assertion(annotation(target=specific)).targets[0].selectors == (selector,)


def test_an_address_is_a_target_without_an_identifier() -> None:
    (target,) = read_assertion(annotation(target="https://a.example/page")).targets
    assert (target.iri, target.identifier) == ("https://a.example/page", None)
    assert about(target="https://a.example/page") == []


def test_motivations_become_absolute_iris() -> None:
    made = annotation(motivation=["commenting", "oa:commenting", "cito:disputes", "urn:x:y"])
    assert read_assertion(made).motivations == (
        "http://www.w3.org/ns/oa#commenting",
        "http://purl.org/spar/cito/disputes",
        "urn:x:y",
    )
    assert len(STANDARD) == 13  # section 3.3.5
    assert find_iri("prov:wasDerivedFrom") == "http://www.w3.org/ns/prov#wasDerivedFrom"
    assert (find_iri("retracts"), find_iri("supersedes")) == (RETRACTS, SUPERSEDES)


@pytest.mark.parametrize("word", ["doubting", "", "cito:", "cito:a b", "a b:c", "oa:<x>"])
def test_an_unknown_motivation_is_refused(word: str) -> None:
    with pytest.raises(MotivationUnknown, match="commenting"):
        read_assertion(annotation(motivation=word))


@pytest.mark.parametrize(
    "context",
    [
        [CONTEXT, "https://a.example/context.jsonld"],
        [CONTEXT, {"target": "https://a.example/body"}],
        [CONTEXT, {"@vocab": "https://a.example/"}],
        [CONTEXT, {"cito": "https://a.example/"}],
        [CONTEXT, 1],
    ],
)
def test_a_context_that_is_not_known_is_refused(context: object) -> None:
    """ "with unknown contexts (never fetched: known ones are shipped)" """
    with pytest.raises(ContextUnknown, match="not fetched"):
        read_assertion(annotation(context=context))


def test_a_context_may_declare_a_known_prefix() -> None:
    context = [CONTEXT, {"cito": "http://purl.org/spar/cito/"}]
    assert about(context=context, motivation="cito:disputes") == [PDI]


def nest_targets(depth: int) -> object:
    target: object = PDI
    for _ in range(depth):
        target = {"type": "List", "items": [target]}
    return target


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"", ""),
        (b"\xff", ""),
        (b"[" * 100_000, ""),
        (b"[]", ""),
        (annotation(target=nest_targets(DEEPEST // 2)), ""),
        (annotation(context=None), "@context"),
        (annotation(context="https://a.example"), "@context"),
        (annotation(type="Person"), "type"),
        (annotation(type=[["Annotation"]]), "type"),
        (annotation(target=None), "target"),
        (annotation(target=[]), "target"),
        (annotation(target=[PDI] * (MOST + 1)), "target"),
        (annotation(target={"type": "Text"}), "target"),
        (annotation(target="a relative IRI"), "target"),
        (annotation(target={"source": {}}), "target.source"),
        (annotation(target={"source": PDI, "selector": "x"}), "selector"),
        (annotation(motivation=1), "motivation"),
        (annotation(bodyValue=1), "bodyValue"),
        (annotation(bodyValue="a", body="urn:x:y"), "bodyValue"),
        (annotation(body=1), "body"),
    ],
)
def test_a_malformed_assertion_is_refused_with_the_place(data: bytes, place: str) -> None:
    with pytest.raises(AssertionMalformed) as caught:
        read_assertion(data)
    assert caught.value.place == place
    assert find_targets(data) == ()


def test_nesting_below_the_limit_is_read() -> None:
    assert about(target=nest_targets(DEEPEST // 2 - 1)) == [PDI]


def test_an_assertion_of_ten_megabytes_is_refused() -> None:
    with pytest.raises(AssertionTooLong) as caught:
        read_assertion(annotation(bodyValue="x" * 10_000_000))
    assert caught.value.limit == LONGEST


def test_a_malformed_identifier_of_a_known_scheme_is_refused() -> None:
    with pytest.raises(MalformedIdentifier):
        read_assertion(annotation(target="pdi://nowhere/1994/99/21/1"))


def test_a_written_assertion_is_read_again() -> None:
    data = write_assertion(
        (PART,), ("commenting",), body="Out of context.", created="2026-11-24T06:00:00Z"
    )
    assert json.loads(data) == {
        "@context": CONTEXT,
        "type": "Annotation",
        "motivation": "commenting",
        "created": "2026-11-24T06:00:00Z",
        "body": {"type": "TextualBody", "value": "Out of context.", "format": "text/plain"},
        "target": PART,
    }
    made = read_assertion(write_assertion((PDI, PART), ("supersedes", "cito:disputes")))
    assert made.motivations == (SUPERSEDES, "http://purl.org/spar/cito/disputes")
    assert list(map(str, made.about)) == [PDI, PART]


def test_nothing_is_written_that_could_not_be_read() -> None:
    with pytest.raises(PerdureError):
        write_assertion(())
