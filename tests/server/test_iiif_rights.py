"""Reading rules and the IIIF Image API: a region is answered as the part that it shows."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import pytest
from tests.server.conftest import Answer
from tests.server.deployment import Deployment, deployed, problem, resource, text

from perdure.model.commands import Restrict
from perdure.model.reading_rules import Access, ReadingRule

pytest.importorskip("pyvips")
Image = pytest.importorskip("PIL.Image")

WIDTH, HEIGHT = 120, 80
RED, BLUE = (254, 0, 0), (0, 0, 254)
LEFT, RIGHT, WHOLE = "0,0,60,80", "60,0,60,80", "full"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployed(tmp_path_factory.mktemp("site") / "registry") as running:
        yield running


def halves(orientation: int = 1) -> bytes:
    """The left half of the stored pixels is red, the right half blue."""
    picture = Image.new("RGB", (WIDTH, HEIGHT), RED)
    picture.paste(BLUE, (WIDTH // 2, 0, WIDTH, HEIGHT))
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = io.BytesIO()
    picture.save(data, "jpeg" if orientation > 1 else "png", exif=exif)
    return data.getvalue()


@pytest.fixture
def image(site: Deployment) -> str:
    return site.mint(text(halves(), "png", "image/png"))


def restrict(site: Deployment, about: str, **fields: Any) -> None:
    rule = ReadingRule(**({"about": about, "access": Access.CLOSED} | fields))
    site.do(Restrict(rule=rule))


def ask(site: Deployment, name: str, region: str, *fields: str, version: int = 3) -> Answer:
    size = "max" if version == 3 else "full"
    return site.get(
        f"/iiif/{version}/{quote(name, safe='')}/{region}/{size}/0/default.png", *fields
    )


def describe(site: Deployment, name: str, version: int = 3) -> Answer:
    return site.get(f"/iiif/{version}/{quote(name, safe='')}/info.json")


@pytest.mark.parametrize("version", [2, 3])
def test_an_open_part_of_a_closed_image(site: Deployment, image: str, version: int) -> None:
    """ "A part of a closed document can be open" """
    restrict(site, resource(image), by_token=True)
    restrict(site, f"{image}#rect=(0,0),(60,80)", access=Access.OPEN)
    for region in (LEFT, "10,10,5,5", "pct:0,0,50,100"):
        found = ask(site, image, region, version=version)
        assert found.status == 200, found.body
        assert Image.open(io.BytesIO(found.body)).getpixel((1, 1)) == RED
        assert found.headers["cache-control"] == "private, no-store"
    for region in (RIGHT, WHOLE, "square", "50,0,20,80", "0,0,61,80", "pct:0,0,51,100"):
        problem(ask(site, image, region, version=version), 401, "unauthenticated")
    problem(describe(site, image, version), 401, "unauthenticated")
    bearer = f"Authorization: Bearer {site.token('reader', operations=('read',))}"
    assert ask(site, image, WHOLE, bearer, version=version).status == 200


@pytest.mark.parametrize("version", [2, 3])
def test_a_closed_part_of_an_open_image(site: Deployment, image: str, version: int) -> None:
    """ "… and the reverse" """
    restrict(site, f"{image}#rect=(0,0),(60,80)")
    assert ask(site, image, RIGHT, version=version).status == 200
    assert describe(site, image, version).status == 200
    for region in (LEFT, WHOLE, "square", "50,0,20,80", "59,79,1,1"):
        problem(ask(site, image, region, version=version), 403, "forbidden")


def test_nothing_else_is_said_of_a_closed_image(site: Deployment, image: str) -> None:
    """A region that does not exist would tell its size."""
    restrict(site, resource(image), until="2999-01-01")
    answers = {ask(site, image, region).body for region in (WHOLE, LEFT, "500,500,1,1", "0,0,0,0")}
    assert len(answers) == 1
    document = site.mint(text(b"no image"))
    restrict(site, resource(document))
    problem(ask(site, document, LEFT), 403, "forbidden")
    assert site.get(f"/iiif/3/{quote(image, safe='')}/nonsense/max/0/default.png").status == 400


def test_regions_of_a_turned_image(site: Deployment) -> None:
    """A part counts on the stored pixels, a region on the upright picture."""
    image = site.mint(text(halves(6), "jpeg", "image/jpeg"))  # upright, red is above blue
    restrict(site, f"{image}#rect=(0,0),(60,80)")
    assert ask(site, image, "0,64,80,56").status == 200
    assert ask(site, image, "0,60,80,60").status == 200
    for region in ("0,0,80,60", "0,59,80,60", "0,0,1,1"):
        problem(ask(site, image, region), 403, "forbidden")
