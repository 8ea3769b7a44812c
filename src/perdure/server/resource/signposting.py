"""FAIR Signposting: links that lead a machine from a page about a resource to the resource. Pure.

How it works: `make_signposts` makes rows from a record and its description: an anchor, a relation,
a target. Rows whose anchor is the landing page are its Link field (level 1). All rows, including
those of the items and of the metadata, are its linkset (level 2), as JSON or in the form of a Link
field. Relations with many links are only in the linkset.

Specifications: FAIR Signposting Profile (signposting.org), RFC 8288, RFC 9264 sections 4.1 and 4.2.

What must stay true: a target is always a URI in ASCII; a URI that comes from metadata is a target
only if it is http(s).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

import msgspec

from perdure import formats, metadata
from perdure.errors import PerdureError
from perdure.ids import Identifier, parse
from perdure.metadata import homes
from perdure.metadata.port import DescribedResource
from perdure.model.about import About, Code, Relation
from perdure.model.assertions import MEDIA_TYPE
from perdure.model.records import Location, Record, Representation, Version
from perdure.policy.naming import qualify_identifier, read_qualifiers
from perdure.policy.versions import find_held_version, find_neighbours, list_relations
from perdure.reading.targets import append_question, spell_path
from perdure.server.common.answers import escape_uri, write_link

JSON = "application/linkset+json"
TEXT = "application/linkset"
TYPES = (JSON, TEXT)
_HTML = "text/html"
_MOST = 16  # links of one relation in a header
_SCHEMA = "https://schema.org/"


class Signpost(msgspec.Struct, frozen=True):
    """One link of a linkset."""

    anchor: str
    rel: str
    href: str
    type: str = ""
    language: str = ""
    profile: str = ""
    datetime: str = ""
    """The time of a capture (RFC 7089 section 2.2.4)."""


def make_signposts(
    record: Record, what: DescribedResource, base: str, kind: str
) -> tuple[Signpost, ...]:
    """Make all links of a resource, or of a part. `kind` is its schema.org type.

    Each thing has one `cite-as`: bytes that are held here have their full name (RFC 8574 section
    3).
    """
    name = what.url
    page = append_question(name, "landing")
    of_page = [
        Signpost(page, "cite-as", name),
        Signpost(page, "type", f"{_SCHEMA}AboutPage"),
        Signpost(page, "type", f"{_SCHEMA}{kind}"),
        *(Signpost(page, "author", one) for one in _list_authors(what.about)),
        *(Signpost(page, "license", one) for one in _list_licences(what.about)),
        *(Signpost(page, "collection", one) for one in _list_collections(what.about, base)),
        *list_descriptions(page, name),
        Signpost(page, "linkset", append_question(name, "linkset"), JSON),
    ]
    held = tuple(_list_held_items(record, what, base, page))
    items = (*held, *_list_located_items(record, what, page))
    of_items = [
        row
        for item in items
        for row in (
            Signpost(item.href, "collection", page, _HTML),
            Signpost(item.href, "cite-as", item.href if item in held else name),
        )
    ]
    of_versions = _list_versions_around(record, what, base)
    of_metadata = [
        Signpost(row.href, "describes", page, _HTML) for row in of_page if row.rel == "describedby"
    ]
    return (*of_page, *items, *of_items, *of_versions, *of_metadata)


def link_signatures(name: str) -> Signpost:
    """Link the landing page of a name to its signatures."""
    page = append_question(name, "landing")
    return Signpost(page, "describedby", append_question(name, "signatures"), "application/json")


def link_assertions(name: str) -> Signpost:
    """Link the landing page of a name to the assertions about it (Web Annotation Protocol 3)."""
    page = append_question(name, "landing")
    rel = "http://www.w3.org/ns/oa#annotationService"
    return Signpost(page, rel, append_question(name, "assertions"), MEDIA_TYPE)


def list_descriptions(page: str, name: str) -> Iterable[Signpost]:
    """Yield links from a page to the metadata records of a name."""
    for one in metadata.load_formats().values():
        yield Signpost(
            page,
            "describedby",
            append_question(name, f"metadata={one.name}"),
            one.media_types[0],
            profile=one.schema if one.schema.startswith("http") else "",
        )


def _list_held_items(
    record: Record, what: DescribedResource, base: str, page: str
) -> Iterable[Signpost]:
    """Yield links to the bytes of the named version or else of the newest, or to the part."""
    if what.part is not None:
        yield Signpost(page, "item", what.url)
        return
    for exact, _, held in _list_held(record, what):
        href = f"{base}/{spell_path(exact)}"
        yield Signpost(page, "item", href, held.media_type, held.language or "")


def _list_held(
    record: Record, what: DescribedResource
) -> Iterable[tuple[Identifier, Version, Representation]]:
    """Yield the bytes that a name means: of its version, else of the highest that has its format.

    # ruling: pdi-format-without-version
    """
    _, format = read_qualifiers(what.identifier)
    version = find_held_version(what.identifier, record)
    if record.tombstone is not None or version is None or version.tombstone is not None:
        return
    for held in version.representations:
        if format in (None, held.format):
            exact = qualify_identifier(what.identifier, version.number, held.format)
            yield exact, version, held


def _list_versions_around(record: Record, what: DescribedResource, base: str) -> Iterable[Signpost]:
    """Yield links from the bytes that a name means to the versions around them (RFC 5829)."""
    for exact, version, held in _list_held(record, what):
        around = find_neighbours(exact, record, version.number, held.format)
        for relation, one in list_relations(around):
            yield Signpost(f"{base}/{spell_path(exact)}", relation, f"{base}/{spell_path(one)}")


def _list_located_items(record: Record, what: DescribedResource, page: str) -> Iterable[Signpost]:
    """Yield links to all locations of the named version, or else of any version."""
    number, _ = read_qualifiers(what.identifier)
    if record.tombstone is not None or what.part is not None:
        return
    for one in record.locations:
        if number is not None and one.version not in (None, number):
            continue
        if _is_web(one.uri):
            known = formats.find_media_type(one.format) if one.format else None
            kind = known.essence if known else ""
            yield Signpost(page, "item", one.uri, kind, one.language or "")


def make_location_link(anchor: str, one: Location) -> Signpost:
    """Link a location as an `alternate` of its resource."""
    known = formats.find_media_type(one.format) if one.format else None
    return Signpost(
        anchor, "alternate", one.uri, known.essence if known else "", one.language or ""
    )


def _list_authors(about: About) -> Iterable[str]:
    return _select_web_urls(
        address
        for one in about.creators
        for code in one.codes
        if (address := _find_home_page(code))
    )


def _find_home_page(code: Code) -> str:
    """Return the web address of a person's or organisation's code, or an empty string."""
    if _is_web(code.value):
        return code.value
    home = homes.find_home(code.scheme)
    return f"{home}{code.value}" if home else ""


def _list_licences(about: About) -> Iterable[str]:
    return _select_web_urls(one.uri for one in about.rights)


def _list_collections(about: About, base: str) -> Iterable[str]:
    found = (_find_address(one, base) for one in about.relations if one.relation == "IsPartOf")
    return _select_web_urls(found)


def _find_address(relation: Relation, base: str) -> str:
    """Return the web address of a related resource, or its address at this resolver."""
    if _is_web(relation.value):
        return relation.value
    text = relation.value
    if relation.scheme.upper() in ("DOI", "HANDLE", "ARK") and ":" not in text.partition("/")[0]:
        text = f"{'hdl' if relation.scheme.upper() == 'HANDLE' else relation.scheme.lower()}:{text}"
    try:
        return f"{base}/{spell_path(parse(text))}"
    except PerdureError:
        return ""


def _select_web_urls(found: Iterable[str]) -> list[str]:
    return [one for one in dict.fromkeys(found) if _is_web(one)]


def _is_web(text: str) -> bool:
    return text.lower().startswith(("http://", "https://"))


# Writing
# -------


def write_header_links(rows: tuple[Signpost, ...]) -> list[bytes]:
    """Write the links of the landing page, without relations that have too many."""
    page = rows[0].anchor
    own = [row for row in rows if row.anchor == page]
    number = Counter(row.rel for row in own)
    return [
        write_link(row.href, row.rel, **_list_attributes(row))
        for row in own
        if number[row.rel] <= _MOST or row.rel == "describedby"
    ]


def make_linkset_tag(rows: tuple[Signpost, ...], kind: str) -> bytes:
    """Make the entity tag of a linkset in one of its forms, from its links."""
    digest = hashlib.sha256(msgspec.json.encode((kind, rows))).hexdigest()
    return f'"{digest[:32]}-links"'.encode()


def write_text(rows: tuple[Signpost, ...]) -> bytes:
    """Write a linkset in the form of a Link field (RFC 9264 section 4.1)."""
    written = (
        write_link(
            row.href, row.rel, **_list_attributes(row), anchor=escape_uri(row.anchor).decode()
        )
        for row in rows
    )
    return b",\n".join(written) + b"\n"


def write_json(rows: tuple[Signpost, ...]) -> bytes:
    """Write a linkset as JSON (RFC 9264 section 4.2).

    `profile` is an extension attribute, and "the value of an extension attribute MUST be
    represented by an array" (section 4.2.4.3). The `signposting` client expects a string there and
    fails on an array, so that it would read no link at all. The attribute is a hint, and a link
    without it is valid: it is only in the two other forms, the Link field and the text form.
    """
    contexts: dict[str, dict[str, list[dict[str, str | list[str]]]]] = {}
    for row in rows:
        target: dict[str, str | list[str]] = {"href": escape_uri(row.href).decode()}
        if row.type:
            target["type"] = row.type
        if row.language:
            target["hreflang"] = [row.language]
        if row.datetime:
            target["datetime"] = [row.datetime]
        of_context = contexts.setdefault(escape_uri(row.anchor).decode(), {})
        of_context.setdefault(row.rel, []).append(target)
    return msgspec.json.encode(
        {"linkset": [{"anchor": anchor} | rows for anchor, rows in contexts.items()]}
    )


def _list_attributes(row: Signpost) -> dict[str, str]:
    found = {
        "type": row.type,
        "hreflang": row.language,
        "profile": row.profile,
        "datetime": row.datetime,
    }
    return {name: value for name, value in found.items() if value}
