"""Everything that claims to be an annotation is one, by the sentences of the Recommendation.

The schema (vectors/annotation-model.schema.json) says what the Web Annotation Data Model demands;
`jsonschema-rs` judges what the server sends.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from tests.server.deployment import SERIES, Deployment, deployed, text

from perdure.ids import parse
from perdure.model.assertions import CONTEXT
from perdure.upkeep.asserting import conjoin_parts
from perdure.upkeep.composing import compose_document, mint_composite

SCHEMA = json.loads(
    (Path(__file__).parents[2] / "vectors" / "annotation-model.schema.json").read_text("utf-8")
)
CONTAINER = f"/annotations/{SERIES}/"
LD_JSON = "Content-Type: application/ld+json"
GIVEN: list[dict[str, Any]] = [
    {"bodyValue": "Comment text"},
    {"body": {"type": "TextualBody", "value": "j'adore !", "language": "fr"}},
    {"body": ["http://a.example/x", {"type": "TextualBody", "value": "y", "purpose": "tagging"}]},
    {"motivation": ["replying", "cito:disputes"], "created": "2015-01-28T12:00:00Z"},
    {"motivation": "retracts", "creator": {"id": "https://a.example/u", "type": "Person"}},
    {"id": "urn:x:mine", "via": "urn:x:another", "rights": "https://a.example/rights"},
]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployed(tmp_path_factory.mktemp("site") / "registry") as running:
        yield running


@pytest.fixture(scope="module")
def token(site: Deployment) -> str:
    return site.token("ann", operations=("assert",), authorities=(SERIES,))


@pytest.fixture(scope="module")
def name(site: Deployment) -> str:
    return site.mint(text(b"to whom it may concern"))


def judge(document: object, kind: str) -> None:
    schema = {"$defs": SCHEMA["$defs"], "$ref": f"#/$defs/{kind}"}
    faults = [
        f"{'/'.join(map(str, one.instance_path))}: {one.message}"
        for one in jsonschema_rs.validator_for(schema).iter_errors(document)
    ]
    assert faults == []


def fetch(site: Deployment, target: str, *fields: str) -> Any:
    answer = site.get(target, *fields)
    assert answer.status == 200, answer.body
    return json.loads(answer.body)


@pytest.mark.parametrize("given", GIVEN)
def test_an_annotation_in_its_container(
    site: Deployment, token: str, name: str, given: dict[str, Any]
) -> None:
    selector = {"type": "TextPositionSelector", "start": 0, "end": 2}
    for target in (name, f"{name}#char=0,2", {"source": name, "selector": selector}):
        document = {"@context": CONTEXT, "type": "Annotation", "target": target, **given}
        made = site.post(CONTAINER, document, LD_JSON, token=token)
        assert made.status == 201, made.body
        judge(json.loads(made.body), "annotation")
        path = made.headers["location"].removeprefix(site.base)
        judge(fetch(site, path), "annotation")


def test_pages_and_collections(site: Deployment, token: str, name: str) -> None:
    document = {"@context": CONTEXT, "type": "Annotation", "target": name, "bodyValue": "x"}
    assert site.post(CONTAINER, document, LD_JSON, token=token).status == 201
    container = fetch(site, CONTAINER)
    judge(container, "collection")
    judge(fetch(site, f"{CONTAINER}?iris=0&page=0"), "page")
    judge(fetch(site, f"{CONTAINER}?iris=1&page=0"), "page")
    judge(fetch(site, f"/{name}?assertions"), "page")
    for one in fetch(site, f"/{name}?assertions&form=array"):
        judge(one, "annotation")


def test_what_else_is_told_as_annotations(site: Deployment, name: str) -> None:
    page = f'<!doctype html><q cite="{name}#char=3,7"></q>'
    composed = compose_document(site.registry, page.encode(), "text/html")
    composite = mint_composite(site.registry, composed, SERIES).identifier
    judge(fetch(site, f"/{composite}?provenance"), "page")
    parts = [parse(f"{name}#char={at},{at + 1}") for at in (0, 3)]
    conjunction = conjoin_parts(site.registry, parts).identifier
    judge(fetch(site, f"/{conjunction}?provenance"), "page")
    path = conjunction.removeprefix("pdi://").removesuffix(".jsonld.1")
    judge(fetch(site, f"/annotations/{path}"), "annotation")
    piece = json.loads(site.get(f"/{composite}?provenance").body)["items"][0]
    citation = f"{composite}@{piece['registry']['origin']}={name}%23char=3,7"
    judge(fetch(site, f"/{citation}", "Accept: application/ld+json"), "annotation")


@pytest.mark.parametrize(
    "change",
    [
        {"target": None},
        {"type": "Note"},
        {"@context": "http://a.example/"},
        {"id": "x"},
        {"body": {"type": "TextualBody"}, "bodyValue": None},
        {"body": "http://a.example/x", "bodyValue": "x"},
        {"created": "yesterday"},
        {"motivation": "nonsense"},
        {"target": {"source": "hdl:1/x", "selector": {"type": "TextPositionSelector"}}},
    ],
)
def test_the_schema_refuses_what_the_model_forbids(change: dict[str, Any]) -> None:
    good = {"@context": CONTEXT, "id": "hdl:1/a", "type": "Annotation", "target": "hdl:1/x"}
    judge(good, "annotation")
    bad = {member: value for member, value in (good | change).items() if value is not None}
    with pytest.raises(AssertionError):
        judge(bad, "annotation")
