"""The landing page of an identifier, and its linkset: a description for people and for machines.

How it works: `?landing` answers with the page whatever the Accept field says, `?info` with the page
if the client asks for HTML; the identifier alone still leads to the resource. The server makes the
page from the record, its description (`perdure.metadata`), its citation, and the results of the
last link check. The page is usable without its style and its script. Its header has the same
links (`perdure.server.resource.signposting`).

What must stay true: a template gets only values. The one piece of markup, the JSON-LD, contains no
`<`, so nothing in it can end its element.
"""

from __future__ import annotations

import hashlib
import json
from http import HTTPStatus
from itertools import chain
from typing import Any

from markupsafe import Markup

from perdure import metadata
from perdure.errors import (
    Forbidden,
    MissingLibrary,
    NotAcceptable,
    NotFound,
    PartNotSupported,
    Unauthenticated,
)
from perdure.formats.essence import strip_parameters
from perdure.ids import Identifier, parse
from perdure.metadata.citing import write_citation
from perdure.metadata.port import DescribedResource
from perdure.model.plain_words import read_pairs
from perdure.model.queries import Gone
from perdure.model.records import Record
from perdure.policy.levels import describe_level, find_level
from perdure.policy.shoulders import find_policy
from perdure.policy.showing import find_withdrawal
from perdure.reading.resolved import Resolved
from perdure.reading.targets import append_question, spell_part_path, spell_path
from perdure.server import pages
from perdure.server.apis.webmentions import PATH as WEBMENTION
from perdure.server.common import asking
from perdure.server.common.answers import (
    Answer,
    Fields,
    escape_uri,
    join_links,
    make_answer,
    make_empty_answer,
    write_link,
)
from perdure.server.common.conditions import has_already
from perdure.server.common.negotiate import choose_type
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.pages.kinds import name_kinds
from perdure.server.pages.trail import Trail, find_page, make_trail
from perdure.server.resource import (
    describing,
    embedding,
    facts,
    playing,
    previews,
    provenance,
    quoting,
    signing,
    signposting,
    style_choice,
    verifying,
)
from perdure.server.resource.describing import make_public_record, make_record_etag, tag_shown
from perdure.server.resource.page_metadata import embed_json, list_page_metadata
from perdure.server.resource.previews.port import Preview
from perdure.server.resource.previews.text import TextPreview
from perdure.upkeep.linkcheck.verdict import LinkFinding

_FORMS = ("application/json", "text/html")
_TURNING = dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
_ANY_PART = "line=0,1"
_LONGEST = 200  # locations and versions that the page shows; the record has all


async def show_landing_page(
    service: Service, request: Request, resolved: Resolved, at: int = 0
) -> Answer:
    """Answer with the landing page. Its text begins at a character. Raises NotFound."""
    identifier, record = resolved.identifier, resolved.known
    findings = service.health.read_findings(one.uri for one in record.locations)
    beside = await _read_beside(service, request, resolved)
    page_tag = tag_shown(_make_page_tag(record, findings), [*chain(*beside.values())])
    tag = pages.tag_page(page_tag, request.frame)
    path = append_question(f"/{asking.spell_resolved(resolved)}", "landing")
    fields = [
        (b"etag", tag),
        (b"content-location", escape_uri(path)),
        (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds),
        (b"vary", pages.VARY),
    ]
    gone = find_withdrawal(identifier, record)
    status = HTTPStatus.GONE if is_gone(resolved) else HTTPStatus.OK
    if status == HTTPStatus.OK and has_already(request, tag):
        return make_empty_answer(HTTPStatus.NOT_MODIFIED, *fields)
    passage = await quoting.read_passage(service, resolved)
    preview = await previews.read_preview(service, resolved, at) if gone is None else None
    what, kind, jsonld = await service.run_cutter(_describe_page, service, request, resolved)
    citation = await service.run_cutter(_cite_resource, what, request.frame.language)
    rows = signposting.make_signposts(record, what, request.base_url, kind)
    shown = make_public_record(record, identifier, request.base_url)
    part_address = _find_part_address(resolved)
    body = pages.render_page(
        request.frame,
        "landing.html",
        record=shown,
        part_address=part_address,
        facts=facts.list_facts(what.about),
        abstract=facts.list_abstracts(what.about),
        inherited=facts.find_inherited(resolved.whole, record, resolved.level),
        levels=facts.list_levels(resolved.whole, record, resolved.level),
        derived=what.about.derived,
        passage=passage,
        preview=preview,
        player=playing.find_player(service, resolved) if gone is None else None,
        **beside,
        withdrawn=gone,
        later=next((row.href for row in rows if row.rel == "latest-version"), ""),
        quotable=_find_quotable_url(shown, record) if passage is None else "",
        changed=facts.list_changed_content(identifier, record, findings)[:_LONGEST],
        **_show_name(resolved, what, request.base_url, is_gone=gone is not None),
        **_link_questions(what.url, is_held=shown["status"] == "held", is_gone=gone is not None),
        **_shorten_lists(shown, findings),
        **_describe_newest(shown, resolved),
        **_show_citation(citation, f"/{asking.spell_resolved(resolved)}", request.frame.language),
        formats=[(one.title, one.name) for one in metadata.load_formats().values()],
        head=[row for row in rows if row.anchor == rows[0].anchor and row.rel != "item"],
        metadata=list_page_metadata(what, rows[0].anchor),
        jsonld=jsonld,
    )
    linked = (*signposting.write_header_links(rows), *_link_webmentions(service, request))
    fields += join_links(linked)
    return _make_page(status, body, fields, preview, is_whole=bool(part_address))


