"""GET and HEAD of an identifier: the resource, a redirect to it, a part of it, or its record.

How it works: the target becomes a name and a question, the read door (`perdure.reading.resolve`)
decides what to do, and this module does it. A client that prefers JSON or XML in Accept asks for
the record, unless the resource itself has that type.

A browser gets the landing page of a document that is held here, and every other client its bytes
(ruling: page-or-thing): `_suits_browser` decides.

What must stay true: a request for a part is never answered with the complete document.
"""

from __future__ import annotations

from http import HTTPStatus

from perdure.errors import MalformedIdentifier, NotAcceptable, NotFound
from perdure.errors.delegations import AnsweredElsewhere
from perdure.formats import find_media_type
from perdure.formats.essence import strip_parameters
from perdure.ids import Identifier, scheme_of
from perdure.model.collection import MEDIA_TYPE as COLLECTION
from perdure.model.queries import Choices, Description, Fetch, Gone, Redirect, Step
from perdure.model.records import Record
from perdure.parts import Playback
from perdure.policy import templates
from perdure.policy.naming import read_qualifiers
from perdure.policy.ordering import depends_on_reader
from perdure.reading.resolved import Resolved
from perdure.reading.targets import Question, read_question, spell_part_path, spell_path
from perdure.server.apis import pwids
from perdure.server.common import asking, problems
from perdure.server.common.answers import Answer
from perdure.server.common.negotiate import find_leading, names_first, prefers_named, prefers_types
from perdure.server.common.redirects import make_redirect, redirect_onward
from perdure.server.common.request import Request
from perdure.server.common.service import Service
from perdure.server.resource import (
    asserting,
    citations,
    citing,
    differing,
    held,
    history,
    landing,
    members,
    metadata,
    open_parts,
    parts,
    plain_text,
    pointing,
    provenance,
    quoting,
    referring,
    renditions,
    signing,
    signposting,
    viewing,
)
from perdure.server.resource.describing import TYPES, describe_record
from perdure.server.resource.listings import list_set
from perdure.server.resource.locating import list_locations
from perdure.server.resource.shoulders import answer_shoulder

_OF_LOCATIONS = ("", "bytes", "locations")
"""Questions about a name that is unknown here, to which other resolvers are an answer."""


async def answer_get(service: Service, request: Request) -> Answer:
    """Answer GET or HEAD of a name."""
    question = read_question(request.target.question)
    try:
        resolved = asking.resolve_name(
            service,
            request,
            request.target.text,
            question=question,
            accepts_elsewhere=question.verb in _OF_LOCATIONS,
        )
    except AnsweredElsewhere:
        if question.verb != "assertions":
            raise
        answer = await asserting.list_about_foreign(service, request, question)
        if answer is None:
            raise
        return answer
    except (NotFound, MalformedIdentifier):
        answer = answer_shoulder(service, request, question)
        if answer is None and question.verb == "assertions":
            answer = await asserting.list_about_foreign(service, request, question)
        if answer is None and question.verb in citing.VERBS:
            answer = await citing.list_foreign(service, request, question)
        if answer is None:
            raise
        return answer
    if resolved.is_pattern and question.verb == "signatures":
        return await signing.list_signatures(service, request, resolved, question)
    if question.verb == "assertions" and (resolved.is_pattern or resolved.is_citation):
        return await asserting.list_assertions(service, request, resolved, question)
    if resolved.names is not None and question.verb in citing.VERBS:
        return await citing.list_citations(service, request, resolved, question)
    if resolved.names is not None and not metadata.asks_for_one(resolved, question):
        described = answer_shoulder(service, request, question) if question.inflection else None
        return described or await list_set(service, request, resolved.names, question)
    if resolved.via is not None:
        return _follow_alias(service, request, resolved)
    return await _answer_question(service, request, resolved, question)


def _follow_alias(service: Service, request: Request, resolved: Resolved) -> Answer:
    """Redirect from an alias to the name that it refers to, with the same question."""
    asked, path = request.target.question, spell_path(resolved.whole)
    if resolved.part is not None and resolved.query.delimiter == "#":
        path = spell_part_path(resolved.whole, resolved.part)
    there = f"{request.base_url}/{path}" + ("" if asked is None else f"?{asked}")
    return redirect_onward(there, fresh=service.settings.fresh_seconds)


