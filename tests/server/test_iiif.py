"""IIIF Image API over HTTP: what a viewer asks for, and what the validator of IIIF says to it."""

from __future__ import annotations

import base64
import hashlib
import io
import json
from typing import Any
from urllib.parse import quote

import pytest
from tests.server import iiif_validation as validation
from tests.server.conftest import Answer
from tests.server.deployment import Deployment, resource, text

from perdure.reading.targets import read_target
from perdure.server.routes.dispatch import is_page

pytest.importorskip("pyvips")
Image = pytest.importorskip("PIL.Image")
ImageOps = pytest.importorskip("PIL.ImageOps")

WIDTH, HEIGHT = 120, 80
RED, BLUE, WHITE = (254, 0, 0), (0, 0, 254), (255, 255, 255)


def halves(left: tuple[int, int, int] = RED, right: tuple[int, int, int] = BLUE) -> bytes:
    picture = Image.new("RGB", (WIDTH, HEIGHT), left)
    picture.paste(right, (WIDTH // 2, 0, WIDTH, HEIGHT))
    data = io.BytesIO()
    picture.save(data, "png")
    return data.getvalue()


@pytest.fixture(scope="module")
def image(site: Deployment) -> str:
    return site.mint(text(halves(), "png", "image/png"))


def escaped(name: str) -> str:
    return quote(name, safe="")


def shown(answer: Answer) -> Any:
    assert answer.status == 200, answer.body
    return Image.open(io.BytesIO(answer.body))


def described(site: Deployment, version: int, name: str) -> dict[str, Any]:
    answer = site.get(f"/iiif/{version}/{escaped(name)}/info.json")
    assert answer.status == 200, answer.body
    document: dict[str, Any] = json.loads(answer.body)
    return document


def test_a_picture_is_made_in_the_order_of_the_specification(site: Deployment, image: str) -> None:
    """ "Region THEN Size THEN Rotation THEN Quality THEN Format" (section 4.6)"""
    found = shown(site.get(f"/iiif/3/{escaped(image)}/30,0,60,80/30,40/90/default.png"))
    assert (found.format, found.size) == ("PNG", (40, 30))
    assert found.getpixel((20, 5)) == RED  # the left half is on top after a quarter turn
    assert found.getpixel((20, 25)) == BLUE
    mirrored = shown(site.get(f"/iiif/3/{escaped(image)}/full/max/!0/default.png"))
    assert (mirrored.getpixel((5, 5)), mirrored.getpixel((115, 5))) == (BLUE, RED)


@pytest.mark.parametrize("name", ["pdi%3A%2F%2Fa.us", "ark:%2F99999%2Ffk4", "ark:/99999/fk4", "x"])
def test_a_request_is_about_a_page_whatever_its_identifier(name: str) -> None:
    target = read_target(f"/iiif/3/{name}/info.json".encode())
    assert is_page(target)
    assert target.text == f"iiif/3/{name}/info.json"


@pytest.mark.parametrize("form", ["escaped", "without its colon", "plain"])
def test_an_identifier_may_be_escaped_or_not(site: Deployment, image: str, form: str) -> None:
    written = {
        "escaped": escaped(image),
        "without its colon": escaped(image).replace("%3A", ":"),
        "plain": image,
    }
    answer = site.get(f"/iiif/2/{written[form]}/full/60,/0/default.jpg")
    assert shown(answer).size == (60, 40)
    base = f"{site.base}/iiif/2/{escaped(image)}"
    assert f'<{base}/full/60,/0/default.jpg>; rel="canonical"' in answer.headers["link"]


def test_what_an_answer_says(site: Deployment, image: str) -> None:
    answer = site.get(f"/iiif/3/{escaped(image)}/0,0,120,9999/,40/360/color.jpg")
    fields = answer.headers
    assert shown(answer).format == "JPEG"
    assert fields["content-type"] == "image/jpeg"
    assert fields["access-control-allow-origin"] == "*"
    assert fields["cache-control"] == "public, max-age=604800, immutable"
    links = fields["link"].split(", ")
    base = f"{site.base}/iiif/3/{escaped(image)}"
    assert f'<{base}/full/60,40/0/default.jpg>; rel="canonical"' in links
    assert '<http://iiif.io/api/image/3/level2.json>; rel="profile"' in links
    target = f"/iiif/3/{escaped(image)}/full/60,40/0/default.jpg"
    again = site.get(target, f"If-None-Match: {fields['etag']}")
    assert (again.status, again.body) == (304, b"")
    assert site.get(target).body == answer.body
    head = site.ask("HEAD", target)
    assert (head.status, head.headers["content-length"]) == (200, str(len(answer.body)))


def test_the_digest_is_one_that_the_reader_prefers(site: Deployment, image: str) -> None:
    target = f"/iiif/3/{escaped(image)}/full/max/0/default.png"
    for wish, name in (("sha-512=1", "sha-512"), ("sha-512=1, sha-256=2", "sha-256")):
        answer = site.get(target, f"Want-Repr-Digest: {wish}")
        digest = hashlib.new(name.replace("-", ""), answer.body).digest()
        assert answer.headers["repr-digest"] == f"{name}=:{base64.b64encode(digest).decode()}:"
    assert "repr-digest" not in site.get(target, "Want-Repr-Digest: sha-512=0").headers


def test_without_a_version_it_is_the_highest_and_not_for_ever(site: Deployment, image: str) -> None:
    answer = site.get(f"/iiif/3/{escaped(resource(image))}/full/max/0/default.jpg")
    assert shown(answer).size == (WIDTH, HEIGHT)
    assert "immutable" not in answer.headers["cache-control"]
    assert f"/iiif/3/{escaped(image)}/full/max/0/default.jpg>" in answer.headers["link"]


def test_the_description_of_2_1(site: Deployment, image: str) -> None:
    document = described(site, 2, image)
    assert document["@context"] == "http://iiif.io/api/image/2/context.json"
    assert document["@id"] == f"{site.base}/iiif/2/{escaped(image)}"
    assert document["protocol"] == "http://iiif.io/api/image"
    assert (document["width"], document["height"]) == (WIDTH, HEIGHT)
    level, more = document["profile"]
    assert level == "http://iiif.io/api/image/2/level2.json"
    assert more["maxArea"] == 1 << 24


def test_the_description_of_3_0(site: Deployment, image: str) -> None:
    document = described(site, 3, image)
    assert next(iter(document)) == "@context"
    assert document["id"] == f"{site.base}/iiif/3/{escaped(image)}"
    assert (document["type"], document["profile"]) == ("ImageService3", "level2")
    assert (document["width"], document["height"]) == (WIDTH, HEIGHT)
    assert {"color", "gray", "bitonal"} == set(document["extraQualities"])
    for size in document["sizes"]:
        target = f"/iiif/3/{escaped(image)}/full/{size['width']},{size['height']}/0/default.jpg"
        assert shown(site.get(target)).size == (size["width"], size["height"])


@pytest.mark.parametrize(
    ("version", "accept", "kind"),
    [
        (2, None, "application/json"),
        (2, "application/ld+json", "application/ld+json"),
        (3, None, 'application/ld+json;profile="http://iiif.io/api/image/3/context.json"'),
        (3, "application/json", "application/json"),
    ],
)
def test_json_or_json_ld(
    site: Deployment, image: str, version: int, accept: str | None, kind: str
) -> None:
    """ "If the client explicitly wants the JSON-LD content-type, then it MUST specify this in an
    Accept header, otherwise the server MUST return the regular JSON content-type" (2.1, 5.1)"""
    fields = (f"Accept: {accept}",) if accept else ()
    answer = site.get(f"/iiif/{version}/{escaped(image)}/info.json", *fields)
    assert answer.headers["content-type"] == kind
    assert answer.headers["access-control-allow-origin"] == "*"


def test_the_base_leads_to_the_description(site: Deployment, image: str) -> None:
    answer = site.get(f"/iiif/2/{escaped(image)}")
    assert answer.status == 303
    assert answer.headers["location"] == f"{site.base}/iiif/2/{escaped(image)}/info.json"


@pytest.mark.parametrize(
    ("status", "version", "rest"),
    [
        (400, 3, "full/full/0/default.jpg"),
        (400, 3, "full/max/0/default.bmp"),
        (400, 3, "full/max/361/default.jpg"),
        (400, 3, "full/240,/0/default.jpg"),
        (200, 3, "full/%5E240,/0/default.jpg"),
        (200, 2, "full/240,/0/default.jpg"),
        (400, 3, "120,0,10,10/max/0/default.jpg"),
        (400, 3, "0,0,0,10/max/0/default.jpg"),
        (400, 3, "full/%5E16001,1/0/default.jpg"),
        (404, 2, "full/16001,1/0/default.jpg"),
        (400, 2, "full/0,/0/default.jpg"),
    ],
)
def test_errors_are_those_of_the_specification(
    site: Deployment, image: str, status: int, version: int, rest: str
) -> None:
    answer = site.get(f"/iiif/{version}/{escaped(image)}/{rest}")
    assert answer.status == status, answer.body
    assert answer.headers["access-control-allow-origin"] == "*"


def test_what_is_no_image_of_ours(site: Deployment, image: str) -> None:
    letter = site.mint(text(b"To whom it may concern"))
    assert site.get(f"/iiif/3/{escaped(letter)}/info.json").status == 501
    missing = "pdi://oma.eop.gov.us/1997/09/01/1.png.1"
    assert site.get(f"/iiif/3/{escaped(missing)}/info.json").status == 404
    assert site.get("/iiif/3/3f1c/full/max/0/default.jpg").status == 404
    assert site.get("/iiif/4/3f1c/full/max/0/default.jpg").status == 404
    assert site.get(f"/iiif/3/{escaped(image + '#rect=(0,0),(1,1)')}/info.json").status == 404
    damaged = site.mint(text(halves()[:90], "png", "image/png"))
    assert site.get(f"/iiif/3/{escaped(damaged)}/full/max/0/default.jpg").status == 422


def turned(orientation: int) -> bytes:
    """A picture without two equal pixels, stored in one of the eight orientations of EXIF."""
    picture = Image.new("RGB", (60, 40))
    picture.putdata([(x * 4, y * 6, x ^ y) for y in range(40) for x in range(60)])
    data = io.BytesIO()
    picture.save(data, "tiff", tiffinfo={274: orientation})
    return data.getvalue()


def apply_matrix(matrix: list[int], x: int, y: int) -> tuple[int, int]:
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_viewer_learns_which_pixels_a_part_counts(site: Deployment, orientation: int) -> None:
    """ruling: rect-frame: "pixel grid of the image as stored, before any EXIF rotation"."""
    name = site.mint(text(turned(orientation), "tiff", "image/tiff"))
    documents = {version: described(site, version, name) for version in (2, 3)}
    if orientation == 1:
        assert all("service" not in one for one in documents.values())
        assert b"storedPixels" not in site.get(f"/{name}%23rect=(0,0),(1,1)?info").body
        return
    (stored,) = documents[3]["service"]
    assert (stored["id"], stored["orientation"]) == (f"{site.base}/{name}", orientation)
    assert (stored["width"], stored["height"]) == (60, 40)
    (older,) = documents[2]["service"]
    assert older["@id"] == stored["id"]
    there, back = stored["uprightToStored"], stored["storedToUpright"]
    assert (older["uprightToStored"], older["storedToUpright"]) == (there, back)
    upright = (5, 7, 25, 17)
    corners = [apply_matrix(there, *upright[:2]), apply_matrix(there, *upright[2:])]
    assert apply_matrix(back, *corners[0]) == upright[:2]
    (left, right), (top, bottom) = (sorted(pair) for pair in zip(*corners, strict=True))
    part = f"/{name}%23rect=({left},{top}),({right},{bottom})"
    seen = shown(site.get(f"/iiif/3/{escaped(name)}/5,7,20,10/max/0/default.png"))
    cut = shown(site.get(f"{part}?bytes"))
    cut.getexif()[274] = orientation
    assert ImageOps.exif_transpose(cut).tobytes() == seen.tobytes()
    for question in ("?info", "?info&x=y"):
        told = json.loads(site.get(part + question, "Accept: application/json").body)
        assert told["storedPixels"]["uprightToStored"] == there
    assert b"<uprightToStored>" in site.get(f"{part}?info", "Accept: application/xml").body


@pytest.mark.skipif(
    not validation.can_run(),
    reason="iiif-validator cannot run here (it needs libmagic1)",
)
@pytest.mark.parametrize("orientation", [1, 6])
@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_the_validator_of_iiif_passes_at_level_2(
    site: Deployment, version: str, orientation: int
) -> None:
    picture = validation.squares(validation.colours())
    kind = ("png", "image/png")
    if orientation == 6:  # turned back, so that it is the same upright
        data = io.BytesIO()
        stored = Image.open(io.BytesIO(picture)).transpose(Image.Transpose.ROTATE_90)
        stored.save(data, "tiff", tiffinfo={274: orientation})
        picture, kind = data.getvalue(), ("tiff", "image/tiff")
    name = escaped(site.mint(text(picture, *kind)))
    found = validation.validate(f"127.0.0.1:{site.port}", version, name, level=2)
    print(found.stderr)
    assert found.returncode == 0, found.stderr
    assert "0 failures" in found.stderr