async def _read_beside(
    service: Service, request: Request, resolved: Resolved
) -> dict[str, list[dict[str, object]]]:
    """Read the other documents that the page shows: signatures, and sources of a composite."""
    return {
        "signatures": await signing.read_shown(service, request, resolved),
        "pieces": await provenance.read_shown(service, request, resolved),
    }


def _make_page(
    status: int, body: bytes, fields: Fields, preview: Preview | None, *, is_whole: bool
) -> Answer:
    framed = preview.view_origin if isinstance(preview, TextPreview) else ""
    framed = framed and f"'self' {framed}"  # the lists of citations and assertions are ours
    has_script = is_whole or preview is not None
    return pages.make_page(status, body, *fields, has_script=has_script, framed=framed)


def _link_questions(url: str, *, is_held: bool, is_gone: bool) -> dict[str, str]:
    """The addresses of questions about the name, for the links of the page."""
    return {
        "canonical": append_question(url, "landing"),
        "get_url": append_question(url, "bytes") if is_held else url,
        "closed_url": append_question(url, "bytes"),
        "asserted_url": append_question(url, "assertions"),
        "cited_url": "" if is_gone else append_question(url, "citedby"),
        "cites_url": append_question(url, "cites"),
        "provenance_url": append_question(url, "provenance"),
    }


def _show_citation(citation: str, path: str, language: str) -> dict[str, Any]:
    """The citation, and the form that changes its style."""
    form = style_choice.make_style_form(path, language)
    return {"citation": _strip_directions(citation), "cite_form": form}


def _show_name(
    resolved: Resolved, what: DescribedResource, base: str, *, is_gone: bool
) -> dict[str, Any]:
    """The title of the page, where it belongs, and how others use it."""
    title = _strip_directions(what.about.title) or str(resolved.identifier)
    return {
        "title": title,
        "named": bool(what.about.title),
        "trail": _list_steps(resolved),
        "is_part": resolved.inside is not None,
        "uses": None if is_gone else _list_uses(title, what.url, base),
    }


def _list_uses(title: str, url: str, base: str) -> dict[str, Any]:
    """The pieces of HTML and text that writers paste into their pages."""
    links = embedding.link_embedding(base, url.removeprefix(f"{base}/"))
    return {
        "html": str(Markup('<a href="{}">{}</a>').format(url, title)),
        "text": f"{title}, {url}",
        "frame": embedding.write_frame(links["embed"], title),
        "links": links,
    }


def _shorten_lists(shown: dict[str, Any], findings: dict[str, LinkFinding]) -> dict[str, Any]:
    """The newest versions and the first locations of a record, and how many more it has."""
    versions, locations = shown["versions"], shown["locations"]
    return {
        "versions": verifying.add_checks(versions[-_LONGEST:][::-1]),
        "more_versions": max(0, len(versions) - _LONGEST),
        "locations": _show_locations(locations[:_LONGEST], findings),
        "more_locations": max(0, len(locations) - _LONGEST),
    }


