"""Metadata in the head of a landing page, for programs that read only pages. Pure.

Specifications: the tags of Highwire Press that Google Scholar reads (its Inclusion Guidelines for
Webmasters, section "Indexing"); Dublin Core in HTML (DCMI Recommendation of 2008-08-04, DC-HTML);
the Open Graph protocol (ogp.me). JSON-LD is written by `perdure.metadata.jsonld`.

How it works: each function yields elements of the head, from the same description as every other
format. Citation managers read `citation_*`, harvesters `DC.*`, programs that show links `og:*`.

What must stay true: values only, which the template escapes; nothing of what was withdrawn
(ruling: tombstone-silence).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec
from markupsafe import Markup

from perdure.formats.essence import strip_parameters
from perdure.metadata.csl import find_number, make_item
from perdure.metadata.dublin_core import list_pairs
from perdure.metadata.port import DescribedResource
from perdure.server.resource import facts

_PICTURES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))
_FULL_TEXTS = {"application/pdf": "citation_pdf_url", "text/html": "citation_fulltext_html_url"}
_LONGEST = 300  # characters of a short description


class PageMetadata(msgspec.Struct, frozen=True):
    """A `meta` element. Open Graph names its `property`, all others their `name`."""

    name: str
    content: str
    language: str = ""

    @property
    def attribute(self) -> str:
        return "property" if self.name.startswith("og:") else "name"


def list_page_metadata(what: DescribedResource, page: str) -> tuple[PageMetadata, ...]:
    """List the elements of a page. `page` is its address."""
    if what.withdrawn:
        return ()
    return (*_describe(what), *_list_tags(what, page), *_list_elements(what), *_list_graph(what))


def shorten_description(what: DescribedResource) -> str:
    """Return the beginning of the abstract, or of another description, or an empty string."""
    texts = facts.list_abstracts(what.about) or [one.value for one in what.about.descriptions]
    text = " ".join(texts[0].split()) if texts else ""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _describe(what: DescribedResource) -> Iterator[PageMetadata]:
    text = shorten_description(what)
    if text:
        yield PageMetadata("description", text)


def _list_tags(what: DescribedResource, page: str) -> Iterator[PageMetadata]:
    """Yield what Google Scholar reads. It needs a title; a resource without one is not listed."""
    about, cited = what.about, make_item(what)
    if not about.title:
        return
    yield PageMetadata("citation_title", about.title)
    for one in about.creators:
        yield PageMetadata("citation_author", one.display_name)
    issued = (cited.get("issued", {}).get("date-parts") or [[]])[0]
    if issued and issued[0] > 0:
        first, *rest = issued
        date = "/".join((f"{first:04}", *(f"{one:02}" for one in rest)))
        yield PageMetadata("citation_publication_date", date)
    held_in = about.container
    told = {
        "publisher": cited.get("publisher", ""),
        "journal_title": held_in.titles[0].value if held_in and held_in.titles else "",
        "volume": str(cited.get("volume", "")),
        "issue": find_number(cited, about),
        "firstpage": held_in.first_page if held_in else "",
        "lastpage": held_in.last_page if held_in else "",
        "doi": cited.get("DOI", ""),
        "isbn": cited.get("ISBN", ""),
        "issn": cited.get("ISSN", ""),
        "language": about.language,
        "keywords": "; ".join(one.value for one in about.subjects),
        "abstract_html_url": page,
    }
    for name, value in told.items():
        if value:
            yield PageMetadata(f"citation_{name}", value)
    for file in what.files:
        name = _FULL_TEXTS.get(strip_parameters(file.media_type), "")
        if name:
            yield PageMetadata(name, file.url)


def _list_elements(what: DescribedResource) -> Iterator[PageMetadata]:
    """Yield the fifteen elements of Dublin Core."""
    for name, value, language in list_pairs(what):
        yield PageMetadata(f"DC.{name}", value, language)


def _list_graph(what: DescribedResource) -> Iterator[PageMetadata]:
    """Yield the four properties that Open Graph requires, as far as there are any, and a text."""
    yield PageMetadata("og:title", what.about.title or str(what.identifier))
    yield PageMetadata("og:type", "article")
    yield PageMetadata("og:url", what.url)
    text = shorten_description(what)
    if text:
        yield PageMetadata("og:description", text)
    for file in what.files:
        if file.media_type in _PICTURES:
            yield PageMetadata("og:image", file.url)
            yield PageMetadata("og:image:type", file.media_type)


def embed_json(about: dict[str, Any]) -> Markup:
    """Write JSON-LD for the head of a page."""
    text = json.dumps(about, ensure_ascii=False, indent=1)
    text = text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return Markup(text)  # noqa: S704  (no "<" is left in it)
