"""Collections over HTTP: `#member=7` leads to the member, `?members` lists them all.

    GET /pdi://…/1.json.1%23member=7       302 to where the member is resolved
    GET /pdi://…/1.json.1?members          all of them, page by page
    GET /pdi://…/1   Accept: text/html     the same list, for people

How it works: the collection is resolved like any other resource and read from the bytes held here.
A member is looked up here if its identifier is registered here or its scheme is resolved here;
others go to the public resolver of their scheme. A client that prefers JSON gets the entry instead,
exactly as in the document. In JSON and HTML lists, every member has its own identifier and an
address at this resolver, made of the collection's identifier and `member=`; both persist.
The text, CSV and Turtle forms are those that `perdure collection make` reads. The page for people
also shows the state of each member now (`perdure.server.resource.member_states`).

What must stay true: redirects go only to identifiers that parse, and only to this resolver or to
those in `PUBLIC`; a list of any size costs one decoding of the document and one page of output.
"""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import quote as escape

import msgspec

from perdure.errors import (
    InvalidMetadata,
    NotAcceptable,
    PartNotFound,
)
from perdure.errors.damage import CollectionDamaged
from perdure.errors.requests import CursorNotNumber
from perdure.errors.root import count_things
from perdure.extractors.members import find_entry, read_collection
from perdure.extractors.port import Source
from perdure.ids import Identifier, parse
from perdure.ids.urls import find_public_address
from perdure.model import collection as members
from perdure.model.collection import Collection, CollectionMember
from perdure.model.queries import Fetch, Gone, Preference, Redirect, Want
from perdure.model.records import Location
from perdure.parts import Member as MemberSelector
from perdure.policy.naming import read_qualifiers
from perdure.reading.resolved import Resolved
from perdure.reading.targets import (
    Question,
    append_question,
    spell_part_path,
    spell_part_uri,
    spell_path,
)
from perdure.server import pages
from perdure.server.common import asking, problems
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
from perdure.server.common.negotiate import choose_type, names_first, prefers_types
from perdure.server.common.redirects import make_redirect
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.pages.trail import make_trail
from perdure.server.resource import held
from perdure.server.resource.member_states import describe_member
from perdure.upkeep.collection import forms

LINKSET = "application/linkset+json"
OFFERS = ("application/json", "text/html", "text/uri-list", "text/plain", LINKSET, "text/csv",
          "text/turtle")  # fmt: skip
_FORMS = {"text/plain": "text", "text/csv": "csv", "text/turtle": "turtle"}
_JSON = ("application/json", members.MEDIA_TYPE)
_MOST = 10_000
_MOST_ON_PAGE = 50


async def lead_to_member(
    service: Service, request: Request, step: Fetch, source: Source, selector: MemberSelector
) -> Answer | None:
    """Redirect to a member, or return None if the client prefers the entry.

    Raises PartNotFound, Undecodable, and MalformedIdentifier if the member is not an identifier.
    """
    if prefers_types(request.accept, _JSON):
        return None
    count, number, entry = await service.run_cutter(find_entry, source, selector)
    if entry is None:
        raise PartNotFound(
            identifier=source.name,
            selector=str(selector),
            extent=count_things(count, "member"),
        )
    found = members.read_entry(entry)
    identifier = parse(found.identifier)
    step_on = Redirect(
        identifier=identifier,
        location=Location(uri=locate_member(service, request, identifier)),
    )
    answer = make_redirect(
        step_on, fresh=service.settings.fresh_seconds, base=service.settings.base_url
    )
    written = f"{request.base_url}/{spell_part_path(step.identifier, f'member={number}')}"
    answer.fields = [
        *(field for field in answer.fields if field[0] != b"link"),
        *join_links(
            (
                write_link(written, "canonical"),
                write_link(f"{request.base_url}/{spell_path(step.identifier)}", "collection"),
            )
        ),
    ]
    return answer