def _describe_newest(shown: dict[str, Any], resolved: Resolved) -> dict[str, Any]:
    """Say what the document is, and where the members of a collection are listed."""
    newest = next(iter(shown["versions"][::-1]), None)
    if resolved.inside is not None or shown["status"] != "held" or newest is None:
        return {"summary": None, "members_url": ""}
    held = newest["representations"]
    summary = {
        "kinds": name_kinds(one["media_type"] for one in held),
        "size": held[0]["length"] if len(held) == 1 else None,
        "at": newest["at"],
    }
    lists = (one["members"] for one in held if "members" in one)
    return {"summary": summary if held else None, "members_url": next(lists, "")}


def _link_webmentions(service: Service, request: Request) -> list[bytes]:
    """Name the address that takes Webmentions, if there is one (Webmention, section 3.1.2)."""
    if service.settings.webmentions != "on":
        return []
    return [write_link(f"{request.base_url}/{WEBMENTION}", "webmention")]


def _list_steps(resolved: Resolved) -> Trail:
    """Return the way up from the page: to the lists, and from a part to its document."""
    whole = resolved.whole
    steps = make_trail(whole)
    return steps if resolved.inside is None else [*steps, (str(whole), find_page(whole))]


def _find_part_address(resolved: Resolved) -> str:
    """Return the beginning of the addresses of parts, or an empty string on the page of a part."""
    name = resolved.identifier
    if resolved.inside is not None or resolved.known.tombstone is not None:
        return ""
    return "/" + spell_part_path(name, _ANY_PART).removesuffix(_ANY_PART)


async def show_linkset(service: Service, request: Request, resolved: Resolved) -> Answer:
    """Answer with all links of an identifier (RFC 9264), as JSON or text. Raises NotFound."""
    record = resolved.known
    what, about = await service.run_cutter(_describe_resource, service, request, resolved)
    rows = signposting.make_signposts(record, what, request.base_url, _find_schema_type(about))
    signatures = service.registry.signatures  # the link set is public, so they are, too
    if await service.run_cutter(signatures.has_signatures, resolved.identifier):
        rows = (*rows, signposting.link_signatures(what.url))
    assertions, others = service.registry.assertions, tuple(map(parse, record.aliases))
    if await service.run_cutter(assertions.has_assertions, resolved.identifier, others):
        rows = (*rows, signposting.link_assertions(what.url))
    return answer_links(request, rows, fresh=service.settings.fresh_seconds)


def answer_links(
    request: Request, rows: tuple[signposting.Signpost, ...], *more: tuple[bytes, bytes], fresh: int
) -> Answer:
    """Answer with a linkset in the form that the client prefers."""
    kind = choose_type(request.accept, signposting.TYPES) or signposting.JSON
    tag = signposting.make_linkset_tag(rows, kind)
    fields = [
        (b"etag", tag),
        (b"cache-control", b"public, max-age=%d" % fresh),
        (b"vary", b"accept"),
        *more,
    ]
    if has_already(request, tag):
        return make_empty_answer(HTTPStatus.NOT_MODIFIED, *fields)
    is_json = kind == signposting.JSON
    body = signposting.write_json(rows) if is_json else signposting.write_text(rows)
    return make_answer(HTTPStatus.OK, kind, body, *fields)


def is_gone(resolved: Resolved) -> bool:
    """Return True if what a name names was withdrawn: its page is the tombstone, with status 410.

    # ruling: tombstone-silence
    """
    try:
        step = resolved.choose(accept=())
    except (NotFound, NotAcceptable, PartNotSupported, MissingLibrary):
        return False
    except (Forbidden, Unauthenticated):  # the description is open, and the bytes are not
        return False
    return isinstance(step, Gone)


def wants_page(request: Request) -> bool:
    """Return True if `?info` asks for the page: Accept names HTML and prefers it."""
    named = any(strip_parameters(one.range) == "text/html" for one in request.accept)
    others = (*_FORMS, "application/xml", "text/xml", "text/plain")
    return named and choose_type(request.accept, others) == "text/html"


