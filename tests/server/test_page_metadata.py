"""The head of a landing page, as Google Scholar, harvesters and other programs read it.

`extruct` reads it as the crawlers do that are built on it; it is one of the peers (`make unit`).
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from lxml import html
from tests.peers import run_peer
from tests.server.deployment import Deployment, resource, text

from perdure.ids import parse
from perdure.model.about import (
    About,
    Agent,
    Code,
    DescriptionDate,
    DescriptionText,
    Publisher,
    Rights,
    Subject,
)
from perdure.model.commands import Describe, Withdraw

_READ = """
import json, sys, extruct
found = extruct.extract(sys.stdin.read(), base_url=sys.argv[1],
                        syntaxes=["opengraph", "dublincore", "json-ld"])
print(json.dumps(found))
"""

ELEMENTS = "http://purl.org/dc/elements/1.1/"
TITLE = 'Of herons & "others" <1997>'
ABSTRACT = "A letter of thanks."


@pytest.fixture(scope="module")
def name(site: Deployment) -> str:
    """A document with a description, in two formats."""
    found = site.mint(
        text(b"%PDF-1.4\n%%EOF\n", "pdf", "application/pdf"),
        text(b"\x89PNG\r\n\x1a\n", "png", "image/png"),
    )
    about = About(
        titles=(DescriptionText(value=TITLE, language="en"),),
        creators=(
            Agent(family="Doe", given="Jane"),
            Agent(name="Heron Society", kind="Organizational"),
        ),
        descriptions=(DescriptionText(value=ABSTRACT, kind="Abstract"),),
        publisher=Publisher(name="Pelican Press"),
        dates=(DescriptionDate(value="1997-09-16", kind="Issued"),),
        subjects=(Subject(value="birds"), Subject(value="letters")),
        rights=(Rights(value="CC0"),),
        codes=(Code(value="10.5555/herons", scheme="DOI"),),
        language="en",
    )
    site.do(Describe(identifier=parse(resource(found)), about=about))
    return resource(found)


def read_head(site: Deployment, name: str) -> dict[str, list[str]]:
    """The contents of `meta` elements by their name."""
    tree = html.document_fromstring(site.get(f"/{name}?landing").body)
    found: dict[str, list[str]] = {}
    for one in tree.iterfind(".//head/meta"):
        key = one.get("name") or one.get("property")
        if key:
            found.setdefault(key, []).append(one.get("content", ""))
    return found


def extract(site: Deployment, name: str) -> dict[str, Any]:
    body = site.get(f"/{name}?landing").body
    found: dict[str, Any] = json.loads(run_peer("extruct", _READ, body, f"{site.base}/{name}"))
    return found


def test_google_scholar_finds_its_tags(site: Deployment, name: str) -> None:
    """ "The title tag, e.g., citation_title …, must contain the title of the paper"; one
    `citation_author` for each author; "Use full dates in the "2010/5/12" format if possible"."""
    found = read_head(site, name)
    assert found["citation_title"] == [TITLE]
    assert found["citation_author"] == ["Doe, Jane", "Heron Society"]
    assert found["citation_publication_date"] == ["1997/09/16"]
    assert found["citation_publisher"] == ["Pelican Press"]
    assert found["citation_doi"] == ["10.5555/herons"]
    assert found["citation_keywords"] == ["birds; letters"]
    (pdf,) = found["citation_pdf_url"]
    assert site.get(pdf.removeprefix(site.base)).body.startswith(b"%PDF")
    assert found["description"] == [ABSTRACT]


def test_the_canonical_address_is_the_page(site: Deployment, name: str) -> None:
    for address in (f"/{name}", f"/{name}?landing", f"/{name}?info"):
        tree = html.document_fromstring(site.get(address, "Accept: text/html").body)
        (found,) = (one for one in tree.iterfind(".//link") if one.get("rel") == "canonical")
        link = found.get("href", "")
        assert link == f"{site.base}/{name}?landing", address
        assert site.get(link.removeprefix(site.base)).status == 200


def test_crawlers_read_open_graph(site: Deployment, name: str) -> None:
    """ogp.me: "The four required properties for every page"; here without a picture of ours."""
    (graph,) = extract(site, name)["opengraph"]
    found = dict(graph["properties"])
    assert (found["og:title"], found["og:type"]) == (TITLE, "article")
    assert found["og:url"] == f"{site.base}/{name}"
    assert found["og:description"] == ABSTRACT
    assert site.get(found["og:image"].removeprefix(site.base)).body.startswith(b"\x89PNG")


def test_crawlers_read_dublin_core(site: Deployment, name: str) -> None:
    (core,) = extract(site, name)["dublincore"]
    assert core["namespaces"] == {"DC": ELEMENTS}
    found = [
        (one["URI"].removeprefix(ELEMENTS), one["content"])
        for one in core["elements"]
        if "content" in one
    ]
    assert ("title", TITLE) in found
    assert ("creator", "Doe, Jane") in found
    assert ("identifier", name) in found
    assert ("rights", "CC0") in found


def test_crawlers_read_json_ld_with_its_files(site: Deployment, name: str) -> None:
    (node,) = extract(site, name)["json-ld"]
    assert node["name"] == TITLE or TITLE in str(node["name"])
    files = {one["encodingFormat"]: one["contentUrl"] for one in node["distribution"]}
    assert set(files) == {"application/pdf", "image/png"}
    for kind, address in files.items():
        answer = site.get(address.removeprefix(site.base))
        assert answer.headers["content-type"] == kind


def test_a_tombstone_has_no_metadata_in_its_head(site: Deployment) -> None:
    """ruling: tombstone-silence"""
    found = site.mint(text(b"<title>secret words</title>", "html", "text/html"))
    site.do(Withdraw(identifier=parse(resource(found)), reason="It was a mistake."))
    answer = site.get(f"/{resource(found)}?landing")
    assert answer.status == 410
    assert b"secret" not in answer.body
    assert set(read_head(site, resource(found))) == {"viewport", "color-scheme"}


def test_an_untitled_document_is_no_paper(site: Deployment) -> None:
    found = resource(site.mint(text(b"\x00\x01", "octet-stream", "application/octet-stream")))
    head = read_head(site, found)
    assert not [one for one in head if one.startswith("citation_")]
    assert head["og:title"] == [found]