def locate_member(service: Service, request: Request, identifier: Identifier) -> str:
    """Return the URL of a member, here or at the public resolver of its scheme."""
    base, public = request.base_url, find_public_address(identifier)
    if public and not asking.is_known(service, request, identifier.whole):
        return public
    if identifier.part is not None:
        return f"{base}/{spell_part_path(identifier.whole, identifier.part)}"
    return f"{base}/{spell_path(identifier)}"


# lists
# -----


def suits_person(
    service: Service, request: Request, identifier: Identifier, media_types: tuple[str, ...]
) -> bool:
    """Return True if a person asks for a collection without naming a format.

    `media_types` are those held, or the one that would be sent.
    """
    return (
        members.MEDIA_TYPE in media_types
        and read_qualifiers(identifier)[1] is None
        and service.settings.pages != "never"
        and names_first(request.accept, "text/html")
    )


async def list_members(
    service: Service, request: Request, resolved: Resolved, question: Question
) -> Answer:
    """Answer `?members`. Raises NotFound, NotAcceptable, InvalidRequest and Undecodable."""
    identifier, kind = resolved.identifier, choose_type(request.accept, OFFERS)
    if kind is None:
        asked = ", ".join(one.range for one in request.accept)
        raise NotAcceptable(identifier=str(identifier), asked=asked, offered=OFFERS)
    step = resolved.choose(Want.RESOURCE, accept=(Preference(members.MEDIA_TYPE),), whole=True)
    if isinstance(step, Gone):
        return problems.answer_problem(problems.make_gone_problem(step), request)
    if not isinstance(step, Fetch) or step.representation.media_type != members.MEDIA_TYPE:
        raise NotAcceptable(
            identifier=str(identifier), asked=members.MEDIA_TYPE, offered=("no collection",)
        )
    most = service.settings.page_size if kind == "text/turtle" else _MOST
    if kind == "text/html":
        most = min(service.settings.page_size, _MOST_ON_PAGE)
    limit = min(question.limit or service.settings.page_size, most)
    start = _read_start(question.cursor)
    tag = f'"{step.representation.sha512[:40]}-{start}-{limit}-{kind.partition("/")[2]}"'.encode()
    fields: Fields = [
        (
            b"content-location",
            escape_uri(f"{spell_path(step.identifier)}?members&{_write_page_query(start, limit)}"),
        ),
        (b"vary", pages.VARY if kind == "text/html" else b"accept"),
        (
            b"cache-control",
            held.write_lifetime(service.settings, pinned=step.pinned and kind != "text/html"),
        ),
    ]
    if kind != "text/html":  # a page shows the states of members, which change
        fields.append((b"etag", tag))
        if has_already(request, tag):
            return make_empty_answer(HTTPStatus.NOT_MODIFIED, *fields)
    source = service.registry.documents.open_source(step.identifier, step.representation)
    body, following = await service.run_cutter(
        _render_page, service, request, source, step.identifier, kind, start, limit
    )
    if following is not None:
        fields += join_links((b'<%s>; rel="next"' % escape_uri(following),))
    if kind == "text/html":
        return pages.make_page(HTTPStatus.OK, body, *fields, in_frames=True)
    charset = "; charset=utf-8" if kind in _FORMS else ""
    return make_answer(HTTPStatus.OK, kind + charset, body, *fields)


def _read_start(cursor: str | None) -> int:
    if cursor is None:
        return 1
    if not (cursor.isascii() and cursor.isdecimal() and 0 < int(cursor[:10]) <= 10**9):
        raise CursorNotNumber(cursor=cursor)
    return int(cursor[:10])


def _write_page_query(start: int, limit: int) -> str:
    return f"cursor={start}&limit={limit}"


