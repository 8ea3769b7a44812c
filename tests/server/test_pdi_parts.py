"""Parts of PDIs in the syntaxes of other standards, and parts that do not exist, in every face."""

from __future__ import annotations

import io
import json
import wave
from collections.abc import Callable
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import pytest
from click.testing import CliRunner, Result
from PIL import Image
from tests.server.deployment import Deployment, text

import perdure
from perdure.cli import perdure as command
from perdure.errors import PartOutOfRange, PerdureError

pikepdf = pytest.importorskip("pikepdf")

TABLE = b"name,year\nAda,1815\nGrace,1906\nAlan,1912\n"
LETTER = b"Names that outlive servers.\nServers that forget names.\nThe end.\n"
PAGE = b"<html><body><p id=one>First</p><p id=two>Second</p></body></html>"
TREE = b"<doc><p>First</p><p>Second</p></doc>"


def make_pdf() -> bytes:
    pdf = pikepdf.new()
    for _ in range(3):
        pdf.add_blank_page(page_size=(300, 200))
    file = io.BytesIO()
    pdf.save(file)
    return file.getvalue()


def make_sound() -> bytes:
    file = io.BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(10)
        sound.writeframes(bytes(range(100)))
    return file.getvalue()


def make_picture() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (40, 20), "red").save(file, "png")
    return file.getvalue()


DOCUMENTS: dict[str, tuple[bytes, str, str]] = {
    "csv": (TABLE, "csv", "text/csv"),
    "text": (LETTER, "text", "text/plain"),
    "html": (PAGE, "html", "text/html"),
    "xml": (TREE, "xml", "text/xml"),
    "pdf": (make_pdf(), "pdf", "application/pdf"),
    "wav": (make_sound(), "wav", "audio/wav"),
    "png": (make_picture(), "png", "image/png"),
}


def count_pages(data: bytes) -> int:
    with pikepdf.open(io.BytesIO(data)) as pdf:
        return len(pdf.pages)


def measure_picture(data: bytes) -> tuple[int, int]:
    with Image.open(io.BytesIO(data)) as picture:
        return picture.size


def read_samples(data: bytes) -> bytes:
    with wave.open(io.BytesIO(data)) as sound:
        samples: bytes = sound.readframes(100)
        return samples


def as_is(data: bytes) -> bytes:
    return data


PARTS: list[tuple[str, str, Callable[[bytes], object], object]] = [
    # document, part, property of the part, its value
    ("csv", "row=2-3", as_is, b"Ada,1815\nGrace,1906\n"),  # RFC 7111 section 2.1
    ("csv", "2-3", as_is, b"Ada,1815\nGrace,1906\n"),  # ruling pdi-other-schemes
    ("csv", "cell=3,1-4,1", as_is, b"Grace\r\nAlan\r\n"),  # RFC 7111 section 2.3
    ("text", "line=1,2", as_is, b"Servers that forget names.\n"),  # RFC 5147 section 2.2.2
    ("text", "quote=forget%20names", as_is, b"forget names"),
    ("text", "quote=that-,outlive,-servers", as_is, b"outlive"),
    ("html", "quote=Second", as_is, b"Second"),
    ("html", "element=two", as_is, b"<p id=two>Second</p>"),
    ("html", "xpointer=//p%5b2%5d", as_is, b"<p id=two>Second</p>"),
    ("xml", "element=/1/2", as_is, b"<p>Second</p>"),
    ("xml", "xpointer=//p%5b1%5d", as_is, b"<p>First</p>"),
    ("pdf", "page=3", count_pages, 1),  # RFC 8118 section 3
    ("pdf", "3", count_pages, 1),  # ruling pdi-other-schemes
    ("wav", "t=1.5,3", read_samples, bytes(range(15, 30))),  # Media Fragments section 4.2.1
    ("png", "xywh=5,5,15,10", measure_picture, (15, 10)),  # Media Fragments section 4.2.2
    ("png", "xywh=percent:50,0,50,50", measure_picture, (20, 10)),
]
MISSING = [  # document, part that it does not have, HTTP status of the part
    ("text", "char=0,99999", HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE),
    ("text", "quote=nowhere", HTTPStatus.NOT_FOUND),
    ("pdf", "page=9", HTTPStatus.NOT_FOUND),
    ("html", "element=three", HTTPStatus.NOT_FOUND),
    ("xml", "element=/1/9", HTTPStatus.NOT_FOUND),
    ("wav", "msec=9000,99000", HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE),
    ("png", "rect=(0,0),(400,400)", HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE),
    ("png", "page=1", HTTPStatus.NOT_IMPLEMENTED),
]


