"""`?manifest`: composites for viewers of IIIF, judged by the models of the IIIF consortium."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from PIL import Image
from tests.peers import run_peer
from tests.reading.test_citations_of_media import SHADES, TONE, make_film, make_wav
from tests.server.deployment import SERIES, Deployment, resource, text

from perdure.ids import parse
from perdure.model.commands import Restrict, Withdraw
from perdure.model.reading_rules import Access, ReadingRule
from perdure.upkeep.asserting import conjoin_parts
from perdure.upkeep.composing import compose_document, mint_composite

_VALIDATE = """
import sys, iiif_prezi3
iiif_prezi3.Manifest.model_validate_json(sys.stdin.buffer.read())  # or raise an error
"""


def picture() -> bytes:
    data = io.BytesIO()
    Image.frombytes("RGB", (30, 20), bytes(range(180)) * 10).save(data, "png")
    return data.getvalue()


@pytest.fixture
def image(site: Deployment) -> str:
    return site.mint(text(picture(), "png", "image/png"))


@pytest.fixture
def sound(site: Deployment) -> str:
    return site.mint(text(make_wav(TONE + TONE[:50]), "wav", "audio/wav"))  # 5.5 seconds


@pytest.fixture
def film(site: Deployment) -> str:
    return site.mint(text(make_film(SHADES), "x-matroska", "video/x-matroska"))  # 2 seconds


def compose(site: Deployment, page: str) -> str:
    composed = compose_document(site.registry, page.encode(), "text/html")
    return mint_composite(site.registry, composed, SERIES, title="Views").identifier


def fetch(site: Deployment, name: str) -> dict[str, Any]:
    answer = site.get(f"/{name}?manifest")
    assert answer.status == 200, answer.body
    assert answer.headers["access-control-allow-origin"] == "*"
    kind = 'application/ld+json;profile="http://iiif.io/api/presentation/3/context.json"'
    assert answer.headers["content-type"] == kind
    found: dict[str, Any] = json.loads(answer.body)
    run_peer("iiif_prezi3", _VALIDATE, answer.body)
    return found


def list_bodies(manifest: dict[str, Any]) -> list[dict[str, Any]]:
    bodies = []
    for canvas in manifest["items"]:
        ((painting,),) = (page["items"] for page in canvas["items"])
        assert (painting["motivation"], painting["target"]) == ("painting", canvas["id"])
        bodies.append(painting["body"])
    return bodies


def test_a_composite_of_all_media(site: Deployment, image: str, sound: str, film: str) -> None:
    letter = site.mint(text(b"to whom it may concern"))
    name = compose(
        site,
        f'<!doctype html><q cite="{letter}#char=3,7"></q><img src="{image}#rect=(5,4),(15,10)">'
        f'<img src="{image}"><audio src="{sound}#sec=1,3"></audio><video src="{film}#sec=0,1">',
    )
    manifest = fetch(site, name)
    assert manifest["id"] == f"{site.base}/{name}?manifest"
    assert manifest["label"] == {"none": ["Views"]}
    part, whole, heard, seen = list_bodies(manifest)
    assert (part["type"], part["width"], part["height"]) == ("Image", 10, 6)
    assert (whole["type"], whole["width"], whole["height"]) == ("Image", 30, 20)
    assert (heard["type"], heard["duration"]) == ("Sound", 2.0)
    assert (seen["type"], seen["duration"], seen["width"]) == ("Video", 1.0, 32)
    for body in (part, whole, heard, seen):
        answer = site.get(body["id"].removeprefix(site.base))
        assert (answer.status, answer.headers["content-type"]) == (200, body["format"])
    shown = Image.open(io.BytesIO(site.get(part["id"].removeprefix(site.base)).body))
    assert shown.size == (10, 6)
    info = site.get(whole["service"][0]["id"].removeprefix(site.base) + "/info.json")
    assert json.loads(info.body)["width"] == 30
    values = [one["value"]["none"][0] for one in manifest["metadata"]]
    assert len(values) == 5
    assert f"{letter}#char=3,7" in values[0]


def test_the_name_of_a_canvas_is_a_citation(site: Deployment, image: str) -> None:
    name = compose(site, f'<!doctype html><img src="{image}#rect=(5,4),(15,10)">')
    (canvas,) = fetch(site, name)["items"]
    found = json.loads(site.get(canvas["id"].removeprefix(site.base) + "?info").body)
    assert found["verdict"] == "transcluded"
    assert found["cited"]["identifier"] == f"{image}#rect=(5,4),(15,10)"


def test_a_picture_a_sound_and_a_film_have_a_manifest(
    site: Deployment, image: str, sound: str, film: str
) -> None:
    kinds = [list_bodies(fetch(site, one))[0]["type"] for one in (image, sound, resource(film))]
    assert kinds == ["Image", "Sound", "Video"]
    (canvas,) = fetch(site, sound)["items"]
    assert (canvas["id"], canvas["duration"]) == (f"{site.base}/{sound}", 5.5)
    assert "width" not in canvas


def test_a_part_has_a_manifest(site: Deployment, image: str, sound: str, film: str) -> None:
    """A track of a film, an interval of a sound and a rectangle: the size is that of the part."""
    for name, kind, size in (
        (f"{sound}%23sec=1,3", "Sound", {"duration": 2.0}),
        (f"{film}%23track=1", "Video", {"width": 32, "height": 32, "duration": 2.0}),
        (f"{image}%23rect=(5,4),(15,10)", "Image", {"width": 10, "height": 6}),
        (f"{image}%23xywh=5,4,10,6", "Image", {"width": 10, "height": 6}),
    ):
        manifest = fetch(site, name)
        assert manifest["id"] == f"{site.base}/{name}?manifest"
        (canvas,), (body,) = manifest["items"], list_bodies(manifest)
        assert (body["type"], canvas["id"]) == (kind, f"{site.base}/{name}")
        assert {one: canvas.get(one) for one in size} == size
        answer = site.get(body["id"].removeprefix(site.base))
        assert (answer.status, answer.headers["content-type"]) == (200, body["format"])
        assert "metadata" not in manifest
    assert site.get(f"/{sound}%23sec=1,99?manifest").status == 416


def test_a_conjunction_has_a_manifest(site: Deployment, image: str, sound: str) -> None:
    parts = [parse(f"{image}#rect=(0,0),(2,3)"), parse(f"{sound}#sec=0,1")]
    name = conjoin_parts(site.registry, parts).identifier
    assert [one["type"] for one in list_bodies(fetch(site, name))] == ["Image", "Sound"]


def test_what_is_withdrawn_or_closed_is_not_shown(site: Deployment, image: str, sound: str) -> None:
    name = compose(site, f'<!doctype html><img src="{image}"><audio src="{sound}">')
    rule = ReadingRule(about=resource(sound), access=Access.CLOSED, by_token=True)
    site.do(Restrict(rule=rule))
    manifest = fetch(site, name)
    assert [one["type"] for one in list_bodies(manifest)] == ["Image"]
    assert "sha512" not in manifest["metadata"][1]["value"]["none"][0]
    reader = site.token("reader", operations=("read",))
    answer = site.get(f"/{name}?manifest", f"Authorization: Bearer {reader}")
    assert len(json.loads(answer.body)["items"]) == 2
    assert answer.headers["cache-control"] == "private, no-store"
    site.do(Withdraw(identifier=parse(resource(image)), reason="a <court> said so"))
    assert site.get(f"/{name}?manifest").status == 406
    assert site.get(f"/{image}?manifest").status == 410


@pytest.mark.parametrize("page", ['<q cite="{letter}#char=3,7"></q>'])
def test_a_document_without_pictures_has_none(site: Deployment, page: str) -> None:
    letter = site.mint(text(b"to whom it may concern"))
    name = compose(site, f"<!doctype html>{page.format(letter=letter)}")
    for one in (name, letter):
        answer = site.get(f"/{one}?manifest")
        assert answer.status == 406
        assert b"no picture, sound or film" in answer.body
    assert site.get(f"/pdi://{SERIES}/1999/01/01/1?manifest").status == 404
