"""Parts over HTTP: the bytes of a part, an exact statement of what they are, and proof of it.

How it works: the whole identifier is resolved like any other. `perdure.reading.extraction` cuts the
part from the bytes held here, in a thread of a separate pool, and
`perdure.server.common.part_bodies` sends its bytes. By then, all four ways to write a part (ruling:
fragment-transport) have become the same value.

In addition to the fields of a complete representation, a part has `Perdure-Part`: the reading that
was applied, and the bytes of the document that the part consists of or, for a decoded part, the
form and digest of the decoded content (ruling: part-digest).

What must stay true: a request for a part is never answered with the complete document; the entity
tag is made of the digest of the document and the canonical text of the part, so it never changes.
"""

from __future__ import annotations

import hashlib
from functools import partial
from http import HTTPStatus

import http_sf
from http_sf.types import BareItemType

from perdure.extractors.port import Part
from perdure.formats import make_token
from perdure.model.queries import Choices, Fetch, Gone, Redirect
from perdure.model.records import Representation
from perdure.parts import Member, Selector, pdi, spell_part
from perdure.policy.correcting import is_corrected, name_reading
from perdure.reading.resolved import Resolved
from perdure.reading.targets import append_question, spell_part_path, spell_part_uri, spell_path
from perdure.server.common import asking, lists, part_bodies, problems
from perdure.server.common.answers import Answer, Fields, escape_uri, join_links, write_link
from perdure.server.common.conditions import (
    find_last_modified,
    is_unmodified,
    read_entity_tags,
)
from perdure.server.common.part_bodies import CutPart
from perdure.server.common.redirects import link_description, make_redirect
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.pages.trail import find_page, make_trail
from perdure.server.resource import held, members

_SCHEMES = tuple(pdi.SCHEMES)


async def answer_part(service: Service, request: Request, resolved: Resolved) -> Answer:
    """Answer GET or HEAD of a part. Raises the errors of resolving and cutting."""
    step = resolved.step
    match step:
        case Fetch():
            return await _answer_fetch(service, request, resolved, step)
        case Gone():
            return problems.answer_problem(problems.make_gone_problem(step), request)
        case Choices():
            service.registry.documents.require_part_kind(resolved, step)
            return _list_choices(request, resolved, step)
        case Redirect():
            fresh = service.settings.fresh_seconds
            base, path = service.settings.base_url, asking.spell_resolved(resolved)
            vary = asking.write_vary(service)
            return make_redirect(
                step,
                fresh=fresh,
                base=base,
                vary=vary,
                path=path,
                has_linkset=not resolved.is_elsewhere,
            )
    return problems.answer_problem(problems.no_location(resolved.identifier), request)


def _list_choices(request: Request, resolved: Resolved, step: Choices) -> Answer:
    """List the part in each version: the reader must choose one  # ruling: part-version"""
    meant = resolved.part or ""
    entries = [
        lists.ListEntry(
            spell_part_uri(one.identifier, meant),
            f"{request.base_url}/{path}",
            page=append_question(f"/{path}", "landing"),
        )
        for one in step.fetches
        for path in (spell_part_path(one.identifier, meant),)
    ]
    answer = lists.answer_list(
        request,
        str(resolved.identifier),
        entries,
        page=find_page(resolved.whole),
        trail=make_trail(resolved.whole),
    )
    answer.status = HTTPStatus.MULTIPLE_CHOICES
    return answer