def _render_page(
    service: Service,
    request: Request,
    source: Source,
    whole: Identifier,
    kind: str,
    start: int,
    limit: int,
) -> tuple[bytes, str | None]:
    """Write a page of the list. Return it with the address of the next page."""
    base = request.base_url
    try:
        if kind == "application/json":
            return _write_json(read_collection(source), whole, base, start, limit)
        collection = members.load_collection(read_collection(source))
    except InvalidMetadata as error:
        raise CollectionDamaged(**source.subject, fault=error.reason) from error
    shown = collection.members[start - 1 : start - 1 + limit]
    here = _make_member_prefix(whole, base)
    rows = [(number, f"{here}{number}", one) for number, one in enumerate(shown, start)]
    following = _find_next_page(whole, base, start + limit, limit, len(collection.members))
    match kind:
        case "text/html":
            body = pages.render_page(
                request.frame,
                "members.html",
                collection=collection,
                identifier=str(whole),
                page=append_question(f"{base}/{spell_path(whole)}", "landing"),
                rows=[
                    (number, href, one, describe_member(service, request, one))
                    for number, href, one in rows
                ],
                document=f"{base}/{append_question(spell_path(whole), 'bytes')}",
                following=following,
                trail=make_trail(whole),
            )
        case "application/linkset+json":
            body = _write_linkset(whole, base, rows)
        case "text/plain" | "text/csv" | "text/turtle":
            body = _write_form(_FORMS[kind], source, whole, collection, shown, start)
        case _:
            uris = [
                b"# " + escape_uri(str(whole)),
                *(escape_uri(one.identifier) for _, _, one in rows),
                b"",
            ]
            body = b"\r\n".join(uris)
    return body, following


def _write_form(
    form: str,
    source: Source,
    whole: Identifier,
    collection: Collection,
    shown: tuple[CollectionMember, ...],
    start: int,
) -> bytes:
    """Write a page in a form that programs read back, so check its members first."""
    page = msgspec.structs.replace(collection, members=shown)
    try:
        members.check_collection(page)
    except InvalidMetadata as error:
        raise CollectionDamaged(**source.subject, fault=error.reason) from error
    return forms.write_collection(page, form, identifier=str(whole), first=start)


_Rows = list[tuple[int, str, CollectionMember]]


def _make_member_prefix(whole: Identifier, base: str) -> str:
    """Return the address of a member, without its number."""
    return f"{base}/{spell_part_path(whole, 'member=1').removesuffix('1')}"


def _find_next_page(whole: Identifier, base: str, start: int, limit: int, size: int) -> str | None:
    """Return the address of the next page, or None if this is the last."""
    return (
        f"{base}/{spell_path(whole)}?members&{_write_page_query(start, limit)}"
        if start <= size
        else None
    )


def _write_json(
    document: bytes, whole: Identifier, base: str, start: int, limit: int
) -> tuple[bytes, str | None]:
    """Write a page of entries as in the document, each with its number and addresses added."""
    about, entries = members.split_entries(document)
    encode = msgspec.json.encode
    url = encode(_make_member_prefix(whole, base)).removesuffix(b'"')
    part = encode(spell_part_uri(whole, "member=1")).removesuffix(b'1"')
    shown = b",\n".join(
        b'%b,"number":%d,"url":%b%d","part":%b%d"}' % (entry[:-1], n, url, n, part, n)
        for n, entry in enumerate(entries[start - 1 : start - 1 + limit], start)
    )
    following = _find_next_page(whole, base, start + limit, limit, len(entries))
    head = encode(
        {
            "identifier": str(whole),
            "url": f"{base}/{spell_path(whole)}",
            "title": about.title,
            "creators": about.creators,
            "purpose": about.purpose,
            "date": about.date,
            "size": len(entries),
            "next": following,
        }
    )
    return b'%b,"members":[\n%b\n]}\n' % (head[:-1], shown), following


def _write_linkset(whole: Identifier, base: str, rows: _Rows) -> bytes:
    """Write a linkset (RFC 9264) with an `item` link to each member (RFC 6573)."""
    items = [{"href": href} | ({"title": one.title} if one.title else {}) for _, href, one in rows]
    each = [
        {"anchor": href, "cite-as": [{"href": _escape_uri(one.identifier)}]}
        for _, href, one in rows
    ]
    anchor = f"{base}/{spell_path(whole)}"
    return msgspec.json.encode({"linkset": [{"anchor": anchor, "item": items}, *each]})


def _escape_uri(identifier: str) -> str:
    return escape(identifier, safe="/:;,@!$&'()*+=-._~?#[]%")