def answer_erc(service: Service, request: Request, resolved: Resolved, *, full: bool) -> Answer:
    """Answer `?` or `??` after an ARK with an ERC (draft-kunze-ark, kernel ERC in ANVL).

    The `full` ERC (`??`) describes the resource and the commitment to it. Raises NotFound.
    """
    identifier, record = resolved.identifier, resolved.known
    shown = make_public_record(record, identifier, request.base_url)
    about = describe_level(record, find_level(identifier))
    if about != read_pairs(record.metadata):
        said = {
            "who": "; ".join(
                facts.name_agent(one.name, one.given, one.family) for one in about.creators
            ),
            "what": about.title,
            "when": about.year or about.first_date("Issued", "Created"),
        }
        shown["metadata"] = shown["metadata"] | {name: text for name, text in said.items() if text}
    body = describing.write_erc(shown)
    if full:
        name = str(identifier).removeprefix("ark:")
        policy = find_policy(service.settings.ark_policies, name)
        body += _write_support(request, identifier, record, policy)
    fresh = (b"cache-control", b"public, max-age=%d" % service.settings.fresh_seconds)
    link = write_link(f"{request.base_url}/{spell_path(identifier)}", "describes")
    return make_answer(
        HTTPStatus.OK,
        "text/plain; charset=utf-8",
        body,
        fresh,
        (b"vary", b"accept"),
        *join_links((link,)),
    )


def _make_page_tag(record: Record, findings: dict[str, LinkFinding]) -> bytes:
    """Make the entity tag of the page, from the revision and the health of its locations."""
    plain_tag = make_record_etag(record, "text/html")
    if not findings:
        return plain_tag
    known = json.dumps(
        sorted(
            (one.uri, one.verdict, one.checked[:10], one.sha512 or "", one.size or 0)
            for one in findings.values()
        )
    )
    return plain_tag[:-1] + f"-{hashlib.sha256(known.encode()).hexdigest()[:8]}".encode() + b'"'


def _describe_resource(
    service: Service, request: Request, resolved: Resolved
) -> tuple[DescribedResource, dict[str, Any]]:
    """Return the description, and the same as JSON-LD."""
    url = f"{request.base_url}/{asking.spell_resolved(resolved)}"
    what = service.registry.documents.describe_resolved(resolved, url)
    return what, json.loads(metadata.write_record(what, "jsonld"))


def _describe_page(
    service: Service, request: Request, resolved: Resolved
) -> tuple[DescribedResource, str, Markup]:
    """Return the description, the type that schema.org gives it, and the JSON-LD of the page.

    That of a collection with many members takes tens of milliseconds to write.
    """
    what, about = _describe_resource(service, request, resolved)
    return what, _find_schema_type(about), embed_json(about)


def _cite_resource(what: DescribedResource, language: str) -> str:
    """Return a citation, or an empty string if perdure[metadata] is not installed."""
    try:
        return write_citation(what, style_choice.FIRST, language).strip()
    except MissingLibrary:
        return ""


def _strip_directions(text: str) -> str:
    """Remove the controls that would change the direction of the text after it on the page."""
    return text.translate(_TURNING)


def _find_schema_type(about: dict[str, Any]) -> str:
    kind = about.get("@type", "CreativeWork")
    return str(kind[0] if isinstance(kind, list) else kind)


def _show_locations(
    shown: list[dict[str, Any]], findings: dict[str, LinkFinding]
) -> list[dict[str, Any]]:
    """Add to each location its health, and whether it is valid today."""
    today = asking.current_day()
    found = []
    for one in shown:
        finding = findings.get(one["uri"])
        first, last = one["valid_from"] or "", one["valid_until"] or "9999-12-31"
        health = {
            "health": str(finding.verdict) if finding else "",
            "checked": finding.checked[:10] if finding else "",
        }
        found.append(one | health | {"is_valid": first <= today <= last})
    return found


def _find_quotable_url(shown: dict[str, Any], record: Record) -> str:
    """Return the address of the text that a reader would quote, or an empty string."""
    found = quoting.find_quotable(record)
    if found is None:
        return ""
    version, one = found
    told = next(held for held in shown["versions"] if held["number"] == version.number)
    return next(
        str(held["url"]) for held in told["representations"] if held["format"] == one.format
    )


def _write_support(request: Request, identifier: Identifier, record: Record, policy: str) -> bytes:
    """Write the `erc-support` section: the commitment to the resource, its giver and its
    date. Permanence is the policy of the shoulder.
    """
    if record.tombstone is not None:
        promise = "(:gone) withdrawn; the name and this statement remain"
    elif record.newest is not None:
        promise = f"{policy}; no version ever changes here"
    else:
        promise = f"{policy}; the resource may move"
    since = record.versions[0].at if record.versions else record.at
    rows = (
        ("who", request.base_url.partition("//")[2]),
        ("what", promise),
        ("when", since[:10].replace("-", "") or "(:unkn)"),
        ("where", f"{request.base_url}/{spell_path(identifier)}?history"),
    )
    return "".join(["erc-support:\n", *(f"{name}: {value}\n" for name, value in rows)]).encode()