@pytest.fixture(scope="module")
def names(site: Deployment) -> dict[str, str]:
    return {
        label: site.mint(text(data, format, media_type))
        for label, (data, format, media_type) in DOCUMENTS.items()
    }


def run(site: Deployment, *words: str) -> Result:
    return CliRunner(env={"PERDURE_REGISTRY": str(site.root)}).invoke(command, words)


@pytest.mark.parametrize(("label", "part", "measure", "value"), PARTS)
def test_part_of_another_standard(
    site: Deployment,
    names: dict[str, str],
    label: str,
    part: str,
    measure: Callable[[bytes], object],
    value: object,
) -> None:
    """Every transport of the part (ruling: fragment-transport) and every face gives one answer."""
    name = f"{names[label]}#{part}"
    escaped = name.replace("#", "%23")
    targets = (
        name,
        "/" + name.replace("#", "%23"),
        f"/{names[label]}?part={quote(part, safe='')}",
        f"/uri-res/N2R?{escaped}",
    )
    for target in targets:
        answer = site.get(target)
        assert answer.status == HTTPStatus.OK, (target, answer.body)
        assert measure(answer.body) == value, target
        canonical = answer.headers["content-location"].replace("%23", "#")
        assert str(perdure.parse(canonical)) == str(perdure.parse(name)), target
    with perdure.open(site.root) as registry:
        assert measure(registry.read(name)) == value
    printed = run(site, "get", name)
    assert printed.exit_code == 0, printed.stderr
    assert measure(printed.stdout_bytes) == value
    cited = run(site, "cite", name)
    assert cited.exit_code == 0, cited.stderr
    assert str(perdure.parse(name)) in cited.stdout


@pytest.mark.parametrize(("label", "part", "status"), MISSING)
def test_nothing_is_said_of_a_part_that_is_not_there(
    site: Deployment, names: dict[str, str], label: str, part: str, status: HTTPStatus
) -> None:
    """Ruling part-exists: the answer to every question is that of the part."""
    name = f"{names[label]}#{part}"
    path = "/" + name.replace("#", "%23")
    json_field = "Accept: application/json"
    assert site.get(path).status == status
    for question in ("cite=apa", "metadata=datacite", "info", "linkset", "landing"):
        answer = site.get(f"{path}?{question}", json_field)
        assert answer.status == status, question
    assert site.get(f"/uri-res/N2C?{name.replace('#', '%23')}", json_field).status == status
    with perdure.open(site.root) as registry, pytest.raises(PerdureError) as caught:
        registry.read(name)
    code: Any = run(site, "get", name).exit_code
    assert code not in (0, 1)
    for words in (("cite", name), ("describe", name), ("metadata", "get", name)):
        failed = run(site, *words, "--json")
        assert failed.exit_code == code, words
        assert json.loads(failed.stderr)["code"] == caught.value.code, words


def test_a_part_of_what_is_elsewhere_can_be_cited(site: Deployment) -> None:
    """Ruling part-exists: "Of what lies elsewhere a well-formed part can be cited"."""
    name = site.bind("ark:99999/fk4away", "https://a.example/paper.pdf")
    assert run(site, "cite", name, "--part", "page=900").exit_code == 0


def test_a_description_of_a_part_that_is_not_there_is_refused_by_the_library(
    site: Deployment, names: dict[str, str]
) -> None:
    with perdure.open(site.root) as registry:
        resolved = registry.resolve(f"{names['text']}#char=0,99999")
        with pytest.raises(PartOutOfRange):
            registry.documents.describe_resolved(resolved, "https://a.example/")