async def _answer_fetch(
    service: Service, request: Request, resolved: Resolved, step: Fetch
) -> Answer:
    registry, one, identifier = service.registry, step.representation, resolved.identifier
    source = registry.documents.open_source(step.identifier, one)
    selector = registry.documents.find_selector(identifier, source, resolved.part_beside)
    if isinstance(selector, Member):
        onward = await members.lead_to_member(service, request, step, source, selector)
        if onward is not None:
            return onward
    if isinstance(selector, _SCHEMES):
        tag = _make_part_etag(one, selector)
        if _is_known(request, tag):  # a client with the tag has the part: do not cut it again
            return Answer(
                HTTPStatus.NOT_MODIFIED,
                _make_validators(service, request, step, spell_part(identifier, selector), tag),
            )
    outlined = request.method == "HEAD" and b"want-repr-digest" not in request.fields
    cutting = partial(part_bodies.cut_at_hand, registry.parts.cut_part)
    found = await service.cut_part(
        registry.parts.outline_part if outlined else cutting, source, selector
    )
    tag = _make_part_etag(one, found.selector)
    modified = find_last_modified(resolved.deciding_record, one)
    fields = _make_validators(service, request, step, spell_part(identifier, found.selector), tag)
    if is_unmodified(request, tag, modified):
        return Answer(HTTPStatus.NOT_MODIFIED, fields)
    cut = CutPart(
        found=found,
        tag=tag,
        source=source,
        selector=selector,
        representation=one,
        modified=modified,
        kind=held.write_content_type(_make_representation(one, found)),
    )
    return await part_bodies.answer_part_bytes(
        service, request, cut, [*fields, *_describe_part(step, found)]
    )


# header fields
# -------------


def _make_part_etag(one: Representation, selector: Selector) -> bytes:
    """Make the entity tag of a part: what it contains depends on how the bytes are read."""
    reading = f" {name_reading(one)}" if is_corrected(one) else ""
    named = hashlib.sha512(f"{one.sha512} {one.format} {selector}{reading}".encode()).hexdigest()
    return f'"{named[:40]}-part"'.encode()


def _is_known(request: Request, tag: bytes) -> bool:
    """Return True if the client names this tag. `*` asks if the part exists, so it must be cut."""
    if b"if-match" in request.fields or b"if-unmodified-since" in request.fields:
        return False
    asked = read_entity_tags(request.read_field(b"if-none-match"))
    return not asked.any and asked.names_weakly(tag)


def _make_validators(
    service: Service, request: Request, step: Fetch, part: str, tag: bytes
) -> Fields:
    canonical = f"{request.base_url}/{spell_part_path(step.identifier, part)}"
    document = f"{request.base_url}/{spell_path(step.identifier)}"
    return [
        (b"etag", tag),
        (b"content-location", _write_content_location(step, part)),
        (b"cache-control", held.write_lifetime(service.settings, pinned=step.pinned)),
        *join_links(
            (
                write_link(canonical, "canonical"),
                write_link(canonical, "cite-as"),
                write_link(document, "up"),
                link_description(step.identifier),
                *held.link_back(canonical),
                *held.link_versions(step, request.base_url, anchor=document),
            )
        ),
        (b"vary", b"accept, accept-language"),
    ]


def _write_content_location(step: Fetch, part: str) -> bytes:
    """Write the URI of a part with `%23`: the field has no fragment (RFC 9110 section 8.7)."""
    uri = spell_part_uri(step.identifier, part)
    return escape_uri(uri).replace(b"#", b"%23")


def _describe_part(step: Fetch, found: Part) -> Fields:
    shown = _make_representation(step.representation, found)
    return [
        *held.describe_bytes(step.identifier, shown, digest=False),
        (b"perdure-part", _write_reading(found)),
    ]


def _make_representation(one: Representation, found: Part) -> Representation:
    """Return the properties of the part that the header of an answer needs."""
    same = found.media_type == one.media_type
    return Representation(
        format=one.format if same else make_token(found.media_type),
        media_type=found.media_type,
        charset=found.charset,
        language=one.language,
        length=found.length or 0,
        sha512="",
        segment=one.segment,
        offset=one.offset,
    )


def _write_reading(found: Part) -> bytes:
    """Write the reading of a part: a token and its parameters (RFC 9651 section 3.3).

    Such as `pdi-char; slices="120-134"`.
    """
    parameters: dict[str, BareItemType] = {}
    if found.slices:
        parameters["slices"] = ",".join(f"{one.start}-{one.stop}" for one in found.slices)
    if found.decoded is not None:
        parameters["decoded"] = found.decoded.form
        parameters["decoded-digest"] = bytes.fromhex(found.decoded.sha512)
    for name, fact in found.facts.items():
        parameters[name.lower()] = "".join(one if " " <= one <= "~" else "_" for one in fact)
    item = (http_sf.Token(found.selector.reading), parameters)
    return http_sf.ser(item).encode("ascii")
