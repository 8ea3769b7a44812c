"""Assertions: reading and writing Web Annotations, without a registry."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
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
from perdure.parts.selectors import MEDIA, PDF, PLAIN_TEXT

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


DAY = "pdi://oma.eop.gov.us/1994/03/21"


@pytest.mark.parametrize(
    ("iri", "identifier"),
    [
        (f"https://a.example/{DAY}/1.text.1", f"{DAY}/1.text.1"),
        (f"https://a.example/{DAY}/1.text.1%23char=3,5", f"{DAY}/1.text.1#char=3,5"),
        (f"https://a.example/{DAY}/1.text.1?part=char=3%2C5", f"{DAY}/1.text.1#char=3,5"),
        (f"https://a.example/{DAY}/1.text.1#char=3,5", f"{DAY}/1.text.1#char=3,5"),
        (f"https://a.example/{DAY}/1.text.1?info", f"{DAY}/1.text.1"),
        ("https://doi.org/10.1000/182", "doi:10.1000/182"),
        ("https://doi.org/10.1000/182#page=2", "doi:10.1000/182"),
        (f"https://a.example/{DAY}/1.text.1#char=9,3", None),
        ("https://a.example/page", None),
        ("urn-like:x", None),
    ],
)
def test_the_identifier_in_an_iri(iri: str, identifier: str | None) -> None:
    (target,) = read_assertion(write_assertion((iri,))).targets
    assert target.iri == iri
    assert (None if target.identifier is None else str(target.identifier)) == identifier


@pytest.mark.parametrize(
    ("selector", "part"),
    [
        ({"type": "FragmentSelector", "value": "char=3,5", "conformsTo": PLAIN_TEXT}, "#char=3,5"),
        ({"type": "FragmentSelector", "value": "xywh=pixel:1,2,3,4", "conformsTo": MEDIA},
         "#xywh=1,2,3,4"),
        ({"type": "FragmentSelector", "value": "x", "conformsTo": "http://a.example/"}, ""),
        ({"type": "FragmentSelector", "value": "line=1,2", "conformsTo": MEDIA}, ""),
        ({"type": "TextQuoteSelector", "exact": "a b"}, ""),
    ],
)  # fmt: skip
def test_a_fragment_selector_names_a_part(selector: dict[str, str], part: str) -> None:
    document = {
        "@context": CONTEXT,
        "type": "Annotation",
        "target": {"source": f"{DAY}/1.gif.1", "selector": selector},
    }
    (about,) = read_assertion(msgspec.json.encode(document)).about
    assert str(about) == f"{DAY}/1.gif.1{part}"


def test_a_selector_of_a_name_without_parts_is_kept_aside() -> None:
    selector = {"type": "FragmentSelector", "value": "page=3", "conformsTo": PDF}
    target = {"source": "hdl:1839/x", "selector": selector}
    document = {"@context": CONTEXT, "type": "Annotation", "target": target}
    (found,) = read_assertion(msgspec.json.encode(document)).targets
    assert (str(found.identifier), found.selectors) == ("hdl:1839/x", (selector,))


def test_motivations_are_shown_as_words() -> None:
    given = ("commenting", "retracts", "cito:disputes", "https://a.example/why")
    assert read_assertion(write_assertion(("hdl:1839/x",), given)).words == given


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"bodyValue": "a"}, "a"),
        ({"body": {"type": "TextualBody", "value": "b"}}, "b"),
        ({"body": ["http://a.example/", {"value": 3}, {"value": "c"}]}, "c"),
        ({"body": "http://a.example/"}, ""),
        ({}, ""),
    ],
)
def test_the_text_of_the_body(fields: dict[str, object], text: str) -> None:
    document = {"@context": CONTEXT, "type": "Annotation", "target": "hdl:1839/x"} | fields
    assert read_assertion(msgspec.json.encode(document)).body_text == text


MODEL: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "vectors" / "annotation-model.json").read_text("utf-8")
)["rows"]


@pytest.mark.parametrize("row", MODEL, ids=lambda row: f"{row['rule']} {row['valid']}")
def test_what_the_data_model_demands(row: dict[str, Any]) -> None:
    document = {"@context": CONTEXT, "type": "Annotation"} | row["document"]
    data = json.dumps(document).encode()
    if row["valid"]:
        assert read_assertion(data).document == document
    else:
        with pytest.raises((AssertionMalformed, MotivationUnknown, ContextUnknown)):
            read_assertion(data)