async def _answer_question(
    service: Service, request: Request, resolved: Resolved, question: Question
) -> Answer:
    if resolved.is_citation:
        return await citations.answer_citation(service, request, resolved, question)
    if question.verb == "info" and resolved.is_described_by_whole:
        return lead_to_whole(service, request, resolved, f"?{request.target.question}")
    if metadata.asks_for_metadata(question):
        return await metadata.answer_metadata(service, request, resolved, question)
    if question.verb in citing.VERBS:
        return await citing.list_citations(service, request, resolved, question)
    if resolved.pwid is not None:
        return await pwids.answer_pwid(service, request, resolved.pwid, question)
    if question.quote is not None:
        return await quoting.redirect_to_passage(service, request, resolved, question)
    if question.point is not None:
        return await pointing.name_place(service, request, resolved, question.point)
    if question.diff is not None:
        return await differing.show_difference(service, request, resolved, question.diff)
    if question.preview is not None:
        return await renditions.answer_rendition(service, request, resolved, question.preview)
    return await _answer_verb(service, request, resolved, question)


async def _answer_verb(
    service: Service, request: Request, resolved: Resolved, question: Question
) -> Answer:
    if question.verb in ("info", "landing") and resolved.is_only_part_open:
        is_page = question.verb == "landing" or landing.wants_page(request)
        return await open_parts.show_open_part(service, request, resolved, is_page=is_page)
    match question.verb:
        case "bytes":
            return await answer_resource(
                service, request, resolved, question.append, only_bytes=True
            )
        case "info":
            for_record = prefers_types(request.accept, TYPES)
            inflected = question.inflection and scheme_of(resolved.asked).has_inflections
            if inflected and not for_record:
                return landing.answer_erc(
                    service, request, resolved, full=question.inflection == "??"
                )
            if landing.wants_page(request):
                return await landing.show_landing_page(service, request, resolved)
            return await answer_description(service, request, resolved)
        case "landing":
            return await landing.show_landing_page(service, request, resolved, question.at)
        case "linkset":
            return await landing.show_linkset(service, request, resolved)
        case "locations":
            return list_locations(service, request, resolved)
        case "history":
            return await history.answer_history(service, request, resolved, question)
        case "signatures":
            return await signing.list_signatures(service, request, resolved, question)
        case "provenance":
            return await provenance.show_provenance(service, request, resolved)
        case "manifest":
            return await provenance.show_manifest(service, request, resolved)
        case "assertions":
            return await asserting.list_assertions(service, request, resolved, question)
        case "quotes":
            return await citing.find_quotations(service, request, resolved)
        case "play":
            return await renditions.answer_rendition(service, request, resolved, Playback())
        case "view":
            return await viewing.answer_view(service, request, resolved)
        case "text":
            return await plain_text.answer_text(service, request, resolved)
        case "members":
            return await members.list_members(service, request, resolved, question)
    if _suits_browser(service, request, resolved):
        if resolved.is_only_part_open:
            return await open_parts.show_open_part(service, request, resolved, is_page=True)
        return await landing.show_landing_page(service, request, resolved)
    return await answer_resource(service, request, resolved, question.append)


def lead_to_whole(service: Service, request: Request, resolved: Resolved, question: str) -> Answer:
    """Redirect from an ARK with a suffix, which has no record, to the record of the ARK."""
    there = f"{request.base_url}/{spell_path(resolved.whole)}{question}"
    return redirect_onward(there, fresh=service.settings.fresh_seconds)


def _suits_browser(service: Service, request: Request, resolved: Resolved) -> bool:
    """Return True if a request for the resource gets its page  # ruling: page-or-thing

    It does if the client names HTML, as browsers do, and the resource is held here, reserved or
    gone. A complete document that is itself in HTML is sent, unless the setting `pages` is
    `always`. Raises NotFound or NoSuchVersion.
    """
    setting = service.settings.pages
    first = names_first(
        request.accept, "text/html", before=(*signposting.TYPES, *metadata.list_types())
    )
    if setting == "never" or not first or b"range" in request.fields:
        return False
    step = resolved.choose(accept=())
    if not isinstance(step, Fetch):
        return isinstance(step, Gone | Description)
    if step.representation.media_type == COLLECTION:
        return resolved.inside is None and read_qualifiers(resolved.identifier)[1] is not None
    if resolved.inside is not None or setting == "always":
        return True
    try:
        sent = resolved.step
    except NotAcceptable:
        return True
    return not (isinstance(sent, Fetch) and held.is_html(sent.representation))


async def answer_resource(
    service: Service,
    request: Request,
    resolved: Resolved,
    append: str | None = None,
    *,
    only_bytes: bool = False,
) -> Answer:
    """Answer with the resource that a name leads to, or redirect to its location.

    `append` is text to append to the address of such a redirect. With `only_bytes`, the answer is
    never a document about the resource, whatever Accept says.
    """
    identifier = resolved.identifier
    if resolved.elsewhere is not None:
        return referring.answer_elsewhere(service, request, resolved, resolved.elsewhere)
    if resolved.is_citation:
        return await citations.answer_bytes(service, request, resolved)
    if resolved.pwid is not None:
        return await pwids.answer_pwid(service, request, resolved.pwid)
    if resolved.negotiates_elsewhere and resolved.inside is None and not only_bytes:
        return carry_out_step(service, request, resolved, resolved.step)
    if metadata.names_metadata(request.accept) and not only_bytes:
        found = await metadata.negotiate_metadata(service, request, resolved)
        if found is not None:
            return found
    if resolved.inside is not None:
        return await parts.answer_part(service, request, resolved)
    if only_bytes:
        step = resolved.choose(accept=())
        return carry_out_step(service, request, resolved, step)
    if read_qualifiers(identifier)[1] is None and _prefers(request, resolved, signposting.TYPES):
        return await landing.show_linkset(service, request, resolved)
    try:
        step = _choose_step(request, resolved)
    except NotAcceptable as error:
        if not members.suits_person(service, request, identifier, error.offered):
            raise
        return await members.list_members(service, request, resolved, Question())
    given = (step.representation.media_type,) if isinstance(step, Fetch) else ()
    if members.suits_person(service, request, identifier, given):
        return await members.list_members(service, request, resolved, Question())
    if append and isinstance(step, Redirect):
        step = step.redirect_to(templates.append_text(step.location.uri, append))
    return carry_out_step(service, request, resolved, step)


def _prefers(request: Request, resolved: Resolved, types: tuple[str, ...]) -> bool:
    """Return True if the client prefers these types to those in which the resource is offered."""
    others = metadata.list_media_types(resolved.identifier, resolved.record or Record())
    return prefers_named(request.accept, types, others)


def _choose_step(request: Request, resolved: Resolved) -> Step:
    """Choose what to do, and the record itself if the client prefers it."""
    identifier, record = resolved.identifier, resolved.record
    for_record = _prefers(request, resolved, TYPES)
    try:
        step = resolved.step
    except NotAcceptable:
        if not for_record or record is None:
            raise
        resolved.require_known()
        return Description(identifier=identifier, record=record)
    if for_record and record is not None and _differs_from_wish(request, identifier, step):
        return Description(identifier=identifier, record=record)
    return step


def _differs_from_wish(request: Request, identifier: Identifier, step: Step) -> bool:
    """Return True if the answer would not have the media type that the client prefers."""
    if isinstance(step, Fetch):
        named = read_qualifiers(identifier)[1] is not None  # then there is no negotiation
        kind: str | None = step.representation.media_type
        return not named and _strip_type(kind) not in find_leading(request.accept)
    if isinstance(step, Redirect):
        known = find_media_type(step.location.format) if step.location.format else None
        return known is None or known.essence not in find_leading(request.accept)
    return False


def _strip_type(kind: str | None) -> str:
    return strip_parameters(kind or "")


def carry_out_step(
    service: Service,
    request: Request,
    resolved: Resolved,
    step: Step,
    *,
    status: int = HTTPStatus.FOUND,
) -> Answer:
    """Make the answer of a step. `status` is the status of a redirect."""
    identifier = resolved.identifier
    fresh = service.settings.fresh_seconds
    match step:
        case Fetch():
            return held.answer_representation(
                request,
                service.registry.bytes,
                step,
                resolved.record or Record(),
                lifetime=held.write_lifetime(service.settings, pinned=step.pinned),
                vary=held.write_vary(identifier, step.representation, service.settings.pages),
            )
        case Redirect():
            chosen = depends_on_reader((step.location, *step.others))
            vary = asking.write_vary(service) if chosen else b"accept"
            base = service.settings.base_url
            return make_redirect(step, fresh=fresh, base=base, status=status, vary=vary)
        case Description():
            record = resolved.record or step.record
            return describe_record(request, identifier, record, fresh=fresh)
        case Gone():
            return problems.answer_problem(problems.make_gone_problem(step), request)
        case Choices():
            return list_locations(service, request, resolved)


async def answer_description(service: Service, request: Request, resolved: Resolved) -> Answer:
    """Answer with the record of a name or of a part.

    Raises NotFound and, for a part of a resource that is held here, the errors of cutting it.
    """
    if resolved.is_citation:
        return await citations.answer_verdict(service, request, resolved)
    record, fresh = resolved.known, service.settings.fresh_seconds
    selector = stored = None
    if resolved.inside is not None:
        selector = await service.run_cutter(service.registry.documents.select_part, resolved)
        stored = await service.run_cutter(
            service.registry.documents.describe_stored_pixels, resolved
        )
    return describe_record(
        request,
        resolved.identifier,
        record,
        fresh=fresh,
        selector=selector,
        part=resolved.part_beside,
        stored=stored,
        signatures=await signing.read_shown(service, request, resolved),
    )
